//! The classes of labels: read from files of names, found as folders, told wherever a label is.

use crate::session::{load::read_text, samples};
use plan::{Arg, Entry, Expr, ExprId, OpId, OpKind, Plan, Property, Records};
use runtime::{Failure, Run};
use serde::Serialize;
use std::{collections::BTreeMap, path::Path};
use stdlib::listing::natural_order;

/// The names behind the numbers of a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Classes {
    /// The fields that leave with the numbers; none where they go into another value, as a one-hot row.
    pub fields: Vec<String>,
    /// The names, in the order of their numbers.
    pub names: Vec<String>,
}

/// A call that gives the number of a class.
pub(crate) struct Label {
    fields: Vec<String>,
    /// The step that it is called in.
    pub(crate) op: OpId,
    /// Where its names come from.
    pub(crate) origin: Origin,
    /// Whether it is the class of a path.
    of_path: bool,
}

/// Where the names come from.
pub(crate) enum Origin {
    /// The program says them.
    Given(Vec<String>),
    /// They are the folders of these sources.
    Folders(Vec<OpId>),
}

/// The classes of every label that a plan makes; lists the files whose folders they are.
///
/// # Errors
/// Files cannot be listed.
pub(crate) fn of_plan(plan: &Plan) -> Result<Vec<Classes>, Failure> {
    labels(plan).into_iter().map(|it| it.resolved(&mut |ops| listed(plan, ops))).collect()
}

/// The same of a run, whose sources have listed their files already.
pub(crate) fn of_run(plan: &Plan, run: &Run) -> Vec<Classes> {
    let steps = plan.steps().into_iter();
    let sources: Vec<OpId> =
        steps.filter(|it| matches!(plan.ops[*it].kind, OpKind::Source { .. })).collect();
    let mut folders = |ops: &[OpId]| {
        let numbers = ops.iter().filter_map(|op| sources.iter().position(|it| it == op));
        let mut all: Vec<String> = numbers.flat_map(|it| run.classes(it)).collect();
        all.sort_by(|a, b| natural_order(a, b));
        all.dedup();
        Ok(all)
    };
    labels(plan).into_iter().filter_map(|it| it.resolved(&mut folders).ok()).collect()
}

/// The classes of the labels among the fields that leave a plan, by their names; those whose files
/// cannot be listed are left out.
pub(crate) fn of_fields(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let tied = labels(plan).into_iter().filter(|it| !it.fields.is_empty());
    let found = tied.filter_map(|it| it.resolved(&mut |ops| listed(plan, ops)).ok());
    let each = |it: Classes| it.fields.into_iter().map(move |field| (field, it.names.clone()));
    found.flat_map(each).collect()
}

/// The classes that a plan says itself, where it says all of them.
pub(crate) fn given(plan: &Plan) -> Option<Vec<Classes>> {
    let all = labels(plan);
    let given = all.iter().all(|it| matches!(it.origin, Origin::Given(_)));
    given.then(|| {
        all.into_iter().filter_map(|it| it.resolved(&mut |_| Ok(Vec::new())).ok()).collect()
    })
}

/// The class folders of sources of a plan; lists their files.
pub(crate) fn listed(plan: &Plan, ops: &[OpId]) -> Result<Vec<String>, Failure> {
    of_sources(&sources(plan, ops))
}

/// The arguments of the sources among some steps.
pub(crate) fn sources<'p>(plan: &'p Plan, ops: &[OpId]) -> Vec<&'p [Arg]> {
    let args = |op: &OpId| match &plan.ops[*op].kind {
        OpKind::Source { args, .. } => Some(args.as_slice()),
        _ => None,
    };
    ops.iter().filter_map(args).collect()
}

/// Every call of a plan that gives the number of a class, in the order of its steps.
pub(crate) fn labels(plan: &Plan) -> Vec<Label> {
    let mut fields: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for field in &plan.ops[plan.root].output {
        if let Some((op, id)) = origin(plan, plan.root, &field.name) {
            fields.entry((op.0, id.0)).or_default().push(field.name.clone());
        }
    }
    let library = stdlib::library();
    let mut all = Vec::new();
    for op in plan.steps() {
        for (id, expr, _) in plan.ops[op].graph.iter() {
            let Expr::Call { function, args, .. } = expr else { continue };
            let Some(of_path) = library.function(function).and_then(numbers) else { continue };
            let origin = match &args[..] {
                [_, Arg::List(all), ..] => match texts(all) {
                    Some(names) => Origin::Given(names),
                    None => continue,
                },
                [_, _, Arg::Sources(ops)] if of_path => {
                    Origin::Folders(ops.iter().map(|it| OpId(*it)).collect())
                }
                _ => continue,
            };
            let fields = fields.remove(&(op.0, id.0)).unwrap_or_default();
            all.push(Label { fields, op, origin, of_path });
        }
    }
    all
}

/// Whether a function numbers the folder of a path, or a name that it is given; none where it does neither.
pub(crate) fn numbers(entry: &Entry) -> Option<bool> {
    entry.properties.iter().find_map(|it| match it {
        Property::Numbers { of_path } => Some(*of_path),
        _ => None,
    })
}

/// Finds the class folders of sources of a plan.
type Folders<'a> = &'a mut dyn FnMut(&[OpId]) -> Result<Vec<String>, Failure>;

impl Label {
    /// Whether it is the class of a path, and no other number of a name.
    pub(crate) fn is_of_path(&self) -> bool {
        self.of_path
    }

    fn resolved(self, folders: Folders<'_>) -> Result<Classes, Failure> {
        let names = match self.origin {
            Origin::Given(names) => names,
            Origin::Folders(ops) => folders(&ops)?,
        };
        Ok(Classes { fields: self.fields, names })
    }
}

/// The call that a field of what leaves `op` comes from, as it is.
fn origin(plan: &Plan, op: OpId, name: &str) -> Option<(OpId, ExprId)> {
    let it = &plan.ops[op];
    let i = it.output.iter().position(|it| it.name == name)?;
    let mut id = match &it.kind {
        OpKind::Map { outputs } | OpKind::FlatMap { records: Records::Counted { outputs, .. } } => {
            *outputs.get(i)?
        }
        OpKind::FlatMap { records: Records::Listed(lists) } => *lists.first()?.get(i)?,
        _ => return origin(plan, *it.inputs.first()?, name),
    };
    loop {
        match it.graph.expr(id) {
            Expr::Call { .. } => return Some((op, id)),
            Expr::Else { value, .. } => id = *value,
            Expr::Column(column) => {
                let input = *it.inputs.first()?;
                let field = plan.ops[input].output.get(*column as usize)?;
                return origin(plan, input, &field.name);
            }
            _ => return None,
        }
    }
}

/// The texts of a list that holds nothing else, and something.
fn texts(all: &[Arg]) -> Option<Vec<String>> {
    let text = |it: &Arg| if let Arg::Text(it) = it { Some(it.clone()) } else { None };
    all.iter().map(text).collect::<Option<Vec<_>>>().filter(|it| !it.is_empty())
}

/// How many names are listed where there is little room.
const SHOWN: usize = 5;

/// The first of some names, in backquotes.
pub(crate) fn shown(names: &[String]) -> String {
    let first: Vec<_> = names.iter().take(SHOWN).map(|it| format!("`{it}`")).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

/// The names in a file: one on each line, blank lines at its end left aside.
pub(crate) fn names(path: &str) -> Result<Vec<String>, String> {
    let help = "write one name per line, in the order of the labels";
    let text = read_text(Path::new(path))
        .map_err(|why| format!("cannot read the classes in `{path}`: {why}; {help}"))?;
    let text = text.trim_start_matches('\u{feff}').trim_end();
    let names: Vec<String> = text.lines().map(|it| it.trim().to_owned()).collect();
    match names.iter().position(String::is_empty) {
        Some(line) => Err(format!(
            "line {} of `{path}` is empty, but every line is a class; {help}",
            line + 1
        )),
        None if names.is_empty() => Err(format!("`{path}` is empty; {help}")),
        None => Ok(names),
    }
}

/// The class folders of sources; a set of pictures that one names is made now.
pub(crate) fn of_sources(sources: &[&[Arg]]) -> Result<Vec<String>, Failure> {
    let mut located: Vec<Vec<Arg>> = sources.iter().map(|it| it.to_vec()).collect();
    for args in &mut located {
        samples::resolve_args(args, &mut |_| ())?;
    }
    stdlib::classes(&located.iter().map(Vec::as_slice).collect::<Vec<_>>())
}
