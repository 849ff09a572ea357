//! The choices of a whole program: its points, and the program in which each point takes one of its options.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::live;
use crate::ir::{Program, ValueId};

use super::trips::{self, LaidOut, Place};
use super::{Choice, Freedom, Level};

/// A value of a declared program: of its entry, or of the body of a loop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The loops around it, from the entry inwards, each by its index in its computation.
    pub loops: Vec<ValueId>,
    /// Its own index in the innermost of their bodies.
    pub value: ValueId,
}

/// A point of a program at which a compiler has several options.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its places in the program of choices: one for each trip of the loops around it, and at least one. A compiler
    /// compiles a body once, so that all places take the same option.
    pub places: Vec<Place>,
    /// The freedom that allows the options other than the first.
    pub freedom: Freedom,
    /// The declared program's name for the value whose rounding is at stake.
    pub name: String,
    /// Its names for the users that read the value there.
    pub readers: Vec<String>,
    /// Its names for the loops around it, from the entry inwards.
    pub loops: Vec<String>,
    /// The declared program's value behind which a guard ends the choice.
    pub guard: Option<Spot>,
}

impl Point {
    /// The number of options.
    pub fn options(&self) -> usize {
        self.places.first().map_or(1, |place| place.options.len())
    }
}

/// A program in which every choice has a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// A program that means what the declared program does, as it stands. Loops whose trip counts depend on no argument
    /// are laid out trip by trip, as long as it stays within [`super::MOST_INSTRUCTIONS`] and [`super::MOST_ELEMENTS`].
    pub program: Program,
    /// The points at which it may mean something else, in the order of the program.
    pub points: Vec<Point>,
    /// The values that the declared program has in bf16 and this program in f32.
    pub retyped: BTreeSet<ValueId>,
    /// The same choices computation by computation. `origins` has the point of each choice, by its level and its place
    /// there.
    levels: Level,
    origins: BTreeMap<(usize, usize), usize>,
}

impl Choices {
    /// All choices that these freedoms leave in a program. `rounds_steps` is whether a declared bf16 sum rounds every
    /// addition to bf16. With [`Freedom::Accumulation`] the program of choices has sums in bf16 only where every
    /// addition is rounded.
    pub fn new(program: &Program, freedoms: &[Freedom], rounds_steps: bool) -> Choices {
        let levels = Level::new(program, freedoms, rounds_steps, 0);
        let LaidOut { program, places, retyped } = trips::lay_out(&levels);
        let mut made = Vec::new();
        points(&levels, (&mut Vec::new(), &mut Vec::new()), &places, &mut made);
        made.sort_by_key(|(_, point)| point.places[0].value);
        let (origins, points): (Vec<(usize, usize)>, Vec<Point>) = made.into_iter().unzip();
        let origins = origins.into_iter().enumerate().map(|(at, origin)| (origin, at)).collect();
        Choices { program, points, retyped, levels, origins }
    }

    /// The declared program with one option taken at each point, and the others removed. Its loops are still loops:
    /// their bodies take the option in each trip.
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

/// Collects the points of a level and of the levels within it, each with its level and its place there. Choices in
/// loops that are not laid out are no points.
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
