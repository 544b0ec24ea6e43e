//! Picture kernels on plain memory, shared by the functions of `functions/image`.

pub(crate) mod blur;
pub(crate) mod border;
pub(crate) mod clahe;
pub(crate) mod colour;
pub(crate) mod eight;
pub(crate) mod line;
pub(crate) mod median;
pub(crate) mod nearest;
pub(crate) mod normalize;
#[cfg(target_arch = "x86_64")]
mod permuted;
pub(crate) mod picture;
mod planes;
pub(crate) mod resample;
mod room;
pub(crate) mod sharpen;
#[cfg(target_arch = "x86_64")]
mod streamed;
pub(crate) mod table;
pub(crate) mod taps;
mod tiers;
mod transpose;
pub(crate) mod warp;
pub(crate) mod wide;

pub(crate) use picture::{Picture, packed};
pub(crate) use room::with_room;
pub(crate) use tiers::tiers;
