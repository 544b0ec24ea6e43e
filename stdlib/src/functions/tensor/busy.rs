//! `busy`: work of a known cost, for trying out plans.

use crate::prelude::*;
use runtime::{
    reads,
    tokens::{self, Turn},
};
use std::time::Duration;

function! {
    /// Returns the value unchanged, after a given amount of work.
    ///
    /// The work takes `time` seconds on one core, and simulates reading `bytes` bytes. A step of known cost, to
    /// try out plans and machines. With `run --virtual-cores`, it sleeps instead of computing; `bytes` count as
    /// read, and `run --virtual-disk` limits their rate. With `alone: true`, only one thread at a time runs it.
    ///
    /// ```pipe
    /// range(4) |> map { i: busy(i, time: 0.0001) }    # { i: i64 }
    /// ```
    "busy(x: any, time: float, bytes: int = 0, alone: bool = false) fails -> any",
    // Its own: what is asked of it is not known here.
    cost: Cost::call(1_000.0),
    properties: &[Property::Passes, Property::Alone("alone")],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    applied.ty(0).ok_or_else(|| "`busy` expects a value".to_owned())
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    let turn = Turn::default();
    Ok(Kernel::pass(move |args| {
        let (time, bytes) = (args.float(1), args.int(2));
        let time = Duration::try_from_secs_f64(time)
            .map_err(|_| Fault::new("time", format!("cannot spend {time} s")))?;
        if bytes > 0 {
            reads::count(bytes.unsigned_abs());
        }
        match args.tensor(3).first::<bool>() {
            true => turn.spend(time),
            false => tokens::spend(time),
        }
        Ok(())
    }))
}
