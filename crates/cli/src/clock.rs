//! Spans of time for people.

use std::time::Duration;

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
