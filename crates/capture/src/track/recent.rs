//! Segments that the capture has twice: of a mirror of two ports, of a switch's two sides, or of two captures in one.

use crate::packet::Segment;

/// The table has so many sets of [`WAYS`] places: 256 KB, which the second level of a cache holds. The segments of 1 ms
/// at 100 Gb/s fit.
const SETS: usize = 1 << 12;
const WAYS: usize = 4;

/// The segments of the last moment, by all that a copy has in common with the first. Those of most connections have
/// nothing but their time to tell a copy from a retransmission: IPv6 has no identification, and Linux sends 0 in answers
/// to SYNs.
#[derive(Debug)]
pub(super) struct Recent(Vec<[Seen; WAYS]>);

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    print: u64,
    time: u64,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent(vec![[Seen::default(); WAYS]; SETS])
    }
}

impl Recent {
    /// When the same segment was captured last, if that is remembered; and remembers this one, in the place of the oldest
    /// of its set.
    pub fn again(&mut self, now: u64, segment: &Segment<'_>) -> Option<u64> {
        let print = print(segment);
        let set = &mut self.0[(print >> 32) as usize % SETS];
        if let Some(seen) = set.iter_mut().find(|seen| seen.print == print) {
            return Some(std::mem::replace(&mut seen.time, now));
        }
        let oldest = set.iter_mut().min_by_key(|seen| seen.time)?;
        *oldest = Seen { print, time: now };
        None
    }
}

/// A number that segments have in common only if they are the same, but for what routers change on the way. Two others
/// have it in common once in 2⁶⁴ pairs.
fn print(segment: &Segment<'_>) -> u64 {
    let words = |address: [u8; 16]| {
        let (high, low) = address.split_at(8);
        [high, low].map(|half| half.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    };
    let [a, b] = words(segment.source.0);
    let [c, d] = words(segment.destination.0);
    let ports = u64::from(segment.source_port) << 16 | u64::from(segment.destination_port);
    let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgement);
    let rest = u64::from(segment.payload) << 32 | u64::from(segment.id) << 16 | u64::from(segment.flags);
    let print = [a, b, c, d, ports, numbers, rest].into_iter().fold(1, fold);
    let chunks = segment.options.chunks(8);
    // Never the print of an empty place.
    chunks.map(|chunk| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))).fold(print, fold).max(1)
}

/// `print` with another word: the halves of a product of 128 bits, folded, as wyhash does.
fn fold(print: u64, word: u64) -> u64 {
    let product = u128::from(print ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}
