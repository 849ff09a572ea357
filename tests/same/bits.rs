//! Indices that are packed into the bits of one integer, integers that go through other types, and programs that part only beside places
//! where results change.

use std::time::Duration;

use crate::{Random, ask, differing, is_same, read, settings};
use ulpgate::same::{Settings, Verdict, compare};

const V5E: &str = "v5e/default/as-compiled";

/// A row's element by its index, and the same as TPUs compile it: row and index packed, and taken out of one integer.
const PICKED: &str = "HloModule m\nENTRY main {\n x = f32[8,512] parameter(0)\n i = s32[8] parameter(1)\n j = s32[8,1] reshape(i)\n\
    ROOT r = f32[8] gather(x, j), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, \
    operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}\n}\n";
const PACKED: &str = "HloModule m\nENTRY main {\n x = f32[8,512] parameter(0)\n i = s32[8] parameter(1)\n k = s32[8] iota(), iota_dimension=0\n\
    low = s32[8] constant({0,0,0,0,0,0,0,0})\n last = s32[8] constant({511,511,511,511,511,511,511,511})\n\
    by = s32[8] constant({3,3,3,3,3,3,3,3})\n below = s32[8] constant({7,7,7,7,7,7,7,7})\n\
    above = s32[8] constant({4088,4088,4088,4088,4088,4088,4088,4088})\n\
    a = s32[8] shift-left(k, low)\n c = s32[8] clamp(low, i, last)\n d = s32[8] shift-left(c, by)\n p = s32[8] or(a, d)\n\
    e = s32[8] and(below, p)\n f = s32[8] shift-right-logical(e, low)\n\
    g = s32[8] and(p, above)\n h = s32[8] shift-right-logical(g, by)\n\
    m = s32[8,1] reshape(f)\n n = s32[8,1] reshape(h)\n s = s32[8,2] concatenate(m, n), dimensions={1}\n\
    ROOT r = f32[8] gather(x, s), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, \
    index_vector_dim=1, slice_sizes={1,1}\n}\n";

#[test]
fn indices_that_are_packed_into_one_integer_are_taken_out_as_they_were() {
    assert!(is_same(&ask(PICKED, PACKED, V5E, &[])));
    assert_eq!(differing(&read(PICKED), &read(PACKED), V5E, 200, &mut Random(9)).1, 0);
    // A bit of the index is left out, is taken for the row's, reaches the sign, or is that of a number below 0.
    for (from, to) in [
        ("4088", "2040"),
        ("4088", "4087"),
        ("7,7,7", "15,7,7"),
        ("3,3,3", "2,3,3"),
        ("3,3,3", "3,29,3"),
        ("511,511", "511,512"),
        ("{0,0,0,0", "{0,0,-1,0"),
    ] {
        let other = PACKED.replace(from, to);
        assert_ne!(other, PACKED);
        assert!(!is_same(&ask(PICKED, &other, V5E, &[])), "{from} -> {to}");
    }
}

#[test]
fn what_is_kept_of_packed_integers_is_what_was_put_there() {
    let of = |body: &str| {
        format!(
            "HloModule m\nENTRY main {{\n i = s32[4] parameter(0)\n j = s32[4] parameter(1)\n zero = s32[4] constant({{0,0,0,0}})\n\
             seven = s32[4] constant({{7,7,7,7}})\n three = s32[4] constant({{3,3,3,3}})\n high = s32[4] constant({{56,56,56,56}})\n\
             five = s32[4] constant({{5,5,5,5}})\n by20 = s32[4] constant({{20,20,20,20}})\n \
             by30 = s32[4] constant({{30,30,30,30}})\n a = s32[4] clamp(zero, i, seven)\n b = s32[4] clamp(zero, j, seven)\n\
             s = s32[4] shift-left(b, three)\n {body}\n}}\n"
        )
    };
    let same = |one: &str, other: &str| {
        let (one, other) = (of(one), of(other));
        let same = is_same(&ask(&one, &other, V5E, &[]));
        if same {
            assert_eq!(differing(&read(&one), &read(&other), V5E, 100, &mut Random(3)).1, 0);
        }
        same
    };
    let b = "ROOT r = s32[4] copy(b)";
    assert!(same(
        b,
        "p = s32[4] or(s, a)\n q = s32[4] and(high, p)\n ROOT r = s32[4] shift-right-arithmetic(q, three)"
    ));
    // What lies lower falls out.
    assert!(same(b, "p = s32[4] or(s, a)\n ROOT r = s32[4] shift-right-logical(p, three)"));
    assert!(same("ROOT r = s32[4] copy(a)", "p = s32[4] or(s, a)\n ROOT r = s32[4] and(p, seven)"));
    assert!(same("ROOT r = s32[4] or(a, s)", "ROOT r = s32[4] or(s, a)"));
    assert!(same("ROOT r = s32[4] copy(five)", "p = s32[4] or(s, five)\n ROOT r = s32[4] and(p, seven)"));
    // Two integers in one place, and one that is cut.
    assert!(!same(b, "p = s32[4] or(b, a)\n ROOT r = s32[4] and(p, seven)"));
    assert!(!same(b, "ROOT r = s32[4] and(b, five)"));
    assert!(!same(b, "ROOT r = s32[4] shift-right-logical(s, five)"));
    // Shifted in 32 bits and in 64.
    let narrow = |by: usize| format!("t = s32[4] shift-left(b, by{by})\n ROOT r = s64[4] convert(t)");
    let wide =
        |by: usize| format!("w = s64[4] convert(b)\n v = s64[4] convert(by{by})\n ROOT r = s64[4] shift-left(w, v)");
    assert!(same(&narrow(20), &wide(20)) && !same(&narrow(30), &wide(30)));
    let unsigned = |text: String| {
        let text = text.replace("s64", "u64").replace("t = s32", "t = u32").replace("by", "v").replace("(b", "(u");
        format!(
            "k = u32[4] parameter(2)\n none = u32[4] constant({{0,0,0,0}})\n most = u32[4] constant({{7,7,7,7}})\n \
             u = u32[4] clamp(none, k, most)\n v20 = u32[4] constant({{20,20,20,20}})\n \
             v30 = u32[4] constant({{30,30,30,30}})\n {text}"
        )
    };
    assert!(same(&unsigned(narrow(20)), &unsigned(wide(20))));
    assert!(!same(&unsigned(narrow(30)), &unsigned(wide(30))));
    // Without a clamp an integer may be of any size.
    assert!(!same(
        "ROOT r = s32[4] copy(i)",
        "t = s32[4] shift-left(i, three)\n ROOT r = s32[4] shift-right-logical(t, three)"
    ));
}

#[test]
fn predicates_part_beside_the_numbers_where_they_change() {
    let text = |quotient: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[8,4] parameter(0)\n y = f32[8,4] parameter(1)\n a = f32[] constant(0.8)\n\
             b = f32[] constant(1.25)\n c = f32[8,4] broadcast(a), dimensions={{}}\n d = f32[8,4] broadcast(b), dimensions={{}}\n\
             q = f32[8,4] {quotient}\n ROOT r = pred[8,4] compare(q, y), direction=GT\n}}\n"
        )
    };
    let (divided, multiplied) = (text("divide(x, c)"), text("multiply(x, d)"));
    let answer = ask(&divided, &multiplied, "cpu/default/as-compiled", &[]);
    assert!(matches!(answer.verdict, Verdict::Part(_)), "{answer:?}");
    assert!(is_same(&ask(&divided, &divided, "cpu/default/as-compiled", &[])));
}

/// A product with a one-hot mask is not a choice: 0 times the score of a masked token, -inf, is a NaN. Among scores with
/// infinities of both signs, or many of one, every row is a NaN in both programs.
#[test]
fn a_masked_token_parts_a_product_from_a_choice() {
    let text = |score: &str| {
        format!(
            "HloModule m\nadd {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }}\n\
             maximum {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }}\n\
             ENTRY main {{\n x = f32[4,512] parameter(0)\n y = s32[4] parameter(1)\n least = f32[] constant(-inf)\n \
             zero = f32[] constant(0)\n zeros = f32[4,512] broadcast(zero), dimensions={{}}\n \
             top = f32[4] reduce(x, least), dimensions={{1}}, to_apply=maximum\n \
             tops = f32[4,512] broadcast(top), dimensions={{0}}\n away = f32[4,512] subtract(x, tops)\n \
             weights = f32[4,512] exponential(away)\n sum = f32[4] reduce(weights, zero), dimensions={{1}}, to_apply=add\n \
             log = f32[4] log(sum)\n logs = f32[4,512] broadcast(log), dimensions={{0}}\n \
             scores = f32[4,512] subtract(away, logs)\n tokens = s32[4,512] iota(), iota_dimension=1\n \
             labels = s32[4,512] broadcast(y), dimensions={{0}}\n hot = pred[4,512] compare(tokens, labels), direction=EQ\n \
             {score}\n each = f32[4] reduce(picked, zero), dimensions={{1}}, to_apply=add\n \
             ROOT loss = f32[] reduce(each, zero), dimensions={{0}}, to_apply=add\n}}\n"
        )
    };
    let chosen = text("picked = f32[4,512] select(hot, scores, zeros)");
    let multiplied = text("ones = f32[4,512] convert(hot)\n picked = f32[4,512] multiply(ones, scores)");
    let answer = ask(&multiplied, &chosen, "v5e/default/as-compiled", &[]);
    assert!(matches!(answer.verdict, Verdict::Part(_)), "{answer:?}");
}

/// `max(c, u + c)` is `max(c, u)` for a uniform u of random bits and a small c, and for nothing else.
#[test]
fn a_uniform_number_is_raised_by_what_is_small_alone() {
    let text = |one: &str, least: &str, from: &str, drawn: &str| {
        format!(
            "HloModule m\nENTRY main {{\n k = u32[64] parameter(0)\n y = f32[64] parameter(1)\n nine = u32[] constant(9)\n \
             nines = u32[64] broadcast(nine), dimensions={{}}\n bits = u32[64] shift-right-logical(k, nines)\n \
             one = u32[] constant({one})\n ones = u32[64] broadcast(one), dimensions={{}}\n filled = u32[64] or(bits, ones)\n \
             x = f32[64] bitcast-convert(filled)\n minus = f32[] constant(-1)\n less = f32[64] broadcast(minus), dimensions={{}}\n \
             u = f32[64] add({from}, less)\n c = f32[] constant({least})\n cs = f32[64] broadcast(c), dimensions={{}}\n \
             raised = f32[64] add(u, cs)\n m = f32[64] maximum(cs, {drawn})\n ROOT r = f32[64] negate(m)\n}}\n"
        )
    };
    let one = "1065353216";
    let same = |one: &str, least: &str, from: &str| {
        let [with, without] = ["raised", "u"].map(|drawn| text(one, least, from, drawn));
        is_same(&ask(&with, &without, "v5e/default/as-compiled", &[]))
    };
    assert!(same(one, "1.17549435e-38", "x"));
    assert!(same(one, "1e-20", "x"));
    // A sum that changes the fraction parts; of any number and of other exponents nothing is known.
    for (one, least, from) in [(one, "1e-3", "x"), (one, "1.17549435e-38", "y"), ("1056964608", "1e-20", "x")] {
        assert!(!same(one, least, from), "{one} {least} {from}");
    }
}

/// The same of bf16, as `jax.random.gumbel` draws it: of eight random bits seven fill the mantissa, and the compiled file computes in f32.
#[test]
fn a_uniform_number_of_bf16_is_raised_by_what_is_small_alone() {
    let text = |bits: &str, least: &str, drawn: &str| {
        format!(
            "HloModule m\nENTRY main {{\n k = u32[64] parameter(0)\n w = u16[64] parameter(1)\n byte = u8[64] convert(k)\n \
             wide = u16[64] convert(byte)\n one = u16[] constant(1)\n ones = u16[64] broadcast(one), dimensions={{}}\n \
             half = u16[64] shift-right-logical(wide, ones)\n halves = u16[64] shift-right-logical(w, ones)\n \
             exponent = u16[] constant(16256)\n exponents = u16[64] broadcast(exponent), dimensions={{}}\n \
             filled = u16[64] or({bits}, exponents)\n x = bf16[64] bitcast-convert(filled)\n minus = bf16[] constant(-1)\n \
             less = bf16[64] broadcast(minus), dimensions={{}}\n c = bf16[] constant({least})\n \
             cs = bf16[64] broadcast(c), dimensions={{}}\n {drawn}\n}}\n"
        )
    };
    let narrow = "u = bf16[64] add(x, less)\n raised = bf16[64] add(u, cs)\n m = bf16[64] maximum(cs, raised)\n ROOT r = bf16[64] negate(m)";
    let wide = "x32 = f32[64] convert(x)\n less32 = f32[64] convert(less)\n u = f32[64] add(x32, less32)\n \
                n = f32[64] reduce-precision(u), exponent_bits=8, mantissa_bits=7\n c32 = f32[64] convert(cs)\n \
                m = f32[64] maximum(c32, n)\n b = bf16[64] convert(m)\n ROOT r = bf16[64] negate(b)";
    let same = |bits: &str, least: &str| {
        let (one, other) = (text(bits, least, narrow), text(bits, least, wide));
        let same = is_same(&ask(&one, &other, V5E, &[]));
        if same {
            assert_eq!(differing(&read(&one), &read(&other), V5E, 100, &mut Random(5)).1, 0);
        }
        same
    };
    assert!(same("half", "1.17549435e-38"));
    // A sum that changes the fraction.
    assert!(!same("half", "1e-3"));
    // Where bits may reach the exponent, all values decide: a number of bf16 less 1 is 0 or at least 2^-8.
    assert!(same("halves", "1.17549435e-38"));
}

/// A conversion to eight bits leaves a number below 256, and none is below less.
#[test]
fn a_byte_is_below_256() {
    let text = |answer: &str| {
        format!(
            "HloModule m\nENTRY main {{\n k = u32[64] parameter(0)\n byte = u8[64] convert(k)\n w = u16[64] convert(byte)\n \
             t = pred[] constant(true)\n ts = pred[64] broadcast(t), dimensions={{}}\n {answer}\n}}\n"
        )
    };
    let below = |limit: &str| {
        text(&format!(
            "c = u16[] constant({limit})\n cs = u16[64] broadcast(c), dimensions={{}}\n ROOT r = pred[64] compare(w, cs), direction=LT"
        ))
    };
    let always = text("ROOT r = pred[64] copy(ts)");
    assert!(is_same(&ask(&below("256"), &always, V5E, &[])));
    assert!(!is_same(&ask(&below("255"), &always, V5E, &[])) && !is_same(&ask(&below("128"), &always, V5E, &[])));
}

/// An integer goes through a type unharmed exactly where that type has all numbers of its own.
#[test]
fn integers_keep_their_value_in_types_that_have_it() {
    let text = |from: &str, middle: &str, read: &str| {
        format!(
            "HloModule m, is_scheduled=true\n\nENTRY e {{\n  x = {from}[1] parameter(0)\n{middle}  \
             ROOT r = s64[1] convert({read})\n}}\n"
        )
    };
    for (from, between, has_all) in
        [("u8", "s8", false), ("u32", "s32", false), ("s16", "u32", false), ("u16", "s32", true), ("s8", "s16", true)]
    {
        let through = text(from, &format!("  b = {between}[1] convert(x)\n"), "b");
        // An input that parts them is not looked for.
        let settings = Settings { trials: 1, patience: Duration::ZERO, ..settings(V5E) };
        let answer = compare(&read(&text(from, "", "x")), &read(&through), &settings).unwrap();
        assert_eq!(is_same(&answer), has_all, "{from} by {between}");
    }
}
