//! Texts as tokens of tokenizers of all kinds.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;
use plan::DType;

/// Kinds of steps that only these programs have.
pub(crate) const KINDS: &[Step] = &[tokens];

/// The models, each with a token of it.
const MODELS: [(&str, &str); 5] = [
    ("unigram.model", "</s>"),
    ("pairs.model", "<sep>"),
    ("vocab.txt", "[MASK]"),
    ("tekken.json", "<s>"),
    ("unigram.json", "<pad>"),
];

/// `tokenize`, then what says something of the ids.
fn tokens(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let [ids, text, end, size] = ["v", "v", "v", "v"].map(|it| writer.name(it));
    let of = writer.values(&growing.fields).atom((DType::Str, 0));
    let (model, token) = *writer.dice.pick(&MODELS);
    let model = format!("\"{{data}}/{model}\"");
    let how = *writer.dice.pick(&["", ", specials: true", ", most: 5"]);
    let frames = model.contains("vocab") && writer.dice.percent(50);
    let frame = if frames { ", frame: true" } else { "" };
    let mut made = format!("map {{ {ids}: tokenize({of}, model: {model}{how}{frame}) else skip }}");
    let mut told = vec![format!("{end}: sum({ids} == token_id('{token}', model: {model}))")];
    if writer.dice.percent(75) {
        told.push(format!("{text}: detokenize({ids}, model: {model}) else ''"));
    }
    if writer.dice.percent(75) {
        told.push(format!("{size}: vocabulary_size({model}) - len({ids})"));
    }
    made += &format!("\n    |> with {{ {} }}", told.join(", "));
    Some(Offer { text: made, records: growing.records, indexed: growing.indexed, batches: 0 })
}
