//! Matches one name with one component of a pattern.
//!
//! A match carries the set of places in the name that can be reached so far through the pieces of the
//! component, one after the other. So sets within sets cost their length, not their product.

/// A component of a pattern: what stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Component {
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it stands.
    Text(String),
    /// `?`
    AnyChar,
    /// `*`
    AnyText,
    /// `[a-z]`, `[!a]`
    OneOf(CharSet),
    /// `{000..099}`
    Number(NumberRange),
    /// `{a,b}`
    Either(Vec<Vec<Piece>>),
}

fn names(pieces: &[Piece], most: usize) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    for piece in pieces {
        let ways = match piece {
            Piece::Text(text) => vec![text.clone()],
            Piece::Number(NumberRange { low, high, width }) => {
                let n_numbers = usize::try_from(high - low).ok()?.checked_add(1)?;
                let numbers = (n_numbers <= most).then_some(*low..=*high)?;
                numbers.map(|it| format!("{it:0width$}")).collect()
            }
            Piece::Either(ways) => {
                let each = ways.iter().map(|it| names(it, most));
                each.collect::<Option<Vec<_>>>()?.concat()
            }
            Piece::AnyChar | Piece::AnyText | Piece::OneOf(_) => return None,
        };
        if all.len().saturating_mul(ways.len()) > most {
            return None;
        }
        all =
            all.iter().flat_map(|head| ways.iter().map(move |it| format!("{head}{it}"))).collect();
    }
    Some(all)
}

/// The characters between brackets, as ranges with both their ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CharSet {
    pub(super) negated: bool,
    pub(super) ranges: Vec<(char, char)>,
}

/// The numbers from `low` to `high`, both of them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberRange {
    pub(super) low: u64,
    pub(super) high: u64,
    /// Digits that a number is filled up to with zeros; 1 where it is not.
    pub(super) width: usize,
}

/// What a name is the name of. A file's extension is matched without regard to case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameOf {
    Folder,
    File,
}

impl Component {
    /// Whether the whole of `name` matches. A dot in front must be written out in the pattern.
    pub(super) fn matches(&self, name: &str, of: NameOf) -> bool {
        if name.len() > NAME_MAX {
            return false;
        }

        let fold_from = match of {
            NameOf::File => extension_start(name),
            NameOf::Folder => name.len(),
        };
        let name = Name { text: name, fold_from };
        advance(&self.pieces, &Spots::only(0), &name).has(name.text.len())
    }

    /// The text, if the component is nothing else.
    pub(super) fn text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The one file name that matches, case and all.
    pub(super) fn only_file(&self) -> Option<&str> {
        self.text()
            .filter(|it| !it[extension_start(it)..].contains(|c: char| c.is_ascii_alphabetic()))
    }

    /// Every name that it stands for, sets and numbers written out; none where there is a wildcard, or more than `most`.
    pub(super) fn names(&self, most: usize) -> Option<Vec<String>> {
        names(&self.pieces, most)
    }

    /// Whether an alternative of the component, wildcards aside, is this name.
    pub(super) fn may_be(&self, name: &str) -> bool {
        places_behind(&self.pieces, &[0], name).contains(&name.len())
    }

    /// Adds a piece; text grows the text before it.
    pub(super) fn push(&mut self, piece: Piece) {
        push_piece(&mut self.pieces, piece);
    }
}

/// Where in `name` the text of pieces can end that begins at one of these places; without wildcards.
fn places_behind(pieces: &[Piece], from: &[usize], name: &str) -> Vec<usize> {
    let mut places = from.to_vec();
    for piece in pieces {
        places = match piece {
            Piece::Text(text) => {
                let is_there = |it: &usize| name[*it..].starts_with(text.as_str());
                places.into_iter().filter(is_there).map(|it| it + text.len()).collect()
            }
            Piece::Either(branches) => {
                let behind = |it: &Vec<Piece>| places_behind(it, &places, name);
                branches.iter().flat_map(behind).collect()
            }
            _ => Vec::new(),
        };
        // However many ways lead there.
        places.sort_unstable();
        places.dedup();
    }
    places
}

/// Adds a piece to a list; text grows the text before it.
pub(super) fn push_piece(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
        (_, piece) => pieces.push(piece),
    }
}

/// Where the extension starts, behind the last dot; the end if there is none. A dot in front of the
/// name makes it hidden and starts no extension.
pub(super) fn extension_start(name: &str) -> usize {
    match name.rfind('.') {
        None | Some(0) => name.len(),
        Some(dot) => dot + 1,
    }
}

struct Name<'n> {
    text: &'n str,
    /// From here on, case does not count.
    fold_from: usize,
}

impl Name<'_> {
    fn has(&self, text: &str, at: usize) -> bool {
        let Some(found) = self.text.as_bytes().get(at..at + text.len()) else { return false };
        let exact = self.fold_from.saturating_sub(at).min(text.len());
        let (head, tail) = text.as_bytes().split_at(exact);
        &found[..exact] == head && found[exact..].eq_ignore_ascii_case(tail)
    }

    /// The character that a wildcard may take at `at`: any but a dot in front.
    fn wild(&self, at: usize) -> Option<char> {
        let found = self.text[at..].chars().next()?;
        (at > 0 || found != '.').then_some(found)
    }
}

/// All places that can be reached from `from` through the pieces in turn.
fn advance(pieces: &[Piece], from: &Spots, name: &Name<'_>) -> Spots {
    let mut spots = *from;
    for piece in pieces {
        if spots.is_empty() {
            break;
        }
        spots = piece.step(&spots, name);
    }
    spots
}

impl Piece {
    fn step(&self, from: &Spots, name: &Name<'_>) -> Spots {
        match self {
            Piece::Text(text) => from.map(|at| name.has(text, at).then_some(at + text.len())),
            Piece::AnyChar => from.map(|at| name.wild(at).map(|it| at + it.len_utf8())),
            Piece::AnyText => any_text(from, name),
            Piece::OneOf(set) => from.map(|at| {
                let found = name.wild(at)?;
                set.has(found, at >= name.fold_from).then_some(at + found.len_utf8())
            }),
            Piece::Number(range) => number(range, from, name),
            Piece::Either(branches) => {
                let mut all = Spots::default();
                for branch in branches {
                    all.join(&advance(branch, from, name));
                }
                all
            }
        }
    }
}

fn any_text(from: &Spots, name: &Name<'_>) -> Spots {
    let hidden = name.text.starts_with('.');
    let mut all = Spots::default();
    let Some(first) = from.iter().find(|&at| at > 0 || !hidden) else { return all };

    for at in first..=name.text.len() {
        if name.text.is_char_boundary(at) {
            all.add(at);
        }
    }
    all
}

fn number(range: &NumberRange, from: &Spots, name: &Name<'_>) -> Spots {
    let mut all = Spots::default();
    for at in from.iter() {
        let digits = &name.text.as_bytes()[at..];
        let mut value = 0_u64;
        for (i, digit) in digits.iter().take(NUMBER_DIGITS).enumerate() {
            if !digit.is_ascii_digit() {
                break;
            }
            value = value * 10 + u64::from(digit - b'0');
            if range.has(value, i + 1) {
                all.add(at + i + 1);
            }
        }
    }
    all
}

/// Digits that a number may have, so that it fits 64 bits.
pub(super) const NUMBER_DIGITS: usize = 18;

impl NumberRange {
    fn has(&self, value: u64, digits: usize) -> bool {
        let needed = value.checked_ilog10().map_or(1, |it| it as usize + 1).max(self.width);
        digits == needed && (self.low..=self.high).contains(&value)
    }
}

impl CharSet {
    fn has(&self, found: char, any_case: bool) -> bool {
        let inside = |c: char| self.ranges.iter().any(|&(low, high)| (low..=high).contains(&c));
        let either = || inside(found.to_ascii_lowercase()) || inside(found.to_ascii_uppercase());
        (if any_case { either() } else { inside(found) }) != self.negated
    }
}

/// The longest name that can match, in bytes. File systems end at 255 characters.
const NAME_MAX: usize = Spots::WORDS * 64 - 1;

/// A set of places in a name.
#[derive(Clone, Copy, Default)]
struct Spots([u64; Self::WORDS]);

impl Spots {
    const WORDS: usize = 16;

    fn only(at: usize) -> Spots {
        let mut spots = Spots::default();
        spots.add(at);
        spots
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] & (1 << (at % 64)) != 0
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; Self::WORDS]
    }

    fn join(&mut self, other: &Spots) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(i, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then_some(word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(i * 64 + bit)
            })
        })
    }

    /// The places that `step` leads to.
    fn map(&self, step: impl Fn(usize) -> Option<usize>) -> Spots {
        let mut all = Spots::default();
        for at in self.iter().filter_map(step) {
            all.add(at);
        }
        all
    }
}
