//! Signs: rounding to nearest is symmetric, so a negation rounds nothing and may stand before or after what rounds.
//!
//! In the one form the sign stands outside: `-(a b)` for `(-a) b`, `-(a + b)` for `-a - b`, `-sum(x)` for `sum(-x)`. All
//! bits are equal there (IEEE 754-2019, 4.3.1 and 6.3), but for the sign of a NaN, and, where numbers are added, the sign of
//! a sum that is zero: `x - x` is +0, and so is its reverse, while `-(x - x)` is -0. `graph/sign_of_zero` records the place of a
//! negation where that matters. `a - b` and `a + (-b)` are equal in all bits but a NaN's sign.

use crate::ir::{Binary, Compare, Unary};

use super::expressions::{ExpressionHead, ExpressionId, Expressions, ReductionOperation};

const NEGATE: ExpressionHead = ExpressionHead::Unary(Unary::Negate);

impl Expressions {
    /// Whether an expression is the negative of another, and the other one; otherwise the expression itself.
    pub fn split_sign(&self, id: ExpressionId) -> (bool, ExpressionId) {
        match self.get(id) {
            (head, &[of]) if *head == NEGATE => (true, of),
            _ => (false, id),
        }
    }

    /// An expression without its sign.
    pub fn without_sign(&self, id: ExpressionId) -> ExpressionId {
        self.split_sign(id).1
    }

    pub fn negate(&mut self, id: ExpressionId) -> ExpressionId {
        self.apply(NEGATE, vec![id])
    }

    fn negative(&mut self, head: &ExpressionHead, operands: Vec<ExpressionId>) -> Option<ExpressionId> {
        let positive = self.apply(head.clone(), operands);
        Some(self.negate(positive))
    }

    /// The expression of an operation on negated operands with at most one sign, before it; `None` if it stays as it
    /// is.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn pull_sign(&mut self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        use Binary::{Add, Multiply, Subtract};
        match (head, operands) {
            (ExpressionHead::Unary(Unary::Negate), &[a]) => match (self.split_sign(a), self.value(a)) {
                ((true, of), _) => Some(of),
                (_, Some(number)) => Some(self.constant(-number)),
                _ => None,
            },
            (ExpressionHead::Binary(Multiply), &[a, b]) => {
                let (x, y) = [(a, b), (b, a)].into_iter().find_map(|(x, y)| Some((self.opposite(x)?, y)))?;
                self.negative(head, vec![x, y])
            }
            (ExpressionHead::Binary(Add), &[a, b]) => match (self.split_sign(a), self.split_sign(b)) {
                ((true, a), (true, b)) => self.negative(head, vec![a, b]),
                ((true, a), (false, b)) | ((false, b), (true, a)) => {
                    Some(self.apply(ExpressionHead::Binary(Subtract), vec![b, a]))
                }
                _ => {
                    // A number less a value, the other way round.
                    let (number, x) =
                        self.value(a).map(|number| (number, b)).or(self.value(b).map(|number| (number, a)))?;
                    let negated = self.find_constant(-number).filter(|_| number != 0.0)?;
                    let reverse = self.known(ExpressionHead::Binary(Subtract), vec![negated, x])?;
                    Some(self.negate(reverse))
                }
            },
            (ExpressionHead::Binary(Subtract), &[a, b]) => match (self.split_sign(a), self.split_sign(b)) {
                ((false, a), (true, b)) => Some(self.apply(ExpressionHead::Binary(Add), vec![a, b])),
                ((true, a), (true, b)) => Some(self.apply(head.clone(), vec![b, a])),
                ((true, a), (false, b)) => self.negative(&ExpressionHead::Binary(Add), vec![a, b]),
                ((false, a), (false, b)) => {
                    let reverse = self.reverse_of(a, b)?;
                    Some(self.negate(reverse))
                }
            },
            (ExpressionHead::Unary(Unary::Abs), &[a]) => {
                let (true, a) = self.split_sign(a) else { return None };
                Some(self.apply(head.clone(), vec![a]))
            }
            (ExpressionHead::Compare(direction), &[a, b]) => {
                let [x, y] = self.opposites(a, b)?;
                let is_ordered = !matches!(direction, Compare::Eq | Compare::Ne);
                Some(self.apply(head.clone(), if is_ordered { vec![y, x] } else { vec![x, y] }))
            }
            // What is picked, or moved onto nothing.
            (ExpressionHead::Select, &[predicate, a, b]) => {
                let [x, y] = self.opposites(a, b)?;
                self.negative(head, vec![predicate, x, y])
            }
            // What is put around parts that are joined has its sign.
            (ExpressionHead::Pad(_), &[a, b]) if self.is(b, 0.0) => {
                let a = self.opposite(a)?;
                self.negative(head, vec![a, b])
            }
            (ExpressionHead::Update | ExpressionHead::Scatter { by: ReductionOperation::Known(Add), .. }, &[a, b]) => {
                let [x, y] = self.opposites(a, b)?;
                self.negative(head, vec![x, y])
            }
            (ExpressionHead::Concatenate, parts) => {
                let parts: Option<Vec<ExpressionId>> = parts.iter().map(|part| self.opposite(*part)).collect();
                self.negative(head, parts.filter(|parts| !parts.is_empty())?)
            }
            (
                ExpressionHead::Reciprocal
                | ExpressionHead::Unary(Unary::Sign)
                | ExpressionHead::Reduce { by: ReductionOperation::Known(Add), .. }
                | ExpressionHead::Scan { by: ReductionOperation::Known(Add), .. }
                | ExpressionHead::Slice(_)
                | ExpressionHead::Gather { .. }
                | ExpressionHead::Reverse
                | ExpressionHead::Fused
                | ExpressionHead::Accumulated(_),
                &[a],
            ) => {
                let a = self.opposite(a)?;
                self.negative(head, vec![a])
            }
            _ => None,
        }
    }

    /// The difference `b - a`, where `a - b` is asked for and only `b - a` is known.
    fn reverse_of(&mut self, a: ExpressionId, b: ExpressionId) -> Option<ExpressionId> {
        let subtract = ExpressionHead::Binary(Binary::Subtract);
        if self.find(&subtract, &[a, b]).is_some() {
            return None;
        }
        if let Some(reverse) = self.known(subtract, vec![b, a]) {
            return Some(reverse);
        }
        let mut operands = vec![b, self.find_constant(-self.value(a).filter(|number| *number != 0.0)?)?];
        operands.sort_unstable();
        self.known(ExpressionHead::Binary(Binary::Add), operands)
    }

    /// The expression of this operation on these operands, if either program has it.
    fn known(&mut self, head: ExpressionHead, operands: Vec<ExpressionId>) -> Option<ExpressionId> {
        self.find(&head, &operands).is_some().then(|| self.intern(head, operands))
    }

    /// The expression whose negative this is, if a sign stands before it; for a negative number, the positive one.
    pub fn opposite(&mut self, id: ExpressionId) -> Option<ExpressionId> {
        match (self.split_sign(id), self.value(id)) {
            ((true, of), _) => Some(of),
            (_, Some(number)) if number < 0.0 => Some(self.constant(-number)),
            _ => None,
        }
    }

    /// The expressions whose negatives two values are; one of the two may be a number of any sign.
    fn opposites(&mut self, a: ExpressionId, b: ExpressionId) -> Option<[ExpressionId; 2]> {
        let of = |e: &mut Self, id: ExpressionId| match (e.split_sign(id), e.value(id)) {
            ((true, of), _) => Some(of),
            (_, Some(number)) => Some(e.constant(-number)),
            _ => None,
        };
        let has_sign = self.split_sign(a).0 || self.split_sign(b).0;
        Some([of(self, a).filter(|_| has_sign)?, of(self, b)?])
    }
}
