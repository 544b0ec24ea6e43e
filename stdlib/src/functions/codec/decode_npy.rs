//! `decode_npy`: the array in a file as `np.save` writes it.

use crate::functions::text::array_of;
use crate::prelude::*;

function! {
    /// Decodes an array of NumPy from the bytes of a `.npy` file.
    ///
    /// The result is untyped: `decode_npy(files["npy"] as bytes) as f32[n, 4]` gives it a type, and `as_type` says which
    /// types an array can have. C and Fortran order, both byte orders, and arrays without an axis are read; arrays of
    /// Python objects, strings or records are rejected, with `npy-syntax`, and so are damaged and truncated ones.
    /// Nothing is copied. `read_npy(path)` reads a file, and the source `npy` the rows of large arrays.
    ///
    /// ```pipe
    /// range(2) |> map { x: decode_npy(read_file("boxes.npy")) as f32[n, 4] else full([0, 4], f32(0)) }    # { x: f32[?, 4] }
    /// ```
    "decode_npy(bytes: bytes) fails -> untyped",
    cost: Cost::call(300.0),    // Assumed: a header.
    result: Some(|_| Ok(Type::Untyped(Untyped::Npy))),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let bytes = args.tensor(0).as_text();
        array_of(bytes)?;
        Ok(Tensor::text(DType::Bytes, bytes))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use crate::functions::text::as_type;

    /// What `decode_npy(file) as dtype[…]` gives.
    fn read(file: &[u8], dtype: DType, shape: &[Extent]) -> Result<Value, Fault> {
        let decoded = Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, file)).run()?;
        assert!(decoded == Value::bytes(file), "nothing is copied or cut off");
        trial(file, dtype, shape).run()
    }

    fn trial<'a>(file: &'a [u8], dtype: DType, shape: &[Extent]) -> Trial<'a> {
        let array = Tensor::text(DType::Bytes, file);
        let to = Arg::Type(Type::Tensor { dtype, shape: shape.to_vec() });
        Trial::of(&as_type::ENTRY).value_of(array, Type::Untyped(Untyped::Npy)).arg(to)
    }

    /// A file, its dtype, its extents, its elements in C order.
    type Golden = (Vec<u8>, DType, Vec<usize>, Vec<f64>);

    fn goldens() -> Vec<Golden> {
        let lines = include_str!("goldens/npy.tsv").lines().filter(|it| !it.starts_with('#'));
        let all = lines.map(|line| {
            let [file, dtype, shape, elements] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let pairs = file.as_bytes().as_chunks::<2>().0;
            let byte = |it: &[u8; 2]| u8::from_str_radix(str::from_utf8(it).unwrap(), 16).unwrap();
            let short =
                |it: &str| it.replace("uint", "u").replace("int", "i").replace("float", "f");
            let dtype = short(dtype);
            let shape = shape.split(',').filter(|it| !it.is_empty());
            (
                pairs.iter().map(byte).collect(),
                DType::named(&dtype).unwrap(),
                shape.map(|it| it.parse().unwrap()).collect(),
                elements.split_whitespace().map(|it| it.parse().unwrap()).collect(),
            )
        });
        all.collect()
    }

    #[test]
    fn agrees_with_numpy() {
        for (file, dtype, shape, elements) in goldens() {
            let open = vec![Extent::Unknown; shape.len()];
            let found = read(&file, dtype, &open).unwrap();
            assert_eq!((found.dtype, &found.shape), (dtype, &shape));
            assert_eq!(found.numbers(), elements, "{dtype} {shape:?}");
            let known: Vec<_> = shape.iter().map(|it| Extent::Known(*it as u64)).collect();
            assert_eq!(read(&file, dtype, &known), Ok(found));
            let wide = if dtype.is_float() { DType::F64 } else { DType::I64 };
            match read(&file, wide, &open) {
                Ok(found) => assert_eq!(found.numbers(), elements, "{dtype} as {wide}"),
                Err(fault) => assert_eq!((fault.code, dtype), ("npy-type", DType::U64)),
            }
        }
    }

    #[test]
    fn types_and_extents_are_checked() {
        let all = goldens();
        let of = |wanted: DType, rank: usize| {
            &all.iter().find(|it| it.1 == wanted && it.2.len() == rank).unwrap().0
        };
        let open = |rank| vec![Extent::Unknown; rank];
        let fault = |file, dtype, shape: &[Extent]| {
            let it = read(file, dtype, shape).unwrap_err();
            format!("{}: {}", it.code, it.detail)
        };
        let floats = of(DType::F32, 3);
        assert_eq!(
            fault(floats, DType::F32, &open(2)),
            "npy-shape: the array is `f32[2, 3, 4]`, which does not fit `[?, ?]`"
        );
        assert!(fault(floats, DType::F32, &[]).ends_with("does not fit a single number"));
        let five = [Extent::Unknown, Extent::Known(5), Extent::Unknown];
        assert!(fault(floats, DType::F32, &five).ends_with("does not fit `[?, 5, ?]`"));
        let twins = ["n", "n", "m"].map(|it| Extent::Named(it.into()));
        assert!(fault(floats, DType::F32, &twins).ends_with("does not fit `[n, n, m]`"));
        assert_eq!(
            fault(floats, DType::I32, &open(3)),
            "npy-type: the array is of `f32`, expected `i32`: write `i32(… as f32[…])`"
        );
        assert!(
            fault(of(DType::I64, 0), DType::F32, &[])
                .starts_with("npy-type: the array is of `i64`")
        );
        let bytes = of(DType::U8, 2);
        assert_eq!(fault(bytes, DType::I8, &open(2)), "npy-type: 255 does not fit into `i8`");
        assert_eq!(
            read(bytes, DType::I16, &open(2)).unwrap().numbers(),
            [0., 255., 3., 4., 5., 6.]
        );
        assert!(fault(bytes, DType::Bool, &open(2)).contains("255 does not fit into `bool`"));
        assert_eq!(
            read(of(DType::Bool, 1), DType::U8, &open(1)),
            Ok(Value::of(&[3], &[1_u8, 0, 1]))
        );
        assert!(trial(bytes, DType::Str, &[]).refused().contains("holds numbers"));
    }

    #[test]
    fn what_is_damaged_is_told() {
        for (file, ..) in goldens() {
            let decode = |file: &[u8]| {
                Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, file)).run().map(|_| ())
            };
            for len in 0..file.len() {
                assert_eq!(decode(&file[..len]).unwrap_err().code, "npy-syntax", "{len} bytes");
            }
            let more = decode(&[&file[..], b"\0"].concat()).unwrap_err();
            assert!(more.detail.contains("bytes follow it"), "{}", more.detail);
        }
        let objects = b"\x93NUMPY\x01\0\x44\0{'descr': '|O', 'fortran_order': False, 'shape': (1,), }           \n";
        let fault = Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, objects)).run().unwrap_err();
        assert!(fault.detail.ends_with("an array of `|O` cannot be read"), "{}", fault.detail);
        let large = b"\x93NUMPY\x01\0\x57\0{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }         \n";
        let fault = Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, large)).run().unwrap_err();
        assert!(fault.detail.contains("0 bytes follow it"), "{}", fault.detail);
    }
}
