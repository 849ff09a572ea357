//! Reductions, dots and what lies around them: zeros of both signs, ties, rows that are empty, batches, numbers of u64.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Builder;
use ulpgate::oracle::{Demand, Oracle, Prepared, Truth, TruthTensor};
use ulpgate::tensor::DType;

use super::ask::{INF, floats, integers, predicates};
use super::edges::below_zero;
use super::oracles;

/// JAX's argmax of one row of f64 with the numbers carried along, for each oracle.
fn argmax(row: &str, numbers: &str, count: usize, dtype: &str, rest: &str) -> Vec<Truth> {
    let text = format!(
        "HloModule rows
        argmax {{ a = f64[] parameter(0)
          i = {dtype}[] parameter(1)
          b = f64[] parameter(2)
          j = {dtype}[] parameter(3)
          above = pred[] compare(a, b), direction=GT
          nan = pred[] compare(a, a), direction=NE
          first = pred[] or(above, nan)
          tie = pred[] compare(a, b), direction=EQ
          before = pred[] compare(i, j), direction=LT
          both = pred[] and(tie, before)
          lower = pred[] or(first, both)
          value = f64[] select(first, a, b)
          number = {dtype}[] select(lower, i, j)
          ROOT t = (f64[], {dtype}[]) tuple(value, number) }}
        ENTRY main {{
          x = f64[{count}] constant({{{row}}})
          n = {dtype}[{count}] constant({{{numbers}}})
          low = f64[] constant(-inf)
          zero = {dtype}[] constant(0)
          r = (f64[], {dtype}[]) reduce(x, n, low, zero), dimensions={{0}}, to_apply=argmax
          value = f64[] get-tuple-element(r), index=0
          number = {dtype}[] get-tuple-element(r), index=1
          {rest} }}"
    );
    let program = lower(&parse(&text).unwrap()).unwrap().program;
    let demands = vec![Demand::Rounded; program.outputs().len()];
    oracles().iter().map(|oracle| oracle.evaluate(&program, &[], &demands).unwrap()).collect()
}

#[test]
fn ties_go_to_the_lower_number() {
    for (row, numbers, dtype, expected) in [
        ("1, 1, 0", "5, 3, 1", "s32", 3),
        ("1, 1, 0", "3, 5, 1", "s32", 3),
        ("1, 2, 2", "1, 2, 2", "s32", 2),
        ("1, 1, 0", "9223372036854775808, 1, 2", "u64", 1),
        ("1, 1, 0", "1, 9223372036854775808, 2", "u64", 1),
    ] {
        for truth in argmax(row, numbers, 3, dtype, &format!("ROOT k = {dtype}[] copy(number)")) {
            let TruthTensor::Integer { values, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
            assert_eq!(values, &[Some(expected)], "{row} with {numbers}");
        }
    }
}

/// HLO leaves the order of a reduction open: which of two zeros is compared first, and so the sign of the largest.
#[test]
fn the_largest_of_zeros_has_no_sign() {
    let rest = "one = f64[] constant(1)\nROOT q = f64[] divide(one, value)";
    for row in ["0, -0", "-0, 0"] {
        for truth in argmax(row, "0, 1", 2, "s32", rest) {
            let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
            assert_eq!(float.open, [0], "{row}: {truth:?}");
        }
        for truth in argmax(row, "0, 1", 2, "s32", "ROOT k = s32[] copy(number)") {
            let TruthTensor::Integer { values, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
            assert_eq!(values, &[Some(0)], "{row}");
        }
    }
    // Two zeros of one sign are that zero.
    for truth in argmax("-0, -0", "0, 1", 2, "s32", rest) {
        let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
        assert_eq!(float.rounded, [-INF]);
    }
}

/// A maximum knows that +0 is above -0.
#[test]
fn the_maximum_of_zeros_is_the_positive_one() {
    for row in ["-0, 0", "0, -0"] {
        let entry = format!(
            "x = f64[2] constant({{{row}}})
             low = f64[] constant(-inf)
             m = f64[] reduce(x, low), dimensions={{0}}, to_apply=max
             one = f64[] constant(1)
             ROOT q = f64[] divide(one, m)"
        );
        floats(&entry, &[INF]);
    }
}

#[test]
fn the_maximum_of_nothing_is_the_init() {
    let entry = "x = f64[2] constant({1, 2})
        e = f64[2] exponential(x)
        s = f64[0] slice(e), slice={[1:1]}
        low = f64[] constant(-7)
        ROOT m = f64[] reduce(s, low), dimensions={0}, to_apply=max";
    floats(entry, &[-7.0]);
}

/// Quotients of equals by equals are equal, on either side of zero; zero divided by anything is one zero.
#[test]
fn quotients_by_equals_tie() {
    let entry = |over: &str| {
        format!(
            "t = f64[2] constant({{1, 1}})
             e = f64[2] exponential(t)
             c = f64[] constant({over})
             cs = f64[2] broadcast(c), dimensions={{}}
             q = f64[2] divide(cs, e)
             a = f64[1] slice(q), slice={{[0:1]}}
             b = f64[1] slice(q), slice={{[1:2]}}
             ROOT r = pred[1] compare(a, b), direction=EQ"
        )
    };
    ["3", "-3", "0"].iter().for_each(|over| predicates(&entry(over), &[true]));
    let entry = "t = f64[2] constant({1, 2})
        e = f64[2] exponential(t)
        c = f64[] constant(0)
        cs = f64[2] broadcast(c), dimensions={}
        q = f64[2] divide(cs, e)
        a = f64[1] slice(q), slice={[0:1]}
        b = f64[1] slice(q), slice={[1:2]}
        ROOT r = pred[1] compare(a, b), direction=GT";
    predicates(entry, &[false]);
}

#[test]
fn an_iota_counts_along_its_own_dim() {
    integers("ROOT i = s32[2,3] iota(), iota_dimension=0", &[0, 0, 0, 1, 1, 1]);
    integers("ROOT i = s32[2,3] iota(), iota_dimension=1", &[0, 1, 2, 0, 1, 2]);
    integers("ROOT i = s32[2,2,2] iota(), iota_dimension=1", &[0, 0, 1, 1, 0, 0, 1, 1]);
}

/// Only the element that the first rungs leave open is asked again, through an operation whose start is another value.
#[test]
fn what_is_open_is_asked_through_a_start() {
    let sliced = below_zero(
        "i = s32[] constant(1)
         five = f64[1] constant({5})
         w = f64[5] concatenate(five, y), dimensions={0}
         ROOT r = f64[2] dynamic-slice(w, i), dynamic_slice_sizes={2}",
    );
    floats(&sliced, &[-2.6395702969591894e-66, 2.0]);
}

#[test]
fn batches_of_a_dot_have_their_own_operands() {
    let entry = "one = f64[2,1,2] constant({{{1, 2}}, {{3, 4}}})
        two = f64[2,2,3] constant({{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}})
        a = f64[2,1,2] add(one, one)
        b = f64[2,2,3] add(two, two)
        ROOT d = f64[2,1,3] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}";
    floats(entry, &[36.0, 48.0, 60.0, 244.0, 272.0, 300.0]);
}

#[test]
fn a_prepared_program_knows_its_results() {
    let mut builder = Builder::new("three");
    let x = builder.parameter("x", DType::F32, &[2]).unwrap();
    let program = builder.finish(&[("a", x), ("b", x), ("c", x)]).unwrap();
    assert_eq!(Prepared::new(&program).outputs(), 3);
}

/// Two values that make each other's next ones, so many times over: each is worked out once, and not by as many paths.
#[test]
fn long_loops_take_time_in_proportion() {
    let text = |trips: usize| {
        format!(
            "HloModule loops
            next {{ p = (s32[], f32[2], f32[2]) parameter(0)
              i = s32[] get-tuple-element(p), index=0
              a = f32[2] get-tuple-element(p), index=1
              b = f32[2] get-tuple-element(p), index=2
              one = s32[] constant(1)
              j = s32[] add(i, one)
              c = f32[2] constant({{0.5, 0.25}})
              ac = f32[2] multiply(a, c)
              bc = f32[2] multiply(b, c)
              x = f32[2] add(ac, bc)
              y = f32[2] subtract(ac, bc)
              ROOT t = (s32[], f32[2], f32[2]) tuple(j, x, y) }}
            goes_on {{ p = (s32[], f32[2], f32[2]) parameter(0)
              i = s32[] get-tuple-element(p), index=0
              n = s32[] constant({trips})
              ROOT l = pred[] compare(i, n), direction=LT }}
            ENTRY main {{
              z = s32[] constant(0)
              a = f32[2] constant({{1, 2}})
              e = f32[2] exponential(a)
              t = (s32[], f32[2], f32[2]) tuple(z, e, a)
              w = (s32[], f32[2], f32[2]) while(t), condition=goes_on, body=next
              x = f32[2] get-tuple-element(w), index=1
              y = f32[2] get-tuple-element(w), index=2
              ROOT g = pred[2] compare(x, y), direction=EQ }}"
        )
    };
    for trips in [64, 1500] {
        let program = lower(&parse(&text(trips)).unwrap()).unwrap().program;
        let truth = Oracle::default().evaluate(&program, &[], &[Demand::Rounded]).unwrap();
        let TruthTensor::Predicate { values, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
        assert_eq!(values, &[Some(false); 2], "{trips}");
    }
}
