//! A program as a compiler would leave it, on the machine.

use crate::ir::{Op, Program};
use crate::machine::vector::{ScanOrder, SumOrder};
use crate::machine::{self, EvalError, Mode, Prepared};
use crate::rewrite;
use crate::tensor::{DType, Tensor};

use super::{Call, Subject, SubjectError};

/// The emulated machine in one mode.
pub struct Emulated(pub Mode);

impl Subject for Emulated {
    fn id(&self) -> String {
        self.0.to_string()
    }

    fn promise(&self) -> &Mode {
        &self.0
    }

    fn emulated(&self) -> Option<&Mode> {
        Some(&self.0)
    }

    fn run(&self, call: &Call) -> Result<Vec<Tensor>, SubjectError> {
        Ok(evaluate(call.program, &self.0, call.arguments)?)
    }
}

/// `program` as rewritten by the compiler behind the mode's excess policy, which knows the operations that the mode's
/// chip computes in bf16. It takes the same arguments and has the same results.
pub fn compile(program: &Program, mode: &Mode) -> Program {
    rewrite::apply(program, mode.excess, &|op| mode.chip.native_bf16(op)).program
}

/// The results of [`compile`] on the machine in a mode, in the order of the program's outputs.
///
/// # Errors
/// If the arguments do not fit the program's parameters, or the machine does not support an operation.
pub fn evaluate(program: &Program, mode: &Mode, arguments: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    machine::evaluate(&compile(program, mode), mode, arguments)
}

/// The results of `program` on the machine in a mode as it is declared, every operation rounded to its dtype, in the
/// order of its outputs.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_declared(program: &Program, mode: &Mode, arguments: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    machine::evaluate(program, mode, arguments)
}

/// For each result, how many of its elements differ in their bits from `results`, those of the mode, in any of the
/// other orders that HLO permits for float sums: the orders that the machine models for reductions and for running
/// sums.
///
/// Results of f32 and f64 count as 0: their last bits depend on the order wherever there is a sum.
///
/// # Errors
/// As [`evaluate`].
pub fn order_sensitive(
    program: &Program,
    mode: &Mode,
    arguments: &[Tensor],
    results: &[Tensor],
) -> Result<Vec<usize>, EvalError> {
    let compiled = compile(program, mode);
    let has = |wanted: fn(&Op) -> bool| {
        let float = |i: &crate::ir::Instruction| i.shape.dtype().is_some_and(DType::is_float);
        compiled.instructions().any(|i| wanted(&i.op) && float(i))
    };
    let mut others: Vec<Mode> = Vec::new();
    let mut other = |change: &dyn Fn(&mut Mode)| {
        let (own, mut mode) = (mode, mode.clone());
        change(&mut mode);
        others.extend((mode.choices != own.choices).then_some(mode));
    };
    if has(|op| matches!(op, Op::Reduce { .. })) {
        SumOrder::ALL.iter().for_each(|order| other(&|mode| mode.choices.reduce = *order));
    }
    if has(|op| matches!(op, Op::ReduceWindow { .. })) {
        ScanOrder::ALL.iter().for_each(|order| other(&|mode| mode.choices.scan = *order));
    }
    let wide = |t: &Tensor| matches!(t.dtype(), DType::F32 | DType::F64);
    let mut changed: Vec<Vec<bool>> = results.iter().map(|t| vec![false; if wide(t) { 0 } else { t.len() }]).collect();
    let prepared = Prepared::new(&compiled);
    let bound = prepared.bind(arguments)?;
    for mode in &others {
        let again = prepared.evaluate(mode, &bound)?;
        for ((changed, before), after) in changed.iter_mut().zip(results).zip(&again) {
            for (at, changed) in changed.iter_mut().enumerate() {
                *changed |= before.data().bits(at) != after.data().bits(at);
            }
        }
    }
    Ok(changed.iter().map(|elements| elements.iter().filter(|changed| **changed).count()).collect())
}
