//! Quantities as text: exact both ways, and pointed errors.

use headway_units::{Bytes, ParseError, Rate, Span, Time};
use proptest::prelude::*;

fn span(text: &str) -> Span {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn times_are_read_exactly() {
    assert_eq!(span("25us"), Span::from_micros(25));
    assert_eq!(span("25 us"), Span::from_micros(25));
    assert_eq!(span("0.5us"), Span::from_nanos(500));
    assert_eq!(span("12.24µs"), Span::from_picos(12_240_000));
    assert_eq!(span("1.5min"), Span::from_secs(90));
    assert_eq!(span("1_000ms"), Span::from_secs(1));
    assert_eq!(span("0.001ns"), Span::from_picos(1));
    assert_eq!(span("0s"), Span::ZERO);
}

#[test]
fn rates_and_bytes_are_read_exactly() {
    assert_eq!("100Mbps".parse(), Ok(Rate::from_mbps(100)));
    assert_eq!("2.5Gb/s".parse(), Ok(Rate::from_mbps(2500)));
    assert_eq!("128KB".parse(), Ok(Bytes::new(128_000)));
    assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
    assert_eq!("1.5KiB".parse(), Ok(Bytes::new(1536)));
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("", "empty"),
        ("100", "has no unit"),
        ("-3ms", "is negative"),
        ("ms", "does not start with a plain decimal number"),
        ("1.2.3s", "does not start with a plain decimal number"),
        ("3.s", "does not start with a plain decimal number"),
        ("5m", "minutes or milliseconds"),
        ("5 parsecs", "unknown unit `parsecs`"),
        ("0.0001ns", "not a whole number of picoseconds"),
        ("99999999999999999999h", "too large"),
        ("20000000s", "too large"),
    ];
    for (text, part) in cases {
        let error = text.parse::<Span>().expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let bits = "100MB/s".parse::<Rate>().unwrap_err().to_string();
    assert!(bits.contains("rates are in bits"), "{bits}");
    let case = "100mbps".parse::<Rate>().unwrap_err().to_string();
    assert!(case.contains("capitals count"), "{case}");
    let bytes = "128Kb".parse::<Bytes>().unwrap_err().to_string();
    assert!(bytes.contains("never guessed"), "{bytes}");
    assert!(matches!("0.3B".parse::<Bytes>(), Err(ParseError::Grain { .. })));
}

#[test]
fn printing_takes_the_unit_that_reads_best() {
    let shown = |ps| Span::from_picos(ps).to_string();
    assert_eq!(shown(0), "0s");
    assert_eq!(shown(25_000_000), "25us");
    assert_eq!(shown(500_000), "500ns");
    assert_eq!(shown(1_250_000_000_000), "1.25s");
    assert_eq!(shown(1_000_000_000_001), "1000000.000001us");
    assert_eq!(Rate::from_mbps(2500).to_string(), "2.5Gbps");
    assert_eq!(Bytes::new(65_536).to_string(), "64KiB");
    assert_eq!(Bytes::new(64_000).to_string(), "64KB");
    assert_eq!(Bytes::new(1460).to_string(), "1.46KB");
}

#[test]
fn transmission_rounds_up_to_a_picosecond() {
    // 1,538 bytes at 10 Gb/s: 1538 · 0.8 ns
    assert_eq!(Rate::from_gbps(10).transmission(Bytes::new(1538)), Span::from_picos(1_230_400));
    // 1 byte at 3 bit/s: 8/3 s = 2.666… s, rounded up
    assert_eq!(Rate::from_bps(3).transmission(Bytes::new(1)), Span::from_picos(2_666_666_666_667));
    assert_eq!(Rate::from_bps(1).transmission(Bytes::MAX), Span::MAX);
    assert_eq!(Rate::from_mbps(100).bytes_in(Span::from_millis(10)), Bytes::new(125_000));
}

#[test]
#[should_panic(expected = "negative time difference")]
fn time_differences_are_not_negative() {
    let _ = Time::ZERO - Time::from_picos(1);
}

#[test]
fn seconds_as_floats_are_clamped() {
    assert_eq!(Span::from_secs_f64(0.3), Span::from_millis(300));
    for odd in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(Span::from_secs_f64(odd), Span::ZERO);
    }
    assert_eq!(Span::from_secs_f64(f64::INFINITY), Span::MAX);
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(n in any::<u64>(), shift in 0u32..64) {
        let n = n >> shift;
        prop_assert_eq!(Span::from_picos(n).to_string().parse(), Ok(Span::from_picos(n)));
        prop_assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
        prop_assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
    }

    /// Against 256-bit reasoning in u128: the time is the least that covers the bits.
    #[test]
    fn transmission_is_the_least_time_that_covers_the_bytes(bps in 1u64..=1_000_000_000_000, bytes in 0u64..=1_000_000) {
        let ps = u128::from(Rate::from_bps(bps).transmission(Bytes::new(bytes)).picos());
        let need = u128::from(bytes) * 8 * 1_000_000_000_000;
        prop_assert!(ps * u128::from(bps) >= need);
        prop_assert!(ps == 0 || (ps - 1) * u128::from(bps) < need);
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = text.parse::<Span>();
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Bytes>();
    }

    #[test]
    fn no_number_panics(text in "[0-9._]{1,60}[a-zA-Z/]{0,6}") {
        let _ = text.parse::<Span>();
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Bytes>();
    }
}
