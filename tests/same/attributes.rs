//! Pairs that differ in one attribute: none is proven the same, for every operation and every attribute that reading follows.
//!
//! The list is complete by construction. [`operations::OPERATIONS`] names every variant of `Op` with all of its fields, so that a new one
//! does not compile, and [`ulpgate::hlo::settings::opcodes_by_attribute`] every attribute of a file: each needs a row, or a reason.

mod calls;
mod devices;
mod elements;
mod every_opcode;
mod operations;
mod row;
mod sums;

use std::collections::BTreeSet;

use ulpgate::hlo::{Import, Opcode, lower, parse, settings};
use ulpgate::ir::{Binary, Compare, Unary};
use ulpgate::machine::{Mode, evaluate};
use ulpgate::same::{SameError, Settings, Verdict, compare};
use ulpgate::tensor::{Data, Tensor};

use crate::settings as of_mode;

use calls::CALLS;
use devices::ON_DEVICES;
use elements::ELEMENTS;
use operations::{OPERATIONS, WITHOUT_A_ROW, variant};
use row::{COMPUTATIONS, Row};
use sums::SUMS;

const MODE: &str = "v5e/default/as-compiled+acc=tiled";

/// The program of a row with one of its values; `more` stands behind the instruction that has the attribute.
fn text(row: &Row, value: &str, on_devices: bool, more: &str) -> String {
    let (value, shape) = value.split_once('|').unwrap_or((value, ""));
    let body: Vec<String> = row
        .body
        .split('\n')
        .map(|line| {
            let own = line.contains("=$") || line.contains(": $");
            let line = line.replace('$', value).replace('@', shape);
            if own { format!("{line}{more}") } else { line }
        })
        .collect();
    let header = if on_devices { ", is_scheduled=true, num_partitions=4" } else { "" };
    format!("HloModule m{header}\n{COMPUTATIONS}ENTRY main {{\n{}\n}}\n", body.join("\n"))
}

fn import(text: &str) -> Import {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    lower(&module).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A sort that need not be stable is one on the TPUs' machines, which a proof says that it rests on; XLA:CPU's is none.
const CPU: &str = "xla-cpu/default/as-compiled";

/// Whether two programs are proven the same; the proof alone is asked for.
#[track_caller]
fn proven(one: &str, other: &str) -> bool {
    proven_in(MODE, one, other)
}

#[track_caller]
fn proven_in(mode: &str, one: &str, other: &str) -> bool {
    let settings = Settings { trials: 0, elements: 0, ..of_mode(mode) };
    match compare(&import(one), &import(other), &settings) {
        Ok(answer) => matches!(answer.verdict, Verdict::Same),
        Err(SameError::Alignment(_)) => false,
        Err(error) => panic!("{error}\n{one}\n{other}"),
    }
}

/// Rows of operations whose programs run on one device.
fn on_one_device() -> impl Iterator<Item = &'static Row> {
    [ELEMENTS, SUMS, CALLS].into_iter().flatten()
}

/// All rows, and whether their programs run on four devices.
fn rows() -> impl Iterator<Item = (&'static Row, bool)> {
    on_one_device().map(|row| (row, false)).chain(ON_DEVICES.iter().map(|row| (row, true)))
}

#[test]
fn every_attribute_that_reading_follows_has_a_row_or_a_reason() {
    let has_row =
        |opcode: &str, attribute: &str| rows().any(|(row, _)| (row.opcode, row.attribute) == (opcode, attribute));
    let has_reason = |opcode: &str, attribute: &str| {
        WITHOUT_A_ROW.iter().any(|(of, name, _)| *name == attribute && (*of == opcode || *of == "*"))
    };
    for (attribute, opcodes) in settings::opcodes_by_attribute() {
        for opcode in opcodes.iter().map(Opcode::name) {
            // Collectives read their attributes alike: one row stands for all of them.
            let of_collectives = || {
                ON_DEVICES.iter().any(|row| row.attribute == attribute && opcodes.contains(&Opcode::from(row.opcode)))
            };
            let known = has_row(opcode, attribute) || has_reason(opcode, attribute) || of_collectives();
            assert!(known, "{opcode} has no row for {attribute}");
        }
    }
    for (name, fields) in OPERATIONS {
        for (field, opcode, attribute) in *fields {
            let known = has_row(opcode, attribute) || opcode.is_empty() && !attribute.is_empty();
            assert!(known, "{name} has no row for {field}");
        }
    }
}

#[test]
fn a_pair_that_differs_in_one_attribute_is_not_proven() {
    let mut seen = BTreeSet::new();
    for (row, on_devices) in rows() {
        let [one, other] = row.values.map(|value| text(row, value, on_devices, ""));
        let name = format!("{} {}", row.opcode, row.attribute);
        assert_ne!(one, other, "{name}");
        let mode = if name == "sort is_stable" { CPU } else { MODE };
        assert!(proven_in(mode, &one, &one) && proven_in(mode, &other, &other), "{name}");
        assert!(!proven_in(mode, &one, &other), "{name}: {} and {}", row.values[0], row.values[1]);
        for text in [one, other] {
            let program = import(&text).program;
            seen.extend(program.computations.iter().flat_map(|c| &c.instructions).map(|i| variant(&i.op)));
        }
    }
    // What a row is said to change is in its program.
    for (name, fields) in OPERATIONS.iter().filter(|(_, fields)| fields.iter().any(|(_, opcode, _)| !opcode.is_empty()))
    {
        assert!(seen.contains(name), "{name}: {fields:?}");
    }
}

/// The machine's bits depend on an attribute if values do: transforms, systems and products of rows in groups.
#[test]
fn other_values_of_an_attribute_are_other_bits() {
    let mut seen = BTreeSet::new();
    for row in on_one_device().filter(|row| ["fft", "triangular-solve", "ragged-dot"].contains(&row.opcode)) {
        let bits = |value: &str| {
            let import = import(&text(row, value, false, ""));
            let shapes = import.program.entry().parameter_shapes();
            let argument = |(at, shape): (usize, &&ulpgate::ir::Shape)| {
                let numbers = (0..shape.elements()).map(|i| 0.3 + ((7 * at + i) as f64 * 0.737).sin());
                let data = match shape.element_type() {
                    // Rows of two groups.
                    dtype if !dtype.is_float() => Data::from_i64s(dtype, &[1, 2]),
                    dtype => Data::from_f64s(dtype, &numbers.collect::<Vec<f64>>()),
                };
                Tensor::new(shape.dims(), data.unwrap())
            };
            let arguments: Vec<Tensor> = shapes.iter().enumerate().map(argument).collect();
            evaluate(&import.program, &MODE.parse::<Mode>().unwrap(), &arguments).unwrap()
        };
        let [one, other] = row.values.map(bits);
        assert_ne!(one, other, "{} {}", row.opcode, row.attribute);
        seen.insert(row.opcode);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn an_attribute_that_nothing_follows_is_compared_wherever_it_stands() {
    for (row, on_devices) in rows() {
        let of = |more: &str| text(row, row.values[0], on_devices, more);
        for (one, other) in [
            (", colour=red", ", colour=blue"),
            (", colour=red", ""),
            (", frontend_attributes={colour=\"red\"}", ", frontend_attributes={colour=\"blue\"}"),
            (", metadata={op_name=\"a\" colour=1}", ", metadata={op_name=\"a\" colour=2}"),
        ] {
            assert!(proven(&of(one), &of(one)), "{} {one}", row.opcode);
            assert!(!proven(&of(one), &of(other)), "{} {one} {other}", row.opcode);
        }
        let (one, other) =
            (", metadata={op_name=\"a\" source_line=1}, control-predecessors={x}", ", metadata={op_name=\"b\"}");
        assert!(proven(&of(one), &of(other)), "{} {one} {other}", row.opcode);
    }
    let exponential = |header: &str, computation: &str, more: &str| {
        format!(
            "HloModule m{header}\nf {{ a = f32[4] parameter(0)\n ROOT r = f32[4] exponential(a) }}{computation}\n\
             ENTRY main {{\n x = f32[4] parameter(0)\n ROOT r = f32[4] call(x), to_apply=f{more}\n}}\n"
        )
    };
    let plain = exponential("", "", "");
    for other in [
        exponential(", speed=1", "", ""),
        exponential(", frontend_attributes={speed=\"1\"}", "", ""),
        exponential("", ", speed=1", ""),
        exponential("", ", execution_thread=\"sparsecore\"", ""),
        exponential("", "", ", speed=1"),
        exponential("", "", ", backend_config={\"speed\":1}"),
        exponential("", "", ", backend_config={\"flag_configs\":[{\"flag_type\":\"FAST\",\"value\":1}]}"),
        exponential("", "", ", backend_config={\"window_config\":{\"speed\":1}}"),
        // Which of two values counts is not known, whatever the key is.
        exponential("", "", ", backend_config={\"retry_config\":{},\"retry_config\":{}}"),
    ] {
        assert!(!proven(&plain, &other) && !proven(&other, &plain) && proven(&other, &other), "{other}");
    }
    // Integers are the same on every unit, a sum of them in any order too.
    let counted = |thread: &str, start: &str, element: &str| {
        format!(
            "HloModule m\nadd {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n ROOT s = {element}[] add(a, b) }}{thread}\n\
             f {{ x = {element}[4] parameter(0)\n i = s32[3,1] parameter(1)\n u = {element}[3] parameter(2)\n \
             ROOT r = {element}[4] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, \
             scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add }}{thread}\n\
             ENTRY main {{\n x = {element}[4] parameter(0)\n i = s32[3,1] parameter(1)\n u = {element}[3] parameter(2)\n \
             s = (({element}[4], s32[3,1], {element}[3]), {element}[4], u32[]) call-start(x, i, u), to_apply=f{start}\n \
             ROOT r = {element}[4] call-done(s)\n}}\n"
        )
    };
    let (thread, start) = (", execution_thread=\"sparsecore\"", ", async_execution_thread=\"sparsecore\"");
    assert!(proven(&counted("", "", "s32"), &counted(thread, start, "s32")));
    assert!(!proven(&counted("", "", "f32"), &counted(thread, start, "f32")));
    for other in [
        exponential(", is_scheduled=true", "", ""),
        exponential("", ", execution_thread=\"main\"", ""),
        exponential("", "", ", backend_config={\"retry_config\":{\"retry_count\":\"1\"},\"flag_configs\":[]}"),
    ] {
        assert!(proven(&plain, &other), "{other}");
    }
}

/// A setting of a value that another one is computed from is no setting of the other, and one of a reducer is one of the
/// reduction.
#[test]
fn a_setting_is_one_of_its_own_value() {
    let pair = |a: &str, b: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n a = f32[4] exponential(x){a}\n \
             b = f32[4] exponential(y){b}\n ROOT r = f32[4] subtract(a, b)\n}}\n"
        )
    };
    let highest = ", result_accuracy={mode=highest}";
    assert!(!proven(&pair(highest, ""), &pair("", highest)));
    let elements = |a: &str, b: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n t = (f32[4], f32[4]) tuple(x, x)\n \
             a = f32[4] get-tuple-element(t), index=0{a}\n b = f32[4] get-tuple-element(t), index=1{b}\n \
             ROOT r = f32[4] subtract(a, b)\n}}\n"
        )
    };
    assert!(!proven(&elements(", colour=red", ""), &elements("", ", colour=red")));
    let reduced = |more: &str, reduce: &str| {
        format!(
            "HloModule m\nadd {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b){more} }}\n\
             ENTRY main {{\n x = f32[3,4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] {reduce}\n}}\n"
        )
    };
    let reduce = "reduce(x, z), dimensions={1}, to_apply=add";
    assert!(!proven(&reduced("", reduce), &reduced(", colour=red", reduce)));
}

#[test]
fn a_proof_over_a_sort_that_need_not_be_stable_says_so() {
    let row = on_one_device().find(|row| row.attribute == "is_stable").unwrap();
    let [one, other] = row.values.map(|value| import(&text(row, value, false, "")));
    let answer = compare(&one, &other, &of_mode(MODE)).unwrap();
    assert!(answer.rests_on.iter().any(|line| line.contains("keeps equal elements in order")), "{answer:?}");
}

#[test]
fn every_function_is_compared_by_the_accuracy_that_is_asked() {
    let ways = [
        "",
        ", result_accuracy={mode=highest}",
        ", result_accuracy={tolerance={atol=0,rtol=0,ulps=1}}",
        ", result_accuracy={tolerance={atol=0,rtol=0,ulps=2}}",
        ", result_accuracy={tolerance={atol=0,rtol=0.5,ulps=1}}",
        ", result_accuracy={tolerance={atol=0.5,rtol=0,ulps=1}}",
    ];
    let of = |unary: &Unary, way: &str| {
        format!("HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n ROOT r = f32[4] {}(x){way}\n}}\n", unary.name())
    };
    let is_of_floats = |unary: &&Unary| {
        parse(&of(unary, "")).is_ok_and(|module| lower(&module).is_ok_and(|import| import.program.outputs().len() == 1))
    };
    for unary in Unary::ALL.iter().filter(is_of_floats) {
        for (at, one) in ways.iter().enumerate() {
            for (other, way) in ways.iter().enumerate() {
                assert_eq!(proven(&of(unary, one), &of(unary, way)), at == other, "{} {one} {way}", unary.name());
            }
        }
        let default = of(unary, ", result_accuracy={mode=default}");
        assert!(proven(&of(unary, ""), &default), "{}", unary.name());
    }
}

/// An accuracy chooses the implementation where functions err within stated bounds: programs are the same where it is one, and part
/// by bits where it is not.
#[test]
fn an_accuracy_is_followed_where_functions_err() {
    let of = |way: &str| {
        format!("HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n ROOT r = f32[4] exponential(x){way}\n}}\n")
    };
    let [plain, highest] = ["", ", result_accuracy={mode=highest}"].map(of);
    // v6e's default implementation meets 2^-15; none of v5e does.
    let loose = of(", result_accuracy={tolerance={atol=1e-30,rtol=0.0001,ulps=0}}");
    let answer = |mode: &str, other: &str| compare(&import(&plain), &import(other), &of_mode(mode)).unwrap();
    let worst = "v6e/default/as-compiled+exp=worst";
    let same = answer(worst, &loose);
    assert!(matches!(same.verdict, Verdict::Same), "{same:?}");
    assert!(!same.rests_on.iter().any(|line| line.contains("result_accuracy")), "{same:?}");
    assert!(matches!(answer(worst, &highest).verdict, Verdict::Part(_)));
    // Nothing is stated of tpu7x, and correctly rounded functions have one implementation.
    for mode in ["v6e/default/as-compiled", "tpu7x/default/as-compiled+exp=worst"] {
        let Verdict::Open(missing) = answer(mode, &highest).verdict else { panic!("{mode}") };
        assert!(missing[0].contains("the machine follows no accuracy (`exp=worst` does"), "{missing:?}");
    }
}

/// Packed code is another function: no proof, and an input shows it.
#[test]
fn packed_code_is_no_plain_code() {
    let of = |count: u32| {
        format!(
            "HloModule m, is_scheduled=true\nf {{\n p = bf16[512,128] parameter(0)\n n = bf16[512,128] negate(p)\n \
             ROOT e = bf16[512,128] exponential(n)\n}}\nENTRY main {{\n x = bf16[512,128] parameter(0)\n \
             ROOT r = bf16[512,128] fusion(x), kind=kLoop, calls=f, \
             backend_config={{\"bf16_mapped_op_count\":{{\"integer\":\"{count}\"}}}}\n}}\n"
        )
    };
    let [plain, packed] = [1, 2].map(of);
    for (mode, follows) in [("tpu7x/default/as-compiled", true), ("v6e/default/as-compiled", false)] {
        let answer = compare(&import(&plain), &import(&packed), &Settings { trials: 4, ..of_mode(mode) }).unwrap();
        let is_as_expected =
            if follows { matches!(answer.verdict, Verdict::Part(_)) } else { matches!(answer.verdict, Verdict::Same) };
        assert!(is_as_expected, "{mode} {answer:?}");
    }
}

#[test]
fn two_algorithms_of_a_collective_are_not_proven() {
    let of = |config: &str| {
        let more = if config.is_empty() { String::new() } else { format!(", backend_config={config}") };
        text(&ON_DEVICES[0], ON_DEVICES[0].values[0], true, &more)
    };
    let algorithm = |emitter: &str, strategy: &str, debug: &str| {
        of(&format!(
            "{{\"collective_algorithm_config\":{{\"emitter\":\"{emitter}\",\"strategy\":\"{strategy}\",\"debug\":\"{debug}\"}}}}"
        ))
    };
    let plain = algorithm("RotatedPincerEmitter", "UniDirectionNDRingStrategy", "colors:4");
    assert!(proven(&plain, &plain));
    for other in [
        algorithm("SinglePhaseRingSumEmitter", "UniDirectionNDRingStrategy", "colors:4"),
        algorithm("RotatedPincerEmitter", "UniDirection1DRingStrategy", "colors:4"),
        algorithm("RotatedPincerEmitter", "UniDirectionNDRingStrategy", "colors:2"),
        of(""),
    ] {
        assert!(!proven(&plain, &other), "{other}");
    }
}

#[test]
fn two_values_of_a_constant_are_two_programs() {
    let of = |value: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[] parameter(0)\n c = f32[] constant({value})\n ROOT r = f32[] add(x, c)\n}}\n"
        )
    };
    assert!(!proven(&of("1"), &of("1.0000001")) && !proven(&of("0"), &of("-0")) && proven(&of("1"), &of("1.0")));
}

#[test]
fn two_functions_are_two_programs() {
    let program = |dtype: &str, to: &str, operation: &str| {
        let text = format!(
            "HloModule m\nENTRY main {{\n x = {dtype}[4] parameter(0)\n y = {dtype}[4] parameter(1)\n ROOT r = {to}[4] {operation}\n}}\n"
        );
        parse(&text).ok().filter(|module| lower(module).is_ok()).map(|_| text)
    };
    for dtype in ["f32", "bf16", "f64", "s32", "u8"] {
        let unary = Unary::ALL.iter().filter_map(|one| program(dtype, dtype, &format!("{}(x)", one.name())));
        let binary = Binary::ALL.iter().filter_map(|one| program(dtype, dtype, &format!("{}(x, y)", one.name())));
        let compare = Compare::ALL
            .iter()
            .filter_map(|one| program(dtype, "pred", &format!("compare(x, y), direction={}", one.name())));
        for list in [unary.collect::<Vec<_>>(), binary.collect(), compare.collect()] {
            assert!(list.len() > 3, "{dtype}");
            for (at, one) in list.iter().enumerate() {
                // A TPU has no f64.
                let mode = if dtype == "f64" { "cpu/f32/off" } else { MODE };
                list[at + 1..].iter().for_each(|other| assert!(!proven_in(mode, one, other), "{one}{other}"));
            }
        }
    }
}

/// Of every two formats one is wider or their numbers differ.
#[test]
fn two_formats_of_a_rounding_are_two_programs() {
    let of = |exponent: usize, mantissa: usize| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n \
             ROOT r = f32[4] reduce-precision(x), exponent_bits={exponent}, mantissa_bits={mantissa}\n}}\n"
        )
    };
    let formats: Vec<(usize, usize)> =
        [2, 4, 5, 6, 8].iter().flat_map(|e| [1, 3, 7, 9, 10, 23].map(|m| (*e, m))).collect();
    for (at, one) in formats.iter().enumerate() {
        for other in &formats[at + 1..] {
            assert!(!proven(&of(one.0, one.1), &of(other.0, other.1)), "{one:?} {other:?}");
        }
    }
    let rounded = |dtype: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n c = {dtype}[4] convert(x)\n ROOT r = f32[4] convert(c)\n}}\n"
        )
    };
    let narrow =
        ["bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz", "f32"];
    for (at, one) in narrow.iter().enumerate() {
        narrow[at + 1..].iter().for_each(|other| assert!(!proven(&rounded(one), &rounded(other)), "{one} {other}"));
    }
}

/// Of arrays of 4 and 6 rows all rows are compared: those that are left over beside whole blocks as well.
#[test]
fn rows_left_over_are_compared() {
    let scaled = |rows: usize, factor: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[{rows},8] parameter(0)\n a = f32[4,8] slice(x), slice={{[0:4],[0:8]}}\n{}}}\n",
            match rows {
                4 => " ROOT r = f32[4,8] exponential(a)\n".to_string(),
                _ => format!(
                    " b = f32[2,8] slice(x), slice={{[4:6],[0:8]}}\n e = f32[4,8] exponential(a)\n f = f32[2,8] {factor}(b)\n \
                     ROOT r = f32[6,8] concatenate(e, f), dimensions={{0}}\n"
                ),
            }
        )
    };
    for (one, other) in [(4, 6), (6, 4)] {
        assert!(proven(&scaled(one, "exponential"), &scaled(other, "exponential")));
        assert!(!proven(&scaled(one, "tanh"), &scaled(other, "tanh")));
    }
}
