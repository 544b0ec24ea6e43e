//! How declarations and types stand.

use plan::Span;

use super::Builder;
use super::doc::{Doc, Layout, WIDTH, forced, group, indent, line, note, row, space, text};
use super::expr::{Signs, bracketed, piped};
use crate::ast::{
    DeclarationKind, Expr, ExprKind, Extent, Formal, Name, Param, Pipeline, Signature, Text,
    TypeExpr, TypeKind, Typed, Use,
};

impl Builder<'_> {
    /// A declaration without its docs.
    pub(super) fn declaration(&mut self, kind: &DeclarationKind) -> Doc {
        match kind {
            DeclarationKind::Param(it) => self.param(it),
            DeclarationKind::Const(it) => {
                let head = text(format!("const {}", it.name.text));
                self.defined(head, &it.value)
            }
            DeclarationKind::Fn(it) => {
                let head = row([text("fn "), self.signature(&it.signature)]);
                self.defined(head, &it.body)
            }
            DeclarationKind::Extern(it) => {
                let word = if it.is_pipeline { "extern pipeline " } else { "extern fn " };
                let head = row([text(word), self.signature(&it.signature)]);
                self.named(head, " =", &it.target)
            }
            DeclarationKind::Pipeline(it) => self.pipeline(it),
            DeclarationKind::Use(it) => self.import(it),
        }
    }

    fn param(&mut self, it: &Param) -> Doc {
        let mut head = vec![text(format!("param {}", it.name.text))];
        if let Some(type_) = &it.type_ {
            head.extend([text(": "), self.type_(type_)]);
        }
        match &it.default {
            Some(value) => self.defined(row(head), value),
            None => row(head),
        }
    }

    fn pipeline(&mut self, it: &Pipeline) -> Doc {
        let mut head = vec![text(format!("pipeline {}", it.name.text))];
        if let Some(formals) = &it.formals {
            head.push(self.formals(&it.name, formals));
        }
        self.defined(row(head), &it.body)
    }

    fn import(&mut self, it: &Use) -> Doc {
        let names: Vec<_> = it.names.iter().map(|it| it.text.as_str()).collect();
        self.named(text(format!("use {}", names.join(", "))), " from", &it.from)
    }

    /// `head sign "text"`, on two lines if it must be.
    fn named(&mut self, head: Doc, sign: &str, named: &Text) -> Doc {
        row([head, text(sign), group(indent(row([space(), text(&named.text)])))])
    }

    /// `head = value`: on one line; or the value below; or its brackets open behind the `=`.
    fn defined(&mut self, head: Doc, value: &Expr) -> Doc {
        let between = self.comments.before(value.span);
        let commented = !between.is_empty();
        let mut below: Vec<_> = between.behind.into_iter().map(note).collect();
        for comment in between.above {
            below.extend([line(), text(comment)]);
        }

        let chained = piped(value) && !value.bracketed;
        let body = if chained { self.chain(value) } else { self.expr(value) };
        let wide = body.forced || body.width + 4 > WIDTH;
        let called = matches!(&value.kind, ExprKind::Call(call) if !call.args.is_empty());
        if (called || bracketed(value)) && wide && !commented {
            return row([head, text(" = "), body]);
        }
        below.extend([space(), body]);
        row([head, text(" ="), group(forced(indent(row(below)), commented))])
    }

    fn signature(&mut self, it: &Signature) -> Doc {
        let mut parts = vec![text(&it.name.text), self.formals(&it.name, &it.formals)];
        for effect in &it.effects {
            parts.push(text(format!(" {}", effect.kind.word())));
        }
        if let Some(type_) = &it.result {
            parts.extend([text(" -> "), self.type_(type_)]);
        }
        row(parts)
    }

    fn formals(&mut self, name: &Name, formals: &[Formal]) -> Doc {
        let last = formals.last().map_or(name.span, |it| it.span);
        let span = Span { start: name.span.end, end: self.comments.closed(last.end), ..name.span };
        let signs = Signs { open: "(", close: ")", layout: Layout::Tight, span };
        self.bracket(&signs, formals, |it| it.span, |it, formal| (None, it.formal(formal))).doc()
    }

    fn formal(&mut self, it: &Formal) -> Doc {
        let mut parts = vec![text(&it.name.text)];
        if let Some(type_) = &it.type_ {
            let each = if it.each { ": each " } else { ": " };
            let optional = if it.optional { "?" } else { "" };
            parts.extend([text(each), self.type_(type_), text(optional)]);
        }
        if let Some(default) = &it.default {
            parts.extend([text(" = "), self.expr(default)]);
        }
        row(parts)
    }

    /// A type, wherever it stands.
    pub(super) fn type_(&mut self, it: &TypeExpr) -> Doc {
        match &it.kind {
            TypeKind::Words(words) => {
                text(words.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" | "))
            }
            TypeKind::Named { name, extents } if extents.is_empty() => text(&name.text),
            TypeKind::Named { name, extents } => {
                let signs = Signs { open: "[", close: "]", layout: Layout::Tight, span: it.span };
                let bracket = self
                    .bracket(&signs, extents, Extent::span, |it, extent| (None, it.extent(extent)));
                row([text(&name.text), bracket.doc()])
            }
            TypeKind::Record { fields, open } => self.record_type(it.span, fields, *open),
            TypeKind::Broken => unreachable!("a text with mistakes is not printed"),
        }
    }

    fn extent(&mut self, extent: &Extent) -> Doc {
        match extent {
            Extent::Unknown(_) => text("?"),
            Extent::Known(it) => self.expr(it),
        }
    }

    fn record_type(&mut self, span: Span, fields: &[Typed], open: bool) -> Doc {
        let layout = if open { Layout::Bare } else { Layout::Columns };
        let signs = Signs { open: "{", close: "}", layout, span };
        // The `..` has no place of its own: it stands directly before the bracket.
        let rest = open.then(|| Span { start: span.end - 1, ..span });
        let parts: Vec<_> = fields.iter().map(Some).chain(rest.map(|_| None)).collect();
        let at = |it: &Option<&Typed>| {
            it.map_or(Span { start: span.end - 1, ..span }, |it| it.name.span.to(it.type_.span))
        };
        let print = |it: &mut Self, part: &Option<&Typed>| match part {
            Some(field) => (Some(field.name.text.clone()), it.type_(&field.type_)),
            None => (None, text("..")),
        };
        self.bracket(&signs, &parts, at, print).doc()
    }
}
