//! `match_anchors`: which box each anchor of a detector is trained on.

use super::corners::{boxes, overlap};
use crate::prelude::*;

function! {
    /// Returns for each anchor the index of the box that it is matched with: -1 for background, -2 for none.
    ///
    /// An anchor is matched with the box with the largest intersection over union (IoU), the first of equals, if that is at
    /// least `above`. It is background if its IoU is less than `below`, and ignored (-2) in between. Then each box gets the
    /// anchor with which it has the largest IoU, however small that is; if several boxes have the same, the last one gets it.
    /// Without boxes, all anchors are background. With 0.5 as both, this is torchvision's `SSDMatcher(0.5)`, and how MLPerf's
    /// SSD encodes boxes with its 8,732 default boxes, in pixels, as `anchors`.
    ///
    /// `boxes[max(matched, 0)]` are the boxes of the anchors; the condition `matched >= 0` says where they count.
    ///
    /// ```pipe
    /// range(2) |> map { x: match_anchors(f32([[0, 0, 10, 10]]), f32([[1, 0, 10, 10], [50, 50, 60, 60]]), above: 0.5, below: 0.4) }    # { x: i32[2] }
    /// ```
    "match_anchors(boxes: f32[n, 4], anchors: f32[k, 4], above: float, below: float) fails -> i32[k]",
    cost: Cost::out(50.0, 10.0),    // Assumed: ten boxes, four nanoseconds a pair.
}

/// What stands for an anchor without a box.
const BACKGROUND: i32 = -1;
const IGNORED: i32 = -2;

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (above, below) = (args.float(2) as f32, args.float(3) as f32);
        // Two values may need the same room for a packed copy: one has its own.
        let all = boxes(&args.tensor(0), |all| Ok(all.to_vec()))?;
        boxes(&args.tensor(1), |anchors| {
            let matched = out.tensor::<i32>(&[anchors.len()])?;
            matched.fill(BACKGROUND);
            let mut best = vec![f32::NEG_INFINITY; anchors.len()];
            let mut own = Vec::with_capacity(all.len());
            for (number, it) in all.iter().enumerate() {
                let mut nearest = (f32::NEG_INFINITY, 0);
                for (at, anchor) in anchors.iter().enumerate() {
                    let found = overlap(it, anchor);
                    if found > best[at] {
                        (best[at], matched[at]) = (found, number as i32);
                    }
                    if found > nearest.0 {
                        nearest = (found, at);
                    }
                }
                own.push(nearest.1);
            }
            for (to, best) in matched.iter_mut().zip(&best) {
                *to = match best {
                    it if *it >= above => *to,
                    it if *it >= below => IGNORED,
                    _ => BACKGROUND,
                };
            }
            for (number, at) in own.iter().enumerate().filter(|it| *it.1 < anchors.len()) {
                matched[*at] = number as i32;
            }
            Ok(())
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::Trial;

    fn run(boxes: &[[f32; 4]], anchors: &[[f32; 4]], above: f64, below: f64) -> Vec<i32> {
        let boxes = Tensor::new(&[boxes.len(), 4], boxes.as_flattened());
        let anchors = Tensor::new(&[anchors.len(), 4], anchors.as_flattened());
        let trial = Trial::of(&ENTRY).value(boxes).value(anchors);
        trial.arg(Arg::Float(above)).arg(Arg::Float(below)).run().unwrap().to_vec()
    }

    /// torchvision 0.29.2: `SSDMatcher` of `models.detection._utils` with both thresholds, of `box_iou(boxes, anchors)`.
    #[test]
    fn agrees_with_torchvision() {
        let boxes = [[10., 10., 50., 50.], [30., 30., 90., 70.], [0., 0., 5., 5.]];
        let anchors: Vec<[f32; 4]> = (0..12)
            .map(|it| {
                let (x, y) = ((it % 4 * 20) as f32, (it / 4 * 25) as f32);
                [x, y, x + 40.0, y + 35.0]
            })
            .collect();
        assert_eq!(run(&boxes, &anchors, 0.5, 0.5), [2, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1]);
        assert_eq!(run(&boxes, &anchors, 0.5, 0.3), [2, -2, -1, -1, -2, -2, 1, -2, -1, -1, -1, -1]);
        assert_eq!(run(&[], &anchors, 0.5, 0.3), [BACKGROUND; 12]);
        assert_eq!(run(&boxes, &[], 0.5, 0.3), [0_i32; 0]);
    }
}
