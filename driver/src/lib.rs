//! What every front door needs: loading, probing inputs, running. Prints nothing.
//!
//! `session` has what a run needs, `tools` what looks inside and measures; no path leads from the
//! first to the second.

mod session;
mod tools;

pub use compiler::migration;
pub use compiler::{
    ast::dump,
    estimate::View,
    explain::program_text,
    format::format,
    syntax::{Kind as HighlightKind, highlight},
};
pub use safe_file::{create, remove_drafts};
pub use session::{
    arguments::in_python,
    built::{self, Built},
    classes::Classes,
    compile::{
        ConstantWatch, Settings, check, codes, compile, constants, is_pass, pass_names, pipelines,
        probe,
    },
    compiled::{Compiled, classes},
    constants::{Answers, Constant, ConstantFailure, ConstantProgress, Constants, Known, Losses},
    errors::{ITERATOR_OVERTAKEN, LENGTH_UNKNOWN, USED_AFTER_FORK, WRONG_ARGUMENT},
    files::Files,
    functions::Functions,
    host::{self, Host},
    identity::{PlanHash, plan_hash},
    indices::keep_indices,
    load::{Loaded, Reach, SourceFile, Unreadable, read_main, read_text, text},
    lock::{self, Lock},
    machine::{cores, default_memory, real_cores, say_what_is_lost, survive_file_size_limit},
    measured::Profile,
    message::{Drawing, drawn},
    options::RunOptions,
    ours::{Ours, Taken},
    place::{Place, place},
    run::{
        Arrival, ClassesSummary, DiskSummary, Dropped, Filled, Filling, FillingSummary,
        KeptSummary, LeftOver, Loss, Outcome, PrepareWatch, Progress, Sampling, StageSummary, Stop,
        Stream, Summary, UnevenRanks, Watch, cache_of, cache_point, prepare, run, sample,
    },
    sampled::{Interval, Sampled, SampledValue},
    samples::{SampleProgress, cache_folder},
    shown::Unshown,
    sink::{
        DATA_FORMATS, DataFormat, Discard, Existing, Folder, OUTPUT_FILES, Provenance, Resumed,
        RunConfig, ShardSize, Sink, Written, arrow_stream, is_far_output, refused_output,
        unwritten_format,
    },
    spared::SparedSummary,
    state::{State, StateFile},
    store::{self, DiskOptions},
    stores::{names_store, reads_store, register_stores},
    whole::{replace, unwritable, write, write_remedy},
};
pub use tools::{
    build, calibrate, index, inspect,
    kind::Kind,
    lints::{label_warnings, lint, missing_files, missing_files_of},
    peek, profile, reference, scan, sheet, tune, verify,
    view::{Circumstances, Planned},
};
