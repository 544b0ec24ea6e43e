//! `class_of`: the number of a file's class, which is the name of its folder.

use super::json::shown;
use super::paths::split;
use crate::listing::natural_order;
use crate::prelude::*;
use std::collections::HashMap;

function! {
    /// The number of a file's class: where the name of its folder stands among all of them, sorted.
    ///
    /// The classes are the names of the folders that the files of the source lie in, in natural
    /// order (`img2` before `img10`); of several sources, those of all. A path whose folder is not
    /// among them is the fault `class`. The numbers are those of torchvision's `ImageFolder`, where
    /// names sort alike, and `i64` as there: PyTorch's losses take labels as they stand.
    ///
    /// ```pipe
    /// files("sample:images?count=8") |> map { label: class_of(path) }    # { label: i64 }
    /// ```
    "class_of(path: str, from: sources) fails -> i64",
    version: 2,
    cost: Cost::call(40.0),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let numbers = numbered(call.sources.iter().map(|it| it.classes()));
    Ok(Kernel::compute(move |args, out| {
        let path = args.tensor(0).as_str();
        let (_, name) = split(split(path).0);
        let number = numbers.get(name).ok_or_else(|| {
            let (path, name) = (shown(path), shown(name));
            Fault::new("class", format!("{path}: {name} is none of {} classes", numbers.len()))
        })?;
        out.scalar(*number)
    }))
}

/// The names of all classes in natural order, each with its number.
fn numbered<'a>(classes: impl Iterator<Item = &'a [String]>) -> HashMap<String, i64> {
    let mut names: Vec<&String> = classes.flatten().collect();
    names.sort_by(|a, b| natural_order(a, b));
    names.dedup();
    names.into_iter().zip(0..).map(|(name, number)| (name.clone(), number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use std::sync::Arc;

    struct Folders(Vec<String>);

    impl runtime::Source for Folders {
        fn len(&self) -> Result<u64, Failure> {
            Ok(0)
        }
        fn fetch(&self, _: &[u64], _: &mut ChunkBuilder) -> Result<(), Failure> {
            Ok(())
        }
        fn classes(&self) -> &[String] {
            &self.0
        }
    }

    fn class(path: &str, sources: &[&[&str]]) -> Result<Value, Fault> {
        let mut trial = Trial::of(&ENTRY).text(path).arg(Arg::Sources(Vec::new()));
        for names in sources {
            trial = trial.source(Arc::new(Folders(names.iter().map(|it| (*it).into()).collect())));
        }
        trial.run()
    }

    #[test]
    fn folders_are_numbered_in_natural_order() {
        let one: &[&str] = &["n2", "n10"];
        for (path, number) in [("train/n2/x.jpg", 0_i64), ("/data/n10/x.jpg", 1), ("n2/x.jpg", 0)] {
            assert_eq!(class(path, &[one]), Ok(Value::of(&[], &[number])), "{path}");
        }
        assert_eq!(class("n10/x", &[one, &["n1", "n10"]]), Ok(Value::of(&[], &[2_i64])));
    }

    #[test]
    fn another_folder_is_a_fault() {
        for path in ["train/n3/x.jpg", "x.jpg", "", "n2"] {
            assert_eq!(class(path, &[&["n2"]]).unwrap_err().code, "class", "{path}");
        }
    }
}
