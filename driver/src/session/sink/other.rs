//! Names that ask for a file format which is not written: better refused than made folders of `.npy` files without a
//! word.

use std::path::Path;

/// Extensions of data files that people name where an output is asked for, and what each one is.
///
/// A name with any other extension is that of a folder: `run.v2`, `imagenet-0.1`.
const FORMATS: [(&str, &[&str]); 17] = [
    ("Parquet", &["parquet", "pq"]),
    ("TFRecord", &["tfrecord", "tfrecords", "tfrec"]),
    ("HDF5", &["h5", "hdf5", "hdf", "he5"]),
    ("Arrow", &["arrow", "arrows", "feather", "ipc"]),
    ("CSV", &["csv", "tsv"]),
    ("JSON", &["json", "jsonl", "ndjson"]),
    ("text", &["txt", "md", "xml", "yaml", "yml", "log"]),
    ("a single NumPy file", &["npy", "npz"]),
    ("a tar archive", &["tar", "tgz"]),
    ("a ZIP archive", &["zip", "7z", "rar"]),
    ("a compressed file", &["gz", "zst", "zstd", "xz", "bz2", "lz4"]),
    ("safetensors", &["safetensors"]),
    ("a PyTorch file", &["pt", "pth"]),
    ("a pickle", &["pkl", "pickle", "joblib"]),
    ("a database", &["db", "sqlite", "sqlite3", "lmdb", "mdb", "lance"]),
    (
        "a binary format",
        &["zarr", "avro", "orc", "mat", "xls", "xlsx", "beton", "mds", "msgpack", "bin", "dat"],
    ),
    (
        "an image or a video",
        &["jpg", "jpeg", "png", "gif", "webp", "bmp", "tif", "tiff", "mp4", "webm"],
    ),
];

/// The format that the name of an output asks for, where it is one that is not written.
///
/// A name that ends in a slash, or that is a folder's already, is that of a folder.
#[must_use]
pub fn unwritten_format(out: &Path) -> Option<&'static str> {
    let name = out.to_str()?;
    if name.ends_with(['/', std::path::MAIN_SEPARATOR]) || out.is_dir() {
        return None;
    }
    let extension = out.extension()?.to_str()?.to_lowercase();
    let found = FORMATS.iter().find(|it| it.1.contains(&extension.as_str()));
    found.map(|it| it.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_may_have_a_point_in_their_name() {
        for folder in [
            "out",
            "run.v2",
            "imagenet-0.1",
            ".out",
            "a.b/c",
            "x.parquet/",
            "../x",
            "null",
            "2024.06.01",
        ] {
            assert_eq!(unwritten_format(Path::new(folder)), None, "{folder}");
        }
        let there = std::env::temp_dir().join(format!("pipec-out-{}.zip", std::process::id()));
        assert_eq!(unwritten_format(&there), Some("a ZIP archive"));
        std::fs::create_dir_all(&there).unwrap();
        assert_eq!(unwritten_format(&there), None, "a folder of that name is there");
        std::fs::remove_dir(&there).unwrap();
    }

    #[test]
    fn files_are_told_by_their_extension() {
        let of = |name: &str| unwritten_format(Path::new(name));
        assert_eq!(of("x.parquet"), Some("Parquet"));
        assert_eq!(of("data/X.TFRecord"), Some("TFRecord"));
        assert_eq!(of("x.h5"), Some("HDF5"));
        assert_eq!(of("rows.csv"), Some("CSV"));
        assert_eq!(of("x.csv.gz"), Some("a compressed file"));
        assert_eq!(of("x.arrow"), Some("Arrow"));
    }
}
