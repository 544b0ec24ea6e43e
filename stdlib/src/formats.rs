//! Which source reads the files that people have, and what their records hold: for who has a path and no program yet.
//!
//! A format is one entry of `FORMATS`. Records without fields of their own (an object of JSON, a `tf.train.Example`,
//! members of an archive) are looked into, and each of their fields is given the expression that reads it.

use crate::{functions::text, records::tar};
use plan::{is_field_name, name_for, text_literal};
use runtime::storage;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// A kind of files that a source reads.
pub struct Format {
    /// What people call it.
    pub name: &'static str,
    extensions: &'static [&'static str],
    /// What each of its files begins with, where that says so.
    magic: &'static [u8],
    /// The source, with `PATTERN` for the files.
    source: &'static str,
    /// Whether it is also what people write about data.
    pub is_prose: bool,
    /// What is done to its records; nothing where they have fields.
    steps: Steps,
}

enum Steps {
    /// The records have fields.
    None,
    /// This is, whatever they hold.
    Map(&'static str),
    /// They are decoded by this; folders that they lie in are classes.
    Image(&'static str),
    /// The field of that name is looked into.
    Into(&'static str, LookInto),
}

/// Finds the fields in a record, by their names: those of a field in another stand behind a zero byte.
type LookInto = fn(&[u8]) -> Vec<(String, Value)>;

/// What was found in a field, and how a program reads it, with `PLACE` for where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    read: String,
    /// Elements, where it is a list.
    list: Option<usize>,
}

impl Value {
    fn new(read: &str) -> Self {
        Self { read: read.to_owned(), list: None }
    }
}

const FILES: &str = "files(PATTERN)";

/// What JSON files hold that a source knows, each with words that stand near the begin of such a file.
static JSON: &[(Format, &[&[&str]])] = &[(
    Format::plain("COCO annotations", &[], b"", "coco(PATTERN)"),
    &[&["\"images\"", "\"file_name\""], &["\"annotations\"", "\"image_id\""]],
)];
/// Bytes at the begin of a file that are looked at for them.
const WORDS_IN: usize = 64 << 10;

/// All there are, the ones with a magic number first. Where this was built without what reads one, its source says so.
static FORMATS: &[Format] = &[
    Format::plain("Parquet", &["parquet", "pq"], b"PAR1", "parquet(PATTERN)"),
    Format::plain("Arrow", &["arrow", "feather", "ipc"], b"ARROW1\0\0", "arrow(PATTERN)"),
    Format {
        magic: b"\x89HDF\r\n\x1a\n",
        ..Format::inner("HDF5", &["h5", "hdf5", "he5"], "hdf5(PATTERN)", ("row", datasets))
    },
    Format::plain("NumPy", &["npy"], b"\x93NUMPY", "npy(PATTERN)"),
    Format::plain("NPZ", &["npz"], b"", "npz(PATTERN)"),
    Format::image("JPEG", &["jpg", "jpeg"], b"\xff\xd8\xff", "decode_jpeg(bytes)"),
    Format::image("PNG", &["png"], b"\x89PNG\r\n", "decode_png(bytes)"),
    Format::image("WebP", &["webp"], b"", "decode_webp(bytes)"),
    Format::plain("MDS", &["mds"], b"", "mds(PATTERN)"),
    Format::plain("CSV", &["csv", "tsv"], b"", "csv(PATTERN)"),
    Format::inner("JSON Lines", &["jsonl", "ndjson"], "jsonl(PATTERN)", ("row", json)),
    Format::inner(
        "TFRecord",
        &["tfrecord", "tfrecords"],
        "tfrecord(PATTERN)",
        ("row", text::features),
    ),
    Format::inner("tar", &["tar"], "tar(PATTERN)", ("files", members)),
    Format::plain("audio", &["wav", "flac", "mp3", "ogg"], b"", FILES),
    Format {
        is_prose: true,
        ..Format::plain("text", &["txt", "text", "md", "log"], b"", "lines(PATTERN)")
    },
    Format {
        is_prose: true,
        steps: Steps::Map("row: parse_json(to_str(bytes))"),
        ..Format::plain("JSON", &["json"], b"", FILES)
    },
];

/// Bytes of a file that are looked at.
const MAGIC_MAX: usize = 16;
/// What may stand behind the extension of a format: it is read through.
const COMPRESSED: [&str; 6] = ["gz", "zst", "zstd", "xz", "bz2", "gzip"];
/// Elements of a list whose number is taken for that of every record.
const LIST_MAX: usize = 64;

impl Format {
    const fn plain(
        name: &'static str,
        extensions: &'static [&'static str],
        magic: &'static [u8],
        source: &'static str,
    ) -> Self {
        Self { name, extensions, magic, source, is_prose: false, steps: Steps::None }
    }

    const fn image(
        name: &'static str,
        extensions: &'static [&'static str],
        magic: &'static [u8],
        image: &'static str,
    ) -> Self {
        Self { name, extensions, magic, source: FILES, is_prose: false, steps: Steps::Image(image) }
    }

    const fn inner(
        name: &'static str,
        extensions: &'static [&'static str],
        source: &'static str,
        (field, into): (&'static str, LookInto),
    ) -> Self {
        Self {
            name,
            extensions,
            magic: b"",
            source,
            is_prose: false,
            steps: Steps::Into(field, into),
        }
    }

    /// The one that a file has by its name; and behind which extension, as it is written.
    pub fn of_name(name: &str) -> Option<(&'static Self, &str)> {
        let (stem, last) = name.rsplit_once('.')?;
        let is_packed = COMPRESSED.iter().any(|it| it.eq_ignore_ascii_case(last));
        let at = match stem.rsplit_once('.').filter(|_| is_packed) {
            Some((inner, _)) => inner.len() + 1,
            None => stem.len() + 1,
        };
        let extension = name[at..].split('.').next().unwrap_or_default();
        let fits = |it: &&Self| it.extensions.iter().any(|it| it.eq_ignore_ascii_case(extension));
        FORMATS.iter().find(fits).map(|it| (it, &name[at..]))
    }

    /// The one that a file has by its first bytes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_bytes(path: &Path) -> io::Result<Option<&'static Self>> {
        let start = start_of(path, MAGIC_MAX)?;
        let fits = |it: &&Self| !it.magic.is_empty() && start.starts_with(it.magic);
        Ok(FORMATS.iter().find(fits))
    }

    /// What the files are by what they hold, where their kind alone does not say it: JSON holds anything.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn of_contents(
        &'static self,
        mut paths: impl Iterator<Item = PathBuf>,
    ) -> io::Result<&'static Self> {
        if self.name != "JSON" {
            return Ok(self);
        }
        let first = match paths.next() {
            Some(first) => json_of(&first)?,
            None => None,
        };
        for path in paths {
            if first.is_none() || json_of(&path)?.map(|it| it.name) != first.map(|it| it.name) {
                return Ok(self);
            }
        }
        Ok(first.unwrap_or(self))
    }

    /// The source that reads the files of a pattern.
    pub fn source(&self, pattern: &str) -> String {
        self.source.replace("PATTERN", &text_literal(pattern))
    }

    /// The same for files whose columns a program cannot all write: they are given names; none where it can.
    pub fn source_naming(&self, pattern: &str, columns: &[&str]) -> Option<String> {
        if columns.iter().all(|it| is_field_name(it)) {
            return None;
        }
        let mut named = Vec::new();
        let columns = columns.iter().map(|it| {
            let name = unused_name(it, &mut named);
            if name == *it { name } else { format!("{name}: {}", text_literal(it)) }
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        Some(
            self.source.replace(
                "PATTERN",
                &format!("{}, columns: {{ {columns} }}", text_literal(pattern)),
            ),
        )
    }

    /// The field of its records that has to be looked into, to know theirs.
    pub fn looked_into(&self) -> Option<&'static str> {
        match self.steps {
            Steps::Into(field, _) => Some(field),
            _ => None,
        }
    }

    /// The fields that a `map` behind the source makes, of what some records have in the field that is
    /// [looked into](Self::looked_into); none where the records have fields. Files may lie in folders that are classes.
    pub fn fields(&self, records: &[Vec<u8>], in_folders: bool) -> Option<String> {
        let (field, into) = match self.steps {
            Steps::None => return None,
            Steps::Map(fields) => return Some(fields.to_owned()),
            Steps::Image(image) => {
                let label = if in_folders { ", label: class_of(path)" } else { "" };
                return Some(format!("image: {image}{label}"));
            }
            Steps::Into(field, into) => (field, into),
        };
        let mut found: BTreeMap<String, (usize, Value)> = BTreeMap::new();
        let mut n_found = 0;
        for (name, value) in records.iter().flat_map(|it| into(it)) {
            n_found += 1;
            match found.get_mut(&name) {
                Some((_, known)) => *known = both(known, &value),
                None => drop(found.insert(name, (n_found, value))),
            }
        }
        let mut found: Vec<_> = found.into_iter().map(|(name, it)| (it.0, name, it.1)).collect();
        found.sort_by_key(|it| it.0);
        let mut named: Vec<String> = Vec::new();
        let fields = found.into_iter().map(|(_, name, value)| {
            let place = name.split('\0').map(|it| format!("[{}]", text_literal(it)));
            let place = format!("{field}{}", place.collect::<String>());
            let shown = unused_name(&name, &mut named);
            let is_text = [" str", " bytes"].iter().any(|it| value.read.ends_with(it));
            let list = match value.list {
                None => String::new(),
                // Texts are read one by one.
                Some(_) if is_text => {
                    return format!("{shown}: {}", value.read.replace("PLACE", &(place + "[0]")));
                }
                Some(n @ 1..=LIST_MAX) => format!("[{n}]"),
                Some(_) => "[n]".to_owned(),
            };
            format!("{shown}: {}", value.read.replace("PLACE", &place) + &list)
        });
        let fields: Vec<_> = fields.collect();
        (!fields.is_empty()).then(|| fields.join(", "))
    }
}

/// The bytes that a file begins with.
fn start_of(path: &Path, n_bytes: usize) -> io::Result<Vec<u8>> {
    let mut start = vec![0; n_bytes];
    let mut file = storage::of(path).open(path, &mut || ())?;
    let mut filled = 0;
    while filled < start.len() {
        match file.read_on(&mut start[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    start.truncate(filled);
    Ok(start)
}

/// What a JSON file holds, where a source knows it.
fn json_of(path: &Path) -> io::Result<Option<&'static Format>> {
    let start = start_of(path, WORDS_IN)?;
    if start.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    let has = |word: &&str| memchr::memmem::find(&start, word.as_bytes()).is_some();
    let found = JSON.iter().find(|it| it.1.iter().any(|words| words.iter().all(has)));
    Ok(found.map(|it| &it.0))
}

/// What reads the values of two records.
fn both(a: &Value, b: &Value) -> Value {
    let list = match (a.list, b.list) {
        (Some(a), Some(b)) if a == b => Some(a),
        (Some(_), _) | (_, Some(_)) => Some(0),
        _ => None,
    };
    let is = |text: &str| a.read.ends_with(text) || b.read.ends_with(text);
    let read = match a.read == b.read {
        true => &a.read,
        // A number that has no fraction here has one there.
        false if is(" f64") && is(" i64") => &if a.read.ends_with(" f64") { a } else { b }.read,
        false if is("bytes") => &if a.read.ends_with("bytes") { a } else { b }.read,
        false => &a.read,
    };
    Value { read: read.clone(), list }
}

/// A name for what a file calls `text`, that none of those before has.
fn unused_name(text: &str, named: &mut Vec<String>) -> String {
    let mut name = name_for(text);
    while named.contains(&name) {
        name.push('_');
    }
    named.push(name.clone());
    name
}

/// The fields of an object of JSON, and of the objects in it.
fn json(record: &[u8]) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    if let Ok(serde_json::Value::Object(all)) = serde_json::from_slice(record) {
        for (name, value) in &all {
            match value {
                serde_json::Value::Object(inner) => found.extend(
                    inner
                        .iter()
                        .filter_map(|it| Some((format!("{name}\0{}", it.0), of_json(it.1)?))),
                ),
                value => found.extend(of_json(value).map(|it| (name.clone(), it))),
            }
        }
    }
    found
}

/// How a value of JSON is read; none of those that say nothing.
fn of_json(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match value {
        Json::Bool(_) => Value::new("PLACE as bool"),
        Json::Number(it) if it.is_f64() => Value::new("PLACE as f64"),
        Json::Number(_) => Value::new("PLACE as i64"),
        Json::String(_) => Value::new("PLACE as str"),
        Json::Array(all) => {
            let mut each = all.iter().filter_map(of_json);
            let first = each.next()?;
            let all_of = each.fold(first, |one, other| both(&one, &other));
            // A list of lists, or of objects, is left as it is.
            let is_flat = all_of.list.is_none() && !all.iter().any(Json::is_object);
            is_flat.then_some(Value { list: Some(all.len()), ..all_of })?
        }
        Json::Null | Json::Object(_) => return None,
    })
}

/// The members of a record of an archive, by their extensions, as WebDataset decodes them.
fn members(record: &[u8]) -> Vec<(String, Value)> {
    tar::names(record)
        .map(|name| {
            let last = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
            let read = match last.as_str() {
                "jpg" | "jpeg" => "decode_jpeg(PLACE as bytes)",
                "png" => "decode_png(PLACE as bytes)",
                "webp" => "decode_webp(PLACE as bytes)",
                "cls" | "index" => "PLACE as i64",
                "txt" | "json" | "text" => "PLACE as str",
                _ => "PLACE as bytes",
            };
            (name, Value::new(read))
        })
        .collect()
}

/// Nothing reads such files here.
#[cfg(not(feature = "hdf5"))]
fn datasets(_: &[u8]) -> Vec<(String, Value)> {
    Vec::new()
}

/// The datasets of a file, by its path; of many, some.
#[cfg(feature = "hdf5")]
fn datasets(path: &[u8]) -> Vec<(String, Value)> {
    use crate::hdf5::{Hdf5, Kind};
    /// Those that a program is written for.
    const SHOWN: usize = 64;
    let path = Path::new(std::str::from_utf8(path).unwrap_or_default());
    let found = Hdf5::of(path, &mut || ()).map(|it| it.datasets().unwrap_or_default());
    let value = |kind: &Kind, shape: &[u64]| match (kind, shape) {
        (Kind::Numbers { dtype, shape: below, .. }, shape) => {
            let read = format!("PLACE as {dtype}");
            match &[shape, below].concat()[..] {
                [] => Some(Value::new(&read)),
                [n] => Some(Value { read, list: usize::try_from(*n).ok() }),
                // Rows may be more or fewer in the next file.
                [_, rest @ ..] => {
                    let rest: String = rest.iter().map(|it| format!(", {it}")).collect();
                    Some(Value::new(&format!("{read}[?{rest}]")))
                }
            }
        }
        (Kind::FixedText(_) | Kind::Text, []) => Some(Value::new("PLACE as str")),
        (Kind::FixedBytes | Kind::Bytes, []) => Some(Value::new("PLACE as bytes")),
        _ => None,
    };
    let readable = found.into_iter().flatten().filter_map(|it| {
        let value = value(it.kind.as_ref().ok()?, &it.shape)?;
        Some((it.name, value))
    });
    readable.take(SHOWN).collect()
}

/// How a feature of a `tf.train.Example` is read: of what it is a list, and of how many.
pub(crate) fn feature(dtype: &str, n: usize) -> Value {
    Value { read: format!("PLACE as {dtype}"), list: Some(n).filter(|it| *it != 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_is() {
        let of = |name| Format::of_name(name).map(|(it, ext)| (it.name, ext));
        assert_eq!(of("a.b/c.JPG"), Some(("JPEG", "JPG")));
        assert_eq!(of("c.jsonl.gz"), Some(("JSON Lines", "jsonl.gz")));
        assert_eq!(of("c.gz"), None);
        assert_eq!(of("Makefile"), None);
    }

    #[test]
    fn annotations_are_known_by_what_they_say() {
        let folder = std::env::temp_dir().join(format!("pipec-formats-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let of = |texts: &[&str]| {
            let paths = texts.iter().enumerate().map(|(i, text)| {
                let path = folder.join(format!("{i}.json"));
                std::fs::write(&path, text).unwrap();
                path
            });
            let paths: Vec<_> = paths.collect();
            Format::of_name("a.json").unwrap().0.of_contents(paths.into_iter()).unwrap().name
        };
        let images =
            r#" {"info": {}, "images": [{"id": 1, "file_name": "a.jpg"}], "annotations": []}"#;
        let boxes = r#"{"annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1]}]}"#;
        assert_eq!(of(&[images]), "COCO annotations");
        assert_eq!(of(&[images, boxes]), "COCO annotations");
        assert_eq!(of(&[images, "{}"]), "JSON");
        assert_eq!(of(&["{\"images\": 3}"]), "JSON");
        assert_eq!(of(&["[\"images\", \"file_name\"]"]), "JSON");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn columns_that_cannot_be_written_are_named() {
        let format = Format::of_name("a.csv").unwrap().0;
        assert_eq!(format.source_naming("a.csv", &["a", "b.c"]), None);
        let named = format.source_naming("a.csv", &["a b", "a_b", "b.c", "in", "\"{x}\""]).unwrap();
        let columns = r#"{ a_b: "a b", a_b_: "a_b", b_c: "b.c", in_: "in", x: "\"{{x}\"" }"#;
        assert_eq!(named, format!("csv(\"a.csv\", columns: {columns})"));
    }

    #[test]
    fn fields_of_json_are_those_of_all_records() {
        let format = Format::of_name("a.jsonl").unwrap().0;
        let rows: [&[u8]; 3] = [
            br#"{"id": 1, "x": 2, "name": "a", "box": [1, 2.5, 3, 4], "tags": ["a"], "none": null}"#,
            br#"{"id": 2, "x": 2.5, "name": "b", "box": [1, 2, 3, 4], "tags": ["a", "b"], "in": {"A b": true}}"#,
            b"no json",
        ];
        let fields = format.fields(&rows.map(<[u8]>::to_vec), false).unwrap();
        let wanted = "box: row[\"box\"] as f64[4], id: row[\"id\"] as i64, name: row[\"name\"] as str, \
                      tags: row[\"tags\"][0] as str, x: row[\"x\"] as f64, in_a_b: row[\"in\"][\"A b\"] as bool";
        let sorted = |it: &str| {
            let mut all: Vec<_> = it.split(", ").map(str::to_owned).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(&fields), sorted(wanted));
        assert_eq!(format.fields(&[], false), None);
    }
}
