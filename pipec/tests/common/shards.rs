//! TFRecords and tar archives, written by hand as their standards have them.

/// A TFRecord file of these records.
pub(crate) fn tfrecord(records: &[Vec<u8>]) -> Vec<u8> {
    let framed = |it: &Vec<u8>| {
        let len = (it.len() as u64).to_le_bytes();
        [&len[..], &masked(&len).to_le_bytes(), it, &masked(it).to_le_bytes()].concat()
    };
    records.iter().flat_map(framed).collect()
}

/// The checksum of TFRecord: CRC-32C, bit by bit, and masked.
fn masked(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A feature of a `tf.train.Example`.
pub(crate) enum Feature<'a> {
    Bytes(&'a [&'a [u8]]),
    Floats(&'a [f32]),
    Ints(&'a [i64]),
}

/// A message `tf.train.Example`.
pub(crate) fn example(features: &[(&str, Feature<'_>)]) -> Vec<u8> {
    let entry = |(name, feature): &(&str, Feature<'_>)| {
        field(1, &[field(1, name.as_bytes()), field(2, &message(feature))].concat())
    };
    field(1, &features.iter().flat_map(entry).collect::<Vec<_>>())
}

/// A message `tf.train.SequenceExample`.
pub(crate) fn sequence(
    context: &[(&str, Feature<'_>)],
    lists: &[(&str, Vec<Feature<'_>>)],
) -> Vec<u8> {
    let entry = |(name, steps): &(&str, Vec<Feature<'_>>)| {
        let steps: Vec<u8> = steps.iter().flat_map(|it| field(1, &message(it))).collect();
        field(1, &[field(1, name.as_bytes()), field(2, &steps)].concat())
    };
    let lists: Vec<u8> = lists.iter().flat_map(entry).collect();
    // What an example has in its only field is what this has in the first.
    [example(context), field(2, &lists)].concat()
}

fn message(feature: &Feature<'_>) -> Vec<u8> {
    match feature {
        Feature::Bytes(all) => {
            field(1, &all.iter().flat_map(|it| field(1, it)).collect::<Vec<_>>())
        }
        Feature::Floats(all) => {
            field(2, &field(1, &all.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>()))
        }
        Feature::Ints(all) => field(
            3,
            &field(1, &all.iter().flat_map(|it| varint(it.cast_unsigned())).collect::<Vec<_>>()),
        ),
    }
}

fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A tar archive (`ustar`) of these files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive: Vec<u8> =
        files.iter().flat_map(|(path, data)| member(path, b'0', data)).collect();
    archive.extend([0; 1024]);
    archive
}

/// A header, what it is about, and what fills that up.
pub(crate) fn member(path: &str, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|it| u32::from(*it)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut member = [&header[..], data].concat();
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

/// A file as `np.save` writes it.
pub(crate) fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{text:117}\n").bytes());
    file.extend(elements);
    file
}
