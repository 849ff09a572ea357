//! Top-k by one integer a float and its place: the key that compilers of today sort.

use super::{ask, is_same};

/// A top-k of eight bf16 as JAX writes it.
const TOP_K: &str = "HloModule before\n\nENTRY e {\n  x = bf16[2,8] parameter(0)\n  t = (bf16[2,3], s32[2,3]) topk(x), k=3, largest=true\n  \
    v = bf16[2,3] get-tuple-element(t), index=0\n  i = s32[2,3] get-tuple-element(t), index=1\n  \
    ROOT r = (bf16[2,3], s32[2,3]) tuple(v, i)\n}\n";

/// The key of each element: its bits in the order of floats, and below them its place, inverted.
const KEYS: &str = "  x = bf16[2,8] parameter(0)\n  wide = f32[2,8] convert(x)\n  bits = s32[2,8] bitcast-convert(wide)\n  \
    c31 = s32[] constant(31)\n  b31 = s32[2,8] broadcast(c31), dimensions={}\n  cm = s32[] constant(2147483647)\n  \
    bm = s32[2,8] broadcast(cm), dimensions={}\n  magnitude = s32[2,8] and(bits, bm)\n  \
    spread = s32[2,8] shift-right-arithmetic(bits, b31)\n  ordered = s32[2,8] xor(magnitude, spread)\n  \
    cl = s32[] constant(65535)\n  bl = s32[2,8] broadcast(cl), dimensions={}\n  high = s32[2,8] or(ordered, bl)\n  \
    place = s32[2,8] iota(), iota_dimension=1\n  key = s32[2,8] xor(high, place)\n";

/// The three largest keys.
const SORT: &str = "  sorted = s32[2,8] sort(key), dimensions={1}, to_apply=larger\n  \
    best = s32[2,3] slice(sorted), slice={[0:2], [0:3]}\n";
const CALL: &str = "  best = s32[2,3] custom-call(key), custom_call_target=\"TopKBatchMajorSmallK\"\n";

/// The floats and the places of keys.
const TAKEN_OUT: &str = "  dm = s32[2,3] broadcast(cm), dimensions={}\n  d31 = s32[2,3] broadcast(c31), dimensions={}\n  \
    m = s32[2,3] and(best, dm)\n  s = s32[2,3] shift-right-arithmetic(best, d31)\n  o = s32[2,3] xor(m, s)\n  \
    ch = s32[] constant(-65536)\n  dh = s32[2,3] broadcast(ch), dimensions={}\n  h = s32[2,3] and(o, dh)\n  \
    w = f32[2,3] bitcast-convert(h)\n  v = bf16[2,3] convert(w)\n  dl = s32[2,3] broadcast(cl), dimensions={}\n  \
    n = s32[2,3] xor(best, dl)\n  i = s32[2,3] and(n, dl)\n  ROOT r = (bf16[2,3], s32[2,3]) tuple(v, i)\n";

fn compiled(keys: &str, ranked: &str, taken_out: &str) -> String {
    let larger = "larger {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=GT\n}\n";
    format!("HloModule after, is_scheduled=true\n\n{larger}\nENTRY e {{\n{keys}{ranked}{taken_out}}}\n")
}

#[track_caller]
fn is_top_k(text: &str) -> bool {
    is_same(&ask(TOP_K, text, "v5e/default/as-compiled", &[]))
}

#[test]
fn top_k_by_packed_keys_is_top_k() {
    for ranked in [SORT, CALL] {
        assert!(is_top_k(&compiled(KEYS, ranked, TAKEN_OUT)), "{ranked}");
    }
    // The key inverted, and the smallest first.
    let inverted =
        KEYS.replace("  key = s32[2,8] xor(high, place)", "  k = s32[2,8] xor(high, place)\n  key = s32[2,8] not(k)");
    let smallest =
        SORT.replace("best = s32[2,3] slice(sorted)", "b = s32[2,3] slice(sorted)") + "  best = s32[2,3] not(b)\n";
    let text = compiled(&inverted, &smallest, TAKEN_OUT).replace("direction=GT", "direction=LT");
    assert!(is_top_k(&text), "{text}");
}

#[test]
fn other_keys_are_no_top_k() {
    // Equal floats come from the last place on: the place itself stands below the float.
    let last_first = KEYS
        .replace("cl = s32[] constant(65535)", "ck = s32[] constant(-65536)")
        .replace("broadcast(cl)", "broadcast(ck)")
        .replace("or(ordered, bl)", "and(ordered, bl)");
    let taken_out = TAKEN_OUT
        .replace("  ch =", "  cl = s32[] constant(65535)\n  ch =")
        .replace("n = s32[2,3] xor(best, dl)", "n = s32[2,3] copy(best)");
    let text = compiled(&last_first, SORT, &taken_out);
    assert!(!is_top_k(&text), "{text}");
    // Negative floats in the order of their magnitudes.
    let unspread = KEYS
        .replace("ordered = s32[2,8] xor(magnitude, spread)", "ordered = s32[2,8] xor(bits, place)")
        .replace("  place = s32[2,8] iota(), iota_dimension=1\n", "")
        .replace("  ordered", "  place = s32[2,8] iota(), iota_dimension=1\n  ordered");
    assert!(!is_top_k(&compiled(&unspread, SORT, TAKEN_OUT)), "{unspread}");
    // The smallest first.
    assert!(!is_top_k(&compiled(KEYS, SORT, TAKEN_OUT).replace("direction=GT", "direction=LT")));
    // One place in the stead of another.
    assert!(!is_top_k(&compiled(KEYS, SORT, TAKEN_OUT).replace("slice={[0:2], [0:3]}", "slice={[0:2], [1:4]}")));
}
