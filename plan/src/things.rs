//! Numbers of things in messages.

/// So many things, such as `1 file`, `2 files`.
pub fn things(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", plural(n, one, many))
}

/// The word for so many things.
pub fn plural<'w>(n: u64, one: &'w str, many: &'w str) -> &'w str {
    if n == 1 { one } else { many }
}
