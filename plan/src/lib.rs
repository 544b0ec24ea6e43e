//! What the other crates talk about: types, plans, programs, costs, diagnostics.
//!
//! Nothing here compiles or runs anything.

mod about;
mod ahead;
pub mod clean;
mod codec;
mod diagnostic;
mod entry;
mod expr;
mod file;
mod foreign;
mod ids;
mod lineage;
mod loops;
mod name;
mod nearest;
mod nesting;
pub mod parts;
mod plan;
mod profile;
mod program;
mod ragged;
mod shown;
mod things;
mod types;

pub use about::About;
pub use ahead::{Ahead, AheadLoop};
pub use codec::{Codec, CodecFigures, Compressor};
pub use diagnostic::*;
pub use entry::{
    Action, Affine, Applied, Cost, Drafted, Entry, FILE, Faulty, FieldTypes, Fused, Indexed,
    Intrinsic, KnownNumber, Library, Nearly, Neutral, Property, ReadAffine, Reduction, Resampled,
    ResultType, TypedColumns, WriteAffine, companion,
};
pub use expr::{
    Arg, Binary, Const, DEPTH_MAX, Draw, Expr, Graph, Otherwise, Policy, STAGE_DEPTH_MAX, Unary,
};
pub use file::File;
pub use foreign::{FOREIGN, Foreign, ForeignSource, called, outside};
pub use ids::{ExprId, IdVec, Index, OpId, StageId, VarId};
pub use lineage::{hash, mix, unmix};
pub use name::{KEYWORDS, is_field_name, is_name, name_for, text_literal};
pub use nearest::{nearest, unlike};
pub use plan::{Op, OpKind, Plan, Records};
pub use profile::{CallMeasured, Measured, StageMeasured};
pub use program::{
    Code, Deal, FILES_MAX, FORMAT, Lanes, OwnLanes, Program, STAGES_MAX, Series, Spans, Stage,
    Transform, Windows,
};
pub use ragged::RaggedField;
pub use shown::{escaped, escaped_json, is_bidi, is_hidden, masked};
pub use things::{count, percent, plural, things};
pub use types::{
    Commas, DType, Extent, Field, PLAUSIBLE_BYTES_MAX, Type, Untyped, VALUE_BYTES_MAX, shown_bytes,
};
