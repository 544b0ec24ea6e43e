//! Random programs, as text: streams that grow step by step, each step approved by the checker.

use crate::random::{
    World,
    callee::Callee,
    dice::Dice,
    oracle::HEAD,
    steps::{self, Growing},
};
use plan::Field;
use std::ops::Range;

/// A program that can be cut back.
#[derive(Clone)]
pub(crate) struct Draft {
    /// Functions that it declares.
    pub(crate) functions: Vec<String>,
    /// Its pipelines; the last one is run, the others it uses.
    pub(crate) streams: Vec<Stream>,
}

/// A pipeline.
#[derive(Clone)]
pub(crate) struct Stream {
    pub(crate) name: String,
    /// What it begins with: a source, or streams that are put together.
    pub(crate) head: String,
    pub(crate) steps: Vec<String>,
}

/// Steps that were offered to the checker, and what it said.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) offered: usize,
    pub(crate) refused: Vec<String>,
}

impl Draft {
    /// The program of a number: the same text for the same number.
    pub(crate) fn of(number: u64, world: &World, tally: &mut Tally) -> Option<Self> {
        let favoured = if number < LATER { &world.library } else { &world.later };
        let mut favourites =
            [0, favoured.len() / 2].map(|it| &favoured[(number as usize + it) % favoured.len()]);
        if LATER_CALLED.contains(&number) {
            let name = LATER_CALLS[number as usize % LATER_CALLS.len()];
            let later = favoured.iter().find(|it| it.name == name);
            favourites[1] = later.unwrap_or(favourites[1]);
        }
        if number >= SELDOM {
            let named = |name: &str| world.library.iter().find(|it| it.name == name);
            favourites = SELDOM_CALLS.map(|it| named(it).expect("it is one of the library"));
            if number >= NAMED && number % 2 == 1 {
                let later = world.later.iter().find(|it| it.name == NAMED_CALL);
                favourites[1] = later.expect("it is one of the later ones");
            }
        }
        if number >= RARE {
            let named = |name: &str| world.library.iter().find(|it| it.name == name);
            let both = RARE_CALLS[number as usize % RARE_CALLS.len()];
            favourites = both.map(|it| named(it).expect("it is one of the library"));
        }
        if number >= TOKENS {
            let named = |name: &str| world.library.iter().find(|it| it.name == name);
            favourites = TOKENS_CALLS.map(|it| named(it).expect("it is one of the library"));
        }
        let mut writer = Writer {
            dice: Dice::new(number),
            number,
            favourites,
            world,
            tally,
            draft: Self { functions: Vec::new(), streams: Vec::new() },
            names: 0,
        };
        writer.all().then_some(writer.draft)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        text.extend(self.functions.iter().map(|it| format!("{it}\n")));
        for Stream { name, head, steps } in &self.streams {
            text += &format!("pipeline {name} =\n    {head}\n");
            text.extend(steps.iter().map(|it| format!("    |> {it}\n")));
        }
        text
    }
}

/// Writes one program.
pub(crate) struct Writer<'a> {
    number: u64,
    pub(crate) dice: Dice,
    pub(crate) world: &'a World,
    /// Functions that it calls more often than others, others in each program: so that none is used
    /// by chance alone.
    favourites: [&'a Callee; 2],
    pub(crate) tally: &'a mut Tally,
    pub(crate) draft: Draft,
    names: usize,
}

/// From this number on, programs have what was not there when those before it were written, which so stay as they are.
pub(super) const LATER: u64 = 2000;
/// Functions that later programs call more often, and the numbers of these.
const LATER_CALLS: [&str; 4] = ["bucketize", "decompress", "lookup", "parse_table"];
const LATER_CALLED: Range<u64> = LATER..2300;
/// From this number on, programs call most often what those before them call seldom.
const SELDOM: u64 = 2360;
const SELDOM_CALLS: [&str; 2] = ["starts_with", "random_box"];
/// From this number on, programs read tables whose columns they give names.
const NAMED: u64 = 2376;
/// What every other one of them calls most often.
const NAMED_CALL: &str = "read_npy";
/// Records that a stream has at the most, about.
const RECORDS_MAX: usize = 300;

/// From this number on, programs call what those before them have called least often since `join` has other arguments.
const RARE: u64 = 2392;
const RARE_CALLS: [[&str; 2]; 2] = [["box_mask", "decode_png"], ["extension_of", "clamp"]];

/// From this number on, programs pack several fields, and pad batches to the bounds of their buckets.
const PACKS: u64 = 2620;
/// From this number on, they look for texts that are nearly the same.
const NEAR: u64 = 2660;
/// From this number on, they warp images.
const WARPS: u64 = 2740;

/// From this number on, programs join files with those beside them.
const BESIDE: u64 = 2416;
/// From this number on, they tokenize texts.
pub(super) const TOKENS: u64 = 2480;
/// What those call most often: without them, too few of all programs would.
const TOKENS_CALLS: [&str; 2] = ["argmax", "lerp"];
/// From this number on, with tokenizers of all kinds.
const KINDS: u64 = 2520;
/// From this number on, they ask texts what filters of a corpus do.
const CORPUS: u64 = 2560;
/// From this number on, they make tokens of chats.
const CHATS: u64 = 2600;
/// What they read, and about how many records it has.
const BESIDE_SOURCES: [(&str, usize); 8] = [
    ("csv(\"{data}/tables/*.csv\", missing: { age: skip })", 22),
    ("jsonl(\"{data}/rows/*.jsonl\")", 22),
    ("lines(\"{data}/texts/*.txt\")", 30),
    ("tfrecord(\"{data}/shards/*.tfrecord\")", 20),
    ("tar(\"{data}/shards/*.tar\")", 18),
    ("records(\"{data}/shards/*.bin\", size: 9)", 12),
    ("parquet(\"{data}/columns/*.parquet\", missing: { x: skip })", 69),
    ("arrow(\"{data}/columns/*.arrow\", columns: [\"n\", \"x\", \"xs\", \"at\"])", 46),
];

impl Writer<'_> {
    /// A name that nothing has yet.
    pub(crate) fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn all(&mut self) -> bool {
        if self.dice.percent(15) {
            self.function();
        }
        let (head, records, indexed) = match self.dice.below(10) {
            0..7 if (BESIDE..TOKENS).contains(&self.number) => self.join_beside(),
            0..6 if self.number >= LATER => self.join(),
            6 | 7 if self.number >= LATER => self.zip_in_any_order(),
            0 => self.zip(),
            1 => self.several("concat"),
            2 | 3 => self.several("mix"),
            _ => {
                let (head, records) = self.source();
                (head, records, true)
            }
        };
        let Some(mut growing) = self.stream("p", head) else { return false };
        (growing.records, growing.indexed) = (records, growing.indexed && indexed);
        growing.joined = self.draft.streams.len() > 1;
        let later = if self.number >= LATER { steps::LATER } else { &[] };
        let kinds = [steps::ANY, later].concat();
        let own = match self.number {
            WARPS.. => steps::WARPS,
            NEAR.. => steps::NEAR,
            PACKS.. => steps::PACKS,
            CHATS.. => steps::CHATS,
            CORPUS.. => steps::CORPUS,
            KINDS.. => steps::KINDS,
            TOKENS.. => steps::TOKENS,
            _ => &[],
        };
        if !own.is_empty() {
            steps::grow(self, &mut growing, own);
        }
        for _ in 0..2 + self.dice.below(7) {
            steps::grow(self, &mut growing, &kinds);
        }
        steps::finish(self, &mut growing);
        if self.draft.streams.len() == 1 && self.dice.percent(25) {
            self.lanes();
        }
        true
    }

    /// Lets the source say lanes, if that can be run. Three ranks can share them.
    fn lanes(&mut self) {
        let n = *self.dice.pick(&[3, 6, 24]);
        let before = self.draft.streams[0].head.clone();
        let open = before.strip_suffix(')').unwrap_or(&before);
        self.draft.streams[0].head = format!("{open}, lanes: {n})");
        if self.offered().is_err() || !self.lowers("p") {
            self.draft.streams[0].head = before;
        }
    }

    /// Whether a stream can be run as it is.
    pub(crate) fn lowers(&self, name: &str) -> bool {
        let plan = self.world.oracle.plan(&self.draft.text(), name);
        let lowered =
            plan.map(|it| compiler::lower::lower(&it, &stdlib::library(), &|_| String::new()));
        matches!(lowered, Ok(Ok(_)))
    }

    /// A function of two numbers.
    fn function(&mut self) {
        let (x, y) = (plan::DType::I64, plan::DType::F32);
        let field =
            |name: &str, dtype| Field { name: name.to_owned(), ty: plan::Type::scalar(dtype) };
        let fields = [field("x", x), field("y", y)];
        let body = self.values(&fields).any();
        self.draft.functions.push(format!("fn own(x, y) = {}", body.text));
        let called = "pipeline p = range(3) |> map { z: own(i, f32(i)) }\n";
        let text = format!("{HEAD}{}\n{called}", self.draft.functions[0]);
        self.tally.offered += 1;
        if let Err(why) = self.world.oracle.plan(&text, "p") {
            self.tally.refused.push(format!("{}: {why}", self.draft.functions[0]));
            self.draft.functions.clear();
        }
    }

    pub(crate) fn values<'v>(&'v mut self, fields: &'v [Field]) -> super::values::Values<'v> {
        let (library, favourites) = (&self.world.library, self.favourites);
        super::values::Values { dice: &mut self.dice, library, favourites, fields }
    }

    /// Begins a stream; none if the checker does not like its head.
    fn stream(&mut self, name: &str, head: String) -> Option<Growing> {
        self.draft.streams.push(Stream { name: name.to_owned(), head, steps: Vec::new() });
        match self.offered() {
            Ok(fields) => {
                let mut growing = Growing {
                    fields,
                    records: 40,
                    indexed: true,
                    batches: 0,
                    aligned: name != "p",
                    joined: false,
                };
                steps::number(self, &mut growing);
                Some(growing)
            }
            Err(_) => {
                self.draft.streams.pop();
                None
            }
        }
    }

    /// What the last stream gives, if the checker likes it.
    pub(crate) fn offered(&mut self) -> Result<Vec<Field>, String> {
        self.tally.offered += 1;
        let name = self.draft.streams.last().map_or("", |it| &it.name);
        let plan = self.world.oracle.plan(&self.draft.text(), name);
        plan.map(|it| it.output().to_vec()).inspect_err(|why| {
            let stream = self.draft.streams.last();
            let step = stream.map_or("", |it| it.steps.last().unwrap_or(&it.head));
            self.tally.refused.push(format!("{step}: {why}"));
        })
    }

    /// A source, and about how many records it has.
    fn source(&mut self) -> (String, usize) {
        if (NAMED..RARE).contains(&self.number) && self.dice.percent(80) {
            return self.named_source();
        }
        if self.number >= LATER && self.dice.percent(70) {
            return self.later_source();
        }
        let (text, records) = match self.dice.below(18) {
            0 | 1 => ("files(\"{data}/pictures/**/*\")", 16),
            2 => ("paths(\"{data}/pictures/*/*.{jpg,png}\")", 12),
            3 => ("lines(\"{data}/texts/*.txt\")", 30),
            4 => ("csv(\"{data}/tables/*.csv\", missing: { age: -1 })", 24),
            5 | 8 => ("jsonl(\"{data}/rows/*.jsonl\")", 22),
            6 => ("tfrecord(\"{data}/shards/*.tfrecord\")", 20),
            7 => ("tar(\"{data}/shards/*.tar\")", 18),
            10 => ("records(\"{data}/shards/*.bin\", size: 9)", 12),
            11 => ("records(\"{data}/shards/*.bin\", size: 8, skip: 5)", 12),
            12 => ("npy(\"{data}/arrays/*.npy\")", 11),
            13 if self.dice.percent(50) => (
                "parquet(\"{data}/columns/*.parquet\", missing: { x: skip })\n    |> where n >= 9 and n != 40",
                42,
            ),
            13 => ("parquet(\"{data}/columns/*.parquet\", missing: { x: skip })", 69),
            14 => {
                ("arrow(\"{data}/columns/*.arrow\", columns: [\"n\", \"x\", \"xs\", \"at\"])", 46)
            }
            15 => ("mds(\"{data}/columns/*.mds\")", 22),
            _ => {
                let n = 10 + self.dice.below(50) + 200 * usize::from(self.dice.percent(7));
                return (format!("range({n})"), n);
            }
        };
        (text.to_owned(), records)
    }

    /// The same, of sources that only later programs have.
    fn later_source(&mut self) -> (String, usize) {
        let (text, records) = *self.dice.pick(&[
            ("coco(\"{data}/boxes/*.json\")", 14),
            ("documents(\"{data}/corpus/*\", text: \"name\")", 49),
            ("hdf5(\"{data}/columns/*.h5\", over: \"n\")", 46),
            ("npz(\"{data}/columns/*.npz\", columns: [\"n\", \"grid\", \"half\"])", 46),
            (
                "hdf5(\"{data}/columns/*.h5\")\n    |> map { n: row[\"n\"][4:9] as i64[?], y: row[\"more\"][\"y\"][:3] as f32[3] }",
                2,
            ),
        ]);
        (text.to_owned(), records)
    }

    /// The same, of tables whose columns have other names in the program than in the files.
    fn named_source(&mut self) -> (String, usize) {
        let (text, records) = *self.dice.pick(&[
            (
                "csv(\"{data}/tables/*.csv\", columns: { high: \"height\", age }, missing: { age: skip })",
                22,
            ),
            (
                "parquet(\"{data}/columns/*.parquet\", columns: { number: \"n\", x, place: \"at\" }, missing: { x: skip })\n    |> where number >= 9",
                60,
            ),
            (
                "arrow(\"{data}/columns/*.arrow\", columns: { number: \"n\", list: \"xs\" })\n    |> where number < 40",
                40,
            ),
            ("npz(\"{data}/columns/*.npz\", columns: { number: \"n\", half })", 46),
        ]);
        (text.to_owned(), records)
    }

    /// Streams side by side; nearly always as many records in each.
    fn zip(&mut self) -> (String, usize, bool) {
        let n = 10 + self.dice.below(30);
        let unequal = usize::from(self.dice.percent(10));
        let mut names = Vec::new();
        for n in [n, n + unequal] {
            let name = self.name("s");
            let Some(mut growing) = self.stream(&name, format!("range({n})")) else { continue };
            for _ in 0..self.dice.below(3) {
                steps::grow(self, &mut growing, steps::KEEPS);
            }
            names.push(name);
        }
        (format!("zip({{ {} }})", labelled(&names)), n, false)
    }

    /// Streams side by side that are shuffled, and maybe repeated.
    fn zip_in_any_order(&mut self) -> (String, usize, bool) {
        let n = 10 + self.dice.below(30);
        let unequal = usize::from(self.dice.percent(10));
        let arrays = self.dice.percent(30);
        let mut names = Vec::new();
        for n in [n, n + unequal] {
            let name = self.name("s");
            let head = match arrays {
                true => "npy(\"{data}/arrays/*.npy\")".to_owned(),
                false => format!("range({n})"),
            };
            let Some(mut growing) = self.stream(&name, head) else { continue };
            for _ in 0..self.dice.below(3) {
                steps::grow(self, &mut growing, steps::COMPUTES);
            }
            names.push(name);
        }
        let records = if arrays { 11 } else { n };
        let repeat = if self.dice.percent(30) { "\n    |> repeat(2)" } else { "" };
        (format!("zip({{ {} }})\n    |> shuffle{repeat}", labelled(&names)), 2 * records, false)
    }

    /// A stream with fields of another one; the keys of some records are missing there.
    fn join(&mut self) -> (String, usize, bool) {
        let before = self.draft.streams.len();
        self.joined().unwrap_or_else(|| {
            self.draft.streams.truncate(before);
            ("range(9)".into(), 9, true)
        })
    }

    /// The same; none where a step has left the key out, or the checker does not like a source.
    fn joined(&mut self) -> Option<(String, usize, bool)> {
        const KEYS: usize = 40;
        let (head, records) = self.source();
        let (left, right) = (self.name("s"), self.name("s"));
        let mut growing = self.stream(&left, head)?;
        (growing.records, growing.aligned) = (records, false);
        for _ in 0..self.dice.below(3) {
            steps::grow(self, &mut growing, steps::ANY);
        }
        steps::keyed(self, &mut growing, KEYS);
        let key = Field { name: "key".to_owned(), ty: plan::Type::scalar(plan::DType::I64) };
        if !growing.fields.contains(&key) {
            return None;
        }

        let missing = *self.dice.pick(&["skip", "skip", "keep", "fault", "fault"]);
        let has_all = missing == "fault" && self.dice.percent(40);
        let n = if has_all { KEYS } else { 10 + self.dice.below(20) };
        let (number, text) = (self.name("w"), self.name("w"));
        let head = format!(
            "range({n})\n    |> map {{ key: i * {KEYS} // {n}, {number}: f32(i) / 3.0, {text}: text_of(i) }}"
        );
        let mut growing_right = self.stream(&right, head)?;
        // What fills them is said of each field.
        let grows = if missing == "keep" { 0 } else { self.dice.below(3) };
        for _ in 0..grows {
            steps::grow(self, &mut growing_right, steps::KEEPS);
        }
        if !growing_right.fields.contains(&key) {
            return None;
        }
        if !has_all && let Some(stream) = self.draft.streams.last_mut() {
            stream.steps.extend(thinning(&mut self.dice));
        }
        let fill = match missing {
            "keep" => format!(", fill: {{ {number}: 0.5, {text}: \"none\" }}"),
            _ => String::new(),
        };
        let rest = if missing == "fault" && !has_all { " else skip(most: 1.0)" } else { "" };
        let text = format!("join({left}, {right}, on: key, missing: {missing}{fill}){rest}");
        Some((text, growing.records, growing.indexed))
    }

    /// Records of files with fields of the files beside them, of which one is missing and others lack keys.
    fn join_beside(&mut self) -> (String, usize, bool) {
        let before = self.draft.streams.len();
        self.joined_beside().unwrap_or_else(|| {
            self.draft.streams.truncate(before);
            ("range(9)".into(), 9, true)
        })
    }

    fn joined_beside(&mut self) -> Option<(String, usize, bool)> {
        let (head, records) = *self.dice.pick(&BESIDE_SOURCES);
        let left = self.name("s");
        let mut growing = self.stream(&left, head.to_owned())?;
        (growing.records, growing.aligned) = (records, false);
        for _ in 0..self.dice.below(3) {
            steps::grow(self, &mut growing, steps::BESIDE);
        }
        steps::keyed(self, &mut growing, 40);
        let (missing, rest) = *self.dice.pick(&[
            ("skip", ""),
            ("keep, fill: { weight: 0.5, title: \"none\" }", ""),
            ("fault", " else skip(most: 1.0)"),
        ]);
        let thinned = *self.dice.pick(&["", "\n    |> where key % 5 < 3"]);
        let right = format!(
            "csv(\"{{data}}/beside/*.csv\"){thinned}\n    |> map {{ key, weight: f32(weight) * 0.5, title }}"
        );
        let text =
            format!("join({left}, {right}, on: key, missing: {missing}, within: file){rest}");
        Some((text, growing.records, growing.indexed))
    }

    /// Streams of the same fields, one after the other or mixed.
    fn several(&mut self, operator: &str) -> (String, usize, bool) {
        let (head, mut records) = self.source();
        let name = self.name("s");
        let Some(mut growing) = self.stream(&name, head) else {
            return ("range(9)".into(), 9, true);
        };
        (growing.records, growing.aligned) = (records, false);
        for _ in 0..self.dice.below(4) {
            steps::grow(self, &mut growing, steps::ANY);
        }
        let endless =
            operator == "mix" && growing.indexed && self.dice.percent(50) && steps::gives(self);
        let mut names = vec![name];
        for _ in 0..1 + self.dice.below(2) {
            let first = self.draft.streams.iter().find(|it| it.name == names[0]);
            let Some(mut other) = first.cloned() else { break };
            other.name = self.name("s");
            if !endless {
                other.steps.extend(thinning(&mut self.dice));
            }
            names.push(other.name.clone());
            self.draft.streams.push(other);
            records = (records + growing.records).min(RECORDS_MAX);
        }
        match operator {
            "concat" => (format!("concat([{}])", names.join(", ")), records, false),
            _ if endless => (self.mixed(&names, "repeat"), records, false),
            _ => {
                let at_end = *self.dice.pick(&["stop", "drop"]);
                (self.mixed(&names, at_end), records, false)
            }
        }
    }

    fn mixed(&mut self, names: &[String], at_end: &str) -> String {
        let weights: Vec<i64> = names.iter().map(|_| self.dice.within(1, 5)).collect();
        let ends = if at_end == "repeat" { "\n    |> take(70)" } else { "" };
        if self.dice.percent(30) {
            return format!("mix([{}], at_end: {at_end}){ends}", names.join(", "));
        }
        let labels = ["a", "b", "c"].into_iter().zip(&weights);
        let weights: Vec<String> = labels.map(|(label, it)| format!("{label}: {it}")).collect();
        let weights = format!("weights: {{ {} }}", weights.join(", "));
        format!("mix({{ {} }}, {weights}, at_end: {at_end}){ends}", labelled(names))
    }
}

fn labelled(names: &[String]) -> String {
    let labels = ["a", "b", "c"].into_iter().zip(names);
    labels.map(|(label, name)| format!("{label}: {name}")).collect::<Vec<_>>().join(", ")
}

/// Steps that leave fewer records, or others first.
fn thinning(dice: &mut Dice) -> Vec<String> {
    let all = ["skip(3)", "take(9)", "shuffle(window: 5)", "where coin(0.8)"];
    (0..1 + dice.below(2)).map(|_| (*dice.pick(&all)).to_owned()).collect()
}
