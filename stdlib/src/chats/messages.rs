//! The messages of a record.

use minijinja::{Value, value::ValueKind};
use plan::shown_bytes;
use runtime::Fault;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

/// Bytes of messages as JSON, at the most: as values, they take up to 30 times as much memory.
const JSON_MAX: usize = 16 << 20;
/// Names that a message of ours lists, and characters of each.
const NAMES_MAX: usize = 6;
const NAME_MAX: usize = 24;

/// Messages: objects with `role` and `content`.
#[derive(Debug)]
pub(crate) struct Messages {
    all: Vec<Value>,
}

impl Messages {
    /// # Errors
    /// - `json-syntax`: it is no JSON.
    /// - `chat`: it is no list of messages.
    pub(crate) fn read(json: &[u8]) -> Result<Self, Fault> {
        if json.len() > JSON_MAX {
            let [found, most] = [json.len(), JSON_MAX].map(|it| shown_bytes(it as u64));
            return Err(chat(format!("the messages have {found}, but the limit is {most}")));
        }
        let Json(value) = serde_json::from_slice(json).map_err(|it| {
            let at = format!("line {}, column {}", it.line(), it.column());
            Fault::new("json-syntax", format!("the messages are not valid JSON ({at})"))
        })?;
        if value.kind() != ValueKind::Seq {
            return Err(chat(format!("expected a list of messages, found {}", named(&value))));
        }
        let all: Vec<Value> = value.try_iter().into_iter().flatten().collect();
        if all.is_empty() {
            return Err(chat("the list of messages is empty".to_owned()));
        }
        for (number, message) in (1..).zip(&all) {
            checked(number, message)?;
        }
        Ok(Self { all: all.into_iter().map(plain).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The first ones, as a template sees them.
    pub(super) fn first(&self, n: usize) -> Value {
        Value::from(self.all[..n].to_vec())
    }

    /// Who says a message.
    pub(super) fn role(&self, at: usize) -> Option<String> {
        member(&self.all[at], "role").as_str().map(str::to_owned)
    }
}

/// A message that has what each template needs.
fn checked(number: usize, message: &Value) -> Result<(), Fault> {
    if message.kind() != ValueKind::Map {
        let found = named(message);
        return Err(chat(format!(
            "message {number} is {found}; expected an object with `role` and `content`"
        )));
    }
    let role = member(message, "role");
    if role.is_undefined() {
        let names = names(message);
        return Err(chat(format!(
            "message {number} has no `role`; its fields are {names}. Expected `role` and `content`"
        )));
    }
    if role.as_str().is_none() {
        return Err(chat(format!("the `role` of message {number} is {}, not text", named(&role))));
    }
    let content = member(message, "content");
    match content.kind() {
        ValueKind::String | ValueKind::Seq | ValueKind::None => Ok(()),
        // A call of a tool need not say anything.
        ValueKind::Undefined if !member(message, "tool_calls").is_undefined() => Ok(()),
        ValueKind::Undefined => {
            let names = names(message);
            Err(chat(format!("message {number} has no `content`; its fields are {names}")))
        }
        _ => {
            let found = named(&content);
            Err(chat(format!(
                "the `content` of message {number} is {found}; expected text, or a list of parts"
            )))
        }
    }
}

/// A message as transformers hands it to templates: without fields that are null, and with what a model thought under the
/// two names that they know it by.
fn plain(message: Value) -> Value {
    let thought = ["reasoning_content", "thinking", "reasoning"].map(|it| member(&message, it));
    let thought = thought.into_iter().find(|it| !it.is_none() && !it.is_undefined());
    let fields = || message.try_iter().into_iter().flatten();
    let value = |name: &Value| message.get_item(name).unwrap_or_default();
    if thought.is_none() && !fields().any(|it| value(&it).is_none()) {
        return message;
    }
    let named = |name: &str| thought.clone().map(|it| (Value::from(name), it));
    let given = fields().map(|it| (it.clone(), value(&it))).filter(|it| !it.1.is_none());
    let first = named("thinking").into_iter();
    Value::from_pairs(first.chain(given).chain(named("reasoning_content")))
}

fn chat(detail: String) -> Fault {
    Fault::new("chat", detail)
}

fn member(of: &Value, name: &str) -> Value {
    of.get_attr(name).unwrap_or_default()
}

/// What a value is.
fn named(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::None => "null",
        ValueKind::Bool => "a boolean",
        ValueKind::Number => "a number",
        ValueKind::String => "text",
        ValueKind::Seq => "a list",
        _ => "an object",
    }
}

/// The names of an object's fields, a few of them.
fn names(of: &Value) -> String {
    let short = |it: &Value| it.to_string().chars().take(NAME_MAX).collect::<String>();
    let mut all = of.try_iter().into_iter().flatten();
    let listed: Vec<String> =
        all.by_ref().take(NAMES_MAX).map(|it| format!("`{}`", short(&it))).collect();
    match &listed[..] {
        [] => "none".to_owned(),
        _ => listed.join(", ") + if all.next().is_some() { ", …" } else { "" },
    }
}

/// A value of JSON, as templates see it: fields in their order, and of two with one name the last.
struct Json(Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Each).map(Self)
    }
}

struct Each;

impl<'de> Visitor<'de> for Each {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::from(()))
    }

    fn visit_bool<E: Error>(self, it: bool) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_i64<E: Error>(self, it: i64) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_u64<E: Error>(self, it: u64) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_f64<E: Error>(self, it: f64) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_str<E: Error>(self, it: &str) -> Result<Value, E> {
        Ok(Value::from(it))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Json(it)) = from.next_element()? {
            all.push(it);
        }
        Ok(Value::from(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some((Json(name), Json(it))) = from.next_entry()? {
            all.push((name, it));
        }
        Ok(Value::from_pairs(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_role_and_a_content() {
        let read = |json: &str| Messages::read(json.as_bytes());
        let good = read(
            r#"[{"role": "a", "content": "x"}, {"role": "b", "content": [{"type": "text"}]},
                {"role": "c", "tool_calls": []}, {"role": "d", "content": null}]"#,
        );
        let good = good.unwrap();
        assert_eq!((good.len(), good.role(2)), (4, Some("c".to_owned())));
        let last = read(r#"[{"role": "a", "content": "x", "role": "b"}]"#).unwrap();
        assert_eq!(last.role(0), Some("b".to_owned()));
        assert_eq!(last.first(1).to_string(), "[{'role': 'b', 'content': 'x'}]");
        let plain = read(
            r#"[{"role": "a", "content": null, "reasoning": "x", "name": null, "thinking": null}]"#,
        );
        assert_eq!(
            plain.unwrap().first(1).to_string(),
            "[{'thinking': 'x', 'role': 'a', 'reasoning': 'x', 'reasoning_content': 'x'}]"
        );
        let why = |json: &str| {
            let fault = read(json).unwrap_err();
            assert_eq!(fault.code, "chat", "{fault}");
            fault.detail
        };
        assert!(why("{}").contains("found an object"));
        assert!(why("[]").contains("is empty"));
        assert!(why(r#"["hi"]"#).contains("message 1 is text"));
        let share_gpt = why(r#"[{"from": "human", "value": "hi"}]"#);
        assert!(share_gpt.contains("no `role`; its fields are `from`, `value`"), "{share_gpt}");
        assert!(why(r#"[{"role": 1, "content": ""}]"#).contains("is a number"));
        assert!(
            why(r#"[{"role": "a", "content": ""}, {"role": "a"}]"#).contains("message 2 has no")
        );
        assert!(why(r#"[{"role": "a", "content": 1}]"#).contains("a list of parts"));
        assert!(why(&" ".repeat(JSON_MAX + 1)).contains("limit"));
        for json in ["", "[", r#"[{"role": "\ud800"}]"#, &"[".repeat(200)] {
            assert_eq!(read(json).unwrap_err().code, "json-syntax", "{json}");
        }
    }
}
