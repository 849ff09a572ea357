//! Programs with additions: further results, further arguments in the place of values, or an operand times a mask.

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, DotDims, Instruction, Op, Program, Shape, ValueId};
use crate::tensor::DType;

/// Scores by which a result of integers ranks.
#[derive(Clone, Debug)]
pub(super) struct RankingScores {
    /// The position of the scores among the results of the program that [`with_scores`] gives.
    pub output: usize,
    /// The extent that is ranked along, the scores' last dim.
    pub width: usize,
    /// Places of the ranking that the result has a row: 1 of an argmax.
    pub places: usize,
    /// Whether the scores are predicates.
    pub is_of_predicates: bool,
}

/// The program with the scores of each ranking as further results; for each of its own results, its scores.
pub(super) fn with_scores(program: &Program) -> (Program, Vec<Option<RankingScores>>) {
    let outputs = program.outputs();
    let found: Vec<Option<(ValueId, usize)>> = outputs.iter().map(|id| scores_of(program, *id)).collect();
    let mut extended = program.clone();
    let mut values = outputs.clone();
    let mut ranked = Vec::new();
    for found in found {
        ranked.push(found.map(|(scores, places)| {
            let shape = &program.entry().instructions[scores].shape;
            values.push(scores);
            extended.output_names.push(format!("scores{}", values.len() - 1));
            let width = shape.dims().last().copied().unwrap_or(1);
            let is_of_predicates = shape.dtype() == Some(DType::Pred);
            RankingScores { output: values.len() - 1, width, places, is_of_predicates }
        }));
    }
    if values.len() > outputs.len() {
        let entry = extended.entry;
        let computation = &mut extended.computations[entry];
        let shapes = values.iter().map(|id| computation.instructions[*id].shape.clone()).collect();
        computation.instructions.push(Instruction::new("judged", Op::Tuple, values, Shape::Tuple(shapes)));
        computation.root = computation.instructions.len() - 1;
    }
    (extended, ranked)
}

/// The scores whose ranking a value of integers is, and the places of the ranking that it has.
fn scores_of(program: &Program, id: ValueId) -> Option<(ValueId, usize)> {
    let entry = program.entry();
    let mut at = &entry.instructions[id];
    while matches!(at.op, Op::Convert | Op::Reshape) {
        at = &entry.instructions[*at.operands.first()?];
    }
    let is_integer = at.shape.dtype().is_some_and(|dtype| dtype.is_integer());
    let Op::GetTupleElement(_) = at.op else { return None };
    let ranks = &entry.instructions[*at.operands.first()?];
    let scores = *ranks.operands.first()?;
    let shape = &entry.instructions[scores].shape;
    // A sampler takes the first place that a running sum passes: the first true one of predicates.
    let is_ranked = is_integer && shape.dtype().is_some();
    let places = match &ranks.op {
        Op::Reduce { dims, to_apply } if *dims == [shape.dims().len().checked_sub(1)?] => {
            (Regions::new(program).reducer_but_for_rounding(*to_apply)? == Reducer::ArgMax).then_some(1)
        }
        Op::TopK { k, largest: true } => Some(*k),
        _ => None,
    };
    places.filter(|_| is_ranked).map(|places| (scores, places))
}

/// A sum over K: a dot, or a reduction that adds.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    /// Its value in the entry.
    pub value: ValueId,
    /// The dims of its first operand that are summed over.
    pub along: Vec<usize>,
    /// The extents of its first operand.
    pub dims: Vec<usize>,
    /// The number of terms.
    pub terms: usize,
}

/// The sums of the entry.
pub(super) fn sums(program: &Program) -> Vec<Sum> {
    let entry = program.entry();
    let regions = Regions::new(program);
    let mut sums = Vec::new();
    for (value, instruction) in entry.instructions.iter().enumerate() {
        let along = match &instruction.op {
            Op::Dot { dims: DotDims { lhs_contracting, .. }, .. } => lhs_contracting.clone(),
            Op::Reduce { dims, to_apply } if instruction.operands.len() == 2 => {
                match regions.reducer_but_for_rounding(*to_apply) {
                    Some(Reducer::Binary(Binary::Add)) => dims.clone(),
                    _ => continue,
                }
            }
            _ => continue,
        };
        let operand = &entry.instructions[instruction.operands[0]].shape;
        if !operand.dtype().is_some_and(|dtype| dtype.is_float()) {
            continue;
        }
        let dims = operand.dims().to_vec();
        let terms = along.iter().map(|dim| dims[*dim]).product();
        if terms > 1 {
            sums.push(Sum { value, along, dims, terms });
        }
    }
    sums
}

/// The program with a further argument in the place of a value of its entry, whoever uses it.
pub(super) fn with_value(program: &Program, id: ValueId) -> Program {
    let mut changed = program.clone();
    let entry = changed.entry;
    let computation = &mut changed.computations[entry];
    let number = computation.parameter_shapes().len();
    let old = &computation.instructions[id];
    let argument = Instruction::new(&old.name, Op::Parameter(number), Vec::new(), old.shape.clone());
    computation.instructions[id] = argument;
    changed
}

/// The program with a further argument in the place of one operand of an instruction of its entry, and of that use alone.
pub(super) fn with_operand(program: &Program, user: ValueId, place: usize) -> Program {
    let mut changed = program.clone();
    let entry = changed.entry;
    let computation = &mut changed.computations[entry];
    let number = computation.parameter_shapes().len();
    let operand = computation.instructions[user].operands[place];
    let shape = computation.instructions[operand].shape.clone();
    let moved = |id: ValueId| if id >= user { id + 1 } else { id };
    for instruction in &mut computation.instructions {
        instruction.operands.iter_mut().for_each(|id| *id = moved(*id));
    }
    computation.root = moved(computation.root);
    let argument = Instruction::new("altered", Op::Parameter(number), Vec::new(), shape);
    computation.instructions.insert(user, argument);
    computation.instructions[user + 1].operands[place] = user;
    changed
}

/// The program with the first operand of a sum times a further argument of the operand's shape, a mask.
pub(super) fn with_mask(program: &Program, sum: &Sum) -> Program {
    let mut masked = program.clone();
    let entry = masked.entry;
    let computation = &mut masked.computations[entry];
    let (at, number) = (sum.value, computation.parameter_shapes().len());
    let operand = computation.instructions[at].operands[0];
    let shape = computation.instructions[operand].shape.clone();
    let moved = |id: ValueId| if id >= at { id + 2 } else { id };
    for instruction in &mut computation.instructions {
        instruction.operands.iter_mut().for_each(|id| *id = moved(*id));
    }
    computation.root = moved(computation.root);
    let mask = Instruction::new("mask", Op::Parameter(number), Vec::new(), shape.clone());
    let product = Instruction::new("masked", Op::Binary(Binary::Multiply), vec![operand, at], shape);
    computation.instructions.insert(at, mask);
    computation.instructions.insert(at + 1, product);
    computation.instructions[at + 2].operands[0] = at + 1;
    masked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{lower, parse};

    /// A selection of the smallest ranks no tokens.
    #[test]
    fn the_smallest_scores_are_no_ranking() {
        let of = |largest: bool| {
            let text = format!(
                "HloModule m\nENTRY e {{\n  x = f32[2,8] parameter(0)\n  t = (f32[2,3], s32[2,3]) topk(x), k=3, largest={largest}\n  \
                 ROOT i = s32[2,3] get-tuple-element(t), index=1\n}}\n"
            );
            let (_, ranked) = with_scores(&lower(&parse(&text).unwrap()).unwrap().program);
            ranked.into_iter().flatten().map(|ranked| (ranked.width, ranked.places)).next()
        };
        assert_eq!((of(true), of(false)), (Some((8, 3)), None));
    }
}
