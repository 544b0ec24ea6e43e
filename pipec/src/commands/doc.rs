//! `pipec doc`: the documentation of a name in the terminal, or all names by subject.

use super::{explain, print_json};
use crate::{Exit, args::DocArgs, talk::Talk};
use driver::migration::{Place, Row};
use driver::reference::{Found, Parameter, Topic, find, parameters, topics};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Columns of text that is read easily.
const WIDTH: usize = 88;
/// What an item of a list begins with.
const ITEM: &str = "- ";
/// Names that an answer lists where nothing is called as asked.
const NAMED_MAX: usize = 8;
/// Calls whose parameters of one name are described one by one.
const ARGUMENTS_MAX: usize = 4;

/// Prints what `args` names.
pub(super) fn run(args: &DocArgs, talk: &Talk) -> io::Result<Exit> {
    let Some(name) = &args.name else { return listed(args.json) };
    let text = match find(name) {
        Found::Topics(all) if args.json => return print_json(&all).map(|()| Exit::Fine),
        Found::Topics(all) => all.iter().map(topic).collect::<Vec<_>>().join("\n"),
        Found::Code(code) if args.json => return print_json(code).map(|()| Exit::Fine),
        Found::Code(code) => explain::story(code),
        Found::Later(what) => format!("{}\n", explain::wrapped(what, WIDTH).trim_end()),
        Found::Fault(kind) if args.json => return print_json(kind).map(|()| Exit::Fine),
        Found::Fault(kind) => explain::of_fault(kind),
        Found::Parameters(all) if args.json => return print_json(&all).map(|()| Exit::Fine),
        Found::Parameters(all) => arguments(name, &all),
        Found::Foreign(rows) => {
            let mut texts: Vec<String> = rows.iter().map(|it| foreign(name, it)).collect();
            texts.extend(
                Some(arguments(name, &parameters(name, &topics()))).filter(|it| !it.is_empty()),
            );
            texts.join("\n")
        }
        Found::Nothing(near) => {
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    mentioned(name).unwrap_or_else(|| "`pipec doc` lists everything".to_owned())
                }
            };
            talk.error(&format!("cannot find `{name}` in the documentation"), Some(&help));
            return Ok(Exit::Usage);
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Fine)
}

/// A name of another library, and what is written here.
fn foreign(name: &str, row: &Row) -> String {
    let text = match row.place {
        Place::ArgumentOf(call) => {
            format!(
                "`{name}` is an argument of {}. In pipec, for `{call}`: {}.",
                row.from, row.help
            )
        }
        _ => format!("`{name}` is a name of {}. In pipec: {}.", row.from, row.help),
    };
    explain::wrapped(&text, WIDTH)
}

/// What has a parameter called `name`, and, where that is not half the library, what each says of it.
fn arguments(name: &str, all: &[Parameter]) -> String {
    let names: Vec<String> = all.iter().map(|it| format!("`{}`", it.of.name)).collect();
    let Some((last, others)) = names.split_last() else { return String::new() };
    let names = match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    let mut text = explain::wrapped(&format!("`{name}` is an argument of {names}."), WIDTH);
    for it in all.iter().filter(|_| all.len() <= ARGUMENTS_MAX) {
        text.push('\n');
        for line in explain::wrapped(&it.of.head, WIDTH - 8).lines() {
            let _ = writeln!(text, "    {line}");
        }
        if !it.said.is_empty() {
            text += &format!("\n{}", markdown(&it.said.join("\n\n")));
        }
    }
    let of = if let [it] = all { &it.of.name } else { "NAME" };
    text + &format!("\n`pipec doc {of}` has the rest.\n")
}

/// All names by subject, with what each does.
fn listed(json: bool) -> io::Result<Exit> {
    let all = topics();
    if json {
        return print_json(&all).map(|()| Exit::Fine);
    }
    let widest = all.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut subject = "";
    for it in &all {
        if it.subject != subject {
            let gap = if subject.is_empty() { "" } else { "\n" };
            subject = &it.subject;
            text += &format!("{gap}{subject}\n");
        }
        let summary = clipped(it.summary(), WIDTH + 8 - widest);
        let _ = writeln!(text, "  {:<widest$}  {summary}", it.name);
    }
    text += "\n`pipec doc NAME` shows one of them.\n";
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Fine)
}

/// What speaks of `word`, where nothing is called so.
fn mentioned(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let is_said = |text: &str| {
        let text = text.to_lowercase();
        text.split(|it: char| !it.is_alphanumeric())
            .any(|it| it.strip_prefix(&word).is_some_and(|end| matches!(end, "" | "s" | "es")))
    };
    let all = topics();
    let names: Vec<String> = all
        .iter()
        .filter(|it| is_said(&it.doc))
        .take(NAMED_MAX)
        .map(|it| format!("`{}`", it.name))
        .collect();
    (!names.is_empty()).then(|| format!("mentioned by {}", names.join(", ")))
}

/// The beginning of a text that is too long.
fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let begun: String = text.chars().take(width - 1).collect();
    let end = begun.rfind(' ').unwrap_or(begun.len());
    format!("{}…", begun[..end].trim_end_matches([',', ':', ';']))
}

/// Signature, text, example and cost of a name.
fn topic(it: &Topic) -> String {
    let mut text = format!("{} ({})\n\n", it.name, it.subject);
    for line in explain::wrapped(&it.head, WIDTH - 8).lines() {
        let _ = writeln!(text, "    {line}");
    }
    text.push('\n');
    text += &markdown(&it.doc);
    if let Some(cost) = &it.cost {
        text += &format!("\nCost: {cost}, a default until `pipec profile` measures it.\n");
    }
    text
}

/// Paragraphs in lines of a width that is read easily; programs as they are, set in.
fn markdown(doc: &str) -> String {
    let mut text = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut is_program = false;
    for line in doc.lines().chain([""]) {
        let is_item = !is_program && line.starts_with(ITEM);
        if line.starts_with("```") || (!is_program && line.is_empty()) || is_item {
            text += &paragraph_of(&paragraph);
            paragraph.clear();
            if is_item {
                paragraph.push(line);
                continue;
            }
            if line.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            is_program ^= line.starts_with("```");
        } else if is_program {
            let _ = writeln!(text, "    {line}");
        } else {
            paragraph.push(line.trim_start());
        }
    }
    format!("{}\n", text.trim_end())
}

/// Lines that belong together, in others of a width that is read easily; those of an item of a list below its
/// first word.
fn paragraph_of(lines: &[&str]) -> String {
    let Some(text) = lines.first() else { return String::new() };
    if !text.starts_with(ITEM) {
        return explain::wrapped(&lines.join(" "), WIDTH);
    }
    let text = lines.join(" ");
    let indent = " ".repeat(ITEM.len());
    let all = explain::wrapped(&text[ITEM.len()..], WIDTH - ITEM.len());
    let begins = |i: usize| if i == 0 { ITEM } else { &indent };
    all.lines().enumerate().map(|(i, it)| format!("{}{it}\n", begins(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_programs_are_not() {
        let doc = "One\ntwo.\n\nThree.\n\n```pipe\nrange(3)   # as it is\n```";
        assert_eq!(markdown(doc), "One two.\n\nThree.\n\n    range(3)   # as it is\n");
    }

    #[test]
    fn items_of_a_list_stand_apart() {
        let long = "word ".repeat(20);
        let doc = format!("These:\n\n- `a`: one\n  and more\n- `b`: {long}\n\nAfter.");
        let text = markdown(&doc);
        assert!(text.starts_with("These:\n\n- `a`: one and more\n- `b`: word"), "{text}");
        assert!(text.contains(" word\n  word"), "{text}");
        assert!(text.ends_with("\n\nAfter.\n"), "{text}");
    }

    #[test]
    fn long_texts_are_clipped_between_words() {
        assert_eq!(clipped("as it is", 8), "as it is");
        assert_eq!(clipped("one, two, three", 11), "one, two…");
    }
}
