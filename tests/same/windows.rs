//! Sums of windows that a library takes.

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
