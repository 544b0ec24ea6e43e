//! Whatever the bytes, nothing panics, and all tiers agree.

#[path = "hostile/target.rs"]
mod target;

use std::time::{Duration, Instant};
use target::{Draw, decode, goldens, mend, mutate};

/// Some rounds; with FUZZ_SECONDS as many as fit in.
#[test]
fn mutants_do_no_harm() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|it| it.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let files = goldens();
    let mut draw = Draw(seconds.unwrap_or(2));
    let (mut rounds, mut given) = (0, 0);
    while rounds < 2000 || Instant::now() < end {
        let mut bytes = files[draw.below(files.len())].1.clone();
        mutate(&mut bytes, &mut draw);
        if draw.below(4) > 0 {
            mend(&mut bytes);
        }
        given += decode(&bytes);
        rounds += 1;
    }
    println!("{rounds} mutants, {given} pictures given");
    assert!(given > 100);
}
