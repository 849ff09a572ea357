//! Operations on elements.

use crate::ir::Binary;
use crate::machine::vector::{Reciprocal, VectorUnit, arithmetic_type};
use crate::tensor::DType;

use super::element::{Both, Element, OWN, own_rounding, wider};

/// A result of arithmetic as the unit stores it in `dtype`: rounded to the type that it computes in, zero below
/// `floor`, and rounded to its own where that is another.
fn stored(element: Element, dtype: DType, floor: f64) -> Element {
    // A narrow type is computed in f32 and rounded again when it is stored: two roundings.
    let computed = arithmetic_type(dtype);
    let round = |e: Element, dtype: DType| dtype.format().map_or(e, |format| e.round(format));
    let element = round(element, computed).flush(floor);
    if dtype == computed { element } else { round(element, dtype) }
}

/// An exponential.
pub fn exponential(x: Element, dtype: DType, unit: &VectorUnit) -> Element {
    let x = x.flush(unit.floor(dtype));
    let e = core_math::exp(x.v);
    if !x.v.is_finite() || !e.is_finite() {
        return if x.is_exact() && !x.v.is_finite() { Element::exact(e) } else { Element::unknown(e) };
    }
    let promise = unit.exponential(dtype);
    // exp(v + d) - exp(v) <= exp(v) (exp(|d|) - 1).
    let spread = |d: f64| if d == 0.0 { 0.0 } else { e * core_math::expm1(d) * (1.0 + 4.0 * OWN) };
    let machine = x.machine.map(spread).map(|m| m + promise.relative * (e + m));
    stored(Element { v: e, machine, own: spread(x.own) + own_rounding(e) }, dtype, promise.floor)
}

/// An operation of two operands; `by_one_number` says whether the second is a broadcast or a constant. `None` where no bound
/// is derived for it.
pub fn binary(
    binary: Binary,
    [x, y]: [Element; 2],
    dtype: DType,
    by_one_number: bool,
    unit: &VectorUnit,
) -> Option<Element> {
    let floor = unit.floor(dtype);
    let (x, y) = (x.flush(floor), y.flush(floor));
    let (a, b) = (x.v, y.v);
    let v = match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Maximum | Binary::Minimum => return Some(x.extreme(y, binary == Binary::Maximum)),
        _ => return None,
    };
    let reciprocal = unit.reciprocal(dtype, by_one_number).filter(|_| binary == Binary::Divide).map(|r| inverse(y, r));
    if !a.is_finite() || !b.is_finite() || !v.is_finite() {
        // A reciprocal that may be zero or infinite makes NaN of what a division keeps.
        let sure = is_sure(binary, x, y) && reciprocal.is_none_or(|r| r.keeps_its_sign());
        return Some(if sure { Element::exact(v) } else { Element::unknown(v) });
    }
    let propagate = |da: f64, db: f64| match binary {
        Binary::Add | Binary::Subtract => da + db,
        Binary::Multiply => a.abs() * db + b.abs() * da + da * db,
        // |(a+da)/(b+db) - a/b| <= (|da| + |a/b| |db|) / (|b| - |db|).
        _ if db < b.abs() => (da + v.abs() * db) / (b.abs() - db),
        _ => f64::NAN,
    };
    let mut machine: Both = [0, 1].map(|kind| propagate(x.machine[kind], y.machine[kind]));
    if binary == Binary::Divide {
        // A quotient that errs within its bound lies within that of the correctly rounded one.
        let published = |m: f64| {
            unit.published_quotient(dtype, v.abs() + m, b.abs() + y.machine[0].max(y.machine[1])).unwrap_or(0.0)
        };
        machine = machine.map(|m| m + published(m));
        if let Some(r) = reciprocal {
            let by_reciprocal = |kind: usize| {
                let (da, dr) = (x.machine[kind], r.machine[kind]);
                a.abs() * dr + r.v.abs() * da + da * dr + own_rounding(v)
            };
            machine = [0, 1].map(|kind| match unit.perturbs_quotients(dtype) {
                // Of both, because what the reciprocal makes zero stays so.
                true => wider(machine[kind], by_reciprocal(kind)),
                false => by_reciprocal(kind),
            });
        }
    }
    // Most sums of narrow numbers are exact in f64: without this every one of them would cost a rounding.
    let own = propagate(x.own, y.own) + if is_exact_f64(binary, [a, b], v) { 0.0 } else { own_rounding(v) };
    Some(stored(Element { v, machine, own }, dtype, floor))
}

/// Whether an f64 sum or product `v` of two numbers is not rounded. An element times its scale is such a product.
fn is_exact_f64(binary: Binary, [a, b]: [f64; 2], v: f64) -> bool {
    match binary {
        Binary::Add | Binary::Subtract => {
            // TwoSum's error: the sum is exact where it is 0.
            let b = if binary == Binary::Subtract { -b } else { b };
            let t = v - a;
            (a - (v - t)) + (b - t) == 0.0
        }
        // Far from the smallest number an f64 holds the error of a product.
        Binary::Multiply => v.abs() >= 2f64.powi(-900) && a.mul_add(b, -v) == 0.0,
        _ => false,
    }
}

/// The reciprocal of a divisor, as the unit computes it.
fn inverse(y: Element, reciprocal: Reciprocal) -> Element {
    let b = y.v.abs();
    let off = |db: f64| if db < b { db / b / (b - db) } else { f64::NAN };
    let mut inverse =
        Element { v: 1.0 / y.v, machine: if y.is_exact() { [0.0; 2] } else { y.machine.map(off) }, own: 0.0 };
    if !b.is_finite() || b == 0.0 {
        return inverse;
    }
    for format in reciprocal.types.iter().filter_map(|dtype| dtype.format()) {
        inverse = inverse.round(format).within(format).flush(reciprocal.floor);
    }
    inverse
}

/// Whether machine and truth surely have the same infinity, NaN or zero, if an operand is not finite or the second is
/// exactly zero. Finite results are taken to stay so: leaving the range is a finding.
fn is_sure(binary: Binary, x: Element, y: Element) -> bool {
    if [x, y].iter().any(|e| e.v.is_nan() && e.is_exact()) {
        return true;
    }
    let sure = |e: Element| match binary {
        _ if !e.v.is_finite() => e.is_exact(),
        Binary::Add | Binary::Subtract => e.machine.iter().all(|m| m.is_finite()),
        _ => e.keeps_its_sign(),
    };
    let by_zero = binary == Binary::Divide && y.v == 0.0 && y.is_exact();
    (!x.v.is_finite() || !y.v.is_finite() || by_zero) && sure(x) && sure(y)
}
