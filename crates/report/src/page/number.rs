//! Numbers as the page has them: rounded, and without a fraction that is none.

use serde::{Serialize, Serializer};

/// A number of the page: six significant digits unless it says otherwise. A value that is not finite is `null`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Number(f64);

/// More digits than any chart shows, and a third of the bytes of a double in full.
const DIGITS: usize = 6;

/// Doubles are exact to here, and so are the numbers of browsers.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// `value` in six significant digits.
    pub fn new(value: f64) -> Number {
        Number::with_digits(value, DIGITS)
    }

    /// `value` in so many significant digits.
    pub fn with_digits(value: f64, digits: usize) -> Number {
        let text = format!("{value:.0$e}", digits.saturating_sub(1));
        Number(text.parse().unwrap_or(value))
    }

    /// The rounded value.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number::new(value)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if !value.is_finite() {
            serializer.serialize_none()
        } else if value.fract() == 0.0 && value.abs() < EXACT {
            serializer.serialize_i64(value as i64)
        } else {
            serializer.serialize_f64(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_and_no_empty_fraction() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (12.0, "12"),
            (1_234_567.8, "1234570"),
            (0.000_123_456_78, "0.000123457"),
            (-2.5, "-2.5"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
            (1e300, "1e+300"),
        ];
        for (value, text) in cases {
            assert_eq!(serde_json::to_string(&Number::new(value)).unwrap(), text, "{value}");
        }
        assert_eq!(Number::with_digits(0.999_999_87, 9).get(), 0.999_999_87);
    }
}
