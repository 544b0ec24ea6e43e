//! Functions and sources that stand outside of a program: ours stand in for those of Python. Each case is compared
//! with the plain one-thread plan, as `pipec verify` does; what it shows are the stages of its program.

use crate::cases::compiled_as;
use driver::{
    Functions, Settings, program_text,
    verify::{VerifyOptions, verify},
};
use plan::{Arg, DType, Foreign, ForeignSource, mix};
use runtime::{
    ChunkBuilder, Failure, Fault, ForeignFunction, Outside, Source, SourceCall, Stream, Tensor,
};
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

    fn source(
        &self,
        which: &ForeignSource,
        call: &SourceCall<'_>,
    ) -> Result<Arc<dyn Source>, Failure> {
        let n = match which.args.as_slice() {
            [(_, Arg::Int(n))] => *n as u64,
            other => return Err(Failure::Program(format!("it is made with {other:?}"))),
        };
        let fields = call.columns.iter().map(|it| it.name.clone()).collect();
        let is_indexed = which.name == "numbered";
        Ok(Arc::new(Numbers { n, fields, is_indexed, place: call.place }))
    }

    fn during(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// A source of the numbers below `n`, each with its square; every ninth is a fault, where these are asked for.
#[derive(Clone)]
struct Numbers {
    n: u64,
    fields: Vec<String>,
    is_indexed: bool,
    place: u64,
}

impl Numbers {
    fn push(&self, number: u64, out: &mut ChunkBuilder) {
        let is_fault = number % 9 == 5 && self.fields.iter().any(|it| it == "row.fault");
        out.ids.push_scalar(mix(self.place, number));
        for (name, column) in self.fields.iter().zip(&mut out.columns) {
            match name.as_str() {
                "row.fault" if is_fault => column.push_text(b"it is refused"),
                "row.fault" => column.push_text(b""),
                _ if is_fault => column.push_nothing(),
                "square" => column.push_scalar((number * number) as i64),
                _ => column.push_scalar(number as i64),
            }
        }
    }
}

impl Source for Numbers {
    fn len(&self) -> Result<u64, Failure> {
        match self.is_indexed {
            true => Ok(self.n),
            false => Err(Failure::Program("it can only be read in order".to_owned())),
        }
    }

    fn threads(&self) -> usize {
        1
    }

    fn waits(&self) -> bool {
        true
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        numbers.iter().for_each(|it| self.push(*it, out));
        Ok(())
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        (!self.is_indexed).then(|| Box::new(Pass(self.clone(), 0)) as Box<dyn Stream>)
    }
}

/// The numbers in order, and the next one.
struct Pass(Numbers, u64);

impl Stream for Pass {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let end = (self.1 + rows as u64).min(self.0.n);
        (self.1..end).for_each(|it| self.0.push(it, out));
        self.1 = end;
        Ok(())
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
