//! Arrow IPC files (Feather version 2): a record batch a shard, in the layout of `--out -`.

use super::{DataFormat, Format, Opened, Shard, unfit};
use crate::session::sink::arrow::Table;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use plan::Field;
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat = DataFormat {
    name: "arrow",
    extension: "arrow",
    index: None,
    open,
    open_batches: None,
    copies: 2,
};

struct Arrow(Table);

fn open(fields: &[Field]) -> Opened {
    Ok(Box::new(Arrow(Table::of(fields, false)?)))
}

impl Format for Arrow {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        let written = || -> Result<(), ArrowError> {
            let mut writer = FileWriter::try_new(out, self.0.schema())?;
            writer.write(&self.0.batch(shard.chunk, None)?)?;
            writer.finish()
        };
        written().map_err(|it| match it {
            ArrowError::IoError(_, it) => it,
            other => unfit(other),
        })
    }
}
