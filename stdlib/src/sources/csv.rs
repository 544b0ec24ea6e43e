//! `csv`: one record for each row of tables in CSV files.

mod columns;
mod together;

use super::{
    absent::{COMPLETE, FAULT, UnknownColumn, entries},
    framed::{Format, Neighbours, Raw, Records, file_failure},
    listed::Listed,
};
use crate::functions::text::guarded::ColumnFaults;
use crate::prelude::*;
use crate::records::{
    FileError, Place, RecordFault, RecordIndex, RecordReader,
    csv::{Fields, Layout, Splitter, Table},
};
#[cfg(feature = "tables")]
pub(super) use columns::push_value;
use columns::{Read, Said, TYPES};
use plan::Faulty;
use runtime::{Builder, Source, SourceCall};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

source! {
    /// Reads the rows of CSV files that match a pattern.
    ///
    /// A record has a field for each column. The format is that of RFC 4180. Patterns are those of `files`. All
    /// files must have the same columns in the same order; spaces around column names are ignored.
    /// `header: false` reads files without column names; columns are then `column1` and so on. `delimiter` is
    /// detected unless it is given: `,`, `;`, `|` or a tab. Quoted fields may contain delimiters and line
    /// breaks. Files are UTF-8, and can be read in any order, like those of `lines`.
    ///
    /// `columns: ["age", "size"]` limits the fields of a record, and `columns: { age, fare: "Fare (USD)" }` also renames
    /// columns, as in `parquet`. A column without a name, or with the name of an earlier one, is `column` and its number.
    ///
    /// `types: { id: str, age: f32 }` sets the types of columns. Other types are inferred from the first 1,000
    /// rows of the first file: `i64`, `f64`, `bool`, otherwise `str`.
    ///
    /// An empty field of a column that is not `str` is missing. So is a field that is one of `na_values`, such
    /// as `"NA"`, in any column that is not `str`, given by `types` or inferred from the other rows.
    /// `missing: { age: -1, size: skip }` decides what happens: a value replaces the missing one, `skip` drops
    /// the row, and `fault` (the default) makes the field fail. A `str` column has missing fields too, if it is
    /// listed in `missing`.
    ///
    /// If a field is missing or does not match its type, only that column fails: it fails where the column is
    /// used, and `age else -1`, `else skip` and the quarantine apply. A row with too few or too many fields
    /// fails wherever any of its columns is used. Columns that are not needed are not read. An operator that
    /// passes on whole records, such as `batch` or `shuffle` with a window, uses all columns: write `else`
    /// before it. Without an `else`, the run ends at such a row. The message names the file, line, column and
    /// value.
    ///
    /// Files may be compressed with gzip, Zstandard, xz or bzip2, detected from their first bytes; compressed
    /// files can only be read in order.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// csv("rides.csv", columns: { zone, distance: "Trip Distance" })    # { distance: f64, zone: i64 }
    /// csv("people.csv", types: { age: f32 }, missing: { age: -1, name: skip })    # { name: str, age: f32 }
    /// ```
    "csv(pattern: text, delimiter: text = none, header: bool = true, columns: columns = none, missing: absent = none, \
     types: dtypes = none, na_values: texts = none, lanes: int = none, faults: bool = false) -> stream",
    cost: Cost::out(25.0, 2.0),    // Assumed: a row is found in 25 ns, a number of 8 bytes read in 16.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::Keeps(COMPLETE), Property::Faulty(&FAULTY)],
    fields: Some(fields);
    probe: probe, of_text: probe_shown,
}

static FAULTY: Faulty =
    Faulty { argument: FAULTS, field: FAULT, known: COMPLETE, guard: "guarded" };

/// Where the parameters stand.
const DELIMITER: usize = 1;
const HEADER: usize = 2;
const COLUMNS: usize = 3;
const FAULTS: usize = 8;

/// The fields were found by [`probe`], which has looked at the names that the arguments say.
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    layout(applied.args)?;
    let said = Said::new(applied.args)?;
    for field in applied.found.iter().filter(|it| it.name != COMPLETE && it.name != FAULT) {
        Read::new((0, 0), field, &said)?;
    }
    Ok(applied.found.to_vec())
}

/// The fields that the first file has.
fn probe(args: &[Arg]) -> Result<Vec<Field>, Failure> {
    probe_shown(args, &|_| true)
}

/// The same, where that file may not be shown. What is wrong with a file as a table says nothing of what is in it.
fn probe_shown(args: &[Arg], may_show: &dyn Fn(&Path) -> bool) -> Result<Vec<Field>, Failure> {
    let listed = Listed::new(&args[0]).map_err(Failure::Program)?;
    let layout = layout(args).map_err(Failure::Program)?;
    let said = Said::new(args).map_err(Failure::Program)?;
    let path = listed.found()?.path(0);
    let is_shown = may_show(&path);
    let table = said.table(&path, layout)?;
    said.known(&table).map_err(|it| Failure::Program(it.told(is_shown)))?;
    Ok(said.fields(&table).into_iter().map(|it| it.1).collect())
}

fn layout(args: &[Arg]) -> Result<Layout, String> {
    let delimiter = match &args[DELIMITER] {
        Arg::None => None,
        Arg::Text(it) if it.len() == 1 && !matches!(it.as_str(), "\"" | "\n" | "\r") => {
            Some(it.as_bytes()[0])
        }
        _ => return Err("`delimiter` must be one character, such as `\";\"`".to_owned()),
    };
    Ok(Layout { delimiter, has_header: args[HEADER] != Arg::Bool(false) })
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let tables = Tables {
        layout: layout(call.args).map_err(Failure::Program)?,
        said: Said::new(call.args).map_err(Failure::Program)?,
        columns: call.columns.to_vec(),
        known: OnceLock::new(),
    };
    Ok(Arc::new(Records::new(tables, listed, call.place)))
}

/// The rows of listed files with the columns that an argument `read` says, all of which are text: faults count them as they
/// are named there.
///
/// # Errors
/// The first file cannot be read, or lacks a column.
pub(super) fn of_texts(
    listed: Listed,
    (read, faults): (Arg, bool),
    (columns, place): (&[Field], u64),
) -> Result<Arc<dyn Source>, Failure> {
    let text = |it: &(String, Arg)| (it.0.clone(), Arg::Word("str".to_owned()));
    let mut args = vec![Arg::None; FAULTS + 1];
    args[HEADER] = Arg::Bool(true);
    args[TYPES] = Arg::Record(entries(&read).iter().map(text).collect());
    args[COLUMNS] = read;
    args[FAULTS] = Arg::Bool(faults);
    let layout = layout(&args).map_err(Failure::Program)?;
    let said = Said::new(&args).map_err(Failure::Program)?.numbered_as_named();
    let path = listed.found()?.path(0);
    let unfit = |why: UnknownColumn| Failure::Io {
        path: path.display().to_string(),
        detail: why.told(true).replace("`columns` names", "`documents` reads"),
    };
    said.known(&said.table(&path, layout)?).map_err(unfit)?;
    let tables = Tables { layout, said, columns: columns.to_vec(), known: OnceLock::new() };
    Ok(Arc::new(Records::new(tables, listed, place)))
}

/// The tables of the files, all alike; looked at when the first record is needed.
struct Tables {
    layout: Layout,
    said: Said,
    columns: Vec<Field>,
    known: OnceLock<Result<Known, Failure>>,
}

struct Known {
    table: Table,
    /// One for each column of the chunks.
    reads: Vec<Filled>,
    /// Columns of the table without which a row is left out.
    skips: Vec<usize>,
}

/// What a column of the chunks is filled with.
enum Filled {
    /// A column of the table.
    Column(Read),
    /// Whether the row is kept.
    Complete,
    /// What is wrong with the row.
    Fault,
}

impl Tables {
    fn known(&self, files: &[PathBuf]) -> Result<&Known, Failure> {
        let known = self.known.get_or_init(|| {
            let table = self.said.table(&files[0], self.layout)?;
            let found = self.said.fields(&table);
            let filled = |it: &Field| {
                let number = found.iter().position(|column| column.1 == *it);
                let number = number.ok_or_else(|| changed(&files[0], it))?;
                Ok(match it.name.as_str() {
                    COMPLETE => Filled::Complete,
                    FAULT => Filled::Fault,
                    _ => {
                        let at = (found[number].0, number);
                        Filled::Column(Read::new(at, it, &self.said).map_err(Failure::Program)?)
                    }
                })
            };
            let reads = self.columns.iter().map(filled).collect::<Result<_, _>>()?;
            let skips = self.said.skips(&table);
            Ok(Known { table, reads, skips })
        });
        known.as_ref().map_err(Clone::clone)
    }
}

fn changed(path: &Path, field: &Field) -> Failure {
    let detail = format!(
        "it had a column `{field}` when the program was compiled, but no longer does: compile the \
         program again"
    );
    Failure::Io { path: path.display().to_string(), detail }
}

impl Format for Tables {
    type Scratch = Splitter;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::csv(files.clone(), &self.known(files)?.table))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_csv(files.clone(), &self.known(files)?.table).map_err(file_failure)
    }

    fn append(
        &self,
        Raw { bytes, is_utf8 }: Raw<'_>,
        splitter: &mut Splitter,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        let known = self.known_now();
        let fields = known.table.split(bytes, splitter)?;
        let complete = !known.skips.iter().any(|it| self.said.is_absent(fields.field(*it)));
        for (filled, to) in known.reads.iter().zip(&mut out.columns) {
            match filled {
                Filled::Column(read) if complete => {
                    let field = Raw { bytes: fields.field(read.at), is_utf8 };
                    read.append(field, &self.said, to)?;
                }
                Filled::Column(read) => read.append_nothing(to),
                Filled::Complete => to.push_scalar(complete),
                Filled::Fault => to.push_text(b""),
            }
        }
        Ok(())
    }

    fn append_together(
        &self,
        neighbours: &Neighbours<'_>,
        splitter: &mut Splitter,
        out: &mut ChunkBuilder,
    ) -> (usize, usize) {
        together::append(self, neighbours, splitter, out)
    }

    fn append_fault(
        &self,
        error: FileError,
        (record, splitter): (Raw<'_>, &mut Splitter),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        if !self.said.faults {
            return Err(file_failure(error));
        }
        let known = self.known_now();
        let fields = known.table.split(record.bytes, splitter);
        let told = match &fields {
            Ok(fields) => self.append_what_fits(&error, (fields, record.is_utf8), out),
            Err(_) => {
                let columns = known.reads.iter().zip(&mut out.columns);
                columns.for_each(|(filled, to)| filled.append_nothing(to));
                told(&error, &error.message, &error.help)
            }
        };
        let all = known.reads.iter().zip(&mut out.columns);
        for (_, to) in all.filter(|(filled, _)| matches!(filled, Filled::Fault)) {
            to.push_text(told.as_bytes());
        }
        Ok(())
    }

    fn record(&self, ordinal: u64) -> String {
        format!(", row {}", ordinal + 1)
    }
}

/// What is wrong in a line of a file, as a fault says it.
fn told(FileError { path, place, .. }: &FileError, message: &str, help: &str) -> String {
    let line = if let Some(Place::Line(it)) = place { *it } else { 0 };
    format!("{path}:{line}: {message}: {help}")
}

impl Filled {
    /// What stands in a row that is a fault; what is wrong with it comes later.
    fn append_nothing(&self, to: &mut Builder) {
        match self {
            Self::Column(read) => read.append_nothing(to),
            Self::Complete => to.push_scalar(true),
            Self::Fault => {}
        }
    }
}

impl Tables {
    /// Appends the columns of a row that can be read, and gives what is wrong with the others, as
    /// `guarded` reads it.
    fn append_what_fits(
        &self,
        error: &FileError,
        (fields, is_utf8): (&Fields<'_>, bool),
        out: &mut ChunkBuilder,
    ) -> String {
        let mut faults = ColumnFaults::default();
        for (filled, to) in self.known_now().reads.iter().zip(&mut out.columns) {
            let Filled::Column(read) = filled else {
                filled.append_nothing(to);
                continue;
            };
            let field = Raw { bytes: fields.field(read.at), is_utf8 };
            if let Err(fault) = read.append(field, &self.said, to) {
                read.append_nothing(to);
                faults.add(read.number, &told(error, &fault.message, &fault.help));
            }
        }
        faults.text()
    }

    fn known_now(&self) -> &Known {
        let known = self.known.get().and_then(|it| it.as_ref().ok());
        known.expect("a reader or an index of the tables was made before")
    }
}
#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;

    const TABLE: &str = "name,age,size\n\"Ada, L.\",36,1.5\n\"two\nlines\",,2\nx,7,-1e3\n";

    fn args(folder: &Folder, missing: &[(&str, Arg)]) -> [Arg; 9] {
        said(folder, missing, &[], &[])
    }

    pub(super) fn said(
        folder: &Folder,
        missing: &[(&str, Arg)],
        types: &[(&str, &str)],
        na_values: &[&str],
    ) -> [Arg; 9] {
        let record = |all: &[(&str, Arg)]| {
            Arg::Record(all.iter().map(|(name, arg)| ((*name).to_owned(), arg.clone())).collect())
        };
        let types: Vec<_> =
            types.iter().map(|(name, it)| (*name, Arg::Word((*it).to_owned()))).collect();
        let na_values = na_values.iter().map(|it| Arg::Text((*it).to_owned())).collect();
        [
            folder.pattern("*.csv"),
            Arg::None,
            Arg::Bool(true),
            Arg::None,
            record(missing),
            record(&types),
            Arg::List(na_values),
            Arg::None,
            Arg::Bool(false),
        ]
    }

    pub(super) fn open(args: &[Arg]) -> (Arc<dyn Source>, Vec<Field>) {
        let fields = probe(args).unwrap();
        (build(&SourceCall { args, columns: &fields, place: 7 }).unwrap(), fields)
    }

    #[test]
    fn rows_are_records() {
        let folder =
            Folder::new("csv", &[("a.csv", TABLE), ("b.csv", "name,age,size\nlast,1,0\n")]);
        let (source, fields) = open(&args(&folder, &[("age", Arg::Int(-1))]));
        let types: Vec<_> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(types, ["name: str", "age: i64", "size: f64"]);
        assert_eq!(source.len(), Ok(4));

        let all = in_order(&*source, &fields, 100).unwrap().remove(0);
        assert_eq!(all.columns[1].as_slice::<i64>(), Some(&[36, -1, 7, 1][..]));
        assert_eq!(all.columns[2].as_slice::<f64>(), Some(&[1.5, 2.0, -1000.0, 0.0][..]));
        let some = fetched(&*source, &fields, &[3, 1]).unwrap();
        assert_eq!(some.columns[0].row(1).as_str(), "two\nlines");
        assert_eq!(some.ids(), [all.ids()[3], all.ids()[1]]);
        assert!(source.describe(2).ends_with("a.csv, line 5"));
    }

    #[test]
    fn columns_that_nobody_reads_are_left_out() {
        let folder = Folder::new("csv-few", &[("a.csv", TABLE)]);
        let args = args(&folder, &[]);
        let fields = [probe(&args).unwrap().remove(2)];
        let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
        let chunk = fetched(&*source, &fields, &[0, 1]).unwrap();
        assert_eq!(chunk.columns[0].as_slice::<f64>(), Some(&[1.5, 2.0][..]));
    }

    #[test]
    fn mistakes_name_the_line() {
        let bad = "name,age,size\nx,many,0\n";
        let folder = Folder::new("csv-bad", &[("a.csv", TABLE), ("b.csv", bad)]);
        let (source, fields) = open(&args(&folder, &[]));
        let failure = in_order(&*source, &fields, 100).unwrap_err().to_string();
        assert!(failure.contains("a.csv`: line 3: column `age` is empty"), "{failure}");
        let failure = fetched(&*source, &fields, &[3]).unwrap_err().to_string();
        assert!(failure.contains("b.csv`: line 2: column `age` is `i64`"), "{failure}");

        let other = "age,name,size\n1,x,0\n";
        let folder = Folder::new("csv-order", &[("a.csv", TABLE), ("b.csv", other)]);
        let (source, fields) = open(&args(&folder, &[("age", Arg::Int(0))]));
        let failure = in_order(&*source, &fields, 100).unwrap_err().to_string();
        assert!(failure.contains("in a different order than in the first file"), "{failure}");
        assert!(failure.contains("in the same order: `name`, `age`, `size`"), "{failure}");
    }

    #[test]
    fn arguments_are_checked() {
        let folder = Folder::new("csv-args", &[("a.csv", TABLE)]);
        let refused = |args: &[Arg]| match probe(args) {
            Err(failure) => failure.to_string(),
            Ok(found) => {
                let graph = plan::Graph::default();
                fields(&Applied { args, graph: &graph, inputs: &[], names: &[], found: &found })
                    .unwrap_err()
            }
        };
        let missing = |name, arg| refused(&args(&folder, &[(name, arg)]));
        assert!(
            missing("ages", Arg::Int(0)).ends_with("which is not a column: did you mean `age`?")
        );
        assert!(missing("zip", Arg::Int(0)).ends_with("the columns are `name`, `age`, `size`"));
        assert!(missing("age", Arg::Float(0.5)).contains("a `i64` for `age`"));
        let found = missing("name", Arg::Int(0));
        assert!(found.contains("of the first 1,000 rows is not a number"), "{found}");
        assert!(found.contains("write `types: { name: i64 }`"), "{found}");
        let of_said = [("name", "str")];
        let found = refused(&said(&folder, &[("name", Arg::Int(0))], &of_said, &[]));
        assert!(found.ends_with("or `skip`, or `fault`"), "{found}");
        let wrong = refused(&said(&folder, &[], &[("sise", "f32")], &[]));
        assert!(wrong.contains("`types` names `sise`") && wrong.contains("`size`"), "{wrong}");
    }

    #[test]
    fn types_can_be_said() {
        let text = "id,age,ok,big\n007,3.0,1,18446744073709551615\n08,NA,0,1\n";
        let folder = Folder::new("csv-types", &[("a.csv", text)]);
        let types = [("id", "str"), ("age", "i32"), ("ok", "bool"), ("big", "u64")];
        let (source, fields) = open(&said(&folder, &[("age", Arg::Int(-1))], &types, &["NA"]));
        let types: Vec<_> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(types, ["id: str", "age: i32", "ok: bool", "big: u64"]);
        let all = in_order(&*source, &fields, 100).unwrap().remove(0);
        assert_eq!(all.columns[0].row(0).as_str(), "007");
        assert_eq!(all.columns[1].as_slice::<i32>(), Some(&[3, -1][..]));
        assert_eq!(all.columns[2].as_slice::<bool>(), Some(&[true, false][..]));
        assert_eq!(all.columns[3].as_slice::<u64>(), Some(&[u64::MAX, 1][..]));
        // What says that nothing is there says nothing of the type either.
        let (_, fields) = open(&said(&folder, &[], &[], &["NA"]));
        assert_eq!(fields[1].to_string(), "age: f64");
    }

    #[test]
    fn a_row_without_a_field_can_be_left_out() {
        let folder = Folder::new("csv-skip", &[("a.csv", TABLE)]);
        let (source, fields) = open(&args(&folder, &[("age", Arg::Word("skip".to_owned()))]));
        assert_eq!(fields[3].to_string(), "row.complete: bool");
        let all = in_order(&*source, &fields, 100).unwrap().remove(0);
        assert_eq!(all.columns[3].as_slice::<bool>(), Some(&[true, false, true][..]));
    }

    #[test]
    fn a_row_that_cannot_be_read_can_be_a_fault() {
        let bad = "name,age,size\nx,many,0\ny,1\nz,2,3\n";
        let folder = Folder::new("csv-fault", &[("a.csv", TABLE), ("b.csv", bad)]);
        let mut args = args(&folder, &[("age", Arg::Int(0))]);
        args[FAULTS] = Arg::Bool(true);
        let (source, fields) = open(&args);
        let streamed = in_order(&*source, &fields, 100).unwrap();
        let fetched = fetched(&*source, &fields, &[3, 4, 5]).unwrap();
        let faults = |chunk: &Chunk, from: usize| -> Vec<String> {
            (from..from + 3).map(|it| chunk.columns[3].row(it).as_str().to_owned()).collect()
        };
        let streamed = faults(&streamed[0], 3);
        assert_eq!(streamed, faults(&fetched, 0));
        assert!(streamed[0].starts_with("\x001\x00"), "only `age` is a fault: {streamed:?}");
        assert!(streamed[0].contains("b.csv:2: column `age` is `i64`"), "{streamed:?}");
        assert!(streamed[0].contains("`types: { age: str }`"), "{streamed:?}");
        assert!(streamed[1].contains("b.csv:3: expected"), "{streamed:?}");
        assert_eq!(streamed[2], "");
        assert_eq!(
            source.named(fetched.ids()[1]),
            Some(format!("`{}, row 2`", folder.path("b.csv")))
        );
        assert_eq!(source.named(7), None);
    }
}
