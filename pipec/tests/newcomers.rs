//! What people stumble over in their first hour: names from elsewhere, words without a text, runs that are stopped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, Printed};
use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

const NUMBERS: &str = "\
edition 2026
param n = 1_000
pipeline each = range(n) |> map { x: f32(i) * 0.5, y: 6 // (i - 3) } else skip(most: 0.5)
pipeline train = each |> batch(10)
";

#[test]
fn doc_shows_what_a_name_is() {
    let folder = Folder::new("new-doc");
    let doc = |name: &str| {
        let printed = folder.pipec(&["doc", name]);
        printed.ends(0, &[]);
        printed.out
    };
    let of_function = doc("class_of");
    for part in [
        "class_of(path: str",
        "sorted",
        "|> map { label: class_of(path) }",
        "Cost: ~40 ns per call",
    ] {
        assert!(of_function.contains(part), "no `{part}` in:\n{of_function}");
    }
    assert!(doc("batch").contains("Operators") && doc("files").contains("Sources"));
    assert!(
        doc("where").contains("range(9) |> where i % 2 == 1")
            && doc("f32").contains("Floats of 32 bits")
    );
    assert_eq!(doc("PC0123"), folder.pipec(&["explain", "input-type"]).out);
    assert!(
        doc("num_workers").contains("--workers")
            && doc("torchvision.transforms.Compose").contains("`fn`")
    );
    assert!(doc("parquet").contains("Parquet files"));

    let ragged = doc("ragged");
    for part in ["`ragged` is an argument of `batch`", "`ragged: [ids]` keeps", "`pipec doc batch`"]
    {
        assert!(ragged.contains(part), "no `{part}` in:\n{ragged}");
    }
    assert!(doc("split").contains("`lines`") && doc("split").contains("`word_ids`"));
    assert!(doc("decode_audio").contains("it is planned"));
    assert!(doc("drop_last").contains("`tail: drop`"));

    let all = folder.pipec(&["doc"]).out;
    for part in [
        "Sources\n  arrow ",
        "Functions: image\n",
        "Keywords of the language\n",
        "`pipec doc NAME`",
    ] {
        assert!(all.contains(part), "no `{part}` in:\n{all}");
    }
    assert!(all.lines().all(|it| it.chars().count() <= 100), "{all}");
    folder.pipec(&["doc", "reszie"]).ends(2, &["cannot find `reszie`", "did you mean `resize`?"]);
    folder.pipec(&["doc", "frobnicate"]).ends(2, &["`pipec doc` lists everything"]);
    folder
        .pipec(&["doc", "corner"])
        .ends(2, &["cannot find `corner`", "mentioned by ", "`five_crop`"]);
    let json: serde_json::Value =
        serde_json::from_str(&folder.pipec(&["doc", "concat", "--json"]).out).unwrap();
    assert_eq!(json.as_array().map(Vec::len), Some(2));
}

#[test]
fn explain_tells_what_a_fault_is() {
    let folder = Folder::new("new-fault");
    let explain = |name: &str| {
        let printed = folder.pipec(&["explain", name]);
        printed.ends(0, &[]);
        printed.out
    };
    let told = explain("image-truncated");
    assert!(told.contains("truncated before its last row") && told.contains("else skip"), "{told}");
    let both = explain("index");
    assert!(both.contains("PC0152") && both.contains("a fault"), "{both}");
    assert_eq!(told, folder.pipec(&["doc", "image-truncated"]).out);
}

#[test]
fn explain_points_to_the_documentation() {
    let folder = Folder::new("new-explain");
    folder
        .pipec(&["explain", "class_of"])
        .ends(2, &["`class_of` is neither a file nor a code", "`pipec doc class_of`"]);
    folder.pipec(&["explain", "prefetch"]).ends(2, &["`pipec doc prefetch`"]);
    folder.pipec(&["explain", "gone.pipe"]).ends(5, &["cannot read `gone.pipe`"]);
}

#[test]
fn flags_and_values_from_elsewhere_are_understood_or_told() {
    let folder = Folder::of("new-flags", &[("n.pipe", NUMBERS)]);
    folder
        .pipec(&["run", "n.pipe", "train", "--num-workers", "4"])
        .ends(2, &["tip: use `--workers`"]);
    folder
        .pipec(&["run", "n.pipe", "train", "--batch-size=4"])
        .ends(2, &["tip: the batch size is set in the program"]);
    let plain = [
        "run",
        "n.pipe",
        "train",
        "--memory",
        "500000000",
        "--cpu",
        "0.9",
        "--checkpoint",
        "s",
        "--checkpoint-every",
        "2",
    ];
    folder.pipec(&plain).ends(0, &["99 batches"]);
    folder.pipec(&["profile", "n.pipe", "train", "--seconds", "1"]).ends(0, &[]);
    folder.pipec(&["run", "n.pipe", "train", "--memory", "2"]).ends(2, &["512MiB"]);
    folder.pipec(&["cache", "gc", "kept", "--older", "30"]).ends(2, &["30d"]);
}

#[test]
fn a_lock_that_is_not_there_is_named() {
    let folder = Folder::of("new-lock", &[("n.pipe", NUMBERS)]);
    let run = || folder.pipec(&["run", "n.pipe", "train", "--locked"]);
    run().ends(
        2,
        &["cannot find the lock file `n.pipe.lock`", "create it with `pipec tune n.pipe train`"],
    );
}

#[test]
fn a_finished_run_has_nothing_left_to_do() {
    let folder = Folder::of("new-complete", &[("n.pipe", NUMBERS)]);
    let run = |more: &[&str]| {
        folder.pipec(&[&["run", "n.pipe", "train", "--checkpoint", "s.json"], more].concat())
    };
    run(&[]).ends(0, &["train: 99 batches"]);
    let again = run(&[]);
    again.ends(
        0,
        &["the checkpoint `s.json` is complete: all 99 batches", "remove `s.json`", "--epochs"],
    );
    assert!(!again.err.contains("0 records"), "{}", again.err);
    run(&["--epochs", "2"]).ends(0, &["resumed after 99 batches", "train: 99 batches"]);
}

#[test]
fn check_counts_what_it_has_checked() {
    let folder = Folder::of("new-check", &[("n.pipe", NUMBERS)]);
    let missing = folder.pipec(&["check", "missing.pipe"]);
    missing
        .ends(5, &["cannot read `missing.pipe`", "nothing was checked; 1 file could not be read"]);
    assert!(!missing.err.contains("no errors"), "{}", missing.err);
    folder
        .pipec(&["check", "n.pipe", "missing.pipe", "--no-lints"])
        .ends(5, &["1 file, no errors; 1 file could not be read"]);
    assert!(!folder.pipec(&["check", "--help"]).out.contains("without reading any data"));
}

#[test]
fn an_address_without_values_is_sound() {
    let folder = Folder::new("new-cache");
    for (name, file) in [("0", None), ("1", Some("in-use.lock"))] {
        let place = folder.join("kept").join(name.repeat(32));
        fs::create_dir_all(&place).unwrap();
        file.iter().for_each(|it| fs::write(place.join(it), "").unwrap());
    }
    let verify = folder.pipec(&["cache", "verify", "kept"]);
    assert_eq!(
        (verify.code, verify.out.matches("0 values are sound").count()),
        (0, 2),
        "{verify:#?}"
    );
}

/// A JPEG whose code is damaged in its lower third; what is cropped lies above.
#[test]
fn what_nobody_uses_may_be_damaged() {
    let program = "pipeline p = files(\"photos/**/*.jpg\") |> map { x: decode_jpeg(bytes) |> crop(0, 0, 16, 16) } \
                   else skip(most: 0.5) |> batch(2, tail: keep)\n";
    let folder = Folder::of("new-hidden", &[("p.pipe", program)]);
    folder.pipec(&["sample", "images", "photos", "--count", "4"]).ends(0, &[]);
    let names = folder.files("photos").into_keys().filter(|it| it.ends_with(".jpg"));
    let path = folder.join("photos").join(names.min().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    let from = bytes.len() * 2 / 3;
    bytes[from..from + 40].copy_from_slice(&[0xff, 0].repeat(20));
    fs::write(&path, bytes).unwrap();

    let verify = folder.pipec(&["verify", "p.pipe", "--pairs", "1"]);
    assert!(verify.code == 0 && !verify.err.contains("a bug in pipec"), "{verify:#?}");
    for part in [
        "2 batches the same, 1 record failed",
        "only in a part that the pipeline does not use",
        "image-damaged",
    ] {
        assert!(verify.out.contains(part), "{verify:#?}");
    }
}

/// What a command has printed that would go on for hours and is stopped; the signal comes later each time until
/// it comes while the command is at work.
#[cfg(unix)]
fn stopped(folder: &Folder, args: &[&str], said: &str) -> Printed {
    let mut last = None;
    for wait in [500, 1_000, 2_000, 4_000, 8_000, 16_000] {
        let mut child =
            folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
        assert!(
            Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let printed = Printed::of(&child.wait_with_output().unwrap());
        if printed.code == 130 && printed.out.contains(said) {
            return printed;
        }
        last = Some(printed);
    }
    panic!("nothing was told of what was found: {last:#?}");
}

#[cfg(unix)]
#[test]
fn what_was_found_before_a_signal_is_told() {
    let folder = Folder::of("new-signal", &[("n.pipe", NUMBERS)]);
    let long = ["n.pipe", "train", "--set", "n=1_000_000_000_000"];
    let scan =
        stopped(&folder, &[&["scan"], &long[..], &["--out", "bad.jsonl"]].concat(), "interrupted");
    assert!(scan.out.contains("1 failed") && scan.out.contains("division-by-zero"), "{scan:#?}");
    assert_eq!(folder.read("bad.jsonl").lines().count(), 1);
    let verify = stopped(&folder, &[&["verify"], &long[..]].concat(), "interrupted");
    assert!(verify.out.contains("seed 0, 1 epoch: interrupted: up to then"), "{verify:#?}");
    assert!(!verify.err.contains("bug"), "{verify:#?}");
}

#[test]
fn a_pattern_without_files_is_told_by_check() {
    let folder = Folder::of("no-files", &[("data/a.png", "x"), ("data/b.png", "x")]);
    let check = |source: &str, more: &[&str]| {
        folder.write(
            "p.pipe",
            &format!("edition 2026\nparam root = \"data\"\npipeline p = {source} |> take(1)\n"),
        );
        folder.pipec(&[&["check", "p.pipe"], more].concat())
    };
    check("files(\"{root}/*.jpg\")", &[]).ends(
        0,
        &[
            "PC0413 no-files",
            "no file matches `data/*.jpg`",
            "below `data` there are 2 files with the extension `.png`",
            "1 warning in 1 file",
        ],
    );
    let explained = folder.pipec(&["explain", "p.pipe"]);
    explained.ends(0, &["no file matches `data/*.jpg`: sizes are assumed"]);
    check("files(\"{root}/*.png\")", &["--set", "root=dtaa"])
        .ends(0, &["no file matches `dtaa/*.png`", "did you mean `data`"]);
    check("lines(\"{root}/*.txt\")", &[]).ends(0, &["no file matches `data/*.txt`"]);
    check("files([\"{root}/*.png\", \"more/*.png\"])", &[])
        .ends(0, &["no file matches `more/*.png`", "cannot find the folder `more`"]);
    check("files(\"{root}/*.png\")", &[]).ends(0, &["no errors"]);
    folder.pipec(&["run", "p.pipe", "--set", "root=dtaa"]).ends(
        5,
        &["`dtaa/*.png`: no file matches: cannot find the folder `dtaa`; did you mean `data`?"],
    );
    check("files(\"{root}/*.jpg\")", &["--no-lints"]).ends(0, &["no errors"]);
}

#[test]
fn numbers_on_the_command_line_say_what_is_wanted() {
    let folder = Folder::of("numbers", &[("p.pipe", "pipeline p = range(9)\n")]);
    for (args, wanted) in [
        (&["run", "--limit", "0"][..], "an integer of at least 1, such as 100"),
        (&["run", "--seed", "abc"], "an integer of at least 0, such as 7"),
        (&["run", "--seed", "-1"], "an integer of at least 0, such as 7"),
        (&["run", "--workers", "2000"], "an integer from 1 to 1,024, such as 4"),
        (&["run", "--epochs", "1.5"], "an integer of at least 1, such as 90"),
        (&["run", "--max-errors", "-1"], "an integer of at least 0, such as 10"),
        (&["peek", "-n", "0"], "an integer from 1 to 10,000, such as 16"),
        (&["explain", "--epochs", "x"], "an integer of at least 1, such as 90"),
        (&["verify", "--pairs", "x"], "an integer of at least 0, such as 3"),
    ] {
        let args = [&[args[0], "p.pipe"], &args[1..]].concat();
        folder.pipec(&args).ends(2, &[wanted]);
    }
    let sample = folder.pipec(&["sample", "images", "d", "--count", "abc"]);
    sample.ends(2, &["an integer of at least 0, such as 1_000"]);
    folder.pipec(&["run", "p.pipe", "--limit", "1_000"]).ends(0, &["9 records"]);
}

const PAIRS: &str = "\
fn mask_of(path) = \"masks/\" + stem_of(path) + \".jpg\"
pipeline pairs = files(\"images/*.jpg\") |> map { image: decode_jpeg(bytes), mask: decode_jpeg(read_file(mask_of(path))) }
pipeline rows = csv(\"pairs.csv\") |> map { image: decode_jpeg(read_file(image)), mask: decode_jpeg(read_file(mask)) }
pipeline lenient = pairs else skip(most: 0.5)
pipeline steps = files(\"images/*.jpg\") |> with { mask: read_file(mask_of(path)) } |> where path != \"\"
    |> map { image: decode_jpeg(bytes), mask: decode_jpeg(mask) } else skip(most: 0.5)
";

#[test]
fn the_file_that_is_torn_is_named_and_not_its_partner() {
    let folder = Folder::of("new-masks", &[("p.pipe", PAIRS), ("pairs.csv", "image,mask\n")]);
    folder.pipec(&["sample", "images", "images", "--count", "4"]).ends(0, &[]);
    let images = folder.files("images");
    fs::create_dir(folder.join("masks")).unwrap();
    let mut table = "image,mask\n".to_owned();
    for (n, bytes) in images.values().enumerate() {
        fs::write(folder.join(format!("images/{n}.jpg")), bytes).unwrap();
        let bytes = if n == 2 { &bytes[..bytes.len() / 2] } else { bytes };
        fs::write(folder.join(format!("masks/{n}.jpg")), bytes).unwrap();
        table += &format!("images/{n}.jpg,masks/{n}.jpg\n");
    }
    folder.write("pairs.csv", &table);

    let run = |name: &str| folder.pipec(&["run", "p.pipe", name, "--quarantine", "bad.jsonl"]);
    run("pairs").ends(3, &["record  `images/2.jpg`", "why     `masks/2.jpg`: "]);
    run("rows").ends(3, &["record  `pairs.csv, row 3`", "why     `masks/2.jpg`: "]);
    run("lenient").ends(0, &["`images/2.jpg`: `masks/2.jpg`: "]);
    let bad = folder.read("bad.jsonl");
    assert!(bad.contains("\"source\":\"images/2.jpg\",\"file\":\"masks/2.jpg\""), "{bad}");
    let scanned = folder.pipec(&["scan", "p.pipe", "lenient"]);
    assert!(scanned.out.contains("`masks/2.jpg`: "), "{scanned:#?}");
    let is_named = |args: &[&str], said: &str| {
        let looked = folder.pipec(args);
        assert!(looked.out.contains(said), "{args:?}: {looked:#?}");
    };
    is_named(&["scan", "p.pipe", "steps"], "images/2.jpg: `masks/2.jpg`: ");
    is_named(&["scan", "p.pipe", "steps", "--json"], "\"file\": \"masks/2.jpg\"");
    is_named(
        &["peek", "p.pipe", "steps", "--at", "map#1"],
        "failed: `images/2.jpg`: `masks/2.jpg`: ",
    );
    is_named(&["peek", "p.pipe", "steps", "--at", "map#1", "--json"], "\"file\": \"masks/2.jpg\"");
    is_named(&["peek", "p.pipe", "steps", "--record", "2.jpg"], "`masks/2.jpg`: ");

    fs::remove_file(folder.join("masks/3.jpg")).unwrap();
    run("steps").ends(0, &["cannot find the file `masks/3.jpg`"]);
    assert!(folder.read("bad.jsonl").contains("\"file\":\"masks/3.jpg\""));
    is_named(&["scan", "p.pipe", "steps", "--json"], "\"file\": \"masks/3.jpg\"");

    fs::write(folder.join("images/1.jpg"), b"no picture").unwrap();
    let torn = run("pairs");
    torn.ends(3, &["record  `images/1.jpg`"]);
    assert!(!torn.err.contains("masks"), "{}", torn.err);
}

#[test]
fn a_crop_outside_of_a_smaller_mask_names_the_files() {
    let program = "pipeline p = files(\"images/*.jpg\") |> map { i: decode_jpeg(bytes),\n\
                   m: decode_jpeg(read_file(replace(path, \"images\", \"masks\"))) }\n\
                   |> map { m: crop(m, 0, 0, i.shape[0], i.shape[1]) }\n";
    let folder = Folder::of("new-sizes", &[("p.pipe", program)]);
    folder.pipec(&["sample", "images", "all", "--count", "1"]).ends(0, &[]);
    let image = folder.files("all").into_values().next().unwrap();
    fs::create_dir(folder.join("images")).unwrap();
    fs::create_dir(folder.join("masks")).unwrap();
    fs::write(folder.join("images/0.jpg"), image).unwrap();
    let small = "range(1) |> map { m: encode_jpeg(plasma(0, 9, 9)) }";
    folder.write("small.pipe", &format!("pipeline p = {small}\n"));
    folder.pipec(&["run", "small.pipe", "--out", "small"]).ends(0, &[]);
    let file = fs::read(folder.join("small/m/00000000.npy")).unwrap();
    let begin = file.windows(3).position(|it| it == [0xff, 0xd8, 0xff]).unwrap();
    fs::write(folder.join("masks/0.jpg"), &file[begin..]).unwrap();
    let why = "lies outside the image of 9 x 9; the files are `images/0.jpg` and `masks/0.jpg`";
    folder.pipec(&["run", "p.pipe"]).ends(3, &["record  `images/0.jpg`", why]);
}

#[test]
fn a_pipeline_that_gives_nothing_is_told() {
    let program = "pipeline batches = range(5) |> batch(10)\npipeline all = range(5) |> where i > 9\n\
         pipeline failed = range(5) |> map { x: 1 // (i - i) } else skip(most: 1.0) |> batch(2)\n\
         pipeline replaced = range(5) |> map { x: 1 // (i - i) } else another(most: 1.0) |> batch(2)\n";
    let folder = Folder::of("new-nothing", &[("p.pipe", program)]);
    folder.pipec(&["run", "p.pipe", "batches"]).ends(0, &["fewer records reached `batch` than"]);
    folder.pipec(&["run", "p.pipe", "all"]).ends(0, &["every record was dropped"]);
    folder.pipec(&["run", "p.pipe", "failed"]).ends(0, &["5 records failed, and too few remain"]);
    let none = "none of the 100 other records tried in its place works either";
    folder.pipec(&["run", "p.pipe", "replaced"]).ends(3, &["division by zero", none]);
    // It would go on for ever, epoch after epoch.
    let profile = |name: &str| folder.pipec(&["profile", "p.pipe", name, "--seconds", "2"]);
    profile("batches").ends(1, &["`batches` has no batches in an epoch", "`tail: keep`"]);
    profile("all").ends(1, &["`all` has no records in an epoch"]);
}

#[test]
fn ranks_that_get_nothing_are_told_before_the_run() {
    let program = "pipeline drops = range(450) |> batch(10)\n\
                   pipeline keeps = range(442) |> batch(10, tail: keep)\n";
    let folder = Folder::of("new-ranks", &[("p.pipe", program)]);
    let run = |name: &str, rank: &str, world: &str| {
        folder.pipec(&["run", "p.pipe", name, "--rank", rank, "--world", world])
    };
    let none = "none of the 100 ranks gets a batch: each gets the same number, but an epoch has only 45 \
         batches";
    run("drops", "7", "100").ends(0, &[none, "run at most 45 ranks, make smaller batches"]);
    let some = "55 of the 100 ranks get nothing: an epoch has only 45 batches";
    let hangs = "training that synchronizes all ranks in each step hangs: run at most 45 ranks, make \
         smaller";
    let own = run("keeps", "70", "100");
    own.ends(0, &[some, "rank 70 is one of them", hangs, "(`tail: mask`)"]);
    assert!(!run("keeps", "0", "100").err.contains("one of them"));
    assert!(!run("keeps", "0", "45").err.contains("warning"));
    let uneven =
        "some of the 2 ranks get 23 batches per epoch and others 22: an epoch has 45 batches";
    run("keeps", "0", "2").ends(0, &[uneven, "`tail: drop` or `tail: mask`"]);
    let explained = folder.pipec(&["explain", "p.pipe", "drops", "--verbose"]).out;
    assert!(explained.contains("with more than 45 ranks, no rank gets any"), "{explained}");
}

#[test]
fn a_fault_is_placed_in_the_step_that_it_is_written_in() {
    // The steps are one stage.
    let program = "pipeline p = range(10)\n    |> map { a: i }\n    |> map { b: a + 1 }\n    \
                   |> map { c: 7 // (b - 5) }\n    |> batch(2)\n";
    let skips = program.replace("(b - 5)", "(b - 5) else skip").replace("p =", "skips =");
    let folder = Folder::of("new-places", &[("p.pipe", &(program.to_owned() + &skips))]);
    folder.pipec(&["run", "p.pipe", "p"]).ends(3, &["step    p.pipe:4:8"]);
    let run = folder.pipec(&["run", "p.pipe", "skips", "--quarantine", "bad.jsonl"]);
    run.ends(0, &["p.pipe:9:8"]);
    let lost = folder.read("bad.jsonl");
    assert!(lost.contains("\"step\":\"skips.map#3\"") && lost.contains("p.pipe:9:8"), "{lost}");
}

#[test]
fn a_batch_by_tokens_has_as_many_records_as_were_measured() {
    let program = "pipeline t = range(100_000) |> map { ids: arange(i % 50), i } \
                   |> batch(tokens: 1024, by: len(ids), pad: { ids: -1 })\n";
    let folder = Folder::of("new-tokens", &[("t.pipe", program)]);
    folder.pipec(&["profile", "t.pipe", "--seconds", "2", "-o", "t.profile"]).ends(0, &[]);
    let out = folder.pipec(&["explain", "t.pipe", "--json"]).out;
    let json: serde_json::Value =
        serde_json::from_str(&out).unwrap_or_else(|it| panic!("{it}: {out}"));
    let figure = |name: &str| json["headline"][name].as_f64().expect(name);
    let rows = figure("records_per_second") / figure("outputs_per_second");
    // 24.5 tokens a record, and records that are not shorter than those before them.
    assert!((20.0..42.0).contains(&rows), "{rows} records a batch");
}

#[test]
fn the_record_that_ends_the_run_is_in_the_quarantine() {
    let program = "pipeline fails = range(9) |> map { x: 6 // (i - 3) }\n\
                   pipeline over = range(90) |> map { x: 6 // (i % 3) } else skip(most: 1%)\n\
                   pipeline none_left = range(3) |> map { x: 6 // (i - i) } else another(most: 1)\n";
    let folder = Folder::of("new-quarantine", &[("p.pipe", &program.replace("1%", "0.01"))]);
    let lost = |args: &[&str]| {
        folder
            .pipec(&[&["run", "p.pipe", "--quarantine", "bad.jsonl"], args].concat())
            .ends(3, &[]);
        let text = folder.read("bad.jsonl");
        let code =
            |it: &str| it.contains("\"code\":\"division-by-zero\"") && it.contains("\"step\":\"");
        assert!(text.lines().all(code), "{text}");
        text.lines().count()
    };
    assert_eq!(
        [lost(&["fails"]), lost(&["over"]), lost(&["over", "--max-errors", "0"])],
        [1, 2, 1]
    );
    assert!(lost(&["none_left"]) >= 1);
}
