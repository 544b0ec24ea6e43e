//! The first bits of coefficients.

use super::pass::{Pass, Row, Step};
use super::table::{BITS, Entry, Kind, Table};
use super::{NO_CODE, OUT_OF_RANGE, TOO_LONG};
use crate::bits::Bits;
use crate::blocks::Block;
use crate::error::Error;
use std::ops::Range;

/// Look-ups after a refill, of 56 bits.
const LOOKUPS: u32 = 5;
const _: () = assert!(LOOKUPS * BITS <= 56);

/// Reads the coefficients of a band, of blocks that lie side by side: their first bits.
#[inline(always)]
pub(super) fn coefficients(pass: &mut Pass<'_>, row: Row<'_>) -> Result<(), Error> {
    let [table, ..] = pass.tables;
    let (first, last) = (u32::from(*pass.head.band.start()), u32::from(*pass.head.band.end()));
    let mut bits = pass.bits();
    let mut limit = pass.limit();
    let (blocks, masks) = (row.blocks, row.masks);
    let n = blocks.len().min(masks.len());
    let mut i = 0;
    while i < n {
        if pass.ended > 0 {
            let passed = pass.ended.min((n - i) as u32);
            pass.ended -= passed;
            i += passed as usize;
            continue;
        }
        if bits.at > limit {
            (bits, limit) = pass.more(bits)?;
        }
        let (block, mut mask, mut at) = (&mut blocks[i].0, 0, first);
        'block: loop {
            // SAFETY: before a block, `at` was not beyond the limit, so that all of it can be read.
            unsafe { bits.refill() };
            for _ in 0..LOOKUPS {
                let mut entry = table.entries[(bits.bits >> (64 - BITS)) as usize];
                let is_special = at + entry.run() > last;
                if is_special {
                    // SAFETY: the same.
                    entry = unsafe { special(entry, &mut bits, pass, table)? };
                    match entry.kind() {
                        Kind::End(blocks) => {
                            bits.take(entry.bits());
                            pass.ended = blocks - 1;
                            break 'block;
                        }
                        Kind::Zeros if at + 16 <= last => {
                            bits.take(entry.bits());
                            at += 16;
                            continue 'block;
                        }
                        Kind::Value if at + entry.run() <= last => {}
                        _ => return Err(TOO_LONG),
                    }
                }
                at += entry.run();
                bits.take(entry.bits());
                block[at as usize & 63] = entry.coefficient();
                mask |= 1 << at;
                at += 1;
                if at > last {
                    break 'block;
                }
                if is_special {
                    continue 'block;
                }
            }
        }
        masks[i] |= mask;
        i += 1;
    }
    pass.keep(bits);
    Ok(())
}

/// What is no coefficient within a look-up: ends, runs of zeros and long symbols.
///
/// # Safety
/// Eight bytes can be read.
#[inline(always)]
unsafe fn special(
    entry: Entry,
    bits: &mut Bits,
    pass: &mut Pass<'_>,
    table: &Table,
) -> Result<Entry, Error> {
    if entry.kind() != Kind::Long {
        return Ok(entry);
    }
    // SAFETY: the caller has the eight bytes.
    unsafe { bits.refill() };
    let entry = table.long(bits.bits).ok_or(NO_CODE)?;
    pass.is_doubtful |= entry.is_beyond(table.meaning);
    Ok(entry)
}

/// Reads DC coefficients: their first bits.
#[inline(always)]
pub(super) fn means(
    pass: &mut Pass<'_>,
    blocks: &mut [Block],
    units: Range<usize>,
) -> Result<(), Error> {
    let mut bits = pass.bits();
    let mut limit = pass.limit();
    let shift = pass.head.shift;
    for unit in units {
        for i in 0..pass.n_steps {
            let Step { which, first, stride } = pass.steps[i];
            if bits.at > limit {
                (bits, limit) = pass.more(bits)?;
            }
            // SAFETY: `at` is not beyond the limit.
            unsafe { bits.refill() };
            let table = pass.tables[which];
            let mut entry = table.entries[(bits.bits >> (64 - BITS)) as usize];
            if entry.kind() == Kind::Long {
                entry = table.long(bits.bits).ok_or(NO_CODE)?;
            }
            bits.take(entry.bits());
            let value = pass.last[which] + i32::from(entry.coefficient());
            pass.last[which] = value;
            let value = value << shift;
            pass.is_doubtful |= value.abs() > pass.mean_limits[which];
            blocks[first + unit * stride].0[0] = i16::try_from(value).map_err(|_| OUT_OF_RANGE)?;
        }
    }
    pass.keep(bits);
    Ok(())
}
