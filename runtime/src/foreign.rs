//! Functions and sources that stand outside of the program, such as those of Python: whoever runs it brings them.

use crate::{Failure, Fault, Pool, Source, SourceCall, Tensor, memory};
use plan::{DType, Foreign, ForeignSource};
use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::Arc,
    time::Duration,
};

thread_local! {
    static ELSEWHERE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static WITHIN: RefCell<Option<Arc<dyn Outside>>> = const { RefCell::new(None) };
}

/// Does `work` as [`Outside::during`] does, so that what waits within it can do so apart.
pub(crate) fn during(outside: &Arc<dyn Outside>, work: &mut dyn FnMut()) {
    /// It is over, however it ends.
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            WITHIN.take();
        }
    }
    WITHIN.set(Some(outside.clone()));
    let _over = Over;
    outside.during(work);
}

/// Waits without what [`during`] has taken, where it has.
pub(crate) fn apart(wait: &mut (dyn FnMut() + Send)) {
    match WITHIN.with_borrow(Clone::clone) {
        Some(outside) => outside.apart(wait),
        None => wait(),
    }
}

/// Waits for what another task of the same run has, such as a process that both call: meanwhile the task
/// of this thread is not at work, so that nobody waits for it to give memory back.
pub fn await_another<T>(wait: impl FnOnce() -> T) -> T {
    let _waiting = memory::pool_of_task(|pool| pool.map(Pool::waits_elsewhere));
    wait()
}

/// Says that another process has used so much processor time for the work of the calling thread, which
/// is measured as if it had done it itself.
pub fn worked_elsewhere(time: Duration) {
    ELSEWHERE.set(ELSEWHERE.get().saturating_add(time));
}

/// The time of which the calling thread has said so since it was asked last.
pub(crate) fn take_elsewhere() -> Duration {
    ELSEWHERE.take()
}

/// Whoever has the functions that a program calls outside.
pub trait Outside: Send + Sync + fmt::Debug {
    /// Finds a function, whose declaration says that it gives elements of `dtype`.
    ///
    /// # Errors
    /// That it is not there, as a failure of the run that says what to do.
    fn function(&self, which: &Foreign, dtype: DType) -> Result<Arc<dyn ForeignFunction>, Failure>;

    /// Makes a source of records.
    ///
    /// # Errors
    /// That it is not there, as a failure of the run that says what to do.
    fn source(
        &self,
        which: &ForeignSource,
        call: &SourceCall<'_>,
    ) -> Result<Arc<dyn Source>, Failure> {
        let _ = call;
        Err(Failure::Program(format!("there is no source `{}` outside of the program", which.name)))
    }

    /// Processes that they are called in, as many calls at a time; 0: the one that runs, one call at a
    /// time.
    fn processes(&self) -> usize {
        0
    }

    /// Waits within `during` for what others have to do, who may need what it has taken: without that.
    fn apart(&self, wait: &mut (dyn FnMut() + Send)) {
        wait();
    }

    /// Does `work`, in which functions are called one after the other: what they need alone, such as
    /// Python's lock, is taken once for all of them.
    fn during(&self, work: &mut dyn FnMut());
}

/// A function outside.
pub trait ForeignFunction: Send + Sync {
    /// Calls it on the values of one record, and hands what it gives to `take`, which may refuse it.
    /// `seed` is the number that one which draws is to draw from.
    ///
    /// # Errors
    /// What went wrong in it, as a fault of the record.
    fn call(
        &self,
        seed: Option<u64>,
        args: &[Tensor<'_>],
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault>;
}
