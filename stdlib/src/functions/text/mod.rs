//! Functions on text, paths and untyped data.

mod as_array;
mod as_feature;
pub(crate) mod as_type;
#[cfg(feature = "chat")]
mod chat;
mod class_of;
mod contains;
mod count_matches;
mod count_of;
mod dataset;
mod detokenize;
mod embed;
mod ends_with;
pub(crate) mod example;
mod extension_of;
mod folder_of;
pub(crate) mod guarded;
mod hash;
#[cfg(feature = "html")]
mod html_text;
mod index_of;
pub(crate) mod json;
mod lookup;
mod lower;
mod matches;
mod members;
mod minhash;
mod name_of;
mod names;
mod normalize_text;
mod parse_float;
mod parse_int;
mod parse_json;
mod parse_table;
mod partnered;
mod paths;
mod patterns;
#[cfg(feature = "hdf5")]
mod read_as;
mod read_file;
mod read_npy;
mod read_text;
mod reading;
mod replace;
mod replace_all;
mod sibling;
mod starts_with;
mod stem_of;
mod strip;
mod substring;
mod text_concat;
mod text_eq;
mod text_in;
mod text_lt;
mod text_of;
mod to_str;
mod token_id;
mod tokenize;
mod tokenize_dropout;
mod untyped_at;
mod untyped_field;
mod untyped_slice;
mod upper;
mod vocabulary_size;
mod word_count;
mod word_ids;
mod words;

pub(crate) use as_array::array_of;
pub(crate) use example::features;

use crate::Function;

/// All of them.
pub(crate) static ALL: &[&Function] = &[
    // Text.
    #[cfg(feature = "chat")]
    &chat::ENTRY,
    &contains::ENTRY,
    &count_matches::ENTRY,
    &count_of::ENTRY,
    &detokenize::ENTRY,
    &embed::ENTRY,
    &ends_with::ENTRY,
    &hash::ENTRY,
    #[cfg(feature = "html")]
    &html_text::ENTRY,
    &index_of::ENTRY,
    &lookup::ENTRY,
    &lower::ENTRY,
    &matches::ENTRY,
    &minhash::ENTRY,
    &normalize_text::ENTRY,
    &parse_float::ENTRY,
    &parse_int::ENTRY,
    &parse_table::ENTRY,
    &replace::ENTRY,
    &replace_all::ENTRY,
    &starts_with::ENTRY,
    &strip::ENTRY,
    &substring::ENTRY,
    &text_concat::ENTRY,
    &text_eq::ENTRY,
    &text_in::ENTRY,
    &text_lt::ENTRY,
    &text_of::ENTRY,
    &to_str::ENTRY,
    &token_id::ENTRY,
    &tokenize::ENTRY,
    &tokenize_dropout::ENTRY,
    &upper::ENTRY,
    &vocabulary_size::ENTRY,
    &word_count::ENTRY,
    &word_ids::ENTRY,
    // Paths and files.
    &class_of::ENTRY,
    &extension_of::ENTRY,
    &folder_of::ENTRY,
    &name_of::ENTRY,
    &read_file::ENTRY,
    &read_npy::ENTRY,
    &read_text::ENTRY,
    &sibling::ENTRY,
    &stem_of::ENTRY,
    // Untyped data.
    &as_type::ENTRY,
    &guarded::ENTRY,
    &partnered::ENTRY,
    &parse_json::ENTRY,
    #[cfg(feature = "hdf5")]
    &read_as::ENTRY,
    &untyped_at::ENTRY,
    &untyped_field::ENTRY,
    &untyped_slice::ENTRY,
];
