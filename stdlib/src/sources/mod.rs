//! Where records come from: one file for each source.

#[cfg(feature = "tables")]
mod arrow;
mod coco;
mod csv;
mod documents;
mod foreign;
#[cfg(feature = "hdf5")]
mod hdf5;
mod jsonl;
mod lines;
#[cfg(feature = "tables")]
mod mds;
mod npy;
#[cfg(feature = "tables")]
mod npz;
#[cfg(feature = "tables")]
mod parquet;
mod paths;
mod range;
mod records;
mod tar;
mod tfrecord;
mod typed;

mod about;
mod absent;
mod binary;
mod columns;
mod framed;
mod listed;
#[cfg(feature = "tables")]
mod tables;

pub(crate) use about::about;

use crate::{
    Source,
    listing::{self, ListError, natural_order},
};
use plan::Arg;
use runtime::Failure;

/// All of them.
pub(crate) static ALL: &[&Source] = &[
    #[cfg(feature = "tables")]
    &arrow::ENTRY,
    &coco::ENTRY,
    &csv::ENTRY,
    &documents::ENTRY,
    &foreign::ENTRY,
    #[cfg(feature = "hdf5")]
    &hdf5::ENTRY,
    &jsonl::ENTRY,
    &lines::ENTRY,
    #[cfg(feature = "tables")]
    &mds::ENTRY,
    &npy::ENTRY,
    #[cfg(feature = "tables")]
    &npz::ENTRY,
    #[cfg(feature = "tables")]
    &parquet::ENTRY,
    &paths::ENTRY,
    &range::ENTRY,
    &records::ENTRY,
    &tar::ENTRY,
    &tfrecord::ENTRY,
];

/// The folders that the files of sources lie in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassFolders {
    /// Their names in natural order: the classes of `class_of`.
    pub names: Vec<String>,
    /// Files that lie beside such folders, where there are some.
    pub loose: Option<Loose>,
}

/// Files that lie directly in a folder whose other files lie in folders below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    /// The name of the folder, which is a class for them.
    pub class: String,
    /// How many there are.
    pub files: usize,
    /// The first of them.
    pub example: String,
    /// A pattern that stands for the others alone, where one is known.
    pub pattern: Option<String>,
}

/// The folders of the files of sources, each given by its arguments. Lists the files of each.
///
/// # Errors
/// Files cannot be listed, or there are none.
pub fn class_folders(sources: &[&[Arg]]) -> Result<ClassFolders, Failure> {
    let mut all = ClassFolders::default();
    for args in sources {
        let Some(files) = args.first().filter(|it| names_files(it)) else { continue };
        let listed = listed::Listed::new(files).map_err(Failure::Program)?;
        let found = listed.found()?;
        all.names.extend_from_slice(&found.classes);
        all.loose = all.loose.or_else(|| listed::loose(&found.listing, files));
    }
    all.names.sort_by(|a, b| natural_order(a, b));
    all.names.dedup();
    Ok(all)
}

/// The names of the folders that the files of sources lie in, in natural order: the classes of
/// `class_of`. Lists the files of each.
///
/// # Errors
/// Files cannot be listed, or there are none.
pub fn classes(sources: &[&[Arg]]) -> Result<Vec<String>, Failure> {
    class_folders(sources).map(|it| it.names)
}

/// What is wrong with the first pattern of a source that stands for no file, where one does. Looks no further than
/// the first file of each.
pub fn missing(files: &Arg) -> Option<ListError> {
    listed::patterns(files).ok()?.iter().find_map(listing::missing)
}

/// Whether the first argument of a source is a pattern of files, or several.
fn names_files(arg: &Arg) -> bool {
    matches!(arg, Arg::Text(_) | Arg::List(_))
}
