//! Files that random programs read: small, and some of them broken.

use crate::fuzz::targets::shards::written;
use crate::random::ways::compiled;
use runtime::Options;
use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

/// A folder of inputs, gone when it is dropped.
pub(crate) struct Inputs(pub(crate) PathBuf);

impl Inputs {
    /// Pictures, texts, tables, JSON Lines: the same ones every time, in a folder of this name.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let name = format!("{name}-{}", std::process::id());
        let inputs = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        let folder = inputs.0.as_path();
        for (i, row) in pictures().into_iter().enumerate() {
            for (extension, bytes) in ["jpg", "png", "webp"].into_iter().zip(row) {
                let class = ["cat", "dog"][i % 2];
                put(folder, &format!("pictures/{class}/{i}.{extension}"), &bytes)?;
                // Cut off, or with a byte that is not as it was.
                let broken = broken(bytes, i);
                if i < 2 {
                    put(folder, &format!("pictures/{class}/broken{i}.{extension}"), &broken)?;
                }
            }
        }
        put(folder, "pictures/dog/empty.png", b"")?;
        put(folder, "texts/a.txt", words().as_bytes())?;
        put(folder, "texts/b.txt", b"")?;
        put(folder, "texts/c.txt", "12\n\n-7\r\nGr\u{fc}\u{df}e\n3.5e2\nlast".as_bytes())?;
        put(
            folder,
            "keys.txt",
            "12\nmit\n\n7\r\n0\nGr\u{fc}\u{df}e\ncat/7.jpg\nn3\n3\n1".as_bytes(),
        )?;
        put(folder, "tokenizer.json", TOKENIZER)?;
        TOKENIZERS.iter().try_for_each(|(name, bytes)| put(folder, name, bytes))?;
        put(folder, "chat_template.jinja", MARKED)?;
        put(folder, "plain.jinja", PLAIN)?;
        put(folder, "tokenizer_config.json", b"{\"eos_token\": \"<|end|>\"}")?;
        put(folder, "tables/a.csv", b"name,age,height\nAda,36,1.65\nBob,,1.8\n\"C, D\",7,0.5\n")?;
        let rows: String = (0..20).map(|i| format!("n{i},{},{}.25\n", i * 3, i % 4)).collect();
        put(folder, "tables/b.csv", format!("name,age,height\n{rows}").as_bytes())?;
        put(folder, "beside/a.csv", beside(0..40, 7).as_bytes())?;
        put(folder, "beside/b.csv", beside(5..33, 4).as_bytes())?;
        put(folder, "rows/a.jsonl", json().as_bytes())?;
        put(folder, "rows/b.jsonl", b"{\"n\": 1, \"xs\": []}\nno json\n[1]\n")?;
        put(folder, "shards/a.tfrecord", &written::tfrecord(&examples()))?;
        // The end is missing.
        let torn = written::tfrecord(&examples()[..9]);
        put(folder, "shards/b.tfrecord", &torn[..torn.len() - 7])?;
        // The last one is cut off.
        let sized: Vec<u8> = (0..12 * 9 - 4).collect();
        put(folder, "shards/a.bin", &sized[..7 * 9])?;
        put(folder, "shards/b.bin", &sized[7 * 9..])?;
        let array: Vec<u8> = (0..11 * 12).map(|it: u8| it.wrapping_mul(37)).collect();
        put(folder, "arrays/a.npy", &written::npy("<i2", "(10, 2, 3)", &array[..120]))?;
        put(folder, "arrays/b.npy", &written::npy("<i2", "(1, 2, 3)", &array[120..]))?;
        columns(folder)?;
        put(folder, "corpus/a.csv", b"name,age\nAda,36\n\"Bob, B.\",\n")?;
        let lines = (0..20).map(|i| format!("{{\"n\": {i}, \"name\": \"row {}\"}}\n", i % 7));
        put(folder, "corpus/b.jsonl", lines.collect::<String>().as_bytes())?;
        put(folder, "corpus/c.parquet", ROWS)?;
        put(folder, "corpus/d.jsonl", b"{\"name\": \"d\"}\nno json\n{\"name\": 3}\n")?;
        put(folder, "corpus/e.txt", words().as_bytes())?;
        members(folder)?;
        put(folder, "boxes/a.json", coco(0..8).as_bytes())?;
        put(folder, "boxes/b.json", coco(8..14).as_bytes())?;
        put(folder, "shards/a.tar", &archive(12))?;
        let torn = archive(7);
        put(folder, "shards/b.tar", &torn[..torn.len() - 1024 - 300])?;
        Ok(inputs)
    }
}

/// Keys in this range but every `n`th, last ones first, with something for each.
fn beside(keys: Range<usize>, n: usize) -> String {
    let rows = keys.rev().filter(|it| it % n != 1);
    let rows = rows.map(|it| format!("{it},{}.25,title {}\n", it % n, it * n));
    format!("key,weight,title\n{}", rows.collect::<String>())
}

/// A tokenizer of a few words.
const TOKENIZER: &[u8] = include_bytes!("../../../stdlib/src/tokens/goldens/tokenizer.json");

/// Tokenizers of other kinds.
const TOKENIZERS: [(&str, &[u8]); 5] = [
    ("unigram.model", include_bytes!("../../../stdlib/src/tokens/goldens/unigram.model")),
    ("pairs.model", include_bytes!("../../../stdlib/src/tokens/goldens/pairs.model")),
    ("vocab.txt", include_bytes!("../../../stdlib/src/tokens/goldens/vocab.txt")),
    ("tekken.json", include_bytes!("../../../stdlib/src/tokens/goldens/tekken.json")),
    ("unigram.json", include_bytes!("../../../stdlib/src/tokens/goldens/unigram.json")),
];

/// Templates of chats: one that says what counts and refuses a system message, and one that does not say it.
const MARKED: &[u8] = b"{%- for it in messages %}
    {%- if it.role == 'system' %}{{ raise_exception('no system messages') }}{% endif %}
    {{- it.role[0] + ':' }}
    {%- if it.role == 'assistant' %}{% generation %}{{ it.content | trim }}{{ eos_token }}{% endgeneration %}
    {%- else %}{{ it.content }}{{ eos_token }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}a:{% endif %}";
const PLAIN: &[u8] =
    b"{% for it in messages %}{{ it.role }} {{ it.content | upper }}{{ eos_token }}{% endfor %}
{% if add_generation_prompt %}assistant {% endif %}";

/// A Parquet file of many types.
const ROWS: &[u8] = include_bytes!("../../../stdlib/src/tables/goldens/rows.parquet");

/// Tables and arrays that say their columns.
fn columns(folder: &Path) -> io::Result<()> {
    put(folder, "columns/a.parquet", ROWS)?;
    let stream = include_bytes!("../../../stdlib/src/tables/goldens/stream.arrow").as_slice();
    put(folder, "columns/a.arrow", stream)?;
    put(folder, "columns/b.arrow", stream)?;
    put(folder, "columns/b.parquet", ROWS)?;
    let shard = include_bytes!("../../../stdlib/src/tables/goldens/shard.mds").as_slice();
    put(folder, "columns/a.mds", shard)?;
    put(folder, "columns/b.mds", shard)?;
    let arrays = include_bytes!("../../../stdlib/src/tables/goldens/stored.npz").as_slice();
    put(folder, "columns/a.npz", arrays)?;
    let arrays = include_bytes!("../../../stdlib/src/tables/goldens/deflated.npz").as_slice();
    put(folder, "columns/b.npz", arrays)?;
    let datasets = include_bytes!("../../../stdlib/src/tables/goldens/rows.h5").as_slice();
    put(folder, "columns/a.h5", datasets)?;
    // A chunk of `n` is not as it was.
    let mut torn = datasets.to_vec();
    torn[3545] ^= 0x55;
    put(folder, "columns/b.h5", &torn)?;
    // A page of it is not as it was.
    let mut torn = ROWS.to_vec();
    torn[4000] ^= 0x55;
    put(folder, "columns/c.parquet", &torn)?;
    Ok(())
}

/// Compressed files, texts and arrays that are read within records.
fn members(folder: &Path) -> io::Result<()> {
    let goldens = [
        ("words.gz", &include_bytes!("../../../stdlib/src/functions/codec/goldens/words.gz")[..]),
        ("words.zst", include_bytes!("../../../stdlib/src/functions/codec/goldens/words.zst")),
        ("words.xz", include_bytes!("../../../stdlib/src/functions/codec/goldens/words.xz")),
        (
            "torn.bz2",
            &include_bytes!("../../../stdlib/src/functions/codec/goldens/words.bz2")[..40],
        ),
        ("latin.txt", b"Gr\xfc\xdfe"),
        ("table.txt", b"1 2 # one\n\n3.5 -4e1\n"),
    ];
    for (name, bytes) in goldens {
        put(folder, &format!("members/{name}"), bytes)?;
    }
    let array = written::npy("<i2", "(2, 3)", b"a bcdefghijk");
    put(folder, "members/a.npy", &array)?;
    let at = array.windows(5).position(|it| it == b"False").unwrap_or_default();
    put(folder, "members/fortran.npy", &[&array[..at], b"True ", &array[at + 5..]].concat())
}

/// Annotations of pictures with these numbers: every third has none.
fn coco(pictures: Range<usize>) -> String {
    let image = |i: usize| {
        format!(
            "{{\"id\": {i}, \"file_name\": \"{i}.jpg\", \"height\": 40, \"width\": {}}}",
            50 + i
        )
    };
    let annotation = |(i, k): (usize, usize)| {
        let (box_, category) = (format!("[{k}, {i}.5, 10, 20.25]"), 3 * k + 1);
        format!(
            "{{\"image_id\": {i}, \"category_id\": {category}, \"bbox\": {box_}, \"iscrowd\": {}, \"segmentation\": \
             [[{i}, {k}]]}}",
            usize::from(i == 4)
        )
    };
    let images: Vec<_> = pictures.clone().map(image).collect();
    let things = pictures.flat_map(|i| (0..i % 3).map(move |k| (i, k)));
    let things: Vec<_> = things.map(annotation).collect();
    format!(
        "{{\"images\": [{}], \"annotations\": [{}], \"categories\": [{{\"id\": 4}}, {{\"id\": 1}}]}}",
        images.join(", "),
        things.join(", ")
    )
}

/// Messages with features of each kind.
fn examples() -> Vec<Vec<u8>> {
    let example = |i: i64| {
        let (xs, text) = ([i as f32, 0.5], format!("n{i}"));
        written::example(&[
            ("n", written::Feature::Ints(&[i])),
            ("xs", written::Feature::Floats(&xs[..i as usize % 3])),
            ("text", written::Feature::Bytes(&[text.as_bytes()])),
        ])
    };
    (0..12).map(example).collect()
}

/// An archive of so many records of three files.
fn archive(n: usize) -> Vec<u8> {
    let files: Vec<(String, String)> = (0..n)
        .flat_map(|i| {
            let file = |name: &str, text: String| (format!("{i:02}.{name}"), text);
            [
                file("n", i.to_string()),
                file("xs", format!("[{i}, 1.5]")),
                file("text", format!("\"t{i}\"")),
            ]
        })
        .collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    written::tar(&files)
}

impl Drop for Inputs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, bytes)
}

fn broken(mut bytes: Vec<u8>, i: usize) -> Vec<u8> {
    match i {
        0 => bytes.truncate(bytes.len() / 2),
        _ => {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x55;
        }
    }
    bytes
}

/// The same small pictures as JPEG, PNG and WebP.
fn pictures() -> Vec<Vec<Vec<u8>>> {
    let program = "pipeline p = range(4) |> with { x: plasma(i, 7 + i, 12 - i) } |> map { \
                   a: encode_jpeg(x), b: encode_png(x), c: encode_webp(x) }\n";
    let compiled = compiled(program, Path::new("")).expect("it compiles");
    let options = Options::default();
    let run = runtime::start(&compiled.program, &stdlib::Kernels, &options).expect("it starts");
    let chunks: Vec<_> = run.map(|it| it.expect("nothing fails")).collect();
    let rows = chunks.iter().flat_map(|it| (0..it.rows).map(move |row| (it, row)));
    rows.map(|(it, row)| it.columns.iter().map(|it| it.row(row).as_text().to_vec()).collect())
        .collect()
}

fn words() -> String {
    let lines = (0..24).map(|i| match i % 4 {
        0 => format!("{i}\n"),
        1 => format!("a photo of {i} cats\n"),
        2 => "\n".to_owned(),
        _ => format!("line {}\n", "x".repeat(i)),
    });
    lines.collect()
}

/// Lines with the same fields, and every now and then one that is not as the others.
fn json() -> String {
    let lines = (0..24).map(|i| match i % 8 {
        4 => format!("{{\"text\": \"row {i}\"}}\n"),
        5 => format!(
            "{{\"o\": {{\"n\": {i}}}, \"\\u006e\": {i}e0, \"text\": \"a\\tb\", \"n\": null}}\n"
        ),
        6 => format!(
            "{{\"n\": {i}, \"text\": {i}, \"o\": {{\"n\": 1e999, \"n\": 1}}, \"xs\": tru}}\n"
        ),
        _ => format!(
            "{{\"n\": {i}, \"xs\": [{i}.5, 2], \"text\": \"row {i}\", \"o\": {{\"n\": {}}}}}\n",
            i % 3
        ),
    });
    lines.collect()
}
