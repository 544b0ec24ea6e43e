//! What can go wrong while a program runs: with one record, or with the run.

use std::{borrow::Cow, fmt};

/// A record that could not be computed: data, not a bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The stable name of what happened, such as `image-truncated`.
    pub code: &'static str,
    /// What was found, in one sentence.
    pub detail: Cow<'static, str>,
    /// The file that it was found in, where that is not what its record is named by.
    pub file: Option<Box<str>>,
}

impl Fault {
    /// A fault of the kind `code`.
    pub fn new(code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), file: None }
    }

    /// What was found, and in which file where its record does not say that.
    pub fn reason(&self) -> Cow<'_, str> {
        match &self.file {
            Some(file) if !self.detail.contains(&format!("`{file}`")) => {
                format!("`{file}`: {}", self.detail).into()
            }
            _ => (&*self.detail).into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason(), self.code)
    }
}

/// Why a run ended before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A record failed, and the program has no other use for it.
    Record {
        /// Where the step is written.
        label: String,
        /// The step; the first and the last one, where several run as one.
        step: Box<str>,
        /// The record's id.
        id: u64,
        /// The record, as a person would name it.
        record: Box<str>,
        /// What was wrong with it.
        fault: Fault,
    },
    /// More records failed than the program allows.
    Budget {
        /// Where the step is written.
        label: String,
        /// How many failed, of how many, and the share that may.
        detail: String,
    },
    /// The data do not fit the program, beyond one record: unequal lengths of a `zip`.
    Data {
        /// Where the step is written; empty where the stage's own will do.
        label: String,
        /// What was found, and what to do.
        detail: String,
    },
    /// A record of a source cannot be read, and the program has no other use for it.
    Unreadable {
        /// The record's id.
        id: u64,
        /// The record, as a person would name it.
        record: Box<str>,
        /// The file.
        path: String,
        /// What was found, and what to do.
        detail: String,
    },
    /// Reading or writing failed.
    Io {
        /// The file or folder.
        path: String,
        /// What was tried and what came of it.
        detail: String,
    },
    /// There is not enough memory.
    Memory {
        /// Where the step is written; empty where it is none, or the stage's own will do.
        label: String,
        /// How much was wanted, and what to do.
        detail: String,
    },
    /// The program cannot run on this build: a kernel is unknown, a form is too new.
    Program(String),
    /// A checkpoint does not fit: it is damaged, or the program or its inputs have changed.
    State(String),
    /// The consumer or the user asked for it.
    Stopped,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record { label, record, fault, .. } => write!(f, "{label}: {record}: {fault}"),
            Self::Budget { label, detail }
            | Self::Data { label, detail }
            | Self::Memory { label, detail }
                if !label.is_empty() =>
            {
                write!(f, "{label}: {detail}")
            }
            Self::Budget { detail, .. }
            | Self::Data { detail, .. }
            | Self::Memory { detail, .. } => f.write_str(detail),
            Self::Unreadable { path, detail, .. } | Self::Io { path, detail } => {
                write!(f, "`{path}`: {detail}")
            }
            Self::Program(detail) => f.write_str(detail),
            Self::State(detail) => write!(f, "the checkpoint does not match: {detail}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Failure {}
