//! `pipec sample`: data to try things on.

use super::print_json;
use crate::{
    Exit,
    args::{ImagesArgs, SampleCommand},
    figures::{bytes, things},
    talk::Talk,
};
use sample::{Error, Images, Summary};
use std::io;

/// Makes what was asked for.
pub(super) fn run(command: &SampleCommand, talk: &Talk) -> io::Result<Exit> {
    let SampleCommand::Images(args) = command;
    let images = Images { count: args.count, seed: args.seed, ..Images::new(args.folder.clone()) };
    let made = sample::images(&images, &mut |made| {
        talk.passing(&format!("{made} of {}", things(args.count, "image", "images")));
    });
    talk.passed();
    match made {
        Ok(summary) => told(args, summary, talk),
        Err(error) => {
            talk.error(&error.to_string(), None);
            Ok(if matches!(error, Error::Parameter(_)) { Exit::Usage } else { Exit::Io })
        }
    }
}

fn told(args: &ImagesArgs, summary: Summary, talk: &Talk) -> io::Result<Exit> {
    let Summary { made, kept, bytes: written } = summary;
    let folder = args.folder.display();
    if args.json {
        print_json(&serde_json::json!({
            "folder": folder.to_string(), "made": made, "kept": kept, "bytes": written,
        }))?;
        return Ok(Exit::Fine);
    }
    let pictures = things(made, "image", "images");
    talk.say(&match (made, kept) {
        (0, 1) => format!("`{folder}` already contains this image"),
        (0, _) => format!("`{folder}` already contains these {kept} images"),
        (_, 0) => format!("{pictures} in `{folder}`, {}", bytes(written as f64)),
        _ => format!(
            "{pictures} more in `{folder}`, {}; {kept} already existed",
            bytes(written as f64)
        ),
    });
    Ok(Exit::Fine)
}
