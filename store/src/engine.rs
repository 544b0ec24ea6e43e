//! The threads that talk to stores: started with the first request, gone a while after the last.
//!
//! A process that was forked has its own: neither the threads nor what was agreed over a connection came with it.

use crate::{
    listing::Soon,
    services::{Bucket, Service},
};
use runtime::storage::{ReadError, is_given_up};
use std::{
    collections::HashMap,
    io, process,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::{Notify, OnceCell, Semaphore},
    task::JoinHandle,
    time::sleep,
};

/// Requests that are under way at a time, of all stores.
pub(crate) const REQUESTS_MAX: usize = 256;

/// Bytes of bodies that have come, or are coming, and lie nowhere yet.
pub(crate) const BYTES_MAX: usize = 256 << 20;

/// How long connections are kept for the next request.
const LINGER: Duration = Duration::from_secs(2);

/// How often who waits looks whether the run goes on.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// Threads that look up names, which the system can do only while one waits.
const NAME_THREADS: usize = 4;

/// Cores for which there is one thread. A request costs one about 80 µs besides its bytes (profile of 10,000 objects of
/// 110 kB), and a core decodes a thousand pictures a second.
const CORES_PER_THREAD: usize = 8;

/// The threads, and what they know.
pub(crate) struct Engine {
    pub(crate) handle: Handle,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) bytes: Arc<Semaphore>,
    buckets: Mutex<HashMap<String, Arc<OnceCell<Bucket>>>>,
    pub(crate) soon: Mutex<Soon>,
    stop: Notify,
    process: u32,
}

/// The threads, and who uses them.
struct Running {
    engine: Arc<Engine>,
    users: usize,
    /// How often they were used.
    uses: u64,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// A use of the threads: they live at least as long.
pub(crate) struct Use(Arc<Engine>);

impl Engine {
    /// The threads; they are started where there are none.
    pub(crate) fn get() -> io::Result<Use> {
        let mut slot = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_parent) = slot.take_if(|it| it.engine.process != process::id()) {
            // What it holds belongs to threads that are not in this process.
            std::mem::forget(of_parent);
        }
        let running = match &mut *slot {
            Some(running) => running,
            None => slot.insert(Running { engine: Self::start()?, users: 0, uses: 0 }),
        };
        running.users += 1;
        running.uses += 1;
        Ok(Use(running.engine.clone()))
    }

    fn start() -> io::Result<Arc<Self>> {
        // The one of the process may have been set by whoever loaded this library: then that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (said, heard) = mpsc::sync_channel(1);
        let body = move || {
            let n_cores = thread::available_parallelism().map_or(1, usize::from);
            let runtime = Builder::new_multi_thread()
                .worker_threads(n_cores.div_ceil(CORES_PER_THREAD))
                .enable_all()
                .max_blocking_threads(NAME_THREADS)
                .thread_keep_alive(LINGER)
                .thread_name("pipec-store")
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(said.send(Err(error))),
            };
            let engine = Arc::new(Self {
                handle: runtime.handle().clone(),
                requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
                bytes: Arc::new(Semaphore::new(BYTES_MAX)),
                buckets: Mutex::default(),
                soon: Mutex::default(),
                stop: Notify::new(),
                process: process::id(),
            });
            let _ = said.send(Ok(engine.clone()));
            runtime.block_on(engine.stop.notified());
        };
        thread::Builder::new().name("pipec-stores".to_owned()).spawn(body)?;
        heard.recv().map_err(|_| io::Error::other("the threads for stores ended"))?
    }

    /// The bucket, or the server, of that name; it is opened where it was not yet.
    pub(crate) async fn bucket(
        &self,
        service: &'static Service,
        (scheme, authority): (&str, &str),
    ) -> io::Result<Bucket> {
        let cell = {
            let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(format!("{scheme}://{authority}")).or_default().clone()
        };
        cell.get_or_try_init(|| service.open(scheme, authority)).await.cloned()
    }
}

impl Use {
    /// Does what needs the threads, and waits for it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        of: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let (said, heard) = mpsc::sync_channel(1);
        let _task = Tasks(vec![self.0.handle.spawn(async move {
            let _ = said.send(of.await);
        })]);
        next(&heard)?.unwrap_or_else(|| Err(lost()))
    }

    /// The threads.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut slot = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = slot.as_mut().filter(|it| Arc::ptr_eq(&it.engine, &self.0)) else {
            return;
        };
        running.users -= 1;
        if running.users > 0 {
            return;
        }
        let (engine, uses) = (self.0.clone(), running.uses);
        drop(slot);
        self.0.handle.spawn(async move {
            sleep(LINGER).await;
            let mut slot = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            let is_idle = |it: &mut Running| {
                Arc::ptr_eq(&it.engine, &engine) && it.users == 0 && it.uses == uses
            };
            if slot.take_if(is_idle).is_some() {
                engine.stop.notify_one();
            }
        });
    }
}

/// What comes next; none after the last.
pub(crate) fn next<T>(heard: &mpsc::Receiver<T>) -> io::Result<Option<T>> {
    loop {
        match heard.recv_timeout(PATIENCE) {
            Ok(it) => return Ok(Some(it)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) if is_given_up() => return Err(given_up()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// What nobody sees: the run is over.
pub(crate) fn given_up() -> io::Error {
    io::Error::other("the run was stopped")
}

/// The threads have ended meanwhile.
pub(crate) fn lost() -> io::Error {
    io::Error::other("a request to the store ended without an answer")
}

/// What is under way; it ends with this.
pub(crate) struct Tasks(pub(crate) Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// A failure that may be told of several requests.
pub(crate) fn again(error: &ReadError) -> ReadError {
    match error {
        ReadError::NoFile => ReadError::NoFile,
        ReadError::Changed => ReadError::Changed,
        ReadError::TooLarge(bytes) => ReadError::TooLarge(*bytes),
        ReadError::Io(error) => ReadError::Io(io::Error::new(error.kind(), error.to_string())),
    }
}
