//! On which file system and device a folder lies.

use super::Medium;
use crate::session::machine;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file system that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where.
    pub(crate) point: PathBuf,
    /// Its kind: `ext4`.
    pub(crate) kind: String,
    /// What it is on: a device, a server's folder.
    pub(crate) source: String,
}

/// Where the file system of `path` is mounted; `path` is whole and without links.
pub(super) fn mount_of(path: &Path) -> Option<PathBuf> {
    mount_at(path).map(|it| it.point)
}

/// The file system on which `path`, whole and without links, lies.
pub(crate) fn mount_at(path: &Path) -> Option<Mount> {
    mount_in(&fs::read_to_string("/proc/self/mountinfo").ok()?, path)
}

/// The mount that holds `path`; of those at one place the last one, which hides the others.
fn mount_in(text: &str, path: &Path) -> Option<Mount> {
    let mounts = text.lines().filter_map(mount);
    let above = mounts.filter(|it| path.starts_with(&it.point));
    above.max_by_key(|it| it.point.components().count())
}

/// A line of `mountinfo` (proc_pid_mountinfo(5)).
fn mount(line: &str) -> Option<Mount> {
    let (place, system) = line.split_once(" - ")?;
    let point = unescaped(place.split(' ').nth(4)?).into();
    let mut system = system.split(' ');
    Some(Mount { point, kind: system.next()?.to_owned(), source: unescaped(system.next()?) })
}

/// A space is `\040` there, and so on.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, it)| text.replace(code, it))
}

/// File systems that ask another machine, or a program.
const NETWORK: [&str; 15] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "virtiofs",
    "fuse",
    "ceph",
    "lustre",
    "glusterfs",
    "afs",
    "beegfs",
    "gpfs",
    "weka",
];

impl Mount {
    /// The device's name, where the file system is on one: `nvme0n1p2`.
    pub(crate) fn device(&self) -> Option<String> {
        let device = fs::canonicalize(self.source.starts_with("/dev/").then_some(&self.source)?);
        device.ok()?.file_name()?.to_str().map(str::to_owned)
    }

    /// What the device is made of.
    pub(crate) fn medium(&self) -> Medium {
        let kind = self.kind.as_str();
        let network = NETWORK.iter().any(|it| kind == *it || kind.starts_with("fuse."));
        match (kind, self.device()) {
            ("tmpfs" | "ramfs", _) => Medium::Memory,
            _ if network => Medium::Network,
            // What such a disk says of its making is the making of nobody.
            (_, Some(_)) if machine::processors().virtual_machine => Medium::Virtual,
            (_, Some(device)) => medium_of(&device),
            (_, None) => Medium::Unknown,
        }
    }

    /// Why what is read past the page cache may still come from some memory, if so.
    pub(crate) fn doubt(&self) -> Option<&'static str> {
        match (self.kind.as_str(), self.medium()) {
            ("zfs" | "bcachefs", _) => {
                Some("the file system has its own cache, which cannot be dropped")
            }
            (_, Medium::Memory) => Some("the file system is in memory, not on a disk"),
            (_, Medium::Network) => Some("the server may have cached the file in memory"),
            _ => None,
        }
    }
}

/// A partition has no queue of its own: the disk above it has.
fn medium_of(device: &str) -> Medium {
    let device = Path::new("/sys/class/block").join(device);
    let queue = [device.join("queue"), device.join("../queue")];
    // The second one through where the link leads to.
    let queues = queue.iter().filter_map(|it| {
        let folder = it.parent().and_then(|it| fs::canonicalize(it).ok())?;
        fs::read_to_string(folder.join("queue/rotational")).ok()
    });
    match queues.map(|it| it.trim() == "1").next() {
        Some(true) => Medium::Rotating,
        Some(false) => Medium::Solid,
        None => Medium::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_holds_a_path() {
        let text = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 8:1 / /data rw - xfs /dev/sdb1 rw
31 30 0:5 / /data/far\\040away rw shared:7 master:2 - nfs4 server:/x rw
32 22 0:9 / /data rw - tmpfs tmpfs rw
";
        let kind = |path: &str| mount_in(text, Path::new(path)).unwrap().kind;
        assert_eq!(kind("/datax"), "ext4");
        assert_eq!(kind("/data/a"), "tmpfs");
        assert_eq!(kind("/data/far away/b"), "nfs4");
        let far = mount_in(text, Path::new("/data/far away")).unwrap();
        assert_eq!((far.medium(), far.doubt().is_some()), (Medium::Network, true));
    }
}
