//! Functions of texts and paths on whatever text the data hold: what the standard library says of them.

use super::scratch::call;
use plan::{Arg, DType, ExprId, Type};
use runtime::{Fault, Tensor};

/// Calls them with the lines of the input: a text, a part of it, another part; and bounds.
pub(crate) fn texts(bytes: &[u8]) {
    let of_bytes = call("to_str", &[value()], (&[Tensor::text(DType::Bytes, bytes)], &string()));
    assert_eq!(of_bytes.is_ok(), str::from_utf8(bytes).is_ok());
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let [a, b, c] = std::array::from_fn(|_| lines.next().unwrap_or_default());
    let replaced = if b.is_empty() { a.to_owned() } else { a.replace(b, c) };
    assert_eq!(made("replace", &[a, b, c]).as_deref(), Ok(replaced.as_str()));
    assert_eq!(made("lower", &[a]), Ok(a.to_lowercase()));
    assert_eq!(made("upper", &[a]), Ok(a.to_uppercase()));
    assert_eq!(made("strip", &[a]).as_deref(), Ok(a.trim()));
    assert_eq!(said("contains", &[a, b]), a.contains(b));
    assert_eq!(said("starts_with", &[a, b]), a.starts_with(b));
    assert_eq!(said("ends_with", &[a, b]), a.ends_with(b));
    assert_eq!(number("parse_int", a), a.trim().parse().ok().map(i64::to_ne_bytes));
    assert_eq!(number("parse_float", a), a.trim().parse().ok().map(f64::to_ne_bytes));
    cut(a, (b.len() as i64 - 2, c.parse().unwrap_or(i64::MIN)));
    path(a, b);
}

/// The characters between two bounds, which count from the end below 0.
fn cut(text: &str, bounds: (i64, i64)) {
    let n = text.chars().count() as i64;
    let within = |it: i64| (if it < 0 { it.saturating_add(n) } else { it }).clamp(0, n) as usize;
    let (from, to) = (within(bounds.0), within(bounds.1));
    let expected: String = text.chars().skip(from).take(to.saturating_sub(from)).collect();
    let (low, high) = ([bounds.0], [bounds.1]);
    let values = [tensor(text), Tensor::new(&[], &low), Tensor::new(&[], &high)];
    let args = [value(), Arg::Int(bounds.0), Arg::Int(bounds.1)];
    let (_, found) = call("substring", &args, (&values, &string())).expect("it cannot fail");
    assert_eq!(String::from_utf8(found).as_deref(), Ok(expected.as_str()), "{text:?} {bounds:?}");
}

/// The parts of a path make up the path.
fn path(path: &str, extension: &str) {
    let part = |name| made(name, &[path]).expect("it cannot fail");
    let (folder, name) = (part("folder_of"), part("name_of"));
    assert_eq!(part("stem_of") + &part("extension_of"), name);
    assert!(!name.contains('/') && path.starts_with(&folder), "{path:?}: {folder:?}, {name:?}");
    let kept = path.trim_end_matches('/');
    assert!(kept.ends_with(&name) || kept.is_empty(), "{path:?}: {name:?}");
    let sibling = made("sibling", &[path, extension]).expect("it cannot fail");
    let stem = kept.strip_suffix(&part("extension_of")).expect("it ends so");
    assert_eq!(sibling, format!("{stem}{extension}"));
}

fn value() -> Arg {
    Arg::Expr(ExprId(0))
}

fn string() -> Type {
    Type::scalar(DType::Str)
}

fn tensor(text: &str) -> Tensor<'_> {
    Tensor::text(DType::Str, text.as_bytes())
}

fn called(function: &str, texts: &[&str]) -> Result<Vec<u8>, Fault> {
    let values: Vec<_> = texts.iter().map(|it| tensor(it)).collect();
    Ok(call(function, &vec![value(); texts.len()], (&values, &string()))?.1)
}

fn made(function: &str, texts: &[&str]) -> Result<String, Fault> {
    called(function, texts).map(|it| String::from_utf8(it).expect("texts are made of texts"))
}

fn said(function: &str, texts: &[&str]) -> bool {
    called(function, texts).expect("it cannot fail") == [1]
}

fn number(function: &str, text: &str) -> Option<[u8; 8]> {
    called(function, &[text]).ok().map(|it| it.try_into().expect("it is one number"))
}

/// Texts, paths and numbers.
pub(super) fn lines() -> Vec<Vec<u8>> {
    let all = [
        "images/\u{dc}ber/1.tar.gz\n.gz\n-3",
        "  \u{1e9e}\u{130}\u{2003}\u{301}x \nx\n9",
        "aaaa\naa\nb",
        "/a//b/.bashrc/\n.txt\n5",
        "-9223372036854775808\n\n1",
        " 1e-400 \ne\n0",
        "////\n/\n2",
    ];
    all.iter().map(|it| it.as_bytes().to_vec()).collect()
}
