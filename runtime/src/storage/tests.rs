//! What every storage must do, held against each.

use super::*;
use std::{collections::BTreeMap, env, process};

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("pipec-storage-{}-{name}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A storage, where in it the test may write, and the folder of the file system in which its objects lie.
struct Case<'a> {
    storage: &'a dyn Storage,
    root: PathBuf,
    folder: PathBuf,
}

impl Case<'_> {
    fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }
}

/// Takes what comes, of at most so many bytes; calls a function before it gives room.
struct Taken<'a> {
    most: u64,
    before: &'a dyn Fn(usize),
    rooms: BTreeMap<usize, Vec<u8>>,
    told: BTreeMap<usize, String>,
}

impl Landing for Taken<'_> {
    fn room(&mut self, request: usize, bytes: u64) -> Option<&mut [u8]> {
        (self.before)(request);
        let room = (bytes <= self.most).then(|| vec![7; bytes as usize])?;
        self.rooms.insert(request, room);
        self.rooms.get_mut(&request).map(|it| &mut it[..])
    }

    fn landed(&mut self, request: usize, result: Result<(), ReadError>) {
        let told = match result {
            Ok(()) => "read".to_owned(),
            Err(ReadError::Io(error)) => format!("{:?}", error.kind()),
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(self.told.insert(request, told), None, "a request is told of once");
    }
}

fn taken(
    case: &Case<'_>,
    requests: &[(&str, Option<Range<u64>>)],
    most: u64,
    before: &dyn Fn(usize),
) -> Vec<(String, Vec<u8>)> {
    let paths: Vec<PathBuf> = requests.iter().map(|it| case.path(it.0)).collect();
    let all: Vec<Request<'_>> = paths
        .iter()
        .zip(requests)
        .map(|(path, (_, range))| Request { path, range: range.clone() })
        .collect();
    let mut taken = Taken { most, before, rooms: BTreeMap::new(), told: BTreeMap::new() };
    case.storage.read(&all, &mut taken);
    let one = |it: usize| {
        let told = taken.told.get(&it).cloned().unwrap_or_default();
        let bytes = if told == "read" { taken.rooms[&it].clone() } else { Vec::new() };
        (told, bytes)
    };
    (0..requests.len()).map(one).collect()
}

fn listed(case: &Case<'_>, folder: &str) -> Vec<(String, Kind)> {
    let entries = case.storage.list(&case.path(folder)).unwrap();
    let entries = entries.map(|it| it.unwrap());
    let mut all: Vec<(String, Kind)> =
        entries.map(|it| (it.name().into_string().unwrap(), it.kind().unwrap())).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn contract(case: &Case<'_>) {
    what_is_there_is_told(case);
    what_is_asked_for_is_read(case);
    an_object_is_read_piece_by_piece(case);
    what_is_removed_is_gone_and_nothing_else(case);
}

/// `a/one` of ten bytes, `a/none` of none, `a/deep/two`.
fn what_is_there_is_told(case: &Case<'_>) {
    let storage = case.storage;
    fs::create_dir_all(case.folder.join("a/deep")).unwrap();
    for (path, bytes) in [("a/one", &b"0123456789"[..]), ("a/none", b""), ("a/deep/two", b"two")] {
        storage.put(&case.path(path), bytes.to_vec()).unwrap();
    }

    let file = |name: &str| (name.to_owned(), Kind::File);
    let folder = |name: &str| (name.to_owned(), Kind::Folder);
    assert_eq!(listed(case, ""), [folder("a")]);
    assert_eq!(listed(case, "a"), [folder("deep"), file("none"), file("one")]);
    let error = storage.list(&case.path("b")).err().map(|it| it.kind());
    assert_eq!(error, Some(io::ErrorKind::NotFound));

    let stat = |path: &str| storage.stat(&case.path(path)).map(|it| (it.kind, it.bytes));
    assert_eq!(stat("a/one").unwrap(), (Kind::File, 10));
    assert_eq!(stat("a/none").unwrap(), (Kind::File, 0));
    assert_eq!(stat("a").unwrap().0, Kind::Folder);
    assert_eq!(stat("a/three").unwrap_err().kind(), io::ErrorKind::NotFound);
}

fn what_is_asked_for_is_read(case: &Case<'_>) {
    let told = |it: &str| (it.to_owned(), Vec::new());
    let read = |it: &[u8]| ("read".to_owned(), it.to_vec());
    let requests = [
        ("a/one", None),
        ("a/three", None),
        ("a/one", Some(2..5)),
        ("a/none", None),
        ("a", None),
        ("a/one", Some(8..12)),
        ("a/three", Some(0..1)),
        ("a/deep/two", None),
        ("a/one", Some(0..0)),
    ];
    let expected = [
        read(b"0123456789"),
        told("NotFound"),
        read(b"234"),
        read(b""),
        told("NoFile"),
        told("Changed"),
        told("NotFound"),
        read(b"two"),
        read(b""),
    ];
    assert_eq!(taken(case, &requests, 10, &|_| ()), expected);
    // What is refused is not told of, and does not keep the others.
    let requests = [("a/one", None), ("a/deep/two", None)];
    assert_eq!(taken(case, &requests, 9, &|_| ()), [told(""), read(b"two")]);
    assert_eq!(taken(case, &[], 9, &|_| ()), []);

    // It gets shorter or longer once its size is known.
    for now in [&b"0123"[..], b"0123456789ab"] {
        let change = |_: usize| fs::write(case.folder.join("a/one"), now).unwrap();
        assert_eq!(taken(case, &[("a/one", None)], 99, &change), [told("Changed")]);
        case.storage.put(&case.path("a/one"), b"0123456789".to_vec()).unwrap();
    }
}

fn an_object_is_read_piece_by_piece(case: &Case<'_>) {
    let storage = case.storage;
    let mut object = storage.open(&case.path("a/one"), &mut || ()).unwrap();
    assert_eq!(object.stat().unwrap().bytes, 10);
    let mut all = Vec::new();
    io::Read::read_to_end(&mut object, &mut all).unwrap();
    assert_eq!(all, b"0123456789");
    object.go_to(7).unwrap();
    let mut room = [0; 3];
    object.read_exact_at(&mut room, 1).unwrap();
    assert_eq!(&room, b"123");
    let mut rest = Vec::new();
    io::Read::read_to_end(&mut object, &mut rest).unwrap();
    assert_eq!(rest, b"789");
    let beyond = object.read_exact_at(&mut room, 8).unwrap_err();
    assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
    let missing = storage.open(&case.path("a/three"), &mut || ()).err().map(|it| it.kind());
    assert_eq!(missing, Some(io::ErrorKind::NotFound));
    assert!(storage.open(&case.path("a"), &mut || ()).is_err());
}

fn what_is_removed_is_gone_and_nothing_else(case: &Case<'_>) {
    let storage = case.storage;
    let file = |name: &str| (name.to_owned(), Kind::File);
    let gone = ["a/none", "a/three", "a/deep/two"].map(|it| case.path(it));
    for _ in 0..2 {
        storage.remove(&gone).unwrap();
        let is_folder = |it: &(String, Kind)| it.1 == Kind::Folder;
        let left: Vec<_> = listed(case, "a").into_iter().filter(|it| !is_folder(it)).collect();
        assert_eq!(left, [file("one")]);
    }
    storage.remove(&[]).unwrap();
}

#[test]
#[cfg_attr(miri, ignore)]
fn the_local_file_system_keeps_the_contract() {
    let folder = Folder::new("local");
    contract(&Case { storage: &Local, root: folder.0.clone(), folder: folder.0.clone() });
}

#[test]
#[cfg_attr(miri, ignore)]
fn an_emulated_store_keeps_the_contract() {
    let folder = Folder::new("emulated");
    let of = |latency, requests_max| {
        let objects = Objects::Folder(folder.0.clone());
        Emulated::new(Emulation { objects, latency, requests_max, ..Emulation::default() })
    };
    for (name, latency, requests_max) in [("at-once", 0, 1024), ("later", 1, 2)] {
        let storage = &of(Duration::from_millis(latency), requests_max);
        let root = PathBuf::from(format!("virtual://{name}"));
        contract(&Case { storage, root, folder: folder.0.join(name) });
    }
}

#[test]
fn objects_that_are_made_up_are_always_the_same() {
    let objects = Objects::Made { count: 3, bytes: 700 };
    let storage = Emulated::new(Emulation { objects, ..Emulation::default() });
    let case = Case { storage: &storage, root: "virtual://made".into(), folder: PathBuf::new() };
    let names: Vec<String> = listed(&case, "").into_iter().map(|it| it.0).collect();
    assert_eq!(names, ["0000000", "0000001", "0000002"]);

    let whole = taken(&case, &[("0000002", None)], 700, &|_| ()).remove(0).1;
    assert_eq!((whole[0], whole[1], whole[8], whole[251], whole[260]), (2, 0, 8, 0, 9));
    for range in [0..700, 0..3, 5..9, 8..300, 699..700, 250..252] {
        let part = taken(&case, &[("0000002", Some(range.clone()))], 700, &|_| ()).remove(0).1;
        assert_eq!(part, whole[range.start as usize..range.end as usize], "{range:?}");
    }
    let told = taken(&case, &[("0000003", None), ("2", None), ("", None)], 700, &|_| ());
    let told: Vec<String> = told.into_iter().map(|it| it.0).collect();
    assert_eq!(told, ["NotFound", "NotFound", "NoFile"]);
    assert!(storage.put(&case.path("0000003"), Vec::new()).is_err());
}

#[test]
fn requests_fail_as_often_as_was_ordered() {
    let objects = Objects::Made { count: 9, bytes: 10 };
    let order = Ordered { path: "5".to_owned(), kind: io::ErrorKind::TimedOut, times: 2 };
    let of = Emulation { objects, faults: vec![order], ..Emulation::default() };
    let storage = Emulated::new(of);
    let case = Case { storage: &storage, root: "virtual://made".into(), folder: PathBuf::new() };
    let requests = [("0000004", None), ("0000005", None)];
    for second in ["TimedOut", "TimedOut", "read"] {
        let told = taken(&case, &requests, 10, &|_| ());
        assert_eq!([&*told[0].0, &*told[1].0], ["read", second]);
    }
    assert_eq!(storage.under_way_most(), 2);
}

#[test]
fn a_path_says_of_which_storage_it_is() {
    let scheme = |it: &str| scheme_of(it.as_bytes()).map(str::to_owned);
    assert_eq!(scheme("s3://bucket/a").as_deref(), Some("s3"));
    for local in ["", "/data/a", "data/a", "c:/data", "A://a", "1a://a", "a b://c", "://a", "s3:/a"]
    {
        assert_eq!(scheme(local), None, "{local}");
    }
    let path = Path::new("nobody://has/it");
    let error = of(path).stat(path).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "this `pipec` was built without `nobody://`: build it with `--features full`"
    );
}
