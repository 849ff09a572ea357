//! Attributes that reading does not follow, and changes that show in no result.

use std::path::Path;

use ulpgate::diff::ChangeKind;
use ulpgate::file::safetensors;
use ulpgate::tensor::{DType, Data, Tensor};

use super::{kinds, lines, of_texts, printed, ulpgate};

const EXPONENTIAL: &str = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] exponential(x)\n  \
    ROOT z = f32[4] multiply(y, x)\n}\n";

fn with(more: &str) -> String {
    EXPONENTIAL.replace("exponential(x)", &format!("exponential(x){more}"))
}

#[test]
fn an_attribute_that_nothing_follows_is_told() {
    for (more, line) in [
        (
            ", result_accuracy={mode=highest}",
            "y: no result_accuracy -> result_accuracy={mode=highest} (the more accurate implementation on v2, v3, v4, v5e, v5p, v6e, \
             the only one on tpu7x)",
        ),
        (
            ", result_accuracy={tolerance={atol=1e-30, rtol=1e-5, ulps=0}}",
            "y: no result_accuracy -> result_accuracy={tolerance={atol=1e-30, rtol=1e-5, ulps=0}} (the \
             default implementation on v6e, the more accurate implementation on v2, v3, v4, v5e, v5p, the only one on tpu7x)",
        ),
        (", colour=red", "y: no colour -> colour=red"),
        (", backend_config={\"k\":1}", "y: no backend_config.k -> backend_config.k=1"),
    ] {
        let found = of_texts(EXPONENTIAL, &with(more));
        assert_eq!(lines(&found), [format!("attribute-changed {line}")]);
        assert_eq!(kinds(&found), [ChangeKind::AttributeChanged]);
        let back = of_texts(&with(more), EXPONENTIAL);
        assert_eq!(kinds(&back), [ChangeKind::AttributeChanged], "{more}");
        assert!(of_texts(&with(more), &with(more)).changes.is_empty(), "{more}");
    }
    for (one, other) in [(", colour=red", ", colour=blue"), (", colour=red, speed=1", ", colour=red, speed=2")] {
        assert_eq!(of_texts(&with(one), &with(other)).changes.len(), 1, "{one}");
    }
    let module = of_texts(EXPONENTIAL, &EXPONENTIAL.replace("HloModule m", "HloModule m, speed=1"));
    assert_eq!(lines(&module), ["attribute-changed the module: no speed -> speed=1"]);
    let parameter = of_texts(EXPONENTIAL, &EXPONENTIAL.replace("parameter(0)", "parameter(0), speed=1"));
    assert_eq!(lines(&parameter), ["attribute-changed x: no speed -> speed=1"]);
    for harmless in [", metadata={op_name=\"a\"}", ", backend_config={\"retry_config\":{\"retry_count\":\"2\"}}"] {
        assert!(of_texts(EXPONENTIAL, &with(harmless)).changes.is_empty(), "{harmless}");
    }
}

/// A quotient of exponentials in a fusion of tpu7x that counts so many packed operations; all three make it packed.
pub fn counted(count: u32) -> String {
    format!(
        "HloModule m, is_scheduled=true\nf {{\n  p = bf16[512,128] parameter(0)\n  n = bf16[512,128] negate(p)\n  \
         e = bf16[512,128] exponential(n)\n  ROOT d = bf16[512,128] divide(e, p)\n}}\n\
         ENTRY e {{\n  x = bf16[512,128] parameter(0)\n  ROOT r = bf16[512,128] fusion(x), kind=kLoop, calls=f, \
         backend_config={{\"bf16_mapped_op_count\":{{\"integer\":\"{count}\"}}}}\n}}\n"
    )
}

/// Packed code gives other bits: both operations are told, as changes that the machine follows.
#[test]
fn packed_operations_are_told() {
    let found = of_texts(&counted(2), &counted(3));
    let packed = "no packed code of bf16 -> packed code of bf16 (tpu7x, FACTS 3.3)";
    assert_eq!(lines(&found), [format!("precision-changed r/e: {packed}"), format!("precision-changed r/d: {packed}")]);
    assert!(found.reached == [true] && !found.decides_nothing());
    assert_eq!(kinds(&of_texts(&counted(3), &counted(2))), [ChangeKind::PrecisionChanged; 2]);
    assert!(of_texts(&counted(3), &counted(3)).changes.is_empty());
}

#[test]
fn a_compilers_own_is_compared_with_a_compilers_own() {
    let plan = with(", backend_config={\"k\":1}");
    let compiled = |text: &str| text.replace("HloModule m", "HloModule m, is_scheduled=true");
    assert!(of_texts(EXPONENTIAL, &compiled(&plan)).changes.is_empty());
    assert_eq!(of_texts(&compiled(EXPONENTIAL), &compiled(&plan)).changes.len(), 1);
}

/// A function of another accuracy errs otherwise where functions err, and that is no error of this program.
#[test]
fn an_accuracy_shows_in_results_where_functions_err() {
    let highest = with(", result_accuracy={mode=highest}");
    for (errors, code, line) in [
        ("seeded", 1, "result 0 f32[4]: "),
        ("worst", 1, "result 0 f32[4]: "),
        ("cr", 1, "equal, bit for bit: the machine follows no attribute that changed"),
    ] {
        let mode = format!("v5e/default/as-compiled+exp={errors}");
        let (exit, out, error) = on_input_in(EXPONENTIAL, &highest, &ordinary(), &["--mode", &mode]);
        assert_eq!(exit, Some(code), "{errors}: {out}{error}");
        assert!(out.contains(line) && !error.contains("error of ulpgate"), "{errors}: {out}{error}");
    }
}

/// The output of `hlo diff` for two texts on an input f32[4], and its exit code.
fn on_input(one: &str, other: &str, inputs: &[Vec<u32>]) -> (Option<i32>, String, String) {
    on_input_in(one, other, inputs, &[])
}

/// [`on_input`] with more arguments.
fn on_input_in(one: &str, other: &str, inputs: &[Vec<u32>], more: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("one.hlo"), one).unwrap();
    std::fs::write(path("other.hlo"), other).unwrap();
    let tensor = |(at, bits): (usize, &Vec<u32>)| {
        let numbers: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
        (format!("arg{at}"), Tensor::new(&[4], Data::from_f32s(DType::F32, numbers).unwrap()))
    };
    let tensors: Vec<(String, Tensor)> = inputs.iter().enumerate().map(tensor).collect();
    safetensors::write(&path("in.safetensors"), &tensors).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_string();
    let [one, other, inputs] = ["one.hlo", "other.hlo", "in.safetensors"].map(|name| text(&path(name)));
    printed(&ulpgate(&[&[&one[..], &other, "--inputs", &inputs], more].concat()))
}

fn ordinary() -> Vec<Vec<u32>> {
    vec![[1.1f32, -2.3, 0.7, 5.9].map(f32::to_bits).to_vec()]
}

#[test]
fn changes_and_equal_results_come_with_the_reason() {
    let (code, out, _) = on_input(EXPONENTIAL, &with(", result_accuracy={mode=highest}"), &ordinary());
    assert_eq!(code, Some(1));
    assert!(out.contains("attribute-changed y"), "{out}");
    assert!(out.contains("equal, bit for bit: the machine follows no attribute that changed"), "{out}");
    // A rounding that no result shows, whatever the input: the zero of a difference of equal numbers is left out of it.
    let rounded = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  c = bf16[4] convert(x)\n  w = f32[4] convert(c)\n  \
        y = f32[4] multiply(w, w)\n  a = f32[4] abs(y)\n  z = f32[4] constant({0, 0, 0, 0})\n  ROOT r = pred[4] compare(a, z), direction=GE\n}\n";
    let kept = rounded.replace("multiply(w, w)", "multiply(x, x)");
    let (code, out, _) = on_input(rounded, &kept, &ordinary());
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("rounding-removed"), "{out}");
    assert!(out.contains("equal, bit for bit: the change above shows in no result for these inputs"), "{out}");
    let (code, out, _) = on_input(EXPONENTIAL, EXPONENTIAL, &ordinary());
    assert_eq!((code, out.as_str()), (Some(0), "results: 1 of 1 equal, bit for bit\nchanges: none\n"));
}

/// Operands that commute decide the bits of a NaN: no error of this program, and told.
#[test]
fn bits_of_nans_are_no_difference_and_are_told() {
    let sum = |operands: &str| {
        format!(
            "HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT z = f32[4] add({operands})\n}}\n"
        )
    };
    let nans = vec![
        vec![0x7fc0_0001, 0xffc0_0002, 0x3f80_0000, 0x7f80_0000],
        vec![0xffc0_0007, 0x7fc0_0003, 0x3f80_0000, 0xff80_0000],
    ];
    let (code, out, error) = on_input(&sum("x, y"), &sum("y, x"), &nans);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("result 0 f32[4]: equal but for the bits of 2 NaNs"), "{out}");
    assert!(out.contains("results: 1 of 1 equal, bit for bit but for the bits of NaNs"), "{out}");
}
