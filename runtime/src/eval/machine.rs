//! Evaluates nodes on demand: each at most once for a record, and only what is needed.
//!
//! A value is a view into a column, a constant, or the register of a node, which keeps its
//! memory from record to record. The lifetimes of such views are shorter than they say: a
//! [`Value`] is good until the machine goes on to the next record, or, for nodes inside a
//! loop, to its next turn. Nothing outside this folder sees one.

use super::landed::Landed;
use super::timing::Timing;
use super::{
    arith, convert,
    fused::{Fused, LEAVES_MAX, Room},
    nodes::{Applied, Code, Node, Passed, Slot, Stacking},
    stacked::{Stacked, unless_given_up},
};
use crate::{
    Args, Chunk, Fault, Kernel, Out, Philox, Pool, Scratch, Shape, SideIndex, Skimmed, Tensor, mix,
};
use plan::{DType, ExprId, IdVec, Index, Otherwise, Policy, VarId};

/// A tensor that is good until the next record; see above.
pub(super) type Value = Tensor<'static>;

/// Why a value could not be found.
#[derive(Debug, Clone)]
pub(super) enum Stop {
    /// It is faulty, and nothing has been said about it yet.
    Fault(Fault),
    /// It is faulty, and the program says what becomes of the record.
    Policy(Fault, Policy),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What the nodes of a record, or of a whole chunk, are computed from.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) chunk: &'a Chunk,
    /// The record; none to compute all at once, scalars as tensors of one axis.
    pub(super) row: Option<usize>,
}

/// The memory of one worker.
pub(super) struct Machine {
    pub(super) registers: Vec<Register>,
    stack: Vec<Value>,
    vars: Vec<i64>,
    /// Goes up with each record: what was found for another is void.
    turn: u64,
    /// The first node that failed of those that the record cannot do without.
    culprit: Option<ExprId>,
    /// Where the time goes, of the records that are looked at.
    pub(super) timing: Timing,
    /// Operands of compiled code that are laid out anew.
    room: Room,
    /// What was read for the records of the chunk.
    pub(super) landed: Landed,
    /// Where an index is read that is on disk; none while it is lent.
    pub(super) index: Option<Scratch>,
}

pub(super) struct Register {
    pub(super) scratch: Option<Scratch>,
    found: Option<Result<Value, Stop>>,
    turn: u64,
    /// What was looked for in the value, of the record of `skimmed_turn`.
    skimmed: Skimmed,
    skimmed_turn: u64,
}

/// Makes a tensor of shorter life a [`Value`].
///
/// # Safety
/// What it views stays where it is, and is not written, as long as a [`Value`] is good for (see above): it is part of the
/// chunk, of a constant of a node, of a cache that nodes hold and that lets nothing go, or of the register of a node, which
/// is written once for a record or a turn of a loop: no loop is run within one with its variable ([`plan::Graph::clash`]).
pub(super) unsafe fn value(tensor: Tensor<'_>) -> Value {
    // SAFETY: the caller says that it lives long enough.
    unsafe { std::mem::transmute::<Tensor<'_>, Value>(tensor) }
}

impl Machine {
    pub(super) fn new(
        nodes: &IdVec<ExprId, Node>,
        n_vars: u32,
        (is_measured, pool): (bool, &Pool),
    ) -> Self {
        let register = || Register {
            scratch: Some(Scratch::within(pool)),
            found: None,
            turn: 0,
            skimmed: Skimmed::default(),
            skimmed_turn: 0,
        };
        Self {
            registers: nodes.ids().map(|_| register()).collect(),
            stack: Vec::new(),
            vars: vec![0; n_vars as usize],
            turn: 0,
            culprit: None,
            timing: Timing::new(nodes.len(), is_measured),
            room: Room::default(),
            landed: Landed::default(),
            index: Some(Scratch::within(pool)),
        }
    }

    /// Forgets what was found: another record comes.
    pub(super) fn next_record(&mut self) {
        self.turn += 1;
        self.stack.clear();
        self.culprit = None;
    }

    /// The node for which the record failed.
    pub(super) fn culprit(&self) -> Option<ExprId> {
        self.culprit
    }

    /// Notes the node that failed, unless it did because another one had.
    pub(super) fn note<T>(&mut self, id: ExprId, found: &Result<T, Stop>) {
        if found.is_err() {
            self.culprit.get_or_insert(id);
        }
    }

    /// Sets a loop's variable, and forgets what was found for its other values.
    pub(super) fn set(&mut self, nodes: &IdVec<ExprId, Node>, var: VarId, to: i64) {
        self.vars[var.row()] = to;
        for (id, node) in nodes.iter() {
            if node.vars.contains(&var) {
                self.registers[id.row()].found = None;
            }
        }
    }

    /// What was found of the node `id` for this record.
    pub(super) fn found(&self, id: ExprId) -> Option<&Result<Value, Stop>> {
        let register = &self.registers[id.row()];
        register.found.as_ref().filter(|_| register.turn == self.turn)
    }

    /// The value of the node `id`.
    pub(super) fn find(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
    ) -> Result<Value, Stop> {
        // A column of a record is there: to look whether it was found takes longer.
        if let (Code::Column(i), Some(_)) = (&nodes[id].code, subject.row)
            && nodes[id].tap.get().is_none()
            && !self.timing.is_on()
        {
            return Ok(column(subject, *i));
        }
        if let Some(found) = self.found(id) {
            let found = found.clone();
            self.note(id, &found);
            return found;
        }
        let found = if self.timing.is_on() {
            let outer = self.timing.begin();
            let found = self.compute(nodes, subject, id);
            self.timing.end(id, outer, found.as_ref().map_or(0, Tensor::bytes));
            found
        } else {
            self.compute(nodes, subject, id)
        };
        self.note(id, &found);
        let register = &mut self.registers[id.row()];
        (register.found, register.turn) = (Some(found.clone()), self.turn);
        found
    }

    fn compute(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
    ) -> Result<Value, Stop> {
        match (nodes[id].tap.get(), subject.row) {
            (Some(tap), Some(row)) => self.through(nodes, (subject, row), id, tap),
            _ => self.compute_anew(nodes, subject, id),
        }
    }

    pub(super) fn compute_anew(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
    ) -> Result<Value, Stop> {
        if let (Some(straight), Some(row)) = (&nodes[id].straight, subject.row)
            && self.goes_straight(nodes, (subject, row), straight)
        {
            return self.go_straight(nodes, subject, (id, straight));
        }
        match &nodes[id].code {
            Code::Column(i) => Ok(column(subject, *i)),
            // SAFETY: the nodes hold their constants.
            Code::Const(it) => Ok(unsafe { value(it.tensor()) }),
            Code::Select(condition, a, b) if subject.row.is_some() => {
                match self.choice(nodes, subject, *condition)? {
                    Some(chosen) => self.find(nodes, subject, if chosen { *a } else { *b }),
                    None => self.in_register(nodes, subject, id),
                }
            }
            Code::Else { value, otherwise } => match self.find(nodes, subject, *value) {
                Err(Stop::Fault(fault)) => match otherwise {
                    Otherwise::Value(other) => {
                        self.culprit = None;
                        self.find(nodes, subject, *other)
                    }
                    Otherwise::Policy(policy) => Err(Stop::Policy(fault, *policy)),
                },
                found => found,
            },
            Code::Call(Applied { kernel: Kernel::View(view), args, lists, .. })
                if subject.row.is_some() =>
            {
                let base = self.push(nodes, subject, args)?;
                let found = view(&Args { tensors: &self.stack[base..], lists });
                // SAFETY: a view is a part of its arguments, and these are values.
                let found = found.map(|it| unsafe { value(it) });
                self.stack.truncate(base);
                Ok(found?)
            }
            Code::Call(Applied { kernel: Kernel::Seek(seek), args, lists, .. })
                if subject.row.is_some() =>
            {
                let base = self.push(nodes, subject, args)?;
                let mut skimmed = self.skimmed(nodes, args);
                let found = seek(&Args { tensors: &self.stack[base..], lists }, &mut skimmed);
                // SAFETY: what is found is a part of the arguments, and these are values.
                let found = found.map(|it| unsafe { value(it) });
                self.stack.truncate(base);
                self.keep_skimmed(args, skimmed);
                Ok(found?)
            }
            Code::Call(call) if let (Some(passed), Some(_)) = (call.passed(), subject.row) => {
                let found = self.find(nodes, subject, passed.first)?;
                self.pass(nodes, subject, &passed)?;
                Ok(found)
            }
            _ => self.in_register(nodes, subject, id),
        }
    }

    /// What is known of the first of these arguments, which is taken out; of one that changes within a record
    /// nothing is.
    fn skimmed(&mut self, nodes: &IdVec<ExprId, Node>, args: &[Slot]) -> Skimmed {
        let Some(Slot::Value(id)) = args.first() else { return Skimmed::default() };
        let register = &mut self.registers[id.row()];
        let mut skimmed = std::mem::take(&mut register.skimmed);
        if register.skimmed_turn != self.turn || !nodes[*id].vars.is_empty() {
            skimmed.clear();
        }
        skimmed
    }

    /// Puts back what is known now.
    fn keep_skimmed(&mut self, args: &[Slot], skimmed: Skimmed) {
        if let Some(Slot::Value(id)) = args.first() {
            let register = &mut self.registers[id.row()];
            (register.skimmed, register.skimmed_turn) = (skimmed, self.turn);
        }
    }

    /// What a call does that gives its first argument as it is.
    fn pass(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        passed: &Passed<'_>,
    ) -> Result<(), Stop> {
        let base = self.stack.len();
        self.stack.push(Tensor::nothing());
        let done = self.push(nodes, subject, passed.others).and_then(|_| {
            let args = Args { tensors: &self.stack[base..], lists: passed.lists };
            Ok((passed.work)(&args)?)
        });
        self.stack.truncate(base);
        done
    }

    /// The branch that a scalar condition chooses; none where it is decided element by element.
    fn choice(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        condition: ExprId,
    ) -> Result<Option<bool>, Stop> {
        let found = self.find(nodes, subject, condition)?;
        Ok(found.shape().is_empty().then(|| found.first::<bool>()))
    }

    fn in_register(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
    ) -> Result<Value, Stop> {
        let taken = self.registers[id.row()].scratch.take();
        let mut scratch = taken.expect("a node does not need itself");
        let written = self.write(nodes, subject, id, &mut Out::grow(&mut scratch));
        // SAFETY: the memory goes back to the register of the node, which was just written.
        let found = written.map(|()| unsafe { value(scratch.tensor()) });
        self.registers[id.row()].scratch = Some(scratch);
        found
    }

    /// Writes the value of the node `id`, computed in place where nobody else needs it.
    pub(super) fn find_into(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let outer = self.timing.is_on().then(|| self.timing.begin());
        let written = self.put_into(nodes, subject, id, out);
        self.note(id, &written);
        if let Some(outer) = outer {
            self.timing.end(id, outer, out.bytes());
        }
        written
    }

    fn put_into(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let register = &self.registers[id.row()];
        let found = register.turn == self.turn && register.found.is_some();
        let shared = nodes[id].users > 1 || found;
        match &nodes[id].code {
            _ if !shared && self.carry_into(nodes, (subject, id), out) => Ok(()),
            _ if shared || nodes[id].tap.get().is_some() => {
                self.copy_found(nodes, subject, id, out)
            }
            Code::Select(condition, a, b) if subject.row.is_some() => {
                match self.choice(nodes, subject, *condition)? {
                    Some(chosen) => {
                        self.find_into(nodes, subject, if chosen { *a } else { *b }, out)
                    }
                    None => self.write(nodes, subject, id, out),
                }
            }
            Code::Else { value, otherwise } => match self.find_into(nodes, subject, *value, out) {
                Err(Stop::Fault(fault)) => match otherwise {
                    Otherwise::Value(other) => {
                        self.culprit = None;
                        self.find_into(nodes, subject, *other, out)
                    }
                    Otherwise::Policy(policy) => Err(Stop::Policy(fault, *policy)),
                },
                written => written,
            },
            Code::Call(call) if let (Some(passed), Some(_)) = (call.passed(), subject.row) => {
                self.find_into(nodes, subject, passed.first, out)?;
                self.pass(nodes, subject, &passed)
            }
            Code::Column(_)
            | Code::Const(_)
            | Code::Call(Applied { kernel: Kernel::View(_) | Kernel::Seek(_), .. }) => {
                self.copy_found(nodes, subject, id, out)
            }
            _ => self.write(nodes, subject, id, out),
        }
    }

    /// Copies the value of a node, which is found as any other.
    fn copy_found(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let found = self.find(nodes, subject, id)?;
        self.timing.copies();
        Ok(out.copy(&found)?)
    }

    /// Computes a node that writes its value.
    fn write(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        if let (Some(word), Some(_)) = (nodes[id].word, subject.row) {
            return self.write_word(nodes, subject, (&nodes[id], word), out);
        }
        if let Some(fused) = &nodes[id].fused
            && self.at_once(nodes, subject, fused, out)?
        {
            return Ok(());
        }
        match &nodes[id].code {
            Code::Epoch => out.scalar(i64::from(subject.chunk.epoch))?,
            Code::Var(var) => out.scalar(self.vars[var.row()])?,
            Code::Call(call) if self.put_landed((id, call), out)? => {}
            Code::Call(call) if subject.row.is_some() => self.call(nodes, subject, call, out)?,
            Code::Call(call) if let Some((of, axis)) = call.extent() => {
                let Code::Column(i) = nodes[of].code else {
                    unreachable!("a chunk at once asks for extents of columns")
                };
                let extents = out.tensor(&[subject.chunk.rows])?;
                subject.chunk.columns[i].extents_into(axis, extents);
            }
            Code::Call(call) => {
                let (dtype, _) = nodes[id].fixed.expect("a chunk at once is of scalars");
                self.call_each(nodes, subject, call, (dtype, out))?;
            }
            Code::Unary(op, a) => arith::unary(*op, &self.find(nodes, subject, *a)?, out)?,
            Code::Binary(op, a, b) => {
                let (a, b) = (self.find(nodes, subject, *a)?, self.find(nodes, subject, *b)?);
                arith::binary(*op, [&a, &b], out)?;
            }
            Code::Cast(to, a) => convert::cast(*to, &self.find(nodes, subject, *a)?, out)?,
            Code::Select(condition, a, b) => {
                let condition = self.find(nodes, subject, *condition)?;
                let (a, b) = (self.find(nodes, subject, *a)?, self.find(nodes, subject, *b)?);
                arith::select(&condition, [&a, &b], out)?;
            }
            Code::Stack { count, var, body, how } => {
                self.stack(nodes, subject, (*count, *var, *body, *how), out)?;
            }
            Code::Column(_) | Code::Const(_) | Code::Else { .. } => {
                out.copy(&self.find(nodes, subject, id)?)?;
            }
        }
        Ok(())
    }

    /// Runs the code of a group of values; `false` where they have to be found one by one, which
    /// also says what is wrong with one of them.
    fn at_once(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        fused: &Fused,
        out: &mut Out<'_>,
    ) -> Result<bool, Stop> {
        if !fused.is_on() {
            return Ok(false);
        }
        let mut leaves = [Tensor::nothing(); LEAVES_MAX];
        for (to, &id) in leaves.iter_mut().zip(fused.leaves()) {
            let Ok(found) = self.find(nodes, subject, id) else { return Ok(false) };
            *to = found;
        }
        Ok(fused.run(&leaves[..fused.leaves().len()], &mut self.room, out)?)
    }

    pub(super) fn call(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        call: &Applied,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let base = self.push(nodes, subject, &call.args)?;
        let row = subject.row.expect("a call is made for one record");
        let mut draws = self.draws(call, subject.chunk, row);
        let args = Args { tensors: &self.stack[base..], lists: &call.lists };
        let written = call.kernel.write(&mut draws, &args, out);
        self.stack.truncate(base);
        Ok(written?)
    }

    /// A call for each record of the chunk; arguments with an axis more have one element for each.
    fn call_each(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        call: &Applied,
        (dtype, out): (DType, &mut Out<'_>),
    ) -> Result<(), Stop> {
        let base = self.push(nodes, subject, &call.args)?;
        let rows = subject.chunk.rows;
        let room = out.room(dtype, Shape::new(&[rows]))?;
        let mut args = self.stack[base..].to_vec();
        let each: Vec<bool> = call
            .args
            .iter()
            .zip(&args)
            .map(|(slot, it)| matches!(slot, Slot::Value(_)) && !it.shape().is_empty())
            .collect();
        for (row, room) in room.chunks_exact_mut(dtype.size()).enumerate() {
            for ((to, &each), from) in args.iter_mut().zip(&each).zip(&self.stack[base..]) {
                *to = if each { from.element(row) } else { *from };
            }
            let mut draws = self.draws(call, subject.chunk, row);
            let args = Args { tensors: &args, lists: &call.lists };
            let mut out = Out::slot(dtype, Shape::new(&[]), room);
            call.kernel.write(&mut draws, &args, &mut out)?;
        }
        self.stack.truncate(base);
        Ok(())
    }

    fn draws(&self, call: &Applied, chunk: &Chunk, row: usize) -> Philox {
        let lineage = |id, var: &VarId| mix(id, self.vars[var.row()] as u64);
        let id = call.vars.iter().fold(chunk.ids()[row], lineage);
        Philox::new(call.key, id, chunk.epoch)
    }

    /// A call of a kernel that makes an index or uses one.
    pub(super) fn call_indexed(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        (call, index): (&Applied, SideIndex<'_>),
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let Kernel::Indexed(make) = &call.kernel else {
            return self.call(nodes, subject, call, out);
        };
        let base = self.push(nodes, subject, &call.args)?;
        let args = Args { tensors: &self.stack[base..], lists: &call.lists };
        let written = make(&args, index, out);
        self.stack.truncate(base);
        Ok(written?)
    }

    /// Finds the arguments, and leaves them on the stack; gives where they begin.
    fn push(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        args: &[Slot],
    ) -> Result<usize, Stop> {
        let base = self.stack.len();
        for arg in args {
            let found = match arg {
                Slot::Value(id) => self.find(nodes, subject, *id),
                // SAFETY: the nodes hold what is known.
                Slot::Known(it) => Ok(unsafe { value(it.tensor()) }),
                Slot::Nothing => Ok(Tensor::nothing()),
            };
            match found {
                Ok(it) => self.stack.push(it),
                Err(stop) => {
                    self.stack.truncate(base);
                    return Err(stop);
                }
            }
        }
        Ok(base)
    }

    fn stack(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        (count, var, body, how): (ExprId, VarId, ExprId, Stacking),
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let count = self.find(nodes, subject, count)?.int();
        // `high - low + 1` has wrapped: nothing is so far from empty.
        if count < i64::MIN / 2 {
            return Err(Fault::new("too-large", "a list of more than 2^62 elements").into());
        }
        let count = count.max(0);
        let mut all = Stacked::new(usize::try_from(count).unwrap_or(usize::MAX), how.joined);
        for i in 0..count {
            unless_given_up(i)?;
            self.set(nodes, var, i);
            all.push(&self.find(nodes, subject, body)?)?;
        }
        all.write(how.like, out)
    }
}

fn column(subject: Subject<'_>, i: usize) -> Value {
    let column = &subject.chunk.columns[i];
    let found = match subject.row {
        Some(row) => column.row(row),
        None => column.stacked().expect("a chunk at once is of scalars"),
    };
    // SAFETY: the chunk is there until all of its records were evaluated, and nobody writes to it.
    unsafe { value(found) }
}
