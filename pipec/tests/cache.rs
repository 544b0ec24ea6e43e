//! What is kept on disk is never wrong, whatever happens to it, and each thing that happens is told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Files, Folder, Printed};
use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

const PROGRAM: &str = "\
edition 2026

param data: path
param side = 24

pipeline p =
    files(\"{data}/**/*.jpg\")
    |> shuffle
    |> map { image: decode_jpeg(bytes) |> resize(side, side) else another, label: class_of(path), x: uniform(0.0, 1.0) }
    |> batch(8)
";

/// A folder with pictures, a program, and what the program gives.
struct Site {
    folder: Folder,
    whole: Files,
}

impl Site {
    fn new(name: &str) -> Self {
        let folder = Folder::of(&format!("cache-{name}"), &[("p.pipe", PROGRAM)]);
        folder.pipec(&["sample", "images", "data", "--count", "40"]).ends(0, &[]);
        let mut site = Self { folder, whole: Files::new() };
        site.plain();
        site
    }

    fn command(&self, more: &[&str]) -> Command {
        let base = ["run", "p.pipe", "--set", "data=data", "--epochs", "2"];
        let _ = fs::remove_dir_all(self.folder.join("out"));
        let mut command = self.folder.command(&[&base[..], &["--out", "out"], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What it gives without anything that is kept, from now on.
    fn plain(&mut self) {
        self.plain_with(&[]);
    }

    fn plain_with(&mut self, more: &[&str]) {
        self.run(&[more, &["--no-cache"]].concat(), None).ends(0, &[]);
        self.whole = self.folder.files("out");
    }

    fn run(&self, more: &[&str], whole: Option<&Files>) -> Printed {
        let ended = Printed::of(&self.command(more).output().unwrap());
        if let Some(whole) = whole {
            assert_eq!(ended.code, 0, "{ended:#?}");
            assert!(self.folder.files("out") == *whole, "other batches: {ended:#?}");
        }
        ended
    }

    /// Runs with what is kept on disk, and nothing in memory; the output must be as it was.
    fn kept(&self, more: &[&str]) -> Printed {
        let options = ["--cache", "kept", "--memory", "80MiB", "--json"];
        self.run(&[&options[..], more].concat(), Some(&self.whole))
    }

    /// The files of what is kept, of one kind.
    fn kept_files(&self, kind: &str) -> Vec<PathBuf> {
        let mut found: Vec<_> = common::files(&self.folder.join("kept")).into_keys().collect();
        found.retain(|it| it.ends_with(kind));
        found.iter().map(|it| self.folder.join("kept").join(it)).collect()
    }
}

/// A number of the summary of what is kept on disk.
fn figure(of: &Printed, name: &str) -> u64 {
    let disk = of.out.split_once("\"disk\": {").unwrap_or_else(|| panic!("{of:#?}")).1;
    let after = disk.split_once(&format!("\"{name}\": ")).unwrap().1;
    after.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[track_caller]
fn says(of: &Printed, part: &str) {
    let said: Vec<_> = of.err.split_whitespace().collect();
    assert!(said.join(" ").contains(part), "no `{part}` in {}", of.err);
}

#[test]
fn a_later_run_decodes_nothing() {
    let site = Site::new("later");
    let first = site.kept(&[]);
    assert_eq!((figure(&first, "written"), figure(&first, "entries")), (40, 40), "{first:#?}");
    // With another number of threads and of epochs it stands where it stood.
    let later = site.kept(&["--workers", "1", "--chunk-rows", "3"]);
    assert_eq!((figure(&later, "hits"), figure(&later, "written")), (80, 0), "{later:#?}");
    assert!(later.out.contains("\"misses\": 0"), "{later:#?}");
    let other_seed = site.run(&["--cache", "kept", "--seed", "9", "--json"], None);
    assert!(figure(&other_seed, "hits") >= 40, "{other_seed:#?}");
    site.folder.pipec(&["cache", "verify", "kept"]).ends(0, &[]);
    let listed = site.folder.pipec(&["cache", "ls", "kept"]);
    assert!(listed.out.contains("for `p`") && listed.out.contains("1 address"), "{listed:#?}");
    let why = site.folder.pipec(&["cache", "why", "p.pipe", "p", "kept", "--set", "data=data"]);
    assert!(why.out.contains("found: 40 values"), "{why:#?}");
}

#[test]
fn killed_runs_leave_nothing_wrong() {
    let site = Site::new("killed");
    let begin = Instant::now();
    site.kept(&[]);
    let took = begin.elapsed();
    let mut kills = 0;
    for round in 0..12_u64 {
        if round % 4 == 0 {
            let _ = fs::remove_dir_all(site.folder.join("kept"));
        }
        let mut child = site.command(&["--cache", "kept", "--memory", "300MiB"]).spawn().unwrap();
        thread::sleep(Duration::from_micros(took.as_micros() as u64 * (round * 37 % 100) / 100));
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
        let ended = site.kept(&[]);
        assert_eq!(figure(&ended, "damaged"), 0, "{ended:#?}");
        site.folder.pipec(&["cache", "verify", "kept"]).ends(0, &[]);
    }
    assert!(kills > 0, "none was killed in time");
}

#[test]
fn prepare_fills_what_runs_read() {
    let site = Site::new("prepare");
    let prepare = |more: &[&str]| {
        let base = ["prepare", "p.pipe", "--set", "data=data", "--epochs", "2", "--cache", "kept"];
        let options = ["--memory", "80MiB", "--json"];
        site.folder.pipec(&[&base[..], &options, more].concat())
    };
    let all = prepare(&[]);
    all.ends(0, &["`resize` (p.map#1): 40 values are cached"]);
    let of = |it: &Printed| serde_json::from_str::<serde_json::Value>(&it.out).unwrap()[0].clone();
    assert_eq!((&of(&all)["written"], &of(&all)["values"]), (&40.into(), &40.into()), "{all:#?}");
    let later = site.kept(&[]);
    assert_eq!((figure(&later, "hits"), figure(&later, "written")), (80, 0), "{later:#?}");
    assert!(later.out.contains("\"misses\": 0"), "{later:#?}");
    prepare(&[]).ends(0, &["40 values are cached", "nothing to compute"]);
    // What does not fit is told, and left to the runs.
    fs::remove_dir_all(site.folder.join("kept")).unwrap();
    prepare(&["--cache-limit", "50kB"])
        .ends(0, &["of 40 values are cached", "the size limit is reached"]);
    // Nothing would be read from it.
    prepare(&["--disable-pass", "nothing"]).ends(2, &["nothing"]);
    let once = ["prepare", "p.pipe", "--set", "data=data", "--cache", "p.pipe"];
    site.folder.pipec(&once).ends(5, &["p.pipe"]);
}

#[test]
fn prepare_caches_what_is_named_and_so_do_runs() {
    let mut site = Site::new("prepare-keep");
    let prepare = |site: &Site, keep: &[&str]| {
        let base = ["prepare", "p.pipe", "--set", "data=data", "--cache", "kept", "--json"];
        site.folder.pipec(&[&base[..], keep].concat())
    };
    // Where all of an image is used, there is no index.
    prepare(&site, &["--keep", "index"]).ends(1, &["no step uses a part of an image only"]);
    site.folder
        .write("p.pipe", &PROGRAM.replace("resize(side, side)", "random_resized_crop(side)"));
    site.plain();
    let index = prepare(&site, &["--keep", "index"]);
    index.ends(0, &["`jpeg_index` (p.map#1): 40 values are cached"]);
    let of = |it: &Printed| serde_json::from_str::<serde_json::Value>(&it.out).unwrap();
    let files = common::files(&site.folder.join("data"));
    let files: usize = files.values().map(Vec::len).sum();
    let bytes = of(&index)[0]["bytes"].as_u64().unwrap() as f64;
    assert!(bytes > 0.0 && bytes < 0.06 * files as f64, "{bytes} {files}");
    // The first epoch finds all of it, and nothing else is cached, whatever would be best.
    for more in [&["--epochs", "1"][..], &["--epochs", "9"]] {
        let run = ["run", "p.pipe", "--set", "data=data", "--cache", "kept", "--json"];
        let later = site.folder.pipec(&[&run[..], more].concat());
        later.ends(0, &[]);
        let kept = of(&later)["kept"].clone();
        assert_eq!(kept.as_array().unwrap().len(), 1, "{later:#?}");
        assert_eq!((&kept[0]["function"], &kept[0]["misses"]), (&"jpeg_index".into(), &0.into()));
    }
    let later = site.kept(&[]);
    assert_eq!((figure(&later, "hits"), figure(&later, "written")), (80, 0), "{later:#?}");
    let why = ["cache", "why", "p.pipe", "p", "kept", "--set", "data=data", "--epochs", "9"];
    let told = site.folder.pipec(&why);
    told.ends(0, &[]);
    let part = "`prepare --keep` caches only `p.map#1.jpeg_index`";
    assert!(told.out.contains(part) && told.out.contains("found: 40 values"), "{told:#?}");
    // Another value in its place; then whatever is best.
    let value = prepare(&site, &["--keep", "p.map#1.decode_jpeg", "--epochs", "9"]);
    value.ends(0, &["`decode_jpeg` (p.map#1): 40 values are cached"]);
    let told = site.folder.pipec(&why);
    assert!(told.out.contains("caches only `p.map#1.decode_jpeg`"), "{told:#?}");
    prepare(&site, &["--epochs", "9"]).ends(0, &[]);
    assert!(!site.folder.pipec(&why).out.contains("caches only"));
    // What cannot be kept, with what can.
    let names =
        "the values are `p.files#1.with#1.read_file`, `p.map#1.decode_jpeg`, `p.map#1.jpeg_index`";
    let other = prepare(&site, &["--keep", "index", "--keep", "flip"]);
    other.ends(1, &["`--keep flip`: it is not a value of this pipeline", names]);
    let drawn = prepare(&site, &["--keep", "resize"]);
    drawn.ends(1, &["`--keep resize`: it cannot be cached: ", "draws again in every epoch", names]);
}

#[test]
fn what_the_usual_plan_makes_in_part_can_be_cached_whole() {
    let mut site = Site::new("whole");
    let cropped = "resize_short(256) |> random_crop(side)";
    let cropped = PROGRAM.replace("resize(side, side) else another", cropped);
    site.folder.write("p.pipe", &cropped);
    site.plain();
    let explain = |more: &[&str]| {
        let base = ["explain", "p.pipe", "--set", "data=data", "--epochs", "90"];
        site.folder.pipec(&[&base[..], more].concat())
    };
    let table = explain(&["--strategies"]);
    assert!(table.out.contains(">  resize in memory"), "{table:#?}");
    assert!(table.out.contains("jpeg_index in memory"), "{table:#?}");
    let rewrites = explain(&["--rewrites"]);
    assert!(rewrites.out.contains("what is cached has to be whole"), "{rewrites:#?}");
    // On disk, by name, in whichever plan has it; and by a lock, which may exclude it as well.
    let prepare = ["prepare", "p.pipe", "--set", "data=data", "--cache", "kept"];
    let named = |name: &str| site.folder.pipec(&[&prepare[..], &["--keep", name]].concat());
    named("resize").ends(0, &["`resize` (p.map#1): 40 values are cached"]);
    let later = site.kept(&[]);
    assert_eq!((figure(&later, "hits"), figure(&later, "written")), (80, 0), "{later:#?}");
    named("resise").ends(1, &["it is not a value of this pipeline", "`p.map#1.resize`"]);
    let why = ["cache", "why", "p.pipe", "p", "kept", "--set", "data=data"];
    let told = site.folder.pipec(&why);
    assert!(told.out.contains("resize") && told.out.contains("found: 40 values"), "{told:#?}");
    fs::remove_dir_all(site.folder.join("kept")).unwrap();
    let tune = ["tune", "p.pipe", "--set", "data=data", "--seconds", "1s"];
    site.folder.pipec(&tune).ends(0, &[]);
    let path = site.folder.join("p.pipe.lock");
    let lock = fs::read_to_string(&path).unwrap();
    let (head, found) = lock.split_once("[pipeline.\"p\".found]").unwrap();
    let head = head.split("\n[[").next().unwrap();
    let head: Vec<&str> =
        head.lines().filter(|it| !it.starts_with("keep") && !it.starts_with("forbid")).collect();
    let write = |what: &str| {
        let head = head.join("\n");
        fs::write(&path, format!("{head}\n{what}\n[pipeline.\"p\".found]{found}")).unwrap();
    };
    write("keep = [\"p.map#1.resize\"]");
    let locked = site.run(&["--locked", "--json", "--memory", "1GiB"], Some(&site.whole));
    assert!(locked.out.contains("\"function\": \"resize\""), "{locked:#?}");
    // A saved state is one of each plan.
    let saved = ["--locked", "--state", "state"];
    site.run(&[&saved[..], &["--limit", "7", "--memory", "1GiB"]].concat(), None).ends(0, &[]);
    let run = ["run", "p.pipe", "--set", "data=data", "--epochs", "2", "--out", "out"];
    site.folder.pipec(&[&run[..], &saved, &["--no-cache"]].concat()).ends(0, &[]);
    assert!(site.folder.files("out") == site.whole, "other batches");
    write("forbid = [\"p.map#1.resize\"]");
    let locked = site.run(&["--locked", "--json", "--memory", "1GiB"], Some(&site.whole));
    assert!(!locked.out.contains("\"function\": \"resize\""), "{locked:#?}");
    write("forbid = [\"p.map#1.resise\"]");
    let locked = site.run(&["--locked"], None);
    assert!(locked.code != 0, "{locked:#?}");
    says(&locked, "the lock file names `p.map#1.resise`, which is not a value of this pipeline");
}

#[test]
fn prepare_goes_on_where_it_was_killed() {
    let site = Site::new("prepare-killed");
    let base = ["prepare", "p.pipe", "--set", "data=data", "--epochs", "2", "--cache", "kept"];
    let mut kills = 0;
    for round in 0..8_u64 {
        if round % 4 == 0 {
            let _ = fs::remove_dir_all(site.folder.join("kept"));
        }
        let mut child = site.folder.command(&base).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(10 + round * 7));
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
        site.folder.pipec(&["cache", "verify", "kept"]);
    }
    assert!(kills > 0, "none was killed in time");
    site.folder.pipec(&base).ends(0, &["40 values are cached"]);
    site.folder.pipec(&["cache", "verify", "kept"]).ends(0, &[]);
    let later = site.kept(&[]);
    assert_eq!((figure(&later, "hits"), figure(&later, "written")), (80, 0), "{later:#?}");
}

#[test]
fn flipped_bytes_are_computed_anew_and_told() {
    let site = Site::new("flipped");
    site.kept(&[]);
    // Each in another value: what was damaged is written anew, elsewhere.
    for (kind, places) in [(".idx", [0, 500, 4100]), (".seg", [5000, 30_000, 60_000])] {
        for at in places {
            let file = &site.kept_files(kind)[0];
            let mut bytes = fs::read(file).unwrap();
            bytes[at] ^= 1;
            fs::write(file, bytes).unwrap();
            let found = site.folder.pipec(&["cache", "verify", "kept"]);
            found.ends(5, &["damaged"]);
            assert!(found.out.contains("1 value is damaged, 39 values are sound"), "{found:#?}");
            let ended = site.kept(&[]);
            assert_eq!(figure(&ended, "damaged"), 1, "{kind} {at}: {ended:#?}");
            says(&ended, "was damaged and recomputed");
            let again = site.kept(&[]);
            assert_eq!(figure(&again, "damaged"), 0, "{kind} {at}: {again:#?}");
        }
    }
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let site = Site::new("two");
    let begin = |out: &str| {
        let out = site.folder.join(out).display().to_string();
        let more = ["--cache", "kept", "--memory", "300MiB", "--json"];
        let base = ["run", "p.pipe", "--set", "data=data", "--epochs", "2", "--out", &out];
        let mut command = site.folder.command(&[&base[..], &more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [begin("one"), begin("two")];
    let ended = both.map(|it| Printed::of(&it.wait_with_output().unwrap()));
    for (ended, out) in ended.iter().zip(["one", "two"]) {
        assert_eq!(ended.code, 0, "{ended:#?}");
        assert!(site.folder.files(out) == site.whole, "other batches in {out}");
    }
    let written: Vec<_> = ended.iter().map(|it| figure(it, "written")).collect();
    // Each writes what neither has written yet, as far as it knows.
    assert!((40..=80).contains(&written.iter().sum::<u64>()), "{written:?}");
    site.folder.pipec(&["cache", "verify", "kept"]).ends(0, &[]);
    assert_eq!(figure(&site.kept(&[]), "written"), 0);
}

#[test]
fn ranks_fill_one_cache_together() {
    let site = Site::new("ranks");
    let run = |seed: &str| {
        let begin = |rank: &str| {
            let base = ["run", "p.pipe", "--set", "data=data", "--cache", "kept", "--json"];
            let ranks = ["--seed", seed, "--world-size", "2", "--rank", rank];
            let mut command = site.folder.command(&[&base[..], &ranks].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        [begin("0"), begin("1")].map(|it| {
            let ended = Printed::of(&it.wait_with_output().unwrap());
            assert_eq!(ended.code, 0, "{ended:#?}");
            ["written", "hits"].map(|it| figure(&ended, it))
        })
    };
    // Each has two batches of five, and makes the values of their records.
    assert_eq!(run("0").map(|it| it[0]), [16, 16]);
    // In another order they find what the other one has made; eight records are new.
    let [first, second] = run("1");
    let [written, hits] = [first[0] + second[0], first[1] + second[1]];
    assert!(written <= 8 && written + hits == 32, "{first:?} {second:?}");
}

#[test]
fn changed_inputs_are_seen_and_told() {
    let mut site = Site::new("changed");
    site.kept(&[]);
    let mut pictures: Vec<_> = common::files(&site.folder.join("data")).into_keys().collect();
    pictures.retain(|it| it.ends_with(".jpg"));
    let picture = |i: usize| site.folder.join("data").join(&pictures[i]);
    // Another picture in its place, which tells by its size.
    fs::copy(picture(0), picture(1)).unwrap();
    site.plain();
    says(&site.kept(&[]), "inputs have changed: now 40 files, ");
    // The time alone.
    let file =
        File::options().append(true).open(site.folder.join("data").join(&pictures[2])).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(5)).unwrap();
    let ended = site.kept(&[]);
    says(&ended, "inputs have changed: files were written or renamed");
    assert_eq!(figure(&ended, "written"), 40);
    // Neither size nor time: who asks for the contents sees it.
    let path = site.folder.join("data").join(&pictures[3]);
    let (time, mut bytes) =
        (fs::metadata(&path).unwrap().modified().unwrap(), fs::read(&path).unwrap());
    site.kept(&["--verify-inputs"]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    site.plain();
    says(&site.kept(&["--verify-inputs"]), "inputs have changed: files were written or renamed");
}

#[test]
fn changed_parameters_are_seen_and_told() {
    let mut site = Site::new("parameter");
    site.kept(&[]);
    site.plain_with(&["--set", "side=16"]);
    let ended = site.kept(&["--set", "side=16"]);
    says(&ended, "it is computed differently: the pipeline or a parameter has changed");
    // All but those that were asked for again before they were written.
    assert!(figure(&ended, "hits") > 20, "{ended:#?}");
    assert_eq!(figure(&site.kept(&["--set", "side=16"]), "hits"), 80);
}

#[test]
fn the_bound_is_kept_and_told() {
    let site = Site::new("bound");
    let ended = site.kept(&["--cache-limit", "50kB"]);
    says(&ended, "on disk stopped: the size limit is reached");
    let used: usize = common::files(&site.folder.join("kept")).values().map(Vec::len).sum();
    assert!(used <= 50_000 && figure(&ended, "written") > 10, "{used} bytes: {ended:#?}");
    site.folder.pipec(&["cache", "gc", "kept", "--max", "1kB"]).ends(0, &["1 address removed"]);
    assert!(site.kept_files(".seg").is_empty());
}

/// A lock may name a value that only another plan of the pipeline has: it is said why that cannot be kept.
#[test]
fn a_lock_may_name_a_value_of_another_plan() {
    let text = "pipeline p = files(\"sample:images?count=40\") |> map { image: decode_jpeg(bytes) |> resize(64, 64) \
                |> random_crop(32) } |> batch(8)";
    let folder = Folder::of("other-plan", &[("p.pipe", text)]);
    folder.pipec(&["tune", "p.pipe", "--seconds", "2s"]).ends(0, &[]);
    let path = folder.join("p.pipe.lock");
    let lock = fs::read_to_string(&path).unwrap();
    let (head, found) = lock.split_once("\n[pipeline.\"p\".found]").unwrap();
    let head = head.split("\nkeep").next().unwrap();
    let keep = "[[pipeline.p.keep]]\nvalue = \"p.map#1.resize\"\ntier = \"both\"\ncodec = \"none\"\nshare = 1.0\n";
    fs::write(&path, format!("{head}\n{keep}\n[pipeline.\"p\".found]{found}")).unwrap();
    let run = ["run", "p.pipe", "--epochs", "5"];
    folder
        .pipec(&run)
        .ends(1, &["caches `p.map#1.resize` on disk", "name the folder with `--cache DIR`"]);
    let kept = folder.pipec(&[&run[..], &["--cache", "kept", "--json"]].concat());
    kept.ends(0, &[]);
    assert!(kept.out.contains("\"function\": \"resize\""), "{kept:#?}");
}

/// What a lock says is done, in whatever form, and the output is the same.
#[test]
fn a_lock_says_where_and_how_values_are_cached() {
    let site = Site::new("forms");
    let tune = ["tune", "p.pipe", "--set", "data=data", "--epochs", "5", "--strategies"];
    let tuned = site.folder.pipec(&[&tune[..], &["--cache", "kept", "--seconds", "4s"]].concat());
    tuned.ends(0, &[]);
    assert!(
        tuned.out.contains("nothing") && tuned.err.contains("a sample of 40 records"),
        "{tuned:#?}"
    );
    let path = site.folder.join("p.pipe.lock");
    let lock = fs::read_to_string(&path).unwrap();
    let (head, rest) = lock.split_once("\n[[").unwrap_or_else(|| panic!("{lock}"));
    let found = rest.split_once("[pipeline.\"p\".found]").unwrap().1;
    let with = |forms: &[(&str, &str, f64)]| {
        let one = |(tier, codec, share): &(&str, &str, f64)| {
            format!(
                "[[pipeline.p.keep]]\nvalue = \"p.map#1.decode_jpeg\"\ntier = \"{tier}\"\ncodec = \"{codec}\"\n\
                 share = {share:?}\n"
            )
        };
        let forms: String = forms.iter().map(one).collect();
        fs::write(&path, format!("{head}\n{forms}\n[pipeline.\"p\".found]{found}")).unwrap();
    };
    for (forms, on_disk) in [
        (&[("memory", "lz4", 1.0)][..], false),
        (&[("memory", "none", 0.4), ("memory", "zstd3+delta", 0.6)], false),
        (&[("disk", "zstd1", 1.0)], true),
        (&[("disk", "lz4+delta", 0.5), ("disk", "none", 0.5)], true),
        (&[("both", "zstd9", 0.5), ("disk", "zstd9", 0.5)], true),
    ] {
        with(forms);
        let _ = fs::remove_dir_all(site.folder.join("kept"));
        let cache: &[&str] = if on_disk { &["--cache", "kept"] } else { &[] };
        let options = [&["--locked", "--json"], cache].concat();
        for again in [false, true] {
            let ended = site.run(&options, Some(&site.whole));
            let hits = if on_disk { figure(&ended, "hits") } else { 0 };
            assert!(!(on_disk && again) || hits >= 40, "{forms:?}: {ended:#?}");
            assert!(ended.out.contains("\"function\": \"decode_jpeg\""), "{forms:?}: {ended:#?}");
        }
    }
    // What cannot be done is refused by name.
    let refused = |lock: (&str, &str, f64), options: &[&str], why: &str| {
        with(&[lock]);
        let ended = site.run(&[&["--locked"], options].concat(), None);
        assert!(ended.code != 0, "{ended:#?}");
        says(&ended, why);
    };
    refused(("disk", "lz4", 1.0), &[], "name the folder with `--cache DIR`");
    refused(("disk", "gzip", 1.0), &["--cache", "kept"], "unknown codec `gzip`");
    refused(("memory", "lz4", 1.2), &[], "expected 0 to 1");
}

#[test]
fn what_the_system_holds_is_used_where_it_lies() {
    let mut site = Site::new("in-place");
    let large = ["--set", "side=128"];
    site.plain_with(&large);
    site.kept(&large);
    for workers in ["1", "3"] {
        let again = site.kept(&[&large[..], &["--workers", workers]].concat());
        assert_eq!((figure(&again, "hits"), figure(&again, "damaged")), (80, 0), "{again:#?}");
    }
    // Another program empties the file while it is used: that is said. In a moment in which nothing is used, its values
    // are found to be damaged instead, and are computed anew: then again.
    let base = ["run", "p.pipe", "--set", "data=data", "--set", "side=128", "--epochs", "10000"];
    let more = ["--cache", "kept", "--memory", "80MiB"];
    let emptied = || {
        let mut command = site.folder.command(&[&base[..], &more].concat());
        let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(700));
        site.kept_files(".seg").iter().for_each(|it| fs::write(it, b"").unwrap());
        Printed::of(&run.wait_with_output().unwrap())
    };
    let mut ended = emptied();
    for _ in 0..3 {
        if ended.code == 0 {
            assert!(ended.err.contains("were damaged and recomputed"), "{ended:#?}");
            ended = emptied();
        }
    }
    assert_eq!(ended.code, 5, "{ended:#?}");
    assert!(ended.err.contains("another program has changed"), "{ended:#?}");
    let again = site.kept(&large);
    assert!(figure(&again, "damaged") > 0, "{again:#?}");
    assert_eq!(figure(&site.kept(&large), "damaged"), 0);
}
