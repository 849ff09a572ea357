//! What programs read, held to the schemas that are published in `docs/schema`.

use jsonschema::Validator;
use serde_json::Value;

use super::{Folder, KEEP, SOFTMAX, edited};

fn validator(schema: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

#[track_caller]
fn holds(validator: &Validator, value: &Value) {
    let errors: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{value}: {errors:?}");
}

#[test]
fn records_and_the_gates_json_are_as_their_schemas_say() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    folder.exits(1, &["run"]);
    let records = validator(include_str!("../../docs/schema/records.json"));
    let mut seen = 0;
    for suite in ["softmax", "keep"] {
        for line in folder.read(&format!("reports/records/{suite}.jsonl")).lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            holds(&records, &line);
            // The schema allows nothing that is not there.
            line["more"] = Value::Null;
            assert!(!records.is_valid(&line), "{line}");
            seen += 1;
        }
    }
    // Two headers, nine cases, two series.
    assert_eq!(seen, 13);
    folder.write("reports/softmax.csv", &folder.read("reports/softmax.csv").replace("pass", "finding"));
    let gate = validator(include_str!("../../docs/schema/gate.json"));
    let said: Value = serde_json::from_str(&folder.exits(1, &["gate", "--json"]).out).unwrap();
    assert!(!said["differences"].as_array().unwrap().is_empty() && !said["findings"].as_array().unwrap().is_empty());
    holds(&gate, &said);
}
