//! Texts of programs.

use compiler::{
    Checked, InputError, Inputs, Request,
    ast::dump,
    format::format,
    lower::lower,
    passes::{self, optimise},
    registry::Registry,
    syntax::{highlight, parse, parse_signature, parse_value},
};
use driver::{Drawing, SourceFile, drawn};
use plan::{Arg, Diagnostic, Field, FileId, Span, escaped};
use std::{collections::BTreeMap, sync::LazyLock};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(stdlib::library()));

/// Messages that are drawn of each program.
const DRAWN_MAX: usize = 3;

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
    let Checked { plan, diagnostics: found, .. } = compiler::check(&request, &REGISTRY);
    messages.iter().chain(&found).for_each(|it| lies_within(it, &text));
    let drawing = Drawing { color: false, unicode: true, width: 80, dim: &str::to_owned };
    let files = [SourceFile { path: "p.pipe".to_owned(), text: text.clone().into_owned() }];
    for message in messages.iter().chain(&found).take(DRAWN_MAX) {
        let drawn = drawn(&files, message, &drawing);
        assert!(drawn.contains(message.code.id) && drawn == escaped_but_lines(&drawn), "{drawn}");
    }
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

/// A text without anything that a terminal obeys but the ends of its lines.
fn escaped_but_lines(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|it| match it.strip_suffix('\n') {
            Some(line) => format!("{}\n", escaped(line)),
            None => escaped(it).into_owned(),
        })
        .collect()
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
