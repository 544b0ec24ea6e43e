//! Programs, and what must come of them.

use crate::{output, outside, trial};
use compiler::format::format;
use driver::{
    Built, Loaded, Settings, SourceFile,
    peek::PeekOptions,
    verify::{VerifyOptions, verify},
};
use libtest_mimic::{Failed, Trial};
use plan::Diagnostic;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// What separates a case from what is expected of it.
const RULE: &str = "\n####\n";

type Check = fn(&Path, &str) -> Result<String, String>;

/// A check for each case of each folder, and for each example.
pub(crate) fn trials() -> Vec<Trial> {
    let folders: [(&str, Check); 8] = [
        ("errors", errors),
        ("explain", explain),
        ("fmt", formatted),
        ("lints", lints),
        ("outside", outside::case),
        ("peek", peek),
        ("rewrites", rewrites),
        ("run", run),
    ];
    let mut trials = Vec::new();
    for (folder, check) in folders {
        for path in files(&suite().join(folder)) {
            let name = format!("{folder}/{}", stem(&path));
            trials.push(trial(name, move || case(&path, check)));
        }
    }
    for path in files(&suite().join("../../examples")) {
        let name = format!("examples/{}", stem(&path));
        trials.push(trial(name, move || example(&path)));
    }
    trials
}

/// The folder of the cases.
pub(crate) fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("suite")
}

/// The `.pipe` files of a folder, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|it| it.flatten().map(|it| it.path()).collect());
    let mut paths: Vec<PathBuf> = entries.unwrap_or_default();
    paths.retain(|it| it.extension().is_some_and(|it| it == "pipe"));
    paths.sort();
    paths
}

fn case(path: &Path, check: Check) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let (source, expected) = text.split_once(RULE).unwrap_or((text.trim_end(), ""));
    let found = check(path, &format!("{source}\n"))?;
    let found: String =
        found.lines().map(|it| format!("# {it}").trim_end().to_owned() + "\n").collect();
    if found == expected {
        return Ok(());
    }
    if env::var_os("UPDATE").is_some() {
        fs::write(path, format!("{source}{RULE}{found}"))?;
        return Ok(());
    }
    Err(format!("expected:\n{expected}\nfound:\n{found}\nUPDATE=1 accepts what was found").into())
}

fn loaded(path: &Path, source: &str) -> Loaded {
    Loaded::from_text(path, source.to_owned())
}

/// The messages, each at its text.
fn errors(path: &Path, source: &str) -> Result<String, String> {
    let loaded = loaded(path, source);
    match driver::compile(&loaded, &Settings::default()) {
        Ok(_) => Err("the case must not compile".to_owned()),
        Err(all) => Ok(all.iter().map(|it| line(&loaded.files, it)).collect()),
    }
}

/// What is allowed and seldom meant, each at its text, with what would be written instead.
fn lints(path: &Path, source: &str) -> Result<String, String> {
    let loaded = loaded(path, source);
    let mistakes = driver::check(&loaded, &Settings::default());
    if let Some(it) = mistakes.iter().find(|it| it.is_error()) {
        return Err(line(&loaded.files, it));
    }
    let each = driver::lint(&loaded, &Settings::default()).into_iter().map(|it| {
        let fix = it.fix.as_ref().map(|it| format!("  fix: `{}`\n", it.replacement));
        line(&loaded.files, &it) + &fix.unwrap_or_default()
    });
    Ok(each.collect())
}

/// A message in two lines.
pub(crate) fn line(files: &[SourceFile], it: &Diagnostic) -> String {
    let text = files.get(usize::from(it.span.file.0)).map_or("", |file| it.span.text(&file.text));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = files.first().map_or(0, |file| {
        file.text[..(it.span.start as usize).min(file.text.len())].lines().count().max(1)
    });
    let help = it.help.as_ref().map(|it| format!("  help: {it}\n")).unwrap_or_default();
    format!("{} at `{text}` in line {line}: {}\n{help}", it.code, it.message)
}

fn compiled(path: &Path, source: &str) -> Result<driver::Compiled, String> {
    compiled_as(path, source, Settings::default())
}

pub(crate) fn compiled_as(
    path: &Path,
    source: &str,
    settings: Settings,
) -> Result<driver::Compiled, String> {
    let loaded = loaded(path, source);
    let settings = Settings { workers: Some(2), ..settings };
    let compiled = driver::compile(&loaded, &settings)
        .map_err(|all| all.iter().map(|it| line(&loaded.files, it)).collect::<String>())?;
    buildable(&compiled)?;
    Ok(compiled)
}

/// Whether a built file could carry the program, and would give it back as it is.
pub(crate) fn buildable(compiled: &driver::Compiled) -> Result<(), String> {
    reopened(compiled).map(|_| ())
}

/// The program as a built file gives it back.
pub(crate) fn reopened(compiled: &driver::Compiled) -> Result<driver::Compiled, String> {
    let built = Built::new(compiled.clone(), &Settings::default());
    let read = built.trailer().and_then(|it| Built::read(&it)).map_err(|it| it.to_string())?;
    match read == built {
        true => Ok(read.compiled),
        false => Err("a built file gives another program back".to_owned()),
    }
}

fn run(path: &Path, source: &str) -> Result<String, String> {
    let output = output::of(&compiled(path, source)?)?;
    // What is expected holds in any checkout.
    Ok(output.replace(&path.display().to_string(), &(stem(path) + ".pipe")))
}

fn explain(path: &Path, source: &str) -> Result<String, String> {
    let mut compiled = compiled(path, source)?;
    // A table is as wide as what stands in it: not as wide as the path to this checkout.
    for file in &mut compiled.files {
        file.path = stem(Path::new(&file.path)) + ".pipe";
    }
    let explained = compiled.explanation(compiled.plain_view());
    // The long form, unless the case says otherwise.
    Ok(if source.contains("# explain: short") { explained.short() } else { explained.text() })
}

/// What was rewritten and what was not, and that it gives the same; where the text says so, only
/// nearly.
fn rewrites(path: &Path, source: &str) -> Result<String, String> {
    let approx = source.contains("# --allow approx");
    let planned = compiled_as(path, source, Settings { approx, ..Settings::default() })?;
    let options = VerifyOptions { pairs: 1, workers: 2, ..VerifyOptions::default() };
    let mut said = planned.explanation(planned.plain_view()).rewrites() + "\n";
    let same = verify(&planned, &options, &mut |_| {}, &mut |pair| {
        let error = pair.error.map(|it| format!(", off by {:.1e} at most", it.max));
        said += &format!("{} outputs{}\n", pair.outputs, error.unwrap_or_default());
        said += &pair.difference.as_ref().map(|it| format!("{it:?}\n")).unwrap_or_default();
    });
    match same {
        Ok(true) => Ok(said),
        Ok(false) => Err(said),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The first records after each step.
fn peek(path: &Path, source: &str) -> Result<String, String> {
    let mut compiled = compiled(path, source)?;
    for file in &mut compiled.files {
        file.path = stem(Path::new(&file.path)) + ".pipe";
    }
    let options = PeekOptions { records: 3, memory: 1 << 28, ..PeekOptions::default() };
    let mut text = String::new();
    driver::peek::peek(&compiled, &options, &mut |_| {}, &mut |it| {
        text += &driver::peek::text(&it.peek);
    })
    .map_err(|it| it.to_string())?;
    Ok(text)
}

fn formatted(_: &Path, source: &str) -> Result<String, String> {
    let once = format(source).map_err(|it| format!("{it:?}"))?;
    let twice = format(&once).map_err(|it| format!("{it:?}"))?;
    if once == twice { Ok(once) } else { Err(format!("not the same again:\n{twice}")) }
}

/// An example is formatted, and each of its pipelines compiles.
fn example(path: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(path)?;
    let loaded = loaded(path, &source);
    let messages = driver::check(&loaded, &Settings::default());
    if !messages.is_empty() {
        return Err(messages.iter().map(|it| line(&loaded.files, it)).collect::<String>().into());
    }
    if format(&source).ok().as_deref() != Some(&source) {
        return Err("it is not as `pipec fmt` has it".into());
    }
    Ok(())
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
