//! `tests/suite/fuzz/targets.rs`: `state`.
#![no_main]

#[path = "../../tests/suite/fuzz/targets.rs"]
#[allow(dead_code, reason = "one of its functions is called here")]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::state(bytes));
