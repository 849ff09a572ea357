//! Results of drawn programs are inside the machine's own promise: reductions, windows, dots, convolutions and scatters between
//! elementwise steps, in a fusion and without one.

use std::collections::BTreeMap;
use std::fmt::Write;

use ulpgate::check::Outcome;

use crate::promises::{MODES, outcome_of_text};

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % count as u64) as usize
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// The operation in the middle: its name, and the text of value `m` from `x` and `y`, both f32[R,W].
const MIDDLES: [(&str, &str); 7] = [
    ("reduce rows", " m = f32[R] reduce(x, zero), dimensions={1}, to_apply=add\n"),
    ("reduce all", " m = f32[] reduce(x, zero), dimensions={0,1}, to_apply=add\n"),
    ("running sum", " m = f32[R,W] reduce-window(x, zero), window={size=1xW pad=0_0xB_0}, to_apply=add\n"),
    ("pool", " m = f32[R,P] reduce-window(x, zero), window={size=1x3}, to_apply=add\n"),
    ("dot", " m = f32[R,R] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"),
    (
        "convolution",
        " l = f32[R,W,1] reshape(x)\n s = f32[1,3] slice(y), slice={[0:1], [0:3]}\n k = f32[3,1,1] reshape(s)\n \
         m = f32[R,P,1] convolution(l, k), window={size=3}, dim_labels=b0f_0io->b0f\n",
    ),
    (
        "scatter",
        " i = s32[R,1] iota(), iota_dimension=0\n h = s32[] constant(2)\n hs = s32[R,1] broadcast(h), dimensions={}\n \
         q = s32[R,1] divide(i, hs)\n m = f32[R,W] scatter(y, q, x), update_window_dims={1}, inserted_window_dims={0}, \
         scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
    ),
];

/// An elementwise step of `a` and `b`, whatever their shape.
const STEPS: [&str; 6] = ["add(a, b)", "subtract(a, b)", "multiply(a, b)", "negate(a)", "maximum(a, b)", "abs(a)"];

/// Modes of one fusion kind each; none for a program without a fusion.
const KINDS: [Option<&str>; 3] = [None, Some("kLoop"), Some("kOutput")];

/// A program's text, and the name of its middle.
fn drawn(draw: &mut Draw) -> (String, &'static str) {
    let (rows, width) = (draw.of(&[1, 2, 5, 8]), draw.of(&[3, 7, 33, 128, 700]));
    let (name, middle) = draw.of(&MIDDLES);
    let kind = draw.of(&KINDS);
    let sized = |text: &str| {
        let text = text.replace("f32[R", &format!("f32[{rows}")).replace("s32[R", &format!("s32[{rows}"));
        let text = text.replace(",R]", &format!(",{rows}]")).replace(",W", &format!(",{width}"));
        let text = text.replace(",P", &format!(",{}", width - 2)).replace("xW", &format!("x{width}"));
        text.replace("xB_0", &format!("x{}_0", width - 1))
    };
    let shape = format!("f32[{rows},{width}]");
    let mut body = format!(" p = {shape} parameter(0)\n y = {shape} parameter(1)\n zero = f32[] constant(0)\n");
    let (mut last, steps) = ("p".to_string(), draw.below(3));
    for step in 0..steps {
        let operation = draw.of(&STEPS).replace("(a", &format!("({last}")).replace(" b)", " y)");
        last = if step + 1 == steps { "x".to_string() } else { format!("e{step}") };
        writeln!(body, " {last} = {shape} {operation}").unwrap();
    }
    let middle = if steps == 0 { middle.replace("(x", "(p").replace(", x)", ", p)") } else { middle.to_string() };
    let middle = sized(&middle);
    let result = middle.rsplit("m = ").next().unwrap().split(' ').next().unwrap().to_string();
    write!(body, "{middle}").unwrap();
    let end = draw.of(&["negate(m)", "multiply(m, m)", "add(m, m)"]);
    writeln!(body, " ROOT r = {result} {end}\n}}").unwrap();
    let add = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n";
    let text = match kind {
        None => format!("HloModule m\n{add}ENTRY main {{\n{body}"),
        Some(kind) => format!(
            "HloModule m\n{add}fused {{\n{body}ENTRY main {{\n p = {shape} parameter(0)\n y = {shape} parameter(1)\n \
             ROOT out = {result} fusion(p, y), kind={kind}, calls=fused\n}}\n"
        ),
    };
    (text, name)
}

/// Middles that `bound` derives an error of; of the others it says that it has none.
const BOUND: [&str; 3] = ["reduce rows", "dot", "convolution"];

/// 210 programs, each in one of 11 modes, in a fusion or without one.
#[test]
fn drawn_programs_are_inside_the_promise_of_their_mode() {
    let (mut draw, mut judged) = (Draw(31), BTreeMap::new());
    for _ in 0..210 {
        let (text, middle) = drawn(&mut draw);
        let (mode, input) = (draw.of(&MODES), draw.of(&["ramp", "normal", "wide-exponent"]));
        let outcome = outcome_of_text(&text, mode, input);
        assert_ne!(outcome, Outcome::Finding, "{mode} {input}\n{text}");
        let [passed, all] = judged.entry(middle).or_insert([0, 0]);
        (*passed, *all) = (*passed + usize::from(outcome == Outcome::Pass), *all + 1);
    }
    assert_eq!(judged.len(), MIDDLES.len());
    for (middle, [passed, all]) in judged {
        let is_bound = BOUND.contains(&middle);
        assert!(all >= 20, "{middle}: {all} programs");
        assert!(if is_bound { passed == all } else { passed == 0 }, "{middle}: {passed} of {all} are judged");
    }
}
