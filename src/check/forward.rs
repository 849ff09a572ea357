//! A-priori forward error bounds, composed operation by operation.
//!
//! For every element the pass carries an f64 value v with two bounds: `machine` bounds |computed - v| for any
//! computation that follows the declared mode, `own` bounds |exact - v|, the f64 evaluation's own error. Their sum
//! bounds |computed - exact|. Rules are the standard ones (Higham 2002, chapters 2 and 3): an operation propagates its
//! operands' bounds by its Lipschitz constant over their range, then adds its own rounding.

use std::rc::Rc;

use crate::ir::{Binary, DotDims, DotPlan, Op, Precision, Program, Reducer, Shape, Unary, movement, reducer};
use crate::machine::Mode;
use crate::num;
use crate::tensor::{DType, Tensor};

use super::dot_bound::{dot_constants, longest_chain};
use super::scale::absolute_dot;

/// Why no bound is derived.
pub(super) struct Refusal(pub String);

/// Unit roundoff of the pass's own arithmetic, with room for a function that is not correctly rounded.
const OWN: f64 = f64::EPSILON;

/// What is known of every element of one value.
#[derive(Clone)]
struct Known {
    v: Vec<f64>,
    machine: Vec<f64>,
    own: Vec<f64>,
}

/// Bounds for one program in one declared mode.
pub(super) struct Forward<'a> {
    program: &'a Program,
    mode: &'a Mode,
    /// Whether sums use the probabilistic gamma.
    probable: bool,
}

impl<'a> Forward<'a> {
    pub fn new(program: &'a Program, mode: &'a Mode, probable: bool) -> Forward<'a> {
        Forward { program, mode, probable }
    }

    /// The error bound of every element of the value `wanted`.
    pub fn bounds(&self, arguments: &[Tensor], wanted: usize) -> Result<Vec<f64>, Refusal> {
        let entry = self.program.entry();
        let mut needed = vec![false; entry.instructions.len()];
        needed[wanted] = true;
        for id in (0..=wanted).rev().collect::<Vec<_>>() {
            if needed[id] {
                entry.instructions[id].operands.iter().for_each(|o| needed[*o] = true);
            }
        }
        let mut values: Vec<Option<Rc<Known>>> = vec![None; entry.instructions.len()];
        for id in 0..=wanted {
            if !needed[id] {
                continue;
            }
            let instruction = &entry.instructions[id];
            let refuse =
                || Refusal(format!("no bound is derived for {} ({})", instruction.op.opcode(), instruction.name));
            let operands: Vec<&Known> = instruction.operands.iter().filter_map(|o| values[*o].as_deref()).collect();
            let shapes: Vec<&Shape> = instruction.operands.iter().map(|o| &entry.instructions[*o].shape).collect();
            let known = match &instruction.op {
                Op::Parameter(number) => exact(&arguments[*number]),
                Op::Constant(value) => exact(value),
                Op::ReducePrecision { .. } | Op::Convert => {
                    let dtype = instruction.shape.dtype().filter(|d| d.is_float()).ok_or_else(refuse)?;
                    self.rounded((*operands.first().ok_or_else(refuse)?).clone(), dtype, false)
                }
                op if movement::is_movement(op) => {
                    moved(op, &operands, &shapes, instruction.shape.dims()).ok_or_else(refuse)?
                }
                Op::Unary(unary) => self.unary(*unary, operands[0], &instruction.shape).ok_or_else(refuse)?,
                Op::Binary(binary) => self.binary(*binary, &operands, &instruction.shape).ok_or_else(refuse)?,
                Op::Reduce { dims, to_apply } => {
                    let kind = reducer(&self.program.computations[*to_apply]).ok_or_else(refuse)?;
                    let dtype = instruction.shape.dtype().ok_or_else(refuse)?;
                    self.reduce(kind, dims, operands[0], shapes[0].dims(), dtype)?.ok_or_else(refuse)?
                }
                Op::Dot { dims, precision } => {
                    let dtype = instruction.shape.dtype().ok_or_else(refuse)?;
                    self.dot(dims, *precision, &operands, &shapes, dtype)?
                }
                _ => return Err(refuse()),
            };
            values[id] = Some(Rc::new(known));
        }
        let known = values[wanted].take().ok_or_else(|| Refusal("the value is not computed".to_string()))?;
        // One part in 2^40 covers the roundings of the bound's own arithmetic.
        Ok(known.machine.iter().zip(&known.own).map(|(m, o)| (m + o) * (1.0 + 2f64.powi(-40))).collect())
    }

    /// Adds the rounding of each element to `dtype`, and flushing where the chip flushes after `arithmetic`.
    fn rounded(&self, mut known: Known, dtype: DType, arithmetic: bool) -> Known {
        let Some(format) = dtype.format().filter(|f| f.fraction_bits < num::F64.fraction_bits) else { return known };
        let lost = if arithmetic && self.mode.chip.flush { format.min_normal() } else { format.min_subnormal() };
        for i in 0..known.v.len() {
            // A value that is exact and belongs to the format already is not changed by rounding.
            let unchanged = known.machine[i] == 0.0 && known.own[i] == 0.0 && format.contains(known.v[i]);
            if !unchanged {
                let largest = known.v[i].abs() + known.machine[i];
                known.machine[i] += format.unit_roundoff() * largest + lost;
            }
        }
        known
    }

    fn unary(&self, unary: Unary, x: &Known, shape: &Shape) -> Option<Known> {
        let dtype = shape.dtype()?;
        let mut known = x.clone();
        match unary {
            Unary::Negate => known.v.iter_mut().for_each(|v| *v = -*v),
            Unary::Abs => known.v.iter_mut().for_each(|v| *v = v.abs()),
            Unary::Exponential => {
                let extra = self.mode.exponential_bound();
                for i in 0..known.v.len() {
                    let e = core_math::exp(x.v[i]);
                    // exp(v + d) - exp(v) <= exp(v) (exp(|d|) - 1).
                    let spread = |d: f64| e * core_math::expm1(d) * (1.0 + 4.0 * OWN);
                    known.v[i] = e;
                    known.machine[i] = spread(x.machine[i]);
                    known.own[i] = spread(x.own[i]) + e * OWN;
                    known.machine[i] += extra * (e + known.machine[i]);
                }
                return Some(self.rounded(known, dtype, true));
            }
            _ => return None,
        }
        Some(known)
    }

    fn binary(&self, binary: Binary, operands: &[&Known], shape: &Shape) -> Option<Known> {
        let [x, y] = operands else { return None };
        let dtype = shape.dtype()?;
        let mut out = Known { v: x.v.clone(), machine: x.machine.clone(), own: x.own.clone() };
        for i in 0..out.v.len() {
            let (a, b) = (x.v[i], y.v[i]);
            let propagate = |da: f64, db: f64| match binary {
                Binary::Add | Binary::Subtract => Some(da + db),
                Binary::Multiply => Some(a.abs() * db + b.abs() * da + da * db),
                // |(a+da)/(b+db) - a/b| <= (|da| + |a/b| |db|) / (|b| - |db|).
                Binary::Divide if db < b.abs() => Some((da + (a / b).abs() * db) / (b.abs() - db)),
                _ => None,
            };
            out.v[i] = match binary {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide => a / b,
                _ => return None,
            };
            out.machine[i] = propagate(x.machine[i], y.machine[i])?;
            let exact_difference = matches!(binary, Binary::Add | Binary::Subtract) && {
                // TwoSum's error: the sum is exact where it is 0.
                let (s, b) = (out.v[i], if binary == Binary::Subtract { -b } else { b });
                let t = s - a;
                (a - (s - t)) + (b - t) == 0.0
            };
            out.own[i] = propagate(x.own[i], y.own[i])? + if exact_difference { 0.0 } else { out.v[i].abs() * OWN };
            if binary == Binary::Divide {
                // x * (1 / y): two more roundings than a correctly rounded quotient, and the chip's own bound.
                out.machine[i] += self.mode.division_bound() * (out.v[i].abs() + out.machine[i]);
            }
        }
        Some(self.rounded(out, dtype, true))
    }

    fn reduce(
        &self,
        kind: Reducer,
        reduced: &[usize],
        x: &Known,
        dims: &[usize],
        dtype: DType,
    ) -> Result<Option<Known>, Refusal> {
        // Only sums and maxima over the trailing dim, with the init that has no effect.
        if reduced != [dims.len() - 1] {
            return Ok(None);
        }
        let width = dims[dims.len() - 1];
        let rows = x.v.len() / width.max(1);
        let mut out = Known { v: Vec::new(), machine: Vec::new(), own: Vec::new() };
        for row in 0..rows {
            let span = row * width..(row + 1) * width;
            match kind {
                Reducer::Binary(Binary::Maximum) => {
                    let max = |v: &[f64]| v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    out.v.push(max(&x.v[span.clone()]));
                    out.machine.push(max(&x.machine[span.clone()]).max(0.0));
                    out.own.push(max(&x.own[span]).max(0.0));
                }
                Reducer::Binary(Binary::Add) => {
                    let total = |v: &[f64]| v.iter().map(|v| v.abs()).sum::<f64>();
                    let (magnitude, machine, own) =
                        (total(&x.v[span.clone()]), total(&x.machine[span.clone()]), total(&x.own[span.clone()]));
                    let gamma = self.gamma(width.saturating_sub(1) as u64, 2f64.powi(-24))?;
                    let flushed = if self.mode.chip.flush { width as f64 * num::F32.min_normal() } else { 0.0 };
                    out.v.push(x.v[span].iter().sum());
                    out.machine.push(machine + gamma * (magnitude + machine) + flushed);
                    out.own.push(own + width as f64 * OWN * (magnitude + own));
                }
                _ => return Ok(None),
            }
        }
        let adds = kind == Reducer::Binary(Binary::Add);
        Ok(Some(if adds && dtype != DType::F32 { self.rounded(out, dtype, true) } else { out }))
    }

    fn gamma(&self, n: u64, u: f64) -> Result<f64, Refusal> {
        let refuse = || Refusal(format!("n u >= 1 for a chain of {n} additions: no bound holds"));
        if self.probable {
            let lambda = crate::stat::probabilistic_lambda(n, u, 2f64.powi(-20)).ok_or_else(refuse)?;
            return crate::stat::probabilistic_gamma(n, u, lambda).map(|(gamma, _)| gamma).ok_or_else(refuse);
        }
        crate::stat::gamma(n, u).ok_or_else(refuse)
    }

    fn dot(
        &self,
        numbers: &DotDims,
        precision: [Precision; 2],
        operands: &[&Known],
        shapes: &[&Shape],
        dtype: DType,
    ) -> Result<Known, Refusal> {
        let [x, y] = operands else { return Err(Refusal("a dot takes two operands".to_string())) };
        let plan = DotPlan::new(numbers, shapes[0].dims(), shapes[1].dims());
        if plan.batch != 1 || plan.lhs_transpose.is_some() || plan.rhs_transpose.is_some() {
            return Err(Refusal("a bound is derived for plain matmuls only".to_string()));
        }
        let sizes = [plan.m, plan.k, plan.n];
        let magnitude = |v: &[f64]| v.iter().map(|v| v.abs()).collect::<Vec<_>>();
        let (a, b) = (magnitude(&x.v), magnitude(&y.v));
        let product = |p: &[f64], q: &[f64]| absolute_dot(p, q, sizes);
        let scale = product(&a, &b);
        let exact_operands = x.machine.iter().chain(&x.own).chain(&y.machine).chain(&y.own).all(|e| *e == 0.0);
        // The operands' own errors, each at most |A| dB + dA |B| + dA dB.
        let propagated = |dx: &[f64], dy: &[f64]| -> Vec<f64> {
            if exact_operands {
                return vec![0.0; scale.len()];
            }
            let (left, right, both) = (product(&a, dy), product(dx, &b), product(dx, dy));
            (0..scale.len()).map(|i| left[i] + right[i] + both[i]).collect()
        };
        let (machine, own) = (propagated(&x.machine, &y.machine), propagated(&x.own, &y.own));
        let bf16_valued = |v: &[f64]| v.iter().all(|v| num::BF16.contains(*v));
        let narrow = shapes.iter().all(|s| s.dtype() != Some(DType::F32));
        let constants = dot_constants(self.mode, precision, narrow || (bf16_valued(&x.v) && bf16_valued(&y.v)), sizes);
        let chain = longest_chain(self.mode, &constants, plan.k);
        let gamma = self.gamma(chain, constants.unit_roundoff)?;
        let plain: Vec<f64> = plain_dot(&x.v, &y.v, sizes);
        let known = Known {
            machine: (0..scale.len())
                .map(|i| {
                    let whole = scale[i] + machine[i];
                    let split = constants.split * whole;
                    machine[i] + split + gamma * (1.0 + constants.spread) * whole + chain as f64 * constants.flushed
                })
                .collect(),
            own: (0..scale.len()).map(|i| own[i] + plan.k as f64 * OWN * (scale[i] + own[i])).collect(),
            v: plain,
        };
        Ok(if dtype == DType::F32 { known } else { self.rounded(known, dtype, true) })
    }
}

fn plain_dot(lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        let row = &mut out[i * n..(i + 1) * n];
        for l in 0..k {
            let a = lhs[i * k + l];
            row.iter_mut().zip(&rhs[l * n..(l + 1) * n]).for_each(|(sum, b)| *sum += a * b);
        }
    }
    out
}

fn exact(tensor: &Tensor) -> Known {
    let zeros = vec![0.0; tensor.len()];
    Known { v: tensor.data().to_f64s(), machine: zeros.clone(), own: zeros }
}

fn moved(op: &Op, operands: &[&Known], shapes: &[&Shape], dims: &[usize]) -> Option<Known> {
    let column = |which: fn(&Known) -> &Vec<f64>| {
        let parts: Vec<_> = operands.iter().zip(shapes).map(|(k, s)| (which(k).as_slice(), s.dims())).collect();
        movement::apply(op, &parts, &[], &[], dims)
    };
    // A start index is data: what it picks has no bound of its own here.
    if matches!(op, Op::Gather(_) | Op::DynamicSlice { .. }) {
        return None;
    }
    Some(Known { v: column(|k| &k.v)?, machine: column(|k| &k.machine)?, own: column(|k| &k.own)? })
}
