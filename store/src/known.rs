//! What was heard of objects: the answers to `stat` that a listing has given already, and the tag that a later read is
//! held against, so that an object which changes is told of and never half of it used.

use runtime::storage::{Kind, Stat};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// How long what a listing says is taken for what is there.
pub(crate) const FRESH: Duration = Duration::from_secs(10);

/// Objects that are known of, by the hash of their path: 48 bytes each.
pub(crate) struct Known {
    begun: Instant,
    all: Mutex<HashMap<u128, One>>,
}

struct One {
    bytes: u64,
    tag: u64,
    /// Since the beginning, in milliseconds.
    at: u32,
    /// Nobody has asked since it was listed.
    is_new: bool,
}

impl Known {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), all: Mutex::default() }
    }

    /// What a listing, or an answer, says of an object; without a tag where it has none.
    pub(crate) fn set(&self, path: &str, bytes: u64, tag: u64, listed: bool) {
        let one = One { bytes, tag, at: self.now(), is_new: listed };
        self.all().insert(xxh3_128(path.as_bytes()), one);
    }

    /// An object is another one now, or gone.
    pub(crate) fn forget(&self, path: &str) {
        self.all().remove(&xxh3_128(path.as_bytes()));
    }

    /// What is at a path, as far as that was heard just now, or not asked for since it was listed.
    pub(crate) fn stat(&self, path: &str) -> Option<Stat> {
        let now = self.now();
        let mut all = self.all();
        let one = all.get_mut(&xxh3_128(path.as_bytes()))?;
        let is_new = std::mem::take(&mut one.is_new);
        let is_fresh = now.saturating_sub(one.at) < FRESH.as_millis() as u32;
        (is_new || is_fresh).then(|| stat(one.bytes, one.tag))
    }

    /// The tag of an object, when it was last heard of.
    pub(crate) fn tag(&self, path: &str) -> Option<u64> {
        self.all().get(&xxh3_128(path.as_bytes())).map(|it| it.tag)
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<u128, One>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u32 {
        self.begun.elapsed().as_millis() as u32
    }
}

/// What there is to say of an object.
pub(crate) fn stat(bytes: u64, tag: u64) -> Stat {
    Stat { kind: Kind::File, bytes, tag: u128::from(tag) }
}

/// The hash of what changes when the object does: its tag, and without one the second in which it was written.
///
/// Services write the same tag with quotes here and without them there.
pub(crate) fn tag_of(tag: Option<&str>, seconds: i64) -> u64 {
    let plain = |it: &'_ str| it.trim_start_matches("W/").trim_matches('"').to_owned();
    match tag.map(plain).filter(|it| !it.is_empty()) {
        Some(tag) => xxh3_64(tag.as_bytes()),
        None => xxh3_64(&seconds.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tag_however_it_is_written() {
        let of = |it| tag_of(Some(it), 0);
        assert_eq!(of("\"0x8D\""), of("0x8D"));
        assert_eq!(of("W/\"0x8D\""), of("0x8D"));
        assert_ne!(of("a"), of("b"));
        assert_ne!(tag_of(None, 1), tag_of(None, 2));
    }

    #[test]
    fn an_object_is_known_as_it_was_last_heard_of() {
        let known = Known::new();
        assert!(known.stat("s3://b/a").is_none());
        known.set("s3://b/a", 2, 6, true);
        known.forget("s3://b/a");
        assert_eq!((known.stat("s3://b/a"), known.tag("s3://b/a")), (None, None));
        known.set("s3://b/a", 3, 7, true);
        known.set("s3://b/a", 4, 8, false);
        assert_eq!(known.stat("s3://b/a"), Some(stat(4, 8)));
        assert_eq!((known.tag("s3://b/a"), known.tag("s3://b/c")), (Some(8), None));
    }
}
