//! What a compiler may do to a program's roundings under `xla_allow_excess_precision`, as rewrites of the program.
//!
//! The rewritten program is an ordinary one: it can be printed, and in it a value with two uses is visibly rounded for
//! one and wide for the other.

mod dead;
mod loops;
mod narrow;
mod normalize;
mod policy;
mod simplify;

pub use policy::{POLICIES, Policy, policy_named};

use crate::ir::{Op, Program};

/// One of the rules that policies are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Rule B of FACTS 1.3: float normalization.
    Normalization,
    /// The TPU compiler's narrowing of sums (FACTS 9).
    Narrowing,
    /// Rule A of FACTS 1.3: `simplify-fp-conversions`.
    Simplification,
}

/// `program` as the compiler behind `policy` would leave it, for a chip on which `native` operations are computed in
/// bf16 (so that there is no wide value to expose).
pub fn apply(program: &Program, policy: &Policy, native: &dyn Fn(&Op) -> bool) -> Program {
    dead::eliminate(&rewritten(program, policy, native, &mut |_, _| {}))
}

/// [`apply`] after each of the policy's rules, in their order; the last is what [`apply`] gives. Empty if the policy has
/// none.
pub fn steps(program: &Program, policy: &Policy, native: &dyn Fn(&Op) -> bool) -> Vec<(Rule, Program)> {
    let mut steps = Vec::new();
    rewritten(program, policy, native, &mut |rule, program| steps.push((rule, dead::eliminate(program))));
    steps
}

fn rewritten(
    program: &Program,
    policy: &Policy,
    native: &dyn Fn(&Op) -> bool,
    after: &mut dyn FnMut(Rule, &Program),
) -> Program {
    let mut rewritten = loops::rewrite_bodies(program, &|body| apply(body, policy, native));
    if policy.normalize {
        let kept = |op: &Op| (policy.kept)(op) || (policy.chip_natives && native(op));
        rewritten = normalize::float_normalization(&rewritten, &kept, policy.store_between_fusions);
        after(Rule::Normalization, &rewritten);
    }
    if policy.narrow_sums {
        rewritten = narrow::narrow_sums(&rewritten);
        after(Rule::Narrowing, &rewritten);
    }
    if policy.simplify_conversions {
        rewritten = simplify::simplify_fp_conversions(&rewritten, policy.store_between_fusions);
        after(Rule::Simplification, &rewritten);
    }
    rewritten
}

/// What an operation that rule B retyped is called: `div.7.f32`, where `div.7` now names the rounding of its result.
fn wide_name(declared: &str) -> String {
    format!("{declared}{WIDE}")
}

/// The declared operation behind a name in a rewritten program: `div.7` for `div.7.f32`, any other name as it is.
pub fn declared_name(name: &str) -> &str {
    name.strip_suffix(WIDE).unwrap_or(name)
}

const WIDE: &str = ".f32";

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
