//! Values of a sweep that belong together: named variants, each of which sets the same names.

use serde_json::json;

use super::lists::{LONGEST, Map};
use super::point::Scalar;
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::sweep::SweepValues;
use super::tree::{Node, Value};

/// A variant sets at most so many names, which are searched one by one.
const MOST_NAMES: usize = 1_000;

/// Named variants, each with values for the same names: `{ slow = { rate = "1Gbps", limit = "100KB" }, fast = { … } }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variants(Map<Map<Scalar>>);

impl Variants {
    /// The names of the variants, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.names()
    }
}

impl Field for Variants {
    fn read(node: &Node, reader: &mut Reader) -> Option<Variants> {
        let variants = Map::<Map<Scalar>>::read(node, reader)?;
        let path = reader.path();
        let Some((first, names)) = variants.iter().next() else {
            let help = "write variants like { slow = { rate = \"1Gbps\" }, fast = { rate = \"10Gbps\" } }".to_owned();
            reader.problem(node.at, format!("`{path}` has no variants"), "empty", Some(help));
            return None;
        };
        let before = reader.problems();
        if names.is_empty() || names.len() > MOST_NAMES {
            let help = format!("a variant has values for 1 to {MOST_NAMES} names that vary with it");
            let at = node.locate(&[first]);
            let message = format!("`{path}.{first}` sets {} names", names.len());
            reader.problem(at, message, "", Some(help));
            return None;
        }
        for (variant, own) in variants.iter().skip(1) {
            let at = node.locate(&[variant]);
            for name in names.names().filter(|name| own.get(name).is_none()) {
                let message = format!("`{path}.{variant}` does not set `{name}`, but `{first}` does");
                let help = "all variants set the same names".to_owned();
                reader.problem(at, message, format!("no `{name}`"), Some(help));
            }
            for name in own.names().filter(|name| names.get(name).is_none()) {
                let message = format!("`{path}.{variant}` sets `{name}`, but `{first}` does not");
                let at = node.locate(&[variant, name]);
                reader.problem(at, message, "", Some("all variants set the same names".to_owned()));
            }
        }
        (reader.problems() == before).then_some(Variants(variants))
    }

    fn show(&self) -> Option<Shown> {
        self.0.show()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let mut schema = Map::<Map<Scalar>>::schema(definitions);
        schema["minProperties"] = json!(1);
        schema
    }
}

/// What a name of the sweep takes in turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Swept {
    /// Values.
    Values(SweepValues),
    /// Variants. Its value is the name of one, and each sets names of its own.
    Variants(Variants),
}

impl Swept {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Swept::Values(values) => values.len(),
            Swept::Variants(variants) => variants.0.len(),
        }
    }

    /// Never, once read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `index`th value; of variants the name.
    pub fn get(&self, index: usize) -> Option<Scalar> {
        match self {
            Swept::Values(values) => values.get(index),
            Swept::Variants(variants) => variants.names().nth(index).map(|name| Scalar::Text(name.to_owned())),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Scalar> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Whether `value` is among them.
    pub fn contains(&self, value: &Scalar) -> bool {
        match self {
            Swept::Values(values) => values.contains(value),
            Swept::Variants(variants) => variants.0.get(&value.to_string()).is_some(),
        }
    }

    /// The names that every variant sets; none without variants.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        self.linked(0).map(|(name, _)| name)
    }

    /// What the `index`th variant sets.
    pub fn linked(&self, index: usize) -> impl Iterator<Item = (&str, &Scalar)> {
        let variant = match self {
            Swept::Values(_) => None,
            Swept::Variants(variants) => variants.0.iter().nth(index),
        };
        variant.into_iter().flat_map(|(_, own)| own.iter())
    }
}

impl Field for Swept {
    fn read(node: &Node, reader: &mut Reader) -> Option<Swept> {
        match &node.value {
            Value::Table(_) => Variants::read(node, reader).map(Swept::Variants),
            _ => SweepValues::read(node, reader).map(Swept::Values),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Swept::Values(values) => values.show(),
            Swept::Variants(variants) => variants.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let scalar = Scalar::schema(definitions);
        json!({ "anyOf": [
            scalar,
            { "type": "array", "items": scalar, "minItems": 1, "maxItems": LONGEST },
            Variants::schema(definitions),
        ] })
    }
}
