//! `guarded`: a value of a record that could be read, or what was wrong with the record.

use crate::prelude::*;

function! {
    /// Returns `x`, or fails with `bad-row` if `fault` is not empty.
    ///
    /// `fault` is the message. Programs do not call it: the compiler inserts it after a source with records
    /// that can fail (`csv`), so a record fails where it is used, and `else` applies there. If a `fault`
    /// concerns only some columns, the others keep their values; `column` is the number of this one. Nothing is
    /// copied.
    ///
    /// ```pipe
    /// range(2) |> map { x: guarded(i, if i == 1 then "one is refused" else "") else -1 }    # { x: i64 }
    /// ```
    "guarded(x: any, fault: str, column: int = -1) fails -> any",
    cost: Cost::call(4.0),    // Assumed: a look at a length.
    result: Some(|applied| applied.ty(0).ok_or_else(|| "it guards a value".to_owned())),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let fault = match args.tensor(1).as_str() {
            "" => None,
            it if it.starts_with(SEPARATOR) => of_column(it, args.int(2)),
            it => Some(it),
        };
        match fault {
            None => Ok(args.tensor(0)),
            Some(it) => Err(Fault::new("bad-row", it.to_owned())),
        }
    }))
}

/// Begins each number of a column and each text; no path that a message begins with has it.
const SEPARATOR: char = '\0';

/// What is wrong with some columns of a record, as one text for [`build`].
#[derive(Default)]
pub(crate) struct ColumnFaults(String);

impl ColumnFaults {
    /// Column `column` cannot be used, for the reason `detail`.
    pub(crate) fn add(&mut self, column: usize, detail: &str) {
        // A field of the file is quoted in it, whatever that holds.
        let detail = detail.replace(SEPARATOR, "\u{fffd}");
        self.0.push_str(&format!("{SEPARATOR}{column}{SEPARATOR}{detail}"));
    }

    pub(crate) fn text(self) -> String {
        self.0
    }
}

/// What is said of `column` among the faults of columns.
fn of_column(faults: &str, column: i64) -> Option<&str> {
    let mut parts = faults.split(SEPARATOR).skip(1);
    while let (Some(number), Some(detail)) = (parts.next(), parts.next()) {
        if number.parse() == Ok(column) {
            return Some(detail);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn a_value_or_a_fault() {
        let of =
            |fault, column| Trial::of(&ENTRY).text("x").text(fault).arg(Arg::Int(column)).run();
        let run = |fault| of(fault, -1);
        assert_eq!(run(""), Ok(Value::text("x")));
        let fault = run("a.csv:3: it is torn").unwrap_err();
        assert_eq!((fault.code, &*fault.detail), ("bad-row", "a.csv:3: it is torn"));

        let mut faults = ColumnFaults::default();
        faults.add(1, "it is \0 empty");
        faults.add(12, "this is not a number");
        let text = faults.text();
        assert_eq!(of(&text, 1).unwrap_err().detail, "it is \u{fffd} empty");
        assert_eq!(of(&text, 12).unwrap_err().detail, "this is not a number");
        assert_eq!(of(&text, 2), Ok(Value::text("x")));
    }
}
