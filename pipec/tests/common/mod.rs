//! What the tests of the program share: a folder for each, `pipec` run in it, and what came of it.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The program under test.
pub(crate) const PIPEC: &str = env!("CARGO_BIN_EXE_pipec");

/// A folder that goes away when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty one; tests that run at the same time have different names.
    pub(crate) fn new(name: &str) -> Self {
        // Messages name files as the system does, behind all links.
        Self::below(&fs::canonicalize(env::temp_dir()).unwrap(), name)
    }

    /// The same in memory, where the system has such a folder: for tests with hundreds of runs, none
    /// of which is to wait for a disk. No executable may be there.
    pub(crate) fn quick(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let is_there =
            fs::metadata(memory).is_ok_and(|it| it.is_dir() && !it.permissions().readonly());
        if is_there { Self::below(memory, name) } else { Self::new(name) }
    }

    /// The same with these files, by their names and texts.
    pub(crate) fn quick_of(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self::quick(name);
        files.iter().for_each(|(file, text)| folder.write(file, text));
        folder
    }

    fn below(place: &Path, name: &str) -> Self {
        let folder = Self(place.join(format!("pipec-{name}-{}", std::process::id())));
        let _ = fs::remove_dir_all(&folder.0);
        fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    /// One with these files, by their names and texts.
    pub(crate) fn of(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self::new(name);
        files.iter().for_each(|(file, text)| folder.write(file, text));
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and makes the folder that it lies in.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.join(file)).unwrap()
    }

    /// Every file below one of its folders.
    pub(crate) fn files(&self, folder: &str) -> Files {
        files(&self.join(folder))
    }

    /// `pipec`, about to be run in it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(PIPEC), args)
    }

    /// An executable, about to be run in it.
    pub(crate) fn command_of(&self, executable: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(executable);
        command.args(args).current_dir(&self.0).env_remove("NO_COLOR");
        // What this machine was measured to be decides what is kept: no test must depend on it.
        command.env_remove("PIPEC_HOST").env("XDG_CONFIG_HOME", self.join("config"));
        command
    }

    /// Says something to `pipec`.
    pub(crate) fn pipec(&self, args: &[&str]) -> Printed {
        Printed::of(&self.command(args).output().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Keys for a store of a test, which nothing may write anywhere.
pub(crate) const KEY: &str = "AKIAKEYOFATEST";
pub(crate) const SECRET: &str = "secret/of+a+test";

/// What the environment says to who uses the store at a URL: as one of S3 with keys, as one of Google with a service account, and
/// as the emulator of Azure's.
pub(crate) fn store_vars(url: String) -> [(&'static str, String); 10] {
    let yes = || "true".to_owned();
    // Who has such an account is not asked for a token.
    let account = format!(
        "{{\"client_email\": \"a@b\", \"private_key\": \"{SECRET}\", \"private_key_id\": \"{KEY}\", \"disable_oauth\": \
         true}}"
    );
    [
        ("AWS_ENDPOINT_URL", url.clone()),
        ("AWS_ALLOW_HTTP", yes()),
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("GOOGLE_BASE_URL", url.clone()),
        ("GOOGLE_ALLOW_HTTP", yes()),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", account),
        ("AZURITE_BLOB_STORAGE_URL", url),
        ("AZURE_ALLOW_HTTP", yes()),
        ("AZURE_STORAGE_USE_EMULATOR", yes()),
    ]
}

/// What a command has printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Printed {
    /// Its exit code; -1 where a signal ended it.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Printed {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts how it ended and what stands somewhere in what it said.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        for part in said {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
    }
}

/// The contents of files, by their names below a folder.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Files {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let inner = files(&entry.path()).into_iter();
            found.extend(inner.map(|(it, bytes)| (format!("{name}/{it}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}
