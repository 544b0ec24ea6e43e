//! Makes natural-looking labelled JPEGs, tables and texts, so that nothing need be downloaded.
//!
//! Seven sets: pictures in class folders ([`images`]), in shards with captions beside them ([`shards()`]), with the boxes
//! of what stands in them ([`boxes()`]), and with boxes, labels and class maps ([`detection()`]); rides and the load of meters in tables ([`tables()`]); documents in several
//! scripts, code, books, pages and pairs of sentences ([`texts()`]); chats with a tokenizer ([`chats()`]).
//!
//! [`images`] writes a set of photographs-to-be into class folders (`DIR/flower/00004.jpg`).
//! Sizes, samplings, bits and Huffman symbols a pixel are distributed as in ImageNet, so that
//! what is measured on the set holds for the real one. Picture *i* depends on the seed and on
//! *i* alone: neither the number of pictures nor the number of threads changes it.
//! [`parse`] and [`cached`] serve sources that name a set instead of files.

mod boxes;
mod bpe;
mod camera;
mod canvas;
mod chance;
mod chats;
mod detection;
mod encode;
mod noise;
mod parquet;
mod photo;
mod request;
mod scene;
mod set;
mod shards;
mod tables;
mod tar;
mod text;
mod words;

pub use boxes::{Boxes, boxes};
pub use chats::{Chats, chats};
pub use detection::{Detection, detection};
pub use request::{Kind, Request, cached, parse};
pub use set::{Error, Images, Summary, images};
pub use shards::{Shards, shards};
pub use tables::{Tables, tables};
pub use text::{Texts, texts};

use libjpeg_turbo_rs::JpegError;

use crate::canvas::Canvas;
use crate::chance::Chance;
use crate::photo::Photo;
use crate::scene::{SCENES, Sketch, Thing};

/// The version of what is drawn; it changes whenever a picture's bytes do.
pub const VERSION: u32 = 1;

/// The names of the classes, sorted: a class is its name's place in this list.
pub fn classes() -> impl ExactSizeIterator<Item = &'static str> {
    SCENES.iter().map(|it| it.name)
}

/// One picture of a set: the JPEG's bytes.
fn picture(seed: u64, index: u64, class: usize) -> Result<Vec<u8>, JpegError> {
    drawn(seed, index, class).map(|it| it.bytes)
}

/// A picture, and what is known of it.
struct Drawn {
    bytes: Vec<u8>,
    photo: Photo,
    /// What stands in it, from back to front.
    things: Vec<Thing>,
}

fn drawn(seed: u64, index: u64, class: usize) -> Result<Drawn, JpegError> {
    let photo = photo::draw(seed, index);
    let chance = Chance::new(seed, index);
    let texture = 0.43 + 1.7 * photo.detail;
    let mut sketch = Sketch::new(Canvas::new(photo.width, photo.height), chance, texture);
    (SCENES[class].draw)(&mut sketch);
    let samples = camera::expose(&sketch.canvas, &photo, &mut sketch.chance);
    let bytes = encode::encode(&photo, &samples)?;
    Ok(Drawn { bytes, photo, things: sketch.things })
}
