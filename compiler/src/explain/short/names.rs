//! Steps under the names that a person wrote: `map`, `map#2` where there are several, and one row for
//! what the library makes several steps of.

use super::super::{Explanation, Line};
use std::collections::BTreeMap;

/// What one word of the text does: usually one step.
pub(super) struct Group<'a> {
    pub(super) name: String,
    /// Never empty; records leave the last one.
    pub(super) lines: Vec<&'a Line>,
}

/// The steps in their order, those together that one word of the text stands for.
pub(super) fn groups(explanation: &Explanation) -> Vec<Group<'_>> {
    let mut all: Vec<Group<'_>> = Vec::new();
    for line in &explanation.steps {
        let call = call_of(&line.step);
        match all.last_mut() {
            // `files` is two steps of the library, which stand at one place of the text.
            Some(group) if is_inside(&line.step) && is_one(group, line, call) => {
                group.lines.push(line);
            }
            _ => all.push(Group { name: String::new(), lines: vec![line] }),
        }
    }
    name(&mut all);
    all
}

fn is_one(group: &Group<'_>, line: &Line, call: &str) -> bool {
    let last = group.lines[group.lines.len() - 1];
    last.place == line.place
        && last.depth == line.depth
        && last.stream.is_none()
        && call_of(&last.step) == call
}

/// The call that a step is of, as it stands in the pipeline: `train.files#1` of `train.files#1.with#1`.
fn call_of(step: &str) -> &str {
    let mut dots = step.match_indices('.').map(|it| it.0);
    match (dots.next(), dots.next()) {
        (Some(_), Some(second)) => &step[..second],
        _ => step,
    }
}

/// Whether a step is of a function, of the library or the program.
fn is_inside(step: &str) -> bool {
    call_of(step) != step
}

/// The shortest names that tell the groups apart: `map`, `map#2`, `pairs.map#2`.
fn name(all: &mut [Group<'_>]) {
    let forms = |group: &Group<'_>| -> [String; 3] {
        let line = group.lines[0];
        // A step of a function whose steps stand apart is called by its own name.
        let id = if group.lines.len() > 1 { call_of(&line.step) } else { line.step.as_str() };
        let numbered = id.rsplit('.').next().unwrap_or(id);
        let word = numbered.split('#').next().unwrap_or(numbered);
        [word.to_owned(), numbered.to_owned(), id.to_owned()]
    };
    let forms: Vec<[String; 3]> = all.iter().map(forms).collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for form in forms.iter().flatten() {
        *uses.entry(form).or_default() += 1;
    }
    for (group, form) in all.iter_mut().zip(&forms) {
        let own = form.iter().find(|it| {
            let times = form.iter().filter(|other| other == it).count();
            uses[it.as_str()] == times
        });
        group.name.clone_from(own.unwrap_or(&form[2]));
    }
}
