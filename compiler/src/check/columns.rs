//! Columns of tables whose names a program cannot write.

use super::{Checker, Env, Val, fit};
use crate::{ast, errors::check::Unnamed, registry::Kind};
use plan::{OpId, OpKind, is_field_name, name_for, nearest};

impl Checker<'_> {
    /// The value of an entry of a record; a bare name among columns is that of one.
    pub(super) fn entry_value(
        &mut self,
        entry: &ast::Entry,
        words: fit::EntryWords,
        env: &mut Env<'_>,
    ) -> Val {
        match words == fit::EntryWords::Columns && entry.bare {
            true => Val::text(entry.name.text.as_str()),
            false => self.value(&entry.value, env),
        }
    }

    /// A column of the records of `op` that has no name a program can write, and that was probably meant by `wanted`; the
    /// first such one, where nothing says more.
    pub(super) fn unnamed(&self, wanted: &str, op: OpId) -> Option<Unnamed> {
        let columns = self.sources_of(Some(op)).into_iter().filter_map(|it| {
            let OpKind::Source { entry, .. } = &self.ops[OpId(it)].kind else { return None };
            let formals = &self.registry.get(entry, Kind::Source)?.signature.formals;
            let is_argument = |it: &&ast::Formal| {
                fit::entry_words(it.type_.as_ref()) == Some(fit::EntryWords::Columns)
            };
            let argument = formals.iter().find(is_argument)?;
            let all = self.ops[OpId(it)].output.iter();
            let of = |column: &plan::Field| Unnamed {
                column: column.name.clone(),
                name: name_for(&column.name),
                source: entry.clone(),
                argument: argument.name.text.clone(),
                is_meant: false,
            };
            Some(all.filter(|it| !is_field_name(&it.name)).map(of).collect::<Vec<_>>())
        });
        let mut all: Vec<Unnamed> = columns.flatten().collect();
        let still = |it: &Unnamed| self.ops[op].output.iter().any(|of| of.name == it.column);
        all.retain(still);
        let names: Vec<&str> = all.iter().flat_map(|it| [&*it.name, &*it.column]).collect();
        let near = nearest(wanted, &names);
        let is_meant = |it: &Unnamed| {
            let mut own = [&*it.name, &*it.column].into_iter();
            own.any(|it| it == wanted || near == Some(it))
        };
        match all.iter().position(is_meant) {
            Some(at) => Some(Unnamed { is_meant: true, ..all.swap_remove(at) }),
            None => all.into_iter().next(),
        }
    }
}

/// The names of the fields of a record, those of records in it after a dot.
pub(super) fn field_names(record: &[(String, Val)]) -> Vec<String> {
    let inner = |(name, val): &(String, Val)| match val {
        Val::Record(inner) => field_names(inner).iter().map(|it| format!("{name}.{it}")).collect(),
        _ => vec![name.clone()],
    };
    record.iter().flat_map(inner).collect()
}
