//! What lies beside a program and what it does: the lock that pins a choice, a stage that is explained,
//! records that are looked at.

use crate::common::Client;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

const PROGRAM: &str = "edition 2026
pipeline p =
    range(64)
    |> map { image: plasma(i, 64, 64) |> normalize(mean: 0.5, std: 0.25) }
    |> batch(4, tail: drop)
";
const VALUE: &str = "p.map#1.plasma";

/// A folder of its own, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("it can be made");
        Self(path)
    }

    /// The program in it, opened.
    fn opened(&self, client: &mut Client) -> String {
        let path = self.0.join("p.pipe");
        fs::write(&path, PROGRAM).expect("it can be written");
        let uri = format!("file://{}", path.display());
        client.open(&uri, PROGRAM);
        uri
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The action of this title at `map`; it may take a moment until the program has been looked at.
fn action(client: &mut Client, title: &str) -> Value {
    for _ in 0..400 {
        let actions = client.actions(PROGRAM, "map");
        if let Some(found) = actions.into_iter().find(|it| it["title"] == title) {
            return found;
        }
        sleep(Duration::from_millis(25));
    }
    panic!("no action `{title}`: {:?}", client.actions(PROGRAM, "map"));
}

/// Does what the action says to the lock, and gives its text.
fn applied(folder: &Folder, action: &Value) -> String {
    let changes = action["edit"]["documentChanges"].as_array().expect("it changes something");
    let lock = format!("file://{}", folder.0.join("p.pipe.lock").display());
    assert_eq!((&changes[0]["kind"], &changes[0]["uri"]), (&json!("create"), &json!(lock)));
    let text = changes[1]["edits"][0]["newText"].as_str().expect("it is text");
    fs::write(folder.0.join("p.pipe.lock"), text).expect("it can be written");
    text.to_owned()
}

#[test]
fn a_choice_is_pinned_and_unpinned_in_the_lock() {
    let folder = Folder::new("pins");
    let mut client = Client::begun();
    let uri = folder.opened(&mut client);
    let never = action(&mut client, &format!("Pin in the lock file: never cache `{VALUE}`"));
    let text = applied(&folder, &never);
    assert!(text.contains(&format!("forbid = [\"{VALUE}\"]")), "{text}");
    client.say("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let free = action(&mut client, &format!("Unpin `{VALUE}` in the lock file"));
    assert!(!applied(&folder, &free).contains(VALUE));
    client.say("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let keep = action(&mut client, &format!("Pin in the lock file: cache `{VALUE}`"));
    let text = applied(&folder, &keep);
    assert!(text.contains(&format!("keep = [\"{VALUE}\"]")), "{text}");
}

#[test]
fn a_stage_is_explained_and_its_records_are_looked_at() {
    let folder = Folder::new("stages");
    let mut client = Client::begun();
    let uri = folder.opened(&mut client);
    let explain = action(&mut client, "Explain this stage: `p.map#1`");
    let told = client.ask("workspace/executeCommand", explain["command"].clone());
    let text = told["result"].as_str().unwrap_or_else(|| panic!("{told}"));
    assert!(text.contains("{ image: f32[64, 64, 3] }") && text.contains("plasma ~"), "{text}");
    assert!(text.contains("this is the bottleneck"), "{text}");

    let lenses = client.on("textDocument/codeLens", json!({}));
    let commands: Vec<&Value> =
        lenses.as_array().unwrap().iter().map(|it| &it["command"]).collect();
    let named = |it: &str| commands.iter().find(|c| c["command"] == it).copied().unwrap().clone();
    let told = client.ask("workspace/executeCommand", named("pipec.explain"));
    let text = told["result"].as_str().unwrap();
    assert!(text.starts_with("p: ~") && text.contains("limits "), "{text}");
    let told = client.ask("workspace/executeCommand", named("pipec.peek"));
    let text = told["result"].as_str().unwrap();
    assert!(text.contains("p.map#1") && text.contains("f32[64, 64, 3]"), "{text}");

    let none = json!({ "command": "pipec.explain", "arguments": [uri, "q"] });
    let told = client.ask("workspace/executeCommand", none);
    assert!(told["error"]["message"].as_str().unwrap().contains('q'), "{told}");
}

#[test]
fn a_pattern_without_files_is_told() {
    let folder = Folder::new("no-files");
    let there = folder.0.join("b.txt");
    fs::write(&there, "one\n").expect("it can be written");
    let program = |name: &str| {
        let pattern = folder.0.join(name);
        format!("edition 2026\npipeline p = lines(\"{}\") |> batch(2)\n", pattern.display())
    };
    let mut client = Client::begun();
    let text = program("a.txt");
    let uri = format!("file://{}", folder.0.join("p.pipe").display());
    client.open(&uri, &text);
    // The second time after it has looked at the files.
    let told = codes(&client.told());
    assert!(told.iter().any(|it| it.contains("PC0413")), "{told:?}");

    client.change(&uri, crate::common::range(&text, "a.txt"), "b.txt");
    let told = codes(&client.told());
    assert!(!told.iter().any(|it| it.contains("PC0413")), "{told:?}");
}

#[test]
fn a_table_is_read_beside_and_told_if_it_is_missing() {
    let folder = Folder::new("tables");
    fs::write(folder.0.join("b.txt"), "one\ntwo\n").expect("it can be written");
    let table = folder.0.join("a.txt");
    let text = format!(
        "edition 2026\npipeline p = range(9) |> map {{ id: lookup(\"one\", \"{}\") }} |> batch(2, tail: drop)\n",
        table.display()
    );
    let mut client = Client::begun();
    let uri = format!("file://{}", folder.0.join("p.pipe").display());
    client.open(&uri, &text);
    let told = codes(&client.told());
    assert!(told.iter().any(|it| it.contains("PC0136")), "{told:?}");
    client.change(&uri, crate::common::range(&text, "a.txt"), "b.txt");
    let told = codes(&client.told());
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn columns_of_a_table_outside_of_the_project_are_not_shown() {
    let folder = Folder::new("outside");
    let project = folder.0.join("project");
    fs::create_dir_all(&project).expect("it can be made");
    let rows = "hunter2,age\nhunter3,1\n";
    for path in [folder.0.join("a.csv"), project.join("b.csv"), project.join("pyproject.toml")] {
        fs::write(&path, rows).expect("it can be written");
    }
    let text = format!(
        "edition 2026\npipeline p = csv(\"{}\") |> map {{ x: nothing, age }} |> batch(1)\n",
        folder.0.join("a.csv").display()
    );
    let uri = format!("file://{}", project.join("p.pipe").display());
    let seen = |client: &mut Client, text: &str| {
        let at = text.find("nothing").expect("it is in the text");
        let completions = client.completions(text, at + 3);
        let hovers = ["csv", "|> map"].map(|it| client.at("textDocument/hover", text, it, 0));
        assert!(completions.iter().any(|it| it == "age"), "{completions:?}");
        format!("{completions:?} {hovers:?}")
    };
    let mut client = Client::begun();
    let mut told = client.open(&uri, &text);
    let all = |told: &Value| told["diagnostics"].to_string();
    // It comes when the file was looked at, and again with all that is found beside.
    while !all(&told).contains("PC0103") {
        assert!(!all(&told).contains("hunter"), "{told}");
        told = client.told();
    }
    for told in [told, client.told()] {
        assert!(all(&told).contains("--allow-outside") && !all(&told).contains("hunter"), "{told}");
    }
    let shown = seen(&mut client, &text);
    assert!(!shown.contains("hunter"), "{shown}");

    // One of the project is shown.
    let own = project.join("b.csv").display().to_string();
    let outside = folder.0.join("a.csv").display().to_string();
    client.change(&uri, crate::common::range(&text, &outside), &own);
    let text = text.replace(&outside, &own);
    while !all(&client.told()).contains("hunter2") {}
    assert!(seen(&mut client, &text).contains("hunter2"));
}

/// The codes of what was told.
fn codes(told: &Value) -> Vec<String> {
    let all = told["diagnostics"].as_array().cloned().unwrap_or_default();
    all.iter().map(|it| it["code"].to_string()).collect()
}
