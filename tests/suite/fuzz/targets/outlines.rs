//! Outlines of COCO's annotations: a mask does not depend on the outlines beside it.

use super::scratch::{call, split};
use plan::{DType, Extent, Type};
use runtime::{Fault, Tensor};

/// Pixels of a side of the image, at the most.
const SIDE_MAX: usize = 16;

/// Draws outlines on an image whose sides the first byte says: four bits each.
pub(crate) fn outlines(bytes: &[u8]) {
    let (sides, json) = split(bytes);
    let sides = [sides & 15, sides >> 4].map(usize::from);
    let Ok(all) = drawn(json, sides) else { return };
    assert!(all.iter().all(|it| *it < 2), "{all:?}");
    // What stands behind a list is not read: it may be anything, and a list too that ends elsewhere.
    if serde_json::from_slice::<serde_json::Value>(json).is_err() {
        return;
    }
    // The same outlines twice, one after the other, are the same masks twice.
    let inner = json.trim_ascii().strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]"));
    let Some(inner) = inner else { return };
    if !inner.trim_ascii().is_empty() {
        let twice = drawn(&[b"[", inner, b",", inner, b"]"].concat(), sides);
        assert_eq!(twice.ok(), Some(all.repeat(2)));
    }
}

/// The pixels of all masks.
fn drawn(json: &[u8], [height, width]: [usize; 2]) -> Result<Vec<u8>, Fault> {
    let pixels = [0_u8; SIDE_MAX * SIDE_MAX];
    let image = Tensor::new(&[height, width], &pixels[..height * width]);
    let values = [Tensor::text(DType::Str, json), image];
    let result = Type::Tensor { dtype: DType::U8, shape: vec![Extent::Unknown; 3] };
    call("rasterize", &[], (&values, &result)).map(|it| it.1)
}

/// Outlines of all kinds.
pub(super) fn files() -> Vec<Vec<u8>> {
    let all = [
        "[[[1, 1, 9.5, 1, 9, 7.25, 2, 8]], null, []]",
        "[[[0, 0, 30, -5, 12.5, 40], [3, 3, 3, 3, 4, 4, 1e2, 1e-1]]]",
        r#"[{"counts": [3, 2, 200, 20], "size": [15, 15]}]"#,
        r#"[{"counts": "3222n4", "size": [15, 15]}, {"size": [15, 15], "counts": "Q7"}]"#,
    ];
    all.iter().map(|it| [b"\xff", it.as_bytes()].concat()).collect()
}
