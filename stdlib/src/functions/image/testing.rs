//! What the tests of picture functions share: a call without a program around it.

use crate::{Function, prelude::*};
use plan::{ExprId, Graph};
use runtime::{Element, Philox, Scratch};

/// An argument: a tensor, or a constant of the call.
#[derive(Clone)]
pub(crate) enum Value {
    /// Shape, and elements in C order.
    Tensor(DType, Vec<usize>, Vec<u64>),
    /// What is known before the run.
    Known(Arg),
}

impl Value {
    /// A tensor.
    pub(crate) fn new<T: Element>(shape: &[usize], elements: &[T]) -> Self {
        assert_eq!(shape.iter().product::<usize>(), elements.len());
        let mut words = vec![0_u64; size_of_val(elements).div_ceil(8)];
        // SAFETY: the words have room for the elements, which are plain bytes.
        unsafe {
            let to = words.as_mut_ptr().cast::<T>();
            std::ptr::copy_nonoverlapping(elements.as_ptr(), to, elements.len());
        }
        Self::Tensor(T::DTYPE, shape.to_vec(), words)
    }

    /// One of the words of a parameter.
    pub(crate) fn word(word: &str) -> Self {
        Self::Known(Arg::Word(word.into()))
    }

    /// What a kernel is given in its place.
    pub(crate) fn tensor(&self) -> Tensor<'_> {
        match self {
            Self::Tensor(dtype, shape, words) => {
                let data = std::ptr::NonNull::from(&words[..]).cast();
                // SAFETY: `new` put the elements there, aligned for any dtype.
                unsafe { Tensor::from_raw(*dtype, Shape::new(shape), data) }
            }
            Self::Known(_) => Tensor::nothing(),
        }
    }
}

impl From<i64> for Value {
    fn from(it: i64) -> Self {
        Self::new(&[], &[it])
    }
}

impl From<f64> for Value {
    fn from(it: f64) -> Self {
        Self::new(&[], &[it])
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Known(Arg::Bool(it))
    }
}

/// Calls `function`: the extents and the elements of what it gives.
pub(crate) fn run<T: Element + Default>(
    function: &Function,
    args: &[Value],
) -> Result<(Vec<usize>, Vec<T>), Fault> {
    let tensors: Vec<Tensor<'_>> = args.iter().map(Value::tensor).collect();
    run_on(function, args, &tensors)
}

/// The same on tensors that may be views; of `args`, only what is known counts.
pub(crate) fn run_on<T: Element + Default>(
    function: &Function,
    args: &[Value],
    tensors: &[Tensor<'_>],
) -> Result<(Vec<usize>, Vec<T>), Fault> {
    let known = |it: &Value| match it {
        Value::Known(arg) => arg.clone(),
        Value::Tensor(..) => Arg::Expr(ExprId(0)),
    };
    let known: Vec<Arg> = args.iter().map(known).collect();
    let any = |it: &Tensor<'_>| Type::Tensor {
        dtype: it.dtype(),
        shape: vec![Extent::Unknown; it.shape().len()],
    };
    let types: Vec<Option<Type>> = tensors.iter().map(|it| Some(any(it))).collect();
    let result = Type::Tensor { dtype: T::DTYPE, shape: Vec::new() };
    let call = Call { args: &known, types: &types, result: &result, sources: &[], outside: None };

    let kernel = (function.build.expect("it has a kernel"))(&call).expect("it is made");
    let mut scratch = Scratch::new();
    let mut out = Out::grow(&mut scratch);
    let args = Args::of(tensors);
    kernel.write(&mut Philox::new(1, 2, 3), &args, &mut out)?;
    let made = scratch.tensor();
    Ok((made.shape().to_vec(), made.as_slice::<T>().expect("it is of this type").to_vec()))
}

/// The type that `function` finds for a picture of type `image` and what else it is given.
pub(crate) fn typed(function: &Function, image: Type, rest: &[Arg]) -> Result<String, String> {
    let mut graph = Graph::default();
    let image = Arg::Expr(graph.add(plan::Expr::Column(0), image));
    let args: Vec<Arg> = [image].into_iter().chain(rest.iter().cloned()).collect();
    let call = Applied { args: &args, graph: &graph, inputs: &[], names: &[], found: &[] };
    let result = function.entry.result.expect("it finds its type");
    result(&call).map(|it| it.to_string())
}

/// The pixels of a smooth picture.
pub(crate) fn plasma(seed: i64, height: i64, width: i64) -> Vec<u8> {
    let args = [seed, height, width].map(Value::from);
    run(&super::plasma::ENTRY, &args).expect("it has a size").1
}

/// The pixels of a picture of noise, the hardest case for everything that interpolates.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|it| (runtime::mix(seed, it) >> 56) as u8).collect()
}
