//! Orders: sorting, top-k and argmax.

use std::cmp::Ordering;
use std::rc::Rc;

use ulpgate::ir::{Compare, CompareOrder, Unary};
use ulpgate::tensor::DType;

use super::ast::{Comparator, Kind};
use super::judge::Array;
use super::number::{Nan, Num, World};
use super::scalar::{compare, holds, integer_unary};

/// JAX's combiner, element after element (FACTS 4). Of zeros of two signs it gives the later one, and HLO fixes no
/// order: the sign of such a zero is left open.
pub fn arg_extreme(world: &mut World, largest: bool, numbers: &[Num], group: &[usize]) -> (Num, Option<i128>) {
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

/// The element that each place of a sorted lane takes, as far as the order is known; nothing if the comparator is
/// no order.
pub fn sorted(
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
