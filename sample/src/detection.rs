//! Pictures with all that detectors and segmenters are trained on, in the forms that are common: `images/00007.jpg`,
//! `annotations.json` (COCO), `labels/00007.txt` (YOLO) and `masks/00007.png` (Pascal VOC).
//!
//! Pictures and boxes are those of [`crate::boxes()`]. The polygons of the annotations lie on what is drawn, and the maps
//! are filled from the same polygons, so that all of them fit each other.

use std::fmt::Write;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use flate2::{Compression, Crc, write::ZlibEncoder};

use crate::boxes::{Annotated, CATEGORIES, annotations, category, name, outline};
use crate::canvas::hsv;
use crate::scene::SCENES;
use crate::set::{Done, Error, Making, Summary, check_count, make, write_whole};
use crate::{Drawn, VERSION, drawn};

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Detection {
    /// Where the pictures and their annotations go; made if it is not there.
    pub folder: PathBuf,
    /// How many pictures, 1 to 1,000,000.
    pub count: u64,
    /// Which set: another seed gives other pictures with the same statistics.
    pub seed: u64,
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of pictures that are there, each time that it grows.
///
/// # Errors
/// The count is out of its range, the folder holds something else, or cannot be written to.
pub fn detection(set: &Detection, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check_count(set.count)?;
    let folders = ["images", "labels", "masks"].map(|it| set.folder.join(it));
    let annotated = Mutex::new(Vec::new());
    let job = |index: u64| {
        let path = folders[0].join(name(index));
        let class = (index % SCENES.len() as u64) as usize;
        let Drawn { bytes, photo, things } = drawn(set.seed, index, class)
            .map_err(|error| Error::Io { path: path.clone(), source: io::Error::other(error) })?;
        let found = Annotated { width: photo.width, height: photo.height, things };
        let labels = labels(&found);
        let map = map_of(&found);
        annotated.lock().unwrap_or_else(PoisonError::into_inner).push((index, found));
        if path.exists() {
            return Ok(Done { pictures: 1, bytes: None });
        }
        // The picture last: where it is there, so is what belongs to it.
        write_whole(&folders[1].join(format!("{index:05}.txt")), labels.as_bytes())?;
        write_whole(&folders[2].join(format!("{index:05}.png")), &map)?;
        write_whole(&path, &bytes)?;
        let bytes = bytes.len() + labels.len() + map.len();
        Ok(Done { pictures: 1, bytes: Some(bytes as u64) })
    };
    let finish = &mut || {
        let mut all = annotated.lock().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|it| it.0);
        write_whole(&set.folder.join("annotations.json"), annotations(&all).as_bytes())
    };
    make(Making {
        folder: &set.folder,
        folders: &folders,
        manifest: &manifest(set),
        n_jobs: set.count,
        n_pictures: set.count,
        job: &job,
        finish,
        progress,
    })
}

/// The text of the manifest: what the bytes depend on.
pub(crate) fn manifest(Detection { count, seed, .. }: &Detection) -> String {
    format!("sample detection\nversion {VERSION}\nseed {seed}\ncount {count}\n")
}

/// A line for each box: the class from 0, then centre, width and height as fractions of the picture.
fn labels(annotated: &Annotated) -> String {
    let (width, height) = (annotated.width as f32, annotated.height as f32);
    let mut text = String::new();
    for (kind, area, _) in annotated.large() {
        let (x, y) =
            ((area.left + area.right) / 2.0 / width, (area.top + area.bottom) / 2.0 / height);
        let (w, h) = ((area.right - area.left) / width, (area.bottom - area.top) / height);
        _ = writeln!(text, "{} {x:.6} {y:.6} {w:.6} {h:.6}", category(kind));
    }
    text
}

/// A PNG with the class of each pixel as the index of its colour: 0 is the background, and each category its id.
fn map_of(annotated: &Annotated) -> Vec<u8> {
    let (width, height) = (annotated.width, annotated.height);
    let mut classes = vec![0; width * height];
    for (kind, area, _) in annotated.large() {
        fill(&outline(kind, area), (category(kind) + 1) as u8, (&mut classes, width));
    }
    png(&classes, width, height)
}

/// Gives the pixels whose centre lies in a polygon a class; what is in front is drawn last.
fn fill(polygon: &[(f32, f32)], class: u8, (classes, width): (&mut [u8], usize)) {
    let ends = polygon.iter().cycle().skip(1);
    for (row, pixels) in classes.chunks_exact_mut(width).enumerate() {
        let y = row as f32 + 0.5;
        let crossing = |(a, b): (&(f32, f32), &(f32, f32))| {
            let is_crossed = (a.1 <= y) != (b.1 <= y);
            is_crossed.then(|| a.0 + (y - a.1) / (b.1 - a.1) * (b.0 - a.0))
        };
        let mut crossings: Vec<f32> =
            polygon.iter().zip(ends.clone()).filter_map(crossing).collect();
        crossings.sort_by(f32::total_cmp);
        for inside in crossings.as_chunks::<2>().0 {
            let [from, to] =
                inside.map(|it| libm::ceilf(it - 0.5).clamp(0.0, width as f32) as usize);
            pixels[from..to.max(from)].fill(class);
        }
    }
}

/// Writes indices with a palette (PNG, third edition: 8 bits, colour type 3, no filter).
fn png(indices: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let sides = [width, height].map(|it| (it as u32).to_be_bytes());
    chunk(b"IHDR", &[sides.as_flattened(), &[8, 3, 0, 0, 0]].concat(), &mut file);
    let colour = |class: usize| match class {
        0 => [0; 3],
        _ => {
            hsv((class - 1) as f32 / CATEGORIES.len() as f32, 0.8, 0.9).map(|it| (255.0 * it) as u8)
        }
    };
    let palette: Vec<u8> = (0..=CATEGORIES.len()).flat_map(colour).collect();
    chunk(b"PLTE", &palette, &mut file);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    let rows = indices.chunks_exact(width).try_for_each(|row| {
        packed.write_all(&[0])?;
        packed.write_all(row)
    });
    let packed = rows.and_then(|()| packed.finish()).expect("memory takes all that is written");
    chunk(b"IDAT", &packed, &mut file);
    chunk(b"IEND", &[], &mut file);
    file
}

fn chunk(name: &[u8; 4], contents: &[u8], file: &mut Vec<u8>) {
    file.extend((contents.len() as u32).to_be_bytes());
    let mut crc = Crc::new();
    for part in [name, contents] {
        crc.update(part);
        file.extend(part);
    }
    file.extend(crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::Area;
    use crate::scene::{Kind, Thing};

    fn annotated() -> Annotated {
        let area = |left, top, right, bottom| Area { left, top, right, bottom };
        let things = vec![
            Thing { kind: Kind::Building, area: area(1.0, -3.0, 7.0, 9.0) },
            Thing { kind: Kind::Window, area: area(2.0, 2.0, 6.0, 6.0) },
            Thing { kind: Kind::Window, area: area(0.0, 0.0, 3.0, 3.0) },
        ];
        Annotated { width: 10, height: 8, things }
    }

    #[test]
    fn labels_are_fractions_of_the_picture() {
        // The building is clipped, and a window of three pixels is too small.
        let expected =
            "1 0.400000 0.500000 0.600000 1.000000\n4 0.400000 0.500000 0.400000 0.500000\n";
        assert_eq!(labels(&annotated()), expected);
    }

    #[test]
    fn what_is_in_front_hides_what_is_behind() {
        let mut classes = vec![0; 80];
        for (kind, area, _) in annotated().large() {
            fill(&outline(kind, area), (category(kind) + 1) as u8, (&mut classes, 10));
        }
        let rows: Vec<String> =
            classes.chunks(10).map(|it| it.iter().map(ToString::to_string).collect()).collect();
        let (around, through) = ("0222222000", "0255552000");
        assert_eq!(rows, [around, around, through, through, through, through, around, around]);
    }

    #[test]
    fn round_things_are_filled_round() {
        let mut classes = vec![0; 400];
        let area = Area { left: 0.0, top: 0.0, right: 20.0, bottom: 20.0 };
        fill(&outline(Kind::Fruit, area), 4, (&mut classes, 20));
        // The polygon of sixteen corners covers 0.974 of the circle.
        let filled = classes.iter().filter(|it| **it == 4).count() as f32;
        assert!((filled - 0.974 * 314.16).abs() < 12.0, "{filled}");
    }
}
