//! Programs to batches: threads, buffers, evaluation.
//!
//! The runtime has never heard of source text: a step's place is an opaque label.

mod buffer;
mod cache;
mod column;
mod counted;
mod eval;
mod executor;
pub mod far;
mod fault;
mod foreign;
mod kernel;
mod lineage;
mod memory;
pub mod os;
mod random;
pub mod reads;
mod source;
pub mod storage;
mod tensor;
pub mod tokens;

pub use buffer::{Buffer, Pool, Recycled, SPARE, Scratch, Working};
pub use cache::{
    Cache, CacheKey, CachePoint, CacheStats, Codecs, DiskRoom, Spared, Store, StoreStats, codec,
    folder_bytes, reading,
};
pub use column::{
    Builder, Chunk, ChunkBuilder, Column, ROWS_END_TO_END_MAX, Ragged, Scatter, TEXTS_BYTES_MAX,
    Texts,
};
pub use counted::Counted;
pub use eval::{
    ByFile, CallStats, Calls, Listed, MachineCode, OwnCode, Prepared, machine_code, precompile,
    processors,
};
pub use executor::{
    LostRecord, OnLost, Options, Position, Rank, Run, StageStats, Stats, Step, Stopper, start,
};
pub use fault::{Failure, Fault};
pub use foreign::{ForeignFunction, Outside, await_another, worked_elsewhere};
pub use kernel::{
    Args, Build, Call, Compute, DrawFn, IndexedFn, Kernel, Out, PassFn, Seek, SideIndex, Skim,
    Skimmed, VALUE_BYTES_MAX, View,
};
pub use lineage::ids_of;
pub use memory::{is_of_memory, memory_remedy, or_failure, uncounted};
pub use plan::mix;
pub use random::{Permutation, Philox, philox4x32_10};
pub use source::{
    BuildOperator, BuildSource, Filling, Fingerprint, Finish, Interleave, Kept, Kernels, Mark,
    Operator, OperatorCall, Running, Source, SourceCall, Stream, Unneeded, Unread, Wants,
};
pub use tensor::{Element, MAX_RANK, Shape, Tensor};
