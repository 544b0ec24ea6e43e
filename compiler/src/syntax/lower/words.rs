//! Numbers and texts.

use pest::iterators::Pair;

use super::{Lower, Rule, optional, parts, the};
use crate::ast::{ExprKind, Number, Part, Text, Unit, Value};
use crate::errors::syntax as errors;

impl Lower<'_> {
    /// A number with its unit.
    pub(super) fn quantity(&self, pair: Pair<'_, Rule>) -> ExprKind {
        let span = self.span(&pair);
        let mut parts = parts(pair);
        let text = the(&mut parts, Rule::number).as_str().to_owned();
        let Some(value) = number(&text) else {
            self.say(errors::number_range(&text, span));
            return ExprKind::Broken;
        };
        let Some(suffix) = optional(&mut parts, Rule::unit) else {
            return ExprKind::Number(Number { text, value, unit: None });
        };
        let unit = Unit::named(suffix.as_str());
        if unit.is_none() {
            self.say(errors::unknown_unit(&text, suffix.as_str(), self.span(&suffix)));
            return ExprKind::Broken;
        }
        ExprKind::Number(Number { text, value, unit })
    }

    pub(super) fn string(&self, pair: Pair<'_, Rule>) -> ExprKind {
        let text = pair.as_str().to_owned();
        ExprKind::Str { text, parts: self.pieces(pair) }
    }

    /// A text in which nothing may be filled in.
    pub(super) fn text(&self, pair: Pair<'_, Rule>) -> Text {
        let written = parts(pair).next().expect("a text is a string or a literal");
        let span = self.span(&written);
        let text = written.as_str().to_owned();
        let mut value = String::new();
        for part in self.pieces(written) {
            match part {
                Part::Chunk(chunk) => value.push_str(&chunk),
                Part::Hole(name) => self.say(errors::hole(&name.text, name.span)),
            }
        }
        Text { text, value, span }
    }

    fn pieces(&self, pair: Pair<'_, Rule>) -> Vec<Part> {
        if pair.as_rule() == Rule::literal {
            let text = pair.as_str();
            let inner = text[1..text.len() - 1].to_owned();
            return if inner.is_empty() { Vec::new() } else { vec![Part::Chunk(inner)] };
        }
        let mut pieces = Vec::new();
        for part in parts(pair) {
            match part.as_rule() {
                Rule::hole => {
                    let name = the(&mut parts(part), Rule::name);
                    pieces.push(Part::Hole(self.name(&name)));
                }
                Rule::brace => push(&mut pieces, "{"),
                Rule::escape => self.escape(&part, &mut pieces),
                _ => push(&mut pieces, part.as_str()),
            }
        }
        pieces
    }

    fn escape(&self, pair: &Pair<'_, Rule>, pieces: &mut Vec<Part>) {
        let text = pair.as_str();
        match &text[1..] {
            "n" => push(pieces, "\n"),
            "t" => push(pieces, "\t"),
            "\"" | "\\" => push(pieces, &text[1..]),
            _ => {
                let digits = text[1..].trim_matches(['u', '{', '}']);
                let found = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                match found {
                    Some(it) => push(pieces, it.encode_utf8(&mut [0; 4])),
                    None => self.say(errors::no_character(text, self.span(pair))),
                }
            }
        }
    }
}

fn push(pieces: &mut Vec<Part>, text: &str) {
    match pieces.last_mut() {
        Some(Part::Chunk(chunk)) => chunk.push_str(text),
        _ => pieces.push(Part::Chunk(text.to_owned())),
    }
}

/// The value of a number; none if it is larger than any number of its kind.
fn number(text: &str) -> Option<Value> {
    let digits = text.replace('_', "");
    if digits.contains(['.', 'e', 'E']) {
        return digits.parse().ok().filter(|it: &f64| it.is_finite()).map(Value::Float);
    }
    digits.parse().ok().map(Value::Int)
}
