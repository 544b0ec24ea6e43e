//! Tables and lines of JSON as people have them: types that are said, missing fields, rows that do not fit, and files
//! that are no text at all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;
use std::fs;

/// Rows of which two do not fit what the first 1,000 are: one has a word for a number, one has a field too few.
fn rows() -> String {
    let mut rows = "name,age,size\n".to_owned();
    for i in 0..2_000 {
        rows += &match i {
            1_500 => "Ada,many,1.5\n".to_owned(),
            1_700 => "Bob,3\n".to_owned(),
            _ => format!("n{i},{},{}.5\n", i % 90, i % 7),
        };
    }
    rows
}

fn program(body: &str) -> String {
    format!("edition 2026\npipeline p = {body}\n")
}

#[test]
fn what_is_wrong_with_a_column_that_nothing_needs_fails_nowhere() {
    let program = "pipeline p = csv(\"u.csv\") |> map { id, l: len(city) } |> batch(2, tail: keep)\n\
                   pipeline n = csv(\"u.csv\") |> map { one: 1 } |> batch(2, tail: keep)\n\
                   pipeline all = csv(\"u.csv\") |> batch(2, tail: keep)\n";
    let table = "id,age,city\n1,5,a\n2,,b\n3,7,c\n";
    let folder = Folder::of("tables-unused", &[("p.pipe", program), ("u.csv", table)]);
    folder.pipec(&["run", "p.pipe", "p"]).ends(0, &["2 batches, 3 records"]);
    folder.pipec(&["run", "p.pipe", "n"]).ends(0, &["2 batches, 3 records"]);
    folder.pipec(&["run", "p.pipe", "all"]).ends(5, &["column `age` is empty"]);
}

#[test]
fn rows_that_do_not_fit_are_faults_of_the_record() {
    let folder = Folder::of("tables-rows", &[("a.csv", &rows())]);
    let run = |body: &str, more: &[&str]| {
        folder.write("p.pipe", &program(body));
        folder.pipec(&[&["run", "p.pipe"], more].concat())
    };
    // Without an `else` the run ends, and says where, what, and what to do.
    let said =
        ["a.csv", "line 1502: column `age` is `i64`", "found `many`", "`types: { age: str }`"];
    run("csv(\"a.csv\")", &[]).ends(5, &said);
    // In order, and in any order.
    for order in ["", " |> shuffle", " |> shuffle(window: 50)"] {
        let body = format!("csv(\"a.csv\"){order} |> map {{ n: age * 2 }} else skip(most: 0.01)");
        run(&body, &["--quarantine", "bad.jsonl"]).ends(0, &["1,998 records", "2 records"]);
        let bad = folder.read("bad.jsonl");
        assert!(
            bad.contains("a.csv:1502: column `age` is `i64`") && bad.contains("a.csv:1702: "),
            "{bad}"
        );
    }
    run("csv(\"a.csv\") |> map { n: age else skip(most: 0.01) }", &[]).ends(0, &["1,998 records"]);
    run("csv(\"a.csv\") else skip(most: 0.01) |> map { age, size } |> batch(9, tail: keep)", &[])
        .ends(0, &["222 batches"]);
    run("csv(\"a.csv\") |> map { n: age else -1, s: size else 0 }", &[])
        .ends(0, &["2,000 records"]);
    run("csv(\"a.csv\") |> shuffle |> map { n: age else another(most: 0.01) }", &[])
        .ends(0, &["2,000 records"]);
    // A fault that nobody has said anything of ends the run, also beside an `else`.
    run("csv(\"a.csv\") |> map { n: age, s: size else 0 }", &[])
        .ends(3, &["a.csv:1502: column `age`"]);
    // The bytes are the same for any number of workers.
    folder.write(
        "p.pipe",
        &program(
            "csv(\"a.csv\") |> shuffle |> map { n: age else skip(most: 0.01), size } |> batch(8)",
        ),
    );
    for (workers, out) in [("1", "one"), ("4", "four")] {
        folder
            .pipec(&["run", "p.pipe", "--workers", workers, "--out", out, "--epochs", "2"])
            .ends(0, &[]);
    }
    assert!(folder.files("one") == folder.files("four") && folder.files("one").len() > 400);
}

#[test]
fn a_field_that_does_not_fit_is_a_fault_of_its_column_alone() {
    let table = "id,age,label\n1,30,a\n2,,b\n3,x,c\n4\n5,50,e\n";
    let folder = Folder::of("tables-column", &[("a.csv", table)]);
    let run = |body: &str, more: &[&str]| {
        let body = format!("csv(\"a.csv\", types: {{ age: i64 }}) |> {body}");
        folder.write("p.pipe", &program(&body));
        folder.pipec(&[&["run", "p.pipe", "--quarantine", "bad.jsonl"], more].concat())
    };
    let out = ["--out", "out", "--overwrite"];
    run("map { age: age else -1, label: label else \"?\" }", &out).ends(0, &["5 records"]);
    let label = folder.read("out/label/00000000.jsonl");
    assert_eq!(label, "\"a\"\n\"b\"\n\"c\"\n\"?\"\n\"e\"\n");
    let ages = || -> Vec<i64> {
        let ages = fs::read(folder.join("out/age/00000000.npy")).unwrap();
        ages[128..].chunks(8).map(|it| i64::from_le_bytes(it.try_into().unwrap())).collect()
    };
    assert_eq!(ages(), [30, -1, -1, -1, 50]);
    // As a person looks at it: what the compiler has put between is not there.
    let looked = folder.pipec(&["peek", "p.pipe", "--records", "5"]).out;
    assert!(looked.contains(" failed: `a.csv, row 2`"), "{looked}");
    assert!(looked.contains("age    -1\n    label  \"b\""), "{looked}");
    assert!(!looked.contains("row.fault") && !looked.contains(".rows"), "{looked}");
    // A row that is none as a whole fails in all its columns.
    run("map { age: age else -1, label } else skip(most: 0.5)", &out)
        .ends(0, &["4 records", "1 record:", "expected 3 fields, found 1"]);
    // It fails where it is used: a filter in between does not use it, a step that hands it on does.
    run(
        "where(id > 0) else skip(most: 0.5) |> map { age: age else -1 } else skip(most: 0.5)",
        &out,
    )
    .ends(0, &["4 records"]);
    assert_eq!(ages(), [30, -1, -1, 50]);
    run("map { id, age } else skip(most: 0.6) |> map { age: age else -1 }", &out)
        .ends(0, &["2 records"]);
    assert_eq!(ages(), [30, 50]);
    // The row that ends the run is in the quarantine.
    run("map { id, age, label }", &[]).ends(5, &["`a.csv`: line 3: column `age` is empty"]);
    let bad = folder.read("bad.jsonl");
    assert!(
        bad.contains("\"source\":\"a.csv, row 2\"") && bad.contains("\"step\":\"p.csv#1\""),
        "{bad}"
    );
    assert!(bad.contains("`a.csv`: line 3: column `age` is empty"), "{bad}");
}

#[test]
fn types_and_missing_fields_can_be_said() {
    let table = "id,age,label\n007,3,cat\n008,,dog\n009,NA,cat\n010,7.0,\"a\n\"\"b\"\"\"\n";
    let folder = Folder::of("tables-types", &[("a.csv", table)]);
    let run = |body: &str| {
        folder.write("p.pipe", &program(body));
        folder.pipec(&["run", "p.pipe", "--out", "out", "--overwrite"])
    };
    run("csv(\"a.csv\", types: { id: str, age: f32 }, missing: { age: skip }, na_values: \"NA\")")
        .ends(0, &["2 records"]);
    let manifest = folder.read("out/pipec.json");
    assert!(manifest.contains("\"f32\"") && !manifest.contains("row."), "{manifest}");
    assert_eq!(folder.read("out/id/00000000.jsonl"), "\"007\"\n\"010\"\n");
    assert_eq!(folder.read("out/label/00000000.jsonl"), "\"cat\"\n\"a\\n\\\"b\\\"\"\n");
    run("csv(\"a.csv\", missing: { age: -1 }, na_values: [\"NA\", \"-\"])").ends(0, &["4 records"]);
    run("csv(\"a.csv\", missing: { age: fault }, na_values: \"NA\")")
        .ends(5, &["line 3: column `age` is empty", "skip"]);
    // What `skip` leaves out is gone before anything is counted, also where rows are read in any order.
    run("csv(\"a.csv\", missing: { age: skip }, na_values: \"NA\") |> shuffle |> map { n: len(label) } |> batch(2)")
        .ends(0, &["1 batch"]);
    // Text flows into the functions on text.
    run("csv(\"a.csv\", types: { age: str }) |> map { n: len(upper(label)), cat: label == \"cat\", age }")
        .ends(0, &["4 records"]);
    run("csv(\"a.csv\", types: { agee: f32 })").ends(1, &["PC0126", "did you mean `age`?"]);
    run("csv(\"a.csv\", missing: { colour: 0 })")
        .ends(1, &["PC0126", "which is not a column: the columns are"]);
    run("csv(\"a.csv\", types: { age: i8 }, missing: { age: 1000 }, na_values: \"NA\")")
        .ends(1, &["must give a `i8` for `age`"]);
}

#[test]
fn faults_of_json_lines_name_the_line() {
    let long = "x".repeat(5_000);
    let json =
        format!("{{\"n\": 1}}\n{{\"n\": 2}}\n{{\"m\": 3, \"text\": \"{long}\"}}\n{{\"n\": \n");
    let folder =
        Folder::of("tables-json", &[("data/a.jsonl", "{\"n\": 0}\n"), ("data/b.jsonl", &json)]);
    let run = |body: &str| {
        folder.write("p.pipe", &program(body));
        folder.pipec(&["run", "p.pipe", "--quarantine", "bad.jsonl"])
    };
    for order in [
        "",
        " |> shuffle",
        " |> shuffle(window: 3)",
        " |> where len(row[\"n\"] as str else \"\") >= 0",
    ] {
        let said = run(&format!(
            "jsonl(\"data/*.jsonl\"){order} |> map {{ n: row[\"n\"] as i64 else skip(most: 0.9) }}"
        ));
        said.ends(0, &["3 records"]);
        let bad = folder.read("bad.jsonl");
        assert!(bad.contains("data/b.jsonl:3") && bad.contains("data/b.jsonl:4"), "{bad}");
        assert!(!bad.contains("xxxxx"), "{bad}");
    }
    let failed = run("jsonl(\"data/*.jsonl\") |> map { n: row[\"n\"] as i64 }");
    failed.ends(3, &["`data/b.jsonl:3`", "field `n` is missing"]);
    assert!(failed.err.len() < 1_000, "{}", failed.err);
    run("lines(\"data/*.jsonl\") |> map { n: parse_int(text) }").ends(3, &["`data/a.jsonl:1`"]);
}

#[test]
fn what_is_no_text_is_named() {
    let folder = Folder::new("tables-no-text");
    let run = |body: &str| {
        folder.write("p.pipe", &program(body));
        folder.pipec(&["run", "p.pipe"])
    };
    fs::write(folder.join("x.csv.gz"), b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc").unwrap();
    fs::write(folder.join("x.jsonl.lz4"), b"\x04\x22\x4d\x18abc").unwrap();
    fs::write(folder.join("wide.txt"), b"\xff\xfea\0b\0\n\0").unwrap();
    let gzip = ["x.csv.gz`: its gzip data is damaged or truncated"];
    run("csv(\"x.csv.gz\")").ends(5, &gzip);
    run("lines(\"x.csv.gz\")").ends(5, &gzip);
    run("lines(\"x.csv.gz\") |> shuffle").ends(5, &["it can only be read in order"]);
    run("jsonl(\"*.lz4\") |> map { n: row[\"n\"] as i64 }")
        .ends(5, &["with LZ4, which is not supported yet", "`lz4 -dk x.jsonl.lz4`"]);
    run("lines(\"wide.txt\")").ends(5, &["UTF-16 text", "iconv -f utf-16"]);
    run("lines(\"hdfs://name/*.txt\")")
        .ends(1, &["PC0138", "p.pipe:2:20", "to a local folder", "hdfs dfs -get hdfs://name data"]);
}

#[test]
fn a_byte_order_mark_is_nothing() {
    let mark = "\u{feff}";
    let folder = Folder::of(
        "tables-mark",
        &[
            ("a.csv", &format!("{mark}name,n\r\nx,1\r\n")),
            ("a.jsonl", &format!("{mark}{{\"n\": 1}}\n")),
            ("a.txt", &format!("{mark}1\n")),
            ("common.pipe", &format!("{mark}edition 2026\nfn half(x) = f32(x) / 2\n")),
        ],
    );
    let run = |body: &str| {
        let text =
            format!("{mark}edition 2026\nuse half from \"common.pipe\"\npipeline p = {body}\n");
        folder.write("p.pipe", &text);
        folder.pipec(&["run", "p.pipe"]).ends(0, &["1 record"]);
    };
    run("csv(\"a.csv\") |> map { x: half(n), name }");
    run("jsonl(\"a.jsonl\") |> map { x: half(row[\"n\"] as i64) }");
    run("lines(\"a.txt\") |> map { x: half(parse_int(text)) }");
    folder.pipec(&["check", "p.pipe"]).ends(0, &[]);
    folder.write("p.pipe", &format!("{mark}edition 2026\npipeline p = rang(3)\n"));
    folder.pipec(&["check", "p.pipe"]).ends(1, &["p.pipe:2:14"]);
}

#[test]
fn a_table_that_is_missing_stops_what_reads_it_and_nothing_else() {
    let program = "\
edition 2026

pipeline train = csv(\"train.csv\") |> map { x } |> batch(2)
pipeline val = csv(\"val.csv\") |> map { x } |> batch(2)
pipeline both = zip({ a: train, b: val })
";
    let folder = Folder::of("tables-asked", &[("p.pipe", program), ("train.csv", "x\n1\n2\n")]);
    for command in ["run", "explain", "peek", "verify"] {
        folder.pipec(&[command, "p.pipe", "train"]).ends(0, &[]);
        for other in ["val", "both"] {
            folder.pipec(&[command, "p.pipe", other]).ends(5, &["PC0136", "val.csv"]);
        }
    }
    // Who asks for every mistake gets it.
    folder.pipec(&["check", "p.pipe"]).ends(5, &["PC0136", "val.csv"]);
}

#[test]
fn a_run_that_ends_at_a_row_gives_all_that_comes_before_it() {
    // More than is read at once, with line ends between quotes.
    let rows: String = (0..60_000)
        .map(|i| match i {
            45_000 => format!("{i},x,many\n"),
            _ => format!("{i},\"a \"\"{i}\"\"\nb\",{}.5\n", i % 7),
        })
        .collect();
    let program = program("csv(\"a.csv\") |> batch(1000)");
    let table = format!("id,text,size\n{rows}");
    let folder = Folder::of("tables-before", &[("p.pipe", &program), ("a.csv", &table)]);
    let said = ["45 batches", "a.csv`: line 90002: column `size` is `f64`", "found `many`"];
    for workers in ["1", "4"] {
        folder.pipec(&["run", "p.pipe", "--workers", workers, "--out", workers]).ends(5, &said);
    }
    assert!(folder.files("1") == folder.files("4"));
    // A quote that nothing closes ends it where its record begins.
    let open = rows.replace("many", "1") + "60000,\"x,1\n";
    folder.write("a.csv", &format!("id,text,size\n{open}"));
    folder.pipec(&["run", "p.pipe"]).ends(5, &["60 batches", "line 120001", "unclosed quote"]);
}

#[test]
fn a_late_row_that_does_not_fit_is_told_alike_by_a_built_file() {
    let rows: String = (0..3000)
        .map(|i| format!("{}\n", if i == 2500 { "abc".into() } else { i.to_string() }))
        .collect();
    let program = "edition 2026\npipeline p = csv(\"late.csv\") |> map { v: f32(v) } |> batch(100, tail: keep)\n";
    let folder = Folder::of("late", &[("p.pipe", program), ("late.csv", &format!("v\n{rows}"))]);
    let told = "line 2502: column `v` is `i64` (inferred from the first 1,000 rows), found `abc`";
    let run = folder.pipec(&["run", "p.pipe"]);
    run.ends(5, &["25 batches", told, "types: { v: str }"]);
    folder.pipec(&["build", "p.pipe", "-o", "built"]).ends(0, &[]);
    let built = folder.command_of(&folder.join("built"), &["run"]).output().unwrap();
    // What stands before it are times.
    let error = |it: &str| it[it.find("error:").unwrap()..].to_owned();
    assert_eq!(error(&String::from_utf8_lossy(&built.stderr)), error(&run.err));
}

/// Columns whose names are no words, and some that have the same one, or none.
const NAMED: &str =
    "Trip Distance,Fare (USD),class,1st,class,\n1.5,2,a,3,x,9\n0.5,4,b,4,y,8\n2.5,5,c,5,z,7\n";

#[test]
fn columns_of_any_name_are_given_one_in_the_same_way_in_every_table() {
    let folder = Folder::of("tables-names", &[("u.csv", NAMED)]);
    folder.write("w.pipe", &program("csv(\"u.csv\")"));
    let run = |source: &str, out: &str| {
        let columns =
            "{ distance: \"Trip Distance\", class, second: \"column5\", last: \"column6\" }";
        let steps = "where distance > 1.0 |> shuffle |> map { distance, class, second, last } |> batch(9, tail: keep)";
        folder.write("p.pipe", &program(&format!("{source}, columns: {columns}) |> {steps}")));
        folder.pipec(&["run", "p.pipe", "--out", out]).ends(0, &["1 batch, 2 records"]);
    };
    run("csv(\"u.csv\"", "csv");
    assert!(folder.read("csv/class/00000000.jsonl").contains('a'));
    for format in ["parquet", "arrow", "mds"] {
        folder.pipec(&["run", "w.pipe", "--out", format, "--format", format]).ends(0, &[]);
        let (source, out) =
            (format!("{format}(\"{format}/0*.{format}\""), format!("from-{format}"));
        run(&source, &out);
        // The order of a shuffle is that of the file's records.
        for (column, kind) in
            [("distance", "npy"), ("last", "npy"), ("class", "jsonl"), ("second", "jsonl")]
        {
            let of = |folder_of: &str| {
                let path = folder.join(format!("{folder_of}/{column}/00000000.{kind}"));
                let mut bytes = fs::read(path).unwrap();
                bytes.sort_unstable();
                bytes
            };
            assert!(of("csv") == of(&out), "{column} of {format}");
        }
    }
}

#[test]
fn a_column_that_cannot_be_written_is_told_what_to_write() {
    let table = NAMED.replace(",4,b", ",,b");
    let folder = Folder::of("tables-unnamed", &[("u.csv", &table)]);
    let check = |body: &str, said: &[&str]| {
        folder.write("p.pipe", &program(body));
        let it = folder.pipec(&["check", "p.pipe"]);
        // Lines are as wide as a terminal.
        let all = (it.out + &it.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(it.code == 1 && said.iter().all(|it| all.contains(it)), "{said:?} in {all}");
    };
    let remedy = "the column `Trip Distance` has no name that a program can write: give it one in `csv`, `columns: \
                  { trip_distance: \"Trip Distance\", … }`";
    let u = "csv(\"u.csv\")";
    check(&format!("{u} |> map {{ x: trip_distance }}"), &["cannot find `trip_distance`", remedy]);
    check(
        &format!("{u} |> map {{ x: it[\"Trip Distance\"] }}"),
        &["cannot be indexed by text", remedy],
    );
    let others =
        "the record has the fields Trip Distance, Fare (USD), class, 1st, column5, column6;";
    check(&format!("{u} |> where length > 2.0"), &[others, remedy]);
    check(&format!("{u} |> map {{ x: it[\"class\"] }}"), &["write the field as `.class`"]);
    check(&format!("{u} |> map {{ x: clas }}"), &["did you mean `class`?"]);
    check("csv(\"u.csv\", columns: [\"Trip distance\"])", &["did you mean `Trip Distance`?"]);
    check("csv(\"u.csv\", columns: { a: class, b: 1 })", &["cannot find `class`"]);
    check("csv(\"u.csv\", columns: { class, b: 1 })", &["`columns` must say which column `b` is"]);
    check(
        "csv(\"u.csv\", columns: { class, b: \"class\" })",
        &["`class` two names, `class` and `b`"],
    );
    check("csv(\"u.csv\", columns: { class }, types: { first: i64 })", &["`types` names `first`"]);
    let run = |body: &str, said: &[&str]| {
        folder.write("p.pipe", &program(body));
        folder.pipec(&["run", "p.pipe"]).ends(5, said);
    };
    let missing = "`columns: { fare_usd: \"Fare (USD)\", … }, missing: { fare_usd: 0 }`";
    run(u, &["column `Fare (USD)` is empty", missing]);
    let named = "csv(\"u.csv\", columns: { fare: \"Fare (USD)\" })";
    run(named, &["u.csv", "column `fare` is empty", "`missing: { fare: 0 }`"]);
    // A fault of a column that was given a name is of that one alone, wherever it lies in the file.
    let body = "csv(\"u.csv\", columns: { first: \"1st\", fare: \"Fare (USD)\" }) |> map { fare: fare else -1, first }";
    folder.write("p.pipe", &program(body));
    folder.pipec(&["run", "p.pipe"]).ends(0, &["3 records"]);
}

#[test]
fn a_table_without_a_header_is_given_names() {
    let folder = Folder::of("tables-headless", &[("h.csv", "1,a\n2,b\n3,c\n")]);
    let body = "csv(\"h.csv\", header: false, columns: { n: \"column1\" }, types: { n: f32 }) |> map { n: n * 2.0 }";
    folder.write("p.pipe", &program(body));
    folder.pipec(&["run", "p.pipe"]).ends(0, &["3 records"]);
}
