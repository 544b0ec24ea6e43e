//! E8: where records are kept, and that no other number of bytes of memory changes it.

use crate::Row;
use model::{
    Figure, Machine, Network, Step, Wishes,
    cache::{Horizon, TierCost, choose, pick_best},
    network::{Amount, Count, Varies},
    place::candidates,
};

const GB: f64 = 1e9;
const IMAGES: f64 = 1.2e6;
/// Whole data sets or nothing, as in the paper; the fill is free.
const WHOLE: Horizon = Horizon { epochs: 1e6, partial: false, memory: FREE, disk: FREE };
const FREE: TierCost =
    TierCost { read_ns: 0.0, read_ns_per_byte: 0.0, write_ns: 0.0, write_ns_per_byte: 0.0 };

/// A step of a chain: name, milliseconds for each record, bytes of a record, and why it varies.
type Draft = (&'static str, f64, f64, Option<Varies>);

const RANDOM: Option<Varies> = Some(Varies::Random);
const FUSED: [Draft; 2] = [("read", 0.6, 116e3, None), ("decode_crop", 2.5, 150e3, RANDOM)];
const UNFUSED: [Draft; 3] =
    [("read", 0.6, 116e3, None), ("decode", 1.0, 700e3, None), ("augment", 2.17, 150e3, RANDOM)];
const SSD: [Draft; 4] = [
    ("read", 0.3, 170e3, None),
    ("decode", 1.4, 800e3, None),
    ("filter", 0.1, 800e3, None),
    ("augment", 5.4, 300e3, RANDOM),
];
const FLAX: [Draft; 5] = [
    ("read", 0.2, 300.0, None),
    ("tokenise", 2.0, 400.0, None),
    ("filter", 1.0, 400.0, None),
    ("shuffle", 0.1, 400.0, Some(Varies::Reorders)),
    ("pack", 0.9, 400.0, None),
];
const RCNN: [Draft; 2] = [("read", 0.5, 170e3, None), ("decode_augment", 71.0, 3e6, RANDOM)];

pub(super) fn rows() -> Vec<Row> {
    let rcnn = chain(&RCNN).with(0, |step| step.cap = Some(20.0));
    let found = [
        kept(&chain(&FUSED), 300.0 * GB),
        kept(&chain(&UNFUSED), 2000.0 * GB),
        kept(&rcnn, 300.0 * GB),
        kept(&chain(&SSD), 2000.0 * GB),
        kept(&chain(&FLAX), 2.0 * GB),
    ];
    vec![
        Row::new(
            "E8 places",
            "ResNet fused: read; unfused: decode; RCNN: read; SSD: filter; Flax: filter",
            found.join(", "),
            found == ["read", "decode", "read", "filter", "filter"],
        ),
        memory(),
        reasons(),
        variants(),
    ]
}

/// Bytes of memory in which records of so many bytes just fit.
fn room(bytes: f64) -> f64 {
    bytes * IMAGES / model::machine::MEMORY_PART
}

fn memory() -> Row {
    let (source, decoded) = (room(116e3), room(700e3));
    let all = [1.0, source * 0.999, source * 1.001, decoded * 0.999, decoded * 1.001, 1e18];
    let found = all.map(|it| kept(&chain(&UNFUSED), it));
    let claim = "from 1 byte of memory to any: nothing, read, decode, each exactly where it fits";
    let holds = found == ["-", "-", "read", "read", "decode", "decode"];
    Row::new("E8 memory", claim, found.join(" "), holds)
}

fn reasons() -> Row {
    let why = |network: &Network, at: usize| {
        let found = candidates(network).swap_remove(at);
        found.map_or_else(|it| it.to_string(), |_| "it may be kept".to_owned())
    };
    let forever = chain(&UNFUSED).with(1, |step| step.count = Count::Repeat(None));
    let found =
        [why(&chain(&UNFUSED), 2), why(&chain(&FLAX), 4), why(&forever, 1), why(&forever, 0)];
    let told = ["`augment` draws random numbers", "`shuffle` changes the order each epoch"];
    let holds =
        found[..2] == told && !found[2].contains("may be kept") && found[3].contains("may be");
    let claim = "never after a draw, a new order, or a repeat without end; before it, yes";
    Row::new("E8 reasons", claim, found.join("; "), holds)
}

fn variants() -> Row {
    let pick = |memory| {
        let variants = [chain(&FUSED), chain(&UNFUSED)];
        pick_best(&variants, &Machine::new(32.0, memory), &Wishes::default(), &WHOLE).map(|it| it.0)
    };
    let decoded = room(700e3);
    let found = [0.0, 300.0 * GB, decoded * 0.999, decoded * 1.001].map(pick);
    let claim = "of two variants the unfused one from where decoded records fit, and not before";
    let holds = found == [Some(0), Some(0), Some(0), Some(1)];
    let names: Vec<&str> = found.iter().flatten().map(|it| ["fused", "unfused"][*it]).collect();
    Row::new("E8 variants", claim, names.join(" "), holds)
}

fn chain(drafts: &[Draft]) -> Network {
    let step = |(at, (name, ms, bytes, varies)): (usize, &Draft)| {
        let step = match at {
            0 => Step::source(name, Amount::Finite(IMAGES)),
            _ => Step::after(name, at - 1),
        };
        let (ns, bytes_out) = (Figure::exact(ms * 1e6), Figure::exact(*bytes));
        Step { ns, bytes_out, varies: *varies, ..step }
    };
    Network::new(drafts.iter().enumerate().map(step).collect()).expect("a chain is a network")
}

/// The step after which records are kept.
fn kept(network: &Network, memory: f64) -> &'static str {
    let machine = Machine::new(32.0, memory);
    let choice = choose(network, &machine, &Wishes::default(), &WHOLE);
    let all = [&FUSED[..], &UNFUSED, &SSD, &FLAX, &RCNN].concat();
    let name = |it: &model::cache::Held| network.steps()[it.step].name.clone();
    let name = choice.best.caches.first().map(name);
    name.and_then(|it| all.iter().find(|draft| draft.0 == it)).map_or("-", |it| it.0)
}
