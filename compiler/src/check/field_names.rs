//! Fields of the record that an argument names: `ragged: [ids, boxes]`.

use super::{
    Checker, Env,
    fit::{Kind, describe, kind},
};
use crate::{ast, errors::check as errors};
use plan::{Arg, OpId};

/// Whether a parameter takes names of fields.
pub(super) fn is_fields(formal: &ast::Formal) -> bool {
    matches!(kind(formal.type_.as_ref()), Kind::Fields)
}

impl Checker<'_> {
    /// A list of fields, a record of bare names, one alone, or texts that are known.
    pub(super) fn fields_arg(
        &mut self,
        formal: &ast::Formal,
        expr: &ast::Expr,
        input: OpId,
        env: &mut Env<'_>,
    ) -> Option<Arg> {
        let all = listed_names(expr);
        if let Some(computed) = all.iter().flatten().find(|it| !may_be_name(it)) {
            let wanted = describe(&Kind::Fields);
            let computed = errors::wanted(
                &formal.name.text,
                &wanted,
                "a value that is computed",
                computed.span,
            );
            self.report(computed);
            return None;
        }
        let names = match &all {
            Some(all) => all.iter().map(|it| dotted(it)).collect::<Option<Vec<_>>>(),
            None => dotted(expr).filter(|it| self.has_field(input, it)).map(|it| vec![it]),
        };
        let listed = |names: Vec<String>| Arg::List(names.into_iter().map(Arg::Text).collect());
        // What is no other name either is taken for a field: who asks for it says which there are.
        let unknown = || match &expr.kind {
            ast::ExprKind::Name(name) if !self.is_known(name, env) => Some(vec![name.clone()]),
            _ => None,
        };
        if let Some(names) = names.or_else(unknown) {
            return Some(listed(names));
        }
        match self.plain_arg(formal, expr, env)? {
            Arg::Text(name) => Some(listed(vec![name])),
            other => Some(other),
        }
    }

    /// Whether the records of `op` have a field of this name, or a nested record.
    fn has_field(&self, op: OpId, name: &str) -> bool {
        let is_whole = |rest: &str| rest.is_empty() || rest.starts_with('.');
        self.ops[op].output.iter().any(|it| it.name.strip_prefix(name).is_some_and(is_whole))
    }
}

/// What stands in a list, or in a record of bare names: `[source, target]`, `{ source, target }`.
fn listed_names(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match &expr.kind {
        ast::ExprKind::List(all) => Some(all.iter().collect()),
        ast::ExprKind::Record(all) if all.iter().all(|it| it.bare) => {
            Some(all.iter().map(|it| &it.value).collect())
        }
        _ => None,
    }
}

/// Whether it is the name of a field, or a text that may be one.
fn may_be_name(expr: &ast::Expr) -> bool {
    matches!(expr.kind, ast::ExprKind::Str { .. } | ast::ExprKind::Broken) || dotted(expr).is_some()
}

/// The name of a field as it is written: `ids`, `boxes.corners`.
fn dotted(expr: &ast::Expr) -> Option<String> {
    match &expr.kind {
        ast::ExprKind::Name(name) => Some(name.clone()),
        ast::ExprKind::Field { base, name } => Some(format!("{}.{}", dotted(base)?, name.text)),
        _ => None,
    }
}
