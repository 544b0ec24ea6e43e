//! A decoder of JPEGs, to the bit as libjpeg-turbo's.
//!
//! It takes baseline and extended sequential files of one scan, and progressive ones of up to 100
//! which together give all coefficients: of 8 bits with Huffman code, one or three components, any
//! sampling of whole ratios, with restart markers or without; and of these only what is entirely
//! in order. Whatever else there is, it refuses by name
//! ([`Error::Unsupported`], [`Error::Irregular`]), for another decoder to judge. What it gives
//! equals libjpeg-turbo's slow integer transform and "fancy" upsampling, for all of a picture
//! and for any part of it; it reads no further than the part needs, and holds a few rows.
//!
//! ```
//! # let bytes = libjpeg_turbo_rs::compress(
//! #     &[128; 3 * 40 * 30], 40, 30, libjpeg_turbo_rs::PixelFormat::Rgb, 90,
//! #     libjpeg_turbo_rs::Subsampling::S420).unwrap();
//! use jpeg::{Decoder, Header, Region, Request};
//!
//! let header = Header::read(&bytes)?;
//! let region = Region { x: 5, y: 5, width: header.width - 10, height: header.height - 10 };
//! let mut pixels = vec![0; region.width * region.height * 3];
//! let request = Request { region: Some(region), ..Request::default() };
//! Decoder::new().decode(&bytes, &request, &mut pixels, region.width * 3)?;
//! # Ok::<(), jpeg::Error>(())
//! ```

mod bits;
mod blocks;
mod decoder;
mod entropy;
mod error;
mod header;
mod huffman;
mod index;
mod layout;
mod making;
mod picture;
mod pixels;
mod progressive;
mod restarts;
mod rows;
mod source;
mod tier;
mod unstuff;

pub use decoder::{Channels, Decoder, Info, Request, Target};
pub use error::Error;
pub use header::{Colour, Header, Kind};
pub use index::Index;
pub use layout::{Region, Scale};
pub use tier::Tier;
