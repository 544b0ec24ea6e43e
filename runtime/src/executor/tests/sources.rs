//! Sources of the small library: numbers, in order or by number, whole or torn.

use super::library::int;
use crate::{ChunkBuilder, Failure, Source, SourceCall, Stream, Unread, mix};
use std::{
    ops::Range,
    sync::{Condvar, Mutex},
};

/// The whole numbers from 0.
pub(super) struct Numbers {
    n: u64,
    place: u64,
}

impl Numbers {
    pub(super) fn of(call: &SourceCall<'_>) -> Self {
        Self { n: int(call.args, 0) as u64, place: call.place }
    }
}

impl Source for Numbers {
    fn len(&self) -> Result<u64, Failure> {
        Ok(self.n)
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        for &number in numbers {
            assert!(number < self.n);
            out.ids.push_scalar(mix(self.place, number));
            out.columns[0].push_scalar(number as i64);
        }
        Ok(())
    }
}

/// The same, to be read in order, in portions of its own.
pub(super) struct Streamed(pub(super) Numbers);

impl Source for Streamed {
    fn len(&self) -> Result<u64, Failure> {
        self.0.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        self.0.fetch(numbers, out)
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        Some(Box::new(Reading { from: Numbers { ..self.0 }, next: 0 }))
    }
}

struct Reading {
    from: Numbers,
    next: u64,
}

impl Stream for Reading {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let first = self.next;
        self.next = self.from.n.min(first + rows.min(5) as u64);
        self.from.fetch(&(first..self.next).collect::<Vec<_>>(), out)
    }
}

/// The same, found in order and read by any worker; one number cannot be read.
pub(super) struct FoundFirst(pub(super) Numbers, pub(super) u64);

impl Source for FoundFirst {
    fn len(&self) -> Result<u64, Failure> {
        self.0.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        self.0.fetch(numbers, out)
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        let from = Numbers { ..self.0 };
        Some(Box::new(Finding { reading: Reading { from, next: 0 }, torn: self.1 }))
    }

    fn waits(&self) -> bool {
        true
    }
}

struct Finding {
    reading: Reading,
    torn: u64,
}

impl Stream for Finding {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        self.reading.next(rows, out)
    }

    fn finds(&self) -> bool {
        true
    }

    fn find(&mut self, rows: usize) -> Result<Option<Box<dyn Unread>>, Failure> {
        let Reading { from, next } = &mut self.reading;
        let first = *next;
        *next = from.n.min(first + rows.min(5) as u64);
        let found =
            FoundNumbers { from: Numbers { ..*from }, numbers: first..*next, torn: self.torn };
        Ok((found.len() > 0).then(|| Box::new(found) as _))
    }

    fn place(&self) -> Option<Vec<u64>> {
        Some(vec![self.reading.next])
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        self.reading.next = place[0];
        Ok(())
    }
}

struct FoundNumbers {
    from: Numbers,
    numbers: Range<u64>,
    torn: u64,
}

impl Unread for FoundNumbers {
    fn len(&self) -> usize {
        (self.numbers.end - self.numbers.start) as usize
    }

    fn bytes(&self) -> usize {
        8 * self.len()
    }

    fn read(&self, out: &mut ChunkBuilder) -> Result<(), Failure> {
        for number in self.numbers.clone() {
            // Those that come first take longest, so that the others overtake them.
            std::hint::black_box((0..8 * (8 - number % 8)).fold(number, mix));
            if number == self.torn {
                return Err(Failure::Io { path: number.to_string(), detail: "it is torn".into() });
            }
            self.from.fetch(&[number], out)?;
        }
        Ok(())
    }
}

/// The same, by the reader threads.
pub(super) struct Read(pub(super) Numbers);

impl Source for Read {
    fn len(&self) -> Result<u64, Failure> {
        self.0.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        self.0.fetch(numbers, out)
    }

    fn waits(&self) -> bool {
        true
    }
}

/// Cannot be read at one number.
pub(super) struct Torn(pub(super) Numbers, pub(super) u64);

impl Source for Torn {
    fn len(&self) -> Result<u64, Failure> {
        self.0.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        if numbers.contains(&self.1) {
            return Err(Failure::Io { path: self.1.to_string(), detail: "it is torn".into() });
        }
        self.0.fetch(numbers, out)
    }
}

/// The same, where the failure says nothing of the place.
pub(super) struct Unplaced(pub(super) Numbers, pub(super) u64);

impl Source for Unplaced {
    fn len(&self) -> Result<u64, Failure> {
        self.0.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        if numbers.contains(&self.1) {
            return Err(Failure::Data {
                label: String::new(),
                detail: format!("{} is bad", self.1),
            });
        }
        self.0.fetch(numbers, out)
    }
}

/// Gives nothing before the gate is opened.
pub(super) struct Gated;

/// Whether the gate is open, and who waits for that.
pub(super) static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

impl Source for Gated {
    fn len(&self) -> Result<u64, Failure> {
        Ok(1)
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let open = GATE.0.lock().unwrap();
        drop(GATE.1.wait_while(open, |it| !*it).unwrap());
        Numbers { n: 1, place: 0 }.fetch(numbers, out)
    }
}
