//! The functions of the library that the language itself calls: what its own forms mean.
//!
//! Everything else in the library is asked for what it says of itself ([`plan::Property`]). These are known by
//! name, since a form such as `x[i]` stands for one function and no other; a library that lacks it is told so
//! where the form is used. A rewrite that takes a value apart as the language does calls the same ones.

/// `as_type(x, type)`: `x as type`.
pub(crate) const AS_TYPE: &str = "as_type";
/// `concat(xs, 0)`: `a + b` of lists.
pub(crate) const CONCAT: &str = "concat";
/// `extent(x, axis)`: one number of `x.shape`.
pub(crate) const EXTENT: &str = "extent";
/// `gather(x, places)`: `x[places]`.
pub(crate) const GATHER: &str = "gather";
/// `len(x)`: the turns of `[… for e in x]`, and of `windows` over an axis.
pub(crate) const LEN: &str = "len";
/// `random_index(n)`: which of its values `one_of` takes.
pub(crate) const RANDOM_INDEX: &str = "random_index";
/// `read_as(x, type)`: `x as type`, where `x` still lies in a file.
pub(crate) const READ_AS: &str = "read_as";
/// `select(x, conditions)`: `x[conditions]`.
pub(crate) const SELECT: &str = "select";
/// `slice(x, axis, from, to)`: `x[from:to]`.
pub(crate) const SLICE: &str = "slice";
/// `stack(xs, 0)`: `[a, b]`, where a tensor is needed.
pub(crate) const STACK: &str = "stack";
/// `substring(x, from, to)`: `x[from:to]` of a text.
pub(crate) const SUBSTRING: &str = "substring";
/// `take_at(x, i)`: `x[i]`, one element of the first axis.
pub(crate) const TAKE_AT: &str = "take_at";
/// `text_concat(xs)`: `"{a} and {b}"`, and `a + b` of texts.
pub(crate) const TEXT_CONCAT: &str = "text_concat";
/// `text_eq(a, b)`: `a == b` of texts.
pub(crate) const TEXT_EQ: &str = "text_eq";
/// `text_lt(a, b)`: `a < b` of texts.
pub(crate) const TEXT_LT: &str = "text_lt";
/// `transpose(x, order)`: in `x[:, i]`, the axis that an element is taken of comes first.
pub(crate) const TRANSPOSE: &str = "transpose";
/// `untyped_at(x, i)`: `x[i]` of a value of unknown type.
pub(crate) const UNTYPED_AT: &str = "untyped_at";
/// `untyped_field(x, key)`: `x["key"]` of one.
pub(crate) const UNTYPED_FIELD: &str = "untyped_field";
/// `untyped_slice(x, from, to)`: `x[from:to]` of one.
pub(crate) const UNTYPED_SLICE: &str = "untyped_slice";
