//! Where a text is cut by any regular expression.

use super::Failed;
use fancy_regex::{Regex, RegexBuilder};

/// Bytes of what an expression is compiled to, at the most.
const COMPILED_MAX: usize = 8 << 20;
/// Steps back that are taken to find one piece, at the most.
const STEPS_MAX: usize = 1 << 20;

/// A regular expression, whose matches are pieces of a text.
#[derive(Debug)]
pub(crate) struct Expression {
    regex: Regex,
    /// Whether what is between two matches is a piece too: so it is in `tokenizer.json`, but not in tiktoken.
    keeps_rest: bool,
}

impl Expression {
    /// # Errors
    /// It is no regular expression.
    pub(super) fn new(pattern: &str, keeps_rest: bool) -> Result<Self, String> {
        let mut builder = RegexBuilder::new(pattern);
        builder.backtrack_limit(STEPS_MAX).delegate_size_limit(COMPILED_MAX);
        let regex =
            builder.build().map_err(|it| format!("it is not a regular expression: {it}"))?;
        Ok(Self { regex, keeps_rest })
    }

    /// Calls `visit` with where each piece of a text begins and ends, until it says that it is enough.
    pub(super) fn each(
        &self,
        text: &str,
        mut visit: impl FnMut(usize, usize) -> bool,
    ) -> Result<(), Failed> {
        let mut done = 0;
        for found in self.regex.find_iter(text) {
            let found = found.map_err(|it| Failed::Refused(format!("it cannot be split: {it}")))?;
            if self.keeps_rest && done < found.start() && !visit(done, found.start()) {
                return Ok(());
            }
            if found.start() < found.end() && !visit(found.start(), found.end()) {
                return Ok(());
            }
            done = found.end();
        }
        if self.keeps_rest && done < text.len() {
            visit(done, text.len());
        }
        Ok(())
    }
}
