//! What is wrong with a text before its grammar: comments of other languages, characters that no word has,
//! texts without an end.

use std::ops::Range;

use plan::{Diagnostic, Span};

use super::pieces::{OPENERS, ends_operand};
use super::tokens::{self, Fault, Token, TokenKind};
use crate::errors::syntax as errors;

/// A comment that is none here, and what makes it one in as many bytes.
pub(super) struct ForeignComment {
    pub(super) at: Range<usize>,
    pub(super) replacement: &'static str,
    pub(super) message: fn(Span) -> Diagnostic,
}

/// All comments that begin with `//`, and all doc comments that stand behind something.
pub(super) fn foreign_comments(text: &str) -> Vec<ForeignComment> {
    let (tokens, faults) = tokens::tokens(text);
    let unclosed: Vec<usize> =
        faults.iter().filter(|it| it.0 == Fault::Unclosed).map(|it| it.1).collect();
    let mut found: Vec<ForeignComment> = Vec::new();
    let mut past = 0;
    for (at, token) in tokens
        .iter()
        .enumerate()
        .filter(|(_, it)| it.kind == TokenKind::Doc || it.kind == TokenKind::Sign)
    {
        if token.start < past {
            continue;
        }
        let two = token.start..token.start + 2;
        if token.kind == TokenKind::Doc && !token.first {
            found.push(ForeignComment { at: two, replacement: "# ", message: errors::doc_place });
        } else if token.of(text) == "//" && comments(text, &tokens, at, &unclosed) {
            found.push(ForeignComment {
                at: two,
                replacement: "#/",
                message: errors::slash_comment,
            });
            past = text[token.start..].find('\n').map_or(text.len(), |len| token.start + len);
        }
    }
    found
}

/// Whether the `//` cannot divide: there is nothing to divide or to divide by, two words follow, or a text
/// that does not end (`// don't`).
fn comments(text: &str, tokens: &[Token], at: usize, unclosed: &[usize]) -> bool {
    let start = tokens[at].start;
    let end = text[start..].find('\n').map_or(text.len(), |len| start + len);
    let divided =
        tokens[..at].iter().rfind(|it| !it.is_comment()).is_some_and(|it| ends_operand(text, it));
    let worded =
        |n: usize| tokens.get(at + n).is_some_and(|it| it.kind == TokenKind::Word && it.end <= end);
    let next = tokens.get(at + 1).map_or("", |it| it.of(text));
    let opener = OPENERS.contains(&next) || next.is_empty();
    let quoted =
        unclosed.get(unclosed.partition_point(|it| *it < start)).is_some_and(|it| *it < end);
    !divided || opener || worded(1) && worded(2) || quoted
}

/// A fault, what is said about it, and what was probably meant.
pub(super) struct Stray {
    pub(super) message: Diagnostic,
    pub(super) meant: Option<String>,
}

/// What is said about a fault that reads `text`.
pub(super) fn found(fault: Fault, text: &str, span: Span) -> Stray {
    match fault {
        Fault::Unclosed => Stray { message: errors::unclosed_text(text, span), meant: None },
        Fault::Escape => {
            let meant = format!("\\{text}");
            Stray {
                message: errors::unknown_escape(text, span).fix(span, &meant),
                meant: Some(meant),
            }
        }
        Fault::Stray if text == ";" => {
            Stray { message: errors::semicolon(span), meant: Some(" ".to_owned()) }
        }
        Fault::Stray => {
            let meant = MEANT.iter().find(|it| it.0.contains(text)).map(|it| it.1);
            Stray {
                message: errors::stray_character(text, meant, span),
                meant: meant.map(str::to_owned),
            }
        }
    }
}

/// Characters that word processors and other languages put in the place of ours.
static MEANT: [(&str, &str); 10] = [
    ("“”„«»", "\""),
    ("‘’‚`", "'"),
    ("–—−", "-"),
    ("×·", "*"),
    ("÷", "/"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("…", ".."),
    ("\u{a0}\u{feff}\u{200b}\u{3000}\u{2003}\u{c}", " "),
];
