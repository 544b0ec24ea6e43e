//! Memory for columns: aligned, recycled, counted.
//!
//! A buffer is owned by whoever fills it, then shared through an `Arc`; when the last view of
//! it goes, it returns to the pool, from whatever thread. The pool keeps at most
//! [`POOL_BYTES_MAX`] idle bytes and a few large buffers, and none that nobody needs for long. Columns are
//! 64-byte aligned with 64 spare bytes (`semantics.md`, 3), buffers from 2 MiB on aligned for huge pages, and
//! their pages taken when they are touched first: what is never written takes no memory.

mod recycled;
mod scratch;
mod working;

pub use recycled::Recycled;
pub use scratch::Scratch;
pub use working::Working;

use crate::{
    foreign,
    memory::{self, Relief},
};
use std::{
    alloc::{self, Layout},
    collections::{BTreeMap, VecDeque},
    fmt,
    ptr::NonNull,
    slice,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// Bytes behind the end of every buffer that may be read, and written, without harm.
pub const SPARE: usize = 64;
/// Idle bytes that a pool keeps of any sizes,
const POOL_BYTES_MAX: usize = 256 << 20;
/// and, beyond that, idle buffers of so many bytes, large batches: to take their pages anew costs more than to
/// fill them,
const LARGE: usize = 64 << 20;
/// so many of each size.
const LARGE_LEN_MAX: usize = 2;
/// Idle buffers that a pool keeps.
const POOL_LEN_MAX: usize = 256;
/// Buffers that are taken while another lies idle, before that one goes: more than are taken from
/// one batch of a usual size to the next, and some seconds of a run.
const TAKES_IDLE_MAX: u64 = 1 << 14;
/// The share of a run's memory that tasks leave which can be put off.
pub(crate) const RESERVED: usize = 8;
/// From one attempt to take memory to the next, while others may still give some back.
const WAIT: Duration = Duration::from_millis(1);
/// From here on memory is mapped by itself; a huge page has as many bytes.
const HUGE: usize = 2 << 20;

/// A piece of memory, aligned, with [`SPARE`] bytes behind its end.
pub struct Buffer {
    data: NonNull<u8>,
    capacity: usize,
    home: Option<Arc<Idle>>,
}

// SAFETY: a buffer owns its memory.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Room for `bytes` that belongs to no pool.
    pub(crate) fn of(bytes: usize) -> Self {
        Self::new(bytes, None)
    }

    /// `home` has counted its bytes already.
    fn new(capacity: usize, home: Option<Arc<Idle>>) -> Self {
        match layout_of(capacity).and_then(zeroed) {
            Some(data) => Self { data, capacity, home },
            None => {
                home.iter().for_each(|it| it.untake(capacity));
                memory::exhausted(capacity)
            }
        }
    }

    /// Bytes that it holds, without the spare ones.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: it was allocated and initialised.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.capacity) }
    }

    /// All of it, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: it was allocated and initialised, and nobody else has it.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.capacity) }
    }

    /// Where it begins. Writers that share a buffer keep to rows of their own.
    #[inline]
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.data
    }
}

/// None where no address space holds as much.
fn layout_of(capacity: usize) -> Option<Layout> {
    let align = if capacity >= HUGE { HUGE } else { 256 };
    Layout::from_size_align(capacity.checked_add(SPARE)?, align).ok()
}

/// Memory every byte of which is initialised.
fn zeroed(layout: Layout) -> Option<NonNull<u8>> {
    #[cfg(all(target_os = "linux", not(miri)))]
    if layout.align() == HUGE {
        return crate::os::map_aligned(layout.size(), HUGE);
    }
    // SAFETY: the layout's size is not 0.
    NonNull::new(unsafe { alloc::alloc_zeroed(layout) })
}

/// Gives memory back.
///
/// # Safety
/// `zeroed` gave it for this layout, and nobody uses it any more.
unsafe fn give_back(data: NonNull<u8>, layout: Layout) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if layout.align() == HUGE {
        // SAFETY: `zeroed` had it mapped for this layout, and nobody uses it, says the caller.
        return unsafe { crate::os::unmap(data, layout.size()) };
    }
    // SAFETY: `zeroed` had it allocated for this layout, and nobody uses it, says the caller.
    unsafe { alloc::dealloc(data.as_ptr(), layout) };
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            memory::task_gave(self.capacity);
            if home.keep(self) {
                return;
            }
            home.taken.fetch_sub(self.capacity, Relaxed);
        }
        let layout = layout_of(self.capacity).expect("it was allocated with this layout");
        // SAFETY: it was allocated with this layout, and goes once.
        unsafe { give_back(self.data, layout) };
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.capacity)
    }
}

/// Gives out buffers, and takes them back.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    idle: Arc<Idle>,
}

struct Idle {
    kept: Mutex<Kept>,
    /// Bytes that may be kept.
    most: AtomicUsize,
    /// Bytes of all buffers, idle ones too, beyond which nothing is kept; nor may a task have more
    /// where there is a `relief`.
    limit: AtomicUsize,
    /// Bytes of all buffers, idle ones too, and of [`Working`] memory. It changes where the system gives
    /// memory or gets it back, not where a buffer is used again.
    taken: AtomicUsize,
    /// The most that these ever were.
    peak: AtomicUsize,
    /// Bytes of the idle ones.
    idle: AtomicUsize,
    /// Tasks of each class that wait until others have given memory back.
    waiting: [AtomicUsize; memory::CLASSES],
    /// Those that have waited, and got it.
    resumed: AtomicUsize,
    /// Tasks that wait for what another one has.
    elsewhere: AtomicUsize,
    /// Who holds the run to its limit.
    relief: OnceLock<Box<dyn Relief>>,
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (taken, idle) = (self.taken.load(Relaxed), self.idle.load(Relaxed));
        write!(f, "Idle({idle} of {taken} bytes)")
    }
}

impl Default for Idle {
    fn default() -> Self {
        Self::new(POOL_BYTES_MAX, usize::MAX)
    }
}

/// Idle buffers.
///
/// Those that came back last are taken first, so that of each size the ones that are never needed
/// at the same time lie still, grow old, and go. A run whose sizes vary would else keep, of every
/// size that ever came, as many as were ever needed at once.
#[derive(Debug, Default)]
struct Kept {
    /// Buffers without a home, by their capacity, with the number of takes before they came: the
    /// oldest in front. There are as many capacities as size classes.
    all: BTreeMap<usize, VecDeque<(Buffer, u64)>>,
    len: usize,
    bytes: usize,
    /// Buffers that have been taken, new ones too.
    takes: u64,
    /// None came before so many takes.
    oldest: u64,
}

impl Pool {
    /// A pool of a run that may take `memory` bytes: a quarter of them may lie idle.
    pub fn within(memory: u64) -> Self {
        let most = usize::try_from(memory / 4).unwrap_or(usize::MAX);
        let limit = usize::try_from(memory).unwrap_or(usize::MAX);
        Self { idle: Arc::new(Idle::new(most, limit)) }
    }

    /// A buffer of at least `bytes`; what it holds is not defined.
    pub fn buffer(&self, bytes: usize) -> Buffer {
        let capacity = size_class(bytes);
        let mut kept = self.idle.kept();
        let (found, old) = (kept.take(capacity), kept.old());
        drop(kept);
        // To give memory back takes time: not while others wait.
        self.idle.give_back(old);
        let home = Some(self.idle.clone());
        match found {
            Some(mut buffer) => {
                self.idle.idle.fetch_sub(buffer.capacity, Relaxed);
                memory::task_took(buffer.capacity);
                buffer.home = home;
                buffer
            }
            None => {
                self.idle.take(capacity);
                Buffer::new(capacity, home)
            }
        }
    }

    /// Lets two buffers of so many bytes lie idle, within three quarters of the limit: a consumer has one batch while the
    /// next one is written.
    pub(crate) fn keep_idle(&self, bytes: usize) {
        let most = bytes.saturating_mul(2).min(self.limit() / 4 * 3);
        self.idle.most.fetch_max(most, Relaxed);
    }

    /// Holds tasks to the limit, with the help of `relief`; to be said once.
    pub(crate) fn hold(&self, relief: Box<dyn Relief>) {
        let _ = self.idle.relief.set(relief);
    }

    /// Bytes that all buffers may have.
    pub(crate) fn limit(&self) -> usize {
        self.idle.limit.load(Relaxed)
    }

    /// Bytes that the whole process may hold, where that is what is bounded.
    pub(crate) fn process(&self) -> Option<u64> {
        self.idle.relief.get().and_then(|it| it.process())
    }

    /// Sets how many bytes all buffers may have.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.idle.limit.store(bytes, Relaxed);
    }

    /// Tasks of a class that wait until others have given memory back.
    pub(crate) fn waiting(&self, class: usize) -> usize {
        self.idle.waiting[class].load(Relaxed)
    }

    /// Tasks that have waited, and got what they needed.
    pub(crate) fn resumed(&self) -> usize {
        self.idle.resumed.load(Relaxed)
    }

    /// Tasks that wait for what another one has.
    pub(crate) fn elsewhere(&self) -> usize {
        self.idle.elsewhere.load(Relaxed)
    }

    /// A task waits for what another one has, until what is given is dropped.
    pub(crate) fn waits_elsewhere(&self) -> Elsewhere {
        self.idle.elsewhere.fetch_add(1, Relaxed);
        Elsewhere(self.idle.clone())
    }

    /// Counts so many bytes of other memory as the run's.
    pub(crate) fn working(&self, bytes: usize) -> Working {
        self.idle.take(bytes);
        Working { bytes, home: Some(self.idle.clone()) }
    }

    /// Bytes of the buffers that somebody uses.
    pub(crate) fn used(&self) -> usize {
        self.idle.taken.load(Relaxed).saturating_sub(self.idle.idle.load(Relaxed))
    }

    /// Bytes of all buffers, idle ones too.
    pub(crate) fn taken(&self) -> usize {
        self.idle.taken.load(Relaxed)
    }

    /// The most that these ever were.
    pub(crate) fn peak(&self) -> usize {
        self.idle.peak.load(Relaxed)
    }
}

/// A task that waits for what another one has, and so is not at work.
pub(crate) struct Elsewhere(Arc<Idle>);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.0.elsewhere.fetch_sub(1, Relaxed);
        // Who was alone is no longer.
        self.0.resumed.fetch_add(1, Relaxed);
    }
}

impl Idle {
    fn new(most: usize, limit: usize) -> Self {
        let (taken, peak, idle, waiting, resumed, elsewhere) = Default::default();
        let (kept, relief) = (Mutex::default(), OnceLock::new());
        let [most, limit] = [most, limit].map(AtomicUsize::new);
        Self { kept, most, limit, taken, peak, idle, waiting, resumed, elsewhere, relief }
    }

    /// Counts `more` bytes. Idle buffers go where there would be too much; where that is not enough the
    /// task waits, or ends.
    fn take(&self, more: usize) {
        if !self.try_take(more) && !self.take_of_idle(more) {
            match self.relief.get().filter(|_| memory::is_in_task()) {
                Some(relief) => self.take_with(&**relief, more),
                None => drop(self.taken.fetch_add(more, Relaxed)),
            }
        }
        self.peak.fetch_max(self.taken.load(Relaxed), Relaxed);
        memory::task_took(more);
    }

    /// Counts so many bytes where there is room for them.
    fn try_take(&self, more: usize) -> bool {
        let limit = self.limit.load(Relaxed);
        // What can be done again leaves some for what cannot.
        let limit = if memory::task_is_done_again() { limit - limit / RESERVED } else { limit };
        let before = self.taken.fetch_add(more, Relaxed);
        let fits = before.saturating_add(more) <= limit;
        if !fits {
            self.taken.fetch_sub(more, Relaxed);
        }
        fits
    }

    /// The same, after all idle buffers have gone back to the system.
    fn take_of_idle(&self, more: usize) -> bool {
        if self.idle.load(Relaxed) > 0 {
            let mut kept = self.kept();
            let all = std::mem::take(&mut kept.all);
            (kept.len, kept.bytes) = (0, 0);
            drop(kept);
            self.give_back(all.into_values().flatten().map(|it| it.0).collect());
        }
        self.try_take(more)
    }

    /// The same, after a closer look, and after others have given something back.
    fn take_with(&self, relief: &dyn Relief, more: usize) {
        relief.look();
        if self.take_of_idle(more) {
            return;
        }
        if memory::task_waits() {
            let waiting = &self.waiting[memory::class()];
            waiting.fetch_add(1, Relaxed);
            let (mut fits, begin) = (false, Instant::now());
            foreign::apart(&mut || {
                while !fits && relief.may_come() {
                    thread::sleep(WAIT);
                    fits = self.take_of_idle(more);
                }
            });
            // The last of the others may have given it back since.
            let fits = fits || self.take_of_idle(more);
            self.resumed.fetch_add(usize::from(fits), Relaxed);
            waiting.fetch_sub(1, Relaxed);
            memory::waited(begin.elapsed());
            if fits {
                return;
            }
        }
        let used = self.taken.load(Relaxed).saturating_sub(self.idle.load(Relaxed));
        memory::beyond(more, used);
    }

    /// Counts so many bytes no more.
    fn untake(&self, bytes: usize) {
        memory::task_gave(bytes);
        self.taken.fetch_sub(bytes, Relaxed);
    }

    /// Gives buffers back that lay idle.
    fn give_back(&self, buffers: Vec<Buffer>) {
        let bytes: usize = buffers.iter().map(Buffer::capacity).sum();
        self.idle.fetch_sub(bytes, Relaxed);
        self.taken.fetch_sub(bytes, Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the memory of `buffer`, unless there is enough.
    fn keep(&self, buffer: &Buffer) -> bool {
        let mut kept = self.kept();
        let most = self.most.load(Relaxed);
        if buffer.capacity > most {
            return false;
        }
        // What has lain for longest goes first: what comes now was of use just now.
        let mut gone = Vec::new();
        while kept.bytes + buffer.capacity > most {
            let Some(oldest) = kept.take_oldest() else { break };
            gone.push(oldest);
        }
        let bytes = kept.bytes + buffer.capacity;
        let n_alike = || kept.all.get(&buffer.capacity).map_or(0, VecDeque::len);
        let is_due = || buffer.capacity >= LARGE && n_alike() < LARGE_LEN_MAX;
        let fits = bytes <= POOL_BYTES_MAX || is_due();
        let stays = kept.len < POOL_LEN_MAX && bytes <= most && fits;
        if stays {
            (kept.bytes, kept.len) = (bytes, kept.len + 1);
            self.idle.fetch_add(buffer.capacity, Relaxed);
            let Buffer { data, capacity, .. } = *buffer;
            let since = kept.takes;
            let alike = kept.all.entry(capacity).or_default();
            alike.push_back((Buffer { data, capacity, home: None }, since));
        }
        drop(kept);
        if !gone.is_empty() {
            self.give_back(gone);
        }
        stays
    }
}

impl Kept {
    /// The buffer of this capacity that came back last; or else one that is larger, up to twice: the
    /// smallest such one. Where no two buffers are alike, each size would else lie idle beside others.
    fn take(&mut self, capacity: usize) -> Option<Buffer> {
        self.takes += 1;
        let mut fits = self.all.range_mut(capacity..=capacity.saturating_mul(2));
        let (buffer, _) = fits.find_map(|(_, alike)| alike.pop_back())?;
        self.bytes -= buffer.capacity;
        self.len -= 1;
        Some(buffer)
    }

    /// The buffer that has lain idle for longest.
    fn take_oldest(&mut self) -> Option<Buffer> {
        let since = |it: &VecDeque<(Buffer, u64)>| it.front().map(|it| it.1);
        let alike = self.all.values_mut().filter(|it| !it.is_empty());
        let (buffer, _) = alike.min_by_key(|it| since(it))?.pop_front()?;
        self.bytes -= buffer.capacity;
        self.len -= 1;
        Some(buffer)
    }

    /// The buffers that have lain idle for too long.
    fn old(&mut self) -> Vec<Buffer> {
        let mut old = Vec::new();
        if self.takes - self.oldest < TAKES_IDLE_MAX {
            return old;
        }
        let takes = self.takes;
        self.oldest = takes;
        for alike in self.all.values_mut() {
            let is_old = |it: &mut (Buffer, u64)| takes - it.1 >= TAKES_IDLE_MAX;
            while let Some((buffer, _)) = alike.pop_front_if(is_old) {
                old.push(buffer);
            }
            self.oldest = alike.front().map_or(self.oldest, |it| self.oldest.min(it.1));
        }
        self.bytes -= old.iter().map(Buffer::capacity).sum::<usize>();
        self.len -= old.len();
        old
    }
}

/// Sizes that buffers come in: eight steps to each doubling, so that at most an eighth is wasted.
///
/// What is beyond any memory stays what it is: nobody gets it.
fn size_class(bytes: usize) -> usize {
    let bytes = bytes.max(256);
    let Some(power) = bytes.checked_next_power_of_two() else { return bytes };
    let step = (power / 16).max(64);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_return() {
        let pool = Pool::default();
        let first = pool.buffer(5000);
        let place = first.as_ptr();
        assert_eq!(place.as_ptr() as usize % 256, 0);
        drop(first);
        assert_eq!(pool.buffer(5000).as_ptr(), place);
    }

    #[test]
    #[cfg_attr(miri, ignore = "sixteen thousand buffers take minutes there")]
    fn what_nobody_needs_goes() {
        let pool = Pool::default();
        let burst: Vec<_> = (0..20).map(|_| pool.buffer(1 << 20)).collect();
        drop(burst);
        assert_eq!(pool.idle.kept().bytes, 20 << 20);
        let kept = pool.buffer(1 << 20).as_ptr();
        for take in 0..TAKES_IDLE_MAX + 20 {
            pool.buffer(5000);
            // One of them is needed now and then, and stays.
            if take % 5000 == 0 {
                assert_eq!(pool.buffer(1 << 20).as_ptr(), kept);
            }
        }
        assert_eq!(pool.idle.kept().bytes, (1 << 20) + size_class(5000));
    }

    #[test]
    #[cfg_attr(miri, ignore = "its pages are all taken there")]
    fn large_batches_lie_in_the_same_memory_again() {
        let pool = Pool::within(4 << 30);
        // Their pages are not touched, so they take none.
        let three = || [0; 3].map(|_| pool.buffer(200 << 20));
        drop(three());
        assert_eq!(pool.idle.kept().len, 2);
        drop([0; 9].map(|_| pool.buffer(60 << 20)));
        assert_eq!(pool.idle.kept().len, 2, "others only as far as there is room");
        let little = Pool::within(1 << 30);
        drop([0; 2].map(|_| little.buffer(200 << 20)));
        assert_eq!(little.idle.kept().len, 1, "a quarter of the memory at the most");
    }

    #[test]
    fn large_buffers_begin_where_huge_pages_do() {
        assert_eq!(Pool::default().buffer(3 << 20).as_ptr().as_ptr() as usize % HUGE, 0);
    }

    #[test]
    fn what_has_lain_for_longest_goes_where_there_is_no_room() {
        // A quarter of it may lie idle.
        let pool = Pool::within(4 << 20);
        let idle = || pool.idle.idle.load(Relaxed) >> 10;
        drop([256 << 10; 3].map(|it| pool.buffer(it)));
        assert_eq!(idle(), 768);
        drop(pool.buffer(640 << 10));
        assert_eq!((idle(), pool.taken() >> 10), (896, 896));
        // It is there again, and too large a one is not.
        let again = pool.buffer(640 << 10);
        drop(pool.buffer(2 << 20));
        assert_eq!((idle(), pool.taken() >> 10), (256, 896));
        pool.keep_idle(1 << 20);
        drop([again, pool.buffer(1 << 20)]);
        assert_eq!(idle(), 1920);
    }
}
