//! Upsampling of subsampled components by the triangle filter: libjpeg's "fancy" upsampling.
//!
//! Ends of rows need no formula of their own: libjpeg's equal a border sample that is repeated.

/// See [`super::Kernels::h2v1`].
pub(super) fn h2v1(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.windows(3).zip(to.as_chunks_mut::<2>().0) {
        let [left, it, right] = [from[0], from[1], from[2]].map(u16::from);
        *to = [((3 * it + left + 1) >> 2) as u8, ((3 * it + right + 2) >> 2) as u8];
    }
}

/// See [`super::Kernels::h2v2`].
pub(super) fn h2v2(near: &[u8], far: &[u8], to: &mut [u8]) {
    for ((near, far), to) in near.windows(3).zip(far.windows(3)).zip(to.as_chunks_mut::<2>().0) {
        let [left, it, right] = [0, 1, 2].map(|i| 3 * u16::from(near[i]) + u16::from(far[i]));
        *to = [((3 * it + left + 8) >> 4) as u8, ((3 * it + right + 7) >> 4) as u8];
    }
}

/// See [`super::Kernels::h1v2`].
pub(super) fn h1v2(near: &[u8], far: &[u8], bias: u16, to: &mut [u8]) {
    for ((&near, &far), to) in near.iter().zip(far).zip(to) {
        *to = ((3 * u16::from(near) + u16::from(far) + bias) >> 2) as u8;
    }
}
