//! What all threads share, and which tasks may begin; `flow.rs` says what follows when one ends.
//!
//! The argument that this is right stands above `Options`, in `executor.rs`.

use super::{
    bound::Budget,
    cut::{Cut, Stretch},
    hands::Hands,
    losses::LostRecord,
    node::{Class, Fetch, Item, Kind, Node, Parcel},
    operate::Operating,
    position::{At, Point},
    supply::Supply,
    task::{Job, Slot, Timing, Work},
};
use crate::{
    CachePoint, Failure, Source, Unneeded, Wants,
    eval::{Name, Tap},
    storage::Seen,
};
use model::under_way::Fetching;
use plan::{Index, StageId};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// For how long the consumer is not woken again for a little.
const CALL_PAUSE: Duration = Duration::from_micros(200);

/// From one look at the nodes to the next.
const LOOK_PERIOD: Duration = Duration::from_millis(1);

/// Losses of a stage of which the consumer is told at once; a stage with twice as many waits.
const UNTOLD: usize = 4096;

/// The nodes of a run, and who is waiting.
pub(super) struct State {
    /// Each after those that it reads; the last one is the output.
    pub(super) nodes: Vec<Node>,
    /// The nodes by their distance from the output, for each class.
    order: [Vec<usize>; Class::COUNT],
    /// The nodes of workers that go first where nothing of theirs waits: see [`first`].
    first: Vec<usize>,
    /// Records that may be lost in all.
    pub(super) most_lost: Option<u64>,
    pub(super) stopped: bool,
    /// Why the executor itself cannot go on.
    pub(super) broken: Option<Failure>,
    /// Threads that wait for a task.
    pub(super) sleeping: [usize; Class::COUNT],
    /// Those of them that were called and have not come yet.
    called: [usize; Class::COUNT],
    pub(super) consumer_waits: bool,
    /// When the consumer was woken last.
    output_called: Option<Instant>,
    /// How long the consumer has waited.
    pub(super) stalled: Duration,
    /// Its waits for a chunk, by how long they were.
    pub(super) stalls: [u64; 4],
    /// Bytes of chunks that wait, or that tasks are reading.
    pub(super) in_flight: usize,
    pub(super) in_flight_peak: usize,
    /// When the nodes were looked at last.
    looked: Option<Instant>,
    /// The memory that the run may have.
    pub(super) budget: Budget,
    /// Tasks that would have taken more than that, and are done again when nobody else is at work.
    pub(super) put_off: Vec<Job>,
    /// Whether such a one is at work.
    pub(super) is_alone: bool,
    /// How many workers are of use.
    pub(super) hands: Hands,
    /// Threads of each class that there are, and that there may be: fewer where memory is short.
    pub(super) threads: [usize; Class::COUNT],
    pub(super) threads_most: [usize; Class::COUNT],
    /// Those that were started.
    pub(super) started: [usize; Class::COUNT],
    /// Threads that are giving back what they kept.
    pub(super) leaving: usize,
    /// Tasks since memory was short last, and how many there have to be.
    pub(super) calm: u32,
    pub(super) patience: u32,
}

/// Whom to wake.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Calls {
    pub(super) tasks: [bool; Class::COUNT],
    pub(super) output: bool,
}

impl State {
    pub(super) fn new(
        nodes: Vec<Node>,
        (most_lost, budget, started): (Option<u64>, Budget, [usize; Class::COUNT]),
    ) -> Self {
        let is_measured = nodes.iter().all(|it| !it.measured.is_off);
        let hands = Hands::new(started[Class::Worker as usize], is_measured);
        let mut threads = started;
        threads[Class::Worker as usize] = hands.most();
        let of = |class: Class| {
            let mut ids: Vec<_> = (0..nodes.len()).filter(|&it| nodes[it].class == class).collect();
            ids.sort_by_key(|&it| nodes[it].below.len());
            ids
        };
        let mut state = Self {
            order: Class::ALL.map(of),
            first: first(&nodes),
            nodes,
            most_lost,
            stopped: false,
            broken: None,
            sleeping: [0; Class::COUNT],
            called: [0; Class::COUNT],
            consumer_waits: false,
            output_called: None,
            stalled: Duration::ZERO,
            stalls: [0; 4],
            in_flight: 0,
            in_flight_peak: 0,
            looked: None,
            budget,
            put_off: Vec::new(),
            is_alone: false,
            hands,
            threads,
            threads_most: started,
            started,
            leaving: 0,
            calm: 0,
            patience: 0,
        };
        state.plan_for_hands();
        state
    }

    /// The next item of the output, if it is there.
    pub(super) fn next_output(&mut self) -> Option<Item> {
        if let Some(failure) = self.broken.take() {
            return Some(Item::Failed(failure));
        }
        if self.stopped {
            return Some(Item::Failed(Failure::Stopped));
        }
        let item = self.nodes.last_mut()?.pop()?;
        self.in_flight -= item.bytes();
        self.settle();
        Some(item)
    }

    /// Where each of the rounds ends whose batches have left, `rows` of them.
    pub(super) fn rounds_left(&mut self, epoch: u32, rows: usize) -> Vec<At> {
        let rounds = self.nodes.iter_mut().find_map(Node::rounds);
        rounds.map_or_else(Vec::new, |it| it.left(epoch, rows))
    }

    /// Whether other runs have one batch more in `epoch`.
    pub(super) fn lacks(&mut self, epoch: u32) -> bool {
        let rounds = self.nodes.iter_mut().find_map(Node::rounds);
        rounds.is_some_and(|it| it.lacking.pop_front_if(|it| *it <= epoch) == Some(epoch))
    }

    /// What the sources are.
    pub(super) fn sources(&self) -> Vec<Arc<dyn Source>> {
        let supply = |it: &Node| match &it.kind {
            Kind::Fetch(Fetch { supply, .. }) | Kind::Stream { supply, .. } => {
                Some(supply.source.clone())
            }
            _ => None,
        };
        // The lanes of one have the same.
        self.nodes.iter().filter(|it| it.lane.is_first()).filter_map(supply).collect()
    }

    /// What they do not read, each with its label.
    pub(super) fn unneeded(&self) -> Vec<(String, Unneeded)> {
        let unneeded = |it: &Node| match &it.kind {
            Kind::Fetch(Fetch { supply, .. }) | Kind::Stream { supply, .. } => {
                Some((it.name.label.to_string(), supply.source.unneeded()?))
            }
            _ => None,
        };
        self.nodes.iter().filter(|it| it.lane.is_first()).filter_map(unneeded).collect()
    }

    /// The sources, in the order of the program; none where one is read through.
    pub(super) fn supplies(&self) -> Vec<Option<Arc<Supply>>> {
        let supply = |it: &Node| match &it.kind {
            Kind::Fetch(Fetch { supply, .. }) => Some(Some(supply.clone())),
            Kind::Stream { .. } => Some(None),
            _ => None,
        };
        // The lanes of one have the same.
        self.nodes.iter().filter(|it| it.lane.is_first()).filter_map(supply).collect()
    }

    /// Keeps a value from epoch to epoch.
    pub(super) fn keep(&self, point: &CachePoint) -> Result<(), Failure> {
        let stray =
            || Failure::Program("a value that is to be cached is not in the program".into());
        let compiled = |stage: StageId| {
            let mut nodes = self.nodes.iter().filter(|it| it.stage == stage.row());
            nodes.find_map(|it| match &it.kind {
                Kind::Transform { compiled, .. } => Some(compiled),
                _ => None,
            })
        };
        let comes_in = point.spares.first().map(|it| it.column);
        let tap = |key: &[u32], is_spared| {
            let (cache, name, keep) = (point.cache.clone(), point.name, point.keep);
            Tap { cache, name, key: key.to_vec(), keep, is_spared, comes_in }
        };
        let keep = |stage, node, tap| {
            compiled(stage).is_some_and(|it| it.keep(node, tap)).then_some(()).ok_or_else(stray)
        };
        keep(point.stage, point.node, tap(&point.key, false))?;
        point.spares.iter().try_for_each(|it| keep(it.stage, it.node, tap(&it.key, true)))
    }

    /// What the source is called that has a record.
    pub(super) fn source_of(&self, id: u64) -> Option<Name> {
        let has = |it: &&Node| match &it.kind {
            Kind::Fetch(Fetch { supply, .. }) | Kind::Stream { supply, .. } => {
                supply.source.named(id).is_some()
            }
            _ => false,
        };
        Some(self.nodes.iter().find(has)?.name.clone())
    }

    /// The losses that nobody has been told of.
    pub(super) fn take_untold(&mut self) -> Vec<LostRecord> {
        let untold = self.nodes.iter_mut().filter_map(|it| it.losses.untold.as_mut());
        untold.flat_map(std::mem::take).collect()
    }

    /// Whether so many losses are untold that somebody should be told.
    pub(super) fn has_much_to_tell(&self) -> bool {
        self.nodes.iter().any(|it| it.losses.n_untold() >= UNTOLD)
    }

    /// The task for a thread of `class`: of a node that others would wait for, or else the one that is nearest to
    /// the output.
    pub(super) fn take_job(&mut self, class: Class) -> Option<Job> {
        let mut order = self.order[class as usize].iter().copied();
        let first = self.first.iter().copied().filter(|_| class == Class::Worker);
        let mut first = first.filter(|&it| self.nodes[it].out.is_empty());
        let ready =
            first.find(|&it| self.is_ready(it)).or_else(|| order.find(|&it| self.is_ready(it)));
        let Some(id) = ready else { return self.take_put_off(class) };
        let job = self.begin(id);
        self.nodes[id].measured.active += 1;
        self.settle();
        Some(job)
    }

    /// Whom to wake after a change.
    pub(super) fn calls(&mut self) -> Calls {
        let mut calls = Calls::default();
        for class in Class::ALL.map(|it| it as usize) {
            let idle = self.sleeping[class] > self.called[class];
            calls.tasks[class] = idle
                && (self.order[class]
                    .iter()
                    .any(|&it| self.is_ready(it) && self.is_worth_waking(it))
                    || self.put_off_class().is_some_and(|it| it as usize == class));
            self.called[class] += usize::from(calls.tasks[class]);
        }
        calls.output = self.consumer_waits
            && (self.is_worth_a_call() || self.has_much_to_tell() || self.broken.is_some());
        if calls.output {
            self.consumer_waits = false;
            self.output_called = Some(Instant::now());
        }
        calls
    }

    /// Whether a thread is to be woken for a task of the node, which is ready.
    ///
    /// Where it is done faster than a thread wakes and much of what it gives waits already, the next ones wait too, so
    /// that whoever wakes does several. While a task is at work there will be another call.
    fn is_worth_waking(&self, id: usize) -> bool {
        let node = &self.nodes[id];
        let is_full = node.finds_quickly() && 2 * node.out.len() > node.items();
        !is_full || self.nodes.iter().all(|it| it.measured.active == 0)
    }

    /// Whether the consumer is to be woken for what there is.
    ///
    /// Waking it costs more than a small batch: one that was woken just now waits until there are
    /// some more. While a task is at work there will be another call, so nothing is left lying.
    fn is_worth_a_call(&self) -> bool {
        let Some(node) = self.nodes.last().filter(|it| !it.out.is_empty()) else { return false };
        let is_mark = !matches!(node.out.back(), Some(Item::Chunk(_)));
        let is_half = 2 * node.out.len() >= node.items() || 2 * node.out_bytes >= node.limit.bytes;
        let is_rested = self.output_called.is_none_or(|it| it.elapsed() >= CALL_PAUSE);
        is_mark || is_half || is_rested || self.nodes.iter().all(|it| it.measured.active == 0)
    }

    /// A thread that slept is awake.
    pub(super) fn woke(&mut self, class: Class) {
        self.sleeping[class as usize] -= 1;
        // One that woke without a call takes another's; that one is called once more, no harm.
        self.called[class as usize] = self.called[class as usize].saturating_sub(1);
    }

    /// Takes note of what the nodes are doing, every now and then.
    ///
    /// To be called before they change: so they have stood since something happened last.
    pub(super) fn look(&mut self, now: Instant) {
        let since = now.saturating_duration_since(*self.looked.get_or_insert(now));
        if since < LOOK_PERIOD {
            return;
        }
        self.looked = Some(now);
        self.budget.look_now_and_then(now);
        let seconds = since.as_secs_f64();
        for id in 0..self.nodes.len() {
            let node = &self.nodes[id];
            let held = node.held() as f64;
            let idle = node.measured.active == 0 && !node.is_busy && node.epoch < node.end;
            let (has_work, has_room) = (self.has_work(id), node.has_room());
            let seen = &mut self.nodes[id].measured.seen;
            seen.seconds += seconds;
            seen.held += held * seconds;
            seen.starved += if idle && !has_work { seconds } else { 0.0 };
            seen.blocked += if has_work && !has_room { seconds } else { 0.0 };
        }
    }

    /// Whether nothing is there for the consumer.
    pub(super) fn is_output_empty(&self) -> bool {
        self.nodes.last().is_none_or(|it| it.out.is_empty())
    }

    /// Whether a task of any node may begin.
    pub(super) fn is_any_ready(&self) -> bool {
        (0..self.nodes.len()).any(|it| self.is_ready(it))
    }

    /// Whether a task of the node may begin.
    pub(super) fn is_ready(&self, id: usize) -> bool {
        let node = &self.nodes[id];
        if self.is_held_up(id) || node.is_busy || node.is_stuck || node.epoch >= node.end {
            return false;
        }
        if node.losses.n_untold() >= 2 * UNTOLD {
            return false;
        }
        self.has_thread(node) && self.has_work(id) && node.has_room() && self.has_memory(node)
    }

    /// Whether one thread more may work in the node's stage, with all its lanes.
    fn has_thread(&self, node: &Node) -> bool {
        let most = node.limit.threads;
        let same = self.nodes.iter().filter(|it| it.stage == node.stage);
        most == usize::MAX || same.map(|it| it.measured.active).sum::<usize>() < most
    }

    /// Whether nothing more can come for a consumer that waits and has not been called: a bug, of which it is to
    /// be told. A task that waits for memory is at work.
    pub(super) fn is_dead(&self) -> bool {
        !self.stopped
            && self.broken.is_none()
            && self.consumer_waits
            && self.is_output_empty()
            && self.leaving == 0
            && self.nodes.iter().all(|it| it.measured.active == 0)
            && !self.is_any_ready()
            && self.put_off_class().is_none()
    }

    /// The failure that says so, and where each node stands.
    pub(super) fn why_dead(&self) -> Failure {
        let of = |it: &Node| {
            let Node { name, epoch, is_stuck, out, ring, .. } = it;
            let (out, begun) = (out.len(), ring.len());
            format!("{} epoch {epoch}, {out} waiting, {begun} begun, stuck {is_stuck}", name.label)
        };
        let nodes: Vec<_> = self.nodes.iter().map(of).collect();
        let nodes = nodes.join("; ");
        Failure::Program(format!("the run does not continue, this is a bug in pipec: {nodes}"))
    }

    /// Whether there is something that a task of the node could begin with.
    fn has_work(&self, id: usize) -> bool {
        let node = &self.nodes[id];
        match &node.kind {
            Kind::Fetch(fetch) => !fetch.is_over(),
            Kind::Stream { .. } => true,
            Kind::Finish => self.has_chunk(node.inputs[0]),
            Kind::Transform { pieces, cut, .. } => {
                let held = || node.below.iter().map(|&it| self.nodes[it].held()).sum();
                let wanted = || node.under_way().map_or(0, |it| it.batches);
                let has_rest = pieces.has_rest() || cut.as_ref().is_some_and(Cut::has_rest);
                (has_rest || self.has_chunk(node.inputs[0]))
                    && cut.as_ref().is_none_or(|it| it.may_give(wanted(), held))
            }
            Kind::Operator(Operating { opened: None, .. }) => true,
            Kind::Operator(Operating { wants: Wants::Nothing, .. }) => false,
            Kind::Operator(Operating { wants: Wants::Input(input), .. }) => {
                !self.nodes[node.inputs[*input]].out.is_empty()
            }
        }
    }

    fn has_chunk(&self, id: usize) -> bool {
        matches!(self.nodes[id].out.front(), Some(Item::Chunk(_)))
    }

    /// Records of a chunk that is worth its way through the node and those below it, up to the next
    /// operator.
    fn rows_worth(&self, id: usize) -> usize {
        let node = &self.nodes[id];
        let below = node.below.iter().rev().map(|&it| &self.nodes[it]);
        let is_one = |it: &&Node| matches!(it.kind, Kind::Transform { .. } | Kind::Finish);
        let chain = below.take_while(is_one);
        let chain = chain.map(Node::rows_worth);
        let worth = chain.fold(node.rows_worth(), usize::min).max(node.limit.rows);
        // What comes to a stage that asks a far storage is as much as it is to ask for at a time.
        let after = node.below.iter().rev().copied();
        let after = after.take_while(|&it| matches!(self.nodes[it].kind, Kind::Transform { .. }));
        [id].into_iter().chain(after).filter_map(|it| self.rows_asked(it)).fold(worth, usize::max)
    }

    /// Records that a task of the node is to have under way, where it reads of a far storage: as many as keep the
    /// workers busy with what is done to them afterwards.
    fn rows_asked(&self, id: usize) -> Option<usize> {
        let node = &self.nodes[id];
        let Seen { latency, answered, requests_max, requests } = node.far()?;
        let own = node.measured.cpu_of_all();
        let after = node.below.iter().map(|&it| self.nodes[it].measured.worked);
        let each = |time: Duration| time.as_nanos() as f64 / node.measured.records.max(1) as f64;
        // It may wait for a disk as well: for what is cached there.
        let besides = node.measured.worked.saturating_sub(answered).max(own);
        let fetching = Fetching {
            latency_ns: latency.as_nanos() as f64,
            record_ns: each(own + after.sum::<Duration>()),
            landing_ns: each(besides),
            workers: node.limit.workers as u64,
            readers: self.threads[Class::Reader as usize] as u64,
            requests_max: requests_max as u64,
            requests,
        };
        usize::try_from(fetching.batch()).ok()
    }

    /// Bytes of a record of a source that is read through, of those that were found or read so far.
    fn bytes_streamed(&self, id: usize) -> Option<u64> {
        if !matches!(self.nodes[id].kind, Kind::Stream { .. }) {
            return None;
        }
        let below = self.nodes[id].below.iter().rev().copied();
        let below = below.take_while(|&it| matches!(self.nodes[it].kind, Kind::Finish));
        let seen = [id].into_iter().chain(below).map(|it| &self.nodes[it].measured);
        seen.filter_map(|it| it.bytes.checked_div(it.records)).max()
    }

    /// Begins a task of the node, which is ready.
    fn begin(&mut self, id: usize) -> Job {
        let (worth, each) = (self.rows_worth(id), self.bytes_streamed(id));
        let (above, rest) = self.nodes.split_at_mut(id);
        let node = &mut rest[0];
        let (epoch, rows, drawn) = (node.epoch, node.rows_now(worth), node.rows_drawn(worth, each));
        let timing = Timing { cpu: node.measured.wants_cpu(), delay: self.hands.are_many() };
        let (mut entered, mut bytes_in) = (0, 0);
        // What asks a far storage takes all that waits for it, up to what it is to ask for at a time.
        let far = node.inputs.first().filter(|_| node.far().is_some()).map(|&it| &above[it]);
        let far = far.map(|it| (it.chunks_within(rows), it.columns.clone()));
        let pool = self.budget.pool();
        let mut next = |input: usize| {
            let item = above[node.inputs[input]].pop().expect("the node is ready");
            bytes_in += item.bytes();
            entered += item.rows();
            item
        };
        let (work, at) = match &mut node.kind {
            Kind::Fetch(fetch) => {
                let at = At::new(Point::Source { place: fetch.given });
                (fetch.give(epoch, rows), at)
            }
            Kind::Stream { supply, cursor, .. } => {
                (Work::Draw(supply.clone(), cursor.take(), (epoch, drawn)), At::start())
            }
            Kind::Transform { compiled, pieces, cut, .. } => {
                let has_rest = pieces.has_rest();
                let mut piece = || pieces.give(rows, || next(0).into_parcel().into_stretch());
                match cut {
                    None => {
                        let first = piece();
                        let Stretch { chunk, at } = match far.filter(|_| !has_rest) {
                            Some((chunks, columns)) if chunks > 1 => {
                                let others = (1..chunks).map(|_| next(0).into_parcel());
                                let others = others.map(Parcel::into_stretch);
                                first.joined(others, &columns, pool)
                            }
                            _ => first,
                        };
                        (Work::Compute(compiled.clone(), chunk), at)
                    }
                    Some(cut) => {
                        let (piece, at) = cut.give(&mut piece);
                        (Work::Place(compiled.clone(), piece), at)
                    }
                }
            }
            Kind::Finish => {
                let parcel = next(0).into_parcel();
                let at = parcel.at.clone();
                (Work::Finish(parcel), at)
            }
            Kind::Operator(operating) => (operating.give(next, epoch), At::start()),
        };
        node.measured.entered += entered;
        node.is_busy = work.is_serial();
        let slot = if node.is_busy { Slot::Serial(epoch) } else { Slot::Ring(node.ring.begin(at)) };
        let (label, manner) = (node.name.label.clone(), work.manner());
        Job { node: id, stage: node.stage, slot, label, bytes_in, timing, manner, put_off: 0, work }
    }
}

/// The nodes of workers for whose output all would wait, if the workers did what is nearer to the output first.
/// Readers take it: these sleep where nothing is left there, and then the workers have nothing to do a little later. Or
/// it comes all at once after readers have brought much, as that of a shuffle: what comes next is gathered while the
/// workers are at what came last.
fn first(nodes: &[Node]) -> Vec<usize> {
    let readers = nodes.iter().filter(|it| it.class == Class::Reader);
    let feeders = readers.flat_map(|it| it.inputs.iter().copied());
    let is_read = |it: &Node| it.inputs.iter().any(|&it| nodes[it].class == Class::Reader);
    let gathers = |it: &Node| matches!(&it.kind, Kind::Operator(of) if of.maker.holds > 1);
    let gatherers = (0..nodes.len()).filter(|&it| gathers(&nodes[it]) && is_read(&nodes[it]));
    feeders.chain(gatherers).filter(|&it| nodes[it].class == Class::Worker).collect()
}
