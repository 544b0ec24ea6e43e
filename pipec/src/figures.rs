//! Numbers as a person reads them.

pub(crate) use plan::{count, percent, things};

/// So many in a second: `1,240/s`, `7.6 M records/s`.
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
        assert_eq!([bytes(12.0), bytes(77e6), bytes(1.44e9)], ["12 B", "77 MB", "1.4 GB"]);
        assert_eq!(
            [rate(1244.4, ""), rate(6.1e7, " records"), rate(0.5, "")],
            ["1,240/s", "61 M records/s", "0.5/s"]
        );
        assert_eq!(
            [time(0.21), time(10.34), time(75.0), time(7300.0)],
            ["210 ms", "10.3 s", "1 min 15 s", "2 h 01 min"]
        );
    }
}
