//! Listings: the pages of a folder come one after the other, and those of the folders after it come meanwhile.

use crate::{
    Remote, Target,
    engine::{Engine, PATIENCE, Use, given_up, lost},
    known,
};
use object_store::{list::PaginatedListResult, path::Path as Key};
use runtime::storage::{Entry, Kind, is_given_up};
use std::{
    collections::HashMap,
    io,
    sync::{Arc, PoisonError},
    time::Instant,
};
use tokio::{
    sync::mpsc::{Receiver, channel},
    time::timeout,
};

/// Folders whose listings have begun before somebody asks for them.
const SOON_MAX: usize = 32;

/// Pages of a listing that wait for who asks.
const PAGES_MAX: usize = 1;

/// Listings that nobody has asked for yet, by the path of the folder.
pub(crate) type Soon = HashMap<String, Listing>;

/// A listing that has begun.
pub(crate) struct Listing {
    pages: Receiver<io::Result<PaginatedListResult>>,
    begun: Instant,
}

impl Listing {
    fn begin(remote: &Remote, engine: &Arc<Engine>, folder: Target) -> Self {
        let (said, pages) = channel(PAGES_MAX);
        let (remote, of_task) = (remote.clone(), engine.clone());
        engine.handle.spawn(async move {
            let mut token = None;
            loop {
                let page = remote.page(&of_task, &folder, token, None).await;
                token = page.as_ref().ok().and_then(|it| it.page_token.clone());
                // Who asked may have gone.
                if said.send(page).await.is_err() || token.is_none() {
                    return;
                }
            }
        });
        Self { pages, begun: Instant::now() }
    }

    fn is_fresh(&self) -> bool {
        self.begun.elapsed() < known::FRESH
    }
}

/// Begins the listings of folders that somebody will ask for.
pub(crate) fn begin(remote: &Remote, folders: impl Iterator<Item = Target>) {
    let Ok(used) = Engine::get() else { return };
    let engine = used.engine();
    let mut soon = engine.soon.lock().unwrap_or_else(PoisonError::into_inner);
    soon.retain(|_, it| it.is_fresh());
    for folder in folders {
        if soon.len() < SOON_MAX && !soon.contains_key(&folder.text) {
            soon.insert(folder.text.clone(), Listing::begin(remote, engine, folder));
        }
    }
}

/// What a folder holds.
pub(crate) struct Pages<'a> {
    remote: &'a Remote,
    used: Use,
    folder: Target,
    listing: Listing,
    is_last: bool,
    found: Vec<Entry>,
}

impl<'a> Pages<'a> {
    /// All of it, from the beginning; the first page is there.
    pub(crate) fn new(remote: &'a Remote, folder: Target) -> io::Result<Self> {
        let used = Engine::get()?;
        let begun =
            used.engine().soon.lock().unwrap_or_else(PoisonError::into_inner).remove(&folder.text);
        let listing = begun
            .filter(Listing::is_fresh)
            .unwrap_or_else(|| Listing::begin(remote, used.engine(), folder.clone()));
        let (found, is_last) = (Vec::new(), false);
        let mut pages = Self { remote, used, folder, listing, is_last, found };
        pages.turn()?;
        Ok(pages)
    }

    fn page(&mut self) -> io::Result<PaginatedListResult> {
        let handle = &self.used.engine().handle;
        loop {
            let pages = &mut self.listing.pages;
            match handle.block_on(async { timeout(PATIENCE, pages.recv()).await }) {
                Ok(page) => return page.unwrap_or_else(|| Err(lost())),
                Err(_) if is_given_up() => return Err(given_up()),
                Err(_) => {}
            }
        }
    }

    /// Takes the page that comes next.
    fn turn(&mut self) -> io::Result<()> {
        // After an error there is nothing more.
        self.is_last = true;
        let page = self.page()?;
        self.is_last = page.page_token.is_none();
        let name = |it: &Key| it.filename().unwrap_or_default().to_owned();
        for object in &page.result.objects {
            let name = name(&object.location);
            // Some tools put an object of no bytes where a folder is to be.
            if object.location.as_ref() == self.folder.name() || name.is_empty() {
                continue;
            }
            let tag = known::tag_of(object.e_tag.as_deref(), object.last_modified.timestamp());
            let path = format!("{}/{name}", self.folder.text);
            self.remote.known.set(&path, object.size, tag, true);
            self.found.push(Entry::new(name.into(), Kind::File));
        }
        let folders = page.result.common_prefixes.iter().map(|it| name(it).into());
        self.found.extend(folders.map(|it| Entry::new(it, Kind::Folder)));
        Ok(())
    }
}

impl Iterator for Pages<'_> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.found.is_empty() && !self.is_last {
            if let Err(error) = self.turn() {
                return Some(Err(error));
            }
        }
        self.found.pop().map(Ok)
    }
}
