//! Numbers that undo each other, as in the first step of an optimizer, and what stands behind values that only one program has.

use ulpgate::diff::Difference;

use super::{lines, of_texts};

/// The instructions of an entry that takes x, f32 of four elements; `{NAME}` in it is an array of that number.
fn entry(instructions: &str) -> String {
    let mut text = String::from("HloModule m\nENTRY main {\n  x = f32[4] parameter(0)\n");
    let mut numbers = 0;
    for line in instructions.split("; ") {
        let mut line = line.to_string();
        while let Some((at, end)) = line.find('{').zip(line.find('}')) {
            let number = line[at + 1..end].to_string();
            text += &format!("  c{numbers} = f32[] constant({number})\n");
            text += &format!("  b{numbers} = f32[4] broadcast(c{numbers}), dimensions=()\n");
            line.replace_range(at..=end, &format!("b{numbers}"));
            numbers += 1;
        }
        text += &format!("  {line}\n");
    }
    text.replace("dimensions=()", "dimensions={}") + "}\n"
}

fn told(before: &str, after: &str) -> Difference {
    of_texts(&entry(before), &entry(after))
}

fn of(before: &str, after: &str) -> Vec<String> {
    let found = told(before, after);
    assert_eq!(found.unmatched, [Vec::<String>::new(), Vec::new()]);
    lines(&found)
}

const NOTHING: [&str; 0] = [];

/// The average of squares in the first step, without its bias: `0.001 g² / (1 - 0.999)`, one factor or none.
#[test]
fn numbers_that_undo_each_other_give_the_value_again() {
    let step = |square: &str| {
        format!("e = f32[4] exponential(x); {square}; s = f32[4] sqrt(q); ROOT r = f32[4] add(s, {{1e-8}})")
    };
    let twice = step("p = f32[4] multiply(e, {0.001}); q = f32[4] divide(p, {0.00099998713})");
    let once = step("q = f32[4] multiply(e, {1.0000129})");
    let none = step("q = f32[4] copy(e)");
    let steps = "multiply by 0.001, then divide by 0.0009999871";
    assert_eq!(of(&twice, &once), [format!("precision-changed q: {steps} -> multiply by 1.0000129")]);
    assert_eq!(of(&twice, &none), [format!("precision-changed q: {steps} -> as it is")]);
    assert_eq!(of(&none, &once), ["precision-changed e: as it is -> multiply by 1.0000129"]);
    assert_eq!(of(&once, &step("q = f32[4] multiply(e, {1.0000130})")).len(), 1);
    assert_eq!(of(&twice, &twice), NOTHING);
    assert_eq!(of(&once, &once), NOTHING);
    // Powers of two that undo each other round nothing.
    assert_eq!(of(&step("p = f32[4] multiply(e, {0.5}); q = f32[4] multiply(p, {2})"), &none), NOTHING);
    // Another number is another value.
    let other = told(&twice, &step("q = f32[4] multiply(e, {1.01})"));
    assert!(!lines(&other).is_empty() && lines(&other) != of(&twice, &once), "{other:?}");
}

/// An argument has nothing else to be told of.
#[test]
fn what_becomes_of_an_argument_is_told_of() {
    let by = |steps: &str| format!("{steps}; ROOT r = f32[4] tanh(q)");
    let twice = by("p = f32[4] divide(x, {0.05}); q = f32[4] multiply(p, {0.05})");
    let none = by("q = f32[4] copy(x)");
    assert_eq!(of(&twice, &none), ["precision-changed q: divide by 0.05, then multiply by 0.05 -> as it is"]);
    assert_eq!(of(&none, &twice), ["precision-changed x: as it is -> divide by 0.05, then multiply by 0.05"]);
    let negated = by("p = f32[4] divide(x, {0.05}); q = f32[4] multiply(p, {-0.05})");
    let turned = by("q = f32[4] negate(x)");
    assert_eq!(of(&negated, &turned), ["precision-changed q: divide by 0.05, then multiply by -0.05 -> as it is"]);
    assert_ne!(of(&negated, &none), of(&twice, &none));
}

/// Steps in bf16 round for who reads the value.
#[test]
fn roundings_on_the_way_are_told_of() {
    let narrow = |steps: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[4] parameter(0)\n  e = f32[4] exponential(x)\n  n = bf16[4] convert(e)\n  k = \
             bf16[] constant(0.1)\n  c = bf16[4] broadcast(k), dimensions={{}}\n{steps}  w = f32[4] convert(q)\n  ROOT r = \
             f32[4] tanh(w)\n}}\n"
        )
    };
    let twice = narrow("  p = bf16[4] multiply(n, c)\n  q = bf16[4] divide(p, c)\n");
    let wide = entry("e = f32[4] exponential(x); ROOT r = f32[4] tanh(e)");
    let found = lines(&of_texts(&twice, &wide));
    assert!(found.iter().any(|line| line.starts_with("rounding-removed e: bf16 for r -> f32 for r")), "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("precision-changed q: ")), "{found:?}");
}

/// A momentum that is one value with two factors, as in the first step of a Newton-Schulz optimizer.
#[test]
fn multiples_that_make_up_the_whole_are_the_value() {
    let sum = "e = f32[4] exponential(x); p = f32[4] multiply(e, {0.9}); q = f32[4] multiply(e, {0.1}); s = f32[4] add(p, q); \
               ROOT r = f32[4] tanh(s)";
    let none = "e = f32[4] exponential(x); ROOT r = f32[4] tanh(e)";
    assert_eq!(of(sum, none), ["precision-changed s: add of multiples by 0.9 and 0.1 -> as it is"]);
    assert_eq!(of(sum, sum), NOTHING);
}

/// A bias that both factors have: the quotient is taken of multiples.
#[test]
fn a_quotient_of_equal_multiples_is_the_quotient() {
    let values = "e = f32[4] exponential(x); f = f32[4] tanh(x)";
    let plain = format!("{values}; ROOT r = f32[4] divide(e, f)");
    let multiples = format!(
        "{values}; p = f32[4] multiply(e, {{0.1}}); q = f32[4] multiply(f, {{0.100000024}}); ROOT r = f32[4] divide(p, q)"
    );
    assert_eq!(of(&plain, &multiples), ["precision-changed r: divide -> divide by a multiple"]);
    assert_eq!(of(&multiples, &multiples), NOTHING);
}

/// Values behind others without a counterpart are paired by what both programs have of what they are made of, not by their place
/// in the file.
#[test]
fn pairs_are_made_of_the_same_values() {
    let values = "e = f32[4] exponential(x); f = f32[4] sine(x)";
    let before = format!(
        "{values}; k = f32[4] tanh(e); l = f32[4] tanh(f); s.1 = f32[4] sqrt(k); s.2 = f32[4] sqrt(l); g = f32[4] \
         multiply(s.1, e); ROOT r = f32[4] multiply(g, s.2)"
    );
    let after = format!(
        "{values}; m = f32[4] logistic(f); s.3 = f32[4] sqrt(m); n = f32[4] logistic(e); s.4 = f32[4] sqrt(n); h = f32[4] \
         multiply(s.4, e); z = f32[4] copy(h); ROOT r = f32[4] multiply(z, s.3)"
    );
    let found = told(&before, &after);
    assert_eq!(lines(&found), NOTHING, "{found:?}");
    assert_eq!(found.unmatched, [vec![], vec!["m".to_string(), "n".to_string()]]);
}

/// Of two values of one name, one is read first and is somewhat like the other's counterpart: that one waits for what is more like it.
#[test]
fn a_counterpart_is_the_most_alike_of_all() {
    let values = "e = f32[4] exponential(x); f = f32[4] cosine(x); g = f32[4] sine(x)";
    let before = format!(
        "{values}; v.1 = f32[4] divide(e, f); v.2 = f32[4] tanh(g); h = f32[4] add(v.1, g); ROOT r = f32[4] multiply(h, v.2)"
    );
    let after = format!(
        "{values}; v.3 = f32[4] tanh(e); v.4 = f32[4] subtract(e, f); h = f32[4] add(v.4, g); z = f32[4] copy(h); ROOT r = f32[4] multiply(z, v.3)"
    );
    let changed = ["precision-changed v.1: divide -> add", "precision-changed v.2: tanh of g -> tanh of e"];
    assert_eq!(lines(&told(&before, &after)), changed);
}

/// A use of another value that both programs have is the difference: not how the two are made.
#[test]
fn operands_that_both_programs_have_are_told_of_where_they_are_used() {
    let values = "e = f32[4] exponential(x); f = f32[4] tanh(x); g = f32[4] sine(x)";
    let of_operand = |operand: &str| {
        format!(
            "{values}; p = f32[4] multiply({operand}, g); t = f32[4] add(e, f); u = f32[4] add(t, g); ROOT r = f32[4] divide(p, u)"
        )
    };
    let told = ["precision-changed p: multiply of e, g -> multiply of f, g"];
    assert_eq!(of(&of_operand("e"), &of_operand("f")), told);
}

/// Compilers take a power of two out of a sum, and write squares as products and twice a value as a sum.
#[test]
fn powers_of_two_are_taken_out_of_sums() {
    let values = "e = f32[4] exponential(x); f = f32[4] tanh(x); g = f32[4] sine(x)";
    let sum = |by: &str, join: &str| {
        format!(
            "{values}; p = f32[4] multiply(e, {by}); q = f32[4] multiply(f, {by}); s = f32[4] {join}(p, q); ROOT r = f32[4] abs(s)"
        )
    };
    let product = |by: &str, join: &str| {
        format!("{values}; t = f32[4] {join}(e, f); s = f32[4] multiply(t, {by}); ROOT r = f32[4] abs(s)")
    };
    assert_eq!(of(&sum("{0.5}", "add"), &product("{0.5}", "add")), NOTHING);
    assert_eq!(of(&sum("{0.25}", "subtract"), &product("{0.25}", "subtract")), NOTHING);
    assert_ne!(told(&sum("{0.5}", "add"), &product("{0.5}", "subtract")), Difference::default());
    assert_eq!(
        of(&sum("{0.5}", "add"), &product("{0.501}", "add")),
        ["precision-changed s: multiply by 0.5 -> multiply by 0.501"]
    );
    assert_ne!(lines(&told(&sum("{0.501}", "add"), &product("{0.5}", "add"))), NOTHING);
    assert_eq!(
        lines(&told(&sum("{0.501}", "add"), &product("{0.501}", "add"))),
        ["precision-changed s: add -> multiply by 0.501"]
    );
    // One program computes a term once for two sums, the other once for each.
    let shared = |copy: &str| {
        format!(
            "{values}; p = f32[4] multiply(e, {{0.5}}); c = f32[4] multiply(f, {{0.5}}); d = f32[4] multiply(f, {{0.5}}); n = f32[4] \
             multiply(g, {{0.5}}); s = f32[4] add(p, c); t = f32[4] add(n, {copy}); u = f32[4] sqrt(s); ROOT r = f32[4] power(u, t)"
        )
    };
    assert_eq!(of(&shared("c"), &shared("d")), NOTHING);
    let twice = |step: &str| format!("{values}; s = f32[4] {step}; ROOT r = f32[4] sqrt(s)");
    assert_eq!(of(&twice("multiply(e, {2})"), &twice("add(e, e)")), NOTHING);
    assert_eq!(
        of(&twice("add(e, e)"), &twice("multiply(e, {2.001})")),
        ["precision-changed s: multiply by 2 -> multiply by 2.001"]
    );
    assert_eq!(of(&twice("power(e, {2})"), &twice("multiply(e, e)")), ["precision-changed s: power -> multiply"]);
    assert_ne!(lines(&told(&twice("power(e, {2})"), &twice("multiply(e, f)"))), NOTHING);
}

/// A maximum that is taken in parts, of numbers that were rounded before: attention with sinks.
#[test]
fn a_maximum_in_parts_rounds_nothing() {
    let text = |body: &str| {
        format!(
            "HloModule m\nlargest {{\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  ROOT c = bf16[] maximum(a, b)\n}}\n\
             ENTRY main {{\n  x = f32[2,4] parameter(0)\n  z = f32[2] parameter(1)\n  low = bf16[] constant(-inf)\n  e = f32[2,4] \
             exponential(x)\n  n = bf16[2,4] convert(e)\n  k = bf16[2] convert(z)\n{body}}}\n"
        )
    };
    let whole = text(
        "  i = bf16[2,1] reshape(k)\n  j = bf16[2,5] concatenate(n, i), dimensions={1}\n  ROOT r = bf16[2] reduce(j, low), \
         dimensions={1}, to_apply=largest\n",
    );
    let parts = |wide: &str| {
        text(&format!(
            "  p = bf16[2] reduce(n, low), dimensions={{1}}, to_apply=largest\n  q = f32[2] convert(p)\n{wide}  t = f32[2] \
             maximum(q, s)\n  ROOT r = bf16[2] convert(t)\n"
        ))
    };
    let same = of_texts(&whole, &parts("  s = f32[2] convert(k)\n"));
    assert_eq!((lines(&same), &same.unmatched), (Vec::new(), &[Vec::<String>::new(), Vec::new()]));
    // A sink that is rounded after it is compared is another way.
    let later = of_texts(&whole, &parts("  s = f32[2] copy(z)\n"));
    assert!(!lines(&later).is_empty(), "{later:?}");
}
