//! Numbers as a person reads them: two or three digits, a unit, `~` where it is assumed.

use crate::estimate::Figure;

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

/// A share, of 1.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.5 { "< 1 %".to_owned() } else { format!("{percent:.0} %") }
}

/// `1 core`, `2.5 cores`
pub(super) fn things(n: f64, what: &str) -> String {
    let n = (n * 100.0).round() / 100.0;
    let plural = if n == 1.0 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// Numbers as people write them: `1,000`, `98%`.
pub(super) mod short {
    /// A share, of 1.
    pub(in super::super) fn percent(share: f64) -> String {
        super::percent(share).replace(' ', "")
    }
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
    let whole = format!("{number:.0}");
    let (head, tail) = whole.split_at(whole.len().saturating_sub(3));
    if head.is_empty() { tail.to_owned() } else { format!("{head} {tail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits() {
        assert_eq!(time(Figure::assumed(840_120.0)), "~840 µs");
        assert_eq!(time(Figure::exact(1.25)), "1.2 ns");
        assert_eq!(bytes(Figure::exact(77_070_336.0)), "77 MB");
        assert_eq!(rate(Figure::assumed(2_381.4)), "~2 381");
        assert_eq!(rate(Figure::assumed(6e7)), "~60 M");
        assert_eq!(short::percent(0.984), "98%");
        assert_eq!(short::percent(0.001), "<1%");
        assert_eq!([percent(0.0), percent(0.001), percent(0.993)], ["0 %", "< 1 %", "99 %"]);
    }
}
