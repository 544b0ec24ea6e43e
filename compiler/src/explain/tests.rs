//! What `explain` shows of plans by hand.

use super::{Comparison, Explanation, Observed, explain};
use crate::{
    analysis::bed::{Bed, LIBRARY},
    caches::{Form, PLAIN, Tier},
    estimate::{Kept, Row, Strategies, View},
    lower::tests::imagenet,
    passes::{Settings, optimise},
};
use model::{Machine, strategy::Objective};
use plan::{Arg, Deal, IdVec, Measured, Plan, Program, StageId, StageMeasured};
use std::collections::BTreeMap;

fn explained(plan: &Plan) -> String {
    explanation(plan).text()
}

fn explanation(plan: &Plan) -> Explanation {
    let made =
        optimise(plan.clone(), &LIBRARY, &Settings { cores: 2, without: &[], approx: false });
    let made = made.expect("it can be run");
    let view = View {
        machine: Machine::new(2.0, 0.0),
        choices: Vec::new(),
        too_large: Vec::new(),
        budget: None,
        filled: BTreeMap::new(),
        only: Vec::new(),
        seen: None,
        pass_lens: Vec::new(),
        counted: Vec::new(),
        storages: Vec::new(),
    };
    explain(&made, &LIBRARY, &|it| format!("p.pipe:{}", it.start), view)
}

#[test]
fn images() {
    let text = explained(&imagenet());
    let expected = "p: ~2,239 records/s (~17 batches/s) on 2 cores, bottleneck: p.map#4 (decode)
~ default costs, not measured here: run `pipec profile`

step         location  time/record  size/record  CPU  workers  output
p.files#0    p.pipe:0      ~100 ns        ~64 B  <1%        2  { path: str }
p.map#1      p.pipe:1       ~12 µs      ~110 kB   1%        2  { path: str, bytes: bytes }
p.where#2    p.pipe:2       ~50 ns               <1%        2
p.shuffle#3  p.pipe:3            –                0%   source
  permutation of the index: a record moves by a third of the data set on average, no buffer
p.map#4      p.pipe:4      ~881 µs        772 B  99%        2  { image: f32[3, 8, 8], label: i32 }
    decode                 ~880 µs      ~605 kB  99%
p.batch#5    p.pipe:5      ~0.4 ns  99 kB/batch  <1%        1  { image: f32[128, 3, 8, 8], label: i32[128] }

  step       time/batch   per core  cores used    capacity
  p.files#0      ~13 µs    ~10 M/s        0.00     ~20 M/s
  p.map#1       ~1.5 ms  ~83,333/s        0.03  ~166,667/s
  p.where#2     ~6.4 µs    ~20 M/s        0.00     ~40 M/s
> p.map#4       ~113 ms   ~1,135/s        1.97    ~2,270/s
  p.batch#5      ~50 ns   ~2.6 G/s        0.00    ~2.6 G/s

time         ~893 µs of CPU time per record, ~114 ms per batch
memory       ~6.1 MB: 296 kB batches, ~4.4 MB chunks, ~1.4 MB temporaries
rewrites     view-reordering: p.map#4: `channels_first` moves before `normalize` (no change in cost)
limits       2 cores: ~2,239 records/s
verdict      hardware: 100% of the cores are used
suggestions  4 cores instead of 2: ~4,479 records/s (+100%); 3 cores instead of 2: ~3,359 records/s (+50%)
resume       resuming recomputes at most one batch or chunk
ranks        each rank computes everything up to p.where#2, then only its own batches; at the end of an epoch some ranks may return one batch more than others
";
    assert_eq!(text, expected, "{text}");
}

#[test]
fn streams_that_are_joined_stand_before_it() {
    let text = explained(&joined());
    let expected = "p: ~149 M records/s (~2.3 M batches/s) on 2 cores, bottleneck: p.shuffle#1, sequential
~ default costs, not measured here: run `pipec profile`

step                location  time/record   size/record  CPU  workers  output
  p.range#0         p.pipe:0      ~0.5 ns         8.0 B   4%        2  { i: i64 }
  p.shuffle#1  → a  p.pipe:1      ~5.0 ns                37%        1
    a record moves by 100 positions on average, and by less than 300
  p.range#2  → b    p.pipe:2      ~0.5 ns         8.0 B   4%        2  { i: i64 }
p.zip#3             p.pipe:3      ~5.0 ns          16 B  37%        1  { a.i: i64, b.i: i64 }
p.batch#4           p.pipe:4      ~2.4 ns  1.0 kB/batch  18%        1  { a.i: i64[64], b.i: i64[64] }

  step         time/batch  per core  cores used  capacity
  p.range#0        ~32 ns  ~2.0 G/s        0.07  ~4.0 G/s
> p.shuffle#1     ~320 ns  ~200 M/s        0.75  ~200 M/s
  p.range#2        ~32 ns  ~2.0 G/s        0.07  ~4.0 G/s
  p.zip#3         ~320 ns  ~200 M/s        0.75  ~200 M/s
  p.batch#4       ~152 ns  ~420 M/s        0.36  ~420 M/s

time         ~13 ns of CPU time per record, ~856 ns per batch
memory       2.9 MB: 3.1 kB batches, 2.9 MB chunks, 9.6 kB operator buffers
limits       2 cores: ~149 M records/s; `p.shuffle#1`, sequential, on one thread: ~200 M records/s; `p.zip#3`, sequential, on one thread: ~200 M records/s; `p.batch#4`, sequential, on one thread: ~420 M records/s
verdict      hardware: 100% of the cores are used
suggestions  3 cores instead of 2: ~200 M records/s (+34%); 4 cores instead of 2: ~200 M records/s (+34%)
resume       resuming recomputes at most one window of p.shuffle#1 (300 records)
ranks        each rank computes everything up to p.zip#3, then only its own batches; at the end of an epoch some ranks may return one batch more than others
";
    assert_eq!(text, expected, "{text}");
}

/// Two streams that are joined, one of which comes in another order.
fn joined() -> Plan {
    let mut bed = Bed::default();
    let one = bed.range();
    let one = bed.operator("shuffle", one, &[Arg::Int(300)]);
    let inputs = [one, bed.range()];
    let zip = bed.zip(inputs);
    let root = bed.batch(zip, 64);
    bed.plan(root)
}

#[test]
fn a_graph_has_a_node_for_each_step_and_an_edge_for_each_stream() {
    let mut explanation = explanation(&joined());
    explanation.pipeline = "a \"b\"".to_owned();
    let dot = explanation.dot();
    let expected = r##"digraph "a \"b\"" {
  rankdir=LR;
  labelloc=t;
  fontname="sans-serif";
  label="a \"b\": ~149 M records/s (~2.3 M batches/s) on 2 cores, bottleneck: p.shuffle#1, sequential";
  node [shape=box, fontname="sans-serif", fontsize=10];
  edge [fontname="sans-serif", fontsize=9];
  s0 [label="p.range#0\n~0.5 ns per record\n~2.0 G/s per core, 0.07 cores\ncapacity ~4.0 G/s", shape=diamond];
  s1 [label="p.shuffle#1\n~5.0 ns per record\n~200 M/s per core, 0.75 cores\ncapacity ~200 M/s", color=red, penwidth=3];
  s2 [label="p.range#2\n~0.5 ns per record\n~2.0 G/s per core, 0.07 cores\ncapacity ~4.0 G/s", shape=diamond];
  s3 [label="p.zip#3\n~5.0 ns per record\n~200 M/s per core, 0.75 cores\ncapacity ~200 M/s"];
  s4 [label="p.batch#4\n~2.4 ns per record\n~420 M/s per core, 0.36 cores\ncapacity ~420 M/s"];
  consumer [label="consumer", shape=plaintext];
  s0 -> s1 [label="64 records\n512 B"];
  s1 -> s3 [label="64 records\n512 B"];
  s2 -> s3 [label="64 records\n512 B"];
  s3 -> s4 [label="64 records\n1.0 kB"];
  s4 -> consumer [label="1 batch\n1.0 kB"];
}
"##;
    assert_eq!(dot, expected, "{dot}");
}

/// A run of two stages, each with its steps, which took so many nanoseconds a record.
fn measured(stages: [(&[&str], f64); 2]) -> Measured {
    let stage = |(steps, ns): (&[&str], f64)| StageMeasured {
        steps: steps.iter().map(|it| (*it).to_owned()).collect(),
        entered: 100,
        cpu_ns: 100.0 * ns,
        starved: 0.003,
        active: 0.5,
        ..StageMeasured::default()
    };
    Measured { outputs: 100, stages: stages.map(stage).to_vec() }
}

fn program() -> Program {
    Program {
        format: plan::FORMAT,
        name: "p".to_owned(),
        stages: IdVec::new(),
        output: Vec::new(),
        batched: false,
        deal: Deal::each(StageId(0)),
        lanes: Vec::new(),
        beside: Vec::new(),
        once: Vec::new(),
        jit: true,
    }
}

fn observed<'a>(program: &'a Program, measured: &'a Measured) -> Observed<'a> {
    Observed {
        program,
        measured,
        seconds: 2.0,
        outputs: 100,
        records: 100,
        workers: 2,
        cores: 2,
        stalled_seconds: 1.0,
        stalls: [70, 20, 10, 0],
    }
}

#[test]
fn a_page_is_well_formed_and_needs_nothing_else() {
    let (program, measured) = (program(), measured([(&["a<b>"], 3.0), (&["c&d"], 4.0)]));
    for plan in [imagenet(), joined()] {
        let mut explanation = explanation(&plan);
        explanation.pipeline = "</title><script>\"".to_owned();
        for observed in [None, Some(&observed(&program, &measured))] {
            let page = explanation.html(observed);
            assert_eq!(flaw(&page), None);
            assert!(!page.contains("http") && !page.contains("<script"));
            assert_eq!(page.contains("a&lt;b&gt;"), observed.is_some());
            assert!(page.contains("step bottleneck") && page.contains("N* = "));
        }
    }
}

/// A row with its bytes in memory and on disk, its rate in batches, whether it is Pareto-optimal, and whether it is chosen.
fn row(value: &str, [memory, disk]: [f64; 2], rate: f64, [pareto, chosen]: [bool; 2]) -> Row {
    let share = |bytes: f64| f64::from(bytes > 0.0);
    let tier = match (memory > 0.0, disk > 0.0) {
        (true, true) => Tier::Both,
        (true, false) => Tier::Memory,
        (false, _) => Tier::Disk,
    };
    let kept = Kept {
        value: value.to_owned(),
        step: "p.map#4".to_owned(),
        index: false,
        memory: share(memory),
        disk: share(disk),
        forms: vec![Form { tier, figures: PLAIN, share: 1.0 }],
    };
    Row {
        plan: 0,
        kept: if memory + disk > 0.0 { vec![kept] } else { Vec::new() },
        memory_bytes: memory,
        disk_bytes: disk,
        first_rate: 17.0,
        rate,
        seconds: Some([60.0, 1000.0 / rate, 60.0 + 89_000.0 / rate]),
        pareto,
        chosen,
        measured: None,
        cost: None,
        score: None,
    }
}

fn strategies(rows: Vec<Row>) -> Strategies {
    Strategies {
        rows,
        passes: 90.0,
        runs: 1.0,
        finds: false,
        objective: Objective::Rate,
        bound: None,
        turns: Vec::new(),
        reversals: Vec::new(),
    }
}

#[test]
fn what_could_be_cached_is_drawn() {
    let explanation = explanation(&imagenet());
    let found = strategies(vec![
        row("decode<i>", [0.0, 77e9], 58.0, [true, true]),
        row("decode<i>", [77e9, 77e9], 58.0, [false, false]),
        row("read_file", [14e9, 0.0], 17.5, [true, false]),
        row("", [0.0; 2], 17.0, [true, false]),
    ]);
    let page = explanation.strategies_html(&[found, strategies(Vec::new())]);
    assert_eq!(flaw(&page), None);
    assert!(!page.contains("http") && !page.contains("<script"));
    for part in [
        "<h2>90 epochs on 2 cores, ",
        "for the highest rate of later epochs",
        "<tr class=\"chosen\">",
    ] {
        assert!(page.contains(part), "no `{part}` in:\n{page}");
    }
    let drawn = page.split("role=\"img\"").nth(1).unwrap();
    let drawn = &drawn[..drawn.find("</svg>").unwrap()];
    let expected = r##" aria-label="bytes and rate of what could be cached">
<line class="axis" x1="76.0" y1="380.0" x2="1064.0" y2="380.0"/>
<line class="axis" x1="76.0" y1="16.0" x2="76.0" y2="380.0"/>
<line class="grid" x1="76.0" y1="380.0" x2="1064.0" y2="380.0"/>
<text class="quiet end" x="70.0" y="384.0">0</text>
<line class="grid" x1="76.0" y1="161.1" x2="1064.0" y2="161.1"/>
<text class="quiet end" x="70.0" y="165.1">~5,000</text>
<line class="axis" x1="116.0" y1="380.0" x2="116.0" y2="384.0"/>
<text class="quiet middle" x="116.0" y="398.0">0</text>
<line class="axis" x1="168.6" y1="380.0" x2="168.6" y2="384.0"/>
<text class="quiet middle" x="168.6" y="398.0">10 GB</text>
<line class="axis" x1="370.1" y1="380.0" x2="370.1" y2="384.0"/>
<text class="quiet middle" x="370.1" y="398.0">20 GB</text>
<line class="axis" x1="636.5" y1="380.0" x2="636.5" y2="384.0"/>
<text class="quiet middle" x="636.5" y="398.0">50 GB</text>
<line class="axis" x1="838.0" y1="380.0" x2="838.0" y2="384.0"/>
<text class="quiet middle" x="838.0" y="398.0">100 GB</text>
<line class="axis" x1="1039.6" y1="380.0" x2="1039.6" y2="384.0"/>
<text class="quiet middle" x="1039.6" y="398.0">200 GB</text>
<line class="mark" x1="141.0" y1="16.0" x2="141.0" y2="380.0"/>
<text class="quiet middle" x="570.0" y="418.0">bytes cached, in memory and on disk</text>
<text class="quiet" x="82.0" y="20.0">records/s</text>
<path class="front" d="M116.0 284.7H266.4V281.9H762.1V55.0H1064.0"/>
<circle class="ring" cx="762.1" cy="55.0" r="9.0"><title>decode&lt;i&gt; on disk
~77 GB, ~7,424 records/s</title></circle>
<circle class="dot best" cx="762.1" cy="55.0" r="5.0"><title>decode&lt;i&gt; on disk
~77 GB, ~7,424 records/s</title></circle>
<circle class="dot best" cx="266.4" cy="281.9" r="5.0"><title>read_file in memory
~14 GB, ~2,240 records/s</title></circle>
<circle class="dot best" cx="116.0" cy="284.7" r="5.0"><title>nothing
0 B, ~2,176 records/s</title></circle>
<circle class="dot" cx="963.6" cy="55.0" r="5.0"><title>decode&lt;i&gt; in memory and on disk
~154 GB, ~7,424 records/s</title></circle>
<text class="seen" x="775.1" y="46.0">decode&lt;i&gt; on disk</text>
<text class="quiet" x="279.4" y="272.9">read_file in memory</text>
<text class="quiet" x="129.0" y="275.7">nothing</text>
<text class="quiet end" x="950.6" y="73.0">decode&lt;i&gt; in memory and on disk</text>
"##;
    assert_eq!(drawn, expected, "{drawn}");
}

/// The first tag that is not closed where it should be.
fn flaw(page: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let body = page.strip_prefix("<!DOCTYPE html>")?;
    for tag in body.split('<').skip(1) {
        let Some((tag, text)) = tag.split_once('>') else { return Some(tag.to_owned()) };
        let name = tag.split([' ', '/']).find(|it| !it.is_empty()).unwrap_or_default();
        let is_style = open.last() == Some(&"style");
        match () {
            () if text.contains('>') && !is_style && name != "style" => {
                return Some(tag.to_owned());
            }
            () if tag.ends_with('/') => {}
            () if tag.starts_with('/') && open.pop() == Some(name) => {}
            () if tag.starts_with('/') => return Some(tag.to_owned()),
            () => open.push(name),
        }
    }
    open.pop().map(str::to_owned)
}

#[test]
fn runs_whose_stages_are_cut_otherwise_are_compared() {
    let program = program();
    let one = measured([(&["x", "y"], 300.0), (&["z"], 100.0)]);
    let other = measured([(&["x"], 100.0), (&["y", "w"], 50.0)]);
    let compared =
        Comparison::of(("a", &observed(&program, &one)), ("b", &observed(&program, &other)));
    assert_eq!(compared.work.len(), 2);
    assert_eq!(compared.work[0].ns, [Some(300.0), Some(150.0)]);
    assert_eq!(compared.work[0].only_b, ["w"]);
    assert_eq!(
        (&compared.work[1].only_a, compared.work[1].ns),
        (&vec!["z".to_owned()], [Some(100.0), None])
    );
    let text = compared.text();
    for part in ["x, y, w              300 ns  150 ns    -50%", "only in A  z", "only in B  w"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}
