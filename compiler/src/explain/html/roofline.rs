//! The roofline: how fast the pipeline is by how many outputs are under way (Williams, Waterman and
//! Patterson, Communications of the ACM 52 (2009), carried over to pipelines by Little's law).

use super::markup::{clipped, element, label, line, svg};
use crate::estimate::{Figure, Origin};
use crate::explain::{
    Explanation, Observed,
    drawing::is_bound_by_consumer,
    figures::{rate, time},
    forecast,
};

/// The drawing, and the field in it that holds the lines: left, top, right, bottom.
const SIZE: (f64, f64) = (560.0, 330.0);
const FIELD: (f64, f64, f64, f64) = (66.0, 14.0, 546.0, 286.0);
/// Bounds that are so many times as far away are not drawn.
const NEAR: f64 = 2.5;
/// Bounds that are drawn, at the most.
const DRAWN: usize = 5;
/// From one line of text to the next.
const LINE: f64 = 15.0;

/// The field and what is the most in it.
struct Scale {
    under_way: f64,
    records: f64,
}

impl Scale {
    fn at(&self, under_way: f64, records: f64) -> (f64, f64) {
        let (left, top, right, bottom) = FIELD;
        let x = left + (right - left) * under_way / self.under_way;
        (x, bottom - (bottom - top) * records / self.records)
    }
}

/// The figure with its caption; nothing where nothing bounds the rate.
pub(super) fn figure(explanation: &Explanation, observed: Option<&Observed<'_>>) -> Option<String> {
    let solution = &explanation.outlook.as_ref()?.solution;
    let per_output = explanation.estimate.batch_rows.unwrap_or(1.0);
    let (most, knee) = (solution.rate * per_output, solution.saturation);
    if !(most.is_finite() && most > 0.0 && knee > 0.0) {
        return None;
    }
    let mut bounds = forecast::bounds(explanation);
    bounds.retain(|it| it.1.value <= NEAR * most);
    bounds.truncate(DRAWN);
    let point = observed.map(|it| (it.under_way(), it.records_per_second()));
    let seen = point.unwrap_or_default();
    let highest = bounds.iter().map(|it| it.1.value).fold(seen.1, f64::max);
    let scale = Scale { under_way: 1.15 * (2.0 * knee).max(seen.0), records: 1.15 * highest };
    let mut inner = axes(&scale);
    let (corner, foot) = (scale.at(knee, most), scale.at(knee, 0.0));
    inner += &line("mark", corner, foot);
    inner += &label("quiet", (foot.0 + 6.0, foot.1 - 8.0), &format!("N* = {knee:.1}"));
    inner += &roofs(&bounds, &scale);
    let corners = solution.roofline().map(|(n, x)| (n, x * per_output));
    inner += &line("roof", scale.at(0.0, 0.0), scale.at(corners[1].0, corners[1].1));
    let end = scale.at(scale.under_way, most);
    inner += &line("roof", scale.at(corners[1].0, corners[1].1), end);
    if let Some(point) = point {
        inner += &measured(point, (explanation, &scale));
    }
    let alone = time(Figure { value: 1e9 * solution.alone_s, origin: Origin::Measured });
    let unit = if explanation.estimate.batch_rows.is_some() { "batch" } else { "record" };
    let caption = format!(
        "A single {unit} takes {alone}: with N in flight, the rate is N/R_min per second, until a \
         resource is saturated at N* = {knee:.1}. Dashed: the limits."
    );
    Some(svg("roofline", SIZE, &inner) + &element("p", "quiet", &caption))
}

/// The point that was measured: outputs under way, and records in a second.
fn measured((n, x): (f64, f64), (explanation, scale): (&Explanation, &Scale)) -> String {
    let (cx, cy) = scale.at(n, x);
    // Nothing but the run itself takes the outputs of a profile.
    let free = if is_bound_by_consumer(explanation) { ", without a training step" } else { "" };
    let text = format!("measured {}/s{free}", told(x));
    let is_right = cx > (FIELD.0 + FIELD.2) / 2.0;
    let (class, x) = if is_right { ("seen end", cx - 11.0) } else { ("seen", cx + 11.0) };
    let circle = format!("<circle class=\"seen\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"6\"/>\n");
    circle + &label(class, (x, cy + 5.0), &text)
}

fn told(records: f64) -> String {
    rate(Figure { value: records, origin: Origin::Measured })
}

fn axes(scale: &Scale) -> String {
    let (left, top, right, bottom) = FIELD;
    let mut drawn = line("axis", (left, bottom), (right, bottom));
    drawn += &line("axis", (left, top), (left, bottom));
    for it in ticks(scale.under_way) {
        let (x, y) = scale.at(it, 0.0);
        drawn += &line("axis", (x, y), (x, y + 4.0));
        drawn += &label("quiet middle", (x, y + 17.0), &short(it));
    }
    for it in ticks(scale.records) {
        let (x, y) = scale.at(0.0, it);
        drawn += &line("grid", (x, y), (right, y));
        drawn += &label("quiet end", (x - 6.0, y + 4.0), &told(it));
    }
    let middle = (left + right) / 2.0;
    drawn += &label("quiet middle", (middle, bottom + 36.0), "N: outputs in flight");
    drawn + &label("quiet", (left + 6.0, top + 4.0), "records/s")
}

/// The bounds as level lines; texts that would lie upon each other are set apart.
fn roofs(bounds: &[(String, Figure)], scale: &Scale) -> String {
    let mut drawn = String::new();
    let mut last = f64::INFINITY;
    for (name, figure) in bounds {
        let (x, y) = scale.at(scale.under_way, figure.value);
        drawn += &line("bound", (FIELD.0, y), (x, y));
        let at = (y - 5.0).min(last - LINE);
        last = at;
        let text = format!("{}: {}", clipped(&name.replace('`', ""), 52), rate(*figure));
        drawn += &label("quiet end", (x - 2.0, at), &text);
    }
    drawn
}

/// Some round numbers from 0 to `most`.
pub(super) fn ticks(most: f64) -> Vec<f64> {
    let rough = most / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|it| it * power);
    let step = steps.into_iter().find(|it| *it >= rough * 0.999).unwrap_or(most);
    (0..8).map(|it| f64::from(it) * step).filter(|it| *it <= most).collect()
}

fn short(n: f64) -> String {
    if n >= 1e3 { rate(Figure::exact(n)) } else { format!("{}", (n * 1e3).round() / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(4.6), [0.0, 2.0, 4.0]);
        assert_eq!(ticks(2000.0), [0.0, 500.0, 1000.0, 1500.0, 2000.0]);
    }
}
