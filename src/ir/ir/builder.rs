//! Builds programs operation by operation, checking shapes on the way.

use std::sync::Arc;

use crate::tensor::{DType, Tensor};

use super::dot_dims::DotDims;
use super::infer::{ShapeError, infer};
use super::mark::Mark;
use super::op::{ComputationId, Op};
use super::program::{Computation, Double, Instruction, Program, Shape, ValueId};
use super::scalar_op::{Binary, Compare, CompareOrder, Precision, Unary};
use super::tiling::Tiling;
use super::window::{Window, WindowDim};

type Result<T> = std::result::Result<T, ShapeError>;

/// A program in the making.
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    computations: Vec<Computation>,
    instructions: Vec<Instruction>,
}

impl Builder {
    /// A program of this name, without any operation yet.
    pub fn new(name: &str) -> Builder {
        Builder { name: name.to_string(), computations: Vec::new(), instructions: Vec::new() }
    }

    /// Adds an operation whose operands determine its shape.
    ///
    /// # Errors
    /// If it does not fit its operands; so for all that add operations.
    pub fn op(&mut self, op: Op, operands: &[ValueId]) -> Result<ValueId> {
        self.push(op, operands, None)
    }

    /// Adds an operation whose result has this shape.
    pub fn op_of_shape(&mut self, op: Op, operands: &[ValueId], shape: Shape) -> Result<ValueId> {
        self.push(op, operands, Some(shape))
    }

    fn push(&mut self, op: Op, operands: &[ValueId], given: Option<Shape>) -> Result<ValueId> {
        let shapes: Vec<&Shape> = operands.iter().map(|o| &self.instructions[*o].shape).collect();
        let id = self.instructions.len();
        let name = format!("{}.{id}", op.opcode());
        let shape = infer(&op, &shapes, &self.computations, given.as_ref())
            .map_err(|e| ShapeError(format!("{name} in {}: {e}", self.name)))?;
        self.instructions.push(Instruction::new(name, op, operands.to_vec(), shape));
        Ok(id)
    }

    /// The shape of a value that was added.
    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.instructions[id].shape
    }

    /// Gives a value a name that a reader of the program understands, and gives the value back.
    pub fn rename(&mut self, id: ValueId, name: &str) -> ValueId {
        self.instructions[id].name = name.to_string();
        id
    }

    /// The next argument of the program, numbered in the order of these calls.
    pub fn parameter(&mut self, name: &str, dtype: DType, dims: &[usize]) -> Result<ValueId> {
        let is_parameter = |i: &&Instruction| matches!(i.op, Op::Parameter(_));
        let number = self.instructions.iter().filter(is_parameter).count();
        let id = self.push(Op::Parameter(number), &[], Some(Shape::array(dtype, dims)))?;
        Ok(self.rename(id, name))
    }

    /// A scalar constant of a float type (rounded to nearest even), integer or predicate.
    pub fn constant(&mut self, dtype: DType, value: f64) -> Result<ValueId> {
        let scalar = Tensor::scalar(dtype, value).or_else(|| Tensor::scalar_int(dtype, value as i64));
        let scalar = scalar.ok_or_else(|| ShapeError(format!("no {dtype} constant {value}")))?;
        self.op(Op::Constant(scalar), &[])
    }

    /// A scalar repeated over `dims`.
    pub fn splat(&mut self, scalar: ValueId, dims: &[usize]) -> Result<ValueId> {
        self.broadcast(scalar, dims, &[])
    }

    /// `operand`'s dim `i` becomes dim `along[i]` of the result.
    pub fn broadcast(&mut self, operand: ValueId, dims: &[usize], along: &[usize]) -> Result<ValueId> {
        let dtype = self.dtype(operand)?;
        self.op_of_shape(Op::Broadcast { dims: along.to_vec() }, &[operand], Shape::array(dtype, dims))
    }

    /// The operand in another element type.
    pub fn convert(&mut self, operand: ValueId, dtype: DType) -> Result<ValueId> {
        let shape = self.shape(operand).with_dtype(dtype);
        self.op_of_shape(Op::Convert, &[operand], shape)
    }

    /// The operand's elements in row-major order under other dims.
    pub fn reshape(&mut self, operand: ValueId, dims: &[usize]) -> Result<ValueId> {
        let dtype = self.dtype(operand)?;
        self.op_of_shape(Op::Reshape, &[operand], Shape::array(dtype, dims))
    }

    /// An array that counts 0, 1, 2, ... along `dim`.
    pub fn iota(&mut self, dtype: DType, dims: &[usize], dim: usize) -> Result<ValueId> {
        self.op_of_shape(Op::Iota { dim }, &[], Shape::array(dtype, dims))
    }

    /// A function of each element, in the operand's type.
    pub fn unary(&mut self, unary: Unary, operand: ValueId) -> Result<ValueId> {
        self.op(Op::Unary(unary), &[operand])
    }

    /// A function of each pair of elements of two values of one shape.
    pub fn binary(&mut self, binary: Binary, lhs: ValueId, rhs: ValueId) -> Result<ValueId> {
        self.op(Op::Binary(binary), &[lhs, rhs])
    }

    /// A step of the sum over devices of this number, in an order that no compiler is free to change: as [`Builder::exchange`].
    pub fn planned_exchange(&mut self, number: usize, arrived: ValueId, own: ValueId) -> Result<ValueId> {
        let sum = self.exchange(number, arrived, own)?;
        if let Some(Mark::Exchange { is_planned, .. }) = &mut self.instructions[sum].mark {
            *is_planned = true;
        }
        Ok(sum)
    }

    /// A step of the sum over devices of this number: the partial sum that arrives from one device, in the type that is
    /// sent, plus the next device's own value.
    pub fn exchange(&mut self, number: usize, arrived: ValueId, own: ValueId) -> Result<ValueId> {
        let carries = self.instructions[arrived].shape.element_type();
        let sum = self.binary(Binary::Add, arrived, own)?;
        self.instructions[sum].mark = Some(Mark::Exchange { number, carries, is_planned: false });
        Ok(sum)
    }

    /// A predicate for each pair of elements of two values of one shape, by IEEE comparison.
    pub fn compare(&mut self, direction: Compare, lhs: ValueId, rhs: ValueId) -> Result<ValueId> {
        self.op(Op::Compare { direction, order: CompareOrder::Partial }, &[lhs, rhs])
    }

    /// For each predicate, the element of `on_true` or of `on_false`; a scalar predicate selects the whole value.
    pub fn select(&mut self, predicate: ValueId, on_true: ValueId, on_false: ValueId) -> Result<ValueId> {
        self.op(Op::Select, &[predicate, on_true, on_false])
    }

    /// Reduces `dims` by a binary operation from `init`, in the operand's type.
    pub fn reduce(&mut self, binary: Binary, operand: ValueId, init: f64, dims: &[usize]) -> Result<ValueId> {
        let dtype = self.dtype(operand)?;
        let to_apply = self.binary_region(binary, dtype)?;
        let init = self.constant(dtype, init)?;
        self.op(Op::Reduce { dims: dims.to_vec(), to_apply }, &[operand, init])
    }

    /// Running sums along `dim`, as `jnp.cumsum` lowers: a window over everything before.
    pub fn cumsum(&mut self, operand: ValueId, dim: usize) -> Result<ValueId> {
        let dtype = self.dtype(operand)?;
        let dims = self.shape(operand).dims().to_vec();
        let to_apply = self.binary_region(Binary::Add, dtype)?;
        let mut window = vec![WindowDim::of_size(1); dims.len()];
        window[dim] = WindowDim { pad_low: dims[dim] as i64 - 1, ..WindowDim::of_size(dims[dim]) };
        let init = self.constant(dtype, 0.0)?;
        self.op(Op::ReduceWindow { window: Window(window), to_apply }, &[operand, init])
    }

    /// Index of the largest value along `dim` as s32, by JAX's variadic reduce: NaN first, then the lowest index.
    pub fn argmax(&mut self, operand: ValueId, dim: usize) -> Result<ValueId> {
        let dtype = self.dtype(operand)?;
        let dims = self.shape(operand).dims().to_vec();
        let to_apply = self.argmax_region(dtype)?;
        let index = self.iota(DType::S32, &dims, dim)?;
        let low = self.constant(dtype, f64::NEG_INFINITY)?;
        let zero = self.constant(DType::S32, 0.0)?;
        let pair = self.op(Op::Reduce { dims: vec![dim], to_apply }, &[operand, index, low, zero])?;
        self.op(Op::GetTupleElement(1), &[pair])
    }

    /// Sorts `operands` together along `dim` by the first one: `a` goes before `b` where `a direction b`. A tuple of
    /// the sorted operands, or the operand alone.
    pub fn sort(
        &mut self,
        operands: &[ValueId],
        dim: usize,
        stable: bool,
        direction: Compare,
        order: CompareOrder,
    ) -> Result<ValueId> {
        let dtypes = operands.iter().map(|o| self.dtype(*o)).collect::<Result<Vec<_>>>()?;
        let to_apply = self.region(&format!("compare_{}", direction.name()), |b| {
            let mut parameters = Vec::new();
            for dtype in &dtypes {
                for side in ["lhs", "rhs"] {
                    let name = format!("{side}{}", parameters.len() / 2);
                    parameters.push(b.parameter(&name, *dtype, &[])?);
                }
            }
            b.op(Op::Compare { direction, order }, &parameters[..2])
        })?;
        self.op(Op::Sort { dim, stable, to_apply }, operands)
    }

    /// `[m,k] x [k,n]` at a precision for both operands, giving `dtype`.
    pub fn matmul(&mut self, lhs: ValueId, rhs: ValueId, precision: Precision, dtype: DType) -> Result<ValueId> {
        let op = Op::Dot { dims: DotDims::matmul(), precision: [precision; 2] };
        let shapes = [self.shape(lhs), self.shape(rhs)];
        let shape = infer(&op, &shapes, &self.computations, None)?.with_dtype(dtype);
        self.op_of_shape(op, &[lhs, rhs], shape)
    }

    /// Says that a matmul sums this many products at a time; 0 for all of them.
    pub fn cut_k(&mut self, matmul: ValueId, k_block: usize) {
        let tiling = (k_block > 0).then(|| Arc::new(Tiling::of_k_block(k_block)));
        self.instructions[matmul].record(|compiled| compiled.tiling = tiling);
    }

    /// An element of a tuple, counted from 0.
    pub fn tuple_element(&mut self, tuple: ValueId, index: usize) -> Result<ValueId> {
        self.op(Op::GetTupleElement(index), &[tuple])
    }

    /// A region built by `body` over its own scalars; an equal one that exists already is used again.
    pub fn region(&mut self, name: &str, body: impl FnOnce(&mut Builder) -> Result<ValueId>) -> Result<ComputationId> {
        // It may call regions of its own: all stand in one list.
        let computations = std::mem::take(&mut self.computations);
        let mut inner = Builder { name: name.to_string(), computations, instructions: Vec::new() };
        let root = body(&mut inner);
        self.computations = inner.computations;
        let root = root?;
        let region = Computation { name: name.to_string(), instructions: inner.instructions, root };
        if let Some(id) = self.computations.iter().position(|c| *c == region) {
            return Ok(id);
        }
        self.computations.push(region);
        Ok(self.computations.len() - 1)
    }

    /// `(a, b) -> binary(a, b)` over scalars.
    pub fn binary_region(&mut self, binary: Binary, dtype: DType) -> Result<ComputationId> {
        self.region(&format!("{}_{dtype}", binary.name().replace('-', "_")), |b| {
            let lhs = b.parameter("lhs", dtype, &[])?;
            let rhs = b.parameter("rhs", dtype, &[])?;
            b.binary(binary, lhs, rhs)
        })
    }

    /// JAX's argmax combiner (FACTS 4).
    fn argmax_region(&mut self, dtype: DType) -> Result<ComputationId> {
        self.region(&format!("argmax_{dtype}"), |b| {
            let value = b.parameter("value", dtype, &[])?;
            let index = b.parameter("index", DType::S32, &[])?;
            let other = b.parameter("other_value", dtype, &[])?;
            let other_index = b.parameter("other_index", DType::S32, &[])?;
            let greater = b.compare(Compare::Gt, value, other)?;
            let nan = b.compare(Compare::Ne, value, value)?;
            let better = b.binary(Binary::Or, greater, nan)?;
            let equal = b.compare(Compare::Eq, value, other)?;
            let before = b.compare(Compare::Lt, index, other_index)?;
            let earlier = b.binary(Binary::And, equal, before)?;
            let take_index = b.binary(Binary::Or, better, earlier)?;
            let value = b.select(better, value, other)?;
            let index = b.select(take_index, index, other_index)?;
            b.op(Op::Tuple, &[value, index])
        })
    }

    /// The finished program with its named results.
    pub fn finish(mut self, outputs: &[(&str, ValueId)]) -> Result<Program> {
        let ids: Vec<ValueId> = outputs.iter().map(|(_, id)| *id).collect();
        let root = self.op(Op::Tuple, &ids)?;
        self.computations.push(Computation { name: "main".to_string(), instructions: self.instructions, root });
        let double = Double::first_of(&self.computations);
        Ok(Program {
            name: self.name,
            entry: self.computations.len() - 1,
            computations: self.computations,
            output_names: outputs.iter().map(|(name, _)| name.to_string()).collect(),
            settings: Vec::new(),
            double,
        })
    }

    fn dtype(&self, id: ValueId) -> Result<DType> {
        self.shape(id).dtype().ok_or_else(|| ShapeError(format!("{} is a tuple", self.instructions[id].name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region that calls regions of its own: all stand in the program's list, before it.
    #[test]
    fn regions_call_regions() {
        let mut b = Builder::new("nested");
        let sum = |b: &mut Builder| {
            let x = b.parameter("x", DType::F32, &[3])?;
            b.reduce(Binary::Add, x, 0.0, &[0])
        };
        let to_apply = b.region("sum", sum).unwrap();
        let x = b.parameter("x", DType::F32, &[3]).unwrap();
        let call = b.op(Op::Call { to_apply }, &[x]).unwrap();
        let max = b.reduce(Binary::Maximum, x, 0.0, &[0]).unwrap();
        let again = b.region("sum", sum).unwrap();
        assert_eq!(again, to_apply);
        let program = b.finish(&[("sum", call), ("max", max)]).unwrap();
        let names: Vec<&str> = program.computations.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["add_f32", "sum", "maximum_f32", "main"]);
        let body = &program.computations[to_apply];
        assert_eq!(body.instructions[body.root].op.callees().collect::<Vec<_>>(), [0]);
    }
}
