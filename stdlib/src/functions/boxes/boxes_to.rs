//! `boxes_to`: boxes as others write them.

use super::forms::{self, Form};
use crate::prelude::*;

function! {
    /// Converts boxes from `x0, y0, x1, y1` in pixels to another form.
    ///
    /// `form` and `shape` are those of `boxes_from`, which is the inverse: with `shape`, the extents of the image, the result
    /// has fractions of its width and height. Each number is computed in `f64` and rounded once.
    ///
    /// ```pipe
    /// range(2) |> map { boxes: boxes_to(f32([[10, 20, 40, 60]]), form: yolo, shape: [100, 100, 3]) }    # { boxes: f32[1, 4] }
    /// ```
    "boxes_to(boxes: f32[n, 4], form: xywh | cxcywh | xyxy | yxyx | yolo, shape: integer[r] = none) fails -> f32[n, 4]",
    cost: Cost::out(20.0, 0.5),    // Assumed: two nanoseconds a number.
    result: Some(forms::result),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(forms::kernel(call, Form::written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// torchvision 0.29.2, `v2.functional.convert_bounding_box_format(…, old_format="XYXY")`.
    #[test]
    fn agrees_with_torchvision() {
        let boxes = [10.5_f32, 20.0, 40.5, 61.0];
        let found = |form: &str| {
            let boxes = Tensor::new(&[1, 4], &boxes);
            Trial::of(&ENTRY).value(boxes).arg(Arg::Word(form.to_owned())).arg(Arg::None).run()
        };
        assert_eq!(found("xywh"), Ok(Value::of(&[1, 4], &[10.5_f32, 20.0, 30.0, 41.0])));
        assert_eq!(found("cxcywh"), Ok(Value::of(&[1, 4], &[25.5_f32, 40.5, 30.0, 41.0])));
        assert_eq!(found("yxyx"), Ok(Value::of(&[1, 4], &[20_f32, 10.5, 61.0, 40.5])));
    }
}
