//! Values as their users take them: whole, or as broadcasts.

use super::value::Value;
use super::vector::Side;

/// A value as others read it: whole, or only the elements that a broadcast spreads over its shape, so that no copies of
/// them need be written out.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    value: Value,
    /// Element `i` of a broadcast is element `(i / each) % len` of `value`.
    each: Option<usize>,
}

impl Operand {
    pub fn whole(value: Value) -> Operand {
        Operand { value, each: None }
    }

    /// `value` broadcast along `dims` of `out_dims`; `None` where that is no repetition of `value` in its own order, or
    /// `value` is a tuple or empty.
    pub fn broadcast(value: &Value, dims: &[usize], out_dims: &[usize]) -> Option<Operand> {
        let in_order = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        if !in_order || value.is_empty() || matches!(value, Value::Tuple(_)) {
            return None;
        }
        let each = out_dims[dims.last().map_or(0, |last| last + 1)..].iter().product();
        Some(Operand::spread(value.clone(), each))
    }

    /// Element `i` is element `(i / each) % len` of `value`, an array of some elements.
    pub fn spread(value: Value, each: usize) -> Operand {
        Operand { value, each: Some(each) }
    }

    /// Number of times that each element of a broadcast is repeated in a row; `None` if the value is whole.
    pub fn each(&self) -> Option<usize> {
        self.each
    }

    /// The same broadcast along `dims` of `out_dims`; `None` where it is a broadcast already, or as [`Operand::broadcast`].
    pub fn broadcast_again(&self, dims: &[usize], out_dims: &[usize]) -> Option<Operand> {
        if self.each.is_some() { None } else { Operand::broadcast(&self.value, dims, out_dims) }
    }

    /// Whether both are one value written in one way.
    pub fn has_bits_of(&self, other: &Operand) -> bool {
        self.each == other.each && self.value.has_bits_of(&other.value)
    }

    /// The elements that a broadcast spreads; the value itself where it is whole.
    pub fn elements(&self) -> &Value {
        &self.value
    }

    /// Applies `function` to each element.
    pub fn map(self, function: impl FnOnce(Value) -> Value) -> Operand {
        Operand { value: function(self.value), each: self.each }
    }

    /// All `count` elements, written out.
    pub fn into_whole(self, count: usize) -> Value {
        let Some(each) = self.each else { return self.value };
        match &self.value {
            Value::Float(dtype, values) => Value::float(*dtype, Side::broadcast(values, each).write_out(count)),
            Value::Double(values) => Value::double(Side::broadcast(values, each).write_out(count)),
            Value::Integer(dtype, values) => Value::integer(*dtype, Side::broadcast(values, each).write_out(count)),
            Value::Pred(values) => Value::pred(Side::broadcast(values, each).write_out(count)),
            Value::Products(products) => Value::Products(products.spread(each, count)),
            Value::Tuple(_) => self.value,
        }
    }

    /// f32-held floats as they are read beside others.
    pub fn side(&self) -> Side<'_, f32> {
        match self.each {
            Some(each) => Side::broadcast(self.value.f32s(), each),
            None => Side::whole(self.value.f32s()),
        }
    }

    /// Puts a broadcast of numbers behind a whole operand, if the two may change places: the last one need not be written out.
    /// Two NaNs would show which was first.
    pub fn put_broadcast_last(operands: &mut [Operand], may: bool) {
        let numbers = |value: &Value| matches!(value, Value::Float(_, values) if values.iter().all(|v| !v.is_nan()));
        if may
            && let [Operand { value, each: Some(_) }, Operand { value: Value::Float(..), each: None }] = operands
            && numbers(value)
        {
            operands.swap(0, 1);
        }
    }

    /// A broadcast of one row of `width` elements to all rows is that row.
    pub fn is_one_row(&self, width: usize) -> bool {
        self.each == Some(1) && self.value.len() == width
    }
}

#[cfg(test)]
mod tests {
    use super::{Operand, Value};
    use crate::tensor::DType;

    fn value(values: &[f32]) -> Value {
        Value::float(DType::F32, values.to_vec())
    }

    /// A broadcast along these dims is one only where its elements are repeated in their own order.
    #[test]
    fn broadcasts_repeat_elements_in_their_order() {
        let out = [2, 2, 2];
        let of = value(&[1.0, 2.0, 3.0, 4.0]);
        for (dims, expected) in [
            (&[0, 1][..], Some([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0])),
            (&[1, 2], Some([1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0])),
            (&[0, 2], None),
            (&[1, 0], None),
        ] {
            let whole = Operand::broadcast(&of, dims, &out).map(|operand| operand.into_whole(8).f32s().to_vec());
            assert_eq!(whole, expected.map(|values| values.to_vec()), "{dims:?}");
        }
    }

    #[test]
    fn operands_are_one_where_elements_and_repetition_are() {
        let of = value(&[1.0, 2.0]);
        let (each, other) = (Operand::spread(of.clone(), 1), Operand::spread(of.clone(), 2));
        assert!(each.has_bits_of(&each.clone()) && !each.has_bits_of(&other) && !each.has_bits_of(&Operand::whole(of)));
        assert!(!each.has_bits_of(&Operand::spread(value(&[1.0, -2.0]), 1)));
        assert!(each.is_one_row(2) && !each.is_one_row(4) && !other.is_one_row(2));
    }

    /// NaNs have bits of their own: of two operands with one, the first shows.
    #[test]
    fn a_broadcast_goes_last_where_no_nan_shows_it() {
        for (may, spread, moves) in
            [(true, [1.0, 2.0], true), (false, [1.0, 2.0], false), (true, [1.0, f32::NAN], false)]
        {
            let mut operands = [Operand::spread(value(&spread), 1), Operand::whole(value(&[3.0, 4.0, 5.0, 6.0]))];
            Operand::put_broadcast_last(&mut operands, may);
            assert_eq!(operands[0].each().is_none(), moves, "{may} {spread:?}");
        }
    }
}
