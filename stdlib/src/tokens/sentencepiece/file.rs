//! `.model` files of SentencePiece: a message of protocol buffers (`sentencepiece_model.proto`).

use super::{
    Decoding, Ends, Kind, Model, SentencePiece,
    normalizer::{Map, Normalizer, Rules, SPACE},
    pairs::{self, Pairs},
    unigram::Unigram,
};
use crate::{
    protobuf::{Message, Value},
    tokens::{
        IDS_MAX,
        bounds::Bounds,
        trie::{NONE, Trie},
    },
};
use runtime::Fault;
use std::{collections::HashSet, str};

/// Bytes of a piece, less one, at the most: as in SentencePiece.
const PIECE_BYTES: usize = 8_000;

/// What a file says.
struct File<'a> {
    pieces: Vec<Piece<'a>>,
    kind: u64,
    is_suffix: bool,
    has_bytes: bool,
    unknown_text: Option<&'a [u8]>,
    normalizer: Spec<'a>,
    denormalizer: Option<Spec<'a>>,
}

struct Piece<'a> {
    bytes: &'a [u8],
    score: f32,
    kind: Kind,
}

/// `NormalizerSpec`.
struct Spec<'a> {
    map: &'a [u8],
    adds_prefix: bool,
    removes_spaces: bool,
    escapes: bool,
}

/// The model that a file holds.
///
/// # Errors
/// What is wrong with it.
pub(in crate::tokens) fn read(bytes: &[u8]) -> Result<SentencePiece, String> {
    let file = File::read(bytes)
        .map_err(|it| format!("it is not a SentencePiece model: {}", it.detail))??;
    file.check()?;
    let map = |spec: &Spec<'_>| match spec.map {
        [] => Ok(None),
        bytes => Map::new(bytes).map(Some).ok_or("its normalizer is damaged"),
    };
    let spec = &file.normalizer;
    let rules = Rules {
        map: map(spec)?,
        adds_prefix: spec.adds_prefix,
        is_suffix: file.is_suffix,
        removes_spaces: spec.removes_spaces,
        // What a space is written as takes one byte here.
        space: b" ",
        is_one_space: spec.escapes,
    };
    let denormalizer = file.denormalizer.as_ref().filter(|it| !it.map.is_empty()).map(|it| {
        let rules = Rules {
            map: map(it)?,
            adds_prefix: it.adds_prefix,
            removes_spaces: it.removes_spaces,
            space: if it.escapes { SPACE } else { b" " },
            ..Rules::default()
        };
        Ok::<_, String>(Normalizer::new(rules, Vec::new()))
    });
    let decoding = Decoding {
        unknown: file.unknown_text.unwrap_or(" \u{2047} ".as_bytes()).to_vec(),
        adds_prefix: spec.adds_prefix,
        removes_spaces: spec.removes_spaces,
        denormalizer: denormalizer.transpose()?,
    };
    let defined = file.pieces.iter().filter(|it| it.kind == Kind::Defined);
    let normalizer = Normalizer::new(rules, defined.map(|it| it.bytes).collect());
    let unknown = file.unknown();
    let (model, ends, bounds) = file.model()?;
    Ok(SentencePiece {
        normalizer,
        model,
        ends,
        bounds,
        unknown: unknown.map_or(NONE, |it| it as u32),
        byte_ids: file.byte_ids()?,
        is_one_space: spec.escapes,
        decoding,
        pieces: file
            .pieces
            .into_iter()
            .map(|it| super::Piece { bytes: it.bytes.into(), kind: it.kind })
            .collect(),
    })
}

impl<'a> File<'a> {
    /// The inner error is of a message that is well-formed.
    fn read(bytes: &'a [u8]) -> Result<Result<Self, String>, Fault> {
        let mut file = Self {
            pieces: Vec::new(),
            kind: 1,
            is_suffix: false,
            has_bytes: false,
            unknown_text: None,
            normalizer: Spec::read(&[])?,
            denormalizer: None,
        };
        let mut kinds = Vec::new();
        let mut all = Message::new(bytes);
        while let Some((number, value)) = all.next()? {
            let Value::Bytes(value) = value else { continue };
            match number {
                1 => {
                    let (piece, kind) = piece(value)?;
                    file.pieces.push(piece);
                    kinds.push(kind);
                }
                2 => file.training(value)?,
                3 => file.normalizer = Spec::read(value)?,
                5 => file.denormalizer = Some(Spec::read(value)?),
                _ => {}
            }
        }
        for (piece, kind) in file.pieces.iter_mut().zip(kinds) {
            piece.kind = match kind {
                // Files that were made from others have it beside the byte; it is in no text, as in SentencePiece.
                _ if piece.bytes == b"\0" && file.has_bytes => Kind::Unused,
                1 => Kind::Normal,
                2 => Kind::Unknown,
                3 => Kind::Control,
                4 => Kind::Defined,
                5 => Kind::Unused,
                6 => match byte(piece.bytes).filter(|_| file.has_bytes) {
                    Some(byte) => Kind::Byte(byte),
                    None => return Ok(Err("one of its pieces of bytes is wrong".to_owned())),
                },
                _ => return Ok(Err("one of its pieces is of an unknown kind".to_owned())),
            };
        }
        Ok(Ok(file))
    }

    /// `TrainerSpec`.
    fn training(&mut self, bytes: &'a [u8]) -> Result<(), Fault> {
        let mut all = Message::new(bytes);
        while let Some(field) = all.next()? {
            match field {
                (3, Value::Varint(it)) => self.kind = it,
                (24, Value::Varint(it)) => self.is_suffix = it != 0,
                (35, Value::Varint(it)) => self.has_bytes = it != 0,
                (44, Value::Bytes(it)) => self.unknown_text = Some(it),
                _ => {}
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let no = |what: &str| Err(format!("it is not a SentencePiece model: {what}"));
        if self.pieces.is_empty() {
            return no("it has no pieces");
        }
        if self.pieces.len() > IDS_MAX as usize {
            return no("it has too many pieces");
        }
        let is_wrong = |it: &Piece<'_>| {
            it.bytes.is_empty()
                || it.bytes.len() >= PIECE_BYTES
                || it.bytes.contains(&0) && !is_null(it)
                || !it.score.is_finite()
        };
        if self.pieces.iter().any(is_wrong) {
            return no("one of its pieces, or its score, is wrong");
        }
        let mut known = HashSet::new();
        // Only BPE has one namespace for all.
        let space = |it: &Piece<'_>| self.kind == 2 || is_text(it.kind);
        let pieces = self.pieces.iter().filter(|it| !is_null(it));
        if !{ pieces }.all(|it| known.insert((space(it), it.bytes))) {
            return no("one of its pieces is there twice");
        }
        match self.pieces.iter().filter(|it| it.kind == Kind::Unknown).count() {
            1 => Ok(()),
            0 if self.has_bytes => Ok(()),
            0 => no("no piece is for what is unknown"),
            _ => no("two pieces are for what is unknown"),
        }
    }

    fn model(&self) -> Result<(Model, Ends, Option<Bounds>), String> {
        // As texts are while they are cut.
        let written: Vec<Vec<u8>> = self.pieces.iter().map(|it| self.inner(it.bytes)).collect();
        // What has a space of its own is in no text.
        let is_there = |it: &Piece<'_>| {
            is_text(it.kind)
                && !is_null(it)
                && !(self.normalizer.escapes && it.bytes.contains(&b' '))
        };
        let all = (0..).zip(self.pieces.iter().zip(&written));
        let all = all.filter(|(_, (it, _))| is_there(it)).map(|(id, (it, bytes))| (id, it, bytes));
        let used = all.clone().filter(|it| it.1.kind != Kind::Unused);
        let ends = Ends::of(used.clone().map(|it| &it.2[..]));
        let bounds = Some(Bounds::new(used.clone().map(|it| &it.2[..])));
        match self.kind {
            1 => {
                let normal = self.pieces.iter().filter(|it| it.kind == Kind::Normal);
                let least = normal.map(|it| it.score).fold(f32::MAX, f32::min);
                let score = |it: &Piece<'_>, len: usize| match it.kind {
                    // More for what is longer, so that they are chosen.
                    Kind::Defined => (0.1 * (len as f64 - 1.0)) as f32,
                    _ => it.score,
                };
                let scores = self.pieces.iter().map(|it| score(it, it.bytes.len())).collect();
                let pieces =
                    used.map(|(id, it, bytes)| (&bytes[..], id, score(it, it.bytes.len())));
                Ok((
                    Model::Unigram(Unigram::new(pieces, (scores, least), self.unknown())),
                    ends,
                    bounds,
                ))
            }
            2 | 4 => {
                let is_defined = |it: &Kind| *it == Kind::Defined;
                let pieces = all.clone().filter(|it| !is_defined(&it.1.kind));
                let pieces = pieces.map(|(id, it, bytes)| pairs::Piece {
                    bytes,
                    id,
                    score: it.score,
                    is_unused: it.kind == Kind::Unused,
                });
                let pieces: Vec<_> = pieces.collect();
                let defined = all.filter(|it| is_defined(&it.1.kind));
                let defined: Vec<_> = defined.map(|(id, _, bytes)| (&bytes[..], id)).collect();
                let len = self.pieces.len() as u32;
                let model = Pairs::new(&pieces, &defined, (len, self.kind == 2));
                let (ends, bounds) = match model.has_unused() {
                    true => (Ends::Nowhere, None),
                    false => (ends, bounds),
                };
                Ok((Model::Pairs(Box::new(model)), ends, bounds))
            }
            3 => {
                let words = used.map(|(id, _, bytes)| (&bytes[..], id, 0.0));
                Ok((Model::Words(Trie::new(words)), Ends::BeforeEachSpace, None))
            }
            _ => Err("it is a SentencePiece model of an unknown kind".to_owned()),
        }
    }

    fn unknown(&self) -> Option<usize> {
        self.pieces.iter().position(|it| it.kind == Kind::Unknown)
    }

    /// A piece with one byte for what a space is written as.
    fn inner(&self, piece: &[u8]) -> Vec<u8> {
        let mut inner = Vec::with_capacity(piece.len());
        match self.normalizer.escapes {
            true => super::push_spaced(piece, &mut inner),
            false => inner.extend_from_slice(piece),
        }
        inner
    }

    fn byte_ids(&self) -> Result<Option<Box<[u32; 256]>>, String> {
        if !self.has_bytes {
            return Ok(None);
        }
        let mut ids = Box::new([NONE; 256]);
        for (id, piece) in (0..).zip(&self.pieces) {
            if let Kind::Byte(byte) = piece.kind {
                ids[usize::from(byte)] = id;
            }
        }
        let all = ids.iter().all(|it| *it != NONE).then_some(ids);
        all.map(Some).ok_or_else(|| "some of its pieces of bytes are missing".to_owned())
    }
}

/// Whether texts are made of such pieces.
fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::Normal | Kind::Defined | Kind::Unused)
}

/// Whether a piece is one that is there, but not as a piece.
fn is_null(piece: &Piece<'_>) -> bool {
    piece.bytes == b"\0" && piece.kind == Kind::Unused
}

/// The byte that a piece such as `<0x0A>` is.
fn byte(piece: &[u8]) -> Option<u8> {
    let digits = str::from_utf8(piece.strip_prefix(b"<0x")?.strip_suffix(b">")?).ok()?;
    let is_one =
        digits.len() == 2 && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'A'..=b'F'));
    is_one.then(|| u8::from_str_radix(digits, 16).ok())?
}

/// A piece, and the number of its kind.
fn piece(bytes: &[u8]) -> Result<(Piece<'_>, u64), Fault> {
    let (mut piece, mut kind) = (Piece { bytes: &[], score: 0.0, kind: Kind::Normal }, 1);
    let mut all = Message::new(bytes);
    while let Some(field) = all.next()? {
        match field {
            (1, Value::Bytes(it)) => piece.bytes = it,
            (2, Value::Fixed32(it)) => piece.score = f32::from_le_bytes(it),
            (3, Value::Varint(it)) => kind = it,
            _ => {}
        }
    }
    Ok((piece, kind))
}

impl<'a> Spec<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut spec = Self { map: &[], adds_prefix: true, removes_spaces: true, escapes: true };
        let mut all = Message::new(bytes);
        while let Some(field) = all.next()? {
            match field {
                (2, Value::Bytes(it)) => spec.map = it,
                (3, Value::Varint(it)) => spec.adds_prefix = it != 0,
                (4, Value::Varint(it)) => spec.removes_spaces = it != 0,
                (5, Value::Varint(it)) => spec.escapes = it != 0,
                _ => {}
            }
        }
        Ok(spec)
    }
}
