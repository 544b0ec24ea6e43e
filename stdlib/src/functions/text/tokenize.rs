//! `tokenize`: a text as the numbers of tokens.

use crate::prelude::*;
use crate::tokens::{self, Encoding, Ids, Splitter, Tokenizer, TooLong};
use plan::File;
use std::{cell::RefCell, sync::Arc};

function! {
    /// Splits text into tokens, and returns their numbers.
    ///
    /// `model` is the file of a byte-level BPE tokenizer, read when the program is compiled: the `tokenizer.json` of a
    /// model of Hugging Face (GPT-2, Llama 3, Qwen 2 and 3, and others that split like them), GPT-2's `vocab.bpe`, or a file of tiktoken
    /// (`cl100k_base.tiktoken`, `o200k_base.tiktoken`, the `tokenizer.model` of Llama 3). How texts are split is known from
    /// the file; for a tiktoken file of another size, `pattern` is the name of the way (`"gpt2"`, `"cl100k"`, `"o200k"`,
    /// `"llama3"`, `"qwen2"`) or its regular expression.
    ///
    /// The ids are those of tiktoken's `encode_ordinary`, and of the `encode` of `tokenizers` with `add_special_tokens=False`:
    /// text that looks like a special token, such as `<|endoftext|>`, is text, unless `specials` is true. With `frame`,
    /// the special tokens that the model puts around a text (its post-processor) are added. `most` is how many ids are
    /// returned at most, those of the frame included, which are always returned; the first ones are kept. A single word of more than 16 MiB fails with `too-long`. To
    /// look up the id of a special token, use `token_id`; `detokenize` turns ids into text again.
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
    }
    Ok(Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] })
}

/// The way that is asked for.
fn pattern(of: &Arg) -> Result<Option<Splitter>, String> {
    let name = match of {
        Arg::None => return Ok(None),
        Arg::Text(it) | Arg::Word(it) => it,
        _ => return Err("`pattern` must be a string that is known at compile time".to_owned()),
    };
    let unknown = || {
        format!(
            "texts cannot be split by the pattern `{name}`: write one of {}, or the regular expression of one of them",
            Splitter::names()
        )
    };
    Splitter::of(name).map(Some).ok_or_else(unknown)
}

/// How texts are split: as is asked for, or as the model does.
fn splitter(file: &File, model: &Tokenizer, asked: Option<Splitter>) -> Result<Splitter, String> {
    asked.or(model.splitter()).ok_or_else(|| {
        format!(
            "`{}` does not say how texts are split, and has {} tokens, as no model that is known: add `pattern:` with one of {}",
            file.path(),
            plan::count(u64::from(model.size())),
            Splitter::names()
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
    let (specials, frame, all) = (call.bool(2), call.bool(3), call.absent(4));
    Ok(Kernel::compute(move |args, out| {
        let text = args.tensor(0).as_str();
        let around = model.frame();
        let [before, behind] =
            [&around.before, &around.behind].map(|it| if frame { &it[..] } else { &[] });
        let most = match all {
            true => usize::MAX,
            false => usize::try_from(args.int(4)).map_err(|_| negative(args.int(4)))?,
        };
        let most = most.saturating_sub(before.len() + behind.len());
        let encoding = Encoding { splitter, specials, most };
        IDS.with_borrow_mut(|ids| {
            ids.clear();
            model.encode(text, &encoding, ids).map_err(too_long)?;
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

fn too_long(TooLong(bytes): TooLong) -> Fault {
    let shown = plan::shown_bytes(bytes as u64);
    Fault::new("too-long", format!("a single word of {shown} cannot be split into tokens"))
}
