//! Documents of a corpus: what is read of a file does not depend on the way it is read, whatever its format.

use super::{
    scratch::{Folder, split},
    tables::{read, source},
};
use plan::{Arg, DType, Field, Type};
use runtime::{ChunkBuilder, Pool, Source};

thread_local! {
    static FOLDER: Folder = Folder::new("corpus");
}

/// Reads a file of a corpus. The first byte says of which kind, and how damage is met; the rest is the file.
pub(crate) fn documents(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let extension = ["jsonl", "csv", "txt", "parquet"][usize::from(way & 3)];
    let (faults, more) = (way & 4 == 0, way & 8 == 0 && extension != "txt");
    FOLDER.with(|folder| {
        let path = folder.write(&format!("a.{extension}"), file);
        let mut args = vec![
            Arg::Text(path.to_string_lossy().into_owned()),
            Arg::Text("text".to_owned()),
            if more { Arg::Text("name".to_owned()) } else { Arg::None },
            Arg::None,
            Arg::Bool(faults),
        ];
        let field = |name: &str| Field { name: name.to_owned(), ty: Type::scalar(DType::Str) };
        let mut fields = vec![field("text")];
        fields.extend(more.then(|| field("name")));
        fields.extend(faults.then(|| field("row.fault")));
        let documents = source("documents", &args, &fields);
        if matches!(extension, "jsonl" | "csv") {
            let _ = read(&*documents, &fields);
        } else {
            by_number(&*documents, &fields);
        }
        // Beside a file of another kind, its records are the same.
        let beside = folder.write("b.text", b"a text");
        args[0] =
            Arg::List(vec![args[0].clone(), Arg::Text(beside.to_string_lossy().into_owned())]);
        if !more {
            by_number(&*source("documents", &args, &fields), &fields);
        }
    });
}

/// Records in order are those by number.
fn by_number(documents: &dyn Source, fields: &[Field]) {
    let builder = |n| ChunkBuilder::new(fields, n, 0, &Pool::default());
    let Ok(n @ 0..1_000) = documents.len() else { return };
    let mut in_order = builder(n as usize);
    let mut stream = documents.stream().expect("documents are read in order");
    if stream.next(n as usize, &mut in_order).is_err() {
        return;
    }
    let mut fetched = builder(n as usize);
    let numbers: Vec<u64> = (0..n).collect();
    documents.fetch(&numbers, &mut fetched).expect("they were read in order");
    let (a, b) = (in_order.finish(), fetched.finish());
    assert_eq!((a.rows as u64, a.ids()), (n, b.ids()));
    for ((a, b), field) in a.columns.iter().zip(&b.columns).zip(fields) {
        for row in 0..n as usize {
            let (a, b) = (a.row(row).as_text(), b.row(row).as_text());
            // How a library words what is wrong depends on where it meets it.
            let is_fault = field.name == "row.fault" && !a.is_empty() && !b.is_empty();
            assert!(is_fault || a == b, "row {row}: {a:?} and {b:?}");
        }
    }
}

/// Files of a corpus, with what they can have.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let lines = "{\"text\": \"a\", \"name\": \"b\"}\n{\"name\": 3.5, \"text\": \"\u{fc}\\n\"}\n{\"text\": null}\n[1]\n";
    let table = "name,text\nb,\"a, \"\"b\"\"\nc\"\nd,\n,e,f\n";
    let rows = include_bytes!("../../../../stdlib/src/tables/goldens/none-1.parquet");
    let mut all = Vec::new();
    for way in [0, 4, 8, 12] {
        all.push([&[way], lines.as_bytes()].concat());
        all.push([&[way | 1], table.as_bytes()].concat());
        all.push([&[way | 2], lines.as_bytes()].concat());
        all.push([&[way | 3], rows.as_slice()].concat());
    }
    all
}
