//! What every run needs: a program is read, compiled and run, to an end or as a stream, with its state,
//! its locks, what it keeps, and where its output goes.

pub(crate) mod arguments;
pub(crate) mod classes;
pub(crate) mod compile;
pub(crate) mod compiled;
pub(crate) mod constants;
pub(crate) mod errors;
pub(crate) mod files;
pub(crate) mod functions;
pub(crate) mod identity;
pub(crate) mod indices;
pub(crate) mod load;
pub(crate) mod message;
pub(crate) mod place;
pub(crate) mod quarantine;
pub(crate) mod rewritten;
pub(crate) mod sampled;
pub(crate) mod samples;
pub(crate) mod shown;

pub mod host;
pub(crate) mod machine;

pub(crate) mod keep;
pub mod lock;
pub(crate) mod measured;
pub(crate) mod options;
pub(crate) mod run;
pub(crate) mod sink;
pub(crate) mod spared;
pub(crate) mod state;
pub(crate) mod stop;
pub(crate) mod storages;
pub mod store;
pub(crate) mod stores;

pub mod built;
pub(crate) mod ours;
pub(crate) mod whole;
mod written;
