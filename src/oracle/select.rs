//! Sorting, top-k, and what is answered in the end.

use std::cmp::Ordering;

use crate::ir::{Binary, Comparator, CompareOrder, Shape, comparator};
use crate::num::{self, BF16, Direction, Format};
use crate::tensor::DType;

use super::arithmetic::Arithmetic;
use super::demand::{Answered, Demand, FloatTruth, Stats, Top, Truth, TruthTensor};
use super::elements::{Comparison, Element, Value};
use super::evaluate::{OracleError, Pass};

impl<A: Arithmetic> Pass<'_, A> {
    /// Sorts stably: over the reals an unstable sort has no other order to offer at a tie than the given one.
    pub(super) fn sort(
        &mut self,
        dim: usize,
        to_apply: usize,
        operands: &[Value<A::Number>],
        shapes: &[&Shape],
    ) -> Result<Value<A::Number>, OracleError> {
        let known = comparator(&self.program.computations[to_apply]);
        let dims = shapes[0].dims();
        let inner: usize = dims[dim + 1..].iter().product();
        let length = dims[dim];
        let total: usize = dims.iter().product();
        let mut lanes = Vec::with_capacity(total / length.max(1));
        for lane in 0..total / length.max(1) {
            let start = lane / inner * inner * length + lane % inner;
            let positions: Vec<usize> = (0..length).map(|i| start + i * inner).collect();
            let order = match known {
                Some(comparator) => self.order_by(comparator, operands, &positions),
                None => self.order_by_region(to_apply, operands, &positions)?,
            };
            lanes.push((positions, order));
        }
        let mut outputs: Vec<Value<A::Number>> = operands.iter().map(|o| self.place(o, &lanes)).collect();
        Ok(if outputs.len() == 1 { outputs.remove(0) } else { Value::Tuple(outputs) })
    }

    /// An operand with each lane's positions in their new order; `None` means that the order is open.
    fn place(&mut self, operand: &Value<A::Number>, lanes: &[(Vec<usize>, Option<Vec<usize>>)]) -> Value<A::Number> {
        match operand {
            Value::Float(array) => {
                let mut elements = array.elements.clone();
                for (positions, order) in lanes {
                    for (i, at) in positions.iter().enumerate() {
                        elements[*at] = match order {
                            Some(order) => array.elements[order[i]].clone(),
                            None => self.world.unknown(),
                        };
                    }
                }
                Value::float(elements)
            }
            other => {
                let mut values = other.integers().to_vec();
                for (positions, order) in lanes {
                    for (i, at) in positions.iter().enumerate() {
                        values[*at] = order.as_ref().and_then(|order| other.integers()[order[i]]);
                    }
                }
                Value::integer(values)
            }
        }
    }

    fn order_by(
        &self,
        comparator: Comparator,
        operands: &[Value<A::Number>],
        positions: &[usize],
    ) -> Option<Vec<usize>> {
        let keys = &operands[comparator.key];
        self.order(positions, comparator.descending, |a, b| match keys {
            Value::Float(array) => {
                let (x, y) = (&array.elements[a], &array.elements[b]);
                match (comparator.order, comparator.canonical) {
                    (CompareOrder::Total, false) => self.world.total_compare(x, y),
                    (CompareOrder::Total, true) => match (self.world.is_nan(x), self.world.is_nan(y)) {
                        (false, false) => self.world.compare(x, y),
                        (x, y) => Comparison::Is(x.cmp(&y)),
                    },
                    // A comparator that finds a NaN neither before nor after anything leaves it in its place.
                    (CompareOrder::Partial, _) => match self.world.compare(x, y) {
                        Comparison::Unordered => Comparison::Is(Ordering::Equal),
                        other => other,
                    },
                }
            }
            other => match (other.integers()[a], other.integers()[b]) {
                (Some(a), Some(b)) => Comparison::Is(a.cmp(&b)),
                _ => Comparison::Open,
            },
        })
    }

    fn order_by_region(
        &mut self,
        to_apply: usize,
        operands: &[Value<A::Number>],
        positions: &[usize],
    ) -> Result<Option<Vec<usize>>, OracleError> {
        // Insertion sort: as many calls as needed, and any comparator, consistent or not, ends.
        let mut order: Vec<usize> = Vec::with_capacity(positions.len());
        for at in positions {
            let mut slot = order.len();
            while slot > 0 {
                let mut arguments = Vec::new();
                for operand in operands {
                    for side in [*at, order[slot - 1]] {
                        arguments.push(match operand {
                            Value::Float(array) => Value::float(vec![array.elements[side].clone()]),
                            other => Value::integer(vec![other.integers()[side]]),
                        });
                    }
                }
                match self.call(to_apply, &arguments)?.integers().first().copied().flatten() {
                    None => return Ok(None),
                    Some(0) => break,
                    Some(_) => slot -= 1,
                }
            }
            order.insert(slot, *at);
        }
        Ok(Some(order))
    }

    /// A stable order of positions; `None` if a comparison that it needs is open.
    fn order(
        &self,
        positions: &[usize],
        descending: bool,
        compare: impl Fn(usize, usize) -> Comparison,
    ) -> Option<Vec<usize>> {
        let mut order = positions.to_vec();
        let mut open = false;
        order.sort_by(|a, b| match compare(*a, *b) {
            Comparison::Is(ordering) => {
                if descending {
                    ordering.reverse()
                } else {
                    ordering
                }
            }
            Comparison::Unordered => Ordering::Equal,
            Comparison::Open => {
                open = true;
                Ordering::Equal
            }
        });
        (!open).then_some(order)
    }

    /// `topk`: totalOrder, ties to the lower index.
    pub(super) fn top_k(
        &mut self,
        k: usize,
        largest: bool,
        operand: &Value<A::Number>,
        dims: &[usize],
    ) -> Value<A::Number> {
        let n = dims.last().copied().unwrap_or(1);
        let rows = operand.floats().len().max(operand.integers().len()) / n.max(1);
        let orders: Vec<Option<Vec<usize>>> = (0..rows)
            .map(|row| {
                let positions: Vec<usize> = (row * n..(row + 1) * n).collect();
                self.order(&positions, largest, |a, b| match operand {
                    Value::Float(array) => self.world.total_compare(&array.elements[a], &array.elements[b]),
                    other => match (other.integers()[a], other.integers()[b]) {
                        (Some(a), Some(b)) => Comparison::Is(a.cmp(&b)),
                        _ => Comparison::Open,
                    },
                })
            })
            .collect();
        let picked = |row: usize, i: usize| orders[row].as_ref().map(|order| order[i]);
        let mut indices = Vec::with_capacity(rows * k);
        let mut floats = Vec::new();
        let mut integers = Vec::new();
        for row in 0..rows {
            for i in 0..k {
                let at = picked(row, i);
                indices.push(at.map(|at| (at - row * n) as i64));
                match operand {
                    Value::Float(array) => floats.push(match at {
                        Some(at) => array.elements[at].clone(),
                        None => self.world.unknown(),
                    }),
                    other => integers.push(at.and_then(|at| other.integers()[at])),
                }
            }
        }
        let values = if integers.is_empty() { Value::float(floats) } else { Value::integer(integers) };
        Value::Tuple(vec![values, Value::integer(indices)])
    }

    /// What an approximate top-k approximates: the largest values with their indices, by IEEE `>`, ties to the lower
    /// index. The result keeps the size that the operation declares.
    pub(super) fn exact_top(
        &mut self,
        operands: &[Value<A::Number>],
        shapes: &[&Shape],
        shape: &Shape,
    ) -> Value<A::Number> {
        let Shape::Tuple(parts) = shape else { return Value::Tuple(Vec::new()) };
        let size = parts[0].dims().last().copied().unwrap_or(0);
        let Value::Tuple(top) = self.top_k(size, true, &operands[0], shapes[0].dims()) else {
            return Value::Tuple(Vec::new());
        };
        let n = shapes[0].dims().last().copied().unwrap_or(1);
        let ids = operands[1].integers();
        let indices =
            top[1].integers().iter().enumerate().map(|(i, at)| at.and_then(|at| ids[i / size * n + at as usize]));
        Value::Tuple(vec![top[0].clone(), Value::integer(indices.collect())])
    }

    /// The demanded results, and whether all of them are proven.
    pub(super) fn answer(
        &mut self,
        results: &[Option<&Value<A::Number>>],
        shapes: &[&Shape],
        demands: &[Demand],
    ) -> Answered {
        let mut stats = self.world.arithmetic.stats();
        let mut outputs = Vec::new();
        for ((result, shape), demand) in results.iter().zip(shapes).zip(demands) {
            let dims = shape.dims().to_vec();
            outputs.push(match (result, demand) {
                (None, _) | (_, Demand::None) => TruthTensor::Skipped,
                (Some(Value::Float(array)), demand) => {
                    let format = shape.dtype().and_then(DType::format).unwrap_or(&num::F64);
                    let truth = match demand {
                        Demand::Rounded => self.rounded(&array.elements, array.rounded.as_deref(), dims),
                        _ => self.ordered(&array.elements, dims, format),
                    };
                    let tops = truth.tops.iter().filter(|t| !t.decided).count();
                    stats.undecided += (truth.open.len() + tops) as u64;
                    TruthTensor::Float(truth)
                }
                (Some(value), _) => {
                    let values = value.integers();
                    stats.undecided += values.iter().filter(|v| v.is_none()).count() as u64;
                    if shape.dtype() == Some(DType::Pred) {
                        TruthTensor::Predicate { dims, values: values.iter().map(|v| v.map(|v| v != 0)).collect() }
                    } else {
                        TruthTensor::Integer { dims, values: values.to_vec() }
                    }
                }
            });
        }
        let answered: u64 =
            shapes.iter().zip(demands).filter(|(_, d)| **d != Demand::None).map(|(s, _)| s.elements() as u64).sum();
        if A::IS_FAST {
            stats.fast = answered;
        } else {
            stats.mpfr = answered;
        }
        let wholly = stats.undecided == 0;
        let truth = Truth { outputs, stats: Stats { ..stats } };
        if wholly { Answered::Wholly(truth) } else { Answered::Partly(truth) }
    }

    fn rounded(&self, elements: &[Element<A::Number>], certified: Option<&[f64]>, dims: Vec<usize>) -> FloatTruth {
        let mut open = Vec::new();
        let rounded = match certified {
            Some(certified) => certified.to_vec(),
            None => {
                let round = |(at, e): (usize, &Element<A::Number>)| {
                    self.world.arithmetic.rounded(&e.number).unwrap_or_else(|| {
                        open.push(at);
                        f64::NAN
                    })
                };
                elements.iter().enumerate().map(round).collect()
            }
        };
        FloatTruth { dims, rounded, open, tops: Vec::new() }
    }

    fn ordered(&mut self, elements: &[Element<A::Number>], dims: Vec<usize>, format: &Format) -> FloatTruth {
        let n = dims.last().copied().unwrap_or(1).max(1);
        let tops = elements.chunks(n).map(|row| self.top(row, format)).collect();
        FloatTruth { dims, rounded: Vec::new(), open: Vec::new(), tops }
    }

    fn top(&mut self, row: &[Element<A::Number>], format: &Format) -> Top {
        let nans: Vec<usize> = (0..row.len()).filter(|i| self.world.is_nan(&row[*i])).collect();
        if !nans.is_empty() {
            return Top { best: nans, runner_up: None, margin_ulp: None, decided: true };
        }
        let (leader, mut decided) = self.leader(row, |_| true);
        let Some(leader) = leader else { return Top { best: Vec::new(), runner_up: None, margin_ulp: None, decided } };
        let against: Vec<Comparison> = row.iter().map(|e| self.world.compare(e, &row[leader])).collect();
        decided &= !against.contains(&Comparison::Open);
        let at = |ordering| (0..row.len()).filter(move |i| against[*i] == Comparison::Is(ordering)).collect::<Vec<_>>();
        let best = at.clone()(Ordering::Equal);
        let below = at(Ordering::Less);
        let (runner_up, known) = self.leader(row, |i| below.binary_search(&i).is_ok());
        let margin_ulp = runner_up.and_then(|r| self.margin(&row[leader], &row[r], format));
        // An infinite best has no margin in ulps; any other must have one.
        let (lo, hi) = self.world.arithmetic.bounds(&row[leader].number);
        let has_margin = runner_up.is_none() || margin_ulp.is_some() || (lo == hi && lo.is_infinite());
        let runner_is_finite =
            runner_up.is_none_or(|r| self.world.arithmetic.bounds(&row[r].number).1 != f64::NEG_INFINITY);
        Top { best, runner_up, margin_ulp, decided: decided && known && (has_margin || !runner_is_finite) }
    }

    /// The lowest position of a largest element among those `eligible`, and whether every comparison was decided.
    fn leader(&self, row: &[Element<A::Number>], eligible: impl Fn(usize) -> bool) -> (Option<usize>, bool) {
        let mut leader: Option<usize> = None;
        let mut decided = true;
        for i in (0..row.len()).filter(|i| eligible(*i)) {
            let Some(current) = leader else {
                leader = Some(i);
                continue;
            };
            match self.world.compare(&row[i], &row[current]) {
                Comparison::Is(Ordering::Greater) => leader = Some(i),
                Comparison::Is(_) => {}
                Comparison::Unordered | Comparison::Open => decided = false,
            }
        }
        (leader, decided)
    }

    /// The gap of two elements in ulps at the first, rounded to eight bits where the enclosures agree on that.
    fn margin(&mut self, best: &Element<A::Number>, next: &Element<A::Number>, format: &Format) -> Option<f64> {
        let (b_lo, b_hi) = self.world.arithmetic.bounds(&best.number);
        let gap = self.world.arithmetic.binary(Binary::Subtract, &best.number, &next.number);
        let (gap_lo, gap_hi) = self.world.arithmetic.bounds(&gap);
        let ulp = format.ulp(b_lo);
        if ulp != format.ulp(b_hi) {
            return None;
        }
        let eight_bits = |v: f64| num::round_f64(&BF16, v, Direction::NearestEven);
        let (low, high) = (eight_bits(gap_lo / ulp), eight_bits(gap_hi / ulp));
        (low == high && low.is_finite()).then_some(low)
    }
}
