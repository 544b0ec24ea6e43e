//! What the arguments of sources of tables say, and the fields that follow.

use super::{
    super::{
        absent::{COMPLETE, FAULT, Missing, check_names},
        columns::Columns,
        listed::Listed,
    },
    OpenFile,
    fill::{self, Fill, Found},
};
use crate::{
    prelude::*,
    tables::{Bound, Comparison, Condition, TableFile},
};

/// What the arguments of such a source say.
pub(in super::super) struct Said {
    columns: Columns,
    pub(super) missing: Vec<(String, Missing)>,
    pub(super) faults: bool,
    /// What the compiler says of the records that are needed.
    filter: Arg,
    /// Whether faults count the columns as they are named, and not as they stand in the files.
    as_named: bool,
}

impl Said {
    /// By the arguments `columns`, `missing` and `faults`.
    pub(in super::super) fn new(
        columns: &Arg,
        missing: &Arg,
        faults: &Arg,
    ) -> Result<Self, String> {
        Ok(Self {
            columns: Columns::new("columns", columns)?,
            missing: Missing::all(missing)?,
            faults: *faults == Arg::Bool(true),
            filter: Arg::None,
            as_named: false,
        })
    }

    /// The columns that are named, as the files call them; none where all are meant.
    pub(in super::super) fn named(&self) -> Vec<String> {
        self.columns.in_files().map(str::to_owned).collect()
    }

    /// The same, where faults count the columns in the order in which the argument names them.
    pub(in super::super) fn numbered_as_named(self) -> Self {
        Self { as_named: true, ..self }
    }

    /// The number that faults of a column have, which stands at this place in the files.
    pub(super) fn number(&self, name: &str, at: usize) -> usize {
        let named = self.columns.position(name).filter(|_| self.as_named);
        named.unwrap_or(at)
    }

    /// The same, with the conditions of the argument `filter`.
    pub(in super::super) fn filtered(self, filter: &Arg) -> Self {
        Self { filter: filter.clone(), ..self }
    }

    /// What must be true of the columns of records that are needed; nothing where it is not known.
    pub(super) fn conditions(&self, columns: &[Found]) -> Vec<Condition> {
        let condition = |it: &Arg| {
            let Arg::List(parts) = it else { return None };
            let (Arg::Text(name), rest) = parts.split_first()? else { return None };
            let column = columns.iter().find(|it| it.name == *name)?;
            let missing = self.missing.iter().find(|it| it.0 == *name).map(|it| &it.1);
            let test = match rest {
                [] => None,
                [Arg::Word(word), bound] => {
                    Some((comparison(word)?, bound_of(bound, column.ty.as_ref().ok()?)?))
                }
                _ => return None,
            };
            // A row that is left out for what it lacks is not asked.
            let nulls_matter = missing != Some(&Missing::Skip);
            Some(Condition { path: column.path.clone(), test, nulls_matter })
        };
        match &self.filter {
            Arg::List(all) => all.iter().map(condition).collect::<Option<_>>().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// The columns that are read, in the order of the files.
    pub(super) fn columns(&self, file: &dyn TableFile) -> Result<Vec<Found>, String> {
        let mut found = fill::columns(file.schema());
        let names: Vec<&str> = found.iter().map(|it| &*it.name).collect();
        let unknown = self.columns.unknown(&names);
        let refused = unknown.and_then(|name| file.refused().iter().find(|it| it.0 == name));
        if let Some((name, ty)) = refused {
            return Err(format!("`{name}` holds {ty}, which is not supported"));
        }
        self.columns.check(&names)?;
        found.retain_mut(|it| {
            let name = self.columns.name_of(&it.name);
            let is_read = name.is_some();
            it.name = name.unwrap_or_default();
            is_read
        });
        if let Some(name) = twice(&found) {
            return Err(format!(
                "two columns are named `{name}`: rename one of them, or name others that are read, `columns: [\"a\", \"b\"]`"
            ));
        }
        let names: Vec<&str> = found.iter().map(|it| &*it.name).collect();
        check_names(self.missing.iter().map(|it| ("missing", &*it.0)), &names)?;
        if self.columns.are_all() {
            let only = found.first().map(|it| it.name.clone());
            found.retain(|it| it.ty.is_ok());
            if let Some((name, ty)) = file.refused().first().filter(|_| only.is_none()) {
                return Err(format!(
                    "no column can be read: `{name}` holds {ty}, which is not supported"
                ));
            }
            if let Some(name) = only.filter(|_| found.is_empty()) {
                return Err(format!("no column can be read, such as `{name}`, for its type"));
            }
        }
        if let Some(Found { name, ty: Err(ty), .. }) = found.iter().find(|it| it.ty.is_err()) {
            return Err(format!("column `{name}` is of the type `{ty}`, which is not supported"));
        }
        Ok(found)
    }

    /// The fields of a record.
    fn fields(&self, columns: &[Found]) -> Vec<Field> {
        let field = |name: &str, ty| Field { name: name.to_owned(), ty };
        let typed = |it: &Found| Some(field(&it.name, it.ty.clone().ok()?));
        let mut fields: Vec<Field> = columns.iter().filter_map(typed).collect();
        if self.missing.iter().any(|it| it.1 == Missing::Skip) {
            fields.push(field(COMPLETE, Type::scalar(DType::Bool)));
        }
        if self.faults {
            fields.push(field(FAULT, Type::scalar(DType::Str)));
        }
        fields
    }

    /// The fields of the records of files; the first of them is looked at.
    pub(in super::super) fn probe(
        &self,
        listed: &Listed,
        open: &OpenFile,
    ) -> Result<Vec<Field>, Failure> {
        let path = listed.found()?.path(0);
        let file = open(&path, &mut || ())?;
        let columns = self.columns(&*file).map_err(Failure::Program)?;
        for it in &columns {
            let missing = self.missing.iter().find(|of| of.0 == it.name).map(|it| it.1.clone());
            Fill::new(0, it.clone(), missing).map_err(Failure::Program)?;
        }
        Ok(self.fields(&columns))
    }
}

fn comparison(word: &str) -> Option<Comparison> {
    Some(match word {
        "==" => Comparison::Eq,
        "!=" => Comparison::Ne,
        "<" => Comparison::Lt,
        "<=" => Comparison::Le,
        ">" => Comparison::Gt,
        ">=" => Comparison::Ge,
        _ => return None,
    })
}

/// What values of a type are compared with.
fn bound_of(arg: &Arg, ty: &Type) -> Option<Bound> {
    match (arg, ty.dtype()?) {
        (Arg::Int(it), DType::U64) => Some(Bound::Int(i128::from(it.cast_unsigned()))),
        (Arg::Int(it), dtype) if dtype.is_int() => Some(Bound::Int(i128::from(*it))),
        (Arg::Float(it), DType::F32 | DType::F64) => Some(Bound::Float(*it)),
        (Arg::Text(it), DType::Str) => Some(Bound::Text(it.clone().into_bytes())),
        _ => None,
    }
}

fn twice(found: &[Found]) -> Option<&str> {
    let mut names: Vec<&str> = found.iter().map(|it| &*it.name).collect();
    names.sort_unstable();
    names.windows(2).find(|it| it[0] == it[1]).map(|it| it[0])
}
