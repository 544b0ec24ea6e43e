//! Columns that any thread reads hold what the crate `parquet` reads.

use super::{
    super::{Bound, Comparison, Opened},
    *,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array, cast::AsArray,
};
use parquet::basic::Encoding;
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::properties::{WriterProperties, WriterVersion},
};
use runtime::{mix, storage};

/// Columns of all kinds that any thread reads: `distinct` different values, of 8 rows `nulls` without one.
fn columns(rows: u64, seed: u64, (distinct, nulls): (u64, u64)) -> RecordBatch {
    let mut column = 0;
    let mut drawn = || {
        column += 1;
        let drawn = move |row| mix(seed, mix(column, row));
        let value = move |row| (drawn(row) % 8 >= nulls).then(|| mix(7, drawn(row) / 8 % distinct));
        // Runs of one value, too.
        (0..rows).map(move |row| value(if row % 100 < 40 { row / 100 } else { row }))
    };
    macro_rules! numbers {
        ($array:ty, $of:ty) => {
            Arc::new(drawn().map(|it| it.map(|it| it as $of)).collect::<$array>()) as ArrayRef
        };
    }
    let text = |it: u64| "é".repeat((it % 5) as usize) + &it.to_string();
    let all: Vec<ArrayRef> = vec![
        numbers!(Int8Array, i8),
        numbers!(UInt8Array, u8),
        numbers!(Int16Array, i16),
        numbers!(UInt16Array, u16),
        numbers!(Int32Array, i32),
        numbers!(UInt32Array, u32),
        numbers!(Int64Array, i64),
        numbers!(UInt64Array, u64),
        numbers!(Float32Array, f32),
        numbers!(Float64Array, f64),
        numbers!(Date32Array, i32),
        numbers!(TimestampMicrosecondArray, i64),
        Arc::new(drawn().map(|it| it.map(|it| it % 2 == 0)).collect::<BooleanArray>()),
        Arc::new(drawn().map(|it| it.map(text)).collect::<StringArray>()),
        Arc::new(drawn().map(|it| it.map(|it| it.to_le_bytes())).collect::<BinaryArray>()),
    ];
    let named = all.into_iter().enumerate().map(|(at, it)| (format!("c{at}"), it));
    // Whether a value may be missing is another way to write those that are all there.
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, it)| (name, it, nulls > 0))).unwrap()
}

fn written(batch: &RecordBatch, properties: WriterProperties) -> ParquetFile {
    let (file, path) = written_at(batch, properties);
    std::fs::remove_file(&path).unwrap();
    file
}

fn written_at(
    batch: &RecordBatch,
    properties: WriterProperties,
) -> (ParquetFile, std::path::PathBuf) {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    let name = format!("pipec-flat-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    let file = ParquetFile::of(&path, &mut || ()).unwrap();
    assert!(storage::of(&path).access().is_none());
    (file, path)
}

/// The values of a column as bytes, row by row.
fn bytes_of(array: &dyn Array) -> Vec<Option<Vec<u8>>> {
    let data = array.to_data();
    let value = |row: usize| match array.data_type() {
        DataType::Boolean => vec![u8::from(array.as_boolean().value(row))],
        DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes().to_vec(),
        DataType::Binary => array.as_binary::<i32>().value(row).to_vec(),
        ty => {
            let size = ty.primitive_width().unwrap();
            data.buffers()[0].as_slice()[(data.offset() + row) * size..][..size].to_vec()
        }
    };
    (0..array.len()).map(|row| array.is_valid(row).then(|| value(row))).collect()
}

fn found(file: &ParquetFile, start: u64, step: u64) -> Vec<Vec<Option<Vec<u8>>>> {
    let names: Vec<Vec<String>> =
        file.schema().fields().iter().map(|it| vec![it.name().clone()]).collect();
    let mut all = vec![Vec::new(); names.len()];
    for (part, rows) in file.parts().iter().enumerate() {
        let mut row = if part == 0 { start } else { 0 };
        let mut walk = file.walk(&Walked { part, wanted: &names, conditions: &[], row }).unwrap();
        while row < *rows {
            let n = step.min(rows - row) as usize;
            let lying = walk.take(n as u64).unwrap();
            assert!(lying.lost().is_empty() && lying.rows() == (row..row + n as u64));
            let Ok(Opened::Values(values)) = lying.open(&lying.rows()) else { panic!("row {row}") };
            for (values, to) in values.iter().zip(&mut all) {
                if values.is_text() {
                    values.texts(&mut |it| to.push(it.map(<[u8]>::to_vec))).unwrap();
                    continue;
                }
                let size = [1, 2, 4, 8].into_iter();
                let room = size.map(|it| vec![9; n * it]).find_map(|mut room| {
                    values.fixed(&mut room).ok()?;
                    Some(room)
                });
                let room = room.unwrap();
                let size = room.len() / n;
                for row in 0..n {
                    let value = room[row * size..][..size].to_vec();
                    let is_there = values.nulls().is_none_or(|it| it.is_valid(row));
                    assert!(is_there || value.iter().all(|it| *it == 0));
                    to.push(is_there.then_some(value));
                }
            }
            row += n as u64;
        }
    }
    all
}

#[test]
fn any_thread_reads_what_was_written() {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let mut seed = 0;
    for distinct in [1, 3, 300, u64::MAX] {
        for nulls in [0, 2, 7, 8] {
            for page in [7, 64, 1000] {
                seed += 1;
                let batch = columns(530, seed, (distinct, nulls));
                let properties = WriterProperties::builder()
                    .set_writer_version(versions[seed as usize % 2])
                    .set_compression(
                        [Compression::UNCOMPRESSED, Compression::SNAPPY][seed as usize % 3 % 2],
                    )
                    .set_dictionary_enabled(seed % 4 > 0)
                    .set_dictionary_page_size_limit(if seed % 5 == 0 { 200 } else { 1 << 20 })
                    .set_data_page_row_count_limit(page)
                    .set_write_batch_size(page.min(16))
                    .set_max_row_group_row_count(Some(400))
                    // Only those that any thread reads.
                    .set_encoding(Encoding::PLAIN)
                    .build();
                let file = written(&batch, properties);
                let expected: Vec<_> = batch.columns().iter().map(|it| bytes_of(&**it)).collect();
                for (start, step) in [(0, 1000), (0, 13), (101, 64), (399, 1)] {
                    let expected = expected.iter().map(|it| it[start as usize..].to_vec());
                    let found = found(&file, start, step);
                    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                        let of = format!("column {at} of table {seed}, from {start} by {step}");
                        assert_eq!(*found, expected, "{of}");
                    }
                }
            }
        }
    }
}

/// Numbers of pages that are long enough are read from the file right to where they are wanted.
#[test]
fn long_pages_are_read_as_they_are_wanted() {
    for (nulls, version) in [
        (0, WriterVersion::PARQUET_1_0),
        (7, WriterVersion::PARQUET_1_0),
        (2, WriterVersion::PARQUET_2_0),
    ] {
        let batch = columns(9000, 3, (u64::MAX, nulls));
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(3500)
            .set_max_row_group_row_count(Some(8000))
            .set_encoding(Encoding::PLAIN)
            .build();
        let file = written(&batch, properties);
        let expected: Vec<_> = batch.columns().iter().map(|it| bytes_of(&**it)).collect();
        for (start, step) in [(0, 10_000), (17, 3000), (3400, 100)] {
            let expected = expected.iter().map(|it| it[start as usize..].to_vec());
            for (at, (found, expected)) in
                found(&file, start, step).iter().zip(expected).enumerate()
            {
                assert!(*found == expected, "column {at}, nulls {nulls}, from {start} by {step}");
            }
        }
    }
}

/// A file that is cut while it is read says so.
#[test]
fn a_file_that_was_cut_is_an_error() {
    let batch = columns(9000, 5, (u64::MAX, 0));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(4000)
        .set_encoding(Encoding::PLAIN)
        .build();
    let (file, path) = written_at(&batch, properties);
    let names: Vec<Vec<String>> =
        file.schema().fields().iter().map(|it| vec![it.name().clone()]).collect();
    let lying = file
        .walk(&Walked { part: 0, wanted: &names, conditions: &[], row: 0 })
        .unwrap()
        .take(4000)
        .unwrap();
    assert!(lying.lost().is_empty());
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    std::fs::remove_file(&path).unwrap();
    let Ok(Opened::Values(values)) = lying.open(&lying.rows()) else { panic!("not of values") };
    let mut said = values.iter().filter(|it| !it.is_text()).flat_map(|it| {
        [1, 2, 4, 8].into_iter().filter_map(|size| it.fixed(&mut vec![0; 4000 * size]).err())
    });
    assert!(said.any(|it| it.message.contains("it cannot be read")));
}

/// Long texts that a filter does not read are only read where a row is needed, and only such rows are lost.
#[test]
fn texts_of_rows_that_a_filter_drops_stay_unread() {
    let numbers: Int64Array = (0..200).map(|it| Some(it % 100)).collect();
    let text = |row: u64| format!("row {row:03} {}", "x".repeat(100));
    let texts: StringArray = (0..200).map(|it| Some(text(it))).collect();
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("text", Arc::new(texts))];
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10)
        .build();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (_, path) = written_at(&batch, properties);
    let mut bytes = std::fs::read(&path).unwrap();
    // The lengths of two texts: of a page of which no row is needed, and of one in which two are.
    for row in [13, 157] {
        let at = bytes.windows(8).position(|it| it == format!("row {row:03} ").as_bytes());
        bytes[at.unwrap() - 1] = 0x7f;
    }
    std::fs::write(&path, bytes).unwrap();
    let file = ParquetFile::of(&path, &mut || ()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let condition = |comparison, bound| Condition {
        path: vec!["n".to_owned()],
        test: Some((comparison, Bound::Int(bound))),
        nulls_matter: true,
    };
    let conditions = [condition(Comparison::Ge, 52), condition(Comparison::Lt, 54)];
    let wanted = [vec!["n".to_owned()], vec!["text".to_owned()]];
    for step in [1, 7, 200] {
        let asked = Walked { part: 0, wanted: &wanted, conditions: &conditions, row: 0 };
        let mut walk = file.walk(&asked).unwrap();
        let (mut lost, mut row) = (Vec::new(), 0);
        while row < 200 {
            let rows = walk.take(step.min(200 - row)).unwrap();
            let lost_here: Vec<u64> = rows.lost().into_iter().flat_map(|it| it.0).collect();
            for row in rows.rows().filter(|it| !lost_here.contains(it)) {
                let Ok(Opened::Values(values)) = rows.open(&(row..row + 1)) else { panic!() };
                let mut found = Vec::new();
                values[1].texts(&mut |it| found.push(it.unwrap().to_vec())).unwrap();
                let expected = if row % 100 / 2 == 26 { text(row) } else { String::new() };
                assert_eq!(found, [expected.into_bytes()], "row {row}, {step} at a time");
            }
            lost.extend(lost_here);
            row = rows.rows().end;
        }
        assert_eq!(lost, [152, 153], "{step} at a time");
    }
}
