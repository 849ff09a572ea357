//! Constants that a basic block uses once. LLVM changes the sign of any other constant only at the cost of a second
//! constant.

use std::collections::HashMap;

use crate::ir::{Computation, Fusion, Op, ValueId};

use super::LANES;
use super::innermost::of_result;
use super::kernel_functions::results_of;
use super::known::known_number;

/// The fewest rows for which the loop over them stays a loop.
const ROWS: usize = 4;

/// The number of uses of each constant of a fusion, by its bits; `None` if all of them are in several copies of the
/// code.
pub struct SingleNumbers(Option<HashMap<u32, usize>>);

impl SingleNumbers {
    /// Counts the constants of a fusion. A block holds all steps of a loop over columns. In a loop over rows, a
    /// register of columns is one step.
    pub fn new(computation: &Computation, fusion: Option<Fusion>) -> SingleNumbers {
        let instructions = &computation.instructions;
        let inside = || instructions.iter().filter(|instruction| instruction.fusion() == fusion);
        let is_one_step = |result: &ValueId| {
            let dims = instructions[*result].shape.dims();
            let columns = of_result(computation, None, *result);
            let rows = columns.and_then(|columns| dims[..columns].iter().rfind(|extent| **extent > 1));
            columns.is_some_and(|columns| dims[columns] <= LANES) && rows.is_some_and(|rows| *rows >= ROWS)
        };
        let has_sums =
            inside().any(|instruction| matches!(instruction.op, Op::Reduce { .. } | Op::ReduceWindow { .. }));
        if has_sums || !results_of(computation, fusion).iter().all(is_one_step) {
            return SingleNumbers(None);
        }
        let mut reads: HashMap<u32, usize> = HashMap::new();
        for instruction in inside().filter(|instruction| !matches!(instruction.op, Op::Broadcast { .. })) {
            let numbers = instruction.operands.iter().filter_map(|operand| known_number(computation, *operand, fusion));
            numbers.for_each(|number| *reads.entry(number.to_bits()).or_default() += 1);
        }
        SingleNumbers(Some(reads))
    }

    /// Whether the block uses a constant exactly once.
    pub fn hold(&self, number: f32) -> bool {
        self.0.as_ref().is_some_and(|reads| reads.get(&number.to_bits()) == Some(&1))
    }
}
