//! The way from text to tree: limits, pieces, the grammar, and what happens where it stops.

use std::ops::Range;

use pest::Parser as _;
use pest::error::{Error, ErrorVariant, InputLocation};
use pest::iterators::Pairs;
use pest_derive::Parser;
use plan::{Diagnostic, FileId};

use super::cures::{self, Slip};
use super::kept::Kept;
use super::lower::{Lower, Piece};
use super::origin::{Edit, Origin};
use super::pieces::{self, Fence};
use super::strays;
use super::tokens::{self, Fault, Token};
use super::{DECLARATIONS_MAX, MESSAGES_MAX, SOURCE_MAX};
use crate::ast::{self, Signature};
use crate::errors::syntax as errors;

/// The grammar; its rules name what can be read.
#[derive(Parser)]
#[grammar = "grammar.pest"]
pub(super) struct Grammar;

/// Mistakes of one declaration that are mended to read on.
const MENDED_MAX: usize = 8;

/// A piece longer than this, in bytes, is not mended: trying cures would read it many times over.
const MENDABLE_MAX: usize = 1 << 16;

/// Reads a file; the tree holds all that could be read, the messages say the rest.
///
/// Messages stand in the order of the text. A declaration that could not be read is there by its name, as
/// [`ast::Declaration::broken`], where it has one.
#[must_use]
pub fn parse(text: &str, file: FileId) -> (ast::File, Vec<Diagnostic>) {
    parse_again(text, file, &mut Kept::default())
}

/// The same, where much of the text was read before: what has not changed is not read again.
#[must_use]
pub fn parse_again(text: &str, file: FileId, kept: &mut Kept) -> (ast::File, Vec<Diagnostic>) {
    kept.begin();
    let mut reading = Reading::new(file);
    if text.len() > SOURCE_MAX {
        reading.messages.push(errors::source_size(text.len(), Origin::new(file, 0).span(0..0)));
        return reading.finished();
    }

    let text = reading.foreign_comments(text);
    let (mut tokens, faults) = tokens::tokens(&text);
    tokens.retain(|it| !it.is_comment());
    let pieces = pieces::pieces(&text, &tokens);
    if let Some(extra) = pieces.get(DECLARATIONS_MAX) {
        let at = &tokens[extra.start];
        reading.messages.push(errors::declarations(Origin::new(file, 0).span(at.start..at.end)));
        return reading.finished();
    }

    for piece in pieces {
        let tokens = &tokens[piece];
        let reach = tokens[0].start..tokens[tokens.len() - 1].end;
        let within = faults.iter().filter(|it| reach.contains(&it.1)).cloned().collect();
        reading.piece_again(&text, reach, within, kept);
        if reading.messages.len() >= MESSAGES_MAX {
            break;
        }
    }
    reading.finished()
}

/// Whether the grammar reads a text as it stands, without any help: what other parsers of the language
/// are held against.
#[must_use]
pub fn is_read(text: &str) -> bool {
    text.len() <= SOURCE_MAX
        && tokens::tokens(text).1.is_empty()
        && Grammar::parse(Rule::file, text).is_ok()
}

/// Reads the signature of a library entry: `resize(image: u8[h, w, c], height: int) -> u8[height, w, c]`.
///
/// # Errors
/// The first mistake in it; spans count from the start of `text`, in file 0.
pub fn parse_signature(text: &str) -> Result<Signature, Box<Diagnostic>> {
    whole(Rule::signature, text, |lower, pairs| lower.signature(pairs))
}

/// Reads one expression: what is given to a parameter from outside; none if it is not one.
///
/// Spans count from the start of `text`, in file 0.
#[must_use]
pub fn parse_value(text: &str) -> Option<ast::Expr> {
    whole(Rule::given, text, |lower, pairs| lower.given(pairs)).ok()
}

/// Reads all of `text` by one rule.
fn whole<T>(
    rule: Rule,
    text: &str,
    lowered: impl Fn(&Lower<'_>, Pairs<'_, Rule>) -> T,
) -> Result<T, Box<Diagnostic>> {
    let origin = Origin::new(FileId::default(), 0);
    if text.len() > SOURCE_MAX {
        return Err(Box::new(errors::source_size(text.len(), origin.span(0..0))));
    }
    let (mut tokens, faults) = tokens::tokens(text);
    tokens.retain(|it| !it.is_comment());
    if let Some((fault, start, end)) = faults.first() {
        return Err(Box::new(
            strays::found(*fault, &text[*start..*end], origin.span(*start..*end)).message,
        ));
    }
    if let Some(fence) = pieces::fence(text, &tokens) {
        return Err(Box::new(fenced(text, &tokens, fence, &origin)));
    }
    let pairs = Grammar::parse(rule, text).map_err(|stop| {
        cures::unexpected(&Slip::new(text, &origin, reached(&stop), wanted(&stop)))
    })?;
    let lower = Lower::new(&origin);
    let tree = lowered(&lower, pairs);
    match lower.messages().into_iter().find(Diagnostic::is_error) {
        Some(message) => Err(Box::new(message)),
        None => Ok(tree),
    }
}

struct Reading {
    file: ast::File,
    messages: Vec<Diagnostic>,
    /// Whether anything stood before the piece that is being read.
    begun: bool,
}

impl Reading {
    fn new(file: FileId) -> Self {
        let file = ast::File { id: file, edition: None, declarations: Vec::new() };
        Self { file, messages: Vec::new(), begun: false }
    }

    fn finished(mut self) -> (ast::File, Vec<Diagnostic>) {
        self.messages.sort_by_key(|it| it.span.start);
        self.messages.truncate(MESSAGES_MAX);
        (self.file, self.messages)
    }

    /// The text with the comments of other languages made ours, each by as many bytes.
    fn foreign_comments(&mut self, text: &str) -> String {
        let mut mended = text.to_owned();
        for found in strays::foreign_comments(text) {
            mended.replace_range(found.at.clone(), found.replacement);
            let span = Origin::new(self.file.id, 0).span(found.at);
            self.messages.push((found.message)(span));
        }
        mended
    }

    /// Reads a piece, unless it was read before and nothing was to be said about it.
    fn piece_again(
        &mut self,
        text: &str,
        reach: Range<usize>,
        faults: Vec<(Fault, usize, usize)>,
        kept: &mut Kept,
    ) {
        let (piece, start) = (&text[reach.clone()], reach.start);
        if let Some(it) = kept.read(piece, self.file.id, start).filter(|_| faults.is_empty()) {
            self.file.declarations.push(it);
            self.begun = true;
            return;
        }
        let before = (self.messages.len(), self.file.declarations.len());
        self.piece(text, reach, faults);
        if let (true, Some(it)) =
            (self.messages.len() == before.0, self.file.declarations.get(before.1))
        {
            kept.keep(piece, start, it);
        }
    }

    fn piece(&mut self, text: &str, reach: Range<usize>, faults: Vec<(Fault, usize, usize)>) {
        let origin = Origin::new(self.file.id, reach.start);
        let piece = &text[reach.clone()];
        let read = match self.mended(text, faults, piece.to_owned(), origin.clone()) {
            Some((piece, origin)) => self.read(piece, origin),
            None => None,
        };
        match read.unwrap_or_else(|| cures::broken(piece, &origin)) {
            Piece::Edition(it) if self.begun => self.messages.push(errors::edition_place(it.span)),
            Piece::Edition(it) => self.file.edition = Some(it),
            Piece::Declaration(it) => self.file.declarations.push(*it),
            Piece::Nothing => {}
        }
        self.begun = true;
    }

    /// The piece without its faults; none if one of them leaves nothing to read.
    fn mended(
        &mut self,
        text: &str,
        faults: Vec<(Fault, usize, usize)>,
        mut piece: String,
        mut origin: Origin,
    ) -> Option<(String, Origin)> {
        let start = origin.start();
        // From the last to the first, so that each stands where it stood.
        for (fault, from, to) in faults.into_iter().take(MENDED_MAX).rev() {
            let found =
                strays::found(fault, &text[from..to], Origin::new(self.file.id, 0).span(from..to));
            self.messages.push(found.message);
            let edit = Edit::new(from - start..to - start, found.meant?);
            piece = edit.applied(&piece);
            origin = origin.edited(edit);
        }
        Some((piece, origin))
    }

    /// Reads a piece, mending what can be; none if it cannot be read, which is then said.
    fn read(&mut self, mut piece: String, mut origin: Origin) -> Option<Piece> {
        let words = tokens::words(&piece);
        if let Some(fence) = pieces::fence(&piece, &words) {
            self.messages.push(fenced(&piece, &words, fence, &origin));
            return None;
        }
        for mended in 0..=MENDED_MAX {
            let stop = match Grammar::parse(Rule::alone, &piece) {
                Ok(pairs) => return Some(self.lowered(pairs, &origin)),
                Err(stop) => stop,
            };
            let slip = Slip::new(&piece, &origin, reached(&stop), wanted(&stop));
            let mendable = mended < MENDED_MAX && piece.len() <= MENDABLE_MAX;
            let (message, edit) =
                cures::mistake(&slip, |edit| mendable && reads_on(&piece, reached(&stop), edit));
            self.messages.push(message);
            let edit = edit.filter(|_| mendable)?;
            piece = edit.applied(&piece);
            origin = origin.edited(edit);
        }
        None
    }

    fn lowered(&mut self, pairs: Pairs<'_, Rule>, origin: &Origin) -> Piece {
        let lower = Lower::new(origin);
        let piece = lower.piece(pairs);
        self.messages.extend(lower.messages());
        piece
    }
}

/// Whether the grammar gets further than `stop` with the change.
fn reads_on(piece: &str, stop: usize, edit: &Edit) -> bool {
    let mended = edit.applied(piece);
    let words = tokens::words(&mended);
    if pieces::fence(&mended, &words).is_some() {
        return false;
    }
    match Grammar::parse(Rule::alone, &mended) {
        Ok(_) => true,
        Err(again) => edit.before(reached(&again)) > stop,
    }
}

/// The furthest byte that the grammar got to.
fn reached(stop: &Error<Rule>) -> usize {
    match stop.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    }
}

/// What the grammar would have read there.
fn wanted(stop: &Error<Rule>) -> &[Rule] {
    match &stop.variant {
        ErrorVariant::ParsingError { positives, .. } => positives,
        ErrorVariant::CustomError { .. } => &[],
    }
}

fn fenced(text: &str, tokens: &[Token], fence: Fence, origin: &Origin) -> Diagnostic {
    let span = |at: usize| origin.span(tokens[at].start..tokens[at].end);
    let word = |at: usize| tokens[at].of(text);
    match fence {
        Fence::Unclosed(open, met) => {
            errors::unclosed(word(open), span(open), met.map(|it| (word(it), span(it))))
        }
        Fence::Stray(at) => errors::stray_bracket(word(at), span(at)),
        Fence::Deep(at) => errors::nesting(span(at)),
        Fence::Long(at) => errors::chain(span(at)),
    }
}
