//! What was measured of a disk, as the model sees it.

use super::{Cache, Curve, Pattern, Storage, Sweep};
use model::Origin;

impl Storage {
    /// It as it is read when the page cache holds nothing, in requests of about so many bytes; in the largest that were measured where that is not known.
    pub(crate) fn modelled(&self, request: Option<f64>) -> Option<model::Storage> {
        let name = self.mount.as_ref().unwrap_or(&self.path).display().to_string();
        let off = |it: &Sweep| match request {
            Some(request) => (it.request.max(1) as f64 / request.max(1.0)).ln().abs(),
            None => -(it.request as f64),
        };
        let sweep = |pattern: Pattern| {
            let fits = |it: &&Sweep| it.cache == Cache::Cold && it.pattern == pattern;
            self.read.iter().filter(fits).min_by(|a, b| off(a).total_cmp(&off(b)))
        };
        let curve = |sweep: &Sweep| {
            let Curve { m1, b1, m2, b2, thresh } = sweep.curve;
            let readers_max = sweep.points.last().map_or(1, |it| it.threads);
            model::curve::Curve { rise: (m1, b1), level: (m2, b2), split: thresh, readers_max }
        };
        let random = match request {
            Some(_) => sweep(Pattern::Files).or_else(|| sweep(Pattern::Random))?,
            None => sweep(Pattern::Random)?,
        };
        let files = request.filter(|_| random.pattern == Pattern::Files);
        let smaller = files.map_or(1.0, |it| smaller(&self.read, random, it));
        let times = |(rise, height): (f64, f64)| (rise * smaller, height * smaller);
        let random_curve = curve(random);
        let (rise, level) = (times(random_curve.rise), times(random_curve.level));
        Some(model::Storage {
            sequential: curve(sweep(Pattern::Sequential)?),
            random: model::curve::Curve { rise, level, ..random_curve },
            write: self.write.median,
            // Of a thread that is alone; more of them wait for each other, which is in the curve.
            latency_s: random.points.first().map_or(0.0, |it| it.latency.median),
            requests_max: None,
            origin: if self.doubt.is_some() { Origin::Assumed } else { Origin::Calibrated },
            name,
        })
    }
}

/// What is left of the bandwidth of `sweep` where a request has `bytes`, fewer than those that were
/// measured: each takes as much longer or less long as random reads of other sizes do (one thread).
fn smaller(all: &[Sweep], sweep: &Sweep, bytes: f64) -> f64 {
    let time = |it: &Sweep| it.points.first().map_or(0.0, |it| it.latency.median);
    let is_random = |it: &&Sweep| it.cache == Cache::Cold && it.pattern == Pattern::Random;
    let measured = sweep.request as f64;
    let below = all.iter().filter(is_random).filter(|it| (it.request as f64) < measured);
    let least = below.min_by_key(|it| it.request);
    let like = all.iter().filter(is_random).find(|it| it.request == sweep.request);
    let (Some(least), Some(like), true) = (least, like, bytes < measured) else { return 1.0 };
    let each = (time(like) - time(least)) / (measured - least.request as f64);
    let whole = time(sweep);
    let taken = (whole - each.max(0.0) * (measured - bytes)).max(whole * bytes / measured);
    (bytes / taken) / (measured / whole)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Figure, Point},
        *,
    };

    #[test]
    fn a_smaller_file_takes_less_time_and_has_less_bandwidth() {
        let sweep = |pattern, request: u64, latency| {
            let figure = |it| Figure::of(&[it], true).unwrap();
            let bandwidth = figure(request as f64 / latency);
            let point = Point { threads: 1, bandwidth, latency: figure(latency) };
            Sweep::of((Cache::Cold, pattern, request), vec![point]).unwrap()
        };
        let random = |request, latency| sweep(Pattern::Random, request, latency);
        let files = sweep(Pattern::Files, 128 << 10, 130e-6);
        let all = [random(4 << 10, 50e-6), random(128 << 10, 100e-6), files.clone()];
        let rate = |bytes: f64| smaller(&all, &files, bytes) * (128 << 10) as f64 / 130e-6;
        // 80 µs for 4 KiB, 105 µs for half.
        assert!((rate(4096.0) / (4096.0 / 80e-6) - 1.0).abs() < 1e-9);
        assert!((rate(67_584.0) / (67_584.0 / 105e-6) - 1.0).abs() < 1e-9);
        assert_eq!(smaller(&all, &files, 1e6), 1.0);
    }
}
