//! A fault at each call of a run, one run after the other.

use crate::{
    common::{Files, Folder, Printed},
    scratch::{BINARIES, FORGIVING, Fault, PIPELINES, fault},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
};

#[test]
fn what_cannot_be_read_is_said() {
    let folder = Folder::with_records("read");
    let mut tally = Tally::default();
    let faults = [
        fault("read", "data", "EIO").once(),
        fault("open", "data", "EACCES"),
        fault("list", "data", "EIO"),
        fault("stat", "data", "ESTALE").once(),
    ];
    for (pipeline, _) in PIPELINES {
        folder.at_every_call(pipeline, &faults, &mut tally);
    }
    println!("{}", tally.table());
}

#[test]
fn what_cannot_be_written_is_said_and_gone_on_with() {
    let folder = Folder::with_records("write");
    let mut tally = Tally::default();
    let faults = [
        fault("write", "run", "ENOSPC"),
        fault("write", "run", "EIO").once(),
        fault("open", "run", "EIO").once(),
        fault("rename", "run", "EIO").once(),
        fault("make", "run", "ENOSPC"),
        fault("remove", "run", "EIO"),
        fault("read", "run", "EIO").once(),
        fault("sync", "run", "EIO").once(),
    ];
    for pipeline in ["strict", "skipping", "by_number", "objects"] {
        folder.at_every_call(pipeline, &faults, &mut tally);
    }
    println!("{}", tally.table());
}

#[test]
fn short_and_interrupted_calls_change_nothing() {
    let folder = Folder::with_records("short");
    for pipeline in ["strict", "skipping", "texts", "in_order", "by_number", "table"] {
        let whole = folder.whole(pipeline);
        for what in ["short", "half"] {
            for (call, below) in [("read", "data"), ("write", "run")] {
                folder.same(pipeline, fault(call, below, what), &whole);
            }
            // What is read of a run that is over: its state.
            let again = folder.run(pipeline, Some(&fault("read", "run", what)));
            assert!(again.code == 0 && folder.was_hit(), "{pipeline}: {}", again.err);
            assert!(folder.files("run/out") == whole, "{pipeline}: other files");
        }
        for (call, below) in [("read", "data"), ("write", "run"), ("open", "data"), ("open", "run")]
        {
            for from in sampled().take_while(|it| *it < 30) {
                let fault = Fault { from, ..fault(call, below, "EINTR").once() };
                if !folder.same(pipeline, fault, &whole) {
                    break;
                }
            }
        }
    }
}

/// The numbers of the calls that are tried.
fn sampled() -> impl Iterator<Item = usize> {
    let all = is_thorough();
    (1..).filter(move |it| all || *it <= 6 || it % 11 == 0)
}

fn is_thorough() -> bool {
    env::var_os("SLOW_TESTS").is_some()
}

/// How often each kind of fault ended in each way.
#[derive(Default)]
struct Tally(BTreeMap<String, BTreeMap<String, usize>>);

impl Tally {
    fn count(&mut self, pipeline: &str, fault: &Fault, outcome: String) {
        let Fault { call, below, what, times, .. } = fault;
        let times = if *times == 1 { "once" } else { "from then on" };
        let row = format!("{what} at {call} below {below}, {times}: {pipeline}");
        *self.0.entry(row).or_default().entry(outcome).or_default() += 1;
    }

    fn table(&self) -> String {
        let mut table = String::new();
        for (row, outcomes) in &self.0 {
            let outcomes: Vec<_> = outcomes.iter().map(|(it, n)| format!("{it} ({n})")).collect();
            table += &format!("{row}: {}\n", outcomes.join(", "));
        }
        table
    }
}

impl Folder {
    /// Lets the first call fail, the second, and so on, each time in a run of its own.
    fn at_every_call(&self, pipeline: &str, faults: &[Fault], tally: &mut Tally) {
        let whole = self.whole(pipeline);
        for fault in faults {
            self.at_each(pipeline, *fault, &whole, tally);
            if is_thorough() {
                let times = if fault.times == 1 { usize::MAX } else { 1 };
                self.at_each(pipeline, Fault { times, ..*fault }, &whole, tally);
            }
        }
    }

    fn at_each(&self, pipeline: &str, fault: Fault, whole: &Files, tally: &mut Tally) {
        for from in sampled() {
            let fault = Fault { from, ..fault };
            let Fault { call, below, what, times, .. } = fault;
            let named = format!("{pipeline}: {what} at {call} {from} below {below}, {times} times");
            self.clear();
            // What is removed is an earlier output; what is read, its state.
            if ["remove", "read"].contains(&call) && below == "run" {
                self.run(pipeline, None);
            }
            if call == "remove" {
                fs::remove_file(self.join("run/state")).unwrap();
            }
            let ended = self.run(pipeline, Some(&fault));
            if !self.was_hit() {
                assert!(from > 1, "{named}: never needed");
                break;
            }
            ended.is_sound(&named);
            let left = self.files("run");
            let draft = left.keys().find(|it| it.ends_with(".part"));
            assert!(draft.is_none(), "{named}: {draft:?} is left behind");
            let outcome = match ended.code {
                0 => self.accounted_for(pipeline, &ended, whole, &named),
                _ => self.gone_on_with(pipeline, whole, &named),
            };
            tally.count(pipeline, &fault, format!("{} {outcome}", ended.code));
        }
    }

    /// After a run that ended well: nothing is missing but what was told of.
    fn accounted_for(&self, pipeline: &str, ended: &Printed, whole: &Files, named: &str) -> &str {
        if self.files("run/out") == *whole {
            return "as undisturbed";
        }
        assert!(FORGIVING.contains(&pipeline), "{named}: other files, and nothing said");
        let lost = fs::read_to_string(self.join("run/lost.jsonl")).unwrap();
        let lost: BTreeSet<_> = lost.lines().collect();
        let is_told = |it: &&str| it.starts_with('{') && it.ends_with('}') && it.contains(".bin");
        assert!(lost.iter().all(is_told), "{named}: {lost:?}");
        if pipeline != "replaced" {
            let records = ended.figure("records");
            assert_eq!(records + lost.len(), BINARIES, "{named}: {lost:?}\n{}", ended.err);
        }
        "records lost, and told"
    }

    /// After a run that failed: another one goes on, and all is as if nothing had been.
    fn gone_on_with(&self, pipeline: &str, whole: &Files, named: &str) -> &str {
        let again = self.run(pipeline, None);
        assert_eq!(again.code, 0, "{named}, then again: {}", again.err);
        let found = self.files("run/out");
        let names = |it: &Files| it.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(whole), "{named}: other files");
        for (name, bytes) in whole {
            assert!(found[name] == *bytes, "{named}: {name} differs");
        }
        "said, and gone on with"
    }
}
