//! What files hold, for who has no program yet: their format, fields and first records, and a program that reads them.

use crate::{
    session::{
        compile::{Settings, compile},
        compiled::Compiled,
        load::Loaded,
        machine,
    },
    tools::peek::{self, PeekOptions, StepPeek},
};
use compiler::{format::format, syntax};
use plan::Diagnostic;
use runtime::{Failure, storage};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};
use stdlib::{
    formats::Format,
    listing::{self, ListError, Listing, Pattern},
};

/// What is looked at.
#[derive(Debug, Clone)]
pub struct InspectOptions {
    /// Records that are shown.
    pub records: usize,
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Inspected {
    /// What was asked for.
    pub path: String,
    /// The format of the files.
    pub format: &'static str,
    /// Files of it.
    pub files: usize,
    /// Their bytes, where they were asked for.
    pub bytes: Option<u64>,
    /// Their records, where they are quickly counted.
    pub records: Option<u64>,
    /// Files of other kinds, by their extension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, usize>,
    /// A program that reads them.
    pub program: String,
    /// The first records, as the program has them.
    pub first: Option<StepPeek>,
    /// Why there are none, where they cannot be read.
    pub failure: Option<String>,
}

/// Why nothing was found: what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Whether files could not be read.
    pub is_io: bool,
}

/// Records that are looked into, where they say their own fields.
const LOOKED_INTO: usize = 64;
/// What `run --out` writes about a folder.
const OUTPUT: &str = "pipec.json";
/// Files that are looked into to know what they hold.
const CONTENTS_MAX: usize = 16;
/// Files whose sizes are asked for.
const SIZES_MAX: usize = 100_000;
/// Bytes of files that are read to count their records.
const COUNTED_MAX: u64 = 256 << 20;

/// Looks at a file, a folder, or what a pattern stands for.
///
/// # Errors
/// There are no files, none of them is of a known format, or they cannot be listed.
pub fn inspect(path: &str, options: &InspectOptions) -> Result<Inspected, InspectError> {
    let found = Found::at(path)?;
    let bytes = found.bytes();
    let mut source = found.format.source(&found.pattern);
    let mut inspected = Inspected {
        path: path.to_owned(),
        format: found.format.name,
        files: found.files,
        bytes,
        records: None,
        others: found.others,
        program: program(&source, None),
        first: None,
        failure: None,
    };
    let mut look = || -> Result<(), String> {
        let mut compiled = compiled(&inspected.program)?;
        let columns: Vec<&str> = compiled.written.output().iter().map(|it| &*it.name).collect();
        if let Some(naming) = found.format.source_naming(&found.pattern, &columns) {
            source = naming;
            inspected.program = program(&source, None);
            compiled = self::compiled(&inspected.program)?;
        }
        if bytes.is_some_and(|it| it <= COUNTED_MAX) {
            // Who asks for any order must know how many there are.
            let any = self::compiled(&program(&format!("{source} |> shuffle"), None));
            inspected.records = any.ok().and_then(|it| count(&it));
        }
        let fields = match found.format.looked_into() {
            Some(field) => found.format.fields(&looked_into(&compiled, field)?, false),
            None => found.format.fields(&[], found.has_folders),
        };
        let compiled = match fields {
            Some(fields) => {
                inspected.program = program(&source, Some(&fields));
                self::compiled(&inspected.program)?
            }
            None => compiled,
        };
        inspected.first = last(&compiled, options.records)?;
        Ok(())
    };
    inspected.failure = look().err();
    Ok(inspected)
}

/// Files of one format, and how many there are of others.
struct Found {
    pattern: String,
    format: &'static Format,
    files: usize,
    others: BTreeMap<String, usize>,
    listing: Listing,
    /// Whether they lie in several folders, as classes do.
    has_folders: bool,
}

impl Found {
    fn at(path: &str) -> Result<Self, InspectError> {
        let is_folder = || {
            let of = Path::new(path);
            storage::of(of).stat(of).is_ok_and(|it| it.kind == storage::Kind::Folder)
        };
        let plain = path.trim_end_matches('/');
        let is_pattern = path.contains(['*', '?', '{', '[']);
        match !is_pattern && is_folder() {
            true => Self::below(plain),
            false => Self::of_pattern(path),
        }
    }

    /// The files that a pattern stands for; of one file it is its name.
    fn of_pattern(pattern: &str) -> Result<Self, InspectError> {
        let listing = listed(pattern)?;
        let mut first = String::new();
        listing.path(0, &mut first);
        let format = match Format::of_name(&first) {
            Some((format, _)) => Some(format),
            None => Format::of_bytes(Path::new(&first)).map_err(|it| unreadable(&first, &it))?,
        };
        let format = of_contents(format.ok_or_else(|| unknown(&first))?, &listing)?;
        let (files, pattern) = (listing.len(), pattern.to_owned());
        let has_folders = listing.classes().len() > 1;
        Ok(Self { pattern, format, files, others: BTreeMap::new(), listing, has_folders })
    }

    /// The files in a folder, of the format that most of them have.
    fn below(folder: &str) -> Result<Self, InspectError> {
        let listing = listed(&format!("{folder}/**"))?;
        let (mut kinds, mut others) = (BTreeMap::<&str, Kind>::new(), BTreeMap::new());
        let (mut key, mut is_output) = (String::new(), false);
        for i in 0..listing.len() {
            let name = listing.name(i);
            // Beside what `run --out` writes lies what it says of that.
            listing.key(i, &mut key);
            is_output |= key == OUTPUT;
            if name.starts_with("pipec.") {
                continue;
            }
            let Some((format, extension)) = Format::of_name(name) else {
                *others.entry(extension_of(name)).or_default() += 1;
                continue;
            };
            let kind = kinds.entry(format.name).or_insert_with(|| Kind::new(format));
            kind.files += 1;
            *kind.extensions.entry(extension.to_owned()).or_default() += 1;
            kind.is_deep |= key.contains('/');
        }
        // Beside data lie texts that say what they are.
        let most = kinds.values().max_by_key(|it| (!it.format.is_prose, it.files));
        let most = most.map(|it| it.format.name);
        let kind = most.and_then(|it| kinds.remove(it)).ok_or_else(|| {
            let mut first = String::new();
            listing.path(0, &mut first);
            unknown(&first)
        })?;
        for (extension, files) in kinds.into_values().flat_map(|it| it.extensions) {
            *others.entry(format!(".{extension}")).or_default() += files;
        }
        let Kind { format, files, extensions, is_deep } = kind;
        // The case of an extension does not matter to a pattern.
        let mut all: Vec<String> = extensions.into_keys().map(|it| it.to_lowercase()).collect();
        all.dedup();
        let extension = match &all[..] {
            [one] => one.clone(),
            all => format!("{{{}}}", all.join(",")),
        };
        let deep = if is_deep { "**/" } else { "" };
        let name = if is_output { "[0-9]*" } else { "*" };
        let pattern = format!("{folder}/{deep}{name}.{extension}");
        let listing = listed(&pattern)?;
        let format = of_contents(format, &listing)?;
        let has_folders = listing.classes().len() > 1;
        Ok(Self { pattern, format, files, others, listing, has_folders })
    }

    fn bytes(&self) -> Option<u64> {
        let mut bytes = 0;
        let is_few = self.listing.len() <= SIZES_MAX;
        is_few.then(|| self.listing.each_file(&mut |_, it| bytes += it.bytes).ok())??;
        Some(bytes)
    }
}

/// Files of one format in a folder.
struct Kind {
    format: &'static Format,
    files: usize,
    extensions: BTreeMap<String, usize>,
    is_deep: bool,
}

impl Kind {
    fn new(format: &'static Format) -> Self {
        Self { format, files: 0, extensions: BTreeMap::new(), is_deep: false }
    }
}

fn listed(pattern: &str) -> Result<Listing, InspectError> {
    let parsed = Pattern::parse(pattern).map_err(|it| InspectError {
        message: format!("`{pattern}` cannot be used: {}", it.message),
        help: Some(it.help),
        is_io: false,
    })?;
    listing::list(&parsed).map_err(|it| {
        let ListError { message, help, .. } = it;
        InspectError { message, help: Some(help), is_io: true }
    })
}

fn extension_of(name: &str) -> String {
    name.rsplit_once('.').map_or("no extension".to_owned(), |it| format!(".{}", it.1))
}

/// The format of listed files, as far as what they hold says more than their names.
fn of_contents(
    format: &'static Format,
    listing: &Listing,
) -> Result<&'static Format, InspectError> {
    let path = |number: usize| {
        let mut path = String::new();
        listing.path(number, &mut path);
        path
    };
    let paths = (0..listing.len().min(CONTENTS_MAX)).map(|it| PathBuf::from(path(it)));
    format.of_contents(paths).map_err(|it| unreadable(&path(0), &it))
}

fn unreadable(path: &str, why: &io::Error) -> InspectError {
    InspectError { message: format!("cannot read `{path}`: {why}"), help: None, is_io: true }
}

fn unknown(path: &str) -> InspectError {
    InspectError {
        message: format!("the format of `{path}` is not known"),
        help: Some(
            "`files` reads whole files, whatever they hold; `records` those of records of one size"
                .to_owned(),
        ),
        is_io: false,
    }
}

/// The text of a program; `pipec fmt` would leave it as it is.
fn program(source: &str, fields: Option<&str>) -> String {
    let steps = fields.map_or(String::new(), |it| format!(" |> map {{ {it} }}"));
    let edition = syntax::EDITIONS[syntax::EDITIONS.len() - 1];
    let text = format!("edition {edition}\npipeline data = {source}{steps}\n");
    format(&text).unwrap_or(text)
}

fn compiled(text: &str) -> Result<Compiled, String> {
    let loaded = Loaded::from_text(Path::new("inspect.pipe"), text.to_owned());
    compile(&loaded, &Settings::default()).map_err(|all| {
        let said = |it: &Diagnostic| match &it.help {
            Some(help) => format!("{}: {help}", it.message),
            None => it.message.clone(),
        };
        all.first().map_or_else(String::new, said)
    })
}

/// How many records there are, where the source says.
fn count(compiled: &Compiled) -> Option<u64> {
    let options = runtime::Options { workers: machine::cores(), ..runtime::Options::default() };
    let run = runtime::start(&compiled.program, &stdlib::Kernels, &options).ok()?;
    run.pass_lens().ok()?.first().copied().flatten()
}

/// Bytes that are enough for some records of whatever people have.
const MEMORY_MAX: u64 = 1 << 30;

/// How records are looked at, of files that may say anything of their size.
fn within_bounds() -> PeekOptions {
    let memory = machine::default_memory().min(MEMORY_MAX);
    PeekOptions { memory, whole_process: true, ..PeekOptions::default() }
}

/// What the first records have in a field.
fn looked_into(compiled: &Compiled, field: &str) -> Result<Vec<Vec<u8>>, String> {
    let options = PeekOptions { records: LOOKED_INTO, ..within_bounds() };
    let mut found = Vec::new();
    let looked = peek::peek(compiled, &options, &mut |_| (), &mut |looked| {
        let Some(at) = looked.fields.iter().position(|it| it.name == field) else { return };
        found = looked.records.iter().map(|it| it.columns[at].row(0).as_text().to_vec()).collect();
    });
    looked.map_err(|it: Failure| it.to_string())?;
    Ok(found)
}

/// The first records that leave the last step.
fn last(compiled: &Compiled, records: usize) -> Result<Option<StepPeek>, String> {
    let at = peek::step_names(compiled).pop();
    let options = PeekOptions { records, at, ..within_bounds() };
    let mut found = None;
    let looked =
        peek::peek(compiled, &options, &mut |_| (), &mut |looked| found = Some(looked.peek));
    looked.map(|()| found).map_err(|it| it.to_string())
}
