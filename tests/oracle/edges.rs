//! The edges of the real numbers: NaN, infinities, signs of zero, integers of 64 bits. Every rung from every starting
//! precision gives one answer to each, and it is the right one.

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Demand, Oracle, OracleError, TruthTensor};
use ulpgate::tensor::{Data, Tensor};

use super::ask::{INF, NAN, ask, floats, integers, open, predicates, truth};
use super::oracles;

/// `y = t - log(exp(1) + exp(-150))`: y[0] is -2.6e-66, which neither intervals nor pairs tell from zero; the others are
/// positive.
pub(super) fn below_zero(rest: &str) -> String {
    format!(
        "one = f64[] constant(1)
         tail = f64[] constant(-150)
         e = f64[] exponential(one)
         d = f64[] exponential(tail)
         s = f64[] add(e, d)
         l = f64[] log(s)
         ls = f64[4] broadcast(l), dimensions={{}}
         t = f64[4] constant({{1, 3, 4.5, 2}})
         y = f64[4] subtract(t, ls)
         {rest}"
    )
}

#[test]
fn zeros_of_both_signs_are_two_constants() {
    let entry = "one = f64[] constant(1)
        p = f64[] constant(0)
        m = f64[] constant(-0)
        a = f64[] divide(one, p)
        b = f64[] divide(one, m)
        ROOT r = (f64[], f64[]) tuple(a, b)";
    let outputs = truth(entry, Demand::Rounded);
    let rounded = |output: &TruthTensor| match output {
        TruthTensor::Float(float) => float.rounded[0],
        other => panic!("{other:?}"),
    };
    assert_eq!((rounded(&outputs[0]), rounded(&outputs[1])), (INF, -INF));
}

#[test]
fn what_is_really_nan_is_not_ordered() {
    for function in ["log", "sqrt", "rsqrt"] {
        let with = |rest: &str| below_zero(&format!("f = f64[4] {function}(y)\n{rest}"));
        let pair = "a = f64[1] slice(f), slice={[0:1]}\nb = f64[1] slice(f), slice={[1:2]}\n";
        let compared = |direction: &str, left: &str, right: &str| {
            with(&format!("{pair}ROOT r = pred[1] compare({left}, {right}), direction={direction}"))
        };
        predicates(&compared("LT", "a", "b"), &[false]);
        predicates(&compared("GE", "a", "b"), &[false]);
        predicates(&compared("NE", "a", "a"), &[true]);
        predicates(&compared("EQ", "a", "a"), &[false]);
        predicates(&compared("EQ", "b", "b"), &[true]);
        let low = "low = f64[] constant(-inf)\n";
        floats(&with(&format!("{low}ROOT r = f64[] reduce(f, low), dimensions={{0}}, to_apply=max")), &[NAN]);
        floats(&with("m = f64[4] maximum(f, t)\nROOT r = f64[1] slice(m), slice={[0:1]}"), &[NAN]);
        // As the largest, and with its index.
        integers(
            &with("k = (f64[2], s32[2]) topk(f), k=2, largest=true\nROOT i = s32[2] get-tuple-element(k), index=1"),
            &[0, if function == "rsqrt" { 3 } else { 2 }],
        );
        let outputs = truth(&with("ROOT r = f64[4] copy(f)"), Demand::Order);
        let TruthTensor::Float(float) = &outputs[0] else { panic!("{outputs:?}") };
        assert_eq!(float.tops[0].best, [0], "{function}");
    }
}

#[test]
fn functions_of_nan_claim_nothing() {
    for function in ["exponential", "exponential-minus-one", "tanh", "logistic", "abs", "negate", "floor", "sign"] {
        let with = |rest: &str| below_zero(&format!("g = f64[4] log(y)\nf = f64[4] {function}(g)\n{rest}"));
        let first = "a = f64[1] slice(f), slice={[0:1]}\n";
        let two = "two = f64[1] constant({2})\nzero = f64[1] constant({0})\none_ = f64[1] constant({1})\n";
        predicates(&with(&format!("{first}{two}ROOT r = pred[1] compare(a, two), direction=LT")), &[false]);
        predicates(&with(&format!("{first}ROOT r = pred[1] is-finite(a)")), &[false]);
        let sum = "z = f64[1] multiply(a, zero)\nROOT r = f64[1] add(z, one_)";
        floats(&with(&format!("{first}{two}{sum}")), &[NAN]);
        let low = "low = f64[1] constant({-inf})\n";
        predicates(&with(&format!("{first}{low}ROOT r = pred[1] compare(a, low), direction=GE")), &[false]);
        integers(&with(&format!("{first}ROOT r = s32[1] convert(a)")), &[0]);
        predicates(&with(&format!("{first}ROOT r = pred[1] convert(a)")), &[true]);
    }
}

/// `logsumexp([2, 1, 1], b=[0, 1, -1])` is the logarithm of a zero that no enclosure shows.
#[test]
fn functions_at_a_hidden_zero_are_infinite() {
    let sum = "x = f64[3] constant({2, 1, 1})
        b = f64[3] constant({0, 1, -1})
        zero = f64[] constant(0)
        low = f64[] constant(-inf)
        top = f64[] reduce(x, low), dimensions={0}, to_apply=max
        tops = f64[3] broadcast(top), dimensions={}
        d = f64[3] subtract(x, tops)
        e = f64[3] exponential(d)
        w = f64[3] multiply(e, b)
        s = f64[] reduce(w, zero), dimensions={0}, to_apply=add\n";
    floats(&format!("{sum}ROOT r = f64[] copy(s)"), &[0.0]);
    floats(&format!("{sum}ROOT r = f64[] log(s)"), &[-INF]);
    floats(&format!("{sum}ROOT r = f64[] rsqrt(s)"), &[INF]);
    predicates(&format!("{sum}l = f64[] log(s)\nROOT r = pred[] is-finite(l)"), &[false]);
    floats(&format!("{sum}ROOT r = f64[] divide(s, s)"), &[NAN]);
}

/// A constant row, centred, is +0; times a zero gain it is a zero with the signs' product, over an infinity likewise.
#[test]
fn what_cancels_is_a_zero_with_its_sign() {
    let row = |x: &str, rest: &str| {
        format!(
            "x = f64[3] {x}
             zero = f64[] constant(0)
             three = f64[] constant(3)
             s = f64[] reduce(x, zero), dimensions={{0}}, to_apply=add
             m = f64[] divide(s, three)
             ms = f64[3] broadcast(m), dimensions={{}}
             y = f64[3] subtract(x, ms)
             {rest}"
        )
    };
    for x in ["constant({0.1, 0.1, 0.1})", "exponential(c)"] {
        let x = if x.starts_with('e') { "constant({1, 1, 1})\nx = f64[3] exponential(x0)" } else { x };
        let entry = |rest: &str| {
            let entry = row(x, rest);
            if x.contains("x0") { entry.replacen("x = f64[3] constant", "x0 = f64[3] constant", 1) } else { entry }
        };
        floats(&entry("ROOT r = f64[3] copy(y)"), &[0.0; 3]);
        floats(&entry("g = f64[3] constant({0, -0, -2})\nROOT r = f64[3] multiply(y, g)"), &[0.0, -0.0, -0.0]);
        floats(&entry("g = f64[3] constant({inf, -inf, 5})\nROOT r = f64[3] divide(y, g)"), &[0.0, -0.0, 0.0]);
        floats(&entry("ROOT r = f64[3] divide(x, ms)"), &[1.0; 3]);
        predicates(&entry("ROOT r = pred[3] compare(x, ms), direction=EQ"), &[true; 3]);
        integers(&entry("ROOT r = s32[3] convert(y)"), &[0; 3]);
    }
    // The sign of y is not known here, nor then that of the zero.
    open(&below_zero(
        "e1 = f64[4] exponential(y)\nm1 = f64[4] multiply(e1, e1)\nq = f64[4] divide(m1, e1)
        z = f64[4] subtract(e1, q)\ng = f64[4] constant({0, 0, 0, 0})\nROOT r = f64[4] multiply(z, g)",
    ));
}

#[test]
fn infinities_absorb() {
    let entry = |rest: &str| {
        format!(
            "one = f64[2] constant({{1, 2}})
             inf = f64[2] constant({{inf, -inf}})
             e = f64[2] exponential(one)
             s = f64[2] add(inf, e)
             {rest}"
        )
    };
    predicates(&entry("ROOT r = pred[2] is-finite(s)"), &[false, false]);
    floats(&entry("ROOT r = f64[2] copy(s)"), &[INF, -INF]);
    floats(&entry("ROOT r = f64[2] subtract(s, inf)"), &[NAN, NAN]);
    predicates(&entry("t = f64[2] add(inf, one)\nROOT r = pred[2] compare(s, t), direction=EQ"), &[true, true]);
    // A finite number without a bound, as far as MPFR goes: its end is an infinity, and it is none.
    let huge = "x = f64[1] constant({1e30})\ne = f64[1] exponential(x)\nn = f64[1] negate(e)
        inf = f64[1] constant({inf})\n";
    floats(&format!("{huge}ROOT s = f64[1] add(inf, n)"), &[INF]);
    predicates(&format!("{huge}ROOT p = pred[1] compare(e, inf), direction=LT"), &[true]);
    predicates(&format!("{huge}ROOT p = pred[1] is-finite(n)"), &[true]);
    // c = 1 / y with y a hidden zero is infinite: 1 + c is not below 2 + c.
    let hidden = "three = f64[1] constant({3})
        a = f64[1] constant({0.1})
        b = f64[1] multiply(a, three)
        d = f64[1] divide(b, three)
        y = f64[1] subtract(a, d)
        one = f64[1] constant({1})
        two = f64[1] constant({2})
        c = f64[1] divide(one, y)
        l = f64[1] add(one, c)
        r = f64[1] add(two, c)\n";
    predicates(&format!("{hidden}ROOT p = pred[1] compare(l, r), direction=LT"), &[false]);
    predicates(&format!("{hidden}ROOT p = pred[1] compare(l, r), direction=EQ"), &[true]);
}

#[test]
fn integers_of_64_bits_are_whole() {
    let edge = "x = u64[3] constant({9223372036854775808, 1, 18446744073709551615})
        y = u64[3] constant({1, 9223372036854775808, 18446744073709551614})\n";
    predicates(&format!("{edge}ROOT r = pred[3] compare(x, y), direction=GT"), &[true, false, true]);
    floats(&format!("{edge}ROOT r = f64[3] convert(x)"), &[2f64.powi(63), 1.0, 2f64.powi(64)]);
    integers(&format!("{edge}ROOT r = u64[3] sort(x), dimensions={{0}}, to_apply=less_u64"), &[1, i64::MIN, -1]);
    integers(&format!("{edge}ROOT r = u64[3] clamp(y, x, x)"), &[i64::MIN, 1, -1]);
    integers(&format!("{edge}ROOT r = u64[3] clamp(y, y, x)"), &[1, 1, -2]);
    integers(&format!("{edge}ROOT r = u64[3] maximum(x, y)"), &[i64::MIN, i64::MIN, -1]);
    // Not every s64 is an f64: 2^53 + 1 is between two.
    let long = "x = s64[2] constant({9007199254740993, -9223372036854775807})
        f = f64[2] convert(x)
        one = f64[2] constant({1, 1})\n";
    floats(&format!("{long}ROOT r = f64[2] copy(f)"), &[9007199254740992.0, -9223372036854775808.0]);
    integers(&format!("{long}ROOT r = s64[2] convert(f)"), &[9007199254740993, -9223372036854775807]);
    let even = "e = f64[2] constant({9007199254740992, -9223372036854775808})\n";
    floats(&format!("{long}{even}ROOT r = f64[2] subtract(f, e)"), &[1.0, 1.0]);
    predicates(&format!("{long}{even}ROOT r = pred[2] compare(f, e), direction=EQ"), &[false, false]);
    integers("x = f64[4] constant({1e30, -1, nan, 18446744073709551615})\nROOT r = u64[4] convert(x)", &[-1, 0, 0, -1]);
    // The top bit of an unsigned operand is a sign to an arithmetic shift.
    let shift = "x = u8[3] constant({200, 100, 255})\nn = u8[3] constant({1, 1, 9})\n";
    integers(&format!("{shift}ROOT r = u8[3] shift-right-arithmetic(x, n)"), &[228, 50, 255]);
    let shift = "x = u32[2] constant({2147483648, 3})\nn = u32[2] constant({31, 1})\n";
    integers(&format!("{shift}ROOT r = u32[2] shift-right-arithmetic(x, n)"), &[4294967295, 1]);
}

#[test]
fn bit_patterns_survive() {
    let codes = "x = u32[5] constant({2143289345, 4290772993, 2139095041, 2147483648, 1065353216})\n";
    let bits = [2143289345, 4290772993, 2139095041, 2147483648, 1065353216];
    integers(&format!("{codes}f = f32[5] bitcast-convert(x)\nROOT r = u32[5] bitcast-convert(f)"), &bits);
    // Moves, selects and sorts carry the NaN; negation changes its sign.
    let back = "v = f32[5] reverse(f), dimensions={0}\nw = f32[5] reverse(v), dimensions={0}\n";
    integers(&format!("{codes}f = f32[5] bitcast-convert(x)\n{back}ROOT r = u32[5] bitcast-convert(w)"), &bits);
    let negated = bits.map(|b: i64| b ^ 0x8000_0000);
    let negate = "f = f32[5] bitcast-convert(x)\nn = f32[5] negate(f)\n";
    integers(&format!("{codes}{negate}ROOT r = u32[5] bitcast-convert(n)"), &negated);
    // totalOrder: -NaN, -0, 1, the two positive NaNs by their payload.
    let total = "f = f32[5] bitcast-convert(x)\n
        k = (f32[5], s32[5]) topk(f), k=5, largest=false\nROOT i = s32[5] get-tuple-element(k), index=1";
    integers(&format!("{codes}{total}"), &[1, 3, 4, 2, 0]);
    // A sum that pairs do not hold has a bit pattern all the same.
    let exact = "a = f64[1] constant({1})\nb = f64[1] constant({1e-300})\ns = f64[1] add(a, b)
        d = f64[1] subtract(s, b)\nROOT r = s64[1] bitcast-convert(d)";
    integers(exact, &[1f64.to_bits() as i64]);
}

/// A sort that HLO leaves open is left open, whatever its length; one that takes many bits is decided.
#[test]
fn sorts_are_decided_or_open_and_never_panic() {
    for n in [3, 30, 64] {
        let values: Vec<String> =
            (0..n).map(|i| if i == n / 2 { "nan".into() } else { ((i * 7) % n).to_string() }).collect();
        let values = values.join(", ");
        for region in ["less", "less_doubled"] {
            open(&format!(
                "x = f64[{n}] constant({{{values}}})\nROOT r = f64[{n}] sort(x), dimensions={{0}}, to_apply={region}"
            ));
        }
    }
    // 25 values 2^-120 apart: 1 + i 2^-120, in an order of their own.
    let order: Vec<i64> = (0..25).map(|i| i * 7 % 25).collect();
    let steps: Vec<String> = order.iter().map(|i| format!("{:e}", *i as f64 * 2f64.powi(-120))).collect();
    let entry = |rest: &str| {
        format!(
            "one = f64[25] broadcast(u), dimensions={{}}
             d = f64[25] constant({{{}}})
             e = f64[25] exponential(one)
             x = f64[25] add(e, d)
             {rest}",
            steps.join(", ")
        )
    };
    let entry = |rest: &str| format!("u = f64[] constant(1)\n{}", entry(rest));
    let position = |value: i64| order.iter().position(|o| *o == value).unwrap() as i64;
    let ascending: Vec<i64> = (0..25).map(position).collect();
    integers(
        &entry("k = (f64[25], s32[25]) topk(x), k=25, largest=false\nROOT i = s32[25] get-tuple-element(k), index=1"),
        &ascending,
    );
    let sorted = "s = f64[25] sort(x), dimensions={0}, to_apply=less
        a = f64[24] slice(s), slice={[0:24]}
        b = f64[24] slice(s), slice={[1:25]}
        ROOT r = pred[24] compare(a, b), direction=LT";
    predicates(&entry(sorted), &[true; 24]);
}

/// Of a row of which only the best is asked for, the others may stay open.
#[test]
fn the_first_of_many_may_be_decided_alone() {
    // 1 + 2^-60 and a zero behind a function, twice.
    let entry = "x = f64[3] constant({0, 5, 0})
        e = f64[3] exponential(x)
        m = f64[3] multiply(e, e)
        q = f64[3] divide(m, e)
        z = f64[3] subtract(q, e)
        y = f64[3] add(z, x)
        k = (f64[1], s32[1]) topk(y), k=1, largest=true
        ROOT i = s32[1] get-tuple-element(k), index=1";
    integers(entry, &[1]);
}

#[test]
fn quotients_by_the_variable_are_ordered_by_branch() {
    let max = |entry: &str| {
        format!("{entry}\nlow = f64[] constant(-inf)\nROOT r = f64[] reduce(q, low), dimensions={{0}}, to_apply=max")
    };
    let reciprocals = "one = f64[] constant(1)\nones = f64[4] broadcast(one), dimensions={}
        c = f64[4] constant({-2, 3, 7, -5})\nx = f64[4] multiply(c, ones)\nq = f64[4] divide(ones, x)";
    floats(&max(reciprocals), &[1.0 / 3.0]);
    let order = |entry: &str, k: usize| {
        format!(
            "{entry}\nk = (f64[{k}], s32[{k}]) topk(q), k={k}, largest=true
             ROOT i = s32[{k}] get-tuple-element(k), index=1"
        )
    };
    integers(&order(reciprocals, 4), &[1, 2, 3, 0]);
    // Two parameters are two families of functions.
    let scaled = "x = f64[16] constant({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
        e = f64[16] exponential(x)
        c = f64[2] constant({2, 3})
        cs = f64[2,8] broadcast(c), dimensions={0}
        f = f64[16] reshape(cs)
        q = f64[16] multiply(e, f)";
    floats(&max(scaled), &[8.154845485377136]);
    integers(&order(scaled, 1), &[8]);
}

#[test]
fn remainders_are_those_of_c() {
    floats(
        "x = f64[6] constant({5.5, -5.5, 6, -6, 1e300, 3})
         y = f64[6] constant({2, 2, 3, 3, 7, inf})
         ROOT r = f64[6] remainder(x, y)",
        &[1.5, -1.5, 0.0, -0.0, 1e300 % 7.0, 3.0],
    );
    floats(
        "x = f64[4] constant({inf, 1, nan, -0})
         y = f64[4] constant({1, 0, 1, 5})
         ROOT r = f64[4] remainder(x, y)",
        &[NAN, NAN, NAN, -0.0],
    );
    // -150 rem e^-150, whose quotient has 224 bits (checked with mpmath).
    floats(
        "x = f64[1] constant({-150})\ne = f64[1] exponential(x)\nROOT r = f64[1] remainder(x, e)",
        &[-8.817942910859439e-67],
    );
}

/// An argument that nothing takes is refused, not passed over.
#[test]
fn arguments_must_fit() {
    let module = parse("HloModule m\nENTRY e {\n  ROOT x = f32[2] parameter(0)\n}\n").unwrap();
    let program = lower(&module).unwrap().program;
    let short = Tensor::new(&[1], Data::F32(vec![0.0]));
    for arguments in [vec![], vec![short]] {
        let error = Oracle::default().evaluate(&program, &arguments, &[Demand::Rounded]).unwrap_err();
        assert!(matches!(error, OracleError::Argument { number: 0, .. }), "{error}");
    }
}

/// `z = e - (e e) / e` is +0, which nothing here can know: an enclosure around zero at every precision.
pub(super) fn hidden(rest: &str) -> String {
    format!(
        "one = f64[2] constant({{1, 1}})
         e = f64[2] exponential(one)
         m = f64[2] multiply(e, e)
         q = f64[2] divide(m, e)
         z = f64[2] subtract(e, q)
         zeros = f64[2] constant({{0, 0}})
         infs = f64[2] constant({{inf, -inf}})
         {rest}"
    )
}

#[test]
fn nothing_is_claimed_at_a_zero_that_nothing_shows() {
    for unknown in [
        "a = f64[2] abs(z)\nf = f64[2] log(a)",
        "a = f64[2] abs(z)\nf = f64[2] rsqrt(a)",
        "f = f64[2] sqrt(z)\n",
        "f = f64[2] log(z)",
        "f = f64[2] multiply(infs, z)",
        "f = f64[2] divide(z, zeros)",
        "f = f64[2] divide(infs, z)",
        "f = f64[2] divide(one, z)",
        "f = f64[2] divide(z, z)",
        "f = f64[2] remainder(one, z)",
    ] {
        open(&hidden(&format!("{unknown}\nROOT r = pred[2] is-finite(f)")));
        open(&hidden(&format!("{unknown}\nROOT r = pred[2] compare(f, f), direction=EQ")));
        open(&hidden(&format!("{unknown}\nt = f64[2] tanh(f)\nROOT r = pred[2] compare(t, infs), direction=LT")));
        open(&hidden(&format!("{unknown}\nROOT r = f64[2] maximum(f, zeros)")));
        open(&hidden(&format!("{unknown}\nROOT r = s32[2] convert(f)")));
    }
    for finite in ["multiply(z, zeros)", "divide(z, infs)", "divide(z, e)", "tanh(z)", "exponential(z)"] {
        predicates(&hidden(&format!("f = f64[2] {finite}\nROOT r = pred[2] is-finite(f)")), &[true; 2]);
    }
    // Which of two equal zeros is first takes knowing that they are equal.
    open(&hidden(
        "c = pred[2] constant({true, false})\nf = f64[2] select(c, z, zeros)
        k = (f64[1], s32[1]) topk(f), k=1, largest=true\nROOT i = s32[1] get-tuple-element(k), index=1",
    ));
    // -z and z - 2 z are one number and two zeros: the difference of -0 and +0 is -0.
    open(&hidden(
        "n = f64[2] negate(z)\nt = f64[2] add(z, z)\nd = f64[2] subtract(z, t)\nROOT r = f64[2] subtract(n, d)",
    ));
}

#[test]
fn zeros_of_open_signs_are_equal_and_not_ordered() {
    let entry = |rest: &str| hidden(&format!("u = f64[2] multiply(z, zeros)\n{rest}"));
    let compared = |direction: &str| entry(&format!("ROOT r = pred[2] compare(u, zeros), direction={direction}"));
    open(&compared("LT, type=TOTALORDER"));
    open(&compared("EQ, type=TOTALORDER"));
    open(&entry("k = (f64[1], s32[1]) topk(u), k=1, largest=true\nROOT r = f64[1] get-tuple-element(k), index=0"));
    // The last rung knows that they are zeros.
    for oracle in oracles() {
        let truth = ask(&oracle, &compared("EQ"), Demand::Rounded).unwrap();
        assert_eq!(
            truth.outputs[0],
            TruthTensor::Predicate { dims: vec![2], values: vec![Some(true); 2] },
            "{oracle:?}"
        );
    }
    integers(
        "x = f64[2] constant({-0, 0})\nt = f64[2] tanh(x)\nk = (f64[1], s32[1]) topk(t), k=1, largest=true
         ROOT i = s32[1] get-tuple-element(k), index=1",
        &[1],
    );
}

#[test]
fn a_nan_stands_beyond_the_infinity_of_its_sign() {
    let entry = |bits: u64, direction: &str| {
        format!(
            "b = u64[1] constant({{{bits}}})
             nan = f64[1] bitcast-convert(b)
             one = f64[1] constant({{1}})
             e = f64[1] exponential(one)
             ROOT r = pred[1] compare(nan, e), direction={direction}, type=TOTALORDER"
        )
    };
    let (positive, negative) = (f64::NAN.to_bits() & !(1 << 63), f64::NAN.to_bits() | 1 << 63);
    predicates(&entry(positive, "GT"), &[true]);
    predicates(&entry(positive, "LT"), &[false]);
    predicates(&entry(negative, "GT"), &[false]);
    predicates(&entry(negative, "LT"), &[true]);
    // Ties of numbers beside a NaN keep their order.
    integers(
        "x = f64[4] constant({1, nan, 2, 2})\nk = (f64[4], s32[4]) topk(x), k=4, largest=true
         ROOT i = s32[4] get-tuple-element(k), index=1",
        &[1, 2, 3, 0],
    );
}

/// Of what stands before a NaN, or beside it, something may be another.
/// docs/proofs/truth.md, "NaN, infinities and signs of zero": the NaN that arithmetic makes is positive, whatever the processor's is.
#[test]
fn a_dot_makes_positive_nans() {
    for (left, right) in [("{1, inf}", "{1, 0}"), ("{inf, inf}", "{1, -1}"), ("{1, -nan}", "{1, 1}")] {
        predicates(
            &format!(
                "x = f64[2] constant({left})
                 y = f64[2] constant({right})
                 i = f64[] constant(inf)
                 d = f64[] dot(x, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
                 ROOT r = pred[] compare(d, i), direction=GT, type=TOTALORDER"
            ),
            &[true],
        );
    }
}

/// A product of two f64 needs a pair, and is far beyond what any integer holds.
#[test]
fn what_exceeds_an_integer_saturates() {
    for (sign, edges) in [("", [127, 32_767, i64::MAX]), ("-", [-128, -32_768, i64::MIN])] {
        for (dtype, edge) in ["s8", "s16", "s64"].into_iter().zip(edges) {
            integers(
                &format!(
                    "x = f64[3] constant({{1e38, 1.1641671256282279e235, 1.7e38}})
                     y = f64[3] constant({{{sign}1.1, {sign}2.8264502654783437, {sign}0.9}})
                     p = f64[3] multiply(x, y)
                     ROOT r = {dtype}[3] convert(p)"
                ),
                &[edge; 3],
            );
        }
    }
}

#[test]
fn a_nan_beside_the_unknown_decides_nothing() {
    let row = "a = f64[2] abs(z)\nl = f64[2] log(a)\nnans = f64[2] constant({nan, nan})
        c = pred[2] constant({false, true})\nf = f64[2] select(c, nans, l)\n";
    for oracle in oracles() {
        let truth = ask(&oracle, &hidden(&format!("{row}ROOT r = f64[2] copy(f)")), Demand::Order).unwrap();
        let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
        assert!(!float.tops[0].decided, "{float:?}");
    }
    let argmax = "
arg { v = f64[] parameter(0)
  i = s32[] parameter(1)
  w = f64[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(v, w), direction=GT
  nan = pred[] compare(v, v), direction=NE
  first = pred[] or(more, nan)
  same = pred[] compare(v, w), direction=EQ
  lower = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, lower)
  take = pred[] or(first, tie)
  value = f64[] select(first, v, w)
  index = s32[] select(take, i, j)
  ROOT pair = (f64[], s32[]) tuple(value, index) }
";
    let reduced = |row: &str| {
        let entry = hidden(&format!(
            "{row}low = f64[] constant(-inf)\nfirst = s32[] constant(0)\nids = s32[2] iota(), iota_dimension=0
             both = (f64[], s32[]) reduce(f, ids, low, first), dimensions={{0}}, to_apply=arg
             ROOT i = s32[] get-tuple-element(both), index=1"
        ));
        let text = format!("HloModule edges\n{argmax}\nENTRY main {{\n{entry}\n}}\n");
        let program = lower(&parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))).unwrap().program;
        let of = |oracle: Oracle| oracle.evaluate(&program, &[], &[Demand::Rounded]).unwrap().outputs.remove(0);
        oracles().map(of)
    };
    for output in reduced(row) {
        assert_eq!(output, TruthTensor::Integer { dims: vec![], values: vec![None] });
    }
    let known =
        "nans = f64[2] constant({nan, nan})\nc = pred[2] constant({false, true})\nf = f64[2] select(c, nans, e)\n";
    for output in reduced(known) {
        assert_eq!(output, TruthTensor::Integer { dims: vec![], values: vec![Some(1)] });
    }
}

/// A zero remainder has the sign of the dividend, known exactly or not.
#[test]
fn zero_remainders_have_the_dividends_sign() {
    let entry = |factor: i32| {
        format!(
            "one = f64[1] constant({{1}})\ne = f64[1] exponential(one)\nc = f64[1] constant({{{factor}}})
             x = f64[1] multiply(e, c)\nROOT r = f64[1] remainder(x, e)"
        )
    };
    floats(&entry(3), &[0.0]);
    floats(&entry(-3), &[-0.0]);
}
