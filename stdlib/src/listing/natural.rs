//! Natural order: `img2` before `img10`, the same on every machine and in every locale.

use std::cmp::Ordering;

/// Compares two names: runs of digits by their number, all else byte by byte.
///
/// Names that come out equal so (`img1`, `img01`) are compared byte by byte, so that the order is
/// total. Numbers may have any length; nothing is allocated.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> Ordering {
    by_numbers(a.as_bytes(), b.as_bytes()).then_with(|| a.cmp(b))
}

fn by_numbers(mut a: &[u8], mut b: &[u8]) -> Ordering {
    loop {
        let (Some(&x), Some(&y)) = (a.first(), b.first()) else {
            return a.len().cmp(&b.len());
        };

        // A digit beside another byte is compared as a byte: all digits lie on one side of it.
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            compare_runs(&mut a, &mut b)
        } else {
            (a, b) = (&a[1..], &b[1..]);
            x.cmp(&y)
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Compares the numbers that both begin with, and moves past them.
fn compare_runs(a: &mut &[u8], b: &mut &[u8]) -> Ordering {
    let (x, y) = (take_number(a), take_number(b));
    x.len().cmp(&y.len()).then_with(|| x.cmp(y))
}

/// Cuts the digits off the front; what is returned has no leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let digits = text.iter().take_while(|it| it.is_ascii_digit()).count();
    let zeros = text.iter().take_while(|&&it| it == b'0').count();
    let number = &text[zeros..digits];
    *text = &text[digits..];
    number
}

#[cfg(test)]
mod tests {
    use super::natural_order;

    #[test]
    fn numbers_count() {
        let sorted = [
            "",
            "0",
            "00",
            "01",
            "1",
            "2",
            "10",
            "a",
            "a1b",
            "a1b2",
            "a01b3",
            "a1b10",
            "a2",
            "a2.jpg",
            "a10",
            "a100000000000000000000000000000",
            "b",
            "ä",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural_order(a, b), i.cmp(&j), "{a} and {b}");
            }
        }
    }
}
