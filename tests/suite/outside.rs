//! Functions that stand outside of a program: ours stand in for those of Python. Each case is compared
//! with the plain one-thread plan, as `pipec verify` does; what it shows are the stages of its program.

use crate::cases::compiled_as;
use driver::{
    Functions, Settings, program_text,
    verify::{VerifyOptions, verify},
};
use plan::{DType, Foreign, mix};
use runtime::{Failure, Fault, ForeignFunction, Outside, Tensor};
use std::{path::Path, sync::Arc};

/// Optimised in any way it gives what the plain plan gives; and how its stages follow each other.
pub(crate) fn case(path: &Path, source: &str) -> Result<String, String> {
    let mut compiled = compiled_as(path, source, Settings::default())?;
    compiled.functions = Functions(Some(Arc::new(Ours)));
    let options = VerifyOptions { pairs: 3, workers: 3, ..VerifyOptions::default() };
    let mut said = String::new();
    let same = verify(&compiled, &options, &mut |_| {}, &mut |pair| {
        said = format!("{} outputs\n", pair.outputs);
        said += &pair.difference.as_ref().map(|it| format!("{it:?}\n")).unwrap_or_default();
    });
    match same {
        Ok(true) => Ok(stages(&program_text(&compiled.program)) + &said),
        Ok(false) => Err(said),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The lines of a program that say what its stages are, and what they call.
fn stages(text: &str) -> String {
    let told = |it: &&str| it.starts_with('s') || it.contains("extern(");
    text.lines().filter(told).map(|it| format!("{it}\n")).collect()
}

#[derive(Debug)]
struct Ours;

/// A function by its name.
struct Function(String);

impl Outside for Ours {
    fn function(&self, which: &Foreign, _: DType) -> Result<Arc<dyn ForeignFunction>, Failure> {
        Ok(Arc::new(Function(which.name.clone())))
    }

    fn during(&self, work: &mut dyn FnMut()) {
        work();
    }
}

impl ForeignFunction for Function {
    fn call(
        &self,
        seed: Option<u64>,
        args: &[Tensor<'_>],
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let int = |i: usize| args[i].int();
        match self.0.as_str() {
            "twice" => take(&Tensor::new(&[], &[2 * int(0)])),
            "drawn" => take(&Tensor::new(&[], &[(mix(seed.unwrap_or(0), 7) % 1000) as i64])),
            "picky" if int(0) % 5 == 3 => {
                Err(Fault::new("outside", format!("{} is refused", int(0))))
            }
            "picky" => take(&args[0]),
            "inverted" => {
                let mut bytes = vec![0; args[0].bytes()];
                args[0].copy_to(&mut bytes);
                bytes.iter_mut().for_each(|it| *it = 255 - *it);
                take(&Tensor::new(args[0].shape(), &bytes))
            }
            other => Err(Fault::new("outside", format!("there is no `{other}`"))),
        }
    }
}
