//! A generated set is like the real one in what a decoder's speed depends on, by counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files should panic")]

mod count;

use std::fs;
use std::path::{Path, PathBuf};

use count::{Counts, count};
use sample::{Error, Images, Summary, classes, images};

/// What the real pictures have, on the mean of the files unless said otherwise.
struct Real {
    bits_per_pixel: f64,
    symbols_per_pixel: f64,
    pixels: f64,
    /// Pixels below which a tenth, a half and nine tenths of the files are.
    pixels_at: [f64; 3],
    /// Shares of the files.
    long_side_500: f64,
    upright: f64,
    full_sampling: f64,
    quarter_sampling: f64,
    own_tables: f64,
}

/// Counted by this test's own code over the 380 files of `../shared/data/images/imagenet` (from
/// the repository `EliSchwartz/imagenet-sample-images`); a test below counts again.
const REAL: Real = Real {
    bits_per_pixel: 4.702,
    symbols_per_pixel: 0.806,
    pixels: 189_108.0,
    pixels_at: [93_572.0, 186_500.0, 245_500.0],
    long_side_500: 0.703,
    upright: 0.232,
    full_sampling: 0.758,
    quarter_sampling: 0.200,
    own_tables: 0.987,
};

#[test]
fn a_generated_set_is_like_photographs() {
    let folder = Folder::new("natural");
    images(&set(&folder, 60, 0), &mut |_| {}).unwrap();
    let counts = count_all(&folder.0);
    assert_eq!(counts.len(), 60);
    let own = measure(&counts);

    near(own.bits_per_pixel, REAL.bits_per_pixel, 0.10, "bits a pixel");
    near(own.symbols_per_pixel, REAL.symbols_per_pixel, 0.10, "symbols a pixel");
    near(own.pixels, REAL.pixels, 0.12, "pixels");
    for (own, real) in own.pixels_at.into_iter().zip(REAL.pixels_at) {
        near(own, real, 0.25, "pixels at 10, 50, 90 %");
    }
    for (own, real, what) in [
        (own.long_side_500, REAL.long_side_500, "500 long"),
        (own.upright, REAL.upright, "upright"),
        (own.full_sampling, REAL.full_sampling, "4:4:4"),
        (own.quarter_sampling, REAL.quarter_sampling, "4:2:0"),
        (own.own_tables, REAL.own_tables, "own tables"),
    ] {
        assert!((own - real).abs() < 0.08, "share of {what}: {own:.3}, real {real:.3}");
    }
}

#[test]
fn the_figures_of_the_real_pictures_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/images/imagenet");
    if !folder.is_dir() {
        println!("skipped: there is no ../shared/data/images/imagenet");
        return;
    }

    let real = measure(&count_all(&folder));
    near(real.bits_per_pixel, REAL.bits_per_pixel, 1e-3, "bits a pixel");
    near(real.symbols_per_pixel, REAL.symbols_per_pixel, 1e-3, "symbols a pixel");
    near(real.pixels, REAL.pixels, 1e-3, "pixels");
    for (found, noted) in real.pixels_at.into_iter().zip(REAL.pixels_at) {
        near(found, noted, 0.01, "pixels at 10, 50, 90 %");
    }
    near(real.long_side_500, REAL.long_side_500, 1e-2, "500 long");
    near(real.upright, REAL.upright, 1e-2, "upright");
    near(real.full_sampling, REAL.full_sampling, 1e-2, "4:4:4");
    near(real.quarter_sampling, REAL.quarter_sampling, 1e-2, "4:2:0");
    near(real.own_tables, REAL.own_tables, 1e-2, "own tables");
}

/// These bytes may change only together with [`sample::VERSION`]: sets made before are kept
/// under its number. They are the same in every profile and on every machine.
#[test]
fn the_pictures_are_those_of_this_version() {
    let folder = Folder::new("golden");
    images(&set(&folder, 10, 0), &mut |_| {}).unwrap();
    // FNV-1a, 64 bits.
    let hash = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = files(&folder.0)
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, it| fs::read(it).unwrap().iter().fold(sum, hash));
    assert_eq!((sample::VERSION, format!("{sum:016x}").as_str()), (1, "2004598f15122d41"));
}

#[test]
fn a_set_broken_off_is_completed_and_a_complete_one_kept() {
    let folder = Folder::new("again");
    let wanted = set(&folder, 12, 5);
    let first = images(&wanted, &mut |_| {}).unwrap();
    assert_eq!((first.made, first.kept), (12, 0));
    let whole = contents(&folder.0);

    let mut seen = Vec::new();
    let again = images(&wanted, &mut |it| seen.push(it)).unwrap();
    assert_eq!((again, seen), (Summary { made: 0, kept: 12, bytes: 0 }, vec![12]));

    // As if it had been broken off: some pictures are there, the manifest is not.
    fs::rename(folder.0.join("sample-set.txt"), folder.0.join("sample-set.unfinished")).unwrap();
    for index in [1, 7, 11] {
        fs::remove_file(wanted.path(index)).unwrap();
    }
    let rest = images(&wanted, &mut |_| {}).unwrap();
    assert_eq!((rest.made, rest.kept), (3, 9));
    assert!(contents(&folder.0) == whole, "a completed set is another than one made at once");
}

#[test]
fn a_picture_depends_on_its_index_and_the_seed_alone() {
    let (few, many, other) = (Folder::new("few"), Folder::new("many"), Folder::new("other"));
    for (folder, count, seed) in [(&few, 3, 1), (&many, 11, 1), (&other, 11, 2)] {
        images(&set(folder, count, seed), &mut |_| {}).unwrap();
    }
    let picture = |folder, index| fs::read(set(folder, 11, 0).path(index)).unwrap();
    for index in 0..3 {
        assert!(picture(&few, index) == picture(&many, index), "picture {index}");
        assert!(picture(&other, index) != picture(&many, index), "picture {index} of two seeds");
    }
    let folders: Vec<_> = fs::read_dir(&many.0).unwrap().map(|it| it.unwrap().path()).collect();
    let n_classes = folders.iter().filter(|it| it.is_dir()).count();
    assert_eq!(n_classes, classes().len());
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = Folder::new("occupied");
    fs::write(folder.0.join("holiday.jpg"), "mine").unwrap();
    let error = images(&set(&folder, 2, 0), &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Occupied { .. }), "{error}");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);

    let folder = Folder::new("another");
    images(&set(&folder, 2, 0), &mut |_| {}).unwrap();
    let error = images(&set(&folder, 3, 0), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("count 2"), "{error}");
}

#[test]
fn parameters_out_of_range_are_told() {
    let wrong = |change: fn(&mut Images)| {
        let mut wanted = Images::new("nowhere".into());
        change(&mut wanted);
        images(&wanted, &mut |_| {}).unwrap_err().to_string()
    };
    assert_eq!(wrong(|it| it.count = 0), "expected 1 to 1000000 images, found 0");
    assert_eq!(wrong(|it| it.classes = 11), "expected 1 to 10 classes, found 11");
}

/// A new folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sample-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(folder: &Folder, count: u64, seed: u64) -> Images {
    Images { count, seed, ..Images::new(folder.0.clone()) }
}

/// All JPEGs below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().map(|it| it.to_ascii_lowercase());
        if path.is_dir() {
            found.extend(files(&path));
        } else if extension.is_some_and(|it| it == "jpg" || it == "jpeg") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(folder).into_iter().map(|it| (it.clone(), fs::read(it).unwrap())).collect()
}

fn count_all(folder: &Path) -> Vec<Counts> {
    let counted = |it: &PathBuf| count(&fs::read(it).unwrap());
    files(folder)
        .iter()
        .map(|it| counted(it).map_err(|error| format!("{it:?}: {error}")).unwrap())
        .collect()
}

fn measure(counts: &[Counts]) -> Real {
    let n = counts.len() as f64;
    let mean = |of: &dyn Fn(&Counts) -> f64| counts.iter().map(of).sum::<f64>() / n;
    let share = |of: fn(&Counts) -> bool| counts.iter().filter(|it| of(it)).count() as f64 / n;
    let area = |it: &Counts| (it.width * it.height) as f64;
    let mut pixels: Vec<f64> = counts.iter().map(area).collect();
    pixels.sort_by(f64::total_cmp);
    Real {
        bits_per_pixel: mean(&|it| it.bytes as f64 * 8.0 / area(it)),
        symbols_per_pixel: mean(&|it| it.symbols as f64 / area(it)),
        pixels: mean(&area),
        pixels_at: [0.1, 0.5, 0.9].map(|at| pixels[((n - 1.0) * at) as usize]),
        long_side_500: share(|it| it.width.max(it.height) == 500),
        upright: share(|it| it.height > it.width),
        full_sampling: share(|it| it.sampling == [0x11, 0x11, 0x11]),
        quarter_sampling: share(|it| it.sampling == [0x22, 0x11, 0x11]),
        own_tables: share(|it| it.own_tables),
    }
}

fn near(own: f64, real: f64, tolerance: f64, what: &str) {
    let off = own / real - 1.0;
    assert!(off.abs() <= tolerance, "{what}: {own:.4}, {real:.4} wanted, {:+.1} %", 100.0 * off);
}
