//! The parts of a path, as text: folders are parted by `/`.
//!
//! The rules are those of Python's `pathlib.PurePosixPath`.

/// The path without slashes at its end; the root stays.
fn trimmed(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { &path[..path.len().min(1)] } else { trimmed }
}

/// The folder, and the name in it.
pub(super) fn split(path: &str) -> (&str, &str) {
    let path = trimmed(path);
    match path.rfind('/') {
        None => ("", path),
        Some(0) => ("/", &path[1..]),
        Some(at) => (trimmed(&path[..at]), &path[at + 1..]),
    }
}

/// A name without its last extension, and that extension with its point.
///
/// A point at the name's beginning or end begins no extension.
pub(super) fn split_name(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 && at + 1 < name.len() => name.split_at(at),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::{split, split_name};

    /// `parent` (but for `.`), `name`, `stem` and `suffix` of `pathlib.PurePosixPath`.
    #[test]
    fn agrees_with_pathlib() {
        let cases = [
            ("a/b/c.jpg", "a/b", "c.jpg", "c", ".jpg"),
            ("c.tar.gz", "", "c.tar.gz", "c.tar", ".gz"),
            ("/c", "/", "c", "c", ""),
            ("/", "/", "", "", ""),
            ("a/.bashrc", "a", ".bashrc", ".bashrc", ""),
            ("a/b/", "a", "b", "b", ""),
            ("a//b", "a", "b", "b", ""),
            ("", "", "", "", ""),
            ("a.b/c", "a.b", "c", "c", ""),
            ("ü/ß.é", "ü", "ß.é", "ß", ".é"),
        ];
        for (path, folder, name, stem, extension) in cases {
            assert_eq!(split(path), (folder, name), "{path}");
            assert_eq!(split_name(split(path).1), (stem, extension), "{path}");
        }
    }
}
