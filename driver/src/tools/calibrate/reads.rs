//! One run: so many threads read so much at a time.

use runtime::os;
use std::{
    fs::File,
    io,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What reads past the page cache must be a multiple of, in memory and in the file: sectors of
/// disks are no larger.
const ALIGNED: usize = 4096;
/// Requests of a thread whose time is kept.
const LATENCIES: usize = 1 << 14;

/// How a file is read.
pub(super) struct Reads<'a> {
    pub(super) file: &'a File,
    /// Bytes of a request.
    pub(super) request: usize,
    /// Blocks of `request` bytes in the order in which they are read; the file's own if none.
    pub(super) order: Option<&'a [u32]>,
    /// Blocks that the file has.
    pub(super) blocks: usize,
    /// Files that are read whole in the place of blocks, one for each; none: blocks are.
    pub(super) small: &'a [File],
    pub(super) threads: usize,
    /// Where it begins, as a share of what a thread has to read: another place in each run, so that
    /// a device does not know what comes.
    pub(super) from: f64,
    /// How long it reads.
    pub(super) time: Duration,
    /// Whether it ends when all was read once, since a second time would come from the page cache.
    pub(super) once: bool,
    pub(super) stop: &'a AtomicBool,
}

/// What came of it.
pub(super) struct Ran {
    /// Bytes per second of all threads.
    pub(super) bandwidth: f64,
    /// Seconds of the median request.
    pub(super) latency: f64,
}

/// What one thread has done.
struct Share {
    begun: Instant,
    ended: Instant,
    requests: u64,
    nanos: Vec<u32>,
}

impl Reads<'_> {
    /// Reads.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn run(&self) -> io::Result<Ran> {
        let barrier = Barrier::new(self.threads);
        let shares: io::Result<Vec<Share>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|it| {
                    scope.spawn({
                        let barrier = &barrier;
                        move || self.thread(it, barrier)
                    })
                })
                .collect();
            let joined = threads.into_iter().map(|it| it.join());
            joined
                .map(|it| it.unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
                .collect()
        });
        Ok(self.summed(shares?))
    }

    fn summed(&self, shares: Vec<Share>) -> Ran {
        let begun = shares.iter().map(|it| it.begun).min();
        let ended = shares.iter().map(|it| it.ended).max();
        let span = begun.zip(ended).map_or(Duration::ZERO, |(begun, ended)| ended - begun);
        let requests: u64 = shares.iter().map(|it| it.requests).sum();
        let mut nanos: Vec<u32> = shares.into_iter().flat_map(|it| it.nanos).collect();
        let middle = nanos.len() / 2;
        let median = if nanos.is_empty() { 0 } else { *nanos.select_nth_unstable(middle).1 };
        let bytes = requests as f64 * self.request as f64;
        Ran {
            bandwidth: bytes / span.as_secs_f64().max(1e-9),
            latency: Duration::from_nanos(median.into()).as_secs_f64(),
        }
    }

    fn thread(&self, thread: usize, barrier: &Barrier) -> io::Result<Share> {
        // Touched, so that the system has given all of it.
        let mut memory = vec![1_u8; self.request + ALIGNED];
        let from = memory.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        let buffer = &mut memory[from..from + self.request];
        let mut nanos = Vec::with_capacity(LATENCIES);
        barrier.wait();

        let begun = Instant::now();
        let (mut ended, mut requests) = (begun, 0);
        while let Some(block) = self.block(thread, requests as usize) {
            match self.small.get(block) {
                Some(file) => os::read_exact_at(file, buffer, 0)?,
                None => os::read_exact_at(self.file, buffer, (block * self.request) as u64)?,
            }
            requests += 1;
            let now = Instant::now();
            if nanos.len() < LATENCIES {
                nanos.push(u32::try_from((now - ended).as_nanos()).unwrap_or(u32::MAX));
            }
            ended = now;
            if ended - begun >= self.time || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(Share { begun, ended, requests, nanos })
    }

    /// The block that a thread reads after `n` others; none if all have been read that may be.
    fn block(&self, thread: usize, n: usize) -> Option<usize> {
        let stretch = (self.blocks / self.threads).max(1);
        if self.once && n >= stretch {
            return None;
        }
        let at = (n + (self.from * stretch as f64) as usize) % stretch + thread * stretch;
        let at = at % self.blocks;
        Some(self.order.map_or(at, |it| it[at] as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn threads_share_the_blocks() {
        let file = tempfile();
        let stop = AtomicBool::new(false);
        let order: Vec<u32> = (0..64).rev().collect();
        for (threads, order) in [(1, None), (4, None), (16, Some(&order[..]))] {
            let reads = Reads {
                file: &file,
                request: 512,
                order,
                blocks: 64,
                small: &[],
                threads,
                from: 0.7,
                time: Duration::MAX,
                once: true,
                stop: &stop,
            };
            let all: Vec<usize> = (0..threads)
                .flat_map(|thread| (0..).map_while(move |n| Some((thread, n))).take(100))
                .filter_map(|(thread, n)| reads.block(thread, n))
                .collect();
            assert_eq!(all.len(), 64);
            assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 64);
        }
    }

    #[test]
    fn a_pass_reads_every_byte_once() {
        let file = tempfile();
        file.set_len(64 * 512).unwrap();
        let stop = AtomicBool::new(false);
        let reads = Reads {
            file: &file,
            request: 512,
            order: None,
            blocks: 64,
            small: &[],
            threads: 4,
            from: 0.3,
            time: Duration::MAX,
            once: true,
            stop: &stop,
        };
        let ran = reads.run().unwrap();
        assert!(ran.bandwidth > 0.0 && ran.latency > 0.0);
        let beyond = Reads { blocks: 65, threads: 1, from: 0.0, ..reads };
        assert_eq!(beyond.run().err().unwrap().kind(), io::ErrorKind::UnexpectedEof);
    }

    fn tempfile() -> File {
        super::super::file::Probe::create(&std::env::temp_dir())
            .unwrap()
            .cached
            .try_clone()
            .unwrap()
    }
}
