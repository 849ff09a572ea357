//! The unit of a TPU that takes a dot, and the results that follow from it (FACTS 2.3).
//!
//! `tests/data/diloco` has the program of maxtext issue 4413: SGD on four weights in two replicas, three steps, the mean loss of
//! each. jax 0.10.2 and libtpu 0.0.42.1 compiled it for three chips.

use std::path::{Path, PathBuf};

use ulpgate::diff::difference;
use ulpgate::file::safetensors;
use ulpgate::flow::{flow, text};
use ulpgate::hlo::{Import, lower, parse};
use ulpgate::machine::{Mode, evaluate, find_chip};
use ulpgate::tensor::{DType, Data, Tensor};

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/diloco").join(name)
}

fn import(name: &str) -> Import {
    lower(&parse(&std::fs::read_to_string(place(name)).unwrap()).unwrap()).unwrap()
}

fn of_text(text: &str) -> Import {
    lower(&parse(text).unwrap()).unwrap()
}

/// The loss after one step and after two.
fn losses(name: &str, mode: &str) -> [f32; 2] {
    let import = import(name);
    let named = safetensors::read(&place("inputs.safetensors")).unwrap();
    let of = |at: usize| named.iter().find(|(name, _)| *name == format!("arg{at}")).unwrap().1.clone();
    let arguments: Vec<Tensor> = (0..4).map(of).collect();
    let results = evaluate(&import.program, &mode.parse::<Mode>().unwrap(), &arguments).unwrap();
    [1, 2].map(|step| results[step].data().to_f32s()[0])
}

/// [TPU] maxtext #4413 printed 0.647502 on a TPU7x and 0.65000009 on a v6e.
#[test]
fn losses_are_what_two_generations_printed() {
    for (file, mode) in [("tpu7x.hlo", "tpu7x/default/as-compiled"), ("before.hlo", "tpu7x/default/off")] {
        let [first, _] = losses(file, mode);
        assert_eq!(format!("{first:.6}"), "0.647502", "{file} {mode}");
    }
    let files = [("v6e.hlo", "v6e/default/as-compiled"), ("before.hlo", "v6e/default/off")];
    for (file, mode) in
        files.into_iter().chain([("v5e.hlo", "v5e/default/as-compiled"), ("before.hlo", "v5e/default/off")])
    {
        let [first, _] = losses(file, mode);
        assert_eq!(first, 0.650_000_1, "{file} {mode}");
    }
}

/// A compiler has chosen the unit of what it wrote: the machine and its refinements change nothing of it.
#[test]
fn a_compiled_file_keeps_its_units() {
    let of = |file: &str| losses(file, "v5e/default/as-compiled");
    for mode in ["v6e/default/as-compiled", "tpu7x/default/as-compiled", "v5e/default/as-compiled+dsr=on"] {
        assert_eq!(losses("tpu7x.hlo", mode), of("tpu7x.hlo"), "{mode}");
        assert_eq!(losses("v6e.hlo", mode), of("v6e.hlo"), "{mode}");
    }
    assert_ne!(of("tpu7x.hlo"), of("v6e.hlo"));
    assert_eq!(losses("before.hlo", "tpu7x/default/off+dsr=on"), of("v6e.hlo"));
    assert_eq!(losses("before.hlo", "v6e/default/off+dsr=off"), of("tpu7x.hlo"));
}

/// Programs of one dot `[1,2] x [2,2]` and its first result for 1 + 2^-9 and -1 against ones: 2^-9, or 0 where operands are
/// rounded to bf16.
fn row_times_matrix(header: &str, layout: &str) -> f32 {
    let text = format!(
        "HloModule m{header}\n\nENTRY e {{\n  x = f32[1,2]{layout} parameter(0)\n  y = f32[2,2]{layout} parameter(1)\n  \
         ROOT d = f32[1,2]{layout} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
    );
    let import = of_text(&text);
    let x = Tensor::new(&[1, 2], Data::F32(vec![1.0 + 2f32.powi(-9), -1.0]));
    let y = Tensor::new(&[2, 2], Data::F32(vec![1.0; 4]));
    let mode: Mode = "v5e/default/as-compiled".parse().unwrap();
    evaluate(&import.program, &mode, &[x, y]).unwrap()[0].data().to_f32s()[0]
}

/// XLA:CPU chooses no unit of a TPU; a compiled file without layouts is taken for a TPU's.
#[test]
fn the_files_of_a_tpus_compiler_are_known_by_their_layouts() {
    let whole = 2f32.powi(-9);
    assert_eq!(row_times_matrix("", ""), whole);
    assert_eq!(row_times_matrix("", "{1,0:T(8,128)}"), whole);
    assert_eq!(row_times_matrix(", is_scheduled=true", "{1,0}"), whole);
    assert_eq!(row_times_matrix(", is_scheduled=true", "{1,0:T(8,128)}"), 0.0);
    assert_eq!(row_times_matrix(", is_scheduled=true", ""), 0.0);
}

#[test]
fn a_dot_in_one_pass_is_shown_as_a_rounding_of_its_operands() {
    let shown = text(&flow(&import("tpu7x.hlo"), true, &[]), false);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("6 dots that round their operands, 6 values seen in several precisions"), "{shown}");
    assert!(flat.contains("value w.1 f32 -> multiply_subtract_fusion.2/sub.20"), "{shown}");
    assert!(flat.contains("bf16 -> fusion.3/convolution-base-dilated.6 (dot); rounded by"), "{shown}");
    let taken = "precision default: the matrix unit takes its f32 operands rounded to bf16 (1 pass)";
    assert!(flat.contains(taken), "{shown}");
    // The same dot on the vector unit is no dot and rounds nothing; as written it depends on the chip.
    let shown = text(&flow(&import("v6e.hlo"), true, &[]), false);
    assert!(!shown.contains("round") || !shown.contains("dots that"), "{shown}");
    let shown = text(&flow(&import("before.hlo"), false, &[]), false);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let depends = "precision default: the matrix unit of tpu7x takes its f32 operands rounded to bf16 (1 pass), the vector unit of \
                   v2, v3, v4, v5e, v5p, v6e as they are";
    assert!(flat.contains(depends), "{shown}");
}

/// Other precisions split operands into parts, which is no rounding of them.
#[test]
fn a_dot_in_several_passes_is_shown_as_one_of_parts() {
    let of = |precision: &str| {
        let text_of = format!(
            "HloModule m, is_scheduled=true\n\nENTRY e {{\n  x = f32[4,8]{{1,0:T(8,128)}} parameter(0)\n  y = f32[8,4]{{1,0:T(8,128)}} \
             parameter(1)\n  ROOT d = f32[4,4]{{1,0:T(8,128)}} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, \
             operand_precision={{{precision},{precision}}}\n}}\n"
        );
        let shown = text(&flow(&of_text(&text_of), true, &[]), false);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(of("default").contains("1 dot that rounds its operands"), "{}", of("default"));
    for (precision, parts, passes) in [("high", 2, 3), ("highest", 3, 6)] {
        let shown = of(precision);
        assert!(shown.contains(&format!("split into {parts} bf16 parts ({passes} passes)")), "{shown}");
        assert!(!shown.contains("that rounds its operands"), "{shown}");
    }
}

/// A plan whose lists are no numbers is no plan without them.
#[test]
fn a_plan_that_cannot_be_read_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo/tpu/v5e/matmul_default.excess_on.hlo");
    let whole = std::fs::read_to_string(path).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        lower(&parse(&whole.replace(from, to)).unwrap()).unwrap_err().to_string()
    };
    for wrong in [r#"["1","1","-1"]"#, r#"["1","1",1.5]"#, r#"["1","1","two"]"#, "7", "null"] {
        let told = refused(r#""iteration_bounds":["1","1","1"]"#, &format!(r#""iteration_bounds":{wrong}"#));
        assert!(told.contains("iteration_bounds of the plan is no list of numbers"), "{told}");
    }
    let told = refused(r#""kernel_window_bounds":["64","1"]"#, r#""kernel_window_bounds":["x"]"#);
    assert!(told.contains("kernel_window_bounds of the plan is no list of numbers"), "{told}");
}

#[test]
fn diff_names_the_units() {
    let lines = |before: &str, after: &str, chip: Option<&str>| -> Vec<String> {
        let found = difference(&import(before), &import(after), chip.and_then(find_chip)).unwrap();
        found.changes.iter().map(ToString::to_string).collect()
    };
    let found = lines("v6e.hlo", "tpu7x.hlo", Some("v5e"));
    let units: Vec<&String> = found.iter().filter(|line| line.starts_with("precision-changed")).collect();
    assert_eq!(units.len(), 6, "{found:?}");
    let change = "multiply and reduce on the vector unit, products in f32 -> dot on the matrix unit";
    assert!(units.iter().all(|line| line.ends_with(change)), "{units:?}");
    let back = lines("tpu7x.hlo", "v6e.hlo", None);
    let change = "dot on the matrix unit -> multiply and reduce on the vector unit, products in f32";
    assert_eq!(back.iter().filter(|line| line.ends_with(change)).count(), 6, "{back:?}");
    // Each chip's file is the program as that chip takes it.
    for chip in ["v5e", "v6e", "tpu7x"] {
        assert_eq!(lines("before.hlo", &format!("{chip}.hlo"), Some(chip)), [] as [&str; 0], "{chip}");
    }
    let other = lines("before.hlo", "tpu7x.hlo", Some("v6e"));
    let change = "multiply and reduce on the vector unit, products in f32 -> dot on the matrix unit";
    assert_eq!(other.iter().filter(|line| line.ends_with(change)).count(), 6, "{other:?}");
}

/// A compiler gives some dots of small types to another unit than the table has them on. No bit shows it (FACTS 2.3): products of
/// f4 are multiples of 1/4 up to 36, which f32 adds without a rounding, and integers are added exactly.
#[test]
fn no_bit_of_a_dot_of_f4_or_integers_depends_on_its_unit() {
    let halves = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];
    for (dtype, result) in [(DType::F4E2M1FN, "f32"), (DType::S4, "s32"), (DType::S8, "s32")] {
        for [b, k, n] in [[101, 4, 100], [128, 2, 127], [3, 4096, 5]] {
            let text = format!(
                "HloModule m\nENTRY e {{\n x = {dtype}[{b},{k}] parameter(0)\n y = {dtype}[{b},{k},{n}] parameter(1)\n \
                 ROOT d = {result}[{b},{n}] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, \
                 rhs_contracting_dims={{1}}\n}}\n"
            );
            let fill = |dims: &[usize], step: usize| {
                let at = |i: usize| (i * step + i / 7) % 15;
                let count: usize = dims.iter().product();
                let data = if dtype.is_float() {
                    let value = |i: usize| halves[at(i) % 8] / if at(i) < 8 { 2.0 } else { -2.0 };
                    Data::from_f64s(dtype, &(0..count).map(value).collect::<Vec<f64>>())
                } else {
                    Data::from_i64s(dtype, &(0..count).map(|i| at(i) as i64 - 7).collect::<Vec<i64>>())
                };
                Tensor::new(dims, data.unwrap())
            };
            let arguments = [fill(&[b, k], 3), fill(&[b, k, n], 11)];
            let of = |mode: &str| {
                let result = evaluate(&of_text(&text).program, &mode.parse::<Mode>().unwrap(), &arguments).unwrap();
                result[0].data().to_f64s()
            };
            let expected = of("cpu/f32/off+reduce=chain");
            assert!(expected.iter().any(|v| *v != 0.0));
            for unit in ["", "+dsr=on", "+dsr=off", "+dsr=off+acc=chain", "+dsr=on+reduce=chain"] {
                assert_eq!(of(&format!("tpu7x/default/off{unit}")), expected, "{text}{unit}");
            }
        }
    }
}
