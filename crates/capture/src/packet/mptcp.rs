//! MPTCP's options, as far as they say which connection a subflow belongs to and how much of its data is new.
//!
//! Sources: RFC 8684 (version 1) §3.1, §3.2, §3.3; RFC 6824 (version 0), same sections.

use sha1::Sha1;
use sha2::{Digest, Sha256};

const KIND: u8 = 30;

/// Which RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 6824: tokens by SHA-1.
    V0,
    /// RFC 8684: tokens by SHA-256.
    V1,
}

/// An option of MPTCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mptcp {
    /// Begins a connection.
    Capable {
        /// Which RFC.
        version: Version,
        /// The sender's key, if it is there.
        sender: Option<u64>,
        /// The receiver's key, if it is there.
        receiver: Option<u64>,
        /// With the first data: its length.
        length: u16,
    },
    /// Adds a subflow to the connection of this token, which is the receiver's.
    Join {
        /// The token; it is in the SYN alone.
        token: Option<u32>,
    },
    /// Says where data of a subflow belongs.
    Data {
        /// The data sequence number, and whether it has all 64 bits.
        number: u64,
        /// See `number`.
        wide: bool,
        /// Bytes of data.
        length: u16,
    },
}

/// The first option of MPTCP that says something of use in a segment's options.
pub fn find(mut options: &[u8]) -> Option<Mptcp> {
    loop {
        let (&kind, rest) = options.split_first()?;
        match kind {
            0 => return None,
            1 => options = rest,
            _ => {
                let length = usize::from(*rest.first()?);
                let option = options.get(..length).filter(|_| length >= 2)?;
                if kind == KIND
                    && let Some(found) = read(&option[2..])
                {
                    return Some(found);
                }
                options = &options[length..];
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// `option` without kind and length.
fn read(option: &[u8]) -> Option<Mptcp> {
    match option.first()? >> 4 {
        0 => Some(Mptcp::Capable {
            version: match option[0] & 0xf {
                0 => Version::V0,
                1 => Version::V1,
                _ => return None,
            },
            sender: long(option, 2),
            receiver: long(option, 10),
            length: option.get(18..20).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]])),
        }),
        // Of 12 bytes in a SYN, 16 in its answer, 24 in the third segment.
        1 => Some(Mptcp::Join { token: if option.len() == 10 { word(option, 2) } else { None } }),
        2 => {
            let flags = *option.get(1)?;
            // M: a mapping is there. A, a: an acknowledgement, of 8 bytes.
            if flags & 0x04 == 0 {
                return None;
            }
            let at = 2 + if flags & 0x01 == 0 {
                0
            } else if flags & 0x02 == 0 {
                4
            } else {
                8
            };
            let wide = flags & 0x08 != 0;
            let (number, after) =
                if wide { (long(option, at)?, at + 8) } else { (u64::from(word(option, at)?), at + 4) };
            let length = u16::from_be_bytes(*option.get(after + 4..)?.first_chunk()?);
            // F: the last byte is no data but its end (§3.3.3).
            let length = if flags & 0x10 == 0 { length } else { length.saturating_sub(1) };
            (length > 0).then_some(Mptcp::Data { number, wide, length })
        }
        _ => None,
    }
}

/// The digest's first 4 bytes and its last 8 of the first 20 or 32.
fn digest(version: Version, key: u64) -> (u32, u64) {
    fn ends(digest: &[u8]) -> (u32, u64) {
        (word(digest, 0).unwrap_or(0), long(digest, digest.len() - 8).unwrap_or(0))
    }
    match version {
        Version::V0 => ends(&Sha1::digest(key.to_be_bytes())),
        Version::V1 => ends(&Sha256::digest(key.to_be_bytes())),
    }
}

/// The token of a key: the first 32 bits of its hash (§3.2).
pub fn token(version: Version, key: u64) -> u32 {
    digest(version, key).0
}

/// The data sequence number of the first byte that the owner of a key sends: one after the initial number, which is the
/// last 64 bits of the key's hash (§3.1).
pub fn expected_data_number(version: Version, key: u64) -> u64 {
    digest(version, key).1.wrapping_add(1)
}
