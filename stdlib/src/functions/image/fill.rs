//! Levels of pixels for which there is no image, as `warp`, `remap` and `collage` are given them: one, or one for each
//! channel.

use crate::prelude::*;

/// Checks that argument `i` has levels for so many channels.
pub(super) fn fits(call: &Applied<'_>, i: usize, channels: &Extent) -> Result<(), String> {
    let count = match &call.args[i] {
        Arg::List(all) => all.len(),
        _ => 1,
    };
    match channels {
        _ if count == 1 => Ok(()),
        Extent::Known(it) if *it == count as u64 => Ok(()),
        Extent::Known(it) => Err(format!("there are {count} levels to fill {it} channels with")),
        _ => Err(format!(
            "there are {count} levels to fill with, but the number of channels is unknown: give one level for all, or \
             make the number of channels known"
        )),
    }
}

/// The levels that argument `i` has.
pub(super) fn levels(call: &Call<'_>, i: usize) -> Result<Vec<f64>, Failure> {
    let unknown = || Failure::Program("the levels to fill with are known numbers".into());
    call.floats(i).filter(|it| !it.is_empty()).ok_or_else(unknown)
}

/// The bytes of a pixel that has these levels.
pub(super) fn pixel(dtype: DType, levels: &[f64], channels: usize) -> Vec<u8> {
    let mut bytes = [0; 8];
    let level = |i: usize| levels[i.min(levels.len() - 1)];
    (0..channels).flat_map(|i| encoded(dtype, level(i), &mut bytes).to_vec()).collect()
}

/// The bytes of a number as an element of this dtype; out of range, those of the nearest one.
pub(super) fn encoded(dtype: DType, value: f64, bytes: &mut [u8; 8]) -> &[u8] {
    fn put<const N: usize>(from: [u8; N], to: &mut [u8; 8]) -> &[u8] {
        to[..N].copy_from_slice(&from);
        &to[..N]
    }
    match dtype {
        DType::Bool => put([u8::from(value != 0.0)], bytes),
        DType::U8 => put([value as u8], bytes),
        DType::I8 => put((value as i8).to_ne_bytes(), bytes),
        DType::U16 => put((value as u16).to_ne_bytes(), bytes),
        DType::I16 => put((value as i16).to_ne_bytes(), bytes),
        DType::F16 => put(half::f16::from_f64(value).to_ne_bytes(), bytes),
        DType::BF16 => put(half::bf16::from_f64(value).to_ne_bytes(), bytes),
        DType::U32 => put((value as u32).to_ne_bytes(), bytes),
        DType::I32 => put((value as i32).to_ne_bytes(), bytes),
        DType::F32 => put((value as f32).to_ne_bytes(), bytes),
        DType::U64 => put((value as u64).to_ne_bytes(), bytes),
        DType::I64 => put((value as i64).to_ne_bytes(), bytes),
        DType::F64 => put(value.to_ne_bytes(), bytes),
        DType::Str | DType::Bytes => unreachable!("the checker admits numbers only"),
    }
}
