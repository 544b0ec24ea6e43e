//! `detokenize`: the text of tokens.

use super::tokenize::model_of;
use crate::functions::tensor::{by_int, packed, tensor_of};
use crate::prelude::*;
use crate::tokens;
use runtime::Element;
use std::{fmt::Display, str};

function! {
    /// Returns the text of token ids.
    ///
    /// For byte-level BPE, it is what `tokenize` was given, if the ids are all of a text; special tokens are as they are
    /// written. For a `.model` of SentencePiece, it is what its `decode` returns: the normalized text, without control symbols
    /// such as `</s>`; for the others, what the `decode` of `tokenizers` returns with `skip_special_tokens=False`. The models are those of `tokenize`. Fails
    /// with `token` if an id is of no token, such as -100 for positions that are ignored, and with `utf-8` if the bytes
    /// of the tokens are not text: ids that were cut off within a character.
    ///
    /// ```pipe no_run
    /// lines("corpus.txt")
    ///     |> map { start: tokenize(text, model: "vocab.bpe", most: 8) |> detokenize(model: "vocab.bpe") else "" }
    ///     # { start: str }
    /// ```
    "detokenize(ids: any, model: file) fails -> str",
    // Assumed: a lookup and a copy of a few bytes for each id of four.
    cost: Cost { ns_byte_in: 2.0, bytes_out_per_in: 1.1, ..Cost::call(50.0) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = tensor_of(applied, 0)?;
    if !dtype.is_int() || shape.len() != 1 {
        return Err("expected ids: integers along one axis, such as `i32[n]`".to_owned());
    }
    let Arg::File(file) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    if let Some(Err(why)) = tokens::of_file(file) {
        return Err(format!("`{}`: {why}", file.path()));
    }
    Ok(Type::scalar(DType::Str))
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    by_int!(call.dtype(0).expect("the checker saw to ids"), T => kernel::<T>(call))
}

fn kernel<T: Element + TryInto<u32> + Display>(call: &Call<'_>) -> Result<Kernel, Failure> {
    let file = call.file(1).clone();
    let model = model_of(&file, "detokenize")?;
    Ok(Kernel::compute(move |args, out| {
        packed::<T, _>(&args.tensor(0), |ids| {
            let none = |id: &dyn Display| {
                let detail = format!("{id} is not the id of a token of `{}`", file.path());
                Fault::new("token", detail)
            };
            let all = ids.iter().map(|id| (*id).try_into().map_err(|_| none(id)));
            let all = all.collect::<Result<Vec<u32>, Fault>>()?;
            let mut text = Vec::new();
            model.decode(&all, &mut text).map_err(|id| none(&id))?;
            match str::from_utf8(&text) {
                Ok(text) => out.text(DType::Str, text.as_bytes()),
                Err(error) => {
                    let at = error.valid_up_to();
                    Err(Fault::new("utf-8", format!("byte {at} of the tokens is not UTF-8")))
                }
            }
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use crate::tokens::tests::small;

    #[test]
    fn tokens_are_text_again() {
        let run = |ids: &[i32]| {
            Trial::of(&ENTRY).value(Tensor::new(&[ids.len()], ids)).arg(Arg::File(small())).run()
        };
        assert_eq!(run(&[257, 267, 98]), Ok(Value::text("ab<|end|>b")));
        assert_eq!(run(&[]), Ok(Value::text("")));
        assert_eq!(run(&[-100]).unwrap_err().code, "token");
        assert_eq!(run(&[269]).unwrap_err().code, "token");
        assert_eq!(run(&[0xc3]).unwrap_err().code, "utf-8");
        let wide = [257_i64];
        let wide = Trial::of(&ENTRY).value(Tensor::new(&[1], &wide)).arg(Arg::File(small()));
        assert_eq!(wide.run(), Ok(Value::text("ab")));
    }
}
