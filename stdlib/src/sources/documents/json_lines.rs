//! Documents in JSON Lines.

use super::super::framed::{Format, Raw, file_failure};
use super::{FAULT, Said};
use crate::{
    functions::text::{
        guarded::ColumnFaults,
        json::{
            member,
            typed::{Keys, Object},
        },
    },
    prelude::*,
    records::{FileError, Place, RecordFault, RecordIndex, RecordReader},
};
use std::{path::PathBuf, sync::Arc};

/// What to do about a line whose fields cannot be read.
const HELP: &str = "drop such records with `else skip`, or name other fields";

pub(super) struct JsonLines {
    /// What is read in one pass, where all of it are strings.
    wanted: Object,
    /// What each column of the chunks is filled with.
    columns: Vec<Filled>,
    faults: bool,
}

enum Filled {
    /// The member of this name; the number of the field.
    Member(String, usize),
    /// What is wrong with the line.
    Fault,
}

impl JsonLines {
    pub(super) fn new(said: &Said, columns: &[Field]) -> Result<Self, String> {
        let mut wanted = Object::default();
        let filled = |(at, field): (usize, &Field)| {
            if field.name == FAULT {
                return Ok(Filled::Fault);
            }
            let number = said.number(&field.name);
            let name = &said.columns[number].1;
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            wanted.want(&pointer, (at, DType::Str)).map(|()| Filled::Member(name.clone(), number))
        };
        let columns = columns.iter().enumerate().map(filled).collect::<Result<_, _>>()?;
        Ok(Self { wanted, columns, faults: said.faults })
    }

    /// Appends the fields of a line one by one; `false` in place of one that cannot be read, of which `bad` is told.
    fn append_each(&self, line: &[u8], out: &mut ChunkBuilder, bad: &mut dyn FnMut(usize, &Fault)) {
        for (filled, to) in self.columns.iter().zip(&mut out.columns) {
            let Filled::Member(name, number) = filled else { continue };
            // The text must be one; of other fields, it is what is written.
            match member(line, name.as_bytes(), *number > 0) {
                Ok(text) => to.push_text(&text),
                Err(fault) => {
                    to.push_text(b"");
                    bad(*number, &fault);
                }
            }
        }
    }

    fn append_told(&self, told: &str, out: &mut ChunkBuilder) {
        for (filled, to) in self.columns.iter().zip(&mut out.columns) {
            if matches!(filled, Filled::Fault) {
                to.push_text(told.as_bytes());
            }
        }
    }
}

impl Format for JsonLines {
    type Scratch = Keys;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::lines(files.clone()))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_lines(files.clone()).map_err(file_failure)
    }

    fn append(
        &self,
        record: Raw<'_>,
        keys: &mut Keys,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        record.check_utf8()?;
        let rows = out.rows();
        if !self.wanted.read(record.bytes, keys, &mut out.columns) {
            out.truncate(rows);
            let mut first = None;
            self.append_each(record.bytes, out, &mut |_, fault| {
                first.get_or_insert_with(|| RecordFault::new(fault.detail.clone(), HELP));
            });
            if let Some(fault) = first {
                out.truncate(rows);
                return Err(fault);
            }
        }
        self.append_told("", out);
        Ok(())
    }

    fn append_fault(
        &self,
        error: FileError,
        (record, _): (Raw<'_>, &mut Keys),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        if !self.faults {
            return Err(file_failure(error));
        }
        let line = if let Some(Place::Line(it)) = error.place { it } else { 0 };
        let told = |message: &str| format!("{}:{line}: {message}: {}", error.path, error.help);
        if record.check_utf8().is_err() {
            for (filled, to) in self.columns.iter().zip(&mut out.columns) {
                if matches!(filled, Filled::Member(..)) {
                    to.push_text(b"");
                }
            }
            self.append_told(&told(&error.message), out);
            return Ok(());
        }
        let mut faults = ColumnFaults::default();
        self.append_each(record.bytes, out, &mut |number, fault| {
            faults.add(number, &told(&fault.detail));
        });
        self.append_told(&faults.text(), out);
        Ok(())
    }
}
