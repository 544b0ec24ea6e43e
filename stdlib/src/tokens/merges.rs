//! Byte-pair encoding: the pieces of a text become tokens by merging neighbours, those of the lowest rank first (Sennrich et
//! al., ACL 2016; GPT-2 begins with bytes).

use super::ids::Ids;
use hashbrown::{HashTable, hash_table::Entry};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};
use xxhash_rust::xxh3::xxh3_64;

/// No pair, or no token.
pub(super) const NONE: u32 = u32::MAX;
/// Tokens of a piece, at the most, that are merged in place; more are linked, so that a long piece takes no square of time.
const IN_PLACE: usize = 64;

/// Tokens by what they are.
#[derive(Default)]
pub(super) struct Vocabulary {
    bytes: Vec<u8>,
    /// Where each token begins and ends; nothing where a number is of none.
    spans: Vec<(u32, u32)>,
    ids: HashTable<u32>,
    longest: usize,
}

impl Vocabulary {
    /// Takes in a token; whether it is new.
    pub(super) fn add(&mut self, bytes: &[u8], id: u32) -> bool {
        let at = id as usize;
        if self.spans.len() <= at {
            self.spans.resize(at + 1, (0, 0));
        }
        let (all, spans) = (&self.bytes, &self.spans);
        let text = |id: &u32| {
            let (begin, end) = spans[*id as usize];
            &all[begin as usize..end as usize]
        };
        let entry = self.ids.entry(xxh3_64(bytes), |it| text(it) == bytes, |it| xxh3_64(text(it)));
        let Entry::Vacant(entry) = entry else { return false };
        if spans[at] != (0, 0) {
            return false;
        }
        entry.insert(id);
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.spans[at] = (begin, self.bytes.len() as u32);
        self.longest = self.longest.max(bytes.len());
        true
    }

    /// The token that is `bytes`.
    pub(super) fn id(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        self.ids.find(xxh3_64(bytes), |it| self.bytes(*it) == Some(bytes)).copied()
    }

    /// What a token is.
    pub(super) fn bytes(&self, id: u32) -> Option<&[u8]> {
        let (begin, end) = *self.spans.get(id as usize)?;
        (end > begin).then(|| &self.bytes[begin as usize..end as usize])
    }

    /// How many numbers there are, with those of no token below the last.
    pub(super) fn len(&self) -> u32 {
        self.spans.len() as u32
    }

    /// All tokens.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len()).filter_map(|it| Some((it, self.bytes(it)?)))
    }
}

/// Which neighbours become one token, and in which order.
pub(super) struct Merges {
    /// Two tokens and the rank of their merge, by a hash of the two.
    pairs: Box<[[u32; 3]]>,
    /// The token that a merge makes, by its rank; empty where that is the rank.
    made: Vec<u32>,
    /// The same by the two tokens, where merges of one rank make different ones.
    ties: HashMap<[u32; 2], u32>,
}

/// Merges that begin with bytes.
pub(super) struct ByteMerges {
    merges: Merges,
    /// The ranks of pairs of single bytes, by these.
    bytes: Box<[u32]>,
    byte_ids: [u32; 256],
}

impl ByteMerges {
    /// Two neighbours are merged wherever a token is both, tokens with lower numbers first: the files of tiktoken.
    ///
    /// # Errors
    /// A byte is no token.
    pub(super) fn by_number(vocabulary: &Vocabulary) -> Result<Self, String> {
        let mut all = Vec::new();
        for (id, bytes) in vocabulary.iter() {
            for at in 1..bytes.len() {
                let (left, right) = bytes.split_at(at);
                if let (Some(left), Some(right)) = (vocabulary.id(left), vocabulary.id(right)) {
                    all.push([left, right, id]);
                }
            }
        }
        Self::new(vocabulary, Merges::new(&all, Vec::new()))
    }

    /// These pairs of tokens are merged to those, in this order: `tokenizer.json`.
    ///
    /// # Errors
    /// A byte is no token.
    pub(super) fn in_order(
        vocabulary: &Vocabulary,
        all: &[([u32; 2], u32)],
    ) -> Result<Self, String> {
        Self::new(vocabulary, Merges::in_order(all))
    }

    fn new(vocabulary: &Vocabulary, merges: Merges) -> Result<Self, String> {
        let mut byte_ids = [NONE; 256];
        for (byte, id) in (0..=255_u8).zip(&mut byte_ids) {
            let unknown =
                || format!("the byte {byte} is no token, so not every text can be encoded");
            *id = vocabulary.id(&[byte]).ok_or_else(unknown)?;
        }
        let pairs = (0..1 << 16).map(|both: usize| [byte_ids[both >> 8], byte_ids[both & 0xff]]);
        let bytes = pairs.map(|[left, right]| merges.rank(left, right)).collect();
        Ok(Self { merges, bytes, byte_ids })
    }

    /// Appends the tokens of a piece.
    pub(super) fn encode(&self, piece: &[u8], to: &mut Ids) {
        match piece {
            [] => {}
            [one] => to.push(self.byte_ids[usize::from(*one)]),
            _ if piece.len() <= IN_PLACE => {
                let (mut ids, mut ranks) = ([0; IN_PLACE], [NONE; IN_PLACE]);
                for (id, byte) in ids.iter_mut().zip(piece) {
                    *id = self.byte_ids[usize::from(*byte)];
                }
                for (rank, two) in ranks.iter_mut().zip(piece.windows(2)) {
                    *rank = self.bytes[usize::from(two[0]) << 8 | usize::from(two[1])];
                }
                let len = self.merges.merge_in_place(&mut ids, &mut ranks, piece.len());
                to.extend(&ids[..len]);
            }
            _ => {
                let ids = piece.iter().map(|it| self.byte_ids[usize::from(*it)]);
                self.merges.merge_linked(ids, |_, _| {}, to);
            }
        }
    }

    /// The same where merges are dropped at random: see [`Merges::merge_dropping`].
    pub(super) fn encode_dropping(
        &self,
        piece: &[u8],
        drops: &mut dyn FnMut() -> bool,
        to: &mut Ids,
    ) {
        let ids = piece.iter().map(|it| self.byte_ids[usize::from(*it)]);
        self.merges.merge_dropping(ids, drops, to);
    }
}

impl Merges {
    /// These pairs of tokens are merged to those, in this order.
    pub(super) fn in_order(all: &[([u32; 2], u32)]) -> Self {
        let ranked = all.iter().zip(0..).map(|(([left, right], _), rank)| [*left, *right, rank]);
        Self::new(&ranked.collect::<Vec<_>>(), all.iter().map(|it| it.1).collect())
    }

    /// These pairs of tokens are merged to those, by the ranks beside them, which begin at 0; of equal ranks, what stands
    /// first in a piece is merged first.
    pub(super) fn by_rank(all: &[([u32; 2], u32, u32)]) -> Self {
        let ranks = all.iter().map(|it| it.2 as usize + 1).max().unwrap_or(0);
        let mut made = vec![NONE; ranks];
        let mut is_tied = vec![false; ranks];
        for (_, id, rank) in all {
            let rank = *rank as usize;
            is_tied[rank] |= made[rank] != NONE && made[rank] != *id;
            made[rank] = *id;
        }
        let tied = all.iter().filter(|it| is_tied[it.2 as usize]);
        let ties = tied.map(|(pair, id, _)| (*pair, *id)).collect();
        made.iter_mut().zip(is_tied).filter(|it| it.1).for_each(|it| *it.0 = NONE);
        let pairs: Vec<_> =
            all.iter().map(|([left, right], _, rank)| [*left, *right, *rank]).collect();
        Self { ties, ..Self::new(&pairs, made) }
    }

    fn new(all: &[[u32; 3]], made: Vec<u32>) -> Self {
        let slots = (2 * all.len()).next_power_of_two().max(2);
        let pairs = vec![[NONE; 3]; slots].into_boxed_slice();
        let mut new = Self { pairs, made, ties: HashMap::new() };
        for [left, right, rank] in all {
            new.add([*left, *right], *rank);
        }
        new
    }

    fn add(&mut self, pair: [u32; 2], rank: u32) {
        let mut at = self.slot(pair[0], pair[1]);
        while self.pairs[at][2] != NONE && self.pairs[at][..2] != pair {
            at = (at + 1) & (self.pairs.len() - 1);
        }
        // Of a pair that is there twice, the first rank counts.
        if self.pairs[at][2] > rank {
            self.pairs[at] = [pair[0], pair[1], rank];
        }
    }

    #[inline]
    fn slot(&self, left: u32, right: u32) -> usize {
        // The golden ratio: Knuth, The Art of Computer Programming 3, 6.4.
        let mixed = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.pairs.len() - 1)
    }

    #[inline]
    fn rank(&self, left: u32, right: u32) -> u32 {
        let mut at = self.slot(left, right);
        loop {
            let [l, r, rank] = self.pairs[at];
            if l == left && r == right || rank == NONE {
                return rank;
            }
            at = (at + 1) & (self.pairs.len() - 1);
        }
    }

    /// What a pair becomes that has this rank.
    #[inline]
    pub(super) fn made(&self, rank: u32, left: u32, right: u32) -> u32 {
        match self.made.get(rank as usize) {
            None => rank,
            Some(&NONE) => self.ties[&[left, right]],
            Some(id) => *id,
        }
    }

    /// Appends what some tokens become.
    pub(super) fn merge(&self, tokens: &[u32], to: &mut Ids) {
        match tokens {
            [] => {}
            [one] => to.push(*one),
            _ if tokens.len() <= IN_PLACE => {
                let (mut ids, mut ranks) = ([0; IN_PLACE], [NONE; IN_PLACE]);
                ids[..tokens.len()].copy_from_slice(tokens);
                for (rank, two) in ranks.iter_mut().zip(tokens.windows(2)) {
                    *rank = self.rank(two[0], two[1]);
                }
                let len = self.merge_in_place(&mut ids, &mut ranks, tokens.len());
                to.extend(&ids[..len]);
            }
            _ => self.merge_linked(tokens.iter().copied(), |_, _| {}, to),
        }
    }

    /// Merges tokens whose pairs have these ranks, and returns how many are left.
    #[inline]
    fn merge_in_place(
        &self,
        ids: &mut [u32; IN_PLACE],
        ranks: &mut [u32; IN_PLACE],
        mut len: usize,
    ) -> usize {
        loop {
            // The lowest rank, and where it stands first.
            let least = (0_u64..).zip(&ranks[..len - 1]).map(|(at, it)| u64::from(*it) << 32 | at);
            let least = least.min().unwrap_or(u64::MAX);
            let (rank, at) = ((least >> 32) as u32, (least & 0xff) as usize);
            if rank == NONE {
                return len;
            }
            ids[at] = self.made(rank, ids[at], ids[at + 1]);
            ids.copy_within(at + 2..len, at + 1);
            ranks.copy_within(at + 1..len, at);
            len -= 1;
            if at + 1 < len {
                ranks[at] = self.rank(ids[at], ids[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.rank(ids[at - 1], ids[at]);
            }
        }
    }

    /// The same where merges are dropped at random (BPE-dropout; Provilkov et al., ACL 2020): in each step, `drops` is
    /// asked of one pair after the other, those of the lowest rank first, until one is not dropped, and is merged.
    /// Where all are dropped, it ends.
    pub(super) fn merge_dropping(
        &self,
        tokens: impl ExactSizeIterator<Item = u32>,
        drops: &mut dyn FnMut() -> bool,
        to: &mut Ids,
    ) {
        self.merge_all(tokens, (|_, _| {}, drops), to);
    }

    /// Appends what tokens become, however many there are; `offered` is told of all pairs that could be merged, and of
    /// their ranks.
    pub(super) fn merge_linked(
        &self,
        tokens: impl ExactSizeIterator<Item = u32>,
        offered: impl FnMut([u32; 2], u32),
        to: &mut Ids,
    ) {
        self.merge_all(tokens, (offered, || false), to);
    }

    fn merge_all(
        &self,
        tokens: impl ExactSizeIterator<Item = u32>,
        (mut offered, mut drops): (impl FnMut([u32; 2], u32), impl FnMut() -> bool),
        to: &mut Ids,
    ) {
        /// A token, and who stands before and behind it.
        struct Link {
            id: u32,
            before: u32,
            behind: u32,
        }
        let len = tokens.len() as u32;
        let link = |(at, id): (u32, u32)| Link { id, before: at.wrapping_sub(1), behind: at + 1 };
        let mut all: Vec<Link> = (0..len).zip(tokens).map(link).collect();
        let mut heap: BinaryHeap<Reverse<(u32, u32, u32, u32)>> = BinaryHeap::new();
        let mut offer = |all: &[Link], heap: &mut BinaryHeap<_>, at: u32| {
            let it = &all[at as usize];
            if it.behind < len {
                let behind = all[it.behind as usize].id;
                let rank = self.rank(it.id, behind);
                if rank != NONE {
                    offered([it.id, behind], rank);
                    heap.push(Reverse((rank, at, it.id, behind)));
                }
            }
        };
        (0..len).for_each(|at| offer(&all, &mut heap, at));
        let mut dropped = Vec::new();
        while let Some(Reverse((rank, at, left, right))) = heap.pop() {
            let Link { id, before, behind } = all[at as usize];
            // One of the two may be part of another token by now.
            if id != left || behind >= len || all[behind as usize].id != right {
                continue;
            }
            if drops() {
                dropped.push(Reverse((rank, at, left, right)));
                continue;
            }
            // In the next step, they may be merged.
            heap.extend(dropped.drain(..));
            let next = all[behind as usize].behind;
            all[behind as usize].id = NONE;
            all[at as usize] = Link { id: self.made(rank, left, right), before, behind: next };
            if next < len {
                all[next as usize].before = at;
            }
            // In the order of SentencePiece, which what is told of them depends on.
            if before < len {
                offer(&all, &mut heap, before);
            }
            offer(&all, &mut heap, at);
        }
        all.iter().map(|it| it.id).filter(|it| *it != NONE).for_each(|it| to.push(it));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow obvious version: of all pairs with the lowest rank the first is merged, until there is none.
    fn plainly(merges: &ByteMerges, piece: &[u8]) -> Vec<u32> {
        let mut ids: Vec<u32> = piece.iter().map(|it| merges.byte_ids[usize::from(*it)]).collect();
        let merges = &merges.merges;
        loop {
            let ranks = ids.windows(2).map(|it| merges.rank(it[0], it[1]));
            let Some((rank, at)) = ranks.zip(0..).min().filter(|it| it.0 != NONE) else {
                return ids;
            };
            ids[at] = merges.made(rank, ids[at], ids[at + 1]);
            ids.remove(at + 1);
        }
    }

    fn letters() -> ByteMerges {
        let mut vocabulary = Vocabulary::default();
        (0..=255).for_each(|it| assert!(vocabulary.add(&[it], u32::from(it))));
        let words = ["aa", "ab", "ba", "aab", "abab", "aaaa", "bb", "aaab", "cab", "ca", "abc"];
        for (word, id) in words.iter().zip(256..) {
            assert!(vocabulary.add(word.as_bytes(), id));
        }
        ByteMerges::by_number(&vocabulary).unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn pieces_of_any_length_are_merged_as_the_plain_version_does() {
        let merges = letters();
        for seed in 0..3_000_u64 {
            let len = plan::mix(seed, 1) % 140;
            let letter = |at| b"abc"[(plan::mix(seed, 7 + at) % 3) as usize];
            let piece: Vec<u8> = (0..len).map(letter).collect();
            let mut ids = Ids::default();
            merges.encode(&piece, &mut ids);
            assert_eq!(
                ids.as_slice(),
                plainly(&merges, &piece),
                "{:?}",
                String::from_utf8_lossy(&piece)
            );
        }
    }

    /// The algorithm of the paper: in each step, each pair is dropped or not, and of those that are not, the one with the
    /// lowest rank that stands first is merged. Draws behind that one change nothing, and are not made.
    fn plainly_dropping(
        merges: &ByteMerges,
        piece: &[u8],
        drops: &mut dyn FnMut() -> bool,
    ) -> Vec<u32> {
        let mut ids: Vec<u32> = piece.iter().map(|it| merges.byte_ids[usize::from(*it)]).collect();
        let merges = &merges.merges;
        loop {
            let ranks = ids.windows(2).map(|it| merges.rank(it[0], it[1]));
            let mut pairs: Vec<(u32, usize)> = ranks.zip(0..).filter(|it| it.0 != NONE).collect();
            pairs.sort_unstable();
            let Some((rank, at)) = pairs.into_iter().find(|_| !drops()) else { return ids };
            ids[at] = merges.made(rank, ids[at], ids[at + 1]);
            ids.remove(at + 1);
        }
    }

    #[test]
    fn merges_are_dropped_as_in_the_paper() {
        let merges = letters();
        for seed in 0..2_000_u64 {
            let letter = |at| b"abc"[(plan::mix(seed, 7 + at) % 3) as usize];
            let piece: Vec<u8> = (0..plan::mix(seed, 1) % 90).map(letter).collect();
            let share = seed % 11;
            let draws = || {
                let mut n = 0;
                move || {
                    n += 1;
                    plan::mix(seed, 1_000 + n) % 10 < share
                }
            };
            let mut ids = Ids::default();
            merges.encode_dropping(&piece, &mut draws(), &mut ids);
            assert_eq!(ids.as_slice(), plainly_dropping(&merges, &piece, &mut draws()));
            if share == 0 {
                assert_eq!(ids.as_slice(), plainly(&merges, &piece));
            }
        }
    }

    #[test]
    fn a_megabyte_of_one_letter_takes_no_square_of_time() {
        let mut ids = Ids::default();
        letters().encode(&vec![b'a'; 1 << 20], &mut ids);
        assert_eq!(ids.as_slice(), vec![261; 1 << 18]);
    }
}
