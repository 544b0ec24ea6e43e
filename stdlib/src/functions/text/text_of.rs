//! `text_of`: a number as text.

use crate::functions::tensor::tensor_of;
use crate::prelude::*;
use std::fmt::{self, Write};

function! {
    /// Converts a single number to a string.
    ///
    /// Integers are decimal. Floats have the fewest digits that return the same number in their dtype, and at
    /// least one after the point, as in Python (`0.1`, `1.0`, `1e-7`). Booleans are `true` and `false`. Numbers
    /// in `"…{name}…"` are converted with it.
    ///
    /// ```pipe
    /// range(2) |> map { text: text_of(f32(i) / 2.0) }    # { text: str }
    /// ```
    "text_of(number: any) -> str",
    cost: Cost::call(60.0),
    result: Some(|applied| match tensor_of(applied, 0)? {
        (dtype, shape) if dtype.is_text() || !shape.is_empty() => {
            Err("expected a single number".into())
        }
        _ => Ok(Type::scalar(DType::Str)),
    }),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let mut line = Line { bytes: [0; 64], len: 0 };
        write_number(&args.tensor(0), &mut line).expect("every number is shorter than the line");
        out.text(DType::Str, &line.bytes[..line.len])
    }))
}

fn write_number(number: &Tensor<'_>, line: &mut Line) -> fmt::Result {
    match number.dtype() {
        DType::Bool => write!(line, "{}", number.first::<bool>()),
        DType::U64 => write!(line, "{}", number.first::<u64>()),
        // What is shortest for f32 is exact for the narrower ones too.
        DType::F16 | DType::BF16 | DType::F32 => write_float(line, number.number() as f32),
        DType::F64 => write_float(line, number.number()),
        _ => write!(line, "{}", number.int()),
    }
}

fn write_float(line: &mut Line, number: impl fmt::Debug) -> fmt::Result {
    write!(line, "{number:?}")?;
    line.bytes[..line.len].make_ascii_lowercase();
    Ok(())
}

/// A short text on the stack.
struct Line {
    bytes: [u8; 64],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn check(number: Tensor<'_>, expected: &str) {
        assert_eq!(Trial::of(&ENTRY).value(number).run(), Ok(Value::text(expected)));
    }

    #[test]
    fn shortest_and_exact() {
        check(Tensor::new(&[], &[-7_i8]), "-7");
        check(Tensor::new(&[], &[u64::MAX]), "18446744073709551615");
        check(Tensor::new(&[], &[i64::MIN]), "-9223372036854775808");
        check(Tensor::new(&[], &[true]), "true");
        check(Tensor::new(&[], &[0.1_f32]), "0.1");
        check(Tensor::new(&[], &[0.1_f64]), "0.1");
        check(Tensor::new(&[], &[1_f32]), "1.0");
        check(Tensor::new(&[], &[1e-7_f64]), "1e-7");
        check(Tensor::new(&[], &[f64::MIN]), "-1.7976931348623157e308");
        check(Tensor::new(&[], &[f32::NAN]), "nan");
        check(Tensor::new(&[], &[f32::NEG_INFINITY]), "-inf");
        check(Tensor::new(&[], &[half::f16::from_f32(0.5)]), "0.5");
    }
}
