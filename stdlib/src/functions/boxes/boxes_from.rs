//! `boxes_from`: boxes that others have written, as corners in pixels.

use super::forms::{self, Form};
use crate::prelude::*;

function! {
    /// Converts boxes to `x0, y0, x1, y1` in pixels.
    ///
    /// `form` is how the four numbers of a box are meant: `xywh` is left, top, width, height (COCO); `cxcywh` centre, width,
    /// height; `xyxy` left, top, right, bottom; `yxyx` top, left, bottom, right (TensorFlow); `yolo` is `cxcywh` in
    /// fractions of the image. With `shape`, the extents of the image, the numbers are fractions of its width and height,
    /// whatever the form; without it, they are pixels. `boxes_to` is the inverse.
    ///
    /// Each number is computed in `f64` and rounded once: torchvision's `ConvertBoundingBoxFormat`, within 1e-5.
    ///
    /// ```pipe
    /// range(2) |> map { boxes: boxes_from(f32([[10, 20, 30, 40]]), form: xywh) }    # { boxes: f32[1, 4] }
    /// ```
    ///
    /// ```pipe
    /// range(2)
    ///     |> map { table: parse_table("3 0.5 0.5 0.2 0.1", columns: 5) }
    ///     |> map { boxes: boxes_from(table[:, 1:], form: yolo, shape: [480, 640, 3]), label: i64(table[:, 0]) }    # { boxes: f32[?, 4], label: i64[?] }
    /// ```
    "boxes_from(b: f32[n, 4], form: xywh | cxcywh | xyxy | yxyx | yolo, shape: integer[r] = none) fails -> f32[n, 4]",
    cost: Cost::out(20.0, 0.5),    // Assumed: two nanoseconds a number.
    result: Some(forms::result),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(forms::kernel(call, Form::corners))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::boxes::boxes_to;
    use crate::functions::tensor::trial::{Trial, Value};

    const FORMS: [&str; 5] = ["xywh", "cxcywh", "xyxy", "yxyx", "yolo"];

    fn trial<'a>(b: &'a [f32], form: &str, shape: Option<&'a [i64]>) -> Trial<'a> {
        let trial = Trial::of(&ENTRY)
            .value(Tensor::new(&[b.len() / 4, 4], b))
            .arg(Arg::Word(form.to_owned()));
        match shape {
            Some(shape) => trial.value(Tensor::new(&[shape.len()], shape)),
            None => trial.arg(Arg::None),
        }
    }

    /// torchvision 0.29.2, `v2.functional.convert_bounding_box_format(…, new_format="XYXY")` of the same numbers.
    #[test]
    fn agrees_with_torchvision() {
        let b = [10.5, 20.0, 30.0, 41.0, 7.0, 3.25, 1.0, 0.5];
        let found = |form| trial(&b, form, None).run().unwrap().to_vec::<f32>();
        assert_eq!(found("xywh"), [10.5, 20.0, 40.5, 61.0, 7.0, 3.25, 8.0, 3.75]);
        assert_eq!(found("cxcywh"), [-4.5, -0.5, 25.5, 40.5, 6.5, 3.0, 7.5, 3.5]);
        assert_eq!(found("yxyx"), [20.0, 10.5, 41.0, 30.0, 3.25, 7.0, 0.5, 1.0]);
        assert_eq!(found("xyxy"), b);
    }

    #[test]
    fn fractions_are_of_width_and_height() {
        let shape = [480, 640, 3];
        let found = |form| trial(&[0.5, 0.25, 0.25, 0.5], form, Some(&shape)).run();
        assert_eq!(found("yolo"), Ok(Value::of(&[1, 4], &[240_f32, 0.0, 400.0, 240.0])));
        assert_eq!(found("cxcywh"), found("yolo"));
        assert_eq!(found("yxyx"), Ok(Value::of(&[1, 4], &[160_f32, 240.0, 320.0, 120.0])));
        assert!(trial(&[], "yolo", None).refused().contains("`shape: image.shape`"));
        assert_eq!(trial(&[], "xywh", None).run(), Ok(Value::of::<f32>(&[0, 4], &[])));
    }

    #[test]
    fn the_inverse_gives_the_same_numbers() {
        let b: Vec<f32> = (0..80).map(|it| (it as f32 * 7.3) % 50.0 + 1.0).collect();
        for form in FORMS {
            let shape = [37, 53];
            let corners = trial(&b, form, Some(&shape)).run().unwrap().to_vec::<f32>();
            let back = Trial::of(&boxes_to::ENTRY)
                .value(Tensor::new(&[20, 4], &corners))
                .arg(Arg::Word(form.to_owned()))
                .value(Tensor::new(&[2], &shape));
            let back = back.run().unwrap().to_vec::<f32>();
            assert!(b.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-4 * a.abs()), "{form}");
        }
    }

    #[test]
    fn what_has_other_rows_is_a_fault() {
        let b = [0_f32; 6];
        let fault = Trial::of(&ENTRY)
            .value_of(
                Tensor::new(&[2, 3], &b),
                Type::Tensor { dtype: DType::F32, shape: vec![Extent::Unknown; 2] },
            )
            .arg(Arg::Word("xywh".to_owned()))
            .arg(Arg::None);
        assert_eq!(fault.run().unwrap_err().code, "extents");
    }
}
