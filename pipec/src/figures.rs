//! Numbers as a person reads them.

/// A whole number, its digits in groups of three.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// So many things, such as `1 batch`, `12 800 records`.
pub(crate) fn things(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), plan::plural(n, one, many))
}

/// So many in a second: `1 240/s`, `7.6 M records/s`.
pub(crate) fn rate(n: f64, what: &str) -> String {
    match n {
        n if n >= 1e6 => format!("{} M{what}/s", digits(n / 1e6)),
        n => format!("{}{what}/s", digits(n)),
    }
}

/// A size, in powers of ten.
pub(crate) fn bytes(n: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|it| n >= it.0) {
        Some((unit, name)) => format!("{} {name}", digits(n / unit)),
        None => format!("{n:.0} B"),
    }
}

/// A time.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", (s / 60.0) as u64, s as u64 % 60),
        s => format!("{} h {:02} min", count((s / 3600.0) as u64), s as u64 / 60 % 60),
    }
}

/// A share, of 1.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.5 { "< 1 %".to_owned() } else { format!("{percent:.0} %") }
}

/// Two or three digits that count.
fn digits(n: f64) -> String {
    let step = 10_f64.powf((n.log10().floor() - 2.0).max(0.0));
    if n < 9.95 { format!("{n:.1}") } else { count(((n / step).round() * step) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [count(0), count(999), count(1000), count(12_345_678)],
            ["0", "999", "1 000", "12 345 678"]
        );
        assert_eq!(
            [things(1, "batch", "batches"), things(2, "batch", "batches")],
            ["1 batch", "2 batches"]
        );
        assert_eq!([bytes(12.0), bytes(77e6), bytes(1.44e9)], ["12 B", "77 MB", "1.4 GB"]);
        assert_eq!(
            [rate(1244.4, ""), rate(6.1e7, " records"), rate(0.5, "")],
            ["1 240/s", "61 M records/s", "0.5/s"]
        );
        assert_eq!(
            [time(0.21), time(10.34), time(75.0), time(7300.0)],
            ["210 ms", "10.3 s", "1 min 15 s", "2 h 01 min"]
        );
        assert_eq!([percent(0.0), percent(0.001), percent(0.934)], ["0 %", "< 1 %", "93 %"]);
    }
}
