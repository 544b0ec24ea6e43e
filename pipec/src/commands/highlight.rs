//! `pipec highlight`: what each word of a program is.

use super::print_json;
use crate::{Exit, args::HighlightArgs, messages, talk::Talk};
use driver::{HighlightKind as Kind, Unreadable};
use plan::escaped;
use serde::Serialize;
use std::{
    io::{self, Write},
    path::Path,
};

/// A word for machines; bytes of the file.
#[derive(Serialize)]
struct Word<'a> {
    kind: &'static str,
    start: u32,
    end: u32,
    text: &'a str,
}

/// Prints the program in colours, or its words as JSON.
pub(super) fn run(args: &HighlightArgs, talk: &Talk) -> io::Result<Exit> {
    let from_stdin = args.file == Path::new("-");
    let read = if from_stdin { driver::text(io::stdin()) } else { driver::read_text(&args.file) };
    let text = match read {
        Ok(text) => text,
        Err(why) => {
            let path =
                if from_stdin { "stdin".to_owned() } else { args.file.display().to_string() };
            return Ok(messages::unreadable(talk, &Unreadable { path, why, help: None }));
        }
    };
    let words = driver::highlight(&text);
    if args.json {
        let word = |(span, kind): &(plan::Span, Kind)| Word {
            kind: name(*kind),
            start: span.start,
            end: span.end,
            text: span.text(&text),
        };
        print_json(&words.iter().map(word).collect::<Vec<_>>())?;
        return Ok(Exit::Fine);
    }
    let (mut out, mut at) = (io::stdout().lock(), 0);
    for (span, kind) in words {
        let before = escaped(&text[at..span.start as usize]);
        let (word, colour) =
            (escaped(span.text(&text)), if talk.color { colour(kind) } else { "" });
        match colour {
            "" => write!(out, "{before}{word}")?,
            colour => write!(out, "{before}\x1b[{colour}m{word}\x1b[0m")?,
        }
        at = span.end as usize;
    }
    out.write_all(escaped(&text[at..]).as_bytes())?;
    Ok(Exit::Fine)
}

/// The name of a kind, which stays.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Keyword => "keyword",
        Kind::Definition => "definition",
        Kind::Call => "call",
        Kind::Field => "field",
        Kind::Argument => "argument",
        Kind::Name => "name",
        Kind::Type => "type",
        Kind::Number => "number",
        Kind::Text => "text",
        Kind::Hole => "hole",
        Kind::Comment => "comment",
        Kind::Doc => "doc",
        Kind::Sign => "sign",
        Kind::Unknown => "unknown",
    }
}

/// The colour of a kind, as a terminal is told.
fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Keyword => "35",
        Kind::Definition => "1",
        Kind::Call => "34",
        Kind::Field | Kind::Argument => "36",
        Kind::Type => "33",
        Kind::Number => "31",
        Kind::Text => "32",
        Kind::Hole => "1;32",
        Kind::Comment | Kind::Doc => "2",
        Kind::Unknown => "4;31",
        Kind::Name | Kind::Sign => "",
    }
}
