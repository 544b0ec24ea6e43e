//! What was seen, as text.

use super::{FieldPeek, Followed, Lost, Seen, StepPeek, Value, What};
use crate::session::place::Place;
use std::fmt::Write;

/// What leaves a step.
pub fn text(peek: &StepPeek) -> String {
    let mut text = head(&peek.step, peek.place.as_ref(), &peek.fields);
    for it in &peek.records {
        seen(&mut text, &peek.fields, it);
    }
    if peek.records.is_empty() {
        text.push_str("  no records\n");
    }
    if peek.filtered > 0 {
        let records = if peek.filtered == 1 { "record" } else { "records" };
        let _ = writeln!(text, "  {} {records} filtered out before these", peek.filtered);
    }
    text
}

/// Where a record went.
pub fn followed_text(followed: &Followed) -> String {
    let mut text = head(&followed.step, followed.place.as_ref(), &followed.fields);
    for it in &followed.what {
        match it {
            What::Seen(it) => seen(&mut text, &followed.fields, it),
            What::Filtered => text.push_str("  dropped: it does not pass the filter\n"),
            What::Passed { why } | What::Ended { why } => {
                let _ = writeln!(text, "  {why}");
            }
        }
    }
    text
}

fn head(step: &str, place: Option<&Place>, fields: &[FieldPeek]) -> String {
    let place = place
        .map_or("the library".to_owned(), |it| format!("{}:{}:{}", it.path, it.line, it.column));
    let fields: Vec<String> = fields.iter().map(|it| format!("{}: {}", it.name, it.ty)).collect();
    format!("{step}  {place}  {{ {} }}\n", fields.join(", "))
}

fn seen(text: &mut String, fields: &[FieldPeek], seen: &Seen) {
    match seen {
        Seen::Record { id, values, in_place } => {
            let width = fields.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
            let place = if *in_place { "  replaces a failed record" } else { "" };
            let _ = writeln!(text, "  {id}{place}");
            for (field, value) in fields.iter().zip(values) {
                let class = class(field, value);
                let _ = writeln!(text, "    {:<width$}  {value}{class}", field.name);
            }
        }
        Seen::Failed(it) => {
            // Without a name it is called by its id, which stands there already.
            let name = if it.record.ends_with(&it.id) { "" } else { &it.record };
            let colon = if name.is_empty() { "" } else { ": " };
            let Lost { id, detail, code, .. } = it;
            let _ = writeln!(text, "  {id} failed: {name}{colon}{detail} ({code})");
        }
    }
}

/// The names of the classes that a label, or the first ones of a batch, are.
fn class(field: &FieldPeek, value: &Value) -> String {
    let name = |number: &String| field.classes.get(number.parse::<usize>().ok()?);
    let named: Vec<&str> = match value {
        Value::Scalar { value } => name(value).into_iter().map(String::as_str).collect(),
        Value::Tensor { first, .. } => first.iter().filter_map(name).map(String::as_str).collect(),
        _ => Vec::new(),
    };
    if named.is_empty() { String::new() } else { format!("  ({})", named.join(", ")) }
}
