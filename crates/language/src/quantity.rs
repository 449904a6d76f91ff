//! Values with units: times, rates, amounts of data, ratios.

use std::fmt;
use std::str::FromStr;

use headway_units::{Bytes, ParseError, Rate, Span};
use serde_json::json;

use super::range::Limited;
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::tree::{Node, Value};

/// Reads text with a unit. A bare number goes through the same parser, which knows what to say of it.
fn read<T: FromStr<Err: fmt::Display>>(node: &Node, expected: &str, reader: &mut Reader) -> Option<T> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => return reader.wrong_kind(node, expected),
    };
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!("`{}`: {error}", reader.path());
            reader.problem(node.at, message, format!("this must be {expected}"), None);
            None
        }
    }
}

fn pattern(definitions: &mut Definitions, units: &str, about: &str) -> Json {
    definitions.scalar(
        &json!({ "type": "string", "pattern": format!("^\\s*[0-9][0-9_.]*\\s*({units})\\s*$"), "title": about }),
    )
}

const TIMES: &str = "ps|ns|us|µs|μs|ms|s|min|h";
const RATES: &str = "[kMGT]?bps|[kMGT]?bit/s|[kMGT]b/s";
const AMOUNTS: &str = "B|[KkMGT]B|[KMGT]iB";

macro_rules! quantity {
    ($type:ty, $expected:literal, $units:expr) => {
        impl Field for $type {
            fn read(node: &Node, reader: &mut Reader) -> Option<$type> {
                read(node, $expected, reader)
            }

            fn show(&self) -> Option<Shown> {
                // "0ps" is right but odd: nobody writes it.
                let text = self.to_string();
                Some(Shown::Text(if text == "0ps" { "0s".to_owned() } else { text }))
            }

            fn schema(definitions: &mut Definitions) -> Json {
                pattern(definitions, $units, $expected)
            }
        }
    };
}
quantity!(Span, "a time like \"25us\"", TIMES);
quantity!(Rate, "a rate like \"100Mbps\"", RATES);
quantity!(Bytes, "an amount of data like \"128KB\"", AMOUNTS);
quantity!(Amount, "an amount of data like \"128KB\" or of packets like \"100pkt\"", &format!("{AMOUNTS}|pkt"));

/// An amount in a queue, in bytes or in packets: `"128KB"`, `"100pkt"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// So many packets of any size.
    Packets(u32),
}

impl Amount {
    /// Whether this is nothing.
    pub fn is_zero(self) -> bool {
        matches!(self, Amount::Bytes(Bytes::ZERO) | Amount::Packets(0))
    }

    /// Whether this is at least `other`; `None` if one is in bytes and the other in packets.
    pub fn reaches(self, other: Amount) -> Option<bool> {
        match (self, other) {
            (Amount::Bytes(one), Amount::Bytes(other)) => Some(one >= other),
            (Amount::Packets(one), Amount::Packets(other)) => Some(one >= other),
            _ => None,
        }
    }
}

impl FromStr for Amount {
    type Err = String;
    fn from_str(text: &str) -> Result<Amount, String> {
        if let Some(number) = text.trim().strip_suffix("pkt") {
            return number.trim().replace('_', "").parse().map(Amount::Packets).map_err(|_| {
                let short: String = text.chars().take(60).collect();
                format!("`{short}` is not a whole number of packets up to {}", u32::MAX)
            });
        }
        text.parse().map(Amount::Bytes).map_err(|error: ParseError| match error {
            ParseError::NoUnit { .. } | ParseError::Unit { .. } => format!("{error}; packets are `pkt`"),
            error => error.to_string(),
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Bytes(bytes) => bytes.fmt(f),
            Amount::Packets(packets) => write!(f, "{packets}pkt"),
        }
    }
}

/// How much a queue holds: an [`Amount`], or `"none"` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Nothing is ever dropped.
    Unlimited,
    /// At most this much.
    AtMost(Amount),
}

impl Field for QueueLimit {
    fn read(node: &Node, reader: &mut Reader) -> Option<QueueLimit> {
        match &node.value {
            Value::Text(text) if text == "none" => Some(QueueLimit::Unlimited),
            _ => read(node, "an amount like \"128KB\" or \"100pkt\", or \"none\"", reader).map(QueueLimit::AtMost),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            QueueLimit::Unlimited => Some(Shown::Text("none".to_owned())),
            QueueLimit::AtMost(amount) => amount.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let mut schema = Amount::schema(definitions);
        if let Some(all) = schema["anyOf"].as_array_mut() {
            all.push(json!({ "const": "none" }));
        }
        schema
    }
}

/// A share from 0 to 1: `0.01` or `"1%"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio(0.0);
    /// Two in a hundred.
    pub const PERCENT_2: Ratio = Ratio(0.02);

    /// `share` as a ratio if it is from 0 to 1.
    pub fn new(share: f64) -> Option<Ratio> {
        // The sum turns a negative zero into the usual one.
        (0.0..=1.0).contains(&share).then_some(Ratio(share + 0.0))
    }

    /// The share, from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Limited for Ratio {
    type Bound = f64;
    fn bound(&self) -> Option<f64> {
        Some(self.0)
    }
}

impl Field for Ratio {
    fn read(node: &Node, reader: &mut Reader) -> Option<Ratio> {
        let share = match &node.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Text(text) => percent(text),
            _ => return reader.wrong_kind(node, "a ratio like 0.01 or \"1%\""),
        };
        let ratio = share.and_then(Ratio::new);
        if ratio.is_none() {
            let message = format!("`{}` must be a ratio from 0 to 1, or \"0%\" to \"100%\"", reader.path());
            reader.problem(node.at, message, "", Some("for example 0.01 or \"1%\"".to_owned()));
        }
        ratio
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::Float(self.0))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let mut schema = definitions.scalar(&json!({ "type": "number", "minimum": 0, "maximum": 1 }));
        if let Some(all) = schema["anyOf"].as_array_mut() {
            all.push(json!({ "type": "string", "pattern": "^\\s*[0-9.]+\\s*%\\s*$" }));
        }
        schema
    }
}

fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    number.parse::<f64>().ok().filter(|_| plain).map(|percent| percent / 100.0)
}

/// A number or any quantity with a unit: what a measured value is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// A number without a unit.
    Number(f64),
    /// A time.
    Span(Span),
    /// A rate.
    Rate(Rate),
    /// An amount of data.
    Bytes(Bytes),
}

impl Quantity {
    /// What a text with a unit says: a time, a rate, an amount of data or per cent.
    pub fn with_unit(text: &str) -> Option<Quantity> {
        let time = || text.parse().map(Quantity::Span).ok();
        let rate = || text.parse().map(Quantity::Rate).ok();
        let bytes = || text.parse().map(Quantity::Bytes).ok();
        let share = || percent(text).map(Quantity::Number);
        time().or_else(rate).or_else(bytes).or_else(share)
    }

    /// Whether both are of one kind and this is larger.
    pub fn exceeds(&self, other: &Quantity) -> bool {
        match (self, other) {
            (Quantity::Number(one), Quantity::Number(two)) => one > two,
            (Quantity::Span(one), Quantity::Span(two)) => one > two,
            (Quantity::Rate(one), Quantity::Rate(two)) => one > two,
            (Quantity::Bytes(one), Quantity::Bytes(two)) => one > two,
            _ => false,
        }
    }
}

impl Field for Quantity {
    fn read(node: &Node, reader: &mut Reader) -> Option<Quantity> {
        let Value::Text(text) = &node.value else {
            return match &node.value {
                Value::Integer(_) | Value::Float(_) => f64::read(node, reader).map(Quantity::Number),
                _ => reader.wrong_kind(node, "a number or a quantity like \"20ms\""),
            };
        };
        let quantity = Quantity::with_unit(text);
        if quantity.is_none() {
            let help =
                "a time (\"20ms\"), a rate (\"1Gbps\"), an amount of data (\"128KB\"), a share (\"5%\") or a number";
            let message = format!("`{}` is no quantity", reader.path());
            reader.problem(node.at, message, "neither a number nor a number with a unit", Some(help.to_owned()));
        }
        quantity
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Quantity::Number(number) => number.show(),
            Quantity::Span(span) => span.show(),
            Quantity::Rate(rate) => rate.show(),
            Quantity::Bytes(bytes) => bytes.show(),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": ["number", "string"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_bytes_or_packets_and_print_as_they_read() {
        for (text, amount) in [
            ("100pkt", Amount::Packets(100)),
            ("1_000 pkt", Amount::Packets(1000)),
            ("128KB", Amount::Bytes(Bytes::from_kb(128))),
        ] {
            assert_eq!(text.parse(), Ok(amount));
            assert_eq!(amount.to_string().parse(), Ok(amount));
        }
        for text in ["100", "1.5pkt", "-1pkt", "pkt", "5000000000pkt", "100packets", ""] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }

    #[test]
    fn percents_are_plain_numbers_with_a_sign_behind() {
        assert_eq!(percent("1%"), Some(0.01));
        assert_eq!(percent(" 12.5 % "), Some(0.125));
        for text in ["1", "%", "-1%", "1e2%", "inf%", "1%%"] {
            assert_eq!(percent(text), None, "{text}");
        }
    }

    #[test]
    fn ratios_are_from_0_to_1() {
        assert_eq!(Ratio::new(1.0).map(Ratio::get), Some(1.0));
        assert!(Ratio::new(-0.0).is_some_and(|ratio| ratio.get().is_sign_positive()));
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Ratio::new(share), None);
        }
    }
}
