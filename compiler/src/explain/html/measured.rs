//! What was measured, as bars: what the stages did with their time, how long the consumer waited.

use super::markup::{element, escaped};
use crate::estimate::Figure;
use crate::explain::{
    Observed,
    figures::{percent, rate},
};
use plan::StageMeasured;

/// The buckets of `model::verdict::STALLS` in words.
const WAITS: [&str; 4] = ["up to 50 µs", "50 µs to 1 ms", "1 to 100 ms", "over 100 ms"];

/// A bar for each stage: at work, waiting for input, for room, for a thread.
pub(super) fn stages(observed: &Observed<'_>) -> String {
    let mut rows = String::new();
    for stage in &observed.measured.stages {
        rows += &of_stage(stage);
    }
    let key = |class: &str, text: &str| {
        format!("<span class=\"key\"><i class=\"{class}\"></i>{text}</span> ")
    };
    let legend = key("work", "at work")
        + &key("starved", "waits for input")
        + &key("blocked", "waits for space")
        + &key("free", "waits for a thread");
    element("p", "quiet", &legend) + &element("div", "bars", &rows)
}

fn of_stage(stage: &StageMeasured) -> String {
    let (starved, blocked) = (stage.starved.clamp(0.0, 1.0), stage.blocked.clamp(0.0, 1.0));
    // Else nothing held it back, and all threads were at other stages.
    let work = (1.0 - starved - blocked).clamp(0.0, stage.active.max(0.0));
    let mut parts = String::new();
    for (class, share) in [("work", work), ("starved", starved), ("blocked", blocked)] {
        let style = format!("width:{:.1}%", 100.0 * share);
        let hint = escaped(&percent(share));
        parts += &format!("<i class=\"{class}\" style=\"{style}\" title=\"{hint}\"></i>");
    }
    let name = stage.steps.join(" + ");
    let shown = stage.steps.last().map_or("", String::as_str);
    let more = match stage.steps.len() {
        0 | 1 => String::new(),
        n => format!(" + {}", n - 1),
    };
    let name = format!("<span title=\"{}\">{}{more}</span>", escaped(&name), escaped(shown));
    let threads = escaped(&format!("{:.2} threads", stage.active));
    name + &element("span", "bar", &parts) + &element("span", "number", &threads)
}

/// How often the consumer waited for how long.
pub(super) fn stalls(observed: &Observed<'_>) -> String {
    let all: u64 = observed.stalls.iter().sum();
    let mut rows = String::new();
    for (i, (name, n)) in WAITS.iter().zip(observed.stalls).enumerate() {
        let share = n as f64 / all.max(1) as f64;
        let style = format!("width:{:.1}%", 100.0 * share);
        let bar = format!("<i class=\"wait{i}\" style=\"{style}\"></i>");
        let count = match n {
            0 => "–".to_owned(),
            n => format!(
                "{} · {}",
                rate(Figure::exact(n as f64)).trim_end_matches(".0"),
                percent(share)
            ),
        };
        rows += &(format!("<span>{name}</span>")
            + &element("span", "bar", &bar)
            + &element("span", "number", &escaped(&count)));
    }
    let told = format!(
        "It waited {} of {:.1} s, and took each chunk as soon as it was ready: a consumer that \
         computes waits less.",
        percent(observed.stall_share()),
        observed.seconds
    );
    let nothing = element("p", "quiet", "Not counted in this profile.");
    let bars = if all == 0 { nothing } else { element("div", "bars", &rows) };
    bars + &element("p", "quiet", &told)
}
