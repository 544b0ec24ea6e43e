//! `cargo run --release -p benches -- model`: experiments, each with its claim, a figure, and whether
//! it holds.

#![expect(clippy::print_stdout, reason = "it prints a table")]

mod paper;
mod shapes;
mod trial;

use std::{env, process::ExitCode};

/// What an experiment claims, and what was seen.
pub(crate) struct Row {
    /// Which one of `operational-model.md`.
    pub(crate) id: String,
    /// What is claimed.
    pub(crate) claim: String,
    /// What was seen.
    pub(crate) figure: String,
    /// Whether the claim holds.
    pub(crate) holds: bool,
}

/// Runs some, and gives a row for each.
type Experiments = fn() -> Vec<Row>;

fn main() -> ExitCode {
    let wanted: Vec<String> = env::args().skip(1).collect();
    let all: [(&str, Experiments); 2] = [("paper", paper::rows), ("shapes", shapes::rows)];
    let is_wanted = |name: &str| wanted.iter().any(|it| it == name || it == "model");
    if !all.iter().any(|it| is_wanted(it.0)) {
        println!("usage: cargo run --release -p benches -- model | paper | shapes");
        return ExitCode::from(2);
    }
    let mut failed = 0;
    for (name, rows) in all.into_iter().filter(|it| is_wanted(it.0)) {
        println!("\n{name}");
        for Row { id, claim, figure, holds } in rows() {
            println!("{}  {id:<22} {claim}: {figure}", if holds { "pass" } else { "FAIL" });
            failed += u32::from(!holds);
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
