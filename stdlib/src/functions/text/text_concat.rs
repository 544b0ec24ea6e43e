//! `text_concat`: texts one after the other; what `+` and `"…{name}…"` become.

use crate::prelude::*;

function! {
    /// Concatenates strings, without a separator.
    ///
    /// `a + b` and `"…{name}…"` are short for it. All are `str`, or all are `bytes`; `text_of` converts a
    /// number to a string.
    ///
    /// ```pipe
    /// range(2) |> map { text: text_concat(["number ", text_of(i)]) }    # { text: str }
    /// ```
    "text_concat(values: values) -> any",
    // Assumed: as fast as memory.
    cost: Cost::out(15.0, 0.1),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let Arg::Exprs(values) = &applied.args[0] else {
        return Err("expected a list of strings".into());
    };
    let mut dtypes = values.iter().map(|&it| applied.graph.ty(it));
    let first = dtypes.next().cloned().unwrap_or(Type::scalar(DType::Str));
    let text = matches!(first, Type::Tensor { dtype, .. } if dtype.is_text());
    if !text {
        return Err(format!("expected text, found `{first}`: convert a number with `text_of`"));
    }
    match dtypes.find(|it| **it != first) {
        None => Ok(first),
        Some(other) => Err(format!("one value is `{first}`, another is `{other}`")),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.result.dtype().unwrap_or(DType::Str);
    Ok(Kernel::compute(move |args, out| {
        let values = args.list(0);
        let len = values.iter().map(|it| it.as_text().len()).sum();
        let mut room = out.room(dtype, Shape::new(&[len]))?;
        for value in values {
            let text = value.as_text();
            let (to, rest) = room.split_at_mut(text.len());
            to.copy_from_slice(text);
            room = rest;
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn in_their_order() {
        let run = |all: &[&str]| {
            let all: Vec<_> =
                all.iter().map(|it| Tensor::text(DType::Str, it.as_bytes())).collect();
            Trial::of(&ENTRY).list(&all).run()
        };
        assert_eq!(run(&["a", "", "bc"]), Ok(Value::text("abc")));
        assert_eq!(run(&[]), Ok(Value::text("")));
    }

    #[test]
    fn only_texts_of_one_kind() {
        let text = Tensor::text(DType::Str, b"a");
        let bytes = Tensor::text(DType::Bytes, b"a");
        let refused = |all: &[Tensor<'_>]| Trial::of(&ENTRY).list(all).refused();
        assert!(refused(&[text, bytes]).contains("another is `bytes`"));
        assert!(refused(&[Tensor::new(&[], &[1_u8])]).contains("`text_of`"));
    }
}
