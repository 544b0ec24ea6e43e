//! The parameters of functions, operators and sources, as a person looks them up by name.

use super::Topic;
use serde::Serialize;

/// A parameter of something that is called.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// What is called.
    pub of: Topic,
    /// The paragraphs of its text that speak of the parameter.
    pub said: Vec<String>,
}

/// What has a parameter of this name.
#[must_use]
pub fn parameters(name: &str, topics: &[Topic]) -> Vec<Parameter> {
    let has = |it: &&Topic| {
        it.subject != "Keywords of the language"
            && it.subject != "Types"
            && names(&it.head).any(|it| it == name)
    };
    let of = |it: &Topic| Parameter { of: it.clone(), said: paragraphs(&it.doc, name) };
    topics.iter().filter(has).map(of).collect()
}

/// The names of the parameters in a signature: `f(a: int, b: [int; 2] = [1, 2]) -> i64` has `a` and `b`.
fn names(signature: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut from) = (0_usize, None);
    let mut all = Vec::new();
    for (at, letter) in signature.char_indices() {
        match letter {
            '(' | '[' | '{' => {
                depth += 1;
                from = from.or((depth == 1).then_some(at + 1));
            }
            ',' if depth == 1 => {
                all.extend(from.replace(at + 1).map(|it| signature[it..at].trim()));
            }
            ')' | ']' | '}' if depth != 1 => depth = depth.saturating_sub(1),
            ':' | '=' | ')' if depth == 1 => {
                all.extend(from.take().map(|it| signature[it..at].trim()));
            }
            _ => {}
        }
        if depth == 1 && letter == ')' {
            break;
        }
    }
    all.into_iter()
}

/// The paragraphs of a text, without its programs, in which `name` stands in backquotes or before its value there.
fn paragraphs(doc: &str, name: &str) -> Vec<String> {
    let is_said = |text: &str| {
        text.split('`').skip(1).step_by(2).any(|it| {
            let rest = it.strip_prefix(name);
            rest.is_some_and(|it| it.is_empty() || it.starts_with(':'))
        })
    };
    let programs_apart = doc.split("```").step_by(2);
    let all = programs_apart.flat_map(|it| it.split("\n\n"));
    all.filter(|it| is_said(it)).map(|it| it.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_signature() {
        let of = |it| names(it).collect::<Vec<_>>();
        assert_eq!(
            of("f(a: int, b: floats = [1, 2], c = f(x: 1)) fails -> f32[n: 3]"),
            ["a", "b", "c"]
        );
        assert_eq!(of("f(x, by = 2, y)"), ["x", "by", "y"]);
        assert_eq!(of("stream |> map record"), [""; 0]);
    }

    #[test]
    fn only_what_speaks_of_it_is_shown() {
        let doc = "One.\n\n`by: x` is\nit.\n\n```pipe\nf(`by`)\n```\n\nWith `bye`.";
        assert_eq!(paragraphs(doc, "by"), ["`by: x` is\nit."]);
    }
}
