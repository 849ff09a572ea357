//! Loops laid out trip by trip: one program of all levels, in which a choice of a body has a place in each trip.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::{known_integer, known_result};
use crate::ir::{Computation, ComputationId, Instruction, Mark, Op, Program, Shape, ValueId};

use super::super::dead;
use super::{Level, Loop};

/// The most instructions that a program of choices is laid out to.
pub const MOST_INSTRUCTIONS: usize = 20_000;

/// The most elements that all its values have: the machine holds them all, in 4 bytes mostly.
pub const MOST_ELEMENTS: usize = 1 << 28;

/// A place of a point in the program of choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// A copy in the program of choices, of its first option.
    pub value: ValueId,
    /// The values that it may be a copy of; the first is the declared one.
    pub options: Vec<ValueId>,
    /// The value that all options are roundings of, if there is one.
    pub source: Option<ValueId>,
    /// One of the options, which holds as many bits as any of them.
    pub widest: ValueId,
    /// A sum whose enclosure, in any order, has room for more than the options, if there is one.
    pub in_any_order: Option<ValueId>,
}

/// The places of each choice, by its level and its place there.
type Places = BTreeMap<(usize, usize), Vec<Place>>;

/// The program of all levels in one entry.
pub(super) struct LaidOut {
    pub program: Program,
    /// The places of each choice in it; choices in loops that stay have none.
    pub places: Places,
    /// The values of bf16 as declared that it computes in f32.
    pub retyped: BTreeSet<ValueId>,
}

/// Lays out all levels. A loop stays if its trip count depends on an argument, if it has a single trip or none, or if laying it out
/// would exceed the limits.
pub(super) fn lay_out(levels: &Level) -> LaidOut {
    let mut stay = BTreeSet::new();
    loop {
        let mut layout = Layout::new(&stay);
        match layout.level(levels, None, "") {
            Ok(seen) => return layout.finish(&levels.program, &seen),
            // One more of finitely many.
            Err(Stays(number)) => stay.insert(number),
        };
    }
}

/// A loop that cannot be laid out, by the number of its body.
struct Stays(usize);

/// A program that is being laid out.
struct Layout<'s> {
    /// Bodies of loops that stay as they are.
    stay: &'s BTreeSet<usize>,
    computations: Vec<Computation>,
    /// The new ids of the computations of each level's program.
    moved: BTreeMap<usize, Vec<ComputationId>>,
    made: Vec<Instruction>,
    /// The integer that each value is, if it depends on no argument.
    known: Vec<Option<i64>>,
    places: Places,
    retyped: BTreeSet<ValueId>,
    elements: usize,
    /// The body of the outermost loop that is being laid out, and how many trips there were of all loops.
    outermost: Option<usize>,
    trips: usize,
}

impl Layout<'_> {
    fn new(stay: &BTreeSet<usize>) -> Layout<'_> {
        Layout {
            stay,
            computations: Vec::new(),
            moved: BTreeMap::new(),
            made: Vec::new(),
            known: Vec::new(),
            places: Places::new(),
            retyped: BTreeSet::new(),
            elements: 0,
            outermost: None,
            trips: 0,
        }
    }

    fn push(&mut self, instruction: Instruction) -> Result<ValueId, Stays> {
        let given = |id: &ValueId| (self.known[*id], self.made[*id].shape.dtype());
        let known = match instruction.op {
            Op::GetTupleElement(index) => {
                let tuple = &self.made[instruction.operands[0]];
                if tuple.op == Op::Tuple { self.known[tuple.operands[index]] } else { None }
            }
            _ => known_integer(&instruction, &instruction.operands.iter().map(given).collect::<Vec<_>>()),
        };
        self.elements = self.elements.saturating_add(instruction.shape.elements());
        self.made.push(instruction);
        self.known.push(known);
        let is_beyond = self.made.len() + self.trips > MOST_INSTRUCTIONS || self.elements > MOST_ELEMENTS;
        match self.outermost.filter(|_| is_beyond) {
            Some(outermost) => Err(Stays(outermost)),
            None => Ok(self.made.len() - 1),
        }
    }

    /// Lays out a level, with the state of its loop if it is a loop's body. Returns the new ids of its values.
    fn level(&mut self, level: &Level, state: Option<&[ValueId]>, trip: &str) -> Result<Vec<ValueId>, Stays> {
        let moved = self.computations_of(level);
        let entry = level.program.entry();
        let mut seen: Vec<ValueId> = Vec::with_capacity(entry.instructions.len());
        // The tuple of a trip's results is no value of the next one: their guards read the results alone.
        let lists = state.is_some()
            && entry.instructions[entry.root].op == Op::Tuple
            && entry.instructions.iter().all(|user| !user.operands.contains(&entry.root));
        for (id, instruction) in entry.instructions.iter().enumerate() {
            if lists && id == entry.root {
                seen.push(0);
                continue;
            }
            let own = level.loops.iter().find(|within| within.at == id && !self.stay.contains(&within.body.number));
            let value = match (&instruction.op, state, own) {
                (Op::Parameter(number), Some(state), _) => state[*number],
                (Op::While { condition, .. }, _, Some(own)) => {
                    let condition = &level.program.computations[*condition];
                    self.repeat(instruction, (condition, own), &seen, trip)?
                }
                _ => {
                    let mut instruction = instruction.clone();
                    instruction.name.push_str(trip);
                    instruction.operands.iter_mut().for_each(|operand| *operand = seen[*operand]);
                    instruction.op.callees_mut().for_each(|callee| *callee = moved[*callee]);
                    self.push(instruction)?
                }
            };
            seen.push(value);
        }
        self.retyped.extend(level.retyped.iter().map(|id| seen[*id]));
        for (at, choice) in level.choices.iter().enumerate() {
            let Place { value, options, source, widest, in_any_order } = &choice.place;
            let of = |id: &ValueId| seen[*id];
            self.places.entry((level.number, at)).or_default().push(Place {
                value: seen[*value],
                options: options.iter().map(of).collect(),
                source: source.as_ref().map(of),
                widest: seen[*widest],
                in_any_order: in_any_order.as_ref().map(of),
            });
        }
        Ok(seen)
    }

    /// Lays out a loop, trip by trip; returns a tuple of its last state.
    fn repeat(
        &mut self,
        instruction: &Instruction,
        (condition, own): (&Computation, &Loop),
        seen: &[ValueId],
        around: &str,
    ) -> Result<ValueId, Stays> {
        let body = &own.body;
        let is_outermost = self.outermost.is_none();
        self.outermost.get_or_insert(body.number);
        let name = format!("{}{around}", instruction.name);
        let given: Vec<ValueId> = instruction.operands.iter().map(|operand| seen[*operand]).collect();
        let mut state = self.carry(&given, &format!("{name}.before"))?;
        for count in 0.. {
            let known: Vec<Option<i64>> = state.iter().map(|value| self.known[*value]).collect();
            match known_result(condition, &known) {
                // A compiler inlines a single trip, and then nothing stands between it and what is around.
                Some(0) if count < 2 => return Err(Stays(body.number)),
                Some(0) => break,
                Some(_) => self.trips += 1,
                None => return Err(Stays(body.number)),
            }
            let trip = format!("{around}.trip{count}");
            let inside = self.level(body, Some(&state), &trip)?;
            let results = self.results(body, &inside, &trip)?;
            state = self.carry(&results, &format!("{name}.behind{count}"))?;
        }
        if is_outermost {
            self.outermost = None;
        }
        self.push(Instruction { name, op: Op::Tuple, operands: state, ..instruction.clone() })
    }

    /// The results of a trip, part by part.
    fn results(&mut self, body: &Level, seen: &[ValueId], trip: &str) -> Result<Vec<ValueId>, Stays> {
        let entry = body.program.entry();
        let root = &entry.instructions[entry.root];
        if root.op == Op::Tuple {
            return Ok(root.operands.iter().map(|operand| seen[*operand]).collect());
        }
        let Shape::Tuple(parts) = &root.shape else { return Ok(vec![seen[entry.root]]) };
        let mut results = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            let name = format!("{}.part{at}{trip}", root.name);
            let part = Instruction::new(name, Op::GetTupleElement(at), vec![seen[entry.root]], part.clone());
            results.push(self.push(part)?);
        }
        Ok(results)
    }

    /// Puts the state of a loop behind guards: it has the declared type before the first trip, between two trips and
    /// after the last.
    fn carry(&mut self, state: &[ValueId], name: &str) -> Result<Vec<ValueId>, Stays> {
        let mut carried = Vec::with_capacity(state.len());
        for (at, value) in state.iter().enumerate() {
            let shape = self.made[*value].shape.clone();
            let guard = Instruction::new(format!("{name}.{at}"), Op::OptimizationBarrier, vec![*value], shape);
            carried.push(self.push(Instruction { mark: Some(Mark::Carried), ..guard })?);
        }
        Ok(carried)
    }

    /// The new ids of the computations that a level calls; copies them on the first call.
    fn computations_of(&mut self, level: &Level) -> Vec<ComputationId> {
        if let Some(moved) = self.moved.get(&level.number) {
            return moved.clone();
        }
        let mut moved: Vec<ComputationId> = Vec::new();
        for computation in &level.program.computations[..level.program.entry] {
            let mut computation = computation.clone();
            for callee in computation.instructions.iter_mut().flat_map(|i| i.op.callees_mut()) {
                *callee = moved[*callee];
            }
            let known = self.computations.iter().position(|known| *known == computation);
            moved.push(known.unwrap_or(self.computations.len()));
            if known.is_none() {
                self.computations.push(computation);
            }
        }
        self.moved.insert(level.number, moved.clone());
        moved
    }

    /// The program, called as the declared one is.
    fn finish(self, declared: &Program, seen: &[ValueId]) -> LaidOut {
        let Layout { mut computations, made, places, retyped, .. } = self;
        let Computation { name, root, .. } = declared.entry();
        computations.push(Computation { name: name.clone(), instructions: made, root: seen[*root] });
        let entry = computations.len() - 1;
        let Program { name, output_names, .. } = declared;
        let (name, output_names) = (name.clone(), output_names.clone());
        let (settings, double) = (declared.settings.clone(), declared.double.clone());
        let program = Program { name, computations, entry, output_names, settings, double };
        LaidOut { program: dead::drop_unused_computations(program), places, retyped }
    }
}
