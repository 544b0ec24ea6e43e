//! What `tokenizer_config.json` holds: a template, and special tokens by name. A file that is no JSON is a template itself.

use super::template::Template;
use minijinja::Value as Jinja;
use serde_json::Value;

/// The special tokens that transformers gives to templates by these names.
const NAMES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// What a file says.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) template: Option<Template>,
    /// Their names and texts; nothing where the file is a template alone.
    pub(super) tokens: Option<Vec<(&'static str, Jinja)>>,
}

impl Config {
    /// # Errors
    /// What is wrong with the file.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let not_text =
            |it: std::str::Utf8Error| format!("it is not valid UTF-8 (byte {})", it.valid_up_to());
        let text = str::from_utf8(bytes).map_err(not_text)?.trim_start_matches('\u{feff}');
        if !is_object(text) {
            return Ok(Self { template: Some(Template::new(text)?), tokens: None });
        }
        let json: Value = serde_json::from_str(text).map_err(|it| {
            format!("it is not valid JSON (line {}, column {})", it.line(), it.column())
        })?;
        let template = template_in(&json["chat_template"])?.map(Template::new).transpose()?;
        Ok(Self { template, tokens: Some(tokens_in(&json)) })
    }

    /// The name of a special token that its template asks for, if it does.
    pub(super) fn named_token(&self) -> Option<&'static str> {
        let template = self.template.as_ref()?;
        NAMES.into_iter().find(|it| template.asks_for(it))
    }

    /// The text of a special token, by its name.
    pub(super) fn token(&self, name: &str) -> Option<Jinja> {
        self.tokens.iter().flatten().find(|it| it.0 == name).map(|it| it.1.clone())
    }
}

/// Whether a text begins as an object of JSON does, and not as Jinja.
fn is_object(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix('{');
    rest.is_some_and(|it| it.trim_start().starts_with(['"', '}']))
}

/// The template, or the one called `default` of several.
fn template_in(of: &Value) -> Result<Option<&str>, String> {
    match of {
        Value::Null => Ok(None),
        Value::String(it) => Ok(Some(it)),
        Value::Array(all) => {
            let default = all.iter().find(|it| it["name"] == "default");
            let default = default.and_then(|it| it["template"].as_str());
            default.map(Some).ok_or_else(|| {
                "its `chat_template` has several templates, and none called `default`; write the one to be used into a file, \
                 and name that as `template:`"
                    .to_owned()
            })
        }
        _ => Err("its `chat_template` is neither text nor a list".to_owned()),
    }
}

fn tokens_in(json: &Value) -> Vec<(&'static str, Jinja)> {
    let text = |it: &Value| Some(Jinja::from(it["content"].as_str().or(it.as_str())?));
    NAMES.iter().filter_map(|it| Some((*it, text(&json[*it])?))).collect()
}
