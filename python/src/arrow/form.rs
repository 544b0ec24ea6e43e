//! What the rows of a field are in Arrow: where the layouts are the same, the memory of the batch.
//!
//! | rows | in Arrow | copied |
//! |---|---|---|
//! | numbers | the same | no |
//! | `bool` | bits | yes |
//! | `bf16` | `uint16`, marked as in files | no |
//! | text, bytes | `large_string`, `large_binary` | no |
//! | `t[n]` | fixed-size list | no |
//! | more axes, of known extents | fixed-shape tensor | no |
//! | one axis of any length | large list | no, or the offsets |
//! | more axes of any length | struct of `data` and `shape` | no, or offsets and shapes |

use super::{
    Strings,
    capsule::{Buffer, Data, Type},
};
use crate::{array, array::Layout, held::Held, schema};
use plan::DType;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyList, PyString},
};
use std::ffi::CString;

/// What each row of a field is.
pub(crate) struct Form {
    dtype: DType,
    row: Row,
}

enum Row {
    Scalar,
    Text,
    /// Several texts.
    Texts,
    /// Of known extents.
    Fixed(Vec<usize>),
    /// So many axes of any length.
    Any(usize),
    /// So many rows of another form.
    Rows(Box<Form>),
}

impl Form {
    /// What the fields of a pipeline are, as they are declared.
    pub(crate) fn all(program: &plan::Program) -> Vec<(String, Self)> {
        let form = |it: schema::Told| {
            let (name, dtype, extents, is_ragged) = it;
            let dtype = DType::named(&dtype).unwrap_or(DType::Str);
            // Those of batches begin with that of the batch; of ragged ones, that of its rows follows.
            let rows = usize::from(program.batched) + usize::from(is_ragged);
            let form = Self::of(dtype, extents.get(rows..).unwrap_or_default());
            (name, if is_ragged { Self { dtype, row: Row::Rows(Box::new(form)) } } else { form })
        };
        schema::told(program).into_iter().map(form).collect()
    }

    fn of(dtype: DType, extents: &[Option<u64>]) -> Self {
        let known: Option<Vec<usize>> =
            extents.iter().map(|it| it.and_then(|it| usize::try_from(it).ok())).collect();
        let row = match known {
            Some(known) if known.is_empty() && dtype.is_text() => Row::Text,
            _ if dtype.is_text() => Row::Texts,
            Some(known) if known.is_empty() => Row::Scalar,
            Some(known) => Row::Fixed(known),
            None => Row::Any(extents.len()),
        };
        Self { dtype, row }
    }

    /// What the rows of a value are.
    pub(crate) fn of_value(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(strings) = value.cast::<Strings>() {
            return Ok(Self { dtype: strings.get().0.column().dtype(), row: Row::Text });
        }
        if let Ok(list) = value.cast::<PyList>() {
            return of_list(list);
        }
        if let Ok((layout, _)) = array::of(value) {
            let Some((_, extents)) = layout.shape().split_first() else {
                return Err(PyTypeError::new_err("it is a single number, not one for each row"));
            };
            let extents: Vec<_> = extents.iter().map(|it| Some(*it as u64)).collect();
            return Ok(Self::of(layout.dtype, &extents));
        }
        if let Some(ragged) = Ragged::of(value)? {
            let (values, _) = array::of(&ragged.values)?;
            let dtype = values.dtype;
            let row = match &ragged.shapes {
                Some(shapes) => {
                    Row::Any(array::of(shapes)?.0.shape().get(1).map_or(1, |it| *it as usize))
                }
                None => Row::Rows(Box::new(Self::of_value(&ragged.values)?)),
            };
            return Ok(Self { dtype, row });
        }
        let kind = value.get_type();
        Err(PyTypeError::new_err(format!("it is {kind}, not an array or text of a pipec batch")))
    }

    /// The type of such a field.
    pub(crate) fn ty(&self, name: &str) -> Type {
        let element = || Self { dtype: self.dtype, row: Row::Scalar }.ty("item");
        let typed = |format: &str, metadata, children| Type {
            format: CString::new(format).expect("formats have no zero bytes"),
            name: CString::new(name.replace('\0', "")).expect("zero bytes were removed"),
            metadata,
            children,
        };
        match &self.row {
            Row::Scalar | Row::Text => {
                let bf16 = ("pipec:dtype", "bf16".to_owned());
                let metadata = if self.dtype == DType::BF16 { vec![bf16] } else { Vec::new() };
                typed(letter(self.dtype), metadata, Vec::new())
            }
            Row::Texts => typed("+L", Vec::new(), vec![element()]),
            Row::Fixed(extents) => {
                let n: usize = extents.iter().product();
                let shown: Vec<String> = extents.iter().map(usize::to_string).collect();
                let shape = format!("{{\"shape\":[{}]}}", shown.join(","));
                let name = ("ARROW:extension:name", "arrow.fixed_shape_tensor".to_owned());
                let metadata = match extents.len() {
                    1 => Vec::new(),
                    _ => vec![name, ("ARROW:extension:metadata", shape)],
                };
                typed(&format!("+w:{n}"), metadata, vec![element()])
            }
            Row::Any(1) => typed("+L", Vec::new(), vec![element()]),
            Row::Any(axes) => {
                let data = Self { dtype: self.dtype, row: Row::Any(1) }.ty("data");
                let shape = Self { dtype: DType::I32, row: Row::Fixed(vec![*axes]) }.ty("shape");
                typed("+s", Vec::new(), vec![data, shape])
            }
            Row::Rows(of) => typed("+L", Vec::new(), vec![of.ty("item")]),
        }
    }

    /// The rows of a value of this form.
    pub(crate) fn data(&self, value: &Bound<'_, PyAny>) -> PyResult<Data> {
        if let Ok(strings) = value.cast::<Strings>()
            && let Row::Text = self.row
        {
            return Ok(of_strings(strings.get()));
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.of_texts(list);
        }
        if let Some(ragged) = Ragged::of(value)? {
            return self.of_ragged(&ragged);
        }
        if let Ok((layout, held)) = array::of(value) {
            return self.of_array(layout, &held);
        }
        let kind = value.get_type();
        Err(PyTypeError::new_err(format!("it is {kind}, not an array or text of a pipec batch")))
    }

    fn of_array(&self, layout: &Layout, held: &Held) -> PyResult<Data> {
        let extents: Vec<usize> = layout.shape().iter().map(|it| *it as usize).collect();
        let Some((&rows, extents)) = extents.split_first() else {
            return Err(PyTypeError::new_err("it is a single number, not one for each row"));
        };
        let each: usize = extents.iter().product();
        let fits = match &self.row {
            Row::Scalar => extents.is_empty(),
            Row::Fixed(wanted) => wanted == extents,
            Row::Any(axes) => extents.len() == *axes,
            Row::Text | Row::Texts | Row::Rows(_) => false,
        };
        let plain = Layout::new(layout.data, layout.dtype, &[&[rows], extents].concat());
        if !fits || layout.dtype != self.dtype || plain.strides() != layout.strides() {
            return Err(unlike(layout, self));
        }
        let elements = numbers(self.dtype, (layout.data, rows * each), held);
        let offsets = || Buffer::Own((0..=rows as u64).map(|it| it * each as u64).collect());
        Ok(match &self.row {
            Row::Fixed(_) => Data { length: rows, buffers: Vec::new(), children: vec![elements] },
            Row::Any(axes) => {
                let data =
                    Data { length: rows, buffers: vec![offsets()], children: vec![elements] };
                let shapes = extents.iter().map(|it| *it as i32).cycle().take(rows * axes);
                let shapes = Buffer::Bytes(shapes.flat_map(i32::to_ne_bytes).collect());
                if *axes == 1 { data } else { shaped(data, *axes, shapes) }
            }
            _ => elements,
        })
    }

    fn of_ragged(&self, ragged: &Ragged<'_>) -> PyResult<Data> {
        let ((values, held), (offsets, held_offsets)) =
            (array::of(&ragged.values)?, array::of(&ragged.offsets)?);
        let n = values.shape().first().map_or(0, |it| *it as usize);
        let rows = checked(offsets, n)?;
        let starts = Buffer::Held { at: offsets.data, _held: held_offsets };
        let list = |children| Data { length: rows, buffers: vec![starts], children };
        let shapes = ragged.shapes.as_ref().map(array::of).transpose()?;
        match (&self.row, shapes) {
            (Row::Rows(of), None) => Ok(list(vec![of.data(&ragged.values)?])),
            (Row::Any(axes), Some((shapes, held_shapes)))
                if values.axes == 1
                    && values.dtype == self.dtype
                    && shapes.dtype == DType::U32
                    && shapes.shape() == [rows as isize, *axes as isize] =>
            {
                let data = list(vec![numbers(self.dtype, (values.data, n), &held)]);
                let shapes = Buffer::Held { at: shapes.data, _held: held_shapes };
                Ok(if *axes == 1 { data } else { shaped(data, *axes, shapes) })
            }
            _ => Err(unlike(values, self)),
        }
    }

    /// Those of lists of Python, which are copied.
    fn of_texts(&self, list: &Bound<'_, PyList>) -> PyResult<Data> {
        if let Row::Text = self.row {
            let (mut bytes, mut ends) = (Vec::new(), vec![0]);
            append(list.as_any(), self.dtype, (&mut bytes, &mut ends))?;
            return Ok(texts(bytes, ends));
        }
        let Row::Texts = self.row else {
            return Err(PyTypeError::new_err("it is a list, where an array is expected"));
        };
        let (mut bytes, mut ends, mut lists) = (Vec::new(), vec![0], vec![0]);
        for each in list.iter() {
            append(&each, self.dtype, (&mut bytes, &mut ends))?;
            lists.push(ends.len() as u64 - 1);
        }
        let length = lists.len() - 1;
        Ok(Data { length, buffers: vec![Buffer::Own(lists)], children: vec![texts(bytes, ends)] })
    }
}

/// `pipec.Ragged`, of our own arrays.
struct Ragged<'py> {
    values: Bound<'py, PyAny>,
    offsets: Bound<'py, PyAny>,
    shapes: Option<Bound<'py, PyAny>>,
}

impl<'py> Ragged<'py> {
    fn of(value: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let class = value.py().import("pipec._columns")?.getattr("Ragged")?;
        if !value.is_instance(&class)? {
            return Ok(None);
        }
        let shapes = value.getattr("shapes")?;
        Ok(Some(Self {
            values: value.getattr("values")?,
            offsets: value.getattr("offsets")?,
            shapes: Some(shapes).filter(|it| !it.is_none()),
        }))
    }
}

/// How many rows these offsets are of. They may have been written to since they came.
fn checked(offsets: &Layout, values: usize) -> PyResult<usize> {
    let wrong = || {
        PyValueError::new_err(format!(
            "its offsets do not increase from 0 to {values}, the number of its values"
        ))
    };
    let [n] = offsets.shape() else { return Err(wrong()) };
    if offsets.dtype != DType::I64 || *n < 1 {
        return Err(wrong());
    }
    // SAFETY: so many lie there, as the caller holds what keeps them; the GIL is held.
    let all = unsafe { std::slice::from_raw_parts(offsets.data.cast::<i64>(), *n as usize) };
    let end = all.last().copied().unwrap_or(0);
    if all[0] < 0 || !all.is_sorted() || end > values as i64 {
        return Err(wrong());
    }
    Ok(all.len() - 1)
}

fn of_list(list: &Bound<'_, PyList>) -> PyResult<Form> {
    let text = |it: &Bound<'_, PyAny>| {
        if it.is_instance_of::<PyString>() {
            return Some(DType::Str);
        }
        it.is_instance_of::<PyBytes>().then_some(DType::Bytes)
    };
    let Some(first) = list.iter().next() else {
        return Ok(Form { dtype: DType::Str, row: Row::Text });
    };
    if let Some(dtype) = text(&first) {
        return Ok(Form { dtype, row: Row::Text });
    }
    let inner = first.try_iter()?.next().transpose()?;
    match inner.map_or(Some(DType::Str), |it| text(&it)) {
        Some(dtype) => Ok(Form { dtype, row: Row::Texts }),
        None => Err(PyTypeError::new_err("it is a list of something else than texts")),
    }
}

/// Appends texts to those that there are.
fn append(
    texts: &Bound<'_, PyAny>,
    dtype: DType,
    (bytes, ends): (&mut Vec<u8>, &mut Vec<u64>),
) -> PyResult<()> {
    for text in texts.try_iter()? {
        let text = text?;
        match dtype {
            DType::Str => bytes.extend(text.cast::<PyString>()?.to_cow()?.as_bytes()),
            _ => bytes.extend(text.cast::<PyBytes>()?.as_bytes()),
        }
        ends.push(bytes.len() as u64);
    }
    Ok(())
}

fn texts(bytes: Vec<u8>, ends: Vec<u64>) -> Data {
    let length = ends.len() - 1;
    Data { length, buffers: vec![Buffer::Own(ends), Buffer::Bytes(bytes)], children: Vec::new() }
}

fn of_strings(strings: &Strings) -> Data {
    let column = strings.0.column();
    let ragged = column.ragged().expect("the rows of text are of any length");
    let held = |at| Buffer::Held { at, _held: strings.0.clone() };
    let offsets = held(ragged.offsets.as_ptr().cast());
    let values = held(ragged.values.as_ptr().cast_const().cast());
    Data { length: column.rows(), buffers: vec![offsets, values], children: Vec::new() }
}

/// So many numbers, where they lie; of `bool`, bits.
fn numbers(dtype: DType, (data, n): (*mut u8, usize), held: &Held) -> Data {
    let buffer = match dtype {
        DType::Bool if n > 0 => {
            // SAFETY: so many bytes lie there while `held` lives; the GIL is held.
            let all = unsafe { std::slice::from_raw_parts(data, n) };
            let byte = |it: &[u8]| {
                it.iter().enumerate().fold(0, |all, (at, it)| all | u8::from(*it != 0) << at)
            };
            Buffer::Bytes(all.chunks(8).map(byte).collect())
        }
        _ => Buffer::Held { at: data, _held: held.clone() },
    };
    Data { length: n, buffers: vec![buffer], children: Vec::new() }
}

/// Rows of several axes: their elements, and their extents.
fn shaped(data: Data, axes: usize, shapes: Buffer) -> Data {
    let length = data.length;
    let all = Data { length: length * axes, buffers: vec![shapes], children: Vec::new() };
    let shapes = Data { length, buffers: Vec::new(), children: vec![all] };
    Data { length, buffers: Vec::new(), children: vec![data, shapes] }
}

fn unlike(layout: &Layout, form: &Form) -> PyErr {
    let shape: Vec<String> = layout.shape().iter().map(isize::to_string).collect();
    PyValueError::new_err(format!(
        "it is {}[{}], which is not what the pipeline gives: {}",
        layout.dtype,
        shape.join(", "),
        form.dtype
    ))
}

fn letter(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "b",
        DType::U8 => "C",
        DType::U16 | DType::BF16 => "S",
        DType::U32 => "I",
        DType::U64 => "L",
        DType::I8 => "c",
        DType::I16 => "s",
        DType::I32 => "i",
        DType::I64 => "l",
        DType::F16 => "e",
        DType::F32 => "f",
        DType::F64 => "g",
        DType::Str => "U",
        DType::Bytes => "Z",
    }
}
