//! Tables: rides in several Parquet files, and the hourly load of some meters in one.
//!
//! A row depends on the seed, on its number and on how many there are. The rides are sorted by distance, first those
//! that were cancelled (distance 0), so that row groups can be left out by their statistics. Logarithms and sines are
//! those of `libm`, so the files have the same bytes everywhere.

use std::ops::Range;
use std::path::PathBuf;

use crate::VERSION;
use crate::chance::Chance;
use crate::parquet::{self, Column, Group};
use crate::set::{Done, Error, Making, Summary, check_count, make, write_whole};

/// Files of rides, and row groups of each.
const FILES: u64 = 4;
const GROUPS: u64 = 5;
/// The share of the rides that were cancelled: a little more than a row group.
const CANCELLED: f64 = 0.06;
/// Kilometres, beyond the first few hundred metres.
const MEAN_DISTANCE: f64 = 3.2;
/// Meters, and hours of each: at most a year.
const METERS: u64 = 8;
const HOURS: Range<u64> = 200..8_760;

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Where the files go; made if it is not there.
    pub folder: PathBuf,
    /// How many rides, 1 to 1,000,000.
    pub count: u64,
    /// Which set: another seed gives other rows with the same statistics.
    pub seed: u64,
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of rides that are there, each time that it grows.
///
/// # Errors
/// The count is out of its range, the folder holds something else, or cannot be written to.
pub fn tables(tables: &Tables, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check_count(tables.count)?;
    make(Making {
        folder: &tables.folder,
        folders: &[tables.folder.join("rides")],
        manifest: &manifest(tables),
        n_jobs: FILES + 1,
        n_pictures: tables.count,
        job: &|file| tables.make_one(file),
        finish: &mut || Ok(()),
        progress,
    })
}

/// The text of the manifest: what the bytes depend on.
pub(crate) fn manifest(Tables { count, seed, .. }: &Tables) -> String {
    format!("sample tables\nversion {VERSION}\nseed {seed}\ncount {count}\n")
}

impl Tables {
    /// Makes a file of rides; the one after them is that of the meters.
    fn make_one(&self, file: u64) -> Result<Done, Error> {
        let rides = match file {
            FILES => 0..0,
            _ => self.count * file / FILES..self.count * (file + 1) / FILES,
        };
        let path = match file {
            FILES => self.folder.join("load.parquet"),
            _ => self.folder.join(format!("rides/{file:02}.parquet")),
        };
        let n_rides = rides.end - rides.start;
        if path.exists() {
            return Ok(Done { pictures: n_rides, bytes: None });
        }
        let groups = if file == FILES { self.loads() } else { self.rides(rides) };
        let bytes = parquet::file(&groups);
        write_whole(&path, &bytes)?;
        Ok(Done { pictures: n_rides, bytes: Some(bytes.len() as u64) })
    }

    fn rides(&self, range: Range<u64>) -> Vec<Group> {
        let begin = |n: u64| range.start + (range.end - range.start) * n / GROUPS;
        let group = |n: u64| {
            let all: Vec<Ride> = (begin(n)..begin(n + 1)).map(|it| self.ride(it)).collect();
            vec![
                ("distance", Column::Floats(all.iter().map(|it| it.distance).collect())),
                ("duration", Column::Maybe(all.iter().map(|it| it.duration).collect())),
                ("hour", Column::Ints(all.iter().map(|it| it.hour).collect())),
                ("vendor", Column::Ints(all.iter().map(|it| it.vendor).collect())),
                ("fare", Column::Floats(all.iter().map(|it| it.fare).collect())),
                ("zone", Column::Text(all.into_iter().map(|it| it.zone).collect())),
            ]
        };
        let is_empty = |n: &u64| begin(*n) == begin(*n + 1);
        match (0..GROUPS).all(|it| is_empty(&it)) {
            // A file without rows has columns all the same.
            true => vec![group(0)],
            false => (0..GROUPS).filter(|it| !is_empty(it)).map(group).collect(),
        }
    }

    fn ride(&self, index: u64) -> Ride {
        let mut chance = Chance::new(self.seed ^ 0x7269_6465, index);
        let mut unit = || f64::from(chance.unit());
        let at = (index as f64 + 0.5) / self.count as f64;
        let distance = match (at - CANCELLED) / (1.0 - CANCELLED) {
            // The quantiles of an exponential distribution.
            it if it > 0.0 => hundredths(0.4 - MEAN_DISTANCE * libm::log(1.0 - it)),
            _ => 0.0,
        };
        let rush = [8.0, 18.0][usize::from(unit() < 0.55)] + 4.0 * (unit() + unit() + unit() - 1.5);
        let hour = if unit() < 0.3 { (24.0 * unit()) as i64 } else { rush as i64 };
        let is_slow = (7..=9).contains(&hour) || (16..=18).contains(&hour);
        let speed = if is_slow { 14.0 } else { 22.0 };
        let seconds = (distance / (speed * (0.7 + 0.6 * unit())) * 3_600.0 + 60.0 * unit()).round();
        let duration = (unit() >= 0.03).then_some(seconds);
        let borough = b'A' + (6.0 * unit() * unit()) as u8;
        let zone = format!("{}{:02}", char::from(borough), (40.0 * unit()) as u32);
        let vendor = (8.0 * unit() * unit()) as i64;
        let plain = if distance > 0.0 { 2.8 + 1.9 * distance + seconds / 150.0 } else { 5.0 };
        // A few were typed without the point.
        let fare = plain * (0.95 + 0.15 * unit()) * if unit() < 0.002 { 100.0 } else { 1.0 };
        Ride { distance, duration, hour, zone, vendor, fare: hundredths(fare) }
    }

    /// One meter after the other, each hour by hour; a row group each.
    fn loads(&self) -> Vec<Group> {
        let hours = (self.count / 50).clamp(HOURS.start, HOURS.end);
        let group = |meter: u64| {
            let all: Vec<_> = (0..hours).map(|it| self.load(meter * hours + it, it)).collect();
            vec![
                ("meter", Column::Ints(vec![meter as i64; all.len()])),
                ("load", Column::Floats(all.iter().map(|it| it.0).collect())),
                ("temperature", Column::Floats(all.iter().map(|it| it.1).collect())),
            ]
        };
        (0..METERS).map(group).collect()
    }

    /// Kilowatts and degrees of a row, so many hours after the first: days, weeks and a year.
    fn load(&self, index: u64, hour: u64) -> (f64, f64) {
        let mut chance = Chance::new(self.seed ^ 0x6c6f_6164, index);
        let mut unit = || f64::from(chance.unit());
        let wave = |period: f64, shift: f64| {
            libm::sin((hour as f64 + shift) / period * std::f64::consts::TAU)
        };
        let year = 11.0 - 9.0 * wave(8_766.0, 2_200.0);
        let temperature = year - 4.0 * wave(24.0, 3.0) + 2.0 * (unit() - 0.5);
        let heating = (17.0 - temperature).max(0.0) * 0.12;
        let is_weekend = hour / 24 % 7 >= 5;
        let people = if is_weekend { 1.1 } else { 1.6 } * (1.0 + 0.5 * wave(24.0, 15.0));
        (hundredths(0.4 + heating + people + 0.4 * unit()), hundredths(temperature))
    }
}

struct Ride {
    distance: f64,
    /// Seconds; of some rides nobody knows them.
    duration: Option<f64>,
    hour: i64,
    zone: String,
    vendor: i64,
    fare: f64,
}

/// To two places, as such figures are noted.
fn hundredths(it: f64) -> f64 {
    (it * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rides_are_sorted_by_distance_and_plausible() {
        let tables = Tables { folder: PathBuf::new(), count: 1_000, seed: 3 };
        let all: Vec<Ride> = (0..1_000).map(|it| tables.ride(it)).collect();
        assert!(all.is_sorted_by_key(|it| it.distance));
        assert_eq!(all.iter().filter(|it| it.distance == 0.0).count(), 60);
        let unknown = all.iter().filter(|it| it.duration.is_none()).count();
        assert!((10..60).contains(&unknown), "{unknown}");
        assert!(all.iter().all(|it| (0..8).contains(&it.vendor) && (0..24).contains(&it.hour)));
        assert!(all.iter().any(|it| it.fare >= 500.0) && all.iter().any(|it| it.vendor >= 6));
        assert!((0..1_000).all(|it| (0.0..20.0).contains(&tables.load(it, it).0)));
    }
}
