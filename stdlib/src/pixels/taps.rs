//! Which pixels of a line a resized pixel is made of, and what each weighs.

use super::tiers;
use std::ops::Range;

/// How the pixels are found for one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// All under the kernel, which grows with the factor of shrinking: antialiased (Pillow).
    Widened(Kernel),
    /// The two or four nearest.
    Nearby(Kernel, Edge),
    /// By the share of them that is covered; shares up to `least` are left out.
    Covered {
        /// 1e-3 in OpenCV, 0 in TensorFlow.
        least: f64,
    },
    /// OpenCV's `INTER_AREA` where it enlarges: pixels keep their level, their borders blend.
    Stepped,
}

/// What a pixel weighs by its distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kernel {
    /// All the same up to half a pixel.
    Box,
    /// Falls to nothing at one pixel.
    Triangle,
    /// Cubic convolution up to two pixels (Keys, IEEE TASSP 29, 1981), of this slope at one.
    Cubic(f64),
}

/// What lies beyond the border.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Edge {
    /// The last pixel, again and again.
    Repeat,
    /// Nothing: what is within weighs more. Distances in 1024 parts, as TensorFlow's table.
    Drop,
}

impl Kernel {
    /// Half its width, in pixels.
    #[inline(always)]
    fn support(self) -> f64 {
        match self {
            Self::Box => 0.5,
            Self::Triangle => 1.0,
            Self::Cubic(_) => 2.0,
        }
    }

    #[inline(always)]
    fn at(self, x: f64) -> f64 {
        let far = x.abs();
        match self {
            Self::Box => f64::from(u8::from(x > -0.5 && x <= 0.5)),
            Self::Triangle => (1.0 - far).max(0.0),
            Self::Cubic(a) if far < 1.0 => ((a + 2.0) * far - (a + 3.0)) * far * far + 1.0,
            Self::Cubic(a) if far < 2.0 => (((far - 5.0) * far + 8.0) * far - 4.0) * a,
            Self::Cubic(_) => 0.0,
        }
    }
}

/// For each pixel of a line, the pixels that it is made of, and their weights.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    /// The first of them, and how many.
    pub(crate) windows: Vec<(u32, u32)>,
    /// The weights of each window, one after the other, each with room for `most`.
    pub(crate) weights: Vec<f64>,
    /// The most that a window has.
    pub(crate) most: usize,
}

impl Taps {
    /// Finds them for a line of `to` pixels out of one of `from`; neither is 0.
    pub(crate) fn fill(&mut self, rule: Rule, from: usize, to: usize) {
        let scale = from as f64 / to as f64;
        self.most = match rule {
            Rule::Widened(kernel) => (kernel.support() * scale.max(1.0)).ceil() as usize * 2 + 1,
            Rule::Nearby(kernel, _) => kernel.support() as usize * 2,
            Rule::Covered { .. } => scale.ceil() as usize + 2,
            Rule::Stepped => 2,
        };
        self.windows.clear();
        self.weights.clear();
        self.weights.resize(self.most * to, 0.0);
        if let Rule::Widened(Kernel::Triangle) = rule
            && self.most <= LANES
        {
            return triangles(self, from, scale);
        }

        for (x, weights) in self.weights.chunks_exact_mut(self.most).enumerate() {
            let line = Line { from, scale, x: x as f64 };
            self.windows.push(match rule {
                Rule::Widened(kernel) => line.widened(kernel, weights),
                Rule::Nearby(Kernel::Triangle, _) => line.linear(weights),
                Rule::Nearby(kernel, edge) => line.nearby(kernel, edge, weights),
                Rule::Covered { least } => line.covered(least, weights),
                Rule::Stepped => line.stepped(to, weights),
            });
        }
    }

    /// Keeps those of `part`, and counts the pixels from the first that they need on; gives the
    /// pixels that they need.
    pub(crate) fn keep(&mut self, part: &Range<usize>) -> Range<usize> {
        self.windows.truncate(part.end);
        self.windows.drain(..part.start);
        self.weights.truncate(part.end * self.most);
        self.weights.drain(..part.start * self.most);
        let first = self.windows.iter().map(|it| it.0).min().unwrap_or(0);
        let end = self.windows.iter().map(|it| it.0 + it.1).max().unwrap_or(0);
        self.windows.iter_mut().for_each(|it| it.0 -= first);
        first as usize..end as usize
    }

    /// The first pixel and the weights of pixel `x`.
    pub(crate) fn window(&self, x: usize) -> (usize, &[f64]) {
        let (start, len) = self.windows[x];
        (start as usize, &self.weights[x * self.most..][..len as usize])
    }

    /// How many pixels there are.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }
}

/// Weights of a window that are found at a time.
const LANES: usize = 8;

tiers! {
    /// As [`Line::widened`] for each pixel, triangles of at most [`LANES`] weights.
    fn triangles(taps: &mut Taps, from: usize, scale: f64) = triangles_body
}

#[inline(always)]
fn triangles_body(taps: &mut Taps, from: usize, scale: f64) {
    for (x, weights) in taps.weights.chunks_exact_mut(taps.most).enumerate() {
        let line = Line { from, scale, x: x as f64 };
        let Widened { center, narrow, start, len } = line.span(Kernel::Triangle);
        let first = start as f64;
        let mut lanes = [0.0; LANES];
        for (i, lane) in lanes.iter_mut().enumerate() {
            let weight = Kernel::Triangle.at((first + i as f64 - center + 0.5) * narrow);
            *lane = if i < len { weight } else { 0.0 };
        }
        // One after the other, as they are for any window: the zeros behind it change nothing.
        let sum: f64 = lanes.iter().fold(0.0, |sum, it| sum + it);
        if sum != 0.0 {
            lanes.iter_mut().for_each(|it| *it /= sum);
        }
        weights.copy_from_slice(&lanes[..weights.len()]);
        taps.windows.push((start as u32, len as u32));
    }
}

/// Where a widened kernel lies.
struct Widened {
    center: f64,
    /// What distances are multiplied by.
    narrow: f64,
    /// The first pixel, and how many.
    start: usize,
    len: usize,
}

/// One pixel of a line: `x`, out of `from` pixels, `scale` of them for each.
struct Line {
    from: usize,
    scale: f64,
    x: f64,
}

impl Line {
    /// As Pillow's `precompute_coeffs`: rounding of the window's ends included.
    #[inline(always)]
    fn span(&self, kernel: Kernel) -> Widened {
        let wide = self.scale.max(1.0);
        let (support, narrow) = (kernel.support() * wide, 1.0 / wide);
        let center = (self.x + 0.5) * self.scale;
        let start = ((center - support + 0.5) as i64).max(0) as usize;
        let end = ((center + support + 0.5) as usize).min(self.from);
        Widened { center, narrow, start, len: end - start }
    }

    fn widened(&self, kernel: Kernel, weights: &mut [f64]) -> (u32, u32) {
        let Widened { center, narrow, start, len } = self.span(kernel);
        let window = &mut weights[..len];
        let mut sum = 0.0;
        for (i, weight) in window.iter_mut().enumerate() {
            *weight = kernel.at(((i + start) as f64 - center + 0.5) * narrow);
            sum += *weight;
        }
        scaled(window, sum);
        (start as u32, window.len() as u32)
    }

    fn linear(&self, weights: &mut [f64]) -> (u32, u32) {
        let last = self.from - 1;
        let place = ((self.x + 0.5) * self.scale - 0.5).clamp(0.0, last as f64);
        let left = place as usize;
        if left == last {
            weights[0] = 1.0;
            return (left as u32, 1);
        }
        let past = place - left as f64;
        (weights[0], weights[1]) = (1.0 - past, past);
        (left as u32, 2)
    }

    fn nearby(&self, kernel: Kernel, edge: Edge, weights: &mut [f64]) -> (u32, u32) {
        let reach = kernel.support() as i64;
        let place = (self.x + 0.5) * self.scale - 0.5;
        // Places begin at -0.5; this rounds down without a call of `floor`.
        let (left, last) = ((place + 1.0) as i64 - 1, self.from as i64 - 1);
        let mut past = place - left as f64;
        if edge == Edge::Drop {
            past = (past * 1024.0).round_ties_even() / 1024.0;
        }

        let start = (left - reach + 1).clamp(0, last);
        let end = (left + reach).clamp(0, last);
        let window = &mut weights[..=(end - start) as usize];
        window.fill(0.0);
        for i in 1 - reach..=reach {
            let at = (left + i).clamp(0, last);
            if edge == Edge::Repeat || at == left + i {
                window[(at - start) as usize] += kernel.at(i as f64 - past);
            }
        }
        let sum: f64 = window.iter().sum();
        scaled(window, sum);
        (start as u32, window.len() as u32)
    }

    fn covered(&self, least: f64, weights: &mut [f64]) -> (u32, u32) {
        let begin = self.x * self.scale;
        let end = (begin + self.scale).min(self.from as f64);
        let first = (begin.floor() as usize).min(self.from - 1);
        let count = (end.ceil() as usize).clamp(first + 1, self.from) - first;

        let window = &mut weights[..count];
        let mut sum = 0.0;
        for (i, weight) in window.iter_mut().enumerate() {
            let left = (first + i) as f64;
            let share = (left + 1.0).min(end) - left.max(begin);
            *weight = if share > least { share } else { 0.0 };
            sum += *weight;
        }
        scaled(window, sum);
        (first as u32, count as u32)
    }

    fn stepped(&self, to: usize, weights: &mut [f64]) -> (u32, u32) {
        let left = ((self.x * self.scale) as usize).min(self.from - 1);
        let past = (self.x + 1.0) - (left as f64 + 1.0) * (to as f64 / self.from as f64);
        if left == self.from - 1 || past <= 0.0 {
            weights[0] = 1.0;
            return (left as u32, 1);
        }
        let past = past - past.floor();
        (weights[0], weights[1]) = (1.0 - past, past);
        (left as u32, 2)
    }
}

/// Divides the weights by their sum.
fn scaled(weights: &mut [f64], sum: f64) {
    if sum != 0.0 {
        weights.iter_mut().for_each(|it| *it /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_weights_at_once_are_those_one_by_one() {
        let mut taps = Taps::default();
        for (from, to) in
            [(1, 1), (1, 9), (2, 3), (9, 3), (36, 12), (12, 37), (500, 224), (671, 225)]
        {
            taps.fill(Rule::Widened(Kernel::Triangle), from, to);
            assert!(taps.most <= LANES, "they are few");
            for x in 0..to {
                let line = Line { from, scale: from as f64 / to as f64, x: x as f64 };
                let mut weights = vec![0.0; taps.most];
                let window = line.widened(Kernel::Triangle, &mut weights);
                let found = &taps.weights[x * taps.most..][..taps.most];
                assert_eq!((taps.windows[x], found), (window, &weights[..]), "{from} -> {to}, {x}");
            }
        }
    }

    #[test]
    fn windows_lie_within_the_line_and_weigh_one() {
        let rules = [
            Rule::Widened(Kernel::Box),
            Rule::Widened(Kernel::Triangle),
            Rule::Widened(Kernel::Cubic(-0.5)),
            Rule::Nearby(Kernel::Triangle, Edge::Repeat),
            Rule::Nearby(Kernel::Cubic(-0.75), Edge::Repeat),
            Rule::Nearby(Kernel::Cubic(-0.5), Edge::Drop),
            Rule::Covered { least: 1e-3 },
            Rule::Stepped,
        ];
        let mut taps = Taps::default();
        for rule in rules {
            for (from, to) in
                [(1, 1), (1, 9), (2, 3), (3, 2), (9, 1), (36, 12), (12, 37), (500, 224)]
            {
                taps.fill(rule, from, to);
                for x in 0..to {
                    let (start, weights) = taps.window(x);
                    let sum: f64 = weights.iter().sum();
                    let sound = start + weights.len() <= from && (sum - 1.0).abs() < 1e-9;
                    assert!(sound, "{rule:?}: {from} -> {to}, at {x}: {start} {weights:?}");
                }
            }
        }
    }
}
