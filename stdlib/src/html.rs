//! Pages of HTML: their text, and that of the article in them.
//!
//! | file | what |
//! |---|---|
//! | `tree.rs` | a page as a tree, as browsers parse it, of bounded size and depth |
//! | `attributes.rs` | how many attributes a tag has, which is bounded before anything is parsed |
//! | `lines.rs` | the text of a tree, a line for each block |

mod attributes;
mod lines;
mod tree;

use dom_query::Document;
use dom_smoothie::{Config, Readability};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of a page.
pub(crate) const PAGE_MAX: usize = 16 << 20;

/// What a page has too much of to be read in bounded time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// It has more bytes than [`PAGE_MAX`].
    Bytes,
    /// Elements are nested deeper than [`Excess::DEPTH_MAX`].
    Depth,
    /// It has more elements and texts than [`Excess::NODES_MAX`].
    Nodes,
    /// A tag has more attributes than [`Excess::ATTRIBUTES_MAX`].
    Attributes,
}

impl Excess {
    /// Elements within each other. Chrome nests no deeper either; a parser looks through all of them for each tag.
    pub(crate) const DEPTH_MAX: usize = 512;
    /// Elements, texts and comments. A few bytes of HTML can stand for thousands of them: formatting that is left open
    /// is repeated in each paragraph.
    pub(crate) const NODES_MAX: usize = 1 << 20;
    /// Attributes of a tag. A parser compares each with all others.
    pub(crate) const ATTRIBUTES_MAX: u32 = 1024;
}

/// The text of a page, a line for each block.
///
/// # Errors
/// It is too large.
pub(crate) fn text(page: &str) -> Result<String, Excess> {
    Ok(lines::of(&parsed(page)?))
}

/// The text of the article of a page, if one is found.
///
/// # Errors
/// The page is too large.
pub(crate) fn article(page: &str) -> Result<Option<String>, Excess> {
    let document = parsed(page)?;
    let Some(article) = content(document) else { return Ok(None) };
    let text = lines::of(&parsed(&article)?);
    Ok((!text.is_empty()).then_some(text))
}

fn parsed(page: &str) -> Result<Document, Excess> {
    if page.len() > PAGE_MAX {
        return Err(Excess::Bytes);
    }
    if attributes::most(page.as_bytes()) > Excess::ATTRIBUTES_MAX {
        return Err(Excess::Attributes);
    }
    tree::of(page)
}

/// The HTML of what a page is about.
fn content(document: Document) -> Option<String> {
    // Names, dates and addresses that a page states are of no use here.
    let config = Config { disable_json_ld: true, ..Config::default() };
    // The crate asserts what it takes for granted of a page; whoever wrote this one must not end the run by it.
    let found = catch_unwind(AssertUnwindSafe(|| {
        Readability::with_document(document, None, Some(config)).ok()?.parse().ok()
    }));
    found.ok().flatten().map(|it| it.content.to_string())
}

#[cfg(test)]
mod tests;
