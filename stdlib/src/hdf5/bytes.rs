//! The bytes of a file: what is small comes from blocks, since heads are read a few bytes at a time.

use hdf5_reader::{StorageBuffer, error::Error};
use runtime::{reads, storage::Object};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes of a block, and how many of them are kept.
const BLOCK: u64 = 32 << 10;
const BLOCKS: usize = 8;
/// Bytes that are read by themselves, at least.
const LARGE: usize = 4 << 10;

/// A file that the crate reads.
pub(super) struct Ranges {
    object: Box<dyn Object>,
    len: u64,
    /// Those that were used last, the latest one at the end.
    blocks: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
}

impl Ranges {
    pub(super) fn new(object: Box<dyn Object>, len: u64) -> Self {
        Self { object, len, blocks: Mutex::default() }
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut room = Vec::new();
        let no_memory = |_| Error::ResourceLimit(format!("not enough memory for {len} bytes"));
        room.try_reserve_exact(len).map_err(no_memory)?;
        room.resize(len, 0);
        reads::count(len as u64);
        self.object.read_exact_at(&mut room, offset).map_err(Error::Io)?;
        Ok(room)
    }

    fn block(&self, number: u64) -> Result<Arc<[u8]>, Error> {
        let blocks = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut blocks = blocks();
            if let Some(at) = blocks.iter().position(|it| it.0 == number)
                && let Some(found) = blocks.remove(at)
            {
                blocks.push_back(found.clone());
                return Ok(found.1);
            }
        }
        let offset = number * BLOCK;
        let read: Arc<[u8]> = self.read(offset, BLOCK.min(self.len - offset) as usize)?.into();
        let mut blocks = blocks();
        blocks.push_back((number, read.clone()));
        if blocks.len() > BLOCKS {
            blocks.pop_front();
        }
        Ok(read)
    }
}

impl hdf5_reader::Storage for Ranges {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_range(&self, offset: u64, len: usize) -> Result<StorageBuffer, Error> {
        let end = offset.checked_add(len as u64).filter(|it| *it <= self.len);
        let Some(end) = end else {
            let available = self.len.saturating_sub(offset);
            return Err(Error::UnexpectedEof { offset, needed: len as u64, available });
        };
        let number = offset / BLOCK;
        if len == 0 || len >= LARGE || (end - 1) / BLOCK != number {
            return Ok(StorageBuffer::from_vec(self.read(offset, len)?));
        }
        StorageBuffer::from_shared(self.block(number)?, (offset - number * BLOCK) as usize, len)
    }
}
