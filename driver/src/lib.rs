//! What every front door needs: loading, probing inputs, running. Prints nothing.

mod arguments;
pub mod build;
pub mod built;
pub mod calibrate;
mod classes;
mod compile;
mod compiled;
mod cut;
mod errors;
mod functions;
pub mod host;
mod identity;
mod keep;
mod kind;
mod lints;
mod load;
pub mod lock;
mod machine;
mod measured;
mod message;
mod noise;
mod options;
mod ours;
pub mod peek;
mod place;
pub mod profile;
pub mod reference;
mod run;
mod samples;
pub mod scan;
pub mod sheet;
mod sink;
mod state;
pub mod store;
pub mod tune;
pub mod verify;
mod view;
mod whole;
mod written;

pub use arguments::in_python;
pub use built::Built;
pub use classes::Classes;
pub use compile::{Settings, check, codes, compile, is_pass, pass_names, pipelines, probe};
pub use compiled::{Compiled, classes};
pub use compiler::migration;
pub use compiler::{
    ast::dump,
    explain::program_text,
    format::format,
    syntax::{Kind as HighlightKind, highlight},
};
pub use errors::{ITERATOR_OVERTAKEN, LENGTH_UNKNOWN, USED_AFTER_FORK, WRONG_ARGUMENT};
pub use functions::Functions;
pub use host::Host;
pub use identity::{PlanHash, plan_hash};
pub use kind::Kind;
pub use lints::{label_warnings, lint, missing_files};
pub use load::{Loaded, Reach, SourceFile, Unreadable, read_main, read_text, text};
pub use lock::Lock;
pub use machine::{cores, default_memory, real_cores, survive_file_size_limit};
pub use measured::Profile;
pub use message::{Drawing, drawn};
pub use options::RunOptions;
pub use ours::{Ours, Taken};
pub use place::{Place, place};
pub use run::{
    Arrival, ClassesSummary, DiskSummary, KeptSummary, LeftOver, Loss, Outcome, Progress,
    StageSummary, Stop, Stream, Summary, UnevenRanks, Watch, cache_point, run,
};
pub use safe_file::{create, remove_drafts};
pub use samples::{SampleProgress, cache_folder};
#[cfg(feature = "arrow")]
pub use sink::ArrowStream;
pub use sink::{Discard, Existing, Folder, Provenance, Resumed, Sink, Written, unwritten_format};
pub use state::{State, StateFile};
pub use store::DiskOptions;
pub use view::Circumstances;
pub use whole::{replace, unwritable, write};
