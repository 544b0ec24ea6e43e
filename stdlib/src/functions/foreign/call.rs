//! `extern`: a call of a function that an `extern fn` declares.

use crate::prelude::*;
use plan::{FOREIGN, Foreign};

function! {
    /// Calls a Python function that is declared with `extern fn`.
    ///
    /// This needs the Python package. Programs do not call it by name: the compiler inserts it where such a
    /// function is called. The function gets the values of one record, and its result must have the declared
    /// dtype and extents. The call is never moved past an operator, and its result is not cached across epochs,
    /// unless the function is declared `pure` with a version: `extern fn f(x: f32) pure -> f32 = "module:f@1"`.
    ///
    /// ```pipe
    /// range(4) |> map { y: scaled(f32(i), by: 2) }
    /// extern fn scaled(x: f32, by: f32) -> f32 = "ours.numbers:scaled"    # { y: f32 }
    /// ```
    "extern(name: text, target: text, version: int?, random: bool, like: list, result: type, values: values) fails -> any",
    // Assumed: a call in Python, its arguments copied to where it may keep them, its result copied back.
    cost: Cost { ns_call: 20_000.0, ns_byte_in: 0.1, ns_byte_out: 0.1, bytes_out_per_in: 1.0 },
    properties: &[Property::CallsOut],
    result: Some(result),
}

/// Where the result's type stands among the arguments, and the values.
const RESULT: usize = 5;
const VALUES: usize = 6;

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    match &applied.args[RESULT] {
        Arg::Type(ty @ Type::Tensor { .. }) => Ok(ty.clone()),
        _ => Err("it must return a tensor or text".to_owned()),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let damaged = || Failure::Program("a foreign call does not name its function".to_owned());
    let foreign = Foreign::of(FOREIGN, call.args).ok_or_else(damaged)?;
    let Type::Tensor { dtype, shape } = call.result.clone() else { return Err(damaged()) };
    let Some(outside) = call.outside else {
        return Err(Failure::Program(format!(
            "`{}` is a Python function (`{}`): run the program from Python, with `pipec.load(…)`",
            foreign.name, foreign.target
        )));
    };
    let function = outside.function(&foreign, dtype)?;
    let random = foreign.random;
    let promise = Promise { name: foreign.name, dtype, shape, like: foreign.like };
    Ok(Kernel::draw(move |draws, args, out| {
        let seed = random.then(|| draws.next_u64());
        let values = args.list(VALUES);
        function.call(seed, values, &mut |found| {
            promise.holds(found, values)?;
            match promise.dtype.is_text() {
                true => out.text(promise.dtype, found.as_text()),
                false => out.copy(found),
            }
        })
    }))
}

/// What a function has said that it gives.
struct Promise {
    name: String,
    dtype: DType,
    shape: Vec<Extent>,
    like: Vec<Option<(usize, usize)>>,
}

impl Promise {
    fn holds(&self, found: &Tensor<'_>, values: &[Tensor<'_>]) -> Result<(), Fault> {
        // Text lies as so many bytes, and is a scalar.
        let extents = if found.dtype().is_text() { &[][..] } else { found.shape() };
        let wanted = |axis: usize| match &self.shape[axis] {
            Extent::Known(n) => usize::try_from(*n).ok(),
            _ => {
                let (arg, of) = self.like.get(axis).copied().flatten()?;
                values.get(arg)?.shape().get(of).copied()
            }
        };
        let fits = found.dtype() == self.dtype
            && extents.len() == self.shape.len()
            && extents.iter().enumerate().all(|(axis, it)| wanted(axis).is_none_or(|n| n == *it));
        if fits {
            return Ok(());
        }
        let shown = |dtype: DType, all: &[String]| match all {
            [] => format!("{dtype}"),
            all => format!("{dtype}[{}]", all.join(", ")),
        };
        let found_extents: Vec<String> = extents.iter().map(usize::to_string).collect();
        let wanted: Vec<String> = (0..self.shape.len())
            .map(|axis| wanted(axis).map_or_else(|| "?".to_owned(), |it| it.to_string()))
            .collect();
        let detail = format!(
            "`{}` returned {}, but it is declared as {}",
            self.name,
            shown(found.dtype(), &found_extents),
            shown(self.dtype, &wanted)
        );
        Err(Fault::new("foreign-result", detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(dtype: DType, shape: &[Extent], like: &[Option<(usize, usize)>]) -> Promise {
        Promise { name: "f".to_owned(), dtype, shape: shape.to_vec(), like: like.to_vec() }
    }

    #[test]
    fn what_is_given_is_what_was_declared() {
        let (a, b) = ([0_u8; 12], [0_f32; 12]);
        let (image, other) = (Tensor::new(&[2, 2, 3], &a), Tensor::new(&[2, 2, 3], &b));
        let small = Tensor::new(&[1, 4, 3], &a);
        let axes = [Some((0, 0)), Some((0, 1)), None];
        let extents = [Extent::Unknown, Extent::Unknown, Extent::Known(3)];
        let it = promise(DType::U8, &extents, &axes);
        assert!(it.holds(&image, &[image]).is_ok());
        let said = |found: &Tensor<'_>| it.holds(found, &[image]).unwrap_err().detail.into_owned();
        let declared = "but it is declared as u8[2, 2, 3]";
        assert_eq!(said(&other), format!("`f` returned f32[2, 2, 3], {declared}"));
        assert_eq!(said(&small), format!("`f` returned u8[1, 4, 3], {declared}"));
        let free = promise(DType::U8, &[Extent::Unknown, Extent::Unknown], &[None, None]);
        let wrong = free.holds(&image, &[]).unwrap_err();
        assert_eq!(wrong.detail, "`f` returned u8[2, 2, 3], but it is declared as u8[?, ?]");
    }
}
