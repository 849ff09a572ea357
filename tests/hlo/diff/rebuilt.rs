//! Rewrites of compilers that round nothing otherwise.

use ulpgate::diff::Difference;

use super::{lines, of_texts};

/// The instructions of an entry that takes x and y, f32 of four and five elements, and p, s32 of four.
fn entry(instructions: &str) -> String {
    format!(
        "HloModule m\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\nlast \
         {{\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}}\nENTRY main {{\n  x = f32[4] parameter(0)\n  y = \
         f32[5] parameter(1)\n  p = s32[4] parameter(2)\n  zero = f32[] constant(0)\n  low = f32[] constant(-inf)\n{}}}\n",
        instructions.replace("; ", "\n").replace('\n', "\n  ")
    )
}

fn of(before: &str, after: &str) -> Vec<String> {
    lines(&of_texts(&entry(before), &entry(after)))
}

const NOTHING: [&str; 0] = [];

/// TPUs have no concatenation: each part is padded with what loses against every number.
#[test]
fn arrays_side_by_side_are_concatenated() {
    let concatenated = "e = f32[4] exponential(x); ROOT r = f32[9] concatenate(e, y), dimensions={0}";
    let padded = |low: usize, fill: &str, join: &str| {
        format!(
            "e = f32[4] exponential(x); f = f32[{n}] pad(e, {fill}), padding=0_{high}; g = f32[{n}] pad(y, {fill}), \
             padding={low}_0; ROOT r = f32[{n}] {join}(f, g)",
            n = low + 5,
            high = low + 1,
        )
    };
    assert_eq!(of(concatenated, &padded(4, "low", "maximum")), NOTHING);
    assert_eq!(of(concatenated, &padded(4, "zero", "add")), NOTHING);
    // Zeros win against negative numbers.
    assert_eq!(of(concatenated, &padded(4, "zero", "maximum")), ["operation-changed r: concatenate -> maximum"]);
    // What is cut out of the whole is cut out of each.
    let cut = "e = f32[4] exponential(x); c = f32[9] concatenate(e, y), dimensions={0}; ROOT r = f32[8] slice(c), slice={[1:9]}";
    let cuts = |start: usize| {
        format!(
            "e = f32[4] exponential(x); f = f32[9] pad(e, low), padding=0_5; g = f32[9] pad(y, low), padding=4_0; k = f32[8] slice(f), \
             slice={{[1:9]}}; l = f32[8] slice(g), slice={{[{start}:{end}]}}; ROOT r = f32[8] maximum(k, l)",
            end = start + 8
        )
    };
    assert_eq!(of(cut, &cuts(1)), NOTHING);
    assert_ne!(of(cut, &cuts(0)), NOTHING);
    // Another number at each end is no padding.
    let framed = |last: &str| {
        format!(
            "o = f32[] constant(1); l = f32[1] broadcast(zero), dimensions={{}}; h = f32[1] broadcast({last}), dimensions={{}}; \
             ROOT r = f32[7] concatenate(l, y, h), dimensions={{0}}"
        )
    };
    let frame = "ROOT r = f32[7] pad(y, zero), padding=1_1";
    assert_eq!(of(&framed("zero"), frame), NOTHING);
    assert_eq!(of(&framed("o"), frame), ["operation-changed r: concatenate -> pad 1_1_0"]);
    // Numbers at an end are padding.
    let shifted = "z = f32[1] broadcast(zero), dimensions={}; ROOT r = f32[6] concatenate(z, y), dimensions={0}";
    assert_eq!(of(shifted, "ROOT r = f32[6] pad(y, zero), padding=1_0"), NOTHING);
    assert_ne!(of(shifted, "ROOT r = f32[6] pad(y, zero), padding=0_1"), NOTHING);
}

#[test]
fn a_product_with_ones_and_zeros_picks() {
    let compared =
        "z = f32[4] broadcast(zero), dimensions={}; g = pred[4] compare(x, z), direction=GT; e = f32[4] exponential(x)";
    let product = format!("{compared}; h = f32[4] convert(g); ROOT r = f32[4] multiply(h, e)");
    assert_eq!(of(&product, &format!("{compared}; ROOT r = f32[4] select(g, e, z)")), NOTHING);
    assert_eq!(of(&product, &format!("{compared}; ROOT r = f32[4] select(g, z, e)")).len(), 1);
}

#[test]
fn a_scatter_that_overwrites_is_an_update() {
    let scatter = "c = s32[1] constant({0}); u = f32[4] exponential(x); ROOT r = f32[5] scatter(y, c, u), \
                   update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, \
                   to_apply=last";
    let update = "c = s32[] constant(0); u = f32[4] exponential(x); ROOT r = f32[5] dynamic-update-slice(y, u, c)";
    assert_eq!(of(scatter, update), NOTHING);
    let added = scatter.replace("to_apply=last", "to_apply=add");
    assert_eq!(of(&added, update), ["operation-changed r: scatter by add -> update"]);
}

#[test]
fn signs_that_cancel_are_left_out() {
    let negated = "n = f32[4] negate(x); e = f32[4] exponential(x)";
    let of_negated =
        |last: &str, plain: &str| of(&format!("{negated}; {last}"), &format!("e = f32[4] exponential(x); {plain}"));
    assert_eq!(of_negated("ROOT r = f32[4] add(e, n)", "ROOT r = f32[4] subtract(e, x)"), NOTHING);
    assert_eq!(of_negated("ROOT r = f32[4] subtract(e, n)", "ROOT r = f32[4] add(e, x)"), NOTHING);
    assert_eq!(of_negated("ROOT r = f32[4] multiply(n, n)", "ROOT r = f32[4] multiply(x, x)"), NOTHING);
    assert_eq!(of_negated("ROOT r = f32[4] abs(n)", "ROOT r = f32[4] abs(x)"), NOTHING);
    assert_eq!(
        of_negated("ROOT r = f32[4] add(e, n)", "ROOT r = f32[4] add(e, x)"),
        ["precision-changed r: subtract -> add"]
    );
}

/// Compilers compute what constants alone make: here the largest float below -2, by its bits.
#[test]
fn constants_are_folded() {
    let by_bits = "c = f32[] constant(-2); b = s32[] bitcast-convert(c); o = s32[] constant(1); s = s32[] add(b, o); f = f32[] \
                   bitcast-convert(s); g = f32[] sqrt(f); h = f32[] abs(f); k = f32[] sqrt(h); l = f32[4] broadcast(k), \
                   dimensions={}; ROOT r = f32[4] multiply(x, l)";
    let folded = |number: &str| {
        format!(
            "k = f32[] constant({number}); l = f32[4] broadcast(k), dimensions={{}}; ROOT r = f32[4] multiply(x, l)"
        )
    };
    assert_eq!(of(by_bits, &folded("1.41421366")), NOTHING);
    assert_eq!(of(by_bits, &folded("1.41421402")), ["precision-changed l: 1.4142137 -> 1.414214"]);
}

/// A loop may carry what it never changes.
#[test]
fn what_a_loop_hands_on_is_what_went_in() {
    let text_of = |carried: bool, body: &str| {
        let (types, names, root) = match carried {
            true => ("s32[], f32[4], f32[4]", "k, v, w", "u"),
            false => ("s32[], f32[4]", "k, v", "x"),
        };
        let third = |text: &str| if carried { text.to_string() } else { String::new() };
        format!(
            "HloModule m\nstep {{\n  t = ({types}) parameter(0)\n  k0 = s32[] get-tuple-element(t), index=0\n  o = s32[] \
             constant(1)\n  k = s32[] add(k0, o)\n  v0 = f32[4] get-tuple-element(t), index=1\n{}  v = f32[4] \
             {body}(v0)\n  ROOT s = ({types}) tuple({names})\n}}\ngoes {{\n  t = ({types}) parameter(0)\n  k = s32[] \
             get-tuple-element(t), index=0\n  n = s32[] constant(3)\n  ROOT l = pred[] compare(k, n), direction=LT\n}}\nENTRY \
             main {{\n  x = f32[4] parameter(0)\n  z = s32[] constant(0)\n  i = ({types}) tuple(z, x{})\n  w = ({types}) \
             while(i), condition=goes, body=step\n  v = f32[4] get-tuple-element(w), index=1\n{}  ROOT r = f32[4] \
             multiply(v, {root})\n}}\n",
            third("  w = f32[4] get-tuple-element(t), index=2\n"),
            third(", x"),
            third("  u = f32[4] get-tuple-element(w), index=2\n"),
        )
    };
    let text = |carried| text_of(carried, "exponential");
    assert_eq!(of_texts(&text(false), &text(true)), Difference::default());
    assert_eq!(
        lines(&of_texts(&text(false), &text_of(true, "tanh"))),
        ["precision-changed w: loop with exponential -> loop with tanh"]
    );
}

/// Two layers of the same operations, which a compiler computes in another order: weights tell them apart.
#[test]
fn values_of_one_name_are_paired_by_what_they_read() {
    let layer = |at: usize, weight: usize, how: &str| {
        format!(
            "  w.{at} = f32[4] parameter({weight})\n  mul.{at} = f32[4] multiply(x, w.{at})\n  act.{at} = f32[4] \
             {how}(mul.{at})\n  add.{at} = f32[4] add(act.{at}, x)\n"
        )
    };
    let program = |layers: [String; 2], results: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[4] parameter(0)\n{}  ROOT t = (f32[4], f32[4]) tuple({results})\n}}\n",
            layers.concat()
        )
    };
    let before = program([layer(1, 1, "exponential"), layer(2, 2, "exponential")], "add.1, add.2");
    let copied = "  copy.1 = f32[4] copy(add.1)\n".to_string();
    let after = program([layer(1, 2, "tanh"), layer(2, 1, "tanh") + &copied], "add.2, copy.1");
    let changed = |at: usize| format!("precision-changed act.{at}: exponential -> tanh");
    assert_eq!(lines(&of_texts(&before, &after)), [changed(1), changed(2)]);
}

/// A rounding in a loop is reported with the loop.
#[test]
fn roundings_in_loops_are_told_of() {
    let text = |second: &str| {
        format!(
            "HloModule m\nstep {{\n  t = (s32[], f32[4]) parameter(0)\n  k0 = s32[] get-tuple-element(t), index=0\n  o = s32[] \
             constant(1)\n  k = s32[] add(k0, o)\n  v0 = f32[4] get-tuple-element(t), index=1\n  e = f32[4] \
             exponential(v0)\n  n = f32[4] reduce-precision(e), exponent_bits=8, mantissa_bits=7\n  a = f32[4] tanh(n)\n{second}  \
             ROOT s = (s32[], f32[4]) tuple(k, v)\n}}\ngoes {{\n  t = (s32[], f32[4]) parameter(0)\n  k = s32[] \
             get-tuple-element(t), index=0\n  n = s32[] constant(3)\n  ROOT l = pred[] compare(k, n), direction=LT\n}}\nENTRY main \
             {{\n  x = f32[4] parameter(0)\n  z = s32[] constant(0)\n  i = (s32[], f32[4]) tuple(z, x)\n  w = (s32[], f32[4]) \
             while(i), condition=goes, body=step\n  ROOT r = f32[4] get-tuple-element(w), index=1\n}}\n"
        )
    };
    let rounded = text("  v = f32[4] reduce-precision(a), exponent_bits=8, mantissa_bits=7\n");
    let narrow = text("  b = bf16[4] convert(a)\n  v = f32[4] convert(b)\n");
    let wide = text("  v = f32[4] copy(a)\n");
    assert_eq!(
        lines(&of_texts(&rounded, &wide)),
        ["rounding-removed w: exponential of f32 then bf16 -> exponential of f32"]
    );
    assert_eq!(
        lines(&of_texts(&wide, &rounded)),
        ["rounding-added w: exponential of f32 -> exponential of f32 then bf16"]
    );
    assert_eq!(of_texts(&rounded, &narrow), Difference::default());
}

/// Numbers of a table in bf16 are as if rounded to it where a dot of a loop reads them.
#[test]
fn a_narrow_table_of_a_loop_is_rounded() {
    let text = |table: &str, function: &str| {
        format!(
            "HloModule m\nstep {{\n  t = (s32[], f32[2,2]) parameter(0)\n  k0 = s32[] get-tuple-element(t), index=0\n  \
             o = s32[] constant(1)\n  k = s32[] add(k0, o)\n  v0 = f32[2,2] get-tuple-element(t), index=1\n{table}  \
             d = f32[2,2] dot(v0, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, \
             operand_precision={{highest,highest}}\n  v = f32[2,2] {function}(d)\n  ROOT s = (s32[], f32[2,2]) tuple(k, v)\n}}\n\
             goes {{\n  t = (s32[], f32[2,2]) parameter(0)\n  k = s32[] get-tuple-element(t), index=0\n  \
             n = s32[] constant(3)\n  ROOT l = pred[] compare(k, n), direction=LT\n}}\nENTRY main {{\n  \
             x = f32[2,2] parameter(0)\n  z = s32[] constant(0)\n  i = (s32[], f32[2,2]) tuple(z, x)\n  \
             l = (s32[], f32[2,2]) while(i), condition=goes, body=step\n  \
             ROOT r = f32[2,2] get-tuple-element(l), index=1\n}}\n"
        )
    };
    let table = "  c = bf16[2,2] constant({{1,2},{3,5}})\n  w = f32[2,2] convert(c)\n";
    let rounded = "  c = f32[2,2] constant({{1,2},{3,5}})\n  w = f32[2,2] reduce-precision(c), exponent_bits=8, mantissa_bits=7\n";
    let found = of_texts(&text(table, "sine"), &text(rounded, "tanh"));
    assert_eq!(lines(&found), ["precision-changed l: loop with sine -> loop with tanh"]);
    let plain = "  w = f32[2,2] constant({{1,2},{3,5}})\n";
    let found = of_texts(&text(plain, "sine"), &text(table, "tanh"));
    assert_eq!(lines(&found), ["precision-changed l: loop with sine -> loop with rounding to bf16, tanh"]);
}

/// Numbers that a compiler multiplies with each other are rounded once where there were two roundings.
#[test]
fn products_with_several_numbers_are_told_of_as_one() {
    let by = |numbers: &[&str]| {
        let mut text = "v0 = f32[4] exponential(x)".to_string();
        for (at, number) in numbers.iter().enumerate() {
            let (opcode, number) = number.split_once(' ').unwrap();
            text += &format!("; c{at} = f32[] constant({number}); b{at} = f32[4] broadcast(c{at}), dimensions={{}}");
            text += &format!("; v{} = f32[4] {opcode}(v{at}, b{at})", at + 1);
        }
        text + &format!("; ROOT r = f32[4] negate(v{})", numbers.len())
    };
    assert_eq!(
        of(&by(&["multiply 0.01", "multiply 0.9"]), &by(&["multiply 0.009"])),
        ["precision-changed v2: multiply by 0.01, then multiply by 0.9 -> multiply by 0.009"]
    );
    assert_eq!(
        of(&by(&["divide 3", "multiply 0.9"]), &by(&["multiply 0.3"])),
        ["precision-changed v2: divide by 3, then multiply by 0.9 -> multiply by 0.3"]
    );
    // A power of two rounds nothing.
    assert_eq!(of(&by(&["multiply 0.01", "multiply 4"]), &by(&["multiply 0.04"])), NOTHING);
    assert_eq!(of(&by(&["divide 8", "multiply 0.9"]), &by(&["multiply 0.1125"])), NOTHING);
    assert_eq!(
        of(&by(&["divide 3", "divide 2"]), &by(&["multiply 0.16666667"])),
        ["precision-changed v2: divide by 6 -> multiply by 0.16666667"]
    );
    // What a second number undoes is rounded twice all the same.
    let undone = of_texts(&entry(&by(&["multiply 0.1", "divide 0.1"])), &entry(&by(&[])));
    assert_eq!(undone.unmatched, [Vec::<String>::new(), Vec::new()]);
    assert_eq!(lines(&undone), ["precision-changed v2: multiply by 0.1, then divide by 0.1 -> as it is"]);
    // Of a step that something else reads as well, nothing is known.
    let also = "w = f32[4] tanh(v1); z = f32[4] add(q, w); ROOT s = f32[4] sine(z)";
    let twice = by(&["multiply 0.1", "divide 0.1"]).replace("ROOT r = ", "q = ") + "; " + also;
    let undone = of_texts(&entry(&twice), &entry(&by(&[])));
    assert!(undone.unmatched[0].contains(&"v1".to_string()), "{undone:?}");
}

#[test]
fn another_order_of_parameters_is_no_change() {
    let text =
        |parameters: &str| format!("HloModule m\nENTRY main {{\n{parameters}  ROOT r = f32[4] subtract(x, y)\n}}\n");
    let (one, other) = ("  x = f32[4] parameter(0)\n", "  y = f32[4] parameter(1)\n");
    let second = text(&[other, one].concat()).replace("subtract(x, y)", "subtract(x, y), metadata={}");
    assert_eq!(of_texts(&text(&[one, other].concat()), &second), Difference::default());
    // Names may differ, so that order is all there is to go by.
    let renamed = second.replace("y = ", "q = ").replace("(x, y)", "(x, q)");
    assert_eq!(of_texts(&text(&[one, other].concat()), &renamed), Difference::default());
}

/// One element needs no stride, and nothing is read behind the last.
#[test]
fn slices_are_what_they_give() {
    let two = |range: &str| format!("s = f32[2] slice(y), slice={{[{range}]}}; ROOT r = f32[2] sine(s)");
    assert_eq!(of(&two("0:4:2"), &two("0:3:2")), NOTHING);
    assert_eq!(of(&two("0:4:2"), &two("1:5:2")), ["operation-changed s: slice [0:3:2] -> slice [1:4:2]"]);
    assert_ne!(of(&two("0:4:2"), &two("0:4:3")), NOTHING);
    let strided = "ROOT r = f32[1] slice(y), slice={[2:4:2]}";
    let one = |range: &str| format!("s = f32[1] slice(y), slice={{[{range}]}}; ROOT r = f32[1] copy(s)");
    assert_eq!(of(strided, &one("2:3")), NOTHING);
    assert_eq!(of(strided, &one("3:4")), ["operation-changed r: slice [2:3:1] -> slice [3:4:1]"]);
}

/// One quotient instead of two rounds once less, and is told of; a power of the other sign is another power.
#[test]
fn quotients_of_quotients_are_one_quotient() {
    let values = "e = f32[4] exponential(x); f = f32[4] tanh(x); ";
    let twice = format!("{values}g = f32[4] divide(e, f); h = f32[4] sine(x); ROOT r = f32[4] divide(g, h)");
    let once = format!("{values}h = f32[4] sine(x); g = f32[4] multiply(f, h); ROOT r = f32[4] divide(e, g)");
    assert_eq!(of(&twice, &once), ["precision-changed r: divide a quotient -> divide"]);
    assert_eq!(of(&twice, &twice), NOTHING);
    let other = format!("{values}h = f32[4] sine(x); g = f32[4] multiply(e, h); ROOT r = f32[4] divide(f, g)");
    assert_ne!(of(&twice, &other), ["precision-changed r: divide a quotient -> divide"]);
    let tenth = "t = f32[] constant(0.1); b = f32[4] broadcast(t), dimensions={}; ";
    let of_multiple =
        format!("{values}{tenth}g = f32[4] multiply(e, b); h = f32[4] divide(g, b); ROOT r = f32[4] divide(h, f)");
    let by_multiple =
        format!("{values}{tenth}g = f32[4] multiply(e, b); h = f32[4] multiply(f, b); ROOT r = f32[4] divide(g, h)");
    let told = [
        "precision-changed h: multiply by 0.1, then divide by 0.1 -> as it is",
        "precision-changed r: divide -> divide by a multiple",
    ];
    assert_eq!(of(&of_multiple, &by_multiple), told);
    let divided = format!("{values}g = f32[4] power(f, x); ROOT r = f32[4] divide(e, g)");
    let negated = format!("{values}n = f32[4] negate(x); g = f32[4] power(f, n); ROOT r = f32[4] multiply(e, g)");
    assert_eq!(of(&divided, &negated), ["precision-changed r: divide -> multiply by the reciprocal"]);
    assert_ne!(of(&divided, &negated.replace("negate(x)", "copy(x)")), of(&divided, &negated));
}

/// Two reciprocals for a quotient of a quotient are told of where it is made, and have nothing left to be told of.
#[test]
fn reciprocals_of_a_quotient_of_quotients_are_its_steps() {
    let values = "e = f32[4] exponential(x); f = f32[4] tanh(x); h = f32[4] sine(x); ";
    let twice = format!("{values}g = f32[4] divide(e, f); ROOT r = f32[4] divide(g, h)");
    let one = "u = f32[] constant(1); o = f32[4] broadcast(u), dimensions={}; ";
    let by_reciprocals = format!(
        "{values}{one}i = f32[4] divide(o, f); j = f32[4] divide(o, h); g = f32[4] multiply(e, i); ROOT r = f32[4] multiply(g, j)"
    );
    let found = of_texts(&entry(&twice), &entry(&by_reciprocals));
    let by = |name: &str, what: &str| format!("precision-changed {name}: {what} -> multiply by the reciprocal");
    assert_eq!(lines(&found), [by("g", "divide"), by("r", "divide a quotient")]);
    assert_eq!(found.unmatched, [Vec::<String>::new(), Vec::new()]);
}

/// Whichever factor of a product has a power of two, as in the gradient of a mean square: nothing is rounded by it.
#[test]
fn powers_of_two_may_be_with_either_factor() {
    let with = |first: &str, second: &str, divisor: &str| {
        format!(
            "c = f32[] constant({first}); d = f32[4] broadcast(c), dimensions={{}}; t = f32[] constant({second}); u = f32[4] \
             broadcast(t), dimensions={{}}; e = f32[4] exponential(x); f = f32[4] tanh(x); {divisor}a = f32[4] multiply(e, d); \
             b = f32[4] multiply(f, u); ROOT r = f32[4] multiply(a, b)"
        )
    };
    for divisor in ["", "h = f32[4] sine(x); e = f32[4] divide(f, h); "] {
        let divided = |text: String| match divisor {
            "" => text,
            _ => text.replace("e = f32[4] exponential(x); ", ""),
        };
        let both = divided(with("-0.0078125", "2", divisor));
        assert_eq!(of(&both, &divided(with("-0.015625", "1", divisor))), NOTHING);
        assert_eq!(of(&both, &divided(with("1", "-0.015625", divisor))), NOTHING);
        assert_ne!(of(&both, &divided(with("1", "0.015625", divisor))), NOTHING);
        assert_ne!(of(&both, &divided(with("1", "-0.0078125", divisor))), NOTHING);
        // A third rounds wherever it is.
        assert_ne!(of(&divided(with("3", "1", divisor)), &divided(with("1", "3", divisor))), NOTHING);
    }
}

/// Exact integers that floats have part in are computed in any way; which way a mask goes is not.
#[test]
fn integers_of_floats_are_what_they_are_made_of() {
    let ranks = "i = s32[4] iota(), iota_dimension=0; k = s32[4] convert(x); three = s32[] constant(3); b = s32[4] \
                 broadcast(three), dimensions={}; four = s32[] constant(4); c = s32[4] broadcast(four), dimensions={}; ";
    let remainder = format!("{ranks}m = s32[4] remainder(k, c); ROOT r = f32[4] convert(m)");
    let masked = format!("{ranks}m = s32[4] and(k, b); l = s32[4] copy(m); ROOT r = f32[4] convert(l)");
    assert_eq!(of(&remainder, &masked), NOTHING);
    assert_ne!(of(&remainder, &masked.replace("and(k, b)", "and(i, b)")), NOTHING);
    let kept = |instructions: &str| {
        format!(
            "e = f32[4] exponential(x); z = f32[4] broadcast(zero), dimensions={{}}; g = pred[4] compare(x, z), \
                 direction=GT; h = pred[4] compare(e, x), direction=GT; {instructions}; ROOT r = f32[4] select(m, e, z)"
        )
    };
    assert_eq!(of(&kept("m = pred[4] and(g, h)"), &kept("m = pred[4] and(h, g)")), NOTHING);
    assert_ne!(of(&kept("m = pred[4] and(g, h)"), &kept("m = pred[4] or(g, h)")), NOTHING);
}

/// An update of one place of zeros is a choice by index, and one of all elements is what is done with them.
#[test]
fn updates_at_one_place_are_choices() {
    let sums = "u = f32[1] exponential(s); o = f32[4] broadcast(zero), dimensions={}; ";
    let text = |body: &str| entry(&format!("s = f32[1] slice(x), slice={{[0:1]}}; {sums}{body}"));
    let attributes = "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, \
                      to_apply=add";
    let place = "q = s32[1] slice(p), slice={[1:2]}; ";
    let added = format!("{place}t = f32[4] scatter(o, q, u), {attributes}; ROOT r = f32[4] add(x, t)");
    let chosen = "j = s32[4] iota(), iota_dimension=0; q = s32[1] slice(p), slice={[1:2]}; a = s32[] reshape(q); b = s32[4] \
                  broadcast(a), dimensions={}; m = pred[4] compare(j, b), direction=EQ; w = f32[] reshape(u); v = f32[4] \
                  broadcast(w), dimensions={}; t = f32[4] select(m, v, o); ROOT r = f32[4] add(x, t)";
    assert_eq!(lines(&of_texts(&text(&added), &text(chosen))), NOTHING);
    assert_ne!(lines(&of_texts(&text(&added), &text(&chosen.replace("select(m, v, o)", "select(m, o, v)")))), NOTHING);
    let whole = format!(
        "n = s32[1] constant({{0}}); e = f32[4] tanh(x); t = f32[4] scatter(o, n, e), {attributes}; ROOT r = f32[4] sine(t)"
    );
    assert_eq!(lines(&of_texts(&text(&whole), &text("e = f32[4] tanh(x); ROOT r = f32[4] sine(e)"))), NOTHING);
    // What starts behind the first place updates nothing.
    for by in ["add", "last"] {
        let from = |at: usize| {
            format!(
                "n = s32[1] constant({{{at}}}); e = f32[4] tanh(x); t = f32[4] scatter(x, n, e), {}; ROOT r = f32[4] sine(t)",
                attributes.replace("to_apply=add", &format!("to_apply={by}"))
            )
        };
        let done = match by {
            "add" => "e = f32[4] tanh(x); t = f32[4] add(x, e); ROOT r = f32[4] sine(t)",
            _ => "e = f32[4] tanh(x); ROOT r = f32[4] sine(e)",
        };
        assert_eq!(of(&from(0), done), NOTHING, "{by}");
        assert_ne!(of(&from(1), done), NOTHING, "{by}");
    }
}

/// A choice by a constant is the value that it takes.
#[test]
fn a_constant_chooses_one_value() {
    let chosen = |by: bool| {
        format!(
            "c = pred[] constant({by}); b = pred[4] broadcast(c), dimensions={{}}; e = f32[4] exponential(x); \
             s = f32[4] select(b, x, e); ROOT r = f32[4] sine(s)"
        )
    };
    let (first, second) = ("ROOT r = f32[4] sine(x)", "e = f32[4] exponential(x); ROOT r = f32[4] sine(e)");
    assert_eq!((of(&chosen(true), first), of(&chosen(false), second)), (Vec::new(), Vec::new()));
    assert_eq!(of(&chosen(false), first), ["precision-changed r: sine of e -> sine of x"]);
    assert_eq!(of(&chosen(true), second), ["precision-changed r: sine of x -> sine of e"]);
}

/// Elements that a constant or a start picks of an array are not the array.
#[test]
fn some_elements_are_not_all() {
    let picked = |count: usize, how: &str| {
        format!(
            "k = s32[] constant(1); i = s32[{count},1] constant({{{}}}); e = f32[4] exponential(x); g = f32[{count}] {how}; \
             ROOT r = f32[] reduce(g, zero), dimensions={{0}}, to_apply=add",
            ["{3}", "{1}", "{0}", "{2}"][..count].join(",")
        )
    };
    let whole = "e = f32[4] exponential(x); ROOT r = f32[] reduce(e, zero), dimensions={0}, to_apply=add";
    let gathered = |count: usize| {
        let attributes =
            "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}";
        of(&picked(count, &format!("gather(e, i), {attributes}")), whole)
    };
    let sliced =
        |count: usize| of(&picked(count, &format!("dynamic-slice(e, k), dynamic_slice_sizes={{{count}}}")), whole);
    for (some, all) in [(gathered(2), gathered(4)), (sliced(2), sliced(4))] {
        assert_eq!(all, NOTHING);
        assert_eq!(some, ["reordered r: 2 at once -> 4 at once", "operation-changed g: gather of 2 -> exponential"]);
    }
}

/// The sign of one summand is that of no sum.
#[test]
fn a_number_is_added_behind_the_sign() {
    let three = "t = f32[] constant(3); b = f32[4] broadcast(t), dimensions={}; e = f32[4] exponential(x); ";
    let added = format!("{three}n = f32[4] negate(e); a = f32[4] add(n, b); ROOT r = f32[4] sine(a)");
    assert_eq!(of(&added, &format!("{three}a = f32[4] subtract(b, e); ROOT r = f32[4] sine(a)")), NOTHING);
    let turned = format!("{three}n = f32[4] subtract(e, b); a = f32[4] negate(n); ROOT r = f32[4] sine(a)");
    assert_eq!(
        of(&added, &turned),
        ["operation-changed a: negated after it, if at all, which zeros show -> negated before it, which zeros show"]
    );
}

#[test]
fn two_signs_cancel() {
    let twice = "a = f32[4] negate(x); b = f32[4] negate(a); ROOT r = f32[4] exponential(b)";
    assert_eq!(of(twice, "ROOT r = f32[4] exponential(x)"), NOTHING);
    assert_ne!(of(twice, "a = f32[4] negate(x); ROOT r = f32[4] exponential(a)"), NOTHING);
}

/// Compilers drop a `not` before a choice.
#[test]
fn a_negated_choice_takes_the_other() {
    let choice = |predicate: &str, picked: &str| {
        let negated = if predicate == "q" { "  q = pred[8] not(p)\n" } else { "" };
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n  p = pred[8] is-finite(x)\n\
             {negated}  ROOT m = f32[8] select({predicate}, {picked})\n}}\n"
        )
    };
    assert_eq!(of_texts(&choice("q", "x, y"), &choice("p", "y, x")), Difference::default());
    assert_ne!(of_texts(&choice("q", "x, y"), &choice("p", "x, y")), Difference::default());
}

/// The same of predicates without a float in them, wherever they lie.
#[test]
fn a_negated_mask_takes_the_other() {
    let choice = |steps: &str, predicate: &str, picked: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[2,8] parameter(0)\n  y = f32[2,8] parameter(1)\n  p = pred[8] parameter(2)\n\
             {steps}  w = pred[2,8] broadcast({predicate}), dimensions={{1}}\n  ROOT m = f32[2,8] select(w, {picked})\n}}\n"
        )
    };
    let (plain, negated, twice) = ("", "  q = pred[8] not(p)\n", "  q = pred[8] not(p)\n  n = pred[8] not(q)\n");
    let before = choice(negated, "q", "x, y");
    assert_eq!(of_texts(&before, &choice(plain, "p", "y, x")), Difference::default());
    assert_eq!(of_texts(&before, &before), Difference::default());
    assert_ne!(of_texts(&before, &choice(plain, "p", "x, y")), Difference::default());
    assert_ne!(of_texts(&before, &choice(twice, "n", "x, y")), Difference::default());
    assert_eq!(of_texts(&choice(twice, "n", "x, y"), &choice(plain, "p", "x, y")), Difference::default());
}

/// Two multiples of one value are one, which rounds less, and is told of; of other numbers or of two values they are not.
#[test]
fn a_sum_of_multiples_is_one_multiple() {
    let sum = |a: &str, b: &str, of: &str| {
        format!(
            "e = f32[4] exponential(x); g = f32[4] tanh(x); k = f32[] constant({a}); l = f32[] constant({b}); m = f32[4] \
             broadcast(k), dimensions={{}}; n = f32[4] broadcast(l), dimensions={{}}; s = f32[4] multiply(e, m); t = f32[4] \
             multiply({of}, n); ROOT r = f32[4] add(s, t)"
        )
    };
    let once = |by: &str| {
        format!(
            "e = f32[4] exponential(x); k = f32[] constant({by}); m = f32[4] broadcast(k), dimensions={{}}; ROOT r = f32[4] \
             multiply(e, m)"
        )
    };
    let twice = sum("0.1", "0.25", "e");
    assert_eq!(
        of(&twice, &once("0.35")),
        ["precision-changed r: add of multiples by 0.1 and 0.25 -> multiply by 0.35"]
    );
    assert_eq!(of(&twice, &twice), NOTHING);
    let others = ["precision-changed r: add of multiples by 0.1 and 0.25 -> add of multiples by 0.15 and 0.2"];
    assert_eq!(of(&twice, &sum("0.15", "0.2", "e")), others);
    let other = ["precision-changed r: add of multiples by 0.1 and 0.25 -> multiply by 0.45"];
    assert_eq!(of(&twice, &once("0.45")), other);
    let of_two = of(&sum("0.1", "0.25", "g"), &once("0.35"));
    assert!(!of_two.is_empty() && !of_two.iter().any(|line| line.contains("multiples")), "{of_two:?}");
    // What is nearly the value itself is rounded all the same.
    let copied = entry("e = f32[4] exponential(x); ROOT r = f32[4] copy(e)");
    assert_ne!(of_texts(&entry(&sum("0.9", "0.1", "e")), &copied), Difference::default());
}

/// A compiler sorts once and cuts what each reader takes; the first of the best two are the first of all.
#[test]
fn the_first_of_a_top_k_are_the_first_of_all_in_order() {
    let first = |count: usize, from: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[4,16] parameter(0)\n  t = (f32[4,{from}], s32[4,{from}]) topk(x), k={from}, \
             largest=true\n  v = f32[4,{from}] get-tuple-element(t), index=0\n  \
             ROOT c = f32[4,1] slice(v), slice={{[0:4], [{count}:{}]}}\n}}\n",
            count + 1
        )
    };
    assert_eq!(of_texts(&first(0, "2"), &first(0, "8")), Difference::default());
    assert_eq!(of_texts(&first(1, "2"), &first(1, "16")), Difference::default());
    assert_ne!(of_texts(&first(0, "2"), &first(1, "2")), Difference::default());
    // The largest of as many as there are are a sort.
    let all = |sorted: &str| {
        format!(
            "HloModule m\nmore {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  \
             ROOT c = pred[] compare(a, b), direction=GT\n}}\nENTRY main {{\n  x = f32[8] parameter(0)\n  \
             e = f32[8] exponential(x)\n{sorted}  ROOT r = f32[8] sine(v)\n}}\n"
        )
    };
    let sorted =
        |direction: &str| all("  v = f32[8] sort(e), dimensions={0}, to_apply=more\n").replace("GT", direction);
    let ranked = all("  t = (f32[8], s32[8]) topk(e), k=8, largest=true\n  v = f32[8] get-tuple-element(t), index=0\n");
    assert_eq!(of_texts(&ranked, &sorted("GT")), Difference::default());
    assert_ne!(of_texts(&ranked, &sorted("LT")), Difference::default());
}
