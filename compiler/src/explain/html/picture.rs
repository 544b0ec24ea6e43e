//! The plan, drawn from top to bottom: a box for each step, and in it a bar as long as its share of
//! the processor time, cut into the functions that it calls.

use super::markup::{clipped, label, line, rect, svg};
use crate::{
    estimate::CallEstimate,
    explain::{
        Explanation,
        drawing::{Edge, Node, edges, is_bound_by_consumer, nodes},
        figures::percent,
        long,
    },
};

/// The width of the drawing; all lengths are in its measure.
const WIDTH: f64 = 1080.0;
const BOX_HEIGHT: f64 = 64.0;
/// From one box to the next: the room for what is written at an edge.
const GAP: f64 = 24.0;
/// What a stream that is joined stands further right.
const INDENT: f64 = 34.0;
/// Where the bar of the whole processor time begins, and how long it is.
const BAR: (f64, f64) = (372.0, 440.0);
const BAR_HEIGHT: f64 = 18.0;
/// Where what a step costs is written.
const COSTS: f64 = 832.0;
/// Functions of a step that have a colour; the others share one.
const COLOURS: usize = 5;

/// The drawing.
pub(super) fn plan(explanation: &Explanation) -> String {
    let (nodes, edges) = (nodes(explanation), edges(explanation));
    let mut inner = String::new();
    for edge in &edges {
        inner += &stream(edge, &nodes);
    }
    for (row, node) in nodes.iter().enumerate() {
        inner += &step(node, row);
    }
    inner += &consumer(explanation, nodes.len());
    svg("the plan", (WIDTH, top(nodes.len()) + 40.0), &inner)
}

fn top(row: usize) -> f64 {
    2.0 + row as f64 * (BOX_HEIGHT + GAP)
}

fn left(node: &Node<'_>) -> f64 {
    2.0 + node.line.depth.min(6) as f64 * INDENT
}

fn step(node: &Node<'_>, row: usize) -> String {
    let (x, y) = (left(node), top(row));
    let class = match () {
        () if node.is_bottleneck => "step bottleneck",
        () if node.is_idle() => "step idle",
        () => "step",
    };
    let mut drawn = rect(class, (x, y), (WIDTH - 2.0 - x, BOX_HEIGHT), &node.facts.join("\n"));
    let room = ((BAR.0 - x - 24.0) / 8.2) as usize;
    drawn += &label("title", (x + 12.0, y + 25.0), &clipped(&node.line.step, room));
    let class = if node.is_bottleneck { "alarm" } else { "quiet" };
    drawn += &label(class, (x + 12.0, y + 47.0), &clipped(&under(node), room + 6));
    drawn += &bar(node, y);
    let costs = node.facts.iter().skip(1).take(3);
    for (i, fact) in costs.enumerate() {
        let class = if i == 0 { "fact" } else { "quiet" };
        drawn += &label(class, (COSTS, y + 20.0 + 17.0 * i as f64), fact);
    }
    drawn
}

/// What is said under a step's name.
fn under(node: &Node<'_>) -> String {
    let mut parts = Vec::new();
    if node.is_bottleneck {
        parts.push("bottleneck".to_owned());
    }
    parts.extend(node.line.stream.iter().map(|it| format!("→ {it}")));
    if !node.kept.is_empty() {
        parts.push(format!("cached: {}", node.kept.join(", ")));
    }
    parts.push(node.line.place.clone());
    parts.join(" · ")
}

/// The share of the processor time, cut into functions, and their names under it.
fn bar(node: &Node<'_>, y: f64) -> String {
    let share = node.step.share;
    let mut drawn = rect("track", (BAR.0, y + 12.0), (BAR.1, BAR_HEIGHT), "");
    if share <= 0.0 {
        return drawn;
    }
    let mut x = BAR.0;
    let mut names = String::new();
    for (i, (name, part)) in parts(&node.step.calls).into_iter().enumerate() {
        let width = BAR.1 * share * part;
        let hint = format!("{name}: {}", percent(share * part));
        drawn += &rect(&format!("c{i}"), (x, y + 12.0), (width.max(0.5), BAR_HEIGHT), &hint);
        x += width;
        if i < 4 && part >= 0.01 {
            names += &format!("<tspan class=\"c{i}\">■</tspan> ");
            names += &super::markup::escaped(&format!(
                "{} {}   ",
                clipped(&name, 18),
                percent(share * part)
            ));
        }
    }
    let share = percent(share);
    let beside = x + 8.0;
    if beside < BAR.0 + BAR.1 - 40.0 {
        drawn += &label("quiet", (beside, y + 26.0), &share);
    }
    drawn
        + &format!(
            "<text class=\"quiet\" x=\"{:.1}\" y=\"{:.1}\">{names}</text>\n",
            BAR.0,
            y + 49.0
        )
}

/// The functions that have a colour, and all others as one; each with its share of the step.
fn parts(calls: &[CallEstimate]) -> Vec<(String, f64)> {
    let (dear, others) = calls.split_at(calls.len().min(COLOURS));
    let mut parts: Vec<(String, f64)> = dear.iter().map(|it| (it.name.clone(), it.share)).collect();
    let rest: f64 = others.iter().map(|it| it.share).sum();
    if rest > 0.0 {
        parts.push(("others".to_owned(), rest));
    }
    parts.retain(|it| it.1 > 0.0);
    parts
}

/// An edge: down to the next box, or around those between.
fn stream(edge: &Edge, nodes: &[Node<'_>]) -> String {
    let row = |at: usize| nodes.iter().position(|it| it.at() == at);
    let Some(from) = row(edge.from) else { return String::new() };
    let to = edge.to.and_then(row).unwrap_or(nodes.len());
    let x = nodes.get(to).map_or(2.0, left) + 22.0;
    let (start, y) = (left(&nodes[from]), top(from));
    let mut drawn = String::new();
    if start > x {
        let middle = y + BOX_HEIGHT / 2.0;
        drawn += &line("edge", (start, middle), (x, middle));
        drawn += &line("edge", (x, middle), (x, top(to) - 1.0));
    } else {
        drawn += &line("edge", (x, y + BOX_HEIGHT), (x, top(to) - 1.0));
    }
    let tip = top(to);
    drawn += &format!("<path class=\"tip\" d=\"M{:.1} {:.1}l10 0l-5 8z\"/>\n", x - 5.0, tip - 9.0);
    drawn + &label("quiet", (start.max(x - 22.0) + 36.0, y + BOX_HEIGHT + 16.0), &edge.label())
}

fn consumer(explanation: &Explanation, row: usize) -> String {
    let is_bound = is_bound_by_consumer(explanation);
    let class = if is_bound { "step bottleneck" } else { "step idle" };
    let cores = long::cores(explanation);
    let text = if is_bound { "training step: limits the rate" } else { "consumer" };
    rect(class, (2.0, top(row)), (300.0, 34.0), &cores)
        + &label("title", (14.0, top(row) + 22.0), text)
}
