//! Annotations of COCO: a record does not depend on which others are read, whatever a file holds.

use super::{
    scratch::{Folder, split},
    tables::source,
};
use plan::{Applied, Arg, Graph, Library};
use runtime::{ChunkBuilder, Pool};

thread_local! {
    static FOLDER: Folder = Folder::new("boxes");
}

/// Pictures of a file that are looked at.
const PICTURES_MAX: u64 = 100;

/// Reads a file of annotations. The first byte says whether crowds are among them; the rest is the file.
pub(crate) fn coco(bytes: &[u8]) {
    let (way, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("annotations.json", file);
        let path = Arg::Text(path.to_string_lossy().into_owned());
        let args = [path, Arg::Bool(way & 1 == 0), Arg::None];
        let library: Library = stdlib::library();
        let entry = library.sources.iter().find(|it| it.name() == "coco").expect("it is a source");
        let graph = Graph::default();
        let applied = Applied { args: &args, graph: &graph, inputs: &[], names: &[], found: &[] };
        let fields =
            entry.fields.expect("its fields are known")(&applied).expect("it names a file");
        let source = source("coco", &args, &fields);
        let Ok(len) = source.len() else { return };
        let fetched = |numbers: &[u64]| {
            let mut out = ChunkBuilder::new(&fields, numbers.len(), 0, &Pool::default());
            source.fetch(numbers, &mut out).expect("it is read");
            let chunk = out.finish();
            let row = |row: usize| {
                let value = |it: &runtime::Column| {
                    let mut bytes = vec![0; it.row(row).bytes()];
                    it.row(row).copy_to(&mut bytes);
                    (it.row(row).shape().to_vec(), bytes)
                };
                (chunk.ids()[row], chunk.columns.iter().map(value).collect::<Vec<_>>())
            };
            (0..chunk.rows).map(row).collect::<Vec<_>>()
        };
        let numbers: Vec<u64> = (0..len.min(PICTURES_MAX)).collect();
        let mut all = fetched(&numbers);
        let one_by_one: Vec<_> = numbers.iter().rev().flat_map(|it| fetched(&[*it])).collect();
        all.reverse();
        assert_eq!(all, one_by_one);
    });
}

/// Files with what annotations can have.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let things = [
        r#"{"id": 1, "image_id": 4, "category_id": 9, "bbox": [1, 2.5, 3, 4], "area": 5.25, "iscrowd": 0, "segmentation": [[1, 2]]}"#,
        r#"{"id": 2, "image_id": 4, "category_id": 3, "bbox": [0, 0, 2e1, 30], "keypoints": [1, 2, 2, 3, 4, 1]}"#,
        r#"{"image_id": 7, "category_id": 3, "bbox": [0.1, 0, 1, 1], "iscrowd": 1, "segmentation": {"counts": [1]}}"#,
    ];
    let file = |things: &[&str]| {
        format!(
            "\0{{\"info\": {{}}, \"images\": [{}, {}], \"annotations\": [{}], \"categories\": [{{\"id\": 9}}, {{\"id\": 3}}]}}",
            r#"{"id": 4, "file_name": "a.jpg", "height": 30, "width": 20}"#,
            r#"{"id": 7, "file_name": "\u00fc.jpg", "height": 1, "width": 2}"#,
            things.join(", ")
        )
        .into_bytes()
    };
    vec![file(&things), file(&things[..1]), file(&[])]
}
