//! Sums that are kept in a narrow type, or rounded toward zero.

use std::collections::HashMap;

use crate::ir::movement::row_major;
use crate::ir::{DotDims, Op, ValueId};
use crate::name::are;
use crate::num::{BF16, Direction, F16, F32, Format, round_f64};
use crate::sum_tree;
use crate::tensor::{Data, Tensor};

use super::super::evidence::{EXPLAINS, Evidence, Pattern, Runner};
use super::super::marked::{Sum, sums, with_value};
use super::value_of;

/// Products or terms of all sums together that are added at most, in each of the ways.
pub(super) const MOST_TERMS: usize = 1 << 23;

/// An order of the additions of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Chain,
    Backward,
    /// Neighbours first, then neighbouring pairs.
    Neighbours,
    /// The first half onto the second one, again and again.
    Halves,
    /// So many chains of every so-manieth term, whose sums are added by halves.
    Lanes(usize),
    /// Chains of so many terms, whose sums are a chain.
    Blocks(usize),
}

const ORDERS: [Order; 7] = [
    Order::Chain,
    Order::Neighbours,
    Order::Halves,
    Order::Backward,
    Order::Lanes(8),
    Order::Lanes(16),
    Order::Blocks(32),
];

/// An accumulator: its type, its rounding, whether each term is rounded before it is added, and the order.
#[derive(Clone, Copy)]
struct NarrowAccumulator {
    format: &'static Format,
    direction: Direction,
    rounds_terms: bool,
    order: Order,
}

impl NarrowAccumulator {
    fn round(self, value: f64) -> f64 {
        round_f64(self.format, value, self.direction)
    }

    /// The sum of these terms.
    fn sum(self, terms: &[f64]) -> f64 {
        let chain = |terms: &mut dyn Iterator<Item = f64>| -> f64 {
            let first = self.round(terms.next().unwrap_or(0.0));
            terms.fold(first, |sum, term| self.round(sum + term))
        };
        let add = |a: f64, b: f64| self.round(a + b);
        let halves = |terms: &[f64]| self.round(sum_tree::by_halves(terms, add).unwrap_or(0.0));
        match self.order {
            Order::Chain => chain(&mut terms.iter().copied()),
            Order::Backward => chain(&mut terms.iter().rev().copied()),
            Order::Neighbours => self.round(sum_tree::pairwise(terms, add).unwrap_or(0.0)),
            Order::Halves => halves(terms),
            Order::Lanes(lanes) => {
                let lane = |lane: usize| chain(&mut terms.iter().skip(lane).step_by(lanes).copied());
                halves(&(0..lanes.min(terms.len())).map(lane).collect::<Vec<f64>>())
            }
            Order::Blocks(size) => {
                let blocks: Vec<f64> = terms.chunks(size).map(|block| chain(&mut block.iter().copied())).collect();
                chain(&mut blocks.into_iter())
            }
        }
    }
}

/// Sums that are kept in a narrow type: one of the program, or all of them.
pub(super) fn narrow_sums(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let all = sums(evidence.ground.program);
    let work: usize = all.iter().map(|sum| terms_of(evidence, sum)).sum();
    if all.is_empty() || work > MOST_TERMS {
        return None;
    }
    let mut best: Option<Pattern> = None;
    let mut plain = HashMap::new();
    for accumulator in accumulators(evidence) {
        let mut subsets: Vec<&[Sum]> = vec![&all];
        if all.len() > 1 {
            subsets.extend(all.chunks(1));
        }
        for subset in subsets {
            let add_up = |op: &Op, operands: &[Tensor]| match (op, operands) {
                (Op::Dot { dims, .. }, [lhs, rhs]) => Some(dot(lhs, rhs, dims, accumulator)),
                (Op::Reduce { dims, .. }, [operand]) => Some(reduce(operand, dims, accumulator)),
                _ => None,
            };
            let Some(values) = with_sums(runner, &mut plain, subset, add_up) else { continue };
            let explained = evidence.least_share(&values);
            if explained > EXPLAINS && best.as_ref().is_none_or(|best| explained > best.explained + 0.01) {
                best = Some(pattern(evidence, subset, all.len(), accumulator, explained));
            }
        }
    }
    best
}

/// The accumulators that are narrower than the program's own: no type of it is wider than its results' sums.
fn accumulators(evidence: &Evidence) -> Vec<NarrowAccumulator> {
    let mut found = Vec::new();
    for order in ORDERS {
        for rounds_terms in [false, true] {
            for format in [&BF16, &F16] {
                found.push(NarrowAccumulator { format, direction: Direction::NearestEven, rounds_terms, order });
            }
        }
    }
    // Truncated sums of f32 differ from rounded ones by what only an f32 result shows.
    if evidence.format.fraction_bits == F32.fraction_bits {
        let truncated =
            |order| NarrowAccumulator { format: &F32, direction: Direction::TowardZero, rounds_terms: false, order };
        found.extend(ORDERS.map(truncated));
    }
    found
}

fn pattern(evidence: &Evidence, subset: &[Sum], of: usize, accumulator: NarrowAccumulator, explained: f64) -> Pattern {
    let names: Vec<&str> =
        subset.iter().map(|sum| evidence.ground.program.entry().instructions[sum.value].name.as_str()).collect();
    let which = match (names.as_slice(), of) {
        ([one], _) => (*one).to_string(),
        (_, of) => format!("all {of} sums"),
    };
    let (verb, type_) = (are(names.len()), accumulator.format.name);
    let of_operands = match evidence.format.name == type_ {
        true => ", the type of the operands",
        false => "",
    };
    let says = match accumulator.direction {
        Direction::TowardZero => format!("{which} {verb} rounded toward zero at each addition"),
        Direction::NearestEven => format!("{which} {verb} summed in {type_}{of_operands}"),
    };
    let kind = match accumulator.direction {
        Direction::TowardZero => "toward-zero",
        Direction::NearestEven => "narrow-sum",
    };
    Pattern::new(kind, says, explained)
}

/// Terms that a sum adds up for all its results.
pub(super) fn terms_of(evidence: &Evidence, sum: &Sum) -> usize {
    let instruction = &evidence.ground.program.entry().instructions[sum.value];
    instruction.shape.elements().saturating_mul(sum.terms)
}

/// The result with these sums added up in another way, which is given the operation and the operands that hold the terms; `None` beyond
/// the budget. `plain` keeps the values of the program as it is, which the operands of the first sum are in every way.
pub(super) fn with_sums(
    runner: &mut Runner,
    plain: &mut HashMap<ValueId, Option<Tensor>>,
    subset: &[Sum],
    add_up: impl Fn(&Op, &[Tensor]) -> Option<Vec<f64>>,
) -> Option<Vec<f64>> {
    let evidence = runner.evidence;
    let mut program = evidence.ground.program.clone();
    let mut arguments = evidence.ground.arguments.to_vec();
    for (at, sum) in subset.iter().enumerate() {
        runner.left = runner.left.checked_sub(1)?;
        let instruction = &program.entry().instructions[sum.value];
        let dtype = instruction.shape.dtype()?;
        let dims = instruction.shape.dims().to_vec();
        // The second operand of a reduction is its init.
        let of_terms = if matches!(instruction.op, Op::Dot { .. }) { 2 } else { 1 };
        let value = |id: &ValueId| match at {
            0 => plain.entry(*id).or_insert_with(|| value_of(evidence, &program, &arguments, *id)).clone(),
            _ => value_of(evidence, &program, &arguments, *id),
        };
        let operands: Vec<Tensor> = instruction.operands[..of_terms].iter().map(value).collect::<Option<_>>()?;
        let values = add_up(&instruction.op, &operands)?;
        arguments.push(Tensor::new(&dims, Data::from_f64s(dtype, &values)?));
        program = with_value(&program, sum.value);
    }
    runner.run(&program, &arguments)
}

/// Flat positions of all places of these dims of an array.
fn positions(extents: &[usize], dims: &[usize]) -> Vec<usize> {
    let strides: Vec<usize> = row_major(extents).into_iter().map(isize::unsigned_abs).collect();
    let mut found = vec![0];
    for dim in dims {
        let places = |start: &usize| (0..extents[*dim]).map(|at| start + at * strides[*dim]).collect::<Vec<_>>();
        found = found.iter().flat_map(places).collect();
    }
    found
}

/// Dims of an array of this rank that are in neither of two lists.
fn rest(rank: usize, some: &[usize], others: &[usize]) -> Vec<usize> {
    (0..rank).filter(|dim| !some.contains(dim) && !others.contains(dim)).collect()
}

fn reduce(operand: &Tensor, along: &[usize], accumulator: NarrowAccumulator) -> Vec<f64> {
    let values = operand.data().to_f64s();
    let terms = positions(operand.dims(), along);
    let outer = positions(operand.dims(), &rest(operand.dims().len(), along, &[]));
    let term = |at: usize| if accumulator.rounds_terms { accumulator.round(values[at]) } else { values[at] };
    let sum = |start: &usize| accumulator.sum(&terms.iter().map(|at| term(start + at)).collect::<Vec<_>>());
    outer.iter().map(sum).collect()
}

/// The pairs of factors of each result of a dot.
pub(super) struct Products {
    factors: [Vec<f64>; 2],
    /// Of each operand the positions of its batches, its rows or columns within a batch, and its terms within one of these.
    places: [[Vec<usize>; 3]; 2],
}

impl Products {
    pub(super) fn new(lhs: &Tensor, rhs: &Tensor, dims: &DotDims) -> Products {
        let of = |tensor: &Tensor, batch: &[usize], contracting: &[usize]| {
            let free = rest(tensor.dims().len(), batch, contracting);
            [batch, &free, contracting].map(|dims| positions(tensor.dims(), dims))
        };
        let places = [of(lhs, &dims.lhs_batch, &dims.lhs_contracting), of(rhs, &dims.rhs_batch, &dims.rhs_contracting)];
        Products { factors: [lhs, rhs].map(|tensor| tensor.data().to_f64s()), places }
    }

    /// Visits the pairs of each result, in row-major order of results.
    pub(super) fn each(&self, mut visit: impl FnMut(&[[f64; 2]])) {
        let [x, y] = &self.factors;
        let [[x_batch, x_free, x_terms], [y_batch, y_free, y_terms]] = &self.places;
        let mut pairs = vec![[0.0; 2]; x_terms.len()];
        for (x_start, y_start) in x_batch.iter().zip(y_batch) {
            for row in x_free {
                for column in y_free {
                    for ((pair, i), j) in pairs.iter_mut().zip(x_terms).zip(y_terms) {
                        *pair = [x[x_start + row + i], y[y_start + column + j]];
                    }
                    visit(&pairs);
                }
            }
        }
    }
}

fn dot(lhs: &Tensor, rhs: &Tensor, dims: &DotDims, accumulator: NarrowAccumulator) -> Vec<f64> {
    let (mut values, mut terms) = (Vec::new(), Vec::new());
    Products::new(lhs, rhs, dims).each(|pairs| {
        let products = pairs.iter().map(|[x, y]| x * y);
        terms.clear();
        terms.extend(
            products.map(|product| if accumulator.rounds_terms { accumulator.round(product) } else { product }),
        );
        values.push(accumulator.sum(&terms));
    });
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_adds_each_term_once() {
        let terms: Vec<f64> = (0..77).map(|i| f64::from(1 << (i % 5))).collect();
        for order in ORDERS {
            let exact =
                NarrowAccumulator { format: &F32, direction: Direction::NearestEven, rounds_terms: true, order };
            assert_eq!(exact.sum(&terms), terms.iter().sum::<f64>(), "{order:?}");
        }
        let narrow = NarrowAccumulator {
            format: &BF16,
            direction: Direction::NearestEven,
            rounds_terms: false,
            order: Order::Chain,
        };
        assert_eq!(narrow.sum(&[1.0; 1000]), 256.0, "a sum of ones in bf16 stays at 256");
    }

    #[test]
    fn a_batched_dot_has_the_places_of_xla() {
        let of = |dims: &[usize]| {
            let count: usize = dims.iter().product();
            let values: Vec<f64> = (0..count).map(|i| (i % 7) as f64).collect();
            Tensor::new(dims, Data::from_f64s(crate::tensor::DType::F32, &values).unwrap())
        };
        let (x, y) = (of(&[2, 3, 4]), of(&[2, 5, 4]));
        let dims =
            DotDims { lhs_contracting: vec![2], rhs_contracting: vec![2], lhs_batch: vec![0], rhs_batch: vec![0] };
        let exact = NarrowAccumulator {
            format: &F32,
            direction: Direction::NearestEven,
            rounds_terms: false,
            order: Order::Chain,
        };
        let values = dot(&x, &y, &dims, exact);
        let one = |b: usize, i: usize, j: usize| -> f64 {
            (0..4).map(|k| x.data().get_f64(b * 12 + i * 4 + k) * y.data().get_f64(b * 20 + j * 4 + k)).sum()
        };
        assert_eq!(values[15 + 2 * 5 + 3], one(1, 2, 3));
        assert_eq!(
            reduce(&x, &[0, 2], exact)[1],
            (0..2)
                .flat_map(|b| (0..4).map(move |k| (b, k)))
                .map(|(b, k)| x.data().get_f64(b * 12 + 4 + k))
                .sum::<f64>()
        );
    }

    fn sum(order: Order, terms: &[f64]) -> f64 {
        NarrowAccumulator { format: &BF16, direction: Direction::NearestEven, rounds_terms: false, order }.sum(terms)
    }

    /// Beside 1 a bf16 loses 2^-9, and four of them are its last bit: they stay where they are added first.
    #[test]
    fn small_terms_stay_where_they_are_added_first() {
        let small = 2f64.powi(-9);
        let (first, last) = ([1.0, small, small, small, small], [small, small, small, small, 1.0]);
        assert_eq!([sum(Order::Chain, &first), sum(Order::Backward, &last)], [1.0; 2]);
        assert_eq!([sum(Order::Backward, &first), sum(Order::Chain, &last)], [1.0 + 2f64.powi(-7); 2]);
    }

    /// No two orders are one: some terms tell each from each other.
    #[test]
    fn orders_are_told_apart() {
        let terms = |seed: u64| -> Vec<f64> {
            (0..100u64).map(|at| ((at + 1) * (seed * 7919 + 104_729) % 1009) as f64 / 1009.0 - 0.5).collect()
        };
        let sums = ORDERS.map(|order| (0..16).map(|seed| sum(order, &terms(seed)).to_bits()).collect::<Vec<_>>());
        for (at, own) in sums.iter().enumerate() {
            let others = sums.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(others.into_iter().all(|(_, other)| other != own), "{:?}", ORDERS[at]);
        }
    }
}
