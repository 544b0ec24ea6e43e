//! `pack`: records of any length as sequences of one length.

mod fill;
mod fits;

use self::{
    fill::Fill,
    fits::{First, Split, best, best_of_several, first, split},
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
    /// fields must be dropped before. `pad: { ids: 50256 }` gives the value of the padding, 0 by default. A record without
    /// elements is left out.
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
    /// Several fields, such as the source and the target of a translation, are packed together: `of: [source, target]`, or
    /// `{ source, target }`. A sequence then has a length for each of them (`length: { source: 256, target: 128 }`, or
    /// one number for all), a record goes only where all its fields fit, and the numbers have the names of
    /// their fields: `source_segment`, `source_position`, `target_segment`, `target_position`. A record has the same
    /// segment in all fields, so that attention from one to the other can be masked with them. No record is cut: `split` is refused,
    /// and a record of which a field is too long is an error with `best` too. There, the size of a record is the largest share that
    /// one of its fields takes of its length, how full a sequence is likewise, and each record goes into the
    /// fullest sequence in which it fits.
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
    ///
    /// ```pipe
    /// range(100)
    ///     |> map { source: arange(i % 7), target: arange(i % 5) }
    ///     |> pack([source, target], length: { source: 16, target: 12 }, fit: first)
    ///     |> map { target, target_segment }    # { target: i64[12], target_segment: i32[12] }
    /// ```
    "pack(stream: stream, of: fields, length: lengths, fit: split | first | best = split, along: fields = none, \
     pad: record = none, bins: int = 64, block: int = 2_048, tail: keep | drop = keep) -> stream",
    // Assumed: a copy of the elements, and two numbers for each of them.
    cost: Cost::out(20.0, 0.1),
    properties: &[Property::Does(Action::Pack)],
    fields: Some(fields),
}

/// What the arguments say.
struct Terms {
    fit: Fit,
    /// Whether the last sequence goes where it is not full.
    drops: bool,
    bins: usize,
    block: usize,
    /// One for each field of `of`.
    parts: Vec<Part>,
}

/// A field that is packed, and those that go along with it.
struct Part {
    /// Elements of a sequence.
    length: usize,
    /// The first of them says how long a record is; each with what it is padded with.
    packed: Vec<(Field, Vec<u8>)>,
    /// The names of the fields that say where each element comes from.
    segment: String,
    position: String,
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
        let fit = match word(fit) {
            "first" => Fit::First,
            "best" => Fit::Best,
            _ => Fit::Split,
        };
        let mut terms = Self {
            fit,
            drops: word(tail) == "drop",
            bins: number(bins, "bins")?,
            block: number(block, "block")?,
            parts: parts(texts(of).collect(), length, fields)?,
        };
        terms.check_several(along)?;
        for name in texts(along) {
            let beside = packed(name, fields)?;
            terms.parts[0].packed.push(beside);
        }
        terms.check_names(fields)?;
        for (name, value) in named(pad) {
            let mut all = terms.parts.iter_mut().flat_map(|it| &mut it.packed);
            let Some(it) = all.find(|it| it.0.name == name) else {
                return Err(format!("`pad` names `{name}`, which is not packed"));
            };
            it.1 = element(value, &it.0, ("pad", "pack"))?;
        }
        Ok(terms)
    }

    /// Refuses what would not keep several fields of a record together.
    fn check_several(&self, along: &Arg) -> Result<(), String> {
        let [first, second, ..] = &self.parts[..] else { return Ok(()) };
        let (first, second) = (first.name(), second.name());
        if let Some(name) = texts(along).next() {
            return Err(format!(
                "`along` goes with one field, but several are packed: name `{name}` among them, \
                 `[{first}, {second}, {name}]`, with the length of the field that it is as long as"
            ));
        }
        match self.fit {
            Fit::Split => Err(format!(
                "`fit: split` cuts records, so `{first}` and `{second}` of one record would not stay \
                 together: write `fit: first` or `fit: best`"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses fields that are packed twice or not at all, and those whose names `pack` gives itself.
    fn check_names(&self, fields: &[Field]) -> Result<(), String> {
        let names: Vec<&str> = self.packed().map(|it| &*it.0.name).collect();
        if let Some(at) = (1..names.len()).find(|it| names[..*it].contains(&names[*it])) {
            return Err(format!("`{}` is named twice", names[at]));
        }
        if let Some(other) = visible(fields).iter().find(|it| !names.contains(&&*it.name)) {
            return Err(format!(
                "`{}` is not packed: drop it before with `map`, or name it in `along` if it is as long as `{}`",
                other.name, names[0]
            ));
        }
        let mut own = self.parts.iter().flat_map(|it| [&it.segment, &it.position]);
        match own.find(|it| names.contains(&it.as_str())) {
            Some(name) => {
                Err(format!("`pack` makes a field `{name}` itself: give this one another name"))
            }
            None => Ok(()),
        }
    }

    fn packed(&self) -> impl Iterator<Item = &(Field, Vec<u8>)> {
        self.parts.iter().flat_map(|it| &it.packed)
    }

    fn fields(&self) -> Vec<Field> {
        let packed = self.parts.iter().flat_map(Part::fields);
        packed.chain(self.parts.iter().flat_map(Part::numbers)).collect()
    }
}

impl Part {
    /// The name of the field.
    fn name(&self) -> &str {
        &self.packed[0].0.name
    }

    /// What is packed, as fields of a sequence.
    fn fields(&self) -> impl Iterator<Item = Field> {
        self.packed.iter().map(|(field, _)| {
            let shape = field.ty.shape().unwrap_or_default();
            let shape = [Extent::Known(self.length as u64)].into_iter().chain(shape[1..].to_vec());
            let dtype = field.ty.dtype().expect("it was looked at");
            Field { ty: Type::Tensor { dtype, shape: shape.collect() }, ..field.clone() }
        })
    }

    /// The fields that say where each element comes from.
    fn numbers(&self) -> [Field; 2] {
        let ty = Type::tensor(DType::I32, &[self.length as u64]);
        [&self.segment, &self.position].map(|name| Field { name: name.clone(), ty: ty.clone() })
    }
}

/// The fields that are packed, with their lengths.
fn parts(names: Vec<&str>, length: &Arg, fields: &[Field]) -> Result<Vec<Part>, String> {
    if names.is_empty() {
        return Err("`of` must be the field that is packed".to_owned());
    }
    let lengths = named(length);
    if let Some((name, _)) = lengths.iter().find(|it| !names.contains(&&*it.0)) {
        return Err(format!("`length` names `{name}`, which `of` does not"));
    }
    let of = |name: &&str| {
        let own = match length {
            Arg::Record(_) => {
                let own = lengths.iter().find(|it| it.0 == **name);
                own.ok_or_else(|| format!("`length` says nothing of `{name}`"))?.1
            }
            one => one,
        };
        let length = size(own, "length", 1)?;
        let several = names.len() > 1;
        let number = |end: &str| if several { format!("{name}_{end}") } else { end.to_owned() };
        Ok(Part {
            length: length.ok_or("`length` must be known at compile time")?,
            packed: vec![packed(name, fields)?],
            segment: number("segment"),
            position: number("position"),
        })
    };
    names.iter().map(of).collect()
}

/// The field of this name, padded with zeros.
fn packed(name: &str, fields: &[Field]) -> Result<(Field, Vec<u8>), String> {
    let field = fields.iter().find(|it| it.name == name).ok_or_else(|| unknown(name, fields))?;
    check_field(field)?;
    let dtype = field.ty.dtype().expect("it was looked at");
    Ok((field.clone(), vec![0; dtype.size()]))
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
    let bounds = fill.bounds();
    let serial: Box<dyn Operator> = match terms.fit {
        Fit::Split => Box::new(Split::new(call, &bounds[0], terms.drops)?),
        Fit::First => Box::new(First::new(call, bounds.clone(), terms.bins)?),
        Fit::Best => {
            let groups =
                Regroup::new(Group::new(call), terms.block, terms.block, "a block of `pack`");
            Box::new(Blocks::new(groups))
        }
    };
    let (fit, filling) = (terms.fit, call.filling.clone());
    let finish = move |chunk: Chunk, _| {
        let lengths = fill.lengths(&chunk)?;
        let sequences = match (fit, &bounds[..]) {
            (Fit::Split, _) => split(&chunk, &lengths[0], bounds[0].length),
            (Fit::First, _) => first(&chunk, &lengths),
            (Fit::Best, [one]) => best(&lengths[0], one.length),
            (Fit::Best, several) => best_of_several(&lengths, several)?,
        };
        fill.sequences(&chunk, &sequences, &lengths, &filling)
    };
    Ok(Running { serial, parallel: Some(Arc::new(finish)) })
}

#[cfg(test)]
mod tests;
