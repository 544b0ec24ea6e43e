//! How long a keystroke takes in a file of 2 000 lines: from the change to the messages about it, and
//! to what is offered then. `cargo run --release -p lsp --example keystroke`.

#![expect(clippy::print_stdout, reason = "it is run by people")]

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::{fmt::Write, time::Instant};

const LINES: usize = 2000;
const KEYSTROKES: usize = 101;
const URI: &str = "file:///tmp/keystroke/long.pipe";

fn main() {
    let (ours, theirs) = Connection::memory();
    std::thread::spawn(|| lsp::serve_on(theirs, driver::Reach::Project));
    ask(&ours, "initialize", json!({ "capabilities": {} }));
    let text = program();
    let document = json!({ "uri": URI, "languageId": "pipe", "version": 1, "text": text });
    say(&ours, "textDocument/didOpen", json!({ "textDocument": document }));
    told(&ours, 1);

    // Somebody types a name as an argument in the middle of the file, letter by letter.
    let line = text.lines().position(|it| it.contains("|> batch(")).unwrap_or(0);
    let line = text
        .lines()
        .enumerate()
        .filter(|it| it.1.contains("|> batch("))
        .map(|it| it.0)
        .nth(40)
        .unwrap_or(line);
    let (mut typed, mut answered) = (Vec::new(), Vec::new());
    for i in 0..KEYSTROKES {
        let at = json!({ "line": line, "character": 14 + i });
        let change = json!({ "range": { "start": at, "end": at }, "text": "s" });
        let version = i as i32 + 2;
        let begun = Instant::now();
        say(
            &ours,
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version }, "contentChanges": [change],
            }),
        );
        told(&ours, version);
        typed.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let at = json!({ "line": line, "character": 15 + i });
        ask(
            &ours,
            "textDocument/completion",
            json!({ "textDocument": { "uri": URI }, "position": at }),
        );
        answered.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "a keystroke in {} lines, milliseconds: median, nine in ten, most",
        text.lines().count()
    );
    for (what, mut all) in [("messages", typed), ("completion", answered)] {
        all.sort_by(f64::total_cmp);
        let at = |share: f64| all[(share * (all.len() - 1) as f64) as usize];
        println!("{what:<12} {:.2}  {:.2}  {:.2}", at(0.5), at(0.9), at(1.0));
    }
}

/// Pipelines and functions as people write them, until there are enough lines.
fn program() -> String {
    let mut text = "edition 2026\nparam data: path = \"data\"\n".to_owned();
    let mut i = 0;
    while text.lines().count() < LINES {
        let _ = write!(
            text,
            "
## The recipe number {i}.
fn augment{i}(jpeg, side = 224) =
    decode_jpeg(jpeg)
    |> random_resized_crop(side, area: 0.08..1.0)
    |> random_flip(p: 0.5)
    |> normalize(mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225])
    |> channels_first

pipeline train{i} =
    files(\"{{data}}/**/*.jpg\")
    |> where hash(path) % 100 < {}
    |> shuffle
    |> map {{
        image: augment{i}(bytes) else another,
        label: class_of(path),
    }}
    |> with {{ weight: 1.0 / f32(label + 1), odd: label % 2 == 1 }}
    |> batch(8)
",
            i % 100
        );
        i += 1;
    }
    text
}

fn say(to: &Connection, method: &str, params: Value) {
    let it = Notification { method: method.to_owned(), params };
    to.sender.send(it.into()).expect("the server listens");
}

fn ask(to: &Connection, method: &str, params: Value) {
    let id = RequestId::from(1);
    let it = Request { id: id.clone(), method: method.to_owned(), params };
    to.sender.send(it.into()).expect("the server listens");
    while !matches!(to.receiver.recv(), Ok(Message::Response(it)) if it.id == id) {}
}

fn told(to: &Connection, version: i32) {
    let is =
        |it: &Message| matches!(it, Message::Notification(it) if it.params["version"] == version);
    while !to.receiver.recv().is_ok_and(|it| is(&it)) {}
}
