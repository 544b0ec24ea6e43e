use super::*;

fn figure(median: f64) -> Figure {
    Figure { median, min: median / 2.0, max: median * 1.5, runs: 5, trusted: true }
}

fn host() -> Host {
    let points = [(1, 1e8), (2, 2e8), (4, 3.9e8), (8, 4e8), (16, 4e8)].map(|(threads, it)| Point {
        threads,
        bandwidth: figure(it),
        latency: Figure { trusted: false, ..figure(1.25e-4) },
    });
    let sweep = Sweep::of((Cache::Cold, Pattern::Random, 4096), points.to_vec()).unwrap();
    let bandwidths = Bandwidths {
        threads: 2,
        read: figure(1.2e10),
        write: figure(8e9),
        copy: figure(5.5e9),
        doubt: Some("a \"reason\"".to_owned()),
    };
    Host {
        format: FORMAT,
        measured: Some(Measured {
            at: "2026-11-20T16:11:19Z".to_owned(),
            seconds: 41.5,
            quick: false,
            pipec: "0.1.0".to_owned(),
            load: Some(0.0),
            others: None,
        }),
        cpu: Cpu {
            model: Some("A 9000".to_owned()),
            available: 1.5,
            allowed: 2,
            quota: Some(1.5),
            logical: 4,
            physical: 2,
        },
        memory: Memory {
            total: 24 << 30,
            limit: Some(2 << 30),
            one_thread: None,
            all_threads: Some(bandwidths),
        },
        store: Vec::new(),
        storage: vec![Storage {
            path: "/data/with \"quotes\" and ü".into(),
            mount: Some("/data".into()),
            file_system: Some("ext4".to_owned()),
            device: None,
            medium: Medium::Solid,
            total: Some(1 << 40),
            free: Some(1 << 39),
            file: 256 << 20,
            cold: Cold::Direct,
            doubt: None,
            write: figure(3e8),
            read: vec![sweep],
        }],
    }
}

#[test]
fn a_host_file_reads_back_as_it_was() {
    let text = host().to_text();
    assert_eq!(Host::parse(&text).unwrap(), host(), "{text}");
    assert!(text.contains("\nenough = 4\n") && text.contains("median = 3.9e8"), "{text}");
    let here = Host::here();
    assert_eq!(Host::parse(&here.to_text()).unwrap(), here);
    assert!(here.is_assumed() && here.storage.is_empty() && here.cpu.available > 0.0);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let text = host().to_text();
    let told = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Host::parse(&text.replacen(from, to, 1)).unwrap_err()
    };
    let newer = told("format = 1", "format = 2\nnew = 3");
    assert!(newer.contains("format 2") && newer.contains("newer pipec"), "{newer}");
    let line = text.lines().position(|it| it == "quota = 1.5").unwrap() + 1;
    let unknown = told("quota = 1.5", "qouta = 1.5");
    assert!(unknown.contains(&format!("line {line} ")), "{unknown}");
    assert!(unknown.contains("unknown key `qouta`") && unknown.contains("`quota`"), "{unknown}");
    let text_for_number = told("available = 1.5", "available = \"two\"");
    assert!(text_for_number.contains("line "), "{text_for_number}");
    assert!(told("available = 1.5", "available = -1").contains("`cpu.available`"));
    assert!(told("median = 3.9e8", "median = nan").contains("must be more than 0"));
    assert!(Host::parse("cores = 3").unwrap_err().contains("`format` is missing"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let told = Host::load(Path::new("/nowhere/host.toml")).unwrap_err().to_string();
    assert!(told.contains("`/nowhere/host.toml`") && told.contains("pipec calibrate"), "{told}");
}

#[test]
fn figures_say_whether_they_can_be_trusted() {
    let of = |runs: &[f64]| Figure::of(runs, true).unwrap();
    let it = of(&[5.0, 4.0, 4.1, 3.9, 40.0]);
    assert_eq!((it.median, it.min, it.max, it.runs), (4.1, 3.9, 40.0, 5));
    assert!(!of(&[4.0; 4]).trusted && of(&[4.0; 5]).trusted);
    assert!(!of(&[1.0, 2.0, 4.0, 5.0, 9.0]).trusted);
    assert!(!Figure::of(&[4.0; 5], false).unwrap().trusted);
    assert_eq!(of(&[123_456.0]).median, 123_500.0);
    assert_eq!(Figure::of(&[], true), None);
}

#[test]
fn what_is_read_in_small_requests_is_reckoned_with_small_requests() {
    let mut host = host();
    let sweep = |pattern, request, each: f64| {
        let latency = figure(request as f64 / each);
        let point = |n: u32| Point { threads: n, bandwidth: figure(each * f64::from(n)), latency };
        Sweep::of((Cache::Cold, pattern, request), [1, 2].map(point).to_vec()).unwrap()
    };
    host.storage[0].read = vec![
        sweep(Pattern::Sequential, 1 << 20, 1e9),
        sweep(Pattern::Random, 1 << 16, 1e8),
        sweep(Pattern::Random, 1 << 20, 1e9),
    ];
    let of = |request| host.storage[0].modelled(request).unwrap();
    assert_eq!(of(Some(110e3)).random.at(1.0), 1e8);
    assert_eq!(of(Some(110e3)).latency_s, 65536.0 / 1e8);
    assert_eq!(of(Some(900e3)).random.at(1.0), 1e9);
    assert_eq!(of(None).random.at(1.0), 1e9);
}

#[test]
fn curves_that_are_no_numbers_are_refused() {
    let text = host().to_text();
    let (before, after) = text.split_once("m1 = ").unwrap();
    let (_, after) = after.split_once(',').unwrap();
    let told = Host::parse(&format!("{before}m1 = nan,{after}")).unwrap_err();
    assert!(told.contains("`m1`"), "{told}");
}

#[test]
fn what_is_not_there_yet_lies_where_it_will_be_made() {
    let mut host = host();
    let here = fs::canonicalize(".").unwrap();
    (host.storage[0].mount, host.storage[0].path) = (mount_of(&here), here);
    assert!(host.storage_of(Path::new("none/img_")).is_some());
    assert!(host.storage_of(Path::new("img_")).is_some());
}

#[test]
fn storage_is_found_by_its_file_system() {
    let mut host = host();
    host.storage[0].path = "/proc".into();
    host.storage[0].mount = Some("/proc".into());
    if mount_of(Path::new("/proc/self")).is_some() {
        assert!(host.storage_of(Path::new("/proc/self/status")).is_some());
        assert!(host.storage_of(Path::new("/")).is_none());
    }
}
