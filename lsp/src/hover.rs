//! What is shown of the thing under the pointer: what it is, its type, its doc, what it costs.

use crate::{
    document::Document,
    names::{Meaning, Occurrence},
    world::{self, Item, ItemKind, World},
};
use compiler::{Found, ast::DeclarationKind, estimate::Figure, explain::time};
use lsp_types::{Contents, Hover, MarkupContent, MarkupKind};
use plan::Span;

/// The hover at a byte.
pub(crate) fn hover(document: &Document, byte: u32, world: &World) -> Option<Hover> {
    let named = document.analysis.names.at(byte);
    let (at, text) = match named {
        Some(it) => (it.at, of_name(document, it, world)?),
        None => of_place(document, byte)?,
    };
    Some(Hover::new(markdown(text), Some(document.text.range(at))))
}

fn markdown(value: String) -> Contents {
    Contents::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
}

fn of_name(document: &Document, it: &Occurrence, world: &World) -> Option<String> {
    let parts = match it.meaning {
        Meaning::Declared(at) => declared(document, it, at),
        Meaning::Library => {
            let item = world.item(&it.text, is_on_stream(document, it.at))?;
            vec![code(&item.head), item.doc.clone(), call_cost(document, it, item)]
        }
        Meaning::Local(at) => {
            vec![typed(document, it, at), "a parameter of this definition".into()]
        }
        Meaning::Field(_) => vec![typed(document, it, it.at), String::new()],
    };
    Some(joined(parts))
}

fn declared(document: &Document, it: &Occurrence, at: Span) -> Vec<String> {
    let Some((found, text)) = document.analysis.declaration_named(at) else { return Vec::new() };
    let mut head = world::head(text, found);
    let found_type = match &found.kind {
        DeclarationKind::Pipeline(it) => document.analysis.notes.types.get(&it.body.span),
        DeclarationKind::Const(it) => document.analysis.notes.types.get(&it.value.span),
        _ => document.analysis.notes.types.get(&it.at),
    };
    if let Some(found) = found_type.filter(|it| **it != Found::Broken) {
        head += &format!("\n# {}", found.text());
    }
    let cost = match &found.kind {
        DeclarationKind::Pipeline(it) => document.costs.get(&it.name.text).map(|it| {
            let rate = it.records_per_second;
            format!("{}{:.0} records/s {}", rate.mark(), rate.value, origin(rate))
        }),
        _ => None,
    };
    vec![code(&head), found.doc(), cost.unwrap_or_default()]
}

/// `name: type` of what stands at `at`, or where it is used.
fn typed(document: &Document, it: &Occurrence, at: Span) -> String {
    let types = &document.analysis.notes.types;
    let known = types.get(&it.at).or_else(|| types.get(&at)).filter(|it| **it != Found::Broken);
    let of_entry = || {
        let tree = document.analysis.tree();
        crate::tree::entry_value(tree, it.at).and_then(|it| types.get(&it))
    };
    match known.or_else(of_entry).filter(|it| **it != Found::Broken) {
        Some(found) => code(&format!("{}: {}", it.text, found.text())),
        None => code(&it.text),
    }
}

/// Whether a call stands behind a stream.
fn is_on_stream(document: &Document, name: Span) -> Option<bool> {
    let lhs = crate::tree::piped(document.analysis.tree(), name)?;
    match document.analysis.notes.types.get(&lhs)? {
        Found::Stream(_) => Some(true),
        Found::Value(_) => Some(false),
        Found::Broken => None,
    }
}

/// What a call costs here; what it is assumed to cost anywhere, where nothing is known of here.
fn call_cost(document: &Document, it: &Occurrence, item: &Item) -> String {
    let priced = document.step_around(it.at.start);
    if let Some(priced) = priced {
        let of_call = priced.cost.calls.iter().find(|(name, _)| *name == it.text);
        if let Some((_, ns)) = of_call {
            return format!("{} per record in `{}`, {}", time(*ns), priced.step, origin(*ns));
        }
        if item.kind != ItemKind::Function {
            let ns = priced.cost.ns;
            return format!("{} per record in `{}`, {}", time(ns), priced.step, origin(ns));
        }
    }
    item.entry.map_or_else(String::new, |it| {
        let cost = it.cost;
        let each = [
            ("call", cost.ns_call),
            ("byte read", cost.ns_byte_in),
            ("byte written", cost.ns_byte_out),
        ];
        let each =
            each.iter().filter(|it| it.1 > 0.0).map(|(what, ns)| format!("{ns} ns per {what}"));
        let each: Vec<String> = each.collect();
        if each.is_empty() { String::new() } else { format!("~{}, assumed", each.join(", ")) }
    })
}

/// Whether a number was measured.
pub(crate) fn origin(figure: Figure) -> &'static str {
    use compiler::estimate::Origin;
    match figure.origin {
        Origin::Exact => "exact",
        Origin::Measured => "measured",
        Origin::Calibrated => "measured on this machine",
        Origin::Assumed => "assumed",
    }
}

/// A step, or the expression that a byte stands in.
fn of_place(document: &Document, byte: u32) -> Option<(Span, String)> {
    if let Some((at, stage)) = crate::tree::each_word(document.analysis.tree(), byte) {
        let mut parts = vec![code(stage.record(document).as_deref().unwrap_or(stage.word))];
        parts.push(stage.doc().to_owned());
        let priced = document.steps_at(stage.span);
        parts.extend(priced.first().map(|it| {
            format!("{} per record in `{}`, {}", time(it.cost.ns), it.step, origin(it.cost.ns))
        }));
        return Some((at, joined(parts)));
    }
    let (at, found) = document.analysis.found_at(byte)?;
    let text = found.text();
    (!text.is_empty()).then(|| (at, code(&text)))
}

fn code(text: &str) -> String {
    format!("```pipe\n{text}\n```")
}

fn joined(parts: Vec<String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    parts.join("\n\n")
}
