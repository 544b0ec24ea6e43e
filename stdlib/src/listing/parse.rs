//! Reads the text of a pattern into pieces, slashes and sets, and multiplies out only the sets that
//! reach across a slash.

use super::glob::{CharSet, NUMBER_DIGITS, NumberRange, Piece, push_piece};
use super::pattern::PatternError;

/// Bytes that a pattern may have.
const TEXT_MAX: usize = 64 * 1024;
/// Sets within sets.
const DEPTH_MAX: usize = 32;
/// Alternatives of the sets that reach across a slash, multiplied out.
const VARIANTS_MAX: usize = 10_000;
/// Alternatives times the pattern's length, which bounds the memory for them.
const EXPANSION_MAX: usize = 1 << 20;

/// What a pattern is made of.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Piece(Piece),
    Slash,
    /// `**`, and where it stands.
    Deep(usize),
    /// A set with a slash or `**` in it.
    Branch(Vec<Vec<Part>>),
}

/// Reads a whole pattern.
pub(super) fn parse(text: &str) -> Result<Vec<Part>, PatternError> {
    if text.len() > TEXT_MAX {
        let message =
            format!("a pattern has at most {TEXT_MAX} bytes; this one has {}", text.len());
        return Err(PatternError::new(0, message, "give `files` a list of shorter patterns"));
    }
    if let Some(at) = text.find('\0') {
        return Err(PatternError::new(at, "a path cannot contain a zero byte", "remove it"));
    }

    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.sequence()
}

/// Multiplies the branches out: each way through them in turn, in the order of the text.
pub(super) fn variants(parts: &[Part], text_len: usize) -> Result<Vec<Vec<Part>>, PatternError> {
    let n_ways = count(parts);
    if n_ways > VARIANTS_MAX || n_ways.saturating_mul(text_len) > EXPANSION_MAX {
        let message =
            format!("the sets that contain `/` expand to {n_ways} alternatives, which is too many");
        return Err(PatternError::new(
            0,
            message,
            "keep `/` out of the sets, or give a list of patterns",
        ));
    }
    Ok(ways(parts))
}

fn count(parts: &[Part]) -> usize {
    let of_one = |part: &Part| match part {
        Part::Branch(branches) => {
            branches.iter().fold(0, |sum: usize, it| sum.saturating_add(count(it)))
        }
        _ => 1,
    };
    parts.iter().map(of_one).fold(1, usize::saturating_mul)
}

fn ways(parts: &[Part]) -> Vec<Vec<Part>> {
    let mut all = vec![Vec::new()];
    for part in parts {
        match part {
            Part::Branch(branches) => {
                let tails: Vec<Vec<Part>> = branches.iter().flat_map(|it| ways(it)).collect();
                all = all
                    .iter()
                    .flat_map(|head| tails.iter().map(|it| [&head[..], it].concat()))
                    .collect();
            }
            one => all.iter_mut().for_each(|it| it.push(one.clone())),
        }
    }
    all
}

struct Parser<'t> {
    text: &'t str,
    /// Bytes read so far.
    at: usize,
    /// Sets that are open.
    depth: usize,
}

impl Parser<'_> {
    /// Reads up to the end of the text or, inside a set, up to its `,` or `}`.
    fn sequence(&mut self) -> Result<Vec<Part>, PatternError> {
        let mut parts = Vec::new();

        while let Some(found) = self.peek() {
            if self.depth > 0 && matches!(found, ',' | '}') {
                break;
            }
            let at = self.at;
            self.at += found.len_utf8();
            let part = self.part(found, at)?;
            push_part(&mut parts, part);
        }
        Ok(parts)
    }

    fn part(&mut self, found: char, at: usize) -> Result<Part, PatternError> {
        Ok(match found {
            '/' => Part::Slash,
            '*' if self.eat('*') => Part::Deep(at),
            '*' => Part::Piece(Piece::AnyText),
            '?' => Part::Piece(Piece::AnyChar),
            '[' => Part::Piece(Piece::OneOf(self.char_set(at)?)),
            '{' => self.set(at)?,
            '}' => {
                let help = "open the set with `{`, or write `\\}` for a literal brace";
                return Err(PatternError::new(at, "unmatched `}`", help));
            }
            '\\' => Part::Piece(Piece::Text(self.escaped(at)?.to_string())),
            plain => Part::Piece(Piece::Text(plain.to_string())),
        })
    }

    fn escaped(&mut self, at: usize) -> Result<char, PatternError> {
        let help = "write `\\\\` for a literal backslash, and `/` between folders";
        match self.peek() {
            None => Err(PatternError::new(at, "`\\` at the end of the pattern", help)),
            Some('/') => Err(PatternError::new(at, "a name cannot contain `/`", help)),
            Some(found) => {
                self.at += found.len_utf8();
                Ok(found)
            }
        }
    }

    /// Reads a set behind its `{`.
    fn set(&mut self, at: usize) -> Result<Part, PatternError> {
        if let Some(range) = self.range(at)? {
            return Ok(Part::Piece(range));
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("sets are nested more than {DEPTH_MAX} deep");
            return Err(PatternError::new(
                at,
                message,
                "write the pattern with fewer sets, or as a list",
            ));
        }

        let mut branches = vec![self.sequence()?];
        while self.eat(',') {
            branches.push(self.sequence()?);
        }
        if !self.eat('}') {
            let help = "close the set with `}`, or write `\\{` for a literal brace";
            return Err(PatternError::new(at, "`{` is not closed", help));
        }
        self.depth -= 1;
        if branches.len() == 1 {
            return Err(lone_alternative(&self.text[at..self.at], at));
        }
        Ok(join_branches(branches))
    }

    /// Reads `000..099}` or `a..e}`, if that is what comes.
    fn range(&mut self, at: usize) -> Result<Option<Piece>, PatternError> {
        let rest = &self.text[self.at..];
        let Some((inside, _)) = rest.split_once('}') else { return Ok(None) };
        let Some((low, high)) = inside.split_once("..") else { return Ok(None) };

        let digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        let piece = if digits(low) && digits(high) {
            Piece::Number(number_range(low, high, at)?)
        } else if let (Some(low), Some(high)) = (only_letter(low), only_letter(high)) {
            Piece::Either(
                (low.min(high)..=low.max(high)).map(|it| vec![Piece::Text(it.into())]).collect(),
            )
        } else {
            return Ok(None);
        };
        self.at += inside.len() + 1;
        Ok(Some(piece))
    }

    /// Reads a set of characters behind its `[`.
    fn char_set(&mut self, at: usize) -> Result<CharSet, PatternError> {
        let mut set = CharSet { negated: self.eat('!') || self.eat('^'), ..CharSet::default() };

        loop {
            let low = self.set_char(at)?;
            let high = match self.text[self.at..].starts_with('-')
                && !self.text[self.at..].starts_with("-]")
            {
                true => {
                    self.at += 1;
                    self.set_char(at)?
                }
                false => low,
            };
            if low > high {
                let message = format!("`{low}-{high}` is an empty range");
                return Err(PatternError::new(at, message, "write the lower character first"));
            }
            set.ranges.push((low, high));
            if self.eat(']') {
                return Ok(set);
            }
        }
    }

    fn set_char(&mut self, at: usize) -> Result<char, PatternError> {
        let found = self.peek().filter(|&it| it != '/').ok_or_else(|| {
            let help = "close the set of characters with `]`, or write `\\[` for a literal bracket";
            PatternError::new(at, "`[` is not closed", help)
        })?;
        self.at += found.len_utf8();
        if found == '\\' { self.escaped(self.at - 1) } else { Ok(found) }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }
}

fn push_part(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Piece(Piece::Text(before))), Part::Piece(Piece::Text(text))) => {
            before.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}

/// A set inside of one component stays one piece.
fn join_branches(branches: Vec<Vec<Part>>) -> Part {
    if branches.iter().flatten().any(|it| !matches!(it, Part::Piece(_))) {
        return Part::Branch(branches);
    }

    let pieces = |branch: Vec<Part>| {
        let mut pieces = Vec::new();
        for part in branch {
            if let Part::Piece(piece) = part {
                push_piece(&mut pieces, piece);
            }
        }
        pieces
    };
    Part::Piece(Piece::Either(branches.into_iter().map(pieces).collect()))
}

fn number_range(low: &str, high: &str, at: usize) -> Result<NumberRange, PatternError> {
    let n_digits = low.len().max(high.len());
    let numbers = low.parse().ok().zip(high.parse().ok()).filter(|_| n_digits <= NUMBER_DIGITS);
    let Some((low_number, high_number)) = numbers else {
        let message = format!("numbers in a range have at most {NUMBER_DIGITS} digits");
        return Err(PatternError::new(at, message, "use `*` for the part that differs"));
    };

    let padded = [low, high].iter().any(|it| it.len() > 1 && it.starts_with('0'));
    let (low, high): (u64, u64) = (low_number, high_number);
    Ok(NumberRange {
        low: low.min(high),
        high: low.max(high),
        width: if padded { n_digits } else { 1 },
    })
}

fn only_letter(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|it| it.is_ascii_alphabetic() && chars.next().is_none())
}

fn lone_alternative(set: &str, at: usize) -> PatternError {
    let inside = &set[1..set.len() - 1];
    let message = format!("`{set}` is a set with only one alternative");
    let help = if inside.contains("..") {
        "a range consists of two integers, `{000..099}`, or two letters, `{a..e}`".to_owned()
    } else {
        format!(
            "list several, `{{jpg,jpeg}}`; `{set}` is interpolated only between double quotes; \
             for literal braces, write `\\{{{inside}\\}}`"
        )
    };
    PatternError::new(at, message, help)
}
