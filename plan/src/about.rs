//! What the data of a source is like, where types do not tell.

use crate::Arg;

/// What the first records of a source are like.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The source's entry.
    pub entry: String,
    /// The files that it names: its first argument.
    pub files: Arg,
    /// Bytes of a value of each field, on average.
    pub fields: Vec<(String, f64)>,
    /// Bytes of a file that a field names, on average, where one does.
    pub file_bytes: Option<f64>,
}

impl About {
    /// Whether it is about a source with these arguments.
    pub fn is_of(&self, entry: &str, args: &[Arg]) -> bool {
        self.entry == entry && args.first() == Some(&self.files)
    }

    /// Bytes of a value of the field `name`, on average.
    pub fn field_bytes(&self, name: &str) -> Option<f64> {
        self.fields.iter().find(|it| it.0 == name).map(|it| it.1)
    }
}
