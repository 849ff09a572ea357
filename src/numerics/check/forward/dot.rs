//! Dots.

use std::borrow::Cow;

use crate::ir::{Computation, DotPlan, Op, Shape, ValueId, movement};
use crate::machine::DotSite;
use crate::machine::mxu::{DotPromise, Intake};
use crate::num::BF16;
use crate::tensor::DType;

use super::super::scale::{magnitudes, product};
use super::element::{Both, Element, own_rounding, total, wider};
use super::{Forward, Refusal, Value, gamma};

/// The errors of a dot's results; `own` is that of the operands, `None` where they are exact.
pub struct DotErrors {
    plan: DotPlan,
    machine: Vec<Both>,
    own: Option<Vec<f64>>,
}

impl DotErrors {
    /// The bounds where v is the exact value itself.
    pub fn bounds(self) -> Vec<Both> {
        let DotErrors { machine, own, .. } = self;
        let own = |i: usize| own.as_ref().map_or(0.0, |own| own[i]);
        machine.into_iter().enumerate().map(|(i, machine)| machine.map(|m| total(m, own(i)))).collect()
    }

    /// The values that a dot gives to others, in f32 or rounded to the narrower `dtype`. `operands` are of these shapes.
    pub fn elements(self, operands: [&[Element]; 2], shapes: [&Shape; 2], dtype: DType) -> Vec<Element> {
        let [x, y] = laid_out(&self.plan, operands, shapes);
        let v = |elements: &[Element]| elements.iter().map(|e| e.v).collect::<Vec<f64>>();
        let exact = products(&v(&x), &v(&y), &self.plan);
        let own = |i: usize| self.own.as_ref().map_or(0.0, |own| own[i]);
        let element = |(i, v): (usize, f64)| {
            // The sum is exact, then rounded to f64.
            let special = !v.is_finite() && self.machine[i] == [0.0; 2];
            let own = own(i) + if special { 0.0 } else { own_rounding(v) };
            let element = Element { v, machine: self.machine[i], own };
            dtype.format().filter(|_| dtype != DType::F32).map_or(element, |format| element.round(format))
        };
        exact.into_iter().enumerate().map(element).collect()
    }
}

impl Forward<'_> {
    /// The errors of a dot, whatever its contracting and batch dims.
    pub fn dot(&self, value: ValueId, operands: [&Value; 2], shapes: [&Shape; 2]) -> Result<DotErrors, Refusal> {
        let instruction = &self.program.entry().instructions[value];
        let Op::Dot { dims, .. } = &instruction.op else {
            return Err(Refusal("the value is no dot".to_string()));
        };
        let plan = DotPlan::new(dims, shapes[0].dims(), shapes[1].dims());
        let dtypes = shapes.map(|shape| shape.dtype());
        let entry = self.program.entry();
        let ids = &instruction.operands;
        // Operands that are bf16 already lose nothing in a pass: the bound is that of exact products.
        let whole = (0..2).all(|side| holds_bf16(entry, ids[side]) || bf16_valued(operands[side]));
        let promise = self.mode.dot_promise(&DotSite::of(instruction, dtypes, &plan), whole);
        let gamma = gamma(promise.chain, promise.products, promise.unit_roundoff)?;
        let bound = |scale: f64, propagated: Both| error(&promise, gamma, scale, propagated);
        let enter =
            |operand: &Value| operand.elements().iter().map(|e| take_in(*e, &promise)).collect::<Vec<Element>>();
        let exact = operands.iter().all(|o| o.all(|e| take_in(e, &promise).is_exact()));
        // An infinity or NaN comes out as it is where no operand lost anything on its way in.
        let special = if exact && dtypes[0] != Some(DType::F64) { [0.0; 2] } else { [f64::NAN; 2] };
        // Sums of magnitudes of exact operands are those that scaled metrics have computed already.
        if let (Value::Exact(_), Value::Exact(_), true) = (operands[0], operands[1], exact)
            && let Some(scale) = self.scale.at(value)
        {
            let bound = |scale: &f64| if scale.is_finite() { bound(*scale, [0.0; 2]) } else { special };
            return Ok(DotErrors { plan, machine: scale.iter().map(bound).collect(), own: None });
        }
        let entered = operands.map(enter);
        let [x, y] = &laid_out(&plan, [&entered[0], &entered[1]], shapes);
        let column = |of: &[Element], part: fn(&Element) -> f64| of.iter().map(part).collect::<Vec<f64>>();
        let [a, b] = [x, y].map(|side| magnitudes(&column(side, |e| e.v)));
        let scale = products(&a, &b, &plan);
        // The operands' own errors, each at most |A| dB + dA |B| + dA dB.
        let propagated = |part: fn(&Element) -> f64| -> Vec<f64> {
            let [dx, dy] = [x, y].map(|side| column(side, part));
            // Three products less, where no operand has an error of its own.
            if dx.iter().chain(&dy).all(|e| *e == 0.0) {
                return vec![0.0; scale.len()];
            }
            let parts = [products(&a, &dy, &plan), products(&dx, &b, &plan), products(&dx, &dy, &plan)];
            (0..scale.len()).map(|i| parts[0][i] + parts[1][i] + parts[2][i]).collect()
        };
        let [certain, probable] = [propagated(|e| e.machine[0]), propagated(|e| e.machine[1])];
        let bound = |i: usize| if scale[i].is_finite() { bound(scale[i], [certain[i], probable[i]]) } else { special };
        let machine = (0..scale.len()).map(bound).collect();
        let own = Some(propagated(|e| e.own));
        Ok(DotErrors { plan, machine, own })
    }
}

/// Operands in the order of `batch` products `[m,k] x [k,n]`: batch, free, contracting, and batch, contracting, free.
fn laid_out<'a>(plan: &DotPlan, operands: [&'a [Element]; 2], shapes: [&Shape; 2]) -> [Cow<'a, [Element]>; 2] {
    let orders = [&plan.lhs_transpose, &plan.rhs_transpose];
    [0, 1].map(|side| match orders[side] {
        None => Cow::Borrowed(operands[side]),
        Some(order) => {
            let dims = shapes[side].dims();
            let transposed: Vec<usize> = order.iter().map(|dim| dims[*dim]).collect();
            let transpose = Op::Transpose { permutation: order.clone() };
            Cow::Owned(movement::apply(&transpose, &[(operands[side], dims)], &[], &[], &transposed))
        }
    })
}

/// The exact products of each place of the batch, rounded to f64: those of a dot's operands as [`laid_out`].
fn products(lhs: &[f64], rhs: &[f64], plan: &DotPlan) -> Vec<f64> {
    let (of_lhs, of_rhs, of_both) = (plan.m * plan.k, plan.k * plan.n, plan.m * plan.n);
    let mut out = Vec::with_capacity(plan.batch * of_both);
    for at in 0..plan.batch {
        let (lhs, rhs) = (&lhs[at * of_lhs..][..of_lhs], &rhs[at * of_rhs..][..of_rhs]);
        out.extend(product(lhs, rhs, [plan.m, plan.k, plan.n]));
    }
    out
}

/// The error of a dot whose products have the magnitude `scale` in all, and whose operands' errors come to `propagated`.
pub(super) fn error(promise: &DotPromise, gamma: Both, scale: f64, propagated: Both) -> Both {
    [0, 1].map(|kind| {
        let whole = scale + propagated[kind];
        // Roundings are of what the machine adds up: the truth's magnitudes, and the errors that came before.
        let rounding = gamma[kind] * (1.0 + promise.spread) * whole;
        propagated[kind] + promise.split * whole + rounding + (1.0 + gamma[kind]) * promise.lost
    })
}

/// An operand as it enters the unit.
pub(super) fn take_in(mut element: Element, promise: &DotPromise) -> Element {
    match promise.intake {
        Intake::Flushed(floor) => element.flush(floor),
        Intake::Split { below, at_most } => {
            let v = element.v.abs();
            let short = |m: f64| v.is_finite() && !(v - m >= below || m == 0.0 && BF16.contains(v));
            element.machine = element.machine.map(|m| if short(m) { m + at_most } else { m });
            element
        }
    }
}

/// Whether the machine surely has the values that the pass carries, and all are numbers of bf16.
fn bf16_valued(value: &Value) -> bool {
    value.all(|e| wider(e.machine[0], e.machine[1]) == 0.0 && BF16.contains(e.v))
}

/// Whether the machine's values are numbers of bf16 by the type that they were rounded to, however far off they are.
fn holds_bf16(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    let source = || holds_bf16(computation, instruction.operands[0]);
    match (&instruction.op, instruction.shape.dtype()) {
        (_, Some(DType::BF16)) => true,
        (Op::Convert, Some(DType::F32)) => source(),
        (Op::ReducePrecision { exponent_bits: ..=8, mantissa_bits: ..=7 }, Some(DType::F32)) => true,
        (Op::Copy | Op::Reshape | Op::Transpose { .. } | Op::Broadcast { .. } | Op::OptimizationBarrier, _) => source(),
        _ => false,
    }
}
