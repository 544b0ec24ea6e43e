//! The same work in other systems, by turns with ours: rates, processor time, memory, first batch.
//!
//! `PEER_PYTHON` is an interpreter that has the others installed, `PEER_DATA` the data that they made
//! ready (`../shared/peers/README.md`); rows whose peer is not here are skipped. `PEER_ROWS=W1,W2`
//! runs these alone. Every run is a process of its own, and has both cores.

use crate::{Row, trial::median};
use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs of each side.
const PAIRS: usize = 5;
/// Seconds that a peer is measured for, after it has warmed up.
const SECONDS: &str = "5";
/// Where the peers lie.
const FOLDER: &str = "../shared/peers";
/// The cores that both sides run on.
const CORES: &str = "0,1";

/// A workload, ours and a peer's.
struct Workload {
    id: &'static str,
    /// Ours: what follows `pipec run`; `PEER_DATA` is the folder of the data.
    ours: &'static [&'static str],
    /// The peer's script, variant and workload.
    peer: [&'static str; 3],
    /// What the peer counts, in one of our records.
    items: f64,
    /// What must be reached, and the figure that it is about.
    claims: &'static [Claim],
}

/// What is to be reached.
struct Claim {
    what: &'static str,
    figure: fn(&Side, &Side) -> f64,
    /// At least so much; at most, where a small figure is a good one.
    least: Option<f64>,
    most: Option<f64>,
}

const fn least(what: &'static str, figure: fn(&Side, &Side) -> f64, least: f64) -> Claim {
    Claim { what, figure, least: Some(least), most: None }
}

const fn most(what: &'static str, figure: fn(&Side, &Side) -> f64, most: f64) -> Claim {
    Claim { what, figure, least: None, most: Some(most) }
}

const fn rate(least_: f64) -> Claim {
    least("items/s, times the peer's", |ours, peer| ours.rate / peer.rate, least_)
}

const WORKLOADS: &[Workload] = &[
    Workload {
        id: "W1",
        ours: &["benches/w1.pipe", "--no-cache", "--limit", "80"],
        peer: ["tfdata", "fused", "W1"],
        items: 1.0,
        claims: &[
            rate(2.8),
            most(
                "processor time, of the peer's",
                |ours, peer| ours.cpu_ms / peer.cpu_ms,
                0.5 / 1.42,
            ),
        ],
    },
    Workload {
        id: "W1a",
        ours: &["benches/w1.pipe", "--no-cache", "--limit", "80", "--set", "antialias=true"],
        peer: ["dali", "aa", "W1"],
        items: 1.0,
        claims: &[rate(3.2)],
    },
    Workload {
        id: "W2",
        ours: &["benches/w2.pipe", "--no-cache", "--limit", "80"],
        peer: ["tfdata", "fused", "W2"],
        items: 1.0,
        claims: &[rate(2.5)],
    },
    Workload {
        id: "W1 kept",
        ours: &["benches/w1.pipe", "--limit", "300"],
        peer: ["tfdata", "fused", "W1"],
        items: 1.0,
        claims: &[rate(10.0)],
    },
    Workload {
        id: "W1 index",
        // There is room for the indices of the pictures, and hardly any for the pictures.
        ours: &["benches/w1.pipe", "--limit", "120", "--memory", "430MiB"],
        peer: ["tfdata", "fused", "W1"],
        items: 1.0,
        claims: &[rate(4.2)],
    },
    Workload {
        id: "W4",
        ours: &["benches/w4.pipe", "--set", "data=PEER_DATA", "--limit", "4000"],
        peer: ["torch_dl", "tiktoken", "W4"],
        items: 1024.0,
        claims: &[rate(10.0)],
    },
    Workload {
        id: "W5",
        ours: &["benches/w5.pipe", "--set", "data=PEER_DATA", "--limit", "150000"],
        peer: ["torch_dl", "pil", "W5"],
        items: 1.0,
        claims: &[rate(50.0)],
    },
    Workload {
        id: "W7",
        ours: &["benches/w7.pipe", "--limit", "1500000"],
        peer: ["ray_peer", "cv2", "W7"],
        items: 1.0,
        claims: &[rate(100.0)],
    },
    Workload {
        id: "W1 memory",
        ours: &["benches/w1.pipe", "--no-cache", "--limit", "80"],
        peer: ["spdl_peer", "turbo", "W1"],
        items: 1.0,
        claims: &[most("peak memory, MB", |ours, _| ours.memory_mb, 200.0)],
    },
    Workload {
        id: "W1 start",
        ours: &["benches/w1.pipe", "--no-cache", "--limit", "80"],
        peer: ["grain_peer", "th", "W1"],
        items: 1.0,
        claims: &[most("process start to first batch, s", |ours, _| ours.first_s, 0.25)],
    },
];

/// What one side has done.
#[derive(Debug, Clone, Copy)]
struct Side {
    /// Items a second.
    rate: f64,
    /// Processor time of an item, in milliseconds.
    cpu_ms: f64,
    memory_mb: f64,
    /// Seconds from the start of the process to the first batch.
    first_s: f64,
}

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let only = env::var("PEER_ROWS").unwrap_or_default();
    let is_wanted = |it: &&Workload| only.is_empty() || only.split(',').any(|id| id == it.id);
    WORKLOADS.iter().filter(is_wanted).flat_map(beside).collect()
}

fn beside(workload: &Workload) -> Vec<Row> {
    let pairs: Option<Vec<(Side, Side)>> =
        (0..PAIRS).map(|_| Some((ours(workload)?, peer(workload.peer)?))).collect();
    let [script, variant, work] = workload.peer;
    let claimed = |it: &Claim| {
        let bound = match (it.least, it.most) {
            (Some(least), _) => format!("at least {least:.2}"),
            (None, most) => format!("at most {:.2}", most.unwrap_or_default()),
        };
        let claim = format!("{} ({script} {variant} {work}): {bound}", it.what);
        let Some(pairs) = &pairs else {
            return Row::skipped(workload.id, &claim, "the peer, its data or `pipec`");
        };
        let figures: Vec<f64> = pairs.iter().map(|(ours, peer)| (it.figure)(ours, peer)).collect();
        let middle = median(figures.clone());
        let holds = it.least.is_none_or(|it| middle >= it) && it.most.is_none_or(|it| middle <= it);
        Row::new(workload.id, &claim, told(&figures, pairs), holds)
    };
    workload.claims.iter().map(claimed).collect()
}

/// `3.51 [3.40 .. 3.60]; ours 2 800/s 0.69 ms 190 MB 0.20 s, peer …`
fn told(figures: &[f64], pairs: &[(Side, Side)]) -> String {
    let (least, most) = figures.iter().fold((f64::MAX, 0.0), |(a, b), it| (it.min(a), it.max(b)));
    let side = |of: fn(&(Side, Side)) -> Side| {
        let each =
            |figure: fn(Side) -> f64| median(pairs.iter().map(|it| figure(of(it))).collect());
        let (rate, cpu_ms) = (each(|it| it.rate), each(|it| it.cpu_ms));
        let (memory, first) = (each(|it| it.memory_mb), each(|it| it.first_s));
        format!("{rate:.0}/s {cpu_ms:.4} ms {memory:.0} MB {first:.2} s")
    };
    let middle = median(figures.to_vec());
    let (ours, peer) = (side(|it| it.0), side(|it| it.1));
    format!("{middle:.2} [{least:.2} .. {most:.2}]; ours {ours}, peer {peer}")
}

/// Runs `pipec`, which lies beside this program.
fn ours(workload: &Workload) -> Option<Side> {
    let program = env::current_exe().ok()?.with_file_name("pipec");
    let data = data().display().to_string();
    let arguments = workload.ours.iter().map(|it| it.replace("PEER_DATA", &data));
    let output = pinned(&program).args(["run", "--json"]).args(arguments).output().ok()?;
    let told: Value = serde_json::from_slice(&output.stdout).ok()?;
    let figure = |name: &str| told[name].as_f64();
    Some(Side {
        rate: figure("records_per_second")? * workload.items,
        cpu_ms: figure("cpu_seconds")? / figure("records")? / workload.items * 1e3,
        memory_mb: figure("memory_peak")? / 1e6,
        first_s: figure("first_batch_seconds")?,
    })
}

fn peer([script, variant, workload]: [&str; 3]) -> Option<Side> {
    let python = env::var("PEER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder = Path::new(FOLDER).canonicalize().ok()?;
    let output = pinned(Path::new(&python))
        .current_dir(&folder)
        .env("VARIANT", variant)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(format!("{script}.py"))
        .args(["--workload", workload, "--workers", "2", "--seconds", SECONDS, "--data"])
        .arg(data())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let last = text.lines().rfind(|it| it.starts_with('{'))?;
    let told: Value = serde_json::from_str(last).ok()?;
    let figure = |name: &str| told[name].as_f64();
    Some(Side {
        rate: figure("items_per_s")?,
        cpu_ms: figure("cpu_ms_per_item")?,
        memory_mb: figure("peak_rss_mb")?,
        first_s: figure("startup_s")?,
    })
}

/// Where the data is that the peers made ready.
fn data() -> PathBuf {
    let given = env::var_os("PEER_DATA").map(PathBuf::from);
    let given = given.unwrap_or_else(|| Path::new(FOLDER).join("peer-data"));
    given.canonicalize().unwrap_or(given)
}

/// The program on the cores of the comparison.
fn pinned(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", CORES]).arg(program);
    command
}
