//! What works on values: one file for each function, in a folder for each subject.

pub(crate) mod boxes;
pub(crate) mod codec;
pub(crate) mod foreign;
pub(crate) mod image;
pub(crate) mod random;
pub(crate) mod tensor;
pub(crate) mod text;
