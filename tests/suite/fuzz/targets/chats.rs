//! Templates of chats, and messages: what becomes of a chat never depends on what was rendered before.

use plan::{Arg, DType, ExprId, Extent, File, Type, Untyped};
use runtime::{Args, Call, Fault, Kernel, Kernels, Out, Philox, Scratch, Tensor};
use std::sync::LazyLock;

/// The model of all, which is read once.
static MODEL: LazyLock<File> = LazyLock::new(|| {
    let small = include_bytes!("../../../../stdlib/src/tokens/goldens/tokenizer.json");
    File::new("tokenizer.json", small.to_vec())
});

/// Makes a template of what stands before the first zero, and tokens of the messages behind it and of some of its own.
pub(crate) fn chats(bytes: &[u8]) {
    let at = bytes.iter().position(|it| *it == 0).unwrap_or(bytes.len());
    let template = File::new("chat_template.jinja", bytes[..at].to_vec());
    let Some(kernel) = made(template) else { return };
    let own = bytes.get(at + 1..).unwrap_or_default();
    let [first, again] = [(); 2].map(|()| write(&kernel, own));
    // What comes in between, or that it fails, changes nothing.
    write(&kernel, MESSAGES.as_bytes()).ok();
    assert_eq!(first, again);
    assert_eq!(first, write(&kernel, own));
}

const MESSAGES: &str = r#"[{"role": "system", "content": "ab"}, {"role": "user", "content": "the \ud83d\ude00"}, {"role": "assistant", "content": "row"}]"#;

fn made(template: File) -> Option<Kernel> {
    let roles = Arg::List(vec![Arg::Text("assistant".to_owned())]);
    let files = [Arg::File(MODEL.clone()), Arg::File(template), Arg::None];
    let first = Arg::Expr(ExprId(0));
    let args: Vec<Arg> =
        [first].into_iter().chain(files).chain([Arg::Bool(false), roles]).collect();
    let mut types = vec![None; args.len()];
    types[0] = Some(Type::Untyped(Untyped::Bytes));
    let result = Type::Tensor { dtype: DType::I32, shape: vec![Extent::Known(2), Extent::Unknown] };
    let call = Call { args: &args, types: &types, result: &result, sources: &[], outside: None };
    stdlib::Kernels.function("chat").expect("the library has it")(&call).ok()
}

/// Both rows, or the fault.
fn write(kernel: &Kernel, messages: &[u8]) -> Result<Vec<i32>, String> {
    let mut scratch = Scratch::new();
    let nothing = (0..5).map(|_| Tensor::nothing());
    let values: Vec<Tensor<'_>> =
        [Tensor::text(DType::Bytes, messages)].into_iter().chain(nothing).collect();
    let written: Result<(), Fault> =
        kernel.write(&mut Philox::new(1, 2, 3), &Args::of(&values), &mut Out::grow(&mut scratch));
    written.map_err(|it| it.to_string())?;
    let rows = scratch.tensor();
    let n = rows.shape()[1];
    let row = |row: usize| (0..n).map(move |at| rows.element(row).element(at).int() as i32);
    assert!(row(0).all(|it| it >= 0) && row(1).all(|it| [0, 1].contains(&it)));
    Ok(row(0).chain(row(1)).collect())
}

/// Templates with messages.
pub(super) fn files() -> Vec<Vec<u8>> {
    let templates: [&[u8]; 4] = [
        include_bytes!("../../../../stdlib/src/chats/goldens/chatml.jinja"),
        include_bytes!("../../../../stdlib/src/chats/goldens/python.jinja"),
        include_bytes!("../../../../stdlib/src/chats/goldens/qwen.jinja"),
        b"{% for it in messages %}{{ it.role }}{{ it.content }}{% endfor %}{{ add_generation_prompt }}",
    ];
    let messages =
        [MESSAGES, "[]", r#"[{"role": "user", "content": [{"type": "text", "text": "a"}]}]"#];
    let pair = |(at, template): (usize, &&[u8])| {
        [*template, b"\0", messages[at % messages.len()].as_bytes()].concat()
    };
    let config =
        br#"{"bos_token": "<s>", "chat_template": [{"name": "default", "template": "x"}]}"#;
    templates.iter().enumerate().map(pair).chain([config.to_vec()]).collect()
}
