//! Object stores and web servers: `s3://`, `gs://`, `az://`, `https://`, through the crate `object_store`.
//!
//! A service is an entry of `services`. All of them are read in the same way: few threads hold the connections
//! (`engine`), many requests are under way at a time, and what comes is put where the reader wants it by the thread
//! that asked (`bodies`). An object that is not what it was when it was listed is an error (`known`). Objects are written
//! as a whole, one request each (`written`).

mod bodies;
mod engine;
mod errors;
mod known;
mod listing;
mod profile;
mod services;
mod written;

use bytes::Bytes;
use engine::{Engine, REQUESTS_MAX, Tasks, lost, next};
use known::Known;
use object_store::{
    ListResult,
    list::{PaginatedListOptions, PaginatedListResult},
    path::Path as Key,
};
use runtime::storage::{
    self, Access, Ahead, Entries, Kind, Landing, Object, Request, Stat, Storage,
};
use services::{Client, SERVICES, Service};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};

/// From a request to its first byte, where nobody has measured it: about what the large services need from a machine
/// in their own data centre.
const LATENCY: Duration = Duration::from_millis(30);
/// Bytes a second of one connection, of such a service: 50 to 90 MB.
const BYTES_PER_SECOND: u64 = 60_000_000;

/// Attempts to read a page of a listing.
const PAGE_ATTEMPTS: usize = 4;

/// Lets the process read what lies in stores: paths that begin with the name of a service are those of the store.
///
/// Nothing is connected to before something is asked.
pub fn register() {
    for service in &SERVICES {
        let remote = Remote { service, known: Arc::new(Known::new()) };
        service.schemes.iter().for_each(|it| storage::register(it, Box::new(remote.clone())));
    }
}

/// What lies in stores of one service.
#[derive(Clone)]
struct Remote {
    service: &'static Service,
    known: Arc<Known>,
}

/// An object, or a folder, of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    /// All of it, without a `/` at the end.
    text: String,
    /// Where the name of the bucket or server begins, and where it ends.
    authority: (usize, usize),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let invalid = |it: &str| io::Error::new(io::ErrorKind::InvalidInput, it);
        let text = path.to_str().ok_or_else(|| invalid("names in stores are UTF-8"))?;
        let text = text.trim_end_matches('/').to_owned();
        let begin = text.find("://").map(|it| it + 3).filter(|it| *it < text.len());
        let begin = begin.ok_or_else(|| invalid("there is no bucket in its name"))?;
        let end = text[begin..].find('/').map_or(text.len(), |it| begin + it);
        Ok(Self { text, authority: (begin, end) })
    }

    /// What its path begins with, and the name of the bucket or server.
    fn place(&self) -> (&str, &str) {
        let (begin, end) = self.authority;
        (&self.text[..begin - 3], &self.text[begin..end])
    }

    /// The name within it; nothing is the bucket itself.
    fn name(&self) -> &str {
        self.text[self.authority.1..].trim_start_matches('/')
    }

    fn key(&self, service: &Service) -> io::Result<Key> {
        (service.key)(self.name())
            .map_err(|it| io::Error::new(io::ErrorKind::InvalidInput, it.to_string()))
    }

    /// What the names of all in the folder begin with.
    fn prefix(&self) -> String {
        match self.name() {
            "" => String::new(),
            name => format!("{name}/"),
        }
    }
}

impl Remote {
    /// Does something with the bucket of a target, and waits for it.
    fn ask<T: Send + 'static, F: Future<Output = io::Result<T>> + Send + 'static>(
        &self,
        target: &Target,
        of: impl FnOnce(Self, Arc<Engine>, Target) -> F,
    ) -> io::Result<T> {
        let used = Engine::get()?;
        used.wait(of(self.clone(), used.engine().clone(), target.clone()))
    }

    /// What is at a path that nobody has listed.
    async fn look(self, engine: Arc<Engine>, target: Target) -> io::Result<Stat> {
        if target.name().is_empty() {
            return Ok(FOLDER);
        }
        if !self.service.lists {
            return self.head(&engine, &target).await;
        }
        let (object, page) = futures_util::future::join(
            self.head(&engine, &target),
            self.page(&engine, &target, None, Some(1)),
        )
        .await;
        match (object, page) {
            (Ok(found), _) => Ok(found),
            (Err(_), Ok(page)) if !is_empty(&page.result) => Ok(FOLDER),
            // Who may not list is told that of what is missing.
            (Err(error), Ok(_)) => Err(error),
            (Err(object), Err(page)) => {
                Err(if object.kind() == io::ErrorKind::NotFound { page } else { object })
            }
        }
    }

    /// Some of what a folder holds, and where to go on.
    async fn page(
        &self,
        engine: &Engine,
        folder: &Target,
        page_token: Option<String>,
        most: Option<usize>,
    ) -> io::Result<PaginatedListResult> {
        let bucket = engine.bucket(self.service, folder.place()).await?;
        if !self.service.lists {
            return Err(unlisted());
        }
        let delimiter = Some("/".into());
        let options = PaginatedListOptions {
            delimiter,
            max_keys: most,
            page_token,
            ..PaginatedListOptions::default()
        };
        let prefix = folder.prefix();
        let prefix = Some(prefix.as_str()).filter(|it| !it.is_empty());
        let _turn = engine.requests.acquire().await;
        let mut attempts = 1;
        loop {
            let options = &options;
            let list = |it: Client| async move {
                let pages = it.pages.expect("the service lists");
                pages.list_paginated(prefix, options.clone()).await
            };
            match bucket.ask(list).await {
                // A page that ends early is not asked for again by those below.
                Err(error) if attempts < PAGE_ATTEMPTS && errors::is_cut(&error) => attempts += 1,
                page => return page.map_err(|it| errors::told(&it)),
            }
        }
    }
}

/// What is known of a folder: it holds something.
const FOLDER: Stat = Stat { kind: Kind::Folder, bytes: 0, tag: 0 };

fn unlisted() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "a web server does not say which files it has")
}

fn is_empty(found: &ListResult) -> bool {
    found.objects.is_empty() && found.common_prefixes.is_empty()
}

impl Storage for Remote {
    fn access(&self) -> Option<Access> {
        let bytes_per_second = Some(BYTES_PER_SECOND);
        Some(Access { latency: LATENCY, bytes_per_second, requests_max: REQUESTS_MAX })
    }

    fn lists(&self) -> bool {
        self.service.lists
    }

    fn list(&self, folder: &Path) -> io::Result<Entries<'_>> {
        let folder = Target::of(folder)?;
        if !self.service.lists {
            return Err(unlisted());
        }
        Ok(Box::new(listing::Pages::new(self, folder)?))
    }

    fn list_soon(&self, folders: &[PathBuf]) {
        if self.service.lists {
            listing::begin(self, folders.iter().filter_map(|it| Target::of(it).ok()));
        }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let target = Target::of(path)?;
        match self.known.stat(&target.text) {
            Some(known) => Ok(known),
            None => self.ask(&target, Self::look),
        }
    }

    fn stats(&self, paths: &[PathBuf], visit: &mut dyn FnMut(usize, io::Result<Stat>)) {
        let mut answers: Vec<Option<io::Result<Stat>>> = Vec::new();
        let mut open = Vec::new();
        for path in paths {
            let known = Target::of(path).map(|it| (self.known.stat(&it.text), it));
            answers.push(match known {
                Ok((Some(known), _)) => Some(Ok(known)),
                Ok((None, target)) => {
                    open.push((answers.len(), target));
                    None
                }
                Err(error) => Some(Err(error)),
            });
        }
        let used = match open.is_empty() {
            true => None,
            false => Some(Engine::get()),
        };
        if let Some(Ok(used)) = &used {
            let (said, heard) = mpsc::channel();
            let tasks = open.into_iter().map(|(number, target)| {
                let (remote, engine, said) = (self.clone(), used.engine().clone(), said.clone());
                used.engine().handle.spawn(async move {
                    let _ = said.send((number, remote.look(engine, target).await));
                })
            });
            let _tasks = Tasks(tasks.collect());
            drop(said);
            while let Ok(Some((number, found))) = next(&heard) {
                answers[number] = Some(found);
            }
        }
        for (number, found) in answers.into_iter().enumerate() {
            visit(number, found.unwrap_or_else(|| Err(lost())));
        }
    }

    fn open(&self, path: &Path, _: &mut dyn FnMut()) -> io::Result<Box<dyn Object>> {
        let stat = self.stat(path)?;
        match stat.kind {
            Kind::File => Ok(Box::new(Ahead::new(Arc::new(self.clone()), path, stat))),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn read(&self, requests: &[Request<'_>], landing: &mut dyn Landing) {
        self.read_all(requests, landing);
    }

    fn remedy(&self, error: &io::Error) -> Option<&'static str> {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Some(self.service.credentials),
            io::ErrorKind::Unsupported => {
                Some("write out the names of its files, many with braces: `{000..255}.tar`")
            }
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => None,
            io::ErrorKind::InvalidInput => Some("check its name"),
            _ => Some(self.service.address),
        }
    }

    fn put(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        self.ask(&Target::of(path)?, |remote, engine, target| async move {
            remote.write(&engine, &target, Bytes::from(bytes)).await
        })
    }

    fn remove(&self, paths: &[PathBuf]) -> io::Result<()> {
        let targets = paths.iter().map(|it| Target::of(it)).collect::<io::Result<Vec<_>>>()?;
        let Some(first) = targets.first() else { return Ok(()) };
        if let Some(other) = targets.iter().find(|it| it.place() != first.place()) {
            let detail = format!("`{}` is in another bucket", other.text);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, detail));
        }
        self.ask(&first.clone(), |remote, engine, _| async move {
            remote.delete(&engine, &targets).await
        })
    }
}
