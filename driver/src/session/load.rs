//! Reads a program: the main file, and the files that it uses.

use crate::session::errors;
use compiler::{
    ast::{self, DeclarationKind},
    syntax::{self, Kept, SOURCE_MAX},
};
use plan::{Diagnostic, FileId, Span};
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{self, Component, Path, PathBuf},
};

/// Files of a program.
const FILES_MAX: usize = 256;
/// Files that cannot be read, and are stood in for; about what is wanted of more, more is said.
const STAND_INS_MAX: usize = 256;
/// No text has a zero; what has one so early is an executable, an image, an archive.
const BINARY_WITHIN: usize = 1024;
/// Names that a message lists.
const NAMES_MAX: usize = 5;

/// Which files a program may use.
///
/// What it names is shown in messages, which end up in the logs of whoever checks other people's
/// programs: so a secret beside the project must not be what it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those below the nearest folder above the main file with a marker such as `.git`; where there
    /// is none, those below the main file's own.
    #[default]
    Project,
    /// Any.
    Anywhere,
}

impl Reach {
    /// The one that a command line asks for.
    pub fn of(allow_outside: bool) -> Self {
        if allow_outside { Self::Anywhere } else { Self::Project }
    }
}

/// What stands in the first folder of a project.
const MARKERS: [&str; 4] = [".git", ".hg", ".jj", "pyproject.toml"];

/// A file of a program, for showing places in it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SourceFile {
    /// Its path, as it was named.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// A program as it was read.
#[derive(Debug)]
pub struct Loaded {
    /// The files, by their [`FileId`]; the main one first.
    pub files: Vec<SourceFile>,
    /// Their trees.
    pub trees: Vec<ast::File>,
    /// The file that each `use` names, by the place of its text.
    pub imports: BTreeMap<Span, FileId>,
    /// What is wrong so far.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub path: String,
    /// Why, in a few words.
    pub why: String,
    /// What to do, where something can be said.
    pub help: Option<String>,
}

impl Loaded {
    /// Reads the program of `path`. Mistakes in it, and files that are missing, are among its messages.
    ///
    /// # Errors
    /// The main file itself cannot be read.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        Self::read_within(path, Reach::Project)
    }

    /// The same where `reach` says which files it may use.
    ///
    /// # Errors
    /// The main file itself cannot be read.
    pub fn read_within(path: &Path, reach: Reach) -> Result<Self, Unreadable> {
        Ok(Self::from_text_within(path, read_main(path, reach)?, reach))
    }

    /// Reads the program `text`, which need not be in a file; what it uses is looked for beside `path`.
    pub fn from_text(path: &Path, text: String) -> Self {
        Self::from_text_within(path, text, Reach::Project)
    }

    /// The same where `reach` says which files it may use.
    pub fn from_text_within(path: &Path, text: String, reach: Reach) -> Self {
        let (read, kept): (&mut Read<'_>, _) = (&mut read_text, &mut Kept::default());
        Self::reading((path, reach), text, read, kept)
    }

    /// The same, where `read` gives the texts of the files that it uses, or says why there is none, and
    /// `kept` is what was read of `path` before: for editors, whose files need not be written yet.
    pub fn from_text_with(
        (path, reach): (&Path, Reach),
        text: String,
        read: &mut Read<'_>,
        kept: &mut Kept,
    ) -> Self {
        Self::reading((path, reach), text, read, kept)
    }

    fn reading(
        (path, reach): (&Path, Reach),
        text: String,
        read: &mut Read<'_>,
        kept: &mut Kept,
    ) -> Self {
        let mut reading = Reading {
            loaded: Self {
                files: Vec::new(),
                trees: Vec::new(),
                imports: BTreeMap::new(),
                diagnostics: Vec::new(),
            },
            known: HashMap::new(),
            open: Vec::new(),
            root: project_of(path),
            reach,
            read,
        };
        reading.file(path, text, kept);
        reading.loaded
    }

    /// Whether some message is a mistake.
    pub fn is_broken(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

struct Reading<'r> {
    loaded: Loaded,
    /// Files that were read, by their path without links.
    known: HashMap<PathBuf, FileId>,
    /// The files whose uses are being read, each used by the one before.
    open: Vec<PathBuf>,
    /// The first folder of the project.
    root: PathBuf,
    /// Whether all of them have to be below it.
    reach: Reach,
    /// Gives the texts of files.
    read: &'r mut Read<'r>,
}

/// Gives the text of a file, or says why there is none.
type Read<'r> = dyn FnMut(&Path) -> Result<String, String> + 'r;

impl Reading<'_> {
    fn file(&mut self, path: &Path, text: String, kept: &mut Kept) -> FileId {
        let id = self.next_id();
        let (tree, diagnostics) = syntax::parse_again(&text, id, kept);
        let uses: Vec<ast::Use> = tree
            .declarations
            .iter()
            .filter_map(|it| match &it.kind {
                DeclarationKind::Use(used) if !it.broken => Some(used.clone()),
                _ => None,
            })
            .collect();
        self.loaded.files.push(SourceFile { path: path.display().to_string(), text });
        self.loaded.trees.push(tree);
        self.loaded.diagnostics.extend(diagnostics);

        let identity = identity(path);
        self.known.insert(identity.clone(), id);
        self.open.push(identity);
        for it in uses {
            let used = path.parent().unwrap_or(Path::new("")).join(&it.from.value);
            let file = match self.used(&used, &it.from) {
                Ok(file) => file,
                Err(diagnostic) => {
                    self.loaded.diagnostics.push(*diagnostic);
                    let Some(file) = self.stand_in(&used, &it) else { continue };
                    file
                }
            };
            self.loaded.imports.insert(it.from.span, file);
        }
        self.open.pop();
        id
    }

    /// A file with the names that are wanted of one that cannot be read.
    fn stand_in(&mut self, path: &Path, wanted: &ast::Use) -> Option<FileId> {
        let id = Some(self.next_id()).filter(|it| usize::from(it.0) < STAND_INS_MAX + FILES_MAX)?;
        let declarations = wanted.names.iter().flat_map(unknown).collect();
        self.loaded
            .files
            .push(SourceFile { path: path.display().to_string(), text: String::new() });
        self.loaded.trees.push(ast::File { id, edition: None, declarations });
        Some(id)
    }

    fn next_id(&self) -> FileId {
        FileId(u16::try_from(self.loaded.files.len()).expect("files are few"))
    }

    fn used(&mut self, path: &Path, from: &ast::Text) -> Result<FileId, Box<Diagnostic>> {
        let resolved = resolved(path);
        let is_inside = resolved.starts_with(&self.root);
        if self.reach == Reach::Project && !is_inside {
            return Err(Box::new(errors::outside_project(&from.value, from.span)));
        }
        let identity = identity(path);
        if self.open.contains(&identity) {
            return Err(Box::new(errors::use_cycle(&from.value, from.span)));
        }
        if let Some(id) = self.known.get(&identity) {
            return Ok(*id);
        }
        if self.known.len() == FILES_MAX {
            return Err(Box::new(errors::too_many_files(FILES_MAX, from.span)));
        }
        let shown = path.display().to_string();
        let text = (self.read)(path).map_err(|why| match why.as_str() {
            NOT_THERE => Box::new(errors::no_such_file(&shown, beside(path), from.span)),
            why => Box::new(errors::unreadable_file(&shown, why, from.span)),
        })?;
        // A program of the project is shown with its mistakes, whatever its first line is; a file by
        // another name, also behind a link, may be anything.
        let is_own = is_inside && resolved.extension().is_some_and(|it| it == "pipe");
        if !is_own && !is_program(&text) {
            return Err(Box::new(errors::no_program(&shown, from.span)));
        }
        Ok(self.file(path, text, &mut Kept::default()))
    }
}

/// Whether a text is that of a program, so that its lines may be shown where it has mistakes. One that
/// does not say so in its first line must have none.
fn is_program(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|it| !it.is_empty() && !it.starts_with('#')).unwrap_or("");
    first.split_whitespace().next() == Some("edition")
        || !syntax::parse(text, FileId::default()).1.iter().any(Diagnostic::is_error)
}

/// The first folder of the project that a main file belongs to.
pub(crate) fn project_of(main: &Path) -> PathBuf {
    let folder = main.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let folder = resolved(folder);
    let is_first = |it: &&Path| MARKERS.iter().any(|marker| it.join(marker).exists());
    folder.ancestors().find(is_first).unwrap_or(&folder).to_owned()
}

/// The folder that the files of `main` lie in by the path that somebody has written, links and all.
fn project_as_written(main: &Path) -> PathBuf {
    let whole = path::absolute(main).unwrap_or_else(|_| main.to_owned());
    let is_marked = |it: &&Path| MARKERS.iter().any(|marker| it.join(marker).exists());
    match whole.ancestors().skip(1).find(is_marked) {
        Some(folder) => resolved(folder),
        None => project_of(main),
    }
}

/// A path without links, also of what is not there.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let mut plain = PathBuf::new();
    for part in path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    match (plain.parent(), plain.file_name()) {
        (Some(folder), Some(name)) => resolved(folder).join(name),
        _ => plain,
    }
}

/// The text of a main file. One that is a link may lead anywhere, and what it leads to is shown in
/// messages like a file that is used.
///
/// # Errors
/// It cannot be read, or lies outside of the project.
pub fn read_main(path: &Path, reach: Reach) -> Result<String, Unreadable> {
    let unreadable = |why: String, help| Unreadable { path: path.display().to_string(), why, help };
    let leads_out = || !resolved(path).starts_with(project_as_written(path));
    if reach == Reach::Project && leads_out() {
        let help = "name its target, or add `--allow-outside`";
        let why = "it is a link to a file outside of the project";
        return Err(unreadable(why.to_owned(), Some(help.to_owned())));
    }
    read_text(path).map_err(|why| {
        let help = match why.as_str() {
            NOT_THERE => Some(beside(path)),
            FOLDER => {
                let path = path.display();
                Some(format!(
                    "name a program; `pipec inspect {path}` writes one that reads the folder"
                ))
            }
            _ => None,
        };
        unreadable(why, help)
    })
}

/// What is known of a name that comes from a file which cannot be read: that it is there. So
/// nothing more is said about it.
fn unknown(name: &ast::Name) -> [ast::Declaration; 2] {
    let value = ast::Expr { kind: ast::ExprKind::Broken, span: name.span, bracketed: false };
    let (formals, effects) = (Vec::new(), Vec::new());
    let signature = ast::Signature { name: name.clone(), formals, effects, result: None };
    let named = DeclarationKind::Const(ast::Const { name: name.clone(), value: value.clone() });
    let called = DeclarationKind::Fn(ast::Function { signature, body: value });
    [named, called].map(|kind| ast::Declaration {
        docs: Vec::new(),
        kind,
        span: name.span,
        broken: true,
    })
}

/// What tells a file from another, however it is named.
fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

const NOT_THERE: &str = "file not found";
const FOLDER: &str = "it is a folder";

/// The text of a program's file, or why it is none.
pub fn read_text(path: &Path) -> Result<String, String> {
    text(safe_file::open(path).map_err(|it| reason(&it))?)
}

/// The text that `from` gives, or why it is none.
pub fn text(from: impl io::Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(from, SOURCE_MAX as u64 + 1), &mut bytes)
        .map_err(|it| reason(&it))?;
    if bytes.iter().take(BINARY_WITHIN).any(|it| *it == 0) {
        return Err("it is a binary file, neither the source of a program nor a built executable"
            .to_owned());
    }
    if bytes.len() > SOURCE_MAX {
        return Err(format!("it has more than {} MiB", SOURCE_MAX >> 20));
    }
    // Some editors put a byte order mark in front, which says nothing in UTF-8.
    let marked = bytes.starts_with(b"\xef\xbb\xbf");
    if marked {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|it| {
        let at = it.utf8_error().valid_up_to() + if marked { 3 } else { 0 };
        format!("it is not valid UTF-8 (byte {at})")
    })
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => NOT_THERE.to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => FOLDER.to_owned(),
        _ => error.to_string(),
    }
}

/// What to say where a program is missing: which ones are there.
fn beside(path: &Path) -> String {
    let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else {
        return format!("cannot find the folder `{}`", folder.display());
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .filter(|it| it.ends_with(".pipe"))
        .collect();
    names.sort();
    let place = match folder.to_str() {
        Some(".") => "this folder".to_owned(),
        _ => format!("`{}`", folder.display()),
    };
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|it| format!("`{it}`")).collect();
    match shown.as_slice() {
        [] => format!("{place} contains no `.pipe` file"),
        _ => format!("{place} contains {}{more}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder =
                std::env::temp_dir().join(format!("pipec-load-{}-{name}", std::process::id()));
            for (file, text) in files {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(folder)
        }

        fn messages(&self) -> Vec<(u16, &'static str, String)> {
            let loaded = Loaded::read(&self.0.join("main.pipe")).unwrap();
            let all = loaded.diagnostics.iter();
            all.map(|it| (it.span.file.0, it.code.id, it.help.clone().unwrap_or_default()))
                .collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_used_twice_is_read_once() {
        let files = [
            ("main.pipe", "use f from \"a/x.pipe\"\nuse g from \"a/y.pipe\"\n"),
            ("a/x.pipe", "use g from \"y.pipe\"\nfn f(x) = g(x)\n"),
            ("a/y.pipe", "fn g(x) = x\n"),
        ];
        let folder = Folder::new("twice", &files);
        let loaded = Loaded::read(&folder.0.join("main.pipe")).unwrap();
        assert_eq!(loaded.diagnostics, []);
        let files: Vec<u16> = loaded.imports.values().map(|it| it.0).collect();
        assert_eq!((loaded.files.len(), files), (3, vec![1, 2, 2]));
    }

    #[test]
    fn what_cannot_be_used_is_told_where_it_is_named() {
        let files = [
            ("main.pipe", "use f from \"a.pipe\"\nuse g from \"gone.pipe\"\nuse h from \"sub\"\n"),
            ("a.pipe", "use x from \"main.pipe\"\nfn f(x) = x\n"),
            ("sub/b.pipe", ""),
        ];
        let folder = Folder::new("broken", &files);
        let messages = folder.messages();
        let codes: Vec<_> = messages.iter().map(|it| (it.0, it.1)).collect();
        assert_eq!(codes, [(1, "PC0203"), (0, "PC0201"), (0, "PC0202")]);
        assert!(messages[1].2.ends_with("contains `a.pipe`, `main.pipe`"), "{messages:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_program_of_the_project_is_shown_with_its_mistakes_and_nothing_else_is() {
        let files = [
            (
                "in/main.pipe",
                "use f from \"own.pipe\"\nuse g from \"link.pipe\"\nuse h from \"notes\"\n",
            ),
            ("in/own.pipe", "fn f(x) = x +\n"),
            ("in/notes", "TOKEN=hunter2\n"),
            ("other.pipe", "TOKEN=hunter2\n"),
        ];
        let folder = Folder::new("own", &files);
        std::os::unix::fs::symlink("notes", folder.0.join("in/link.pipe")).unwrap();
        let codes = |reach| {
            let loaded = Loaded::read_within(&folder.0.join("in/main.pipe"), reach).unwrap();
            assert!(loaded.files.iter().all(|it| !it.text.contains("hunter2")));
            let all = loaded.diagnostics.iter();
            all.map(|it| (it.span.file.0, it.code.id)).collect::<Vec<_>>()
        };
        for reach in [Reach::Project, Reach::Anywhere] {
            let found = codes(reach);
            assert!(found[0].0 == 1 && found[0].1 < "PC0100", "{found:?}");
            assert_eq!(found[1..], [(0, "PC0208"), (0, "PC0208")]);
        }
        // Nor is one that lies outside, where that is allowed.
        fs::write(folder.0.join("in/main.pipe"), "use f from \"../other.pipe\"\n").unwrap();
        assert_eq!(codes(Reach::Project), [(0, "PC0207")]);
        assert_eq!(codes(Reach::Anywhere), [(0, "PC0208")]);
    }

    #[test]
    fn a_missing_or_huge_main_file_is_no_program() {
        let folder = Folder::new("main", &[("huge.pipe", &"#".repeat(SOURCE_MAX + 1))]);
        let read = |name: &str| Loaded::read(&folder.0.join(name)).unwrap_err();
        assert_eq!(read("main.pipe").why, "file not found");
        assert!(read("main.pipe").help.unwrap().ends_with("contains `huge.pipe`"));
        assert_eq!(read("huge.pipe").why, "it has more than 1 MiB");
        assert_eq!(
            read("no/such.pipe").help.unwrap(),
            format!("cannot find the folder `{}`", folder.0.join("no").display())
        );
    }
}
