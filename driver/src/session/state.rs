//! The state of a run in a file: where it stands, so that another run goes on from there
//! (`semantics.md`, 10).
//!
//! It is a line of JSON below 1 KB (2 KB with 64 lanes), replaced as a whole. It says what it
//! belongs to: plan, inputs and seed; a run of anything else refuses it and says what has changed.

use crate::session::{
    classes::{self, Classes},
    compiled::Compiled,
    identity::{inputs_hash, structure},
    whole,
};
use plan::{count, things};
use runtime::{Failure, Fingerprint, Position, Rank};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// The number of this form, and of the one without ranks, in which a run alone is written still.
const FORMAT: u32 = 2;
const FORMAT_ALONE: u32 = 1;
/// Bytes of a file that may be a state; far more than one ever has.
const BYTES_MAX: u64 = 1 << 20;
/// Steps of a plan that a state says one by one, so that it stays small.
const STEPS_MAX: usize = 32;

/// Labels whose numbers of classes a state says one by one.
const LABELS_MAX: usize = 4;

/// Where a state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    /// The file.
    pub path: PathBuf,
    /// From one writing to the next, at least.
    pub every: Duration,
}

/// Holds a checkpoint file for one run. What is locked is the file itself, so that nothing lies beside it;
/// the one that takes its place is locked before it does.
#[derive(Debug, Default)]
pub(crate) struct StateLock(Option<File>);

impl StateLock {
    /// Of the file at `path`, where it is there.
    ///
    /// # Errors
    /// Another run has it.
    pub(crate) fn take(path: &Path) -> Result<Self, Failure> {
        match safe_file::open(path) {
            Ok(file) if is_locked(&file) => Err(in_use(path)),
            Ok(file) => Ok(Self(Some(file))),
            // Whoever reads it says what is wrong with it.
            Err(_) => Ok(Self(None)),
        }
    }

    /// Puts a line in place of what the file holds.
    fn replace(&mut self, path: &Path, line: &[u8]) -> Result<(), Failure> {
        let unwritable = |it| whole::failure(path, "cannot write the checkpoint", &it);
        // Another run may have begun the file since.
        if self.0.is_none() && safe_file::open(path).is_ok_and(|it| is_locked(&it)) {
            return Err(in_use(path));
        }
        let mut draft = safe_file::Draft::new(path, 0o666).map_err(unwritable)?;
        draft.file().write_all(line).map_err(unwritable)?;
        // The name may come to the disk before the content: it must not be that of an empty file.
        draft.file().sync_data().map_err(unwritable)?;
        // A draft is nobody else's. Where files cannot be locked at all, this one is not.
        let _ = draft.file().try_lock();
        let file = draft.file().try_clone().map_err(unwritable)?;
        draft.finish(path).map_err(unwritable)?;
        self.0 = Some(file);
        Ok(())
    }
}

/// Whether another run holds a file; if not, this one does from now on.
pub(crate) fn is_locked(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn in_use(path: &Path) -> Failure {
    Failure::Io {
        path: path.display().to_string(),
        detail: "another run is using this checkpoint file; wait until it has ended, or name \
                 another file (each rank needs its own)"
            .to_owned(),
    }
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    format: u32,
    /// The pipeline's name.
    pub pipeline: String,
    /// The plan as it is written, in hexadecimal.
    plan: String,
    /// Its steps, eight digits each; none where there are many.
    steps: String,
    /// What the sources' files are, in hexadecimal.
    inputs: String,
    /// How many there are.
    files: u64,
    /// Bytes of them together.
    bytes: u64,
    /// How many classes the labels have, and a hash of their names in order; nothing without labels.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    classes: String,
    /// What all random numbers follow from.
    pub seed: u64,
    /// The epoch.
    pub epoch: u32,
    /// Batches delivered since the run began; records, where the pipeline ends without `batch`.
    pub outputs: u64,
    /// Files that a sink of files has written of each field.
    pub(crate) written: u64,
    /// The rewrites of the plan whose stages `position` is about.
    rewrites: Vec<String>,
    structure: u32,
    position: Vec<u64>,
    /// Which run it is, of several that share the work; none of one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<(u32, u32)>,
    /// Of the line with a 0 here: XXH3.
    check: u64,
}

/// What a run is, as far as a state must fit it.
pub(crate) struct Identity {
    plan: String,
    steps: Vec<(String, u32)>,
    inputs: Vec<Fingerprint>,
    /// The classes of its labels, where they are known already.
    classes: Option<Vec<Classes>>,
    seed: u64,
    rewrites: Vec<String>,
    structure: u32,
    pipeline: String,
    share: Option<(u32, u32)>,
    /// The constants whose values follow from data.
    constants: Vec<String>,
}

/// How far a run is, to be written down.
pub(crate) struct Progressed<'a> {
    pub(crate) position: &'a Position,
    pub(crate) outputs: u64,
    pub(crate) written: u64,
}

impl State {
    /// The state that bytes are.
    ///
    /// # Errors
    /// They are none, or one of another version; they are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let refused = |why: &str| Err(Failure::State(why.to_owned()));
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            return refused("it is not a checkpoint, or it is truncated");
        };
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format > u64::from(FORMAT) => {
                return refused("it was written by a newer pipec: resume with that version");
            }
            Some(_) => {}
            None => return refused("it is not a checkpoint"),
        }
        let Ok(state) = serde_json::from_value::<Self>(value) else {
            return refused("it is damaged");
        };
        if state.check != state.checksum() {
            return refused("it is damaged: its checksum does not match");
        }
        Ok(state)
    }

    /// Reads the state in a file; none where there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is no state.
    pub fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let unreadable = |it: io::Error| Failure::Io {
            path: path.display().to_string(),
            detail: format!(
                "cannot read the checkpoint: {it}; check its permissions, or start again with \
                 another checkpoint file"
            ),
        };
        let bytes = match safe_file::read(path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let state = Self::from_bytes(&bytes).map_err(|it| named(it, path))?;
        Ok(Some(state))
    }

    /// Writes it in place of what the file held.
    ///
    /// # Errors
    /// It cannot be written; what was there stays.
    pub(crate) fn write(&self, path: &Path, lock: &mut StateLock) -> Result<(), Failure> {
        lock.replace(path, self.line().as_bytes())
    }

    /// The rewrites that a plan must have gone through for its stages to be those of the state.
    pub(crate) fn rewrites(&self) -> &[String] {
        &self.rewrites
    }

    /// Refuses the state that another rank has written.
    pub(crate) fn check_rank(&self, rank: Rank) -> Result<(), Failure> {
        if self.share == share_of(rank) {
            return Ok(());
        }
        let (then, now) = (share(self.share), share(share_of(rank)));
        Err(Failure::State(format!(
            "the checkpoint was written by {then}, but this is {now}: each rank needs its own \
             checkpoint file"
        )))
    }

    /// Refuses to go on where fewer epochs or outputs are asked for than there are already: what was
    /// written is more than what is asked for, and no part of it is taken away.
    pub(crate) fn check_asked(&self, epochs: u32, limit: Option<u64>) -> Result<(), Failure> {
        let is_begun = self.position != Position::start(self.epoch).numbers();
        let begun = self.epoch.saturating_add(u32::from(is_begun));
        let too_few = |asked: String, least: String| {
            Err(Failure::State(format!(
                "it already has {} in {}, but `{asked}` ends before that; use at least `{least}`, \
                 or start again with another checkpoint file and another folder",
                things(self.outputs, "output", "outputs"),
                things(u64::from(begun), "epoch", "epochs"),
            )))
        };
        match limit {
            Some(limit) if limit < self.outputs => {
                too_few(format!("--limit {limit}"), format!("--limit {}", self.outputs))
            }
            _ if begun > epochs => {
                too_few(format!("--epochs {epochs}"), format!("--epochs {begun}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the stages of the program are those that it is about.
    pub(crate) fn is_about(&self, compiled: &Compiled) -> bool {
        self.structure == structure(&compiled.program)
    }

    fn checksum(&self) -> u64 {
        plan::hash(Self { check: 0, ..self.clone() }.text().as_bytes())
    }

    /// The line that it is in a file: what [`State::from_bytes`] reads.
    pub fn line(&self) -> String {
        format!("{}\n", Self { check: self.checksum(), ..self.clone() }.text())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("a state has nothing that JSON cannot say")
    }
}

impl Identity {
    /// What `compiled` is.
    pub(crate) fn new(compiled: &Compiled, seed: u64) -> Self {
        let hash = compiled.identity();
        let kept = compiled.optimised.story.iter().filter(|it| it.kept);
        let mut rewrites: Vec<_> = kept.map(|it| it.pass.to_owned()).collect();
        rewrites.dedup();
        Self {
            plan: format!("{:032x}", hash.whole),
            steps: hash.steps,
            inputs: Vec::new(),
            classes: classes::given(&compiled.written),
            seed,
            rewrites,
            structure: structure(&compiled.program),
            pipeline: compiled.program.name.clone(),
            share: None,
            constants: compiled.constants.iter().map(|it| format!("`{}`", it.name)).collect(),
        }
    }

    /// Notes which run it is, of several that share the work: its state is for no other one.
    pub(crate) fn of_rank(&mut self, rank: Rank) {
        self.share = share_of(rank);
    }

    /// The state of a run that is this far.
    pub(crate) fn state(&self, at: &Progressed<'_>) -> State {
        let few = self.steps.len() <= STEPS_MAX;
        let steps = self.steps.iter().filter(|_| few).map(|it| format!("{:08x}", it.1));
        State {
            format: if self.share.is_some() { FORMAT } else { FORMAT_ALONE },
            pipeline: self.pipeline.clone(),
            plan: self.plan.clone(),
            steps: steps.collect(),
            inputs: format!("{:032x}", inputs_hash(&self.inputs)),
            files: self.inputs.iter().map(|it| it.files).sum(),
            bytes: self.inputs.iter().map(|it| it.bytes).sum(),
            classes: self.classes.as_deref().map_or(String::new(), hash_of_classes),
            seed: self.seed,
            epoch: at.position.epoch,
            outputs: at.outputs,
            written: at.written,
            rewrites: self.rewrites.clone(),
            share: self.share,
            structure: self.structure,
            position: at.position.numbers(),
            check: 0,
        }
    }

    /// Says what the inputs are.
    pub(crate) fn inputs(&mut self, inputs: Vec<Fingerprint>) {
        self.inputs = inputs;
    }

    /// Says what the classes of the labels are.
    pub(crate) fn classes(&mut self, classes: Vec<Classes>) {
        self.classes = Some(classes);
    }

    /// Refuses a state whose labels had other classes.
    fn check_classes(&self, state: &State) -> Result<(), Failure> {
        let here = self.here();
        let (Some(classes), false) = (&self.classes, state.classes.is_empty()) else {
            return Ok(());
        };
        if state.classes == here.classes || here.classes.is_empty() {
            return Ok(());
        }
        Err(Failure::State(changed_classes(&state.classes, &here.classes, classes)))
    }

    /// Refuses a state on other inputs, and says what has changed.
    pub(crate) fn check_inputs(&self, state: &State) -> Result<(), Failure> {
        self.check_classes(state)?;
        let here = self.here();
        if state.inputs == here.inputs {
            return Ok(());
        }
        Err(Failure::State(changed_inputs(state, &here)))
    }

    /// The position that a state of this plan says; refuses one of any other, and says what has
    /// changed.
    pub(crate) fn position_of(&self, state: &State) -> Result<Position, Failure> {
        let changed = |what: String| Err(Failure::State(what));
        let here = self.here();
        if state.pipeline != here.pipeline {
            let (then, now) = (&state.pipeline, &here.pipeline);
            return changed(format!(
                "it was written by the pipeline `{then}`, but this is `{now}`"
            ));
        }
        self.check_classes(state)?;
        if state.plan != here.plan {
            return changed(self.changed_steps(state));
        }
        if state.seed != here.seed {
            let (then, now) = (state.seed, here.seed);
            return changed(format!(
                "it was written with seed {then}, but this run has seed {now}: use the same seed"
            ));
        }
        if state.structure != here.structure {
            return changed("the plan was optimized differently".to_owned());
        }
        Position::from_numbers(state.epoch, &state.position)
    }

    /// A state of this run, as far as it does not say where it stands.
    fn here(&self) -> State {
        self.state(&Progressed { position: &Position::start(0), outputs: 0, written: 0 })
    }

    /// Which steps are others than those of `state`.
    fn changed_steps(&self, state: &State) -> String {
        let cure = "run the program as it was, or start again with another checkpoint file";
        let then: Vec<_> = state.steps.as_bytes().chunks(8).collect();
        if then.len() != self.steps.len() {
            let (then, now) = (then.len(), self.steps.len());
            let steps = if then == 0 || now > STEPS_MAX {
                "its steps are different".to_owned()
            } else {
                format!("it had {} and now has {now}", things(then as u64, "step", "steps"))
            };
            return format!("the pipeline has changed since: {steps}; {cure}");
        }
        let now = self.steps.iter().map(|it| format!("{:08x}", it.1));
        let differ =
            now.zip(then).zip(&self.steps).filter(|((now, then), _)| now.as_bytes() != *then);
        let names: Vec<_> = differ.map(|(_, it)| format!("`{}`", it.0)).collect();
        match names.as_slice() {
            [] => format!("the pipeline has changed since; {cure}"),
            names if self.constants.is_empty() => {
                format!("the pipeline has changed since, in {}; {cure}", names.join(", "))
            }
            names => format!(
                "the pipeline has changed since, in {}, or the data that {} follows from; {cure}",
                names.join(", "),
                self.constants.join(", ")
            ),
        }
    }
}

/// The classes of all labels: how many of each, and a hash of their names in order.
fn hash_of_classes(all: &[Classes]) -> String {
    let hash = all
        .iter()
        .flat_map(|it| &it.names)
        .fold(0, |so_far, name| plan::mix(so_far, plan::hash(name.as_bytes())));
    let counts: Vec<String> =
        all.iter().take(LABELS_MAX).map(|it| it.names.len().to_string()).collect();
    if all.is_empty() { String::new() } else { format!("{} {hash:016x}", counts.join("+")) }
}

/// What has become of the classes.
fn changed_classes(then: &str, now: &str, classes: &[Classes]) -> String {
    let count = |it: &str| it.split(' ').next().unwrap_or_default().to_owned();
    let (then, now) = (count(then), count(now));
    let names: Vec<_> = classes.iter().map(|it| classes::shown(&it.names)).collect();
    let names = names.join("; ");
    let what = if then == now {
        format!("there are still {then}, but with other names or in another order: {names}")
    } else {
        format!("there were {then}, now there are {now}: {names}")
    };
    format!(
        "the classes of its labels have changed: {what}; restore them (`classes:` of `class_of` \
         fixes them), or start again with another checkpoint file"
    )
}

fn share_of(rank: Rank) -> Option<(u32, u32)> {
    (rank.world > 1).then_some((rank.rank, rank.world))
}

/// Which run it is, in words.
fn share(of: Option<(u32, u32)>) -> String {
    match of {
        Some((rank, world)) => format!("`--rank {rank} --world-size {world}`"),
        None => "a run without ranks".to_owned(),
    }
}

/// What has become of the inputs.
fn changed_inputs(then: &State, now: &State) -> String {
    let amount =
        |it: &State| format!("{}, {} bytes", things(it.files, "file", "files"), count(it.bytes));
    let cure = "restore the data, or start again with another checkpoint file";
    if then.files == 0 && now.files == 0 {
        return format!("the number of records of a source has changed since; {cure}");
    }
    if (then.files, then.bytes) == (now.files, now.bytes) {
        return format!("files have been renamed or changed since ({}); {cure}", amount(now));
    }
    format!("the inputs were {} and now are {}; {cure}", amount(then), amount(now))
}

/// Says which file it is about.
fn named(failure: Failure, path: &Path) -> Failure {
    match failure {
        Failure::State(why) => Failure::State(format!(
            "{why} (`{}`; to start again, remove it or name another)",
            path.display()
        )),
        other => other,
    }
}
