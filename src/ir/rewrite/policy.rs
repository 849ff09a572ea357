//! The policies as rows: a compiler, and the rules that it applies.

use std::collections::BTreeSet;

use crate::ir::{Binary, Class, Op, Program, Unary, ValueId};

use super::normalize::definition;
use super::{Rule, Site, simplify};

/// The rules that one compiler applies to roundings.
pub struct Policy {
    /// The third part of a mode: `v5e/default/NAME`.
    pub name: &'static str,
    /// Its effect, for listings, with its source.
    pub doc: &'static str,
    /// Rule B of FACTS 1.3: operations that are not native in bf16 are retyped to f32; a conversion of their result to
    /// f32 then sees the value before rounding.
    pub(super) normalize: bool,
    /// Operations that the compiler leaves in bf16 whatever the chip.
    pub(super) kept: fn(&Op) -> bool,
    /// Whether the chip's own bf16 operations are left as well.
    pub(super) chip_natives: bool,
    /// Rule A of FACTS 1.3: chains of float conversions collapse.
    pub(super) simplify_conversions: bool,
    /// Values stored between fusions keep their rounding.
    pub(super) store_between_fusions: bool,
    /// An f32 sum that is only used as bf16 becomes a bf16 sum.
    pub(super) narrow_sums: bool,
}

impl Policy {
    /// Whether it changes any program.
    pub fn rewrites(&self) -> bool {
        self.rules().next().is_some()
    }

    /// The rules that it applies, in their order.
    pub fn rules(&self) -> impl Iterator<Item = Rule> {
        let rules = [
            (Rule::Normalization, self.normalize),
            (Rule::Narrowing, self.narrow_sums),
            (Rule::Simplification, self.simplify_conversions),
        ];
        rules.into_iter().filter(|(_, applied)| *applied).map(|(rule, _)| rule)
    }

    /// The sites of a rule that it takes, for a chip on which `native` operations are computed in bf16.
    pub(super) fn sites(&self, rule: Rule, program: &Program, native: &dyn Fn(&Op) -> bool) -> BTreeSet<Site> {
        let entry = program.entry();
        let op = |id: ValueId| &entry.instructions[id].op;
        let is_reduction = |id: ValueId| matches!(op(id), Op::Reduce { .. });
        // Between fusions values lie in memory in their own types: conversions behind them see what is stored (FACTS 9).
        if rule == Rule::Simplification && self.store_between_fusions {
            return simplify::sites(program, &|id| simplify::ends_fusion(entry, id));
        }
        let kept = |id: ValueId| (self.kept)(op(id)) || (self.chip_natives && native(op(id)));
        let takes = |site: &Site| match *site {
            Site::Retype(id) => !kept(id),
            // The result of a reduction is stored before anything reads it: nobody sees it wide.
            Site::Expose { conversion } => {
                let value = entry.instructions[conversion].operands[0];
                !self.store_between_fusions || definition(entry, value) == value && !is_reduction(value)
            }
            // A reduction of a program result reads the stored copy.
            Site::ReadStored { reader, .. } => self.store_between_fusions && is_reduction(reader) && !kept(reader),
            Site::Narrow(_) | Site::Collapse { .. } => true,
        };
        rule.sites(program).into_iter().filter(takes).collect()
    }
}

/// All policies, least first.
pub static POLICIES: &[&Policy] = &[&OFF, &AS_COMPILED, &CPU, &GPU, &TPU];

const NOTHING: Policy = Policy {
    name: "",
    doc: "",
    normalize: false,
    kept: |_| false,
    chip_natives: true,
    simplify_conversions: false,
    store_between_fusions: false,
    narrow_sums: false,
};

/// No change: the declared program.
pub static OFF: Policy = Policy {
    name: "off",
    doc: "The declared program: every operation is rounded to its dtype and nothing is elided \
          (xla_allow_excess_precision=false).",
    ..NOTHING
};

static AS_COMPILED: Policy = Policy {
    name: "as-compiled",
    doc: "Changes nothing, because the program already is a compiler's output.",
    ..NOTHING
};

/// Float normalization, as XLA runs it for CPUs.
pub static CPU: Policy = Policy {
    name: "cpu",
    doc: "Rule B (FACTS 1.3; float_normalization.cc): bf16 arithmetic is done in f32, and a conversion of its result to \
          f32 sees the value before rounding; so does one of a bf16 dot. Read in XLA's source and measured on a CPU. \
          Reductions and selections stay in bf16 here: they give the same bits either way.",
    normalize: true,
    kept: |op| selects(op) || matches!(op, Op::Reduce { .. } | Op::ReduceWindow { .. }),
    ..NOTHING
};

static GPU: Policy = Policy {
    name: "gpu",
    doc: "Rule B, then rule A to a fixpoint (FACTS 1.3; simplify_fp_conversions.cc). Native in bf16 are the operations of \
          gpu_float_support.cc for compute capability 9.0: moves, compare, dot, exponential, log, abs, maximum, \
          minimum, negate, add, multiply, subtract and reductions made of them; divide, tanh, sqrt and the rest are \
          not. Read in XLA's source, not measured.",
    normalize: true,
    kept: |op| selects(op) || gpu_native(op) || matches!(op, Op::Dot { .. }),
    chip_natives: false,
    simplify_conversions: true,
    ..NOTHING
};

static TPU: Policy = Policy {
    name: "tpu",
    doc: "Modelling choice, read off the TPU compiler's output (FACTS 9): rules B and A; results of reductions, dots and \
          sorts are stored between fusions and rounded there; a reduction of a program result reads the stored copy \
          (prob_max does so; affine_greedy recomputes it instead); and an f32 sum whose only use is its conversion to \
          bf16 is narrowed to a bf16 sum.",
    normalize: true,
    kept: |op| selects(op) || matches!(op, Op::ReduceWindow { .. } | Op::Dot { .. }),
    simplify_conversions: true,
    store_between_fusions: true,
    narrow_sums: true,
    ..NOTHING
};

/// The policy with this name.
pub fn find_policy(name: &str) -> Option<&'static Policy> {
    POLICIES.iter().copied().find(|policy| policy.name == name)
}

/// Operations that move, compare or pick values: exact in bf16, so no compiler gains from widening them. GPU libraries and
/// matrix units take bf16 operands (FACTS 1.3, 2.4), so those policies keep dots as well.
fn selects(op: &Op) -> bool {
    op.class() == Class::Moves
        || matches!(
            op,
            Op::Select
                | Op::Compare { .. }
                | Op::Sort { .. }
                | Op::TopK { .. }
                | Op::ApproxTopK(_)
                | Op::PartialReduce(_)
                | Op::BitcastConvert
                | Op::ReducePrecision { .. }
                | Op::Call { .. }
                | Op::While { .. }
        )
}

fn gpu_native(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(Unary::Exponential | Unary::Log | Unary::Abs | Unary::Negate)
            | Op::Binary(Binary::Maximum | Binary::Minimum | Binary::Add | Binary::Multiply | Binary::Subtract)
            | Op::Reduce { .. }
            | Op::ReduceWindow { .. }
    )
}
