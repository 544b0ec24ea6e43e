//! Looks for things in a syntax tree by their places.

use crate::{analysis::holds, document::Document};
use compiler::ast::{DeclarationKind, EachKind, Expr, ExprKind, File, Stage, walk};
use plan::Span;

/// Calls `visit` for every expression of a file.
pub(crate) fn each<'t>(file: &'t File, visit: &mut dyn FnMut(&'t Expr)) {
    for it in &file.declarations {
        match &it.kind {
            DeclarationKind::Param(it) => it.default.iter().for_each(|it| walk(it, visit)),
            DeclarationKind::Const(it) => walk(&it.value, visit),
            DeclarationKind::Fn(it) => walk(&it.body, visit),
            DeclarationKind::Pipeline(it) => walk(&it.body, visit),
            DeclarationKind::Extern(_) | DeclarationKind::Use(_) => {}
        }
    }
}

/// The place of the value of the entry whose name stands at `name`.
pub(crate) fn entry_value(file: &File, name: Span) -> Option<Span> {
    let mut found = None;
    each(file, &mut |it| {
        if let ExprKind::Record(entries) = &it.kind {
            let entry = entries.iter().find(|it| it.name.span == name);
            found = found.or(entry.map(|it| it.value.span));
        }
    });
    found
}

/// What stands left of the `|>` before the call whose name stands at `name`.
pub(crate) fn piped(file: &File, name: Span) -> Option<Span> {
    let mut found = None;
    each(file, &mut |it| {
        if let ExprKind::Pipe { lhs, stage: Stage::Call(call) } = &it.kind
            && call.name.span == name
        {
            found = Some(lhs.span);
        }
    });
    found
}

/// A `map` and the like.
pub(crate) struct EachStage {
    pub(crate) word: &'static str,
    kind: EachKind,
    /// The stage without its `|>`.
    pub(crate) span: Span,
    /// All up to its end.
    whole: Span,
}

impl EachStage {
    /// The type of the records that leave it.
    pub(crate) fn record(&self, document: &Document) -> Option<String> {
        let found = document.analysis.notes.types.get(&self.whole)?;
        Some(found.text()).filter(|it| !it.is_empty())
    }

    pub(crate) fn doc(&self) -> &'static str {
        match self.kind {
            EachKind::Map => "`map e`: the record is replaced by `e`.",
            EachKind::With => "`with e`: the fields of `e` are added to the record.",
            EachKind::Where => "`where e`: keeps the record if `e` is true.",
            EachKind::FlatMap => "`flat_map e`: each element of the list `e` becomes a record.",
        }
    }
}

/// The `map` and the like whose word a byte stands in, and the place of the word.
pub(crate) fn each_word(file: &File, byte: u32) -> Option<(Span, EachStage)> {
    let mut found = None;
    each(file, &mut |it| {
        if let ExprKind::Pipe { stage: Stage::Each(each), .. } = &it.kind
            && holds(each.at, byte)
        {
            let span = each.at.to(each.body.span);
            let stage = EachStage { word: each.kind.word(), kind: each.kind, span, whole: it.span };
            found = Some((each.at, stage));
        }
    });
    found
}

/// A stage of a chain, and all of the chain up to its end.
pub(crate) struct Link<'t> {
    pub(crate) stage: &'t Stage,
    pub(crate) whole: &'t Expr,
    pub(crate) before: &'t Expr,
}

/// The stages of every chain of a file.
pub(crate) fn links(file: &File) -> Vec<Link<'_>> {
    let mut all = Vec::new();
    each(file, &mut |it| {
        if let ExprKind::Pipe { lhs, stage } = &it.kind {
            all.push(Link { stage, whole: it, before: lhs });
        }
    });
    all
}
