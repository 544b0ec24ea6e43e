//! Pictures become the pixels that libwebp makes of them, in all tiers.

#[path = "hostile/target.rs"]
#[expect(dead_code, reason = "only the files are of use here")]
mod target;

use target::{goldens, pixels};
use webp::{Error, File, Kind, Tier};

/// FNV-1a of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |value, &byte| {
        (value ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

#[test]
fn goldens_are_those_of_libwebp() {
    let table = include_str!("goldens/pixels.tsv");
    let rows = table.lines().filter(|it| !it.starts_with('#'));
    let files = goldens();
    assert_eq!(rows.clone().count(), files.len());
    for row in rows {
        let [name, height, width, expected] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row:?}");
        };
        let (_, bytes) = files.iter().find(|it| it.0 == name).unwrap();
        let file = File::read(bytes).unwrap();
        let extents = [file.height, file.width].map(|it| it.to_string());
        assert_eq!([height, width], [&extents[0], &extents[1]], "{name}");
        for tier in Tier::available() {
            let rgba = pixels(&file, tier, 4).unwrap();
            assert_eq!(format!("{:016x}", fnv(&rgba)), expected, "{name} with {tier:?}");
            let rgb = pixels(&file, tier, 3).unwrap();
            for (i, (rgb, rgba)) in rgb.chunks_exact(3).zip(rgba.chunks_exact(4)).enumerate() {
                assert_eq!(*rgb, rgba[..3], "{name} with {tier:?}, pixel {i}");
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_refused() {
    for (name, bytes) in goldens() {
        for len in 0..bytes.len() {
            match File::read(&bytes[..len]) {
                Err(Error::Truncated) => assert!(len >= 12, "{name}: {len} bytes"),
                // Before the names the bytes may be anything.
                found => assert!(found.is_err() && len < 12, "{name}: {len} bytes: {found:?}"),
            }
        }
    }
}

#[test]
fn a_frame_may_come_with_flags_and_other_chunks() {
    let (_, bytes) = goldens().into_iter().find(|it| it.0 == "even.webp").unwrap();
    let expected = pixels(&File::read(&bytes).unwrap(), Tier::best(), 3).unwrap();
    let chunk = |name: &[u8], body: &[u8]| {
        let len = (body.len() as u32).to_le_bytes();
        [name, &len, body, &[0][..body.len() % 2]].concat()
    };
    let with = |flags: u8, width: u8, chunks: &[Vec<u8>]| {
        let extended = chunk(b"VP8X", &[flags, 0, 0, 0, width - 1, 0, 0, 63, 0, 0]);
        let body = [b"WEBP".to_vec(), extended, chunks.concat()].concat();
        [&b"RIFF"[..], &(body.len() as u32).to_le_bytes(), &body].concat()
    };
    let frame = bytes[12..].to_vec();
    let all = with(0x08, 48, &[chunk(b"ODD ", b"xyz"), frame.clone(), chunk(b"EXIF", b"II*\0")]);
    let file = File::read(&all).unwrap();
    assert_eq!((file.exif, file.has_alpha, file.kind), (Some(&b"II*\0"[..]), false, Kind::Lossy));
    assert!(pixels(&file, Tier::best(), 3).unwrap() == expected);

    let other = with(0, 49, std::slice::from_ref(&frame));
    assert!(matches!(File::read(&other), Err(Error::Damaged(_))));
    assert!(matches!(File::read(&with(0, 48, &[])), Err(Error::Damaged(_))));
    let animated = with(0x02, 48, &[]);
    let file = File::read(&animated).unwrap();
    assert_eq!(file.kind, Kind::Animated);
    assert!(matches!(pixels(&file, Tier::best(), 3), Err(Error::Unsupported(_))));
}

#[test]
fn the_buffer_has_the_length_of_the_picture() {
    let (_, bytes) = goldens().into_iter().find(|it| it.0 == "odd.webp").unwrap();
    let file = File::read(&bytes).unwrap();
    let mut decoder = webp::Decoder::new();
    let n = file.width * file.height;
    let mut room = vec![0; 4 * n];
    assert_eq!(decoder.rgb(&file, &mut room), Err(Error::Buffer));
    assert_eq!(decoder.rgb(&file, &mut room[..3 * n - 1]), Err(Error::Buffer));
    assert_eq!(decoder.rgba(&file, &mut room[..3 * n]), Err(Error::Buffer));
    assert_eq!(decoder.rgb(&file, &mut room[..3 * n]), Ok(()));
}
