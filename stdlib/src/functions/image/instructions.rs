//! The hot kernels take as many instructions as `instructions.txt` says: see `counting`.

use super::{
    adjust_hue, adjust_saturation, gaussian_blur, normalize, resize,
    testing::{Value, noise, run, run_on},
};
use plan::Arg;
use runtime::Tensor;
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/functions/image/instructions.txt");

const KERNELS: [&str; 8] = [
    "stdlib::pixels::eight::resample_anywhere::avx2",
    "stdlib::pixels::normalize::planes::avx2",
    "stdlib::pixels::normalize::mirrored_planes::avx2",
    "stdlib::pixels::normalize::convert_u8::avx2",
    "stdlib::pixels::colour::saturate::others::avx2",
    "stdlib::pixels::colour::turn_hue::others::avx2",
    "stdlib::pixels::blur::sum_columns::avx2",
    "stdlib::pixels::blur::sum_rows::avx2",
];

#[test]
fn kernels_take_as_many_instructions_as_before() {
    counting::compare(Path::new(FILE), "functions::image::instructions::work", &KERNELS);
}

/// What a training pipeline does with a picture, with and without a flip, and a colour and blur.
#[test]
#[ignore = "it is run by the other"]
fn work() {
    let [height, width] = [375, 500];
    let levels = noise(7, height * width * 3);
    let image = Value::new(&[height, width, 3], &levels);
    for antialias in [true, false] {
        let how = [Value::word("bilinear"), antialias.into(), Value::word("pillow")];
        let args = [image.clone(), 224.into(), 224.into()].into_iter().chain(how);
        run::<u8>(&resize::ENTRY, &args.collect::<Vec<_>>()).expect("it can be resized");
    }

    let whole = Tensor::new(&[height, width, 3], &levels);
    for (view, axis) in
        [(whole, 2), (whole.permuted(&[2, 0, 1]), 0), (whole.flipped(1).permuted(&[2, 0, 1]), 0)]
    {
        let list = |it: f64| Value::Known(Arg::List(vec![Arg::Float(it); 3]));
        let args = [0.into(), list(0.45), list(0.22), Value::Known(Arg::Int(axis))];
        let nothing = Tensor::nothing();
        run_on::<f32>(&normalize::ENTRY, &args, &[view, nothing, nothing, nothing])
            .expect("it cannot fail");
    }

    run::<u8>(&adjust_saturation::ENTRY, &[image.clone(), 1.5.into()]).expect("it cannot fail");
    run::<u8>(&adjust_hue::ENTRY, &[image.clone(), 0.1.into()]).expect("it cannot fail");
    run::<u8>(&gaussian_blur::ENTRY, &[image, 5_i64.into(), 1.2.into()]).expect("it cannot fail");
}
