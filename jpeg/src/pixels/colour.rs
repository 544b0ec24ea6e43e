//! Rows of components to interleaved pixels.
//!
//! The factors are those of JFIF (ITU-R BT.601, all 256 levels): 1.402, 0.344136, 0.714136 and
//! 1.772, in 16 bits after the point and rounded as the tables of libjpeg are.

/// See [`super::Kernels::ycc_to_rgb`].
pub(super) fn ycc_to_rgb(planes: [&[u8]; 3], to: &mut [u8]) {
    let [y, cb, cr] = planes;
    for (((&y, &cb), &cr), to) in y.iter().zip(cb).zip(cr).zip(to.as_chunks_mut::<3>().0) {
        let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
        let red = y + ((91881 * cr + 32768) >> 16);
        let green = y + ((-22554 * cb - 46802 * cr + 32768) >> 16);
        let blue = y + ((116130 * cb + 32768) >> 16);
        *to = [red, green, blue].map(|it| it.clamp(0, 255) as u8);
    }
}

/// See [`super::Kernels::interleave`].
pub(super) fn interleave(planes: [&[u8]; 3], to: &mut [u8]) {
    let [r, g, b] = planes;
    for (((&r, &g), &b), to) in r.iter().zip(g).zip(b).zip(to.as_chunks_mut::<3>().0) {
        *to = [r, g, b];
    }
}
