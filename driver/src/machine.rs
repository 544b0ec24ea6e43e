//! What the machine has for a run: cores and memory, within the limits that were set for us.

use std::{fs, path::Path, thread};

/// Where neither the system nor its limits can be asked.
const MEMORY_ASSUMED: u64 = 4 << 30;

/// Cores that this process may use: affinity and the quota of its control group are heeded.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes that a run may take unless told: a quarter of what is free, or of the control group's limit.
pub fn default_memory() -> u64 {
    let free = fs::read_to_string("/proc/meminfo").ok().and_then(|it| kib(&it, "MemAvailable:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limit(&groups, &|path| fs::read_to_string(path).ok());
    [free, limit].into_iter().flatten().min().unwrap_or(MEMORY_ASSUMED) / 4
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

/// The lowest limit of the control groups that `groups`, `/proc/self/cgroup`, names, and those
/// above them: version 2 (`0::/path`) or 1 (`9:memory:/path`).
fn group_limit(groups: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut lowest = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (root, file) = match parts.next()? {
            "" => ("/sys/fs/cgroup", "memory.max"),
            it if it.split(',').any(|it| it == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = parts.next().unwrap_or("/").trim_start_matches('/');
        for above in Path::new(group).ancestors() {
            let text = read(&Path::new(root).join(above).join(file));
            // `max` is no number, and version 1 says "no limit" with one near 2⁶³.
            let limit = text.and_then(|it| it.trim().parse().ok()).filter(|it| *it < 1 << 60);
            lowest = [lowest, limit].into_iter().flatten().min();
        }
    }
    lowest
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
}
