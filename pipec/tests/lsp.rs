//! `pipec lsp`: the real binary, spoken to over its streams, and by Neovim where there is one.

#![cfg(feature = "lsp")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, PIPEC};
use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// What a person has written, with a slip.
const BROKEN: &str = "edition 2026
pipeline numbers =
    range(100)
    |> shufle
      |> map {name:\"𝄞\",half: f32( i )*0.5} |> map {half}
    |> batch(8, tail: drop)
";

/// An editor that writes JSON by hand.
struct Editor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Editor {
    fn new(folder: &Folder) -> Self {
        Self::of(&mut folder.command(&["lsp"]))
    }

    fn of(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout) }
    }

    fn send(&mut self, json: &str) {
        write!(self.stdin, "Content-Length: {}\r\n\r\n{json}", json.len()).unwrap();
        self.stdin.flush().unwrap();
    }

    /// The next message.
    fn message(&mut self) -> serde_json::Value {
        let mut len = 0;
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server is gone");
            if let Some(it) = line.strip_prefix("Content-Length: ") {
                len = it.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut bytes = vec![0; len];
        self.stdout.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// The next message that is what is waited for.
    fn until(&mut self, is: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        loop {
            let message = self.message();
            if is(&message) {
                return message;
            }
        }
    }
}

#[test]
fn an_editor_is_served_over_the_streams() {
    let folder = Folder::of("lsp-stdio", &[("a b.pipe", BROKEN)]);
    let uri = format!("file://{}", folder.join("a%20b.pipe").display());
    let mut editor = Editor::new(&folder);
    editor.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#);
    let answer = editor.until(|it| it["id"] == 1);
    assert_eq!(answer["result"]["serverInfo"]["name"], "pipec");
    editor.send(r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#);
    let text = serde_json::to_string(BROKEN).unwrap();
    editor.send(&format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{uri}","languageId":"pipe","version":1,"text":{text}}}}}}}"#
    ));
    let told = editor.until(|it| it["method"] == "textDocument/publishDiagnostics");
    assert_eq!(told["params"]["diagnostics"][0]["code"], "PC0107", "{told}");
    // Behind a character of two units.
    editor.send(&format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{uri}","version":2}},"contentChanges":[{{"range":{{"start":{{"line":3,"character":7}},"end":{{"line":3,"character":13}}}},"text":"shuffle"}},{{"range":{{"start":{{"line":4,"character":24}},"end":{{"line":4,"character":28}}}},"text":"part"}}]}}}}"#
    ));
    let told = editor.until(|it| {
        it["method"] == "textDocument/publishDiagnostics" && it["params"]["version"] == 2
    });
    let messages = told["params"]["diagnostics"].to_string();
    assert!(messages.contains("half") && !messages.contains("shufle"), "{messages}");
    editor.send(r#"{"jsonrpc":"2.0","id":2,"method":"workspace/executeCommand","params":{"command":"pipec.story","arguments":["PC0103"]}}"#);
    let story = editor.until(|it| it["id"] == 2);
    assert!(story["result"].as_str().unwrap().starts_with("PC0103 unknown-name"), "{story}");
    editor.send(r#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#);
    assert_eq!(editor.until(|it| it["id"] == 3)["result"], serde_json::Value::Null);
    editor.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!(editor.child.wait().unwrap().code(), Some(0));
}

/// Neither what says the fields nor what says which files there are is asked of a store.
#[cfg(feature = "stores")]
#[test]
fn a_program_that_names_a_store_is_looked_at_without_it() {
    use loopback::{Manner, Server};

    let text = "edition 2026
pipeline gone = lines(\"nowhere/*.txt\")
pipeline far = parquet(\"s3://bucket/x.parquet\")
pipeline classes = files(\"s3://bucket/*/*.jpg\") |> map { label: class_of(path) }
pipeline table = range(9) |> map { y: lookup(i, \"s3://bucket/w.txt\") }
";
    let folder = Folder::of("lsp-store", &[("a.pipe", text)]);
    let server = Server::start(&folder.join("."), Manner::default()).unwrap();
    let mut command = folder.command(&["lsp"]);
    let mut editor = Editor::of(command.envs(common::store_vars(server.url())));
    editor.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#);
    editor.until(|it| it["id"] == 1);
    editor.send(r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#);
    let (uri, text) = (folder.join("a.pipe"), serde_json::to_string(text).unwrap());
    editor.send(&format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"file://{}","languageId":"pipe","version":1,"text":{text}}}}}}}"#,
        uri.display()
    ));
    // What is missing here is told when all was looked at.
    let told = editor.until(|it| it["params"]["diagnostics"].to_string().contains("nowhere"));
    assert_eq!(told["params"]["diagnostics"].as_array().map(Vec::len), Some(1), "{told}");
    assert!(server.heads().is_empty(), "{:?}", server.heads());
    editor.child.kill().unwrap();
    editor.child.wait().unwrap();
}

#[test]
fn an_editor_that_is_gone_ends_it() {
    let folder = Folder::new("lsp-gone");
    let Editor { mut child, stdin, .. } = Editor::new(&folder);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// A session of a person in Neovim, headless.
#[test]
fn neovim_is_told_mends_formats_hovers_and_completes() {
    let has_it = Command::new("nvim").arg("--version").output().is_ok_and(|it| it.status.success());
    if !has_it {
        eprintln!("skipped: there is no `nvim`; `apt-get install neovim` brings one");
        return;
    }
    let folder = Folder::of("lsp-nvim", &[("broken.pipe", BROKEN)]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let session = root.join("tests/editor/session.lua");
    let output = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "--cmd", "set noswapfile", "-S"])
        .arg(&session)
        .current_dir(folder.path())
        .env("PIPEC", PIPEC)
        .env("PIPEC_FILE", folder.join("broken.pipe"))
        .env("PIPEC_FORMATTED", folder.join("formatted.pipe"))
        .env("PIPEC_NVIM", root.join("../editor/nvim/pipec.lua"))
        .env("HOME", folder.path())
        .env("XDG_STATE_HOME", folder.path())
        .env("XDG_CACHE_HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    for step in [
        "diagnostics: PC0107 in line 4",
        "fixed: |> shuffle",
        "formatted",
        "hover: ",
        "completion: ",
    ] {
        assert!(said.contains(step), "no `{step}` in:\n{said}");
    }
    // What the editor has made is what `fmt` makes.
    let formatted = folder.read("formatted.pipe");
    let printed = folder.pipec(&["fmt", "--check", "formatted.pipe"]);
    assert_eq!(printed.code, 0, "{formatted}\n{printed:?}");
}

/// Whatever comes instead of a protocol, the server ends or goes on; it does not abort, and takes no memory
/// for what is only announced.
#[test]
fn junk_ends_the_server_with_a_message_at_most() {
    let folder = Folder::new("lsp-junk");
    let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let begin = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
    let position = r#"{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///none"},"position":{"line":4294967295,"character":4294967295}}}"#;
    let all: [Vec<u8>; 8] = [
        b"\xff\xfe\0".repeat(1000),
        b"Content-Length: -1\r\n\r\n".to_vec(),
        b"Content-Length: 1000000000000\r\n\r\n{}".to_vec(),
        b"Content-Length: 99\r\n\r\n{\"cut\": ".to_vec(),
        framed("{{{{{"),
        framed(&deep),
        [framed(begin), framed(position), framed("[]"), framed("null")].concat(),
        [framed(begin), framed(&begin.replace("initialize", "no/such")), framed("7")].concat(),
    ];
    for junk in all {
        let mut command = folder.command(&["lsp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may have ended before all is written.
        let _ = child.stdin.take().unwrap().write_all(&junk);
        let ended = common::Printed::of(&child.wait_with_output().unwrap());
        let shown = String::from_utf8_lossy(&junk[..junk.len().min(60)]).into_owned();
        assert!(ended.code >= 0 && !ended.err.contains("panicked"), "{shown}: {ended:#?}");
    }
}
