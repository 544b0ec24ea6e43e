//! From a program to the nodes that run it.

use super::{
    Options,
    cut::{Cut, Pieces},
    deal::{self, Below, Rank},
    lanes::{self, Lane, Own},
    losses::Losses,
    measured::Measured,
    node::{Class, Fetch, Kind, Limit, Node},
    operate::{Maker, Operating, end_after},
    resume,
    ring::Ring,
    sound,
    stats::Title,
    supply::{Counted, Supply},
    task,
    windowed::{Series, Windowed},
};
use crate::{
    Failure, Interleave, Kept, Kernels, Pool, Source, SourceCall, Wants,
    eval::{ByFile, Compiled, Jit, Name, Spare, Surroundings},
    mix,
};
use plan::{
    Code, FILE, Field, ForeignSource, Index, Lanes, Program, Records, Stage, StageId, Transform,
    Windows,
};
use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

/// Bytes of batches that may wait for the consumer, where there is more than one.
const OUTPUT_BYTES: usize = 16 << 20;
/// Chunks that may wait for the consumer.
const OUTPUT_ITEMS: usize = 64;
/// Sets the draw of the order of spans apart from those of the windows after them: the name's bytes.
const SPANS: u64 = u64::from_le_bytes(*b"spans\0\0\0");

/// The nodes of `program`, each after those that it reads; and which lanes it goes through.
pub(super) fn nodes(
    program: &Program,
    kernels: &dyn Kernels,
    (options, pool): (&Options, &Pool),
) -> Result<(Vec<Node>, Own), Failure> {
    sound::verify(program)?;
    let n_stages = program.stages.len();
    let mut build = Build {
        program,
        kernels,
        options,
        pool: pool.clone(),
        jit: Jit::new(program.jit, &options.prepared),
        sources: vec![None; n_stages],
        windows: vec![None; n_stages],
        compiled: vec![None; n_stages],
        last_nodes: vec![0; n_stages],
        lane: Lane::ONE,
        own: Own::ALL,
        nodes: Vec::new(),
    };
    build.all()?;
    build.finish();
    let Build { mut nodes, last_nodes, own, .. } = build;
    for node in &mut nodes {
        (node.epoch, node.sent) = (options.epochs.start, options.epochs.start);
        node.measured.is_off = !options.measured;
    }
    for stage in &program.once {
        end_after(&mut nodes, last_nodes[stage.row()], options.epochs.start);
    }
    if options.rank.is_shared() {
        deal::deal(&mut nodes, &last_nodes, (program, options.rank, own))?;
    }
    if let Some(position) = &options.resume {
        position.check_own(own)?;
        resume::resume(&mut nodes, &last_nodes, position, &Below::of(program, own))?;
    }
    if options.told_of_losses {
        nodes.iter_mut().for_each(|it| it.losses.untold = Some(Vec::new()));
    }
    Ok((nodes, own))
}

/// What the stages are called.
pub(super) fn titles(program: &Program) -> Vec<Title> {
    let title = |it: &Stage| Title { steps: it.steps.clone(), label: it.label().to_owned() };
    program.stages.rows().iter().map(title).collect()
}

/// The columns of the output, where the last stage has others too, whose names begin with `$`.
pub(super) fn kept_columns(program: &Program) -> Option<Vec<usize>> {
    let columns = &program.stages.rows().last()?.columns;
    let kept: Vec<_> =
        (0..columns.len()).filter(|&it| !columns[it].name.starts_with('$')).collect();
    (kept.len() < columns.len()).then_some(kept)
}

struct Build<'a> {
    program: &'a Program,
    kernels: &'a dyn Kernels,
    options: &'a Options,
    pool: Pool,
    jit: Jit,
    /// By stage.
    sources: Vec<Option<Arc<dyn Source>>>,
    /// By stage.
    windows: Vec<Option<Arc<Windowed>>>,
    /// By stage.
    compiled: Vec<Option<Arc<Compiled>>>,
    /// The node that ends each stage; of lanes, what deals them, or that of the present one.
    last_nodes: Vec<usize>,
    /// The lane that nodes are made for.
    lane: Lane,
    /// Which of the lanes that are dealt to ranks are made.
    own: Own,
    nodes: Vec<Node>,
}

impl Build<'_> {
    fn all(&mut self) -> Result<(), Failure> {
        let program = self.program;
        let mut in_lanes = vec![false; program.stages.len()];
        for lanes in &program.lanes {
            let stages = lanes.stages(&program.stages);
            stages.into_iter().for_each(|it| in_lanes[it.row()] = true);
        }
        for id in program.stages.ids() {
            match program.lanes.iter().find(|it| it.stage == id) {
                Some(lanes) => self.lanes(lanes)?,
                None if in_lanes[id.row()] => {}
                None => self.stage(id)?,
            }
        }
        Ok(())
    }

    /// The nodes of all lanes, one lane after the other, and what deals them.
    fn lanes(&mut self, lanes: &Lanes) -> Result<(), Failure> {
        let mut stages = lanes.stages(&self.program.stages);
        stages.reverse();
        let own = self.own(lanes)?;
        let mut inputs = Vec::with_capacity(lanes.count as usize);
        for lane in own.lanes(lanes.count) {
            self.lane = lane;
            stages.iter().try_for_each(|it| self.stage(*it))?;
            inputs.push(self.nodes.len() - 1);
        }
        self.lane = Lane::ONE;
        let stage = lanes.stage.row();
        let kind = Kind::Operator(self.dealer(lanes, own)?);
        self.push_reading(stage, (Class::Worker, kind), inputs);
        self.nodes.last_mut().expect("it was just made").deals_lanes = true;
        self.last_nodes[stage] = self.nodes.len() - 1;
        Ok(())
    }

    /// Which of some lanes the run needs.
    fn own(&mut self, lanes: &Lanes) -> Result<Own, Failure> {
        let Rank { rank, world, .. } = self.options.rank;
        let Program { stages, deal, .. } = self.program;
        if world == 1 || deal.own.as_ref().is_none_or(|it| it.stage != lanes.stage) {
            return Ok(Own::ALL);
        }
        for source in lanes.sources(stages) {
            let stage = &stages[source];
            let counted = self.counted(source).map_err(|it| task::at(it, stage.label()))?;
            let whole = counted.units()?;
            // A lane without any record is one that ends.
            if whole < u64::from(lanes.count) {
                return Ok(Own::ALL);
            }
        }
        self.own = Own::of((rank, world), lanes.count);
        Ok(self.own)
    }

    /// What deals those of the lanes.
    fn dealer(&self, lanes: &Lanes, own: Own) -> Result<Operating, Failure> {
        let columns = self.program.stages[lanes.stage].columns.clone();
        let take = deal::own_lanes(self.program, own).and_then(|it| it.take);
        let args = lanes::args(lanes.rows, (own, lanes.count), take);
        let maker = Maker {
            build: lanes::build,
            args,
            names: Vec::new(),
            inputs: vec![columns.clone(); own.lanes(lanes.count).count()],
            columns,
            key: 0,
            resume: None,
            memory: self.options.memory,
            rows: 1,
            pool: self.pool.clone(),
            holds: 0,
            finishes_apart: false,
            ends_again: true,
            kept: Kept::default(),
            once: Vec::new(),
            by_file: Vec::new(),
            filling: Arc::default(),
        };
        Ok(operating(maker))
    }

    fn stage(&mut self, id: StageId) -> Result<(), Failure> {
        let stage = &self.program.stages[id];
        self.nodes_of(id.row(), stage).map_err(|it| task::at(it, stage.label()))?;
        self.last_nodes[id.row()] = self.nodes.len() - 1;
        Ok(())
    }

    fn nodes_of(&mut self, id: usize, stage: &Stage) -> Result<(), Failure> {
        match &stage.code {
            Code::Source { .. } => {
                let counted = self.counted(StageId::new(id))?;
                let class = if counted.source.waits() { Class::Reader } else { Class::Worker };
                let kind = self.supply(id, stage, counted)?;
                let finds = matches!(&kind, Kind::Stream { supply, .. } if supply.finds);
                self.push(id, class, kind);
                if finds {
                    self.push_finish(id);
                }
            }
            Code::Transform(transform) => {
                let class = if transform.reads { Class::Reader } else { Class::Worker };
                let kind = self.transform(id, stage, transform)?;
                self.push(id, class, kind);
            }
            Code::Operator { .. } => {
                let (operating, finishes_apart) = self.operator(stage)?;
                self.push(id, Class::Worker, Kind::Operator(operating));
                if finishes_apart {
                    self.push_finish(id);
                }
            }
        }
        Ok(())
    }

    fn rows(&self, stage: &Stage) -> usize {
        self.options.chunk_rows.unwrap_or(stage.rows as usize).max(1)
    }

    fn source(&self, stage: &Stage) -> Result<Arc<dyn Source>, Failure> {
        let Code::Source { entry, args, place, .. } = &stage.code else {
            unreachable!("the stage is a source")
        };
        let make = self.kernels.source(entry).ok_or_else(|| unknown("source", entry))?;
        let (columns, names_files) = match stage.columns.split_last() {
            Some((last, own)) if last.name == FILE => (own, true),
            _ => (&stage.columns[..], false),
        };
        let call = SourceCall { args, columns, place: *place };
        let mut source = match (ForeignSource::of(entry, args), self.kernels.outside()) {
            (Some(which), Some(outside)) => outside.source(&which, &call),
            _ => make(&call),
        }?;
        if names_files && !Arc::get_mut(&mut source).is_some_and(|it| it.name_files()) {
            let why = format!("the program is damaged: `{entry}` does not name files");
            return Err(Failure::Program(why));
        }
        Ok(source)
    }

    /// The source of a stage, which is made once: lanes share it, and those beside it ask it how much it has.
    fn counted(&mut self, id: StageId) -> Result<Counted, Failure> {
        let stage = &self.program.stages[id];
        let Code::Source { skip, take, windows, .. } = &stage.code else {
            let why = "the program is damaged: a stage is not a source";
            return Err(Failure::Program(why.to_owned()));
        };
        let source = match &self.sources[id.row()] {
            Some(source) => source.clone(),
            None => self.source(stage)?,
        };
        self.sources[id.row()] = Some(source.clone());
        if let (Some(windows), None) = (windows, &self.windows[id.row()]) {
            self.windows[id.row()] = Some(Arc::new(self.windowed(stage, windows)?));
        }
        let (label, windows) = (stage.label().to_owned(), self.windows[id.row()].clone());
        Ok(Counted { label, source, skip: *skip, take: *take, windows })
    }

    fn windowed(&self, stage: &Stage, windows: &Windows) -> Result<Windowed, Failure> {
        let Windows { length, hop, shuffles, series } = windows;
        if *length == 0 || *hop == 0 {
            let why = "the program is damaged: a window has no records";
            return Err(Failure::Program(why.to_owned()));
        }
        let series = series.as_ref().map(|it| self.series(stage, it)).transpose()?;
        let shuffles = shuffles.iter().map(|it| mix(self.options.seed, *it)).collect();
        Ok(Windowed { length: *length, hop: *hop, shuffles, series })
    }

    /// How series are told apart: the source is read once more for it, with the columns that the key needs.
    fn series(&self, stage: &Stage, series: &plan::Series) -> Result<Series, Failure> {
        let plan::Series { columns, transform, key } = series;
        let read = Stage { columns: columns.clone(), ..stage.clone() };
        let keyed = Stage { columns: vec![key.clone()], ..stage.clone() };
        let around = self.around();
        Ok(Series {
            source: self.source(&read)?,
            columns: columns.clone(),
            key: Arc::new(Compiled::new(&keyed, transform, None, &around)?),
            memory: self.options.memory,
            pool: self.pool.clone(),
            begins: OnceLock::new(),
        })
    }

    /// The sources that must have as many records as the one of a stage, it among them.
    fn beside(&mut self, id: usize) -> Result<Arc<[Counted]>, Failure> {
        let program = self.program;
        let all = program.beside.iter().find(|it| it.iter().any(|it| it.row() == id));
        let all = all.map_or(&[][..], |it| &it[..]);
        all.iter().map(|it| self.counted(*it)).collect()
    }

    fn supply(&mut self, id: usize, stage: &Stage, counted: Counted) -> Result<Kind, Failure> {
        let Code::Source { shuffles, spans, skip, take, laps, .. } = &stage.code else {
            unreachable!("the stage is a source")
        };
        let Counted { source, windows, .. } = counted;
        let beside = self.beside(id)?;
        let is_whole = self.lane == Lane::ONE && windows.is_none();
        let is_streamed =
            is_whole && shuffles.is_empty() && (spans.is_some() || !source.is_fetched_in_order());
        let stream = source.stream().filter(|_| is_streamed);
        let in_order = stream.is_some();
        let spans = spans.map(|it| Interleave {
            key: mix(mix(self.options.seed, it.place), SPANS),
            open: it.open as usize,
        });
        // Spans in turn are another stream, which may find its records or not.
        let stream = match spans {
            Some(order) => stream.and_then(|_| source.interleaved(order)),
            None => stream,
        };
        let supply = Arc::new(Supply {
            source,
            columns: stage.columns.clone(),
            shuffles: shuffles.iter().map(|it| mix(self.options.seed, *it)).collect(),
            spans,
            skip: *skip,
            take: *take,
            laps: *laps,
            windows,
            beside,
            lane: self.lane,
            rows: self.rows(stage),
            finds: stream.is_some_and(|it| it.finds()),
            pool: self.pool.clone(),
        });
        Ok(match in_order {
            true => Kind::Stream { supply, cursor: None },
            false => Kind::Fetch(Fetch { supply, pass: None, given: 0, deal: None }),
        })
    }

    fn transform(
        &mut self,
        id: usize,
        stage: &Stage,
        transform: &Transform,
    ) -> Result<Kind, Failure> {
        let compiled = match &self.compiled[id] {
            Some(compiled) => compiled.clone(),
            None => self.compiled(id, stage, transform)?,
        };
        self.compiled[id] = Some(compiled.clone());
        let cut = match transform.into_batch {
            None => None,
            Some(rows) => {
                let rows = (rows, self.rows(stage));
                let cut = Cut::new(rows, &stage.columns, self.options.memory, &self.pool);
                let why = "a batch is too large, or has columns of unknown size";
                Some(cut.ok_or_else(|| Failure::Program(why.into()))?)
            }
        };
        let single = matches!(&transform.outputs, Records::Listed(lists) if lists.len() == 1);
        let pieces = Pieces::default();
        Ok(Kind::Transform { compiled, pieces, cut, single })
    }

    fn compiled(
        &self,
        id: usize,
        stage: &Stage,
        transform: &Transform,
    ) -> Result<Arc<Compiled>, Failure> {
        let spare = self.spare(id, transform)?;
        Compiled::new(stage, transform, spare, &self.around()).map(Arc::new)
    }

    fn around(&self) -> Surroundings<'_> {
        Surroundings {
            kernels: self.kernels,
            seed: self.options.seed,
            pool: &self.pool,
            sources: &self.sources,
            is_measured: self.options.measured,
            jit: &self.jit,
        }
    }

    /// Where records come from that replace faulty ones.
    fn spare(&self, id: usize, transform: &Transform) -> Result<Option<Spare>, Failure> {
        let Some((from, through)) = transform.another.split_first() else { return Ok(None) };
        let damaged = || Failure::Program("the program is damaged: `another` has no source".into());
        let stage = self.program.stages.get(*from).ok_or_else(damaged)?;
        let source = self.sources[from.row()].clone().ok_or_else(damaged)?;
        let Code::Source { skip, take, .. } = &stage.code else { return Err(damaged()) };
        let rest = source.len()?.saturating_sub(*skip);
        let through = through.iter().filter(|it| it.row() != id);
        let chain = through.map(|it| self.compiled.get(it.row()).cloned().flatten());
        Ok(Some(Spare {
            source,
            first: *skip,
            len: take.map_or(rest, |it| it.min(rest)),
            columns: stage.columns.clone(),
            chain: chain.collect::<Option<_>>().ok_or_else(damaged)?,
        }))
    }

    /// The records of a stage file by file, where it is a source with transforms behind it, and runs once.
    fn by_file(&self, stage: StageId) -> Option<Arc<ByFile>> {
        self.program.once.contains(&stage).then_some(())?;
        let (mut at, mut chain) = (stage, Vec::new());
        while let Stage { code: Code::Transform(_), inputs, .. } = &self.program.stages[at] {
            chain.push(self.compiled[at.row()].clone()?);
            at = *inputs.first()?;
        }
        chain.reverse();
        let (source, pool) = (self.sources[at.row()].clone()?, self.pool.clone());
        let columns = self.program.stages[at].columns.clone();
        Some(Arc::new(ByFile { source, columns, chain, pool }))
    }

    fn operator(&self, stage: &Stage) -> Result<(Operating, bool), Failure> {
        let Code::Operator { entry, args, names, place } = &stage.code else {
            unreachable!("the stage is an operator")
        };
        let build = self.kernels.operator(entry).ok_or_else(|| unknown("operator", entry))?;
        let columns_of = |it: &plan::StageId| self.program.stages[*it].columns.clone();
        let mut maker = Maker {
            build,
            args: args.clone(),
            names: names.clone(),
            inputs: stage.inputs.iter().map(columns_of).collect(),
            columns: stage.columns.clone(),
            key: lanes::key(mix(self.options.seed, *place), self.lane),
            resume: None,
            memory: self.options.memory,
            rows: self.rows(stage),
            pool: self.pool.clone(),
            holds: 0,
            finishes_apart: true,
            ends_again: false,
            kept: Kept::default(),
            once: stage.inputs.iter().map(|it| self.program.once.contains(it)).collect(),
            by_file: stage.inputs.iter().map(|it| self.by_file(*it)).collect(),
            filling: Arc::default(),
        };
        // Made once before the run, so that what it refuses is said now.
        let first = maker.open(self.options.epochs.start)?;
        maker.finishes_apart = first.has_finish();
        maker.holds = first.holds();
        let finishes_apart = maker.finishes_apart;
        Ok((operating(maker), finishes_apart))
    }

    /// What the node that was just made leaves to do in any order.
    fn push_finish(&mut self, stage: usize) {
        self.nodes.last_mut().expect("it was just made").is_last = false;
        self.push(stage, Class::Worker, Kind::Finish);
    }

    fn push(&mut self, stage: usize, class: Class, kind: Kind) {
        let inputs = &self.program.stages.rows()[stage].inputs;
        let inputs = match kind {
            Kind::Finish => vec![self.nodes.len() - 1],
            _ => inputs.iter().map(|it| self.last_nodes[it.row()]).collect(),
        };
        self.push_reading(stage, (class, kind), inputs);
    }

    /// A node of a stage, which reads these nodes.
    fn push_reading(&mut self, stage: usize, (class, kind): (Class, Kind), inputs: Vec<usize>) {
        let of = &self.program.stages.rows()[stage];
        let mut sources: Vec<usize> =
            inputs.iter().flat_map(|&it| self.nodes[it].sources.iter().copied()).collect();
        if matches!(kind, Kind::Fetch(_) | Kind::Stream { .. }) {
            sources.push(self.nodes.len());
        }
        let limit = self.limit(stage, &of.columns);
        self.nodes.push(Node {
            stage,
            lane: self.lane,
            name: Name::of(of),
            columns: of.columns.clone().into(),
            is_last: true,
            deals_lanes: false,
            kind,
            class,
            inputs,
            below: Vec::new(),
            sources,
            limit,
            epoch: 0,
            end: self.options.epochs.end,
            is_busy: false,
            is_stuck: false,
            ring: Ring::default(),
            out: VecDeque::new(),
            out_bytes: 0,
            sent: 0,
            deal: None,
            drop: 0,
            since: None,
            losses: Losses::default(),
            barren: 0,
            measured: Measured::default(),
        });
    }

    fn limit(&self, stage: usize, columns: &[Field]) -> Limit {
        let row_bytes: Option<usize> = columns.iter().map(|it| it.ty.fixed_bytes()).sum();
        let code = &self.program.stages.rows()[stage].code;
        // What is outside is called by as many threads as can call it: others would only wait for it.
        let is_outside = matches!(code, Code::Transform(it) if it.foreign);
        let outside = self.kernels.outside().filter(|_| is_outside);
        let most = outside.map_or(usize::MAX, |it| it.processes().max(1));
        let most = self.sources[stage].as_ref().map_or(most, |it| it.threads());
        let cap = self.options.caps.get(&stage).map_or(usize::MAX, |it| (*it).max(1));
        let rows = self.rows(&self.program.stages.rows()[stage]);
        Limit {
            items: 0,
            bytes: 0,
            chunk_bytes: row_bytes.map(|it| (it + 8).saturating_mul(rows)),
            rows,
            is_fixed: self.options.chunk_rows.is_some(),
            threads: most.min(cap),
            workers: self.options.workers.max(1),
            readers: self.options.readers.max(1),
        }
    }

    /// Says who stands below whom, and shares the memory out.
    fn finish(&mut self) {
        let root = self.nodes.len() - 1;
        for id in (0..=root).rev() {
            let mut below = self.nodes[id].below.clone();
            below.push(id);
            for input in self.nodes[id].inputs.clone() {
                self.nodes[input].below = below.clone();
            }
        }
        // Half is for what waits; the rest for batches, for operators, for what is being written.
        // The lanes of a stage are as one.
        let n_shares = self.nodes.iter().filter(|it| it.lane.is_first()).count();
        let share = usize::try_from(self.options.memory / 2).unwrap_or(usize::MAX) / n_shares;
        for node in &mut self.nodes {
            node.limit.bytes = share / node.lane.turns as usize;
            if matches!(node.kind, Kind::Transform { cut: Some(_), .. }) {
                // Direct batches are bounded by their number, and so are the pieces of them.
                (node.limit.bytes, node.limit.items) = (usize::MAX, usize::MAX);
            }
        }
        let output = &mut self.nodes[root].limit;
        output.items = output.items.max(OUTPUT_ITEMS);
        if self.program.batched {
            output.bytes = output.bytes.min(OUTPUT_BYTES);
        }
    }
}

/// An operator that is not made yet.
fn operating(maker: Maker) -> Operating {
    let ended = vec![false; maker.inputs.len()];
    let failures = vec![None; ended.len()];
    Operating { maker: Arc::new(maker), opened: None, wants: Wants::Nothing, ended, failures }
}

fn unknown(what: &str, name: &str) -> Failure {
    Failure::Program(format!("this build does not have the {what} `{name}`"))
}
