//! `untyped_at`: an element of an untyped list; what `row[i]` becomes.

use super::{example::Feature, json, reading};
use crate::prelude::*;

function! {
    /// Returns element `i` of an untyped list.
    ///
    /// `row[i]` is short for it. The element is untyped too: give it a type with `as`. A negative index counts
    /// from the end. Fails with `index` if it is out of range, or with `json-type` if the value is not a list.
    /// For a feature of a `tf.train.Example`, it is one of its strings; numbers are converted together, with
    /// `as i64[n]`. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { n: untyped_at(parse_json("[1, 2, 3]"), -1) as i32 }    # { n: i32 }
    /// ```
    "untyped_at(row: untyped, i: int) fails -> untyped",
    // Assumed: two nanoseconds a byte, of half the list.
    cost: Cost { ns_byte_in: 1.0, ..Cost::call(30.0) },
    result: Some(|applied| match applied.ty(0) {
        Some(Type::Untyped(Untyped::Json | Untyped::Bytes)) => Ok(Type::Untyped(Untyped::Json)),
        Some(Type::Untyped(Untyped::Feature)) => Ok(Type::Untyped(Untyped::Bytes)),
        Some(Type::Untyped(Untyped::SequenceFeature)) => {
            Err("read all steps at once: `as f32[n, m]`".to_owned())
        }
        Some(Type::Untyped(Untyped::Npy)) => {
            Err("give the array a type first: `(x as f32[n])[0]`".to_owned())
        }
        Some(Type::Untyped(Untyped::Dataset)) => {
            Err("rows are read as a part of the dataset: `[i:i + 1]`".to_owned())
        }
        _ => Err("its members are accessed by name: `row[\"name\"]`".to_owned()),
    }),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(match call.types[0] {
        Some(Type::Untyped(Untyped::Feature)) => Kernel::view(|args| {
            let feature = Feature::new(args.tensor(0).as_text())?;
            Ok(Tensor::text(DType::Bytes, text(&feature, args.int(1))?))
        }),
        _ => {
            let is_checked = call.types[0] == Some(Type::Untyped(Untyped::Json));
            Kernel::view(move |args| {
                let list = reading::checked_unless(is_checked, args.tensor(0).as_text())?;
                Ok(Tensor::text(DType::Str, element(list, args.int(1))?))
            })
        }
    })
}

fn text<'a>(feature: &Feature<'a>, i: i64) -> Result<&'a [u8], Fault> {
    let (mut n, mut found) = (0_i64, None);
    feature.texts(|_| n += 1)?;
    let at = if i < 0 { n.saturating_add(i) } else { i };
    let mut k = 0;
    feature.texts(|it| {
        found = found.or((k == at).then_some(it));
        k += 1;
    })?;
    found.ok_or_else(|| {
        Fault::new("index", format!("index {i} is out of range for a feature with {n} elements"))
    })
}

fn element(list: &[u8], i: i64) -> Result<&[u8], Fault> {
    let from_end = || {
        let mut n = 0_i64;
        json::elements(list, |_| {
            n += 1;
            true
        })?;
        Ok(n.saturating_add(i))
    };
    let at = if i < 0 { from_end()? } else { i };
    let (mut n, mut found) = (0, None);
    json::elements(list, |it| {
        found = (n == at).then_some(it);
        n += 1;
        found.is_none()
    })?;
    found.ok_or_else(|| {
        Fault::new("index", format!("index {i} is out of range for a list with {n} elements"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn counts_from_either_end() {
        let run = |list, i| Trial::of(&ENTRY).untyped(list).arg(Arg::Int(i)).run();
        let list = r#"[1, "a]", [2, 3]]"#;
        assert_eq!(run(list, 0), Ok(Value::text("1")));
        assert_eq!(run(list, -2), Ok(Value::text(r#""a]""#)));
        assert_eq!(run(list, 2), Ok(Value::text("[2, 3]")));
        for (list, i) in [(list, 3), (list, -4), ("[]", 0), ("[]", -1)] {
            assert_eq!(run(list, i).unwrap_err().code, "index");
        }
        assert_eq!(run("{}", 0).unwrap_err().code, "json-type");
    }
}
