//! Parquet files, compressed with Snappy, a row group a shard: the columns are those of Arrow, whose schema is kept in
//! the footer.

use super::{DataFormat, Format, Opened, Shard, unfit};
use crate::session::sink::arrow::Table;
use parquet::{
    arrow::ArrowWriter, basic::Compression, errors::ParquetError,
    file::properties::WriterProperties,
};
use plan::Field;
use std::io::{self, Write};

pub(super) const FORMAT: DataFormat = DataFormat {
    name: "parquet",
    extension: "parquet",
    index: None,
    open,
    open_batches: None,
    copies: 5,
};

struct Parquet {
    table: Table,
    properties: WriterProperties,
}

fn open(fields: &[Field]) -> Opened {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        // A file has one row group, however many rows it has.
        .set_max_row_group_row_count(None)
        // The crate's version would make other bytes of the same records.
        .set_created_by("pipec".to_owned());
    let table = Table::of(fields, false)?;
    Ok(Box::new(Parquet { table, properties: properties.build() }))
}

impl Format for Parquet {
    fn write(&self, shard: &Shard<'_>, out: &mut dyn Write) -> io::Result<()> {
        // The writer wants to be sent elsewhere; it asks for much at a time.
        let mut bytes = Vec::new();
        let written = |bytes: &mut Vec<u8>| -> Result<(), ParquetError> {
            let batch = self.table.batch(shard.chunk, None)?;
            let (schema, properties) = (self.table.schema().clone(), self.properties.clone());
            let mut writer = ArrowWriter::try_new(bytes, schema, Some(properties))?;
            writer.write(&batch)?;
            writer.close()?;
            Ok(())
        };
        written(&mut bytes).map_err(unfit)?;
        out.write_all(&bytes)
    }
}
