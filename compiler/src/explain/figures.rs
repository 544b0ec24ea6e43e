//! Numbers as a person reads them: two or three digits, a unit, `~` where it is assumed.

use crate::estimate::Figure;
use plan::count;

pub(super) use plan::percent;

/// A time, from nanoseconds.
pub fn time(ns: Figure) -> String {
    scaled(ns, &TIMES)
}

/// A size, from bytes, in powers of ten.
pub(super) fn bytes(bytes: Figure) -> String {
    scaled(bytes, &BYTES)
}

/// A rate, of so many in a second.
pub(super) fn rate(rate: Figure) -> String {
    scaled(rate, &RATES).trim_end().to_owned()
}

/// `1 core`, `2.5 cores`
pub(super) fn things(n: f64, what: &str) -> String {
    let n = (n * 100.0).round() / 100.0;
    let plural = if n == 1.0 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// A whole number of things, such as records.
pub(super) fn whole(number: Figure) -> String {
    format!("{}{}", number.mark(), count(number.value.round() as u64))
}

/// The rate of the short form: three digits where it is an estimate.
pub(super) fn rough(rate: Figure) -> String {
    let digits = rate.value.abs().max(1.0).log10().floor() - 2.0;
    let unit = 10_f64.powf(digits);
    let is_rough = !rate.mark().is_empty() && digits > 0.0;
    let value = if is_rough { (rate.value / unit).round() * unit } else { rate.value };
    self::rate(Figure { value, ..rate })
}

type Units = [(f64, &'static str)];

const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (0.0, "ns")];
const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (0.0, "B")];
const RATES: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (0.0, "")];

fn scaled(figure: Figure, units: &Units) -> String {
    let (least, unit) = units.iter().find(|it| figure.value >= it.0).copied().unwrap_or((0.0, ""));
    let number = figure.value / if least > 0.0 { least } else { 1.0 };
    format!("{}{} {unit}", figure.mark(), digits(number))
}

/// Three digits, those before the point in groups.
fn digits(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if number < 9.95 {
        return format!("{number:.1}");
    }
    count(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits() {
        assert_eq!(time(Figure::assumed(840_120.0)), "~840 µs");
        assert_eq!(time(Figure::exact(1.25)), "1.2 ns");
        assert_eq!(bytes(Figure::exact(77_070_336.0)), "77 MB");
        assert_eq!(rate(Figure::assumed(2_381.4)), "~2,381");
        assert_eq!(rate(Figure::assumed(6e7)), "~60 M");
        assert_eq!(rough(Figure::assumed(3_342.4)), "~3,340");
        assert_eq!(rough(Figure::exact(1_196.0)), "1,196");
        assert_eq!(rough(Figure::assumed(26.4)), "~26");
        assert_eq!(whole(Figure::exact(7.0)), "7");
        assert_eq!(whole(Figure::assumed(1_000.0)), "~1,000");
    }
}
