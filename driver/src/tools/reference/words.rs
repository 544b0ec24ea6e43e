//! The words of the language, and the types, with a text and an example each.

use super::Topic;

/// Name, form, text, example.
static WORDS: &[(&str, &str, &str, &str)] = &[
    (
        "map",
        "stream |> map record",
        "Computes each record from the previous one: it has the listed fields and no others.",
        "range(9) |> map { x: f32(i) * 0.5 }",
    ),
    (
        "with",
        "stream |> with record",
        "Adds fields to each record; existing fields are kept or replaced.",
        "range(9) |> with { x: f32(i) * 0.5 }",
    ),
    (
        "where",
        "stream |> where condition",
        "Keeps the records for which the condition is true.",
        "range(9) |> where i % 2 == 1",
    ),
    (
        "flat_map",
        "stream |> flat_map list",
        "Replaces each record by several: one for each element of the list.",
        "range(3) |> flat_map [{ x: i }, { x: i + 100 }]",
    ),
    (
        "else",
        "value else other, stream else skip",
        "Handles failures: with another value, or with `skip`, `another` or `fail` for the \
         record. After a stream, it applies to all steps to its left that have no `else` of their \
         own.",
        "range(9) |> map { x: 7 % i else 0 }",
    ),
    (
        "skip",
        "… else skip(most: fraction)",
        "Skips records that fail. `most` is the fraction of the records of an epoch that may fail.",
        "range(9) |> map { x: 7 % i } else skip(most: 0.5)",
    ),
    (
        "another",
        "… else another(most: fraction)",
        "Replaces a failed record by another record of the source, drawn at random, so that the \
         number of records stays the same. `most` is the fraction of the records of an epoch that \
         may be replaced.",
        "range(9) |> map { x: 7 % i } else another(most: 0.5)",
    ),
    (
        "fail",
        "… else fail",
        "Ends the run at a record that fails; this is the default without `else`.",
        "range(9) |> map { x: i // 2 else fail }",
    ),
    (
        "it",
        "it, it.field",
        "The whole record, inside `map`, `with`, `where` and `flat_map`; `it.name` is always the \
         field.",
        "range(9) |> map { x: it.i * 2 }",
    ),
    (
        "epoch",
        "epoch",
        "The number of the pass over the data, counted from 0.",
        "range(9) |> map { x: i + epoch }",
    ),
    (
        "one_of",
        "one_of([a, b, …])",
        "One element of a list, drawn uniformly at random.",
        "range(9) |> map { x: one_of([1, 2, 3]) }",
    ),
    (
        "edition",
        "edition 2026",
        "Sets the edition of the language that a file is written in; it comes first, once.",
        "",
    ),
    (
        "param",
        "param name: type = default",
        "A value that is set when the program is run: `--set name=value`. Without a default it is \
         required.",
        "",
    ),
    ("const", "const NAME = value", "A value that is known at compile time.", ""),
    (
        "fn",
        "fn name(parameters) = value",
        "A function: one expression, inlined where it is called.",
        "",
    ),
    (
        "extern",
        "extern fn name(a: type) -> type = \"module:function\"",
        "Declares a Python function. A `pure` one returns the same for the same arguments, and \
         has a version: \"module:function@1\". `extern pipeline name() -> { a: type } = \
         \"module:Class\"` declares a source of records in Python.",
        "",
    ),
    (
        "pipeline",
        "pipeline name = stream",
        "A stream of records: a source followed by steps. With parameters, it is called like a \
         function.",
        "",
    ),
    ("use", "use name, name from \"file.pipe\"", "Imports what another file declares.", ""),
    ("from", "use name from \"file.pipe\"", "Comes before the file of a `use`.", ""),
    (
        "if",
        "if condition then a else b",
        "One of two values of the same type. Only the one that is needed is computed.",
        "range(9) |> map { x: if i > 3 then i else 0 }",
    ),
    (
        "then",
        "if condition then a else b",
        "Comes before the value of an `if` for a true condition.",
        "range(9) |> map { x: if i > 3 then i else 0 }",
    ),
    (
        "for",
        "[value for name in list]",
        "A list with one element for each element of another list.",
        "range(9) |> map { x: [i * k for k in [1, 2, 3]] }",
    ),
    (
        "in",
        "value in low..high, value in [a, b]",
        "Whether a value is in an interval, both bounds included, or in a list.",
        "range(9) |> where i in 3..5",
    ),
    (
        "and",
        "a and b",
        "Whether both are true; the second is computed only if the first is true.",
        "range(9) |> where i > 2 and i < 6",
    ),
    (
        "or",
        "a or b",
        "Whether at least one is true; the second is computed only if the first is false.",
        "range(9) |> where i < 2 or i > 6",
    ),
    ("not", "not a", "Whether it is false.", "range(9) |> where not i in [3, 5]"),
    (
        "as",
        "value as type",
        "Gives untyped data, such as JSON, a type. To cast a value that has a type, call the \
         type: `f32(x)`.",
        "range(9) |> map { x: parse_json(\"[1, 2]\") as i64[2] }",
    ),
    ("true", "true", "The boolean true.", "range(9) |> map { x: true }"),
    ("false", "false", "The boolean false.", "range(9) |> map { x: false }"),
    (
        "each",
        "name: each type",
        "Marks a parameter of an operator that is evaluated for each record: `batch(8, by: len(ids))`.",
        "",
    ),
    (
        "random",
        "name(…) random -> type",
        "An effect: the function draws random numbers, different for each record, epoch and call \
         site.",
        "",
    ),
    (
        "fails",
        "name(…) fails -> type",
        "An effect: the function may fail for a record, which `else` handles.",
        "",
    ),
    ("reads", "name(…) reads -> type", "An effect: the function reads files.", ""),
    (
        "pure",
        "extern fn name(…) pure -> type = \"module:function@1\"",
        "An effect of a Python function: it returns the same for the same arguments, so its \
         results can be cached.",
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
            subject: "Keywords of the language".to_owned(),
            head: head.to_owned(),
            doc: format!("{text}{example}"),
            cost: None,
        }
    })
}

/// What values of a dtype are.
pub(super) fn dtype(name: &str) -> &'static str {
    match name {
        "str" => {
            "Strings in UTF-8. `batch` turns them into a column of strings, which cannot be \
                  computed with."
        }
        "bytes" => "Raw bytes, such as those of a file.",
        "bool" => "Booleans, one byte each.",
        "f16" => "Floats of 16 bits (IEEE 754 half precision).",
        "bf16" => "Floats of 16 bits with the range of `f32` (bfloat16).",
        "f32" => "Floats of 32 bits.",
        "f64" => "Floats of 64 bits.",
        "u8" => {
            "Integers from 0 to 255; small integers do not support arithmetic: cast them first."
        }
        "u16" => {
            "Integers from 0 to 65,535; small integers do not support arithmetic: cast them first."
        }
        "u32" => "Integers from 0 to 4,294,967,295.",
        "u64" => "Integers from 0 to 2 ** 64 - 1.",
        "i8" => {
            "Integers from -128 to 127; small integers do not support arithmetic: cast them first."
        }
        "i16" => {
            "Integers from -32,768 to 32,767; small integers do not support arithmetic: cast them \
             first."
        }
        "i32" => "Signed 32-bit integers.",
        _ => "Signed 64-bit integers.",
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
