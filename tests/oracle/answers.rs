//! Answers on demand: stored numbers, orders and margins, and how much each rung answered.

use ulpgate::oracle::{Demand, Oracle, Rung, TruthTensor};
use ulpgate::tensor::DType;

use super::ask::{ask, truth};
use super::edges::below_zero;
use super::oracles;

/// One hot logit over masks as low as f32 goes: the margin is a number of ulps that no bf16 holds.
#[test]
fn margins_reach_as_far_as_f64() {
    let outputs = truth("ROOT x = f32[3] constant({1, -3.4e38, -3.4e38})", Demand::Order);
    let TruthTensor::Float(float) = &outputs[0] else { panic!("{outputs:?}") };
    let margin = float.tops[0].margin_ulp.unwrap();
    assert!((margin / (3.4e38 * 2f64.powi(23)) - 1.0).abs() < 2f64.powi(-8), "{margin}");
}

/// `t`, a little more and a little less, as f32: ties are broken by what no f64 shows.
#[test]
fn what_is_stored_is_rounded_once() {
    let two = |exponent: i32| 2f64.powi(exponent);
    let values = [
        1.0 + two(-24),
        1.0 + 3.0 * two(-24),
        5.0 + two(-22),
        5.0 + 3.0 * two(-22),
        -5.0 - two(-22),
        -5.0 - 3.0 * two(-22),
        two(-150),
        -two(-150),
        3.0 * two(-150),
        0.0,
        1.0 / 3.0,
        1e300,
    ];
    let n = values.len();
    let list = values.map(|t| format!("{t:?}")).join(", ");
    let entry = format!(
        "c = f64[] constant(-150)
         d = f64[] exponential(c)
         ds = f64[{n}] broadcast(d), dimensions={{}}
         t = f64[{n}] constant({{{list}}})
         above = f64[{n}] add(t, ds)
         below = f64[{n}] subtract(t, ds)
         x = f32[{n}] convert(t)
         y = f32[{n}] convert(above)
         z = f32[{n}] convert(below)
         ROOT r = (f32[{n}], f32[{n}], f32[{n}]) tuple(x, y, z)"
    );
    let outputs = truth(&entry, Demand::Stored);
    let stored = |output: &TruthTensor| match output {
        TruthTensor::Float(float) => float.rounded.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    for (output, beside) in outputs.iter().zip([|t: f64| t, f64::next_up, f64::next_down]) {
        let expected = values.map(|t| f64::from(beside(t) as f32).to_bits());
        assert_eq!(stored(output), expected);
    }
    // As f64 it is what f64 is asked for.
    let entry = "t = f64[6] constant({1, 2, 3, 4, 5, 6})\nROOT r = f64[6] exponential(t)";
    assert_eq!(stored(&truth(entry, Demand::Stored)[0]), stored(&truth(entry, Demand::Rounded)[0]));
}

/// A number that counts as near is within 2^-10 of an ulp of the result's type of the right one, whichever number it is.
#[test]
fn what_is_near_is_near() {
    let entry = "t = f64[6] constant({1, -2, 3.5, 40, -500, 0})\ne = f64[6] exponential(t)\nROOT r = f32[6] convert(e)";
    let float = |outputs: &[TruthTensor]| match &outputs[0] {
        TruthTensor::Float(float) => float.clone(),
        other => panic!("{other:?}"),
    };
    let exact = float(&truth(entry, Demand::Rounded));
    for oracle in oracles() {
        let near = float(&ask(&oracle, entry, Demand::Near).unwrap().outputs);
        assert!(near.open.is_empty(), "{oracle:?}");
        for (near, exact) in near.rounded.iter().zip(&exact.rounded) {
            let ulp = DType::F32.format().unwrap().ulp(*exact);
            assert!((near - exact).abs() <= ulp / 1024.0, "{oracle:?}: {near} {exact}");
        }
    }
}

/// A type ends with a neighbour that is no number: results on either side of it are open, or right.
#[test]
fn nothing_is_stored_beside_the_end_of_a_type() {
    // Ties between the largest number and what lies beyond; with two units of the last place around them.
    for (dtype, end, largest) in
        [("f32", 2f64.powi(128) - 2f64.powi(103), f64::from(f32::MAX)), ("f8e4m3fn", 464.0, 448.0)]
    {
        for sign in [1.0, -1.0] {
            let entry = format!(
                "t = f64[1] constant({{{:?}}})
                 c = f64[1] constant({{-150}})
                 d = f64[1] exponential(c)
                 one = f64[1] constant({{1}})
                 grown = f64[1] add(one, d)
                 e = f64[1] exponential(one)
                 much = f64[1] multiply(t, e)
                 more = f64[1] multiply(much, grown)
                 y = f64[1] divide(more, e)
                 ROOT r = {dtype}[1] convert(y)",
                sign * end
            );
            for oracle in oracles() {
                let truth = ask(&oracle, &entry, Demand::Stored).unwrap();
                let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
                // It lies beyond the tie.
                assert!(float.open == [0] || float.rounded[0].abs() != largest, "{entry}: {truth:?}");
            }
        }
    }
}

/// Beyond either end of a type without infinities is NaN; a number that may lie between them is open.
#[test]
fn what_may_lie_between_two_ends_is_not_beyond_them() {
    for (dtype, far) in [("f8e4m3fn", "1e9"), ("f8e4m3fnuz", "1e9"), ("f8e8m0fnu", "1e300")] {
        let entry = format!(
            "one = f64[1] constant({{1}})
             minus = f64[1] constant({{-1}})
             e = f64[1] exponential(one)
             inverse = f64[1] exponential(minus)
             product = f64[1] multiply(e, inverse)
             open = pred[1] compare(product, one), direction=EQ
             far = f64[1] constant({{{far}}})
             below = f64[1] negate(far)
             end = f64[1] select(open, far, below)
             r = f64[1] select(open, end, one)
             ROOT stored = {dtype}[1] convert(r)"
        );
        for oracle in oracles() {
            let truth = ask(&oracle, &entry, Demand::Stored).unwrap();
            let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
            assert_eq!(float.open, [0], "{entry}: {truth:?}");
        }
    }
}

/// An infinite best, one beyond f64, a zero, and two just below the end of f64: only the first two have no margin.
#[test]
fn only_what_is_beyond_f64_has_no_margin() {
    let top = |entry: &str| {
        let outputs = truth(entry, Demand::Order);
        let TruthTensor::Float(float) = &outputs[0] else { panic!("{outputs:?}") };
        let top = &float.tops[0];
        assert_eq!((&top.best[..], top.runner_up), (&[0][..], Some(1)), "{entry}");
        top.margin_ulp
    };
    assert_eq!(top("ROOT x = f32[3] constant({inf, 1, 0})"), None);
    assert_eq!(top("t = f64[3] constant({800, 799, 1})\nROOT x = f64[3] exponential(t)"), None);
    assert_eq!(top("ROOT x = f32[3] constant({0, -1, -2})"), Some(2f64.powi(149)));
    // The enclosures of f64 leave this margin open; MPFR does not.
    let entry = format!("t = f64[2] constant({{709.7, {:?}}})\nROOT x = f64[2] exponential(t)", 709.7f64.next_down());
    assert!(top(&entry).is_some());
}

/// The figures say which rung answered how many elements; a row counts as all of its own.
#[test]
fn figures_count_the_elements_of_rows() {
    let oracle = Oracle { first: Some(Rung::Intervals), ..Oracle::default() };
    let stats = ask(&oracle, "ROOT x = f32[2,3] constant({{1, 2, 3}, {3, 2, 1}})", Demand::Order).unwrap().stats;
    assert_eq!((stats.fast, stats.pairs, stats.mpfr, stats.highest_bits, stats.undecided), (6, 0, 0, 0, 0));
    // y[0] is a zero to all but MPFR: the second row's top stays open.
    let rows = "z = f64[2] constant({0, 0})
        first = f64[1] slice(y), slice={[0:1]}
        some = f64[3] concatenate(first, z), dimensions={0}
        others = f64[3] constant({3, 2, 1})
        both = f64[6] concatenate(others, some), dimensions={0}
        ROOT r = f64[2,3] reshape(both)";
    let stats = ask(&oracle, &below_zero(rows), Demand::Order).unwrap().stats;
    assert_eq!((stats.fast, stats.pairs, stats.mpfr, stats.undecided), (3, 0, 3, 0));
}
