//! The choices of a whole program: its points, and what it is where each takes one of its options.

use std::collections::BTreeMap;

use crate::analysis::live;
use crate::ir::{Program, ValueId};

use super::trips::{self, Place};
use super::{Choice, Freedom, Level};

/// A value of a declared program: of its entry, or of the body of a loop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The loops around it, from the entry inwards, each by its place in the computation that it stands in.
    pub loops: Vec<ValueId>,
    /// Its own place in the innermost of their bodies.
    pub value: ValueId,
}

/// Where a compiler may do one of several things.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where it stands in the program of choices: once for each trip of the loops around it, at least once. A compiler compiles a
    /// body once, so that all places take the same option.
    pub places: Vec<Place>,
    /// What allows the others.
    pub freedom: Freedom,
    /// The declared program's name for the value whose rounding is at stake.
    pub name: String,
    /// Its names for those that read it there.
    pub readers: Vec<String>,
    /// Its names for the loops around it, from the entry inwards.
    pub loops: Vec<String>,
    /// The declared program's value behind which a guard ends the choice.
    pub guard: Option<Spot>,
}

impl Point {
    /// How many options it has.
    pub fn options(&self) -> usize {
        self.places.first().map_or(1, |place| place.options.len())
    }
}

/// A program in which every choice has a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// Means what the declared program does, as it stands. Loops whose trips no argument decides are laid out trip by trip, as long
    /// as it stays within [`super::MOST_INSTRUCTIONS`] and [`super::MOST_ELEMENTS`].
    pub program: Program,
    /// Where it may mean something else, in the order of the program.
    pub points: Vec<Point>,
    /// The same computation by computation, with the level of each point and its place there.
    levels: Level,
    origins: BTreeMap<(usize, usize), usize>,
}

impl Choices {
    /// All choices that these freedoms leave in a program. `rounds_steps` says what a bf16 sum does as declared: whether it rounds
    /// every addition to bf16; with [`Freedom::Accumulation`] the program of choices has sums in bf16 only where they do.
    pub fn new(program: &Program, freedoms: &[Freedom], rounds_steps: bool) -> Choices {
        let levels = Level::new(program, freedoms, rounds_steps, 0);
        let (program, places) = trips::lay_out(&levels);
        let mut made = Vec::new();
        points(&levels, (&mut Vec::new(), &mut Vec::new()), &places, &mut made);
        made.sort_by_key(|(_, point)| point.places[0].value);
        let (origins, points): (Vec<(usize, usize)>, Vec<Point>) = made.into_iter().unzip();
        let origins = origins.into_iter().enumerate().map(|(at, origin)| (origin, at)).collect();
        Choices { program, points, levels, origins }
    }

    /// The declared program in which each point is a copy of this option, and nothing is left of the others: its loops are still
    /// loops, whose bodies do in each trip what is taken.
    pub fn take(&self, taken: &[usize]) -> Program {
        let option = |level: usize, at: usize| self.origins.get(&(level, at)).map_or(0, |point| taken[*point]);
        self.levels.take(&option)
    }

    /// The points that some results depend on, by their places in [`Choices::points`].
    pub fn points_of(&self, outputs: &[ValueId]) -> Vec<usize> {
        let live = self.live(outputs);
        let is_live = |at: &usize| self.points[*at].places.iter().any(|place| live[place.value]);
        (0..self.points.len()).filter(is_live).collect()
    }

    /// For each value of the program of choices, whether some results depend on it under some choice.
    pub fn live(&self, outputs: &[ValueId]) -> Vec<bool> {
        let mut entry = self.program.entry().clone();
        for place in self.points.iter().flat_map(|point| &point.places) {
            let read = place.options.iter().copied().chain(place.in_any_order);
            entry.instructions[place.value].operands = read.collect();
        }
        live(&entry, outputs.iter().copied())
    }
}

/// The points of a level and of those within it, each with where it comes from; those of loops that are not laid out are none.
fn points(
    level: &Level,
    (loops, names): (&mut Vec<ValueId>, &mut Vec<String>),
    places: &BTreeMap<(usize, usize), Vec<Place>>,
    made: &mut Vec<((usize, usize), Point)>,
) {
    for (at, Choice { freedom, name, readers, guard, .. }) in level.choices.iter().enumerate() {
        let origin = (level.number, at);
        let Some(places) = places.get(&origin) else { continue };
        let point = Point {
            places: places.clone(),
            freedom: *freedom,
            name: name.clone(),
            readers: readers.clone(),
            loops: names.clone(),
            guard: guard.map(|value| Spot { loops: loops.clone(), value }),
        };
        made.push((origin, point));
    }
    for within in &level.loops {
        loops.push(within.declared);
        names.push(within.name.clone());
        points(&within.body, (loops, names), places, made);
        loops.pop();
        names.pop();
    }
}
