//! The functions that XLA:CPU puts the code of a fusion into, from which follows the order of its reads (FACTS 3.11).

use std::collections::{BTreeSet, HashSet};

use crate::ir::{Class, Computation, Fusion, Op, ValueId};

use super::complex_parts::ComplexParts;

/// The partition of a fusion's code into functions.
#[derive(Clone)]
pub struct Functions {
    /// For each value, whether it is a function of its own, which its users call.
    called: Vec<bool>,
    /// The concatenate that is split into its operands. Each operand has a loop, in which the users of the concatenate
    /// are computed.
    hero: Option<ValueId>,
    /// Whether values are emitted one by one, each after its operands.
    tiled: bool,
}

/// A step from a value's elements to those of an operand at other positions.
#[derive(Clone, PartialEq)]
struct Move<'c> {
    op: &'c Op,
    operand: usize,
    dims: &'c [usize],
}

/// Appends a step to an operand of these dims. Consecutive reshapes are one step, and none if they lead back to the
/// same dims (`IndexingMap::Simplify`).
fn extend<'c>(way: &mut Vec<Move<'c>>, next: Option<Move<'c>>, to: &[usize]) {
    let Some(next) = next else { return };
    let reshaped = way.last().filter(|last| *last.op == Op::Reshape && *next.op == Op::Reshape);
    match reshaped.map(|last| last.dims == to) {
        None => way.push(next),
        Some(true) => drop(way.pop()),
        Some(false) => {}
    }
}

/// The values of a fusion that are read outside of it.
pub fn results_of(computation: &Computation, fusion: Option<Fusion>) -> Vec<ValueId> {
    let inside = |id: &ValueId| computation.instructions[*id].fusion() == fusion;
    let mut results: Vec<ValueId> = Vec::new();
    for instruction in computation.instructions.iter().filter(|instruction| instruction.fusion() != fusion) {
        results.extend(instruction.operands.iter().copied().filter(inside));
    }
    results.extend(Some(computation.root).filter(inside));
    results.sort_unstable();
    results.dedup();
    results
}

/// Whether a fusion's code is put into functions: XLA's older emitter has none (`FusedIrEmitter`).
pub fn has_functions(fusion: Option<Fusion>) -> bool {
    !matches!(fusion, Some(Fusion::SmallCall(_)))
}

impl Functions {
    /// The functions of a fusion whose `results` are read outside, after `emitters::PartitionedComputation` and
    /// `cpu::EmitFusionKernel` of XLA. A value that is read at several places is a function of its own: in several
    /// functions, or along several ways through operations that move elements. Ways are different if their operations
    /// are, even if they lead to the same elements.
    pub fn new(
        computation: &Computation,
        fusion: Option<Fusion>,
        results: &[ValueId],
        complex: &ComplexParts,
    ) -> Functions {
        let instructions = &computation.instructions;
        let is_inside = |id: ValueId| instructions[id].fusion() == fusion;
        let tiled = is_tiled(computation, fusion, results);
        let hero = hero(computation, fusion, results);

        let mut called = vec![false; instructions.len()];
        let mut readers: Vec<BTreeSet<ValueId>> = vec![BTreeSet::new(); instructions.len()];
        let mut ways: Vec<Vec<Vec<Move>>> = vec![Vec::new(); instructions.len()];
        let heads = |id: ValueId| hero.is_some_and(|hero| instructions[hero].operands.contains(&id));
        // Results are computed in one function.
        for result in results {
            readers[complex.number(*result)].insert(instructions.len());
            ways[complex.number(*result)].push(Vec::new());
        }
        for id in (0..instructions.len()).rev() {
            // A user of one part of a complex number uses both: all users come after both parts.
            let number = complex.number(id);
            if readers[number].is_empty() {
                continue;
            }
            called[id] = heads(id) || readers[number].len() != 1 || ways[number].len() > 1;
            if !is_inside(id) {
                continue;
            }
            let (function, way) = match (called[id], readers[number].first(), ways[number].first()) {
                (false, Some(reader), Some(way)) => (*reader, way.clone()),
                _ => (number, Vec::new()),
            };
            let instruction = &instructions[id];
            for (position, operand) in instruction.operands.iter().enumerate() {
                let mut way = way.clone();
                let moves = !is_elementwise(&instruction.op);
                let next = Move { op: &instruction.op, operand: position, dims: instruction.shape.dims() };
                extend(&mut way, moves.then_some(next), instructions[*operand].shape.dims());
                if instructions[*operand].shape.dims().is_empty() {
                    way.clear();
                }
                let read = complex.number(*operand);
                readers[read].insert(function);
                if !ways[read].contains(&way) {
                    ways[read].push(way);
                }
            }
        }
        Functions { called, hero, tiled }
    }

    /// The concatenate that is split into its operands.
    pub fn hero(&self) -> Option<ValueId> {
        self.hero
    }

    /// Goes on to the users of the hero: they are one function, no part of which is called.
    pub fn enter_epilogue(&mut self) {
        self.called.fill(false);
    }

    /// The values that are emitted before `root`, in that order: those of its own function that it reaches through
    /// elementwise operations alone, the farthest first (`SubgraphConverter::EmitElementwiseInstruction`). The user of
    /// another function's value calls that function, and calls it for both parts of a complex factor. A complex number,
    /// a real and an imaginary part, is a value like any other: `factors` gives the factors of the product of which a
    /// value is a part, `numbers_in` the operands of a number.
    pub fn before(
        &self,
        computation: &Computation,
        fusion: Option<Fusion>,
        root: ValueId,
        factors: impl Fn(ValueId) -> Option<[[ValueId; 2]; 2]>,
        numbers_in: impl Fn([ValueId; 2]) -> Vec<[ValueId; 2]>,
    ) -> Vec<ValueId> {
        let mut found = vec![Emitted::Real(root)];
        let mut seen = HashSet::from([Emitted::Real(root)]);
        let mut next = 0;
        while next < found.len() {
            let emitted = found[next];
            next += 1;
            let (Emitted::Real(id) | Emitted::Complex([id, _])) = emitted;
            let instruction = &computation.instructions[id];
            if instruction.fusion() != fusion || !is_elementwise(&instruction.op) {
                continue;
            }
            let own = |numbers: Vec<[ValueId; 2]>| {
                let own = numbers.into_iter().filter(|number| !self.is_called(*number));
                own.map(Emitted::Complex).collect()
            };
            let operands: Vec<Emitted> = match emitted {
                Emitted::Complex(number) => own(numbers_in(number)),
                Emitted::Real(_) => match factors(id) {
                    Some(factors) => own(factors.to_vec()),
                    None if self.tiled => continue,
                    None => {
                        let operands = instruction.operands.iter().filter(|operand| !self.called[**operand]);
                        operands.map(|operand| Emitted::Real(*operand)).collect()
                    }
                },
            };
            found.extend(operands.into_iter().rev().filter(|operand| seen.insert(*operand)));
        }
        let parts = |emitted: Emitted| match emitted {
            Emitted::Real(id) => vec![id],
            Emitted::Complex([re, im]) => vec![re, im],
        };
        let called = factors(root).into_iter().flatten().filter(|number| self.is_called(*number));
        found.into_iter().skip(1).rev().flat_map(parts).chain(called.flatten()).collect()
    }

    /// Whether a value is the result of another function.
    pub fn calls(&self, id: ValueId) -> bool {
        self.called[id]
    }

    /// Whether a complex number is the result of another function.
    fn is_called(&self, number: [ValueId; 2]) -> bool {
        number.iter().any(|part| self.calls(*part))
    }
}

/// A unit of emission.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Emitted {
    Real(ValueId),
    Complex([ValueId; 2]),
}

/// The one concatenate that elementwise operations and bitcasts lead to from a fusion's only result, if it has no other
/// users (`FindHero` in `codegen/ir_emission_utils.cc`).
pub fn hero(computation: &Computation, fusion: Option<Fusion>, results: &[ValueId]) -> Option<ValueId> {
    let &[root] = results else { return None };
    let instructions = &computation.instructions;
    let passes = |id: ValueId| {
        let Op::Concatenate { .. } = instructions[id].op else {
            let op = &instructions[id].op;
            return is_elementwise(op) || *op == Op::Reshape;
        };
        false
    };
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let id = found[next];
        next += 1;
        let inside = instructions[id].operands.iter().filter(|operand| instructions[**operand].fusion() == fusion);
        let operands: Vec<ValueId> = inside.copied().filter(|operand| passes(id) && !found.contains(operand)).collect();
        found.extend(operands);
    }
    let mut concatenates = found.iter().filter(|id| matches!(instructions[**id].op, Op::Concatenate { .. }));
    let hero = concatenates.next().filter(|_| concatenates.next().is_none())?;
    let readers =
        |id: ValueId| (0..instructions.len()).filter(move |reader| instructions[*reader].operands.contains(&id));
    let mut behind = vec![*hero];
    let mut next = 0;
    while next < behind.len() {
        let id = behind[next];
        next += 1;
        for reader in readers(id).filter(|reader| instructions[*reader].fusion() == fusion) {
            if !passes(reader) {
                return None;
            }
            if !behind.contains(&reader) {
                behind.push(reader);
            }
        }
    }
    Some(*hero)
}

/// Whether a fusion is emitted value by value, for a tile of its only result: nothing in it but bitcasts moves elements
/// (`tiled_fusion_emitter.cc`).
pub fn is_tiled(computation: &Computation, fusion: Option<Fusion>, results: &[ValueId]) -> bool {
    let stays = |op: &Op| is_elementwise(op) || matches!(op, Op::Reshape | Op::Constant(_));
    let mut inside = computation.instructions.iter().filter(|instruction| instruction.fusion() == fusion);
    results.len() == 1 && inside.all(|instruction| stays(&instruction.op))
}

/// Whether XLA takes an operation for elementwise (`HloInstruction::IsOpElementwise`).
fn is_elementwise(op: &Op) -> bool {
    matches!(op.class(), Class::Elementwise | Class::Converts) || *op == Op::Copy
}
