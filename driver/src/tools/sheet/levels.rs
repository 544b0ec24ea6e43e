//! How the numbers of a picture become levels from 0 to 255: where the program has normalised them,
//! by undoing what it did.

use plan::{DType, Expr, ExprId, Op, OpId, OpKind, Plan, Property, Records};
use runtime::Tensor;
use std::collections::HashSet;

/// The share of the numbers of a picture that may lie beyond black and white once its normalisation
/// is undone. Where it is more, something else has happened to them since.
const BEYOND_MAX: f64 = 0.1;
/// How far beyond, in levels: rounding and interpolation go a little over.
const BEYOND: f64 = 8.0;

/// What is known of a field's numbers before they are looked at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Levels {
    undo: Option<Normalised>,
}

/// `x * scale + bias` by channel, of elements of a dtype.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Normalised {
    channels: Vec<(f64, f64)>,
    dtype: DType,
}

/// How the numbers of one picture are read: `(x - bias) * factor`, by channel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    channels: Vec<(f64, f64)>,
}

impl Levels {
    /// Of a field that has been normalised so, or not at all.
    pub(super) fn after(undo: Option<Normalised>) -> Self {
        Self { undo }
    }

    /// How the numbers of `image`, channels last, are read. Floats that nothing is known of are
    /// taken as they are where they lie in 0..1 or in 0..255, else from the least to the most.
    pub(super) fn read(&self, image: &Tensor<'_>) -> Reading {
        if image.dtype() == DType::U8 {
            return Reading { channels: vec![(0.0, 1.0)] };
        }
        let undone = self.undo.as_ref().filter(|_| image.dtype().is_float());
        if let Some(reading) = undone.and_then(|it| it.undo(image)) {
            return reading;
        }
        let (least, most) = range(image);
        let reading = match most - least {
            _ if image.dtype().is_float() && least >= 0.0 && most <= 1.0 => (0.0, 255.0),
            _ if image.dtype().is_float() && least >= 0.0 && most > 2.0 && most <= 255.0 => {
                (0.0, 1.0)
            }
            span if span > 0.0 => (least, 255.0 / span),
            _ => (least, 0.0),
        };
        Reading { channels: vec![reading] }
    }
}

impl Normalised {
    /// How numbers are read so that they are levels again; none where they are not.
    fn undo(&self, image: &Tensor<'_>) -> Option<Reading> {
        let reading = |unit: f64| {
            let channel = |(scale, bias): &(f64, f64)| (*bias, unit / scale);
            Reading { channels: self.channels.iter().map(channel).collect() }
        };
        let units = match self.dtype {
            DType::U8 => vec![1.0],
            DType::U16 => vec![255.0 / 65_535.0],
            // Of floats it is not said whether white was 1 or 255.
            _ => vec![255.0, 1.0],
        };
        units.into_iter().map(reading).find(|it| {
            let (mut beyond, mut n) = (0_u64, 0_u64);
            each_number(image, &mut |channel, number| {
                n += 1;
                beyond += u64::from(!(-BEYOND..=255.0 + BEYOND).contains(&it.raw(channel, number)));
            });
            beyond as f64 <= BEYOND_MAX * n as f64
        })
    }
}

impl Reading {
    /// The level of a number of a channel.
    pub(super) fn level(&self, channel: usize, number: f64) -> f64 {
        let level = self.raw(channel, number);
        // What is no number is black.
        if level.is_nan() { 0.0 } else { level.clamp(0.0, 255.0) }
    }

    fn raw(&self, channel: usize, number: f64) -> f64 {
        let (bias, factor) = self.channels[channel.min(self.channels.len() - 1)];
        (number - bias) * factor
    }
}

/// The least and the most of the numbers that are finite.
fn range(image: &Tensor<'_>) -> (f64, f64) {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    each_number(image, &mut |_, it| {
        if it.is_finite() {
            (least, most) = (least.min(it), most.max(it));
        }
    });
    if least > most { (0.0, 0.0) } else { (least, most) }
}

fn each_number(image: &Tensor<'_>, visit: &mut dyn FnMut(usize, f64)) {
    for y in 0..image.shape()[0] {
        let row = image.element(y);
        for x in 0..row.shape()[0] {
            let pixel = row.element(x);
            (0..pixel.elements()).for_each(|it| visit(it, pixel.element(it).number()));
        }
    }
}

/// How field number `field` of what leaves `op` was normalised last; none where it was not.
pub(super) fn normalised(plan: &Plan, op: OpId, field: usize) -> Option<Normalised> {
    let mut seen = HashSet::new();
    let mut todo = origins(plan, op, field);
    // Each value is visited once, so this ends.
    while let Some((op, value)) = todo.pop() {
        if !seen.insert((op, value)) {
            continue;
        }
        let at = &plan.ops[op];
        match at.graph.expr(value) {
            Expr::Column(column) => {
                let input = at.inputs.first();
                todo.extend(input.into_iter().flat_map(|it| origins(plan, *it, *column as usize)));
            }
            expr => {
                if let Some(found) = affine(at, expr) {
                    return Some(found);
                }
                let mut needs = Vec::new();
                expr.needs(|it| needs.push((op, it)));
                // The first argument is what a function works on.
                todo.extend(needs.into_iter().rev());
            }
        }
    }
    None
}

/// The expressions that a field of what leaves `op` comes from.
fn origins(plan: &Plan, op: OpId, field: usize) -> Vec<(OpId, ExprId)> {
    let at = &plan.ops[op];
    let of = |outputs: &[ExprId]| outputs.get(field).map(|it| (op, *it)).into_iter().collect();
    match &at.kind {
        OpKind::Map { outputs } | OpKind::FlatMap { records: Records::Counted { outputs, .. } } => {
            of(outputs)
        }
        OpKind::FlatMap { records: Records::Listed(lists) } => {
            lists.first().map_or_else(Vec::new, |it| of(it))
        }
        OpKind::Source { .. } => Vec::new(),
        OpKind::Where { .. } | OpKind::Operator { .. } => {
            let Some(field) = at.output.get(field) else { return Vec::new() };
            at.inputs.iter().flat_map(|it| named(plan, *it, &field.name)).collect()
        }
    }
}

/// Where a field of that name comes from; `zip` calls `image` of its stream `a` `a.image`.
fn named(plan: &Plan, input: OpId, name: &str) -> Vec<(OpId, ExprId)> {
    let fields = &plan.ops[input].output;
    let is = |name: &str| fields.iter().position(|it| it.name == name);
    let within = || name.split_once('.').and_then(|(_, rest)| is(rest));
    is(name).or_else(within).map_or_else(Vec::new, |it| origins(plan, input, it))
}

fn affine(op: &Op, expr: &Expr) -> Option<Normalised> {
    let Expr::Call { function, args, .. } = expr else { return None };
    let entry = stdlib::library().function(function)?;
    let affine = entry.properties.iter().find_map(|it| match it {
        Property::Affine(it) => Some(*it),
        _ => None,
    })?;
    let mut needs = Vec::new();
    expr.needs(|it| needs.push(it));
    let dtype = op.graph.ty(*needs.first()?).dtype()?;
    let channels = (affine.read)(args, dtype)?;
    channels.iter().all(|it| it.0 != 0.0).then_some(Normalised { channels, dtype })
}
