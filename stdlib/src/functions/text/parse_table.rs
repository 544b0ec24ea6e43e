//! `parse_table`: a text of numbers in rows and columns as a tensor.

use super::json::shown;
use crate::functions::tensor::shapes::known;
use crate::{numbers, prelude::*};
use memchr::{memchr, memchr2};

function! {
    /// Parses a table of numbers, such as the labels of YOLO, as a tensor with a row for each line.
    ///
    /// Numbers are separated by white space, and each line has `columns` of them. Blank lines are ignored, and so is
    /// what follows a `#`. A text without numbers has no rows. Numbers are written as for `parse_float`, and are those
    /// of NumPy's `loadtxt(…, dtype=np.float32, ndmin=2)`: read as `f64` and rounded to `f32`. Fails with
    /// `table-columns` if a line has another number of columns, or with `number` if something is not a number; the
    /// message says which line. For tables with commas, use `replace(text, ",", " ")`.
    ///
    /// ```pipe
    /// range(2) |> map { x: parse_table("0 0.5 0.5 0.2 0.1", columns: 5) }    # { x: f32[?, 5] }
    /// ```
    "parse_table(text: str, columns: int) fails -> f32[n, columns]",
    // Assumed: eight characters a number, each looked at twice.
    cost: Cost { ns_byte_in: 4.0, bytes_out_per_in: 0.5, ..Cost::call(50.0) },
    result: Some(result),
}

/// Columns that a table can have.
const COLUMNS_MAX: i64 = 1 << 20;

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let columns = match applied.int(1) {
        Some(it) if (1..=COLUMNS_MAX).contains(&it) => known(it)?,
        Some(it) => return Err(refusal(it)),
        None => Extent::Unknown,
    };
    Ok(Type::Tensor { dtype: DType::F32, shape: vec![Extent::Unknown, columns] })
}

fn refusal(columns: i64) -> String {
    format!("`columns` must be from 1 to {COLUMNS_MAX}, found {columns}")
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (text, columns) = (args.tensor(0).as_str(), args.int(1));
        if !(1..=COLUMNS_MAX).contains(&columns) {
            return Err(Fault::new("size", refusal(columns)));
        }
        let columns = columns as usize;
        let rows = count(text, columns)?;
        let mut room = out.tensor::<f32>(&[rows, columns])?.iter_mut();
        for (line, row) in Lines::of(text) {
            for word in words(row) {
                let number = numbers::float(word.as_bytes()).ok_or_else(|| {
                    Fault::new("number", format!("line {line}: {} is not a number", shown(word)))
                })?;
                room.next().into_iter().for_each(|it| *it = number as f32);
            }
        }
        Ok(())
    }))
}

/// The rows of a table, all of which have so many columns.
fn count(text: &str, columns: usize) -> Result<usize, Fault> {
    let mut rows = 0;
    for (line, row) in Lines::of(text) {
        let found = words(row).count();
        if found != columns && found > 0 {
            let detail = format!("line {line}: expected {columns} columns, found {found}");
            return Err(Fault::new("table-columns", detail));
        }
        rows += usize::from(found > 0);
    }
    Ok(rows)
}

/// What stands between white space, which for Python has four characters more than Unicode's.
fn words(row: &str) -> impl Iterator<Item = &str> {
    let is_space = |it: char| it.is_whitespace() || ('\x1c'..='\x1f').contains(&it);
    row.split(is_space).filter(|it| !it.is_empty())
}

/// The lines of a text with their numbers, without comments; they end in `\n`, `\r` or both.
struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    /// Those of a text, which may begin with a byte order mark.
    fn of(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr2(b'\n', b'\r', self.rest.as_bytes()).unwrap_or(self.rest.len());
        let (line, behind) = self.rest.split_at(end);
        let ending = if behind.starts_with("\r\n") { 2 } else { behind.len().min(1) };
        (self.rest, self.line) = (&behind[ending..], self.line + 1);
        let comment = memchr(b'#', line.as_bytes()).unwrap_or(line.len());
        Some((self.line, &line[..comment]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn run(text: &str, columns: i64) -> Result<Value, Fault> {
        Trial::of(&ENTRY).text(text).arg(Arg::Int(columns)).run()
    }

    /// What `np.loadtxt(io.StringIO(text), dtype=np.float32, ndmin=2)` of NumPy 2.4 makes of the same texts; of none
    /// it makes one column.
    #[test]
    fn agrees_with_numpy() {
        let cases: [(&str, i64, &[f32]); 9] = [
            ("", 5, &[]),
            ("\n \n# 1 2\n", 2, &[]),
            ("1 2\n3 4", 2, &[1., 2., 3., 4.]),
            ("  0\t.5 \r\n\r\n1. -2e-1#x\r", 2, &[0., 0.5, 1., -0.2]),
            ("1\r2\n\n3\x0b\n\u{2003}", 1, &[1., 2., 3.]),
            ("1\u{a0}2\x1c3", 3, &[1., 2., 3.]),
            ("+1 1e400 -inf", 3, &[1., f32::INFINITY, f32::NEG_INFINITY]),
            // Rounded twice: the nearest `f64` lies halfway between two `f32`.
            ("1.00000005960464477540", 1, &[1.]),
            ("16777217.0000000001 3.4028236e38", 2, &[16_777_216., f32::INFINITY]),
        ];
        for (text, columns, elements) in cases {
            let shape = [elements.len() / columns as usize, columns as usize];
            assert_eq!(run(text, columns), Ok(Value::of(&shape, elements)), "{text:?}");
        }
        assert!(run("nan", 1).unwrap().to_vec::<f32>()[0].is_nan());
        assert_eq!(run("\u{feff}7", 1), Ok(Value::of(&[1, 1], &[7_f32])));
    }

    #[test]
    fn faults_name_the_line() {
        let fault = |text, columns| {
            let it = run(text, columns).unwrap_err();
            format!("{}: {}", it.code, it.detail)
        };
        assert_eq!(fault("1 2\n\n3\n", 2), "table-columns: line 3: expected 2 columns, found 1");
        assert_eq!(fault("1 2 3", 2), "table-columns: line 1: expected 2 columns, found 3");
        assert_eq!(fault("1 2\r\n3 x4", 2), "number: line 2: `x4` is not a number");
        for word in ["1,5", "1_000", "0x1", "1e", "-", "\u{661}", "1d5"] {
            assert!(fault(word, 1).starts_with("number: line 1: "), "{word}");
        }
        for columns in [0, -1, i64::MAX] {
            let refused = Trial::of(&ENTRY).text("1").arg(Arg::Int(columns)).refused();
            assert!(refused.contains("`columns` must be from 1"), "{refused}");
            let columns = [columns];
            let computed = Trial::of(&ENTRY).text("1").value(Tensor::new(&[], &columns)).run();
            assert_eq!(computed.unwrap_err().code, "size");
        }
    }
}
