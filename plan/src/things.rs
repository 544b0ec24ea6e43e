//! Numbers as people read them: the one place that decides how they are written.

/// A whole number with its digits in groups of three: `12,800`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A share of 1 in whole percent: `93%`, and `<1%` for what is there and would be rounded away.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.5 { "<1%".to_owned() } else { format!("{percent:.0}%") }
}

/// So many things, such as `1 file`, `2,000 files`.
pub fn things(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), plural(n, one, many))
}

/// The word for so many things.
pub fn plural<'w>(n: u64, one: &'w str, many: &'w str) -> &'w str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let counts = [count(0), count(999), count(1000), count(12_345_678)];
        assert_eq!(counts, ["0", "999", "1,000", "12,345,678"]);
        assert_eq!(things(1, "batch", "batches"), "1 batch");
        assert_eq!(things(2000, "batch", "batches"), "2,000 batches");
        assert_eq!([percent(0.0), percent(0.001), percent(0.934)], ["0%", "<1%", "93%"]);
    }
}
