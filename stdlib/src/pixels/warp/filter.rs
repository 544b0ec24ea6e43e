//! How the level at a place is made of those of the pixels around it.

use super::Warped;

/// A way of interpolating.
pub(super) trait Filter {
    /// Pixels before the one whose middle is at or before the place.
    const BEFORE: usize;
    /// Pixels after that one.
    const AFTER: usize;
    /// What `taps` holds: a level of each pixel that counts, row after row.
    type Taps<T: Copy>: Copy;

    /// The taps that a function gives for rows and columns.
    fn taps<T: Copy>(tap: impl FnMut(usize, usize) -> T) -> Self::Taps<T>;

    /// The level at a place that lies `right` and `down` of the middle of its pixel.
    fn blend<T: Copy>(taps: &Self::Taps<T>, value: impl Fn(T) -> f64, right: f64, down: f64)
    -> f64;

    /// The level that such a number becomes.
    fn level<T: Warped>(value: f64) -> T;
}

/// Linearly, as Pillow does.
pub(super) struct Bilinear;
/// By cubic convolution, as Pillow does.
pub(super) struct Bicubic;
/// Linearly, rounded to the nearest level: as PyTorch and OpenCV do.
pub(super) struct Smooth;

impl Filter for Bilinear {
    const BEFORE: usize = 0;
    const AFTER: usize = 1;
    type Taps<T: Copy> = [T; 4];

    #[inline(always)]
    fn taps<T: Copy>(mut tap: impl FnMut(usize, usize) -> T) -> [T; 4] {
        [tap(0, 0), tap(0, 1), tap(1, 0), tap(1, 1)]
    }

    #[inline(always)]
    fn blend<T: Copy>(taps: &[T; 4], value: impl Fn(T) -> f64, right: f64, down: f64) -> f64 {
        let [a, b, c, d] = *taps;
        mix(mix(value(a), value(b), right), mix(value(c), value(d), right), down)
    }

    #[inline(always)]
    fn level<T: Warped>(value: f64) -> T {
        T::cut(value)
    }
}

#[inline(always)]
fn mix(a: f64, b: f64, share: f64) -> f64 {
    a + (b - a) * share
}

impl Filter for Smooth {
    const BEFORE: usize = 0;
    const AFTER: usize = 1;
    type Taps<T: Copy> = [T; 4];

    #[inline(always)]
    fn taps<T: Copy>(tap: impl FnMut(usize, usize) -> T) -> [T; 4] {
        Bilinear::taps(tap)
    }

    #[inline(always)]
    fn blend<T: Copy>(taps: &[T; 4], value: impl Fn(T) -> f64, right: f64, down: f64) -> f64 {
        Bilinear::blend(taps, value, right, down)
    }

    #[inline(always)]
    fn level<T: Warped>(value: f64) -> T {
        T::near(value)
    }
}

impl Filter for Bicubic {
    const BEFORE: usize = 1;
    const AFTER: usize = 2;
    type Taps<T: Copy> = [[T; 4]; 4];

    #[inline(always)]
    fn taps<T: Copy>(mut tap: impl FnMut(usize, usize) -> T) -> [[T; 4]; 4] {
        let mut row = |it| [tap(it, 0), tap(it, 1), tap(it, 2), tap(it, 3)];
        [row(0), row(1), row(2), row(3)]
    }

    #[inline(always)]
    fn blend<T: Copy>(taps: &[[T; 4]; 4], value: impl Fn(T) -> f64, right: f64, down: f64) -> f64 {
        let across =
            |[a, b, c, d]: [T; 4]| cubic_of_levels([value(a), value(b), value(c), value(d)], right);
        let [a, b, c, d] = *taps;
        cubic([across(a), across(b), across(c), across(d)], down)
    }

    #[inline(always)]
    fn level<T: Warped>(value: f64) -> T {
        T::cut(value)
    }
}

/// The cubic through four levels, between the second and the third: Keys' kernel with a parameter of -1, in the order
/// of Pillow's `BICUBIC`.
#[inline(always)]
fn cubic([a, b, c, d]: [f64; 4], share: f64) -> f64 {
    let linear = c - a;
    let square = 2.0 * (a - b) + c - d;
    let cube = b - a - c + d;
    b + share * (linear + share * (square + share * cube))
}

/// The same through levels, sums of which are exact in `f64` in whatever order.
#[inline(always)]
fn cubic_of_levels([a, b, c, d]: [f64; 4], share: f64) -> f64 {
    let (before, after) = (a - b, c - d);
    let both = before + after;
    b + share * ((c - a) + share * ((both + before) - share * both))
}
