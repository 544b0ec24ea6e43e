//! What is known of the records that leave each stage: how many there are, and what of them is
//! another in the next epoch.
//!
//! Chance goes on: what is computed of a value that was drawn is drawn too, and a batch of records
//! in a drawn order holds others in each epoch.

use crate::{
    analysis::{
        flow::{Flow, taken},
        live::live,
        role::{Role, draws_order, operator},
    },
    ast::EffectKind,
    registry::Registry,
};
use plan::{
    Arg, Code, Expr, ExprId, Graph, IdVec, Index, Measured, Property, Records, Stage, StageId,
    Transform, called, companion,
};

/// Why something is not the same in each epoch, if it is not.
type Why = Option<String>;

/// The records that leave a stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// Why each column varies.
    pub(super) columns: Vec<Why>,
    /// Why the records come in another order, or others in their place.
    order: Why,
    /// The sources that they come from, with how many there are for each record of one.
    pub(super) sources: Vec<(StageId, f64)>,
    /// How many there are at the most, whatever the sources have.
    pub(super) most: Option<f64>,
}

/// What is known of the stages of a program.
pub(super) struct Known<'a> {
    pub(super) stages: &'a IdVec<StageId, Stage>,
    pub(super) flows: &'a IdVec<StageId, Flow>,
    pub(super) registry: &'a Registry,
    pub(super) measured: Option<&'a Measured>,
}

impl Known<'_> {
    /// The records that leave each stage.
    pub(super) fn streams(&self) -> IdVec<StageId, Stream> {
        let mut streams: IdVec<StageId, Stream> = IdVec::new();
        for (id, stage) in self.stages.iter() {
            let stream = match &stage.code {
                Code::Source { entry, shuffles, spans, windows, .. } => {
                    let drawn = !shuffles.is_empty() || spans.is_some() || windows.is_some();
                    let entry = self.registry.source(entry);
                    // Nobody knows whether it gives the same again.
                    let outside = entry.is_some_and(|it| it.has(Property::CallsOut));
                    let why = outside.then(|| "the source is read in Python".to_owned());
                    Stream { columns: vec![why; stage.columns.len()], ..source(id, stage, drawn) }
                }
                Code::Transform(it) => self.transform(it, (id, &streams[stage.inputs[0]])),
                Code::Operator { entry, args, .. } => {
                    let inputs: Vec<&Stream> =
                        stage.inputs.iter().map(|it| &streams[*it]).collect();
                    self.operator(stage, (entry, args), &inputs)
                }
            };
            streams.push(stream);
        }
        streams
    }

    fn transform(&self, code: &Transform, (id, input): (StageId, &Stream)) -> Stream {
        let varies = |ids: &[ExprId]| drawn(&code.graph, ids, (&input.columns, self.registry));
        let (columns, others) = match &code.outputs {
            Records::Listed(lists) => {
                let width = lists.first().map_or(0, Vec::len);
                let of = |at: usize| lists.iter().map(|it| it[at]).collect::<Vec<_>>();
                ((0..width).map(|it| varies(&of(it))).collect(), None)
            }
            Records::Counted { count, outputs, .. } => {
                (outputs.iter().map(|it| varies(&[*it])).collect(), varies(&[*count]))
            }
        };
        let kept = varies(&code.filters);
        // Where others go in each epoch, all come in time.
        let makes = if kept.is_some() { self.flows[id].makes } else { self.makes(id) };
        input.scaled(makes).with(columns, input.order.clone().or(kept).or(others))
    }

    fn operator(&self, stage: &Stage, (entry, args): (&str, &[Arg]), inputs: &[&Stream]) -> Stream {
        let role = operator(entry, args, inputs.len(), self.registry);
        let drawn = |it: &Arg| match it {
            Arg::Column(at) => inputs.iter().find_map(|it| it.columns.get(*at as usize)?.clone()),
            _ => None,
        };
        let orders = inputs.iter().find_map(|it| it.order.clone()).or(args.iter().find_map(drawn));
        let anew = || format!("`{entry}` changes the order in every epoch");
        let order = orders.or_else(|| draws_order(entry, self.registry).then(anew));
        let joins = matches!(role, Role::Batch { .. } | Role::Windows { .. });
        let together = order.clone().filter(|_| joins);
        let accompanies = matches!(role, Role::Accompany(_));
        let of_another = |name: &str| {
            let is_another = accompanies && companion(name).is_some();
            is_another.then(|| format!("`{entry}` draws other records in every epoch"))
        };
        let columns = stage.columns.iter().map(|it| {
            let own = self.of_name(&it.name, stage, inputs);
            own.or_else(|| together.clone()).or_else(|| of_another(&it.name))
        });
        let columns = columns.collect();
        counted(role, inputs).with(columns, order)
    }

    /// Why the column of that name varies in the input that has it; of a column that none has,
    /// why any does.
    fn of_name(&self, name: &str, stage: &Stage, inputs: &[&Stream]) -> Why {
        let bare = name.split_once('.').map(|it| it.1);
        let named = |name: &str| {
            let mut all = stage.inputs.iter().zip(inputs);
            all.find_map(|(id, stream)| {
                let at = self.stages[*id].columns.iter().position(|it| it.name == name)?;
                Some(stream.columns.get(at).cloned().flatten())
            })
        };
        let any = || inputs.iter().flat_map(|it| &it.columns).find_map(Clone::clone);
        named(name).or_else(|| named(bare?)).unwrap_or_else(any)
    }

    /// Records that leave a transform for each that enters.
    fn makes(&self, id: StageId) -> f64 {
        let measured = self.measured.and_then(|it| it.stages.get(id.row()));
        match measured.filter(|it| it.entered > 0) {
            Some(it) => it.left as f64 / it.entered as f64,
            None => self.flows[id].makes,
        }
    }
}

impl Stream {
    fn scaled(&self, times: f64) -> Self {
        let sources = self.sources.iter().map(|it| (it.0, it.1 * times)).collect();
        Self { sources, most: self.most.map(|it| it * times), ..Self::default() }
    }

    fn with(self, columns: Vec<Why>, order: Why) -> Self {
        Self { columns, order, ..self }
    }
}

fn source(id: StageId, stage: &Stage, is_shuffled: bool) -> Stream {
    let order = is_shuffled.then(|| "`shuffle` changes the order in every epoch".to_owned());
    let columns = vec![None; stage.columns.len()];
    Stream { columns, order, sources: vec![(id, 1.0)], most: None }
}

/// How many records leave an operator.
fn counted(role: Role, inputs: &[&Stream]) -> Stream {
    // As many as the first stream has.
    let inputs = if matches!(role, Role::Join { .. }) { &inputs[..1] } else { inputs };
    let times = match role {
        // All have the same number: anything else ends the run.
        Role::Zip => 1.0 / inputs.len().max(1) as f64,
        _ => 1.0 / taken(role).max(1.0),
    };
    let all = inputs.iter().flat_map(|it| it.scaled(times).sources).collect();
    let mosts = inputs.iter().map(|it| it.most.map(|it| it * times));
    let most = match role {
        // In a drawn order they are others in each epoch, and all come in time.
        Role::Take(n) if inputs.iter().all(|it| it.order.is_none()) => {
            let before = inputs.first().and_then(|it| it.most).unwrap_or(f64::INFINITY);
            Some(before.min(n as f64))
        }
        _ => mosts.sum(),
    };
    Stream { sources: all, most, ..Stream::default() }
}

/// Why one of these values is not the same in each epoch, by the columns that it is made of.
pub(super) fn drawn(
    graph: &Graph,
    roots: &[ExprId],
    (columns, registry): (&[Why], &Registry),
) -> Why {
    let live = live(graph, roots, &[]);
    let mut nodes = graph.iter().filter(|(id, ..)| live[id.row()]);
    nodes.find_map(|(_, expr, _)| match expr {
        Expr::Call { function, args, draw: Some(_) } if registry.calls_out(expr) => {
            let name = called(function, args);
            Some(format!("`{name}` is not declared `pure`: it is called again in every epoch"))
        }
        Expr::Call { function, draw, .. }
            if draw.is_some() || registry.has_effect(function, EffectKind::Random) =>
        {
            Some(format!("`{function}` draws again in every epoch"))
        }
        Expr::Epoch => Some("it depends on the epoch".to_owned()),
        Expr::Column(at) => columns.get(*at as usize).cloned().flatten(),
        _ => None,
    })
}
