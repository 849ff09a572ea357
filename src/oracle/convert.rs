//! Conversions between kinds of numbers: floats, integers, predicates, bit patterns.

use std::cmp::Ordering;

use crate::num::{Direction, F64, Format, round_f64};
use crate::tensor::DType;

use super::arithmetic::Arithmetic;
use super::bits;
use super::elements::{Element, FloatArray, Value};
use super::evaluate::Pass;
use super::integer;

impl<A: Arithmetic> Pass<'_, A> {
    /// Between float types nothing changes; to an integer the real value is truncated, as HLO's convert does.
    pub(super) fn convert(&mut self, operand: &Value<A>, from: DType, to: DType) -> Value<A> {
        match (operand, to.is_float()) {
            (Value::Float(_), true) | (Value::Tuple(_), _) => operand.clone(),
            (Value::Integer(integers), true) => {
                let elements =
                    (0..integers.values.len()).map(|at| self.of_integer(integers.number(at), from)).collect();
                Value::Float(self.world.collect(elements))
            }
            (Value::Integer(integers), false) => {
                Value::integer(to, integers.values.iter().map(|v| v.map(|v| integer::wrap(to, v))).collect())
            }
            (Value::Float(array), false) if to == DType::Pred => {
                let zero = self.world.arithmetic.exact(0.0);
                let differs = |at| {
                    let number = self.world.number(array, at);
                    let is_nan = self.world.arithmetic.is_nan(&number);
                    let ordering = self.world.arithmetic.compare(&number, &zero);
                    if is_nan { Some(true) } else { ordering.map(|o| o != Ordering::Equal) }
                };
                Value::predicate((0..array.len).map(differs).collect())
            }
            (Value::Float(array), false) => {
                let truncated = |at| {
                    let number = self.world.number(array, at);
                    if self.world.arithmetic.is_nan(&number) {
                        return Some(0);
                    }
                    // Where the fraction is open, the edge of the type may still be all that either end gives.
                    let (lo, hi) = self.world.arithmetic.bounds(&number);
                    let (low, high) = (integer::saturate(to, lo as i128), integer::saturate(to, hi as i128));
                    let is_number = self.world.arithmetic.is_number(&number);
                    let by_ends = (is_number && low == high).then_some(low);
                    self.world.arithmetic.truncated(&number).map(|v| integer::saturate(to, v)).or(by_ends)
                };
                Value::integer(to, (0..array.len).map(truncated).collect())
            }
        }
    }

    /// An integer of a type as a float; of an undecided one the range is known.
    fn of_integer(&mut self, value: Option<i128>, from: DType) -> Element<A::Number> {
        let (low, high) = integer::range(from);
        let (low, high) = (value.unwrap_or(low), value.unwrap_or(high));
        let [low, high] = [low, high].map(|v| self.world.arithmetic.exact_integer(v));
        let number = if value.is_some() { low } else { self.world.arithmetic.hull(&low, &high) };
        match self.world.arithmetic.as_exact(&number) {
            Some(exact) => self.world.exact(exact),
            None => self.world.fresh(number),
        }
    }

    /// The bit patterns of the declared type: of each number those of the nearest value of the type, if its enclosure
    /// decides that; otherwise the pattern is unknown.
    pub(super) fn bitcast(&mut self, operand: &Value<A>, from: DType, to: DType) -> Value<A> {
        let codes: Vec<Option<u64>> = match (from.format(), operand) {
            (Some(format), Value::Float(array)) => self.codes(array, format),
            _ => operand.integers().values.iter().map(|v| v.map(|v| v as u64)).collect(),
        };
        match to.format() {
            Some(format) => {
                let value = |code: Option<u64>| match code {
                    Some(code) => self.world.exact(bits::value(format, code)),
                    None => self.world.unknown(),
                };
                let elements = codes.into_iter().map(value).collect();
                Value::Float(self.world.collect(elements))
            }
            None => Value::integer(to, codes.into_iter().map(|c| c.map(|c| integer::wrap(to, c as i64))).collect()),
        }
    }

    /// The codes of the numbers as `format` stores them.
    fn codes(&mut self, array: &FloatArray<A>, format: &Format) -> Vec<Option<u64>> {
        // Between neighbours of f64 lies no f64 to compare with: the arithmetic rounds to f64 itself.
        let in_f64 = (*format == F64).then(|| self.round(array, Vec::new()));
        let mut codes = Vec::with_capacity(array.len);
        for at in 0..array.len {
            let element = self.world.element(array, at);
            let stored = match (self.world.exact_value(&element), &in_f64) {
                // A NaN keeps its payload, where the format has one.
                (Some(nan), _) if nan.is_nan() && format.has_nan() => Some(nan),
                (Some(exact), _) => Some(round_f64(format, exact, Direction::NearestEven)),
                (None, Some(truth)) => truth.open.binary_search(&at).is_err().then(|| truth.rounded[at]),
                (None, None) => self.round_to(&element.number, format),
            };
            codes.push(stored.and_then(|stored| bits::code(format, stored)));
        }
        codes
    }
}
