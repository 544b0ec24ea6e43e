//! A picture somewhere in memory whose pixels lie side by side within each row.

use runtime::{Element, Tensor};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::{marker::PhantomData, slice};

/// Bytes that come from memory together.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// A picture `[height, width, channels]`; rows may lie apart, or upside down.
#[derive(Clone, Copy)]
pub(crate) struct Picture<'a, T> {
    first: *const u8,
    stride: isize,
    /// Rows.
    pub(crate) height: usize,
    /// Pixels of a row.
    pub(crate) width: usize,
    /// Values of a pixel.
    pub(crate) channels: usize,
    life: PhantomData<&'a [T]>,
}

impl<'a, T: Element> Picture<'a, T> {
    /// The picture that `tensor` is, where its pixels lie side by side.
    pub(crate) fn of(tensor: &Tensor<'a>) -> Option<Self> {
        (tensor.dtype() == T::DTYPE).then(|| Self::of_parts(tensor, 1)).flatten()
    }

    /// The same, each element of which is `parts` values.
    fn of_parts(tensor: &Tensor<'a>, parts: usize) -> Option<Self> {
        let (&[height, width, channels], &[stride, pixel, channel]) =
            (tensor.shape(), tensor.strides())
        else {
            return None;
        };
        let size = tensor.dtype().size() as isize;
        let side_by_side =
            (channels <= 1 || channel == size) && (width <= 1 || pixel == channels as isize * size);
        let (first, channels) = (tensor.as_ptr(), channels * parts);
        let picture = Self { first, stride, height, width, channels, life: PhantomData };
        (side_by_side || tensor.elements() == 0).then_some(picture)
    }

    /// Values of a row.
    pub(crate) fn row_len(&self) -> usize {
        self.width * self.channels
    }

    /// The values of row `y`.
    #[inline(always)]
    pub(crate) fn row(&self, y: usize) -> &'a [T] {
        assert!(y < self.height, "a row lies within its picture");
        // SAFETY: the tensor that this was made of holds these values for 'a, aligned.
        unsafe {
            let row = self.first.offset(self.stride * y as isize);
            slice::from_raw_parts(row.cast(), self.row_len())
        }
    }

    /// Asks memory for row `y`, if there is one, so that it is there when it is read: a picture that was
    /// kept lies beyond all caches.
    #[inline(always)]
    pub(crate) fn ask_for(&self, y: usize) {
        #[cfg(target_arch = "x86_64")]
        if y < self.height {
            for line in self.row(y).chunks(LINE / size_of::<T>()) {
                // SAFETY: nothing is read or written.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = y;
    }

    /// The memory in which all rows lie, where in it the first one begins, and how far after it the next one does.
    pub(crate) fn memory(&self) -> (&'a [T], usize, isize) {
        let size = size_of::<T>() as isize;
        let (last, stride) = (self.height.saturating_sub(1) as isize, self.stride / size);
        debug_assert!(self.stride % size == 0, "rows lie whole values apart");
        let (before, len) = match self.height {
            0 => (0, 0),
            _ => ((-last * stride).max(0), last * stride.abs() + self.row_len() as isize),
        };
        // SAFETY: the tensor that this was made of holds its rows, and what is between them, in one piece of memory
        // for 'a, aligned; it has all been written.
        let values =
            unsafe { slice::from_raw_parts(self.first.cast::<T>().offset(-before), len as usize) };
        (values, before as usize, stride)
    }

    /// All rows, from the top.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [T]> + '_ {
        (0..self.height).map(|y| self.row(y))
    }
}

/// The picture that `tensor` is; one whose pixels lie apart is copied into `room`.
pub(crate) fn packed<'a, T: Element + Default>(
    tensor: &Tensor<'a>,
    room: &'a mut Vec<T>,
) -> Picture<'a, T> {
    Picture::of(tensor).unwrap_or_else(|| {
        room.resize(tensor.elements(), T::default());
        // SAFETY: the values are plain bytes.
        let bytes = unsafe {
            slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), size_of_val(&room[..]))
        };
        tensor.copy_to(bytes);
        let copy = Tensor::new(tensor.shape(), &room[..]);
        Picture::of(&copy).expect("a copy has its pixels side by side")
    })
}

/// The same for a picture of any dtype, its pixels as bytes.
pub(crate) fn packed_bytes<'a>(tensor: &Tensor<'a>, room: &'a mut Vec<u8>) -> Picture<'a, u8> {
    let size = tensor.dtype().size();
    Picture::of_parts(tensor, size).unwrap_or_else(|| {
        room.resize(tensor.bytes(), 0);
        tensor.copy_to(room);
        let [height, width, channels] = [0, 1, 2].map(|it| tensor.shape()[it]);
        let copy = Tensor::new(&[height, width, channels * size], &room[..]);
        Picture::of(&copy).expect("a copy has its pixels side by side")
    })
}
