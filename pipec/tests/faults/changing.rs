//! Files that vanish, become shorter or longer while a run is about to read them.

use crate::{
    common::Folder,
    scratch::{Fault, PIPELINES, fault},
};

/// What becomes of a file at a call, and how runs end that read it: with which code, saying what.
struct Case {
    fault: Fault,
    ends: &'static [(&'static str, i32, &'static str)],
}

const CASES: [Case; 7] = [
    Case {
        fault: fault("open", "data", "vanish").of("/7.bin").once(),
        ends: &[
            ("strict", 3, "cannot find the file"),
            ("skipping", 0, "failed       1 record: file-missing"),
            ("replaced", 0, "failed       1 record: file-missing"),
            ("texts", 0, "failed       1 record: file-missing"),
        ],
    },
    Case {
        fault: fault("read", "data", "shrink").of("/7.bin").once(),
        ends: &[
            ("strict", 3, "7.bin` changed while it was read"),
            ("skipping", 0, "failed       1 record: file-unreadable"),
        ],
    },
    Case {
        fault: fault("read", "data", "grow").of("/7.bin").once(),
        ends: &[
            ("strict", 3, "7.bin` changed while it was read"),
            ("texts", 0, "failed       1 record: file-unreadable"),
        ],
    },
    Case {
        fault: fault("open", "data", "vanish").of("/1.").once(),
        ends: &[
            ("in_order", 5, "1.txt`: cannot be read"),
            ("objects", 5, "1.jsonl`: cannot be read"),
            ("table", 5, "1.csv`: cannot be read"),
        ],
    },
    Case {
        fault: fault("read", "data", "shrink").of("/1.").once(),
        ends: &[
            ("in_order", 5, "1.txt`: it changed while it was read"),
            ("by_number", 5, "1.txt`: it changed while it was read"),
            ("objects", 5, "1.jsonl`: it changed while it was read"),
            ("table", 5, "1.csv`: it changed while it was read"),
        ],
    },
    Case {
        fault: fault("read", "data", "grow").of("/1.txt").once(),
        ends: &[
            ("in_order", 5, "1.txt`: it changed while it was read"),
            ("by_number", 5, "1.txt`: it changed while it was read"),
        ],
    },
    // Between the first time, when its lines are found, and the second, when they are read.
    Case {
        fault: Fault { from: 2, ..fault("open", "data", "shrink").of("/1.txt").once() },
        ends: &[("by_number", 5, "1.txt`: cannot be read")],
    },
];

#[test]
fn what_changes_meanwhile_is_said() {
    let folder = Folder::with_records("changing");
    for Case { fault, ends } in &CASES {
        for (pipeline, code, said) in *ends {
            folder.records();
            folder.clear();
            let ended = folder.run(pipeline, Some(fault));
            let named = format!("{pipeline}: {} at {}", fault.what, fault.call);
            assert!(folder.was_hit(), "{named}: never needed");
            ended.is_sound(&named);
            assert_eq!(ended.code, *code, "{named}: {}", ended.err);
            assert!(ended.err.contains(said), "{named}: no `{said}` in {}", ended.err);
        }
    }
}

#[test]
fn a_folder_that_may_not_be_listed_is_named() {
    let folder = Folder::with_records("closed");
    for (pipeline, _) in PIPELINES {
        folder.clear();
        let ended = folder.run(pipeline, Some(&fault("list", "data", "EACCES")));
        assert_eq!(ended.code, 5, "{}", ended.err);
        assert!(ended.err.contains("/data`") && ended.err.contains("`chmod"), "{}", ended.err);
    }
}
