//! What need not be found out again: a keystroke changes one declaration, and what is known of those
//! that have nothing to do with it moves with them.

use crate::analysis::Analysis;
use compiler::{Found, Notes, ast};
use driver::Loaded;
use plan::{Diagnostic, FileId, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Which declarations are as they were, with how far each has moved.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// By the first byte of what was: its end, and by how much it has moved.
    old: BTreeMap<u32, (u32, i64)>,
    /// The places of the declarations that are as they were.
    same: HashSet<Span>,
}

impl Moved {
    /// Compares a text with the one before it; nothing is as it was where other files have changed.
    pub(crate) fn new(now: &Loaded, before: Option<&Analysis>) -> Self {
        let Some(before) = before.filter(|it| it.loaded.files[1..] == now.files[1..]) else {
            return Self::default();
        };
        let old = pieces(&before.loaded);
        let new = pieces(now);
        let mut unused: HashMap<&str, Vec<Span>> = HashMap::new();
        let (clean, unclean): (Vec<_>, Vec<_>) = old.iter().partition(|it| !it.is_read_anew);
        clean.iter().rev().for_each(|it| unused.entry(it.text).or_default().push(it.span));
        let mut changed: BTreeSet<&str> = unclean.iter().map(|it| it.name).collect();
        let mut same: Vec<(&Piece<'_>, Span)> = Vec::new();
        for piece in &new {
            match unused.get_mut(piece.text).and_then(Vec::pop) {
                Some(span) if !piece.is_read_anew => same.push((piece, span)),
                _ => drop(changed.insert(piece.name)),
            }
        }
        let gone =
            clean.iter().filter(|it| unused.get(it.text).is_some_and(|all| all.contains(&it.span)));
        changed.extend(gone.map(|it| it.name));
        // What names something that has changed is found out anew, and so on. What is known within a function is known
        // of one of its calls: where one of them has changed, it is found out anew as well.
        let functions: HashSet<&str> =
            old.iter().chain(&new).filter(|it| it.is_function).map(|it| it.name).collect();
        loop {
            let n_changed = changed.len();
            let calls = old.iter().chain(&new).filter(|it| changed.contains(it.name));
            let called = calls.flat_map(|it| words(it.text)).filter(|it| functions.contains(it));
            let called: Vec<&str> = called.collect();
            changed.extend(called);
            same.retain(|(piece, _)| {
                let is_touched = words(piece.text).any(|it| changed.contains(it));
                if is_touched {
                    changed.insert(piece.name);
                }
                !is_touched
            });
            if changed.len() == n_changed {
                break;
            }
        }
        let by =
            |piece: &Piece<'_>, span: Span| i64::from(piece.span.start) - i64::from(span.start);
        Self {
            old: same.iter().map(|(it, old)| (old.start, (old.end, by(it, *old)))).collect(),
            same: same.iter().map(|it| it.0.declared).collect(),
        }
    }

    /// Whether a declaration must be looked into.
    pub(crate) fn is_new(&self, it: &ast::Declaration) -> bool {
        !self.same.contains(&it.span)
    }

    /// Where something is now that was in a declaration that is as it was.
    ///
    /// Only text that was mended has places without extent, and such a declaration is always read anew. So
    /// an empty place at the first byte of an unchanged declaration belongs to the one that ends there.
    fn place(&self, span: Span) -> Option<Span> {
        if span.file != FileId::default() {
            return Some(span);
        }
        if span.is_empty() {
            return None;
        }
        let (_, (end, by)) = self.old.range(..=span.start).next_back()?;
        let at = |it: u32| u32::try_from(i64::from(it) + by).ok();
        (span.end <= *end).then_some(())?;
        Some(Span { start: at(span.start)?, end: at(span.end)?, ..span })
    }

    /// Adds what was known before, and is not known anew.
    #[expect(clippy::iter_over_hash_type, reason = "each goes to a place of its own")]
    pub(crate) fn carry(&self, before: &Analysis, notes: &mut Notes, all: &mut Vec<Diagnostic>) {
        for (at, it) in &before.notes.types {
            let Some(at) = self.place(*at) else { continue };
            match notes.types.get(&at) {
                Some(known) if *known != Found::Broken => {}
                _ => drop(notes.types.insert(at, it.clone())),
            }
        }
        for (at, origin) in &before.notes.fields {
            let Some(at) = self.place(*at) else { continue };
            notes.fields.entry(at).or_insert_with(|| origin.and_then(|it| self.place(it)));
        }
        for (at, it) in &before.notes.scopes {
            let Some(at) = self.place(*at) else { continue };
            notes.scopes.entry(at).or_insert_with(|| it.clone());
        }
        for (step, at) in &before.notes.steps {
            let Some(at) = self.place(*at) else { continue };
            notes.steps.entry(step.clone()).or_insert(at);
        }
        let known: HashSet<(&str, Span)> = all.iter().map(|it| (it.code.id, it.span)).collect();
        let moved = before.diagnostics.iter().filter(|it| it.span.file == FileId::default());
        let moved = moved.filter_map(|it| self.diagnostic(it));
        let moved: Vec<_> = moved.filter(|it| !known.contains(&(it.code.id, it.span))).collect();
        all.extend(moved);
    }

    fn diagnostic(&self, it: &Diagnostic) -> Option<Diagnostic> {
        let mut it = Diagnostic { span: self.place(it.span)?, ..it.clone() };
        for label in &mut it.labels {
            label.span = self.place(label.span)?;
        }
        if let Some(fix) = &mut it.fix {
            fix.span = self.place(fix.span)?;
        }
        Some(it)
    }
}

/// A declaration as it is written.
struct Piece<'t> {
    text: &'t str,
    /// With its docs.
    span: Span,
    declared: Span,
    name: &'t str,
    is_function: bool,
    /// Whether nothing that was known of it may be carried over: it reads another file, or there is
    /// something to say about how it is written, which every reading says again.
    is_read_anew: bool,
}

/// The declarations that could be read.
fn pieces(loaded: &Loaded) -> Vec<Piece<'_>> {
    let (Some(tree), Some(file)) = (loaded.trees.first(), loaded.files.first()) else {
        return Vec::new();
    };
    let mut pieces: Vec<_> = tree.declarations.iter().map(|it| Piece::of(it, &file.text)).collect();
    for piece in &mut pieces {
        piece.is_read_anew |= loaded.diagnostics.iter().any(|it| touch(it.span, piece.span));
    }
    pieces
}

impl<'t> Piece<'t> {
    fn of(it: &'t ast::Declaration, text: &'t str) -> Self {
        let span = it.docs.first().map_or(it.span, |doc| doc.span.to(it.span));
        // Where the text was mended, the name is not as it stands there.
        let name = it.name().map_or("", |it| it.text.as_str());
        let is_read_anew = it.broken || matches!(it.kind, ast::DeclarationKind::Use(_));
        let is_function = matches!(it.kind, ast::DeclarationKind::Fn(_));
        Self { text: span.text(text), span, declared: it.span, name, is_function, is_read_anew }
    }
}

/// Whether two places have a byte in common, or one ends where the other begins.
fn touch(a: Span, b: Span) -> bool {
    a.file == b.file && a.start <= b.end && b.start <= a.end
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').filter(|it| !it.is_empty())
}
