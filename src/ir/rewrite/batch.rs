//! Axes of independent elements: batches.

use crate::ir::{Class, DotDims, ElementMove, Instruction, Op, Program, ValueId, WindowDim};

use super::axes::Axes;

impl Axes {
    /// Whether the elements of an axis never meet and are never counted: the program for some of them then gives the results that the
    /// whole gives for these. `false` where that is not plain from the operations.
    pub fn is_batch(&self, program: &Program, axis: usize) -> bool {
        let instructions = &program.entry().instructions;
        let is_index = self.bounds.iter().any(|bound| bound.axis == axis)
            || self.index_arguments.iter().any(|(_, of)| *of == axis);
        let keeps_apart = |(id, instruction): (ValueId, &Instruction)| {
            !self.touches(id, instruction, axis) || self.keeps_apart(id, instruction, axis)
        };
        self.axes[axis].held.is_none() && !is_index && instructions.iter().enumerate().all(keeps_apart)
    }

    fn has(&self, id: ValueId, axis: usize) -> bool {
        self.of_value(id).iter().any(|array| array.contains(&axis))
    }

    fn touches(&self, id: ValueId, instruction: &Instruction, axis: usize) -> bool {
        self.has(id, axis) || instruction.operands.iter().any(|operand| self.has(*operand, axis))
    }

    /// Whether one instruction computes each element of the axis from the same one of its operands.
    fn keeps_apart(&self, id: ValueId, instruction: &Instruction, axis: usize) -> bool {
        let is_list = instruction.op.class() == Class::Lists;
        // Twice, as in x x^T, all of them meet; a result without the axis has lost it.
        let once = |array: &Vec<usize>| array.iter().filter(|own| **own == axis).count() == 1;
        if !is_list && !self.of_value(id).iter().all(once) {
            return false;
        }
        let is_along = |operand: usize, dim: usize| {
            let value = instruction.operands.get(operand);
            value.is_some_and(|value| self.of_array(*value).get(dim) == Some(&axis))
        };
        let last = |operand: usize| {
            instruction.operands.get(operand).map_or(0, |value| self.of_array(*value).len().saturating_sub(1))
        };
        match &instruction.op {
            Op::Parameter(_) => true,
            Op::Iota { dim } => self.of_array(id).get(*dim) != Some(&axis),
            Op::Reduce { dims, .. } => !dims.iter().any(|dim| is_along(0, *dim)),
            Op::ReduceWindow { window, .. } => {
                window.0.iter().enumerate().all(|(dim, window)| !is_along(0, dim) || *window == WindowDim::of_size(1))
            }
            Op::Dot { dims: DotDims { lhs_contracting, rhs_contracting, .. }, .. } => {
                !lhs_contracting.iter().any(|dim| is_along(0, *dim))
                    && !rhs_contracting.iter().any(|dim| is_along(1, *dim))
            }
            Op::Sort { dim, .. } => !is_along(0, *dim),
            Op::TopK { .. } => !is_along(0, last(0)),
            op => match op.movement() {
                Some(
                    ElementMove::Identity
                    | ElementMove::Broadcast { .. }
                    | ElementMove::Transpose { .. }
                    | ElementMove::Reshape
                    | ElementMove::Slice { .. }
                    | ElementMove::Pad { .. }
                    | ElementMove::Concatenate { .. },
                ) => true,
                Some(_) => false,
                None => matches!(op.class(), Class::Converts | Class::Elementwise | Class::Lists),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder, Precision};
    use crate::tensor::DType;

    /// Of a program of x [4, 6] whether each of its dims is a batch.
    fn batches(build: impl Fn(&mut Builder, ValueId) -> ValueId) -> [bool; 2] {
        let mut b = Builder::new("batch");
        let x = b.parameter("x", DType::F32, &[4, 6]).unwrap();
        let result = build(&mut b, x);
        let program = b.finish(&[("result", result)]).unwrap();
        let axes = Axes::new(&program);
        [0, 1].map(|dim| axes.is_batch(&program, axes.of_array(x)[dim]))
    }

    #[test]
    fn a_dim_that_something_adds_up_ranks_or_counts_is_no_batch() {
        assert_eq!(batches(|b, x| b.binary(Binary::Add, x, x).unwrap()), [true, true]);
        assert_eq!(batches(|b, x| b.reduce(Binary::Add, x, 0.0, &[1]).unwrap()), [true, false]);
        assert_eq!(batches(|b, x| b.reduce(Binary::Add, x, 0.0, &[0]).unwrap()), [false, true]);
        assert_eq!(batches(|b, x| b.argmax(x, 1).unwrap()), [true, false]);
        let counted = |dim: usize| {
            batches(move |b, x| {
                let counts = b.iota(DType::F32, &[4, 6], dim).unwrap();
                b.binary(Binary::Add, x, counts).unwrap()
            })
        };
        assert_eq!((counted(0), counted(1)), ([false, true], [true, false]));
    }

    /// A product of rows with a matrix keeps rows apart; one with the rows' own transpose has all of them meet.
    #[test]
    fn rows_of_a_product_meet_in_its_other_operand_alone() {
        let with_matrix = batches(|b, x| {
            let w = b.parameter("w", DType::F32, &[6, 5]).unwrap();
            b.matmul(x, w, Precision::Default, DType::F32).unwrap()
        });
        assert_eq!(with_matrix, [true, false]);
        let with_itself = batches(|b, x| {
            let turned = b.op(Op::Transpose { permutation: vec![1, 0] }, &[x]).unwrap();
            b.matmul(x, turned, Precision::Default, DType::F32).unwrap()
        });
        assert_eq!(with_itself, [false, false]);
        assert_eq!(batches(|b, x| b.reshape(x, &[24]).unwrap()), [false, false]);
    }
}
