//! `pipec explain`: what a pipeline will do and cost; the long story of a message.

use super::{built, compiled, may_replace, print_json, run::report, samples_made, settings};
use crate::{
    Exit,
    args::{ExplainArgs, Form},
    messages,
    talk::{Talk, print},
};
use driver::{
    Circumstances, Compiled, Constants, DiskOptions, Host, Loaded, Ours, Planned, Profile, Reach,
    Settings,
    reference::{self, FaultKind, Found},
};
use plan::{CodeInfo, Diagnostic};
use runtime::Listed;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// Explains what `args` names.
pub(super) fn run(args: &ExplainArgs, talk: &Talk) -> io::Result<Exit> {
    if let Some([a, b]) = args.compare.as_deref() {
        return compared((a, b), args.json, talk);
    }
    if let Some(exit) = code(args, talk)? {
        return Ok(exit);
    }
    let page = args.html.as_deref().filter(|it| *it != Path::new("-"));
    if let Err(exit) = page.map_or(Ok(()), |it| may_replace(it, Ours::Page, talk)) {
        return Ok(exit);
    }
    match args.emit {
        Some(Form::Source | Form::Ast) => written(args, talk),
        _ => match compiled(target(args), looking(args), talk) {
            Ok(compiled) => match measured(args, said_missing(&compiled, talk), talk) {
                // What it costs here, also where it was built elsewhere.
                Ok(profile) => match circumstances(args, (&compiled, profile), talk) {
                    Ok(of) => planned(args, (compiled, &of), talk),
                    Err(exit) => Ok(exit),
                },
                Err(exit) => Ok(exit),
            },
            Err(exit) => Ok(exit),
        },
    }
}

/// Says which files it names that are not there: what is told of their sizes is assumed.
fn said_missing<'a>(compiled: &'a Compiled, talk: &Talk) -> &'a Compiled {
    for Diagnostic { message, help, .. } in driver::missing_files_of(compiled) {
        talk.warning(&format!("{message}: sizes are assumed"), &help.unwrap_or_default());
    }
    compiled
}

/// How it is compiled: nothing is run unless that is asked for.
fn looking(args: &ExplainArgs) -> Settings {
    let constants = if args.analyze { Constants::Computed } else { Constants::Assumed };
    let shows = Reach::of(args.program.allow_outside);
    Settings { constants, memory: args.memory, shows, ..settings(&args.program) }
}

/// What is explained.
fn target(args: &ExplainArgs) -> &Path {
    args.target.as_deref().expect("it is there where nothing is compared")
}

/// What was measured, where that is asked for.
fn measured(args: &ExplainArgs, compiled: &Compiled, talk: &Talk) -> Result<Option<Profile>, Exit> {
    if args.analyze {
        let seconds = Duration::from_secs(10);
        return super::profile::measured(compiled, (&args.program, None, seconds), talk).map(Some);
    }
    let Some(path) = &args.profile else { return Ok(usual(args, compiled, talk)) };
    let profile = Profile::read(path).map_err(|it| super::failed(talk, &it))?;
    let (name, what) = (path.display(), &compiled.program.name);
    if !profile.is_of_any(compiled) {
        let help = "create a new one with `pipec profile`";
        talk.error(&format!("`{name}` was measured with another version of `{what}`"), Some(help));
        return Err(Exit::Usage);
    }
    if profile.kept {
        talk.say(&format!(
            "`{name}` was measured with cached values, so its costs are not used: create a \
             profile without a cache with `pipec profile`"
        ));
    }
    Ok(Some(profile))
}

/// The profile that lies where `profile` and `tune` write it, beside the program or in this folder, where it is of the
/// pipeline as it is now: the newer one.
fn usual(args: &ExplainArgs, compiled: &Compiled, talk: &Talk) -> Option<Profile> {
    if args.no_profile || !matches!(args.emit, None | Some(Form::Estimate)) {
        return None;
    }
    let name = &compiled.program.name;
    let here = PathBuf::from(format!("{name}.profile"));
    let mut paths = vec![target(args).with_file_name(&here), here];
    paths.dedup();
    let changed = |it: &PathBuf| it.metadata().and_then(|it| it.modified()).ok();
    paths.retain(|it| changed(it).is_some());
    paths.sort_by_key(|it| std::cmp::Reverse(changed(it)));
    let found = paths.iter().filter_map(|it| Some((it.display(), Profile::read(it).ok()?)));
    let mut stale = None;
    for (path, profile) in found.filter(|it| !it.1.kept) {
        if profile.is_of_any(compiled) {
            talk.say(&format!("costs are from `{path}`; use `--no-profile` for default costs"));
            return Some(profile);
        }
        stale.get_or_insert(path);
    }
    let path = stale?;
    let help = format!("`pipec profile {} {name}` creates a new one", target(args).display());
    talk.say(&format!(
        "`{path}` was measured with another version of `{name}` and is not used: {help}"
    ));
    None
}

/// What it is explained for.
fn circumstances(
    args: &ExplainArgs,
    (compiled, profile): (&Compiled, Option<Profile>),
    talk: &Talk,
) -> Result<Circumstances, Exit> {
    let failed = |it| super::failed(talk, &it);
    let host = args.host.as_deref().map_or_else(Host::load_default, Host::load).map_err(failed)?;
    let host = Some(host).filter(|it| args.host.is_some() || !it.is_assumed());
    let disk = args.cache.clone();
    let disk =
        disk.map(|folder| DiskOptions { folder, limit: args.cache_limit, verify_inputs: false });
    let lock = super::lock((target(args), false), compiled, talk)?;
    let sampled = disk.as_ref().filter(|it| it.folder.is_dir());
    let sampled = sampled.and_then(|it| compiled.sampled(it, &mut samples_made(talk)));
    let lock = lock.map(|it| it.on_cores(driver::cores()).0);
    Ok(Circumstances {
        changes: args.what_if.clone().unwrap_or_default().0,
        consumer: args.step_time.map(|it| it.as_secs_f64()),
        epochs: args.epochs,
        memory: args.memory,
        workers: args.program.workers.map(usize::from),
        profile,
        disk,
        host,
        elsewhere: args.host.is_some(),
        objective: args.objective,
        sampled,
        lock,
    })
}

/// Two profiles beside each other.
fn compared((a, b): (&Path, &Path), json: bool, talk: &Talk) -> io::Result<Exit> {
    let read = |path: &Path| Profile::read(path).map_err(|it| super::failed(talk, &it));
    let (first, second) = match (read(a), read(b)) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(exit), _) | (_, Err(exit)) => return Ok(exit),
    };
    let names = [a, b].map(|it| it.display().to_string());
    let comparison = first.beside(&names[0], (&names[1], &second));
    match json {
        true => print_json(&comparison)?,
        false => print(&comparison.text())?,
    }
    Ok(Exit::Fine)
}

/// Writes a page to a file or to stdout.
fn page(path: &Path, page: &str, talk: &Talk) -> io::Result<Exit> {
    if path == Path::new("-") {
        io::stdout().write_all(page.as_bytes())?;
        return Ok(Exit::Fine);
    }
    match driver::write(path, "the page", &mut |out| out.write_all(page.as_bytes())) {
        Ok(()) => {
            talk.say(&format!("written to `{}`", path.display()));
            Ok(Exit::Fine)
        }
        Err(failure) => Ok(super::failed(talk, &failure)),
    }
}

/// The story of a message or a kind of fault, where one is named rather than a file.
fn code(args: &ExplainArgs, talk: &Talk) -> io::Result<Option<Exit>> {
    let Some(name) = target(args).to_str().filter(|it| !Path::new(it).exists()) else {
        return Ok(None);
    };
    let codes = driver::codes();
    let code = codes.iter().find(|it| it.id.eq_ignore_ascii_case(name) || it.name == name);
    let kind = reference::fault_kind(name);
    if code.is_some() || kind.is_some() {
        match (code, kind) {
            (Some(code), _) if args.json => print_json(code)?,
            (None, Some(kind)) if args.json => print_json(kind)?,
            _ => {
                let stories = [code.map(|it| story(it)), kind.map(of_fault)];
                print(&stories.into_iter().flatten().collect::<Vec<_>>().join("\n"))?;
            }
        }
        return Ok(Some(Exit::Fine));
    }
    if !looks_like_code(name) {
        return Ok(of_library(name, talk));
    }
    let help = "a code is `PC` and four digits, such as PC0123; it is at the start of each message";
    talk.error(&format!("unknown code `{name}`"), Some(help));
    Ok(Some(Exit::Usage))
}

/// Points to the documentation where neither a file nor a message is named, but something that has one.
fn of_library(name: &str, talk: &Talk) -> Option<Exit> {
    let what = match reference::find(name) {
        Found::Topics(_) | Found::Parameters(_) => {
            format!("`{name}` is a name of the language: `pipec doc {name}` explains it")
        }
        Found::Later(_) | Found::Foreign(_) => {
            format!("`pipec doc {name}` shows the equivalent in pipec")
        }
        Found::Code(_) | Found::Fault(_) | Found::Nothing(_) => return None,
    };
    talk.error(&format!("`{name}` is neither a file nor a code"), Some(&what));
    Some(Exit::Usage)
}

fn looks_like_code(name: &str) -> bool {
    let digits = name.strip_prefix("PC").or_else(|| name.strip_prefix("pc"));
    digits.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
}

/// A code with its long story, its paragraphs in lines of a width that is read easily.
pub(super) fn story(code: &CodeInfo) -> String {
    let mut text = format!("{} {}\n\n", code.id, code.name);
    for line in code.long.trim_end().lines() {
        match line.starts_with("    ") {
            true => text += &format!("{line}\n"),
            false => text += &wrapped(line, 80),
        }
    }
    text
}

/// What a kind of fault is, and what to do about it.
pub(super) fn of_fault(kind: &FaultKind) -> String {
    let (cause, cure) = (wrapped(kind.cause, 80), wrapped(kind.cure, 80));
    format!("{} (a fault: a record that could not be used)\n\n{cause}\n{cure}", kind.name)
}

/// A paragraph in lines of at most `width` columns, where its words allow it.
pub(super) fn wrapped(line: &str, width: usize) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split(' ') {
        let len = word.chars().count();
        if column > 0 && column + 1 + len > width {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += len;
    }
    text.push('\n');
    text
}

/// The forms that need no plan.
fn written(args: &ExplainArgs, talk: &Talk) -> io::Result<Exit> {
    let loaded = match loaded(args, talk) {
        Ok(loaded) => loaded,
        Err(exit) => return Ok(exit),
    };
    if loaded.is_broken() {
        return Ok(messages::conclude(talk, &loaded.files, &loaded.diagnostics));
    }
    let text = match args.emit {
        Some(Form::Ast) => driver::dump(&loaded.trees[0]),
        _ => driver::format(&loaded.files[0].text).unwrap_or_default(),
    };
    match args.json {
        true => print_json(&text)?,
        false => crate::talk::print(&text)?,
    }
    Ok(Exit::Fine)
}

/// The texts of a program, or of what was built of it.
fn loaded(args: &ExplainArgs, talk: &Talk) -> Result<Loaded, Exit> {
    match built(target(args), talk)? {
        Some(built) => Ok(built.loaded()),
        None => Loaded::read_within(target(args), Reach::of(args.program.allow_outside))
            .map_err(|it| messages::unreadable(talk, &it)),
    }
}

/// The forms that a plan has.
fn planned(
    args: &ExplainArgs,
    (compiled, circumstances): (Compiled, &Circumstances),
    talk: &Talk,
) -> io::Result<Exit> {
    let once = args.strategies && circumstances.epochs < 2 && args.cache.is_none();
    let of = match once {
        true => &Circumstances { epochs: EPOCHS_SHOWN[0], ..circumstances.clone() },
        false => circumstances,
    };
    let planned = match compiled.planned(of, &mut samples_made(talk)) {
        Ok(planned) => planned,
        Err(failure) => return Ok(super::failed(talk, &failure)),
    };
    if args.strategies {
        return strategies(args, &planned, (circumstances.epochs, once), talk);
    }
    let (explained, compiled) = (planned.explanation(), &planned.compiled);
    if let Some(path) = &args.html {
        let observed = circumstances.profile.as_ref().map(Profile::observed);
        return page(path, &explained.html(observed.as_ref()), talk);
    }
    let with_spared = |text: String| {
        compiled.spared().iter().fold(text, |text, it| {
            let text = text.trim_end();
            format!("{text}\n\nnot read: {}\n", report::spared(it))
        })
    };
    match (args.emit, args.json) {
        (None, false) if args.dot => print(&explained.dot())?,
        (None, false) if args.rewrites => print(&with_spared(explained.rewrites()))?,
        (None, false) if args.verbose => print(&with_spared(explained.text()))?,
        (None, false) => print(&explained.short())?,
        (Some(Form::Plan), false) => print(&compiled.plan_text())?,
        (Some(Form::Program), false) => print(&driver::program_text(compiled.shown_program()))?,
        (Some(form @ (Form::Clif | Form::Asm)), _) => return machine_code(compiled, form, talk),
        (Some(Form::Plan), true) => print_json(&compiled.shown_plan().plan)?,
        (Some(Form::Program), true) => print_json(compiled.shown_program())?,
        (Some(Form::Estimate), _) => print_json(&compiled.shown_plan().estimate)?,
        (_, true) => print_json(&explained)?,
        (Some(Form::Source | Form::Ast), false) => unreachable!("these need no plan"),
    }
    Ok(Exit::Fine)
}

/// Epochs for which it is shown what could be cached, where they are not said.
const EPOCHS_SHOWN: [u32; 3] = [2, 10, 90];

/// What could be cached, beside each other.
fn strategies(
    args: &ExplainArgs,
    planned: &Planned,
    (epochs, once): (u32, bool),
    talk: &Talk,
) -> io::Result<Exit> {
    let once = once && !args.json && !args.csv;
    if once {
        talk.say(
            "one epoch reads each record once, so nothing is cached: these are 2, 10 and 90 epochs",
        );
    }
    let explained = planned.explanation();
    let epochs = if once { &EPOCHS_SHOWN[..] } else { &[epochs][..] };
    let mut pages = Vec::new();
    for (at, epochs) in epochs.iter().enumerate() {
        let found = match planned.strategies(*epochs) {
            Ok(Some(found)) => found,
            Ok(None) => {
                talk.error("the costs of the steps are not known", None);
                return Ok(Exit::Usage);
            }
            Err(failure) => return Ok(super::failed(talk, &failure)),
        };
        match (args.json, args.csv) {
            _ if args.html.is_some() => pages.push(found),
            (true, _) => print_json(&found)?,
            (false, true) => print(&explained.strategies_csv(&found))?,
            (false, false) => {
                let space = if at > 0 { "\n" } else { "" };
                print(&format!("{space}{}", explained.strategies(&found)))?;
            }
        }
    }
    match &args.html {
        Some(path) => page(path, &explained.strategies_html(&pages), talk),
        None => Ok(Exit::Fine),
    }
}

/// The loops that the arithmetic of `program` becomes.
fn machine_code(compiled: &Compiled, form: Form, talk: &Talk) -> io::Result<Exit> {
    let listed = runtime::machine_code(&compiled.program, &compiled.prepared);
    let Listed { made, groups: all } = match listed {
        Ok(all) => all,
        Err(why) => {
            talk.error(&format!("no arithmetic is compiled: {why}"), None);
            return Ok(Exit::Usage);
        }
    };
    let mut out = io::stdout().lock();
    if !all.is_empty() {
        writeln!(out, "; {made}")?;
    }
    for code in &all {
        let (steps, text) =
            (code.steps.join(" "), if form == Form::Clif { &code.clif } else { &code.asm });
        let of = format!("s{} v{}, {} operations", code.stage, code.value, code.operations);
        writeln!(out, "; {of}    # {steps}\n{text}")?;
    }
    if all.is_empty() {
        talk.say("no part of it is compiled: `explain --emit program` shows what it computes");
    }
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree\n");
        assert_eq!(wrapped("", 7), "\n");
        assert_eq!(wrapped("incompressible", 7), "incompressible\n");
    }

    #[test]
    fn codes_are_told_from_files() {
        assert!(looks_like_code("PC0123") && looks_like_code("pc9"));
        assert!(
            !looks_like_code("PC") && !looks_like_code("train.pipe") && !looks_like_code("PCx")
        );
    }
}
