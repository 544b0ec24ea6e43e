//! `documents`: the texts of a corpus, whatever formats its files have.

mod in_turn;
mod json_lines;
mod whole;

use super::{
    absent::FAULT,
    columns::Columns,
    csv,
    framed::Records,
    listed::{Found, Listed},
};
use crate::prelude::*;
use in_turn::InTurn;
use json_lines::JsonLines;
use plan::Faulty;
use runtime::{Fingerprint, Interleave, Source, SourceCall, Stream, Unread};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use whole::WholeFiles;

source! {
    /// Reads the documents of a corpus: one record per document, with its `text`.
    ///
    /// The extension of a file decides how it is read: `.jsonl`, `.ndjson` and `.json` as JSON Lines, `.parquet` and `.pq` as
    /// Parquet, `.arrow`, `.feather` and `.ipc` as Arrow, `.csv` and `.tsv` as CSV; any other file is one document. JSON
    /// Lines, CSV and text files may be compressed, as those of `lines`. So a program does not change with the format of
    /// its corpus, and one corpus may have several. Patterns are those of `files`.
    ///
    /// `text` names the column or JSON field of the text. `fields` names others that the records also have, such as a
    /// source or a license; `fields: { license: "License Name" }` renames them. All are `str`: numbers of JSON are
    /// given as they are written; columns of Parquet and Arrow must be strings. A file that is one document has no
    /// other fields, so `fields` is an error there.
    ///
    /// If a record lacks the field, or it is not a string, it fails where it is used, and `else skip` and the quarantine
    /// apply. Without an `else`, the run ends at such a record.
    ///
    /// Files can be read in any order, like those of the source that reads them.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// documents("corpus/**/*.{jsonl.gz,parquet}", fields: ["license"])    # { text: str, license: str }
    ///     |> where license in ["mit", "apache-2.0"]
    /// ```
    "documents(pattern: text, text: text = \"text\", fields: columns = none, lanes: int = none, faults: bool = false) -> \
     stream",
    cost: Cost::out(60.0, 0.5),    // Assumed: a line is found, and one of its strings copied.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

/// The field that a record always has.
const TEXT: &str = "text";
/// Where the parameters stand.
const NAME: usize = 1;
const FIELDS: usize = 2;
const FAULTS: usize = 4;

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    let said = Said::new(applied.args)?;
    let field = |name: &str| Field { name: name.to_owned(), ty: Type::scalar(DType::Str) };
    let mut all: Vec<Field> = vec![field(TEXT)];
    all.extend(said.columns[1..].iter().map(|it| field(&it.0)));
    all.extend(said.faults.then(|| field(FAULT)));
    Ok(all)
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let said = Said::new(call.args).map_err(Failure::Program)?;
    let (columns, place) = (call.columns.to_vec(), call.place);
    let inner = Inner { listed, said, columns, place, parts: OnceLock::new() };
    Ok(Arc::new(Documents(Arc::new(inner))))
}

/// What the arguments say.
struct Said {
    /// The fields of a record that are columns of files, and what these call them: first the text.
    columns: Vec<(String, String)>,
    faults: bool,
}

impl Said {
    fn new(args: &[Arg]) -> Result<Self, String> {
        let Arg::Text(text) = &args[NAME] else {
            return Err("`text` must be the name of a column".to_owned());
        };
        let mut columns = vec![(TEXT.to_owned(), text.clone())];
        for (name, column) in Columns::new("fields", &args[FIELDS])?.named() {
            let is_there = |it: &(String, String)| it.0 == name || it.1 == column;
            if columns.iter().any(is_there) {
                return Err(format!("`fields` names `{column}`, which records have already"));
            }
            if name == FAULT {
                return Err(format!("the field name `{name}` is reserved"));
            }
            columns.push((name.to_owned(), column.to_owned()));
        }
        Ok(Self { columns, faults: args[FAULTS] == Arg::Bool(true) })
    }

    /// The number of a field of the records.
    fn number(&self, field: &str) -> usize {
        self.columns.iter().position(|it| it.0 == field).unwrap_or_default()
    }

    /// The columns that are read, as the argument `columns` of other sources says them.
    fn read(&self) -> Arg {
        let column = |it: &(String, String)| (it.0.clone(), Arg::Text(it.1.clone()));
        Arg::Record(self.columns.iter().map(column).collect())
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Csv,
    Parquet,
    Arrow,
    /// All of it is one document.
    Whole,
}

impl Kind {
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let packed = ["gz", "gzip", "zst", "zstd", "xz", "bz2"];
        let inner = name.rsplit_once('.').filter(|it| packed.contains(&it.1)).map(|it| it.0);
        let extension = |it: &str| it.rsplit_once('.').map(|it| it.1.to_owned());
        match extension(inner.unwrap_or(&name)).as_deref() {
            Some("jsonl" | "ndjson" | "json") => Self::Json,
            Some("csv" | "tsv") => Self::Csv,
            Some("parquet" | "pq") if inner.is_none() => Self::Parquet,
            Some("arrow" | "feather" | "ipc") if inner.is_none() => Self::Arrow,
            _ => Self::Whole,
        }
    }
}

struct Documents(Arc<Inner>);

struct Inner {
    listed: Listed,
    said: Said,
    /// The columns of the chunks.
    columns: Vec<Field>,
    place: u64,
    parts: OnceLock<Result<Vec<Part>, Failure>>,
}

/// Files of one kind that follow each other.
struct Part {
    files: Range<usize>,
    source: Arc<dyn Source>,
}

impl Inner {
    fn parts(&self) -> Result<&[Part], Failure> {
        let parts = self.parts.get_or_init(|| {
            let found = self.listed.found()?;
            let kind = |it: usize| Kind::of(found.listing.name(it));
            let (n_files, mut parts, mut from) = (found.listing.len(), Vec::new(), 0);
            while from < n_files {
                let of = kind(from);
                let files = from..from + (from..n_files).take_while(|it| kind(*it) == of).count();
                from = files.end;
                parts.push(Part { source: self.open(files.clone())?, files });
            }
            Ok(parts)
        });
        parts.as_deref().map_err(Clone::clone)
    }

    /// The source of files of one kind.
    fn open(&self, files: Range<usize>) -> Result<Arc<dyn Source>, Failure> {
        let found = self.listed.found()?;
        let (kind, first) = (Kind::of(found.listing.name(files.start)), found.path(files.start));
        let listed = Listed::of(Found::part(found, files));
        let said = &self.said;
        Ok(match kind {
            Kind::Json => {
                let lines = JsonLines::new(said, &self.columns).map_err(Failure::Program)?;
                Arc::new(Records::new(lines, listed, self.place))
            }
            Kind::Whole if said.columns.len() > 1 => {
                return Err(Failure::Io {
                    path: first.display().to_string(),
                    detail: format!(
                        "a file of this kind is one document, without a field `{}`: exclude it from the pattern, or \
                         leave out `fields`",
                        said.columns[1].0
                    ),
                });
            }
            Kind::Whole => {
                Arc::new(WholeFiles::new(listed, (&self.columns, said.faults), self.place))
            }
            Kind::Csv => {
                csv::of_texts(listed, (said.read(), said.faults), (&self.columns, self.place))?
            }
            Kind::Parquet | Kind::Arrow => self.open_table(kind, listed)?,
        })
    }

    #[cfg(feature = "tables")]
    fn open_table(&self, kind: Kind, listed: Listed) -> Result<Arc<dyn Source>, Failure> {
        use super::tables::{Said, Tables};
        let open = if kind == Kind::Parquet { super::parquet::open } else { super::arrow::open };
        let (read, faults) = (self.said.read(), Arg::Bool(self.said.faults));
        let said = Said::new(&read, &Arg::None, &faults).map_err(Failure::Program)?;
        let first = listed.found()?.path(0).display().to_string();
        let unfit = |detail: String| Failure::Io { path: first.clone(), detail };
        let columns = said.probe(&listed, &open).map_err(|why| match why {
            Failure::Program(why) => unfit(why.replace("`columns` names", "`documents` reads")),
            other => other,
        })?;
        if let Some(it) = columns.iter().find(|it| it.ty != Type::scalar(DType::Str)) {
            return Err(unfit(format!(
                "its column `{}` is `{}`, not a string: read such files with their own source, and convert it there",
                self.said.columns[self.said.number(&it.name)].1,
                it.ty
            )));
        }
        let call = SourceCall { args: &[], columns: &self.columns, place: self.place };
        Ok(Arc::new(Tables::new(said.numbered_as_named(), listed, Arc::new(open), &call)))
    }

    #[cfg(not(feature = "tables"))]
    fn open_table(&self, _: Kind, listed: Listed) -> Result<Arc<dyn Source>, Failure> {
        let path = listed.found()?.path(0).display().to_string();
        let detail = "this `pipec` was built without Parquet, Arrow and MDS: build it with `--features full`";
        Err(Failure::Io { path, detail: detail.to_owned() })
    }

    /// The part that a record lies in, and the number of the part's first record.
    fn part_of(&self, number: u64) -> Result<(&Part, u64), Failure> {
        let mut first = 0;
        for part in self.parts()? {
            let len = part.source.len()?;
            if number < first + len {
                return Ok((part, first));
            }
            first += len;
        }
        Err(Failure::Program(format!("no record {number}")))
    }
}

impl Source for Documents {
    fn len(&self) -> Result<u64, Failure> {
        self.0.parts()?.iter().map(|it| it.source.len()).sum()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let mut rest = numbers;
        while let Some(&number) = rest.first() {
            let (part, first) = self.0.part_of(number)?;
            let end = first + part.source.len()?;
            let n = rest.iter().take_while(|it| (first..end).contains(*it)).count();
            let own: Vec<u64> = rest[..n].iter().map(|it| it - first).collect();
            part.source.fetch(&own, out)?;
            rest = &rest[n..];
        }
        Ok(())
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        Some(Box::new(InOrder { inner: self.0.clone(), part: 0, stream: None }))
    }

    fn interleaved(&self, order: Interleave) -> Option<Box<dyn Stream>> {
        // Files of one kind are interleaved as their own source does it.
        match self.0.parts() {
            Ok([one]) => one.source.interleaved(order),
            _ => Some(Box::new(InTurn::new(self.0.clone(), order))),
        }
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.0.listed.fingerprint().map(Some)
    }

    fn contents(&self) -> Result<Option<u128>, Failure> {
        self.0.listed.contents().map(Some)
    }

    fn waits(&self) -> bool {
        true
    }

    fn describe(&self, number: u64) -> String {
        match self.0.part_of(number) {
            Ok((part, first)) => part.source.describe(number - first),
            Err(_) => format!("record {number}"),
        }
    }

    fn named(&self, id: u64) -> Option<String> {
        self.0.parts().ok()?.iter().find_map(|it| it.source.named(id))
    }

    fn classes(&self) -> &[String] {
        self.0.listed.classes()
    }
}

/// The records of all parts, one part after the other.
struct InOrder {
    inner: Arc<Inner>,
    part: usize,
    stream: Option<Box<dyn Stream>>,
}

impl InOrder {
    /// The stream of the part that is read; none at the end.
    fn open(&mut self) -> Result<Option<&mut Box<dyn Stream>>, Failure> {
        if self.stream.is_none() {
            let Some(part) = self.inner.parts()?.get(self.part) else { return Ok(None) };
            self.stream = Some(streamed(&*part.source)?);
        }
        Ok(self.stream.as_mut())
    }

    fn next_part(&mut self) {
        (self.stream, self.part) = (None, self.part + 1);
    }
}

impl Stream for InOrder {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let end = out.rows() + rows;
        while out.rows() < end
            && let Some(stream) = self.open()?
        {
            let before = out.rows();
            stream.next(end - before, out)?;
            if out.rows() == before {
                self.next_part();
            }
        }
        Ok(())
    }

    /// Where all of its parts do.
    fn finds(&self) -> bool {
        let parts = self.inner.parts().unwrap_or_default();
        parts.iter().all(|it| it.source.stream().is_some_and(|it| it.finds()))
    }

    fn find(&mut self, rows: usize) -> Result<Option<Box<dyn Unread>>, Failure> {
        while let Some(stream) = self.open()? {
            if let Some(found) = stream.find(rows)? {
                return Ok(Some(found));
            }
            self.next_part();
        }
        Ok(None)
    }

    /// The part, and the place in it.
    fn place(&self) -> Option<Vec<u64>> {
        let mut place = vec![self.part as u64];
        if let Some(stream) = &self.stream {
            place.extend(stream.place()?);
        }
        Some(place)
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let (part, rest) = place.split_first().ok_or_else(changed)?;
        let n_parts = self.inner.parts()?.len();
        self.part = usize::try_from(*part).ok().filter(|it| *it <= n_parts).ok_or_else(changed)?;
        self.stream = None;
        match (rest, self.open()?) {
            ([], _) => Ok(()),
            (rest, Some(stream)) => stream.go_to(rest),
            (_, None) => Err(changed()),
        }
    }
}

fn streamed(source: &dyn Source) -> Result<Box<dyn Stream>, Failure> {
    let none = || Failure::Program("a source has no order; this is a bug in pipec".to_owned());
    source.stream().ok_or_else(none)
}

fn changed() -> Failure {
    Failure::State("the files of `documents` changed since the checkpoint was written".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;
    use runtime::{Chunk, Pool, mix};
    use xxhash_rust::xxh3::xxh3_64;

    const FILES: [(&str, &str); 6] = [
        ("a.jsonl", "{\"text\": \"one\", \"by\": \"x\"}\n{\"by\": 7, \"text\": \"t\\two\"}\n"),
        ("b.json", "{\"text\": \"three\", \"by\": true}\n"),
        ("c.csv", "by,text\ny,four\nz,\"five, \"\"six\"\"\"\n"),
        ("d/e.txt", "seven\n\nseven"),
        ("d/f.md", "\u{feff}eight"),
        ("g.jsonl", "{\"text\": \"nine\", \"by\": \"\"}\n"),
    ];
    const TEXTS: [&str; 8] =
        ["one", "t\two", "three", "four", "five, \"six\"", "seven\n\nseven", "eight", "nine"];

    fn args(folder: &Folder, pattern: &str, fields: &[&str], faults: bool) -> Vec<Arg> {
        let texts = fields.iter().map(|it| Arg::Text((*it).to_owned())).collect::<Vec<_>>();
        let fields = if texts.is_empty() { Arg::None } else { Arg::List(texts) };
        let text = Arg::Text("text".to_owned());
        vec![folder.pattern(pattern), text, fields, Arg::None, Arg::Bool(faults)]
    }

    fn open(args: &[Arg]) -> (Arc<dyn Source>, Vec<Field>) {
        let graph = plan::Graph::default();
        let applied = Applied { args, graph: &graph, inputs: &[], names: &[], found: &[] };
        let fields = fields(&applied).unwrap();
        (build(&SourceCall { args, columns: &fields, place: 7 }).unwrap(), fields)
    }

    fn column(chunks: &[Chunk], column: usize) -> Vec<String> {
        let rows = chunks.iter().flat_map(|chunk| (0..chunk.rows).map(move |row| (chunk, row)));
        rows.map(|(chunk, row)| chunk.columns[column].row(row).as_str().to_owned()).collect()
    }

    fn ids(chunks: &[Chunk]) -> Vec<u64> {
        chunks.iter().flat_map(|it| it.ids().to_vec()).collect()
    }

    #[test]
    fn files_of_any_kind_are_texts() {
        let folder = Folder::new("documents", &FILES);
        let (source, fields) = open(&args(&folder, "**/*", &[], false));
        let all = in_order(&*source, &fields, 100).unwrap();
        assert_eq!(column(&all, 0), TEXTS);
        assert_eq!(source.len(), Ok(8));
        for rows in [1, 2, 3] {
            let chunks = in_order(&*source, &fields, rows).unwrap();
            assert_eq!((column(&chunks, 0), ids(&chunks)), (column(&all, 0), ids(&all)));
        }
        // A record has the id that it has among files of its kind alone.
        let id = |file: &str, row: Option<u64>| {
            let key = xxh3_64(file.as_bytes());
            mix(7, row.map_or(key, |it| mix(key, it)))
        };
        let (ids, known) =
            (ids(&all), [id("a.jsonl", Some(1)), id("c.csv", Some(0)), id("d/e.txt", None)]);
        assert!(known.iter().all(|it| ids.contains(it)), "{ids:?} {known:?}");

        let numbers = [7, 0, 5, 4, 3, 3, 1];
        let chunk = fetched(&*source, &fields, &numbers).unwrap();
        let expected: Vec<u64> = numbers.iter().map(|it| ids[*it as usize]).collect();
        assert_eq!(chunk.ids(), expected);
        assert_eq!(source.describe(3), format!("{}, line 2", folder.path("c.csv")));
    }

    #[test]
    fn a_run_goes_on_where_one_stood() {
        let folder = Folder::new("documents-places", &FILES);
        let (source, fields) = open(&args(&folder, "**/*", &[], false));
        let next = |stream: &mut dyn Stream, rows| {
            let mut out = ChunkBuilder::new(&fields, rows, 0, &Pool::default());
            stream.next(rows, &mut out).unwrap();
            out.finish().ids().to_vec()
        };
        let streams: [&dyn Fn() -> Box<dyn Stream>; 3] = [
            &|| source.stream().unwrap(),
            &|| source.interleaved(Interleave { key: 5, open: 3 }).unwrap(),
            &|| source.interleaved(Interleave { key: 6, open: 1 }).unwrap(),
        ];
        for stream in streams {
            let all = next(&mut *stream(), 100);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 8);
            for given in 0..=8 {
                let mut before = stream();
                assert_eq!(next(&mut *before, given), all[..given]);
                let mut after = stream();
                after.go_to(&before.place().unwrap()).unwrap();
                assert_eq!(next(&mut *after, 100), all[given..]);
                let mut place = before.place().unwrap();
                for at in 0..place.len() {
                    let was = std::mem::replace(&mut place[at], u64::MAX);
                    let _ = stream().go_to(&place);
                    place[at] = was;
                }
            }
        }
    }

    #[test]
    fn other_fields_are_strings() {
        let folder = Folder::new("documents-fields", &FILES);
        let (source, fields) = open(&args(&folder, "*.*", &["by"], false));
        let all = in_order(&*source, &fields, 100).unwrap();
        assert_eq!(column(&all, 1), ["x", "7", "true", "y", "z", ""]);
        let (source, _) = open(&args(&folder, "**/*", &["by"], false));
        let failure = source.len().unwrap_err().to_string();
        assert!(
            failure.contains("d/e.txt") && failure.contains("without a field `by`"),
            "{failure}"
        );
        let (source, _) = open(&args(&folder, "*.csv", &["bye"], false));
        let failure = source.len().unwrap_err().to_string();
        assert!(
            failure.contains("`documents` reads `bye`") && failure.contains("`by`"),
            "{failure}"
        );
    }

    #[test]
    fn a_record_without_its_text_is_a_fault() {
        let lines = "{\"text\": \"a\", \"by\": [1]}\nno json\n{\"text\": 3, \"by\": 3}\n{\"text\": \"b\", \"by\": 4}\n";
        let folder = Folder::new("documents-faults", &[("a.jsonl", lines), ("b.txt", "c")]);
        let (source, fields) = open(&args(&folder, "a.jsonl", &["by"], true));
        let all = in_order(&*source, &fields, 100).unwrap();
        assert_eq!(column(&all, 0), ["a", "", "", "b"]);
        assert_eq!(column(&all, 1), ["", "", "3", "4"]);
        let told = column(&all, 2);
        assert!(told[0].contains("a.jsonl:1: ") && told[0].starts_with("\x001\0"), "{:?}", told[0]);
        assert!(told[1].contains("a.jsonl:2: "), "{:?}", told[1]);
        assert!(told[2].starts_with("\x000\0") && told[3].is_empty(), "{told:?}");
        let (source, fields) = open(&args(&folder, "a.jsonl", &["by"], false));
        let failure = in_order(&*source, &fields, 100).unwrap_err().to_string();
        assert!(failure.contains("a.jsonl`: line 1"), "{failure}");

        std::fs::write(folder.path("b.txt"), b"c\xff").unwrap();
        let (source, fields) = open(&args(&folder, "b.txt", &[], true));
        let all = in_order(&*source, &fields, 100).unwrap();
        assert!(column(&all, 1)[0].contains("not UTF-8 from byte 2 on"), "{:?}", column(&all, 1));
        let (source, fields) = open(&args(&folder, "b.txt", &[], false));
        assert!(in_order(&*source, &fields, 100).is_err());
    }

    #[cfg(feature = "tables")]
    #[test]
    fn columns_of_tables_are_texts() {
        let folder = Folder::new("documents-tables", &[("b.jsonl", "{\"name\": \"last\"}\n")]);
        let rows = include_bytes!("../tables/goldens/rows.parquet");
        std::fs::write(folder.path("a.parquet"), rows).unwrap();
        let named = |name: &str, fields: &[&str]| {
            let mut args = args(&folder, "a.*", fields, true);
            args[1] = Arg::Text(name.to_owned());
            args
        };
        let mut both = named("name", &[]);
        both[0] = folder.pattern("*.*");
        let (source, fields) = open(&both);
        let all = column(&in_order(&*source, &fields, 100).unwrap(), 0);
        assert_eq!((all.len(), &*all[4], &*all[23]), (24, "n1", "last"));
        let (source, fields) = open(&named("at.place", &["name"]));
        let chunks = in_order(&*source, &fields, 100).unwrap();
        assert_eq!((&*column(&chunks, 0)[4], &*column(&chunks, 1)[4]), ("p4", "n1"));
        for (name, says) in
            [("n", "its column `n` is `i64`"), ("names", "`documents` reads `names`")]
        {
            let failure = open(&named(name, &[])).0.len().unwrap_err().to_string();
            assert!(failure.contains(says), "{failure}");
        }
    }

    #[test]
    fn names_say_what_files_are() {
        for (name, kind) in [
            ("a.jsonl.gz", Kind::Json),
            ("a.JSON", Kind::Json),
            ("a.tsv.zst", Kind::Csv),
            ("a.parquet", Kind::Parquet),
            ("a.parquet.gz", Kind::Whole),
            ("a.txt.gz", Kind::Whole),
            ("gz", Kind::Whole),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
