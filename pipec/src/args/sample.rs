//! Arguments of `sample`.

use super::values::whole;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `sample`.
#[derive(Subcommand)]
pub(crate) enum SampleCommand {
    /// Generate natural-looking labelled JPEGs in class folders.
    #[command(after_help = "\
Examples:
  pipec sample images photos/ --count 2000
  pipec run train.pipe --set data=photos

A program can also name a data set itself, `files(\"sample:images?count=2000\")`: it is generated on \
first use, in the user's cache folder.")]
    Images(SampleArgs),
    /// Generate JPEGs in tar shards, with captions beside them.
    #[command(after_help = "\
Examples:
  pipec sample shards shards/
  pipec peek train.pipe --set data=shards

A program can also name a data set itself, `tar(\"sample:shards\")`.")]
    Shards(SampleArgs),
    /// Generate JPEGs with bounding boxes, in the form of COCO.
    #[command(after_help = "\
Examples:
  pipec sample boxes boxes/
  pipec inspect boxes/annotations.json

A program can also name a data set itself, `coco(\"sample:boxes/annotations.json\", images: \"sample:boxes/images\")`.")]
    Boxes(SampleArgs),
    /// Generate JPEGs with bounding boxes, polygons and class maps, in the forms of COCO, YOLO and Pascal VOC.
    #[command(after_help = "\
Examples:
  pipec sample detection detection/
  pipec peek examples/ssd.pipe --set data=detection

A program can also name a data set itself, `files(\"sample:detection/images/*.jpg\")`.")]
    Detection(SampleArgs),
    /// Generate tables: taxi rides in Parquet, and the load of meters.
    #[command(after_help = "\
Examples:
  pipec sample tables tables/
  pipec inspect tables/rides

A program can also name a data set itself, `parquet(\"sample:tables\")`.")]
    Tables(SampleArgs),
    /// Generate texts: documents in several scripts, code, books, HTML pages and pairs of sentences.
    #[command(after_help = "\
Examples:
  pipec sample text text/
  pipec peek pretraining.pipe --set data=text

A program can also name a data set itself, `jsonl(\"sample:text\")`.")]
    Text(SampleArgs),
    /// Generate chats in JSON Lines, with a tokenizer and its template.
    #[command(after_help = "\
Examples:
  pipec sample chats chats/
  pipec run examples/sft.pipe --set data=chats --set model=chats

A program can also name a data set itself, `jsonl(\"sample:chats\")`.")]
    Chats(SampleArgs),
}

/// `sample images` and so on.
#[derive(Args)]
pub(crate) struct SampleArgs {
    /// Folder to write to.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Number of images [default: 1000; of `shards` and `boxes`: 256], of rides [default: 100000], of documents [default: 10000],
    /// or of chats [default: 4000].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 1000))]
    pub(crate) count: Option<u64>,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX, 7))]
    pub(crate) seed: u64,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
