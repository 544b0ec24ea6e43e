//! What a store holds after it was closed, broken off, damaged, shared, or full.

use super::super::record;
use super::{carried::Carried, *};
use crate::{Out, Scratch, folder_bytes};
use plan::{DType, parts::Keep};
use std::{env, fs, thread};

const ADDRESS: &str = "00112233445566778899aabbccddeeff";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("store-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self, limit: u64) -> Store {
        Store::open(&DiskRoom { folder: self.0.clone(), limit }, ADDRESS, 1 << 20).unwrap()
    }

    /// Its two files: records, values.
    fn files(&self) -> [PathBuf; 2] {
        let folder = self.0.join(ADDRESS);
        let names = segment::names(&folder).unwrap();
        assert_eq!(names.len(), 1);
        segment::files_of(&folder, &names[0])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn value(key: u64) -> [f32; 6] {
    std::array::from_fn(|it| (key * 10 + it as u64) as f32)
}

fn fill(store: &Store, keys: std::ops::Range<u64>) {
    keys.for_each(|it| store.insert(u128::from(it) << 64, &Tensor::new(&[2, 3], &value(it))));
}

/// Whether the value of `key` is there; it is the right one if it is.
fn is_there(store: &Store, key: u64) -> bool {
    let mut scratch = Scratch::new();
    let there = store.read(u128::from(key) << 64, &mut Out::grow(&mut scratch));
    if there {
        assert_eq!(scratch.tensor().shape(), [2, 3]);
        assert_eq!(scratch.tensor().as_slice::<f32>(), Some(&value(key)[..]), "of {key}");
    }
    there
}

#[test]
fn values_are_there_the_next_time() {
    let folder = Folder::new("again");
    fill(&folder.open(1 << 30), 0..5);
    let store = folder.open(1 << 30);
    assert!((0..5).all(|it| is_there(&store, it)) && !is_there(&store, 5));
    fill(&store, 3..8);
    let stats = store.stats();
    assert_eq!((stats.entries, stats.written, stats.damaged), (8, 3, 0));
    drop(store);
    let [index, values] = folder.files().map(|it| fs::metadata(it).unwrap().len());
    assert_eq!(
        (index, values),
        (8 * record::BYTES as u64, 8 * (24 + record::BYTES as u64)),
        "what was claimed is left"
    );
    assert!((0..8).all(|it| is_there(&folder.open(1 << 30), it)));
}

#[test]
fn what_was_broken_off_is_not_there() {
    let folder = Folder::new("broken");
    fill(&folder.open(1 << 30), 0..4);
    let [index, values] = folder.files();
    let (whole, whole_values) = (fs::read(&index).unwrap(), fs::read(&values).unwrap());
    for len in 0..whole.len() {
        // As it is after a kill: some of the last record, and room that was claimed.
        let mut torn = whole[..len].to_vec();
        torn.resize(whole.len() + 50, 0);
        fs::write(&index, torn).unwrap();
        fs::write(&values, &whole_values).unwrap();
        let store = folder.open(1 << 30);
        let n = (0..4).filter(|it| is_there(&store, *it)).count();
        assert_eq!(n, len / record::BYTES, "after {len} bytes");
        fill(&store, 0..4);
        assert!((0..4).all(|it| is_there(&store, it)), "after {len} bytes");
    }
}

#[test]
fn a_flipped_byte_costs_one_value_and_is_told() {
    let folder = Folder::new("flipped");
    fill(&folder.open(1 << 30), 0..4);
    let files = folder.files();
    let whole = files.clone().map(|it| fs::read(it).unwrap());
    for (changed, bytes) in whole.iter().enumerate() {
        for at in 0..bytes.len() {
            let mut flipped = whole.clone();
            flipped[changed][at] ^= 0x40;
            files.iter().zip(&flipped).for_each(|(file, it)| fs::write(file, it).unwrap());
            let store = folder.open(1 << 30);
            let n = (0..4).filter(|it| is_there(&store, *it)).count();
            assert_eq!((n, store.stats().damaged), (3, 1), "byte {at} of file {changed}");
            fill(&store, 0..4);
            drop(store);
            let store = folder.open(1 << 30);
            assert!((0..4).all(|it| is_there(&store, it)), "byte {at} of file {changed}");
            assert_eq!(store.verify(), 0, "it is told once");
        }
    }
}

#[test]
fn values_that_lie_in_each_other_are_damage() {
    let folder = Folder::new("each-other");
    fill(&folder.open(1 << 30), 0..3);
    let ([index, values], seed) = (folder.files(), xxh3_64(ADDRESS.as_bytes()));
    // A thousand keys of what is at the begin, in place of the three.
    let value = value(0);
    let bytes: Vec<u8> = value.iter().flat_map(|it| it.to_le_bytes()).collect();
    let record = |key: u64| {
        let of = (u128::from(key) << 64, &Tensor::new(&[2, 3], &value));
        Record::new(of, (0, Codec::NONE), (&bytes, seed)).written(seed)
    };
    fs::write(index, (0..1000).flat_map(record).collect::<Vec<u8>>()).unwrap();
    let most = fs::metadata(values).unwrap().len() / bytes.len() as u64;
    let stats = folder.open(1 << 30).stats();
    assert!((1..=most).contains(&stats.entries), "{stats:?}");
    assert_eq!(stats.entries + stats.damaged, 1000);
}

#[test]
fn a_place_beyond_all_numbers_is_damage() {
    let folder = Folder::new("beyond");
    fill(&folder.open(1 << 30), 0..3);
    let ([index, _], seed) = (folder.files(), xxh3_64(ADDRESS.as_bytes()));
    let (value, mut forged) = (value(1), fs::read(&index).unwrap());
    let bytes: Vec<u8> = value.iter().flat_map(|it| it.to_le_bytes()).collect();
    let of = (1 << 64, &Tensor::new(&[2, 3], &value));
    let record = Record::new(of, (u64::MAX - 7, Codec::NONE), (&bytes, seed)).written(seed);
    forged[record::BYTES..][..record::BYTES].copy_from_slice(&record);
    fs::write(&index, forged).unwrap();
    let store = folder.open(1 << 30);
    assert_eq!((0..3).filter(|it| is_there(&store, *it)).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(store.stats().damaged, 1);
}

#[test]
fn what_belongs_to_another_address_is_not_there() {
    let folder = Folder::new("moved");
    fill(&folder.open(1 << 30), 0..2);
    let room = DiskRoom { folder: folder.0.clone(), limit: 1 << 30 };
    let other = "ffeeddccbbaa99887766554433221100";
    fs::rename(folder.0.join(ADDRESS), folder.0.join(other)).unwrap();
    let store = Store::open(&room, other, 1 << 20).unwrap();
    assert_eq!((store.stats().entries, store.stats().damaged), (0, 2));
}

/// Waits until a store looks again for what others have written.
fn wait() {
    thread::sleep(2 * LOOKED);
}

#[test]
fn processes_find_what_each_other_write() {
    let folder = Folder::new("shared");
    let first = folder.open(1 << 30);
    fill(&first, 0..3);
    let second = folder.open(1 << 30);
    assert!((0..3).all(|it| is_there(&second, it)));
    fill(&second, 3..6);
    fill(&first, 6..9);
    let third = folder.open(1 << 30);
    for store in [&first, &second, &third] {
        wait();
        assert!((0..9).all(|it| is_there(store, it)));
        // What another one has written is not written again.
        let written = store.stats().written;
        fill(store, 0..9);
        assert_eq!((store.stats().written, store.stats().entries), (written, 9));
    }
    fill(&third, 9..12);
    wait();
    assert!((9..12).all(|it| is_there(&first, it) && is_there(&second, it)));
    let damaged = [&first, &second, &third].map(|it| it.stats().damaged);
    assert_eq!(damaged, [0; 3]);
    drop((first, second, third));
    // Later ones go on with the segments that are there.
    let two = [folder.open(1 << 30), folder.open(1 << 30)];
    two.iter().zip([12..13, 13..14]).for_each(|(store, keys)| fill(store, keys));
    drop(two);
    assert_eq!(segment::names(&folder.0.join(ADDRESS)).unwrap().len(), 3);
    let store = folder.open(1 << 30);
    assert!((0..14).all(|it| is_there(&store, it)));
    assert_eq!((store.verify(), store.stats().entries), (0, 14));
}

#[test]
fn what_another_process_is_about_to_write_is_not_damaged() {
    let folder = Folder::new("torn");
    let first = folder.open(1 << 30);
    fill(&first, 0..3);
    let second = folder.open(1 << 30);
    // A record of which a part is there, and one whose value is not.
    let [index, _] = folder.files();
    let seed = xxh3_64(ADDRESS.as_bytes());
    let (value, mut records) = (value(3), fs::read(&index).unwrap());
    let bytes: Vec<u8> = value.iter().flat_map(|it| it.to_le_bytes()).collect();
    let of = (3 << 64, &Tensor::new(&[2, 3], &value));
    let record = |offset| Record::new(of, (offset, Codec::NONE), (&bytes, seed)).written(seed);
    for torn in [&record(3 * 128)[..60], &record(1 << 40)] {
        let at = 3 * record::BYTES;
        records[at..at + record::BYTES].fill(0);
        records[at..at + torn.len()].copy_from_slice(torn);
        fs::write(&index, &records).unwrap();
        wait();
        assert!(!is_there(&second, 3) && !is_there(&folder.open(1 << 30), 3));
    }
    fill(&first, 3..5);
    wait();
    assert!((0..5).all(|it| is_there(&second, it)));
    assert_eq!(second.stats().damaged, 0);
}

#[test]
fn segments_of_processes_that_were_killed_are_taken_over() {
    let folder = Folder::new("killed");
    let all: Vec<Store> = (0..4).map(|_| folder.open(1 << 30)).collect();
    all.iter().zip([0..2, 2..4, 4..6, 6..8]).for_each(|(store, keys)| fill(store, keys));
    // Nobody gives back what was claimed; the locks go with the process.
    let names = segment::names(&folder.0.join(ADDRESS)).unwrap();
    let claimed = |name: &String| {
        let [index, values] = segment::files_of(&folder.0.join(ADDRESS), name);
        [index, values].map(|it| fs::metadata(it).unwrap().len())
    };
    assert!(names.len() == 4 && names.iter().all(|it| claimed(it) != [208, 256]));
    for store in &all {
        store.segment(store.own.load(Relaxed)).unwrap().unlock();
    }
    let store = folder.open(1 << 30);
    assert!((0..8).all(|it| is_there(&store, it)));
    assert!(names.iter().all(|it| claimed(it) == [208, 256]));
    all.into_iter().for_each(std::mem::forget);
}

#[test]
fn the_bound_holds_over_all_addresses() {
    let folder = Folder::new("bound");
    let limit = 5000;
    let store = folder.open(limit);
    fill(&store, 0..100);
    let other = Store::open(&store.room, "ffeeddccbbaa99887766554433221100", 1 << 20).unwrap();
    fill(&other, 0..100);
    assert!(folder_bytes(&folder.0) <= limit);
    let stats = store.stats();
    assert!(stats.written > 20 && stats.stopped.is_some_and(|it| it.contains("limit is reached")));
    assert!((0..stats.written).all(|it| is_there(&store, it)));
}

#[test]
fn the_table_has_a_bound() {
    let folder = Folder::new("table");
    let room = DiskRoom { folder: folder.0.clone(), limit: 1 << 30 };
    let store = Store::open(&room, ADDRESS, 3 * ENTRY_BYTES).unwrap();
    fill(&store, 0..9);
    let stats = store.stats();
    assert!(stats.entries == 3 && stats.table_bytes == 3 * ENTRY_BYTES);
    assert!(stats.stopped.is_some_and(|it| it.contains("memory")));
}

#[test]
fn a_store_that_has_enough_takes_no_more() {
    let folder = Folder::new("enough");
    let store = folder.open(1 << 30).up_to(3);
    fill(&store, 0..9);
    assert_eq!((store.stats().entries, store.stats().stopped), (3, None));
    // What was there before counts.
    drop(store);
    let store = folder.open(1 << 30).up_to(4);
    fill(&store, 5..9);
    assert_eq!((store.stats().entries, store.stats().written), (4, 1));
}

#[test]
fn what_is_carried_is_known_from_what_a_file_holds() {
    let folder = Folder::new("carried");
    let store = folder.open(1 << 30);
    fill(&store, 0..2);
    let mut scratch = Scratch::new();
    assert!(store.carry(1 << 64, (DType::Bytes, Keep::Value), &mut Out::grow(&mut scratch)));
    let text = scratch.tensor().as_text().to_vec();
    let mut copy = Scratch::new();
    assert!(store.carried(1 << 64, &text).unwrap().copy(&mut Out::grow(&mut copy)));
    assert_eq!(copy.tensor().as_slice::<f32>(), Some(&value(1)[..]));
    assert!(store.carried(0, &text).is_none(), "of another key");
    assert!(store.carried(1 << 64, &text[1..]).is_none() && store.carried(1 << 64, b"").is_none());
    // The same bytes in a file, left there by another process.
    drop(store);
    assert!(folder.open(1 << 30).carried(1 << 64, &text).is_none());
}

#[test]
fn values_are_there_in_each_codec() {
    let smooth: Vec<f32> = (0..600).map(|it| (it / 40) as f32).collect();
    let tensor = Tensor::new(&[20, 30], &smooth);
    for codec in codec::codecs_for(DType::F32) {
        let folder = Folder::new(&format!("codec-{codec}"));
        let open = || folder.open(1 << 30).encoded(Codecs::new(&[(codec, 1.0)]));
        open().insert(7, &tensor);
        let [_, values] = folder.files();
        let mut written = fs::read(&values).unwrap();
        assert!(codec == Codec::NONE || written.len() < 1500, "{codec}: {} bytes", written.len());
        let read = |store: &Store| {
            let mut scratch = Scratch::new();
            let there = store.read(7, &mut Out::grow(&mut scratch));
            there && scratch.tensor().as_slice::<f32>() == Some(&smooth[..])
        };
        assert!(read(&open()), "{codec}");
        // What a reader carries to the step that needs it.
        let (store, mut text) = (open(), Scratch::new());
        assert!(store.carry(7, (DType::Bytes, Keep::Value), &mut Out::grow(&mut text)));
        let carried = store.carried(7, text.tensor().as_text()).expect("it came along");
        assert_eq!(carried.tensor().is_none(), codec != Codec::NONE);
        let mut scratch = Scratch::new();
        assert!(carried.copy(&mut Out::grow(&mut scratch)));
        assert_eq!(scratch.tensor().as_slice::<f32>(), Some(&smooth[..]), "{codec}");
        drop(store);
        // A byte of the frame.
        let last = written.len() - 3;
        written[last] ^= 1;
        fs::write(&values, written).unwrap();
        let store = open();
        assert!(!read(&store) && store.stats().damaged == 1, "{codec}");
        store.insert(7, &tensor);
        assert!(read(&store) && read(&open()), "{codec}");
    }
}

#[test]
fn what_the_system_holds_is_used_where_it_lies() {
    let folder = Folder::new("in-place");
    let large: Vec<f32> = (0..20_000).map(|it| it as f32).collect();
    let fill = |store: &Store| store.insert(7, &Tensor::new(&[200, 100], &large));
    fill(&folder.open(1 << 30));
    let [_, values] = folder.files();
    let store = folder.open(1 << 30);
    let carry = |store: &Store| {
        let mut text = Scratch::new();
        assert!(store.carry(7, (DType::Bytes, Keep::Value), &mut Out::grow(&mut text)));
        text.tensor().as_text().len()
    };
    // It is read and verified once.
    assert_eq!(carry(&store), NONCE + record::BYTES + 80_000);
    if store.in_place(7).is_none() {
        assert_eq!(carry(&store), NONCE + record::BYTES + 80_000, "this system maps no files");
        return;
    }
    assert_eq!(carry(&store), NONCE);
    let found = store.in_place(7).unwrap();
    assert_eq!(found.tensor().unwrap().as_slice::<f32>(), Some(&large[..]));
    // So often that the pages are let go of.
    let is_right = |it: Carried<'_>| it.tensor().unwrap().as_slice::<f32>() == Some(&large[..]);
    assert!((0..500).all(|_| store.in_place(7).is_some_and(is_right)));
    // Who opens it anew looks at what is there.
    drop(store);
    let mut written = fs::read(&values).unwrap();
    written[40_000] ^= 1;
    fs::write(&values, &written).unwrap();
    let store = folder.open(1 << 30);
    assert!(store.in_place(7).is_none() && store.stats().damaged == 1);
    fill(&store);
    assert!(store.in_place(7).is_some_and(is_right));
    // Another program has cut it off: nobody touches what is not there.
    fs::write(&values, b"").unwrap();
    assert!(store.in_place(7).is_none());
    assert!(!store.read(7, &mut Out::grow(&mut Scratch::new())) && store.stats().damaged == 2);
}
