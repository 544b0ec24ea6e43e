//! A picture in the making: three floating-point channels a pixel, painted from back to front.

/// Red, green and blue, 0 (black) to 1 (white), gamma-encoded as in sRGB.
pub(crate) type Rgb = [f32; 3];

/// Pixels from the upper left corner (included) to the lower right one (excluded).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) right: f32,
    pub(crate) bottom: f32,
}

impl Area {
    /// The square around a point.
    pub(crate) fn around(x: f32, y: f32, reach: f32) -> Area {
        Area { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }
    }
}

/// The pixels, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Rgb>,
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, pixels: vec![[0.0; 3]; width * height] }
    }

    /// Covers everything: `brush` gives the colour of a pixel.
    pub(crate) fn fill(&mut self, brush: impl Fn(usize, usize) -> Rgb) {
        for (y, row) in self.pixels.chunks_exact_mut(self.width).enumerate() {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = brush(x, y);
            }
        }
    }

    /// Lays `brush`'s colour over each pixel of the area, as strongly as it says (0 to 1).
    pub(crate) fn paint(&mut self, area: Area, brush: impl Fn(usize, usize) -> (Rgb, f32)) {
        let inside = |at: f32, most: usize| (at.max(0.0) as usize).min(most);
        let (left, right) = (inside(area.left, self.width), inside(area.right + 1.0, self.width));
        let (top, bottom) = (inside(area.top, self.height), inside(area.bottom + 1.0, self.height));
        for y in top..bottom {
            for x in left..right {
                let (colour, cover) = brush(x, y);
                if cover > 0.0 {
                    let pixel = &mut self.pixels[y * self.width + x];
                    *pixel = mix(*pixel, colour, cover.min(1.0));
                }
            }
        }
    }

    /// Lays `brush` over the whole picture.
    pub(crate) fn glaze(&mut self, brush: impl Fn(usize, usize) -> (Rgb, f32)) {
        let (right, bottom) = (self.width as f32, self.height as f32);
        self.paint(Area { left: 0.0, top: 0.0, right, bottom }, brush);
    }

    /// Puts everything painted so far out of focus: two box filters of `radius` pixels.
    pub(crate) fn blur(&mut self, radius: usize) {
        if radius == 0 {
            return;
        }
        for _ in 0..2 {
            self.blur_rows(radius);
            self.blur_columns(radius);
        }
    }

    fn blur_rows(&mut self, radius: usize) {
        let share = 1.0 / (2 * radius + 1) as f32;
        let mut line = Vec::with_capacity(self.width);
        for row in self.pixels.chunks_exact_mut(self.width) {
            line.clear();
            line.extend_from_slice(row);
            let at = |i: isize| line[i.clamp(0, line.len() as isize - 1) as usize];
            let reach = radius as isize;
            let mut sum = (-reach..=reach).map(at).fold([0.0; 3], add);
            for (i, pixel) in (0..).zip(row) {
                *pixel = scale(sum, share);
                sum = subtract(add(sum, at(i + reach + 1)), at(i - reach));
            }
        }
    }

    fn blur_columns(&mut self, radius: usize) {
        let (share, reach) = (1.0 / (2 * radius + 1) as f32, radius as isize);
        let source = self.pixels.clone();
        let row = |y: isize| {
            let y = y.clamp(0, self.height as isize - 1) as usize;
            &source[y * self.width..][..self.width]
        };
        let mut sums = vec![[0.0; 3]; self.width];
        for y in -reach..=reach {
            sums.iter_mut().zip(row(y)).for_each(|(sum, &it)| *sum = add(*sum, it));
        }
        for (y, to) in (0..).zip(self.pixels.chunks_exact_mut(self.width)) {
            let edges = row(y + reach + 1).iter().zip(row(y - reach));
            for ((pixel, sum), (&coming, &going)) in to.iter_mut().zip(&mut sums).zip(edges) {
                *pixel = scale(*sum, share);
                *sum = subtract(add(*sum, coming), going);
            }
        }
    }
}

pub(crate) fn mix(from: Rgb, to: Rgb, share: f32) -> Rgb {
    std::array::from_fn(|i| from[i] + (to[i] - from[i]) * share)
}

pub(crate) fn add(a: Rgb, b: Rgb) -> Rgb {
    std::array::from_fn(|i| a[i] + b[i])
}

pub(crate) fn scale(colour: Rgb, factor: f32) -> Rgb {
    colour.map(|it| it * factor)
}

fn subtract(a: Rgb, b: Rgb) -> Rgb {
    std::array::from_fn(|i| a[i] - b[i])
}

/// From 0 at `from` to 1 at `to` along a smooth step.
pub(crate) fn rise(from: f32, to: f32, at: f32) -> f32 {
    let t = ((at - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A colour by its hue (turns; 0 red, 1/3 green, 2/3 blue), saturation and value.
pub(crate) fn hsv(hue: f32, saturation: f32, value: f32) -> Rgb {
    [0.0, 2.0 / 3.0, 1.0 / 3.0].map(|shift| {
        let turn = hue + shift - libm::floorf(hue + shift);
        let share = ((turn * 6.0 - 3.0).abs() - 1.0).clamp(0.0, 1.0);
        value * (1.0 - saturation * (1.0 - share))
    })
}
