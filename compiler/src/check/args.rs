//! Arguments: which parameter each is for, and what the library is given.

use super::{Checker, Env, Known, Val, scope::Scope, value::Size};
use crate::{ast, errors::check as errors, migration};
use plan::{Action, Arg, Const, DType, Entry, Extent, OpId, Property, Span, Type};

/// What was given for a parameter.
#[derive(Clone)]
pub(super) enum Given<'e> {
    /// What stood left of `|>`.
    Value(Val, Span),
    /// What was written.
    Written(&'e ast::Expr),
}

impl<'a> Checker<'a> {
    /// A value of the record: one number, unless values are only compared, or the operator says itself what it reduces.
    pub(super) fn each_arg(
        &mut self,
        expr: &ast::Expr,
        (input, entry): (OpId, &Entry),
        env: &mut Env<'_>,
    ) -> Option<Arg> {
        let record = self.record_of(input);
        self.note_scope(expr.span, &record);
        let mut inner = env.with(Scope::Record(record, Some(input)));
        let val = self.value(expr, &mut inner);
        let id = self.node_of(&val, None, expr.span)?;
        if entry.has(Property::Compares) || entry.action() == Some(Action::Reduce) {
            return Some(Arg::Expr(id));
        }
        if self.ty(id).dtype().is_some_and(DType::is_text) || !self.ty(id).shape()?.is_empty() {
            let shown = self.shown(&Val::Expr(id));
            self.report(errors::each_scalar(&shown, expr.span));
            return None;
        }
        Some(Arg::Expr(id))
    }

    /// Whether an argument is the texts of a batch, on which nothing computes; then a message is given.
    pub(super) fn takes_texts(&mut self, args: &[Arg], at: Span) -> bool {
        let values = args.iter().flat_map(|it| match it {
            Arg::Expr(id) => std::slice::from_ref(id),
            Arg::Exprs(ids) => ids,
            _ => &[],
        });
        let found = values.map(|it| self.graph.ty(*it)).find(|it| it.is_texts()).cloned();
        if let Some(ty) = &found {
            self.report(errors::texts_of_batch(ty, at));
        }
        found.is_some()
    }

    /// What was given for each of `formals`.
    pub(super) fn bind<'e>(
        &mut self,
        formals: &[ast::Formal],
        call: &'e ast::Call,
        piped: Option<(Val, Span)>,
    ) -> Option<Vec<Option<Given<'e>>>> {
        let mut given: Vec<Option<Given<'e>>> = vec![None; formals.len()];
        let mut next = 0;
        let mut fine = true;
        if let Some((val, at)) = piped {
            match given.first_mut() {
                Some(first) => *first = Some(Given::Value(val, at)),
                None => {
                    self.report(errors::takes_nothing(&call.name));
                    return None;
                }
            }
            next = 1;
        }
        for (number, arg) in call.args.iter().enumerate() {
            let at = match &arg.name {
                Some(name) => formals.iter().position(|it| it.name.text == name.text),
                None => {
                    next += 1;
                    Some(next - 1).filter(|it| *it < formals.len())
                }
            };
            fine &= match at {
                Some(at) if given[at].is_none() => {
                    given[at] = Some(Given::Written(&arg.value));
                    true
                }
                Some(at) => {
                    self.report(errors::given_twice(&formals[at].name.text, arg.span()));
                    false
                }
                None => {
                    let foreign = self.foreign_argument(call, arg, formals);
                    self.report(errors::no_such_parameter(call, number, formals, foreign));
                    false
                }
            };
        }
        let missing: Vec<&str> = formals
            .iter()
            .zip(&given)
            .filter(|(formal, given)| given.is_none() && is_needed(formal))
            .map(|(formal, _)| formal.name.text.as_str())
            .collect();
        if !missing.is_empty() && fine {
            self.report(errors::missing_arguments(call, &missing, formals));
            fine = false;
        }
        fine.then_some(given)
    }

    /// Whether the arguments of a source are values of the record that it stands in, which it cannot be made of.
    pub(super) fn is_made_of_record(
        &mut self,
        call: &ast::Call,
        piped: Option<&(Val, Span)>,
        env: &mut Env<'_>,
    ) -> bool {
        let is_word = |it: &ast::Expr| matches!(&it.kind, ast::ExprKind::Name(it) if it == "none");
        let written = call.args.iter().filter(|it| !is_word(&it.value));
        let mut vals: Vec<Val> = written.map(|it| self.value(&it.value, env)).collect();
        vals.extend(piped.map(|it| it.0.clone()));
        vals.iter().any(Val::is_computed)
    }

    /// What is written here for an argument that has its name from elsewhere, in a call of the library.
    fn foreign_argument(
        &self,
        call: &ast::Call,
        arg: &ast::Arg,
        formals: &[ast::Formal],
    ) -> Option<migration::Row> {
        let (function, name) = (call.name.text.as_str(), &arg.name.as_ref()?.text);
        let own = self.names.called.contains_key(&(call.name.span.file, function));
        let fits = |it: &migration::Row| match it.change {
            migration::Change::Renamed(ours) => formals.iter().any(|it| it.name.text == ours),
            _ => true,
        };
        migration::of_argument(function, name).filter(|it| !own && fits(it))
    }
}

/// Whether something must be given for a parameter. Sources are found by the compiler.
fn is_needed(formal: &ast::Formal) -> bool {
    let found = matches!(super::fit::kind(formal.type_.as_ref()), super::fit::Kind::Sources);
    formal.default.is_none() && !formal.optional && !found
}

/// What the library is given for a value that is known while compiling.
pub(super) fn known_arg(val: &Val) -> Option<Arg> {
    Some(match val {
        Val::Known(Known::Bool(it)) => Arg::Bool(*it),
        Val::Known(Known::Text(it)) => Arg::Text(it.clone()),
        Val::Known(Known::Word(it)) => Arg::Word(it.clone()),
        Val::Known(Known::Number(it)) => match it.size {
            Size::Int(it) => Arg::Int(it),
            Size::Float(it) => Arg::Float(it),
        },
        Val::Interval(low, high) => {
            let (Val::Known(Known::Number(low)), Val::Known(Known::Number(high))) =
                (&**low, &**high)
            else {
                return None;
            };
            Arg::Interval(low.as_f64(), high.as_f64())
        }
        Val::List(all) => Arg::List(all.iter().map(known_arg).collect::<Option<_>>()?),
        Val::Record(fields) => {
            let field = |(name, it): &(String, Val)| Some((name.clone(), known_arg(it)?));
            Arg::Record(fields.iter().map(field).collect::<Option<_>>()?)
        }
        Val::Expr(_) | Val::Counted { .. } | Val::Stream(_) | Val::Broken => return None,
    })
}

/// The numbers of a list, nested as deep as it is, where all of it is known.
pub(super) fn numbers(all: &[Val]) -> Vec<Size> {
    let mut flat = Vec::new();
    match flatten(all, 0, &mut Vec::new(), &mut flat) {
        Some(()) => flat,
        None => Vec::new(),
    }
}

/// A constant tensor of a list, nested as deep as it is, where all of it is known.
pub(super) fn constant_list(all: &[Val], like: Option<DType>) -> Option<(Const, Type)> {
    let mut flat = Vec::new();
    let mut shape = Vec::new();
    flatten(all, 0, &mut shape, &mut flat)?;
    let whole: Option<Vec<i64>> = flat
        .iter()
        .map(|it| match it {
            Size::Int(it) => Some(*it),
            Size::Float(_) => None,
        })
        .collect();
    let ty =
        |dtype| Type::Tensor { dtype, shape: shape.iter().map(|it| Extent::Known(*it)).collect() };
    match (whole, like) {
        (Some(ints), like) if !like.is_some_and(DType::is_float) => {
            let dtype = like.filter(|it| it.is_int()).unwrap_or(DType::I64);
            Some((Const::Ints(dtype, shape.clone(), ints), ty(dtype)))
        }
        (_, like) => {
            let dtype = like.filter(|it| it.is_float()).unwrap_or(DType::F32);
            let float = |it: &Size| match it {
                Size::Int(it) => *it as f64,
                Size::Float(it) => *it,
            };
            Some((Const::Floats(dtype, shape.clone(), flat.iter().map(float).collect()), ty(dtype)))
        }
    }
}

fn flatten(all: &[Val], depth: usize, shape: &mut Vec<u64>, flat: &mut Vec<Size>) -> Option<()> {
    let len = all.len() as u64;
    match shape.get(depth) {
        Some(known) if *known != len => return None,
        Some(_) => {}
        None => shape.push(len),
    }
    for val in all {
        match val {
            Val::Known(Known::Number(it)) => flat.push(it.size),
            Val::List(inner) => flatten(inner, depth + 1, shape, flat)?,
            _ => return None,
        }
    }
    let deep = all.iter().any(|it| matches!(it, Val::List(_)));
    (!deep || all.iter().all(|it| matches!(it, Val::List(_)))).then_some(())
}
