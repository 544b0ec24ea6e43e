//! In place of `fused.rs` where this is built without a compiler for arithmetic: there is no group.

use super::{
    code::{Listed, Prepared},
    nodes::Node,
};
use crate::{Fault, Out, Tensor};
use plan::{Ahead, ExprId, Graph, IdVec, Program};

/// Compiles nothing.
pub(crate) struct Jit;
/// There is none.
pub(super) enum Fused {}
/// Nothing is laid out.
pub(super) type Room = ();
/// Leaves of one group, at the most.
pub(super) const LEAVES_MAX: usize = 1;

/// Why there is nothing.
const NONE: &str = "this pipec was built without a compiler for arithmetic";

pub(super) fn listed(_: &Program, _: &Prepared) -> Result<Listed, String> {
    Err(NONE.to_owned())
}

pub(super) fn precompiled(_: &Program, _: &str) -> Result<Ahead, String> {
    Err(NONE.to_owned())
}

pub(super) fn processors() -> Vec<String> {
    Vec::new()
}

impl Jit {
    pub(crate) fn new(_: bool, _: &Prepared) -> Self {
        Self
    }

    pub(super) fn fuse(&self, _: &mut IdVec<ExprId, Node>, _: &Graph, _: (&[ExprId], bool)) {}
}

impl Fused {
    pub(super) fn leaves(&self) -> &[ExprId] {
        match *self {}
    }

    pub(super) fn give_way(&self, _: ExprId) {
        match *self {}
    }

    pub(super) fn is_on(&self) -> bool {
        match *self {}
    }

    pub(super) fn run(
        &self,
        _: &[Tensor<'_>],
        (): &mut Room,
        _: &mut Out<'_>,
    ) -> Result<bool, Fault> {
        match *self {}
    }
}
