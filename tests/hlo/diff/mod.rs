//! The lines that `ulpgate hlo diff` must print of real files: before and after compilation, with excess precision on and off, for
//! four TPU generations and for XLA:CPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ulpgate::diff::{Change, ChangeKind, Difference, Lost, Maximum, Right, Scores, Verdict, difference, outcomes};
use ulpgate::file::safetensors;
use ulpgate::hlo::{Import, lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

mod count;
mod edited;
mod elements;
mod picked;
mod rebuilt;
pub mod settings;
mod signs;
mod undone;
mod unsaid;
mod upgraded;
mod upstream;

const CHIPS: [&str; 4] = ["tpu/v4", "tpu/v5e", "tpu/v6e", "tpu/tpu7x"];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo")
}

fn file(name: &str) -> PathBuf {
    data().join(format!("{name}.hlo"))
}

/// The text of a file below `tests/data/hlo`, named without `.hlo`.
fn text(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap()
}

fn import(text: &str) -> Import {
    lower(&parse(text).unwrap()).unwrap()
}

fn of_texts(before: &str, after: &str) -> Difference {
    difference(&import(before), &import(after), None).unwrap()
}

fn of_files(before: &str, after: &str) -> Difference {
    of_texts(&text(before), &text(after))
}

fn lines(difference: &Difference) -> Vec<String> {
    difference.changes.iter().map(Change::to_string).collect()
}

/// The kinds of all changes but packed code, and the number of operations that are packed.
fn parted(difference: &Difference) -> (Vec<ChangeKind>, usize) {
    let (packed, others): (Vec<&Change>, Vec<&Change>) =
        difference.changes.iter().partition(|change| change.after.starts_with("packed code"));
    (others.iter().map(|change| change.kind).collect(), packed.len())
}

fn kinds(difference: &Difference) -> Vec<ChangeKind> {
    difference.changes.iter().map(|change| change.kind).collect()
}

/// All programs, each as `tpu/v5e/softmax_bf16`.
fn programs() -> Vec<String> {
    let mut found = Vec::new();
    for folder in CHIPS.into_iter().chain(["cpu"]) {
        for entry in fs::read_dir(data().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            found.extend(name.strip_suffix(".before.hlo").map(|program| format!("{folder}/{program}")));
        }
    }
    found.sort();
    assert_eq!(found.len(), 105);
    found
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

fn ulpgate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(["hlo", "diff"]).args(arguments).output().unwrap()
}

fn printed(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_softmax_denominator_is_narrowed_by_excess_precision_alone() {
    for chip in CHIPS {
        for (program, sum) in [("softmax_bf16", "reduce_sum.7"), ("prob_max", "reduce_sum.14")] {
            let name = |which: &str| format!("{chip}/{program}.{which}");
            let narrowed = |before: &str, after: &str| -> Vec<(String, String, String)> {
                let found = of_files(&name(before), &name(after));
                let found = found.changes.into_iter().filter(|c| c.kind == ChangeKind::Narrowed);
                found.map(|c| (c.op_name.unwrap_or_default(), c.before, c.after)).collect()
            };
            let expected =
                [(format!("jit({program})/reduce_sum"), "sum in f32".to_string(), "sum in bf16".to_string())];
            assert_eq!(narrowed("before", "excess_on"), expected, "{chip} {program}");
            assert_eq!(narrowed("excess_off", "excess_on"), expected, "{chip} {program}");
            assert_eq!(narrowed("before", "excess_off"), [], "{chip} {program}");
            let found = of_files(&name("before"), &name("excess_on"));
            assert!(found.changes.iter().any(|c| c.kind == ChangeKind::Narrowed && c.name == sum), "{chip} {program}");
            // The other way round it is a widening.
            let back = of_files(&name("excess_on"), &name("excess_off"));
            assert!(kinds(&back).contains(&ChangeKind::Widened) && !kinds(&back).contains(&ChangeKind::Narrowed));
        }
    }
}

/// FACTS 9: the quotient feeds an f32 sum un-rounded and is stored as bf16 for the argmax.
#[test]
fn the_roundings_that_are_gone_are_named() {
    let softmax = |program: &str, sum: &str| {
        [
            format!("rounding-removed sub.7 (jit({program})/sub): bf16 for exp.1 -> f32 for exp.1"),
            format!(
                "rounding-removed exp.1 (jit({program})/exp): bf16 for div.7 -> f32 for div.7; still bf16 for {sum}"
            ),
            format!("narrowed {sum} (jit({program})/reduce_sum): sum in f32 -> sum in bf16"),
        ]
    };
    for chip in ["tpu/v4", "tpu/v5e", "tpu/v6e"] {
        let on = |program: &str| {
            lines(&of_files(&format!("{chip}/{program}.before"), &format!("{chip}/{program}.excess_on")))
        };
        assert_eq!(on("softmax_bf16"), softmax("softmax_bf16", "reduce_sum.7"), "{chip}");
        let mut expected = softmax("prob_max", "reduce_sum.14").to_vec();
        expected.push(
            "rounding-removed div.7 (jit(prob_max)/div): bf16 for reduce_sum.15 -> f32 for reduce_sum.15; \
             still bf16 for reduce_max.15, reduce.11{1}, result 0"
                .to_string(),
        );
        assert_eq!(on("prob_max"), expected, "{chip}");
    }
    // tpu7x subtracts, exponentiates and divides in bf16: the sum is all that changes, and code that is packed.
    for (program, packed) in [("softmax_bf16", 2), ("prob_max", 0)] {
        let found = of_files(&format!("tpu/tpu7x/{program}.before"), &format!("tpu/tpu7x/{program}.excess_on"));
        assert_eq!(parted(&found), (vec![ChangeKind::Narrowed], packed), "{program}: {:?}", lines(&found));
    }
}

/// K of 512 in one window, then in four of 128: another order of additions, which the plan tells and `acc=tiled` computes.
#[test]
fn another_plan_is_another_order() {
    let path = data().join("tpu/v5e/matmul_default.excess_on.hlo");
    let text = fs::read_to_string(path).unwrap();
    let cut = text
        .replace(r#""kernel_window_bounds":["64","1"]"#, r#""kernel_window_bounds":["16","1"]"#)
        .replace(r#""iteration_bounds":["1","1","1"]"#, r#""iteration_bounds":["1","1","4"]"#);
    let other_window = text.replace(r#""output_window_bounds":["8","1"]"#, r#""output_window_bounds":["4","1"]"#);
    assert!(cut != text && other_window != text);
    let import = |text: &str| lower(&parse(text).unwrap()).unwrap();
    let found = difference(&import(&text), &import(&cut), None).unwrap();
    let by = "by EmitAllBatchInSublanes";
    let expected = format!(
        "plan-changed fusion/convolution.1 (jit(matmul_default)/dot_general): K in one block {by} -> K in 4 blocks of 128 {by}"
    );
    assert_eq!(lines(&found), [expected]);
    assert_eq!(lines(&difference(&import(&text), &import(&other_window), None).unwrap()), [] as [&str; 0]);
    let tiling = import(&cut).program.entry().instructions.iter().find_map(|i| i.tiling().cloned()).unwrap();
    assert_eq!(
        (tiling.k_block, &tiling.iterations[..], &tiling.input_window[..]),
        (Some(128), &[1, 1, 4][..], &[8, 4][..])
    );
    let inputs = safetensors::read(&data().join("cpu/matmul_default.inputs.safetensors")).unwrap();
    let argument = |name: &str| inputs.iter().find(|(n, _)| n == name).unwrap().1.clone();
    let arguments = [argument("arg0"), argument("arg1")];
    let results = |text: &str, mode: &str| {
        let mode: ulpgate::machine::Mode = mode.parse().unwrap();
        ulpgate::subject::evaluate(&import(text).program, &mode, &arguments).unwrap().remove(0)
    };
    // Stretches of 128 are blocks of 128; with those of 256 on v6e the order is another.
    let (whole, tiled) = ("v6e/default/as-compiled", "v6e/default/as-compiled+acc=tiled");
    assert_eq!(results(&text, whole), results(&text, tiled));
    assert_eq!(results(&cut, whole), results(&text, whole));
    assert_ne!(results(&cut, tiled), results(&text, whole));
}

#[test]
fn a_file_against_itself_is_no_change() {
    for program in programs() {
        for which in ["before", "excess_on", "excess_off"] {
            let import = import(&text(&format!("{program}.{which}")));
            assert_eq!(difference(&import, &import, None).unwrap(), Difference::default(), "{program} {which}");
        }
    }
    let path = file("tpu/v5e/prob_max.excess_on");
    let path = path.to_str().unwrap();
    assert_eq!(printed(&ulpgate(&[path, path])), (Some(0), "changes: none\n".to_string(), String::new()));
}

/// With the flag off nothing is rounded elsewhere: what changes is how a quotient, a running sum and a dot are taken.
#[test]
fn with_excess_precision_off_no_rounding_is_gone() {
    for program in programs() {
        let found = of_files(&format!("{program}.before"), &format!("{program}.excess_off"));
        let expected: &[ChangeKind] = match program.split_once("/").unwrap() {
            ("cpu", "top_p") => &[ChangeKind::PrecisionChanged, ChangeKind::Reordered],
            ("cpu", "attention_decode") => &[ChangeKind::Reordered, ChangeKind::PrecisionChanged],
            ("cpu", "prob_max" | "head_softmax" | "softmax_bf16" | "softmax_f32") => &[ChangeKind::PrecisionChanged],
            (_, name) => match name.rsplit('/').next().unwrap() {
                "top_p" => &[ChangeKind::Reordered],
                "gumbel_sample" => &[ChangeKind::PrecisionChanged],
                "attention_decode" if !program.contains("tpu7x") => &[ChangeKind::PrecisionChanged],
                _ => &[],
            },
        };
        let packed = match program.strip_prefix("tpu/tpu7x/") {
            Some("softmax_bf16" | "head_softmax" | "top_p") => 2,
            _ => 0,
        };
        assert_eq!(parted(&found), (expected.to_vec(), packed), "{program}: {:?}", lines(&found));
    }
}

#[test]
fn every_value_has_its_counterpart() {
    for program in programs() {
        let [before, on, off] =
            ["before", "excess_on", "excess_off"].map(|which| import(&text(&format!("{program}.{which}"))));
        for (one, other) in [(&before, &on), (&before, &off), (&off, &on), (&on, &before)] {
            let found = difference(one, other, None).unwrap();
            assert_eq!(found.unmatched, [Vec::<String>::new(), Vec::new()], "{program}");
        }
    }
}

#[test]
fn generations_that_round_alike_are_alike() {
    for program in programs().iter().filter_map(|program| program.strip_prefix("tpu/v5e/")) {
        for which in ["before", "excess_on", "excess_off"] {
            for chip in ["v4", "v6e"] {
                let found = of_files(&format!("tpu/v5e/{program}.{which}"), &format!("tpu/{chip}/{program}.{which}"));
                assert_eq!(found, Difference::default(), "{program} {which} {chip}");
            }
        }
    }
}

/// Read off the files by hand.
#[test]
fn what_xla_cpu_drops() {
    let on = |program: &str| lines(&of_files(&format!("cpu/{program}.before"), &format!("cpu/{program}.excess_on")));
    assert_eq!(
        on("affine_greedy"),
        ["rounding-removed add.3 (jit(affine_greedy)/add): bf16 for reduce_max.7, reduce.11{1} -> f32 for \
          reduce_max.7; f32 and bf16 for reduce.11{1}; still bf16 for result 0"]
    );
    assert_eq!(
        on("top_p")[3..],
        ["reordered jit_cumsum_.1/reduce_window_sum.7 (reduce_window_sum): 1024 at once -> blocks of 16, then 16, \
          then 4"]
    );
    assert_eq!(on("mlp_gelu"), [""; 0]);
    assert_eq!(
        on("gumbel_sample"),
        ["precision-changed div.3 (jit(gumbel_sample)/div): divide by 0.80078125 -> multiply by 1.2487805"]
    );
    let attention = of_files("tpu/v5e/attention_decode.before", "tpu/v5e/attention_decode.excess_on");
    assert_eq!(
        lines(&attention)[3..],
        [
            "narrowed dot_general.3 (jit(attention_decode)/ht,thd->hd/dot_general): sum in f32 -> sum in bf16",
            "precision-changed dot_general.3 (jit(attention_decode)/ht,thd->hd/dot_general): dot -> multiply and \
             reduce, products in bf16",
        ]
    );
}

#[test]
fn the_precision_of_operands_is_compared() {
    let highest = text("tpu/v5e/matmul_highest.before");
    let found = of_texts(&highest, &replaced(&highest, "{highest,highest}", "{high,high}"));
    assert_eq!(lines(&found), ["precision-changed dot_general.1: dot at {highest,highest} -> dot at {high,high}"]);
    let compiled = text("tpu/v5e/matmul_high.excess_on");
    let found = of_texts(&compiled, &replaced(&compiled, ", operand_precision={high,high}", ""));
    assert_eq!(kinds(&found), [ChangeKind::PrecisionChanged]);
    // A greedy head of f32: 6 passes for the best token instead of one.
    let head = replaced(&text("tpu/v5e/greedy_head.before"), "bf16[", "f32[");
    let dot = "rhs_contracting_dims={0}";
    let asked = replaced(&head, dot, "rhs_contracting_dims={0}, operand_precision={highest,highest}");
    assert_eq!(kinds(&of_texts(&head, &asked)), [ChangeKind::PrecisionChanged]);
    // Operands of bf16 need one pass, whatever is asked for.
    let head = text("tpu/v5e/greedy_head.before");
    let asked = replaced(&head, dot, "rhs_contracting_dims={0}, operand_precision={highest,highest}");
    assert_eq!(of_texts(&head, &asked), Difference::default());
}

#[test]
fn top_k_that_becomes_approximate_is_told_of() {
    // XLA:CPU has no approximate top-k: what it is handed is the exact one.
    for program in ["approx_top_k", "approx_top_k_raw"] {
        for which in ["before", "excess_on", "excess_off"] {
            let (exact, approximate) = (format!("cpu/{program}.before"), format!("tpu/v5e/{program}.{which}"));
            let found = of_files(&exact, &approximate);
            assert_eq!(kinds(&found), [ChangeKind::TopkChanged], "{program} {which}");
            let change = &found.changes[0];
            assert_eq!(
                (change.before.as_str(), change.after.as_str()),
                ("exact", "approximate, recall 0.95, 512 bins")
            );
        }
        let (exact, approximate) = (format!("cpu/{program}.before"), format!("tpu/v5e/{program}.before"));
        assert_eq!(kinds(&of_files(&approximate, &exact)), [ChangeKind::TopkChanged], "{program}");
    }
    let approximate = text("tpu/v5e/approx_top_k.before");
    let found = of_texts(&approximate, &replaced(&approximate, "\"recall_target\": 0.95", "\"recall_target\": 0.5"));
    assert_eq!(kinds(&found), [ChangeKind::TopkChanged]);
    // A sort that has the exact top-k's place is exact as well.
    assert_eq!(of_files("tpu/v5e/top_k.before", "tpu/v5e/top_k.excess_on"), Difference::default());
    assert_eq!(of_files("cpu/top_k.before", "cpu/top_k.excess_on"), Difference::default());
}

#[test]
fn a_reduce_precision_more_or_less_is_a_rounding() {
    let wide = "HloModule m\nENTRY main {\n  x = f32[8] parameter(0)\n  e = f32[8] exponential(x)\n  \
                ROOT n = f32[8] multiply(e, x)\n}\n";
    let narrow = wide
        .replace("ROOT n", "r = f32[8] reduce-precision(e), exponent_bits=5, mantissa_bits=10\n  ROOT n")
        .replace("multiply(e, x)", "multiply(r, x)");
    assert_eq!(lines(&of_texts(wide, &narrow)), ["rounding-added e: f32 for n -> f16 for n"]);
    assert_eq!(lines(&of_texts(&narrow, wide)), ["rounding-removed e: f16 for n -> f32 for n"]);
}

/// An edit (file, what, by what) and what is said of it; a line that starts with `+` is said as well.
const EDITS: &str = "\
cpu/affine_greedy.before | constant(0.6992) | constant(0.5) | precision-changed mul.3: multiply by 0.69921875 -> multiply by 0.5
cpu/affine_greedy.before | constant(0.1001) | constant(3) | precision-changed add.3: add 0.100097656 -> add 3
tpu/v5e/top_p.excess_on | constant(0.9) | constant(0.5) | operation-changed convert_reduce_fusion/lt.12 (jit(top_p)/lt): compare LT with \
0.9 -> compare LT with 0.5
cpu/top_k.before | largest=true | largest=false | operation-changed top_k.3: largest first -> smallest first
cpu/prob_max.before | maximum( | minimum( | operation-changed reduce_max.14: reduce by maximum -> reduce by minimum from -inf
+ operation-changed reduce_max.15: reduce by maximum -> reduce by minimum from -inf
tpu/v5e/top_p.excess_on | direction=GE | direction=GT | operation-changed and_select_fusion/ge.19 (jit(top_p)/jit(take_along_axis)/ge): \
compare GE -> compare GT
+ operation-changed iota_reduce_fusion/ge.13 (jit(top_p)/ge): compare GE -> compare GT
cpu/softmax_f32.before | constant(0) | constant(2) | precision-changed reduce_sum.7: reduce by add -> reduce by add from 2
cpu/greedy_head.before | direction=GT | direction=LT | operation-changed jit_greedy_head_.3/reduce.11: index of the largest -> index of \
the smallest
cpu/softmax_f32.before | exponential( | tanh( | precision-changed exp.1: exponential -> tanh
";

/// Values that names pair must still compute the same, up to rounding.
#[test]
fn what_computes_something_else_is_never_no_change() {
    for edit in EDITS.replace("\n+", " +").lines() {
        let [name, from, to, said] = edit.split(" | ").collect::<Vec<_>>()[..] else { panic!("{edit}") };
        let before = text(name);
        let expected: Vec<String> = said.split(" + ").map(str::to_string).collect();
        assert_eq!(lines(&of_texts(&before, &replaced(&before, from, to))), expected, "{edit}");
    }
}

/// Results that are moved and made by nothing have no name to be paired by.
#[test]
fn results_that_are_only_moved_are_compared() {
    let program = |root: &str| {
        format!("HloModule m\nENTRY main {{\n  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n{root}}}\n")
    };
    let of = |one: &str, other: &str| lines(&of_texts(&program(one), &program(other)));
    assert_eq!(
        of("  ROOT s = f32[4] slice(x), slice={[0:4]}\n", "  ROOT s = f32[4] slice(x), slice={[4:8]}\n"),
        ["operation-changed s: slice [0:4:1] -> slice [4:8:1]"]
    );
    assert_eq!(
        of("  ROOT t = (f32[8], f32[8]) tuple(x, y)\n", "  ROOT t = (f32[8], f32[8]) tuple(y, x)\n"),
        ["operation-changed x: parameter 0 -> parameter 1", "operation-changed y: parameter 1 -> parameter 0"]
    );
    assert_eq!(
        of("  ROOT r = f32[8] maximum(x, y)\n", "  ROOT r = f32[8] minimum(x, y)\n"),
        ["operation-changed r: maximum -> minimum"]
    );
    assert_eq!(
        of("  ROOT r = f32[8] subtract(x, y)\n", "  ROOT r = f32[8] subtract(y, x)\n"),
        ["operation-changed r: subtract of x, y -> subtract of y, x"]
    );
}

/// Two ways to write one value: the compilers' own rewrites of the programs in `tests/data/hlo_more`.
#[test]
fn rewrites_that_round_alike_are_no_change() {
    let program = |body: &str| format!("HloModule m\nENTRY main {{\n  x = f32[8] parameter(0)\n{body}}}\n");
    let of = |one: &str, other: &str| of_texts(&program(one), &program(other));
    let one = "  one = f32[] constant(1)\n  b = f32[8] broadcast(one), dimensions={}\n";
    let less = "  one = f32[] constant(-1)\n  b = f32[8] broadcast(one), dimensions={}\n";
    let (subtracted, added) =
        (format!("{one}  ROOT r = f32[8] subtract(x, b)\n"), format!("{less}  ROOT r = f32[8] add(x, b)\n"));
    assert_eq!(of(&subtracted, &added), Difference::default());
    // A constant that vanishes beside another, and one that does not.
    let twice = |tiny: &str| {
        format!(
            "{one}  d = f32[8] subtract(x, b)\n  tiny = f32[] constant({tiny})\n  \
             t = f32[8] broadcast(tiny), dimensions={{}}\n  ROOT r = f32[8] add(d, t)\n"
        )
    };
    assert_eq!(of(&twice("1.17549435e-38"), &added), Difference::default());
    assert_ne!(of(&twice("0.25"), &added), Difference::default());
    assert_ne!(of(&subtracted, &subtracted.replace("constant(1)", "constant(-1)")), Difference::default());
}

fn inputs_of(program: &str) -> Vec<Tensor> {
    let given = safetensors::read(&data().join(format!("{program}.inputs.safetensors"))).unwrap();
    given.into_iter().map(|(_, tensor)| tensor).collect()
}

/// XLA:CPU itself loses the most probable token in the same 6 of 8 rows (FACTS 9).
#[test]
fn six_of_eight_rows_lose_their_token() {
    let [off, on] = ["excess_off", "excess_on"].map(|which| import(&text(&format!("cpu/prob_max.{which}"))));
    let mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let found = outcomes(&off, &on, [&mode, &mode], &inputs_of("cpu/prob_max"), None, &mut |_| {}).unwrap();
    let [maximum, sum] = &found[..] else { panic!("{found:?}") };
    assert_eq!((maximum.result, sum.result), (1, 3));
    assert_eq!(maximum.maximum, Some(Maximum { maximum: 1, of: 0, rows: 8, unreached_before: 0, unreached_after: 6 }));
    assert_eq!(sum.maximum, None);
    let Verdict::Float { format: "f32", before: Some(dtypes), change, after: Some(after), .. } = maximum.verdict else {
        panic!("{maximum:?}")
    };
    // A bf16 value is rarely the f32 closest to the truth: the dtypes cost up to half an ulp of bf16 and more.
    assert!(dtypes > 32768.0 && after > 32768.0 && change > 0.0 && change < 32768.0, "{maximum:?}");
}

#[test]
fn results_are_printed_apart_from_the_changes() {
    let path = |name: &str| data().join(name).to_str().unwrap().to_string();
    let (off, on) = (path("cpu/prob_max.excess_off.hlo"), path("cpu/prob_max.excess_on.hlo"));
    let inputs = path("cpu/prob_max.inputs.safetensors");
    let run = ["--inputs", &inputs, "--mode", "xla-cpu/default/as-compiled"];
    let (code, out, err) = printed(&ulpgate(&[&[off.as_str(), on.as_str()][..], &run].concat()));
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let heads: Vec<&str> = out.lines().filter(|l| !l.starts_with("  ")).map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(heads, ["rounding-removed", "rounding-removed", "result", "result", "results:", "Next:"]);
    assert!(out.contains("\nresults: 2 of 4 equal, bit for bit: result 0 bf16[8,1024], result 2 s32[8]\n"), "{out}");
    assert!(out.contains("result 1 f32[8]: 8 of 8 elements differ\n  before: up to "), "{out}");
    // What changed may be the source as well as the compiler: labels name the files.
    assert!(out.contains("\n  after: up to ") && !out.contains("compiler:") && !out.contains("dtypes:"), "{out}");
    assert!(out.contains("keeps no token: 0 before, 6 after, of 8\n"), "{out}");
    // Equal programs have equal results: that, and nothing else.
    let (code, out, _) = printed(&ulpgate(&[&[off.as_str(), off.as_str()][..], &run].concat()));
    assert_eq!((code, out.as_str()), (Some(0), "results: 4 of 4 equal, bit for bit\nchanges: none\n"));
    let (code, out, _) = printed(&ulpgate(&[&[off.as_str(), on.as_str(), "--json"][..], &run].concat()));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(json["results"][0]["maximum"]["unreached_after"], 6);
    assert_eq!(json["changes"][0]["kind"], "rounding-removed");
}

/// Of a folder of inputs each program has its own.
#[test]
fn inputs_of_a_folder_go_by_name() {
    let folder = tempfile::TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (from, to) in [
        ("cpu/prob_max.excess_off.hlo", "a.excess_off.hlo"),
        ("cpu/prob_max.excess_on.hlo", "a.excess_on.hlo"),
        ("cpu/prob_max.inputs.safetensors", "a.inputs.safetensors"),
    ] {
        std::fs::copy(data().join(from), at(to)).unwrap();
    }
    let text = |name: &str| at(name).to_str().unwrap().to_string();
    let inputs = folder.path().to_str().unwrap();
    let run = ["--inputs", inputs, "--mode", "xla-cpu/default/as-compiled"];
    let (code, out, _) =
        printed(&ulpgate(&[&[text("a.excess_off.hlo").as_str(), &text("a.excess_on.hlo")][..], &run].concat()));
    assert_eq!(code, Some(1));
    assert!(out.contains("result 1 f32[8]: 8 of 8 elements differ"), "{out}");
    std::fs::copy(at("a.excess_on.hlo"), at("b.excess_on.hlo")).unwrap();
    let (code, _, err) =
        printed(&ulpgate(&[&[text("b.excess_on.hlo").as_str(), &text("a.excess_on.hlo")][..], &run].concat()));
    assert_eq!(code, Some(2));
    assert!(err.contains("has no b.inputs.safetensors for b.excess_on.hlo"), "{err}");
}

/// `p >= max(p)` over one row: the kept set, and the argmax of what is kept.
const KEPT: &str = "HloModule kept

largest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}

ENTRY main {
  x = f32[2,4] parameter(0)
  y = f32[2,4] exponential(x)
  r = f32[2,4] reduce-precision(y), exponent_bits=8, mantissa_bits=7
  low = f32[] constant(-inf)
  m = f32[2] reduce(TOP, low), dimensions={1}, to_apply=largest
  b = f32[2,4] broadcast(m), dimensions={0}
  keep = pred[2,4] compare(r, b), direction=GE
  count = s32[2,4] convert(keep)
  ROOT t = (f32[2,4], pred[2,4], s32[2,4]) tuple(r, keep, count)
}
";

#[test]
fn kept_sets_and_tokens_are_judged_by_the_truth() {
    let [same, other] = ["r", "y"].map(|top| import(&KEPT.replace("TOP", top)));
    // exp(0.3) is rounded up and reaches its maximum, exp(0.1) is rounded down and does not.
    let x = Data::from_f64s(DType::F32, &[0.1, -1.0, -2.0, -3.0, 0.3, -1.0, -2.0, -3.0]).unwrap();
    let arguments = [Tensor::new(&[2, 4], x)];
    let mode = "v5e/default/as-compiled".parse().unwrap();
    let found = outcomes(&same, &other, [&mode, &mode], &arguments, None, &mut |_| {}).unwrap();
    let [kept, counts] = &found[..] else { panic!("{found:?}") };
    let Verdict::Kept { before, after, truth, empty_before, empty_after, lost } = &kept.verdict else {
        panic!("{kept:?}")
    };
    assert_eq!((*before, *truth, *empty_before), (2, Some(2), 0));
    assert_eq!((*after, *empty_after), (2 - kept.differing, kept.differing));
    let lost = lost.unwrap();
    assert_eq!((lost.before, lost.after), (0, kept.rows_differing));
    assert_eq!(kept.rows_differing, 1);
    let right = Right { before: kept.rows_differing, ..Right::default() };
    let expected = Verdict::Tokens { right, tied: Some(kept.rows_differing), lost: None };
    assert_eq!(counts.verdict, expected);
}

#[test]
fn scores_of_ones_own_tell_which_rows_lost_their_best_token() {
    // Without its scores among the results, nothing says which token of a kept set is the most probable one.
    let text =
        KEPT.replace("(f32[2,4], pred[2,4], s32[2,4]) tuple(r, keep, count)", "(pred[2,4], s32[2]) tuple(keep, token)");
    let token = "  at = s32[2,4] iota(), iota_dimension=1\n  zero = s32[] constant(0)\n  none = s32[2,4] broadcast(zero), \
                 dimensions={}\n  held = s32[2,4] select(keep, at, none)\n  token = s32[2] reduce(held, zero), \
                 dimensions={1}, to_apply=last\n  ROOT t";
    let last = "HloModule kept\n\nlast {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT m = s32[] maximum(a, \
                b)\n}\n";
    let text = text.replace("  ROOT t", token).replacen("HloModule kept\n", last, 1);
    let [same, other] = ["r", "y"].map(|top| import(&text.replace("TOP", top)));
    let x = Data::from_f64s(DType::F32, &[-1.0, 0.1, -2.0, -3.0, 0.3, -1.0, -2.0, -3.0]).unwrap();
    let arguments = [Tensor::new(&[2, 4], x)];
    let mode = "v5e/default/as-compiled".parse().unwrap();
    let lost = |scores: Option<Scores>| {
        let found = outcomes(&same, &other, [&mode, &mode], &arguments, scores, &mut |_| {}).unwrap();
        found.into_iter().map(|outcome| match outcome.verdict {
            Verdict::Kept { lost, .. } | Verdict::Tokens { lost, .. } => lost,
            other => panic!("{other:?}"),
        })
    };
    assert!(lost(None).all(|lost| lost.is_none()));
    let after = Lost { before: 0, after: 1 };
    for scores in [Scores::Named("arg0"), Scores::Given("mine", &arguments[0])] {
        assert_eq!(lost(Some(scores)).collect::<Vec<_>>(), [Some(after), Some(after)]);
    }
    let others = Tensor::new(&[3, 4], Data::F32(vec![0.0; 12]));
    let given = Some(Scores::Given("mine", &others));
    let error = outcomes(&same, &other, [&mode, &mode], &arguments, given, &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("`scores` names `mine`, which is f32[3,4]"), "{error}");
    for (scores, why) in
        [("arg1", "is no result and no argument"), ("out1", "is no result"), ("out0", "must be floats")]
    {
        let error = outcomes(&same, &other, [&mode, &mode], &arguments, Some(Scores::Named(scores)), &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("`scores` names `{scores}`")), "{error}");
        assert!(scores == "out1" || error.contains(why), "{error}");
    }
}

#[test]
fn what_cannot_be_judged_exits_with_2() {
    let path = |name: &str| data().join(name).to_str().unwrap().to_string();
    let (softmax, top_k) = (path("tpu/v5e/softmax_bf16.before.hlo"), path("tpu/v5e/top_k.before.hlo"));
    let inputs = path("cpu/prob_max.inputs.safetensors");
    let readable = |arguments: &[&str], said: &str| {
        let (code, out, err) = printed(&ulpgate(arguments));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(err.contains(said), "{err}");
    };
    readable(&[&softmax, "missing.hlo"], "missing.hlo: failed to read it");
    readable(&[&softmax, &inputs], "it is no text");
    readable(&[&softmax, &top_k], "BEFORE gives 1 results and AFTER gives 2");
    readable(&[&softmax, &softmax, "--inputs", "missing.safetensors"], "missing.safetensors");
    readable(&[&softmax, &softmax, "--inputs", &inputs, "--mode", "v9/default/off"], "v9");
    // A value that the other program does not compute, and nothing else: silence would say that nothing changed.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let write = |name: &str, expression: &str| {
        let path = folder.join(name);
        let x = "HloModule m\nENTRY main {\n  x = f32[8] parameter(0)\n";
        fs::write(&path, format!("{x}  a = f32[8] exponential(x)\n{expression}}}\n")).unwrap();
        path.to_str().unwrap().to_string()
    };
    let one = write("diff_one.hlo", "  ROOT r = f32[8] add(a, x)\n");
    let other = write("diff_other.hlo", "  s = f32[8] tanh(a)\n  ROOT r = f32[8] add(s, x)\n");
    readable(&[&one, &other], "without a counterpart");
    let (_, _, err) = printed(&ulpgate(&[&one, &other]));
    assert!(err.ends_with(&format!("counterpart: {other} computes s, which {one} does not\n")), "{err}");
}
