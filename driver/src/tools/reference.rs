//! The library and the language as a person looks them up: every name with its signature, text, example and cost.
//!
//! The functions, operators and sources say all of it themselves; words of the language and types stand in
//! `reference/words.rs`.

mod faults;
mod parameters;
mod words;

pub use faults::{FAILURE_KINDS, FAULT_KINDS, FaultKind, fault_kind};
pub use parameters::{Parameter, parameters};

use compiler::{
    ast::{Declaration, DeclarationKind},
    migration,
};
use plan::{CodeInfo, Cost, DType, Entry, FileId, nearest};
use serde::Serialize;

/// What is known of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topic {
    /// The name.
    pub name: String,
    /// What it belongs to: `Operators`, `Functions: image`, `Words`.
    pub subject: String,
    /// What is written: the signature, or the form of a word.
    pub head: String,
    /// What it does, in Markdown, with an example.
    pub doc: String,
    /// What it costs before it is measured, in words; only functions, operators and sources of the library cost.
    pub cost: Option<String>,
}

impl Topic {
    /// The first sentence of its text.
    #[must_use]
    pub fn summary(&self) -> &str {
        self.doc.lines().next().unwrap_or_default()
    }
}

/// What was found under a name.
#[derive(Debug, Clone)]
pub enum Found {
    /// One topic, or several of one name: `concat` of streams and of tensors.
    Topics(Vec<Topic>),
    /// A message.
    Code(&'static CodeInfo),
    /// A kind of fault.
    Fault(&'static FaultKind),
    /// A parameter of functions, operators or sources.
    Parameters(Vec<Parameter>),
    /// A name of another library, with what is written here: a row for each place where it is written.
    Foreign(Vec<migration::Row>),
    /// A name that a later version brings, and what it will do.
    Later(&'static str),
    /// Nothing; the name that was probably meant, if one is near.
    Nothing(Option<String>),
}

/// All there is to be called and written, by subject and name.
#[must_use]
pub fn topics() -> Vec<Topic> {
    let library = stdlib::library();
    let mut all: Vec<Topic> = Vec::new();
    all.extend(library.sources.iter().map(|it| of_entry("Sources", it)));
    all.extend(library.operators.iter().map(|it| of_entry("Operators", it)));
    for (subject, functions) in stdlib::subjects() {
        let subject = format!("Functions: {subject}");
        all.extend(functions.iter().map(|it| of_entry(&subject, &it.entry)));
    }
    for (file, text) in library.written {
        let (tree, _) = compiler::syntax::parse(text, FileId::default());
        all.extend(tree.declarations.iter().filter_map(|it| written(file, text, it)));
    }
    all.extend(words::topics());
    all.extend(DType::ALL.iter().map(|it| of_dtype(it.1)));
    all.sort_by(|a, b| (rank(a), &a.subject, &a.name).cmp(&(rank(b), &b.subject, &b.name)));
    all
}

/// What is known under `name`.
#[must_use]
pub fn find(name: &str) -> Found {
    let all = topics();
    let named: Vec<Topic> = all.iter().filter(|it| it.name == name).cloned().collect();
    if !named.is_empty() {
        return Found::Topics(named);
    }
    let codes = crate::session::compile::codes();
    if let Some(code) = codes.iter().find(|it| it.id.eq_ignore_ascii_case(name) || it.name == name)
    {
        return Found::Code(code);
    }
    if let Some((_, what)) = stdlib::library().later.iter().find(|it| it.0 == name) {
        return Found::Later(what);
    }
    if let Some(row) = migration::of_name(name) {
        return Found::Foreign(vec![row]);
    }
    let parameters = parameters(name, &all);
    if !parameters.is_empty() {
        return Found::Parameters(parameters);
    }
    let mut foreign = migration::of_arguments(name);
    // An argument says all that the flag of the same name does.
    if foreign.is_empty() {
        foreign.extend(migration::of_flag(name));
    }
    if !foreign.is_empty() {
        return Found::Foreign(foreign);
    }
    if let Some(kind) = fault_kind(name) {
        return Found::Fault(kind);
    }
    let mut names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    names.extend(codes.iter().flat_map(|it| [it.id, it.name]));
    Found::Nothing(nearest(name, &names).map(str::to_owned))
}

/// Subjects in the order in which somebody reads them who is new.
fn rank(topic: &Topic) -> usize {
    static ORDER: [&str; 5] = ["Sources", "Operators", "Functions", "Words", "Types"];
    ORDER.iter().position(|it| topic.subject.starts_with(it)).unwrap_or(ORDER.len())
}

fn of_entry(subject: &str, entry: &Entry) -> Topic {
    Topic {
        name: entry.name().to_owned(),
        subject: subject.to_owned(),
        head: entry.signature.to_owned(),
        doc: unindented(entry.doc),
        cost: Some(cost(&entry.cost)),
    }
}

/// What the library says in the language.
fn written(file: &str, text: &str, it: &Declaration) -> Option<Topic> {
    let (body, subject) = match &it.kind {
        DeclarationKind::Fn(it) => {
            (it.body.span, format!("Functions: {}", file.trim_end_matches(".pipe")))
        }
        DeclarationKind::Pipeline(it) => (it.body.span, "Sources".to_owned()),
        _ => return None,
    };
    let head = text.get(it.span.start as usize..body.start as usize)?.trim_end();
    let head: Vec<&str> = head.trim_end_matches('=').split_whitespace().skip(1).collect();
    let head = head.join(" ").replace("( ", "(").replace(" )", ")");
    Some(Topic { name: it.name()?.text.clone(), subject, head, doc: it.doc(), cost: None })
}

fn of_dtype(name: &str) -> Topic {
    Topic {
        name: name.to_owned(),
        subject: "Types".to_owned(),
        head: name.to_owned(),
        doc: words::dtype(name).to_owned(),
        cost: None,
    }
}

/// A doc without the space behind each `///`.
fn unindented(doc: &str) -> String {
    let lines: Vec<&str> =
        doc.lines().map(|it| it.strip_prefix(' ').unwrap_or(it).trim_end()).collect();
    lines.join("\n").trim().to_owned()
}

/// What an entry costs before it is measured.
fn cost(it: &Cost) -> String {
    let prices =
        [("call", it.ns_call), ("byte read", it.ns_byte_in), ("byte written", it.ns_byte_out)];
    let charged = prices.into_iter().filter(|it| it.1 > 0.0);
    let parts: Vec<String> = charged.map(|(what, ns)| format!("{} per {what}", time(ns))).collect();
    if parts.is_empty() { "nothing".to_owned() } else { format!("~{}", parts.join(", ~")) }
}

fn time(ns: f64) -> String {
    match ns {
        1e6.. => format!("{} ms", ns / 1e6),
        1e3.. => format!("{} µs", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics_of(name: &str) -> Vec<String> {
        match find(name) {
            Found::Topics(all) => all.into_iter().map(|it| it.subject).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn every_name_that_can_be_written_is_found() {
        assert_eq!(topics_of("class_of"), ["Functions: text"]);
        assert_eq!(topics_of("center_crop"), ["Functions: image"]);
        assert_eq!(topics_of("concat"), ["Operators", "Functions: tensor"]);
        assert_eq!(topics_of("files"), ["Sources"]);
        assert_eq!(topics_of("skip"), ["Operators", "Keywords of the language"]);
        assert_eq!(topics_of("f32"), ["Functions: tensor", "Types"]);
        assert_eq!(topics_of("where"), ["Keywords of the language"]);
        assert!(matches!(find("pc0107"), Found::Code(it) if it.name == "unknown-function"));
        assert!(matches!(find("num_workers"), Found::Foreign(_)));
        assert!(matches!(find("drop_last"), Found::Foreign(it) if it[0].from == "PyTorch"));
        assert!(matches!(find("ragged"), Found::Parameters(it) if it[0].of.name == "batch"));
        assert!(matches!(find("image-truncated"), Found::Fault(_)));
        assert!(matches!(find("torch.utils.data.DataLoader"), Found::Foreign(_)));
        assert!(matches!(find("decode_audio"), Found::Later(_)));
        assert!(matches!(find("reszie"), Found::Nothing(Some(it)) if it == "resize"));
        assert!(matches!(find("frobnicate"), Found::Nothing(None)));
    }

    #[test]
    fn every_topic_says_something() {
        for it in topics() {
            assert!(!it.summary().is_empty() && !it.head.is_empty(), "{it:?}");
        }
        for name in editor_words() {
            assert!(
                !topics_of(&name).is_empty(),
                "`{name}` is a word of the language without a text"
            );
        }
    }

    /// The words that editors colour.
    fn editor_words() -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../editor/words.json");
        let text = std::fs::read_to_string(path).expect("the word lists are in the repository");
        let lists: serde_json::Value = serde_json::from_str(&text).expect("they are JSON");
        let of = |kind: &str| lists[kind].as_array().cloned().unwrap_or_default();
        let all = ["keywords", "functions", "operators", "sources", "dtypes", "policies"].map(of);
        all.concat().iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
    }
}
