//! Reading and printing `number unit` text exactly, without floating point.

use thiserror::Error;

/// Why a text is not a quantity. The message says what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// Nothing but blanks.
    #[error("empty; write a number with a unit, for example {example}")]
    Empty {
        /// A text that would parse.
        example: &'static str,
    },
    /// The text starts with `-`.
    #[error("`{text}` is negative; {quantity} cannot be")]
    Negative {
        /// What was read.
        text: String,
        /// Name of the quantity with its article.
        quantity: &'static str,
    },
    /// No digits where a number should be, or more than one decimal point.
    #[error("`{text}` does not start with a plain decimal number; write for example {example}")]
    Number {
        /// What was read.
        text: String,
        /// A text that would parse.
        example: &'static str,
    },
    /// A bare number.
    #[error("`{text}` has no unit; write one of {units} behind it, for example {example}")]
    NoUnit {
        /// What was read.
        text: String,
        /// The units known for this quantity.
        units: &'static str,
        /// A text that would parse.
        example: &'static str,
    },
    /// A unit that this quantity does not have.
    #[error("unknown unit `{unit}` in `{text}`; {quantity} takes {units}{hint}")]
    Unit {
        /// What was read.
        text: String,
        /// The part taken for the unit.
        unit: String,
        /// Name of the quantity with its article.
        quantity: &'static str,
        /// The units known for this quantity.
        units: &'static str,
        /// What the writer may have meant, or nothing.
        hint: &'static str,
    },
    /// Finer than the type's grain (a third of a byte, half a bit per second, under a picosecond).
    #[error("`{text}` is not a whole number of {grain}")]
    Grain {
        /// What was read.
        text: String,
        /// The smallest step.
        grain: &'static str,
    },
    /// More than the type holds.
    #[error("`{text}` is too large; the most is {most}")]
    TooLarge {
        /// What was read.
        text: String,
        /// The largest value.
        most: &'static str,
    },
}

/// How one quantity is written: its units with their size in grains.
pub(crate) struct Notation {
    pub quantity: &'static str,
    pub grain: &'static str,
    pub example: &'static str,
    pub units: &'static str,
    pub most: &'static str,
    /// `(unit, grains per unit)`, every spelling that is accepted.
    pub table: &'static [(&'static str, u64)],
    /// Given an unknown unit, a hint that starts with a blank, or nothing.
    pub hint: fn(&str) -> &'static str,
}

impl Notation {
    /// Reads `text` as a whole number of grains.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let trimmed = text.trim();
        let own = || trimmed.chars().take(80).collect::<String>();
        if trimmed.is_empty() {
            return Err(ParseError::Empty { example: self.example });
        }
        if trimmed.starts_with('-') {
            return Err(ParseError::Negative { text: own(), quantity: self.quantity });
        }
        let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let unit = unit.trim_start();
        let number_error = || ParseError::Number { text: own(), example: self.example };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |s: &str| s.chars().filter(|&c| c != '_').collect::<String>();
        let (whole, fraction) = (digits(whole), digits(fraction));
        if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
            return Err(number_error());
        }
        let fraction = fraction.trim_end_matches('0');
        if unit.is_empty() {
            return Err(ParseError::NoUnit { text: own(), units: self.units, example: self.example });
        }
        let Some(&(_, scale)) = self.table.iter().find(|(name, _)| *name == unit) else {
            return Err(ParseError::Unit {
                text: own(),
                unit: unit.chars().take(40).collect(),
                quantity: self.quantity,
                units: self.units,
                hint: (self.hint)(unit),
            });
        };
        let too_large = || ParseError::TooLarge { text: own(), most: self.most };
        let grain = || ParseError::Grain { text: own(), grain: self.grain };
        let whole: u128 = whole.parse().map_err(|_| too_large())?;
        let mut grains = whole.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
        if !fraction.is_empty() {
            // 10^20 exceeds every scale in use, so a longer fraction cannot be whole.
            if fraction.len() > 20 {
                return Err(grain());
            }
            let part: u128 = fraction.parse().map_err(|_| number_error())?;
            let divisor = 10u128.pow(fraction.len() as u32);
            let scaled = part * u128::from(scale);
            if !scaled.is_multiple_of(divisor) {
                return Err(grain());
            }
            grains += scaled / divisor;
        }
        u64::try_from(grains).map_err(|_| too_large())
    }
}

/// Prints `grains` with the largest of `units` (largest first) that needs at most six decimals,
/// exactly; the last unit must have scale 1.
pub(crate) fn print(f: &mut std::fmt::Formatter<'_>, grains: u64, units: &[(&str, u64)]) -> std::fmt::Result {
    let last = units[units.len() - 1];
    if grains == 0 {
        return f.pad(&format!("0{}", last.0));
    }
    for &(name, scale) in units {
        if grains < scale {
            continue;
        }
        let (whole, rest) = (grains / scale, grains % scale);
        if rest == 0 {
            return f.pad(&format!("{whole}{name}"));
        }
        let scaled = u128::from(rest) * 1_000_000;
        if scaled.is_multiple_of(u128::from(scale)) {
            let decimals = format!("{:06}", scaled / u128::from(scale));
            return f.pad(&format!("{whole}.{}{name}", decimals.trim_end_matches('0')));
        }
    }
    f.pad(&format!("{grains}{}", last.0))
}
