//! `tests/suite/fuzz/targets/outlines.rs`: `outlines`.
#![no_main]

#[path = "../../tests/suite/fuzz/targets/mod.rs"]
#[allow(dead_code, unused_imports, reason = "one of its functions is called here")]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::outlines(bytes));
