//! Checkpoints and built files.

use driver::{Built, Compiled, Loaded, Settings, State};
use runtime::{Failure, Options, Position};
use std::{
    path::Path,
    sync::{
        LazyLock,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// Bytes of the footer of a built file.
const FOOTER: usize = 40;
/// What a program of a built file may take, and for how long it is run.
const MEMORY: u64 = 64 << 20;
const PATIENCE: Duration = Duration::from_millis(500);

/// A program whose positions have something of everything.
const PROGRAM: &str = "\
edition 2026

pipeline p =
    zip({
        a: mix({ x: range(90) |> shuffle, y: range(50) |> where i % 3 != 0 }, at_end: drop) |> take(80),
        b: concat([range(40), range(60) |> skip(5)]) |> shuffle(window: 16) |> take(80),
    })
    |> map { i: 100 // (a.i % 7) + b.i else skip(most: 1) }
    |> windows(length: 2)
    |> batch(4, by: sum(i) % 3, tail: keep)
";

pub(super) static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let loaded = Loaded::from_text(Path::new("state.pipe"), PROGRAM.to_owned());
    driver::compile(&loaded, &Settings::default()).expect("the program is sound")
});

/// Reads a state, which is the same once it is written again; goes on from the position that the bytes
/// say, two of them a number, or one beyond any length.
pub(crate) fn state(bytes: &[u8]) {
    if let Ok(state) = State::from_bytes(bytes) {
        let line = state.line();
        assert!(State::from_bytes(line.as_bytes()).is_ok_and(|it| it.line() == line), "{line}");
    }
    let numbers =
        bytes.chunks_exact(2).map(|it| i64::from(i16::from_le_bytes([it[0], it[1]])) as u64);
    let Ok(position) = Position::from_numbers(0, &numbers.collect::<Vec<_>>()) else { return };
    let options = Options { resume: Some(position), ..Options::default() };
    let Ok(run) = runtime::start(&COMPILED.program, &stdlib::Kernels, &options) else { return };
    run.take(100).for_each(|it| no_bug(&it.map(drop)));
}

/// The position of an operator that has given as much as a number can count.
const FORGED: [u8; 14] = [5, 0, 255, 255, 255, 255, 0, 0, 1, 0, 0, 0, 1, 0];

/// Positions of the program.
pub(super) fn states() -> Vec<Vec<u8>> {
    let options = Options::default();
    let run = runtime::start(&COMPILED.program, &stdlib::Kernels, &options);
    let (mut run, mut states) = (run.expect("the program is sound"), vec![FORGED.to_vec()]);
    while let Some(Ok(chunk)) = run.next() {
        let numbers = run.position_after(chunk.rows).numbers();
        states.push(numbers.iter().flat_map(|it| (*it as u16).to_le_bytes()).collect());
    }
    states
}

/// Reads a built file; then the same with a footer that fits, explains it and runs it for a moment.
pub(crate) fn built(bytes: &[u8]) {
    let _ = Built::read(bytes);
    let Some(sealed) = sealed(bytes) else { return };
    let Ok(built) = Built::read(&sealed) else { return };
    let _ = built.loaded();
    let _ = built.compiled.plan_text();
    let shown = built.compiled.clone().estimated((2, None), None);
    let _ = shown.explanation(shown.plain_view()).text();
    let options = Options { memory: MEMORY, ..Options::default() };
    let Ok(run) = runtime::start(&built.compiled.program, &stdlib::Kernels, &options) else {
        return;
    };
    // A program may compute for as long as it likes.
    let (stopper, (over, waits)) = (run.stopper(), mpsc::channel::<()>());
    let watchdog = thread::spawn(move || {
        if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            stopper.stop();
        }
    });
    run.take(20).for_each(|it| no_bug(&it.map(drop)));
    drop(over);
    watchdog.join().expect("it only waits");
}

/// The bytes with the footer that they need, as `driver/src/session/built/footer.rs` documents it; none where there is
/// nothing before it.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (content, footer) = bytes.split_last_chunk::<FOOTER>()?;
    let mut footer = *footer;
    footer[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
    footer[32..].copy_from_slice(b"\x7fpipec\r\n");
    let checksum = plan::mix(plan::hash(content), plan::hash(&footer[8..]));
    footer[..8].copy_from_slice(&checksum.to_le_bytes());
    Some([content, &footer].concat())
}

fn no_bug(it: &Result<(), Failure>) {
    let text = it.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(!text.contains("bug in pipec") && !text.contains("panicked"), "{text}");
}

/// What makes the program a built file.
pub(super) fn builts() -> Vec<Vec<u8>> {
    let built = Built::new(COMPILED.clone(), &Settings::default());
    vec![built.trailer().expect("it is small")]
}
