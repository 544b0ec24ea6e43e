//! Random steps of a stream.

mod batches;
mod chats;
mod corpus;
mod kinds;
mod near;
mod packs;
mod series;
mod tokens;
mod warps;

pub(crate) use self::{
    chats::*, corpus::*, kinds::*, near::*, packs::*, series::LATER, tokens::*, warps::*,
};
use crate::random::{dice::Dice, program::Writer};
use batches::{batch, rows};
use plan::{DType, Extent, Field, Type};

/// A stream that grows.
pub(crate) struct Growing {
    /// What leaves it.
    pub(crate) fields: Vec<Field>,
    /// How many records it has, about.
    pub(crate) records: usize,
    /// Whether its source can still be read in another order.
    pub(crate) indexed: bool,
    /// How often it was batched.
    pub(crate) batches: usize,
    /// Whether a record that is left out would misalign others.
    pub(crate) aligned: bool,
    /// Whether what is said of all that stands before a step is said of other pipelines too.
    pub(crate) joined: bool,
}

/// Kinds of steps, each as often as it stands here.
pub(crate) const ANY: &[Step] = &[
    compute,
    compute,
    compute,
    compute,
    compute,
    compute,
    kept,
    filter,
    shuffle,
    window,
    thin,
    laps,
    draw,
    copies,
    windows,
    early_batch,
    view,
    view,
    reduced,
    held,
    thinned_copies,
];
/// Those that leave every record in place.
pub(crate) const COMPUTES: &[Step] = &[compute];
/// Those after which there are as many records.
pub(crate) const KEEPS: &[Step] = &[compute, compute, window];
/// Those after which it is still known which file a record is of.
pub(crate) const BESIDE: &[Step] = &[compute, kept, filter, shuffle, window, thin, laps, copies];

/// Writes a step, and says what it is about to do to the stream; none if it does not suit.
type Step = fn(&mut Writer<'_>, &Growing) -> Option<Offer>;

/// A step that the checker has still to like.
pub(crate) struct Offer {
    text: String,
    records: usize,
    indexed: bool,
    batches: usize,
}

/// Records that a stream has at the most, about.
const RECORDS_MAX: usize = 300;
/// Bytes of a value.
const BYTES_MAX: usize = 1 << 15;
/// Fields of a record.
const FIELDS_MAX: usize = 9;

/// Adds a step of one of these kinds, if the checker likes it.
pub(crate) fn grow(writer: &mut Writer<'_>, growing: &mut Growing, kinds: &[Step]) {
    let kind = *writer.dice.pick(kinds);
    if let Some(offer) = kind(writer, growing) {
        add(writer, growing, offer);
    }
}

/// Ends a stream, mostly with batches and what is computed of them.
pub(crate) fn finish(writer: &mut Writer<'_>, growing: &mut Growing) {
    if growing.batches > 0 || writer.dice.percent(20) {
        return;
    }
    if let Some(offer) = rows(writer, growing)
        && add(writer, growing, offer)
        && let Some(offer) = batch(writer, growing)
        && add(writer, growing, offer)
    {
        for _ in 0..writer.dice.below(3) {
            grow(writer, growing, &[compute, compute, thin]);
        }
    }
}

/// A whole number for each record, of a stream that has none.
pub(crate) fn number(writer: &mut Writer<'_>, growing: &mut Growing) {
    let has_number = growing.fields.iter().any(|it| it.ty == Type::scalar(DType::I64));
    if !has_number {
        let from = growing.fields[0].name.clone();
        let name = writer.name("v");
        let file = growing.fields.iter().any(|it| it.name == "bytes");
        let held = file && writer.dice.percent(40);
        let text = match growing.fields[0].ty {
            // What is held is the name of the file.
            _ if held => format!(
                "shuffle(window: 5)\n    |> with {{ {name}: i64(hash({from}) % 50), {name}b: hash(bytes) }}"
            ),
            Type::Untyped(_) => format!("with {{ {name}: {from}[\"n\"] as i64 else 33 }}"),
            _ => format!("with {{ {name}: i64(hash({from}) % 50) }}"),
        };
        let indexed = growing.indexed && !held;
        let offer = Offer { text, indexed, ..same(growing) };
        add(writer, growing, offer);
    }
}

/// A field `key`, a number below `keys`.
pub(crate) fn keyed(writer: &mut Writer<'_>, growing: &mut Growing, keys: usize) {
    number(writer, growing);
    let numbers = growing.fields.iter().filter(|it| it.ty == Type::scalar(DType::I64));
    let names: Vec<String> = numbers.map(|it| it.name.clone()).collect();
    if names.is_empty() {
        return;
    }
    let name = writer.dice.pick(&names).clone();
    let text = format!("with {{ key: ({name} % {keys} + {keys}) % {keys} }}");
    let offer = Offer { text, ..same(growing) };
    add(writer, growing, offer);
}

fn same(growing: &Growing) -> Offer {
    let Growing { records, indexed, batches, .. } = *growing;
    Offer { text: String::new(), records, indexed, batches }
}

fn add(writer: &mut Writer<'_>, growing: &mut Growing, offer: Offer) -> bool {
    let Some(stream) = writer.draft.streams.last_mut() else { return false };
    stream.steps.push(offer.text);
    let fields = writer.offered();
    match fields {
        Ok(fields) if fields.iter().all(|it| it.ty.fixed_bytes().unwrap_or(0) <= BYTES_MAX) => {
            growing.fields = fields;
            (growing.records, growing.indexed) = (offer.records, offer.indexed);
            growing.batches = offer.batches;
            true
        }
        _ => {
            let steps = writer.draft.streams.last_mut().map(|it| &mut it.steps);
            steps.and_then(Vec::pop);
            false
        }
    }
}

/// New fields: by `with`, or by `map` with some of the old ones.
fn compute(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let mut entries = Vec::new();
    let mut fails = false;
    for _ in 0..1 + writer.dice.below(2) {
        let (text, may_fail) = value(writer, growing);
        entries.push(format!("{}: {text}", writer.name("v")));
        fails |= may_fail;
    }
    let many = growing.fields.len() > FIELDS_MAX;
    let word = if many || writer.dice.percent(15) { "map" } else { "with" };
    if word == "map" {
        entries.extend(some(writer, growing, 4));
    }
    let policy =
        if fails && !is_apart(writer, growing) { policy(writer, growing) } else { String::new() };
    let text = format!("{word} {{ {} }}{policy}", entries.join(", "));
    Some(Offer { text, ..same(growing) })
}

/// Whether a policy may not be said of all that stands before a step: other pipelines do, or a
/// stream without an end, which would go round for ever if nothing came out of it.
fn is_apart(writer: &Writer<'_>, growing: &Growing) -> bool {
    let mut steps = writer.draft.streams.iter().flat_map(|it| &it.steps);
    growing.joined || steps.any(|it| it.starts_with("repeat\n"))
}

/// An expression, what stands for it if it fails, and whether it still can.
fn value(writer: &mut Writer<'_>, growing: &Growing) -> (String, bool) {
    if !writer.draft.functions.is_empty() && writer.dice.percent(25) {
        let mut values = writer.values(&growing.fields);
        let (x, y) = (values.base(), values.atom((DType::F32, 0)));
        return (format!("own({x}, {y})"), true);
    }
    let value = writer.values(&growing.fields).any();
    match value.instead {
        Some(instead) if writer.dice.percent(40) => {
            (format!("{} else {instead}", value.text), false)
        }
        _ if value.fails && (growing.joined || writer.dice.percent(30)) => {
            (value.text + &policy(writer, growing), false)
        }
        _ => (value.text, value.fails),
    }
}

/// What becomes of a record that fails.
fn policy(writer: &mut Writer<'_>, growing: &Growing) -> String {
    // Another record comes from one source alone.
    let is_join = writer.draft.streams.last().is_some_and(|it| it.head.starts_with("join("));
    let another = growing.indexed && growing.batches == 0 && !is_join;
    match writer.dice.below(24) {
        0 => String::new(),
        1 | 2 if growing.aligned => " else fail".to_owned(),
        _ if growing.aligned && !another => " else fail".to_owned(),
        _ if growing.aligned => " else another(most: 1.0)".to_owned(),
        1 => " else skip".to_owned(),
        2 => " else skip(most: 0.5)".to_owned(),
        3 => " else fail".to_owned(),
        4..=10 if another => " else another(most: 1.0)".to_owned(),
        _ => " else skip(most: 1.0)".to_owned(),
    }
}

/// Some of the fields, under names without dots.
fn some(writer: &mut Writer<'_>, growing: &Growing, n: usize) -> Vec<String> {
    let newest = growing.fields.iter().rev().take(n);
    let entry = |it: &Field| match it.name.contains('.') {
        true => format!("{}: {}", writer.name("v"), it.name),
        false => it.name.clone(),
    };
    newest.map(entry).collect()
}

/// A `map` that leaves some fields out.
fn kept(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let n = 2 + writer.dice.below(4);
    let text = format!("map {{ {} }}", some(writer, growing, n).join(", "));
    (growing.fields.len() > 3).then(|| Offer { text, ..same(growing) })
}

fn filter(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let condition = writer.values(&growing.fields).condition();
    Some(Offer { text: format!("where {condition}"), ..same(growing) })
}

fn shuffle(_: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    growing.indexed.then(|| Offer { text: "shuffle".to_owned(), ..same(growing) })
}

fn window(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let window = *writer.dice.pick(&[2, 5, 8, 17, 64]);
    let spans = if growing.indexed && has_spans(writer) && writer.dice.percent(60) {
        format!(", spans: {}", writer.dice.pick(&[1, 2, 7]))
    } else {
        String::new()
    };
    let text = format!("shuffle(window: {window}{spans})");
    Some(Offer { text, indexed: false, ..same(growing) })
}

/// Whether the files that the last stream is read from may still come in another order.
fn has_spans(writer: &Writer<'_>) -> bool {
    let sources = [
        "lines(",
        "csv(",
        "jsonl(",
        "tfrecord(",
        "tar(",
        "records(",
        "npy(",
        "parquet(",
        "arrow(",
        "mds(",
        "hdf5(",
        "npz(",
    ];
    writer.draft.streams.last().is_some_and(|it| {
        let keeps =
            |step: &String| !["shuffle", "take", "skip("].iter().any(|it| step.starts_with(it));
        sources.iter().any(|source| it.head.starts_with(source)) && it.steps.iter().all(keeps)
    })
}

/// `take`, `skip`.
fn thin(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let n = 1 + writer.dice.below(growing.records.max(2));
    let text = match writer.dice.below(2) {
        0 => format!("take({})", n + 3),
        _ => format!("skip({})", n / 3),
    };
    Some(Offer { text, indexed: false, ..same(growing) })
}

/// Whether every record of the last stream comes out of it.
pub(crate) fn gives(writer: &Writer<'_>) -> bool {
    let steps = writer.draft.streams.last().map_or(&[][..], |it| &it.steps);
    steps.iter().all(|it| ["else skip", "where ", "1.."].iter().all(|may| !it.contains(may)))
}

/// `repeat`, some times or for ever.
fn laps(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let n = 2 + writer.dice.below(2);
    let (text, records) = match writer.dice.below(4) {
        // One that gives nothing would go round for ever.
        0 if gives(writer) => ("repeat\n    |> take(60)".to_owned(), 60),
        _ => (format!("repeat({n})"), growing.records * n),
    };
    let short = growing.indexed && records <= RECORDS_MAX;
    short.then(|| Offer { text, records, indexed: false, ..same(growing) })
}

/// `sample`.
fn draw(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let mut values = writer.values(&growing.fields);
    let x = values.base();
    let weight = match writer.dice.below(3) {
        0 => "1.0".to_owned(),
        1 => format!("f32(abs({x}) % 4)"),
        _ => format!("if {x} < 10 then 5.0 else 0.5"),
    };
    let count = match writer.dice.below(3) {
        0 => format!(", count: {}", writer.dice.within(5, 60)),
        _ => String::new(),
    };
    let text = format!("sample(weight: {weight}{count})");
    Some(Offer { text, indexed: false, ..same(growing) })
}

/// `flat_map`, over a list that is written out, counted, or made by a function.
fn copies(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let kept: Vec<String> = growing.fields.iter().rev().take(4).map(|it| it.name.clone()).collect();
    let mut entries = Vec::new();
    for name in kept {
        entries.push(format!("{}: {name}", writer.name("v")));
    }
    let kept = entries.join(", ");
    let (one, x) = (writer.name("v"), writer.values(&growing.fields).base());
    let n = 1 + writer.dice.below(3);
    let text = match writer.dice.below(4) {
        0 => {
            let picture = writer.values(&growing.fields).atom((DType::U8, 3));
            format!("flat_map [{{ {kept}, {one}: part }} for part in five_crop({picture}, 3)]")
        }
        1 => format!("flat_map [{{ {kept}, {one}: 0 }}, {{ {kept}, {one}: {x} }}]"),
        2 => format!("flat_map [{{ {kept}, {one}: uniform_int(0, 9) }} for _ in 1..{n}]"),
        _ => format!("flat_map [{{ {kept}, {one}: k + {x} }} for k in 1..abs({x}) % {}]", n + 1),
    };
    let records = growing.records * n.max(2);
    (records <= RECORDS_MAX).then(|| Offer { text, records, indexed: false, ..same(growing) })
}

/// A view of what is computed element by element, by pixel or not: what may sink, and what not.
fn view(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let x = writer.values(&growing.fields).base();
    let (height, width) = (writer.dice.within(7, 9), writer.dice.within(7, 9));
    let picture = format!("plasma({x}, {height}, {width})");
    let computed = match writer.dice.below(15) {
        0 => format!("f32({picture}) - f32([120.0, 110.0, 100.0])"),
        1 => format!("f32([1.0, 2.0, 3.0]) / (f32({picture}) + 1.0)"),
        2 => format!("normalize({picture}, mean: [0.5, 0.4, 0.3], std: 0.25)"),
        3 => format!("normalize(f32({picture}), mean: 99.0, std: [9.0, 8.0, 7.0])"),
        4 => format!("grayscale({picture})"),
        5 => format!("adjust_hue({picture}, 0.2)"),
        6 => format!("adjust_saturation({picture}, 1.5)"),
        7 => format!("f64(adjust_brightness({picture}, 0.7)) * 0.5"),
        8 => format!("adjust_contrast({picture}, 1.4)"),
        9 => format!("gaussian_blur({picture}, 3)"),
        10 => format!("resize({picture}, 8, 7)"),
        11 => format!("resize_short(decode_jpeg(encode_jpeg({picture})), {x} % 3 + 7)"),
        12..14 => format!("decode_jpeg(encode_jpeg({picture}))"),
        _ => format!("i32({picture}) // 3 % 7"),
    };
    let view = match writer.dice.below(9) {
        0 => format!("crop({computed}, {x} % 3, 1, 4, 5)"),
        1 => format!("random_crop({computed}, 4)"),
        2 => format!("flip_x({computed})"),
        3 => format!("flip_y({computed}) |> flip_x"),
        4 => format!("channels_first({computed})"),
        5 => format!("({computed})[1:5, :{x} % 3 + 1]"),
        6 => format!("channels_first(flip_x(crop({computed}, 0, 1, 5, 4)))"),
        7 => format!("center_crop({computed}, 5, 9)"),
        _ => format!("transpose(crop({computed}, 0, 0, 4, 4), [1, 0, 2])"),
    };
    let text = format!("with {{ {}: {view} }}", writer.name("v"));
    Some(Offer { text, ..same(growing) })
}

/// A reduction over an axis, mostly of few elements, of what is computed element by element.
fn reduced(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let x = writer.values(&growing.fields).base();
    let (height, width) = (writer.dice.within(2, 9), writer.dice.within(2, 9));
    let picture = format!("plasma({x}, {height}, {width})");
    let computed = match writer.dice.below(8) {
        0 => picture,
        1 => format!("exp(f32({picture}) / 77.0)"),
        2 => format!("i32({picture}) - 100"),
        3 => format!("f64({picture}) * [0.1, -2.0, 0.3]"),
        4 => format!("f16({picture})"),
        5 => format!("normalize({picture}, mean: 0.5, std: [0.2, 0.3, 0.25])"),
        6 => format!("(if {picture} > 99 then 1.5 else -0.25)"),
        _ => format!("i64({picture}) * {x}"),
    };
    let reduction = *writer.dice.pick(&["sum", "prod", "mean", "minimum", "maximum", "all", "any"]);
    let is_truth = ["all", "any"].contains(&reduction);
    let computed = if is_truth { format!("({computed} > {x} % 99)") } else { computed };
    let axis = writer.dice.pick(&["0", "1", "2", "2", "-1"]);
    let text = format!("with {{ {}: {reduction}({computed}, {axis}) }}", writer.name("v"));
    Some(Offer { text, ..same(growing) })
}

/// What is held is large, and could be computed afterwards.
fn held(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let x = writer.values(&growing.fields).base();
    let holds = match writer.dice.below(3) {
        0 => format!("where {x} % 3 != 1\n    |> shuffle(window: 9)"),
        1 => "take(200)".to_owned(),
        _ => format!("shuffle(window: {})", writer.dice.pick(&[2, 5, 8, 17])),
    };
    let (picture, draw) = (writer.name("v"), writer.name("v"));
    let text = format!(
        "with {{ {picture}: plasma({x}, 8, 9), {draw}: uniform(0.0, 1.0) }}\n    |> {holds}"
    );
    Some(Offer { text, indexed: false, ..same(growing) })
}

/// Copies, of which a filter keeps some by what they have in common.
fn thinned_copies(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let newest = growing.fields.iter().rev().take(4).cloned().collect::<Vec<_>>();
    let scalar = newest.iter().position(|it| it.ty == Type::scalar(DType::I64))?;
    let names: Vec<String> = newest.iter().map(|_| writer.name("v")).collect();
    let kept: Vec<String> =
        names.iter().zip(&newest).map(|(name, it)| format!("{name}: {}", it.name)).collect();
    let (kept, one, x) = (kept.join(", "), writer.name("v"), &names[scalar]);
    let condition = match writer.dice.below(3) {
        0 => format!("{x} % 3 != 1"),
        1 => format!("{one} != 1"),
        _ => format!("{x} % 2 == 0 or coin(0.5)"),
    };
    let text = format!("flat_map [{{ {kept}, {one}: k }} for k in 1..2]\n    |> where {condition}");
    let records = growing.records * 2;
    (records <= RECORDS_MAX).then(|| Offer { text, records, indexed: false, ..same(growing) })
}

/// `windows`, of fields whose extents are known.
fn windows(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let known: Vec<String> = fixed(writer, growing);
    if known.is_empty() || growing.batches > 1 {
        return None;
    }
    let length = 2 + writer.dice.below(4);
    let hop = match writer.dice.below(3) {
        0 => String::new(),
        1 => ", hop: 1".to_owned(),
        _ => format!(", hop: {}", length + 1),
    };
    let text = format!("map {{ {} }}\n    |> windows(length: {length}{hop})", known.join(", "));
    let batches = growing.batches + 1;
    Some(Offer { text, indexed: false, batches, ..same(growing) })
}

/// Batches in the middle of a stream.
fn early_batch(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    let mut known: Vec<String> = fixed(writer, growing);
    if known.is_empty() || growing.batches > 1 || writer.dice.percent(50) {
        return None;
    }
    let text = growing.fields.iter().rev().find(|it| is_text(it) && !it.ty.is_texts());
    let text = text.map(|it| format!("{}: {}", writer.name("v"), it.name));
    match text {
        Some(text) => known.push(text),
        None if writer.dice.percent(50) => known.push(new_text(writer, growing)),
        None => {}
    }
    let mut own = String::new();
    if writer.dice.percent(40) {
        let (name, field) = new_row(writer, growing);
        own = format!(", ragged: [{name}]");
        known.push(field);
    }
    let size = 2 + writer.dice.below(5);
    let tail = *writer.dice.pick(&["", ", tail: keep", ", tail: drop"]);
    let text = format!("map {{ {} }}\n    |> batch({size}{tail}{own})", known.join(", "));
    let (batches, records) = (growing.batches + 1, growing.records / size + 1);
    Some(Offer { text, records, indexed: false, batches })
}

/// A text, or bytes now and then, of a record that has none.
fn new_text(writer: &mut Writer<'_>, growing: &Growing) -> String {
    let name = writer.name("t");
    let dtype = if writer.dice.percent(15) { DType::Bytes } else { DType::Str };
    format!("{name}: {}", writer.values(&growing.fields).atom((dtype, 0)))
}

/// A field whose length differs from record to record, and its name.
fn new_row(writer: &mut Writer<'_>, growing: &Growing) -> (String, String) {
    let name = writer.name("r");
    let of = writer.values(&growing.fields).base();
    let field = format!("{name}: arange(abs({of}) % 4)");
    (name, field)
}

fn is_text(field: &Field) -> bool {
    !field.ty.is_untyped() && field.ty.dtype().is_some_and(DType::is_text)
}

/// The newest fields whose extents are known.
fn fixed(writer: &mut Writer<'_>, growing: &Growing) -> Vec<String> {
    let known = growing.fields.iter().rev().filter(|it| it.ty.fixed().is_some());
    known.take(4).map(|it| format!("{}: {}", writer.name("v"), it.name)).collect()
}
