//! The rules of XLA's algebraic simplifier that change floats (FACTS 9.1), and the groups of operations that they join.

use crate::ir::{Binary, Class, Instruction, Op, Unary, ValueId};
use crate::num::Format;
use crate::tensor::DType;

/// A constant factor, a factor that is no constant, or a divisor: what two terms may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    Constant(u64),
    Value(ValueId),
    Divisor(ValueId),
}

/// The facts about the forms of one value.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Whether it is made of constants alone.
    pub is_constant: bool,
    /// Whether it may stand as a broadcast: it is made of constants and broadcasts.
    pub is_spread: bool,
    /// Whether some form of it is a product with a constant.
    is_scaled: bool,
    /// Whether some form of it is a sum with a constant.
    is_shifted: bool,
    /// The factors of a product.
    factors: Vec<Factor>,
    /// The coarsest format on the way from its root.
    pub format: Option<Format>,
}

/// Groups in the making.
pub struct Groups<'a> {
    pub instructions: &'a [Instruction],
    pub known: Vec<Known>,
    /// The operation behind what moves and converts elements.
    pub roots: Vec<ValueId>,
    /// For each operation one of its group, itself if it is in none or the first.
    leaders: Vec<ValueId>,
    /// Whether a rule applies.
    pub is_joined: Vec<bool>,
    /// Whether exponents are added or multiplied.
    pub adds_exponents: Vec<bool>,
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
    pub fn new(instructions: &'a [Instruction], is_sum: &dyn Fn(ValueId) -> bool) -> Groups<'a> {
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

    pub fn operation(&self, id: ValueId) -> &'a Op {
        &self.instructions[self.roots[id]].op
    }

    pub fn leader(&self, id: ValueId) -> ValueId {
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
            (Op::Unary(Unary::Rsqrt), &[a]) => {
                // rsqrt(1/x) is sqrt(x), and rsqrt(x^-2) is |x|.
                let under = &self.instructions[self.roots[a]];
                let of_constant = |at: usize| under.operands.get(at).is_some_and(|id| self.known[*id].is_constant);
                let is_inverse = match under.op {
                    Op::Binary(Binary::Divide) => of_constant(0),
                    Op::Binary(Binary::Power) => of_constant(1),
                    _ => false,
                };
                if is_inverse {
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

    pub fn factor(&self, id: ValueId) -> Factor {
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
