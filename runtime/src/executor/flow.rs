//! What follows when a task ends: outcomes go on in order, epochs end, failures stop what is
//! behind them, and what nobody needs any more is dropped.

use super::{
    cut::Cut,
    deal::Deal,
    lanes::Lane,
    losses::{Losses, Over, Passed},
    node::{Done, Fetch, Item, Kind, Node, Parcel},
    operate::Step,
    position::{At, Point},
    state::State,
    supply::{Cursor, Drawn},
    task::{Outcome, Product, Slot, at},
};
use crate::{Failure, Wants, eval::Lost};
use std::time::Duration;

/// Records that losses are held against in an epoch that never ends, until more have come.
const ENDLESS: u64 = 1 << 20;

/// Epochs that a node may be ahead of the next one, beside one for each worker.
const EPOCHS_AHEAD: usize = 8;

/// Laps of an endless stream after which it is ended where none of its records is left, and the
/// bounds of their records.
const BARREN_LAPS: u64 = 64;
const BARREN_MIN: u64 = 1 << 16;
const BARREN_MAX: u64 = 1 << 24;

impl State {
    /// Takes the outcome of a task.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        let Outcome { node: id, slot, bytes_in, times, memory, was_put_off, result } = outcome;
        self.look(times.ended);
        self.is_alone &= !was_put_off;
        let node = &mut self.nodes[id];
        node.measured.took(memory, node.is_done_again());
        let result = match result {
            Ok(Product::PutOff(job)) => {
                node.measured.active -= 1;
                return self.put_off(*job);
            }
            other => other,
        };
        node.measured.end_task(&times);
        self.weigh(id, &times);
        self.grow_back();
        let node = &mut self.nodes[id];
        self.in_flight -= bytes_in;
        match slot {
            Slot::Ring(number) => self.finish_parallel((id, number), times.worked, result),
            Slot::Serial(epoch) => {
                node.is_busy = false;
                self.finish_serial(id, epoch, result);
            }
        }
        self.settle();
    }

    fn finish_parallel(
        &mut self,
        (id, number): (usize, u64),
        worked: Duration,
        result: Result<Product, Failure>,
    ) {
        let done = match result {
            Ok(Product::Done(done)) => done,
            Ok(_) => unreachable!("other products are those of serial tasks"),
            Err(failure) => Done { item: Item::Failed(failure), ..Done::default() },
        };
        self.arrive(done.item.bytes());
        self.nodes[id].measured.end_records(done.entered, worked);
        match self.nodes[id].ring.put(number, done) {
            Some(unwanted) => self.in_flight -= unwanted.item.bytes(),
            None => self.commit(id),
        }
    }

    fn finish_serial(&mut self, id: usize, epoch: u32, result: Result<Product, Failure>) {
        // That of a cancelled epoch is dropped with all that the task held.
        let is_wanted = self.nodes[id].epoch == epoch;
        match result {
            Ok(Product::Counted(pass)) => {
                if let Kind::Fetch(fetch) = &mut self.nodes[id].kind {
                    fetch.pass = Some(pass);
                }
            }
            Ok(Product::Drawn(drawn, cursor)) if is_wanted => self.finish_draw(id, drawn, cursor),
            Ok(Product::Step(step)) if is_wanted => self.finish_step(id, step),
            Err(failure) if is_wanted => self.send(id, Item::Failed(failure)),
            Ok(_) | Err(_) => {}
        }
    }

    fn finish_draw(&mut self, id: usize, drawn: Drawn, kept: Box<Cursor>) {
        let Drawn { parcel, from, is_last, failure } = drawn;
        if parcel.chunk.rows > 0 {
            self.send_new(id, Parcel { at: At::new(Point::Stream(from)), ..parcel });
        }
        if let Some(failure) = failure {
            let failure = at(failure, &self.nodes[id].name.label);
            self.send(id, Item::Failed(failure));
        } else if is_last {
            self.nodes[id].epoch += 1;
            self.send(id, Item::End);
        } else if let Kind::Stream { cursor, .. } = &mut self.nodes[id].kind {
            *cursor = Some(kept);
        }
    }

    fn finish_step(&mut self, id: usize, step: Step) {
        let Step { opened, wants, parcels, failure, failed } = step;
        parcels.into_iter().for_each(|it| self.send_new(id, it));
        let Kind::Operator(operating) = &mut self.nodes[id].kind else {
            unreachable!("steps are those of operators")
        };
        let failure = failure.or_else(|| operating.failures.get_mut(failed?)?.take());
        match failure {
            Some(failure) => {
                let failure = at(failure, &self.nodes[id].name.label);
                self.send(id, Item::Failed(failure));
            }
            None if wants == Wants::Nothing => {
                let Node { deals_lanes, sent, .. } = self.nodes[id];
                let over = if deals_lanes { self.lost_in_lanes(id, sent) } else { None };
                match over {
                    Some(failure) => self.send(id, Item::Failed(failure)),
                    None => {
                        self.give_up(id);
                        self.send(id, Item::End);
                    }
                }
            }
            None => match operating.keep(opened, wants) {
                Ok(()) => self.run_again(id),
                Err(failure) => self.send(id, Item::Failed(failure)),
            },
        }
    }

    /// Has an input that runs once run in this epoch, where the operator wants it: it was given up before.
    fn run_again(&mut self, id: usize) {
        let Node { kind: Kind::Operator(operating), inputs, epoch, .. } = &self.nodes[id] else {
            return;
        };
        let Wants::Input(input) = operating.wants else { return };
        let (from, epoch) = (inputs[input], *epoch);
        if operating.runs_once(input) && self.nodes[from].end <= epoch {
            let mut open = vec![from];
            while let Some(id) = open.pop() {
                let node = &mut self.nodes[id];
                (node.epoch, node.sent, node.end) = (epoch, epoch, epoch + 1);
                open.extend(&node.inputs);
            }
        }
    }

    /// Moves marks on as far as they go; to be done after every change.
    pub(super) fn settle(&mut self) {
        while (0..self.nodes.len()).filter(|&id| self.move_mark(id)).count() > 0 {}
    }

    /// Moves a mark from the input of a node to its output, or lets a source end its epoch.
    fn move_mark(&mut self, id: usize) -> bool {
        let node = &self.nodes[id];
        if node.is_busy || node.is_stuck || node.epoch >= node.end {
            return false;
        }
        let front = |input: usize| self.nodes[node.inputs[input]].out.front();
        let from = match &node.kind {
            Kind::Fetch(fetch) if fetch.is_over() => None,
            Kind::Transform { pieces, cut, .. }
                if pieces.has_rest() || cut.as_ref().is_some_and(Cut::has_rest) =>
            {
                return false;
            }
            Kind::Transform { .. } | Kind::Finish => match front(0) {
                Some(Item::End | Item::Failed(_)) => Some(node.inputs[0]),
                _ => return false,
            },
            // An operator is asked what it can still give.
            Kind::Fetch(_) | Kind::Stream { .. } | Kind::Operator(_) => return false,
        };
        // Of epochs that give nothing there would be no end: some nodes have room for any number of items.
        let ahead =
            node.below.last().map_or(0, |it| node.epoch.saturating_sub(self.nodes[*it].epoch));
        if !node.has_room() || ahead as usize > node.limit.workers + EPOCHS_AHEAD {
            return false;
        }
        let mark = from.and_then(|it| self.nodes[it].pop()).unwrap_or(Item::End);
        self.put_mark(id, mark);
        true
    }

    /// Puts a mark behind all that a node has begun.
    fn put_mark(&mut self, id: usize, mark: Item) {
        let node = &mut self.nodes[id];
        if matches!(mark, Item::End) {
            if let Kind::Fetch(fetch) = &mut node.kind
                && fetch.lacks()
            {
                let epoch = node.epoch;
                fetch.deal.iter_mut().for_each(|it| it.rounds.lacking.push_back(epoch));
            }
            node.begin_epoch();
        }
        node.ring.push_mark(mark);
        self.commit(id);
    }

    /// Lets outcomes go on whose turn it is.
    fn commit(&mut self, id: usize) {
        while !self.nodes[id].is_stuck {
            // The end of an epoch that has lost too many stays where it is: who needs no more of the epoch
            // finds it there, and not behind the failure at the next node.
            if self.nodes[id].ring.ends_epoch()
                && let Some(failure) = self.lost_too_many(id)
            {
                return self.send(id, Item::Failed(failure));
            }
            let Some((at, done)) = self.nodes[id].ring.pop_done() else { break };
            self.go_on(id, at, done);
        }
    }

    fn go_on(&mut self, id: usize, at: At, mut done: Done) {
        let at = self.nodes[id].place_of(at, &done);
        if let Item::Chunk(parcel) = &mut done.item {
            parcel.at = at;
        }
        let Done { item, failure, entered, lost } = done;
        match item {
            Item::Chunk(parcel) => {
                let over = self.count_losses(id, entered, lost);
                let node = &mut self.nodes[id];
                node.barren = if parcel.chunk.rows > 0 { 0 } else { node.barren + entered };
                self.send_until(id, parcel, over.as_ref().map(|it| it.1));
                let end = over.map(|it| it.0).or(failure).or_else(|| self.is_barren(id));
                end.into_iter().for_each(|it| self.send(id, Item::Failed(it)));
            }
            Item::Failed(_) => self.send(id, item),
            Item::End => {
                self.close_losses(id);
                self.send(id, Item::End);
            }
        }
    }

    /// Why an epoch that is at its end does not end: it has lost too many of all records that came, of which
    /// it is known now how many.
    fn lost_too_many(&self, id: usize) -> Option<Failure> {
        let node = &self.nodes[id];
        // Those of all lanes are held against the records of all, when all have ended.
        let in_lanes = node.lane != Lane::ONE;
        let most = if in_lanes { self.records_expected(id).unwrap_or(u64::MAX) } else { 0 };
        let detail = node.losses.exceeded(most)?;
        Some(Failure::Budget { label: node.name.label.to_string(), detail })
    }

    /// An epoch ends that has not lost too many.
    fn close_losses(&mut self, id: usize) {
        let node = &mut self.nodes[id];
        if node.lane != Lane::ONE {
            node.losses.close_lane(node.sent);
        } else {
            node.losses.close();
        }
    }

    /// What to say where all lanes together have lost too many records of an epoch.
    fn lost_in_lanes(&mut self, dealer: usize, epoch: u32) -> Option<Failure> {
        let mut above = self.nodes[dealer].inputs.clone();
        while !above.is_empty() {
            let stage = self.nodes[above[0]].stage;
            let lanes = self.nodes.iter_mut().filter(|it| it.stage == stage && !it.deals_lanes);
            if let Some(detail) = Losses::exceeded_by_all(lanes.map(|it| &mut it.losses), epoch) {
                let label = self.nodes[above[0]].name.label.to_string();
                return Some(Failure::Budget { label, detail });
            }
            above = above.iter().flat_map(|it| self.nodes[*it].inputs.clone()).collect();
        }
        None
    }

    /// Why an endless stream is ended of which nothing is left: it would be read for ever.
    fn is_barren(&self, id: usize) -> Option<Failure> {
        let node = &self.nodes[id];
        let mut laps_end = None;
        for &source in &node.sources {
            let (supply, pass_len) = match &self.nodes[source].kind {
                Kind::Fetch(Fetch { supply, pass, .. }) => (supply, pass.map(|it| it.all)),
                Kind::Stream { supply, .. } => (supply, None),
                _ => return None,
            };
            if supply.laps.is_some() {
                return None;
            }
            let enough = pass_len.map_or(BARREN_MAX, |it| it.saturating_mul(BARREN_LAPS));
            laps_end = laps_end.max(Some(enough.clamp(BARREN_MIN, BARREN_MAX)));
        }
        let (label, n) = (node.name.label.to_string(), node.barren);
        let detail = format!(
            "none of {} passes, and the stream repeats forever: let some through, or remove \
             `repeat`",
            plan::things(n, "record", "records")
        );
        (n > laps_end?).then_some(Failure::Data { label, detail })
    }

    /// Sends a chunk, or what is before the record at which too many were lost.
    fn send_until(&mut self, id: usize, mut parcel: Parcel, kept: Option<usize>) {
        if let Some(kept) = kept {
            parcel.chunk = parcel.chunk.cut(0..kept.min(parcel.chunk.rows));
        }
        match parcel.chunk.rows {
            0 => self.in_flight -= parcel.bytes,
            _ => self.send(id, Item::Chunk(parcel)),
        }
    }

    /// Counts lost records; the failure that follows if there are too many, and how many records
    /// of the chunk went out before.
    fn count_losses(
        &mut self,
        id: usize,
        entered: u64,
        lost: Vec<Lost>,
    ) -> Option<(Failure, usize)> {
        let expected = if lost.is_empty() { None } else { self.records_expected(id) };
        let all_lost: u64 = self.nodes.iter().map(|it| it.losses.total).sum();
        let (most_lost, node) = (self.most_lost, &mut self.nodes[id]);
        let lost_elsewhere = all_lost - node.losses.total;
        let passed = Passed { entered, lost, expected, most_lost, lost_elsewhere };
        let Over { detail, kept } = node.losses.add(passed)?;
        Some((Failure::Budget { label: node.name.label.to_string(), detail }, kept))
    }

    /// Against how many records losses are held before the end of an epoch, if at all.
    ///
    /// It is the same at each chunk, whenever threads come to it: the length of a source is
    /// known before its first chunk comes, that of one among several need not be.
    fn records_expected(&self, id: usize) -> Option<u64> {
        let sources = &self.nodes[id].sources;
        let supply_of = |source: &usize| match &self.nodes[*source].kind {
            Kind::Fetch(Fetch { supply, .. }) | Kind::Stream { supply, .. } => supply,
            _ => unreachable!("it is a source"),
        };
        let stage_of = |it: &usize| self.nodes[*it].stage;
        let whole = |it: &usize| match &self.nodes[*it].kind {
            Kind::Fetch(Fetch { supply, pass: Some(pass), .. }) => {
                Some(pass.all.saturating_mul(supply.laps.unwrap_or(1)))
            }
            _ => None,
        };
        // All lanes of one source know how many there are in all, each when it has been asked.
        if let Some((first, others)) = sources.split_first()
            && others.iter().all(|it| stage_of(it) == stage_of(first))
            && let Some(whole) = sources.iter().find_map(whole)
        {
            return Some(whole);
        }
        let is_endless = sources.iter().any(|it| supply_of(it).laps.is_none());
        is_endless.then_some(ENDLESS)
    }

    fn send_new(&mut self, id: usize, parcel: Parcel) {
        self.arrive(parcel.bytes);
        self.send(id, Item::Chunk(parcel));
    }

    /// Puts an item where the next node finds it.
    fn send(&mut self, id: usize, mut item: Item) {
        let node = &mut self.nodes[id];
        match &mut item {
            Item::Chunk(parcel) => {
                node.count_since(parcel);
                node.measured.chunk(parcel);
                if !node.drop_from(parcel) {
                    self.in_flight -= parcel.bytes;
                    return;
                }
            }
            Item::Failed(_) => node.is_stuck = true,
            Item::End => {}
        }
        if node.deal.is_some() {
            return self.deal(id, item);
        }
        if matches!(item, Item::End) {
            node.end_output();
        }
        node.put(item);
    }

    /// The same where what leaves the node is dealt to several runs.
    fn deal(&mut self, id: usize, item: Item) {
        let node = &mut self.nodes[id];
        let Some(deal) = &mut node.deal else { return };
        let before = deal.bytes() + item.bytes();
        let (dealt, mark) = match item {
            Item::Chunk(parcel) => (deal.take(parcel), None),
            // The epoch that ends is the one before that of the next task, or long before it.
            Item::End => (deal.end(node.sent), Some(Item::End)),
            Item::Failed(_) => (Vec::new(), Some(item)),
        };
        if mark.is_some() {
            node.end_output();
        }
        let held = node.deal.as_ref().map_or(0, Deal::bytes);
        let after = held + dealt.iter().map(|it| it.bytes).sum::<usize>();
        dealt.into_iter().map(Item::Chunk).chain(mark).for_each(|it| node.put(it));
        self.in_flight = self.in_flight + after - before;
    }

    fn arrive(&mut self, bytes: usize) {
        self.in_flight += bytes;
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight);
    }

    /// Begins the next epoch of a node that needs no more of its inputs in this one.
    fn give_up(&mut self, id: usize) {
        let node = &mut self.nodes[id];
        let epoch = node.epoch;
        let going: Vec<_> = node.begin_epoch().into_iter().map(|it| node.inputs[it]).collect();
        // What runs once has nothing of the later epochs.
        let going: Vec<_> = going.into_iter().filter(|it| self.nodes[*it].end > epoch).collect();
        going.into_iter().for_each(|it| self.cancel(it, epoch));
    }

    /// Drops all of `epoch` that a node has not yet handed on; it goes on with the next one.
    fn cancel(&mut self, id: usize, epoch: u32) {
        let has_ended = self.drop_to_end(id);
        // What is left is of the next epochs, of which one may have failed as well.
        let node = &mut self.nodes[id];
        node.is_stuck = node.out.iter().any(|it| matches!(it, Item::Failed(_)));
        if !has_ended {
            // It has not come to the end of this epoch, and so must not go on with it.
            debug_assert_eq!(self.nodes[id].epoch, epoch);
            self.nodes[id].losses.close();
            self.nodes[id].end_output();
            self.give_up(id);
        }
        self.commit(id);
    }

    /// Drops what comes before the next end of an epoch, and the end; whether there was one.
    fn drop_to_end(&mut self, id: usize) -> bool {
        let node = &mut self.nodes[id];
        while let Some(item) = node.pop() {
            self.in_flight -= item.bytes();
            if matches!(item, Item::End) {
                return true;
            }
        }
        while let Some(slot) = node.ring.drop_first() {
            let Some(done) = slot.done else { continue };
            self.in_flight -= done.item.bytes();
            if matches!(done.item, Item::End) {
                node.losses.close();
                node.end_output();
                return true;
            }
        }
        false
    }
}
