//! `jpeg_size`: how large a JPEG is, from its header.

use super::jpeg::Header;
use crate::prelude::*;

function! {
    /// Returns the height and width of a JPEG in pixels, without decoding it.
    ///
    /// The size is that of `decode_jpeg(bytes)`, so of the image as the camera stored it. Only the header is
    /// read. Fails as `decode_jpeg` does.
    ///
    /// ```pipe
    /// range(2) |> map { size: jpeg_size(plasma(i, 40, 60) |> encode_jpeg) }    # { size: i64[2] }
    /// ```
    "jpeg_size(bytes: bytes) fails -> i64[2]",
    cost: Cost::call(1_000.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let size = Header::read(args.tensor(0).as_text())?.size;
        out.tensor::<i64>(&[2])?.copy_from_slice(&[size.height as i64, size.width as i64]);
        Ok(())
    }))
}
