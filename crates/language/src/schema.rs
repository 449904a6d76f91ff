//! The JSON schema (draft 2020-12) of the language, made from the same definitions as the reader.

use std::ops::{Bound, RangeBounds};

pub use serde_json::Value as Json;
use serde_json::{Map, json};

use super::read::{Limited, Part, describe};
use super::show::Shown;

/// The schemas that others refer to, by name.
#[derive(Default)]
pub struct Definitions {
    known: Map<String, Json>,
}

/// One set of keys: what a record is, or one of the choices.
#[derive(Debug, Clone, Default)]
pub struct Alternative {
    /// What it is for.
    pub about: String,
    /// The keys with their schemas.
    pub properties: Map<String, Json>,
    /// The keys that must be there.
    pub required: Vec<String>,
}

impl Alternative {
    /// This and the keys of `other`.
    pub fn and(&self, other: &Alternative) -> Alternative {
        let mut both = self.clone();
        if !other.about.is_empty() {
            both.about.clone_from(&other.about);
        }
        both.properties.extend(other.properties.clone());
        both.required.extend(other.required.iter().cloned());
        both
    }

    fn schema(&self) -> Json {
        json!({
            "type": "object",
            "description": self.about,
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }
}

/// The name of the definition for text that stands for a value of the sweep.
const SWEPT: &str = "swept";

impl Definitions {
    /// A reference to the schema of `T`, which is defined if it is not yet.
    pub fn refer<T: Part>(&mut self) -> Json {
        let name = definition(T::TITLE);
        if !self.known.contains_key(&name) {
            // Holds the place, so that a record may contain itself.
            self.known.insert(name.clone(), Json::Null);
            let schema = self.part::<T>();
            self.known.insert(name.clone(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn part<T: Part>(&mut self) -> Json {
        let alternatives = T::schema_part(self);
        let mut schemas: Vec<Json> = alternatives.iter().map(Alternative::schema).collect();
        if let ([schema], None) = (schemas.as_slice(), T::TAG) {
            return schema.clone();
        }
        if let Some(tag) = T::TAG {
            let tags = alternatives.iter().filter_map(|one| one.properties.get(tag)?.get("const").cloned());
            let tags = tags.collect::<Vec<_>>();
            if tags.is_empty() {
                // The key of a record whose value is a choice of its own.
                let choice = alternatives.first().and_then(|one| one.properties.get(tag));
                schemas.extend(choice.map(|choice| json!({ "type": "string", "anyOf": [choice] })));
            } else {
                schemas.push(json!({ "enum": tags }));
                // Which keys go with a choice that is varied cannot be said in general.
                let swept = property(self.swept(), "The choice is varied.", None);
                schemas.push(json!({ "type": "object", "properties": { tag: swept }, "required": [tag] }));
            }
        }
        schemas.push(self.swept());
        json!({ "anyOf": schemas })
    }

    fn swept(&mut self) -> Json {
        self.known.entry(SWEPT).or_insert_with(|| {
            json!({
                "type": "string",
                "pattern": "^\\$[A-Za-z0-9_-]+$",
                "description": "`$name`: the value of `name` in [sweep]",
            })
        });
        json!({ "$ref": format!("#/$defs/{SWEPT}") })
    }

    /// `schema`, or text that stands for a value of the sweep.
    pub fn scalar(&mut self, schema: &Json) -> Json {
        json!({ "anyOf": [schema, self.swept()] })
    }

    /// One of words, each with what it means.
    pub fn words(&mut self, words: &[(&str, String)]) -> Json {
        let words: Vec<Json> =
            words.iter().map(|(word, about)| json!({ "const": word, "description": about })).collect();
        self.scalar(&json!({ "oneOf": words }))
    }

    /// The whole document, of which `T` is the top.
    pub fn document<T: Part>(mut self, title: &str) -> Json {
        let top = self.part::<T>();
        let mut document = Map::new();
        document.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        document.insert("title".to_owned(), json!(title));
        if let Json::Object(top) = top {
            document.extend(top);
        }
        document.insert("$defs".to_owned(), Json::Object(self.known));
        Json::Object(document)
    }
}

/// `LinkRecord` is called `link` in the schema.
fn definition(title: &str) -> String {
    let mut name = String::new();
    for c in title.trim_end_matches("Record").chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// The schema of one key: that of its value with description and default.
pub fn property(schema: Json, about: &str, default: Option<Shown>) -> Json {
    let mut property = match schema {
        Json::Object(map) => map,
        other => Map::from_iter([("const".to_owned(), other)]),
    };
    property.insert("description".to_owned(), json!(about.trim()));
    if let Some(default) = default {
        property.insert("default".to_owned(), to_json(default));
    }
    Json::Object(property)
}

/// Writes the limits of a key into its schema: as numbers where it is one, in words otherwise.
pub fn limit<T: Limited>(property: &mut Json, range: &impl RangeBounds<T::Bound>) {
    let about = format!("{} ({})", property["description"].as_str().unwrap_or_default(), describe(range));
    property["description"] = json!(about);
    let Some(number) = property.pointer_mut("/anyOf/0").filter(|one| one["type"] != "string") else { return };
    let mut put = |name: &str, bound: &T::Bound| {
        if let Ok(bound) = serde_json::from_str::<Json>(&bound.to_string()) {
            number[name] = bound;
        }
    };
    match range.start_bound() {
        Bound::Included(bound) => put("minimum", bound),
        Bound::Excluded(bound) => put("exclusiveMinimum", bound),
        Bound::Unbounded => {}
    }
    match range.end_bound() {
        Bound::Included(bound) => put("maximum", bound),
        Bound::Excluded(bound) => put("exclusiveMaximum", bound),
        Bound::Unbounded => {}
    }
}

fn to_json(shown: Shown) -> Json {
    match shown {
        Shown::Text(text) => json!(text),
        Shown::Integer(number) => i64::try_from(number).map_or_else(|_| json!(number as f64), |number| json!(number)),
        Shown::Float(number) => json!(number),
        Shown::Bool(flag) => json!(flag),
        Shown::Varies => Json::Null,
        Shown::List(items) => items.into_iter().map(to_json).collect(),
        Shown::Table(entries) => Json::Object(entries.into_iter().map(|(key, shown)| (key, to_json(shown))).collect()),
    }
}
