//! Columns with types that a source reads of its untyped field: what sources with [`plan::Property::TypedColumns`] share.

use crate::prelude::*;
use plan::TypedColumns;
use runtime::Builder;

/// What an untyped record is read by: which of its members are wanted, and as what.
pub(super) trait Members: Default + Send + Sync + 'static {
    /// What is remembered from one record to the next.
    type Names: Default + Send;

    /// Wants what is found at a JSON Pointer as rows of the column of that number.
    ///
    /// # Errors
    /// Why that cannot be.
    fn want(&mut self, pointer: &str, column: (usize, &Type)) -> Result<(), String>;

    /// Appends to each column the value that the record has for it; `false` where one of them cannot be read, and then
    /// some columns may have a row more.
    fn read(&self, record: &[u8], names: &mut Self::Names, columns: &mut [Builder]) -> bool;
}

/// The fields of a source whose argument `typed.argument` says what it reads; of these some may be needed by nobody.
pub(super) fn fields<M: Members>(
    typed: &TypedColumns,
    applied: &Applied<'_>,
) -> Result<Vec<Field>, String> {
    let field = |name: &str, ty: &Type| Field { name: name.to_owned(), ty: ty.clone() };
    let untyped = |name| field(name, &Type::Untyped(typed.of));
    let Arg::Record(wanted) = &applied.args[typed.argument] else {
        return Ok(vec![untyped(typed.field)]);
    };
    let mut all = vec![untyped(typed.field), untyped(typed.rest)];
    let mut members = M::default();
    for (path, ty) in wanted {
        let Arg::Type(ty) = ty else {
            return Err("`typed` is set by the compiler, and says types".to_owned());
        };
        let added = members.want(path, (0, ty));
        added.map_err(|why| format!("`typed` is set by the compiler: `{path}`: {why}"))?;
        all.push(field(&format!("{}{path}", typed.field), ty));
    }
    all.push(field(typed.known, &Type::scalar(DType::Bool)));
    if !applied.found.is_empty() {
        all.retain(|it| applied.found.contains(it));
    }
    Ok(all)
}

/// How records of which some members are read become rows.
pub(super) struct Typed<M> {
    wanted: M,
    columns: Vec<Filled>,
    /// Whether one of them is the record.
    has_record: bool,
}

/// What a column of the chunks is filled with.
#[derive(Clone, Copy)]
enum Filled {
    /// The record.
    Record,
    /// The record, where something in it could not be read.
    Rest,
    /// Whether all could be read.
    Known,
    /// A member.
    Member,
}

impl<M: Members> Typed<M> {
    /// Rows of these columns, which are some of [`fields`].
    ///
    /// # Errors
    /// Why there are no such columns.
    pub(super) fn new(typed: &TypedColumns, columns: &[Field]) -> Result<Self, String> {
        let mut wanted = M::default();
        let filled = |(at, field): (usize, &Field)| match field.name.as_str() {
            it if it == typed.field => Ok(Filled::Record),
            it if it == typed.rest => Ok(Filled::Rest),
            it if it == typed.known => Ok(Filled::Known),
            it => {
                let path = it.strip_prefix(typed.field).unwrap_or_default();
                wanted.want(path, (at, &field.ty)).map(|()| Filled::Member)
            }
        };
        let columns: Vec<_> = columns.iter().enumerate().map(filled).collect::<Result<_, _>>()?;
        let has_record = columns.iter().any(|it| matches!(it, Filled::Record));
        Ok(Self { wanted, columns, has_record })
    }

    /// Appends a record as a row, all but its id.
    pub(super) fn append(&self, record: &[u8], names: &mut M::Names, out: &mut ChunkBuilder) {
        let rows = out.rows();
        let is_known = self.wanted.read(record, names, &mut out.columns);
        if is_known && !self.has_record {
            return;
        }
        if !is_known {
            out.truncate(rows);
        }
        for (filled, to) in self.columns.iter().zip(&mut out.columns) {
            match filled {
                Filled::Record => to.push_text(record),
                // Nobody looks at it.
                Filled::Member if !is_known => to.push_nothing(),
                Filled::Rest | Filled::Known if !is_known => {
                    filled.catch_up(rows, to);
                    filled.append_unknown(record, to);
                }
                Filled::Member | Filled::Rest | Filled::Known => {}
            }
        }
    }

    /// Ends what [`append`](Self::append) has begun: of records that could be read nothing was said yet.
    pub(super) fn finish(&self, out: &mut ChunkBuilder) {
        let rows = out.rows();
        for (filled, to) in self.columns.iter().zip(&mut out.columns) {
            filled.catch_up(rows, to);
        }
    }
}

impl Filled {
    /// Says of all records up to `rows` of which nothing was said yet that they could be read.
    fn catch_up(self, rows: usize, to: &mut Builder) {
        match self {
            Self::Rest => to.push_empty(rows - to.rows()),
            Self::Known => to.scalars_of::<bool>(rows - to.rows()).fill(true),
            Self::Record | Self::Member => {}
        }
    }

    fn append_unknown(self, record: &[u8], to: &mut Builder) {
        match self {
            Self::Rest => to.push_text(record),
            Self::Known => to.push_scalar(false),
            Self::Record | Self::Member => {}
        }
    }
}
