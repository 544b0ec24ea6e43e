//! Sources: what a pipeline begins with.

use super::{Checker, Env, InputError, Val, args::Given, stores::in_store, stream::step};
use crate::{
    ast,
    errors::check as errors,
    registry::{Function, LIBRARY_FILES},
};
use plan::{Applied, Arg, Field, Graph, Op, OpId, OpKind, Policy, Property, Span};

impl Checker<'_> {
    /// A source of the library.
    pub(super) fn source(
        &mut self,
        found: &Function,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        if let Some((Val::Stream(_), _)) = piped {
            return self.report(errors::source_on_stream(call));
        }
        if env.is_in_record() && self.is_made_of_record(call, piped.as_ref(), env) {
            return self.report(errors::stream_in_record(call.span));
        }
        let Some(given) = self.bind(&found.signature.formals, call, piped) else {
            return Val::Broken;
        };
        let (args, graph) =
            self.in_graph(None, |it| it.operator_args(found, &given, (env, None, call.span), 0));
        let Some(args) = args else { return Val::Broken };
        let name = found.entry.name();
        let is_read = |it: &str| self.request.inputs.reads_store(it);
        if let Some(url) = args.iter().find_map(|it| in_store(it, &is_read)) {
            return self.report(errors::object_store(url, self.shown_pattern(&given, call)));
        }
        let inputs = self.request.inputs;
        if (!self.asked && inputs.reads(name)) || !inputs.are_known(name, &args) {
            return Val::Broken;
        }
        let fields = match self.request.inputs.fields(name, &args) {
            Ok(fields) => fields,
            Err(InputError::Argument(why)) => {
                return self.report(errors::refused(name, &why, self.shown_place(call.span)));
            }
            Err(InputError::File(why)) => {
                return self.report(errors::input_unreadable(&why, call.span));
            }
        };
        let named = (found, name, call);
        let op = self.source_op(named, (args, graph, fields), env);
        op.map_or(Val::Broken, Val::Stream)
    }

    /// The step that a source is, with these arguments, where `found` are the fields that were found in its files. `named` is
    /// what it is called.
    pub(super) fn source_op(
        &mut self,
        (entry, named, call): (&Function, &str, &ast::Call),
        (args, graph, found): (Vec<Arg>, Graph, Vec<Field>),
        env: &Env<'_>,
    ) -> Option<OpId> {
        let entry = entry.entry;
        let applied =
            Applied { args: &args, graph: &graph, inputs: &[], names: &[], found: &found };
        let output = match entry.fields.map(|it| it(&applied)) {
            Some(Ok(output)) => output,
            Some(Err(why)) => {
                self.report(errors::refused(named, &why, self.shown_place(call.span)));
                return None;
            }
            None => found,
        };
        let op = self.push(Op {
            kind: OpKind::Source { entry: entry.name().to_owned(), args },
            inputs: Vec::new(),
            graph,
            output,
            step: step(env.pipeline, named, self.names.ordinal(call.name.span)),
            place: self.place(&call.name, env),
            at: self.shown_place(call.span),
            on_fault: Policy::Fail,
        });
        let kept = entry.properties.iter().find_map(|it| match it {
            Property::Keeps(name) => Some(self.only_kept(op, name)),
            _ => None,
        });
        let op = kept.unwrap_or(op);
        self.note_step(op, None);
        Some(op)
    }

    /// Where a person has named the files that a source reads.
    fn shown_pattern(&self, given: &[Option<Given<'_>>], call: &ast::Call) -> Span {
        let at = match given.first() {
            Some(Some(Given::Written(expr))) => expr.span,
            _ => call.span,
        };
        let in_library = at.file.0 >= LIBRARY_FILES;
        if in_library { self.user_pattern.unwrap_or(self.shown_place(at)) } else { at }
    }

    /// The numbers of the sources that the records of an operator come from.
    pub(super) fn sources_of(&self, op: Option<OpId>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open: Vec<_> = op.into_iter().collect();
        while let Some(op) = open.pop() {
            if let OpKind::Source { .. } = self.ops[op].kind {
                found.push(op.0);
            }
            open.extend(&self.ops[op].inputs);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
