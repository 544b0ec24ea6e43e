//! Kernels that tell how many records are computed at once.

use crate::{Fault, Kernel, tokens};
use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The first record for which `meet_late` waits.
pub(super) const LATE: i64 = 1 << 17;

/// Waits until so many records are being computed at once, of those from `first` on.
pub(super) fn meet(first: i64) -> Kernel {
    let arrived = (Mutex::new(0), Condvar::new());
    Kernel::compute(move |args, out| {
        if args.int(0) < first {
            return out.scalar::<i64>(args.int(0));
        }
        *arrived.0.lock().unwrap() += 1;
        arrived.1.notify_all();
        let all = arrived.0.lock().unwrap();
        let waited = Duration::from_secs(20);
        let few = |it: &mut i64| *it < args.int(1);
        match arrived.1.wait_timeout_while(all, waited, few).unwrap().1.timed_out() {
            true => Err(Fault::new("alone", "the others did not come".to_owned())),
            false => out.scalar::<i64>(args.int(0)),
        }
    })
}

/// Record 2 waits until that of this number is being computed.
pub(super) fn follow() -> Kernel {
    let begun = (Mutex::new(false), Condvar::new());
    Kernel::compute(move |args, out| {
        if args.int(0) == args.int(1) {
            *begun.0.lock().unwrap() = true;
            begun.1.notify_all();
        }
        let waited = Duration::from_secs(20);
        let is_missing = |it: &mut bool| args.int(0) == 2 && !*it;
        let all = begun.0.lock().unwrap();
        match begun.1.wait_timeout_while(all, waited, is_missing).unwrap().1.timed_out() {
            true => Err(Fault::new("alone", "the other did not come".to_owned())),
            false => out.scalar::<i64>(args.int(0)),
        }
    })
}

/// Computes for so many microseconds; gives how many records are being computed when it begins.
pub(super) fn crowd() -> Kernel {
    let inside = AtomicUsize::new(0);
    Kernel::compute(move |args, out| {
        let crowd = inside.fetch_add(1, Ordering::Relaxed) + 1;
        tokens::spend(Duration::from_micros(args.int(1) as u64));
        inside.fetch_sub(1, Ordering::Relaxed);
        out.scalar::<i64>(crowd as i64)
    })
}
