//! What must hold of the one form.

use plan::FileId;

use super::format;
use crate::ast::dump;
use crate::syntax::parse;
use crate::syntax::tests::dice::Program;
use crate::syntax::tests::programs;

fn tree(text: &str) -> String {
    let (file, messages) = parse(text, FileId(0));
    assert_eq!(messages, [], "{text}");
    dump(&file)
}

/// The one form of a text, after trying all that must hold of it.
fn one_form(text: &str) -> String {
    let formed = format(text).unwrap_or_else(|messages| panic!("{messages:#?}\n{text}"));
    assert_eq!(tree(&formed), tree(text), "the meaning changed:\n{text}\n----\n{formed}");
    let again = format(&formed).unwrap_or_else(|messages| panic!("{messages:#?}\n{formed}"));
    assert_eq!(again, formed, "it changes when it is formed again; it came from:\n{text}");
    assert!(formed.lines().all(|it| it.trim_end() == it), "space at a line's end:\n{formed}");
    formed
}

/// The tokens with spaces, line breaks and comments between them; the comments are numbered.
fn scattered(program: &mut Program) -> (String, usize) {
    let mut text = String::new();
    let mut comments = 0;
    let (lines, noise) = (3 + program.dice.below(40), 8 + program.dice.below(200));
    for token in std::mem::take(&mut program.tokens) {
        text.push_str(&token);
        text.push_str(if program.dice.once_in(lines) { "\n" } else { " " });
        if program.dice.once_in(noise) {
            let before = program.dice.pick(&["", "\n", "\n\n", "    "]);
            text.push_str(&std::format!("{before}# comment {comments}.\n"));
            comments += 1;
        }
    }
    (text, comments)
}

#[test]
fn the_design_programs_have_one_form() {
    for (name, text) in programs() {
        let formed = one_form(&text);
        // What is not too wide for a line stays, but for the columns of one record.
        let changed =
            text.lines().filter(|it| it.chars().count() <= 119 && !formed.contains(*it)).count();
        assert!(changed <= if name.contains("12_nilm") { 3 } else { 0 }, "{name}\n{formed}");
    }
}

#[test]
fn random_programs_have_one_form() {
    for seed in 0..250 {
        let mut program = Program::new(seed);
        let (text, comments) = scattered(&mut program);
        let formed = one_form(&text);
        for comment in 0..comments {
            let found = formed.matches(&std::format!("# comment {comment}.")).count();
            assert_eq!(found, 1, "comment {comment} of seed {seed}:\n{text}\n----\n{formed}");
        }
    }
}

#[test]
fn what_is_too_wide_is_broken() {
    let wide = "a_name_of_more_than_thirty_characters";
    let cases = [
        ("const A=1+2*-3**x", "const A = 1 + 2 * -3 ** x\n".to_owned()),
        (
            "fn f(x)=x[a+1:b,(c),-1 ]+(((3)))/4 .. 4/3",
            "fn f(x) = x[a+1:b, c, -1]+3/4..4/3\n".to_owned(),
        ),
        ("fn f(x)=(x|>g())else(skip)", "fn f(x) = (x |> g) else (skip)\n".to_owned()),
        (
            "\r\n\r\nparam  a\r\n\r\n\r\n\r\nparam b:\tpath # c\r\n",
            "param a\n\nparam b: path # c\n".replace(" # c", "  # c"),
        ),
        (
            &std::format!("pipeline p = {wide}({wide}) |> {wide} |> {wide}"),
            std::format!("pipeline p =\n    {wide}({wide})\n    |> {wide}\n    |> {wide}\n"),
        ),
        (
            &std::format!("fn f(x) = g(x, {wide}, {wide}, {wide}, a: 1)"),
            std::format!("fn f(x) = g(\n    x, {wide}, {wide},\n    {wide}, a: 1)\n"),
        ),
        (
            &std::format!("const A = f({{ {wide}: [{wide}], b: {wide}, {wide} }}, c: 1)"),
            std::format!(
                "const A = f({{\n    {wide}: [{wide}],\n    b:{:36} {wide},\n    {wide},\n}}, c: 1)\n",
                ""
            ),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(one_form(text), expected);
    }
}

#[test]
fn a_text_with_mistakes_is_not_touched() {
    assert_eq!(format("const A = f(p=1)").unwrap_err().len(), 1);
}
