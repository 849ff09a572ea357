//! What a compiler may do to a program's roundings under `xla_allow_excess_precision`, as rewrites of the program.
//!
//! The rewritten program is an ordinary one: it can be printed, and in it a value with two uses is visibly rounded for
//! one and wide for the other.

mod dead;
mod narrow;
mod normalize;
mod policy;
mod simplify;

pub use policy::{POLICIES, Policy, policy_named};

use crate::ir::{Op, Program};

/// `program` as the compiler behind `policy` would leave it, for a chip on which `native` operations are computed in
/// bf16 (so that there is no wide value to expose).
pub fn apply(program: &Program, policy: &Policy, native: &dyn Fn(&Op) -> bool) -> Program {
    let mut rewritten = program.clone();
    if policy.normalize {
        let kept = |op: &Op| (policy.kept)(op) || (policy.chip_natives && native(op));
        rewritten = normalize::float_normalization(&rewritten, &kept, policy.store_between_fusions);
    }
    if policy.narrow_sums {
        rewritten = narrow::narrow_sums(&rewritten);
    }
    if policy.simplify_conversions {
        rewritten = simplify::simplify_fp_conversions(&rewritten, policy.store_between_fusions);
    }
    dead::eliminate(&rewritten)
}

/// A computation in the making, for passes that copy one while changing it.
struct Editor {
    instructions: Vec<crate::ir::Instruction>,
}

impl Editor {
    fn push(&mut self, instruction: crate::ir::Instruction) -> usize {
        self.instructions.push(instruction);
        self.instructions.len() - 1
    }

    /// A conversion of an earlier value, named after it.
    fn convert(&mut self, operand: usize, dtype: crate::tensor::DType, name: String) -> usize {
        let shape = self.instructions[operand].shape.with_dtype(dtype);
        self.push(crate::ir::Instruction { name, op: Op::Convert, operands: vec![operand], shape })
    }
}
