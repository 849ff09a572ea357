//! Reductions, windows and dots over enclosures.

use crate::ir::{Binary, DotDims, DotPlan, Op, Reducer, Shape, Window, is_cumulative, movement, reducer};

use super::arithmetic::Arithmetic;
use super::elements::{Comparison, Element, FloatArray, Value};
use super::evaluate::{OracleError, Pass};
use super::order::Identity;

use std::cmp::Ordering;
use std::rc::Rc;

type Result<T> = std::result::Result<T, OracleError>;

impl<A: Arithmetic> Pass<'_, A> {
    pub(super) fn reduce(
        &mut self,
        reduced: &[usize],
        to_apply: usize,
        operands: &[Value<A::Number>],
        shapes: &[&Shape],
    ) -> Result<Value<A::Number>> {
        let count = operands.len() / 2;
        let groups = groups(shapes[0].dims(), reduced);
        let known = reducer(&self.program.computations[to_apply]);
        match (known, &operands[..count]) {
            (Some(Reducer::Binary(binary)), [Value::Float(array)]) => {
                let init = operands[1].floats()[0].clone();
                let reduce = |group: &Vec<usize>| self.reduce_floats(binary, &array.elements, group, &init);
                Ok(Value::float(groups.iter().map(reduce).collect()))
            }
            (Some(kind @ (Reducer::ArgMax | Reducer::ArgMin)), [Value::Float(array), Value::Integer(indices)]) => {
                let init = (operands[2].floats()[0].clone(), operands[3].integers()[0]);
                let mut values = Vec::with_capacity(groups.len());
                let mut positions = Vec::with_capacity(groups.len());
                for group in &groups {
                    let items = group.iter().map(|at| (&array.elements[*at], indices[*at]));
                    let (value, position) = self.arg_extreme(kind == Reducer::ArgMax, items, &init);
                    values.push(value);
                    positions.push(position);
                }
                Ok(Value::Tuple(vec![Value::float(values), Value::integer(positions)]))
            }
            _ => self.interpret(to_apply, &groups, operands),
        }
    }

    fn reduce_floats(
        &mut self,
        binary: Binary,
        elements: &[Element<A::Number>],
        group: &[usize],
        init: &Element<A::Number>,
    ) -> Element<A::Number> {
        match binary {
            Binary::Add => {
                let terms: Vec<&A::Number> =
                    std::iter::once(&init.number).chain(group.iter().map(|at| &elements[*at].number)).collect();
                let number = self.world.arithmetic.sum(&terms);
                self.world.fresh(number)
            }
            Binary::Maximum | Binary::Minimum => {
                let mut best = init.clone();
                for at in group {
                    best = self.world.extreme(&best, &elements[*at], binary == Binary::Maximum);
                }
                best
            }
            _ => {
                let mut total = init.number.clone();
                for at in group {
                    total = self.world.arithmetic.binary(binary, &total, &elements[*at].number);
                }
                self.world.fresh(total)
            }
        }
    }

    /// JAX's argmax (argmin): a NaN before any number, then the larger (smaller) value, then the lower index.
    fn arg_extreme<'a>(
        &mut self,
        largest: bool,
        items: impl Iterator<Item = (&'a Element<A::Number>, Option<i64>)>,
        init: &(Element<A::Number>, Option<i64>),
    ) -> (Element<A::Number>, Option<i64>)
    where
        A::Number: 'a,
    {
        let better = if largest { Ordering::Greater } else { Ordering::Less };
        let (mut value, mut position) = init.clone();
        for (element, at) in items {
            let take = match self.world.compare(element, &value) {
                Comparison::Is(Ordering::Equal) => match (at, position) {
                    (Some(a), Some(b)) => Some(a < b),
                    _ => None,
                },
                Comparison::Is(ordering) => Some(ordering == better),
                Comparison::Unordered => Some(!self.world.is_nan(&value)),
                Comparison::Open => None,
            };
            match take {
                Some(true) => (value, position) = (element.clone(), at),
                Some(false) => {}
                None => (value, position) = (self.world.either(element, &value), None),
            }
        }
        (value, position)
    }

    /// A reduction by any region, element after element.
    fn interpret(
        &mut self,
        to_apply: usize,
        groups: &[Vec<usize>],
        operands: &[Value<A::Number>],
    ) -> Result<Value<A::Number>> {
        let count = operands.len() / 2;
        let one = |value: &Value<A::Number>, at: usize| match value {
            Value::Float(array) => Value::float(vec![array.elements[at].clone()]),
            other => Value::integer(vec![other.integers()[at]]),
        };
        let mut columns: Vec<Vec<Value<A::Number>>> = vec![Vec::new(); count];
        for group in groups {
            let mut state: Vec<Value<A::Number>> = operands[count..].iter().map(|init| one(init, 0)).collect();
            for at in group {
                let mut arguments = state.clone();
                arguments.extend(operands[..count].iter().map(|o| one(o, *at)));
                state = match self.call(to_apply, &arguments)? {
                    Value::Tuple(parts) => parts,
                    single => vec![single],
                };
            }
            for (column, value) in columns.iter_mut().zip(state) {
                column.push(value);
            }
        }
        let mut results = columns.into_iter().zip(operands).map(|(column, like)| match like {
            Value::Float(_) => Value::float(column.iter().flat_map(|v| v.floats().to_vec()).collect()),
            _ => Value::integer(column.iter().flat_map(|v| v.integers().to_vec()).collect()),
        });
        if count == 1 {
            return Ok(results.next().unwrap_or_else(|| Value::Tuple(Vec::new())));
        }
        Ok(Value::Tuple(results.collect()))
    }

    pub(super) fn reduce_window(
        &mut self,
        window: &Window,
        to_apply: usize,
        operands: &[Value<A::Number>],
        shape: &Shape,
        out_dims: &[usize],
    ) -> Result<Value<A::Number>> {
        let known = reducer(&self.program.computations[to_apply]);
        if let (Some(Reducer::Binary(Binary::Add)), Some(dim), Value::Float(array)) =
            (known, is_cumulative(window, shape.dims()), &operands[0])
        {
            let init = operands[1].floats()[0].number.clone();
            return Ok(self.running_sums(&array.elements, shape.dims(), dim, init));
        }
        let mut groups = Vec::with_capacity(out_dims.iter().product());
        let strides = movement::row_major(shape.dims());
        movement::for_each_index(out_dims, |_, index| {
            let mut group = vec![0isize];
            for (d, w) in window.0.iter().enumerate() {
                let reach = (0..w.size).filter_map(|i| {
                    let at = (index[d] * w.stride + i * w.window_dilation) as i64 - w.pad_low;
                    let base = w.base_dilation as i64;
                    let inside = at >= 0 && at % base == 0 && at / base < shape.dims()[d] as i64;
                    inside.then(|| at as isize / base as isize * strides[d])
                });
                let reach: Vec<isize> = reach.collect();
                group = group.iter().flat_map(|g| reach.iter().map(move |r| g + r)).collect();
            }
            groups.push(group.into_iter().map(|at| at as usize).collect());
        });
        match (known, &operands[0]) {
            (Some(Reducer::Binary(binary)), Value::Float(array)) => {
                let init = operands[1].floats()[0].clone();
                let reduce = |group: &Vec<usize>| self.reduce_floats(binary, &array.elements, group, &init);
                Ok(Value::float(groups.iter().map(reduce).collect()))
            }
            _ => self.interpret(to_apply, &groups, operands),
        }
    }

    fn running_sums(
        &mut self,
        elements: &[Element<A::Number>],
        dims: &[usize],
        dim: usize,
        init: A::Number,
    ) -> Value<A::Number> {
        let inner: usize = dims[dim + 1..].iter().product();
        let step = dims[dim] * inner;
        let mut out: Vec<Element<A::Number>> = elements.to_vec();
        for outer in 0..elements.len() / step.max(1) {
            for lane in 0..inner {
                let mut total = init.clone();
                for i in 0..dims[dim] {
                    let at = outer * step + i * inner + lane;
                    total = self.world.arithmetic.binary(Binary::Add, &total, &elements[at].number);
                    out[at] = self.world.fresh(total.clone());
                }
            }
        }
        Value::float(out)
    }

    pub(super) fn dot(
        &mut self,
        numbers: &DotDims,
        operands: &[Value<A::Number>],
        shapes: &[&Shape],
    ) -> Value<A::Number> {
        let plan = DotPlan::new(numbers, shapes[0].dims(), shapes[1].dims());
        let arranged = |value: &Value<A::Number>, shape: &Shape, order: &Option<Vec<usize>>| match order {
            None => value.floats().to_vec(),
            Some(permutation) => {
                let dims: Vec<usize> = permutation.iter().map(|d| shape.dims()[*d]).collect();
                let op = Op::Transpose { permutation: permutation.clone() };
                movement::apply(&op, &[(value.floats(), shape.dims())], &[], &[], &dims).unwrap_or_default()
            }
        };
        let lhs = arranged(&operands[0], shapes[0], &plan.lhs_transpose);
        let rhs = arranged(&operands[1], shapes[1], &plan.rhs_transpose);
        let (m, k, n) = (plan.m, plan.k, plan.n);
        let exact = |elements: &[Element<A::Number>]| -> Option<Vec<f64>> {
            elements.iter().map(|e| self.world.arithmetic.as_exact(&e.number)).collect()
        };
        let exact_operands = exact(&lhs).zip(exact(&rhs));
        let mut elements = Vec::with_capacity(plan.batch * m * n);
        let mut rounded = Vec::new();
        for b in 0..plan.batch {
            if let Some((lhs, rhs)) = &exact_operands {
                let (lhs, rhs) = (&lhs[b * m * k..(b + 1) * m * k], &rhs[b * k * n..(b + 1) * k * n]);
                let dots = self.world.arithmetic.exact_dots(lhs, rhs, [m, k, n]);
                for number in dots.numbers {
                    elements.push(self.world.fresh(number));
                }
                rounded.extend(dots.rounded.unwrap_or_default());
                continue;
            }
            for i in 0..m {
                for j in 0..n {
                    let products: Vec<A::Number> = (0..k)
                        .map(|l| {
                            let (x, y) = (&lhs[(b * m + i) * k + l], &rhs[(b * k + l) * n + j]);
                            self.world.arithmetic.binary(Binary::Multiply, &x.number, &y.number)
                        })
                        .collect();
                    let number = self.world.arithmetic.sum(&products.iter().collect::<Vec<_>>());
                    elements.push(self.world.fresh(number));
                }
            }
        }
        // Exactly known results tie with equal ones.
        for element in &mut elements {
            if let Some(value) = self.world.arithmetic.as_exact(&element.number) {
                element.identity = Identity::exact(value);
            }
        }
        let rounded = (rounded.len() == elements.len()).then_some(rounded);
        Value::Float(Rc::new(FloatArray { elements, rounded }))
    }
}

/// For every result of a reduction, the flat positions it reduces, in order.
fn groups(dims: &[usize], reduced: &[usize]) -> Vec<Vec<usize>> {
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    let out: usize = kept.iter().map(|d| dims[*d]).product();
    let each: usize = reduced.iter().map(|d| dims[*d]).product();
    let mut groups = vec![Vec::with_capacity(each); out];
    movement::for_each_index(dims, |flat, index| {
        let at = kept.iter().fold(0, |at, d| at * dims[*d] + index[*d]);
        groups[at].push(flat);
    });
    groups
}
