//! `index_of`: the place of a value in a list that the program knows.

use super::names::{Names, repeated};
use crate::functions::tensor::tensor_of;
use crate::prelude::*;
use std::collections::HashMap;

function! {
    /// Returns the index of a string in a list: a class index from its name.
    ///
    /// Indices start at 0. Fails with `not-listed`, which names the closest entry, if the string is not in the
    /// list, so a misspelled label never becomes another class: `index_of(label, CLASSES) else skip`. Integers
    /// are found in a list of integers in the same way: `index_of(category, [3, 7, 9])`. A duplicate entry in
    /// the list is an error. The list may have thousands of entries: it is compiled to a lookup table once.
    ///
    /// ```pipe
    /// range(2) |> map { label: index_of("dog", ["cat", "dog"]) }    # { label: i64 }
    /// ```
    "index_of(x: any, values: list) fails -> i64",
    // Assumed: a hash of a short text, and one place in memory.
    cost: Cost::call(40.0),
    properties: &[Property::Numbers { of_path: false }],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = tensor_of(applied, 0)?;
    let Arg::List(all) = &applied.args[1] else { return Err("expected a list".to_owned()) };
    if all.is_empty() {
        return Err("the list is empty".to_owned());
    }
    if !shape.is_empty() {
        return Err("expected one string or integer per record, found a tensor".to_owned());
    }
    let fits = |it: &Arg| match it {
        Arg::Text(_) => dtype.is_text(),
        Arg::Int(_) => dtype.is_int(),
        _ => false,
    };
    if !dtype.is_text() && !dtype.is_int() {
        return Err(format!("expected a string or an integer, found `{dtype}`"));
    }
    if !all.iter().all(fits) {
        let wanted = if dtype.is_text() { "strings" } else { "integers" };
        return Err(format!("this is `{dtype}`, so the list must contain only {wanted}"));
    }
    repeated(all)?;
    Ok(Type::scalar(DType::I64))
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let Arg::List(all) = &call.args[1] else { unreachable!("the checker saw to a list") };
    let dtype = call.dtype(0).expect("the checker saw to a value");
    if dtype.is_text() {
        let names = Names::of(all);
        return Ok(Kernel::compute(move |args, out| {
            let text = args.tensor(0).as_text();
            let unknown = || names.unknown(&String::from_utf8_lossy(text), "entries");
            let number = names.number(text).ok_or_else(|| Fault::new("not-listed", unknown()))?;
            out.scalar(number)
        }));
    }
    let numbers: HashMap<i64, i64> =
        all.iter().zip(0..).filter_map(|(it, i)| Some((number(it)?, i))).collect();
    Ok(Kernel::compute(move |args, out| {
        let x = args.tensor(0);
        // A `u64` that an `i64` does not hold is in no list.
        let large = dtype == DType::U64 && x.int() < 0;
        let found = numbers.get(&x.int()).filter(|_| !large).ok_or_else(|| {
            let shown = if large { (x.int() as u64).to_string() } else { x.int().to_string() };
            let detail = format!("{shown} is not one of {} entries", numbers.len());
            Fault::new("not-listed", detail)
        })?;
        out.scalar(*found)
    }))
}

fn number(arg: &Arg) -> Option<i64> {
    if let Arg::Int(it) = arg { Some(*it) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn texts(all: &[&str]) -> Arg {
        Arg::List(all.iter().map(|it| Arg::Text((*it).into())).collect())
    }

    fn ints(all: &[i64]) -> Arg {
        Arg::List(all.iter().map(|it| Arg::Int(*it)).collect())
    }

    #[test]
    fn texts_and_whole_numbers_are_found() {
        for (text, number) in [("cat", 0_i64), ("dog", 1), ("", 2)] {
            let found = Trial::of(&ENTRY).text(text).arg(texts(&["cat", "dog", ""])).run();
            assert_eq!(found, Ok(Value::of(&[], &[number])), "{text}");
        }
        let found = Trial::of(&ENTRY).value(Tensor::new(&[], &[7_u8])).arg(ints(&[3, 7])).run();
        assert_eq!(found, Ok(Value::of(&[], &[1_i64])));
    }

    #[test]
    fn the_unknown_is_a_fault_that_names_the_nearest() {
        let fault = Trial::of(&ENTRY).text("dgo").arg(texts(&["cat", "dog"])).run().unwrap_err();
        assert_eq!(
            (fault.code, &*fault.detail),
            ("not-listed", "`dgo` is not one of 2 entries; the nearest is `dog`")
        );
        // 2⁶⁴ − 1 has the bits of −1.
        let large = Trial::of(&ENTRY).value(Tensor::new(&[], &[u64::MAX])).arg(ints(&[-1, 7]));
        assert_eq!(large.run().unwrap_err().detail, "18446744073709551615 is not one of 2 entries");
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        let text = |list| Trial::of(&ENTRY).text("a").arg(list).refused();
        assert_eq!(
            text(texts(&["a", "b", "a"])),
            "\"a\" is in the list twice, at 0 and 2, but can have only one number"
        );
        assert!(text(ints(&[1])).contains("only strings"));
        assert!(text(texts(&[])).contains("empty"));
        let float = Trial::of(&ENTRY).value(Tensor::new(&[], &[1_f32])).arg(ints(&[1])).refused();
        assert!(float.contains("integer"), "{float}");
    }
}
