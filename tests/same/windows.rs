//! Sums of windows, and of rows.

use crate::{ask, is_same};

/// The sum of each half of a row, alone or in a fusion that XLA:CPU leaves to its library.
fn halves(fused: bool) -> String {
    let region = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n";
    let sum = "x = f32[8,64] parameter(0)\n z = f32[] constant(0)\n \
        ROOT w = f32[8,2] reduce-window(x, z), window={size=1x32 stride=1x32}, to_apply=add\n";
    match fused {
        false => format!("{region}ENTRY main {{\n {sum}}}\n"),
        true => format!(
            "{region}fused {{\n {sum}}}\nENTRY main {{\n x = f32[8,64] parameter(0)\n \
             ROOT f = f32[8,2] fusion(x), kind=kCustom, calls=fused\n}}\n"
        ),
    }
}

/// The library adds in lanes what XLA's own loop adds one element after the other; a TPU has one order for both.
#[test]
fn windows_of_a_library_are_no_chains() {
    let xla_cpu = "xla-cpu/default/as-compiled";
    assert!(!is_same(&ask(&halves(false), &halves(true), xla_cpu, &[])));
    assert!(is_same(&ask(&halves(true), &halves(true), xla_cpu, &[])));
    assert!(is_same(&ask(&halves(false), &halves(true), "v5e/default/as-compiled", &[])));
}

/// A row of -0 has the sum -0 from an init that is -0, and +0 from +0.
#[test]
fn the_sign_of_a_zero_init_counts() {
    let region = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n";
    let sums = [
        "f32[] reduce(x, z), dimensions={0}, to_apply=add",
        "f32[40] reduce-window(x, z), window={size=40 pad=39_0}, to_apply=add",
        "f32[41] reduce-window(x, z), window={size=2 pad=1_1}, to_apply=add",
    ];
    for (sum, mode) in sums.into_iter().flat_map(|sum| MODES_OF_SUMS.map(|mode| (sum, mode))) {
        let program = |init: &str| {
            format!("{region}ENTRY e {{\n x = f32[40] parameter(0)\n z = f32[] constant({init})\n ROOT s = {sum} }}\n")
        };
        assert!(!is_same(&ask(&program("-0"), &program("0"), mode, &[])), "{sum} in {mode}");
        assert!(is_same(&ask(&program("-0"), &program("-0"), mode, &[])), "{sum} in {mode}");
    }
}

const MODES_OF_SUMS: [&str; 3] = ["v5e/default/off", "cpu/default/off+reduce=tree32", "xla-cpu/default/as-compiled"];
