//! `cargo run --release -p benches -- model`: experiments, each with its claim, a figure, and whether
//! it holds. They are those of `operational-model.md`; `shapes` is measured on the cores that are here.
//! `-- peers` runs the same work in other systems, by turns with ours; `-- decoder` and `-- tokens` are parts of it.

#![expect(clippy::print_stdout, reason = "it prints a table")]

mod arithmetic;
mod decoder;
mod epochs;
mod fleet;
mod objects;
mod paper;
mod peers;
mod scaling;
mod shapes;
mod storage;
mod strategies;
mod tokens;
mod tracing;
mod trial;
mod tuners;

use std::{env, process::ExitCode};

/// What an experiment claims, and what was seen.
pub(crate) struct Row {
    /// Which one.
    pub(crate) id: String,
    /// What is claimed.
    pub(crate) claim: String,
    /// What was seen.
    pub(crate) figure: String,
    /// Whether the claim holds; none where what it needs is not here.
    pub(crate) holds: Option<bool>,
}

impl Row {
    fn new(id: &str, claim: &str, figure: String, holds: bool) -> Self {
        Self { id: id.to_owned(), claim: claim.to_owned(), figure, holds: Some(holds) }
    }

    fn skipped(id: &str, claim: &str, needs: &str) -> Self {
        let figure = format!("{needs} is not here");
        Self { id: id.to_owned(), claim: claim.to_owned(), figure, holds: None }
    }
}

/// Runs some, and gives a row for each claim.
type Experiments = fn() -> Vec<Row>;

/// The work of others beside ours, which is no experiment with the model.
const PEERS: &str = "peers";
/// Many cores: a table of its own.
const SCALING: &str = "scaling";
/// What may be kept of records: a table of its own.
const STRATEGIES: &str = "strategies";
/// The decoder beside another one: a part of that.
const DECODER: &str = "decoder";
/// The tokenizers beside tiktoken's: another part.
const TOKENS: &str = "tokens";

const ALL: [(&str, Experiments); 14] = [
    ("arithmetic", arithmetic::rows),
    ("tracing", tracing::rows),
    ("tuners", tuners::rows),
    ("storage", storage::rows),
    ("objects", objects::rows),
    ("epochs", epochs::rows),
    ("paper", paper::rows),
    ("fleet", fleet::rows),
    ("shapes", shapes::rows),
    (SCALING, scaling::rows),
    (STRATEGIES, strategies::rows),
    (DECODER, decoder::rows),
    (TOKENS, tokens::rows),
    (PEERS, peers::rows),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = env::args().skip(1).collect();
    if wanted.first().is_some_and(|it| it == strategies::CHILD) {
        strategies::as_child();
        return ExitCode::SUCCESS;
    }
    let asked = |name: &str| wanted.iter().any(|it| it == name);
    let part_of = |name: &str| match name {
        DECODER | TOKENS | PEERS => PEERS,
        SCALING => SCALING,
        STRATEGIES => STRATEGIES,
        _ => "model",
    };
    let is_wanted = |name: &str| asked(name) || asked(part_of(name));
    if !ALL.iter().any(|it| is_wanted(it.0)) {
        let names: Vec<&str> = ALL.iter().map(|it| it.0).collect();
        println!("usage: cargo run --release -p benches -- model | {}", names.join(" | "));
        return ExitCode::from(2);
    }
    let mut failed = Vec::new();
    for (name, rows) in ALL.into_iter().filter(|it| is_wanted(it.0)) {
        println!("\n{name}");
        for Row { id, claim, figure, holds } in rows() {
            let word = match holds {
                Some(true) => "pass",
                Some(false) => "FAIL",
                None => "skip",
            };
            println!("{word}  {id:<22} {claim}: {figure}");
            if holds == Some(false) {
                failed.push(id);
            }
        }
    }
    if !failed.is_empty() {
        println!("\n{} fail: {}", failed.len(), failed.join(", "));
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
