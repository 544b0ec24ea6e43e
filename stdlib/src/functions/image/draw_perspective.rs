//! `draw_perspective`: how a training step tilts a picture.

use super::short_size::side;
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws the corners of an image that is seen from an angle.
    ///
    /// `shape` is that of the image. Row 0 of the result has the corners of the image, row 1 where they come to lie:
    /// each is a column and a row, in the order top left, top right, bottom right, bottom left. A corner moves inwards
    /// by up to half of the image times `distortion`, from 0 to 1; all integers are equally likely. This is torchvision's
    /// `RandomPerspective`; `perspective(image, corners[0], corners[1])` applies it, and
    /// `perspective_matrix(corners[0], corners[1])` is its matrix, also for `warp_points`. `random_perspective`
    /// uses it.
    ///
    /// ```pipe
    /// range(2) |> map { corners: draw_perspective(plasma(i, 40, 60).shape, 0.5) }    # { corners: f32[2, 4, 2] }
    /// ```
    "draw_perspective(shape: i64[n], distortion: float = 0.5) random -> f32[2, 4, 2]",
    // Assumed: eight draws.
    cost: Cost::call(100.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let shape = args.tensor(0);
        let sides = [0, 1].map(|it| side(&shape, it).max(1));
        let corners = corners(sides, args.float(1), random);
        let to = out.tensor::<f32>(&[2, 4, 2])?;
        to.iter_mut().zip(corners.as_flattened()).for_each(|(to, it)| *to = *it as f32);
        Ok(())
    }))
}

/// The corners of a picture, then where they come to lie.
fn corners([height, width]: [i64; 2], distortion: f64, random: &mut Philox) -> [[i64; 2]; 8] {
    let (right, bottom) = (width - 1, height - 1);
    let from = [[0, 0], [right, 0], [right, bottom], [0, bottom]];
    let mut inwards = |side: i64| {
        let most = (distortion.clamp(0.0, 1.0) * (side / 2) as f64) as i64;
        random.below(most as u64 + 1) as i64
    };
    let to = from.map(|[x, y]| {
        let (along, down) = (inwards(width), inwards(height));
        [if x == 0 { along } else { x - along }, if y == 0 { down } else { y - down }]
    });
    let mut all = [[0; 2]; 8];
    all[..4].copy_from_slice(&from);
    all[4..].copy_from_slice(&to);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_move_inwards_and_as_far_as_they_may() {
        let mut far = [[false; 2]; 8];
        for id in 0..2000 {
            let all = corners([20, 31], 0.5, &mut Philox::new(3, id, 0));
            assert_eq!(all[..4], [[0, 0], [30, 0], [30, 19], [0, 19]]);
            for (i, (from, to)) in all[..4].iter().zip(&all[4..]).enumerate() {
                // torchvision: int(0.5 * (31 // 2)) and int(0.5 * (20 // 2)).
                for (axis, most) in [7, 5].into_iter().enumerate() {
                    let inwards = if from[axis] == 0 { to[axis] } else { from[axis] - to[axis] };
                    assert!((0..=most).contains(&inwards), "{all:?}");
                    far[i][axis] |= inwards == most;
                    far[4 + i][axis] |= inwards == 0;
                }
            }
        }
        assert_eq!(far, [[true; 2]; 8]);
    }

    #[test]
    fn without_distortion_nothing_moves() {
        for sides in [[1, 1], [1, 9], [40, 60]] {
            let all = corners(sides, 0.0, &mut Philox::new(1, 2, 3));
            assert_eq!(all[..4], all[4..]);
        }
    }
}
