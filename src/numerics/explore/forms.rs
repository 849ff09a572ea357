//! Where a compiler may compute as if floats were real numbers: the rules of XLA's algebraic simplifier that change floats
//! (FACTS 9.1), as groups of operations.
//!
//! A rule looks from an operation through what moves or converts elements at the operations of its operands. What one rewrite
//! gives the next one may match, so that operations which any rule joins, perhaps after other rules, are one group. Every form of
//! a group is one function of the same real numbers, computed with no more roundings than the group has operations and
//! constants. So each result of a group lies within that many errors of the real number.

use std::collections::BTreeMap;

use crate::analysis::Reducer;
use crate::ir::{Binary, Class, Instruction, Op, Unary, ValueId};
use crate::num::{F32, Format};
use crate::oracle::{Latitude, Rounding};
use crate::stat::gamma;
use crate::tensor::DType;

use super::allowance::Analyses;

/// The largest magnitude of a sum or product of exponents whose exponentials and their product are normal numbers.
const EXPONENTS: f64 = 256.0;

/// A constant factor, a factor that is no constant, or a divisor: what two terms may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    Constant(u64),
    Value(ValueId),
    Divisor(ValueId),
}

/// What is known of the forms of one value.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Whether it is made of constants alone.
    is_constant: bool,
    /// Whether it may stand as a broadcast: it is made of constants and broadcasts.
    is_spread: bool,
    /// Whether some form of it is a product with a constant.
    is_scaled: bool,
    /// Whether some form of it is a sum with a constant.
    is_shifted: bool,
    /// The factors of a product.
    factors: Vec<Factor>,
    /// The coarsest format on the way from its root.
    format: Option<Format>,
}

/// Groups in the making.
struct Groups<'a> {
    instructions: &'a [Instruction],
    known: Vec<Known>,
    /// The operation behind what moves and converts elements.
    roots: Vec<ValueId>,
    /// For each operation one of its group, itself if it is in none or the first.
    leaders: Vec<ValueId>,
    /// Whether a rule applies.
    is_joined: Vec<bool>,
    /// Whether exponents are added or multiplied.
    adds_exponents: Vec<bool>,
}

fn coarser(one: Option<Format>, other: Option<Format>) -> Option<Format> {
    match (one, other) {
        (Some(one), Some(other)) if other.unit_roundoff() > one.unit_roundoff() => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

/// Whether an operation only hands elements on, perhaps in another format, so that rules look through it.
fn is_transparent(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Reshape | Op::Transpose { .. } | Op::Broadcast { .. } | Op::Copy | Op::Convert)
}

impl<'a> Groups<'a> {
    fn new(instructions: &'a [Instruction], is_sum: &dyn Fn(ValueId) -> bool) -> Groups<'a> {
        let count = instructions.len();
        let mut groups = Groups {
            instructions,
            known: Vec::with_capacity(count),
            roots: Vec::with_capacity(count),
            leaders: (0..count).collect(),
            is_joined: vec![false; count],
            adds_exponents: vec![false; count],
        };
        for (id, instruction) in instructions.iter().enumerate() {
            let is_float = |id: ValueId| instructions[id].shape.dtype().is_some_and(DType::is_float);
            let own =
                instruction.shape.dtype().filter(|dtype| dtype.is_float()).and_then(|dtype| dtype.format().copied());
            let hands_on = is_transparent(instruction) && is_float(id) && is_float(instruction.operands[0]);
            let mut known = match hands_on {
                true => groups.known[instruction.operands[0]].clone(),
                false => Known::default(),
            };
            known.format = coarser(known.format, own);
            known.is_spread |= matches!(instruction.op, Op::Broadcast { .. });
            groups.roots.push(if hands_on { groups.roots[instruction.operands[0]] } else { id });
            let of_all = |test: fn(&Known) -> bool, known: &[Known]| {
                !instruction.operands.is_empty() && instruction.operands.iter().all(|operand| test(&known[*operand]))
            };
            if matches!(instruction.op, Op::Constant(_)) {
                (known.is_constant, known.is_spread) = (true, true);
            } else if !hands_on && matches!(instruction.op.class(), Class::Elementwise | Class::Converts | Class::Moves)
            {
                known.is_constant = of_all(|known| known.is_constant, &groups.known);
                known.is_spread = of_all(|known| known.is_spread, &groups.known);
            }
            groups.known.push(known);
            if is_float(id) && !hands_on && !groups.known[id].is_constant {
                groups.rules(id, is_sum);
            }
        }
        groups
    }

    fn operation(&self, id: ValueId) -> &'a Op {
        &self.instructions[self.roots[id]].op
    }

    fn leader(&self, id: ValueId) -> ValueId {
        if self.leaders[id] == id { id } else { self.leader(self.leaders[id]) }
    }

    /// A rule joins an operation with that behind an operand.
    fn join(&mut self, id: ValueId, operand: ValueId) {
        let (one, other) = (self.leader(id), self.leader(self.roots[operand]));
        self.leaders[one.max(other)] = one.min(other);
        self.is_joined[id] = true;
    }

    /// Every rule whose pattern ends in this operation.
    fn rules(&mut self, id: ValueId, is_sum: &dyn Fn(ValueId) -> bool) {
        let instruction = &self.instructions[id];
        match (&instruction.op, &instruction.operands[..]) {
            (Op::Binary(Binary::Multiply), &[a, b]) => self.product(id, a, b),
            (Op::Binary(Binary::Divide), &[a, b]) => self.quotient(id, a, b),
            (Op::Binary(binary @ (Binary::Add | Binary::Subtract)), &[a, b]) => {
                self.sum(id, (a, b), *binary == Binary::Add)
            }
            (Op::Binary(Binary::Power), &[a, b]) => self.power(id, a, b),
            (Op::Unary(Unary::Sqrt), &[a]) => {
                // sqrt(x*x) is |x|.
                let is_square = match &self.instructions[self.roots[a]] {
                    Instruction { op: Op::Binary(Binary::Multiply), operands, .. } => {
                        self.roots[operands[0]] == self.roots[operands[1]]
                    }
                    Instruction { op: Op::Binary(Binary::Power), .. } => true,
                    _ => false,
                };
                if is_square {
                    self.join(id, a);
                }
            }
            (Op::Unary(Unary::Log), &[a]) => match self.operation(a) {
                // log(exp(x)) is x, and all that x is.
                Op::Unary(Unary::Exponential) => {
                    let exponent = self.instructions[self.roots[a]].operands[0];
                    self.join(id, a);
                    self.expose(id, exponent);
                }
                Op::Unary(Unary::Sqrt | Unary::Rsqrt) => {
                    self.join(id, a);
                    self.known[id].is_scaled = true;
                }
                _ => {}
            },
            // A sum of equal terms is a product with their number.
            (Op::Reduce { .. }, &[a, _]) if is_sum(id) && self.known[a].is_spread => self.known[id].is_scaled = true,
            _ => {}
        }
    }

    /// A value may stand for an exponent, or be made of it.
    fn expose(&mut self, id: ValueId, exponent: ValueId) {
        let Known { is_scaled, is_shifted, .. } = self.known[exponent];
        if is_scaled || is_shifted {
            self.join(id, exponent);
        }
        (self.known[id].is_scaled, self.known[id].is_shifted) = (is_scaled, is_shifted);
    }

    fn factor(&self, id: ValueId) -> Factor {
        match &self.instructions[self.roots[id]].op {
            Op::Constant(value) if value.len() == 1 => Factor::Constant(value.data().get_f64(0).to_bits()),
            _ => Factor::Value(self.roots[id]),
        }
    }

    fn product(&mut self, id: ValueId, a: ValueId, b: ValueId) {
        self.known[id].factors = [a, b].into_iter().map(|operand| self.factor(operand)).collect();
        for (one, other) in [(a, b), (b, a)] {
            let is_scaled = self.known[one].is_scaled;
            if self.known[other].is_constant {
                self.known[id].is_scaled = true;
                if is_scaled {
                    self.join(id, one);
                }
            } else if is_scaled && (self.known[other].is_scaled || self.known[other].is_spread) {
                // Both constants become one; a constant goes to what is broadcast.
                self.join(id, one);
                self.known[id].is_scaled |= self.known[other].is_scaled;
                if self.known[other].is_scaled {
                    self.join(id, other);
                }
            }
        }
        match (self.operation(a), self.operation(b)) {
            (Op::Unary(one @ (Unary::Sqrt | Unary::Rsqrt)), Op::Unary(other)) if one == other => {
                let of = |id: ValueId| self.roots[self.instructions[self.roots[id]].operands[0]];
                if of(a) == of(b) {
                    self.join(id, a);
                    self.join(id, b);
                }
            }
            (Op::Unary(Unary::Exponential), Op::Unary(Unary::Exponential)) => self.of_exponentials(id, &[a, b]),
            _ => {}
        }
    }

    /// Exponents are added, subtracted or multiplied.
    fn of_exponentials(&mut self, id: ValueId, exponentials: &[ValueId]) {
        self.adds_exponents[id] = true;
        for exponential in exponentials {
            self.join(id, *exponential);
            let exponent = self.instructions[self.roots[*exponential]].operands[0];
            if self.known[exponent].is_shifted || self.known[exponent].is_scaled {
                self.join(id, exponent);
            }
        }
    }

    fn quotient(&mut self, id: ValueId, a: ValueId, b: ValueId) {
        let is_constant = self.known[b].is_constant;
        let divisor = match self.factor(b) {
            Factor::Value(value) => Factor::Divisor(value),
            // What is divided by one constant is multiplied by one.
            constant => constant,
        };
        self.known[id].factors = vec![self.factor(a), divisor];
        self.known[id].is_scaled = is_constant;
        let is_quotient = |op: &Op| matches!(op, Op::Binary(Binary::Divide));
        if is_quotient(self.operation(a)) || self.known[a].is_scaled && (is_constant || self.known[b].is_spread) {
            self.join(id, a);
        }
        if is_constant {
            return;
        }
        match self.operation(b) {
            Op::Binary(Binary::Divide) => {
                self.join(id, b);
                if self.known[a].is_scaled {
                    self.join(id, a);
                }
                let [over, under] = [0, 1].map(|at| self.instructions[self.roots[b]].operands[at]);
                // a / (b / c) is (a c) / b: what was divided by is a factor now.
                if self.known[under].is_scaled {
                    self.join(id, under);
                }
                let constants = [a, over, under].iter().any(|operand| self.known[*operand].is_constant);
                self.known[id].is_scaled |= constants || self.known[a].is_scaled;
            }
            Op::Unary(Unary::Sqrt | Unary::Rsqrt) | Op::Binary(Binary::Power) => self.join(id, b),
            Op::Unary(Unary::Exponential) => {
                self.join(id, b);
                if matches!(self.operation(a), Op::Unary(Unary::Exponential)) {
                    self.of_exponentials(id, &[a, b]);
                }
            }
            _ => {}
        }
    }

    fn sum(&mut self, id: ValueId, (a, b): (ValueId, ValueId), is_sum: bool) {
        for (one, other) in [(a, b), (b, a)] {
            if self.known[other].is_constant {
                self.known[id].is_shifted = true;
                if self.known[one].is_shifted {
                    self.join(id, one);
                }
            }
        }
        // x z + y z is (x + y) z.
        let of = |id: ValueId| self.known[self.roots[id]].factors.clone();
        let (one, other) = (of(a), of(b));
        if is_sum && one.iter().any(|factor| other.contains(factor)) {
            self.join(id, a);
            self.join(id, b);
            self.known[id].is_scaled = true;
            self.known[id].factors = one.into_iter().chain(other).collect();
        }
    }

    fn power(&mut self, id: ValueId, a: ValueId, b: ValueId) {
        if matches!(self.operation(a), Op::Unary(Unary::Exponential)) {
            self.of_exponentials(id, &[a]);
        }
        let Factor::Constant(bits) = self.factor(b) else { return };
        // The powers that are products, quotients and roots.
        if [0.0, 1.0, 2.0, 3.0, -1.0, 0.5].contains(&f64::from_bits(bits)) {
            self.is_joined[id] = true;
            self.known[id].factors = vec![self.factor(a)];
            if self.known[a].is_scaled {
                self.join(id, a);
                self.known[id].is_scaled = true;
            }
        }
    }
}

/// The roundings of an operation in any form, and of the constants that it may be folded with.
fn roundings(instruction: &Instruction, known: &[Known]) -> usize {
    let constants = instruction.operands.iter().filter(|operand| known[**operand].is_constant).count();
    // x^3 is two products.
    let own = if matches!(instruction.op, Op::Binary(Binary::Power)) { 2 } else { 1 };
    own + 2 * constants
}

/// Lets each result of a group be what any form of it gives.
pub(super) fn widen(latitudes: &mut [Latitude], analyses: &Analyses) {
    let program = analyses.program();
    let instructions = &program.entry().instructions;
    let is_sum = |id: ValueId| match &instructions[id].op {
        Op::Reduce { to_apply, .. } => analyses.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add)),
        _ => false,
    };
    let groups = Groups::new(instructions, &is_sum);
    let mut members: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
    for id in (0..instructions.len()).filter(|id| groups.roots[*id] == *id) {
        members.entry(groups.leader(id)).or_default().push(id);
    }
    for group in members.values().filter(|group| group.iter().any(|id| groups.is_joined[*id])) {
        let share = groups.share(group, latitudes, analyses);
        group.iter().for_each(|id| allow(&mut latitudes[*id], &instructions[*id], share));
    }
    for (id, instruction) in instructions.iter().enumerate() {
        let Instruction { op, operands, .. } = instruction;
        match op {
            // log(x^y) is y log|x|: the error of the logarithm is multiplied by what may be anything.
            Op::Unary(Unary::Log) if matches!(groups.operation(operands[0]), Op::Binary(Binary::Power)) => {
                latitudes[id] = Latitude::Unknown;
            }
            // A sum of sums is one sum.
            Op::Reduce { .. } if is_sum(id) && is_sum(groups.roots[operands[0]]) => {
                let (inner, outer) = (groups.roots[operands[0]], id);
                let terms = |id: ValueId| {
                    let [terms, sums] = [instructions[id].operands[0], id].map(|id| instructions[id].shape.elements());
                    terms / sums.max(1)
                };
                merge(&mut latitudes[inner], groups.known[operands[0]].format, terms(inner) * terms(outer));
            }
            // A dot with equal columns is a sum, times their value.
            Op::Dot { .. } if operands.iter().any(|operand| groups.known[*operand].is_spread) => {
                if let Latitude::Rounded(Rounding { additions: Some(additions), .. }) = &mut latitudes[id] {
                    additions.share = (additions.share + 4.0 * F32.unit_roundoff()).next_up();
                }
            }
            Op::Binary(Binary::Add | Binary::Subtract | Binary::Multiply) => {
                let is_zero =
                    |id: &ValueId| matches!(groups.factor(*id), Factor::Constant(bits) if f64::from_bits(bits) == 0.0);
                let is_flag = |id: &ValueId| {
                    let root = &instructions[groups.roots[*id]];
                    root.op == Op::Convert && instructions[root.operands[0]].shape.dtype() == Some(DType::Pred)
                };
                let is_product = matches!(op, Op::Binary(Binary::Multiply));
                // x + 0 is x, and a product with a predicate is picked: zeros may be of either sign, NaN may be none.
                if operands.iter().any(|operand| if is_product { is_flag(operand) } else { is_zero(operand) })
                    && let Latitude::Rounded(rounding) = &mut latitudes[id]
                {
                    rounding.forms.get_or_insert_default().forgets_signs = true;
                }
            }
            _ => {}
        }
    }
}

impl Groups<'_> {
    /// By what share of itself, or of what it adds up, a result of a group may differ from the real number; `None` where
    /// nothing is known.
    fn share(&self, group: &[ValueId], latitudes: &[Latitude], analyses: &Analyses) -> Option<f64> {
        let mut count = 2;
        let mut error: f64 = 0.0;
        let mut unit: f64 = 0.0;
        let mut formats = Vec::new();
        for id in group {
            let instruction = &self.instructions[*id];
            count += roundings(instruction, &self.known);
            let dtype = instruction.shape.dtype()?;
            formats.push(dtype.format().copied());
            formats.extend(instruction.operands.iter().map(|operand| self.known[*operand].format));
            if let Latitude::Rounded(rounding) = &latitudes[*id] {
                error = error.max(rounding.relative);
                let reciprocals = rounding.reciprocal.iter().chain(&rounding.others);
                formats.extend(reciprocals.flat_map(|(formats, _)| formats.iter().map(|format| Some(*format))));
            }
            // One root may take the place of the other, and a quotient that of roots.
            let roots = match &instruction.op {
                Op::Unary(Unary::Sqrt | Unary::Rsqrt) => &[Unary::Sqrt, Unary::Rsqrt][..],
                Op::Binary(Binary::Power) => &[Unary::Sqrt][..],
                _ => &[],
            };
            for root in roots {
                error = error.max(analyses.function(*root, dtype)?);
            }
            if matches!(instruction.op, Op::Unary(Unary::Rsqrt) | Op::Binary(Binary::Divide | Binary::Power)) {
                error = error.max(analyses.quotient(dtype));
            }
            if matches!(instruction.op, Op::Unary(Unary::Exponential)) {
                error = error.max(analyses.function(Unary::Exponential, dtype)?);
            }
        }
        for format in formats.into_iter().flatten() {
            unit = unit.max(format.unit_roundoff());
        }
        let exponents = if group.iter().any(|id| self.adds_exponents[*id]) { EXPONENTS * unit } else { 0.0 };
        Some((gamma(count as u64, unit + error)? + exponents).next_up())
    }
}

/// Lets one result of a group be off by a share.
fn allow(latitude: &mut Latitude, instruction: &Instruction, share: Option<f64>) {
    let is_member = matches!(
        instruction.op,
        Op::Binary(Binary::Multiply | Binary::Divide | Binary::Add | Binary::Subtract | Binary::Power)
            | Op::Unary(Unary::Sqrt | Unary::Rsqrt | Unary::Exponential | Unary::Log)
    );
    if !is_member {
        return;
    }
    match (latitude, share) {
        (Latitude::Rounded(rounding), Some(share)) => {
            // A logarithm's own error, once more for each rounding that its argument may have had.
            let absolute = rounding.absolute + share;
            let absolute = if matches!(instruction.op, Op::Unary(Unary::Log)) { absolute } else { 0.0 };
            let forms = rounding.forms.get_or_insert_default();
            (forms.share, forms.absolute) = (share, absolute);
        }
        (latitude, None) => *latitude = Latitude::Unknown,
        _ => {}
    }
}

/// Lets a sum that another sum adds up err as all terms of both may, and lose no rounding between them.
fn merge(latitude: &mut Latitude, between: Option<Format>, terms: usize) {
    let Latitude::Rounded(rounding) = latitude else { return };
    let (formats, Some(additions)) = (&rounding.formats, &mut rounding.additions) else { return };
    let unit = F32.unit_roundoff();
    match gamma(terms as u64, unit) {
        Some(share) => additions.share = additions.share.max(share),
        None => return *latitude = Latitude::Unknown,
    }
    let formats = formats.iter().copied().chain(between);
    let coarsest = formats.map(|format| format.unit_roundoff()).fold(0.0, f64::max);
    rounding.relative = rounding.relative.max(2.0 * coarsest);
}
