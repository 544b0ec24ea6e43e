//! Which file a record failed in: of a picture and its mask, the one that is torn.

use super::{Compiled, Subject, machine::Machine};
use plan::{ExprId, Index, Transform};

/// A value that was read from a file.
pub(super) struct File {
    /// The text that names it.
    name: ExprId,
    /// The nodes that are made of it, by number.
    above: Vec<bool>,
    value: ExprId,
}

/// The files of a transform.
pub(super) fn of(transform: &Transform) -> Vec<File> {
    let file = |&(value, name): &(ExprId, ExprId)| {
        let mut above = vec![false; transform.graph.len()];
        for (id, expr, _) in transform.graph.iter() {
            expr.needs(|it| above[id.row()] |= it == value || above[it.row()]);
        }
        File { name, above, value }
    };
    transform.files.iter().map(file).collect()
}

/// The name of the file that the node `culprit` is made of: the last one, where a file names another;
/// none where it is made of several.
pub(super) fn at_fault(files: &[File], culprit: ExprId) -> Option<ExprId> {
    let below: Vec<&File> = files.iter().filter(|it| it.above[culprit.row()]).collect();
    let is_last = |file: &&&File| !below.iter().any(|it| file.above[it.value.row()]);
    let mut last = below.iter().filter(is_last);
    let first = last.next()?;
    last.all(|it| it.name == first.name).then_some(first.name)
}

impl Compiled {
    /// The file in which the record failed, where that is another than the one that names it.
    pub(super) fn file(
        &self,
        machine: &mut Machine,
        subject: Subject<'_>,
        record: &str,
    ) -> Option<Box<str>> {
        let name = at_fault(&self.files, machine.culprit()?)?;
        let found = machine.find(&self.nodes, subject, name).ok()?;
        let name = found.as_str();
        (!name.is_empty() && record.trim_matches('`') != name).then(|| name.into())
    }
}
