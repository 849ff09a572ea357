//! Details that a text leaves open, or says in another place: no change by itself.

use ulpgate::analysis::same_results;
use ulpgate::diff::{Difference, difference};
use ulpgate::machine::Mode;

use super::{import, lines, of_texts, programs, replaced, text};

const NOTHING: [&str; 0] = [];

/// x times y, x and y rounded to bf16 if so asked, in a file with TPU layouts if so asked.
fn product(rounds: bool, layout: &str) -> String {
    let operands = match rounds {
        true => {
            "a = f32[8,8]L exponential(x)\n  b = bf16[8,8]L convert(a)\n  c = bf16[8,8]L convert(y)\n  ROOT d = f32[8,8]L dot(b, c)"
        }
        false => "a = f32[8,8]L exponential(x)\n  ROOT d = f32[8,8]L dot(a, y)",
    };
    let text = format!(
        "HloModule m\nENTRY main {{\n  x = f32[8,8]L parameter(0)\n  y = f32[8,8]L parameter(1)\n  {operands}, \
         lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
    );
    text.replace('L', layout)
}

/// TPUs take operands as bf16 where no more is asked for; CPUs do not.
#[test]
fn operands_that_are_rounded_anyway_are_no_rounding() {
    let tpu = "{1,0:T(8,128)}";
    assert_eq!(lines(&of_texts(&product(false, ""), &product(true, tpu))), NOTHING);
    assert_eq!(lines(&of_texts(&product(true, tpu), &product(false, tpu))), NOTHING);
    assert_eq!(
        lines(&of_texts(&product(false, ""), &product(true, ""))),
        [
            "rounding-added y: f32 for d -> bf16 for d",
            "rounding-added a: f32 for d -> bf16 for d",
            "precision-changed d: dot at {default,default} -> dot",
        ]
    );
    // Where more was asked for, the dot tells of it.
    let highest = replaced(&product(false, ""), "{0}\n", "{0}, operand_precision={highest,highest}\n");
    assert_eq!(
        lines(&of_texts(&highest, &product(true, tpu))),
        ["precision-changed d: dot at {highest,highest} -> dot"]
    );
}

/// A running sum of y, by a region that ends so; the operand rounded before, if so asked.
fn scan(region: &str, operand: &str) -> String {
    format!(
        "HloModule m\nsum {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] add(a, b)\n  {region}\n}}\nENTRY \
         main {{\n  x = f32[8] parameter(0)\n  z = f32[] constant(0)\n  e = f32[8] exponential(x)\n  w = f32[8] \
         reduce-window(e, z), window={{size=8 pad=7_0}}, to_apply=sum\n  {operand}\n}}\n"
    )
}

#[test]
fn a_region_that_rounds_what_it_gives_rounds_the_result() {
    let region = "n = bf16[] convert(c)\n  ROOT r = f32[] convert(n)";
    let rounded = "n = bf16[8] convert(w)\n  v = f32[8] convert(n)\n  ROOT r = f32[8] tanh(v)";
    let plain = "ROOT r = f32[8] tanh(w)";
    assert_eq!(lines(&of_texts(&scan(region, rounded), &scan(region, plain))), NOTHING);
    assert_eq!(
        lines(&of_texts(&scan("ROOT r = f32[] copy(c)", rounded), &scan("ROOT r = f32[] copy(c)", plain))),
        ["rounding-removed w: bf16 for r -> f32 for r"]
    );
}

/// Updates v at places i of zeros or m, which is then added, or not.
fn scattered(array: &str, result: &str) -> String {
    format!(
        "HloModule m\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\nENTRY main \
         {{\n  i = s32[4,1] parameter(0)\n  v = f32[4] parameter(1)\n  m = f32[8] parameter(2)\n  y = f32[8] parameter(3)\n  zero = f32[] constant(0)\n  \
         z = f32[8] broadcast(zero), dimensions={{}}\n  s = f32[8] scatter({array}, i, v), update_window_dims={{}}, \
         inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add\n  {result}\n}}\n"
    )
}

#[test]
fn updates_onto_zeros_and_then_an_array_are_updates_of_the_array() {
    let (apart, at_once) = ("a = f32[8] add(s, m)\n  ROOT n = bf16[8] convert(a)", "ROOT n = bf16[8] convert(s)");
    let reordered = ["reordered a: updates onto zeros, then the array -> updates one by one, onto the array"];
    let at_once_of = |array: &str| of_texts(&scattered(array, apart), &scattered("m", at_once));
    assert_eq!(lines(&at_once_of("z")), reordered);
    assert_eq!(lines(&of_texts(&scattered("z", apart), &scattered("z", apart))), NOTHING);
    assert_eq!(of_texts(&scattered("z", at_once), &scattered("m", at_once)).changes.len(), 1);
    // Updates of an array that is no zeros are lost with it.
    assert_ne!(lines(&at_once_of("y")), reordered);
}

#[test]
fn sums_with_several_numbers_are_told_of_as_one() {
    let text = |body: &str| format!("HloModule m\nENTRY main {{\n  x = f32[] parameter(0)\n{body}}}\n");
    let one = "  a = f32[] constant(1)\n  b = f32[] constant(3)\n";
    let steps = format!("{one}  s = f32[] add(x, a)\n  ROOT r = f32[] subtract(s, b)\n");
    let folded = "  c = f32[] constant(-2)\n  ROOT r = f32[] add(x, c)\n";
    assert_eq!(lines(&of_texts(&text(&steps), &text(folded))), ["precision-changed r: add 1, then add -3 -> add -2"]);
    assert_eq!(lines(&of_texts(&text(&steps), &text(&steps))), NOTHING);
    assert_eq!(
        lines(&of_texts(&text(&steps), &text(&folded.replace("-2", "-5")))),
        ["precision-changed r: add 1, then add -3 -> add -5"]
    );
    // What a second number undoes is how numbers are rounded to a grid.
    let undone = "  c = f32[] constant(12582912)\n  s = f32[] add(x, c)\n  ROOT r = f32[] subtract(s, c)\n";
    assert_ne!(of_texts(&text(undone), &text("  ROOT r = f32[] copy(x)\n")), Difference::default());
}

/// An element of an array of constants is a number.
#[test]
fn numbers_cut_out_of_arrays_are_folded() {
    let text = |number: &str| {
        format!("HloModule m\nENTRY main {{\n  x = f32[] parameter(0)\n{number}  ROOT r = f32[] multiply(x, n)\n}}\n")
    };
    let cut = "  c = f32[3] constant({3.5, -4.75, 2})\n  s = f32[1] slice(c), slice={[1:2]}\n  n = f32[] reshape(s)\n";
    assert_eq!(lines(&of_texts(&text(cut), &text("  n = f32[] constant(-4.75)\n"))), NOTHING);
    assert_eq!(
        lines(&of_texts(&text(cut), &text("  n = f32[] constant(2)\n"))),
        ["precision-changed r: multiply by -4.75 -> multiply by 2"]
    );
}

/// A number that another operation uses is not this one's.
#[test]
fn numbers_are_compared_where_they_are_used() {
    let text = |first: &str, second: &str| {
        format!(
            "HloModule m\nENTRY main {{\n  x = f32[] parameter(0)\n  a = f32[] constant({first})\n  b = f32[] \
             constant({second})\n  e = f32[] tanh(x)\n  f = f32[] multiply(e, a)\n  g = f32[] exponential(x)\n  h = f32[] \
             multiply(g, b)\n  ROOT t = (f32[], f32[]) tuple(f, h)\n}}\n"
        )
    };
    let changed = lines(&of_texts(&text("0.999", "1.002"), &text("0.999", "1.001")));
    assert_eq!(changed, ["precision-changed h: multiply by 1.002 -> multiply by 1.001"]);
    let apart = lines(&of_texts(&text("0.901", "0.9015"), &text("0.9015", "0.901")));
    assert_eq!(apart, ["precision-changed a: 0.901 -> 0.9015", "precision-changed b: 0.9015 -> 0.901"]);
    // A factor of nearly one is one all the same.
    let nearly = text("0.999", "1");
    assert_ne!(of_texts(&nearly, &text("1", "1")), Difference::default());
    assert_eq!(lines(&of_texts(&nearly, &nearly)), NOTHING);
}

/// Every name that is told stands in the file that it is said to be of, or of a fusion's or call's behind that one's.
#[test]
fn every_name_told_is_in_its_file() {
    for program in programs() {
        let of = ["before", "excess_on"].map(|which| text(&format!("{program}.{which}")));
        let found = of_texts(&of[0], &of[1]);
        let stands = |name: &str, text: &str| name.split('/').all(|part| text.lines().any(|line| defines(line, part)));
        for change in &found.changes {
            assert!(stands(&change.name, &of[0]), "{program}: {change}");
        }
        for (names, text) in found.unmatched.iter().zip(&of) {
            assert!(names.iter().all(|name| stands(name, text)), "{program}: {names:?}");
        }
    }
    let lowered = import("HloModule m\nENTRY main {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] logistic(x)\n}\n");
    assert!(lowered.origins.iter().all(|origin| ["x", "r"].contains(&origin.name.as_str())));
}

fn defines(line: &str, name: &str) -> bool {
    let line = line.trim_start().trim_start_matches("ROOT ").trim_start_matches('%');
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" = "))
}

/// A program that was read and printed is read as the same program.
#[test]
fn what_is_printed_is_read_again() {
    for program in programs().into_iter().filter(|program| program.starts_with("cpu") || program.starts_with("tpu/v5e"))
    {
        for which in ["before", "excess_on"] {
            let mut read = import(&text(&format!("{program}.{which}"))).program;
            // Settings that the machine does not follow are not printed.
            let all = read.computations.iter_mut().flat_map(|computation| &mut computation.instructions);
            all.for_each(|instruction| instruction.settings = None);
            let again = import(&read.to_string()).program;
            assert!(same_results(&again, &read), "{program} {which}");
            // Regions that nobody calls are left out, once.
            assert_eq!(import(&again.to_string()).program.to_string(), again.to_string(), "{program} {which}");
        }
    }
}

/// Three steps of v <- tanh(v . w), what is carried and the weights in these types.
fn recurrent(carried: &str, weights: &str, counter: &str) -> String {
    let (from, to) = match carried {
        "bf16" => ("  u = f32[4,4] convert(v0)\n", "  v = bf16[4,4] convert(e)\n"),
        _ => ("  u = f32[4,4] copy(v0)\n", "  v = f32[4,4] copy(e)\n"),
    };
    let state = format!("(s32[], {carried}[4,4], {weights}[4,4])");
    format!(
        "HloModule m\nstep {{\n  t = {state} parameter(0)\n  k0 = s32[] get-tuple-element(t), index=0\n  o = s32[] constant(1)\n  \
         k = s32[] add(k0, o)\n  w = {weights}[4,4] get-tuple-element(t), index=2\n  v0 = {carried}[4,4] \
         get-tuple-element(t), index=1\n{from}  n = bf16[4,4] convert(u)\n  m = bf16[4,4] convert(w)\n  d = f32[4,4] dot(n, m), \
         lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  e = f32[4,4] tanh(d)\n{to}  ROOT s = {state} tuple(k, v, \
         w)\n}}\ngoes {{\n  t = {state} parameter(0)\n  k = s32[] get-tuple-element(t), index=0\n  n = s32[] constant(3)\n  \
         ROOT l = pred[] compare(k, n), direction=LT\n}}\nENTRY main {{\n  x = f32[4,4] parameter(0)\n  y = f32[4,4] \
         parameter(1)\n  c = s32[] constant({counter})\n  p = {carried}[4,4] convert(x)\n  q = {weights}[4,4] convert(y)\n  i = \
         {state} tuple(c, p, q)\n  g = {state} while(i), condition=goes, body=step\n  r = {carried}[4,4] \
         get-tuple-element(g), index=1\n  f = f32[4,4] convert(r)\n  j = bf16[4,4] convert(f)\n  ROOT z = f32[4,4] \
         convert(j)\n}}\n"
    )
}

/// A loop may round the values that it reads as bf16 alone before it, in it or at its end.
#[test]
fn roundings_that_move_out_of_a_loop_are_no_change() {
    let wide = recurrent("f32", "f32", "0");
    for (carried, weights) in [("f32", "bf16"), ("bf16", "f32"), ("bf16", "bf16")] {
        let narrow = recurrent(carried, weights, "0");
        assert_eq!(lines(&of_texts(&wide, &narrow)), NOTHING, "{carried} {weights}");
        assert_eq!(lines(&of_texts(&narrow, &wide)), NOTHING, "{carried} {weights}");
        // More trips than are followed one by one.
        let [wide, narrow] = [&wide, &narrow].map(|text| text.replace("constant(3)", "constant(4096)"));
        assert_eq!(lines(&of_texts(&wide, &narrow)), NOTHING, "{carried} {weights}");
        assert_eq!(lines(&of_texts(&narrow, &wide)), NOTHING, "{carried} {weights}");
    }
    let unrounded = wide.replace("m = bf16[4,4] convert(w)", "m = f32[4,4] copy(w)");
    assert_eq!(
        lines(&of_texts(&wide, &unrounded)),
        [
            "rounding-removed y: bf16 for g{1} -> f32 for g{1}",
            "rounding-removed g: dot of 4 of f32 then bf16, f32 then bf16 -> dot of 4 of f32 then bf16, f32",
        ]
    );
}

/// Fusions that XLA:CPU leaves to a library are computed otherwise; the chip knows.
#[test]
fn what_a_library_computes_is_told_of() {
    let text = |kind: &str| {
        format!(
            "HloModule m, is_scheduled=true\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, \
             b)\n}}\nsums {{\n  p = f32[4,64] parameter(0)\n  e = f32[4,64] exponential(p)\n  z = f32[] constant(0)\n  ROOT s = \
             f32[4] reduce(e, z), dimensions={{1}}, to_apply=add\n}}\nENTRY main {{\n  x = f32[4,64] parameter(0)\n  ROOT f = \
             f32[4] fusion(x), kind={kind}, calls=sums\n}}\n"
        )
    };
    let (own, library) = (text("kLoop"), text("kCustom"));
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let found = difference(&import(&own), &import(&library), Some(mode.chip)).unwrap();
    assert_eq!(
        lines(&found),
        [
            "precision-changed f/e: exponential -> exponential of the library",
            "reordered f/s: one after the other -> in the library's order",
        ]
    );
    assert_eq!(of_texts(&own, &library), Difference::default());
}

/// A dot that the library takes in bf16 where it took widened operands before: another kernel, whose sums come in another order.
/// The files show it, whatever the chip. The sum of two products has one order.
#[test]
fn another_kernel_of_the_library_is_told_of() {
    let library = "kind=kCustom, calls=f, backend_config={\"fusion_config\":{\"kind\":\"__ynn_fusion\"}}";
    let fused = |dtype: &str, k: usize, entry: &str| {
        format!(
            "HloModule m, is_scheduled=true\nf {{\n  p = {dtype}[8,{k}]{{1,0}} parameter(0)\n  q = {dtype}[{k},16]{{1,0}} \
             parameter(1)\n  ROOT d = {dtype}[8,16]{{1,0}} dot(p, q), lhs_contracting_dims={{1}}, \
             rhs_contracting_dims={{0}}\n}}\nENTRY main {{\n  x = bf16[8,{k}]{{1,0}} parameter(0)\n  w = bf16[{k},16]{{1,0}} \
             parameter(1)\n{entry}}}\n"
        )
    };
    let narrow = |k: usize| fused("bf16", k, &format!("  ROOT y = bf16[8,16]{{1,0}} fusion(x, w), {library}\n"));
    let wide = |k: usize| {
        let entry = format!(
            "  a = f32[8,{k}]{{1,0}} convert(x)\n  b = f32[{k},16]{{1,0}} convert(w)\n  y = f32[8,16]{{1,0}} fusion(a, b), \
             {library}\n  ROOT r = bf16[8,16]{{1,0}} convert(y)\n"
        );
        fused("f32", k, &entry)
    };
    let [f32s, bf16s] = ["f32", "bf16"].map(|dtype| format!("in the order of the kernel for {dtype} operands"));
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    for chip in [None, Some(mode.chip)] {
        let of = |one: &str, other: &str| lines(&difference(&import(one), &import(other), chip).unwrap());
        let [wide_3, narrow_3] = [wide(3), narrow(3)];
        assert_eq!(of(&wide_3, &narrow_3), [format!("reordered y/d: {f32s} -> {bf16s}")]);
        assert_eq!(of(&narrow_3, &wide_3), [format!("reordered y/d: {bf16s} -> {f32s}")]);
        assert!(of(&wide_3, &wide_3).is_empty() && of(&narrow_3, &narrow_3).is_empty());
        assert!(of(&wide(2), &narrow(2)).is_empty() && of(&wide(1), &narrow(1)).is_empty());
    }
}

/// Sums of f32 in a fusion: the compiler's loop takes several elements side by side, and adds products before they are rounded.
#[test]
fn the_loop_of_a_sum_is_told_of() {
    let add = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";
    let sum = "  p = f32[64] parameter(0)\n  q = f32[64] parameter(1)\n  m = f32[64] multiply(p, q)\n  z = f32[] \
               constant(0)\n  ROOT s = f32[] reduce(m, z), dimensions={0}, to_apply=add\n}\n";
    let alone = format!("HloModule m\n{add}ENTRY main {{\n{sum}");
    let fused = format!(
        "HloModule m, is_scheduled=true\n{add}sums {{\n{sum}ENTRY main {{\n  x = f32[64] parameter(0)\n  y = f32[64] \
         parameter(1)\n  ROOT f = f32[] fusion(x, y), kind=kLoop, calls=sums\n}}\n"
    );
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let found = difference(&import(&alone), &import(&fused), Some(mode.chip)).unwrap();
    assert_eq!(
        lines(&found),
        [
            "reordered s: one after the other -> 32 elements side by side",
            "precision-changed s: multiply, then add -> fused multiply-add",
        ]
    );
    assert_eq!(of_texts(&alone, &fused), Difference::default());
}

/// A cumulative sum of 24, as XLA:CPU takes it: padded to blocks of 16, and cut off again.
#[test]
fn blocks_of_a_padded_scan_are_told_of() {
    let add = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";
    let plain = format!(
        "HloModule m\n{add}ENTRY main {{\n  x = f32[8,24] parameter(0)\n  z = f32[] constant(0)\n  ROOT s = f32[8,24] \
         reduce-window(x, z), window={{size=1x24 pad=0_0x23_0}}, to_apply=add\n}}\n"
    );
    let blocks = |size: usize| {
        format!(
            "HloModule m\n{add}ENTRY main {{\n  x = f32[8,24] parameter(0)\n  z = f32[] constant(0)\n  p = f32[8,32] pad(x, \
             z), padding=0_0x0_8\n  r = f32[8,2,16] reshape(p)\n  w = f32[8,2,16] reduce-window(r, z), \
             window={{size=1x1x16 pad=0_0x0_0x15_0}}, to_apply=add\n  e = f32[8,2,1] slice(w), slice={{[0:8], [0:2], \
             [15:16]}}\n  l = f32[8,2] reshape(e)\n  t = f32[8,3] reduce-window(l, z), window={{size=1x2 pad=0_0x2_0}}, \
             to_apply=add\n  u = f32[8,2] slice(t), slice={{[0:8], [0:2]}}\n  v = f32[8,2,16] broadcast(u), \
             dimensions={{0,1}}\n  n = f32[8,2,16] add(w, v)\n  o = f32[8,32] reshape(n)\n  ROOT f = f32[8,{size}] \
             slice(o), slice={{[0:8], [0:{size}]}}\n}}\n"
        )
    };
    assert_eq!(lines(&of_texts(&plain, &blocks(24))), ["reordered s: 24 at once -> blocks of 16, then 2"]);
}
