//! Texts as tokens, packed into sequences: steps of the last programs.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;
use plan::DType;

/// Kinds of steps that only these programs have.
pub(crate) const TOKENS: &[Step] = &[packed];

/// The model of all.
const MODEL: &str = "\"{data}/tokenizer.json\"";

/// `tokenize`, then `pack`, then what says something of the ids.
fn packed(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let [ids, along, text, end, size] = ["v", "v", "v", "v", "v"].map(|it| writer.name(it));
    let of = writer.values(&growing.fields).atom((DType::Str, 0));
    let how = *writer.dice.pick(&["", ", specials: true", ", frame: true", ", most: 5"]);
    let length = 4 + writer.dice.below(12);
    let mut made = format!("map {{ {ids}: tokenize({of}, model: {MODEL}{how}) else skip }}");
    let fit = *writer.dice.pick(&["", ", fit: first, bins: 3", ", fit: best, block: 5"]);
    if fit.contains("first") {
        made += &format!("\n    |> where len({ids}) <= {length}");
    }
    let mut other = "";
    if writer.dice.percent(50) {
        made += &format!("\n    |> with {{ {along}: f32({ids}) * 0.5 }}");
        other = &along;
    }
    let tail = *writer.dice.pick(&["", ", tail: drop"]);
    let along = if other.is_empty() { String::new() } else { format!(", along: {other}") };
    made += &format!("\n    |> pack({ids}, length: {length}{fit}{along}{tail})");
    let mut told = Vec::new();
    if writer.dice.percent(75) {
        told.push(format!("{text}: detokenize({ids}, model: {MODEL}) else ''"));
    }
    if writer.dice.percent(75) {
        told.push(format!("{end}: {ids} == token_id('<|end|>', model: {MODEL})"));
    }
    if writer.dice.percent(75) {
        told.push(format!("{size}: {ids}[0] < vocabulary_size({MODEL})"));
    }
    if !told.is_empty() {
        made += &format!("\n    |> with {{ {} }}", told.join(", "));
    }
    let records = (growing.records / 2).max(1);
    Some(Offer { text: made, records, indexed: false, batches: 0 })
}
