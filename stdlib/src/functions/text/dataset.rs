//! Where a dataset lies: the path of its file, its name, and what parts of it are meant, each behind a zero byte.

use super::super::tensor::slice::Bounds;
use crate::prelude::*;
use std::ops::Range;

/// A file, or a dataset of one, or a part of that.
#[cfg_attr(not(feature = "hdf5"), allow(dead_code, reason = "without it, nothing is read"))]
pub(super) struct Place<'a> {
    pub(super) path: &'a str,
    pub(super) name: Option<&'a str>,
    parts: Vec<Bounds>,
}

impl<'a> Place<'a> {
    /// What the bytes of an untyped value say.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, Fault> {
        let text = super::reading::checked(bytes)?;
        let mut each = text.split('\0');
        let (path, name) = (each.next().unwrap_or_default(), each.next());
        let bound = |it: &str| if it.is_empty() { None } else { it.parse().ok() };
        let part = |it: &str| {
            let (from, to) = it.split_once("..").unwrap_or((it, ""));
            Bounds { from: bound(from), to: bound(to) }
        };
        Ok(Self { path, name, parts: each.map(part).collect() })
    }

    /// The rows that are meant, of so many.
    #[cfg_attr(not(feature = "hdf5"), allow(dead_code, reason = "without it, nothing is read"))]
    pub(super) fn rows(&self, n: u64) -> Range<u64> {
        let most = usize::try_from(n).unwrap_or(usize::MAX);
        let mut rows = 0..most;
        for part in &self.parts {
            let (start, len) = part.within(rows.len());
            rows = rows.start + start..rows.start + start + len;
        }
        rows.start as u64..rows.end as u64
    }

    /// Whether a part of it is meant.
    pub(super) fn is_part(&self) -> bool {
        !self.parts.is_empty()
    }
}

/// The dataset or group of that name within what these bytes say.
pub(super) fn within(of: &[u8], name: &str) -> Result<Vec<u8>, Fault> {
    let place = Place::of(of)?;
    let fault = |detail: String| Err(Fault::new("field-missing", detail));
    if place.is_part() {
        return fault(format!("a part of a dataset has no field {}", super::json::shown(name)));
    }
    if name.contains('\0') {
        return fault("no dataset has a name with a zero byte".to_owned());
    }
    let between: &[u8] = if place.name.is_some() { b"/" } else { b"\0" };
    Ok([of, between, name.as_bytes()].concat())
}

/// A part of the rows that these bytes say.
pub(super) fn part(of: &[u8], bounds: &Bounds) -> Vec<u8> {
    let bound = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
    let part = format!("\0{}..{}", bound(bounds.from), bound(bounds.to));
    [of, part.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts() {
        let place = within(b"a/b.h5", "g").unwrap();
        let place = within(&place, "x").unwrap();
        assert_eq!(place, b"a/b.h5\0g/x");
        let bounds = |from, to| Bounds { from, to };
        let of = part(&place, &bounds(Some(2), None));
        let of = part(&of, &bounds(None, Some(-1)));
        let place = Place::of(&of).unwrap();
        assert_eq!((place.path, place.name), ("a/b.h5", Some("g/x")));
        assert_eq!(place.rows(10), 2..9);
        assert!(place.rows(2).is_empty());
        assert!(place.rows(0).is_empty());
        assert_eq!(within(&of, "y").unwrap_err().code, "field-missing");
        assert_eq!(Place::of(b"a").unwrap().rows(7), 0..7);
    }
}
