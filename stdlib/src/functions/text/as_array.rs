//! What an array of NumPy becomes with `as`.

use crate::functions::tensor::by_dtype;
use crate::prelude::*;
use crate::records::npy::Array;
use half::{bf16, f16};
use plan::Commas;
use runtime::{Element, MAX_RANK};

/// The array in a file as `np.save` writes it, and its elements.
///
/// # Errors
/// `npy-syntax`: it is no such file, or has fewer or more elements than its header says.
pub(crate) fn array_of(file: &[u8]) -> Result<(Array, &[u8]), Fault> {
    let fault = |why: &str| {
        Fault::new("npy-syntax", format!("these bytes cannot be read as `.npy`: {why}"))
    };
    let array = Array::parse(file).map_err(|it| fault(&it.message))?;
    let array = array.ok_or_else(|| fault("they end within the header"))?;
    let elements = &file[array.len as usize..];
    let bytes =
        array.shape.iter().try_fold(array.dtype.size() as u64, |all, it| all.checked_mul(*it));
    if bytes != Some(elements.len() as u64) {
        let found = elements.len();
        return Err(fault(&format!(
            "the header says {}, but {found} bytes follow it",
            shown(&array)
        )));
    }
    Ok((array, elements))
}

/// The type of an array: `f32[3, 4]`.
fn shown(array: &Array) -> String {
    match &array.shape[..] {
        [] => array.dtype.to_string(),
        shape => format!("{}[{}]", array.dtype, Commas(shape)),
    }
}

/// Makes the kernel for such a dtype, of numbers, and shape.
pub(super) fn kernel(dtype: DType, axes: Vec<Extent>) -> Kernel {
    by_dtype!(dtype, T => Kernel::compute(move |args, out| {
        let (array, elements) = array_of(args.tensor(0).as_text())?;
        let extents = agreed(&array, &axes)?;
        let shape = &extents[..axes.len()];
        if lies_as_wanted::<T>(&array) {
            out.room(T::DTYPE, Shape::new(shape))?.copy_from_slice(elements);
            return Ok(());
        }
        read(&array, elements, out.tensor::<T>(shape)?)
    }))
}

/// The extents of an array, if they are those of the type.
fn agreed(array: &Array, axes: &[Extent]) -> Result<[usize; MAX_RANK], Fault> {
    let mut extents = [0; MAX_RANK];
    let fits = |(axis, wanted): (usize, &Extent)| match wanted {
        Extent::Known(n) => *n == array.shape[axis],
        Extent::Named(_) => {
            let twin = axes.iter().position(|it| it == wanted).unwrap_or(axis);
            array.shape[twin] == array.shape[axis]
        }
        Extent::Unknown => true,
    };
    if array.shape.len() != axes.len() || !axes.iter().enumerate().all(fits) {
        let wanted = match axes {
            [] => "a single number".to_owned(),
            axes => format!("`[{}]`", Commas(axes)),
        };
        let detail = format!("the array is `{}`, which does not fit {wanted}", shown(array));
        return Err(Fault::new("npy-shape", detail));
    }
    for (to, extent) in extents.iter_mut().zip(&array.shape) {
        *to = *extent as usize;
    }
    Ok(extents)
}

/// Whether the bytes of the elements are those of the result.
fn lies_as_wanted<T: Element>(array: &Array) -> bool {
    let is_alike = array.dtype == T::DTYPE && T::DTYPE != DType::Bool;
    is_alike && !array.is_big_endian && !array.is_fortran && cfg!(target_endian = "little")
}

/// Writes the elements in C order, as the processor has them.
fn read<T: Number>(array: &Array, elements: &[u8], room: &mut [T]) -> Result<(), Fault> {
    let size = array.dtype.size();
    let one = reader(array.dtype);
    let mut bytes = [0; 8];
    let mut put = |to: &mut T, at: usize| {
        let bytes = &mut bytes[..size];
        bytes.copy_from_slice(&elements[at * size..][..size]);
        if array.is_big_endian {
            bytes.reverse();
        }
        let found = one(bytes);
        *to = T::of(found).ok_or_else(|| unfit::<T>(array.dtype, found))?;
        Ok(())
    };
    if !array.is_fortran {
        return room.iter_mut().enumerate().try_for_each(|(at, to)| put(to, at));
    }
    let mut place = Place::default();
    room.iter_mut().try_for_each(|to| {
        put(to, place.at)?;
        place.advance(&array.shape);
        Ok(())
    })
}

/// Where an element lies in an array of Fortran's order; elements are passed in C order.
#[derive(Default)]
struct Place {
    index: [u64; MAX_RANK],
    at: usize,
}

impl Place {
    fn advance(&mut self, shape: &[u64]) {
        let mut stride: u64 = shape.iter().product();
        for axis in (0..shape.len()).rev() {
            stride /= shape[axis];
            self.index[axis] += 1;
            self.at += stride as usize;
            if self.index[axis] < shape[axis] {
                return;
            }
            self.index[axis] = 0;
            self.at -= (stride * shape[axis]) as usize;
        }
    }
}

/// An element of any array.
#[derive(Debug, Clone, Copy)]
enum Found {
    Whole(i128),
    Float(f64),
}

/// What reads an element from its bytes, the lowest one first.
fn reader(dtype: DType) -> fn(&[u8]) -> Found {
    macro_rules! by_dtype {
        ($($name:ident: $ty:ty => $to:ident),+) => {
            match dtype {
                DType::Bool => |bytes| Found::Whole(i128::from(bytes[0] != 0)),
                $(DType::$name => |bytes| {
                    let bytes = bytes.try_into().expect("there are as many as an element has");
                    Found::$to(<$ty>::from_le_bytes(bytes).into())
                },)+
                DType::Str | DType::Bytes => unreachable!("arrays of text are not parsed"),
            }
        };
    }
    by_dtype!(
        U8: u8 => Whole, U16: u16 => Whole, U32: u32 => Whole, U64: u64 => Whole,
        I8: i8 => Whole, I16: i16 => Whole, I32: i32 => Whole, I64: i64 => Whole,
        F16: f16 => Float, BF16: bf16 => Float, F32: f32 => Float, F64: f64 => Float
    )
}

fn unfit<T: Element>(dtype: DType, found: Found) -> Fault {
    let to = T::DTYPE;
    let detail = match found {
        Found::Whole(it) if !to.is_float() => format!("{it} does not fit into `{to}`"),
        _ => format!("the array is of `{dtype}`, expected `{to}`: write `{to}(… as {dtype}[…])`"),
    };
    Fault::new("npy-type", detail)
}

/// An element that an array can be read as.
trait Number: Element {
    /// None where it is of another kind, or does not fit.
    fn of(found: Found) -> Option<Self>;
}

macro_rules! whole {
    ($($ty:ty),+) => {$(
        impl Number for $ty {
            fn of(found: Found) -> Option<Self> {
                if let Found::Whole(it) = found { it.try_into().ok() } else { None }
            }
        }
    )+};
}
whole!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Number for bool {
    fn of(found: Found) -> Option<Self> {
        match found {
            Found::Whole(it @ (0 | 1)) => Some(it == 1),
            _ => None,
        }
    }
}

macro_rules! floats {
    ($($ty:ty: $of:expr);+) => {$(
        impl Number for $ty {
            fn of(found: Found) -> Option<Self> {
                if let Found::Float(it) = found { Some(($of)(it)) } else { None }
            }
        }
    )+};
}
// The narrow ones through f32, as everywhere.
floats! {
    f16: |it| f16::from_f32(it as f32); bf16: |it| bf16::from_f32(it as f32);
    f32: |it| it as f32; f64: |it| it
}
