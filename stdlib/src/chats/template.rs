//! A template in Jinja, as transformers compiles it: `ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)`
//! with `tojson`, `raise_exception`, `break` and `continue`, and the tag `{% generation %}`.
//!
//! What is given of the time, `strftime_now`, would make each run differ, so it is not there: templates that ask whether
//! it is defined take the date that they have for this case.

use super::{Config, Messages, Rendered, generation, python, too_long};
use minijinja::{
    Environment, Error, ErrorKind, State, Value, escape_formatter,
    syntax::SyntaxConfig,
    value::{Object, ObjectRepr},
};
use runtime::Fault;
use std::{
    cell::RefCell,
    collections::HashSet,
    error::Error as _,
    fmt,
    io::{self, Write},
    sync::Arc,
};

/// Instructions of a template that one rendering may take: a chat of a few messages takes some hundreds.
const STEPS_MAX: u64 = 20_000_000;
/// Blocks and macros within each other.
const DEPTH_MAX: usize = 100;
/// Characters of a message that a template raises.
const RAISED_MAX: usize = 300;
/// What the only template of an environment is called.
const NAME: &str = "chat";

/// A compiled template.
pub(super) struct Template {
    environment: Environment<'static>,
    /// How often it says that what follows was said by a model.
    marks: usize,
    /// What it asks for by name.
    names: HashSet<String>,
}

/// What a template is given.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) messages: Value,
    pub(super) prompt: bool,
    pub(super) tokens: Option<Arc<Config>>,
}

thread_local! {
    /// What this thread is rendering.
    static RENDERING: RefCell<Rendering> = RefCell::default();
}

#[derive(Default)]
struct Rendering {
    text: Vec<u8>,
    said: Vec<[usize; 2]>,
    most: usize,
}

impl Template {
    /// # Errors
    /// It is no template, and where.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let (text, marks) = generation::replaced(text);
        let mut environment = Environment::new();
        let mut syntax = SyntaxConfig::builder();
        let syntax = syntax.trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.expect("the delimiters are those of Jinja"));
        environment.set_fuel(Some(STEPS_MAX));
        environment.set_recursion_limit(DEPTH_MAX);
        environment.set_formatter(write);
        environment.add_filter(generation::FILTER, |text: String| Value::from_object(Said(text)));
        environment.add_function("raise_exception", raise);
        python::add(&mut environment);
        let wrong = |it: Error| {
            let line = it.line().map_or(String::new(), |it| format!(" (line {it})"));
            let detail = it.detail().unwrap_or_default();
            format!("its chat template is not valid Jinja{line}: {}", shortened(detail))
        };
        environment.add_template_owned(NAME, text).map_err(wrong)?;
        let template = environment.get_template(NAME).map_err(wrong)?;
        let names = template.undeclared_variables(false);
        Ok(Self { environment, marks, names })
    }

    /// Whether it says which parts a model has said.
    pub(super) fn has_marks(&self) -> bool {
        self.marks > 0
    }

    /// Whether it asks for something of this name.
    pub(super) fn asks_for(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// What it makes of messages, in at most so many bytes.
    ///
    /// # Errors
    /// `chat-template`: it refuses them.
    pub(super) fn render(&self, context: Context, most: usize) -> Result<Rendered, Fault> {
        RENDERING.set(Rendering { most, ..Rendering::default() });
        let template = self.environment.get_template(NAME).map_err(|it| fault(&it))?;
        // What was captured refers to the template, and is not looked at.
        let done = template.render_captured_to(Value::from_object(context), Sink).map(|_| ());
        let Rendering { text, said, .. } = RENDERING.take();
        done.map_err(|it| fault(&it))?;
        let text = String::from_utf8(text).expect("strings are written");
        let inside = |it: usize| text.floor_char_boundary(it.min(text.len()));
        let said = said.into_iter().map(|[from, to]| inside(from)..inside(to)).collect();
        Ok(Rendered { text, said })
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("marks", &self.marks).finish_non_exhaustive()
    }
}

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "messages" => Some(self.messages.clone()),
            "add_generation_prompt" => Some(Value::from(self.prompt)),
            // There are none.
            "tools" | "documents" => Some(Value::from(())),
            _ => self.tokens.as_ref()?.token(key),
        }
    }
}

/// Where a template writes to: what this thread is rendering.
struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        RENDERING.with_borrow_mut(|it| {
            if it.text.len() + bytes.len() > it.most {
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
            it.text.extend_from_slice(bytes);
            Ok(bytes.len())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a model has said, as text.
#[derive(Debug)]
struct Said(String);

impl Object for Said {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes a value, and takes note of where what a model has said begins and ends: as transformers does, that is reckoned
/// from what has been written, also where it is captured first.
fn write(
    out: &mut minijinja::Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    if let Some(Said(text)) = value.downcast_object_ref::<Said>() {
        RENDERING.with_borrow_mut(|it| it.said.push([it.text.len(), it.text.len() + text.len()]));
        return Ok(out.write_str(text)?);
    }
    match python::printed(value) {
        Some(text) => Ok(out.write_str(&text)?),
        None => escape_formatter(out, state, value),
    }
}

/// What a template raised itself.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

fn raise(message: &Value) -> Result<Value, Error> {
    let raised = Raised(message.to_string());
    Err(Error::new(ErrorKind::InvalidOperation, "raised").with_source(raised))
}

/// Why a template could not be rendered.
fn fault(error: &Error) -> Fault {
    let raised = error.source().and_then(|it| it.downcast_ref::<Raised>());
    let detail = error.detail().unwrap_or_default();
    let why = match (raised, error.kind()) {
        (Some(Raised(message)), _) => format!("the template refuses the chat: {}", shortened(message)),
        (None, ErrorKind::WriteFailure) => return too_long(),
        (None, ErrorKind::OutOfFuel) => {
            format!("the template takes more than {} steps", plan::count(STEPS_MAX))
        }
        (None, ErrorKind::UnknownFunction) if detail.contains("strftime_now") => {
            "the template asks for the time (`strftime_now`), which would make each run differ; write a date into it".to_owned()
        }
        (None, kind) => {
            let line = error.line().map_or(String::new(), |it| format!(" (line {it})"));
            let detail = if detail.is_empty() { kind.to_string() } else { shortened(detail) };
            format!("the template fails{line}: {detail}")
        }
    };
    Fault::new("chat-template", why)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(RAISED_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Messages {
    /// The text that a template makes of all of them, for tests.
    #[cfg(test)]
    pub(super) fn rendered(&self, template: &Template) -> Result<Rendered, Fault> {
        let context = Context { messages: self.first(self.len()), prompt: false, tokens: None };
        template.render(context, 1 << 20)
    }
}
