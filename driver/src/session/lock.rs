//! The lock file: what was chosen for the pipelines of a program, beside it, in TOML, to be read,
//! compared and changed by hand.

use crate::session::{
    whole,
    written::{self, What, quoted},
};
use compiler::caches::Pin;
use runtime::Failure;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write,
    io,
    path::{Path, PathBuf},
};

/// The form of lock files that this build writes, and the newest that it reads.
const FORMAT: u32 = 2;
/// Threads that may be asked for, as on the command line.
const WORKERS: std::ops::RangeInclusive<usize> = 1..=1024;

/// Workers for each core at the most that `tune` tries.
pub(crate) const WORKERS_PER_CORE: usize = 2;
/// Bytes of a lock at the most; far more than one ever has.
const BYTES_MAX: u64 = 4 << 20;

/// What a lock file says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The form of the file.
    format: u32,
    /// What was chosen, by pipeline.
    #[serde(default)]
    pub pipeline: BTreeMap<String, Chosen>,
}

/// What was chosen for a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// The plan that it was chosen for: a hash of what is computed.
    pub plan: String,
    /// Threads that compute.
    pub workers: usize,
    /// Values that are kept from epoch to epoch and no others, where there is one: step and
    /// function, `train.map#1.decode_jpeg`; with where, how and how many of them, where that is said.
    #[serde(default, deserialize_with = "pins::deserialize")]
    pub keep: Vec<Pin>,
    /// Values that are not kept.
    #[serde(default)]
    pub forbid: Vec<String>,
    /// What was found out meanwhile; nothing follows from it.
    #[serde(default)]
    pub found: Found,
}

/// What was found out while it was tuned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Cores that there were; on another number of them the workers that were chosen are not used.
    #[serde(default)]
    pub cores: usize,
    /// Records in a second, measured.
    pub records_per_second: f64,
    /// Records in a second that the model predicts of the measured costs.
    pub predicted: f64,
    /// What bounds it.
    pub bottleneck: String,
    /// Processor time of a record at each step, in microseconds.
    #[serde(default)]
    pub costs_us: BTreeMap<String, f64>,
}

impl Lock {
    /// Where the lock of a program lies: beside it, its name and `.lock`.
    pub fn path_of(program: &Path) -> PathBuf {
        let mut name = OsString::from(program.as_os_str());
        name.push(".lock");
        PathBuf::from(name)
    }

    /// Reads a lock; none where there is no such file.
    ///
    /// # Errors
    /// It cannot be read, is no lock, or one of a newer pipec.
    pub fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let fail = |detail: String| Failure::Io { path: path.display().to_string(), detail };
        let what = What { name: "lock file", format: FORMAT, made_by: "pipec tune" };
        let text = match safe_file::text(path, BYTES_MAX) {
            Ok(text) => text,
            Err(it) if it.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(it) => return Err(fail(written::unreadable(&it, what))),
        };
        let lock: Self = written::parse(&text, what).map_err(fail)?;
        match lock.pipeline.iter().find_map(|(name, it)| Some((name, it.flaw()?))) {
            Some((name, flaw)) => {
                Err(fail(format!("`{name}` has {flaw}; correct it, or run `pipec tune` again")))
            }
            None => Ok(Some(lock)),
        }
    }

    /// Puts what was chosen for a pipeline into the lock at `path`, beside what it says of others.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn put(path: &Path, name: &str, chosen: Chosen) -> Result<(), Failure> {
        let mut lock = Self::read(path)?.unwrap_or_else(Self::empty);
        lock.pipeline.insert(name.to_owned(), chosen);
        let text = lock.text();
        whole::write(path, "the lock file", &mut |out| out.write_all(text.as_bytes()))
    }

    /// A lock that says nothing yet.
    #[must_use]
    pub fn empty() -> Self {
        Self { format: FORMAT, pipeline: BTreeMap::new() }
    }

    /// The file: one thing a line, each with what it is.
    pub fn text(&self) -> String {
        let mut text = format!(
            "# Written by `pipec tune` and used by `run` and `build`. It may be edited by hand.\n\
             format = {FORMAT}\n"
        );
        for (name, it) in &self.pipeline {
            it.write(name, &mut text);
        }
        text
    }
}

impl Chosen {
    /// This choice for a machine of so many cores. A number of workers holds for the cores that it was chosen on alone: on
    /// others as many are taken as there are, and those that it was chosen on are told. What is kept does not depend on them.
    #[must_use]
    pub fn on_cores(self, cores: usize) -> (Self, Option<usize>) {
        let chosen_on = self.found.cores;
        // A lock that does not say it was written by hand.
        if chosen_on == 0 || chosen_on == cores {
            return (self, None);
        }
        (Self { workers: cores, ..self }, Some(chosen_on))
    }

    /// Whether these are more workers than `tune` ever chooses on so many cores.
    #[must_use]
    pub fn has_many_workers(&self, cores: usize) -> bool {
        self.workers > WORKERS_PER_CORE * cores
    }

    /// What in it cannot be done, if anything.
    pub(crate) fn flaw(&self) -> Option<String> {
        let (least, most) = (WORKERS.start(), WORKERS.end());
        if !WORKERS.contains(&self.workers) {
            return Some(format!("{} workers, expected {least} to {most}", self.workers));
        }
        let shares = |value: &str| {
            let own = self.keep.iter().filter(|it| it.value == value);
            own.filter_map(|it| it.share).collect::<Vec<f64>>()
        };
        self.keep.iter().find_map(|it| {
            let all = shares(&it.value);
            if let Some(share) = all.iter().find(|it| !(0.0..=1.0).contains(*it)) {
                return Some(format!("share = {share} of `{}`, expected 0 to 1", it.value));
            }
            let sum = all.iter().sum::<f64>();
            (sum > 1.0 + 1e-6)
                .then(|| format!("shares of `{}` that add up to {sum:.3}, more than 1", it.value))
        })
    }

    /// The names of the values that are kept.
    pub fn kept(&self) -> Vec<String> {
        let mut names: Vec<String> = self.keep.iter().map(|it| it.value.clone()).collect();
        names.dedup();
        names
    }

    fn write(&self, name: &str, text: &mut String) {
        let list = |all: &[String]| all.iter().map(quoted).collect::<Vec<_>>().join(", ");
        let Found { cores, records_per_second, predicted, bottleneck, costs_us } = &self.found;
        let name = quoted(name);
        // Where names are all that is said, they stand in one line.
        let (names, tables) = match self.keep.iter().all(|it| *it == Pin::of(&it.value)) {
            true => {
                let names = list(&self.kept());
                (format!("keep = [{names}]  # values cached from epoch to epoch\n"), String::new())
            }
            false => (String::new(), self.keep.iter().map(|it| pins::text(it, &name)).collect()),
        };
        let _ = write!(
            text,
            "\n\
             [pipeline.{name}]\n\
             plan = {}  # identifies the program that this is for\n\
             workers = {}  # worker threads, on the `cores` below\n\
             {}\
             forbid = [{}]  # values never cached\n\
             {}\n\
             [pipeline.{name}.found]  # for information; only `cores` is used\n\
             cores = {cores}  # with another number of cores, `run` uses one worker per core; 0 \
             means any\n\
             records_per_second = {records_per_second:.1}\n\
             predicted = {predicted:.1}\n\
             bottleneck = {}\n\n\
             [pipeline.{name}.found.costs_us]  # CPU time of a record, in microseconds\n",
            quoted(&self.plan),
            self.workers,
            names,
            list(&self.forbid),
            tables,
            quoted(bottleneck),
        );
        for (step, us) in costs_us {
            let _ = writeln!(text, "{} = {us:.3}", quoted(step));
        }
    }
}

/// Values that are kept, as a lock says them: a name, or a table.
mod pins {
    use super::quoted;
    use compiler::caches::{Pin, Tier};
    use plan::Codec;
    use serde::{Deserialize, Deserializer};

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        value: String,
        tier: Option<Tier>,
        codec: Option<Codec>,
        share: Option<f64>,
    }

    struct One(Pin);

    impl<'de> Deserialize<'de> for One {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Pin;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str(
                        "the name of a value, or a table with `value`, `tier`, `codec` and `share`",
                    )
                }
                fn visit_str<E>(self, name: &str) -> Result<Pin, E> {
                    Ok(Pin::of(name))
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Pin, A::Error> {
                    let from = serde::de::value::MapAccessDeserializer::new(map);
                    let Table { value, tier, codec, share } = Table::deserialize(from)?;
                    Ok(Pin { value, tier, codec, share })
                }
            }
            from.deserialize_any(Visitor).map(Self)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Pin>, D::Error> {
        // Built files are no texts: they hold tables alone.
        if !from.is_human_readable() {
            return Vec::deserialize(from);
        }
        let all = Vec::<One>::deserialize(from)?;
        Ok(all.into_iter().map(|it| it.0).collect())
    }

    /// One of them as it is written.
    pub(super) fn text(pin: &Pin, pipeline: &str) -> String {
        let Pin { value, tier, codec, share } = pin;
        let mut text = format!(
            "\n[[pipeline.{pipeline}.keep]]  # cached from epoch to epoch\nvalue = {}\n",
            quoted(value)
        );
        if let Some(tier) = tier {
            text += &format!("tier = {}  # memory, disk (of `--cache`), or both\n", quoted(tier));
        }
        if let Some(codec) = codec {
            text += &format!("codec = {}\n", quoted(&codec.to_string()));
        }
        if let Some(share) = share {
            text += &format!("share = {share:?}  # of its values\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::caches::Tier;
    use std::fs;

    const KEPT_WRONG: [&str; 4] = [
        "format = 2\n[pipeline.p]\nplan = \"\"\nworkers = 1\n[[pipeline.p.keep]]\nvalue = \"x\"\ncodec = \"gzip\"",
        "format = 2\n[pipeline.p]\nplan = \"\"\nworkers = 1\n[[pipeline.p.keep]]\nvalue = \"x\"\ntier = \"nvme\"",
        "format = 2\n[pipeline.p]\nplan = \"\"\nworkers = 1\n[[pipeline.p.keep]]\nvalue = \"p.map#1.x\"\nshare = 1.5",
        "format = 2\n[pipeline.p]\nplan = \"\"\nworkers = 1\nkeep = [{ value = \"x\", share = 0.7 }, { value = \"x\", \
         share = 0.6 }]",
    ];

    #[test]
    fn what_is_written_can_be_read() {
        let folder = std::env::temp_dir().join(format!("pipec-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.pipe.lock");
        let costs = [("p.map#1".to_owned(), 12.5)];
        let found = Found { cores: 2, costs_us: costs.into(), ..Found::default() };
        let pin = |share| Pin {
            value: "p.map#1.decode_jpeg".to_owned(),
            tier: Some(Tier::Disk),
            codec: Some("zstd1+shuffle".parse().unwrap()),
            share: Some(share),
        };
        let keep = vec![pin(0.25), Pin { codec: None, ..pin(0.5) }, Pin::of("p.map#1.resize")];
        let chosen =
            Chosen { plan: "00ff".to_owned(), workers: 3, keep, found, ..Chosen::default() };
        Lock::put(&path, "p", chosen.clone()).unwrap();
        Lock::put(&path, "q\"uoted", chosen.clone()).unwrap();
        let read = Lock::read(&path).unwrap().unwrap();
        assert_eq!(read.pipeline.len(), 2);
        assert_eq!(read.pipeline["p"], chosen);

        for (wrong, said) in [
            ("format = 3", "newer"),
            ("format = 3\nnot_known_yet = 1", "newer"),
            ("format = 1\n\nworkers 3", "line 3"),
            ("format = 1\n[pipeline.p]\nplan = \"\"\nworkers = 70000", "70000 workers"),
            ("format = 1\nworker = 3", "unknown key `worker`"),
            ("format = 1\n[pipeline.p]\nplan = \"\"\nworkers = 0", "0 workers"),
            (KEPT_WRONG[0], "unknown codec `gzip`"),
            (KEPT_WRONG[1], "unknown variant `nvme`"),
            (KEPT_WRONG[2], "share = 1.5 of `p.map#1.x`, expected 0 to 1"),
            (KEPT_WRONG[3], "add up to 1.300"),
        ] {
            fs::write(&path, wrong).unwrap();
            let told = Lock::read(&path).unwrap_err().to_string();
            assert!(told.contains(said), "{told}");
        }
        // The first form had names alone.
        let first = "format = 1\n[pipeline.p]\nplan = \"\"\nworkers = 1\nkeep = [\"p.map#1.x\"]\n";
        fs::write(&path, first).unwrap();
        let read = Lock::read(&path).unwrap().unwrap();
        assert_eq!(read.pipeline["p"].keep, [Pin::of("p.map#1.x")]);
        assert_eq!(Lock::read(&folder.join("none")).unwrap(), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
