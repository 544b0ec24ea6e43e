//! `explain --strategies`: what could be kept from epoch to epoch, beside each other, and when something else would be.

use super::{
    Explanation,
    figures::{bytes, percent, rate, time},
    forecast,
    table::{Cell, lines},
};
use crate::caches::{Form, Tier};
use crate::estimate::{
    Axis, EPOCHS_MAX, Figure, Kept, Origin, Outlook, Reversal, Row, Strategies, Turn,
};
use model::strategy::Objective;
use plan::{Codec, things};

/// Rows that are shown besides what is chosen, and besides nothing.
const SHOWN: usize = 10;
/// A share that is none.
const NO_SHARE: f64 = 5e-4;
/// Bytes that are none.
const NO_BYTES: f64 = 0.5;

/// The table, what bounds what is chosen, and where something else is.
pub(super) fn text(explanation: &Explanation, found: &Strategies) -> String {
    let Some(told) = Told::of(explanation, found) else { return String::new() };
    let mut text = format!(
        "{}: what could be cached, for {}\n`>` is what `run` does{}; `*` {PARETO}\n\n",
        explanation.pipeline,
        told.occasion(),
        told.best_for()
    );
    for line in lines(&told.rows()) {
        text.push_str(&line);
        text.push('\n');
    }
    let facts = told.facts("`>`").into_iter();
    let facts: Vec<Vec<Cell>> = facts.map(|it| vec![Cell::left(it.0), Cell::left(it.1)]).collect();
    text.push('\n');
    for line in lines(&facts) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// What the mark of a row says of it.
pub(super) const PARETO: &str = "is Pareto-optimal in fill time, bytes and rate";

/// What is told of strategies, in text and on a page.
pub(super) struct Told<'a> {
    explanation: &'a Explanation,
    outlook: &'a Outlook,
    found: &'a Strategies,
}

impl<'a> Told<'a> {
    /// None where nothing is known of the machine.
    pub(super) fn of(explanation: &'a Explanation, found: &'a Strategies) -> Option<Self> {
        let outlook = explanation.outlook.as_ref()?;
        Some(Self { explanation, outlook, found })
    }
}

impl Told<'_> {
    /// `90 epochs on 2 cores, 4.3 GB of memory`; where little of that is left for the cache, how much.
    pub(super) fn occasion(&self) -> String {
        let Self { outlook, found, .. } = self;
        let endless = if found.passes > EPOCHS_MAX { "an endless run, counted as " } else { "" };
        let epochs = format!("{endless}{}", epochs(found.passes));
        let machine = &outlook.machine;
        let cores = super::figures::things(machine.cores, "core");
        let memory = bytes(Figure::exact(machine.memory_bytes));
        // Where that is all, it goes without saying.
        let left = outlook
            .budget
            .map(|it| it.left())
            .filter(|it| *it < outlook.machine.memory_bytes as u64 / 2);
        let left = left.map_or(String::new(), |it| {
            format!(
                " (after what a run needs itself, {} for the cache)",
                bytes(Figure::exact(it as f64))
            )
        });
        let disk = outlook.budget.and_then(|it| it.disk);
        let disk = disk.map_or(String::new(), |it| {
            let speed = Figure::exact(1e9 / it.read_ns(machine));
            format!(", a cache folder that is read at {}/s", bytes(speed))
        });
        format!("{epochs} on {cores}, {memory} of memory{left}{disk}")
    }

    /// What is chosen for, if not for the time of all epochs: `, for the highest rate of later epochs`.
    pub(super) fn best_for(&self) -> String {
        match self.found.objective {
            Objective::Rate => ", for the highest rate of later epochs".to_owned(),
            Objective::Bytes(least) => {
                format!(
                    ", for the fewest bytes at {} records/s or more",
                    rate(Figure::exact(least))
                )
            }
            Objective::Weights([fill, size, speed]) => format!(
                ", for the highest score: {fill} × fill time + {size} × bytes + {speed} × rate, each 0 for the worst row and 1 \
                 for the best"
            ),
            Objective::Cost { .. } => {
                let [hour, gb_month] = self.found.objective.prices().unwrap_or_default().map(price);
                format!(", for the lowest cost at {hour} per hour and {gb_month} per GB-month")
            }
            Objective::Time => String::new(),
        }
    }

    pub(super) fn rows(&self) -> Vec<Vec<Cell>> {
        let Strategies { rows, passes, runs, .. } = self.found;
        let all = epochs(*passes);
        let runs = if *runs > 1.0 { format!("{runs:.0} runs of ") } else { String::new() };
        let head =
            ["", "cached", "on disk", "in memory", "first epoch", "later epoch", "records/s then"];
        let head = head.into_iter().map(str::to_owned).chain([format!("{runs}{all}")]);
        let head = head.chain(measure(self.found).map(|it| it.to_owned()));
        let head = head.chain([String::new()]).enumerate();
        let mut table: Vec<Vec<Cell>> = vec![
            head.map(|(at, it)| if at < 2 { Cell::left(it) } else { Cell::right(it) }).collect(),
        ];
        table.extend(shown(rows).map(|it| self.row(it)));
        table
    }

    fn row(&self, row: &Row) -> Vec<Cell> {
        let origin = self.origin();
        let size = |value: f64| match value < NO_BYTES {
            true => "–".to_owned(),
            false => bytes(Figure { value, origin }),
        };
        let predicted = rate(Figure { value: row.rate * self.records(), origin });
        let measured = |it: f64| format!(" ({})", rate(Figure::exact(it)));
        let rate = predicted + &row.measured.map_or(String::new(), measured);
        let seconds = |at: usize| {
            row.seconds.map_or("?".to_owned(), |it| time(Figure { value: it[at] * 1e9, origin }))
        };
        let cells = [
            Cell::left(if row.chosen { ">" } else { "" }),
            Cell::left(kept(&row.kept)),
            Cell::right(size(row.disk_bytes)),
            Cell::right(size(row.memory_bytes)),
            Cell::right(seconds(0)),
            Cell::right(seconds(1)),
            Cell::right(rate),
            Cell::right(seconds(2)),
        ];
        let cost = row.cost.map(|it| format!("{}{}", self.mark(), cost(it)));
        let measure = row.score.map(|it| format!("{it:.3}")).or(cost).map(Cell::right);
        let pareto = Cell::left(if row.pareto { "*" } else { "" });
        cells.into_iter().chain(measure).chain([pareto]).collect()
    }

    /// What else is to be known, each with its label, which stands once: what limits what is chosen, and when something else
    /// would be. `chosen` is its mark.
    pub(super) fn facts(&self, chosen: &str) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        let bound = self.found.bound.map(|it| forecast::limit(self.explanation, self.outlook, it));
        facts.extend(bound.map(|it| ("bottleneck", format!("{it} ({chosen})"))));
        facts.extend(self.notes());
        let turns = self.found.turns.iter().enumerate();
        let turns = turns.map(|(at, it)| (if at == 0 { "changes" } else { "" }, self.turn(it)));
        facts.extend(turns);
        if self.found.turns.is_empty() {
            let text = "none: the same is cached with 1/16 to 16 times the epochs, cores, memory and disk bandwidth";
            facts.push(("changes", text.to_owned()));
        }
        facts
    }

    /// What the table does not say by itself.
    fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = Vec::new();
        let turns = self.found.turns.iter().flat_map(|it| &it.kept);
        let mut all = shown(&self.found.rows).flat_map(|it| &it.kept).chain(turns);
        if let Some(index) = all.find(|it| it.index) {
            let text = format!(
                "`{}`: positions in an encoded image, so that parts which are not used are not decoded",
                index.value
            );
            notes.push(("index", text));
        }
        if self.found.runs > 1.0 {
            let mut text = format!(
                "with a cache folder, {:.0} runs are assumed: later ones find what is on disk, and begin with empty memory",
                self.found.runs
            );
            if self.found.rows.iter().any(|it| it.chosen && !it.pareto) {
                text.push_str("; `*` is of a single run, so what is best for all of them has none");
            }
            notes.push(("runs", text));
        }
        if self.found.finds {
            let text = "values that the cache folder has already are read in the first epoch, not computed";
            notes.push(("first epoch", text.to_owned()));
        }
        for (at, Reversal { without, kept: other }) in self.found.reversals.iter().enumerate() {
            let text = format!(
                "without the row `{}`, which another one beats in everything, `{}` has the highest score: a score depends on \
                 the worst row",
                kept(without),
                kept(other)
            );
            notes.push((if at == 0 { "reversals" } else { "" }, text));
        }
        notes
    }

    /// `with `--memory` of 3.1 GB or more: decode_jpeg in memory`
    fn turn(&self, turn: &Turn) -> String {
        let (origin, mark) = (self.origin(), self.mark());
        let size = |value: f64| bytes(Figure { value, origin });
        let more = match (turn.up, turn.axis) {
            (true, _) => "or more",
            (false, Axis::Epochs | Axis::Cores) => "or fewer",
            (false, _) => "or less",
        };
        let at = match turn.axis {
            Axis::Epochs => {
                let n = if turn.up { turn.at.ceil() } else { turn.at.floor().max(1.0) };
                format!("{mark}{} {more}", things(n as u64, "epoch", "epochs"))
            }
            Axis::Cores => format!("{mark}{:.1} cores {more}", turn.at),
            Axis::Memory => format!("`--memory` of {} {more}", size(turn.at)),
            Axis::Storage(it) => {
                let name = self.outlook.machine.storages.get(it).map_or("", |it| it.name.as_str());
                format!("{}/s {more} from {name}", size(turn.at))
            }
        };
        format!("with {at}: {}", kept(&turn.kept))
    }

    /// The records of an output.
    fn records(&self) -> f64 {
        self.explanation.estimate.batch_rows.unwrap_or(1.0)
    }

    fn mark(&self) -> &'static str {
        if self.origin() == Origin::Assumed { "~" } else { "" }
    }

    fn origin(&self) -> Origin {
        self.explanation.estimate.ns.origin
    }
}

/// `90 epochs`: as many as are counted.
fn epochs(passes: f64) -> String {
    things(passes.min(EPOCHS_MAX).round() as u64, "epoch", "epochs")
}

/// The rows that are shown.
fn shown(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let is_shown = |(at, it): &(usize, &Row)| *at < SHOWN || it.chosen || it.kept.is_empty();
    rows.iter().enumerate().filter(is_shown).map(|it| it.1)
}

/// What the rows are compared by, besides their bytes and times.
fn measure(found: &Strategies) -> Option<&'static str> {
    let has = |it: fn(&Row) -> Option<f64>| found.rows.iter().any(|row| it(row).is_some());
    let cost = || has(|it| it.cost).then_some("cost");
    has(|it| it.score).then_some("score").or_else(cost)
}

/// An amount of money, with three digits that say something.
fn cost(it: f64) -> String {
    let decimals = if it > 0.0 { (2.0 - it.log10().floor()).clamp(2.0, 9.0) } else { 2.0 };
    format!("{it:.*}", decimals as usize)
}

/// A price as it was written, but for what is beyond any coin.
fn price(it: f64) -> String {
    let text = format!("{it:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `resize 56% on disk, 28% in memory`
pub(super) fn kept(all: &[Kept]) -> String {
    if all.is_empty() {
        return "nothing".to_owned();
    }
    let one = |it: &Kept| {
        let form = |of: &Form| {
            let codec = match of.figures.codec {
                Codec::NONE => String::new(),
                codec => format!("{codec} "),
            };
            let share = match of.share {
                it if it < NO_SHARE => return None,
                it if it > 1.0 - NO_SHARE => String::new(),
                it => format!("{} ", percent(it)),
            };
            Some(match of.tier {
                Tier::Memory => format!("{codec}{share}in memory"),
                Tier::Disk => format!("{codec}{share}on disk"),
                // What is in memory as well is not encoded there.
                Tier::Both => format!("{share}in memory and {codec}on disk"),
            })
        };
        let forms: Vec<String> = it.forms.iter().filter_map(form).collect();
        format!("{} {}", it.value, forms.join(", "))
    };
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// PRESTO's columns (SIGMOD'22, its library's `summary`), with what is predicted here; MB are 10⁶ bytes.
pub(super) fn csv(explanation: &Explanation, found: &Strategies) -> String {
    let Some(outlook) = &explanation.outlook else { return String::new() };
    let records = explanation.estimate.batch_rows.unwrap_or(1.0);
    let mut text = "strategy,threads,sample_count,preprocessing_time_s,storage_consumption_mb,\
                    throughput_sps,per_epoch_processing_time_s,memory_mb,total_time_s,pareto,chosen"
        .to_owned();
    text.extend(measure(found).map(|it| format!(",{it}")));
    text.push('\n');
    for row in &found.rows {
        let [first, later, all] =
            row.seconds.map_or([""; 3].map(str::to_owned), |it| it.map(|it| format!("{it:.3}")));
        let samples = row.seconds.map(|it| format!("{:.0}", it[1] * row.rate * records));
        let cells = [
            format!("\"{}\"", kept(&row.kept)),
            format!("{:.0}", outlook.machine.cores),
            samples.unwrap_or_default(),
            first,
            format!("{:.3}", row.disk_bytes / 1e6),
            format!("{:.3}", row.rate * records),
            later,
            format!("{:.3}", row.memory_bytes / 1e6),
            all,
            u8::from(row.pareto).to_string(),
            u8::from(row.chosen).to_string(),
        ];
        text.push_str(&cells.join(","));
        text.extend(row.score.or(row.cost).map(|it| format!(",{it:.6}")));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_without_end_are_counted_as_many() {
        assert_eq!(epochs(f64::INFINITY), "1,000,000 epochs");
        assert_eq!(epochs(1.0), "1 epoch");
    }
}
