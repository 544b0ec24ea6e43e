//! `pipec sample`: data to try things on.

use super::print_json;
use crate::{
    Exit,
    args::{SampleArgs, SampleCommand},
    figures::{bytes, things},
    talk::Talk,
};
use sample::{Error, Kind, Request, Summary};
use std::io;

/// Makes what was asked for.
pub(super) fn run(command: &SampleCommand, talk: &Talk) -> io::Result<Exit> {
    let (kind, args) = match command {
        SampleCommand::Images(args) => (Kind::Images, args),
        SampleCommand::Shards(args) => (Kind::Shards, args),
        SampleCommand::Boxes(args) => (Kind::Boxes, args),
        SampleCommand::Detection(args) => (Kind::Detection, args),
        SampleCommand::Tables(args) => (Kind::Tables, args),
        SampleCommand::Text(args) => (Kind::Text, args),
        SampleCommand::Chats(args) => (Kind::Chats, args),
    };
    let count = args.count.unwrap_or_else(|| kind.count());
    let request = Request { kind, count, seed: args.seed };
    let made = request.make(args.folder.clone(), &mut |made| {
        talk.passing(&format!("{made} of {}", counted(&request, count)));
    });
    talk.passed();
    match made {
        Ok(summary) => told((args, &request), summary, talk),
        Err(error) => {
            let help = match &error {
                Error::Io { source, .. } => Some(driver::write_remedy(source)),
                _ => None,
            };
            talk.error(&error.to_string(), help);
            Ok(if matches!(error, Error::Parameter(_)) { Exit::Usage } else { Exit::Io })
        }
    }
}

fn counted(request: &Request, n: u64) -> String {
    things(n, one(request), request.things())
}

fn told(
    (args, request): (&SampleArgs, &Request),
    summary: Summary,
    talk: &Talk,
) -> io::Result<Exit> {
    let Summary { made, kept, bytes: written } = summary;
    let folder = args.folder.display();
    if args.json {
        print_json(&serde_json::json!({
            "folder": folder.to_string(), "made": made, "kept": kept, "bytes": written,
        }))?;
        return Ok(Exit::Fine);
    }
    let new = counted(request, made);
    talk.say(&match (made, kept) {
        (0, 1) => format!("`{folder}` already contains this {}", one(request)),
        (0, _) => format!("`{folder}` already contains these {}", counted(request, kept)),
        (_, 0) => format!("{new} in `{folder}`, {}", bytes(written as f64)),
        _ => {
            let written = bytes(written as f64);
            format!("{new} more in `{folder}`, {written}; {kept} already existed")
        }
    });
    Ok(Exit::Fine)
}

fn one(request: &Request) -> &'static str {
    request.things().trim_end_matches('s')
}
