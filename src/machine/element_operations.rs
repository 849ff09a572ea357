//! Operations on elements in the same place.

use crate::ir::{Binary, Compare, CompareOrder, Unary};
use crate::tensor::DType;

use super::backend::{Code, Kernel};
use super::evaluate::Machine;
use super::operand::Operand;
use super::value::Value;
use super::vector::{self, Side, VectorUnit};
use super::{contract, integer};

impl Machine<'_> {
    /// An operation of two operands, each element rounded once, or a product that stays in flight.
    pub fn join(&self, binary: Binary, kernel: &Kernel, mut operands: Vec<Operand>, count: usize) -> Value {
        let flush = self.unit.flush;
        let is_product = |operand: &Operand| contract::is_product(operand.elements());
        let in_flight = operands.iter().any(is_product);
        if let Code::Terms { first, joins } = kernel.code
            && operands.iter().all(is_product)
        {
            let operands: Vec<Value> = operands.into_iter().map(|operand| operand.into_whole(count)).collect();
            return contract::terms(operands, first, (joins, flush));
        }
        let left_first = match &kernel.code {
            Code::SumOfTwo { left_first } => Some(&left_first[..]),
            _ => None,
        };
        let is_product = matches!(kernel.code, Code::Product { .. });
        let commutes =
            matches!(binary, Binary::Add | Binary::Multiply) && !is_product && left_first.is_none() && !in_flight;
        Operand::put_broadcast_last(&mut operands, commutes);
        if !is_product && !matches!(binary, Binary::Add | Binary::Subtract) {
            operands.iter_mut().for_each(|operand| contract::round_operand(operand, flush));
        }
        let right = operands.swap_remove(1);
        let left = operands.swap_remove(0).into_whole(count);
        match kernel.code {
            Code::Product { rounded } => contract::product(&left, &right.into_whole(count), rounded, flush),
            _ if [&left, right.elements()].into_iter().any(contract::is_product) => {
                contract::sum(binary, [&left, &right.into_whole(count)], left_first, flush)
            }
            _ => self.binary(binary, left, right, kernel),
        }
    }

    /// An elementwise operation of two operands. Its kernel and the unit say whether it divides floats up to f32 by multiplying with the
    /// divisor's reciprocal.
    fn binary(&self, binary: Binary, left: Value, right: Operand, kernel: &Kernel) -> Value {
        let (dtype, mut values) = match left {
            Value::Float(dtype, values) => (dtype, values.into_vec()),
            Value::Double(a) => {
                let right = right.into_whole(a.len());
                return Value::double(vector::binary_f64(binary, &a, right.f64s(), &self.unit));
            }
            Value::Integer(..) | Value::Pred(_) => {
                let right = right.into_whole(left.len());
                return integer::binary(binary, &left, &right);
            }
            Value::Products(_) | Value::Tuple(_) => {
                unreachable!(
                    "shape checking gives arrays to elementwise operations, and products have sums of their own"
                )
            }
        };
        let unit = kernel.unit(&self.unit);
        if let Some(of_reciprocals) = unit.type_of_reciprocals(dtype, kernel.by_one_number) {
            let mut reciprocals = vec![1.0; right.elements().len()];
            let divisors = Side::whole(right.elements().f32s());
            vector::binary(Binary::Divide, DType::F32, &mut reciprocals, divisors, &unit);
            if of_reciprocals == DType::BF16 {
                self.unit.narrow(DType::F32, &mut reciprocals);
            }
            vector::round_to(of_reciprocals, &mut reciprocals);
            let right = right.map(|_| Value::float(DType::F32, reciprocals));
            vector::binary(Binary::Multiply, dtype, &mut values, right.side(), &self.unit);
        } else {
            vector::binary(binary, dtype, &mut values, right.side(), &self.unit);
        }
        Value::float(dtype, values)
    }

    /// `compare` of `count` elements.
    pub fn compare(&self, direction: Compare, order: CompareOrder, operands: &[Operand], count: usize) -> Value {
        let [left, right] = [&operands[0], &operands[1]];
        let whole = || [left, right].map(|operand| operand.clone().into_whole(count));
        Value::pred(match left.elements() {
            Value::Float(..) => vector::compare(direction, order, count, left.side(), right.side(), &self.unit),
            Value::Double(_) => {
                let [left, right] = whole();
                vector::compare_f64(direction, order, left.f64s(), right.f64s(), &self.unit)
            }
            Value::Integer(..) | Value::Pred(_) => {
                let [left, right] = whole();
                return integer::compare(direction, &left, &right);
            }
            Value::Products(_) | Value::Tuple(_) => unreachable!("shape checking gives arrays to compare"),
        })
    }

    /// An elementwise operation of one operand, on the unit as it computes it.
    pub fn unary(&self, unary: Unary, unit: &VectorUnit, operand: Value) -> Value {
        match operand {
            Value::Float(_, values) if unary == Unary::IsFinite => {
                Value::pred(values.iter().map(|v| v.is_finite()).collect())
            }
            Value::Double(values) if unary == Unary::IsFinite => {
                Value::pred(values.iter().map(|v| v.is_finite()).collect())
            }
            Value::Float(dtype, values) => {
                let mut values = values.into_vec();
                vector::unary(unary, dtype, &mut values, unit);
                Value::float(dtype, values)
            }
            Value::Double(values) => {
                let mut values = values.into_vec();
                vector::unary_f64(unary, &mut values, unit);
                Value::double(values)
            }
            Value::Integer(..) | Value::Pred(_) => integer::unary(unary, &operand),
            Value::Products(products) if unary == Unary::Negate => Value::Products(products.map(|product| -product)),
            Value::Products(products) => self.unary(unary, unit, Value::float(DType::F32, products.to_f32(unit.flush))),
            Value::Tuple(_) => unreachable!("shape checking gives arrays to elementwise operations"),
        }
    }

    /// min(max(low, value), high), as HLO defines clamp.
    pub fn clamp(&self, operands: &[Value]) -> Value {
        match &operands[1] {
            Value::Float(dtype, values) => {
                let mut clamped = Side::whole(operands[0].f32s()).write_out(values.len());
                vector::binary(Binary::Maximum, *dtype, &mut clamped, Side::whole(values), &self.unit);
                vector::binary(Binary::Minimum, *dtype, &mut clamped, Side::whole(operands[2].f32s()), &self.unit);
                Value::float(*dtype, clamped)
            }
            Value::Double(values) => {
                let edges = |bound: &Value| match bound.f64s() {
                    [one] => vec![*one; values.len()],
                    each => each.to_vec(),
                };
                let raised = vector::binary_f64(Binary::Maximum, &edges(&operands[0]), values, &self.unit);
                let clamped = vector::binary_f64(Binary::Minimum, &raised, &edges(&operands[2]), &self.unit);
                Value::double(clamped)
            }
            value @ (Value::Integer(..) | Value::Pred(_)) => integer::clamp(&operands[0], value, &operands[2]),
            Value::Products(_) | Value::Tuple(_) => unreachable!("shape checking gives arrays to clamp"),
        }
    }
}
