//! `sample:images?count=1000` where files are named: sets that pipec makes itself.
//!
//! The name stays as it is through compilation, so that neither plans nor the ids of records
//! depend on where the user's cache folder is; it becomes a folder in the program that runs.

use plan::{Arg, Code, Program};
use runtime::Failure;
use sample::Request;
use std::{
    env,
    path::{Path, PathBuf},
};

/// Characters that have a meaning in patterns of files.
const SPECIAL: &str = "\\*?[]{}";

/// A set that is made, since it is used for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleProgress {
    /// Where.
    pub folder: PathBuf,
    /// What is counted: `images`.
    pub things: &'static str,
    /// Pictures that are there.
    pub made: u64,
    /// Pictures that will be there.
    pub count: u64,
}

/// Says what is wrong with the sets that arguments name, if anything is.
pub(crate) fn mistake(args: &[Arg]) -> Option<String> {
    let mut mistake = None;
    let mut args = args.to_vec();
    each_text(&mut args, &mut |text| {
        if let Some((Err(why), _)) = split(text) {
            mistake.get_or_insert(why);
        }
        Ok(())
    })
    .ok();
    mistake
}

/// Makes the sets that the program's sources name, and names their folders instead.
pub(crate) fn resolve(
    program: &mut Program,
    progress: &mut dyn FnMut(&SampleProgress),
) -> Result<(), Failure> {
    for id in program.stages.ids() {
        let Code::Source { args, .. } = &mut program.stages[id].code else { continue };
        resolve_args(args, progress)?;
    }
    Ok(())
}

/// The same for the arguments of one source.
pub(crate) fn resolve_args(
    args: &mut [Arg],
    progress: &mut dyn FnMut(&SampleProgress),
) -> Result<(), Failure> {
    each_text(args, &mut |text| {
        let Some((request, pattern)) = split(text) else { return Ok(()) };
        let request = request.map_err(Failure::Program)?;
        let folder = make(&request, progress)?;
        let pattern = if pattern.is_empty() { request.pattern() } else { pattern };
        *text = format!("{}{pattern}", escaped(&folder)?);
        Ok(())
    })
}

/// The file of a set that a path names, in its folder, where the set is made first; none where the path names no set.
pub(crate) fn file(path: &str) -> Option<Result<PathBuf, Failure>> {
    let (request, within) = split(path)?;
    let folder = request.map_err(Failure::Program).and_then(|it| make(&it, &mut |_| ()));
    Some(folder.map(|it| it.join(within.trim_start_matches('/'))))
}

/// Whether all sets that the program's sources name are made already.
pub(crate) fn are_there(program: &Program) -> bool {
    let mut all = true;
    for (_, stage) in program.stages.iter() {
        let Code::Source { args, .. } = &stage.code else { continue };
        let looked = each_text(&mut args.clone(), &mut |text| {
            if let Some((Ok(request), _)) = split(text) {
                let folder = sample::cached(&request, &cache_folder()?);
                all &= request.is_made(folder);
            }
            Ok(())
        });
        all &= looked.is_ok();
    }
    all
}

/// The set that `text` names, and the pattern below it.
fn split(text: &str) -> Option<(Result<Request, String>, &str)> {
    let (set, pattern) = text.split_at(text.find('/').unwrap_or(text.len()));
    sample::parse(set).map(|request| (request, pattern))
}

fn each_text(
    args: &mut [Arg],
    change: &mut dyn FnMut(&mut String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    args.iter_mut().try_for_each(|arg| match arg {
        Arg::Text(text) => change(text),
        Arg::List(all) => each_text(all, change),
        _ => Ok(()),
    })
}

fn make(request: &Request, progress: &mut dyn FnMut(&SampleProgress)) -> Result<PathBuf, Failure> {
    let folder = sample::cached(request, &cache_folder()?);
    let (things, count) = (request.things(), request.count);
    let mut so_far = SampleProgress { folder: folder.clone(), things, made: 0, count };
    let made = request.make(folder.clone(), &mut |made| {
        so_far.made = made;
        // A complete set says so at once, and is nothing to be told about.
        if made < so_far.count || so_far.count == 1 {
            progress(&so_far);
        }
    });
    made.map_err(|error| Failure::Io {
        path: folder.display().to_string(),
        detail: format!(
            "cannot generate the sample set: {error}; set XDG_CACHE_HOME to a writable folder \
             with enough space"
        ),
    })?;
    Ok(folder)
}

/// The user's cache folder for pipec: `$XDG_CACHE_HOME/pipec`, or `~/.cache/pipec`.
///
/// # Errors
/// Neither is set.
pub fn cache_folder() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").filter(|it| it.is_absolute());
    let cache = cache.or_else(|| set("HOME").map(|it| it.join(".cache")));
    cache.map(|it| it.join("pipec")).ok_or_else(|| Failure::Io {
        path: "~/.cache/pipec".to_owned(),
        detail: "there is no home folder for sample sets: set XDG_CACHE_HOME to a folder"
            .to_owned(),
    })
}

/// The folder as a pattern that stands for itself.
fn escaped(folder: &Path) -> Result<String, Failure> {
    let text = folder.to_str().ok_or_else(|| Failure::Io {
        path: folder.display().to_string(),
        detail: "its name is not valid UTF-8: set XDG_CACHE_HOME to another folder".to_owned(),
    })?;
    let mut escaped = String::with_capacity(text.len());
    for it in text.chars() {
        if SPECIAL.contains(it) {
            escaped.push('\\');
        }
        escaped.push(it);
    }
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_named_up_to_the_first_slash() {
        let (request, pattern) = split("sample:images?count=60/**/*.{jpg,jpeg}").unwrap();
        assert_eq!((request.unwrap().count, pattern), (60, "/**/*.{jpg,jpeg}"));
        assert!(split("data/sample:images").is_none());
        let wrong = [Arg::List(vec![Arg::Text("sample:images?size=3".to_owned())])];
        assert!(mistake(&wrong).unwrap().contains("no `size`"));
        assert_eq!(mistake(&[Arg::Text("sample:images".to_owned())]), None);
    }

    #[test]
    fn folders_stand_for_themselves() {
        assert_eq!(escaped(Path::new("/a{b}/[c]*")).unwrap(), "/a\\{b\\}/\\[c\\]\\*");
    }
}
