//! Features of `tf.train.Example` and `tf.train.SequenceExample` (tensorflow/core/example/example.proto and
//! feature.proto), found where they lie.

pub(crate) mod typed;

use super::json::shown;
use crate::{
    formats,
    prelude::*,
    protobuf::{Message, Value, count_packed, syntax, unpack},
};

/// Names of features that a message lists.
const NAMES_MAX: usize = 8;
/// Marks a feature that a [`Untyped::SequenceFeature`] holds, and a list of them.
pub(super) const ONE: u8 = 0;
pub(super) const LIST: u8 = 1;

/// The feature called `name` of an `Example`: the last one, as of any map.
pub(super) fn feature<'a>(example: &'a [u8], name: &str) -> Result<&'a [u8], Fault> {
    let mut names = Names::default();
    let found = entry(example, 1, name, &mut names)?;
    found.ok_or_else(|| names.missing(name))
}

/// The feature called `name` of the context of a `SequenceExample`, or else the list of them; which, the byte says.
pub(super) fn of_sequence<'a>(example: &'a [u8], name: &str) -> Result<(u8, &'a [u8]), Fault> {
    let mut names = Names::default();
    if let Some(it) = entry(example, 1, name, &mut names)? {
        return Ok((ONE, it));
    }
    let list = entry(example, 2, name, &mut names)?;
    list.map(|it| (LIST, it)).ok_or_else(|| names.missing(name))
}

/// The value that a map has for `name`; the map is a field of the message in the field `number`.
fn entry<'a>(
    message: &'a [u8],
    number: u64,
    name: &str,
    names: &mut Names<'a>,
) -> Result<Option<&'a [u8]>, Fault> {
    let mut found = None;
    Message::new(message).each(number, |map| {
        Message::new(map).each(1, |entry| {
            let (mut key, mut value) = (&[][..], &[][..]);
            let mut fields = Message::new(entry);
            while let Some((number, field)) = fields.next()? {
                match (number, field) {
                    (1, Value::Bytes(it)) => key = it,
                    (2, Value::Bytes(it)) => value = it,
                    _ => {}
                }
            }
            if key == name.as_bytes() {
                found = Some(value);
            }
            names.add(key);
            Ok(())
        })
    })?;
    Ok(found)
}

/// The first names of a map, for what is said where one is missing.
#[derive(Default)]
struct Names<'a> {
    first: [&'a [u8]; NAMES_MAX],
    n: usize,
}

impl<'a> Names<'a> {
    fn add(&mut self, name: &'a [u8]) {
        if let Some(to) = self.first.get_mut(self.n) {
            *to = name;
        }
        self.n += 1;
    }

    fn missing(&self, name: &str) -> Fault {
        let listed: Vec<String> = self.first[..self.n.min(NAMES_MAX)]
            .iter()
            .map(|it| shown(&String::from_utf8_lossy(it)))
            .collect();
        let more = if self.n > NAMES_MAX { ", …" } else { "" };
        let detail = match &listed[..] {
            [] => format!("cannot find the feature {}: there are no features", shown(name)),
            _ => format!(
                "cannot find the feature {}; the features are {}{more}",
                shown(name),
                listed.join(", ")
            ),
        };
        Fault::new("field-missing", detail)
    }
}

/// What a feature is a list of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing is said.
    Empty,
    Bytes,
    Floats,
    Ints,
}

impl Kind {
    fn shown(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Bytes => "a list of `bytes`",
            Self::Floats => "a list of `f32`",
            Self::Ints => "a list of `i64`",
        }
    }
}

/// A feature: values of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feature<'a> {
    kind: Kind,
    /// Its fields from the first of its lists on.
    lists: Message<'a>,
    /// The one field of its one list, as nearly all features are written.
    packed: Option<&'a [u8]>,
}

impl<'a> Feature<'a> {
    /// The feature that a message is. Of lists of several kinds the last one counts, as of any `oneof`.
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        let lists = Message::new(bytes);
        // One list, as nearly all are written.
        for (number, kind) in [(3, Kind::Ints), (2, Kind::Floats), (1, Kind::Bytes)] {
            if let Some(list) = lists.only(number) {
                return Ok(Self { kind, lists, packed: Message::new(list).only(1) });
            }
        }
        Self::of_many(bytes)
    }

    /// The same of a message of several fields.
    fn of_many(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut feature = Self { kind: Kind::Empty, lists: Message::new(&[]), packed: None };
        let mut fields = Message::new(bytes);
        loop {
            let before = fields;
            let Some((number, value)) = fields.next()? else { return Ok(feature) };
            let (kind, list) = match (number, value) {
                (1, Value::Bytes(list)) => (Kind::Bytes, list),
                (2, Value::Bytes(list)) => (Kind::Floats, list),
                (3, Value::Bytes(list)) => (Kind::Ints, list),
                _ => continue,
            };
            if kind == feature.kind {
                feature.packed = None;
            } else {
                feature = Self { kind, lists: before, packed: Message::new(list).only(1) };
            }
        }
    }

    /// Its texts, in order.
    pub(super) fn texts(&self, mut visit: impl FnMut(&'a [u8])) -> Result<(), Fault> {
        self.expect(Kind::Bytes)?;
        self.lists.each(1, |list| {
            Message::new(list).each(1, |it| {
                visit(it);
                Ok(())
            })
        })
    }

    /// The one text that it holds.
    pub(super) fn text(&self) -> Result<&'a [u8], Fault> {
        let (mut found, mut n) = (&[][..], 0);
        self.texts(|it| (found, n) = (it, n + 1))?;
        if n == 1 { Ok(found) } else { Err(not_one(n)) }
    }

    /// Writes its floats, which are as many as `to` has elements, each as `of` makes it.
    pub(super) fn floats<T>(&self, to: &mut [T], of: impl Fn(f32) -> T) -> Result<(), Fault> {
        self.expect(Kind::Floats)?;
        let mut to = to.iter_mut();
        let mut put = |packed: &[u8]| {
            let (each, rest) = packed.as_chunks();
            if !rest.is_empty() {
                return Err(syntax("a list of floats is truncated".to_owned()));
            }
            to.by_ref().zip(each).for_each(|(to, it)| *to = of(f32::from_le_bytes(*it)));
            Ok(())
        };
        if let Some(packed) = self.packed {
            return put(packed);
        }
        self.lists.each(2, |list| {
            let mut fields = Message::new(list);
            while let Some((number, value)) = fields.next()? {
                match (number, value) {
                    (1, Value::Fixed32(it)) => put(&it)?,
                    (1, Value::Bytes(packed)) => put(packed)?,
                    _ => {}
                }
            }
            Ok(())
        })
    }

    /// Writes its whole numbers, which are as many as `to` has elements, each as `of` makes it.
    pub(super) fn ints<T>(
        &self,
        to: &mut [T],
        of: impl Fn(i64) -> Result<T, Fault>,
    ) -> Result<(), Fault> {
        self.expect(Kind::Ints)?;
        if let Some(packed) = self.packed {
            return unpack(packed, to, |it| of(it.cast_signed())).map(drop);
        }
        let mut rest = to;
        self.lists.each(3, |list| {
            let mut fields = Message::new(list);
            while let Some((number, value)) = fields.next()? {
                let to = std::mem::take(&mut rest);
                rest = match (number, value) {
                    (1, Value::Varint(it)) => match to.split_first_mut() {
                        Some((first, rest)) => {
                            *first = of(it.cast_signed())?;
                            rest
                        }
                        None => &mut [],
                    },
                    (1, Value::Bytes(packed)) => unpack(packed, to, |it| of(it.cast_signed()))?,
                    _ => to,
                };
            }
            Ok(())
        })
    }

    /// How many numbers it holds, where all of them can be read.
    pub(super) fn count(&self) -> Result<usize, Fault> {
        let in_packed = |it: &[u8]| match self.kind {
            Kind::Ints => count_packed(it),
            _ => it.len() / 4,
        };
        if let Some(packed) = self.packed {
            return Ok(in_packed(packed));
        }
        let (number, mut n) = (if self.kind == Kind::Ints { 3 } else { 2 }, 0);
        self.lists.each(number, |list| {
            let mut fields = Message::new(list);
            while let Some((number, value)) = fields.next()? {
                n += match (number, value) {
                    (1, Value::Bytes(packed)) => in_packed(packed),
                    (1, Value::Varint(_)) if self.kind == Kind::Ints => 1,
                    (1, Value::Fixed32(_)) if self.kind != Kind::Ints => 1,
                    _ => 0,
                };
            }
            Ok(())
        })?;
        Ok(n)
    }

    /// What it is a list of.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// An empty feature is an empty list of anything.
    pub(super) fn expect(&self, wanted: Kind) -> Result<(), Fault> {
        if self.kind == wanted || self.kind == Kind::Empty {
            return Ok(());
        }
        let detail = format!("this feature is {}, expected {}", self.kind.shown(), wanted.shown());
        Err(Fault::new("example-type", detail))
    }
}

/// The features of a list of them, in order.
pub(super) fn steps(list: &[u8]) -> impl Iterator<Item = Result<&[u8], Fault>> {
    let mut fields = Message::new(list);
    std::iter::from_fn(move || {
        loop {
            match fields.next() {
                Ok(Some((1, Value::Bytes(it)))) => return Some(Ok(it)),
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(fault) => {
                    fields = Message::new(&[]);
                    return Some(Err(fault));
                }
            }
        }
    })
}

/// The fault of a feature of which one value is asked for.
pub(super) fn not_one(n: usize) -> Fault {
    let detail =
        format!("expected one value, but this feature has {n}: write `[n]` after the dtype");
    Fault::new("example-shape", detail)
}
/// The features of an `Example`, by their names, and how each is read; of a damaged one those before the damage.
pub(crate) fn features(example: &[u8]) -> Vec<(String, formats::Value)> {
    let mut found = Vec::new();
    let mut visit = |entry: &[u8]| {
        let (mut key, mut value) = (&[][..], &[][..]);
        let mut fields = Message::new(entry);
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, Value::Bytes(it)) => key = it,
                (2, Value::Bytes(it)) => value = it,
                _ => {}
            }
        }
        let feature = Feature::new(value)?;
        let (mut n, mut is_text) = (0, true);
        let dtype = match feature.kind() {
            Kind::Empty => return Ok(()),
            Kind::Ints => {
                n = feature.count()?;
                feature.ints(&mut vec![0; n], Ok)?;
                "i64"
            }
            Kind::Floats => {
                n = feature.count()?;
                feature.floats(&mut vec![0.0; n], |it| it)?;
                "f32"
            }
            Kind::Bytes => {
                feature.texts(|it| {
                    n += 1;
                    is_text &= str::from_utf8(it).is_ok();
                })?;
                if is_text { "str" } else { "bytes" }
            }
        };
        found.push((String::from_utf8_lossy(key).into_owned(), formats::feature(dtype, n)));
        Ok(())
    };
    // What is damaged says nothing.
    let _ = Message::new(example).each(1, |map| Message::new(map).each(1, &mut visit));
    found
}
