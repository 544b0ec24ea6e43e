//! The fields of the second stream, for the records of the first one.

use super::{
    Missing, NONE, Terms,
    held::{Held, Key},
    no_partner,
};
use crate::prelude::*;
use runtime::{Builder, Column, OperatorCall, Pool, mix};
use std::sync::{Arc, OnceLock};

/// The columns of a chunk of the first stream, and those that it gets of the second one.
pub(super) struct Joining {
    held: Arc<OnceLock<Held>>,
    /// Which columns of each stream leave, and their fields.
    kept: Vec<(usize, Field)>,
    added: Vec<(usize, Field)>,
    /// The columns of the key in the first stream, where what fails is to be said of each record.
    keys: Option<Vec<usize>>,
    /// Where each column that leaves stands among these, and what fails behind them.
    order: Vec<usize>,
    pool: Pool,
}

/// Where each column that leaves a `join` stands among those of the first stream, those of the second, and what fails.
pub(super) fn order(
    call: &OperatorCall<'_>,
    kept: &[(usize, Field)],
    added: &[(usize, Field)],
) -> Vec<usize> {
    let all = || kept.iter().chain(added).map(|it| &it.1.name);
    let last = kept.len() + added.len();
    call.columns.iter().map(|of| all().position(|it| *it == of.name).unwrap_or(last)).collect()
}

/// Columns in this order.
pub(super) fn ordered(columns: &[Column], order: &[usize]) -> Vec<Column> {
    order.iter().map(|it| columns[*it].clone()).collect()
}

impl Joining {
    pub(super) fn new(call: &OperatorCall<'_>, terms: &Terms, held: Arc<OnceLock<Held>>) -> Self {
        let place = |input: usize, field: &Field| {
            call.inputs[input].iter().position(|it| it.name == field.name)
        };
        // A key is in both: it is the first stream's.
        let kept = call.columns.iter().filter_map(|it| Some((place(0, it)?, it.clone())));
        let added = call.columns.iter().filter(|it| place(0, it).is_none());
        let added = added.filter_map(|it| Some((place(1, it)?, it.clone())));
        let (kept, added): (Vec<_>, Vec<_>) = (kept.collect(), added.collect());
        let keys = matches!(terms.missing, Missing::Fault).then(|| terms.keys[0].clone());
        let order = order(call, &kept, &added);
        Self { held, kept, added, keys, order, pool: call.pool.clone() }
    }

    pub(super) fn join(&self, mut chunk: Chunk) -> Chunk {
        let held = self.held.get().expect("records of the first stream come after the second one");
        let numbers = chunk.columns.pop().expect("the numbers stand behind the fields");
        let mut numbers = numbers.as_slice::<u32>().expect("they are u32").to_vec();
        let faults = self.keys.as_ref().map(|it| self.faults(&chunk, it, &numbers));
        chunk.columns = self.kept.iter().map(|(at, _)| chunk.columns[*at].clone()).collect();
        if numbers.contains(&NONE) {
            let has_one = |it: &u32| numbers[*it as usize] != NONE;
            let order: Vec<u32> = (0..chunk.rows as u32).filter(has_one).collect();
            let fields: Vec<Field> = self.kept.iter().map(|it| it.1.clone()).collect();
            chunk = chunk.reordered(&order, &fields, &self.pool);
            numbers.retain(|it| *it != NONE);
        }
        let right = held.chunk.ids();
        let mut ids = Builder::new(&Type::scalar(DType::U64), chunk.rows, &self.pool);
        for (id, number) in chunk.ids().iter().zip(&numbers) {
            ids.push_scalar(mix(*id, right[*number as usize]));
        }
        chunk.ids = ids.finish();
        for (at, field) in &self.added {
            chunk.columns.push(self.gathered(&held.chunk.columns[*at], &numbers, &field.ty));
        }
        chunk.columns.extend(faults);
        chunk.columns = ordered(&chunk.columns, &self.order);
        chunk
    }

    /// For each record why it has no partner, where it has none.
    fn faults(&self, chunk: &Chunk, keys: &[usize], numbers: &[u32]) -> Column {
        let none = self.held.get().map_or(0, |it| it.rows) as u32;
        let mut faults = Builder::new(&Type::scalar(DType::Str), chunk.rows, &self.pool);
        for (row, number) in numbers.iter().enumerate() {
            let key = || Key { chunk, columns: keys, row }.shown();
            let fault = if *number == none { no_partner(&key()) } else { String::new() };
            faults.push_text(fault.as_bytes());
        }
        faults.finish()
    }

    fn gathered(&self, from: &Column, numbers: &[u32], ty: &Type) -> Column {
        let mut to = Builder::new(ty, numbers.len(), &self.pool);
        to.gather(from, numbers);
        to.finish()
    }
}
