//! `tokenize`: a text as the numbers of tokens.

use crate::prelude::*;
use crate::tokens::{self, Encoding, Failed, Frame, Ids, Splitter, Tokenizer};
use plan::File;
use std::{cell::RefCell, sync::Arc};

function! {
    /// Splits text into tokens, and returns their numbers.
    ///
    /// `model` is the file of a tokenizer, read when the program is compiled. Its contents tell what it is, and whose ids these are:
    ///
    /// - the `tokenizer.json` of a model of Hugging Face: `tokenizers`, with `add_special_tokens=False`
    /// - a `.model` file of SentencePiece (T5, XLM-R, Llama 2, Gemma): `encode` of `sentencepiece`
    /// - a file of tiktoken (`cl100k_base.tiktoken`, `o200k_base.tiktoken`, the `tokenizer.model` of Llama 3), and GPT-2's `vocab.bpe`:
    ///   `encode_ordinary` of `tiktoken`
    /// - `tekken.json` of Mistral: `mistral_common`
    /// - `vocab.txt` of BERT (WordPiece): `BertWordPieceTokenizer` of `tokenizers`. It does not say whether texts are lowered: they
    ///   are if none of its tokens has a capital letter, and accents are then removed if none has an accent
    ///
    /// Byte-level BPE, WordPiece as of BERT, and SentencePiece are built in; other kinds of `tokenizer.json`, such as those of T5
    /// and Llama 2, and patterns that are none of the below, need a pipec built with the feature `tokenizers`, which `--features
    /// full` has. How texts are split is known from the file; for a tiktoken file whose number of tokens is not known, `pattern`
    /// is the name of the way (`"gpt2"`, `"cl100k"`, `"o200k"`, `"llama3"`, `"qwen2"`, `"tekken"`), or any regular expression.
    ///
    /// Text that looks like a special token, such as `<|endoftext|>` or `</s>`, is text, unless `specials` is true; then what stands
    /// between two of them is encoded as a text of its own. Symbols that SentencePiece calls user-defined, and added tokens of a
    /// `tokenizer.json` that are not special, are always tokens. With `frame`, the special tokens that the model puts
    /// around a text (its post-processor; `[CLS]` and `[SEP]` of a `vocab.txt`) are added; files of SentencePiece and Tekken do not
    /// say what these are, so `frame` is an error there: write `[token_id("<s>", model: MODEL)] + tokenize(text, model: MODEL)`.
    /// `most` is how many ids are returned at most, those of the frame included, which are always returned; the first ones are
    /// kept.
    ///
    /// A single word of more than 16 MiB fails with `too-long`, and text for which the model has no token, nor one for what is
    /// unknown, with `token`. To look up the id of a special token, use `token_id`; `detokenize` turns ids into text again.
    ///
    /// ```pipe no_run
    /// lines("corpus.txt") |> map { ids: tokenize(text, model: "vocab.bpe") }    # { ids: i32[?] }
    /// ```
    "tokenize(text: str, model: file, specials: bool = false, frame: bool = false, most: int = none, pattern: text = none) fails -> i32[n]",
    // Assumed, near what `benches -- tokens` shows of English text with GPT-2's model: 4 to 6 ns a byte.
    cost: Cost { ns_byte_in: 4.0, bytes_out_per_in: 0.9, ..Cost::call(150.0) },
    result: Some(result);
    reads: read,
}

/// The text of ids, for people: what is no token, or no character, is replaced.
fn read(args: &[Arg], ids: &[i64]) -> Option<String> {
    let Some(Arg::File(file)) = args.get(1) else { return None };
    let model = tokens::of_file(file)?.ok()?;
    let mut text = Vec::new();
    for id in ids {
        let found = u32::try_from(*id).ok().and_then(|it| model.bytes(it));
        text.extend_from_slice(found.unwrap_or("\u{fffd}".as_bytes()));
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let Arg::File(file) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    if let Some(made) = tokens::of_file(file) {
        let model = made.map_err(|why| format!("`{}`: {why}", file.path()))?;
        splitter(file, &model, pattern(&applied.args[5])?)?;
        if matches!(applied.args[3], Arg::Bool(true)) {
            frame(file, &model)?;
        }
    }
    Ok(Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] })
}

/// The way that is asked for.
pub(super) fn pattern(of: &Arg) -> Result<Option<Splitter>, String> {
    let name = match of {
        Arg::None => return Ok(None),
        Arg::Text(it) | Arg::Word(it) => it,
        _ => return Err("`pattern` must be a string that is known at compile time".to_owned()),
    };
    Splitter::parse(name, false).map(Some)
}

/// How texts are split: as is asked for, or as the model does.
pub(super) fn splitter(
    file: &File,
    model: &Tokenizer,
    asked: Option<Splitter>,
) -> Result<Splitter, String> {
    if asked.is_some() && !model.splits() {
        let path = file.path();
        return Err(format!("`pattern` is for byte-level BPE, which `{path}` is not: remove it"));
    }
    asked.or(model.splitter()).ok_or_else(|| {
        format!(
            "`{}` does not say how texts are split, and has {} tokens, as no model that is known: add `pattern:` with one of {}",
            file.path(),
            plan::count(u64::from(model.size())),
            Splitter::names()
        )
    })
}

/// What is put around a text.
fn frame(file: &File, model: &Tokenizer) -> Result<Frame, String> {
    model.frame().cloned().ok_or_else(|| {
        let specials: Vec<String> = model.specials().iter().map(|it| format!("`{it}`")).collect();
        format!(
            "`{}` does not say what is put around a text: remove `frame`, and add what the model was trained with, such as \
             `[token_id(…)] + tokenize(…)`; its special tokens are {}",
            file.path(),
            specials[..specials.len().min(8)].join(", ")
        )
    })
}

/// The model that a call names.
pub(super) fn model_of(file: &File, name: &str) -> Result<Arc<Tokenizer>, Failure> {
    let model = tokens::of_file(file).unwrap_or_else(|| Err("it was not read".to_owned()));
    model.map_err(|why| Failure::Program(format!("`{name}`: `{}`: {why}", file.path())))
}

thread_local! {
    /// Ids of a text that are not all there yet.
    static IDS: RefCell<Ids> = RefCell::default();
}

/// Ids that a thread keeps the room of, at the most.
const KEPT: usize = 1 << 20;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let file = call.file(1);
    let model = model_of(file, "tokenize")?;
    let asked = pattern(&call.args[5]).and_then(|it| splitter(file, &model, it));
    let splitter = asked.map_err(|why| Failure::Program(format!("`tokenize`: {why}")))?;
    let (specials, all) = (call.bool(2), call.absent(4));
    let around = match call.bool(3) {
        true => {
            frame(file, &model).map_err(|why| Failure::Program(format!("`tokenize`: {why}")))?
        }
        false => Frame::default(),
    };
    Ok(Kernel::compute(move |args, out| {
        let text = args.tensor(0).as_str();
        let [before, behind] = [&around.before, &around.behind];
        let most = match all {
            true => usize::MAX,
            false => usize::try_from(args.int(4)).map_err(|_| negative(args.int(4)))?,
        };
        let most = most.saturating_sub(before.len() + behind.len());
        let encoding = Encoding { splitter: splitter.clone(), specials, most };
        IDS.with_borrow_mut(|ids| {
            ids.clear();
            model.encode(text, &encoding, ids).map_err(failed)?;
            let room = out.tensor::<i32>(&[before.len() + ids.len() + behind.len()])?;
            let all = before.iter().chain(ids.as_slice()).chain(behind);
            room.iter_mut().zip(all).for_each(|(to, id)| *to = *id as i32);
            if ids.capacity() > KEPT {
                *ids = Ids::default();
            }
            Ok(())
        })
    }))
}

fn negative(most: i64) -> Fault {
    Fault::new("size", format!("`most` must not be negative, found {most}"))
}

pub(super) fn failed(why: Failed) -> Fault {
    match why {
        Failed::TooLong(bytes) => {
            let shown = plan::shown_bytes(bytes as u64);
            Fault::new("too-long", format!("a single word of {shown} cannot be split into tokens"))
        }
        #[cfg(feature = "tokenizers")]
        Failed::Refused(why) => {
            Fault::new("token", format!("the model has no tokens for this text: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// A model of SentencePiece that was made for tests.
    fn call(frame: bool, most: Arg, pattern: Arg) -> Trial<'static> {
        let bytes = include_bytes!("../../tokens/goldens/unigram.model");
        let file = Arg::File(File::new("a.model", bytes.to_vec()));
        let no = Arg::Bool(false);
        let trial = Trial::of(&ENTRY).text("the</s>").arg(file).arg(no);
        trial.arg(Arg::Bool(frame)).arg(most).arg(pattern)
    }

    #[test]
    fn what_a_file_does_not_say_is_no_argument() {
        assert_eq!(
            call(true, Arg::None, Arg::None).refused(),
            "`a.model` does not say what is put around a text: remove `frame`, and add what the model was trained with, such \
             as `[token_id(…)] + tokenize(…)`; its special tokens are `<unk>`, `<s>`, `</s>`, `<sep>`"
        );
        let pattern = Arg::Text("gpt2".to_owned());
        let refused = call(false, Arg::None, pattern).refused();
        assert_eq!(refused, "`pattern` is for byte-level BPE, which `a.model` is not: remove it");
        let found = call(false, Arg::Int(1), Arg::None).run();
        assert_eq!(found, Ok(Value::of(&[1], &[39_i32])));
    }
}
