//! Pages and their texts.

use super::*;
use flate2::read::GzDecoder;
use regex::Regex;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::Path,
    time::Instant,
};

fn check(page: &str, expected: &str) {
    assert_eq!(text(page).as_deref(), Ok(expected), "{page}");
}

#[test]
fn each_block_is_a_line() {
    check("", "");
    check("just text", "just text");
    check(
        "<title>A  title</title><h1>Head</h1><p>One\n two<p>three",
        "A title\nHead\nOne two\nthree",
    );
    check("<p>a<b>b</b> <i> c</i>d<br>e<div>f<span>g</span></div>h", "ab cd\ne\nfg\nh");
    check("<ul><li>one<li>two <ul><li>three</ul></ul>", "one\ntwo\nthree");
    check("<p>&lt;b&gt; &amp; a&nbsp;b &#8212; &eacute;</p>", "<b> & a\u{a0}b — é");
    check("<p> </p><div>\n</div>a", "a");
}

#[test]
fn what_is_not_shown_is_left_out() {
    let page = "<head><style>p {}</style><script>if (a < b) '<p>no'</script></head>\
                a<script>b</script><noscript><p>c</noscript><template><p>d</template><svg><title>e</title></svg>\
                <iframe>f</iframe><video>g</video><!-- h -->i<object><p>j</object>";
    check(page, "ai");
}

#[test]
fn cells_are_separated_and_code_is_kept() {
    let page =
        "<table><caption>t</caption><tr><th>a<th> b <tr><td>c<td><p>d</p><td></td><td>e</table>";
    check(page, "t\na\tb\nc\nd\ne");
    check("<pre>\n  if a:\n      b = 1  \n\n  c\n</pre>d", "  if a:\n      b = 1\n  c\nd");
    check("x<pre> <b>y</b>\tz</pre>", "x\n y\tz");
}

/// Trees as the standard has them, not as the tags say.
#[test]
fn broken_markup_is_read_as_browsers_do() {
    check("<table>a<tr><td>b</table>c", "a\nb\nc");
    check("<b><p>a</b>b", "ab");
    check("<p>a<div>b</p>c</div>", "a\nb\nc");
    check("a</body>b<p>c</html>d", "ab\ncd");
    check("<a href=x>a<a>b", "ab");
    check("<select><option>a<option>b</select>", "a\nb");
    check("a\0b<p\0>c", "abc");
}

#[test]
fn what_is_too_large_is_refused() {
    let deep = |n: usize| "<div>".repeat(n) + "a";
    // `html` and `body` count too.
    check(&deep(Excess::DEPTH_MAX - 2), "a");
    assert_eq!(text(&deep(Excess::DEPTH_MAX + 1)), Err(Excess::Depth));
    assert_eq!(text(&deep(100_000)), Err(Excess::Depth));
    assert_eq!(article(&deep(100_000)), Err(Excess::Depth));
    assert_eq!(text(&"a".repeat(PAGE_MAX + 1)), Err(Excess::Bytes));
    assert_eq!(text(&"a".repeat(PAGE_MAX)).map(|it| it.len()), Ok(PAGE_MAX));
    assert_eq!(text(&"<p>".repeat(Excess::NODES_MAX)), Err(Excess::Nodes));
    let tag = |n: usize| {
        let names: Vec<String> = (0..n).map(|it| format!("a{it}")).collect();
        format!("<p {}>b", names.join(" "))
    };
    check(&tag(Excess::ATTRIBUTES_MAX as usize), "b");
    assert_eq!(text(&tag(Excess::ATTRIBUTES_MAX as usize + 1)), Err(Excess::Attributes));
}

/// Pages that take a parser without bounds hours or all memory: each is done with, or refused.
#[test]
fn no_page_takes_forever() {
    let n = 30_000;
    let numbered = |n: usize, piece: &str| -> String {
        (0..n).map(|it| piece.replace('#', &it.to_string())).collect()
    };
    let pages = [
        // Formatting that each paragraph opens again.
        (
            "<p>".to_owned() + &numbered(400, "<b id=#>") + &"</p><p>x".repeat(n),
            Some(Excess::Nodes),
        ),
        (numbered(n, "<p><b id=#></p>"), Some(Excess::Depth)),
        (numbered(n, "<b id=#>") + &"</p><p>x".repeat(n), Some(Excess::Depth)),
        (numbered(n, "<x#>"), Some(Excess::Depth)),
        ("<svg><desc>".repeat(n), Some(Excess::Depth)),
        ("<ruby><rt>".repeat(n), Some(Excess::Depth)),
        (numbered(n, "<html a#=1>"), None),
        ("<div>".repeat(400) + &"<li>x".repeat(n), None),
        ("<table>".repeat(n), None),
        ("<table><a>".repeat(n), None),
        ("<template>".repeat(n), None),
        ("<select><option>".repeat(n), None),
        ("<a><div>".repeat(200) + &"</a>".repeat(n), None),
        ("</p></br>".repeat(n), None),
        ("<!--".repeat(n), None),
        ("&amp".repeat(n), None),
        ("<form><button>".repeat(n), None),
        ("<dd><dt>".repeat(n), None),
    ];
    for (page, excess) in pages {
        let begin = Instant::now();
        let (found, article) = (text(&page), article(&page));
        let (time, shown) = (begin.elapsed(), &page[..page.len().min(40)]);
        println!("{time:?} for {} bytes: {shown}", page.len());
        assert_eq!((found.err(), article.err()), (excess, excess), "{shown}");
    }
}

/// What html5lib finds, walked slowly: `goldens/make.py`.
#[test]
fn texts_are_those_of_html5lib() {
    let mut n_pages = 0;
    for line in include_str!("goldens/pages.jsonl").lines() {
        let [page, expected]: [String; 2] = serde_json::from_str(line).unwrap();
        check(&page, &expected);
        n_pages += 1;
    }
    assert!(n_pages >= 300, "{n_pages}");
}

/// Articles of the web, with what people say that they are: `article-extraction-benchmark` of scrapinghub, and its
/// measure.
#[test]
fn articles_are_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/text/html_gz");
    let Ok(truth) = fs::read(folder.join("ground-truth.json")) else {
        println!("skipped: there are no shared data");
        return;
    };
    let truth: BTreeMap<String, Value> = serde_json::from_slice(&truth).unwrap();
    let (mut precision, mut recall) = (Vec::new(), Vec::new());
    for (name, expected) in truth {
        let Ok(file) = fs::File::open(folder.join(format!("{name}.html.gz"))) else { continue };
        let mut page = String::new();
        GzDecoder::new(file).read_to_string(&mut page).unwrap();
        let found = article(&page).unwrap().unwrap_or_default();
        assert_eq!(article(&page).unwrap().unwrap_or_default(), found, "{name}: the same again");
        let [both, more, less] = compared(expected["articleBody"].as_str().unwrap(), &found);
        if both + more > 0 {
            precision.push(both as f64 / (both + more) as f64);
        }
        if both + less > 0 {
            recall.push(both as f64 / (both + less) as f64);
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let (n_pages, precision, recall) = (recall.len(), mean(&precision), mean(&recall));
    let f1 = 2.0 * precision * recall / (precision + recall);
    println!("{n_pages} pages: precision {precision:.3}, recall {recall:.3}, F1 {f1:.3}");
    assert!(n_pages >= 70 && f1 >= 0.90, "{n_pages} pages, F1 {f1:.3}");
}

/// Sequences of four words that are in both texts, in the second one alone, in the first one alone.
fn compared(expected: &str, found: &str) -> [usize; 3] {
    let [expected, found] = [expected, found].map(sequences);
    let of =
        |all: &BTreeMap<Vec<String>, usize>, it: &Vec<String>| all.get(it).copied().unwrap_or(0);
    let keys: BTreeSet<&Vec<String>> = expected.keys().chain(found.keys()).collect();
    let mut counts = [0; 3];
    for it in keys {
        let (a, b) = (of(&expected, it), of(&found, it));
        counts[0] += a.min(b);
        counts[1] += b.saturating_sub(a);
        counts[2] += a.saturating_sub(b);
    }
    counts
}

fn sequences(text: &str) -> BTreeMap<Vec<String>, usize> {
    let words: Vec<String> =
        Regex::new(r"\w+").unwrap().find_iter(text).map(|it| it.as_str().to_owned()).collect();
    let mut all = BTreeMap::new();
    if !words.is_empty() {
        for it in words.windows(4.min(words.len())) {
            *all.entry(it.to_vec()).or_default() += 1;
        }
    }
    all
}
