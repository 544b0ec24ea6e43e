//! What the grammar read, as a tree: declarations and types.
//!
//! Spans are taken from the first and the last word of a node: the grammar's own reach over the space behind.

mod expr;
mod words;

use std::cell::RefCell;
use std::iter::Peekable;
use std::ops::Range;

use pest::iterators::{Pair, Pairs};
use plan::{Diagnostic, Span};

use super::origin::Origin;
use super::parser::Rule;
use crate::ast::{
    Const, Declaration, DeclarationKind, Doc, Edition, Effect, EffectKind, Expr, Extent, Extern,
    Formal, Function, Name, Param, Pipeline, Signature, TypeExpr, TypeKind, Typed, Use,
};
use crate::errors::syntax as errors;

/// What a piece of a file turned out to be.
pub(super) enum Piece {
    Edition(Edition),
    Declaration(Box<Declaration>),
    /// Nothing but comments.
    Nothing,
}

/// The grammar's view of a piece, on its way to a tree.
pub(super) struct Lower<'o> {
    origin: &'o Origin,
    messages: RefCell<Vec<Diagnostic>>,
}

/// The parts of a rule without keywords and signs, which say nothing that the rule does not say.
pub(super) type Parts<'i> = Peekable<std::vec::IntoIter<Pair<'i, Rule>>>;

fn parts(pair: Pair<'_, Rule>) -> Parts<'_> {
    kept(pair.into_inner())
}

fn kept(pairs: Pairs<'_, Rule>) -> Parts<'_> {
    let told = |rule| {
        use Rule::{EOI, colon, comma, curly, equals, round, square};
        use Rule::{kw_as, kw_const, kw_edition, kw_else, kw_extern, kw_fn, kw_for, kw_from};
        use Rule::{kw_if, kw_in, kw_param, kw_pipeline, kw_then, kw_use};
        matches!(rule, EOI | colon | comma | curly | equals | round | square)
            || matches!(
                rule,
                kw_as | kw_const | kw_edition | kw_else | kw_extern | kw_fn | kw_for | kw_from
            )
            || matches!(rule, kw_if | kw_in | kw_param | kw_pipeline | kw_then | kw_use)
    };
    pairs.filter(|it| !told(it.as_rule())).collect::<Vec<_>>().into_iter().peekable()
}

fn the<'i>(parts: &mut Parts<'i>, rule: Rule) -> Pair<'i, Rule> {
    optional(parts, rule).unwrap_or_else(|| unreachable!("the grammar puts {rule:?} here"))
}

fn optional<'i>(parts: &mut Parts<'i>, rule: Rule) -> Option<Pair<'i, Rule>> {
    parts.next_if(|it| it.as_rule() == rule)
}

impl<'o> Lower<'o> {
    /// For a piece that comes from there.
    pub(super) fn new(origin: &'o Origin) -> Self {
        Self { origin, messages: RefCell::default() }
    }

    /// The mistakes that the grammar lets through.
    pub(super) fn messages(self) -> Vec<Diagnostic> {
        self.messages.into_inner()
    }

    /// The tree of [`Rule::alone`].
    pub(super) fn piece(&self, pairs: Pairs<'_, Rule>) -> Piece {
        let alone = kept(pairs).next().expect("the grammar was asked for one rule");
        match parts(alone).next() {
            Some(it) if it.as_rule() == Rule::edition => Piece::Edition(self.edition(it)),
            Some(it) => Piece::Declaration(Box::new(self.declaration(it))),
            None => Piece::Nothing,
        }
    }

    /// The tree of [`Rule::signature`].
    pub(super) fn signature(&self, pairs: Pairs<'_, Rule>) -> Signature {
        let mut parts = parts(kept(pairs).next().expect("the grammar was asked for one rule"));
        let name = the(&mut parts, Rule::word);
        let name = Name { text: name.as_str().to_owned(), span: self.span(&name) };
        self.signature_of(name, &mut parts)
    }

    /// The tree of [`Rule::given`].
    pub(super) fn given(&self, pairs: Pairs<'_, Rule>) -> Expr {
        let mut parts = parts(kept(pairs).next().expect("the grammar was asked for one rule"));
        self.expr(the(&mut parts, Rule::expr))
    }

    fn say(&self, message: Diagnostic) {
        self.messages.borrow_mut().push(message);
    }

    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let at = pair.as_span();
        self.bytes(at.start()..at.end())
    }

    fn bytes(&self, at: Range<usize>) -> Span {
        self.origin.span(at)
    }

    fn edition(&self, pair: Pair<'_, Rule>) -> Edition {
        let start = self.span(&pair).start;
        let year = parts(pair).next().expect("an edition has a year");
        let at = self.span(&year);
        let known = year.as_str().parse().ok().filter(|it| super::EDITIONS.contains(it));
        if known.is_none() {
            self.say(errors::unknown_edition(year.as_str(), at));
        }
        Edition { year: known.unwrap_or_default(), span: Span { start, ..at } }
    }

    fn declaration(&self, pair: Pair<'_, Rule>) -> Declaration {
        let mut parts = parts(pair);
        let mut docs = Vec::new();
        while let Some(doc) = optional(&mut parts, Rule::doc) {
            docs.push(self.doc(&doc));
        }
        let declared = parts.next().expect("docs stand above a declaration");
        let start = declared.as_span().start();
        let (kind, end) = self.declared(declared);
        Declaration {
            docs,
            kind,
            span: Span { start: self.bytes(start..start).start, ..end },
            broken: false,
        }
    }

    fn doc(&self, pair: &Pair<'_, Rule>) -> Doc {
        let line = pair.as_str().trim_end();
        let start = pair.as_span().start();
        let text = line.trim_start_matches('#');
        let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
        Doc { text, span: self.bytes(start..start + line.len()) }
    }

    /// A declaration, and the span that it ends with.
    fn declared(&self, pair: Pair<'_, Rule>) -> (DeclarationKind, Span) {
        let rule = pair.as_rule();
        let mut parts = parts(pair);
        match rule {
            Rule::param => self.param(&mut parts),
            Rule::constant => self.constant(&mut parts),
            Rule::function => self.function(&mut parts),
            Rule::foreign => self.foreign(&mut parts),
            Rule::pipeline => self.pipeline(&mut parts),
            _ => self.import(&mut parts),
        }
    }

    fn param(&self, parts: &mut Parts<'_>) -> (DeclarationKind, Span) {
        let name = self.declared_name(parts);
        let type_ = optional(parts, Rule::type_).map(|it| self.type_(it));
        let default = optional(parts, Rule::expr).map(|it| self.expr(it));
        let written = type_.as_ref().map_or(name.span, |it| it.span);
        let end = default.as_ref().map_or(written, |it| it.span);
        (DeclarationKind::Param(Param { name, type_, default }), end)
    }

    fn constant(&self, parts: &mut Parts<'_>) -> (DeclarationKind, Span) {
        let name = self.declared_name(parts);
        let value = self.expr(the(parts, Rule::expr));
        let end = value.span;
        (DeclarationKind::Const(Const { name, value }), end)
    }

    fn function(&self, parts: &mut Parts<'_>) -> (DeclarationKind, Span) {
        let name = self.declared_name(parts);
        let signature = self.signature_of(name, parts);
        self.only_in_entries(&signature.formals);
        let body = self.expr(the(parts, Rule::expr));
        let end = body.span;
        (DeclarationKind::Fn(Function { signature, body }), end)
    }

    fn foreign(&self, parts: &mut Parts<'_>) -> (DeclarationKind, Span) {
        let is_pipeline = optional(parts, Rule::streaming).is_some();
        let name = self.declared_name(parts);
        let signature = self.signature_of(name, parts);
        self.only_in_entries(&signature.formals);
        let target = self.text(the(parts, Rule::text));
        let end = target.span;
        (DeclarationKind::Extern(Extern { signature, target, is_pipeline }), end)
    }

    fn pipeline(&self, parts: &mut Parts<'_>) -> (DeclarationKind, Span) {
        let name = self.declared_name(parts);
        let formals = optional(parts, Rule::formals).map(|it| self.formals(it));
        self.only_in_entries(formals.as_deref().unwrap_or_default());
        let body = self.expr(the(parts, Rule::expr));
        let end = body.span;
        (DeclarationKind::Pipeline(Pipeline { name, formals, body }), end)
    }

    fn import(&self, parts: &mut Parts<'_>) -> (DeclarationKind, Span) {
        let mut names = Vec::new();
        while let Some(name) = optional(parts, Rule::name) {
            names.push(self.name(&name));
        }
        let from = self.text(the(parts, Rule::text));
        let end = from.span;
        (DeclarationKind::Use(Use { names, from }), end)
    }

    fn signature_of(&self, name: Name, parts: &mut Parts<'_>) -> Signature {
        let formals = self.formals(the(parts, Rule::formals));
        let mut effects = Vec::new();
        while let Some(effect) = optional(parts, Rule::effect) {
            effects.push(self.effect(&effect));
        }
        let result = optional(parts, Rule::result).and_then(|it| self::parts(it).next());
        Signature { name, formals, effects, result: result.map(|it| self.type_(it)) }
    }

    fn effect(&self, pair: &Pair<'_, Rule>) -> Effect {
        let kind = EffectKind::of(pair.as_str()).unwrap_or(EffectKind::Reads);
        Effect { kind, span: self.span(pair) }
    }

    fn formals(&self, pair: Pair<'_, Rule>) -> Vec<Formal> {
        parts(pair).map(|it| self.formal(it)).collect()
    }

    fn formal(&self, pair: Pair<'_, Rule>) -> Formal {
        let mut parts = parts(pair);
        let name = self.declared_name(&mut parts);
        let each = optional(&mut parts, Rule::kw_each).is_some();
        let type_ = optional(&mut parts, Rule::type_).map(|it| self.type_(it));
        let mark = optional(&mut parts, Rule::optional).map(|it| self.span(&it));
        let default = optional(&mut parts, Rule::expr).map(|it| self.expr(it));

        let typed = type_.as_ref().map_or(name.span, |it| it.span);
        let last = default.as_ref().map(|it| it.span).or(mark).unwrap_or(typed);
        let span = name.span.to(last);
        Formal { name, each, type_, optional: mark.is_some(), default, span }
    }

    /// A parameter that may be left out without a default is for entries that are native.
    fn only_in_entries(&self, formals: &[Formal]) {
        for formal in formals.iter().filter(|it| it.optional) {
            self.say(errors::optional_formal(&formal.name.text, formal.span));
        }
    }

    fn declared_name(&self, parts: &mut Parts<'_>) -> Name {
        let name = self.name(&the(parts, Rule::name));
        if name.text == "it" {
            self.say(errors::reserved_word("it", name.span));
        }
        name
    }

    fn name(&self, pair: &Pair<'_, Rule>) -> Name {
        Name { text: pair.as_str().to_owned(), span: self.span(pair) }
    }

    fn type_(&self, pair: Pair<'_, Rule>) -> TypeExpr {
        let mut parts = parts(pair);
        if let Some(record) = optional(&mut parts, Rule::record_type) {
            return self.record_type(record);
        }
        let name = self.name(&the(&mut parts, Rule::name));
        let span = name.span;
        match parts.next() {
            Some(it) if it.as_rule() == Rule::extents => {
                let span = span.to(self.span(&it));
                TypeExpr { kind: TypeKind::Named { name, extents: self.extents(it) }, span }
            }
            Some(it) => self.type_words(name, it),
            None => TypeExpr { kind: TypeKind::Named { name, extents: Vec::new() }, span },
        }
    }

    fn type_words(&self, first: Name, others: Pair<'_, Rule>) -> TypeExpr {
        let mut words = vec![first];
        words.extend(parts(others).map(|it| self.name(&it)));
        let span = words[0].span.to(words[words.len() - 1].span);
        TypeExpr { kind: TypeKind::Words(words), span }
    }

    fn extents(&self, pair: Pair<'_, Rule>) -> Vec<Extent> {
        parts(pair).map(|it| self.extent(it)).collect()
    }

    fn extent(&self, pair: Pair<'_, Rule>) -> Extent {
        let at = pair.as_span().start();
        let inner = pair.into_inner();
        if inner.is_empty() {
            Extent::Unknown(self.bytes(at..at + 1))
        } else {
            Extent::Known(self.row(inner))
        }
    }

    fn record_type(&self, pair: Pair<'_, Rule>) -> TypeExpr {
        let span = self.span(&pair);
        let mut parts = parts(pair);
        let mut fields = Vec::new();
        while let Some(typed) = optional(&mut parts, Rule::typed) {
            let mut typed = self::parts(typed);
            let name = self.name(&the(&mut typed, Rule::name));
            fields.push(Typed { name, type_: self.type_(the(&mut typed, Rule::type_)) });
        }
        let open = parts.next().is_some();
        TypeExpr { kind: TypeKind::Record { fields, open }, span }
    }
}
