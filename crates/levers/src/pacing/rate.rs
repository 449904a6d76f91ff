//! The rate of a flow, as it is written.

use headway_language::{Definitions, Field, Json, Limited, Node, Reader, Shown, Value, suggest_nearest};
use headway_units::Rate;

/// The rate of each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceRate {
    /// Flows have no pace.
    None,
    /// The window a round trip.
    Dynamic,
    /// This one.
    Static(Rate),
}

const WORDS: [(&str, PaceRate); 2] = [("dynamic", PaceRate::Dynamic), ("none", PaceRate::None)];

impl Field for PaceRate {
    fn read(node: &Node, reader: &mut Reader) -> Option<PaceRate> {
        let Value::Text(text) = &node.value else { return Rate::read(node, reader).map(PaceRate::Static) };
        if let Some(&(_, rate)) = WORDS.iter().find(|(word, _)| word == text) {
            return Some(rate);
        }
        if text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let rate = Rate::read(node, reader);
            return reader.limited_at(node.at, rate, &(super::SLOWEST..)).map(PaceRate::Static);
        }
        let message = format!("`{}` must be \"dynamic\", \"none\", or a rate like \"500Mbps\"", reader.path());
        let near = suggest_nearest(text, WORDS.iter().map(|&(word, _)| word));
        reader.problem(node.at, message, "none of them", near.map(|near| format!("did you mean `{near}`?")));
        None
    }

    fn show(&self) -> Option<Shown> {
        match self {
            PaceRate::Static(rate) => rate.show(),
            PaceRate::Dynamic => Some(Shown::Text("dynamic".to_owned())),
            PaceRate::None => Some(Shown::Text("none".to_owned())),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let mut schema = Rate::schema(definitions);
        for (word, _) in WORDS {
            let mut constant = Json::Null;
            constant["const"] = word.into();
            if let Some(all) = schema["anyOf"].as_array_mut() {
                all.push(constant);
            }
        }
        schema
    }
}

impl Limited for PaceRate {
    type Bound = Rate;
    fn bound(&self) -> Option<Rate> {
        match self {
            PaceRate::Static(rate) => Some(*rate),
            PaceRate::Dynamic | PaceRate::None => None,
        }
    }
}
