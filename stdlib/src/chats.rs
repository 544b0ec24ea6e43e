//! Chats: messages as the text that the template of a model makes of them, and which parts of it the model has said.
//!
//! The reference is `apply_chat_template` of Hugging Face's transformers.
//!
//! | file | what |
//! |---|---|
//! | `messages.rs` | the messages of a record |
//! | `config.rs` | what `tokenizer_config.json` holds: a template, and special tokens by name |
//! | `template.rs` | a template, and what it makes of messages |
//! | `generation.rs` | the tag `{% generation %}`, which Jinja lacks |
//! | `python.rs` | what templates expect of Python |

mod config;
mod generation;
mod messages;
mod python;
mod template;

pub(crate) use messages::Messages;

use crate::tokens::{Part, Tokenizer};
use config::Config;
use plan::{File, shown_bytes};
use runtime::Fault;
use std::{ops::Range, sync::Arc};
use template::{Context, Template};

/// Bytes that are written for one chat, at the most, in all renderings of it together.
const RENDERED_MAX: usize = 256 << 20;

/// The template of a model, ready to be used.
pub(crate) struct Chat {
    /// Where the template is from.
    config: Arc<Config>,
    /// Where the special tokens are from.
    tokens: Option<Arc<Config>>,
}

/// What a template made of a chat.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    /// The parts of it that count for the loss, in order.
    pub(crate) said: Vec<Range<usize>>,
}

/// What is rendered of a chat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Whether the text ends with what stands before an answer.
    pub(crate) prompt: bool,
    /// Those whose messages count for the loss, where the template does not say which parts do.
    pub(crate) roles: &'a [String],
}

impl Chat {
    /// The template in one of these files; none where nobody has read them.
    ///
    /// # Errors
    /// There is none in them, or it is no template, or needs what is not in them.
    pub(crate) fn of(
        model: &File,
        template: Option<&File>,
        config: Option<&File>,
    ) -> Result<Option<Self>, String> {
        let is_unread = |it: &File| it.bytes().is_none();
        if [Some(model), template, config].into_iter().flatten().any(is_unread) {
            return Ok(None);
        }
        let read = |file: &File| {
            let config =
                file.made(Config::read).unwrap_or_else(|| Err("it was not read".to_owned()));
            config.map_err(|why| format!("`{}`: {why}", file.path()))
        };
        let (own, beside) = (template.map(read).transpose()?, config.map(read).transpose()?);
        let has_tokens = |it: &&Arc<Config>| it.tokens.is_some();
        let tokens = own.iter().chain(&beside).find(has_tokens).cloned();
        let with_template = |it: &Arc<Config>| it.template.is_some();
        let chosen = own.iter().chain(&beside).find(|it| with_template(it)).cloned();
        let chosen = chosen.ok_or_else(|| missing(model, template, config))?;
        if let (Some(name), None) = (chosen.named_token(), &tokens) {
            return Err(format!(
                "the template writes `{name}`, whose text stands in the `tokenizer_config.json` of the model: add `config:` \
                 with its path"
            ));
        }
        Ok(Some(Self { config: chosen, tokens }))
    }

    /// What the template makes of messages.
    ///
    /// # Errors
    /// `chat-template`: it refuses them, or does not tell which parts a model has said.
    pub(crate) fn render(&self, chat: &Messages, wanted: Wanted<'_>) -> Result<Rendered, Fault> {
        let mut left = RENDERED_MAX;
        let Rendered { text, said } = self.rendered(chat, chat.len(), wanted.prompt, &mut left)?;
        let said = match self.template().has_marks() {
            true => said,
            false => self.grown(chat, wanted, &text, &mut left)?,
        };
        Ok(Rendered { text, said })
    }

    fn template(&self) -> &Template {
        self.config.template.as_ref().expect("one with a template was chosen")
    }

    fn rendered(
        &self,
        chat: &Messages,
        first: usize,
        prompt: bool,
        left: &mut usize,
    ) -> Result<Rendered, Fault> {
        let tokens = self.tokens.clone();
        let context = Context { messages: chat.first(first), prompt, tokens };
        let rendered = self.template().render(context, *left)?;
        *left -= rendered.text.len().min(*left);
        Ok(rendered)
    }

    /// What each message of these roles adds to the text of those before it, behind what stands before any answer.
    fn grown(
        &self,
        chat: &Messages,
        Wanted { prompt, roles }: Wanted<'_>,
        whole: &str,
        left: &mut usize,
    ) -> Result<Vec<Range<usize>>, Fault> {
        let mut said = Vec::new();
        let counts = |at: &usize| chat.role(*at).is_some_and(|it| roles.contains(&it));
        for at in (0..chat.len()).filter(counts) {
            let before = self.rendered(chat, at, true, left)?.text;
            let is_last = at + 1 == chat.len() && !prompt;
            let rendered = match is_last {
                true => None,
                false => Some(self.rendered(chat, at + 1, false, left)?.text),
            };
            let upto = rendered.as_deref().unwrap_or(whole);
            if !upto.starts_with(&before) || !whole.starts_with(upto) {
                return Err(does_not_grow(at + 1));
            }
            said.push(before.len()..upto.len());
        }
        Ok(said)
    }
}

/// That no file has a template.
fn missing(model: &File, template: Option<&File>, config: Option<&File>) -> String {
    match (template, config) {
        (Some(it), _) | (None, Some(it)) => format!(
            "`{}` has no `chat_template`; newer models have it in a file of its own: add `template:` with the path of their \
             `chat_template.jinja`",
            it.path()
        ),
        (None, None) => format!(
            "there is neither `chat_template.jinja` nor `tokenizer_config.json` beside `{}`; add `template:` with the path \
             of one of them",
            model.path()
        ),
    }
}

fn does_not_grow(message: usize) -> Fault {
    Fault::new(
        "chat-template",
        format!(
            "the text of the messages up to number {message} does not begin as that of those before it, or is not how the \
             whole chat begins, so nothing tells which part of it counts; mark it in the template: `{{% generation %}}` … \
             `{{% endgeneration %}}`"
        ),
    )
}

/// That a chat becomes too long.
fn too_long() -> Fault {
    let most = shown_bytes(RENDERED_MAX as u64);
    Fault::new(
        "chat-template",
        format!(
            "the chat and its beginnings have more than {most} as text; where many messages count, mark them in the template \
             with `{{% generation %}}`, so that it is rendered once"
        ),
    )
}

/// The tokens of some parts of a text: all that have a character with one of them.
pub(crate) fn counted(
    model: &Tokenizer,
    (text, ids, parts): (&str, &[u32], &[Part]),
    said: &[Range<usize>],
) -> Vec<Range<usize>> {
    // A template may write elsewhere what it has captured before.
    let mut said: Vec<Range<usize>> = said.iter().filter(|it| !it.is_empty()).cloned().collect();
    said.sort_unstable_by_key(|it| (it.start, it.end));
    said.dedup_by(|next, last| {
        let joins = next.start < last.end;
        last.end = if joins { last.end.max(next.end) } else { last.end };
        joins
    });
    model.tokens_of((text, ids, parts), &said)
}

#[cfg(test)]
pub(crate) mod tests;
