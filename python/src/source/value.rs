//! What a field of a record holds, copied.

use crate::{
    foreign::taken,
    process::{Placed, Reader},
};
use plan::{DType, Extent, Field, Type};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyMapping};
use runtime::{Fault, Shape, Tensor};
use std::{io, ptr::NonNull};

/// The values of one field in one record.
pub(super) struct Value {
    dtype: DType,
    shape: Vec<usize>,
    /// The elements; whole words, so that they are aligned.
    words: Vec<u64>,
    bytes: usize,
}

/// What is wrong with a record that nobody has raised anything for.
pub(super) fn wrong(detail: String) -> Fault {
    Fault::new("foreign-result", detail)
}

/// That a record has no such field.
pub(super) fn lacking(field: &str, record: &Bound<'_, PyMapping>) -> PyResult<Fault> {
    let all: Vec<String> = record.keys()?.iter().map(|it| format!("`{it}`")).collect();
    Ok(wrong(match all.is_empty() {
        true => format!("the record has no field `{field}`: it is empty"),
        false => format!("the record has no field `{field}`: it has {}", all.join(", ")),
    }))
}

/// What a field holds, if it is what was declared.
pub(super) fn value(given: &Bound<'_, PyAny>, field: &Field) -> PyResult<Result<Value, Fault>> {
    let Some(dtype) = field.ty.dtype() else {
        return Err(PyTypeError::new_err("a field is declared that is no tensor"));
    };
    let mut found = None;
    let took = taken(given, dtype, &mut |tensor| {
        found = Some(Value::of(tensor));
        Ok(())
    });
    match took {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => return Ok(Err(fault)),
        Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => {
            return Ok(Err(mismatch(&kind(given)?, field)));
        }
        Err(error) => return Ok(Err(wrong(format!("field `{}`: {error}", field.name)))),
    }
    let found = found.ok_or_else(|| PyTypeError::new_err("a field has no value"))?;
    Ok(found.fitting(field))
}

fn mismatch(found: &str, Field { name, ty }: &Field) -> Fault {
    wrong(format!("field `{name}` is {found}, but it is declared as {ty}"))
}

/// What an object is, for a message.
fn kind(of: &Bound<'_, PyAny>) -> PyResult<String> {
    if of.is_none() {
        return Ok("None".to_owned());
    }
    let kind = of.get_type().name()?;
    Ok(match of.getattr("dtype") {
        Ok(dtype) => format!("a `{kind}` of `{dtype}`"),
        Err(_) => format!("a `{kind}`"),
    })
}

impl Value {
    /// The same, if it is what was declared.
    pub(super) fn fitting(self, field: &Field) -> Result<Self, Fault> {
        let fits = match &field.ty {
            Type::Tensor { dtype, shape } => {
                let same = |(wanted, n): (&Extent, &usize)| match wanted {
                    Extent::Known(wanted) => *wanted == *n as u64,
                    _ => true,
                };
                self.dtype == *dtype
                    && self.extents().len() == shape.len()
                    && shape.iter().zip(self.extents()).all(same)
            }
            _ => false,
        };
        if fits { Ok(self) } else { Err(mismatch(&self.shown(), field)) }
    }

    /// A value in the memory of another process.
    pub(super) fn read(placed: &Placed, reader: &Reader<'_>) -> io::Result<Self> {
        let invalid = || io::Error::other("a value is no tensor");
        let dtype = DType::named(&placed.dtype).ok_or_else(invalid)?;
        let each = if dtype.is_text() { 1 } else { dtype.size() };
        let bytes = placed.shape.iter().try_fold(each, |all, n| all.checked_mul(*n));
        let bytes = bytes.filter(|it| *it as u64 <= reader.len()).ok_or_else(invalid)?;
        let mut words = vec![0_u64; bytes.div_ceil(8)];
        // SAFETY: so many bytes are there, and any byte is part of a number.
        let room = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes) };
        reader.read(room, placed)?;
        Ok(Self { dtype, shape: placed.shape.clone(), words, bytes })
    }

    pub(super) fn of(tensor: &Tensor<'_>) -> Self {
        let bytes = tensor.bytes();
        let mut words = vec![0_u64; bytes.div_ceil(8)];
        // SAFETY: so many bytes are there, and any byte is part of a number.
        let room = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes) };
        tensor.copy_to(room);
        Self { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), words, bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are there.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    pub(super) fn is_text(&self) -> bool {
        self.dtype.is_text()
    }

    pub(super) fn tensor(&self) -> Tensor<'_> {
        let data = NonNull::from(&*self.words).cast();
        // SAFETY: the elements are there, aligned, for as long as `self` is borrowed.
        unsafe { Tensor::from_raw(self.dtype, Shape::new(&self.shape), data) }
    }

    /// The extents that a declaration speaks of: text has none.
    fn extents(&self) -> &[usize] {
        if self.dtype.is_text() { &[] } else { &self.shape }
    }

    fn shown(&self) -> String {
        match self.extents() {
            [] => self.dtype.to_string(),
            all => {
                let all: Vec<String> = all.iter().map(usize::to_string).collect();
                format!("{}[{}]", self.dtype, all.join(", "))
            }
        }
    }
}
