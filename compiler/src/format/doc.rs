//! A text that does not know its lines yet, and the printer that finds them.
//!
//! Every decision follows from the widths of the parts, from the comments, and from the breaks that are
//! [`forced`](Doc::forced): a part that was broken for its width is forced to break when it is read again, and
//! nothing asks which of the two it was. So what is printed once is printed the same ever after.

/// The columns of a line, where it can be had.
pub(super) const WIDTH: usize = 120;
/// A step inwards.
const STEP: usize = 4;
/// What is wider stands on a line of its own where others share one.
const SHARED_MAX: usize = WIDTH / 2;
/// Brackets that are no wider are not counted on to break.
const WHOLE_MAX: usize = 40;
/// A comment at a line's end keeps its column up to here.
const NOTE_MAX: usize = 100;

/// A piece of text.
#[derive(Clone, Debug)]
pub(super) struct Doc {
    kind: Kind,
    /// Its columns on one line.
    pub(super) width: usize,
    /// It cannot stand on one line.
    pub(super) forced: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Text(String),
    Row(Vec<Doc>),
    Space,
    Break,
    Group(Box<Doc>),
    Indent(Box<Doc>),
    Align(Box<Doc>),
    Bracket(Box<Bracket>),
    Note(Note),
}

/// A comment behind something, and the column where it stood.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) column: usize,
}

/// Items between brackets.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    pub(super) items: Vec<Item>,
    pub(super) layout: Layout,
    /// Comments behind the opening bracket.
    pub(super) notes: Vec<Note>,
    /// Comments below the last item.
    pub(super) below: Vec<String>,
    /// The author broke the line behind the opening bracket.
    pub(super) broken: bool,
}

/// How items stand that do not fit on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One a line, their values below each other, with a last comma.
    Columns,
    /// One a line, with a last comma.
    Rows,
    /// One a line, without a last comma.
    Bare,
    /// As many on a line as fit, with a last comma.
    Fill,
    /// As many on a line as fit, the bracket closing behind the last one.
    Tight,
    /// In a row, of which this one is broken.
    Hug(usize),
}

/// Something between brackets.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// A blank line, as the author left one.
    pub(super) blank: bool,
    /// Comments above it.
    pub(super) above: Vec<String>,
    /// Its name.
    pub(super) key: Option<String>,
    pub(super) doc: Doc,
    /// Comments behind it.
    pub(super) notes: Vec<Note>,
}

impl Item {
    /// Its columns on one line.
    pub(super) fn width(&self) -> usize {
        self.key.as_ref().map_or(0, |it| columns(it) + 2) + self.doc.width
    }
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A text without a line break.
pub(super) fn text(text: impl Into<String>) -> Doc {
    let text = text.into();
    Doc { width: columns(&text), kind: Kind::Text(text), forced: false }
}

/// One after another.
pub(super) fn row(parts: impl IntoIterator<Item = Doc>) -> Doc {
    let parts: Vec<_> = parts.into_iter().collect();
    let width = parts.iter().map(|it| it.width).sum();
    let forced = parts.iter().any(|it| it.forced);
    Doc { kind: Kind::Row(parts), width, forced }
}

/// A space, or a line break if the group around it is broken.
pub(super) fn space() -> Doc {
    Doc { kind: Kind::Space, width: 1, forced: false }
}

/// A line break in any case.
pub(super) fn line() -> Doc {
    Doc { kind: Kind::Break, width: 0, forced: true }
}

/// A comment at the end of the line, whatever else comes there.
pub(super) fn note(note: Note) -> Doc {
    Doc { kind: Kind::Note(note), width: 0, forced: true }
}

/// On one line if it fits; otherwise all its spaces break.
pub(super) fn group(doc: Doc) -> Doc {
    Doc { width: doc.width, forced: doc.forced, kind: Kind::Group(Box::new(doc)) }
}

/// Broken lines stand a step further in.
pub(super) fn indent(doc: Doc) -> Doc {
    Doc { width: doc.width, forced: doc.forced, kind: Kind::Indent(Box::new(doc)) }
}

/// Broken lines stand below its beginning.
pub(super) fn align(doc: Doc) -> Doc {
    Doc { width: doc.width, forced: doc.forced, kind: Kind::Align(Box::new(doc)) }
}

/// Broken, whether it fits or not.
pub(super) fn forced(doc: Doc, forced: bool) -> Doc {
    Doc { forced: doc.forced || forced, ..doc }
}

impl Bracket {
    /// The text of it.
    pub(super) fn doc(self) -> Doc {
        let items: usize = self.items.iter().map(|it| it.width() + 2).sum();
        let width = 2 + items.saturating_sub(2) + if self.padded() { 2 } else { 0 };
        let noted = self.commented() || self.items.iter().any(|it| it.doc.forced);
        Doc { width, forced: self.broken || noted, kind: Kind::Bracket(Box::new(self)) }
    }

    /// Whether a comment stands between the brackets, outside the items.
    pub(super) fn commented(&self) -> bool {
        let noted = self.items.iter().any(|it| !it.above.is_empty() || !it.notes.is_empty());
        noted || !self.notes.is_empty() || !self.below.is_empty()
    }

    /// Puts comments behind the last item so far, or behind the bracket.
    pub(super) fn behind_last(&mut self, notes: Vec<Note>) {
        match self.items.last_mut() {
            Some(item) => item.notes.extend(notes),
            None => self.notes.extend(notes),
        }
    }

    fn padded(&self) -> bool {
        self.open == "{" && !self.items.is_empty()
    }
}

/// The lines of a text that begins at the margin, each with its end.
pub(super) fn print(doc: &Doc) -> String {
    let mut printer =
        Printer { out: String::new(), column: 0, indent: 0, fresh: true, notes: Vec::new() };
    printer.doc(doc, Mode::Broken, 0);
    printer.newline();
    printer.out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// All on this line.
    Flat,
    /// Spaces break; what fits is flat.
    Broken,
    /// Brackets break though they may fit.
    Hugged,
}

struct Printer {
    out: String,
    column: usize,
    indent: usize,
    /// Nothing stands on the line yet.
    fresh: bool,
    notes: Vec<Note>,
}

impl Printer {
    /// Prints a text behind which `tail` columns must fit on its last line.
    fn doc(&mut self, doc: &Doc, mode: Mode, tail: usize) {
        match &doc.kind {
            Kind::Text(text) => self.text(text),
            Kind::Row(parts) => self.row(parts, mode, tail),
            Kind::Space if mode == Mode::Flat => self.text(" "),
            Kind::Space | Kind::Break => self.newline(),
            Kind::Group(inner) => self.doc(inner, self.mode(doc, mode, tail), tail),
            Kind::Indent(inner) => self.within(self.indent + STEP, |it| it.doc(inner, mode, tail)),
            Kind::Align(inner) => self.within(self.here(), |it| it.doc(inner, mode, tail)),
            Kind::Bracket(bracket) => match (self.mode(doc, mode, tail), mode) {
                (Mode::Flat, Mode::Flat | Mode::Broken) => self.flat(bracket),
                _ => self.bracket(bracket, tail),
            },
            Kind::Note(note) => self.notes.push(note.clone()),
        }
    }

    /// How a part stands in what is printed in `mode`.
    fn mode(&self, doc: &Doc, mode: Mode, tail: usize) -> Mode {
        let flat = mode == Mode::Flat || !doc.forced && self.here() + doc.width + tail <= WIDTH;
        if flat { Mode::Flat } else { Mode::Broken }
    }

    fn row(&mut self, parts: &[Doc], mode: Mode, tail: usize) {
        for (at, part) in parts.iter().enumerate() {
            let (head, ended) = heads(&parts[at + 1..]);
            self.doc(part, mode, head + if ended { 0 } else { tail });
        }
    }

    fn within(&mut self, indent: usize, inner: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.indent, indent);
        inner(self);
        self.indent = outer;
    }

    /// The column where the next text comes.
    fn here(&self) -> usize {
        if self.fresh { self.indent } else { self.column }
    }

    fn text(&mut self, text: &str) {
        if self.fresh {
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            (self.fresh, self.column) = (false, self.indent);
        }
        self.out.push_str(text);
        self.column += columns(text);
    }

    /// Ends the line, with the comments that belong at its end.
    fn newline(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        for (at, note) in std::mem::take(&mut self.notes).into_iter().enumerate() {
            let line = self.out.rfind('\n').map_or(0, |it| it + 1);
            let end = columns(&self.out[line..]);
            let kept = if at == 0 && note.column <= NOTE_MAX {
                note.column.saturating_sub(end)
            } else {
                0
            };
            self.out.extend(std::iter::repeat_n(' ', kept.max(2)));
            self.out.push_str(&note.text);
        }
        self.out.push('\n');
        self.fresh = true;
    }

    fn flat(&mut self, bracket: &Bracket) {
        let pad = if bracket.padded() { " " } else { "" };
        self.text(bracket.open);
        self.text(pad);
        self.in_line(bracket, |it, _, item| it.doc(&item.doc, Mode::Flat, 0));
        self.text(pad);
        self.text(bracket.close);
    }

    fn in_line(&mut self, bracket: &Bracket, mut print: impl FnMut(&mut Self, usize, &Item)) {
        for (at, item) in bracket.items.iter().enumerate() {
            self.text(if at > 0 { ", " } else { "" });
            self.key(item, 1);
            print(self, at, item);
        }
    }

    /// The name of an item and its colon, in so many columns more.
    fn key(&mut self, item: &Item, pad: usize) {
        if let Some(key) = &item.key {
            self.text(&format!("{key}:{:pad$}", ""));
        }
    }

    fn bracket(&mut self, bracket: &Bracket, tail: usize) {
        self.text(bracket.open);
        match bracket.layout {
            Layout::Hug(broken) => {
                let rest = tail
                    + bracket.items[broken + 1..].iter().map(|it| it.width() + 2).sum::<usize>();
                self.in_line(bracket, |it, at, item| match at == broken {
                    true => it.doc(&item.doc, Mode::Hugged, rest),
                    false => it.doc(&item.doc, Mode::Broken, 0),
                });
            }
            Layout::Fill | Layout::Tight => self.fill(bracket, tail),
            Layout::Columns | Layout::Rows | Layout::Bare => self.rows(bracket),
        }
        self.text(bracket.close);
    }

    fn rows(&mut self, bracket: &Bracket) {
        let keys = bracket
            .items
            .iter()
            .filter_map(|it| it.key.as_ref())
            .map(|it| columns(it))
            .max()
            .unwrap_or(0);
        let aligned = bracket.layout == Layout::Columns;
        self.notes.extend(bracket.notes.iter().cloned());
        self.within(self.indent + STEP, |it| {
            for (at, item) in bracket.items.iter().enumerate() {
                it.above(item, at > 0);
                let key = item.key.as_ref().map_or(0, |it| columns(it));
                it.key(item, if aligned { 1 + keys - key } else { 1 });
                it.doc(&item.doc, Mode::Broken, 1);
                let last = at + 1 == bracket.items.len();
                it.text(if last && bracket.layout == Layout::Bare { "" } else { "," });
                it.notes.extend(item.notes.iter().cloned());
            }
            for comment in &bracket.below {
                it.newline();
                it.text(comment);
            }
        });
        self.newline();
    }

    /// Begins the line of an item, below the comments above it.
    fn above(&mut self, item: &Item, blank: bool) {
        self.newline();
        if item.blank && blank {
            self.newline();
        }
        for comment in &item.above {
            self.text(comment);
            self.newline();
        }
    }

    fn fill(&mut self, bracket: &Bracket, tail: usize) {
        let tight = bracket.layout == Layout::Tight;
        let closing = if tight { 1 + tail } else { 1 };
        self.within(self.indent + STEP, |it| {
            let mut alone = true;
            for (at, item) in bracket.items.iter().enumerate() {
                let last = at + 1 == bracket.items.len();
                let tail = if last { closing } else { 1 };
                if alone
                    || item.doc.forced
                    || item.width() > SHARED_MAX
                    || it.here() + 1 + item.width() + tail > WIDTH
                {
                    it.newline();
                } else {
                    it.text(" ");
                }
                let lines = it.out.len();
                it.key(item, 1);
                it.doc(&item.doc, Mode::Broken, tail);
                alone = it.out[lines..].contains('\n') || item.width() > SHARED_MAX;
                it.text(if last && tight { "" } else { "," });
            }
        });
        if !tight {
            self.newline();
        }
    }
}

/// The columns up to the first place where what follows may break, and whether there is such a place.
fn heads(parts: &[Doc]) -> (usize, bool) {
    let mut sum = 0;
    for part in parts {
        let (width, ended) = match &part.kind {
            Kind::Text(_) => (part.width, false),
            Kind::Row(parts) => heads(parts),
            Kind::Space | Kind::Break => (0, true),
            Kind::Group(inner) | Kind::Indent(inner) | Kind::Align(inner) => {
                heads(std::slice::from_ref(&**inner))
            }
            Kind::Bracket(_) if part.width <= WHOLE_MAX => (part.width, false),
            Kind::Bracket(_) => (1, true),
            Kind::Note(_) => (0, false),
        };
        sum += width;
        if ended {
            return (sum, true);
        }
    }
    (sum, false)
}
