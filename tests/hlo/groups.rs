//! Groups of values that `hlo show` calls by one name, and near misses that it must not call so.

use ulpgate::flow::{self, FindingKind, Flow};
use ulpgate::hlo::{lower, parse};

/// The flow of a program of f32[8], with maxima and sums as regions.
fn shown(body: &str) -> Flow {
    let text = format!(
        "HloModule m\nadd {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }}\n\
         max {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }}\n\
         narrow {{ a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n ROOT c = bf16[] add(a, b) }}\n\
         ENTRY e {{\n x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n low = f32[] constant(-inf)\n zero = f32[] constant(0)\n \
         {body}\n}}\n"
    );
    flow::flow(&lower(&parse(&text).unwrap()).unwrap(), false, &[])
}

fn has_role(flow: &Flow, role: &str) -> bool {
    flow.values.iter().any(|value| value.role.as_deref() == Some(role))
}

/// The exponentials of x less its maximum.
const EXPONENTIALS: &str = "m = f32[] reduce(x, low), dimensions={0}, to_apply=max\n mb = f32[8] broadcast(m), dimensions={}\n \
     c = f32[8] subtract(x, mb)\n e = f32[8] exponential(c)";

/// Sums of tiles are a sum of all; those of windows that overlap count numbers twice.
#[test]
fn sums_of_overlapping_windows_are_no_denominator() {
    for (window, sums, is_softmax) in [
        ("size=4 stride=4", 2, true),
        ("size=2 stride=2", 4, true),
        ("size=4 stride=2", 3, false),
        ("size=2 stride=1", 7, false),
    ] {
        let flow = shown(&format!(
            "{EXPONENTIALS}\n t = f32[{sums}] reduce-window(e, zero), window={{{window}}}, to_apply=add\n \
             s = f32[] reduce(t, zero), dimensions={{0}}, to_apply=add\n sb = f32[8] broadcast(s), dimensions={{}}\n \
             ROOT q = f32[8] divide(e, sb)"
        ));
        assert_eq!(has_role(&flow, "softmax quotient"), is_softmax, "{window}");
    }
}

/// A logarithm of a softmax's denominator is one of a log-softmax only where it is taken from the same shifted numbers.
#[test]
fn another_shift_is_no_log_softmax() {
    for (shifted, is_log_softmax) in [("c", true), ("y", false), ("x", false), ("mb", false)] {
        let flow = shown(&format!(
            "{EXPONENTIALS}\n s = f32[] reduce(e, zero), dimensions={{0}}, to_apply=add\n l = f32[] log(s)\n \
             lb = f32[8] broadcast(l), dimensions={{}}\n ROOT r = f32[8] subtract({shifted}, lb)"
        ));
        assert_eq!(has_role(&flow, "log_softmax result"), is_log_softmax, "{shifted}");
    }
}

/// A sum of one number only moves it, however narrow it is.
#[test]
fn a_sum_of_one_number_is_no_narrow_sum() {
    for (terms, is_told) in [(1, false), (2, true), (8, true)] {
        let flow = shown(&format!(
            "b = bf16[{terms},4] parameter(2)\n nil = bf16[] constant(0)\n \
             ROOT s = bf16[4] reduce(b, nil), dimensions={{0}}, to_apply=narrow"
        ));
        assert_eq!(flow.findings.iter().any(|found| found.kind == FindingKind::NarrowSum), is_told, "{terms}");
    }
}
