//! The symbolic order of elements.
//!
//! Two intervals never prove that `p[i] >= max(p)` holds with equality, nor that two softmax outputs of equal logits
//! tie. So each element also carries an identity `(class, key)`: its value is `F_class(key)` with `F_class` strictly
//! increasing wherever it is a number. Elements of one class that are known to be numbers compare as their keys; equal
//! identities are equal values. An element that may be NaN or infinite has no place in that order: log(y) is increasing
//! in y, but NaN below zero, and 1 + c < 2 + c does not hold for an infinite c. Class 0 is the identity function; there
//! the key of a NaN keeps its sign and payload. A class stands for a function of the key alone, so it names every other
//! operand by its own identity.
//!
//! In enclosures of computations ([`super::latitude`]) roundings are steps too. `F_class` may then be equal for two
//! keys, or have no order at all ([`Going`]); then only the equality of keys proves anything.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::ir::Unary;

use super::arithmetic::{Bivariate, Field};
use super::column::Column;
use super::isa::CHUNK;
use super::store;

/// Elements up to which identities are worked out one by one.
pub(super) const FEW: usize = 1 << 14;

/// Symbolic value of an element, up to equality of expressions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    /// The number of the strictly increasing function that the element is of its key; 0 for the key itself.
    pub class: u64,
    /// The argument of that function.
    pub key: f64,
}

impl Identity {
    /// An exactly known number.
    pub fn exact(value: f64) -> Identity {
        Identity { class: 0, key: value }
    }

    /// The class and the bits of the key: equal for equal values.
    pub fn name(&self) -> (u64, u64) {
        (self.class, self.key.to_bits())
    }

    /// An element that has nothing to do with others; `class` is one of its own.
    pub fn fresh(class: u64) -> Identity {
        Identity { class, key: 0.0 }
    }

    /// Whether two elements are one value, to the sign of a zero and the payload of a NaN.
    pub fn is(&self, other: &Identity) -> bool {
        self.class == other.class && self.key.to_bits() == other.key.to_bits()
    }
}

/// A strictly increasing function of a variable or of its negative, or a function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Unary(Unary),
    /// An operation with a parameter beside the variable.
    Binary {
        operation: Field,
        left_is_parameter: bool,
        /// For a quotient by the variable, whose two branches are two functions: that of the negative ones.
        is_below_zero: bool,
        /// The parameter's class and the bits of its key.
        parameter: (u64, u64),
    },
    /// A function that is not monotone, at this key's bits alone: it proves results equal, but does not order them.
    UnaryAt(Unary, u64),
    /// The same for a function of two, with the second one's class and the bits of its key.
    BivariateAt(Bivariate, u64, (u64, u64)),
    /// The rounding of the instruction of this number, or one of its choices: it never falls, and may be equal for two
    /// keys.
    Rounded(usize),
    /// The result of the instruction of this number within an error: a function, of which nothing else is known.
    Erring(usize),
    /// Subnormals that may count as zero.
    Flushed,
}

/// Monotonicity of the values of a class in their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Going {
    /// Equal keys are equal values; other keys prove nothing.
    Anyhow,
    /// They never fall where keys rise.
    NeverFalling,
    /// They rise where keys rise.
    Rising,
}

impl Step {
    /// Whether the same step leads back.
    fn undoes_itself(self) -> bool {
        self == Step::Unary(Unary::Negate)
    }

    /// Whether it leads to one value of the program alone.
    fn is_of_one_value(self) -> bool {
        matches!(self, Step::Rounded(_) | Step::Erring(_))
    }

    /// Monotonicity of its results in its variable.
    fn going(self) -> Going {
        match self {
            Step::Unary(_) | Step::Binary { .. } | Step::UnaryAt(..) | Step::BivariateAt(..) => Going::Rising,
            Step::Rounded(_) | Step::Flushed => Going::NeverFalling,
            Step::Erring(_) => Going::Anyhow,
        }
    }
}

/// All classes made so far, in blocks: classes made together for the elements of one array take steps together.
#[derive(Debug)]
pub(super) struct Classes {
    /// The first class of each block, ascending.
    blocks: Vec<u64>,
    /// Monotonicity of the classes of each block.
    goings: Vec<Going>,
    /// The first class of the block that a step leads to from the block of this first class. Elements with identities of their own ask
    /// for it one by one, in a hash that is quick and the same in each run.
    known: HashMap<(Step, u64), u64, FixedState>,
    next: u64,
    last: Option<(Step, Range<u64>, u64)>,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes { blocks: vec![0], goings: vec![Going::Rising], known: HashMap::default(), next: 1, last: None }
    }
}

impl Classes {
    /// The class of `step`'s results for a variable of this class; equal steps give equal classes.
    pub fn after(&mut self, step: Step, class: u64) -> u64 {
        // Neighbours in a row take the same step.
        if let Some((last, block, first)) = &self.last
            && *last == step
            && block.contains(&class)
        {
            return first + (class - block.start);
        }
        let (at, block) = self.block_of(class);
        let first = match self.known.get(&(step, block.start)) {
            Some(first) => *first,
            None => {
                let going = self.goings[at].min(step.going());
                let first = self.fresh(block.end - block.start);
                if let Some(last) = self.goings.last_mut() {
                    *last = going;
                }
                self.known.insert((step, block.start), first);
                if step.undoes_itself() {
                    self.known.insert((step, first), block.start);
                }
                first
            }
        };
        let after = first + (class - block.start);
        self.last = Some((step, block, first));
        after
    }

    /// [`Classes::after`] of each value of a column.
    pub fn after_each(&mut self, step: Step, classes: &Column<u64>) -> Column<u64> {
        let values = classes.values();
        let mut after = store::classes(values.len());
        for chunk in values.chunks(CHUNK) {
            let Some(first) = chunk.first().map(|class| self.after(step, *class)) else { continue };
            let is_in = |block: &Range<u64>| chunk.iter().fold(true, |all, class| all & block.contains(class));
            // All in one block, which takes a few instructions for each.
            if self.last.as_ref().is_some_and(|(_, block, _)| is_in(block)) {
                after.extend(chunk.iter().map(|class| first.wrapping_add(class.wrapping_sub(chunk[0]))));
            } else {
                after.extend(chunk.iter().map(|class| self.after(step, *class)));
            }
        }
        Column::runs(after, classes.run())
    }

    /// [`Classes::after_each`] of a column, whose many blocks become one if no other column takes the step: the next step takes it at
    /// once. Equal classes stay equal, others stay different.
    pub fn after_all(&mut self, step: Step, classes: &Column<u64>) -> Column<u64> {
        let values = classes.values();
        let block = values.first().map(|class| self.block_of(*class));
        let is_in = |block: &Range<u64>| values.iter().all(|class| block.contains(class));
        if values.len() > FEW || !step.is_of_one_value() || block.is_none_or(|(_, block)| is_in(&block)) {
            return self.after_each(step, classes);
        }
        let mut distinct = values.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let goings = distinct.iter().map(|class| self.goings[self.block_of(*class).0]);
        let Some(going) = goings.map(Some).reduce(|one, other| if one == other { one } else { None }).flatten() else {
            return self.after_each(step, classes);
        };
        let first = self.fresh(distinct.len() as u64);
        if let Some(last) = self.goings.last_mut() {
            *last = going.min(step.going());
        }
        let place = |class: &u64| first + distinct.partition_point(|one| one < class) as u64;
        Column::runs(values.iter().map(place).collect(), classes.run())
    }

    /// The number and the classes of the block of a class.
    fn block_of(&self, class: u64) -> (usize, Range<u64>) {
        let at = self.blocks.partition_point(|first| *first <= class) - 1;
        (at, self.blocks[at]..self.blocks.get(at + 1).copied().unwrap_or(self.next))
    }

    /// Monotonicity of the values of a class in their keys.
    pub fn direction(&self, class: u64) -> Going {
        self.goings[self.block_of(class).0]
    }

    /// The order of two elements that are known to be numbers; `None` if no identity relates them.
    pub fn compare(&self, x: &Identity, y: &Identity) -> Option<Ordering> {
        match x.class == y.class {
            true if x.is(y) => Some(Ordering::Equal),
            true if self.direction(x.class) == Going::Rising => x.key.partial_cmp(&y.key),
            _ => None,
        }
    }

    /// Whether the first of two elements that are known to be numbers is not below the other.
    pub fn is_not_below(&self, x: &Identity, y: &Identity) -> bool {
        x.class == y.class && (x.is(y) || self.direction(x.class) >= Going::NeverFalling && x.key >= y.key)
    }

    /// The first of `count` classes that equal no others.
    pub fn fresh(&mut self, count: u64) -> u64 {
        let first = self.next;
        if count > 0 {
            self.blocks.push(first);
            self.goings.push(Going::Rising);
            self.next += count;
        }
        first
    }
}
