//! Files of tokenizers: texts become tokens of the file, which are the texts again.

use plan::{Arg, DType, ExprId, Extent, File, Type};
use runtime::{Args, Call, Kernel, Kernels, Out, Philox, Scratch, Tensor};

/// Makes a model of a file, and tokens of the file itself and of some texts.
pub(crate) fn models(bytes: &[u8]) {
    let file = || Arg::File(File::new("tokenizer.json", bytes.to_vec()));
    let (value, no) = (Arg::Expr(ExprId(0)), Arg::Bool(false));
    let pattern = Arg::Text("gpt2".to_owned());
    let text = Type::scalar(DType::Str);
    let ids = Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] };
    let args = [value.clone(), file(), no.clone(), no, Arg::None, pattern];
    let encode = made("tokenize", &args, (&text, &ids));
    let decode = made("detokenize", &[value, file()], (&ids, &text));
    assert_eq!(encode.is_some(), decode.is_some());
    let (Some(encode), Some(decode)) = (encode, decode) else { return };
    let own = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
    for text in ["the row, by row\n\n", "Gr\u{fc}\u{df}e \u{65e5}\u{672c}\u{8a9e} 123", &own] {
        let mut scratch = [Scratch::new(), Scratch::new()];
        let [ids, back] = &mut scratch;
        write(&encode, Tensor::text(DType::Str, text.as_bytes()), 5, ids);
        write(&decode, ids.tensor(), 1, back);
        // Some models compose characters first.
        let composes = bytes.windows(3).any(|it| it == b"NFC");
        assert!(composes || back.tensor().as_str() == text, "{text:?}");
    }
}

/// The kernel of a call, where the file is a model.
fn made(name: &str, args: &[Arg], (takes, gives): (&Type, &Type)) -> Option<Kernel> {
    let mut types = vec![None; args.len()];
    types[0] = Some(takes.clone());
    let call = Call { args, types: &types, result: gives, sources: &[], outside: None };
    let build = stdlib::Kernels.function(name).expect("the library has it");
    build(&call).ok()
}

/// Writes what the kernel makes of a value, and of so many arguments more that it knows.
fn write(kernel: &Kernel, value: Tensor<'_>, more: usize, to: &mut Scratch) {
    let nothing = (0..more).map(|_| Tensor::nothing());
    let values: Vec<Tensor<'_>> = [value].into_iter().chain(nothing).collect();
    let out = &mut Out::grow(to);
    kernel
        .write(&mut Philox::new(1, 2, 3), &Args::of(&values), out)
        .expect("every text has tokens");
}

/// Files, sound and not.
pub(super) fn files() -> Vec<Vec<u8>> {
    let small = include_bytes!("../../../../stdlib/src/tokens/goldens/tokenizer.json");
    let bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |it: usize| bytes.as_bytes()[it] as char;
    let line = |it: usize| format!("{}{}== {it}\n", letter(it >> 2), letter((it & 3) << 4));
    let tiktoken: String = (0..256).map(line).collect();
    let all: [&[u8]; 5] =
        [small, tiktoken.as_bytes(), b"#version: 0.2\nh e\n", b"{\"model\": {}}", b""];
    all.iter().map(|it| it.to_vec()).collect()
}
