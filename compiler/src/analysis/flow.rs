//! What flows through the stages of a program: bytes and time of a record at each.

use super::{
    cost::Prices,
    live::output_roots,
    role::{Role, operator},
    size,
};
use crate::registry::Registry;
use model::{Figure, Origin};
use plan::{
    Arg, Code, Cost, Entry, ExprId, Field, IdVec, RaggedField, Records, Stage, StageId, Transform,
    Type, TypedColumns,
};

/// A record at one stage.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    /// Bytes of each column that leaves it.
    pub(crate) columns: Vec<Figure>,
    /// Records that leave it for each that enters; filters are assumed to keep all.
    pub(crate) makes: f64,
    /// Nanoseconds for each record that enters, or that a source makes.
    pub(crate) ns: f64,
}

impl Flow {
    /// Bytes of a record that leaves, with its id.
    pub(crate) fn bytes(&self) -> Figure {
        self.columns.iter().copied().sum::<Figure>() + Figure::exact(8.0)
    }
}

/// What flows through each of `stages`.
pub(crate) fn flows(stages: &IdVec<StageId, Stage>, registry: &Registry) -> IdVec<StageId, Flow> {
    let mut flows: IdVec<StageId, Flow> = IdVec::new();
    for (_, stage) in stages.iter() {
        let flow = match &stage.code {
            Code::Source { entry, args, .. } => {
                let (columns, ns) = source((entry, args), &stage.columns, registry);
                Flow { columns, makes: 1.0, ns }
            }
            Code::Transform(it) => transform(it, &flows[stage.inputs[0]].columns, registry),
            Code::Operator { entry, args, .. } => {
                let role = operator(entry, args, stage.inputs.len(), registry);
                let inputs: Vec<(&[Field], &[Figure])> = stage
                    .inputs
                    .iter()
                    .map(|&it| (&stages[it].columns[..], &flows[it].columns[..]))
                    .collect();
                let columns = columns_of(role, &stage.columns, &inputs);
                let sum = |all: &[Figure]| all.iter().copied().sum::<Figure>().value;
                let entering = inputs.iter().map(|it| sum(it.1)).sum();
                let sizes = [entering, sum(&columns)];
                Flow {
                    ns: price((entry, role), sizes, registry),
                    columns,
                    makes: 1.0 / taken(role),
                }
            }
        };
        flows.push(flow);
    }
    flows
}

/// Bytes of the columns that leave a source, and nanoseconds for each of its records.
pub(crate) fn source(
    (name, args): (&str, &[Arg]),
    fields: &[Field],
    registry: &Registry,
) -> (Vec<Figure>, f64) {
    let (entry, about) = (registry.source(name), registry.about(name, args));
    let typed = entry.and_then(Entry::typed_columns);
    let found = |it: &Field| about?.field_bytes(&it.name).filter(|_| it.ty.fixed_bytes().is_none());
    let size = |it: &Field| match (found(it), typed) {
        (Some(value), _) => Figure { value, origin: Origin::Measured },
        // Assumed: what the source could read itself it has read.
        (None, Some(typed)) if it.name == typed.rest => Figure::assumed(0.0),
        _ => size::of_type(&it.ty),
    };
    let columns: Vec<Figure> = fields.iter().map(size).collect();
    let bytes: f64 = columns.iter().map(|it| it.value).sum();
    let own = entry.map_or(0.0, |it| it.cost.ns_call + it.cost.ns_byte_out * bytes);
    let reading = typed.map_or(0.0, |it| reading(it, fields, &columns));
    (columns, own + reading)
}

/// Nanoseconds in which a source reads what its untyped field holds, as columns of these sizes.
fn reading(typed: &TypedColumns, fields: &[Field], columns: &[Figure]) -> f64 {
    let is_read =
        |it: &Field| it.name.strip_prefix(typed.field).is_some_and(|it| it.starts_with('/'));
    let read = || fields.iter().zip(columns).filter(|it| is_read(it.0)).map(|it| it.1.value);
    let Cost { ns_call, ns_byte_in, ns_byte_out, .. } = typed.cost;
    match read().count() {
        0 => 0.0,
        n => {
            let record = size::of_type(&Type::Untyped(typed.of)).value;
            ns_call * n as f64 + ns_byte_in * record + ns_byte_out * read().sum::<f64>()
        }
    }
}

fn transform(transform: &Transform, columns: &[Figure], registry: &Registry) -> Flow {
    let mut prices = Prices::new(&transform.graph, columns, registry);
    prices.vector = transform.vector || transform.clean_vector;
    let (columns, makes) = written(&transform.outputs, &prices);
    let roots: Vec<ExprId> =
        transform.filters.iter().copied().chain(output_roots(&transform.outputs)).collect();
    let copies: f64 = output_roots(&transform.outputs).iter().map(|it| prices.copy(*it)).sum();
    Flow { columns, makes, ns: prices.total(&roots) + copies }
}

/// Bytes of the columns that are written, and how many records for each.
pub(crate) fn written(outputs: &Records, prices: &Prices<'_>) -> (Vec<Figure>, f64) {
    let sizes = |all: &[ExprId]| all.iter().map(|it| prices.sizes[*it]).collect();
    match outputs {
        Records::Listed(lists) => {
            let first = lists.first().map_or(Vec::new(), |it| sizes(it));
            (first, lists.len() as f64)
        }
        Records::Counted { count, outputs, .. } => {
            (sizes(outputs), size::turns(prices.graph, *count).value)
        }
    }
}

/// Records that go into one that leaves an operator.
pub(crate) fn taken(role: Role) -> f64 {
    match role {
        Role::Batch { size, .. } => size as f64,
        Role::Windows { hop, .. } => hop as f64,
        Role::Packs { records, .. } => records as f64,
        _ => 1.0,
    }
}

/// Bytes of the columns that leave an operator: those of the inputs' fields of the same name, or of the name that a
/// ragged field of a batch has.
pub(crate) fn columns_of(
    role: Role,
    fields: &[Field],
    inputs: &[(&[Field], &[Figure])],
) -> Vec<Figure> {
    let joined = match role {
        Role::Batch { size, .. } => size as f64,
        Role::Windows { length, .. } => length as f64,
        _ => 1.0,
    };
    let entering = |name: &str| {
        let all = inputs.iter().flat_map(|(fields, sizes)| fields.iter().zip(sizes.iter()));
        let mut same = all.filter(|(it, _)| it.name == name);
        same.next().map(|(_, size)| *size)
    };
    let ragged = RaggedField::all(fields);
    let size = |(at, field): (usize, &Field)| {
        if let Some(bytes) = field.ty.fixed_bytes() {
            return Figure::exact(bytes as f64);
        }
        if let Some(rows) =
            ragged.iter().find(|it| it.values == at).and_then(|it| entering(it.name))
        {
            return rows.times(joined);
        }
        if ragged.iter().any(|it| it.offsets == at && entering(it.name).is_some()) {
            return Figure::exact(8.0 * (joined + 1.0));
        }
        entering(&field.name)
            .or_else(|| entering(field.name.split_once('.')?.1))
            .map_or_else(|| size::of_type(&field.ty), |it| it.times(joined))
    };
    fields.iter().enumerate().map(size).collect()
}

/// Nanoseconds of an operator for each record that enters, by the bytes of a record that enters and
/// of one that leaves.
pub(crate) fn price(
    (entry, role): (&str, Role),
    [entering, leaving]: [f64; 2],
    registry: &Registry,
) -> f64 {
    registry.operator(entry).map_or(0.0, |Entry { cost, .. }| {
        let made = cost.ns_call + cost.ns_byte_out * leaving;
        cost.ns_byte_in * entering + made / taken(role)
    })
}
