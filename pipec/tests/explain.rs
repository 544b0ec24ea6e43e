//! The forms of `pipec explain`: a graph, a page, two profiles beside each other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;

/// A program over numbers: nothing need be read.
const NUMBERS: &str = "\
edition 2026

pipeline train = range(1_000_000_000) |> map { x: f32(i) * 0.5 } |> shuffle(window: 100) |> batch(64)
pipeline plain = range(1_000_000_000) |> map { x: f32(i) * 0.5 } |> batch(64)
";

#[test]
fn a_plan_is_drawn() {
    let folder = Folder::of("explain-drawn", &[("n.pipe", NUMBERS)]);
    let dot = folder.pipec(&["explain", "n.pipe", "train", "--dot"]);
    dot.ends(0, &[]);
    assert!(
        dot.out.starts_with("digraph \"train\" {\n") && dot.out.ends_with("}\n"),
        "{}",
        dot.out
    );
    assert!(dot.out.contains("-> consumer"), "{}", dot.out);

    let page = folder.pipec(&["explain", "n.pipe", "train", "--html", "-"]);
    page.ends(0, &[]);
    assert!(page.out.starts_with("<!DOCTYPE html>") && !page.out.contains("http"));
    folder.pipec(&["explain", "n.pipe", "train", "--html", "p.html"]).ends(0, &["`p.html`"]);
    assert_eq!(folder.read("p.html"), page.out);
}

#[test]
fn two_profiles_are_compared() {
    let folder = Folder::of("explain-compare", &[("n.pipe", NUMBERS)]);
    for pipeline in ["train", "plain"] {
        folder.pipec(&["profile", "n.pipe", pipeline, "--seconds", "200ms"]).ends(0, &[]);
    }
    let both = ["explain", "--compare", "train.profile", "plain.profile"];
    let compared = folder.pipec(&both);
    compared.ends(0, &[]);
    for part in ["A  train of train.profile", "only in A  train.range#1", "limits B", "records/s"] {
        assert!(compared.out.contains(part), "no `{part}` in:\n{}", compared.out);
    }
    let json = folder.pipec(&[&both[..], &["--json"]].concat());
    assert!(json.out.contains("\"only_a\": [\n"), "{}", json.out);

    // What was measured is drawn too.
    let args = ["explain", "n.pipe", "train", "--profile", "train.profile", "--html", "-"];
    let page = folder.pipec(&args);
    page.ends(0, &[]);
    assert!(page.out.contains("Waits of the consumer") && !page.out.contains("Not counted"));
    // A profile of a pipec that did not count waits.
    let old = folder.read("train.profile");
    let (from, to) = (old.find("\"stalls\"").unwrap(), old.find("\"reads\":").unwrap());
    let to = if from < to { to } else { old.rfind("\"reads\":").unwrap() };
    folder.write("train.profile", &[&old[..from], &old[to..]].concat());
    assert!(folder.pipec(&args).out.contains("Not counted"));
}

#[test]
fn waits_of_the_consumer_are_counted() {
    let folder = Folder::of("explain-stalls", &[("n.pipe", NUMBERS)]);
    let run = folder.pipec(&["run", "n.pipe", "plain", "--limit", "1000", "--json"]);
    run.ends(0, &[]);
    let counts = run.out.split("\"stalls\": [").nth(1).unwrap().split(']').next().unwrap();
    let counts: Vec<u64> = counts.split(',').map(|it| it.trim().parse().unwrap()).collect();
    assert!(counts.len() == 4 && counts.iter().sum::<u64>() > 0, "{counts:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::of("explain-refused", &[("n.pipe", NUMBERS)]);
    let explain = |args: &[&str]| folder.pipec(&[&["explain"], args].concat());
    explain(&[]).ends(2, &["FILE|CODE"]);
    explain(&["n.pipe", "train", "--verbose", "--json"]).ends(2, &["--verbose", "--json"]);
    explain(&["n.pipe", "train", "--dot", "--json"]).ends(2, &["--dot", "--json"]);
    explain(&["n.pipe", "train", "--dot", "--html", "-"]).ends(2, &["--html", "--dot"]);
    explain(&["--compare", "a.profile"]).ends(2, &["--compare", "2 values"]);
    explain(&["n.pipe", "--compare", "a", "b"]).ends(2, &["--compare"]);
    explain(&["--compare", "none.profile", "n.pipe"]).ends(5, &["`none.profile`"]);
    explain(&["--compare", "n.pipe", "n.pipe"]).ends(5, &["`n.pipe`", "not a profile"]);
    explain(&["n.pipe", "train", "--html", "none/p.html"]).ends(5, &["`none/p.html`"]);
}

/// Steps between 1,000 records and batches of 128, and what is said of the last records.
#[test]
fn records_that_make_no_batch_are_those_that_reach_it() {
    let folder = Folder::of("explain-dropped", &[]);
    (0..1000).for_each(|it| folder.write(&format!("{it}.txt"), "x"));
    let explained = |source: &str, steps: &str| {
        folder.write("p.pipe", &format!("pipeline p = {source} {steps} |> batch(128)\n"));
        let printed = folder.pipec(&["explain", "p.pipe", "--verbose"]);
        printed.ends(0, &[]);
        printed.out
    };
    let range = |steps: &str| explained("range(1000)", steps);
    let files = |steps: &str| explained("files(\"*.txt\")", steps);
    let told = |out: &str, said: &str| assert!(out.contains(said), "no `{said}` in:\n{out}");
    told(&range("|> where i % 100 >= 2"), "the last 84 of 980 records");
    told(&range("|> shuffle |> where i % 100 >= 2 |> map { x: i }"), "the last 84 of 980");
    told(&range("|> where i % 100 >= 2 |> skip(10)"), "the last 74 of 970 records");
    told(&range("|> where i % 2 == 0 |> take(200)"), "the last 72 of 200 records");
    told(&range("|> where i % 100 >= 2 |> repeat(3)"), "the last 124 of 2,940 records");
    told(&range("|> where i % 100 >= 2 |> flat_map [{ i }, { i }]"), "the last 40 of 1,960");
    let short = folder.pipec(&["explain", "p.pipe"]).out;
    told(&short, "keep the last 40 of 1,960 records: `tail: keep` (2% of the work is wasted)");
    // The numbers of another epoch are others.
    told(&range("|> where uniform() < 0.9"), "the last ~");
    told(&range("|> shuffle |> take(500) |> where i % 3 > 0"), "the last ~");
    // Of what fails nobody knows how much it will be.
    told(&range("|> map { x: 12 // (i + 1) } else skip"), "the last ~104 of ~1,000 records");

    // Files are not read to know what their paths say.
    folder.write(
        "all.pipe",
        "pipeline p = files(\"*.txt\") |> where hash(path) % 100 >= 2 |> map { n: len(bytes) }\n",
    );
    let run = folder.pipec(&["run", "all.pipe", "--json"]);
    let n = run.out.split("\"records\": ").nth(1).unwrap();
    let n: u64 = n.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().unwrap();
    assert!(n < 1000 && n > 900, "{n}");
    let paths = files("|> where hash(path) % 100 >= 2 |> shuffle |> map { n: len(bytes) }");
    told(&paths, &format!("the last {} of {n} records", n % 128));
    // What has to be read is not known.
    let read = files("|> where len(bytes) > 0 |> map { n: len(bytes) }");
    assert!(!read.contains("the last "), "{read}");
    let json = folder.pipec(&["explain", "p.pipe", "--json"]).out;
    assert!(json.contains("\"dropped\": []"), "{json}");
}

#[test]
fn an_explanation_fits_on_a_screen_and_answers_what_is_asked() {
    let text = "pipeline p = range(1_000) |> shuffle \
        |> map { x: resize(plasma(i, 48, 48), 16, 16), y: coin(0.5) } |> batch(128)\n";
    let folder = Folder::of("explain-short", &[("p.pipe", text)]);
    let explain = |more: &[&str]| {
        let printed = folder.pipec(&[&["explain", "p.pipe", "--workers", "2"], more].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let told = |out: &str, said: &str| assert!(out.contains(said), "no `{said}` in:\n{out}");
    let short = explain(&[]);
    assert!(short.lines().count() < 24, "{short}");
    for part in [
        "bottleneck: plasma in p.map#1, ",
        "\n> map ",
        "permutation of the index, no buffer",
        "limits       CPU: ~",
        "suggestions  4 cores: ~",
        "keep the last 104 of 1,000 records",
        "run `pipec profile`. More: --verbose",
    ] {
        told(&short, part);
    }
    // Numbers are as people write them, and steps as they are called in the text.
    assert!(!short.contains(" %") && !short.contains("p.shuffle#1"), "{short}");
    let verbose = explain(&["--verbose"]);
    assert!(verbose.lines().count() > short.lines().count(), "{verbose}");
    told(&verbose, "p.shuffle#1");
    told(&verbose, "location");

    told(&explain(&["--step-time", "10s"]), "the training step (10 s per batch) is slower");
    told(&explain(&["--step-time", "1us"]), "waits for data ");
    let cached = explain(&["--epochs", "9"]);
    told(&cached, "cached ");
    told(&cached, "warm epochs  ~");
    told(&cached, " once values are cached\n");
    told(&explain(&["--what-if", "cores=96"]), " on 96 cores\n");
    told(&explain(&["--analyze"]), " records/s measured ");
}

#[test]
fn memory_for_too_few_batches_is_named_with_what_helps() {
    let text = "pipeline p = range(1000) |> map { x: full([3, 224, 224], f32(i)) } |> batch(32)";
    let folder = Folder::of("explain-room", &[("p.pipe", text)]);
    let explained = |machine: &str, told: &[&str]| {
        let found = folder.pipec(&["explain", "p.pipe", "--what-if", machine]);
        found.ends(0, &[]);
        told.iter().for_each(|it| assert!(found.out.contains(it), "{it}: {}", found.out));
    };
    // Two batches of 32 records are 64 pieces for 96 cores.
    let short = ["bottleneck: memory for 2 batches of 19 MB at a time\n", "`--memory 200MB`: "];
    explained("cores=96,memory=100MB", &short);
    explained("cores=96,memory=1GB", &["bottleneck: full in p.map#1"]);
}

#[test]
fn what_is_cached_where_follows_from_the_cores_and_the_disk() {
    // Pictures of 270 kB that take ~566 µs, of files of ~105 kB on the same disk of 1 GB/s, and no memory for them.
    let text = "pipeline p = files(\"sample:images?count=64\") |> map { image: decode_jpeg(bytes) |> resize(300) }";
    let folder = Folder::of("explain-strategies", &[("p.pipe", text)]);
    let explain = |machine: &str, more: &[&str]| {
        let args = ["explain", "p.pipe", "--epochs", "90", "--cache", "kept", "--strategies"];
        let machine = format!("{machine},disk=1GB/s,memory=100MB");
        let printed = folder.pipec(&[&args[..], &["--what-if", &*machine], more].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let chosen = |cores: u32| -> (f64, f64, f64) {
        let found = explain(&format!("cores={cores}"), &["--json"]);
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let rows = found["rows"].as_array().unwrap();
        let row = rows.iter().find(|it| it["chosen"] == true).unwrap();
        let share = row["kept"].get(0).map_or(0.0, |it| it["disk"].as_f64().unwrap());
        let nothing = rows.iter().find(|it| it["kept"].as_array().unwrap().is_empty()).unwrap();
        let figure = |row: &serde_json::Value, of: &str| row[of].as_f64().unwrap();
        // The disk gives no more than it can, of what it is asked for.
        let asked = figure(row, "disk_bytes") / 64.0 * figure(row, "rate");
        assert!(asked < 1.01e9, "{row}");
        (share, figure(row, "rate"), figure(nothing, "rate"))
    };
    // Two cores and the disk are both busy if some are cached.
    let (share, rate, plain) = chosen(2);
    assert!(share > 0.2 && share < 0.8 && rate > 1.3 * plain, "{share} {rate} {plain}");
    // More cores compute them faster than the disk gives them.
    for cores in [8, 96] {
        let (share, rate, plain) = chosen(cores);
        assert!(share == 0.0 && rate == plain, "{cores} {share} {rate} {plain}");
    }
    let table = explain("cores=2", &[]);
    for part in ["\n>  resize ", "\n   nothing ", "\nbottleneck  ", " cores or more: nothing\n"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let csv = explain("cores=2", &["--csv"]);
    let columns = csv.lines().map(|it| it.rsplit('"').next().unwrap().split(',').count());
    assert!(csv.lines().count() > 2 && columns.skip(1).all(|it| it == 11), "{csv}");
    folder.pipec(&["explain", "p.pipe", "--csv"]).ends(2, &["--strategies"]);
    let page = explain("cores=2", &["--html", "-"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.matches("<svg").count() == 1, "{page}");
    assert!(page.contains("class=\"ring\"") && page.contains(">resize "), "{page}");
    let both = ["explain", "p.pipe", "--strategies", "--html", "s.html"];
    folder.pipec(&both).ends(0, &["`s.html`", "one epoch reads each record once"]);
    assert_eq!(folder.read("s.html").matches("<svg").count(), 3);
    folder.pipec(&[&both[..], &["--csv"]].concat()).ends(2, &["--csv", "--html"]);
    // Who reads each record once keeps nothing.
    let once = folder.pipec(&["explain", "p.pipe", "--strategies"]);
    once.ends(0, &["one epoch reads each record once"]);
    assert!(["2 epochs on", "10 epochs on", "90 epochs on"].iter().all(|it| once.out.contains(it)));
}

#[test]
fn what_is_cached_is_the_best_for_what_is_asked_for() {
    let text = "pipeline p = files(\"sample:images?count=64\") |> map { image: decode_jpeg(bytes) |> resize(300) }";
    let folder = Folder::of("explain-objective", &[("p.pipe", text)]);
    let machine = "cores=2,disk=1GB/s,memory=1GB";
    let args = ["explain", "p.pipe", "--epochs", "90", "--strategies", "--what-if", machine];
    let chosen = |objective: &str| -> (f64, f64) {
        let printed = folder.pipec(&[&args[..], &["--json", "--objective", objective]].concat());
        printed.ends(0, &[]);
        let found: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
        let rows = found["rows"].as_array().unwrap();
        let row = rows.iter().find(|it| it["chosen"] == true).unwrap();
        (row["rate"].as_f64().unwrap(), row["memory_bytes"].as_f64().unwrap())
    };
    let (most, bytes) = chosen("rate");
    assert_eq!(chosen("time"), (most, bytes));
    let (plain, nothing) = chosen("bytes@10");
    assert!(nothing == 0.0 && most > 2.0 * plain, "{most} {plain}");
    // As many bytes as the rate takes, and no more.
    let wanted = plain * 2.0;
    let (rate, some) = chosen(&format!("bytes@{wanted}"));
    assert!(rate > wanted * 0.99 && rate < wanted * 1.05, "{rate} {wanted}");
    assert!(some > 0.0 && some < bytes * 0.9, "{some} {bytes}");
    let told = folder.pipec(&[&args[..], &["--objective", &format!("bytes@{wanted}")]].concat());
    assert!(told.out.contains(", for the fewest bytes at "), "{}", told.out);
    // What nothing reaches is refused before anything runs.
    let beyond = ["--objective", "bytes@1_000_000_000_000"];
    let why = ["records/s are predicted, whatever is cached"];
    folder.pipec(&[&args[..], &beyond].concat()).ends(1, &why);
    folder.pipec(&[&["run", "p.pipe", "--epochs", "3"], &beyond[..]].concat()).ends(1, &why);
    let wrong = ["explain", "p.pipe", "--objective", "bytes@fast"];
    folder.pipec(&wrong).ends(2, &["expected records per second after `@`"]);
}

#[test]
fn by_weights_the_row_with_the_highest_score_is_cached() {
    let text = "pipeline p = files(\"sample:images?count=64\") |> map { image: decode_jpeg(bytes) |> resize(300) }";
    let folder = Folder::of("explain-weights", &[("p.pipe", text)]);
    let args = ["explain", "p.pipe", "--epochs", "90", "--strategies"];
    let machine = ["--what-if", "cores=2,disk=1GB/s,memory=1GB"];
    let explain = |weights: &str, more: &[&str]| {
        let objective = format!("weights:{weights}");
        let printed = folder.pipec(&[&args[..], &["--objective", &objective], more].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let row = |weights: &str, more: &[&str]| {
        let found = explain(weights, &[&["--json"], more].concat());
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let rows = found["rows"].as_array().unwrap().clone();
        let score = |row: &serde_json::Value| row["score"].as_f64().unwrap();
        let most = rows.iter().map(score).fold(0.0, f64::max);
        let row = rows.into_iter().find(|it| it["chosen"] == true).unwrap();
        assert!(score(&row) == most && (0.0..=2.0).contains(&most), "{row}");
        row
    };
    // What is fastest, what fills nothing, and what takes no bytes.
    assert_eq!(row("0,0,1", &machine)["kept"].as_array().unwrap().len(), 1);
    for weights in ["1,0,0", "0,1,0"] {
        assert_eq!(row(weights, &machine)["kept"].as_array().unwrap().len(), 0, "{weights}");
    }
    let told = explain("0.5,0,1", &machine);
    for part in [", for the highest score: 0.5 × fill time + 0 × bytes + 1 × rate,", "  score"] {
        assert!(told.contains(part), "{told}");
    }
    let csv = explain("0,0,1", &[&["--csv"], &machine[..]].concat());
    assert!(
        csv.starts_with("strategy,") && csv.lines().next().unwrap().ends_with(",score"),
        "{csv}"
    );
    // A row that nobody would choose decides.
    let told = explain("1,2,1", &[&["--cache", "none"], &machine[..]].concat());
    let part = "\nreversals   without the row `decode_jpeg in memory and on disk`, ";
    assert!(told.contains(part), "{told}");
    // A run caches what is marked.
    for weights in ["0,0,1", "0,1,0"] {
        let marked = row(weights, &["--memory", "1GB"]);
        let marked: Vec<_> =
            marked["kept"].as_array().unwrap().iter().map(|it| &it["value"]).collect();
        let objective = format!("weights:{weights}");
        let run = ["run", "p.pipe", "--epochs", "90", "--limit", "1", "--memory", "1GB", "--json"];
        let run = folder.pipec(&[&run[..], &["--objective", &objective]].concat());
        run.ends(0, &[]);
        let run: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let kept = run["kept"].as_array().into_iter().flatten();
        let kept: Vec<_> = kept.map(|it| &it["function"]).collect();
        assert_eq!(kept, marked, "{weights}");
    }
    let wrong = ["explain", "p.pipe", "--objective", "weights:1,2"];
    folder.pipec(&wrong).ends(2, &["weights of fill time, bytes and rate"]);
}

#[test]
fn what_costs_least_is_cached() {
    let text = "pipeline p = files(\"sample:images?count=64\") |> map { image: decode_jpeg(bytes) |> resize(300) }";
    let folder = Folder::of("explain-cost", &[("p.pipe", text)]);
    let machine = "cores=2,disk=1GB/s,memory=1GB";
    let args = ["explain", "p.pipe", "--epochs", "90", "--strategies", "--what-if", machine];
    let explain = |objective: &str, more: &[&str]| {
        let printed = folder.pipec(&[&args[..], &["--objective", objective], more].concat());
        printed.ends(0, &[]);
        printed.out
    };
    let bytes = |objective: &str| {
        let found = explain(objective, &["--json"]);
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let rows = found["rows"].as_array().unwrap();
        let row = rows.iter().find(|it| it["chosen"] == true).unwrap();
        let cost = |row: &serde_json::Value| row["cost"].as_f64().unwrap();
        let least = rows.iter().map(cost).fold(f64::INFINITY, f64::min);
        // Of those that differ by less than a hundredth, the one with the fewest bytes.
        assert!(cost(row) <= least * 1.01 && least > 0.0, "{row} {least}");
        row["memory_bytes"].as_f64().unwrap()
    };
    // Where bytes are free, it is the fastest; where nothing else has a price, nothing.
    let all = bytes("cost@3.06,0");
    assert!(all > 1e6, "{all}");
    assert_eq!(bytes("cost@3.06,1e12"), 0.0);
    assert!(bytes("cost@3.06,0.08") > 0.9 * all);
    let told = explain("cost@3.06,0.08", &[]);
    for part in [", for the lowest cost at 3.06 per hour and 0.08 per GB-month;", "  cost"] {
        assert!(told.contains(part), "{told}");
    }
    let csv = explain("cost@3.06,0.08", &["--csv"]);
    assert!(csv.lines().next().unwrap().ends_with(",cost"), "{csv}");
    let wrong = ["explain", "p.pipe", "--objective", "cost@3.06"];
    folder.pipec(&wrong).ends(2, &["prices of an hour and of a GB-month"]);
}
