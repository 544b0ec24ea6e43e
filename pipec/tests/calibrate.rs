//! `pipec calibrate`: what it writes can be read, and nothing else stays.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use driver::{
    Host,
    host::{Cache, Pattern},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A folder of a test, gone after it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("pipec-calibrate-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("disk")).unwrap();
        Self(folder)
    }

    /// The exit code, and what was printed on stdout and stderr; the user's folder is in it.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pipec"));
        command.env_remove("PIPEC_HOST").env("XDG_CONFIG_HOME", self.0.join("config"));
        let Output { status, stdout, stderr } =
            command.arg("calibrate").args(args).current_dir(&self.0).output().unwrap();
        let text = |it| String::from_utf8(it).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn what_is_found_is_kept_and_nothing_else() {
    let folder = Folder::new("quick");
    let (code, out, err) =
        folder.run(&["--path", "disk", "--quick", "--size", "32MiB", "--time", "2s"]);
    assert_eq!(code, 0, "{err}");
    let (host, disk) = (folder.0.join("config/pipec/host.toml"), folder.0.join("disk"));
    assert!(is_empty(&disk) && err.contains("host.toml"), "{err}");
    for word in ["cpu", "memory", "sequential", "1 MiB", "latency", "measured"] {
        assert!(out.contains(word), "{word}: {out}");
    }

    let found = Host::load(&host).unwrap();
    assert!(found.measured.as_ref().is_some_and(|it| it.quick) && !found.is_assumed());
    let all = found.memory.all_threads.as_ref().unwrap();
    assert!(all.copy.min > 0.0 && f64::from(all.threads) >= found.cpu.available);
    let storage = found.storage_of(&disk).unwrap();
    assert_eq!((storage.file, storage.read.len()), (32 << 20, 12));
    let sweep = storage.sweep(Cache::Cold, Pattern::Random, 4096).unwrap();
    let threads: Vec<_> = sweep.points.iter().map(|it| it.threads).collect();
    assert_eq!(threads, [1, 2, 4, 8, 16]);
    assert!(threads.contains(&sweep.enough) && sweep.curve.thresh >= 1.0);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = Folder::new("refused");
    let (code, _, err) = folder.run(&["--path", "nowhere", "--time", "1ms"]);
    assert!(
        code == 5 && err.contains("`nowhere`") && err.contains("name one that is there"),
        "{err}"
    );
    let (code, _, err) = folder.run(&["--path", "disk", "--time", "1ms", "--size", "1000TiB"]);
    assert!(code == 5 && err.contains("--size"), "{err}");
    let (code, _, err) = folder.run(&["--size", "1MiB"]);
    assert!(code == 2 && err.contains("32MiB"), "{err}");
    assert!(is_empty(&folder.0.join("disk")) && !folder.0.join("config").exists());
}
