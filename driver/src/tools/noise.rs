//! Whether others used the machine while it was measured.

use std::{fs, time::Instant};

/// Ticks of a second in files of `/proc`: `USER_HZ`, 100 on every Linux (proc(5), time(7)).
const TICKS: f64 = 100.0;

/// What the system had counted when measuring began.
pub(crate) struct Noise {
    /// Threads that ran or waited, in the mean of the last minute.
    pub(crate) load: Option<f64>,
    begun: Instant,
    others: Option<f64>,
}

impl Noise {
    pub(crate) fn begin() -> Self {
        let load = fs::read_to_string("/proc/loadavg").ok();
        let load = load.and_then(|it| it.split(' ').next()?.parse().ok());
        Self { load, begun: Instant::now(), others: busy_of_others() }
    }

    /// Cores that others kept busy since then, in the mean.
    pub(crate) fn others(&self) -> Option<f64> {
        let seconds = busy_of_others()? - self.others?;
        Some((seconds / self.begun.elapsed().as_secs_f64()).max(0.0))
    }
}

/// Seconds for which anybody but this process computed.
fn busy_of_others() -> Option<f64> {
    let all = busy(&fs::read_to_string("/proc/stat").ok()?)?;
    let own = own(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Some((all - own) / TICKS)
}

/// Ticks in which cores computed: user, nice, system, irq, softirq, steal (proc_stat(5)).
fn busy(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|it| it.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().map_while(|it| it.parse().ok()).collect();
    [0, 1, 2, 5, 6, 7].iter().map(|it| ticks.get(*it).copied()).sum()
}

/// Ticks in which this process computed: utime, stime (proc_pid_stat(5)). The name before them,
/// in brackets, may hold anything.
fn own(text: &str) -> Option<f64> {
    let behind_name = text.rsplit_once(')')?.1;
    let number = |it: &str| it.parse::<f64>().ok();
    behind_name.split_whitespace().skip(11).take(2).map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_where_they_should_be() {
        assert_eq!(busy("cpu  1 2 4 800 900 8 16 32 0 0\ncpu0 1 1 1\n"), Some(63.0));
        assert_eq!(own("7 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14"), Some(23.0));
    }
}
