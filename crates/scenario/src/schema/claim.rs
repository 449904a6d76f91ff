//! What the results must show.

use headway_units::Span;

use serde_json::json;

use headway_language::{
    Definitions, Field, Json, Map, Name, Node, OneOrMany, Quantity, Ratio, Reader, Row, Scalar, Shown, SweepValues,
    Value, above, record,
};

record! {
    /// Something the results must show; exactly one of `less`, `greater`, `between` and `near`.
    pub struct ClaimRecord {
        /// The claim in words.
        pub text: String,
        /// The sweep points it is about: names of the sweep with a value, a list or a range; all when left out.
        pub at: Map<SweepValues> = Map::new(),
        /// The first is less than the second (times `by`), or than a value.
        pub less: Option<Comparison>,
        /// The first is greater than the second (times `by`), or than a value.
        pub greater: Option<Comparison>,
        /// Multiplies the second operand of `less` or `greater`.
        #[range(above(0.0))]
        pub by: f64 = 1.0,
        /// A result lies between two values.
        pub between: Option<BetweenRecord>,
        /// A result is near the number that `published` names.
        pub near: Option<NearRecord>,
        /// What the source printed, shown beside ours: a text, or a number for each operand.
        pub published: Option<OneOrMany<Published>>,
        /// Why it is known not to hold; such a claim is no failure.
        pub known: Option<String>,
    }
}

impl ClaimRecord {
    /// What it is about: two numbers that are compared, or one.
    pub fn operands(&self) -> [Option<&OperandRecord>; 2] {
        if let Some(comparison) = self.less.as_ref().or(self.greater.as_ref()) {
            return comparison.operands();
        }
        let near = self.near.as_ref().map(|near| &near.operand);
        [self.between.as_ref().map(|between| &between.operand).or(near), None]
    }

    /// Its operands with their places in it, as keys: `less`, `0`.
    pub fn operand_places(&self) -> Vec<(Vec<&'static str>, &OperandRecord)> {
        let mut all = Vec::new();
        for (key, pair) in [("less", &self.less), ("greater", &self.greater)] {
            let operands = pair.iter().flat_map(Comparison::operands).flatten();
            all.extend(operands.zip(["0", "1"]).map(|(one, nth)| (vec![key, nth], one)));
        }
        all.extend(self.between.iter().map(|between| (vec!["between"], &between.operand)));
        all.extend(self.near.iter().map(|near| (vec!["near"], &near.operand)));
        all
    }
}

record! {
    /// A number from the results.
    pub struct OperandRecord {
        /// The policy it is about.
        pub policy: Name,
        /// The traffic it is about, as it is reported; may be left out where there is only one.
        pub traffic: Option<String>,
        /// What is measured, by the name of its metric ("fct.p95").
        pub value: String,
        /// Only what happens from this time on.
        pub from: Option<Span>,
        /// Only what happens before this time.
        pub to: Option<Span>,
        /// The port ("a>b") that `drops` counts at, or whose arrivals `reach` and `recovery` are of.
        pub port: Option<String>,
        /// For `reach` and `recovery`: rates are means over this time.
        #[range(above(Span::ZERO))]
        pub over: Option<Span>,
        /// The same value under this policy is taken off, repeat by repeat.
        pub minus: Option<Name>,
        /// Taken at these values of the sweep instead of those of the point that the claim is checked at.
        pub at: Map<Scalar> = Map::new(),
    }
}

/// What `less` and `greater` have: a result, and another or a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared.
    pub first: OperandRecord,
    /// What it is compared with.
    pub second: Against,
}

/// What a result is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Against {
    /// Another result.
    Result(OperandRecord),
    /// A value.
    Value(Quantity),
}

impl Comparison {
    /// The results it is about.
    pub fn operands(&self) -> [Option<&OperandRecord>; 2] {
        let second = match &self.second {
            Against::Result(operand) => Some(operand),
            Against::Value(_) => None,
        };
        [Some(&self.first), second]
    }
}

impl Field for Comparison {
    fn read(node: &Node, reader: &mut Reader) -> Option<Comparison> {
        const FORMS: &str = "[{ policy = …, value = \"fct.p99\" }, \"20ms\"], or two such tables";
        let items = match &node.value {
            Value::List(items) if items.len() == 2 => items,
            Value::List(items) => {
                let message =
                    format!("`{}` must be a list of exactly two: a result, and another or a value", reader.path());
                reader.problem(node.at, message, format!("this has {}", items.len()), Some(FORMS.to_owned()));
                return None;
            }
            _ => {
                let message = format!("`{}` must be a list of two: a result, and another or a value", reader.path());
                reader.problem(node.at, message, "not a list", Some(FORMS.to_owned()));
                return None;
            }
        };
        let [one, two] = &items[..] else { return None };
        if !matches!(one.value, Value::Table(_)) {
            let message = format!("`{}` begins with a value, and not with a result", reader.path());
            let help = if matches!(two.value, Value::Table(_)) {
                let other = if reader.path().ends_with("less") { "greater" } else { "less" };
                format!("turn it round: {other} = [{{ policy = …, value = … }}, the value]")
            } else {
                FORMS.to_owned()
            };
            reader.problem(one.at, message, "a value", Some(help));
            return None;
        }
        let first = reader.within("0", |reader| OperandRecord::read(one, reader));
        let second = reader.within("1", |reader| match &two.value {
            Value::Table(_) => OperandRecord::read(two, reader).map(Against::Result),
            _ => Quantity::read(two, reader).map(Against::Value),
        });
        Some(Comparison { first: first?, second: second? })
    }

    fn show(&self) -> Option<Shown> {
        let second = match &self.second {
            Against::Result(operand) => operand.show(),
            Against::Value(value) => value.show(),
        };
        Some(Shown::List([self.first.show(), second].into_iter().flatten().collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let second = json!({ "anyOf": [OperandRecord::schema(definitions), Quantity::schema(definitions)] });
        json!({ "type": "array", "items": second, "minItems": 2, "maxItems": 2 })
    }
}

record! {
    /// A result lies between two values.
    pub struct BetweenRecord {
        /// It is not less than this.
        pub low: Quantity,
        /// It is not more than this.
        pub high: Quantity,
    }
    with /// The result.
    operand: OperandRecord
}

record! {
    /// A result is near the number that the source printed.
    pub struct NearRecord {
        /// It differs from that by no more than this share of it.
        pub within: Option<Ratio>,
        /// It is at most so many times that, and at least that divided by so many.
        #[range(above(1.0))]
        pub factor: Option<f64>,
    }
    with /// The result.
    operand: OperandRecord
}

record! {
    /// A number that the source printed: `value`, or a cell of the table `file`.
    pub struct NumberRecord {
        /// The number itself.
        pub value: Option<Quantity>,
        /// Where in the source it is.
        pub source: Option<String>,
        /// A table (CSV), relative to the scenario's folder, or one of those that come with Headway.
        pub file: Option<String>,
        /// The row with these values.
        pub row: Row = Row::new(),
        /// The column, whose name ends in the unit (`mean_ms`).
        pub column: Option<String>,
        /// The column whose value other than 0 marks the row as doubtful: it is shown, but not judged by.
        pub suspect: Option<String>,
    }
}

/// What the source printed: `"about 180 ms (figure 6.1)"`, or a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Published {
    /// In words.
    Text(String),
    /// As a number, which ours is divided by.
    Number(NumberRecord),
}

impl Field for Published {
    fn read(node: &Node, reader: &mut Reader) -> Option<Published> {
        match &node.value {
            Value::Table(_) => NumberRecord::read(node, reader).map(Published::Number),
            _ => String::read(node, reader).map(Published::Text),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Published::Text(text) => text.show(),
            Published::Number(number) => number.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [String::schema(definitions), NumberRecord::schema(definitions)] })
    }
}
