//! Reads the arguments of operators: the same for the compiler's checks and for the run.

use super::group::unfit;
use plan::{Arg, Field};
use runtime::Failure;

/// Records that one count of a program may name: windows, batches.
pub(super) const ROWS_MAX: i64 = 1 << 24;

/// The whole number that `arg` is, where it was given.
pub(super) fn int(arg: &Arg) -> Option<i64> {
    match arg {
        Arg::Int(it) => Some(*it),
        Arg::Float(it) if it.fract() == 0.0 && it.abs() < 2_f64.powi(53) => Some(*it as i64),
        _ => None,
    }
}

/// The number that `arg` is, where it was given.
pub(super) fn number(arg: &Arg) -> Option<f64> {
    match arg {
        Arg::Int(it) => Some(*it as f64),
        Arg::Float(it) => Some(*it),
        _ => None,
    }
}

/// The numbers of a list, or the one number; none where it was left out.
pub(super) fn numbers(arg: &Arg) -> Vec<f64> {
    match arg {
        Arg::List(all) => all.iter().filter_map(number).collect(),
        one => number(one).into_iter().collect(),
    }
}

/// The size that `arg` is, from `least` to [`ROWS_MAX`]; nothing where it was left out.
pub(super) fn size(arg: &Arg, name: &str, least: i64) -> Result<Option<usize>, String> {
    match int(arg) {
        Some(it) if (least..=ROWS_MAX).contains(&it) => Ok(Some(it as usize)),
        Some(it) => Err(format!("`{name}` is {it}, but must be in {least}..{ROWS_MAX}")),
        None if *arg == Arg::None => Ok(None),
        None => Err(format!("`{name}` must be an integer that is known at compile time")),
    }
}

/// How many records `arg` counts, from 0.
pub(super) fn count(arg: &Arg, name: &str) -> Result<u64, String> {
    let found = int(arg).ok_or(format!("`{name}` must be an integer"))?;
    u64::try_from(found).map_err(|_| format!("`{name}` is {found}, but must be at least 0"))
}

/// What is left of `n` records, where a run is resumed.
pub(super) fn left(state: Option<&[u64]>, n: u64) -> Result<u64, Failure> {
    match state {
        None => Ok(n),
        Some([left]) if *left <= n => Ok(*left),
        Some(_) => Err(unfit("skip` or `take")),
    }
}

/// The word that `arg` is.
pub(super) fn word(arg: &Arg) -> &str {
    match arg {
        Arg::Word(it) | Arg::Text(it) => it,
        _ => "",
    }
}

/// The texts of a list; none where it was left out.
pub(super) fn texts(arg: &Arg) -> impl Iterator<Item = &str> {
    let all = if let Arg::List(all) = arg { &all[..] } else { &[] };
    all.iter().map(word).filter(|it| !it.is_empty())
}

/// The column that a parameter of the record became.
pub(super) fn column(arg: &Arg) -> Option<usize> {
    match arg {
        Arg::Column(it) => Some(*it as usize),
        _ => None,
    }
}

/// The named values of a record, those of nested records under dotted names.
pub(super) fn named(arg: &Arg) -> Vec<(String, &Arg)> {
    let Arg::Record(entries) = arg else { return Vec::new() };
    let mut all = Vec::new();
    for (name, value) in entries {
        match value {
            Arg::Record(_) => {
                all.extend(named(value).into_iter().map(|(it, arg)| (format!("{name}.{it}"), arg)));
            }
            _ => all.push((name.clone(), value)),
        }
    }
    all
}

/// The fields that a program sees: without the hidden ones that carry arguments.
pub(super) fn visible(fields: &[Field]) -> Vec<Field> {
    fields.iter().filter(|it| !it.name.starts_with('$')).cloned().collect()
}
