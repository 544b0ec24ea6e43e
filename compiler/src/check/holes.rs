//! Expressions in a text, as Python has them: `"{row['a']}"`. Here only a name is filled in, and any other brace is
//! itself; so what begins with a name that is known is a mistake, and not taken as it stands in silence.

use super::{Checker, Env, Val};
use crate::{ast::DeclarationKind, errors::syntax as errors};
use plan::{Diagnostic, Span, Type};

/// An expression between braces.
struct Hole<'t> {
    /// With its braces.
    start: usize,
    end: usize,
    inner: &'t str,
    /// The name that it begins with, and what stands behind.
    name: &'t str,
    rest: &'t str,
}

impl Checker<'_> {
    /// What is wrong with a text, written with its quotes, in which an expression stands.
    pub(super) fn expression_in_text(
        &self,
        text: &str,
        at: Span,
        env: &Env<'_>,
    ) -> Option<Diagnostic> {
        let holes = holes(text);
        let hole = holes.iter().find(|it| self.is_expression(it, env))?;
        let meant: Option<Vec<String>> = holes
            .iter()
            .map(|it| self.as_value(it, env).filter(|_| self.is_expression(it, env)))
            .collect();
        let field =
            hole.rest.strip_prefix('.').filter(|it| hole.name == "it" && words(it).eq([*it]));
        let name = field.or(hole.rest.is_empty().then_some(hole.name));
        let filled_in =
            |name: &str| text.replace(&text[hole.start..hole.end], &format!("{{{name}}}"));
        let meant = name.map(filled_in).or_else(|| Some(joined(text, &holes, &meant?)));
        let shown = &text[hole.start..hole.end];
        Some(errors::expression_in_text(shown, meant.as_deref(), at))
    }

    /// Whether it can be nothing else: the name is that of a value here, or of a function that is called; or a call
    /// has a value here, whatever is called.
    fn is_expression(&self, hole: &Hole<'_>, env: &Env<'_>) -> bool {
        let is_called = |it: &str| self.is_function(it, env) || self.names.library.contains_key(it);
        let speaks_of_value =
            || hole.rest.contains('(') && words(hole.rest).any(|it| self.is_value(it, env));
        match hole.rest.starts_with('(') {
            true => is_called(hole.name) || speaks_of_value(),
            false => self.is_value(hole.name, env) || speaks_of_value(),
        }
    }

    fn is_value(&self, name: &str, env: &Env<'_>) -> bool {
        let declared = self.names.named.get(&(env.file, name));
        name == "it" && env.is_in_record()
            || env.scopes.iter().any(|it| it.find(name).is_some())
            || declared.is_some_and(|it| !matches!(it.kind, DeclarationKind::Pipeline(_)))
    }

    /// What is written for it between `+`; none where it is no text, as far as can be seen.
    fn as_value(&self, hole: &Hole<'_>, env: &Env<'_>) -> Option<String> {
        let inner = hole.inner.trim();
        let known = env.scopes.iter().rev().find_map(|it| it.find(hole.name));
        let is_untyped = match known {
            Some(Val::Expr(id)) => matches!(self.graph.ty(*id), Type::Untyped(_)),
            _ => false,
        };
        match hole.rest.chars().next()? {
            '[' if is_untyped => Some(format!("({inner} as str)")),
            '(' | '[' | '.' => Some(inner.to_owned()),
            _ => None,
        }
    }
}

/// What stands between braces in a text and begins with a name, but is none alone.
fn holes(text: &str) -> Vec<Hole<'_>> {
    let mut all = Vec::new();
    if !text.starts_with('"') {
        return all;
    }
    let mut at = 0;
    while let Some(start) = text[at..].find('{').map(|it| at + it) {
        // `{{` is a brace that is meant as one.
        if text[start + 1..].starts_with('{') {
            at = start + 2;
            continue;
        }
        at = start + 1;
        let Some(len) = text[at..].find('}') else { break };
        let inner = &text[at..at + len];
        if let Some((name, rest)) = begins(inner) {
            let end = at + len + 1;
            all.push(Hole { start, end, inner, name, rest });
            at = end;
        }
    }
    all
}

/// The name that an expression begins with, and what stands behind; none where it cannot be an expression,
/// such as `jpg,png`, or is a name alone.
fn begins(inner: &str) -> Option<(&str, &str)> {
    let trimmed = inner.trim();
    let len = trimmed.find(|it: char| !is_of_name(it)).unwrap_or(trimmed.len());
    let (name, rest) = trimmed.split_at(len);
    let first = name.chars().next()?;
    let rest = rest.trim_start();
    let is_name_alone = rest.is_empty() && trimmed.len() == inner.len();
    let mut depth = 0_i32;
    let has_comma = rest.chars().any(|it| {
        depth += i32::from("([".contains(it)) - i32::from(")]".contains(it));
        it == ',' && depth == 0
    });
    let goes_on = rest.chars().next().is_none_or(|it| "([.+-*/%:!".contains(it));
    let is_one = !first.is_ascii_digit() && goes_on && !has_comma && !is_name_alone;
    is_one.then_some((name, rest))
}

/// The names, and the numbers, in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !is_of_name(it)).filter(|it| !it.is_empty())
}

fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// The pieces of a text and the values between them, put together with `+`.
fn joined(text: &str, holes: &[Hole<'_>], values: &[String]) -> String {
    let (mut pieces, mut at) = (Vec::new(), 1);
    let piece = |pieces: &mut Vec<String>, from: usize, to: usize| {
        if from < to {
            pieces.push(format!("\"{}\"", &text[from..to]));
        }
    };
    for (hole, value) in holes.iter().zip(values) {
        piece(&mut pieces, at, hole.start);
        pieces.push(value.clone());
        at = hole.end;
    }
    piece(&mut pieces, at, text.len() - 1);
    pieces.join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_an_expression_is_looked_at() {
        for (inner, name) in [
            ("row['a']", Some("row")),
            ("stem(path)", Some("stem")),
            ("pad(a, 3)", Some("pad")),
            ("it.path", Some("it")),
            ("i:03", Some("i")),
            (" path ", Some("path")),
            ("i + 1", Some("i")),
            ("path", None),
            ("jpg,png", None),
            ("a.jpg,b.jpg", None),
            ("000..099", None),
            ("", None),
        ] {
            assert_eq!(begins(inner).map(|it| it.0), name, "{inner}");
        }
    }
}
