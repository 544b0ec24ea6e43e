//! `untyped_field`: a member of an untyped object; what `row["name"]` becomes.

use super::{dataset, example, json, members, reading};
use crate::prelude::*;

function! {
    /// Returns the field `key` of an untyped object.
    ///
    /// `row["key"]` is short for it. The field is untyped too: give it a type with `as`. Fails with
    /// `field-missing` if there is no such field. Nothing is copied.
    ///
    /// For JSON, it is the first field of that name; fails with `json-type` if the value is not an object. For
    /// a `tf.train.Example`, it is a feature, and for a `SequenceExample` a feature of its context, or else a
    /// feature list; fails with `example-syntax` if the value is not such a message. For a record of `tar`, it
    /// is the file with that extension: `files["jpg;png"]` is the first of them that exists, and
    /// `files["json"]["caption"]` reads a field of the JSON in a file. For a record of `hdf5`, it is a dataset or a group:
    /// `row["train/x"]` and `row["train"]["x"]` are the same, and no file is opened before `as`.
    ///
    /// ```pipe
    /// range(2) |> map { n: untyped_field(parse_json('{"n": 3}'), "n") as i32 }    # { n: i32 }
    /// ```
    "untyped_field(row: untyped, key: str) fails -> untyped",
    // Assumed: two nanoseconds a byte, of half the object.
    cost: Cost { ns_byte_in: 1.0, ..Cost::call(30.0) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    Ok(Type::Untyped(match applied.ty(0) {
        Some(Type::Untyped(Untyped::Example)) => Untyped::Feature,
        Some(Type::Untyped(Untyped::Sequence)) => Untyped::SequenceFeature,
        Some(Type::Untyped(Untyped::Members)) => Untyped::Bytes,
        Some(Type::Untyped(Untyped::Hdf5 | Untyped::Dataset)) => Untyped::Dataset,
        Some(Type::Untyped(Untyped::Feature | Untyped::SequenceFeature)) => {
            return Err("a feature has no fields: give it a type with `as`".to_owned());
        }
        Some(Type::Untyped(Untyped::Npy)) => {
            return Err("an array has no fields: give it a type with `as`".to_owned());
        }
        _ => Untyped::Json,
    }))
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(match call.types[0] {
        Some(Type::Untyped(Untyped::Example)) => Kernel::view(|args| {
            let value = example::feature(args.tensor(0).as_text(), args.tensor(1).as_str())?;
            Ok(Tensor::text(DType::Bytes, value))
        }),
        Some(Type::Untyped(Untyped::Sequence)) => Kernel::compute(|args, out| {
            let found = example::of_sequence(args.tensor(0).as_text(), args.tensor(1).as_str())?;
            let room = out.room(DType::Bytes, Shape::new(&[1 + found.1.len()]))?;
            room[0] = found.0;
            room[1..].copy_from_slice(found.1);
            Ok(())
        }),
        Some(Type::Untyped(Untyped::Members)) => Kernel::view(|args| {
            let value = members::member(args.tensor(0).as_text(), args.tensor(1).as_str())?;
            Ok(Tensor::text(DType::Bytes, value))
        }),
        Some(Type::Untyped(Untyped::Hdf5 | Untyped::Dataset)) => Kernel::compute(|args, out| {
            let place = dataset::within(args.tensor(0).as_text(), args.tensor(1).as_str())?;
            out.text(DType::Bytes, &place)
        }),
        _ => {
            let is_checked = call.types[0] == Some(Type::Untyped(Untyped::Json));
            Kernel::seek(move |args, known| {
                let object = reading::checked_unless(is_checked, args.tensor(0).as_text())?;
                let found = json::field(object, args.tensor(1).as_text(), known)?;
                Ok(Tensor::text(DType::Str, found))
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn a_member_and_none() {
        let run = |key| Trial::of(&ENTRY).untyped(r#"{"a": {"b": [1]}}"#).text(key).run();
        assert_eq!(run("a"), Ok(Value::text(r#"{"b": [1]}"#)));
        assert_eq!(run("b").unwrap_err().code, "field-missing");
    }
}
