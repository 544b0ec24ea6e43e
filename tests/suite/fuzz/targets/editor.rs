//! What an editor says to the language server: no message ends it, and what it tells lies within the texts.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the server says where it has panicked.
const BUG: &str = "internal error in pipec lsp";

/// Sends a message for each line; a line that begins with `!` as it stands.
pub(crate) fn editor(bytes: &[u8]) {
    let (mut sent, mut texts, mut requests) = (Vec::new(), BTreeMap::new(), 0);
    for line in bytes.split(|it| *it == b'\n') {
        if let Some(raw) = line.strip_prefix(b"!") {
            sent.extend_from_slice(raw);
            sent.extend_from_slice(b"\r\n");
            continue;
        }
        sent.extend(format!("Content-Length: {}\r\n\r\n", line.len()).bytes());
        sent.extend_from_slice(line);
        if let Ok(message) = serde_json::from_slice::<Value>(line) {
            requests += usize::from(!message["id"].is_null());
            note(&message, &mut texts);
        }
    }
    let is_raw = bytes.contains(&b'!');
    let (told, _) = lsp::answers(sent.as_slice());
    for message in &told {
        let text = message.to_string();
        assert!(!text.contains(BUG) || String::from_utf8_lossy(bytes).contains(BUG), "{text}");
        if message["method"] == "textDocument/publishDiagnostics" {
            let params = &message["params"];
            let known = params["uri"].as_str().and_then(|it| texts.get(it)?.as_ref());
            if let (Some(text), false) = (known, is_raw) {
                params["diagnostics"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|it| within(it, text));
            }
        }
    }
    let answers = told.iter().filter(|it| it["method"].is_null()).count();
    assert!(is_raw || answers <= requests, "{answers} answers to {requests} requests");
}

/// Notes what a document says, where it is opened once and never changed.
fn note(message: &Value, texts: &mut BTreeMap<String, Option<String>>) {
    let method = message["method"].as_str().unwrap_or_default();
    let document = &message["params"]["textDocument"];
    let Some(uri) = document["uri"].as_str() else { return };
    let is_opened = method == "textDocument/didOpen" && !texts.contains_key(uri);
    if is_opened {
        texts.insert(uri.to_owned(), document["text"].as_str().map(str::to_owned));
    } else if matches!(method, "textDocument/didOpen" | "textDocument/didChange") {
        texts.insert(uri.to_owned(), None);
    }
}

/// A message is about a place in the text.
fn within(diagnostic: &Value, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let place = |of: &str| {
        let place = &diagnostic["range"][of];
        let number = |it: &str| place[it].as_u64().expect("it is a number") as usize;
        (number("line"), number("character"))
    };
    let (start, end) = (place("start"), place("end"));
    let is_there = |(line, character): (usize, usize)| {
        lines.get(line).is_some_and(|it| character <= it.encode_utf16().count())
    };
    assert!(start <= end && is_there(start) && is_there(end), "{diagnostic}");
}

/// Sessions of editors: everything is asked, in order and out of it.
pub(super) fn sessions() -> Vec<Vec<u8>> {
    let uri = "file:///nowhere/fuzz.pipe";
    let text = "edition 2026\n\nparam n: int = 4\n\n/// Twice.\nfn twice(x) = x + x\n\npipeline train =\n    range(100)\n    \
                |> shufle\n    |> map { i, half: twice(f32(i)) * 0.5, name: \"\u{1d11e}{i}\" }\n    |> batch(n, tail: drop)\n";
    let say = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    let open = |text: &str| {
        let document = json!({ "uri": uri, "languageId": "pipe", "version": 1, "text": text });
        say("textDocument/didOpen", json!({ "textDocument": document }))
    };
    let change = |start: [u32; 2], end: [u32; 2], text: &str| {
        let place = |it: [u32; 2]| json!({ "line": it[0], "character": it[1] });
        let range = json!({ "start": place(start), "end": place(end) });
        say(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": 2 },
                "contentChanges": [{ "range": range, "text": text }],
            }),
        )
    };
    let ask = |id: usize, method: &str, line: u32, character: u32| {
        let at = json!({ "line": line, "character": character });
        json!({ "jsonrpc": "2.0", "id": id, "method": format!("textDocument/{method}"), "params": {
            "textDocument": { "uri": uri }, "position": at, "range": { "start": at, "end": at },
            "newName": "other", "context": { "includeDeclaration": true, "diagnostics": [] },
            "options": { "tabSize": 4, "insertSpaces": true },
        }})
    };
    let methods = [
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
    ];
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {} } });
    let all = |line, character| {
        let each = (1..).zip(methods).map(move |(id, it)| ask(id, it, line, character));
        [begin.clone(), open(text)].into_iter().chain(each).collect::<Vec<_>>()
    };
    let typed = vec![
        begin.clone(),
        open(text),
        change([9, 7], [9, 13], "shuffle"),
        change([10, 52], [10, 54], "\u{e9}"),
        ask(1, "formatting", 0, 0),
        change([0, 0], [99, 99], "edition 2026\r\npipeline p = "),
        ask(2, "completion", 1, 13),
        say("textDocument/didClose", json!({ "textDocument": { "uri": uri } })),
        ask(3, "hover", 0, 0),
        json!({ "jsonrpc": "2.0", "id": "x", "method": "workspace/executeCommand",
                "params": { "command": "pipec.story", "arguments": ["PC0103"] } }),
        json!({ "jsonrpc": "2.0", "id": 5, "method": "shutdown" }),
        say("exit", Value::Null),
    ];
    let sessions = [all(9, 9), all(5, 4), all(10, 30), typed];
    let text = |it: &Vec<Value>| it.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let raw = b"!Content-Length: 1000000000000\n!\n{}".to_vec();
    sessions.iter().map(|it| text(it).into_bytes()).chain([raw]).collect()
}
