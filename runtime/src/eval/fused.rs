//! Groups of arithmetic that run as one loop of machine code, made when the stage is made ready.
//!
//! Whatever is out of the ordinary (a leaf that is faulty, extents that do not go together) is left
//! to the evaluator, which says what is wrong with it.

use super::{
    arith::{broadcast, joined_axes, stretched},
    code::{Listed, MachineCode, Prepared},
    nodes::Node,
};
use crate::{Fault, MAX_RANK, Out, Shape, Tensor, VALUE_BYTES_MAX};
use codegen::{
    Group, Kernel, Layout, Library, Loop, OPERANDS_MAX, Place, Refused, Target, Way, ahead, groups,
};
use plan::{Ahead, Code, DType, ExprId, Graph, IdVec, Index, Program, Stage, Transform};
use std::{
    ops::Range,
    ptr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// What compiles arithmetic; nothing where that is switched off, or this machine is not known.
#[derive(Clone)]
pub(crate) struct Jit(Arc<Compiler>);

struct Compiler {
    target: Option<Target>,
    /// What was compiled ahead of time.
    library: Option<Library>,
    /// What was compiled before: lanes do the same work over and over.
    known: Mutex<Vec<(Loop, Arc<Kernel>)>>,
}

/// A group, compiled.
pub(super) struct Fused {
    leaves: Vec<ExprId>,
    inner: Vec<ExprId>,
    /// Whether one element of a leaf serves for all.
    same: Vec<bool>,
    dtype: DType,
    dense: Arc<Kernel>,
    /// For elements that do not lie next to each other; of tensors only.
    strided: Option<Strided>,
    /// One of the values between is wanted by itself.
    is_off: AtomicBool,
}

/// A loop that is compiled when it is needed first: most never are.
struct Strided {
    jit: Jit,
    body: Loop,
    kernel: OnceLock<Option<Arc<Kernel>>>,
}

/// Leaves of one group, at the most.
pub(super) const LEAVES_MAX: usize = OPERANDS_MAX;
/// Room for operands that are laid out anew.
pub(super) type Room = Vec<u64>;

/// Elements of a row that is worth a call of the code; those that a row may have that is laid out.
const ROW_MIN: usize = 64;
const LAID_OUT_MAX: usize = 1 << 16;

impl Jit {
    /// For this machine, if it is wanted. What was made ahead of time and cannot be run here is made
    /// anew.
    pub(crate) fn new(wanted: bool, prepared: &Prepared) -> Self {
        let target = wanted.then(Target::host).and_then(Result::ok);
        let library = target.as_ref().and_then(|it| library(prepared, it)?.ok());
        Self::of(target, library)
    }

    fn of(target: Option<Target>, library: Option<Library>) -> Self {
        Self(Arc::new(Compiler { target, library, known: Mutex::default() }))
    }

    fn kernel(&self, body: &Loop) -> Option<Arc<Kernel>> {
        let Compiler { target, library, known } = &*self.0;
        let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().iter().find(|it| it.0 == *body).map(|it| it.1.clone());
        found.or_else(|| {
            let made = library.as_ref().and_then(|it| it.kernel(body));
            let kernel = Arc::new(made.or_else(|| target.as_ref()?.compile(body).ok())?);
            known().push((body.clone(), kernel.clone()));
            Some(kernel)
        })
    }

    /// Compiles what of `graph` is worth it, and leaves it with the nodes.
    pub(super) fn fuse(
        &self,
        nodes: &mut IdVec<ExprId, Node>,
        graph: &Graph,
        (outputs, at_once): (&[ExprId], bool),
    ) {
        if self.0.target.is_none() {
            return;
        }
        for group in groups(graph, outputs, way(at_once)) {
            nodes[group.root].fused = Fused::new(self, &group, at_once).map(Box::new);
        }
    }
}

impl Fused {
    fn new(jit: &Jit, group: &Group, at_once: bool) -> Option<Self> {
        let dense = jit.kernel(&group.body)?;
        let strided = (!at_once).then(|| {
            let body = group.body.clone().strided();
            Strided { jit: jit.clone(), body, kernel: OnceLock::new() }
        });
        Some(Self {
            leaves: group.leaves.clone(),
            inner: group.inner.clone(),
            same: group.body.inputs.iter().map(|it| it.layout == Layout::Same).collect(),
            dtype: group.body.dtype(group.body.outputs[0].op),
            dense,
            strided,
            is_off: AtomicBool::new(false),
        })
    }

    /// What it is computed from.
    pub(super) fn leaves(&self) -> &[ExprId] {
        &self.leaves
    }

    /// Runs no more where `id` is one of its values: it is found by itself from now on.
    pub(super) fn give_way(&self, id: ExprId) {
        if self.inner.contains(&id) {
            self.is_off.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it runs.
    pub(super) fn is_on(&self) -> bool {
        !self.is_off.load(Ordering::Relaxed)
    }

    /// Computes the group's value of its leaves' values; `false` where the evaluator has to.
    pub(super) fn run(
        &self,
        leaves: &[Tensor<'_>],
        room: &mut Room,
        out: &mut Out<'_>,
    ) -> Result<bool, Fault> {
        let Some(shape) = self.shape(leaves) else { return Ok(false) };
        if self.strided.is_none() && shape.len() != 1 || shape.is_empty() {
            return Ok(false);
        }
        let to = out.room(self.dtype, shape)?;
        if to.is_empty() {
            return Ok(true);
        }
        let to = to.as_mut_ptr();
        let dense = |(it, same): (&Tensor<'_>, &bool)| {
            *same || it.elements() == shape.elements() && it.is_contiguous()
        };
        if leaves.iter().zip(&self.same).all(dense) {
            let mut places = places(leaves.iter().map(Tensor::as_ptr));
            places[leaves.len()].first = to;
            // SAFETY: each leaf has the elements of `shape` next to each other or, where its type is that of a scalar,
            // one for all; `to` is room for them.
            unsafe { self.dense.run(&places[..=leaves.len()], shape.elements()) };
            return Ok(true);
        }
        let Some(strided) = self.strided.as_ref().and_then(Strided::kernel) else {
            return Ok(false);
        };
        let mut walk = Walk::new(self, leaves, shape, to);
        walk.lay_out(room);
        walk.run(strided);
        Ok(true)
    }

    /// The extents of the value, where nothing is amiss.
    fn shape(&self, leaves: &[Tensor<'_>]) -> Option<Shape> {
        let mut shape = Shape::new(&[]);
        for (leaf, &same) in leaves.iter().zip(&self.same) {
            if same && leaf.elements() != 1 {
                return None;
            }
            shape = broadcast(&shape, leaf.shape()).ok()?;
        }
        // No value between, of whatever dtype, is larger than one may be.
        (shape.elements().checked_mul(8)? <= VALUE_BYTES_MAX).then_some(shape)
    }
}

impl Strided {
    fn kernel(&self) -> Option<&Kernel> {
        self.kernel.get_or_init(|| self.jit.kernel(&self.body)).as_deref()
    }
}

/// What was made ahead of time, in memory; nothing where nothing was made.
fn library(prepared: &Prepared, host: &Target) -> Option<Result<Library, Refused>> {
    match prepared {
        // SAFETY: whoever holds an `OwnCode` has vouched that it was made so.
        Prepared::Own(code) => Some(unsafe { Library::new(code.ahead(), host) }),
        Prepared::Nothing | Prepared::Foreign { .. } => None,
    }
}

/// The transforms of `program`, each with its stage and that one's number, and with its groups.
fn all_groups(program: &Program) -> impl Iterator<Item = (usize, &Stage, &Transform, Vec<Group>)> {
    program.stages.iter().filter_map(|(id, stage)| {
        let Code::Transform(transform) = &stage.code else { return None };
        let groups = groups_of(transform);
        Some((id.row(), stage, transform, groups))
    })
}

fn groups_of(transform: &Transform) -> Vec<Group> {
    groups(&transform.graph, &transform.wanted(), way(transform.vector))
}

/// The machine code of every group of `program`, to be read.
pub(super) fn listed(program: &Program, prepared: &Prepared) -> Result<Listed, String> {
    let (target, made) = compiled_for(prepared).map_err(|it| it.to_string())?;
    let mut all = Vec::new();
    for (id, stage, _, groups) in all_groups(program) {
        for group in groups {
            let listing = target.listing(&group.body).map_err(|it| it.to_string())?;
            all.push(MachineCode {
                stage: id,
                steps: stage.steps.clone(),
                value: group.root.row(),
                operations: group.inner.len() + 1,
                clif: listing.clif,
                asm: listing.asm,
            });
        }
    }
    Ok(Listed { made, groups: all })
}

/// The processor whose code is run here, and how that came about.
fn compiled_for(prepared: &Prepared) -> Result<(Target, String), Refused> {
    let host = Target::host()?;
    let of = |it: &Target| {
        let features: Vec<&str> = it.features().into_iter().collect();
        format!("{} {}", it.architecture(), features.join(" ")).trim_end().to_owned()
    };
    let (cpu, why) = match (prepared, library(prepared, &host)) {
        (Prepared::Own(code), Some(Ok(_))) => {
            let ahead = code.ahead();
            let target = Target::with_features(ahead.features.iter().map(String::as_str))?;
            let made = format!("compiled ahead of time for `{}`: {}", ahead.cpu, of(&target));
            return Ok((target, made));
        }
        (Prepared::Own(code), Some(Err(why))) => (&code.ahead().cpu, why.to_string()),
        (Prepared::Foreign { cpu, why }, _) => (cpu, why.clone()),
        _ => {
            let made = format!("compiled before the run starts, for {}", of(&host));
            return Ok((host, made));
        }
    };
    let made = format!(
        "compiled before the run starts, for {}; the code compiled ahead of time for `{cpu}` is \
         not used: {why}",
        of(&host)
    );
    Ok((host, made))
}

/// The code of every group of `program` for the processor `cpu`.
pub(super) fn precompiled(program: &Program, cpu: &str) -> Result<Ahead, String> {
    let target = Target::named(cpu).map_err(|it| it.to_string())?;
    let mut loops = Vec::new();
    let mut add = |groups: Vec<Group>, transform: &Transform| {
        for group in groups {
            loops.extend((!transform.vector).then(|| group.body.clone().strided()));
            loops.push(group.body);
        }
    };
    for (.., transform, groups) in all_groups(program) {
        add(groups, transform);
        if let Some((clean, _)) = transform.clean() {
            add(groups_of(&clean), &clean);
        }
    }
    Ok(ahead(&target, cpu, &loops))
}

/// The processors that can be named.
pub(super) fn processors() -> Vec<String> {
    Target::names()
}

fn way(at_once: bool) -> Way {
    if at_once { Way::AtOnce } else { Way::EachRecord }
}

fn places(firsts: impl Iterator<Item = *const u8>) -> [Place; OPERANDS_MAX] {
    let mut all = [Place { first: ptr::null_mut(), step: 0 }; OPERANDS_MAX];
    all.iter_mut().zip(firsts).for_each(|(to, first)| to.first = first.cast_mut());
    all
}

/// Operands that are walked through row by row, the result last.
struct Walk<'a> {
    fused: &'a Fused,
    shape: Shape,
    n: usize,
    firsts: [*const u8; OPERANDS_MAX],
    sizes: [usize; OPERANDS_MAX],
    strides: [[isize; MAX_RANK]; OPERANDS_MAX],
}

impl<'a> Walk<'a> {
    fn new(fused: &'a Fused, leaves: &[Tensor<'_>], shape: Shape, to: *mut u8) -> Self {
        let n = leaves.len() + 1;
        let mut walk = Self {
            fused,
            shape,
            n,
            firsts: [to; OPERANDS_MAX],
            sizes: [fused.dtype.size(); OPERANDS_MAX],
            strides: [shape.strides(fused.dtype.size()); OPERANDS_MAX],
        };
        for (i, leaf) in leaves.iter().enumerate() {
            walk.firsts[i] = leaf.as_ptr();
            walk.sizes[i] = leaf.dtype().size();
            walk.strides[i] = stretched(leaf, &shape);
        }
        walk
    }

    fn is_same(&self, operand: usize) -> bool {
        self.fused.same.get(operand) == Some(&true)
    }

    /// Leaves that come again and again, such as a number for each channel, are laid out for a
    /// whole row, so that rows are long.
    fn lay_out(&mut self, room: &mut Room) {
        let long = |it: &usize| self.shape[*it..].iter().product::<usize>() >= ROW_MIN;
        let Some(from) = (1..self.shape.len()).rev().find(long) else { return };
        let row = Shape::new(&self.shape[from..]);
        let again = |it: &usize| {
            let (outer, inner) = self.strides[*it][..self.shape.len()].split_at(from);
            let packed = &row.strides(self.sizes[*it])[..row.len()];
            !self.is_same(*it) && outer.iter().all(|it| *it == 0) && inner != packed
        };
        let all: Vec<usize> = (0..self.n - 1).filter(again).collect();
        if all.is_empty() || row.elements() > LAID_OUT_MAX {
            return;
        }
        room.clear();
        room.resize(all.len() * row.elements(), 0);
        for (operand, to) in all.into_iter().zip(room.chunks_exact_mut(row.elements())) {
            let (first, size) = (self.firsts[operand], self.sizes[operand]);
            let to: *mut u8 = to.as_mut_ptr().cast();
            let mut n = 0;
            each_index(&row, |at| {
                let offset = offset(at, &self.strides[operand][from..]);
                // SAFETY: `at` counts through the leaf's extents; there is room for all of a row.
                unsafe { ptr::copy_nonoverlapping(first.offset(offset), to.add(n * size), size) };
                n += 1;
            });
            self.firsts[operand] = to;
            self.strides[operand][from..].copy_from_slice(&row.strides(size)[..MAX_RANK - from]);
        }
    }

    /// The axes that one call of the code goes through: the last ones as far as they go on in even
    /// steps, or the longest, where that is more.
    fn row_axes(&self) -> Range<usize> {
        let rank = self.shape.len();
        let joined = joined_axes(&self.strides[..self.n], &self.shape);
        let longest = (0..rank).max_by_key(|&it| self.shape[it]).unwrap_or(0);
        let len: usize = self.shape[joined..].iter().product();
        if len < ROW_MIN && len < self.shape[longest] { longest..longest + 1 } else { joined..rank }
    }

    /// Runs the code for each row.
    fn run(&self, strided: &Kernel) {
        let row = self.row_axes();
        let len: usize = self.shape[row.clone()].iter().product();
        let mut places = places(self.firsts[..self.n].iter().copied());
        for (place, strides) in places.iter_mut().zip(&self.strides) {
            place.step = strides[row.end - 1];
        }
        let is_dense =
            (0..self.n).all(|it| self.is_same(it) || places[it].step == self.sizes[it] as isize);
        let kernel = if is_dense { &self.fused.dense } else { strided };

        let mut outer = self.shape;
        outer.set(row, 1);
        each_index(&outer, |at| {
            for (it, place) in places[..self.n].iter_mut().enumerate() {
                // SAFETY: `at` counts through the operand's own extents.
                let first = unsafe { self.firsts[it].offset(offset(at, &self.strides[it])) };
                place.first = first.cast_mut();
            }
            // SAFETY: the rows have `len` elements, as far apart as the steps say.
            unsafe { kernel.run(&places[..self.n], len) };
        });
    }
}

fn offset(at: &[usize], strides: &[isize]) -> isize {
    at.iter().zip(strides).map(|(&at, &stride)| at as isize * stride).sum()
}

/// Calls `f` with the numbers of each element of `shape`, in C order.
fn each_index(shape: &Shape, mut f: impl FnMut(&[usize])) {
    let mut at = [0_usize; MAX_RANK];
    for _ in 0..shape.elements() {
        f(&at[..shape.len()]);
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests;
