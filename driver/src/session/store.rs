//! What is kept on disk: under which address, and what it says about itself.
//!
//! An address is a hash of how a value is computed and of what the sources' files are; so what stands
//! under it holds whatever run comes, with any seed, epoch or number of threads.

mod folder;
mod why;

pub use folder::{Kept, Removal, Removed, Verified, gc, list, verify};
pub use why::{Why, why};

use crate::session::{
    compiled::Compiled, host::Host, identity::inputs_hash, machine, storages, whole,
};
use compiler::caches::{Candidate, Disk};
use model::{Machine, Storage};
use plan::things;
use runtime::{DiskRoom, Failure, Run, Store, folder_bytes};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// The number of the form in which values are kept.
const FORMAT: u32 = 2;
/// The file of an address that says what stands there.
const ABOUT: &str = "about.json";
/// Bytes that such a file takes at most, usually.
const ABOUT_BYTES: u64 = 4 << 10;
/// Bytes of one that is read; far more than one ever has.
const ABOUT_BYTES_MAX: u64 = 1 << 16;
/// The part of the free memory that written pages may take before who writes has to wait: midway
/// between Linux's `vm.dirty_background_ratio` (10%) and `vm.dirty_ratio` (20%).
const DIRTY: f64 = 0.15;
/// Bytes that a folder may take where nothing is said.
pub const DISK_BYTES: u64 = 50 << 30;

/// Where values are kept on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOptions {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes that it may take in all.
    pub limit: u64,
    /// Whether all inputs are read to see that they are the same, besides their sizes and times.
    pub verify_inputs: bool,
}

/// What stands under an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The number of the form.
    pub format: u32,
    /// The pipeline.
    pub pipeline: String,
    /// The step that computes the values.
    pub step: String,
    /// The function whose results they are.
    pub function: String,
    /// How they are computed, as a hash in hexadecimal.
    pub computed: String,
    /// What the sources' files are, as a hash in hexadecimal.
    pub inputs: String,
    /// How many there are.
    pub files: u64,
    /// Bytes of them together.
    pub bytes: u64,
    /// When it was begun, in seconds since 1970.
    pub created: u64,
    /// Whether runs keep this of the pipeline, and nothing else that does not say the same: `prepare --keep`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
    /// The version of pipec that did it.
    pub pipec: String,
}

/// What the files of all sources are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inputs {
    hash: u128,
    files: u64,
    bytes: u64,
}

/// What a folder holds of the values that are made of some inputs, each by the name of what it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct There {
    /// How many of each.
    pub(crate) values: BTreeMap<u64, u64>,
    /// Those that are kept there alone, if there are any.
    pub(crate) only: Vec<u64>,
}

/// A store that a run may use, if it may, and what is to be told of it.
pub(crate) struct Opened {
    pub(crate) store: Option<Store>,
    pub(crate) notes: Vec<String>,
}

impl DiskOptions {
    /// What it is for the choice of what is kept, on a machine of which this is known; its storage, `unmeasured` where it is
    /// not known, is added to `machine`.
    pub(crate) fn disk_of(
        &self,
        host: Option<&Host>,
        machine: &mut Machine,
        unmeasured: Storage,
    ) -> Disk {
        // What is kept lies in large files.
        let known = host.and_then(|it| it.storage_of(&self.folder)?.modelled(None));
        let known = storages::held_back().or(known);
        let storage = storages::place_of(machine, known.unwrap_or(unmeasured));
        let write_ahead = machine::memory_free().map_or(0, |it| (it as f64 * DIRTY) as u64);
        Disk { room: self.limit, storage, write_ahead, read_ns: Disk::READ_NS }
    }

    /// What is there already, made of `inputs`.
    pub(crate) fn there(&self, inputs: &Inputs) -> There {
        let mut there = There::default();
        for (_, about) in self.made_of(inputs) {
            let Ok(name) = u64::from_str_radix(&about.computed, 16) else { continue };
            there.only.extend(Some(name).filter(|_| about.only));
            if let Ok(store) = Store::look(&self.folder, &about.address()) {
                there.values.insert(name, store.stats().entries);
            }
        }
        there
    }

    /// From now on, runs of a pipeline keep these of its values and no others; any, where there are none.
    pub(crate) fn keep_only(
        &self,
        addresses: &[String],
        (pipeline, inputs): (&str, &Inputs),
    ) -> Result<(), Failure> {
        for (place, about) in self.made_of(inputs) {
            let only = addresses.contains(&about.address());
            if (only || about.pipeline == pipeline) && about.only != only {
                About { only, ..about }.write(&place)?;
            }
        }
        Ok(())
    }

    /// What says what is made of `inputs`, with where it lies.
    fn made_of(&self, inputs: &Inputs) -> Vec<(PathBuf, About)> {
        let made_of = format!("{:032x}", inputs.hash);
        let is_ours = |it: &About| {
            (it.format, &*it.pipec, &it.inputs) == (FORMAT, env!("CARGO_PKG_VERSION"), &made_of)
        };
        let places = folder::places(&self.folder).unwrap_or_default().into_iter();
        let all = places.filter_map(|it| About::read(&it).map(|about| (it, about)));
        all.filter(|it| is_ours(&it.1)).collect()
    }

    /// Opens the store of `candidate`; one that cannot be opened is told, and done without.
    pub(crate) fn open(&self, about: &About, table_bytes: u64) -> Opened {
        let mut notes = Vec::new();
        let opened = self.opened(about, table_bytes, &mut notes);
        if let Err(error) = &opened {
            let (function, folder) = (&about.function, self.folder.display());
            notes.push(format!("`{function}` is not cached in `{folder}`: {error}"));
        }
        Opened { store: opened.ok(), notes }
    }

    fn opened(
        &self,
        about: &About,
        table_bytes: u64,
        notes: &mut Vec<String>,
    ) -> io::Result<Store> {
        let address = about.address();
        let place = self.folder.join(&address);
        let is_there = safe_file::is_real_folder(&place)
            && fs::symlink_metadata(place.join(ABOUT)).is_ok_and(|it| it.is_file());
        if !is_there {
            notes.extend(changed(&self.folder, about));
            fs::create_dir_all(&place)?;
            if !safe_file::is_real_folder(&place) {
                return Err(io::Error::other(format!("`{address}` is a link")));
            }
            if folder_bytes(&self.folder) + ABOUT_BYTES > self.limit {
                return Err(io::Error::other("the size limit is reached"));
            }
            about.write(&place).map_err(|it| io::Error::other(it.to_string()))?;
        }
        used_now(&place);
        let room = DiskRoom { folder: self.folder.clone(), limit: self.limit };
        Store::open(&room, &address, table_bytes)
    }
}

impl About {
    /// What the values of `candidate` are, made of `inputs`.
    pub(crate) fn new(compiled: &Compiled, candidate: &Candidate, inputs: &Inputs) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            format: FORMAT,
            pipeline: compiled.program.name.clone(),
            step: candidate.step.clone(),
            function: candidate.function.clone(),
            computed: format!("{:016x}", candidate.name),
            inputs: format!("{:032x}", inputs.hash),
            files: inputs.files,
            bytes: inputs.bytes,
            created: now.map_or(0, |it| it.as_secs()),
            only: false,
            pipec: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Under which address it stands: 32 hexadecimal digits.
    pub fn address(&self) -> String {
        let Self { format, computed, inputs, pipec, .. } = self;
        let hash = blake3::hash(format!("{format} {pipec} {computed} {inputs}").as_bytes());
        hash.to_hex()[..32].to_owned()
    }

    /// What stands in a folder; none where that cannot be said.
    pub(crate) fn read(place: &Path) -> Option<Self> {
        let path = place.join(ABOUT);
        let bytes = safe_file::read_here(&path, ABOUT_BYTES_MAX).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn write(&self, place: &Path) -> Result<(), Failure> {
        whole::write(&place.join(ABOUT), "the description of the cache", &mut |out| {
            Ok(serde_json::to_writer_pretty(out, self)?)
        })
    }

    /// Whether it is of the same value of a pipeline, as it is called.
    fn is_like(&self, other: &Self) -> bool {
        let names = |it: &Self| (it.pipeline.clone(), it.step.clone(), it.function.clone());
        names(self) == names(other)
    }

    /// What differs from what stood there, in a sentence.
    fn changed_since(&self, then: &Self) -> String {
        let amount =
            |it: &Self| format!("{}, {} bytes", things(it.files, "file", "files"), it.bytes);
        if (self.format, &self.pipec) != (then.format, &then.pipec) {
            return format!("pipec has changed: the cached values were written by {}", then.pipec);
        }
        if self.computed != then.computed {
            return "it is computed differently: the pipeline or a parameter has changed"
                .to_owned();
        }
        match (self.files, self.bytes) == (then.files, then.bytes) {
            true => {
                format!("inputs have changed: files were written or renamed ({})", amount(self))
            }
            false => format!("inputs have changed: now {}, before {}", amount(self), amount(then)),
        }
    }
}

impl Inputs {
    /// All of it in one number.
    pub(crate) fn hash(&self) -> u128 {
        self.hash
    }

    /// Of the sources of a run; reads all that they hold where `verify` says so.
    ///
    /// # Errors
    /// A file is not there, or cannot be read.
    pub(crate) fn of(run: &Run, verify: bool) -> Result<Self, Failure> {
        let prints = run.fingerprints()?;
        let mut hash = blake3::Hasher::new();
        hash.update(&inputs_hash(&prints).to_le_bytes());
        prints.iter().for_each(|it| _ = hash.update(&it.times.to_le_bytes()));
        if verify {
            run.contents()?.iter().for_each(|it| _ = hash.update(&it.to_le_bytes()));
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        Ok(Self {
            hash: u128::from_le_bytes(bytes),
            files: prints.iter().map(|it| it.files).sum(),
            bytes: prints.iter().map(|it| it.bytes).sum(),
        })
    }
}

/// What has changed since the same value was kept last, if it was.
fn changed(folder: &Path, now: &About) -> Option<String> {
    let then = latest_like(folder, now)?;
    Some(format!("`{}` ({}) is cached again: {}", now.function, now.step, now.changed_since(&then)))
}

/// What was kept last of the same value of a pipeline under another address.
fn latest_like(folder: &Path, now: &About) -> Option<About> {
    let places = folder::places(folder).into_iter().flatten();
    let like = places.filter_map(|it| Some((folder::used(&it), About::read(&it)?)));
    let like = like.filter(|it| it.1.is_like(now) && it.1.address() != now.address());
    like.max_by_key(|it| it.0).map(|it| it.1)
}

/// Notes that what stands there is used: what was not used for longest goes first.
fn used_now(place: &Path) {
    // Where it cannot be noted, it goes a little earlier.
    let _ =
        safe_file::open_here(&place.join(ABOUT)).and_then(|it| it.set_modified(SystemTime::now()));
}
