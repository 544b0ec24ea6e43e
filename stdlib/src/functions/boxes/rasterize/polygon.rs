//! A polygon as pixels, to the bit as COCO's own code draws it.
//!
//! COCO defines the mask of a polygon by its boundary on a grid of fifths of pixels (`rleFrPoly` of its API): the corners
//! are rounded to that grid, each edge is a digital line on it, and where the boundary crosses the middle line of a
//! column of pixels, the column changes from outside to inside or back. Which row that is follows from the higher one of
//! the two points of the crossing. Here the crossings are computed one by one, from each edge and column, in place of
//! walking along the boundary: a corner far outside of the image costs nothing.

use crate::prelude::*;

/// Points of the grid for each pixel.
const FINE: i64 = 5;
/// The point of the grid left of the middle line of a column, counted from its first one; the next one is right of it.
const LEFT: i64 = 2;
/// Crossings that the polygons of one value may have.
const CROSSINGS_MAX: u64 = 1 << 28;

/// What is left of the crossings that a value may have.
pub(super) struct Budget {
    crossings: u64,
    /// Where the boundary crosses the columns: one row for each row of pixels in the polygon's box.
    toggles: Vec<u8>,
}

/// Height and width of an image.
type Sides = (usize, usize);

impl Budget {
    pub(super) fn new() -> Self {
        Self { crossings: CROSSINGS_MAX, toggles: Vec::new() }
    }

    /// Sets the pixels of a mask that lie in a polygon: x, y, x, y, …
    pub(super) fn draw(
        &mut self,
        polygon: &[f64],
        (rows, columns): Sides,
        mask: &mut [u8],
    ) -> Result<(), Fault> {
        let fine = |it: f64| (FINE as f64 * it + 0.5) as i64;
        let points: Vec<(i64, i64)> =
            polygon.as_chunks::<2>().0.iter().map(|[x, y]| (fine(*x), fine(*y))).collect();
        let Some(bounds) = Bounds::of(&points, (rows, columns)) else { return Ok(()) };
        self.toggles.clear();
        self.toggles.resize(bounds.rows() * bounds.columns(), 0);

        let ends = points.iter().cycle().skip(1);
        let edges = points.iter().zip(ends).map(|(&from, &to)| Edge::of(from, to));
        let n: u64 = edges.clone().map(|it| it.columns(&bounds).len() as u64).sum();
        self.crossings = self.crossings.checked_sub(n).ok_or_else(|| {
            let detail =
                format!("the polygons cross columns of pixels more than {CROSSINGS_MAX} times");
            Fault::new("outline", detail)
        })?;
        for edge in edges {
            for column in edge.columns(&bounds) {
                let row = row_of(edge.height_at(column), rows);
                if row < bounds.end.0 {
                    let at = (row - bounds.start.0) * bounds.columns() + column - bounds.start.1;
                    self.toggles[at] ^= 1;
                }
            }
        }
        self.fill(&bounds, columns, mask);
        Ok(())
    }

    /// Sets what lies behind an odd number of crossings, from the top of each column on.
    fn fill(&self, bounds: &Bounds, columns: usize, mask: &mut [u8]) {
        let width = bounds.columns();
        let mut inside = vec![0_u8; width];
        for (row, toggles) in self.toggles.chunks_exact(width).enumerate() {
            let at = (bounds.start.0 + row) * columns + bounds.start.1;
            for ((to, inside), toggle) in
                mask[at..at + width].iter_mut().zip(&mut inside).zip(toggles)
            {
                *inside ^= toggle;
                *to |= *inside;
            }
        }
    }
}

/// The rows and columns of pixels that a polygon can reach, from the first to before the end.
struct Bounds {
    start: (usize, usize),
    end: (usize, usize),
}

impl Bounds {
    /// None where there are no such pixels.
    fn of(points: &[(i64, i64)], (rows, columns): Sides) -> Option<Self> {
        let range = |of: fn(&(i64, i64)) -> i64| {
            let all = points.iter().map(of);
            Some((all.clone().min()?, all.max()?))
        };
        let ((left, right), (top, bottom)) = (range(|it| it.0)?, range(|it| it.1)?);
        // A line ends between two points of the grid, so it may be a point higher or lower than its corners.
        let start = (row_of(top - 1, rows), first_column(left).clamp(0, columns as i64) as usize);
        let end =
            (row_of(bottom + 1, rows), (last_column(right) + 1).clamp(0, columns as i64) as usize);
        (start.0 < end.0 && start.1 < end.1).then_some(Self { start, end })
    }

    fn rows(&self) -> usize {
        self.end.0 - self.start.0
    }

    fn columns(&self) -> usize {
        self.end.1 - self.start.1
    }
}

/// The first column whose middle line is not left of a point of the grid.
fn first_column(x: i64) -> i64 {
    (x - LEFT + FINE - 1).div_euclid(FINE)
}

/// The last column whose middle line is not right of a point of the grid.
fn last_column(x: i64) -> i64 {
    (x - LEFT - 1).div_euclid(FINE)
}

/// The row of pixels that begins at a height on the grid, or below it.
fn row_of(y: i64, rows: usize) -> usize {
    let row = (y as f64 + 0.5) / FINE as f64 - 0.5;
    row.clamp(0.0, rows as f64).ceil() as usize
}

/// A line of the grid, from the end at which its longer axis begins.
struct Edge {
    start: (i64, i64),
    end: (i64, i64),
    is_flat: bool,
    /// What the shorter axis gains with a step along the longer one.
    slope: f64,
}

impl Edge {
    fn of(from: (i64, i64), to: (i64, i64)) -> Self {
        let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        let is_flat = width >= height;
        let is_backward = if is_flat { from.0 > to.0 } else { from.1 > to.1 };
        let (start, end) = if is_backward { (to, from) } else { (from, to) };
        let slope = match is_flat {
            true => (end.1 - start.1) as f64 / width as f64,
            false => (end.0 - start.0) as f64 / height as f64,
        };
        Self { start, end, is_flat, slope }
    }

    /// The columns within bounds whose middle line it crosses.
    fn columns(&self, bounds: &Bounds) -> std::ops::Range<usize> {
        let (left, right) = (self.start.0.min(self.end.0), self.start.0.max(self.end.0));
        let first = first_column(left).max(bounds.start.1 as i64);
        let end = (last_column(right) + 1).min(bounds.end.1 as i64);
        first as usize..end.max(first) as usize
    }

    /// The height, on the grid, at which it crosses the middle line of a column: of the higher one of the points on both
    /// sides.
    fn height_at(&self, column: usize) -> i64 {
        let left = FINE * column as i64 + LEFT;
        if self.is_flat {
            let at = left - self.start.0;
            return self.short(at, self.start.1).min(self.short(at + 1, self.start.1));
        }
        // The first step behind the line, which lies where the shorter axis has passed it.
        let has_crossed = |step: i64| {
            let x = self.short(step, self.start.0);
            if self.slope >= 0.0 { x > left } else { x <= left }
        };
        let (mut before, mut behind) = (0, self.end.1 - self.start.1);
        while behind - before > 1 {
            let middle = before + (behind - before) / 2;
            if has_crossed(middle) { behind = middle } else { before = middle }
        }
        self.start.1 + before
    }

    /// The place on the shorter axis after so many steps along the longer one, rounded as C rounds.
    fn short(&self, step: i64, start: i64) -> i64 {
        (start as f64 + self.slope * step as f64 + 0.5) as i64
    }
}
