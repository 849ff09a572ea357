//! Constants that are stored in fewer or more bits.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Op, ValueId};

use super::super::expression::{ExpressionId, NumberBits};
use super::program_pair::Pair;

/// A constant that is stored in fewer or more bits in AFTER.
pub struct StoredConstant {
    /// The first value of BEFORE that is the constant.
    pub value: ValueId,
    /// The numbers that both programs store for it.
    pub numbers: [BTreeSet<NumberBits>; 2],
}

/// Constants that are stored in fewer or more bits, as the operations that use them see them.
pub fn find_stored(pair: &Pair) -> Vec<StoredConstant> {
    // By the value that uses them and the constant.
    let seen = [&pair.before, &pair.after].map(|graph| {
        let mut seen: BTreeMap<[ExpressionId; 2], (ValueId, BTreeSet<NumberBits>)> = BTreeMap::new();
        for (id, instruction) in graph.entry().instructions.iter().enumerate() {
            let user = &graph.values[id];
            for operand in instruction.operands.iter().filter(|_| user.live && user.scalar.is_none()) {
                let value = &graph.values[*operand];
                let Some(number) = value.scalar.filter(|n| value.float && *n != 0.0 && !n.is_nan()) else {
                    continue;
                };
                // Subtracting a number is adding its negative, and signs are no matter of precision.
                let number = if matches!(instruction.op, Op::Binary(_)) { number.abs() } else { number };
                if let Some(id) = pair.expressions.find_constant(number) {
                    let (_, numbers) = seen.entry([user.expression(), id]).or_insert((*operand, BTreeSet::new()));
                    numbers.insert(NumberBits::of(number));
                }
            }
        }
        seen
    });
    let [before, after] = &seen;
    let (mut told, mut found) = (BTreeSet::new(), Vec::new());
    for (at, (first, left)) in before {
        // A number that is gone has been put together with another.
        let Some((_, right)) = after.get(at).filter(|(_, right)| !right.is_subset(left)) else { continue };
        // One constant has many users, and is told once.
        if told.insert((at[1], left, right)) {
            found.push(StoredConstant { value: *first, numbers: [left.clone(), right.clone()] });
        }
    }
    found
}
