//! Recognises groups of values that a person knows by one name: a softmax instead of eleven operations.
//!
//! Recognition is for reading only: nothing that computes depends on it. It looks through moves, conversions and
//! roundings, and takes all copies of a value that a compiler made.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use crate::analysis::{Analysis, Reducer, is_cumulative};
use crate::ir::{Binary, Instruction, Op, Unary, ValueId, Window};

use super::uses::is_passage;

/// The function that a group of values computes; in JSON in snake case (`log_softmax`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// `exp(x - max(x)) / sum(exp(x - max(x)))`, or the product with that sum's reciprocal.
    Softmax,
    /// `x - max(x) - log(sum(exp(x - max(x))))`.
    LogSoftmax,
    /// `argmax` or `argmin`, by one reduction over values and indices.
    Argmax,
    /// Running sums, by one window or in blocks.
    Cumsum,
    /// A sort of which more than the first elements is used.
    Sort,
    /// A `topk`, or the first elements of a sort.
    TopK,
    /// `ApproxTopK`, or a `PartialReduce`.
    ApproxTopK,
}

impl Shape {
    /// As a report says it.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Softmax => "softmax",
            Shape::LogSoftmax => "log_softmax",
            Shape::Argmax => "argmax",
            Shape::Cumsum => "cumsum",
            Shape::Sort => "sort",
            Shape::TopK => "top-k",
            Shape::ApproxTopK => "approximate top-k",
        }
    }
}

/// The values of one group, in the entry's order, each with its part in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Members {
    pub shape: Shape,
    pub values: Vec<(ValueId, &'static str)>,
}

/// The groups of a program, in the order of their last values.
pub fn groups(analysis: &Analysis) -> Vec<Members> {
    let eye = Eye { analysis };
    let meanings = analysis.meanings();
    let mut copies: HashMap<ValueId, Vec<ValueId>> = HashMap::new();
    for (id, meaning) in meanings.iter().enumerate().filter(|(id, _)| !is_passage(analysis, *id)) {
        copies.entry(*meaning).or_default().push(id);
    }
    // Groups in their order; `None` for those that another took the place of.
    let mut groups: Vec<Option<Members>> = Vec::new();
    // The groups that a value was put into.
    let mut of_value: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for id in 0..meanings.len() {
        let found =
            eye.softmax(id).or_else(|| eye.log_softmax(id)).or_else(|| eye.cumsum(id)).or_else(|| eye.picks(id));
        let Some((shape, parts)) = found else { continue };
        let mut values: Vec<(ValueId, &'static str)> = Vec::new();
        for (part, role) in parts {
            let copies = copies.get(&meanings[part]).map_or(&[][..], Vec::as_slice);
            values.extend(copies.iter().map(|copy| (*copy, role)));
        }
        values.sort_unstable_by_key(|(value, _)| *value);
        values.dedup_by_key(|(value, _)| *value);
        // A copy of a group's last value belongs to the group; a larger group takes the place of one inside it. Both share a
        // value with the new one.
        let near: BTreeSet<usize> = values.iter().flat_map(|(v, _)| of_value.get(v)).flatten().copied().collect();
        let near: Vec<usize> = near.into_iter().filter(|at| groups[*at].is_some()).collect();
        if near.iter().any(|at| groups[*at].as_ref().is_some_and(|group| group.holds(&values))) {
            continue;
        }
        let new = Members { shape, values };
        for at in near {
            if groups[at].as_ref().is_some_and(|group| new.holds(&group.values)) {
                groups[at] = None;
            }
        }
        for (value, _) in &new.values {
            of_value.entry(*value).or_default().push(groups.len());
        }
        groups.push(Some(new));
    }
    groups.into_iter().flatten().collect()
}

impl Members {
    /// Whether all of these values are among its own; both are in the entry's order.
    fn holds(&self, values: &[(ValueId, &str)]) -> bool {
        values.iter().all(|(value, _)| self.values.binary_search_by_key(value, |(own, _)| *own).is_ok())
    }
}

type Found = Option<(Shape, Vec<(ValueId, &'static str)>)>;

struct Eye<'a> {
    analysis: &'a Analysis<'a>,
}

impl Eye<'_> {
    fn instructions(&self) -> &[Instruction] {
        &self.analysis.program.entry().instructions
    }

    fn op(&self, id: ValueId) -> &Op {
        &self.instructions()[id].op
    }

    /// An operand, looked at through moves and roundings.
    fn operand(&self, id: ValueId, at: usize) -> Option<ValueId> {
        let mut id = *self.instructions()[id].operands.get(at)?;
        while is_passage(self.analysis, id) && *self.op(id) != Op::Tuple {
            id = *self.instructions()[id].operands.first()?;
        }
        Some(id)
    }

    fn operands_of(&self, id: ValueId, binary: Binary) -> Option<(ValueId, ValueId)> {
        if *self.op(id) != Op::Binary(binary) {
            return None;
        }
        Some((self.operand(id, 0)?, self.operand(id, 1)?))
    }

    /// The operand of a reduction by this reducer.
    fn reduced(&self, id: ValueId, wanted: Binary) -> Option<ValueId> {
        let Op::Reduce { to_apply, .. } = self.op(id) else { return None };
        let reducer = self.analysis.regions.reducer_but_for_rounding(*to_apply);
        if reducer != Some(Reducer::Binary(wanted)) {
            return None;
        }
        self.operand(id, 0)
    }

    /// The operand of a reduction by this reducer, in one step or first in tiles, as a compiler may cut it (FACTS 3.11); with
    /// the tiles' results.
    fn reduced_in_steps(&self, id: ValueId, wanted: Binary) -> Option<(ValueId, Vec<ValueId>)> {
        let mut operand = self.reduced(id, wanted)?;
        let mut tiles = Vec::new();
        while let Op::ReduceWindow { window, to_apply } = self.op(operand) {
            let reducer = self.analysis.regions.reducer_but_for_rounding(*to_apply);
            if reducer != Some(Reducer::Binary(wanted)) || window.0.iter().any(|w| w.size != w.stride) {
                break;
            }
            tiles.push(operand);
            operand = self.operand(operand, 0)?;
        }
        Some((operand, tiles))
    }

    fn is_constant(&self, id: ValueId) -> bool {
        matches!(self.op(id), Op::Constant(_))
    }

    /// Of a shift `x - max(x)`: its parts. The maximum may be guarded against infinities.
    fn shift(&self, id: ValueId) -> Option<Vec<(ValueId, &'static str)>> {
        let (values, subtracted) = self.operands_of(id, Binary::Subtract)?;
        let mut parts = vec![(id, "shift")];
        let mut maximum = subtracted;
        loop {
            let guarded = match self.op(maximum) {
                Op::Select => (1..=2).find_map(|at| self.operand(maximum, at).filter(|o| !self.is_constant(*o))),
                Op::Binary(Binary::Maximum) => {
                    (0..=1).find_map(|at| self.operand(maximum, at).filter(|o| !self.is_constant(*o)))
                }
                _ => None,
            };
            let Some(inner) = guarded else { break };
            parts.push((maximum, "guarded max"));
            maximum = inner;
        }
        let (reduced, tiles) = self.reduced_in_steps(maximum, Binary::Maximum)?;
        parts.extend(tiles.into_iter().map(|tile| (tile, "maxima of tiles")));
        parts.push((maximum, "maximum"));
        self.same(reduced, values).then_some(parts)
    }

    fn same(&self, a: ValueId, b: ValueId) -> bool {
        self.analysis.meanings()[a] == self.analysis.meanings()[b]
    }

    /// Of a sum over exponentials of shifted values: its parts, the exponential first.
    fn denominator(&self, id: ValueId) -> Option<Vec<(ValueId, &'static str)>> {
        let (exponential, tiles) = self.reduced_in_steps(id, Binary::Add)?;
        if *self.op(exponential) != Op::Unary(Unary::Exponential) {
            return None;
        }
        let mut parts = vec![(exponential, "exponential"), (id, "denominator")];
        parts.extend(tiles.into_iter().map(|tile| (tile, "sums of tiles")));
        parts.extend(self.shift(self.operand(exponential, 0)?)?);
        Some(parts)
    }

    /// A quotient of an exponential and the sum of its row, or the product with the sum's reciprocal.
    fn softmax(&self, id: ValueId) -> Found {
        let (numerator, mut parts) = match self.operands_of(id, Binary::Divide) {
            Some((numerator, sum)) => (numerator, self.denominator(sum)?),
            None => {
                let (a, b) = self.operands_of(id, Binary::Multiply)?;
                [(a, b), (b, a)].into_iter().find_map(|(numerator, reciprocal)| {
                    let (one, sum) = self.operands_of(reciprocal, Binary::Divide)?;
                    let mut parts = self.denominator(sum).filter(|_| self.is_constant(one))?;
                    parts.push((reciprocal, "reciprocal"));
                    Some((numerator, parts))
                })?
            }
        };
        if !self.same(numerator, parts.first()?.0) {
            return None;
        }
        parts.push((id, "quotient"));
        Some((Shape::Softmax, parts))
    }

    /// A shifted value less the logarithm of the sum of exponentials.
    fn log_softmax(&self, id: ValueId) -> Found {
        let (shifted, logarithm) = self.operands_of(id, Binary::Subtract)?;
        if *self.op(logarithm) != Op::Unary(Unary::Log) {
            return None;
        }
        let mut parts = self.denominator(self.operand(logarithm, 0)?)?;
        if !parts.iter().any(|(part, role)| *role == "shift" && self.same(*part, shifted)) {
            return None;
        }
        parts.extend([(logarithm, "logarithm"), (id, "result")]);
        Some((Shape::LogSoftmax, parts))
    }

    /// A window over all elements up to its own, or the TPU's blocked form: sums inside blocks, sums of the blocks
    /// before, and their addition.
    fn cumsum(&self, id: ValueId) -> Found {
        if self.window_sum(id).is_some_and(|(window, dims)| is_cumulative(window, dims).is_some()) {
            return Some((Shape::Cumsum, vec![(id, "cumsum")]));
        }
        let (a, b) = self.operands_of(id, Binary::Add)?;
        [(a, b), (b, a)].into_iter().find_map(|(inside, before)| {
            let (window, dims) = self.window_sum(inside)?;
            is_cumulative(window, dims)?;
            // The window of the blocks before a block leaves out the block itself.
            let (window, _) = self.window_sum(before)?;
            window.0.iter().find(|w| w.size > 1 && w.pad_low >= w.size as i64 - 1 && w.pad_high <= 0)?;
            let last = self.operand(before, 0)?;
            let mut parts = vec![(inside, "block sums"), (before, "sums before")];
            if last != inside {
                let reduced = self.reduced(last, Binary::Add)?;
                parts.extend((reduced == inside).then_some((last, "block totals")));
            }
            parts.push((id, "result"));
            Some((Shape::Cumsum, parts))
        })
    }

    fn window_sum(&self, id: ValueId) -> Option<(&Window, &[usize])> {
        let Op::ReduceWindow { window, to_apply } = self.op(id) else { return None };
        let reducer = self.analysis.regions.reducer_but_for_rounding(*to_apply);
        let operand = *self.instructions()[id].operands.first()?;
        let dims = self.instructions()[operand].shape.dims();
        (reducer == Some(Reducer::Binary(Binary::Add))).then_some((window, dims))
    }

    /// Operations that pick values: argmax, sort, top-k.
    fn picks(&self, id: ValueId) -> Found {
        let instruction = &self.instructions()[id];
        let (shape, role) = match &instruction.op {
            Op::Reduce { to_apply, .. } => match self.analysis.regions.reducer_but_for_rounding(*to_apply)? {
                Reducer::ArgMax | Reducer::GreaterKeep => (Shape::Argmax, "argmax"),
                Reducer::ArgMin => (Shape::Argmax, "argmin"),
                Reducer::Binary(_) => return None,
            },
            Op::Sort { to_apply, dim, .. } => match self.analysis.regions.comparator_but_for_rounding(*to_apply) {
                _ if self.is_cut(id, *dim) => (Shape::TopK, "head of a sort"),
                Some(known) if known.descending => (Shape::Sort, "sort, largest first"),
                Some(_) => (Shape::Sort, "sort, smallest first"),
                None => (Shape::Sort, "sort"),
            },
            Op::TopK { .. } => (Shape::TopK, "top-k"),
            Op::ApproxTopK(_) | Op::PartialReduce(_) => (Shape::ApproxTopK, "approximate top-k"),
            _ => return None,
        };
        Some((shape, vec![(id, role)]))
    }

    /// Whether only the first elements of a sort are used.
    fn is_cut(&self, id: ValueId, dim: usize) -> bool {
        let instructions = self.instructions();
        let extent = instructions[id].operands.first().and_then(|o| instructions[*o].shape.dims().get(dim));
        let cut = |op: &Op| match op {
            Op::Slice { start, limit, .. } => start.get(dim) == Some(&0) && limit.get(dim) < extent,
            _ => false,
        };
        let (mut elements, mut cuts) = (vec![id], 0);
        while let Some(element) = elements.pop() {
            for reader in &self.analysis.users()[element] {
                match &instructions[*reader].op {
                    op if cut(op) => cuts += 1,
                    Op::GetTupleElement(_) | Op::Convert | Op::Copy | Op::Reshape => elements.push(*reader),
                    _ => return false,
                }
            }
        }
        cuts > 0
    }
}
