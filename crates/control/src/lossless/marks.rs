//! Where queues should mark (ECN), by rate and round trip.

use headway_units::{Bytes, Rate, Span};

/// A threshold for DCTCP: C·RTT/7, below which its queue runs empty (Alizadeh et al., SIGCOMM 2010, eq. 13), and at least
/// 30 KB for each 10 Gb/s, since hosts send in bursts (HPCC, SIGCOMM 2019, §5.1).
pub fn dctcp_mark(rate: Rate, rtt: Span) -> Bytes {
    let theory = rate.bytes_in(rtt).get().div_ceil(7);
    let bursts = u128::from(rate.bps()) * 30_000 / 10_000_000_000;
    Bytes::new(theory.max(u64::try_from(bursts).unwrap_or(u64::MAX)))
}

/// A ramp of marks at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    /// No marks up to this.
    pub min: Bytes,
    /// All are marked beyond this.
    pub max: Bytes,
    /// The probability at `max`.
    pub probability: f64,
}

/// A ramp for DCQCN: 100 KB and 400 KB for each 25 Gb/s, 20 % (HPCC, SIGCOMM 2019, §5.1, which took them from the vendor).
/// The round trip is not in it: senders of DCQCN act by timers.
pub fn dcqcn_ramp(rate: Rate) -> Ramp {
    let scaled = |bytes: u64| u64::try_from(u128::from(rate.bps()) * u128::from(bytes) / 25_000_000_000);
    let [min, max] = [100_000, 400_000].map(|bytes| Bytes::new(scaled(bytes).unwrap_or(u64::MAX)));
    Ramp { min, max, probability: 0.2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HPCC's settings for 25 and 100 Gb/s; 100 us at 10 Gb/s are 125,000 B, and a seventh of that is less than 30 KB.
    #[test]
    fn marks_are_the_published_ones() {
        let ramp = |min, max| Ramp { min: Bytes::from_kb(min), max: Bytes::from_kb(max), probability: 0.2 };
        assert_eq!(dcqcn_ramp(Rate::from_gbps(25)), ramp(100, 400));
        assert_eq!(dcqcn_ramp(Rate::from_gbps(100)), ramp(400, 1600));
        assert_eq!(dctcp_mark(Rate::from_gbps(10), Span::from_micros(100)), Bytes::from_kb(30));
        assert_eq!(dctcp_mark(Rate::from_gbps(100), Span::from_micros(10)), Bytes::from_kb(300));
        // 280 us are 350,000 B, whose seventh is 50,000
        assert_eq!(dctcp_mark(Rate::from_gbps(10), Span::from_micros(280)), Bytes::from_kb(50));
    }
}
