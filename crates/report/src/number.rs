//! Numbers in cells: one unit for a whole table, three significant digits.

use headway_results::{Estimate, Metric};

/// The unit that the numbers of a table are divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// `ms`, `Mb/s`, …; empty for counts and ratios.
    pub name: &'static str,
    factor: f64,
    whole: bool,
}

impl Scale {
    /// The largest unit of `metric` in which the middle one of `values` is at least 1, so that neither a few
    /// tiny nor a few huge ones decide.
    pub fn fitting(metric: Metric, values: impl IntoIterator<Item = f64>) -> Scale {
        let units: &[(&str, f64)] = match metric.unit() {
            "s" => &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)],
            "1/s" => &[("1/s", 1.0)],
            "B" => &[("MB", 1e6), ("KB", 1e3), ("B", 1.0)],
            _ if metric.is_share() => &[("%", 0.01)],
            "bit/s" => &[("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)],
            unit => return Scale { name: "", factor: 1.0, whole: unit == "count" },
        };
        let mut values: Vec<f64> = values.into_iter().map(f64::abs).filter(|v| *v > 0.0 && v.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        // With nothing to go by: ms and Mb/s.
        let middle = values.get(values.len() / 2).copied();
        let chosen = match middle {
            // A hair of slack, so that 0.9999 ms is 1.00 ms and not 1000 us.
            Some(middle) => units.iter().find(|(_, factor)| middle / factor >= 0.9995),
            None => units.iter().find(|(name, _)| ["ms", "Mb/s"].contains(name)),
        };
        let &(name, factor) = chosen.unwrap_or(&units[units.len() - 1]);
        Scale { name, factor, whole: false }
    }

    /// The value and its interval: `± 1.2` with half its width, to no more decimals than the value has, or its ends,
    /// `[9.1, 14.9]`, where one is further from the value than the other by a tenth. An interval that is narrower than the
    /// digits of the value is not shown.
    pub fn show(self, estimate: &Estimate) -> Option<(String, Option<String>)> {
        let value = estimate.value? / self.factor;
        let decimals = if self.whole && value.fract() == 0.0 { 0 } else { decimals(value) };
        let ends = estimate.low.zip(estimate.high).map(|(low, high)| (low / self.factor, high / self.factor));
        let interval = ends.and_then(|(low, high)| {
            let (below, above) = (value - low, high - value);
            let half = f64::midpoint(below, above);
            let text = format!("{half:.0$}", decimals.min(self::decimals(half)));
            if (above - below).abs() > 0.1 * half {
                return Some(format!("[{}, {}]", three_digits(low), three_digits(high)));
            }
            text.parse().is_ok_and(|shown: f64| shown > 0.0).then(|| format!("± {text}"))
        });
        Some((format!("{value:.decimals$}"), interval))
    }

    /// `value` in this unit, to three digits; a whole number of counts to all of its own.
    pub fn number(self, value: f64) -> String {
        let value = value / self.factor;
        if self.whole && value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
    }
}

/// `value` to three significant digits, all of its integer digits if it has more.
pub fn three_digits(value: f64) -> String {
    format!("{value:.0$}", decimals(value))
}

/// As many decimals as make three significant digits; at most six.
fn decimals(value: f64) -> usize {
    // Rounded to three digits first: 9.999 is 10.0.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => 0,
        m if !m.is_finite() || m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 1.0 => 2,
        m if m >= 0.1 => 3,
        m if m >= 0.01 => 4,
        m if m >= 0.001 => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean() -> Metric {
        "fct.mean".parse().unwrap()
    }

    #[test]
    fn three_digits_count_from_the_first_that_is_not_zero() {
        let cases = [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (0.5, "0.500"),
            (1.234, "1.23"),
            (9.999, "10.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (123.4, "123"),
            (12_345.6, "12346"),
            (-1.5, "-1.50"),
        ];
        for (value, text) in cases {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn the_middle_value_decides_the_unit() {
        assert_eq!(Scale::fitting(mean(), [0.000_9, 0.012, 3.0]).name, "ms");
        assert_eq!(Scale::fitting(mean(), [0.000_9]).name, "us");
        assert_eq!(Scale::fitting(mean(), [0.000_999_9]).name, "ms");
        assert_eq!(Scale::fitting(mean(), [1e-15]).name, "ns");
        assert_eq!(Scale::fitting(mean(), [0.0]).name, "ms");
        assert_eq!(Scale::fitting("goodput.sum".parse().unwrap(), [2.5e9]).name, "Gb/s");
        assert_eq!(Scale::fitting(Metric::Timeouts, [2.5e9]).name, "");
        assert_eq!(Scale::fitting(Metric::Paused, [0.25]).show(&Estimate::of(&[0.25])), Some(("25.0".into(), None)));
        assert_eq!(Scale::fitting(Metric::Ingress, [25_000.0]).name, "KB");
    }

    #[test]
    fn a_half_width_has_no_more_decimals_than_its_value() {
        let scale = Scale::fitting(mean(), [0.0123]);
        let estimate = Estimate { value: Some(0.0123), low: Some(0.011), high: Some(0.0136), n: 3 };
        assert_eq!(scale.show(&estimate), Some(("12.3".into(), Some("± 1.3".into()))));
        assert_eq!(scale.show(&Estimate { low: None, high: None, ..estimate }), Some(("12.3".into(), None)));
        assert_eq!(scale.show(&Estimate::default()), None);
        let wide = Estimate { low: Some(-0.3), high: Some(0.3246), ..estimate };
        assert_eq!(scale.show(&wide), Some(("12.3".into(), Some("± 312".into()))));
        let count = Scale::fitting(Metric::Timeouts, []);
        assert_eq!(count.show(&Estimate::of(&[2.0, 4.0])), Some(("3".into(), Some("± 13".into()))));
    }

    #[test]
    fn an_interval_with_a_longer_side_has_its_ends_shown() {
        let scale = Scale::fitting(mean(), [0.012]);
        let estimate = Estimate { value: Some(0.012), low: Some(0.0097), high: Some(0.0149), n: 3 };
        assert_eq!(scale.show(&estimate), Some(("12.0".into(), Some("[9.70, 14.9]".into()))));
        // Narrower than what is shown, or none: where nothing varies.
        let narrow = Estimate { low: Some(0.011_999_9), high: Some(0.012_000_1), ..estimate };
        assert_eq!(scale.show(&narrow), Some(("12.0".into(), None)));
        assert_eq!(scale.show(&Estimate::of(&[0.012, 0.012])), Some(("12.0".into(), None)));
    }
}
