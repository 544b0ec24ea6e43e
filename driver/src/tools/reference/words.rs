//! The words of the language, and the types, with a text and an example each.

use super::Topic;

/// Name, form, text, example.
static WORDS: &[(&str, &str, &str, &str)] = &[
    (
        "map",
        "stream |> map record",
        "Makes each record of the one before: it has the fields that are named, and no others.",
        "range(9) |> map { x: f32(i) * 0.5 }",
    ),
    (
        "with",
        "stream |> with record",
        "Adds fields to each record; those that are there stay, or are replaced.",
        "range(9) |> with { x: f32(i) * 0.5 }",
    ),
    (
        "where",
        "stream |> where condition",
        "Keeps the records for which the condition holds.",
        "range(9) |> where i % 2 == 1",
    ),
    (
        "flat_map",
        "stream |> flat_map list",
        "Makes several records of each: one for each record of the list.",
        "range(3) |> flat_map [{ x: i }, { x: i + 100 }]",
    ),
    (
        "else",
        "value else other, stream else skip",
        "Says what becomes of what fails: another value in its place, or `skip`, `another`, `fail` for the record. Behind a \
      stream it is for all steps to its left that say nothing themselves.",
        "range(9) |> map { x: 7 % i else 0 }",
    ),
    (
        "skip",
        "… else skip(most: share)",
        "Leaves a record out that fails. `most` is the share of the records that may be lost in an epoch.",
        "range(9) |> map { x: 7 % i } else skip(most: 0.5)",
    ),
    (
        "another",
        "… else another(most: share)",
        "Takes another record of the source in the place of one that fails, drawn at random, so that the number of records stays \
      the same. `most` is the share of the records that may be replaced in an epoch.",
        "range(9) |> map { x: 7 % i } else another(most: 0.5)",
    ),
    (
        "fail",
        "… else fail",
        "Ends the run at a record that fails, which is what happens without an `else`.",
        "range(9) |> map { x: i // 2 else fail }",
    ),
    (
        "it",
        "it, it.field",
        "The whole record, within `map`, `with`, `where` and `flat_map`; `it.name` is always the field.",
        "range(9) |> map { x: it.i * 2 }",
    ),
    (
        "epoch",
        "epoch",
        "The number of the pass over the data, from 0.",
        "range(9) |> map { x: i + epoch }",
    ),
    (
        "one_of",
        "one_of([a, b, …])",
        "One element of a list, drawn at random, each as often.",
        "range(9) |> map { x: one_of([1, 2, 3]) }",
    ),
    (
        "edition",
        "edition 2026",
        "Says which edition of the language a file is written in; it stands at the head, once.",
        "",
    ),
    (
        "param",
        "param name: type = default",
        "A value that is set when the program is run: `--set name=value`. Without a default it must be set.",
        "",
    ),
    ("const", "const NAME = value", "A value that is known before the run.", ""),
    (
        "fn",
        "fn name(parameters) = value",
        "A function: one expression, expanded where it is called.",
        "",
    ),
    (
        "extern",
        "extern fn name(a: type) -> type = \"module:function\"",
        "Declares a function in Python. `pure` ones give the same for the same arguments, and have a version: \"module:function@1\".",
        "",
    ),
    (
        "pipeline",
        "pipeline name = stream",
        "A stream of records: a source and steps behind it. With parameters it is called.",
        "",
    ),
    ("use", "use name, name from \"file.pipe\"", "Takes in what another file declares.", ""),
    ("from", "use name from \"file.pipe\"", "Stands before the file of a `use`.", ""),
    (
        "if",
        "if condition then a else b",
        "One of two values; both have the same type. Only the one that is needed is computed.",
        "range(9) |> map { x: if i > 3 then i else 0 }",
    ),
    (
        "then",
        "if condition then a else b",
        "Stands before the value of an `if` whose condition holds.",
        "range(9) |> map { x: if i > 3 then i else 0 }",
    ),
    (
        "for",
        "[value for name in list]",
        "Makes a list, an element for each of another one.",
        "range(9) |> map { x: [i * k for k in [1, 2, 3]] }",
    ),
    (
        "in",
        "value in low..high, value in [a, b]",
        "Whether a value lies in an interval, both ends included, or is one of a list.",
        "range(9) |> where i in 3..5",
    ),
    (
        "and",
        "a and b",
        "Whether both hold; the second is computed only where the first does.",
        "range(9) |> where i > 2 and i < 6",
    ),
    (
        "or",
        "a or b",
        "Whether one of both holds; the second is computed only where the first does not.",
        "range(9) |> where i < 2 or i > 6",
    ),
    ("not", "not a", "Whether it does not hold.", "range(9) |> where not i in [3, 5]"),
    (
        "as",
        "value as type",
        "Says what untyped data are, such as those of JSON. A value that has a type is cast by a call: `f32(x)`.",
        "range(9) |> map { x: parse_json(\"[1, 2]\") as i64[2] }",
    ),
    ("true", "true", "The truth value.", "range(9) |> map { x: true }"),
    ("false", "false", "The other truth value.", "range(9) |> map { x: false }"),
    (
        "each",
        "name: each type",
        "Marks a parameter of an operator that is evaluated for each record: `batch(8, by: len(ids))`.",
        "",
    ),
    (
        "random",
        "name(…) random -> type",
        "An effect: the function draws, a number of its own for each record, epoch and place of its call.",
        "",
    ),
    (
        "fails",
        "name(…) fails -> type",
        "An effect: the function may fail for a record, which `else` takes.",
        "",
    ),
    ("reads", "name(…) reads -> type", "An effect: the function reads files.", ""),
    (
        "pure",
        "extern fn name(…) pure -> type = \"module:function@1\"",
        "An effect of a function in Python: it gives the same for the same arguments, so its results may be kept.",
        "",
    ),
];

/// A topic for each word.
pub(super) fn topics() -> impl Iterator<Item = Topic> {
    WORDS.iter().map(|&(name, head, text, example)| {
        let example =
            if example.is_empty() { String::new() } else { format!("\n\n```pipe\n{example}\n```") };
        Topic {
            name: name.to_owned(),
            subject: "Words of the language".to_owned(),
            head: head.to_owned(),
            doc: format!("{text}{example}"),
            cost: None,
        }
    })
}

/// What values of a dtype are.
pub(super) fn dtype(name: &str) -> &'static str {
    match name {
        "str" => "Text in UTF-8. `batch` makes a column of texts of it, on which nothing computes.",
        "bytes" => "Bytes as they were read, such as those of a file.",
        "bool" => "Truth values, a byte each.",
        "f16" => "Floats of 16 bits (IEEE 754 half precision).",
        "bf16" => "Floats of 16 bits with the range of `f32` (bfloat16).",
        "f32" => "Floats of 32 bits.",
        "f64" => "Floats of 64 bits.",
        "u8" => "Whole numbers from 0 to 255; small integers do no arithmetic: cast them first.",
        "u16" => {
            "Whole numbers from 0 to 65,535; small integers do no arithmetic: cast them first."
        }
        "u32" => "Whole numbers from 0 to 4,294,967,295.",
        "u64" => "Whole numbers from 0 to 2 ** 64 - 1.",
        "i8" => "Whole numbers from -128 to 127; small integers do no arithmetic: cast them first.",
        "i16" => {
            "Whole numbers from -32,768 to 32,767; small integers do no arithmetic: cast them first."
        }
        "i32" => "Whole numbers of 32 bits, with a sign.",
        _ => "Whole numbers of 64 bits, with a sign.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{compile::Settings, load::Loaded};
    use std::path::Path;

    #[test]
    fn examples_are_programs() {
        for (name, _, _, example) in WORDS.iter().filter(|it| !it.3.is_empty()) {
            let loaded =
                Loaded::from_text(Path::new("x.pipe"), format!("pipeline p = {example}\n"));
            let found = crate::session::compile::check(&loaded, &Settings::default());
            assert!(
                !loaded.is_broken() && found.is_empty(),
                "{name}: {:?} {found:?}",
                loaded.diagnostics
            );
        }
    }
}
