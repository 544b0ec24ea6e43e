//! What a function of the library gives the runtime: a kernel for one call.

use crate::{
    Builder, Element, Failure, Fault, Outside, Philox, Shape, Source, Tensor, buffer::Scratch, far,
    storage::ReadWhole,
};
pub use plan::VALUE_BYTES_MAX;
use plan::{Arg, DType, File, Type, shown_bytes};
use std::{ops::Range, slice, sync::Arc};

/// The code for one call of a function, for one record at a time.
///
/// It uses one thread, and may be called by several at once.
pub enum Kernel {
    /// Computes a value, and writes it where it will live.
    Compute(Compute),
    /// Finds a value within its first argument, and copies nothing.
    View(View),
    /// Finds a value within its first argument too, and goes on where it was left when something else was
    /// looked for in it.
    Seek(Seek),
    /// Gives its first argument as it is, once it has done what the others say.
    Pass(PassFn),
    /// Says how many elements its first argument has along an axis.
    Extent(usize),
    /// Draws random numbers: the same for the same seed, epoch, record and place.
    Draw(DrawFn),
    /// Computes a part of what its first argument holds, and uses an index of that, or makes one.
    Indexed(IndexedFn),
    /// Reads the object whose path is its first argument: of many records at once, where the storage is far.
    Read(ReadWhole),
}

/// Reads the arguments, writes the result.
pub type Compute = Box<dyn Fn(&Args<'_>, &mut Out<'_>) -> Result<(), Fault> + Send + Sync>;
/// Finds the result within the arguments.
pub type View = Box<dyn for<'a> Fn(&Args<'a>) -> Result<Tensor<'a>, Fault> + Send + Sync>;
/// Finds the result within the arguments, by what is known of the first one.
pub type Seek =
    Box<dyn for<'a> Fn(&Args<'a>, &mut Skimmed) -> Result<Tensor<'a>, Fault> + Send + Sync>;
/// Does what the arguments but the first say; that one may not be there.
pub type PassFn = Box<dyn Fn(&Args<'_>) -> Result<(), Fault> + Send + Sync>;
/// Draws the result.
pub type DrawFn =
    Box<dyn Fn(&mut Philox, &Args<'_>, &mut Out<'_>) -> Result<(), Fault> + Send + Sync>;
/// Computes the result, the same with an index and without.
pub type IndexedFn =
    Box<dyn Fn(&Args<'_>, SideIndex<'_>, &mut Out<'_>) -> Result<(), Fault> + Send + Sync>;

/// An index of an argument: where in it what lies.
#[derive(Debug)]
pub enum SideIndex<'a> {
    /// There is none, and none is wanted.
    Absent,
    /// It was made when the same argument came before; empty where none can be made of it.
    Known(&'a [u8]),
    /// One is wanted, if it can be made: it is put here.
    Wanted(&'a mut Vec<u8>),
}

/// How far an argument was skimmed while things were looked for in it, and what was passed. It saves time and no
/// more: what is found with it is what would be found from the start.
#[derive(Debug, Default)]
pub struct Skimmed {
    /// Bytes behind the last part that was passed; 0 where nothing was.
    pub at: usize,
    /// The parts that were passed, from the first on.
    pub parts: Vec<Skim>,
}

/// A part of an argument that was passed: where its name and its value lie.
#[derive(Debug, Clone)]
pub struct Skim {
    /// Bytes of the name.
    pub name: Range<usize>,
    /// Bytes of the value.
    pub value: Range<usize>,
}

impl Skimmed {
    /// The most parts that are remembered.
    pub const PARTS_MAX: usize = 64;

    /// Forgets what is known: another argument comes.
    pub fn clear(&mut self) {
        self.at = 0;
        self.parts.clear();
    }
}

impl Kernel {
    /// A kernel that computes.
    pub fn compute(
        f: impl Fn(&Args<'_>, &mut Out<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::Compute(Box::new(f))
    }

    /// A kernel that finds a view.
    pub fn view(
        f: impl for<'a> Fn(&Args<'a>) -> Result<Tensor<'a>, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::View(Box::new(f))
    }

    /// A kernel that finds a view, and goes on where others were left.
    pub fn seek(
        f: impl for<'a> Fn(&Args<'a>, &mut Skimmed) -> Result<Tensor<'a>, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::Seek(Box::new(f))
    }

    /// A kernel that gives its first argument as it is.
    pub fn pass(f: impl Fn(&Args<'_>) -> Result<(), Fault> + Send + Sync + 'static) -> Self {
        Self::Pass(Box::new(f))
    }

    /// A kernel that draws.
    pub fn draw(
        f: impl Fn(&mut Philox, &Args<'_>, &mut Out<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::Draw(Box::new(f))
    }

    /// A kernel that makes an index, or uses it.
    pub fn indexed(
        f: impl Fn(&Args<'_>, SideIndex<'_>, &mut Out<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::Indexed(Box::new(f))
    }

    /// Computes the result; `draws` are the numbers of the place and the record.
    ///
    /// # Errors
    /// What is wrong with the arguments.
    pub fn write(
        &self,
        draws: &mut Philox,
        args: &Args<'_>,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        match self {
            Self::Compute(compute) => compute(args, out),
            Self::Extent(axis) => out.scalar(args.tensor(0).shape()[*axis] as i64),
            Self::Draw(draw) => draw(draws, args, out),
            Self::View(view) => out.copy(&view(args)?),
            Self::Seek(seek) => out.copy(&seek(args, &mut Skimmed::default())?),
            Self::Pass(work) => work(args).and_then(|()| out.copy(&args.tensor(0))),
            Self::Indexed(make) => make(args, SideIndex::Absent, out),
            Self::Read(whole) => whole.read(args.tensor(0).as_str(), out),
        }
    }
}

/// What is known of a call when its kernel is made.
pub struct Call<'a> {
    /// One for each parameter of the signature, in order.
    pub args: &'a [Arg],
    /// The types of those that are values of the record.
    pub types: &'a [Option<Type>],
    /// The type of the result.
    pub result: &'a Type,
    /// The sources that an argument of `Arg::Sources` names.
    pub sources: &'a [Arc<dyn Source>],
    /// Who has the functions that stand outside of the program, if anybody has.
    pub outside: Option<&'a dyn Outside>,
}

impl Call<'_> {
    /// The word given for parameter `i`; the checker has seen to it that there is one.
    pub fn word(&self, i: usize) -> &str {
        match &self.args[i] {
            Arg::Word(it) | Arg::Text(it) => it,
            other => unreachable!("argument {i} was checked to be a word, not {other:?}"),
        }
    }

    /// Whether parameter `i` is `true`.
    pub fn bool(&self, i: usize) -> bool {
        matches!(self.args[i], Arg::Bool(true))
    }

    /// Whether parameter `i` was left out and has no default.
    pub fn absent(&self, i: usize) -> bool {
        matches!(self.args[i], Arg::None)
    }

    /// The file that parameter `i` is; the checker has seen to it that there is one.
    pub fn file(&self, i: usize) -> &File {
        match &self.args[i] {
            Arg::File(it) => it,
            other => unreachable!("argument {i} was checked to be a file, not {other:?}"),
        }
    }

    /// The numbers of a list, or the one number, known when the kernel is made.
    pub fn floats(&self, i: usize) -> Option<Vec<f64>> {
        floats(&self.args[i])
    }

    /// The dtype of argument `i`, a value of the record.
    pub fn dtype(&self, i: usize) -> Option<DType> {
        self.types[i].as_ref().and_then(Type::dtype)
    }
}

fn floats(arg: &Arg) -> Option<Vec<f64>> {
    match arg {
        Arg::Int(it) => Some(vec![*it as f64]),
        Arg::Float(it) => Some(vec![*it]),
        Arg::Interval(low, high) => Some(vec![*low, *high]),
        Arg::List(all) => all.iter().map(|it| floats(it)?.first().copied()).collect(),
        _ => None,
    }
}

/// The arguments of one call, for one record.
///
/// Every parameter has its place: numbers, lists of numbers and intervals that the compiler
/// knew come as tensors too (i64 or f64), so that a kernel need not ask which it is. What is
/// no value (words, what was left out) is [`Tensor::nothing`].
pub struct Args<'a> {
    pub(crate) tensors: &'a [Tensor<'a>],
    pub(crate) lists: &'a [(usize, Range<usize>)],
}

impl<'a> Args<'a> {
    /// Arguments for the tests of kernels: one tensor for each parameter.
    pub fn of(tensors: &'a [Tensor<'a>]) -> Self {
        Self { tensors, lists: &[] }
    }

    /// The same, where some parameters take lists: their numbers, and where in `tensors` they lie.
    pub fn with_lists(tensors: &'a [Tensor<'a>], lists: &'a [(usize, Range<usize>)]) -> Self {
        Self { tensors, lists }
    }

    /// The value of parameter `i`.
    pub fn tensor(&self, i: usize) -> Tensor<'a> {
        self.tensors[i]
    }

    /// The values of parameter `i`, which takes a list of values.
    pub fn list(&self, i: usize) -> &'a [Tensor<'a>] {
        let range = self.lists.iter().find(|(it, _)| *it == i).map(|(_, it)| it.clone());
        range.map_or(&[], |it| &self.tensors[it])
    }

    /// The whole number that parameter `i` is.
    pub fn int(&self, i: usize) -> i64 {
        self.tensors[i].int()
    }

    /// The number that parameter `i` is.
    pub fn float(&self, i: usize) -> f64 {
        self.tensors[i].number()
    }

    /// Both ends of the interval that parameter `i` is.
    pub fn interval(&self, i: usize) -> (f64, f64) {
        let ends = self.tensors[i];
        (ends.element(0).number(), ends.element(1).number())
    }

    /// The whole number that parameter `i` is, as a size from 1 to `most`.
    pub fn size(&self, i: usize, most: usize) -> Result<usize, Fault> {
        let found = self.int(i);
        let size = usize::try_from(found).ok().filter(|it| (1..=most).contains(it));
        size.ok_or_else(|| {
            Fault::new("size", format!("expected a size from 1 to {most}, found {found}"))
        })
    }
}

/// Bytes of a row of a batch that is taken to be larger than the caches.
const FAR_BYTES: usize = 64 << 10;

/// Where a kernel writes its result: a row of the batch, or a register.
pub struct Out<'a> {
    place: Place<'a>,
}

enum Place<'a> {
    /// Exactly this room: the type has fixed extents.
    Slot { dtype: DType, shape: Shape, room: &'a mut [u8] },
    /// As much as it takes.
    Grow(&'a mut Scratch),
    /// A new row of a column; the one before, where the result was begun already.
    Row { column: &'a mut Builder, rows: usize, bytes: usize },
}

impl<'a> Out<'a> {
    /// Room of fixed extents.
    pub fn slot(dtype: DType, shape: Shape, room: &'a mut [u8]) -> Self {
        debug_assert_eq!(room.len(), shape.elements() * dtype.size());
        Self { place: Place::Slot { dtype, shape, room } }
    }

    /// A register, which grows.
    pub fn grow(register: &'a mut Scratch) -> Self {
        Self { place: Place::Grow(register) }
    }

    /// The next row of a column.
    pub fn row(column: &'a mut Builder) -> Self {
        let (rows, bytes) = (column.rows(), column.bytes());
        Self { place: Place::Row { column, rows, bytes } }
    }

    /// Bytes of what was written.
    pub fn bytes(&self) -> usize {
        match &self.place {
            Place::Slot { room, .. } => room.len(),
            Place::Grow(register) => register.tensor().bytes(),
            Place::Row { column, bytes, .. } => column.bytes() - bytes,
        }
    }

    /// What was written, which has no gaps.
    pub(crate) fn written(&self) -> &[u8] {
        match &self.place {
            Place::Slot { room, .. } => room,
            Place::Grow(register) => register.tensor().as_bytes().unwrap_or_default(),
            Place::Row { column, bytes, .. } => &column.written()[*bytes..],
        }
    }

    /// Whether nobody looks at the result soon, and all of them are more than caches hold: it
    /// is a row of a batch. It may be written past the caches.
    pub fn is_far(&self) -> bool {
        matches!(&self.place, Place::Slot { room, .. } if room.len() >= FAR_BYTES)
    }

    /// Room for the elements of the result in C order; what it holds is not defined.
    ///
    /// The dtype is the type's; the extents must be the type's where it fixes them.
    pub fn tensor<T: Element>(&mut self, shape: &[usize]) -> Result<&mut [T], Fault> {
        let room = self.room(T::DTYPE, Shape::new(shape))?;
        // SAFETY: rooms are aligned for their dtype, and hold that many elements.
        Ok(unsafe {
            slice::from_raw_parts_mut(room.as_mut_ptr().cast(), room.len() / size_of::<T>())
        })
    }

    /// Writes a scalar.
    pub fn scalar<T: Element>(&mut self, value: T) -> Result<(), Fault> {
        self.tensor::<T>(&[])?[0] = value;
        Ok(())
    }

    /// Writes text or bytes.
    pub fn text(&mut self, dtype: DType, bytes: &[u8]) -> Result<(), Fault> {
        self.room(dtype, Shape::new(&[bytes.len()]))?.copy_from_slice(bytes);
        Ok(())
    }

    /// Writes a copy of `tensor`, in C order.
    pub fn copy(&mut self, tensor: &Tensor<'_>) -> Result<(), Fault> {
        let is_far = self.is_far();
        let room = self.room(tensor.dtype(), Shape::new(tensor.shape()))?;
        match tensor.as_bytes().filter(|_| is_far) {
            Some(bytes) => far::copy(room, bytes),
            None => tensor.copy_to(room),
        }
        Ok(())
    }

    /// Room for a tensor of any dtype, as bytes.
    pub fn room(&mut self, dtype: DType, shape: Shape) -> Result<&mut [u8], Fault> {
        match &mut self.place {
            Place::Slot { dtype: fixed, shape: expected, room } => {
                assert_eq!(*fixed, dtype, "a kernel writes the dtype of its type");
                same_extents(shape, *expected)?;
                Ok(room)
            }
            Place::Grow(register) => register.claim(dtype, shape),
            Place::Row { column, rows, .. } => {
                assert_eq!(column.dtype(), dtype, "a kernel writes the dtype of its type");
                same_extents(shape, column.fixed().unwrap_or(shape))?;
                if shape.bytes(dtype.size()).is_none_or(|it| it > VALUE_BYTES_MAX) {
                    return Err(too_large(dtype, shape));
                }
                column.truncate(*rows);
                Ok(column.room(shape))
            }
        }
    }
}

/// The fault of a value that is larger than any may be.
pub(crate) fn too_large(dtype: DType, shape: Shape) -> Fault {
    let bytes = shape.iter().fold(dtype.size() as u64, |it, &n| it.saturating_mul(n as u64));
    let (bytes, most) = (shown_bytes(bytes), shown_bytes(VALUE_BYTES_MAX as u64));
    Fault::new("too-large", format!("a {dtype}{shape:?} takes {bytes}, but the limit is {most}"))
}

fn same_extents(found: Shape, expected: Shape) -> Result<(), Fault> {
    if found == expected {
        return Ok(());
    }
    Err(Fault::new("extents", format!("expected the extents {expected:?}, found {found:?}")))
}

/// Makes the kernel of one call; what it refuses is a failure of the run.
pub type Build = fn(&Call<'_>) -> Result<Kernel, Failure>;
