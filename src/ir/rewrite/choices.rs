//! Every choice that the rules leave a compiler, in one program with a place for each.
//!
//! Rule B retypes operations that compute in bf16, and operations that move, compare or pick their results. Then each
//! conversion behind another one is one edge from a value to a reader. Rule A may make that reader read the value
//! before its rounding. So a choice is per reader, and the conditions are the rules' own. An operation that only moves
//! elements reads the wide value: rounding commutes with it, and its own readers choose. A dot reads bf16 operands as
//! they are stored, as it does under each policy.
//!
//! A loop's body is compiled once, so that a choice in it holds in each trip. The body is a level of its own, made as
//! the entry is, and the state of a loop keeps its declared type. `trips` lays the levels out as one program: loops
//! whose trip counts depend on no argument are unrolled. `points` has the choices of all levels.
//!
//! `alternatives` has the points at which a value is computed in another way: sums, products that are added, quotients
//! and dots. `simplified` has those at which an expression has another form over the real numbers, and `mesh` those at
//! which devices add up their values.

mod alternatives;
mod handed_on;
mod mesh;
mod points;
mod retyped;
mod simplified;
#[cfg(test)]
mod tests;
mod trips;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::analysis::{Analysis, Precision};
use crate::ir::{Class, Computation, ComputationId, Instruction, Op, Program, ValueId};
use crate::tensor::DType;

use super::{Rewritten, Site, dead, loops, narrow, normalize, simplify};

pub use points::{Choices, Point, Spot};
pub use trips::{MOST_ELEMENTS, MOST_INSTRUCTIONS, Place};

/// A freedom of the compiler at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freedom {
    /// Leave out a rounding for one reader: rules A and B.
    Rounding,
    /// Make an f32 sum that is only used as bf16 a bf16 sum of operands rounded to bf16.
    Narrowing,
    /// Round a bf16 sum at every addition, or once.
    Accumulation,
    /// Add up in another order.
    Order,
    /// Add an f32 product before it is rounded.
    Contraction,
    /// Multiply by a reciprocal in the place of a division.
    Reciprocal,
    /// Compute with an expression as if floats were real numbers.
    Algebra,
    /// Add up the values of several devices in another order.
    Mesh,
    /// Err in functions and quotients as far as a chip's published bounds go. It has no points: a unit does so, no compiler.
    Functions,
}

impl Freedom {
    /// Whether the alternatives are enclosed as one of several values. Alternatives that other freedoms allow lie
    /// within the declared value's own enclosure.
    pub fn has_values(self) -> bool {
        matches!(self, Freedom::Rounding | Freedom::Narrowing | Freedom::Accumulation)
    }
}

/// The choices of one computation: the entry, or a loop's body, which a compiler compiles once.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    /// Counts levels from the entry on, each loop's before those of the loops in it.
    number: usize,
    /// A program whose entry means what the declared computation does, as it stands.
    program: Program,
    /// The choices at which it may mean something else, in the order of the program.
    choices: Vec<Choice>,
    /// The values of bf16 as declared that the program computes in f32.
    retyped: BTreeSet<ValueId>,
    loops: Vec<Loop>,
}

/// A choice of a level: a point but for the trips in which it stands.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    place: Place,
    freedom: Freedom,
    name: String,
    readers: Vec<String>,
    guard: Option<ValueId>,
}

/// A loop of a level that may be laid out trip by trip.
#[derive(Clone, Debug, PartialEq)]
struct Loop {
    /// In the level's program.
    at: ValueId,
    /// In the declared computation, with its name there.
    declared: ValueId,
    name: String,
    body: Level,
}

impl Level {
    /// All choices that these freedoms leave in a program's entry, and in the bodies of its loops. `rounds_steps` is
    /// whether a declared bf16 sum rounds every addition. Levels are numbered from `number` on.
    fn new(program: &Program, freedoms: &[Freedom], rounds_steps: bool, number: usize) -> Level {
        let permits = |freedom: Freedom| freedoms.contains(&freedom);
        let elides = permits(Freedom::Rounding);
        let name = |origin: Option<ValueId>| origin.map(|id| program.entry().instructions[id].name.clone());
        let sums = if permits(Freedom::Accumulation) { alternatives::bf16_sums(program) } else { BTreeSet::new() };
        let mut sites = if elides { retyped::retyped_sites(program, &sums) } else { BTreeSet::new() };
        sites.extend(&sums);
        let retyped = match sites.is_empty() {
            true => Rewritten::unchanged(program.clone()),
            false => normalize::apply(program, &sites),
        };
        let names: Vec<Option<String>> = retyped.origins.iter().map(|origin| name(*origin)).collect();
        let origins = retyped.origins;
        let collapsible = if elides { simplify::sites(&retyped.program, &|_| false) } else { BTreeSet::new() };
        let narrowed = if permits(Freedom::Narrowing) { narrow::sites(&retyped.program) } else { BTreeSet::new() };
        let is_reduction = |id: ValueId| matches!(retyped.program.entry().instructions[id].op, Op::Reduce { .. });
        let is_bf16_sum = |origin: Option<ValueId>| origin.is_some_and(|id| sums.contains(&Site::Retype(id)));
        let accumulated = (0..origins.len()).filter(|id| is_reduction(*id) && is_bf16_sum(origins[*id])).collect();
        let maker = ProgramChoicesBuilder::new(&retyped.program, (&names, &origins), &collapsible, freedoms);
        let (mut level, own) = maker.make(&narrowed, &accumulated, rounds_steps);
        level.number = number;
        level.retyped = own
            .iter()
            .zip(&origins)
            .filter(|(at, origin)| {
                let dtype = |instruction: &Instruction| instruction.shape.dtype();
                let declared = origin.and_then(|id| dtype(&program.entry().instructions[id]));
                declared == Some(DType::BF16) && dtype(&level.program.entry().instructions[**at]) == Some(DType::F32)
            })
            .map(|(at, _)| *at)
            .collect();
        let mut next = number + 1;
        for (at, declared) in own.into_iter().zip(&origins) {
            let Some(body) = loops::unrollable_body(&level.program, at) else { continue };
            let Some(declared) = *declared else { continue };
            let body = Level::new(&body, freedoms, rounds_steps, next);
            let around = level.program.entry();
            let hands_on = |part: usize| number > 0 && handed_on::is_handed_on(around, part);
            if elides && handed_on::widens_what_it_hands_on(around, at, &body.program, &hands_on) {
                continue;
            }
            next = body.end();
            level.loops.push(Loop { at, declared, name: level.program.entry().instructions[at].name.clone(), body });
        }
        level
    }

    /// The number behind those of this level and all within it.
    fn end(&self) -> usize {
        self.loops.last().map_or(self.number + 1, |last| last.body.end())
    }

    /// The program with one option taken at each choice and the others removed; `option` gives it by level and place.
    fn take(&self, option: &dyn Fn(usize, usize) -> usize) -> Program {
        let mut program = self.program.clone();
        let computation = &mut program.computations[self.program.entry];
        let mut stands_for: Vec<ValueId> = (0..computation.instructions.len()).collect();
        for (at, Choice { place, .. }) in self.choices.iter().enumerate() {
            stands_for[place.value] = stands_for[place.options[option(self.number, at)]];
        }
        for instruction in &mut computation.instructions {
            instruction.operands.iter_mut().for_each(|operand| *operand = stands_for[*operand]);
        }
        computation.root = stands_for[computation.root];
        for within in &self.loops {
            program = loops::with_body_of(program, within.at, within.body.take(option));
        }
        dead::eliminate(&program).program
    }
}

/// A program of choices in the making.
struct ProgramChoicesBuilder<'p> {
    program: &'p Program,
    /// The declared program's names for the values.
    names: &'p [Option<String>],
    /// The declared program's values themselves.
    origins: &'p [Option<ValueId>],
    analysis: Analysis<'p>,
    freedoms: &'p [Freedom],
    /// For each conversion that may be collapsed, the earlier value that it may read instead.
    collapsible: HashMap<ValueId, ValueId>,
    /// The precision that each value can hold if every such conversion is collapsed.
    widest: Vec<Option<Precision>>,
    made: Vec<Instruction>,
    /// For each value, the one that others read in its place.
    seen: Vec<ValueId>,
    /// For each value, its own copy.
    own: Vec<ValueId>,
    choices: Vec<Choice>,
    /// Sums to which a product may be added before it is rounded.
    joined: HashSet<ValueId>,
    /// Regions that the program of choices has beside the declared ones.
    regions: Vec<(DType, Computation)>,
}

impl<'p> ProgramChoicesBuilder<'p> {
    fn new(
        program: &'p Program,
        (names, origins): (&'p [Option<String>], &'p [Option<ValueId>]),
        collapsible: &BTreeSet<Site>,
        freedoms: &'p [Freedom],
    ) -> ProgramChoicesBuilder<'p> {
        let widest = simplify::apply(program, collapsible).program;
        let widest = Analysis::new(&widest).precisions().iter().map(|held| held.first()).collect();
        let sources = collapsible.iter().filter_map(|site| match site {
            Site::Collapse { conversion, source } => Some((*conversion, *source)),
            _ => None,
        });
        let (analysis, collapsible, joined) = (Analysis::new(program), sources.collect(), HashSet::new());
        let (made, seen, own, choices, regions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        ProgramChoicesBuilder {
            program,
            names,
            origins,
            analysis,
            freedoms,
            collapsible,
            widest,
            made,
            seen,
            own,
            choices,
            joined,
            regions,
        }
    }

    fn permits(&self, freedom: Freedom) -> bool {
        self.freedoms.contains(&freedom)
    }

    /// The level, and for each value of the program its own copy there.
    fn make(
        mut self,
        narrowed: &BTreeSet<Site>,
        accumulated: &BTreeSet<ValueId>,
        rounds_steps: bool,
    ) -> (Level, Vec<ValueId>) {
        let entry = self.program.entry();
        for (id, instruction) in entry.instructions.iter().enumerate() {
            let operands = instruction.operands.iter().map(|operand| match self.collapsible.contains_key(&id) {
                true => self.own[*operand],
                false => self.seen[*operand],
            });
            let operands = operands.collect();
            let own = self.push(Instruction { operands, ..instruction.clone() });
            self.own.push(own);
            let seen = match self.collapsible.get(&id) {
                Some(source) => self.elided(id, *source),
                None if accumulated.contains(&id) => self.accumulate(id, rounds_steps),
                None if narrowed.contains(&Site::Narrow(id)) => self.narrow(id),
                None => self.choose(id),
            };
            self.seen.push(seen);
        }
        let mut program = self.program.clone();
        let root = self.seen[entry.root];
        program.computations[program.entry] = Computation { name: entry.name.clone(), instructions: self.made, root };
        // Regions lie before the entry: new ones take the entry's place and the entry moves up.
        for (_, region) in self.regions {
            program.computations.insert(program.entry, region);
            program.entry += 1;
        }
        let level = Level { number: 0, program, choices: self.choices, retyped: BTreeSet::new(), loops: Vec::new() };
        (level, self.own)
    }

    /// The region of a sum in this type.
    fn add_in(&mut self, dtype: DType) -> ComputationId {
        let at = self.regions.iter().position(|(known, _)| *known == dtype).unwrap_or_else(|| {
            self.regions.push((dtype, narrow::add_in(dtype)));
            self.regions.len() - 1
        });
        self.program.entry + at
    }

    fn push(&mut self, instruction: Instruction) -> ValueId {
        self.made.push(instruction);
        self.made.len() - 1
    }

    /// A value of the program in the making in another type.
    fn converted(&mut self, value: ValueId, dtype: DType) -> ValueId {
        if self.made[value].shape.dtype() == Some(dtype) {
            return value;
        }
        let shape = self.made[value].shape.with_dtype(dtype);
        let name = format!("{}.as_{dtype}.{}", self.made[value].name, self.made.len());
        self.push(Instruction::new(name, Op::Convert, vec![value], shape))
    }

    /// The value that users of a conversion behind other conversions see: the conversion, or a choice.
    fn elided(&mut self, id: ValueId, source: ValueId) -> ValueId {
        let entry = self.program.entry();
        let dtype = entry.instructions[id].shape.element_type();
        let reader = |user: &ValueId| &entry.instructions[*user].op;
        let inserted = self.names[id].is_none();
        let users = &self.analysis.users()[id];
        if inserted && users.iter().all(|user| reader(user).class() == Class::Moves) {
            return self.converted(self.seen[source], dtype);
        }
        if inserted && users.iter().any(|user| matches!(reader(user), Op::Dot { .. })) {
            return self.own[id];
        }
        // What the chain reads, from the last conversion to the first.
        let mut chain = vec![entry.instructions[id].operands[0]];
        while chain.last().is_some_and(|last| *last != source) {
            let last = chain[chain.len() - 1];
            chain.push(entry.instructions[last].operands[0]);
        }
        // Two places of it are one choice if the same roundings lie between them and the source.
        let mut options: Vec<(Vec<Precision>, ValueId)> = Vec::new();
        for (at, read) in chain.iter().enumerate() {
            let roundings = self.roundings(source, &chain[at..]);
            if options.iter().any(|(known, _)| *known == roundings) {
                continue;
            }
            let option = match (at, *read == source) {
                (0, _) => self.own[id],
                (_, true) => self.converted(self.seen[source], dtype),
                (_, false) => self.converted(self.own[*read], dtype),
            };
            options.push((roundings, option));
        }
        let options: Vec<ValueId> = options.into_iter().map(|(_, option)| option).collect();
        let guard = self.origins[chain[0]];
        self.point((id, source), options, Some(self.seen[source]), Freedom::Rounding, guard)
    }

    /// The roundings that change what the source may hold on its way through these conversions; the last of them is the
    /// source.
    fn roundings(&self, source: ValueId, chain: &[ValueId]) -> Vec<Precision> {
        let Some(mut held) = self.widest[source] else { return Vec::new() };
        let mut roundings = Vec::new();
        for conversion in chain.iter().rev().skip(1) {
            let to = self.program.entry().instructions[*conversion].shape.dtype().and_then(Precision::of_dtype);
            if let Some(to) = to.filter(|to| !held.within(*to)) {
                roundings.push(to);
                held = held.round_to(to);
            }
        }
        roundings
    }

    fn point(
        &mut self,
        (id, of): (ValueId, ValueId),
        options: Vec<ValueId>,
        source: Option<ValueId>,
        freedom: Freedom,
        guard: Option<ValueId>,
    ) -> ValueId {
        if options.len() < 2 {
            return options.first().copied().unwrap_or(self.own[id]);
        }
        let name =
            |id: ValueId| self.names[id].clone().unwrap_or_else(|| self.program.entry().instructions[id].name.clone());
        let mut readers: Vec<String> = self.analysis.users()[id].iter().map(|user| name(*user)).collect();
        readers.dedup();
        let shape = self.made[options[0]].shape.clone();
        let copy =
            Instruction::new(format!("{}.choice", self.made[options[0]].name), Op::Copy, vec![options[0]], shape);
        let (name, value) = (name(of), self.made.len());
        self.made.push(copy);
        let widest = match source {
            // What is only rounded is widest at its source.
            Some(_) => options[options.len() - 1],
            None => self.own[id],
        };
        let place = Place { value, options, source, widest, in_any_order: None };
        self.choices.push(Choice { place, freedom, name, readers, guard });
        value
    }
}
