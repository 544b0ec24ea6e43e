//! What stands for the fields of a record that has no partner.

use super::{super::group::Group, Missing, Terms, held::Held};
use crate::prelude::*;
use runtime::{Builder, OperatorCall, Pool};

/// Makes the record that fills those without a partner.
pub(super) struct Filling {
    /// The fields of the second stream.
    fields: Vec<Field>,
    pub(super) pool: Pool,
    /// The record, where there is one.
    record: Option<Chunk>,
}

impl Filling {
    pub(super) fn new(call: &OperatorCall<'_>, terms: &Terms) -> Self {
        let mut filling =
            Self { fields: call.inputs[1].clone(), pool: call.pool.clone(), record: None };
        filling.record = match &terms.missing {
            Missing::Keep(elements) => Some(filling.fill(terms, Some(elements))),
            Missing::Fault => Some(filling.fill(terms, None)),
            Missing::Fail | Missing::Skip => None,
        };
        filling
    }

    /// The records of a group of the second stream by their keys, and behind them the one that fills.
    pub(super) fn held(&self, group: &mut Group, keys: Vec<usize>) -> Result<Held, Failure> {
        let rows = group.rows();
        if let Some(record) = &self.record {
            group.add(record, 0..1, rows + 1);
        }
        let empty = || ChunkBuilder::new(&self.fields, 0, 0, &self.pool).finish();
        Held::new(group.finish().unwrap_or_else(empty), rows, keys)
    }

    /// A record of these elements; of nothing where there are none.
    fn fill(&self, terms: &Terms, elements: Option<&Vec<Vec<u8>>>) -> Chunk {
        let mut record = ChunkBuilder::new(&self.fields, 1, 0, &self.pool);
        record.ids.push_scalar(0_u64);
        for (field, to) in self.fields.iter().zip(&mut record.columns) {
            let at = terms.added.iter().position(|it| it.name == field.name);
            let zero = vec![0; field.ty.dtype().filter(|it| !it.is_text()).map_or(0, DType::size)];
            match at.zip(elements) {
                Some((at, elements)) => push_fill(&elements[at], &field.ty, to),
                None => push_fill(&zero, &field.ty, to),
            }
        }
        record.finish()
    }
}

/// One value: this element everywhere, in extents of 0 where they are not known.
fn push_fill(value: &[u8], ty: &Type, to: &mut Builder) {
    match ty.shape() {
        Some(shape) if !ty.dtype().is_some_and(DType::is_text) => {
            let extent = |it: &Extent| match it {
                Extent::Known(n) => *n as usize,
                _ => 0,
            };
            let shape: Vec<usize> = shape.iter().map(extent).collect();
            to.room(Shape::new(&shape))
                .chunks_mut(value.len())
                .for_each(|it| it.copy_from_slice(value));
        }
        _ => to.push_text(value),
    }
}
