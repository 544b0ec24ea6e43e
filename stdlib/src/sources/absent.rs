//! What a program says of values that tables lack: `missing: { age: -1, size: skip }`.

use plan::Arg;

/// The field that says whether a row is kept, where rows with missing values are left out.
pub(super) const COMPLETE: &str = "row.complete";
/// The field that says what is wrong with a row.
pub(super) const FAULT: &str = "row.fault";

/// What becomes of a missing value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Missing {
    Fault,
    Skip,
    Value(Arg),
}

impl Missing {
    /// What the argument `missing` says of each column that it names.
    pub(super) fn all(missing: &Arg) -> Result<Vec<(String, Self)>, String> {
        let of = |(name, it): &(String, Arg)| {
            let missing = match it {
                Arg::Word(word) if word == "skip" => Self::Skip,
                Arg::Word(word) if word == "fault" => Self::Fault,
                Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Text(_) => {
                    Self::Value(it.clone())
                }
                _ => {
                    return Err(format!(
                        "`missing` must give a value, `skip` or `fault` for `{name}`"
                    ));
                }
            };
            Ok((name.clone(), missing))
        };
        entries(missing).iter().map(of).collect()
    }
}

/// The fields of a record that is an argument.
pub(super) fn entries(record: &Arg) -> &[(String, Arg)] {
    match record {
        Arg::Record(entries) => entries,
        _ => &[],
    }
}

/// A column that an argument names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnknownColumn {
    /// What is wrong, in words of the program.
    wrong: String,
    /// What was probably meant, or what there is.
    meant: String,
}

impl UnknownColumn {
    /// It as a sentence; without what the file has where that is not shown.
    pub(super) fn told(&self, is_shown: bool) -> String {
        let Self { wrong, meant } = self;
        if is_shown { format!("{wrong}: {meant}") } else { wrong.clone() }
    }
}

impl From<UnknownColumn> for String {
    fn from(it: UnknownColumn) -> Self {
        it.told(true)
    }
}

/// Whether every column that an argument names is there, and none has a name of ours.
pub(super) fn check_names<'n>(
    named: impl Iterator<Item = (&'n str, &'n str)>,
    columns: &[&str],
) -> Result<(), UnknownColumn> {
    if let Some(hidden) = columns.iter().find(|it| [COMPLETE, FAULT].contains(it)) {
        let wrong = format!("the column name `{hidden}` is reserved");
        return Err(UnknownColumn { wrong, meant: "rename it".to_owned() });
    }
    for (argument, name) in named {
        if columns.contains(&name) {
            continue;
        }
        let meant = match plan::nearest(name, columns) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the columns are {}", quoted(columns)),
        };
        let wrong = format!("`{argument}` names `{name}`, which is not a column");
        return Err(UnknownColumn { wrong, meant });
    }
    Ok(())
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}
