//! What any bytes must survive: each function takes some, and panics where something is wrong.
//!
//! The suite's stable loop calls them, and so do the targets of `fuzz/`, which include this file.

use compiler::{
    InputError, Inputs, Request,
    ast::dump,
    format::format,
    lower::lower,
    passes::{self, optimise},
    registry::Registry,
    syntax::{highlight, parse, parse_signature, parse_value},
};
use driver::{Built, Compiled, Loaded, Settings, State};
use plan::{Arg, Diagnostic, Field, FileId, Span};
use runtime::{Options, Position};
use std::{collections::BTreeMap, path::Path, sync::LazyLock};

/// Takes any bytes.
pub(crate) type Target = fn(&[u8]);

/// All of them: name, function, and what its mutants are made of beside the repository's programs.
pub(crate) const TARGETS: [(&str, Target, Seeds); 5] = [
    ("parser", parser, Vec::new),
    ("checker", checker, Vec::new),
    ("formatter", formatter, Vec::new),
    ("state", state, states),
    ("built", built, builts),
];

/// Makes inputs that mean something to a target.
pub(crate) type Seeds = fn() -> Vec<Vec<u8>>;

/// A program whose positions have something of everything.
const PROGRAM: &str = "\
edition 2026

pipeline p =
    zip({
        a: mix({ x: range(90) |> shuffle, y: range(50) |> where i % 3 != 0 }, at_end: drop) |> take(80),
        b: concat([range(40), range(60) |> skip(5)]) |> shuffle(window: 16) |> take(80),
    })
    |> map { i: 100 // (a.i % 7) + b.i else skip(most: 1) }
    |> windows(length: 2)
    |> batch(4, by: sum(i) % 3, tail: keep)
";

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let loaded = Loaded::from_text(Path::new("state.pipe"), PROGRAM.to_owned());
    driver::compile(&loaded, &Settings::default()).expect("the program is sound")
});

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(stdlib::library()));

/// Reads a program, a signature, a value; every message lies within the text.
pub(crate) fn parser(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (tree, messages) = parse(&text, FileId::default());
    messages.iter().for_each(|it| lies_within(it, &text));
    let spans = tree.declarations.iter().map(|it| it.span);
    spans.chain(highlight(&text).into_iter().map(|it| it.0)).for_each(|it| within(it, &text));
    let _ = dump(&tree);
    if let Err(message) = parse_signature(&text) {
        lies_within(&message, &text);
    }
    let _ = parse_value(&text);
}

/// Reads a state; goes on from the position that the bytes say, two of them a number.
pub(crate) fn state(bytes: &[u8]) {
    let _ = State::from_bytes(bytes);
    let numbers = bytes.chunks_exact(2).map(|it| u64::from(u16::from_le_bytes([it[0], it[1]])));
    let Ok(position) = Position::from_numbers(0, &numbers.collect::<Vec<_>>()) else { return };
    let options = Options { resume: Some(position), ..Options::default() };
    let Ok(run) = runtime::start(&COMPILED.program, &stdlib::Kernels, &options) else { return };
    let no_bug = |it: &Result<_, runtime::Failure>| {
        let text = it.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert!(!text.contains("bug of pipec"), "{text}");
    };
    run.take(100).for_each(|it| no_bug(&it.map(drop)));
}

/// Positions of the program.
fn states() -> Vec<Vec<u8>> {
    let options = Options::default();
    let run = runtime::start(&COMPILED.program, &stdlib::Kernels, &options);
    let (mut run, mut states) = (run.expect("the program is sound"), Vec::new());
    while let Some(Ok(chunk)) = run.next() {
        let numbers = run.position_after(chunk.rows).numbers();
        states.push(numbers.iter().flat_map(|it| (*it as u16).to_le_bytes()).collect());
    }
    states
}

/// Reads a built file.
pub(crate) fn built(bytes: &[u8]) {
    let _ = Built::read(bytes);
}

/// What makes the program a built file.
fn builts() -> Vec<Vec<u8>> {
    let built = Built::new(COMPILED.clone(), &Settings::default());
    vec![built.trailer().expect("it is small")]
}

/// Checks a program as far as it can be read, and plans what it can; opens no file.
pub(crate) fn checker(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (tree, messages) = parse(&text, FileId::default());
    let request = Request {
        files: &[tree],
        imports: &BTreeMap::new(),
        pipeline: None,
        params: &BTreeMap::new(),
        needs_params: false,
        only: None,
        asked_only: false,
        inputs: &NoInputs,
    };
    let (plan, found) = compiler::check(&request, &REGISTRY);
    messages.iter().chain(&found).for_each(|it| lies_within(it, &text));
    let Some(plan) = plan else { return };
    let (library, settings) =
        (stdlib::library(), passes::Settings { cores: 2, without: &[], approx: true });
    let planned = optimise(plan, &library, &settings).and_then(|it| {
        lower(&it.plan, &library, &|span| {
            within(span, &text);
            String::new()
        })
    });
    planned.err().iter().flatten().for_each(|it| lies_within(it, &text));
}

/// Formats a program; doing so again changes nothing, and it means what it meant.
pub(crate) fn formatter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(once) = format(&text) else { return };
    let twice = format(&once).unwrap_or_else(|it| panic!("no program any more: {it:?}\n{once}"));
    assert!(once == twice, "once:\n{once}\ntwice:\n{twice}");
    let meaning = |text: &str| dump(&parse(text, FileId::default()).0);
    let (before, after) = (meaning(&text), meaning(&once));
    assert!(before == after, "before:\n{before}\nafter:\n{after}\n{once}");
}

fn lies_within(message: &Diagnostic, text: &str) {
    within(message.span, text);
    message.elsewhere().for_each(|it| within(it.span, text));
    message.fix.iter().for_each(|it| within(it.span, text));
}

/// The span is of the text, and cuts no character in two; those of the library's files are not its.
fn within(span: Span, text: &str) {
    let is_ours = span.file == FileId::default();
    assert!(!is_ours || text.get(span.range()).is_some(), "{span:?} of {} bytes", text.len());
}

struct NoInputs;

impl Inputs for NoInputs {
    fn fields(&self, _: &str, _: &[Arg]) -> Result<Vec<Field>, InputError> {
        Err(InputError::File("there are no files here".to_owned()))
    }
}
