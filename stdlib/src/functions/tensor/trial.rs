//! One call of a function, for tests: checked, built and run as the compiler and the runtime do.

use super::numbers::{Number, Wide, by_dtype};
use crate::Function;
use crate::prelude::*;
use plan::{Expr, ExprId, Graph};
use runtime::{Element, Philox, Scratch};
use std::{ops::Range, sync::Arc};

/// A call in the making: one argument after the other.
pub(crate) struct Trial<'a> {
    function: &'static Function,
    args: Vec<Given<'a>>,
    sources: Vec<Arc<dyn runtime::Source>>,
    unknown: bool,
}

#[derive(Clone)]
enum Given<'a> {
    Known(Arg),
    Value(Tensor<'a>, Option<Type>),
    List(Vec<Tensor<'a>>),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Value {
    /// These elements.
    pub(crate) fn of<T: Element>(shape: &[usize], elements: &[T]) -> Self {
        Self::from(Tensor::new(shape, elements))
    }

    /// This text.
    pub(crate) fn text(text: &str) -> Self {
        Self::from(Tensor::text(DType::Str, text.as_bytes()))
    }

    /// These bytes.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self::from(Tensor::text(DType::Bytes, bytes))
    }

    /// What a tensor holds.
    pub(crate) fn from(tensor: Tensor<'_>) -> Self {
        let mut bytes = vec![0; tensor.bytes()];
        tensor.copy_to(&mut bytes);
        Self { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), bytes }
    }

    /// Its elements as numbers.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        by_dtype!(self.dtype, T => self.to_vec::<T>().into_iter().map(|it| it.total().to_f64()).collect())
    }

    /// Its elements.
    pub(crate) fn to_vec<T: Element>(&self) -> Vec<T> {
        assert_eq!(self.dtype, T::DTYPE);
        let each = self.bytes.chunks_exact(size_of::<T>());
        // SAFETY: the bytes are those of elements of that type.
        each.map(|it| unsafe { it.as_ptr().cast::<T>().read_unaligned() }).collect()
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn of(function: &'static Function) -> Self {
        Self { function, args: Vec::new(), sources: Vec::new(), unknown: false }
    }

    /// An argument that the compiler knows.
    pub(crate) fn arg(mut self, arg: Arg) -> Self {
        self.args.push(Given::Known(arg));
        self
    }

    /// A value of the record.
    pub(crate) fn value(mut self, tensor: Tensor<'a>) -> Self {
        self.args.push(Given::Value(tensor, None));
        self
    }

    /// A text of the record.
    pub(crate) fn text(self, text: &'a str) -> Self {
        self.value(Tensor::text(DType::Str, text.as_bytes()))
    }

    /// Untyped data of the record.
    pub(crate) fn untyped(mut self, json: &'a str) -> Self {
        let tensor = Tensor::text(DType::Str, json.as_bytes());
        self.args.push(Given::Value(tensor, Some(Type::Untyped(Untyped::Json))));
        self
    }

    /// A value of the record of this type.
    pub(crate) fn value_of(mut self, tensor: Tensor<'a>, ty: Type) -> Self {
        self.args.push(Given::Value(tensor, Some(ty)));
        self
    }

    /// Untyped data of another kind.
    pub(crate) fn untyped_as(mut self, bytes: &'a str, kind: Untyped) -> Self {
        let tensor = Tensor::text(kind.dtype(), bytes.as_bytes());
        self.args.push(Given::Value(tensor, Some(Type::Untyped(kind))));
        self
    }

    /// Several values of the record.
    pub(crate) fn list(mut self, all: &[Tensor<'a>]) -> Self {
        self.args.push(Given::List(all.to_vec()));
        self
    }

    /// A source that `Arg::Sources` names.
    pub(crate) fn source(mut self, source: Arc<dyn runtime::Source>) -> Self {
        self.sources.push(source);
        self
    }

    /// The compiler does not know the extents of values.
    pub(crate) fn unknown(mut self) -> Self {
        self.unknown = true;
        self
    }

    /// The message with which the checker refuses it.
    pub(crate) fn refused(&self) -> String {
        let (graph, args) = self.checked();
        self.result(&graph, &args).expect_err("the checker refuses this")
    }

    /// The value of one record.
    pub(crate) fn run(&self) -> Result<Value, Fault> {
        self.draw(&mut Philox::new(1, 2, 3))
    }

    /// The value of one record, with these random numbers.
    pub(crate) fn draw(&self, random: &mut Philox) -> Result<Value, Fault> {
        let (graph, args) = self.checked();
        let ty = self.result(&graph, &args).unwrap_or_else(|it| panic!("refused: {it}"));
        let types: Vec<Option<Type>> = args.iter().map(|it| type_of(it, &graph)).collect();
        let (types, sources) = (&types[..], &self.sources[..]);
        let call = Call { args: &args, types, result: &ty, sources, outside: None };
        let kernel = self.function.build.expect("it has a kernel")(&call).expect("it is built");
        let value = self.run_kernel(&kernel, random)?;
        if self.function.entry.result.is_some() {
            assert!(fits(&ty, &value), "{value:?} is no {ty}");
        }
        Ok(value)
    }

    fn run_kernel(&self, kernel: &Kernel, random: &mut Philox) -> Result<Value, Fault> {
        let knowns: Vec<Known> = self.args.iter().map(Known::of).collect();
        let mut tensors: Vec<Tensor<'_>> = knowns.iter().map(Known::tensor).collect();
        let mut lists: Vec<(usize, Range<usize>)> = Vec::new();
        for (i, given) in self.args.iter().enumerate() {
            match given {
                Given::Known(_) => {}
                Given::Value(value, _) => tensors[i] = *value,
                Given::List(all) => {
                    lists.push((i, tensors.len()..tensors.len() + all.len()));
                    tensors.extend(all);
                }
            }
        }
        let args = Args::with_lists(&tensors, &lists);
        let mut register = Scratch::new();
        let mut out = Out::grow(&mut register);
        if let Kernel::View(run) = kernel {
            return Ok(Value::from(run(&args)?));
        }
        kernel.write(random, &args, &mut out)?;
        Ok(Value::from(register.tensor()))
    }

    fn result(&self, graph: &Graph, args: &[Arg]) -> Result<Type, String> {
        let applied = Applied { args, graph, inputs: &[], names: &[], found: &[] };
        self.function.entry.result.map_or(Ok(Type::scalar(DType::F32)), |it| it(&applied))
    }

    fn checked(&self) -> (Graph, Vec<Arg>) {
        let mut graph = Graph::default();
        let args = self.args.iter().map(|it| self.argument(it, &mut graph)).collect();
        (graph, args)
    }

    fn argument(&self, given: &Given<'_>, graph: &mut Graph) -> Arg {
        let mut column = |tensor: &Tensor<'_>, ty: Option<&Type>| -> ExprId {
            let number = graph.len() as u32;
            graph.add(Expr::Column(number), ty.cloned().unwrap_or_else(|| self.type_for(tensor)))
        };
        match given {
            Given::Known(arg) => arg.clone(),
            Given::Value(tensor, ty) => Arg::Expr(column(tensor, ty.as_ref())),
            Given::List(all) => Arg::Exprs(all.iter().map(|it| column(it, None)).collect()),
        }
    }

    fn type_for(&self, tensor: &Tensor<'_>) -> Type {
        let extent = |&it: &usize| {
            if self.unknown { Extent::Unknown } else { Extent::Known(it as u64) }
        };
        let text = tensor.dtype().is_text();
        let shape = if text { &[] } else { tensor.shape() };
        Type::Tensor { dtype: tensor.dtype(), shape: shape.iter().map(extent).collect() }
    }
}

fn type_of(arg: &Arg, graph: &Graph) -> Option<Type> {
    match arg {
        Arg::Expr(id) => Some(graph.ty(*id).clone()),
        _ => None,
    }
}

/// Whether a value is of a type.
fn fits(ty: &Type, value: &Value) -> bool {
    let extents = ty.shape().expect("functions give tensors");
    let text = value.dtype.is_text();
    let alike = |(extent, &found): (&Extent, &usize)| match extent {
        Extent::Known(n) => *n == found as u64,
        _ => true,
    };
    ty.dtype() == Some(value.dtype)
        && (text || extents.len() == value.shape.len())
        && (text || extents.iter().zip(&value.shape).all(alike))
}

/// A known argument as the runtime hands it to a kernel: a tensor.
struct Known {
    dtype: DType,
    shape: Vec<usize>,
    ints: Vec<i64>,
    floats: Vec<f64>,
    text: String,
}

impl Known {
    fn of(given: &Given<'_>) -> Self {
        let mut known = Self {
            dtype: DType::Bytes,
            shape: Vec::new(),
            ints: Vec::new(),
            floats: Vec::new(),
            text: String::new(),
        };
        match given {
            Given::Known(Arg::Int(it)) => (known.dtype, known.ints) = (DType::I64, vec![*it]),
            Given::Known(Arg::Float(it)) => (known.dtype, known.floats) = (DType::F64, vec![*it]),
            Given::Known(Arg::Interval(a, b)) => {
                (known.dtype, known.shape, known.floats) = (DType::F64, vec![2], vec![*a, *b]);
            }
            Given::Known(Arg::Text(it)) => (known.dtype, known.text) = (DType::Str, it.clone()),
            _ => {}
        }
        known
    }

    fn tensor(&self) -> Tensor<'_> {
        match self.dtype {
            DType::I64 => Tensor::new(&self.shape, &self.ints),
            DType::F64 => Tensor::new(&self.shape, &self.floats),
            DType::Str => Tensor::text(DType::Str, self.text.as_bytes()),
            _ => Tensor::nothing(),
        }
    }
}
