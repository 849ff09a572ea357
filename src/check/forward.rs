//! A-priori forward error bounds, composed operation by operation.
//!
//! For every element the pass carries an f64 value v with bounds: `machine` bounds |computed - v| for any computation
//! that follows the declared mode, `own` bounds |exact - v|, the f64 evaluation's own error. Their sum bounds
//! |computed - exact|. Rules are the standard ones (Higham 2002, chapters 2 and 3): an operation propagates its
//! operands' bounds by its Lipschitz constant over their range, then adds its own rounding.

use std::borrow::Cow;

use crate::ir::{
    Binary, DotPlan, Instruction, Op, Precision, Program, Reducer, Shape, Unary, ValueId, movement, reducer,
};
use crate::machine::Mode;
use crate::num;
use crate::tensor::{DType, Tensor};

use super::dot_bound::{dot_constants, longest_chain};
use super::scale::{Scale, magnitudes, product};

/// Why no bound is derived.
pub(super) struct Refusal(pub String);

/// Unit roundoff of the pass's own arithmetic, with room for a function that is not correctly rounded.
const OWN: f64 = f64::EPSILON;

/// One bound that always holds, with gamma_n in it, and one with the probabilistic gamma.
type Both = [f64; 2];

/// What is known of every element of one value.
#[derive(Clone)]
struct Known {
    v: Vec<f64>,
    machine: Vec<Both>,
    own: Vec<f64>,
}

/// A value of the program.
enum Value<'a> {
    /// The machine has the same.
    Exact(&'a Tensor),
    Known(Known),
}

impl Value<'_> {
    fn known(&self) -> Cow<'_, Known> {
        match self {
            Value::Exact(tensor) => {
                let v = tensor.data().to_f64s();
                Cow::Owned(Known { machine: vec![[0.0; 2]; v.len()], own: vec![0.0; v.len()], v })
            }
            Value::Known(known) => Cow::Borrowed(known),
        }
    }
}

/// Bounds for one program in one declared mode.
pub(super) struct Forward<'a> {
    program: &'a Program,
    mode: &'a Mode,
    scale: &'a Scale<'a>,
}

impl<'a> Forward<'a> {
    pub fn new(program: &'a Program, mode: &'a Mode, scale: &'a Scale<'a>) -> Forward<'a> {
        Forward { program, mode, scale }
    }

    /// The error bounds of every element of the value `wanted`.
    pub fn bounds(&self, arguments: &[Tensor], wanted: ValueId) -> Result<Vec<Both>, Refusal> {
        let entry = self.program.entry();
        let mut needed = vec![false; entry.instructions.len()];
        needed[wanted] = true;
        for id in (0..=wanted).rev() {
            if needed[id] {
                entry.instructions[id].operands.iter().for_each(|o| needed[*o] = true);
            }
        }
        let mut values: Vec<Option<Value>> = Vec::with_capacity(wanted + 1);
        for (id, instruction) in entry.instructions[..=wanted].iter().enumerate() {
            if !needed[id] {
                values.push(None);
                continue;
            }
            let operands: Vec<&Value> = instruction.operands.iter().filter_map(|o| values[*o].as_ref()).collect();
            let shapes: Vec<&Shape> = instruction.operands.iter().map(|o| &entry.instructions[*o].shape).collect();
            let value = match &instruction.op {
                Op::Parameter(number) => Value::Exact(&arguments[*number]),
                Op::Constant(value) => Value::Exact(value),
                Op::Dot { precision, .. } => {
                    let dot = self.dot(id, *precision, &operands, &shapes)?;
                    if id == wanted && instruction.shape.dtype() == Some(DType::F32) {
                        return Ok(dot.bounds());
                    }
                    Value::Known(self.summed(dot, instruction, &operands))
                }
                _ => {
                    let operands: Vec<Cow<Known>> = operands.iter().map(|o| o.known()).collect();
                    let operands: Vec<&Known> = operands.iter().map(Cow::as_ref).collect();
                    Value::Known(self.instruction(instruction, &operands, &shapes)?)
                }
            };
            values.push(Some(value));
        }
        let value = values.pop().flatten().ok_or_else(|| Refusal("the value is not computed".to_string()))?;
        let known = value.known();
        Ok(known.machine.iter().zip(&known.own).map(|(machine, own)| machine.map(|m| total(m, *own))).collect())
    }

    fn instruction(&self, instruction: &Instruction, operands: &[&Known], shapes: &[&Shape]) -> Result<Known, Refusal> {
        let refuse = || Refusal(format!("no bound is derived for {} ({})", instruction.op.opcode(), instruction.name));
        match &instruction.op {
            Op::ReducePrecision { .. } | Op::Convert => {
                let dtype = instruction.shape.dtype().filter(|d| d.is_float()).ok_or_else(refuse)?;
                Ok(self.rounded((*operands.first().ok_or_else(refuse)?).clone(), dtype, false))
            }
            op if movement::is_movement(op) => moved(op, operands, shapes, instruction.shape.dims()).ok_or_else(refuse),
            Op::Unary(unary) => self.unary(*unary, operands[0], &instruction.shape).ok_or_else(refuse),
            Op::Binary(binary) => self.binary(*binary, operands, &instruction.shape).ok_or_else(refuse),
            Op::Reduce { dims, to_apply } => {
                let kind = reducer(&self.program.computations[*to_apply]).ok_or_else(refuse)?;
                let dtype = instruction.shape.dtype().ok_or_else(refuse)?;
                self.reduce(kind, dims, operands[0], shapes[0].dims(), dtype)?.ok_or_else(refuse)
            }
            _ => Err(refuse()),
        }
    }

    /// Adds the rounding of each element to `dtype`, and flushing where the chip flushes after `arithmetic`.
    fn rounded(&self, mut known: Known, dtype: DType, arithmetic: bool) -> Known {
        let Some(format) = dtype.format().filter(|f| f.fraction_bits < num::F64.fraction_bits) else { return known };
        let lost = if arithmetic && self.mode.chip.flush { format.min_normal() } else { format.min_subnormal() };
        for ((v, machine), own) in known.v.iter().zip(&mut known.machine).zip(&known.own) {
            // A value that is exact and belongs to the format already is not changed by rounding.
            let unchanged = *machine == [0.0; 2] && *own == 0.0 && format.contains(*v);
            if !unchanged {
                *machine = machine.map(|m| m + (format.unit_roundoff() * (v.abs() + m) + lost));
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
                    known.own[i] = spread(x.own[i]) + e * OWN;
                    known.machine[i] = x.machine[i].map(spread).map(|m| m + extra * (e + m));
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
            let [da, db] = [x.machine[i], y.machine[i]];
            out.machine[i] = [propagate(da[0], db[0])?, propagate(da[1], db[1])?];
            let exact_difference = matches!(binary, Binary::Add | Binary::Subtract) && {
                // TwoSum's error: the sum is exact where it is 0.
                let (s, b) = (out.v[i], if binary == Binary::Subtract { -b } else { b });
                let t = s - a;
                (a - (s - t)) + (b - t) == 0.0
            };
            out.own[i] = propagate(x.own[i], y.own[i])? + if exact_difference { 0.0 } else { out.v[i].abs() * OWN };
            if binary == Binary::Divide {
                // x * (1 / y): two more roundings than a correctly rounded quotient, and the chip's own bound.
                out.machine[i] = out.machine[i].map(|m| m + self.mode.division_bound() * (out.v[i].abs() + m));
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
                    let larger = |a: Both, b: &Both| [a[0].max(b[0]), a[1].max(b[1])];
                    out.v.push(x.v[span.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max));
                    out.machine.push(x.machine[span.clone()].iter().fold([0.0; 2], larger));
                    out.own.push(x.own[span].iter().copied().fold(0.0, f64::max));
                }
                Reducer::Binary(Binary::Add) => {
                    let total = |v: &[f64]| v.iter().map(|v| v.abs()).sum::<f64>();
                    let (magnitude, own) = (total(&x.v[span.clone()]), total(&x.own[span.clone()]));
                    let machine: Both =
                        x.machine[span.clone()].iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
                    let gamma = self.gamma(width.saturating_sub(1) as u64, 2f64.powi(-24))?;
                    let flushed = if self.mode.chip.flush { width as f64 * num::F32.min_normal() } else { 0.0 };
                    out.v.push(x.v[span].iter().sum());
                    let worse = |kind: usize| machine[kind] + gamma[kind] * (magnitude + machine[kind]) + flushed;
                    out.machine.push([worse(0), worse(1)]);
                    out.own.push(own + width as f64 * OWN * (magnitude + own));
                }
                _ => return Ok(None),
            }
        }
        let adds = kind == Reducer::Binary(Binary::Add);
        Ok(Some(if adds && dtype != DType::F32 { self.rounded(out, dtype, true) } else { out }))
    }

    /// gamma_n, and the probabilistic one that fails with probability 2^-20 at most.
    fn gamma(&self, n: u64, u: f64) -> Result<Both, Refusal> {
        let refuse = || Refusal(format!("n u >= 1 for a chain of {n} additions: no bound holds"));
        let lambda = crate::stat::probabilistic_lambda(n, u, 2f64.powi(-20)).ok_or_else(refuse)?;
        let (probable, _) = crate::stat::probabilistic_gamma(n, u, lambda).ok_or_else(refuse)?;
        Ok([crate::stat::gamma(n, u).ok_or_else(refuse)?, probable])
    }

    fn dot(
        &self,
        value: ValueId,
        precision: [Precision; 2],
        operands: &[&Value],
        shapes: &[&Shape],
    ) -> Result<Dot, Refusal> {
        let Op::Dot { dims, .. } = &self.program.entry().instructions[value].op else {
            return Err(Refusal("the value is no dot".to_string()));
        };
        let [x, y] = operands else { return Err(Refusal("a dot takes two operands".to_string())) };
        let plan = DotPlan::new(dims, shapes[0].dims(), shapes[1].dims());
        if plan.batch != 1 || plan.lhs_transpose.is_some() || plan.rhs_transpose.is_some() {
            return Err(Refusal("a bound is derived for plain matmuls only".to_string()));
        }
        let sizes = [plan.m, plan.k, plan.n];
        let narrow = shapes.iter().all(|s| s.dtype() != Some(DType::F32));
        let exact_in_one_pass = narrow || (bf16_valued(x) && bf16_valued(y));
        let constants = dot_constants(self.mode, precision, exact_in_one_pass, sizes);
        let chain = longest_chain(self.mode, &constants, plan.k);
        let gamma = self.gamma(chain, constants.unit_roundoff)?;
        let bound = |scale: f64, propagated: Both| -> Both {
            std::array::from_fn(|kind| {
                let whole = scale + propagated[kind];
                let split = constants.split * whole;
                let rounding = gamma[kind] * (1.0 + constants.spread) * whole;
                propagated[kind] + split + rounding + chain as f64 * constants.flushed
            })
        };
        if let (Value::Exact(_), Value::Exact(_)) = (x, y)
            && let Some(scale) = self.scale.at(value)
        {
            return Ok(Dot { sizes, machine: scale.iter().map(|s| bound(*s, [0.0; 2])).collect(), own: None });
        }
        let (x, y) = (x.known(), y.known());
        let (a, b) = (magnitudes(&x.v), magnitudes(&y.v));
        let scale = product(&a, &b, sizes);
        // The operands' own errors, each at most |A| dB + dA |B| + dA dB.
        let propagated = |dx: &[f64], dy: &[f64]| -> Vec<f64> {
            if dx.iter().chain(dy).all(|e| *e == 0.0) {
                return vec![0.0; scale.len()];
            }
            let parts = [product(&a, dy, sizes), product(dx, &b, sizes), product(dx, dy, sizes)];
            (0..scale.len()).map(|i| parts[0][i] + parts[1][i] + parts[2][i]).collect()
        };
        let column = |known: &Known, kind: usize| known.machine.iter().map(|m| m[kind]).collect::<Vec<_>>();
        let [certain, probable] = [0, 1].map(|kind| propagated(&column(&x, kind), &column(&y, kind)));
        let machine = (0..scale.len()).map(|i| bound(scale[i], [certain[i], probable[i]])).collect();
        Ok(Dot { sizes, machine, own: Some(propagated(&x.own, &y.own)) })
    }

    /// The values that a dot gives to others.
    fn summed(&self, dot: Dot, instruction: &Instruction, operands: &[&Value]) -> Known {
        let v = match operands {
            [x, y] => product(&x.known().v, &y.known().v, dot.sizes),
            _ => Vec::new(),
        };
        let own = dot.own.unwrap_or_else(|| vec![0.0; v.len()]);
        // The sum is exact, then rounded to f64.
        let own = own.iter().zip(&v).map(|(own, v)| own + v.abs() * OWN).collect();
        let known = Known { v, machine: dot.machine, own };
        match instruction.shape.dtype() {
            Some(dtype) if dtype != DType::F32 => self.rounded(known, dtype, true),
            _ => known,
        }
    }
}

/// The errors of a dot's results; `own` is that of the operands, `None` where they are exact.
struct Dot {
    sizes: [usize; 3],
    machine: Vec<Both>,
    own: Option<Vec<f64>>,
}

impl Dot {
    /// The bounds where v is the exact value itself.
    fn bounds(self) -> Vec<Both> {
        let Dot { mut machine, own, .. } = self;
        for (i, machine) in machine.iter_mut().enumerate() {
            *machine = machine.map(|m| total(m, own.as_ref().map_or(0.0, |own| own[i])));
        }
        machine
    }
}

/// The two errors together. One part in 2^40 covers the roundings of the bound's own arithmetic.
fn total(machine: f64, own: f64) -> f64 {
    (machine + own) * (1.0 + 2f64.powi(-40))
}

/// Whether one bf16 pass takes the values as they are.
fn bf16_valued(value: &Value) -> bool {
    match value {
        Value::Exact(tensor) => (0..tensor.len()).all(|i| num::BF16.contains(tensor.data().get_f64(i))),
        Value::Known(known) => known.v.iter().all(|v| num::BF16.contains(*v)),
    }
}

fn moved(op: &Op, operands: &[&Known], shapes: &[&Shape], dims: &[usize]) -> Option<Known> {
    // A start index is data: what it picks has no bound of its own here.
    if op.first_start().is_some() {
        return None;
    }
    fn column<T: Clone>(op: &Op, parts: Vec<&[T]>, shapes: &[&Shape], dims: &[usize]) -> Option<Vec<T>> {
        let parts: Vec<_> = parts.into_iter().zip(shapes.iter().map(|s| s.dims())).collect();
        movement::apply(op, &parts, &[], &[], dims)
    }
    let plain = |part: fn(&Known) -> &[f64]| column(op, operands.iter().map(|k| part(k)).collect(), shapes, dims);
    let machine = column(op, operands.iter().map(|k| k.machine.as_slice()).collect(), shapes, dims)?;
    Some(Known { v: plain(|k| &k.v)?, machine, own: plain(|k| &k.own)? })
}
