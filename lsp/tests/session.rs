//! Sessions: what an editor says and what it is told. No order of messages and no text ends it.

#[path = "session/beside.rs"]
mod beside;
mod common;

use common::{Client, range};
use proptest::prelude::*;
use serde_json::{Value, json};

const TRAIN: &str = "edition 2026
param data: path = \"sample:images?count=8\"
param size = 32

## Crops at random.
fn augment(jpeg, side = 24) =
    decode_jpeg(jpeg) |> random_resized_crop(side)

pipeline train =
    files(data)
    |> shuffle
    |> map { image: augment(bytes), label: class_of(path) }
    |> batch(4)
";

#[test]
fn a_program_is_told_about() {
    let mut client = Client::begun();
    client.open("file:///tmp/lsp-test/train.pipe", TRAIN);
    let hover = client.at("textDocument/hover", TRAIN, "augment(bytes)", 0);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(
        text.contains("fn augment(jpeg, side = 24)") && text.contains("Crops at random."),
        "{text}"
    );

    let hover = client.at("textDocument/hover", TRAIN, "bytes)", 2);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("bytes: bytes"), "{hover}");
    let hover = client.at("textDocument/hover", TRAIN, "decode_jpeg", 3);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("decode_jpeg(") && text.contains('~'), "{text}");

    let hints = client.hints(TRAIN);
    let labels: Vec<&str> = hints.iter().map(|it| it["label"].as_str().unwrap()).collect();
    assert!(
        labels.iter().any(|it| it.starts_with("{ image: u8[24, 24, 3], label: i64 }")),
        "{labels:?}"
    );
    assert!(
        labels.iter().any(|it| it.starts_with("{ image: u8[4, 24, 24, 3], label: i64[4] }")),
        "{labels:?}"
    );

    let symbols = client.on("textDocument/documentSymbol", json!({}));
    let names: Vec<&str> =
        symbols.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["data", "size", "augment", "train"]);
    assert_eq!(symbols[3]["children"].as_array().unwrap().len(), 3);

    let folds = client.on("textDocument/foldingRange", json!({}));
    assert!(
        folds.as_array().unwrap().iter().any(|it| it["startLine"] == 8 && it["endLine"] == 12),
        "{folds}"
    );
    let tokens = client.on("textDocument/semanticTokens/full", json!({}));
    assert_eq!(tokens["data"].as_array().unwrap().len() % 5, 0);
    let lenses = client.on("textDocument/codeLens", json!({}));
    let titles: Vec<&str> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["command"]["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["explain", "peek"]);
}

#[test]
fn names_are_found_and_renamed() {
    let mut client = Client::begun();
    client.open("file:///tmp/lsp-test/train.pipe", TRAIN);
    let there = client.at("textDocument/definition", TRAIN, "augment(bytes)", 1);
    assert_eq!(there["range"]["start"], json!({ "line": 5, "character": 3 }));
    let there = client.at("textDocument/definition", TRAIN, "side)", 1);
    assert_eq!(there["range"]["start"], json!({ "line": 5, "character": 17 }));

    let edit = client.rename(TRAIN, "jpeg) |>", "picture");
    let edits = edit["result"]["changes"]["file:///tmp/lsp-test/train.pipe"].as_array().unwrap();
    assert_eq!(edits.len(), 2, "{edit}");
    let refused = |edit: &Value| edit["error"]["message"].as_str().unwrap().to_owned();
    assert!(refused(&client.rename(TRAIN, "jpeg) |>", "side")).contains("is already used"));
    assert!(refused(&client.rename(TRAIN, "jpeg) |>", "map")).contains("is not a valid name"));
    assert!(refused(&client.rename(TRAIN, "shuffle", "x")).contains("library"));
    assert!(refused(&client.rename(TRAIN, "bytes)", "x")).contains("field"));
}

#[test]
fn a_slip_is_told_and_mended() {
    let broken = TRAIN.replace("shuffle", "shufle");
    let mut client = Client::begun();
    let told = client.open("file:///tmp/lsp-test/train.pipe", &broken);
    assert_eq!(told["diagnostics"][0]["code"], "PC0107", "{told}");
    let actions = client.actions(&broken, "shufle");
    let fix = actions.iter().find(|it| it["title"] == "Replace `shufle` with `shuffle`").unwrap();
    let edit = &fix["edit"]["changes"]["file:///tmp/lsp-test/train.pipe"][0];
    assert_eq!(
        (edit["newText"].as_str(), &edit["range"]),
        (Some("shuffle"), &range(&broken, "shufle"))
    );

    let told = client.change(&broken, json!(range(&broken, "shufle")), "shuffle");
    assert_eq!(told["diagnostics"], json!([]));
    let lacking = TRAIN.replace("batch(4)", "batch");
    client.open(
        "file:///tmp/lsp-test/lacking.pipe",
        "pipeline p = range(9) |> map { i: resize_short(f32(i)) }\n",
    );
    let actions = client
        .actions("pipeline p = range(9) |> map { i: resize_short(f32(i)) }\n", "resize_short");
    assert!(
        actions.iter().any(|it| it["title"].as_str().unwrap().starts_with("Add `")),
        "{actions:?} {lacking}"
    );
}

/// The columns of a file are looked at beside, and offered once they are known.
#[test]
fn columns_of_files_are_offered() {
    // In the folder of the programs: of files elsewhere no names are shown.
    std::fs::create_dir_all("/tmp/lsp-test").unwrap();
    let path =
        std::path::PathBuf::from(format!("/tmp/lsp-test/columns-{}.csv", std::process::id()));
    std::fs::write(&path, "fare,Trip Distance,zone\n1.5,2,a\n").unwrap();
    let file = path.display();
    let mut client = Client::begun();
    let mut offered = |call: &str| {
        let text = format!("edition 2026\npipeline p = csv(\"{file}\", {call}");
        let rest = "\n    |> batch(4)\n\npipeline q = range(9)\n";
        let uri = format!("file:///tmp/lsp-test/columns-{}.pipe", call.len());
        client.open(&uri, &format!("{text}{rest}"));
        // It is asked again until who looks at files beside has done so.
        for _ in 0..600 {
            let items = client.items(&text, text.len());
            if !items.is_empty() {
                return items;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Vec::new()
    };
    let labels = |items: &[(String, String)]| -> Vec<String> {
        items.iter().map(|it| it.0.clone()).collect()
    };
    let items = offered("columns: [");
    assert_eq!(labels(&items), ["fare", "Trip Distance", "zone"]);
    assert_eq!(items[1].1, "\"Trip Distance\"");
    let items = offered("columns: [\"fare\", \"");
    assert_eq!(labels(&items), ["Trip Distance", "zone"]);
    assert_eq!(items[0].1, "Trip Distance");
    let items = offered("delimiter: \",\", columns: { zone, ");
    assert_eq!(labels(&items), ["fare", "Trip Distance", "zone"]);
    assert_eq!(items[1].1, "${1:trip_distance}: \"Trip Distance\"");
    assert_eq!(offered("columns: { far: ")[0].1, "\"fare\"");
    // Elsewhere nothing changes.
    assert!(labels(&offered("header: ")).contains(&"true".to_owned()));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_may_be_written_is_offered() {
    let mut client = Client::begun();
    let stage = TRAIN.replace("    |> batch(4)\n", "    |> ba");
    client.open("file:///tmp/lsp-test/train.pipe", &stage);
    let labels = client.completions(&stage, stage.len());
    assert!(
        labels.contains(&"batch".to_owned()) && !labels.contains(&"decode_jpeg".to_owned()),
        "{labels:?}"
    );

    let field = TRAIN.replace("augment(bytes)", "augment(by");
    let at = field.find("augment(by").unwrap() + "augment(by".len();
    client.open("file:///tmp/lsp-test/train.pipe", &field);
    let labels = client.completions(&field, at);
    assert!(labels.contains(&"bytes".to_owned()), "{labels:?}");
    assert_eq!(labels[..2], ["jpeg:", "side:"], "{labels:?}");

    let words = TRAIN.replace("batch(4)", "batch(4, tail: )");
    let at = words.find("tail: ").unwrap() + "tail: ".len();
    client.open("file:///tmp/lsp-test/train.pipe", &words);
    assert_eq!(client.completions(&words, at), ["drop", "keep", "mask"]);
    let help = client.at("textDocument/signatureHelp", &words, "tail: ", 6);
    assert!(help["signatures"][0]["label"].as_str().unwrap().starts_with("batch("), "{help}");
}

#[test]
fn no_order_of_messages_ends_it() {
    let mut client = Client::new();
    let early = client.ask("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    client.say("textDocument/didChange", json!({ "nonsense": 1 }));
    client.say("initialized", json!({}));
    assert!(client.ask("initialize", json!({}))["result"]["capabilities"].is_object());
    assert_eq!(client.ask("initialize", json!({}))["error"]["code"], -32600);
    for method in ["textDocument/hover", "textDocument/rename", "textDocument/inlayHint", "no/such"]
    {
        assert!(client.ask(method, json!([1, 2]))["error"].is_object(), "{method}");
    }
    client.say("textDocument/didChange", json!({
        "textDocument": { "uri": "file:///gone", "version": 1 }, "contentChanges": [{ "text": "x" }],
    }));
    client.say("textDocument/didClose", json!({ "textDocument": { "uri": "file:///gone" } }));
    client.say("$/cancelRequest", json!({ "id": 99 }));
    let gone = json!({ "command": "pipec.explain", "arguments": ["file:///gone", "p"] });
    assert!(client.ask("workspace/executeCommand", gone)["error"].is_object());
    assert_eq!(client.ask("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(client.ask("textDocument/hover", json!({}))["error"]["code"], -32600);
    assert!(client.end());
}

/// Everything that can be asked at one place.
fn ask_all(client: &mut Client, line: u32, character: u32) {
    let at = json!({ "line": line, "character": character });
    let end = json!({ "line": line + 2, "character": 3 });
    for method in [
        "hover",
        "completion",
        "signatureHelp",
        "definition",
        "references",
        "prepareRename",
        "rename",
        "documentSymbol",
        "foldingRange",
        "semanticTokens/full",
        "formatting",
        "codeLens",
        "inlayHint",
        "codeAction",
    ] {
        let answer = client.ask(
            &format!("textDocument/{method}"),
            json!({
                "textDocument": { "uri": "file:///tmp/lsp-test/fuzz.pipe" },
                "position": at, "range": { "start": at, "end": end }, "newName": "other",
                "context": { "includeDeclaration": true, "diagnostics": [] },
                "options": { "tabSize": 4, "insertSpaces": true },
            }),
        );
        let code = &answer["error"]["code"];
        assert!(code.is_null() || *code == -32803, "{method}: {answer}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// No edit makes a text of which something cannot be asked.
    #[test]
    fn no_edit_ends_it(edits in proptest::collection::vec(
        ((0u32..16, 0u32..60), (0u32..16, 0u32..60), prop_oneof![
            Just(""), Just("("), Just(")"), Just("|> "), Just("{ a: "), Just("}"), Just("\n"), Just("\""),
            Just("𝄞"), Just("pipeline p = "), Just("fn f(x) = "), Just("it."), Just(" else "), Just("##"),
            Just("train"), Just("map "), Just("["), Just(": "), Just(", "), Just("\r\n"),
        ]), 1..10,
    )) {
        let mut client = Client::begun();
        client.open("file:///tmp/lsp-test/fuzz.pipe", TRAIN);
        for ((a, b), (c, d), new) in edits {
            // Most edits are short, as they are where somebody types.
            let (start, end) = (json!({ "line": a, "character": b }), json!({ "line": if c % 3 == 0 { c } else { a }, "character": d }));
            client.say("textDocument/didChange", json!({
                "textDocument": { "uri": "file:///tmp/lsp-test/fuzz.pipe", "version": 2 },
                "contentChanges": [{ "range": { "start": start, "end": end }, "text": new }],
            }));
            ask_all(&mut client, a, b);
        }
    }
}
