//! Features of examples that the source reads with the record, and what is computed a chunk at a time of their lengths.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;

/// Kinds of steps that only these programs have.
pub(crate) const FEATURES: &[Step] = &[by_length];

/// A source of twelve records that are whole, and some of their features.
pub(crate) fn examples(writer: &mut Writer<'_>) -> (String, usize) {
    let floats = *writer.dice.pick(&["f32[k]", "f64[?]", "f16[k]"]);
    let ints = *writer.dice.pick(&["i64", "u8", "i32[1]", "i16[m]"]);
    let n = if ints.contains('[') { "len(n)" } else { "i64(n)" };
    let mut text = format!(
        "tfrecord(\"{{data}}/shards/a.tfrecord\")\n    |> map {{ xs: row[\"xs\"] as {floats}, n: row[\"n\"] as {ints} }}"
    );
    if writer.dice.percent(60) {
        let conditions = [
            "len(xs) < 2".to_owned(),
            format!("len(xs) != 1 or {n} > 4"),
            format!("xs.shape[0] >= {n} % 3"),
            format!("{n} != 3"),
        ];
        text += &format!("\n    |> where {}", writer.dice.pick(&conditions));
    }
    (text, 12)
}

/// Batches of features by their lengths.
fn by_length(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 || writer.dice.percent(60) {
        return None;
    }
    let is_list = |name: &str| {
        let mut all = growing.fields.iter().filter(|it| it.name == name);
        all.any(|it| it.ty.shape().is_some_and(|it| it.len() == 1) && it.ty.fixed().is_none())
    };
    let lists: Vec<&str> = ["xs", "n"].into_iter().filter(|it| is_list(it)).collect();
    let pad: Vec<String> = lists.iter().map(|it| format!("{it}: 1")).collect();
    let by = lists.first()?;
    let text =
        format!("batch(2, tail: keep, by: len({by}), bounds: [1], pad: {{ {} }})", pad.join(", "));
    Some(Offer { text, records: growing.records, indexed: false, batches: 1 })
}
