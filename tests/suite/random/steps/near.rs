//! Texts that are nearly the same.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;
use plan::DType;

/// Kinds of steps that only these programs have.
pub(crate) const NEAR: &[Step] = &[near];

/// `minhash`, and records whose hashes have been there.
fn near(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let bands = writer.name("v");
    let text = writer.values(&growing.fields).atom((DType::Str, 0));
    let n = writer.dice.within(1, 4);
    let how = *writer.dice.pick(&["rows: 1, words: 1", "rows: 2, words: 2", "rows: 1, words: 3"]);
    let by = format!("minhash({text}, bands: {n}, {how})");
    let made = match writer.dice.below(3) {
        0 => format!("with {{ {bands}: {by} }}"),
        1 => format!("dedupe(by: {by}, match: any)"),
        _ => format!("with {{ {bands}: {by} % 3 }}\n    |> dedupe(by: {bands}, match: any)"),
    };
    Some(Offer { text: made, records: growing.records, indexed: false, batches: 0 })
}
