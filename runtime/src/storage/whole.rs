//! Objects that are values of records: read whole, to where the value will live.

use super::{Landing, ReadError, Request};
use crate::{Fault, Out, Shape, VALUE_BYTES_MAX, reads};
use plan::DType;
use std::path::Path;

/// A kernel that reads the object whose path is its first argument.
#[derive(Clone, Copy)]
pub struct ReadWhole {
    /// What its bytes are to be.
    pub dtype: DType,
    /// What is wrong with a record whose object cannot be read.
    pub fault: fn(&str, &ReadError) -> Fault,
    /// What is wrong with the bytes that were read, if anything is.
    pub check: fn(&str, &[u8]) -> Result<(), Fault>,
}

impl ReadWhole {
    /// Reads one object, and waits for it.
    pub(crate) fn read(&self, path: &str, out: &mut Out<'_>) -> Result<(), Fault> {
        let mut value = Value { whole: self, path, out, done: Ok(()) };
        let at = Path::new(path);
        super::of(at).read(&[Request { path: at, range: None }], &mut value);
        value.done?;
        let bytes = out.written();
        reads::count(bytes.len() as u64);
        (self.check)(path, bytes)
    }
}

/// The bytes of a value, where there may be so many.
///
/// # Errors
/// [`ReadError::TooLarge`], where there are more than [`VALUE_BYTES_MAX`].
pub fn len_of_value(bytes: u64) -> Result<usize, ReadError> {
    let len = usize::try_from(bytes).ok().filter(|it| *it <= VALUE_BYTES_MAX);
    len.ok_or(ReadError::TooLarge(bytes))
}

/// Where a value will live, and what came of it.
struct Value<'a, 'o> {
    whole: &'a ReadWhole,
    path: &'a str,
    out: &'a mut Out<'o>,
    done: Result<(), Fault>,
}

impl Landing for Value<'_, '_> {
    fn room(&mut self, _: usize, bytes: u64) -> Option<&mut [u8]> {
        let Self { whole, path, out, done } = self;
        let len = len_of_value(bytes).map_err(|it| (whole.fault)(path, &it));
        match len.and_then(|it| out.room(whole.dtype, Shape::new(&[it]))) {
            Ok(room) => Some(room),
            Err(fault) => {
                *done = Err(fault);
                None
            }
        }
    }

    fn landed(&mut self, _: usize, result: Result<(), ReadError>) {
        self.done = result.map_err(|it| (self.whole.fault)(self.path, &it));
    }
}
