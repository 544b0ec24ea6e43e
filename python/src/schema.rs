//! What is told of the fields of batches, or of records.

use plan::{DType, Extent, Field, Program, RaggedField};

/// Name, dtype and extents of a field; an extent that is not known is none. Whether it is ragged: then the second extent
/// is that of its rows.
pub(crate) type Told = (String, String, Vec<Option<u64>>, bool);

/// What is told of each field of `program`; the two columns of a ragged one are one field.
pub(crate) fn told(program: &Program) -> Vec<Told> {
    let fields = &program.output;
    let ragged = if program.batched { RaggedField::all(fields) } else { Vec::new() };
    let field = |(at, it): (usize, &Field)| {
        if ragged.iter().any(|it| it.offsets == at) {
            return None;
        }
        let dtype = it.ty.dtype().map_or("str", DType::name).to_owned();
        let shape = it.ty.shape().unwrap_or_default().iter().map(extent);
        Some(match ragged.iter().find(|it| it.values == at) {
            Some(it) => {
                let rows = extent(&it.rows(fields));
                (it.name.to_owned(), dtype, [rows].into_iter().chain(shape).collect(), true)
            }
            None => (it.name.clone(), dtype, shape.collect(), false),
        })
    };
    fields.iter().enumerate().filter_map(field).collect()
}

fn extent(it: &Extent) -> Option<u64> {
    if let Extent::Known(n) = it { Some(*n) } else { None }
}
