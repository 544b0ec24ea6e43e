//! Which file a record failed in: of a picture and its mask, the one that is torn.

use super::{Compiled, Subject, machine::Machine};
use crate::Fault;
use plan::{ExprId, Index, Transform};

/// A value that was read from a file.
pub(super) struct File {
    /// The text that names it.
    name: ExprId,
    /// The nodes that are made of it, by number; it is one of them.
    above: Vec<bool>,
    value: ExprId,
}

/// The files of a transform.
pub(super) fn of(transform: &Transform) -> Vec<File> {
    let file = |&(value, name): &(ExprId, ExprId)| {
        let mut above = vec![false; transform.graph.len()];
        above[value.row()] = true;
        for (id, expr, _) in transform.graph.iter() {
            expr.needs(|it| above[id.row()] |= above[it.row()]);
        }
        File { name, above, value }
    };
    transform.files.iter().map(file).collect()
}

/// The names of the files that the node `culprit` is made of: the last ones, where a file names another.
fn made_of(files: &[File], culprit: ExprId) -> Vec<ExprId> {
    let below: Vec<&File> = files.iter().filter(|it| it.above[culprit.row()]).collect();
    let is_last = |file: &&&File| {
        !below.iter().any(|it| it.value != file.value && file.above[it.value.row()])
    };
    let mut names: Vec<ExprId> = below.iter().filter(is_last).map(|it| it.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Compiled {
    /// Says of a fault in which file it is, where that is another than the one that names the record; or of
    /// which files the value is that could not be made, where they are several.
    pub(super) fn place(
        &self,
        fault: &mut Fault,
        machine: &mut Machine,
        (subject, record): (Subject<'_>, &str),
    ) {
        let names = machine.culprit().map(|it| made_of(&self.files, it)).unwrap_or_default();
        let found = |&name: &ExprId| {
            let found = machine.find(&self.values.nodes, subject, name).ok()?;
            Some(found.as_str().to_owned()).filter(|it| !it.is_empty())
        };
        let found: Option<Vec<String>> = names.iter().map(found).collect();
        match found.as_deref() {
            Some([name]) if record.trim_matches('`') != name => {
                fault.file = Some(name.as_str().into());
            }
            Some(several @ [_, .., last]) => {
                let others: Vec<String> =
                    several[..several.len() - 1].iter().map(|it| format!("`{it}`")).collect();
                let all = format!("{} and `{last}`", others.join(", "));
                fault.detail = format!("{}; the files are {all}", fault.detail).into();
            }
            _ => {}
        }
    }
}
