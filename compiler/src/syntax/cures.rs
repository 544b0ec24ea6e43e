//! What a person meant where the grammar stops.
//!
//! A cure looks at the place and says what is wrong; most also change the text, so that the rest can be read.
//! A change is believed only if the grammar gets further with it.

mod python;
mod slip;

pub(super) use slip::Slip;

use plan::Diagnostic;

use super::lower::Piece;
use super::origin::{Edit, Origin};
use super::parser::Rule;
use super::pieces::{OPENERS, ends_operand};
use super::tokens::{self, Token, TokenKind};
use crate::ast::{
    Const, Declaration, DeclarationKind, Expr, Extern, Function, Name, Param, Pipeline, Signature,
    Text, Unit, Use,
};
use crate::{errors::syntax as errors, migration};

/// What is said of a mistake, and the change with which reading goes on.
pub(super) struct Cure {
    message: Diagnostic,
    edit: Option<Edit>,
    /// The change is what was meant, not just a way to read on.
    offered: bool,
}

impl Cure {
    /// The change is what was meant.
    fn offered(message: Diagnostic, edit: Edit) -> Option<Self> {
        Some(Self { message, edit: Some(edit), offered: true })
    }

    /// The change is a way to read on.
    fn guessed(message: Diagnostic, edit: Edit) -> Option<Self> {
        Some(Self { message, edit: Some(edit), offered: false })
    }

    /// There is no way to read on.
    fn told(message: Diagnostic) -> Option<Self> {
        Some(Self { message, edit: None, offered: false })
    }
}

/// All cures. What is surer stands first: a cure that only tells is always believed.
static CURES: [fn(&Slip<'_>) -> Option<Cure>; 35] = [
    python::def,
    python::import,
    no_declaration,
    doc_place,
    python::slash_comment,
    python::quoted_hole,
    python::equals,
    python::comparison_chain,
    python::lambda,
    python::signs,
    python::exclamation,
    python::text_prefix,
    python::bare_point,
    python::trailing_point,
    python::quoted_field,
    python::module_call,
    python::method_stage,
    python::method_call,
    python::comprehension_filter,
    python::choice,
    python::choice_signs,
    python::is_none,
    python::slice_step,
    python::tuple,
    missing_colon,
    missing_equals,
    python::colon_interval,
    reserved_word,
    unit_apart,
    percent,
    step_elsewhere,
    sign_behind_chain,
    missing_else,
    missing_comma,
    missing_pipe,
];

/// What is said where the grammar stopped, and the change with which reading goes on; `reads_on` tries one.
pub(super) fn mistake(
    slip: &Slip<'_>,
    reads_on: impl Fn(&Edit) -> bool,
) -> (Diagnostic, Option<Edit>) {
    let believed = |it: &Cure| it.edit.as_ref().is_none_or(&reads_on);
    match CURES.iter().filter_map(|cure| cure(slip)).find(believed) {
        Some(Cure { message, edit: Some(edit), offered: true }) => {
            let message = message.fix(slip.origin.span(edit.at.clone()), edit.text.clone());
            (message, Some(edit))
        }
        Some(cure) => (cure.message, cure.edit),
        None => (unexpected(slip), None),
    }
}

/// What is said where no cure is known.
pub(super) fn unexpected(slip: &Slip<'_>) -> Diagnostic {
    let wanted = slip.wanted_words();
    match slip.tokens.get(slip.at) {
        Some(token) => errors::unexpected(token.of(slip.text), &wanted, slip.span(slip.at)),
        None => errors::breaks_off(&wanted, slip.end()),
    }
}

fn no_declaration(slip: &Slip<'_>) -> Option<Cure> {
    let first = slip.tokens.iter().position(|it| it.kind != TokenKind::Doc)?;
    let word = slip.word(first);
    if OPENERS.contains(&word) || slip.at > first + 1 {
        return None;
    }
    let message = errors::no_declaration(word, slip.span(first));
    let instead = |text: &str| Edit::new(slip.bytes(first), text);
    match word {
        "let" | "var" | "val" => Cure::offered(message, instead("const")),
        "func" | "function" => Cure::offered(message, instead("fn")),
        _ if slip.word(first + 1) == "=" => {
            let keyword = if slip.tokens.iter().any(|it| it.of(slip.text) == "|>") {
                "pipeline"
            } else {
                "const"
            };
            Cure::guessed(
                message.help(format!(
                    "write `pipeline {word} = …` for a stream, `const {word} = …` for a value"
                )),
                instead(&format!("{keyword} {word}")),
            )
        }
        _ => Cure::told(message),
    }
}

fn doc_place(slip: &Slip<'_>) -> Option<Cure> {
    // The grammar gives up at the first of several doc lines that describe nothing, or behind the last one.
    let behind = slip.at.checked_sub(1).filter(|_| slip.at == slip.tokens.len());
    let at = [Some(slip.at), behind]
        .into_iter()
        .flatten()
        .find(|it| slip.kind(*it) == Some(TokenKind::Doc))?;
    let signs = slip.bytes(at).start..slip.bytes(at).start + 2;
    Cure::offered(errors::doc_place(slip.origin.span(signs.clone())), Edit::new(signs, "#"))
}

fn unit_apart(slip: &Slip<'_>) -> Option<Cure> {
    let number = slip.at.checked_sub(1).filter(|it| slip.kind(*it) == Some(TokenKind::Number))?;
    Unit::named(slip.here())?;
    let space = slip.bytes(number).end..slip.bytes(slip.at).start;
    let meant = slip.word(number).to_owned() + slip.here();
    Cure::offered(errors::unit_apart(&meant, slip.span(slip.at)), Edit::new(space, ""))
}

/// `skip(most: 1%)`.
fn percent(slip: &Slip<'_>) -> Option<Cure> {
    let number = slip.at.checked_sub(2).filter(|it| slip.kind(*it) == Some(TokenKind::Number))?;
    if slip.back(1) != "%" || !slip.touch(number) {
        return None;
    }
    let percent: f64 = slip.word(number).replace('_', "").parse().ok()?;
    // What dividing loses is not to be seen: `0.1%` is `0.001`.
    let meant = format!("{}", (percent * 1e7).round() / 1e9);
    let change = slip.reach(number..slip.at);
    let message =
        errors::percent(slip.says(number..slip.at), &meant, slip.origin.span(change.clone()));
    Cure::offered(message, Edit::new(change, meant))
}

/// `|> filter x > 3`: a step that other programs have, written without brackets.
fn step_elsewhere(slip: &Slip<'_>) -> Option<Cure> {
    let name = slip.at.checked_sub(1).filter(|it| slip.kind(*it) == Some(TokenKind::Word))?;
    let row = migration::of_name(slip.word(name)).filter(|_| slip.back(2) == "|>")?;
    Cure::told(errors::step_elsewhere(slip.word(name), row.help, slip.span(name)))
}

/// `x |> f() * 2`: what stands behind `|>` is a call, and no operand.
fn sign_behind_chain(slip: &Slip<'_>) -> Option<Cure> {
    let is_sign = matches!(
        slip.here(),
        "*" | "/" | "//" | "%" | "+" | "-" | "<" | ">" | "<=" | ">=" | "==" | "!="
    );
    let start = slip.back_to(slip.at, &[",", ":", "=", "else", "then"]);
    slip.last_in(start..slip.at, "|>").filter(|_| is_sign)?;
    let chain = slip.says(start..slip.at);
    Cure::told(errors::sign_behind_chain(slip.here(), chain, slip.span(slip.at)))
}

fn missing_colon(slip: &Slip<'_>) -> Option<Cure> {
    let named = slip.word(0) == "param" && slip.at == 2 && slip.kind(2) == Some(TokenKind::Word);
    let after = slip.bytes(slip.at.checked_sub(1).filter(|_| named)?).end;
    Cure::offered(errors::missing_colon(slip.after(slip.at - 1)), Edit::new(after..after, ":"))
}

fn missing_equals(slip: &Slip<'_>) -> Option<Cure> {
    let wanted = slip.wanted.contains(&Rule::equals);
    let wrong = matches!(slip.here(), ":" | ":=" | "=>" | "==" | "->");
    let begun = slip.open().is_some() || slip.last_in(0..slip.at, "=").is_some();
    if !(wanted || wrong) || begun || slip.at == 0 || slip.at == slip.tokens.len() {
        return None;
    }
    let after = slip.bytes(slip.at - 1).end;
    if !wrong {
        return Cure::offered(
            errors::missing_equals(None, slip.after(slip.at - 1)),
            Edit::new(after..after, " ="),
        );
    }
    let edit = Edit::new(after..slip.bytes(slip.at).end, " =");
    Cure::offered(errors::missing_equals(Some(slip.here()), slip.span(slip.at)), edit)
}

fn reserved_word(slip: &Slip<'_>) -> Option<Cure> {
    if slip.kind(slip.at) != Some(TokenKind::Keyword) {
        return None;
    }
    let before = slip.at.checked_sub(1).map_or("", |it| slip.word(it));
    let names = matches!(before, "param" | "const" | "fn" | "pipeline" | "for" | ".");
    let named = matches!(before, "(" | "," | "{")
        && matches!(slip.word(slip.at + 1), ":" | "=" | "," | ")" | "}");
    if !names && !named {
        return None;
    }
    let end = slip.bytes(slip.at).end;
    Cure::guessed(errors::reserved_word(slip.here(), slip.span(slip.at)), Edit::new(end..end, "_"))
}

fn missing_else(slip: &Slip<'_>) -> Option<Cure> {
    let start = slip.back_to(slip.at, &[",", "|>", "=", "else"]);
    let choice = slip.last_in(start..slip.at, "if")?;
    slip.last_in(choice..slip.at, "then")?;
    Cure::told(errors::missing_else(slip.span(choice)))
}

fn missing_comma(slip: &Slip<'_>) -> Option<Cure> {
    slip.open()?;
    let before = slip.at.checked_sub(1)?;
    let begins =
        matches!(slip.kind(slip.at)?, TokenKind::Word | TokenKind::Number | TokenKind::Text);
    if !(begins || matches!(slip.here(), "{" | "(" | "["))
        || !ends_operand(slip.text, &slip.tokens[before])
    {
        return None;
    }
    let after = slip.bytes(before).end;
    Cure::offered(errors::missing_comma(slip.after(before)), Edit::new(after..after, ","))
}

/// `files("x") batch(8)`: a step behind a value, outside of brackets.
fn missing_pipe(slip: &Slip<'_>) -> Option<Cure> {
    let before = slip.at.checked_sub(1).filter(|_| slip.open().is_none())?;
    let begins = matches!(slip.kind(slip.at)?, TokenKind::Word | TokenKind::Keyword)
        && (matches!(slip.word(slip.at + 1), "(" | "{" | "[") || slip.here() == "where");
    if !begins || !ends_operand(slip.text, &slip.tokens[before]) {
        return None;
    }
    let at = slip.bytes(slip.at).start;
    Cure::offered(errors::missing_pipe(slip.here(), slip.span(slip.at)), Edit::new(at..at, "|> "))
}

/// What can be said about a piece that was not read: what it declares, and its name.
pub(super) fn broken(piece: &str, origin: &Origin) -> Piece {
    let mut tokens = tokens::words(piece);
    tokens.retain(|it| it.kind != TokenKind::Doc);
    let Some(first) = tokens.first() else { return Piece::Nothing };
    let name = |at: usize| named(piece, origin, tokens.get(at)?);
    let span = origin.span(first.start..tokens[tokens.len() - 1].end);
    let nowhere = span.after();
    let body = Expr::broken(nowhere);
    let head = |name| Signature { name, formals: Vec::new(), effects: Vec::new(), result: None };
    let target = Text { text: String::new(), value: String::new(), span: nowhere };

    let kind = match first.of(piece) {
        "param" => name(1)
            .map(|name| DeclarationKind::Param(Param { name, type_: None, default: Some(body) })),
        "pipeline" => {
            name(1).map(|name| DeclarationKind::Pipeline(Pipeline { name, formals: None, body }))
        }
        "fn" | "def" => {
            name(1).map(|it| DeclarationKind::Fn(Function { signature: head(it), body }))
        }
        "extern" => {
            let is_pipeline = tokens.get(1).is_some_and(|it| it.of(piece) == "pipeline");
            name(2).map(|it| {
                DeclarationKind::Extern(Extern { signature: head(it), target, is_pipeline })
            })
        }
        "const" | "let" => name(1).map(|name| DeclarationKind::Const(Const { name, value: body })),
        "use" => {
            let until = tokens.iter().position(|it| it.of(piece) == "from").unwrap_or(tokens.len());
            let names =
                tokens[1..until.max(1)].iter().filter_map(|it| named(piece, origin, it)).collect();
            Some(DeclarationKind::Use(Use { names, from: target }))
        }
        _ if tokens.get(1).is_some_and(|it| it.of(piece) == "=") => {
            name(0).map(|name| DeclarationKind::Const(Const { name, value: body }))
        }
        _ => None,
    };
    let declared = |kind| Declaration { docs: Vec::new(), kind, span, broken: true };
    kind.map_or(Piece::Nothing, |it| Piece::Declaration(Box::new(declared(it))))
}

fn named(piece: &str, origin: &Origin, token: &Token) -> Option<Name> {
    let word = token.kind == TokenKind::Word;
    word.then(|| Name {
        text: token.of(piece).to_owned(),
        span: origin.span(token.start..token.end),
    })
}
