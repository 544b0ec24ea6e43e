//! Messages of protocol buffers (<https://protobuf.dev/programming-guides/encoding>), skimmed where they lie.

use runtime::Fault;

/// The fields of a message in the order in which they were written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    rest: &'a [u8],
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number of variable length.
    Varint(u64),
    /// Four bytes, little endian.
    Fixed32([u8; 4]),
    /// Eight bytes, little endian.
    Fixed64([u8; 8]),
    /// Text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    /// The message that these bytes are.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field and its number; none at the end.
    ///
    /// # Errors
    /// `example-syntax`: the bytes are no message.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = varint(&mut self.rest)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => Value::Fixed64(*self.array()?),
            2 => {
                let len = usize::try_from(varint(&mut self.rest)?).map_err(|_| cut_off())?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Fixed32(*self.array()?),
            other => {
                return Err(syntax(format!("a field has the unknown wire type {other}")));
            }
        };
        match tag >> 3 {
            0 => Err(syntax("a field has the number 0".to_owned())),
            number => Ok(Some((number, value))),
        }
    }

    /// The messages, texts or packed numbers of the fields of this number, each handed to `visit`.
    ///
    /// # Errors
    /// Those of [`Message::next`] and of `visit`.
    pub(crate) fn each(
        mut self,
        number: u64,
        mut visit: impl FnMut(&'a [u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        while let Some((found, value)) = self.next()? {
            if let Value::Bytes(it) = value
                && found == number
            {
                visit(it)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Takes a number of variable length off the front.
///
/// # Errors
/// `example-syntax`: it has more than 64 bits, or no end.
#[inline]
pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    match *rest {
        [one @ ..0x80, others @ ..] => {
            *rest = others;
            Ok(u64::from(*one))
        }
        _ => longer_varint(rest),
    }
}

/// The same of any number of bytes.
fn longer_varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    let mut value = 0;
    for (i, byte) in rest.iter().take(10).enumerate() {
        // The tenth byte has the highest bit alone.
        if i == 9 && *byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    let why =
        if rest.len() < 10 { "a number is truncated" } else { "a number has more than 64 bits" };
    Err(syntax(why.to_owned()))
}

/// How many numbers there are in a row of them: each ends with a byte below 128.
pub(crate) fn count_packed(packed: &[u8]) -> usize {
    // Sums of bytes, so that many are counted at a time.
    let ends = |some: &[u8]| some.iter().map(|it| u8::from(*it < 0x80)).sum::<u8>();
    packed.chunks(255).map(|it| usize::from(ends(it))).sum()
}

/// Visits the numbers of variable length in a row of them.
///
/// # Errors
/// `example-syntax`, and those of `visit`.
#[inline]
pub(crate) fn each_packed(
    mut packed: &[u8],
    mut visit: impl FnMut(u64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(eight) = packed.first_chunk() {
        let word = u64::from_le_bytes(*eight);
        let ends = !word & HIGH;
        if ends == 0 {
            visit(longer_varint(&mut packed)?)?;
            continue;
        }
        // Up to the first byte whose highest bit is not set: without a branch, since numbers of one, two and three bytes
        // come as it happens. Then groups of 7 bits are put together, two, four and eight of them.
        let last = ends.trailing_zeros();
        let seven = word & (ends ^ (ends - 1)) & !HIGH;
        let two = (seven & 0x007f_007f_007f_007f) | (seven & 0x7f00_7f00_7f00_7f00) >> 1;
        let four = (two & 0x0000_3fff_0000_3fff) | (two & 0x3fff_0000_3fff_0000) >> 2;
        visit((four & 0x0fff_ffff) | (four & 0x0fff_ffff_0000_0000) >> 4)?;
        packed = &packed[last as usize / 8 + 1..];
    }
    while !packed.is_empty() {
        visit(varint(&mut packed)?)?;
    }
    Ok(())
}

/// The fault of bytes that are no message.
pub(crate) fn syntax(why: String) -> Fault {
    Fault::new("example-syntax", format!("this is not a protocol buffer message: {why}"))
}

fn cut_off() -> Fault {
    syntax("a field is longer than the remaining bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other() {
        // Field 1: 300; field 2: "hi"; field 3: four bytes; field 4: eight bytes.
        let bytes =
            [0x08, 0xac, 0x02, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let mut message = Message::new(&bytes);
        let mut next = || message.next().unwrap();
        assert_eq!(next(), Some((1, Value::Varint(300))));
        assert_eq!(next(), Some((2, Value::Bytes(b"hi"))));
        assert_eq!(next(), Some((3, Value::Fixed32([1, 2, 3, 4]))));
        assert_eq!(next(), Some((4, Value::Fixed64([1, 2, 3, 4, 5, 6, 7, 8]))));
        assert_eq!(next(), None);
        // Cut anywhere but between two fields, it is no message.
        let ends = [0, 3, 7, 12, 21];
        for end in 0..bytes.len() {
            let all = Message::new(&bytes[..end]).each(9, |_| Ok(()));
            assert_eq!(all.is_ok(), ends.contains(&end), "{end}");
        }
    }

    #[test]
    fn numbers_have_64_bits() {
        let read = |bytes: &[u8]| varint(&mut &bytes[..]);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(read(&most), Ok(u64::MAX));
        assert!(read(&[0xff; 12]).is_err());
        assert!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).is_err());
        assert!(read(&[0x80]).is_err() && read(&[]).is_err());
    }

    #[test]
    fn numbers_in_a_row_are_those_that_are_taken_one_by_one() {
        for seed in 0..2_000_u64 {
            let bits = |it: u64| plan::mix(seed, it);
            let mut packed = Vec::new();
            for it in 0..bits(0) % 40 {
                // Of any number of bits, and now and then with more bytes than it needs.
                let mut value = bits(2 * it + 1) >> (bits(2 * it + 2) % 64);
                while value >= 0x80 {
                    packed.push(value as u8 | 0x80);
                    value >>= 7;
                }
                if bits(2 * it + 1).is_multiple_of(50) && value != 0 {
                    packed.push(value as u8 | 0x80);
                    value = 0;
                }
                packed.push(value as u8);
            }
            let cut = &packed[..packed.len() - (bits(99) % 2) as usize * packed.len().min(1)];
            let (mut rest, mut expected) = (cut, Ok(Vec::new()));
            while let Ok(all) = &mut expected
                && !rest.is_empty()
            {
                match varint(&mut rest) {
                    Ok(it) => all.push(it),
                    Err(why) => expected = Err(why),
                }
            }
            let mut found = Vec::new();
            let visited = each_packed(cut, |it| {
                found.push(it);
                Ok(())
            });
            if let Ok(all) = &expected {
                assert_eq!(count_packed(cut), all.len());
            }
            assert_eq!(visited.map(|()| found), expected);
        }
    }
}
