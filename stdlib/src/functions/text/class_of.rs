//! `class_of`: the number of a file's class, which is the name of its folder.

use super::{json::shown, names::Names, names::repeated, paths::split};
use crate::listing::natural_order;
use crate::prelude::*;

function! {
    /// Returns the class index of a file, from the name of its folder.
    ///
    /// It is the position of the name among those of all class folders, sorted. The classes are the names of
    /// the folders that contain the source's files, in natural order (`img2` before `img10`), of all sources if
    /// there are several. If another source, such as one for validation, lacks a folder, its indices would
    /// differ. `classes:` fixes the list: `classes: ["cat", "dog"]` or a `const`, `classes: "classes.txt"` (one
    /// name per line), or `classes: images` (the folders of another pipeline's sources). A path whose folder is
    /// not in the list fails with `class`. The indices are those of torchvision's `ImageFolder` if names sort
    /// alike, and `i64` as there, which PyTorch's losses expect.
    ///
    /// ```pipe
    /// files("sample:images?count=8") |> map { label: class_of(path) }    # { label: i64 }
    /// ```
    "class_of(path: str, classes: names?, from: sources) fails -> i64",
    version: 2,
    cost: Cost::call(40.0),
    properties: &[Property::Numbers { of_path: true }],
    result: Some(result),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let names = match &call.args[1] {
        Arg::List(all) => Names::of(all),
        _ => of_folders(call.sources.iter().map(|it| it.classes())),
    };
    Ok(Kernel::compute(move |args, out| {
        let path = args.tensor(0).as_str();
        let (_, name) = split(split(path).0);
        let number = names.number(name.as_bytes()).ok_or_else(|| {
            let detail = format!("{}: {}", shown(path), names.unknown(name, "classes"));
            Fault::new("class", detail)
        })?;
        out.scalar(number)
    }))
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    if let Arg::List(all) = &applied.args[1] {
        if all.is_empty() {
            return Err("the list of classes is empty".to_owned());
        }
        repeated(all)?;
    }
    Ok(Type::scalar(DType::I64))
}

/// The names of all classes in natural order.
fn of_folders<'a>(classes: impl Iterator<Item = &'a [String]>) -> Names {
    let mut names: Vec<&String> = classes.flatten().collect();
    names.sort_by(|a, b| natural_order(a, b));
    names.dedup();
    Names::new(names.into_iter().cloned())
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
        let mut trial = Trial::of(&ENTRY).text(path).arg(Arg::None).arg(Arg::Sources(Vec::new()));
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
    fn given_classes_do_not_shift() {
        let listed = ["n10", "n2"].map(|it| Arg::Text(it.into()));
        let class = |path| {
            let trial = Trial::of(&ENTRY).text(path).arg(Arg::List(listed.to_vec()));
            // The source lacks `n10`.
            let folders = Arc::new(Folders(vec!["n2".to_owned()]));
            trial.arg(Arg::Sources(Vec::new())).source(folders).run()
        };
        assert_eq!(class("val/n2/x.jpg"), Ok(Value::of(&[], &[1_i64])));
        let fault = class("val/n1O/x.jpg").unwrap_err();
        assert_eq!(
            fault.detail,
            "`val/n1O/x.jpg`: `n1O` is not one of 2 classes; the nearest is `n10`"
        );
    }

    #[test]
    fn another_folder_is_a_fault() {
        for path in ["train/n3/x.jpg", "x.jpg", "", "n2"] {
            assert_eq!(class(path, &[&["n2"]]).unwrap_err().code, "class", "{path}");
        }
    }
}
