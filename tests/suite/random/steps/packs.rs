//! Several fields packed together, batches padded to the bounds of their buckets: steps of the last programs.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;

/// Kinds of steps that only these programs have.
pub(crate) const PACKS: &[Step] = &[several, several, bounded];

/// `pack` of two fields, each with its length.
fn several(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let [source, target, same] = ["v", "v", "v"].map(|it| writer.name(it));
    let (x, y) = {
        let mut values = writer.values(&growing.fields);
        (values.base(), values.base())
    };
    // Numbers may be the least that there is, which has no absolute value.
    let (n, m) = (3 + writer.dice.below(6), 2 + writer.dice.below(8));
    let made = format!(
        "map {{ {source}: arange(({x} % {n} + {n}) % {n}), {target}: f32(arange(({y} % {m} + {m}) % {m})) * 0.5 }}"
    );
    let (own, other) = (n + writer.dice.below(9), m + writer.dice.below(9));
    let length = match writer.dice.below(3) {
        0 => own.max(other).to_string(),
        _ => format!("{{ {source}: {own}, {target}: {other} }}"),
    };
    let fit = *writer.dice.pick(&["first, bins: 3", "first", "best, block: 5", "best"]);
    let of = match writer.dice.below(2) {
        0 => format!("[{source}, {target}]"),
        _ => format!("{{ {source}, {target} }}"),
    };
    let mut text = format!("{made}\n    |> pack({of}, length: {length}, fit: {fit})");
    if writer.dice.percent(50) {
        text += &format!(
            "\n    |> with {{ {same}: {source}_segment[0] == {target}_segment[0] and sum({target}) > 1.0 }}"
        );
    }
    let records = (growing.records / 2).max(1);
    Some(Offer { text, records, indexed: false, batches: 0 })
}

/// `batch` whose rows are as long as the bounds of their buckets, of which each may have its own size.
fn bounded(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let (row, x) = (writer.name("v"), writer.values(&growing.fields).base());
    let made = format!("map {{ {row}: arange(({x} % 9 + 9) % 9) }}");
    let size = *writer.dice.pick(&["[5, 2]", "4", "[1, 3]", "tokens: 20"]);
    let tail = match size {
        "tokens: 20" => "",
        _ => *writer.dice.pick(&["", ", tail: drop", ", tail: keep", ", tail: mask"]),
    };
    let to = *writer.dice.pick(&[
        "bounds: [3, 8], to: bound",
        "bounds: [2, 11], to: bound",
        "bounds: [8]",
    ]);
    let text =
        format!("{made}\n    |> batch({size}{tail}, by: len({row}), {to}, pad: {{ {row}: -1 }})");
    let records = growing.records / 3 + 1;
    Some(Offer { text, records, indexed: false, batches: growing.batches + 1 })
}
