//! The functions outside that a program calls, such as those of Python.

use plan::{DType, Foreign, ForeignSource};
use runtime::{
    ChunkBuilder, Failure, Fault, ForeignFunction, Kernels, Outside, Source, SourceCall, Tensor,
};
use std::sync::Arc;

/// Who has them, if anybody has.
#[derive(Debug, Clone, Default)]
pub struct Functions(pub Option<Arc<dyn Outside>>);

impl PartialEq for Functions {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl Functions {
    /// The library with them.
    pub(crate) fn kernels(&self) -> Box<dyn Kernels> {
        match &self.0 {
            Some(outside) => Box::new(stdlib::WithOutside(outside.clone())),
            None => Box::new(stdlib::Kernels),
        }
    }

    /// Processes that they are called in; 0: this one.
    pub(crate) fn processes(&self) -> u32 {
        let processes = self.0.as_ref().map_or(0, |it| it.processes());
        u32::try_from(processes).unwrap_or(u32::MAX)
    }

    /// The library for a program that is looked at and not run: nobody has to have its functions.
    pub(crate) fn unneeded() -> impl Kernels {
        stdlib::WithOutside(Arc::new(Nobody))
    }
}

/// Says that every function is there, and can call none.
#[derive(Debug)]
struct Nobody;

impl Outside for Nobody {
    fn function(&self, _: &Foreign, _: DType) -> Result<Arc<dyn ForeignFunction>, Failure> {
        Ok(Arc::new(Self))
    }

    fn source(&self, _: &ForeignSource, _: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
        Ok(Arc::new(Self))
    }

    fn during(&self, work: &mut dyn FnMut()) {
        work();
    }
}

impl Source for Nobody {
    fn len(&self) -> Result<u64, Failure> {
        Err(uncalled())
    }

    fn fetch(&self, _: &[u64], _: &mut ChunkBuilder) -> Result<(), Failure> {
        Err(uncalled())
    }
}

fn uncalled() -> Failure {
    Failure::Program("Python sources are not read when a program is only inspected".to_owned())
}

impl ForeignFunction for Nobody {
    fn call(
        &self,
        _: Option<u64>,
        _: &[Tensor<'_>],
        _: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        Err(Fault::new(
            "foreign",
            "Python functions are not called when a program is only inspected",
        ))
    }
}
