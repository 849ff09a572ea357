//! Reductions, windows and dots over enclosures.

use crate::analysis::{Reducer, is_cumulative};
use crate::ir::{Binary, DotDims, DotPlan, Op, Shape, Window, movement};
use crate::tensor::{DType, Tensor};

use super::arithmetic::{Arithmetic, Field, Wanted};
use super::column::{Column, Mover};
use super::comparison::Comparison;
use super::dot::{Lie, first_twins};
use super::elements::{Element, FloatArray, Identities, Value};
use super::evaluate::Pass;
use super::oracle_error::OracleError;
use super::order::{Going, Identity};

use std::{borrow::Cow, cmp::Ordering, ops::Range, rc::Rc};

type Result<T> = std::result::Result<T, OracleError>;

/// The flat positions that one result of a reduction reduces, in order.
#[derive(Clone)]
pub(super) enum Group {
    Neighbors(Range<usize>),
    Scattered(Vec<usize>),
}

impl Group {
    fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        let (range, list) = match self {
            Group::Neighbors(range) => (range.clone(), [].as_slice()),
            Group::Scattered(list) => (0..0, list.as_slice()),
        };
        range.chain(list.iter().copied())
    }
}

impl<A: Arithmetic> Pass<'_, A> {
    /// A reduction over the dims `reduced`; operands are the arrays, then as many inits.
    pub(super) fn reduce(
        &mut self,
        reduced: &[usize],
        to_apply: usize,
        operands: &[Value<A>],
        shapes: &[&Shape],
    ) -> Result<Value<A>> {
        let count = operands.len() / 2;
        let groups = groups(shapes[0].dims(), reduced);
        let known = self.prepared.regions.reducer_but_for_rounding(to_apply);
        match (known, &operands[..count]) {
            (Some(Reducer::Binary(binary)), [Value::Float(array)]) => {
                Ok(self.reduce_floats(binary, array, &groups, operands[1].floats()))
            }
            (Some(kind @ (Reducer::ArgMax | Reducer::ArgMin)), [Value::Float(array), Value::Integer(indices)])
                // Positions are compared as i64: of u64 they would compare otherwise from 2^63 on.
                if indices.dtype != DType::U64 =>
            {
                let init = (self.world.element(operands[2].floats(), 0), operands[3].integers().values[0]);
                let mut values = Vec::with_capacity(groups.len());
                let mut positions = Vec::with_capacity(groups.len());
                for group in &groups {
                    let largest = kind == Reducer::ArgMax;
                    // Most elements lie below the largest lower end: comparing enclosures of the others decides nothing.
                    let contenders = self.contenders(array, group, largest);
                    let items = contenders.positions().map(|at| (at, indices.values[at]));
                    let (value, position) = self.arg_extreme(largest, array, items, &init);
                    values.push(value);
                    positions.push(position);
                }
                Ok(Value::Tuple(vec![
                    Value::Float(self.world.collect(values)),
                    Value::integer(indices.dtype, positions),
                ]))
            }
            _ => self.interpret(to_apply, &groups, operands),
        }
    }

    /// Those of a group that may be its largest or smallest.
    fn contenders<'g>(&self, array: &FloatArray<A>, group: &'g Group, largest: bool) -> Cow<'g, Group> {
        let found = match group {
            Group::Neighbors(range) => self.world.arithmetic.contenders(&array.numbers, range.clone(), largest),
            Group::Scattered(_) => None,
        };
        found.map_or(Cow::Borrowed(group), |list| Cow::Owned(Group::Scattered(list)))
    }

    /// The largest of an array's floats that each result of a reduction reduces, and of its init.
    pub(super) fn largest_of(&mut self, of: [&Value<A>; 2], dims: &[usize], reduced: &[usize]) -> Value<A> {
        let [array, init] = of.map(Value::floats);
        self.reduce_floats(Binary::Maximum, array, &groups(dims, reduced), init)
    }

    fn reduce_floats(
        &mut self,
        binary: Binary,
        array: &FloatArray<A>,
        groups: &[Group],
        init: &FloatArray<A>,
    ) -> Value<A> {
        let init = self.world.element(init, 0);
        // Elements of one class are ordered by their keys, which are single numbers: no enclosure is compared.
        let has_keys = matches!(binary, Binary::Maximum | Binary::Minimum) && self.orders_by_key(array);
        let mut results = Vec::with_capacity(groups.len());
        for group in groups {
            results.push(self.reduce_group(binary, array, group, &init, has_keys));
        }
        Value::Float(self.world.collect(results))
    }

    /// Reduces a group from `init` on, step by step or by a method with the same result.
    pub(super) fn reduce_group(
        &mut self,
        binary: Binary,
        array: &FloatArray<A>,
        group: &Group,
        init: &Element<A::Number>,
        has_keys: bool,
    ) -> Element<A::Number> {
        match binary {
            Binary::Add => {
                let number = match group {
                    Group::Neighbors(range) => {
                        // The truth of a sum has no order: all terms are added exactly, or enclosed together.
                        self.world.arithmetic.sum_range(&init.number, &array.numbers, range.clone())
                    }
                    Group::Scattered(list) => {
                        let terms = list.iter().map(|at| self.world.number(array, *at));
                        let terms: Vec<A::Number> = std::iter::once(init.number.clone()).chain(terms).collect();
                        self.world.arithmetic.sum(&terms)
                    }
                };
                self.world.fresh(number)
            }
            Binary::Maximum | Binary::Minimum => {
                let largest = binary == Binary::Maximum;
                // Keys order the elements of one class; the init is of another, and is compared as an enclosure.
                let best = if has_keys { self.extreme_by_key(array, group, largest) } else { None };
                if let Some(best) = best {
                    let best = self.world.element(array, best);
                    return self.world.extreme(init, &best, largest);
                }
                let mut best = init.clone();
                for at in self.contenders(array, group, largest).positions() {
                    let element = self.world.element(array, at);
                    best = self.world.extreme(&best, &element, largest);
                }
                best
            }
            Binary::Multiply => {
                // No accumulator holds a product exactly: its enclosure grows with each factor.
                let mut total = init.number.clone();
                for at in group.positions() {
                    total = self.world.arithmetic.binary(Field::Multiply, &total, &self.world.number(array, at));
                }
                self.world.fresh(total)
            }
            Binary::And
            | Binary::Atan2
            | Binary::Divide
            | Binary::MultiplyHigh
            | Binary::Or
            | Binary::Power
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical
            | Binary::Subtract
            | Binary::Xor => unreachable!("no known reducer of floats is {}", binary.name()),
        }
    }

    /// Whether keys order the elements of one class: all of them are numbers, each with a key of its own.
    fn orders_by_key(&self, array: &FloatArray<A>) -> bool {
        let Identities::Known { keys, .. } = &array.identities else { return false };
        keys.run() == 1 && self.world.arithmetic.all_numbers(&array.numbers)
    }

    /// The position of the extreme element of neighbours of one class, by their keys. Zeros have signs that keys do not
    /// order.
    fn extreme_by_key(&self, array: &FloatArray<A>, group: &Group, largest: bool) -> Option<usize> {
        let (Group::Neighbors(range), Identities::Known { classes, keys }) = (group, &array.identities) else {
            return None;
        };
        if !classes.is_one_run(range) || self.world.classes.direction(*classes.at(range.start)) == Going::Anyhow {
            return None;
        }
        let keys = &keys.values()[range.clone()];
        let best = keys.iter().fold(keys[0], |a, b| if (*b > a) == largest && *b != a { *b } else { a });
        // Keys of zeros of both signs are equal, but a maximum tells -0 from +0.
        if best == 0.0 {
            return None;
        }
        keys.iter().position(|key| *key == best).map(|at| range.start + at)
    }

    /// JAX's argmax (argmin): a NaN before any number, then the larger (smaller) value, then the lower index. Of
    /// zeros that tie either may be the value: HLO fixes no order of a reduction, nor then the sign.
    fn arg_extreme(
        &mut self,
        largest: bool,
        array: &FloatArray<A>,
        items: impl Iterator<Item = (usize, Option<i64>)>,
        init: &(Element<A::Number>, Option<i64>),
    ) -> (Element<A::Number>, Option<i64>) {
        let better = if largest { Ordering::Greater } else { Ordering::Less };
        let (mut value, mut position) = init.clone();
        for (element, at) in items {
            let element = self.world.element(array, element);
            let comparison = self.world.compare(&element, &value);
            let is_tie = comparison == Comparison::Is(Ordering::Equal);
            if is_tie && !element.identity.is(&value.identity) && self.world.may_be_zero(&value.number) {
                (value, position) = (self.world.either(&element, &value), at.zip(position).map(|(a, b)| a.min(b)));
                continue;
            }
            let take = match comparison {
                Comparison::Is(Ordering::Equal) => match (at, position) {
                    (Some(a), Some(b)) => Some(a < b),
                    _ => None,
                },
                Comparison::Is(ordering) => Some(ordering == better),
                // The first NaN is taken, unless what is unknown before it may be one.
                Comparison::Unordered if self.world.is_nan(&value) => Some(false),
                Comparison::Unordered => self.world.arithmetic.is_number(&value.number).then_some(true),
                // Either may be the largest: the result encloses both, and no position is known.
                Comparison::Open => None,
            };
            match take {
                Some(true) => (value, position) = (element, at),
                Some(false) => {}
                None => (value, position) = (self.world.either(&element, &value), None),
            }
        }
        (value, position)
    }

    /// A reduction by any region, element after element.
    fn interpret(&mut self, to_apply: usize, groups: &[Group], operands: &[Value<A>]) -> Result<Value<A>> {
        let count = operands.len() / 2;
        let mut columns: Vec<Vec<Value<A>>> = vec![Vec::new(); count];
        for group in groups {
            let mut state: Vec<Value<A>> = operands[count..].iter().map(|init| self.scalar(init, 0)).collect();
            for at in group.positions() {
                let mut arguments = state.clone();
                arguments.extend(operands[..count].iter().map(|o| self.scalar(o, at)));
                state = self.call(to_apply, &arguments)?.into_parts();
            }
            for (column, value) in columns.iter_mut().zip(state) {
                column.push(value);
            }
        }
        let results = columns.iter().zip(operands).map(|(column, like)| self.column(column, like)).collect();
        Ok(Value::from_parts(results))
    }

    /// Scalars as one array, of a type such as this value has.
    pub(super) fn column(&mut self, scalars: &[Value<A>], like: &Value<A>) -> Value<A> {
        match like {
            Value::Float(_) => {
                let elements = scalars.iter().map(|v| self.world.element(v.floats(), 0)).collect();
                Value::Float(self.world.collect(elements))
            }
            like => {
                let values = scalars.iter().flat_map(|v| v.integers().values.to_vec()).collect();
                Value::integer(like.integers().dtype, values)
            }
        }
    }

    /// One element as an array of its own.
    pub(super) fn scalar(&mut self, value: &Value<A>, at: usize) -> Value<A> {
        match value {
            Value::Float(array) => {
                let element = self.world.element(array, at);
                Value::Float(self.world.collect(vec![element]))
            }
            other => Value::integer(other.integers().dtype, vec![other.integers().values[at]]),
        }
    }

    /// A reduction over windows of one array; operands are the array and its init.
    pub(super) fn reduce_window(
        &mut self,
        window: &Window,
        to_apply: usize,
        operands: &[Value<A>],
        shape: &Shape,
        out_dims: &[usize],
    ) -> Result<Value<A>> {
        let known = self.prepared.regions.reducer_but_for_rounding(to_apply);
        // Windows that grow by one element each have all terms of the one before: as groups they would take the square of the length.
        if let Some(dim) = is_cumulative(window, shape.dims()) {
            return self.reduce_so_far(known, to_apply, operands, shape.dims(), dim);
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
            groups.push(Group::Scattered(group.into_iter().map(|at| at as usize).collect()));
        });
        match (known, &operands[0]) {
            (Some(Reducer::Binary(binary)), Value::Float(array)) => {
                Ok(self.reduce_floats(binary, array, &groups, operands[1].floats()))
            }
            _ => self.interpret(to_apply, &groups, operands),
        }
    }

    /// The dots of two arrays of floats.
    pub(super) fn dot(
        &mut self,
        numbers: &DotDims,
        operands: &[Value<A>],
        shapes: &[&Shape],
        wanted: Wanted,
    ) -> Value<A> {
        let plan = DotPlan::new(numbers, shapes[0].dims(), shapes[1].dims());
        let lhs = self.arrange(&operands[0], shapes[0], &plan.lhs_transpose);
        let rhs = self.arrange(&operands[1], shapes[1], &plan.rhs_transpose);
        let (m, k, n) = (plan.m, plan.k, plan.n);
        let exact = |array: &FloatArray<A>| -> Option<Vec<f64>> {
            (0..array.len).map(|at| self.world.arithmetic.as_exact(&self.world.number(array, at))).collect()
        };
        // Mostly the left one has an element that tells at once.
        // Operands that are known exactly have dots without a search: one exact sum, rounded once.
        let exact_operands = exact(&lhs).and_then(|lhs| Some((lhs, exact(&rhs)?)));
        let mut numbers = Vec::with_capacity(plan.batch * m * n);
        let mut rounded = Vec::new();
        for b in 0..plan.batch {
            if let Some((lhs, rhs)) = &exact_operands {
                let (lhs, rhs) = (&lhs[b * m * k..(b + 1) * m * k], &rhs[b * k * n..(b + 1) * k * n]);
                let dots = self.world.arithmetic.exact_dots(lhs, rhs, [m, k, n]);
                numbers.extend(dots.numbers);
                rounded.extend(dots.rounded.unwrap_or_default());
                continue;
            }
            let wanted = wanted.map(|wanted| &wanted[b * m * n..(b + 1) * m * n]);
            let starts = [b * m * k, b * k * n];
            numbers.extend(self.world.arithmetic.dots([&lhs.numbers, &rhs.numbers], starts, [m, k, n], wanted));
        }
        // Equal rows times equal columns are one number, however wide its enclosure: ties between them are certain.
        let twins = (0..plan.batch).flat_map(|b| {
            let rows = lhs.first_twins(b * m * k, m, k, Lie::Rows);
            let columns = rhs.first_twins(b * k * n, n, k, Lie::Columns);
            products(rows, columns).map(move |at| b * m * n + at)
        });
        self.dotted(numbers, rounded, twins)
    }

    /// An operand of a dot with its dims in this order.
    pub(super) fn arrange(&mut self, value: &Value<A>, shape: &Shape, order: &Option<Vec<usize>>) -> FloatArray<A> {
        let Some(permutation) = order else { return value.floats().clone() };
        let dims: Vec<usize> = permutation.iter().map(|d| shape.dims()[*d]).collect();
        let op = Op::Transpose { permutation: permutation.clone() };
        let mover = Mover { op: &op, dims: vec![shape.dims()], starts: &[], starts_dims: &[], out_dims: &dims };
        self.world.rearrange(&[value.floats()], &mover)
    }

    /// A plain matmul of tensors.
    pub(super) fn dot_of_tensors(&mut self, lhs: &Tensor, rhs: &Tensor, sizes: [usize; 3]) -> Value<A> {
        let dots = self.world.arithmetic.tensor_dots(lhs.data(), rhs.data(), sizes);
        let [m, k, n] = sizes;
        let rows = first_twins(m, k, Lie::Rows, |at| [lhs.data().get_f64(at).to_bits(), 0]);
        let columns = first_twins(n, k, Lie::Columns, |at| [rhs.data().get_f64(at).to_bits(), 0]);
        self.dotted(dots.numbers, dots.rounded.unwrap_or_default(), products(rows, columns))
    }

    /// The results of a dot, and for each the first one that is the same value. Exactly known ones tie with equal ones; a NaN
    /// is the positive one, not the processor's.
    fn dotted(&mut self, numbers: Vec<A::Number>, rounded: Vec<f64>, twins: impl Iterator<Item = usize>) -> Value<A> {
        // A sum of products begins with +0, so that it is never -0 (FACTS 4.1).
        let positive = |number: &A::Number| self.world.arithmetic.with_positive_zero(number);
        let numbers: Vec<A::Number> = numbers.iter().map(positive).collect();
        let rounded: Vec<f64> = rounded.into_iter().map(|value| value + 0.0).collect();
        let len = numbers.len();
        let first = self.world.classes.fresh(len as u64);
        let (mut classes, mut keys) = (Vec::with_capacity(len), Vec::with_capacity(len));
        for (number, twin) in numbers.iter().zip(twins) {
            let one_nan = |value: f64| if value.is_nan() { f64::NAN } else { value };
            let exact = self.world.arithmetic.as_exact(number).map(one_nan).map(Identity::exact);
            let identity = exact.unwrap_or(Identity { class: first + twin as u64, key: 0.0 });
            classes.push(identity.class);
            keys.push(identity.key);
        }
        let identities = Identities::Known { classes: Column::new(classes), keys: Column::new(keys) };
        let rounded = (rounded.len() == len).then(|| Rc::new(rounded));
        Value::Float(FloatArray { len, numbers: self.world.arithmetic.collect(numbers), identities, rounded })
    }
}

/// The first of the same outputs for each output of a product, row-major, by the first of the same rows and columns.
fn products(rows: Vec<usize>, columns: Vec<usize>) -> impl Iterator<Item = usize> {
    let columns: Rc<[usize]> = columns.into();
    rows.into_iter().flat_map(move |row| {
        let columns = Rc::clone(&columns);
        (0..columns.len()).map(move |j| row * columns.len() + columns[j])
    })
}

/// The group of elements that each result of a reduction reduces.
fn groups(dims: &[usize], reduced: &[usize]) -> Vec<Group> {
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    let out: usize = kept.iter().map(|d| dims[*d]).product();
    let each: usize = reduced.iter().map(|d| dims[*d]).product();
    if kept.iter().enumerate().all(|(i, d)| i == *d) {
        return (0..out).map(|i| Group::Neighbors(i * each..(i + 1) * each)).collect();
    }
    let mut groups = vec![Vec::with_capacity(each); out];
    movement::for_each_index(dims, |flat, index| {
        let at = kept.iter().fold(0, |at, d| at * dims[*d] + index[*d]);
        groups[at].push(flat);
    });
    groups.into_iter().map(Group::Scattered).collect()
}
