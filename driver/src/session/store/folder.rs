//! A folder of stores: what is in it, whether it is sound, and what goes when room is needed.

use super::{ABOUT, About};
use crate::session::whole;
use runtime::{DiskRoom, Failure, Store, folder_bytes};
use serde::Serialize;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Digits of an address.
const DIGITS: usize = 32;

/// What stands under an address.
#[derive(Debug, Clone, Serialize)]
pub struct Kept {
    /// The address.
    pub address: String,
    /// What it is, where it says so.
    pub about: Option<About>,
    /// Values.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// How long ago it was used, in seconds.
    pub age_seconds: f64,
    /// Whether a process uses it now.
    pub in_use: bool,
}

/// Whether what stands under an address is sound.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// The address.
    pub address: String,
    /// What it is, where it says so.
    pub about: Option<About>,
    /// Values that are sound.
    pub entries: u64,
    /// Those that are not: they are computed anew when they are asked for.
    pub damaged: u64,
    /// Why it cannot be read at all.
    pub unreadable: Option<String>,
}

/// What is to go.
#[derive(Debug, Clone, Copy, Default)]
pub struct Removal {
    /// What was used longest ago, until no more bytes are left than these.
    pub max: Option<u64>,
    /// What was not used for so long.
    pub older: Option<Duration>,
}

/// What has gone.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Removed {
    /// The addresses.
    pub addresses: Vec<String>,
    /// Bytes that they took.
    pub bytes: u64,
    /// Bytes that are left.
    pub left: u64,
    /// Addresses that should have gone, but are in use.
    pub in_use: u64,
}

/// What is kept in a folder, what was used last first.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<Kept>, Failure> {
    let mut all: Vec<Kept> = found(folder)?.iter().map(|it| kept(folder, it)).collect();
    all.sort_by(|a, b| a.age_seconds.total_cmp(&b.age_seconds));
    Ok(all)
}

/// Checks every value in a folder; tells `visit` of each address.
///
/// # Errors
/// The folder cannot be read.
pub fn verify(folder: &Path, visit: &mut dyn FnMut(&Verified)) -> Result<bool, Failure> {
    let mut sound = true;
    for place in found(folder)? {
        let address = address_of(&place);
        let about = About::read(&place);
        let mut it = Verified { address, about, entries: 0, damaged: 0, unreadable: None };
        // A run for whose values there was no room leaves a folder without any, which is as sound as can be.
        let looked = if is_bare(&place) { None } else { Some(Store::look(folder, &it.address)) };
        match looked {
            None => {}
            Some(Ok(store)) => (it.damaged, it.entries) = (store.verify(), store.stats().entries),
            Some(Err(error)) => it.unreadable = Some(error.to_string()),
        }
        sound &= it.damaged == 0 && it.unreadable.is_none();
        visit(&it);
    }
    Ok(sound)
}

/// Removes what is to go, whole addresses; what a process uses stays.
///
/// # Errors
/// The folder cannot be read or written.
pub fn gc(folder: &Path, what: &Removal) -> Result<Removed, Failure> {
    let room = DiskRoom { folder: folder.to_owned(), limit: 0 };
    let mut places = found(folder)?;
    // None is opened meanwhile.
    let _lock = room.lock().map_err(|it| unwritable(folder, &it))?;
    places.sort_by_key(|it| used(it));
    let mut removed = Removed { left: folder_bytes(folder), ..Removed::default() };
    for place in places {
        let too_old = what.older.is_some_and(|it| age(&place) > it);
        let too_much = what.max.is_some_and(|it| removed.left > it);
        if !too_old && !too_much {
            continue;
        }
        if is_in_use(&place) {
            removed.in_use += 1;
            continue;
        }
        let bytes = folder_bytes(&place);
        fs::remove_dir_all(&place).map_err(|it| unwritable(&place, &it))?;
        removed.left = removed.left.saturating_sub(bytes);
        removed.bytes += bytes;
        removed.addresses.push(address_of(&place));
    }
    Ok(removed)
}

/// The folders of addresses.
pub(super) fn places(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut places = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_address = entry
            .file_name()
            .to_str()
            .is_some_and(|it| it.len() == DIGITS && it.bytes().all(|it| it.is_ascii_hexdigit()));
        if is_address && entry.file_type()?.is_dir() {
            places.push(entry.path());
        }
    }
    places.sort_unstable();
    Ok(places)
}

/// Whether nothing was ever kept under an address: it holds at most what says what it is for.
fn is_bare(place: &Path) -> bool {
    let mut entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.all(|it| it.file_name() == ABOUT || it.file_name() == "in-use.lock")
}

/// When it was used last.
pub(super) fn used(place: &Path) -> SystemTime {
    let of = |it: PathBuf| fs::symlink_metadata(it).and_then(|it| it.modified());
    of(place.join(ABOUT)).or_else(|_| of(place.to_owned())).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn found(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    places(folder).map_err(|error| Failure::Io {
        path: folder.display().to_string(),
        detail: format!("cannot be listed: {error}; use the folder that was given to `--cache`"),
    })
}

fn kept(folder: &Path, place: &Path) -> Kept {
    let address = address_of(place);
    let in_use = is_in_use(place);
    let entries = Store::look(folder, &address).map_or(0, |it| it.stats().entries);
    Kept {
        about: About::read(place),
        entries,
        bytes: folder_bytes(place),
        age_seconds: age(place).as_secs_f64(),
        in_use,
        address,
    }
}

fn age(place: &Path) -> Duration {
    SystemTime::now().duration_since(used(place)).unwrap_or_default()
}

/// Whether a process has it open.
fn is_in_use(place: &Path) -> bool {
    safe_file::open_here(&place.join("in-use.lock")).is_ok_and(|it| it.try_lock().is_err())
}

fn address_of(place: &Path) -> String {
    place.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned()
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    whole::failure(path, "cannot be cleaned up", error)
}
