//! `pipec doc`: the documentation of a name in the terminal, or all names by subject.

use super::{explain, print_json};
use crate::{Exit, args::DocArgs, talk::Talk};
use driver::reference::{Found, Topic, find, topics};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Columns of text that is read easily.
const WIDTH: usize = 88;

/// Prints what `args` names.
pub(super) fn run(args: &DocArgs, talk: &Talk) -> io::Result<Exit> {
    let Some(name) = &args.name else { return listed(args.json) };
    let text = match find(name) {
        Found::Topics(all) if args.json => return print_json(&all).map(|()| Exit::Fine),
        Found::Topics(all) => all.iter().map(topic).collect::<Vec<_>>().join("\n"),
        Found::Code(code) if args.json => return print_json(code).map(|()| Exit::Fine),
        Found::Code(code) => explain::story(code),
        Found::Later(what) => format!("{}\n", explain::wrapped(what, WIDTH).trim_end()),
        Found::Foreign(row) => {
            let text = format!("`{name}` is a name of {}. Here, {}.", row.from, row.help);
            explain::wrapped(&text, WIDTH)
        }
        Found::Nothing(near) => {
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`pipec doc` lists all there is".to_owned(),
            };
            talk.error(&format!("there is nothing called `{name}`"), Some(&help));
            return Ok(Exit::Usage);
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Fine)
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
        text += &format!("\nCost: {cost}, assumed until `pipec profile` measures it.\n");
    }
    text
}

/// Paragraphs in lines of a width that is read easily; programs as they are, set in.
fn markdown(doc: &str) -> String {
    let mut text = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut is_program = false;
    for line in doc.lines().chain([""]) {
        if line.starts_with("```") || (!is_program && line.is_empty()) {
            if !paragraph.is_empty() {
                text += &explain::wrapped(&paragraph.join(" "), WIDTH);
                paragraph.clear();
            }
            if line.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            is_program ^= line.starts_with("```");
        } else if is_program {
            let _ = writeln!(text, "    {line}");
        } else {
            paragraph.push(line);
        }
    }
    format!("{}\n", text.trim_end())
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
    fn long_texts_are_clipped_between_words() {
        assert_eq!(clipped("as it is", 8), "as it is");
        assert_eq!(clipped("one, two, three", 11), "one, two…");
    }
}
