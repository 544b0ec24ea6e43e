//! Unigram: the pieces of a text are those that are most likely together (Kudo, ACL 2018), found as Viterbi does.
//!
//! Sums of scores are rounded, and which of two that are nearly equal is larger depends on what stands before a word. So
//! they are added in the order of SentencePiece, from the beginning of a text. What is remembered of a word is also how far
//! the best way through it is ahead of the second: where that is more than rounding can make of it, the word is cut
//! in the same way wherever it stands.

use super::lead_len;
use crate::tokens::trie::{NONE, ROOT, Trie};

/// What an unknown character costs beside the least likely piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Sums beyond this begin at zero again.
const SUM_MAX: f32 = 100_000.0;

/// A model of pieces.
pub(super) struct Unigram {
    trie: Trie,
    /// By the ids of pieces.
    scores: Vec<f32>,
    unknown_score: f32,
}

/// The best way to a place in a text.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    /// Where its last piece begins; nowhere where none ends here.
    begin: u32,
    /// That piece; `NONE` where it is unknown.
    id: u32,
}

/// The scores of the two best ways to a place, unrounded.
type Two = [f64; 2];

/// What is computed of a text.
#[derive(Default)]
pub(super) struct Lattice {
    best: Vec<Best>,
    two: Vec<Two>,
    /// The pieces of the best way, from the end on: where each begins, and which it is.
    path: Vec<(u32, u32)>,
}

impl Lattice {
    /// The pieces of the last text, each with where it begins; `NONE` is an unknown character.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (usize, u32)> {
        self.path.iter().rev().map(|it| (it.0 as usize, it.1))
    }

    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        self.best.capacity() * size_of::<Best>() + self.path.capacity() * 8
    }
}

impl Unigram {
    /// Of the pieces that texts are made of, and the scores of all, of which the least is that of a piece in texts; `unknown`
    /// is the piece of what is unknown.
    pub(super) fn new<'a>(
        pieces: impl Iterator<Item = (&'a [u8], u32, f32)>,
        (mut scores, least): (Vec<f32>, f32),
        unknown: Option<usize>,
    ) -> Self {
        let unknown_score = least - UNKNOWN_PENALTY;
        if let Some(unknown) = unknown {
            scores[unknown] = unknown_score;
        }
        Self { trie: Trie::new(pieces), scores, unknown_score }
    }

    /// The piece that a character is across whose ends no piece reaches, and the sum of scores behind it.
    #[inline]
    pub(super) fn character(&self, character: &[u8], from: f32) -> (u32, f32) {
        let last = character.iter().try_fold(ROOT, |node, byte| self.trie.child(node, *byte));
        let found = last.map(|it| self.trie.node(it)).filter(|it| it.id != NONE);
        let (id, score) = found.map_or((NONE, self.unknown_score), |it| (it.id, it.score));
        // As in `sum_at`.
        (id, if from.abs() <= SUM_MAX { from + score } else { score })
    }

    /// The sum of scores behind some pieces.
    #[inline]
    pub(super) fn sum(&self, from: f32, pieces: &[u32]) -> f32 {
        pieces.iter().fold(from, |sum, id| sum + self.scores[*id as usize])
    }

    /// Whether what is remembered of a word holds where the sum of scores is this behind it.
    #[inline]
    pub(super) fn holds(sum: f32, bits: u8) -> bool {
        // No sum begins at zero again within it.
        sum > -SUM_MAX && sum <= 0.0 && -sum < f32::from_bits((u32::from(bits) + 127) << 23)
    }

    /// Finds the best way through a text, and returns the sum of scores behind it.
    pub(super) fn cut(&self, text: &[u8], from: f32, lattice: &mut Lattice) -> f32 {
        let none = Best { score: 0.0, begin: NONE, id: NONE };
        let best = &mut lattice.best;
        best.clear();
        best.resize(text.len() + 1, none);
        best[0].score = from;
        let (mut begin, mut frontier) = (0, 0);
        while begin < text.len() {
            let here = sum_at(best, begin, frontier);
            let len = lead_len(text[begin]).min(text.len() - begin);
            let mut is_known = false;
            self.each(&text[begin..], |piece_len, id, score| {
                is_known |= piece_len == len;
                frontier = frontier.max(begin + piece_len);
                offer(&mut best[begin + piece_len], here + score, (begin, id));
            });
            if !is_known {
                frontier = frontier.max(begin + len);
                offer(&mut best[begin + len], here + self.unknown_score, (begin, NONE));
            }
            begin += len;
        }
        trace(best, &mut lattice.path);
        best[text.len()].score
    }

    /// The same; and up to which sum the way is the best one, as a power of two, where that is so wherever the text stands.
    pub(super) fn cut_surely(
        &self,
        text: &[u8],
        from: f32,
        lattice: &mut Lattice,
    ) -> (f32, Option<u8>) {
        let sum = self.cut(text, from, lattice);
        let two = &mut lattice.two;
        two.clear();
        two.resize(text.len() + 1, [f64::NEG_INFINITY; 2]);
        two[0][0] = 0.0;
        let (mut begin, mut steps, mut is_sure) = (0, 0_u32, true);
        while begin < text.len() {
            let here = two[begin];
            let len = lead_len(text[begin]).min(text.len() - begin);
            let mut is_known = false;
            self.each(&text[begin..], |piece_len, _, score| {
                is_known |= piece_len == len;
                is_sure &= score <= 0.0;
                offer_two(&mut two[begin + piece_len], here, score);
            });
            if !is_known {
                is_sure &= self.unknown_score <= 0.0;
                offer_two(&mut two[begin + len], here, self.unknown_score);
            }
            begin += len;
            steps += 1;
        }
        let [first, second] = two[text.len()];
        // Each sum is rounded by half a unit of the last of 24 bits, so that two ways differ by `steps` of these units;
        // twice that is sure.
        let most = (first - second) * f64::from(1 << 22) / f64::from(steps);
        let bits = most.log2().floor().clamp(-1.0, 20.0) as i8;
        let bits = u8::try_from(bits).ok().filter(|it| is_sure && Self::holds(sum, *it));
        (sum, bits)
    }

    /// The pieces that a text begins with: their length, id and score.
    #[inline]
    fn each(&self, text: &[u8], mut visit: impl FnMut(usize, u32, f32)) {
        let mut node = ROOT;
        for (len, byte) in (1..).zip(text) {
            let Some(child) = self.trie.child(node, *byte) else { break };
            node = child;
            let it = self.trie.node(node);
            if it.id != NONE {
                visit(len, it.id, it.score);
            }
        }
    }
}

/// The sum of scores at a place. A large one, and those of places behind it, begin at zero again, as in SentencePiece.
#[inline]
fn sum_at(best: &mut [Best], begin: usize, frontier: usize) -> f32 {
    let sum = best[begin].score;
    if sum.abs() <= SUM_MAX {
        return sum;
    }
    for (at, it) in (begin..).zip(&mut best[begin..=frontier.max(begin)]) {
        if at == begin || it.begin != NONE {
            it.score -= sum;
        }
    }
    0.0
}

#[inline]
fn offer(to: &mut Best, score: f32, (begin, id): (usize, u32)) {
    if to.begin == NONE || score > to.score {
        *to = Best { score, begin: begin as u32, id };
    }
}

fn offer_two(to: &mut Two, from: Two, score: f32) {
    for sum in from.map(|it| it + f64::from(score)) {
        if sum > to[0] {
            *to = [sum, to[0]];
        } else if sum > to[1] {
            to[1] = sum;
        }
    }
}

fn trace(best: &[Best], path: &mut Vec<(u32, u32)>) {
    path.clear();
    let mut end = best.len() - 1;
    while end > 0 {
        let Best { begin, id, .. } = best[end];
        path.push((begin, id));
        end = begin as usize;
    }
}
