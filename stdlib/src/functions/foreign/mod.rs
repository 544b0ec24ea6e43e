//! Functions that stand outside of the program.

mod call;

use crate::Function;

/// All of them.
pub(crate) static ALL: &[&Function] = &[&call::ENTRY];
