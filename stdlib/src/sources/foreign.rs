//! `extern`: the records of an object that an `extern pipeline` declares.

use super::absent::FAULT;
use crate::prelude::*;
use plan::{FOREIGN, Faulty, ForeignSource};
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// Reads the records of a Python object that is declared with `extern pipeline`.
    ///
    /// This needs the Python package. Programs do not call it by name: the compiler inserts it where such a pipeline is
    /// called. The object is what the declared class or function returns for the arguments. With `__len__` and
    /// `__getitem__` it can be read in any order; otherwise it is iterated. `faults` is set by the compiler.
    ///
    /// For `lanes`, see `range`: `docs("train", lanes: 8)`, if the pipeline declares no parameter of that name. The object must
    /// have `__len__` and `__getitem__` then.
    ///
    /// ```pipe
    /// docs("train") |> shuffle |> take(1000)
    /// extern pipeline docs(split: str) -> { text: str, id: i64 } = "ours.data:Docs"    # { text: str, id: i64 }
    /// ```
    "extern(args: record, name: text, target: text, fields: list, faults: bool = false, \
     lanes: int = none) -> stream",
    // Assumed: a call of Python, and a copy of what it gives.
    cost: Cost::out(20_000.0, 0.2),
    properties: &[Property::Indexed, Property::CallsOut, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// Where the parameter stands.
const FAULTS: usize = 4;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let mut fields = declared(applied.args)?.fields;
    if applied.args.get(FAULTS) == Some(&Arg::Bool(true)) {
        fields.push(Field { name: FAULT.to_owned(), ty: Type::scalar(DType::Str) });
    }
    Ok(fields)
}

fn declared(args: &[Arg]) -> Result<ForeignSource, String> {
    let of = ForeignSource::of(FOREIGN, args);
    of.ok_or_else(|| "its arguments do not say which source it is".to_owned())
}

/// Whoever has it makes it (`runtime::Outside`): here, nobody has.
fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let which = declared(call.args).map_err(Failure::Program)?;
    Err(Failure::Program(format!(
        "`{}` is read in Python (`{}`): run the program from Python, with `pipec.load(…)`",
        which.name, which.target
    )))
}
