//! The part of the Python package that is in Rust: `pipec._pipec`. What a user sees is in the folder
//! `pipec` beside it.

mod array;
mod arrow;
mod dlpack;
mod errors;
mod foreign;
mod fork;
mod held;
mod numpy;
mod pipe;
mod planning;
mod process;
mod program;
mod ready;
mod schema;
mod source;
mod wait;

use pyo3::prelude::*;

/// Bytes that `text` says, such as `2GiB`; none if it says none.
#[pyfunction]
fn size(text: &str) -> Option<u64> {
    model::what_if::size(text).filter(|it| *it < 9e15).map(|it| it as u64)
}

/// The long story of a message, by its code or name.
#[pyfunction]
fn story(code: &str) -> Option<&'static str> {
    let codes = driver::codes();
    let found = codes.iter().find(|it| it.id.eq_ignore_ascii_case(code) || it.name == code);
    found.map(|it| it.long)
}

/// The native part of `pipec`.
#[pymodule(name = "_pipec")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fork::watch();
    driver::keep_indices(None);
    driver::register_stores();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ArrayBase", array::base(module.py())?)?;
    module.add_class::<pipe::Native>()?;
    module.add_class::<pipe::Batches>()?;
    module.add_class::<arrow::Strings>()?;
    module.add_class::<arrow::Forms>()?;
    module.add_class::<held::Owner>()?;
    module.add_function(wrap_pyfunction!(array::array_class, module)?)?;
    module.add_function(wrap_pyfunction!(array::layout, module)?)?;
    module.add_function(wrap_pyfunction!(array::row, module)?)?;
    module.add_function(wrap_pyfunction!(array::elements, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::arrow_schema, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::arrow_array, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::arrow_batch, module)?)?;
    module.add_function(wrap_pyfunction!(dlpack::dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(numpy::ndarray, module)?)?;
    module.add_function(wrap_pyfunction!(size, module)?)?;
    module.add_function(wrap_pyfunction!(story, module)?)
}
