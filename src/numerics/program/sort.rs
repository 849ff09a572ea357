//! Sorting with indices.

use crate::ir::{Builder, Compare, CompareOrder, Op, Program, ShapeError, ValueId};
use crate::tensor::DType;

use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Sort;

impl BuiltIn for Sort {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn doc(&self) -> &'static str {
        "values, indices = lax.sort_key_val(x, iota), x [rows, n], ascending and stable, by JAX's comparator: -0 counts as \
         +0, every NaN as one, and NaN comes last (FACTS 4)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let dtype = parameters.float("dtype")?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &[rows, n])?;
        let index = b.iota(DType::S32, &[rows, n], 1)?;
        let sorted = jax_sort(&mut b, dtype, x, index)?;
        let values = b.tuple_element(sorted, 0)?;
        let indices = b.tuple_element(sorted, 1)?;
        Ok(b.finish(&[("values", values), ("indices", indices)])?)
    }
}

/// `lax.sort` of `keys` of this type with `carried`, along dim 1.
fn jax_sort(b: &mut Builder, dtype: DType, keys: ValueId, carried: ValueId) -> Result<ValueId, ShapeError> {
    let to_apply = b.region(&format!("sort_{dtype}"), |b| {
        let lhs = b.parameter("lhs", dtype, &[])?;
        let rhs = b.parameter("rhs", dtype, &[])?;
        b.parameter("lhs_index", DType::S32, &[])?;
        b.parameter("rhs_index", DType::S32, &[])?;
        let sides = [canonical(b, lhs, dtype)?, canonical(b, rhs, dtype)?];
        b.op(Op::Compare { direction: Compare::Lt, order: CompareOrder::Total }, &sides)
    })?;
    b.op(Op::Sort { dim: 1, stable: true, to_apply }, &[keys, carried])
}

/// `x` with one zero and one NaN.
fn canonical(b: &mut Builder, x: ValueId, dtype: DType) -> Result<ValueId, ShapeError> {
    let zero = b.constant(dtype, 0.0)?;
    let nan = b.constant(dtype, f64::NAN)?;
    let is_zero = b.compare(Compare::Eq, x, zero)?;
    let one_zero = b.select(is_zero, zero, x)?;
    let is_nan = b.compare(Compare::Ne, x, x)?;
    b.select(is_nan, nan, one_zero)
}
