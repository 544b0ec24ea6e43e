//! Why a picture was not decoded.

use std::fmt;

/// Why a picture was not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file ends before the picture does.
    Truncated,
    /// The bytes are not what the format asks for.
    Damaged(&'static str),
    /// The file is of a kind that this decoder does not take.
    Unsupported(&'static str),
    /// The buffer does not have the length of the picture.
    Buffer,
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated => write!(to, "the WebP is truncated"),
            Error::Damaged(what) => write!(to, "{what}"),
            Error::Unsupported(what) => write!(to, "{what} is not supported"),
            Error::Buffer => write!(to, "the buffer does not have the length of the picture"),
        }
    }
}

impl std::error::Error for Error {}
