//! Programs in which two operands, or two results, have changed places, or one operand is another: none is proven the same where the
//! operation tells them apart.

use ulpgate::same::{Settings, Verdict, compare};

use super::{read, settings};

const MODES: [&str; 2] = ["v5e/default/as-compiled", "xla-cpu/default/as-compiled"];

/// Whether the proof alone, without an input, finds two programs the same.
fn is_proven(one: &str, other: &str, mode: &str) -> bool {
    let settings = Settings { trials: 0, elements: 0, ..settings(mode) };
    let answer = compare(&read(one), &read(other), &settings).unwrap_or_else(|error| panic!("{error}\n{one}\n{other}"));
    matches!(answer.verdict, Verdict::Same)
}

/// A program over x, y and z of one type that gives `last`; `less` compares by two keys.
fn program(dtype: &str, last: &str) -> String {
    format!(
        "HloModule m\nless {{\n a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n c = {dtype}[] parameter(2)\n \
         d = {dtype}[] parameter(3)\n f = pred[] compare(a, b), direction=LT\n g = pred[] compare(a, b), direction=EQ\n \
         h = pred[] compare(c, d), direction=LT\n i = pred[] and(g, h)\n ROOT r = pred[] or(f, i)\n}}\nENTRY main {{\n \
         x = {dtype}[6] parameter(0)\n y = {dtype}[6] parameter(1)\n z = {dtype}[6] parameter(2)\n {last}\n}}\n"
    )
}

#[test]
fn other_operands_are_not_proven() {
    let floats = ["divide", "power", "atan2", "remainder", "subtract"];
    let integers = ["divide", "remainder", "subtract", "shift-left", "shift-right-arithmetic", "shift-right-logical"];
    let types = [
        ("f32", &floats[..]),
        ("f64", &floats[..]),
        ("bf16", &floats[..]),
        ("s32", &integers[..]),
        ("u8", &integers[..]),
    ];
    for (dtype, opcodes) in types {
        let binary = opcodes.iter().map(|opcode| format!("ROOT r = {dtype}[6] {opcode}($)"));
        let compared =
            ["LT", "LE", "GT", "GE"].map(|direction| format!("ROOT r = pred[6] compare($), direction={direction}"));
        let picked = [
            format!("p = pred[6] compare(z, x), direction=NE\n ROOT r = {dtype}[6] select(p, $)"),
            format!("ROOT r = {dtype}[6] clamp(z, $)"),
            format!("ROOT r = {dtype}[12] concatenate($), dimensions={{0}}"),
        ];
        for last in binary.chain(compared).chain(picked) {
            let one = program(dtype, &last.replace('$', "x, y"));
            // A TPU has no f64.
            for mode in MODES.into_iter().filter(|mode| dtype != "f64" || mode.starts_with("xla")) {
                assert!(is_proven(&one, &one, mode), "{last} in {mode}");
                for operands in ["y, x", "x, z", "z, y"] {
                    let other = program(dtype, &last.replace('$', operands));
                    assert!(!is_proven(&one, &other, mode), "{last} of {operands} in {mode}");
                }
            }
        }
    }
}

#[test]
fn results_that_change_places_are_not_proven() {
    for dtype in ["f32", "bf16", "s32"] {
        let all = |[first, second]: [usize; 2]| {
            program(
                dtype,
                &format!(
                    "t = ({dtype}[6], {dtype}[6]) sort(x, y), dimensions={{0}}, to_apply=less, is_stable=true\n \
                     a = {dtype}[6] get-tuple-element(t), index={first}\n b = {dtype}[6] get-tuple-element(t), index={second}\n \
                     ROOT r = ({dtype}[6], {dtype}[6]) tuple(a, b)"
                ),
            )
        };
        for mode in MODES {
            assert!(is_proven(&all([0, 1]), &all([0, 1]), mode), "{dtype} in {mode}");
            assert!(!is_proven(&all([0, 1]), &all([1, 0]), mode), "{dtype} in {mode}");
        }
    }
}

/// Places behind a start that only the run knows: a slice is not its reverse, and an update keeps what lies below it.
#[test]
fn places_behind_an_unknown_start_are_apart() {
    let with_start = |last: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[6] parameter(0)\n y = f32[6] parameter(1)\n z = f32[2] parameter(2)\n \
             i = s32[] parameter(3)\n {last}\n}}\n"
        )
    };
    let slice = "f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}";
    let pairs = [
        [format!("ROOT s = {slice}"), format!("s = {slice}\n ROOT r = f32[2] reverse(s), dimensions={{0}}")],
        ["x", "y"].map(|below| format!("ROOT r = f32[6] dynamic-update-slice({below}, z, i)")),
    ];
    for [one, other] in pairs.map(|pair| pair.map(|last| with_start(&last))) {
        for mode in MODES {
            assert!(is_proven(&one, &one, mode), "in {mode}, a program and itself:\n{one}");
            assert!(!is_proven(&one, &other, mode), "in {mode}:\n{one}\n{other}");
        }
    }
}
