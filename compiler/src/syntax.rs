//! Text to syntax tree, with every mistake of the text in one run.
//!
//! The text is cut into pieces, one declaration each; the grammar (`grammar.pest`) reads each alone. Where it
//! stops, the list of cures says what a person meant; the mistake is reported, the piece mended and read on.

mod cures;
mod highlight;
mod kept;
mod lower;
mod origin;
mod parser;
pub(crate) mod pieces;
mod strays;
pub(crate) mod tokens;

#[cfg(test)]
pub(crate) use crate::errors::syntax::CODES;
pub use highlight::{Kind, highlight};
pub use kept::Kept;
pub use parser::{is_read, parse, parse_again, parse_signature, parse_value};

/// The editions that this compiler knows, oldest first.
pub static EDITIONS: [u16; 1] = [2026];

/// The largest source file, in bytes.
pub const SOURCE_MAX: usize = 1 << 20;

/// The most declarations of a file.
pub const DECLARATIONS_MAX: usize = 10_000;

/// The most messages that one file is given; whoever has so many wants to see the first.
pub const MESSAGES_MAX: usize = 100;

#[cfg(test)]
pub(crate) mod tests;
