//! A value in a few words.

use super::reading::Reading;
use crate::tools::kind::Kind;
use plan::DType;
use runtime::Tensor;
use serde::Serialize;
use std::fmt;

/// Characters of a text that are shown.
const TEXT_MAX: usize = 120;
/// Characters that are shown of each text of a batch.
const TEXTS_MAX: usize = 40;
/// Elements of a tensor that are shown, and texts of a batch.
const ELEMENTS_MAX: usize = 6;

/// A value in a few words.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Value {
    /// A number or a truth value, as it is written.
    Scalar {
        /// The number.
        value: String,
    },
    /// Text.
    Text {
        /// Its beginning.
        value: String,
        /// How long all of it is, in bytes.
        bytes: usize,
        /// Whether there is more than is shown.
        cut: bool,
    },
    /// Bytes without a meaning of their own.
    Bytes {
        /// How many.
        bytes: usize,
        /// What they look like.
        looks: Option<Kind>,
    },
    /// The texts of a batch.
    Texts {
        /// `str` or `bytes`.
        dtype: String,
        /// How many there are.
        len: usize,
        /// The first of them.
        first: Vec<Value>,
    },
    /// A tensor with axes.
    Tensor {
        /// The type of its elements.
        dtype: String,
        /// The extents, outermost first.
        shape: Vec<usize>,
        /// The first elements in C order.
        first: Vec<String>,
        /// Of numbers; none where there is no element.
        range: Option<Range>,
        /// What people read in the first of them, where they can: the text of token ids.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<Box<Value>>,
    },
}

/// What is said of many numbers together; those that are none (NaN) are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// How many are NaN.
    pub nan: usize,
}

impl Value {
    /// What `value` is.
    pub(crate) fn of(value: &Tensor<'_>) -> Self {
        if let Some(texts) = value.texts() {
            let first = texts.iter().take(ELEMENTS_MAX).map(|it| text(&it, TEXTS_MAX)).collect();
            return Self::Texts { dtype: texts.dtype().to_string(), len: texts.len(), first };
        }
        match (value.dtype(), value.shape()) {
            (DType::Bytes | DType::Str, _) => text(value, TEXT_MAX),
            (_, []) => Self::Scalar { value: number(value) },
            (dtype, shape) => {
                let flat = flat(value);
                let first = (0..flat.elements().min(ELEMENTS_MAX)).map(|it| flat.element(it));
                Self::Tensor {
                    dtype: dtype.to_string(),
                    shape: shape.to_vec(),
                    first: first.map(|it| number(&it)).collect(),
                    range: range(&flat),
                    text: None,
                }
            }
        }
    }

    /// The same with what people read in it.
    pub(super) fn read(mut self, value: &Tensor<'_>, reading: &Option<Reading>) -> Self {
        if let (Self::Tensor { text, .. }, Some(reading)) = (&mut self, reading) {
            let read = reading.of(value);
            *text = read.map(|(text, is_more)| Box::new(shortened(&text, is_more)));
        }
        self
    }
}

/// A text, up to so many characters; of bytes, what they look like.
fn text(value: &Tensor<'_>, most: usize) -> Value {
    if value.dtype() == DType::Bytes {
        let bytes = value.as_text();
        return Value::Bytes { bytes: bytes.len(), looks: Kind::of(bytes) };
    }
    let all = value.as_str();
    let value: String = all.chars().take(most).collect();
    let cut = value.len() < all.len();
    Value::Text { value, bytes: all.len(), cut }
}

/// The beginning of a text that goes on where there `is_more`.
fn shortened(text: &str, is_more: bool) -> Value {
    let value: String = text.chars().take(TEXT_MAX).collect();
    let cut = is_more || value.len() < text.len();
    Value::Text { value, bytes: text.len(), cut }
}

/// The elements in one row.
fn flat<'a>(value: &Tensor<'a>) -> Tensor<'a> {
    value.reshaped(&[value.elements()]).expect("columns have no gaps")
}

fn range(flat: &Tensor<'_>) -> Option<Range> {
    let (mut min, mut max, mut sum, mut nan) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0);
    for i in 0..flat.elements() {
        match flat.element(i).number() {
            it if it.is_nan() => nan += 1,
            it => {
                (min, max) = (min.min(it), max.max(it));
                sum += it;
            }
        }
    }
    let n = flat.elements() - nan;
    (n > 0).then(|| Range { min, max, mean: sum / n as f64, nan })
}

/// A scalar as it is written.
pub(crate) fn number(value: &Tensor<'_>) -> String {
    match value.dtype() {
        DType::Bool => value.first::<bool>().to_string(),
        DType::F64 => short(value.number()),
        it if it.is_float() => short(f64::from(value.number() as f32)),
        DType::U64 => value.first::<u64>().to_string(),
        _ => value.int().to_string(),
    }
}

/// A float with the digits that count: at most six.
pub(crate) fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let magnitude = number.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{number:.5e}");
    }
    let digits = (5.0 - magnitude).clamp(0.0, 10.0) as usize;
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar { value } => f.write_str(value),
            Self::Text { value, bytes, cut: true } => write!(f, "{value:?}… ({bytes} bytes)"),
            Self::Text { value, .. } => write!(f, "{value:?}"),
            Self::Bytes { bytes, looks: Some(kind) } => write!(f, "{bytes} bytes, {kind}"),
            Self::Bytes { bytes, looks: None } => write!(f, "{bytes} bytes"),
            Self::Texts { dtype, len, first } => {
                let shown: Vec<String> = first.iter().map(Self::to_string).collect();
                let more = if *len > first.len() { ", …" } else { "" };
                write!(f, "{dtype}[{len}] [{}{more}]", shown.join(", "))
            }
            Self::Tensor { dtype, shape, first, range, text } => {
                write!(f, "{dtype}{shape:?} [{}", first.join(", "))?;
                let more = shape.iter().product::<usize>() > first.len();
                f.write_str(if more { ", …]" } else { "]" })?;
                // Who can read what ids stand for needs no mean of them.
                if let Some(Self::Text { value, cut, .. }) = text.as_deref() {
                    return write!(f, "  {value:?}{}", if *cut { "…" } else { "" });
                }
                let Some(Range { min, max, mean, nan }) = range else { return Ok(()) };
                write!(f, "  {} to {}, mean {}", short(*min), short(*max), short(*mean))?;
                if *nan > 0 { write!(f, ", {nan} NaN") } else { Ok(()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_in_a_few_words() {
        let shown = |it: Tensor<'_>| Value::of(&it).to_string();
        assert_eq!(shown(Tensor::new(&[], &[0.1_f32])), "0.1");
        assert_eq!(
            shown(Tensor::new(&[2, 2], &[1_f32, f32::NAN, 3., 0.5])),
            "f32[2, 2] [1, NaN, 3, 0.5]  0.5 to 3, mean 1.5, 1 NaN"
        );
        let many: Vec<u8> = (0..10).collect();
        assert_eq!(
            shown(Tensor::new(&[10], &many)),
            "u8[10] [0, 1, 2, 3, 4, 5, …]  0 to 9, mean 4.5"
        );
        assert_eq!(shown(Tensor::new(&[0], &[] as &[u8])), "u8[0] []");
        assert_eq!(shown(Tensor::text(DType::Str, b"a\"b")), "\"a\\\"b\"");
        assert_eq!(shown(Tensor::text(DType::Bytes, b"GIF8")), "4 bytes, GIF");
        let long = "x".repeat(130);
        assert!(shown(Tensor::text(DType::Str, long.as_bytes())).ends_with("x\"… (130 bytes)"));
    }

    #[test]
    fn texts_of_a_batch_are_shown_escaped_and_shortened() {
        let shown = |dtype, all: &[&str]| {
            let builder = |ty| runtime::Builder::new(&ty, 1, &runtime::Pool::default());
            let mut texts = builder(plan::Type::scalar(dtype));
            all.iter().for_each(|it| texts.push_text(it.as_bytes()));
            let mut batch = builder(plan::Type::tensor(dtype, &[all.len() as u64]));
            batch.push_texts(&texts.finish(), all.len());
            Value::of(&batch.finish().row(0)).to_string()
        };
        let long = "é".repeat(41);
        assert_eq!(
            shown(DType::Str, &["a\"\u{1b}", "", &long]),
            format!("str[3] [\"a\\\"\\u{{1b}}\", \"\", \"{}\"… (82 bytes)]", "é".repeat(40))
        );
        assert_eq!(shown(DType::Bytes, &["GIF8"]), "bytes[1] [4 bytes, GIF]");
        assert!(shown(DType::Str, &["a"; 7]).ends_with("\"a\", …]"));
    }

    #[test]
    fn floats_have_the_digits_that_count() {
        let all = [0.0, 1.0, -2.117_904_2, 1e-7, 123_456_789.0, 2.5e20, 0.000_123_456_78];
        let shown: Vec<String> = all.into_iter().map(short).collect();
        assert_eq!(
            shown,
            ["0", "1", "-2.1179", "1.00000e-7", "123456789", "2.50000e20", "0.000123457"]
        );
    }
}
