//! One body of plain loops, compiled for what the processor at hand can do.
//!
//! Rust neither contracts nor reassociates, so that every tier gives the same bits.

/// Declares `fn NAME(ARGS)`, which runs the `#[inline(always)]` function BODY, compiled for
/// AVX-512 and AVX2 too, as the best that this machine has. What BODY calls must be inlined.
/// Where a second body is given, it is the one for AVX-512 and AVX2; where a third one is, it is the one for AVX-512 with
/// VBMI, which picks bytes freely.
macro_rules! tiers {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $body:path) => {
        $crate::pixels::tiers! { $(#[$meta])* $vis fn $name($($arg: $ty),*) = $body, $body }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) = $body:path, $wide:path, $picks:path) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")]
                fn vbmi($($arg: $ty),*) {
                    $picks($($arg),*);
                }
                if is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vbmi")
                {
                    // SAFETY: the processor has these; AVX-512BW implies the foundation.
                    return unsafe { vbmi($($arg),*) };
                }
            }
            $crate::pixels::tiers! { fn others($($arg: $ty),*) = $body, $wide }
            others($($arg),*);
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) = $body:path, $wide:path) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
                fn avx512($($arg: $ty),*) {
                    $wide($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) {
                    $wide($($arg),*);
                }
                // A body that is given for both tiers may ask for AVX2.
                if is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                {
                    // SAFETY: the processor has these; AVX-512BW implies the foundation.
                    return unsafe { avx512($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has it.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $body($($arg),*);
        }
    };
}

pub(crate) use tiers;
