//! What is allowed and seldom meant, in a program without mistakes. Every lint is a row of [`LINTS`].

use crate::{
    Notes,
    ast::{
        Arg, Call, CompareOp, Declaration, DeclarationKind, Expr, ExprKind, File, Name, Stage,
        Value, walk,
    },
    errors::lint as errors,
    registry::{Kind, Registry},
};
use plan::{Action, Diagnostic, Property, Span, is_bidi};
use std::collections::BTreeSet;

/// A file that is looked at: its tree, its text, and what the checker has found out.
struct Looked<'a> {
    file: &'a File,
    text: &'a str,
    notes: &'a Notes,
    registry: &'a Registry,
}

/// Finds something.
type Lint = fn(&Looked<'_>, &mut Vec<Diagnostic>);

/// All of them, by the number of their codes.
static LINTS: [Lint; 9] = [
    shuffle_after_decode,
    missing_tail,
    sorted_source,
    hides_field,
    class_field,
    resize_convention,
    unused_name,
    argmax_of_equal,
    bidi_character,
];

/// What is allowed and seldom meant in the main file of a program that has no mistakes.
#[must_use]
pub fn lints(file: &File, text: &str, notes: &Notes, registry: &Registry) -> Vec<Diagnostic> {
    let looked = Looked { file, text, notes, registry };
    let mut all = Vec::new();
    LINTS.iter().for_each(|it| it(&looked, &mut all));
    all.sort_by_key(|it| (it.span.start, it.span.end));
    all
}

/// The body of a declaration.
fn body(it: &Declaration) -> Option<&Expr> {
    match &it.kind {
        DeclarationKind::Param(it) => it.default.as_ref(),
        DeclarationKind::Const(it) => Some(&it.value),
        DeclarationKind::Fn(it) => Some(&it.body),
        DeclarationKind::Pipeline(it) => Some(&it.body),
        DeclarationKind::Extern(_) | DeclarationKind::Use(_) => None,
    }
}

fn each<'a>(file: &'a File, visit: &mut dyn FnMut(&'a Expr)) {
    file.declarations.iter().filter_map(body).for_each(|it| walk(it, visit));
}

/// Where a function is called in a file, in the order of the text.
#[must_use]
pub fn calls_of(file: &File, name: &str) -> Vec<Span> {
    let mut found = Vec::new();
    each(file, &mut |it| match &it.kind {
        ExprKind::Call(call) if call.name.text == name => found.push(it.span),
        ExprKind::Pipe { stage: Stage::Call(call), .. } if call.name.text == name => {
            found.push(call.span);
        }
        _ => {}
    });
    found.sort_by_key(|it| it.start);
    found
}

/// The stages of a chain in order, and what it begins with.
fn chain(expr: &Expr) -> (&Expr, Vec<&Stage>) {
    let (mut at, mut stages) = (expr, Vec::new());
    loop {
        match &at.kind {
            ExprKind::Pipe { lhs, stage } => {
                stages.push(stage);
                at = lhs;
            }
            ExprKind::Else { lhs, .. } => at = lhs,
            _ => break,
        }
    }
    stages.reverse();
    (at, stages)
}

/// The chains of the pipelines of a file.
fn chains(file: &File) -> impl Iterator<Item = (&Expr, Vec<&Stage>)> {
    file.declarations.iter().filter_map(|it| match &it.kind {
        DeclarationKind::Pipeline(it) => Some(chain(&it.body)),
        _ => None,
    })
}

impl Looked<'_> {
    /// The call of an operator that does this, where a step is one.
    fn doing<'s>(&self, stage: &'s Stage, action: Action) -> Option<&'s Call> {
        let Stage::Call(call) = stage else { return None };
        let found = self.registry.get(&call.name.text, Kind::Operator)?;
        (found.entry.action() == Some(action)).then_some(call)
    }

    /// Whether records come by name from what is called so, and can be had in any order: a source that gives
    /// paths, or a pipeline of the library above one.
    fn comes_by_name(&self, name: &str) -> bool {
        let gives_paths = |name: &str| {
            let source = self.registry.get(name, Kind::Source);
            source.is_some_and(|it| it.entry.has(Property::GivesPaths))
        };
        let is_above_one = |it: &Declaration| match &it.kind {
            DeclarationKind::Pipeline(it) if it.name.text == name => {
                matches!(&chain(&it.body).0.kind, ExprKind::Call(it) if gives_paths(&it.name.text))
            }
            _ => false,
        };
        let mut written = self.registry.files().0.iter().flat_map(|it| &it.declarations);
        gives_paths(name) || written.any(is_above_one)
    }
}

fn argument<'a>(call: &'a Call, name: &str) -> Option<&'a Arg> {
    call.args.iter().find(|it| it.name.as_ref().is_some_and(|it| it.text == name))
}

/// The first function called `decode_…` that a step calls.
fn decodes(stage: &Stage) -> Option<&str> {
    let Stage::Each(it) = stage else { return None };
    let mut found = None;
    walk(&it.body, &mut |it| {
        let call = match &it.kind {
            ExprKind::Call(it) | ExprKind::Pipe { stage: Stage::Call(it), .. } => it,
            _ => return,
        };
        if call.name.text.starts_with("decode_") && found.is_none() {
            found = Some(call.name.text.as_str());
        }
    });
    found
}

fn shuffle_after_decode(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    for (_, stages) in chains(of.file) {
        for (i, stage) in stages.iter().enumerate() {
            let Some(call) = of.doing(stage, Action::Shuffle) else { continue };
            let Some(first) = stages[..i].iter().position(|it| decodes(it).is_some()) else {
                continue;
            };
            if argument(call, "window").is_none() && call.args.is_empty() {
                continue;
            }
            let decodes = decodes(stages[first]).unwrap_or_default();
            let found = errors::shuffle_after_decode(decodes, call.span);
            // The steps between keep their order and their own lines.
            let start = stages[first].span();
            let before = Span { end: call.span.start, ..start };
            let shuffle = call.span.text(of.text);
            let between = before.text(of.text).trim_end().trim_end_matches("|>").trim_end();
            let gap = gap_before(of.text, start.start as usize);
            all.push(found.fix(start.to(call.span), format!("{shuffle}{gap}|> {between}")));
        }
    }
}

/// The space before the `|>` of the step that begins at a byte.
fn gap_before(text: &str, at: usize) -> &str {
    let head = text[..at].trim_end().trim_end_matches("|>");
    &head[head.trim_end().len()..]
}

fn missing_tail(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    for (_, stages) in chains(of.file) {
        for call in stages.iter().filter_map(|it| of.doing(it, Action::Batch)) {
            // `tail` is the second one; where `tokens` end a batch, or one record fills it, none is too small.
            let says = call.args.get(1).is_some_and(|it| it.name.is_none())
                || ["tail", "tokens"].iter().any(|it| argument(call, it).is_some());
            if says || call.args.is_empty() || is_of_one(call) {
                continue;
            }
            let end = Span { start: call.span.end - 1, end: call.span.end - 1, ..call.span };
            let sorts = argument(call, "by").is_some();
            all.push(errors::missing_tail(sorts, call.span).fix(end, ", tail: drop"));
        }
    }
}

/// Whether a `batch` is one of single records, as it is written.
fn is_of_one(call: &Call) -> bool {
    let first = call.args.first().filter(|it| it.name.is_none());
    let Some(size) = argument(call, "size").or(first) else { return false };
    matches!(&size.value.kind, ExprKind::Number(it) if it.value == Value::Int(1) && it.unit.is_none())
}

fn sorted_source(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    for (source, stages) in chains(of.file) {
        let ExprKind::Call(source) = &source.kind else { continue };
        let name = source.name.text.as_str();
        if !of.comes_by_name(name) || argument(source, "lanes").is_some() {
            continue;
        }
        for stage in stages {
            match of.doing(stage, Action::Shuffle) {
                Some(call) if argument(call, "window").is_some() => {
                    let found = errors::sorted_source(name, call.span);
                    all.push(found.fix(call.span, call.name.text.as_str()));
                }
                None if matches!(stage, Stage::Each(it) if it.kind.word() != "flat_map") => {
                    continue;
                }
                _ => {}
            }
            break;
        }
    }
}

fn hides_field(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    each(of.file, &mut |it| {
        let ExprKind::Comprehension { var, .. } = &it.kind else { return };
        let around = |(span, _): &(&Span, &Vec<(String, String)>)| {
            span.start <= it.span.start && it.span.end <= span.end
        };
        let scope = of.notes.scopes.iter().filter(around).min_by_key(|it| it.0.len());
        if scope.is_some_and(|it| it.1.iter().any(|(name, _)| *name == var.text)) {
            all.push(errors::hides_field(&var.text, var.span));
        }
    });
}

/// A word of Python that data sets like to use.
const CLASS: &str = "class";
/// What it is called instead.
const LABEL: &str = "label";

fn class_field(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    for declaration in &of.file.declarations {
        let Some(body) = body(declaration) else { continue };
        let mut found: Option<&Name> = None;
        walk(body, &mut |it| {
            if let ExprKind::Record(entries) = &it.kind {
                found = found.or(entries.iter().map(|it| &it.name).find(|it| it.text == CLASS));
            }
        });
        let Some(name) = found else { continue };
        let text = declaration.span.text(of.text);
        let words = || crate::syntax::tokens::words(text).into_iter().map(|it| (it, it.of(text)));
        let mut message = errors::class_field(name.span);
        // Everywhere in the definition, unless the other name is there already.
        if !words().any(|it| it.1 == LABEL) {
            let mut new = text.to_owned();
            for (token, _) in words().filter(|it| it.1 == CLASS).collect::<Vec<_>>().iter().rev() {
                new.replace_range(token.start..token.end, LABEL);
            }
            message = message.fix(declaration.span, new);
        }
        all.push(message);
    }
}

/// Means that weights of another tool than torchvision want, and the tool that they resize with.
const MEANS: [(f64, &str); 3] = [(127.5, "tf"), (103.939, "opencv"), (104.0, "opencv")];
/// What resizes.
const RESIZES: [&str; 2] = ["resize", "resize_short"];

fn resize_convention(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    for declaration in &of.file.declarations {
        let Some(body) = body(declaration) else { continue };
        let mut calls: Vec<&Call> = Vec::new();
        walk(body, &mut |it| match &it.kind {
            ExprKind::Call(it) | ExprKind::Pipe { stage: Stage::Call(it), .. } => calls.push(it),
            _ => {}
        });
        let normalised = calls.iter().filter(|it| it.name.text == "normalize");
        let means = normalised.filter_map(|it| argument(it, "mean"));
        let Some(like) = means.filter_map(|it| tool(&it.value)).next() else { continue };
        let resizes = calls.iter().filter(|it| RESIZES.contains(&it.name.text.as_str()));
        for call in resizes.filter(|it| argument(it, "like").is_none() && !it.args.is_empty()) {
            let end = Span { start: call.span.end - 1, end: call.span.end - 1, ..call.span };
            let found = errors::resize_convention(&call.name.text, like, call.span);
            all.push(found.fix(end, format!(", like: {like}")));
        }
    }
}

/// The tool whose means one of the numbers is.
fn tool(mean: &Expr) -> Option<&'static str> {
    let mut found = None;
    walk(mean, &mut |it| {
        if let ExprKind::Number(number) = &it.kind {
            let value = match number.value {
                Value::Int(it) => it as f64,
                Value::Float(it) => it,
            };
            found = found.or(MEANS.iter().find(|it| it.0 == value).map(|it| it.1));
        }
    });
    found
}

fn unused_name(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    // A file without a pipeline of its own is there for others.
    let runs = |it: &Declaration| matches!(&it.kind, DeclarationKind::Pipeline(it) if it.formals.is_none());
    if !of.file.declarations.iter().any(runs) {
        return;
    }
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for declaration in &of.file.declarations {
        // By its words: whatever mentions a name uses it, even as an extent or in a text.
        let own = declaration.name().map(|it| it.span);
        let text = declaration.span.text(of.text);
        for (span, word) in words(text, declaration.span) {
            if Some(span) != own && !matches!(declaration.kind, DeclarationKind::Use(_)) {
                used.insert(word);
            }
        }
    }
    for declaration in &of.file.declarations {
        let kind = match &declaration.kind {
            DeclarationKind::Param(_) => "parameter",
            DeclarationKind::Const(_) => "constant",
            DeclarationKind::Extern(it) if it.is_pipeline => "pipeline",
            DeclarationKind::Fn(_) | DeclarationKind::Extern(_) => "function",
            _ => continue,
        };
        let Some(name) = declaration.name() else { continue };
        if used.contains(name.text.as_str()) || name.text.starts_with('_') {
            continue;
        }
        let start = declaration.docs.first().map_or(declaration.span, |it| it.span);
        let mut whole = start.to(declaration.span);
        // With the line that it leaves empty.
        if of.text[whole.end as usize..].starts_with('\n') {
            whole.end += 1;
        }
        all.push(errors::unused_name(kind, &name.text, name.span).fix(whole, ""));
    }
}

/// `argmax([x == c for c in LIST])`: by hand what `index_of` does.
fn argmax_of_equal(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    each(of.file, &mut |it| {
        let list = match &it.kind {
            ExprKind::Call(call) if is_argmax(call) => call.args.first().map(|it| &it.value),
            ExprKind::Pipe { lhs, stage: Stage::Call(call) } if is_argmax(call) => Some(&**lhs),
            _ => None,
        };
        let Some(ExprKind::Comprehension { body, var, over }) = list.map(|it| &it.kind) else {
            return;
        };
        let ExprKind::Compare { op: CompareOp::Eq, lhs, rhs, .. } = &body.kind else { return };
        let is_var = |it: &Expr| matches!(&it.kind, ExprKind::Name(name) if *name == var.text);
        let value = match (is_var(lhs), is_var(rhs)) {
            (false, true) => lhs,
            (true, false) => rhs,
            _ => return,
        };
        // An interval is no list to look into.
        if matches!(over.kind, ExprKind::Name(_) | ExprKind::List(_)) {
            let text = |it: &Expr| it.span.text(of.text).to_owned();
            all.push(errors::argmax_of_equal(&text(value), &text(over), it.span));
        }
    });
}

fn is_argmax(call: &Call) -> bool {
    call.name.text == "argmax"
}

/// Characters that are not seen and make text be read in another order than it is compiled in.
fn bidi_character(of: &Looked<'_>, all: &mut Vec<Diagnostic>) {
    for (at, it) in of.text.char_indices().filter(|it| is_bidi(it.1)) {
        let (start, end) = (at as u32, (at + it.len_utf8()) as u32);
        all.push(errors::bidi_character(it, Span { file: of.file.id, start, end }));
    }
}

/// The words of a text that stands at `at`.
fn words(text: &str, at: Span) -> impl Iterator<Item = (Span, &str)> {
    let is_of_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(is_of_word)?;
        let len = text[start..].find(|it| !is_of_word(it)).unwrap_or(text.len() - start);
        rest = start + len;
        let byte = |it: usize| at.start + it as u32;
        Some((Span { start: byte(start), end: byte(rest), ..at }, &text[start..rest]))
    })
}
