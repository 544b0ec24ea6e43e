//! What any bytes must survive: each function takes some, and panics where something is wrong.
//!
//! A target for each kind of bytes that come from outside: programs, data, and the files that pipec has
//! written and somebody may have changed. The suite's stable loop calls them, and so do the targets of
//! `fuzz/`, which include this folder.

mod boxes;
mod cache;
mod chats;
mod choices;
mod columns;
mod corpus;
mod editor;
mod json;
mod keys;
mod members;
mod models;
mod outlines;
mod output;
mod pages;
mod patterns;
mod pictures;
mod programs;
mod runs;
mod scratch;
pub(crate) mod shards;
mod tables;
mod texts;
mod vectors;

pub(crate) use boxes::coco;
pub(crate) use cache::cache;
pub(crate) use chats::chats;
pub(crate) use choices::{classes, host, lock, machine, profile};
pub(crate) use columns::{arrow, hdf5, mds, npz, parquet};
pub(crate) use corpus::documents;
pub(crate) use editor::editor;
pub(crate) use json::json;
pub(crate) use keys::keys;
pub(crate) use members::{array, compressed, encoded, table};
pub(crate) use models::models;
pub(crate) use outlines::outlines;
pub(crate) use output::output;
pub(crate) use pages::pages;
pub(crate) use patterns::patterns;
pub(crate) use pictures::pictures;
pub(crate) use programs::{checker, formatter, parser};
pub(crate) use runs::{built, state};
pub(crate) use shards::{npy, records, tar, tfrecord};
pub(crate) use tables::{csv, lines};
pub(crate) use texts::texts;
pub(crate) use vectors::vectors;

/// Takes any bytes.
pub(crate) type Target = fn(&[u8]);

/// All of them: name, function, and what its mutants are made of; those of the others are the
/// repository's programs.
pub(crate) const TARGETS: [(&str, Target, Seeds); 40] = [
    ("parser", parser, Vec::new),
    ("checker", checker, Vec::new),
    ("formatter", formatter, Vec::new),
    ("state", state, runs::states),
    ("built", built, runs::builts),
    ("csv", csv, tables::csvs),
    ("lines", lines, tables::files),
    ("tfrecord", tfrecord, shards::tfrecords),
    ("tar", tar, shards::archives),
    ("records", records, shards::of_one_size),
    ("npy", npy, shards::arrays),
    ("parquet", parquet, columns::parquets),
    ("arrow", arrow, columns::arrows),
    ("mds", mds, columns::shards),
    ("hdf5", hdf5, columns::datasets),
    ("npz", npz, columns::npzs),
    ("coco", coco, boxes::files),
    ("outlines", outlines, outlines::files),
    ("documents", documents, corpus::files),
    ("json", json, json::values),
    ("compressed", compressed, members::files),
    ("encoded", encoded, members::texts),
    ("array", array, members::arrays),
    ("table", table, members::tables),
    ("texts", texts, texts::lines),
    ("pictures", pictures, pictures::files),
    ("patterns", patterns, patterns::examples),
    ("cache", cache, cache::stores),
    ("output", output, output::outputs),
    ("profile", profile, choices::profiles),
    ("lock", lock, choices::locks),
    ("host", host, choices::hosts),
    ("classes", classes, choices::lists),
    ("keys", keys, keys::tables),
    ("models", models, models::files),
    ("pages", pages, pages::files),
    ("vectors", vectors, vectors::tables),
    ("chats", chats, chats::files),
    ("machine", machine, choices::machines),
    ("editor", editor, editor::sessions),
];

/// Makes inputs that mean something to a target.
pub(crate) type Seeds = fn() -> Vec<Vec<u8>>;
