//! `[sweep]`: names with the values they take in turn, and `"$name"` where the value goes. Values that belong together
//! are in `variants`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::lists::{LONGEST, Map};
use super::point::{Scalar, SweepPoint};
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::tree::{Entry, Node, Table, Value};
use super::variants::Swept;

impl Field for Scalar {
    fn read(node: &Node, reader: &mut Reader) -> Option<Scalar> {
        match &node.value {
            Value::Integer(number) => Some(Scalar::Integer(*number)),
            Value::Float(_) => f64::read(node, reader).map(Scalar::Float),
            Value::Bool(flag) => Some(Scalar::Bool(*flag)),
            Value::Text(text) if placeholder(text).is_some() => {
                let message = format!("`{}` cannot refer to another value of the sweep", reader.path());
                reader.problem(node.at, message, "write the value itself", None);
                None
            }
            Value::Text(_) => String::read(node, reader).map(Scalar::Text),
            _ => reader.wrong_kind(node, "a number, a text, or true or false"),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Scalar::Integer(number) => Some(Shown::Integer(i128::from(*number))),
            Scalar::Float(number) => number.show(),
            Scalar::Bool(flag) => flag.show(),
            Scalar::Text(text) => text.show(),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": ["number", "boolean", "string"] })
    }
}

/// The values of one name: a list, a single value, or whole numbers `"0..10 step 2"` with both ends.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepValues {
    /// These values.
    List(Vec<Scalar>),
    /// Whole numbers from the first to the last, both included if the step meets them.
    Range {
        /// The first number.
        first: i64,
        /// No number is larger.
        last: i64,
        /// The distance of two neighbours, at least 1.
        step: i64,
    },
}

impl SweepValues {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match *self {
            SweepValues::List(ref values) => values.len(),
            SweepValues::Range { first, last, step } => {
                let count = (i128::from(last) - i128::from(first)) / i128::from(step) + 1;
                usize::try_from(count).unwrap_or(usize::MAX)
            }
        }
    }

    /// Never, once read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `index`th value.
    pub fn get(&self, index: usize) -> Option<Scalar> {
        match *self {
            SweepValues::List(ref values) => values.get(index).cloned(),
            SweepValues::Range { first, step, .. } => (index < self.len()).then(|| {
                let value = i128::from(first) + i128::from(step) * index as i128;
                Scalar::Integer(i64::try_from(value).unwrap_or(i64::MAX))
            }),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Scalar> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Whether `value` is among them.
    pub fn contains(&self, value: &Scalar) -> bool {
        match (self, value) {
            (SweepValues::List(values), value) => values.iter().any(|own| own.to_string() == value.to_string()),
            (&SweepValues::Range { first, last, step }, &Scalar::Integer(number)) => {
                let offset = i128::from(number) - i128::from(first);
                (first..=last).contains(&number) && offset % i128::from(step) == 0
            }
            (SweepValues::Range { .. }, _) => false,
        }
    }

    /// The values of `low..high` or `low..high step n`; `None` for any other text.
    pub fn range(text: &str) -> Option<SweepValues> {
        let (first, rest) = text.split_once("..")?;
        let (last, step) = match rest.split_once("step") {
            Some((last, step)) => (last, step.trim().parse().ok()?),
            None => (rest, 1),
        };
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && step > 0).then_some(SweepValues::Range { first, last, step })
    }
}

impl Field for SweepValues {
    fn read(node: &Node, reader: &mut Reader) -> Option<SweepValues> {
        const HELP: &str = "write a list like [1, 2, 5] or a range of whole numbers like \"0..10\" or \"0..10 step 2\"";
        let mut refuse = |message: &str, label: &str| {
            let message = format!("`{}` {message}", reader.path());
            reader.problem(node.at, message, label, Some(HELP.to_owned()));
            None
        };
        let values = match &node.value {
            Value::Text(text) if text.contains("..") => match SweepValues::range(text) {
                Some(range) if range.len() > LONGEST => {
                    return refuse(&format!("has more than {LONGEST} values"), "too many");
                }
                Some(range) => return Some(range),
                None => return refuse("is not a range of whole numbers from low to high", "not a range"),
            },
            Value::List(items) if items.is_empty() => return refuse("has no values", "empty"),
            Value::List(_) => Vec::read(node, reader)?,
            _ => vec![Scalar::read(node, reader)?],
        };
        let mut seen = BTreeSet::new();
        if let Some(index) = values.iter().position(|value| !seen.insert(value.to_string())) {
            let at = node.child(&index.to_string()).map_or(node.at, |twice| twice.at);
            let message = format!("`{}` has the value {} twice", reader.path(), values[index]);
            reader.problem(at, message, "once more", None);
            return None;
        }
        Some(SweepValues::List(values))
    }

    fn show(&self) -> Option<Shown> {
        match *self {
            SweepValues::List(ref values) => values.show(),
            SweepValues::Range { first, last, step: 1 } => Some(Shown::Text(format!("{first}..{last}"))),
            SweepValues::Range { first, last, step } => Some(Shown::Text(format!("{first}..{last} step {step}"))),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        let scalar = json!({ "type": ["number", "boolean", "string"] });
        json!({ "anyOf": [
            scalar,
            { "type": "array", "items": scalar, "minItems": 1, "maxItems": LONGEST },
        ] })
    }
}

/// The names that are varied and their values. Cheap to clone: every sweep point shares it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweep(Arc<Map<Swept>>);

impl Sweep {
    /// The names and their values in the order of the file; the last varies fastest.
    pub fn names(&self) -> &Map<Swept> {
        &self.0
    }

    /// The number of points: 1 without a sweep.
    pub fn len(&self) -> usize {
        self.0.iter().fold(1, |product, (_, values)| product.saturating_mul(values.len()))
    }

    /// Whether nothing is varied.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The swept name whose variants set `name`.
    pub fn setter(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(_, swept)| swept.sets().any(|set| set == name)).map(|(setter, _)| setter)
    }

    /// The `index`th point.
    pub fn point(&self, index: usize) -> SweepPoint {
        let names: Vec<_> = self.0.iter().collect();
        let mut rest = index;
        let (mut values, mut linked) = (Vec::with_capacity(names.len()), Vec::new());
        for (name, all) in names.into_iter().rev() {
            let place = rest % all.len().max(1);
            values.extend(all.get(place).map(|value| (name.to_owned(), value)));
            linked.extend(all.linked(place).map(|(name, value)| (name.to_owned(), value.clone())));
            rest /= all.len().max(1);
        }
        values.reverse();
        SweepPoint::new(index, values, linked)
    }

    /// The first point, and for each further value of each name the point that differs in it alone.
    pub fn star(&self) -> Vec<SweepPoint> {
        let mut points = vec![self.point(0)];
        let mut stride = self.len();
        for (_, values) in self.0.iter() {
            stride /= values.len().max(1);
            points.extend((1..values.len()).map(|value| self.point(value * stride)));
        }
        points
    }
}

impl Field for Sweep {
    fn read(node: &Node, reader: &mut Reader) -> Option<Sweep> {
        let names = Map::<Swept>::read(node, reader)?;
        let mut known: BTreeSet<&str> = names.names().collect();
        let before = reader.problems();
        for (name, swept) in names.iter() {
            for set in swept.sets().filter(|set| !known.insert(set)) {
                let message = format!("`{}.{name}` sets `{set}`, which has values already", reader.path());
                let at = swept.get(0).map_or(node.at, |first| node.locate(&[name, &first.to_string(), set]));
                reader.problem(at, message, "once more", Some("names of a sweep are all different".to_owned()));
            }
        }
        (reader.problems() == before).then(|| Sweep(Arc::new(names)))
    }

    fn show(&self) -> Option<Shown> {
        self.0.show()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        Map::<Swept>::schema(definitions)
    }
}

/// The name in `"$name"`; `None` for any other text.
pub fn placeholder(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (!name.is_empty() && name.bytes().all(fits)).then_some(name)
}

/// Calls `each` with every placeholder below `node`, its node and its path.
pub fn used<'a>(node: &'a Node, path: &mut Vec<String>, each: &mut impl FnMut(&'a str, &'a Node, &[String])) {
    match &node.value {
        Value::Text(text) => {
            if let Some(name) = placeholder(text) {
                each(name, node, path);
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                used(item, path, each);
                path.pop();
            }
        }
        Value::Table(table) => {
            for entry in &table.entries {
                path.push(entry.key.clone());
                used(&entry.node, path, each);
                path.pop();
            }
        }
        _ => {}
    }
}

/// A copy of `node` with every placeholder replaced; one without a value leaves a hole.
pub fn substitute(node: &Node, point: &SweepPoint) -> Node {
    let value = match &node.value {
        Value::Text(text) => match placeholder(text) {
            Some(name) => point.get(name).map_or(Value::Hole, Value::from),
            None => Value::Text(text.clone()),
        },
        Value::List(items) => Value::List(items.iter().map(|item| substitute(item, point)).collect()),
        Value::Table(table) => {
            let entry = |entry: &Entry| {
                let node = substitute(&entry.node, point);
                Entry { key: entry.key.clone(), key_at: entry.key_at, node }
            };
            Value::Table(Table { entries: table.entries.iter().map(entry).collect() })
        }
        other => other.clone(),
    };
    Node { at: node.at, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_at_the_ends_of_integers() {
        let all = SweepValues::range("-9223372036854775808..9223372036854775807 step 9223372036854775807").unwrap();
        assert_eq!(all.len(), 3);
        assert_eq!(all.get(0), Some(Scalar::Integer(i64::MIN)));
        assert_eq!(all.get(2), Some(Scalar::Integer(i64::MAX - 1)));
        assert_eq!(all.get(3), None);
        assert!(all.contains(&Scalar::Integer(-1)) && !all.contains(&Scalar::Integer(0)));
    }

    #[test]
    fn only_a_dollar_and_a_name_is_a_placeholder() {
        assert_eq!(placeholder("$senders"), Some("senders"));
        for text in ["$", "$5 cheap", "senders", "a$b", "$a.b"] {
            assert_eq!(placeholder(text), None, "{text}");
        }
    }

    #[test]
    fn the_star_varies_one_name_at_a_time() {
        let list = |count| SweepValues::Range { first: 1, last: count, step: 1 };
        let name = |text| super::super::lists::Name::new(text).unwrap();
        let values = |text, count| (name(text), Swept::Values(list(count)));
        let sweep = Sweep(Arc::new(Map::from_iter([values("a", 2), values("b", 3)])));
        let shown: Vec<String> = sweep.star().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a = 1, b = 1", "a = 2, b = 1", "a = 1, b = 2", "a = 1, b = 3"]);
    }
}
