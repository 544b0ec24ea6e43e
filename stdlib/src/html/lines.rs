//! The text of a tree: a line for each block, white space collapsed.

use dom_query::{Document, NodeData, NodeId, TreeNode};

/// The text of a tree.
pub(super) fn of(document: &Document) -> String {
    let tree = &document.tree;
    let mut lines = Lines::new();
    let mut node = tree.root_id();
    // Down to the first child, or on to the next sibling, or back to the parent: no tree is too deep for it.
    loop {
        if let Some(child) = tree.query_node(&node, |it| lines.enter(it)).flatten() {
            node = child;
            continue;
        }
        loop {
            match tree.query_node(&node, |it| lines.leave(it)) {
                Some((Some(sibling), _)) => {
                    node = sibling;
                    break;
                }
                Some((None, Some(parent))) => node = parent,
                _ => return lines.finish(),
            }
        }
    }
}

/// What an element does to the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It stands in a line.
    Inline,
    /// It begins a line and ends it, as browsers show it.
    Block,
    /// The same, and white space within it is kept.
    Plain,
    /// A cell of a table, in the line of its row.
    Cell,
    /// It has no text that is shown: code, what stands in for scripts, media and frames, or names of icons.
    Skipped,
}

fn kind(name: &str) -> Kind {
    match name {
        "audio" | "canvas" | "iframe" | "noembed" | "noframes" | "noscript" | "object"
        | "script" | "style" | "svg" | "template" | "video" => Kind::Skipped,
        "listing" | "plaintext" | "pre" | "xmp" => Kind::Plain,
        "td" | "th" => Kind::Cell,
        "address" | "article" | "aside" | "blockquote" | "body" | "br" | "caption" | "center"
        | "dd" | "details" | "dialog" | "dir" | "div" | "dl" | "dt" | "fieldset" | "figcaption"
        | "figure" | "footer" | "form" | "frameset" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
        | "head" | "header" | "hgroup" | "hr" | "html" | "legend" | "li" | "main" | "menu"
        | "nav" | "ol" | "optgroup" | "option" | "p" | "search" | "section" | "select"
        | "summary" | "table" | "tbody" | "tfoot" | "thead" | "title" | "tr" | "ul" => Kind::Block,
        _ => Kind::Inline,
    }
}

/// White space that stands before the next word.
#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    /// Between the cells of a row.
    Tab,
}

/// Lines that grow.
struct Lines {
    text: String,
    /// Where the line begins.
    start: usize,
    /// Whether the line has nothing but white space, such as no-break spaces.
    is_blank: bool,
    gap: Gap,
    /// How many elements that keep white space it is within.
    plain: usize,
}

impl Lines {
    fn new() -> Self {
        Self { text: String::new(), start: 0, is_blank: true, gap: Gap::None, plain: 0 }
    }

    /// Takes in a node; gives the first of those within it that are to follow.
    fn enter(&mut self, node: &TreeNode) -> Option<NodeId> {
        match &node.data {
            NodeData::Text { contents } if self.plain > 0 => self.push_plain(contents),
            NodeData::Text { contents } => self.push_words(contents),
            NodeData::Element(it) => match kind(&it.name.local) {
                Kind::Skipped => return None,
                Kind::Inline => {}
                Kind::Block => self.end_line(),
                Kind::Plain => {
                    self.end_line();
                    self.plain += 1;
                }
                Kind::Cell => self.gap = Gap::Tab,
            },
            _ => {}
        }
        node.first_child
    }

    /// Leaves a node, and gives its next sibling, and its parent.
    fn leave(&mut self, node: &TreeNode) -> (Option<NodeId>, Option<NodeId>) {
        if let NodeData::Element(it) = &node.data {
            match kind(&it.name.local) {
                Kind::Skipped | Kind::Inline => {}
                Kind::Block => self.end_line(),
                Kind::Plain => {
                    self.plain -= 1;
                    self.end_line();
                }
                Kind::Cell => self.gap = Gap::Tab,
            }
        }
        (node.next_sibling, node.parent)
    }

    fn push_words(&mut self, mut text: &str) {
        loop {
            let rest = text.trim_start_matches(is_space);
            if rest.len() < text.len() {
                self.gap = self.gap.max(Gap::Space);
            }
            if rest.is_empty() {
                return;
            }
            let (word, behind) = rest.split_at(rest.find(is_space).unwrap_or(rest.len()));
            self.push(word);
            text = behind;
        }
    }

    fn push_plain(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.push(line);
            }
        }
    }

    fn push(&mut self, piece: &str) {
        if self.text.len() > self.start {
            match self.gap {
                Gap::None => {}
                Gap::Space => self.text.push(' '),
                Gap::Tab => self.text.push('\t'),
            }
        }
        self.gap = Gap::None;
        self.is_blank = self.is_blank && piece.chars().all(char::is_whitespace);
        self.text += piece;
    }

    /// Ends the line, unless there is nothing to see in it.
    fn end_line(&mut self) {
        // Only what keeps white space has some here.
        let end = self.text.trim_end_matches([' ', '\t', '\r', '\u{c}']).len();
        self.text.truncate(if self.is_blank { self.start } else { end });
        if !self.is_blank {
            self.text.push('\n');
        }
        (self.start, self.is_blank, self.gap) = (self.text.len(), true, Gap::None);
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.text.pop();
        self.text
    }
}

/// White space of HTML, which no-break spaces are none of.
fn is_space(it: char) -> bool {
    matches!(it, ' ' | '\n' | '\t' | '\r' | '\u{c}')
}
