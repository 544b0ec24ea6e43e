//! What could be cached, as a picture: the bytes of each strategy and its rate, and the front that no other one is beyond.

use super::markup::{clipped, element, label, line, prose, svg};
use crate::estimate::{Figure, Origin, Row, Strategies};
use crate::explain::{
    Explanation,
    figures::{bytes, rate},
    strategies::{PARETO, Told, kept},
};

/// The drawing, and the field in it that holds the points: left, top, right, bottom.
const SIZE: (f64, f64) = (1080.0, 430.0);
const FIELD: (f64, f64, f64, f64) = (76.0, 16.0, 1064.0, 380.0);
/// Where what takes no bytes stands, which no logarithm shows, and where the others begin.
const NOTHING: f64 = FIELD.0 + 40.0;
const SOMETHING: f64 = FIELD.0 + 90.0;
/// How wide a character of a label is, on average, and how high its line.
const CHARACTER: f64 = 6.5;
const LINE: f64 = 15.0;
/// Characters of a label.
const LABEL: usize = 60;
/// A point's radius.
const RADIUS: f64 = 5.0;
/// Where a label stands beside its point: so many lines lower, on the right if there is room, else on the left. The
/// front often runs at its height, so that is not the first place.
const PLACES: [f64; 7] = [-0.9, 0.9, 0.0, -2.0, 2.0, -3.0, 3.0];

/// A section for each number of epochs: the picture, its table, and what else is to be known.
pub(super) fn sections(explanation: &Explanation, all: &[Strategies]) -> String {
    all.iter().map(|it| section(explanation, it)).collect()
}

fn section(explanation: &Explanation, found: &Strategies) -> String {
    let Some(told) = Told::of(explanation, found) else { return String::new() };
    let caption = format!(
        "Each point is a row of the table, and the ring, the row in bold, is what `run` does{}. The line is the front: nothing \
         takes as few bytes and is faster. A filled point, or `*`, {PARETO}.",
        told.best_for()
    );
    let mut facts = String::new();
    for (name, text) in told.facts("the ring") {
        facts += &(element("dt", "", name) + &element("dd", "", &element("p", "", &prose(&text))));
    }
    let inner = picture(explanation, found)
        + &element("p", "quiet", &prose(&caption))
        + &super::table(&told.rows(), "chosen")
        + &element("dl", "facts", &facts);
    super::section(&told.occasion(), "", &inner)
}

/// Where bytes and rates lie in the field.
struct Scale {
    /// Logarithms of the fewest and the most bytes.
    bytes: (f64, f64),
    records: f64,
}

impl Scale {
    fn of(points: &[Point<'_>]) -> Self {
        let logs = || points.iter().filter(|it| it.bytes >= 1.0).map(|it| it.bytes.log10());
        let (least, most) = (logs().fold(f64::INFINITY, f64::min), logs().fold(0.0, f64::max));
        let records = points.iter().map(|it| it.records).fold(0.0, f64::max);
        Self { bytes: (least - 0.15, (most + 0.15).max(least + 0.5)), records: 1.12 * records }
    }

    fn x(&self, bytes: f64) -> f64 {
        if bytes < 1.0 {
            return NOTHING;
        }
        let (least, most) = self.bytes;
        SOMETHING + (FIELD.2 - SOMETHING) * (bytes.log10() - least) / (most - least)
    }

    fn y(&self, records: f64) -> f64 {
        FIELD.3 - (FIELD.3 - FIELD.1) * records / self.records
    }
}

/// A row in the picture.
struct Point<'a> {
    row: &'a Row,
    bytes: f64,
    records: f64,
}

fn picture(explanation: &Explanation, found: &Strategies) -> String {
    let per_output = explanation.estimate.batch_rows.unwrap_or(1.0);
    let mut points: Vec<Point<'_>> = Vec::new();
    for row in &found.rows {
        let bytes = row.memory_bytes + row.disk_bytes;
        points.push(Point { row, bytes, records: row.rate * per_output });
    }
    points.retain(|it| it.records.is_finite() && it.records > 0.0);
    if points.is_empty() {
        return String::new();
    }
    let (scale, origin) = (Scale::of(&points), explanation.estimate.ns.origin);
    let mut inner = axes(&scale, origin) + &front(&points, &scale);
    let mut taken: Vec<Space> = points.iter().map(|it| Space::of_point(it, &scale)).collect();
    points.sort_by_key(|it| (!it.row.chosen, !it.row.pareto));
    for point in &points {
        inner += &dot(point, (&scale, origin));
    }
    for point in &points {
        inner += &name(point, (&scale, &mut taken));
    }
    svg("bytes and rate of what could be cached", SIZE, &inner)
}

fn dot(point: &Point<'_>, (scale, origin): (&Scale, Origin)) -> String {
    let (x, y) = (scale.x(point.bytes), scale.y(point.records));
    let figure = |value| Figure { value, origin };
    let records = rate(figure(point.records));
    let hint =
        format!("{}\n{}, {records} records/s", kept(&point.row.kept), bytes(figure(point.bytes)));
    let hint = super::markup::escaped(&hint);
    let class = if point.row.pareto { "dot best" } else { "dot" };
    let circle = |class: &str, radius: f64| {
        format!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{hint}</title></circle>\n"
        )
    };
    let ring = if point.row.chosen { circle("ring", RADIUS + 4.0) } else { String::new() };
    ring + &circle(class, RADIUS)
}

/// What a point keeps, beside it where nothing else stands; where there is no room, it is seen where one points at it.
fn name(point: &Point<'_>, (scale, taken): (&Scale, &mut Vec<Space>)) -> String {
    let (x, y) = (scale.x(point.bytes), scale.y(point.records));
    let text = clipped(&kept(&point.row.kept), LABEL);
    let width = CHARACTER * text.chars().count() as f64;
    let away = RADIUS + 8.0;
    let places = PLACES.iter().flat_map(|lines| {
        let y = y + 4.5 + lines * LINE;
        [("", x + away, x + away), ("end", x - away, x - away - width)].map(|it| (it, y))
    });
    for ((side, x, left), y) in places {
        let space = Space { left, top: y - LINE + 3.0, right: left + width, bottom: y + 3.0 };
        if space.is_within() && !taken.iter().any(|it| it.meets(&space)) {
            taken.push(space);
            let class = if point.row.chosen { "seen" } else { "quiet" };
            return label(format!("{class} {side}").trim_end(), (x, y), &text);
        }
    }
    String::new()
}

/// A part of the drawing that is taken.
struct Space {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Space {
    fn of_point(point: &Point<'_>, scale: &Scale) -> Self {
        let (x, y) = (scale.x(point.bytes), scale.y(point.records));
        let r = RADIUS + 1.0;
        Self { left: x - r, top: y - r, right: x + r, bottom: y + r }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_within(&self) -> bool {
        let (left, top, right, bottom) = FIELD;
        self.left >= left && self.right <= right && self.top >= top - LINE && self.bottom <= bottom
    }
}

/// The steps along the points of which no other one takes as few bytes and is faster.
fn front(points: &[Point<'_>], scale: &Scale) -> String {
    let mut by_bytes: Vec<&Point<'_>> = points.iter().collect();
    by_bytes.sort_by(|a, b| a.bytes.total_cmp(&b.bytes).then(b.records.total_cmp(&a.records)));
    let mut path = String::new();
    let mut most = 0.0;
    for it in by_bytes {
        if it.records <= most {
            continue;
        }
        let (x, y) = (scale.x(it.bytes), scale.y(it.records));
        path += &match path.is_empty() {
            true => format!("M{x:.1} {y:.1}"),
            false => format!("H{x:.1}V{y:.1}"),
        };
        most = it.records;
    }
    format!("<path class=\"front\" d=\"{path}H{:.1}\"/>\n", FIELD.2)
}

fn axes(scale: &Scale, origin: Origin) -> String {
    let (left, top, right, bottom) = FIELD;
    let mut drawn = line("axis", (left, bottom), (right, bottom));
    drawn += &line("axis", (left, top), (left, bottom));
    for it in super::roofline::ticks(scale.records) {
        let y = scale.y(it);
        drawn += &line("grid", (left, y), (right, y));
        drawn += &label("quiet end", (left - 6.0, y + 4.0), &rate(Figure { value: it, origin }));
    }
    let mut tick = |bytes_of: f64, text: &str| {
        let x = scale.x(bytes_of);
        drawn += &line("axis", (x, bottom), (x, bottom + 4.0));
        drawn += &label("quiet middle", (x, bottom + 18.0), text);
    };
    tick(0.0, "0");
    let (least, most) = scale.bytes;
    if least.is_finite() {
        let many = most - least > 2.5;
        for power in least.floor() as i32..=most.floor() as i32 {
            let each = if many { &[1.0][..] } else { &[1.0, 2.0, 5.0] };
            let values = each.iter().map(|it| it * 10_f64.powi(power));
            for value in values.filter(|it| (least..=most).contains(&it.log10())) {
                tick(value, &bytes(Figure::exact(value)));
            }
        }
        let middle = (NOTHING + SOMETHING) / 2.0;
        drawn += &line("mark", (middle, top), (middle, bottom));
    }
    let middle = (left + right) / 2.0;
    drawn += &label("quiet middle", (middle, bottom + 38.0), "bytes cached, in memory and on disk");
    drawn + &label("quiet", (left + 6.0, top + 4.0), "records/s")
}
