//! `repeat`: a stream several times over.

use super::arguments::count;
use crate::prelude::*;
use runtime::{OperatorCall, Running};

operator! {
    /// Repeats the stream `n` times, or forever without `n`.
    ///
    /// Each repetition draws new random numbers and shuffles differently: its number is part of the identity of
    /// its records. The source is read again, so nothing is buffered. Use an endless stream with `mix`, with
    /// `take`, or with a training loop that stops by itself.
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
