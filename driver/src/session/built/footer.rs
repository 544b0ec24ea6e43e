//! The last bytes of a built file: where its program is, whether it is whole, who made it.
//!
//! ```text
//! checksum u64 · length u64 · format u32 · version 3 × u16 · zeros 6 · magic 8      little-endian
//! ```
//!
//! These forty bytes stay as they are in every format, so that any pipec can say which one it wants.

use super::{CONTENT_MAX, Refusal, VERSION};

/// Its bytes.
pub(super) const LEN: usize = 40;
/// Bytes that the checksum stands for besides the program: all that follow it.
const SEALED: std::ops::Range<usize> = 8..LEN;
/// The form of the program; goes up whenever what `postcard` writes for one changes.
const FORMAT: u32 = 5;
/// Its line ends show what was sent as text; its first byte is in no text.
const MAGIC: [u8; 8] = *b"\x7fpipec\r\n";

/// What a footer says.
pub(super) struct Footer {
    bytes: [u8; LEN],
}

impl Footer {
    /// The footer of a program.
    pub(super) fn of(content: &[u8]) -> Self {
        let mut version = VERSION.split('.').map(|it| it.parse::<u16>().unwrap_or(0));
        let mut bytes = [0; LEN];
        bytes[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
        bytes[16..20].copy_from_slice(&FORMAT.to_le_bytes());
        for at in [20, 22, 24] {
            bytes[at..at + 2].copy_from_slice(&version.next().unwrap_or(0).to_le_bytes());
        }
        bytes[32..].copy_from_slice(&MAGIC);
        let checksum = checksum(&bytes, content);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        Self { bytes }
    }

    /// What stands before the footer that `all` ends with, and the footer; none where it is none.
    pub(super) fn split(all: &[u8]) -> Option<(&[u8], Self)> {
        let (front, bytes) = all.split_last_chunk::<LEN>()?;
        bytes.ends_with(&MAGIC).then_some((front, Self { bytes: *bytes }))
    }

    pub(super) fn bytes(&self) -> [u8; LEN] {
        self.bytes
    }

    /// Where the program begins, of which `front` bytes stand before the footer.
    pub(super) fn start(&self, front: u64) -> Result<u64, Refusal> {
        let len = self.number(8);
        if len > CONTENT_MAX {
            let most = CONTENT_MAX >> 20;
            return Err(Refusal::Damaged(format!("its program would have more than {most} MiB")));
        }
        let missing = || {
            Refusal::Damaged(format!(
                "its program is truncated: expected {len} bytes, found {front}"
            ))
        };
        front.checked_sub(len).ok_or_else(missing)
    }

    /// Whether this is the program that the footer was made for, in the form that we read.
    pub(super) fn check(&self, content: &[u8]) -> Result<(), Refusal> {
        if content.len() as u64 != self.number(8)
            || checksum(&self.bytes, content) != self.number(0)
        {
            return Err(Refusal::Damaged("its checksum does not match".into()));
        }
        let format = u32::from_le_bytes(self.part(16));
        match format.cmp(&FORMAT) {
            std::cmp::Ordering::Less => Err(Refusal::Older(self.version())),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(Refusal::Newer(self.version())),
        }
    }

    fn version(&self) -> String {
        let [major, minor, patch] = [20, 22, 24].map(|it| u16::from_le_bytes(self.part(it)));
        format!("{major}.{minor}.{patch}")
    }

    fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.part(at))
    }

    fn part<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.bytes[at..].first_chunk().expect("the parts lie within the footer")
    }
}

/// Finds damage, not malice: against that the program itself is verified. XXH3, since it is the
/// checksum that we have, and no other would be safer where anybody can compute it.
fn checksum(footer: &[u8; LEN], content: &[u8]) -> u64 {
    plan::mix(plan::hash(content), plan::hash(&footer[SEALED]))
}

/// The same footer in another format, sealed again: for tests.
#[cfg(test)]
pub(super) fn with_format(content: &[u8], format: u32) -> [u8; LEN] {
    let mut bytes = Footer::of(content).bytes;
    bytes[16..20].copy_from_slice(&format.to_le_bytes());
    let sealed = checksum(&bytes, content);
    bytes[..8].copy_from_slice(&sealed.to_le_bytes());
    bytes
}
