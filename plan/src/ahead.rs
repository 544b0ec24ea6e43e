//! Machine code of a program's arithmetic that was made before it is run.

use crate::{hash, mix};
use serde::{Deserialize, Serialize};

/// Machine code of loops, for one kind of processor. It says by what and for what it was made: who
/// runs it checks all of that first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// The processor that it was made for, as it was named.
    pub cpu: String,
    /// What has made it, with all that the code and those who run it must agree on.
    pub maker: String,
    /// The architecture of the processor.
    pub architecture: String,
    /// What the processor must have besides.
    pub features: Vec<String>,
    /// The loops.
    pub loops: Vec<AheadLoop>,
    /// The code of all of them; no address is in it.
    pub code: Vec<u8>,
    /// [`Ahead::sum`] of the rest, when it was made.
    pub seal: u64,
}

/// A loop in [`Ahead::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AheadLoop {
    /// A hash of what it computes.
    pub key: u128,
    /// The byte at which its code begins.
    pub at: u32,
    /// Bytes of its code.
    pub len: u32,
}

impl Ahead {
    /// A hash of all but the seal. It finds damage, not malice.
    pub fn sum(&self) -> u64 {
        let texts = [&self.cpu, &self.maker, &self.architecture];
        let texts = texts.into_iter().chain(&self.features).map(|it| hash(it.as_bytes()));
        let numbers =
            |it: &AheadLoop| [it.key as u64, (it.key >> 64) as u64, it.at.into(), it.len.into()];
        let loops = self.loops.iter().flat_map(numbers);
        let counts = [self.features.len() as u64, self.loops.len() as u64];
        counts.into_iter().chain(texts).chain(loops).chain([hash(&self.code)]).fold(0, mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_changes_is_seen() {
        let one = AheadLoop { key: 1 << 70, at: 64, len: 3 };
        let whole = Ahead {
            cpu: "any".into(),
            maker: "us".into(),
            architecture: "vax".into(),
            features: vec!["a".into(), "b".into()],
            loops: vec![one],
            code: vec![1, 2, 3],
            seal: 0,
        };
        let changed: [fn(&mut Ahead); 9] = [
            |it| it.cpu.push('x'),
            |it| it.maker.clear(),
            |it| it.architecture.push('2'),
            |it| it.features.truncate(1),
            |it| it.features.swap(0, 1),
            |it| it.loops[0].key ^= 1 << 70,
            |it| it.loops[0].at = 0,
            |it| it.loops.push(it.loops[0]),
            |it| it.code[1] ^= 4,
        ];
        for (i, change) in changed.iter().enumerate() {
            let mut other = whole.clone();
            change(&mut other);
            assert_ne!(other.sum(), whole.sum(), "change {i}");
        }
        assert_eq!(Ahead { seal: 5, ..whole.clone() }.sum(), whole.sum());
    }
}
