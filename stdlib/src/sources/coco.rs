//! `coco`: one record for each picture of a file of annotations as COCO has them.

use super::listed::Listed;
use crate::prelude::*;
use runtime::{Fingerprint, Source, SourceCall, Working, mix, storage};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
    path::Path,
    sync::{Arc, OnceLock},
};

source! {
    /// Reads the annotations of a detection data set in COCO's format: one record per image.
    ///
    /// Records come in the order of the file's `images`, including images without annotations, which have no rows.
    /// `file` is the image's `file_name`; `join` pairs the records with the image files. `boxes` are `x0, y0, x1, y1` in
    /// pixels (COCO writes `x, y, width, height`). `label` counts the categories from 0, in the order of their ids, so
    /// that the 80 categories of COCO are 0 to 79. `area` is the annotation's, or that of its box if it has none.
    /// `outlines` is the JSON list of `segmentation`s. `points` are the key points, `x, y, visibility`, and has no rows
    /// for an image none of whose annotations have some. Annotations keep the order of the file, as in pycocotools.
    ///
    /// Annotations with `iscrowd: 1` are left out unless `crowd: true`. Annotations of images that the file does not list
    /// are left out as well.
    ///
    /// The file is read when the first record is needed, and its fields that are used are kept in memory. It may have
    /// several parts (`"instances_*.json"`), which must have the same categories.
    ///
    /// For `lanes`, see `range`.
    ///
    /// ```pipe no_run
    /// files("coco/train2017/*.jpg")
    ///     |> with { file: name_of(path) }
    ///     |> join(coco("coco/annotations/instances_train2017.json"), on: file, missing: skip)
    ///     |> where len(label) > 0
    ///     |> shuffle
    /// ```
    "coco(annotations: text, crowd: bool = false, lanes: int = none) -> stream",
    cost: Cost::out(60.0, 0.1),    // Assumed: a copy of a few rows.
    properties: &[Property::Indexed, Property::ReadsFiles],
    fields: Some(fields),
}

/// Bytes of a file, at the most: those of COCO's largest are 0.5 GB.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// Bytes that are read at a time.
const BLOCK: usize = 1 << 18;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    let any = |dtype, extents: &[Extent]| Type::Tensor { dtype, shape: extents.to_vec() };
    let (n, known) = (Extent::Unknown, Extent::Known);
    let fields = [
        ("id", Type::scalar(DType::I64)),
        ("file", Type::scalar(DType::Str)),
        ("height", Type::scalar(DType::I64)),
        ("width", Type::scalar(DType::I64)),
        ("boxes", any(DType::F32, &[n.clone(), known(4)])),
        ("label", any(DType::I64, std::slice::from_ref(&n))),
        ("area", any(DType::F32, std::slice::from_ref(&n))),
        ("outlines", Type::Untyped(Untyped::Json)),
        ("points", any(DType::F32, &[n.clone(), n, known(3)])),
    ];
    Ok(fields.into_iter().map(|(name, ty)| Field { name: name.to_owned(), ty }).collect())
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let names = call.columns.iter().map(|it| it.name.clone()).collect();
    let crowd = call.args[1] == Arg::Bool(true);
    Ok(Arc::new(Coco { listed, names, crowd, place: call.place, pictures: OnceLock::new() }))
}

struct Coco {
    listed: Listed,
    /// The fields that are needed.
    names: Vec<String>,
    crowd: bool,
    place: u64,
    pictures: OnceLock<Result<Pictures, Failure>>,
}

/// The pictures of all files, with their annotations.
#[derive(Default)]
struct Pictures {
    all: Vec<Picture>,
    /// Their places by their ids.
    places: BTreeMap<i64, usize>,
    _memory: Vec<Working>,
}

struct Picture {
    id: i64,
    file: Box<str>,
    height: i64,
    width: i64,
    things: Vec<Thing>,
}

/// What an annotation says.
struct Thing {
    corners: [f32; 4],
    label: i64,
    area: f32,
    outline: Option<Box<RawValue>>,
    points: Vec<f32>,
}

/// A file, as far as it is looked at. Where the outlines are not needed, `O` is nothing.
#[derive(Deserialize)]
#[serde(bound = "O: DeserializeOwned")]
struct File<O> {
    images: Vec<Image>,
    annotations: Vec<Annotation<O>>,
    categories: Option<Vec<Category>>,
}

#[derive(Deserialize)]
struct Image {
    id: i64,
    file_name: Box<str>,
    height: i64,
    width: i64,
}

#[derive(Deserialize)]
#[serde(bound = "O: DeserializeOwned")]
struct Annotation<O> {
    #[serde(default)]
    id: i64,
    image_id: i64,
    category_id: Option<i64>,
    bbox: Option<[f64; 4]>,
    area: Option<f64>,
    #[serde(default)]
    iscrowd: u8,
    segmentation: Option<O>,
    #[serde(default)]
    keypoints: Vec<f32>,
}

#[derive(Deserialize)]
struct Category {
    id: i64,
}

/// What an outline is kept as.
trait Outline: DeserializeOwned {
    fn kept(self) -> Option<Box<RawValue>>;
}

impl Outline for Box<RawValue> {
    fn kept(self) -> Option<Box<RawValue>> {
        Some(self)
    }
}

impl Outline for IgnoredAny {
    fn kept(self) -> Option<Box<RawValue>> {
        None
    }
}

impl Coco {
    fn pictures(&self) -> Result<&Pictures, Failure> {
        let read = || {
            let (mut pictures, found) = (Pictures::default(), self.listed.found()?);
            let mut labels = None;
            for number in 0..found.listing.len() {
                let path = found.path(number);
                if self.names.iter().any(|it| it == "outlines") {
                    self.add::<Box<RawValue>>(&path, &mut pictures, &mut labels)?;
                } else {
                    self.add::<IgnoredAny>(&path, &mut pictures, &mut labels)?;
                }
            }
            Ok(pictures)
        };
        self.pictures.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// Adds the pictures of a file; `labels` are those of the files before it.
    fn add<O: Outline>(
        &self,
        path: &Path,
        to: &mut Pictures,
        labels: &mut Option<BTreeMap<i64, i64>>,
    ) -> Result<(), Failure> {
        let wrong = |detail: String| Failure::Io { path: path.display().to_string(), detail };
        let file: File<O> = read(path, &wrong)?;
        let categories: BTreeSet<i64> =
            file.categories.iter().flatten().map(|category| category.id).collect();
        let own: BTreeMap<i64, i64> = categories.into_iter().zip(0..).collect();
        if labels.as_ref().is_some_and(|it| *it != own) {
            return Err(wrong("its categories are not those of the files before it".to_owned()));
        }
        let labels = labels.insert(own);

        let first = to.all.len();
        for Image { id, file_name, height, width } in file.images {
            if to.places.insert(id, to.all.len()).is_some() {
                return Err(wrong(format!("a second image has the id {id}")));
            }
            let picture = Picture { id, file: file_name, height, width, things: Vec::new() };
            to.all.push(picture);
        }
        for annotation in file.annotations {
            let Some(&place) = to.places.get(&annotation.image_id) else { continue };
            if annotation.iscrowd != 0 && !self.crowd {
                continue;
            }
            let number = annotation.id;
            let thing = thing(annotation, labels)
                .map_err(|why| wrong(format!("annotation {number} {why}")))?;
            to.all[place].things.push(thing);
        }
        let bytes = to.all[first..].iter().map(Picture::bytes).sum();
        to._memory.push(Working::of(bytes));
        Ok(())
    }
}

/// The contents of a file.
fn read<O: Outline>(path: &Path, wrong: &impl Fn(String) -> Failure) -> Result<File<O>, Failure> {
    let unreadable = |it: io::Error| wrong(format!("cannot be read: {it}"));
    let object = storage::of(path).open(path, &mut || ()).map_err(unreadable)?;
    let bytes = object.stat().map_err(unreadable)?.bytes;
    if bytes > FILE_BYTES_MAX {
        return Err(wrong(format!(
            "it has {bytes} bytes, but a file of annotations may have {FILE_BYTES_MAX}: split it by images"
        )));
    }
    let _memory = Working::of(bytes as usize / 2);
    let reader = io::BufReader::with_capacity(BLOCK, InOrder(object));
    serde_json::from_reader(reader).map_err(|why| match why.is_io() {
        true => wrong(format!("cannot be read: {why}")),
        false => wrong(format!(
            "{why}: expected annotations as COCO has them, `{{ \"images\": […], \"annotations\": […], \"categories\": \
             […] }}`"
        )),
    })
}

/// An object from its begin to its end.
struct InOrder(Box<dyn storage::Object>);

impl Read for InOrder {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read_on(room)
    }
}

fn thing<O: Outline>(
    annotation: Annotation<O>,
    labels: &BTreeMap<i64, i64>,
) -> Result<Thing, String> {
    let Annotation { category_id, bbox, area, segmentation, keypoints, .. } = annotation;
    let Some([x, y, width, height]) = bbox else {
        return Err("has no `bbox`: `coco` reads files of instances and of key points".to_owned());
    };
    let category = category_id.ok_or("has no `category_id`")?;
    let label = labels.get(&category).ok_or_else(|| {
        format!("is of the category {category}, which is not among the file's `categories`")
    })?;
    if !keypoints.len().is_multiple_of(3) {
        return Err(format!("has {} numbers as `keypoints`, no triples", keypoints.len()));
    }
    Ok(Thing {
        corners: [x, y, x + width, y + height].map(|it| it as f32),
        label: *label,
        area: area.unwrap_or(width * height) as f32,
        outline: segmentation.and_then(Outline::kept),
        points: keypoints,
    })
}

impl Picture {
    fn bytes(&self) -> usize {
        let more = |it: &Thing| {
            let outline = it.outline.as_ref().map_or(0, |it| it.get().len());
            size_of::<Thing>() + outline + it.points.len() * size_of::<f32>()
        };
        size_of::<Self>() + self.file.len() + self.things.iter().map(more).sum::<usize>()
    }

    /// Appends one of its fields.
    fn append(&self, name: &str, to: &mut runtime::Builder) {
        let things = &self.things;
        match name {
            "id" => to.push_scalar(self.id),
            "file" => to.push_text(self.file.as_bytes()),
            "height" => to.push_scalar(self.height),
            "width" => to.push_scalar(self.width),
            "boxes" => {
                let all: Vec<f32> = things.iter().flat_map(|it| it.corners).collect();
                to.push(&Tensor::new(&[things.len(), 4], &all));
            }
            "label" => {
                let all: Vec<i64> = things.iter().map(|it| it.label).collect();
                to.push(&Tensor::new(&[things.len()], &all));
            }
            "area" => {
                let all: Vec<f32> = things.iter().map(|it| it.area).collect();
                to.push(&Tensor::new(&[things.len()], &all));
            }
            "points" => self.append_points(to),
            _ => {
                let outlines = things.iter().map(|it| it.outline.as_deref());
                let all: Vec<&str> = outlines.map(|it| it.map_or("null", RawValue::get)).collect();
                to.push_text(format!("[{}]", all.join(", ")).as_bytes());
            }
        }
    }

    /// As many for each as one of them has at the most.
    fn append_points(&self, to: &mut runtime::Builder) {
        let numbers = self.things.iter().map(|it| it.points.len()).max().unwrap_or(0);
        let n = if numbers == 0 { 0 } else { self.things.len() };
        let mut all = vec![0_f32; n * numbers];
        if numbers > 0 {
            for (to, thing) in all.chunks_mut(numbers).zip(&self.things) {
                to[..thing.points.len()].copy_from_slice(&thing.points);
            }
        }
        to.push(&Tensor::new(&[n, numbers / 3, 3], &all));
    }
}

impl Source for Coco {
    fn len(&self) -> Result<u64, Failure> {
        Ok(self.pictures()?.all.len() as u64)
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let pictures = self.pictures()?;
        for &number in numbers {
            let picture = &pictures.all[number as usize];
            out.ids.push_scalar(mix(self.place, picture.id as u64));
            for (name, to) in self.names.iter().zip(&mut out.columns) {
                picture.append(name, to);
            }
        }
        Ok(())
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.listed.fingerprint().map(Some)
    }

    fn contents(&self) -> Result<Option<u128>, Failure> {
        self.listed.contents().map(Some)
    }

    fn waits(&self) -> bool {
        true
    }

    fn describe(&self, number: u64) -> String {
        let picture = self.pictures().ok().and_then(|it| it.all.get(number as usize));
        picture.map_or_else(
            || format!("image {number}"),
            |it| format!("image {} (`{}`)", it.id, it.file),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;

    const FILE: &str = r#"{
        "info": { "year": 2026 },
        "images": [
            { "id": 9, "file_name": "b.jpg", "height": 40, "width": 60, "license": 3 },
            { "id": 4, "file_name": "a.jpg", "height": 30, "width": 20 },
            { "id": 7, "file_name": "c.jpg", "height": 10, "width": 10 }
        ],
        "annotations": [
            { "id": 1, "image_id": 4, "category_id": 90, "bbox": [1, 2.5, 3, 4], "area": 5.25, "iscrowd": 0,
              "segmentation": [[1, 2, 3.50, 4]] },
            { "id": 2, "image_id": 9, "category_id": 3, "bbox": [0.1, 0.2, 0.3, 0.4], "area": 1, "iscrowd": 1,
              "segmentation": { "counts": [1, 2], "size": [40, 60] } },
            { "id": 3, "image_id": 4, "category_id": 3, "bbox": [0, 0, 20, 30],
              "keypoints": [1, 2, 2, 3, 4, 1] },
            { "id": 4, "image_id": 1000, "category_id": 3, "bbox": [0, 0, 1, 1] }
        ],
        "categories": [{ "id": 90, "name": "cat" }, { "id": 3, "name": "dog" }]
    }"#;

    fn opened(folder: &Folder, crowd: bool) -> (Arc<dyn Source>, Vec<Field>) {
        let args = [folder.pattern("*.json"), Arg::Bool(crowd), Arg::None];
        let graph = plan::Graph::default();
        let applied = Applied { args: &args, graph: &graph, inputs: &[], names: &[], found: &[] };
        let fields = fields(&applied).unwrap();
        (build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap(), fields)
    }

    /// What each field of a record is, as a person would write it.
    fn rows(chunk: &Chunk) -> Vec<String> {
        let value = |it: &runtime::Column, row: usize| {
            let row = it.row(row);
            let n = row.elements();
            match it.dtype() {
                it if it.is_text() => row.as_str().to_owned(),
                _ => {
                    let flat = row.reshaped(&[n]).unwrap();
                    let all: Vec<_> = (0..n).map(|it| flat.element(it).number()).collect();
                    format!("{:?}{all:?}", row.shape())
                }
            }
        };
        let row = |row| chunk.columns.iter().map(|it| value(it, row)).collect::<Vec<_>>().join(" ");
        (0..chunk.rows).map(row).collect()
    }

    #[test]
    fn a_picture_is_a_record() {
        let folder = Folder::new("coco", &[("a.json", FILE)]);
        let (source, fields) = opened(&folder, false);
        assert_eq!(source.len(), Ok(3));
        let chunk = fetched(&*source, &fields, &[1, 0]).unwrap();
        assert_eq!(
            rows(&chunk),
            [
                "[][4.0] a.jpg [][30.0] [][20.0] [2, 4][1.0, 2.5, 4.0, 6.5, 0.0, 0.0, 20.0, 30.0] [2][1.0, 0.0] \
                 [2][5.25, 600.0] [[[1, 2, 3.50, 4]], null] \
                 [2, 2, 3][0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 1.0]",
                "[][9.0] b.jpg [][40.0] [][60.0] [0, 4][] [0][] [0][] [] [0, 0, 3][]",
            ]
        );
        assert_eq!(chunk.ids(), [mix(7, 4), mix(7, 9)]);
        assert_eq!(source.describe(2), "image 7 (`c.jpg`)");
    }

    #[test]
    fn crowds_are_there_where_they_are_asked_for() {
        let folder = Folder::new("coco-crowd", &[("a.json", FILE)]);
        let (source, fields) = opened(&folder, true);
        let found = rows(&fetched(&*source, &fields, &[0]).unwrap()).concat();
        // To `f32` once: 0.1 + 0.3 is 0.4 there.
        let (corners, outline) =
            ([0.1_f32, 0.2, 0.4, 0.6].map(f64::from), r#"{ "counts": [1, 2], "size": [40, 60] }"#);
        let all = format!("[1, 4]{corners:?} [1][0.0] [1][1.0] [{outline}] [0, 0, 3][]");
        assert!(found.ends_with(&all), "{found}");
    }

    #[test]
    fn files_that_are_no_annotations_are_named() {
        let changed = |from: &str, to: &str| FILE.replacen(from, to, 1);
        for (text, why) in [
            (changed("\"id\": 4,", "\"id\": 9,"), "a second image has the id 9"),
            (
                changed("\"category_id\": 90", "\"category_id\": 5"),
                "annotation 1 is of the category 5",
            ),
            (changed("\"bbox\": [1, 2.5, 3, 4],", ""), "annotation 1 has no `bbox`"),
            (changed("[1, 2, 2, 3, 4, 1]", "[1, 2]"), "annotation 3 has 2 numbers as `keypoints`"),
            (changed("2.5", "x"), "expected value at line 9"),
            (FILE[..400].to_owned(), "EOF while parsing"),
            ("[1, 2]".to_owned(), "expected annotations as COCO has them"),
            (String::new(), "EOF while parsing"),
        ] {
            let folder = Folder::new("coco-bad", &[("a.json", &text)]);
            let (source, _) = opened(&folder, false);
            let said = source.len().unwrap_err().to_string();
            assert!(said.contains("a.json`: ") && said.contains(why), "{said}");
        }
    }

    #[test]
    fn files_of_one_set_have_the_same_categories() {
        let other =
            FILE.replace("\"id\": 90, \"name\"", "\"id\": 91, \"name\"").replace(": 90,", ": 91,");
        let more = FILE.replace("\"id\": 4,", "\"id\": 40,").replace("\"id\": 9,", "\"id\": 90,");
        let more = more.replace("\"id\": 7,", "\"id\": 70,");
        let folder = Folder::new("coco-two", &[("a.json", FILE), ("b.json", &more)]);
        assert_eq!(opened(&folder, false).0.len(), Ok(6));
        std::fs::write(folder.path("b.json"), other).unwrap();
        let said = opened(&folder, false).0.len().unwrap_err().to_string();
        assert!(said.contains("b.json`: its categories are not those"), "{said}");
    }
}
