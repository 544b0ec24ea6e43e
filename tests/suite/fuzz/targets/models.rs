//! Files of tokenizers: texts become tokens of the file, which are the texts again.

use plan::{Arg, DType, ExprId, Extent, File, Type};
use runtime::{Args, Call, Fault, Kernel, Kernels, Out, Philox, Scratch, Tensor};

/// Makes a model of a file, and tokens of the file itself and of some texts.
pub(crate) fn models(bytes: &[u8]) {
    let file = || Arg::File(File::new("tokenizer.json", bytes.to_vec()));
    let (value, no) = (Arg::Expr(ExprId(0)), Arg::Bool(false));
    let text = Type::scalar(DType::Str);
    let ids = Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] };
    // Only byte-level BPE has a pattern.
    let encode = |specials: bool, pattern| {
        let args = [value.clone(), file(), Arg::Bool(specials), no.clone(), Arg::None, pattern];
        made("tokenize", &args, (&text, &ids))
    };
    let with_pattern = encode(false, Arg::Text("gpt2".to_owned()));
    let is_bytes = with_pattern.is_some();
    let plain = with_pattern.or_else(|| encode(false, Arg::None));
    let decode = made("detokenize", &[value.clone(), file()], (&ids, &text));
    assert_eq!(plain.is_some(), decode.is_some());
    let (Some(plain), Some(decode)) = (plain, decode) else { return };
    let special = encode(true, Arg::None);
    let own = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
    for text in ["the row, by row\n\n", "Gr\u{fc}\u{df}e \u{65e5}\u{672c}\u{8a9e} 123", &own] {
        for encode in [Some(&plain), special.as_ref()].into_iter().flatten() {
            let mut scratch = [Scratch::new(), Scratch::new()];
            let [ids, back] = &mut scratch;
            // Other kinds may lack a token for a text.
            let found = write(encode, Tensor::text(DType::Str, text.as_bytes()), 5, ids);
            assert!(found.is_ok() || !is_bytes, "{found:?}");
            if found.is_err() {
                continue;
            }
            let found = write(&decode, ids.tensor(), 1, back);
            let is_text =
                found.as_ref().map_or_else(|it| it.code == "utf-8" && !is_bytes, |()| true);
            assert!(is_text, "each id is of a token: {found:?}");
            // Some models compose characters first, and some tokens take the spaces beside them.
            let changes = !is_bytes || ["NFC", "strip"].iter().any(|it| has(bytes, it));
            assert!(changes || back.tensor().as_str() == text, "{text:?}");
        }
    }
}

/// Whether a file has a word.
fn has(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|it| it == word.as_bytes())
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
fn write(kernel: &Kernel, value: Tensor<'_>, more: usize, to: &mut Scratch) -> Result<(), Fault> {
    let nothing = (0..more).map(|_| Tensor::nothing());
    let values: Vec<Tensor<'_>> = [value].into_iter().chain(nothing).collect();
    let out = &mut Out::grow(to);
    kernel.write(&mut Philox::new(1, 2, 3), &Args::of(&values), out)
}

/// Files, sound and not.
pub(super) fn files() -> Vec<Vec<u8>> {
    macro_rules! golden {
        ($name:literal) => {
            include_bytes!(concat!("../../../../stdlib/src/tokens/goldens/", $name))
        };
    }
    let bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |it: usize| bytes.as_bytes()[it] as char;
    let line = |it: usize| format!("{}{}== {it}\n", letter(it >> 2), letter((it & 3) << 4));
    let tiktoken: String = (0..256).map(line).collect();
    let all: [&[u8]; 10] = [
        golden!("tokenizer.json"),
        golden!("unigram.model"),
        golden!("pairs.model"),
        golden!("vocab.txt"),
        golden!("tekken.json"),
        golden!("unigram.json"),
        tiktoken.as_bytes(),
        b"#version: 0.2\nh e\n",
        b"{\"model\": {}}",
        b"",
    ];
    all.iter().map(|it| it.to_vec()).collect()
}
