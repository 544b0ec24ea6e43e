//! `equalize`: each level as often as any other.

use super::autocontrast::{by_channel, result};
use crate::{
    pixels::{
        Picture,
        table::{self, Histogram, Table},
    },
    prelude::*,
};

function! {
    /// Equalizes the histogram of each channel, so that all levels are about equally frequent.
    ///
    /// A channel with one level, or with fewer than 255 pixels besides those of its lightest level, is
    /// unchanged. Bit-identical to torchvision's `equalize` on Pillow images.
    ///
    /// ```pipe
    /// range(2) |> map { image: equalize(plasma(i, 20, 30)) }    # { image: u8[20, 30, 3] }
    /// ```
    "equalize(image: u8[h, w, c]) -> u8[h, w, c]",
    // Assumed: 0.5 ns a level, most of it to count.
    cost: Cost::out(2_000.0, 0.5),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(by_channel(flatten))
}

/// Writes `image`, of one or three channels, with its levels equalized to `out`.
pub(super) fn flatten(image: &Picture<'_, u8>, out: &mut [u8]) {
    let tables = table::histograms(image).map(|it| equal(&it));
    table::look_up_each(image, &tables[..image.channels], out);
}

/// What becomes of each level: the part of the darker pixels, as Pillow's `ImageOps.equalize` counts it.
fn equal(counts: &Histogram) -> Table {
    let lightest = counts.iter().rposition(|it| *it > 0).unwrap_or(0);
    let step = counts[..lightest].iter().sum::<u64>() / 255;
    if step == 0 {
        return table::table(|it| it);
    }
    let mut before = step / 2;
    let mut table = [0; 256];
    for (to, count) in table.iter_mut().zip(counts) {
        *to = (before / step).min(255) as u8;
        before += count;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_levels() {
        let mut counts = [0; 256];
        // 510 pixels darker than the lightest: 2 for each level.
        (counts[3], counts[9], counts[200]) = (300, 210, 5);
        let table = equal(&counts);
        assert_eq!((table[0], table[3], table[4], table[9], table[10]), (0, 0, 150, 150, 255));

        // Not enough of them, or one level alone.
        counts[9] = 0;
        counts[3] = 254;
        assert_eq!(equal(&counts), table::table(|it| it));
        counts[200] = 0;
        assert_eq!(equal(&counts), table::table(|it| it));
        // More than 255 steps: the lightest are white.
        (counts[3], counts[9], counts[10]) = (255, 254, 1);
        assert_eq!((equal(&counts)[9], equal(&counts)[10]), (255, 255));
    }
}
