//! The fields of the second stream, for the records of the first one.

use super::{
    Missing, NONE, Terms,
    held::{Held, Key},
    no_partner,
};
use crate::prelude::*;
use runtime::{Builder, Column, OperatorCall, Pool, mix};
use std::sync::{Arc, OnceLock};

/// What leaves a `join`: columns of the first stream, those that records get of the second one, and what fails.
pub(super) struct Leaving {
    /// Which columns of each stream leave, and their fields.
    kept: Vec<(usize, Field)>,
    added: Vec<(usize, Field)>,
    /// Where each column that leaves stands among these, and what fails behind them.
    order: Vec<usize>,
    pool: Pool,
}

impl Leaving {
    pub(super) fn new(call: &OperatorCall<'_>) -> Self {
        let place = |input: usize, field: &Field| {
            call.inputs[input].iter().position(|it| it.name == field.name)
        };
        // A key is in both: it is the first stream's.
        let kept = call.columns.iter().filter_map(|it| Some((place(0, it)?, it.clone())));
        let added = call.columns.iter().filter(|it| place(0, it).is_none());
        let added = added.filter_map(|it| Some((place(1, it)?, it.clone())));
        let (kept, added): (Vec<_>, Vec<_>) = (kept.collect(), added.collect());
        let place = |of: &Field| kept.iter().chain(&added).position(|it| it.1.name == of.name);
        let order = call.columns.iter().map(|it| place(it).unwrap_or(kept.len() + added.len()));
        Self { order: order.collect(), kept, added, pool: call.pool.clone() }
    }

    /// The records `rows` of a chunk of the first stream, in ascending order, each with the fields of its partner: a
    /// record of one of `tables`. Their ids say who both are. `faults` is what fails, where something may.
    pub(super) fn chunk(
        &self,
        chunk: &Chunk,
        rows: &[u32],
        (tables, partners): (&[&Held], &[(usize, u32)]),
        faults: Option<Column>,
    ) -> Chunk {
        let columns = self.kept.iter().map(|(at, _)| chunk.columns[*at].clone()).collect();
        let mut made = Chunk { columns, ids: chunk.ids.clone(), ..*chunk };
        if rows.len() < chunk.rows {
            let fields: Vec<Field> = self.kept.iter().map(|it| it.1.clone()).collect();
            made = made.reordered(rows, &fields, &self.pool);
        }
        let mut ids = Builder::new(&Type::scalar(DType::U64), made.rows, &self.pool);
        for (id, (table, row)) in made.ids().iter().zip(partners) {
            ids.push_scalar(mix(*id, tables[*table].chunk.ids()[*row as usize]));
        }
        made.ids = ids.finish();
        let runs: Vec<(&Held, Vec<u32>)> = partners
            .chunk_by(|a, b| a.0 == b.0)
            .map(|of_one| (tables[of_one[0].0], of_one.iter().map(|it| it.1).collect()))
            .collect();
        for (at, field) in &self.added {
            let mut to = Builder::new(&field.ty, made.rows, &self.pool);
            runs.iter().for_each(|(table, rows)| to.gather(&table.chunk.columns[*at], rows));
            made.columns.push(to.finish());
        }
        made.columns.extend(faults);
        made.columns = self.order.iter().map(|it| made.columns[*it].clone()).collect();
        made
    }
}

/// Adds the fields of the second stream, which is held whole.
pub(super) struct Joining {
    held: Arc<OnceLock<Held>>,
    leaving: Leaving,
    /// The columns of the key in the first stream, where what fails is to be said of each record.
    keys: Option<Vec<usize>>,
    pool: Pool,
}

impl Joining {
    pub(super) fn new(call: &OperatorCall<'_>, terms: &Terms, held: Arc<OnceLock<Held>>) -> Self {
        let keys = matches!(terms.missing, Missing::Fault).then(|| terms.keys[0].clone());
        Self { held, leaving: Leaving::new(call), keys, pool: call.pool.clone() }
    }

    pub(super) fn join(&self, mut chunk: Chunk) -> Chunk {
        let held = self.held.get().expect("records of the first stream come after the second one");
        let numbers = chunk.columns.pop().expect("the numbers stand behind the fields");
        let numbers = numbers.as_slice::<u32>().expect("they are u32");
        let faults = self.keys.as_ref().map(|it| self.faults(&chunk, it, numbers));
        let has_one = |it: &u32| numbers[*it as usize] != NONE;
        let rows: Vec<u32> = (0..chunk.rows as u32).filter(has_one).collect();
        let partners: Vec<_> = rows.iter().map(|it| (0, numbers[*it as usize])).collect();
        self.leaving.chunk(&chunk, &rows, (&[held], &partners), faults)
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
}
