//! Tables of vectors that `embed` is given: each row is as it stands in the file.

use super::shards::written::npy;
use plan::{Arg, DType, ExprId, Extent, File, Type};
use runtime::{Args, Call, Fault, Kernel, Kernels, Out, Philox, Scratch, Tensor};
use stdlib::records::npy::Header;

/// Makes a table of a file, and looks up its first rows and what is none.
pub(crate) fn vectors(bytes: &[u8]) {
    let file = Arg::File(File::new("vectors.npy", bytes.to_vec()));
    let args = [Arg::Expr(ExprId(0)), file];
    let ids = Type::Tensor { dtype: DType::I64, shape: vec![Extent::Unknown] };
    let types = [Some(ids.clone()), None];
    let call = Call { args: &args, types: &types, result: &ids, sources: &[], outside: None };
    let build = stdlib::Kernels.function("embed").expect("the library has it");
    let Ok(kernel) = build(&call) else { return };
    let header = Header::parse(bytes).ok().flatten().expect("a table has a header");
    let rows = header.rows.checked_mul(header.row_bytes as u64).expect("they are in the file");
    let start = bytes.len() - rows as usize;
    for id in (0..header.rows.min(20)).chain([header.rows, u64::MAX >> 1]) {
        let row = row(&kernel, id as i64);
        assert_eq!(row.is_ok(), id < header.rows, "{id}");
        // Booleans and other byte orders are changed.
        if let Ok(row) = row.as_ref()
            && header.dtype != DType::Bool
            && !header.is_big_endian
        {
            assert_eq!(row, &bytes[start + id as usize * header.row_bytes..][..header.row_bytes]);
        }
    }
    assert!(row(&kernel, -1).is_err());
}

fn row(kernel: &Kernel, id: i64) -> Result<Vec<u8>, Fault> {
    let (mut scratch, ids) = (Scratch::new(), [id]);
    let values = [Tensor::new(&[1], &ids), Tensor::nothing()];
    let args = Args::of(&values);
    kernel.write(&mut Philox::new(1, 2, 3), &args, &mut Out::grow(&mut scratch))?;
    let found = scratch.tensor();
    let mut bytes = vec![0; found.bytes()];
    found.copy_to(&mut bytes);
    Ok(bytes)
}

/// Tables, sound and not.
pub(super) fn tables() -> Vec<Vec<u8>> {
    vec![
        npy("<f4", "(3, 2)", &[1; 24]),
        npy(">u2", "(2,)", &[0, 1, 2, 3]),
        npy("|b1", "(2, 1)", &[0, 7]),
        npy("<i8", "(0, 3)", &[]),
        npy("<f2", "(2, 2, 2)", &[9; 15]),
        b"PK\x03\x04".to_vec(),
    ]
}
