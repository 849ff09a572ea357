//! Zeros that have one sign: sums of products begin with +0, and some types have no -0.

use super::ask::{floats, predicates, truth};
use ulpgate::oracle::{Demand, TruthTensor};

/// The divisor of one shows the sign of a zero.
const SIGNS: &str = "ROOT r = f64[2] divide(ones, d)";

/// Products that are all -0 add up to +0, of exactly known operands and of others, whichever stands first; so does none.
#[test]
fn dots_are_never_negative_zeros() {
    let start = "ones = f64[2] constant({1, 1})\na = f64[2,3] constant({{-1, -2, 0}, {-3, 0, -5}})\n\
                 b = f64[3] constant({0, 0, 0})\nc = f64[3] constant({-0, -0, -0})\nx = f64[2,3] exponential(a)\n\
                 n = f64[2,0] constant({{}, {}})\nm = f64[0] constant({})\no = f64[2,1] constant({{-1}, {-2}})\n\
                 z = f64[1] constant({0})\n";
    let contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    let reversed = "lhs_contracting_dims={0}, rhs_contracting_dims={1}";
    for dot in [
        format!("d = f64[2] dot(a, b), {contracted}"),
        format!("d = f64[2] dot(b, a), {reversed}"),
        format!("d = f64[2] dot(x, c), {contracted}"),
        format!("d = f64[2] dot(c, x), {reversed}"),
        format!("d = f64[2] dot(n, m), {contracted}"),
        format!("d = f64[2] dot(o, z), {contracted}"),
        format!("d = f64[2] dot(z, o), {reversed}"),
        "aa = f64[2,3] constant({{-1, -2, -7}, {-3, -4, -5}})\nbb = f64[2,3] constant({{0, 0, 0}, {0, 0, 0}})\n\
         d = f64[2] dot(aa, bb), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}"
            .to_string(),
    ] {
        floats(&format!("{start}{dot}\n{SIGNS}"), &[f64::INFINITY; 2]);
    }
    for kernel in ["k = f64[1,1,1] constant({{{-1}}})", "l = f64[1,1,1] constant({{{1}}})\nk = f64[1,1,1] negate(l)"] {
        let convolved = "ones = f64[2] constant({1, 1})\ni = f64[1,2,1] constant({{{0}, {0}}})\n";
        let convolution =
            "c = f64[1,2,1] convolution(i, k), window={size=1}, dim_labels=b0f_0io->b0f\nd = f64[2] reshape(c)\n";
        floats(&format!("{convolved}{kernel}\n{convolution}{SIGNS}"), &[f64::INFINITY; 2]);
    }
}

/// A reduction begins with the init that is given.
#[test]
fn reductions_begin_with_their_init() {
    for (init, sign) in [("0", f64::INFINITY), ("-0", f64::NEG_INFINITY)] {
        let entry = format!(
            "ones = f64[2] constant({{1, 1}})\na = f64[2,3] constant({{{{-0, -0, -0}}, {{-0, -0, -0}}}})\ni = f64[] \
             constant({init})\nd = f64[2] reduce(a, i), dimensions={{1}}, to_apply=add\n{SIGNS}"
        );
        floats(&entry, &[sign; 2]);
    }
}

/// Nothing of a type without -0 is one, whatever makes it; in the other types of eight bits zeros have signs.
#[test]
fn types_without_a_negative_zero_have_none() {
    let operations = [
        "n = T[2] negate(z)",
        "n = T[2] multiply(z, m)",
        "n = T[2] divide(z, m)",
        "p = T[2] negate(z)\nn = T[2] subtract(p, z)",
        "n = T[2] convert(f)",
        "p = T[2] convert(f)\nn = T[2] sign(p)",
        "p = T[2] convert(f)\nn = T[2] minimum(p, z)",
        "p = T[2] convert(f)\nn = T[2] abs(p)",
        "p = T[2] convert(f)\nn = T[2] maximum(p, p)",
        "p = T[2] convert(f)\nn = T[2] sine(p)",
        "p = T[2] convert(f)\nn = T[2] floor(p)",
        "p = T[2] convert(f)\nn = T[2] copy(p)",
        "p = T[2] convert(f)\nn = T[2] select(pr, p, z)",
        "p = T[2] negate(z)\nn = T[2] clamp(p, p, m2)",
        "q = T[4] negate(w)\nn = T[2] slice(q), slice={[0:2]}",
        "p = T[2] remainder(m, m2)\nn = T[2] multiply(p, m)",
    ];
    for (name, has) in [
        ("f8e4m3fnuz", false),
        ("f8e5m2fnuz", false),
        ("f8e4m3b11fnuz", false),
        ("f8e4m3fn", true),
        ("f8e5m2", true),
        ("f8e3m4", true),
    ] {
        for operation in operations {
            let is_positive =
                ["abs", "clamp", "subtract(p", "minimum", "remainder"].iter().any(|op| operation.contains(op));
            let entry = format!(
                "ones = f64[2] constant({{1, 1}})\nz = T[2] constant({{0, 0}})\nw = T[4] constant({{0, 0, 0, 0}})\nm = T[2] \
                 constant({{-1, -1}})\nm2 = T[2] constant({{1, 1}})\npr = pred[2] constant({{true, true}})\nf = f32[2] \
                 constant({{-0, -0}})\n{operation}\nd = f64[2] convert(n)\n{SIGNS}"
            )
            .replace("T[", &format!("{name}["));
            if !has {
                floats(&entry, &[f64::INFINITY; 2]);
            } else if !is_positive {
                floats(&entry, &[f64::NEG_INFINITY; 2]);
            }
        }
        // The stored form, and its bits.
        let entry =
            format!("z = {name}[2] constant({{0, 0}})\nn = {name}[2] negate(z)\nROOT b = u8[2] bitcast-convert(n)");
        let outputs = truth(&entry, Demand::Rounded);
        let [TruthTensor::Integer { values, .. }] = &outputs[..] else { panic!("{outputs:?}") };
        assert_eq!(values, &[Some(if has { 128 } else { 0 }); 2], "{name}");
        // What comes near is not zero.
        let entry = format!(
            "a = {name}[2] constant({{0.5, 0.5}})\nb = {name}[2] exponential(a)\nn = {name}[2] negate(b)\ny = {name}[2] \
             constant({{0, 0}})\nROOT r = pred[2] compare(n, y), direction=LT"
        );
        predicates(&entry, &[true; 2]);
    }
}
