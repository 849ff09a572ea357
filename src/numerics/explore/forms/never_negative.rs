//! Values that XLA's simplifier takes for never negative, NaN as well: |x| >= 0 is true there, and ||x|| is |x| (FACTS 9.1).

use crate::ir::{Binary, Compare, Instruction, Op, Unary, ValueId};
use crate::oracle::{Forms, Latitude, Rounding};
use crate::tensor::DType;

use super::groups::Groups;

/// Lets a NaN be any number where it is compared as what is never negative.
pub(super) fn forget_nan(latitudes: &mut [Latitude], groups: &Groups) {
    let is_never_negative = never_negative(groups);
    let mut is_forgotten = vec![false; groups.instructions.len()];
    for (id, Instruction { op, operands, .. }) in groups.instructions.iter().enumerate() {
        // |x| is x there, and keeps the sign of a NaN.
        if *op == Op::Unary(Unary::Abs) && is_never_negative[groups.roots[operands[0]]] {
            forget(&mut latitudes[id]);
        }
        let (Op::Compare { direction, .. }, &[a, b]) = (op, &operands[..]) else { continue };
        let (value, bound) = match direction {
            Compare::Ge => (a, b),
            Compare::Le => (b, a),
            Compare::Eq | Compare::Ne | Compare::Gt | Compare::Lt => continue,
        };
        let root = groups.roots[value];
        if is_never_negative[root] && is_zero(groups.operation(bound)) {
            forget_value(latitudes, groups, root, &mut is_forgotten);
        }
    }
}

fn is_zero(op: &Op) -> bool {
    matches!(op, Op::Constant(value) if (0..value.len()).all(|at| value.data().get_f64(at) == 0.0))
}

/// Whether the simplifier takes each value for one that is never negative, whatever its operands are.
fn never_negative(groups: &Groups) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(groups.instructions.len());
    for (id, Instruction { op, operands, shape, .. }) in groups.instructions.iter().enumerate() {
        let root = groups.roots[id];
        let of = |at: usize| found[groups.roots[operands[at]]];
        let is = match op {
            _ if root != id => found[root],
            _ if !shape.dtype().is_some_and(DType::is_float) => false,
            Op::Binary(Binary::Multiply) => groups.roots[operands[0]] == groups.roots[operands[1]],
            Op::Unary(Unary::Abs | Unary::Exponential) => true,
            Op::Constant(value) => (0..value.len()).all(|at| value.data().get_f64(at) >= 0.0),
            Op::Binary(Binary::Minimum) => of(0) && of(1),
            Op::Binary(Binary::Maximum) => of(0) || of(1),
            Op::Binary(Binary::Power) => of(0),
            Op::Select => of(1) && of(2),
            _ => false,
        };
        found.push(is);
    }
    found
}

/// Lets a NaN of a value be a number, where it comes from: a select has it of one of its operands.
fn forget_value(latitudes: &mut [Latitude], groups: &Groups, id: ValueId, is_forgotten: &mut [bool]) {
    let mut left = vec![groups.roots[id]];
    while let Some(root) = left.pop() {
        if std::mem::replace(&mut is_forgotten[root], true) {
            continue;
        }
        let Instruction { op, operands, .. } = &groups.instructions[root];
        match op {
            Op::Select => left.extend(operands[1..].iter().map(|operand| groups.roots[*operand])),
            _ => forget(&mut latitudes[root]),
        }
    }
}

/// Lets a NaN of this value be a number.
fn forget(latitude: &mut Latitude) {
    match latitude {
        Latitude::Rounded(rounding) => rounding.forms.get_or_insert_default().forgets_signs = true,
        Latitude::Exact { floor } => {
            let forms = Some(Forms { forgets_signs: true, ..Forms::default() });
            *latitude = Latitude::Rounded(Rounding { floor: *floor, forms, ..Rounding::default() });
        }
        // An option is another value of the program, with facts of its own; the rest may be a number as it is.
        Latitude::OneOf { .. } | Latitude::Unknown => {}
    }
}
