//! `pipec cache`: what is kept on disk, whether it is sound, and room for more.

use super::{compiled, failed, print_json, samples_made};
use crate::{
    Exit,
    args::{CacheCommand, CacheFolderArgs, CacheGcArgs, CacheWhyArgs},
    figures::{bytes, count, things, time},
    talk::{Style, Talk, print},
};
use driver::{
    Constants, DiskOptions, Reach, Settings,
    store::{self, About, Kept, Removal, Verified, Why},
};
use plan::escaped;
use std::io::{self, Write};

/// Does what is said about what is kept.
pub(super) fn run(command: &CacheCommand, talk: &Talk) -> io::Result<Exit> {
    match command {
        CacheCommand::Ls(args) => list(args, talk),
        CacheCommand::Why(args) => why(args, talk),
        CacheCommand::Verify(args) => verify(args, talk),
        CacheCommand::Gc(args) => gc(args, talk),
    }
}

fn list(args: &CacheFolderArgs, talk: &Talk) -> io::Result<Exit> {
    let all = match store::list(&args.folder) {
        Ok(all) => all,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    if args.json {
        print_json(&all)?;
        return Ok(Exit::Fine);
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{:<10} {:>10} {:>8} {:>14}  what", "address", "values", "bytes", "used")?;
    for it in &all {
        let Kept { address, entries, bytes: used, age_seconds, in_use, about } = it;
        let age = if *in_use { "now".to_owned() } else { format!("{} ago", time(*age_seconds)) };
        let (values, used) = (count(*entries), bytes(*used as f64));
        writeln!(
            out,
            "{:<10} {values:>10} {used:>8} {age:>14}  {}",
            &address[..8],
            escaped(&what(about))
        )?;
    }
    let sum: u64 = all.iter().map(|it| it.bytes).sum();
    writeln!(out, "{}, {}", things(all.len() as u64, "address", "addresses"), bytes(sum as f64))?;
    Ok(Exit::Fine)
}

fn what(about: &Option<About>) -> String {
    match about {
        Some(About { pipeline, step, function, files, bytes: of, pipec, .. }) => {
            let files = things(*files, "file", "files");
            format!(
                "`{function}` of {step}, for `{pipeline}`, {files} of {}, pipec {pipec}",
                bytes(*of as f64)
            )
        }
        None => "no description".to_owned(),
    }
}

fn why(args: &CacheWhyArgs, talk: &Talk) -> io::Result<Exit> {
    let settings = Settings {
        pipeline: Some(args.name.clone()),
        params: args.set.iter().cloned().collect(),
        constants: Constants::Assumed,
        shows: Reach::Anywhere,
        ..Settings::default()
    };
    let compiled = match compiled(&args.file, settings, talk) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let lock = match super::lock((&args.file, false), &compiled, talk) {
        Ok(lock) => lock.map(|it| it.on_cores(driver::cores()).0),
        Err(exit) => return Ok(exit),
    };
    let (folder, verify_inputs) = (args.folder.clone(), args.verify_inputs);
    let disk = DiskOptions { folder, limit: args.cache_limit, verify_inputs };
    let asked = (args.epochs, args.memory, args.objective, lock.as_ref());
    match store::why(&compiled, &disk, asked, &mut samples_made(talk)) {
        Ok(all) if args.json => print_json(&all)?,
        Ok(all) => {
            let epochs = things(u64::from(args.epochs), "epoch", "epochs");
            print(&format!("{}, runs of {epochs}:\n", compiled.program.name))?;
            all.iter().try_for_each(reason)?;
        }
        Err(failure) => return Ok(failed(talk, &failure)),
    }
    Ok(Exit::Fine)
}

fn reason(it: &Why) -> io::Result<()> {
    let kept = if it.kept { "cached" } else { "not cached" };
    print(&format!("`{}` of {}: {kept}: {}\n", it.function, it.step, it.why))?;
    match (&it.address, it.entries) {
        (Some(address), n) if n > 0 => {
            print(&format!("  found: {} at {}\n", things(n, "value", "values"), &address[..8]))?;
        }
        (Some(_), _) if it.kept || it.changed.is_some() => {
            let changed = it.changed.as_deref().unwrap_or("nothing similar was cached before");
            print(&format!("  not found: {changed}\n"))?;
        }
        _ => {}
    }
    Ok(())
}

fn verify(args: &CacheFolderArgs, talk: &Talk) -> io::Result<Exit> {
    let (mut all, mut shown) = (Vec::new(), Ok(()));
    let sound = store::verify(&args.folder, &mut |it| {
        if shown.is_ok() && !args.json {
            shown = print(&format!("{}\n", verified(it)));
        }
        all.push(it.clone());
    });
    shown?;
    if args.json {
        print_json(&all)?;
    }
    match sound {
        Ok(true) => Ok(Exit::Fine),
        Ok(false) => {
            let help = "the next run recomputes damaged values";
            talk.error("some cached values are damaged", Some(help));
            Ok(Exit::Io)
        }
        Err(failure) => Ok(failed(talk, &failure)),
    }
}

fn verified(it: &Verified) -> String {
    let address = &it.address[..8];
    let sound = things(it.entries, "value is", "values are");
    let state = match (&it.unreadable, it.damaged) {
        (Some(why), _) => format!("cannot be read: {why}"),
        (None, 0) => format!("{sound} sound"),
        (None, n) => format!("{} damaged, {sound} sound", things(n, "value is", "values are")),
    };
    format!("{address}  {state}  {}", what(&it.about))
}

fn gc(args: &CacheGcArgs, talk: &Talk) -> io::Result<Exit> {
    let removed = match store::gc(&args.folder, &Removal { max: args.max, older: args.older }) {
        Ok(removed) => removed,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    if args.json {
        print_json(&removed)?;
        return Ok(Exit::Fine);
    }
    let gone = things(removed.addresses.len() as u64, "address", "addresses");
    let (freed, left) = (bytes(removed.bytes as f64), bytes(removed.left as f64));
    talk.say(&format!("{gone} removed, {freed}; {left} left"));
    if removed.in_use > 0 {
        let used = things(removed.in_use, "address kept", "addresses kept");
        let note = format!("{used}: in use by a run");
        talk.say(&talk.styled(Style::Warning, &note));
    }
    Ok(Exit::Fine)
}
