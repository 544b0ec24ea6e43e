//! `mds`: one record for each sample of the shards of Mosaic's Streaming.

use super::{
    absent::{COMPLETE, FAULT},
    listed::Listed,
    tables::{Open, Said, Tables},
};
use crate::prelude::*;
use crate::tables::{TableFile, mds::MdsFile, packed::Recent};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::{path::Path, sync::Arc};

source! {
    /// Reads the samples of MDS shards that match a pattern: those of Mosaic's Streaming (`MDSWriter`, version 2).
    ///
    /// The columns are those that a shard names; `index.json` is not needed. Numbers are numbers, `str` and `str_decimal`
    /// text, `bytes`, `jpeg`, `png` and `pil` the bytes as they were written, `json` is `untyped`. An `ndarray` of a fixed
    /// shape is a tensor; one of any shape is `x: t[?]` if the first sample has one axis, or else the fields `x.data` and
    /// `x.shape`. Columns of other encodings are left out: of `pkl`, since to read it can run any code. `columns` and
    /// `missing` are those of `parquet`.
    ///
    /// Samples are read on their own, so that every order is quick. A sample is at most 64 MiB; one that is damaged fails
    /// on its own.
    ///
    /// Shards may be compressed (`mds("c4/train/*.mds.zstd")`; gzip, bzip2, xz or Zstandard). Such a shard is decompressed
    /// whole, once for the rows that follow each other, and may hold 512 MiB: shuffle more of them than fit into memory by
    /// `shuffle(window: …, spans: …)`.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// mds("c4/train/*.mds", columns: ["text"]) |> shuffle    # { text: str }
    /// ```
    "mds(pattern: text, columns: columns = none, missing: absent = none, lanes: int = none, faults: bool = false) \
     -> stream",
    cost: Cost::out(20.0, 0.2),    // Assumed: two copies, after a check of texts.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::Keeps(COMPLETE), Property::Faulty(&FAULTY)],
    fields: Some(fields);
    probe: probe,
}

static FAULTY: Faulty =
    Faulty { argument: FAULTS, field: FAULT, known: COMPLETE, guard: "guarded" };

/// Where the parameters stand.
const COLUMNS: usize = 1;
const MISSING: usize = 2;
const FAULTS: usize = 4;

fn said(args: &[Arg]) -> Result<Said, String> {
    Said::new(&args[COLUMNS], &args[MISSING], &args[FAULTS])
}

fn open(recent: Arc<Recent>) -> Open {
    Arc::new(move |path: &Path, give_up: &mut dyn FnMut()| {
        Ok(Box::new(MdsFile::of(path, &recent, give_up)?) as Box<dyn TableFile>)
    })
}

/// The fields were found by [`probe`].
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    said(applied.args)?;
    Ok(applied.found.to_vec())
}

fn probe(args: &[Arg]) -> Result<Vec<Field>, Failure> {
    let listed = Listed::new(&args[0]).map_err(Failure::Program)?;
    said(args).map_err(Failure::Program)?.probe(&listed, &*open(Arc::default()))
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let said = said(call.args).map_err(Failure::Program)?;
    Ok(Arc::new(Tables::new(said, listed, open(Arc::default()), call)))
}

#[cfg(test)]
mod tests {
    use super::super::{
        framed::reading::*,
        listed::folder::{Folder, rows},
    };
    use super::*;

    const SHARD: &[u8] = include_bytes!("../tables/goldens/shard.mds");
    /// The same by `zstd -19` 1.5.
    const ZSTD: &[u8] = include_bytes!("../tables/goldens/shard.mds.zstd");

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut to, bytes).unwrap();
        to.finish().unwrap()
    }

    fn folder(name: &str, files: &[&[u8]]) -> (Folder, [Arg; 5]) {
        let folder = Folder::new(&format!("mds-{name}"), &[("made", "")]);
        for (at, file) in files.iter().enumerate() {
            std::fs::write(folder.path(&format!("{at}.mds")), file).unwrap();
        }
        let args = [folder.pattern("*.mds"), Arg::None, Arg::None, Arg::None, Arg::Bool(true)];
        (folder, args)
    }

    #[test]
    fn samples_have_the_values_that_were_written() {
        let gzip = gzip(SHARD);
        for files in [[SHARD, SHARD], [ZSTD, ZSTD], [&gzip, SHARD]] {
            values_are_those_of_two_shards(&files);
        }
    }

    fn values_are_those_of_two_shards(files: &[&[u8]]) {
        let (_folder, args) = folder("values", files);
        let fields = probe(&args).unwrap();
        let said: Vec<String> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(
            said.join(", "),
            "about: untyped, blob: bytes, grid.data: u8[?], grid.shape: i64[2], n: i64, name: str, pair: f32[2, 3], \
             price: str, x: f32, xs: i16[?], row.fault: str"
        );
        let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
        assert_eq!(source.len(), Ok(22));
        let expected = |i: usize| {
            let list = |it: Vec<f64>| format!("{it:?}");
            let n = i as f64;
            let about = format!("{{\"at\": [{i}, null]}}");
            let (blob, grid) = (format!("{:?}", vec![i as u8; i % 3]), list(vec![n; 2 * (i + 1)]));
            let (shape, number) = (list(vec![2.0, n + 1.0]), list(vec![n - 2.0]));
            let pair = list((0..6).map(|it| f64::from(it) + n).collect());
            let price =
                if i.is_multiple_of(10) { (i / 10).to_string() } else { format!("{}", n / 10.0) };
            let xs = list((0..=i).map(|it| it as f64).collect());
            let x = list(vec![n / 2.0]);
            format!(
                "{about} | {blob} | {grid} | {shape} | {number} | n{i} | {pair} | {price} | {x} | {xs} | "
            )
        };
        let expected: Vec<String> = (0..22).map(|it| expected(it % 11)).collect();
        for n in [1, 4, 100] {
            let found: Vec<_> =
                in_order(&*source, &fields, n).unwrap().iter().flat_map(rows).collect();
            assert_eq!(found, expected);
        }
        let numbers: Vec<u64> = (0..22).map(|it| it * 5 % 22).collect();
        let found = rows(&fetched(&*source, &fields, &numbers).unwrap());
        let of_numbers: Vec<_> = numbers.iter().map(|it| expected[*it as usize].clone()).collect();
        assert_eq!(found, of_numbers);
    }

    #[test]
    fn a_damaged_sample_is_lost_alone() {
        let mut torn = SHARD.to_vec();
        let at = torn.windows(2).position(|it| it == b"n5").unwrap();
        torn[at] = 0xff;
        let (_folder, args) = folder("torn", &[&torn]);
        let fields = probe(&args).unwrap();
        let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
        let found: Vec<_> = in_order(&*source, &fields, 4).unwrap().iter().flat_map(rows).collect();
        let is_fault = |it: &String| it.contains("column `name`: it is not UTF-8");
        let faults: Vec<usize> = (0..found.len()).filter(|it| is_fault(&found[*it])).collect();
        assert_eq!((found.len(), faults), (11, vec![5]), "{found:?}");
    }

    #[test]
    fn of_a_compressed_shard_that_is_damaged_what_comes_before_is_read() {
        // Stored blocks: all that comes before the last bytes is there.
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        std::io::Write::write_all(&mut to, SHARD).unwrap();
        let whole = to.finish().unwrap();
        let cut = &whole[..whole.len() - 8 - 300];
        let more = [SHARD, b"x"].concat();
        let mut checked = whole.clone();
        let at = checked.len() - 100;
        checked[at] ^= 1;
        let cases: [(&[u8], usize, &str); 4] = [
            (cut, 3, "its gzip data is damaged or truncated"),
            (&gzip(&SHARD[..SHARD.len() - 1]), 1, "it ends 1 bytes before its last sample does"),
            (&gzip(&more), 11, "more follows behind its last sample"),
            (&checked, 11, "its gzip data is damaged or truncated"),
        ];
        for (file, lost, why) in cases {
            let (_folder, args) = folder("cut", &[file]);
            let fields = probe(&args).unwrap();
            let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
            let found: Vec<_> =
                in_order(&*source, &fields, 4).unwrap().iter().flat_map(rows).collect();
            let faults = found.iter().filter(|it| it.contains(why)).count();
            assert_eq!((found.len(), faults), (11, lost), "{why}: {found:?}");
        }
    }

    #[test]
    fn damage_is_an_error_at_every_byte() {
        let (folder, args) = folder("bad", &[SHARD]);
        for (whole, at) in
            [SHARD, ZSTD].iter().flat_map(|it| (0..it.len()).map(move |at| (*it, at)))
        {
            let mut flipped = whole.to_vec();
            flipped[at] ^= 0x55;
            for file in [&whole[..at], &flipped] {
                std::fs::write(folder.path("0.mds"), file).unwrap();
                let Ok(fields) = probe(&args) else { continue };
                // A run asks whether there is room for rows of lists that say to be long.
                if fields.iter().filter_map(|it| it.ty.fixed_bytes()).sum::<usize>() > 1 << 20 {
                    continue;
                }
                let call = SourceCall { args: &args, columns: &fields, place: 7 };
                let _ = in_order(&*build(&call).unwrap(), &fields, 100);
            }
        }
        std::fs::write(folder.path("0.mds"), b"{\"a\": 1}\n").unwrap();
        let why = probe(&args).unwrap_err().to_string();
        assert!(why.contains("this is not an MDS shard"), "{why}");
    }
}
