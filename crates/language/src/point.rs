//! One point of a sweep: the names that are varied, each with one plain value.

use std::fmt;

use super::tree::{Node, Value};

/// A value without structure.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Text, often a quantity with its unit.
    Text(String),
}

impl Scalar {
    /// The value that `node` writes plainly; `None` for anything with structure.
    pub fn plain(node: &Node) -> Option<Scalar> {
        match &node.value {
            Value::Integer(number) => Some(Scalar::Integer(*number)),
            Value::Float(number) => Some(Scalar::Float(*number)),
            Value::Bool(flag) => Some(Scalar::Bool(*flag)),
            Value::Text(text) => Some(Scalar::Text(text.clone())),
            _ => None,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Integer(number) => number.fmt(f),
            Scalar::Float(number) => number.fmt(f),
            Scalar::Bool(flag) => flag.fmt(f),
            Scalar::Text(text) => text.fmt(f),
        }
    }
}

impl From<&Scalar> for Value {
    fn from(scalar: &Scalar) -> Value {
        match scalar {
            Scalar::Integer(number) => Value::Integer(*number),
            Scalar::Float(number) => Value::Float(*number),
            Scalar::Bool(flag) => Value::Bool(*flag),
            Scalar::Text(text) => Value::Text(text.clone()),
        }
    }
}

/// One combination of the sweep's values.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPoint {
    index: usize,
    values: Vec<(String, Scalar)>,
    /// What variants among the values set.
    linked: Vec<(String, Scalar)>,
}

impl SweepPoint {
    pub(super) fn new(index: usize, values: Vec<(String, Scalar)>, linked: Vec<(String, Scalar)>) -> SweepPoint {
        SweepPoint { index, values, linked }
    }

    /// Its place in the order of all points.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The swept names and their values here, in the order of the file; the value of variants is the name of one.
    pub fn values(&self) -> &[(String, Scalar)] {
        &self.values
    }

    /// The value of `name` here, which is a swept name or one that a variant sets.
    pub fn get(&self, name: &str) -> Option<&Scalar> {
        self.values.iter().chain(&self.linked).find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl fmt::Display for SweepPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.values.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}
