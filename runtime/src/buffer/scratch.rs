//! Memory of one value.

use super::{Buffer, Pool, size_class};
use crate::{
    Fault, Shape,
    kernel::{VALUE_BYTES_MAX, too_large},
};
use plan::DType;

/// A value while it is computed: grows, and keeps its memory for the next record.
#[derive(Debug)]
pub struct Scratch {
    buffer: Buffer,
    /// Where larger buffers come from, and are counted.
    pool: Option<Pool>,
    dtype: DType,
    shape: Shape,
}

impl Scratch {
    /// An empty one.
    pub fn new() -> Self {
        let (buffer, shape) = (Buffer::new(256, None), Shape::new(&[0]));
        Self { buffer, pool: None, dtype: DType::U8, shape }
    }

    /// An empty one whose memory comes from `pool`.
    pub(crate) fn within(pool: &Pool) -> Self {
        Self { pool: Some(pool.clone()), ..Self::new() }
    }

    /// Room for a tensor in C order; what was there is gone.
    pub fn claim(&mut self, dtype: DType, shape: Shape) -> Result<&mut [u8], Fault> {
        let Some(bytes) = shape.bytes(dtype.size()).filter(|it| *it <= VALUE_BYTES_MAX) else {
            return Err(too_large(dtype, shape));
        };
        if bytes > self.buffer.capacity {
            // The one that is too small goes first: it is not needed beside the other.
            self.buffer = Buffer::new(256, None);
            self.buffer = match &self.pool {
                Some(pool) => pool.buffer(bytes),
                None => Buffer::new(size_class(bytes), None),
            };
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
