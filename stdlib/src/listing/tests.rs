//! Listings of small folders, and the matcher against one that multiplies everything out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{ListError, ListErrorKind, Listing, Pattern, list, list_all, natural_order};

/// A folder of its own, which goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[&str]) -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("pipec-listing-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let folder = Folder(path);
        files.iter().for_each(|it| folder.add(it));
        folder
    }

    /// Adds a file, or a folder if the path ends in a slash.
    fn add(&self, below: &str) {
        let path = self.0.join(below);
        fs::create_dir_all(if below.ends_with('/') { &path } else { path.parent().unwrap() })
            .unwrap();
        if !below.ends_with('/') {
            fs::write(path, below).unwrap();
        }
    }

    fn pattern(&self, below: &str) -> Pattern {
        Pattern::parse(&format!("{}/{below}", self.0.display())).unwrap()
    }

    fn keys(&self, below: &str) -> Vec<String> {
        keys(&list(&self.pattern(below)).unwrap())
    }

    fn error(&self, below: &str) -> ListError {
        list(&self.pattern(below)).unwrap_err()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn keys(listing: &Listing) -> Vec<String> {
    let mut key = String::new();
    let one = |i| {
        listing.key(i, &mut key);
        key.clone()
    };
    (0..listing.len()).map(one).collect()
}

fn paths(listing: &Listing) -> Vec<String> {
    let mut path = String::new();
    let one = |i| {
        listing.path(i, &mut path);
        path.clone()
    };
    (0..listing.len()).map(one).collect()
}

#[test]
fn order_is_natural_and_by_component() {
    let folder = Folder::with(&[
        "b/img10.jpg",
        "b/img2.JPG",
        "b/img02.jpg",
        "b.jpg",
        "a10/x.jpg",
        "a9/x.jpeg",
        "a9/y.png",
    ]);
    let found = folder.keys("**/*.{jpg,jpeg}");
    assert_eq!(
        found,
        ["a9/x.jpeg", "a10/x.jpg", "b/img2.JPG", "b/img02.jpg", "b/img10.jpg", "b.jpg"]
    );
}

#[test]
fn matches_without_files() {
    let check = |pattern: &str, inside: &[&str], outside: &[&str]| {
        let parsed = Pattern::parse(pattern).unwrap();
        inside.iter().for_each(|it| assert!(parsed.matches(it), "`{pattern}` takes `{it}`"));
        outside.iter().for_each(|it| assert!(!parsed.matches(it), "`{pattern}` leaves `{it}`"));
    };

    check(
        "x-{000..010}.tar",
        &["x-000.tar", "x-010.TAR"],
        &["x-011.tar", "x-7.tar", "x-0007.tar", "X-000.tar"],
    );
    check("{1..12}", &["1", "12"], &["0", "13", "01", "1a"]);
    check("{3..1}x{c..a}", &["1xa", "3xc"], &["4xa", "1xd"]);
    check("a/**/x", &["a/x", "a/b/x", "a/b/c/x"], &["a/b", "x", "a/.b/x", "a/xx"]);
    check("a/**", &["a/x", "a/b/x"], &["a", "a/.x"]);
    check("**/a/**/*.py", &["a/x.py", "b/a/c/d.PY"], &["b/x.py"]);
    check("*.jpg", &["a.jpg", "a.JpG", "a.b.jpg"], &[".jpg", "a/b.jpg", "a.jpg.x", "/a.jpg"]);
    check("/d/*", &["/d/x"], &["d/x", "/x"]);
    check("[!a-c]?", &["da", "é1"], &["a1", "d", "d12", ".a"]);
    check("[]^]x", &["]x", "^x"], &["ax"]);
    check("[a-]x", &["ax", "-x"], &["bx"]);
    check("x.[A-B]", &["x.a", "x.B"], &["x.c"]);
    check("[A-B].x", &["A.x"], &["a.x"]);
    check(r"\*\{a\}[\]]", &["*{a}]"], &["x{a}]"]);
    check("{a,b{c,d{e,}}}.z", &["a.z", "bc.z", "bde.z", "bd.z"], &["b.z", "be.z"]);
    check("{train,val/sub}/*.t", &["train/1.t", "val/sub/1.t"], &["val/1.t", "sub/1.t"]);
    check("d/{,train/}*.t", &["d/1.t", "d/train/1.t"], &["d/val/1.t"]);
    check("{.*,*}", &[".a", "a"], &["a/b"]);
    check(".git/**/*", &[".git/a", ".git/b/a"], &["a", ".git/.a"]);
    check("./a//b/*.x", &["a/b/1.x"], &["a/1.x"]);
    check("日本/*.jpg", &["日本/語.jpg"], &["日/語.jpg"]);
    check(&"{a,a{b,c}}".repeat(200), &["a".repeat(200).as_str()], &["b"]);
    check(&"*a".repeat(100), &["a".repeat(300).as_str()], &["a".repeat(99).as_str()]);
}

#[test]
fn roots_end_before_the_first_wildcard() {
    for (pattern, root) in [
        ("data/train/*.jpg", "data/train"),
        ("data/{a,b}/x", "data"),
        ("/*.x", "/"),
        ("*.x", ""),
        ("a/b.jpg", "a"),
        ("../a/./b//c/**", "../a/b/c"),
        ("/a.jpg", "/"),
        (r"d\*/x*", "d*"),
        ("a{b/c,d}/x", ""),
        ("s3://bucket/*.jpg", "s3://bucket"),
        ("s3://bucket/a/./b//x.jpg", "s3://bucket/a/b"),
        ("S3://bucket/*.jpg", "S3:/bucket"),
    ] {
        assert_eq!(Pattern::parse(pattern).unwrap().root(), root, "{pattern}");
    }
}

#[test]
fn mistakes_in_patterns() {
    let deep = format!("{}x{}", "{a,".repeat(40), "}".repeat(40));
    let wide = "{a/,b/}".repeat(40) + "x";
    for (pattern, at, message) in [
        ("", 0, "the pattern is empty"),
        ("data/", 4, "`data/` is a folder"),
        ("data/..", 6, "`data/..` is a folder"),
        ("a/{b,c", 2, "`{` is not closed"),
        ("a/{data}/x", 2, "`{data}` is a set with only one alternative"),
        ("{0..x}", 0, "`{0..x}` is a set with only one alternative"),
        ("a}", 1, "unmatched `}`"),
        ("[ab", 0, "`[` is not closed"),
        ("[a/b]", 0, "`[` is not closed"),
        ("x[b-a]", 1, "`b-a` is an empty range"),
        ("a/b**/x", 3, "`**` must stand alone between slashes"),
        ("*/../x", 2, "`..` after a wildcard"),
        ("a\\", 1, "`\\` at the end of the pattern"),
        ("a\0b", 1, "a path cannot contain a zero byte"),
        ("{0..1234567890123456789}", 0, "numbers in a range have at most 18 digits"),
        ("{a/,b}", 0, "an alternative is a folder"),
        ("x/{,b}/c", 0, "an alternative is empty between two slashes"),
        ("/**/\\.{j,,eg}/x*", 0, "an alternative is `.` between two slashes"),
        ("x/{a,{,.}.}/*", 0, "an alternative is `.` between two slashes"),
        ("x/{.,b}{.,{a,b}}/c", 0, "an alternative is `..` between two slashes"),
        ("s3://*.jpg", 0, "no file is named after `s3://`"),
        ("s3://bucket", 0, "no file is named after `s3://`"),
        ("{/a,b}/c", 0, "an alternative is an absolute path"),
        (&deep, 96, "sets are nested more than 32 deep"),
        (
            &wide,
            0,
            "the sets that contain `/` expand to 1099511627776 alternatives, which is too many",
        ),
    ] {
        let error = Pattern::parse(pattern).unwrap_err();
        assert_eq!((error.at, error.message.as_str()), (at, message), "{pattern}");
        assert!(!error.help.is_empty());
    }
}

#[test]
fn classes_are_the_folders_names() {
    let folder =
        Folder::with(&["c10/1.jpg", "c2/1.jpg", "c2/2.jpg", "empty/", "val/c2/1.jpg", "c3/x.txt"]);
    let listing = list(&folder.pattern("**/*.jpg")).unwrap();

    assert_eq!(keys(&listing), ["c2/1.jpg", "c2/2.jpg", "c10/1.jpg", "val/c2/1.jpg"]);
    assert_eq!(listing.classes().iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["c2", "c10"]);
    assert_eq!((0..4).map(|it| listing.class(it)).collect::<Vec<_>>(), [0, 0, 1, 0]);
    assert_eq!(listing.folder_name(2), "c10");

    let flat = list(&folder.pattern("c2/*.jpg")).unwrap();
    assert_eq!((flat.folder_name(0), flat.name(0)), ("c2", "1.jpg"));
}

#[test]
fn lists_of_patterns_keep_their_order() {
    let folder = Folder::with(&["b/2.jpg", "b/1.jpg", "a/1.jpg", "a/x.png"]);
    let patterns = ["b/*.jpg", "a/*", "**/1.*"].map(|it| folder.pattern(it));
    let listing = list_all(&patterns).unwrap();

    assert_eq!(keys(&listing), ["1.jpg", "2.jpg", "1//1.jpg", "1//x.png"]);
    let root = folder.0.display();
    let expected = ["b/1.jpg", "b/2.jpg", "a/1.jpg", "a/x.png"].map(|it| format!("{root}/{it}"));
    assert_eq!(paths(&listing), expected);
    assert_eq!((listing.folder_name(0), listing.class(0), listing.class(2)), ("b", 1, 0));

    let error = list_all(&["b/*.jpg", "c/*.jpg"].map(|it| folder.pattern(it))).unwrap_err();
    assert!(error.message.ends_with("c/*.jpg`"), "{error}");
}

#[test]
fn one_file_is_itself() {
    let folder = Folder::with(&["a/photo.JPG", "[x].jpg"]);
    let listing = list(&folder.pattern("a/photo.JPG")).unwrap();
    assert_eq!((keys(&listing), listing.folder_name(0)), (vec!["photo.JPG".to_owned()], "a"));
    assert_eq!(folder.keys(r"\[x\].jpg"), ["[x].jpg"]);

    let near = folder.error("a/photo.jpg");
    assert_eq!(near.kind, ListErrorKind::NoMatch);
    assert!(near.help.ends_with("a/photo.JPG`?"), "{}", near.help);
    assert!(folder.error("a").help.contains("is a folder"));
    let folder = Folder::with(&["set/a/1.JPEG", "set/a/2.JPEG", "set/README.txt"]);
    assert!(folder.error("set").help.contains("set/**/*.JPEG`"), "{}", folder.error("set").help);
}

#[test]
fn sizes_come_in_order() {
    let folder = Folder::with(&["x10.jpg", "x9.jpg"]);
    let mut found = Vec::new();
    let listing = list(&folder.pattern("*")).unwrap();
    listing.each_file(&mut |key, of| found.push((key.to_owned(), of.bytes))).unwrap();
    assert_eq!(found, [("x9.jpg".to_owned(), 6), ("x10.jpg".to_owned(), 7)]);

    fs::remove_file(folder.0.join("x9.jpg")).unwrap();
    assert_eq!(listing.each_file(&mut |_, _| ()).unwrap_err().kind, ListErrorKind::Unreadable);
}

#[test]
fn no_match_says_what_is_there() {
    let folder =
        Folder::with(&["train/a/1.JPEG", "train/a/2.JPEG", "train/a/n.txt", "val/b/3.png"]);
    let check = |pattern: &str, help: &str| {
        let error = folder.error(pattern);
        assert_eq!(error.kind, ListErrorKind::NoMatch);
        let root = folder.0.display().to_string();
        assert_eq!(error.help.replace(&root, "ROOT"), help, "{pattern}");
    };

    check("train/**/*.jpg", "below `ROOT/train` there are 2 files with the extension `.JPEG`");
    check("trian/**/*.jpg", "cannot find the folder `ROOT/trian`; did you mean `ROOT/train`?");
    check("images/x/*.jpg", "cannot find the folder `ROOT/images`; `ROOT` contains `train`, `val`");
    check(
        "*/*.png",
        "1 file with a matching name lies in other folders below `ROOT`: use `**/` to find them \
         at any depth",
    );
    check("*/1.PNG", "below `ROOT` there are 2 files with the extension `.JPEG`");
    check("**/vall/*.png", "there is no folder `vall` below `ROOT`; did you mean `val`?");
    check("val/b/3.png/*", "`ROOT/val/b/3.png` is a file, not a folder");
    folder.add("void/");
    check("void/*", "there are no files in or below `ROOT/void`");
}

#[cfg(unix)]
mod links {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_are_followed_and_circles_are_not() {
        let folder = Folder::with(&["d/a/1.jpg", "far/2.jpg"]);
        let link = |to: &str, at: &str| symlink(folder.0.join(to), folder.0.join(at)).unwrap();
        link("far/2.jpg", "d/a/3.jpg");
        link("far", "d/near");
        link("d", "d/a/round");
        link("", "d/up");
        link("d", "far/back");

        assert_eq!(folder.keys("d/**/*.jpg"), ["a/1.jpg", "a/3.jpg", "near/2.jpg"]);
        assert_eq!(folder.keys("d/a/round/a/*.jpg"), ["1.jpg", "3.jpg"]);
        assert_eq!(folder.keys("d/*/round/*/1.jpg"), ["a/round/a/1.jpg"]);
    }

    #[test]
    fn a_link_to_nothing_is_an_error_where_a_file_is_wanted() {
        let folder = Folder::with(&["a.txt"]);
        symlink("gone", folder.0.join("b.jpg")).unwrap();
        assert_eq!(folder.keys("*.txt"), ["a.txt"]);
        for pattern in ["*.jpg", "b.jpg"] {
            let error = folder.error(pattern);
            assert_eq!(error.kind, ListErrorKind::Unreadable);
            assert!(error.message.ends_with("b.jpg` is broken"), "{error}");
        }
    }

    #[test]
    fn names_that_are_not_text_are_errors_where_they_match() {
        let folder = Folder::with(&["a.txt", "d/b.txt"]);
        fs::write(folder.0.join(OsStr::from_bytes(b"x\xff.jpg")), "").unwrap();
        let odd = folder.0.join(OsStr::from_bytes(b"\xfe"));
        fs::create_dir(&odd).unwrap();
        fs::write(odd.join("c.png"), "").unwrap();

        assert_eq!(folder.keys("**/*.txt"), ["a.txt", "d/b.txt"]);
        for pattern in ["*.jpg", "**/*.png", "*/c.png"] {
            let error = folder.error(pattern);
            assert_eq!(error.kind, ListErrorKind::NotText, "{pattern}");
            assert!(error.path.contains('\u{fffd}'), "{}", error.path);
        }
    }

    #[test]
    fn folders_that_cannot_be_read_are_errors() {
        let folder = Folder::with(&["shut/x.jpg"]);
        let shut = folder.0.join("shut");
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may read it all the same.
        let error = fs::read_dir(&shut).is_err().then(|| folder.error("**/*.jpg"));
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o755)).unwrap();

        if let Some(error) = error {
            assert_eq!(error.kind, ListErrorKind::Unreadable);
            assert!(error.message.contains("shut`:"), "{error}");
            assert!(error.help.contains("chmod"));
        }
    }
}

mod obvious;
