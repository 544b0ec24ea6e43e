//! The outline of a text: symbols, what folds, what each word is.

use crate::{document::Document, text::Text};
use compiler::{
    ast::{Declaration, DeclarationKind, Expr, ExprKind},
    syntax::{Kind, highlight},
};
use lsp_types::{
    DocumentSymbol, FoldingRange, FoldingRangeKind, SemanticToken, SemanticTokens, SymbolKind,
};

/// The declarations, with the steps of pipelines below them.
pub(crate) fn symbols(document: &Document) -> Vec<DocumentSymbol> {
    let declared = &document.analysis.tree().declarations;
    declared.iter().filter_map(|it| symbol(it, &document.text)).collect()
}

fn symbol(it: &Declaration, text: &Text) -> Option<DocumentSymbol> {
    let (kind, body) = match &it.kind {
        DeclarationKind::Param(_) => (SymbolKind::Variable, None),
        DeclarationKind::Const(_) => (SymbolKind::Constant, None),
        DeclarationKind::Extern(it) if it.is_pipeline => (SymbolKind::Class, None),
        DeclarationKind::Fn(_) | DeclarationKind::Extern(_) => (SymbolKind::Function, None),
        DeclarationKind::Pipeline(it) => (SymbolKind::Class, Some(&it.body)),
        DeclarationKind::Use(_) => return None,
    };
    let name = it.name()?;
    Some(made((&name.text, kind), (it.span, name.span), text, body.map(|it| steps(it, text))))
}

#[allow(deprecated, reason = "the field is there, and must be written")]
fn made(
    (name, kind): (&str, SymbolKind),
    (whole, at): (plan::Span, plan::Span),
    text: &Text,
    children: Option<Vec<DocumentSymbol>>,
) -> DocumentSymbol {
    DocumentSymbol {
        name: name.to_owned(),
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        // A name that could not be read may stand outside what was.
        range: text.range(whole.to(at)),
        selection_range: text.range(at),
        children,
    }
}

/// The steps of a chain, in order.
fn steps(body: &Expr, text: &Text) -> Vec<DocumentSymbol> {
    let mut all = Vec::new();
    let mut at = body;
    while let ExprKind::Pipe { lhs, stage } = &at.kind {
        let span = stage.span();
        let word = span.text(text.as_str());
        let len = word.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count();
        let name = plan::Span { end: span.start + len as u32, ..span };
        all.push(made((&word[..len], SymbolKind::Event), (span, name), text, None));
        at = lhs;
    }
    all.retain(|it| !it.name.is_empty());
    all.reverse();
    all
}

/// What can be folded: declarations, brackets, comments; whatever has several lines.
pub(crate) fn folds(document: &Document) -> Vec<FoldingRange> {
    let text = &document.text;
    let line = |byte: u32| text.position(byte as usize).line;
    let mut all = Vec::new();
    let mut add = |start: u32, end: u32, kind: Option<FoldingRangeKind>| {
        if start < end {
            let (start_line, end_line) = (start, end);
            all.push(FoldingRange { start_line, end_line, kind, ..FoldingRange::default() });
        }
    };
    for it in &document.analysis.tree().declarations {
        add(line(it.span.start), line(it.span.end), None);
    }
    let (mut open, mut comment): (Vec<u32>, Option<(u32, u32)>) = (Vec::new(), None);
    for (span, kind) in highlight(text.as_str()) {
        let at = line(span.start);
        if matches!(kind, Kind::Comment | Kind::Doc) {
            comment = match comment {
                Some((start, end)) if at == end + 1 => Some((start, at)),
                Some((start, end)) => {
                    add(start, end, Some(FoldingRangeKind::Comment));
                    Some((at, at))
                }
                None => Some((at, at)),
            };
            continue;
        }
        match span.text(text.as_str()) {
            "(" | "[" | "{" if kind == Kind::Sign => open.push(at),
            ")" | "]" | "}" if kind == Kind::Sign => {
                // The line of the closing bracket stays to be seen.
                open.pop().into_iter().for_each(|it| add(it, at.saturating_sub(1), None));
            }
            _ => {}
        }
    }
    comment.into_iter().for_each(|it| add(it.0, it.1, Some(FoldingRangeKind::Comment)));
    all.sort_by_key(|it| (it.start_line, it.end_line));
    all.dedup_by_key(|it| (it.start_line, it.end_line));
    all
}

/// The kinds of words that are told, in the order of their numbers.
pub(crate) const TOKEN_TYPES: [&str; 13] = [
    "keyword",
    "class",
    "function",
    "property",
    "parameter",
    "variable",
    "type",
    "number",
    "string",
    "macro",
    "comment",
    "operator",
    "method",
];

fn token_type(kind: Kind) -> Option<u32> {
    Some(match kind {
        Kind::Keyword => 0,
        Kind::Definition => 1,
        Kind::Call => 2,
        Kind::Field => 3,
        Kind::Argument => 4,
        Kind::Name => 5,
        Kind::Type => 6,
        Kind::Number => 7,
        Kind::Text => 8,
        Kind::Hole => 9,
        Kind::Comment | Kind::Doc => 10,
        Kind::Sign => 11,
        Kind::Unknown => return None,
    })
}

/// What each word of the text is.
pub(crate) fn tokens(document: &Document) -> SemanticTokens {
    let text = &document.text;
    let mut data: Vec<SemanticToken> = Vec::new();
    let (mut line, mut character) = (0, 0);
    for (span, kind) in highlight(text.as_str()) {
        let Some(token_type) = token_type(kind) else { continue };
        let at = text.position(span.start as usize);
        let length = span.text(text.as_str()).encode_utf16().count() as u32;
        let delta_start = if at.line == line { at.character - character } else { at.character };
        data.push(SemanticToken {
            delta_line: at.line - line,
            delta_start,
            length,
            token_type,
            token_modifiers_bitset: 0,
        });
        (line, character) = (at.line, at.character);
    }
    SemanticTokens { result_id: None, data }
}
