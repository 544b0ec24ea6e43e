//! Fractal noise: the clouds, ridges, bark and grass of the pictures.
//!
//! A field is built from coarse to fine: double the grid by quadratic B-spline subdivision
//! (weights 3/4 and 1/4; Chaikin 1974), add white noise, double again. That costs a few
//! nanoseconds a pixel for any number of octaves.

use crate::chance::Chance;

/// Which octaves a field has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octaves {
    /// Octaves left out at the fine end; 0 has detail down to the pixel.
    pub(crate) finest: usize,
    /// How many octaves follow towards the coarse end.
    pub(crate) count: usize,
    /// Amplitude of an octave in terms of the next coarser one; 1 gives the 1/f spectrum of
    /// photographs (Field 1987), less is smoother.
    pub(crate) gain: f32,
    /// Octaves by which the texture is drawn out along x and along y.
    pub(crate) stretch: (usize, usize),
}

impl Octaves {
    pub(crate) const fn new(finest: usize, count: usize, gain: f32) -> Self {
        Octaves { finest, count, gain, stretch: (0, 0) }
    }

    pub(crate) const fn stretched(mut self, x: usize, y: usize) -> Self {
        self.stretch = (x, y);
        self
    }

    /// Grows a field of mean 0 and variance about 1.
    pub(crate) fn grow(self, chance: &mut Chance, width: usize, height: usize) -> Field {
        let steps = self.steps();
        let mut sizes = vec![(width, height)];
        for step in &steps[1..] {
            let &(width, height) = sizes.last().expect("the list begins with the whole field");
            let half =
                |length: usize, doubled| if doubled { length.div_ceil(2) + 2 } else { length };
            sizes.push((half(width, step.x), half(height, step.y)));
        }

        let mut field = Field::blank(sizes[steps.len() - 1]);
        for (i, step) in steps.iter().enumerate().rev() {
            if step.sigma > 0.0 {
                chance.add_white(&mut field.values, step.sigma);
            }
            if i > 0 {
                field = field.doubled(step, sizes[i - 1]);
            }
        }
        field
    }

    /// From the whole field down to the coarsest grid.
    fn steps(self) -> Vec<Step> {
        let mut doublings = vec![(true, false); self.stretch.0];
        doublings.extend(vec![(false, true); self.stretch.1]);
        doublings.extend(vec![(true, true); self.finest + self.count - 1]);
        let (n_plain, power) = (doublings.len() + 1 - self.count, self.power());

        let sigma = |octave: usize| self.amplitude(octave) / libm::sqrtf(power);
        let sigma = |i: usize| i.checked_sub(n_plain).map_or(0.0, sigma);
        let first = Step { sigma: sigma(0), x: false, y: false };
        let rest = doublings.into_iter().zip(1..);
        std::iter::once(first)
            .chain(rest.map(|((x, y), i)| Step { sigma: sigma(i), x, y }))
            .collect()
    }

    fn amplitude(self, octave: usize) -> f32 {
        libm::powf(self.gain, (self.count - octave) as f32)
    }

    /// What remains of the variance after the doublings.
    fn power(self) -> f32 {
        let along = |doublings| match doublings {
            0 => 1.0,
            1 => 0.625,
            _ => 0.56,
        };
        let kept = |octave| {
            let both = octave + self.finest;
            along(both + self.stretch.0) * along(both + self.stretch.1)
        };
        (0..self.count).map(|it| self.amplitude(it) * self.amplitude(it) * kept(it)).sum()
    }
}

/// One grid on the way: its own noise, and along which axes it is doubled to give the next.
struct Step {
    sigma: f32,
    x: bool,
    y: bool,
}

/// A number for each pixel, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) values: Vec<f32>,
}

impl Field {
    fn blank((width, height): (usize, usize)) -> Field {
        Field { width, height, values: vec![0.0; width * height] }
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> f32 {
        self.values[y * self.width + x]
    }

    /// The value between pixels, linear along both axes; the field repeats mirrored.
    pub(crate) fn near(&self, x: f32, y: f32) -> f32 {
        let ((x0, x1, tx), (y0, y1, ty)) = (mirrored(x, self.width), mirrored(y, self.height));
        let row = |y: usize| {
            let row = &self.values[y * self.width..][..self.width];
            row[x0] + (row[x1] - row[x0]) * tx
        };
        let (upper, lower) = (row(y0), row(y1));
        upper + (lower - upper) * ty
    }

    /// How lit the field is as a relief, the light from the upper left, `reach` pixels wide.
    pub(crate) fn relief(&self, x: usize, y: usize, reach: usize) -> f32 {
        let (left, top) = (x.saturating_sub(reach), y.saturating_sub(reach));
        let (right, bottom) = ((x + reach).min(self.width - 1), (y + reach).min(self.height - 1));
        self.at(right, bottom) - self.at(left, top)
    }

    fn doubled(&self, step: &Step, (width, height): (usize, usize)) -> Field {
        let mut field = Field::blank((width, height));
        let mut blended = vec![0.0; self.width];
        for (y, row) in field.values.chunks_exact_mut(width).enumerate() {
            let source = |y: usize| &self.values[y * self.width..][..self.width];
            let from = if step.y {
                let (near, far) = parents(y);
                blend(&mut blended, source(near), source(far));
                &blended[..]
            } else {
                source(y)
            };
            if step.x { widen(row, from) } else { row.copy_from_slice(from) }
        }
        field
    }
}

/// The two coarse cells that a fine one lies between, the nearer one first.
fn parents(fine: usize) -> (usize, usize) {
    let near = fine / 2 + 1;
    (near, if fine.is_multiple_of(2) { near - 1 } else { near + 1 })
}

fn blend(to: &mut [f32], near: &[f32], far: &[f32]) {
    for ((to, near), far) in to.iter_mut().zip(near).zip(far) {
        *to = 0.75 * near + 0.25 * far;
    }
}

fn widen(to: &mut [f32], from: &[f32]) {
    for (pair, around) in to.chunks_mut(2).zip(from.windows(3)) {
        pair[0] = 0.75 * around[1] + 0.25 * around[0];
        if let Some(second) = pair.get_mut(1) {
            *second = 0.75 * around[1] + 0.25 * around[2];
        }
    }
}

/// The two neighbours of a place on a line that repeats mirrored, and the way between them.
fn mirrored(at: f32, length: usize) -> (usize, usize, f32) {
    let floor = libm::floorf(at);
    let fold = |cell: i64| {
        let there = cell.rem_euclid(2 * length as i64) as usize;
        if there < length { there } else { 2 * length - 1 - there }
    };
    (fold(floor as i64), fold(floor as i64 + 1), at - floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_variance_it_promises() {
        for octaves in [
            Octaves::new(0, 1, 1.0),
            Octaves::new(0, 6, 0.8),
            Octaves::new(1, 4, 1.0),
            Octaves::new(2, 3, 0.6).stretched(2, 0),
        ] {
            let field = octaves.grow(&mut Chance::new(3, 1), 401, 307);
            let n = field.values.len() as f32;
            let mean = field.values.iter().sum::<f32>() / n;
            let variance = field.values.iter().map(|it| (it - mean) * (it - mean)).sum::<f32>() / n;
            assert_eq!(field.values.len(), 401 * 307);
            assert!((0.7..1.4).contains(&variance), "{octaves:?}: {variance}");
        }
    }

    #[test]
    fn a_field_repeats_mirrored() {
        let field = Octaves::new(0, 3, 1.0).grow(&mut Chance::new(1, 1), 7, 5);
        assert_eq!(field.near(-1.0, 0.0), field.at(0, 0));
        assert_eq!(field.near(7.0, 9.0), field.at(6, 0));
        assert_eq!(field.near(2.5, 1.0), (field.at(2, 1) + field.at(3, 1)) / 2.0);
    }
}
