//! Texts with units as numbers in base units, which can be drawn and compared without knowing how they were written.

use headway_units::{Bytes, Rate, Span};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Nothing: numbers and shares.
    One,
    Seconds,
    BitsPerSecond,
    Bytes,
    Packets,
}

/// The numbers of `texts`: seconds, bits per second, bytes, packets, shares (`"1%"` is 0.01), or without a unit. `None`
/// for a text that is none of these; nothing at all if no text is, or if they are not all in one unit.
pub(crate) fn in_base_units(texts: &[&str]) -> Option<Vec<Option<f64>>> {
    let found: Vec<Option<(Unit, f64)>> = texts.iter().map(|text| number(text)).collect();
    let (unit, _) = (*found.iter().find(|one| one.is_some())?)?;
    let is_alike = found.iter().flatten().all(|(other, _)| *other == unit);
    is_alike.then(|| found.into_iter().map(|one| one.map(|(_, number)| number)).collect())
}

fn number(text: &str) -> Option<(Unit, f64)> {
    let text = text.trim();
    let plain = |text: &str| text.trim().replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(number) = plain(text) {
        return Some((Unit::One, number));
    }
    if let Some(percent) = text.strip_suffix('%') {
        return Some((Unit::One, plain(percent)? / 100.0));
    }
    if let Some(packets) = text.strip_suffix("pkt") {
        return Some((Unit::Packets, plain(packets)?));
    }
    let span = || Some((Unit::Seconds, text.parse::<Span>().ok()?.picos() as f64 / 1e12));
    let rate = || Some((Unit::BitsPerSecond, text.parse::<Rate>().ok()?.bps() as f64));
    let bytes = || Some((Unit::Bytes, text.parse::<Bytes>().ok()?.get() as f64));
    span().or_else(rate).or_else(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_become_numbers_in_base_units() {
        let all = |texts: &[&str]| in_base_units(texts);
        assert_eq!(all(&["1us", "2.5 ms", "1min"]), Some(vec![Some(1e-6), Some(2.5e-3), Some(60.0)]));
        assert_eq!(all(&["1Gbps", "100 Mb/s"]), Some(vec![Some(1e9), Some(1e8)]));
        assert_eq!(all(&["16KB", "64KiB"]), Some(vec![Some(16e3), Some(65_536.0)]));
        assert_eq!(all(&["1%", "0.5"]), Some(vec![Some(0.01), Some(0.5)]));
        assert_eq!(all(&["10pkt", "none"]), Some(vec![Some(10.0), None]));
    }

    #[test]
    fn words_have_no_numbers_and_units_are_not_mixed() {
        assert_eq!(in_base_units(&["tcp", "dctcp", "inf", "nan", "true"]), None);
        assert_eq!(in_base_units(&["10pkt", "10KB"]), None, "packets and bytes cannot be on one axis");
        assert_eq!(in_base_units(&[]), None);
    }
}
