//! `pipec peek`: the records after each step, as text and as a contact sheet.

use super::{compiled, failed, may_replace, print_json, samples_made, settings};
use crate::{
    Exit,
    args::PeekArgs,
    talk::{Talk, print},
};
use driver::{
    Compiled, Ours, Settings,
    peek::{self, Looked, PeekOptions},
    sheet::{PICTURES_MAX, PICTURES_OF_RECORD_MAX, Sheet, has_picture},
};
use std::{io, path::Path};

/// Looks into the pipeline that `args` names.
pub(super) fn run(args: &PeekArgs, talk: &Talk) -> io::Result<Exit> {
    let free = args.save.as_deref().map_or(Ok(()), |it| may_replace(it, Ours::Sheet, talk));
    if let Err(exit) = free {
        return Ok(exit);
    }
    if let Some(path) = args.save.as_deref().filter(|it| !is_png(it)) {
        let message = format!(
            "a contact sheet is a PNG file, but `{}` does not end in `.png`",
            path.display()
        );
        let help = format!("`--save {}`", path.with_extension("png").display());
        talk.error(&message, Some(&help));
        return Ok(Exit::Usage);
    }
    let compiled = match compiled(
        &args.file,
        Settings { memory: args.memory, ..settings(&args.pipeline.program()) },
        talk,
    ) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let at = args.at.as_ref().map(|it| peek::step_named(&compiled, it)).transpose();
    let at = match at {
        Ok(at) => at,
        Err((message, help)) => {
            talk.error(&message, Some(&help));
            return Ok(Exit::Usage);
        }
    };
    let records = args.records as usize;
    let usual = PeekOptions::default();
    let memory = args.memory.unwrap_or(usual.memory);
    let (seed, epoch, whole_process) = (args.seed, args.epoch, true);
    let options = PeekOptions { records, seed, epoch, at, memory, whole_process };
    match &args.record {
        Some(record) => follow(args, &compiled, (&options, record), talk),
        None => steps(args, &compiled, &options, talk),
    }
}

/// Whether a file is named as a PNG, or not as anything.
fn is_png(path: &Path) -> bool {
    path.extension().is_none_or(|it| it.eq_ignore_ascii_case("png"))
}

/// The first records after each step.
fn steps(
    args: &PeekArgs,
    compiled: &Compiled,
    options: &PeekOptions,
    talk: &Talk,
) -> io::Result<Exit> {
    let (mut all, mut sheet, mut shown) = (Vec::new(), Sheet::default(), Ok(()));
    let outcome = peek::peek(compiled, options, &mut samples_made(talk), &mut |looked| {
        if args.save.is_some() && has_picture(looked.fields, looked.peek.batched) {
            sheet = Sheet::of(compiled, &looked, options.records);
        }
        let Looked { peek: step, .. } = looked;
        if args.json {
            all.push(step);
        } else if shown.is_ok() {
            shown = print(&peek::text(&step));
        }
    });
    shown?;
    if args.json {
        print_json(&all)?;
    }
    if let Err(failure) = outcome {
        return Ok(failed(talk, &failure));
    }
    Ok(saved(args, &sheet, talk))
}

fn saved(args: &PeekArgs, sheet: &Sheet, talk: &Talk) -> Exit {
    let Some(path) = &args.save else { return Exit::Fine };
    if sheet.pictures() == 0 {
        let help = "an image is a field of u8, u16 or floats with 1, 3 or 4 channels, such as \
                    `u8[h, w, 3]` or `f32[3, h, w]`";
        talk.error("there are no images to save", Some(help));
        return Exit::Usage;
    }
    if let Err(failure) = sheet.save(path) {
        return failed(talk, &failure);
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (pictures, records) = (count(sheet.pictures(), "image"), count(sheet.records(), "record"));
    let left_out = match sheet.left_out() {
        0 => String::new(),
        n => format!(
            "; {n} more did not fit: a sheet has at most {PICTURES_MAX} images, a record at most \
             {PICTURES_OF_RECORD_MAX} of them"
        ),
    };
    talk.say(&format!("{pictures} of {records} in `{}`{left_out}", path.display()));
    Exit::Fine
}

/// One record through all steps.
fn follow(
    args: &PeekArgs,
    compiled: &Compiled,
    (options, record): (&PeekOptions, &str),
    talk: &Talk,
) -> io::Result<Exit> {
    let (mut all, mut shown) = (Vec::new(), Ok(()));
    let found = peek::follow(compiled, options, record, &mut samples_made(talk), &mut |it| {
        if options.at.as_ref().is_some_and(|at| *at != it.step) {
            return;
        }
        if args.json {
            all.push(it);
        } else if shown.is_ok() {
            shown = print(&peek::followed_text(&it));
        }
    });
    shown?;
    if args.json {
        print_json(&all)?;
    }
    match found {
        Ok(true) => Ok(Exit::Fine),
        Ok(false) => {
            let help = "use the id of 16 digits that `peek` shows at the source, or the end of a \
                        file path";
            talk.error(&format!("cannot find the record `{record}` in any source"), Some(help));
            Ok(Exit::Usage)
        }
        Err(failure) => Ok(failed(talk, &failure)),
    }
}
