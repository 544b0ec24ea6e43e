//! What is said to the author of a program, by phase.

/// A constant for each row, and the table of all. The wrong example of a row gets the row's code and no other,
/// the right one none: a test tries them.
macro_rules! codes {
    ($($id:literal $const:ident $name:literal $text:literal $(wrong $wrong:literal right $right:literal)?)*) => {
        $(
            pub(crate) const $const: plan::CodeInfo = plan::CodeInfo {
                id: $id,
                name: $name,
                long: concat!($text $(, "\n\nWrong:\n\n    ", $wrong, "\n\nRight:\n\n    ", $right, "\n")?),
            };
        )*

        /// All of them, by number.
        pub(crate) static CODES: &[plan::CodeInfo] = &[$($const),*];
    };
}

pub(crate) mod check;
pub(crate) mod lint;
pub(crate) mod lower;
pub(crate) mod migration;
pub(crate) mod syntax;
