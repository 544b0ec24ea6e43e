//! What is known about an entry of the library without running it.

use crate::{Arg, Binary, Const, DType, Field, Graph, Op, OpKind, Type, Unary, Untyped};

/// Finds the type of a result, or says in one sentence what is wrong with the call.
pub type ResultType = fn(&Applied<'_>) -> Result<Type, String>;
/// Finds the fields that leave an operator or a source, or says what is wrong with the call.
pub type FieldTypes = fn(&Applied<'_>) -> Result<Vec<Field>, String>;

/// A function, an operator or a source, as the compiler sees it.
#[derive(Debug)]
pub struct Entry {
    /// The signature, in the language itself, with its effects:
    /// `resize(image: t[h, w, c], height: int, width: int = height) -> t[height, width, c]`.
    pub signature: &'static str,
    /// What it does, in Markdown, with a runnable example; for messages, hover and the reference.
    pub doc: &'static str,
    /// Goes up when the output for the same input changes: part of every cache's key.
    pub version: u32,
    /// What it costs, before anything has been measured.
    pub cost: Cost,
    /// Bytes that it works in beside its result, for each byte of that.
    pub work: f64,
    /// What rewrites may rely on.
    pub properties: &'static [Property],
    /// Where the expression language has a node of its own for it; then it has no kernel.
    pub intrinsic: Option<Intrinsic>,
    /// The type of the result, where the signature cannot say it.
    pub result: Option<ResultType>,
    /// Of an operator or a source: the fields that leave it, where not those of its first input.
    pub fields: Option<FieldTypes>,
}

/// An entry on its arguments, as far as the compiler knows them.
#[derive(Debug)]
pub struct Applied<'a> {
    /// One for each parameter, in order; defaults are filled in.
    pub args: &'a [Arg],
    /// The values of the record among the arguments.
    pub graph: &'a Graph,
    /// Of an operator: the fields of each input.
    pub inputs: &'a [Vec<Field>],
    /// Of an operator with several inputs given as a record: their names.
    pub names: &'a [String],
    /// Of a source: what was found out about the files that it names.
    pub found: &'a [Field],
}

/// Processor time: nanoseconds a call, a byte read and a byte written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Whatever the sizes.
    pub ns_call: f64,
    /// For each byte of the first argument.
    pub ns_byte_in: f64,
    /// For each byte of the result.
    pub ns_byte_out: f64,
    /// Bytes of a result whose size the type does not tell, for each byte of the first argument.
    pub bytes_out_per_in: f64,
}

impl Cost {
    /// A fixed price a call.
    pub const fn call(ns_call: f64) -> Self {
        Self { ns_call, ns_byte_in: 0.0, ns_byte_out: 0.0, bytes_out_per_in: 1.0 }
    }

    /// The same and a price for each byte written.
    pub const fn out(ns_call: f64, ns_byte_out: f64) -> Self {
        Self { ns_byte_out, ..Self::call(ns_call) }
    }
}

/// What a rewrite may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Each element of the result depends on the element at the same place alone.
    Pointwise,
    /// As `Pointwise`, but constants differ along the last axis, the channels.
    PointwiseByChannel,
    /// Each pixel of the result depends on the pixel at the same place alone, on all its channels.
    ByPixel,
    /// Each element of the result depends on several of the argument's, near it or anywhere.
    Gathers,
    /// Each element of the result is a weighted sum of some of the argument's; the weights depend on
    /// no element.
    Weighs,
    /// What it gives is rounded or clipped to whole numbers, where the argument is of such.
    Rounds,
    /// Each element becomes `x * scale + bias`, with numbers that its arguments tell.
    Affine(&'static Affine),
    /// Gives its first argument as it is, where its arguments are such.
    Neutral(&'static Neutral),
    /// Makes one element of all along its parameter `axis`, or of all there are.
    Reduces(Reduction),
    /// Tells the extents of its argument, and nothing of its elements. Of numbers, and where its other arguments are known,
    /// its kernel is one that says which extent it is.
    Asks,
    /// With another argument it gives nearly what another function makes of its result.
    Nearly(&'static Nearly),
    /// Another function makes it of fewer pixels, nearly as good where it is made smaller anyway.
    Drafts(&'static Drafted),
    /// Moves elements, and computes nothing: a view.
    Moves,
    /// Gives its first argument as it is, and copies nothing.
    Passes,
    /// The result is a part of the first argument.
    Crops,
    /// The result has the elements of its values, one value after the other.
    Joins,
    /// Another function gives a part of the result without making all of it.
    Fuses(&'static Fused),
    /// Gives a picture of other extents, a part of which is made of a part of the first argument.
    Resamples(&'static Resampled),
    /// Gives the number that a name has among those of its second argument, as labels have it.
    Numbers {
        /// Whether it is the name of the folder that a path lies in; then the names may be those of the
        /// folders of sources, which the third argument lists.
        of_path: bool,
    },
    /// Gives its parameter of this name where it would fail, if that is given.
    Defaults(&'static str),
    /// Gives a number that its arguments tell, where the compiler knows them all.
    Known(&'static KnownNumber),
    /// Calls a function that stands outside (`Foreign`).
    CallsOut,
    /// Where its parameter of this name is true, one thread does it at a time.
    Alone(&'static str),
    /// Of an operator: what it does with records, where the compiler has to know that.
    Does(Action),
    /// Of an operator: works on each record alone, and keeps their order.
    RecordWise,
    /// Of an operator: each field that leaves it is made of the inputs' fields of its name alone, all
    /// in the same way, so that a field which nobody needs can be left out before it. A companion's field is made of
    /// that of its name behind the number.
    FieldWise,
    /// Of an operator: its records have the fields of those that enter, whatever its arguments are.
    SameFields,
    /// Of an operator: values of the record among its arguments are only compared, so they may be of any type.
    Compares,
    /// Of an operator: every field gets an axis more, the rows; and there may be a field `valid`, a `bool` for
    /// each row. What is said of the parameter `apart` makes other fields.
    Stacks {
        /// The name of the field.
        valid: &'static str,
        /// The name of the parameter.
        apart: &'static str,
    },
    /// Of an operator: needs the index of its source, so it runs there.
    NeedsIndex,
    /// Of a source: can be read in any order.
    Indexed,
    /// Of a source: consists of spans, each of which can be read alone from its beginning to its end.
    Spans,
    /// Of a source: every field that it gives is the path of a file that it lists.
    GivesPaths,
    /// Of a source: what its records hold is read from files.
    ReadsFiles,
    /// Of a source: each record lies in one file. It can give that file's name ([`FILE`]), and the records of one file
    /// alone.
    ByFile,
    /// Of a source: a field of this name, where it has one, says which records are kept. The checker filters by
    /// it, and no program sees it.
    Keeps(&'static str),
    /// Of a source: a record that cannot be read can be a fault, in place of the end of the run. Of an operator: so can
    /// the fields that it adds to a record of its first stream.
    Faulty(&'static Faulty),
    /// Of an operator that is [`Property::Faulty`]: only where its argument of this number is this word.
    FaultyIf(usize, &'static str),
    /// Of a source: its argument of this number says conditions that its records must meet, a list for each: the name of
    /// a field, and perhaps a comparison as a word and what it is compared with. It may leave out records of which it
    /// knows that one is not met, where all of these fields are there.
    Filters(usize),
    /// Of a source: it can read what an untyped field holds itself, as columns with types.
    TypedColumns(&'static TypedColumns),
}

/// The hidden field of a record that names the file that it lies in: its name up to the first dot, as text.
pub const FILE: &str = "$file";

/// Of the name of a companion's field, its number from 1 and the name that the field has in its own record: `other2.image`
/// is `image` of the second one.
pub fn companion(name: &str) -> Option<(usize, &str)> {
    let (number, field) = name.strip_prefix("other")?.split_once('.')?;
    let number = number.parse().ok().filter(|it| *it > 0 && !number.starts_with(['0', '+']))?;
    Some((number, field))
}

/// What an operator does with records. Whatever does such a thing has the parameters that are named here, as
/// far as there is something to say by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Gives the records of an epoch in a drawn order, or those of each `window` of so many.
    Shuffle,
    /// Gives some of the records, drawn among all of an epoch.
    Sample,
    /// Gives the first `n` records.
    Take,
    /// Leaves out the first `n` records.
    Skip,
    /// Gives all records `n` times over, or for ever.
    Repeat,
    /// Puts records together as rows: `size` of them, or as many as make so many `tokens`; sorted `by` something;
    /// with `pad`, `multiple`, `bounds` and `ragged` for rows that are not alike; `tail` is what becomes of the last
    /// ones.
    Batch,
    /// Makes one record of `length` successive ones, the next one `hop` later.
    Window,
    /// Makes one record of as many as have `length` elements, or of parts of them.
    Pack,
    /// Puts the records of several streams side by side.
    Zip,
    /// Gives each record of the first stream the fields of the record of the second one with the same key; `missing`
    /// is what becomes of a record without such a one, and `within` whether it is looked for in all of the second
    /// stream or in the file of the record's name ([`FILE`]).
    Join,
    /// Gives each record the fields of `n` others, drawn among those of its `window`: those of the first one as
    /// `other1.f` ([`companion`]).
    Accompany,
    /// Gives the records of several streams, by `weights` and in a drawn order, until `at_end`.
    Mix,
    /// Gives the records of several streams, one stream after the other.
    Concat,
    /// Makes one record of all records of an epoch, of values of the record alone that are among its arguments: a
    /// constant can be made of that.
    Reduce,
}

impl Action {
    /// Whether it is drawn which record comes next, anew in every epoch.
    pub fn draws_order(self) -> bool {
        matches!(self, Self::Shuffle | Self::Sample | Self::Mix)
    }
}

/// How several elements become one, in the order of `semantics.md`, 4: each is a lane of 16 in turn, and
/// the upper half of the lanes is put to the lower one until one is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Added up: integers of less than 64 bits and `bool` as `i64`, which they give; floats as `f64`,
    /// rounded once to their dtype.
    Sum,
    /// Their exact sum divided by how many they are, in `f64`, rounded once to their dtype; of
    /// integers to `f32`.
    Mean,
    /// The smallest; a NaN among them.
    Least,
    /// The largest; a NaN among them.
    Greatest,
    /// Whether all are true.
    All,
    /// Whether one is.
    Any,
}

/// What a property says of one function: there is one for each that has it, so two are equal if they
/// are the same.
macro_rules! one_for_each_function {
    ($($of:ident)*) => {$(
        impl PartialEq for $of {
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(self, other)
            }
        }

        impl Eq for $of {}
    )*};
}

one_for_each_function! { Fused Affine KnownNumber Neutral Faulty TypedColumns }

/// How a source gives records that cannot be read, or an operator fields, where a step behind it says what becomes of
/// faults.
#[derive(Debug)]
pub struct Faulty {
    /// The argument that asks for it, as `true`.
    pub argument: usize,
    /// The field that then says what is wrong with a record; it is empty where nothing is.
    pub field: &'static str,
    /// A field that is known of every record, if there is one: it needs no guard.
    pub known: &'static str,
    /// The function that gives a value, or the fault: `guard(value, field, column)`, with the number
    /// of the field that `value` is.
    pub guard: &'static str,
}

/// How a source reads what an untyped field `x` of its records holds: `x["a"]["b"] as f32` is its column `x/a/b`.
///
/// Where one of these values cannot be read, for whatever reason, the record is marked, what its columns hold means
/// nothing, and whoever needs one finds it the long way.
#[derive(Debug)]
pub struct TypedColumns {
    /// The argument that says which: a record with a type for each path, a JSON Pointer (RFC 6901).
    pub argument: usize,
    /// The untyped field `x`. Each column is called by it and the path.
    pub field: &'static str,
    /// What it holds.
    pub of: Untyped,
    /// How many names a path can have.
    pub depth: usize,
    /// Whether texts can be read so.
    pub texts: bool,
    /// Whether tensors with axes can be, of which one may be of any length.
    pub arrays: bool,
    /// The field, a `bool`, that says of a record whether all of them could be read.
    pub known: &'static str,
    /// The field that is `x` where they could not, and else empty.
    pub rest: &'static str,
    /// Nanoseconds for each of them, for each byte of `x`, and for each byte that is made of it.
    pub cost: Cost,
}

/// A form of a function `f` that makes only a part of its result; `f` takes one value, and its other
/// parameters have their defaults.
#[derive(Debug)]
pub struct Fused {
    /// The function that takes the part: `part(f(x), …)`,
    pub part: &'static str,
    /// and the one that makes it at once: `into(x, …)` is the same, for the same arguments.
    pub into: &'static str,
    /// What may be asked of the whole: `asked(f(x), …)`,
    pub asked: &'static str,
    /// and who answers it without making the whole: `answer(x, …)`.
    pub answer: &'static str,
    /// The other arguments that `f` has.
    pub others: &'static [Arg],
    /// An index of `x`, with which `into` takes less time, where there is one.
    pub index: Option<Indexed>,
}

/// A side index of a value: where in it what lies. Who makes a part can make it as well, or use it; the
/// part is the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Indexed {
    /// What it is called, in the field's words.
    pub name: &'static str,
    /// Goes up when its form changes.
    pub version: u32,
    /// Its bytes for each byte of the value.
    pub bytes_per_in: f64,
    /// What of the time that a part takes it saves.
    pub saves: f64,
    /// What of that time it takes to make it with a part.
    pub takes: f64,
}

/// The parts of what a function `f(x, height, width, how…)` makes of a picture:
/// `part(f(x, height, width, how…), y, x, rows, columns)` is
/// `into(part(x, s…), h, w, s[0], s[1], height, width, y, x, rows, columns, how…)`, where `h` and `w`
/// are the extents of the picture and
/// `s = span(h, w, height, width, y, x, rows, columns, how…)`, with the faults of `f` and `part`.
#[derive(Debug, PartialEq, Eq)]
pub struct Resampled {
    /// The function that takes the part.
    pub part: &'static str,
    /// The one that tells the extents of a value.
    pub asked: &'static str,
    /// The one that takes a number of several.
    pub taken: &'static str,
    /// The one that tells what the part is made of: row, column, rows, columns.
    pub span: &'static str,
    /// The one that makes the part of that.
    pub into: &'static str,
}

/// Finds `scale` and `bias` of each channel for elements of a dtype.
pub type ReadAffine = fn(&[Arg], DType) -> Option<Vec<(f64, f64)>>;
/// Finds the arguments that stand for `scale` and `bias` of each channel.
pub type WriteAffine = fn(&[Arg], DType, &[(f64, f64)]) -> Option<Vec<Arg>>;

/// A function whose result `x * scale + bias` is, as its arguments tell.
#[derive(Debug)]
pub struct Affine {
    /// `scale` and `bias` of each channel, on elements of a dtype; one pair where all have the same.
    pub read: ReadAffine,
    /// The arguments with which it has these; none where it cannot.
    pub write: WriteAffine,
}

/// The number that a function gives, as its arguments tell.
#[derive(Debug)]
pub struct KnownNumber {
    /// The number, or why there is none; nothing where the arguments do not tell.
    pub of: fn(&[Arg]) -> Option<Result<i64, String>>,
}

/// When a function changes nothing.
#[derive(Debug)]
pub struct Neutral {
    /// Whether its result is its first argument, for these arguments.
    pub is: fn(&[Arg]) -> bool,
}

/// `of(f(x))` is nearly `f(x, parameter: value)`, for arguments that are left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Nearly {
    /// The function that is left out.
    pub of: &'static str,
    /// The parameter that is given instead.
    pub parameter: &'static str,
    /// What it is given.
    pub value: i64,
}

/// `of(f(x), height, width)` is nearly `of(into(x, height, width), height, width)`, for other arguments
/// that are left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Drafted {
    /// The function that makes the picture smaller.
    pub of: &'static str,
    /// What makes it of at least so many pixels, of fewer where it can.
    pub into: &'static str,
    /// What may be asked of the whole: `asked(f(x), …)`,
    pub asked: &'static str,
    /// and who answers it without making the whole: `answer(x, …)`.
    pub answer: &'static str,
}

/// A node of the expression language under a function's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intrinsic {
    /// On one value.
    Unary(Unary),
    /// On two values.
    Binary(Binary),
    /// To another dtype.
    Cast(DType),
}

impl Entry {
    /// The name under which it is called.
    pub fn name(&self) -> &'static str {
        let end = self.signature.find('(').unwrap_or(self.signature.len());
        &self.signature[..end]
    }

    /// The first sentence of its doc.
    pub fn summary(&self) -> &'static str {
        self.doc.trim().lines().next().unwrap_or_default().trim()
    }

    /// The number that a call gives, where its arguments tell, or why there is none.
    pub fn known(&self, args: &[Arg]) -> Option<Result<i64, String>> {
        self.properties.iter().find_map(|it| match it {
            Property::Known(known) => (known.of)(args),
            _ => None,
        })
    }

    /// What an operator does, where the compiler has to know that.
    pub fn action(&self) -> Option<Action> {
        self.properties.iter().find_map(|it| match it {
            Property::Does(action) => Some(*action),
            _ => None,
        })
    }

    /// How a source reads what its untyped field holds, where it does.
    pub fn typed_columns(&self) -> Option<&'static TypedColumns> {
        self.properties.iter().find_map(|it| match it {
            Property::TypedColumns(typed) => Some(*typed),
            _ => None,
        })
    }

    /// The argument of a source that says conditions, where it takes some.
    pub fn filters(&self) -> Option<usize> {
        self.properties.iter().find_map(|it| match it {
            Property::Filters(argument) => Some(*argument),
            _ => None,
        })
    }

    /// Whether rewrites may rely on `property`.
    pub fn has(&self, property: Property) -> bool {
        self.properties.contains(&property)
    }
}

impl Applied<'_> {
    /// The type of the `i`-th argument, where it is a value.
    pub fn ty(&self, i: usize) -> Option<Type> {
        match &self.args[i] {
            Arg::Expr(id) => Some(self.graph.ty(*id).clone()),
            _ => None,
        }
    }

    /// The `i`-th argument, where it is a whole number that the compiler knows.
    pub fn int(&self, i: usize) -> Option<i64> {
        match &self.args[i] {
            Arg::Int(it) => Some(*it),
            Arg::Expr(id) => match self.graph.expr(*id) {
                crate::Expr::Const(Const::Ints(_, shape, it)) if shape.is_empty() => {
                    it.first().copied()
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Everything that a program can call, as the compiler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// What works on values.
    pub functions: &'static [&'static Entry],
    /// What works on streams.
    pub operators: &'static [&'static Entry],
    /// What streams come from.
    pub sources: &'static [&'static Entry],
    /// What is said in the language itself: file name and text.
    pub written: &'static [(&'static str, &'static str)],
    /// Names that later versions bring, and what each will do.
    pub later: &'static [(&'static str, &'static str)],
}

impl Library {
    /// The function called `name`.
    pub fn function(&self, name: &str) -> Option<&'static Entry> {
        self.functions.iter().find(|it| it.name() == name).copied()
    }

    /// The operator called `name`.
    pub fn operator(&self, name: &str) -> Option<&'static Entry> {
        self.operators.iter().find(|it| it.name() == name).copied()
    }

    /// The operator that does this.
    pub fn doing(&self, action: Action) -> Option<&'static Entry> {
        self.operators.iter().find(|it| it.action() == Some(action)).copied()
    }

    /// What a step of a plan does, where it is an operator that the compiler has to know.
    pub fn action(&self, op: &Op) -> Option<Action> {
        match &op.kind {
            OpKind::Operator { entry, .. } => self.operator(entry)?.action(),
            _ => None,
        }
    }
}
