//! Questions about a plan, for everyone who decides something by the answers: lowering, what is kept
//! from epoch to epoch, the estimate, the passes.
//!
//! It stands below all of these and knows none of them. A question that two of them ask belongs here:
//! what an operator means, which values are needed, what can fail, what moves into a source, how
//! large values are and what they cost. Nothing here changes a plan, and nothing remembers one.
//!
//! The layers above, each of which uses only those before it: `lower` makes the program; `caches`
//! finds the values of a program that could be kept, and chooses among them; `estimate` says what
//! plan and program cost, with what is kept; `passes` propose plans and ask the estimate which one is
//! better. `caches` and `estimate` have a plan lowered because it shows only there which steps run as one
//! stage, what is read apart, and what is written where it stays.

#[cfg(test)]
pub(crate) mod bed;
pub(crate) mod cost;
pub(crate) mod flow;
pub(crate) mod index;
pub(crate) mod live;
pub(crate) mod parts;
pub(crate) mod role;
pub(crate) mod size;
pub(crate) mod total;
pub(crate) mod varies;
