//! PRESTO's CV pipeline on real pictures, and the ways that there are to keep something of it.

use super::site::{Folder, Pace, Pin, Site, Target, Tier, Told, UNBOUNDED, compiled, in_words};
use crate::trial::{self, Virtual, Way, median};
use compiler::caches::Choice;
use driver::Compiled;
use plan::{Codec, Compressor};
use runtime::CachePoint;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// How the plan is rewritten: some rewrites spare so much where nothing is kept that there is nothing left to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As any run does it: only what is cropped is decoded and resized.
    Fused,
    /// All of a picture is resized, then cropped.
    Whole,
    /// All of a picture is normalised, then cropped.
    Plain,
}

pub(crate) const FORMS: [Form; 3] = [Form::Fused, Form::Whole, Form::Plain];

/// What is kept of each picture.
pub(crate) struct Kind {
    /// What is kept, and the codec.
    pub(crate) name: &'static str,
    /// As a lock names it.
    pub(crate) value: Option<&'static str>,
    pub(crate) codec: Codec,
    /// The form of the plan that has it.
    pub(crate) form: Form,
}

/// What a file holds, as a lock names it.
pub(crate) const FILE: &str = "p.files#1.with#1.read_file";

const DECODED: &str = "p.map#1.decode_jpeg";
const RESIZED: &str = "p.map#1.resize";
const CENTERED: &str = "p.map#1.normalize";

/// Those of the paper; what a codec makes of one is another one, whose name begins as its own.
pub(crate) const KINDS: [Kind; 14] = [
    Kind { name: "nothing", value: None, codec: Codec::NONE, form: Form::Fused },
    Kind { name: "bytes", value: Some(FILE), codec: Codec::NONE, form: Form::Fused },
    Kind { name: "decoded", value: Some(DECODED), codec: Codec::NONE, form: Form::Fused },
    Kind { name: "decoded lz4", value: Some(DECODED), codec: LZ4, form: Form::Fused },
    Kind { name: "decoded zstd1", value: Some(DECODED), codec: ZSTD1, form: Form::Fused },
    Kind { name: "decoded zstd3", value: Some(DECODED), codec: ZSTD3, form: Form::Fused },
    Kind { name: "resized", value: Some(RESIZED), codec: Codec::NONE, form: Form::Whole },
    Kind { name: "resized lz4", value: Some(RESIZED), codec: LZ4, form: Form::Whole },
    Kind { name: "resized zstd1", value: Some(RESIZED), codec: ZSTD1, form: Form::Whole },
    Kind { name: "resized zstd3", value: Some(RESIZED), codec: ZSTD3, form: Form::Whole },
    Kind { name: "centered", value: Some(CENTERED), codec: Codec::NONE, form: Form::Plain },
    Kind { name: "centered lz4", value: Some(CENTERED), codec: LZ4, form: Form::Plain },
    Kind { name: "centered zstd1", value: Some(CENTERED), codec: ZSTD1, form: Form::Plain },
    Kind { name: "centered zstd3", value: Some(CENTERED), codec: ZSTD3, form: Form::Plain },
];

const LZ4: Codec = plain(Compressor::Lz4);
const ZSTD1: Codec = plain(Compressor::Zstd1);
const ZSTD3: Codec = plain(Compressor::Zstd3);

/// A codec of bytes as they are.
const fn plain(compressor: Compressor) -> Codec {
    Codec { compressor, ..Codec::NONE }
}

impl Kind {
    /// Those without a codec.
    pub(crate) fn without_codec() -> impl Iterator<Item = &'static Self> {
        KINDS.iter().filter(|it| it.codec == Codec::NONE)
    }

    fn named(name: &str) -> &'static Self {
        KINDS.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("no kind `{name}`"))
    }

    pub(crate) fn pins(&self, tier: Tier) -> Vec<Pin<'static>> {
        self.value.iter().map(|it| Pin { codec: self.codec, ..Pin::all(it, tier) }).collect()
    }
}

/// Records of a batch: few, so that a slow disk gives several batches in a second.
const BATCH: usize = 4;
/// For how long each form is measured.
const SECONDS: f64 = 4.0;
/// For how long codecs are tried on each.
const SAMPLE: f64 = 3.0;

/// The pictures, as plans of each form.
pub(crate) struct Pictures {
    sites: Vec<Site>,
}

/// Where they are.
pub(crate) fn folder() -> Option<PathBuf> {
    data("imagenet")
}

/// A folder of images.
fn data(name: &str) -> Option<PathBuf> {
    let all = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/images");
    Some(all.join(name)).filter(|it| it.exists())
}

/// A format of large images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Large {
    Jpg,
    /// Of 16 bits a sample.
    Png,
}

/// Files that are made of a photograph.
const COPIES: usize = 6;

impl Large {
    fn extension(self) -> &'static str {
        if self == Self::Jpg { "jpg" } else { "png" }
    }

    fn decoder(self) -> &'static str {
        if self == Self::Jpg { "decode_jpeg" } else { "decode_png" }
    }

    /// A program that makes them of photographs. A camera's noise makes a PNG of them as large as those of Cube++ (17.4 MB),
    /// and a quality a JPEG (0.52 MB).
    fn made_of(self, photographs: &str) -> String {
        let encoded = match self {
            Self::Jpg => "encode_jpeg(image, quality: 85)",
            Self::Png => {
                "encode_png(u16(f32(image) * 256.0 + random_uniform([1728, 2592, 3], high: 32.0)))"
            }
        };
        format!(
            "pipeline p = files(\"{photographs}\") \
             |> map {{ image: decode_jpeg(bytes) |> resize(1728, 2592) }} |> map {{ file: {encoded} }}"
        )
    }
}

/// The pipeline of the paper on the files of a pattern, after which `end` follows.
pub(crate) fn text(pattern: &str, end: &str) -> String {
    format!(
        "pipeline p = files(\"{pattern}\") |> shuffle |> map {{ image: decode_jpeg(bytes) \
         |> resize_short(256) |> normalize(mean: 0.5, std: 0.5) |> random_crop(224) }}{end}"
    )
}

/// Files of a folder that are pictures.
pub(crate) fn count(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_picture = |it: &fs::DirEntry| it.path().extension().is_some_and(|it| it == "JPEG");
    files.filter(is_picture).count() as u64
}

impl Pictures {
    /// None where they are not here.
    pub(crate) fn new() -> Option<Self> {
        Self::of(|compiled, n| Site::measured(compiled, n, SECONDS).with_codecs(SAMPLE))
    }

    /// The same of which nothing is measured.
    pub(crate) fn unmeasured() -> Option<Self> {
        Self::of(|compiled, n| Site::of(compiled, n).with_codecs(SAMPLE))
    }

    /// Images of the extents and bytes of Cube++, made of photographs: those of PRESTO's CV2 pipelines.
    pub(crate) fn large(format: Large, into: &Folder) -> Option<Self> {
        let photographs = data("hires_jpg")?.display().to_string();
        let made = compiled(&format.made_of(&format!("{photographs}/*.jpg")), &[]);
        let chunks = trial::start(&made.program, &Way::workers(driver::cores()), 0..1);
        let mut files = 0;
        for chunk in chunks.map(|it| it.expect("they can be made")) {
            for row in 0..chunk.rows {
                for _ in 0..COPIES {
                    let path = into.0.join(format!("{files}.{}", format.extension()));
                    fs::write(path, chunk.columns[0].row(row).as_text()).expect("there is room");
                    files += 1;
                }
            }
        }
        let pattern = format!("{}/*.{}", into.0.display(), format.extension());
        let text = text(&pattern, &format!(" |> batch({BATCH})"));
        let text = text.replace("decode_jpeg", format.decoder());
        let site = |compiled, n| Site::measured(compiled, n, SECONDS).with_codecs(SAMPLE);
        Some(Self::of_text(&text, files, site))
    }

    fn of(site: impl Fn(Compiled, u64) -> Site) -> Option<Self> {
        let folder = folder()?;
        let text = text(&format!("{}/*.JPEG", folder.display()), &format!(" |> batch({BATCH})"));
        Some(Self::of_text(&text, count(&folder), site))
    }

    fn of_text(text: &str, n: u64, site: impl Fn(Compiled, u64) -> Site) -> Self {
        let usual = compiled(text, &[]);
        let alternatives = usual.alternatives();
        let all: Vec<Compiled> = [usual].into_iter().chain(alternatives).collect();
        assert_eq!(all.len(), FORMS.len(), "there is an alternative for each form");
        Self { sites: all.into_iter().map(|it| site(it, n)).collect() }
    }

    pub(crate) fn site(&self, form: Form) -> &Site {
        &self.sites[form as usize]
    }

    /// Each kind, kept in a tier and filled.
    pub(crate) fn filled(&self, tier: Tier) -> Vec<Filled<'_>> {
        KINDS.iter().map(|it| self.filled_one(it, tier)).collect()
    }

    /// Those of some names.
    pub(crate) fn filled_as(&self, names: &[&str], tier: Tier) -> Vec<Filled<'_>> {
        names.iter().map(|it| self.filled_one(Kind::named(it), tier)).collect()
    }

    /// One of them.
    pub(crate) fn filled_one(&self, kind: &'static Kind, tier: Tier) -> Filled<'_> {
        Filled::of_pins(kind.name, self.site(kind.form), kind.pins(tier))
    }

    /// What the model says of a kind where so many bytes per second can be read.
    pub(crate) fn told(&self, kind: &Kind, tier: Tier, disk: Option<f64>) -> Told {
        let of = Target::one_disk(disk.unwrap_or(UNBOUNDED), 90.0);
        self.site(kind.form).told(&of, &kind.pins(tier))
    }

    /// Bytes of a file.
    pub(crate) fn file_bytes(&self) -> f64 {
        let all = self.site(Form::Fused).candidates();
        all.iter().find(|it| it.reads).map_or(f64::NAN, |it| it.bytes.value)
    }

    /// What a run chooses: the form of the plan, and what is kept in it.
    pub(crate) fn choices(&self, of: &Target) -> (&Site, Vec<Choice>) {
        let site = Site::best(&self.sites, of);
        let mut choices = site.chosen(of);
        choices.retain(|it| it.kept);
        (site, choices)
    }

    /// The same, filled; and in words.
    pub(crate) fn chosen(&self, of: &Target) -> (Filled<'_>, String) {
        let (site, choices) = self.choices(of);
        let words = in_words(&choices);
        (Filled::of_choices(site, choices), words)
    }
}

/// Something that is kept.
pub(crate) struct Filled<'a> {
    pub(crate) name: &'static str,
    pub(crate) site: &'a Site,
    points: Vec<CachePoint>,
    pins: Vec<Pin<'static>>,
    /// What was chosen, where it is no pin.
    choices: Option<Vec<Choice>>,
    /// Bytes that are read for a record, in the mean of all of them.
    read: f64,
}

/// Outputs that a rate is measured of, at the least, where that does not take too long.
const OUTPUTS: f64 = 16.0;
/// The shortest and the longest time for that, in seconds.
const SPAN: [f64; 2] = [1.2, 7.0];

impl<'a> Filled<'a> {
    /// What `pins` keep of the records of a site.
    pub(crate) fn of_pins(name: &'static str, site: &'a Site, pins: Vec<Pin<'static>>) -> Self {
        let points = site.pinned(&pins);
        Self::new(name, site, (points, pins), None)
    }

    /// What was chosen of a site.
    pub(crate) fn of_choices(site: &'a Site, choices: Vec<Choice>) -> Self {
        let points = site.points(&choices);
        Self::new("chosen", site, (points, Vec::new()), Some(choices))
    }

    /// Fills it.
    fn new(
        name: &'static str,
        site: &'a Site,
        (points, pins): (Vec<CachePoint>, Vec<Pin<'static>>),
        choices: Option<Vec<Choice>>,
    ) -> Self {
        site.fill(&points);
        // What is read counts otherwise where it is used in place, which nothing is on a virtual disk.
        let disk = Virtual::disk(UNBOUNDED as u64);
        let read = site.epochs((&points, driver::cores()), 1).read;
        drop(disk);
        Self { name, site, points, pins, choices, read }
    }

    /// What the model says where so many bytes per second can be read; nothing bounds them where they lie in the page cache.
    pub(crate) fn told(&self, disk: Option<f64>) -> Told {
        let of = Target::one_disk(disk.unwrap_or(UNBOUNDED), 90.0);
        match &self.choices {
            Some(choices) => self.site.told_of(&of, choices.clone()),
            None => self.site.told(&of, &self.pins),
        }
    }

    /// From the page cache.
    pub(crate) fn pace(&self) -> Pace {
        self.site.pace(&self.points, driver::cores(), (4, 1.5))
    }

    /// Bytes of a value.
    pub(crate) fn bytes(&self) -> f64 {
        let all = self.site.candidates();
        let is_it = |name: &str| self.pins.iter().any(|it| it.value == name);
        all.iter().find(|it| is_it(&it.value_name())).map_or(f64::NAN, |it| it.bytes.value)
    }

    /// Records per second as they are; as many were `told`.
    pub(crate) fn seen(&self, disk: Option<f64>, told: &Told) -> f64 {
        let _disk = disk.map(|it| Virtual::disk(it as u64));
        let seconds = (OUTPUTS * self.site.batch_rows() / told.rate).clamp(SPAN[0], SPAN[1]);
        let pace = self.site.pace(&self.points, driver::cores(), (4, seconds));
        // A slow disk gives a few of the records in that time, and theirs are not of the mean size.
        let of_all = pace.rate * pace.read / self.read;
        if told.is_by_disk() { of_all } else { pace.alone_on(disk) }
    }
}

/// The median rates of several, by turns.
pub(crate) fn by_turns(all: &[&Filled<'_>], (disk, rounds): (Option<f64>, usize)) -> Vec<f64> {
    let mut rates = vec![Vec::new(); all.len()];
    let told: Vec<Told> = all.iter().map(|it| it.told(disk)).collect();
    for _ in 0..rounds {
        for ((it, told), rates) in all.iter().zip(&told).zip(&mut rates) {
            rates.push(it.seen(disk, told));
        }
    }
    rates.into_iter().map(median).collect()
}
