//! Expressions over a program's parameters, shared between the two programs: equal arithmetic has one number.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::ir::{Binary, Compare, Unary};
use crate::num::{BF16, Direction, F32, round_f64};

/// Number of an expression in its [`Expressions`].
pub(super) type ExpressionId = usize;

/// What combines the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Combiner {
    Known(Binary),
    /// A region with no name of its own.
    Region(ExpressionId),
}

/// What an expression does with its operands. Dims are left out wherever a compiler may rearrange them: reductions
/// are told apart by the number of their results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Head {
    Parameter(usize),
    /// Parameter of a region.
    Argument(usize),
    /// Bits of the value rounded to bf16: a constant keeps its number when it is stored in fewer bits.
    Constant(u64),
    /// Fingerprint of an array of constants, each rounded to bf16.
    Table(u64),
    /// Any integers or predicates that no float has part in.
    Integers,
    /// Floats made of integers.
    FromIntegers,
    Unary(Unary),
    Reciprocal,
    Binary(Binary),
    Compare(Compare),
    Select,
    Reduce {
        by: Combiner,
        results: usize,
    },
    /// The index that goes with the largest or smallest element.
    Index {
        largest: bool,
        results: usize,
    },
    /// Running reduction along each of `rows` rows.
    Scan {
        by: Combiner,
        rows: usize,
    },
    /// Operands: the key, and what is carried along.
    Sorted {
        descending: bool,
    },
    /// What approximate top-k leaves of its operand, one a bin.
    Candidates,
    /// The cut dims only: start, limit, stride.
    Slice(Vec<(usize, usize, usize)>),
    Reverse,
    Concatenate,
    Pad(Vec<(i64, i64, usize)>),
    Gather {
        elements: usize,
    },
    /// One of the values that a loop carries; what it computes are the operands, the body's values among them.
    Loop(usize),
    /// Anything else, with what tells it apart.
    Other(String),
}

impl Head {
    /// Whether the order of the operands is no matter.
    pub fn commutes(&self) -> bool {
        match self {
            Head::Binary(binary) => binary.commutes(),
            Head::Compare(direction) => matches!(direction, Compare::Eq | Compare::Ne),
            _ => false,
        }
    }
}

/// All expressions of two programs.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    known: HashMap<(Head, Vec<ExpressionId>), ExpressionId>,
    list: Vec<(Head, Vec<ExpressionId>)>,
    /// Expressions that are taken for another one.
    same_as: HashMap<ExpressionId, ExpressionId>,
    /// Those of them that the programs made since [`Expressions::forget_substitutions`]: what is, and what it is taken for.
    taken: BTreeMap<ExpressionId, ExpressionId>,
    /// Steps of a reduction or scan that is taken in several: what they make is part of the whole.
    steps: HashSet<ExpressionId>,
}

impl Expressions {
    /// Takes `one` for `other` from now on.
    pub fn identify(&mut self, one: ExpressionId, other: ExpressionId) {
        self.same_as.insert(one, other);
        self.taken.insert(one, other);
    }

    /// Starts to note anew which expressions are taken for another one.
    pub fn forget_substitutions(&mut self) {
        self.taken.clear();
    }

    /// The expressions that were taken for another one although they are not equal.
    pub fn substitutions(&self) -> impl Iterator<Item = (ExpressionId, ExpressionId)> {
        self.taken.iter().map(|(one, other)| (*one, *other))
    }

    /// What an expression stands as in the programs' values.
    pub fn stands_as(&self, id: ExpressionId) -> ExpressionId {
        self.taken.get(&id).copied().unwrap_or(id)
    }

    /// Says that an expression is one step of a reduction or scan.
    pub fn absorb(&mut self, step: ExpressionId) {
        self.steps.insert(step);
    }

    pub fn is_step(&self, id: ExpressionId) -> bool {
        self.steps.contains(&id)
    }

    /// How many there are: they are numbered from 0, each after its operands.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn get(&self, id: ExpressionId) -> (&Head, &[ExpressionId]) {
        let (head, operands) = &self.list[id];
        (head, operands)
    }

    fn intern(&mut self, head: Head, operands: Vec<ExpressionId>) -> ExpressionId {
        let next = self.list.len();
        let id = *self.known.entry((head.clone(), operands.clone())).or_insert(next);
        if id == next {
            self.list.push((head, operands));
        }
        // Identifications point to expressions of the other program and are never chained.
        let Some(other) = self.same_as.get(&id).copied() else { return id };
        self.taken.insert(id, other);
        other
    }

    pub fn leaf(&mut self, head: Head) -> ExpressionId {
        self.intern(head, vec![])
    }

    pub fn constant(&mut self, value: f64) -> ExpressionId {
        let rounded = round_f64(&BF16, value, Direction::NearestEven);
        // Zeros are one, and NaNs are.
        let bits = if rounded == 0.0 {
            0
        } else if rounded.is_nan() {
            f64::NAN.to_bits()
        } else {
            rounded.to_bits()
        };
        self.leaf(Head::Constant(bits))
    }

    /// The value of a constant, as far as its expression keeps it.
    pub fn value(&self, id: ExpressionId) -> Option<f64> {
        match self.list[id].0 {
            Head::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn is(&self, id: ExpressionId, value: f64) -> bool {
        self.value(id) == Some(value)
    }

    /// An operation in its one form: division is multiplication by the reciprocal, operands of commutative operations
    /// are sorted, neutral elements vanish.
    pub fn apply(&mut self, head: Head, mut operands: Vec<ExpressionId>) -> ExpressionId {
        match (&head, &operands[..]) {
            (Head::Binary(Binary::Divide), [a, b]) => {
                let (a, b) = (*a, *b);
                let inverse = self.apply(Head::Reciprocal, vec![b]);
                return self.apply(Head::Binary(Binary::Multiply), vec![a, inverse]);
            }
            (Head::Reciprocal, [a]) => {
                if let Some(value) = self.value(*a) {
                    return self.constant(1.0 / value);
                }
            }
            (Head::Unary(Unary::Rsqrt), [a]) => {
                let root = self.apply(Head::Unary(Unary::Sqrt), vec![*a]);
                return self.apply(Head::Reciprocal, vec![root]);
            }
            (Head::Unary(Unary::Logistic), [a]) => {
                let negated = self.apply(Head::Unary(Unary::Negate), vec![*a]);
                let power = self.apply(Head::Unary(Unary::Exponential), vec![negated]);
                let one = self.constant(1.0);
                let sum = self.apply(Head::Binary(Binary::Add), vec![one, power]);
                return self.apply(Head::Reciprocal, vec![sum]);
            }
            (Head::Binary(Binary::Multiply), [a, b]) if self.is(*a, 1.0) || self.is(*b, 1.0) => {
                return if self.is(*a, 1.0) { *b } else { *a };
            }
            (Head::Binary(Binary::Add), [a, b]) if self.vanishes(*a, *b) => return *b,
            (Head::Binary(Binary::Add), [a, b]) if self.vanishes(*b, *a) => return *a,
            (Head::Binary(Binary::Add), [a, b]) if self.is(*a, 0.0) || self.is(*b, 0.0) => {
                return if self.is(*a, 0.0) { *b } else { *a };
            }
            (Head::Binary(Binary::Subtract), [a, b]) if self.is(*b, 0.0) => return *a,
            (Head::Binary(Binary::Subtract), [a, b]) => {
                // The same sum, rounded once.
                if let Some(value) = self.value(*b) {
                    let (a, negated) = (*a, self.constant(-value));
                    return self.apply(Head::Binary(Binary::Add), vec![a, negated]);
                }
            }
            (Head::Select, [predicate, yes, no]) => {
                if let Some(is_so) = self.known_predicate(*predicate) {
                    return if is_so { *yes } else { *no };
                }
            }
            (Head::Binary(Binary::Maximum), [a, b]) => {
                let neutral = f64::NEG_INFINITY;
                if self.is(*a, neutral) || self.is(*b, neutral) {
                    return if self.is(*a, neutral) { *b } else { *a };
                }
            }
            (Head::Compare(Compare::Gt), [a, b]) => return self.intern(Head::Compare(Compare::Lt), vec![*b, *a]),
            (Head::Compare(Compare::Ge), [a, b]) => return self.intern(Head::Compare(Compare::Le), vec![*b, *a]),
            (Head::Reverse, [a]) => {
                // Values sorted the other way round; what they carry may differ at ties.
                if let (Head::Sorted { descending }, [key, carried]) = self.get(*a)
                    && key == carried
                {
                    let (head, key) = (Head::Sorted { descending: !descending }, *key);
                    return self.intern(head, vec![key, key]);
                }
            }
            _ => {}
        }
        if let Some(scan) = self.blocked_scan(&head, &operands) {
            return scan;
        }
        if head.commutes() {
            operands.sort_unstable();
        }
        self.intern(head, operands)
    }

    /// Whether a constant is added to a sum with another that is so much larger that in f32 the two are that one.
    fn vanishes(&self, constant: ExpressionId, sum: ExpressionId) -> bool {
        let (Some(small), (Head::Binary(Binary::Add), [a, b])) = (self.value(constant), self.get(sum)) else {
            return false;
        };
        let large = self.value(*a).or(self.value(*b));
        large.is_some_and(|large| round_f64(&F32, large + small, Direction::NearestEven) == large)
    }

    /// The answer of a comparison of constants, where their rounding cannot have changed it.
    fn known_predicate(&self, id: ExpressionId) -> Option<bool> {
        let (Head::Compare(direction), [a, b]) = self.get(id) else { return None };
        let ordering = self.value(*a)?.partial_cmp(&self.value(*b)?)?;
        ordering.is_ne().then(|| direction.of(Some(ordering)))
    }

    /// The scan that `within blocks + scan of the blocks' totals` is, if this is that sum.
    fn blocked_scan(&mut self, head: &Head, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (Head::Binary(by), [a, b]) = (head, operands) else { return None };
        let by = Combiner::Known(*by);
        for (blocks, totals) in [(*a, *b), (*b, *a)] {
            let (Head::Scan { by: inner, .. }, [x]) = self.get(blocks) else { continue };
            let (Head::Scan { by: outer, rows }, [of]) = self.get(self.moved(totals)) else { continue };
            if *inner == by && *outer == by && self.moved(*of) == blocks {
                let (head, x) = (Head::Scan { by, rows: *rows }, *x);
                let totals = self.moved(totals);
                self.steps.extend([blocks, totals]);
                return Some(self.intern(head, vec![x]));
            }
        }
        None
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

    /// What slices, pads and gathers were taken of.
    fn moved(&self, mut id: ExpressionId) -> ExpressionId {
        while let (Head::Slice(_) | Head::Pad(_) | Head::Gather { .. }, [of, ..]) = self.get(id) {
            id = *of;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arithmetic_is_one_expression() {
        let mut e = Expressions::default();
        let [x, y] = [0, 1].map(|n| e.leaf(Head::Parameter(n)));
        let mut binary = |by, a, b| e.apply(Head::Binary(by), vec![a, b]);
        assert_eq!(binary(Binary::Add, x, y), binary(Binary::Add, y, x));
        assert_ne!(binary(Binary::Subtract, x, y), binary(Binary::Subtract, y, x));
        let quotient = binary(Binary::Divide, x, y);
        let inverse = e.apply(Head::Reciprocal, vec![y]);
        assert_eq!(e.apply(Head::Binary(Binary::Multiply), vec![inverse, x]), quotient);
        let zero = e.constant(-0.0);
        assert_eq!(e.apply(Head::Binary(Binary::Add), vec![x, zero]), x);
        // 0.1 in f32 and in bf16 are one constant of the source.
        assert_eq!(e.constant(f64::from(0.1f32)), e.constant(0.10009765625));
    }

    #[test]
    fn a_scan_in_blocks_is_a_scan() {
        let mut e = Expressions::default();
        let x = e.leaf(Head::Parameter(0));
        let by = Combiner::Known(Binary::Add);
        let blocks = e.apply(Head::Scan { by, rows: 64 }, vec![x]);
        let last = e.apply(Head::Slice(vec![(15, 16, 1)]), vec![blocks]);
        let totals = e.apply(Head::Scan { by, rows: 8 }, vec![last]);
        let whole = e.apply(Head::Binary(Binary::Add), vec![totals, blocks]);
        assert_eq!(whole, e.apply(Head::Scan { by, rows: 8 }, vec![x]));
        assert!(e.is_step(blocks) && e.is_step(totals) && !e.is_step(whole));
        // The totals of something else are no part of it.
        let y = e.leaf(Head::Parameter(1));
        let others = e.apply(Head::Scan { by, rows: 8 }, vec![y]);
        let sum = e.apply(Head::Binary(Binary::Add), vec![others, blocks]);
        assert_ne!(sum, whole);
    }

    #[test]
    fn what_is_identified_stays_so() {
        let mut e = Expressions::default();
        let [x, y] = [0, 1].map(|n| e.leaf(Head::Parameter(n)));
        e.identify(y, x);
        assert_eq!(e.leaf(Head::Parameter(1)), x);
    }
}
