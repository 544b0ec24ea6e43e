//! A pipeline as a stream: its batches are taken one after the other, epoch after epoch, by whoever
//! wants them, and where it stands is known after each.

use super::{
    Progress, Summary, UnevenRanks,
    keeping::{Keeping, Kept},
    ready::{Origin, Ready, ready},
    records_of,
};
use crate::session::{
    compiled::Compiled,
    functions::Functions,
    options::RunOptions,
    samples::SampleProgress,
    sink::pieces::Pieces,
    state::{Identity, Progressed, State},
};
use compiler::count;
use plan::{Code, Program};
use runtime::{Chunk, Failure, Position, Rank, Run, Step};
use std::time::{Duration, Instant};

/// A pipeline that runs, and is waited for. Dropped, it leaves no thread behind.
pub struct Stream {
    run: Run,
    /// What runs, with the sets of pictures that it names as files.
    program: Program,
    /// The functions outside that it calls.
    functions: Functions,
    options: runtime::Options,
    keeping: Keeping,
    identity: Identity,
    /// Whether `identity` says what the inputs are.
    knows_inputs: bool,
    /// Of a pipeline that ends without `batch`: its records, so many at a time.
    blocks: Option<Blocks>,
    /// What was delivered, and how much of it came last.
    progress: Progress,
    last: usize,
    /// Batches that an earlier run had delivered.
    before: u64,
    since: Instant,
}

/// What [`Stream::next`] came to.
#[derive(Debug)]
pub enum Arrival {
    /// Batches, each a record of the chunk; of a pipeline without `batch`, a block of records.
    Batches(Chunk),
    /// The epoch of this number has ended.
    EpochEnd(u32),
    /// Nothing has come for as long as was waited.
    Waiting,
    /// The last epoch has ended.
    Over,
}

/// Records on their way into blocks.
struct Blocks {
    pieces: Pieces,
    /// What is left of the chunk that came last, and how many records it had.
    rest: Option<Chunk>,
    came: usize,
    /// The row of it with which the block begins that is not full yet; where that is in a chunk
    /// before, its place.
    begun: usize,
    begun_at: Option<Position>,
    /// The end of the chunk that came last.
    end_at: Option<Position>,
    /// An epoch that has ended, after the block that is given before it.
    ended: Option<u32>,
}

impl Stream {
    /// Makes `compiled` ready to give its batches, from `epoch` on or from where `earlier` says; no
    /// thread is started before the first is asked for. `options` says how many epochs there are at
    /// the most; its limit, state file and profile are for [`super::run`]. Where the pipeline ends
    /// without `batch`, records come in blocks of `rows`, or of 64 MiB where they are large.
    ///
    /// # Errors
    /// Those of a run that cannot begin; `earlier` is of another plan, seed or input.
    pub fn open(
        compiled: &Compiled,
        options: &RunOptions,
        (earlier, epoch, rows): (Option<&State>, u32, usize),
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<Self, Failure> {
        let saved = earlier.is_some();
        let origin = Origin { earlier, epoch, saved, goes_on: saved, locks: false, beside: 0 };
        let Ready { run, program, options, keeping, identity, .. } =
            ready(compiled, options, &origin, sample)?;
        let before = earlier.map_or(0, |it| it.outputs);
        let blocks = (!program.batched).then(|| Blocks {
            pieces: Pieces::of(&program.output, rows.max(1)),
            rest: None,
            came: 0,
            begun: 0,
            begun_at: None,
            end_at: None,
            ended: None,
        });
        let progress = Progress { epoch: options.epochs.start, ..Progress::default() };
        let since = Instant::now();
        let knows_inputs = saved;
        Ok(Self {
            run,
            program,
            functions: compiled.functions.clone(),
            options,
            keeping,
            identity,
            knows_inputs,
            blocks,
            progress,
            last: 0,
            before,
            since,
        })
    }

    /// What comes next; waits for it as long as `limit` says, and without end if that is none.
    ///
    /// # Errors
    /// Those of the run, which is over then.
    pub fn next(&mut self, limit: Option<Duration>) -> Result<Arrival, Failure> {
        loop {
            if let Some(arrival) = self.blocks.as_mut().and_then(Blocks::next) {
                return Ok(self.counted(arrival));
            }
            if let Some(blocks) = &mut self.blocks {
                blocks.note_begin(&self.run);
            }
            let chunk = match self.run.step(limit) {
                Step::Chunk(chunk) => chunk,
                Step::EpochEnd(epoch) => match &mut self.blocks {
                    Some(blocks) => {
                        (blocks.ended, blocks.came) = (Some(epoch), 0);
                        continue;
                    }
                    None => return Ok(self.counted(Arrival::EpochEnd(epoch))),
                },
                Step::Waiting => return Ok(Arrival::Waiting),
                Step::Over => return Ok(Arrival::Over),
                Step::Failed(failure) => return Err(failure),
            };
            match &mut self.blocks {
                Some(blocks) => {
                    blocks.came = chunk.rows;
                    blocks.rest = Some(chunk);
                }
                None => return Ok(self.counted(Arrival::Batches(chunk))),
            }
        }
    }

    fn counted(&mut self, arrival: Arrival) -> Arrival {
        let Self { progress, last, program, since, .. } = self;
        match &arrival {
            Arrival::Batches(chunk) => {
                progress.first.get_or_insert_with(|| since.elapsed());
                progress.epoch = chunk.epoch;
                *last = chunk.rows;
                progress.outputs += chunk.rows as u64;
                progress.records += records_of(program, chunk) as u64;
                progress.bytes += chunk.columns.iter().map(|it| it.bytes() as u64).sum::<u64>();
            }
            Arrival::EpochEnd(epoch) => (progress.epoch, *last) = (epoch + 1, 0),
            Arrival::Waiting | Arrival::Over => {}
        }
        arrival
    }

    /// Whether all epochs have been given that were planned for.
    pub fn is_over(&self) -> bool {
        self.progress.epoch >= self.options.epochs.end
    }

    /// Goes to the beginning of `epoch`, wherever it stands, and though no such epoch was planned for;
    /// what is kept from epoch to epoch stays.
    ///
    /// # Errors
    /// Those of a run that cannot begin.
    pub fn go_to(&mut self, epoch: u32) -> Result<(), Failure> {
        let epochs = epoch..self.options.epochs.end.max(epoch.saturating_add(1));
        let options = runtime::Options { epochs, resume: None, ..self.options.clone() };
        let mut run = runtime::start(&self.program, &*self.functions.kernels(), &options)?;
        run.keep(&self.keeping.points)?;
        (self.run, self.options, self.progress.epoch, self.last) = (run, options, epoch, 0);
        if let Some(blocks) = &mut self.blocks {
            let _ = blocks.pieces.flush();
            (blocks.rest, blocks.came, blocks.ended, blocks.begun_at) = (None, 0, None, None);
        }
        Ok(())
    }

    /// The epoch of what comes next.
    pub fn epoch(&self) -> u32 {
        self.progress.epoch
    }

    /// Outputs of a whole epoch, or blocks of records where the pipeline ends without `batch`; none
    /// where only reading tells. Lists the files of the sources.
    pub fn epoch_len(&self, compiled: &Compiled) -> Option<u64> {
        let Rank { rank, world, part, parts } = self.options.rank;
        let (plan, ranks) = (&compiled.optimised.plan, (u64::from(rank), u64::from(world)));
        let lens = source_lens(&self.run, &self.program);
        let n = count::outputs(plan, &stdlib::library(), &lens, ranks)?;
        // The processes of a rank have a batch each in turn.
        let n = n.saturating_sub(u64::from(part)).div_ceil(u64::from(parts.max(1)));
        let Some(Blocks { pieces, .. }) = &self.blocks else { return Some(n) };
        Some(n.div_ceil(pieces.records_of_each()?))
    }

    /// Where it stands after the first `rows` batches of what came last; of a pipeline without
    /// `batch`, after the block that came last. Looks at each file of the inputs when it is first
    /// asked.
    ///
    /// # Errors
    /// An input is not there any more.
    pub fn state(&mut self, rows: usize) -> Result<State, Failure> {
        if !self.knows_inputs {
            self.identity.inputs(self.run.fingerprints()?);
            self.knows_inputs = true;
        }
        let rows = self.blocks.as_ref().map_or(rows, Blocks::taken);
        let begun_at = self.blocks.as_ref().and_then(|it| it.begun_at.clone());
        let position = begun_at.unwrap_or_else(|| self.run.position_after(rows));
        let left = if self.blocks.is_some() { 0 } else { self.last - rows.min(self.last) };
        let outputs = self.before + self.progress.outputs - left as u64;
        Ok(self.identity.state(&Progressed { position: &position, outputs, written: 0 }))
    }

    /// Ranks that get nothing of an epoch, or less than others, where there are such. Lists the files of the sources.
    pub fn uneven_ranks(&self, compiled: &Compiled) -> Option<UnevenRanks> {
        UnevenRanks::of(compiled, (&self.run, &self.program), self.options.rank)
    }

    /// What was done so far.
    pub fn summary(&self) -> Summary {
        let progress = Progress { elapsed: self.since.elapsed(), ..self.progress.clone() };
        let mut summary = Summary::of(&self.program, &progress, Some(&self.run.stats()));
        summary.resumed_at = (self.before > 0).then_some(self.before);
        summary.kept = self.keeping.kept.iter().map(Kept::summary).collect();
        summary.notes = self.keeping.notes();
        summary
    }
}

impl Blocks {
    /// The next block of what has come, or the end of the epoch behind it.
    fn next(&mut self) -> Option<Arrival> {
        while let Some(rest) = self.rest.as_mut().filter(|it| it.rows > 0) {
            if self.pieces.is_empty() {
                self.begun = self.came - rest.rows;
            }
            if let Some(block) = self.pieces.take(rest) {
                self.begun_at = None;
                return Some(Arrival::Batches(block));
            }
        }
        self.rest = None;
        let ended = self.ended?;
        Some(match self.pieces.flush() {
            // Nobody has been told yet that it was the last one.
            Some(block) => {
                self.begun_at = self.end_at.take();
                Arrival::Batches(block)
            }
            None => {
                (self.ended, self.begun_at) = (None, None);
                Arrival::EpochEnd(ended)
            }
        })
    }

    /// Notes where a block has begun that is not full yet, before another chunk comes.
    fn note_begin(&mut self, run: &Run) {
        if self.pieces.is_empty() {
            return;
        }
        if self.begun_at.is_none() {
            self.begun_at = Some(run.position_after(self.begun));
        }
        self.end_at = Some(run.position_after(self.came));
    }

    /// Records of the chunk that came last which have been given: all before it have.
    fn taken(&self) -> usize {
        self.came - self.rest.as_ref().map_or(0, |it| it.rows)
    }
}

/// How many records each source of a run has, where that is known before they are read.
pub(super) fn source_lens(run: &Run, program: &Program) -> Vec<Option<u64>> {
    // What the source itself leaves out is a step of the plan, and counted there.
    let skips = program.stages.iter().filter_map(|(_, it)| match &it.code {
        Code::Source { skip, .. } => Some(*skip),
        _ => None,
    });
    run.listed_lens().into_iter().zip(skips).map(|(len, skip)| Some(len? + skip)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{
        compile::{Settings, compile},
        load::Loaded,
    };
    use std::path::Path;

    fn compiled(text: &str) -> Compiled {
        let loaded = Loaded::from_text(Path::new("t.pipe"), format!("pipeline p = {text}\n"));
        compile(&loaded, &Settings::default()).expect("it is right")
    }

    fn opened(of: &Compiled, earlier: Option<&State>, (epochs, rows): (u32, usize)) -> Stream {
        let options = RunOptions { epochs, workers: 2, ..RunOptions::default() };
        Stream::open(of, &options, (earlier, 0, rows), &mut |_| {}).unwrap()
    }

    /// The rest of an epoch: the numbers of each batch or block.
    fn rest(stream: &mut Stream) -> Vec<Vec<i64>> {
        let mut all = Vec::new();
        loop {
            match stream.next(Some(Duration::from_millis(1))).unwrap() {
                Arrival::Batches(chunk) if stream.blocks.is_none() => {
                    let column = &chunk.columns[0];
                    let row = |it| column.row(it).as_slice::<i64>().map(<[i64]>::to_vec);
                    all.extend((0..chunk.rows).filter_map(row));
                }
                Arrival::Batches(chunk) => {
                    all.extend(chunk.columns[0].as_slice().map(<[i64]>::to_vec));
                }
                Arrival::Waiting => {}
                Arrival::EpochEnd(_) | Arrival::Over => return all,
            }
        }
    }

    #[test]
    fn epochs_end_and_can_be_gone_to() {
        let of = compiled("range(100) |> shuffle |> batch(8, tail: keep)");
        let mut stream = opened(&of, None, (2, 1));
        assert_eq!(stream.epoch_len(&of), Some(13));
        let (first, second) = (rest(&mut stream), rest(&mut stream));
        assert!(first.len() == 13 && first != second && stream.is_over());
        assert_eq!(rest(&mut stream), Vec::<Vec<i64>>::new());
        stream.go_to(1).unwrap();
        assert_eq!((stream.epoch(), rest(&mut stream)), (1, second));
        stream.go_to(2).unwrap();
        assert_eq!(rest(&mut stream).len(), 13);
    }

    #[test]
    fn blocks_do_not_depend_on_chunks_and_go_on_anywhere() {
        let of = compiled("range(1000) |> shuffle |> where i % 3 != 0");
        let whole = rest(&mut opened(&of, None, (1, 7)));
        assert!(whole.iter().rev().skip(1).all(|it| it.len() == 7) && whole.len() == 96);
        for stop in [0, 1, 50, 95, 96] {
            let mut stream = opened(&of, None, (1, 7));
            let mut seen = 0;
            while seen < stop {
                seen += usize::from(matches!(stream.next(None).unwrap(), Arrival::Batches(_)));
            }
            let state = State::from_bytes(stream.state(0).unwrap().line().as_bytes()).unwrap();
            drop(stream);
            assert_eq!(rest(&mut opened(&of, Some(&state), (1, 7))), whole[stop..], "{stop}");
        }
    }

    #[test]
    fn a_state_counts_the_batches_that_were_taken_of_a_chunk() {
        let of = compiled("range(100) |> batch(2)");
        let mut stream = opened(&of, None, (1, 1));
        let Arrival::Batches(chunk) = stream.next(None).unwrap() else { panic!("a batch") };
        assert!(chunk.rows > 3, "small batches come several at a time");
        let state = stream.state(3).unwrap();
        assert_eq!(state.outputs, 3);
        let left = rest(&mut opened(&of, Some(&state), (1, 1)));
        assert_eq!((left.len(), &left[0][..]), (47, &[6_i64, 7][..]));
    }

    #[test]
    fn a_rank_without_a_batch_gives_one_of_nothing() {
        let of = compiled("range(5) |> map { i, one: full([2], f32(i)) } |> batch(3, tail: mask)");
        let given = (0..4).map(|rank| {
            let rank = Rank { rank, world: 4, ..Rank::default() };
            let options = RunOptions { workers: 2, rank, ..RunOptions::default() };
            rest(&mut Stream::open(&of, &options, (None, 0, 1), &mut |_| {}).unwrap())
        });
        let given: Vec<_> = given.collect();
        assert_eq!(given, [[[0, 1, 2]], [[3, 4, 0]], [[0, 0, 0]], [[0, 0, 0]]]);
    }

    #[test]
    fn the_processes_of_a_rank_give_its_batches_in_turn() {
        for (tail, n) in [("drop", 8), ("keep", 9), ("mask", 9)] {
            let of = compiled(&format!("range(49) |> batch(3, tail: {tail})"));
            let given = |rank: Rank| {
                let options = RunOptions { workers: 2, rank, ..RunOptions::default() };
                let mut stream = Stream::open(&of, &options, (None, 0, 1), &mut |_| {}).unwrap();
                let (len, all) = (stream.epoch_len(&of), rest(&mut stream));
                assert_eq!(len, Some(all.len() as u64), "{tail} {rank:?}");
                all
            };
            // Sixteen batches and a third of one; the first of two ranks has the odd one.
            let rank = Rank { rank: 0, world: 2, ..Rank::default() };
            let alone = given(rank);
            assert_eq!(alone.len(), n);
            for parts in [2, 3, 4, 20] {
                let dealt: Vec<_> =
                    (0..parts).map(|part| given(Rank { part, parts, ..rank })).collect();
                let parts = parts as usize;
                let turn = |it: usize| dealt[it % parts].get(it / parts).cloned();
                assert_eq!((0..9 * parts).filter_map(turn).collect::<Vec<_>>(), alone, "{tail}");
            }
        }
    }

    #[test]
    fn lengths_follow_from_sources_or_are_not_told() {
        for (text, len) in [
            ("range(10) |> skip(4) |> take(5) |> shuffle |> batch(2)", Some(2)),
            ("range(10) |> repeat(3) |> batch(4, tail: keep)", Some(8)),
            ("range(10) |> where i > 3 |> batch(2)", None),
            ("range(10) |> repeat |> batch(2)", None),
            ("zip({ a: range(5), b: range(5) }) |> batch(2)", Some(2)),
            ("concat([range(5), range(6)]) |> batch(2, tail: keep)", Some(6)),
            ("mix([range(5), range(6)], at_end: drop) |> batch(2, tail: keep)", Some(6)),
            ("mix([range(5), range(6)], weights: [1, 0], at_end: drop) |> batch(2)", None),
            ("mix([range(5), range(6)]) |> batch(2)", None),
        ] {
            let of = compiled(text);
            assert_eq!(opened(&of, None, (1, 1)).epoch_len(&of), len, "{text}");
        }
    }
}
