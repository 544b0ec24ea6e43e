//! Memory that a task does not get: from the system, or within the bound of its run.
//!
//! Buffers are asked for deep inside kernels and builders, thousands of times a second. Where there
//! is none, the task is unwound from there with a payload of its own, without the message of a
//! panic; whoever runs tasks catches it ([`or_failure`]) and makes it the failure that ends the run,
//! or does the task once more when nobody else is at work. So nothing aborts, and no caller on the way
//! has to hand on what hardly ever happens.

use crate::{Failure, Pool};
use plan::shown_bytes;
use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

/// Classes of threads that do tasks.
pub(crate) const CLASSES: usize = 2;

/// What a task is unwound with.
struct Exhausted {
    /// Bytes of the buffer that it asked for.
    bytes: usize,
    /// Bytes of all that its run uses, where it was the run's bound that was in the way.
    used: Option<usize>,
}

/// Looks after the bound of a run while tasks ask for more than is left.
pub(crate) trait Relief: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Looks anew at how much the run may have.
    fn look(&self);

    /// Whether somebody may still give memory back.
    fn may_come(&self) -> bool;

    /// Bytes that the whole process may hold, where that is what is bounded.
    fn process(&self) -> Option<u64>;
}

/// What becomes of a task that would exceed the bound of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It is given up, and done once more when nobody else is at work.
    Again,
    /// It waits for others to give memory back: it cannot be done twice.
    Waits,
    /// The run ends: nobody else is at work.
    Alone,
}

/// The task that a thread is at.
#[derive(Clone, Copy, Default)]
struct Task {
    manner: Option<Manner>,
    /// Bytes that it has taken and not given back, and the most that these were.
    now: isize,
    peak: isize,
}

thread_local! {
    static TASK: Cell<Task> = const { Cell::new(Task { manner: None, now: 0, peak: 0 }) };
    static POOL: RefCell<Option<Pool>> = const { RefCell::new(None) };
    static CLASS: Cell<usize> = const { Cell::new(0) };
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Says which run's tasks this thread does from now on, and of which class they are.
pub(crate) fn enter(pool: &Pool, class: usize) {
    POOL.set(Some(pool.clone()));
    CLASS.set(class);
}

/// The class of this thread's tasks, below [`CLASSES`].
pub(crate) fn class() -> usize {
    CLASS.get()
}

/// The calling thread has waited so long for memory.
pub(crate) fn waited(time: Duration) {
    WAITED.set(WAITED.get().saturating_add(time));
}

/// For how long it has since it was asked last.
pub(crate) fn take_waited() -> Duration {
    WAITED.take()
}

/// How many tasks of this thread's run have waited for memory, and got it.
pub(crate) fn resumed() -> usize {
    POOL.with_borrow(|it| it.as_ref().map_or(0, Pool::resumed))
}

/// Calls `f` with the pool of the run whose task this thread is at, if it is at one.
pub(crate) fn pool_of_task<R>(f: impl FnOnce(Option<&Pool>) -> R) -> R {
    POOL.with_borrow(|it| f(it.as_ref().filter(|_| is_in_task())))
}

/// Does a task; also gives the most bytes that it had beyond those before it. Panics go on.
pub(crate) fn task<T>(manner: Manner, f: impl FnOnce() -> T) -> (T, usize) {
    /// No task is left behind, however it ends.
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            TASK.set(Task::default());
        }
    }
    TASK.set(Task { manner: Some(manner), now: 0, peak: 0 });
    let over = Over;
    let done = f();
    let peak = TASK.get().peak;
    drop(over);
    (done, usize::try_from(peak).unwrap_or(0))
}

/// Takes what is not the task's own, and what the next ones of its kind need not take: it does not count as
/// what such a task takes.
pub fn uncounted<T>(f: impl FnOnce() -> T) -> T {
    /// It is as before, however it ends.
    struct Before(Task);
    impl Drop for Before {
        fn drop(&mut self) {
            TASK.set(self.0);
        }
    }
    let _before = Before(TASK.get());
    f()
}

/// Whether this thread is at a task.
pub(crate) fn is_in_task() -> bool {
    TASK.get().manner.is_some()
}

/// Whether the task of this thread is done again where there is too little memory.
pub(crate) fn task_is_done_again() -> bool {
    TASK.get().manner == Some(Manner::Again)
}

/// Whether the task of this thread waits for memory.
pub(crate) fn task_waits() -> bool {
    TASK.get().manner == Some(Manner::Waits)
}

/// The task of this thread has taken memory.
pub(crate) fn task_took(bytes: usize) {
    let Task { manner, now, peak } = TASK.get();
    let now = now.saturating_add_unsigned(bytes);
    TASK.set(Task { manner, now, peak: peak.max(now) });
}

/// The task of this thread has given memory back.
pub(crate) fn task_gave(bytes: usize) {
    // A thread that ends drops what it kept, after what it knew of its tasks.
    let _ = TASK.try_with(|it| {
        let task = it.get();
        it.set(Task { now: task.now.saturating_sub_unsigned(bytes), ..task });
    });
}

/// Ends the task: there are not so many bytes.
pub(crate) fn exhausted(bytes: usize) -> ! {
    resume_unwind(Box::new(Exhausted { bytes, used: None }))
}

/// Ends the task: its run may not have so many bytes more, of which it uses `used`.
pub(crate) fn beyond(bytes: usize, used: usize) -> ! {
    resume_unwind(Box::new(Exhausted { bytes, used: Some(used) }))
}

/// Whether a task was unwound for want of memory: whoever catches other panics lets it go on.
pub fn is_of_memory(panic: &(dyn Any + Send)) -> bool {
    panic.is::<Exhausted>()
}

/// Whether a task was unwound for want of memory within the bound of its run.
pub(crate) fn is_beyond(panic: &(dyn Any + Send)) -> bool {
    panic.downcast_ref::<Exhausted>().is_some_and(|it| it.used.is_some())
}

/// The failure that a task was unwound with, where it is one or it was for want of memory; its stage is not named.
pub(crate) fn failure_of(panic: &(dyn Any + Send)) -> Option<Failure> {
    if let Some(failure) = panic.downcast_ref::<Failure>() {
        return Some(failure.clone());
    }
    let Exhausted { bytes, used } = panic.downcast_ref()?;
    let detail = match used {
        Some(used) => detail_of(*bytes as u64, *used as u64),
        None => format!(
            "the system cannot allocate {} for a buffer: make the records or batches smaller, or \
             give the process more memory",
            shown_bytes(*bytes as u64)
        ),
    };
    Some(Failure::Memory { label: String::new(), detail })
}

/// What is said where a run's bound has no room for `bytes` bytes, beside the `used` that are in use.
fn detail_of(bytes: u64, used: u64) -> String {
    let of = |it: &Pool| (it.limit() as u64, it.process());
    let (limit, total) = POOL.with_borrow(|it| it.as_ref().map_or((0, None), of));
    // What is read ahead and waits takes up to half of what the run may have.
    let enough = 2 * used.saturating_add(bytes);
    let beside = total.map_or(0, |it| it.saturating_sub(limit));
    let enough = (enough.saturating_add(beside)).div_ceil(1_000_000);
    let given = match total {
        Some(total) => format!(
            "the limit is {} ({} for the process itself, {} in use)",
            shown_bytes(total),
            shown_bytes(beside),
            shown_bytes(used)
        ),
        None => format!("the limit is {} ({} in use)", shown_bytes(limit), shown_bytes(used)),
    };
    let how = remedy(enough, total.is_some());
    format!(
        "this step needs {} more memory, which does not fit: {given}. Raise the limit ({how}), or \
         make the value smaller before this step, for example by decoding only a part",
        shown_bytes(bytes)
    )
}

/// How the run whose task this thread is at is given so many bytes for what it holds.
pub fn memory_remedy(bytes: u64) -> String {
    let of = |it: &Pool| (it.limit() as u64, it.process());
    let (limit, total) = POOL.with_borrow(|it| it.as_ref().map_or((0, None), of));
    let beside = total.map_or(0, |it| it.saturating_sub(limit));
    remedy(bytes.saturating_add(beside).div_ceil(1_000_000), total.is_some())
}

/// How so many megabytes are given to a run: of its own process, or within another's.
pub(crate) fn remedy(megabytes: u64, is_process: bool) -> String {
    match is_process {
        true => format!("`--memory {megabytes}MB`"),
        false => format!("`--memory {megabytes}MB`; in Python `memory=\"{megabytes}MB\"`"),
    }
}

/// Does it, unless memory runs out; panics go on.
///
/// # Errors
/// Those of `f`, and [`Failure::Memory`].
pub fn or_failure<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => done,
        Err(panic) => match failure_of(&*panic) {
            Some(failure) => Err(failure),
            None => resume_unwind(panic),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ForeignFunction, Outside, Working, foreign};
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };

    /// Help comes for so many calls.
    struct Waited(AtomicUsize);

    impl Relief for Waited {
        fn look(&self) {}

        fn may_come(&self) -> bool {
            self.0.fetch_sub(1, Relaxed) > 1
        }

        fn process(&self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn tasks_are_held_to_the_bound_of_their_run() {
        let pool = Pool::within(1 << 20);
        pool.hold(Box::new(Waited(AtomicUsize::new(3))));
        enter(&pool, 0);
        let take = |manner, bytes: usize| {
            let taken = || task(manner, || drop(pool.buffer(bytes)));
            let panic = catch_unwind(AssertUnwindSafe(taken)).err()?;
            assert!(is_beyond(&*panic));
            failure_of(&*panic).map(|it| it.to_string())
        };
        assert_eq!(take(Manner::Again, 800 << 10), None);
        // The idle one makes room.
        assert_eq!(take(Manner::Again, 600 << 10), None);
        let refused = take(Manner::Waits, 2 << 20).expect("it does not fit");
        assert!(refused.contains("needs 2.1 MB more memory"), "{refused}");

        // What is no buffer counts, as long as it is there.
        let working = task(Manner::Again, || Working::of(800 << 10)).0;
        assert!(take(Manner::Alone, 900 << 10).is_some());
        drop(working);
        assert_eq!(take(Manner::Alone, 900 << 10), None);
        assert_eq!(task(Manner::Again, || drop(pool.buffer(4096))).1, 4096);
        // Who is at no task is not held to it.
        drop(pool.buffer(2 << 20));
        assert_eq!(pool.used(), 0);
    }

    /// Counts how often somebody waits apart.
    #[derive(Debug, Default)]
    struct Held(AtomicUsize);

    impl Outside for Held {
        fn function(
            &self,
            _: &plan::Foreign,
            _: plan::DType,
        ) -> Result<Arc<dyn ForeignFunction>, Failure> {
            Err(Failure::Stopped)
        }

        fn apart(&self, wait: &mut (dyn FnMut() + Send)) {
            self.0.fetch_add(1, Relaxed);
            wait();
        }

        fn during(&self, work: &mut dyn FnMut()) {
            work();
        }
    }

    #[test]
    fn who_waits_lets_go_of_what_is_outside() {
        let pool = Pool::within(1 << 20);
        pool.hold(Box::new(Waited(AtomicUsize::new(3))));
        enter(&pool, 0);
        let held = Arc::new(Held::default());
        let outside: Arc<dyn Outside> = held.clone();
        let taken = || task(Manner::Waits, || drop(pool.buffer(2 << 20)));
        let mut within = || assert!(catch_unwind(AssertUnwindSafe(taken)).is_err());
        foreign::during(&outside, &mut within);
        assert_eq!(held.0.load(Relaxed), 1);
        // It is over then.
        within();
        assert_eq!(held.0.load(Relaxed), 1);
    }
}
