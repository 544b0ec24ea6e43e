//! What plans are chosen and priced by: profiles, locks, host files, lists of classes, machines that are not here.

use super::{
    runs::COMPILED,
    scratch::{Folder, split},
};
use driver::{
    Circumstances, Host, Loaded, Lock, Profile, Settings,
    host::{Cache, Cold, Medium, Pattern},
};
use model::what_if;
use plan::{CallMeasured, Measured, StageMeasured};
use runtime::Failure;

thread_local! {
    static FOLDER: Folder = Folder::new("choices");
}

/// Messages are for people.
const MESSAGE_MAX: usize = 4000;

/// Reads a profile, sets it beside another one, and prices the pipeline with it where it is its own. The
/// first byte says which part of the profile is used.
pub(crate) fn profile(bytes: &[u8]) {
    let (way, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("p.profile", file);
        let Some(profile) = read(Profile::read(&path)) else { return };
        let beside = profile.beside("a", ("b", &profile));
        assert!(beside.text().contains("records/s"));
        serde_json::to_string(&beside).expect("it is all numbers and text");
        profile.write(&folder.path().join("again")).expect("there is room");
        assert!(Profile::read(&folder.path().join("again")).is_ok(), "it is not read again");
        if profile.is_of(&COMPILED) {
            let workers = (way & 1 == 1).then_some(4);
            let epochs = u32::from(way >> 1 & 3);
            let profile = Some(profile);
            explained(&Circumstances { profile, workers, epochs, ..Circumstances::default() });
        }
    });
}

/// Reads a lock, and what it says for the pipeline.
pub(crate) fn lock(bytes: &[u8]) {
    FOLDER.with(|folder| {
        let path = folder.write("p.pipe.lock", bytes);
        let Some(lock) = read(Lock::read(&path)).flatten() else { return };
        let again = folder.write("again.lock", lock.text().as_bytes());
        let again = Lock::read(&again).unwrap_or_else(|it| panic!("{it}\n{}", lock.text()));
        let again = again.expect("it is there");
        assert!(lock.pipeline.keys().eq(again.pipeline.keys()), "{}", lock.text());
        for (chosen, again) in lock.pipeline.values().zip(again.pipeline.values()) {
            assert_eq!(
                (&chosen.plan, chosen.workers, &chosen.keep, &chosen.forbid),
                (&again.plan, again.workers, &again.keep, &again.forbid)
            );
            assert!((1..=1024).contains(&chosen.workers));
            let (lock, _) = chosen.clone().on_cores(3);
            let lock = Some(lock);
            explained(&Circumstances { lock, epochs: 2, ..Circumstances::default() });
        }
    });
}

/// Reads a host file, which is the same once it is written again, and plans for that machine.
pub(crate) fn host(bytes: &[u8]) {
    let (way, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("host.toml", file);
        let Some(host) = read(Host::load(&path)) else { return };
        let again = folder.path().join("again.toml");
        host.save(&again).expect("there is room");
        assert_eq!(Host::load(&again), Ok(host.clone()));
        assert!(host.memory_available() <= host.memory.total);
        for storage in &host.storage {
            let _ = host.storage_of(&storage.path);
            let _ = storage.sweep(Cache::Cold, Pattern::Files, 1 << 17);
        }
        let elsewhere = way & 1 == 1;
        let host = Some(host);
        explained(&Circumstances { host, elsewhere, epochs: 2, ..Circumstances::default() });
    });
}

/// Reads a list of classes: a class is a line of it.
pub(crate) fn classes(bytes: &[u8]) {
    FOLDER.with(|folder| {
        let path = folder.write("classes.txt", bytes);
        let program = format!(
            "edition 2026\n\npipeline p = range(3) |> map {{ c: class_of(\"a/b.jpg\", \"{}\") }}\n",
            path.display()
        );
        let loaded = Loaded::from_text(&folder.path().join("p.pipe"), program);
        let lines = str::from_utf8(bytes).ok().map(|it| {
            let text = it.trim_start_matches('\u{feff}').trim_end();
            text.lines().map(str::trim).collect::<Vec<_>>()
        });
        match driver::compile(&loaded, &Settings::default()) {
            Ok(compiled) => {
                let found = driver::classes(&compiled).unwrap_or_else(|it| panic!("{it}"));
                let found: Vec<&str> = found[0].names.iter().map(String::as_str).collect();
                assert_eq!(Some(found), lines);
            }
            Err(messages) => {
                let sound = |it: &Vec<&str>| {
                    let mut all = it.clone();
                    all.sort_unstable();
                    all.dedup();
                    !it.is_empty() && all.len() == it.len() && !it.contains(&"")
                };
                // What has a zero is no text.
                let is_text = !bytes.contains(&0);
                assert!(!(is_text && lines.as_ref().is_some_and(sound)), "{messages:?}");
            }
        }
    });
}

/// Plans for a machine that is not here: changes, the time of the consumer and the memory, a line each.
pub(crate) fn machine(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let changes = what_if::parse(lines.next().unwrap_or_default());
    let consumer = what_if::seconds(lines.next().unwrap_or_default());
    let memory = what_if::size(lines.next().unwrap_or_default()).map(|it| it as u64);
    let usable = |it: f64| it.is_finite() && it >= 0.0;
    assert!(consumer.is_none_or(usable), "{consumer:?}");
    match changes {
        Ok(changes) => {
            explained(&Circumstances { changes, consumer, memory, ..Circumstances::default() });
        }
        Err(why) => assert!(why.len() < MESSAGE_MAX + text.len()),
    }
}

/// What was read; a message names the file, and is for people.
fn read<T>(read: Result<T, Failure>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("pipec-fuzz-") && text.len() < MESSAGE_MAX, "{text}");
            None
        }
    }
}

/// Explains the pipeline as `explain` does.
fn explained(of: &Circumstances) {
    let compiled = COMPILED.clone().under(of);
    let Ok(view) = compiled.view(of, &mut |_| ()) else { return };
    let explanation = compiled.explanation(view);
    for text in [explanation.text(), explanation.short(), explanation.rewrites()] {
        assert!(!text.contains("NaN"), "{text}");
    }
    let observed = of.profile.as_ref().map(Profile::observed);
    assert!(explanation.html(observed.as_ref()).contains("</html>"));
}

/// A profile of the pipeline, and one of another.
pub(super) fn profiles() -> Vec<Vec<u8>> {
    let program = &COMPILED.program;
    let stages = program.stages.rows().iter().map(|it| StageMeasured {
        steps: it.steps.clone(),
        entered: 90,
        left: 80,
        bytes: 4096,
        filled: 70,
        elements: 90,
        cpu_ns: 5e6,
        serial_ns: 1e6,
        wall_ns: 6e6,
        spread: 0.25,
        tasks: 12,
        active: 0.5,
        held: 1.5,
        starved: 0.25,
        blocked: 0.125,
        reads: false,
        timed: 9,
        calls: vec![CallMeasured { node: 1, times: 9, busy_ns: 3e3, bytes: 72 }],
    });
    let measured = Measured { outputs: 20, stages: stages.collect() };
    let plan = driver::plan_hash(&COMPILED.written, &stdlib::library()).whole;
    let profile = serde_json::json!({
        "format": 1, "version": env!("CARGO_PKG_VERSION"), "pipeline": program.name,
        "plan": format!("{plan:032x}"), "program": program, "measured": measured,
        "workers": 2, "cores": 2, "seconds": 4.5, "outputs": 20, "records": 80,
        "process_seconds": 4.25, "others": 0.5, "stalled_seconds": 0.75, "stalls": [1, 2, 3, 4],
        "reads": 0, "bytes_read": 0, "kept": false, "settled": true,
    });
    // A value that is in no graph, and times that are none.
    let other = profile.to_string().replace("\"node\":1", "\"node\":900");
    let none = profile.to_string().replace("\"cpu_ns\":5000000.0", "\"cpu_ns\":-1e300");
    [profile.to_string(), other, none].iter().map(|it| [b"\0", it.as_bytes()].concat()).collect()
}

/// Locks of the pipeline, by hand and by `tune`.
pub(super) fn locks() -> Vec<Vec<u8>> {
    let plain = "format = 1\n[pipeline.p]\nplan = \"00ff\"\nworkers = 2\nkeep = []\n";
    let whole = "# What `pipec tune` has chosen.\nformat = 1\n\n[pipeline.\"p\"]\nplan = \"00ff\"\nworkers = 3\n\
                 keep = [\"p.map#1.x\"]\nforbid = [\"p.map#1\"]\n\n[pipeline.\"p\".found]\ncores = 2\n\
                 records_per_second = 12.5\npredicted = 1e3\nbottleneck = \"p.map#1\"\n\n\
                 [pipeline.\"p\".found.costs_us]\n\"p.map#1\" = 0.125\n";
    [plain, whole].iter().map(|it| it.as_bytes().to_vec()).collect()
}

/// Host files, assumed and measured.
pub(super) fn hosts() -> Vec<Vec<u8>> {
    let figure = "{ median = 1.25e9, min = 1e9, max = 2e9, runs = 7 }";
    let words = |it: &str| it.to_lowercase();
    let (medium, cold) =
        (words(&format!("{:?}", Medium::Solid)), words(&format!("{:?}", Cold::Direct)));
    let bandwidths = format!("threads = 2\nread = {figure}\nwrite = {figure}\ncopy = {figure}\n");
    let points =
        [1, 4].map(|it| format!("{{ threads = {it}, bandwidth = {figure}, latency = {figure} }}"));
    let measured = format!(
        "format = 1\n[measured]\nat = \"2026-11-20T16:11:19Z\"\nseconds = 9.5\nquick = false\npipec = \"0.1.0\"\n\
         load = 0.5\n[cpu]\nmodel = \"x\"\navailable = 1.5\nallowed = 2\nquota = 1.5\nlogical = 4\nphysical = 2\n\
         [memory]\ntotal = 8589934592\nlimit = 4294967296\n[memory.one_thread]\n{bandwidths}\
         [[storage]]\npath = \"/\"\nmount = \"/\"\nfile_system = \"ext4\"\ndevice = \"vda\"\nmedium = \"{medium}\"\n\
         total = 1000000\nfree = 1000\nfile = 4096\ncold = \"{cold}\"\nwrite = {figure}\n\
         [[storage.read]]\ncache = \"cold\"\npattern = \"files\"\nrequest = 131072\n\
         curve = {{ m1 = 1e8, b1 = 2.0, m2 = 0.0, b2 = 4e8, thresh = 4.0 }}\nenough = 4\npoints = [{}]\n",
        points.join(", ")
    );
    let assumed = "format = 1\n[cpu]\navailable = 2.0\nallowed = 2\nlogical = 2\nphysical = 1\n[memory]\n\
                   total = 1024\n";
    let all = [assumed, &measured];
    all.iter().flat_map(|it| [0, 1].map(|way| [&[way], it.as_bytes()].concat())).collect()
}

/// Lists of classes, sound and not.
pub(super) fn lists() -> Vec<Vec<u8>> {
    let all: [&[u8]; 6] = [
        b"cat\ndog\n a bird \n\n\n",
        "\u{feff}b\r\nb2\r\n\u{e9}".as_bytes(),
        b"cat\n\ndog\n",
        b"a\nb\na\n",
        b"f\xfcnf\n",
        b"",
    ];
    all.iter().map(|it| it.to_vec()).collect()
}

/// Changes of a machine, a time and a size.
pub(super) fn machines() -> Vec<Vec<u8>> {
    let all = [
        "cores=96, disk=500MB/s, memory=300GiB, memory-bandwidth=20GB/s, disk-cache=1TB, consumer=120ms\n2 min\n2GiB",
        "consumer=8000/s,cores=0.5\n500ms\n64 MiB",
        "memory=1e308TB,cores=1e308,disk=1B/s\n1e300ns\n1B",
        "consumer=1e-320/s\n0s\n",
        "gpus=8",
    ];
    all.iter().map(|it| it.as_bytes().to_vec()).collect()
}
