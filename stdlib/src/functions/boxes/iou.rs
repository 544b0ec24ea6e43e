//! `iou`: how much of each other boxes cover.

use super::corners::{boxes, overlap};
use crate::prelude::*;

function! {
    /// Returns the intersection over union (IoU) of each box of `a` with each box of `b`.
    ///
    /// This is torchvision's `box_iou`, computed in `f32`. The IoU of two boxes without an area is NaN, as there.
    ///
    /// ```pipe
    /// range(2) |> map { x: iou(f32([[0, 0, 10, 10]]), f32([[5, 0, 15, 10], [20, 20, 30, 30]])) }    # { x: f32[1, 2] }
    /// ```
    "iou(a: f32[n, 4], b: f32[m, 4]) fails -> f32[n, m]",
    cost: Cost::out(20.0, 1.0),    // Assumed: four nanoseconds a pair.
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (a, b) = (args.tensor(0), args.tensor(1));
        // Two values may need the same room for a packed copy: one has its own.
        let a = boxes(&a, |all| Ok(all.to_vec()))?;
        boxes(&b, |b| {
            let room = out.tensor::<f32>(&[a.len(), b.len()])?;
            for (row, a) in room.chunks_exact_mut(b.len().max(1)).zip(&a) {
                row.iter_mut().zip(b).for_each(|(to, b)| *to = overlap(a, b));
            }
            Ok(())
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn run(a: &[f32], b: &[f32]) -> Value {
        let (n, m) = (a.len() / 4, b.len() / 4);
        let (a, b) = (Tensor::new(&[n, 4], a), Tensor::new(&[m, 4], b));
        Trial::of(&ENTRY).value(a).value(b).run().unwrap()
    }

    /// torchvision 0.29.2, `ops.box_iou` of the same boxes.
    #[test]
    fn agrees_with_torchvision() {
        let a = [0_f32, 0., 10., 10., 2.5, 3.5, 8.0, 20.25, 5., 5., 5., 5.];
        let b = [5_f32, 0., 15., 10., 20., 20., 30., 30.];
        let found = run(&a, &b);
        let expected = [0.333_333_34, 0.0, 0.112_961_62, 0.0, 0.0, 0.0];
        assert_eq!(found.shape, [3, 2]);
        for (found, expected) in found.to_vec::<f32>().into_iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-5, "{found} {expected}");
        }
        assert!(run(&a[8..], &a[8..]).to_vec::<f32>()[0].is_nan());
        assert_eq!(run(&a, &[]), Value::of::<f32>(&[3, 0], &[]));
        assert_eq!(run(&[], &b), Value::of::<f32>(&[0, 2], &[]));
    }
}
