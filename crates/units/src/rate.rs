//! Rates in whole bits per second.

use std::fmt;
use std::str::FromStr;

use crate::text::{self, Notation, ParseError};
use crate::{Bytes, Span};

/// A rate in whole bits per second. May be zero; what a zero rate means is for its user to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

const K: u64 = 1_000;

impl Rate {
    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// `mbps` million bits per second.
    ///
    /// # Panics
    /// Past 1.8e19 bit/s.
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps.checked_mul(K * K).expect("rate out of range"))
    }

    /// `gbps` thousand million bits per second.
    ///
    /// # Panics
    /// Past 1.8e19 bit/s.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps.checked_mul(K * K * K).expect("rate out of range"))
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Whether nothing moves.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How long `bytes` take at this rate, rounded up to a picosecond; at most [`Span::MAX`].
    ///
    /// # Panics
    /// If the rate is zero.
    pub const fn transmission(self, bytes: Bytes) -> Span {
        assert!(self.0 > 0, "transmission at rate zero");
        let ps = (bytes.get() as u128 * 8_000_000_000_000).div_ceil(self.0 as u128);
        Span::from_picos(if ps > u64::MAX as u128 { u64::MAX } else { ps as u64 })
    }

    /// How many whole bytes pass in `span`, rounded down.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        let bytes = self.0 as u128 * span.picos() as u128 / 8_000_000_000_000;
        Bytes::new(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}

const NOTATION: Notation = Notation {
    quantity: "a rate",
    grain: "bits per second",
    example: "\"100Mbps\"",
    units: "bps, kbps, Mbps, Gbps, Tbps",
    most: "18446744Tbps",
    table: &[
        ("bps", 1),
        ("bit/s", 1),
        ("kbps", K),
        ("kbit/s", K),
        ("kb/s", K),
        ("Mbps", K * K),
        ("Mbit/s", K * K),
        ("Mb/s", K * K),
        ("Gbps", K * K * K),
        ("Gbit/s", K * K * K),
        ("Gb/s", K * K * K),
        ("Tbps", K * K * K * K),
        ("Tbit/s", K * K * K * K),
        ("Tb/s", K * K * K * K),
    ],
    hint: |unit| match unit {
        "B/s" | "KB/s" | "kB/s" | "MB/s" | "GB/s" | "MBps" | "GBps" | "KBps" | "kBps" => {
            " (rates are in bits: one byte per second is 8 bps)"
        }
        "mbps" | "gbps" | "MBPS" | "GBPS" | "Kbps" | "M" | "G" | "mbit/s" | "gbit/s" => {
            " (capitals count: `kbps`, `Mbps`, `Gbps`)"
        }
        _ => "",
    },
};

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        NOTATION.parse(text).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("Tbps", K * K * K * K), ("Gbps", K * K * K), ("Mbps", K * K), ("kbps", K), ("bps", 1)];
        text::print(f, self.0, &units)
    }
}
