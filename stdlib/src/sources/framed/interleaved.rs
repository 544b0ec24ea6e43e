//! Records of several files in turn, or of parts of large ones: these in a drawn order, so many open at a time.

use super::{
    Format, Inner,
    in_order::{Found, Run, Walk, changed},
    parts::{PART, Part},
};
use runtime::{Counted, Failure, Interleave, Permutation, Stream, Unread};
use std::sync::Arc;

/// Bytes of the blocks of all open files together, and of one at the least.
const BLOCKS: usize = 1 << 20;
const BLOCK_MIN: usize = 64 << 10;

/// The records of parts that are open at a time, one of each in turn.
pub(super) struct Interleaved<F> {
    inner: Arc<Inner<F>>,
    order: Interleave,
    /// Bytes of a part.
    bytes: u64,
    /// Those that are open, each in its slot.
    slots: Vec<Option<Walk>>,
    /// The slot whose turn it is.
    turn: usize,
    /// How many were opened, in the drawn order.
    opened: u64,
}

impl<F: Format> Interleaved<F> {
    pub(super) fn new(inner: Arc<Inner<F>>, order: Interleave) -> Self {
        let slots = (0..order.open.max(1)).map(|_| None).collect();
        Self { inner, order, bytes: PART, slots, turn: 0, opened: 0 }
    }

    fn block(&self) -> usize {
        (BLOCKS / self.slots.len()).max(BLOCK_MIN)
    }

    fn parts(&self) -> Result<Arc<[Part]>, Failure> {
        self.inner.parts(self.slots.len(), self.bytes)
    }

    /// Opens the next part in the slot whose turn it is, if that is free; whether one is open there now.
    fn open(&mut self, parts: &[Part]) -> bool {
        let (block, n) = (self.block(), parts.len() as u64);
        let slot = &mut self.slots[self.turn];
        if slot.is_none() && self.opened < n {
            let part = Permutation::new(n, self.order.key).at(self.opened);
            *slot = Some(Walk::only(parts[part as usize], block));
            self.opened += 1;
        }
        slot.is_some()
    }

    /// Appends at most `rows` records to what was found.
    fn find_into(&mut self, found: &mut Found<F>, rows: usize) -> Result<(), Failure> {
        let inner = self.inner.clone();
        let (files, parts) = (inner.files()?, self.parts()?);
        // The run that each slot has added to last.
        let mut runs: Vec<Option<usize>> = vec![None; self.slots.len()];
        let Found { runs: all, turns: Some(turns), .. } = found else { return Ok(()) };
        while turns.len() < rows {
            let turn = self.turn;
            if !self.open(&parts) && self.slots.iter().all(Option::is_none) {
                return Ok(());
            }
            if let Some(walk) = &mut self.slots[turn] {
                let extended = runs[turn].filter(|it| walk.extend(&mut all[*it]));
                let run = match extended {
                    Some(run) => Some(run),
                    None => walk.take(1, (&inner, files))?.map(|it: Run| {
                        all.push(it);
                        all.len() - 1
                    }),
                };
                match run {
                    Some(run) => turns.push(run as u32),
                    None => self.slots[turn] = None,
                }
                runs[turn] = run;
            }
            self.turn = (turn + 1) % self.slots.len();
        }
        Ok(())
    }
}

impl<F: Format> Stream for Interleaved<F> {
    fn finds(&self) -> bool {
        self.inner.format.is_found_first()
    }

    fn find(&mut self, rows: usize) -> Result<Option<Box<dyn Unread>>, Failure> {
        let mut found =
            Found { inner: self.inner.clone(), runs: Vec::new(), turns: Some(Counted::new()) };
        let result = self.find_into(&mut found, rows);
        if found.runs.is_empty() {
            return result.map(|()| None);
        }
        // What comes before a file that cannot be read is given; the next call meets it again.
        Ok(Some(Box::new(found)))
    }

    /// Whose turn it is, how many parts were opened, and the place in each that is open.
    fn place(&self) -> Option<Vec<u64>> {
        let mut place = vec![self.turn as u64, self.opened];
        for slot in &self.slots {
            place.push(u64::from(slot.is_some()));
            place.extend(slot.iter().flat_map(Walk::place));
        }
        Some(place)
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let inner = self.inner.clone();
        let (files, parts, block) = (inner.files()?, self.parts()?, self.block());
        let ([turn, opened], mut rest) = place.split_first_chunk().ok_or_else(changed)?;
        (self.turn, self.opened) = (*turn as usize, *opened);
        if self.turn >= self.slots.len() || self.opened > parts.len() as u64 {
            return Err(changed());
        }
        for slot in &mut self.slots {
            let (is_open, others) = rest.split_first().ok_or_else(changed)?;
            rest = others;
            if *is_open == 0 {
                continue;
            }
            let (place, others) = rest.split_first_chunk::<5>().ok_or_else(changed)?;
            rest = others;
            let file = u32::try_from(place[0]).map_err(|_| changed())?;
            let part = parts.iter().find(|it| it.has(file, place[3])).ok_or_else(changed)?;
            let mut walk = Walk::only(*part, block);
            walk.go_to(*place, (&inner, files))?;
            *slot = Some(walk);
        }
        if rest.is_empty() { Ok(()) } else { Err(changed()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::listed::{Listed, folder::Folder};
    use super::super::{Lines, Records};
    use super::*;
    use plan::{DType, Field, Type};
    use runtime::{Chunk, ChunkBuilder, Pool, Source};

    const KEY: u64 = 11;

    fn fields() -> Vec<Field> {
        vec![Field { name: "text".to_owned(), ty: Type::scalar(DType::Str) }]
    }

    /// At most `rows` records.
    fn next(stream: &mut dyn Stream, rows: usize) -> Result<Chunk, Failure> {
        let mut out = ChunkBuilder::new(&fields(), rows, 0, &Pool::default());
        stream.next(rows, &mut out)?;
        Ok(out.finish())
    }

    fn records(chunk: &Chunk) -> Vec<(u64, String)> {
        let text = |it| chunk.columns[0].row(it).as_str().to_owned();
        (0..chunk.rows).map(|it| (chunk.ids()[it], text(it))).collect()
    }

    fn rest(stream: &mut dyn Stream, rows: usize) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        loop {
            let chunk = next(stream, rows).unwrap();
            if chunk.rows == 0 {
                return all;
            }
            all.extend(records(&chunk));
        }
    }

    /// What `interleave(cycle_length=open, block_length=1)` of tf.data gives, as its iterator is written.
    fn interleave(mut files: Vec<Vec<String>>, open: usize) -> Vec<String> {
        let (mut given, mut cycle, mut at) = (Vec::new(), vec![None; open], 0);
        files.iter_mut().for_each(|it| it.reverse());
        files.reverse();
        loop {
            match &mut cycle[at] {
                Some(file) => match Vec::pop(file) {
                    Some(record) => {
                        given.push(record);
                        at = (at + 1) % open;
                    }
                    None => {
                        cycle[at] = None;
                        at = (at + 1) % open;
                    }
                },
                None => match files.pop() {
                    Some(file) => cycle[at] = Some(file),
                    None if cycle.iter().all(Option::is_none) => return given,
                    None => at = (at + 1) % open,
                },
            }
        }
    }

    #[test]
    fn records_come_as_those_of_an_interleave() {
        let lens = [3, 0, 7, 1, 1, 12, 4];
        let lines = |file: usize| (0..lens[file]).map(move |it| format!("{file}:{it}"));
        let named: Vec<(String, String)> = (0..lens.len())
            .map(|it| (format!("{it}.txt"), lines(it).map(|it| it + "\n").collect()))
            .collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(a, b)| (&**a, &**b)).collect();
        let folder = Folder::new("interleaved", &named);
        let listed = Listed::new(&folder.pattern("*.txt")).unwrap();
        let source = Records::new(Lines { columns: 1 }, listed, 7);
        let order = Permutation::new(lens.len() as u64, KEY);
        let drawn: Vec<Vec<String>> =
            (0..lens.len() as u64).map(|it| lines(order.at(it) as usize).collect()).collect();
        let in_order = rest(&mut *source.stream().unwrap(), 100);

        for open in [1, 2, 3, 7, 32] {
            let stream = || source.interleaved(Interleave { key: KEY, open }).unwrap();
            let all = rest(&mut *stream(), 100);
            let texts: Vec<String> = all.iter().map(|it| it.1.clone()).collect();
            assert_eq!(texts, interleave(drawn.clone(), open), "{open} open");
            // They are the same records.
            assert!(all.iter().all(|it| in_order.contains(it)));
            for rows in [1, 2, 5] {
                let mut goes = stream();
                let mut given = 0;
                loop {
                    let mut resumed = stream();
                    resumed.go_to(&goes.place().unwrap()).unwrap();
                    assert_eq!(
                        rest(&mut *resumed, rows + 1),
                        all[given..],
                        "{open} open, at {given}"
                    );
                    let came = next(&mut *goes, rows).unwrap().rows;
                    if came == 0 {
                        break;
                    }
                    given += came;
                }
            }
        }
    }

    /// The lines of a file that begin in each part of so many bytes.
    fn parts(lines: &[String], bytes: usize) -> Vec<Vec<String>> {
        let (mut parts, mut at) = (std::collections::BTreeMap::<_, Vec<_>>::new(), 0);
        for line in lines {
            parts.entry(at / bytes).or_default().push(line.clone());
            at += line.len() + 1;
        }
        // An empty file is a part too.
        if parts.is_empty() { vec![Vec::new()] } else { parts.into_values().collect() }
    }

    #[test]
    fn large_files_come_in_parts_where_there_are_few() {
        let lens = [40, 0, 7, 23];
        let lines = |file: usize| -> Vec<String> {
            (0..lens[file]).map(|it| format!("{file}:{}", "x".repeat(it % 9))).collect()
        };
        let named: Vec<(String, String)> = (0..lens.len())
            .map(|it| (format!("{it}.txt"), lines(it).iter().map(|it| format!("{it}\n")).collect()))
            .collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(a, b)| (&**a, &**b)).collect();
        let folder = Folder::new("parts", &named);
        let source =
            Records::new(Lines { columns: 1 }, Listed::new(&folder.pattern("*.txt")).unwrap(), 7);
        let in_order = rest(&mut *source.stream().unwrap(), 100);
        for (bytes, open) in [(1, 5), (16, 5), (50, 7), (16, 32), (16, 4), (1 << 20, 32)] {
            let order = Interleave { key: KEY, open };
            let stream = || Interleaved { bytes, ..Interleaved::new(source.inner.clone(), order) };
            // As many files as are open come whole.
            let each = if open > lens.len() { bytes as usize } else { usize::MAX };
            let all: Vec<Vec<String>> =
                (0..lens.len()).flat_map(|it| parts(&lines(it), each)).collect();
            let order = Permutation::new(all.len() as u64, KEY);
            let drawn = (0..all.len() as u64).map(|it| all[order.at(it) as usize].clone());
            let given = rest(&mut stream(), 100);
            let texts: Vec<String> = given.iter().map(|it| it.1.clone()).collect();
            assert_eq!(texts, interleave(drawn.collect(), open), "{bytes} bytes, {open} open");
            assert!(given.iter().all(|it| in_order.contains(it)));
            for rows in [1, 3] {
                let (mut goes, mut came) = (stream(), 0);
                loop {
                    let mut resumed = stream();
                    resumed.go_to(&goes.place().unwrap()).unwrap();
                    let expected = &given[came..];
                    assert_eq!(rest(&mut resumed, rows + 1), expected, "{bytes} bytes, at {came}");
                    let n = next(&mut goes, rows).unwrap().rows;
                    if n == 0 {
                        break;
                    }
                    came += n;
                }
            }
        }
    }

    #[test]
    fn a_place_that_does_not_fit_is_refused() {
        let folder = Folder::new("places", &[("a.txt", "1\n2\n"), ("b.txt", "3\n4\n")]);
        let listed = Listed::new(&folder.pattern("*.txt")).unwrap();
        let source = Records::new(Lines { columns: 1 }, listed, 7);
        let stream = |open| source.interleaved(Interleave { key: KEY, open }).unwrap();
        let mut two = stream(2);
        next(&mut *two, 3).unwrap();
        let place = two.place().unwrap();
        assert!(stream(2).go_to(&place).is_ok());
        let wrong: [&[u64]; 4] = [&place[..place.len() - 1], &[], &[2, 0], &[0, 9, 0, 0]];
        for wrong in wrong {
            let failure = stream(2).go_to(wrong).unwrap_err().to_string();
            assert!(failure.contains("became shorter"), "{failure}");
        }
        // A forged number is met in the file, if it is one that matters; it must not be a panic.
        for at in 0..place.len() {
            let mut forged = place.clone();
            forged[at] = u64::MAX;
            let _ = stream(2).go_to(&forged);
        }
        assert!(stream(3).go_to(&place).is_err());
    }
}
