//! The one form of what can be written in several ways that round alike.

use crate::analysis::Precision;
use crate::ir::{Binary, Compare, Unary};
use crate::num::{Direction, F32, round_f64};

use super::expressions::{Edge, ExpressionHead, ExpressionId, Expressions, ReductionOperation};

/// Updates of one array that are added.
const SCATTER_ADD: ExpressionHead = ExpressionHead::Scatter { by: ReductionOperation::Known(Binary::Add), part: 0 };

impl Expressions {
    /// An operation in its one form: division is multiplication by the reciprocal, operands of commutative operations
    /// are sorted, neutral elements vanish.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn apply(&mut self, head: ExpressionHead, mut operands: Vec<ExpressionId>) -> ExpressionId {
        if let Some(id) = self.pull_sign(&head, &operands) {
            return id;
        }
        match (&head, &operands[..]) {
            (ExpressionHead::Binary(Binary::Divide), [a, b]) => {
                let (a, b) = (*a, *b);
                let inverse = self.apply(ExpressionHead::Reciprocal, vec![b]);
                return self.apply(ExpressionHead::Binary(Binary::Multiply), vec![a, inverse]);
            }
            (ExpressionHead::Reciprocal, &[a]) => match (self.value(a), self.get(a)) {
                (Some(value), _) => return self.constant(1.0 / value),
                (None, (ExpressionHead::Reciprocal, &[of])) => return of,
                _ => {}
            },
            (ExpressionHead::Unary(Unary::Rsqrt), [a]) => {
                let root = self.apply(ExpressionHead::Unary(Unary::Sqrt), vec![*a]);
                return self.apply(ExpressionHead::Reciprocal, vec![root]);
            }
            (ExpressionHead::Unary(Unary::Logistic), [a]) => {
                let negated = self.apply(ExpressionHead::Unary(Unary::Negate), vec![*a]);
                let power = self.apply(ExpressionHead::Unary(Unary::Exponential), vec![negated]);
                let one = self.constant(1.0);
                let sum = self.apply(ExpressionHead::Binary(Binary::Add), vec![one, power]);
                return self.apply(ExpressionHead::Reciprocal, vec![sum]);
            }
            // Dividing by a power is multiplying with one whose exponent has the other sign.
            (ExpressionHead::Unary(Unary::Exponential), &[exponent]) => {
                if let Some(exponent) = self.opposite(exponent) {
                    let power = self.apply(head, vec![exponent]);
                    return self.apply(ExpressionHead::Reciprocal, vec![power]);
                }
            }
            (ExpressionHead::Binary(Binary::Power), &[base, exponent]) => {
                if let Some(exponent) = self.opposite(exponent) {
                    let power = self.apply(head, vec![base, exponent]);
                    return self.apply(ExpressionHead::Reciprocal, vec![power]);
                }
            }
            (ExpressionHead::Binary(Binary::Multiply), [a, b]) if self.is(*a, 1.0) || self.is(*b, 1.0) => {
                return if self.is(*a, 1.0) { *b } else { *a };
            }
            (ExpressionHead::Binary(Binary::Add), [a, b]) if self.vanishes(*a, *b) => return *b,
            (ExpressionHead::Binary(Binary::Add), [a, b]) if self.vanishes(*b, *a) => return *a,
            (ExpressionHead::Binary(Binary::Add), [a, b]) if self.is(*a, 0.0) || self.is(*b, 0.0) => {
                return if self.is(*a, 0.0) { *b } else { *a };
            }
            (ExpressionHead::Binary(Binary::Subtract), [a, b]) if self.is(*b, 0.0) => return *a,
            (ExpressionHead::Binary(Binary::Subtract), [a, b]) => {
                // The same sum, rounded once.
                if let Some(value) = self.value(*b) {
                    let (a, negated) = (*a, self.constant(-value));
                    return self.apply(ExpressionHead::Binary(Binary::Add), vec![a, negated]);
                }
            }
            (ExpressionHead::Unary(Unary::Not), &[a]) if *self.get(a).0 == ExpressionHead::Unary(Unary::Not) => {
                return self.get(a).1[0];
            }
            (ExpressionHead::Select, &[predicate, yes, no])
                if *self.get(predicate).0 == ExpressionHead::Unary(Unary::Not) =>
            {
                let predicate = self.get(predicate).1[0];
                return self.apply(head, vec![predicate, no, yes]);
            }
            (ExpressionHead::Select, [predicate, yes, no]) => {
                if let Some(is_so) = self.known_predicate(*predicate) {
                    return if is_so { *yes } else { *no };
                }
                if self.is(*yes, 1.0) && self.is(*no, 0.0) {
                    return self.apply(ExpressionHead::FromPredicates, vec![*predicate]);
                }
                // An update of zeros where an index is met, if there is such an update.
                if let (ExpressionHead::Integers, true, updates) = (self.get(*predicate).0, self.is(*no, 0.0), *yes)
                    && let Some(update) = self.find(&SCATTER_ADD, &[*no, updates])
                {
                    return update;
                }
            }
            // Places outside of the array are not updated, which may be written down.
            (ExpressionHead::Update, &[array, updates]) => {
                if let (ExpressionHead::Select, &[places, updates, kept]) = self.get(updates)
                    && *self.get(places).0 == ExpressionHead::Integers
                    && self.origin(kept) == array
                {
                    return self.apply(head, vec![array, updates]);
                }
            }
            (head, &[array, updates]) if *head == SCATTER_ADD && self.is(array, 0.0) => {
                let places = self.leaf(ExpressionHead::Integers);
                if let Some(choice) = self.find(&ExpressionHead::Select, &[places, updates, array]) {
                    return choice;
                }
            }
            (ExpressionHead::Binary(Binary::Maximum), [a, b]) => {
                let neutral = f64::NEG_INFINITY;
                if self.is(*a, neutral) || self.is(*b, neutral) {
                    return if self.is(*a, neutral) { *b } else { *a };
                }
            }
            (ExpressionHead::Compare(direction @ (Compare::Ne | Compare::Eq)), &[a, b]) => {
                if let Some(same) = self.compared_predicate(*direction, a, b) {
                    return same;
                }
            }
            // What is below is not equal.
            (ExpressionHead::Binary(Binary::And), &[a, b]) if self.implies(a, b) => return a,
            (ExpressionHead::Binary(Binary::And), &[a, b]) if self.implies(b, a) => return b,
            (ExpressionHead::Compare(Compare::Gt), [a, b]) => {
                return self.intern(ExpressionHead::Compare(Compare::Lt), vec![*b, *a]);
            }
            (ExpressionHead::Compare(Compare::Ge), [a, b]) => {
                return self.intern(ExpressionHead::Compare(Compare::Le), vec![*b, *a]);
            }
            (ExpressionHead::Reverse, [a]) => {
                // Values sorted the other way round; what they carry may differ at ties.
                if let (ExpressionHead::Sorted { descending }, [key, carried]) = self.get(*a)
                    && key == carried
                {
                    let (head, key) = (ExpressionHead::Sorted { descending: !descending }, *key);
                    return self.intern(head, vec![key, key]);
                }
            }
            _ => {}
        }
        let found = self.blocked_scan(&head, &operands).or_else(|| self.unpadded_scan(&head, &operands));
        let found = found.or_else(|| self.masked(&head, &operands));
        let found = found.or_else(|| self.updated(&head, &operands));
        if let Some(id) = found.or_else(|| self.joined(&head, &operands)) {
            return id;
        }
        if head.commutes() {
            operands.sort_unstable();
        }
        self.intern(head, operands)
    }

    /// A value rounded to a format, where that may lose bits of f32: what was moved is moved when it is rounded.
    pub fn round_to(&mut self, format: Precision, of: ExpressionId) -> ExpressionId {
        if !format.narrows() || format == Precision::ANY {
            return of;
        }
        match self.get(of) {
            (ExpressionHead::Rounded(to), _) if to.within(format) => of,
            (
                head @ (ExpressionHead::Slice(_)
                | ExpressionHead::Gather { .. }
                | ExpressionHead::Reverse
                | ExpressionHead::Unary(Unary::Negate)),
                &[whole],
            ) => {
                let head = head.clone();
                let whole = self.round_to(format, whole);
                self.apply(head, vec![whole])
            }
            _ => self.intern(ExpressionHead::Rounded(format), vec![of]),
        }
    }

    /// Whether a constant that is added to a sum vanishes in f32 beside the sum's own, larger constant.
    fn vanishes(&self, constant: ExpressionId, sum: ExpressionId) -> bool {
        let (Some(small), (ExpressionHead::Binary(Binary::Add), [a, b])) = (self.value(constant), self.get(sum)) else {
            return false;
        };
        let large = self.value(*a).or(self.value(*b));
        large.is_some_and(|large| round_f64(&F32, large + small, Direction::NearestEven) == large)
    }

    /// The answer of a comparison of constants, where their rounding cannot have changed it.
    fn known_predicate(&self, id: ExpressionId) -> Option<bool> {
        let (ExpressionHead::Compare(direction), [a, b]) = self.get(id) else { return None };
        let ordering = self.value(*a)?.partial_cmp(&self.value(*b)?)?;
        ordering.is_ne().then(|| direction.of(Some(ordering)))
    }

    /// Result of comparing a predicate with a known one: that predicate, or its opposite.
    fn compared_predicate(&mut self, direction: Compare, a: ExpressionId, b: ExpressionId) -> Option<ExpressionId> {
        let (predicate, known) = if self.value(b).is_some() { (a, self.value(b)?) } else { (b, self.value(a)?) };
        let ExpressionHead::Compare(_) = self.get(predicate).0 else { return None };
        let is_same = (direction == Compare::Eq) == (known != 0.0);
        Some(if is_same { predicate } else { self.apply(ExpressionHead::Unary(Unary::Not), vec![predicate]) })
    }

    /// Whether the first of two comparisons, `<`, implies the second, `!=`, of the same numbers.
    fn implies(&self, below: ExpressionId, unequal: ExpressionId) -> bool {
        let (ExpressionHead::Compare(Compare::Lt), &[a, b]) = self.get(below) else { return false };
        let (ExpressionHead::Compare(Compare::Ne), &[c, d]) = self.get(unequal) else { return false };
        (a, b) == (c, d) || (a, b) == (d, c)
    }

    /// The scan that `within blocks + scan of the blocks' totals` is, if this is that sum.
    fn blocked_scan(&mut self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (ExpressionHead::Binary(by), [a, b]) = (head, operands) else { return None };
        let by = ReductionOperation::Known(*by);
        for (blocks, totals) in [(*a, *b), (*b, *a)] {
            let (ExpressionHead::Scan { by: inner, .. }, [x]) = self.get(blocks) else { continue };
            let (ExpressionHead::Scan { by: outer, rows }, [of]) = self.get(self.origin(totals)) else { continue };
            if *inner == by && *outer == by && self.origin(*of) == blocks {
                let (head, x) = (ExpressionHead::Scan { by, rows: *rows }, *x);
                let totals = self.origin(totals);
                self.absorb(blocks);
                self.absorb(totals);
                return Some(self.intern(head, vec![x]));
            }
        }
        None
    }

    /// The scan of what was padded at the end, if this cuts off what that added: nothing that is kept has read it.
    fn unpadded_scan(&mut self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (ExpressionHead::Slice(cut), [scan]) = (head, operands) else { return None };
        let (scanned @ ExpressionHead::Scan { .. }, [padded]) = self.get(*scan) else { return None };
        let (ExpressionHead::Pad(edges), [x, _]) = self.get(*padded) else { return None };
        let ([edge], [kept]) = (&edges[..], &cut[..]) else { return None };
        let at_end = edge.low == 0 && edge.interior == 0 && *kept == (0, edge.size, 1);
        let (scanned, x, step) = (scanned.clone(), *x, *scan);
        at_end.then(|| {
            self.absorb(step);
            self.intern(scanned, vec![x])
        })
    }

    /// A product with a mask of ones and zeros, as a select.
    fn masked(&mut self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (ExpressionHead::Binary(Binary::Multiply), [a, b]) = (head, operands) else { return None };
        for (x, mask) in [(*a, *b), (*b, *a)] {
            if let (ExpressionHead::FromPredicates, [predicate]) = self.get(mask) {
                let predicate = *predicate;
                self.absorb(mask);
                let zero = self.constant(0.0);
                return Some(self.apply(ExpressionHead::Select, vec![predicate, x, zero]));
            }
        }
        None
    }

    /// A sum with updates that were added to zeros, as the array with the updates added.
    fn updated(&mut self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (ExpressionHead::Binary(Binary::Add), [a, b]) = (head, operands) else { return None };
        for (updates, array) in [(*a, *b), (*b, *a)] {
            let (ExpressionHead::Scatter { by: ReductionOperation::Known(Binary::Add), .. }, &[zeros, of]) =
                self.get(updates)
            else {
                continue;
            };
            if self.is(zeros, 0.0) {
                let scatter = self.get(updates).0.clone();
                self.absorb(updates);
                return Some(self.apply(scatter, vec![array, of]));
            }
        }
        None
    }

    /// Arrays side by side, as one concatenation: concatenated, or each padded with the neutral element of the
    /// operation that joins them.
    fn joined(&mut self, head: &ExpressionHead, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let fill = match head {
            ExpressionHead::Binary(Binary::Maximum) => self.constant(f64::NEG_INFINITY),
            ExpressionHead::Binary(Binary::Add) => self.constant(0.0),
            ExpressionHead::Binary(Binary::Or) => self.leaf(ExpressionHead::Integers),
            _ => return None,
        };
        let &[a, b] = operands else { return None };
        // What is cut out of each is cut out of both.
        if let (ExpressionHead::Slice(cut), &[x], ExpressionHead::Slice(other), &[y]) =
            (self.get(a).0, self.get(a).1, self.get(b).0, self.get(b).1)
            && cut == other
        {
            let cut = cut.clone();
            let both = self.joined(head, &[x, y])?;
            return Some(self.apply(ExpressionHead::Slice(cut), vec![both]));
        }
        let [(one, x), (other, y)] = [self.part(a, fill)?, self.part(b, fill)?];
        let whole = |edge: Edge| edge.low + edge.size as i64 + edge.high;
        let ((first, left), (last, right)) =
            if one.low <= other.low { ((one, x), (other, y)) } else { ((other, y), (one, x)) };
        if whole(first) != whole(last) || first.low + first.size as i64 != last.low {
            return None;
        }
        let both = self.apply(ExpressionHead::Concatenate, self.side_by_side(&[left, right]));
        if first.low == 0 && last.high == 0 {
            return Some(both);
        }
        let edge = Edge { low: first.low, high: last.high, interior: 0, size: first.size + last.size };
        Some(self.intern(ExpressionHead::Pad(vec![edge]), vec![both, fill]))
    }

    /// The operand that is padded with `fill` along one dim, and its padding.
    fn part(&self, id: ExpressionId, fill: ExpressionId) -> Option<(Edge, ExpressionId)> {
        match self.get(id) {
            (ExpressionHead::Pad(edges), &[x, with]) if with == fill => match edges[..] {
                [edge] if edge.interior == 0 => Some((edge, x)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The parts of arrays that are concatenated.
    pub fn side_by_side(&self, arrays: &[ExpressionId]) -> Vec<ExpressionId> {
        let parts = |id: &ExpressionId| match self.get(*id) {
            (ExpressionHead::Concatenate, parts) => parts.to_vec(),
            _ => vec![*id],
        };
        arrays.iter().flat_map(parts).collect()
    }

    /// The operand that slices, pads and gathers were taken of.
    pub fn origin(&self, mut id: ExpressionId) -> ExpressionId {
        while let (ExpressionHead::Slice(_) | ExpressionHead::Pad(_) | ExpressionHead::Gather { .. }, [of, ..]) =
            self.get(id)
        {
            id = *of;
        }
        id
    }
}

#[cfg(test)]
mod tests;
