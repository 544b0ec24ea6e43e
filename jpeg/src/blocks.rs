//! Room for the coefficients of a row of MCUs, and where each block's belong.

use crate::entropy::Tables;
use crate::huffman::STOP;
use crate::layout::Layout;
use std::ops::Range;

/// Coefficients of a block.
const BLOCK: usize = 64;
/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 2 * BLOCK;

/// A block, aligned so that an address tells the place in it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
pub(crate) struct Block(pub(crate) [i16; BLOCK]);

/// Where a block is written to, and the tables that it is read with: those of a `Codec`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Place {
    pub(crate) block: *mut u8,
    pub(crate) tables: *const u64,
}

// SAFETY: a place is looked at only by the run that wrote it.
unsafe impl Send for Place {}
// SAFETY: of one that is shared, only the addresses can be read.
unsafe impl Sync for Place {}

/// A coefficient that is to be written: where its value's code stands, and what its bits begin with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Later {
    pub(crate) at: *mut u8,
    pub(crate) bits: u64,
}

// SAFETY: it is looked at only by the run that wrote it.
unsafe impl Send for Later {}
// SAFETY: of one that is shared, only the address and bits can be read.
unsafe impl Sync for Later {}

/// Coefficients that are left to be written at a time; more are written before the next look-ups.
pub(crate) const LATER_MAX: usize = 240;
/// More than come of a group of look-ups and what its last one leads to, symbol by symbol.
const LATER_MORE: usize = 16;

/// Room for the blocks of a row of MCUs.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The coefficients in zig-zag order. Before all is a block that is not read or written.
    blocks: Vec<Block>,
    /// The blocks in the order of the scan, and two more.
    pub(crate) places: Vec<Place>,
    pub(crate) later: Box<[Later; LATER_MAX + LATER_MORE]>,
    /// Where the blocks of each component begin, how many a row has, and how many rows.
    planes: [(usize, usize, usize); 3],
}

impl Blocks {
    pub(crate) fn new() -> Self {
        let later = Later { at: std::ptr::null_mut(), bits: 0 };
        Self {
            blocks: Vec::new(),
            places: Vec::new(),
            later: Box::new([later; _]),
            planes: [(0, 0, 0); 3],
        }
    }

    /// Makes room for `mcus` of a row; gives how many blocks that is.
    pub(crate) fn make_room(&mut self, layout: &Layout, mcus: usize) -> usize {
        let mut n = 1;
        self.planes = [(0, 0, 0); 3];
        for (to, plane) in self.planes.iter_mut().zip(layout.planes()) {
            // Behind each row is a block that what runs over the last one is written to.
            *to = (n, plane.h * mcus + 1, plane.v);
            n += to.1 * to.2;
        }
        // What is written with a block ends within the second one behind it.
        if self.blocks.len() < n + 1 {
            self.blocks.resize(n + 1, Block([0; BLOCK]));
        }
        n + 1
    }

    /// Makes room for `mcus` of a row, to be read with the codecs `of` the components.
    pub(crate) fn begin(&mut self, layout: &Layout, mcus: usize, tables: &Tables, of: [usize; 3]) {
        self.make_room(layout, mcus);
        self.places.clear();
        let blocks = self.blocks.as_mut_ptr();
        for mcu in 0..mcus {
            for (component, y, x) in layout.blocks() {
                let (first, row_len, _) = self.planes[component];
                let at = first + y * row_len + mcu * layout.planes()[component].h + x;
                let codec: *const _ = tables.codec(of[component]);
                // SAFETY: it is one of the blocks that there is room for.
                let block = unsafe { blocks.add(at) };
                self.places.push(Place { block: block.cast(), tables: codec.cast() });
            }
        }
        // A block may end the range that is read, and one more is looked at.
        let stop = self.stop();
        self.places.extend([stop; 2]);
    }

    /// The place where reading stops.
    pub(crate) fn stop(&mut self) -> Place {
        Place { block: self.blocks.as_mut_ptr().cast(), tables: STOP.as_ptr() }
    }

    /// All blocks.
    pub(crate) fn all(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// Where, among all, some blocks of a row of a component lie, with a spare one behind them.
    pub(crate) fn row(&self, component: usize, row: usize, blocks: &Range<usize>) -> Range<usize> {
        let (first, row_len, _) = self.planes[component];
        let first = first + row * row_len;
        first + blocks.start..first + blocks.end
    }

    /// Makes zeros of `blocks` of a row of a component, and of the one behind them.
    pub(crate) fn clear(&mut self, component: usize, row: usize, blocks: &Range<usize>) {
        let Range { start, end } = self.row(component, row, blocks);
        self.blocks[start..=end].fill(Block([0; BLOCK]));
    }

    /// The coefficients of `blocks` of a row of a component.
    pub(crate) fn coefs(&self, component: usize, row: usize, blocks: &Range<usize>) -> &[i16] {
        let blocks = &self.blocks[self.row(component, row, blocks)];
        // SAFETY: a block is 64 words and nothing else.
        unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), BLOCK * blocks.len()) }
    }

    /// The component that the coefficient at `at` belongs to.
    pub(crate) fn component(&self, at: *const u8) -> usize {
        let block = (at.addr() - self.blocks.as_ptr().addr()) / BLOCK_BYTES;
        self.planes.iter().rposition(|it| it.1 > 0 && it.0 <= block).unwrap_or(0)
    }
}
