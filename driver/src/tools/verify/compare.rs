//! Two streams of records: where do they differ first?

use crate::tools::peek::{id_text, number};
use plan::{DType, Field, hash, mix, things};
use runtime::{Chunk, Failure, Tensor};
use serde::Serialize;

/// Bytes of a text that are shown around the first that differs.
const TEXT_SHOWN: usize = 20;

/// Where two streams differ first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The output, from 0.
    pub output: u64,
    /// The epoch of it, in the plain plan and in the optimised one; none where one has ended.
    pub epochs: [Option<u32>; 2],
    /// Its id, 16 digits.
    pub ids: [Option<String>; 2],
    /// The field; none where the records themselves differ.
    pub field: Option<String>,
    /// What differs.
    pub detail: String,
}

/// What came of comparing two streams.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// Outputs that are the same.
    pub outputs: u64,
    /// A hash of them.
    pub hash: u64,
    /// How both ended, where they failed alike.
    pub failure: Option<Failure>,
    /// Why one of them ended early, where that was for want of memory: nothing is known then.
    pub exhausted: Option<Failure>,
    /// Where they differ first.
    pub difference: Option<Difference>,
    /// By how much numbers differ, where that is allowed.
    pub error: Error,
}

/// By how much the numbers of two streams differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Error {
    /// The largest difference of two numbers.
    pub max: f64,
    /// The mean of all differences, as large as they are.
    pub mean: f64,
    /// Numbers that were compared.
    pub numbers: u64,
}

impl Error {
    /// Adds the differences of two tensors of numbers and of the same extents.
    fn add(&mut self, a: &Tensor<'_>, b: &Tensor<'_>) {
        let (n, flat) = (a.elements(), |it: &Tensor<'_>, i: usize| number_at(it, i));
        let mut sum = self.mean * self.numbers as f64;
        for i in 0..n {
            let (x, y) = (flat(a, i), flat(b, i));
            // Infinities and NaNs that are the same differ by nothing.
            let apart = if x == y || x.is_nan() && y.is_nan() { 0.0 } else { (x - y).abs() };
            self.max = if apart > self.max || apart.is_nan() { apart } else { self.max };
            sum += apart;
        }
        self.numbers += n as u64;
        self.mean = sum / self.numbers.max(1) as f64;
    }
}

/// How far two streams are compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reach {
    /// Outputs at the most.
    pub limit: Option<u64>,
    /// Whether numbers may differ: then it is measured by how much.
    pub nearly: bool,
}

/// Compares what two runs give, whatever their chunks: ids, epochs, dtypes, extents, bytes, and
/// how they end. At most `limit` outputs.
pub fn compare(
    plain: &mut dyn Iterator<Item = Result<Chunk, Failure>>,
    optimised: &mut dyn Iterator<Item = Result<Chunk, Failure>>,
    fields: &[Field],
    reach: Reach,
) -> Compared {
    let (mut plain, mut optimised) = (Rows::of(plain), Rows::of(optimised));
    let mut compared = Compared::default();
    let mut nearly = reach.nearly.then(Error::default);
    while reach.limit.is_none_or(|it| compared.outputs < it) {
        let both = (plain.next(), optimised.next());
        let (Some(a), Some(b)) = both else {
            compared.exhausted = [&plain, &optimised].iter().find_map(|it| it.exhausted());
            if compared.exhausted.is_some() {
                break;
            }
            let more = [both.0.is_some(), both.1.is_some()];
            if more != [false; 2] && both_fail(&mut plain, &mut optimised) {
                compared.failure = plain.failure;
                break;
            }
            compared.difference = ended(compared.outputs, (&plain, both.0), (&optimised, both.1));
            compared.failure = plain.failure;
            break;
        };
        if let Some((field, detail)) = records((&a, &b), fields, &mut nearly) {
            let (epochs, ids) = ([Some(a.epoch), Some(b.epoch)], [id(&a), id(&b)]);
            let output = compared.outputs;
            compared.difference = Some(Difference { output, epochs, ids, field, detail });
            break;
        }
        for column in &a.columns {
            let row = column.row(0);
            compared.hash = mix(compared.hash, hash(bytes(&row)));
        }
        compared.outputs += 1;
    }
    compared.error = nearly.unwrap_or_default();
    compared
}

/// The records of chunks, one by one.
struct Rows<'a> {
    chunks: &'a mut dyn Iterator<Item = Result<Chunk, Failure>>,
    chunk: Option<Chunk>,
    row: usize,
    failure: Option<Failure>,
}

impl<'a> Rows<'a> {
    fn of(chunks: &'a mut dyn Iterator<Item = Result<Chunk, Failure>>) -> Self {
        Self { chunks, chunk: None, row: 0, failure: None }
    }

    /// Its failure, where it was for want of memory: of that the other one needs more or less.
    fn exhausted(&self) -> Option<Failure> {
        self.failure.clone().filter(|it| matches!(it, Failure::Memory { .. }))
    }

    fn next(&mut self) -> Option<Chunk> {
        while self.chunk.as_ref().is_none_or(|it| it.rows <= self.row) {
            match self.chunks.next()? {
                Ok(chunk) => (self.chunk, self.row) = (Some(chunk), 0),
                Err(failure) => {
                    self.failure = Some(failure);
                    return None;
                }
            }
        }
        self.row += 1;
        self.chunk.as_ref().map(|it| it.cut(self.row - 1..self.row))
    }
}

impl Difference {
    /// Whether other records came, rather than the same ones with other values.
    pub(super) fn is_of_records(&self) -> bool {
        self.ids[0] != self.ids[1] || self.field.is_none()
    }

    /// A difference of the streams as a whole.
    pub(super) fn at_end(output: u64, detail: String) -> Self {
        Self { output, epochs: [None; 2], ids: [None, None], field: None, detail }
    }
}

fn id(chunk: &Chunk) -> Option<String> {
    Some(id_text(chunk.ids()[0]))
}

fn bytes<'a>(value: &Tensor<'a>) -> &'a [u8] {
    value.as_bytes().expect("columns have no gaps")
}

/// The first difference of two records, with its field.
fn records(
    (a, b): (&Chunk, &Chunk),
    fields: &[Field],
    nearly: &mut Option<Error>,
) -> Option<(Option<String>, String)> {
    for ((field, a), b) in fields.iter().zip(&a.columns).zip(&b.columns) {
        let (a, b) = (a.row(0), b.row(0));
        let alike = (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && !a.dtype().is_text();
        if let Some(error) = nearly.as_mut().filter(|_| alike) {
            error.add(&a, &b);
        } else if let Some(detail) = values(&a, &b) {
            return Some((Some(field.name.clone()), detail));
        }
    }
    if a.columns.len() != b.columns.len() {
        return Some((
            None,
            format!(
                "{} in the plain plan, {} in the optimized one",
                things(a.columns.len() as u64, "field", "fields"),
                b.columns.len()
            ),
        ));
    }
    if a.epoch != b.epoch {
        return Some((
            None,
            format!(
                "it belongs to epoch {} in the plain plan, {} in the optimized one",
                a.epoch, b.epoch
            ),
        ));
    }
    (a.ids() != b.ids()).then(|| (None, "the values are the same, the ids are not".to_owned()))
}

fn values(a: &Tensor<'_>, b: &Tensor<'_>) -> Option<String> {
    let (dtype, size) = (a.dtype(), a.dtype().size());
    if (dtype, a.shape()) != (b.dtype(), b.shape()) && !dtype.is_text() {
        return Some(format!("{a:?} in the plain plan, {b:?} in the optimized one"));
    }
    if let (Some(ours), Some(theirs)) = (a.texts(), b.texts()) {
        if ours.len() != theirs.len() {
            let (ours, theirs) = (ours.len(), theirs.len());
            return Some(format!(
                "{ours} strings in the plain plan, {theirs} in the optimized one"
            ));
        }
        let mut pairs = ours.iter().zip(theirs.iter()).enumerate();
        return pairs.find_map(|(i, (a, b))| Some(format!("text {i} {}", values(&a, &b)?)));
    }
    let (ours, theirs) = (bytes(a), bytes(b));
    if ours == theirs {
        return None;
    }
    let same = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    if dtype.is_text() {
        let shown = |it: &[u8]| {
            let end = (same + TEXT_SHOWN).min(it.len());
            format!("{:?} of {} bytes", String::from_utf8_lossy(&it[same..end]), it.len())
        };
        return Some(format!(
            "from byte {same} on it is {} in the plain plan, {} in the optimized one",
            shown(ours),
            shown(theirs)
        ));
    }
    let element = same / size;
    let shown = |it: &Tensor<'_>| {
        exact(&it.reshaped(&[it.elements()]).expect("columns have no gaps").element(element))
    };
    let (a, b) = (shown(a), shown(b));
    Some(format!("element {element} is {a} in the plain plan, {b} in the optimized one"))
}

fn number_at(tensor: &Tensor<'_>, element: usize) -> f64 {
    let flat = tensor.reshaped(&[tensor.elements()]).expect("columns have no gaps");
    flat.element(element).number()
}

/// A number with all its digits.
fn exact(value: &Tensor<'_>) -> String {
    match value.dtype() {
        DType::F64 => value.number().to_string(),
        it if it.is_float() => (value.number() as f32).to_string(),
        _ => number(value),
    }
}

/// Whether one has met a record that ends the run, and the other one meets such a record further on:
/// what works on records ahead of their turn meets it earlier.
fn both_fail(a: &mut Rows<'_>, b: &mut Rows<'_>) -> bool {
    let failed = |it: &Rows<'_>| matches!(it.failure, Some(Failure::Record { .. }));
    if !failed(a) && !failed(b) {
        return false;
    }
    while a.failure.is_none() && a.next().is_some() {}
    while b.failure.is_none() && b.next().is_some() {}
    failed(a) && failed(b)
}

/// What is different where one stream, or each, has no more records.
fn ended(
    output: u64,
    (plain, a): (&Rows<'_>, Option<Chunk>),
    (optimised, b): (&Rows<'_>, Option<Chunk>),
) -> Option<Difference> {
    let how = |rows: &Rows<'_>| match &rows.failure {
        Some(failure) => format!("ends with `{failure}`"),
        None => "ends".to_owned(),
    };
    let (ours, theirs) = match (&a, &b) {
        (None, None) if same_end(plain.failure.as_ref(), optimised.failure.as_ref()) => {
            return None;
        }
        (None, None) => (how(plain), how(optimised)),
        (None, Some(_)) => (how(plain), "has more".to_owned()),
        _ => ("has more".to_owned(), how(optimised)),
    };
    Some(Difference {
        output,
        epochs: [a.as_ref().map(|it| it.epoch), b.as_ref().map(|it| it.epoch)],
        ids: [a.as_ref().and_then(id), b.as_ref().and_then(id)],
        field: None,
        detail: format!("the plain plan {ours}, the optimized one {theirs}"),
    })
}

/// Whether two runs end alike. Places are left out, since rewritten steps stand elsewhere, and so
/// are names of records, which are what a step has at hand.
fn same_end(a: Option<&Failure>, b: Option<&Failure>) -> bool {
    match (a, b) {
        (Some(Failure::Record { fault: a, .. }), Some(Failure::Record { fault: b, .. })) => a == b,
        (Some(Failure::Budget { .. }), Some(Failure::Budget { .. })) => true,
        (Some(Failure::Data { detail: a, .. }), Some(Failure::Data { detail: b, .. })) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Type;
    use runtime::{ChunkBuilder, Fault, Pool};

    fn fields() -> [Field; 2] {
        let field = |name: &str, ty| Field { name: name.to_owned(), ty };
        [field("x", Type::tensor(DType::F32, &[2])), field("t", Type::scalar(DType::Str))]
    }

    /// Records with these numbers, in chunks of `rows`.
    fn chunks(numbers: &[f32], rows: usize) -> Vec<Result<Chunk, Failure>> {
        let chunk = |numbers: &[f32]| {
            let mut out = ChunkBuilder::new(&fields(), 4, 0, &Pool::default());
            for &it in numbers {
                out.ids.push_scalar(it as u64);
                out.columns[0].push(&Tensor::new(&[2], &[0.5, it]));
                out.columns[1].push_text(format!("t{it}").as_bytes());
            }
            Ok(out.finish())
        };
        numbers.chunks(rows).map(chunk).collect()
    }

    fn compared(a: Vec<Result<Chunk, Failure>>, b: Vec<Result<Chunk, Failure>>) -> Compared {
        compare(&mut a.into_iter(), &mut b.into_iter(), &fields(), Reach::default())
    }

    fn torn(record: &str, detail: &'static str) -> Result<Chunk, Failure> {
        let (label, step, fault) = (String::new(), "".into(), Fault::new("torn", detail));
        Err(Failure::Record { label, step, id: 0, record: record.into(), fault })
    }

    #[test]
    fn chunks_do_not_matter() {
        let same = compared(chunks(&[1., 2., 3., 4.], 3), chunks(&[1., 2., 3., 4.], 2));
        assert_eq!((same.outputs, same.difference), (4, None));
        let other = compared(chunks(&[1., 2., 4., 3.], 3), chunks(&[1., 2., 4., 3.], 4));
        assert_ne!(same.hash, other.hash);
    }

    #[test]
    fn the_first_element_that_differs_is_named() {
        let found = compared(chunks(&[1., 2., 3.], 2), chunks(&[1., 2.000_000_2, 5.], 3));
        let found = found.difference.unwrap();
        assert_eq!((found.output, found.field.as_deref()), (1, Some("x")));
        assert_eq!(
            found.detail,
            "element 1 is 2 in the plain plan, 2.0000002 in the optimized one"
        );
    }

    #[test]
    fn what_may_differ_is_measured() {
        let [mut a, mut b] = [&[1., 2., 3.], &[1., 2.5, 3.]].map(|it| chunks(it, 2).into_iter());
        let near = compare(&mut a, &mut b, &fields()[..1], Reach { nearly: true, limit: None });
        // Text has no distance: it has to be the same, here it is not looked at.
        assert_eq!(near.difference, None);
        assert_eq!((near.error.max, near.error.mean, near.error.numbers), (0.5, 0.5 / 6.0, 6));
        let [mut a, mut b] = [&[1., 2.], &[1., 2.5]].map(|it| chunks(it, 2).into_iter());
        let text = compare(&mut a, &mut b, &fields(), Reach { nearly: true, limit: None });
        assert_eq!(text.difference.unwrap().field.as_deref(), Some("t"));
    }

    #[test]
    fn ids_and_ends_count() {
        let ends = compared(chunks(&[1., 2.], 2), chunks(&[1.], 2)).difference.unwrap();
        assert_eq!(ends.detail, "the plain plan has more, the optimized one ends");
        assert_eq!(ends.ids, [Some(id_text(2)), None]);
        let mut other = chunks(&[1.], 1);
        let ids = chunks(&[7.], 1).remove(0).unwrap().ids;
        other[0].as_mut().unwrap().ids = ids;
        let ids = compared(chunks(&[1.], 1), other).difference.unwrap();
        assert_eq!(ids.detail, "the values are the same, the ids are not");
    }

    #[test]
    fn the_same_fault_is_no_difference() {
        let with = |end| chunks(&[1.], 1).into_iter().chain([end]).collect::<Vec<_>>();
        let same = compared(with(torn("`a`", "it is torn")), with(torn("record 1", "it is torn")));
        assert!(same.difference.is_none() && same.failure.is_some() && same.outputs == 1);
        let later = chunks(&[1., 2.], 1).into_iter().chain([torn("`a`", "it is torn")]).collect();
        let earlier = compared(with(torn("`a`", "it is torn")), later);
        assert!(earlier.difference.is_none() && earlier.failure.is_some() && earlier.outputs == 1);
        let other = compared(with(torn("`a`", "it is torn")), with(torn("`a`", "it is empty")));
        assert!(other.difference.is_some());
    }
}
