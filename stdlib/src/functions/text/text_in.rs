//! `text_in`: whether a text is one of several; what `in [..]` of texts becomes.

use crate::functions::tensor::tensor_of;
use crate::prelude::*;

function! {
    /// Returns true if a string is in a list of strings.
    ///
    /// `x in ["a", "b"]` is short for it. All are of the same type, `str` or `bytes`.
    ///
    /// ```pipe
    /// range(2) |> map { yes: text_in("mit", ["mit", "apache-2.0"]) }    # { yes: bool }
    /// ```
    "text_in(x: any, values: values) -> bool",
    cost: Cost::call(20.0),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, _) = tensor_of(applied, 0)?;
    let values = match &applied.args[1] {
        Arg::Exprs(values) => &values[..],
        _ => &[],
    };
    let differs = values.iter().find(|it| applied.graph.ty(**it) != &Type::scalar(dtype));
    match differs {
        _ if !dtype.is_text() => Err(format!("expected text, found `{dtype}`")),
        Some(&it) => Err(format!("`{dtype}` is never equal to `{}`", applied.graph.ty(it))),
        None => Ok(Type::scalar(DType::Bool)),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let known = known(&call.args[1]);
    Ok(Kernel::compute(move |args, out| {
        let text = args.tensor(0).as_text();
        let given = args.list(1).iter().any(|it| it.as_text() == text);
        out.scalar(given || known.iter().any(|it| it.as_bytes() == text))
    }))
}

/// The texts of a list that the compiler knew.
fn known(arg: &Arg) -> Vec<String> {
    let Arg::List(all) = arg else { return Vec::new() };
    let text = |it: &Arg| if let Arg::Text(it) = it { Some(it.clone()) } else { None };
    all.iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn one_of_several() {
        let all = ["mit", "", "apache-2.0"];
        let values = all.map(|it| Tensor::text(DType::Str, it.as_bytes()));
        let known = Arg::List(all.iter().map(|it| Arg::Text((*it).into())).collect());
        for (text, yes) in [("mit", true), ("", true), ("MIT", false), ("apache", false)] {
            let expected = Ok(Value::of(&[], &[yes]));
            assert_eq!(Trial::of(&ENTRY).text(text).list(&values).run(), expected, "{text}");
            assert_eq!(Trial::of(&ENTRY).text(text).arg(known.clone()).run(), expected, "{text}");
        }
        assert_eq!(Trial::of(&ENTRY).text("a").list(&[]).run(), Ok(Value::of(&[], &[false])));
    }

    #[test]
    fn numbers_are_no_texts() {
        let numbers = [Tensor::new(&[], &[1_i64])];
        let refused = Trial::of(&ENTRY).text("a").list(&numbers).refused();
        assert!(refused.contains("never equal to `i64`"), "{refused}");
    }
}
