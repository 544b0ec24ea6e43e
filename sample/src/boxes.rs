//! Pictures with the boxes of what stands in them, in the form of COCO: `images/00007.jpg` and `annotations.json`.
//!
//! The boxes are those of the drawing, so they are exact. Pictures of landscapes have none.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::canvas::Area;
use crate::scene::{Kind, SCENES, Thing};
use crate::set::{Done, Error, Making, Summary, check_count, make, write_whole};
use crate::{Drawn, VERSION, drawn};

/// Pixels that a side of a box has at the least: smaller things are not annotated.
const SIDE_MIN: f32 = 4.0;
/// The names of the kinds; the id of a category is its place here, counted from 1.
pub(crate) const CATEGORIES: [(Kind, &str); 5] = [
    (Kind::Balloon, "balloon"),
    (Kind::Building, "building"),
    (Kind::Flower, "flower"),
    (Kind::Fruit, "fruit"),
    (Kind::Window, "window"),
];

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Boxes {
    /// Where the pictures and their annotations go; made if it is not there.
    pub folder: PathBuf,
    /// How many pictures, 1 to 1,000,000.
    pub count: u64,
    /// Which set: another seed gives other pictures with the same statistics.
    pub seed: u64,
}

/// What the annotations say of a picture.
pub(crate) struct Annotated {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// From back to front, whatever their size.
    pub(crate) things: Vec<Thing>,
}

impl Annotated {
    /// The kinds and boxes of the things that are annotated, and where each lies if nothing is clipped.
    pub(crate) fn large(&self) -> impl Iterator<Item = (Kind, Area, Area)> {
        let size = (self.width as f32, self.height as f32);
        let all = self.things.iter().map(move |it| (it.kind, clipped(it.area, size), it.area));
        all.filter(|(_, area, _)| {
            area.right - area.left >= SIDE_MIN && area.bottom - area.top >= SIDE_MIN
        })
    }
}

/// The place of a kind among the categories.
pub(crate) fn category(kind: Kind) -> usize {
    CATEGORIES.iter().position(|it| it.0 == kind).expect("each kind is a category")
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of pictures that are there, each time that it grows.
///
/// # Errors
/// The count is out of its range, the folder holds something else, or cannot be written to.
pub fn boxes(boxes: &Boxes, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check_count(boxes.count)?;
    let folder = boxes.folder.join("images");
    let annotated = Mutex::new(Vec::new());
    let job = |index: u64| {
        let path = folder.join(name(index));
        let Drawn { bytes, photo, things } =
            drawn(boxes.seed, index, (index % SCENES.len() as u64) as usize).map_err(|error| {
                Error::Io { path: path.clone(), source: io::Error::other(error) }
            })?;
        let found = Annotated { width: photo.width, height: photo.height, things };
        annotated.lock().unwrap_or_else(PoisonError::into_inner).push((index, found));
        if path.exists() {
            return Ok(Done { pictures: 1, bytes: None });
        }
        write_whole(&path, &bytes)?;
        Ok(Done { pictures: 1, bytes: Some(bytes.len() as u64) })
    };
    let finish = &mut || {
        let mut all = annotated.lock().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|it| it.0);
        write_whole(&boxes.folder.join("annotations.json"), annotations(&all).as_bytes())
    };
    make(Making {
        folder: &boxes.folder,
        folders: std::slice::from_ref(&folder),
        manifest: &manifest(boxes),
        n_jobs: boxes.count,
        n_pictures: boxes.count,
        job: &job,
        finish,
        progress,
    })
}

/// The text of the manifest: what the bytes depend on.
pub(crate) fn manifest(Boxes { count, seed, .. }: &Boxes) -> String {
    format!("sample boxes\nversion {VERSION}\nseed {seed}\ncount {count}\n")
}

pub(crate) fn name(index: u64) -> String {
    format!("{index:05}.jpg")
}

/// The file, as `instances_train2017.json` of COCO is.
pub(crate) fn annotations(all: &[(u64, Annotated)]) -> String {
    let (mut images, mut annotations) = (Vec::new(), Vec::new());
    for (index, annotated) in all {
        let (file, Annotated { width, height, .. }) = (name(*index), annotated);
        images.push(format!(
            "{{\"id\": {index}, \"file_name\": \"{file}\", \"width\": {width}, \"height\": {height}}}"
        ));
        for (kind, area, _) in annotated.large() {
            annotations.push(annotation(annotations.len() + 1, *index, kind, area));
        }
    }
    let categories = CATEGORIES.iter().enumerate().map(|(place, (_, name))| {
        format!("{{\"id\": {}, \"name\": \"{name}\", \"supercategory\": \"thing\"}}", place + 1)
    });
    let categories: Vec<_> = categories.collect();
    format!(
        "{{\"info\": {{\"description\": \"pictures generated by pipec\"}},\n\"images\": [\n{}\n],\n\"annotations\": \
         [\n{}\n],\n\"categories\": [\n{}\n]}}\n",
        images.join(",\n"),
        annotations.join(",\n"),
        categories.join(",\n")
    )
}

fn annotation(id: usize, image: u64, kind: Kind, area: Area) -> String {
    let category = category(kind) + 1;
    let Area { left, top, right, bottom } = area;
    let (width, height) = (right - left, bottom - top);
    let outline = written(&outline(kind, area));
    format!(
        "{{\"id\": {id}, \"image_id\": {image}, \"category_id\": {category}, \"bbox\": [{left:.2}, {top:.2}, {width:.2}, \
         {height:.2}], \"area\": {:.2}, \"iscrowd\": 0, \"segmentation\": [[{outline}]]}}",
        width * height
    )
}

fn clipped(area: Area, (width, height): (f32, f32)) -> Area {
    Area {
        left: area.left.clamp(0.0, width),
        top: area.top.clamp(0.0, height),
        right: area.right.clamp(0.0, width),
        bottom: area.bottom.clamp(0.0, height),
    }
}

/// The corners of a polygon around a thing: sixteen of what is round, else those of its box.
pub(crate) fn outline(kind: Kind, Area { left, top, right, bottom }: Area) -> Vec<(f32, f32)> {
    match kind {
        Kind::Building | Kind::Window => {
            vec![(left, top), (right, top), (right, bottom), (left, bottom)]
        }
        Kind::Balloon | Kind::Flower | Kind::Fruit => (0..16)
            .map(|it| {
                let (sine, cosine) = libm::sincosf(it as f32 / 16.0 * std::f32::consts::TAU);
                let middle = |low: f32, high: f32, at: f32| (low + high + at * (high - low)) / 2.0;
                (middle(left, right, cosine), middle(top, bottom, sine))
            })
            .collect(),
    }
}

/// The coordinates of a polygon.
fn written(corners: &[(f32, f32)]) -> String {
    let mut text = String::new();
    for (x, y) in corners {
        let comma = if text.is_empty() { "" } else { ", " };
        _ = write!(text, "{comma}{x:.2}, {y:.2}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_lie_in_their_pictures() {
        let annotated = |index: u64| {
            let found = drawn(3, index, (index % SCENES.len() as u64) as usize).unwrap();
            let (width, height) = (found.photo.width, found.photo.height);
            (index, Annotated { width, height, things: found.things })
        };
        let all: Vec<_> = (0..10).map(annotated).collect();
        // Balloons, a city, a flower and fruit have things in them; a desert has none.
        for (index, has) in [(0, true), (2, true), (3, false), (4, true), (6, true), (9, false)] {
            assert_eq!(!all[index].1.things.is_empty(), has, "picture {index}");
        }
        for (_, Annotated { width, height, things }) in &all {
            let size = (*width as f32, *height as f32);
            for area in things.iter().map(|it| clipped(it.area, size)) {
                assert!(0.0 <= area.left && area.left <= area.right && area.right <= size.0);
                assert!(0.0 <= area.top && area.top <= area.bottom && area.bottom <= size.1);
            }
        }
        let text = annotations(&all);
        assert_eq!(text.matches("\"file_name\"").count(), 10);
        assert!(text.contains("{\"id\": 3, \"name\": \"flower\""), "{text}");
    }

    #[test]
    fn categories_are_all_kinds_in_order() {
        assert!(CATEGORIES.is_sorted_by_key(|it| it.0) && CATEGORIES.is_sorted_by_key(|it| it.1));
        assert_eq!(CATEGORIES.len(), Kind::Window as usize + 1);
    }
}
