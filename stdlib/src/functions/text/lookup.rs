//! `lookup`: the number of the line of a file that a key is.

use super::json::shown;
use crate::functions::tensor::tensor_of;
use crate::prelude::*;
use crate::records::{byte_order_mark, not_text, trim};
use plan::{File, count};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

function! {
    /// Returns the number of the line in a text file that equals the key: the id of a category or a word.
    ///
    /// `table` is the path of a file with one key per line, known at compile time, such as the vocabulary of a
    /// column. Lines are numbered from 0, and keys must be exactly equal, including spaces and case. Without
    /// `unknown`, a key that is not in the file fails with `not-listed`; `unknown: 0` returns that number
    /// instead. The key is a string, bytes, or an integer, which equals the line with its decimal digits.
    ///
    /// The file is UTF-8 and has at most 64 MiB; a byte order mark is dropped, and lines end as in `lines`.
    /// A line that occurs twice is an error. The file is read when the program is compiled, and its contents
    /// are part of the program: checkpoints and caches of another table are not used, and an executable made by
    /// `pipec build` includes it. It is compiled to a lookup table once. For a short list, use `index_of`.
    ///
    /// ```pipe no_run
    /// range(2) |> map { id: lookup("dog", "words.txt", unknown: -1) }    # { id: i64 }
    /// ```
    "lookup(key: any, table: file, unknown: int = none) fails -> i64",
    // A hash of a short text, and three places in memory. Measured with `pipec profile --workers 1` (release build, AMD EPYC,
    // 2026-11-28, medians of five): 160 ns with 100 lines, 460 ns with 50,000, 1.1 µs with 1,000,000.
    cost: Cost::call(460.0),
    properties: &[Property::Defaults("unknown")],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = tensor_of(applied, 0)?;
    if !shape.is_empty() {
        return Err("expected one string or integer per record, found a tensor".to_owned());
    }
    if !dtype.is_text() && !dtype.is_int() {
        return Err(format!("expected a string or an integer, found `{dtype}`"));
    }
    let Arg::File(file) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    let flaw = match table_of(file) {
        Some(Ok(_)) if dtype.is_int() => integers_of(file).and_then(Result::err),
        Some(made) => made.err(),
        None => None,
    };
    match flaw {
        Some(why) => Err(format!("`{}`: {why}", file.path())),
        None => Ok(Type::scalar(DType::I64)),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let file = call.file(1).clone();
    let table = table_of(&file).unwrap_or_else(|| Err("it was not read".to_owned()));
    let table =
        table.map_err(|why| Failure::Program(format!("`lookup`: `{}`: {why}", file.path())))?;
    let dtype = call.dtype(0).expect("the checker saw to a value");
    let fails = call.absent(2);
    Ok(Kernel::compute(move |args, out| {
        let key = args.tensor(0);
        let mut room = [0; DIGITS_MAX];
        let key = match dtype {
            dtype if dtype.is_text() => key.as_text(),
            dtype => digits(key.int(), dtype == DType::U64, &mut room),
        };
        match table.number(contents(&file), key) {
            Some(number) => out.scalar(i64::from(number)),
            None if fails => Err(Fault::new("not-listed", table.unknown(&file, key))),
            None => out.scalar(args.int(2)),
        }
    }))
}

/// The table that a file is, made once for all who ask; none where nobody has read the file.
pub(super) fn table_of(file: &File) -> Option<Result<Arc<Table>, String>> {
    // Where places in the table follow from the contents, nobody can choose contents that collide.
    let seed = u64::from_le_bytes(*file.hash().first_chunk().expect("a hash has 16 bytes"));
    file.made(|bytes| Table::new(bytes, seed).map_err(|why| told(file.path(), bytes, why)))
}

pub(super) fn contents(file: &File) -> &[u8] {
    file.bytes().expect("a table was made of it")
}

/// What is wrong with a file, where its first bytes say that it is of another format.
fn told(path: &str, bytes: &[u8], why: String) -> String {
    let start = &bytes[..bytes.len().min(64)];
    not_text(path, start).map_or(why, |(what, help)| format!("{what}; {help}"))
}

/// Lines that a table is made for, at the most: so many that differ are not in a file of the largest size.
const LINES_MAX: usize = (1 << 24) - 1;

/// The lines of a file, found by what they are.
///
/// It holds no text, which stays where it is. Places are tried one after the other from that of a hash on; one in
/// three at least is free.
pub(super) struct Table {
    /// Where each line begins, and the last one ends.
    starts: Vec<u32>,
    /// Eight bits of the hash, and the number of the line plus one; 0 where there is none.
    slots: Box<[u32]>,
    seed: u64,
}

impl Table {
    fn new(bytes: &[u8], seed: u64) -> Result<Self, String> {
        if let Err(error) = str::from_utf8(bytes) {
            let at = error.valid_up_to();
            let line = 1 + bytes[..at].iter().filter(|it| **it == b'\n').count();
            return Err(format!(
                "line {} is not valid UTF-8 (byte {} of the file); a table must be plain text, not compressed",
                count(line as u64),
                count(at as u64)
            ));
        }
        let begin = byte_order_mark(bytes);
        let text = &bytes[begin..];
        let breaks = text.iter().filter(|it| **it == b'\n').count();
        let lines = breaks + usize::from(!text.is_empty() && !text.ends_with(b"\n"));
        if lines == 0 {
            return Err("it is empty; write one key per line".to_owned());
        }

        // One of more lines than that is there twice, and is found before the table is full.
        let lines = lines.min(LINES_MAX);
        let slots = vec![0; (lines + lines / 2 + 1).next_power_of_two()].into_boxed_slice();
        let mut table = Self { starts: Vec::with_capacity(lines + 1), slots, seed };
        table.starts.push(begin as u32);
        for line in text.split_inclusive(|it| *it == b'\n') {
            table.add(bytes, line)?;
        }
        Ok(table)
    }

    /// Takes in the next line, with its end.
    fn add(&mut self, bytes: &[u8], line: &[u8]) -> Result<(), String> {
        let number = self.starts.len() - 1;
        let key = trim(line);
        let (tag, mut at) = self.place(key);
        while self.slots[at] != 0 {
            if self.slots[at] >> 24 == tag && self.line(bytes, self.slots[at]) == key {
                let (first, again) = (self.slots[at] & 0xff_ffff, number + 1);
                return Err(format!(
                    "lines {} and {} are the same, but a key can have only one number: remove one of them",
                    count(u64::from(first)),
                    count(again as u64)
                ));
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        assert!(number < LINES_MAX, "no file has so many lines that differ");
        self.slots[at] = tag << 24 | (number as u32 + 1);
        self.starts.push(self.starts[number] + line.len() as u32);
        Ok(())
    }

    /// Eight bits that most lines in the same place differ in, and the first place to look at.
    fn place(&self, key: &[u8]) -> (u32, usize) {
        let hash = xxh3_64_with_seed(key, self.seed);
        ((hash >> 56) as u32, hash as usize & (self.slots.len() - 1))
    }

    /// The line that a slot is of.
    fn line<'b>(&self, bytes: &'b [u8], slot: u32) -> &'b [u8] {
        let behind = (slot & 0xff_ffff) as usize;
        trim(&bytes[self.starts[behind - 1] as usize..self.starts[behind] as usize])
    }

    /// The number of the line that is `key`.
    pub(super) fn number(&self, bytes: &[u8], key: &[u8]) -> Option<u32> {
        let (tag, mut at) = self.place(key);
        loop {
            match self.slots[at] {
                0 => return None,
                slot if slot >> 24 == tag && self.line(bytes, slot) == key => {
                    return Some((slot & 0xff_ffff) - 1);
                }
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Says that `key` is no line of the file, and which one may be meant. It looks for a few alone: there may be
    /// millions of lines, and as many keys that are none.
    pub(super) fn unknown(&self, file: &File, key: &[u8]) -> String {
        let (text, lines) = (String::from_utf8_lossy(key), self.starts.len() - 1);
        let of = plan::things(lines as u64, "line", "lines");
        let none = format!("{} is not one of the {of} of `{}`", shown(&text), file.path());
        let trimmed = text.trim();
        let mut meant = [trimmed.to_owned(), trimmed.to_lowercase(), trimmed.to_uppercase()]
            .into_iter()
            .chain(capitalised(trimmed));
        match meant.find(|it| self.number(contents(file), it.as_bytes()).is_some()) {
            Some(meant) => format!("{none}, but {} is", shown(&meant)),
            None => none,
        }
    }
}

/// A word as names are written.
fn capitalised(word: &str) -> Option<String> {
    let mut chars = word.chars();
    let first = chars.next()?.to_uppercase();
    Some(first.chain(chars.flat_map(char::to_lowercase)).collect())
}

/// Digits of an integer, and its sign.
const DIGITS_MAX: usize = 20;

/// An integer as it is written in a table.
fn digits(x: i64, is_unsigned: bool, room: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let is_negative = x < 0 && !is_unsigned;
    let mut rest = if is_negative { x.unsigned_abs() } else { x as u64 };
    let mut at = DIGITS_MAX;
    loop {
        at -= 1;
        room[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if is_negative {
        at -= 1;
        room[at] = b'-';
    }
    &room[at..]
}

/// What integers are looked for in: a file with a line that is one.
struct Integers;

/// Whether integers can be found in a file: made once for all who ask.
fn integers_of(file: &File) -> Option<Result<Arc<Integers>, String>> {
    file.made(|bytes| {
        let text = &bytes[byte_order_mark(bytes)..];
        let mut any = false;
        for (number, line) in text.split_inclusive(|it| *it == b'\n').enumerate() {
            let line = trim(line);
            match is_integer(line) {
                true => any = true,
                false if is_integer_otherwise(line) => {
                    let line = count(number as u64 + 1);
                    return Err(format!(
                        "line {line} is an integer with spaces, a plus sign or leading zeros, so no key would \
                         equal it: write only its digits"
                    ));
                }
                // Such as a line for what is unknown.
                false => {}
            }
        }
        let why = "no line is an integer, but the key is: `text_of(key)` makes it a string";
        if any { Ok(Integers) } else { Err(why.to_owned()) }
    })
}

/// Whether a line is an integer as [`digits`] writes it.
fn is_integer(line: &[u8]) -> bool {
    match line.strip_prefix(b"-").unwrap_or(line) {
        b"0" => line == b"0",
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Whether a line is one in another form.
fn is_integer_otherwise(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let rest = line.strip_prefix(b"-").or_else(|| line.strip_prefix(b"+")).unwrap_or(line);
    !rest.is_empty() && rest.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use std::collections::HashMap;

    fn table(text: &str) -> Arg {
        Arg::File(File::new("words.txt", text.as_bytes().to_vec()))
    }

    fn found(key: &str, text: &str) -> Result<Value, Fault> {
        Trial::of(&ENTRY).text(key).arg(table(text)).arg(Arg::None).run()
    }

    fn number(it: i64) -> Result<Value, Fault> {
        Ok(Value::of(&[], &[it]))
    }

    #[test]
    fn lines_are_those_of_lines() {
        for (key, text, line) in [
            ("cat", "cat\ndog\n", 0),
            ("dog", "cat\ndog", 1),
            ("dog", "cat\r\ndog\r\n", 1),
            ("cat", "\u{feff}cat\n", 0),
            ("", "cat\n\ndog\n", 1),
            ("", "\n", 0),
            ("last\r", "first\nlast\r", 1),
            ("ä b ", "a\nä b \n", 1),
        ] {
            assert_eq!(found(key, text), number(line), "{key:?} in {text:?}");
        }
        let bytes = Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, b"dog"));
        assert_eq!(bytes.arg(table("cat\ndog\n")).arg(Arg::None).run(), number(1));
    }

    #[test]
    fn integers_are_found_by_their_digits() {
        let text = "<unknown>\n7\n-12\n18446744073709551615\n-9223372036854775808\n0\n255\n";
        let run =
            |key: Tensor<'_>| Trial::of(&ENTRY).value(key).arg(table(text)).arg(Arg::Int(-1)).run();
        assert_eq!(run(Tensor::new(&[], &[7_i64])), number(1));
        assert_eq!(run(Tensor::new(&[], &[7_u8])), number(1));
        assert_eq!(run(Tensor::new(&[], &[-12_i32])), number(2));
        assert_eq!(run(Tensor::new(&[], &[u64::MAX])), number(3));
        assert_eq!(run(Tensor::new(&[], &[-1_i64])), number(-1));
        assert_eq!(run(Tensor::new(&[], &[i64::MIN])), number(4));
        assert_eq!(run(Tensor::new(&[], &[0_i8])), number(5));
        assert_eq!(run(Tensor::new(&[], &[255_u8])), number(6));
        let refused = |text: &str| {
            let trial = Trial::of(&ENTRY).value(Tensor::new(&[], &[7_i64]));
            trial.arg(table(text)).arg(Arg::None).refused()
        };
        for wrong in ["7\n007\n", "7\n 8\n", "7\n+8\n", "7\n-0\n"] {
            assert!(refused(wrong).contains("line 2 is an integer with"), "{wrong:?}");
        }
        assert!(refused("a\nb\n").contains("no line is an integer"));
    }

    #[test]
    fn the_unknown_is_a_fault_or_a_number() {
        let text = "cat\nDog\nUSA\n";
        let fault = |key: &str| found(key, text).unwrap_err();
        assert_eq!(
            (fault("bird").code, &*fault("bird").detail),
            ("not-listed", "`bird` is not one of the 3 lines of `words.txt`")
        );
        for (key, meant) in [("Cat", "cat"), ("dog ", "Dog"), ("usa", "USA"), ("DOG", "Dog")] {
            let said = fault(key).detail.to_string();
            assert!(said.ends_with(&format!(", but `{meant}` is")), "{said}");
        }
        let trial = Trial::of(&ENTRY).text("bird").arg(table(text)).arg(Arg::Int(i64::MIN));
        assert_eq!(trial.run(), number(i64::MIN));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let refused = |bytes: &[u8]| {
            let file = Arg::File(File::new("words.txt", bytes.to_vec()));
            Trial::of(&ENTRY).text("a").arg(file).arg(Arg::None).refused()
        };
        assert_eq!(
            refused(b"secret\nb\nsecret\r\n"),
            "`words.txt`: lines 1 and 3 are the same, but a key can have only one number: remove one of them"
        );
        assert!(refused(b"").contains("it is empty"));
        assert!(refused(b"\xef\xbb\xbf").contains("it is empty"));
        assert!(refused(b"a\n\xff\n").contains("line 2 is not valid UTF-8 (byte 2 of the file)"));
        assert!(refused(b"PAR1\x15\xff\xff").contains("a Parquet file"));
        // So many lines are never told apart, and take no memory for each of them.
        assert!(refused(&vec![b'\n'; 20 << 20]).contains("lines 1 and 2 are the same"));
        let float = Trial::of(&ENTRY).value(Tensor::new(&[], &[1_f32]));
        assert!(float.arg(table("a")).arg(Arg::None).refused().contains("integer"));
        let two = Trial::of(&ENTRY).value(Tensor::new(&[2], &[1_i64, 2]));
        assert!(two.arg(table("1")).arg(Arg::None).refused().contains("a tensor"));
        // What nobody has read says nothing.
        let unread = Trial::of(&ENTRY).text("a").arg(Arg::File(File::unread("x")));
        let unread = unread.arg(Arg::None);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| unread.run())).is_err());
    }

    /// The same as a hash map of Rust's standard library, of tables of many sizes.
    #[test]
    fn every_line_is_found_and_nothing_else() {
        for lines in [1, 2, 3, 5, 42, 1_000, 70_000] {
            let all: Vec<String> = (0..lines).map(|it| format!("{:x}", plan::mix(7, it))).collect();
            let text = all.join("\n");
            let file = File::new("words.txt", text.into_bytes());
            let table = table_of(&file).unwrap().unwrap_or_else(|why| panic!("{why}"));
            assert!(table.slots.len() * 2 > all.len() * 3 && table.slots.len() <= 4 * all.len());
            let known: HashMap<&str, u32> = all.iter().map(String::as_str).zip(0..).collect();
            for it in 0..2 * lines {
                let key = format!("{:x}", plan::mix(7, it));
                let number = table.number(contents(&file), key.as_bytes());
                assert_eq!(number, known.get(key.as_str()).copied(), "{key} of {lines}");
            }
        }
    }
}
