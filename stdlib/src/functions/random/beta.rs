//! `beta`: a number of the beta distribution, such as the share that mixup keeps.

use crate::prelude::*;
use libm::{exp, log, pow, sqrt};
use runtime::Philox;
use std::f64::consts::LN_2;

function! {
    /// Draws a number from the beta distribution, as `f32`.
    ///
    /// `a` and `b` are its shape parameters. If neither is above 1, by Jöhnk (1964), otherwise by Cheng's
    /// algorithms BB and BC (Communications of the ACM 21, 1978); computed in `f64` and rounded once. Fails
    /// with `shape` if a shape parameter of the record is not positive and finite.
    ///
    /// ```pipe
    /// range(2) |> map { keep: beta(0.2, 0.2) }    # { keep: f32 }
    /// ```
    "beta(a: float, b: float) random fails -> f32",
    // Assumed: two tries of two powers or logarithms each.
    cost: Cost::call(150.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (a, b) = (args.float(0), args.float(1));
        let good = |it: f64| it > 0.0 && it.is_finite();
        if !good(a) || !good(b) {
            let detail =
                format!("the shape parameters {a} and {b} must be greater than 0 and finite");
            return Err(Fault::new("shape", detail));
        }
        out.scalar(draw(random, a, b) as f32)
    }))
}

/// Of the tries, at least half (Jöhnk), two thirds (BB) and a quarter (BC) succeed, for any shapes.
fn draw(random: &mut Philox, a: f64, b: f64) -> f64 {
    if a <= 1.0 && b <= 1.0 {
        return johnk(random, a, b);
    }
    let (small, large) = (a.min(b), a.max(b));
    // `w` is to the second shape as the number drawn for the first is to its complement.
    if small > 1.0 {
        let w = cheng_bb(random, small, large);
        if a == small { w / (b + w) } else { a / (a + w) }
    } else {
        let w = cheng_bc(random, large, small);
        if a == large { w / (b + w) } else { a / (a + w) }
    }
}

fn johnk(random: &mut Philox, a: f64, b: f64) -> f64 {
    loop {
        // Not 0, so that logarithms are finite.
        let (u, v) = (1.0 - random.unit(), 1.0 - random.unit());
        let (x, y) = (pow(u, 1.0 / a), pow(v, 1.0 / b));
        if x + y > 1.0 {
            continue;
        }
        if x + y > 0.0 {
            return x / (x + y);
        }
        // Both are too small for a float: their ratio, by logarithms.
        return 1.0 / (1.0 + exp(log(v) / b - log(u) / a));
    }
}

/// Both shapes above 1, the first not above the second. Gives Cheng's W.
fn cheng_bb(random: &mut Philox, a: f64, b: f64) -> f64 {
    let sum = a + b;
    let slope = sqrt((sum - 2.0) / (2.0 * a * b - sum));
    let gamma = a + 1.0 / slope;
    loop {
        let (u, odds) = odds(random);
        let v = slope * odds;
        let w = weight(a, v);
        let z = u * u * (1.0 - random.unit());
        let r = gamma * v - 2.0 * LN_2;
        let s = a + r - w;
        // 1 + ln 5: a quick test that is right for most.
        let sure = s + 2.609_437_912_434_1 >= 5.0 * z;
        if sure || s >= log(z) || r + sum * log(sum / (b + w)) >= log(z) {
            return w;
        }
    }
}

/// The first shape above 1, the second not. Gives Cheng's W.
fn cheng_bc(random: &mut Philox, a: f64, b: f64) -> f64 {
    let sum = a + b;
    let slope = 1.0 / b;
    let delta = 1.0 + a - b;
    let k1 = delta * (1.0 / 72.0 + b / 24.0) / (a * slope - 7.0 / 9.0);
    let k2 = 0.25 + (0.5 + 0.25 / delta) * b;
    loop {
        let (u1, odds) = odds(random);
        let u2 = 1.0 - random.unit();
        let y = u1 * u2;
        let z = u1 * y;
        let v = slope * odds;
        let w = weight(a, v);
        let accepted = if u1 < 0.5 {
            0.25 * u2 + z - y < k1
        } else if z <= 0.25 {
            return w;
        } else {
            z < k2
        };
        if accepted && sum * (log(sum / (b + w)) + v) - 2.0 * LN_2 >= log(z) {
            return w;
        }
    }
}

/// A number between 0 and 1, and the logarithm of its odds.
fn odds(random: &mut Philox) -> (f64, f64) {
    let half_step = 0.5 / (1_u64 << 53) as f64;
    let u = random.unit() + half_step;
    (u, log(u / (1.0 - u)))
}

/// `a` times e to the power of `v`, kept finite.
fn weight(a: f64, v: f64) -> f64 {
    (a * exp(v)).min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::draws::{check_moments, sample};
    use super::*;
    use crate::functions::tensor::trial::Trial;

    fn trial(a: f64, b: f64) -> Trial<'static> {
        Trial::of(&ENTRY).arg(Arg::Float(a)).arg(Arg::Float(b))
    }

    /// Mean a/(a + b), variance ab/((a + b)²(a + b + 1)).
    #[test]
    fn moments_of_every_branch() {
        for (a, b) in [
            (0.2, 0.2),
            (1.0, 1.0),
            (0.5, 0.1),
            (0.01, 0.02),
            (2.0, 3.0),
            (30.0, 4.0),
            (1.5, 1.5),
            (2.0, 0.5),
            (0.3, 4.0),
            (1.0, 5.0),
            (0.01, 2.0),
        ] {
            let found = sample::<f32>(&trial(a, b), 20_000);
            let found: Vec<f64> = found.into_iter().map(f64::from).collect();
            assert!(found.iter().all(|it| (0.0..=1.0).contains(it)), "beta({a}, {b})");
            let mean = a / (a + b);
            let variance = a * b / ((a + b).powi(2) * (a + b + 1.0));
            check_moments(&found, (mean, variance), spread(a, b));
        }
    }

    /// The root of kurtosis - 1: how much the variance of a sample varies.
    fn spread(a: f64, b: f64) -> f64 {
        let excess = 6.0 * ((a - b).powi(2) * (a + b + 1.0) - a * b * (a + b + 2.0))
            / (a * b * (a + b + 2.0) * (a + b + 3.0));
        (excess + 2.0).sqrt()
    }

    /// The distribution of beta(2, 3) at a point is 1 - (1 - x)⁴ - 4x(1 - x)³; that of
    /// beta(0.5, 0.5) 2/π·asin(√x).
    #[test]
    fn shares_below_a_point() {
        let below = |a, b, x: f32| {
            sample::<f32>(&trial(a, b), 20_000).iter().filter(|it| **it < x).count() as f64
                / 20_000.0
        };
        assert!((below(2.0, 3.0, 0.25) - 0.261_72).abs() < 0.016);
        assert!((below(0.5, 0.5, 0.25) - 1.0 / 3.0).abs() < 0.017);
        assert!((below(3.0, 1.0, 0.5) - 0.125).abs() < 0.012);
    }

    #[test]
    fn extreme_shapes() {
        let some = |a, b| sample::<f32>(&trial(a, b), 200);
        assert!(some(1e-300, 1e-300).iter().all(|it| *it == 0.0 || *it == 1.0));
        assert!(some(1e-9, 5.0).iter().all(|it| (0.0..1e-3).contains(it)));
        assert!(some(1e9, 1e9).iter().all(|it| (it - 0.5).abs() < 1e-3));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(trial(wrong, 1.0).run().unwrap_err().code, "shape");
        }
    }
}
