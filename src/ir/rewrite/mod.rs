//! Changes of a program's roundings that a compiler may make under `xla_allow_excess_precision`, as rewrites of the
//! program.
//!
//! A [`Rule`] has [`Site`]s in a program, each of which may be taken or left, and a [`Policy`] is one choice of them. The
//! rewritten program is an ordinary one: it can be printed, and in it a value with two uses is visibly rounded for one and
//! wide for the other.
//!
//! One file a rule: `normalize`, `narrow`, `simplify`; `policy` has the policies, [`apply`] runs one; `choices` has every
//! choice of sites in one program. `axes`, `index_axes` and `resize` write a program for other extents, with its choices as
//! they were; `batch` says along which axis elements never meet.

mod axes;
mod batch;
mod choices;
mod dead;
mod index_axes;
mod keep_wide;
mod loops;
mod narrow;
mod normalize;
mod policy;
mod resize;
mod simplify;

pub use axes::{Axes, Axis, IndexBound};
pub use choices::{Choices, Freedom, MOST_ELEMENTS, MOST_INSTRUCTIONS, Place, Point, Spot};
pub use dead::{drop_dead_values, drop_unused_computations, live_values};
pub use keep_wide::keep_wide;
pub use loops::{body_of, with_body_of};
pub use policy::{CPU, OFF, POLICIES, Policy, find_policy};
pub use resize::Kept;

use std::collections::BTreeSet;

use crate::ir::{Instruction, Op, Program, ValueId};
use crate::tensor::DType;

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

/// One place of a program where a rule may be applied, by the values of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// Normalization: a bf16 operation is done in f32, and its result is rounded.
    Retype(ValueId),
    /// Normalization: a conversion to f32 of such an operation's result takes its f32 value, before it is rounded.
    Expose {
        /// The conversion.
        conversion: ValueId,
    },
    /// Normalization: an operation that is done in f32 and reads a program result reads a copy of it, so that
    /// simplification leaves its rounding.
    ReadStored {
        /// The operation.
        reader: ValueId,
        /// Its operand that is the program result, from 0.
        operand: usize,
    },
    /// Narrowing: an f32 sum that is only used as bf16 becomes a bf16 sum of operands rounded to bf16.
    Narrow(ValueId),
    /// Simplification: a conversion reads the source of the conversions before it.
    Collapse {
        /// The last conversion of the chain.
        conversion: ValueId,
        /// The value that it reads in the place of its operand.
        source: ValueId,
    },
}

/// A program that a rewrite made of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewritten {
    /// The rewritten program.
    pub program: Program,
    /// For each value of the entry, the value of the other program's entry that it stands for, before or after rounding;
    /// `None` for inserted values.
    pub origins: Vec<Option<ValueId>>,
}

impl Rewritten {
    /// A program whose entry is still the other's.
    fn unchanged(program: Program) -> Rewritten {
        let origins = (0..program.entry().instructions.len()).map(Some).collect();
        Rewritten { program, origins }
    }

    /// Rewrites the rewritten program once more; the origins stay those in the first program.
    fn then(&self, rewrite: impl FnOnce(&Program) -> Rewritten) -> Rewritten {
        let Rewritten { program, origins } = rewrite(&self.program);
        Rewritten { program, origins: origins.into_iter().map(|origin| self.origins[origin?]).collect() }
    }
}

impl Rule {
    /// All places of a program where the rule's own conditions hold.
    pub fn sites(self, program: &Program) -> BTreeSet<Site> {
        match self {
            Rule::Normalization => normalize::sites(program),
            Rule::Narrowing => narrow::sites(program),
            Rule::Simplification => simplify::sites(program, &|_| false),
        }
    }

    /// `program` rewritten at some of the rule's sites in it. Values that lose all users stay in the program.
    pub fn apply(self, program: &Program, sites: &BTreeSet<Site>) -> Rewritten {
        match self {
            Rule::Normalization => normalize::apply(program, sites),
            Rule::Narrowing => narrow::apply(program, sites),
            Rule::Simplification => simplify::apply(program, sites),
        }
    }
}

/// `program` as the compiler behind `policy` would leave it, for a chip on which `native` operations are computed in
/// bf16 (so that there is no wide value to expose).
pub fn apply(program: &Program, policy: &Policy, native: &dyn Fn(&Op) -> bool) -> Rewritten {
    rewritten(program, policy, native, &mut |_, _| {}).then(dead::eliminate)
}

/// [`apply`] after each of the policy's rules, in their order; the last is the result of [`apply`]. Empty if the policy
/// has no rules.
pub fn steps(program: &Program, policy: &Policy, native: &dyn Fn(&Op) -> bool) -> Vec<(Rule, Rewritten)> {
    let mut steps = Vec::new();
    rewritten(program, policy, native, &mut |rule, rewritten| steps.push((rule, rewritten.then(dead::eliminate))));
    steps
}

fn rewritten(
    program: &Program,
    policy: &Policy,
    native: &dyn Fn(&Op) -> bool,
    after: &mut dyn FnMut(Rule, &Rewritten),
) -> Rewritten {
    let bodies = loops::rewrite_bodies(program, &|body| apply(body, policy, native).program);
    let mut rewritten = Rewritten::unchanged(bodies);
    for rule in policy.rules() {
        rewritten = rewritten.then(|program| rule.apply(program, &policy.sites(rule, program, native)));
        after(rule, &rewritten);
    }
    rewritten
}

/// A computation in the making, for rules that copy one while changing it.
#[derive(Default)]
struct Editor {
    instructions: Vec<Instruction>,
    origins: Vec<Option<ValueId>>,
}

impl Editor {
    fn push(&mut self, instruction: Instruction, origin: Option<ValueId>) -> ValueId {
        self.instructions.push(instruction);
        self.origins.push(origin);
        self.instructions.len() - 1
    }

    /// A conversion of an earlier value.
    fn convert(&mut self, operand: ValueId, dtype: DType, name: String, origin: Option<ValueId>) -> ValueId {
        let shape = self.instructions[operand].shape.with_dtype(dtype);
        self.push(Instruction::new(name, Op::Convert, vec![operand], shape), origin)
    }
}
