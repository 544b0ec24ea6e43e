//! Kinds of `tokenizer.json` that are not known here: by the crate `tokenizers`, which says what they mean.
//!
//! Only single texts are encoded, for which it starts no thread.

use super::{Failed, ids::Ids, sentencepiece};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::OnceLock,
};
use tokenizers::Tokenizer;

/// A model.
pub(super) struct Library {
    /// Takes what is written as a special token for text.
    plain: Tokenizer,
    /// Takes it for that token; made when it is asked for.
    special: OnceLock<Tokenizer>,
    len: u32,
}

impl Library {
    /// # Errors
    /// The file is not such a one.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        // The crate panics where a map of characters is damaged.
        if serde_json::from_str::<Value>(text).is_ok_and(|it| has_damaged_map(&it)) {
            return Err("its `precompiled_charsmap` is damaged".to_owned());
        }
        let read = guarded(|| Tokenizer::from_bytes(text)).ok_or(BROKEN)?;
        let mut plain = read.map_err(|it| {
            let at = it.downcast_ref::<serde_json::Error>();
            let at = at.map(|it| format!(" (line {}, column {})", it.line(), it.column()));
            format!("the crate `tokenizers` cannot read it{}", at.unwrap_or_default())
        })?;
        // How long a text may be, and what fills it up, is said in the program.
        plain.with_truncation(None).map_err(|_| "its `truncation` is wrong")?;
        plain.with_padding(None);
        plain.set_encode_special_tokens(true);
        let len = plain.get_vocab(true).into_values().max().map_or(0, |it| it.saturating_add(1));
        if len > super::IDS_MAX {
            return Err("the number of one of its tokens is wrong".to_owned());
        }
        Ok(Self { plain, special: OnceLock::new(), len })
    }

    /// Numbers of tokens.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The token that is written so.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.plain.token_to_id(token)
    }

    /// Appends the tokens of a text; with `specials`, what is written as a special token is that token.
    pub(super) fn encode(&self, text: &str, specials: bool, to: &mut Ids) -> Result<(), Failed> {
        let special = || {
            let mut special = self.plain.clone();
            special.set_encode_special_tokens(false);
            special
        };
        let model = if specials { self.special.get_or_init(special) } else { &self.plain };
        let found = guarded(|| model.encode_fast(text, false));
        let found = found.ok_or_else(|| Failed::Refused(BROKEN.to_owned()))?;
        to.extend(found.map_err(|it| Failed::Refused(it.to_string()))?.get_ids());
        Ok(())
    }

    /// Appends the text of tokens.
    ///
    /// # Errors
    /// The first one that is none, or what is wrong with them.
    pub(super) fn decode(&self, ids: &[u32], to: &mut Vec<u8>) -> Result<(), u32> {
        if let Some(id) = ids.iter().find(|it| self.plain.id_to_token(**it).is_none()) {
            return Err(*id);
        }
        let text = guarded(|| self.plain.decode(ids, false)).and_then(Result::ok);
        to.extend_from_slice(text.ok_or(ids.first().copied().unwrap_or(0))?.as_bytes());
        Ok(())
    }
}

const BROKEN: &str = "the crate `tokenizers` fails at it";

/// What the crate returns, which panics at some files that are damaged.
fn guarded<T>(of: impl FnOnce() -> T) -> Option<T> {
    // It changes nothing that is looked at again.
    catch_unwind(AssertUnwindSafe(of)).ok()
}

/// Whether a map of characters cannot be read.
fn has_damaged_map(of: &Value) -> bool {
    match of {
        Value::Object(all) => {
            let is_map = all.get("type").is_some_and(|it| it == "Precompiled");
            let map = all.get("precompiled_charsmap").and_then(Value::as_str);
            let map = map.and_then(|it| STANDARD.decode(it).ok());
            let is_sound = map.is_some_and(|it| sentencepiece::is_text_map(&it));
            is_map && !is_sound || all.values().any(has_damaged_map)
        }
        Value::Array(all) => all.iter().any(has_damaged_map),
        _ => false,
    }
}
