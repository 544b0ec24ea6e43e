//! Windows within series, records whose key is new, one record of all: steps of later programs.

use super::{Growing, Offer, Step, fixed, same};
use crate::random::program::Writer;

/// Kinds of steps that only later programs have.
pub(crate) const LATER: &[Step] = &[series, series, distinct, one];

/// `windows` within series, in any order where the records are counted.
fn series(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let known: Vec<String> = fixed(writer, growing);
    if known.is_empty() || growing.batches > 1 {
        return None;
    }
    let key = writer.name("v");
    let x = writer.values(&growing.fields).base();
    let (length, hop) = (1 + writer.dice.below(4), 1 + writer.dice.below(4));
    let by = match writer.dice.below(4) {
        0 => String::new(),
        1 => format!(", by: {key} > 9"),
        _ => format!(", by: {key} // {}", writer.dice.pick(&[1, 3, 10])),
    };
    let made = format!(
        "map {{ {}, {key}: {x} }}\n    |> windows(length: {length}, hop: {hop}{by})",
        known.join(", ")
    );
    let ends = ["", "\n    |> shuffle", "\n    |> shuffle", "\n    |> shuffle\n    |> repeat(2)"];
    let end = *writer.dice.pick(&ends);
    let lowers = lowers(writer, &format!("{made}{end}"));
    let text = if lowers { format!("{made}{end}") } else { made };
    let twice = 1 + usize::from(lowers && end.contains("repeat"));
    let (records, batches) = (growing.records * twice, growing.batches + 1);
    Some(Offer { text, records, indexed: false, batches })
}

/// Whether the last stream can be run with a step more.
fn lowers(writer: &mut Writer<'_>, step: &str) -> bool {
    let Some(stream) = writer.draft.streams.last_mut() else { return false };
    let name = stream.name.clone();
    stream.steps.push(step.to_owned());
    let lowers = writer.lowers(&name);
    writer.draft.streams.last_mut().map(|it| it.steps.pop());
    lowers
}

/// `dedupe`, by a number of which there are few, or by any field.
fn distinct(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let x = writer.values(&growing.fields).base();
    let by = match writer.dice.below(2) {
        0 => format!("{x} % 7"),
        _ => writer.dice.pick(&growing.fields).name.clone(),
    };
    Some(Offer { text: format!("dedupe(by: {by})"), indexed: false, ..same(growing) })
}

/// `moments` or `count`, which make one record of all.
fn one(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let x = writer.values(&growing.fields).base();
    let text = match writer.dice.below(2) {
        0 => format!("moments(of: {x})"),
        _ => format!("count(by: i64(hash({x}) % 7), classes: 7)"),
    };
    Some(Offer { text, records: 1, indexed: false, batches: growing.batches })
}
