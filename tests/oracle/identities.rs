//! Facts that identities and orders prove, and none beyond them: ties of expressions, places of NaN, numbers of ties.

use ulpgate::ir::{ApproxTopK, Builder, Op};
use ulpgate::oracle::{Demand, TruthTensor};
use ulpgate::tensor::{DType, Data, Tensor};

use super::ask::{INF, NAN, floats, integers, open, predicates, truth};
use super::edges::{below_zero, hidden};
use super::{agreed, f32s, program, rounded};

/// y y is 6.8e-132 and not zero, though no relation to y is known where y has no sign yet: no result is that of another.
#[test]
fn results_without_a_relation_are_nothing_known() {
    predicates(
        &below_zero(
            "p = f64[4] multiply(y, y)
             z = f64[4] constant({0, 0, 0, 0})
             ROOT r = pred[4] compare(p, z), direction=EQ",
        ),
        &[false; 4],
    );
}

/// docs/proofs/truth.md, "NaN, infinities and signs of zero": the NaN that arithmetic makes is positive, whatever the processor's is.
#[test]
fn running_sums_make_positive_nans() {
    predicates(
        "x = f64[3] constant({inf, -inf, 1})
         z = f64[] constant(0)
         s = f64[3] reduce-window(x, z), window={size=3 pad=2_0}, to_apply=add
         i = f64[3] constant({inf, inf, inf})
         ROOT r = pred[3] compare(s, i), direction=GT, type=TOTALORDER",
        &[false, true, true],
    );
}

/// A number that is not known exactly, on the left of a NaN of either sign.
#[test]
fn a_number_stands_before_a_nan() {
    for (direction, expected) in [("LT", [true, false]), ("GT", [false, true])] {
        predicates(
            &format!(
                "one = f64[2] constant({{1, 1}})
                 e = f64[2] exponential(one)
                 nans = f64[2] constant({{nan, -nan}})
                 ROOT r = pred[2] compare(e, nans), direction={direction}, type=TOTALORDER"
            ),
            &expected,
        );
    }
}

#[test]
fn magnitudes_keep_the_payload_of_a_nan() {
    integers(
        "x = u32[4] constant({2143289345, 4290772993, 2139095041, 2147483648})
         f = f32[4] bitcast-convert(x)
         a = f32[4] abs(f)
         ROOT r = u32[4] bitcast-convert(a)",
        &[2143289345, 2143289345, 2139095041, 0],
    );
}

/// u is a zero whose sign nothing shows: beside the zero that prevails it does not matter, beside the other one it does.
#[test]
fn zeros_of_open_signs_give_way_to_the_zero_that_prevails() {
    let of = |op: &str, zero: &str, operands: &str| {
        hidden(&format!(
            "u = f64[2] multiply(z, zeros)
             o = f64[2] constant({{{zero}, {zero}}})
             ROOT r = f64[2] {op}({operands})"
        ))
    };
    for operands in ["o, u", "u, o"] {
        floats(&of("maximum", "0", operands), &[0.0; 2]);
        floats(&of("minimum", "-0", operands), &[-0.0; 2]);
        open(&of("maximum", "-0", operands));
        open(&of("minimum", "0", operands));
    }
}

/// Two equal arguments give equal values, at every step away from exactly known ones.
#[test]
fn functions_of_equals_tie() {
    let (rising, falling) = ([1, 3], [0, 2]);
    for (function, best) in [
        ("rsqrt(y)", falling),
        ("abs(y)", rising),
        ("abs(n)", rising),
        ("divide(c, y)", falling),
        ("divide(c, n)", rising),
    ] {
        let entry = format!(
            "x = f64[4] constant({{0.7, 0.9, 0.7, 0.9}})
             e = f64[4] exponential(x)
             y = f64[4] exponential(e)
             n = f64[4] negate(y)
             s = f64[] constant(3)
             c = f64[4] broadcast(s), dimensions={{}}
             ROOT r = f64[4] {function}"
        );
        let outputs = truth(&entry, Demand::Order);
        let [TruthTensor::Float(float)] = &outputs[..] else { panic!("{outputs:?}") };
        assert_eq!(float.tops[0].best, best, "{function}");
    }
}

/// n[0] is 2.6e-66, the others are negative: |n| is -n only there.
#[test]
fn what_has_no_sign_yet_is_not_taken_for_negative() {
    predicates(
        &below_zero(
            "n = f64[4] negate(y)
             a = f64[4] abs(n)
             m = f64[4] negate(n)
             ROOT r = pred[4] compare(a, m), direction=EQ",
        ),
        &[false, true, true, true],
    );
}

/// At -2.6e-66 they are 3.4e-132 apart.
#[test]
fn functions_of_one_argument_are_told_apart() {
    predicates(
        &below_zero(
            "f = f64[4] exponential-minus-one(y)
             g = f64[4] tanh(y)
             ROOT r = pred[4] compare(f, g), direction=EQ",
        ),
        &[false; 4],
    );
}

/// An infinity less itself is NaN; a finite number less itself is +0, be it a zero that nothing shows.
#[test]
fn unknown_less_itself_is_unknown() {
    open(&hidden("a = f64[2] abs(z)\nf = f64[2] log(a)\nROOT r = f64[2] subtract(f, f)"));
    floats(&hidden("ROOT r = f64[2] subtract(z, z)"), &[0.0; 2]);
}

/// Long runs of one operation that give NaN, and a choice between two such that is open.
#[test]
fn either_of_two_nans_is_nan() {
    floats(
        "o = f64[] constant(1)
         e = f64[] exponential(o)
         m = f64[] multiply(e, e)
         q = f64[] divide(m, e)
         p = pred[] compare(q, e), direction=EQ
         x = f64[8] constant({nan, nan, nan, nan, nan, nan, nan, nan})
         s = f64[] constant(2)
         c = f64[8] broadcast(s), dimensions={}
         t = f64[] constant(3)
         d = f64[8] broadcast(t), dimensions={}
         a = f64[8] add(x, c)
         b = f64[8] add(x, d)
         ROOT r = f64[8] select(p, a, b)",
        &[NAN; 8],
    );
}

/// Zero over whatever is zero, and ties keep their order; one over a zero is an infinity of its sign.
#[test]
fn quotients_of_zero_tie() {
    integers(
        "x = f64[3] constant({3, 1, 2})
         e = f64[3] exponential(x)
         o = f64[] constant(0)
         z = f64[3] broadcast(o), dimensions={}
         q = f64[3] divide(z, e)
         k = (f64[3], s32[3]) topk(q), k=3, largest=true
         ROOT i = s32[3] get-tuple-element(k), index=1",
        &[0, 1, 2],
    );
    floats(
        "x = f64[2] constant({0, -0})
         y = f64[2] tanh(x)
         o = f64[] constant(1)
         c = f64[2] broadcast(o), dimensions={}
         q = f64[2] divide(c, y)
         ROOT s = f64[2] sort(q), dimensions={0}, to_apply=less",
        &[-INF, INF],
    );
}

/// At v = 2 - 4.6e-17, v + 2 and 2 v are closer than f64 tells, and so are v - 2 and 2 - v.
#[test]
fn functions_of_one_constant_are_told_apart_where_they_meet() {
    let entry = |left: &str, right: &str, direction: &str| {
        format!(
            "x = f64[2] constant({{0.6931471805599453, 0.6931471805599453}})
             v = f64[2] exponential(x)
             s = f64[] constant(2)
             c = f64[2] broadcast(s), dimensions={{}}
             y = f64[2] {left}
             z = f64[2] {right}
             ROOT r = pred[2] compare(y, z), direction={direction}"
        )
    };
    predicates(&entry("add(v, c)", "multiply(v, c)", "EQ"), &[false; 2]);
    predicates(&entry("subtract(v, c)", "subtract(c, v)", "LT"), &[true; 2]);
}

/// Ties go to the lower of the numbers carried along, however they lie; where there is a NaN and numbers tie, the region
/// says what comes first.
#[test]
fn ties_go_by_the_lower_number_or_are_left_to_the_region() {
    let sorted = |keys: &str, numbers: &str, root: &str| {
        format!(
            "x = f64[2] constant({{{keys}}})
             n = s32[2] constant({{{numbers}}})
             s = (f64[2], s32[2]) sort(x, n), dimensions={{0}}, to_apply=less_tied
             ROOT r = {root}"
        )
    };
    integers(&sorted("1, 1", "1, 0", "s32[2] get-tuple-element(s), index=1"), &[0, 1]);
    integers(&sorted("1, 1", "0, 1", "s32[2] get-tuple-element(s), index=1"), &[0, 1]);
    floats(&sorted("nan, 1", "0, 0", "f64[2] get-tuple-element(s), index=0"), &[NAN, 1.0]);
}

/// Behind all numbers; and behind what may be one itself only if it is none.
#[test]
fn sorts_of_jax_put_nans_last() {
    let row = f32s(&[1, 4], &[2.0, f32::NAN, -1.0, 0.0]);
    let (truth, _) = agreed(&program("sort[dtype=f32]", 4, 1), &[row], &[Demand::Rounded; 2]);
    let values = rounded(&truth, 0);
    assert!(values[..3] == [-1.0, 0.0, 2.0] && values[3].is_nan(), "{values:?}");
    let indices = [2, 3, 0, 1].map(Some).to_vec();
    assert_eq!(truth.outputs[1], TruthTensor::Integer { dims: vec![1, 4], values: indices });
    // log(y[0]) is NaN, which takes many bits: a tie, that keeps its order.
    integers(
        &below_zero(
            "f = f64[4] log(y)
             a = f64[1] slice(f), slice={[0:1]}
             n = f64[1] constant({nan})
             row = f64[2] concatenate(n, a), dimensions={0}
             ids = s32[2] iota(), iota_dimension=0
             sorted = (f64[2], s32[2]) sort(row, ids), dimensions={0}, to_apply=less_jax
             ROOT r = s32[2] get-tuple-element(sorted), index=1",
        ),
        &[0, 1],
    );
}

/// Two that are one expression tie even where they may be zeros, of positive arguments and of negative ones.
#[test]
fn equals_keep_their_order_whatever_their_sign() {
    for argument in ["one", "minus"] {
        integers(
            &hidden(&format!(
                "minus = f64[2] negate(one)
                 f = f64[2] exponential({argument})
                 g = f64[2] multiply(f, f)
                 h = f64[2] divide(g, f)
                 y = f64[2] subtract(f, h)
                 k = (f64[2], s32[2]) topk(y), k=2, largest=true
                 ROOT i = s32[2] get-tuple-element(k), index=1"
            )),
            &[0, 1],
        );
    }
}

/// A comparator that nobody knows, but that gives every NaN a place, with ties among the numbers.
#[test]
fn a_total_order_of_a_region_places_nans() {
    floats(
        "x = f64[5] constant({2, nan, 1, 2, 0})
         ROOT r = f64[5] sort(x), dimensions={0}, to_apply=less_total_doubled",
        &[0.0, 1.0, 2.0, 2.0, NAN],
    );
}

/// Indices that differ from row to row.
#[test]
fn approximate_tops_read_the_indices_of_their_own_row() {
    let mut b = Builder::new("tops");
    let x = b.parameter("x", DType::F32, &[3, 4]).unwrap();
    let ids = b.parameter("ids", DType::S32, &[3, 4]).unwrap();
    let low = b.constant(DType::F32, f64::NEG_INFINITY).unwrap();
    let none = b.constant(DType::S32, -1.0).unwrap();
    let op = Op::ApproxTopK(ApproxTopK {
        k: 2,
        reduction_dim: 1,
        recall_target: 0.95,
        aggregate_to_topk: true,
        reduction_input_size_override: None,
    });
    let top = b.op(op, &[x, ids, low, none]).unwrap();
    let indices = b.tuple_element(top, 1).unwrap();
    let program = b.finish(&[("indices", indices)]).unwrap();
    let x = f32s(&[3, 4], &[3.0, 1.0, 2.0, 0.0, 0.0, 5.0, 4.0, 1.0, 7.0, 8.0, 9.0, 6.0]);
    let ids = Tensor::new(&[3, 4], Data::from_i64s(DType::S32, &(100..112).collect::<Vec<i64>>()).unwrap());
    let (truth, _) = agreed(&program, &[x, ids], &[Demand::Rounded]);
    let values = [100, 102, 105, 106, 110, 109].map(Some).to_vec();
    assert_eq!(truth.outputs[0], TruthTensor::Integer { dims: vec![3, 2], values });
}

/// A number that is known by an enclosure alone, its negative, and a difference both ways.
fn both_signs(result: &str) -> String {
    format!(
        "x = f64[4] constant({{2, 3, 0.7, 1e-9}})
         y = f64[4] constant({{5, 0.3, 11, 2e-9}})
         s = f64[4] sqrt(x)
         t = f64[4] sqrt(y)
         d = f64[4] subtract(s, t)
         m = f64[4] subtract(t, s)
         n = f64[4] negate(s)
         q = f64[4] exponential(y)
         {result}"
    )
}

/// f(-x) = -f(x): no enclosure shows that the sum is zero.
#[test]
fn odd_functions_of_a_number_and_its_negative_cancel() {
    for function in ["sine", "tan", "tanh", "erf", "cbrt"] {
        for (plus, minus) in [("s", "n"), ("n", "s"), ("d", "m"), ("m", "d")] {
            floats(
                &both_signs(&format!(
                    "a = f64[4] {function}({plus})
                     b = f64[4] {function}({minus})
                     ROOT r = f64[4] add(a, b)"
                )),
                &[0.0; 4],
            );
        }
    }
    // An even one, and one that is odd about a half.
    floats(&both_signs("a = f64[4] cosine(d)\nb = f64[4] cosine(m)\nROOT r = f64[4] subtract(a, b)"), &[0.0; 4]);
    floats(&both_signs("a = f64[4] logistic(d)\nb = f64[4] logistic(m)\nROOT r = f64[4] add(a, b)"), &[1.0; 4]);
    // Functions of two.
    floats(&both_signs("a = f64[4] atan2(d, n)\nb = f64[4] atan2(m, n)\nROOT r = f64[4] add(a, b)"), &[0.0; 4]);
    for (exponent, operation) in [("3", "add"), ("-3", "add"), ("4", "subtract"), ("-2", "subtract")] {
        floats(
            &both_signs(&format!(
                "e = f64[4] constant({{{exponent}, {exponent}, {exponent}, {exponent}}})
                 a = f64[4] power(d, e)
                 b = f64[4] power(m, e)
                 ROOT r = f64[4] {operation}(a, b)"
            )),
            &[0.0; 4],
        );
    }
    // Of other bases or other second operands there is nothing to cancel.
    let differs = |text: &str| {
        let TruthTensor::Float(found) = truth(&both_signs(text), Demand::Rounded).remove(0) else { unreachable!() };
        assert!(found.open.is_empty() && found.rounded.iter().all(|value| *value != 0.0), "{text}: {found:?}");
    };
    differs("a = f64[4] exponential-minus-one(d)\nb = f64[4] exponential-minus-one(m)\nROOT r = f64[4] add(a, b)");
    differs("a = f64[4] atan2(d, s)\nb = f64[4] atan2(m, t)\nROOT r = f64[4] add(a, b)");
    differs("a = f64[4] sine(s)\nb = f64[4] tan(n)\nROOT r = f64[4] add(a, b)");
    differs("a = f64[4] tanh(s)\nb = f64[4] tanh(t)\nROOT r = f64[4] subtract(a, b)");
}

/// An angle jumps on the negative abscissas: of a zero that nothing shows both signs give pi, or both -pi.
#[test]
fn angles_of_what_may_be_zero_do_not_cancel() {
    open(
        "x = f64[1] constant({0.3})
         z = f64[1] constant({-0.3})
         one = f64[1] constant({1})
         p = f64[1] exponential(x)
         q = f64[1] exponential(z)
         m = f64[1] multiply(p, q)
         u = f64[1] subtract(m, one)
         n = f64[1] negate(u)
         l = f64[1] constant({-1})
         a = f64[1] atan2(u, l)
         b = f64[1] atan2(n, l)
         ROOT r = f64[1] add(a, b)",
    );
}
