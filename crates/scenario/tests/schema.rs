//! The JSON schema says what the reader does, tried with a small validator of the keywords it uses.

use std::fmt::Write as _;

use headway_scenario::{Document, json_schema};
use serde_json::{Value, json};

/// Whether `value` fits `schema`. Patterns other than that of `$name` are left out: units are tested where they are read.
fn fits(value: &Value, schema: &Value, root: &Value) -> bool {
    let keywords = schema.as_object().expect("a schema is an object");
    keywords.iter().all(|(keyword, wanted)| match keyword.as_str() {
        "$ref" => fits(value, root.pointer(&wanted.as_str().unwrap()[1..]).expect("the definition exists"), root),
        "anyOf" => wanted.as_array().unwrap().iter().any(|one| fits(value, one, root)),
        "oneOf" => wanted.as_array().unwrap().iter().filter(|one| fits(value, one, root)).count() == 1,
        "const" => value == wanted,
        "enum" => wanted.as_array().unwrap().contains(value),
        "type" => match wanted {
            Value::Array(types) => types.iter().any(|one| is(value, one)),
            one => is(value, one),
        },
        "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
        "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > wanted.as_f64().unwrap()),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap()),
        "minProperties" => value.as_object().is_none_or(|table| table.len() as u64 >= wanted.as_u64().unwrap()),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(item, wanted, root))),
        "required" => value
            .as_object()
            .is_none_or(|table| wanted.as_array().unwrap().iter().all(|key| table.contains_key(key.as_str().unwrap()))),
        "properties" => value.as_object().is_none_or(|table| {
            table.iter().all(|(key, value)| wanted.get(key).is_none_or(|schema| fits(value, schema, root)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|table| {
            let named = |key: &str| schema.get("properties").is_some_and(|named| named.get(key).is_some());
            let mut others = table.iter().filter(|(key, _)| !named(key));
            if wanted == &json!(false) {
                others.next().is_none()
            } else {
                others.all(|(_, value)| fits(value, wanted, root))
            }
        }),
        "pattern" if wanted.as_str().unwrap().starts_with("^\\$") => {
            value.as_str().is_none_or(|text| text.starts_with('$') && !text.contains(' '))
        }
        "$schema" | "$defs" | "title" | "description" | "default" | "pattern" | "propertyNames" | "minLength"
        | "maxLength" => true,
        other => panic!("the validator does not know `{other}`"),
    })
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no such type: {other}"),
    }
}

fn json(item: &toml_edit::Item) -> Value {
    use toml_edit::{Item, Value as Toml};
    fn value(toml: &Toml) -> Value {
        match toml {
            Toml::String(text) => json!(text.value()),
            Toml::Integer(number) => json!(number.value()),
            Toml::Float(number) => json!(number.value()),
            Toml::Boolean(flag) => json!(flag.value()),
            Toml::Datetime(date) => json!(date.value().to_string()),
            Toml::Array(items) => items.iter().map(value).collect(),
            Toml::InlineTable(table) => table.iter().map(|(key, one)| (key.to_owned(), value(one))).collect(),
        }
    }
    match item {
        Item::None => Value::Null,
        Item::Value(one) => value(one),
        Item::Table(table) => table.iter().map(|(key, one)| (key.to_owned(), json(one))).collect(),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| json(&Item::Table(table.clone()))).collect(),
    }
}

fn as_json(text: &str) -> Value {
    json(toml_edit::Document::parse(text).unwrap().into_mut().as_item())
}

const VALID: [&str; 9] = [
    include_str!("valid/lanes.toml"),
    include_str!("valid/dumbbell.toml"),
    include_str!("valid/graph.toml"),
    include_str!("valid/fat-tree.toml"),
    include_str!("valid/stacks.toml"),
    include_str!("valid/multi-homed-fat-tree.toml"),
    include_str!("valid/bcube.toml"),
    include_str!("valid/tree.toml"),
    include_str!("valid/vl2.toml"),
];

#[test]
fn every_valid_scenario_fits_as_written_and_as_shown() {
    let schema = json_schema();
    for text in VALID {
        let shown = Document::parse(text, "x", &[]).unwrap().show().unwrap();
        for text in [text, &shown] {
            let value = as_json(text);
            for (key, part) in value.as_object().unwrap() {
                assert!(fits(part, &schema["properties"][key], &schema), "`{key}` in {text}");
            }
            assert!(fits(&value, &schema, &schema), "{text}");
        }
    }
}

#[test]
fn unknown_and_missing_keys_and_numbers_out_of_range_do_not_fit() {
    let schema = json_schema();
    let good = as_json(VALID[0]);
    let with = |path: &str, key: &str, value: Value| {
        let mut bad = good.clone();
        bad.pointer_mut(path).unwrap()[key] = value;
        bad
    };
    assert!(fits(&with("", "seed", json!(3)), &schema, &schema));
    for bad in [
        with("", "sead", json!(3)),
        with("", "repeats", json!(0)),
        with("", "duration", json!(10)),
        with("/topology", "kind", json!("ring")),
        with("/topology", "left", json!(2)),
        with("/traffic/0", "pairs", json!("some")),
        with("/policy/3/transport", "lanes", json!({ "judge": { "kind": "deadline", "alpha": 1 } })),
        with("/policy/3/transport", "lanes", json!({ "judge": { "kind": "link-cost", "alpha": -1 } })),
    ] {
        assert!(!fits(&bad, &schema, &schema), "{bad}");
    }
    let mut bad = good.clone();
    bad.as_object_mut().unwrap().remove("duration");
    assert!(!fits(&bad, &schema, &schema));
}

#[test]
fn every_key_is_described() {
    fn walk(schema: &Value, path: &str, bare: &mut String) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (key, property) in properties {
                if property["description"].as_str().is_none_or(|about| about.len() < 10) {
                    let _ = writeln!(bare, "{path}/{key}");
                }
            }
        }
        match schema {
            Value::Object(map) => map.iter().for_each(|(key, one)| walk(one, &format!("{path}/{key}"), bare)),
            Value::Array(items) => items.iter().for_each(|one| walk(one, path, bare)),
            _ => {}
        }
    }
    let mut bare = String::new();
    walk(&json_schema(), "", &mut bare);
    // The tags of choices are described by the choice; all others by their doc comment.
    assert_eq!(bare, "");
}

#[test]
fn defaults_and_ranges_are_in_the_schema() {
    let schema = json_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["repeats"]["default"], json!(10));
    assert_eq!(schema["properties"]["repeats"]["anyOf"][0]["maximum"], json!(100_000));
    assert_eq!(schema["$defs"]["link"]["properties"]["delay"]["default"], json!("500ns"));
    assert_eq!(schema["$defs"]["link"]["required"], json!(["rate"]));
}
