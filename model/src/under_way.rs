//! How much of a batch a task computes, and how many batches are under way so that all workers have
//! work.

/// Nanoseconds of a piece at the least: its way from thread to thread, some 10 µs, is little beside
/// that.
const PIECE_NS_MIN: f64 = 250e3;
/// Nanoseconds at the most: what was asked for is to come soon, and all workers are to end an epoch
/// together.
const PIECE_NS_MAX: f64 = 5e6;
/// Pieces for each worker where all records take the same: the one that it is at, the next, and one for those
/// that a wake-up delays.
const PIECES: f64 = 3.0;
/// Records for each worker, times the spread of their times. Assumed.
const AHEAD: f64 = 8.0;
/// Such records at the most: a mean and a spread say little of what is rarer than one in a hundred.
const AHEAD_MAX: f64 = 24.0;

/// Rounds that are looked at, of those that workers in step take: a mean of so many is near enough.
const ROUNDS_MAX: u64 = 10_000;

/// Requests to one store that are under way at a time, at the most: as many as the solver thinks of
/// ([`crate::curve::READERS_MAX`]).
const REQUESTS_MAX: u64 = crate::curve::READERS_MAX as u64;
/// Requests for a record at the least that are reckoned with: of more records a task would be too long.
const REQUESTS_LEAST: f64 = 1.0 / 64.0;
/// Requests beyond those that keep the workers busy where all take the same: a batch of them takes as long as its
/// slowest. Assumed.
const REQUESTS_SPARE: f64 = 1.25;

/// Objects of a store that answers late, read by threads each of which waits for a batch of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fetching {
    /// Nanoseconds from a request to its answer.
    pub latency_ns: f64,
    /// Nanoseconds of a core that a record takes in all; 0 where nobody knows.
    pub record_ns: f64,
    /// Nanoseconds of a reader for a record besides waiting for its requests.
    pub landing_ns: f64,
    /// Threads that compute, and those that read.
    pub workers: u64,
    /// See [`readers`].
    pub readers: u64,
    /// Requests that the store answers at a time.
    pub requests_max: u64,
    /// Requests for a record, on average.
    pub requests: f64,
}

impl Fetching {
    /// Records for which each reader has requests under way at a time.
    ///
    /// Little's law: together they are the rate that the workers can do times how long a request takes. A reader has
    /// none under way while it takes in what has come, so that each of them has the more.
    pub fn batch(&self) -> u64 {
        let readers = self.readers.max(1) as f64;
        let most = REQUESTS_MAX.min(self.requests_max) as f64;
        if self.record_ns <= 0.0 || self.latency_ns <= 0.0 {
            return ((most / readers) as u64).max(1);
        }
        let rate = self.workers.max(1) as f64 / self.record_ns;
        let asking = readers - (rate * self.landing_ns).min(readers / 2.0);
        let most = most / self.requests.max(REQUESTS_LEAST);
        let wanted = REQUESTS_SPARE * rate * self.latency_ns;
        let batch = (wanted / asking).ceil().min(most / asking);
        (batch as u64).max(1)
    }

    /// Requests that are under way at a time.
    pub fn under_way(&self) -> u64 {
        ((self.batch() * self.readers.max(1)) as f64 * self.requests).ceil() as u64
    }
}

/// Batches whose rows are computed in place, by several workers at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Making {
    /// Threads that compute.
    pub workers: u64,
    /// Records of a batch.
    pub rows: u64,
    /// Batches that there is memory for, beside the one that the consumer has; at least 1.
    pub room: u64,
    /// Nanoseconds that a record takes one worker; 0 where nobody knows.
    pub record_ns: f64,
    /// The variance of that over the square of its mean.
    pub spread: f64,
}

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Records of a task.
    pub piece: u64,
    /// Batches that are begun and have not left.
    pub batches: u64,
}

/// Batches of so many bytes that may be under way within the memory of a run: half of it is for them
/// and the one that the consumer has, but two of them, where three fit at all.
pub fn room(memory: u64, batch_bytes: u64) -> u64 {
    let least = if batch_bytes.saturating_mul(3) <= memory { 2 } else { 1 };
    (memory / 2 / batch_bytes.max(1)).saturating_sub(1).max(least)
}

/// Chunks of a stage that may be begun or wait for the next one, where `workers` compute: it may run ahead of a
/// slower one by so many.
pub const fn chunks_computed(workers: usize) -> usize {
    // While one record takes ten times as long as the others, they go on.
    4 * workers + 2
}

/// The same of a stage that so many readers read: each reader has something to do, and each worker finds its
/// next.
pub const fn chunks_read(workers: usize, readers: usize) -> usize {
    readers + 2 * workers
}

/// Bytes of a chunk that a source makes in all lanes, and in one, at the most, unless one record has more.
const SOURCE_BYTES_MAX: u64 = 8 << 20;
const LANE_BYTES_MAX: u64 = 512 << 10;

/// Records of so many bytes that a source makes a chunk of at the most, in one of so many lanes.
pub fn source_rows(record_bytes: u64, lanes: u64) -> u64 {
    let bytes = (SOURCE_BYTES_MAX / lanes.max(1)).max(LANE_BYTES_MAX);
    (bytes / record_bytes.max(1)).max(1)
}

/// Reader threads beside so many workers; most of the time they wait.
pub fn readers(workers: usize) -> usize {
    workers.clamp(4, 16)
}

/// The share of a run's memory that its tasks leave free which can be done again where it is short.
const RESERVED: u64 = 8;

/// Records that each worker is to have ahead, whose times have such a variance over the square of their
/// mean.
pub fn ahead(spread: f64) -> f64 {
    (AHEAD * spread).clamp(0.0, AHEAD_MAX)
}

impl Making {
    /// What is to be under way.
    ///
    /// Batches leave in order, so one slow record holds back what is begun after it, and the workers
    /// go on only as long as something may be begun (Little's law: what is under way is the rate times
    /// how long each stays). Each worker has three pieces, and ahead of them records in proportion to
    /// the spread of their times. The first batch is being completed, so they have to fit into the
    /// others: pieces are cut smaller before more batches are begun, and a great many small ones are
    /// begun only where pieces would be too short otherwise, or there is no room.
    pub fn under_way(&self) -> UnderWay {
        let (workers, rows) = (self.workers.max(1) as f64, self.rows.max(1) as f64);
        let room = self.room.max(1) as f64;
        let ahead = ahead(self.spread);
        let (least, most) = match self.record_ns {
            ns if ns > 0.0 => (PIECE_NS_MIN / ns, PIECE_NS_MAX / ns),
            _ => (1.0, rows),
        };
        // Records of a piece with which so many batches feed all workers.
        let feeding = |batches: f64| ((rows * batches / workers - ahead) / PIECES).max(1.0);
        let piece = feeding(1.0).clamp(least.max(1.0), most.max(1.0)).min(rows).floor();
        let others = |piece: f64| (workers * (PIECES * piece + ahead) / rows).ceil();
        let wanted = 1.0 + others(piece);
        if wanted <= room {
            return UnderWay { piece: piece as u64, batches: wanted as u64 };
        }
        let piece = feeding((room - 1.0).max(0.5)).min(piece).floor();
        UnderWay { piece: piece as u64, batches: room as u64 }
    }

    /// The same with as many workers as there is memory for, of a run that has so much: each needs
    /// `worker_bytes` for the values it computes with, beside the batches under way and the one that the
    /// consumer has. At least one.
    ///
    /// More of them would only begin what is put off until others have given memory back.
    #[must_use]
    pub fn within(self, memory: u64, (batch_bytes, worker_bytes): (u64, u64)) -> Self {
        // What is known before anything was measured, so that all agree on it.
        let unmeasured = Self { record_ns: 0.0, spread: 0.0, ..self };
        let batches = unmeasured.under_way().batches.saturating_add(1);
        let left = (memory - memory / RESERVED).saturating_sub(batches.saturating_mul(batch_bytes));
        let most = left.checked_div(worker_bytes).unwrap_or(self.workers);
        Self { workers: self.workers.min(most).max(1), ..self }
    }

    /// The share of the workers that have work where all records take the same: 0 to 1.
    ///
    /// A batch begins when the first of those under way is whole. Workers that waited for that begin together,
    /// so they go on in step: in each round all the pieces that may begin do, as far as there are workers.
    /// With one batch at a time the workers wait for its last pieces.
    pub fn busy_share(&self) -> f64 {
        let UnderWay { piece, batches } = self.under_way();
        let (workers, pieces) = (self.workers.max(1), self.rows.max(1).div_ceil(piece.max(1)));
        // Of the first batch fewer than all may be left, and the others are whole.
        if pieces.saturating_mul(batches - 1) >= workers {
            return 1.0;
        }
        let (mut done, mut begun, mut rounds) = (0, 0_u64, 0_u64);
        // The part of the first batch that is done comes back to what it was after so many rounds at the most.
        while rounds < pieces.min(ROUNDS_MAX) {
            let now = workers.min(pieces * batches - done);
            (begun, rounds, done) = (begun + now, rounds + 1, (done + now) % pieces);
            if done == 0 {
                break;
            }
        }
        begun as f64 / (workers * rounds) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn making(workers: u64, rows: u64, record_ns: f64) -> Making {
        Making { workers, rows, room: u64::MAX, record_ns, spread: 0.0 }
    }

    fn of(making: Making) -> (u64, u64) {
        let UnderWay { piece, batches } = making.under_way();
        (piece, batches)
    }

    #[test]
    fn two_batches_do_where_pieces_can_be_cut() {
        assert_eq!(of(making(2, 128, 550e3)), (9, 2));
        assert_eq!(of(making(16, 128, 1e6)), (2, 2));
        assert_eq!(of(making(64, 512, 1e6)), (2, 2));
    }

    #[test]
    fn a_source_makes_chunks_that_are_not_too_large() {
        assert_eq!(source_rows(64, 1), 131_072);
        assert_eq!(source_rows(47_000, 1), 178);
        assert_eq!(source_rows(47_000, 2), 89);
        assert_eq!(source_rows(47_000, 64), 11, "512 KiB in a lane");
        assert_eq!((source_rows(100 << 20, 1), source_rows(0, 0)), (1, 8 << 20));
    }

    #[test]
    fn many_workers_have_many_small_batches() {
        assert_eq!(of(making(96, 32, 1e6)), (1, 10));
        // A piece of one such record would be too short.
        assert_eq!(of(making(96, 32, 10e3)), (25, 226));
        // A piece is no larger than a batch, however little a record takes.
        assert_eq!(of(making(16, 8, 1e3)), (8, 49));
        // Records of a spread of 1: eight more for each worker.
        assert_eq!(of(Making { spread: 1.0, ..making(96, 32, 1e6) }), (1, 34));
    }

    #[test]
    fn where_memory_is_short_pieces_are_smaller_and_batches_fewer() {
        let short = |room| Making { room, ..making(96, 128, 100e3) };
        assert_eq!(of(short(9)), (2, 6));
        assert_eq!(of(short(3)), (1, 3));
        assert_eq!(of(short(1)), (1, 1));
        assert_eq!(short(9).busy_share(), 1.0);
        assert_eq!(Making { room: 1, ..making(96, 128, 1e6) }.busy_share(), 128.0 / 192.0);
        assert_eq!(Making { room: 2, ..making(96, 32, 1e6) }.busy_share(), 64.0 / 96.0);
        // 56 pieces begin, and then the 8 that are left of one batch and the 32 of the next.
        assert_eq!(Making { room: 2, ..making(56, 32, 1e6) }.busy_share(), 96.0 / 112.0);
        assert_eq!(Making { room: 2, ..making(40, 32, 1e6) }.busy_share(), 1.0);
    }

    #[test]
    fn workers_are_as_many_as_have_memory_to_compute_with() {
        let within = |memory, each| making(96, 32, 1e6).within(memory, (20, each)).workers;
        // Ten batches under way and that of the consumer.
        assert_eq!(within(300, 1), 43);
        assert_eq!((within(1000, 1), within(1000, 0), within(10, 1)), (96, 96, 1));
    }

    #[test]
    fn requests_are_as_many_as_the_rate_times_the_latency() {
        let fetching = |latency_ns, record_ns| {
            let landing_ns = 0.0;
            Fetching {
                latency_ns,
                record_ns,
                landing_ns,
                workers: 2,
                readers: 4,
                requests_max: 1024,
                requests: 1.0,
            }
        };
        // 2,000 records/s, each of which is 30 ms on its way: 60, and a quarter more.
        assert_eq!(fetching(30e6, 1e6).under_way(), 76);
        assert_eq!(fetching(30e6, 1e6).batch(), 19);
        // A disk: each reader has one.
        assert_eq!(fetching(100e3, 1e6).batch(), 1);
        // More than a store is asked at a time, or while nobody knows.
        assert_eq!((fetching(30e6, 1e3).batch(), fetching(30e6, 0.0).batch()), (64, 64));
        assert_eq!(Fetching { requests_max: 8, ..fetching(30e6, 1e6) }.under_way(), 8);
        assert_eq!(Fetching { requests_max: 0, ..fetching(30e6, 1e6) }.batch(), 1);
        // One record in five asks for anything, the others are cached.
        let partly = Fetching { requests_max: 8, requests: 0.2, ..fetching(30e6, 1e6) };
        assert_eq!((partly.batch(), partly.under_way()), (10, 8));
        // Each of 4 readers takes in for a quarter of the time.
        assert_eq!(Fetching { landing_ns: 500e3, ..fetching(30e6, 1e6) }.batch(), 25);
    }

    #[test]
    fn nothing_measured_is_a_batch_for_all() {
        assert_eq!(of(making(4, 128, 0.0)), (10, 2));
        assert_eq!(of(making(0, 0, 0.0)), (1, 4));
    }
}
