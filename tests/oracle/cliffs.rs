//! Programs that once took long beyond measure, and have a way of their own now: the answers are what they were.

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Demand, TruthTensor};

use super::ask::{floats, predicates};
use super::oracles;

/// The decided floats of a program over constants, which every oracle agrees on.
#[track_caller]
fn rounded(text: &str) -> Vec<f64> {
    let program = lower(&parse(text).unwrap()).unwrap().program;
    let mut all: Vec<Vec<f64>> = Vec::new();
    for oracle in oracles() {
        let truth = oracle.evaluate(&program, &[], &[Demand::Rounded]).unwrap();
        assert_eq!(truth.stats.undecided, 0, "{text}");
        let [TruthTensor::Float(float)] = &truth.outputs[..] else { panic!("{truth:?}") };
        all.push(float.rounded.clone());
    }
    assert!(all.iter().all(|other| other == &all[0]), "{all:?}");
    all.swap_remove(0)
}

/// `2 a + b` neither commutes nor associates: a running reduction takes the init first, then the elements in order, along
/// each lane by itself. A window that reaches the other way starts at its own first element.
#[test]
fn running_reductions_by_any_region_step_in_order() {
    let run = |dtype: &str, dims: &str, values: &str, window: &str| {
        format!(
            "HloModule running
             step {{ a = {dtype}[] parameter(0)
               b = {dtype}[] parameter(1)
               twice = {dtype}[] add(a, a)
               ROOT r = {dtype}[] add(twice, b) }}
             ENTRY main {{
               x = {dtype}[{dims}] constant({values})
               one = {dtype}[] constant(1)
               w = {dtype}[{dims}] reduce-window(x, one), window={{{window}}}, to_apply=step
               ROOT r = f64[{dims}] convert(w) }}"
        )
    };
    for dtype in ["f64", "s32"] {
        let row = rounded(&run(dtype, "4", "{3, 5, 7, 11}", "size=4 pad=3_0"));
        assert_eq!(row, [5.0, 15.0, 37.0, 85.0]);
        let reversed = rounded(&run(dtype, "4", "{3, 5, 7, 11}", "size=4 pad=0_3"));
        assert_eq!(reversed, [85.0, 53.0, 29.0, 13.0]);
        let lanes = rounded(&run(dtype, "3,2", "{ {3, 4}, {5, 6}, {7, 8} }", "size=3x1 pad=2_0x0_0"));
        assert_eq!(lanes, [5.0, 6.0, 15.0, 18.0, 37.0, 44.0]);
    }
}

/// Running extremes and products, with an element that is not exactly known, ties and zeros of both signs.
#[test]
fn running_extremes_and_products_are_those_so_far() {
    for (reducer, init, expected) in [
        ("maximum", "-inf", [2.0, 2.0, 3.0, 3.0]),
        ("minimum", "inf", [2.0, -1.0, -1.0, -1.0]),
        ("multiply", "1", [2.0, -2.0, -6.0, -18.0]),
    ] {
        let text = format!(
            "HloModule running
             step {{ a = f64[] parameter(0)
               b = f64[] parameter(1)
               ROOT r = f64[] {reducer}(a, b) }}
             ENTRY main {{
               x = f64[4] constant({{2, -1, 3, 3}})
               seven = f64[4] constant({{7, 7, 7, 7}})
               l = f64[4] log(seven)
               scaled = f64[4] multiply(x, l)
               y = f64[4] divide(scaled, l)
               init = f64[] constant({init})
               w = f64[4] reduce-window(y, init), window={{size=4 pad=3_0}}, to_apply=step
               ROOT r = f64[4] add(w, y) }}"
        );
        let x = [2.0, -1.0, 3.0, 3.0];
        let sums: Vec<f64> = expected.iter().zip(x).map(|(w, x)| w + x).collect();
        assert_eq!(rounded(&text), sums, "{reducer}");
    }
}

/// A call gives the values that it computes: parts of its tuple in their order, calls inside of it, a parameter as it is.
#[test]
fn calls_inside_calls_give_their_parts() {
    let text = "HloModule calls
        inner { p = f64[2] parameter(0)
          q = f64[2] parameter(1)
          d = f64[2] subtract(p, q)
          ROOT t = (f64[2], f64[2]) tuple(q, d) }
        outer { v = f64[2] parameter(1)
          u = f64[2] parameter(0)
          c = (f64[2], f64[2]) call(u, v), to_apply=inner
          g = f64[2] get-tuple-element(c), index=1
          h = f64[2] get-tuple-element(c), index=0
          e = f64[2] exponential(g)
          ROOT t = (f64[2], f64[2], f64[2]) tuple(h, e, u) }
        ENTRY main { x = f64[2] constant({5, 2})
          y = f64[2] constant({5, 2})
          c = (f64[2], f64[2], f64[2]) call(x, y), to_apply=outer
          y2 = f64[2] get-tuple-element(c), index=0
          one = f64[2] get-tuple-element(c), index=1
          x2 = f64[2] get-tuple-element(c), index=2
          s = f64[2] multiply(x2, y2)
          ROOT r = f64[2] subtract(s, one) }";
    assert_eq!(rounded(text), [24.0, 3.0]);
}

/// A dot of functions keeps its linear form: what it adds up can be taken from it again, exactly.
#[test]
fn dots_of_functions_cancel() {
    let entry = |rest: &str| {
        format!(
            "x = f64[1,3] constant({{ {{1, 2, 3}} }})
             e = f64[1,3] exponential(x)
             w = f64[3,1] constant({{ {{2}}, {{0}}, {{-0.5}} }})
             d = f64[1,1] dot(e, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
             a = f64[1,1] slice(e), slice={{[0:1], [0:1]}}
             c = f64[1,1] slice(e), slice={{[0:1], [2:3]}}
             a2 = f64[1,1] add(a, a)
             half = f64[1,1] constant({{ {{0.5}} }})
             c2 = f64[1,1] multiply(c, half)
             s = f64[1,1] subtract(a2, c2)
             {rest}"
        )
    };
    floats(&entry("ROOT r = f64[1,1] subtract(d, s)"), &[0.0]);
    predicates(&entry("ROOT r = pred[1,1] compare(d, s), direction=EQ"), &[true]);
}

/// Five numbers of a row of products of functions, which leave pairs open by cancelling to 2^-70 of their terms: each is
/// the nearest of what 1000 bits say.
#[test]
fn products_of_functions_are_rounded_right() {
    let n = 40;
    let x: Vec<f64> = (0..n).map(|i| f64::from((i * 37) % 41) / 8.0 - 2.0).collect();
    let text = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let gap = 2f64.powi(-70);
    let program = format!(
        "HloModule products
         ENTRY main {{
           x = f64[1,{n}] constant({{ {{{}}} }})
           e = f64[1,{n}] exponential(x)
           t = f64[1,{n}] tanh(x)
           et = f64[1,1] dot(e, t), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
           g = f64[] constant({gap:e})
           gs = f64[1,{n}] broadcast(g), dimensions={{}}
           s = f64[1,{n}] add(t, gs)
           es = f64[1,1] dot(e, s), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
           ROOT r = f64[1,1] subtract(es, et) }}",
        text(&x)
    );
    let wide = |v: f64| rug::Float::with_val(1000, v);
    let sum = x.iter().fold(wide(0.0), |sum, v| sum + wide(*v).exp() * wide(gap));
    assert_eq!(rounded(&program), [sum.to_f64()]);
}
