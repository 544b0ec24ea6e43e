//! `token_id`: the number of a token that is known while compiling.

use super::tokenize::model_of;
use crate::prelude::*;
use crate::tokens;
use plan::{File, KnownNumber};

function! {
    /// Returns the id of a token, such as the one that ends a document.
    ///
    /// `token` is a special token of the model, as it is written (`<|endoftext|>`), or any other: its text for byte-level BPE
    /// (` the`), and as it stands in the file for other kinds (`##ing`, `▁the`, for which ` the` can be written too). It is
    /// looked up when the program is compiled, and is an error if the model has no such token; so it can be a `const` and
    /// stand in a list: `concat([tokenize(text, model: MODEL), [EOS]])`. The models are those of `tokenize`.
    ///
    /// ```pipe no_run
    /// range(2) |> map { end: token_id("<|endoftext|>", model: "vocab.bpe") }    # { end: i64 }
    /// ```
    "token_id(token: text, model: file) -> i64",
    cost: Cost::call(1.0),
    properties: &[Property::Known(&KnownNumber { of: known })],
    result: Some(result),
}

fn known(args: &[Arg]) -> Option<Result<i64, String>> {
    let [Arg::Text(token), Arg::File(file)] = args else { return None };
    // Where nobody has read the file, nothing is run.
    Some(tokens::of_file(file).map_or(Ok(0), |model| {
        let model = model.map_err(|why| format!("`{}`: {why}", file.path()))?;
        model.id(token).map(i64::from).ok_or_else(|| unknown(token, file, &model.specials()))
    }))
}

fn unknown(token: &str, file: &File, specials: &[&str]) -> String {
    let listed = match specials {
        [] => "it has no special tokens".to_owned(),
        all => {
            let shown: Vec<String> = all.iter().take(8).map(|it| format!("`{it}`")).collect();
            let more = if all.len() > shown.len() { ", …" } else { "" };
            format!("its special tokens are {}{more}", shown.join(", "))
        }
    };
    format!("`{token}` is not a token of `{}`; {listed}", file.path())
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    known(applied.args).unwrap_or_else(|| Err("expected a string and a file".to_owned()))?;
    Ok(Type::scalar(DType::I64))
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    model_of(call.file(1), "token_id")?;
    let id = known(call.args).unwrap_or(Ok(0)).map_err(Failure::Program)?;
    Ok(Kernel::compute(move |_, out| out.scalar(id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use crate::tokens::tests::small;

    #[test]
    fn tokens_are_found_by_what_they_are() {
        let id = |token: &str| {
            Trial::of(&ENTRY).arg(Arg::Text(token.to_owned())).arg(Arg::File(small()))
        };
        assert_eq!(id("ab").run(), Ok(Value::of(&[], &[257_i64])));
        assert_eq!(id("<|end|>").run(), Ok(Value::of(&[], &[267_i64])));
        assert_eq!(
            id("abba").refused(),
            "`abba` is not a token of `tokenizer.json`; its special tokens are `<|end|>`, `<|end|>of`"
        );
    }
}
