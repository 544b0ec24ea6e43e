//! `html_text`: the text of a page.

use crate::html::{self, Excess, PAGE_MAX};
use crate::prelude::*;
use plan::count;

function! {
    /// Returns the text of an HTML page: all of it, or the article.
    ///
    /// The page is parsed as browsers do, whatever is wrong with its tags. With `keep: all`, the result has a line for
    /// each block (paragraph, heading, list item, row of a table), the title first. White space is collapsed, except in
    /// `pre`; cells of a row are separated by tabs, and empty lines are left out. Scripts, styles, templates, media,
    /// frames, SVG images, and what stands in for them (`noscript`) are left out too. With `keep: article`, it is only
    /// what the page is about, without navigation, advertising, footers and comments, as the reader view of Firefox
    /// finds it (Readability); a page without such a part fails with `no-article`.
    ///
    /// Fails with `too-long` if a page has more than 16 MiB, and with `html-limit` if it would take unbounded time or
    /// memory: elements nested deeper than 512, more than a million of them, or a tag of more than 1,024 attributes.
    /// Bytes are decoded first: `decompress(bytes) |> decode_text |> html_text(keep: article)`.
    ///
    /// ```pipe
    /// range(2) |> map { text: html_text("<h1>News</h1><p>It <b>works</b>.") }    # { text: str }
    /// ```
    "html_text(html: str, keep: all | article = all) fails -> str",
    // Assumed: a parser of 60 MB/s.
    cost: Cost { ns_byte_in: 20.0, bytes_out_per_in: 0.1, ..Cost::call(5_000.0) },
}

/// Bytes that a tree takes for each byte of a page, about; an article is looked for in copies of it.
const WORK: usize = 12;
const COPIES: usize = 3;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let is_article = call.word(1) == "article";
    Ok(Kernel::compute(move |args, out| {
        let page = args.tensor(0).as_str();
        let work = page.len().min(PAGE_MAX) * WORK;
        let _working = Working::of(if is_article { COPIES * work } else { work });
        let text = match is_article {
            true => html::article(page).map_err(|it| refused(it, page))?.ok_or_else(none)?,
            false => html::text(page).map_err(|it| refused(it, page))?,
        };
        out.text(DType::Str, text.as_bytes())
    }))
}

fn none() -> Fault {
    Fault::new("no-article", "no part of the page looks like an article")
}

fn refused(excess: Excess, page: &str) -> Fault {
    let limit = |what: &str, most: usize| {
        Fault::new("html-limit", format!("{what} than {}", count(most as u64)))
    };
    match excess {
        Excess::Bytes => {
            let [found, most] = [page.len(), PAGE_MAX].map(|it| count(it as u64));
            Fault::new("too-long", format!("the page has {found} bytes, but the limit is {most}"))
        }
        Excess::Depth => limit("elements are nested deeper", Excess::DEPTH_MAX),
        Excess::Nodes => limit("the page has more elements", Excess::NODES_MAX),
        Excess::Attributes => limit("a tag has more attributes", Excess::ATTRIBUTES_MAX as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn run(page: &str, keep: &str) -> Result<Value, (&'static str, String)> {
        let run = Trial::of(&ENTRY).text(page).arg(Arg::Word(keep.to_owned())).run();
        run.map_err(|it| (it.code, it.detail.to_string()))
    }

    /// A page with an article among other things.
    fn page() -> String {
        let sentence = "Mills that grind with water need a river, a wheel, and somebody who keeps both of them in order. ";
        let paragraph = format!("<p>{}</p>", sentence.repeat(4));
        format!(
            "<html><head><title>Mills</title></head><body><nav><a href='/'>Home</a> <a href='/all'>All articles</a></nav>\
             <article><h2>On mills</h2>{}</article><footer><p><a href='/legal'>Legal notice</a></footer></body></html>",
            paragraph.repeat(5)
        )
    }

    #[test]
    fn all_or_the_article() {
        let page = page();
        let Ok(all) = run(&page, "all") else { panic!() };
        let text = html::text(&page).unwrap();
        assert_eq!(all, Value::text(&text));
        assert!(text.starts_with("Mills\nHome All articles\nOn mills\nMills that grind"));
        assert!(text.ends_with("\nLegal notice"));
        let article = html::article(&page).unwrap().unwrap();
        assert_eq!(run(&page, "article"), Ok(Value::text(&article)));
        assert!(!article.contains("Home") && !article.contains("Legal"));
        assert_eq!(article.matches("\nMills that grind").count(), 5, "{article}");
    }

    #[test]
    fn what_cannot_be_read_is_a_fault() {
        assert_eq!(run("", "all"), Ok(Value::text("")));
        let none = "no part of the page looks like an article";
        assert_eq!(run("", "article"), Err(("no-article", none.to_owned())));
        let deep = "<div>".repeat(100_000);
        let why = "elements are nested deeper than 512".to_owned();
        assert_eq!(run(&deep, "all"), Err(("html-limit", why.clone())));
        assert_eq!(run(&deep, "article"), Err(("html-limit", why)));
        let long = "a".repeat(PAGE_MAX + 1);
        let why = "the page has 16,777,217 bytes, but the limit is 16,777,216".to_owned();
        assert_eq!(run(&long, "all"), Err(("too-long", why)));
    }
}
