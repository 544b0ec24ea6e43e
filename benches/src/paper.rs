//! E12: the end-to-end table of Plumber (MLSys 2022), on virtual cores, by the real executor.
//!
//! Everything goes in slow motion, so that what sleeps sleeps long enough; rates are told as they
//! would be without. A step of a sequential pipeline has one thread, others any number.

use crate::{
    Row,
    trial::{self, Virtual, Way},
};
use model::{Figure, Machine, Network, Step, autotune::tuned, network::Amount};
use plan::Program;
use serde::Deserialize;
use std::{collections::BTreeMap, env, fs, path::PathBuf, time::Duration};

/// The longest piece of work takes about so many milliseconds, in slow motion.
const LONGEST_MS: f64 = 40.0;
/// Records of the data set: few, so that the first epoch is soon over.
const RECORDS: u64 = 600;
/// Seconds of each measurement.
const SECONDS: f64 = 12.0;
/// Bytes that a record of a capped source is said to have.
const RECORD_BYTES: f64 = 1_000.0;

#[derive(Deserialize)]
struct File {
    cores: f64,
    pipelines: BTreeMap<String, Pipeline>,
}

#[derive(Deserialize)]
struct Pipeline {
    cores: Option<f64>,
    #[serde(default)]
    stages: Vec<Stage>,
    /// Another one that has the same steps.
    like: Option<String>,
    consumer_cap_per_s: Option<f64>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

impl Pipeline {
    /// Whether what can be kept fits into memory.
    fn fits(&self) -> bool {
        self.rest.iter().any(|(name, it)| name.ends_with("memory") && it.as_bool() == Some(true))
    }
}

#[derive(Deserialize, Clone)]
struct Stage {
    name: String,
    cpu_ms: f64,
    source_cap_per_s: Option<f64>,
    #[serde(default)]
    random: bool,
    #[serde(default)]
    sequential: bool,
}

/// What is claimed of a pipeline: how many times naive, and the best of the tuners.
const CLAIMS: [(&str, f64, f64); 6] = [
    ("ResNetLinear", 44.0, 1.4),
    ("ResNet18", 0.0, 1.2),
    ("MultiBoxSSD", 0.0, 1.3),
    ("TransformerSmall", 0.0, 2.5),
    ("RCNN", 0.0, 0.98),
    ("ResNet50", 0.0, 0.98),
];

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/reference/plumber_costs.json");
    let Ok(text) = fs::read_to_string(&path) else {
        return vec![Row::skipped("E12", "end to end", "the file of costs")];
    };
    let file: File = serde_json::from_str(&text).expect("the costs can be read");
    // One of them alone: `-- paper RCNN`.
    let one = env::args().nth(2);
    let claims = CLAIMS.iter().filter(|it| one.as_ref().is_none_or(|one| it.0 == one));
    claims.flat_map(|claim| pipeline(&file, *claim)).collect()
}

fn pipeline(file: &File, (name, naive_times, tuner_times): (&str, f64, f64)) -> Vec<Row> {
    let pipeline = &file.pipelines[name];
    let like = pipeline.like.as_ref().map_or(pipeline, |it| &file.pipelines[it]);
    let setup = Setup {
        stages: like.stages.clone(),
        cores: pipeline.cores.unwrap_or(file.cores),
        fits: like.fits(),
        consumer: pipeline.consumer_cap_per_s,
    };
    let naive = setup.naive();
    let heuristic = setup.capped(&vec![setup.cores; setup.stages.len()]);
    let autotune = setup.capped(&setup.autotuned());
    let ours = setup.ours();
    let best = setup.best_of_all();
    let tuner = heuristic.max(autotune);
    let row = |claim: &str, figure, holds| Row::new(&format!("E12 {name}"), claim, figure, holds);
    let rates = format!(
        "ours {ours:.0}/s, naive {naive:.0}/s, heuristic {heuristic:.0}/s, autotune {autotune:.0}/s"
    );
    let mut rows = vec![
        row(
            "at least 0.97 of brute force",
            format!("{:.3} of {best:.0}/s", ours / best),
            ours >= 0.97 * best,
        ),
        row(
            &format!("at least {tuner_times} times the best tuner"),
            format!("{:.2} ({rates})", ours / tuner),
            ours >= tuner_times * tuner,
        ),
    ];
    if naive_times > 0.0 {
        let claim = format!("at least {naive_times} times naive");
        rows.push(row(&claim, format!("{:.1}", ours / naive), ours >= naive_times * naive));
    }
    rows
}

/// A pipeline on a machine.
struct Setup {
    stages: Vec<Stage>,
    cores: f64,
    /// Whether what can be kept fits into memory.
    fits: bool,
    /// The most that the consumer takes in a second.
    consumer: Option<f64>,
}

/// Records of a chunk, and outputs before it is measured.
type Course = (Option<usize>, u64);

impl Setup {
    /// How many times slower everything is.
    fn slower(&self) -> f64 {
        let longest = self.stages.iter().map(|it| it.cpu_ms).fold(0.0, f64::max);
        (LONGEST_MS / longest).clamp(1.0, 20.0)
    }

    /// Half cores where there is half a one: twice as many, each half as fast.
    fn cores(&self) -> (usize, f64) {
        let parts = if self.cores.fract() > 0.0 { 2.0 } else { 1.0 };
        ((self.cores * parts) as usize, parts)
    }

    /// So many cores, each so many times slower than one.
    fn begin(&self, (cores, parts): (usize, f64)) -> Virtual {
        let cap = self.stages.iter().find_map(|it| it.source_cap_per_s);
        // A disk is no slower for there being half cores.
        let disk = cap.map(|it| (it * RECORD_BYTES * parts) as u64);
        Virtual::begin((cores, self.slower() * parts), disk)
    }

    /// The program: each step is work of its cost, what is random depends on a draw.
    fn text(&self) -> String {
        let mut text = format!("pipeline p = range({RECORDS}) |> shuffle\n");
        for stage in &self.stages {
            let seconds = stage.cpu_ms / 1e3;
            let bytes = stage.source_cap_per_s.map_or(0.0, |_| RECORD_BYTES);
            let value = if stage.random { "i + uniform_int(0, 1)" } else { "i" };
            let alone = stage.sequential;
            text += &format!(
                "  |> map {{ i: busy({value}, time: {seconds}, bytes: {bytes:.0}, alone: {alone}) }}\n"
            );
        }
        text
    }

    fn rate(&self, program: &Program, way: Way, (chunk_rows, warm): Course, parts: f64) -> f64 {
        let slower = self.slower();
        let seconds = self.consumer.map_or(0.0, |it| slower / it);
        let consumer = Duration::from_secs_f64(seconds);
        trial::rate(program, &Way { chunk_rows, consumer, ..way }, (warm, SECONDS)) / parts
    }

    /// One thread does everything.
    fn naive(&self) -> f64 {
        let _virtual = self.begin((self.cores as usize, 1.0));
        let program = trial::compiled(&self.text()).program;
        self.rate(&program, Way::workers(1), (Some(1), 3), 1.0)
    }

    /// So many threads for each step, and nothing kept.
    fn capped(&self, workers: &[f64]) -> f64 {
        let cores = self.cores();
        let workers: Vec<u32> = workers.iter().map(|it| (it * cores.1).ceil() as u32).collect();
        let _virtual = self.begin(cores);
        let program = trial::apart(&trial::compiled(&self.text()));
        let caps = trial::caps(&program, &workers);
        let way = Way { caps, ..Way::workers(2 * cores.0) };
        self.rate(&program, way, (Some(1), 100), cores.1)
    }

    /// What the model chooses: what to keep; any thread may do anything.
    fn ours(&self) -> f64 {
        let cores = self.cores();
        let _virtual = self.begin(cores);
        let compiled = trial::compiled(&self.text());
        let workers = cores.0;
        let room = if self.fits { 1 << 30 } else { 0 };
        let kept = trial::chosen(&compiled, &trial::profile(&compiled, workers, 3.0), room);
        let way = Way { kept, ..Way::workers(workers) };
        self.rate(&compiled.program, way, (Some(1), 5 * RECORDS / 2), cores.1)
    }

    /// Workers of each step by tf.data's hill climb.
    fn autotuned(&self) -> Vec<f64> {
        let mut steps = vec![Step::source("range", Amount::Finite(RECORDS as f64))];
        for (i, stage) in self.stages.iter().enumerate() {
            let step = Step::after(&stage.name, i).costs(Figure::exact(stage.cpu_ms * 1e6));
            let segment = stage.sequential.then_some(i as u32);
            steps.push(Step { segment, cap: stage.source_cap_per_s, ..step });
        }
        let network = Network::new(steps).expect("a chain is a network");
        let setting = tuned(&network, &Machine::new(self.cores, 64e9));
        setting.workers[1..].iter().map(|it| f64::from(*it)).collect()
    }

    /// The best rate of all places where records could be kept, by arithmetic.
    fn best_of_all(&self) -> f64 {
        let random = self.stages.iter().position(|it| it.random).unwrap_or(self.stages.len());
        let places = if self.fits { 0..=random } else { 0..=0 };
        let rate = |first: usize| {
            let left = &self.stages[first..];
            let all: f64 = left.iter().map(|it| it.cpu_ms).sum();
            let caps = left.iter().filter_map(|it| it.source_cap_per_s);
            let alone = left.iter().filter(|it| it.sequential).map(|it| 1e3 / it.cpu_ms);
            caps.chain(alone).chain(self.consumer).fold(self.cores * 1e3 / all, f64::min)
        };
        places.map(rate).fold(0.0, f64::max)
    }
}
