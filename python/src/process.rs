//! Processes of Python that call functions, and read sources, in the place of this one: as many calls at a time as there
//! are processes, and nobody waits for this one's GIL.
//!
//! A process gets what it is to do over a socket, as JSON with its length before it; values lie in
//! memory that both have (`memfd_create(2)`: it has no name, and goes with the last of them). They are
//! written to and read from it as a file is, so that no process sees another one change what it looks
//! at. `python/pipec/_process.py` is the other side.

use plan::DType;
use runtime::{Fault, Scratch, Shape, Tensor};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, IoSlice, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::FileExt, net::UnixStream, process::ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Values lie at multiples of so many bytes.
const ALIGNED: usize = 64;
/// Bytes of an answer at the most: it tells of a value, or of an error and where it was raised.
const ANSWER_MAX: usize = 1 << 20;
/// How long a process may take to end once nobody needs it.
const PATIENCE: Duration = Duration::from_millis(500);

/// What the other side begins with: the modules are found where this process finds them.
const BEGIN: &str = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); \
     from pipec._process import serve; serve()";

/// How a process of Python is started.
#[derive(Debug, Clone)]
pub(crate) struct Interpreter {
    pub(crate) executable: String,
    /// `sys.path`, as JSON.
    pub(crate) path: String,
}

/// A function or a source as a process finds it.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) name: String,
    pub(crate) way: Way,
    /// What a source is made with, as JSON; none of a function.
    pub(crate) made_with: Option<String>,
}

/// Where it comes from.
#[derive(Debug)]
pub(crate) enum Way {
    /// `module:function`, which is imported.
    Target(String),
    /// As `pickle` has written it.
    Pickle(Vec<u8>),
}

/// What went wrong in a process.
#[derive(Debug, Deserialize)]
pub(crate) struct Raised {
    /// The kind of the exception and what it says.
    pub(crate) error: String,
    /// Where it was raised.
    #[serde(default)]
    pub(crate) trace: String,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Wrong {
    Raised(Raised),
    /// The process cannot be started, has ended, or answers what cannot be.
    Lost(String),
    /// What was given is refused.
    Refused(Fault),
}

/// Records that are asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Asked<'a> {
    pub(crate) numbers: &'a [u64],
    /// Of each field its name, its dtype, its place among those that are declared, and its type as it is written.
    pub(crate) fields: &'a [(String, &'static str, usize, String)],
    /// Fields that are declared.
    pub(crate) declared: usize,
    /// Whether one that fails is passed over; else it is the last.
    pub(crate) all: bool,
}

/// A record: its values, in the order of the fields, or what is wrong with it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Record {
    Values(Vec<Placed>),
    Raised(Raised),
    Refused {
        /// What is wrong.
        wrong: String,
    },
}

/// Processes, each of which makes one call at a time.
#[derive(Debug)]
pub(crate) struct Processes {
    most: usize,
    python: Interpreter,
    pool: Mutex<Pool>,
    back: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Process>,
    /// All that there are.
    n: usize,
}

impl Processes {
    /// At most so many; each is started when it is needed first.
    pub(crate) fn new(most: usize, python: Interpreter) -> Self {
        Self { most, python, pool: Mutex::default(), back: Condvar::new() }
    }

    /// How many there are at the most.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Has the function found by a process.
    pub(crate) fn find(&self, recipe: &Arc<Recipe>) -> Result<(), Wrong> {
        self.with(|process| process.ask(recipe, Wanted::Found, &[]).map(drop))
    }

    /// Calls a function, which is to give elements of `dtype`, and hands what it gives to `take`; the
    /// processor time that the process has used for it.
    pub(crate) fn call(
        &self,
        recipe: &Arc<Recipe>,
        (dtype, seed): (DType, Option<u64>),
        args: &[Tensor<'_>],
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> Result<Duration, Wrong> {
        self.with(|process| {
            let answer = process.ask(recipe, Wanted::Called(dtype, seed), args)?;
            process.given(&answer)?;
            take(&process.result.tensor()).map_err(Wrong::Refused)?;
            Ok(Duration::from_nanos(answer.cpu))
        })
    }

    /// Reads records of a source: hands each to `take`, with what copies a value of it; the processor time that the process
    /// has used for it.
    pub(crate) fn read(
        &self,
        recipe: &Arc<Recipe>,
        asked: &Asked<'_>,
        take: &mut dyn FnMut(Record, &Reader<'_>) -> io::Result<()>,
    ) -> Result<Duration, Wrong> {
        self.with(|process| {
            let answer = process.ask(recipe, Wanted::Records(asked), &[])?;
            let lost = |error| {
                Wrong::Lost(format!("a Python process returned an invalid record: {error}"))
            };
            let records = process.records(&answer).map_err(lost)?;
            let reader = Reader(&process.memory);
            records.into_iter().try_for_each(|it| take(it, &reader)).map_err(lost)?;
            Ok(Duration::from_nanos(answer.cpu))
        })
    }

    /// Does something with a process of its own; one that is lost is not used again.
    fn with<T>(&self, work: impl FnOnce(&mut Process) -> Result<T, Wrong>) -> Result<T, Wrong> {
        let mut lent = Lent { process: self.taken(), from: self };
        let process = match &mut lent.process {
            Some(idle) => idle,
            none => none.insert(Process::start(&self.python).map_err(|error| {
                let told = format!("cannot start a Python process: {error}");
                Wrong::Lost(format!("{told} (`{}`)", self.python.executable))
            })?),
        };
        let done = work(process);
        if matches!(done, Err(Wrong::Lost(_))) {
            lent.process = None;
        }
        done
    }

    /// One that has nothing to do; none where another is to be started.
    fn taken(&self) -> Option<Process> {
        let mut pool = self.lock();
        loop {
            if let Some(idle) = pool.idle.pop() {
                return Some(idle);
            }
            if pool.n < self.most {
                pool.n += 1;
                return None;
            }
            let waited = runtime::await_another(|| self.back.wait(pool));
            pool = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn given_back(&self, process: Option<Process>) {
        let mut pool = self.lock();
        match process {
            Some(it) => pool.idle.push(it),
            None => pool.n -= 1,
        }
        drop(pool);
        self.back.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a process, which is given back whatever comes of the work: others may wait for it.
struct Lent<'a> {
    process: Option<Process>,
    from: &'a Processes,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // Where a panic has come between, nobody knows what it would answer next.
        let process = self.process.take().filter(|_| !thread::panicking());
        self.from.given_back(process);
    }
}

/// What a process is asked.
#[derive(Serialize)]
struct Question<'a> {
    /// The function's number in this process.
    function: usize,
    /// How it is found, where it was not asked for before.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    /// Bytes of what `pickle` has written, which stand before the values.
    pickle: usize,
    /// What a source is made with, where it was not asked for before.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_with: Option<&'a str>,
    /// What its declaration says that it gives; none where it is not called.
    dtype: Option<&'static str>,
    seed: Option<u64>,
    args: Vec<Placed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<&'a Asked<'a>>,
}

/// What is to be done with what a recipe finds.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Found,
    /// It gives elements of this dtype, and draws from this number.
    Called(DType, Option<u64>),
    Records(&'a Asked<'a>),
}

/// Where the values of records are.
pub(crate) struct Reader<'a>(&'a File);

impl Reader<'_> {
    /// Bytes that are there.
    pub(crate) fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |it| it.len())
    }

    /// Copies so many bytes of a value.
    pub(crate) fn read(&self, room: &mut [u8], of: &Placed) -> io::Result<()> {
        self.0.read_exact_at(room, of.at as u64)
    }
}

/// A value in the memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    #[serde(default)]
    at: usize,
}

/// What it answers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Done(Answer),
    Failed(Raised),
}

#[derive(Deserialize)]
struct Answer {
    /// What the function gave, at the begin of the memory; none where none was called.
    given: Option<Placed>,
    /// Where it tells of the records that were read: the first byte and how many, JSON.
    records: Option<(usize, usize)>,
    /// Nanoseconds of processor time.
    cpu: u64,
}

/// A process.
#[derive(Debug)]
struct Process {
    child: Child,
    socket: UnixStream,
    memory: File,
    /// The functions that it has found, by their numbers.
    known: Vec<Arc<Recipe>>,
    bytes: Vec<u8>,
    result: Scratch,
}

impl Process {
    fn start(python: &Interpreter) -> io::Result<Self> {
        let memory = memory()?;
        let (socket, other) = UnixStream::pair()?;
        let child = Command::new(&python.executable)
            .args(["-c", BEGIN, &python.path])
            .stdin(Stdio::from(OwnedFd::from(other)))
            .spawn()?;
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut room);
        let handed = [memory.as_fd()];
        beside.push(SendAncillaryMessage::ScmRights(&handed));
        sendmsg(&socket, &[IoSlice::new(b"m")], &mut beside, SendFlags::empty())?;
        let (memory, known) = (File::from(memory), Vec::new());
        Ok(Self { child, socket, memory, known, bytes: Vec::new(), result: Scratch::new() })
    }

    /// Has a function or a source found, and called or read where that is wanted; waits for the answer.
    fn ask(
        &mut self,
        recipe: &Arc<Recipe>,
        wanted: Wanted<'_>,
        args: &[Tensor<'_>],
    ) -> Result<Answer, Wrong> {
        let name = &recipe.name;
        let asked = self.asked(recipe, wanted, args).and_then(|()| self.heard());
        let heard = asked.map_err(|error| Wrong::Lost(self.lost(name, &error)))?;
        match serde_json::from_slice(&heard) {
            Ok(Reply::Done(answer)) => {
                if self.number(recipe).is_none() {
                    self.known.push(recipe.clone());
                }
                Ok(answer)
            }
            Ok(Reply::Failed(raised)) => Err(Wrong::Raised(raised)),
            Err(error) => {
                Err(Wrong::Lost(format!("the process that calls `{name}` replied: {error}")))
            }
        }
    }

    fn number(&self, recipe: &Arc<Recipe>) -> Option<usize> {
        self.known.iter().position(|it| Arc::ptr_eq(it, recipe))
    }

    fn asked(
        &mut self,
        recipe: &Arc<Recipe>,
        wanted: Wanted<'_>,
        args: &[Tensor<'_>],
    ) -> io::Result<()> {
        self.bytes.clear();
        let known = self.number(recipe);
        let (mut target, mut pickle) = (None, 0);
        match &recipe.way {
            _ if known.is_some() => {}
            Way::Target(it) => target = Some(it.as_str()),
            Way::Pickle(it) => {
                self.bytes.extend(it);
                pickle = it.len();
            }
        }
        let mut placed = Vec::with_capacity(args.len());
        for arg in args {
            let at = self.bytes.len().next_multiple_of(ALIGNED);
            self.bytes.resize(at + arg.bytes(), 0);
            arg.copy_to(&mut self.bytes[at..]);
            let shape =
                if arg.dtype().is_text() { vec![arg.bytes()] } else { arg.shape().to_vec() };
            placed.push(Placed { dtype: arg.dtype().name().to_owned(), shape, at });
        }
        self.memory.write_all_at(&self.bytes, 0)?;
        let function = known.unwrap_or(self.known.len());
        let (dtype, seed, records) = match wanted {
            Wanted::Found => (None, None, None),
            Wanted::Called(dtype, seed) => (Some(dtype.name()), seed, None),
            Wanted::Records(asked) => (None, None, Some(asked)),
        };
        let made_with = recipe.made_with.as_deref().filter(|_| known.is_none());
        let args = placed;
        let question = Question { function, target, pickle, made_with, dtype, seed, args, records };
        let text = serde_json::to_vec(&question)?;
        let mut message = (text.len() as u32).to_le_bytes().to_vec();
        message.extend(text);
        self.socket.write_all(&message)
    }

    fn heard(&mut self) -> io::Result<Vec<u8>> {
        let mut len = [0; 4];
        self.socket.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len) as usize;
        if len > ANSWER_MAX {
            return Err(io::Error::other("its reply is too long"));
        }
        let mut text = vec![0; len];
        self.socket.read_exact(&mut text)?;
        Ok(text)
    }

    /// What it tells of the records that it has read.
    fn records(&mut self, answer: &Answer) -> io::Result<Vec<Record>> {
        let (at, len) = answer.records.ok_or_else(|| io::Error::other("it tells of none"))?;
        // What is not there is not made room for.
        if (at as u64).saturating_add(len as u64) > self.memory.metadata()?.len() {
            return Err(io::Error::other("it tells of what is not there"));
        }
        self.bytes.resize(len, 0);
        self.memory.read_exact_at(&mut self.bytes, at as u64)?;
        Ok(serde_json::from_slice(&self.bytes)?)
    }

    /// Fetches what the function gave.
    fn given(&mut self, answer: &Answer) -> Result<(), Wrong> {
        let wrong = |told: &str| Wrong::Lost(format!("a Python process returned {told}"));
        let Some(Placed { dtype, shape, .. }) = &answer.given else {
            return Err(wrong("nothing"));
        };
        let dtype = DType::named(dtype).ok_or_else(|| wrong("elements of an unknown dtype"))?;
        if shape.len() > runtime::MAX_RANK {
            return Err(Wrong::Refused(Fault::new(
                "python",
                format!("it returned an array with {} axes", shape.len()),
            )));
        }
        let room = self.result.claim(dtype, Shape::new(shape)).map_err(Wrong::Refused)?;
        self.memory.read_exact_at(room, 0).map_err(|it| wrong(&format!("an invalid value: {it}")))
    }

    /// Why it does not answer.
    fn lost(&mut self, name: &str, error: &io::Error) -> String {
        match self.ended(PATIENCE) {
            Some(status) => {
                let why = match status.signal() {
                    Some(9) => {
                        "was killed (signal 9), probably because the system ran out of memory"
                            .to_owned()
                    }
                    Some(11) => "crashed (signal 11, SIGSEGV)".to_owned(),
                    Some(signal) => format!("was terminated by signal {signal}"),
                    None => format!("exited ({status})"),
                };
                format!("the process that called `{name}` {why}")
            }
            None => format!("the process that calls `{name}` does not reply: {error}"),
        }
    }

    /// Waits for its end, so long.
    fn ended(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

/// Memory that other processes can have too.
#[cfg(target_os = "linux")]
fn memory() -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("pipec", MemfdFlags::CLOEXEC)?)
}

#[cfg(not(target_os = "linux"))]
fn memory() -> io::Result<OwnedFd> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "`processes=` requires Linux: remove it"))
}

impl Drop for Process {
    /// It ends when it reads that nobody asks any more.
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        if self.ended(PATIENCE).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
