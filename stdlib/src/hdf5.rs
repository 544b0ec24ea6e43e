//! HDF5 files: the crate `hdf5-reader` finds and decodes what is asked for, through ranges of a storage and within
//! bounds; what elements are is read here, since the crate tells no float of 16 bits from another.

mod bytes;
mod elements;
mod lz4;
mod types;

use crate::tables::{Damage, damaged, guarded};
use bytes::Ranges;
use elements::Element;
use hdf5_reader::{
    FilterRegistry, Hdf5File, OpenOptions, SliceInfo, SliceInfoElem,
    error::Error,
    filters::FILTER_LZ4,
    group::Group,
    messages::{HdfMessage, filter_pipeline::FilterDescription},
};
use plan::VALUE_BYTES_MAX;
use runtime::{Counted, Failure, storage::Object};
use std::{collections::BTreeSet, ops::Range, path::Path, sync::Arc};
pub(crate) use types::{Kind, without_padding};

/// Bytes of a chunk, decoded, at the most.
const CHUNK_MAX: usize = 64 << 20;
/// Bytes of decoded chunks that a file keeps, for rows of them that are read later.
const KEPT: usize = 4 << 20;
/// Bytes of the head of an object, at the most.
const HEAD_MAX: usize = 4 << 20;
/// Datasets of a file, groups within each other, at the most.
const OBJECTS_MAX: usize = 1 << 16;
const DEPTH_MAX: usize = 32;
/// The last one of the filters that the format itself has, and what others are called.
const LAST_FILTER: u16 = 6;
const FILTERS: [(u16, &str); 9] = [
    (305, "LZO"),
    (307, "BZIP2"),
    (32_000, "LZF"),
    (32_001, "Blosc"),
    (32_008, "Bitshuffle"),
    (32_013, "ZFP"),
    (32_015, "Zstandard"),
    (32_017, "SZ"),
    (32_026, "Blosc2"),
];
/// What a byte of a file can become at the most, by deflate, and bytes that are always believed: parts of a dataset that
/// were never written take no room.
const RATIO: u64 = 1_100;
const BELIEVED: u64 = 64 << 20;

/// A file, open.
pub(crate) struct Hdf5 {
    file: Hdf5File,
    len: u64,
}

/// A dataset of a file.
pub(crate) struct Dataset {
    inner: hdf5_reader::Dataset,
    /// Its name behind those of its groups, `group/name`.
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    /// What an element is; else what it is that cannot be read.
    pub(crate) kind: Result<Kind, String>,
    /// Bytes of an element where it lies in the dataset.
    size: usize,
    /// Bytes of the file.
    file_len: u64,
}

impl Hdf5 {
    /// Opens a file; `give_up` is that of [`runtime::storage::Storage::open`].
    ///
    /// # Errors
    /// The file cannot be read, or is not HDF5.
    pub(crate) fn of(path: &Path, give_up: &mut dyn FnMut()) -> Result<Self, Failure> {
        let (object, len) = crate::tables::open(path, give_up)?;
        Self::new(object, len).map_err(|it| it.of_file(path))
    }

    /// Reads the head of a file.
    ///
    /// # Errors
    /// As [`Hdf5::of`].
    pub(crate) fn new(object: Box<dyn Object>, len: u64) -> Result<Self, Damage> {
        let mut filters = FilterRegistry::new();
        filters.register(FILTER_LZ4, Box::new(|_, data, _| lz4::decoded(data, CHUNK_MAX)));
        let options = OpenOptions::default()
            .with_filter_registry(filters)
            .with_chunk_cache_bytes(KEPT)
            .with_max_chunk_bytes(CHUNK_MAX)
            .with_max_read_bytes(VALUE_BYTES_MAX)
            .with_max_object_header_bytes(HEAD_MAX);
        let ranges = Arc::new(Ranges::new(object, len));
        let file = asked(|| Hdf5File::from_storage_with_options(ranges.clone(), options))?;
        Ok(Self { file, len })
    }

    /// A dataset by its name, `group/name`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(crate) fn dataset(&self, name: &str) -> Result<Dataset, Damage> {
        let found = asked(|| self.file.dataset(name))?;
        Ok(self.described(name.trim_matches('/').to_owned(), found))
    }

    /// Whether there is a dataset of this name, sound or not.
    ///
    /// # Errors
    /// Nobody can tell.
    pub(crate) fn has(&self, name: &str) -> Result<bool, Damage> {
        asked(|| {
            let Err(mut why) = self.file.dataset(name) else { return Ok(true) };
            while let Error::Context { source, .. } = why {
                why = *source;
            }
            match why {
                Error::DatasetNotFound(_) | Error::GroupNotFound(_) => Ok(false),
                other => Err(other),
            }
        })
    }

    /// All datasets, in the order of their names, but not those that groups have by a second name.
    ///
    /// # Errors
    /// They cannot be listed.
    pub(crate) fn datasets(&self) -> Result<Vec<Dataset>, Damage> {
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        let mut left = vec![(asked(|| self.file.root_group())?, String::new(), 0)];
        while let Some((group, prefix, depth)) = left.pop() {
            if !seen.insert(group.address()) {
                continue;
            }
            let (groups, datasets) = members(&group)?;
            if all.len() + left.len() + groups.len() + datasets.len() > OBJECTS_MAX {
                return Err(Damage::new(
                    format!("it has more than {OBJECTS_MAX} groups and datasets"),
                    "split it into files, or put arrays of one type into one dataset",
                ));
            }
            for it in datasets {
                let name = format!("{prefix}{}", it.name());
                all.push(self.described(name, it));
            }
            if depth < DEPTH_MAX {
                let below = |it: Group| {
                    let prefix = format!("{prefix}{}/", it.name());
                    (it, prefix, depth + 1)
                };
                left.extend(groups.into_iter().map(below));
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn described(&self, name: String, inner: hdf5_reader::Dataset) -> Dataset {
        let shape = inner.shape().to_vec();
        let kind = self.kind_of(&inner);
        let size = inner.raw_element_size().unwrap_or_default();
        Dataset { inner, name, shape, kind, size, file_len: self.len }
    }

    fn kind_of(&self, dataset: &hdf5_reader::Dataset) -> Result<Kind, String> {
        if dataset.shape().is_empty() && dataset.num_elements().is_ok_and(|it| it == 0) {
            return Err("nothing".to_owned());
        }
        let unread = |why: Damage| format!("what cannot be read ({})", why.message);
        let head = asked(|| self.file.get_or_parse_header(dataset.address())).map_err(unread)?;
        for message in &head.messages {
            match message {
                HdfMessage::ExternalFiles(_) => return Err("data in external files".to_owned()),
                HdfMessage::FilterPipeline(it) => {
                    let other =
                        it.filters.iter().find(|it| it.id > LAST_FILTER && it.id != FILTER_LZ4);
                    if let Some(FilterDescription { id, .. }) = other {
                        let name =
                            FILTERS.iter().find(|it| it.0 == *id).map_or("unknown", |it| it.1);
                        return Err(format!("chunks of the filter {id} ({name})"));
                    }
                }
                _ => {}
            }
        }
        Kind::of(dataset.dtype(), &asked(|| dataset.raw_datatype()).map_err(unread)?)
    }
}

/// The groups and datasets that lie directly in a group; where one of them cannot be read, the others.
fn members(group: &Group) -> Result<(Vec<Group>, Vec<hdf5_reader::Dataset>), Damage> {
    let together = asked(|| group.members());
    if together.is_ok() {
        return together;
    }
    let Ok((groups, datasets)) = asked(|| group.member_names()) else { return together };
    let groups = groups.iter().filter_map(|it| asked(|| group.group(it)).ok()).collect();
    let datasets = datasets.iter().filter_map(|it| asked(|| group.dataset(it)).ok()).collect();
    Ok((groups, datasets))
}

impl Dataset {
    /// Rows of the first axis that lie in one chunk; none where it has no chunks.
    pub(crate) fn rows_of_chunk(&self) -> Option<u64> {
        let chunks = self.inner.chunks()?;
        chunks.first().map(|it| u64::from(*it).max(1))
    }

    /// Bytes of a row of the first axis, as they lie in the dataset.
    pub(crate) fn row_bytes(&self) -> u64 {
        let below = self.shape.get(1..).unwrap_or_default();
        below.iter().fold(self.size as u64, |all, it| all.saturating_mul(*it))
    }

    /// Whether a file of this length can hold so many rows.
    pub(crate) fn is_plausible(&self) -> bool {
        let rows = self.shape.first().copied().unwrap_or(1);
        let bytes = self.row_bytes().saturating_mul(rows);
        bytes <= BELIEVED.max(self.file_len.saturating_mul(RATIO))
    }

    /// The bytes of some rows of the first axis, or of all there is where there are no axes: numbers as the processor has
    /// them, of what has no fixed length where it lies.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn rows(&self, rows: Range<u64>) -> Result<Counted<u8>, Damage> {
        let rows = rows.start..rows.end.max(rows.start);
        let n = if self.shape.is_empty() { 1 } else { rows.end - rows.start };
        let bytes = self.row_bytes().saturating_mul(n);
        if bytes > VALUE_BYTES_MAX as u64 {
            let message = format!("{bytes} bytes are asked for at once, of `{}`", self.name);
            return Err(Damage::new(message, "read a part of it, `[a:b]`: at most 1 GiB"));
        }
        if !self.is_plausible() {
            let message = format!("`{}` has more elements than the file can hold", self.name);
            return Err(damaged(message));
        }
        let whole = |_: &u64| SliceInfoElem::Slice { start: 0, end: u64::MAX, step: 1 };
        let mut selections: Vec<_> = self.shape.iter().map(whole).collect();
        if let Some(first) = selections.first_mut() {
            *first = SliceInfoElem::Slice { start: rows.start, end: rows.end, step: 1 };
        }
        if n == 0 || bytes == 0 {
            return Ok(Counted::new());
        }
        // Counted before the crate makes it.
        let mut room = Counted::new();
        room.resize(bytes as usize, 0);
        let of = SliceInfo { selections };
        let done = match self.size {
            1 => self.read::<Element<1>>(&of, &mut room),
            2 => self.read::<Element<2>>(&of, &mut room),
            4 => self.read::<Element<4>>(&of, &mut room),
            8 => self.read::<Element<8>>(&of, &mut room),
            16 => self.read::<Element<16>>(&of, &mut room),
            _ => self.read::<elements::Any>(&of, &mut room),
        };
        done?;
        if let Ok(kind) = &self.kind {
            kind.to_native(&mut room);
        }
        Ok(room)
    }

    fn read<T: elements::Bytes>(&self, of: &SliceInfo, room: &mut [u8]) -> Result<(), Damage> {
        let found = asked(|| self.inner.read_slice::<T>(of))?;
        let (room, mut n) = (room.chunks_exact_mut(self.size), 0);
        let wanted = room.len();
        for (to, from) in room.zip(&found) {
            if from.bytes().len() != to.len() {
                break;
            }
            to.copy_from_slice(from.bytes());
            n += 1;
        }
        match n == wanted && found.len() == wanted {
            true => Ok(()),
            false => Err(damaged("it has other elements than it says")),
        }
    }

    /// What a row of no fixed length holds, by what [`Dataset::rows`] gives of it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn value(&self, place: &[u8], item: usize) -> Result<Vec<u8>, Damage> {
        let found = asked(|| self.inner.resolve_vlen_reference_bytes(place, item));
        if let Ok(it) = &found
            && it.len() > VALUE_BYTES_MAX
        {
            return Err(damaged("a value is longer than 1 GiB"));
        }
        found
    }
}

/// What the crate finds, which never panics here.
fn asked<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Damage> {
    let mut found = None;
    let done = guarded(|| {
        found = Some(work());
        Ok(())
    });
    match (done, found) {
        (Ok(()), Some(found)) => found.map_err(|why| said(&why)),
        (Err(why), _) => Err(damaged(why)),
        (Ok(()), None) => Err(damaged("it cannot be read")),
    }
}

/// An error of the crate in our words.
fn said(error: &Error) -> Damage {
    const REPACK: &str =
        "write it again with what every reader has: `h5repack -f GZIP=4 old.h5 new.h5`";
    match error {
        Error::Context { source, .. } => said(source),
        Error::InvalidMagic => {
            let help = "check the pattern, and that the file was written to its end";
            Damage::new("this is not an HDF5 file: it does not begin with its signature", help)
        }
        Error::Io(why) => Damage::new(
            format!("cannot be read: {why}"),
            "check that it is not written to meanwhile",
        ),
        Error::DatasetNotFound(name) | Error::GroupNotFound(name) => {
            Damage::new(format!("it has no dataset `{name}`"), "`pipec inspect` lists those it has")
        }
        Error::UnsupportedFilter(which) => Damage::new(
            format!("unsupported: it is compressed by another filter ({which})"),
            REPACK,
        ),
        Error::ResourceLimit(why) => Damage::new(format!("it is too large: {why}"), REPACK),
        other => {
            let why = other.to_string();
            let help = match why.starts_with("unsupported") {
                true => REPACK,
                false => "write the file again, or remove it",
            };
            Damage::new(why, help)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::DType;
    use std::path::PathBuf;

    fn data(below: &str) -> Option<PathBuf> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(below);
        path.is_dir().then_some(path)
    }

    fn fnv(bytes: &[u8]) -> u64 {
        let next = |all: u64, it: &u8| (all ^ u64::from(*it)).wrapping_mul(0x0100_0000_01b3);
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, next)
    }

    /// As NumPy calls it.
    fn named(dtype: DType) -> String {
        let name = dtype.to_string();
        let (kind, bits) = name.split_at(1);
        match (kind, bits) {
            ("u", bits) => format!("uint{bits}"),
            ("i", bits) => format!("int{bits}"),
            ("f", bits) => format!("float{bits}"),
            _ => name,
        }
    }

    #[test]
    fn numbers_are_those_that_h5py_reads() {
        let Some(folder) = data("compat/hdf5") else {
            println!("skipped: the data are not here");
            return;
        };
        let mut wrong = Vec::new();
        for line in include_str!("hdf5/compat.tsv").lines() {
            let [file, name, shape, dtype, hash] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let read = || -> Result<(String, String, u64), Damage> {
                let file = Hdf5::of(&folder.join(file), &mut || ()).map_err(damaged)?;
                let found = file.dataset(name)?;
                let kind = found.kind.clone().map_err(damaged)?;
                let Kind::Numbers { dtype, shape: below, .. } = kind else {
                    return Err(damaged("this is not a number"));
                };
                assert!(below.is_empty());
                let n = found.shape.first().copied().unwrap_or_default();
                let shape: Vec<_> = found.shape.iter().map(ToString::to_string).collect();
                Ok((shape.join(","), named(dtype), fnv(&found.rows(0..n)?)))
            };
            let wanted =
                (shape.to_owned(), dtype.to_owned(), u64::from_str_radix(hash, 16).unwrap());
            match read() {
                Ok(found) if found == wanted => {}
                found => wrong.push(format!("{file} {name}: {found:?}, not {wanted:?}")),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn damaged_files_end_with_an_error() {
        let Some(folder) = data("corrupt/hdf5") else {
            println!("skipped: the data are not here");
            return;
        };
        let mut n_files = 0;
        for path in std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            n_files += 1;
            let Ok(file) = Hdf5::of(&path, &mut || ()) else { continue };
            for it in file.datasets().unwrap_or_default() {
                let n = it.shape.first().copied().unwrap_or_default();
                let Ok(bytes) = it.rows(0..n) else { continue };
                assert!(bytes.len() as u64 <= BELIEVED.max(file.len * RATIO), "{}", path.display());
                if let Ok(Kind::Text | Kind::Bytes | Kind::List { .. }) = it.kind {
                    let place = it.row_bytes().max(1) as usize;
                    bytes.chunks(place).take(100).for_each(|place| drop(it.value(place, 1)));
                }
            }
        }
        assert!(n_files > 30, "{n_files} files");
    }
}
