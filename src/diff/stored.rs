//! Numbers that are stored in fewer or more bits.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Op, ValueId};

use super::change::{Change, ChangeKind, number};
use super::compare::Comparison;
use super::expression::ExpressionId;

impl Comparison<'_, '_> {
    /// Constants that are stored in fewer or more bits, as the operations that use them see them.
    pub fn constants(&self, changes: &mut Vec<Change>) {
        // By the value that uses them and the constant.
        let seen = [&self.pair.before, &self.pair.after].map(|graph| {
            let mut seen: BTreeMap<[ExpressionId; 2], (ValueId, BTreeSet<u64>)> = BTreeMap::new();
            for (id, instruction) in graph.entry().instructions.iter().enumerate() {
                let user = &graph.values[id];
                for operand in instruction.operands.iter().filter(|_| user.live && user.scalar.is_none()) {
                    let value = &graph.values[*operand];
                    let Some(number) = value.scalar.filter(|n| value.float && *n != 0.0 && !n.is_nan()) else {
                        continue;
                    };
                    // Subtracting a number is adding its negative, and signs are no matter of precision.
                    let number = if matches!(instruction.op, Op::Binary(_)) { number.abs() } else { number };
                    if let Some(id) = self.pair.expressions.find_constant(number) {
                        seen.entry([user.expression(), id])
                            .or_insert((*operand, BTreeSet::new()))
                            .1
                            .insert(number.to_bits());
                    }
                }
            }
            seen
        });
        let [before, after] = seen;
        let text =
            |bits: &BTreeSet<u64>| bits.iter().map(|b| number(f64::from_bits(*b))).collect::<Vec<_>>().join(" and ");
        let mut told = BTreeSet::new();
        for (at, (first, left)) in &before {
            // A number that is gone has been put together with another.
            let Some((_, right)) = after.get(at).filter(|(_, right)| !right.is_subset(left)) else { continue };
            if told.insert((at[1], left, right)) {
                changes.push(self.change(ChangeKind::PrecisionChanged, *first, text(left), text(right)));
            }
        }
    }
}
