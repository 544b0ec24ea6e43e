//! What stands in the list of an output's files: how much each holds, and what that sums to.

use super::Written;
use runtime::Failure;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io::{self, Write},
    mem,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The name of the list in the folder.
pub(super) const LIST: &str = "pipec.files.jsonl";
/// Bytes that are written and summed at a time: they are in a processor's cache when they are summed.
const BLOCK: usize = 256 << 10;

/// The files of one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) epoch: u32,
    /// Outputs in them: one batch, or the records of a piece.
    pub(super) outputs: u64,
    /// By their names below the folder.
    pub(super) files: BTreeMap<String, Sum>,
    /// XXH3 of the line in which it is empty, in hexadecimal: no file says the epoch and the number of outputs.
    check: String,
}

impl Line {
    /// A line without files.
    pub(super) fn new(epoch: u32, outputs: u64) -> Self {
        Self { epoch, outputs, files: BTreeMap::new(), check: String::new() }
    }

    /// A line of the list, without its end; none, where it is damaged.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut line: Self = serde_json::from_slice(text).ok()?;
        let check = mem::take(&mut line.check);
        (check == line.checksum()).then_some(line)
    }

    /// It, as it stands in the list.
    pub(super) fn text(&self) -> String {
        Self { check: self.checksum(), ..self.clone() }.json() + "\n"
    }

    fn checksum(&self) -> String {
        debug_assert!(self.check.is_empty(), "only text has a checksum");
        format!("{:016x}", xxh3_64(self.json().as_bytes()))
    }

    fn json(&self) -> String {
        serde_json::to_string(self).expect("a line has nothing that JSON cannot say")
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    /// In hexadecimal.
    xxh3: String,
}

/// A place in an output, between two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Place {
    pub(super) epoch: u32,
    /// Files of each field before it.
    pub(super) files: u64,
    /// Outputs in them.
    pub(super) outputs: u64,
    /// Bytes of all of them.
    pub(super) bytes: u64,
    /// Bytes of the list before it.
    pub(super) list: u64,
}

impl Place {
    /// What is written before it.
    pub(super) fn written(&self) -> Written {
        Written { outputs: self.outputs, files: self.files }
    }
}

/// Why an output is not gone on with as it is.
#[derive(Debug)]
pub(super) enum Flaw {
    /// It is damaged: what was found.
    Damage(String),
    /// Nobody knows: it cannot be looked at.
    Failure(Failure),
}

/// Sums what goes through it.
pub(super) struct Summing<'a> {
    out: &'a mut dyn Write,
    hash: Xxh3,
    bytes: u64,
}

impl<'a> Summing<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, hash: Xxh3::new(), bytes: 0 }
    }

    pub(super) fn sum(&self) -> Sum {
        Sum { bytes: self.bytes, xxh3: format!("{:016x}", self.hash.digest()) }
    }
}

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = self.out.write(&bytes[..bytes.len().min(BLOCK)])?;
        self.hash.update(&bytes[..n_bytes]);
        self.bytes += n_bytes as u64;
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
