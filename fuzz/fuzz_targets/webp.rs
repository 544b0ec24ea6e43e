//! `webp/tests/hostile/target.rs`: `decode`.
#![no_main]

#[path = "../../webp/tests/hostile/target.rs"]
#[allow(dead_code, reason = "one of its functions is called here")]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    target::decode(bytes);
});
