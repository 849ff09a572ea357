//! Sorting and top-k.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::analysis::Comparator;
use crate::ir::{CompareOrder, Shape};
use crate::tensor::DType;

use super::arithmetic::Arithmetic;
use super::comparison::Comparison;
use super::elements::{Element, FloatArray, Value};
use super::evaluate::Pass;
use super::oracle_error::OracleError;
use super::order::Going;
use super::places::{Lane, open_places};
use super::radix;

impl<A: Arithmetic> Pass<'_, A> {
    /// Sorts stably: over the reals an unstable sort has no other order to offer at a tie than the given one.
    pub(super) fn sort(
        &mut self,
        dim: usize,
        to_apply: usize,
        operands: &[Value<A>],
        shapes: &[&Shape],
    ) -> Result<Value<A>, OracleError> {
        let known = self.prepared.regions.comparator_but_for_rounding(to_apply);
        let dims = shapes[0].dims();
        let inner: usize = dims[dim + 1..].iter().product();
        let length = dims[dim];
        let total: usize = dims.iter().product();
        let all_numbers = known.is_some_and(|comparator| self.all_numbers(&operands[comparator.key]));
        let by_numbers = known.filter(|_| all_numbers);
        let mut lanes: Vec<(Vec<usize>, Lane)> = Vec::with_capacity(total / length.max(1));
        for lane in 0..total / length.max(1) {
            let start = lane / inner * inner * length + lane % inner;
            let positions: Vec<usize> = (0..length).map(|i| start + i * inner).collect();
            // Ties go to the lower of these integers: to the first, where they ascend.
            let ascending = |ties: usize| {
                let Value::Integer(integers) = &operands[ties] else { return false };
                positions
                    .is_sorted_by(|a, b| integers.number(*a).is_some() && integers.number(*a) < integers.number(*b))
            };
            let order = match known.filter(|c| c.ties.is_none_or(ascending)) {
                Some(comparator) => self.order_by(comparator, operands, &positions, all_numbers),
                None => self.order_by_region(to_apply, operands, &positions)?,
            };
            let lane = match (order, by_numbers) {
                (Some(order), _) => Lane::Sorted(order),
                (None, Some(Comparator { key, descending, .. })) => {
                    Lane::Partly(self.world.places(operands[key].floats(), &positions, descending))
                }
                (None, None) => Lane::Open,
            };
            lanes.push((positions, lane));
        }
        let decided = lanes.iter().all(|(_, lane)| matches!(lane, Lane::Sorted(_)));
        // Where each element of the result comes from.
        let mut sources: Vec<usize> = (0..total).collect();
        for (positions, lane) in &lanes {
            for (place, at) in positions.iter().enumerate() {
                sources[*at] = lane.element(place).unwrap_or(*at);
            }
        }
        let mut outputs = Vec::with_capacity(operands.len());
        for (slot, operand) in operands.iter().enumerate() {
            let moved = match operand {
                Value::Float(array) => Value::Float(self.world.pick(array, &sources)),
                other => {
                    let integers = other.integers();
                    Value::integer(integers.dtype, sources.iter().map(|at| integers.values[*at]).collect())
                }
            };
            let is_key = by_numbers.is_some_and(|comparator| comparator.key == slot);
            let key = is_key.then(|| operand.floats());
            outputs.push(if decided { moved } else { self.forget_open(&moved, &lanes, key) });
        }
        Ok(Value::from_parts(outputs))
    }

    /// `clamp`: each float or integer, or the edge that it is beyond.
    pub(super) fn clamp(&mut self, operands: &[Value<A>]) -> Value<A> {
        let (low, value, high) = (&operands[0], &operands[1], &operands[2]);
        if let Value::Integer(values) = value {
            let edge = |edges: &Value<A>, i: usize| {
                let edges = edges.integers();
                edges.number(if edges.values.len() == 1 { 0 } else { i })
            };
            let clamped = |i| Some((values.number(i)?.max(edge(low, i)?).min(edge(high, i)?)) as i64);
            return Value::integer(values.dtype, (0..values.values.len()).map(clamped).collect());
        }
        let (low, value, high) = (low.floats(), value.floats(), high.floats());
        let mut clamped = Vec::with_capacity(value.len);
        for at in 0..value.len {
            let edge = |array: &FloatArray<A>| if array.len == 1 { 0 } else { at };
            let (low, high) = (self.world.element(low, edge(low)), self.world.element(high, edge(high)));
            let element = self.world.element(value, at);
            let above = self.world.extreme(&element, &low, true);
            clamped.push(self.world.extreme(&above, &high, false));
        }
        Value::Float(self.world.collect(clamped))
    }

    /// Forgets the elements of a sorted array at open places. Those of the sort key, `key`, keep their place's ends.
    fn forget_open(
        &mut self,
        sorted: &Value<A>,
        lanes: &[(Vec<usize>, Lane)],
        key: Option<&FloatArray<A>>,
    ) -> Value<A> {
        match sorted {
            Value::Float(array) => {
                let mut elements = self.world.elements(array);
                for (lane, place, at) in open_places(lanes) {
                    elements[at] = self.world.at_place(key, lane, place);
                }
                Value::Float(self.world.collect(elements))
            }
            other => {
                let mut values = other.integers().values.to_vec();
                open_places(lanes).for_each(|(_, _, at)| values[at] = None);
                Value::integer(other.integers().dtype, values)
            }
        }
    }

    fn order_by(
        &mut self,
        comparator: Comparator,
        operands: &[Value<A>],
        positions: &[usize],
        all_numbers: bool,
    ) -> Option<Vec<usize>> {
        let (descending, all) = (comparator.descending, positions.len());
        let array = match &operands[comparator.key] {
            Value::Float(array) => array,
            other => {
                let integers = other.integers();
                return leading(positions, all, descending, |a, b| integers.compare(a, integers, b));
            }
        };
        let signed_zeros = comparator.order == CompareOrder::Total && !comparator.canonical;
        if let Some(order) =
            self.order_by_value(array, positions, descending, signed_zeros, all_numbers, operands.len() == 1)
        {
            return Some(order);
        }
        let elements = self.lane(array, positions);
        let world = &self.world;
        leading(positions, all, descending, |a, b| {
            let (x, y) = (&elements[&a], &elements[&b]);
            match (comparator.order, comparator.canonical) {
                (CompareOrder::Total, false) => world.total_compare(x, y),
                // All NaN are one, beyond all numbers; what is unknown may be one of them.
                (CompareOrder::Total, true) => match (world.is_nan(x), world.is_nan(y)) {
                    (false, false) => world.compare(x, y),
                    (x_is_nan, y_is_nan) => {
                        let is_known =
                            |e: &Element<A::Number>| world.is_nan(e) || world.arithmetic.is_number(&e.number);
                        let both = is_known(x) && is_known(y);
                        if both { Comparison::Is(x_is_nan.cmp(&y_is_nan)) } else { Comparison::Open }
                    }
                },
                (CompareOrder::Partial, _) => world.compare(x, y),
            }
        })
    }

    /// Whether every element of a float value is a number.
    fn all_numbers(&self, value: &Value<A>) -> bool {
        matches!(value, Value::Float(array) if self.world.arithmetic.all_numbers(&array.numbers))
    }

    /// The elements at these positions.
    fn lane(&mut self, array: &FloatArray<A>, positions: &[usize]) -> HashMap<usize, Element<A::Number>> {
        positions.iter().map(|at| (*at, self.world.element(array, *at))).collect()
    }

    /// A stable order of positions without NaN by sorting f64 numbers and then proving it, neighbour by neighbour.
    ///
    /// Elements of one class go by their keys, which is the order proven. Others go by the lower ends of their
    /// enclosures; as a neighbour strictly before the next is before all that follow, proving the neighbours is enough.
    /// `None` where that does not succeed. `is_alone` says that nothing is moved with them.
    fn order_by_value(
        &mut self,
        array: &FloatArray<A>,
        positions: &[usize],
        descending: bool,
        signed_zeros: bool,
        all_numbers: bool,
        is_alone: bool,
    ) -> Option<Vec<usize>> {
        if positions.is_empty() || !all_numbers {
            return None;
        }
        let (classes, keys) = self.world.identities(array);
        let class = *classes.at(positions[0]);
        let one_class = match classes.values() {
            [_] => true,
            _ => positions.iter().all(|at| *classes.at(*at) == class),
        };
        // Keys that are zeros say nothing of the signs of zero results, unless the keys are the results.
        let minus_zero = |at: &usize| *keys.at(*at) == 0.0 && keys.at(*at).is_sign_negative();
        let keys_have_signs = !signed_zeros || !positions.iter().any(minus_zero);
        let rises = match self.world.classes.direction(class) {
            Going::Rising => true,
            // Which of two equal ones goes first shows in what is moved with them alone.
            Going::NeverFalling => is_alone,
            Going::Anyhow => false,
        };
        let by_key = one_class && rises && (class == 0 || keys_have_signs);
        let value = |at: usize| {
            if by_key { *keys.at(at) } else { self.world.arithmetic.bounds(&self.world.number(array, at)).0 }
        };
        let order = radix::sort_order(positions, descending, signed_zeros && class == 0, value);
        let proven = by_key
            || order.windows(2).all(|pair| {
                let (a, b) = (self.world.element(array, pair[0]), self.world.element(array, pair[1]));
                let before = if descending { Ordering::Greater } else { Ordering::Less };
                let comparison =
                    if signed_zeros { self.world.total_compare(&a, &b) } else { self.world.compare(&a, &b) };
                comparison == Comparison::Is(before)
            });
        proven.then_some(order)
    }

    fn order_by_region(
        &mut self,
        to_apply: usize,
        operands: &[Value<A>],
        positions: &[usize],
    ) -> Result<Option<Vec<usize>>, OracleError> {
        // Insertion sort: as many calls as needed, and any comparator, consistent or not, ends.
        let mut order: Vec<usize> = Vec::with_capacity(positions.len());
        for at in positions {
            let mut slot = order.len();
            while slot > 0 {
                match self.goes_before(to_apply, operands, *at, order[slot - 1])? {
                    None => return Ok(None),
                    Some(false) => break,
                    Some(true) => slot -= 1,
                }
            }
            order.insert(slot, *at);
        }
        // Numbers have an order; a NaN has a place in it only if the comparator gives it one.
        let is_nan = |operand: &Value<A>, at: usize| match operand {
            Value::Float(array) => self.world.arithmetic.is_nan(&self.world.number(array, at)),
            _ => false,
        };
        let has_nan = positions.iter().any(|at| operands.iter().any(|operand| is_nan(operand, *at)));
        let is_order = !has_nan || self.is_weak_order(to_apply, operands, &order)?;
        Ok(is_order.then_some(order))
    }

    /// Whether the region says that one position goes before another; `None` where that is open.
    fn goes_before(
        &mut self,
        to_apply: usize,
        operands: &[Value<A>],
        a: usize,
        b: usize,
    ) -> Result<Option<bool>, OracleError> {
        let mut arguments = Vec::with_capacity(2 * operands.len());
        for operand in operands {
            for side in [a, b] {
                arguments.push(self.scalar(operand, side));
            }
        }
        Ok(self.call(to_apply, &arguments)?.integers().number(0).map(|v| v != 0))
    }

    /// Whether sorted positions fall into groups, within which none goes before another and of which each goes before all
    /// that follow: then they are in the only stable order. Anything else HLO leaves open.
    fn is_weak_order(&mut self, to_apply: usize, operands: &[Value<A>], order: &[usize]) -> Result<bool, OracleError> {
        let mut group_starts = 0;
        for (i, b) in order.iter().enumerate() {
            if i > 0 && self.goes_before(to_apply, operands, order[i - 1], *b)? == Some(true) {
                group_starts = i;
            }
            for (j, a) in order[..i].iter().enumerate() {
                let both =
                    [self.goes_before(to_apply, operands, *a, *b)?, self.goes_before(to_apply, operands, *b, *a)?];
                if both != [Some(j < group_starts), Some(false)] {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// `topk`: totalOrder, ties to the lower index.
    pub(super) fn top_k(&mut self, k: usize, largest: bool, operand: &Value<A>, dims: &[usize]) -> Value<A> {
        let n = dims.last().copied().unwrap_or(1);
        let total: usize = dims.iter().product();
        let rows = total / n.max(1);
        let all_numbers = self.all_numbers(operand);
        let mut lanes: Vec<Lane> = Vec::with_capacity(rows);
        for row in 0..rows {
            let positions: Vec<usize> = (row * n..(row + 1) * n).collect();
            let order = match operand {
                Value::Float(array) => {
                    match self.order_by_value(array, &positions, largest, true, all_numbers, false) {
                        None => {
                            let elements = self.lane(array, &positions);
                            let world = &self.world;
                            leading(&positions, k, largest, |a, b| world.total_compare(&elements[&a], &elements[&b]))
                        }
                        order => order,
                    }
                }
                other => {
                    let integers = other.integers();
                    leading(&positions, k, largest, |a, b| integers.compare(a, integers, b))
                }
            };
            lanes.push(match (order, operand) {
                (Some(order), _) => Lane::Sorted(order),
                (None, Value::Float(array)) if all_numbers => {
                    Lane::Partly(self.world.places(array, &positions, largest))
                }
                (None, _) => Lane::Open,
            });
        }
        let places = || lanes.iter().enumerate().flat_map(|(row, lane)| (0..k).map(move |place| (row, lane, place)));
        let indices = places().map(|(row, lane, place)| lane.element(place).map(|at| (at - row * n) as i64)).collect();
        let values = match operand {
            Value::Float(array) => {
                let values = places().map(|(_, lane, place)| self.world.at_place(Some(array), lane, place)).collect();
                Value::Float(self.world.collect(values))
            }
            other => {
                let integers = other.integers();
                let value = |(_, lane, place): (usize, &Lane, usize)| integers.values[lane.element(place)?];
                Value::integer(integers.dtype, places().map(value).collect())
            }
        };
        Value::Tuple(vec![values, Value::integer(DType::S32, indices)])
    }

    /// The result that an approximate top-k approximates: the largest values with their indices, by IEEE `>`, ties to
    /// the lower index. It keeps the size that the operation declares.
    pub(super) fn exact_top(&mut self, operands: &[Value<A>], shapes: &[&Shape], shape: &Shape) -> Value<A> {
        let Shape::Tuple(parts) = shape else { return Value::Tuple(Vec::new()) };
        let size = parts[0].dims().last().copied().unwrap_or(0);
        let Value::Tuple(top) = self.top_k(size, true, &operands[0], shapes[0].dims()) else {
            return Value::Tuple(Vec::new());
        };
        let n = shapes[0].dims().last().copied().unwrap_or(1);
        let ids = operands[1].integers();
        let id = |(i, at): (usize, &Option<i64>)| ids.values[i / size * n + (*at)? as usize];
        let indices = top[1].integers().values.iter().enumerate().map(id);
        Value::Tuple(vec![top[0].clone(), Value::integer(ids.dtype, indices.collect())])
    }
}

/// The positions of the first `count` elements in a stable order; `None` unless that is proven.
///
/// The positions are put in order as far as comparisons are decided; then each of the first must be shown to be before the
/// next, and the last of them before all others. As decided comparisons are facts about numbers, that is enough.
fn leading(
    positions: &[usize],
    count: usize,
    descending: bool,
    compare: impl Fn(usize, usize) -> Comparison,
) -> Option<Vec<usize>> {
    // Whether a, which stands first if they are equal, goes before b; `None` where that is open.
    let before = |a: usize, b: usize| match compare(a, b) {
        Comparison::Is(ordering) if descending => Some(ordering != Ordering::Less),
        Comparison::Is(ordering) => Some(ordering != Ordering::Greater),
        Comparison::Unordered | Comparison::Open => None,
    };
    let order = merged(positions, &|a, b| before(a, b).unwrap_or(true));
    let count = count.min(order.len());
    // Elements that are equal keep their order only if the one that stands first in the list goes first.
    let is_before = |a: usize, b: usize| if a < b { before(a, b) == Some(true) } else { before(b, a) == Some(false) };
    let chain = order[..count].windows(2).all(|pair| is_before(pair[0], pair[1]));
    let rest = order[..count].last().is_none_or(|last| order[count..].iter().all(|other| is_before(*last, *other)));
    (chain && rest).then(|| order[..count].to_vec())
}

/// A stable merge sort that terminates for any `before`. The library's may panic if `before` is no order.
fn merged(positions: &[usize], before: &impl Fn(usize, usize) -> bool) -> Vec<usize> {
    if positions.len() < 2 {
        return positions.to_vec();
    }
    crate::deadline::check();
    let (left, right) = positions.split_at(positions.len() / 2);
    let (left, right) = (merged(left, before), merged(right, before));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let mut all = Vec::with_capacity(positions.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if before(*a, *b) { left.next() } else { right.next() };
        all.extend(next);
    }
    all.extend(left);
    all.extend(right);
    all
}
