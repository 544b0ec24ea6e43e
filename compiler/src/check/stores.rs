//! Files that lie in a store, which this `pipec` may not read.

use plan::Arg;

/// What the names of files begin with that lie elsewhere than in a folder.
const STORES: [&str; 15] = [
    "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "wasb", "wasbs", "http", "https", "hf", "ftp",
    "hdfs", "r2",
];

/// The first name of files that is one in a store, or on another machine, which cannot be read.
pub(super) fn in_store<'a>(arg: &'a Arg, is_read: &impl Fn(&str) -> bool) -> Option<&'a str> {
    match arg {
        Arg::Text(text) => {
            let (scheme, _) = text.split_once("://")?;
            let is_store = STORES.iter().any(|it| scheme.eq_ignore_ascii_case(it));
            (is_store && !is_read(scheme)).then_some(text)
        }
        Arg::List(all) => all.iter().find_map(|it| in_store(it, is_read)),
        _ => None,
    }
}
