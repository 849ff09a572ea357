//! Expressions over a program's parameters, shared between the two programs: equal arithmetic has one number.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::analysis::Precision;
use crate::ir::{Binary, Compare, Opaque, Unary};
use crate::num::{BF16, Direction, F32, round_f64};

/// Number of an expression in its [`Expressions`].
pub type ExpressionId = usize;

/// Operation that combines the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReductionOperation {
    Known(Binary),
    /// A region with no name of its own.
    Region(ExpressionId),
}

/// Operation of an expression on its operands. Dims are left out wherever a compiler may rearrange them: reductions are
/// told apart by the number of their results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionHead {
    Parameter(usize),
    /// Parameter of a region.
    Argument(usize),
    /// Bits of the value rounded to bf16, near one to f32: a constant keeps its number when it is stored in fewer bits.
    Constant(u64),
    /// Fingerprint of an array of constants, each rounded to bf16.
    Table(u64),
    /// Any integers or predicates that no float has part in.
    Integers,
    /// Integers or predicates that are made of several such: the operands.
    Counts,
    /// Floats made of integers.
    FromIntegers,
    /// Ones and zeros made of predicates.
    FromPredicates,
    Unary(Unary),
    Reciprocal,
    Binary(Binary),
    Compare(Compare),
    /// Rounded to a format below f32, in a loop.
    Rounded(Precision),
    /// A sum with a product that is not rounded before, in a loop.
    Fused,
    /// A sum in a format below f32, in a loop.
    Accumulated(Precision),
    Select,
    Reduce {
        by: ReductionOperation,
        results: usize,
    },
    /// The index that goes with the largest or smallest element.
    Index {
        largest: bool,
        results: usize,
    },
    /// Running reduction along each of `rows` rows.
    Scan {
        by: ReductionOperation,
        rows: usize,
    },
    /// Reduction of what each place of a window shows, with the window as HLO writes it.
    Window {
        window: String,
        by: ReductionOperation,
    },
    /// Operands: the key, and what is carried along.
    Sorted {
        descending: bool,
    },
    /// Elements that approximate top-k leaves of its operand, one per bin.
    Candidates,
    /// The cut dims only: start, limit, stride.
    Slice(Vec<(usize, usize, usize)>),
    Reverse,
    Concatenate,
    /// The padded dims only.
    Pad(Vec<Edge>),
    Gather {
        elements: usize,
    },
    /// Elements of the first operand are overwritten by those of the second.
    Update,
    /// Updates are combined with elements: one of the arrays.
    Scatter {
        by: ReductionOperation,
        part: usize,
    },
    /// One of the values that a loop carries; what it computes are the operands, the body's values among them.
    Loop(usize),
    /// An operation that the tool assigns no semantics to.
    Opaque(Opaque),
    /// Anything else, with what tells it apart.
    Other(String),
}

/// Padding around the elements along a dim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub low: i64,
    pub high: i64,
    pub interior: usize,
    /// Number of elements before the padding.
    pub size: usize,
}

impl ExpressionHead {
    /// Whether the operation is independent of the order of its operands.
    pub fn commutes(&self) -> bool {
        match self {
            ExpressionHead::Binary(binary) => binary.commutes(),
            ExpressionHead::Compare(direction) => matches!(direction, Compare::Eq | Compare::Ne),
            _ => false,
        }
    }
}

/// So many of the values that both programs make are kept for each expression that is made of them.
const FOUNDATIONS: usize = 16;

/// Measure of what two expressions have in common; earlier fields count first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Likeness {
    /// Whether the parameters that they are made of.
    same_parameters: bool,
    /// Share, in 64ths, of the values made by both programs among those that the two are made of.
    foundation: usize,
    /// Number of operands in common; a divisor counts as one.
    pub shared: usize,
    /// Whether what is done with them.
    pub is_same: bool,
    /// Number of operands made by the same operation.
    made_alike: usize,
}

/// All expressions of two programs.
#[derive(Debug, Default)]
pub struct Expressions {
    known: HashMap<(ExpressionHead, Vec<ExpressionId>), ExpressionId>,
    list: Vec<(ExpressionHead, Vec<ExpressionId>)>,
    /// The parameters that each is made of, a bit for each.
    parameters: Vec<Vec<u64>>,
    /// Expressions that both programs make, as far as they are known; numbers are left out.
    shared: HashSet<ExpressionId>,
    /// The first of these that each is made of.
    foundations: Vec<Vec<ExpressionId>>,
    /// Expressions that are taken for another one.
    same_as: HashMap<ExpressionId, ExpressionId>,
    /// Those of them that the programs made since [`Expressions::forget_substitutions`]: what is, and what it is taken for.
    taken: BTreeMap<ExpressionId, ExpressionId>,
    /// Steps of a reduction or scan that is taken in several: what they make is part of the whole.
    steps: HashSet<ExpressionId>,
}

impl Expressions {
    /// Takes `one` for `other` from now on, and the negative of the one for the negative of the other.
    pub fn identify(&mut self, one: ExpressionId, other: ExpressionId) {
        let (negated, one) = self.split_sign(one);
        let other = if negated { self.negate(other) } else { other };
        self.same_as.insert(one, other);
        self.taken.insert(one, other);
    }

    /// Starts to note anew which expressions are taken for another one.
    pub fn forget_substitutions(&mut self) {
        self.taken.clear();
    }

    /// The expressions that were taken for another one although they are not equal, and these without their signs.
    pub fn substitutions(&self) -> impl Iterator<Item = (ExpressionId, ExpressionId)> {
        self.taken.iter().map(|(one, other)| (*one, self.without_sign(*other)))
    }

    /// The expression that takes this one's place in the programs' values, without its sign.
    pub fn stands_as(&self, id: ExpressionId) -> ExpressionId {
        let id = self.without_sign(id);
        self.taken.get(&id).map_or(id, |other| self.without_sign(*other))
    }

    /// Says that an expression is one step of a reduction or scan.
    pub fn absorb(&mut self, step: ExpressionId) {
        self.steps.insert(self.without_sign(step));
    }

    pub fn is_step(&self, id: ExpressionId) -> bool {
        self.steps.contains(&self.without_sign(id))
    }

    /// Number of expressions: they are numbered from 0, each after its operands.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn get(&self, id: ExpressionId) -> (&ExpressionHead, &[ExpressionId]) {
        let (head, operands) = &self.list[id];
        (head, operands)
    }

    pub fn intern(&mut self, head: ExpressionHead, operands: Vec<ExpressionId>) -> ExpressionId {
        let next = self.list.len();
        let id = *self.known.entry((head.clone(), operands.clone())).or_insert(next);
        if id == next {
            self.parameters.push(self.parameters_of(&head, &operands));
            self.foundations.push(self.foundation_of(&operands));
            self.list.push((head, operands));
        }
        // Identifications point to expressions of the other program and are never chained.
        let Some(other) = self.same_as.get(&id).copied() else { return id };
        self.taken.insert(id, other);
        other
    }

    /// Says what both programs make.
    pub fn share(&mut self, both: impl Iterator<Item = ExpressionId>) {
        self.shared =
            both.filter(|id| self.value(*id).is_none() && *self.get(*id).0 != ExpressionHead::Integers).collect();
        self.foundations.clear();
        for id in 0..self.list.len() {
            self.foundations.push(self.foundation_of(&self.list[id].1));
        }
    }

    fn foundation_of(&self, operands: &[ExpressionId]) -> Vec<ExpressionId> {
        let mut found: Vec<ExpressionId> = Vec::new();
        for operand in operands {
            match self.shared.contains(operand) {
                true => found.push(*operand),
                false => found.extend_from_slice(&self.foundations[*operand]),
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(FOUNDATIONS);
        found
    }

    /// Share, in 64ths, of the values made by both programs that both expressions are made of.
    fn common_foundation(&self, one: ExpressionId, other: ExpressionId) -> usize {
        let [one, other] = [one, other].map(|id| &self.foundations[id]);
        let both = one.iter().filter(|id| other.binary_search(id).is_ok()).count();
        (64 * both).checked_div(one.len() + other.len() - both).unwrap_or(64)
    }

    fn parameters_of(&self, head: &ExpressionHead, operands: &[ExpressionId]) -> Vec<u64> {
        let mut set = Vec::new();
        let mut add = |word: usize, bits: u64| {
            set.resize(set.len().max(word + 1), 0);
            set[word] |= bits;
        };
        if let ExpressionHead::Parameter(n) = head {
            add(n / 64, 1 << (n % 64));
        }
        for operand in operands {
            self.parameters[*operand].iter().enumerate().for_each(|(word, bits)| add(word, *bits));
        }
        set
    }

    /// Measure of what two expressions have in common.
    pub fn likeness(&self, one: ExpressionId, other: ExpressionId) -> Likeness {
        let [one, other] = [one, other].map(|id| self.without_sign(id));
        let taken = |of: ExpressionId| {
            let divisor = |id: &ExpressionId| match self.get(*id) {
                (ExpressionHead::Reciprocal, &[divisor]) => divisor,
                _ => *id,
            };
            self.get(of).1.iter().map(divisor).collect::<Vec<_>>()
        };
        let others = taken(other);
        let own = taken(one);
        let shared = own.iter().filter(|operand| others.contains(operand)).count();
        let mut heads: Vec<&ExpressionHead> = others.iter().map(|id| self.get(*id).0).collect();
        let made_alike = own.iter().filter(|id| match heads.iter().position(|head| *head == self.get(**id).0) {
            Some(at) => {
                heads.swap_remove(at);
                true
            }
            None => false,
        });
        let made_alike = made_alike.count();
        let is_same = self.get(one).0 == self.get(other).0;
        Likeness {
            same_parameters: self.parameters[one] == self.parameters[other],
            foundation: self.common_foundation(one, other),
            shared,
            is_same,
            made_alike,
        }
    }

    pub fn leaf(&mut self, head: ExpressionHead) -> ExpressionId {
        self.intern(head, vec![])
    }

    pub fn constant(&mut self, value: f64) -> ExpressionId {
        self.leaf(Expressions::number(value))
    }

    fn number(value: f64) -> ExpressionHead {
        let rounded = round_f64(&BF16, value, Direction::NearestEven);
        // Zeros are one, and NaNs are; what is nearly one is no factor that vanishes.
        let bits = if rounded == 0.0 {
            0
        } else if rounded.is_nan() {
            f64::NAN.to_bits()
        } else if rounded == 1.0 {
            (1.0 + round_f64(&BF16, round_f64(&F32, value, Direction::NearestEven) - 1.0, Direction::NearestEven))
                .to_bits()
        } else {
            rounded.to_bits()
        };
        ExpressionHead::Constant(bits)
    }

    /// The expression of a number, if there is one.
    pub fn find_constant(&self, value: f64) -> Option<ExpressionId> {
        self.find(&Expressions::number(value), &[])
    }

    /// The expression of this operation on these operands, if there is one.
    pub fn find(&self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        self.known.get(&(head.clone(), operands.to_vec())).copied()
    }

    /// The value of a constant, as far as its expression keeps it.
    pub fn value(&self, id: ExpressionId) -> Option<f64> {
        match self.list[id].0 {
            ExpressionHead::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub fn is(&self, id: ExpressionId, value: f64) -> bool {
        self.value(id) == Some(value)
    }

    /// All expressions that these are made of, themselves included.
    pub fn parts(&self, of: impl IntoIterator<Item = ExpressionId>) -> HashSet<ExpressionId> {
        let mut open: Vec<ExpressionId> = of.into_iter().collect();
        let mut parts = HashSet::new();
        while let Some(id) = open.pop() {
            if parts.insert(id) {
                open.extend_from_slice(self.get(id).1);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_identified_stays_so() {
        let mut e = Expressions::default();
        let [x, y] = [0, 1].map(|n| e.leaf(ExpressionHead::Parameter(n)));
        e.identify(y, x);
        assert_eq!(e.leaf(ExpressionHead::Parameter(1)), x);
    }
}
