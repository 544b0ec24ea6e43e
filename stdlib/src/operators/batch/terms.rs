//! What a call of `batch` asks for, checked: the same for the compiler and for the run.

use super::super::{
    arguments::{ROWS_MAX, int, named, numbers, size, texts, visible, word},
    scalars::element,
};
use plan::{Arg, DType, Extent, Field, RaggedField, Type};
use runtime::MAX_RANK;

/// Where `by` stands among the arguments.
pub(super) const BY: usize = 3;
/// Elements that `multiple` may round an extent up to.
const MULTIPLE_MAX: i64 = 1 << 20;
/// Intervals that `bounds` may make.
const BOUNDS_MAX: usize = 1024;

/// What becomes of records that are too few for a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tail {
    Drop,
    Keep,
    Mask,
}

/// A call of `batch`.
#[derive(Debug)]
pub(super) struct Terms {
    /// Rows of a full batch; the most of them where there are `tokens`.
    pub(super) size: Option<usize>,
    /// The same for each bucket of `bounds`, where these differ; `size` is the largest then.
    sizes: Vec<usize>,
    pub(super) tail: Tail,
    /// How the fields that a program sees are batched.
    pub(super) lanes: Vec<Lane>,
    /// The type of `by`, where it was given.
    pub(super) by: Option<Type>,
    /// The upper ends of the intervals of `by`, rising.
    pub(super) bounds: Vec<f64>,
    pub(super) tokens: Option<usize>,
    /// Whether rows are padded to the bound of their bucket, and no record may be beyond the last one.
    pub(super) to_bound: bool,
    /// A mistake in the names of `pad`, `multiple` or `ragged`, for the compiler alone: fields that nobody
    /// reads are gone when it runs.
    pub(super) unknown: Option<String>,
}

/// How one field is batched.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    pub(super) field: Field,
    /// The element that short rows are filled up with.
    pub(super) pad: Option<Vec<u8>>,
    /// For each axis of a row, what its extent is a multiple of; empty where that is 1 for all.
    pub(super) multiples: Vec<usize>,
    /// Whether rows keep their lengths: the batch has them end to end, and where each begins.
    pub(super) ragged: bool,
    /// The extent to which axes of unknown extent are padded in every batch, where it is the same for all.
    to: Option<usize>,
}

/// A field of a batch, as it is made of the rows of a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// Row after row.
    Rows,
    /// The rows end to end.
    Values,
    /// Where each of them begins.
    Offsets,
}

impl Terms {
    /// Reads and checks the arguments for a stream of these fields.
    pub(super) fn read(args: &[Arg], fields: &[Field], by: Option<&Type>) -> Result<Self, String> {
        let [rows, tail, pad, _, bounds, tokens, multiple, ragged, to] = args else {
            return Err("`batch` has nine parameters".to_owned());
        };
        let tail = match word(tail) {
            "keep" => Tail::Keep,
            "mask" => Tail::Mask,
            _ => Tail::Drop,
        };
        let mut lanes =
            visible(fields).into_iter().map(Lane::new).collect::<Result<Vec<_>, _>>()?;
        let mut unknown = None;
        for name in texts(ragged) {
            match lane(&mut lanes, name, "ragged") {
                Ok(lane) => lane.ragged = true,
                Err(why) => unknown = Some(why),
            }
        }
        for (name, value) in named(pad) {
            match lane(&mut lanes, &name, "pad") {
                Ok(lane) => {
                    lane.check_pads("pad")?;
                    lane.pad = Some(element(value, &lane.field, ("pad", "batch"))?);
                }
                Err(why) => unknown = Some(why),
            }
        }
        for (name, value) in named(multiple) {
            match lane(&mut lanes, &name, "multiple") {
                Ok(lane) => {
                    lane.check_pads("multiple")?;
                    lane.multiples = lane.multiples_of(value)?;
                }
                Err(why) => unknown = Some(why),
            }
        }
        let sizes: Option<Vec<usize>> = match rows {
            Arg::List(all) => {
                all.iter().map(|it| size(it, "size", 1)).collect::<Result<_, String>>()?
            }
            _ => None,
        };
        let sizes = sizes.unwrap_or_default();
        let mut terms = Self {
            size: if sizes.is_empty() {
                size(rows, "size", 1)?
            } else {
                sizes.iter().max().copied()
            },
            sizes,
            tail,
            lanes,
            by: by.cloned(),
            bounds: numbers(bounds),
            tokens: size(tokens, "tokens", 1)?,
            to_bound: word(to) == "bound",
            unknown,
        };
        terms.check()?;
        terms.check_buckets(pad)?;
        if let ([bound], true) = (&terms.bounds[..], terms.to_bound) {
            let padded = terms.lanes.iter_mut().filter(|it| it.pad.is_some());
            padded.for_each(|it| it.to = Some(*bound as usize));
        }
        Ok(terms)
    }

    /// Buckets that `bounds` make.
    pub(super) fn kinds(&self) -> usize {
        self.bounds.len() + usize::from(!self.to_bound)
    }

    /// Rows of a full batch of a bucket; the most of them where there are `tokens`.
    pub(super) fn size_of(&self, kind: usize) -> Option<usize> {
        self.sizes.get(kind).copied().or(self.size)
    }

    /// The extent to which rows of a bucket are padded, if not to the longest.
    pub(super) fn bound(&self, kind: usize) -> Option<usize> {
        self.bounds.get(kind).filter(|_| self.to_bound).map(|it| *it as usize)
    }

    /// What is said of each bucket.
    fn check_buckets(&self, pad: &Arg) -> Result<(), String> {
        let (n, kinds) = (self.sizes.len(), self.kinds());
        if n > 0 && self.bounds.is_empty() {
            return Err("`size` has a number for each bucket, so `bounds` must say which there \
                        are: `by: len(ids), bounds: [32, 64]`"
                .to_owned());
        }
        if n > 0 && n != kinds {
            let more = if self.to_bound { "" } else { ", and one for records beyond the last" };
            let buckets = if kinds == 1 { "bucket" } else { "buckets" };
            return Err(format!(
                "`size` has {n} numbers for {kinds} {buckets}: one for each of `bounds`{more}"
            ));
        }
        if !self.to_bound {
            return Ok(());
        }
        if self.bounds.is_empty() {
            return Err("`to: bound` needs `bounds`, to which rows are padded: `by: len(ids), \
                        bounds: [32, 64]`"
                .to_owned());
        }
        let is_extent = |it: &f64| it.fract() == 0.0 && (0.0..=ROWS_MAX as f64).contains(it);
        if let Some(bound) = self.bounds.iter().find(|it| !is_extent(it)) {
            return Err(format!(
                "`bounds` has {bound}, but `to: bound` pads to them: they must be integers in 0..{ROWS_MAX}"
            ));
        }
        match named(pad)[..] {
            [] => Err("`to: bound` pads rows, so `pad` must give the values: `pad: { ids: 0 }`"
                .to_owned()),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let rising = self.bounds.windows(2).all(|it| it[0] < it[1]);
        let problem = match (self.size, self.tokens) {
            (None, None) => Some("`batch` needs a size: `batch(32)`"),
            (_, Some(_)) if self.by.is_none() => {
                Some("`tokens` needs `by`, the length of a record: `by: len(ids)`")
            }
            (_, Some(_)) if self.tail == Tail::Mask => Some(
                "with `tokens`, batches have no fixed number of rows to fill up: remove `tail: \
                 mask`",
            ),
            _ if !self.bounds.is_empty() && self.by.is_none() => {
                Some("`bounds` needs `by`, the value that is compared with them: `by: len(ids)`")
            }
            _ if !rising => Some("`bounds` must be increasing"),
            _ if self.bounds.len() > BOUNDS_MAX => Some("there are more than 1024 `bounds`"),
            _ => None,
        };
        match problem {
            Some(problem) => Err(problem.to_owned()),
            None => self.by.as_ref().map_or(Ok(()), |by| self.check_by(by)),
        }
    }

    fn check_by(&self, by: &Type) -> Result<(), String> {
        let dtype = by.dtype().filter(|_| by.fixed().is_some_and(|it| it.is_empty()));
        let measured = !self.bounds.is_empty() || self.tokens.is_some();
        match dtype {
            Some(DType::Bool) if measured => {
                Err("`by` is a `bool`, but `bounds` and `tokens` need a number".to_owned())
            }
            Some(dtype) if dtype.is_float() && !measured => Err(format!(
                "`by` is `{dtype}`, but only integers can be grouped by equality: set `bounds`"
            )),
            Some(_) => Ok(()),
            None => Err(format!("`by` is `{by}`, but must be one number or `bool` per record")),
        }
    }

    /// Whether rows of a batch may be as long as each other though no type says so: there is one, or
    /// those of a batch have the same `by`. Bounds put together what is between them.
    fn sorts_alike(&self) -> bool {
        let same = self.tokens.is_none() && self.bounds.is_empty();
        self.size == Some(1) || self.by.is_some() && same
    }

    /// The fields of a batch.
    pub(super) fn fields(&self) -> Result<Vec<Field>, String> {
        if let Some(unknown) = &self.unknown {
            return Err(unknown.clone());
        }
        self.lanes.iter().filter(|it| it.ragged).try_for_each(Lane::check_ragged)?;
        if !self.sorts_alike() {
            self.lanes.iter().try_for_each(Lane::check_extents)?;
        }
        let alike = self.tokens.is_none() && self.sizes.iter().all(|it| Some(*it) == self.size);
        let rows = match self.size {
            Some(rows) if alike && self.tail != Tail::Keep => Extent::Known(rows as u64),
            _ => Extent::Unknown,
        };
        let batched = |it: &Lane| it.batched(&rows).map(|it| it.1).collect::<Vec<_>>();
        let mut fields: Vec<Field> = self.lanes.iter().flat_map(batched).collect();
        if self.tail == Tail::Mask {
            if fields.iter().any(|it| it.name == "valid") {
                return Err(
                    "`tail: mask` adds a field `valid`, which already exists: rename it".to_owned()
                );
            }
            let ty = Type::Tensor { dtype: DType::Bool, shape: vec![rows] };
            fields.push(Field { name: "valid".to_owned(), ty });
        }
        Ok(fields)
    }
}

fn lane<'a>(lanes: &'a mut [Lane], name: &str, parameter: &str) -> Result<&'a mut Lane, String> {
    let known: Vec<_> = lanes.iter().map(|it| format!("`{}`", it.field.name)).collect();
    let found = lanes.iter_mut().find(|it| it.field.name == name);
    found.ok_or_else(|| {
        format!(
            "`{parameter}` names `{name}`, which is not a field; the fields are {}",
            known.join(", ")
        )
    })
}

impl Lane {
    fn new(field: Field) -> Result<Self, String> {
        let (name, ty) = (&field.name, &field.ty);
        match ty {
            Type::Tensor { dtype, shape } if dtype.is_text() && !shape.is_empty() => Err(format!(
                "`{name}` is `{ty}`, the strings of a batch; a batch of batches cannot contain \
                 strings: drop it with `map`"
            )),
            Type::Tensor { shape, .. } if shape.len() == MAX_RANK => {
                Err(format!("`{name}` already has {MAX_RANK} axes, the maximum for a tensor"))
            }
            Type::Tensor { .. } => {
                Ok(Self { field, pad: None, multiples: Vec::new(), ragged: false, to: None })
            }
            _ => Err(format!("`{name}` is `{ty}`: give it a type with `as` before `batch`")),
        }
    }

    /// Whether its rows are text or bytes, of any length.
    pub(super) fn is_text(&self) -> bool {
        self.field.ty.dtype().is_some_and(DType::is_text)
    }

    /// Fails where rows are never made longer.
    fn check_pads(&self, parameter: &str) -> Result<(), String> {
        let Field { name, ty } = &self.field;
        if self.ragged {
            return Err(format!(
                "`{parameter}` and `ragged` both name `{name}`: ragged rows need no padding, so \
                 remove it from one of them"
            ));
        }
        match self.is_text() {
            true => Err(format!(
                "`{parameter}` names `{name}`, which is `{ty}`: strings keep their lengths, so \
                 remove it there"
            )),
            false => Ok(()),
        }
    }

    /// Fails where rows have nothing to differ in but their first axis.
    fn check_ragged(&self) -> Result<(), String> {
        let Field { name, ty } = &self.field;
        let wrong = |why: &str| Err(format!("`ragged` names `{name}`, which is `{ty}`: {why}"));
        match self.shape() {
            _ if self.is_text() => wrong("strings keep their lengths anyway, so remove it there"),
            [] => wrong("each record has one number, so remove it there"),
            [_, inner @ ..] if inner.iter().any(|it| !matches!(it, Extent::Known(_))) => wrong(
                "rows may differ only in their first axis, so make the other extents the same \
                 before, or pad short ones with `pad`",
            ),
            [Extent::Known(_), ..] => {
                wrong("it has the same length in every record, so remove it there")
            }
            _ => Ok(()),
        }
    }

    /// Whether its rows have the extents of every row of every batch.
    pub(super) fn is_alike(&self) -> bool {
        !self.ragged && self.multiples.is_empty() && self.field.ty.fixed().is_some()
    }

    /// Fails where rows may differ in their extents, and nothing fills the short ones up.
    fn check_extents(&self) -> Result<(), String> {
        let told = self.pad.is_some() || self.ragged;
        if told || self.is_text() || self.field.ty.fixed().is_some() {
            return Ok(());
        }
        let Field { name, ty } = &self.field;
        let zero = match ty.dtype() {
            Some(DType::Bool) => "false",
            Some(it) if it.is_float() => "0.0",
            _ => "0",
        };
        let is_picture = matches!(self.shape(), [_, _, Extent::Known(1..=4)]);
        let remedy = match is_picture {
            true => format!(
                "resize or crop them before `batch` (`resize`, `random_resized_crop`, `center_crop`), \
                 or pad small ones with `pad: {{ {name}: {zero} }}`"
            ),
            false if self.may_be_ragged() => format!(
                "pad short ones with `pad: {{ {name}: {zero} }}`, keep the lengths with `ragged: \
                 [{name}]`, or give all the same shape before `batch`"
            ),
            false => format!(
                "pad short ones with `pad: {{ {name}: {zero} }}`, or give all the same shape before `batch`"
            ),
        };
        Err(format!(
            "`{name}` is `{ty}`, but all records of a batch must have the same shape: {remedy}"
        ))
    }

    /// Whether rows may differ along this axis.
    pub(super) fn is_open(&self, axis: usize) -> bool {
        !matches!(self.shape().get(axis), Some(Extent::Known(_)))
    }

    fn shape(&self) -> &[Extent] {
        self.field.ty.shape().unwrap_or_default()
    }

    fn multiples_of(&self, value: &Arg) -> Result<Vec<usize>, String> {
        let (name, axes) = (&self.field.name, self.shape().len());
        if self.pad.is_none() {
            return Err(format!(
                "`multiple` pads `{name}`, so `pad` must give a value for it: `pad: {{ {name}: 0 \
                 }}`"
            ));
        }
        let all = match value {
            Arg::List(all) => all.iter().map(int).collect(),
            one => vec![int(one); axes],
        };
        if all.len() != axes {
            return Err(format!(
                "`multiple` has {} numbers for the {axes} axes of `{name}`",
                all.len()
            ));
        }
        let fits = |it: Option<i64>| it.filter(|it| (1..=MULTIPLE_MAX).contains(it));
        let all: Option<Vec<usize>> =
            all.into_iter().map(|it| fits(it).map(|it| it as usize)).collect();
        let all = all.ok_or(format!("`multiple` must be integers in 1..{MULTIPLE_MAX}"))?;
        Ok(if all.iter().all(|it| *it == 1) { Vec::new() } else { all })
    }

    /// Whether rows differ in nothing but their first axis.
    fn may_be_ragged(&self) -> bool {
        Self { ragged: true, ..self.clone() }.check_ragged().is_ok()
    }

    /// The fields of the batch that it becomes.
    pub(super) fn batched(&self, rows: &Extent) -> impl Iterator<Item = (Part, Field)> + use<> {
        let fields = match self.ragged {
            true => self.two_fields(rows).to_vec(),
            false => vec![(Part::Rows, self.stacked(rows))],
        };
        fields.into_iter()
    }

    /// The rows end to end, and where they begin.
    fn two_fields(&self, rows: &Extent) -> [(Part, Field); 2] {
        let field = |end: &str, dtype, shape| Field {
            name: format!("{}{end}", self.field.name),
            ty: Type::Tensor { dtype, shape },
        };
        let inner = self.shape().iter().skip(1).cloned();
        let values = [Extent::Unknown].into_iter().chain(inner).collect();
        let one_more = match rows {
            Extent::Known(n) => Extent::Known(n + 1),
            _ => Extent::Unknown,
        };
        let dtype = self.field.ty.dtype().expect("it is a tensor");
        [
            (Part::Values, field(RaggedField::VALUES, dtype, values)),
            (Part::Offsets, field(RaggedField::OFFSETS, DType::I64, vec![one_more])),
        ]
    }

    /// The field with an axis more.
    fn stacked(&self, rows: &Extent) -> Field {
        let multiple = |axis: usize| self.multiples.get(axis).map_or(1, |it| *it as u64);
        let extent = |(axis, it): (usize, &Extent)| match it {
            Extent::Known(n) => Extent::Known(n.next_multiple_of(multiple(axis))),
            Extent::Named(name) if self.pad.is_none() => Extent::Named(name.clone()),
            _ => self.to.map_or(Extent::Unknown, |it| {
                Extent::Known((it as u64).next_multiple_of(multiple(axis)))
            }),
        };
        let inner = self.shape().iter().enumerate().map(extent);
        let shape = [rows.clone()].into_iter().chain(inner).collect();
        let dtype = self.field.ty.dtype().expect("it is a tensor");
        Field { name: self.field.name.clone(), ty: Type::Tensor { dtype, shape } }
    }
}
