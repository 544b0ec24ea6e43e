//! A loop that was compiled, and how it is run.

use crate::{
    Layout, Loop, OPERANDS_MAX, body,
    calls::{self, Call},
    executable::Executable,
};
use std::{fmt, mem, ptr, sync::Arc};

/// Where an operand lies.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its first element.
    pub first: *mut u8,
    /// Bytes from one element to the next; of no account but where they are strided.
    pub step: isize,
}

/// Machine code for a [`Loop`]; may be run by several threads at once.
pub struct Kernel {
    code: Code,
    /// Elements that one turn of the loop takes.
    block: usize,
    /// Of operands and then results: bytes of an element, and how they lie.
    operands: Vec<(usize, Layout)>,
    n_inputs: usize,
    /// Where the code lies, perhaps beside that of others.
    _memory: Arc<Executable>,
}

/// Operands, results, blocks, functions to call.
type Code = unsafe extern "C" fn(*const Place, *const Place, usize, *const Call);

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("operands", &self.operands).finish_non_exhaustive()
    }
}

/// Room for the last elements of one operand.
type Rest = [u64; body::BLOCK_MAX];

impl Kernel {
    /// # Safety
    /// What lies at the byte `at` of `memory` was made for `program`, by [`crate::Target::code`] of this
    /// form, with no instructions but those that this processor has.
    pub(crate) unsafe fn new(program: &Loop, memory: Arc<Executable>, at: usize) -> Self {
        let inputs = program.inputs.iter().map(|it| (it.dtype.size(), it.layout));
        let outputs = program.outputs.iter().map(|it| (program.dtype(it.op).size(), it.layout));
        Self {
            // SAFETY: the caller says that code of this type lies there.
            code: unsafe { mem::transmute::<*const u8, Code>(memory.function(at)) },
            block: body::block(program),
            operands: inputs.chain(outputs).collect(),
            n_inputs: program.inputs.len(),
            _memory: memory,
        }
    }

    /// Computes `n` elements. `places` are those of the operands, then those of the results.
    ///
    /// # Safety
    /// Each place holds `n` elements of its dtype, as its layout says (one, where it is
    /// [`Layout::Same`], which no result's is); no result lies where another operand or result does.
    pub unsafe fn run(&self, places: &[Place], n: usize) {
        assert_eq!(places.len(), self.operands.len(), "a place for each operand");
        let blocks = n / self.block;
        if blocks > 0 {
            // SAFETY: so many blocks are there.
            unsafe { self.blocks(places, blocks) };
        }
        if !n.is_multiple_of(self.block) {
            // SAFETY: the elements from there on are there.
            unsafe { self.rest(places, blocks * self.block, n) };
        }
    }

    /// # Safety
    /// As [`Kernel::run`], for `blocks` whole blocks, at least one, and with all places.
    unsafe fn blocks(&self, places: &[Place], blocks: usize) {
        let (inputs, outputs) = places.split_at(self.n_inputs);
        // SAFETY: the code reads and writes these places, and so many blocks of them.
        unsafe { (self.code)(inputs.as_ptr(), outputs.as_ptr(), blocks, calls::TABLE.as_ptr()) };
    }

    /// The elements `from..to`, fewer than a block, in a block of their own.
    ///
    /// # Safety
    /// As [`Kernel::run`], for `to` elements, fewer than a block from `from` on, and with all places.
    unsafe fn rest(&self, places: &[Place], from: usize, to: usize) {
        let mut room: [Rest; OPERANDS_MAX] = [[0; body::BLOCK_MAX]; OPERANDS_MAX];
        let mut own = [Place { first: ptr::null_mut(), step: 0 }; OPERANDS_MAX];
        for (i, (place, &(size, layout))) in places.iter().zip(&self.operands).enumerate() {
            own[i] = Place { first: room[i].as_mut_ptr().cast(), step: size as isize };
            match layout {
                Layout::Same => own[i] = *place,
                _ if i >= self.n_inputs => {}
                _ => {
                    for at in from..to {
                        // SAFETY: the element is there, and room for a block.
                        unsafe {
                            let to = own[i].first.add((at - from) * size);
                            copy(element(place, (size, layout), at), to, size);
                        };
                    }
                }
            }
        }
        // SAFETY: each has a block of its own.
        unsafe { self.blocks(&own[..places.len()], 1) };
        for i in self.n_inputs..places.len() {
            let (size, layout) = self.operands[i];
            for at in from..to {
                // SAFETY: the result has that element, and the block was written.
                unsafe {
                    let from = own[i].first.add((at - from) * size);
                    copy(from, element(&places[i], (size, layout), at), size);
                };
            }
        }
    }
}

/// # Safety
/// At `place` lie elements of this size in this layout, the one numbered `at` among them.
unsafe fn element(place: &Place, (size, layout): (usize, Layout), at: usize) -> *mut u8 {
    let step = if layout == Layout::Dense { size as isize } else { place.step };
    // SAFETY: the caller says that it is there.
    unsafe { place.first.offset(step * at as isize) }
}

/// # Safety
/// `size` is 1, 2, 4 or 8; so many bytes can be read at `from` and written at `to`.
unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller says that as many bytes are there; they need not be aligned.
    unsafe {
        match size {
            1 => *to = *from,
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
        }
    }
}
