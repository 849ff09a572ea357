//! Pairs with known answers, both ways.

use std::sync::Arc;

use ulpgate::ir::Tiling;
use ulpgate::same::{Answer, Assumption, Settings, Verdict, compare};

use crate::{Random, ask, differing, is_same, read, settings};

const V5E: &str = "v5e/default/as-compiled+acc=tiled";
const V6E: &str = "v6e/default/as-compiled+acc=tiled";
const CPU: &str = "cpu/default/as-compiled";

const REGIONS: &str = "\
    add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
    add16 { a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n ROOT r = bf16[] add(a, b) }\n\
    maximum16 { a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n ROOT r = bf16[] maximum(a, b) }\n\
    rounded { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = bf16[] convert(a)\n d = bf16[] convert(b)\n \
      e = f32[] convert(c)\n f = f32[] convert(d)\n m = f32[] maximum(e, f)\n n = bf16[] convert(m)\n \
      ROOT r = f32[] convert(n) }\n\
    maximum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n\
    descending { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n \
      ROOT r = pred[] compare(a, b), direction=GT, type=TOTALORDER }\n";

/// A program whose entry this is.
fn program(body: &str) -> String {
    format!("HloModule m\n{REGIONS}ENTRY main {{\n{body}\n}}\n")
}

fn answer(one: &str, other: &str, mode: &str) -> Answer {
    ask(&program(one), &program(other), mode, &[])
}

/// The place in which two programs part, in words.
fn part(answer: &Answer) -> String {
    let Verdict::Part(parting) = &answer.verdict else { panic!("{answer:?}") };
    assert_ne!(parting.result.bits[0], parting.result.bits[1]);
    parting.meeting.as_ref().unwrap().to_string()
}

#[test]
fn layout_moves_and_commuted_operands_change_no_bit() {
    let plain = "x = f32[4,8] parameter(0)\n y = f32[8] parameter(1)\n b = f32[4,8] broadcast(y), dimensions={1}\n\
        s = f32[4,8] add(x, b)\n m = f32[4,8] multiply(s, x)\n ROOT r = f32[4,8] subtract(m, b)";
    let moved = "x = f32[4,8] parameter(0)\n y = f32[8] parameter(1)\n t = f32[8,4] transpose(x), dimensions={1,0}\n\
        b = f32[8,4] broadcast(y), dimensions={0}\n s = f32[8,4] add(b, t)\n dead = f32[8,4] exponential(s)\n\
        m = f32[8,4] multiply(t, s)\n n = f32[8,4] negate(b)\n d = f32[8,4] add(n, m)\n\
        ROOT r = f32[4,8] transpose(d), dimensions={1,0}";
    for mode in [V5E, V6E, CPU, "xla-cpu/default/as-compiled"] {
        assert!(is_same(&answer(plain, moved, mode)), "{mode}");
    }
}

#[test]
fn a_cast_parts() {
    let with = "x = f32[64] parameter(0)\n e = f32[64] exponential(x)\n c = bf16[64] convert(e)\n w = f32[64] convert(c)\n\
        ROOT r = f32[64] multiply(w, x)";
    let without = "x = f32[64] parameter(0)\n e = f32[64] exponential(x)\n ROOT r = f32[64] multiply(e, x)";
    let found = part(&answer(with, without, V5E));
    assert!(found.contains("a cast to bf16 that the second program does not have"), "{found}");
}

/// Dots that differ in the precision of one operand alone.
#[test]
fn a_parting_names_both_precisions() {
    let of = |precision: &str| {
        format!(
            "x = f32[8,8] parameter(0)\n ROOT r = f32[8,8] dot(x, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, \
             operand_precision={{{precision}}}"
        )
    };
    for (one, other) in [("default,default", "default,highest"), ("default,high", "highest,high")] {
        let found = part(&answer(&of(one), &of(other), V5E));
        assert!(found.ends_with(&format!("dot precision {{{one}}} against {{{other}}}")), "{found}");
    }
}

#[test]
fn orders_and_dtypes_of_sums_part() {
    let whole =
        "x = f32[64] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add";
    let steps = "x = f32[64] parameter(0)\n z = f32[] constant(0)\n q = f32[8,8] reshape(x)\n\
        p = f32[8] reduce(q, z), dimensions={1}, to_apply=add\n ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add";
    for mode in [V5E, CPU] {
        part(&answer(whole, steps, mode));
    }
    let narrow = "x = bf16[64] parameter(0)\n z = bf16[] constant(0)\n\
        ROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=add16";
    let wide = "x = bf16[64] parameter(0)\n w = f32[64] convert(x)\n z = f32[] constant(0)\n\
        s = f32[] reduce(w, z), dimensions={0}, to_apply=add\n ROOT r = bf16[] convert(s)";
    // What a bf16 sum accumulates in is the mode's.
    assert!(is_same(&answer(narrow, wide, V5E)));
    part(&answer(narrow, wide, "v5e/default/as-compiled+narrow=bf16"));
}

#[test]
fn associativity_parts_and_exact_identities_do_not() {
    let of = |body: &str| {
        format!(
            "x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n z = f32[64] parameter(2)\n\
        h = f32[] constant(0.5)\n hs = f32[64] broadcast(h), dimensions={{}}\n two = f32[] constant(2)\n\
        twos = f32[64] broadcast(two), dimensions={{}}\n third = f32[] constant(3)\n\
        thirds = f32[64] broadcast(third), dimensions={{}}\n t = f32[] constant(0.333333343)\n\
        ts = f32[64] broadcast(t), dimensions={{}}\n {body}"
        )
    };
    let left = of("s = f32[64] add(x, y)\n ROOT r = f32[64] add(s, z)");
    let right = of("s = f32[64] add(y, z)\n ROOT r = f32[64] add(x, s)");
    part(&answer(&left, &right, CPU));
    let [halved, divided] = [of("ROOT r = f32[64] multiply(x, hs)"), of("ROOT r = f32[64] divide(x, twos)")];
    assert!(is_same(&answer(&halved, &divided, V6E)));
    let [times, over] = [of("ROOT r = f32[64] multiply(x, ts)"), of("ROOT r = f32[64] divide(x, thirds)")];
    assert!(is_same(&answer(&times, &over, V5E)), "v5e divides by multiplying with the reciprocal");
    part(&answer(&times, &over, V6E));
}

#[test]
fn zeros_of_both_signs_are_one_only_where_that_is_assumed() {
    let of = |order: &str| {
        format!("x = f32[512] parameter(0)\n y = f32[512] parameter(1)\n ROOT r = f32[512] maximum({order})")
    };
    let [one, other] = [program(&of("x, y")), program(&of("y, x"))];
    assert!(!is_same(&ask(&one, &other, V5E, &[])));
    assert!(is_same(&ask(&one, &other, V5E, &[Assumption::OneZero])));
    assert!(is_same(&ask(&one, &other, CPU, &[])), "IEEE 754-2019 orders zeros");
    let added = program(
        "x = f32[512] parameter(0)\n y = f32[512] parameter(1)\n z = f32[] constant(0)\n\
        zs = f32[512] broadcast(z), dimensions={}\n ROOT r = f32[512] add(x, zs)",
    );
    let bare = program("x = f32[512] parameter(0)\n y = f32[512] parameter(1)\n ROOT r = f32[512] copy(x)");
    let parted = ask(&added, &bare, CPU, &[]);
    assert!(matches!(parted.verdict, Verdict::Part(_)), "a zero of the other sign is found: {parted:?}");
    assert!(is_same(&ask(&added, &bare, CPU, &[Assumption::OneZero])));
    assert!(!is_same(&ask(&added, &bare, V5E, &[Assumption::OneZero])), "v5e flushes subnormals on the way");
}

/// A dot of 512 products whose plan cuts K so.
fn cut(k_block: Option<usize>) -> ulpgate::hlo::Import {
    let mut import = read(&program(
        "x = bf16[4,512] parameter(0)\n w = bf16[512,4] parameter(1)\n\
         ROOT d = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ));
    let entry = import.program.entry;
    for instruction in &mut import.program.computations[entry].instructions {
        let tiling = k_block.filter(|_| instruction.name.starts_with('d')).map(|k| Arc::new(Tiling::of_k_block(k)));
        instruction.record(|compiled| compiled.tiling = tiling);
    }
    import
}

#[test]
fn cuts_of_k_part_where_they_cut() {
    let compared = |one, other| compare(&cut(one), &cut(other), &settings(V5E)).unwrap();
    assert!(is_same(&compared(Some(256), Some(256))));
    assert!(is_same(&compared(Some(512), None)), "one stretch is no cut");
    let found = part(&compared(Some(256), None));
    assert!(found.contains("K cut every 256 against not at all"), "{found}");
}

/// FACTS 10.1: with one sum that goes on, a cut at whole blocks of 128 changes no bits; inside of one it does. Where no model is asked
/// for, both have to agree.
#[test]
fn what_a_cut_of_k_does_is_open_where_the_models_differ() {
    let under = |mode: &str, one, other| compare(&cut(one), &cut(other), &settings(mode)).unwrap();
    let running = "v5e/default/as-compiled+acc=running";
    assert!(is_same(&under(running, Some(256), None)));
    assert!(is_same(&under(running, Some(128), Some(384))));
    let found = part(&under(running, Some(192), None));
    assert!(found.contains("K cut every 192 against not at all"), "{found}");
    let v6e = "v6e/default/as-compiled+acc=running";
    assert!(is_same(&under(v6e, Some(256), None)) && !is_same(&under(v6e, Some(128), None)));
    let plain = "v5e/default/as-compiled";
    let open = |answer: Answer| match answer.verdict {
        Verdict::Open(missing) => missing.join("; "),
        other => panic!("{other:?}"),
    };
    for other in [None, Some(128)] {
        let missing = open(under(plain, Some(256), other));
        assert!(missing.contains("with acc=running they are the same; with acc=tiled they part at"), "{missing}");
    }
    // Both models agree that these part, and that these do not.
    part(&under(plain, Some(192), None));
    let same = under(plain, Some(256), Some(256));
    assert!(is_same(&same) && same.rests_on.iter().any(|ground| ground.starts_with("cuts of K: ")), "{same:?}");
    assert!(is_same(&under(plain, Some(512), None)));
}

#[test]
fn generations_part_where_a_block_ends() {
    let dot = |k: usize| {
        program(&format!(
            "x = bf16[4,{k}] parameter(0)\n w = bf16[{k},4] parameter(1)\n\
        ROOT d = f32[4,4] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
        ))
    };
    let mut both = settings(V5E);
    both.modes[1] = V6E.parse().unwrap();
    let compared = |k| compare(&read(&dot(k)), &read(&dot(k)), &both).unwrap();
    assert!(is_same(&compared(128)));
    let found = part(&compared(256));
    assert!(found.contains("the matrix unit of v5e against that of v6e"), "{found}");
}

/// A softmax and a head over so many rows; `mixed` has a mean over all of them.
fn head(rows: usize, mixed: bool) -> String {
    let square = format!("f32[{rows},16]");
    let middle = match mixed {
        true => format!(
            "m = f32[16] reduce(x, z), dimensions={{0}}, to_apply=add\n mb = {square} broadcast(m), dimensions={{1}}\n"
        ),
        false => format!("mb = {square} exponential(x)\n"),
    };
    program(&format!(
        "x = {square} parameter(0)\n w = f32[16,16] parameter(1)\n z = f32[] constant(0)\n i = f32[] constant(-inf)\n\
         {middle} y = {square} subtract(x, mb)\n t = f32[{rows}] reduce(y, i), dimensions={{1}}, to_apply=maximum\n\
         tb = {square} broadcast(t), dimensions={{0}}\n u = {square} subtract(y, tb)\n e = {square} exponential(u)\n\
         s = f32[{rows}] reduce(e, z), dimensions={{1}}, to_apply=add\n sb = {square} broadcast(s), dimensions={{0}}\n\
         p = {square} divide(e, sb)\n\
         ROOT d = {square} dot(p, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    ))
}

#[test]
fn batches_are_compared_row_by_row() {
    for (small, large) in [(8, 64), (4, 10)] {
        let answer = ask(&head(small, false), &head(large, false), V5E, &[]);
        assert!(is_same(&answer), "{answer:?}");
        assert!(answer.compared.iter().any(|line| line.starts_with(&format!("{small} rows with each"))), "{answer:?}");
        assert!(is_same(&ask(&head(large, false), &head(small, false), V5E, &[])));
        assert!(!is_same(&ask(&head(small, true), &head(large, true), V5E, &[])), "a mean over rows mixes them");
    }
    // One row is a vector, of which the vector unit makes the product.
    part(&ask(&head(1, false), &head(8, false), V5E, &[]));
}

#[test]
fn a_prefix_is_one_by_assumption() {
    let sums = |length: usize| {
        program(&format!(
            "x = f32[{length}] parameter(0)\n z = f32[] constant(0)\n\
        ROOT r = f32[{length}] reduce-window(x, z), window={{size={length} pad={}_0}}, to_apply=add",
            length - 1
        ))
    };
    assert!(is_same(&ask(&sums(8), &sums(16), V5E, &[Assumption::Prefix])));
    assert!(!is_same(&ask(&sums(8), &sums(16), V5E, &[])), "later rows have other sums");
}

#[test]
fn loops_sorts_and_more_results() {
    let looped = "HloModule m\nbody { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n\
         x = f32[4] get-tuple-element(s), index=1\n one = s32[] constant(1)\n n = s32[] add(i, one)\n\
         e = f32[4] tanh(x)\n ROOT t = (s32[], f32[4]) tuple(n, e) }\n\
         more { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n three = s32[] constant(3)\n\
         ROOT c = pred[] compare(i, three), direction=LT }\n\
         ENTRY main { x = f32[4] parameter(0)\n z = s32[] constant(0)\n s = (s32[], f32[4]) tuple(z, x)\n\
         w = (s32[], f32[4]) while(s), condition=more, body=body\n ROOT r = f32[4] get-tuple-element(w), index=1 }\n";
    let plain = program("x = f32[4] parameter(0)\n a = f32[4] tanh(x)\n b = f32[4] tanh(a)\n ROOT c = f32[4] tanh(b)");
    assert!(is_same(&ask(looped, &plain, V5E, &[])));
    let top = program("x = f32[2,8] parameter(0)\n ROOT t = (f32[2,3], s32[2,3]) topk(x), k=3, largest=true");
    let sorted = program(
        "x = f32[2,8] parameter(0)\n i = s32[2,8] iota(), iota_dimension=1\n\
        s = (f32[2,8], s32[2,8]) sort(x, i), dimensions={1}, is_stable=true, to_apply=descending\n\
        v = f32[2,8] get-tuple-element(s), index=0\n n = s32[2,8] get-tuple-element(s), index=1\n\
        a = f32[2,3] slice(v), slice={[0:2], [0:3]}\n b = s32[2,3] slice(n), slice={[0:2], [0:3]}\n\
        ROOT t = (f32[2,3], s32[2,3]) tuple(a, b)",
    );
    let both = ask(&top, &sorted, V5E, &[]);
    assert!(is_same(&both), "{both:?}");
    assert!(both.rests_on.iter().any(|line| line.starts_with("no NaN reaches")), "{both:?}");
    let more = program(
        "x = f32[4] parameter(0)\n a = f32[4] tanh(x)\n b = f32[4] tanh(a)\n c = f32[4] tanh(b)\n\
        g = f32[4] exponential(c)\n ROOT t = (f32[4], f32[4]) tuple(c, g)",
    );
    let answer = ask(&plain, &more, V5E, &[]);
    assert!(is_same(&answer));
    assert_eq!(answer.compared, ["results 1 to 1 of the second program are compared with nothing"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let of = |shape: &str| program(&format!("x = {shape} parameter(0)\n ROOT r = {shape} negate(x)"));
    let refused =
        |one: &str, other: &str| compare(&read(&of(one)), &read(&of(other)), &settings(V5E)).unwrap_err().to_string();
    assert_eq!(
        refused("f32[4]", "bf16[4]"),
        "arg0 is f32[4] in the first program and bf16[4] in the second: give programs of the same kinds of values"
    );
    assert!(refused("f32[4,8]", "f32[8,4]").contains("neither program's arguments contain the other's"));
}

const WINDOWS: &str =
    "w = f32[4,4] reduce-window(x, zero), window={size=1x32 stride=1x32 pad=0_0x14_14}, to_apply=add\n";

#[test]
fn sums_and_maxima_in_windows_are_those_that_the_compiler_writes_out() {
    const XLA: &str = "xla-cpu/default/as-compiled";
    let sum = "x = f32[4,100] parameter(0)\n zero = f32[] constant(0)\n\
        ROOT r = f32[4] reduce(x, zero), dimensions={1}, to_apply=add";
    let written = format!(
        "x = f32[4,100] parameter(0)\n zero = f32[] constant(0)\n {WINDOWS}\
         ROOT r = f32[4] reduce(w, zero), dimensions={{1}}, to_apply=add"
    );
    assert!(is_same(&answer(sum, &written, XLA)));
    // Windows that begin elsewhere hold other terms.
    let moved = written.replace("pad=0_0x14_14", "pad=0_0x0_28");
    assert!(part(&answer(sum, &moved, XLA)).contains("reduce"));
    let [largest, in_parts, elsewhere] =
        [sum, &written, &moved].map(|text| text.replace("constant(0)", "constant(-inf)").replace("=add", "=maximum"));
    assert!(is_same(&answer(&largest, &in_parts, XLA)) && is_same(&answer(&largest, &elsewhere, XLA)));
    // As XLA writes a maximum of bf16.
    let narrow = "x = bf16[4,100] parameter(0)\n low = bf16[] constant(-inf)\n\
        ROOT r = bf16[4] reduce(x, low), dimensions={1}, to_apply=maximum16";
    let wide = "n = bf16[4,100] parameter(0)\n x = f32[4,100] convert(n)\n low = f32[] constant(-inf)\n\
        w = f32[4,4] reduce-window(x, low), window={size=1x32 stride=1x32 pad=0_0x14_14}, to_apply=rounded\n\
        m = f32[4] reduce(w, low), dimensions={1}, to_apply=rounded\n ROOT r = bf16[4] convert(m)";
    assert!(is_same(&answer(narrow, wide, XLA)));
    // The largest of rounded numbers is the largest number rounded.
    let first = "x = f32[4,100] parameter(0)\n n = bf16[4,100] convert(x)\n low = bf16[] constant(-inf)\n\
        ROOT r = bf16[4] reduce(n, low), dimensions={1}, to_apply=maximum16";
    let last = "x = f32[4,100] parameter(0)\n low = f32[] constant(-inf)\n\
        m = f32[4] reduce(x, low), dimensions={1}, to_apply=maximum\n ROOT r = bf16[4] convert(m)";
    assert!(is_same(&answer(first, last, CPU)));
    assert!(!is_same(&answer(&first.replace("maximum16", "add16"), &last.replace("maximum", "add"), CPU)));
    // Just below the least normal number: flushed at first, or rounded up to it at first.
    assert!(!is_same(&answer(first, last, XLA)));
}

#[test]
fn running_sums_in_blocks_are_those_that_the_compiler_writes_out() {
    const XLA: &str = "xla-cpu/default/as-compiled";
    let scan = "x = f32[2,32] parameter(0)\n zero = f32[] constant(0)\n\
        ROOT r = f32[2,32] reduce-window(x, zero), window={size=1x32 pad=0_0x31_0}, to_apply=add";
    let blocks = "x = f32[2,32] parameter(0)\n zero = f32[] constant(0)\n b = f32[2,2,16] reshape(x)\n\
        w = f32[2,2,16] reduce-window(b, zero), window={size=1x1x16 pad=0_0x0_0x15_0}, to_apply=add\n\
        t = f32[2,2,1] slice(w), slice={[0:2], [0:2], [15:16]}\n u = f32[2,2] reshape(t)\n\
        v = f32[2,3] reduce-window(u, zero), window={size=1x2 pad=0_0x2_0}, to_apply=add\n\
        s = f32[2,2] slice(v), slice={[0:2], [0:2]}\n e = f32[2,2,16] broadcast(s), dimensions={0,1}\n\
        a = f32[2,2,16] add(w, e)\n ROOT r = f32[2,32] reshape(a)";
    assert!(is_same(&answer(scan, blocks, XLA)));
    // Summed from the other side of each addition it is the same, in order it is not.
    assert!(is_same(&answer(scan, &blocks.replace("add(w, e)", "add(e, w)"), XLA)));
    let settings = ulpgate::same::Settings {
        modes: [XLA, "xla-cpu/default/as-compiled+scan=sequential"].map(|mode| mode.parse().unwrap()),
        ..settings(XLA)
    };
    assert!(!is_same(&compare(&read(&program(scan)), &read(&program(scan)), &settings).unwrap()));
}

#[test]
fn indices_known_in_part_and_starts_that_are_clamped() {
    let batched = "x = f32[3,16] parameter(0)\n i = s32[3] parameter(1)\n j = s32[3,1] reshape(i)\n\
        ROOT r = f32[3] gather(x, j), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, \
        operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}";
    let counted = "x = f32[3,16] parameter(0)\n i = s32[3] parameter(1)\n k = s32[3] iota(), iota_dimension=0\n\
        a = s32[3,1] reshape(k)\n j = s32[3,1] reshape(i)\n c = s32[3,2] concatenate(a, j), dimensions={1}\n\
        ROOT r = f32[3] gather(x, c), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, \
        index_vector_dim=1, slice_sizes={1,1}";
    assert!(is_same(&answer(batched, counted, V5E)));
    let clamped = counted
        .replace(
            "c = s32",
            "lo = s32[3,1] constant({{0},{0},{0}})\n hi = s32[3,1] constant({{15},{15},{15}})\n \
        l = s32[3,1] clamp(lo, j, hi)\n c = s32",
        )
        .replace("concatenate(a, j)", "concatenate(a, l)");
    assert!(is_same(&answer(batched, &clamped, V5E)));
    let other = clamped.replace("15", "14").replace("14:", "15:");
    assert!(!is_same(&answer(batched, &other, V5E)));
    // What is picked from bf16 is bf16.
    let narrow = batched.replace("f32[3]", "bf16[3]").replace("f32[3,16]", "bf16[3,16]");
    let wide = narrow
        .replace("x = bf16[3,16]", "n = bf16[3,16]")
        .replace("i = s32[3] p", "x = f32[3,16] convert(n)\n i = s32[3] p");
    let wide = wide.replace("ROOT r = bf16[3] gather", "g = f32[3] gather") + "\n ROOT r = bf16[3] convert(g)";
    assert!(is_same(&answer(&narrow, &wide, V5E)));
}

#[test]
fn a_power_of_two_leaves_bf16_as_it_is() {
    let text = |factor: &str| {
        let plain = format!(
            "n = bf16[64] parameter(0)\n x = f32[64] convert(n)\n c = f32[] constant({factor})\n\
             b = f32[64] broadcast(c), dimensions={{}}\n ROOT m = f32[64] multiply(x, b)"
        );
        let rounded =
            plain.replace("ROOT m", "m") + "\n ROOT r = f32[64] reduce-precision(m), exponent_bits=8, mantissa_bits=7";
        (plain, rounded)
    };
    let same = |factor: &str, mode: &str| {
        let (plain, rounded) = text(factor);
        is_same(&answer(&plain, &rounded, mode))
    };
    assert!(same("2", V5E) && same("0.125", V5E) && same("-4", CPU) && same("-4", V5E));
    // 3 has a digit more, and without flushing an eighth makes subnormals.
    assert!(!same("3", V5E) && !same("0.125", CPU));
}

/// Integers that a reduction meets twice: an order of bits or of sizes shows no second one, and a sum, a product and an exclusive or do.
#[test]
fn a_term_that_stands_twice_counts_twice_where_that_shows() {
    for (operation, is_alike) in [
        ("and", true),
        ("or", true),
        ("maximum", true),
        ("minimum", true),
        ("xor", false),
        ("add", false),
        ("multiply", false),
    ] {
        let of = |rows: usize, terms: &str| {
            format!(
                "HloModule m\njoin {{ a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] {operation}(a, b) }}\n\
                 ENTRY main {{\n x = s32[5] parameter(0)\n init = s32[] parameter(1)\n t = s32[{rows}] {terms}\n \
                 ROOT r = s32[] reduce(t, init), dimensions={{0}}, to_apply=join\n}}\n"
            )
        };
        let answer = ask(&of(5, "copy(x)"), &of(10, "concatenate(x, x), dimensions={0}"), V5E, &[]);
        assert_eq!(is_same(&answer), is_alike, "{operation}: {answer:?}");
    }
}

/// An array of one dim has other bins than a row of two dims, and so other elements where several share a bin (FACTS 5.2).
#[test]
fn the_bins_of_an_array_are_not_those_of_a_row() {
    let of = |dims: &str, dim: usize, result: &str| {
        format!(
            "HloModule m\ngreater {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n \
             ROOT r = pred[] compare(a, b), direction=GT }}\nENTRY main {{\n x = f32[4096] parameter(0)\n w = f32[{dims}] reshape(x)\n \
             i = s32[{dims}] iota(), iota_dimension={dim}\n z = f32[] constant(-inf)\n n = s32[] constant(-1)\n \
             t = (f32[{result}], s32[{result}]) custom-call(w, i, z, n), custom_call_target=\"ApproxTopK\", called_computations={{greater}}, \
             backend_config={{\"top_k\": 40, \"reduction_dim\": {dim}, \"recall_target\": 0.95, \"aggregate_to_topk\": true, \
             \"reduction_input_size_override\": -1}}\n v = f32[{result}] get-tuple-element(t), index=0\n ROOT r = f32[40] reshape(v)\n}}\n"
        )
    };
    let [array, row] = [of("4096", 0, "40"), of("1,4096", 1, "1,40")];
    assert!(differing(&read(&array), &read(&row), V5E, 4, &mut Random(5)).1 > 0);
    let proof = Settings { trials: 0, elements: 0, ..settings(V5E) };
    assert!(is_same(&compare(&read(&row), &read(&row), &proof).unwrap()));
    assert!(!is_same(&compare(&read(&array), &read(&row), &proof).unwrap()));
}

/// A start that is known is the number that its type says: 2^63 lies behind the end of any array.
#[test]
fn a_known_start_is_the_number_that_its_type_says() {
    let program = |sliced: &str| {
        format!(
            "HloModule m\nENTRY e {{\n x = f32[6] parameter(0)\n i = u64[] constant(9223372036854775813)\n ROOT s = f32[2] {sliced} }}\n"
        )
    };
    let dynamic = program("dynamic-slice(x, i), dynamic_slice_sizes={2}");
    let of = |range: &str| program(&format!("slice(x), slice={{[{range}]}}"));
    assert!(is_same(&ask(&dynamic, &of("4:6"), "v5e/default/off", &[])));
    assert!(!is_same(&ask(&dynamic, &of("0:2"), "v5e/default/off", &[])));
}

/// A comparator may round keys that are bf16 to bf16, which changes nothing; rounded to another type, keys that differ become equal.
#[test]
fn a_sort_by_keys_in_another_type_has_an_order_of_its_own() {
    let program = |rounded: &str| {
        format!(
            "HloModule m\nless {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = {rounded}[] convert(a)\n \
             d = {rounded}[] convert(b)\n ROOT r = pred[] compare(c, d), direction=LT\n}}\n\
             ENTRY e {{\n x = bf16[4] parameter(0)\n w = f32[4] convert(x)\n \
             ROOT s = f32[4] sort(w), dimensions={{0}}, is_stable=true, to_apply=less\n}}\n"
        )
    };
    assert!(is_same(&ask(&program("bf16"), &program("f32"), "v5e/default/off", &[])));
    assert!(!is_same(&ask(&program("f16"), &program("f32"), "v5e/default/off", &[])));
    assert!(!is_same(&ask(&program("f8e5m2"), &program("bf16"), "v5e/default/off", &[])));
}
