//! Names that people bring from PyTorch, tf.data, DALI, pandas and others, and what is written here instead.
//!
//! One table (`rows.rs`) serves everybody who meets an unknown name: the parser at `x.filter(…)` and
//! `np.float32`, the checker at calls, names and arguments, the command line at flags, `pipec doc`. Names are
//! compared without regard to case and `_`, and modules are left out, so that a row with `random_horizontal_flip`
//! is also for `transforms.RandomHorizontalFlip`.

mod rows;

pub use rows::ROWS;

/// A row of the table: some names that mean the same elsewhere, and what is written here.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Where such a name is written.
    pub place: Place,
    /// What has these names, for people.
    pub from: &'static str,
    /// The names, as they are spelled there, without their modules.
    pub names: &'static [&'static str],
    /// What a machine may do.
    pub change: Change,
    /// What is written here, or why nothing has to be; a help without a full stop.
    pub help: &'static str,
}

/// Where a foreign name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A call or a stage.
    Name,
    /// A value by itself.
    Value,
    /// An argument of any call.
    Argument,
    /// An argument of our function or operator of this name.
    ArgumentOf(&'static str),
    /// A flag of the command line.
    Flag,
}

/// What a machine may do about a foreign name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing: a person has to see to it.
    Told,
    /// Write this name instead; what follows it stays.
    Renamed(&'static str),
    /// Take it away: a stage, or an argument.
    Gone,
    /// Write the first in place of an argument that is `true`, the second for `false`.
    Truth(&'static str, &'static str),
}

/// Modules that are imported elsewhere; there are none here.
static MODULES: [&str; 22] = [
    "tf",
    "np",
    "numpy",
    "torch",
    "torchvision",
    "nn",
    "jnp",
    "jax",
    "pd",
    "pl",
    "nvidia",
    "fn",
    "wds",
    "datasets",
    "transforms",
    "v2",
    "T",
    "F",
    "A",
    "cv2",
    "PIL",
    "math",
];

/// Whether `name` is that of a module elsewhere.
#[must_use]
pub fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// What is written here for whatever has this name; its modules may stand before it.
#[must_use]
pub fn of_name(name: &str) -> Option<Row> {
    let parts: Vec<&str> = name.split('.').collect();
    // `readers.file` is looked for before `file`.
    let named = |it| matches!(it, Place::Name | Place::Value);
    (0..parts.len()).find_map(|from| find(&parts[from..].join("."), named))
}

/// What is written here for a value of this name, which is not called.
#[must_use]
pub fn of_value(name: &str) -> Option<Row> {
    find(name, |it| it == Place::Value)
}

/// What is written here for an argument of this name, in a call of `call`.
#[must_use]
pub fn of_argument(call: &str, name: &str) -> Option<Row> {
    let own = |it| matches!(it, Place::ArgumentOf(of) if of == call);
    find(name, own).or_else(|| find(name, |it| it == Place::Argument))
}

/// What is written here for an argument of this name, in whichever call: a row for each.
#[must_use]
pub fn of_arguments(name: &str) -> Vec<Row> {
    let wanted = plain(name);
    let is = |row: &&Row| {
        matches!(row.place, Place::Argument | Place::ArgumentOf(_))
            && row.names.iter().any(|it| plain(it) == wanted)
    };
    ROWS.iter().filter(is).copied().collect()
}

/// What is written here for a flag of the command line, such as `--num-workers`.
#[must_use]
pub fn of_flag(flag: &str) -> Option<Row> {
    find(flag.trim_start_matches('-'), |it| it == Place::Flag)
}

/// The dtype that people from NumPy and PyTorch know under another name.
#[must_use]
pub fn of_dtype(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" | "float32" => "f32",
        "double" | "float64" => "f64",
        "half" | "float16" => "f16",
        "bfloat16" => "bf16",
        "uint8" | "byte" => "u8",
        "uint16" => "u16",
        "uint32" => "u32",
        "uint64" => "u64",
        "int8" => "i8",
        "int16" | "short" => "i16",
        "int" | "int32" => "i32",
        "long" | "int64" => "i64",
        "string" | "text" | "object" => "str",
        "boolean" => "bool",
        _ => return None,
    })
}

fn find(name: &str, fits: impl Fn(Place) -> bool) -> Option<Row> {
    let wanted = plain(name);
    let is = |row: &&Row| fits(row.place) && row.names.iter().any(|it| plain(it) == wanted);
    ROWS.iter().find(is).copied()
}

/// A name as it is compared: `RandomCrop`, `random_crop` and `--random-crop` are one.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|it| !matches!(it, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helps(row: Option<Row>) -> &'static str {
        row.map_or("", |it| it.help)
    }

    #[test]
    fn spellings_and_modules_make_no_difference() {
        let filter = helps(of_name("filter"));
        assert!(filter.contains("`where`"));
        assert_eq!(helps(of_name("tf.data.Dataset.filter")), filter);
        let flip = helps(of_name("RandomHorizontalFlip"));
        assert!(flip.contains("`random_flip`"));
        assert_eq!(helps(of_name("v2.random_horizontal_flip")), flip);
        assert_ne!(helps(of_name("fn.readers.file")), helps(of_name("file")));
    }

    #[test]
    fn arguments_belong_to_calls() {
        assert_eq!(
            of_argument("random_resized_crop", "scale").map(|it| it.change),
            Some(Change::Renamed("area"))
        );
        assert!(of_argument("batch", "scale").is_none());
        assert_eq!(of_argument("shuffle", "num_workers").map(|it| it.change), Some(Change::Gone));
    }

    #[test]
    fn no_name_stands_in_two_rows() {
        let mut seen = std::collections::BTreeSet::new();
        for row in ROWS {
            for name in row.names {
                assert!(
                    seen.insert((format!("{:?}", row.place), plain(name))),
                    "{name} comes twice"
                );
            }
        }
    }
}
