//! Bandwidth by readers as two straight pieces: it rises while readers are few, and is flat when they are many.

use serde::{Deserialize, Serialize};

/// Readers at once that are thought of at most.
pub const READERS_MAX: u32 = 256;

/// Bytes per second by the number of readers: two straight pieces (paper section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Slope and height at 0 of the first piece.
    pub rise: (f64, f64),
    /// Slope and height at 0 of the second.
    pub level: (f64, f64),
    /// The number of readers up to which the first holds.
    pub split: f64,
    /// Readers that were tried at most: what more of them do nobody knows, so they do nothing.
    pub readers_max: u32,
}

impl Curve {
    /// The same for any number of readers.
    pub const fn flat(bytes_per_s: f64) -> Self {
        let piece = (0.0, bytes_per_s);
        Self { rise: piece, level: piece, split: 1.0, readers_max: READERS_MAX }
    }

    /// So much for each reader, up to a level.
    pub fn up_to(each: f64, most: f64) -> Self {
        let split = most / each;
        Self { rise: (each, 0.0), level: (0.0, most), split, readers_max: READERS_MAX }
    }

    /// Bytes per second with so many readers, never below 0.
    pub fn at(&self, readers: f64) -> f64 {
        let readers = readers.min(f64::from(self.readers_max));
        let (slope, height) = if readers <= self.split { self.rise } else { self.level };
        (slope * readers + height).max(0.0)
    }

    /// The most bytes per second with at most so many readers. Fewer readers may do better.
    pub fn best(&self, readers_max: u32) -> f64 {
        let most = f64::from(readers_max.clamp(1, self.readers_max.max(1)));
        let knee = self.split.floor().clamp(1.0, most);
        // Straight pieces are largest at their ends.
        [1.0, knee, (knee + 1.0).min(most), most].iter().map(|it| self.at(*it)).fold(0.0, f64::max)
    }

    /// The fewest readers that get so many bytes per second; none if no number of them does.
    pub fn least_readers(&self, bytes_per_s: f64) -> Option<u32> {
        let enough = bytes_per_s * (1.0 - 1e-9);
        (1..=self.readers_max.min(READERS_MAX)).find(|it| self.at(f64::from(*it)) >= enough)
    }

    /// Two pieces through measured (readers, bytes per second): least squares on each side, the best split.
    ///
    /// (The code of the paper weighs errors by side and height; there is no reason to here.) None
    /// for fewer than two points, or where nothing was read.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let mut sorted = points.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let most = sorted.iter().map(|it| it.1).fold(0.0, f64::max);
        if sorted.len() < 2 || most <= 0.0 {
            return None;
        }
        let fits = (1..=sorted.len()).map(|at| Self::split_at(&sorted, at));
        let badness =
            |it: &Self| -> f64 { sorted.iter().map(|p| (it.at(p.0) - p.1).powi(2)).sum() };
        fits.min_by(|a, b| badness(a).total_cmp(&badness(b)))
    }

    fn split_at(points: &[(f64, f64)], at: usize) -> Self {
        let (low, high) = points.split_at(at);
        let rise = line(low);
        let level = if high.is_empty() { rise } else { line(high) };
        // Where the pieces cross between the two groups, the first ends there.
        let last = low[at - 1].0;
        let next = high.first().map_or(last, |it| it.0);
        let cross = (level.1 - rise.1) / (rise.0 - level.0);
        let split = if cross.is_finite() { cross.clamp(last, next) } else { last };
        let readers_max = points[points.len() - 1].0 as u32;
        Self { rise, level, split, readers_max }
    }
}

/// Slope and height at 0 of the line of least squares; flat through one point.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (mean_x, mean_y) = (
        points.iter().map(|it| it.0).sum::<f64>() / n,
        points.iter().map(|it| it.1).sum::<f64>() / n,
    );
    let spread: f64 = points.iter().map(|it| (it.0 - mean_x).powi(2)).sum();
    if spread == 0.0 {
        return (0.0, mean_y);
    }
    let slope = points.iter().map(|it| (it.0 - mean_x) * (it.1 - mean_y)).sum::<f64>() / spread;
    (slope, mean_y - slope * mean_x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_knee_and_least_readers() {
        let points = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|p: f64| (p, (100e6 * p).min(600e6)));
        let curve = Curve::fit(&points).unwrap();
        assert!((curve.best(64) / 600e6 - 1.0).abs() < 1e-6, "{curve:?}");
        assert_eq!(curve.least_readers(600e6), Some(6));
        assert_eq!(curve.least_readers(250e6), Some(3));
        assert_eq!(curve.least_readers(700e6), None);
    }

    #[test]
    fn nothing_is_read_into_a_curve_beyond_what_was_measured() {
        let curve = Curve::fit(&[(1.0, 100.0), (2.0, 200.0), (4.0, 400.0)]).unwrap();
        assert!((curve.best(256) - 400.0).abs() < 1e-9, "{curve:?}");
        assert_eq!(curve.least_readers(500.0), None);
        assert_eq!(curve.at(100.0), curve.at(4.0));
        assert!(Curve::fit(&[(1.0, 100.0)]).is_none());
    }

    #[test]
    fn a_disk_that_falls_off_is_best_at_its_knee() {
        let curve = Curve { rise: (50.0, 0.0), level: (-10.0, 240.0), split: 4.0, readers_max: 64 };
        assert_eq!(curve.best(16), 200.0);
        assert_eq!(curve.least_readers(200.0), Some(4));
        assert_eq!(curve.best(2), 100.0);
    }
}
