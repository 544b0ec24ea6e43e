//! The list of the files in an output folder, with the size and the checksum of each.
//!
//! A line of JSON for each number, so that the list grows with the output and a line counts for all
//! files of its number. A run that goes on holds what is there against it: the size of every file and,
//! on this machine, the checksum of the newest [`READ_MAX`] bytes, which costs reading them once.

use super::{
    data::ShardFile,
    line::{Flaw, LIST, Line, Place},
    location::Location,
};
use runtime::Failure;
use std::io::{self, BufRead};

/// Bytes of files whose checksums are compared when a run goes on: some seconds of reading. A loss of
/// power or a broken copy damages the newest; the sizes of all are compared.
const READ_MAX: u64 = 8 << 30;
/// Bytes of a line: far more than a thousand fields need.
const LINE_MAX: u64 = 1 << 20;
/// How much of an output is sound.
#[derive(Debug)]
pub(super) struct Checked {
    /// Up to here it is: the end of what was asked for, or the begin of the epoch in which the first damage is.
    pub(super) sound: Place,
    /// The damage.
    pub(super) found: Option<String>,
}

/// The files of the first `numbers` numbers, and the outputs of each number.
///
/// # Errors
/// The list is damaged, or cannot be read.
pub(super) fn files(location: &dyn Location, numbers: u64) -> Result<Vec<ShardFile>, Flaw> {
    let mut files = Vec::new();
    let walked = walk(location, numbers, &mut |_, Line { outputs, files: these, .. }| {
        files.extend(these.iter().map(|(name, sum)| ShardFile {
            name: name.clone(),
            bytes: sum.bytes,
            records: *outputs,
        }));
        Ok(())
    });
    walked.flaw.map_or(Ok(files), Err)
}

/// Holds the files of the first `numbers` numbers against the list; `names` gives those that a number
/// has.
///
/// # Errors
/// They cannot be looked at.
pub(super) fn check(
    location: &dyn Location,
    numbers: u64,
    names: &dyn Fn(u64) -> Vec<String>,
) -> Result<Checked, Failure> {
    let sizes = walk(location, numbers, &mut |place, line| {
        let names = names(place.files);
        if !line.files.keys().eq(names.iter()) {
            let found = format!("`{LIST}` does not list the files with number {}", place.files);
            return Err(Flaw::Damage(found));
        }
        line.files.iter().try_for_each(|(name, sum)| location.check_size(name, sum.bytes))
    });
    let sizes = checked(sizes)?;
    // Damage to what is read may lie before what is missing.
    let unread = sizes.sound.bytes.saturating_sub(READ_MAX);
    let sums = walk(location, sizes.sound.files, &mut |place, line| {
        if place.bytes < unread {
            return Ok(());
        }
        line.files.iter().try_for_each(|(name, sum)| location.check_sum(name, sum))
    });
    let sums = checked(sums)?;
    Ok(if sums.found.is_some() { sums } else { sizes })
}

fn checked(Walked { sound, flaw }: Walked) -> Result<Checked, Failure> {
    match flaw {
        None => Ok(Checked { sound, found: None }),
        Some(Flaw::Damage(found)) => Ok(Checked { sound, found: Some(found) }),
        Some(Flaw::Failure(failure)) => Err(failure),
    }
}

/// How far somebody has gone through a list.
struct Walked {
    /// The end; where a line has a flaw, the begin of its epoch.
    sound: Place,
    flaw: Option<Flaw>,
}

/// Goes through the first `numbers` lines, up to the first that has a flaw.
fn walk(
    location: &dyn Location,
    numbers: u64,
    each: &mut dyn FnMut(&Place, &Line) -> Result<(), Flaw>,
) -> Walked {
    let (mut begin, mut here) = (Place::default(), Place::default());
    let ended = |sound, flaw| Walked { sound, flaw };
    if numbers == 0 {
        return ended(here, None);
    }
    let mut lines = match location.list() {
        Ok(lines) => lines,
        Err(flaw) => return ended(begin, Some(flaw)),
    };
    while here.files < numbers {
        let Some((line, n_bytes)) = next(&mut lines).filter(|it| it.0.epoch >= here.epoch) else {
            let found = format!("`{LIST}` is damaged from line {} on", here.files + 1);
            return ended(begin, Some(Flaw::Damage(found)));
        };
        if line.epoch > here.epoch {
            here.epoch = line.epoch;
            begin = here;
        }
        if let Err(flaw) = each(&here, &line) {
            return ended(begin, Some(flaw));
        }
        here.files += 1;
        // Whoever has changed the list may have written any numbers: they are those of no run.
        here.outputs = here.outputs.saturating_add(line.outputs);
        let sizes = line.files.values().map(|it| it.bytes);
        here.bytes = sizes.fold(here.bytes, u64::saturating_add);
        here.list += n_bytes;
    }
    ended(here, None)
}

/// The next line, and its bytes.
fn next(lines: &mut dyn BufRead) -> Option<(Line, u64)> {
    let mut text = Vec::new();
    io::Read::take(lines, LINE_MAX).read_until(b'\n', &mut text).ok()?;
    let line = text.strip_suffix(b"\n")?;
    Some((Line::parse(line)?, text.len() as u64))
}
