//! The `.npy` form: a header that says dtype and shape, then the elements in C order.
//!
//! Version 1.0 of NumPy's format (`numpy.lib.format`, NEP 1).

use plan::DType;

/// Bytes that a header is a multiple of, so that the elements are aligned when mapped.
const ALIGN: usize = 64;
/// `\x93NUMPY`, version 1.0, and two bytes for the length of what follows.
const PREFIX: usize = 10;

/// The header of an array of these elements.
pub(super) fn header(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        descr(dtype),
        extents.join(", ")
    );
    let padded = (PREFIX + text.len() + 1).next_multiple_of(ALIGN) - PREFIX;
    let len = u16::try_from(padded).expect("six extents fit into 64 KiB");

    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(len.to_le_bytes());
    header.extend(text.bytes());
    header.resize(PREFIX + padded - 1, b' ');
    header.push(b'\n');
    header
}

/// NumPy's name of a dtype. It has no `bf16`: its bits go as `u16`; bytes go as `u8`.
fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "|b1",
        DType::U8 | DType::Str | DType::Bytes => "|u1",
        DType::I8 => "|i1",
        DType::U16 | DType::BF16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of `np.save` of NumPy 2.3 for `np.zeros((3,), np.float32)`, without the elements.
    #[test]
    fn a_header_is_numpys() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(text.bytes());
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(header(DType::F32, &[3]), expected);
    }

    #[test]
    fn elements_are_aligned() {
        for shape in [&[][..], &[1], &[1_000_000_007; 6]] {
            let header = header(DType::Bool, shape);
            assert_eq!((header.len() % ALIGN, header.last()), (0, Some(&b'\n')));
        }
    }
}
