//! The last `batch` of a stream, and what it is filled with.

use super::*;

/// Records that can be batched: some of the texts become numbers.
pub(super) fn rows(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let mut entries = Vec::new();
    for field in growing.fields.iter().rev().take(6) {
        let name = writer.name("b");
        entries.push(match field.ty.dtype() {
            _ if field.ty.is_untyped() => continue,
            Some(it) if it.is_text() && writer.dice.percent(40) => {
                format!("{name}: hash({})", field.name)
            }
            _ => format!("{name}: {}", field.name),
        });
    }
    let has_text = growing.fields.iter().rev().take(6).any(is_text);
    if !entries.is_empty() && !has_text && writer.dice.percent(50) {
        entries.push(new_text(writer, growing));
    }
    if !entries.is_empty() && writer.dice.percent(40) {
        entries.push(new_row(writer, growing).1);
    }
    let text = format!("map {{ {} }}", entries.join(", "));
    (!entries.is_empty()).then(|| Offer { text, ..same(growing) })
}

/// The last `batch`, in one of its many forms.
pub(super) fn batch(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let is_ragged = |it: &&Field| it.ty.fixed().is_none() && !is_text(it);
    let ragged: Vec<&Field> = growing.fields.iter().filter(is_ragged).collect();
    let size = 1 + writer.dice.below(9);
    let tail = match writer.dice.below(4) {
        0 => "",
        1 => ", tail: mask",
        2 => ", tail: drop",
        _ => ", tail: keep",
    };
    let (own, ragged) = own_lengths(&mut writer.dice, ragged);
    let pad = format!("{own}{}", padding(&mut writer.dice, &ragged));
    let by = writer.values(&growing.fields).base();
    let text = match writer.dice.below(6) {
        0 => format!("batch({size}{tail}{pad}, by: {by} % 3)"),
        1 => format!("batch({size}{tail}{pad}, by: {by} % 2 == 0)"),
        2 => format!("batch({size}{tail}{pad}, by: {by}, bounds: [3, 10, 20])"),
        3 => format!("batch(tokens: 30, by: 1 + abs({by}) % 9{pad})"),
        _ => format!("batch({size}{tail}{pad})"),
    };
    let (batches, records) = (growing.batches + 1, growing.records / size + 1);
    Some(Offer { text, records, indexed: false, batches })
}

/// Which fields keep the lengths of their rows, and those that do not.
fn own_lengths<'a>(dice: &mut Dice, ragged: Vec<&'a Field>) -> (String, Vec<&'a Field>) {
    let may_be = |it: &Field| match it.ty.shape() {
        Some([first, inner @ ..]) => {
            let is_known = |it: &Extent| matches!(it, Extent::Known(_));
            !is_known(first) && inner.iter().all(is_known)
        }
        _ => false,
    };
    let (own, others): (Vec<_>, Vec<_>) =
        ragged.into_iter().partition(|it| may_be(it) && dice.percent(50));
    let names: Vec<&str> = own.iter().map(|it| it.name.as_str()).collect();
    let text =
        if names.is_empty() { String::new() } else { format!(", ragged: [{}]", names.join(", ")) };
    (text, others)
}

/// What short rows are filled with, and up to which multiples.
fn padding(dice: &mut Dice, ragged: &[&Field]) -> String {
    if ragged.is_empty() {
        return String::new();
    }
    let value = |it: &Field| match it.ty.dtype() {
        Some(DType::Bool) => "false",
        Some(it) if it.is_float() => "0.5",
        _ => "7",
    };
    let pads: Vec<String> = ragged.iter().map(|it| format!("{}: {}", it.name, value(it))).collect();
    let pad = format!(", pad: {{ {} }}", pads.join(", "));
    let rank = ragged[0].ty.shape().map_or(0, <[Extent]>::len);
    if dice.percent(70) || rank == 0 {
        return pad;
    }
    let multiples = vec!["4"; rank].join(", ");
    format!("{pad}, multiple: {{ {}: [{multiples}] }}", ragged[0].name)
}
