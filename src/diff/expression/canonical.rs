//! The one form of what can be written in several ways that round alike.

use crate::analysis::Precision;
use crate::ir::{Binary, Compare, Unary};
use crate::num::{Direction, F32, round_f64};

use super::expressions::{Combiner, Edge, ExpressionId, Expressions, Head};

/// Updates of one array that are added.
const SCATTER_ADD: Head = Head::Scatter { by: Combiner::Known(Binary::Add), part: 0 };

impl Expressions {
    /// An operation in its one form: division is multiplication by the reciprocal, operands of commutative operations
    /// are sorted, neutral elements vanish.
    pub fn apply(&mut self, head: Head, mut operands: Vec<ExpressionId>) -> ExpressionId {
        if let Some(id) = self.pull_sign(&head, &operands) {
            return id;
        }
        match (&head, &operands[..]) {
            (Head::Binary(Binary::Divide), [a, b]) => {
                let (a, b) = (*a, *b);
                let inverse = self.apply(Head::Reciprocal, vec![b]);
                return self.apply(Head::Binary(Binary::Multiply), vec![a, inverse]);
            }
            (Head::Reciprocal, &[a]) => match (self.value(a), self.get(a)) {
                (Some(value), _) => return self.constant(1.0 / value),
                (None, (Head::Reciprocal, &[of])) => return of,
                _ => {}
            },
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
            // Dividing by a power is multiplying with one whose exponent has the other sign.
            (Head::Unary(Unary::Exponential), &[exponent]) => {
                if let Some(exponent) = self.opposite(exponent) {
                    let power = self.apply(head, vec![exponent]);
                    return self.apply(Head::Reciprocal, vec![power]);
                }
            }
            (Head::Binary(Binary::Power), &[base, exponent]) => {
                if let Some(exponent) = self.opposite(exponent) {
                    let power = self.apply(head, vec![base, exponent]);
                    return self.apply(Head::Reciprocal, vec![power]);
                }
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
            (Head::Unary(Unary::Not), &[a]) if *self.get(a).0 == Head::Unary(Unary::Not) => return self.get(a).1[0],
            (Head::Select, &[predicate, yes, no]) if *self.get(predicate).0 == Head::Unary(Unary::Not) => {
                let predicate = self.get(predicate).1[0];
                return self.apply(head, vec![predicate, no, yes]);
            }
            (Head::Select, [predicate, yes, no]) => {
                if let Some(is_so) = self.known_predicate(*predicate) {
                    return if is_so { *yes } else { *no };
                }
                if self.is(*yes, 1.0) && self.is(*no, 0.0) {
                    return self.apply(Head::FromPredicates, vec![*predicate]);
                }
                // An update of zeros where an index is met, if there is such an update.
                if let (Head::Integers, true, updates) = (self.get(*predicate).0, self.is(*no, 0.0), *yes)
                    && let Some(update) = self.find(&SCATTER_ADD, &[*no, updates])
                {
                    return update;
                }
            }
            // What lies outside of the array is not updated, which may be written down.
            (Head::Update, &[array, updates]) => {
                if let (Head::Select, &[places, updates, kept]) = self.get(updates)
                    && *self.get(places).0 == Head::Integers
                    && self.origin(kept) == array
                {
                    return self.apply(head, vec![array, updates]);
                }
            }
            (head, &[array, updates]) if *head == SCATTER_ADD && self.is(array, 0.0) => {
                let places = self.leaf(Head::Integers);
                if let Some(choice) = self.find(&Head::Select, &[places, updates, array]) {
                    return choice;
                }
            }
            (Head::Binary(Binary::Maximum), [a, b]) => {
                let neutral = f64::NEG_INFINITY;
                if self.is(*a, neutral) || self.is(*b, neutral) {
                    return if self.is(*a, neutral) { *b } else { *a };
                }
            }
            (Head::Compare(direction @ (Compare::Ne | Compare::Eq)), &[a, b]) => {
                if let Some(same) = self.compared_predicate(*direction, a, b) {
                    return same;
                }
            }
            // What is below is not equal.
            (Head::Binary(Binary::And), &[a, b]) if self.implies(a, b) => return a,
            (Head::Binary(Binary::And), &[a, b]) if self.implies(b, a) => return b,
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
            (Head::Rounded(to), _) if to.within(format) => of,
            (head @ (Head::Slice(_) | Head::Gather { .. } | Head::Reverse | Head::Unary(Unary::Negate)), &[whole]) => {
                let head = head.clone();
                let whole = self.round_to(format, whole);
                self.apply(head, vec![whole])
            }
            _ => self.intern(Head::Rounded(format), vec![of]),
        }
    }

    /// Whether a constant that is added to a sum vanishes in f32 beside the sum's own, larger constant.
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

    /// Result of comparing a predicate with a known one: that predicate, or its opposite.
    fn compared_predicate(&mut self, direction: Compare, a: ExpressionId, b: ExpressionId) -> Option<ExpressionId> {
        let (predicate, known) = if self.value(b).is_some() { (a, self.value(b)?) } else { (b, self.value(a)?) };
        let Head::Compare(_) = self.get(predicate).0 else { return None };
        let is_same = (direction == Compare::Eq) == (known != 0.0);
        Some(if is_same { predicate } else { self.apply(Head::Unary(Unary::Not), vec![predicate]) })
    }

    /// Whether the first of two comparisons, `<`, implies the second, `!=`, of the same numbers.
    fn implies(&self, below: ExpressionId, unequal: ExpressionId) -> bool {
        let (Head::Compare(Compare::Lt), &[a, b]) = self.get(below) else { return false };
        let (Head::Compare(Compare::Ne), &[c, d]) = self.get(unequal) else { return false };
        (a, b) == (c, d) || (a, b) == (d, c)
    }

    /// The scan that `within blocks + scan of the blocks' totals` is, if this is that sum.
    fn blocked_scan(&mut self, head: &Head, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (Head::Binary(by), [a, b]) = (head, operands) else { return None };
        let by = Combiner::Known(*by);
        for (blocks, totals) in [(*a, *b), (*b, *a)] {
            let (Head::Scan { by: inner, .. }, [x]) = self.get(blocks) else { continue };
            let (Head::Scan { by: outer, rows }, [of]) = self.get(self.origin(totals)) else { continue };
            if *inner == by && *outer == by && self.origin(*of) == blocks {
                let (head, x) = (Head::Scan { by, rows: *rows }, *x);
                let totals = self.origin(totals);
                self.absorb(blocks);
                self.absorb(totals);
                return Some(self.intern(head, vec![x]));
            }
        }
        None
    }

    /// The scan of what was padded at the end, if this cuts off what that added: nothing that is kept has read it.
    fn unpadded_scan(&mut self, head: &Head, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (Head::Slice(cut), [scan]) = (head, operands) else { return None };
        let (scanned @ Head::Scan { .. }, [padded]) = self.get(*scan) else { return None };
        let (Head::Pad(edges), [x, _]) = self.get(*padded) else { return None };
        let ([edge], [kept]) = (&edges[..], &cut[..]) else { return None };
        let at_end = edge.low == 0 && edge.interior == 0 && *kept == (0, edge.size, 1);
        let (scanned, x, step) = (scanned.clone(), *x, *scan);
        at_end.then(|| {
            self.absorb(step);
            self.intern(scanned, vec![x])
        })
    }

    /// A product with a mask of ones and zeros, as a select.
    fn masked(&mut self, head: &Head, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (Head::Binary(Binary::Multiply), [a, b]) = (head, operands) else { return None };
        for (x, mask) in [(*a, *b), (*b, *a)] {
            if let (Head::FromPredicates, [predicate]) = self.get(mask) {
                let predicate = *predicate;
                self.absorb(mask);
                let zero = self.constant(0.0);
                return Some(self.apply(Head::Select, vec![predicate, x, zero]));
            }
        }
        None
    }

    /// A sum with updates that were added to zeros, as the array with the updates added.
    fn updated(&mut self, head: &Head, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let (Head::Binary(Binary::Add), [a, b]) = (head, operands) else { return None };
        for (updates, array) in [(*a, *b), (*b, *a)] {
            let (Head::Scatter { by: Combiner::Known(Binary::Add), .. }, &[zeros, of]) = self.get(updates) else {
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
    fn joined(&mut self, head: &Head, operands: &[ExpressionId]) -> Option<ExpressionId> {
        let fill = match head {
            Head::Binary(Binary::Maximum) => self.constant(f64::NEG_INFINITY),
            Head::Binary(Binary::Add) => self.constant(0.0),
            Head::Binary(Binary::Or) => self.leaf(Head::Integers),
            _ => return None,
        };
        let &[a, b] = operands else { return None };
        // What is cut out of each is cut out of both.
        if let (Head::Slice(cut), &[x], Head::Slice(other), &[y]) =
            (self.get(a).0, self.get(a).1, self.get(b).0, self.get(b).1)
            && cut == other
        {
            let cut = cut.clone();
            let both = self.joined(head, &[x, y])?;
            return Some(self.apply(Head::Slice(cut), vec![both]));
        }
        let [(one, x), (other, y)] = [self.part(a, fill)?, self.part(b, fill)?];
        let whole = |edge: Edge| edge.low + edge.size as i64 + edge.high;
        let ((first, left), (last, right)) =
            if one.low <= other.low { ((one, x), (other, y)) } else { ((other, y), (one, x)) };
        if whole(first) != whole(last) || first.low + first.size as i64 != last.low {
            return None;
        }
        let both = self.apply(Head::Concatenate, self.side_by_side(&[left, right]));
        if first.low == 0 && last.high == 0 {
            return Some(both);
        }
        let edge = Edge { low: first.low, high: last.high, interior: 0, size: first.size + last.size };
        Some(self.intern(Head::Pad(vec![edge]), vec![both, fill]))
    }

    /// The operand that is padded with `fill` along one dim, and its padding.
    fn part(&self, id: ExpressionId, fill: ExpressionId) -> Option<(Edge, ExpressionId)> {
        match self.get(id) {
            (Head::Pad(edges), &[x, with]) if with == fill => match edges[..] {
                [edge] if edge.interior == 0 => Some((edge, x)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The parts of arrays that are concatenated.
    pub fn side_by_side(&self, arrays: &[ExpressionId]) -> Vec<ExpressionId> {
        let parts = |id: &ExpressionId| match self.get(*id) {
            (Head::Concatenate, parts) => parts.to_vec(),
            _ => vec![*id],
        };
        arrays.iter().flat_map(parts).collect()
    }

    /// The operand that slices, pads and gathers were taken of.
    pub fn origin(&self, mut id: ExpressionId) -> ExpressionId {
        while let (Head::Slice(_) | Head::Pad(_) | Head::Gather { .. }, [of, ..]) = self.get(id) {
            id = *of;
        }
        id
    }
}

#[cfg(test)]
mod tests;
