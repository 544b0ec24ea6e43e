//! Built files: an executable that carries a compiled program, and needs nothing else.
//!
//! Such a file is a copy of the running executable whose marker is set, then the program, then a
//! footer of fixed size (`built/footer.rs`). What is written depends on the program's text, its
//! parameters, this executable and the processor that its arithmetic is compiled for. What is read may come from anybody: every length is
//! checked before room is made for it, and the program before any of it is used.

mod footer;
pub(crate) mod marker;
mod outside;
mod own;

pub use outside::{calls_python, needs_python};
pub use own::begun_as;
pub(crate) use own::own_executable;

use crate::session::{
    compile::Settings,
    compiled::Compiled,
    load::{Loaded, SourceFile},
};
use compiler::{syntax, verify};
use footer::Footer;
use plan::{Ahead, File, FileId};
use runtime::{OwnCode, Prepared};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// This version of pipec.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the executable that runs is called, whatever became of its name.
pub const RUNNING: &str = "/proc/self/exe";
/// Bytes of a program with its texts and the files that it names.
const CONTENT_MAX: u64 = 256 << 20;

/// A program as a built file carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Built {
    /// The version of pipec that built it.
    pub pipec: String,
    /// The values that were given for `param`s.
    pub params: BTreeMap<String, String>,
    /// The passes that were left out.
    pub without: Vec<String>,
    /// The program: what is run is this, it is not compiled again.
    pub compiled: Compiled,
    /// Its arithmetic, compiled for one kind of processor; it is run by the file itself alone.
    pub code: Option<Ahead>,
    /// The files that its arguments name, each once.
    pub attached: Vec<Attached>,
}

/// What a file holds that the program names: run elsewhere, it need not be there.
#[derive(Debug, Clone, PartialEq)]
pub struct Attached(File);

/// Why a file that should hold a program is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing says that it is a built file.
    NotBuilt,
    /// It was built, and what was appended to the executable is not there any more.
    Gone,
    /// Bytes are missing or differ from those that were written.
    Damaged(String),
    /// It was made by a pipec of this version, whose format is newer than ours.
    Newer(String),
    /// It was made by a pipec of this version, whose format we do not read any more.
    Older(String),
    /// It is as it was written, and no compiler wrote that.
    Unsound(String),
    /// The file cannot be read.
    Unreadable(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => write!(f, "it was not made by `pipec build`"),
            Self::Gone => {
                write!(f, "its program is missing, for example after `strip` or a truncated copy")
            }
            Self::Damaged(why) => write!(f, "it is damaged: {why}"),
            Self::Newer(by) => {
                write!(f, "it was built by pipec {by}, but this is the older {VERSION}")
            }
            Self::Older(by) => {
                write!(f, "it was built by pipec {by}, whose programs pipec {VERSION} cannot read")
            }
            Self::Unsound(why) => write!(f, "its program is inconsistent: {why}"),
            Self::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// What to do, where something can be said.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotBuilt | Self::Unreadable(_) => return None,
            Self::Gone => {
                "build it again with `pipec build`; to make it smaller, strip `pipec` itself first"
            }
            Self::Damaged(_) => "copy it again, or build it again with `pipec build`",
            Self::Newer(_) | Self::Older(_) => {
                "run the file itself, which contains its own pipec, or build it again from the \
                 source"
            }
            Self::Unsound(_) => {
                "it was not made by `pipec build`, or by another pipec; build it again from the \
                 source"
            }
        })
    }
}

impl Built {
    /// `compiled`, which was made with these settings.
    pub fn new(compiled: Compiled, settings: &Settings) -> Self {
        compiled.check_constants().expect("what is built was compiled to be run");
        Self {
            pipec: VERSION.to_owned(),
            params: settings.params.clone(),
            without: settings.without.clone(),
            attached: attached(&compiled),
            compiled: Compiled { warnings: Vec::new(), constants: Vec::new(), ..compiled },
            code: None,
        }
    }

    /// The same with its arithmetic compiled for the processor `cpu`, of those that
    /// [`runtime::processors`] names; for this machine's if not said, as far as that can be done here.
    ///
    /// # Errors
    /// Why nothing can be compiled for it.
    pub fn compiled_for(self, cpu: Option<&str>) -> Result<Self, String> {
        let native = runtime::processors().into_iter().next();
        let Some(name) = cpu.map(str::to_owned).or(native) else { return Ok(self) };
        let code = match runtime::precompile(&self.compiled.program, &name) {
            Ok(code) => Some(code).filter(|it| !it.loops.is_empty()),
            Err(_) if cpu.is_none() => None,
            Err(why) => return Err(why),
        };
        Ok(Self { code, ..self })
    }

    /// What is appended to the executable: the program and the footer.
    ///
    /// # Errors
    /// The program is larger than a built file can be, or is one that would not be read again.
    pub fn trailer(&self) -> Result<Vec<u8>, Refusal> {
        let mut bytes =
            postcard::to_allocvec(self).map_err(|it| Refusal::Unsound(it.to_string()))?;
        if bytes.len() as u64 > CONTENT_MAX {
            let (len, most) = (bytes.len() >> 20, CONTENT_MAX >> 20);
            return Err(Refusal::Unsound(format!("it has {len} MiB, but the limit is {most}")));
        }
        let footer = Footer::of(&bytes);
        bytes.extend(footer.bytes());
        // What would be refused later is better refused now.
        Self::read(&bytes)?;
        Ok(bytes)
    }

    /// Reads a built file, all of whose bytes are given; what stands before its program is not looked at.
    ///
    /// # Errors
    /// Why it is not run. No bytes make it panic, or take much more memory than they have themselves.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let Some((front, footer)) = Footer::split(bytes) else {
            return Err(if marker::is_set_in(bytes) { Refusal::Gone } else { Refusal::NotBuilt });
        };
        let start = footer.start(front.len() as u64)?;
        let start = usize::try_from(start).expect("it lies within the bytes");
        Self::of_content(&footer, &front[start..])
    }

    /// Reads the built file at `path`; gives none where that is no built file.
    ///
    /// # Errors
    /// It is one, or was, and is not run.
    pub fn open(path: &Path) -> Result<Option<Self>, Refusal> {
        // What cannot be opened, or is a pipe, is told about by whoever reads it as text.
        let Ok(mut file) = safe_file::open(path) else { return Ok(None) };
        match from_file(&mut file) {
            Err(Refusal::NotBuilt) => Ok(None),
            read => read.map(|it| Some(it.prepared(is_running(&file)))),
        }
    }

    /// The same with its machine code to be run, if it `is_running`: what is in another file may be
    /// anything, and nothing that can be checked would say so.
    fn prepared(mut self, is_running: bool) -> Self {
        self.compiled.prepared = match self.code.take() {
            None => Prepared::Nothing,
            // SAFETY: the code lies in the executable that is running, which whoever began it trusts as
            // much as its instructions; it was written there by `pipec build`, with the program and a
            // checksum of both.
            Some(code) if is_running => Prepared::Own(unsafe { OwnCode::new(code) }),
            Some(code) => {
                let why = "another executable is running, which uses only its own code";
                Prepared::Foreign { cpu: code.cpu, why: why.to_owned() }
            }
        };
        self
    }

    /// The program's texts, read again: for showing them.
    pub fn loaded(&self) -> Loaded {
        let files = self.compiled.files.clone();
        let tree = |(number, it): (u16, &SourceFile)| syntax::parse(&it.text, FileId(number)).0;
        let trees = (0..).zip(&files).map(tree).collect();
        Loaded { files, trees, imports: BTreeMap::new(), diagnostics: Vec::new() }
    }

    fn of_content(footer: &Footer, content: &[u8]) -> Result<Self, Refusal> {
        footer.check(content)?;
        let unsound = |it: postcard::Error| Refusal::Unsound(it.to_string());
        let (built, rest) = postcard::take_from_bytes::<Self>(content).map_err(unsound)?;
        if !rest.is_empty() {
            return Err(Refusal::Unsound(format!("{} bytes follow it", rest.len())));
        }
        built.attach().map_err(Refusal::Unsound)?;
        built.verify().map_err(Refusal::Unsound)?;
        Ok(built)
    }

    /// Gives the files that it names their contents.
    fn attach(&self) -> Result<(), String> {
        let known: HashMap<[u8; 16], &File> =
            self.attached.iter().map(|Attached(it)| (it.hash(), it)).collect();
        let missing = |it: &File| format!("it lacks the contents of `{}`", it.path());
        files(&self.compiled).try_for_each(|it| match known.get(&it.hash()) {
            Some(found) => it.fill(found),
            None => Err(missing(it)),
        })
    }

    /// Whether nothing in it can mislead whoever runs or explains it.
    fn verify(&self) -> Result<(), String> {
        let Compiled { written, optimised, program, files, .. } = &self.compiled;
        let library = stdlib::library();
        verify::verify_stored(written, &library)?;
        verify::verify_stored(&optimised.plan, &library)?;
        verify::verify_program(program, &library)?;
        let estimate = &optimised.estimate;
        let n_steps = optimised.plan.ops.len();
        if estimate.steps.len() != n_steps || estimate.bottleneck >= n_steps {
            return Err("its estimate belongs to another program".into());
        }
        if files.is_empty() || u16::try_from(files.len()).is_err() {
            return Err(format!("it has {} texts", files.len()));
        }
        if optimised.plan.ops[optimised.plan.root].output != program.output {
            return Err("its plan belongs to another program".into());
        }
        match &self.compiled.lock {
            Some(lock) if !lock.is_of(&self.compiled) => {
                Err("its lock file belongs to another program".into())
            }
            Some(lock) => lock.flaw().map_or(Ok(()), |it| Err(format!("its lock file has {it}"))),
            None => Ok(()),
        }
    }
}

/// The files that a program names, as often as it does.
fn files(compiled: &Compiled) -> impl Iterator<Item = &File> {
    let Compiled { written, optimised, program, .. } = compiled;
    written.files().chain(optimised.plan.files()).chain(program.files())
}

/// The same, each once, in an order that follows from their contents.
fn attached(compiled: &Compiled) -> Vec<Attached> {
    let all: BTreeMap<[u8; 16], &File> = files(compiled).map(|it| (it.hash(), it)).collect();
    all.into_values().map(|it| Attached(it.clone())).collect()
}

impl Serialize for Attached {
    /// Its bytes.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0.bytes().unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Attached {
    /// A file with no name: those that name it have one.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        if bytes.len() as u64 > File::BYTES_MAX {
            return Err(de::Error::custom("a file is too large"));
        }
        Ok(Self(File::new("", bytes.to_vec())))
    }
}

/// Whether this executable was built, and has its program still; nothing is read where it was not.
///
/// # Errors
/// It was built, and its program is gone or damaged.
pub fn is_own() -> Result<bool, Refusal> {
    if !marker::is_set() {
        return Ok(false);
    }
    let mut file = own_executable().map_err(unreadable)?;
    match tail(&mut file)? {
        Some((footer, front)) => footer.start(front).map(|_| true),
        None => Err(Refusal::Gone),
    }
}

/// Whether a file was built, be it damaged or of another version.
pub(crate) fn was_built(path: &Path) -> io::Result<bool> {
    let mut file = safe_file::open(path)?;
    let tail = tail(&mut file).map_err(|it| io::Error::other(it.to_string()))?;
    Ok(tail.is_some() || is_executable(&mut file)? && marker::find(&mut file, true)?.is_some())
}

/// Whether `file` is the executable that is running, under whatever name.
fn is_running(file: &fs::File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |it: &fs::File| it.metadata().ok().map(|it| (it.dev(), it.ino()));
        let own = own::running().ok().and_then(|it| place(&it));
        own.is_some() && place(file) == own
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

fn from_file(file: &mut fs::File) -> Result<Built, Refusal> {
    let Some((footer, front)) = tail(file)? else {
        let gone = is_executable(file).map_err(unreadable)?
            && marker::find(file, true).map_err(unreadable)?.is_some();
        return Err(if gone { Refusal::Gone } else { Refusal::NotBuilt });
    };
    let start = footer.start(front)?;
    file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    let mut content = Vec::new();
    file.take(front - start).read_to_end(&mut content).map_err(unreadable)?;
    Built::of_content(&footer, &content)
}

/// The footer of a file and how many bytes stand before it; none where its end is no footer.
fn tail(file: &mut fs::File) -> Result<Option<(Footer, u64)>, Refusal> {
    let len = file.metadata().map_err(unreadable)?.len();
    let Some(front) = len.checked_sub(footer::LEN as u64) else { return Ok(None) };
    let mut tail = [0; footer::LEN];
    file.seek(SeekFrom::Start(front)).map_err(unreadable)?;
    file.read_exact(&mut tail).map_err(unreadable)?;
    Ok(Footer::split(&tail).map(|(_, footer)| (footer, front)))
}

/// Whether a file begins as executables of some system do: ELF, Mach-O, PE.
fn is_executable(file: &mut fs::File) -> io::Result<bool> {
    const BEGINNINGS: [&[u8]; 3] = [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ"];
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(4).read_to_end(&mut start)?;
    Ok(BEGINNINGS.iter().any(|it| start.starts_with(it)))
}

fn unreadable(error: io::Error) -> Refusal {
    Refusal::Unreadable(format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests;
