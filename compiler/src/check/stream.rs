//! Streams: sources, operators, and the four that do something to each record.

use super::{
    Checker, Env, Known, Val,
    args::{Given, known_arg},
    by_file::joins_by_file,
    field_names::is_fields,
    fit::{Kind, entry_words, kind},
    remains::remains,
    scope::Scope,
    value::merged,
};
use crate::{
    ast::{self, EachKind},
    errors::check as errors,
    registry::{Function, LIBRARY_FILES},
};
use plan::{
    Applied, Arg, DEPTH_MAX, Expr, ExprId, Field, Graph, Op, OpId, OpKind, PLAUSIBLE_BYTES_MAX,
    Policy, Records, Span, Type,
};

impl<'a> Checker<'a> {
    /// The record that `op` gives, as a value of the current graph.
    pub(super) fn record_of(&mut self, op: OpId) -> Val {
        let fields = self.ops[op].output.clone();
        let mut record = Vec::new();
        for (i, field) in fields.into_iter().enumerate() {
            let id = self.node(Expr::Column(i as u32), field.ty);
            insert(&mut record, &field.name, Val::Expr(id));
        }
        Val::Record(record)
    }

    /// Checks an operator's expressions in a graph of their own.
    pub(super) fn in_graph<R>(
        &mut self,
        input: Option<OpId>,
        check: impl FnOnce(&mut Self) -> R,
    ) -> (R, Graph) {
        let graph = std::mem::take(&mut self.graph);
        let loops = std::mem::take(&mut self.loops);
        let outer = std::mem::replace(&mut self.input, input);
        let found = check(self);
        self.input = outer;
        self.loops = loops;
        (found, std::mem::replace(&mut self.graph, graph))
    }

    /// `stream |> map body` and the like.
    pub(super) fn each(&mut self, input: OpId, each: &ast::Each, env: &mut Env<'_>) -> Val {
        let (found, graph) = self.in_graph(Some(input), |it| {
            let record = it.record_of(input);
            it.note_scope(each.body.span, &record);
            let mut inner = env.with(Scope::Record(record.clone(), Some(input)));
            let body = it.value(&each.body, &mut inner);
            let remains = remains(each.kind, &record, &body);
            (it.each_kind(input, each, (record, body)), remains)
        });
        let (Some((kind, output, written)), _) = found else {
            self.remains = found.1;
            return Val::Broken;
        };
        let op = self.push(Op {
            kind,
            inputs: vec![input],
            graph,
            output,
            step: step(env.pipeline, each.kind.word(), self.names.ordinal(each.at)),
            place: env.place,
            at: self.shown_place(each.at.to(each.body.span)),
            on_fault: Policy::Fail,
        });
        self.note_writers(op, input, &written, env.place, each.kind);
        self.note_step(
            op,
            Some(&each.body).filter(|_| each.kind != EachKind::Where).map(|it| &**it),
        );
        Val::Stream(op)
    }

    pub(super) fn push(&mut self, op: Op) -> OpId {
        if op.graph.depth() > DEPTH_MAX {
            self.report(errors::values_too_deep(op.at, DEPTH_MAX));
        }
        self.ops.push(op)
    }

    /// Remembers which definition wrote the fields of `op`.
    fn note_writers(
        &mut self,
        op: OpId,
        input: OpId,
        written: &[String],
        place: u64,
        kind: EachKind,
    ) {
        if !matches!(kind, EachKind::Map | EachKind::FlatMap) {
            self.keep_writers(op, input);
        }
        for name in written {
            self.writers.insert((op, name.clone()), place);
        }
    }

    /// The fields of `op` are those of its input, and so are who wrote them.
    pub(super) fn keep_writers(&mut self, op: OpId, input: OpId) {
        let kept: Vec<(String, u64)> = self
            .writers
            .iter()
            .filter(|((it, _), _)| *it == input)
            .map(|((_, name), place)| (name.clone(), *place))
            .collect();
        for (name, place) in kept {
            self.writers.insert((op, name), place);
        }
    }

    fn each_kind(
        &mut self,
        input: OpId,
        each: &ast::Each,
        (record, body): (Val, Val),
    ) -> Option<(OpKind, Vec<Field>, Vec<String>)> {
        let at = each.body.span;
        match (each.kind, body) {
            (_, Val::Broken) => None,
            (EachKind::Where, body) => {
                let keep = self.condition(&body, at)?;
                if !self.ty(keep).shape().is_some_and(<[_]>::is_empty) {
                    let shown = self.shown(&Val::Expr(keep));
                    self.report(errors::not_a_condition(at, &shown));
                    return None;
                }
                let output = self.ops[input].output.clone();
                Some((OpKind::Where { keep }, output, Vec::new()))
            }
            (EachKind::FlatMap, body) => self.flat_map(&body, at),
            (kind, Val::Record(fields)) => {
                let written: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
                let fields = match (kind, record) {
                    (EachKind::With, Val::Record(old)) => merged(old, fields),
                    _ => fields,
                };
                let (outputs, output) = self.flat(&fields, at)?;
                Some((OpKind::Map { outputs }, output, written))
            }
            (EachKind::With, body) => {
                let shown = self.shown(&body);
                self.report(errors::with_no_record(at, &shown));
                None
            }
            (_, body) => {
                let shown = self.shown(&body);
                self.report(errors::map_to_no_record(at, &shown));
                None
            }
        }
    }

    fn flat_map(&mut self, body: &Val, at: Span) -> Option<(OpKind, Vec<Field>, Vec<String>)> {
        let (records, output) = match body {
            Val::List(all) => {
                let mut lists = Vec::new();
                let mut output: Option<Vec<Field>> = None;
                for val in all {
                    let Val::Record(fields) = val else {
                        let shown = self.shown(val);
                        self.report(errors::flat_map_of(&shown, at));
                        return None;
                    };
                    let (ids, fields) = self.flat(fields, at)?;
                    if output.as_ref().is_some_and(|it| *it != fields) {
                        self.report(errors::branches_differ(at, at));
                        return None;
                    }
                    output = Some(fields);
                    lists.push(ids);
                }
                let Some(output) = output else {
                    self.report(errors::empty_list(at));
                    return None;
                };
                (Records::Listed(lists), output)
            }
            Val::Counted { count, var, body } => {
                let Val::Record(fields) = &**body else {
                    let shown = self.shown(body);
                    self.report(errors::flat_map_of(&shown, at));
                    return None;
                };
                let (outputs, output) = self.flat(fields, at)?;
                let (var, outputs) = self.around(*var, outputs);
                (Records::Counted { count: *count, var, outputs }, output)
            }
            other => {
                let shown = self.shown(other);
                self.report(errors::flat_map_of(&shown, at));
                return None;
            }
        };
        let written = output.iter().map(|it| root(&it.name).to_owned()).collect();
        Some((OpKind::FlatMap { records }, output, written))
    }

    /// The columns of a record: nested records as dotted names.
    fn flat(&mut self, fields: &[(String, Val)], at: Span) -> Option<(Vec<ExprId>, Vec<Field>)> {
        let mut outputs = Vec::new();
        let mut output = Vec::new();
        let mut fine = true;
        for (name, val) in fields {
            if let Val::Record(inner) = val {
                let Some((ids, fields)) = self.flat(inner, at) else {
                    fine = false;
                    continue;
                };
                outputs.extend(ids);
                output.extend(
                    fields
                        .into_iter()
                        .map(|it| Field { name: format!("{name}.{}", it.name), ..it }),
                );
                continue;
            }
            match self.node_of(val, None, at) {
                Some(id) => {
                    outputs.push(id);
                    output.push(Field { name: name.clone(), ty: self.ty(id) });
                }
                None => fine = false,
            }
        }
        fine.then_some((outputs, output))
    }

    /// Where a person finds what is at `at`: the call that led into the library.
    pub(super) fn shown_place(&self, at: Span) -> Span {
        if at.file.0 >= LIBRARY_FILES { self.user_call.unwrap_or(at) } else { at }
    }

    /// An operator of the library.
    pub(super) fn operator_of(
        &mut self,
        found: &Function,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        let formals = &found.signature.formals;
        if let Some((val, at)) = &piped
            && !matches!(val, Val::Stream(_) | Val::Broken)
            && formals.first().is_some_and(is_one_stream)
        {
            let shown = self.shown(val);
            return self.report(errors::operator_on_value(&call.name, &shown, *at));
        }
        let Some(given) = self.bind(formals, call, piped) else {
            self.broken_arguments(call, env);
            return Val::Broken;
        };
        let Some((inputs, names, n_inputs)) = self.inputs(found, &given, env) else {
            self.broken_arguments(call, env);
            return Val::Broken;
        };
        // Arguments of the record are of the first stream, unless there is a list of them.
        let is_first = formals.first().is_some_and(is_one_stream);
        let input = inputs.first().copied().filter(|_| is_first || inputs.len() == 1);
        let (args, graph) = self.in_graph(input, |it| {
            it.operator_args(found, &given, (env, input, call.span), n_inputs)
        });
        let Some(args) = args else { return Val::Broken };
        self.finish_operator(found, call, (inputs, names, args, graph), env)
    }

    /// Looks for mistakes in the arguments of an operator whose input is broken.
    fn broken_arguments(&mut self, call: &ast::Call, env: &mut Env<'_>) {
        let mut inner = env.with(Scope::Record(Val::Broken, None));
        for arg in &call.args {
            if !matches!(arg.value.kind, ast::ExprKind::Name(_)) {
                self.value(&arg.value, &mut inner);
            }
        }
    }

    fn finish_operator(
        &mut self,
        found: &Function,
        call: &ast::Call,
        (inputs, names, args, graph): (Vec<OpId>, Vec<String>, Vec<Arg>, Graph),
        env: &Env<'_>,
    ) -> Val {
        let name = found.entry.name();
        let fields: Vec<Vec<Field>> =
            inputs.iter().map(|it| self.ops[*it].output.clone()).collect();
        let applied =
            Applied { args: &args, graph: &graph, inputs: &fields, names: &names, found: &[] };
        let blamed = self.blamed(&inputs, call);
        let output = match found.entry.fields.map(|it| it(&applied)) {
            Some(Ok(output)) => output,
            Some(Err(why)) => return self.report(errors::refused(name, &why, blamed)),
            None => fields.first().cloned().unwrap_or_default(),
        };
        if joins_by_file((found.entry, &args), self.registry)
            && let Some(why) = self.not_by_file(&inputs)
        {
            return self.report(errors::refused(name, &why, blamed));
        }
        let beyond = |it: &Type| it.fixed_bytes().is_none_or(|it| it > PLAUSIBLE_BYTES_MAX);
        if let Some(field) = output.iter().find(|it| it.ty.fixed().is_some() && beyond(&it.ty)) {
            return self.report(errors::records_too_large(field, blamed));
        }
        let first = inputs.first().copied();
        let op = self.push(Op {
            kind: OpKind::Operator { entry: name.to_owned(), args, names },
            inputs,
            graph,
            output,
            step: step(env.pipeline, name, self.names.ordinal(call.name.span)),
            place: self.place(&call.name, env),
            at: self.shown_place(call.span),
            on_fault: Policy::Fail,
        });
        if let Some(first) = first {
            self.keep_writers(op, first);
        }
        self.note_step(op, None);
        Val::Stream(op)
    }

    /// The streams that an operator reads, their names, and how many parameters they took.
    fn inputs(
        &mut self,
        found: &Function,
        given: &[Option<Given<'_>>],
        env: &mut Env<'_>,
    ) -> Option<(Vec<OpId>, Vec<String>, usize)> {
        let mut inputs = Vec::new();
        let mut names = Vec::new();
        let mut taken = 0;
        for (formal, given) in found.signature.formals.iter().zip(given) {
            let many = match kind(formal.type_.as_ref()) {
                Kind::Stream => false,
                Kind::Streams => true,
                _ => break,
            };
            taken += 1;
            let (val, at) = match given.as_ref()? {
                Given::Value(val, at) => (val.clone(), *at),
                Given::Written(expr) => (self.value(expr, env), expr.span),
            };
            self.streams_of(&val, at, many, (&mut inputs, &mut names))?;
        }
        Some((inputs, names, taken))
    }

    fn streams_of(
        &mut self,
        val: &Val,
        at: Span,
        many: bool,
        (inputs, names): (&mut Vec<OpId>, &mut Vec<String>),
    ) -> Option<()> {
        match val {
            Val::Broken => return None,
            Val::Stream(op) if !many => inputs.push(*op),
            Val::Record(fields) if many && !fields.is_empty() => {
                for (name, it) in fields {
                    names.push(name.clone());
                    self.streams_of(it, at, false, (inputs, &mut Vec::new()))?;
                }
            }
            Val::List(all) if many && !all.is_empty() => {
                for it in all {
                    self.streams_of(it, at, false, (inputs, &mut Vec::new()))?;
                }
            }
            other => {
                let shown = self.shown(other);
                self.report(errors::not_streams(&shown, many, at));
                return None;
            }
        }
        Some(())
    }

    /// The arguments behind the inputs; those marked `each` are expressions over the record.
    pub(super) fn operator_args(
        &mut self,
        found: &Function,
        given: &[Option<Given<'_>>],
        (env, input, at): (&mut Env<'_>, Option<OpId>, Span),
        n_inputs: usize,
    ) -> Option<Vec<Arg>> {
        let formals = &found.signature.formals;
        let mut args: Vec<Arg> = Vec::new();
        let mut fine = true;
        for (formal, given) in formals.iter().zip(given).skip(n_inputs) {
            let arg = match (given, input) {
                (None, _) => self.default_arg(formal, (&formals[n_inputs..], &args), at),
                (Some(Given::Value(val, at)), _) => self.fit_known(formal, val, *at),
                (Some(Given::Written(expr)), Some(input)) if formal.each => {
                    self.each_arg(expr, (input, found.entry), env)
                }
                (Some(Given::Written(expr)), Some(input)) if is_fields(formal) => {
                    self.fields_arg(formal, expr, input, env)
                }
                (Some(Given::Written(expr)), _) => self.plain_arg(formal, expr, env),
            };
            fine &= arg.is_some();
            args.push(arg.unwrap_or(Arg::None));
        }
        fine.then_some(args)
    }

    pub(super) fn plain_arg(
        &mut self,
        formal: &ast::Formal,
        expr: &ast::Expr,
        env: &mut Env<'_>,
    ) -> Option<Arg> {
        if let (Kind::Words(words), ast::ExprKind::Name(name)) =
            (kind(formal.type_.as_ref()), &expr.kind)
            && words.iter().any(|it| it.text == *name)
        {
            return Some(Arg::Word(name.clone()));
        }
        if matches!(&expr.kind, ast::ExprKind::Name(name) if name == "none") {
            return Some(Arg::None);
        }
        if let (Kind::Words(words), ast::ExprKind::Name(name)) =
            (kind(formal.type_.as_ref()), &expr.kind)
            && !self.is_known(name, env)
        {
            self.report(errors::not_one_of(name, words, expr.span));
            return None;
        }
        if let (Some(words), ast::ExprKind::Record(entries)) =
            (entry_words(formal.type_.as_ref()), &expr.kind)
        {
            let val = self.record_of_words(entries, words, env);
            return self.fit(formal, &val, expr.span);
        }
        match self.value(expr, env) {
            Val::Known(Known::Word(it)) if it == "none" => Some(Arg::None),
            Val::Broken => None,
            // Files are named by text, or by a list of texts.
            val @ (Val::List(_) | Val::Known(Known::Text(_)))
                if self.is_texts(&val)
                    && !matches!(kind(formal.type_.as_ref()), Kind::Words(_)) =>
            {
                known_arg(&val)
            }
            val => self.fit_known(formal, &val, expr.span),
        }
    }

    /// Whether a name stands for a value that is known before any record.
    pub(super) fn is_known(&self, name: &str, env: &Env<'_>) -> bool {
        let is_param =
            |it: &Scope| matches!(it, Scope::Params(all) if all.iter().any(|(it, _)| it == name));
        name == "none"
            || env.scopes.iter().any(is_param)
            || self.names.named.contains_key(&(env.file, name))
    }

    fn is_texts(&self, val: &Val) -> bool {
        match val {
            Val::Known(Known::Text(_)) => true,
            Val::List(all) => {
                !all.is_empty() && all.iter().all(|it| matches!(it, Val::Known(Known::Text(_))))
            }
            _ => false,
        }
    }

    /// `stream else policy`: for all to its left that says nothing itself.
    pub(super) fn rescue(&mut self, op: OpId, policy: Policy) {
        let mut open = vec![op];
        while let Some(op) = open.pop() {
            if self.ops[op].on_fault == Policy::Fail {
                self.ops[op].on_fault = policy;
            }
            open.extend(self.ops[op].inputs.clone());
        }
    }
}

/// Whether a parameter takes one stream, not a list of them.
fn is_one_stream(formal: &ast::Formal) -> bool {
    matches!(kind(formal.type_.as_ref()), Kind::Stream)
}

/// The name of a step: `train.map#1`.
pub(super) fn step(pipeline: &str, word: &str, number: u32) -> String {
    format!("{pipeline}.{word}#{number}")
}

fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Puts a value into nested records under a dotted name.
fn insert(record: &mut Vec<(String, Val)>, name: &str, val: Val) {
    let Some((head, rest)) = name.split_once('.') else {
        record.push((name.to_owned(), val));
        return;
    };
    let at = record.iter().position(|(it, _)| it == head).unwrap_or_else(|| {
        record.push((head.to_owned(), Val::Record(Vec::new())));
        record.len() - 1
    });
    if let (_, Val::Record(inner)) = &mut record[at] {
        insert(inner, rest, val);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_names_are_nested_records() {
        let mut record = Vec::new();
        insert(&mut record, "a.x", Val::int(1));
        insert(&mut record, "b", Val::int(2));
        insert(&mut record, "a.y", Val::int(3));
        let inner = Val::Record(vec![("x".into(), Val::int(1)), ("y".into(), Val::int(3))]);
        assert_eq!(record, [("a".into(), inner), ("b".into(), Val::int(2))]);
    }
}
