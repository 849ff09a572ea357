//! Programs prepared for their truth: facts that depend neither on the arguments nor on the rung are computed once.

use crate::analysis::{PlainMatmul, Regions, plain_matmul};
use crate::ir::{Op, Program};

use super::inline::inline_calls;
use super::share::share_equal;

/// A program made ready for the oracle, for any number of arguments and demands, on any thread.
pub struct Prepared {
    /// The program with calls written out and equal expressions made one value.
    pub(super) program: Program,
    pub(super) regions: Regions,
    /// For each computation the number of uses of each value, and one more for the root. In the entry, uses by matmuls
    /// that read the arguments in place are left out, and the entry's results have one more use.
    pub(super) uses: Vec<Vec<usize>>,
    /// Values of the entry that are matmuls of parameters: they read tensors in place.
    pub(super) matmuls: Vec<Option<PlainMatmul>>,
}

impl Prepared {
    /// Prepares `program`. It is not kept: the prepared program is a copy, with equal expressions shared.
    pub fn new(program: &Program) -> Prepared {
        Prepared::as_it_stands(share_equal(&inline_calls(program)))
    }

    /// Prepares `program` with its calls kept, and without sharing: equal values may be computed in two ways.
    pub(super) fn as_it_stands(program: Program) -> Prepared {
        let mut uses: Vec<Vec<usize>> = program.computations.iter().map(|computation| computation.uses()).collect();
        for (uses, computation) in uses.iter_mut().zip(&program.computations) {
            // The caller is a user of the root.
            uses[computation.root] += 1;
        }
        let entry = program.entry();
        let matmuls: Vec<Option<PlainMatmul>> =
            (0..entry.instructions.len()).map(|id| plain_matmul(entry, id)).collect();
        let entry_uses = &mut uses[program.entry];
        let root = &entry.instructions[entry.root];
        if root.op == Op::Tuple {
            root.operands.iter().for_each(|operand| entry_uses[*operand] += 1);
        }
        for matmul in matmuls.iter().flatten() {
            matmul.operands.iter().for_each(|operand| entry_uses[*operand] -= 1);
        }
        Prepared { regions: Regions::new(&program), program, uses, matmuls }
    }

    /// The number of results.
    pub fn outputs(&self) -> usize {
        self.program.output_names.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Prepared;
    use crate::ir::{Binary, Builder, DotDims, Op, Precision, Unary};
    use crate::tensor::DType;

    /// A value lives as long as it has users: each operand that reads it, its results, and no matmul that reads tensors.
    #[test]
    fn every_use_of_a_value_counts() {
        let mut b = Builder::new("uses");
        let x = b.parameter("x", DType::F32, &[2, 2]).unwrap();
        let y = b.parameter("y", DType::F32, &[2, 2]).unwrap();
        let op = Op::Dot { dims: DotDims::matmul(), precision: [Precision::Highest; 2] };
        let product = b.op(op, &[x, y]).unwrap();
        let square = b.binary(Binary::Multiply, product, product).unwrap();
        let root = b.unary(Unary::Tanh, y).unwrap();
        let program = b.finish(&[("square", square), ("root", root), ("product", product)]).unwrap();
        let prepared = Prepared::as_it_stands(program);
        let uses = &prepared.uses[prepared.program.entry];
        assert_eq!([x, y, product, square, root].map(|id| uses[id]), [0, 1, 4, 2, 2]);
        assert!(prepared.matmuls[product].is_some());
    }
}
