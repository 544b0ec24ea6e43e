//! `npz`: one record for each row of the arrays in `.npz` archives.

use super::{
    absent::FAULT,
    listed::Listed,
    tables::{Open, Said, Tables},
};
use crate::prelude::*;
use crate::tables::npz::NpzFile;
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// Reads the arrays in `.npz` archives that match a pattern: one record for each row of the first axis.
    ///
    /// These are the archives that `np.savez` and `np.savez_compressed` write. Every array is a field of the same name,
    /// whose type is that of a row: `images` of `(60000, 28, 28)` is `images: u8[28, 28]`. All arrays must have the
    /// same number of rows; if some do not, `columns` lists those to read. It can also rename them, as in `parquet`.
    /// All archives must have the arrays of the first one. Arrays are those that `npy` reads; others, such as Python
    /// objects, are left out.
    ///
    /// Archives of `np.savez` can be read in any order. A compressed array is decompressed from its beginning, once to
    /// check it and then for its rows: if all rows fit into memory, `shuffle` without a window does that once,
    /// otherwise use `shuffle(window:)`. The checksum of an array that is not compressed is not checked.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// npz("mnist.npz", columns: ["x_train", "y_train"]) |> shuffle |> batch(64, tail: drop)
    /// ```
    "npz(pattern: text, columns: columns = none, lanes: int = none, faults: bool = false) -> stream",
    cost: Cost::out(20.0, 0.3),    // Assumed: two copies.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::Faulty(&FAULTY)],
    fields: Some(fields);
    probe: probe,
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// Where the parameters stand.
const COLUMNS: usize = 1;
const FAULTS: usize = 3;

fn said(args: &[Arg]) -> Result<Said, String> {
    Said::new(&args[COLUMNS], &Arg::None, &args[FAULTS])
}

fn open(said: &Said) -> Open {
    let named = said.named();
    Arc::new(move |path, give_up| {
        let named = Some(&named[..]).filter(|it| !it.is_empty());
        Ok(Box::new(NpzFile::of(path, named, give_up)?))
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
    let said = said(args).map_err(Failure::Program)?;
    said.probe(&listed, &*open(&said))
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let said = said(call.args).map_err(Failure::Program)?;
    let open = open(&said);
    Ok(Arc::new(Tables::new(said, listed, open, call)))
}

#[cfg(test)]
mod tests {
    use super::super::{
        framed::reading::*,
        listed::folder::{Folder, rows},
    };
    use super::*;

    const STORED: &[u8] = include_bytes!("../tables/goldens/stored.npz");
    const DEFLATED: &[u8] = include_bytes!("../tables/goldens/deflated.npz");

    fn folder(name: &str, files: &[&[u8]]) -> Folder {
        let folder = Folder::new(&format!("npz-{name}"), &[("made", "")]);
        for (at, bytes) in files.iter().enumerate() {
            std::fs::write(folder.path(&format!("{at}.npz")), bytes).unwrap();
        }
        folder
    }

    fn args(folder: &Folder, columns: &[&str]) -> [Arg; 4] {
        let columns = columns.iter().map(|it| Arg::Text((*it).to_owned())).collect();
        [folder.pattern("*.npz"), Arg::List(columns), Arg::None, Arg::Bool(true)]
    }

    fn source(args: &[Arg]) -> Result<(Arc<dyn Source>, Vec<Field>), Failure> {
        let fields = probe(args)?;
        Ok((build(&SourceCall { args, columns: &fields, place: 7 })?, fields))
    }

    /// What `make_npz.py` wrote.
    fn expected(i: usize) -> String {
        let grid: Vec<f64> = (0..6).map(|it| (i * 6 + it) as f64).collect();
        let (n, half, big) = (i as f64 * 3.0 - 5.0, i as f64 / 4.0, i as f64 * 1000.0);
        let ok = f64::from(u8::from(i.is_multiple_of(2)));
        format!("[{n:?}] | {grid:?} | [{ok:?}] | [{half:?}] | [{big:?}]")
    }

    const COLUMNS: [&str; 5] = ["n", "grid", "ok", "half", "big"];

    #[test]
    fn rows_are_those_of_numpy_in_any_order() {
        let folder = folder("rows", &[STORED, DEFLATED]);
        let (source, fields) = source(&args(&folder, &COLUMNS)).unwrap();
        let types: Vec<String> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(types[..5], ["n: i64", "grid: u8[2, 3]", "ok: bool", "half: f16", "big: i32"]);
        assert_eq!(source.len(), Ok(46));
        let all: Vec<String> = (0..46).map(|it| format!("{} | ", expected(it % 23))).collect();
        for n in [1, 7, 100] {
            let chunks = in_order(&*source, &fields, n).unwrap();
            assert_eq!(chunks.iter().flat_map(rows).collect::<Vec<_>>(), all);
        }
        let found = rows(&fetched(&*source, &fields, &[45, 3, 3, 24]).unwrap());
        assert_eq!(found, [45, 3, 3, 24].map(|it| all[it].clone()));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let of = |bytes: &[u8], columns: &[&str]| {
            let folder = folder("bad", &[bytes]);
            source(&args(&folder, columns)).map(|_| ()).unwrap_err().to_string()
        };
        for (bytes, columns, why) in [
            (
                STORED,
                &[][..],
                "its arrays differ in length: `n` has 23 rows, `other` 4: name those",
            ),
            (STORED, &["n", "m"][..], "it has no array `m`: it has `n`, `grid`, `ok`, "),
            (
                STORED,
                &["zero"][..],
                "it has no array of rows to read: `zero` is an array without an axis",
            ),
            (&STORED[..STORED.len() - 30], &["n"][..], "this is not a `.npz` archive: "),
            (b"1,2,3\n", &["n"][..], "this is not a `.npz` archive: "),
            (b"", &["n"][..], "this is not a `.npz` archive: "),
        ] {
            let said = of(bytes, columns);
            assert!(said.contains("0.npz`: ") && said.contains(why), "{said}");
        }
    }

    /// Of an array that is compressed no row is given that was damaged; nothing ever panics.
    #[test]
    fn damage_at_any_byte_is_a_fault_or_an_error() {
        let all: Vec<String> = (0..23).map(|it| format!("{} | ", expected(it))).collect();
        for at in (0..DEFLATED.len()).step_by(3) {
            let mut bytes = DEFLATED.to_vec();
            bytes[at] ^= 0x55;
            let folder = folder("damage", &[&bytes]);
            let Ok((source, fields)) = source(&args(&folder, &COLUMNS)) else { continue };
            let types: Vec<String> = fields.iter().map(ToString::to_string).collect();
            let Ok(chunks) = in_order(&*source, &fields, 10) else { continue };
            let is_same =
                types[..5] == ["n: i64", "grid: u8[2, 3]", "ok: bool", "half: f16", "big: i32"];
            for (row, found) in chunks.iter().flat_map(rows).enumerate() {
                let is_fault = !found.ends_with(" | ");
                assert!(is_fault || !is_same || all.get(row) == Some(&found), "byte {at}: {found}");
            }
        }
    }
}
