//! JSON: what is skimmed where it lies says what `serde_json` reads of it.

use super::scratch::{Value as Made, call};
use plan::{Arg, DType, ExprId, Extent, Type, Untyped};
use runtime::{Fault, Tensor};
use serde_json::Value;

/// Members and elements of a value that are looked at.
const PARTS_MAX: usize = 20;
/// Values within values that are looked at.
const DEPTH_MAX: usize = 6;
/// Nesting with which both readers can do.
const NESTED: usize = 126;

/// Reads a value, its parts, and what types it may be.
pub(crate) fn json(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let expected: Result<Value, _> = serde_json::from_str(text);
    let found = whole(text);
    as_types(text);
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(serde_json::from_str::<Value>(&found).ok().as_ref(), Some(&expected));
            same(&found, &expected, 0);
        }
        (Err(fault), Ok(_)) => {
            assert!(fault.code == "json-depth" && nesting(text) > NESTED, "{}", fault.detail);
        }
        (Ok(_), Err(why)) => assert!(is_lenient(text), "{why}"),
        (Err(fault), Err(_)) => assert!(fault.detail.len() < 1000, "{}", fault.detail),
    }
}

/// Whether it holds what is read beyond the grammar: the words of Python, what a string should have
/// escaped or has escaped wrongly (seen where the string is asked for), numbers beyond any float.
fn is_lenient(text: &str) -> bool {
    let beyond = ["NaN", "Infinity", "\\", "e", "E"].iter().any(|it| text.contains(it));
    let long = text.bytes().filter(u8::is_ascii_digit).count() > 300;
    beyond || long || nesting(text) > NESTED || text.bytes().any(|it| it < b' ')
}

/// Brackets that may be open at once, at most.
fn nesting(text: &str) -> usize {
    text.bytes().filter(|it| matches!(it, b'[' | b'{')).count()
}

/// A value and its parts are what was expected.
fn same(text: &str, expected: &Value, depth: usize) {
    if depth > DEPTH_MAX {
        return;
    }
    match expected {
        Value::Object(all) => {
            for (key, expected) in all.iter().take(PARTS_MAX) {
                let member = field(text, key).unwrap_or_else(|it| panic!("`{key}`: {}", it.detail));
                // Of members with one name the first counts here, and the last there.
                let value = serde_json::from_str::<Value>(&member);
                if value.as_ref().ok() == Some(expected) {
                    same(&member, expected, depth + 1);
                } else {
                    assert!(text.matches(':').count() > all.len(), "`{key}` is {member}");
                }
            }
            let missing = format!("{}?", all.keys().max().cloned().unwrap_or_default());
            assert_eq!(field(text, &missing).err().map(|it| it.code), Some("field-missing"));
        }
        Value::Array(all) => {
            for (i, expected) in all.iter().enumerate().take(PARTS_MAX) {
                let element = at(text, i as i64).expect("it is there");
                let from_end = at(text, i as i64 - all.len() as i64).expect("it is there");
                assert_eq!(element, from_end, "element {i}");
                same(&element, expected, depth + 1);
            }
            for beyond in [all.len() as i64, -1 - all.len() as i64, i64::MIN, i64::MAX] {
                assert_eq!(at(text, beyond).err().map(|it| it.code), Some("index"));
            }
        }
        Value::String(expected) => {
            let (_, bytes) = as_type(text, DType::Str, &[]).expect("it is a string");
            assert_eq!(bytes, expected.as_bytes());
        }
        Value::Number(expected) => number(text, expected),
        Value::Bool(expected) => {
            let (_, bytes) = as_type(text, DType::Bool, &[]).expect("it is a bool");
            assert_eq!(bytes, [u8::from(*expected)]);
        }
        Value::Null => assert!(as_type(text, DType::F64, &[]).is_err()),
    }
}

fn number(text: &str, expected: &serde_json::Number) {
    let (_, bytes) = as_type(text, DType::F64, &[]).expect("it is a number");
    let found = f64::from_ne_bytes(bytes.try_into().expect("it is one"));
    let exact: f64 = text.trim().parse().expect("it is a number of Rust, too");
    assert_eq!(found.to_bits(), exact.to_bits(), "{text}");
    let whole = as_type(text, DType::I64, &[]).ok();
    let whole = whole.map(|it| i64::from_ne_bytes(it.1.try_into().expect("it is one")));
    match expected.as_i64() {
        Some(expected) => assert_eq!(whole, Some(expected), "{text}"),
        None => assert!(whole.is_none_or(|it| it as f64 == exact), "{text} is {whole:?}"),
    }
}

/// Whatever it is, it is a value of a type or a fault; lists in lists have the lengths that they have.
fn as_types(text: &str) {
    let unknown = [Extent::Unknown, Extent::Unknown];
    let square = [Extent::Named("n".into()), Extent::Named("n".into())];
    let three = [Extent::Unknown, Extent::Known(3), Extent::Unknown];
    for (dtype, shape) in [
        (DType::F32, &unknown[..]),
        (DType::U8, &square),
        (DType::F16, &three),
        (DType::I32, &unknown[..1]),
        (DType::BF16, &[]),
        (DType::U64, &[]),
        (DType::Bytes, &[]),
    ] {
        let Ok((extents, bytes)) = as_type(text, dtype, shape) else { continue };
        if dtype.is_text() {
            continue;
        }
        assert_eq!(extents.iter().product::<usize>() * dtype.size(), bytes.len());
        let fits = |(wanted, found): (&Extent, &usize)| match wanted {
            Extent::Known(n) => *n == *found as u64,
            _ => true,
        };
        assert!(extents.len() == shape.len() && shape.iter().zip(&extents).all(fits));
    }
}

fn texts(name: &str, args: &[Arg], values: &[Tensor<'_>]) -> Result<String, Fault> {
    let (_, bytes) = call(name, args, (values, &Type::Untyped(Untyped::Json)))?;
    Ok(String::from_utf8(bytes).expect("what is cut out of a text is text"))
}

fn value() -> Arg {
    Arg::Expr(ExprId(0))
}

fn tensor(text: &str) -> Tensor<'_> {
    Tensor::text(DType::Str, text.as_bytes())
}

fn whole(text: &str) -> Result<String, Fault> {
    texts("parse_json", &[value()], &[tensor(text)])
}

fn field(text: &str, key: &str) -> Result<String, Fault> {
    texts("untyped_field", &[value(), value()], &[tensor(text), tensor(key)])
}

fn at(text: &str, i: i64) -> Result<String, Fault> {
    let number = [i];
    let number = Tensor::new(&[], &number);
    texts("untyped_at", &[value(), Arg::Int(i)], &[tensor(text), number])
}

fn as_type(text: &str, dtype: DType, shape: &[Extent]) -> Result<Made, Fault> {
    let ty = Type::Tensor { dtype, shape: shape.to_vec() };
    let args = [value(), Arg::Type(ty.clone())];
    call("as_type", &args, (&[tensor(text), Tensor::nothing()], &ty))
}

/// What is found in a text by names, outermost first, as a scalar.
pub(super) fn found(text: &str, path: &[&str], dtype: DType) -> Result<Vec<u8>, Fault> {
    let mut found = text.to_owned();
    for name in path {
        found = field(&found, name)?;
    }
    as_type(&found, dtype, &[]).map(|it| it.1)
}

/// Values of every kind, sound and not.
pub(super) fn values() -> Vec<Vec<u8>> {
    let values = [
        r#"{"text": "a\n\u00e9\ud83e\udd80", "boxes": [[1, 2.5, -3e2], [4, 5, 6]], "ok": true}"#,
        r#"[[0.1, 1e-7, 18446744073709551615], [9007199254740993, -0, 3.0]]"#,
        r#" { "a" : { "b" : [ { } , [ ] , null ] } , "a" : "twice" } "#,
        r#"[NaN, Infinity, -Infinity, 1e999, 01, 1., .5, +1]"#,
        r#"["\ud800", "\x", "\u12", "tab	", "\"", "\\"]"#,
        r#"[[1, 2], [3]] 4"#,
        r#"{"a" 1, "b": }"#,
        "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
        "\"",
        "-",
    ];
    values.iter().map(|it| it.as_bytes().to_vec()).collect()
}
