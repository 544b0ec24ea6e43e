//! `jpeg_extent`: how long one axis of a JPEG's pixels is, from its header.

use super::jpeg::Header;
use crate::prelude::*;

function! {
    /// Returns one extent of `decode_jpeg(bytes)` without decoding it.
    ///
    /// Axis 0 is the height, 1 the width, 2 the channels. Same as `extent(decode_jpeg(bytes), axis)`, but reads
    /// only the header. Fails as `decode_jpeg` does, or with `axis` if there is no such axis.
    ///
    /// ```pipe
    /// range(2) |> map { width: jpeg_extent(plasma(i, 40, 60) |> encode_jpeg, 1) }    # { width: i64 }
    /// ```
    "jpeg_extent(bytes: bytes, axis: int) fails -> i64",
    cost: Cost::call(1_000.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let size = Header::read(args.tensor(0).as_text())?.size;
        out.scalar(match args.int(1) {
            0 | -3 => size.height as i64,
            1 | -2 => size.width as i64,
            2 | -1 => 3,
            axis => {
                let detail = format!("an image has the axes 0, 1 and 2, found {axis}");
                return Err(Fault::new("axis", detail));
            }
        })
    }))
}
