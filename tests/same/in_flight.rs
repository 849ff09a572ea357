//! Products in flight on every machine: programs that are proven the same have the same bits, however their products join
//! a sum.

use std::collections::{BTreeSet, HashMap};

use ulpgate::machine::Symbol;
use ulpgate::tensor::{DType, Tensor};

use crate::machines::{Run, run};
use crate::{Random, differ, fill};

const MODES: [&str; 5] = [
    "xla-cpu/default/as-compiled",
    "xla-cpu/default/as-compiled+reduce=chain",
    "xla-cpu/default/as-compiled+reduce=lanes",
    "v5e/default/as-compiled",
    "cpu/f32/as-compiled",
];

/// Further terms: a sum that one number joins, and sums of three products.
const OTHERS: [&str; 4] = [
    "n = f32[D] multiply(c, d)\n t = f32[D] add(a, n)",
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n s = f32[D] add(m, n)\n t = f32[D] add(a, s)",
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n s = f32[D] add(m, n)\n o = f32[D] multiply(a, d)\n t = f32[D] add(s, o)",
    "m = f32[D] multiply(a, b)\n n = f32[D] multiply(c, d)\n s = f32[D] add(m, n)\n o = f32[D] multiply(a, d)\n t = f32[D] add(o, s)",
];

/// Ways to write the terms of the sum: factors of both signs and in both orders, products written in both orders, and joined in
/// either order, by their difference and by the opposite of their sum.
fn terms() -> Vec<String> {
    let firsts = ["multiply(a, b)", "multiply(b, a)", "multiply(p, b)", "multiply(a, q)"];
    let joins = [
        "t = f32[D] add(m, n)",
        "t = f32[D] add(n, m)",
        "t = f32[D] subtract(m, n)",
        "s = f32[D] add(m, n)\n t = f32[D] negate(s)",
    ];
    let mut all: Vec<String> = OTHERS.map(str::to_string).to_vec();
    for first in firsts {
        let signs = "p = f32[D] negate(a)\n q = f32[D] negate(b)";
        let (m, n) = (format!("m = f32[D] {first}"), "n = f32[D] multiply(c, d)");
        for join in joins {
            all.push(format!("{signs}\n {m}\n {n}\n {join}"));
            all.push(format!("{signs}\n {n}\n {m}\n {join}"));
        }
    }
    all
}

/// The sum of such terms over the last dim, without fusions, in one or with the terms in one of their own; and the terms without a
/// sum, in a fusion and without.
fn program(terms: &str, dims: &str, form: usize) -> String {
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
    let result = terms.replace(" t = ", " ROOT t = ");
    match form {
        0 => format!("HloModule m\n{add}\nENTRY e {{\n {parameters}\n {terms}\n {sum}\n}}\n"),
        1 => format!(
            "HloModule m\n{add}\nfused {{\n {parameters}\n {terms}\n {sum}\n}}\nENTRY e {{\n {parameters}\n \
             ROOT f = f32[{rows}] {}\n}}\n",
            called("kLoop")
        ),
        2 => format!("HloModule m\nENTRY e {{\n {parameters}\n {result}\n}}\n"),
        3 => format!(
            "HloModule m\nfused {{\n {parameters}\n {result}\n}}\nENTRY e {{\n {parameters}\n ROOT f = f32[{dims}] {}\n}}\n",
            called("kLoop")
        ),
        _ => format!(
            "HloModule m\n{add}\nfused {{\n {parameters}\n {}\n}}\nsums {{\n t = f32[{dims}] parameter(0)\n {sum}\n}}\n\
             ENTRY e {{\n {parameters}\n t = f32[{dims}] {}\n \
             ROOT f = f32[{rows}] fusion(t), kind=kLoop, calls=sums\n}}\n",
            result,
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
            (0..2).map(|_| (0..4).map(|_| fill(&mut random, DType::F32, &dims)).collect()).collect();
        let mut seen: HashMap<Symbol, (usize, usize)> = HashMap::new();
        let mut runs: Vec<Run> = Vec::new();
        for mode in MODES {
            for (number, terms) in terms().iter().enumerate() {
                for form in 0..5 {
                    let name = format!("terms {number} in form {form} on {mode}");
                    runs.extend(run(name, &program(terms, &text, form), &mode.parse().unwrap(), &inputs));
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
    assert!(groups > 1000 && shared > 1000, "{groups} symbols, {shared} of them again");
}

/// Moves of an array of [4,6], each with the dims of its result.
const MOVES: [(&str, &str); 5] = [
    ("copy(X)", "4,6"),
    ("transpose(X), dimensions={1,0}", "6,4"),
    ("reverse(X), dimensions={0,1}", "4,6"),
    ("slice(X), slice={[1:3], [0:6:2]}", "2,3"),
    ("reshape(X)", "3,8"),
];

/// A move keeps a product in flight: its symbols are those of the product of moved factors, and not those of a rounded product.
#[test]
fn a_moved_product_is_the_product_of_moved_factors() {
    let mut random = Random(5);
    for (of, to) in MOVES {
        let dims: Vec<usize> = to.split(',').map(|extent| extent.parse().unwrap()).collect();
        let inputs: Vec<Vec<Tensor>> = (0..4)
            .map(|_| [&[4, 6], &[4, 6], &dims[..]].map(|dims| fill(&mut random, DType::F32, dims)).to_vec())
            .collect();
        let program = |lines: &str| {
            let parameters =
                format!("a = f32[4,6] parameter(0)\n b = f32[4,6] parameter(1)\n c = f32[{to}] parameter(2)");
            format!(
                "HloModule m\nfused {{\n {parameters}\n {lines}\n ROOT s = f32[{to}] add(m, c)\n}}\nENTRY e {{\n {parameters}\n \
                 ROOT f = f32[{to}] fusion(a, b, c), kind=kLoop, calls=fused\n}}\n"
            )
        };
        let moved = |name: &str, x: &str| format!("{name} = f32[{to}] {}", of.replace('X', x));
        let product = "p = f32[4,6] multiply(a, b)";
        let rounded = "q = f32[4,6] reduce-precision(p), exponent_bits=8, mantissa_bits=23";
        let ways = [
            format!("{product}\n {}", moved("m", "p")),
            format!("{}\n {}\n m = f32[{to}] multiply(x, y)", moved("x", "a"), moved("y", "b")),
            format!("{product}\n {rounded}\n {}", moved("m", "q")),
        ];
        let mode = MODES[0].parse().unwrap();
        let [before, behind, rounded] =
            ways.map(|lines| run(of.to_string(), &program(&lines), &mode, &inputs).unwrap());
        assert_eq!(before.symbols, behind.symbols, "{of}");
        assert!(before.symbols[0].iter().zip(&rounded.symbols[0]).all(|(a, b)| a != b), "{of}");
        let differs = |other: &Run| {
            let pairs = before.results.iter().zip(&other.results);
            pairs.into_iter().any(|(a, b)| (0..a[0].len()).any(|at| differ(&a[0], at, &b[0], at)))
        };
        assert!(!differs(&behind) && differs(&rounded), "{of}");
    }
}
