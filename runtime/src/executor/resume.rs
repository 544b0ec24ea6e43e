//! Puts the nodes of a run where an earlier one has stood.

use super::{
    deal::Below,
    node::{Kind, Node},
    operate::Resume,
    position::{At, Point, Position},
    supply::Cursor,
};
use crate::Failure;
use std::sync::Arc;

/// Lets the nodes begin at `position`; `last_nodes` are those that end each stage.
pub(super) fn resume(
    nodes: &mut [Node],
    last_nodes: &[usize],
    position: &Position,
    below: &Below,
) -> Result<(), Failure> {
    let root = *last_nodes.last().expect("a program has a stage");
    Resuming { nodes, epoch: position.epoch }.node(root, &below.sunk(&position.at))
}

struct Resuming<'a> {
    nodes: &'a mut [Node],
    epoch: u32,
}

impl Resuming<'_> {
    /// Lets the stage that the node ends, and all above it, begin at `at`.
    fn node(&mut self, id: usize, at: &At) -> Result<(), Failure> {
        if let (Kind::Fetch(fetch), Some(first)) = (&mut self.nodes[id].kind, first_place(at)) {
            fetch.begin_at(first);
            return Ok(());
        }
        self.nodes[id].drop = at.skip;
        match (&mut self.nodes[id].kind, &*at.point) {
            (_, Point::Start) => Ok(()),
            (Kind::Stream { cursor, .. }, Point::Stream(place)) => {
                *cursor = Some(Box::new(Cursor::at(place.clone())));
                Ok(())
            }
            (Kind::Transform { .. }, Point::Transform { input, losses, .. }) => {
                self.nodes[id].losses.resume(losses);
                self.node(self.nodes[id].inputs[0], input)
            }
            (Kind::Finish, Point::Stream(_)) => {
                let input = self.nodes[id].inputs[0];
                self.node(input, &At { point: at.point.clone(), skip: 0 })
            }
            (Kind::Finish, Point::Operator { .. }) => {
                self.operator(self.nodes[id].inputs[0], &at.point)
            }
            (Kind::Operator(_), Point::Operator { .. }) => self.operator(id, &at.point),
            _ => Err(unfit()),
        }
    }

    fn operator(&mut self, id: usize, point: &Point) -> Result<(), Failure> {
        let (Kind::Operator(operating), Point::Operator { state, number, inputs }) =
            (&mut self.nodes[id].kind, point)
        else {
            return Err(unfit());
        };
        if inputs.len() != operating.ended.len() {
            return Err(unfit());
        }
        let maker = Arc::get_mut(&mut operating.maker).expect("nothing runs yet");
        let (state, number, inputs) = (state.clone(), *number, inputs.clone());
        let is_ended = |it: &At| matches!(*it.point, Point::Ended);
        operating.ended = inputs.iter().map(is_ended).collect();
        maker.resume = Some(Resume { epoch: self.epoch, state, number, inputs: inputs.clone() });
        // What it refuses is said now.
        maker.open(self.epoch)?;
        let above = self.nodes[id].inputs.clone();
        // Only an operator goes on when an input has ended; nothing else would hear of it again.
        above.into_iter().zip(&inputs).try_for_each(|(input, at)| match *at.point {
            Point::Ended => {
                self.end(input);
                Ok(())
            }
            _ => self.node(input, at),
        })
    }

    /// A node, and all above it, have come to the end of the epoch.
    fn end(&mut self, id: usize) {
        (self.nodes[id].epoch, self.nodes[id].sent) = (self.epoch + 1, self.epoch + 1);
        self.nodes[id].inputs.clone().into_iter().for_each(|it| self.end(it));
    }
}

/// Where a source begins that is asked for numbers.
fn first_place(at: &At) -> Option<u64> {
    match *at.point {
        Point::Start => Some(at.skip),
        Point::Source { place } => Some(place.saturating_add(at.skip)),
        _ => None,
    }
}

fn unfit() -> Failure {
    Failure::State("it belongs to another program".to_owned())
}
