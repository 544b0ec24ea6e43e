//! From coefficients to pixels: inverse DCT, upsampling and colour, for each tier.
//!
//! All tiers give the same bytes. The plain kernels say what these are; the others follow.

mod colour;
mod idct;
mod idct_scaled;
mod upsample;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod colour_words;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod idct_scaled_words;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod idct_words;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tiers;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod upsample_words;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod words;
#[cfg(target_arch = "aarch64")]
mod words_neon;
#[cfg(target_arch = "x86_64")]
mod words_x86;

use crate::Tier;

/// Blocks that lie side by side, as their code gave them; all in zig-zag order.
#[derive(Clone, Copy)]
pub(crate) struct Coded<'a> {
    /// 64 coefficients of each block, one block after another.
    pub(crate) coefs: &'a [i16],
    /// What the coefficients are multiplied by.
    pub(crate) factors: &'a [u16; 64],
}

/// An inverse DCT: blocks, samples and their stride.
type Idct = unsafe fn(&Coded<'_>, &mut [u8], usize);

/// The functions of one tier, chosen once.
pub(crate) struct Kernels {
    idct: Idct,
    idct_scaled: [Idct; 3],
    h2v1: unsafe fn(&[u8], &mut [u8]),
    h2v2: unsafe fn(&[u8], &[u8], &mut [u8]),
    h1v2: unsafe fn(&[u8], &[u8], u16, &mut [u8]),
    ycc_to_rgb: unsafe fn([&[u8]; 3], &mut [u8]),
    interleave: unsafe fn([&[u8]; 3], &mut [u8]),
}

static PLAIN: Kernels = Kernels {
    idct: idct::plain,
    idct_scaled: [idct_scaled::plain::<4>, idct_scaled::plain::<2>, idct_scaled::plain::<1>],
    h2v1: upsample::h2v1,
    h2v2: upsample::h2v2,
    h1v2: upsample::h1v2,
    ycc_to_rgb: colour::ycc_to_rgb,
    interleave: colour::interleave,
};

impl Kernels {
    /// The kernels of `tier`; the plain ones where the processor lacks it.
    pub(crate) fn of(tier: Tier) -> &'static Kernels {
        match tier {
            tier if !tier.is_available() => &PLAIN,
            #[cfg(target_arch = "x86_64")]
            Tier::Sse2 => &tiers::SSE2,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => &tiers::AVX2,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => &tiers::AVX512,
            #[cfg(target_arch = "aarch64")]
            Tier::Neon => &tiers::NEON,
            _ => &PLAIN,
        }
    }

    /// The inverse DCT ("islow") of blocks that lie side by side.
    ///
    /// Sample (row, col) of block b goes to `out[row * stride + 8 * b + col]`.
    ///
    /// # Panics
    /// If there is no number of whole blocks, or `out` is shorter than `7 * stride + 8 * n`.
    pub(crate) fn idct(&self, blocks: &Coded<'_>, out: &mut [u8], stride: usize) {
        check_blocks(8, blocks, out, stride);
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.idct)(blocks, out, stride) }
    }

    /// As `idct`, to `8 >> shift` samples a side of a block (libjpeg's jidctred), shift 1 to 3.
    ///
    /// # Panics
    /// As `idct`, with the smaller block; and for another shift.
    pub(crate) fn idct_scaled(
        &self,
        shift: u32,
        blocks: &Coded<'_>,
        out: &mut [u8],
        stride: usize,
    ) {
        check_blocks(8 >> shift, blocks, out, stride);
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.idct_scaled[shift as usize - 1])(blocks, out, stride) }
    }

    /// Twice as many samples along a row ("fancy", the triangle filter).
    ///
    /// `from` holds the n samples of which `to` gets 2n, and a neighbour on either side (at the
    /// border of the component: the border sample again).
    ///
    /// # Panics
    /// If the lengths are not n + 2 and 2n.
    pub(crate) fn h2v1(&self, from: &[u8], to: &mut [u8]) {
        assert_eq!(from.len().checked_sub(2).map(|n| 2 * n), Some(to.len()), "n + 2 give 2n");
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.h2v1)(from, to) }
    }

    /// One of the two rows that a row of samples becomes, with twice as many samples.
    ///
    /// `near` is the row itself, `far` the one above (for the upper row) or below (for the lower
    /// one), each n + 2 samples as for `h2v1`.
    ///
    /// # Panics
    /// If the lengths are not n + 2, n + 2 and 2n.
    pub(crate) fn h2v2(&self, near: &[u8], far: &[u8], to: &mut [u8]) {
        assert_eq!(near.len(), far.len(), "two rows of one component");
        assert_eq!(near.len().checked_sub(2).map(|n| 2 * n), Some(to.len()), "n + 2 give 2n");
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.h2v2)(near, far, to) }
    }

    /// One of the two rows that a row becomes: (3 near + far + bias) / 4.
    ///
    /// `bias` is 1 for even rows of the output and 2 for odd ones.
    ///
    /// # Panics
    /// If the lengths differ.
    pub(crate) fn h1v2(&self, near: &[u8], far: &[u8], bias: u16, to: &mut [u8]) {
        assert!(near.len() == far.len() && near.len() == to.len(), "rows of one length");
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.h1v2)(near, far, bias, to) }
    }

    /// Rows of n samples to n RGB pixels, 3 bytes each (the colours of JFIF).
    ///
    /// # Panics
    /// If the lengths are not n, n, n and 3n.
    pub(crate) fn ycc_to_rgb(&self, y: &[u8], cb: &[u8], cr: &[u8], to: &mut [u8]) {
        check_planes([y, cb, cr], to);
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.ycc_to_rgb)([y, cb, cr], to) }
    }

    /// Three rows of n samples to n pixels of 3 bytes.
    ///
    /// # Panics
    /// If the lengths are not n, n, n and 3n.
    pub(crate) fn interleave(&self, r: &[u8], g: &[u8], b: &[u8], to: &mut [u8]) {
        check_planes([r, g, b], to);
        // SAFETY: `of` gives kernels of a tier that the processor has; the lengths are checked.
        unsafe { (self.interleave)([r, g, b], to) }
    }

    /// A row of n gray samples to n RGB pixels, 3 bytes each.
    ///
    /// # Panics
    /// If the lengths are not n and 3n.
    pub(crate) fn gray_to_rgb(&self, y: &[u8], to: &mut [u8]) {
        self.interleave(y, y, y, to);
    }
}

/// Holds when the blocks are whole and `out` has room for them.
fn check_blocks(side: usize, blocks: &Coded<'_>, out: &[u8], stride: usize) {
    let n = blocks.coefs.len() / 64;
    assert_eq!(blocks.coefs.len(), 64 * n, "blocks are whole");
    if n > 0 {
        let end = stride.checked_mul(side - 1).and_then(|it| it.checked_add(side * n));
        assert!(end.is_some_and(|end| end <= out.len()), "the blocks fit into the rows");
    }
}

/// Holds when the rows are equally long and `to` has three bytes for each sample.
fn check_planes(planes: [&[u8]; 3], to: &[u8]) {
    let n = planes[0].len();
    assert!(planes[1].len() == n && planes[2].len() == n && to.len() == 3 * n, "n, n, n give 3n");
}

#[cfg(test)]
mod tests;
