//! Records of archives that are large enough to be read one by one give what they give in order.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/shards.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod shards;

use common::Folder;
use std::fs;

const PROGRAM: &str = r#"edition 2026
pipeline ordered = tar("*.tar") |> map { key, text: files["txt"] as str, n: files["cls"] as i64 } else skip(most: 1)
pipeline shuffled =
    tar("*.tar") |> shuffle |> map { key, text: files["txt"] as str, n: files["cls"] as i64 } else skip(most: 1)
"#;

#[test]
fn large_records_are_the_same_in_any_order() {
    let folder = Folder::of("large-records", &[("p.pipe", PROGRAM)]);
    for archive in 0..2 {
        let text = |n: usize| char::from(b'a' + (n % 26) as u8).to_string().repeat(40_000 + n);
        let texts: Vec<String> = (0..5).map(|it| text(archive * 5 + it)).collect();
        let paths = |it: &str| [0, 1, 2, 3, 4].map(|n| format!("{archive}-{n}.{it}"));
        let (txt, cls) = (paths("txt"), paths("cls"));
        let mut files: Vec<(&str, &[u8])> = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            files.extend([(&*txt[n], text.as_bytes()), (&*cls[n], b"7")]);
            // A record that has a file twice is a fault, and no other record is one for it.
            if n == 2 {
                files.push((&*txt[n], b"again"));
            }
        }
        let whole = shards::tar(&files);
        // The last record of the last archive is cut off.
        let len = if archive == 1 { whole.len() - 30_000 } else { whole.len() };
        fs::write(folder.join(format!("{archive}.tar")), &whole[..len]).unwrap();
    }
    let lines = |pipeline: &str| {
        let run = ["run", "p.pipe", pipeline, "--out", pipeline, "--format", "jsonl"];
        folder.pipec(&run).ends(0, &["has the member `txt` twice", "truncated inside a file"]);
        let is_shard = |it: &str| it.ends_with(".jsonl") && !it.starts_with("pipec.");
        let files = folder.files(pipeline).into_iter().filter(|it| is_shard(&it.0));
        let text: String = files.map(|it| String::from_utf8(it.1).unwrap()).collect();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let ordered = lines("ordered");
    assert_eq!(ordered.len(), 6);
    assert!(lines("shuffled") == ordered);
}
