//! The most attributes that a tag of a page can have.
//!
//! Whether a `<` begins a tag depends on all that stands before it, such as an open script. How a tag goes on from
//! there does not: so a tag is followed from each `<` that may begin one, all of them at once, by the states of the
//! standard (<https://html.spec.whatwg.org/multipage/parsing.html#tag-open-state>). Tags that are in the same state at
//! the same place go on alike, and the one with more attributes stands for all.

use memchr::memchr;

/// Where in a tag something stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
    AfterQuoted,
}

use State::{
    AfterName, AfterQuoted, BeforeName, BeforeValue, DoubleQuoted, Name, SingleQuoted, TagName,
    Unquoted,
};

const STATES: [State; 9] = [
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
    AfterQuoted,
];

/// Tags that are open, by their states: the most attributes of one, or none.
type Open = [Option<u32>; STATES.len()];

/// The most attributes of a tag, or of what looks like one.
pub(super) fn most(page: &[u8]) -> u32 {
    let mut open: Open = [None; STATES.len()];
    let (mut most, mut at) = (0, 0);
    let mut name = None;
    while at < page.len() {
        if name == Some(at) {
            name = None;
            open[TagName as usize] = open[TagName as usize].or(Some(0));
        }
        if name.is_none() && open == [None; STATES.len()] {
            let Some(next) = memchr(b'<', &page[at..]) else { break };
            at += next;
        } else {
            most = most.max(step(&mut open, page[at]));
        }
        name = begin(&page[at..]).map(|it| at + it).or(name);
        at += 1;
    }
    most
}

/// How far behind a `<` the name of a tag begins, if it does.
fn begin(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'<', letter, ..] if letter.is_ascii_alphabetic() => Some(1),
        [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => Some(2),
        _ => None,
    }
}

/// Takes all open tags past a byte; gives the most attributes of one.
fn step(open: &mut Open, byte: u8) -> u32 {
    let (mut most, mut then) = (0, [None; STATES.len()]);
    for (state, n) in STATES.iter().zip(*open) {
        if let Some(n) = n
            && let Some((state, more)) = state.after(byte)
        {
            let to = &mut then[state as usize];
            *to = (*to).max(Some(n + more));
            most = most.max(n + more);
        }
    }
    *open = then;
    most
}

impl State {
    /// Where a tag is after a byte, and how many attributes begin with it; none where the tag ends.
    fn after(self, byte: u8) -> Option<(State, u32)> {
        let is_space = matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0xc);
        let is_end = byte == b'>';
        Some(match self {
            // Within quotes, nothing else ends it.
            DoubleQuoted => (if byte == b'"' { AfterQuoted } else { DoubleQuoted }, 0),
            SingleQuoted => (if byte == b'\'' { AfterQuoted } else { SingleQuoted }, 0),
            _ if is_end => return None,
            // Here, a slash is a part of what it stands in.
            Unquoted => (if is_space { BeforeName } else { Unquoted }, 0),
            BeforeValue if is_space => (BeforeValue, 0),
            BeforeValue => match byte {
                b'"' => (DoubleQuoted, 0),
                b'\'' => (SingleQuoted, 0),
                _ => (Unquoted, 0),
            },
            TagName => (if is_space || byte == b'/' { BeforeName } else { TagName }, 0),
            Name | AfterName if byte == b'=' => (BeforeValue, 0),
            Name if is_space => (AfterName, 0),
            Name if byte == b'/' => (BeforeName, 0),
            Name => (Name, 0),
            AfterName if is_space => (AfterName, 0),
            BeforeName | AfterQuoted if is_space => (BeforeName, 0),
            BeforeName | AfterName | AfterQuoted if byte == b'/' => (BeforeName, 0),
            BeforeName | AfterName | AfterQuoted => (Name, 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use html5ever::interface::TokenizerResult;
    use html5ever::tokenizer::{
        BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
    };
    use std::cell::Cell;

    /// What a tokenizer finds, for which everything is markup.
    #[derive(Default)]
    struct Counts(Cell<usize>);

    impl TokenSink for Counts {
        type Handle = ();

        fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
            if let Token::TagToken(tag) = token {
                self.0.set(self.0.get().max(tag.attrs.len()));
            }
            TokenSinkResult::Continue
        }
    }

    fn tokenized(page: &str) -> usize {
        let tokenizer = Tokenizer::new(Counts::default(), TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(page.into());
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        tokenizer.end();
        tokenizer.sink.0.get()
    }

    #[test]
    fn attributes_are_counted() {
        for (page, n) in [
            ("", 0),
            ("<p>a b c</p>", 0),
            ("<p a b=1 c = 'x y' d=\"x > y\" e>", 5),
            ("<a/b/c =d>", 2),
            ("</p a b>", 2),
            ("<p a=b/c d>", 2),
            ("<p a='1'b='2'c>", 3),
            ("a < b c d <= e", 0),
            ("<p a = > b c d", 1),
            ("<p a==b \"c>", 2),
        ] {
            assert_eq!(most(page.as_bytes()), n, "{page}");
        }
        // In a script, what looks like a tag may be one: here, the one that begins with `<b`.
        assert_eq!(most(b"<script>if (a<b c d) '<p e f g>'</script>"), 6);
    }

    /// It never finds fewer than a tokenizer does.
    #[test]
    fn none_is_missed() {
        let pieces = [
            "<p",
            "<a ",
            "</b ",
            ">",
            " ",
            "=",
            "\"",
            "'",
            "/",
            "x",
            "y=1",
            "\n",
            "<!--",
            "-->",
            "<",
            "z ",
            "&amp;",
            "<![CDATA[",
            "w='",
            "v=\"",
        ];
        for number in 0..20_000_u64 {
            let piece = |at: u64| pieces[(plan::mix(number, at) % pieces.len() as u64) as usize];
            let page: String = (0..number % 40).map(piece).collect();
            // Attributes that are there twice count once there.
            let page: String = page
                .chars()
                .enumerate()
                .map(|(i, it)| match it {
                    'x' => ["xa", "xb", "xc", "xd", "xe"][i % 5].to_owned() + &i.to_string(),
                    it => it.to_string(),
                })
                .collect();
            assert!(tokenized(&page) <= most(page.as_bytes()) as usize, "{page}");
        }
    }
}
