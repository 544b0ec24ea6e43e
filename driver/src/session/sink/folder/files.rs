//! The files of one number.

use super::manifest::{Form, Manifest};
use crate::session::sink::{
    data::{self, Format, Shard},
    line::Line,
    location::{Content, Location},
    npy,
};
use plan::{DType, Field};
use runtime::{Chunk, Column, Failure, Tensor};
use std::io::{self, Write};

/// Writes the files of one number.
pub(super) struct Files<'a> {
    pub(super) location: &'a mut dyn Location,
    pub(super) fields: &'a [Field],
    pub(super) data: &'a Option<Box<dyn Format>>,
    pub(super) manifest: &'a mut Manifest,
}

impl Files<'_> {
    /// A batch: one record of `chunk`, with so many outputs before it.
    pub(super) fn batch(&mut self, chunk: &Chunk, row: usize, before: u64) -> Result<(), Failure> {
        if let Some(data) = self.data {
            return self.shard(&**data, &chunk.cut(row..row + 1), before);
        }
        let mut line = Line::new(chunk.epoch, 1);
        for (at, column) in chunk.columns.iter().enumerate() {
            if column.dtype().is_text() {
                let texts = column.texts(row).unwrap_or_else(|| column.cut(row..row + 1));
                self.rows(&mut line, at, &texts)?;
                continue;
            }
            let value = column.row(row);
            let name = self.name(&self.fields[at].name, "npy");
            self.write(&mut line, name, &mut |out| {
                out.write_all(&npy::header(value.dtype(), value.shape()))?;
                elements(out, &value)
            })?;
        }
        self.end(&line)
    }

    /// Some records, with so many before them.
    pub(super) fn piece(&mut self, piece: &Chunk, before: u64) -> Result<(), Failure> {
        if let Some(data) = self.data {
            return self.shard(&**data, piece, before);
        }
        let outputs = piece.rows as u64;
        let mut line = Line::new(piece.epoch, outputs);
        for (at, column) in piece.columns.iter().enumerate() {
            self.rows(&mut line, at, column)?;
        }
        self.end(&line)
    }

    /// The same in one file that holds all fields.
    fn shard(&mut self, data: &dyn Format, chunk: &Chunk, first: u64) -> Result<(), Failure> {
        let outputs = chunk.rows as u64;
        let mut line = Line::new(chunk.epoch, outputs);
        let shard = Shard { fields: self.fields, chunk, first };
        let name = self.manifest.names(self.manifest.files).concat();
        let mut unfit = None;
        let written = self.write(&mut line, name, &mut |out| {
            let written = data.write(&shard, out);
            let why = written.as_ref().err();
            unfit =
                why.filter(|it| it.kind() == io::ErrorKind::InvalidData).map(ToString::to_string);
            written
        });
        match unfit {
            Some(detail) => Err(Failure::Data { label: String::new(), detail }),
            None => written.and_then(|()| self.end(&line)),
        }
    }

    /// All rows of the column of field `at`.
    fn rows(&mut self, line: &mut Line, at: usize, column: &Column) -> Result<(), Failure> {
        let (field, of) = (&self.fields[at], &self.manifest.fields[at]);
        let (form, shape) = (of.form, of.shape_folder());
        let file = self.name(&field.name, form.extension());
        match form {
            Form::Array | Form::Column => self.write(line, file, &mut |out| array(out, column)),
            Form::Ragged => {
                self.write(line, file, &mut |out| values(out, column))?;
                self.write(line, self.name(&shape, "npy"), &mut |out| shapes(out, column))
            }
            Form::Lines => self.write(line, file, &mut |out| {
                (0..column.rows()).try_for_each(|it| text_line(out, field, &column.row(it)))
            }),
        }
    }

    /// The name of the present file of a field.
    fn name(&self, folder: &str, extension: &str) -> String {
        format!("{folder}/{:08}.{extension}", self.manifest.files)
    }

    fn write(
        &mut self,
        line: &mut Line,
        name: String,
        content: Content<'_>,
    ) -> Result<(), Failure> {
        let sum = self.location.write(&name, content)?;
        line.files.insert(name, sum);
        Ok(())
    }

    /// All files of a number are written.
    fn end(&mut self, line: &Line) -> Result<(), Failure> {
        self.location.push(line)?;
        self.manifest.files += 1;
        Ok(())
    }
}

/// All rows, of the same extents, as one array.
fn array(out: &mut dyn Write, column: &Column) -> io::Result<()> {
    let mut shape = vec![column.rows()];
    shape.extend(column.shape().into_iter().flat_map(|it| it.iter()));
    out.write_all(&npy::header(column.dtype(), &shape))?;
    match column.stacked() {
        Some(all) => elements(out, &all),
        None => (0..column.rows()).try_for_each(|it| elements(out, &column.row(it))),
    }
}

/// The elements of all rows, one after the other.
fn values(out: &mut dyn Write, column: &Column) -> io::Result<()> {
    let n_elements = column.bytes() / column.dtype().size();
    out.write_all(&npy::header(column.dtype(), &[n_elements]))?;
    (0..column.rows()).try_for_each(|it| elements(out, &column.row(it)))
}

/// The extents of each row: `i64[rows, axes]`.
fn shapes(out: &mut dyn Write, column: &Column) -> io::Result<()> {
    let axes = if column.rows() == 0 { 0 } else { column.row(0).shape().len() };
    out.write_all(&npy::header(DType::I64, &[column.rows(), axes]))?;
    for row in 0..column.rows() {
        for &extent in column.row(row).shape() {
            out.write_all(&(extent as i64).to_le_bytes())?;
        }
    }
    Ok(())
}

fn elements(out: &mut dyn Write, value: &Tensor<'_>) -> io::Result<()> {
    out.write_all(&data::bytes(value))
}

/// A text as a line of JSON.
fn text_line(out: &mut dyn Write, field: &Field, value: &Tensor<'_>) -> io::Result<()> {
    data::write_json(out, field, value)?;
    out.write_all(b"\n")
}
