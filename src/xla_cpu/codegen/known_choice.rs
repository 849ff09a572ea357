//! Selects that LLVM removes from the code: their predicates are known at compile time, or invariant in the innermost
//! loop.

use std::collections::HashMap;

use crate::ir::{Binary, Compare, Computation, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::LANES;
use super::invariant::readers;
use super::sum_term::RUN;
use super::unroll::is_small;
use super::ways::element_read;

/// The most iterations that LLVM peels off a loop so that a predicate is known behind them (`unroll-peel-max-count`).
const PEELED: usize = 7;

/// Limit on the instructions of a loop together with its peeled iterations.
const LARGEST: usize = 300;

/// Columns of the longest loop that is unrolled in whole registers (measured).
const UNROLLED_IN_REGISTERS: usize = 160;

/// For each column, whether LLVM removes the select there. There are three cases. The predicate is invariant in the
/// innermost loop, which runs along this dim, and LLVM duplicates that loop (`SimpleLoopUnswitch`). Or the range of the
/// index determines the predicate, in all iterations or behind a few that are peeled off. Or the loop is unrolled, by
/// elements or by registers, and the predicate is known for the element or the same throughout the register.
pub fn known_columns(computation: &Computation, choice: &Instruction, innermost: usize) -> Vec<bool> {
    let (predicate, Some(fusion)) = (choice.operands[0], choice.fusion()) else { return Vec::new() };
    let columns = choice.shape.dims()[innermost];
    if is_same_inside(computation, predicate, innermost) {
        return vec![true; columns];
    }
    let in_columns = |first: usize, last: usize, others: bool| {
        let span = [first, last].map(|at| at as i64);
        let mut values = Values { computation, fusion, span, others, found: HashMap::new() };
        values.of(predicate, Some(innermost)).filter(|[low, high]| low == high).map(|[value, _]| value)
    };
    let instructions = instructions(computation, fusion);
    let peeled = PEELED.min((LARGEST / (instructions + 2)).saturating_sub(1));
    if (0..=peeled.min(columns - 1)).any(|first| in_columns(first, columns - 1, true).is_some()) {
        return vec![true; columns];
    }
    let is_alone = is_small(columns, instructions);
    if !is_alone && columns > UNROLLED_IN_REGISTERS {
        return vec![false; columns];
    }
    // What is left behind the last full register is taken by its half, and then one by one.
    let register =
        |at: usize| [LANES, LANES / 2].into_iter().map(move |lanes| at / lanes * lanes..at / lanes * lanes + lanes);
    let whole = |at: usize| register(at).find(|lanes| lanes.end <= columns).unwrap_or(at..at + 1);
    let values: Vec<Option<i64>> = (0..columns).map(|at| in_columns(at, at, is_alone)).collect();
    let is_known = |at: usize| {
        let beside = if is_alone { at..at + 1 } else { whole(at) };
        values[at].is_some() && values[beside].iter().all(|value| *value == values[at])
    };
    (0..columns).map(is_known).collect()
}

/// For each element of a sum, whether the predicate of the select on `path` is known there. `None` if a value on the
/// path is not followed. `None`, too, if rows are stored as one run of memory: LLVM then adds two columns at once
/// (`VectorCombine`), unless a function is computed between the sum and the store.
pub fn known_elements(
    computation: &Computation,
    (sum, path): (ValueId, &[ValueId]),
    (choice, columns): &(ValueId, Vec<bool>),
) -> Option<Vec<bool>> {
    let instructions = &computation.instructions;
    let is_function = |id: ValueId| matches!(&instructions[id].op, Op::Unary(Unary::Exponential | Unary::Log));
    if columns.len() <= RUN && !readers(computation, instructions[sum].fusion()?, sum).any(is_function) {
        return None;
    }
    let end = path.iter().position(|id| id == choice)?;
    let steps: Vec<ValueId> = [sum].into_iter().chain(path[..=end].iter().copied()).collect();
    let read = |at: usize, step: &[ValueId]| {
        let position = instructions[step[0]].operands.iter().position(|operand| *operand == step[1])?;
        element_read(computation, step[0], position, at)?
    };
    let is_known = |at: usize| Some(columns[steps.windows(2).try_fold(at, read)? % columns.len()]);
    (0..instructions[sum].shape.elements()).map(is_known).collect()
}

/// The number of operations and memory accesses for each element of a fusion.
pub fn instructions(computation: &Computation, fusion: Fusion) -> usize {
    let instructions = &computation.instructions;
    let inside = || instructions.iter().filter(|instruction| instruction.fusion() == Some(fusion));
    let computes = |op: &Op| {
        matches!(op, Op::Binary(_) | Op::Unary(_) | Op::Compare { .. } | Op::Select | Op::Clamp | Op::Convert)
    };
    let is_read = |id: &&ValueId| {
        let Instruction { op, shape, .. } = &instructions[**id];
        let own = instructions[**id].fusion();
        own != Some(fusion) && !matches!(op, Op::Constant(_)) && shape.elements() > 1
    };
    let mut read: Vec<&ValueId> =
        inside().flat_map(|instruction| instruction.operands.iter()).filter(is_read).collect();
    read.sort_unstable();
    read.dedup();
    // A sum's addition is counted with the loop, what is stored is not.
    let stores = if inside().any(|instruction| matches!(instruction.op, Op::Reduce { .. })) { 0 } else { 2 };
    stores
        + read.len()
        + inside().filter(|instruction| computes(&instruction.op) && instruction.shape.elements() > 1).count()
}

/// Whether a value is invariant along one of its dims, as far as its fusion shows.
fn is_same_inside(computation: &Computation, id: ValueId, dim: usize) -> bool {
    let Instruction { op, shape, operands, .. } = &computation.instructions[id];
    match op {
        _ if shape.elements() == 1 => true,
        Op::Iota { dim: counted } => *counted != dim,
        Op::Broadcast { dims } => match dims.iter().position(|to| *to == dim) {
            Some(from) => is_same_inside(computation, operands[0], from),
            None => true,
        },
        Op::Reshape => dim_before(computation.instructions[operands[0]].shape.dims(), shape.dims(), dim)
            .is_some_and(|dim| is_same_inside(computation, operands[0], dim)),
        Op::Unary(_) | Op::Binary(_) | Op::Compare { .. } | Op::Select | Op::Clamp | Op::Convert | Op::Copy => {
            operands.iter().all(|operand| is_same_inside(computation, *operand, dim))
        }
        _ => false,
    }
}

/// Ranges of the integers and predicates of a fusion, and of floats that are whole numbers.
struct Values<'c> {
    computation: &'c Computation,
    fusion: Fusion,
    /// The first and the last index along the innermost dim.
    span: [i64; 2],
    /// Whether the ranges of the other indices are known. For a register they are not.
    others: bool,
    found: HashMap<(ValueId, Option<usize>), Option<[i64; 2]>>,
}

impl Values<'_> {
    /// The least and the greatest number of a value whose dim `dim` is that of the innermost loop; `None` if they are
    /// not known.
    fn of(&mut self, id: ValueId, dim: Option<usize>) -> Option<[i64; 2]> {
        if let Some(found) = self.found.get(&(id, dim)) {
            return *found;
        }
        let ends = self.ends(id, dim).filter(|ends| self.fit(id, *ends));
        self.found.insert((id, dim), ends);
        ends
    }

    fn ends(&mut self, id: ValueId, dim: Option<usize>) -> Option<[i64; 2]> {
        let computation = self.computation;
        let Instruction { op, shape, operands, .. } = &computation.instructions[id];
        let fusion = computation.instructions[id].fusion();
        let dtype = shape.dtype()?;
        // Of floats that are whole numbers it knows where the loop is unrolled.
        if dtype.is_float() && (dtype != DType::F32 || self.span[0] != self.span[1]) {
            return None;
        }
        match op {
            Op::Constant(value) if value.len() == 1 && dtype.is_float() => {
                let number = *value.data().to_f32s().first()?;
                (number.fract() == 0.0 && number.abs() < WHOLE as f32).then_some([number as i64; 2])
            }
            Op::Constant(value) if value.len() == 1 => value.data().to_i64s().first().map(|number| [*number; 2]),
            _ if fusion != Some(self.fusion) => None,
            Op::Iota { dim: counted } if Some(*counted) == dim => Some(self.span),
            Op::Iota { .. } if dtype.is_float() => None,
            Op::Iota { dim: counted } => self.others.then(|| [0, shape.dims()[*counted] as i64 - 1]),
            Op::Broadcast { dims } => self.of(operands[0], dims.iter().position(|to| Some(*to) == dim)),
            Op::Reshape => {
                let from = computation.instructions[operands[0]].shape.dims();
                let dim = dim.map(|dim| dim_before(from, shape.dims(), dim));
                if dim == Some(None) { None } else { self.of(operands[0], dim.flatten()) }
            }
            Op::Copy | Op::Convert => self.of(operands[0], dim),
            Op::Binary(Binary::Divide) if dtype.is_float() => None,
            Op::Unary(Unary::Negate) => self.of(operands[0], dim).map(|[low, high]| [-high, -low]),
            Op::Unary(Unary::Not) if dtype == DType::Pred => {
                self.of(operands[0], dim).map(|[low, high]| [1 - high, 1 - low])
            }
            Op::Binary(binary) => {
                let (left, right) = (self.of(operands[0], dim)?, self.of(operands[1], dim)?);
                joined(*binary, left, right)
            }
            Op::Compare { direction, .. } => {
                let (left, right) = (self.of(operands[0], dim)?, self.of(operands[1], dim)?);
                Some(compared(*direction, left, right))
            }
            Op::Clamp => {
                let [low, value, high] = [0, 1, 2].map(|at| self.of(operands[at], dim));
                joined(Binary::Minimum, joined(Binary::Maximum, low?, value?)?, high?)
            }
            Op::Select => match (self.of(operands[0], dim)?, self.of(operands[1], dim), self.of(operands[2], dim)) {
                ([1, 1], on_true, _) => on_true,
                ([0, 0], _, on_false) => on_false,
                (_, on_true, on_false) => {
                    let ([low, high], [least, most]) = (on_true?, on_false?);
                    Some([low.min(least), high.max(most)])
                }
            },
            _ => None,
        }
    }

    /// Whether no number of this range wraps in the value's type.
    fn fit(&self, id: ValueId, [low, high]: [i64; 2]) -> bool {
        let (least, most) = match self.computation.instructions[id].shape.dtype() {
            Some(DType::Pred) => (0, 1),
            Some(DType::S32) => (i64::from(i32::MIN), i64::from(i32::MAX)),
            Some(DType::U32) => (0, i64::from(u32::MAX)),
            Some(DType::S64) => (-WIDE, WIDE),
            Some(DType::F32) => (-WHOLE, WHOLE),
            _ => return false,
        };
        least <= low && high <= most
    }
}

/// More than any index times a number.
const WIDE: i64 = 1 << 52;

/// The number up to which all whole numbers are f32.
const WHOLE: i64 = 1 << 24;

/// The dim before a reshape that changes dims of one element alone.
fn dim_before(from: &[usize], to: &[usize], dim: usize) -> Option<usize> {
    let long = |dims: &[usize]| dims.iter().copied().enumerate().filter(|(_, extent)| *extent > 1).collect::<Vec<_>>();
    let (from, to) = (long(from), long(to));
    let is_same = from.iter().map(|(_, extent)| extent).eq(to.iter().map(|(_, extent)| extent));
    let at = to.iter().position(|(at, _)| *at == dim).filter(|_| is_same)?;
    Some(from[at].0)
}

/// The range of an operation's results, from the ranges of its operands.
fn joined(binary: Binary, left: [i64; 2], right: [i64; 2]) -> Option<[i64; 2]> {
    let ([a, b], [c, d]) = (left, right);
    let is_known = a == b && c == d;
    Some(match binary {
        Binary::Add => [a.checked_add(c)?, b.checked_add(d)?],
        Binary::Subtract => [a.checked_sub(d)?, b.checked_sub(c)?],
        Binary::Multiply => {
            let products = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            [*products.iter().min()?, *products.iter().max()?]
        }
        Binary::Maximum => [a.max(c), b.max(d)],
        Binary::Minimum => [a.min(c), b.min(d)],
        Binary::And if is_known => [a & c; 2],
        Binary::And if a >= 0 && c >= 0 => [if b == 1 && d == 1 { a & c } else { 0 }, b.min(d)],
        Binary::Or if is_known => [a | c; 2],
        Binary::Or if a >= 0 && c >= 0 && b <= 1 && d <= 1 => [a | c, b | d],
        Binary::Xor if is_known => [a ^ c; 2],
        Binary::Divide if is_known && c != 0 => [a / c; 2],
        Binary::Remainder if is_known && c != 0 => [a % c; 2],
        Binary::ShiftLeft if c == d && (0..32).contains(&c) => [a.checked_mul(1 << c)?, b.checked_mul(1 << c)?],
        Binary::ShiftRightArithmetic if c == d && (0..32).contains(&c) => [a >> c, b >> c],
        Binary::ShiftRightLogical if a >= 0 && c == d && (0..32).contains(&c) => [a >> c, b >> c],
        _ => return None,
    })
}

/// The range of a comparison of two ranges: 1 if it always holds, 0 if it never does, or both.
fn compared(direction: Compare, [a, b]: [i64; 2], [c, d]: [i64; 2]) -> [i64; 2] {
    let (always, never) = match direction {
        Compare::Lt => (b < c, a >= d),
        Compare::Le => (b <= c, a > d),
        Compare::Gt => (a > d, b <= c),
        Compare::Ge => (a >= d, b < c),
        Compare::Eq => (a == b && c == d && a == c, b < c || a > d),
        Compare::Ne => (b < c || a > d, a == b && c == d && a == c),
    };
    [i64::from(always), i64::from(!never)]
}

#[cfg(test)]
mod tests;
