//! `moments`: how many records a stream has, and mean and standard deviation of a value of them.

use super::{
    group::failure,
    reduce::{Reduction, push, reduce, type_of},
};
use crate::prelude::*;
use runtime::{Column, OperatorCall, Running};

operator! {
    /// Counts the records of a stream, and computes mean and standard deviation of a value.
    ///
    /// Use it in a constant, to normalize features: `const SEEN = rides |> moments(of: x)`, then
    /// `(x - SEEN.mean) / SEEN.std`. The constant is computed before the run, and cached for later runs as long as the
    /// program and its inputs are the same.
    ///
    /// `of` is a number, a `bool`, or a tensor of known extents; each of its elements has its own mean and standard
    /// deviation. `std` is that of the records themselves, not an estimate for a population that they were drawn from
    /// (NumPy's `ddof=0`); it is 0 if all values are equal. The result has `n`, `mean` and `std`: one record.
    ///
    /// Values are added in the order of the records, with twice the precision of `f64`, so the result does not depend
    /// on threads, and is within 1e-12 of NumPy's. A value that is not finite ends the run, and so does a stream
    /// without records.
    ///
    /// ```pipe
    /// range(5) |> moments(of: f32(i))    # { n: i64, mean: f64, std: f64 }
    /// ```
    ///
    /// ```pipe
    /// range(5) |> moments(of: [i, i * i])    # { n: i64, mean: f64[2], std: f64[2] }
    /// ```
    "moments(stream: stream, of: each any) -> stream",
    // Assumed: an element is added in about 12 ns, whatever its size.
    cost: Cost { ns_byte_in: 2.0, ..Cost::call(10.0) },
    properties: &[Property::Does(Action::Reduce)],
    fields: Some(fields),
}

/// Elements of the value, at the most.
const ELEMENTS_MAX: usize = 1 << 20;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let of = type_of(applied).ok_or("`of` must be a value of the record")?;
    let shape = match (&of, of.fixed()) {
        (Type::Tensor { .. }, Some(shape)) => shape,
        (Type::Tensor { dtype, .. }, None) if !dtype.is_text() => {
            return Err(format!(
                "`of` is `{of}`, whose extents are not known at compile time: compute something of a fixed size of \
                 it, such as its mean"
            ));
        }
        _ => return Err(format!("`of` is `{of}`, but must be a number or a tensor of numbers")),
    };
    let elements = shape.iter().try_fold(1_usize, |all, it| all.checked_mul(*it));
    if elements.is_none_or(|it| it > ELEMENTS_MAX) {
        return Err(format!("`of` is `{of}`, but may have at most {ELEMENTS_MAX} elements"));
    }
    let extents = shape.iter().map(|it| Extent::Known(*it as u64)).collect();
    let each = Type::Tensor { dtype: DType::F64, shape: extents };
    let field = |name: &str, ty: Type| Field { name: name.to_owned(), ty };
    let n = field("n", Type::scalar(DType::I64));
    Ok(vec![n, field("mean", each.clone()), field("std", each)])
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let shape = call.columns[1].ty.fixed().expect("the extents are known");
    let elements = shape.iter().product();
    let sums = vec![Sums::default(); elements];
    let values = Vec::with_capacity(elements);
    reduce(call, Moments { shape, first: Vec::new(), sums, values, bytes: Vec::new(), n: 0 })
}

struct Moments {
    shape: Vec<usize>,
    /// The values of the first record: what is added is how far others are from them, so that nothing is lost
    /// where values are large and close to each other.
    first: Vec<f64>,
    sums: Vec<Sums>,
    /// Of one record: its values, and what they were read from.
    values: Vec<f64>,
    bytes: Vec<u8>,
    n: u64,
}

/// The sums of one element over the records: of its distances from the first value, and of their squares.
#[derive(Clone, Copy, Default)]
struct Sums {
    plain: Double,
    squares: Double,
}

impl Reduction for Moments {
    fn add(&mut self, values: &Column) -> Result<(), Failure> {
        (0..values.rows()).try_for_each(|row| self.add_value(&values.row(row)))
    }

    /// What came of all records.
    fn write(&self, record: &mut ChunkBuilder) -> Result<(), Failure> {
        if self.n == 0 {
            return Err(failure("the stream has no records, so the mean is undefined"));
        }
        let n = self.n as f64;
        let all = self.sums.iter().zip(&self.first).map(|(sums, first)| sums.moments(n, *first));
        let (means, deviations): (Vec<f64>, Vec<f64>) = all.unzip();
        if means.iter().chain(&deviations).any(|it| !it.is_finite()) {
            return Err(failure(
                "the values are so large that their squares exceed `f64`: scale them first",
            ));
        }
        record.columns[0].push_scalar(self.n as i64);
        push(&mut record.columns[1], &self.shape, &means, f64::to_ne_bytes);
        push(&mut record.columns[2], &self.shape, &deviations, f64::to_ne_bytes);
        Ok(())
    }
}

impl Moments {
    fn add_value(&mut self, value: &Tensor<'_>) -> Result<(), Failure> {
        read(value, &mut self.bytes, &mut self.values);
        if let Some(wrong) = self.values.iter().find(|it| !it.is_finite()) {
            let n = self.n;
            return Err(failure(format!(
                "record {n} of the stream contains {wrong}, so the mean is undefined: drop such records with \
                 `where`, or replace the value"
            )));
        }
        if self.n == 0 {
            self.first = self.values.clone();
        }
        for ((sums, value), first) in self.sums.iter_mut().zip(&self.values).zip(&self.first) {
            let (far, rest) = two_sum(*value, -*first);
            sums.plain.add(far);
            sums.plain.add(rest);
            let (square, error) = two_product(far, far);
            sums.squares.add(square);
            sums.squares.add(error + 2.0 * far * rest);
        }
        self.n += 1;
        Ok(())
    }
}

impl Sums {
    /// Mean and standard deviation of `n` values.
    fn moments(&self, n: f64, first: f64) -> (f64, f64) {
        let far = self.plain.over(n);
        let (mean, error) = two_sum(first, far.high);
        let mean = mean + (error + far.low);
        let (square, rest) = two_product(far.high, far.high);
        let mut variance = self.squares.over(n);
        variance.add(-square);
        variance.add(-(rest + 2.0 * far.high * far.low));
        let variance = variance.high + variance.low;
        // What is left of equal values may be a little less than nothing; NaN stays.
        (mean, if variance < 0.0 { 0.0 } else { variance.sqrt() })
    }
}

/// A number of twice the precision: the sum of two, of which the second one is smaller than half a unit of the
/// first one's last place (Dekker, "A floating-point technique for extending the available precision", 1971).
#[derive(Clone, Copy, Default)]
struct Double {
    high: f64,
    low: f64,
}

impl Double {
    fn add(&mut self, value: f64) {
        let (sum, error) = two_sum(self.high, value);
        let low = self.low + error;
        self.high = sum + low;
        self.low = low - (self.high - sum);
    }

    /// Divided by `n`.
    fn over(self, n: f64) -> Self {
        let high = self.high / n;
        let (product, error) = two_product(high, n);
        let low = ((self.high - product) - error + self.low) / n;
        Self { high: high + low, low: low - ((high + low) - high) }
    }
}

/// The sum, rounded, and what was lost by that (Knuth, TAOCP 2, 4.2.2, theorem B).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// The product, rounded, and what was lost by that (Dekker 1971, with Veltkamp's halves).
fn two_product(a: f64, b: f64) -> (f64, f64) {
    const HALVES: f64 = 134_217_729.0;
    let halves = |it: f64| {
        let scaled = HALVES * it;
        let high = scaled - (scaled - it);
        (high, it - high)
    };
    let product = a * b;
    let ((a, a_low), (b, b_low)) = (halves(a), halves(b));
    (product, a_low * b_low - (((product - a * b) - a_low * b) - a * b_low))
}

/// The elements of a tensor as floats, in C order.
fn read(value: &Tensor<'_>, bytes: &mut Vec<u8>, into: &mut Vec<f64>) {
    into.clear();
    if value.shape().is_empty() {
        into.push(match value.dtype() {
            DType::Bool => f64::from(u8::from(value.first::<bool>())),
            _ => value.number(),
        });
        return;
    }
    bytes.resize(value.bytes(), 0);
    value.copy_to(bytes);
    macro_rules! all {
        ($type:ty, $float:expr) => {{
            let (elements, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            into.extend(elements.iter().map(|it| $float(<$type>::from_ne_bytes(*it))))
        }};
    }
    match value.dtype() {
        DType::Bool | DType::U8 => into.extend(bytes.iter().map(|it| f64::from(*it))),
        DType::I8 => all!(i8, f64::from),
        DType::U16 => all!(u16, f64::from),
        DType::I16 => all!(i16, f64::from),
        DType::U32 => all!(u32, f64::from),
        DType::I32 => all!(i32, f64::from),
        DType::U64 => all!(u64, |it| it as f64),
        DType::I64 => all!(i64, |it| it as f64),
        DType::F16 => all!(half::f16, half::f16::to_f64),
        DType::BF16 => all!(half::bf16, half::bf16::to_f64),
        DType::F32 => all!(f32, f64::from),
        DType::F64 => all!(f64, |it: f64| it),
        DType::Str | DType::Bytes => unreachable!("the checker admits numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    /// The record that comes of values.
    fn of(values: &[f64]) -> (i64, f64, f64) {
        let input = table(&[("x", "f64")], values.len(), |it| vec![Value::scalar(values[it])]);
        let found: Vec<_> = (0..5)
            .map(|cut| run(&ENTRY, &[Arg::Column(0)], std::slice::from_ref(&input), cut).unwrap())
            .collect();
        assert!(found.iter().all(|it| *it == found[0] && it.len() == 1));
        let bytes = |at: usize| found[0][0].values[at].bytes.as_chunks().0[0];
        (i64::from_ne_bytes(bytes(0)), f64::from_ne_bytes(bytes(1)), f64::from_ne_bytes(bytes(2)))
    }

    #[test]
    fn they_are_exact_where_the_numbers_are() {
        assert_eq!(of(&[4.0]), (1, 4.0, 0.0));
        assert_eq!(of(&[1.0, 3.0]), (2, 2.0, 1.0));
        assert_eq!(of(&[0.1; 7]), (7, 0.1, 0.0));
        // Nanoseconds since 1970, and what a plain sum of squares loses altogether.
        let base = 1_700_000_000_000_000_000.0;
        assert_eq!(of(&[base, base + 256.0, base + 512.0, base + 256.0]).1, base + 256.0);
        assert_eq!(of(&[base, base + 512.0]), (2, base + 256.0, 256.0));
        // The first value is the exception.
        let (n, mean, std) = of(&[1e15, 1.0, 2.0, 3.0]);
        assert_eq!((n, mean), (4, 250_000_000_000_001.5));
        // numpy 2.3: np.std([1e15, 1, 2, 3])
        assert!((std / 433_012_701_892_218.4 - 1.0).abs() < 1e-15, "{std}");
    }

    #[test]
    fn each_element_has_its_own() {
        let input = table(&[("i", "i64"), ("x", "u8[2]")], 3, |it| {
            vec![Value::scalar(it as i64), Value::new(&[2], &[it as u8, 10])]
        });
        let found = run(&ENTRY, &[Arg::Column(1)], std::slice::from_ref(&input), 1).unwrap();
        let third = (2.0_f64 / 3.0).sqrt();
        assert_eq!(found[0].values[0], Value::scalar(3_i64));
        assert_eq!(found[0].values[1], Value::new(&[2], &[1.0_f64, 10.0]));
        assert_eq!(found[0].values[2], Value::new(&[2], &[third, 0.0]));
    }

    /// Integers far from zero, against exact arithmetic: n² times the variance is n Σk² - (Σk)².
    #[test]
    fn they_are_exact_far_from_zero() {
        for (seed, base, spread) in
            [(1_i128, 1 << 52, 3), (2, -(1 << 51), 1 << 20), (3, 0, 1 << 50)]
        {
            let mut state = seed;
            let mut next = || {
                state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407)
                    & ((1 << 64) - 1);
                (state >> 33) % spread
            };
            let keys: Vec<i128> = (0..1_000).map(|_| next()).collect();
            let values: Vec<f64> = keys.iter().map(|it| (base + it) as f64).collect();
            let (n, sum) = (keys.len() as i128, keys.iter().sum::<i128>());
            let squares: i128 = keys.iter().map(|it| it * it).sum();
            let std = ((n * squares - sum * sum) as f64).sqrt() / n as f64;
            let mean = (base * n + sum) as f64 / n as f64;
            let found = of(&values);
            assert_eq!(found.0, 1_000);
            assert!((found.1 - mean).abs() <= 1e-15 * mean.abs(), "{base}: {found:?}, {mean}");
            assert!((found.2 / std - 1.0).abs() <= 1e-15, "{base}: {found:?}, {std}");
        }
    }

    #[test]
    fn every_type_of_number_is_read() {
        macro_rules! check {
            ($($ty:ty, $name:literal, $of:expr;)*) => {$({
                let each = |it: usize| [$of(it as u8), $of(1 - it as u8 % 2)];
                let fields = [("x", $name), ("y", concat!($name, "[2]"))];
                let input = table(&fields, 5, |it| {
                    vec![Value::scalar::<$ty>(each(it)[0]), Value::new::<$ty>(&[2], &each(it))]
                });
                for at in 0..2 {
                    let input = std::slice::from_ref(&input);
                    let found = run(&ENTRY, &[Arg::Column(at)], input, 1).unwrap();
                    let mean = found[0].values[1].bytes.as_chunks().0[0];
                    let std = found[0].values[2].bytes.as_chunks().0[0];
                    let found = (f64::from_ne_bytes(mean), f64::from_ne_bytes(std));
                    assert_eq!(found, (2.0, 2.0_f64.sqrt()), "{}", $name);
                }
            })*};
        }
        check! {
            u8, "u8", |it| it; i8, "i8", |it| it as i8;
            u16, "u16", u16::from; i16, "i16", i16::from;
            u32, "u32", u32::from; i32, "i32", i32::from;
            u64, "u64", u64::from; i64, "i64", i64::from;
            half::f16, "f16", half::f16::from; half::bf16, "bf16", |it| half::bf16::from_f32(f32::from(it));
            f32, "f32", f32::from; f64, "f64", f64::from;
        }
        let input = table(&[("x", "bool")], 4, |it| vec![Value::scalar(it == 0)]);
        let found = run(&ENTRY, &[Arg::Column(0)], &[input], 0).unwrap();
        assert_eq!(found[0].values[1], Value::scalar(0.25_f64));
    }

    #[test]
    fn there_is_none_of_nothing_and_of_what_is_not_finite() {
        let said = |values: &[f64]| {
            let input = table(&[("x", "f64")], values.len(), |it| vec![Value::scalar(values[it])]);
            run(&ENTRY, &[Arg::Column(0)], &[input], 2).unwrap_err().to_string()
        };
        assert!(said(&[]).contains("no records"));
        assert!(
            said(&[1.0, f64::NAN])
                .contains("record 1 of the stream contains NaN, so the mean is undefined")
        );
        assert!(said(&[0.0, 1e200]).contains("so large"));
    }

    #[test]
    fn it_takes_numbers_of_known_extents() {
        let refused = |at| refused(&ENTRY, &[Arg::Column(at)], &[records(1)]);
        assert!(refused(2).contains("must be a number"));
        assert!(refused(3).contains("not known at compile time"));
    }
}
