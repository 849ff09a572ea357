//! The effect of each operation's own error on a result: one error at a time, all other operations without any.
//!
//! The *local error* of an operation is the machine's value less the value of f64 for the same operands. It holds the
//! rounding of the result and whatever else the machine does there, such as operands split into passes, the order of a
//! sum, the error of a function. The *effect* of a local error is found by running the program in f64, adding the error
//! to the operation's value, and nothing else. f64 stands for exact arithmetic here: its own errors are 2^-29 of f32's.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::deadline;
use crate::ir::{Class, ComputationId, Instruction, Op, Program, Shape};
use crate::tensor::{DType, Tensor};

use super::chip::CPU;
use super::eval_error::{EvalError, refuse};
use super::evaluate::Machine;
use super::in_f64::in_f64;
use super::mode::{Arithmetic, ChipRows};
use super::operand::Operand;
use super::prepared::Prepared;
use super::value::Value;
use super::walk::{Place, Step, Walk};

/// Runs that are held at a time, for each thread.
const HELD: usize = 2;

/// The local error of one operation in one run.
#[derive(Clone, Debug)]
pub struct LocalError {
    /// The operation, and in which trip of which loops.
    pub place: Place,
    /// Its largest magnitude over the elements, in the value's unit.
    pub largest: f64,
    /// The elements' errors, one array for each part of the value; none for parts that are no floats.
    parts: Arc<Vec<Vec<f64>>>,
}

/// A program's run on the machine with the local errors that lie on the way to one float result, and the same run in f64.
pub struct LocalErrors {
    /// The result on the machine, row-major.
    pub on_machine: Vec<f64>,
    /// The result in f64.
    pub in_f64: Vec<f64>,
    /// The errors that are other than zero, in the order in which the program runs.
    pub errors: Vec<LocalError>,
    wide: Program,
    shift: ComputationId,
    arguments: Vec<Value>,
    output: usize,
}

impl LocalErrors {
    /// Runs `program` as it stands in `mode`, and in f64, up to the result `output`, a position among its outputs.
    ///
    /// # Errors
    /// If arguments do not fit the parameters, the result is no array of floats, or an operation is not supported, on the
    /// machine or in f64.
    pub fn new(
        program: &Program,
        mode: &Arithmetic,
        arguments: &[Tensor],
        output: usize,
    ) -> Result<LocalErrors, EvalError> {
        let prepared = Prepared::new(program);
        let bound = prepared.bind(arguments)?.into_values();
        let (entry, outputs) = (program.entry(), program.outputs());
        let root = &entry.instructions[entry.root];
        let last = *outputs.get(output).ok_or_else(|| refuse(root, format!("there is no result {output}")))?;
        if !entry.instructions[last].shape.dtype().is_some_and(DType::is_float) {
            return Err(refuse(&entry.instructions[last], "only of floats one says what an error changes"));
        }
        let (wide, shift) = in_f64(program);
        let arguments: Vec<Value> = bound.iter().map(widen).collect();
        let (on_machine, errors) = {
            let machine = prepared.machine(mode)?;
            with_f64(&wide, |wide| errors_of(&machine, wide, shift, bound, last))?
        };
        let in_f64 = with_f64(&wide, |wide| Walk::new(wide, arguments.clone(), last, false).finish())?;
        let in_f64 = in_f64.f64s().to_vec();
        Ok(LocalErrors { on_machine, in_f64, errors, wide, shift, arguments, output })
    }

    /// For each of the errors, what `measure` finds of the result in f64 when that one alone is there; the first is without
    /// any.
    ///
    /// # Errors
    /// If an operation is not supported in f64.
    pub fn effects<T: Send>(&self, measure: impl Fn(&[f64]) -> T + Sync) -> Result<(T, Vec<T>), EvalError> {
        with_f64(&self.wide, |machine| {
            let last = machine.program.outputs()[self.output];
            let by_place: HashMap<Place, usize> =
                self.errors.iter().enumerate().map(|(at, error)| (self.in_wide(&error.place), at)).collect();
            let mut effects: Vec<Option<T>> = self.errors.iter().map(|_| None).collect();
            // A changed run holds arrays of its own. A few for each thread keep all of them busy; all at once would not fit.
            let mut held: Vec<(usize, Walk)> = Vec::new();
            let deadline = deadline::current();
            let run = |(at, walk): (usize, Walk)| Ok((at, measure(walk.finish()?.f64s())));
            let mut run_held = |held: &mut Vec<(usize, Walk)>| -> Result<(), EvalError> {
                let held = std::mem::take(held).into_par_iter();
                let done: Result<Vec<(usize, T)>, EvalError> = held.map(|part| deadline.within(|| run(part))).collect();
                done?.into_iter().for_each(|(at, effect)| effects[at] = Some(effect));
                Ok(())
            };
            let mut walk = Walk::new(machine, self.arguments.clone(), last, false);
            while let Some(step) = walk.step()? {
                let Some(at) = by_place.get(&step.place) else { continue };
                let (Some(value), instruction) = (walk.value(), instruction_at(machine.program, &step.place)) else {
                    continue;
                };
                let whole = value.clone().into_whole(instruction.shape.elements());
                let mut changed = walk.clone();
                changed.replace(add(whole, &self.errors[*at].parts));
                held.push((*at, changed));
                if held.len() == HELD * rayon::current_num_threads() {
                    run_held(&mut held)?;
                }
            }
            run_held(&mut held)?;
            // What the run in f64 does not come by, as in a loop that ends sooner, changes nothing in it.
            let effects = effects.into_iter().map(|effect| effect.unwrap_or_else(|| measure(&self.in_f64))).collect();
            Ok((measure(&self.in_f64), effects))
        })
    }

    fn in_wide(&self, place: &Place) -> Place {
        Place { computation: place.computation + self.shift, ..place.clone() }
    }
}

/// Calls `run` with the machine that computes f64: plain IEEE arithmetic without flushing.
fn with_f64<T>(wide: &Program, run: impl FnOnce(&Machine) -> Result<T, EvalError>) -> Result<T, EvalError> {
    let root = &wide.entry().instructions[wide.entry().root];
    static PLAIN: ChipRows = ChipRows { rows: &[&CPU], left_out: &[] };
    let mode = Arithmetic::read("cpu/f32/as-compiled", &PLAIN).ok();
    let mode = mode.ok_or_else(|| refuse(root, "there is no chip with plain arithmetic"))?;
    let prepared = Prepared::new(wide);
    run(&prepared.machine(&mode)?)
}

fn instruction_at<'p>(program: &'p Program, place: &Place) -> &'p Instruction {
    &program.computations[place.computation].instructions[place.instruction]
}

/// The result on the machine and all errors on the way.
fn errors_of(
    machine: &Machine,
    wide: &Machine,
    shift: ComputationId,
    arguments: Vec<Value>,
    last: usize,
) -> Result<(Vec<f64>, Vec<LocalError>), EvalError> {
    let mut errors = Vec::new();
    let mut walk = Walk::new(machine, arguments, last, true);
    while let Some(Step { place, operands }) = walk.step()? {
        let Some(value) = walk.value() else { continue };
        let instruction = instruction_at(machine.program, &place);
        if !errs(&instruction.op) {
            continue;
        }
        let got = widen(&value.clone().into_whole(instruction.shape.elements()));
        let computation = &wide.program.computations[place.computation + shift];
        let exact = &computation.instructions[place.instruction];
        let shapes: Vec<&Shape> = exact.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
        let operands: Vec<Operand> = operands.into_iter().map(|operand| operand.map(|value| widen(&value))).collect();
        let kernel = &wide.frames()[place.computation + shift].kernels[place.instruction];
        // The operands are those of the machine, with all earlier errors in them: what remains is this operation's own.
        let exact = wide.instruction(exact, kernel, operands, &shapes)?.into_whole(exact.shape.elements());
        let parts = differences(got, exact);
        let largest = parts.iter().flatten().fold(0.0, |most: f64, error| most.max(error.abs()));
        if parts.iter().flatten().any(|error| *error != 0.0) {
            errors.push(LocalError { place, largest, parts: Arc::new(parts) });
        }
    }
    let result = widen(&walk.finish()?).f64s().to_vec();
    Ok((result, errors))
}

/// Whether the machine may give another value than f64 does.
fn errs(op: &Op) -> bool {
    match op.class() {
        Class::Converts => *op != Op::BitcastConvert,
        Class::Elementwise => !matches!(op, Op::Compare { .. } | Op::Select),
        Class::Combines | Class::Calls => true,
        Class::Source | Class::Moves | Class::Ranks | Class::Lists => false,
    }
}

/// The value with its floats in f64.
fn widen(value: &Value) -> Value {
    match value {
        Value::Float(_, values) => Value::double(values.iter().map(|v| f64::from(*v)).collect()),
        Value::Products(products) => Value::double(products.in_f64()),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(widen).collect()),
        other => other.clone(),
    }
}

/// For each part of a value the differences of its floats; 0 where both are the same infinity, or no number.
fn differences(got: Value, exact: Value) -> Vec<Vec<f64>> {
    let difference = |(got, exact): (&f64, &f64)| match got == exact || got.is_nan() && exact.is_nan() {
        true => 0.0,
        false => got - exact,
    };
    let of_part = |(got, exact): (Value, Value)| match (&got, &exact) {
        (Value::Double(got), Value::Double(exact)) => got.iter().zip(exact.iter()).map(difference).collect(),
        _ => Vec::new(),
    };
    got.into_parts().into_iter().zip(exact.into_parts()).map(of_part).collect()
}

/// The value with these errors.
fn add(value: Value, errors: &[Vec<f64>]) -> Value {
    let is_tuple = matches!(value, Value::Tuple(_));
    let of_part = |(value, errors): (Value, &Vec<f64>)| match &value {
        Value::Double(values) if !errors.is_empty() => {
            Value::double(values.iter().zip(errors).map(|(v, error)| v + error).collect())
        }
        _ => value,
    };
    let mut parts: Vec<Value> = value.into_parts().into_iter().zip(errors).map(of_part).collect();
    if is_tuple { Value::Tuple(parts) } else { parts.swap_remove(0) }
}
