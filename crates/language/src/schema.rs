//! The JSON schema (draft 2020-12) of the language, made from the same definitions as the reader.

pub use serde_json::Value as Json;
use serde_json::{Map, json};

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
    /// A reference to the definition of the record `title`, whose schema is made if it is not there yet.
    pub(super) fn define(&mut self, title: &str, make: impl FnOnce(&mut Definitions) -> Json) -> Json {
        let name = definition(title);
        if !self.known.contains_key(&name) {
            // Holds the place, so that a record may contain itself.
            self.known.insert(name.clone(), Json::Null);
            let schema = make(self);
            self.known.insert(name.clone(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// The schema of a table that is one of `alternatives`, or the text alone behind the key `tag` that chooses.
    pub(super) fn one_of(&mut self, alternatives: &[Alternative], tag: Option<&str>) -> Json {
        let mut schemas: Vec<Json> = alternatives.iter().map(Alternative::schema).collect();
        if let ([schema], None) = (schemas.as_slice(), tag) {
            return schema.clone();
        }
        if let Some(tag) = tag {
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

    /// The whole document, of which `top` is the top.
    pub(super) fn into_document(self, title: &str, top: Json) -> Json {
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
