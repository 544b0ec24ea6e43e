//! Where files are: between the addresses that editors give and paths.

use std::path::{Path, PathBuf};

/// The path that an address means; of what is in no file, a path that is nowhere.
pub(crate) fn path_of(uri: &str) -> PathBuf {
    let Some(rest) = uri.strip_prefix("file://") else {
        return PathBuf::from(uri.replace([':', '/', '\\'], "_"));
    };
    // What stands before the first slash is a machine: this one.
    let path = rest.find('/').map_or(rest, |it| &rest[it..]);
    let path = decoded(path);
    // `/C:/x` is `C:/x` where paths have drives.
    let drive = path.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    PathBuf::from(if drive { &path[1..] } else { &path })
}

/// The address of a file.
pub(crate) fn uri_of(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let code = code.and_then(|it| u8::from_str_radix(it, 16).ok());
        all.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_its_address_mean_the_same() {
        for path in ["/a/b.pipe", "/a b/ä#%.pipe"] {
            assert_eq!(path_of(&uri_of(Path::new(path))), Path::new(path));
        }
        assert_eq!(path_of("file:///a%20b/%zz"), Path::new("/a b/%zz"));
        assert_eq!(path_of("untitled:Untitled-1"), Path::new("untitled_Untitled-1"));
    }
}
