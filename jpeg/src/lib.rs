//! A decoder of sequential JPEGs, to the bit as libjpeg-turbo's.
#![allow(dead_code)]

mod pixels;
mod tier;

pub use tier::Tier;
