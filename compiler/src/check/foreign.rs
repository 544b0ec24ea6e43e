//! Calls of functions and sources that stand outside of the program: `extern fn`, `extern pipeline`.

use super::{
    Checker, Env, Val,
    args::{Given, known_arg},
    fit::{Kind, kind, result},
};
use crate::{
    ast::{self, EffectKind, ExprKind, TypeKind},
    errors::check as errors,
    registry::Kind as EntryKind,
};
use plan::{
    Arg, Const, DType, Draw, Expr, ExprId, Extent, FOREIGN, Field, FileId, Foreign, ForeignSource,
    Graph, Span, Type,
};

/// The parameter of sources that cuts them into parts.
const LANES: &str = "lanes";

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
        if declared.is_pipeline && (!is_place || version.is_some()) {
            self.report(errors::no_source(&declared.target));
            return None;
        }
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

impl Checker<'_> {
    /// A stream of the records that stand outside.
    pub(super) fn call_extern_pipeline(
        &mut self,
        (declared, file): (&ast::Extern, FileId),
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        if let Some((Val::Stream(_), _)) = piped {
            return self.report(errors::source_on_stream(call));
        }
        if env.is_in_record() {
            return self.report(errors::stream_in_record(call.span));
        }
        let Some(found) = self.registry.get(FOREIGN, EntryKind::Source) else {
            return self.report(errors::library_lacks(FOREIGN, call.span));
        };
        let signature = &declared.signature;
        let place = self.place(&call.name, env);
        let own = signature.formals.len();
        let formals = with_lanes(&signature.formals, &found.signature.formals, call);
        let Some(given) = self.bind(&formals, call, piped) else { return Val::Broken };
        let callee = Env::new(file, place, env.pipeline);
        let mut known = |formals: &[ast::Formal], given: &[Option<Given<'_>>]| {
            let head = (&signature.name, formals);
            self.in_graph(None, |it| it.known_params(head, given, (env, &callee), call.span)).0
        };
        let args = known(&formals[..own], &given[..own]);
        let lanes = match given[own..].iter().flatten().next() {
            Some(_) => known(&formals[own..], &given[own..]),
            None => Some(Vec::new()),
        };
        let (Some(args), Some(lanes), Some(target)) = (args, lanes, self.target(declared)) else {
            return Val::Broken;
        };
        let lanes = match lanes.first() {
            None => None,
            Some((_, Arg::Int(it))) => Some(*it),
            Some(_) => {
                return self.report(errors::wanted(
                    LANES,
                    "an integer",
                    "another value",
                    call.span,
                ));
            }
        };
        let Some(fields) = self.fields_of(declared) else { return Val::Broken };
        let (name, target) = (signature.name.text.clone(), target.place.to_owned());
        let args = ForeignSource { name, target, args, fields, lanes }.args();
        let named = (found, call.name.text.as_str(), call);
        let op = self.source_op(named, (args, Graph::default(), Vec::new()), env);
        op.map_or(Val::Broken, Val::Stream)
    }

    /// The values of parameters, all of which must be known.
    fn known_params(
        &mut self,
        head: (&ast::Name, &[ast::Formal]),
        given: &[Option<Given<'_>>],
        envs: (&mut Env<'_>, &Env<'_>),
        at: Span,
    ) -> Option<Vec<(String, Arg)>> {
        let mut args = Vec::new();
        for (name, val) in self.params(head, given, envs)? {
            let known = match &val {
                Val::Broken => return None,
                Val::Expr(id) => self.known_node(*id),
                val => known_arg(val),
            };
            let Some(arg) = known else {
                let shown = self.shown(&val);
                self.report(errors::const_of(&name, &shown, at));
                return None;
            };
            let formal = head.1.iter().find(|it| it.name.text == name);
            let wanted = match kind(formal.and_then(|it| it.type_.as_ref())) {
                Kind::Tensor(dtype, []) => DType::named(dtype),
                _ => None,
            };
            if let Some(wanted) = wanted.filter(|it| !is_of(&arg, *it)) {
                let (wanted, shown) = (format!("`{wanted}`"), self.shown(&val));
                self.report(errors::wanted(&name, &wanted, &shown, at));
                return None;
            }
            args.push((name, arg));
        }
        Some(args)
    }

    /// The number or text that a node is, where it is one that is known.
    fn known_node(&self, id: ExprId) -> Option<Arg> {
        let Expr::Const(it) = self.graph.expr(id) else { return None };
        match it {
            Const::Ints(dtype, shape, all) => match all.as_slice() {
                [one] if shape.is_empty() && *dtype == DType::Bool => Some(Arg::Bool(*one != 0)),
                [one] if shape.is_empty() => Some(Arg::Int(*one)),
                _ => None,
            },
            Const::Floats(_, shape, all) => match all.as_slice() {
                [one] if shape.is_empty() => Some(Arg::Float(*one)),
                _ => None,
            },
            Const::Text(_, text) => String::from_utf8(text.clone()).ok().map(Arg::Text),
        }
    }

    /// The fields that a declaration says of its records.
    pub(super) fn fields_of(&mut self, declared: &ast::Extern) -> Option<Vec<Field>> {
        let result = declared.signature.result.as_ref()?;
        let TypeKind::Record { fields: typed, .. } = &result.kind else {
            if !matches!(result.kind, TypeKind::Broken) {
                self.report(errors::not_a_record_type(result.span));
            }
            return None;
        };
        if typed.is_empty() {
            self.report(errors::not_a_record_type(result.span));
            return None;
        }
        let mut fields: Vec<Field> = Vec::new();
        for it in typed {
            let ty = self.written_type(&it.type_)?;
            let Type::Tensor { dtype, shape } = ty else {
                self.report(errors::not_a_tensor_type(it.type_.span));
                return None;
            };
            if dtype.is_text() && !shape.is_empty() {
                self.report(errors::not_a_tensor_type(it.type_.span));
                return None;
            }
            if fields.iter().any(|of| of.name == it.name.text) {
                self.report(errors::field_twice(&it.name));
                return None;
            }
            // Records differ in what a name stands for.
            let extent = |it: Extent| match it {
                Extent::Named(_) => Extent::Unknown,
                other => other,
            };
            let shape = shape.into_iter().map(extent).collect();
            fields.push(Field { name: it.name.text.clone(), ty: Type::Tensor { dtype, shape } });
        }
        Some(fields)
    }
}

/// The parameters of a source that stands outside: those that it declares, and `lanes` as other sources have it, by its name
/// alone, where it declares none.
fn with_lanes(own: &[ast::Formal], entry: &[ast::Formal], call: &ast::Call) -> Vec<ast::Formal> {
    let is_lanes = |it: &&ast::Formal| it.name.text == LANES;
    let is_named = call.args.iter().flat_map(|it| &it.name).any(|it| it.text == LANES);
    let lanes =
        entry.iter().find(is_lanes).filter(|_| is_named && !own.iter().any(|it| is_lanes(&it)));
    own.iter().chain(lanes).cloned().collect()
}

/// Whether a value is one of this dtype.
fn is_of(arg: &Arg, dtype: DType) -> bool {
    match arg {
        Arg::Text(_) => dtype == DType::Str,
        Arg::Bool(_) => dtype == DType::Bool,
        Arg::Int(_) => dtype.is_int() || dtype.is_float(),
        Arg::Float(_) => dtype.is_float(),
        _ => false,
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
