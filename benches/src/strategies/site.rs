//! A pipeline of which something is kept from epoch to epoch: what it may be, what is chosen, and how fast it is then.

use crate::trial::{self, Way};
use compiler::{
    caches::{self, Budget, Candidate, Choice, Disk, Form, Occasion, candidates},
    estimate::{Alternative, Strategies, View, best_alternative, choose, outlook, strategies},
    explain::Explanation,
};
use driver::{
    Circumstances, Compiled, DiskOptions, Loaded, Profile, Sampled, Sampling, Settings, Stop,
    lock::Chosen,
};
use model::{Machine, Storage, solve::Limit, strategy::Objective, what_if};
use plan::{Codec, CodecFigures, StageId, parts::Keep};
use runtime::{Cache, CachePoint, Codecs, DiskRoom, Store, os, reads};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

/// Bytes that bound nothing.
const ROOM: u64 = 1 << 40;
/// Bytes per second that bound nothing.
pub(crate) const UNBOUNDED: f64 = 1e12;
/// Bytes that a run may take, with what it keeps.
const MEMORY: u64 = 8 << 30;
/// Bytes of the table of what is on disk.
const TABLE: u64 = 1 << 28;

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Memory,
    Disk,
}

impl Tier {
    fn in_plans(self) -> caches::Tier {
        match self {
            Self::Memory => caches::Tier::Memory,
            Self::Disk => caches::Tier::Disk,
        }
    }
}

/// Values as they are.
const PLAIN: CodecFigures =
    CodecFigures { codec: Codec::NONE, left: 1.0, encode_ns: 0.0, decode_ns: 0.0 };

/// What is kept of each record, whatever the model thinks of it: what a lock says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pin<'a> {
    /// The value, as a lock names it: `p.map#1.decode_jpeg`.
    pub(crate) value: &'a str,
    pub(crate) tier: Tier,
    /// How it is encoded there.
    pub(crate) codec: Codec,
    /// The share of the records of which it is kept.
    pub(crate) share: f64,
}

impl<'a> Pin<'a> {
    pub(crate) fn all(value: &'a str, tier: Tier) -> Self {
        Self { value, tier, codec: Codec::NONE, share: 1.0 }
    }

    /// What the codec does to a candidate, as a sample of it says.
    fn figures(&self, of: &Candidate) -> CodecFigures {
        let found = of.codecs.iter().find(|it| it.codec == self.codec).copied();
        found.unwrap_or_else(|| {
            assert_eq!(self.codec, Codec::NONE, "nothing is known of {}", self.value);
            PLAIN
        })
    }
}

/// A folder that is there as long as this lives.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let name = format!("pipec-{name}-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A pipeline whose records are known.
pub(crate) struct Site {
    pub(crate) compiled: Compiled,
    /// What was measured of it; nothing where it is only run.
    pub(crate) profile: Option<Profile>,
    /// What a sample says of its values, where codecs are looked at.
    pub(crate) sampled: Option<Sampled>,
    /// Records of an epoch.
    records: u64,
    folder: Folder,
    /// Values that are not kept, as a lock names them.
    forbidden: Vec<String>,
}

/// The machine that something is chosen for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) cores: f64,
    /// Bytes per second of the disk of the sources.
    pub(crate) source: f64,
    /// Bytes per second of the disk for what is kept; none: there is none, one more: it is the same.
    pub(crate) disk: Option<f64>,
    /// Bytes of memory for what is kept.
    pub(crate) room: u64,
    pub(crate) epochs: f64,
    pub(crate) objective: Objective,
}

impl Target {
    /// One disk for all, of so many bytes per second, and no room in memory.
    pub(crate) fn one_disk(rate: f64, epochs: f64) -> Self {
        let cores = driver::cores() as f64;
        let objective = Objective::default();
        Self { cores, source: rate, disk: Some(rate), room: 0, epochs, objective }
    }
}

/// What the model says of something that is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// Records per second, once it is full.
    pub(crate) rate: f64,
    /// What bounds them.
    pub(crate) limit: Limit,
}

impl Told {
    pub(crate) fn is_by_disk(&self) -> bool {
        matches!(self.limit, Limit::Storage(_))
    }
}

/// Compiles the pipeline of `text` without some passes.
pub(crate) fn compiled(text: &str, without: &[&str]) -> Compiled {
    let loaded = Loaded::from_text(Path::new("trial.pipe"), text.to_owned());
    let without = without.iter().map(|it| (*it).to_owned()).collect();
    let settings = Settings { without, ..Settings::default() };
    driver::compile(&loaded, &settings).unwrap_or_else(|it| panic!("{text}\n{it:#?}"))
}

impl Site {
    /// The pipeline of `text` with so many records, measured for some seconds as it is.
    pub(crate) fn new((text, without): (&str, &[&str]), records: u64, seconds: f64) -> Self {
        Self::measured(compiled(text, without), records, seconds)
    }

    /// The same of what is compiled.
    pub(crate) fn measured(compiled: Compiled, records: u64, seconds: f64) -> Self {
        let cores = driver::cores();
        // Its files are in the page cache from here on.
        trial::rate(&compiled.program, &Way::workers(cores), (1, 0.5));
        let profile = trial::profile(&compiled, cores, seconds);
        let of = Circumstances { profile: Some(profile.clone()), ..Circumstances::default() };
        let compiled = compiled.under(&of);
        Self { profile: Some(profile), ..Self::of(compiled, records) }
    }

    /// The same of which nothing is measured.
    pub(crate) fn of(compiled: Compiled, records: u64) -> Self {
        Self {
            compiled,
            profile: None,
            sampled: None,
            records,
            folder: Folder::new("strategies"),
            forbidden: Vec::new(),
        }
    }

    /// The same with what a sample of its records, taken in so many seconds, says of codecs.
    pub(crate) fn with_codecs(self, seconds: f64) -> Self {
        let (workers, stop) = (driver::cores(), Stop::default());
        let sampling = Sampling { seconds, seed: 0, workers, memory: MEMORY, stop };
        let sampled = driver::sample(&self.compiled, &self.compiled.program, &sampling, &[]);
        Self { sampled: Some(sampled.expect("it can be run")), ..self }
    }

    /// Values that are not kept, whatever the model thinks of them.
    pub(crate) fn forbid(&mut self, is_forbidden: impl Fn(&Candidate) -> bool) {
        let all = self.candidates().into_iter().filter(|it| is_forbidden(it));
        self.forbidden = all.map(|it| it.value_name()).collect();
    }

    /// Processor time to read a byte: where nothing bounds the disk, the system holds what is there in memory.
    fn read_ns(&self, of: &Target) -> f64 {
        let is_held = of.disk.is_some_and(|it| it >= UNBOUNDED);
        let read = || self.sampled.as_ref().map_or(Disk::READ_NS, |it| it.read_ns);
        if is_held { Disk::IN_PLACE_NS } else { read() }
    }

    /// All that may be kept.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let measured = self.profile.as_ref().map(|it| &it.measured);
        let costs = (measured.or(self.sampled.as_ref().map(|it| &it.measured)), 0.0);
        let found = candidates(&self.compiled.optimised.plan, &stdlib::library(), costs);
        let mut found = found.expect("what was compiled can be looked at");
        let values = self.sampled.iter().flat_map(|it| &it.values);
        for value in values {
            let is_it = |it: &&mut Candidate| format!("{:016x}", it.name) == value.name;
            found.iter_mut().filter(is_it).for_each(|it| it.codecs.clone_from(&value.codecs));
        }
        found
    }

    /// A new place for what is kept on disk.
    fn store(&self) -> Store {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let room = DiskRoom { folder: self.folder.0.clone(), limit: ROOM };
        let address = format!("{:032x}", OPENED.fetch_add(1, Relaxed));
        Store::open(&room, &address, TABLE).expect("a store can be opened")
    }

    /// Where `pins` keep what they do; nothing is there yet.
    pub(crate) fn pinned(&self, pins: &[Pin<'_>]) -> Vec<CachePoint> {
        let all = self.candidates();
        let point = |pin: &Pin<'_>| {
            let found = found(&all, pin);
            let values = (self.records as f64 * pin.share).round();
            let codecs = || Codecs::new(&[(pin.codec, 1.0)]);
            let cache = match pin.tier {
                // So much that all of them fit, or that share of what they take.
                Tier::Memory if pin.share < 1.0 => {
                    let left = pin.figures(found).left;
                    Cache::new((values * (found.bytes.value * left + 256.0)) as u64)
                        .encoded(codecs())
                }
                Tier::Memory => Cache::new(ROOM).encoded(codecs()),
                Tier::Disk => {
                    let store = self.store().up_to(values as u64).encoded(codecs());
                    Cache::new(0).with_store(store)
                }
            };
            driver::cache_point(found, Arc::new(cache))
        };
        pins.iter().map(point).collect()
    }

    /// Where `choices` keep what they do.
    pub(crate) fn points(&self, choices: &[Choice]) -> Vec<CachePoint> {
        let point = |it: &Choice| {
            let cache = driver::cache_of(it, it.limit, it.is_on_disk().then(|| self.store()));
            driver::cache_point(&it.candidate, Arc::new(cache))
        };
        choices.iter().filter(|it| it.kept).map(point).collect()
    }

    fn case(&self, of: &Target) -> (View, Occasion) {
        let mut machine = Machine::new(of.cores, trial::MEMORY as f64);
        machine.storages.push(Storage::flat("source", of.source));
        if let Some(rate) = of.disk.filter(|it| *it != of.source) {
            machine.storages.push(Storage::flat("kept", rate));
        }
        let stages = self.compiled.program.stages.iter();
        let sources: Vec<StageId> = stages
            .filter(|it| matches!(it.1.code, plan::Code::Source { .. }))
            .map(|it| it.0)
            .collect();
        let view = View {
            machine,
            pass_lens: sources.iter().map(|_| Some(self.records)).collect(),
            storages: sources.iter().map(|_| Some(0)).collect(),
            ..self.compiled.plain_view()
        };
        let occasion = Occasion {
            pass_lens: sources.into_iter().map(|it| (it, self.records)).collect(),
            passes: of.epochs,
            room: of.room,
            disk: of.disk.map(|_| Disk {
                room: ROOM,
                storage: storage(of),
                write_ahead: ROOM,
                read_ns: self.read_ns(of),
            }),
            filled: BTreeMap::new(),
            objective: of.objective,
            forbidden: self.forbidden.clone(),
            ..Occasion::default()
        };
        (view, occasion)
    }

    /// Everything that could be kept, with what the model says of it.
    pub(crate) fn strategies(&self, of: &Target) -> Strategies {
        let (view, occasion) = self.case(of);
        let (plan, estimate) = (&self.compiled.optimised.plan, &self.compiled.optimised.estimate);
        let (view, candidates, occasion) = (&view, &self.candidates(), &occasion);
        let own = Alternative { plan, estimate, view, candidates, occasion };
        strategies(&stdlib::library(), &[own]).expect("the costs are known")
    }

    /// Which of several plans of a pipeline the model chooses.
    pub(crate) fn best<'a>(all: &'a [Self], of: &Target) -> &'a Self {
        let cases: Vec<(View, Occasion, Vec<Candidate>)> = all
            .iter()
            .map(|it| {
                let (view, occasion) = it.case(of);
                (view, occasion, it.candidates())
            })
            .collect();
        let all_of = all.iter().zip(&cases).map(|(it, (view, occasion, candidates))| {
            let (plan, estimate) = (&it.compiled.optimised.plan, &it.compiled.optimised.estimate);
            Alternative { plan, estimate, view, candidates, occasion }
        });
        &all[best_alternative(&stdlib::library(), &all_of.collect::<Vec<_>>())]
    }

    /// What the model chooses.
    pub(crate) fn chosen(&self, of: &Target) -> Vec<Choice> {
        let (view, occasion) = self.case(of);
        let (plan, estimate) = (&self.compiled.optimised.plan, &self.compiled.optimised.estimate);
        let all = (self.candidates(), &occasion);
        choose(plan, &stdlib::library(), (estimate, &view), all)
    }

    /// What a lock keeps that names some values, all of them on disk.
    pub(crate) fn locked(&self, of: &Target, values: &[String]) -> Vec<Choice> {
        let (view, occasion) = self.case(of);
        let pin = |value: &String| caches::Pin {
            value: value.clone(),
            tier: Some(caches::Tier::Disk),
            codec: Some(Codec::NONE),
            share: Some(1.0),
        };
        let occasion = Occasion { pinned: values.iter().map(pin).collect(), ..occasion };
        let (plan, estimate) = (&self.compiled.optimised.plan, &self.compiled.optimised.estimate);
        let all = (self.candidates(), &occasion);
        choose(plan, &stdlib::library(), (estimate, &view), all)
    }

    /// What the model says of what is pinned.
    pub(crate) fn told(&self, of: &Target, pins: &[Pin<'_>]) -> Told {
        let all = self.candidates();
        let choice = |pin: &Pin<'_>| {
            let share = |tier| if pin.tier == tier { pin.share } else { 0.0 };
            let candidate = found(&all, pin).clone();
            let figures = pin.figures(&candidate);
            Choice {
                candidate,
                values: Some(self.records),
                share: share(Tier::Memory),
                disk_share: share(Tier::Disk),
                forms: vec![Form { tier: pin.tier.in_plans(), figures, share: pin.share }],
                saves_ns: 0.0,
                fill_ns: 0.0,
                payback: 0.0,
                kept: true,
                why: String::new(),
                limit: ROOM,
                disk_values: None,
                read_ns: self.read_ns(of),
            }
        };
        self.told_of(of, pins.iter().map(choice).collect())
    }

    /// The same of choices.
    pub(crate) fn told_of(&self, of: &Target, choices: Vec<Choice>) -> Told {
        let (view, _) = self.case(of);
        let disk = of.disk.map(|_| Disk {
            room: ROOM,
            storage: storage(of),
            write_ahead: ROOM,
            read_ns: self.read_ns(of),
        });
        let budget = Budget { memory: ROOM, own: 0, passes: of.epochs, disk };
        let view = View { choices, budget: Some(budget), ..view };
        let (plan, estimate) = (&self.compiled.optimised.plan, &self.compiled.optimised.estimate);
        let found = outlook(plan, &stdlib::library(), estimate, view).expect("it is a tree");
        let solution = found.warm.as_ref().unwrap_or(&found.solution);
        Told {
            rate: solution.rate * self.batch_rows(),
            limit: solution.bounds.first().map_or(Limit::Cpu, |it| it.limit),
        }
    }

    /// What `explain` says of it on a machine with these changes, for 90 epochs and with a folder for what is kept; in as much
    /// memory as it takes, and no more: what is kept lies on disk.
    pub(crate) fn explained(&self, changes: &str) -> Explanation {
        let disk = DiskOptions { folder: self.folder.0.clone(), limit: ROOM, verify_inputs: false };
        let forbid = self.forbidden.clone();
        let lock = Chosen { workers: driver::cores(), forbid, ..Chosen::default() };
        let of = Circumstances {
            changes: what_if::parse(changes).expect("they are changes"),
            epochs: 90,
            profile: self.profile.clone(),
            disk: Some(disk),
            lock: Some(lock),
            ..Circumstances::default()
        };
        let memory = (0..4).fold(None, |memory, _| {
            let of = Circumstances { memory, ..of.clone() };
            let own = self.compiled.clone().under(&of).optimised.estimate.memory;
            // A sixteenth is for the table of what is on disk.
            Some(Budget::own_of(&own.parts()) * 16 / 15)
        });
        trial::explained(&self.compiled, &Circumstances { memory, ..of })
    }

    /// Keeps all that `kept` may keep: an epoch, of which nothing is measured.
    pub(crate) fn fill(&self, kept: &[CachePoint]) {
        if !kept.is_empty() {
            self.seconds(kept, 1);
        }
    }

    /// Seconds of so many epochs, the first of which finds what is there.
    pub(crate) fn seconds(&self, kept: &[CachePoint], epochs: u32) -> f64 {
        let pace = self.epochs((kept, driver::cores()), epochs);
        self.records as f64 * f64::from(epochs) / pace.alone()
    }

    /// How fast so many epochs are with so many threads, from their begin to their end.
    pub(crate) fn epochs(&self, (kept, workers): (&[CachePoint], usize), epochs: u32) -> Pace {
        let way = Way { kept: kept.to_vec(), memory: MEMORY, ..Way::workers(workers) };
        let cpu = || os::process_cpu().unwrap_or_default().as_secs_f64();
        let before = (Instant::now(), busy(), cpu(), reads::so_far());
        let run = trial::start(&self.compiled.program, &way, 0..epochs);
        run.for_each(|it| _ = it.expect("nothing fails"));
        let seconds = before.0.elapsed().as_secs_f64();
        let records = self.records as f64 * f64::from(epochs);
        Pace {
            rate: records / seconds,
            cpu: (cpu() - before.2) / records,
            read: trial::read(before.3) / records,
            busy: (busy() - before.1) / seconds,
            workers,
        }
    }

    /// How fast it is with what is kept, over so many seconds.
    pub(crate) fn pace(&self, kept: &[CachePoint], workers: usize, span: (u64, f64)) -> Pace {
        let way = Way { kept: kept.to_vec(), memory: MEMORY, ..Way::workers(workers) };
        let before = (Instant::now(), busy());
        let seen = trial::watch(&self.compiled.program, &way, span);
        let busy = (busy() - before.1) / before.0.elapsed().as_secs_f64();
        let rows = self.batch_rows();
        let (rate, cpu, read) = (seen.rate * rows, seen.cpu / rows, seen.bytes / rows);
        Pace { rate, cpu, read, busy, workers }
    }

    /// Records of an output.
    pub(crate) fn batch_rows(&self) -> f64 {
        self.compiled.optimised.estimate.batch_rows.unwrap_or(1.0)
    }
}

/// How fast something was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Records per second.
    pub(crate) rate: f64,
    /// Seconds of a core for each of them.
    pub(crate) cpu: f64,
    /// Bytes that are read for each of them.
    pub(crate) read: f64,
    /// Cores that it and all others kept busy.
    busy: f64,
    /// Threads that computed.
    workers: usize,
}

impl Pace {
    /// Records per second if nobody else computed, of what no disk bounds: where all cores were busy, what its threads would
    /// have done with a core each.
    pub(crate) fn alone(&self) -> f64 {
        let cores = driver::cores() as f64;
        let own = cores.min(self.workers as f64);
        if self.busy >= 0.95 * cores { own / self.cpu } else { self.rate }
    }

    /// The same where a disk gives so many bytes per second at the most.
    pub(crate) fn alone_on(&self, disk: Option<f64>) -> f64 {
        let most = disk.filter(|_| self.read > 0.0).map_or(f64::INFINITY, |it| it / self.read);
        self.alone().min(most).max(self.rate)
    }
}

/// Seconds for which anybody has computed, where the system says it: of a hundred ticks each (proc_stat(5)).
fn busy() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().skip(1).map_while(|it| it.parse().ok()).collect();
    [0, 1, 2, 5, 6, 7].iter().filter_map(|it| ticks.get(*it)).sum::<f64>() / 100.0
}

/// The value that is pinned.
fn found<'a>(all: &'a [Candidate], pin: &Pin<'_>) -> &'a Candidate {
    // Images are decoded under one name, whatever their format.
    let name = |it: &Candidate| it.value_name().replace("decode_png", "decode_jpeg");
    let is_it = |it: &&Candidate| it.keep == Keep::Value && name(it) == pin.value;
    let names = || all.iter().map(Candidate::value_name).collect::<Vec<_>>();
    all.iter().find(is_it).unwrap_or_else(|| panic!("no `{}` in {:?}", pin.value, names()))
}

/// Which of the storages of the machine is that for what is kept.
fn storage(of: &Target) -> usize {
    usize::from(of.disk.is_some_and(|it| it != of.source))
}

/// What is kept, in words.
pub(crate) fn in_words(choices: &[Choice]) -> String {
    let of = |it: &Choice| {
        let form = |form: &Form| {
            let codec = match form.figures.codec {
                Codec::NONE => String::new(),
                codec => format!("{codec} "),
            };
            let place = match form.tier {
                caches::Tier::Memory => "in memory",
                caches::Tier::Both => "in both",
                caches::Tier::Disk => "on disk",
            };
            (form.share >= 1e-3).then(|| format!("{codec}{:.0} % {place}", form.share * 100.0))
        };
        let forms: Vec<String> = it.forms.iter().filter_map(form).collect();
        format!("{} {}", it.candidate.function, forms.join(", "))
    };
    let all: Vec<String> = choices.iter().filter(|it| it.kept).map(of).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}
