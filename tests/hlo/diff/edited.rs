//! One file against itself with an edit that the expressions do not see.

use ulpgate::diff::{ChangeKind, Difference, difference};

use super::{import, kinds, lines, of_texts, replaced, text};

/// Integers are left to compilers, but not where one file is the other with an edit.
#[test]
fn edited_integers_are_told_of() {
    let before = text("cpu/affine_greedy.before");
    let edited = replaced(&before, "constant.5 = s32[] constant(0)", "constant.5 = s32[] constant(7)");
    assert_eq!(
        lines(&of_texts(&before, &edited)),
        ["operation-changed jit_affine_greedy_.6/constant.5: constant 0 -> constant 7"]
    );
    let scanned = text("cpu/top_p.before");
    let edited = replaced(&scanned, "constant.10 = f32[] constant(0)", "constant.10 = f32[] constant(17)");
    assert_eq!(kinds(&of_texts(&scanned, &edited)), [ChangeKind::PrecisionChanged]);
}

/// An edit of one operand leaves every other operation in its place.
#[test]
fn operands_of_integers_that_changed_places_are_told_of() {
    let before = text("tpu/v4/cross_entropy.excess_on");
    let of = |from: &str, to: &str| lines(&of_texts(&before, &replaced(&before, from, to)));
    let at = |name: &str| format!("compare_select_fusion.1/{name}");
    let op_name = "jit(cross_entropy)/jit(take_along_axis)";
    assert_eq!(
        of("compare(%bitcast.4, %broadcast.47)", "compare(%broadcast.47, %bitcast.4)"),
        [format!(
            "operation-changed {} ({op_name}/lt): compare LT of bitcast.4, 0 -> compare LT of 0, bitcast.4",
            at("lt.6")
        )]
    );
    assert_eq!(
        of("select(%lt.6, %add.8, %bitcast.4)", "select(%lt.6, %bitcast.4, %add.8)"),
        [format!(
            "operation-changed {} ({op_name}/select_n): select of lt.6, add.8, bitcast.4 -> select of lt.6, \
             bitcast.4, add.8",
            at("select_n.9")
        )]
    );
    // The same comparison read from the other side, other names, a sum of integers the other way round.
    let turned = "compare(%broadcast.47, %bitcast.4), direction=GT";
    assert_eq!(of("compare(%bitcast.4, %broadcast.47), direction=LT", turned), [""; 0]);
    assert_eq!(of("%lt.6", "%less"), [""; 0]);
    assert_eq!(of("add(%bitcast.4, %broadcast.46)", "add(%broadcast.46, %bitcast.4)"), [""; 0]);
}

/// Equal keys fall otherwise, unless the comparator orders them by place.
#[test]
fn a_sort_that_is_no_longer_stable_is_told_of() {
    let stable = text("cpu/top_k.excess_on");
    let found = of_texts(&stable, &replaced(&stable, "is_stable=true, ", ""));
    assert_eq!(lines(&found), ["operation-changed sort (jit(top_k)/top_k): stable sort -> sort"]);
    let (equal, earlier) = ("  e = pred[] compare(f, s), direction=EQ\n", "  i = pred[] compare(c, d), direction=LT\n");
    let pinned = format!(
        "HloModule m\nby {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  \
         d = s32[] parameter(3)\n  f = pred[] compare(a, b), direction=GT\n  s = pred[] compare(b, a), \
         direction=GT\n{equal}{earlier}  ROOT r = pred[] select(e, i, f)\n}}\nENTRY main {{\n  \
         x = f32[8] parameter(0)\n  n = s32[8] iota(), iota_dimension=0\n  \
         ROOT t = (f32[8], s32[8]) sort(x, n), dimensions={{0}}, is_stable=true, to_apply=by\n}}\n"
    );
    assert_eq!(of_texts(&pinned, &replaced(&pinned, "is_stable=true, ", "")), Difference::default());
}

/// As compilers write `k - 1`.
#[test]
fn subtracting_an_integer_is_adding_its_negative() {
    let of = |last: &str| {
        format!(
            "HloModule m\nsum {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, b)\n}}\nENTRY \
             main {{\n  x = f32[4,8] parameter(0)\n  z = f32[] constant(0)\n  y = f32[4,8] broadcast(z), dimensions={{}}\n  \
             g = pred[4,8] compare(x, y), direction=GT\n  n = s32[4,8] convert(g)\n  o = s32[] constant(0)\n  k = s32[4] \
             reduce(n, o), dimensions={{1}}, to_apply=sum\n{last}}}\n"
        )
    };
    let before =
        of("  i = s32[] constant(1)\n  j = s32[4] broadcast(i), dimensions={}\n  ROOT r = s32[4] subtract(k, j)\n");
    let after = "  i = s32[] constant(-1)\n  j = s32[4] broadcast(i), dimensions={}\n  r = s32[4] add(k, j)\n  ROOT q = \
                 s32[4] copy(r)\n";
    assert_eq!(lines(&of_texts(&before, &of(after))), [""; 0]);
    let doubled = after.replace("add(k, j)", "multiply(k, j)");
    assert_eq!(kinds(&of_texts(&before, &of(&doubled))), [ChangeKind::OperationChanged]);
}

/// A chain of operations, 400 of which are exchanged: far more than a comparison could settle one by one.
#[test]
fn every_edit_of_a_long_program_is_told_of() {
    let chain = |edited: &str| {
        let mut text =
            "HloModule chain\nENTRY main {\n  x.0 = f32[8] parameter(0)\n  x.1 = f32[8] parameter(1)\n".to_string();
        for at in 2..4000 {
            let opcode = match at % 10 {
                0 => edited,
                1..5 => "multiply",
                _ => "subtract",
            };
            text += &format!("  x.{at} = f32[8] {opcode}(x.{}, x.{})\n", at - 1, at - 2);
        }
        text + "  ROOT x.4000 = f32[8] negate(x.3999)\n}\n"
    };
    let found = of_texts(&chain("add"), &chain("divide"));
    let expected: Vec<String> = (1..400).map(|at| format!("precision-changed x.{}: add -> divide", 10 * at)).collect();
    assert_eq!(lines(&found), expected);
    assert_eq!(found.unmatched, [Vec::<String>::new(), Vec::new()]);
}

/// A value that was added takes nobody's place: names pair as many values as there are on both sides.
#[test]
fn what_was_added_is_no_counterpart() {
    let program = |lines: &str| format!("HloModule m\nENTRY main {{\n  x = f32[8] parameter(0)\n{lines}}}\n");
    let before =
        program("  w.1 = f32[8] logistic(x)\n  v.1 = f32[8] exponential(w.1)\n  ROOT v.2 = f32[8] tanh(v.1)\n");
    let after = program(
        "  w.1 = f32[8] sqrt(x)\n  v.1 = f32[8] log-plus-one(w.1)\n  v.2 = f32[8] exponential(v.1)\n  \
         ROOT v.3 = f32[8] tanh(v.2)\n",
    );
    let found = of_texts(&before, &after);
    assert_eq!(lines(&found), ["precision-changed w.1: logistic -> sqrt"]);
    assert_eq!(found.unmatched, [Vec::<String>::new(), ["v.1", "v.2"].map(str::to_string).to_vec()]);
}

/// A rounding to bf16 before one to fp8 moves numbers that lie near the middle between two of fp8; one to f32 before it,
/// which every operation ends with, is none of its own, nor is one of what is bf16 already.
#[test]
fn a_rounding_before_a_narrower_one_is_told_of() {
    let quantised = |rounded: &str, read: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[8] parameter(0)\n  k = bf16[8] parameter(1)\n  w = f32[8] convert(k)\n  \
             p = f32[8] multiply(x, w)\n{rounded}  ROOT q = f8e4m3fn[8] convert({read})\n}}\n"
        )
    };
    let (plain, twice) =
        (quantised("", "p"), quantised("  r = f32[8] reduce-precision(p), exponent_bits=8, mantissa_bits=7\n", "r"));
    assert_eq!(
        lines(&of_texts(&twice, &plain)),
        ["rounding-removed p: bf16, then f8e4m3fn for result 0 -> f8e4m3fn for result 0"]
    );
    assert_eq!(kinds(&of_texts(&plain, &twice)), [ChangeKind::RoundingAdded]);
    let stored = quantised("  b = bf16[8] convert(p)\n", "b");
    assert_eq!(lines(&of_texts(&twice, &stored)), [""; 0]);
    let half = quantised("  h = f16[8] convert(p)\n", "h");
    assert_eq!(
        lines(&of_texts(&half, &twice)),
        ["rounding-added p: f16, then f8e4m3fn for result 0 -> bf16, then f8e4m3fn for result 0"]
    );
    // Of a value that is bf16 no rounding to bf16 is one.
    let moved = |read: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  k = bf16[8] parameter(0)\n  w = f32[8] convert(k)\n  r = f32[8] \
             reduce-precision(w), exponent_bits=8, mantissa_bits=7\n  ROOT q = f8e4m3fn[8] convert({read})\n}}\n"
        )
    };
    assert_eq!(lines(&of_texts(&moved("r"), &moved("w"))), [""; 0]);
}

/// An operation in bf16 ends with a rounding to bf16, whatever picks among its results before they are rounded again.
#[test]
fn the_rounding_that_ends_an_operation_is_one_before_a_narrower() {
    const LARGER: &str =
        "larger {\n  a = TYPE[] parameter(0)\n  b = TYPE[] parameter(1)\n  ROOT m = TYPE[] maximum(a, b)\n}\n";
    let quotient = |dtype: &str, picks: &str| {
        let text = format!(
            "HloModule m\n{LARGER}ENTRY main {{\n  x = bf16[8] parameter(0)\n  y = bf16[8] parameter(1)\n  p = pred[8] \
             parameter(2)\n  a = TYPE[8] convert(x)\n  b = TYPE[8] convert(y)\n  l = TYPE[] constant(-448)\n  h = TYPE[] \
             constant(448)\n  low = TYPE[8] broadcast(l), dimensions={{}}\n  high = TYPE[8] broadcast(h), dimensions={{}}\n  \
             d = TYPE[8] divide(a, b)\n{picks}}}\n"
        );
        text.replace("TYPE", dtype)
    };
    let clip = "  m = TYPE[8] maximum(low, d)\n  c = TYPE[8] minimum(high, m)\n  ROOT q = f8e4m3fn[8] convert(c)\n";
    let clamp = "  c = TYPE[8] clamp(low, d, high)\n  ROOT q = f8e4m3fn[8] convert(c)\n";
    let select =
        "  c = TYPE[8] select(p, d, low)\n  s = TYPE[4] slice(c), slice={[0:4]}\n  ROOT q = f8e4m3fn[4] convert(s)\n";
    let largest = "  n = TYPE[] constant(-inf)\n  c = TYPE[] reduce(d, n), dimensions={0}, to_apply=larger\n  \
                   ROOT q = f8e4m3fn[] convert(c)\n";
    for (one, other) in [(clip, clip), (clip, clamp), (select, select), (largest, largest)] {
        let found = of_texts(&quotient("bf16", one), &quotient("f32", other));
        assert_eq!(kinds(&found), [ChangeKind::RoundingRemoved], "{one}{other}");
        assert!(lines(&found)[0].contains("d: bf16, then f8e4m3fn for "), "{:?}", lines(&found));
    }
    // One that is written down is the same.
    let rounded = "  r = f32[8] reduce-precision(d), exponent_bits=8, mantissa_bits=7\n";
    let written = quotient("f32", &format!("{rounded}{}", clip.replace("d)", "r)")));
    assert_eq!(lines(&of_texts(&quotient("bf16", clip), &written)), [""; 0]);
    // What only picks or scales by a power of two rounds nothing.
    let moved = |dtype: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = bf16[8] parameter(0)\n  a = {dtype}[8] convert(x)\n  k = {dtype}[] constant(0.5)\n  \
             s = {dtype}[8] broadcast(k), dimensions={{}}\n  h = {dtype}[8] multiply(a, s)\n  ROOT q = f8e4m3fn[8] convert(h)\n}}\n"
        )
    };
    assert_eq!(lines(&of_texts(&moved("bf16"), &moved("f32"))), [""; 0]);
}

/// A program of one float result, and of a second one that these lines make of integers `v` and `w`.
fn of_integers(last: &str) -> String {
    format!(
        "HloModule m\nadds {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}}\n\
         most {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] maximum(a, b)\n}}\n\
         ENTRY main {{\n  x = f32[8] parameter(0)\n  v = s32[8] parameter(1)\n  w = s32[2] parameter(2)\n  \
         at = s32[2,1] constant({{{{1}},{{3}}}})\n  {last}\n  e = f32[8] exponential(x)\n  \
         ROOT t = (f32[8], s32[8]) tuple(e, s)\n}}\n"
    )
}

/// Another operation on integers, and the same one with another region, change no float and are told of.
#[test]
fn integers_that_no_float_depends_on_are_compared() {
    let scatter = |step: &str| {
        of_integers(&format!(
            "s = s32[8] scatter(v, at, w), update_window_dims={{}}, inserted_window_dims={{0}}, \
             scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={step}"
        ))
    };
    assert_eq!(lines(&of_texts(&scatter("adds"), &scatter("adds"))), [""; 0]);
    let found = of_texts(&scatter("adds"), &scatter("most"));
    assert_eq!(lines(&found), ["operation-changed s: scatter -> another scatter"]);
    let pair = |op: &str| of_integers(&format!("s = s32[8] {op}(v, v)"));
    assert_eq!(lines(&of_texts(&pair("add"), &pair("multiply"))), ["operation-changed s: add -> multiply"]);
    assert_eq!(lines(&of_texts(&pair("add"), &pair("add"))), [""; 0]);
}

fn of_floats(operation: &str) -> String {
    format!(
        "HloModule m\nENTRY main {{\n  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n  \
         g = pred[8] compare(x, y), direction=LT\n  s = f32[8] {operation}\n  e = f32[8] exponential(s)\n  \
         ROOT t = (f32[8], pred[8]) tuple(e, g)\n}}\n"
    )
}

/// Arithmetic that becomes another operation, and the other way round.
#[test]
fn arithmetic_that_becomes_a_choice_is_told_of() {
    let of = |from: &str, to: &str| lines(&of_texts(&of_floats(from), &of_floats(to)));
    assert_eq!(of("add(x, y)", "select(g, x, y)"), ["operation-changed s: add -> select"]);
    assert_eq!(of("select(g, x, y)", "add(x, y)"), ["operation-changed s: select -> add"]);
    assert_eq!(of("add(x, y)", "add(y, x)"), [""; 0]);
}

/// Programs that give results of other dims are not two forms of one, of as many elements or not.
#[test]
fn results_of_other_dims_are_refused() {
    let of = |dims: &str| import(&of_integers("s = s32[8] add(v, v)").replace("[8]", dims));
    for (before, after) in [("[2,4]", "[4,2]"), ("[2,4]", "[8]"), ("[8]", "[9]")] {
        let refused = difference(&of(before), &of(after), None).unwrap_err().to_string();
        assert!(refused.contains(&format!("result 0 is f32{before} in BEFORE and f32{after} in AFTER")), "{refused}");
    }
    assert!(difference(&of("[2,4]"), &of("[2,4]"), None).is_ok());
}

/// A constant in two precisions that becomes one was put together; one that becomes two is told of, and each sign by itself
/// where the sign counts.
#[test]
fn constants_in_other_precisions_are_told_of() {
    let two = "HloModule m\nENTRY main {\n  x = f32[4] parameter(0)\n  c = f32[] constant(0.1)\n  \
               d = f32[] constant(0.10009765625)\n  cb = f32[4] broadcast(c), dimensions={}\n  \
               db = f32[4] broadcast(d), dimensions={}\n  p = f32[4] multiply(x, cb)\n  q = f32[4] multiply(x, db)\n  \
               e = f32[4] exponential(p)\n  r = f32[4] tanh(q)\n  ROOT t = (f32[4], f32[4]) tuple(e, r)\n}\n";
    let one = replaced(two, "multiply(x, db)", "multiply(x, cb)");
    let other = replaced(two, "multiply(x, cb)", "multiply(x, db)");
    assert_eq!(lines(&of_texts(two, &one)), [""; 0]);
    assert_eq!(lines(&of_texts(two, &other)), [""; 0]);
    assert_eq!(lines(&of_texts(&one, two)), ["precision-changed cb: 0.1 -> 0.1 and 0.100097656"]);
    assert_eq!(lines(&of_texts(&one, &other)), ["precision-changed cb: 0.1 -> 0.100097656"]);
    let picked = "HloModule m\nENTRY main {\n  x = f32[8] parameter(0)\n  g = pred[8] parameter(1)\n  \
                  k = f32[] constant(-0.1)\n  kb = f32[8] broadcast(k), dimensions={}\n  \
                  s = f32[8] select(g, x, kb)\n  ROOT p = f32[8] exponential(s)\n}\n";
    let rounded = replaced(picked, "-0.1)", "-0.10009765625)");
    assert_eq!(lines(&of_texts(picked, &rounded)), ["precision-changed kb: -0.1 -> -0.100097656"]);
}

/// A u64 above the largest i64 is no negative number.
#[test]
fn large_integers_are_no_negative_numbers() {
    let of = |lines: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[2] parameter(0)\n  {lines}\n  ROOT p = f32[2] multiply(x, c)\n}}\n"
        )
    };
    let large = of("u = u64[2] constant({18446744073709551615, 3})\n  c = f32[2] convert(u)");
    assert_eq!(lines(&of_texts(&large, &large)), [""; 0]);
    assert_ne!(lines(&of_texts(&large, &of("c = f32[2] constant({-1, 3})"))), [""; 0]);
}
