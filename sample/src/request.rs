//! The text that stands for a set where a program names files: `sample:images?count=1000&seed=1`.

use std::path::{Path, PathBuf};

use crate::VERSION;
use crate::set::{COUNT_MAX, Images};

/// A set that a program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// How many pictures.
    pub count: u64,
    /// Which set of that size.
    pub seed: u64,
}

impl Request {
    /// The folder's name, such as `images-v1-1000-0`: version, count and seed.
    ///
    /// Two requests for the same pictures have the same name, and no others.
    pub fn folder_name(&self) -> String {
        format!("images-v{VERSION}-{}-{}", self.count, self.seed)
    }

    /// The set in a folder of the caller's.
    pub fn images(&self, folder: PathBuf) -> Images {
        Images { count: self.count, seed: self.seed, ..Images::new(folder) }
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
    if kind != "images" {
        return Err(format!("unknown sample set `{kind}`; the only one is `sample:images`"));
    }

    let mut request = Request { count: 1000, seed: 0 };
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
        for (text, says) in [
            ("sample:sounds", "unknown sample set `sounds`"),
            ("sample:images?count=0", "`count=0` is not an integer from 1"),
            ("sample:images?seed=x", "`seed=x` is not an integer from 0"),
            ("sample:images?size=9", "no `size`; it has `count` and `seed`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
