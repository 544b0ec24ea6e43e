//! A decoder that has seen a picture allocates nothing for the next one of its size.

use jpeg::{Decoder, Region, Request};
use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts what a thread asks for.
struct Counting;

// SAFETY: it gives what the system gives.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|it| it.set(it.get() + 1));
        // SAFETY: the system is asked for what the caller may ask for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the system gave it for this layout, to a caller that is done with it.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_second_picture_allocates_nothing() {
    let pixels: Vec<u8> = (0..3 * 90 * 70).map(|it| (it * it / 7) as u8).collect();
    let bytes = Encoder::new(&pixels, 90, 70, PixelFormat::Rgb)
        .subsampling(Subsampling::S420)
        .encode()
        .unwrap();
    let mut decoder = Decoder::new();
    let index = decoder.index(&bytes, 2).unwrap();
    let region = Region { x: 3, y: 4, width: 50, height: 60 };
    let mut out = vec![0; 3 * 90 * 70];
    let mut rounds = [0; 2];
    for count in &mut rounds {
        let before = COUNT.get();
        decoder.decode(&bytes, &Request::default(), &mut out, 270).unwrap();
        for index in [None, Some(&index)] {
            let request = Request { region: Some(region), index, ..Request::default() };
            decoder.decode_rows(&bytes, &request, |_, _| {}).unwrap();
        }
        decoder.check(&bytes).unwrap();
        *count = COUNT.get() - before;
    }
    assert!(rounds[0] > 0 && rounds[1] == 0, "{rounds:?}");
}
