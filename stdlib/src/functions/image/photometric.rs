//! Levels are those of torchvision on Pillow images and of OpenCV, for all functions of `goldens/photometric.tsv`.

use super::{
    adjust_gamma, adjust_sharpness, autocontrast, clahe, equalize, invert, median_blur, posterize,
    solarize,
    testing::{Value, run},
};
use crate::Function;
use xxhash_rust::xxh3::xxh3_64;

const FUNCTIONS: [&Function; 9] = [
    &adjust_gamma::ENTRY,
    &adjust_sharpness::ENTRY,
    &autocontrast::ENTRY,
    &clahe::ENTRY,
    &equalize::ENTRY,
    &invert::ENTRY,
    &median_blur::ENTRY,
    &posterize::ENTRY,
    &solarize::ENTRY,
];

/// As `image` in `goldens/make.py`.
fn levels(n: usize, low: u64, count: u64) -> Vec<u8> {
    let level = |it: u64| low + (it.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % count;
    (0..n as u64).map(|it| level(it) as u8).collect()
}

#[test]
fn levels_are_those_of_other_libraries() {
    let lines = include_str!("goldens/photometric.tsv").lines();
    for line in lines.filter(|it| !it.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [name, argument, image, hash] = columns[..] else { panic!("{line}") };
        let numbers: Vec<u64> =
            image.split(' ').map(|it| it.parse().expect("it is a number")).collect();
        let shape = [0, 1, 2].map(|it| numbers[it] as usize);
        let levels = levels(shape.iter().product(), numbers[3], numbers[4]);
        let function = FUNCTIONS.into_iter().find(|it| it.entry.name() == name);
        let mut args = vec![Value::new(&shape, &levels)];
        match argument.parse::<f64>() {
            Ok(it) if ["posterize", "median_blur"].contains(&name) => {
                args.push(Value::from(it as i64));
            }
            Ok(it) => args.push(Value::from(it)),
            Err(_) if name == "clahe" => {
                let (limit, tiles) = argument.split_once(' ').expect("it has two");
                args.push(Value::from(limit.parse::<f64>().expect("it is a number")));
                args.push(Value::from(tiles.parse::<i64>().expect("it is a number")));
            }
            Err(_) => assert_eq!(argument, "-"),
        }
        let (found_shape, found) =
            run::<u8>(function.expect("it is one of them"), &args).expect("it cannot fail");
        assert_eq!(found_shape, shape, "{line}");
        assert_eq!(format!("{:016x}", xxh3_64(&found)), hash, "{line}");
    }
}
