use crate::explore::tests::settings;
use crate::explore::{allowance, permitted};
use crate::hlo::{lower, parse};

use super::*;

/// The latitude of a value of a program over f32 that `lines` make of `x`, `y` and `z`.
fn latitude(lines: &str, name: &str) -> Latitude {
    let region = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n";
    let parameters = "x = f32[6,5] parameter(0)\n y = f32[6,5] parameter(1)\n z = f32[6,5] parameter(2)";
    let text = format!("HloModule m\n{region}ENTRY e {{\n {parameters}\n {lines}\n}}\n");
    let program = lower(&parse(&text).unwrap()).unwrap().program;
    let settings = settings("cpu/f32/off", &["algebra", "order"]);
    let choices = permitted(&program, &settings);
    let value = choices.program.entry().instructions.iter().position(|instruction| instruction.name == name).unwrap();
    allowance::latitudes(&choices, &settings).swap_remove(value)
}

/// The share of a group is that of as many roundings as it has operations, two more for each constant and two for their product.
#[test]
fn a_group_errs_by_its_operations_and_constants() {
    let (unit, quotient) = (F32.unit_roundoff(), 2f64.powi(-22));
    let constant = |name: &str, value: f64| {
        format!("s{name} = f32[] constant({value})\n {name} = f32[6,5] broadcast(s{name}), dimensions={{}}")
    };
    let (k, l) = (constant("k", 0.1), constant("l", 0.7));
    for (lines, count, error, exponents) in [
        (format!("{k}\n {l}\n a = f32[6,5] multiply(x, k)\n ROOT r = f32[6,5] multiply(a, l)"), 8, 0.0, 0.0),
        ("a = f32[6,5] divide(x, y)\n ROOT r = f32[6,5] divide(a, z)".to_string(), 4, quotient, 0.0),
        ("a = f32[6,5] power(x, y)\n ROOT r = f32[6,5] divide(z, a)".to_string(), 5, quotient, 0.0),
        (
            "a = f32[6,5] exponential(x)\n b = f32[6,5] exponential(y)\n ROOT r = f32[6,5] multiply(a, b)".to_string(),
            5,
            0.0,
            256.0 * unit,
        ),
    ] {
        let Latitude::Rounded(rounding) = latitude(&lines, "r") else { panic!("{lines}") };
        let expected = (gamma(count, unit + error).unwrap() + exponents).next_up();
        assert_eq!(rounding.forms.map(|forms| forms.share), Some(expected), "{lines}");
    }
}

/// The logarithm of a group's result errs by the group's share beside its own errors; that of a power may be anything.
#[test]
fn a_logarithm_errs_by_so_much_and_not_by_a_share_alone() {
    let Latitude::Rounded(rounding) = latitude("a = f32[6,5] exponential(y)\n ROOT r = f32[6,5] log(a)", "r") else {
        panic!()
    };
    let forms = rounding.forms.unwrap();
    assert!(forms.share > 0.0 && forms.absolute >= forms.share, "{forms:?}");
    let power = latitude("a = f32[6,5] power(x, y)\n ROOT r = f32[6,5] log(a)", "r");
    assert!(matches!(power, Latitude::Unknown), "{power:?}");
}

/// Signs are forgotten by sums with zero and products with a predicate, and by no others.
#[test]
fn sums_with_zero_and_products_with_a_predicate_forget_signs() {
    let flag = "k = pred[6,5] compare(x, y), direction=LT\n b = f32[6,5] convert(k)";
    let zero = "k = f32[] constant(0)\n b = f32[6,5] broadcast(k), dimensions={}";
    for (other, opcode, forgets) in [
        (flag, "multiply", true),
        (flag, "add", false),
        (zero, "add", true),
        (zero, "subtract", true),
        (zero, "multiply", false),
    ] {
        let found = latitude(&format!("{other}\n ROOT r = f32[6,5] {opcode}(x, b)"), "r");
        let Latitude::Rounded(rounding) = found else { panic!("{found:?}") };
        assert_eq!(rounding.forms.is_some_and(|forms| forms.forgets_signs), forgets, "{opcode} {other}");
    }
}

/// A sum that another sum adds up errs as one of all terms, and by the roundings between them.
#[test]
fn a_sum_of_sums_errs_as_one_sum() {
    let (unit, of_bf16) = (F32.unit_roundoff(), crate::num::BF16.unit_roundoff());
    for (between, relative) in
        [("c = f32[6] copy(s)", 2.0 * unit), ("n = bf16[6] convert(s)\n c = f32[6] convert(n)", 2.0 * of_bf16)]
    {
        let sums = format!(
            "k = f32[] constant(0)\n s = f32[6] reduce(x, k), dimensions={{1}}, to_apply=add\n {between}\n \
             ROOT r = f32[] reduce(c, k), dimensions={{0}}, to_apply=add"
        );
        let found = latitude(&sums, "s");
        let Latitude::Rounded(rounding) = &found else { panic!("{found:?}") };
        let share = rounding.additions.as_ref().map(|additions| additions.share);
        assert_eq!((share, rounding.relative), (gamma(30, unit), relative), "{between}");
    }
}
