//! Plans for tests, written by hand, on a library of a few entries that compute nothing.

use plan::{
    Action, Arg, Binary, Const, Cost, DType, Draw, Entry, Expr, ExprId, Extent, Field, Fused,
    Graph, Library, Op, OpId, OpKind, Plan, Policy, Property, Records, Span, Type,
};

const fn entry(signature: &'static str, cost: Cost, properties: &'static [Property]) -> Entry {
    Entry {
        signature,
        doc: "",
        version: 1,
        cost,
        work: 0.0,
        properties,
        intrinsic: None,
        result: None,
        fields: None,
    }
}

const CHEAP: Cost = Cost::call(5.0);

static FUNCTIONS: &[&Entry] = &[
    &entry("read_file(path: str) reads -> bytes", Cost::call(12_000.0), &[]),
    &entry(
        "decode(jpeg: bytes, orient: bool = false) fails -> u8[h, w, 3]",
        Cost { ns_call: 0.0, ns_byte_in: 8.0, ns_byte_out: 0.0, bytes_out_per_in: 5.5 },
        &[Property::Fuses(&Fused {
            part: "crop",
            into: "decode_crop",
            asked: "shape",
            answer: "jpeg_shape",
            others: &[Arg::Bool(false)],
            index: None,
        })],
    ),
    &entry(
        "decode_crop(jpeg: bytes, y: int, size: int) fails -> u8[size, size, 3]",
        Cost { ns_call: 0.0, ns_byte_in: 6.0, ns_byte_out: 0.0, bytes_out_per_in: 5.5 },
        &[],
    ),
    &entry("jpeg_shape(jpeg: bytes) fails -> i64[3]", Cost::call(500.0), &[]),
    &entry("shape(x: any) -> i64[3]", CHEAP, &[]),
    &entry("sum(x: any) -> i64", CHEAP, &[]),
    &entry(
        "crop(image: t[h, w, c], y: int, size: int) fails -> t[size, size, c]",
        CHEAP,
        &[Property::Moves, Property::Crops],
    ),
    &entry("resize(image: t[h, w, c], size: int) -> t[size, size, c]", Cost::out(500.0, 0.5), &[]),
    &entry("flip_x(image: t[h, w, c]) -> t[h, w, c]", CHEAP, &[Property::Moves]),
    &entry("channels_first(image: t[h, w, c]) -> t[c, h, w]", CHEAP, &[Property::Moves]),
    &entry(
        "normalize(image: any, axis: int = -1) -> any",
        Cost::out(300.0, 0.03),
        &[Property::PointwiseByChannel],
    ),
    &entry("hash(text: any) -> u64", Cost::call(20.0), &[]),
    &entry("coin(p: float) random -> bool", Cost::call(20.0), &[]),
    &entry("slow(x: i64) -> i64", Cost::call(5_000.0), &[]),
    &entry("class_of(path: str) -> i32", Cost::call(50.0), &[]),
];

static OPERATORS: &[&Entry] = &[
    &entry(
        "shuffle(stream: stream, window: int = none) -> stream",
        CHEAP,
        &[Property::Does(Action::Shuffle), Property::NeedsIndex],
    ),
    &entry(
        "repeat(stream: stream, n: int = none) -> stream",
        CHEAP,
        &[Property::Does(Action::Repeat), Property::NeedsIndex],
    ),
    &entry("take(stream: stream, n: int) -> stream", CHEAP, &[Property::Does(Action::Take)]),
    &entry("skip(stream: stream, n: int) -> stream", CHEAP, &[Property::Does(Action::Skip)]),
    &entry("zip(streams: streams) -> stream", CHEAP, &[Property::Does(Action::Zip)]),
    &entry(
        "sample(stream: stream, weight: each float) -> stream",
        CHEAP,
        &[Property::Does(Action::Sample)],
    ),
    &entry(
        "batch(stream: stream, size: int = none, pad: record = none, by: each any = none) -> stream",
        Cost::out(50.0, 0.1),
        &[Property::Does(Action::Batch), Property::FieldWise],
    ),
];

static SOURCES: &[&Entry] = &[
    &entry("files(pattern: text) -> stream", Cost::call(100.0), &[Property::Indexed]),
    &entry("range(n: int) -> stream", Cost::call(0.5), &[Property::Indexed]),
    &entry("pipe() -> stream", Cost::call(100.0), &[]),
];

/// The library of the tests.
pub(crate) static LIBRARY: Library = Library {
    functions: FUNCTIONS,
    operators: OPERATORS,
    sources: SOURCES,
    written: &[],
    later: &[],
};

/// A plan in the making.
#[derive(Default)]
pub(crate) struct Bed {
    ops: plan::IdVec<OpId, Op>,
    policy: Option<Policy>,
}

/// The expressions of one operator.
pub(crate) struct Cells {
    pub(crate) graph: Graph,
    fields: Vec<Field>,
}

impl Bed {
    /// What becomes of faulty records in the operators that follow.
    pub(crate) fn on_fault(&mut self, policy: Policy) {
        self.policy = Some(policy);
    }

    pub(crate) fn source(&mut self, name: &str, args: &[Arg], fields: &[(&str, Type)]) -> OpId {
        let kind = OpKind::Source { entry: name.into(), args: args.to_vec() };
        self.push(name, kind, (vec![], Graph::default(), named(fields)))
    }

    /// `range(n)`: `{ i: i64 }`.
    pub(crate) fn range(&mut self) -> OpId {
        self.source("range", &[Arg::Int(100)], &[("i", Type::scalar(DType::I64))])
    }

    /// `files(…)` as `{ path: str }`.
    pub(crate) fn files(&mut self) -> OpId {
        let args = [Arg::Text("*.jpg".into())];
        self.source("files", &args, &[("path", Type::scalar(DType::Str))])
    }

    pub(crate) fn map(
        &mut self,
        input: OpId,
        make: impl FnOnce(&mut Cells) -> Vec<(&'static str, ExprId)>,
    ) -> OpId {
        let mut cells = self.cells(input);
        let made = make(&mut cells);
        let field = |(name, id): &(&str, ExprId)| Field {
            name: (*name).into(),
            ty: cells.graph.ty(*id).clone(),
        };
        let output = made.iter().map(field).collect();
        let outputs = made.into_iter().map(|it| it.1).collect();
        self.push("map", OpKind::Map { outputs }, (vec![input], cells.graph, output))
    }

    /// `map` that keeps all fields, and adds some.
    pub(crate) fn with(
        &mut self,
        input: OpId,
        make: impl FnOnce(&mut Cells) -> Vec<(&'static str, ExprId)>,
    ) -> OpId {
        let fields = self.ops[input].output.clone();
        self.map(input, |cells| {
            let old = fields.into_iter().map(|it| {
                let id = cells.field(&it.name);
                (&*it.name.leak(), id)
            });
            let mut all: Vec<(&'static str, ExprId)> = old.collect();
            all.extend(make(cells));
            all
        })
    }

    pub(crate) fn keep(&mut self, input: OpId, make: impl FnOnce(&mut Cells) -> ExprId) -> OpId {
        let mut cells = self.cells(input);
        let keep = make(&mut cells);
        let output = self.ops[input].output.clone();
        self.push("where", OpKind::Where { keep }, (vec![input], cells.graph, output))
    }

    /// Two records of one.
    pub(crate) fn twice(&mut self, input: OpId) -> OpId {
        let mut cells = self.cells(input);
        let output = self.ops[input].output.clone();
        let all: Vec<ExprId> = output.iter().map(|it| cells.field(&it.name)).collect();
        let kind = OpKind::FlatMap { records: Records::Listed(vec![all.clone(), all]) };
        self.push("flat_map", kind, (vec![input], cells.graph, output))
    }

    /// An operator that hands its fields on.
    pub(crate) fn operator(&mut self, name: &str, input: OpId, args: &[Arg]) -> OpId {
        let output = self.ops[input].output.clone();
        self.joined(name, &[input], args, output)
    }

    pub(crate) fn shuffle(&mut self, input: OpId) -> OpId {
        self.operator("shuffle", input, &[Arg::None])
    }

    pub(crate) fn batch(&mut self, input: OpId, size: u64) -> OpId {
        let output = self.ops[input].output.iter().map(|it| rows(it, size)).collect();
        let args = [Arg::Int(size as i64), Arg::None, Arg::None];
        self.joined("batch", &[input], &args, output)
    }

    /// An operator with an argument of the record.
    pub(crate) fn weighed(
        &mut self,
        name: &str,
        input: OpId,
        make: impl FnOnce(&mut Cells) -> ExprId,
    ) -> OpId {
        let mut cells = self.cells(input);
        let args = vec![Arg::Expr(make(&mut cells))];
        let kind = OpKind::Operator { entry: name.into(), args, names: vec![] };
        let output = self.ops[input].output.clone();
        self.push(name, kind, (vec![input], cells.graph, output))
    }

    pub(crate) fn zip(&mut self, inputs: [OpId; 2]) -> OpId {
        let mut output = Vec::new();
        for (prefix, id) in ["a", "b"].into_iter().zip(inputs) {
            for Field { name, ty } in self.ops[id].output.clone() {
                output.push(Field { name: format!("{prefix}.{name}"), ty });
            }
        }
        let kind = OpKind::Operator {
            entry: "zip".into(),
            args: vec![],
            names: vec!["a".into(), "b".into()],
        };
        self.push("zip", kind, (inputs.to_vec(), Graph::default(), output))
    }

    /// The plan of everything so far.
    pub(crate) fn plan(self, root: OpId) -> Plan {
        Plan { name: "p".into(), ops: self.ops, root }
    }

    fn joined(&mut self, name: &str, inputs: &[OpId], args: &[Arg], output: Vec<Field>) -> OpId {
        let kind = OpKind::Operator { entry: name.into(), args: args.to_vec(), names: vec![] };
        self.push(name, kind, (inputs.to_vec(), Graph::default(), output))
    }

    fn cells(&self, input: OpId) -> Cells {
        Cells { graph: Graph::default(), fields: self.ops[input].output.clone() }
    }

    fn push(
        &mut self,
        word: &str,
        kind: OpKind,
        (inputs, graph, output): (Vec<OpId>, Graph, Vec<Field>),
    ) -> OpId {
        let number = self.ops.len() as u32;
        self.ops.push(Op {
            kind,
            inputs,
            graph,
            output,
            step: format!("p.{word}#{number}"),
            place: u64::from(number) + 1000,
            at: Span { start: number, end: number + 1, ..Span::default() },
            on_fault: self.policy.unwrap_or(Policy::Fail),
        })
    }
}

impl Cells {
    /// A field of the record that flows in.
    pub(crate) fn field(&mut self, name: &str) -> ExprId {
        let place = self.fields.iter().position(|it| it.name == name).expect("it is a field");
        self.graph.add(Expr::Column(place as u32), self.fields[place].ty.clone())
    }

    pub(crate) fn int(&mut self, value: i64) -> ExprId {
        let ty = Type::scalar(DType::I64);
        self.graph.add(Expr::Const(Const::Ints(DType::I64, vec![], vec![value])), ty)
    }

    pub(crate) fn call(&mut self, name: &str, args: &[Arg], ty: Type) -> ExprId {
        let draw = (name == "coin").then(|| Draw { place: 7, vars: vec![] });
        self.graph.add(Expr::Call { function: name.into(), args: args.to_vec(), draw }, ty)
    }

    /// A call on one value.
    pub(crate) fn of(&mut self, name: &str, value: ExprId, ty: Type) -> ExprId {
        self.call(name, &[Arg::Expr(value)], ty)
    }

    pub(crate) fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let ty = if op.compares() { Type::scalar(DType::Bool) } else { self.graph.ty(a).clone() };
        self.graph.add(Expr::Binary(op, a, b), ty)
    }

    /// Whether the hash of a text is even: a filter of paths.
    pub(crate) fn is_even(&mut self, text: ExprId) -> ExprId {
        let hash = self.of("hash", text, Type::scalar(DType::U64));
        let (two, zero) = (self.unsigned(2), self.unsigned(0));
        let rest = self.binary(Binary::Rem, hash, two);
        self.binary(Binary::Eq, rest, zero)
    }

    fn unsigned(&mut self, value: i64) -> ExprId {
        let ty = Type::scalar(DType::U64);
        self.graph.add(Expr::Const(Const::Ints(DType::U64, vec![], vec![value])), ty)
    }

    /// The bytes of the file that the field `path` names.
    pub(crate) fn read(&mut self) -> ExprId {
        let path = self.field("path");
        self.of("read_file", path, Type::scalar(DType::Bytes))
    }

    /// A picture `u8[?, ?, 3]` from the bytes of a JPEG.
    pub(crate) fn decoded(&mut self, jpeg: ExprId) -> ExprId {
        self.call("decode", &[Arg::Expr(jpeg), Arg::Bool(false)], picture())
    }

    /// A picture `f32[3, 8, 8]` from the bytes of a JPEG.
    pub(crate) fn prepared(&mut self, jpeg: ExprId) -> ExprId {
        let image = self.decoded(jpeg);
        let args = [Arg::Expr(image), Arg::Int(8)];
        let small = self.call("resize", &args, Type::tensor(DType::U8, &[8, 8, 3]));
        let args = [Arg::Expr(small), Arg::Int(-1)];
        let levels = self.call("normalize", &args, Type::tensor(DType::F32, &[8, 8, 3]));
        self.of("channels_first", levels, Type::tensor(DType::F32, &[3, 8, 8]))
    }
}

/// `u8[?, ?, 3]`
pub(crate) fn picture() -> Type {
    let shape = vec![Extent::Unknown, Extent::Unknown, Extent::Known(3)];
    Type::Tensor { dtype: DType::U8, shape }
}

fn named(fields: &[(&str, Type)]) -> Vec<Field> {
    fields.iter().map(|(name, ty)| Field { name: (*name).into(), ty: ty.clone() }).collect()
}

fn rows(field: &Field, size: u64) -> Field {
    let Type::Tensor { dtype, shape } = field.ty.clone() else { return field.clone() };
    let shape = [Extent::Known(size)].into_iter().chain(shape).collect();
    Field { name: field.name.clone(), ty: Type::Tensor { dtype, shape } }
}
