//! Sources: which record comes when, and how chunks of them are made.

use super::{
    found::{Found, Pieces},
    lanes::Lane,
    node::Parcel,
    position::StreamPlace,
    windowed::Windowed,
};
use crate::{
    Builder, Chunk, ChunkBuilder, Failure, Interleave, Permutation, Pool, Source, Stream, mix,
};
use plan::{DType, Field, Type};
use std::{ops::Range, sync::Arc};

/// A source with what the program says about it.
pub(super) struct Supply {
    pub(super) source: Arc<dyn Source>,
    pub(super) columns: Vec<Field>,
    /// Keys of the shuffles, hashes of seed and place, the first one innermost.
    pub(super) shuffles: Vec<u64>,
    /// The order of its spans, where it is drawn for each pass.
    pub(super) spans: Option<Interleave>,
    /// Records of each pass that are left out at its begin.
    pub(super) skip: u64,
    /// At most so many records of each pass after them.
    pub(super) take: Option<u64>,
    /// Passes of an epoch; `None` is for ever.
    pub(super) laps: Option<u64>,
    /// The windows whose records it gives, window after window, where it does.
    pub(super) windows: Option<Arc<Windowed>>,
    /// Sources that must have equally many records, this one among them, where there are such.
    pub(super) beside: Arc<[Counted]>,
    /// The part of each pass that it gives.
    pub(super) lane: Lane,
    /// Records of a chunk.
    pub(super) rows: usize,
    /// Whether what is read in order is found first (`Stream::finds`).
    pub(super) finds: bool,
    pub(super) pool: Pool,
}

/// Where a source that is read in order is, within an epoch; by default at its begin.
#[derive(Default)]
pub(super) struct Cursor {
    stream: Option<Box<dyn Stream>>,
    lap: u64,
    /// Records of this lap, without those that were left out.
    lap_rows: u64,
    /// Where the next lap that is opened is to begin, where not at its begin.
    resume: Option<StreamPlace>,
}

impl Cursor {
    /// A cursor that goes on from a place.
    pub(super) fn at(place: StreamPlace) -> Self {
        let lap = place.lap;
        Self { lap, resume: Some(place), ..Self::default() }
    }

    /// Where the next record stands.
    fn place(&self) -> StreamPlace {
        match (&self.stream, &self.resume) {
            (None, Some(place)) => place.clone(),
            (None, None) => StreamPlace { lap: self.lap, ..StreamPlace::default() },
            (Some(stream), _) => {
                StreamPlace { lap: self.lap, lap_rows: self.lap_rows, place: stream.place() }
            }
        }
    }
}

/// Places of an epoch, each of whose passes is `pass`.
#[derive(Clone)]
pub(super) struct Places {
    pub(super) places: Range<u64>,
    pub(super) pass: Pass,
    pub(super) epoch: u32,
}

/// A pass of a source, and the part of it that one lane gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    /// Records of the whole.
    pub(super) whole: u64,
    /// Windows of these, where it gives the records of windows.
    windows: u64,
    /// Places of all lanes.
    pub(super) all: u64,
    /// The place of the part's first record.
    first: u64,
    /// Records of the part.
    pub(super) len: u64,
}

/// A source, as far as it tells how many records it has.
#[derive(Clone)]
pub(super) struct Counted {
    /// Where it is written.
    pub(super) label: String,
    pub(super) source: Arc<dyn Source>,
    pub(super) skip: u64,
    pub(super) take: Option<u64>,
    pub(super) windows: Option<Arc<Windowed>>,
}

impl Counted {
    /// Records of a pass of all lanes, and windows, if there are such.
    pub(super) fn count(&self) -> Result<(u64, Option<u64>), Failure> {
        let rest = self.source.len()?.saturating_sub(self.skip);
        let whole = self.take.map_or(rest, |it| it.min(rest));
        let windows = self.windows.as_ref().map(|it| it.count(self.skip, whole)).transpose()?;
        Ok((whole, windows))
    }

    /// What stands side by side with those of others: windows, or records.
    pub(super) fn units(&self) -> Result<u64, Failure> {
        self.count().map(|(whole, windows)| windows.unwrap_or(whole))
    }
}

/// Fails where sources that stand side by side have not equally many records.
fn check_beside(all: &[Counted]) -> Result<(), Failure> {
    let Some((first, others)) = all.split_first() else { return Ok(()) };
    let one = first.units()?;
    for other in others {
        let two = other.units()?;
        if one != two {
            let of = |it: &Counted| if it.windows.is_some() { "windows" } else { "records" };
            let detail = format!(
                "this source has {one} {}, but the one at {} has {two} {}: `zip` needs streams of the same length; \
                 shorten them with `take`",
                of(first),
                other.label,
                of(other)
            );
            return Err(Failure::Data { label: first.label.clone(), detail });
        }
    }
    Ok(())
}

/// A chunk of a stream.
pub(super) struct Drawn {
    pub(super) parcel: Parcel,
    /// Where its first record stands.
    pub(super) from: StreamPlace,
    /// Whether nothing follows in this epoch.
    pub(super) is_last: bool,
    /// Why nothing can follow.
    pub(super) failure: Option<Failure>,
}

/// What takes records from a stream.
pub(super) trait Taking {
    /// How many it has.
    fn rows(&self) -> usize;

    /// Takes at most `rows` records more; none at the end.
    fn take(&mut self, stream: &mut dyn Stream, rows: usize) -> Result<(), Failure>;
}

impl Taking for ChunkBuilder {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn take(&mut self, stream: &mut dyn Stream, rows: usize) -> Result<(), Failure> {
        stream.next(rows, self)
    }
}

/// The laps that the records of a chunk belong to: each with its records, in order.
pub(super) type Laps = Vec<(u64, Range<usize>)>;

impl Supply {
    /// The records of one pass.
    pub(super) fn pass(&self) -> Result<Pass, Failure> {
        check_beside(&self.beside)?;
        let (whole, windows) = self.counted().count()?;
        let windows = windows.zip(self.windows.as_ref().map(|it| it.length));
        Ok(match windows {
            None => Pass::new(whole, self.lane),
            Some(windows) => Pass::of_windows(whole, windows, self.lane),
        })
    }

    fn counted(&self) -> Counted {
        let (label, source, windows) = (String::new(), self.source.clone(), self.windows.clone());
        Counted { label, source, skip: self.skip, take: self.take, windows }
    }

    /// Whether the source alone tells how many records there are: nothing is read for it.
    pub(super) fn is_arithmetic(&self) -> bool {
        let finds = |it: &Option<Arc<Windowed>>| it.as_ref().is_some_and(|it| it.series.is_some());
        !finds(&self.windows) && !self.beside.iter().any(|it| finds(&it.windows))
    }

    /// So many records of a chunk from `place` on, at most `rows`, that windows lie whole in it.
    pub(super) fn whole_windows(&self, place: u64, rows: usize) -> usize {
        self.windows.as_ref().map_or(rows, |it| it.whole(place, rows))
    }

    /// Records of an epoch.
    pub(super) fn epoch_len(&self, pass: Pass) -> u64 {
        match self.laps {
            Some(laps) => pass.len.saturating_mul(laps),
            None if pass.len == 0 => 0,
            None => u64::MAX,
        }
    }

    /// The records at these places.
    pub(super) fn fetch(&self, at: &Places) -> Result<Chunk, Failure> {
        let Places { places, pass, epoch } = at;
        let mut numbers = Vec::with_capacity((places.end - places.start) as usize);
        let (mut laps, mut place) = (Laps::new(), places.start);
        while place < places.end {
            let (lap, first) = (place / pass.len, place % pass.len);
            let len = (pass.len - first).min(places.end - place);
            laps.push((lap, numbers.len()..numbers.len() + len as usize));
            let first = pass.first + first;
            if let Some(windows) = &self.windows {
                let key = mix(u64::from(*epoch), lap);
                self.window_by_window(windows, (*pass, key), first..first + len, &mut numbers);
            } else if self.shuffles.is_empty() {
                numbers.extend(self.skip + first..self.skip + first + len);
            } else {
                let order = self.order(pass.whole, mix(u64::from(*epoch), lap));
                numbers.extend((first..first + len).map(order));
            }
            place += len;
        }
        let mut out = self.builder(numbers.len(), *epoch);
        self.source.fetch(&numbers, &mut out)?;
        if out.rows() != numbers.len() {
            let (found, asked) = (out.rows(), numbers.len());
            let detail =
                format!("a source returned {found} of {asked} records; this is a bug in pipec");
            return Err(Failure::Program(detail));
        }
        Ok(self.as_copies(out.finish(), &laps))
    }

    /// The records at some places of one pass, which gives window after window.
    fn window_by_window(
        &self,
        windows: &Windowed,
        (pass, key): (Pass, u64),
        places: Range<u64>,
        numbers: &mut Vec<u64>,
    ) {
        let (window_at, order) = (windows.order(pass.windows, key), self.order(pass.whole, key));
        let mut place = places.start;
        while place < places.end {
            let within = place % windows.length;
            let len = (windows.length - within).min(places.end - place);
            let begin = windows.begin(window_at(place / windows.length)) + within;
            if self.shuffles.is_empty() {
                numbers.extend(self.skip + begin..self.skip + begin + len);
            } else {
                numbers.extend((begin..begin + len).map(&order));
            }
            place += len;
        }
    }

    /// Which record stands at a place of one pass.
    fn order(&self, len: u64, lap: u64) -> impl Fn(u64) -> u64 {
        // The outermost shuffle says which record of the one below it stands here, and so on.
        let outermost_first = self.shuffles.iter().rev();
        let shuffles: Vec<_> =
            outermost_first.map(|key| Permutation::new(len, mix(*key, lap))).collect();
        let skip = self.skip;
        move |place| skip + shuffles.iter().fold(place, |at, shuffle| shuffle.at(at))
    }

    /// Gives the records of later laps ids of their own: copies of those of the first.
    pub(super) fn as_copies(&self, chunk: Chunk, laps: &Laps) -> Chunk {
        if laps.iter().all(|(lap, _)| *lap == 0) {
            return chunk;
        }
        let mut ids = Builder::new(&Type::scalar(DType::U64), chunk.rows, &self.pool);
        for (lap, rows) in laps {
            // What comes before a failure are fewer.
            for &id in &chunk.ids()[rows.start.min(chunk.rows)..rows.end.min(chunk.rows)] {
                ids.push_scalar(if *lap == 0 { id } else { mix(id, *lap) });
            }
        }
        Chunk { ids: ids.finish(), ..chunk }
    }

    /// What a chunk of about so many records is written to.
    pub(super) fn builder(&self, rows: usize, epoch: u32) -> ChunkBuilder {
        ChunkBuilder::new(&self.columns, rows, epoch, &self.pool)
    }

    /// The next records of a source that is read in order, about `rows`, as far as they come before a failure.
    pub(super) fn draw(
        self: &Arc<Self>,
        cursor: &mut Cursor,
        (epoch, rows): (u32, usize),
    ) -> Drawn {
        let from = cursor.place();
        let (parcel, drawn) = if self.finds {
            let mut pieces = Pieces::default();
            let (laps, drawn) = self.draw_to(cursor, (epoch, rows), &mut pieces);
            (Found::new(self.clone(), pieces, (laps, epoch)).into_parcel(), drawn)
        } else {
            let mut out = self.builder(rows, epoch);
            let (laps, drawn) = self.draw_to(cursor, (epoch, rows), &mut out);
            out.truncate(out.rows());
            (Parcel::new(self.as_copies(out.finish(), &laps)), drawn)
        };
        let is_last = matches!(drawn, Ok(true));
        Drawn { parcel, from, is_last, failure: drawn.err() }
    }

    /// Takes the records of a chunk; whether nothing follows.
    fn draw_to(
        &self,
        cursor: &mut Cursor,
        (epoch, rows): (u32, usize),
        to: &mut dyn Taking,
    ) -> (Laps, Result<bool, Failure>) {
        let mut laps = Laps::new();
        while to.rows() < rows {
            let before = to.rows();
            let drawn = self.draw_some(cursor, (epoch, rows), to);
            laps.push((cursor.lap, before..to.rows()));
            if cursor.stream.is_none() {
                cursor.lap += 1;
            }
            if !matches!(drawn, Ok(false)) {
                return (laps, drawn);
            }
        }
        (laps, Ok(false))
    }

    /// The records of a pass, where they are read in an order that is not asked for by number.
    fn stream(&self, lap: u64, epoch: u32) -> Option<Box<dyn Stream>> {
        match self.spans {
            Some(Interleave { key, open }) => {
                let key = mix(key, mix(u64::from(epoch), lap));
                self.source.interleaved(Interleave { key, open })
            }
            None => self.source.stream(),
        }
    }

    /// Opens the next pass where none is open; `false` where there is none.
    fn open_lap(&self, cursor: &mut Cursor, epoch: u32) -> Result<bool, Failure> {
        if cursor.stream.is_some() {
            return Ok(true);
        }
        if self.laps.is_some_and(|it| cursor.lap >= it) || self.take == Some(0) {
            return Ok(false);
        }
        let none =
            || Failure::Program("a source can be read only once; this is a bug in pipec".into());
        let mut stream = self.stream(cursor.lap, epoch).ok_or_else(none)?;
        let place = cursor.resume.take().unwrap_or_default();
        cursor.lap_rows = place.lap_rows;
        if let Some(numbers) = place.place {
            stream.go_to(&numbers)?;
            cursor.stream = Some(stream);
            return Ok(true);
        }
        let mut left = self.skip.saturating_add(place.lap_rows);
        while left > 0 {
            let rows = left.min(self.rows as u64) as usize;
            let mut skipped = self.builder(rows, epoch);
            stream.next(rows, &mut skipped)?;
            if skipped.rows() == 0 {
                break;
            }
            left -= skipped.rows() as u64;
        }
        cursor.stream = Some(stream);
        Ok(true)
    }

    /// Reads on; closes the pass at its end. Whether there is no further one, or the source is empty, so that
    /// none helps.
    fn draw_some(
        &self,
        cursor: &mut Cursor,
        (epoch, rows): (u32, usize),
        to: &mut dyn Taking,
    ) -> Result<bool, Failure> {
        if !self.open_lap(cursor, epoch)? {
            return Ok(true);
        }
        let left = self.take.map_or(u64::MAX, |it| it - cursor.lap_rows);
        let rows = (rows - to.rows()).min(usize::try_from(left).unwrap_or(usize::MAX));
        let before = to.rows();
        if let Some(stream) = cursor.stream.as_mut().filter(|_| rows > 0) {
            to.take(&mut **stream, rows)?;
        }
        let found = to.rows() - before;
        cursor.lap_rows += found as u64;
        if found > 0 {
            return Ok(false);
        }
        cursor.stream = None;
        Ok(cursor.lap_rows == 0)
    }
}

impl Pass {
    /// The part of `whole` records that is `lane`: parts follow each other, and the first ones have
    /// one record more where they cannot be as large.
    pub(super) fn new(whole: u64, Lane { number, count, .. }: Lane) -> Self {
        let (number, count) = (u64::from(number), u64::from(count.max(1)));
        let (each, more) = (whole / count, whole % count);
        let first = number * each + number.min(more);
        let len = each + u64::from(number < more);
        Self { whole, windows: 0, all: whole, first, len }
    }

    /// The same of the records of windows: so many windows, of so many records each, of a pass of `whole` records.
    fn of_windows(whole: u64, (windows, length): (u64, u64), lane: Lane) -> Self {
        let Self { first, len, .. } = Self::new(windows, lane);
        let [all, first, len] = [windows, first, len].map(|it| it.saturating_mul(length));
        Self { whole, windows, all, first, len }
    }
}

impl Places {
    /// Some of them.
    pub(super) fn cut(&self, rows: Range<usize>) -> Self {
        let first = self.places.start;
        let places = first + rows.start as u64..first + rows.end as u64;
        Self { places, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_parts_of_about_the_same_size() {
        for (whole, count) in
            [(0, 1), (0, 3), (7, 3), (64, 64), (63, 64), (1000, 7), (u64::MAX, 256)]
        {
            let lanes =
                (0..count).map(|number| Pass::new(whole, Lane { number, count, ..Lane::ONE }));
            let mut next = 0;
            for it in lanes {
                assert_eq!((it.whole, it.first), (whole, next));
                assert!(it.len.abs_diff(whole / u64::from(count)) <= 1);
                next += it.len;
            }
            assert_eq!(next, whole);
        }
    }
}
