//! The text that stands for a set where a program names files: `sample:images?count=1000&seed=1`.

use std::path::{Path, PathBuf};

use crate::set::{COUNT_MAX, Images, is_made, manifest};
use crate::{
    Boxes, Chats, Detection, Error, Shards, Summary, Tables, Texts, VERSION, boxes, chats,
    detection, images, shards, tables, texts,
};

/// A set that a program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it is of.
    pub kind: Kind,
    /// How many pictures, rides, documents or chats.
    pub count: u64,
    /// Which set of that size.
    pub seed: u64,
}

/// Kinds of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pictures in class folders.
    Images,
    /// Pictures in shards, and tables of captions beside them.
    Shards,
    /// Pictures, and a file of annotations.
    Boxes,
    /// Pictures, a file of annotations, and for each picture a file of labels and a map of classes.
    Detection,
    /// Rides, and the load of meters, in Parquet files.
    Tables,
    /// Documents, code, books, pages and pairs of sentences.
    Text,
    /// Chats, and a tokenizer.
    Chats,
}

/// What is known of each kind: its name, how many pictures, rides or documents there are unless it is said, and the files that are meant
/// where only the set is named.
const KINDS: [(Kind, &str, u64, &str); 7] = [
    (Kind::Images, "images", 1000, "/**/*.jpg"),
    (Kind::Shards, "shards", 256, "/*.tar"),
    (Kind::Boxes, "boxes", 256, "/images/*.jpg"),
    (Kind::Detection, "detection", 256, "/images/*.jpg"),
    (Kind::Tables, "tables", 100_000, "/rides/*.parquet"),
    (Kind::Text, "text", 10_000, "/web/*.jsonl"),
    (Kind::Chats, "chats", 4_000, "/*.jsonl"),
];

impl Request {
    /// The folder's name, such as `images-v1-1000-0`: version, count and seed.
    ///
    /// Two requests for the same pictures have the same name, and no others.
    pub fn folder_name(&self) -> String {
        format!("{}-v{VERSION}-{}-{}", self.kind.name(), self.count, self.seed)
    }

    /// The pattern of its files below its folder, where only the set is named.
    pub fn pattern(&self) -> &'static str {
        self.kind.row().3
    }

    /// Makes the set in a folder of the caller's, or what is missing of it; `progress` is told how many pictures there are.
    ///
    /// # Errors
    /// The folder holds something else, or cannot be written to.
    pub fn make(&self, folder: PathBuf, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
        let Self { kind, count, seed } = *self;
        match kind {
            Kind::Images => images(&self.images(folder), progress),
            Kind::Shards => shards(&Shards { folder, count, seed }, progress),
            Kind::Boxes => boxes(&Boxes { folder, count, seed }, progress),
            Kind::Detection => detection(&Detection { folder, count, seed }, progress),
            Kind::Tables => tables(&Tables { folder, count, seed }, progress),
            Kind::Text => texts(&Texts { folder, count, seed }, progress),
            Kind::Chats => chats(&Chats { folder, count, seed }, progress),
        }
    }

    /// What is counted, for people.
    pub fn things(&self) -> &'static str {
        match self.kind {
            Kind::Tables => "rides",
            Kind::Text => "documents",
            Kind::Chats => "chats",
            Kind::Images | Kind::Shards | Kind::Boxes | Kind::Detection => "images",
        }
    }

    /// Whether the complete set is there; makes nothing.
    pub fn is_made(&self, folder: PathBuf) -> bool {
        let Self { kind, count, seed } = *self;
        let manifest = match kind {
            Kind::Images => manifest(&self.images(folder.clone())),
            Kind::Shards => {
                crate::shards::manifest(&Shards { folder: folder.clone(), count, seed })
            }
            Kind::Boxes => crate::boxes::manifest(&Boxes { folder: folder.clone(), count, seed }),
            Kind::Detection => {
                crate::detection::manifest(&Detection { folder: folder.clone(), count, seed })
            }
            Kind::Tables => {
                crate::tables::manifest(&Tables { folder: folder.clone(), count, seed })
            }
            Kind::Text => crate::text::manifest(&Texts { folder: folder.clone(), count, seed }),
            Kind::Chats => crate::chats::manifest(&Chats { folder: folder.clone(), count, seed }),
        };
        is_made(&folder, &manifest)
    }

    fn images(&self, folder: PathBuf) -> Images {
        Images { count: self.count, seed: self.seed, ..Images::new(folder) }
    }
}

impl Kind {
    /// How many pictures, rides or documents a set has unless it is said.
    pub fn count(self) -> u64 {
        self.row().2
    }

    fn row(self) -> &'static (Self, &'static str, u64, &'static str) {
        KINDS.iter().find(|it| it.0 == self).expect("each kind is a row")
    }

    fn name(self) -> &'static str {
        self.row().1
    }
}

/// Reads a request; `None` if the text does not begin with `sample:` and so names files.
///
/// An error says what is wrong and what is right, without the text itself.
pub fn parse(text: &str) -> Option<Result<Request, String>> {
    text.strip_prefix("sample:").map(parse_set)
}

/// The folder of a requested set below the user's cache folder.
pub fn cached(request: &Request, cache_root: &Path) -> PathBuf {
    cache_root.join("samples").join(request.folder_name())
}

fn parse_set(text: &str) -> Result<Request, String> {
    let (kind, settings) = text.split_once('?').unwrap_or((text, ""));
    let Some((kind, _, count, _)) = KINDS.iter().find(|it| it.1 == kind) else {
        let all: Vec<_> = KINDS.iter().map(|it| format!("`sample:{}`", it.1)).collect();
        return Err(format!("unknown sample set `{kind}`; there are {}", all.join(", ")));
    };

    let mut request = Request { kind: *kind, count: *count, seed: 0 };
    for setting in settings.split('&').filter(|it| !it.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        match name {
            "count" => request.count = number(name, value, 1..=COUNT_MAX)?,
            "seed" => request.seed = number(name, value, 0..=u64::MAX)?,
            _ => return Err(format!("a sample set has no `{name}`; it has `count` and `seed`")),
        }
    }
    Ok(request)
}

fn number(name: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    value.parse().ok().filter(|it| range.contains(it)).ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        format!("`{name}={value}` is not an integer from {low} to {high}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_or_its_mistake_is_told() {
        let read = |text| parse(text).unwrap().map(|it| it.folder_name());
        assert_eq!(parse("images/*.jpg"), None);
        assert_eq!(read("sample:images"), Ok("images-v1-1000-0".into()));
        assert_eq!(read("sample:images?count=60&seed=7"), Ok("images-v1-60-7".into()));
        assert_eq!(read("sample:shards?seed=7"), Ok("shards-v1-256-7".into()));
        assert_eq!(read("sample:tables"), Ok("tables-v1-100000-0".into()));
        assert_eq!(read("sample:text"), Ok("text-v1-10000-0".into()));
        assert_eq!(read("sample:boxes?count=9"), Ok("boxes-v1-9-0".into()));
        assert_eq!(read("sample:detection?seed=2"), Ok("detection-v1-256-2".into()));
        assert_eq!(read("sample:chats"), Ok("chats-v1-4000-0".into()));
        for (text, says) in [
            ("sample:sounds", "unknown sample set `sounds`; there are `sample:images`"),
            ("sample:images?count=0", "`count=0` is not an integer from 1"),
            ("sample:images?seed=x", "`seed=x` is not an integer from 0"),
            ("sample:images?size=9", "no `size`; it has `count` and `seed`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
