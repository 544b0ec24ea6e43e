//! The explanation as one HTML file that needs nothing else: no script, no font, no network.

mod markup;
mod measured;
mod picture;
mod roofline;
mod strategies;

use super::{
    Explanation, Observed,
    figures::{percent, rate, time},
    forecast, long,
    table::Cell,
};
use crate::estimate::{Figure, Strategies};
use markup::{element, prose};
use model::verdict::Verdict;

/// How it looks, in the light, in the dark, and on paper.
const STYLE: &str = include_str!("html/page.css");

/// The page.
pub(super) fn page(explanation: &Explanation, observed: Option<&Observed<'_>>) -> String {
    let mut body = head(explanation, observed) + &tiles(explanation);
    body += &section("The plan", "", &picture::plan(explanation));
    let mut figures = roofline::figure(explanation, observed)
        .map_or(String::new(), |it| section("Limits", "", &it));
    figures += &section("Bottleneck and suggestions", "", &facts(explanation));
    if let Some(observed) = observed {
        figures += &section("Time by stage", "", &measured::stages(observed));
        figures += &section("Waits of the consumer", "", &measured::stalls(observed));
    }
    body += &element("div", "columns", &figures);
    body += &section("The steps", "", &table(&long::rows(explanation), "bound"));
    if let Some(rows) = forecast::table(explanation) {
        body += &section("At full speed", "", &table(&rows[1..], "bound"));
    }
    document(&format!("{}: what it costs", explanation.pipeline), &body)
}

/// The page of what could be cached, for one number of epochs or several.
pub(super) fn strategies_page(explanation: &Explanation, all: &[Strategies]) -> String {
    let name = element("p", "name", &markup::escaped(&explanation.pipeline));
    let assumed = !explanation.estimate.ns.mark().is_empty();
    let under = if assumed { long::ASSUMED } else { "Predicted: nothing was run." };
    let under = element("p", "quiet", &markup::escaped(under));
    let head = name + &element("h1", "", "What could be cached") + &under;
    let body = element("header", "apart", &head) + &strategies::sections(explanation, all);
    document(&format!("{}: what could be cached", explanation.pipeline), &body)
}

fn document(title: &str, body: &str) -> String {
    let title = markup::escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn section(title: &str, class: &str, inner: &str) -> String {
    element("section", class, &(element("h2", "", &markup::escaped(title)) + inner))
}

/// The verdict, before all else.
fn head(explanation: &Explanation, observed: Option<&Observed<'_>>) -> String {
    let headline = &explanation.headline;
    let records = rate(headline.figure(headline.records_per_second));
    let bound = prose(&long::bound(explanation));
    let name = element("p", "name", &markup::escaped(&explanation.pipeline));
    let cores = long::cores(explanation);
    let (how, on) = match long::seen(explanation) {
        Some(it) => (" measured", format!("with {it}")),
        None => ("", format!("on {cores}")),
    };
    let line = format!(
        "{} records/s{how} {on}, bottleneck: <strong>{bound}</strong>",
        markup::escaped(&records)
    );
    let under = match observed {
        _ if let Some(predicted) = long::predicted(explanation) => predicted,
        Some(it) => {
            let seen = Figure::exact(it.records_per_second());
            format!("the best that these costs allow; measured: {} records/s", rate(seen))
        }
        None if explanation.estimate.ns.mark().is_empty() => String::new(),
        None => long::ASSUMED.to_owned(),
    };
    let under = element("p", "quiet", &markup::escaped(&under));
    element("header", "", &(name + &element("h1", "", &line) + &under))
}

/// A few figures that are read first.
fn tiles(explanation: &Explanation) -> String {
    let estimate = &explanation.estimate;
    let mut tiles = String::new();
    let mut tile = |name: &str, value: &str, class: &str| {
        let inner = element("dt", "", &markup::escaped(name))
            + &element("dd", class, &markup::escaped(value));
        tiles += &element("div", "tile", &inner);
    };
    if estimate.batch_rows.is_some() {
        let headline = &explanation.headline;
        let batches = rate(headline.figure(headline.outputs_per_second));
        tile("batches", &format!("{batches}/s"), "");
    }
    if let Some(outlook) = &explanation.outlook {
        let solution = &outlook.solution;
        let cores = long::cores(explanation);
        tile(&format!("of {cores} in use"), &percent(solution.core_use), "");
        let (kind, class) = kind(solution.verdict);
        tile("limits", kind, class);
    }
    let each = estimate.ns.times(1.0 / estimate.batch_rows.unwrap_or(1.0));
    tile("time per record", &time(each), "");
    tile("memory", &super::figures::bytes(estimate.memory.total()), "");
    element("dl", "tiles", &tiles)
}

fn kind(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Hardware => ("hardware", ""),
        Verdict::Software => ("a sequential step", "bad"),
        Verdict::Outside => ("an external service", "bad"),
        Verdict::Consumer => ("the training step", "good"),
        Verdict::Unbounded => ("no known limit", ""),
    }
}

/// Bounds, what helps, what is kept, what was rewritten; the most useful first.
fn facts(explanation: &Explanation) -> String {
    let first =
        ["verdict", "suggestions", "limits", "measured", "cached", "warm epochs", "not cached"];
    let rank = |name: &str| first.iter().position(|it| *it == name).unwrap_or(first.len());
    let mut facts = long::facts(explanation);
    facts.sort_by_key(|it| rank(it.0));
    let mut rows = String::new();
    let mut before = "";
    for (name, text) in &facts {
        let shown = if *name == before { "" } else { name };
        before = name;
        let parts: Vec<&str> = match *name {
            "limits" | "suggestions" => text.split("; ").collect(),
            _ => vec![text],
        };
        let lines: String = parts.iter().map(|it| element("p", "", &prose(it))).collect();
        rows += &(element("dt", "", shown) + &element("dd", "", &lines));
    }
    element("dl", "facts", &rows)
}

/// A table of text as one of HTML; a row of one cell is as long as it is, and one that begins with `>` has a class of its own.
fn table(rows: &[Vec<Cell>], class: &str) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(1);
    let mut lines = String::new();
    for (i, row) in rows.iter().enumerate() {
        let tag = if i == 0 { "th" } else { "td" };
        let is_marked = row.first().is_some_and(|it| it.text().starts_with('>'));
        let cells: String = row.iter().map(|it| cell(it, (tag, row.len(), n_columns))).collect();
        lines += &element("tr", if is_marked { class } else { "" }, &cells);
    }
    element("div", "scroll", &element("table", "", &lines))
}

fn cell(cell: &Cell, (tag, n_cells, n_columns): (&str, usize, usize)) -> String {
    let text = cell.text().trim_start_matches(['>', ' ']);
    let indent = cell.text().chars().count() - text.chars().count();
    let span = if n_cells == 1 { format!(" colspan=\"{n_columns}\"") } else { String::new() };
    let class = match (cell.is_right(), n_cells) {
        (true, _) => " class=\"number\"",
        (false, 1) => " class=\"note\"",
        (false, _) => "",
    };
    // As many spaces as the text has: half a character and a bit each.
    let pad = match indent {
        0 => String::new(),
        n => format!(" style=\"padding-left:{:.1}em\"", 0.5 + 0.45 * n as f64),
    };
    format!("<{tag}{class}{span}{pad}>{}</{tag}>\n", markup::escaped(text))
}
