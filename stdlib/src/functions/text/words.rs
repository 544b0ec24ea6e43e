//! Words of a text, as Python's `str.split()` finds them: what `word_count` and `word_ids` share.

/// The words of a text: what stands between white space.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|it| !it.is_empty())
}

/// `str.isspace` of Python: Unicode's white space, and the four separators of ASCII, which Unicode does not count.
fn is_space(it: char) -> bool {
    it.is_whitespace() || ('\x1c'..='\x1f').contains(&it)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[it for it in range(0x110000) if chr(it).isspace()]` of Python 3.11.
    #[test]
    fn spaces_are_those_of_python() {
        let spaces = [
            0x9..=0xd,
            0x1c..=0x20,
            0x85..=0x85,
            0xa0..=0xa0,
            0x1680..=0x1680,
            0x2000..=0x200a,
            0x2028..=0x2029,
            0x202f..=0x202f,
            0x205f..=0x205f,
            0x3000..=0x3000,
        ];
        let expected: Vec<u32> = spaces.into_iter().flatten().collect();
        let found = (0..0x11_0000).filter(|it| char::from_u32(*it).is_some_and(is_space));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
