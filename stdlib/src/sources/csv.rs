//! `csv`: one record for each row of tables in CSV files.

use super::{
    listed::Listed,
    records::{Format, Records, check_utf8, text_failure},
};
use crate::prelude::*;
use crate::text_scan::{
    RecordFault, RecordIndex, RecordReader,
    csv::{ColumnKind, Layout, Splitter, Table, parse_bool, parse_f64, parse_i64},
};
use runtime::{Builder, Source, SourceCall};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

source! {
    /// The rows of CSV files (RFC 4180) that a pattern names, with a field for each column.
    ///
    /// Patterns are those of `files`; all files have the same columns. The first 1 000 rows of
    /// the first file say what a column is: `i64`, `f64`, `bool`, else `str`. `header: false`
    /// reads files without names, whose columns are `column1` and so on. `delimiter` is found out
    /// unless said: `,`, `;`, `|` or a tab. An empty field of a column that is no `str` is an
    /// error, unless `missing: { age: -1 }` says what it stands for.
    ///
    /// Files are UTF-8, and may be read in any order, as those of `lines`.
    ///
    /// `lanes: n` is that of `range`.
    ///
    /// ```pipe no_run
    /// csv("people.csv", missing: { age: -1 })    # { name: str, age: i64 }
    /// ```
    "csv(pattern: text, delimiter: text = none, header: bool = true, missing: record = none, lanes: int = none) \
     -> stream",
    cost: Cost::out(80.0, 2.0),    // Assumed: a number is read in 20 ns.
    properties: &[Property::Indexed],
    fields: Some(fields),
}

/// The fields were found by [`probe`].
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    layout(applied.args)?;
    let columns = applied.found.iter().enumerate();
    let reads = columns.map(|(at, it)| Read::new(at, it, &applied.args[3]));
    reads.collect::<Result<Vec<_>, _>>()?;
    for (name, _) in entries(&applied.args[3]) {
        if applied.found.iter().all(|it| it.name != *name) {
            let known: Vec<_> = applied.found.iter().map(|it| format!("`{}`", it.name)).collect();
            return Err(format!(
                "`missing` names `{name}`, and the columns are {}",
                known.join(", ")
            ));
        }
    }
    Ok(applied.found.to_vec())
}

/// The fields that the first file has.
pub(super) fn probe(args: &[Arg]) -> Result<Vec<Field>, Failure> {
    let listed = Listed::new(&args[0]).map_err(Failure::Program)?;
    let layout = layout(args).map_err(Failure::Program)?;
    let table = Table::probe(&listed.found()?.path(0), layout).map_err(text_failure)?;
    Ok(columns(&table))
}

fn columns(table: &Table) -> Vec<Field> {
    let field = |name: &str, kind| Field { name: name.to_owned(), ty: Type::scalar(dtype(kind)) };
    table.columns.iter().map(|it| field(&it.name, it.kind)).collect()
}

fn dtype(kind: ColumnKind) -> DType {
    match kind {
        ColumnKind::I64 => DType::I64,
        ColumnKind::F64 => DType::F64,
        ColumnKind::Bool => DType::Bool,
        ColumnKind::Str => DType::Str,
    }
}

fn layout(args: &[Arg]) -> Result<Layout, String> {
    let delimiter = match &args[1] {
        Arg::None => None,
        Arg::Text(it) if it.len() == 1 && !matches!(it.as_str(), "\"" | "\n" | "\r") => {
            Some(it.as_bytes()[0])
        }
        _ => return Err("`delimiter` must be one character, such as `\";\"`".to_owned()),
    };
    Ok(Layout { delimiter, has_header: args[2] != Arg::Bool(false) })
}

fn entries(missing: &Arg) -> &[(String, Arg)] {
    match missing {
        Arg::Record(entries) => entries,
        _ => &[],
    }
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let tables = Tables {
        layout: layout(call.args).map_err(Failure::Program)?,
        columns: call.columns.to_vec(),
        missing: call.args[3].clone(),
        known: OnceLock::new(),
    };
    Ok(Arc::new(Records::new(tables, listed, call.place)))
}

/// The tables of the files, all alike; looked at when the first record is needed.
struct Tables {
    layout: Layout,
    columns: Vec<Field>,
    missing: Arg,
    known: OnceLock<Result<Known, Failure>>,
}

struct Known {
    table: Table,
    /// One for each column of the chunks.
    reads: Vec<Read>,
}

/// How one field of a row becomes a value.
struct Read {
    /// Which of the table's columns.
    at: usize,
    name: String,
    dtype: DType,
    /// What stands for an empty field.
    missing: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    I64(i64),
    F64(f64),
    Bool(bool),
    Text(String),
}

impl Tables {
    fn known(&self, files: &[PathBuf]) -> Result<&Known, Failure> {
        let known = self.known.get_or_init(|| {
            let table = Table::probe(&files[0], self.layout).map_err(text_failure)?;
            let found = columns(&table);
            let read = |it: &Field| {
                let at = found.iter().position(|column| column == it);
                let at = at.ok_or_else(|| changed(&files[0], it))?;
                Read::new(at, it, &self.missing).map_err(Failure::Program)
            };
            let reads = self.columns.iter().map(read).collect::<Result<_, _>>()?;
            Ok(Known { table, reads })
        });
        known.as_ref().map_err(Clone::clone)
    }
}

fn changed(path: &std::path::Path, field: &Field) -> Failure {
    let detail = format!(
        "it had a column `{field}` when the program was compiled, and has none now: compile it again"
    );
    Failure::Io { path: path.display().to_string(), detail }
}

impl Format for Tables {
    type Scratch = Splitter;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::csv(files.clone(), &self.known(files)?.table))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_csv(files.clone(), &self.known(files)?.table).map_err(text_failure)
    }

    fn append(
        &self,
        record: &[u8],
        splitter: &mut Splitter,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        let known = self.known.get().and_then(|it| it.as_ref().ok());
        let known = known.expect("a reader or an index of the tables was made before");
        let fields = known.table.split(record, splitter)?;
        for (read, to) in known.reads.iter().zip(&mut out.columns) {
            read.append(fields.field(read.at), to)?;
        }
        Ok(())
    }
}

impl Read {
    /// Column `at` of the tables.
    fn new(at: usize, field: &Field, missing: &Arg) -> Result<Self, String> {
        let (name, dtype) = (field.name.clone(), field.ty.dtype().unwrap_or(DType::Str));
        let said = entries(missing).iter().find(|(it, _)| *it == name);
        let value = |arg: &Arg| match (arg, dtype) {
            (Arg::Int(it), DType::I64) => Ok(Value::I64(*it)),
            (Arg::Int(it), DType::F64) => Ok(Value::F64(*it as f64)),
            (Arg::Float(it), DType::F64) => Ok(Value::F64(*it)),
            (Arg::Bool(it), DType::Bool) => Ok(Value::Bool(*it)),
            (Arg::Text(it), DType::Str) => Ok(Value::Text(it.clone())),
            _ => Err(format!("`missing` must say a `{dtype}` for `{name}`")),
        };
        let missing = said.map(|(_, arg)| value(arg)).transpose()?;
        Ok(Self { at, name, dtype, missing })
    }

    fn append(&self, field: &[u8], to: &mut Builder) -> Result<(), RecordFault> {
        let empty = field.trim_ascii().is_empty();
        if let Some(missing) = self.missing.as_ref().filter(|_| empty) {
            missing.append(to);
            return Ok(());
        }
        let read = match self.dtype {
            DType::I64 => parse_i64(field).map(|it| to.push_scalar(it)),
            DType::F64 => parse_f64(field).map(|it| to.push_scalar(it)),
            DType::Bool => parse_bool(field).map(|it| to.push_scalar(it)),
            _ => {
                check_utf8(field)?;
                to.push_text(field);
                Some(())
            }
        };
        read.ok_or_else(|| self.wrong(field, empty))
    }

    fn wrong(&self, field: &[u8], empty: bool) -> RecordFault {
        let (name, dtype) = (&self.name, self.dtype);
        if empty {
            let message = format!("column `{name}` is empty");
            let help = format!("say what that stands for: `missing: {{ {name}: … }}`");
            return RecordFault { message, help };
        }
        let found: String = String::from_utf8_lossy(field).chars().take(40).collect();
        let message = format!("column `{name}` is `{dtype}`, and here is `{found}`");
        let help = "the first 1 000 rows of the first file say what a column is".to_owned();
        RecordFault { message, help }
    }
}

impl Value {
    fn append(&self, to: &mut Builder) {
        match self {
            Self::I64(it) => to.push_scalar(*it),
            Self::F64(it) => to.push_scalar(*it),
            Self::Bool(it) => to.push_scalar(*it),
            Self::Text(it) => to.push_text(it.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{listed::folder::Folder, records::reading::*};
    use super::*;

    const TABLE: &str = "name,age,size\n\"Ada, L.\",36,1.5\n\"two\nlines\",,2\nx,7,-1e3\n";

    fn args(folder: &Folder, missing: &[(&str, Arg)]) -> [Arg; 4] {
        let missing = missing.iter().map(|(name, arg)| ((*name).to_owned(), arg.clone())).collect();
        [folder.pattern("*.csv"), Arg::None, Arg::Bool(true), Arg::Record(missing)]
    }

    fn open(args: &[Arg]) -> (Arc<dyn Source>, Vec<Field>) {
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
    }

    #[test]
    fn arguments_are_checked() {
        let folder = Folder::new("csv-args", &[("a.csv", TABLE)]);
        let refused = |missing: &[(&str, Arg)]| {
            let args = args(&folder, missing);
            let (found, graph) = (probe(&args).unwrap(), plan::Graph::default());
            let applied =
                Applied { args: &args, graph: &graph, inputs: &[], names: &[], found: &found };
            fields(&applied).unwrap_err()
        };
        assert!(refused(&[("ages", Arg::Int(0))]).contains("the columns are `name`, `age`"));
        assert!(refused(&[("age", Arg::Float(0.5))]).contains("a `i64` for `age`"));
    }
}
