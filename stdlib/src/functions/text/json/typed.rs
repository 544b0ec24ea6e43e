//! Some members of JSON objects, all found in one pass, as rows of columns with types.
//!
//! What is read here is what [`super::field`] and `as_type` give of the same text, one by one; where one of them
//! would give a fault, or might, nothing is read, and who asks finds that fault there. So nothing here says what is
//! wrong. As there, nothing is looked at behind the last member that is wanted.

use super::{super::as_type, Scan, said};
use crate::{marks::first_of, numbers::Usual};
use memchr::memchr2;
use plan::DType;
use runtime::Builder;

/// Members of one object that can be wanted.
const MEMBERS_MAX: usize = 64;
/// Objects within each other that are looked into.
pub(crate) const WITHIN_MAX: usize = 16;
/// Names of members that are remembered from one record to the next, and the bytes of one with what stands around it.
const KEYS_MAX: usize = 64;
const KEY_MAX: usize = 64;
/// Bytes of one that are compared at once.
const HEAD: usize = size_of::<u128>();
/// Bytes of a string that are looked at a few at a time: to begin a search of long ones takes as long.
const NEAR: usize = 64;

/// Which members of an object are wanted.
#[derive(Debug, Default)]
pub(crate) struct Object {
    /// Tells it from others.
    number: u32,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: Vec<u8>,
    wanted: Wanted,
}

#[derive(Debug)]
enum Wanted {
    /// The member itself, as a row of that column.
    Column(usize, DType),
    /// Members of it.
    Within(Object),
}

/// The members of the last record: the next one has the same, as a rule.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    keys: Vec<Key>,
    /// The next one.
    at: usize,
}

#[derive(Debug)]
struct Key {
    /// The object that it is of, and which of the wanted members it is.
    object: u32,
    member: Option<usize>,
    /// What stands from behind the bracket or comma to the value.
    text: Vec<u8>,
    /// The first bytes of it, and which of as many others are to be compared with them.
    head: u128,
    mask: u128,
}

impl Key {
    fn new(object: u32, member: Option<usize>, text: &[u8]) -> Self {
        let (mut head, mut mask) = ([0; HEAD], [0; HEAD]);
        let n = text.len().min(HEAD);
        head[..n].copy_from_slice(&text[..n]);
        mask[..n].fill(u8::MAX);
        let [head, mask] = [head, mask].map(u128::from_le_bytes);
        Self { object, member, text: text.to_vec(), head, mask }
    }

    /// Whether `rest` begins with it.
    #[inline]
    fn begins(&self, rest: &[u8]) -> bool {
        match rest.first_chunk::<HEAD>() {
            Some(_) if self.text.len() > HEAD => rest.starts_with(&self.text),
            Some(head) => (u128::from_le_bytes(*head) ^ self.head) & self.mask == 0,
            None => rest.starts_with(&self.text),
        }
    }
}

impl Object {
    /// Wants what is found at `pointer` (RFC 6901) as rows of the column `column`.
    ///
    /// # Errors
    /// Why that cannot be.
    pub(crate) fn want(
        &mut self,
        pointer: &str,
        (column, dtype): (usize, DType),
    ) -> Result<(), String> {
        let names = pointer.strip_prefix('/').ok_or("it does not begin with `/`")?;
        let names: Vec<Vec<u8>> = names
            .split('/')
            .map(|it| it.replace("~1", "/").replace("~0", "~").into_bytes())
            .collect();
        if names.len() > WITHIN_MAX {
            return Err(format!("it has more than {WITHIN_MAX} names"));
        }
        let mut next = self.count() + 1;
        self.add(&names, (column, dtype), &mut next)
    }

    /// How many objects there are in it.
    fn count(&self) -> u32 {
        let within = self.members.iter().map(|it| match &it.wanted {
            Wanted::Column(..) => 0,
            Wanted::Within(it) => 1 + it.count(),
        });
        within.sum()
    }

    fn add(
        &mut self,
        names: &[Vec<u8>],
        (column, dtype): (usize, DType),
        next: &mut u32,
    ) -> Result<(), String> {
        let [name, names @ ..] = names else { return Err("it is a prefix of another one".into()) };
        let at = match self.members.iter().position(|it| it.name == *name) {
            Some(at) => at,
            None if self.members.len() == MEMBERS_MAX => {
                return Err(format!(
                    "it is one of more than {MEMBERS_MAX} fields of the same object"
                ));
            }
            None => {
                let wanted = match names {
                    [] => Wanted::Column(column, dtype),
                    _ => Wanted::Within(Self { number: *next, members: Vec::new() }),
                };
                *next += 1;
                self.members.push(Member { name: name.clone(), wanted });
                if names.is_empty() {
                    return Ok(());
                }
                self.members.len() - 1
            }
        };
        match &mut self.members[at].wanted {
            Wanted::Within(it) => it.add(names, (column, dtype), next),
            Wanted::Column(..) => Err("it is listed twice, or is a prefix of another one".into()),
        }
    }

    /// Appends to each column the value that the text holds for it; `false` where one of them cannot be read, and
    /// then some columns may have a row more.
    pub(crate) fn read(&self, json: &[u8], keys: &mut Keys, columns: &mut [Builder]) -> bool {
        keys.at = 0;
        let mut scan = Scan::new(json);
        scan.closes(b'{') && self.members(&mut scan, 0, (keys, columns)).is_some()
    }

    /// The members behind the bracket of an object that stands within `depth` others.
    fn members(
        &self,
        scan: &mut Scan<'_>,
        depth: u32,
        (keys, columns): (&mut Keys, &mut [Builder]),
    ) -> Option<()> {
        let of_others = (MEMBERS_MAX - self.members.len()) as u32;
        let mut missing = u64::MAX.checked_shr(of_others).unwrap_or(0);
        let mut more = !scan.closes(b'}');
        while more {
            let found = keys.next(scan, self)?;
            match found.filter(|it| missing >> it & 1 == 1) {
                None => scan.skip(depth)?,
                Some(member) => {
                    missing &= !(1 << member);
                    match &self.members[member].wanted {
                        Wanted::Column(column, dtype) => {
                            value(scan, *dtype, &mut columns[*column])?;
                        }
                        Wanted::Within(object) => {
                            scan.closes(b'{').then_some(())?;
                            object.members(scan, depth + 1, (keys, columns))?;
                        }
                    }
                    // What follows is looked at by nobody; but an object within another is passed over first.
                    if missing == 0 && depth == 0 {
                        return Some(());
                    }
                }
            }
            more = scan.comma_or(b'}')?;
        }
        (missing == 0).then_some(())
    }
}

impl Keys {
    /// Moves past a member's name and the colon; which of the wanted members it is, if it is one.
    #[inline]
    fn next(&mut self, scan: &mut Scan<'_>, object: &Object) -> Option<Option<usize>> {
        if let Some(key) = self.keys.get(self.at)
            && key.object == object.number
            && key.begins(&scan.text[scan.at..])
        {
            scan.at += key.text.len();
            self.at += 1;
            return Some(key.member);
        }
        self.find(scan, object)
    }

    fn find(&mut self, scan: &mut Scan<'_>, object: &Object) -> Option<Option<usize>> {
        let start = scan.at;
        if scan.peek() != Some(b'"') {
            return None;
        }
        let (inner, is_escaped) = scan.between_quotes()?;
        let unescaped = if is_escaped { Some(said(inner).ok()?) } else { None };
        let name = unescaped.as_deref().unwrap_or(inner);
        let member = object.members.iter().position(|it| it.name == name);
        scan.closes(b':').then_some(())?;
        scan.peek();
        let text = &scan.text[start..scan.at];
        if self.at < KEYS_MAX && text.len() <= KEY_MAX {
            self.keys.truncate(self.at);
            self.keys.push(Key::new(object.number, member, text));
            self.at += 1;
        }
        Some(member)
    }
}

/// Moves past a value, and appends it.
fn value(scan: &mut Scan<'_>, dtype: DType, to: &mut Builder) -> Option<()> {
    let first = scan.peek()?;
    if dtype.is_text() {
        if first != b'"' {
            return None;
        }
        let (inner, is_escaped) = scan.between_quotes()?;
        if is_escaped {
            to.push_text(&said(inner).ok()?);
        } else {
            to.push_text(inner);
        }
        return Some(());
    }
    as_type::append(dtype, scan, to)
}

/// What the scan of one value does as well, without a word of what is wrong.
impl<'a> Scan<'a> {
    /// Moves past a value that stands within `depth` objects.
    #[inline]
    fn skip(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.between_quotes().map(|_| ()),
            b'{' | b'[' => self.nested_within(depth).ok(),
            _ => match self.usual() {
                Some(number) => {
                    self.pass(number.len);
                    Some(())
                }
                None => self.plain_word().map(|_| ()),
            },
        }
    }

    #[inline]
    fn comma_or(&mut self, bracket: u8) -> Option<bool> {
        let next = self.peek()?;
        self.at += 1;
        if next == bracket { Some(false) } else { (next == b',').then_some(true) }
    }

    /// Moves past a string, and gives what stands between its quotes, and whether something there is escaped.
    #[inline]
    fn between_quotes(&mut self) -> Option<(&'a [u8], bool)> {
        let start = self.at + 1;
        let (mut from, mut is_escaped) = (start, false);
        loop {
            let near = self.text.len().min(from + NEAR);
            let found = first_of(&self.text[..near], from, *b"\"\\").or_else(|| {
                let far = memchr2(b'"', b'\\', self.text.get(near..)?)?;
                Some(near + far)
            })?;
            if self.text[found] == b'"' {
                self.at = found + 1;
                return Some((&self.text[start..found], is_escaped));
            }
            (from, is_escaped) = (found + 2, true);
        }
    }

    /// Moves past a number or a named value.
    #[inline]
    pub(in super::super) fn plain_word(&mut self) -> Option<&'a [u8]> {
        // What begins otherwise is no such word, and a message that says so would be for nobody.
        matches!(self.peek()?, b'0'..=b'9' | b'-' | b'a'..=b'z' | b'A'..=b'Z').then_some(())?;
        self.word().ok()
    }

    /// The number that comes next, if it is a usual one.
    #[inline]
    pub(in super::super) fn usual(&self) -> Option<Usual> {
        Usual::in_front(&self.text[self.at..])
    }

    /// Moves past so many bytes.
    #[inline]
    pub(in super::super) fn pass(&mut self, n_bytes: usize) {
        self.at += n_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use plan::{Arg, Type};
    use runtime::{Fault, Pool, Skimmed};

    const WANTED: [(&[&str], DType); 8] = [
        (&["text"], DType::Str),
        (&["n"], DType::F32),
        (&["ok"], DType::Bool),
        (&["id"], DType::I64),
        (&["o", "b"], DType::U8),
        (&["o", "p", "a"], DType::Bytes),
        (&["a~/\"é"], DType::F64),
        (&[""], DType::BF16),
    ];

    const RECORDS: [&str; 62] = [
        r#"{"id": 1, "text": "one", "n": 1.5, "ok": true, "o": {"b": 7, "p": {"a": "x"}}, "a~/\"é": 0.1, "": 1}"#,
        r#"{"id": 2, "text": "two", "n": -2, "ok": false, "o": {"b": 8, "p": {"a": "y"}}, "a~/\"é": 1e3, "": 2}"#,
        r#" { "id" : 3 , "text" : "t" , "n" : 0 , "ok" : true , "o" : { "p" : { "a" : "" } , "b" : 0 } , "" : 1 } "#,
        r#"{"n":4,"id":4,"text":"other order","o":{"b":4,"q":[],"p":{"z":{},"a":"z"}},"ok":true}"#,
        r#"{"n": 5, "n": "twice", "id": 5, "id": 6, "text": "a", "text": 7, "ok": true, "ok": 1}"#,
        r#"{"n": "twice", "n": 5, "id": 5.5, "id": 6, "text": 7, "text": "a"}"#,
        r#"{"\u006e": 6, "t\u0065xt": "a\nb\u00e9\ud83e\udd80", "id": 6, "ok": true}"#,
        r#"{"\x": 1, "n": 7}"#,
        r#"{"n": 7, "\x": 1, "text": "behind a wrong escape"}"#,
        r#"{"text": "wrong \x escape", "n": 8}"#,
        r#"{"skipped": "wrong \x escape", "n": 8, "text": "\ud800"}"#,
        r#"{"n": 9, "text": "ends""#,
        r#"{"n": 9, "text": "open"#,
        r#"{"n": 9, "text": "x"} and more"#,
        r#"{"n": 9, "text": "x", nonsense"#,
        r#"{"n": 9 "text": "no comma"}"#,
        r#"{"n": 9, "text": "x",}"#,
        r#"{"n": 9,, "text": "x"}"#,
        r#"{"n" 9, "text": "x"}"#,
        r#"{n: 9, "text": "x"}"#,
        r#"{"n": , "text": "x"}"#,
        r#"{"bad": tru, "n": 9, "text": "x"}"#,
        r#"{"bad": [1, 2}, "n": 9, "text": "x"}"#,
        r#"{"bad": {"a": 1,}, "n": 9, "text": "x"}"#,
        r#"{"bad": 01, "n": 9, "text": "x"}"#,
        r#"{"bad": 1., "n": 9}"#,
        r#"{"bad": -, "n": 9}"#,
        r#"{"fine": [[[]], {"a": [1, {"b": null}]}, NaN, -Infinity], "n": 9, "text": "x"}"#,
        r#"{"n": NaN, "id": NaN}"#,
        r#"{"n": -Infinity, "id": Infinity, "": NaN}"#,
        r#"{"n": null, "text": null, "id": null, "ok": null, "o": null}"#,
        r#"{"n": true, "text": true, "id": false, "ok": "true"}"#,
        r#"{"n": [1], "text": ["x"], "id": {}, "ok": [], "o": [{"b": 1}]}"#,
        r#"{"n": 1e999, "id": 1e999}"#,
        r#"{"n": 123456789012345678901234567890, "id": 123456789012345678901234567890}"#,
        r#"{"n": 16777217.000000001, "id": 9223372036854775807}"#,
        r#"{"n": 0.500000029802322387, "id": -9223372036854775808}"#,
        r#"{"n": 3.0, "id": 3.0}"#,
        r#"{"n": 3e0, "id": 9223372036854775808}"#,
        r#"{"o": {"b": 256}, "n": 1}"#,
        r#"{"o": {"b": 255.0, "p": {"a": "é"}}, "n": 1}"#,
        r#"{"o": {"b": 1, "p": {"a": "x"}, "bad": tru}, "n": 1}"#,
        r#"{"o": {"b": 1, "p": {"a": "x"}}, "o": {"b": 2}, "n": 1}"#,
        r#"{"o": {"p": {"b": 3}}, "o": {"b": 2}, "n": 1}"#,
        r#"{"o": {"b": 1, "b": 2, "p": {"a": "x", "a": 7}}}"#,
        r#"{"o": {"b": 1"#,
        r#"{"o": {"b": 1, "p": {"a": "x"}}"#,
        r#"{"o": {}, "n": {}}"#,
        r#"{"a~/\"é": 1, "": 0.5}"#,
        r#"{"a~/\"\u00e9": 2, "": 0.5, "n": 1}"#,
        r#"{"": "", "n": 1}"#,
        "{}",
        "",
        " ",
        "[]",
        "7",
        "\"text\"",
        "null",
        "{",
        "no json",
        r#"{"text": "long, with a name and a value that are longer than what is looked at at once: \" \\ \/", "n": 1.0000000596046448}"#,
        r#"{"a name that is so long that it is not remembered from one record to the next, however often it comes": 1, "n": 2, "text": "é"}"#,
    ];

    /// What the evaluator finds, one member at a time.
    fn long_way(json: &str, path: &[&str], dtype: DType) -> Result<Value, Fault> {
        let mut found = json.as_bytes();
        for name in path {
            found = super::super::field(found, name.as_bytes(), &mut Skimmed::default())?;
        }
        let to = Arg::Type(Type::scalar(dtype));
        Trial::of(&as_type::ENTRY).untyped(str::from_utf8(found).unwrap()).arg(to).run()
    }

    /// Reads records one after the other as the members `which` of [`WANTED`], and holds each against the long way;
    /// gives how many were read.
    fn check<'a>(records: impl Iterator<Item = &'a str>, which: &[usize]) -> usize {
        let (mut wanted, mut keys, mut n_read) = (Object::default(), Keys::default(), 0);
        let which: Vec<_> = which.iter().map(|it| WANTED[*it]).collect();
        for (at, (path, dtype)) in which.iter().enumerate() {
            let names = path.iter().map(|it| it.replace('~', "~0").replace('/', "~1"));
            let pointer: String = names.map(|it| format!("/{it}")).collect();
            wanted.want(&pointer, (at, *dtype)).unwrap();
        }
        for json in records {
            let column =
                |it: &(&[&str], DType)| Builder::new(&Type::scalar(it.1), 1, &Pool::default());
            let mut columns: Vec<Builder> = which.iter().map(column).collect();
            let is_read = wanted.read(json.as_bytes(), &mut keys, &mut columns);
            let expected: Vec<_> = which.iter().map(|it| long_way(json, it.0, it.1)).collect();
            let all = expected.iter().all(Result::is_ok);
            assert_eq!(is_read, all, "{which:?} of {json}: {expected:?}");
            for (column, expected) in columns.into_iter().zip(expected).filter(|_| is_read) {
                let found = column.finish();
                assert_eq!(
                    (found.rows(), Value::from(found.row(0))),
                    (1, expected.unwrap()),
                    "{json}"
                );
            }
            n_read += usize::from(is_read);
        }
        n_read
    }

    #[test]
    fn what_is_read_is_what_is_found_the_long_way() {
        for (first, wanted) in WANTED.iter().enumerate() {
            let read = check(RECORDS.into_iter(), &[first]);
            assert!(read > 1, "{wanted:?} is read {read} times");
            for second in (0..WANTED.len()).filter(|it| *it != first) {
                check(RECORDS.into_iter(), &[first, second]);
                let third = (first + second) % WANTED.len();
                if third != first && third != second {
                    check(RECORDS.into_iter().rev(), &[third, first, second]);
                }
            }
        }
        assert_eq!(check(RECORDS.into_iter().take(2), &[0, 1, 2, 3, 4, 5, 6, 7]), 2);
    }

    /// Names that were seen in another record, or in another object, are not taken for what they are not.
    #[test]
    fn names_are_those_of_their_record() {
        for turn in 1..RECORDS.len() {
            let turned = (0..RECORDS.len()).map(|it| RECORDS[(it * turn + turn) % RECORDS.len()]);
            check(turned, &[turn % 4, 4, 5]);
        }
        let (b, p) = (r#"{"b": 1}"#, r#"{"o": {"b": 1}}"#);
        check([b, p, b, p, p, b].into_iter(), &[4]);
    }

    #[test]
    fn nesting_is_bounded_as_everywhere() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let records =
            [127, 128, 129].map(|it| format!("{{\"skipped\": {}, \"n\": 1}}", nested(it)));
        assert_eq!(check(records.iter().map(String::as_str), &[1]), 2);
        let inner =
            [126, 127, 128].map(|it| format!("{{\"o\": {{\"x\": {}, \"b\": 1}}}}", nested(it)));
        assert_eq!(check(inner.iter().map(String::as_str), &[4]), 2);
    }

    #[test]
    fn what_cannot_be_wanted_is_refused() {
        let mut wanted = Object::default();
        let column = (0, DType::F32);
        assert!(wanted.want("/a/b", column).is_ok());
        for pointer in ["a", "", "/a", "/a/b", "/a/b/c"] {
            assert!(wanted.want(pointer, column).is_err(), "{pointer}");
        }
        assert!(wanted.want(&"/x".repeat(16), column).is_ok());
        assert!(wanted.want(&"/y".repeat(17), column).is_err());
        let all = (0..99).map(|it| wanted.want(&format!("/m{it}"), column));
        assert_eq!(all.filter(Result::is_ok).count(), 62);
    }
}
