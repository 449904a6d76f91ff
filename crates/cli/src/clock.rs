//! The time of day, for manifests.

use std::time::{Duration, SystemTime};

/// Now, in UTC, as RFC 3339 has it: `2025-07-01T12:00:00Z`.
pub fn now() -> String {
    rfc3339(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Seconds since 1970, in the same form.
pub fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, so that the leap day is a year's last; then eras of 400 years, all of one length
    // (Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `span` for a person: `8.3 s`, `4 min 10 s`, `2 h 5 min`.
pub fn span(span: Duration) -> String {
    // Rounded first, so that 59.96 s is 1 min 0 s and not 60.0 s.
    let tenths = (span.as_millis() + 50) / 100;
    if tenths < 600 { format!("{}.{} s", tenths / 10, tenths % 10) } else { whole(span) }
}

/// As [`span`], without tenths of a second.
pub fn whole(span: Duration) -> String {
    let seconds = (span.as_millis() + 500) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Checked with `date -u -d @N +%FT%TZ`.
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(rfc3339(seconds), text);
        }
    }

    #[test]
    fn spans_are_short() {
        let cases =
            [(0.0, "0.0 s"), (8.31, "8.3 s"), (59.96, "1 min 0 s"), (250.0, "4 min 10 s"), (7_530.0, "2 h 5 min")];
        for (seconds, text) in cases {
            assert_eq!(span(Duration::from_secs_f64(seconds)), text);
        }
        assert_eq!(whole(Duration::from_millis(8_499)), "8 s");
        assert_eq!(whole(Duration::from_millis(59_500)), "1 min 0 s");
    }
}
