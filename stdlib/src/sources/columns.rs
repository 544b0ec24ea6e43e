//! Which columns of a table a program reads, and what it calls them: `columns: { distance: "Trip Distance", fare }`.

use super::absent::{UnknownColumn, check_names, entries};
use plan::{Arg, is_name, name_for, text_literal};

/// The columns that a program reads.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// What the parameter is called.
    argument: &'static str,
    /// None where all are read.
    all: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    /// What the program calls it, and what the files do.
    name: String,
    in_files: String,
}

impl Columns {
    /// What an argument says: a list of names, or a record that gives each column another one.
    pub(super) fn new(argument: &'static str, arg: &Arg) -> Result<Self, String> {
        let listed = |it: &Arg| match it {
            Arg::Text(it) => Ok(Column { name: it.clone(), in_files: it.clone() }),
            _ => Err(format!("`{argument}` must be a list of names, such as `[\"a\", \"b\"]`")),
        };
        let named = |(name, it): &(String, Arg)| match it {
            Arg::Text(it) => Ok(Column { name: name.clone(), in_files: it.clone() }),
            _ => Err(format!(
                "`{argument}` must say which column `{name}` is, such as `{{ {name}: \"B (USD)\" }}`"
            )),
        };
        let all: Vec<Column> = match arg {
            Arg::None => Vec::new(),
            Arg::List(all) => all.iter().map(listed).collect::<Result<_, _>>()?,
            Arg::Record(_) => entries(arg).iter().map(named).collect::<Result<_, _>>()?,
            one => vec![listed(one)?],
        };
        let same = |a: &Column, b: &Column| a.in_files == b.in_files;
        for (at, it) in all.iter().enumerate() {
            if let Some(first) = all[..at].iter().find(|of| same(it, of) && it.name != of.name) {
                return Err(format!(
                    "`{argument}` gives the column `{}` two names, `{}` and `{}`: use one of them",
                    it.in_files, first.name, it.name
                ));
            }
        }
        Ok(Self { argument, all })
    }

    /// Whether all columns are read, as the files call them.
    pub(super) fn are_all(&self) -> bool {
        self.all.is_empty()
    }

    /// Those that are named: what the program calls each, and what the files do.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all.iter().map(|it| (&*it.name, &*it.in_files))
    }

    /// What the files call those that are named.
    pub(super) fn in_files(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|it| &*it.in_files)
    }

    /// Which of those that are named a column of the program is.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|it| it.name == name)
    }

    /// What the program calls a column of the files; nothing where it does not read it. With a structure, its fields are
    /// named.
    pub(super) fn name_of(&self, column: &str) -> Option<String> {
        if self.are_all() {
            return Some(column.to_owned());
        }
        let named = self.all.iter().filter_map(|it| Some((it, within(column, &it.in_files)?)));
        let (nearest, rest) = named.max_by_key(|it| it.0.in_files.len())?;
        Some(format!("{}{rest}", nearest.name))
    }

    /// The first that is named and that is none of the columns of files.
    pub(super) fn unknown(&self, columns: &[&str]) -> Option<&str> {
        self.in_files().find(|it| !columns.iter().any(|of| within(of, it).is_some()))
    }

    /// Whether each that is named is one of the columns of files.
    pub(super) fn check(&self, columns: &[&str]) -> Result<(), UnknownColumn> {
        check_names(self.unknown(columns).map(|it| (self.argument, it)).into_iter(), columns)
    }
}

/// What follows the name of a structure in that of a column.
fn within<'c>(column: &'c str, structure: &str) -> Option<&'c str> {
    column.strip_prefix(structure).filter(|it| it.is_empty() || it.starts_with('.'))
}

/// How a program says something of a column: `missing: { age: 0 }`; one that it cannot write is given a name first.
pub(super) fn entry(argument: &str, name: &str, value: &str) -> String {
    if is_name(name) {
        return format!("`{argument}: {{ {name}: {value} }}`");
    }
    let (here, column) = (name_for(name), text_literal(name));
    format!("`columns: {{ {here}: {column}, … }}, {argument}: {{ {here}: {value} }}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(it: &str) -> Arg {
        Arg::Text(it.to_owned())
    }

    fn record(all: &[(&str, &str)]) -> Columns {
        let entry = |it: &(&str, &str)| (it.0.to_owned(), text(it.1));
        Columns::new("columns", &Arg::Record(all.iter().map(entry).collect())).unwrap()
    }

    #[test]
    fn columns_have_the_names_that_a_record_gives() {
        let columns = record(&[("distance", "Trip Distance"), ("fare", "fare")]);
        assert_eq!(columns.name_of("Trip Distance").as_deref(), Some("distance"));
        assert_eq!(columns.name_of("fare").as_deref(), Some("fare"));
        assert_eq!(columns.name_of("distance"), None);
        assert_eq!(columns.position("fare"), Some(1));
        assert_eq!(columns.unknown(&["fare", "Trip distance"]), Some("Trip Distance"));
        let why = columns.check(&["fare", "Trip distance"]).unwrap_err().told(true);
        assert!(why.ends_with("not a column: did you mean `Trip distance`?"), "{why}");
    }

    #[test]
    fn the_fields_of_a_structure_follow_it() {
        let columns = record(&[("picture", "image"), ("jpeg", "image.bytes")]);
        assert_eq!(columns.name_of("image.path").as_deref(), Some("picture.path"));
        assert_eq!(columns.name_of("image.bytes").as_deref(), Some("jpeg"));
        assert_eq!(columns.name_of("images"), None);
    }

    #[test]
    fn all_columns_keep_their_names() {
        let columns = Columns::new("columns", &Arg::None).unwrap();
        assert_eq!(columns.name_of("a b").as_deref(), Some("a b"));
        let columns = Columns::new("columns", &Arg::List(vec![text("a"), text("a")])).unwrap();
        assert_eq!(columns.name_of("a").as_deref(), Some("a"));
    }

    #[test]
    fn a_column_has_one_name() {
        let twice = Arg::Record(vec![("a".into(), text("x")), ("b".into(), text("x"))]);
        let why = Columns::new("columns", &twice).unwrap_err();
        assert!(why.contains("the column `x` two names, `a` and `b`"), "{why}");
        let why = Columns::new("columns", &Arg::Record(vec![("a".into(), Arg::Int(1))]));
        assert!(why.unwrap_err().contains("which column `a` is"));
    }

    #[test]
    fn what_cannot_be_written_is_named_first() {
        assert_eq!(entry("missing", "age", "0"), "`missing: { age: 0 }`");
        let said = entry("missing", "Trip Distance", "0");
        let expected =
            "`columns: { trip_distance: \"Trip Distance\", … }, missing: { trip_distance: 0 }`";
        assert_eq!(said, expected);
    }
}
