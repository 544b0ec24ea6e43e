//! Archives as `tar` has them, written one member after the other (ustar: POSIX.1-1988).

/// Bytes of a header, and what members are filled up to.
const BLOCK: usize = 512;

/// Appends a member to an archive: any time, owner 0, readable by all.
pub(crate) fn push(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let mut header = [0_u8; BLOCK];
    let size = format!("{:011o}", bytes.len());
    let fields: [(usize, &[u8]); 8] = [
        (0, name.as_bytes()),
        (100, b"0000644"),
        (108, b"0000000"),
        (116, b"0000000"),
        (124, size.as_bytes()),
        (136, b"00000000000"),
        // The sum of the header is taken with spaces in the sum's place.
        (148, b"        "),
        (156, b"0"),
    ];
    for (at, field) in fields {
        header[at..at + field.len()].copy_from_slice(field);
    }
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|it| u32::from(*it)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    archive.extend_from_slice(&header);
    archive.extend_from_slice(bytes);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
}

/// What ends an archive.
pub(crate) fn finish(archive: &mut Vec<u8>) {
    archive.resize(archive.len() + 2 * BLOCK, 0);
}
