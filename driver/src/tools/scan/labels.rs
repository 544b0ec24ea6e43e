//! The field that looks like a label: its classes, and whether records come sorted by it.

use plan::{DType, Field};
use runtime::Chunk;
use serde::Serialize;
use std::collections::BTreeMap;

/// What labels are called.
const NAMES: [&str; 5] = ["label", "class", "target", "category", "y"];
/// Values beyond which a field is no label.
const CLASSES_MAX: usize = 100_000;
/// From here on records are sorted: the share of the runs of a random order that are not there,
/// of those that could be missing.
const SORTED: f64 = 0.5;
/// Runs that must be missing, so that few records are not taken for sorted by chance.
const MISSING_MIN: f64 = 8.0;

/// What is known of a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Labels {
    /// The field.
    pub field: String,
    /// How many values it has.
    pub classes: u64,
    /// The least and the most of them.
    pub range: (i64, i64),
    /// A value that the fewest records have, and how many do.
    pub rarest: (i64, u64),
    /// A value that the most records have, and how many do.
    pub commonest: (i64, u64),
    /// Records with the same value that follow each other in the sources, on average.
    pub run: f64,
    /// The same, were they shuffled.
    pub run_shuffled: f64,
    /// Whether the sources are sorted by it, as far as a training would notice.
    pub sorted: bool,
}

/// Counts the values of a field.
pub(super) struct Counting {
    field: String,
    column: usize,
    counts: BTreeMap<i64, u64>,
    /// The value of the record before.
    last: Option<i64>,
    runs: u64,
    records: u64,
    too_many: bool,
}

impl Labels {
    /// The field of these that looks most like a label.
    pub(super) fn among(fields: &[Field]) -> Option<Counting> {
        let is_whole = |it: &Field| {
            let whole = it.ty.dtype().is_some_and(|it| it.is_int() && it != DType::U64);
            whole && it.ty.shape().is_some_and(<[_]>::is_empty)
        };
        let is_called = |it: &Field, name: &str| {
            let last = it.name.rsplit('.').next().unwrap_or(&it.name);
            last == name || name.len() > 1 && last.contains(name)
        };
        let all: Vec<usize> = (0..fields.len()).filter(|&it| is_whole(&fields[it])).collect();
        let named = NAMES
            .iter()
            .find_map(|name| all.iter().copied().find(|&it| is_called(&fields[it], name)));
        let column = named.or(all.first().copied())?;
        Some(Counting {
            field: fields[column].name.clone(),
            column,
            counts: BTreeMap::new(),
            last: None,
            runs: 0,
            records: 0,
            too_many: false,
        })
    }
}

impl Counting {
    pub(super) fn chunk(&mut self, chunk: &Chunk) {
        if self.too_many {
            return;
        }
        for row in 0..chunk.rows {
            self.add(chunk.columns[self.column].row(row).int());
        }
        self.too_many = self.counts.len() > CLASSES_MAX;
    }

    fn add(&mut self, value: i64) {
        *self.counts.entry(value).or_default() += 1;
        self.records += 1;
        self.runs += u64::from(self.last.replace(value) != Some(value));
    }

    /// What was found; none where every record has a value of its own, or too many do.
    pub(super) fn finish(self) -> Option<Labels> {
        let classes = self.counts.len() as u64;
        if self.too_many || classes == 0 || classes == self.records && self.records > 2 {
            return None;
        }
        let rarest = self.counts.iter().min_by_key(|it| it.1).map(|it| (*it.0, *it.1))?;
        let commonest = self.counts.iter().rev().max_by_key(|it| it.1).map(|it| (*it.0, *it.1))?;
        let range = (*self.counts.keys().next()?, *self.counts.keys().next_back()?);
        let run = self.records as f64 / self.runs as f64;
        let expected = self.runs_shuffled();
        let run_shuffled = self.records as f64 / expected;
        let missing = expected - self.runs as f64;
        let sorted = missing >= MISSING_MIN && missing > SORTED * (expected - classes as f64);
        Some(Labels {
            field: self.field,
            classes,
            range,
            rarest,
            commonest,
            run,
            run_shuffled,
            sorted,
        })
    }

    /// Runs to be expected of a random order: 1 + Σ n_c (n − n_c) / n (Wald and Wolfowitz 1940).
    fn runs_shuffled(&self) -> f64 {
        let n = self.records as f64;
        let others = self.counts.values().map(|&it| it as f64 * (n - it as f64) / n);
        1.0 + others.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Type;

    fn found(values: impl IntoIterator<Item = i64>) -> Option<Labels> {
        let field = |name: &str| Field { name: name.into(), ty: Type::scalar(DType::I32) };
        let mut counting = Labels::among(&[field("n"), field("meta.class_id")]).unwrap();
        assert_eq!(counting.column, 1);
        values.into_iter().for_each(|it| counting.add(it));
        counting.finish()
    }

    #[test]
    fn sorted_labels_are_told_from_shuffled_ones() {
        let sorted = found((0..100).map(|it| it / 10)).unwrap();
        assert!(sorted.sorted && sorted.run == 10.0 && sorted.classes == 10);
        assert!(sorted.run_shuffled < 1.2, "{}", sorted.run_shuffled);
        let mixed = found((0..100).map(|it| it * 7 % 10)).unwrap();
        assert!(!mixed.sorted && mixed.rarest == (0, 10) && mixed.range == (0, 9));
    }

    #[test]
    fn a_number_of_its_own_is_no_label() {
        assert_eq!(found(0..50), None);
        assert!(!found([1; 50]).unwrap().sorted, "one class is not sorted");
    }
}
