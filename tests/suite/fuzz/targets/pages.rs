//! Pages of HTML: whatever they are, their text is text, in lines that are none of them empty.

use plan::{Arg, DType, ExprId, Type};
use runtime::{Args, Call, Fault, Kernel, Kernels, Out, Philox, Scratch, Tensor};

/// Finds the text of a page, all of it and that of an article, and reads it back where it is escaped.
pub(crate) fn pages(bytes: &[u8]) {
    let page = String::from_utf8_lossy(bytes);
    let [all, article] = ["all", "article"].map(made);
    for text in [found(&all, &page), found(&article, &page)].into_iter().flatten() {
        let is_line = |it: &str| !it.trim().is_empty();
        assert!(text.is_empty() || text.split('\n').all(is_line), "{text:?}");
    }

    // What means nothing to a parser stays, with white space collapsed.
    let words: Vec<&str> =
        page.split([' ', '\t', '\n', '\r', '\u{c}']).filter(|it| !it.is_empty()).collect();
    let plain = words.join(" ").replace('\0', "");
    let escaped = plain.replace('&', "&amp;").replace('<', "&lt;");
    let plain = plain.split(' ').filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
    let plain = if plain.trim().is_empty() { String::new() } else { plain };
    assert_eq!(found(&all, &format!("<div>{escaped}</div>")), Ok(plain));
}

fn made(keep: &str) -> Kernel {
    let args = [Arg::Expr(ExprId(0)), Arg::Word(keep.to_owned())];
    let (text, result) = (Type::scalar(DType::Str), Type::scalar(DType::Str));
    let types = [Some(text), None];
    let call = Call { args: &args, types: &types, result: &result, sources: &[], outside: None };
    let build = stdlib::Kernels.function("html_text").expect("the library has it");
    let Ok(kernel) = build(&call) else { panic!("`keep` is a word that it knows") };
    kernel
}

fn found(kernel: &Kernel, page: &str) -> Result<String, Fault> {
    let mut scratch = Scratch::new();
    let values = [Tensor::text(DType::Str, page.as_bytes()), Tensor::nothing()];
    let args = Args::of(&values);
    kernel.write(&mut Philox::new(1, 2, 3), &args, &mut Out::grow(&mut scratch))?;
    Ok(scratch.tensor().as_str().to_owned())
}

/// Pages, sound and not.
pub(super) fn files() -> Vec<Vec<u8>> {
    let sentence =
        "Mills that grind with water need a river, a wheel, and somebody who keeps both in order. ";
    let article = format!(
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Mills</title><style>p {{}}</style></head><body>\
         <nav><a href='/'>Home</a></nav><article><h1>On mills</h1>{}</article><footer>Legal notice</footer></body></html>",
        format!("<p>{}</p>", sentence.repeat(4)).repeat(4)
    );
    let all = [
        article.as_str(),
        "<table>a<tr><td>b<td>c<caption>d</table><ul><li>e<li>f</ul><pre> g\n  h </pre>",
        "<p><b id=1><i>x</p>y</b>z<a href=1><a href=2>",
        "<svg><desc><p>a<math><mi>b</svg><template><td>c</template><select><option>d<hr></select>",
        "<script><!--<script></script>--></script><noscript><p>a</noscript><iframe>b</iframe>&#x41;&copy;&notit;",
        "<p a=1 b='2' c=\"3\" d/e f = g>h<![CDATA[i]]><!-- j --><?k?></p></br>",
        "",
    ];
    all.iter().map(|it| it.as_bytes().to_vec()).collect()
}
