//! Reading: many bodies come at a time, and lie where the reader says, one after the other, as they are complete.

use crate::{
    Remote, Target,
    engine::{BYTES_MAX, Engine, Tasks, again, lost, next},
    errors, known,
    services::Client,
};
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::{GetOptions, GetRange, ObjectStoreExt, path::Path};
use runtime::storage::{Landing, ReadError, Request, Stat, len_of_value};
use std::{
    io,
    ops::Range,
    sync::{Arc, mpsc},
};
use tokio::sync::OwnedSemaphorePermit;

/// Ranges of one object become one request where no more bytes than this lie between them, which are read too: a
/// fraction of what comes in the time until an answer begins.
const GAP_MAX: u64 = 256 << 10;
/// Bytes of such a request. Who reads much at once asks for parts of this size, to have them over several connections.
const MERGED_MAX: u64 = 1 << 20;

/// A request to the store, and what it is for.
struct Job {
    target: Target,
    range: Option<Range<u64>>,
    /// For whom, and which bytes of the object that are; all of it where there is no range.
    parts: Vec<(usize, Range<u64>)>,
}

/// A body, and the right to hold it.
struct Body {
    chunks: Vec<Bytes>,
    bytes: u64,
    _room: OwnedSemaphorePermit,
}

type Done = (usize, Result<Body, ReadError>);

impl Remote {
    /// Does [`runtime::storage::Storage::read`].
    pub(crate) fn read_all(&self, requests: &[Request<'_>], landing: &mut dyn Landing) {
        let (jobs, refused) = self.jobs(requests);
        for (number, error) in refused {
            landing.landed(number, Err(error));
        }
        let used = match Engine::get() {
            Ok(used) => used,
            Err(error) => {
                let error = ReadError::Io(error);
                jobs.iter()
                    .flat_map(|it| &it.parts)
                    .for_each(|it| landing.landed(it.0, Err(again(&error))));
                return;
            }
        };
        let (said, heard) = mpsc::channel::<Done>();
        let tasks = jobs.iter().enumerate().map(|(number, job)| {
            let (remote, engine, said) = (self.clone(), used.engine().clone(), said.clone());
            let (target, range) = (job.target.clone(), job.range.clone());
            used.engine().handle.spawn(async move {
                let done = remote.body(&engine, &target, range).await;
                let _ = said.send((number, done));
            })
        });
        // Where the reader unwinds, nothing stays under way.
        let _tasks = Tasks(tasks.collect());
        drop(said);
        let mut open: Vec<bool> = jobs.iter().map(|_| true).collect();
        let ended = loop {
            match next(&heard) {
                Ok(Some((number, done))) => {
                    open[number] = false;
                    land(&jobs[number], done, landing);
                }
                Ok(None) => break ReadError::Io(lost()),
                Err(error) => break ReadError::Io(error),
            }
        };
        for (job, _) in jobs.iter().zip(&open).filter(|it| *it.1) {
            job.parts.iter().for_each(|it| landing.landed(it.0, Err(again(&ended))));
        }
    }

    /// What is asked of the store for these requests; and those that cannot be asked for.
    fn jobs(&self, requests: &[Request<'_>]) -> (Vec<Job>, Vec<(usize, ReadError)>) {
        let (mut jobs, mut refused): (Vec<Job>, _) = (Vec::new(), Vec::new());
        // Records that are read in random order lie close to each other, where they are many.
        let place = |it: &usize| {
            let Request { path, range } = &requests[*it];
            range.as_ref().map(|range| (*path, range.start))
        };
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(place);
        for number in order {
            let request = &requests[number];
            let target = match Target::of(request.path) {
                Ok(target) => target,
                Err(error) => {
                    refused.push((number, ReadError::Io(error)));
                    continue;
                }
            };
            let Some(range) = request.range.clone() else {
                jobs.push(Job { target, range: None, parts: vec![(number, 0..0)] });
                continue;
            };
            let last = jobs.last_mut().filter(|it| it.target == target);
            let merged = last.and_then(|it| {
                let of = it.range.as_ref()?;
                let all = of.start..of.end.max(range.end);
                let is_near = range.start <= of.end.saturating_add(GAP_MAX);
                (is_near && all.end - all.start <= MERGED_MAX).then_some((it, all))
            });
            match merged {
                Some((job, all)) => {
                    job.range = Some(all);
                    job.parts.push((number, range));
                }
                None => jobs.push(Job {
                    target,
                    range: Some(range.clone()),
                    parts: vec![(number, range)],
                }),
            }
        }
        (jobs, refused)
    }

    /// The bytes of an object, or of a range of it.
    async fn body(
        &self,
        engine: &Arc<Engine>,
        target: &Target,
        range: Option<Range<u64>>,
    ) -> Result<Body, ReadError> {
        let _turn = engine.requests.acquire().await;
        let told = |it: object_store::Error| match errors::is_beyond_end(&it) {
            true => ReadError::Changed,
            false => errors::told(&it).into(),
        };
        let bucket = engine.bucket(self.service, target.place()).await?;
        let key = target.key(self.service)?;
        if range.as_ref().is_some_and(Range::is_empty) {
            return Ok(Body { chunks: Vec::new(), bytes: 0, _room: room(engine, 0).await });
        }
        let asked = range.clone().map(GetRange::Bounded);
        let options = GetOptions { range: asked, ..GetOptions::default() };
        let (key, options) = (&key, &options);
        let get = |it: Client| async move { it.objects.get_opts(key, options.clone()).await };
        let result = bucket.ask(get).await.map_err(told)?;
        let tag =
            known::tag_of(result.meta.e_tag.as_deref(), result.meta.last_modified.timestamp());
        match self.known.tag(&target.text) {
            Some(known) if known != tag => return Err(ReadError::Changed),
            Some(_) => {}
            None => self.known.set(&target.text, result.meta.size, tag, false),
        }
        let bytes = result.range.end.saturating_sub(result.range.start);
        match range {
            Some(range) if range.end - range.start != bytes => return Err(ReadError::Changed),
            Some(_) => {}
            // Who asks for a value is told so before a byte of it is read.
            None => drop(len_of_value(bytes)?),
        }
        let room = room(engine, bytes).await;
        let chunks: Vec<Bytes> = result.into_stream().try_collect().await.map_err(told)?;
        match chunks.iter().map(|it| it.len() as u64).sum::<u64>() == bytes {
            true => Ok(Body { chunks, bytes, _room: room }),
            false => Err(ReadError::Changed),
        }
    }
}

/// The right to hold so many bytes; of what is larger than all there may be, one comes at a time.
async fn room(engine: &Engine, bytes: u64) -> OwnedSemaphorePermit {
    let n_bytes = bytes.min(BYTES_MAX as u64) as u32;
    let room = engine.bytes.clone().acquire_many_owned(n_bytes).await;
    room.expect("nobody closes it")
}

/// Puts what has come where it is wanted.
fn land(job: &Job, done: Result<Body, ReadError>, landing: &mut dyn Landing) {
    let body = match done {
        Ok(body) => body,
        Err(error) => {
            job.parts.iter().for_each(|it| landing.landed(it.0, Err(again(&error))));
            return;
        }
    };
    let from = job.range.as_ref().map_or(0, |it| it.start);
    for (number, part) in &job.parts {
        let part = match job.range {
            Some(_) => part.clone(),
            None => 0..body.bytes,
        };
        if let Some(room) = landing.room(*number, part.end - part.start) {
            copy(&body.chunks, (part.start - from) as usize, room);
            landing.landed(*number, Ok(()));
        }
    }
}

/// Fills `room` with the bytes from `at` on of what the chunks are together.
fn copy(chunks: &[Bytes], mut at: usize, mut room: &mut [u8]) {
    for chunk in chunks {
        let Some(rest) = chunk.get(at..) else {
            at -= chunk.len();
            continue;
        };
        at = 0;
        let n_bytes = rest.len().min(room.len());
        let (now, later) = room.split_at_mut(n_bytes);
        now.copy_from_slice(&rest[..n_bytes]);
        room = later;
        if room.is_empty() {
            return;
        }
    }
}

impl Remote {
    /// The size and tag of an object, as the store says now.
    pub(crate) async fn head(&self, engine: &Engine, target: &Target) -> io::Result<Stat> {
        let bucket = engine.bucket(self.service, target.place()).await?;
        let key: Path = target.key(self.service)?;
        let _turn = engine.requests.acquire().await;
        let key = &key;
        let head = |it: Client| async move { it.objects.head(key).await };
        let meta = bucket.ask(head).await.map_err(|it| errors::told(&it))?;
        let tag = known::tag_of(meta.e_tag.as_deref(), meta.last_modified.timestamp());
        self.known.set(&target.text, meta.size, tag, false);
        Ok(known::stat(meta.size, tag))
    }
}
