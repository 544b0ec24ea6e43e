//! `vocabulary_size`: how many tokens a model has, known while compiling.

use super::tokenize::model_of;
use crate::prelude::*;
use crate::tokens;
use plan::KnownNumber;

function! {
    /// Returns the number of ids of a tokenizer: one more than the largest id, special tokens included.
    ///
    /// It is known when the program is compiled. The models are those of `tokenize`. Embeddings of a model may have more
    /// rows, filled up to a multiple of some power of two.
    ///
    /// ```pipe no_run
    /// range(2) |> map { n: vocabulary_size("vocab.bpe") }    # { n: i64 }
    /// ```
    "vocabulary_size(model: file) -> i64",
    cost: Cost::call(1.0),
    properties: &[Property::Known(&KnownNumber { of: known })],
    result: Some(result),
}

fn known(args: &[Arg]) -> Option<Result<i64, String>> {
    let [Arg::File(file)] = args else { return None };
    Some(tokens::of_file(file).map_or(Ok(0), |model| {
        model.map(|it| i64::from(it.size())).map_err(|why| format!("`{}`: {why}", file.path()))
    }))
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    known(applied.args).unwrap_or_else(|| Err("expected a file".to_owned()))?;
    Ok(Type::scalar(DType::I64))
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let size = i64::from(model_of(call.file(0), "vocabulary_size")?.size());
    Ok(Kernel::compute(move |_, out| out.scalar(size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use crate::tokens::tests::small;

    #[test]
    fn special_tokens_count() {
        let size = Trial::of(&ENTRY).arg(Arg::File(small())).run();
        assert_eq!(size, Ok(Value::of(&[], &[269_i64])));
    }
}
