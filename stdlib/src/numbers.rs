//! Numbers that are written as text, read quickly where they are usual ones; else as the standard library does.

/// Digits that always fit into 64 bits.
const DIGITS_MAX: usize = 18;
/// Up to here each whole number is a float.
const EXACT_MAX: u64 = 1 << 53;
/// The powers of ten that are floats, to the last bit.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A whole number, as `str::parse` reads it.
pub(crate) fn whole(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = signed(text);
    match digits_in(digits, 0) {
        Some((number, [])) if (1..=DIGITS_MAX).contains(&digits.len()) => {
            Some(if is_negative { -(number as i64) } else { number as i64 })
        }
        _ => str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// A float, as `str::parse` reads it: the nearest one.
pub(crate) fn float(text: &[u8]) -> Option<f64> {
    plain(text).or_else(|| str::from_utf8(text).ok()?.parse().ok())
}

/// A narrow float, as `str::parse` reads it: the nearest one to what is written.
pub(crate) fn single(text: &[u8]) -> Option<f32> {
    plain(text).and_then(narrowed).or_else(|| str::from_utf8(text).ok()?.parse().ok())
}

/// A number of JSON without an exponent, of few digits, in front of a text.
pub(crate) struct Usual {
    is_negative: bool,
    digits: u64,
    /// How many of its digits stand behind the point.
    scale: usize,
    /// Its bytes.
    pub(crate) len: usize,
}

impl Usual {
    /// The one in front of `text`, where nothing follows that could belong to it.
    #[inline]
    pub(crate) fn in_front(text: &[u8]) -> Option<Self> {
        let is_negative = text.first() == Some(&b'-');
        let first = usize::from(is_negative);
        let (digits, point) = digits_from(text, first, 0);
        if point == first || (text[first] == b'0' && point > first + 1) {
            return None;
        }
        let (digits, len) = match text.get(point) {
            Some(b'.') => digits_from(text, point + 1, digits),
            _ => (digits, point),
        };
        let scale = len.saturating_sub(point + 1);
        let (has_fraction, n_digits) = (scale > 0 || len == point, len - first);
        let ends = match text.get(len) {
            None | Some(b',' | b'}' | b']' | b' ') => true,
            Some(it) => !(it.is_ascii_alphanumeric() || b"+-.".contains(it)),
        };
        let is_usual = has_fraction && ends && n_digits <= DIGITS_MAX;
        is_usual.then_some(Self { is_negative, digits, scale, len })
    }

    /// As a whole number, if it is written as one.
    #[inline]
    pub(crate) fn whole(&self) -> Option<i64> {
        let number = self.digits as i64;
        (self.scale == 0).then_some(if self.is_negative { -number } else { number })
    }

    /// As [`float`] reads it, where a division is all that it takes.
    #[inline]
    pub(crate) fn float(&self) -> Option<f64> {
        let magnitude = self.digits as f64 / TENS[self.scale];
        let signed = if self.is_negative { -magnitude } else { magnitude };
        (self.digits <= EXACT_MAX).then_some(signed)
    }

    /// The same of [`single`].
    #[inline]
    pub(crate) fn single(&self) -> Option<f32> {
        self.float().and_then(narrowed)
    }
}

/// The narrow float that is nearest to what a wide one was rounded from, where the wide one tells.
#[inline]
fn narrowed(wide: f64) -> Option<f32> {
    // Only halfway between two narrow ones does it matter what the wide one was rounded from: those have a
    // bit more, and no other below it.
    const BELOW: u64 = (1 << 29) - 1;
    const HALFWAY: u64 = 1 << 28;
    (wide.to_bits() & BELOW != HALFWAY).then_some(wide as f32)
}

/// One without an exponent whose digits are a float themselves, as is the power of ten that they are
/// divided by: so only the division rounds (Clinger, PLDI 1990).
fn plain(text: &[u8]) -> Option<f64> {
    let (is_negative, digits) = signed(text);
    let (mut number, rest) = digits_in(digits, 0)?;
    let mut scale = 0;
    if let [b'.', fraction @ ..] = rest {
        let (all, behind) = digits_in(fraction, number)?;
        scale = fraction.len();
        if !behind.is_empty() || fraction.is_empty() {
            return None;
        }
        number = all;
    } else if !rest.is_empty() {
        return None;
    }
    // Of more digits some might be lost.
    if digits.len() > DIGITS_MAX || rest.len() == digits.len() || number > EXACT_MAX {
        return None;
    }
    let magnitude = number as f64 / TENS[scale];
    Some(if is_negative { -magnitude } else { magnitude })
}

/// The digits that begin at `at`, behind those of `before`, and where they end; of too many some are lost.
#[inline]
fn digits_from(text: &[u8], mut at: usize, before: u64) -> (u64, usize) {
    let mut number = before;
    while let Some(digit) = text.get(at).map(|it| it.wrapping_sub(b'0')).filter(|it| *it < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (number, at)
}

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    }
}

/// The digits in front behind those of `before`, and what follows; none where they are too many.
#[inline]
fn digits_in(text: &[u8], before: u64) -> Option<(u64, &[u8])> {
    let (mut number, mut rest) = (before, text);
    if text.len() > DIGITS_MAX {
        return None;
    }
    while let Some((eight, behind)) = rest.split_first_chunk()
        && let Some(digits) = eight_digits(u64::from_le_bytes(*eight))
    {
        (number, rest) = (number * 100_000_000 + digits, behind);
    }
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        (number, rest) = (number * 10 + u64::from(digit - b'0'), behind);
    }
    Some((number, rest))
}

/// The number that eight digits say, the first one in the lowest byte; none where one is no digit.
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let is_digits = (text & (0xf0 * ONES)) | (text.wrapping_add(6 * ONES) & (0xf0 * ONES)) >> 4;
    if is_digits != 0x33 * ONES {
        return None;
    }
    // Neighbours together: pairs, fours, all.
    let ones = text - 0x30 * ONES;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same bits as the standard library's, or none as well.
    fn check(text: &str) {
        assert_eq!(whole(text.as_bytes()), text.parse().ok(), "{text:?}");
        let expected = text.parse::<f64>().ok().map(f64::to_bits);
        assert_eq!(float(text.as_bytes()).map(f64::to_bits), expected, "{text:?}");
        let expected = text.parse::<f32>().ok().map(f32::to_bits);
        assert_eq!(single(text.as_bytes()).map(f32::to_bits), expected, "{text:?}");
        for behind in ["", ",1", " 1", "}", "]5"] {
            let text_and_more = format!("{text}{behind}");
            let usual = Usual::in_front(text_and_more.as_bytes());
            // Of `1,5` it is what stands before the comma.
            let Some(usual) = usual.filter(|it| it.len >= text.len()) else { continue };
            assert_eq!(usual.len, text.len(), "{text_and_more:?}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text:?}");
            let is_same = |found: Option<u64>, expected: Option<u64>| {
                found.is_none_or(|it| Some(it) == expected)
            };
            let wide = usual.float().map(f64::to_bits);
            assert!(is_same(wide, float(text.as_bytes()).map(f64::to_bits)), "{text:?}");
            let narrow = usual.single().map(|it| u64::from(it.to_bits()));
            assert!(
                is_same(narrow, single(text.as_bytes()).map(|it| u64::from(it.to_bits()))),
                "{text:?}"
            );
            assert!(is_same(
                usual.whole().map(|it| it as u64),
                whole(text.as_bytes()).map(|it| it as u64)
            ));
        }
    }

    #[test]
    fn usual_numbers_are_read_with_what_follows() {
        let len = |text: &str| Usual::in_front(text.as_bytes()).map(|it| it.len);
        for usual in ["0", "-0", "12", "0.5", "-12.25", "999999999999999999", "0.1234567890123456"]
        {
            assert_eq!(len(&format!("{usual}, 1")), Some(usual.len()), "{usual}");
        }
        let others = [
            "", "-", ".5", "1.", "-.5", "01", "00", "1.2.3", "1e5", "1E5", "1.5e5", "5x", "1-",
            "+1",
        ];
        for other in others.into_iter().chain(["1234567890123456789", "0.123456789012345678"]) {
            assert_eq!(len(other), None, "{other}");
        }
    }

    #[test]
    fn reads_what_the_standard_library_reads() {
        let words = [
            "",
            "-",
            "+",
            ".",
            "-.",
            "1.",
            ".5",
            "+7",
            "--1",
            "-0",
            "-0.0",
            "00012",
            "1e5",
            "1e400",
            "inf",
            "-NaN",
            "1_000",
            "1,5",
            " 1",
            "12345678",
            "123456789",
            "1234567:",
            "/2345678",
            "12345678a",
            "9007199254740992",
            "9007199254740993",
            "900719925474099.25",
            "0.1",
            "123456.789012",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "999999999999999999",
            "0.0000000000000000000001",
            // Halfway between two narrow floats, and a little beside it, as far as a wide one can tell.
            "16777217",
            "16777217.000000001",
            "16777216.999999999",
            "0.500000029802322387",
            "-1.0000000596046447",
            "1.0000000596046448",
            "1.00000005960464477",
            "0.30000000000000004",
            "1234567890.12345678",
            "é",
            "1.2.3",
            "1.e5",
        ];
        words.iter().for_each(|it| check(it));
        let mut random = 7_u64;
        for turn in 0..20_000 {
            random = plan::mix(random, turn);
            let (a, b) = (random % 10_u64.pow((random >> 50) as u32 % 12), random >> 40 & 0xffff);
            let sign = if random >> 63 == 1 { "-" } else { "" };
            check(&format!("{sign}{a}"));
            check(&format!("{sign}{a}.{b}"));
            check(&format!("{}", f64::from_bits(random)));
        }
    }
}
