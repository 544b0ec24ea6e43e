//! What must hold of every program, so that whoever runs it is not misled: it may come from a file
//! that anybody has made. The compiler makes no other.
//!
//! - Every stage stands after those that it reads, and is read by one: a program is a tree.
//! - Names are those of the library, with the arguments and fields that it says.
//! - Expressions are as `values.rs` says; what is computed has the type of its column.
//! - A whole chunk at once are scalars that cannot fail, and extents of columns; rows of a batch are written where no record
//!   can go, for a batch of that size; another record comes from an indexed source, step by step.
//! - Chunks have a size that the memory can hold.

use super::{
    agree,
    calls::{self, Operates, Record},
    ensure,
    values::{Values, fields, policy},
};
use crate::{
    analysis::{
        live::{are_scalars, live},
        role::{self, Role},
        total::{any_can_fail, any_policy},
    },
    registry::Registry,
};
use plan::{
    Action, Arg, Code, DType, Deal, Entry, Expr, ExprId, FILES_MAX, FORMAT, Field, IdVec, Index,
    Lanes, Library, Policy, Program, Property, Records, STAGES_MAX, Series, Spans, Stage, StageId,
    Transform, Type, Windows,
};
use std::collections::BTreeSet;

/// Records of a chunk; the compiler chooses fewer (`lower/rows.rs`).
const ROWS_MAX: u32 = 1 << 16;
/// Bytes of a chunk of more than one record.
const CHUNK_BYTES_MAX: usize = 256 << 20;
/// Rows of a batch (`stdlib`, `operators/arguments.rs`).
const BATCH_ROWS_MAX: u64 = 1 << 24;
/// Records that a source is asked to leave out or to give.
const RECORDS_MAX: u64 = i64::MAX as u64;

/// Whether all that the header lists holds of `program`.
///
/// # Errors
/// The first thing that does not, with the stage's name.
pub fn verify_program(program: &Program, library: &Library) -> Result<(), String> {
    let registry = Registry::new(*library);
    let (format, n) = (program.format, program.stages.len());
    ensure(format == FORMAT, || {
        format!("its format is {format}, but this pipec runs format {FORMAT}")
    })?;
    ensure((1..=STAGES_MAX).contains(&n), || format!("it has {n} stages"))?;
    tree(&program.stages)?;
    for (id, stage) in program.stages.iter() {
        let check = Check { stages: &program.stages, id, stage, registry: &registry };
        check.all().map_err(|why| format!("{id} ({}): {why}", stage.label()))?;
    }
    output(program)?;
    beside(program)?;
    once(program)?;
    lanes(program, &registry)?;
    deal(program)
}

/// What must have equally many records are sources.
fn beside(program: &Program) -> Result<(), String> {
    let is_source = |it: &StageId| {
        program.stages.get(*it).is_some_and(|it| matches!(it.code, Code::Source { .. }))
    };
    let all = program.beside.iter().flatten().all(is_source);
    ensure(all, || "what is read side by side is not a source".into())
}

/// What runs once is read by an operator.
fn once(program: &Program) -> Result<(), String> {
    let is_operator = |it: &Stage| matches!(it.code, Code::Operator { .. });
    let is_read = |id: &StageId| {
        program
            .stages
            .rows()
            .iter()
            .any(|it| is_operator(it) && it.inputs.iter().skip(1).any(|it| it == id))
    };
    ensure(program.once.iter().all(is_read), || "what runs once is not read by an operator".into())
}

/// Lanes are of sources that can be read anywhere, streams meet in them only where they are mixed, and no stage is in two of
/// them.
fn lanes(program: &Program, registry: &Registry) -> Result<(), String> {
    let stages = &program.stages;
    let mut seen = BTreeSet::new();
    for lanes in &program.lanes {
        let Lanes { count, stage, rows } = lanes;
        let known = stage.row() < stages.len() && (1..=Lanes::MAX).contains(count);
        let sized = known && (1..=BATCH_ROWS_MAX).contains(rows);
        ensure(sized, || format!("{stage} deals {count} lanes in blocks of {rows} records"))?;
        for it in lanes.stages(stages) {
            let one_way = match &stages[it].code {
                Code::Source { entry, .. } => {
                    registry.source(entry).is_some_and(|it| it.has(Property::Indexed))
                }
                Code::Operator { entry, .. } if stages[it].inputs.len() > 1 => {
                    registry.operator(entry).and_then(Entry::action) == Some(Action::Mix)
                }
                _ => stages[it].inputs.len() == 1,
            };
            ensure(one_way && seen.insert(it), || format!("{it} cannot be done in lanes"))?;
        }
        let inner = lanes.stages(stages).into_iter().skip(1).any(|it| it == program.deal.stage);
        ensure(!inner, || format!("{} deals within lanes", program.deal.stage))?;
    }
    Ok(())
}

/// How several runs share the work: below the stage that deals, one input each, and `valid` is a
/// mask of rows.
fn deal(program: &Program) -> Result<(), String> {
    let Deal { stage, rows, windows, valid, .. } = &program.deal;
    let whole = windows.is_none_or(|it| it > 0 && rows.is_multiple_of(it));
    let known = program.stages.get(*stage).is_some() && *rows > 0 && whole;
    ensure(known, || format!("{stage} deals blocks of {rows} records"))?;
    let mut below = program.stages.iter().filter(|it| it.0 > *stage);
    ensure(below.all(|it| it.1.inputs.len() == 1), || {
        "it is dealt above where streams meet".into()
    })?;
    let Some(valid) = valid else { return Ok(()) };
    let field = program.output.get(*valid as usize);
    let is_mask = field.is_some_and(|it| {
        it.ty.dtype() == Some(DType::Bool) && it.ty.shape().is_some_and(|it| it.len() == 1)
    });
    ensure(is_mask, || format!("column {valid} does not say which rows are records"))
}

fn tree(stages: &IdVec<StageId, Stage>) -> Result<(), String> {
    let mut readers = vec![0_u32; stages.len()];
    for (id, stage) in stages.iter() {
        for &input in &stage.inputs {
            ensure(input < id, || format!("{id} reads {input}, which does not come before it"))?;
            readers[input.row()] += 1;
        }
    }
    let once = match readers.split_last() {
        Some((0, rest)) => rest.iter().all(|it| *it == 1),
        _ => false,
    };
    ensure(once, || "its stages are not a tree".into())
}

/// What leaves the program: the last stage's columns that are not hidden.
fn output(program: &Program) -> Result<(), String> {
    let last = program.stages.rows().last().map_or(&[][..], |it| &it.columns);
    let visible = last.iter().filter(|it| !it.name.starts_with('$'));
    let same = visible.eq(&program.output);
    ensure(same, || "its output fields differ from its last stage".into())
}

struct Check<'a> {
    stages: &'a IdVec<StageId, Stage>,
    id: StageId,
    stage: &'a Stage,
    registry: &'a Registry,
}

impl Check<'_> {
    fn all(&self) -> Result<(), String> {
        fields(&self.stage.columns)?;
        self.size()?;
        match &self.stage.code {
            Code::Source { .. } => self.source(),
            Code::Transform(it) => self.transform(it),
            Code::Operator { entry, args, names, .. } => self.operator(entry, args, names),
        }
    }

    fn size(&self) -> Result<(), String> {
        let rows = self.stage.rows;
        ensure((1..=ROWS_MAX).contains(&rows), || format!("it makes chunks of {rows} records"))?;
        let fixed = self.stage.columns.iter().filter_map(|it| it.ty.fixed_bytes());
        let bytes = fixed.fold(0_usize, usize::saturating_add).saturating_mul(rows as usize);
        ensure(rows == 1 || bytes <= CHUNK_BYTES_MAX, || format!("a chunk has {bytes} bytes"))
    }

    fn input(&self) -> &[Field] {
        self.stage.inputs.first().map_or(&[], |it| &self.stages[*it].columns)
    }

    fn source(&self) -> Result<(), String> {
        let Code::Source { entry, args, shuffles, spans, skip, take, laps, windows, .. } =
            &self.stage.code
        else {
            unreachable!("the stage is a source")
        };
        ensure(self.stage.inputs.is_empty(), || "a source reads a stage".into())?;
        calls::source(self.registry, (entry, args), &self.stage.columns)?;
        let indexed = self.is_indexed(entry);
        ensure(indexed || shuffles.is_empty(), || "it shuffles a source without an index".into())?;
        if let Some(Spans { open, .. }) = spans {
            let can = self.registry.source(entry).is_some_and(|it| it.has(Property::Spans));
            ensure(can, || "it reads spans of a source without spans".into())?;
            ensure((1..=Spans::MAX).contains(open), || format!("it keeps {open} spans open"))?;
            let alone = shuffles.is_empty() && *skip == 0 && take.is_none() && windows.is_none();
            ensure(alone, || "it reads spans of a part of its source".into())?;
        }
        if let Some(windows) = windows {
            ensure(indexed, || "it reads windows of a source without an index".into())?;
            self.windows(windows)?;
        }
        let counts = [Some(*skip), *take, *laps].into_iter().flatten();
        let most = counts.max().unwrap_or(0);
        ensure(most <= RECORDS_MAX, || format!("it counts {most} records"))
    }

    /// Windows have records; the key of series is computed of each record, from columns of the source.
    fn windows(&self, windows: &Windows) -> Result<(), String> {
        let Windows { length, hop, series, .. } = windows;
        let sized = [length, hop].into_iter().all(|it| (1..=Windows::MAX).contains(it));
        ensure(sized, || format!("it reads windows of {length} records, {hop} apart"))?;
        let Some(Series { columns, transform, key }) = series else { return Ok(()) };
        let mut read = Stage { columns: columns.clone(), ..self.stage.clone() };
        if let Code::Source { windows, shuffles, .. } = &mut read.code {
            *windows = None;
            shuffles.clear();
        }
        let keyed = Stage {
            code: Code::Transform(transform.clone()),
            inputs: vec![StageId::new(0)],
            columns: vec![key.clone()],
            ..self.stage.clone()
        };
        let plain = single(transform).is_some()
            && transform.filters.is_empty()
            && transform.on_fault == Policy::Fail
            && transform.another.is_empty()
            && transform.into_batch.is_none()
            && !transform.foreign;
        ensure(plain, || "the key of its series is not computed of each record".into())?;
        let stages: IdVec<StageId, Stage> = [read, keyed].into_iter().collect();
        for (id, stage) in stages.iter() {
            Check { stages: &stages, id, stage, registry: self.registry }.all()?;
        }
        Ok(())
    }

    fn is_indexed(&self, source: &str) -> bool {
        self.registry.source(source).is_some_and(|it| it.has(Property::Indexed))
    }

    fn operator(&self, entry: &str, args: &[Arg], names: &[String]) -> Result<(), String> {
        self.sources(args)?;
        let inputs: Vec<&[Field]> =
            self.stage.inputs.iter().map(|it| &self.stages[*it].columns[..]).collect();
        let record = Record { columns: self.input(), graph: None };
        let call = Operates { entry, args, names, inputs: &inputs, record };
        calls::operator(self.registry, &call, &self.stage.columns)
    }

    /// What is asked of a listing is asked of a source.
    fn sources(&self, args: &[Arg]) -> Result<(), String> {
        let is_source = |it: &u32| {
            let asked = self.stages.get(StageId(*it)).filter(|_| StageId(*it) < self.id);
            asked.is_some_and(|it| matches!(it.code, Code::Source { .. }))
        };
        let sound = args.iter().all(|it| match it {
            Arg::Sources(all) => all.iter().all(is_source),
            _ => true,
        });
        ensure(sound, || "it asks something that is not a source before it".into())
    }

    fn transform(&self, code: &Transform) -> Result<(), String> {
        let n = self.stage.inputs.len();
        ensure(n == 1, || format!("it reads {n} stages"))?;
        let values = Values { registry: self.registry, graph: &code.graph, columns: self.input() };
        values.all()?;
        for (_, expr, _) in code.graph.iter() {
            if let Expr::Call { args, .. } = expr {
                self.sources(args)?;
            }
        }
        policy(&code.on_fault)?;
        for filter in &code.filters {
            agree(values.ty(*filter)?, &Type::scalar(DType::Bool))?;
        }
        let n_files = code.files.len();
        ensure(n_files <= FILES_MAX, || format!("it knows {n_files} files"))?;
        for (value, name) in &code.files {
            values.ty(*value)?;
            agree(values.ty(*name)?, &Type::scalar(DType::Str))?;
        }
        self.outputs(code, &values)?;
        if code.vector {
            self.at_once(code)?;
        }
        if code.clean_vector {
            let (clean, _) = code.clean().ok_or("no column makes a chunk a clean one")?;
            self.at_once(&clean)?;
        }
        if let Some(rows) = code.into_batch {
            self.in_batch(code, rows)?;
        }
        self.another(code)
    }

    fn outputs(&self, code: &Transform, values: &Values<'_>) -> Result<(), String> {
        match &code.outputs {
            Records::Listed(lists) => lists.iter().try_for_each(|it| self.columns(it, values)),
            Records::Counted { count, var, outputs } => {
                values.var(*var)?;
                agree(values.ty(*count)?, &Type::scalar(DType::I64))?;
                self.columns(outputs, values)
            }
        }
    }

    fn columns(&self, outputs: &[ExprId], values: &Values<'_>) -> Result<(), String> {
        let (n, wanted) = (outputs.len(), self.stage.columns.len());
        ensure(n == wanted, || format!("{n} values for {wanted} columns"))?;
        for (value, field) in outputs.iter().zip(&self.stage.columns) {
            agree(values.ty(*value)?, &field.ty)
                .map_err(|why| format!("column `{}`: {why}", field.name))?;
        }
        Ok(())
    }

    /// A whole chunk at once: columns that stay as they are, and scalars that cannot fail.
    fn at_once(&self, code: &Transform) -> Result<(), String> {
        let Some(outputs) = single(code) else {
            return Err("a vectorized chunk is multiplied".into());
        };
        let column = |it: &ExprId| match code.graph.expr(*it) {
            Expr::Column(i) => Some(&self.input()[*i as usize]),
            _ => None,
        };
        // Columns are handed on without a look at them.
        let handed = outputs.iter().zip(&self.stage.columns);
        let same = |(id, field): (&ExprId, &Field)| column(id).is_none_or(|it| it.ty == field.ty);
        ensure(handed.into_iter().all(same), || "a column changes its type".into())?;
        let computed = outputs.iter().filter(|it| column(it).is_none());
        let roots: Vec<ExprId> = code.filters.iter().chain(computed).copied().collect();
        let live = live(&code.graph, &roots, &[]);
        let plain = are_scalars(&code.graph, &live, self.registry);
        let fails = code.reads || any_can_fail(&code.graph, &live, self.registry);
        ensure(plain && !fails, || "a vectorized chunk is not of scalars, or can fail".into())
    }

    /// Rows of a batch: all of one size, none can go, and the batch is of that size.
    fn in_batch(&self, code: &Transform, rows: u64) -> Result<(), String> {
        ensure((1..=BATCH_ROWS_MAX).contains(&rows), || format!("a batch has {rows} rows"))?;
        let sized =
            self.stage.columns.iter().all(|it| it.ty.fixed_bytes().is_some_and(|it| it > 0));
        let stays = single(code).is_some() && code.filters.is_empty() && !code.reads;
        let skips = |it: &Policy| matches!(it, Policy::Skip { .. });
        let all = vec![true; code.graph.len()];
        let goes = any_policy(&code.graph, &all, skips)
            || skips(&code.on_fault) && any_can_fail(&code.graph, &all, self.registry);
        let sound = sized && !self.stage.columns.is_empty() && stays && !goes;
        ensure(sound, || "a row of its batch can go, or has no size".into())?;
        let reader = self.stages.rows().iter().find(|it| it.inputs.contains(&self.id));
        let size = reader.and_then(|it| match &it.code {
            Code::Operator { entry, args, .. } => {
                match role::operator(entry, args, it.inputs.len(), self.registry) {
                    Role::Batch { size, plain: true, .. } => Some(size),
                    _ => None,
                }
            }
            _ => None,
        });
        ensure(size == Some(rows), || format!("nobody batches its {rows} rows"))
    }

    /// Where other records come from: a source that can be read anywhere, and what stands between.
    fn another(&self, code: &Transform) -> Result<(), String> {
        let Some((source, path)) = code.another.split_first() else {
            let replaces = |it: &Policy| matches!(it, Policy::Another { .. });
            let live = code_live(code);
            let wanted = any_policy(&code.graph, &live, replaces)
                || replaces(&code.on_fault) && any_can_fail(&code.graph, &live, self.registry);
            return ensure(!wanted, || "`another` has no source".into());
        };
        let stage = |it: StageId| self.stages.get(it).filter(|_| it < self.id);
        let from = stage(*source).map(|it| &it.code);
        let indexed = matches!(from, Some(Code::Source { entry, .. }) if self.is_indexed(entry));
        let mut last = *source;
        let leads = path.iter().all(|it| {
            let next = stage(*it).filter(|it| it.inputs == [last]);
            last = *it;
            matches!(next.map(|it| &it.code), Some(Code::Transform(it)) if single(it).is_some())
        });
        ensure(indexed && leads && self.stage.inputs == [last], || {
            "`another` does not take the same path".into()
        })
    }
}

fn single(code: &Transform) -> Option<&[ExprId]> {
    match &code.outputs {
        Records::Listed(lists) if lists.len() == 1 => Some(&lists[0]),
        _ => None,
    }
}

/// The nodes that a transform needs.
fn code_live(code: &Transform) -> Vec<bool> {
    let mut roots = code.filters.clone();
    match &code.outputs {
        Records::Listed(lists) => roots.extend(lists.iter().flatten()),
        Records::Counted { count, outputs, .. } => {
            roots.push(*count);
            roots.extend(outputs);
        }
    }
    live(&code.graph, &roots, &[])
}
