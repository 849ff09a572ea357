//! Ways in which the code of a fusion reaches a value: the element of the value that it computes for each element of a
//! result. XLA generates code for a value at each place that reads it (`emitters::PartitionedComputation`), and LLVM
//! merges code that computes the same element.

use std::collections::HashMap;
use std::rc::Rc;

use crate::ir::movement::{row_major, steps};
use crate::ir::{Binary, Class, Computation, Fusion, Instruction, Op, ValueId};

use super::emission::UNROLLED;
use super::kernel_functions::{has_functions, hero, results_of};
use super::known::{known_number, negated_by};

/// The most ways that are told apart.
const MOST: usize = 16;
/// Number of a result's elements by which they are told apart.
const SAMPLES: u64 = 64;
/// The most elements of a concatenate's operands for which the code of all operands is one block, in which LLVM still
/// finds equal products (`memdep-block-scan-limit` instructions apart).
const NEAR: usize = 6;
/// Columns of the longest loop that may be unrolled.
const MOST_COLUMNS: usize = 16;

/// One way.
#[derive(Clone, PartialEq)]
struct Way {
    /// The number of elements that the loop computes.
    elements: usize,
    /// The branches around its code, the outermost first: operands of concatenates, pads and updates.
    branches: Vec<(ValueId, usize)>,
    /// For some of the elements, the element of the value that they depend on; `None` if there is none.
    places: Rc<Vec<Option<usize>>>,
}

impl Way {
    /// The way to the result of a loop over so many elements.
    fn of(elements: usize, branches: Vec<(ValueId, usize)>) -> Way {
        let place = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) as usize % elements.max(1);
        Way { elements, branches, places: Rc::new((0..SAMPLES).map(|at| Some(place(at))).collect()) }
    }

    /// Whether the code of one way can take the results of the other: it follows the other's code, and computes the
    /// same elements.
    fn meets(&self, other: &Way) -> bool {
        let depth = self.branches.len().min(other.branches.len());
        let pairs = || self.places.iter().zip(other.places.iter()).filter_map(|(a, b)| a.zip(*b));
        self.elements == other.elements
            && self.branches[..depth] == other.branches[..depth]
            && pairs().next().is_some()
            && pairs().all(|(a, b)| a == b)
    }
}

/// The users of a value, each with its way; `None` if the ways are not followed.
type UsersByWay = Option<Vec<(ValueId, Way)>>;

/// The ways in which a fusion's values are read.
pub struct Ways(HashMap<ValueId, UsersByWay>);

impl Ways {
    /// The ways of a fusion. `users` gives the users of each value, and `uses` counts its reads, one more for the root.
    pub fn new(computation: &Computation, fusion: Option<Fusion>, users: &[Vec<ValueId>], uses: &[usize]) -> Ways {
        let instructions = &computation.instructions;
        let hero = match has_functions(fusion) {
            true => hero(computation, fusion, &results_of(computation, fusion)),
            false => None,
        };
        let mut reads: HashMap<ValueId, UsersByWay> = HashMap::new();
        for (id, instruction) in instructions.iter().enumerate().rev().filter(|(_, i)| i.fusion() == fusion) {
            let is_outside = |user: &ValueId| instructions[*user].fusion() != fusion;
            let own = reads.entry(id).or_insert_with(|| Some(Vec::new()));
            let is_result = uses[id] > users[id].len() || users[id].iter().any(is_outside);
            if let Some(own) = own.as_mut().filter(|_| is_result) {
                own.push((instructions.len(), Way::of(instruction.shape.elements(), Vec::new())));
            }
            let ways = own.as_ref().map(|own| {
                let mut ways: Vec<Way> = Vec::new();
                own.iter().for_each(|(_, way)| {
                    if !ways.contains(way) {
                        ways.push(way.clone())
                    }
                });
                ways
            });
            let ways = ways.filter(|ways| ways.len() <= MOST);
            for (position, operand) in instruction.operands.iter().enumerate() {
                let through = |way: &Way| {
                    let mut branches = way.branches.clone();
                    if is_branch(computation, id, hero == Some(id)) {
                        branches.push((id, position));
                    }
                    if hero == Some(id) {
                        return Some((id, Way::of(instructions[*operand].shape.elements(), branches)));
                    }
                    let place = |at: &Option<usize>| at.map_or(Some(None), |at| place(computation, id, position, at));
                    let places = way.places.iter().map(place).collect::<Option<Vec<Option<usize>>>>()?;
                    let is_seen = places.iter().any(Option::is_some);
                    is_seen.then(|| (id, Way { branches, places: Rc::new(places), ..*way }))
                };
                let more: UsersByWay = ways.as_ref().and_then(|ways| ways.iter().map(through).collect());
                match (reads.entry(*operand).or_insert_with(|| Some(Vec::new())), more) {
                    (Some(known), Some(more)) => known.extend(more),
                    (known, _) => *known = None,
                }
            }
        }
        Ways(reads)
    }

    /// The most reads of the elements of a value that a user takes, reads of the equal values in `same` included;
    /// `None` if the ways are not followed.
    pub fn alike(&self, id: ValueId, reader: ValueId, same: &[ValueId]) -> Option<usize> {
        let reads = same.iter().map(|id| self.0.get(id)?.as_deref()).collect::<Option<Vec<_>>>()?.concat();
        let own = self.0.get(&id)?.as_ref()?.iter().filter(|(by, _)| *by == reader);
        own.map(|(_, way)| reads.iter().filter(|(_, other)| way.meets(other)).count()).max()
    }
}

/// Whether each operand of a value has its code in a branch or loop of its own.
fn is_branch(computation: &Computation, id: ValueId, is_hero: bool) -> bool {
    let Instruction { op, operands, shape, .. } = &computation.instructions[id];
    match op {
        Op::Pad { .. } | Op::DynamicUpdateSlice => true,
        Op::Concatenate { .. } if is_hero => operands.iter().any(|operand| {
            let part = &computation.instructions[*operand].shape;
            part.elements() > NEAR || part.dims().iter().filter(|extent| **extent > 1).count() > 1
        }),
        Op::Concatenate { dim } => is_unrolled(shape.dims(), *dim) == Some(false),
        _ => false,
    }
}

/// Whether the loop along this dim is unrolled, so that the operand of each column is known at compile time; `None` if
/// that depends on the amount of code.
fn is_unrolled(dims: &[usize], dim: usize) -> Option<bool> {
    let extent = dims[dim];
    match dim + 1 == dims.len() && extent <= MOST_COLUMNS {
        true if extent <= UNROLLED => Some(true),
        true => None,
        false => Some(false),
    }
}

/// The one element of the operand at `position` that the element `at` depends on, `Some(None)` if it depends on none of
/// them. `None` if it depends on several, or if that is not known.
pub fn element_read(computation: &Computation, id: ValueId, position: usize, at: usize) -> Option<Option<usize>> {
    let instruction = &computation.instructions[id];
    match &instruction.op {
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Gather(_) => None,
        Op::Concatenate { dim } => {
            let extent = |id: ValueId| computation.instructions[id].shape.dims()[*dim];
            let start = instruction.operands[..position].iter().map(|operand| extent(*operand)).sum::<usize>();
            let dims = instruction.shape.dims();
            let along = at / *row_major(dims).get(*dim)? as usize % dims[*dim].max(1);
            match (start..start + extent(instruction.operands[position])).contains(&along) {
                true => place(computation, id, position, at),
                false => Some(None),
            }
        }
        _ => place(computation, id, position, at),
    }
}

/// The element of the operand at `position` that the code of the element `at` reads, `Some(None)` if it reads none of
/// them; `None` if that is not known.
#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
fn place(computation: &Computation, id: ValueId, position: usize, at: usize) -> Option<Option<usize>> {
    let instruction = &computation.instructions[id];
    let shape = |id: ValueId| &computation.instructions[id].shape;
    let (from, to) = (shape(instruction.operands[position]), &instruction.shape);
    let index =
        || to.dims().iter().zip(row_major(to.dims())).map(|(extent, step)| at / step as usize % (*extent).max(1));
    let steps = match &instruction.op {
        // In the last step of its loop: what is the same in every step is read where the sum is.
        Op::Reduce { dims, .. } if position == 0 && instruction.operands.len() == 2 => {
            let strides = row_major(from.dims());
            let last = dims.iter().map(|dim| (from.dims()[*dim] as isize - 1) * strides[*dim]).sum();
            Some((last, (0..strides.len()).filter(|dim| !dims.contains(dim)).map(|dim| strides[dim]).collect()))
        }
        Op::Concatenate { dim } => {
            let before = instruction.operands[..position].iter().map(|operand| shape(*operand).dims()[*dim]);
            let start = before.sum::<usize>();
            let own = start..start + from.dims()[*dim];
            let at = index().nth(*dim)?;
            let strides = row_major(from.dims());
            match own.contains(&at) {
                true => Some((-(start as isize * strides[*dim]), strides)),
                false if !is_unrolled(to.dims(), *dim)? => return Some(None),
                // All columns of a row are in one block: the next one that is the operand's.
                false => {
                    let nearest = if at < start { 0 } else { own.len().checked_sub(1)? };
                    Some(((nearest as isize - at as isize) * strides[*dim], strides))
                }
            }
        }
        op => steps(op, from.dims(), to.dims().len()),
    };
    match (steps, &instruction.op) {
        (Some((base, steps)), _) => {
            let at = base + index().zip(steps).map(|(at, step)| at as isize * step).sum::<isize>();
            usize::try_from(at).ok().map(Some)
        }
        (None, Op::Reshape | Op::Copy) => Some(Some(at)),
        // What is updated is not read there, but a branch of its own in any case.
        (None, Op::DynamicUpdateSlice) if position == 0 => Some(Some(at)),
        (None, Op::DynamicUpdateSlice) if position == 1 => {
            let starts =
                instruction.operands[2..].iter().map(|start| known_number(computation, *start, instruction.fusion()));
            let starts = starts.collect::<Option<Vec<f32>>>()?;
            let last = || to.dims().iter().zip(from.dims()).map(|(all, part)| all - part);
            let inside =
                index().zip(starts.iter().zip(last())).zip(from.dims()).map(|((at, (start, last)), extent)| {
                    at.checked_sub((*start as usize).min(last)).filter(|at| at < extent)
                });
            let inside: Option<Vec<usize>> = inside.collect();
            Some(inside.map(|at| at.iter().zip(row_major(from.dims())).map(|(at, step)| at * step as usize).sum()))
        }
        (None, Op::Pad { low, interior, .. }) if position == 0 => {
            let last = to.dims().len().checked_sub(1)?;
            // All columns of a row may be in one block.
            if from.dims()[last] != to.dims()[last] && is_unrolled(to.dims(), last) != Some(false) {
                return None;
            }
            let inside =
                index().zip(low.iter().zip(interior)).zip(from.dims()).map(|((at, (low, interior)), extent)| {
                    let at = usize::try_from(at as i64 - low).ok()?;
                    let step = *interior + 1;
                    (at.is_multiple_of(step) && at / step < *extent).then_some(at / step)
                });
            let inside: Option<Vec<usize>> = inside.collect();
            Some(inside.map(|at| at.iter().zip(row_major(from.dims())).map(|(at, step)| at * step as usize).sum()))
        }
        (None, op) => {
            let keeps = matches!(op.class(), Class::Elementwise | Class::Converts) && from.elements() == to.elements();
            keeps.then_some(Some(at))
        }
    }
}

/// For each of several products of the same two factors in a fusion, in either order, all of them: LLVM computes them
/// once (`EarlyCSE`). Before that it replaces a term with a negated factor by its opposite (`InstCombine`).
pub fn twins(computation: &Computation, users: &[Vec<ValueId>]) -> HashMap<ValueId, Vec<ValueId>> {
    let instructions = &computation.instructions;
    let is_term = |id: ValueId| match users[id][..] {
        [sum] => matches!(instructions[sum].op, Op::Binary(Binary::Add | Binary::Subtract)),
        _ => false,
    };
    let mut of: HashMap<(Fusion, ValueId, ValueId), Vec<ValueId>> = HashMap::new();
    for (id, instruction) in instructions.iter().enumerate() {
        if let (Op::Binary(Binary::Multiply), Some(fusion), &[a, b]) =
            (&instruction.op, instruction.fusion(), &instruction.operands[..])
        {
            let without_sign =
                |factor: ValueId| negated_by(computation, factor).filter(|_| is_term(id)).unwrap_or(factor);
            let [a, b] = [a, b].map(without_sign);
            of.entry((fusion, a.min(b), a.max(b))).or_default().push(id);
        }
    }
    let several = of.into_values().filter(|same| same.len() > 1);
    several.flat_map(|same| same.clone().into_iter().map(move |id| (id, same.clone()))).collect()
}
