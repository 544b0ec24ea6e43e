//! `word_ids`: the numbers of the lines of a file that the words of a text are.

use super::lookup::{Table, contents, table_of};
use super::words::words;
use crate::prelude::*;
use plan::File;
use std::cell::RefCell;

function! {
    /// Splits text at white space, and returns the line number of each word in a vocabulary file.
    ///
    /// `vocabulary` is as the table of `lookup`: a text file with one word per line, of at most 64 MiB, read when the
    /// program is compiled. Lines are numbered from 0. White space is as in Python's `text.split()`, and words must
    /// equal lines exactly, including case and punctuation. A word that is not in the file becomes `unknown`; without
    /// `unknown`, the record fails with `not-listed`. This is how GNMT and other models before subwords read text. For
    /// subwords, use `tokenize`.
    ///
    /// ```pipe no_run
    /// lines("train.tok.en") |> map { ids: word_ids(text, vocabulary: "vocab.en", unknown: 0) }    # { ids: i32[?] }
    /// ```
    "word_ids(text: str, vocabulary: file, unknown: int = none) fails -> i32[n]",
    // Assumed: a lookup for each word of six bytes.
    cost: Cost { ns_byte_in: 12.0, bytes_out_per_in: 0.7, ..Cost::call(60.0) },
    properties: &[Property::Defaults("unknown")],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let Arg::File(file) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    if let Some(Err(why)) = table_of(file) {
        return Err(format!("`{}`: {why}", file.path()));
    }
    if let Some(unknown) = applied.int(2) {
        id(unknown)?;
    }
    Ok(Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] })
}

/// A number of the program as an id.
fn id(unknown: i64) -> Result<i32, String> {
    unknown.try_into().map_err(|_| format!("`unknown` must be an `i32`, found {unknown}"))
}

thread_local! {
    /// Ids of a text that are not all there yet.
    static IDS: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// Ids that a thread keeps the room of.
const KEPT: usize = 1 << 18;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let file = call.file(1).clone();
    let table = table_of(&file).unwrap_or_else(|| Err("it was not read".to_owned()));
    let table =
        table.map_err(|why| Failure::Program(format!("`word_ids`: `{}`: {why}", file.path())))?;
    let fails = call.absent(2);
    Ok(Kernel::compute(move |args, out| {
        let text = args.tensor(0).as_str();
        let unknown = match fails {
            true => None,
            false => Some(id(args.int(2)).map_err(|why| Fault::new("size", why))?),
        };
        IDS.with_borrow_mut(|ids| {
            ids.clear();
            for word in words(text) {
                ids.push(number(&table, &file, word, unknown)?);
            }
            out.tensor::<i32>(&[ids.len()])?.copy_from_slice(ids);
            if ids.capacity() > KEPT {
                *ids = Vec::new();
            }
            Ok(())
        })
    }))
}

fn number(table: &Table, file: &File, word: &str, unknown: Option<i32>) -> Result<i32, Fault> {
    let found = table.number(contents(file), word.as_bytes()).map(|it| it as i32);
    let missing = || Fault::new("not-listed", table.unknown(file, word.as_bytes()));
    found.or(unknown).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    const VOCABULARY: &str = "<unk>\n<s>\n</s>\nthe\nhouse\nHouse\n日本\n.\n";

    fn trial(text: &str, unknown: Arg) -> Trial<'_> {
        let file = File::new("vocab.en", VOCABULARY.as_bytes().to_vec());
        Trial::of(&ENTRY).text(text).arg(Arg::File(file)).arg(unknown)
    }

    /// `[vocabulary.get(it, 0) for it in text.split()]` of Python, with a dictionary of the lines.
    #[test]
    fn words_are_lines() {
        let slow = |text: &str| -> Vec<i32> {
            let line =
                |word: &str| VOCABULARY.lines().position(|it| it == word).unwrap_or(0) as i32;
            let split = text.split([' ', '\n', '\t', '\u{a0}', '\u{1d}']);
            split.filter(|it| !it.is_empty()).map(line).collect()
        };
        let texts = [
            "",
            "  ",
            "the house",
            " the\tHOUSE\n\nHouse . ",
            "日本\u{a0}the\u{1d}.",
            "the. house",
            "<unk> </s> <s>",
        ];
        for text in texts {
            let expected = slow(text);
            let found = trial(text, Arg::Int(0)).run();
            assert_eq!(found, Ok(Value::of(&[expected.len()], &expected)), "{text:?}");
        }
        assert_eq!(slow(texts[3]), [3, 0, 5, 7]);
    }

    #[test]
    fn unknown_words_are_faults_or_a_number() {
        assert_eq!(trial("the cat", Arg::Int(-1)).run(), Ok(Value::of(&[2], &[3, -1])));
        let fault = trial("the cat", Arg::None).run().unwrap_err();
        assert_eq!(
            (fault.code, &*fault.detail),
            ("not-listed", "`cat` is not one of the 8 lines of `vocab.en`")
        );
        assert_eq!(
            trial("", Arg::Int(1 << 31)).refused(),
            "`unknown` must be an `i32`, found 2147483648"
        );
        let twice = Arg::File(File::new("vocab.en", b"a\na\n".to_vec()));
        let refused = Trial::of(&ENTRY).text("a").arg(twice).arg(Arg::None).refused();
        assert!(refused.starts_with("`vocab.en`: lines 1 and 2 are the same"), "{refused}");
    }
}
