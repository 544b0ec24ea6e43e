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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_readers_that_are_enough_are_found() {
        let curve = Curve::up_to(100e6, 600e6);
        assert_eq!(curve.best(64), 600e6);
        assert_eq!(curve.least_readers(600e6), Some(6));
        assert_eq!(curve.least_readers(250e6), Some(3));
        assert_eq!(curve.least_readers(700e6), None);
    }

    #[test]
    fn nothing_is_read_into_a_curve_beyond_what_was_measured() {
        let rise = (100.0, 0.0);
        let curve = Curve { rise, level: rise, split: 4.0, readers_max: 4 };
        assert_eq!(curve.best(256), 400.0);
        assert_eq!(curve.least_readers(500.0), None);
        assert_eq!(curve.at(100.0), curve.at(4.0));
    }

    #[test]
    fn a_disk_that_falls_off_is_best_at_its_knee() {
        let curve = Curve { rise: (50.0, 0.0), level: (-10.0, 240.0), split: 4.0, readers_max: 64 };
        assert_eq!(curve.best(16), 200.0);
        assert_eq!(curve.least_readers(200.0), Some(4));
        assert_eq!(curve.best(2), 100.0);
    }
}
