//! `embed`: rows of a table of vectors, by their numbers.

use crate::functions::tensor::{by_int, packed, shapes::ranked, tensor_of};
use crate::prelude::*;
use crate::records::{RecordFault, npy::Header};
use plan::{File, things};
use runtime::Element;
use std::{fmt::Display, sync::Arc};

function! {
    /// Looks up a vector for each id: rows of an array of NumPy.
    ///
    /// `table` is a `.npy` file of at most 64 MiB with a row for each id, such as word vectors, read when the program
    /// is compiled; the result has its dtype, and the axes of a row behind those of `ids`. The array must have numbers
    /// in C order, as `np.save` writes them. Fails with `index` if an id is negative or has no row. This is
    /// `nn.Embedding` of weights that do not change; vectors that are trained belong into the model, which should be
    /// given the ids: they are far smaller.
    ///
    /// ```pipe no_run
    /// lines("corpus.txt")
    ///     |> map { ids: word_ids(text, vocabulary: "words.txt", unknown: 0) }
    ///     |> map { vectors: embed(ids, table: "vectors.npy") }    # { vectors: f32[?, 300] }
    /// ```
    "embed(ids: any, table: file) fails -> any",
    // Assumed: half as fast as memory, with a row of some hundred bytes in another place each time.
    cost: Cost { bytes_out_per_in: 300.0, ..Cost::out(20.0, 0.1) },
    result: Some(result),
}

/// The rows of a file.
#[derive(Debug)]
struct Table {
    header: Header,
    /// Where the first one begins.
    start: usize,
}

/// The table that a file is, made once for all who ask; none where nobody has read the file.
fn table_of(file: &File) -> Option<Result<Arc<Table>, String>> {
    file.made(|bytes| {
        let told = |it: RecordFault| format!("{}; {}", it.message, it.help);
        let header = Header::parse(bytes).map_err(told)?;
        let header =
            header.ok_or_else(|| "it ends within its header; write it again".to_owned())?;
        header.check_len(Some(bytes.len() as u64)).map_err(told)?;
        let start = bytes.len() - header.rows as usize * header.row_bytes;
        Ok(Table { header, start })
    })
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, mut shape) = tensor_of(applied, 0)?;
    if !dtype.is_int() {
        return Err(format!("expected ids, which are integers, found `{dtype}`"));
    }
    let Arg::File(file) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    // Of a file that nobody reads, nothing is known, and nothing is run.
    let Some(table) = table_of(file) else {
        shape.push(Extent::Unknown);
        return ranked(DType::F32, shape);
    };
    let table = table.map_err(|why| format!("`{}`: {why}", file.path()))?;
    shape.extend(table.header.row.iter().map(|it| Extent::Known(*it as u64)));
    ranked(table.header.dtype, shape)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    by_int!(call.dtype(0).expect("the checker saw to ids"), T => kernel::<T>(call))
}

fn kernel<T: Element + TryInto<usize> + Display>(call: &Call<'_>) -> Result<Kernel, Failure> {
    let file = call.file(1).clone();
    let table = table_of(&file).unwrap_or_else(|| Err("it was not read".to_owned()));
    let table =
        table.map_err(|why| Failure::Program(format!("`embed`: `{}`: {why}", file.path())))?;
    Ok(Kernel::compute(move |args, out| {
        let ids = args.tensor(0);
        let rows = &file.bytes().expect("a table was made of it")[table.start..];
        let mut shape = ids.shape().to_vec();
        shape.extend(&table.header.row);
        let room = out.room(table.header.dtype, Shape::new(&shape))?;
        packed::<T, _>(&ids, |ids| {
            for (to, id) in room.chunks_exact_mut(table.header.row_bytes).zip(ids) {
                let row = (*id).try_into().ok().and_then(|it| table.row(rows, it));
                let row = row.ok_or_else(|| table.outside(&file, id))?;
                table.copy(row, to);
            }
            Ok(())
        })
    }))
}

impl Table {
    fn row<'r>(&self, rows: &'r [u8], id: usize) -> Option<&'r [u8]> {
        let size = self.header.row_bytes;
        let start = id.checked_mul(size)?;
        rows.get(start..start.checked_add(size)?)
    }

    /// Copies a row, as the processor has it.
    fn copy(&self, row: &[u8], to: &mut [u8]) {
        to.copy_from_slice(row);
        if self.header.dtype == DType::Bool {
            to.iter_mut().for_each(|it| *it = u8::from(*it != 0));
        } else if self.header.is_big_endian != cfg!(target_endian = "big") {
            to.chunks_exact_mut(self.header.dtype.size()).for_each(<[u8]>::reverse);
        }
    }

    fn outside(&self, file: &File, id: &impl Display) -> Fault {
        let rows = things(self.header.rows, "row", "rows");
        let why = format!("id {id} is out of range: `{}` has {rows}, counted from 0", file.path());
        Fault::new("index", why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// A file as `np.save` writes it.
    fn npy(descr: &str, order: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.bytes());
        file.extend(elements);
        file
    }

    fn table(file: Vec<u8>) -> Arg {
        Arg::File(File::new("vectors.npy", file))
    }

    fn vectors() -> Vec<u8> {
        (0..12).flat_map(|it| (it as f32 * 0.5).to_le_bytes()).collect()
    }

    /// `table[ids]` of NumPy.
    #[test]
    fn rows_are_those_of_the_file() {
        let ids = [2_i32, 0, 2, 3];
        let trial = |file| Trial::of(&ENTRY).value(Tensor::new(&[4], &ids)).arg(table(file));
        let rows = [3_f32, 3.5, 4.0, 0.0, 0.5, 1.0, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5];
        let floats = npy("<f4", "False", "(4, 3)", &vectors());
        assert_eq!(trial(floats.clone()).run(), Ok(Value::of(&[4, 3], &rows)));
        let big: Vec<u8> = (0..8_u16).flat_map(|it| (it * 300).to_be_bytes()).collect();
        let expected = [1200_u16, 1500, 0, 300, 1200, 1500, 1800, 2100];
        assert_eq!(
            trial(npy(">u2", "False", "(4, 2, 1)", &big)).run(),
            Ok(Value::of(&[4, 2, 1], &expected))
        );
        let numbers = npy("|i1", "False", "(4,)", &[1, 2, 3, 255]);
        assert_eq!(trial(numbers).run(), Ok(Value::of(&[4], &[3_i8, 1, 3, -1])));
        // Other writers say true with other bytes than 1.
        let booleans = npy("|b1", "False", "(4,)", &[0, 1, 2, 255]);
        assert_eq!(trial(booleans).run(), Ok(Value::of(&[4], &[true, false, true, true])));

        let square = [1_u64, 3, 0, 1];
        let ids = Tensor::new(&[2, 2], &square).permuted(&[1, 0]);
        let found = Trial::of(&ENTRY).value(ids).arg(table(floats.clone())).run().unwrap();
        assert_eq!(
            (&found.shape[..], &found.to_vec::<f32>()[..6]),
            (&[2, 2, 3][..], &[1.5, 2.0, 2.5, 0.0, 0.5, 1.0][..])
        );
        let single = Trial::of(&ENTRY).value(Tensor::new(&[], &[1_u8])).arg(table(floats.clone()));
        assert_eq!(single.run(), Ok(Value::of(&[3], &[1.5_f32, 2.0, 2.5])));
        let none = Trial::of(&ENTRY).value(Tensor::new::<i64>(&[0], &[])).arg(table(floats));
        assert_eq!(none.run(), Ok(Value::of::<f32>(&[0, 3], &[])));
    }

    #[test]
    fn ids_without_a_row_are_faults() {
        let run = |id: i64| {
            let file = npy("<f4", "False", "(4, 3)", &vectors());
            Trial::of(&ENTRY).value(Tensor::new(&[1], &[id])).arg(table(file)).run().unwrap_err()
        };
        for id in [-1, 4, i64::MIN, i64::MAX] {
            let fault = run(id);
            let why = format!("id {id} is out of range: `vectors.npy` has 4 rows, counted from 0");
            assert_eq!((fault.code, &*fault.detail), ("index", &*why));
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let refused = |file: Vec<u8>| {
            Trial::of(&ENTRY).value(Tensor::new(&[1], &[0_i32])).arg(table(file)).refused()
        };
        assert!(
            refused(b"PK\x03\x04".to_vec()).starts_with("`vectors.npy`: this is not a `.npy` file")
        );
        assert!(refused(b"\x93NUM".to_vec()).contains("it ends within its header"));
        let short = npy("<f4", "False", "(4, 3)", &vectors()[1..]);
        assert!(refused(short).contains("4 rows of 12 bytes, but 47 bytes follow it"));
        assert!(refused(npy("<f4", "True", "(4, 3)", &vectors())).contains("Fortran order"));
        assert!(refused(npy("|O", "False", "(4,)", &[0; 32])).contains("`|O`"));
        assert!(refused(npy("<f4", "False", "()", &[0; 4])).contains("without an axis"));
        let six = npy("|u1", "False", "(1, 1, 1, 1, 1, 1)", &[0]);
        let ids = Tensor::new(&[1, 1], &[0_i32]);
        let refused = Trial::of(&ENTRY).value(ids).arg(table(six)).refused();
        assert!(refused.contains("at most"), "{refused}");
        let floats = Trial::of(&ENTRY).value(Tensor::new(&[1], &[0_f32]));
        let file = npy("<f4", "False", "(4, 3)", &vectors());
        assert!(floats.arg(table(file)).refused().contains("integers, found `f32`"));
    }
}
