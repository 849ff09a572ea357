//! Products in flight on every machine: programs that are proven the same have the same bits, however their products join
//! a sum.

use std::collections::{BTreeSet, HashMap};

use ulpgate::machine::Symbol;
use ulpgate::tensor::{DType, Tensor};

use crate::machines::{Run, run};
use crate::{Random, differ, fill};

const MODES: [&str; 6] = [
    "xla-cpu/default/as-compiled",
    "xla-cpu/default/as-compiled+reduce=chain",
    "xla-cpu/default/as-compiled+reduce=lanes",
    "v5e/default/as-compiled",
    "v6e/highest/as-compiled",
    "cpu/f32/as-compiled",
];

/// Ways to write the terms of the sum.
const TERMS: [&str; 6] = [
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n t = f32[D] add(m, n)",
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n t = f32[D] add(n, m)",
    "m = f32[D] multiply(b, a)\n n = f32[D] multiply(c, d)\n s = f32[D] add(m, n)\n t = f32[D] negate(s)",
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n t = f32[D] subtract(m, n)",
    "n = f32[D] multiply(c, d)\n t = f32[D] add(a, n)",
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n s = f32[D] add(m, n)\n o = f32[D] multiply(a, d)\n t = f32[D] add(s, o)",
];

/// The sum of such terms over the last dim: in one fusion, with the terms in a fusion of their own, or without any.
fn program(terms: &str, dims: &str, fusions: usize) -> String {
    let rows = dims.split(',').next().unwrap_or(dims);
    let names = ["a", "b", "c", "d"];
    let parameters = |sep: &str| {
        let line = |(at, name): (usize, &&str)| format!("{name} = f32[{dims}] parameter({at})");
        names.iter().enumerate().map(line).collect::<Vec<_>>().join(sep)
    };
    let (parameters, terms) = (parameters("\n "), terms.replace('D', dims));
    let sum = format!("z = f32[] constant(0)\n ROOT r = f32[{rows}] reduce(t, z), dimensions={{1}}, to_apply=add");
    let add = "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }";
    let called = |kind: &str| format!("fusion(a, b, c, d), kind={kind}, calls=fused");
    match fusions {
        0 => format!("HloModule m\n{add}\nENTRY e {{\n {parameters}\n {terms}\n {sum}\n}}\n"),
        1 => format!(
            "HloModule m\n{add}\nfused {{\n {parameters}\n {terms}\n {sum}\n}}\nENTRY e {{\n {parameters}\n \
             ROOT f = f32[{rows}] {}\n}}\n",
            called("kLoop")
        ),
        _ => format!(
            "HloModule m\n{add}\nfused {{\n {parameters}\n {}\n}}\nsums {{\n t = f32[{dims}] parameter(0)\n {sum}\n}}\n\
             ENTRY e {{\n {parameters}\n t = f32[{dims}] {}\n \
             ROOT f = f32[{rows}] fusion(t), kind=kLoop, calls=sums\n}}\n",
            terms.replace(" t = ", " ROOT t = "),
            called("kLoop")
        ),
    }
}

/// Equal keys give equal bits: of all ways to write a sum of two products, on all machines.
#[test]
fn equal_keys_of_products_in_flight_give_equal_bits() {
    let mut random = Random(33);
    let mut wrong = BTreeSet::new();
    let (mut groups, mut shared) = (0, 0);
    for dims in [[2, 5], [3, 40]] {
        let text = dims.map(|extent| extent.to_string()).join(",");
        let inputs: Vec<Vec<Tensor>> =
            (0..4).map(|_| (0..4).map(|_| fill(&mut random, DType::F32, &dims)).collect()).collect();
        let mut seen: HashMap<Symbol, (usize, usize)> = HashMap::new();
        let mut runs: Vec<Run> = Vec::new();
        for mode in MODES {
            for (number, terms) in TERMS.iter().enumerate() {
                for fusions in 0..3 {
                    let name = format!("terms {number} in {fusions} fusions on {mode}");
                    runs.extend(run(name, &program(terms, &text, fusions), &mode.parse().unwrap(), &inputs));
                }
            }
        }
        for (number, run) in runs.iter().enumerate() {
            for (at, symbol) in run.symbols[0].iter().enumerate() {
                let Some((first, place)) = seen.get(symbol).copied() else {
                    seen.insert(*symbol, (number, at));
                    groups += 1;
                    continue;
                };
                shared += 1;
                let other = &runs[first];
                let bits = other.results.iter().zip(&run.results);
                if bits.into_iter().any(|(a, b)| differ(&a[0], place, &b[0], at)) {
                    wrong.insert(format!("{} and {}", other.name, run.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "one symbol, and other bits:\n{wrong:#?}");
    assert!(groups > 50 && shared > 50, "{groups} symbols, {shared} of them again");
}
