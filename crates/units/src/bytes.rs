//! Amounts of data in whole bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

use crate::text::{self, Notation, ParseError};

/// An amount of data in whole bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

const K: u64 = 1_000;

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest amount.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// `kb` thousand bytes (KB; 1,024 bytes are a KiB).
    ///
    /// # Panics
    /// Past 1.8e19 bytes.
    pub const fn from_kb(kb: u64) -> Bytes {
        Bytes(kb.checked_mul(K).expect("bytes out of range"))
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether this is nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This minus `other`, or nothing.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// This plus `other`, or `None` past the end of the range.
    pub const fn checked_add(self, other: Bytes) -> Option<Bytes> {
        match self.0.checked_add(other.0) {
            Some(n) => Some(Bytes(n)),
            None => None,
        }
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.checked_add(other.0).expect("bytes out of range"))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.checked_sub(other.0).expect("negative amount of bytes"))
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(amounts: I) -> Bytes {
        amounts.fold(Bytes::ZERO, Add::add)
    }
}

const NOTATION: Notation = Notation {
    quantity: "an amount of data",
    grain: "bytes",
    example: "\"128KB\"",
    units: "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)",
    most: "18446744TB",
    table: &[
        ("B", 1),
        ("KB", K),
        ("kB", K),
        ("MB", K * K),
        ("GB", K * K * K),
        ("TB", K * K * K * K),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
    hint: |unit| match unit {
        "b" | "kb" | "Kb" | "Mb" | "Gb" | "kbit" | "Mbit" | "mb" | "gb" | "k" | "K" | "M" | "G" => {
            " (bits and bytes are never guessed: bytes are `B`, `KB`, `MB`)"
        }
        _ => "",
    },
};

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        NOTATION.parse(text).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let decimal = [("TB", K * K * K * K), ("GB", K * K * K), ("MB", K * K), ("KB", K), ("B", 1)];
        // Powers of two print as they were most likely written; everything else in decimal.
        if self.0 > 0 && !self.0.is_multiple_of(K) {
            for (name, scale) in binary {
                if self.0.is_multiple_of(scale) {
                    return f.pad(&format!("{}{name}", self.0 / scale));
                }
            }
        }
        text::print(f, self.0, &decimal)
    }
}
