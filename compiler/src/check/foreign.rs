//! Calls of functions that stand outside of the program: `extern fn`.

use super::{
    Checker, Env, Val,
    fit::{Kind, kind, result},
};
use crate::{
    ast::{self, EffectKind, ExprKind, TypeKind},
    errors::check as errors,
};
use plan::{Arg, DType, Draw, Expr, FOREIGN, FileId, Foreign, Span, Type};

/// Where a function is.
pub(super) struct Target<'a> {
    /// `module:function`.
    place: &'a str,
    /// Of a pure one.
    version: Option<i64>,
}

impl Checker<'_> {
    /// Where the function is, as its declaration says.
    pub(super) fn target<'e>(&mut self, declared: &'e ast::Extern) -> Option<Target<'e>> {
        let signature = &declared.signature;
        let written = declared.target.value.as_str();
        let (place, version) = match written.rsplit_once('@') {
            Some((place, version)) => (place, Some(version)),
            None => (written, None),
        };
        let is_dotted = |it: &str| it.split('.').all(is_word);
        let is_place = place.split_once(':').is_some_and(|(a, b)| is_dotted(a) && is_dotted(b));
        let number = version.map(|it| it.parse::<i64>().ok().filter(|it| *it > 0));
        if !is_place || number == Some(None) {
            self.report(errors::no_target(&declared.target));
            return None;
        }
        let (pure, random) = (signature.has(EffectKind::Pure), signature.has(EffectKind::Random));
        if pure != version.is_some() || pure && random {
            self.report(errors::pure_target(&declared.target, (pure, random), place));
            return None;
        }
        Some(Target { place, version: number.flatten() })
    }

    pub(super) fn call_extern(
        &mut self,
        (declared, file): (&ast::Extern, FileId),
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        let signature = &declared.signature;
        let place = self.place(&call.name, env);
        let Some(given) = self.bind(&signature.formals, call, piped) else { return Val::Broken };
        let callee = Env::new(file, place, env.pipeline);
        let params = self.params((&signature.name, &signature.formals), &given, (env, &callee));
        let (Some(params), Some(target)) = (params, self.target(declared)) else {
            return Val::Broken;
        };
        let mut values = Vec::with_capacity(params.len());
        for (formal, (_, val)) in signature.formals.iter().zip(&params) {
            let like = match kind(formal.type_.as_ref()) {
                Kind::Tensor(name, _) => DType::named(name),
                _ => None,
            };
            let Some(id) = self.node_of(val, like, call.span) else { return Val::Broken };
            values.push(id);
        }
        let args: Vec<Arg> = values.iter().map(|it| Arg::Expr(*it)).collect();
        if self.takes_texts(&args, call.span) {
            return Val::Broken;
        }
        let Some(vars) = self.unify(signature, &args, call.span) else { return Val::Broken };
        let ty = signature.result.as_ref().and_then(|it| result(it, &vars));
        let Some(ty @ Type::Tensor { .. }) = ty else { return Val::Broken };
        if !self.step(call.span) {
            return Val::Broken;
        }
        let foreign = Foreign {
            name: signature.name.text.clone(),
            target: target.place.to_owned(),
            version: target.version,
            random: signature.has(EffectKind::Random),
            like: like(signature),
        };
        let draw = target.version.is_none().then(|| Draw { place, vars: self.loops.clone() });
        let args = [Arg::Type(ty.clone()), Arg::Exprs(values)];
        let args = foreign.args().into_iter().chain(args).collect();
        Val::Expr(self.node(Expr::Call { function: FOREIGN.to_owned(), args, draw }, ty))
    }
}

/// For each axis of the result, the parameter and its axis that have the same name.
fn like(signature: &ast::Signature) -> Vec<Option<(usize, usize)>> {
    let formals: Vec<Vec<Option<&str>>> =
        signature.formals.iter().map(|it| axes(it.type_.as_ref())).collect();
    let place = |name: &str| {
        let all = formals.iter().enumerate();
        let mut all = all.flat_map(|(arg, it)| (0..it.len()).map(move |axis| (arg, axis)));
        all.find(|(arg, axis)| formals[*arg][*axis] == Some(name))
    };
    axes(signature.result.as_ref()).into_iter().map(|it| it.and_then(place)).collect()
}

/// The names of a type's axes, where they have any.
fn axes(type_: Option<&ast::TypeExpr>) -> Vec<Option<&str>> {
    match type_.map(|it| &it.kind) {
        Some(TypeKind::Named { extents, .. }) => extents.iter().map(named).collect(),
        _ => Vec::new(),
    }
}

fn named(extent: &ast::Extent) -> Option<&str> {
    match extent {
        ast::Extent::Known(ast::Expr { kind: ExprKind::Name(name), .. }) => Some(name),
        _ => None,
    }
}

fn is_word(it: &str) -> bool {
    let is_start = |it: char| it.is_alphabetic() || it == '_';
    it.chars().next().is_some_and(is_start)
        && it.chars().all(|it| it.is_alphanumeric() || it == '_')
}
