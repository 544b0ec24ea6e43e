//! `pipec inspect`: what files hold, and a program that reads them.

use super::print_json;
use crate::{
    Exit,
    args::InspectArgs,
    figures::{bytes, things},
    talk::{Talk, print},
};
use driver::{
    inspect::{self, InspectOptions, Inspected},
    peek,
};
use std::io;

/// Looks at what `args` names.
pub(super) fn run(args: &InspectArgs, talk: &Talk) -> io::Result<Exit> {
    let options = InspectOptions { records: args.records as usize };
    let found = match inspect::inspect(&args.path, &options) {
        Ok(found) => found,
        Err(error) => {
            talk.error(&error.message, error.help.as_deref());
            return Ok(if error.is_io { Exit::Io } else { Exit::Usage });
        }
    };
    if args.json {
        print_json(&found)?;
    } else if args.program {
        print(&found.program)?;
    } else {
        print(&told(&found))?;
    }
    Ok(match &found.failure {
        Some(why) => {
            talk.error(why, None);
            Exit::Io
        }
        None => Exit::Fine,
    })
}

fn told(found: &Inspected) -> String {
    let what = format!("{} file", found.format);
    let mut parts = vec![things(found.files as u64, &what, &format!("{what}s"))];
    parts.extend(found.bytes.map(|it| bytes(it as f64)));
    parts.extend(found.records.map(|it| things(it, "record", "records")));
    let mut text = format!("`{}`: {}\n", found.path, parts.join(", "));
    if !found.others.is_empty() {
        let shown = found.others.iter().map(|(extension, n)| format!("{n} × {extension}"));
        text += &format!("not read: {}\n", shown.collect::<Vec<_>>().join(", "));
    }
    if let Some(first) = &found.first {
        // Which step it is says nothing here.
        let step = peek::text(first);
        text += &format!("\n{}", &step[step.find('{').unwrap_or(0)..]);
    }
    let program: Vec<_> = found.program.lines().map(|it| format!("  {it}")).collect();
    text + &format!("\nThis reads it:\n\n{}\n", program.join("\n"))
}
