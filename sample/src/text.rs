//! Texts as corpora have them: documents of the web, source code, books, pages of HTML and pairs of sentences.
//!
//! | files | what each record is |
//! |---|---|
//! | `web/*.jsonl` | `{"id", "url", "language", "text"}`: prose in nine scripts, with duplicates, boilerplate and odd Unicode |
//! | `code/*.parquet` | `path`, `license`, `text`: functions in three languages |
//! | `books/*.parquet` | `title`, `text`: chapters of some 60 kB |
//! | `pages/*.html.gz` | a page with navigation, scripts and an article |
//! | `pairs/train.en`, `.de` | the same sentence in two languages; `train.tok.en`, `.de`: their words; `vocab.en`, `.de`: one in each line |
//! | `tokenizer.json` | a byte-level BPE tokenizer that was learned from some of them, of 4,096 tokens at the most |
//! | `embeddings.npy` | a row of 16 numbers for each of its tokens |
//!
//! A document depends on the seed and its number alone.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};

use crate::VERSION;
use crate::bpe::{quoted, tokenizer_json};
use crate::chance::Chance;
use crate::parquet::{self, Column};
use crate::set::{Done, Error, Making, Summary, check_count, make, write_whole};
use crate::words::{self, SCRIPTS, Script, capital, odd, pair, paragraph, sentence, word};

/// Documents of a file of `web`.
const PER_FILE: u64 = 1_250;
/// Of so many documents of the web there is one file of code, a book, a page.
const CODE_IN: u64 = 4;
const BOOKS_IN: u64 = 100;
const PAGES_IN: u64 = 20;
/// Files of code in a file, books in a file, pages that are made at once.
const CODE_PER_FILE: u64 = 625;
const BOOKS_PER_FILE: u64 = 25;
const PAGES_AT_ONCE: u64 = 64;
/// The shares of documents that are another one, to the letter or nearly.
const DUPLICATES: f32 = 0.03;
const NEAR_DUPLICATES: f32 = 0.03;
/// Tokens of the tokenizer, with all bytes and the one special token; documents of the web and files of code that it is
/// learned from.
const TOKENS: usize = 4_096;
const END: &str = "<|endoftext|>";
const LEARNED: [u64; 2] = [600, 60];
/// Numbers of a row of the embeddings.
const WIDTH: usize = 16;
/// The share of paragraphs with something odd.
const ODD: f32 = 0.02;

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Texts {
    /// Where the files go; made if it is not there.
    pub folder: PathBuf,
    /// How many documents of the web, 1 to 1,000,000; the others follow from it.
    pub count: u64,
    /// Which set: another seed gives other texts with the same statistics.
    pub seed: u64,
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of documents of the web that are there, each time that it grows.
///
/// # Errors
/// The count is out of its range, the folder holds something else, or cannot be written to.
pub fn texts(texts: &Texts, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check_count(texts.count)?;
    let folders = ["web", "code", "books", "pages", "pairs"].map(|it| texts.folder.join(it));
    let jobs = texts.jobs();
    make(Making {
        folder: &texts.folder,
        folders: &folders,
        manifest: &manifest(texts),
        n_jobs: jobs.len() as u64,
        n_pictures: texts.count,
        job: &|number| texts.run(&jobs[number as usize]),
        finish: &mut || Ok(()),
        progress,
    })
}

/// The text of the manifest: what the bytes depend on.
pub(crate) fn manifest(Texts { count, seed, .. }: &Texts) -> String {
    format!("sample text\nversion {VERSION}\nseed {seed}\ncount {count}\n")
}

/// A part of the set: which kind of texts, and the numbers of the first and of that behind the last.
struct Job {
    kind: Kind,
    file: u64,
    numbers: std::ops::Range<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Web,
    Code,
    Books,
    Pages,
    Pairs,
    Model,
}

impl Texts {
    fn jobs(&self) -> Vec<Job> {
        let of = |n: u64| self.count.div_ceil(n);
        let kinds = [
            (Kind::Model, 1, 1),
            (Kind::Pairs, self.count, u64::MAX),
            (Kind::Books, of(BOOKS_IN), BOOKS_PER_FILE),
            (Kind::Web, self.count, PER_FILE),
            (Kind::Code, of(CODE_IN), CODE_PER_FILE),
            (Kind::Pages, of(PAGES_IN), PAGES_AT_ONCE),
        ];
        let parts = |(kind, count, each): (Kind, u64, u64)| {
            (0..count.div_ceil(each)).map(move |file| {
                let first = file.saturating_mul(each);
                Job { kind, file, numbers: first..first.saturating_add(each).min(count) }
            })
        };
        kinds.into_iter().flat_map(parts).collect()
    }

    fn run(&self, Job { kind, file, numbers }: &Job) -> Result<Done, Error> {
        let pictures = if *kind == Kind::Web { numbers.end - numbers.start } else { 0 };
        let mut made = Vec::new();
        let each = numbers.clone();
        match kind {
            Kind::Web => {
                let lines: String = each.map(|it| web_line(self.seed, it)).collect();
                made.push((format!("web/{file:05}.jsonl"), lines.into_bytes()));
            }
            Kind::Code => {
                let all: Vec<[String; 3]> = each.map(|it| code(self.seed, it)).collect();
                let bytes = table(["path", "license", "text"], &all);
                made.push((format!("code/{file:05}.parquet"), bytes));
            }
            Kind::Books => {
                let all: Vec<[String; 2]> = each.map(|it| book(self.seed, it)).collect();
                made.push((format!("books/{file:05}.parquet"), table(["title", "text"], &all)));
            }
            Kind::Pages => {
                let page = |it| (format!("pages/{it:05}.html.gz"), packed(&page(self.seed, it)));
                made.extend(each.map(page));
            }
            Kind::Pairs => made.extend(pairs(self.seed, self.count)),
            Kind::Model => {
                made.push(("tokenizer.json".to_owned(), self.tokenizer().into_bytes()));
                made.push(("embeddings.npy".to_owned(), embeddings(self.seed)));
            }
        }
        let mut bytes = None;
        for (name, content) in made {
            let path = self.folder.join(name);
            if !path.exists() {
                write_whole(&path, &content)?;
                bytes = Some(bytes.unwrap_or(0) + content.len() as u64);
            }
        }
        Ok(Done { pictures, bytes })
    }
}

impl Texts {
    fn tokenizer(&self) -> String {
        let [web_texts, files] = LEARNED.map(|it| it.min(self.count));
        let texts = (0..web_texts).map(|it| web(self.seed, it).1);
        let code = (0..files).map(|it| code(self.seed, it)).map(|[_, _, text]| text);
        let pairs = (0..web_texts).map(|it| pair(&mut of_pair(self.seed, it)).join(" "));
        let all: Vec<String> = texts.chain(code).chain(pairs).collect();
        tokenizer_json(&all, TOKENS - 256 - 1, &[END])
    }
}

/// Numbers of a mean of 0, a row for each token, as an array of NumPy.
fn embeddings(seed: u64) -> Vec<u8> {
    let about =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({TOKENS}, {WIDTH}), }}");
    // Magic, version, and the length of a header that fills 128 bytes with what is before it.
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{about:<117}\n").bytes());
    let mut chance = Chance::new(seed ^ 0x656d_6265, 0);
    let numbers = (0..TOKENS * WIDTH).flat_map(|_| chance.within(-0.1, 0.1).to_le_bytes());
    bytes.extend(numbers);
    bytes
}

/// A Parquet file of texts.
fn table<const N: usize>(names: [&'static str; N], rows: &[[String; N]]) -> Vec<u8> {
    let column = |at: usize| Column::Text(rows.iter().map(|it| it[at].clone()).collect());
    parquet::file(&[names.iter().enumerate().map(|(at, it)| (*it, column(at))).collect()])
}

/// Without name and time, so that the same page has the same bytes.
fn packed(page: &str) -> Vec<u8> {
    let mut out = GzBuilder::new().write(Vec::new(), Compression::default());
    out.write_all(page.as_bytes()).and_then(|()| out.finish()).expect("memory takes all")
}

/// A document of the web, as a line of JSON.
fn web_line(seed: u64, number: u64) -> String {
    let (script, text) = web(seed, number);
    let language = match script {
        Script::English => "en",
        Script::German => "de",
        Script::French => "fr",
        Script::Russian => "ru",
        Script::Greek => "el",
        Script::Hindi => "hi",
        Script::Arabic => "ar",
        Script::Chinese => "zh",
        Script::Japanese => "ja",
    };
    let url = format!("https://{:x}.example/{number}", (seed ^ (number / 7)) % 4_096);
    format!(
        "{{\"id\": {number}, \"url\": \"{url}\", \"language\": \"{language}\", \"text\": {}}}\n",
        quoted(&text)
    )
}

/// A document of the web: one of its own, or another one once more.
fn web(seed: u64, number: u64) -> (Script, String) {
    let mut chance = Chance::new(seed ^ 0x0061_6761_696e, number);
    let drawn = chance.unit();
    if number == 0 || drawn >= DUPLICATES + NEAR_DUPLICATES {
        return own(seed, number);
    }
    let (script, text) = own(seed, chance.whole(0, number - 1));
    if drawn < DUPLICATES {
        return (script, text);
    }
    // A word in thirty is another one.
    let changed = |it: &str| match chance.happens(0.03) {
        true => word(script, &mut chance),
        false => it.to_owned(),
    };
    (script, text.split(' ').map(changed).collect::<Vec<_>>().join(" "))
}

/// The document of a number that is nobody's copy.
fn own(seed: u64, number: u64) -> (Script, String) {
    let mut chance = Chance::new(seed ^ 0x0077_6562, number);
    let mut drawn = chance.whole(0, 999);
    let script = SCRIPTS.iter().find(|(_, share)| {
        let is_it = drawn < *share;
        drawn = drawn.saturating_sub(*share);
        is_it
    });
    let script = script.map_or(Script::English, |it| it.0);
    // Some are a line, most a few paragraphs, a few are long.
    let n = match chance.whole(0, 99) {
        0..8 => 0,
        8..85 => chance.whole(1, 5),
        85..99 => chance.whole(6, 20),
        _ => chance.whole(40, 120),
    };
    let mut text = capital(&word(script, &mut chance));
    text.push('\n');
    for _ in 0..n {
        let sentences = chance.whole(1, 6);
        text += &paragraph(script, sentences, &mut chance);
        if chance.happens(ODD) {
            text.push(' ');
            text += &odd(&mut chance);
        }
        text.push('\n');
    }
    if chance.happens(0.2) {
        text += "Home | About | Contact | Terms of use\n";
    }
    text.pop();
    (script, text)
}

const LICENSES: [&str; 6] = ["mit", "mit", "apache-2.0", "bsd-3-clause", "gpl-3.0", "unknown"];

/// Path, licence and text of a file of code.
fn code(seed: u64, number: u64) -> [String; 3] {
    let mut chance = Chance::new(seed ^ 0x636f_6465, number);
    let language = chance.pick(&["py", "rs", "c"]);
    let mut text = String::new();
    for _ in 0..chance.whole(2, 14) {
        text += &function(language, &mut chance);
        text.push('\n');
    }
    let path = format!("src/{}/{}.{language}", name(&mut chance), name(&mut chance));
    [path, chance.pick(&LICENSES).to_owned(), text]
}

/// A name in code.
fn name(chance: &mut Chance) -> String {
    let one = |chance: &mut Chance| word(Script::English, chance);
    match chance.happens(0.5) {
        true => format!("{}_{}", one(chance), one(chance)),
        false => one(chance),
    }
}

/// A function in a language, which does little.
fn function(language: &str, chance: &mut Chance) -> String {
    let (own, first, second) = (name(chance), name(chance), name(chance));
    let (a, b) = (chance.whole(0, 64), chance.whole(1, 4_096));
    let note = sentence(Script::English, chance);
    let body: Vec<String> = (0..chance.whole(1, 6))
        .map(|_| {
            let (to, of) = (name(chance), name(chance));
            let sign = chance.pick(&["+", "-", "*", "<<", "^"]);
            match language {
                "py" => format!("    {to} = {first}[{a}] {sign} {of}({second})\n"),
                "rs" => format!("    let {to} = {first}[{a}] {sign} {of}(&{second});\n"),
                _ => format!("    int {to} = {first}[{a}] {sign} {of}(&{second});\n"),
            }
        })
        .collect();
    let body = body.concat();
    match language {
        "py" => format!(
            "def {own}({first}, {second}=None):\n    \"\"\"{note}\"\"\"\n{body}    if {second} is not None and len({first}) > {b}:\n        return {first}\n    return {b}\n"
        ),
        "rs" => format!(
            "/// {note}\npub fn {own}({first}: &[i64], {second}: Option<usize>) -> i64 {{\n{body}    {second}.map_or({b}, |it| {first}[it % {first}.len()])\n}}\n"
        ),
        _ => format!(
            "/* {note} */\nstatic int {own}(const int *{first}, size_t {second})\n{{\n{body}    for (size_t i = 0; i < {second}; i++) {{\n        if ({first}[i] == {b}) return (int)i;\n    }}\n    return -1;\n}}\n"
        ),
    }
}

/// Title and text of a book's chapter.
fn book(seed: u64, number: u64) -> [String; 2] {
    let mut chance = Chance::new(seed ^ 0x626f_6f6b, number);
    let title = format!(
        "{} {}",
        capital(&word(Script::English, &mut chance)),
        capital(&word(Script::English, &mut chance))
    );
    let mut text = format!("{}\n\n", title.to_uppercase());
    for _ in 0..chance.whole(80, 160) {
        let n = chance.whole(3, 8);
        text += &paragraph(Script::English, n, &mut chance);
        text += "\n\n";
    }
    [title, text]
}

/// A page of HTML: an article, and what is around it.
fn page(seed: u64, number: u64) -> String {
    let mut chance = Chance::new(seed ^ 0x6874_6d6c, number);
    let title = capital(&sentence(Script::English, &mut chance));
    let mut article = format!("<article><h1>{title}</h1>\n");
    for _ in 0..chance.whole(3, 9) {
        let n = chance.whole(3, 7);
        let text = paragraph(Script::English, n, &mut chance);
        let (before, after) = text.split_at(text.find(' ').unwrap_or(0));
        article += &format!(
            "<p>{before} <a href=\"/{}\">{}</a> &amp;{after}</p>\n",
            name(&mut chance),
            name(&mut chance)
        );
    }
    article += "</article>";
    let links: String = (0..chance.whole(4, 12))
        .map(|_| format!("<li><a href=\"/{0}\">{0}</a></li>", name(&mut chance)))
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{title}</title><style>p {{ margin: 1em }}</style>\n<script>var n = {number};</script></head>\n\
         <body><nav><ul>{links}</ul></nav>\n{article}\n<aside><p>Subscribe to our letters</p></aside><footer>&copy; {}</footer></body></html>\n",
        words::capital(&name(&mut chance))
    )
}

fn of_pair(seed: u64, number: u64) -> Chance {
    Chance::new(seed ^ 0x7061_6972, number)
}

/// Files of sentences in two languages, of their words, and of each language's vocabulary.
fn pairs(seed: u64, count: u64) -> Vec<(String, Vec<u8>)> {
    let mut raw = [String::new(), String::new()];
    let mut split = [String::new(), String::new()];
    let mut seen: [BTreeMap<String, u64>; 2] = Default::default();
    for number in 0..count {
        let both = pair(&mut of_pair(seed, number));
        for (at, text) in both.iter().enumerate() {
            raw[at] += text;
            raw[at].push('\n');
            let apart = text.to_lowercase().replace('.', " .").replace(',', " ,");
            for it in apart.split(' ') {
                *seen[at].entry(it.to_owned()).or_default() += 1;
            }
            split[at] += &apart;
            split[at].push('\n');
        }
    }
    let mut files = Vec::new();
    for (at, language) in ["en", "de"].iter().enumerate() {
        let mut all: Vec<(&String, &u64)> = seen[at].iter().collect();
        all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let names = ["<unk>", "<s>", "</s>"].into_iter().chain(all.iter().map(|it| it.0.as_str()));
        let vocabulary: String = names.map(|it| format!("{it}\n")).collect();
        files.push((format!("pairs/train.{language}"), raw[at].clone().into_bytes()));
        files.push((format!("pairs/train.tok.{language}"), split[at].clone().into_bytes()));
        files.push((format!("pairs/vocab.{language}"), vocabulary.into_bytes()));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn texts_have_several_scripts_and_duplicates_and_words_as_rare_as_in_real_ones() {
        let all: Vec<(Script, String)> = (0..2_000).map(|it| web(5, it)).collect();
        for (script, share) in SCRIPTS {
            let n = all.iter().filter(|it| it.0 == script).count() as u64;
            assert!((share..share * 3 + 20).contains(&n), "{script:?}: {n}");
        }
        let different: BTreeSet<&String> = all.iter().map(|it| &it.1).collect();
        assert!((1_900..1_960).contains(&different.len()), "{}", different.len());
        let english = all.iter().filter(|it| it.0 == Script::English);
        let words: Vec<&str> = english.flat_map(|it| it.1.split(' ')).collect();
        let kinds: BTreeSet<&str> = words.iter().copied().collect();
        assert!((4..60).contains(&(words.len() / kinds.len())), "{} {}", words.len(), kinds.len());
        assert!(all.iter().any(|it| it.1.contains('\u{301}')));
    }
}
