//! The judge: evaluates a program of the search over its own numbers.

use std::rc::Rc;

use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::tensor::DType;

use super::array::{Index, groups, moved, window_groups};
use super::ast::{Comparator, Graph, Kind, Node, Op, Reducer};
use super::code::{code_of, decode, encode, integer_of, wrap};
use super::function::is_finite;
use super::number::{Num, World};
use super::order::{arg_extreme, sorted};
use super::scalar::{compare, float_binary, holds, integer_binary, integer_unary, truncated, unpaid};

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

/// The values of all nodes.
pub fn evaluate(world: &mut World, graph: &Graph) -> Vec<Rc<Array>> {
    let mut values: Vec<Rc<Array>> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let operands: Vec<Rc<Array>> = node.operands.iter().map(|o| values[*o].clone()).collect();
        let from: Vec<&Node> = node.operands.iter().map(|o| &graph.nodes[*o]).collect();
        let value = instruction(world, node, &operands, &from);
        values.push(Rc::new(without_lost_signs(value, node.dtype)));
    }
    values
}

/// A zero of a type without -0 has no sign, whatever made it.
fn without_lost_signs(array: Array, dtype: DType) -> Array {
    let has_no_sign = dtype.format().is_some_and(|format| !format.has_negative_zero());
    match array {
        Array::Floats(numbers) if has_no_sign => {
            let unsigned =
                |number| if matches!(number, Num::Zero { .. }) { Num::Zero { neg: Some(false) } } else { number };
            Array::Floats(numbers.into_iter().map(unsigned).collect())
        }
        other => other,
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
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

/// The real sum of products, which begins with +0.
fn inner_product<'a>(world: &mut World, pairs: impl Iterator<Item = (&'a Num, &'a Num)>) -> Num {
    let mut total = Num::zero(false);
    for (x, y) in pairs {
        let product = world.multiply(x, y);
        total = world.add(&total, &product);
    }
    total
}
