//! What a program says of a table's columns, and how their fields become values.

use super::super::{
    absent::{COMPLETE, FAULT, Missing, UnknownColumn, check_names, entries},
    columns::{Columns, entry},
    framed::{Raw, file_failure},
};
use crate::prelude::*;
use crate::records::{
    RecordFault,
    csv::{ColumnKind, Layout, Table, parse_bool, parse_f64, parse_i64},
};
use half::{bf16, f16};
use runtime::{Builder, Element};
use std::path::Path;

/// Where the parameters stand.
const MISSING: usize = 4;
pub(super) const TYPES: usize = 5;
const NA_VALUES: usize = 6;
/// Characters of a field that a message shows.
const SHOWN_MAX: usize = 40;

/// What the arguments say of columns.
pub(super) struct Said {
    columns: Columns,
    missing: Vec<(String, Missing)>,
    types: Vec<(String, DType)>,
    /// Texts that say that nothing is there.
    na_values: Vec<String>,
    /// Whether rows that cannot be read are faults.
    pub(super) faults: bool,
    /// Whether faults count the columns as they are named, and not as they stand in the files.
    as_named: bool,
}

impl Said {
    pub(super) fn new(args: &[Arg]) -> Result<Self, String> {
        let types = entries(&args[TYPES]).iter().map(|(name, it)| {
            let named =
                if let Arg::Word(word) | Arg::Text(word) = it { DType::named(word) } else { None };
            let dtype = named.ok_or_else(|| {
                let all: Vec<&str> = DType::ALL.iter().map(|it| it.1).collect();
                format!("`types` must give a dtype for `{name}`: {}", all.join(", "))
            })?;
            Ok((name.clone(), dtype))
        });
        let na_values = match &args[NA_VALUES] {
            Arg::Text(one) => vec![one.clone()],
            Arg::List(all) => all
                .iter()
                .filter_map(|it| if let Arg::Text(it) = it { Some(it.clone()) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        Ok(Self {
            columns: Columns::new("columns", &args[super::COLUMNS])?,
            missing: Missing::all(&args[MISSING])?,
            types: types.collect::<Result<_, String>>()?,
            na_values,
            faults: args.get(super::FAULTS) == Some(&Arg::Bool(true)),
            as_named: false,
        })
    }

    /// The same, where faults count the columns in the order in which the argument names them.
    pub(super) fn numbered_as_named(self) -> Self {
        Self { as_named: true, ..self }
    }

    /// How the first file is laid out.
    pub(super) fn table(&self, path: &Path, layout: Layout) -> Result<Table, Failure> {
        Table::probe(path, layout, &self.na_values).map_err(file_failure)
    }

    /// Whether every column that is named is there.
    pub(super) fn known(&self, table: &Table) -> Result<(), UnknownColumn> {
        let in_files: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
        self.columns.check(&in_files)?;
        let read = self.read(table);
        let columns: Vec<&str> = read.iter().map(|it| &*it.1).collect();
        let missing = self.missing.iter().map(|it| ("missing", &*it.0));
        check_names(missing.chain(self.types.iter().map(|it| ("types", &*it.0))), &columns)
    }

    /// The columns of a table that are read, and what the program calls them.
    fn read(&self, table: &Table) -> Vec<(usize, String)> {
        let columns = table.columns.iter().enumerate();
        columns.filter_map(|(at, it)| Some((at, self.columns.name_of(&it.name)?))).collect()
    }

    /// The fields of a row, and which of the table's columns each is; what is ours is none.
    pub(super) fn fields(&self, table: &Table) -> Vec<(usize, Field)> {
        let field = |name: &str, dtype| Field { name: name.to_owned(), ty: Type::scalar(dtype) };
        let column = |(at, name): (usize, String)| {
            let kind = table.columns[at].kind;
            (at, field(&name, self.dtype(&name).unwrap_or_else(|| dtype(kind))))
        };
        let mut fields: Vec<_> = self.read(table).into_iter().map(column).collect();
        if self.missing.iter().any(|it| matches!(it.1, Missing::Skip)) {
            fields.push((usize::MAX, field(COMPLETE, DType::Bool)));
        }
        if self.faults {
            fields.push((usize::MAX, field(FAULT, DType::Str)));
        }
        fields
    }

    /// The columns without which a row is left out.
    pub(super) fn skips(&self, table: &Table) -> Vec<usize> {
        let skipped = |name: &str| matches!(self.missing(name), Some(Missing::Skip));
        self.read(table).iter().filter(|it| skipped(&it.1)).map(|it| it.0).collect()
    }

    /// Whether nothing is there.
    pub(super) fn is_absent(&self, field: &[u8]) -> bool {
        let field = field.trim_ascii();
        field.is_empty() || self.na_values.iter().any(|it| it.as_bytes() == field)
    }

    /// Whether other fields than empty ones say that nothing is there.
    pub(super) fn has_na_values(&self) -> bool {
        !self.na_values.is_empty()
    }

    fn missing(&self, name: &str) -> Option<&Missing> {
        self.missing.iter().find(|it| it.0 == name).map(|it| &it.1)
    }

    fn dtype(&self, name: &str) -> Option<DType> {
        self.types.iter().find(|it| it.0 == name).map(|it| it.1)
    }
}

fn dtype(kind: ColumnKind) -> DType {
    match kind {
        ColumnKind::I64 => DType::I64,
        ColumnKind::F64 => DType::F64,
        ColumnKind::Bool => DType::Bool,
        ColumnKind::Str => DType::Str,
    }
}

/// How one field of a row becomes a value.
pub(super) struct Read {
    /// Which of the table's columns.
    pub(super) at: usize,
    /// The number that faults of it have.
    pub(super) number: usize,
    name: String,
    dtype: DType,
    /// Whether `types` says the dtype.
    is_said: bool,
    /// What the program says of missing fields, and the text of a value that stands for them.
    missing: Option<Missing>,
    pub(super) stands: Option<String>,
}

impl Read {
    /// Column `at` of the tables, which is field `number` of the records.
    pub(super) fn new(
        (at, number): (usize, usize),
        field: &Field,
        said: &Said,
    ) -> Result<Self, String> {
        let (name, dtype) = (field.name.clone(), field.ty.dtype().unwrap_or(DType::Str));
        let (missing, is_said) = (said.missing(&name).cloned(), said.dtype(&name).is_some());
        let stands = match &missing {
            Some(Missing::Value(value)) => Some(stands(value, dtype).ok_or_else(|| {
                let number = number_type(value).filter(|_| dtype == DType::Str && !is_said);
                unfit(&name, dtype, number)
            })?),
            _ => None,
        };
        let named = said.columns.position(&name).filter(|_| said.as_named);
        let number = named.unwrap_or(number);
        Ok(Self { at, number, name, dtype, is_said, missing, stands })
    }

    pub(super) fn append(
        &self,
        raw: Raw<'_>,
        said: &Said,
        to: &mut Builder,
    ) -> Result<(), RecordFault> {
        let field = raw.bytes;
        if (!self.dtype.is_text() || self.missing.is_some()) && said.is_absent(field) {
            return match &self.stands {
                Some(stands) => {
                    push(self.dtype, stands.as_bytes(), to);
                    Ok(())
                }
                None => Err(self.absent(field)),
            };
        }
        if self.dtype == DType::Str {
            raw.check_utf8()?;
        }
        if push(self.dtype, field, to) { Ok(()) } else { Err(self.wrong(field)) }
    }

    /// What stands in a row that is left out, or is a fault.
    pub(super) fn append_nothing(&self, to: &mut Builder) {
        let nothing: &[u8] = match self.dtype {
            DType::Bool => b"false",
            it if it.is_text() => b"",
            _ => b"0",
        };
        push(self.dtype, nothing, to);
    }

    fn absent(&self, field: &[u8]) -> RecordFault {
        let name = &self.name;
        let message = match field.trim_ascii() {
            b"" => format!("column `{name}` is empty"),
            na => format!("column `{name}` is missing (`{}`)", shown(na)),
        };
        let value = match self.dtype {
            it if it.is_text() => "\"\"",
            DType::Bool => "false",
            _ => "0",
        };
        let (value, skip) = (entry("missing", name, value), entry("missing", name, "skip"));
        let help = format!("give a value for it, {value}, or skip such rows, {skip}");
        RecordFault::new(message, help)
    }

    fn wrong(&self, field: &[u8]) -> RecordFault {
        let Self { name, dtype, is_said, .. } = self;
        let source = if *is_said { "set by `types`" } else { "inferred from the first 1,000 rows" };
        let message = format!("column `{name}` is `{dtype}` ({source}), found `{}`", shown(field));
        let wider = if !dtype.is_float() && parse_f64(field).is_some() { "f64" } else { "str" };
        let text = shown(field.trim_ascii());
        let help = format!(
            "set another type ({}), declare the value as missing (`na_values: \"{text}\"`), or fix the row",
            entry("types", name, wider)
        );
        RecordFault::new(message, help)
    }
}

fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// What is wrong with a value that stands for missing ones: it is of the type `number` where the rows make the
/// column `str`.
fn unfit(name: &str, dtype: DType, number: Option<DType>) -> String {
    let must = format!("`missing` must give a `{dtype}` for `{name}`");
    match number {
        Some(number) => format!(
            "{must}, since a field of the first 1,000 rows is not a number: write {} to make such rows faults",
            entry("types", name, number.name())
        ),
        None => format!("{must}, or `skip`, or `fault`"),
    }
}

fn number_type(value: &Arg) -> Option<DType> {
    match value {
        Arg::Int(_) => Some(DType::I64),
        Arg::Float(_) => Some(DType::F64),
        _ => None,
    }
}

/// The text of a value that stands for missing ones, if it is one of that dtype.
fn stands(value: &Arg, dtype: DType) -> Option<String> {
    let text = match (value, dtype.is_text()) {
        (Arg::Int(it), false) => it.to_string(),
        (Arg::Float(it), false) if dtype.is_float() => it.to_string(),
        (Arg::Bool(it), false) if dtype == DType::Bool => it.to_string(),
        // `missing: { age: "nan" }`
        (Arg::Text(it), _) => it.clone(),
        _ => return None,
    };
    let mut trial = Builder::new(&Type::scalar(dtype), 1, &runtime::Pool::default());
    push(dtype, text.as_bytes(), &mut trial).then_some(text)
}

/// Appends the value that an argument says; `false` where it says none of that dtype.
#[cfg(feature = "tables")]
pub(in super::super) fn push_value(value: &Arg, dtype: DType, to: &mut Builder) -> bool {
    stands(value, dtype).is_some_and(|it| push(dtype, it.as_bytes(), to))
}

/// Appends the value that a field says; `false` where it says none of that dtype.
fn push(dtype: DType, field: &[u8], to: &mut Builder) -> bool {
    fn scalar<T: Element>(value: Option<T>, to: &mut Builder) -> bool {
        value.map(|it| to.push_scalar(it)).is_some()
    }
    macro_rules! narrow {
        ($ty:ty) => {
            scalar(whole(field).and_then(|it| <$ty>::try_from(it).ok()), to)
        };
    }
    match dtype {
        DType::I64 => scalar(whole(field), to),
        DType::F64 => scalar(parse_f64(field), to),
        DType::Bool => scalar(truth(field), to),
        DType::Str | DType::Bytes => {
            to.push_text(field);
            true
        }
        // From the text at once: by way of `f64` it would be rounded twice.
        DType::F32 => scalar(number::<f32>(field), to),
        DType::F16 => scalar(number::<f32>(field).map(f16::from_f32), to),
        DType::BF16 => scalar(number::<f32>(field).map(bf16::from_f32), to),
        DType::U64 => scalar(number::<u64>(field).or_else(|| whole(field)?.try_into().ok()), to),
        DType::U8 => narrow!(u8),
        DType::U16 => narrow!(u16),
        DType::U32 => narrow!(u32),
        DType::I8 => narrow!(i8),
        DType::I16 => narrow!(i16),
        DType::I32 => narrow!(i32),
    }
}

pub(super) fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    str::from_utf8(field.trim_ascii()).ok()?.parse().ok()
}

/// A whole number, also as pandas writes a column of them in which some are missing: `3.0`.
pub(super) fn whole(field: &[u8]) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    parse_i64(field).or_else(|| {
        let number = parse_f64(field)?;
        (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
    })
}

/// A truth value, also as `1` and `0`.
fn truth(field: &[u8]) -> Option<bool> {
    parse_bool(field).or_else(|| match field.trim_ascii() {
        b"1" => Some(true),
        b"0" => Some(false),
        _ => None,
    })
}
