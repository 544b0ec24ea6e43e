//! A decoder of WebPs, to the bit as libwebp's.
//!
//! It takes lossy pictures (key frames of VP8, RFC 6386), with alpha or without, and lossless ones (VP8L);
//! of animations it reads the container alone. It gives what libwebp gives with its "fancy"
//! upsampling, and takes nothing that libwebp refuses. Of a lossy picture it holds a few rows beside
//! the pixels that it writes.
//!
//! ```
//! # let bytes = std::fs::read("tests/goldens/odd.webp").unwrap();
//! use webp::{Decoder, File};
//!
//! let file = File::read(&bytes)?;
//! let mut pixels = vec![0; file.width * file.height * 3];
//! Decoder::new().rgb(&file, &mut pixels)?;
//! # Ok::<(), webp::Error>(())
//! ```

mod alpha;
mod bits;
mod coefficients;
mod colour;
mod container;
mod decoder;
mod error;
mod filter;
mod frame;
mod header;
mod kernels;
mod lanes;
mod lossless;
mod modes;
mod predict;
mod tables;
mod tier;
mod transform;

pub use container::{File, Kind};
pub use decoder::Decoder;
pub use error::Error;
pub use tier::Tier;
