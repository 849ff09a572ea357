//! Backends: compilers that make another code of an instruction than the units' own, and the libraries that they call.
//!
//! A backend is asked once a computation for its plan, a [`Kernel`] for each instruction. The evaluator runs kernels, symbols
//! take their keys from them, and bounds their promises: nobody else knows which compiler there is. A chip without a backend
//! has kernels that leave everything to its units.

use std::sync::Arc;

use crate::analysis::Regions;
use crate::ir::{Computation, DotPlan, Instruction, LibraryFunction, Mark, Op, Shape, ValueId};
use crate::rewrite::{Policy, live_values};
use crate::tensor::DType;

use super::code_note::CodeNote;
use super::function_code::{CodedColumns, FoldedColumns};
use super::mxu::Unit;
use super::named::{Name, Named};
use super::sum_code::SumCodes;
use super::value::Value;
use super::vector::{ErrorModel, Eup, VectorUnit};

/// A compiler with its libraries.
pub trait Backend: Sync {
    /// The name by which backends are told apart.
    fn name(&self) -> &'static str;

    /// The compiler's name in sentences.
    fn title(&self) -> &'static str;

    /// The policy by which it changes roundings where it may.
    fn excess(&self) -> &'static Policy;

    /// The folder that holds the files it compiled, as `scripts/dump_hlo.py` names it.
    fn dump_folder(&self) -> &'static str;

    /// The kernel of each instruction of a computation. `uses` counts the users of each value, and one more for the root.
    /// `keeps_orders` says whether sums have the orders of the code; otherwise the mode has one of its own.
    fn plan(&self, computation: &Computation, uses: &[usize], regions: &Regions, keeps_orders: bool) -> Vec<Kernel>;

    /// The properties of each instruction's code in words.
    fn notes(&self, computation: &Computation, uses: &[usize], regions: &Regions) -> Vec<CodeNote>;

    /// The order of a dot of operands of these types; `None` where each result is one fused chain.
    fn dot(&self, instruction: &Instruction, dtypes: [Option<DType>; 2], plan: &DotPlan) -> Option<Box<dyn DotKernel>>;

    /// The results of a library's function that replaces a call.
    fn call(&self, function: &LibraryFunction, operands: Vec<Value>, shapes: &[&Shape]) -> Value;

    /// The order of equal elements after a sort that need not be stable.
    fn ties(&self) -> Ties;
}

/// The order in which the products of a dot are summed.
pub trait DotKernel {
    /// The key of the result at place `at` of `[m,n]`, beside that of the dot; `None` where it is one fused chain.
    fn of_place(&self, at: usize, n: usize) -> Option<Vec<usize>>;

    /// Whether it joins the parts of complex numbers.
    fn joins_parts(&self) -> bool;

    /// The products of row-major operands, on the unit of a mode, into `out`.
    fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]);
}

/// The order of equal elements after a sort that need not be stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ties {
    /// In the order in which they were, as after a stable one (modelling choice for TPUs).
    InOrder,
    /// As an algorithm leaves them that is not stable.
    Unstable(Named<dyn UnstableSort>),
}

/// A sorting algorithm that need not keep equal elements in order.
pub trait UnstableSort: Name + Sync {
    /// Sorts positions by `less`. It always ends, even if that is no order, and the result depends on nothing but the answers.
    fn sort(&self, positions: &mut [u64], less: &mut dyn FnMut(u64, u64) -> bool);
}

/// The plan of one instruction: all that decides its bits beside its operands and the mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The bits of the operands that are rounded on the way in, if they are products in flight.
    pub rounded_operands: u64,
    /// The code.
    pub code: Code,
    /// The orders in which it adds up, if it is a sum.
    pub sums: SumCodes,
    /// Whether it is a division by a broadcast or a constant, outside of compiled fusions.
    pub by_one_number: bool,
    /// Whether it is a division that a TPU's compiler emits packed.
    pub packs_quotients: bool,
}

/// The code of one instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// The unit's own operation. An addition takes a product in flight as it is, and rounds once.
    #[default]
    Unit,
    /// An f32 product that stays in flight until it is added, but in these columns.
    Product {
        /// The columns in which it is rounded.
        rounded: Option<FoldedColumns>,
    },
    /// A move or negation of products in flight; `several` where each element has several.
    InFlight {
        /// Whether each element is a sum of several products.
        several: bool,
    },
    /// A sum of two products in flight, of which one is rounded before: for each element, whether that is the right one.
    SumOfTwo {
        /// Whether the left product joins as it is.
        left_first: Arc<[bool]>,
    },
    /// A sum of products that stay in flight, to join a larger sum one after the other.
    Terms {
        /// The operand whose products join first.
        first: usize,
        /// Whether they stay in flight. A mode with an order of its own for sums rounds a `first` that is one product, and adds
        /// it at once.
        joins: bool,
    },
    /// A function that is not the unit's, in some columns or in all.
    Function(CodedColumns),
    /// A rounding that is left out.
    Unrounded,
}

impl Code {
    /// Whether the value is in flight: products that are not rounded yet.
    pub fn is_in_flight(&self) -> bool {
        matches!(self, Code::Product { .. } | Code::InFlight { .. } | Code::Terms { .. })
    }

    /// Whether each element of the value is a sum of several products in flight.
    pub fn is_several(&self) -> bool {
        matches!(self, Code::InFlight { several: true } | Code::Terms { .. })
    }
}

impl Kernel {
    /// The unit as it computes this instruction: a packed quotient has none of the errors of f32.
    pub(super) fn unit(&self, unit: &VectorUnit) -> VectorUnit {
        match self.packs_quotients && unit.eup == Eup::V7 {
            true => VectorUnit { packed: true, error: ErrorModel::CorrectlyRounded, ..*unit },
            false => *unit,
        }
    }

    /// Whether the operand at this position is rounded on the way in.
    pub fn rounds(&self, position: usize) -> bool {
        self.rounded_operands & operand_bit(position) != 0
    }
}

/// The bit of the operand at a position. An operation with more operands than bits, a tuple or a concatenate, adds none of
/// them.
pub fn operand_bit(position: usize) -> u64 {
    1 << position.min(63)
}

/// The plan of each instruction of a computation as a compiler makes it, which drops dead code first: a dead user keeps no
/// product from being fused into its sum. `of_live` takes the computation without dead values, with the number of users of
/// each value and one more for the root; a dead value has the plan `of_dead`.
pub(super) fn plan_live<T: Clone>(
    computation: &Computation,
    of_live: impl FnOnce(&Computation, &[usize]) -> Vec<T>,
    of_dead: T,
) -> Vec<T> {
    let with_root = |computation: &Computation| {
        let mut uses = computation.uses();
        uses[computation.root] += 1;
        uses
    };
    let kept = live_values(computation);
    if kept.iter().all(Option::is_some) {
        return of_live(computation, &with_root(computation));
    }
    let alive = computation.compact(&kept);
    let mut plans = of_live(&alive, &with_root(&alive)).into_iter();
    kept.into_iter().map(|kept| kept.and_then(|_| plans.next()).unwrap_or(of_dead.clone())).collect()
}

/// The plan of a dead value, which is computed only where it is asked for by itself: it takes no product in flight.
pub(super) fn dead_kernel() -> Kernel {
    Kernel { rounded_operands: u64::MAX, ..Kernel::default() }
}

/// The kernels of a machine without a backend: nothing is planned but the products that the program itself says are added
/// before they are rounded ([`Mark::Joined`]). A product with several users is rounded for each.
pub(super) fn default_plan(computation: &Computation, uses: &[usize]) -> Vec<Kernel> {
    let instructions = &computation.instructions;
    let is_joined =
        |id: ValueId| instructions[id].mark == Some(Mark::Joined) && matches!(instructions[id].op, Op::Binary(_));
    let kernel = |id: ValueId| {
        let rounded = |(_, operand): &(usize, &ValueId)| is_joined(**operand) && uses[**operand] > 1;
        let operands = instructions[id].operands.iter().enumerate().filter(rounded);
        let rounded_operands = operands.fold(0, |bits, (position, _)| bits | operand_bit(position));
        let code = if is_joined(id) { Code::Product { rounded: None } } else { Code::Unit };
        Kernel { rounded_operands, code, ..Kernel::default() }
    };
    (0..instructions.len()).map(kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::{Code, dead_kernel, default_plan, plan_live};
    use crate::ir::{Binary, Builder, Instruction, Mark};
    use crate::tensor::DType;

    /// On any machine a product that the program joins to its sum is in flight, and users beside it round it.
    #[test]
    fn joined_products_are_in_flight_without_a_backend() {
        let mut builder = Builder::new("joined");
        let x = builder.parameter("x", DType::F32, &[2]).unwrap();
        let product = builder.binary(Binary::Multiply, x, x).unwrap();
        let sum = builder.binary(Binary::Add, x, product).unwrap();
        let mut program = builder.finish(&[("sum", sum)]).unwrap();
        let entry = program.entry;
        assert!(default_plan(program.entry(), &program.entry().uses()).iter().all(|kernel| kernel.code == Code::Unit));
        program.computations[entry].instructions[product].mark = Some(Mark::Joined);
        let mut uses = program.entry().uses();
        let kernels = default_plan(program.entry(), &uses);
        assert_eq!(kernels[product].code, Code::Product { rounded: None });
        assert!(!kernels[sum].rounds(1));
        uses[product] += 1;
        let kernels = default_plan(program.entry(), &uses);
        assert_eq!([0, 1].map(|operand| kernels[sum].rounds(operand)), [false, true]);
        // A dead user takes it rounded, and changes nothing for the others.
        let unused = Instruction { operands: vec![product], ..program.entry().instructions[sum].clone() };
        let dead = program.entry().instructions.len();
        program.computations[entry].instructions.push(unused);
        let kernels = plan_live(program.entry(), default_plan, dead_kernel());
        assert_eq!((kernels[sum].rounds(1), kernels[dead].rounds(0)), (false, true));
    }
}
