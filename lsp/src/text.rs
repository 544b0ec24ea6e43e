//! A text as an editor sees it: places are lines and UTF-16 units, edits come one after another.

use lsp_types::{Position, Range};
use plan::{FileId, Span};

/// A text with its lines.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    text: String,
    /// The byte that each line begins at.
    lines: Vec<usize>,
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        let lines = starts(&text);
        Self { text, lines }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The byte at a place; the nearest before it where there is none, such as behind the end of a line.
    pub(crate) fn offset(&self, at: Position) -> usize {
        let Some(&start) = self.lines.get(at.line as usize) else { return self.text.len() };
        let line = &self.text[start..self.line_end(at.line as usize)];
        let mut left = at.character as usize;
        for (byte, letter) in line.char_indices() {
            if left < letter.len_utf16() {
                return start + byte;
            }
            left -= letter.len_utf16();
        }
        start + line.len()
    }

    /// The place of a byte; of the beginning of its character where it is within one.
    pub(crate) fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|it| *it <= byte).saturating_sub(1);
        let within = self.text[self.lines[line]..]
            .char_indices()
            .take_while(|it| self.lines[line] + it.0 + it.1.len_utf8() <= byte);
        let units: usize = within.map(|it| it.1.len_utf16()).sum();
        Position { line: number(line), character: number(units) }
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        Range {
            start: self.position(span.start as usize),
            end: self.position(span.end.max(span.start) as usize),
        }
    }

    /// The bytes of a range of the main file; its ends in order.
    pub(crate) fn span(&self, range: Range) -> Span {
        let (a, b) = (self.offset(range.start), self.offset(range.end));
        Span::new(FileId::default(), number(a.min(b)), number(a.max(b)))
    }

    /// Writes `new` in place of a range.
    pub(crate) fn edit(&mut self, range: Range, new: &str) {
        self.text.replace_range(self.span(range).range(), new);
        self.lines = starts(&self.text);
    }

    /// The whole of it.
    pub(crate) fn whole(&self) -> Range {
        Range { start: Position::default(), end: self.position(self.text.len()) }
    }

    /// The first byte behind the last character of a line.
    fn line_end(&self, line: usize) -> usize {
        let end = self.lines.get(line + 1).copied().unwrap_or(self.text.len());
        let text = &self.text[self.lines[line]..end];
        self.lines[line] + text.trim_end_matches(['\n', '\r']).len()
    }
}

/// A line ends with `\n`, `\r\n` or `\r`.
fn starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends =
        |i: usize| bytes[i] == b'\n' || bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n');
    std::iter::once(0).chain((0..bytes.len()).filter(|it| ends(*it)).map(|it| it + 1)).collect()
}

/// Texts are far smaller than 4 GiB.
fn number(it: usize) -> u32 {
    u32::try_from(it).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same as a list of lines of characters, each with its end.
    struct Model(Vec<Vec<char>>);

    impl Model {
        fn new(text: &str) -> Self {
            let mut lines = vec![Vec::new()];
            let mut letters = text.chars().peekable();
            while let Some(it) = letters.next() {
                let last = lines.len() - 1;
                lines[last].push(it);
                if it == '\n' || it == '\r' && letters.peek() != Some(&'\n') {
                    lines.push(Vec::new());
                }
            }
            Self(lines)
        }

        /// The characters before a place: the last of a place that is none.
        fn before(&self, at: Position) -> usize {
            let lines = self.0.iter().take(at.line as usize).map(Vec::len).sum();
            let Some(line) = self.0.get(at.line as usize) else { return lines };
            let mut units = 0;
            let fits = |it: &&char| {
                units += it.len_utf16();
                !matches!(it, '\n' | '\r') && units <= at.character as usize
            };
            lines + line.iter().take_while(fits).count()
        }

        fn edit(&mut self, range: Range, new: &str) {
            let all: Vec<char> = self.0.concat();
            let (a, b) = (self.before(range.start), self.before(range.end));
            let (a, b) = (a.min(b), a.max(b));
            let text: String = all[..a]
                .iter()
                .copied()
                .chain(new.chars())
                .chain(all[b..].iter().copied())
                .collect();
            *self = Self::new(&text);
        }
    }

    fn place() -> impl Strategy<Value = Position> {
        (0u32..6, 0u32..12).prop_map(|(line, character)| Position { line, character })
    }

    fn piece() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                Just("a"),
                Just("\n"),
                Just("\r\n"),
                Just("\r"),
                Just("é"),
                Just("𝄞"),
                Just("|> ")
            ],
            0..8,
        )
        .prop_map(|it| it.concat())
    }

    proptest! {
        #[test]
        fn edits_do_what_they_do_to_a_list_of_lines(
            first in piece(),
            edits in proptest::collection::vec((place(), place(), piece()), 0..12),
        ) {
            let (mut text, mut model) = (Text::new(first.clone()), Model::new(&first));
            for (start, end, new) in edits {
                text.edit(Range { start, end }, &new);
                model.edit(Range { start, end }, &new);
                let expected: String = model.0.concat().into_iter().collect();
                prop_assert_eq!(text.as_str(), &expected);
                let whole = Text::new(expected);
                prop_assert_eq!(&text.lines, &whole.lines);
                for (byte, _) in whole.text.char_indices() {
                    let at = text.position(byte);
                    let inside = whole.text[byte..].starts_with(['\n', '\r']);
                    prop_assert!(inside || text.offset(at) == byte, "{} of {:?}", byte, whole.text);
                }
            }
        }
    }

    #[test]
    fn places_are_counted_in_utf_16() {
        let text = Text::new("a𝄞é\nb".to_owned());
        let at = |line, character| text.offset(Position { line, character });
        assert_eq!(
            [at(0, 1), at(0, 2), at(0, 3), at(0, 4), at(0, 9), at(1, 1), at(7, 0)],
            [1, 1, 5, 7, 7, 9, 9]
        );
        assert_eq!(text.position(5), Position { line: 0, character: 3 });
        assert_eq!(text.position(3), Position { line: 0, character: 1 });
    }
}
