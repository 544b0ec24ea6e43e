//! The functions of each tier.

use crate::bits::Bits;
use crate::coefficients::{self, Coefficients, Edge};
use crate::colour::{self, Line};
use crate::filter::{self, Edges, Plane};
use crate::header::{Factors, Filter, Positions, Probs};
use crate::lanes::Plain as PlainLanes;
use crate::modes::{self, Macroblock, Mode};
use crate::transform;

/// What a tier does in its own way.
pub(crate) trait Kernels {
    /// [`modes::read_row`].
    ///
    /// # Safety
    /// The processor has the tier.
    unsafe fn modes(
        bits: &mut Bits<'_>,
        probs: &Probs,
        above: &mut [[Mode; 4]],
        row: &mut [Macroblock],
    );
    /// [`coefficients::read`].
    ///
    /// # Safety
    /// The processor has the tier.
    unsafe fn coefficients(
        bits: &mut Bits<'_>,
        probs: &[Positions; 4],
        factors: &Factors,
        has_subblocks: bool,
        beside: (&mut Edge, &mut Edge),
        to: &mut Coefficients,
    ) -> bool;
    /// Adds a block to its prediction.
    fn add(block: &[i16; 16], area: &mut [u8], at: usize);
    /// Adds two blocks side by side.
    fn add_two(blocks: [&[i16; 16]; 2], area: &mut [u8], at: usize);
    /// [`filter::row`].
    ///
    /// # Safety
    /// The processor has the tier.
    unsafe fn smooth(
        filter: Filter,
        planes: &mut [Plane<'_>; 3],
        at: [usize; 2],
        is_first: bool,
        edges: &[Edges],
    );
    /// [`colour::pixels`].
    ///
    /// # Safety
    /// The processor has the tier.
    unsafe fn pixels<const C: usize>(line: &Line<'_>, to: &mut [u8]);
}

/// The functions of a tier that differ only in the instructions that they are compiled for.
macro_rules! compiled {
    ($(#[$features:meta])? $lanes:ty) => {
        /// # Safety
        /// The processor has the tier.
        $(#[$features])?
        unsafe fn modes(
            bits: &mut Bits<'_>,
            probs: &Probs,
            above: &mut [[Mode; 4]],
            row: &mut [Macroblock],
        ) {
            modes::read_row(bits, probs, above, row);
        }

        /// # Safety
        /// The processor has the tier.
        $(#[$features])?
        unsafe fn coefficients(
            bits: &mut Bits<'_>,
            probs: &[Positions; 4],
            factors: &Factors,
            has_subblocks: bool,
            beside: (&mut Edge, &mut Edge),
            to: &mut Coefficients,
        ) -> bool {
            coefficients::read(bits, probs, factors, has_subblocks, beside, to)
        }

        /// # Safety
        /// The processor has the tier.
        $(#[$features])?
        unsafe fn smooth(
            filter: Filter,
            planes: &mut [Plane<'_>; 3],
            at: [usize; 2],
            is_first: bool,
            edges: &[Edges],
        ) {
            filter::row::<$lanes>(filter, planes, at, is_first, edges);
        }
    };
}

/// [`crate::Tier::Plain`].
pub(crate) struct Plain;

impl Kernels for Plain {
    compiled!(PlainLanes);

    fn add(block: &[i16; 16], area: &mut [u8], at: usize) {
        transform::add_plain(block, area, at);
    }

    fn add_two(blocks: [&[i16; 16]; 2], area: &mut [u8], at: usize) {
        transform::add_two_plain(blocks, area, at);
    }

    unsafe fn pixels<const C: usize>(line: &Line<'_>, to: &mut [u8]) {
        colour::pixels::<C>(line, to);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::__m128i;

    /// [`crate::Tier::Sse2`].
    pub(crate) struct Sse2;

    impl Kernels for Sse2 {
        compiled!(__m128i);

        #[inline(always)]
        fn add(block: &[i16; 16], area: &mut [u8], at: usize) {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { transform::x86::add(block, area, at) };
        }

        #[inline(always)]
        fn add_two(blocks: [&[i16; 16]; 2], area: &mut [u8], at: usize) {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { transform::x86::add_two(blocks, area, at) };
        }

        unsafe fn pixels<const C: usize>(line: &Line<'_>, to: &mut [u8]) {
            colour::pixels::<C>(line, to);
        }
    }

    /// [`crate::Tier::Avx2`].
    pub(crate) struct Avx2;

    impl Kernels for Avx2 {
        compiled!(
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
            __m128i
        );

        #[inline(always)]
        fn add(block: &[i16; 16], area: &mut [u8], at: usize) {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { transform::x86::add(block, area, at) };
        }

        #[inline(always)]
        fn add_two(blocks: [&[i16; 16]; 2], area: &mut [u8], at: usize) {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { transform::x86::add_two(blocks, area, at) };
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        unsafe fn pixels<const C: usize>(line: &Line<'_>, to: &mut [u8]) {
            // SAFETY: the caller says that the processor has the tier.
            unsafe { colour::avx2::pixels::<C>(line, to) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Sse2};
