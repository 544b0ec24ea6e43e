//! `repeat`: a stream several times over.

use super::arguments::count;
use crate::prelude::*;
use runtime::{OperatorCall, Running};

operator! {
    /// Runs what stands before it `n` times, or for ever.
    ///
    /// Each lap draws and shuffles again: the number of the lap is part of what its records are
    /// made of. The source does the laps, so nothing is kept. A stream without an end is for
    /// `mix`, for `take`, or for a consumer that stops by itself.
    ///
    /// ```pipe
    /// range(10) |> shuffle |> repeat(3) |> batch(4)    # { i: i64[4] }
    /// ```
    "repeat(stream: stream, n: int = none) -> stream",
    cost: Cost::call(0.0),
    properties: &[Property::Does(Action::Repeat), Property::NeedsIndex, Property::SameFields],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    if applied.args[0] != Arg::None {
        count(&applied.args[0], "n")?;
    }
    Ok(applied.inputs[0].clone())
}

/// The compiler makes it laps of the source.
fn build(_: &OperatorCall<'_>) -> Result<Running, Failure> {
    let why = "`repeat` cannot repeat its source";
    Err(Failure::Program(why.to_owned()))
}
