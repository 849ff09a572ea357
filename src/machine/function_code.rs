//! Functions that a backend's code computes in the place of the unit.

use std::fmt;

use crate::ir::Unary;
use crate::tensor::DType;

use super::coded::{CodeKey, Coded};
use super::value::Value;

/// The code of a function of f32.
pub trait FunctionCode: CodeKey + fmt::Debug {
    /// Computes a function of each value in place; false, and nothing done, where the unit computes it after all.
    fn apply(&self, unary: Unary, values: &mut [f32], flush: bool) -> bool;
}

/// Columns in which the products of a value are rounded although they are added: a compiler computes them apart from
/// their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FoldedColumns {
    /// The columns of the value, along its innermost dim of more than one element.
    pub width: usize,
    /// The first folded column.
    pub first: usize,
    /// The column behind the last folded one.
    pub end: usize,
}

impl FoldedColumns {
    /// Whether the element at this position is in a folded column.
    pub fn hold(self, at: usize) -> bool {
        (self.first..self.end).contains(&(at % self.width.max(1)))
    }
}

/// The code of an instruction that is a function of one operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodedColumns {
    /// The code.
    pub function: Coded<dyn FunctionCode>,
    /// The columns in which it computes the function, where it does not in all.
    pub columns: Option<FoldedColumns>,
}

impl CodedColumns {
    /// Whether the code computes the element at this position.
    pub fn hold(&self, at: usize) -> bool {
        self.columns.is_none_or(|columns| columns.hold(at))
    }

    /// An elementwise operation of one operand, which `own` computes but for the columns of the code.
    pub fn unary(&self, unary: Unary, operand: Value, flush: bool, own: impl Fn(Value) -> Value) -> Value {
        let (arguments, operand) = match (operand, self.columns) {
            (Value::Float(dtype, values), None) => {
                let mut values = values.into_vec();
                let is_computed = self.function.apply(unary, &mut values, flush);
                let value = Value::float(dtype, values);
                return if is_computed { value } else { own(value) };
            }
            (Value::Float(DType::F32, values), Some(_)) => (values.clone(), Value::Float(DType::F32, values)),
            (other, _) => return own(other),
        };
        let places: Vec<usize> = (0..arguments.len()).filter(|at| self.hold(*at)).collect();
        let mut coded: Vec<f32> = places.iter().map(|at| arguments[*at]).collect();
        let is_computed = self.function.apply(unary, &mut coded, flush);
        let (dtype, mut results) = match own(operand) {
            Value::Float(dtype, results) => (dtype, results.into_vec()),
            other => return other,
        };
        if is_computed {
            places.into_iter().zip(coded).for_each(|(at, result)| results[at] = result);
        }
        Value::float(dtype, results)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Code that adds a hundred, or leaves all to the unit.
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Hundred {
        computes: bool,
    }

    impl FunctionCode for Hundred {
        fn apply(&self, _: Unary, values: &mut [f32], _: bool) -> bool {
            if self.computes {
                values.iter_mut().for_each(|value| *value += 100.0);
            }
            self.computes
        }
    }

    /// Code computes its own columns, or all; the unit computes the rest, and everything where the code does not.
    #[test]
    fn code_computes_its_columns_alone() {
        let columns = FoldedColumns { width: 4, first: 1, end: 3 };
        for (computes, columns, expected) in [
            (true, None, [101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0, 108.0]),
            (true, Some(columns), [-1.0, 102.0, 103.0, -4.0, -5.0, 106.0, 107.0, -8.0]),
            (false, None, [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]),
            (false, Some(columns), [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]),
        ] {
            let coded = CodedColumns { function: Coded::new(Arc::new(Hundred { computes })), columns };
            let operand = Value::float(DType::F32, (1..=8u8).map(f32::from).collect());
            let own = |value: Value| Value::float(DType::F32, value.f32s().iter().map(|v| -v).collect());
            let made = coded.unary(Unary::Exponential, operand, false, own);
            assert_eq!(made.f32s(), expected, "{computes} {columns:?}");
        }
    }
}
