//! What the machine has for a run: cores and memory, within the limits that were set for us.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI32, Ordering::Relaxed},
    thread,
};

/// How the text of a file of the system is read.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// Where neither the system nor its limits can be asked.
const MEMORY_ASSUMED: u64 = 4 << 30;

/// Cores that this process may use, or the virtual ones if it has some: affinity and the quota of
/// its control group are heeded.
pub fn cores() -> usize {
    runtime::tokens::cores().unwrap_or_else(real_cores)
}

/// Cores that are here for this process.
pub fn real_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes that a run may take unless told: a quarter of what is free, or of the control group's limit.
pub fn default_memory() -> u64 {
    [memory_free(), memory_limit()].into_iter().flatten().min().unwrap_or(MEMORY_ASSUMED) / 4
}

/// Bytes of memory that could be taken now.
pub(crate) fn memory_free() -> Option<u64> {
    kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Bytes of memory that the machine has.
pub(crate) fn memory_total() -> Option<u64> {
    kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The most bytes of memory that the control group of this process may take.
pub(crate) fn memory_limit() -> Option<u64> {
    group_limit(&fs::read_to_string("/proc/self/cgroup").ok()?, &text_of)
}

/// The most computing time that the control group of this process gets, in cores.
pub(crate) fn quota() -> Option<f64> {
    group_quota(&fs::read_to_string("/proc/self/cgroup").ok()?, &text_of)
}

/// Logical cores that this process may be put on; a quota is not heeded.
pub(crate) fn allowed() -> usize {
    #[cfg(target_os = "linux")]
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        return (set.count() as usize).max(1);
    }
    cores()
}

/// What the processors are.
pub(crate) struct Processors {
    /// As their maker calls them.
    pub(crate) model: Option<String>,
    /// What the system can put threads on.
    pub(crate) logical: usize,
    /// Those that do not share their units with another.
    pub(crate) physical: usize,
    /// Whether the machine is one that another one plays.
    pub(crate) virtual_machine: bool,
}

/// What the processors of the machine are.
pub(crate) fn processors() -> Processors {
    processors_in(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

/// What `/proc/cpuinfo` says; where it says nothing, [`cores`] are all there are.
fn processors_in(text: &str) -> Processors {
    let each = |name: &'static str| {
        let pair = text.lines().filter_map(|it| it.split_once(':'));
        pair.filter(move |it| it.0.trim() == name).map(|it| it.1.trim())
    };
    let logical = each("processor").count();
    let logical = if logical == 0 { cores() } else { logical };
    let pairs: BTreeSet<_> = each("physical id").zip(each("core id")).collect();
    Processors {
        model: each("model name").next().map(str::to_owned),
        logical,
        physical: if pairs.is_empty() { logical } else { pairs.len() },
        virtual_machine: each("flags").any(|it| it.split(' ').any(|it| it == "hypervisor")),
    }
}

fn text_of(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The most bytes of memory that this process has held at once, where the system says it.
pub(crate) fn memory_peak() -> Option<u64> {
    kib(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The figure called `name` in a file of `/proc` that counts in KiB.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|it| it.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest limit of the memory that the control groups in `groups`, `/proc/self/cgroup`, set.
fn group_limit(groups: &str, read: Read) -> Option<u64> {
    let limits = folders(groups, "memory").into_iter().filter_map(|(version, folder)| {
        let file = match version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        // `max` is no number, and version 1 says "no limit" with one near 2⁶³.
        read(&folder.join(file))?.trim().parse().ok().filter(|it| *it < 1 << 60)
    });
    limits.min()
}

/// The lowest quota of computing time that the control groups in `groups` set, in cores.
fn group_quota(groups: &str, read: Read) -> Option<f64> {
    let quotas = folders(groups, "cpu").into_iter().filter_map(|(version, folder)| {
        let (quota, period) = match version {
            Version::One => {
                let number = |name| read(&folder.join(name));
                (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
            }
            Version::Two => {
                let text = read(&folder.join("cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
        };
        let [quota, period]: [f64; 2] = [quota.trim().parse().ok()?, period.trim().parse().ok()?];
        // `max` is no number, and version 1 says "no limit" with −1.
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    });
    quotas.min_by(f64::total_cmp)
}

/// Versions of control groups; a machine may have both.
#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// The folders of the control groups that `groups` names for `controller`, and of those above
/// them: version 2 (`0::/path`) or 1 (`9:memory:/path`).
fn folders(groups: &str, controller: &str) -> Vec<(Version, PathBuf)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (version, root) = match parts.next().unwrap_or_default() {
            "" => (Version::Two, Path::new("/sys/fs/cgroup").to_owned()),
            it if it.split(',').any(|it| it == controller) => {
                (Version::One, Path::new("/sys/fs/cgroup").join(controller))
            }
            _ => continue,
        };
        let group = parts.next().unwrap_or("/").trim_start_matches('/');
        found.extend(Path::new(group).ancestors().map(|it| (version, root.join(it))));
    }
    found
}

/// Has a write beyond the size that a file may have (`ulimit -f`) fail, where the system would
/// otherwise end the process without a word.
pub fn survive_file_size_limit() {
    #[cfg(target_os = "linux")]
    // SAFETY: a signal that is ignored runs no code.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Has the process end with a message, and with `code`, where a cached value that it uses where the system holds it goes
/// away: another program has truncated the file, or the disk fails. The system would end it without a word.
pub fn say_what_is_lost(code: i32) {
    #[cfg(target_os = "linux")]
    {
        static CODE: AtomicI32 = AtomicI32::new(0);
        extern "C" fn end(_: libc::c_int) {
            const WHY: &str = "error: a cached value that was there cannot be read any more: another program has changed a \
                               file of the cache folder, or its disk fails. Run it again: what is damaged is computed again\n";
            // SAFETY: both may be called by whoever handles a signal (signal-safety(7)).
            unsafe {
                libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
                libc::_exit(CODE.load(Relaxed));
            }
        }

        CODE.store(code, Relaxed);
        // SAFETY: what is called does nothing that it may not do then.
        unsafe {
            libc::signal(libc::SIGBUS, end as *const () as libc::sighandler_t);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_limit_counts() {
        let files = |path: &Path| {
            let text = match path.to_str()? {
                "/sys/fs/cgroup/a/b/memory.max" => "max\n",
                "/sys/fs/cgroup/a/memory.max" => "1000000\n",
                "/sys/fs/cgroup/memory.max" => "2000000\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes" => "9223372036854771712\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        assert_eq!(group_limit("0::/a/b\n", &files), Some(1_000_000));
        assert_eq!(group_limit("0::/\n", &files), Some(2_000_000));
        assert_eq!(group_limit("3:cpu:/a\n9:memory:/a\n", &files), None);
    }

    #[test]
    fn free_memory_is_in_kib() {
        assert_eq!(
            kib("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", "MemAvailable:"),
            Some(2 << 20)
        );
        assert_eq!(kib("MemTotal: 9 kB\n", "VmHWM:"), None);
    }

    #[test]
    fn quotas_are_fractions_of_cores() {
        let files = |path: &Path| {
            let text = match path.to_str()? {
                "/sys/fs/cgroup/a/b/cpu.max" => "max 100000\n",
                "/sys/fs/cgroup/a/cpu.max" => "150000 100000\n",
                "/sys/fs/cgroup/cpu.max" => "400000 100000\n",
                "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us" => "50000\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us" => "-1\n",
                "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us"
                | "/sys/fs/cgroup/cpu/cpu.cfs_period_us" => "20000\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        assert_eq!(group_quota("0::/a/b\n", &files), Some(1.5));
        assert_eq!(group_quota("0::/\n", &files), Some(4.0));
        assert_eq!(group_quota("4:cpu,cpuacct:/x\n9:memory:/a\n", &files), Some(2.5));
        assert_eq!(group_quota("4:cpuacct,cpu:/\n", &files), None);
        assert_eq!(group_quota("4:cpuacct:/x\n", &files), None);
    }

    #[test]
    fn threads_of_a_core_share_it() {
        let thread = |n: u32, core: u32| {
            format!(
                "processor\t: {n}\nmodel name\t: A 9000\nphysical id\t: 0\ncore id\t: {core}\nflags\t: fpu hypervisor\n\n"
            )
        };
        let text: String = [(0, 0), (1, 1), (2, 0), (3, 1)].map(|(n, it)| thread(n, it)).concat();
        let found = processors_in(&text);
        assert_eq!((found.logical, found.physical, found.virtual_machine), (4, 2, true));
        assert_eq!(found.model.as_deref(), Some("A 9000"));
        assert_eq!(processors_in("").logical, cores());
    }
}
