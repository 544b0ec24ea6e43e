//! Parquet, Arrow and HDF5 files, shards of MDS, archives of arrays: rows do not depend on how many are read at a time, whatever a file holds.

use super::{
    scratch::{Folder, split},
    tables::source,
};
use plan::{Arg, DType, Field};
use runtime::{ChunkBuilder, Failure, Pool, Source};

thread_local! {
    static FOLDER: Folder = Folder::new("columns");
}

/// Reads a Parquet file. The first byte says how damage and nulls are met, and which rows are needed; the rest is the file.
pub(crate) fn parquet(bytes: &[u8]) {
    table("parquet", bytes);
}

/// The same of an Arrow file.
pub(crate) fn arrow(bytes: &[u8]) {
    table("arrow", bytes);
}

/// The same of a shard of MDS.
pub(crate) fn mds(bytes: &[u8]) {
    table("mds", bytes);
}

/// The same of an HDF5 file. The first byte says which dataset is gone through.
pub(crate) fn hdf5(bytes: &[u8]) {
    let (way, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("rows", file);
        let over = ["n", "tree", "more/y", "x"][usize::from(way & 3)];
        let text = |it: &str| Arg::Text(it.to_owned());
        let path = text(&path.to_string_lossy());
        let args = [path, text(over), Arg::None, Arg::None, Arg::Bool(way & 4 == 0)];
        let Ok(fields) = stdlib::probe("hdf5", &args) else { return };
        // A run asks whether there is room for rows of axes that say to be long.
        if fields.iter().filter_map(|it| it.ty.fixed_bytes()).sum::<usize>() <= 1 << 20 {
            read("hdf5", &args, &fields);
        }
    });
}

/// The same of an archive of arrays. The first byte says which are read.
pub(crate) fn npz(bytes: &[u8]) {
    let (way, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("rows", file);
        let text = |it: &str| Arg::Text(it.to_owned());
        let columns = match way & 3 {
            0 => Arg::None,
            1 => Arg::List(vec![text("other")]),
            _ => Arg::List(["n", "grid", "ok", "half", "big"].map(text).to_vec()),
        };
        let args = [text(&path.to_string_lossy()), columns, Arg::None, Arg::Bool(way & 4 == 0)];
        let Ok(fields) = stdlib::probe("npz", &args) else { return };
        // A run asks whether there is room for rows of axes that say to be long.
        if fields.iter().filter_map(|it| it.ty.fixed_bytes()).sum::<usize>() <= 1 << 20 {
            read("npz", &args, &fields);
        }
    });
}

fn table(entry: &str, bytes: &[u8]) {
    let (way, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("rows", file);
        let missing = if way & 1 == 0 { "skip" } else { "fault" };
        let args = |name: Option<&str>| {
            let word = |it: &str| (it.to_owned(), Arg::Word(missing.to_owned()));
            let path = Arg::Text(path.to_string_lossy().into_owned());
            let said = Arg::Record(name.map(word).into_iter().collect());
            [path, Arg::None, said, Arg::None, Arg::Bool(way & 2 == 0), Arg::None]
        };
        let Ok(fields) = stdlib::probe(entry, &args(None)) else { return };
        let mut args = args(fields.first().map(|it| &*it.name));
        let Ok(fields) = stdlib::probe(entry, &args) else { return };
        let is_filtered = entry == "parquet" && way & 4 == 4;
        let first = fields.iter().find_map(|it| Some((it, bound(it)?)));
        if let Some((field, bound)) = first.filter(|_| is_filtered) {
            let condition = vec![Arg::Text(field.name.clone()), Arg::Word(">=".to_owned()), bound];
            args[5] = Arg::List(vec![Arg::List(condition)]);
        }
        // A run asks whether there is room for lists that say to be long.
        if fields.iter().filter_map(|it| it.ty.fixed_bytes()).sum::<usize>() <= 1 << 20 {
            read(entry, &args, &fields);
        }
    });
}

/// What a field could be compared with.
fn bound(field: &Field) -> Option<Arg> {
    let dtype = field.ty.dtype().filter(|_| field.ty.shape() == Some(&[]))?;
    match dtype {
        DType::Str => Some(Arg::Text("row 5".to_owned())),
        it if it.is_int() => Some(Arg::Int(9)),
        it if it.is_float() => Some(Arg::Float(1.5)),
        _ => None,
    }
}

fn read(entry: &str, args: &[Arg], fields: &[Field]) {
    let source = source(entry, args, fields);
    let all = in_order(&*source, fields, 1000);
    let one_by_one = in_order(&*source, fields, 1);
    assert_eq!(all, one_by_one);
    if let Ok(n @ 1..) = source.len() {
        let mut out = ChunkBuilder::new(fields, 3, 0, &Pool::default());
        let _ = source.fetch(&[n - 1, 0, n / 2], &mut out);
    }
}

/// The ids and bytes of all rows until one ends the run, and whether one does.
fn in_order(source: &dyn Source, fields: &[Field], rows: usize) -> (Vec<u64>, Vec<usize>, bool) {
    /// Rows of a forged file are not counted further.
    const ROWS_MAX: usize = 4_000;
    let mut stream = source.stream().expect("tables are read in order");
    let (mut ids, mut bytes) = (Vec::new(), Vec::new());
    loop {
        let mut out = ChunkBuilder::new(fields, rows, 0, &Pool::default());
        let read: Result<(), Failure> = stream.next(rows, &mut out);
        let chunk = out.finish();
        ids.extend(chunk.ids());
        for row in 0..chunk.rows {
            bytes.push(chunk.columns.iter().map(|it| it.row(row).bytes()).sum());
        }
        if read.is_err() || chunk.rows == 0 || ids.len() >= ROWS_MAX {
            ids.truncate(ROWS_MAX);
            bytes.truncate(ROWS_MAX);
            return (ids, bytes, read.is_err());
        }
    }
}

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../../../stdlib/src/tables/goldens/", $name)).as_slice()
    };
}

/// Files of all types, and of several codecs.
pub(super) fn parquets() -> Vec<Vec<u8>> {
    ways(&[
        golden!("more.parquet"),
        golden!("zstd-1.parquet"),
        golden!("snappy-2.parquet"),
        golden!("lz4-1.parquet"),
        golden!("rows.parquet"),
        golden!("pages.parquet"),
        golden!("zstd-2.parquet"),
        golden!("none-1.parquet"),
    ])
}

/// A file and a stream.
pub(super) fn arrows() -> Vec<Vec<u8>> {
    ways(&[golden!("rows.arrow"), golden!("stream.arrow")])
}

/// A shard, as it is and compressed.
pub(super) fn shards() -> Vec<Vec<u8>> {
    ways(&[golden!("shard.mds"), golden!("shard.mds.zstd")])
}

/// Archives, compressed and not.
pub(super) fn npzs() -> Vec<Vec<u8>> {
    ways(&[golden!("stored.npz"), golden!("deflated.npz")])
}

/// Files of old and new layouts.
pub(super) fn datasets() -> Vec<Vec<u8>> {
    ways(&[golden!("rows.h5"), golden!("latest.h5")])
}

fn ways(files: &[&[u8]]) -> Vec<Vec<u8>> {
    files.iter().enumerate().map(|(way, it)| [&[way as u8][..], it].concat()).collect()
}
