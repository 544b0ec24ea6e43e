//! `pack`: records of any length as sequences of one length.

mod fill;
mod fits;

use self::{
    fill::Fill,
    fits::{First, Split, best, first, split},
};
use super::{
    arguments::{named, size, texts, visible, word},
    group::{Blocks, Group, Regroup},
    scalars::element,
};
use crate::prelude::*;
use runtime::{Operator, OperatorCall, Running};
use std::sync::Arc;

operator! {
    /// Fills sequences of exactly `length` elements with the records of a stream, such as token ids of documents.
    ///
    /// `of` is the field that is packed, of any length along its first axis. The new records have that field with
    /// `length` elements, `segment: i32[length]`, which numbers the records in a sequence from 1 (0 is padding),
    /// and `position: i32[length]`, which counts from 0 in each of them: the masks and position ids that keep records in
    /// a sequence apart. Fields in `along`, such as the mask of a loss, must be as long as `of` in every record and are packed with it. Other
    /// fields must be dropped before. `pad: { ids: 50256 }` gives the value of the padding, 0 by default.
    ///
    /// `fit` says how records are put together:
    ///
    /// - `split`: end to end, and cut every `length` elements. A record that continues in the next sequence is a
    ///   new segment there. Nothing is padded but the end of the epoch, which `tail: drop` drops.
    /// - `first`: each record into the first of `bins` open sequences that it fits in; when it fits in none, all
    ///   are returned. No record is cut, and one of more than `length` elements is an error.
    /// - `best`: within each `block` of records, the longest first, each into the sequence with the least space in which it fits
    ///   (best-fit decreasing). Longer records are cut into full sequences and a rest. It pads the least of those
    ///   that keep records whole.
    ///
    /// To count the shares of `mix` in tokens, pack each stream before it: then all records are of one length. The id of a sequence
    /// combines the ids in it. It buffers a sequence (`split`), `bins` sequences, or a `block` of records. `shuffle` without a window cannot follow.
    ///
    /// ```pipe
    /// range(100) |> map { ids: arange(i % 7) } |> pack(ids, length: 16)    # { ids: i64[16], segment: i32[16], position: i32[16] }
    /// ```
    ///
    /// ```pipe
    /// range(100)
    ///     |> map { ids: arange(i % 7), loss: f32(arange(i % 7)) }
    ///     |> pack(ids, length: 16, fit: best, along: loss)    # { ids: i64[16], loss: f32[16], segment: i32[16], position: i32[16] }
    /// ```
    "pack(stream: stream, of: fields, length: int, fit: split | first | best = split, along: fields = none, \
     pad: record = none, bins: int = 64, block: int = 2_048, tail: keep | drop = keep) -> stream",
    // Assumed: a copy of the elements, and two numbers for each of them.
    cost: Cost::out(20.0, 0.1),
    properties: &[Property::Does(Action::Pack)],
    fields: Some(fields),
}

/// The fields that say where each element comes from.
const SEGMENT: &str = "segment";
const POSITION: &str = "position";

/// What the arguments say.
struct Terms {
    length: usize,
    fit: Fit,
    /// Whether the last sequence goes where it is not full.
    drops: bool,
    bins: usize,
    block: usize,
    /// The fields that are packed, the first of which says how long a record is, and what they are padded with.
    packed: Vec<(Field, Vec<u8>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Split,
    First,
    Best,
}

impl Terms {
    fn read(args: &[Arg], fields: &[Field]) -> Result<Self, String> {
        let [of, length, fit, along, pad, bins, block, tail] = args else {
            return Err("`pack` has other arguments".to_owned());
        };
        let number = |arg, name| {
            size(arg, name, 1)?.ok_or_else(|| format!("`{name}` must be known at compile time"))
        };
        let mut names = texts(of);
        let first = names.next().ok_or("`of` must be the field that is packed")?;
        if names.next().is_some() {
            return Err("`of` is one field: name those of the same length in `along`".to_owned());
        }
        let mut packed = Vec::new();
        for name in [first].into_iter().chain(texts(along)) {
            let field = fields.iter().find(|it| it.name == name);
            let field = field.ok_or_else(|| unknown(name, fields))?;
            if packed.iter().any(|it: &(Field, _)| it.0.name == name) {
                return Err(format!("`{name}` is named twice"));
            }
            check_field(field)?;
            let dtype = field.ty.dtype().expect("it was looked at");
            packed.push((field.clone(), vec![0; dtype.size()]));
        }
        for (name, value) in named(pad) {
            let Some(it) = packed.iter_mut().find(|it| it.0.name == name) else {
                return Err(format!("`pad` names `{name}`, which is not packed"));
            };
            it.1 = element(value, &it.0, ("pad", "pack"))?;
        }
        let is_packed = |name: &str| packed.iter().any(|it| it.0.name == name);
        if let Some(other) = visible(fields).iter().find(|it| !is_packed(&it.name)) {
            return Err(format!(
                "`{}` is not packed: drop it before with `map`, or name it in `along` if it is as long as `{first}`",
                other.name
            ));
        }
        if let Some(name) = [SEGMENT, POSITION].into_iter().find(|it| is_packed(it)) {
            return Err(format!(
                "`pack` makes a field `{name}` itself: give this one another name"
            ));
        }
        let fit = match word(fit) {
            "first" => Fit::First,
            "best" => Fit::Best,
            _ => Fit::Split,
        };
        Ok(Self {
            length: number(length, "length")?,
            fit,
            drops: word(tail) == "drop",
            bins: number(bins, "bins")?,
            block: number(block, "block")?,
            packed,
        })
    }

    fn fields(&self) -> Vec<Field> {
        let own = |name: &str| Field {
            name: name.to_owned(),
            ty: Type::tensor(DType::I32, &[self.length as u64]),
        };
        let packed = self.packed.iter().map(|(field, _)| {
            let shape = field.ty.shape().unwrap_or_default();
            let shape = [Extent::Known(self.length as u64)].into_iter().chain(shape[1..].to_vec());
            let dtype = field.ty.dtype().expect("it was looked at");
            Field { ty: Type::Tensor { dtype, shape: shape.collect() }, ..field.clone() }
        });
        packed.chain([own(SEGMENT), own(POSITION)]).collect()
    }
}

fn unknown(name: &str, fields: &[Field]) -> String {
    let all = visible(fields);
    let names: Vec<&str> = all.iter().map(|it| &*it.name).collect();
    let meant = plan::nearest(name, &names).map(|it| format!("; did you mean `{it}`?"));
    format!("there is no field `{name}` to pack{}", meant.unwrap_or_default())
}

/// Refuses what has no elements in a row.
fn check_field(field: &Field) -> Result<(), String> {
    let Field { name, ty } = field;
    let (Some(dtype), Some(shape)) = (ty.dtype(), ty.shape()) else {
        return Err(format!("`{name}` is `{ty}`, which cannot be packed"));
    };
    let known = |it: &Extent| matches!(it, Extent::Known(_));
    match shape {
        _ if dtype.is_text() || ty.is_untyped() => {
            Err(format!("`{name}` is `{ty}`: make numbers of it first, such as token ids"))
        }
        [] => Err(format!("`{name}` is a single `{ty}`, but `pack` needs a first axis")),
        [_, others @ ..] if !others.iter().all(known) => {
            Err(format!("`{name}` is `{ty}`, but all axes except the first must be known"))
        }
        _ => Ok(()),
    }
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Ok(Terms::read(applied.args, &applied.inputs[0])?.fields())
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let terms = Terms::read(call.args, &call.inputs[0]).map_err(Failure::Program)?;
    let fill = Fill::new(&terms, call)?;
    let (of, length, drops) = (fill.of(), terms.length, terms.drops);
    let serial: Box<dyn Operator> = match terms.fit {
        Fit::Split => Box::new(Split::new(call, (of, length), drops)?),
        Fit::First => Box::new(First::new(call, (of, length), terms.bins)?),
        Fit::Best => {
            let groups =
                Regroup::new(Group::new(call), terms.block, terms.block, "a block of `pack`");
            Box::new(Blocks::new(groups))
        }
    };
    let fit = terms.fit;
    let finish = move |chunk: Chunk, _| {
        let lengths = fill.lengths(&chunk)?;
        let sequences = match fit {
            Fit::Split => split(&chunk, &lengths, length),
            Fit::First => first(&chunk, &lengths),
            Fit::Best => best(&lengths, length),
        };
        fill.sequences(&chunk, &sequences)
    };
    Ok(Running { serial, parallel: Some(Arc::new(finish)) })
}

#[cfg(test)]
mod tests;
