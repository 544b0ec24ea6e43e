//! Why a picture was not decoded.

use std::fmt;

/// Why a picture was not decoded.
///
/// Nothing here says that a file cannot be read at all: this decoder takes what is entirely
/// in order, and a caller that wants to read more asks another decoder for its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file is not what a well-formed one would be: it is cut off, or a code, a marker or a
    /// table is not what can stand there.
    Irregular(&'static str),
    /// The file is of a kind that this decoder does not take.
    Unsupported(&'static str),
    /// The file is larger than the limits of the request.
    TooLarge(&'static str),
    /// The request does not fit the file or the buffer.
    Request(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Irregular(what) => write!(to, "the JPEG is not in order: {what}"),
            Error::Unsupported(what) => write!(to, "a JPEG of this kind is not taken: {what}"),
            Error::TooLarge(what) => write!(to, "the JPEG is too large: {what}"),
            Error::Request(what) => write!(to, "the request does not fit: {what}"),
        }
    }
}

impl std::error::Error for Error {}

/// Shorthand, within this crate, for what is not in order.
pub(crate) const fn irregular<T>(what: &'static str) -> Result<T, Error> {
    Err(Error::Irregular(what))
}
