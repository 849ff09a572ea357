//! Arrays that compilers cut, join, unroll and roll: the same elements elsewhere.

use ulpgate::diff::Difference;

use super::{lines, of_texts};

const NOTHING: [&str; 0] = [];

/// An entry that takes x and y, f32 of four and five elements, with the loop `step`, which runs while its count is below `trips`.
fn entry(instructions: &str, trips: usize, step: &str) -> String {
    format!(
        "HloModule m\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\nmaximum {{\n  a = \
         f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}}\nstep {{\n  s = (s32[], f32[4]) \
         parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n  n = s32[] add(k, one)\n  v = f32[4] \
         get-tuple-element(s), index=1\n  {step}\n  ROOT t = (s32[], f32[4]) tuple(n, w)\n}}\ngoes {{\n  s = (s32[], f32[4]) \
         parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n  n = s32[] constant({trips})\n  ROOT l = pred[] compare(k, n), \
         direction=LT\n}}\nENTRY main {{\n  x = f32[4] parameter(0)\n  y = f32[5] parameter(1)\n  none = s32[] constant(0)\n  zero = \
         f32[] constant(0)\n  low = f32[] constant(-inf)\n  {}\n}}\n",
        instructions.replace("; ", "\n  ")
    )
}

fn of(before: &str, after: &str) -> Vec<String> {
    let text = |instructions: &str| entry(instructions, 3, "w = f32[4] tanh(v)");
    lines(&of_texts(&text(before), &text(after)))
}

/// Whether nothing is said, not even that a value has no counterpart.
fn is_silent(before: &str, after: &str) -> bool {
    let text = |instructions: &str| entry(instructions, 3, "w = f32[4] tanh(v)");
    of_texts(&text(before), &text(after)) == Difference::default()
}

/// The two halves of x, each with an operation, side by side.
fn halves(operation: &str) -> String {
    format!(
        "a = f32[2] slice(x), slice={{[0:2]}}; b = f32[2] slice(x), slice={{[2:4]}}; c = f32[2] {}; d = f32[2] {}; ROOT r = f32[4] \
         concatenate(c, d), dimensions={{0}}",
        operation.replace('#', "a"),
        operation.replace('#', "b")
    )
}

#[test]
fn operations_on_parts_are_those_on_the_whole() {
    let whole = "ROOT r = f32[4] exponential(x)";
    assert_eq!(of(whole, &halves("exponential(#)")), NOTHING);
    assert_eq!(of(&halves("exponential(#)"), whole), NOTHING);
    assert!(!is_silent(whole, &halves("exponential(#)").replace("exponential(b)", "tanh(b)")));
    assert!(!is_silent(whole, &halves("exponential(#)").replace("concatenate(c, d)", "concatenate(d, c)")));
    assert!(!is_silent(whole, &halves("exponential(#)").replace("slice={[2:4]}", "slice={[1:3]}")));
    let turned =
        |parts: &str| format!("{}; q = f32[4] tanh(p); ROOT r = f32[4] exponential(q)", parts.replace("ROOT r", "p"));
    let parts = halves("exponential(#)");
    let whole = turned(&whole.replace("ROOT r", "p"));
    assert_eq!(of(&whole, &turned(&parts)), NOTHING);
    assert!(!is_silent(&whole, &turned(&parts.replace("concatenate(c, d)", "concatenate(d, c)"))));
}

/// Comparisons have an order, in parts as on the whole; equality has none.
#[test]
fn comparisons_of_parts_have_their_order() {
    let whole = |operands: &str, direction: &str| {
        format!(
            "e = f32[4] tanh(x); g = pred[4] compare({operands}), direction={direction}; f = f32[4] exponential(x); ROOT r = f32[4] \
             select(g, f, e)"
        )
    };
    let parts = |operands: [&str; 2], direction: &str| {
        format!(
            "e = f32[4] tanh(x); a = f32[2] slice(x), slice={{[0:2]}}; b = f32[2] slice(x), slice={{[2:4]}}; c = f32[2] slice(e), \
             slice={{[0:2]}}; d = f32[2] slice(e), slice={{[2:4]}}; i = pred[2] compare({}), direction={direction}; j = pred[2] \
             compare({}), direction={direction}; g = pred[4] concatenate(i, j), dimensions={{0}}; f = f32[4] exponential(x); ROOT r = \
             f32[4] select(g, f, e)",
            operands[0], operands[1]
        )
    };
    for (direction, turned) in [("LT", "GT"), ("GE", "LE"), ("EQ", "EQ"), ("NE", "NE")] {
        let before = whole("x, e", direction);
        assert_eq!(of(&before, &parts(["a, c", "b, d"], direction)), NOTHING, "{direction}");
        assert_eq!(of(&before, &parts(["c, a", "d, b"], turned)), NOTHING, "{direction}");
        if direction != turned {
            assert!(!is_silent(&before, &parts(["c, a", "d, b"], direction)), "{direction}");
            assert!(!is_silent(&before, &parts(["a, c", "d, b"], direction)), "{direction}");
        }
    }
}

/// Slices of slices, of what is reshaped or turned, and pads.
#[test]
fn elements_are_where_they_are_whatever_moved_them() {
    let plain = "e = f32[4] tanh(x); s = f32[1] slice(e), slice={[2:3]}; ROOT r = f32[1] exponential(s)";
    let moved = |slice: &str| {
        format!(
            "q = f32[2,2] reshape(x); e = f32[2,2] tanh(q); t = f32[2,2] transpose(e), dimensions={{1,0}}; h = f32[2,1] slice(t), \
             slice={{[0:2], [{slice}]}}; k = f32[1,1] slice(h), slice={{[0:1], [0:1]}}; s = f32[1] reshape(k); ROOT r = f32[1] \
             exponential(s)"
        )
    };
    assert_eq!(of(plain, &moved("1:2")), NOTHING);
    assert!(!is_silent(plain, &moved("0:1")));
}

/// Numbers that differ in bits that bf16 does not hold, and powers of two.
#[test]
fn another_number_in_a_part_is_told_of() {
    let by = |number: &str| format!("n = f32[] constant({number}); m = f32[2] broadcast(n), dimensions={{}}; ");
    let parts = |number: &str| by(number) + &halves("multiply(#, m)");
    let whole = "n = f32[] constant(0.3); m = f32[4] broadcast(n), dimensions={}; ROOT r = f32[4] multiply(x, m)";
    assert_eq!(of(whole, &parts("0.3")), NOTHING);
    assert_eq!(of(whole, &parts("0.3001")), ["precision-changed r: multiply -> multiply of other operands"]);
    assert!(!is_silent(whole, &parts("0.6")));
}

#[test]
fn roundings_of_parts_are_told_of() {
    let rounded = "e = f32[4] tanh(x); b = bf16[4] convert(e); f = f32[4] convert(b); ROOT r = f32[4] exponential(f)";
    let parts = |rounding: &str| {
        format!(
            "a = f32[2] slice(x), slice={{[0:2]}}; b = f32[2] slice(x), slice={{[2:4]}}; c = f32[2] tanh(a); d = f32[2] tanh(b); e = \
             f32[4] concatenate(c, d), dimensions={{0}}; {rounding}; s = f32[2] slice(f), slice={{[0:2]}}; t = f32[2] slice(f), \
             slice={{[2:4]}}; u = f32[2] exponential(s); v = f32[2] exponential(t); ROOT r = f32[4] concatenate(u, v), dimensions={{0}}"
        )
    };
    assert_eq!(of(rounded, &parts("h = bf16[4] convert(e); f = f32[4] convert(h)")), NOTHING);
    let gone = of(rounded, &parts("f = f32[4] copy(e)"));
    assert_eq!(gone, ["rounding-removed r: exponential of f32 then bf16 -> exponential of f32"]);
    let added = of(&parts("f = f32[4] copy(e)"), rounded);
    let told = |name: &str| format!("rounding-added {name}: exponential of f32 -> exponential of f32 then bf16");
    assert_eq!(added, ["u", "v"].map(told));
}

/// A loop whose trips are known does what they do.
#[test]
fn loops_are_unrolled() {
    let rolled = "i = (s32[], f32[4]) tuple(none, x); g = (s32[], f32[4]) while(i), condition=goes, body=step; ROOT r = f32[4] \
                  get-tuple-element(g), index=1";
    let unrolled = "e = f32[4] tanh(x); f = f32[4] tanh(e); ROOT r = f32[4] tanh(f)";
    assert_eq!(of(rolled, unrolled), NOTHING);
    assert_eq!(of(unrolled, rolled), NOTHING);
    let [looped, other] =
        [(3, "w = f32[4] tanh(v)"), (4, "w = f32[4] tanh(v)")].map(|(trips, step)| entry(rolled, trips, step));
    let steps = entry(unrolled, 3, "w = f32[4] tanh(v)");
    assert_eq!(lines(&of_texts(&steps, &looped)), NOTHING);
    let found = of_texts(&steps, &other);
    assert!(!found.changes.is_empty() || found.unmatched != [Vec::<String>::new(), Vec::new()]);
    let narrow = entry(rolled, 3, "u = f32[4] tanh(v)\n  h = bf16[4] convert(u)\n  w = f32[4] convert(h)");
    assert_ne!(lines(&of_texts(&steps, &narrow)), NOTHING);
}

#[test]
fn a_sum_that_is_unrolled_is_another_order() {
    let sum = "e = f32[4] tanh(x); ROOT r = f32[] reduce(e, zero), dimensions={0}, to_apply=add";
    let parts = |last: &str| {
        format!(
            "e = f32[4] tanh(x); a = f32[2] slice(e), slice={{[0:2]}}; b = f32[2] slice(e), slice={{[2:4]}}; c = f32[2] add(a, b); d = \
             f32[1] slice(c), slice={{[0:1]}}; f = f32[1] slice(c), slice={{[{last}]}}; g = f32[1] add(d, f); ROOT r = f32[] reshape(g)"
        )
    };
    assert_eq!(of(sum, &parts("1:2")), ["precision-changed r: reduce -> add"]);
    assert!(!is_silent(sum, &parts("0:1")));
}

/// The largest is the largest in any order.
#[test]
fn a_maximum_in_parts_is_the_maximum() {
    let whole = "e = f32[4] tanh(x); ROOT r = f32[] reduce(e, low), dimensions={0}, to_apply=maximum";
    let parts = |of: &str| {
        format!(
            "e = f32[4] tanh(x); a = f32[2] slice(e), slice={{[0:2]}}; b = f32[2] slice({of}), slice={{[2:4]}}; c = f32[2] maximum(a, b); \
             ROOT r = f32[] reduce(c, low), dimensions={{0}}, to_apply=maximum"
        )
    };
    assert_eq!(of(whole, &parts("e")), NOTHING);
    assert!(!is_silent(whole, &parts("x")));
}

/// A dot that adds up nothing is a product, rounded once; not where a matrix unit takes its operands as bf16.
#[test]
fn a_dot_of_one_product_is_a_product() {
    let dot = "ROOT r = f32[4,5] dot(x, y), lhs_contracting_dims={}, rhs_contracting_dims={}";
    let product = "a = f32[4,5] broadcast(x), dimensions={0}; b = f32[4,5] broadcast(y), dimensions={1}; ROOT r = f32[4,5] multiply(a, b)";
    assert_eq!(of(dot, product), NOTHING);
    assert!(!is_silent(dot, &product.replace("multiply", "add")));
    // Of two products one is not the dot.
    let cut = "a = f32[2] slice(x), slice={[0:2]}; b = f32[2] slice(y), slice={[0:2]}; ";
    let of_two = format!("{cut}ROOT r = f32[] dot(a, b), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}");
    let first =
        format!("{cut}m = f32[2] multiply(a, b); c = f32[1] slice(m), slice={{[0:1]}}; ROOT r = f32[] reshape(c)");
    assert!(!is_silent(&of_two, &first));
    let tiled = |text: &str| entry(text, 3, "w = f32[4] tanh(v)").replace("f32[4,5] ", "f32[4,5]{1,0:T(8,128)} ");
    assert_ne!(lines(&of_texts(&entry(dot, 3, "w = f32[4] tanh(v)"), &tiled(product))), NOTHING);
}

/// A value that is never negative is its own magnitude.
#[test]
fn magnitudes_of_what_is_positive_are_none() {
    let plain = halves("exponential(#)");
    let absolute = "e = f32[4] exponential(x); ROOT r = f32[4] abs(e)";
    assert_eq!(of(absolute, &plain), NOTHING);
    assert!(!is_silent(&absolute.replace("exponential", "tanh"), &halves("tanh(#)")));
}

/// A number and twice that number are two.
#[test]
fn a_factor_of_two_is_told_of() {
    let twice = "e = f32[4] exponential(x); ROOT r = f32[4] add(e, e)";
    assert!(!is_silent(twice, &halves("exponential(#)")));
    assert!(!is_silent(&halves("exponential(#)"), twice));
}

/// The gradient of an average over windows: XLA joins the padding between and around elements with the window that moves over
/// them.
#[test]
fn what_is_padded_before_is_the_padding_of_a_window() {
    let text = |body: &str| {
        format!(
            "HloModule m\nsum {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\nENTRY main \
             {{\n  x = f32[2,3] parameter(0)\n  z = f32[] constant(0)\n  e = f32[2,3] exponential(x)\n{body}}}\n"
        )
    };
    let padded = |fill: &str| {
        text(&format!(
            "  o = f32[] constant(1)\n  p = f32[2,7] pad(e, {fill}), padding=0_0x1_1_1\n  ROOT r = f32[2,6] reduce-window(p, z), \
             window={{size=1x2}}, to_apply=sum\n"
        ))
    };
    let whole =
        |window: &str| text(&format!("  ROOT r = f32[2,6] reduce-window(e, z), window={{{window}}}, to_apply=sum\n"));
    let joined = whole("size=1x2 pad=0_0x1_1 lhs_dilate=1x2");
    assert_eq!(lines(&of_texts(&padded("z"), &joined)), NOTHING);
    assert_eq!(lines(&of_texts(&joined, &padded("z"))), NOTHING);
    // An element that a pad takes away does not come back with the window's padding: arrays too large to be followed by elements.
    let large = |text: &str| text.replace("2,3]", "4096,4096]").replace("2,2]", "4096,4095]");
    let cut = large(&text(
        "  p = f32[2,2] pad(e, z), padding=0_0x-1_0\n  ROOT r = f32[2,2] reduce-window(p, z), window={size=1x2 pad=0_0x1_0}, \
         to_apply=sum\n",
    ));
    let kept = large(&text("  ROOT r = f32[2,2] reduce-window(e, z), window={size=1x2}, to_apply=sum\n"));
    assert_ne!(lines(&of_texts(&cut, &kept)), NOTHING);
    // Ones between the elements are summed, and another padding shows other elements.
    assert_ne!(lines(&of_texts(&padded("o"), &joined)), NOTHING);
    assert_eq!(
        lines(&of_texts(&padded("z"), &whole("size=1x2 pad=0_0x2_0 lhs_dilate=1x2"))),
        [
            "precision-changed r: reduce-window by add over {size=1x2 pad=0_0x1_1 lhs_dilate=1x2} -> reduce-window by add over \
             {size=1x2 pad=0_0x2_0 lhs_dilate=1x2}"
        ]
    );
}

/// All elements that a sort carries are compared: another one is told of, whichever the keys are.
#[test]
fn another_element_that_a_sort_carries_is_told_of() {
    let sorted = |carried: &str| {
        format!(
            "HloModule m\nless {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] parameter(2)\n  d = f32[] \
             parameter(3)\n  ROOT l = pred[] compare(a, b), direction=LT\n}}\nENTRY main {{\n  x = f32[4] parameter(0)\n  y = f32[4] \
             parameter(1)\n  z = f32[4] parameter(2)\n  {carried}\n  s = (f32[4], f32[4]) sort(x, c), dimensions={{0}}, \
             is_stable=true, to_apply=less\n  ROOT r = f32[4] get-tuple-element(s), index=1\n}}\n"
        )
    };
    let before = sorted("c = f32[4] copy(y)");
    assert_eq!(of_texts(&before, &before), Difference::default());
    for place in 0..4 {
        let (next, mut parts, mut names) = (place + 1, Vec::new(), Vec::new());
        for (name, of, from, to) in [("d", "y", 0, place), ("e", "z", place, next), ("f", "y", next, 4)] {
            if from < to {
                parts.push(format!("{name} = f32[{}] slice({of}), slice={{[{from}:{to}]}}", to - from));
                names.push(name);
            }
        }
        parts.push(format!("c = f32[4] concatenate({}), dimensions={{0}}", names.join(", ")));
        let after = sorted(&parts.join("\n  "));
        assert!(!lines(&of_texts(&before, &after)).is_empty(), "{after}");
    }
}
