//! How macroblocks are predicted, and what else is said of them (RFC 6386, sections 10 and 11).

use crate::bits::Bits;
use crate::header::Probs;
use crate::tables::SUBBLOCK_NODES;

/// Modes of prediction, of a macroblock, of chroma, or of a subblock, in the order of the RFC's
/// `intra_bmode`: a macroblock's mode says what the modes of its subblocks would be.
pub(crate) type Mode = u8;
pub(crate) const DC: Mode = 0;
pub(crate) const TRUE_MOTION: Mode = 1;
pub(crate) const VERTICAL: Mode = 2;
pub(crate) const HORIZONTAL: Mode = 3;
pub(crate) const LEFT_DOWN: Mode = 4;
pub(crate) const RIGHT_DOWN: Mode = 5;
pub(crate) const VERTICAL_RIGHT: Mode = 6;
pub(crate) const VERTICAL_LEFT: Mode = 7;
pub(crate) const HORIZONTAL_DOWN: Mode = 8;
pub(crate) const HORIZONTAL_UP: Mode = 9;

/// What is said of a macroblock before its coefficients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Macroblock {
    /// 0 to 3.
    pub(crate) segment: u8,
    /// Whether it says that it has no coefficients.
    pub(crate) is_skipped: bool,
    /// Whether its 16 subblocks are predicted one after the other.
    pub(crate) has_subblocks: bool,
    /// Of the subblocks; without subblocks, the first is that of the macroblock.
    pub(crate) modes: [Mode; 16],
    pub(crate) chroma: Mode,
}

/// Reads what is said of a row of macroblocks. `above` holds the modes of the subblocks above.
#[inline(always)]
pub(crate) fn read_row(
    bits: &mut Bits<'_>,
    probs: &Probs,
    above: &mut [[Mode; 4]],
    row: &mut [Macroblock],
) {
    let mut now = *bits;
    let mut left = [DC; 4];
    for (above, to) in above.iter_mut().zip(row) {
        read(&mut now, probs, (above, &mut left), to);
    }
    *bits = now;
}

#[inline(always)]
fn read(
    bits: &mut Bits<'_>,
    probs: &Probs,
    (above, left): (&mut [Mode; 4], &mut [Mode; 4]),
    to: &mut Macroblock,
) {
    to.segment = match probs.segments {
        Some([root, _, last]) if bits.bool(root) => 2 + bits.bit(last) as u8,
        Some([_, first, _]) => bits.bit(first) as u8,
        None => 0,
    };
    to.is_skipped = probs.skip.is_some_and(|prob| bits.bool(prob));
    to.has_subblocks = !bits.bool(145);
    if to.has_subblocks {
        for (y, left) in left.iter_mut().enumerate() {
            for (x, above) in above.iter_mut().enumerate() {
                let nodes = &SUBBLOCK_NODES[usize::from(*above)][usize::from(*left)];
                let mode = subblock(bits, nodes);
                to.modes[4 * y + x] = mode;
                (*above, *left) = (mode, mode);
            }
        }
    } else {
        let mode = match bits.bool(156) {
            true if bits.bool(128) => TRUE_MOTION,
            true => HORIZONTAL,
            false if bits.bool(163) => VERTICAL,
            false => DC,
        };
        to.modes[0] = mode;
        (*above, *left) = ([mode; 4], [mode; 4]);
    }
    to.chroma = match bits.bool(142) {
        false => DC,
        true if !bits.bool(114) => VERTICAL,
        true if bits.bool(183) => TRUE_MOTION,
        true => HORIZONTAL,
    };
}

#[inline(always)]
fn subblock(bits: &mut Bits<'_>, nodes: &[u8; 9]) -> Mode {
    if !bits.bool(nodes[0]) {
        DC
    } else if !bits.bool(nodes[1]) {
        TRUE_MOTION
    } else if !bits.bool(nodes[2]) {
        VERTICAL
    } else if !bits.bool(nodes[3]) {
        if !bits.bool(nodes[4]) {
            HORIZONTAL
        } else if !bits.bool(nodes[5]) {
            RIGHT_DOWN
        } else {
            VERTICAL_RIGHT
        }
    } else if !bits.bool(nodes[6]) {
        LEFT_DOWN
    } else if !bits.bool(nodes[7]) {
        VERTICAL_LEFT
    } else if !bits.bool(nodes[8]) {
        HORIZONTAL_DOWN
    } else {
        HORIZONTAL_UP
    }
}
