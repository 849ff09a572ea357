//! JSON for programs, held to the schemas that are published in `docs/schema`.

use serde_json::Value;

use super::{Folder, KEEP, SOFTMAX, edited};

/// Of JSON Schema what the two files use. The crates that know all of it are 45, and take as long to build as a suite's run.
struct Schema(Value);

impl Schema {
    fn new(text: &str) -> Schema {
        Schema(serde_json::from_str(text).unwrap())
    }

    /// The places in which a value is not as the schema says, and the fault of each.
    fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.0, value, "", &mut errors);
        errors
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (key, said) in schema.as_object().unwrap() {
            let holds = match key.as_str() {
                "$schema" | "title" | "description" | "$defs" => true,
                "type" => match said {
                    Value::Array(types) => types.iter().any(|one| is_of(value, one)),
                    one => is_of(value, one),
                },
                "const" => value == said,
                "enum" => said.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|value| value >= said.as_f64().unwrap()),
                "pattern" => value.as_str().is_none_or(|text| matches(said.as_str().unwrap(), text)),
                "required" => said.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
                "$ref" => {
                    let pointer = said.as_str().unwrap().strip_prefix('#').unwrap();
                    self.check(self.0.pointer(pointer).unwrap(), value, at, errors);
                    true
                }
                "oneOf" => {
                    let ways = said.as_array().unwrap().iter().filter(|way| {
                        let mut errors = Vec::new();
                        self.check(way, value, at, &mut errors);
                        errors.is_empty()
                    });
                    ways.count() == 1
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(said, item, &format!("{at}/{i}"), errors);
                    }
                    true
                }
                "properties" | "additionalProperties" => {
                    for (name, member) in value.as_object().into_iter().flatten() {
                        let at = format!("{at}/{name}");
                        match (key.as_str(), schema["properties"].get(name), said) {
                            ("properties", Some(schema), _) => self.check(schema, member, &at, errors),
                            ("additionalProperties", None, Value::Bool(false)) => errors.push(format!("{at}: unknown")),
                            ("additionalProperties", None, schema) => self.check(schema, member, &at, errors),
                            _ => {}
                        }
                    }
                    true
                }
                unknown => panic!("the schemas use {unknown}, which nothing here checks"),
            };
            if !holds {
                errors.push(format!("{at}: not {key} {said}"));
            }
        }
    }
}

fn is_of(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        unknown => panic!("no type {unknown}"),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "^[0-9a-f]{16}$" => text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
        "^(-?(inf|[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?)|NaN)$" => text.parse::<f64>().is_ok() && !text.starts_with('+'),
        unknown => panic!("the schemas use {unknown}, which nothing here matches"),
    }
}

#[track_caller]
fn holds(schema: &Schema, value: &Value) {
    let errors = schema.errors(value);
    assert!(errors.is_empty(), "{value}: {errors:?}");
}

#[test]
fn records_and_the_gates_json_are_as_their_schemas_say() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    folder.exits(1, &["run"]);
    let records = Schema::new(include_str!("../../docs/schema/records.json"));
    let mut seen = 0;
    for suite in ["softmax", "keep"] {
        for line in folder.read(&format!("reports/records/{suite}.jsonl")).lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            holds(&records, &line);
            // The schema allows nothing that is not there.
            line["more"] = Value::Null;
            assert!(!records.errors(&line).is_empty(), "{line}");
            seen += 1;
        }
    }
    // Two headers, nine cases, two series, two checks.
    assert_eq!(seen, 15);
    folder.write("reports/softmax.csv", &folder.read("reports/softmax.csv").replace("pass", "finding"));
    let gate = Schema::new(include_str!("../../docs/schema/gate.json"));
    let said: Value = serde_json::from_str(&folder.exits(1, &["gate", "--json"]).out).unwrap();
    assert!(!said["differences"].as_array().unwrap().is_empty() && !said["findings"].as_array().unwrap().is_empty());
    holds(&gate, &said);
}
