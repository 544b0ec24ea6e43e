//! `hash`: a number that depends on a value alone.

use crate::functions::tensor::{by_dtype, packed, tensor_of};
use crate::prelude::*;
use half::{bf16, f16};
use runtime::Element;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

function! {
    /// Returns a hash of the value.
    ///
    /// It is the same on every machine and in every version: the 64-bit XXH3 with seed 0 (Collet, xxHash 0.8).
    /// For `str` and `bytes`, the bytes are hashed; for numbers, 8 bytes each, little-endian: the `i64` or
    /// `u64` of an integer or a `bool`, the `f64` of a float, so the width of the dtype does not matter. All
    /// NaNs are equal, and so are 0.0 and -0.0. The elements of a tensor are hashed in C order; its extents do
    /// not matter. `hash(path) % 100 < 2` is true for about 2% of all paths.
    ///
    /// ```pipe
    /// range(2) |> map { held_out: hash("a/1.jpg") % 100 < 2 }    # { held_out: bool }
    /// ```
    "hash(x: any) -> u64",
    // Assumed: 0.1 nanoseconds a byte.
    cost: Cost { ns_byte_in: 0.1, ..Cost::call(10.0) },
    result: Some(|applied| tensor_of(applied, 0).map(|_| Type::scalar(DType::U64))),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let dtype = call.dtype(0).expect("the checker saw to a tensor");
    if dtype.is_text() {
        return Ok(Kernel::compute(|args, out| out.scalar(xxh3_64(args.tensor(0).as_text()))));
    }
    Ok(by_dtype!(dtype, T => Kernel::compute(hash_numbers::<T>)))
}

/// Numbers whose bytes are hashed at a time.
const AT_ONCE: usize = 64;

fn hash_numbers<T: Number>(args: &Args<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    let hash = packed::<T, _>(&args.tensor(0), |values| {
        if let [one] = values {
            return Ok(xxh3_64(&one.word()));
        }
        let mut state = Xxh3Default::new();
        let mut words = [[0; 8]; AT_ONCE];
        for some in values.chunks(AT_ONCE) {
            words.iter_mut().zip(some).for_each(|(to, it)| *to = it.word());
            state.update(words[..some.len()].as_flattened());
        }
        Ok(state.digest())
    })?;
    out.scalar(hash)
}

/// A number as the 8 bytes that are hashed.
trait Number: Element {
    fn word(self) -> [u8; 8];
}

macro_rules! numbers {
    ($($ty:ty as $wide:ty),+) => {$(
        impl Number for $ty {
            fn word(self) -> [u8; 8] {
                <$wide>::from(self).to_le_bytes()
            }
        }
    )+};
}
numbers!(
    bool as i64,
    u8 as i64,
    u16 as i64,
    u32 as i64,
    u64 as u64,
    i8 as i64,
    i16 as i64,
    i32 as i64,
    i64 as i64
);

macro_rules! floats {
    ($($ty:ty),+) => {$(
        impl Number for $ty {
            fn word(self) -> [u8; 8] {
                let wide = f64::from(self);
                let one = if wide.is_nan() { f64::NAN } else { wide + 0.0 };
                one.to_bits().to_le_bytes()
            }
        }
    )+};
}
floats!(f16, bf16, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::Trial;

    fn hash(x: Tensor<'_>) -> u64 {
        Trial::of(&ENTRY).value(x).run().unwrap().to_vec()[0]
    }

    /// `xxhash.xxh3_64_intdigest` of Python's xxhash 4.1 for the same bytes.
    #[test]
    fn gives_the_published_numbers() {
        assert_eq!(hash(Tensor::text(DType::Str, b"")), 0x2d06_8005_38d3_94c2);
        assert_eq!(hash(Tensor::text(DType::Bytes, b"abc")), 0x78af_5f94_892f_3950);
        assert_eq!(hash(Tensor::new(&[], &[1_u8])), xxh3_64(&1_i64.to_le_bytes()));
    }

    #[test]
    fn the_width_does_not_count_and_the_value_does() {
        let seven = hash(Tensor::new(&[], &[7_i64]));
        assert_eq!(hash(Tensor::new(&[], &[7_u8])), seven);
        assert_eq!(hash(Tensor::new(&[1], &[7_i32])), seven);
        assert_ne!(hash(Tensor::new(&[], &[7_f32])), seven);
        assert_eq!(hash(Tensor::new(&[], &[0.5_f32])), hash(Tensor::new(&[], &[0.5_f64])));
        assert_eq!(hash(Tensor::new(&[], &[0_f32])), hash(Tensor::new(&[], &[-0_f32])));
        assert_eq!(hash(Tensor::new(&[], &[f32::NAN])), hash(Tensor::new(&[], &[-f64::NAN])));
    }

    #[test]
    fn tensors_are_hashed_in_c_order() {
        let values: Vec<i64> = (0..200).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        let x = Tensor::new(&[10, 20], &values);
        assert_eq!(hash(x), xxh3_64(&bytes));
        assert_ne!(hash(x.permuted(&[1, 0])), xxh3_64(&bytes));
        assert_eq!(hash(x.permuted(&[1, 0]).permuted(&[1, 0])), xxh3_64(&bytes));
    }
}
