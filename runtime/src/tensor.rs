//! A tensor somewhere in memory, as kernels see it: dtype, extents, strides.
//!
//! Text and bytes are tensors of dtype `str` or `bytes` with one axis, their length in bytes.

use plan::DType;
use std::{borrow::Cow, fmt, marker::PhantomData, ops::Deref, ptr::NonNull, slice};

/// The most axes that a tensor can have.
pub const MAX_RANK: usize = 6;

/// Extents, outermost first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    rank: u8,
    extents: [usize; MAX_RANK],
}

impl Shape {
    /// The extents `extents`, at most [`MAX_RANK`] of them.
    pub fn new(extents: &[usize]) -> Self {
        assert!(extents.len() <= MAX_RANK, "the checker admits at most {MAX_RANK} axes");
        let mut all = [0; MAX_RANK];
        all[..extents.len()].copy_from_slice(extents);
        Self { rank: extents.len() as u8, extents: all }
    }

    /// How many elements there are.
    pub fn elements(&self) -> usize {
        self.iter().product()
    }

    /// Bytes of elements of `size` bytes; none where an address could not tell them apart. Strides are made of
    /// the other extents also where one is 0.
    pub fn bytes(&self, size: usize) -> Option<usize> {
        let mut others = self.iter().map(|it| *it.max(&1));
        let bytes = others.try_fold(size, usize::checked_mul)?;
        isize::try_from(bytes).ok()?;
        Some(if self.contains(&0) { 0 } else { bytes })
    }

    /// Sets the extents of `axes`.
    #[cfg(feature = "jit")]
    pub(crate) fn set(&mut self, axes: std::ops::Range<usize>, extent: usize) {
        let rank = self.len();
        self.extents[..rank][axes].fill(extent);
    }

    /// Strides of elements of `size` bytes without gaps, in C order.
    pub fn strides(&self, size: usize) -> [isize; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut stride = size as isize;
        for axis in (0..self.len()).rev() {
            strides[axis] = stride;
            stride *= self.extents[axis] as isize;
        }
        strides
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.extents[..usize::from(self.rank)]
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// A Rust type that elements of tensors have.
pub trait Element: Copy + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty: $dtype:ident),+) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
    )+};
}
elements! {
    bool: Bool, u8: U8, u16: U16, u32: U32, u64: U64, i8: I8, i16: I16, i32: I32, i64: I64,
    half::f16: F16, half::bf16: BF16, f32: F32, f64: F64
}

/// A tensor that lies somewhere for `'a`; cheap to copy.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    dtype: DType,
    shape: Shape,
    strides: [isize; MAX_RANK],
    data: NonNull<u8>,
    life: PhantomData<&'a [u8]>,
}

// SAFETY: a tensor is a shared reference to plain bytes.
unsafe impl Send for Tensor<'_> {}
// SAFETY: a tensor only reads its bytes, which nobody writes while it lives.
unsafe impl Sync for Tensor<'_> {}

impl<'a> Tensor<'a> {
    /// The elements `data` in C order.
    pub fn new<T: Element>(shape: &[usize], data: &'a [T]) -> Self {
        let shape = Shape::new(shape);
        assert_eq!(shape.elements(), data.len(), "extents {shape:?} fit the elements");
        // SAFETY: `data` lives for 'a and holds that many elements.
        unsafe { Self::from_raw(T::DTYPE, shape, NonNull::from(data).cast()) }
    }

    /// Text or bytes.
    pub fn text(dtype: DType, bytes: &'a [u8]) -> Self {
        debug_assert!(dtype.is_text());
        // SAFETY: `bytes` lives for 'a.
        unsafe { Self::from_raw(dtype, Shape::new(&[bytes.len()]), NonNull::from(bytes).cast()) }
    }

    /// Nothing, in place of an argument that is no value.
    pub fn nothing() -> Self {
        Self::text(DType::Bytes, &[])
    }

    /// A tensor in C order at `data`.
    ///
    /// # Safety
    /// `data` is aligned for `dtype` and holds the elements of `shape` for `'a`, initialised.
    pub unsafe fn from_raw(dtype: DType, shape: Shape, data: NonNull<u8>) -> Self {
        let strides = shape.strides(dtype.size());
        Self { dtype, shape, strides, data, life: PhantomData }
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes from one element to the next, for each axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.shape.len()]
    }

    /// How many elements there are.
    pub fn elements(&self) -> usize {
        self.shape.elements()
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> usize {
        self.elements() * self.dtype.size()
    }

    /// The first element's place.
    pub fn as_ptr(&self) -> *const u8 {
        self.data.as_ptr()
    }

    /// Whether the elements lie in C order without gaps.
    pub fn is_contiguous(&self) -> bool {
        match *self.shape {
            [] => return true,
            // Text, for the most part.
            [n] => return n <= 1 || self.strides[0] == self.dtype.size() as isize,
            _ => {}
        }
        let packed = self.shape.strides(self.dtype.size());
        (0..self.shape.len()).all(|it| self.shape[it] <= 1 || packed[it] == self.strides[it])
            || self.elements() == 0
    }

    /// The elements in C order, where they lie so and are of this type.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        if T::DTYPE != self.dtype || !self.is_contiguous() {
            return None;
        }
        // SAFETY: that many elements of that type lie there for 'a.
        Some(unsafe { slice::from_raw_parts(self.data.as_ptr().cast(), self.elements()) })
    }

    /// The bytes of all elements in C order, where they lie so; what text and bytes are.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        // SAFETY: that many bytes lie there for 'a.
        self.is_contiguous()
            .then(|| unsafe { slice::from_raw_parts(self.data.as_ptr(), self.bytes()) })
    }

    /// The bytes of all elements in C order: where they lie so, or copied.
    pub fn packed(&self) -> Cow<'a, [u8]> {
        match self.as_bytes() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let mut all = vec![0; self.bytes()];
                self.copy_to(&mut all);
                Cow::Owned(all)
            }
        }
    }

    /// The text, or bytes, that it is.
    pub fn as_text(&self) -> &'a [u8] {
        self.as_bytes().unwrap_or_default()
    }

    /// The text; kernels are given valid UTF-8 only.
    pub fn as_str(&self) -> &'a str {
        std::str::from_utf8(self.as_text()).unwrap_or_default()
    }

    /// The first element; of a scalar, the only one.
    pub fn first<T: Element>(&self) -> T {
        assert!(self.dtype == T::DTYPE && self.elements() > 0, "the checker saw to the type");
        // SAFETY: there is an element of that type.
        unsafe { self.data.as_ptr().cast::<T>().read_unaligned() }
    }

    /// The first element, whatever number it is.
    pub fn number(&self) -> f64 {
        match self.dtype {
            DType::Bool => f64::from(u8::from(self.first::<bool>())),
            DType::F16 => f64::from(self.first::<half::f16>()),
            DType::BF16 => f64::from(self.first::<half::bf16>()),
            DType::F32 => f64::from(self.first::<f32>()),
            DType::F64 => self.first::<f64>(),
            DType::U64 => self.first::<u64>() as f64,
            _ => self.int() as f64,
        }
    }

    /// The first element, whatever whole number it is; floats are rounded towards zero.
    pub fn int(&self) -> i64 {
        match self.dtype {
            DType::Bool => i64::from(self.first::<bool>()),
            DType::U8 => i64::from(self.first::<u8>()),
            DType::U16 => i64::from(self.first::<u16>()),
            DType::U32 => i64::from(self.first::<u32>()),
            DType::U64 => self.first::<u64>() as i64,
            DType::I8 => i64::from(self.first::<i8>()),
            DType::I16 => i64::from(self.first::<i16>()),
            DType::I32 => i64::from(self.first::<i32>()),
            DType::I64 => self.first::<i64>(),
            _ => self.number() as i64,
        }
    }

    /// The axes in another order: axis `i` of the result is axis `order[i]` of this.
    #[must_use]
    pub fn permuted(mut self, order: &[usize]) -> Self {
        let (shape, strides) = (self.shape, self.strides);
        let all = order.iter().fold(0_u64, |it, axis| it | 1 << axis);
        let is_whole = order.len() == shape.len() && all == (1 << shape.len()) - 1;
        assert!(is_whole, "an order has each axis once");
        for (to, &from) in order.iter().enumerate() {
            self.shape.extents[to] = shape[from];
            self.strides[to] = strides[from];
        }
        self
    }

    /// `len` elements of `axis` from `start`; both lie within it.
    #[must_use]
    pub fn narrowed(mut self, axis: usize, start: usize, len: usize) -> Self {
        let fits = start.checked_add(len).is_some_and(|it| it <= self.shape[axis]);
        assert!(fits, "a view stays within its tensor");
        self.shape.extents[axis] = len;
        self.shift(self.strides[axis] * start as isize)
    }

    /// The elements of `axis` the other way round.
    #[must_use]
    pub fn flipped(mut self, axis: usize) -> Self {
        let last = self.shape[axis].saturating_sub(1) as isize;
        let stride = self.strides[axis];
        self.strides[axis] = -stride;
        self.shift(stride * last)
    }

    /// Element `i` of the first axis, which goes.
    #[must_use]
    pub fn element(mut self, i: usize) -> Self {
        assert!(i < self.shape[0], "an index stays within its tensor");
        let stride = self.strides[0];
        self.shape.extents.copy_within(1.., 0);
        self.strides.copy_within(1.., 0);
        self.shape.rank -= 1;
        self.shift(stride * i as isize)
    }

    /// One axis more, of extent 1, which becomes axis `axis`; there is room for it.
    #[must_use]
    pub fn expanded(mut self, axis: usize) -> Self {
        let rank = self.shape.len();
        assert!(axis <= rank && rank < MAX_RANK, "the checker admits at most {MAX_RANK} axes");
        self.shape.extents.copy_within(axis..rank, axis + 1);
        self.strides.copy_within(axis..rank, axis + 1);
        self.shape.extents[axis] = 1;
        self.strides[axis] = self.dtype.size() as isize;
        self.shape.rank += 1;
        self
    }

    /// The same elements, in C order, in other extents of the same number; only without gaps.
    pub fn reshaped(mut self, shape: &[usize]) -> Option<Self> {
        let shape = Shape::new(shape);
        if !self.is_contiguous() || shape.elements() != self.elements() {
            return None;
        }
        self.strides = shape.strides(self.dtype.size());
        self.shape = shape;
        Some(self)
    }

    fn shift(mut self, bytes: isize) -> Self {
        // SAFETY: callers stay within the tensor's own elements.
        self.data = unsafe { self.data.offset(bytes) };
        self
    }

    /// Writes the elements in C order without gaps; `out` has room for exactly these.
    pub fn copy_to(&self, out: &mut [u8]) {
        assert_eq!(out.len(), self.bytes(), "there is room for exactly the elements");
        match (self.as_bytes(), self.dtype.size()) {
            (Some(bytes), _) => out.copy_from_slice(bytes),
            (None, 1) => self.gather::<1>(out),
            (None, 2) => self.gather::<2>(out),
            (None, 4) => self.gather::<4>(out),
            (None, _) => self.gather::<8>(out),
        }
    }

    /// Copies row by row of the last axis, elements of `SIZE` bytes.
    fn gather<const SIZE: usize>(&self, out: &mut [u8]) {
        let inner = self.shape.len() - 1;
        let outer = inner;
        let (len, stride) = (self.shape[inner], self.strides[inner]);
        let mut at = [0_usize; MAX_RANK];
        for row in out.chunks_exact_mut(len * SIZE) {
            let start: isize = (0..outer).map(|it| at[it] as isize * self.strides[it]).sum();
            // SAFETY: `at` counts through the tensor's own extents.
            let mut from = unsafe { self.data.as_ptr().offset(start) };
            for to in row.chunks_exact_mut(SIZE) {
                // SAFETY: it is an element of the tensor's; the last step may leave it, but is not read.
                unsafe { to.copy_from_slice(slice::from_raw_parts(from, SIZE)) };
                from = from.wrapping_offset(stride);
            }
            for axis in (0..outer).rev() {
                at[axis] += 1;
                if at[axis] < self.shape[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_beyond_addresses_have_no_bytes() {
        let (many, bytes) = (1 << 40, |extents: &[usize]| Shape::new(extents).bytes(4));
        assert_eq!([bytes(&[]), bytes(&[2, 3]), bytes(&[0, 3])], [Some(4), Some(24), Some(0)]);
        assert_eq!([bytes(&[many, many]), bytes(&[0, many, many]), bytes(&[1 << 61])], [None; 3]);
    }

    fn packed(tensor: Tensor<'_>) -> Vec<u8> {
        let mut out = vec![0; tensor.bytes()];
        tensor.copy_to(&mut out);
        out
    }

    #[test]
    fn views_move_elements() {
        let all: Vec<u8> = (0..12).collect();
        let image = Tensor::new(&[2, 2, 3], &all);
        assert_eq!(packed(image.permuted(&[2, 0, 1])), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
        assert_eq!(packed(image.flipped(1)), [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]);
        assert_eq!(packed(image.narrowed(1, 1, 1).narrowed(0, 1, 1)), [9, 10, 11]);
        assert_eq!(packed(image.element(1).flipped(0)), [9, 10, 11, 6, 7, 8]);
        let wider = image.permuted(&[2, 0, 1]).expanded(1);
        assert_eq!(wider.shape(), [3, 1, 2, 2]);
        assert_eq!(packed(wider), packed(image.permuted(&[2, 0, 1])));
    }

    #[test]
    fn wide_elements_move_whole() {
        let all: Vec<f32> = (0..6).map(|it| it as f32).collect();
        let out = packed(Tensor::new(&[2, 3], &all).permuted(&[1, 0]));
        let expected: Vec<u8> =
            [0_f32, 3., 1., 4., 2., 5.].iter().flat_map(|it| it.to_ne_bytes()).collect();
        assert_eq!(out, expected);
    }
}
