//! Pictures in shards, with captions beside them: what img2dataset leaves of a list of pictures of the web.
//!
//! `00003.tar` holds the members `000030007.jpg`, `.txt` and `.json` of each picture, in the form of WebDataset, and
//! `00003.parquet` a row for each picture that was asked for, also for those that are not in the archive.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::chance::Chance;
use crate::parquet::{self, Column};
use crate::scene::SCENES;
use crate::set::{Done, Error, Making, Summary, check_count, make, write_whole};
use crate::{VERSION, drawn, photo, tar};

/// Pictures that a shard was to have.
const PER_SHARD: u64 = 64;
/// The share of pictures that could not be had.
const LOST: f32 = 0.06;

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Shards {
    /// Where the shards go; made if it is not there.
    pub folder: PathBuf,
    /// How many pictures were asked for, 1 to 1,000,000.
    pub count: u64,
    /// Which set: another seed gives other pictures with the same statistics.
    pub seed: u64,
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of pictures that are there, each time that it grows.
///
/// # Errors
/// The count is out of its range, the folder holds something else, or cannot be written to.
pub fn shards(shards: &Shards, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check_count(shards.count)?;
    make(Making {
        folder: &shards.folder,
        folders: &[],
        manifest: &manifest(shards),
        n_jobs: shards.count.div_ceil(PER_SHARD),
        n_pictures: shards.count,
        job: &|shard| make_one(shards, shard),
        finish: &mut || Ok(()),
        progress,
    })
}

/// The text of the manifest: what the bytes depend on.
pub(crate) fn manifest(Shards { count, seed, .. }: &Shards) -> String {
    format!("sample shards\nversion {VERSION}\nseed {seed}\ncount {count}\n")
}

fn make_one(shards: &Shards, shard: u64) -> Result<Done, Error> {
    let numbers = shard * PER_SHARD..((shard + 1) * PER_SHARD).min(shards.count);
    let pictures = numbers.end - numbers.start;
    let path = |extension: &str| shards.folder.join(format!("{shard:05}.{extension}"));
    // The table is written last, so that where it is, the archive is.
    if path("parquet").exists() && path("tar").exists() {
        return Ok(Done { pictures, bytes: None });
    }
    let (mut archive, mut rows) = (Vec::new(), Rows::default());
    for number in numbers {
        let row = row(shards.seed, number, format!("{shard:05}{:04}", number % PER_SHARD));
        if row.is_there {
            push_members(&mut archive, shards, number, &row, &path("tar"))?;
        }
        rows.push(row);
    }
    tar::finish(&mut archive);
    write_whole(&path("tar"), &archive)?;
    let table = rows.table();
    write_whole(&path("parquet"), &table)?;
    let written = |it: &Path| fs::metadata(it).map_or(0, |it| it.len());
    Ok(Done { pictures, bytes: Some(written(&path("tar")) + written(&path("parquet"))) })
}

fn class(number: u64) -> usize {
    (number % SCENES.len() as u64) as usize
}

fn push_members(
    archive: &mut Vec<u8>,
    shards: &Shards,
    number: u64,
    Row { key, caption, .. }: &Row,
    path: &Path,
) -> Result<(), Error> {
    let drawn = drawn(shards.seed, number, class(number))
        .map_err(|error| Error::Io { path: path.to_owned(), source: io::Error::other(error) })?;
    let photo::Photo { width, height, .. } = drawn.photo;
    let about = format!(
        "{{\"key\": \"{key}\", \"caption\": \"{caption}\", \"width\": {width}, \"height\": {height}}}"
    );
    tar::push(archive, &format!("{key}.jpg"), &drawn.bytes);
    tar::push(archive, &format!("{key}.txt"), caption.as_bytes());
    tar::push(archive, &format!("{key}.json"), about.as_bytes());
    Ok(())
}

/// What is known of a picture without drawing it.
struct Row {
    key: String,
    caption: String,
    similarity: f64,
    size: (usize, usize),
    is_there: bool,
}

fn row(seed: u64, number: u64, key: String) -> Row {
    let mut chance = Chance::new(seed ^ 0x6361_7074, number);
    let is_there = !chance.happens(LOST);
    let similarity = f64::from(chance.within(0.2, 0.4));
    let caption = caption(SCENES[class(number)].name, &mut chance);
    let photo::Photo { width, height, .. } = photo::draw(seed, number);
    Row { key, caption, similarity, size: (width, height), is_there }
}

/// What people write below a picture; at times nothing.
fn caption(what: &str, chance: &mut Chance) -> String {
    if chance.happens(0.04) {
        return String::new();
    }
    let what = match what {
        "balloon" => chance.pick(&["a hot air balloon", "balloons over the hills"]),
        "bricks" => chance.pick(&["an old brick wall", "a wall of red bricks"]),
        "city" => chance.pick(&["the skyline of a city", "tall buildings downtown"]),
        "desert" => chance.pick(&["dunes in the desert", "sand and more sand"]),
        "flower" => chance.pick(&["a flower in the garden", "a blossom, close up"]),
        "forest" => chance.pick(&["a path through the forest", "trees in the morning"]),
        "fruit" => chance.pick(&["fruit on a table", "fresh fruit from the market"]),
        "meadow" => chance.pick(&["a green meadow", "grass and wild flowers"]),
        "mountain" => chance.pick(&["snow on the mountains", "a mountain lake"]),
        _ => chance.pick(&["waves by the sea", "the sea at low tide"]),
    };
    let before = chance.pick(&["", "", "a photo of ", "picture: ", "my favourite: "]);
    let after = chance.pick(&["", "", " in the evening light", " (2019)", ", no filter"]);
    format!("{before}{what}{after}")
}

#[derive(Default)]
struct Rows {
    keys: Vec<String>,
    captions: Vec<String>,
    similarities: Vec<f64>,
    widths: Vec<i64>,
    heights: Vec<i64>,
    statuses: Vec<String>,
}

impl Rows {
    fn push(&mut self, row: Row) {
        let status = if row.is_there { "success" } else { "failed_to_download" };
        self.keys.push(row.key);
        self.captions.push(row.caption);
        self.similarities.push(row.similarity);
        self.widths.push(row.size.0 as i64);
        self.heights.push(row.size.1 as i64);
        self.statuses.push(status.to_owned());
    }

    fn table(self) -> Vec<u8> {
        parquet::file(&[vec![
            ("key", Column::Text(self.keys)),
            ("caption", Column::Text(self.captions)),
            ("similarity", Column::Floats(self.similarities)),
            ("width", Column::Ints(self.widths)),
            ("height", Column::Ints(self.heights)),
            ("status", Column::Text(self.statuses)),
        ]])
    }
}
