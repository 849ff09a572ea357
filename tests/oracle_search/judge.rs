//! The judge: evaluates a program of the search over its own numbers.

use std::cmp::Ordering;
use std::rc::Rc;

use rug::{Integer, Rational};
use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::tensor::DType;

use super::array::{Index, groups, moved, window_groups};
use super::ast::{Comparator, Graph, Kind, Node, Op, Reducer};
use super::function::{between, is_finite};
use super::number::{Nan, Num, World};

/// One array. `None` among integers and predicates: not known.
#[derive(Clone, Debug)]
pub enum Array {
    Floats(Vec<Num>),
    Integers(Vec<Option<i128>>),
}

impl Array {
    pub fn floats(&self) -> &[Num] {
        match self {
            Array::Floats(numbers) => numbers,
            Array::Integers(_) => panic!("integers where floats belong"),
        }
    }

    pub fn integers(&self) -> &[Option<i128>] {
        match self {
            Array::Integers(values) => values,
            Array::Floats(_) => panic!("floats where integers belong"),
        }
    }

    /// Elements from other places; `None` where nothing is known.
    fn picked(&self, from: &[Option<usize>]) -> Array {
        match self {
            Array::Floats(numbers) => Array::Floats(
                from.iter()
                    .map(|at| at.map_or(Num::Unknown("an order that is not known"), |at| numbers[at].clone()))
                    .collect(),
            ),
            Array::Integers(values) => Array::Integers(from.iter().map(|at| at.and_then(|at| values[at])).collect()),
        }
    }
}

/// Exponent bits, fraction bits, and whether infinities have codes: IEEE 754-2019 table 3.5, OCP OFP8 v1.0, bf16 as the
/// top half of f32.
fn layout(dtype: DType) -> (u32, u32, bool) {
    match dtype {
        DType::F64 => (11, 52, true),
        DType::F32 => (8, 23, true),
        DType::BF16 => (8, 7, true),
        DType::F16 => (5, 10, true),
        DType::F8E5M2 => (5, 2, true),
        DType::F8E4M3FN => (4, 3, false),
        other => panic!("{other} is no float"),
    }
}

/// What a code of a float type stands for.
fn decode(world: &mut World, dtype: DType, code: u64) -> Num {
    let (exponent_bits, fraction_bits, ieee) = layout(dtype);
    let neg = code >> (exponent_bits + fraction_bits) & 1 == 1;
    let ones = (1u64 << exponent_bits) - 1;
    let (exponent, fraction) = (code >> fraction_bits & ones, code & ((1 << fraction_bits) - 1));
    if exponent == ones && ieee && fraction == 0 {
        return Num::Inf { neg };
    }
    if exponent == ones && (ieee || fraction == (1 << fraction_bits) - 1) {
        return Num::Nan(Nan { neg: Some(neg), payload: Some(fraction) });
    }
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let significand = if exponent == 0 { fraction } else { fraction | 1 << fraction_bits };
    let power = (exponent.max(1) as i32) - bias - fraction_bits as i32;
    if significand == 0 {
        return Num::zero(neg);
    }
    let value = Rational::from(significand);
    let value = if power < 0 { value >> power.unsigned_abs() } else { value << power.unsigned_abs() };
    world.number(if neg { -value } else { value })
}

/// The code of a number that belongs to the type, if it is exactly known and does.
fn encode(dtype: DType, x: &Num) -> Option<u64> {
    let (exponent_bits, fraction_bits, ieee) = layout(dtype);
    let sign = |neg: bool| u64::from(neg) << (exponent_bits + fraction_bits);
    let ones = ((1u64 << exponent_bits) - 1) << fraction_bits;
    match x {
        Num::Nan(nan) => Some(sign(nan.neg?) | ones | nan.payload?),
        Num::Inf { neg } => ieee.then_some(sign(*neg) | ones),
        Num::Zero { neg } => Some(sign((*neg)?)),
        Num::Unknown(_) => None,
        Num::Real(real) => {
            let value = real.rational()?;
            let bias = (1i32 << (exponent_bits - 1)) - 1;
            let (lowest, neg) = (1 - bias, *value < 0);
            let value = Rational::from(value.abs_ref());
            // floor(log2) of the value, if its denominator is a power of two.
            if !value.denom().is_power_of_two() {
                return None;
            }
            let log = value.numer().significant_bits() as i32 - value.denom().significant_bits() as i32;
            let exponent = log.max(lowest);
            let scale = fraction_bits as i32 - exponent;
            let scaled = if scale < 0 { value >> scale.unsigned_abs() } else { value << scale.unsigned_abs() };
            if *scaled.denom() != 1 {
                return None;
            }
            let significand = scaled.numer().to_u64()?;
            let field = if significand >> fraction_bits == 0 { 0 } else { (exponent + bias) as u64 };
            let code = field << fraction_bits | significand & ((1 << fraction_bits) - 1);
            let is_number = if ieee { code < ones } else { code < ones | ((1 << fraction_bits) - 1) };
            is_number.then_some(sign(neg) | code)
        }
    }
}

/// An integer brought into its type's range by wrapping.
fn wrap(dtype: DType, value: i128) -> i128 {
    if dtype == DType::Pred {
        return i128::from(value != 0);
    }
    let bits = dtype.bits();
    let low = value & ((1i128 << bits) - 1);
    if dtype.is_signed() && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
}

/// An integer from its code.
fn integer_of(dtype: DType, code: u64) -> i128 {
    if dtype == DType::Pred { i128::from(code & 1) } else { wrap(dtype, i128::from(code)) }
}

fn code_of(dtype: DType, value: i128) -> u64 {
    (value as u64) & (u64::MAX >> (64 - dtype.bits()))
}

fn range_of(dtype: DType) -> (i128, i128) {
    match (dtype.is_signed(), dtype.bits()) {
        (true, bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, bits) => (0, (1 << bits) - 1),
    }
}

/// The values of all nodes.
pub fn evaluate(world: &mut World, graph: &Graph) -> Vec<Rc<Array>> {
    let mut values: Vec<Rc<Array>> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let operands: Vec<Rc<Array>> = node.operands.iter().map(|o| values[*o].clone()).collect();
        let from: Vec<&Node> = node.operands.iter().map(|o| &graph.nodes[*o]).collect();
        values.push(Rc::new(instruction(world, node, &operands, &from)));
    }
    values
}

fn instruction(world: &mut World, node: &Node, operands: &[Rc<Array>], from: &[&Node]) -> Array {
    let dtype = node.dtype;
    let dims: Vec<&[usize]> = from.iter().map(|n| n.dims.as_slice()).collect();
    if let Some(places) = moved(node, &dims, |operand| operands[operand].integers().to_vec()) {
        return match places {
            // Elements of several operands, by the operand and the place in it.
            Some(places) => gathered(&places, operands),
            None if dtype.is_float() => Array::Floats(vec![Num::Unknown("a start that is not known"); node.len()]),
            None => Array::Integers(vec![None; node.len()]),
        };
    }
    match &node.op {
        Op::Leaf { codes, .. } if dtype.is_float() => {
            Array::Floats(codes.iter().map(|code| decode(world, dtype, *code)).collect())
        }
        Op::Leaf { codes, .. } => Array::Integers(codes.iter().map(|code| Some(integer_of(dtype, *code))).collect()),
        Op::Iota { dim } => {
            let positions = Index::all(&node.dims).map(|index| index[*dim] as i128);
            match dtype.is_float() {
                true => Array::Floats(positions.map(|v| world.integer(v)).collect()),
                false => Array::Integers(positions.map(|v| Some(wrap(dtype, v))).collect()),
            }
        }
        Op::Convert => convert(world, &operands[0], from[0].dtype, dtype),
        Op::ReducePrecision { .. } => match &*operands[0] {
            Array::Floats(numbers) => Array::Floats(numbers.iter().map(unpaid).collect()),
            other => other.clone(),
        },
        Op::BitcastConvert => bitcast(world, &operands[0], from[0].dtype, dtype),
        Op::Unary(Unary::IsFinite) => {
            Array::Integers(operands[0].floats().iter().map(|x| is_finite(x).map(i128::from)).collect())
        }
        Op::Unary(unary) => match &*operands[0] {
            Array::Floats(numbers) => Array::Floats(numbers.iter().map(|x| world.unary(*unary, x)).collect()),
            Array::Integers(values) => {
                Array::Integers(values.iter().map(|v| v.map(|v| integer_unary(*unary, v, dtype))).collect())
            }
        },
        Op::Binary(binary) => match (&*operands[0], &*operands[1]) {
            (Array::Floats(x), Array::Floats(y)) => {
                Array::Floats(x.iter().zip(y).map(|(x, y)| float_binary(world, *binary, x, y)).collect())
            }
            (x, y) => {
                let pairs = x.integers().iter().zip(y.integers());
                Array::Integers(pairs.map(|(x, y)| integer_binary(*binary, *x, *y, dtype)).collect())
            }
        },
        Op::Compare { direction, order } => match (&*operands[0], &*operands[1]) {
            (Array::Floats(x), Array::Floats(y)) => {
                let pairs = x.iter().zip(y);
                Array::Integers(pairs.map(|(x, y)| compare(world, *direction, *order, x, y).map(i128::from)).collect())
            }
            (x, y) => {
                let of = |(x, y): (&Option<i128>, &Option<i128>)| {
                    Some(i128::from(holds(*direction, Some((*x)?.cmp(&(*y)?)))))
                };
                Array::Integers(x.integers().iter().zip(y.integers()).map(of).collect())
            }
        },
        Op::Select => {
            let flags = operands[0].integers();
            let flag = |i: usize| if flags.len() == 1 { flags[0] } else { flags[i] };
            match (&*operands[1], &*operands[2]) {
                (Array::Floats(a), Array::Floats(b)) => {
                    let pick = |(i, (a, b)): (usize, (&Num, &Num))| match flag(i) {
                        Some(0) => b.clone(),
                        Some(_) => a.clone(),
                        None => world.either(a, b),
                    };
                    Array::Floats(a.iter().zip(b).enumerate().map(pick).collect())
                }
                (a, b) => {
                    let pick = |(i, (a, b)): (usize, (&Option<i128>, &Option<i128>))| match flag(i) {
                        Some(0) => *b,
                        Some(_) => *a,
                        None => {
                            if a == b {
                                *a
                            } else {
                                None
                            }
                        }
                    };
                    Array::Integers(a.integers().iter().zip(b.integers()).enumerate().map(pick).collect())
                }
            }
        }
        Op::Clamp => {
            let at = |array: &Array, i: usize| if array_len(array) == 1 { 0 } else { i };
            let count = node.len();
            match &*operands[1] {
                Array::Floats(values) => Array::Floats(
                    (0..count)
                        .map(|i| {
                            let (low, high) = (&operands[0], &operands[2]);
                            let raised = world.extreme(&values[i], &low.floats()[at(low, i)], true);
                            world.extreme(&raised, &high.floats()[at(high, i)], false)
                        })
                        .collect(),
                ),
                Array::Integers(values) => {
                    let edge = |operand: usize, i: usize| operands[operand].integers()[at(&operands[operand], i)];
                    Array::Integers((0..count).map(|i| Some(values[i]?.max(edge(0, i)?).min(edge(2, i)?))).collect())
                }
            }
        }
        Op::Reduce { dims: reduced, reducer } => {
            reduced_by(world, *reducer, &operands[0], &operands[1], &groups(dims[0], reduced), dtype)
        }
        Op::Window { windows, binary } => reduced_by(
            world,
            Reducer::Binary(*binary),
            &operands[0],
            &operands[1],
            &window_groups(dims[0], windows, &node.dims),
            dtype,
        ),
        Op::ArgExtreme { dim, largest, result } => {
            let groups = groups(dims[0], &[*dim]);
            let numbers = operands[0].floats();
            let (mut best, mut places) = (Vec::new(), Vec::new());
            for group in &groups {
                let (value, place) = arg_extreme(world, *largest, numbers, group);
                best.push(value);
                places.push(place);
            }
            if *result == 0 { Array::Floats(best) } else { Array::Integers(places) }
        }
        Op::Sort { dim, comparator, result, .. } => {
            let mut places: Vec<Option<usize>> = vec![None; node.len()];
            for lane in groups(dims[0], &[*dim]) {
                let keys = &operands[0];
                let ties = operands.get(1);
                for (at, source) in lane.iter().zip(sorted(world, *comparator, keys, ties, &lane, from[0].dtype)) {
                    places[*at] = source;
                }
            }
            operands[*result].picked(&places)
        }
        Op::TopK { k, largest, result } => {
            let last = dims[0].len() - 1;
            let mut places = Vec::new();
            let mut indices = Vec::new();
            let comparator = Comparator { kind: Kind::Total, descending: *largest };
            for lane in groups(dims[0], &[last]) {
                let order = sorted(world, comparator, &operands[0], None, &lane, from[0].dtype);
                places.extend(&order[..*k]);
                indices.extend(order[..*k].iter().map(|at| at.map(|at| (at - lane[0]) as i128)));
            }
            if *result == 0 { operands[0].picked(&places) } else { Array::Integers(indices) }
        }
        Op::Dot { lhs_contracting, rhs_contracting, batch } => {
            let (x, y) = (operands[0].floats(), operands[1].floats());
            let (rows, columns) = (groups(dims[0], &[*lhs_contracting]), groups(dims[1], &[*rhs_contracting]));
            // A batch is the slowest dim of both: each has its own stretch of rows and of columns.
            let batches = if *batch { dims[0][0] } else { 1 };
            let (height, width) = (rows.len() / batches.max(1), columns.len() / batches.max(1));
            let mut results = Vec::new();
            for at in 0..batches {
                for row in &rows[at * height..(at + 1) * height] {
                    for column in &columns[at * width..(at + 1) * width] {
                        let pairs = row.iter().map(|i| &x[*i]).zip(column.iter().map(|j| &y[*j]));
                        results.push(inner_product(world, pairs));
                    }
                }
            }
            Array::Floats(results)
        }
        Op::While { trips, binary } => {
            let (mut x, mut y) = (operands[0].floats().to_vec(), operands[1].floats().to_vec());
            for _ in 0..*trips {
                let next = x.iter().zip(&y).map(|(x, y)| float_binary(world, *binary, x, y)).collect();
                (x, y) = (next, x);
            }
            Array::Floats(x)
        }
        Op::Conditional(functions) => {
            let mut branch = |at: usize| -> Vec<Num> {
                operands[at + 1].floats().iter().map(|x| world.unary(functions[at], x)).collect()
            };
            let (yes, no) = (branch(0), branch(1));
            Array::Floats(match operands[0].integers()[0] {
                Some(0) => no,
                Some(_) => yes,
                None => yes.iter().zip(&no).map(|(yes, no)| world.either(yes, no)).collect(),
            })
        }
        other => panic!("{other:?} was to be moved"),
    }
}

fn array_len(array: &Array) -> usize {
    match array {
        Array::Floats(numbers) => numbers.len(),
        Array::Integers(values) => values.len(),
    }
}

fn gathered(places: &[(usize, usize)], operands: &[Rc<Array>]) -> Array {
    match &*operands[0] {
        Array::Floats(_) => Array::Floats(places.iter().map(|(o, at)| operands[*o].floats()[*at].clone()).collect()),
        Array::Integers(_) => Array::Integers(places.iter().map(|(o, at)| operands[*o].integers()[*at]).collect()),
    }
}

/// A number after a conversion: a NaN keeps its sign, its payload has no place in another format.
fn unpaid(x: &Num) -> Num {
    match x {
        Num::Nan(nan) => Num::Nan(Nan { payload: None, ..*nan }),
        other => other.clone(),
    }
}

fn convert(world: &mut World, operand: &Array, from: DType, to: DType) -> Array {
    match operand {
        Array::Floats(_) if from == to => operand.clone(),
        Array::Floats(numbers) if to.is_float() => Array::Floats(numbers.iter().map(unpaid).collect()),
        Array::Floats(numbers) => Array::Integers(numbers.iter().map(|x| truncated(x, to)).collect()),
        Array::Integers(values) if to.is_float() => Array::Floats(
            values
                .iter()
                .map(|v| v.map_or(Num::Unknown("an integer that is not known"), |v| world.integer(v)))
                .collect(),
        ),
        Array::Integers(values) => Array::Integers(values.iter().map(|v| v.map(|v| wrap(to, v))).collect()),
    }
}

/// A float as an integer: truncated, saturated, NaN to 0; as a predicate: whether it is not zero.
fn truncated(x: &Num, to: DType) -> Option<i128> {
    if to == DType::Pred {
        return match x {
            Num::Nan(_) | Num::Inf { .. } => Some(1),
            Num::Zero { .. } => Some(0),
            Num::Real(real) => real.nonzero().then_some(1),
            Num::Unknown(_) => None,
        };
    }
    let (low, high) = range_of(to);
    match x {
        Num::Nan(_) | Num::Zero { .. } => Some(0),
        Num::Inf { neg } => Some(if *neg { low } else { high }),
        Num::Unknown(_) => None,
        Num::Real(real) => {
            if real.range().lo > high {
                return Some(high);
            }
            if real.range().hi < low {
                return Some(low);
            }
            let whole = between(real, |r| {
                let whole = Integer::from(r.clone().trunc().numer());
                Rational::from(whole.clamp(&low, &high))
            })?;
            whole.numer().to_i128()
        }
    }
}

fn bitcast(world: &mut World, operand: &Array, from: DType, to: DType) -> Array {
    let codes: Vec<Option<u64>> = match operand {
        Array::Floats(numbers) => numbers.iter().map(|x| encode(from, x)).collect(),
        Array::Integers(values) => values.iter().map(|v| v.map(|v| code_of(from, v))).collect(),
    };
    match to.is_float() {
        true => Array::Floats(
            codes.iter().map(|c| c.map_or(Num::Unknown("bits that are not known"), |c| decode(world, to, c))).collect(),
        ),
        false => Array::Integers(codes.iter().map(|c| c.map(|c| integer_of(to, c))).collect()),
    }
}

fn float_binary(world: &mut World, binary: Binary, x: &Num, y: &Num) -> Num {
    match binary {
        Binary::Add => world.add(x, y),
        Binary::Subtract => world.subtract(x, y),
        Binary::Multiply => world.multiply(x, y),
        Binary::Divide => world.divide(x, y),
        Binary::Remainder => world.remainder(x, y),
        Binary::Maximum => world.extreme(x, y, true),
        Binary::Minimum => world.extreme(x, y, false),
        other => panic!("{} of floats", other.name()),
    }
}

fn integer_unary(unary: Unary, v: i128, dtype: DType) -> i128 {
    match unary {
        Unary::Abs => wrap(dtype, v.abs()),
        Unary::Negate => wrap(dtype, -v),
        Unary::Not if dtype == DType::Pred => 1 - v,
        Unary::Not => wrap(dtype, !v),
        Unary::Sign => v.signum(),
        other => panic!("{} of integers", other.name()),
    }
}

fn integer_binary(binary: Binary, x: Option<i128>, y: Option<i128>, dtype: DType) -> Option<i128> {
    // One operand may decide alone.
    let is = |v: i128| x == Some(v) || y == Some(v);
    let ones = if dtype == DType::Pred { 1 } else { wrap(dtype, -1) };
    match binary {
        Binary::And if is(0) => return Some(0),
        Binary::Or if is(ones) => return Some(ones),
        _ => {}
    }
    let (x, y) = (x?, y?);
    let bits = i128::from(dtype.bits());
    let inside = (0..bits).contains(&y);
    let value = match binary {
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        // A product of two 64-bit integers fits i128, but for that of two large u64.
        Binary::Multiply => x.wrapping_mul(y),
        Binary::Divide if y == 0 => -1,
        Binary::Divide => x / y,
        Binary::Remainder if y == 0 => x,
        Binary::Remainder => x % y,
        Binary::Maximum => x.max(y),
        Binary::Minimum => x.min(y),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::ShiftLeft => {
            if inside {
                x << y
            } else {
                0
            }
        }
        Binary::ShiftRightLogical => {
            if inside {
                i128::from(code_of(dtype, x)) >> y
            } else {
                0
            }
        }
        Binary::ShiftRightArithmetic => {
            // The top bit is the sign, whatever the type says.
            let code = i128::from(code_of(dtype, x));
            let signed = if code >> (bits - 1) & 1 == 1 { code - (1i128 << bits) } else { code };
            signed >> if inside { y } else { bits }
        }
    };
    Some(wrap(dtype, value))
}

fn holds(direction: Compare, order: Option<Ordering>) -> bool {
    let is = |one: Ordering, other: Ordering| order == Some(one) || order == Some(other);
    match direction {
        Compare::Eq => order == Some(Ordering::Equal),
        Compare::Ne => order != Some(Ordering::Equal),
        Compare::Lt => order == Some(Ordering::Less),
        Compare::Gt => order == Some(Ordering::Greater),
        Compare::Le => is(Ordering::Less, Ordering::Equal),
        Compare::Ge => is(Ordering::Greater, Ordering::Equal),
    }
}

fn compare(world: &mut World, direction: Compare, order: CompareOrder, x: &Num, y: &Num) -> Option<bool> {
    let known = match order {
        CompareOrder::Partial => world.compare(x, y),
        CompareOrder::Total => world.total_compare(x, y).map(Some),
    };
    if let Some(ordering) = known {
        return Some(holds(direction, ordering));
    }
    // Reals whose enclosures touch: one may be known not to be above the other.
    let (Some(x), Some(y)) = (real_range(x), real_range(y)) else { return None };
    match direction {
        Compare::Ge | Compare::Lt if order == CompareOrder::Partial && x.0 >= y.1 => Some(direction == Compare::Ge),
        Compare::Le | Compare::Gt if order == CompareOrder::Partial && x.1 <= y.0 => Some(direction == Compare::Le),
        _ => None,
    }
}

fn real_range(x: &Num) -> Option<(rug::Float, rug::Float)> {
    match x {
        Num::Real(real) => Some((real.range().lo.clone(), real.range().hi.clone())),
        Num::Zero { .. } => Some((rug::Float::new(2), rug::Float::new(2))),
        _ => None,
    }
}

fn reduced_by(
    world: &mut World,
    reducer: Reducer,
    array: &Array,
    init: &Array,
    groups: &[Vec<usize>],
    dtype: DType,
) -> Array {
    match (array, init) {
        (Array::Floats(numbers), Array::Floats(init)) => {
            let mut step = |total: Num, at: &usize| match reducer {
                Reducer::Binary(binary) => float_binary(world, binary, &total, &numbers[*at]),
                Reducer::SquareSum => {
                    let square = world.multiply(&numbers[*at], &numbers[*at]);
                    world.add(&total, &square)
                }
                Reducer::Magnitude => {
                    let sides = (world.abs(&total), world.abs(&numbers[*at]));
                    match compare(world, Compare::Ge, CompareOrder::Partial, &sides.0, &sides.1) {
                        Some(true) => total,
                        Some(false) => numbers[*at].clone(),
                        None => world.either(&total, &numbers[*at]),
                    }
                }
            };
            Array::Floats(groups.iter().map(|group| group.iter().fold(init[0].clone(), &mut step)).collect())
        }
        _ => {
            let (values, init) = (array.integers(), init.integers()[0]);
            let step = |total: Option<i128>, at: &usize| match reducer {
                Reducer::Binary(binary) => integer_binary(binary, total, values[*at], dtype),
                Reducer::SquareSum => {
                    let square = integer_binary(Binary::Multiply, values[*at], values[*at], dtype);
                    integer_binary(Binary::Add, total, square, dtype)
                }
                Reducer::Magnitude => {
                    let size = |v: i128| integer_unary(Unary::Abs, v, dtype);
                    Some(if size(total?) >= size(values[*at]?) { total? } else { values[*at]? })
                }
            };
            Array::Integers(groups.iter().map(|group| group.iter().fold(init, step)).collect())
        }
    }
}

/// JAX's combiner, element after element (FACTS 4). Of zeros of two signs it gives the later one, and HLO fixes no order: the
/// sign of such a zero is left open.
fn arg_extreme(world: &mut World, largest: bool, numbers: &[Num], group: &[usize]) -> (Num, Option<i128>) {
    let direction = if largest { Compare::Gt } else { Compare::Lt };
    let or = |a: Option<bool>, b: Option<bool>| match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    };
    let mut best = (Num::Inf { neg: largest }, Some(0));
    for (i, at) in group.iter().enumerate() {
        let (value, place) = best;
        let (other, i) = (&numbers[*at], i as i128);
        let better = compare(world, direction, CompareOrder::Partial, &value, other);
        let nan = compare(world, Compare::Ne, CompareOrder::Partial, &value, &value);
        let first = or(better, nan);
        let equal = compare(world, Compare::Eq, CompareOrder::Partial, &value, other);
        let tie = match (equal, place) {
            (Some(false), _) => Some(false),
            (equal, Some(place)) if place < i => equal,
            (_, Some(_)) => Some(false),
            _ => None,
        };
        let index = match or(first, tie) {
            Some(true) => place,
            Some(false) => Some(i),
            None => None,
        };
        let value = match first {
            Some(true) => value,
            Some(false) if matches!((&value, other), (Num::Zero { .. }, Num::Zero { .. })) => {
                world.either(&value, other)
            }
            Some(false) => other.clone(),
            None => world.either(&value, other),
        };
        best = (value, index);
    }
    best
}

/// Where each place of a sorted lane takes its element from, as far as the order is known; nothing if the comparator is
/// no order.
fn sorted(
    world: &mut World,
    comparator: Comparator,
    keys: &Array,
    ties: Option<&Rc<Array>>,
    lane: &[usize],
    dtype: DType,
) -> Vec<Option<usize>> {
    let n = lane.len();
    // Whether the first goes before the second.
    let mut before = vec![vec![None; n]; n];
    for i in 0..n {
        for j in 0..n {
            if i != j {
                before[i][j] = goes_before(world, comparator, keys, ties, lane[i], lane[j], dtype);
            }
        }
    }
    // A NaN is neither before nor after anything: with one the partial comparisons are no order.
    let may_be_nan = |array: &Array| match array {
        Array::Floats(numbers) => lane.iter().any(|at| matches!(numbers[*at], Num::Nan(_) | Num::Unknown(_))),
        Array::Integers(_) => false,
    };
    let is_partial = !matches!(comparator.kind, Kind::Total | Kind::Canonical) && may_be_nan(keys);
    let has_partial_ties = comparator.kind == Kind::Ties && ties.is_some_and(|ties| may_be_nan(ties));
    if n > 1 && (is_partial || has_partial_ties) {
        return vec![None; n];
    }
    let mut places = vec![None; n];
    for i in 0..n {
        let mut rank = Some(0);
        for j in (0..n).filter(|j| *j != i) {
            let ahead = match (before[j][i], before[i][j]) {
                (Some(true), _) => Some(true),
                (_, Some(true)) => Some(false),
                (Some(false), Some(false)) => Some(j < i),
                // Not known to be equal, but the first stays first either way.
                (None, Some(false)) if j < i => Some(true),
                (Some(false), None) if i < j => Some(false),
                _ => None,
            };
            rank = rank.zip(ahead).map(|(rank, ahead)| rank + usize::from(ahead));
        }
        if let Some(rank) = rank {
            places[rank] = Some(lane[i]);
        }
    }
    places
}

fn goes_before(
    world: &mut World,
    comparator: Comparator,
    keys: &Array,
    ties: Option<&Rc<Array>>,
    a: usize,
    b: usize,
    dtype: DType,
) -> Option<bool> {
    let direction = if comparator.descending { Compare::Gt } else { Compare::Lt };
    let numbers = match keys {
        Array::Integers(values) => {
            let side = |at: usize| match comparator.kind {
                Kind::Magnitude => Some(integer_unary(Unary::Abs, values[at]?, dtype)),
                _ => values[at],
            };
            let order = side(a)?.cmp(&side(b)?);
            return match (comparator.kind, order, ties) {
                (Kind::Ties, Ordering::Equal, Some(ties)) => tie(world, ties, a, b),
                _ => Some(holds(direction, Some(order))),
            };
        }
        Array::Floats(numbers) => numbers,
    };
    let (x, y) = (&numbers[a], &numbers[b]);
    match comparator.kind {
        Kind::Partial => compare(world, direction, CompareOrder::Partial, x, y),
        Kind::Total => compare(world, direction, CompareOrder::Total, x, y),
        Kind::Canonical => {
            let canonical = |x: &Num| match x {
                Num::Zero { .. } => Num::zero(false),
                Num::Nan(_) => Num::Nan(Nan { neg: Some(false), payload: Some(0) }),
                other => other.clone(),
            };
            compare(world, direction, CompareOrder::Total, &canonical(x), &canonical(y))
        }
        Kind::Magnitude => {
            let (x, y) = (world.abs(x), world.abs(y));
            compare(world, direction, CompareOrder::Partial, &x, &y)
        }
        Kind::Ties => match world.compare(x, y)? {
            Some(Ordering::Equal) | None => tie(world, ties?, a, b),
            order => Some(holds(direction, order)),
        },
    }
}

fn tie(world: &mut World, ties: &Array, a: usize, b: usize) -> Option<bool> {
    match ties {
        Array::Integers(values) => Some(values[a]? < values[b]?),
        Array::Floats(numbers) => compare(world, Compare::Lt, CompareOrder::Partial, &numbers[a], &numbers[b]),
    }
}

/// The real sum of products; the sign of a zero sum of zeros that are all -0 is left open.
fn inner_product<'a>(world: &mut World, pairs: impl Iterator<Item = (&'a Num, &'a Num)>) -> Num {
    let mut total: Option<Num> = None;
    for (x, y) in pairs {
        let product = world.multiply(x, y);
        total = Some(match total {
            None => product,
            Some(total) => world.add(&total, &product),
        });
    }
    match total {
        Some(Num::Zero { neg: Some(true) | None }) => Num::Zero { neg: None },
        Some(total) => total,
        None => Num::zero(false),
    }
}
