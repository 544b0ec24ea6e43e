//! RaggedField fields of a batch: rows of different lengths, end to end, and where each begins.

use crate::{DType, Extent, Field};

/// A field `ids` of a batch whose rows have lengths of their own: the two columns `ids.values`, the rows end to end along
/// the first axis, and `ids.offsets`, `i64`, where each row begins and the last one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaggedField<'a> {
    /// The name of both together.
    pub name: &'a str,
    /// Which column holds the rows.
    pub values: usize,
    /// Which column says where they begin.
    pub offsets: usize,
}

impl<'a> RaggedField<'a> {
    /// What the name of the column of the rows ends with.
    pub const VALUES: &'static str = ".values";
    /// What the name of the other column ends with.
    pub const OFFSETS: &'static str = ".offsets";

    /// The ragged fields among those of a batch, in their order. They are known by their names and types, so that what
    /// a step behind `batch` makes of both is ragged as well.
    pub fn all(fields: &'a [Field]) -> Vec<Self> {
        fields.iter().enumerate().filter_map(|(at, _)| Self::at(fields, at)).collect()
    }

    /// The ragged field whose rows are in column `values`.
    pub fn at(fields: &'a [Field], values: usize) -> Option<Self> {
        let name = fields[values].name.strip_suffix(Self::VALUES)?;
        let is_offsets =
            |it: &Field| it.name.strip_suffix(Self::OFFSETS) == Some(name) && are_offsets(it);
        let offsets = fields.iter().position(is_offsets)?;
        let rows = fields[values].ty.shape()?.first()?;
        let are_values = !fields[values].ty.is_texts() && !matches!(rows, Extent::Known(_));
        are_values.then_some(Self { name, values, offsets })
    }

    /// How many rows a batch has; none where that is not known before the run.
    pub fn rows(self, fields: &[Field]) -> Extent {
        match fields[self.offsets].ty.shape() {
            Some([Extent::Known(n)]) => Extent::Known(n.saturating_sub(1)),
            _ => Extent::Unknown,
        }
    }
}

fn are_offsets(field: &Field) -> bool {
    let one_axis = matches!(field.ty.shape(), Some([it]) if *it != Extent::Known(0));
    one_axis && field.ty.dtype() == Some(DType::I64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Type;

    #[test]
    fn two_columns_are_one_ragged_field() {
        let field = |name: &str, dtype, shape: &[Extent]| Field {
            name: name.to_owned(),
            ty: Type::Tensor { dtype, shape: shape.to_vec() },
        };
        let (any, nine) = (Extent::Unknown, Extent::Known(9));
        let fields = [
            field("a.values", DType::F32, &[any.clone(), Extent::Known(4)]),
            field("a.offsets", DType::I64, std::slice::from_ref(&nine)),
            field("b.offsets", DType::I64, std::slice::from_ref(&any)),
            field("b.values", DType::U8, std::slice::from_ref(&any)),
            // As long in every batch, no numbers of rows, no rows.
            field("c.values", DType::U8, std::slice::from_ref(&nine)),
            field("c.offsets", DType::I64, std::slice::from_ref(&nine)),
            field("d.values", DType::U8, std::slice::from_ref(&any)),
            field("d.offsets", DType::F32, std::slice::from_ref(&nine)),
            field("e.values", DType::Str, std::slice::from_ref(&any)),
            field("e.offsets", DType::I64, std::slice::from_ref(&nine)),
        ];
        let found = RaggedField::all(&fields);
        let expected = [("a", 0, 1), ("b", 3, 2)];
        let expected =
            expected.map(|(name, values, offsets)| RaggedField { name, values, offsets });
        assert_eq!(found, expected);
        assert_eq!([found[0].rows(&fields), found[1].rows(&fields)], [Extent::Known(8), any]);
    }
}
