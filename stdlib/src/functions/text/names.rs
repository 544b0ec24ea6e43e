//! Lists of names that a program gives: the number of each, and what an unknown one may mean.

use super::json::shown;
use crate::prelude::*;
use std::collections::HashMap;

/// Names that a message lists.
const SHOWN_MAX: usize = 8;

/// Names in order, found by a table that is made once for a call.
pub(super) struct Names {
    numbers: HashMap<Vec<u8>, i64>,
    /// The same in order, each with its letters, by which most of those that are unlike are ruled out.
    all: Vec<(u64, String)>,
}

impl Names {
    pub(super) fn new(all: impl IntoIterator<Item = String>) -> Self {
        let all: Vec<_> = all.into_iter().map(|it| (letters(&it), it)).collect();
        let numbers =
            all.iter().zip(0..).map(|((_, it), number)| (it.clone().into_bytes(), number));
        Self { numbers: numbers.collect(), all }
    }

    /// Those of a list of texts.
    pub(super) fn of(all: &[Arg]) -> Self {
        Self::new(all.iter().filter_map(text).map(str::to_owned))
    }

    pub(super) fn number(&self, name: &[u8]) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    /// Says that `name` is none of them, and which is nearest; `what` they are, in the plural.
    pub(super) fn unknown(&self, name: &str, what: &str) -> String {
        let most = (name.chars().count() / 3).max(1);
        let own = letters(name);
        // A letter added, dropped or changed takes at most one away from either side.
        let is_near = |it: u64| {
            (own & !it).count_ones() as usize <= most && (it & !own).count_ones() as usize <= most
        };
        let near = self.all.iter().filter(|it| is_near(it.0)).map(|it| it.1.as_str());
        let near: Vec<&str> = near.collect();
        let none = format!("{} is not one of {} {what}", shown(name), self.all.len());
        if let Some(meant) = plan::nearest(name, &near) {
            return format!("{none}; the nearest is {}", shown(meant));
        }
        let listed: Vec<_> = self.all.iter().take(SHOWN_MAX).map(|it| shown(&it.1)).collect();
        let more = if self.all.len() > SHOWN_MAX { ", …" } else { "" };
        match &listed[..] {
            [] => none,
            _ => format!("{none}: {}{more}", listed.join(", ")),
        }
    }
}

/// The letters of a name, case aside, as a set.
fn letters(name: &str) -> u64 {
    name.chars().flat_map(char::to_lowercase).fold(0, |set, it| set | 1 << (u32::from(it) % 64))
}

pub(super) fn text(arg: &Arg) -> Option<&str> {
    if let Arg::Text(it) = arg { Some(it) } else { None }
}

/// Says which element of a list stands in it twice, if one does; numbers are `i64`, others text.
pub(super) fn repeated(all: &[Arg]) -> Result<(), String> {
    let mut first: HashMap<String, usize> = HashMap::new();
    for (i, it) in all.iter().enumerate() {
        let shown = match it {
            Arg::Text(it) => format!("\"{it}\""),
            Arg::Int(it) => it.to_string(),
            _ => continue,
        };
        if let Some(first) = first.insert(shown.clone(), i) {
            return Err(format!(
                "{shown} is in the list twice, at {first} and {i}, but can have only one number"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_named_also_among_many() {
        let names = Names::new((0..5_000).map(|it| format!("class_{it}")).chain(["Zebra".into()]));
        assert_eq!(names.number(b"class_4999"), Some(4_999));
        assert_eq!(
            names.unknown("zebr", "classes"),
            "`zebr` is not one of 5001 classes; the nearest is `Zebra`"
        );
        let listed = Names::new(["cat", "dog"].map(str::to_owned)).unknown("submarine", "entries");
        assert_eq!(listed, "`submarine` is not one of 2 entries: `cat`, `dog`");
    }
}
