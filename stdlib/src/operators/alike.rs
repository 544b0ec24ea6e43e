//! Inputs that become one stream: they must have the same fields.

use super::arguments::visible;
use plan::{Applied, Extent, Field, Type};
use runtime::{Chunk, OperatorCall};

/// The fields of a stream that is made of the records of all inputs.
///
/// The order may differ. An extent that is not the same in all is any extent.
pub(super) fn same_fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let Some((first, others)) = applied.inputs.split_first() else {
        return Err("it needs at least one stream".to_owned());
    };
    let mut fields = visible(first);
    for (number, other) in others.iter().enumerate() {
        let other = visible(other);
        let (one, two) = (input_name(applied.names, 0), input_name(applied.names, number + 1));
        for field in &mut fields {
            let same = other.iter().find(|it| it.name == field.name);
            let Some(same) = same else { return Err(missing(&one, &two, &field.name)) };
            field.ty = joined(&field.ty, &same.ty).ok_or_else(|| {
                let (name, a, b) = (&field.name, &field.ty, &same.ty);
                format!("`{name}` is `{a}` in {one} and `{b}` in {two}: the types must be the same")
            })?;
        }
        let extra = other.iter().find(|it| fields.iter().all(|field| field.name != it.name));
        if let Some(extra) = extra {
            return Err(missing(&two, &one, &extra.name));
        }
    }
    Ok(fields)
}

fn missing(has: &str, lacks: &str, field: &str) -> String {
    format!(
        "{has} has a field `{field}`, but {lacks} does not: `map` both to the same fields first"
    )
}

/// What a message calls input `i`.
pub(super) fn input_name(names: &[String], i: usize) -> String {
    match names.get(i) {
        Some(name) => format!("`{name}`"),
        None => format!("stream {}", i + 1),
    }
}

fn joined(a: &Type, b: &Type) -> Option<Type> {
    let (Type::Tensor { dtype, shape: a }, Type::Tensor { dtype: other, shape: b }) = (a, b) else {
        return (a == b).then(|| a.clone());
    };
    let either = |(a, b): (&Extent, &Extent)| if a == b { a.clone() } else { Extent::Unknown };
    let shape = a.iter().zip(b).map(either).collect();
    (dtype == other && a.len() == b.len()).then_some(Type::Tensor { dtype: *dtype, shape })
}

/// Puts the columns of an input's chunks into the order of the output.
pub(super) struct Columns {
    /// For each input, which of its columns is the next of the output.
    sources: Vec<Vec<usize>>,
}

impl Columns {
    /// The columns of the call's inputs by the names of its output.
    pub(super) fn new(call: &OperatorCall<'_>) -> Self {
        let place = |input: &Vec<Field>, name: &str| input.iter().position(|it| it.name == name);
        let of = |input| call.columns.iter().filter_map(|it| place(input, &it.name)).collect();
        Self { sources: call.inputs.iter().map(of).collect() }
    }

    /// A chunk of `input` with the columns of the output.
    pub(super) fn of(&self, input: usize, mut chunk: Chunk) -> Chunk {
        let sources = &self.sources[input];
        chunk.columns = sources.iter().map(|&it| chunk.columns[it].clone()).collect();
        chunk
    }
}
