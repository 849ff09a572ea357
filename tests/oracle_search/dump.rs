//! Programs with the oracle's answers as JSON lines, for `scripts/judge_mpmath.py`.

use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use ulpgate::oracle::{Demand, Oracle, TruthTensor};

use super::ast::{Graph, Node, Op};
use super::search::{generated, program, run};

/// Programs `0..count` of a seed, those that are refused or panic left out.
pub fn write(path: &str, seed: u64, count: u64) {
    let file = std::fs::File::create(path).unwrap_or_else(|error| panic!("failed to write {path}: {error}"));
    let mut out = BufWriter::new(file);
    for number in 0..count {
        let graph = generated(seed, number);
        if let Some(line) = line(&graph, number) {
            writeln!(out, "{line}").unwrap();
        }
    }
    out.flush().unwrap();
}

fn line(graph: &Graph, number: u64) -> Option<Value> {
    let truth = run(&Oracle::default(), &program(graph), graph, Demand::Rounded).ok()?.ok()?;
    let codes = |node: &Node| match &node.op {
        Op::Leaf { codes, parameter: true } => Some(codes.iter().map(|c| format!("{c:x}")).collect::<Vec<_>>()),
        _ => None,
    };
    let arguments: Vec<Vec<String>> = graph.nodes.iter().filter_map(codes).collect();
    let answers: Vec<Value> = truth.outputs.iter().map(answer).collect();
    Some(json!({ "program": number, "text": graph.text(), "arguments": arguments, "answers": answers }))
}

/// Floats by their bits, null for what is open.
fn answer(truth: &TruthTensor) -> Value {
    match truth {
        TruthTensor::Skipped => Value::Null,
        TruthTensor::Float(float) => {
            let bits = |(at, v): (usize, &f64)| (!float.open.contains(&at)).then(|| format!("{:016x}", v.to_bits()));
            json!(float.rounded.iter().enumerate().map(bits).collect::<Vec<_>>())
        }
        TruthTensor::Integer { values, .. } => json!(values),
        TruthTensor::Predicate { values, .. } => json!(values),
    }
}
