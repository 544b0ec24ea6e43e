//! What files may lie in besides folders.

use runtime::storage;

/// Lets the process read object stores and web servers, where this was built with them. Nothing is connected to before
/// a program names one.
pub fn register_stores() {
    #[cfg(feature = "stores")]
    ::store::register();
}

/// Whether files whose paths begin with `scheme://` can be read.
pub fn reads_store(scheme: &str) -> bool {
    storage::is_registered(scheme)
}
