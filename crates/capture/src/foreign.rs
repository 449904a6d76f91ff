//! What a file that is no capture looks like.

use std::fmt::Write as _;

/// First bytes of files that people have lying beside their captures.
const KNOWN: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program (ELF)"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"\xfd7zXZ\x00", "xz-compressed data; unpack it first (gzip and zstd are read as they are)"),
    (b"BZh", "bzip2-compressed data; unpack it first (gzip and zstd are read as they are)"),
    (b"\x04\x22\x4d\x18", "lz4-compressed data; unpack it first (gzip and zstd are read as they are)"),
    (b"\x1f\x8b", "gzip-compressed data within compressed data; unpack it once"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data within compressed data; unpack it once"),
    (b"snoop\0\0\0", "a Solaris snoop capture; convert it with editcap"),
    (b"GMBU", "a Microsoft Network Monitor capture; convert it with editcap"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3", "an SQLite database"),
];

/// What the beginning of a file looks like.
pub(crate) fn looks_like(head: &[u8]) -> String {
    if let Some((_, name)) = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return (*name).to_owned();
    }
    let textual = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e) || *byte >= 0x80;
    if head.iter().all(textual) && std::str::from_utf8(&head[..head.len().min(12)]).is_ok() {
        let first = String::from_utf8_lossy(head);
        let first: String = first.lines().next().unwrap_or("").chars().take(30).filter(|c| !c.is_control()).collect();
        return format!("text (`{first}`)");
    }
    let mut bytes = String::new();
    for byte in head.iter().take(8) {
        let _ = write!(bytes, " {byte:02x}");
    }
    format!("something else (its first bytes are{bytes})")
}

#[cfg(test)]
mod tests {
    use super::looks_like;

    #[test]
    fn what_people_have_beside_captures_is_named() {
        assert_eq!(looks_like(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "a PNG image");
        assert_eq!(looks_like(b"hello\nworld"), "text (`hello`)");
        assert!(looks_like(b"BZh91AY").contains("bzip2"));
        assert_eq!(looks_like(&[1, 2, 3]), "something else (its first bytes are 01 02 03)");
    }
}
