//! `flip_points`: key points of an image that is flipped.

use crate::functions::tensor::packed;
use crate::prelude::*;

function! {
    /// Flips key points horizontally, and swaps those of the left and of the right.
    ///
    /// `points` are `x, y, visibility` of `k` points for each of `n` things, as `coco` gives them. `pairs` lists the points that
    /// stand for each other in a mirror, such as the left and the right eye: `[[1, 2], [3, 4]]`. For COCO's persons, it is
    /// `[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16]]`. Points that are not annotated
    /// (visibility 0) become zeros. This is the flip of torchvision's reference for detection.
    ///
    /// ```pipe
    /// range(2) |> map { x: flip_points(f32([[[1, 2, 2], [8, 3, 1]]]), width: 10, pairs: [[0, 1]]) }    # { x: f32[1, 2, 3] }
    /// ```
    "flip_points(points: f32[n, k, 3], width: int, pairs: list) fails -> f32[n, k, 3]",
    cost: Cost::out(20.0, 0.5),    // Assumed: six nanoseconds a point.
    result: Some(result),
}

/// The parameter of the pairs.
const PAIRS: usize = 2;

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let pairs = pairs(&applied.args[PAIRS])?;
    let ty = applied.ty(0).ok_or("expected key points")?;
    if let Some([_, Extent::Known(k), _]) = ty.shape()
        && let Some(outside) = pairs.as_flattened().iter().find(|it| **it as u64 >= *k)
    {
        return Err(format!("`pairs` names the point {outside}, but there are only {k}, from 0"));
    }
    Ok(ty)
}

/// The pairs of a list, none of whose points occurs twice.
fn pairs(arg: &Arg) -> Result<Vec<[usize; 2]>, String> {
    let wrong = || "`pairs` must be a list of pairs of points: `[[1, 2], [3, 4]]`".to_owned();
    let Arg::List(all) = arg else { return Err(wrong()) };
    let point = |it: &Arg| match it {
        Arg::Int(it) => usize::try_from(*it).map_err(|_| wrong()),
        _ => Err(wrong()),
    };
    let pair = |it: &Arg| match it {
        Arg::List(both) if both.len() == 2 => Ok([point(&both[0])?, point(&both[1])?]),
        _ => Err(wrong()),
    };
    let pairs = all.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
    let mut points = pairs.as_flattened().to_vec();
    points.sort_unstable();
    match points.windows(2).find(|it| it[0] == it[1]) {
        Some(twice) => Err(format!("the point {} occurs twice in `pairs`", twice[0])),
        None => Ok(pairs),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let pairs = pairs(&call.args[PAIRS]).map_err(Failure::Program)?;
    Ok(Kernel::compute(move |args, out| {
        let (points, width) = (args.tensor(0), args.int(1) as f32);
        let &[n, k, 3] = points.shape() else {
            let shape = Shape::new(points.shape());
            let detail = format!("expected points as `f32[n, k, 3]`, found {shape:?}");
            return Err(Fault::new("extents", detail));
        };
        if let Some(outside) = pairs.as_flattened().iter().find(|it| **it >= k) {
            let detail =
                format!("`pairs` names the point {outside}, but there are only {k}, from 0");
            return Err(Fault::new("extents", detail));
        }
        packed::<f32, _>(&points, |all| {
            let room = out.tensor::<f32>(&[n, k, 3])?;
            room.copy_from_slice(all);
            for thing in room.chunks_exact_mut((3 * k).max(1)) {
                let (points, _) = thing.as_chunks_mut::<3>();
                pairs.iter().for_each(|[a, b]| points.swap(*a, *b));
                for point in points {
                    let [x, y, visibility] = *point;
                    let is_annotated = visibility != 0.0;
                    *point = if is_annotated { [width - x, y, visibility] } else { [0.0; 3] };
                }
            }
            Ok(())
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn list(pairs: &[[i64; 2]]) -> Arg {
        Arg::List(pairs.iter().map(|it| Arg::List(it.map(Arg::Int).to_vec())).collect())
    }

    fn trial<'a>(points: Tensor<'a>, pairs: &[[i64; 2]]) -> Trial<'a> {
        Trial::of(&ENTRY).value(points).arg(Arg::Int(640)).arg(list(pairs))
    }

    /// `_flip_coco_person_keypoints` of torchvision's `references/detection/transforms.py` on the same points: two
    /// persons with five points, flipped by `[0, 2, 1, 4, 3]`.
    #[test]
    fn agrees_with_torchvision() {
        let points: Vec<f32> =
            (0..30).map(|it| if it % 3 == 2 { (it % 4) as f32 } else { it as f32 }).collect();
        let found = trial(Tensor::new(&[2, 5, 3], &points), &[[1, 2], [3, 4]]).run();
        let expected = [
            640., 1., 2., 0., 0., 0., 637., 4., 1., 628., 13., 2., 631., 10., 3., 625., 16., 1.,
            619., 22., 3., 0., 0., 0., 613., 28., 1., 616., 25., 2.,
        ];
        assert_eq!(found, Ok(Value::of(&[2, 5, 3], &expected.map(|it: f64| it as f32))));
    }

    #[test]
    fn pairs_are_checked() {
        let points = [0_f32; 9];
        let points = Tensor::new(&[1, 3, 3], &points);
        assert!(
            trial(points, &[[1, 3]]).refused().contains("names the point 3, but there are only 3")
        );
        assert!(trial(points, &[[1, 2], [0, 2]]).refused().contains("the point 2 occurs twice"));
        assert!(trial(points, &[[-1, 2]]).refused().contains("a list of pairs"));
        assert_eq!(trial(points, &[[1, 3]]).unknown().run().unwrap_err().code, "extents");
    }
}
