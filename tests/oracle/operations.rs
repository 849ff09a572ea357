//! Single operations, in every rung, where one of them might go its own way.

use super::ask::{INF, NAN, floats, integers, predicates};

/// IEEE 754-2019 9.6: of two zeros the maximum is +0, the minimum -0, whichever comes first.
#[test]
fn extremes_of_zeros_have_a_sign() {
    for (op, expected) in [("maximum", [0.0, 0.0, 0.0, -0.0]), ("minimum", [-0.0, -0.0, 0.0, -0.0])] {
        floats(
            &format!(
                "x = f64[4] constant({{0, -0, 0, -0}})
                 y = f64[4] constant({{-0, 0, 0, -0}})
                 ROOT r = f64[4] {op}(x, y)"
            ),
            &expected,
        );
    }
    // Zeros that no constant shows: log(1) is +0, -0 * e is -0.
    for (op, expected) in [("maximum", [INF, INF, INF]), ("minimum", [-INF, -INF, -INF])] {
        floats(
            &format!(
                "one = f64[3] constant({{1, 1, 1}})
                 m = f64[3] constant({{-0, -0, -0}})
                 p = f64[3] log(one)
                 e = f64[3] exponential(one)
                 n = f64[3] multiply(m, e)
                 s = pred[3] constant({{true, false, true}})
                 x = f64[3] select(s, p, n)
                 y = f64[3] select(s, n, p)
                 z = f64[3] {op}(x, y)
                 ROOT r = f64[3] divide(one, z)"
            ),
            &expected,
        );
    }
}

/// Lanes along the first, the middle and the last dimension, of exact terms and of others.
#[test]
fn running_sums_keep_to_their_lanes() {
    let sums = |window: &str, dims: &str, values: &str, scale: &str| {
        format!(
            "x = f64[{dims}] constant({values})
             s = f64[] constant({scale})
             ls = f64[] log(s)
             es = f64[] exponential(ls)
             sb = f64[{dims}] broadcast(es), dimensions={{}}
             y = f64[{dims}] multiply(x, sb)
             z = f64[] constant(0)
             w = f64[{dims}] reduce-window(y, z), window={{{window}}}, to_apply=add
             ROOT r = f64[{dims}] divide(w, sb)"
        )
    };
    let values = "{ { {1, 2}, {4, 8}, {16, 32} }, { {64, 128}, {256, 512}, {1024, 2048} } }";
    for scale in ["1", "3"] {
        floats(
            &sums("size=2x1x1 pad=1_0x0_0x0_0", "2,3,2", values, scale),
            &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 65.0, 130.0, 260.0, 520.0, 1040.0, 2080.0],
        );
        floats(
            &sums("size=1x3x1 pad=0_0x2_0x0_0", "2,3,2", values, scale),
            &[1.0, 2.0, 5.0, 10.0, 21.0, 42.0, 64.0, 128.0, 320.0, 640.0, 1344.0, 2688.0],
        );
        floats(
            &sums("size=1x1x2 pad=0_0x0_0x1_0", "2,3,2", values, scale),
            &[1.0, 3.0, 4.0, 12.0, 16.0, 48.0, 64.0, 192.0, 256.0, 768.0, 1024.0, 3072.0],
        );
    }
}

/// Elements that are not known exactly on either side, and elements that are.
#[test]
fn remainders_of_what_is_not_exact() {
    // e mod 1, e mod -1, -e mod 1, 7 e mod e = 0 of the dividend's sign, 5 mod e, e mod inf.
    let e = std::f64::consts::E;
    floats(
        "one = f64[7] constant({1, 1, 1, 1, 1, 1, 1})
         x = f64[7] exponential(one)
         a = f64[7] constant({1, 1, -1, 1, 0, 1, 1})
         five = f64[7] constant({0, 0, 0, 0, 5, 0, 0})
         xa = f64[7] multiply(x, a)
         n = f64[7] add(xa, five)
         p = f64[7] constant({0, 0, 0, 1, 1, 0, 0})
         q = f64[7] constant({1, -1, 1, 0, 0, inf, 0})
         xp = f64[7] multiply(x, p)
         d = f64[7] add(xp, q)
         ROOT r = f64[7] remainder(n, d)",
        &[0.7182818284590452, 0.7182818284590452, -0.7182818284590452, 0.0, 2.281718171540955, e, NAN],
    );
    floats(
        "one = f64[3] constant({1, 1, 1})
         x = f64[3] exponential(one)
         i = f64[3] constant({inf, -inf, nan})
         ROOT r = f64[3] remainder(i, x)",
        &[NAN, NAN, NAN],
    );
}

/// Towards zero, at the edge of an integer and beyond what the type holds.
#[test]
fn conversions_truncate_what_is_not_exact() {
    integers(
        "x = f64[6] constant({1, 2, 3, -1, 700, -700})
         e = f64[6] exponential(x)
         s = f64[6] constant({1, -1, 1, 1, 1, -1})
         y = f64[6] multiply(e, s)
         ROOT r = s32[6] convert(y)",
        &[2, -7, 20, 0, i64::from(i32::MAX), 0],
    );
    // 3 e / e is 3, which no enclosure of it shows.
    integers(
        "one = f64[3] constant({1, 1, 1})
         x = f64[3] constant({3, -3, 0.5})
         e = f64[3] exponential(one)
         m = f64[3] multiply(e, x)
         y = f64[3] divide(m, e)
         ROOT r = s8[3] convert(y)",
        &[3, -3, 0],
    );
    predicates("x = f64[3] constant({0, -0, 5e-324})\nROOT r = pred[3] convert(x)", &[false, false, true]);
}

/// Numbers that share a function are ordered by its argument, the other way round where it falls: so are the sums,
/// differences, products and quotients of each with one constant, on either side, whatever their signs.
#[test]
fn functions_of_one_constant_order_their_results() {
    const N: usize = 40;
    let x: Vec<f64> = (0..N).map(|i| (i * 27 % N) as f64 / 16.0 - 1.0).collect();
    let constants = x.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    type Function = fn(f64) -> f64;
    let variables: [(&str, Function); 3] = [
        ("v = f64[40] add(e, z)", |x| x.exp()),
        ("v = f64[40] negate(e)", |x| -x.exp()),
        // Of either sign.
        ("v = f64[40] subtract(e, d)", |x| x.exp() - 1.1),
    ];
    type Operation = fn(f64, f64) -> f64;
    let operations: [(&str, Operation); 4] =
        [("add", |a, b| a + b), ("subtract", |a, b| a - b), ("multiply", |a, b| a * b), ("divide", |a, b| a / b)];
    for (variable, function) in variables {
        for (name, operation) in operations {
            for (c, flipped) in [(2.0, false), (2.0, true), (-3.0, false), (-3.0, true)] {
                let operands = if flipped { "c, v" } else { "v, c" };
                let values: Vec<f64> = x
                    .iter()
                    .map(|x| if flipped { operation(c, function(*x)) } else { operation(function(*x), c) })
                    .collect();
                let entry = |rest: &str| {
                    format!(
                        "x = f64[40] constant({{{constants}}})
                         s = f64[] constant({c})
                         c = f64[40] broadcast(s), dimensions={{}}
                         t = f64[] constant(1.1)
                         d = f64[40] broadcast(t), dimensions={{}}
                         o = f64[] constant(0)
                         z = f64[40] broadcast(o), dimensions={{}}
                         e = f64[40] exponential(x)
                         {variable}
                         y = f64[40] {name}({operands})
                         {rest}"
                    )
                };
                let mut order: Vec<i64> = (0..N as i64).collect();
                order.sort_by(|a, b| values[*b as usize].total_cmp(&values[*a as usize]));
                integers(
                    &entry(
                        "k = (f64[40], s32[40]) topk(y), k=40, largest=true
                         ROOT i = s32[40] get-tuple-element(k), index=1",
                    ),
                    &order,
                );
                let rises: Vec<bool> = values.windows(2).map(|pair| pair[0] < pair[1]).collect();
                predicates(
                    &entry(
                        "a = f64[39] slice(y), slice={[0:39]}
                         b = f64[39] slice(y), slice={[1:40]}
                         ROOT r = pred[39] compare(a, b), direction=LT",
                    ),
                    &rises,
                );
            }
        }
    }
}

/// Lanes along each dimension, by the values and by what is computed of them.
#[test]
fn sorts_keep_to_their_lanes() {
    let values = "{ { {9, 2}, {4, 8}, {3, 7} }, { {1, 6}, {5, 0}, {12, 11} } }";
    let along = [
        (0, [1, 2, 4, 0, 3, 7, 9, 6, 5, 8, 12, 11]),
        (1, [3, 2, 4, 7, 9, 8, 1, 0, 5, 6, 12, 11]),
        (2, [2, 9, 4, 8, 3, 7, 1, 6, 0, 5, 11, 12]),
    ];
    for (dim, sorted) in along {
        for region in ["less", "less_doubled"] {
            let entry = |sorted: &str, rest: &str| {
                format!(
                    "x = f64[2,3,2] constant({values})
                     e = f64[2,3,2] exponential(x)
                     s = f64[2,3,2] sort({sorted}), dimensions={{{dim}}}, to_apply={region}
                     {rest}"
                )
            };
            floats(&entry("x", "ROOT r = f64[2,3,2] copy(s)"), &sorted.map(f64::from));
            // Of the exponentials, the logarithms and a half, whose integral part is known.
            let logarithms = "l = f64[2,3,2] log(s)
                o = f64[] constant(0.5)
                b = f64[2,3,2] broadcast(o), dimensions={}
                h = f64[2,3,2] add(l, b)
                ROOT r = s32[2,3,2] convert(h)";
            integers(&entry("e", logarithms), &sorted.map(i64::from));
        }
    }
}

/// Batches of matrices, of exact numbers and of multiples of one that is not.
#[test]
fn dots_of_batches_are_those_of_their_matrices() {
    for scale in [1, 3] {
        floats(
            &format!(
                "x = f64[2,2,3] constant({{ {{ {{1, 2, 3}}, {{4, 5, 6}} }}, {{ {{7, 8, 9}}, {{10, 11, 12}} }} }})
                 y = f64[2,3,1] constant({{ {{ {{1}}, {{10}}, {{100}} }}, {{ {{1000}}, {{1}}, {{0.5}} }} }})
                 s = f64[] constant({scale})
                 l = f64[] log(s)
                 e = f64[] exponential(l)
                 b = f64[2,2,3] broadcast(e), dimensions={{}}
                 z = f64[2,2,3] multiply(x, b)
                 d = f64[2,2,1] dot(z, y), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_batch_dims={{0}}, rhs_contracting_dims={{1}}
                 c = f64[2,2,1] broadcast(e), dimensions={{}}
                 ROOT r = f64[2,2,1] divide(d, c)"
            ),
            &[321.0, 654.0, 7012.5, 10017.0],
        );
    }
}

/// Sums and maxima over the first and last dimension, over the middle one, over all and over none.
#[test]
fn reductions_keep_to_their_groups() {
    let values: Vec<f64> = (0..12).map(|i| f64::from(i * 5 % 12)).collect();
    let at = |i: usize, j: usize, k: usize| values[(i * 3 + j) * 2 + k];
    let text = values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    type Group = Vec<Vec<f64>>;
    let pairs = |of: &dyn Fn(usize, usize) -> f64| vec![of(0, 0), of(0, 1), of(1, 0), of(1, 1)];
    let outer: Group = (0..3).map(|j| pairs(&|i, k| at(i, j, k))).collect();
    let middle: Group = (0..4).map(|group| (0..3).map(|j| at(group / 2, j, group % 2)).collect()).collect();
    let whole: Group = vec![values.clone()];
    for (dims, shape, groups) in [("0,2", "3", outer), ("1", "2,2", middle), ("0,1,2", "", whole)] {
        for scale in [1, 3] {
            for (region, init, of) in [("add", "0", sum as fn(&[f64]) -> f64), ("max", "-inf", largest)] {
                let expected: Vec<f64> = groups.iter().map(|group| of(group)).collect();
                floats(
                    &format!(
                        "v = f64[12] constant({{{text}}})
                         x = f64[2,3,2] reshape(v)
                         s = f64[] constant({scale})
                         l = f64[] log(s)
                         e = f64[] exponential(l)
                         b = f64[2,3,2] broadcast(e), dimensions={{}}
                         y = f64[2,3,2] multiply(x, b)
                         z = f64[] constant({init})
                         m = f64[{shape}] reduce(y, z), dimensions={{{dims}}}, to_apply={region}
                         c = f64[{shape}] broadcast(e), dimensions={{}}
                         ROOT r = f64[{shape}] divide(m, c)"
                    ),
                    &expected,
                );
            }
        }
    }
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(-INF, f64::max)
}

/// By `<` zeros are equal and keep their order; by totalOrder -0 goes before +0, and NaN to the ends by their signs.
#[test]
fn sorts_tell_zeros_apart_in_total_order_alone() {
    let sorted = |values: &str, n: usize, region: &str, root: &str| {
        format!(
            "x = f64[{n}] constant({{{values}}})
             s = f64[{n}] sort(x), dimensions={{0}}, to_apply={region}
             o = f64[] constant(1)
             b = f64[{n}] broadcast(o), dimensions={{}}
             ROOT r = f64[{n}] {root}"
        )
    };
    let zeros = "0, -0, 1, -1, 0, -0";
    for (region, expected) in
        [("less", [-1.0, INF, -INF, INF, -INF, 1.0]), ("less_total", [-1.0, -INF, -INF, INF, INF, 1.0])]
    {
        floats(&sorted(zeros, 6, region, "divide(b, s)"), &expected);
    }
    floats(&sorted("nan, inf, 0, -nan, -inf", 5, "less_total", "copy(s)"), &[NAN, -INF, 0.0, INF, NAN]);
    // Zeros that no constant shows: -0 * e.
    let hidden = "z = f64[4] constant({0, -0, 0, -0})
        e = f64[4] exponential(z)
        x = f64[4] multiply(z, e)
        s = f64[4] sort(x), dimensions={0}, to_apply=less_total
        o = f64[] constant(1)
        b = f64[4] broadcast(o), dimensions={}
        ROOT r = f64[4] divide(b, s)";
    floats(hidden, &[-INF, -INF, INF, INF]);
}

/// A constant's text gives a NaN its sign and its whole fraction.
#[test]
fn constants_keep_the_sign_and_payload_of_a_nan() {
    let bits = |dtype: &str, bits: &str, text: &str| {
        format!(
            "x = {dtype}[3] constant({text})
             ROOT r = {bits}[3] bitcast-convert(x)"
        )
    };
    integers(&bits("f32", "u32", "{nan, -nan, nan(0x000001)}"), &[0x7fc0_0000, 0xffc0_0000, 0x7f80_0001]);
    integers(&bits("bf16", "u16", "{-nan(0x7f), nan(0x01), 1}"), &[0xffff, 0x7f81, 0x3f80]);
    integers(&bits("f16", "u16", "{nan, -nan, -nan(0x155)}"), &[0x7e00, 0xfe00, 0xfd55]);
    integers(&bits("f8e4m3fn", "u8", "{nan, -nan, nan(0x7)}"), &[0x7f, 0xff, 0x7f]);
    integers(&bits("f8e5m2", "u8", "{nan, -nan(0x1), inf}"), &[0x7e, 0xfd, 0x7c]);
    integers(
        &bits("f64", "s64", "{nan, nan(0xfffffffffffff), -nan(0x1)}"),
        &[0x7ff8_0000_0000_0000, 0x7fff_ffff_ffff_ffff, -0xf_ffff_ffff_ffff],
    );
}

/// A result that is not exactly known has the bits of the nearest value of its type; f64 between two values of f32 is rounded once.
#[test]
fn bit_patterns_are_those_of_the_declared_type() {
    let e = |dtype: &str, bits: &str| {
        format!(
            "one = {dtype}[1] constant({{1}})
             e = {dtype}[1] exponential(one)
             ROOT r = {bits}[1] bitcast-convert(e)"
        )
    };
    integers(&e("f32", "u32"), &[i64::from(std::f32::consts::E.to_bits())]);
    integers(&e("f64", "s64"), &[std::f64::consts::E.to_bits() as i64]);
    integers(&e("bf16", "u16"), &[0x402e]);
    integers(&e("f8e4m3fn", "u8"), &[0x43]);
    // An integer that f32 has not is the number that it is, and its bits are those of the nearest f32.
    let odd = "n = s32[2] constant({16777217, -16777219})
        x = f32[2] convert(n)
        ROOT r = u32[2] bitcast-convert(x)";
    integers(odd, &[0x4b80_0000, 0xcb80_0002]);
    // A uniform number as samplers build it: bits under the exponent of 1, less 1.
    let uniform = "n = u32[2] constant({2147483648, 4294967295})
        nine = u32[2] constant({9, 9})
        fraction = u32[2] shift-right-logical(n, nine)
        one = f32[2] constant({1, 1})
        ones = u32[2] bitcast-convert(one)
        both = u32[2] or(fraction, ones)
        x = f32[2] bitcast-convert(both)
        y = f32[2] subtract(x, one)
        l = f32[2] log(y)
        ROOT r = u32[2] bitcast-convert(l)";
    let logs = [0.5f64, 1.0 - 2f64.powi(-23)].map(|u| i64::from((u.ln() as f32).to_bits()));
    integers(uniform, &logs);
}

/// No function of a number is taken for another of the same number and constant.
#[test]
fn functions_of_one_constant_are_told_apart() {
    type Function = fn(f64) -> f64;
    // Of e^x and 2.
    let functions: [(&str, Function); 8] = [
        ("add(v, c)", |v| v + 2.0),
        ("add(c, v)", |v| 2.0 + v),
        ("subtract(v, c)", |v| v - 2.0),
        ("subtract(c, v)", |v| 2.0 - v),
        ("multiply(v, c)", |v| v * 2.0),
        ("multiply(c, v)", |v| 2.0 * v),
        ("divide(v, c)", |v| v / 2.0),
        ("divide(c, v)", |v| 2.0 / v),
    ];
    let x: Vec<f64> = (0..16).map(|i| f64::from(i) / 4.0 - 1.9).collect();
    let constants = x.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    for (left, f) in &functions {
        for (right, g) in &functions {
            let expected: Vec<bool> = x.iter().map(|x| f(x.exp()) == g(x.exp())).collect();
            predicates(
                &format!(
                    "x = f64[16] constant({{{constants}}})
                     v = f64[16] exponential(x)
                     s = f64[] constant(2)
                     c = f64[16] broadcast(s), dimensions={{}}
                     y = f64[16] {left}
                     z = f64[16] {right}
                     ROOT r = pred[16] compare(y, z), direction=EQ"
                ),
                &expected,
            );
        }
    }
}
