//! Random chains of steps: what the linear program keeps of them beside the rules of others, and beside all points of a grid.
//! Tests hold one against the other, and so does the row of `benches` that says it.

use model::strategy::{Objective, Plan, Strategy, Way, best};

/// Random chains, by each rule and by the linear program.
pub(crate) struct Compared {
    /// Ways that are mixed at the most.
    pub(crate) mixed: usize,
    /// By how much a rule was better than the program at the most, as a part.
    pub(crate) beaten: f64,
    /// The part of the chains that are slower with what the program keeps than with nothing.
    pub(crate) slower: f64,
    pub(crate) rules: Vec<Rule>,
}

/// A rule for what to keep.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    /// Its times over those of the program, the least first.
    pub(crate) ratios: Vec<f64>,
    /// The part of the chains that are slower with what it keeps than with nothing.
    pub(crate) slower: f64,
}

impl Rule {
    /// The ratio that so many parts of a hundred stay below.
    pub(crate) fn at(&self, percent: usize) -> f64 {
        self.ratios[(self.ratios.len() * percent / 100).min(self.ratios.len() - 1)]
    }

    /// What came of it in a line, with what is published of it.
    pub(crate) fn told(&self, published: &str) -> String {
        format!(
            "{} {:.2}, {:.1}, {:.0}{published}, worse in {:.0} %, slower than nothing in {:.1} %",
            self.name,
            self.at(50),
            self.at(90),
            self.at(100),
            self.worse() * 100.0,
            self.slower * 100.0
        )
    }

    /// The part of the chains of which it takes 5 % more time, or still more.
    pub(crate) fn worse(&self) -> f64 {
        let worse = self.ratios.iter().filter(|it| **it >= 1.05).count();
        worse as f64 / self.ratios.len() as f64
    }
}

/// Who has these rules: pipec before it had the program; HyCache; PRESTO; Plumber.
const RULES: [&str; 4] = ["greedy", "one tier after the other", "one split", "last in memory"];

/// So many chains by each rule.
pub(crate) fn beside_rules(n: usize) -> Compared {
    let mut numbers = Numbers(1);
    let rule = |name| Rule { name, ratios: Vec::new(), slower: 0.0 };
    let rules = RULES.map(rule).into();
    let mut found = Compared { mixed: 0, beaten: 0.0, slower: 0.0, rules };
    let part = 1.0 / n as f64;
    for _ in 0..n {
        let chain = Chain::random(&mut numbers);
        let plan = chain.plan(&chain.kinds(&CODECS));
        let ours = best(&plan, Objective::Time).expect("nothing can always be kept");
        let shares = &ours.shares[0];
        found.mixed = found.mixed.max(shares.iter().filter(|it| **it > 0.0).count());
        let ours = ours.seconds((1.0, chain.epochs));
        let nothing = chain.seconds(&[]);
        let is_slower = |seconds: f64| f64::from(seconds > nothing * 1.001) * part;
        found.slower += is_slower(ours);
        let others = [
            chain.greedy(),
            chain.one_tier_after_the_other(),
            chain.one_split(&CODECS),
            chain.last_in_memory(),
        ];
        for (rule, seconds) in found.rules.iter_mut().zip(others) {
            found.beaten = found.beaten.max(ours / seconds - 1.0);
            rule.ratios.push(seconds / ours);
            rule.slower += is_slower(seconds);
        }
        found.beaten = found.beaten.max(ours / nothing - 1.0);
    }
    found.rules.iter_mut().for_each(|it| it.ratios.sort_by(f64::total_cmp));
    found
}

/// By how much a point of a grid of shares was better than the program at the most, as a part; of so many chains of two
/// values.
pub(crate) fn beside_grid(n: usize) -> f64 {
    const STEPS: usize = 20;
    let mut numbers = Numbers(2);
    let mut beaten = 0.0_f64;
    for _ in 0..n {
        let mut chain = Chain::random(&mut numbers);
        chain.values.truncate(2);
        let plan = chain.plan(&chain.kinds(&[NONE]));
        let ours = best(&plan, Objective::Time).expect("nothing can always be kept");
        let mut least = f64::INFINITY;
        // Shares of four ways, in steps; the rest keeps nothing.
        for code in 0..(STEPS + 1).pow(4) {
            let at = |k: u32| code / (STEPS + 1).pow(k) % (STEPS + 1);
            let all = [at(0), at(1), at(2), at(3)];
            let Some(rest) = STEPS.checked_sub(all.iter().sum()) else { continue };
            let share = |it: usize| it as f64 / STEPS as f64;
            let shares = std::iter::once(rest).chain(all).map(share).collect();
            let point = Strategy::of(&plan, vec![shares]);
            if point.bytes.iter().zip(&plan.rooms).all(|it| it.0 <= it.1) {
                least = least.min(point.seconds((1.0, chain.epochs)));
            }
        }
        beaten = beaten.max(ours.seconds((1.0, chain.epochs)) / least - 1.0);
    }
    beaten
}

/// Numbers that look random (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() * all.len() as f64) as usize]
    }

    /// Around `median`, with a deviation of its logarithm of 1.
    fn around(&mut self, median: f64) -> f64 {
        let (a, b) = (self.next().max(1e-12), self.next());
        median * ((-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()).exp()
    }
}

/// A codec: what is left of the bytes, nanoseconds to encode and to decode a byte.
#[derive(Clone, Copy)]
pub(crate) struct Codec(f64, f64, f64);

pub(crate) const NONE: Codec = Codec(1.0, 0.0, 0.0);
const LZ4: Codec = Codec(0.8, 0.6, 0.15);
const ZSTD: Codec = Codec(0.55, 1.3, 0.6);

/// A chain of steps over records of a source.
pub(crate) struct Chain {
    pub(crate) records: f64,
    pub(crate) epochs: f64,
    pub(crate) cores: f64,
    /// Bytes of a record in the source, and seconds of a byte there, on the disk for what is kept, and to write there.
    pub(crate) source: (f64, f64),
    pub(crate) disk: [f64; 2],
    /// Seconds of one core and bytes of each value.
    pub(crate) values: Vec<(f64, f64)>,
    pub(crate) memory: f64,
    pub(crate) room: f64,
}

/// A way, with what it keeps: the value, whether in memory, the codec.
pub(crate) type Kept = Option<(usize, bool, Codec)>;

impl Chain {
    fn random(numbers: &mut Numbers) -> Self {
        let n = 2 + (numbers.next() * 4.0) as usize;
        let values: Vec<_> =
            (0..n).map(|_| (numbers.around(200e-6), numbers.around(200e3))).collect();
        let bytes = numbers.around(110e3);
        let mut rate = |least: f64, most: f64| least * (most / least).powf(numbers.next());
        let (source_rate, read) = (rate(0.1e9, 6e9), rate(0.1e9, 6e9));
        let (cores, all) = (rate(2.0, 64.0).round(), rate(0.1, 3.0));
        let records = 10_000.0;
        let typical = 200e3 * records;
        Self {
            records,
            epochs: numbers.of(&[2.0, 5.0, 10.0, 90.0]),
            cores,
            source: (bytes, 1.0 / source_rate),
            disk: [1.0 / read, 2.0 / read],
            values,
            memory: typical * all * numbers.next(),
            room: typical * 3.0 * numbers.next(),
        }
    }

    pub(crate) fn cpu(&self) -> f64 {
        self.values.iter().map(|it| it.0).sum()
    }

    /// Of a record, on the resources cores, source, disk.
    pub(crate) fn way(&self, kept: Kept) -> Way {
        let all = [self.cpu() / self.cores, self.source.0 * self.source.1, 0.0];
        let Some((value, in_memory, Codec(left, encode, decode))) = kept else {
            return Way {
                warm: all.to_vec(),
                fill: all.to_vec(),
                again: Vec::new(),
                bytes: vec![0.0; 2],
            };
        };
        let bytes = self.values[value].1;
        let online: f64 = self.values[value + 1..].iter().map(|it| it.0).sum();
        let found = 0.3e-6 + (0.05 + decode) * bytes * 1e-9;
        let filled = (encode + 0.4) * bytes * 1e-9;
        let stored = bytes * left;
        let [read, write] = self.disk.map(|it| if in_memory { 0.0 } else { it * stored });
        Way {
            warm: vec![(online + found) / self.cores, 0.0, read],
            fill: vec![(self.cpu() + filled) / self.cores, all[1], write],
            again: Vec::new(),
            bytes: [in_memory, !in_memory].map(|it| f64::from(it) * stored * self.records).to_vec(),
        }
    }

    pub(crate) fn kinds(&self, codecs: &[Codec]) -> Vec<Kept> {
        let of = |value| {
            let tiers = [true, false].into_iter();
            tiers.flat_map(move |tier| codecs.iter().map(move |it| Some((value, tier, *it))))
        };
        std::iter::once(None).chain((0..self.values.len()).flat_map(of)).collect()
    }

    pub(crate) fn plan(&self, kinds: &[Kept]) -> Plan {
        Plan {
            base: vec![0.0; 3],
            streams: vec![kinds.iter().map(|it| self.way(*it)).collect()],
            rooms: vec![self.memory, self.room],
            outputs: self.records,
            epochs: self.epochs,
            runs: 1.0,
        }
    }

    /// The seconds that these shares take; what is left over keeps nothing.
    fn seconds(&self, kept: &[(Kept, f64)]) -> f64 {
        let kinds: Vec<Kept> = std::iter::once(None).chain(kept.iter().map(|it| it.0)).collect();
        let rest = 1.0 - kept.iter().map(|it| it.1).sum::<f64>();
        let shares = std::iter::once(rest).chain(kept.iter().map(|it| it.1)).collect();
        Strategy::of(&self.plan(&kinds), vec![shares]).seconds((1.0, self.epochs))
    }

    fn saves(&self, value: usize) -> f64 {
        self.values[..=value].iter().map(|it| it.0).sum()
    }

    fn fits(&self, value: usize, room: f64) -> f64 {
        (room / (self.values[value].1 * self.records)).min(1.0)
    }

    /// The value that saves most where there is so much room, in memory first; on disk if reading takes less than
    /// computing.
    fn greedy(&self) -> f64 {
        let shares = |value: usize| {
            let memory = self.fits(value, self.memory);
            let read = self.disk[0] * self.values[value].1;
            let disk = if self.saves(value) > read { self.fits(value, self.room) } else { 0.0 };
            let rest = (disk - memory).max(0.0).min(1.0 - memory);
            (memory, rest, memory * self.saves(value) + rest * (self.saves(value) - read))
        };
        let best = (0..self.values.len()).max_by(|a, b| shares(*a).2.total_cmp(&shares(*b).2));
        let value = best.expect("there are values");
        let (memory, disk, _) = shares(value);
        self.seconds(&[(Some((value, true, NONE)), memory), (Some((value, false, NONE)), disk)])
    }

    /// What saves most of one core's time for the room in memory, then the same for the rest on disk.
    fn one_tier_after_the_other(&self) -> f64 {
        let fill = |room: f64, left: f64, in_memory: bool| {
            // Of a line program with two rows two values at most are mixed.
            let saves = |value: usize| {
                let read = if in_memory { 0.0 } else { self.disk[0] * self.values[value].1 };
                self.saves(value) - read
            };
            let n = self.values.len();
            let mut most = (0.0, Vec::new());
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                for step in 0..=50 {
                    let part = left * f64::from(step) / 50.0;
                    let bytes = |it: usize| self.values[it].1 * self.records;
                    let of_a = part.min(room / bytes(a));
                    let of_b = (left - of_a).min((room - of_a * bytes(a)).max(0.0) / bytes(b));
                    let worth = of_a * saves(a) + of_b * saves(b);
                    if worth > most.0 {
                        let kept = |it| Some((it, in_memory, NONE));
                        most = (worth, vec![(kept(a), of_a), (kept(b), of_b)]);
                    }
                }
            }
            most.1
        };
        let mut kept = fill(self.memory, 1.0, true);
        let left = 1.0 - kept.iter().map(|it| it.1).sum::<f64>();
        kept.extend(fill(self.room, left, false));
        self.seconds(&kept)
    }

    /// All records after one step on disk, with one codec: the one with the highest rate.
    fn one_split(&self, codecs: &[Codec]) -> f64 {
        let fits = |it: &Kept| self.way(*it).bytes[1] <= self.room;
        let on_disk = |it: &Kept| it.is_none_or(|it| !it.1);
        let rate = |it: &Kept| self.way(*it).warm.into_iter().fold(0.0, f64::max);
        let all = self.kinds(codecs).into_iter().filter(|it| on_disk(it) && fits(it));
        let best = all.min_by(|a, b| rate(a).total_cmp(&rate(b)));
        self.seconds(&[(best.expect("nothing always fits"), 1.0)])
    }

    /// The last value that fits into memory as a whole.
    fn last_in_memory(&self) -> f64 {
        let fits = |it: &usize| self.fits(*it, self.memory) >= 1.0;
        let last = (0..self.values.len()).rev().find(fits);
        self.seconds(&last.map_or(Vec::new(), |it| vec![(Some((it, true, NONE)), 1.0)]))
    }
}

const CODECS: [Codec; 3] = [NONE, LZ4, ZSTD];
