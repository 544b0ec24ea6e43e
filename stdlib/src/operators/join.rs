//! `join`: fields of another stream, found by a key.

mod added;
mod by_file;
mod filling;
mod held;

use self::{
    added::Joining,
    filling::Filling,
    held::{Held, Key, SLOT_BYTES},
};
use super::{
    arguments::{named, texts, visible, word},
    group::{Group, check_held, failure, unfit},
    scalars::element,
};
use crate::prelude::*;
use plan::Faulty;
use runtime::{Builder, Kept, Mark, Operator, OperatorCall, Running, Wants};
use std::sync::{Arc, OnceLock};

operator! {
    /// Adds the fields of `right` to the records of `left` with the same key (a hash join).
    ///
    /// Use it to add a table of labels, captions or boxes to a stream of files. `on` names the key, a field of both
    /// streams: a string or an integer, or a list of such fields. The records of `left` keep their order, and get
    /// the other fields of `right`, whose names must differ from those of `left`. Rename and convert fields with
    /// `map` before: `csv("labels.csv") |> map { file: path, label }`.
    ///
    /// A key must not occur twice in `right`; it may in `left`. `missing` decides what happens to records without a
    /// match in `right`. By default (`fault`), the fields of `right` fail with `no-partner` where they are used, so
    /// that `caption else ""`, `else skip(most: 0.01)` and the quarantine apply; without an `else`, the run ends.
    /// `skip` drops the record. `keep` keeps it, and `fill` has a value for each field of `right`:
    /// `join(csv("captions.csv"), on: file, missing: keep, fill: { caption: "", score: 0.0 })`. A tensor is filled with
    /// the value; its dimensions that are not known at compile time are 0.
    ///
    /// `right` is read completely before the first record of `left`, and kept in memory: only the fields that are
    /// needed, up to half of the memory of the run. It is read once per run if it is the same in every epoch (no
    /// `shuffle`, random function, `epoch` or `else another`), otherwise once per epoch. The id of a record combines the
    /// ids of both.
    ///
    /// If the files of `right` lie beside those of `left`, as `00012.parquet` beside `00012.tar`, use `within: file`: the
    /// match of a record is looked for in the file with the same name, up to the first dot and whatever the folder; if
    /// there is no such file, it has no match. Only the files in use are held, about a quarter of the memory, so `right`
    /// may be larger than the memory; keys may occur again in other files. Both streams must begin with a source of files, each holding many records (`tar`, `tfrecord`, `parquet`,
    /// `csv`, `jsonl` …); `right` may continue with `map`, `with` and `where` only. Shuffle with `spans` or in a window:
    /// after a `shuffle` without a window, each record needs another file, which is slow if they do not all fit.
    ///
    /// `repeat`, and `shuffle` without a window, may follow a join wherever they may follow `left` itself. `faults` is
    /// set by the compiler.
    ///
    /// ```pipe
    /// range(4) |> join(range(10) |> map { i, square: i * i }, on: i)    # { i: i64, square: i64 }
    /// ```
    ///
    /// ```pipe
    /// range(100) |> join(range(50) |> map { i: 2 * i, half: i }, on: i, missing: skip)    # { i: i64, half: i64 }
    /// ```
    ///
    /// ```pipe
    /// range(4) |> join(range(3) |> map { i, half: i / 2 }, on: i) |> map { i, half: half else 0.0 }    # { i: i64, half: f64 }
    /// ```
    ///
    /// ```pipe no_run
    /// files("photos/*.jpg")
    ///     |> with { file: name_of(path) }
    ///     |> join(csv("captions.csv"), on: file, missing: skip)
    ///     |> shuffle
    /// ```
    ///
    /// ```pipe no_run
    /// tar("shards/*.tar")
    ///     |> join(parquet("shards/*.parquet", columns: ["key", "caption"]), on: key, missing: skip, within: file)
    ///     |> shuffle(window: 1_000, spans: 16)
    /// ```
    "join(left: stream, right: stream, on: fields, missing: fault | skip | keep = fault, \
     fill: record = none, within: run | file = run, faults: bool = false) -> stream",
    // Assumed: a key is hashed, and looked up where no cache has it; the fields of the second stream are copied, which
    // are few of the bytes.
    cost: Cost::out(60.0, 0.01),
    properties: &[Property::Does(Action::Join), Property::FieldWise, Property::Faulty(&FAULTY), Property::FaultyIf(MISSING, "fault")],
    fields: Some(fields),
}

/// Where parameters stand, after the streams.
const MISSING: usize = 1;
const FAULTS: usize = 4;
/// The field that says of a record why it has no partner.
const FAULT: &str = "join.fault";

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "partnered" };

/// Records that the second stream may have: their numbers are of 32 bits, and one says that there is none.
const ROWS_MAX: usize = u32::MAX as usize - 1;
/// The number of a record that is not there.
const NONE: u32 = u32::MAX;
/// What holds the records of the second stream, in messages.
const HELD: &str = "the second stream of a `join`";

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let Terms { added, missing, .. } = Terms::read(applied.args, applied.inputs)?;
    let fault = matches!(missing, Missing::Fault).then(fault_field);
    Ok(visible(&applied.inputs[0]).into_iter().chain(added).chain(fault).collect())
}

fn fault_field() -> Field {
    Field { name: FAULT.to_owned(), ty: Type::scalar(DType::Str) }
}

/// What the arguments say.
struct Terms {
    /// The places of the keys in the records of each stream.
    keys: [Vec<usize>; 2],
    missing: Missing,
    /// The fields that records get.
    added: Vec<Field>,
    /// Whether a record's partner is in the file of the same name.
    by_file: bool,
}

enum Missing {
    /// The run ends.
    Fail,
    /// Its fields are faults.
    Fault,
    Skip,
    /// With these elements in place of each field's.
    Keep(Vec<Vec<u8>>),
}

impl Terms {
    fn read(args: &[Arg], inputs: &[Vec<Field>]) -> Result<Self, String> {
        let ([on, missing, fill, within, faults], [left, right]) = (args, inputs) else {
            return Err("it needs two streams and a key".to_owned());
        };
        if let Some(it) = left.iter().chain(right).find(|it| it.name == FAULT) {
            return Err(format!(
                "it has a field `{}` itself: give that another name with `map`",
                it.name
            ));
        }
        let names: Vec<&str> = texts(on).collect();
        if names.is_empty() {
            return Err("`on` must name a field of both streams".to_owned());
        }
        let key = |name: &&str| Ok([place(left, name, "first")?, place(right, name, "second")?]);
        let keys: Vec<[usize; 2]> = names.iter().map(key).collect::<Result<_, String>>()?;
        for &[a, b] in &keys {
            check_key(&left[a], &right[b])?;
        }
        let is_key = |it: &Field| names.contains(&it.name.as_str());
        let added: Vec<Field> = visible(right).into_iter().filter(|it| !is_key(it)).collect();
        if let Some(both) = added.iter().find(|it| left.iter().any(|of| of.name == it.name)) {
            let name = &both.name;
            return Err(format!(
                "both streams have a field `{name}`: drop or rename one with `map`, or add it to the key, \
                 `on: [{}, {name}]`",
                names.join(", ")
            ));
        }
        let missing = match word(missing) {
            "skip" => Missing::Skip,
            "keep" => Missing::Keep(fills(fill, &added)?),
            _ if *faults == Arg::Bool(true) => Missing::Fault,
            _ => Missing::Fail,
        };
        if !matches!(missing, Missing::Keep(_)) && !named(fill).is_empty() {
            return Err("`fill` needs `missing: keep`".to_owned());
        }
        let keys = [0, 1].map(|of| keys.iter().map(|it| it[of]).collect());
        Ok(Self { keys, missing, added, by_file: word(within) == "file" })
    }
}

fn place(fields: &[Field], name: &str, which: &str) -> Result<usize, String> {
    let place = fields.iter().position(|it| it.name == name);
    place.ok_or_else(|| {
        let all: Vec<_> = visible(fields).iter().map(|it| format!("`{}`", it.name)).collect();
        format!(
            "the {which} stream has no field `{name}`, only {}: make one with `with {{ {name}: … }}`",
            all.join(", ")
        )
    })
}

fn check_key(left: &Field, right: &Field) -> Result<(), String> {
    let name = &left.name;
    for (of, which) in [(left, "first"), (right, "second")] {
        if of.ty.shape().is_some_and(|it| !it.is_empty()) {
            return Err(format!(
                "`{name}` of the {which} stream is `{}`, but a key is one value of each record: `join` before `batch`, or \
                 take one element, `with {{ {name}: {name}[0] }}`",
                of.ty
            ));
        }
    }
    let dtype = left.ty.dtype().filter(|it| it.is_text() || it.is_int());
    if dtype.is_none() || left.ty.shape() != Some(&[]) || left.ty.is_untyped() {
        let ty = &left.ty;
        return Err(format!("`{name}` is `{ty}`, but a key must be a string or an integer"));
    }
    if left.ty == right.ty {
        return Ok(());
    }
    let (a, b) = (&left.ty, &right.ty);
    let is_int = |it: &Field| it.ty.dtype().is_some_and(DType::is_int);
    let i64 = Type::scalar(DType::I64);
    let remedy = match (is_int(left), is_int(right)) {
        (true, true) => {
            let which = if right.ty == i64 { "first" } else { "second" };
            format!("convert that of the {which} stream, `with {{ {name}: i64({name}) }}`")
        }
        (true, false) => format!("make the first a string, `with {{ {name}: text_of({name}) }}`"),
        (false, true) => format!("make the second a string, `with {{ {name}: text_of({name}) }}`"),
        (false, false) => "the types must be the same".to_owned(),
    };
    Err(format!("`{name}` is `{a}` in the first stream and `{b}` in the second: {remedy}"))
}

/// One element for each field, where there is no record to take it from.
fn fills(fill: &Arg, added: &[Field]) -> Result<Vec<Vec<u8>>, String> {
    let fill = named(fill);
    if let Some((name, _)) = fill.iter().find(|(name, _)| added.iter().all(|it| it.name != *name)) {
        return Err(format!("`fill` names `{name}`, which is not a field that `join` adds"));
    }
    let of = |field: &Field| {
        let Field { name, ty } = field;
        let dtype = ty.dtype().filter(|_| !ty.is_untyped() && !ty.is_texts());
        let Some(dtype) = dtype else {
            return Err(format!("`{name}` is `{ty}`, which nothing can fill: drop it with `map`"));
        };
        match fill.iter().find(|it| it.0 == *name) {
            None => Err(format!(
                "`missing: keep` needs a value for each field that is added: `fill: {{ {name}: {} }}`",
                if dtype.is_text() { "\"\"" } else { "0" }
            )),
            Some((_, Arg::Text(text))) if dtype.is_text() => Ok(text.clone().into_bytes()),
            Some(_) if dtype.is_text() => {
                Err(format!("`fill` of `{name}` must be a string, since it is `{ty}`"))
            }
            Some((_, value)) => element(value, field, ("fill", "join")),
        }
    };
    added.iter().map(of).collect()
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let terms = Terms::read(call.args, call.inputs).map_err(Failure::Program)?;
    if terms.by_file {
        return by_file::build(call, terms);
    }
    let known = match call.state {
        None => None,
        Some([rows]) if *rows <= ROWS_MAX as u64 => Some(*rows),
        Some(_) => return Err(unfit("join")),
    };
    let held: Arc<OnceLock<Held>> = call.kept.map_or_else(Arc::default, Kept::get);
    let joining = Joining::new(call, &terms, held.clone());
    let serial = Join {
        group: Group::of(&call.inputs[1], call),
        filling: Filling::new(call, &terms),
        terms,
        known,
        held,
        passed: 0,
        done: false,
    };
    let add_fields = move |chunk: Chunk, _| Ok(joining.join(chunk));
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(add_fields)) })
}

/// Reads the second stream, then finds for each record of the first one which of its records it gets; `parallel`
/// copies the fields.
struct Join {
    terms: Terms,
    filling: Filling,
    /// The records of the second stream, as long as they come.
    group: Group,
    held: Arc<OnceLock<Held>>,
    /// How many there were, where a run is resumed.
    known: Option<u64>,
    /// Chunks that were out after the last one.
    passed: usize,
    done: bool,
}

impl Operator for Join {
    fn wants(&self) -> Wants {
        match self.held.get() {
            _ if self.done => Wants::Nothing,
            None => Wants::Input(1),
            Some(_) => Wants::Input(0),
        }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let pushed = match (input, chunk) {
            (1, Some(chunk)) => self.take_in(&chunk),
            (1, None) => self.hold(),
            (_, None) => {
                self.done = true;
                Ok(())
            }
            (_, Some(chunk)) => self.look_up(chunk, out),
        };
        self.passed = out.len();
        pushed
    }

    /// The second stream is read again from its begin.
    fn mark(&self) -> Option<Mark> {
        let rows = self.held.get().filter(|_| !self.done)?.rows as u64;
        // One at the least, so that a stream without a record is not taken for one that has ended.
        Some(Mark { chunks: self.passed, state: vec![rows], ahead: vec![0, rows.max(1)] })
    }
}

impl Join {
    fn take_in(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        let rows = self.group.rows() + chunk.rows;
        if rows > ROWS_MAX {
            return Err(failure(format!("{HELD} has more than {ROWS_MAX} records")));
        }
        self.group.add(chunk, 0..chunk.rows, rows);
        check_held(self.group.bytes() + rows * SLOT_BYTES, self.group.share(), HELD)
    }

    /// All records of the second stream have come.
    fn hold(&mut self) -> Result<(), Failure> {
        let rows = self.group.rows();
        if self.known.is_some_and(|it| it != rows as u64) {
            return Err(Failure::State(format!(
                "{HELD} has {rows} records, but had {} when the checkpoint was written",
                self.known.unwrap_or_default()
            )));
        }
        let held = self.filling.held(&mut self.group, self.terms.keys[1].clone())?;
        self.held.set(held).map_err(|_| failure("a `join` has read its second stream twice"))
    }

    /// Lets records of the first stream go on, each with the number of the one whose fields it gets.
    fn look_up(&self, mut chunk: Chunk, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let Some(held) = self.held.get() else {
            return Err(failure("a `join` has a record before its second stream was read"));
        };
        let columns = &self.terms.keys[0];
        let mut numbers = Builder::new(&Type::scalar(DType::U32), chunk.rows, &self.filling.pool);
        let (mut found, mut lost) = (0, None);
        for row in 0..chunk.rows {
            let key = Key { chunk: &chunk, columns, row };
            let number = held.find(&key);
            found += usize::from(number.is_some());
            numbers.push_scalar(match (number, &self.terms.missing) {
                (Some(number), _) => number,
                (None, Missing::Keep(_) | Missing::Fault) => held.rows as u32,
                (None, Missing::Skip) => NONE,
                (None, Missing::Fail) => {
                    lost = Some((row, key.shown()));
                    break;
                }
            });
        }
        if let Some((row, _)) = &lost {
            chunk = chunk.cut(0..*row);
        }
        let keeps = matches!(self.terms.missing, Missing::Keep(_) | Missing::Fault);
        if chunk.rows > 0 && (found > 0 || keeps) {
            chunk.columns.push(numbers.finish());
            out.push(chunk);
        }
        match lost {
            None => Ok(()),
            Some((_, key)) => Err(lost_partner(&no_partner(&key))),
        }
    }
}

/// What ends the run where a record has no partner.
fn lost_partner(why: &str) -> Failure {
    failure(format!(
        "{why}: skip such records (`missing: skip`), give them values (`missing: keep, fill: {{ … }}`), or use `else`"
    ))
}

fn no_partner(key: &str) -> String {
    format!("the second stream of `join` has no record with the key {key}")
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;
    use runtime::mix;

    const FAIL: &str = "fault";

    fn args(on: &[&str], missing: &str, fill: &[(&str, Arg)]) -> Vec<Arg> {
        let on = on.iter().map(|it| Arg::Text((*it).to_owned())).collect();
        let fill = fill.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
        let word = |it: &str| Arg::Word(it.to_owned());
        vec![Arg::List(on), word(missing), Arg::Record(fill), word("run"), Arg::Bool(false)]
    }

    /// The same where a record without a partner is a fault.
    fn faulty(on: &[&str]) -> Vec<Arg> {
        let mut args = args(on, FAIL, &[]);
        args[FAULTS] = Arg::Bool(true);
        args
    }

    /// Records with the keys `7 i % 40` and the texts `k0`, `k1`, …, of both.
    fn left(rows: usize) -> Table {
        table(&[("key", "i64"), ("name", "str"), ("x", "f32[2]")], rows, |it| {
            let key = it * 7 % 40;
            let x = Value::new(&[2], &[it as f32, 0.5]);
            vec![Value::scalar(key as i64), Value::text(&format!("k{key}")), x]
        })
    }

    /// Records with the keys `3 i`.
    fn right(rows: usize) -> Table {
        let fields = [("ids", "i32[?, 2]"), ("key", "i64"), ("name", "str"), ("text", "str")];
        table(&fields, rows, |it| {
            let key = it * 3;
            vec![
                Value::new(&[it % 4, 2], &vec![it as i32; it % 4 * 2]),
                Value::scalar(key as i64),
                Value::text(&format!("k{key}")),
                Value::text(&"text".repeat(it % 3)),
            ]
        })
    }

    /// For each record of the first one, all of the second one are looked at.
    fn joined(left: &[Record], right: &[Record], fill: Option<&[Value]>) -> Vec<Record> {
        let of = |it: &Record| {
            let same = right.iter().find(|of| of.values[1..3] == it.values[0..2]);
            let (id, more) = match same {
                Some(of) => (of.id, vec![of.values[0].clone(), of.values[3].clone()]),
                None => (0, fill?.to_vec()),
            };
            Some(Record { id: mix(it.id, id), values: [it.values.clone(), more].concat() })
        };
        left.iter().filter_map(of).collect()
    }

    #[test]
    fn each_record_gets_the_fields_of_its_key() {
        for (rows, of) in [(0, 0), (0, 5), (90, 14), (300, 40)] {
            let inputs = [left(rows), right(of)];
            let expected = joined(&inputs[0], &inputs[1], None);
            check(&ENTRY, &args(&["key", "name"], "skip", &[]), &inputs, expected);
        }
        let inputs = [left(20), right(0)];
        check(&ENTRY, &args(&["name", "key"], "skip", &[]), &inputs, Vec::new());
    }

    #[test]
    fn what_has_no_partner_is_filled() {
        let fill = [("ids", Arg::Int(7)), ("text", Arg::Text("none".to_owned()))];
        for of in [0, 1, 9, 40] {
            let inputs = [left(120), right(of)];
            let values = [Value::new::<i32>(&[0, 2], &[]), Value::text("none")];
            let expected = joined(&inputs[0], &inputs[1], Some(&values));
            assert_eq!(expected.len(), 120);
            check(&ENTRY, &args(&["key", "name"], "keep", &fill), &inputs, expected);
        }
    }

    #[test]
    fn what_has_no_partner_says_so() {
        for of in [0, 1, 9, 40] {
            let inputs = [left(120), right(of)];
            let values = [Value::new::<i32>(&[0, 2], &[]), Value::text("")];
            let mut expected = joined(&inputs[0], &inputs[1], Some(&values));
            assert_eq!(expected.len(), 120);
            for it in &mut expected {
                let keys: Vec<_> = inputs[1].iter().map(|of| &of.values[1..3]).collect();
                let key = it.values[0].bytes[0];
                let fault = match keys.contains(&&it.values[0..2]) {
                    true => String::new(),
                    false => format!(
                        "the second stream of `join` has no record with the key {key}, `k{key}`"
                    ),
                };
                it.values.push(Value::text(&fault));
            }
            check(&ENTRY, &faulty(&["key", "name"]), &inputs, expected);
        }
    }

    #[test]
    fn what_has_no_partner_ends_the_run() {
        let inputs = [left(40), right(3)];
        let failure = run(&ENTRY, &args(&["key", "name"], FAIL, &[]), &inputs, 3).unwrap_err();
        assert!(failure.to_string().contains("no record with the key 7, `k7`"), "{failure}");
        let inputs = [left(1), right(3)];
        let expected = joined(&inputs[0], &inputs[1], None);
        check(&ENTRY, &args(&["key", "name"], FAIL, &[]), &inputs, expected);
    }

    #[test]
    fn a_key_occurs_once_on_the_right() {
        let mut twice = right(9);
        twice.records[8].values[1] = Value::scalar(6_i64);
        twice.records[8].values[2] = Value::text("k6");
        let failure = run(&ENTRY, &args(&["key", "name"], FAIL, &[]), &[left(1), twice], 0);
        let failure = failure.unwrap_err().to_string();
        assert!(failure.contains("the key 6, `k6` occurs more than once"), "{failure}");
    }

    #[test]
    fn it_says_what_does_not_fit() {
        let (a, b) = (left(1), right(1));
        let refused = |args: &[Arg], inputs: [&Table; 2]| {
            super::super::model::refused(&ENTRY, args, &inputs.map(Clone::clone))
        };
        let said = refused(&args(&["key"], FAIL, &[]), [&a, &b]);
        assert!(said.contains("both streams have a field `name`"), "{said}");
        let said = refused(&args(&["file"], FAIL, &[]), [&a, &b]);
        assert!(said.contains("the first stream has no field `file`, only `key`"), "{said}");
        let said = refused(&args(&["x"], FAIL, &[]), [&a, &a]);
        assert!(
            said.contains("`x` of the first stream is `f32[2]`, but a key is one value"),
            "{said}"
        );
        let mut other = b.clone();
        other.fields[1] = field("key", "i32");
        let said = refused(&args(&["key", "name"], FAIL, &[]), [&a, &other]);
        assert!(said.contains("`i64` in the first stream and `i32` in the second"), "{said}");
        let said = refused(&args(&["key", "name"], "keep", &[("ids", Arg::Int(0))]), [&a, &b]);
        assert!(said.contains("`fill: { text: \"\" }`"), "{said}");
        let said = refused(&args(&["key", "name"], "keep", &[("nam", Arg::Int(0))]), [&a, &b]);
        assert!(said.contains("`fill` names `nam`"), "{said}");
        let said = refused(&args(&["key", "name"], "skip", &[("ids", Arg::Int(0))]), [&a, &b]);
        assert!(said.contains("`fill` needs `missing: keep`"), "{said}");
    }
}
