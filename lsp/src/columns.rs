//! The columns of files, where a call of a source says which it reads: `parquet("rides/*.parquet", columns: [`.

use crate::{
    analysis::analyse,
    complete::{item, snippet},
    cursor::{Cursor, Open, rest_of},
    document::Document,
    world::{ItemKind, World},
};
use compiler::{ast::TypeKind, syntax::Kept};
use lsp_types::{CompletionItem, CompletionItemKind};
use plan::is_field_name;

/// What may stand at a byte, where that is in such an argument.
pub(crate) fn columns(
    document: &Document,
    byte: usize,
    (at, world): (&Cursor<'_>, &World),
) -> Option<Vec<CompletionItem>> {
    let call = at.call.as_ref().filter(|it| it.depth == 1 && is_of_columns(it, world))?;
    let text = document.text.as_str();
    let written = text.get(call.before..byte)?;
    let is_new = |name: &str| !written.contains(&format!("\"{name}\""));
    let found = found(document, call, (at, byte), world);
    let found = found.iter().filter(|it| is_new(&it.0));
    let is_record = at.brackets.last() == Some(&"{");
    let offers = found.filter_map(|(name, ty)| {
        let offer = item(name, CompletionItemKind::Field, ty.as_str());
        let text = format!("\"{name}\"");
        if at.quoted {
            return Some(offer);
        }
        match is_record && at.last != ":" {
            true if is_field_name(name) => Some(offer),
            _ if name.contains(['"', '\\', '{', '$', '}']) => None,
            true => Some(snippet(offer, format!("${{1:{}}}: {text}", word_of(name)))),
            false => Some(CompletionItem { insert_text: Some(text), ..offer }),
        }
    });
    Some(offers.collect())
}

/// Whether the argument that is being given says which columns a source reads.
fn is_of_columns(call: &Open<'_>, world: &World) -> bool {
    let Some(named) = call.named else { return false };
    let items = world.items.get(call.name).into_iter().flatten();
    items.filter(|it| it.kind == ItemKind::Source).any(|it| {
        let formals = it.signature.iter().flat_map(|it| &it.formals);
        let mut own = formals.filter(|it| it.name.text == named);
        own.any(|it| match it.type_.as_ref().map(|it| &it.kind) {
            Some(TypeKind::Named { name, .. }) => name.text == "columns",
            _ => false,
        })
    })
}

/// The columns of the files, as far as they are known, with their types: the fields of the call without this argument.
fn found(
    document: &Document,
    call: &Open<'_>,
    (at, byte): (&Cursor<'_>, usize),
    world: &World,
) -> Vec<(String, String)> {
    let text = document.text.as_str();
    let outer = &at.brackets[..at.brackets.len().saturating_sub(call.depth + 1)];
    let head = format!("{}) |> map {{ ", &text[..call.before]);
    let here = head.len() as u32;
    let mended = format!("{head}hole__ }}{}\n{}", Cursor::closed(outer), rest_of(text, byte));
    let again = (&mut Kept::clone(&document.kept), Some(&document.analysis));
    let analysis = analyse(&document.path, &mended, world, again);
    // Columns of files outside the project have numbers in place of names.
    let is_named = |it: &&(String, String)| !it.0.starts_with('…');
    analysis.fields_at(here + 1).iter().filter(is_named).cloned().collect()
}

/// A name for a column whose own cannot be written: `trip_distance`.
fn word_of(name: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '_' };
    let word: String = name.trim().chars().map(letter).collect();
    if is_field_name(&word) { word } else { "name".to_owned() }
}
