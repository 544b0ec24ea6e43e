//! The library: one file for each function, operator or source.
//!
//! To add a function, write `functions/SUBJECT/NAME.rs` and add its name to the two lists of
//! `functions/SUBJECT/mod.rs`. The file states the signature, documents the function with a
//! runnable example, says what it costs, and holds its code and its tests; all else is derived
//! from it: the checks of the compiler, the reference, the editor's word lists, and the runs
//! of its examples. What can be said in the language is said there: `pipe/*.pipe`.

#[cfg(feature = "chat")]
mod chats;
mod declare;
pub mod formats;
mod functions;
#[cfg(feature = "hdf5")]
mod hdf5;
#[cfg(feature = "html")]
mod html;
pub mod listing;
mod marks;
mod numbers;
mod operators;
mod pixels;
mod protobuf;
pub mod records;
mod sources;
#[cfg(feature = "tables")]
mod tables;
mod tokens;

pub use sources::{ClassFolders, Loose, class_folders, classes, missing};

use plan::{About, Arg, Entry, Field, Library};
use runtime::{Failure, Outside, SourceCall, Unneeded};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, LazyLock},
};

/// A function: what the compiler is told, and what the runtime is given.
pub struct Function {
    /// What the compiler is told.
    pub entry: Entry,
    /// Makes the kernel of one call; nothing where the expression language computes it.
    pub build: Option<runtime::Build>,
    /// What people read in what it gives, where they can.
    pub reads: Option<Reads>,
}

/// What people read in the first elements of what a function gives for these arguments, such as the text of token ids.
pub type Reads = fn(&[Arg], &[i64]) -> Option<String>;

/// An operator: what the compiler is told, and what the runtime is given.
pub struct Operator {
    /// What the compiler is told.
    pub entry: Entry,
    /// Makes the operator for one epoch.
    pub build: runtime::BuildOperator,
}

/// A source: what the compiler is told, and what the runtime is given.
pub struct Source {
    /// What the compiler is told.
    pub entry: Entry,
    /// Makes the source.
    pub build: runtime::BuildSource,
    /// Finds the fields of its records, where files must be looked at to know them.
    pub probe: Option<Probe>,
    /// The same where a line of text names them, which any file may have.
    pub of_text: Option<ProbeText>,
}

/// Finds the fields of a source in its files, for `Applied::found`; opens the first of them only.
pub type Probe = fn(&[Arg]) -> Result<Vec<Field>, Failure>;

/// The same, where messages say nothing of what a file has unless that one, asked once, may be shown.
pub type ProbeText = fn(&[Arg], &dyn Fn(&Path) -> bool) -> Result<Vec<Field>, Failure>;

/// What is said in the language itself: file name and text.
static WRITTEN: &[(&str, &str)] = &[
    ("core.pipe", include_str!("../pipe/core.pipe")),
    ("image.pipe", include_str!("../pipe/image.pipe")),
    ("sources.pipe", include_str!("../pipe/sources.pipe")),
    ("text.pipe", include_str!("../pipe/text.pipe")),
];

/// A source that this was built without, and what helps.
#[cfg(not(all(feature = "hdf5", feature = "tables")))]
macro_rules! absent {
    ($name:literal, $files:literal) => {
        (
            $name,
            concat!(
                "`",
                $name,
                "` reads ",
                $files,
                "; this `pipec` was built without: build it with `--features full`"
            ),
        )
    };
}

/// Names that other builds or later versions bring, and what each does.
static LATER: &[(&str, &str)] = &[
    #[cfg(not(feature = "tables"))]
    absent!("arrow", "Arrow files"),
    #[cfg(not(feature = "hdf5"))]
    absent!("hdf5", "HDF5 files"),
    #[cfg(not(feature = "html"))]
    (
        "html_text",
        "`html_text` finds the text of HTML pages; this `pipec` was built without: build it with \
         `--features full`",
    ),
    #[cfg(not(feature = "tables"))]
    absent!("mds", "MDS shards"),
    #[cfg(not(feature = "tables"))]
    absent!("npz", "NPZ files"),
    #[cfg(not(feature = "tables"))]
    absent!("parquet", "Parquet files"),
    #[cfg(not(feature = "chat"))]
    (
        "chat",
        "`chat` makes tokens of the messages of a chat; this `pipec` was built without: build it with `--features full`",
    ),
    (
        "decode_audio",
        "`decode_audio` decodes FLAC, MP3, Ogg and WAV; it is planned with the audio library",
    ),
    ("log_mel", "`log_mel` computes a log-mel spectrogram; it is planned with the audio library"),
    (
        "mask_time",
        "`mask_time` blanks a stretch of time (SpecAugment); it is planned with the audio library",
    ),
    (
        "mask_frequency",
        "`mask_frequency` blanks a band of frequencies (SpecAugment); it is planned with the \
         audio library",
    ),
    ("video_frames", "`video_frames` decodes a video; it is planned with the video library"),
    ("rasterize", "`rasterize` draws outlines as masks; it is planned with the detection library"),
    (
        "resize_all",
        "`resize_all` resizes an image with its boxes and masks; it is planned with the detection \
         library",
    ),
    (
        "ssd_random_crop",
        "`ssd_random_crop` is the crop of the SSD paper; it is planned with the detection library",
    ),
    ("autocontrast", "`autocontrast` stretches the gray levels; it is planned with RandAugment"),
    ("equalize", "`equalize` flattens the histogram; it is planned with RandAugment"),
    ("posterize", "`posterize` drops bits; it is planned with RandAugment"),
    ("solarize", "`solarize` inverts bright pixels; it is planned with RandAugment"),
];

/// The functions by subject, which is the folder that they lie in.
pub fn subjects() -> [(&'static str, &'static [&'static Function]); 6] {
    use functions::{codec, foreign, image, random, tensor, text};
    [
        ("codec", codec::ALL),
        ("foreign", foreign::ALL),
        ("image", image::ALL),
        ("random", random::ALL),
        ("tensor", tensor::ALL),
        ("text", text::ALL),
    ]
}

static FUNCTIONS: LazyLock<BTreeMap<&str, &Function>> = LazyLock::new(|| {
    subjects().into_iter().flat_map(|it| it.1).map(|it| (it.entry.name(), *it)).collect()
});

static OPERATORS: LazyLock<BTreeMap<&str, &Operator>> =
    LazyLock::new(|| operators::ALL.iter().map(|it| (it.entry.name(), *it)).collect());

static SOURCES: LazyLock<BTreeMap<&str, &Source>> =
    LazyLock::new(|| sources::ALL.iter().map(|it| (it.entry.name(), *it)).collect());

static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library {
    functions: FUNCTIONS.values().map(|it| &it.entry).collect::<Vec<_>>().leak(),
    operators: OPERATORS.values().map(|it| &it.entry).collect::<Vec<_>>().leak(),
    sources: SOURCES.values().map(|it| &it.entry).collect::<Vec<_>>().leak(),
    written: WRITTEN,
    later: LATER,
});

/// What the compiler is told about everything that can be called; sorted by name.
pub fn library() -> Library {
    *LIBRARY
}

/// The fields that the source called `name` finds in its files; none where they are always the same.
///
/// # Errors
/// No file matches, or the first one cannot be read as what it should be.
pub fn probe(name: &str, args: &[Arg]) -> Result<Vec<Field>, Failure> {
    SOURCES.get(name).and_then(|it| it.probe).map_or(Ok(Vec::new()), |probe| probe(args))
}

/// The same for messages that may be read by others than those who may read the files. `may_show` is asked of a file of
/// which a line of text names the fields, as any file has one: where it refuses, failures say nothing of what is in it.
///
/// # Errors
/// As [`probe`].
pub fn probe_shown(
    name: &str,
    args: &[Arg],
    may_show: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Field>, Failure> {
    match SOURCES.get(name).and_then(|it| it.of_text) {
        Some(probe) => probe(args, may_show),
        None => probe(name, args),
    }
}

/// What the data of the source called `name` is like: reads a few records, or asks for the sizes of a few files. None
/// where its fields, as far as they are needed, are of one size, and where nothing can be read.
pub fn about(name: &str, args: &[Arg], fields: &[Field]) -> Option<About> {
    sources::about(SOURCES.get(name)?, args, fields)
}

/// What a source that is told of a filter does not read of its files; opens all of them. None of others, and where that
/// cannot be said.
pub fn unneeded(name: &str, args: &[Arg], fields: &[Field]) -> Option<Unneeded> {
    let source = SOURCES.get(name)?;
    if args.get(source.entry.filters()?)? == &Arg::None {
        return None;
    }
    let source = (source.build)(&SourceCall { args, columns: fields, place: 0 }).ok()?;
    source.len().ok()?;
    source.unneeded()
}

/// Whether what [`probe`] finds is written in files, so that they must be read to know it.
pub fn reads_to_know(name: &str) -> bool {
    SOURCES.get(name).is_some_and(|it| it.probe.is_some())
}

/// Whether the function called `name` reads a file that an argument names, which need be none of a source.
pub fn reads_named_file(name: &str) -> bool {
    let reads = |it: &str| it.contains("(path: str") && it.contains(") reads ");
    LIBRARY.function(name).is_some_and(|it| reads(it.signature))
}

/// How people read what the function called `name` gives, where they can.
pub fn reading(name: &str) -> Option<Reads> {
    FUNCTIONS.get(name)?.reads
}

/// The library, as the runtime asks it; with the functions that stand outside of the program.
pub struct WithOutside(pub Arc<dyn Outside>);

impl runtime::Kernels for WithOutside {
    fn function(&self, name: &str) -> Option<runtime::Build> {
        Kernels.function(name)
    }

    fn parts(&self, name: &str) -> Option<&'static plan::Fused> {
        Kernels.parts(name)
    }

    fn outside(&self) -> Option<Arc<dyn Outside>> {
        Some(self.0.clone())
    }

    fn operator(&self, name: &str) -> Option<runtime::BuildOperator> {
        Kernels.operator(name)
    }

    fn source(&self, name: &str) -> Option<runtime::BuildSource> {
        Kernels.source(name)
    }
}

/// The library, as the runtime asks it.
pub struct Kernels;

impl runtime::Kernels for Kernels {
    fn function(&self, name: &str) -> Option<runtime::Build> {
        FUNCTIONS.get(name)?.build
    }

    fn parts(&self, name: &str) -> Option<&'static plan::Fused> {
        FUNCTIONS.get(name)?.entry.properties.iter().find_map(|it| match it {
            plan::Property::Fuses(fused) => Some(*fused),
            _ => None,
        })
    }

    fn operator(&self, name: &str) -> Option<runtime::BuildOperator> {
        OPERATORS.get(name).map(|it| it.build)
    }

    fn source(&self, name: &str) -> Option<runtime::BuildSource> {
        SOURCES.get(name).map(|it| it.build)
    }
}

/// What an entry's file needs.
mod prelude {
    pub(crate) use crate::declare::{function, intrinsic, operator, source};
    pub(crate) use plan::{
        Action, Affine, Applied, Arg, Cost, DType, Extent, Field, Intrinsic, Nearly, Neutral,
        Property, Reduction, Type, Untyped,
    };
    pub(crate) use runtime::{
        Args, Call, Chunk, ChunkBuilder, Failure, Fault, Kernel, Out, Shape, SideIndex, Tensor,
        Working,
    };
}
