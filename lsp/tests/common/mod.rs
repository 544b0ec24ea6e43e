//! An editor that speaks to a server of its own, in memory.

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::thread::JoinHandle;

pub(crate) struct Client {
    connection: Connection,
    server: JoinHandle<bool>,
    asked: i32,
    uri: String,
}

/// The range of the first `what` in `text`.
pub(crate) fn range(text: &str, what: &str) -> Value {
    let at = text.find(what).expect("it is in the text");
    json!({ "start": place(text, at), "end": place(text, at + what.len()) })
}

/// The place of a byte; the texts of tests are ASCII.
fn place(text: &str, byte: usize) -> Value {
    let start = text[..byte].rfind('\n').map_or(0, |it| it + 1);
    json!({ "line": text[..byte].matches('\n').count(), "character": byte - start })
}

impl Client {
    pub(crate) fn new() -> Self {
        let (ours, theirs) = Connection::memory();
        let server = std::thread::spawn(|| lsp::serve_on(theirs, driver::Reach::Project));
        Self { connection: ours, server, asked: 0, uri: String::new() }
    }

    pub(crate) fn begun() -> Self {
        let mut client = Self::new();
        client.ask("initialize", json!({ "capabilities": {} }));
        client.say("initialized", json!({}));
        client
    }

    pub(crate) fn say(&self, method: &str, params: Value) {
        let it = Notification { method: method.to_owned(), params };
        self.connection.sender.send(it.into()).expect("the server listens");
    }

    /// Asks, and gives what is answered: its `result` or `error`.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = RequestId::from(self.asked);
        let it = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(it.into()).expect("the server listens");
        loop {
            if let Message::Response(it) = self.connection.receiver.recv().expect("it answers")
                && it.id == id
            {
                return serde_json::to_value(it).expect("it is JSON");
            }
        }
    }

    /// Opens a document, and gives what is told about it.
    pub(crate) fn open(&mut self, uri: &str, text: &str) -> Value {
        self.uri = uri.to_owned();
        let document = json!({ "uri": uri, "languageId": "pipe", "version": 1, "text": text });
        self.say("textDocument/didOpen", json!({ "textDocument": document }));
        self.told()
    }

    /// Changes a range, and gives what is told then.
    pub(crate) fn change(&mut self, _: &str, range: Value, text: &str) -> Value {
        self.say(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": self.uri, "version": 2 },
                "contentChanges": [{ "range": range, "text": text }],
            }),
        );
        loop {
            let told = self.told();
            if told["version"] == 2 {
                return told;
            }
        }
    }

    /// The next messages about the document.
    pub(crate) fn told(&self) -> Value {
        loop {
            if let Message::Notification(it) = self.connection.receiver.recv().expect("it tells")
                && it.method == "textDocument/publishDiagnostics"
                && it.params["uri"] == self.uri.as_str()
            {
                return it.params;
            }
        }
    }

    /// Asks about the document.
    pub(crate) fn on(&mut self, method: &str, mut params: Value) -> Value {
        params["textDocument"] = json!({ "uri": self.uri });
        let answer = self.ask(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Asks about a place: so many bytes behind the beginning of the first `what`.
    pub(crate) fn at(&mut self, method: &str, text: &str, what: &str, behind: usize) -> Value {
        let at = text.find(what).expect("it is in the text") + behind;
        self.on(method, json!({ "position": place(text, at) }))
    }

    pub(crate) fn hints(&mut self, text: &str) -> Vec<Value> {
        let whole = json!({ "start": place(text, 0), "end": place(text, text.len()) });
        self.on("textDocument/inlayHint", json!({ "range": whole }))
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    pub(crate) fn actions(&mut self, text: &str, what: &str) -> Vec<Value> {
        let params = json!({ "range": range(text, what), "context": { "diagnostics": [] } });
        self.on("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
    }

    /// What is offered at a place: labels, and what is inserted.
    pub(crate) fn items(&mut self, text: &str, at: usize) -> Vec<(String, String)> {
        let found = self.on("textDocument/completion", json!({ "position": place(text, at) }));
        let items = found["items"].as_array().cloned().unwrap_or_default();
        let one = |it: &Value| {
            let label = it["label"].as_str().unwrap_or_default().to_owned();
            (label.clone(), it["insertText"].as_str().map_or(label, str::to_owned))
        };
        items.iter().map(one).collect()
    }

    pub(crate) fn completions(&mut self, text: &str, at: usize) -> Vec<String> {
        let found = self.on("textDocument/completion", json!({ "position": place(text, at) }));
        let items = found["items"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|it| it["label"].as_str().map(str::to_owned)).collect()
    }

    /// The whole answer: it may be a refusal.
    pub(crate) fn rename(&mut self, text: &str, what: &str, name: &str) -> Value {
        let at = text.find(what).expect("it is in the text");
        let document = json!({ "uri": self.uri });
        let params =
            json!({ "textDocument": document, "position": place(text, at), "newName": name });
        self.ask("textDocument/rename", params)
    }

    /// Ends it, and gives whether that was in order.
    pub(crate) fn end(self) -> bool {
        self.say("exit", Value::Null);
        self.server.join().expect("the server has not panicked")
    }
}
