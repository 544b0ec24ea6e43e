//! Masks against those of `pycocotools`: `goldens/outlines.py` says how they were made.

use super::*;
use crate::functions::tensor::trial::{Trial, Value};
use serde_json::Value as Json;

fn drawn(outlines: &str, [height, width]: [usize; 2]) -> Result<Value, Fault> {
    let pixels = vec![0_u8; height * width];
    Trial::of(&ENTRY).untyped(outlines).value(Tensor::new(&[height, width, 1], &pixels)).run()
}

/// The lengths of the runs of zeros and ones in a mask, down its columns.
fn runs(mask: &[u8], width: usize) -> Vec<u64> {
    let columns = (0..width).flat_map(|x| mask[x..].iter().step_by(width).copied());
    let (mut runs, mut last) = (vec![0], 0);
    for it in columns {
        if it != last {
            runs.push(0);
            last = it;
        }
        *runs.last_mut().expect("there is a first run") += 1;
    }
    runs
}

fn numbers(of: &Json) -> Vec<u64> {
    of.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
}

#[test]
fn masks_are_those_of_pycocotools() {
    let golden: Json = serde_json::from_str(include_str!("../goldens/outlines.json")).unwrap();
    let mut checked = 0;
    for case in golden["cases"].as_array().unwrap() {
        let size = numbers(&case["size"]);
        let [height, width] = [size[0] as usize, size[1] as usize];
        let found = drawn(&case["outlines"].to_string(), [height, width]).unwrap();
        let expected = case["masks"].as_array().unwrap();
        assert_eq!(found.shape, [expected.len(), height, width]);
        let pixels = found.to_vec::<u8>();
        let masks = pixels.chunks_exact(height * width).zip(expected);
        for (number, (mask, expected)) in masks.enumerate() {
            let outline = &case["outlines"][number];
            assert_eq!(runs(mask, width), numbers(expected), "{height} x {width}: {outline}");
            checked += 1;
        }
    }
    assert_eq!(checked, 72);
}

#[test]
fn outlines_that_are_not_there_are_empty_masks() {
    assert_eq!(drawn("[null, []]", [2, 3]), Ok(Value::of(&[2, 2, 3], &[0_u8; 12])));
    assert_eq!(drawn("[]", [2, 3]), Ok(Value::of::<u8>(&[0, 2, 3], &[])));
    assert_eq!(drawn("[[[0, 0, 9, 0, 9, 9]]]", [0, 3]), Ok(Value::of::<u8>(&[1, 0, 3], &[])));
}

#[test]
fn run_lengths_must_fit_the_image() {
    for (outline, said) in [
        (r#"{"size": [3, 2], "counts": [6]}"#, "3 x 2 pixels does not fit the image of 2 x 3"),
        (r#"{"size": [2, 3], "counts": [5]}"#, "have 5 pixels, but the image has 6"),
        (r#"{"size": [2, 3], "counts": [3, 9007199254740991]}"#, "but the image has 6"),
    ] {
        let fault = drawn(&format!("[{outline}]"), [2, 3]).unwrap_err();
        assert_eq!(fault.code, "outline");
        assert!(fault.detail.contains(said), "{fault}");
    }
}

/// However far away corners are, and however many: work and memory follow from the image and the text.
#[test]
fn far_corners_cost_nothing_and_crossings_are_bounded() {
    let far = "[[[-4e8, -4e8, 4e8, -4e8, 4e8, 4e8, -4e8, 4e8]]]";
    assert_eq!(drawn(far, [3, 2]), Ok(Value::of(&[1, 3, 2], &[1_u8; 6])));
    let zigzag = "0,0,60000,0,".repeat(3_000);
    let fault = drawn(&format!("[[[{zigzag}0,1]]]"), [1, 60_000]).unwrap_err();
    assert!(fault.detail.contains("cross columns of pixels more than"), "{fault}");
}

#[test]
fn what_is_no_list_of_outlines_is_refused() {
    let pixels = [0_u8; 4];
    let image = Tensor::new(&[2, 2, 1], &pixels);
    let refused = Trial::of(&ENTRY).text("[]").value(image).refused();
    assert!(refused.contains("must be JSON"), "{refused}");
    let row = Tensor::new(&[4], &pixels);
    let refused = Trial::of(&ENTRY).untyped("[]").value(row).refused();
    assert!(refused.contains("`like` must be an image"), "{refused}");
}
