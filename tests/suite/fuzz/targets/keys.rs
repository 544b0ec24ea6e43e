//! Files of keys that `lookup` is given: what Rust's standard library finds in them.

use plan::{Arg, DType, ExprId, File, Type};
use runtime::{Args, Call, Fault, Kernel, Kernels, Out, Philox, Scratch, Tensor};
use std::collections::BTreeMap;

/// Makes a table of a file, and looks for each of its lines and for what is none.
pub(crate) fn keys(bytes: &[u8]) {
    let file = Arg::File(File::new("keys.txt", bytes.to_vec()));
    let args = [Arg::Expr(ExprId(0)), file, Arg::Int(-1)];
    let types = [Some(Type::scalar(DType::Str)), None, None];
    let result = Type::scalar(DType::I64);
    let call = Call { args: &args, types: &types, result: &result, sources: &[], outside: None };
    let build = stdlib::Kernels.function("lookup").expect("the library has it");
    match (build(&call), lines(bytes)) {
        (Ok(kernel), Some(lines)) => {
            for (line, number) in &lines {
                assert_eq!(found(&kernel, line), Ok(*number), "{line:?}");
                for other in [format!("{line} "), line.to_uppercase(), line.trim().to_owned()] {
                    let number = lines.get(other.as_str()).copied().unwrap_or(-1);
                    assert_eq!(found(&kernel, &other), Ok(number), "{other:?}");
                }
            }
        }
        (Err(_), None) => {}
        (made, lines) => panic!("{lines:?} are a table: {}", made.is_ok()),
    }
}

/// The lines of a text, by what they are, if no two are the same.
fn lines(bytes: &[u8]) -> Option<BTreeMap<&str, i64>> {
    let text = str::from_utf8(bytes).ok()?;
    let all: Vec<&str> = text.strip_prefix('\u{feff}').unwrap_or(text).lines().collect();
    let lines: BTreeMap<&str, i64> = all.iter().copied().zip(0..).collect();
    (!lines.is_empty() && lines.len() == all.len()).then_some(lines)
}

fn found(kernel: &Kernel, key: &str) -> Result<i64, Fault> {
    let mut scratch = Scratch::new();
    let values =
        [Tensor::text(DType::Str, key.as_bytes()), Tensor::nothing(), Tensor::new(&[], &[-1_i64])];
    let args = Args::of(&values);
    kernel.write(&mut Philox::new(1, 2, 3), &args, &mut Out::grow(&mut scratch))?;
    Ok(scratch.tensor().int())
}

/// Tables, sound and not.
pub(super) fn tables() -> Vec<Vec<u8>> {
    let all: [&[u8]; 7] = [
        b"cat\ndog\n bird \n12\n-7\n",
        "\u{feff}b\r\nb2\r\n\u{e9}".as_bytes(),
        b"cat\n\ndog\nlast\r",
        b"a\nb\na\n",
        b"f\xfcnf\n",
        b"\n",
        b"",
    ];
    all.iter().map(|it| it.to_vec()).collect()
}
