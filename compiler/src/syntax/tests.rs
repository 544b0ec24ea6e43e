//! Programs and what is read, wrong programs and what is said.

pub(crate) mod dice;

use std::path::Path;

use pest::Parser as _;
use plan::{Diagnostic, FileId};

use super::CODES;
use super::parser::{Grammar, Rule};
use super::{parse, parse_signature};
use crate::ast::{DeclarationKind, EffectKind, ExprKind, File, Stage, dump};

/// The programs of the design papers, which lie beside the checkout.
pub(crate) fn programs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/design/programs");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("{} is not there: nothing is tried", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    paths.sort();
    let read =
        |it: &std::path::PathBuf| (it.display().to_string(), std::fs::read_to_string(it).unwrap());
    paths.iter().map(read).collect()
}

fn read(text: &str) -> (File, Vec<Diagnostic>) {
    parse(text, FileId(0))
}

#[test]
fn the_design_programs_are_read() {
    for (name, text) in programs() {
        let (file, messages) = read(&text);
        assert_eq!(messages, [], "{name}");
        assert!(!file.declarations.is_empty(), "{name}");
        assert!(Grammar::parse(Rule::file, &text).is_ok(), "{name}");
    }
}

/// What is said about a text, one line a message: `PC0030 at \`p=\`, write \`p: \``.
fn said(text: &str) -> Vec<String> {
    let line = |it: &Diagnostic| {
        let fix = it
            .fix
            .as_ref()
            .map(|fix| format!(", `{}` for `{}`", fix.replacement, fix.span.text(text)));
        format!("{} at `{}`{}", it.code.id, it.span.text(text), fix.unwrap_or_default())
    };
    read(text).1.iter().map(line).collect()
}

/// The text with all that is offered, from the last to the first.
fn mended(text: &str) -> String {
    let mut fixes: Vec<_> = read(text).1.into_iter().filter_map(|it| it.fix).collect();
    fixes.sort_by_key(|it| (it.span.start, it.span.end));
    let mut text = text.to_owned();
    for fix in fixes.into_iter().rev() {
        text.replace_range(fix.span.range(), &fix.replacement);
    }
    text
}

#[test]
fn the_examples_of_the_codes_show_them() {
    for (at, code) in CODES.iter().enumerate() {
        assert!(at == 0 || CODES[at - 1].id < code.id, "{} stands in order", code.id);
        let Some((_, rest)) = code.long.split_once("\n\nWrong:\n\n    ") else { continue };
        let (wrong, right) = rest.split_once("\n\nRight:\n\n    ").unwrap();
        let [wrong, right] = [wrong, right].map(|it| it.replace("\n    ", "\n"));
        let messages = read(&wrong).1;
        assert!(
            !messages.is_empty() && messages.iter().all(|it| it.code == code.code()),
            "{wrong}\n{messages:#?}"
        );
        assert_eq!(read(&right).1, [], "{right}");
        if messages[0].fix.is_some() {
            assert_eq!(read(&mended(&wrong)).1, [], "{}", mended(&wrong));
        }
    }
}

/// Texts, and what is said about each.
static MISTAKES: &[(&str, &[&str])] = &[
    // Several in one declaration, and the next one is read.
    (
        "fn f(x) = g(x, p=0.5) && x.h(1) |> k(q=2)\nconst A = [1 2]",
        &[
            "PC0030 at `p=`, `p: ` for `p=`",
            "PC0038 at `&&`, `and` for `&&`",
            "PC0046 at `h`, `h(x, ` for `x.h(`",
            "PC0030 at `q=`, `q: ` for `q=`",
            "PC0019 at ``, `,` for ``",
        ],
    ),
    ("const A = 3 // three things\nconst B = 7 // 2", &["PC0032 at `//`, `#` for `//`"]),
    ("const A = f(1, // don't\n    2)", &["PC0032 at `//`, `#` for `//`"]),
    ("// use this\nconst A = 1", &["PC0032 at `//`, `#` for `//`"]),
    (
        "fn f(x) = a < b <= g(c) == d",
        &["PC0031 at `<=`, `and b ` for ``", "PC0031 at `==`, `and g(c) ` for ``"],
    ),
    ("fn f(x) = x not in 1..2 in y", &["PC0031 at `in`, `and 1..2 ` for ``"]),
    (
        "fn f(x) = g(x |> h(1).k(), y[0].m(2) + 1)",
        &["PC0046 at `k`, ` |> k(` for `.k(`", "PC0046 at `m`, `m(y[0], ` for `y[0].m(`"],
    ),
    (
        "pipeline p = files('x').map(f(x)).shuffle(3)",
        &[
            "PC0046 at `map`, ` |> map` for `.map`",
            "PC0046 at `shuffle`, ` |> shuffle(` for `.shuffle(`",
        ],
    ),
    ("fn f(x) = [1:3, x[1:3]]", &["PC0034 at `:`, `..` for `:`"]),
    ("fn f(x) = g(area: 0.1:1)", &["PC0034 at `:`, `..` for `:`"]),
    ("fn f(x) = {'a': x, \"b c\": 1}", &["PC0050 at `'a'`, `a` for `'a'`", "PC0050 at `\"b c\"`"]),
    (
        "fn f(x) = g(x if a and b else y, z)",
        &["PC0044 at `x if a and b else`, `if a and b then x else` for `x if a and b else`"],
    ),
    ("fn f(x) = x[::2, 1:5:]", &["PC0049 at `:2`, `` for `:2`", "PC0049 at `:`, `` for `:`"]),
    ("const A 3", &["PC0016 at ``, ` =` for ``"]),
    ("pipeline a files('x')", &["PC0016 at ``, ` =` for ``"]),
    ("fn f(x) -> i32: x", &["PC0016 at `:`, ` =` for `:`"]),
    ("fn f(x, if) = 1. + x", &["PC0015 at `if`", "PC0048 at `1.`, `1.0` for `1.`"]),
    ("fn f(x) = x.map\nparam it", &["PC0015 at `map`", "PC0015 at `it`"]),
    ("param x: = 3\nparam y: i32 =", &["PC0001 at `=`", "PC0001 at ``"]),
    (
        "const A = f(x]\nconst B = {a: (1}\nconst C = 1)",
        &["PC0007 at `]`", "PC0006 at `(`", "PC0007 at `)`"],
    ),
    (
        "let a = 1\nfunction f(x) = 1\nclass A: b",
        &[
            "PC0017 at `let`, `const` for `let`",
            "PC0017 at `function`, `fn` for `function`",
            "PC0017 at `class`",
        ],
    ),
    (
        "import torch\nfrom a.b import c, d\nconst A = 1",
        &[
            "PC0036 at `import torch`",
            "PC0036 at `from a.b import c, d`, `use c, d from \"a/b.pipe\"` for `from a.b import c, d`",
        ],
    ),
    (
        "const A = f(\n    ## why\n    1)\n## nothing",
        &["PC0018 at `##`, `#` for `##`", "PC0018 at `##`, `#` for `##`"],
    ),
    (
        "const A = 25mss + 0x1F + 3 kHz",
        &["PC0011 at `mss`, `ms` for `mss`", "PC0011 at `x1F`", "PC0023 at `kHz`, `` for ` `"],
    ),
    ("edition 2026\nedition 2026", &["PC0014 at `edition 2026`"]),
    ("edition next", &["PC0013 at `next`, `2026` for `next`"]),
    ("const A = 'a", &["PC0008 at `'a`"]),
    (
        "fn f(x) = if x > 0: 1 else: 2",
        &["PC0044 at `:`, ` then` for `:`", "PC0044 at `:`, `` for `:`"],
    ),
    ("fn f(x) = c ? a : b\nfn g(x) = x if c", &["PC0044 at `?`", "PC0020 at `if`"]),
    ("fn f(x) = x is not None\nfn g(x) = h(x => 1)", &["PC0042 at `None`", "PC0033 at `=>`"]),
    ("def f(x):\n    y = x\n    return y", &["PC0035 at `def`"]),
    ("const A = map x", &["PC0001 at `map`"]),
    ("pipeline a = b |> |> c", &["PC0001 at `|>`"]),
    (
        "const A = 1 ≤ 2; const B = 2 ^ 3",
        &["PC0010 at `≤`, `<=` for `≤`", "PC0043 at `;`, `` for `;`", "PC0010 at `^`"],
    ),
];

#[test]
fn every_mistake_is_said_once() {
    let odd: Vec<_> =
        MISTAKES.iter().filter(|it| said(it.0) != it.1).map(|it| (it.0, said(it.0))).collect();
    assert!(odd.is_empty(), "{odd:#?}");
}

#[test]
fn what_is_broken_is_there_by_name() {
    let text =
        "fn f(x = \npipeline p = |\nuse a, b fro 'c'\nextern fn g( -> i32 = 'm:g'\nconst 3 = 4";
    let (file, messages) = read(text);
    assert_eq!(messages.len(), 5);
    assert_eq!(
        dump(&file),
        "(broken-fn (f) <broken>)\n(broken-pipeline p <broken>)\n(broken-use a b fro \"\")\n(broken-extern (g) \"\")\n"
    );
}

#[test]
fn spans_are_what_was_written() {
    let text = "fn f(x) =\n    (x + 1) # sum\n    |> g(a: 2 )  # call\n";
    let (file, _) = read(text);
    let DeclarationKind::Fn(function) = &file.declarations[0].kind else { panic!("a fn") };
    assert_eq!(function.body.span.text(text), "(x + 1) # sum\n    |> g(a: 2 )");
    assert_eq!(file.declarations[0].span.end, function.body.span.end);
    let ExprKind::Pipe { lhs, stage: Stage::Call(call) } = &function.body.kind else {
        panic!("a pipe")
    };
    assert_eq!((lhs.span.text(text), lhs.bracketed), ("(x + 1)", true));
    assert_eq!(call.args[0].span().text(text), "a: 2");
}

#[test]
fn signs_bind_as_the_language_says() {
    let cases = [
        (
            "a or b and not c == d + e * -f ** g",
            "(or a (and b (not (== c (+ d (* e (- (** f g))))))))",
        ),
        ("2 ** -3 ** 2", "(** 2 (- (** 3 2)))"),
        ("a - b - c", "(- (- a b) c)"),
        ("a not in b..c", "(not-in a (.. b c))"),
        ("r['a'][0].f as f32[n, ?]", "(as (field (index (index r \"a\") 0) f) (tensor f32 n ?))"),
        ("x as a ** 2", "(** (as x a) 2)"),
        (
            "a else b |> f else skip(most: 1e-3)",
            "(else (|> (else a b) (call f)) (<skip> (most: 1e-3)))",
        ),
        ("if a then b else c else another", "(else (if a b c) <another>)"),
        ("a |> map b or c |> d", "(|> (|> a (map (or b c))) (call d))"),
        (
            "'{a}' |> f(\"{a}{{b}{{c,{d}}}\\u{41}\")",
            "(|> \"{a}\" (call f (text a \"{b}{{c,\" d \"}}A\")))",
        ),
    ];
    for (text, expected) in cases {
        let (file, messages) = read(&format!("const A = {text}"));
        assert_eq!(messages, [], "{text}");
        assert_eq!(dump(&file), format!("(const A {expected})\n"), "{text}");
    }
}

#[test]
fn signatures_are_read() {
    let text = "resize(image: t[h, w, c], height: int, width: int = height, method: nearest | bilinear = bilinear, \
                by: each any, tokens: int?) random fails reads -> t[height, width, c]";
    let signature = parse_signature(text).unwrap();
    assert_eq!(signature.name.text, "resize");
    assert_eq!(signature.formals.len(), 6);
    assert!(
        signature.formals[4].each
            && !signature.formals[4].optional
            && signature.formals[5].optional
    );
    assert!(signature.has(EffectKind::Reads) && signature.has(EffectKind::Fails));
    assert!(parse_signature("map(x: { a: t, .. }) -> stream").is_ok());
    assert_eq!(parse_signature("f(x: ) -> t").unwrap_err().span.text("f(x: ) -> t"), ")");
    for wrong in ["", "f", "f(", "f()) ", "f(\"", "f(x = 99999999999999999999)"] {
        assert!(parse_signature(wrong).is_err(), "{wrong}");
    }
}

/// Reads a text and all that follows from reading; nothing may panic, hang, or leave the text.
fn survives(text: &str) {
    let (file, messages) = read(text);
    let within = |it: &plan::Span| it.start <= it.end && text.get(it.range()).is_some();
    assert!(messages.iter().all(|it| within(&it.span)), "{text:?}");
    assert!(
        messages.iter().filter_map(|it| it.fix.as_ref()).all(|it| within(&it.span)),
        "{text:?}"
    );
    assert!(super::highlight(text).iter().all(|it| within(&it.0)), "{text:?}");
    let _ = (dump(&file), parse_signature(text), super::parse_value(text));
    if let Ok(formed) = crate::format::format(text) {
        assert_eq!(crate::format::format(&formed).as_ref(), Ok(&formed), "{text:?}");
    }
}

#[test]
fn no_text_is_too_wild() {
    let mut sources: Vec<String> = programs().into_iter().map(|it| it.1).collect();
    sources.extend(CODES.iter().map(|it| it.long.to_owned()));
    let soup = "edition param const fn extern pipeline use map where with if then else and not in as for it ( ) [ ] { } \
                , : = |> | .. . ? -> + - ** // ! && < == 1 2.5ms 0x 'a' \"b{c}\" \" ' \\ # ## \n ; “ é \u{feff} x f y_1";
    let soup: Vec<&str> = soup.split(' ').collect();
    for seed in 0..2_000 {
        let mut dice = dice::Dice::new(seed);
        let mut text: Vec<char> = sources[dice.below(sources.len())].chars().take(600).collect();
        if dice.once_in(3) {
            text.clear();
        }
        for _ in 0..=dice.below(20) {
            let at = dice.below(text.len() + 1);
            let end = (at + dice.below(8)).min(text.len());
            let words = (0..dice.below(6)).map(|_| dice.pick(&soup)).collect::<Vec<_>>().join(" ");
            text.splice(at..end, words.chars());
        }
        survives(&text.into_iter().collect::<String>());
    }
}

#[test]
fn no_text_is_too_long_or_too_deep() {
    let many = |text: &str, n: usize| text.repeat(n);
    let head = "const A = ";
    for open in [
        "(",
        "[",
        "{ a: ",
        "f(",
        "if a then b else ",
        "- ",
        "not ",
        "x[",
        "f(a: ",
        "a ** ",
        "[x for x in ",
        "{ a = ",
        "f(p=",
    ] {
        for n in [60, 64, 65, 10_000] {
            survives(&(head.to_owned() + &many(open, n)));
        }
    }
    for row in [
        "a + ",
        "a |> ",
        "a.",
        "a[0]",
        "a else ",
        "1, ",
        "a b ",
        "# c\n",
        "## d\n",
        "param x\n",
        "a == ",
        "\"",
        "'",
        "x=1\n",
        "// a b\n",
    ] {
        for n in [64, 256, 20_000] {
            survives(&(head.to_owned() + &many(row, n)));
        }
    }
    let deepest = [
        ("(", ")"),
        ("f(a, b: [", "])"),
        ("{ a: ", "}"),
        ("x[if a then ", " else b]"),
        ("a ** (", ")"),
    ];
    for (open, close) in deepest {
        let n = 64
            / (open.matches(['(', '[', '{']).count()
                + open.matches("if").count()
                + open.matches("**").count());
        let text = head.to_owned() + &many(open, n) + "1" + &many(close, n);
        assert_eq!(said(&text), [""; 0], "{text}");
        survives(&text);
    }
    assert_eq!(said(&many(" ", super::SOURCE_MAX + 1)), ["PC0002 at ``"]);
    assert_eq!(said(&many("param x\n", super::DECLARATIONS_MAX + 1)), ["PC0004 at `param`"]);
    assert_eq!(said(&(head.to_owned() + &many("a + ", 257) + "a")), ["PC0005 at `+`"]);
}
