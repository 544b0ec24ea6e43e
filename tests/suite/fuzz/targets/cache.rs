//! A folder of values that somebody may have changed: what says what it holds, its index, its values.

use super::scratch::{Folder, split};
use driver::store::{self, Removal};
use runtime::{DiskRoom, Store};
use std::fs;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed as hash};

thread_local! {
    static FOLDER: Folder = Folder::new("cache");
}

/// The folder of the values.
const ADDRESS: &str = "00112233445566778899aabbccddeeff";
/// Bytes of a record of an index, as they are documented in `runtime/src/cache/record.rs`.
const RECORD: usize = 104;
const VALUE_CHECK: usize = 88;
const CHECK: usize = 96;
/// Memory for the table of the values.
const TABLE_BYTES: u64 = 1 << 20;

/// Lists, verifies and opens a folder. The first byte says which checksums are made right; then come the
/// length of what says what it holds, the number of records, those, and the values.
pub(crate) fn cache(bytes: &[u8]) {
    let (way, rest) = split(bytes);
    let (lens, rest) = rest.split_at(rest.len().min(2));
    let [about, records] = [0, 1].map(|it| lens.get(it).map_or(0, |it| usize::from(*it)));
    let (about, rest) = rest.split_at(rest.len().min(about * 4));
    let (index, values) = rest.split_at(rest.len().min(records * RECORD + usize::from(way >> 2)));
    let index = sealed(index, values, way);
    FOLDER.with(|folder| {
        let place = folder.path().join(ADDRESS);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).expect("there is room");
        folder.write(&format!("{ADDRESS}/in-use.lock"), b"");
        folder.write(&format!("{ADDRESS}/about.json"), about);
        folder.write(&format!("{ADDRESS}/1-0a.idx"), &index);
        folder.write(&format!("{ADDRESS}/1-0a.seg"), values);
        looked_at(folder, index.len() / RECORD);
    });
}

fn looked_at(folder: &Folder, records: usize) {
    let listed = store::list(folder.path()).expect("it can be listed");
    assert_eq!(listed.len(), 1);
    assert!(listed[0].entries as usize <= records && listed[0].bytes < 1 << 20);
    let mut seen = Vec::new();
    let sound =
        store::verify(folder.path(), &mut |it| seen.push(it.clone())).expect("it can be read");
    assert_eq!(sound, seen.iter().all(|it| it.damaged == 0 && it.unreadable.is_none()));
    assert!(seen[0].entries + seen[0].damaged <= records as u64, "{seen:?}");

    // A run that may write forgets what is damaged, so that it is told of once. Where it was the newer one
    // of two values with one key, the older one comes to light.
    let room = DiskRoom { folder: folder.path().to_owned(), limit: 1 << 30 };
    let damage = |_: &usize| {
        let store = Store::open(&room, ADDRESS, TABLE_BYTES).expect("it can be opened");
        store.verify()
    };
    let rounds = (0..=records + 1).take_while(|it| damage(it) > 0).count();
    assert!(rounds <= records, "damage is told of again and again");

    let all = Removal { max: Some(0), older: None };
    let left = store::list(folder.path()).expect("it can be listed");
    let removed = store::gc(folder.path(), &all).expect("it can be tidied");
    // Where nothing takes any room, nothing needs to go.
    let gone = usize::from(left[0].bytes > 0);
    assert_eq!((removed.addresses.len(), removed.in_use), (gone, 0));
}

/// The records with the checksums that `way` asks for: of themselves, and of the values too.
fn sealed(index: &[u8], values: &[u8], way: u8) -> Vec<u8> {
    let (mut index, seed) = (index.to_vec(), xxh3_64(ADDRESS.as_bytes()));
    for record in index.chunks_exact_mut(RECORD) {
        let number = |at: usize| {
            let bytes = record[at..at + 8].try_into().expect("there are eight");
            usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        let (start, len) = (number(16), number(24));
        let value = start.checked_add(len).and_then(|end| values.get(start..end));
        if let (1, Some(value)) = (way & 1, value) {
            let check = hash(value, hash(&record[..VALUE_CHECK], seed));
            record[VALUE_CHECK..CHECK].copy_from_slice(&check.to_le_bytes());
        }
        if way & 2 == 0 {
            let check = hash(&record[..CHECK], seed);
            record[CHECK..].copy_from_slice(&check.to_le_bytes());
        }
    }
    index
}

/// Folders of a few values, some of which cannot be.
pub(super) fn stores() -> Vec<Vec<u8>> {
    let about = "{\"format\":1,\"pipeline\":\"p\",\"step\":\"s\",\"function\":\"f\",\"computed\":\"1\",\
                 \"inputs\":\"2\",\"files\":1,\"bytes\":2,\"created\":3,\"pipec\":\"0.1.0\"}    ";
    let about = &about.as_bytes()[..about.len() / 4 * 4];
    let values: Vec<u8> = (0..96).collect();
    // Key, offset, dtype, extents.
    let (many, huge) = (u64::MAX / 2, 1 << 62);
    let records: [(u64, u64, u8, &[u64]); 8] = [
        (1, 0, 1, &[2, 3]),
        (2, 8, 1, &[8]),
        (1, 16, 1, &[4]),
        (3, u64::MAX - 3, 1, &[8]),
        (4, 0, 1, &[0, huge, huge]),
        (5, 0, 1, &[many, many]),
        (6, 90, 1, &[1, 1, 1, 1, 1, 16]),
        (7, 0, 14, &[5]),
    ];
    let record = |&(key, offset, dtype, extents): &(u64, u64, u8, &[u64])| {
        let mut record = vec![0; RECORD];
        let len = extents.iter().fold(1_u64, |all, it| all.wrapping_mul(*it));
        record[8..16].copy_from_slice(&key.to_le_bytes());
        record[16..24].copy_from_slice(&offset.to_le_bytes());
        record[24..32].copy_from_slice(&len.to_le_bytes());
        (record[32], record[33]) = (dtype, extents.len() as u8);
        for (at, extent) in (40..).step_by(8).zip(extents) {
            record[at..at + 8].copy_from_slice(&extent.to_le_bytes());
        }
        record
    };
    let index: Vec<u8> = records.iter().flat_map(record).collect();
    let lens = [(about.len() / 4) as u8, records.len() as u8];
    [1, 0, 2, 3, 29].map(|way| [&[way], &lens[..], about, &index, &values].concat()).to_vec()
}
