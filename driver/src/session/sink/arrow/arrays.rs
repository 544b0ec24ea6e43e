//! Rows of a column as an Arrow array, in the memory where they lie where that is possible.

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeListArray, ListArray, PrimitiveArray,
    StringArray, StructArray, types,
};
use arrow_buffer::{Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Metadata};
use plan::{DType, Extent};
use runtime::{Column, Tensor};
use std::{ptr::NonNull, sync::Arc};

/// How the rows of a field are told in Arrow.
pub(super) struct Form {
    dtype: DType,
    kind: Kind,
}

enum Kind {
    /// Text or bytes.
    Text,
    /// The texts of a whole batch.
    Texts,
    Scalar,
    /// Known extents, and how many elements that is.
    Fixed(Vec<usize>, i32),
    /// One axis of any length.
    List,
    /// So many axes of any length.
    Shaped(usize),
}

/// The rows of a column, or those of the batch that one of them is.
pub(super) struct Rows<'a> {
    pub(super) column: &'a Column,
    pub(super) batch: Option<usize>,
}

impl Rows<'_> {
    fn len(&self) -> usize {
        self.batch.map_or(self.column.rows(), |it| self.column.row(it).shape()[0])
    }

    fn row(&self, i: usize) -> Tensor<'_> {
        self.batch.map_or_else(|| self.column.row(i), |it| self.column.row(it).element(i))
    }

    /// All elements, where they lie one after the other.
    fn whole(&self) -> Option<Tensor<'_>> {
        let whole = match self.batch {
            Some(row) => Some(self.column.row(row)),
            None => self.column.stacked(),
        };
        whole.filter(|it| it.is_contiguous() && it.bytes() > 0)
    }

    /// The bytes of all elements: not copied, where they lie one after the other.
    fn bytes(&self) -> Buffer {
        if let Some(whole) = self.whole() {
            let first = NonNull::new(whole.as_ptr().cast_mut()).expect("a tensor lies somewhere");
            let owner = Arc::new(self.column.clone());
            // SAFETY: the bytes are initialised, are not written any more, and live as long as
            // the column that keeps them.
            return unsafe { Buffer::from_custom_allocation(first, whole.bytes(), owner) };
        }
        let mut all = MutableBuffer::with_capacity(self.column.bytes());
        for row in 0..self.len() {
            let row = self.row(row);
            let from = all.len();
            all.resize(from + row.bytes(), 0);
            row.copy_to(&mut all.as_slice_mut()[from..]);
        }
        all.into()
    }

    /// Where each row begins, in elements, and where the last one ends.
    fn offsets(&self) -> Result<OffsetBuffer<i32>, ArrowError> {
        let mut offsets = vec![0];
        let mut end = 0_i32;
        for row in 0..self.len() {
            let len = i32::try_from(self.row(row).elements()).ok();
            end = len.and_then(|it| end.checked_add(it)).ok_or_else(too_long)?;
            offsets.push(end);
        }
        Ok(OffsetBuffer::new(offsets.into()))
    }
}

impl Form {
    /// The form of rows of these extents; none where they have too many elements.
    pub(super) fn of(dtype: DType, shape: &[Extent]) -> Option<Self> {
        let known = |it: &Extent| match it {
            Extent::Known(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        let fixed: Option<Vec<usize>> = shape.iter().map(known).collect();
        let kind = match (fixed, shape.len()) {
            (_, 0) if dtype.is_text() => Kind::Text,
            _ if dtype.is_text() => Kind::Texts,
            (_, 0) => Kind::Scalar,
            (Some(fixed), _) => {
                let elements = fixed.iter().try_fold(1_usize, |all, it| all.checked_mul(*it))?;
                Kind::Fixed(fixed, i32::try_from(elements).ok()?)
            }
            (None, 1) => Kind::List,
            (None, axes) => Kind::Shaped(axes),
        };
        Some(Self { dtype, kind })
    }

    /// The type of the array.
    pub(super) fn data_type(&self) -> DataType {
        let element = element_type(self.dtype);
        match &self.kind {
            Kind::Text | Kind::Scalar => element,
            Kind::Fixed(_, elements) => DataType::FixedSizeList(item(element), *elements),
            Kind::List | Kind::Texts => DataType::List(item(element)),
            Kind::Shaped(axes) => DataType::Struct(shaped(element, *axes)),
        }
    }

    /// What a reader should know beside the type.
    pub(super) fn metadata(&self) -> Metadata {
        let mut metadata = Vec::new();
        let mut extension = |name: &str, value: String| {
            metadata.push(("ARROW:extension:name".to_owned(), name.to_owned()));
            metadata.push(("ARROW:extension:metadata".to_owned(), value));
        };
        match &self.kind {
            Kind::Fixed(shape, _) => {
                let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
                let shape = format!("{{\"shape\":[{}]}}", extents.join(","));
                extension("arrow.fixed_shape_tensor", shape);
            }
            Kind::Shaped(_) => extension("arrow.variable_shape_tensor", "{}".to_owned()),
            _ => {}
        }
        if self.dtype == DType::BF16 {
            metadata.push(("pipec:dtype".to_owned(), "bf16".to_owned()));
        }
        metadata.into_iter().collect()
    }

    /// The type of a list of such.
    pub(super) fn list_of(&self) -> DataType {
        DataType::List(self.items())
    }

    fn items(&self) -> Arc<Field> {
        let item = Field::new("item", self.data_type(), false);
        Arc::new(item.with_metadata(self.metadata()))
    }

    /// Lists of `rows`, of which each begins where `offsets` say.
    pub(super) fn lists(
        &self,
        rows: &Rows<'_>,
        offsets: &Tensor<'_>,
    ) -> Result<ArrayRef, ArrowError> {
        let offsets = list_offsets(offsets, rows.len())?;
        Ok(Arc::new(ListArray::try_new(self.items(), offsets, self.array(rows)?, None)?))
    }

    /// The array of `rows`.
    pub(super) fn array(&self, rows: &Rows<'_>) -> Result<ArrayRef, ArrowError> {
        let element = element_type(self.dtype);
        Ok(match &self.kind {
            Kind::Text => texts(self.dtype, rows.offsets()?, rows.bytes())?,
            Kind::Texts => Arc::new(list_of_texts(self.dtype, rows)?),
            Kind::Scalar => elements(self.dtype, rows.bytes()),
            Kind::Fixed(_, n) => {
                let (all, rows) = (elements(self.dtype, rows.bytes()), rows.len());
                let item = item(element);
                Arc::new(FixedSizeListArray::try_new_with_length(item, *n, all, None, rows)?)
            }
            Kind::List => Arc::new(list(self.dtype, rows)?),
            Kind::Shaped(axes) => {
                let columns: Vec<ArrayRef> =
                    vec![Arc::new(list(self.dtype, rows)?), extents(rows, *axes)?];
                Arc::new(StructArray::try_new(shaped(element, *axes), columns, None)?)
            }
        })
    }
}

fn element_type(dtype: DType) -> DataType {
    match dtype {
        DType::Bool => DataType::Boolean,
        DType::U8 => DataType::UInt8,
        DType::U16 | DType::BF16 => DataType::UInt16,
        DType::U32 => DataType::UInt32,
        DType::U64 => DataType::UInt64,
        DType::I8 => DataType::Int8,
        DType::I16 => DataType::Int16,
        DType::I32 => DataType::Int32,
        DType::I64 => DataType::Int64,
        DType::F16 => DataType::Float16,
        DType::F32 => DataType::Float32,
        DType::F64 => DataType::Float64,
        DType::Str => DataType::Utf8,
        DType::Bytes => DataType::Binary,
    }
}

fn item(element: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", element, false))
}

/// The parts of `arrow.variable_shape_tensor`.
fn shaped(element: DataType, axes: usize) -> Fields {
    let axes = i32::try_from(axes).expect("a tensor has at most six axes");
    let data = Field::new("data", DataType::List(item(element)), false);
    let shape = DataType::FixedSizeList(item(DataType::Int32), axes);
    Fields::from(vec![data, Field::new("shape", shape, false)])
}

/// The offsets of lists of so many elements in all. Steps behind `batch` may have made them of anything.
fn list_offsets(offsets: &Tensor<'_>, len: usize) -> Result<OffsetBuffer<i32>, ArrowError> {
    let mut bytes = vec![0; offsets.bytes()];
    offsets.copy_to(&mut bytes);
    let all = bytes.as_chunks().0.iter().map(|it| i64::from_ne_bytes(*it));
    let all: Vec<i64> = all.collect();
    let rise = all.first().is_some_and(|it| *it >= 0) && all.is_sorted();
    if !rise || all.last().is_some_and(|it| *it as u64 > len as u64) {
        let why = format!(
            "the offsets of a ragged field do not increase from 0 to {len}, the number of its \
             values"
        );
        return Err(ArrowError::InvalidArgumentError(why));
    }
    let all: Option<Vec<i32>> = all.into_iter().map(|it| i32::try_from(it).ok()).collect();
    Ok(OffsetBuffer::new(all.ok_or_else(too_long)?.into()))
}

fn texts(dtype: DType, offsets: OffsetBuffer<i32>, bytes: Buffer) -> Result<ArrayRef, ArrowError> {
    Ok(match dtype {
        DType::Str => Arc::new(StringArray::try_new(offsets, bytes, None)?),
        _ => Arc::new(BinaryArray::try_new(offsets, bytes, None)?),
    })
}

/// A list of texts for each row.
fn list_of_texts(dtype: DType, rows: &Rows<'_>) -> Result<ListArray, ArrowError> {
    let (mut bytes, mut ends, mut lists) = (MutableBuffer::new(0), vec![0], vec![0]);
    for row in 0..rows.len() {
        let row = rows.row(row);
        for text in row.texts().expect("a row of texts holds texts").iter() {
            bytes.extend_from_slice(text.as_text());
            ends.push(i32::try_from(bytes.len()).map_err(|_| too_long())?);
        }
        lists.push(i32::try_from(ends.len() - 1).map_err(|_| too_long())?);
    }
    let all = texts(dtype, OffsetBuffer::new(ends.into()), bytes.into())?;
    ListArray::try_new(item(element_type(dtype)), OffsetBuffer::new(lists.into()), all, None)
}

fn list(dtype: DType, rows: &Rows<'_>) -> Result<ListArray, ArrowError> {
    let all = elements(dtype, rows.bytes());
    ListArray::try_new(item(element_type(dtype)), rows.offsets()?, all, None)
}

/// The extents of each row.
fn extents(rows: &Rows<'_>, axes: usize) -> Result<ArrayRef, ArrowError> {
    let mut all = Vec::with_capacity(rows.len() * axes);
    for row in 0..rows.len() {
        for &extent in rows.row(row).shape() {
            all.push(i32::try_from(extent).map_err(|_| too_long())?);
        }
    }
    let all = Arc::new(PrimitiveArray::<types::Int32Type>::from(all));
    let axes = i32::try_from(axes).expect("a tensor has at most six axes");
    Ok(Arc::new(FixedSizeListArray::try_new(item(DataType::Int32), axes, all, None)?))
}

/// The elements that lie in `bytes`.
fn elements(dtype: DType, bytes: Buffer) -> ArrayRef {
    macro_rules! array {
        ($($dtype:ident $(| $also:ident)?: $arrow:ident),+) => {
            match dtype {
                $(DType::$dtype $(| DType::$also)? => {
                    Arc::new(PrimitiveArray::<types::$arrow>::new(ScalarBuffer::from(bytes), None))
                })+
                DType::Bool => {
                    Arc::new(BooleanArray::from_iter(bytes.iter().map(|it| Some(*it != 0))))
                }
            }
        };
    }
    array! {
        U8 | Bytes: UInt8Type, U16 | BF16: UInt16Type, U32: UInt32Type, U64: UInt64Type,
        I8 | Str: Int8Type, I16: Int16Type, I32: Int32Type, I64: Int64Type,
        F16: Float16Type, F32: Float32Type, F64: Float64Type
    }
}

fn too_long() -> ArrowError {
    ArrowError::InvalidArgumentError("a list has more than 2³¹ elements".to_owned())
}
