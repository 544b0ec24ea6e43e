//! `keep_boxes`: which boxes are still worth something after a crop.

use super::corners::{Corners, boxes, has_centre_in, of_part};
use crate::prelude::*;

function! {
    /// Returns which boxes are large enough, and lie within a part of an image.
    ///
    /// The result is true for a box whose sides have at least `side` pixels each and whose area is at least `area`. `within`
    /// is a part of the image, as row, column, height and width: the box must lie inside it, its border included; with
    /// `centre: true`, only the centre of the box must, its border excluded. It is false for a box with NaN. Use it as a
    /// condition for everything that belongs to the boxes: `boxes[keep]`, `label[keep]`.
    ///
    /// This is torchvision's `SanitizeBoundingBoxes(min_size=side, min_area=area)`, with `within: [0, 0, height, width]`.
    /// `centre` is the rule by which SSD's crop keeps boxes (Liu et al., ECCV 2016), torchvision's `RandomIoUCrop`.
    ///
    /// ```pipe
    /// range(2) |> map { x: keep_boxes(f32([[0, 0, 10, 10], [3, 3, 4, 9]]), area: 20.0, side: 2.0) }    # { x: bool[2] }
    /// ```
    "keep_boxes(boxes: f32[n, 4], within: integer[4] = none, centre: bool = false, area: float = 1.0, side: float = 1.0) fails -> bool[n]",
    cost: Cost::out(20.0, 3.0),    // Assumed: three nanoseconds a box.
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let (is_within, by_centre) = (!call.absent(1), call.bool(2));
    Ok(Kernel::compute(move |args, out| {
        let (area_min, side_min) = (args.float(3) as f32, args.float(4) as f32);
        let within = match is_within {
            true => Some(part(&args.tensor(1))?),
            false => None,
        };
        let is_in = |it: &Corners| match within {
            None => true,
            Some(within) if by_centre => has_centre_in(it, within),
            Some([x0, y0, x1, y1]) => it[0] >= x0 && it[1] >= y0 && it[2] <= x1 && it[3] <= y1,
        };
        boxes(&args.tensor(0), |all| {
            for (to, it) in out.tensor::<bool>(&[all.len()])?.iter_mut().zip(all) {
                let (width, height) = (it[2] - it[0], it[3] - it[1]);
                let is_large =
                    width >= side_min && height >= side_min && width * height >= area_min;
                *to = is_large && is_in(it);
            }
            Ok(())
        })
    }))
}

/// The corners of a part that is row, column, height and width.
fn part(x: &Tensor<'_>) -> Result<Corners, Fault> {
    if x.shape() != [4] {
        let shape = Shape::new(x.shape());
        let detail = format!("`within` must be row, column, height and width, found {shape:?}");
        return Err(Fault::new("extents", detail));
    }
    Ok(of_part([0, 1, 2, 3].map(|it| x.element(it).int())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::Trial;

    const BOXES: [[f32; 4]; 7] = [
        [10., 20., 30., 40.],
        [0., 0., 0.5, 100.],
        [-1., 5., 20., 25.],
        [10., 20., 12., 20.5],
        [380., 290., 400., 300.],
        [390., 10., 400.5, 20.],
        [f32::NAN, 0., 10., 10.],
    ];

    fn run(within: Option<&[i64; 4]>, centre: bool, area: f64, side: f64) -> Vec<bool> {
        let trial = Trial::of(&ENTRY).value(Tensor::new(&[BOXES.len(), 4], BOXES.as_flattened()));
        let trial = match within {
            Some(it) => trial.value(Tensor::new(&[4], it)),
            None => trial.arg(Arg::None),
        };
        let trial = trial.arg(Arg::Bool(centre)).arg(Arg::Float(area)).arg(Arg::Float(side));
        trial.run().unwrap().to_vec()
    }

    /// torchvision 0.29.2: `v2.functional.sanitize_bounding_boxes(BOXES, format="XYXY", canvas_size=(300, 400),
    /// min_size=side, min_area=area)`, which takes no 0: 0.0001 there.
    #[test]
    fn agrees_with_torchvision() {
        let image = [0, 0, 300, 400];
        let kept = |area, side| run(Some(&image), false, area, side);
        assert_eq!(kept(1.0, 1.0), [true, false, false, false, true, false, false]);
        assert_eq!(kept(0.0, 0.0), [true, true, false, true, true, false, false]);
        assert_eq!(kept(201.0, 0.5), [true, false, false, false, false, false, false]);
        assert_eq!(run(None, false, 4.0, 2.0), [true, false, true, false, true, true, false]);
    }

    /// The condition of torchvision's `RandomIoUCrop` for the crop of 100 x 100 from row 10, column 5.
    #[test]
    fn centres_lie_within() {
        let part = [10, 5, 100, 100];
        let kept = run(Some(&part), true, 0.0, 0.0);
        assert_eq!(kept, [true, false, true, true, false, false, false]);
        // The centre of the first one, 20 and 30, is on the border.
        assert!(!run(Some(&[30, 5, 100, 100]), true, 0.0, 0.0)[0]);
    }
}
