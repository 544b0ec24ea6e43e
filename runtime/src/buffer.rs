//! Memory for columns: aligned, recycled, counted.
//!
//! A buffer is owned by whoever fills it, then shared through an `Arc`; when the last view of
//! it goes, it returns to the pool, from whatever thread. The pool keeps at most
//! [`POOL_BYTES_MAX`] idle bytes. Columns are 64-byte aligned with 64 spare bytes
//! (`semantics.md`, 3), large buffers page-aligned and, from 2 MiB, on huge pages.

use crate::{Fault, Shape, kernel::VALUE_BYTES_MAX};
use plan::DType;
use std::{
    alloc::{self, Layout},
    fmt,
    ptr::NonNull,
    slice,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Bytes behind the end of every buffer that may be read, and written, without harm.
pub const SPARE: usize = 64;
/// Idle bytes that a pool keeps.
const POOL_BYTES_MAX: usize = 256 << 20;
/// Idle buffers that a pool keeps.
const POOL_LEN_MAX: usize = 256;
/// From here on memory is worth huge pages.
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

    fn new(capacity: usize, home: Option<Arc<Idle>>) -> Self {
        let layout = layout(capacity);
        // SAFETY: the layout's size is not 0. Zeroed, so that every byte is initialised.
        let data = unsafe { alloc::alloc_zeroed(layout) };
        let data = NonNull::new(data).unwrap_or_else(|| alloc::handle_alloc_error(layout));
        if capacity >= HUGE {
            crate::os::advise_huge(data, layout.size());
        }
        Self { data, capacity, home }
    }

    /// Bytes that it holds, without the spare ones.
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
        // SAFETY: as in `bytes`, and nobody else has it.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.capacity) }
    }

    /// Where it begins. Writers that share a buffer keep to rows of their own.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.data
    }
}

fn layout(capacity: usize) -> Layout {
    let align = if capacity >= HUGE { HUGE } else { 256 };
    Layout::from_size_align(capacity + SPARE, align).expect("buffers are far smaller than memory")
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take()
            && home.keep(self)
        {
            return;
        }
        // SAFETY: it was allocated with this layout, and goes once.
        unsafe { alloc::dealloc(self.data.as_ptr(), layout(self.capacity)) };
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

#[derive(Debug)]
struct Idle {
    kept: Mutex<Vec<(NonNullSend, usize)>>,
    kept_bytes: AtomicUsize,
    /// Bytes that may be kept.
    most: usize,
}

impl Default for Idle {
    fn default() -> Self {
        Self::new(POOL_BYTES_MAX)
    }
}

#[derive(Debug)]
struct NonNullSend(NonNull<u8>);
// SAFETY: idle memory belongs to nobody else.
unsafe impl Send for NonNullSend {}

impl Pool {
    /// A pool of a run that may take `memory` bytes: a quarter of them may lie idle.
    pub fn within(memory: u64) -> Self {
        let most = usize::try_from(memory / 4).unwrap_or(usize::MAX).min(POOL_BYTES_MAX);
        Self { idle: Arc::new(Idle::new(most)) }
    }

    /// A buffer of at least `bytes`; what it holds is not defined.
    pub fn buffer(&self, bytes: usize) -> Buffer {
        let capacity = size_class(bytes);
        let mut kept = self.idle.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(_, it)| *it == capacity) {
            let (data, _) = kept.swap_remove(at);
            self.idle.kept_bytes.fetch_sub(capacity, Ordering::Relaxed);
            return Buffer { data: data.0, capacity, home: Some(self.idle.clone()) };
        }
        drop(kept);
        Buffer::new(capacity, Some(self.idle.clone()))
    }
}

impl Idle {
    fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), kept_bytes: AtomicUsize::new(0), most }
    }

    /// Keeps the memory of `buffer`, unless there is enough.
    fn keep(&self, buffer: &Buffer) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.kept_bytes.load(Ordering::Relaxed) + buffer.capacity;
        if kept.len() >= POOL_LEN_MAX || bytes > self.most {
            return false;
        }
        self.kept_bytes.store(bytes, Ordering::Relaxed);
        kept.push((NonNullSend(buffer.data), buffer.capacity));
        true
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (data, capacity) in kept.drain(..) {
            // SAFETY: it was allocated with this layout, and is in nobody's hands.
            unsafe { alloc::dealloc(data.0.as_ptr(), layout(capacity)) };
        }
    }
}

/// Sizes that buffers come in: eight steps to each doubling, so that at most an eighth is wasted.
fn size_class(bytes: usize) -> usize {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 16).max(64);
    bytes.next_multiple_of(step)
}

/// A value while it is computed: grows, and keeps its memory for the next record.
#[derive(Debug)]
pub struct Scratch {
    buffer: Buffer,
    dtype: DType,
    shape: Shape,
}

impl Scratch {
    /// An empty one.
    pub fn new() -> Self {
        Self { buffer: Buffer::new(256, None), dtype: DType::U8, shape: Shape::new(&[0]) }
    }

    /// Room for a tensor in C order; what was there is gone.
    pub fn claim(&mut self, dtype: DType, shape: Shape) -> Result<&mut [u8], Fault> {
        let bytes = shape.iter().try_fold(dtype.size(), |bytes, &it| bytes.checked_mul(it));
        let Some(bytes) = bytes.filter(|it| *it <= VALUE_BYTES_MAX) else {
            let detail = format!("a {dtype}{shape:?} is larger than {VALUE_BYTES_MAX} bytes");
            return Err(Fault::new("too-large", detail));
        };
        if bytes > self.buffer.capacity {
            self.buffer = Buffer::new(size_class(bytes), None);
        }
        (self.dtype, self.shape) = (dtype, shape);
        Ok(&mut self.buffer.bytes_mut()[..bytes])
    }

    /// What was written last.
    pub fn tensor(&self) -> crate::Tensor<'_> {
        // SAFETY: `claim` made room for it, and the memory is initialised from the start.
        unsafe { crate::Tensor::from_raw(self.dtype, self.shape, self.buffer.data) }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
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
    fn large_buffers_lie_on_huge_pages() {
        assert_eq!(Pool::default().buffer(3 << 20).as_ptr().as_ptr() as usize % HUGE, 0);
    }
}
