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

/// Numbers as the short form writes them: `1,000`, `98%`, three digits where they are estimates.
pub(super) mod short {
    use super::Figure;

    /// A share, of 1.
    pub(in super::super) fn percent(share: f64) -> String {
        super::percent(share).replace(' ', "")
    }

    /// A time, from nanoseconds.
    pub(in super::super) fn time(ns: Figure) -> String {
        people(&super::time(ns))
    }

    /// A size, from bytes, in powers of ten.
    pub(in super::super) fn bytes(bytes: Figure) -> String {
        people(&super::bytes(bytes))
    }

    /// A rate, of so many in a second.
    pub(in super::super) fn rate(rate: Figure) -> String {
        let digits = rate.value.abs().max(1.0).log10().floor() - 2.0;
        let unit = 10_f64.powf(digits);
        let is_rough = !rate.mark().is_empty() && digits > 0.0;
        let value = if is_rough { (rate.value / unit).round() * unit } else { rate.value };
        people(&super::rate(Figure { value, ..rate }))
    }

    /// A number of things, such as records.
    pub(in super::super) fn count(number: Figure) -> String {
        people(&format!("{}{}", number.mark(), super::whole(number.value)))
    }

    /// A word that is a number of four digits or more, with commas; any other as it is.
    fn grouped(word: &str) -> String {
        let is_number = word.len() > 3 && word.bytes().all(|it| it.is_ascii_digit());
        let comma = |at: usize| is_number && at > 0 && (word.len() - at).is_multiple_of(3);
        let each = word.chars().enumerate().map(|(at, it)| match comma(at) {
            true => format!(",{it}"),
            false => it.to_string(),
        });
        each.collect()
    }

    /// A text of the long form with its numbers as people write them: `1 000` as `1,000`, `98 %` as `98%`.
    pub(in super::super) fn people(text: &str) -> String {
        let all: Vec<char> = text.chars().collect();
        let digits = |from: usize, n: usize| {
            (from..from + n).all(|it| all.get(it).is_some_and(char::is_ascii_digit))
        };
        // A space between a digit and a group of just three of them.
        let groups =
            |at: usize| at > 0 && digits(at - 1, 1) && digits(at + 1, 3) && !digits(at + 4, 1);
        let mut out = String::with_capacity(text.len());
        for (at, &char) in all.iter().enumerate() {
            match char {
                ' ' if groups(at) => out.push(','),
                ' ' if all.get(at + 1) == Some(&'%') => {}
                _ => out.push(char),
            }
        }
        let words: Vec<String> = out.replace("< 1%", "<1%").split(' ').map(grouped).collect();
        words.join(" ")
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
    whole(number)
}

/// A whole number, in groups of three digits from a thousand on.
fn whole(number: f64) -> String {
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
        assert_eq!(short::rate(Figure::assumed(3_342.4)), "~3,340");
        assert_eq!(short::rate(Figure::exact(1_196.0)), "1,196");
        assert_eq!(short::rate(Figure::assumed(26.4)), "~26");
        assert_eq!(short::count(Figure::exact(7.0)), "7");
        assert_eq!(short::count(Figure::assumed(1_000.0)), "~1,000");
        assert_eq!(short::people("64 values of ~1 605 kB, < 1 %"), "64 values of ~1,605 kB, <1%");
        assert_eq!(short::people("1000 of `x` take 1062MB"), "1,000 of `x` take 1062MB");
        assert_eq!(short::percent(0.984), "98%");
        assert_eq!(short::percent(0.001), "<1%");
        assert_eq!([percent(0.0), percent(0.001), percent(0.993)], ["0 %", "< 1 %", "99 %"]);
    }
}
