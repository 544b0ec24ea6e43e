//! Bandwidth over threads as two straight pieces (operational model, "Empirical curve").

use super::rounded;
use serde::{Deserialize, Serialize};

/// Two straight pieces: `m1 · threads + b1` up to `thresh` threads, `m2 · threads + b2` beyond.
///
/// Each piece is fitted by least squares, and where they part is searched for, by the squares too
/// (Kuchnik et al., "Plumber", MLSys 2022, 4.3; its tool counts only what the fit says too little,
/// which makes a bound too high by design).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Slope of the first piece, bytes per second and thread.
    pub m1: f64,
    /// Where the first piece begins, bytes per second.
    pub b1: f64,
    /// Slope of the second piece.
    pub m2: f64,
    /// Where the second piece would begin.
    pub b2: f64,
    /// Threads at which the second piece takes over.
    pub thresh: f64,
}

/// Points that a piece needs.
const PIECE: usize = 2;

impl Curve {
    /// Through `(threads, bandwidth)`, by rising threads; none if there is no point.
    ///
    /// Fewer than four points make one piece.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let (last, most) = (points.last()?.0, points.iter().map(|it| it.1).max_by(f64::total_cmp)?);
        let (m, b) = line(points);
        let whole = Self { m1: m, b1: b, m2: m, b2: b, thresh: last };
        let splits = PIECE..(points.len() + 1).saturating_sub(PIECE);
        let parted = splits.map(|n| Self::parted(&points[..n], &points[n..]));
        let curves = parted.map(|it| (it.error(points, most), it));
        // The first of equals stays: the shorter rise.
        let best = curves.reduce(|best, it| if it.0 < best.0 { it } else { best });
        Some(best.map_or(whole, |it| it.1).short())
    }

    /// Bandwidth of so many threads; never less than none.
    pub fn at(&self, threads: f64) -> f64 {
        let (m, b) = if threads <= self.thresh { (self.m1, self.b1) } else { (self.m2, self.b2) };
        (m * threads + b).max(0.0)
    }

    /// One piece through each side; they part where they meet if that is between the sides.
    fn parted(low: &[(f64, f64)], high: &[(f64, f64)]) -> Self {
        let ((m1, b1), (m2, b2)) = (line(low), line(high));
        let (from, to) = (low[low.len() - 1].0, high[0].0);
        let meet = (b2 - b1) / (m1 - m2);
        let between = meet >= from && meet < to;
        let thresh = if between { meet } else { f64::midpoint(from, to) };
        Self { m1, b1, m2, b2, thresh }
    }

    /// The sum of the squared errors, in shares of `most` so that the unit does not matter.
    fn error(&self, points: &[(f64, f64)], most: f64) -> f64 {
        let scale = if most > 0.0 { most } else { 1.0 };
        let square = |it: &(f64, f64)| ((it.1 - self.at(it.0)) / scale).powi(2);
        // What floats leave over is no difference.
        (points.iter().map(square).sum::<f64>() * 1e9).round() / 1e9
    }

    fn short(self) -> Self {
        let Self { m1, b1, m2, b2, thresh } = self;
        let [m1, b1, m2, b2, thresh] = [m1, b1, m2, b2, thresh].map(rounded);
        Self { m1, b1, m2, b2, thresh }
    }
}

/// Slope and beginning of the line of least squares.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|it| it.0), mean(&|it| it.1));
    let (across, up) = (mean(&|it| (it.0 - x).powi(2)), mean(&|it| (it.0 - x) * (it.1 - y)));
    let slope = if across > 0.0 { up / across } else { 0.0 };
    (slope, y - slope * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    /// The curve that is fitted through points of `curve`.
    fn again(curve: &Curve) -> Curve {
        Curve::fit(&THREADS.map(|it| (it, curve.at(it)))).unwrap()
    }

    #[test]
    fn two_pieces_are_found_exactly() {
        // They meet at 5 threads: 100 + 50·5 = 325 + 5·5.
        let meeting = Curve { m1: 50.0, b1: 100.0, m2: 5.0, b2: 325.0, thresh: 5.0 };
        assert_eq!(again(&meeting), meeting);
        // Reading gets slower with more than 8.
        let falling = Curve { m1: 1e8, b1: 0.0, m2: -1e7, b2: 9e8, thresh: 8.182 };
        let found = again(&falling);
        assert_eq!((found.m1, found.b1, found.m2, found.b2), (1e8, 0.0, -1e7, 9e8));
        // A jump: the pieces meet nowhere between, so they part halfway.
        let jump = Curve { m1: 1.0, b1: 0.0, m2: 0.0, b2: 100.0, thresh: 6.0 };
        assert_eq!(again(&jump), jump);
    }

    #[test]
    fn few_points_make_one_piece() {
        let line = Curve::fit(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]).unwrap();
        assert_eq!(line, Curve { m1: 2.0, b1: 1.0, m2: 2.0, b2: 1.0, thresh: 4.0 });
        assert_eq!((line.at(8.0), Curve::fit(&[(1.0, 7.0)]).unwrap().at(5.0)), (17.0, 7.0));
        assert_eq!(Curve::fit(&[]), None);
    }

    #[test]
    fn least_squares_on_each_side() {
        // Through (1, 1), (2, 3), (3, 2) goes 1 + x/2, by hand.
        assert_eq!(super::line(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]), (0.5, 1.0));
    }
}
