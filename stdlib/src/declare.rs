//! The form in which a file of the library states what its entry is.

/// States what a function is; `fn build(&Call) -> Result<Kernel, Failure>` follows.
///
/// Fields of [`plan::Entry`] that are left out have the value for "nothing special". Behind them, and a semicolon,
/// stands `reads: FUNCTION` where people can read what it gives.
macro_rules! function {
    ($(#[doc = $doc:literal])+ $signature:literal, $($field:ident: $value:expr),* $(,)?
     $(; reads: $reads:expr $(,)?)?) => {
        /// The entry of this file.
        pub(crate) static ENTRY: $crate::Function = $crate::Function {
            entry: $crate::declare::entry!(concat!($($doc, "\n"),+), $signature, $($field: $value),*),
            build: Some(build),
            reads: $crate::declare::given!($($reads)?),
        };
    };
}

/// States what a function is that the expression language itself computes.
macro_rules! intrinsic {
    ($(#[doc = $doc:literal])+ $signature:literal, $($field:ident: $value:expr),* $(,)?) => {
        $crate::Function {
            entry: $crate::declare::entry!(concat!($($doc, "\n"),+), $signature, $($field: $value),*),
            build: None,
            reads: None,
        }
    };
}

/// States what an operator is; `fn build(&OperatorCall) -> Result<Running, Failure>` follows.
macro_rules! operator {
    ($(#[doc = $doc:literal])+ $signature:literal, $($field:ident: $value:expr),* $(,)?) => {
        /// The entry of this file.
        pub(crate) static ENTRY: $crate::Operator = $crate::Operator {
            entry: $crate::declare::entry!(concat!($($doc, "\n"),+), $signature, $($field: $value),*),
            build,
        };
    };
}

/// States what a source is; `fn build(&SourceCall) -> Result<Arc<dyn Source>, Failure>` follows.
///
/// Behind the fields of the [`plan::Entry`], and a semicolon, stands `probe: FUNCTION` where files must be looked
/// at to know the fields of the records, and behind that `of_text: FUNCTION` where these are named by a line of text.
macro_rules! source {
    ($(#[doc = $doc:literal])+ $signature:literal, $($field:ident: $value:expr),* $(,)?
     $(; probe: $probe:expr $(, of_text: $of_text:expr)? $(,)?)?) => {
        /// The entry of this file.
        pub(crate) static ENTRY: $crate::Source = $crate::Source {
            entry: $crate::declare::entry!(concat!($($doc, "\n"),+), $signature, $($field: $value),*),
            build,
            probe: $crate::declare::given!($($probe)?),
            of_text: $crate::declare::given!($($($of_text)?)?),
        };
    };
}

/// What was given, if anything was.
macro_rules! given {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

macro_rules! entry {
    ($doc:expr, $signature:literal, $($field:ident: $value:expr),*) => {
        plan::Entry {
            $($field: $value,)*
            ..$crate::declare::plain($signature, $doc)
        }
    };
}

pub(crate) use {entry, function, given, intrinsic, operator, source};

/// An entry without anything special.
pub(crate) const fn plain(signature: &'static str, doc: &'static str) -> plan::Entry {
    plan::Entry {
        signature,
        doc,
        version: 1,
        cost: plan::Cost::call(20.0),
        work: 0.0,
        properties: &[],
        intrinsic: None,
        result: None,
        fields: None,
    }
}
