//! Tokens by how they begin: a double array (Aoe, IEEE Transactions on Software Engineering 15, 1989), whose children are
//! found by exclusive or, as in Darts-clone.

/// No token, or no node.
pub(super) const NONE: u32 = u32::MAX;
/// Children are placed within as many of the last blocks of 256 nodes, so that building takes no square of time.
const OPEN_BLOCKS: usize = 16;

/// A set of byte strings, each with an id and a score.
pub(super) struct Trie {
    nodes: Box<[Node]>,
}

/// A node: what the bytes up to it are.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Node {
    /// The place of its child by a byte is this, exclusive or the byte.
    base: u32,
    parent: u32,
    /// The string that ends here.
    pub(super) id: u32,
    pub(super) score: f32,
}

/// The node that all strings begin at.
pub(super) const ROOT: u32 = 0;

impl Trie {
    /// Of strings that are not empty; of equal ones, the last.
    pub(super) fn new<'a>(strings: impl IntoIterator<Item = (&'a [u8], u32, f32)>) -> Self {
        let mut strings: Vec<(&[u8], u32, f32)> = strings.into_iter().collect();
        strings.sort_by_key(|it| it.0);
        let mut builder = Builder { nodes: Vec::new(), open: Vec::new() };
        builder.block();
        // Nothing is a child at the root's own place.
        builder.take(ROOT);
        let mut todo = vec![(ROOT, 0, 0..strings.len())];
        while let Some((node, depth, mut range)) = todo.pop() {
            while let Some((string, id, score)) = strings[range.clone()].first()
                && string.len() == depth
            {
                let node = &mut builder.nodes[node as usize];
                (node.id, node.score) = (*id, *score);
                range.start += 1;
            }
            let mut children: Vec<(u8, std::ops::Range<usize>)> = Vec::new();
            for at in range {
                let byte = strings[at].0[depth];
                match children.last_mut() {
                    Some((last, range)) if *last == byte => range.end = at + 1,
                    _ => children.push((byte, at..at + 1)),
                }
            }
            if children.is_empty() {
                continue;
            }
            let bytes: Vec<u8> = children.iter().map(|it| it.0).collect();
            let base = builder.base(&bytes);
            builder.nodes[node as usize].base = base;
            for (byte, range) in children {
                let child = base ^ u32::from(byte);
                builder.take(child);
                builder.nodes[child as usize].parent = node;
                todo.push((child, depth + 1, range));
            }
        }
        Self { nodes: builder.nodes.into_boxed_slice() }
    }

    /// The child of a node by a byte.
    #[inline]
    pub(super) fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let at = self.nodes[node as usize].base ^ u32::from(byte);
        (self.nodes[at as usize].parent == node).then_some(at)
    }

    /// What ends at a node.
    #[inline]
    pub(super) fn node(&self, node: u32) -> Node {
        self.nodes[node as usize]
    }

    /// The longest string that a text begins with: its length and id.
    pub(super) fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        let (mut node, mut found) = (ROOT, None);
        for (at, byte) in text.iter().enumerate() {
            let Some(child) = self.child(node, *byte) else { break };
            node = child;
            match self.node(node).id {
                NONE => {}
                id => found = Some((at + 1, id)),
            }
        }
        found
    }

    /// The string that is a text.
    pub(super) fn get(&self, text: &[u8]) -> Option<u32> {
        let last = text.iter().try_fold(ROOT, |node, byte| self.child(node, *byte))?;
        Some(self.node(last).id).filter(|it| *it != NONE)
    }
}

struct Builder {
    nodes: Vec<Node>,
    /// The last blocks, each with which of its 256 places are free.
    open: Vec<(u32, [u64; 4])>,
}

impl Builder {
    /// A block more.
    fn block(&mut self) {
        let free = Node { base: 0, parent: NONE, id: NONE, score: 0.0 };
        if self.open.len() == OPEN_BLOCKS {
            self.open.remove(0);
        }
        self.open.push((self.nodes.len() as u32, [u64::MAX; 4]));
        self.nodes.resize(self.nodes.len() + 256, free);
    }

    fn take(&mut self, place: u32) {
        if let Some(at) = self.open.iter().position(|it| it.0 == place & !0xff) {
            let place = (place & 0xff) as usize;
            self.open[at].1[place / 64] &= !(1 << (place % 64));
            if self.open[at].1 == [0; 4] {
                self.open.remove(at);
            }
        }
    }

    /// A base at which the places of all these children are free.
    fn base(&mut self, children: &[u8]) -> u32 {
        for (block, free) in &self.open {
            let mut fits = [u64::MAX; 4];
            for child in children {
                let bases = moved(free, *child);
                fits.iter_mut().zip(bases).for_each(|(all, it)| *all &= it);
            }
            if let Some(word) = fits.iter().position(|it| *it != 0) {
                return block + 64 * word as u32 + fits[word].trailing_zeros();
            }
        }
        self.block();
        self.nodes.len() as u32 - 256
    }
}

/// Bits of which number `i` is what was number `i ^ by`.
fn moved(bits: &[u64; 4], by: u8) -> [u64; 4] {
    const HALVES: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ];
    let mut moved = [0; 4];
    for (word, to) in moved.iter_mut().enumerate() {
        let mut it = bits[word ^ usize::from(by >> 6)];
        for (step, half) in HALVES.iter().enumerate().filter(|step| by >> step.0 & 1 == 1) {
            let by = 1 << step;
            it = (it >> by & half) | (it & half) << by;
        }
        *to = it;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn bits_are_moved() {
        let bits = [0x1234_5678_9abc_def0, 7, 0, u64::MAX / 3];
        for by in 0..=255_u8 {
            let moved = moved(&bits, by);
            let bit = |bits: &[u64; 4], at: usize| bits[at / 64] >> (at % 64) & 1;
            (0..256).for_each(|at| assert_eq!(bit(&moved, at), bit(&bits, at ^ usize::from(by))));
        }
    }

    #[test]
    fn what_is_in_it_is_found_and_nothing_else() {
        let mut all = BTreeMap::new();
        for seed in 0..5_000 {
            let len = 1 + plan::mix(seed, 0) % 5;
            // Few letters in front, any behind.
            let letter = |at| match at {
                0 => 0xe0 + (plan::mix(seed, 1) % 12) as u8,
                _ => (plan::mix(seed, 1 + at) % 256) as u8,
            };
            let string: Vec<u8> = (0..len).map(letter).collect();
            all.insert(string, seed as u32);
        }
        let trie = Trie::new(all.iter().map(|(it, id)| (&it[..], *id, *id as f32)));
        for (string, id) in &all {
            assert_eq!(trie.get(string), Some(*id));
            let mut other = string.clone();
            for byte in 0..=255 {
                other[string.len() - 1] = byte;
                assert_eq!(trie.get(&other), all.get(&other).copied());
            }
            let longer = [&string[..], b"xyz"].concat();
            let longest = (1..=longer.len()).rev().find(|it| all.contains_key(&longer[..*it]));
            assert_eq!(trie.longest(&longer).map(|it| it.0), longest);
        }
        assert!(trie.nodes.len() < 60_000, "{}", trie.nodes.len());
    }
}
