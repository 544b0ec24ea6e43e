//! Elements as the bytes that they are.

use hdf5_reader::{Datatype, H5Type, error::Error};

/// A value of the crate that is its own bytes.
pub(super) trait Bytes: H5Type {
    fn bytes(&self) -> &[u8];
}

/// An element of so many bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Element<const N: usize>([u8; N]);

/// An element of any number of bytes.
#[derive(Clone)]
pub(super) struct Any(Vec<u8>);

/// What the crate is told that an element is; it is asked for by its bytes alone.
fn opaque(size: usize) -> Datatype {
    Datatype::Opaque { size: size as u32, tag: String::new() }
}

impl<const N: usize> H5Type for Element<N> {
    fn hdf5_type() -> Datatype {
        opaque(N)
    }

    fn from_bytes(bytes: &[u8], _: &Datatype) -> Result<Self, Error> {
        let bytes = bytes.try_into().map_err(|_| other_size(bytes.len()))?;
        Ok(Self(bytes))
    }

    fn element_size(_: &Datatype) -> usize {
        N
    }

    fn decode_vec(raw: &[u8], _: &Datatype, count: usize) -> Option<Result<Vec<Self>, Error>> {
        let (all, rest) = raw.as_chunks::<N>();
        if all.len() != count || !rest.is_empty() {
            return Some(Err(other_size(raw.len())));
        }
        Some(Ok(all.iter().map(|it| Self(*it)).collect()))
    }
}

impl<const N: usize> Bytes for Element<N> {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl H5Type for Any {
    fn hdf5_type() -> Datatype {
        opaque(0)
    }

    fn from_bytes(bytes: &[u8], _: &Datatype) -> Result<Self, Error> {
        Ok(Self(bytes.to_vec()))
    }

    fn element_size(dtype: &Datatype) -> usize {
        hdf5_reader::dtype_element_size(dtype).unwrap_or_default()
    }
}

impl Bytes for Any {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn other_size(n: usize) -> Error {
    Error::InvalidData(format!("elements of another size, in {n} bytes"))
}
