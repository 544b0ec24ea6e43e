//! Rows without quotes and without surprises, column by column: what is usual in tables, quicker than one by one.
//! The others are left to what takes each row alone, and says what is wrong with it.

use super::{
    super::framed::{Neighbours, Raw},
    Filled, Tables,
    columns::{Read, Said, number, whole},
};
use crate::records::csv::{Splitter, parse_f64};
use crate::{numbers, prelude::*};
use runtime::{Builder, Element};

/// Rows that are looked at together: what is known of them fits into the first cache.
const ROWS: usize = 128;
/// Where no more than these are usual, the others go one by one: to look at them again would not pay.
const FEW: usize = ROWS / 8;

/// Appends the first of some rows, up to one that is unusual; gives how many, and how many go one by one then.
pub(super) fn append(
    tables: &Tables,
    neighbours: &Neighbours<'_>,
    splitter: &mut Splitter,
    out: &mut ChunkBuilder,
) -> (usize, usize) {
    let looked = neighbours.first(ROWS);
    let all = looked.records.len();
    if all <= FEW {
        return (0, all);
    }

    let (known, said) = (tables.known_now(), &tables.said);
    let (bytes, spans) = looked.found();
    let plain = known.table.split_together(bytes, spans, splitter);
    let is_complete = |it: &usize| plain.column(*it).all(|it| !said.is_absent(it));
    let mut n = if known.skips.iter().all(is_complete) { plain.len() } else { 0 };
    let first = out.rows();
    for (filled, to) in known.reads.iter().zip(&mut out.columns) {
        match filled {
            Filled::Column(read) => {
                let fields = plain.column(read.at).take(n);
                n = read.append_all(fields, looked.is_utf8, said, to);
            }
            Filled::Complete => to.scalars_of::<bool>(n).fill(true),
            Filled::Fault => to.push_empty(n),
        }
    }
    out.columns.iter_mut().for_each(|it| it.truncate(first + n));
    let alone = if n <= FEW { all - n } else { usize::from(n < all) };
    (n, alone)
}

impl Read {
    /// Appends the first of some fields, up to one that says no value; gives how many.
    fn append_all<'f>(
        &self,
        mut fields: impl ExactSizeIterator<Item = &'f [u8]>,
        is_utf8: bool,
        said: &Said,
        to: &mut Builder,
    ) -> usize {
        // A usual number is what it says, unless it stands for nothing.
        match to.dtype() {
            _ if said.has_na_values() => {}
            DType::I64 => return self.append_numbers(fields, (numbers::whole, whole), to),
            DType::F64 => return self.append_numbers(fields, (numbers::float, parse_f64), to),
            DType::F32 => return self.append_numbers(fields, (numbers::single, number), to),
            _ => {}
        }
        let all = fields.len();
        let wrong = fields.position(|bytes| {
            let field = Raw { bytes, is_utf8 };
            self.append(field, said, to).is_err()
        });
        wrong.unwrap_or(all)
    }

    /// The same of numbers, read in the first of two ways, or else in the second, where an empty field is one too.
    fn append_numbers<'f, T: Element>(
        &self,
        fields: impl ExactSizeIterator<Item = &'f [u8]>,
        (usual, other): (impl Fn(&[u8]) -> Option<T>, impl Fn(&[u8]) -> Option<T>),
        to: &mut Builder,
    ) -> usize {
        let stands = self.stands.as_ref().and_then(|it| other(it.as_bytes()));
        let absent = |field: &[u8]| field.trim_ascii().is_empty().then_some(stands).flatten();
        let to = to.scalars_of::<T>(fields.len());
        let wrong = to.iter_mut().zip(fields).position(|(to, field)| {
            let number = usual(field).or_else(|| other(field)).or_else(|| absent(field));
            number.map(|it| *to = it).is_none()
        });
        wrong.unwrap_or(to.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{framed::reading::*, listed::folder::Folder};
    use super::super::tests::{open, said};
    use super::*;

    /// What a field may be, usual ones first.
    const FIELDS: [&str; 16] = [
        "7",
        "-12",
        "0.5",
        "3.0",
        "123456789",
        "1e3",
        " 8",
        "9 ",
        "",
        "NA",
        "x",
        "\"4\"",
        "\"a, b\"",
        "\"two\nlines\"",
        "\"a \"\"b\"\"\"",
        "a\"b",
    ];

    /// A table whose rows are unusual once in a while: `1 / rare` of the fields, and of the rows.
    fn table(seed: u64, rare: u64) -> String {
        let mut text = "i,f,t,n\n".to_owned();
        for row in 0..400_u64 {
            let draw = |at: u64| plan::mix(seed, row * 8 + at);
            let field = |at| match draw(at).is_multiple_of(rare) {
                true => FIELDS[(draw(at) / rare) as usize % FIELDS.len()],
                false => FIELDS[(draw(at) >> 20) as usize % 2],
            };
            let fields: Vec<&str> = (0..4).map(field).collect();
            let fields = match draw(5) % (rare * 4) {
                0 => &fields[..3],
                1 => &[],
                _ => &fields[..],
            };
            text += &fields.join(",");
            text += if draw(6).is_multiple_of(2) { "\n" } else { "\r\n" };
        }
        text
    }

    fn bytes(column: &runtime::Column, row: usize) -> Vec<u8> {
        column.row(row).as_bytes().expect("a text or a number").to_vec()
    }

    #[test]
    fn rows_are_what_each_of_them_is_alone() {
        let types = [("i", "i64"), ("f", "f64"), ("t", "str"), ("n", "f32")];
        let missing = [
            vec![],
            vec![("i", Arg::Int(-1)), ("n", Arg::Float(0.5))],
            vec![("f", Arg::Word("skip".to_owned())), ("t", Arg::Text("none".to_owned()))],
        ];
        for (seed, rare) in [3, 10, 40, 200, 10_000].into_iter().enumerate() {
            let folder = Folder::new("csv-together", &[("a.csv", &table(seed as u64, rare))]);
            for (missing, na_values) in
                missing.iter().flat_map(|it| [(it, &[][..]), (it, &["NA", "7"])])
            {
                let mut args = said(&folder, missing, &types, na_values);
                args[super::super::FAULTS] = Arg::Bool(true);
                let (source, fields) = open(&args);
                let n = source.len().unwrap();
                let alone = fetched(&*source, &fields, &(0..n).collect::<Vec<_>>()).unwrap();
                for rows in [1, 20, 1_000] {
                    let (mut at, mut row) = (0, 0);
                    for chunk in in_order(&*source, &fields, rows).unwrap() {
                        assert_eq!(chunk.ids(), &alone.ids()[at..at + chunk.rows]);
                        at += chunk.rows;
                        for in_chunk in 0..chunk.rows {
                            for (one, other) in chunk.columns.iter().zip(&alone.columns) {
                                let (one, other) = (bytes(one, in_chunk), bytes(other, row));
                                assert_eq!(one, other, "row {row} of {missing:?}");
                            }
                            row += 1;
                        }
                    }
                    assert_eq!(at as u64, n);
                }
            }
        }
    }
}
