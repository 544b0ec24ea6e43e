//! `pipec build`: one executable that carries a pipeline.

use super::{known_passes, may_replace};
use crate::{
    Exit,
    args::{Allowed, BuildArgs},
    figures::{bytes, things},
    messages,
    talk::Talk,
};
use driver::{
    Built, Compiled, Loaded, Ours, Reach, Settings, SourceFile, Stop,
    build::{self, NotMade},
    built::needs_python,
    lock::Chosen,
};
use plan::Ahead;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Builds what `args` names.
pub(super) fn run(args: &BuildArgs, talk: &Talk) -> io::Result<Exit> {
    Ok(built(args, talk).unwrap_or_else(|exit| exit))
}

fn built(args: &BuildArgs, talk: &Talk) -> Result<Exit, Exit> {
    if super::built(&args.file, talk)?.is_some() {
        let help = "pass the source of the program; copy a built executable like any other file";
        talk.error(&format!("`{}` is already built", args.file.display()), Some(help));
        return Err(Exit::Usage);
    }
    known_passes(&args.disable_pass, talk)?;
    let settings = Settings {
        pipeline: args.name.clone(),
        params: args.set.iter().cloned().collect(),
        without: args.disable_pass.clone(),
        approx: args.allow.contains(&Allowed::Approx),
        // It is made for no machine: what it costs on one is estimated there.
        workers: Some(1),
        reach: Reach::of(args.allow_outside),
        shows: Reach::Anywhere,
        ..Settings::default()
    };
    let mut compiled = compiled(&args.file, &settings, talk)?;
    compiled.lock = super::lock((&args.file, args.locked), &compiled, talk)?;
    let tuned = compiled.lock.as_ref().map_or(String::new(), tuned);
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(&compiled.program.name));
    may_replace(&out, Ours::Executable, talk)?;
    let built = Built::new(compiled, &settings);
    let built = built.compiled_for(args.target_cpu.as_deref()).map_err(|why| {
        let cpu = args.target_cpu.as_deref().unwrap_or_default();
        talk.error(&format!("cannot compile for `{cpu}`: {why}"), known_cpus().as_deref());
        Exit::Usage
    })?;
    let code = built.code.as_ref().map_or(String::new(), code);
    let written = build::make(&built, &out);
    let n_bytes = written.map_err(|NotMade { why, help }| {
        talk.error(&why, help.as_deref());
        Exit::Io
    })?;
    talk.say(&format!("built `{}`, {}{code}{tuned}", out.display(), bytes(n_bytes as f64)));
    Ok(Exit::Fine)
}

/// For what its arithmetic was compiled.
fn code(code: &Ahead) -> String {
    format!(", arithmetic compiled for `{}`", code.cpu)
}

/// What to name instead.
fn known_cpus() -> Option<String> {
    let all = runtime::processors();
    (!all.is_empty()).then(|| format!("the CPUs are {}", all.join(", ")))
}

/// What goes along of the lock.
fn tuned(lock: &Chosen) -> String {
    let keeps = match &lock.kept()[..] {
        [] => String::new(),
        keep => format!(", caches {}", keep.join(", ")),
    };
    format!(", tuned: {}{keeps}", things(lock.workers as u64, "worker", "workers"))
}

/// Compiles a program under names that do not say where it was built; messages say it all the same.
fn compiled(file: &Path, settings: &Settings, talk: &Talk) -> Result<Compiled, Exit> {
    let mut loaded =
        Loaded::read_within(file, settings.reach).map_err(|it| messages::unreadable(talk, &it))?;
    let named = loaded.files.clone();
    let folder = file.parent().unwrap_or(Path::new(""));
    loaded.files.iter_mut().for_each(|it| name_from(folder, it));
    // They are computed here, by all cores, whatever it is built for.
    let mut computing = Settings { workers: None, ..settings.clone() };
    super::constants(&loaded, &mut computing, (&Stop::default(), talk))?;
    let settings = &Settings { answers: computing.answers, ..settings.clone() };
    match driver::compile(&loaded, settings) {
        Ok(mut compiled) => {
            let outside = needs_python(&loaded, &compiled);
            if !outside.is_empty() {
                return Err(messages::conclude(talk, &named, &outside));
            }
            // What it uses is read again, by its real names.
            loaded.files.clone_from(&named);
            compiled.warnings.extend(driver::label_warnings(&loaded, &compiled, settings));
            messages::print(talk, &named, &compiled.warnings);
            Ok(compiled)
        }
        Err(diagnostics) => Err(messages::conclude(talk, &named, &diagnostics)),
    }
}

/// Names a file by its path from the folder of the main one.
fn name_from(folder: &Path, file: &mut SourceFile) {
    if let Ok(it) = Path::new(&file.path).strip_prefix(folder) {
        file.path = it.display().to_string();
    }
}
