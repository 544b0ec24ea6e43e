//! What is said to people, on stderr; colour and progress only where a terminal is.
//!
//! That stderr cannot be written is nothing to be told about.

use clap::ColorChoice;
use plan::escaped;
use std::{
    env,
    io::{self, IsTerminal, Write},
};

/// Columns where the terminal does not say.
const WIDTH: usize = 100;
/// What stands before and behind text in a style: nothing else that begins with ESC is printed.
const STYLES: [&str; 6] = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[36m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];
/// The most columns that messages use.
const WIDTH_MAX: usize = 120;

/// How to talk.
pub(crate) struct Talk {
    /// Whether text is coloured.
    pub(crate) color: bool,
    /// Whether somebody looks on: lines may be rewritten.
    pub(crate) terminal: bool,
}

/// How a word is shown.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Error,
    Warning,
    Help,
    Dim,
    Strong,
}

impl Talk {
    /// As `choice` and the surroundings say.
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let dumb = env::var_os("TERM").is_some_and(|it| it == "dumb");
        let terminal = io::stderr().is_terminal() && !dumb;
        let forbidden = env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !forbidden,
        };
        Self { color, terminal }
    }

    /// Columns of the terminal.
    pub(crate) fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(io::stderr());
        size.map_or(WIDTH, |(width, _)| usize::from(width.0))
    }

    /// Columns that messages use.
    pub(crate) fn text_width(&self) -> usize {
        self.width().clamp(40, WIDTH_MAX)
    }

    /// A line; what names and data bring along is escaped.
    pub(crate) fn say(&self, text: &str) {
        self.print(&format!("{}\n", self.shown(text)));
    }

    /// `text` without anything that a terminal would obey but our own styles.
    fn shown(&self, text: &str) -> String {
        let (mut shown, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('\x1b').filter(|_| self.color) {
            shown.push_str(&escaped(&rest[..at]));
            let style = STYLES.into_iter().find(|it| rest[at..].starts_with(it)).unwrap_or("");
            let kept = at + style.len().max(1);
            shown.push_str(if style.is_empty() { "\\u{1b}" } else { style });
            rest = &rest[kept..];
        }
        shown.push_str(&escaped(rest));
        shown
    }

    /// Text as it is: who prints it has escaped what comes from elsewhere.
    pub(crate) fn print(&self, text: &str) {
        let _ = write!(io::stderr(), "{text}");
    }

    /// What is wrong, and what to do.
    pub(crate) fn error(&self, message: &str, help: Option<&str>) {
        self.say(&format!("{} {message}", self.styled(Style::Error, "error:")));
        if let Some(help) = help {
            self.say(&format!("{} {help}", self.styled(Style::Help, " help:")));
        }
    }

    /// What is probably not meant, and what to do.
    pub(crate) fn warning(&self, message: &str, help: &str) {
        self.say(&format!("{} {message}", self.styled(Style::Warning, "warning:")));
        self.say(&format!("{} {help}", self.styled(Style::Help, " help:")));
    }

    /// A line that the next one replaces.
    pub(crate) fn passing(&self, text: &str) {
        if self.terminal {
            let room = self.width().saturating_sub(1);
            let text: String = escaped(text).chars().take(room).collect();
            self.print(&format!("\r\x1b[2K{text}"));
        }
    }

    /// Takes the last line away that was to be replaced.
    pub(crate) fn passed(&self) {
        self.passing("");
    }

    /// `text` in a style.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Help => "36",
            Style::Dim => "2",
            Style::Strong => "1",
        };
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Prints a report on stdout, with what names and data bring along escaped.
pub(crate) fn print(report: &str) -> io::Result<()> {
    io::stdout().lock().write_all(escaped(report).as_bytes())
}
