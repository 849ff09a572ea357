//! The search is shown to look everywhere, and to see what is wrong.

use std::collections::BTreeSet;

use ulpgate::ir::Unary;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::tensor::DTYPES;

use super::search::{generated, program, run, verdicts};
use super::verdict::{Answer, answers};

/// The operations that are drawn, beside the functions between floats.
const NAMES: &[&str] = &[
    "add",
    "and",
    "atan2",
    "argmax",
    "argmin",
    "bitcast-convert",
    "broadcast",
    "clamp",
    "compare EQ",
    "compare GE",
    "compare GT TOTALORDER",
    "compare LE",
    "compare LT",
    "compare LT TOTALORDER",
    "compare NE",
    "concatenate",
    "conditional",
    "constant",
    "convert",
    "copy",
    "divide",
    "dot",
    "dynamic-slice",
    "dynamic-update-slice",
    "gather",
    "iota",
    "maximum",
    "minimum",
    "multiply",
    "not",
    "opt-barrier",
    "or",
    "pad",
    "parameter",
    "power",
    "reduce Magnitude",
    "reduce SquareSum",
    "reduce add",
    "reduce and",
    "reduce maximum",
    "reduce minimum",
    "reduce multiply",
    "reduce or",
    "reduce xor",
    "reduce-precision",
    "reduce-window add",
    "reduce-window maximum",
    "reduce-window multiply",
    "remainder",
    "reshape",
    "reverse",
    "select",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "slice",
    "sort Canonical",
    "sort Magnitude",
    "sort Partial",
    "sort Ties",
    "sort Total",
    "subtract",
    "topk",
    "transpose",
    "while multiply",
    "xor",
];

const FUNCTIONS: &[Unary] = &[
    Unary::Abs,
    Unary::Cbrt,
    Unary::Ceil,
    Unary::Cosine,
    Unary::CountLeadingZeros,
    Unary::Erf,
    Unary::Exponential,
    Unary::ExponentialMinusOne,
    Unary::Floor,
    Unary::IsFinite,
    Unary::Log,
    Unary::LogPlusOne,
    Unary::Logistic,
    Unary::Negate,
    Unary::PopulationCount,
    Unary::RoundNearestAfz,
    Unary::RoundNearestEven,
    Unary::Rsqrt,
    Unary::Sign,
    Unary::Sine,
    Unary::Sqrt,
    Unary::Tan,
    Unary::Tanh,
];

#[test]
fn every_operation_and_type_is_drawn() {
    let (mut names, mut dtypes) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..6000 {
        for node in generated(1, number).nodes {
            names.insert(node.op.name());
            dtypes.insert(node.dtype);
        }
    }
    let wanted = NAMES.iter().copied().chain(FUNCTIONS.iter().map(|f| f.name()));
    let missing: Vec<&str> = wanted.filter(|name| !names.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(dtypes.into_iter().collect::<Vec<_>>(), DTYPES);
}

/// Every decided answer, made wrong by the least that it can be.
#[test]
fn what_is_wrong_is_seen() {
    let (mut seen, mut open) = (0, 0);
    for number in 0..300 {
        let graph = generated(1, number);
        let program = program(&graph);
        let verdicts = verdicts(&graph, 320);
        for demand in [Demand::Rounded, Demand::Order] {
            let Ok(Ok(mut truth)) = run(&Oracle::default(), &program, &graph, demand) else { continue };
            for (verdict, output) in verdicts.iter().zip(&mut truth.outputs) {
                match output {
                    TruthTensor::Skipped => {}
                    TruthTensor::Float(float) => {
                        let moved = |v: &f64| if v.is_nan() { 0.0 } else { f64::from_bits(v.to_bits() ^ 1) };
                        float.rounded = float.rounded.iter().map(moved).collect();
                        for top in &mut float.tops {
                            top.runner_up = top.runner_up.map_or(Some(0), |_| None);
                        }
                    }
                    TruthTensor::Integer { values, .. } => values.iter_mut().flatten().for_each(|v| *v ^= 1),
                    TruthTensor::Predicate { values, .. } => values.iter_mut().flatten().for_each(|v| *v = !*v),
                }
                for answer in answers(verdict, output) {
                    assert_ne!(answer, Answer::Right, "program {number}");
                    seen += u64::from(matches!(answer, Answer::Wrong(_)));
                    open += u64::from(!matches!(answer, Answer::Wrong(_)));
                }
            }
        }
    }
    assert!(seen > 3000 && open < seen / 10, "{seen} seen, {open} open");
}
