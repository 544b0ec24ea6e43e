//! What is derived from the library, and must be as fresh as it: the reference `docs/OPERATORS.md`,
//! and `editor/words.json`, the word lists from which editors colour and complete.

use crate::{cases::suite, trial};
use compiler::ast::{Declaration, DeclarationKind, PolicyKind, Unit};
use libtest_mimic::{Failed, Trial};
use plan::{Cost, DType, Entry, FileId, Library};
use std::{collections::BTreeMap, env, fmt::Write, fs};

/// Columns of a signature in one line.
const COLUMNS: usize = 100;

/// The grammar, which knows the words of the language.
const GRAMMAR: &str = include_str!("../../compiler/src/grammar.pest");

const HEAD: &str = "\
# The library

All functions, operators and sources. This page is generated from the library itself, and the tests run its examples. \
A signature lists the parameters with their types and defaults, then the effects, then the result. A lower-case name \
for a dtype or an extent (`t`, `h`) can be anything, but is the same wherever it occurs in the signature; `?` is not \
known at compile time. `map`, `with`, `where` and `flat_map` are part of the language: see [LANGUAGE.md](LANGUAGE.md).

The comment after an example is the type of the resulting records. Costs are CPU time on one core; they are defaults \
(`~`) until you measure them with `pipec profile`.

`lanes: n` splits the records of a source, in the order of the epoch, into `n` parts, for runs on several ranks. Each \
part goes through the steps up to the first `batch` on its own, with its own windows, and batches are taken from the \
parts in turn. Every source has this parameter; [range](#range) describes it in full. Parameters that are set by the \
compiler, such as `faults`, are not written in programs.
";

/// The checks of what is generated.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("generated/operators", || fresh("docs/OPERATORS.md", &reference())),
        trial("generated/words", || fresh("editor/words.json", &words())),
        trial("generated/textmate", || {
            made("pipe.tmLanguage.json", "editor/vscode/syntaxes/pipe.tmLanguage.json")
        }),
        trial("generated/vim", || made("pipe.vim", "editor/vim/syntax/pipe.vim")),
        trial("generated/pygments", || made("lexer.py", "python/pipec/lexer.py")),
        trial("generated/site", || made("pipe.js", "editor/site/pipe.js")),
    ]
}

/// The file says what it would say if it were written now.
fn fresh(name: &str, text: &str) -> Result<(), Failed> {
    let path = suite().join("../..").join(name);
    if fs::read_to_string(&path).is_ok_and(|it| it == text) {
        return Ok(());
    }
    if env::var_os("UPDATE").is_none() {
        return Err(format!("`{name}` is stale: UPDATE=1 cargo test -p tests writes it").into());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

/// What the reference says about a name.
struct Described {
    name: String,
    signature: String,
    doc: String,
    /// Effects and cost, or where it is written.
    notes: String,
}

impl Described {
    fn of(entry: &Entry) -> Self {
        let effects = effects(entry.signature);
        Self {
            name: entry.name().to_owned(),
            signature: laid_out(entry.signature),
            doc: unindented(entry.doc),
            notes: format!("{effects}Default cost: {}.", cost(&entry.cost)),
        }
    }

    /// What is said in the language itself.
    fn written(file: &str, text: &str, it: &Declaration) -> Self {
        Self {
            name: it.name().map(|it| it.text.clone()).unwrap_or_default(),
            signature: laid_out(&head(text, it)),
            doc: it.doc(),
            notes: format!("Written in the language: `stdlib/pipe/{file}`."),
        }
    }

    fn text(&self) -> String {
        format!(
            "### {}\n\n```pipe\n{}\n```\n\n{}\n\n{}\n",
            self.name,
            self.signature,
            self.doc.trim(),
            self.notes
        )
    }
}

/// Sections by title, each sorted by name.
type Sections = BTreeMap<String, Vec<Described>>;

/// The text of `docs/OPERATORS.md`.
fn reference() -> String {
    let sections = sections(&stdlib::library());
    let mut text = format!("{HEAD}\n{}", contents(&sections));
    for (title, entries) in &sections {
        write!(text, "\n## {title}\n").expect("a text can be written to");
        for entry in entries {
            write!(text, "\n{}", entry.text()).expect("a text can be written to");
        }
    }
    text + &later(&stdlib::library())
}

fn sections(library: &Library) -> Sections {
    let mut sections = Sections::new();
    let mut add = |title: &str, it| sections.entry(title.to_owned()).or_default().push(it);
    for entry in library.functions {
        add(&format!("Functions: {}", subject(entry)), Described::of(entry));
    }
    library.operators.iter().for_each(|it| add("Operators", Described::of(it)));
    library.sources.iter().for_each(|it| add("Sources", Described::of(it)));
    for (file, text) in library.written {
        let title = match file.trim_end_matches(".pipe") {
            "sources" => "Sources".to_owned(),
            subject => format!("Functions: {subject}"),
        };
        declarations(text).iter().for_each(|it| add(&title, Described::written(file, text, it)));
    }
    sections.values_mut().for_each(|it| it.sort_by(|a, b| a.name.cmp(&b.name)));
    sections
}

/// The folder whose files state the entry.
fn subject(entry: &Entry) -> String {
    let functions = suite().join("../../stdlib/src/functions");
    let stated = format!("\"{}\"", entry.signature);
    let folders = fs::read_dir(functions).into_iter().flatten().flatten();
    let found = folders.filter(|folder| {
        let mut files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        files.any(|it| fs::read_to_string(it.path()).is_ok_and(|it| it.contains(&stated)))
    });
    let names = found.map(|it| it.file_name().to_string_lossy().into_owned());
    // Two folders may state one by the same signature; the library has one of them.
    names.min().unwrap_or_else(|| "core".to_owned())
}

/// A line of links for each section.
fn contents(sections: &Sections) -> String {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::new();
    for (title, entries) in sections {
        let links = entries.iter().map(|it| {
            // Of headings alike the later ones get a number.
            let before = seen.entry(&it.name).or_default();
            *before += 1;
            match *before - 1 {
                0 => format!("[{0}](#{0})", it.name),
                n => format!("[{0}](#{0}-{n})", it.name),
            }
        });
        let links: Vec<String> = links.collect();
        writeln!(text, "- **{title}**: {}", links.join(", ")).expect("a text can be written to");
    }
    text
}

fn later(library: &Library) -> String {
    let mut rows: Vec<String> = library.later.iter().map(|it| format!("- {}\n", it.1)).collect();
    rows.sort();
    format!("\n## Names that come later\n\n{}", rows.concat())
}

fn declarations(text: &str) -> Vec<Declaration> {
    compiler::syntax::parse(text, FileId::default()).0.declarations
}

/// What stands before the `=` of a declaration, in one line.
fn head(text: &str, it: &Declaration) -> String {
    let body = match &it.kind {
        DeclarationKind::Fn(it) => it.body.span,
        DeclarationKind::Pipeline(it) => it.body.span,
        DeclarationKind::Const(it) => it.value.span,
        _ => it.span,
    };
    let head = text[it.span.start as usize..body.start as usize].trim_end();
    let words: Vec<&str> = head.trim_end_matches('=').split_whitespace().collect();
    words.join(" ").replace("( ", "(")
}

/// A signature, each parameter in its own line where it is long.
fn laid_out(signature: &str) -> String {
    let ends = signature.find('(').zip(signature.rfind(')'));
    let Some((open, close)) = ends.filter(|_| signature.chars().count() > COLUMNS) else {
        return signature.to_owned();
    };
    let mut text = format!("{}(\n    ", &signature[..open]);
    let mut depth = 0;
    for letter in signature[open + 1..close].chars() {
        depth += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
        text.push(letter);
        if letter == ',' && depth == 0 {
            text.push_str("\n   ");
        }
    }
    format!("{text},\n{}", &signature[close..])
}

/// The effects of a signature, as a sentence.
fn effects(signature: &str) -> String {
    let Ok(it) = compiler::syntax::parse_signature(signature) else { return String::new() };
    let words: Vec<String> = it.effects.iter().map(|it| format!("`{}`", it.kind.word())).collect();
    if words.is_empty() { String::new() } else { format!("Effects: {}. ", words.join(", ")) }
}

fn cost(it: &Cost) -> String {
    let prices =
        [("call", it.ns_call), ("byte read", it.ns_byte_in), ("byte written", it.ns_byte_out)];
    let charged = prices.into_iter().filter(|it| it.1 > 0.0);
    let mut parts: Vec<String> =
        charged.map(|(what, ns)| format!("{} per {what}", time(ns))).collect();
    if it.bytes_out_per_in != 1.0 {
        parts.push(format!("{} bytes written per byte read", it.bytes_out_per_in));
    }
    if parts.is_empty() { "~0".to_owned() } else { format!("~{}", parts.join(", ")) }
}

fn time(ns: f64) -> String {
    match ns {
        1e6.. => format!("{} ms", ns / 1e6),
        1e3.. => format!("{} µs", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}

/// A doc without the space behind each `///`.
fn unindented(doc: &str) -> String {
    doc.lines().map(|it| it.strip_prefix(' ').unwrap_or(it).trim_end().to_owned() + "\n").collect()
}

/// What an editor loads says what its template says with the words of the library.
fn made(template: &str, name: &str) -> Result<(), Failed> {
    let template = suite().join("../../editor/templates").join(template);
    let mut text = fs::read_to_string(&template)?;
    let lists = lists();
    let of = |kinds: &[&str]| -> Vec<String> {
        let all = lists.iter().filter(|it| kinds.contains(&it.0)).flat_map(|it| it.1.clone());
        let mut all: Vec<String> = all.collect();
        // What begins as another one ends must be tried first.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        all.dedup();
        all
    };
    let reserved = syntax_keywords();
    let sets = [
        ("keywords", of(&["keywords"])),
        ("reserved", reserved),
        ("functions", of(&["functions"])),
        ("operators", of(&["operators"])),
        ("sources", of(&["sources"])),
        ("calls", of(&["functions", "operators", "sources"])),
        ("dtypes", of(&["dtypes"])),
        ("units", of(&["units"])),
        ("policies", of(&["policies"])),
    ];
    let is_vim = name.ends_with(".vim");
    for (kind, words) in &sets {
        let tuple: String = words.iter().map(|it| format!("\n    \"{it}\",")).collect();
        text = text.replace(&format!("@{kind}_tuple@"), &format!("{tuple}\n"));
        text = text.replace(&format!("@{kind}_pattern@"), &words.join("\\|"));
        let listed = if is_vim { words.join(" ") } else { words.join("|") };
        text = text.replace(&format!("@{kind}@"), &listed);
    }
    fresh(name, &text)
}

/// The words that no name can be.
fn syntax_keywords() -> Vec<String> {
    let rules = GRAMMAR.split("\n\n").flat_map(|it| it.split("}\n"));
    let own = rules.filter(|it| it.starts_with("keyword"));
    let words = own.flat_map(|it| it.split('"').skip(1).step_by(2)).map(str::to_owned);
    words.collect()
}

/// The text of `editor/words.json`: a list for each kind of word, sorted.
fn words() -> String {
    let all = lists().into_iter().map(|(kind, words)| list(kind, words));
    format!("{{\n{}\n}}\n", all.collect::<Vec<String>>().join(",\n"))
}

/// The words of the language and the library, by kind.
fn lists() -> Vec<(&'static str, Vec<String>)> {
    let library = stdlib::library();
    let (sources, functions): (Vec<_>, Vec<_>) =
        library.written.iter().partition(|it| it.0 == "sources.pipe");
    let names = |entries: &[&Entry]| entries.iter().map(|it| it.name().to_owned()).collect();
    let with = |entries, written: Vec<&(&str, &str)>| -> Vec<String> {
        let mut all: Vec<String> = names(entries);
        let declared = written.iter().flat_map(|it| declarations(it.1));
        all.extend(declared.filter_map(|it| it.name().map(|it| it.text.clone())));
        all
    };
    let policies = [PolicyKind::Skip, PolicyKind::Another, PolicyKind::Fail];
    vec![
        ("keywords", keywords()),
        ("functions", with(library.functions, functions)),
        ("operators", names(library.operators)),
        ("sources", with(library.sources, sources)),
        ("dtypes", DType::ALL.iter().map(|it| it.1.to_owned()).collect()),
        ("units", Unit::names().map(str::to_owned).collect()),
        ("policies", policies.iter().map(|it| it.word().to_owned()).collect()),
    ]
}

/// A list of words, which need no escapes.
fn list(kind: &str, mut words: Vec<String>) -> String {
    words.sort();
    words.dedup();
    let words: Vec<String> = words.iter().map(|it| format!("    \"{it}\"")).collect();
    format!("  \"{kind}\": [\n{}\n  ]", words.join(",\n"))
}

/// The words that no name can be, and those that are words of the language in their place.
fn keywords() -> Vec<String> {
    let rules = GRAMMAR.split("\n\n").flat_map(|it| it.split("}\n"));
    let named = |it: &str| ["keyword", "effect ", "kw_"].iter().any(|word| it.starts_with(word));
    let bodies = rules.filter(|it| named(it)).flat_map(|it| it.split('"').skip(1).step_by(2));
    bodies.map(str::to_owned).collect()
}
