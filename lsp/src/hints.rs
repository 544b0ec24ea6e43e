//! What an editor writes between the lines: the records after each step, and what each step costs;
//! and above each pipeline what can be done with it.

use crate::{document::Document, hover::origin, names::Meaning, tree};
use compiler::{
    Found,
    ast::{DeclarationKind, ExprKind},
    estimate::Origin,
    explain::time,
};
use lsp_types::{
    CodeLens, Command, InlayHint, InlayHintKind, Label, MarkupContent, MarkupKind, Range, Tooltip,
};
use plan::{Span, percent, things};
use serde_json::json;

/// Letters of a hint; the rest is told by its tooltip.
const LETTERS_MAX: usize = 96;

/// The hints of the lines of `range`.
pub(crate) fn hints(document: &Document, range: Range) -> Vec<InlayHint> {
    let within = document.text.span(range);
    let tree = document.analysis.tree();
    let types = &document.analysis.notes.types;
    let mut hints = Vec::new();
    for link in tree::links(tree) {
        let Some(Found::Stream(fields)) = types.get(&link.whole.span) else { continue };
        let before = types.get(&link.before.span);
        let changed = before.is_none_or(|it| !matches!(it, Found::Stream(it) if it == fields));
        let record = types[&link.whole.span].text();
        let at = link.stage.span();
        hints.extend(hint(document, at, changed.then_some(record), within));
    }
    for (at, record) in sources(document) {
        hints.extend(hint(document, at, Some(record), within));
    }
    hints.sort_by_key(|it| (it.position.line, it.position.character));
    hints.dedup_by_key(|it| it.position);
    hints
}

/// The calls that streams come from, and their records.
fn sources(document: &Document) -> Vec<(Span, String)> {
    let mut all = Vec::new();
    tree::each(document.analysis.tree(), &mut |it| {
        if let ExprKind::Call(_) = &it.kind
            && let Some(found @ Found::Stream(_)) = document.analysis.notes.types.get(&it.span)
        {
            all.push((it.span, found.text()));
        }
    });
    all
}

fn hint(document: &Document, at: Span, record: Option<String>, within: Span) -> Option<InlayHint> {
    if at.end < within.start || at.end > within.end {
        return None;
    }
    let mut parts: Vec<String> = record.into_iter().collect();
    let priced = document.steps_at(at);
    if let Some(first) = priced.first() {
        // A call of the library may be several steps.
        let same = priced.iter().filter(|it| it.pipeline == first.pipeline);
        let ns = same.clone().map(|it| it.cost.ns).sum();
        parts.push(time(ns));
        if same.clone().any(|it| it.of.bottleneck == it.step) {
            parts.push("bottleneck".to_owned());
        }
        if let Some(lock) = &first.of.lock
            && first.cost.workers > 1
        {
            parts.push(things(lock.workers as u64, "worker", "workers"));
        }
    }
    let whole = parts.join(" · ");
    let shown: String = whole.chars().take(LETTERS_MAX).collect();
    let cut = if shown.len() < whole.len() { "…" } else { "" };
    let tooltip = tooltip(document, at, &whole);
    (!whole.is_empty()).then(|| InlayHint {
        position: document.text.position(at.end as usize),
        label: Label::String(format!("{shown}{cut}")),
        kind: Some(InlayHintKind::Type),
        tooltip: Some(Tooltip::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value: tooltip,
        })),
        padding_left: Some(true),
        text_edits: None,
        padding_right: None,
        data: None,
    })
}

fn tooltip(document: &Document, at: Span, whole: &str) -> String {
    let mut text = format!("```pipe\n{whole}\n```\n");
    for it in document.steps_at(at) {
        let (ns, share) = (it.cost.ns, percent(it.cost.share));
        text += &format!(
            "\n`{}`: {} per record, {share} of `{}`, {}\n",
            it.step,
            time(ns),
            it.pipeline,
            origin(ns)
        );
        for (name, ns) in it.cost.calls.iter().filter(|it| it.1.value > 0.0) {
            let mark = if ns.origin == Origin::Assumed { "assumed" } else { "measured" };
            text += &format!("- `{name}`: {}, {mark}\n", time(*ns));
        }
    }
    text
}

/// Above each pipeline that can be run: `explain`, `peek`.
pub(crate) fn lenses(document: &Document) -> Vec<CodeLens> {
    let declared = document.analysis.tree().declarations.iter().filter(|it| !it.broken);
    let pipelines = declared.filter_map(|it| match &it.kind {
        DeclarationKind::Pipeline(it) if it.formals.is_none() => Some(&it.name),
        _ => None,
    });
    let lens = |name: &compiler::ast::Name| {
        let range = document.text.range(name.span);
        ["explain", "peek"].map(|what| CodeLens {
            range,
            command: Some(Command {
                title: what.to_owned(),
                tooltip: None,
                command: format!("pipec.{what}"),
                arguments: Some(vec![json!(document.uri), json!(name.text)]),
            }),
            data: None,
        })
    };
    pipelines.flat_map(lens).collect()
}

/// Whether a name is one that the main file declares or names itself.
pub(crate) fn is_own(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Declared(_) | Meaning::Local(_))
}
