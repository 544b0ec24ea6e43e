//! Safetensors: a header of JSON that says dtype, shape and place of each tensor, then their elements, end to end
//! (<https://github.com/huggingface/safetensors#format>).
//!
//! A file holds a batch or, of a pipeline without `batch`, the records of a shard, stacked along a new first axis. The
//! format has neither text nor rows of different lengths: they are `NAME.values` and `NAME.offsets`, as `batch` has
//! ragged fields. Tensors stand in the order in which the library `safetensors` writes them, by dtype and name, so that
//! the bytes are those of its `save`.

use super::{DataFormat, Format, Opened, Shard, values};
use plan::{DType, Extent, Field};
use runtime::Column;
use serde_json::json;
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat = DataFormat {
    name: "safetensors",
    extension: "safetensors",
    index: None,
    open: |fields| open(fields, record),
    open_batches: Some(|fields| open(fields, batch)),
    copies: 2,
};

/// Bytes that the header is a multiple of, with the length before it.
const ALIGN: usize = 8;
/// What the header keeps for what is no tensor.
const METADATA: &str = "__metadata__";

struct Safetensors {
    forms: Vec<Form>,
}

/// What becomes of a field.
#[derive(Clone, Copy)]
enum Form {
    /// The value of the only record, as it is.
    Whole,
    /// Those of all records, along a new first axis.
    Stacked,
    /// Rows end to end along their first axis, and where each begins and the last one ends.
    Ragged,
}

/// A tensor of a file.
struct Entry {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    content: Content,
}

enum Content {
    /// The elements of all rows, end to end.
    Rows(Column),
    Offsets(Vec<i64>),
}

fn open(fields: &[Field], form: fn(&Field) -> Result<Form, String>) -> Opened {
    let forms = fields.iter().map(form).collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<_> = fields.iter().zip(&forms).flat_map(|it| it.1.names(it.0)).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|it| it[0] == it[1]) {
        return Err(format!(
            "two fields would be the tensor `{}` of a file: rename one with `map`",
            twice[0]
        ));
    }
    if names.iter().any(|it| it == METADATA) {
        return Err(format!(
            "a file of safetensors has no tensor of the name `{METADATA}`: rename the field with `map`"
        ));
    }
    Ok(Box::new(Safetensors { forms }))
}

/// What becomes of a field of a batch, whose texts have the axis of its rows.
fn batch(field: &Field) -> Result<Form, String> {
    match text_axes(field) {
        None => Ok(Form::Whole),
        Some(0 | 1) => Ok(Form::Ragged),
        Some(_) => Err(lists_of_texts(field)),
    }
}

/// What becomes of a field of records.
fn record(field: &Field) -> Result<Form, String> {
    match (text_axes(field), field.ty.shape().unwrap_or_default()) {
        (Some(0), _) => Ok(Form::Ragged),
        (Some(_), _) => Err(lists_of_texts(field)),
        (None, _) if field.ty.fixed().is_some() => Ok(Form::Stacked),
        (None, [_, rest @ ..]) if rest.iter().all(|it| matches!(it, Extent::Known(_))) => {
            Ok(Form::Ragged)
        }
        (None, _) => Err(format!(
            "`{field}` does not fit safetensors, where records may differ in their first extent alone: make the \
             others equal, as with `resize`, or add `batch` with `pad`"
        )),
    }
}

/// The axes of a field of text; none of numbers.
fn text_axes(field: &Field) -> Option<usize> {
    let is_text = field.ty.is_untyped() || field.ty.dtype().is_some_and(DType::is_text);
    is_text.then(|| field.ty.shape().unwrap_or_default().len())
}

fn lists_of_texts(field: &Field) -> String {
    format!(
        "`{field}` does not fit safetensors, which has no lists of texts: use `--format parquet`, or drop it with \
         `map`"
    )
}

impl Form {
    /// The tensors of a field.
    fn names(self, field: &Field) -> Vec<String> {
        match self {
            Self::Whole | Self::Stacked => vec![field.name.clone()],
            Self::Ragged => [".values", ".offsets"].map(|it| field.name.clone() + it).into(),
        }
    }

    /// The same, with what they hold.
    fn entries(self, field: &Field, column: &Column) -> Vec<Entry> {
        let all = match self {
            Self::Whole => vec![Content::whole(column)],
            Self::Stacked => vec![Content::stacked(column)],
            Self::Ragged => Content::ragged(field, column).into(),
        };
        let entry = |(name, (dtype, shape, content))| Entry { name, dtype, shape, content };
        self.names(field).into_iter().zip(all).map(entry).collect()
    }
}

impl Format for Safetensors {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        let fields = shard.fields.iter().zip(&self.forms).zip(&shard.chunk.columns);
        let entries = fields.flat_map(|((field, form), column)| form.entries(field, column));
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort_by(|a, b| place_of(a.dtype).cmp(&place_of(b.dtype)).then(a.name.cmp(&b.name)));
        let mut out = io::BufWriter::new(out);
        let header = header(&entries)?;
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        entries.iter().try_for_each(|it| it.content.write(&mut out))?;
        out.flush()
    }
}

/// Dtype, extents and elements of a tensor.
type Described = (DType, Vec<usize>, Content);

impl Content {
    fn whole(column: &Column) -> Described {
        (column.dtype(), column.row(0).shape().to_vec(), Self::Rows(column.clone()))
    }

    fn stacked(column: &Column) -> Described {
        let each = column.shape().into_iter().flat_map(|it| it.iter().copied());
        let shape = [column.rows()].into_iter().chain(each).collect();
        (column.dtype(), shape, Self::Rows(column.clone()))
    }

    fn ragged(field: &Field, column: &Column) -> [Described; 2] {
        // The texts of a batch are one value of it.
        let rows = column.texts(0).unwrap_or_else(|| column.clone());
        let mut offsets = vec![0];
        let mut end = 0;
        for row in 0..rows.rows() {
            end += rows.row(row).shape()[0];
            offsets.push(end as i64);
        }
        let known = |it: &Extent| match it {
            Extent::Known(n) => *n as usize,
            Extent::Named(_) | Extent::Unknown => unreachable!("only the first extent differs"),
        };
        let rest = match rows.dtype().is_text() {
            true => &[],
            false => field.ty.shape().and_then(|it| it.get(1..)).unwrap_or_default(),
        };
        let shape = [end].into_iter().chain(rest.iter().map(known)).collect();
        [
            (rows.dtype(), shape, Self::Rows(rows)),
            (DType::I64, vec![offsets.len()], Self::Offsets(offsets)),
        ]
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Rows(column) => column.bytes(),
            Self::Offsets(all) => all.len() * size_of::<i64>(),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Rows(column) => match column.stacked() {
                Some(all) => out.write_all(&values::bytes(&all)),
                None => (0..column.rows())
                    .try_for_each(|it| out.write_all(&values::bytes(&column.row(it)))),
            },
            Self::Offsets(all) => all.iter().try_for_each(|it| out.write_all(&it.to_le_bytes())),
        }
    }
}

/// What says where each tensor is, filled up with spaces.
fn header(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let (mut header, mut begin) = (Vec::new(), 0);
    for Entry { name, dtype, shape, content } in entries {
        header.push(if header.is_empty() { b'{' } else { b',' });
        let end = begin + content.bytes();
        serde_json::to_writer(&mut header, name)?;
        let (dtype, shape) = (name_of(*dtype), json!(shape));
        write!(
            header,
            ":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{begin},{end}]}}"
        )?;
        begin = end;
    }
    header.push(b'}');
    header.resize(header.len().next_multiple_of(ALIGN), b' ');
    Ok(header)
}

/// Where tensors of a dtype stand among those of others: large elements first, so that all are aligned.
fn place_of(dtype: DType) -> Option<usize> {
    const ORDER: [&str; 13] =
        ["U64", "I64", "F64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16", "I8", "U8", "BOOL"];
    ORDER.iter().position(|it| *it == name_of(dtype))
}

fn name_of(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "BOOL",
        DType::U8 | DType::Str | DType::Bytes => "U8",
        DType::U16 => "U16",
        DType::U32 => "U32",
        DType::U64 => "U64",
        DType::I8 => "I8",
        DType::I16 => "I16",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Type;
    use runtime::{Builder, Chunk, ChunkBuilder, Pool, Shape};

    /// What `goldens/make.py` says.
    const GOLDEN: &[u8] = include_bytes!("goldens/tensors.safetensors");
    const DTYPES: [(&str, DType); 13] = [
        ("bool", DType::Bool),
        ("uint8", DType::U8),
        ("uint16", DType::U16),
        ("uint32", DType::U32),
        ("uint64", DType::U64),
        ("int8", DType::I8),
        ("int16", DType::I16),
        ("int32", DType::I32),
        ("int64", DType::I64),
        ("float16", DType::F16),
        ("bfloat16", DType::BF16),
        ("float32", DType::F32),
        ("float64", DType::F64),
    ];
    const ESCAPED: &str = "a \"b\"\n/ž";
    const BOXES: [f32; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

    fn field(name: &str, dtype: DType, shape: &[Extent]) -> Field {
        Field { name: name.into(), ty: Type::Tensor { dtype, shape: shape.to_vec() } }
    }

    /// Bytes that count on.
    fn push(to: &mut Builder, shape: &[usize], first: usize) {
        let is_bool = to.dtype() == DType::Bool;
        for (i, byte) in to.room(Shape::new(shape)).iter_mut().enumerate() {
            *byte = ((first + i) % if is_bool { 2 } else { 256 }) as u8;
        }
    }

    fn built(fields: &[Field], rows: usize, fill: &mut dyn FnMut(&mut [Builder])) -> Chunk {
        let mut chunk = ChunkBuilder::new(fields, rows, 0, &Pool::default());
        (0..rows).for_each(|it| chunk.ids.push_scalar(it as u64));
        fill(&mut chunk.columns);
        chunk.finish()
    }

    fn records() -> (Vec<Field>, Chunk) {
        use Extent::{Known, Unknown};
        let mut fields: Vec<Field> =
            DTYPES.iter().map(|it| field(it.0, it.1, &[Known(2), Known(3)])).collect();
        fields.push(field("boxes", DType::F32, &[Unknown, Known(2)]));
        fields.push(field("name", DType::Str, &[]));
        fields.push(field("raw", DType::Bytes, &[]));
        fields.push(field(ESCAPED, DType::U8, &[]));
        let chunk = built(&fields, 2, &mut |columns| {
            for column in &mut columns[..DTYPES.len()] {
                let bytes = 6 * column.dtype().size();
                [0, bytes].into_iter().for_each(|it| push(column, &[2, 3], it));
            }
            let [.., boxes, name, raw, escaped] = columns else { unreachable!() };
            boxes.push(&runtime::Tensor::new(&[1, 2], &BOXES[..2]));
            boxes.push(&runtime::Tensor::new(&[2, 2], &BOXES[2..]));
            ["žluť", ""].into_iter().for_each(|it| name.push_text(it.as_bytes()));
            [&[255, 0][..], &[7]].into_iter().for_each(|it| raw.push_text(it));
            [5_u8, 6].into_iter().for_each(|it| escaped.push_scalar(it));
        });
        (fields, chunk)
    }

    /// The same records as `batch` has them.
    fn batched() -> (Vec<Field>, Chunk) {
        use Extent::{Known, Unknown};
        let mut fields: Vec<Field> =
            DTYPES.iter().map(|it| field(it.0, it.1, &[Unknown, Known(2), Known(3)])).collect();
        fields.push(field("boxes.values", DType::F32, &[Unknown, Known(2)]));
        fields.push(field("boxes.offsets", DType::I64, &[Known(3)]));
        fields.push(field("name", DType::Str, &[Unknown]));
        fields.push(field("raw", DType::Bytes, &[Unknown]));
        fields.push(field(ESCAPED, DType::U8, &[Known(2)]));
        let texts = records().1;
        let [.., name, raw, _] = &texts.columns[..] else { unreachable!() };
        let chunk = built(&fields, 1, &mut |columns| {
            columns[..DTYPES.len()].iter_mut().for_each(|it| push(it, &[2, 2, 3], 0));
            let [.., values, offsets, names, raws, escaped] = columns else { unreachable!() };
            values.push(&runtime::Tensor::new(&[3, 2], &BOXES));
            offsets.push(&runtime::Tensor::new(&[3], &[0_i64, 1, 3]));
            names.push_texts(name, 2);
            raws.push_texts(raw, 2);
            escaped.push(&runtime::Tensor::new(&[2], &[5_u8, 6]));
        });
        (fields, chunk)
    }

    fn written(opened: Opened, fields: &[Field], chunk: &Chunk) -> Vec<u8> {
        let mut out = Vec::new();
        let shard = Shard { fields, chunk, first: 0 };
        opened.unwrap_or_else(|it| panic!("{it}")).write(&shard, &mut out).unwrap();
        out
    }

    #[test]
    fn bytes_are_those_of_the_library_for_records_and_for_batches() {
        let (fields, chunk) = records();
        assert_eq!(written(FORMAT.open(&fields), &fields, &chunk), GOLDEN);
        let (fields, chunk) = batched();
        let opened = FORMAT.open_batches(&fields).unwrap();
        assert_eq!(written(opened, &fields, &chunk), GOLDEN);
    }

    /// What stands in a chunk before and behind the records of a shard is not in its file.
    #[test]
    fn a_part_of_a_chunk_is_written_like_a_chunk_of_its_own() {
        let (fields, chunk) = records();
        let file = written(FORMAT.open(&fields), &fields, &chunk.cut(1..2));
        let header = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
        let text = str::from_utf8(&file[8..8 + header]).unwrap();
        assert!(text.contains("\"boxes.values\":{\"dtype\":\"F32\",\"shape\":[2,2],"), "{text}");
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        let bytes = |name: &str| {
            let [from, to] = [0, 1].map(|it| all[name]["data_offsets"][it].as_u64().unwrap());
            file[8 + header..][from as usize..to as usize].to_vec()
        };
        assert_eq!(bytes("raw.values"), [7]);
        assert!(bytes("name.values").is_empty());
        assert_eq!(bytes("raw.offsets"), [0_i64, 1].map(i64::to_le_bytes).concat());
        assert_eq!(
            bytes("boxes.values"),
            BOXES[2..].iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>()
        );
        assert_eq!(bytes("int16")[..3], [12, 13, 14]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_remedy() {
        use Extent::{Known, Unknown};
        let image = field("image", DType::U8, &[Unknown, Unknown, Known(3)]);
        let texts = field("words", DType::Str, &[Unknown]);
        let of_batches = field("words", DType::Str, &[Unknown, Known(2)]);
        let name = field("name", DType::Str, &[]);
        let values = field("name.values", DType::U8, &[]);
        let metadata = field(METADATA, DType::U8, &[]);
        let why = |opened: Opened| opened.err().unwrap();
        let open = |fields: &[&Field]| {
            FORMAT.open(&fields.iter().map(|it| (*it).clone()).collect::<Vec<_>>())
        };
        let refused = why(open(&[&image]));
        assert!(
            refused.starts_with("`image: u8[?, ?, 3]` does not fit") && refused.contains("`pad`"),
            "{refused}"
        );
        assert!(why(open(&[&texts])).contains("no lists of texts"));
        assert!(
            why(open(&[&name, &values])).contains("two fields would be the tensor `name.values`")
        );
        assert!(why(open(&[&metadata])).contains("no tensor of the name `__metadata__`"));
        assert!(why(FORMAT.open_batches(&[of_batches]).unwrap()).contains("no lists of texts"));
        assert!(FORMAT.open_batches(&[image, texts, name]).unwrap().is_ok());
    }
}
