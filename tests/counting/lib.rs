//! For tests: hot kernels take as many instructions as a file says, which unlike their time do not
//! depend on the machine.
//!
//! Valgrind counts them, whose processor has AVX2 and no AVX-512: `SLOW_TESTS=1 cargo test --release
//! instructions`. With `COUNT_AGAIN=1` files are written anew: what has changed is then to be told where
//! the change is.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "this is for tests")]

use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// What a count may differ by, of itself: the same loops came out 4.5 % apart where only modules beside
/// them had changed, and so how the compiler divides a crate. What it is to find, a loop that is no longer
/// vectorised or a call that is no longer inlined, is many times that.
const TOLERANCE: f64 = 0.06;

/// Counts the instructions of each of `kernels`, functions of the test program that calls this, while it
/// runs its ignored test `work`, and compares them with those in `file`.
///
/// It says so and does nothing unless `SLOW_TESTS` is set and the program is optimised, or where there is
/// no valgrind.
///
/// # Panics
/// One differs by more than 6%, of which 4.5 were seen to come of themselves.
pub fn compare(file: &Path, work: &str, kernels: &[&str]) {
    if std::env::var_os("SLOW_TESTS").is_none() || cfg!(debug_assertions) {
        println!("instructions are counted with SLOW_TESTS=1, and --release");
        return;
    }
    let Some(found) = counted(work) else {
        println!("there is no valgrind to count instructions");
        return;
    };
    let text: String =
        kernels.iter().map(|it| format!("{it} {}\n", found.get(*it).unwrap_or(&0))).collect();
    if std::env::var_os("COUNT_AGAIN").is_some() {
        return fs::write(file, text).unwrap();
    }
    let before = fs::read_to_string(file).unwrap();
    assert_eq!(before.lines().count(), kernels.len(), "a line for each kernel: COUNT_AGAIN=1");
    for line in before.lines() {
        let (kernel, count) = line.rsplit_once(' ').unwrap();
        let (before, now) = (count.parse::<f64>().unwrap(), found.get(kernel).copied());
        let ratio = now.unwrap_or(0) as f64 / before;
        assert!((ratio - 1.0).abs() <= TOLERANCE, "{kernel}: {before} before, now {now:?}\n{text}");
    }
}

/// The instructions of each function of this program while it runs the test `work`; none without valgrind.
fn counted(work: &str) -> Option<BTreeMap<String, u64>> {
    let to = std::env::temp_dir().join(format!("instructions-{}", std::process::id()));
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", to.display())])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", work, "--ignored", "--test-threads=1"])
        .output();
    let ended = ended.ok()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let counts = read(&to);
    fs::remove_file(to).unwrap();
    Some(counts)
}

/// Adds up what a file of callgrind's says of each function, without those that it calls.
fn read(file: &Path) -> BTreeMap<String, u64> {
    let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let (mut names, mut counts) = (BTreeMap::new(), BTreeMap::new());
    let (mut name, mut is_call) = (String::new(), false);
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            // A name stands only where its number comes first.
            let (number, said) = function.split_once(' ').unwrap_or((function, ""));
            let known = names.entry(number.to_owned()).or_insert_with(|| said.to_owned());
            name.clone_from(known);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            if let Some((number, said)) = function.split_once(' ') {
                names.insert(number.to_owned(), said.to_owned());
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|it: char| it.is_ascii_digit() || "+-*".contains(it)) {
            let count = line.split_once(' ').and_then(|it| it.1.parse().ok()).unwrap_or(0);
            *counts.entry(name.clone()).or_insert(0) += if is_call { 0 } else { count };
            is_call = false;
        }
    }
    counts
}
