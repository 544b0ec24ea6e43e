//! Files opened and written so that neither links, pipes nor endless files can do harm.
//!
//! A repository carries links, and a folder may hold anything. What is read is a regular file, of a
//! size that is known before memory is taken for it (`open.rs`). What is written appears as a whole,
//! under a name that nobody could foresee until then (`draft.rs`). What must outlast a loss of power is
//! brought to the disk (`sync.rs`); large files of that kind go there past the cache (`direct.rs`).

mod direct;
mod draft;
mod open;
mod sync;

pub use direct::Direct;
pub use draft::{
    Draft, create, is_draft_of, remove_drafts, remove_left, rewrite, write, write_synced,
};
pub use open::{create_here, text};
pub use open::{is_real_folder, is_too_many_open, open, open_here, patiently, read, read_here};
pub use sync::{sync_file, sync_file_system, sync_folder};
