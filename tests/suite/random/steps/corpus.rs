//! What is asked of the texts of a corpus, and made of their words and ids: steps of the last programs.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;
use plan::DType;

/// Kinds of steps that only these programs have.
pub(crate) const CORPUS: &[Step] = &[measured];
/// Regular expressions.
const PATTERNS: [&str; 6] =
    ["'\\d+'", "'(?i)[aeiou]'", "'^\\w'", "'(a|t)+'", "'\\s|/'", "'\\p{Lu}\\p{Ll}*'"];
/// What replaces what they match.
const NEW: [&str; 4] = ["''", "'<$0>'", "'$$'", "'_'"];

/// What is said of a text, then ids of its words, then what is drawn and looked up by these.
fn measured(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let text = writer.values(&growing.fields).atom((DType::Str, 0));
    let pattern = *writer.dice.pick(&PATTERNS);
    let part = *writer.dice.pick(&["'a'", "'/'", "'12'", "''", "'at'"]);
    let new = *writer.dice.pick(&NEW);
    let form = *writer.dice.pick(&["", ", form: nfd", ", form: nfkc", ", form: nfkd"]);
    let keep = *writer.dice.pick(&["", ", keep: all", ", keep: article"]);
    let said = [
        format!("word_count({text})"),
        format!("count_of({text}, {part})"),
        format!("count_matches({text}, {pattern})"),
        format!("matches({text}, {pattern})"),
        format!("replace_all({text}, {pattern}, new: {new})"),
        format!("normalize_text({text}{form})"),
        format!("html_text('<ul><li>' + {text} + '<li>&lt;b&gt;'{keep}) else 'none'"),
    ];
    let mut made = format!("with {{ {} }}", named(writer, &said, 80));

    let ids = writer.name("v");
    let unknown = writer.dice.within(-1, 8);
    made += &format!(
        "\n    |> with {{ {ids}: word_ids({text}, vocabulary: \"{{data}}/keys.txt\", unknown: {unknown}) }}"
    );
    let specials = *writer.dice.pick(&["", ", specials: [0, 4]"]);
    let drawn = [
        format!("mask_tokens({ids}, mask: 10, vocabulary: 11, p: 0.4{specials})"),
        format!("fill_in_middle({ids}, prefix: 11, suffix: 12, middle: 13)"),
        format!("tokenize_dropout({text}, model: \"{{data}}/tokenizer.json\", p: 0.3)"),
        format!("embed({ids}, table: \"{{data}}/arrays/a.npy\") else full([0, 2, 3], i16(1))"),
    ];
    made += &format!("\n    |> with {{ {} }}", named(writer, &drawn, 80));
    Some(Offer { text: made, ..super::same(growing) })
}

/// Some of the values as fields, each with this chance in a hundred; one at least.
fn named(writer: &mut Writer<'_>, values: &[String], percent: usize) -> String {
    let chosen: Vec<&String> = values
        .iter()
        .enumerate()
        .filter(|it| it.0 == 0 || writer.dice.percent(percent))
        .map(|it| it.1)
        .collect();
    let entries: Vec<String> =
        chosen.into_iter().map(|it| format!("{}: {it}", writer.name("v"))).collect();
    entries.join(", ")
}
