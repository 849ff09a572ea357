//! A program run instruction by instruction, so that a value can be looked at, or put in another's place, on the way.

use crate::analysis;
use crate::ir::{ComputationId, Instruction, Op, Shape, TRIP_BOUND, ValueId};

use super::eval_error::{EvalError, refuse};
use super::evaluate::{Machine, take_operands};
use super::operand::Operand;
use super::value::Value;

/// Position of a value in a run: an instruction of a computation, and the calls and trips of loops by which it was
/// reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// For each loop or call around it, from the outermost: its instruction in the computation that runs it, and of loops
    /// the trip, from 0.
    pub path: Vec<(ValueId, Option<usize>)>,
    /// The computation.
    pub computation: ComputationId,
    /// The instruction in it.
    pub instruction: ValueId,
}

/// Purpose for which a computation is run.
#[derive(Clone)]
enum ComputationRole {
    Entry,
    Call,
    /// The condition of a loop before so many trips, with the state that the body takes next.
    Condition(Vec<Value>, usize),
    /// The body of a loop in a trip, from 0.
    Body(usize),
}

/// A computation that is being run.
#[derive(Clone)]
struct WalkFrame {
    role: ComputationRole,
    computation: ComputationId,
    /// The instruction that comes next, or that waits for what it calls.
    at: ValueId,
    values: Vec<Option<Operand>>,
    uses: Vec<usize>,
    arguments: Vec<Option<Value>>,
}

impl WalkFrame {
    /// Keeps the value of the instruction at hand, if it is needed, and goes on.
    fn keep(&mut self, value: Operand) {
        self.values[self.at] = Some(value).filter(|_| self.uses[self.at] > 0);
        self.at += 1;
    }

    /// The operands of the instruction at hand.
    fn take_operands(&mut self, instruction: &Instruction) -> Vec<Operand> {
        take_operands(instruction, &mut self.values, &mut self.uses)
    }
}

/// One instruction that was run.
pub(super) struct Step {
    pub place: Place,
    /// Operands of the instruction, if they are kept.
    pub operands: Vec<Operand>,
}

/// A run that goes as far as one value of the entry. A clone goes on from the same place on its own.
#[derive(Clone)]
pub(super) struct Walk<'m> {
    machine: &'m Machine<'m>,
    frames: Vec<WalkFrame>,
    /// The values of the entry that the last one depends on.
    needed: Vec<bool>,
    last: ValueId,
    keeps_operands: bool,
}

impl<'m> Walk<'m> {
    /// A run of the machine's program to the value `last` of its entry, on its arguments.
    pub fn new(machine: &'m Machine<'m>, arguments: Vec<Value>, last: ValueId, keeps_operands: bool) -> Walk<'m> {
        let needed = analysis::live(machine.program.entry(), [last]);
        let mut walk = Walk { machine, frames: Vec::new(), needed, last, keeps_operands };
        walk.enter(ComputationRole::Entry, machine.program.entry, arguments);
        walk
    }

    fn enter(&mut self, role: ComputationRole, computation: ComputationId, arguments: Vec<Value>) {
        let uses = self.machine.frames()[computation].uses.clone();
        let (values, arguments) = (vec![None; uses.len()], arguments.into_iter().map(Some).collect());
        self.frames.push(WalkFrame { role, computation, at: 0, values, uses, arguments });
    }

    /// Runs the next instruction that runs no computation of its own; `None` at the end.
    pub fn step(&mut self) -> Result<Option<Step>, EvalError> {
        let machine = self.machine;
        loop {
            let (depth, path) = (self.frames.len(), self.path());
            let Some(frame) = self.frames.last_mut() else { return Ok(None) };
            let (id, computation) = (frame.at, &machine.program.computations[frame.computation]);
            if depth == 1 && id > self.last {
                return Ok(None);
            }
            let Some(instruction) = computation.instructions.get(id) else {
                self.leave()?;
                continue;
            };
            if depth == 1 && !self.needed[id] {
                frame.at += 1;
                continue;
            }
            let prepared = &machine.frames()[frame.computation];
            let shapes: Vec<&Shape> =
                instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
            let whole = |operands: Vec<Operand>| -> Vec<Value> {
                operands.into_iter().zip(&shapes).map(|(o, shape)| o.into_whole(shape.elements())).collect()
            };
            match &instruction.op {
                Op::Parameter(number) => {
                    let argument = frame.arguments.get_mut(*number).and_then(Option::take);
                    let argument = argument.ok_or_else(|| refuse(instruction, "a parameter is used but not given"))?;
                    frame.keep(Operand::whole(argument));
                }
                Op::Constant(_) => {
                    let constant = prepared.constants[id].clone();
                    let constant = constant.ok_or_else(|| refuse(instruction, "a constant without a value"))?;
                    frame.keep(Operand::whole(constant));
                }
                Op::While { condition, .. } => {
                    let state = whole(frame.take_operands(instruction));
                    self.enter(ComputationRole::Condition(state.clone(), 0), *condition, state);
                }
                Op::Call { to_apply } if machine.library_function(instruction).is_none() => {
                    let arguments = whole(frame.take_operands(instruction));
                    self.enter(ComputationRole::Call, *to_apply, arguments);
                }
                _ => {
                    let operands = frame.take_operands(instruction);
                    let kept = if self.keeps_operands { operands.clone() } else { Vec::new() };
                    let value = machine.instruction(instruction, &prepared.kernels[id], operands, &shapes)?;
                    let place = Place { path, computation: frame.computation, instruction: id };
                    frame.keep(value);
                    return Ok(Some(Step { place, operands: kept }));
                }
            }
        }
    }

    /// Hands the result of a computation that is done to what runs it.
    fn leave(&mut self) -> Result<(), EvalError> {
        let machine = self.machine;
        let Some(mut done) = self.frames.pop() else { return Ok(()) };
        let computation = &machine.program.computations[done.computation];
        let root = &computation.instructions[computation.root];
        let value = done.values[computation.root].take().map(|value| value.into_whole(root.shape.elements()));
        let value = value.ok_or_else(|| refuse(root, "it has no value"))?;
        let Some(outer) = self.frames.last_mut() else { return Ok(()) };
        let caller = &machine.program.computations[outer.computation].instructions[outer.at];
        match (done.role, &caller.op) {
            (ComputationRole::Condition(state, trips), Op::While { body, .. }) => {
                if !value.preds()[0] {
                    outer.keep(Operand::whole(Value::Tuple(state)));
                } else if trips == TRIP_BOUND {
                    return Err(refuse(caller, "the loop does not end within the trip bound"));
                } else {
                    self.enter(ComputationRole::Body(trips), *body, state);
                }
            }
            (ComputationRole::Body(trip), Op::While { condition, .. }) => {
                let state = value.into_parts();
                self.enter(ComputationRole::Condition(state.clone(), trip + 1), *condition, state);
            }
            _ => outer.keep(Operand::whole(value)),
        }
        Ok(())
    }

    fn path(&self) -> Vec<(ValueId, Option<usize>)> {
        let trip = |role: &ComputationRole| match role {
            ComputationRole::Entry | ComputationRole::Call => None,
            ComputationRole::Condition(_, trip) | ComputationRole::Body(trip) => Some(*trip),
        };
        self.frames.windows(2).map(|pair| (pair[0].at, trip(&pair[1].role))).collect()
    }

    /// The value of the last step; `None` if nothing needs it.
    pub fn value(&self) -> Option<&Operand> {
        let frame = self.frames.last()?;
        frame.values[frame.at.checked_sub(1)?].as_ref()
    }

    /// Puts another value in the place of the last step's, if anything needs it.
    pub fn replace(&mut self, value: Value) {
        if let Some(frame) = self.frames.last_mut()
            && let Some(kept) = frame.at.checked_sub(1).and_then(|at| frame.values[at].as_mut())
        {
            *kept = Operand::whole(value);
        }
    }

    /// Runs to the end and gives the last value.
    pub fn finish(mut self) -> Result<Value, EvalError> {
        while self.step()?.is_some() {}
        let last = &self.machine.program.entry().instructions[self.last];
        let value = self.frames.first_mut().and_then(|entry| entry.values[self.last].take());
        let value = value.ok_or_else(|| refuse(last, "it has no value"))?;
        Ok(value.into_whole(last.shape.elements()))
    }
}
