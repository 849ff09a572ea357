//! Points at which an expression has another form that is the same over the real numbers: the rules of XLA's algebraic simplifier
//! (FACTS 9.1) that two or three operations of one shape make up.

use crate::ir::{Binary, Instruction, Op, Shape, Unary, ValueId};
use crate::num::{BF16, Direction, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::{Freedom, ProgramChoicesBuilder};

/// A constant that is the same for all elements.
#[derive(Clone, Copy)]
struct SimplifiedScalar {
    value: f32,
    is_bf16: bool,
}

impl ProgramChoicesBuilder<'_> {
    /// The value that users see: `seen`, or another form of the value if there is one.
    pub(super) fn in_another_form(&mut self, id: ValueId, seen: ValueId) -> ValueId {
        let other = self.with_one_constant(id).or_else(|| self.other_form(id));
        match other {
            Some(other) => self.point((id, id), vec![seen, other], None, Freedom::Algebra, None),
            None => seen,
        }
    }

    /// The value behind conversions of the same elements.
    fn behind(&self, id: ValueId) -> ValueId {
        let entry = self.program.entry();
        let is_float = |id: ValueId| entry.instructions[id].shape.dtype().is_some_and(DType::is_float);
        match &entry.instructions[id] {
            Instruction { op: Op::Convert | Op::Copy, operands, .. } if is_float(operands[0]) => {
                self.behind(operands[0])
            }
            _ => id,
        }
    }

    /// The operation behind conversions, with its operands.
    fn expression(&self, id: ValueId) -> (&Op, &[ValueId]) {
        let Instruction { op, operands, .. } = &self.program.entry().instructions[self.behind(id)];
        (op, operands)
    }

    fn scalar(&self, id: ValueId) -> Option<SimplifiedScalar> {
        let Instruction { op, operands, shape, .. } = &self.program.entry().instructions[id];
        match op {
            Op::Constant(value) if value.len() == 1 && value.dtype().is_float() => Some(SimplifiedScalar {
                value: value.data().get_f64(0) as f32,
                is_bf16: shape.dtype() == Some(DType::BF16),
            }),
            Op::Convert | Op::Broadcast { .. } | Op::Reshape | Op::Copy => self.scalar(*operands.first()?),
            _ => None,
        }
    }

    /// A product or sum with two constants or more, one after the other, with these folded into one constant.
    fn with_one_constant(&mut self, id: ValueId) -> Option<ValueId> {
        let is_sum = matches!(self.expression(id).0, Op::Binary(Binary::Add | Binary::Subtract));
        let (mut base, mut constants) = (id, Vec::new());
        while let (Op::Binary(binary), &[a, b]) = self.expression(base) {
            let (next, constant) = match (self.scalar(a), self.scalar(b)) {
                (None, Some(constant)) => (a, constant),
                (Some(constant), None) if matches!(binary, Binary::Add | Binary::Multiply) => (b, constant),
                _ => break,
            };
            let value = match binary {
                Binary::Multiply if !is_sum => constant.value,
                Binary::Divide if !is_sum => 1.0 / constant.value,
                Binary::Add if is_sum => constant.value,
                Binary::Subtract if is_sum => -constant.value,
                _ => break,
            };
            constants.push(self.rounded(SimplifiedScalar { value, ..constant }));
            base = next;
        }
        if constants.len() < 2 {
            return None;
        }
        let fold = |one: SimplifiedScalar, next: SimplifiedScalar| {
            let value = if is_sum { one.value + next.value } else { one.value * next.value };
            self.rounded(SimplifiedScalar { value, is_bf16: one.is_bf16 && next.is_bf16 })
        };
        let folded = constants.into_iter().rev().reduce(fold)?;
        let base = self.operand(base);
        let (binary, none) = if is_sum { (Binary::Add, 0.0) } else { (Binary::Multiply, 1.0) };
        if folded.value == none {
            // A copy of what is left, so that the point has an option of its own.
            return Some(self.operation(id, Op::Copy, vec![base]));
        }
        let constant = self.constant(id, folded.value);
        Some(self.operation(id, Op::Binary(binary), vec![base, constant]))
    }

    /// A constant as its type holds it.
    fn rounded(&self, SimplifiedScalar { value, is_bf16 }: SimplifiedScalar) -> SimplifiedScalar {
        let value = if is_bf16 { round_f64(&BF16, f64::from(value), Direction::NearestEven) as f32 } else { value };
        SimplifiedScalar { value, is_bf16 }
    }

    /// The result of another operation in the place of this one.
    #[expect(clippy::too_many_lines, reason = "one arm for each form")]
    fn other_form(&mut self, id: ValueId) -> Option<ValueId> {
        let operands = self.program.entry().instructions[id].operands.clone();
        let (op, parts) = (self.expression(id).0.clone(), operands.iter().map(|operand| self.expression(*operand)));
        let parts: Vec<(Op, Vec<ValueId>)> = parts.map(|(op, operands)| (op.clone(), operands.to_vec())).collect();
        let [multiply, divide, add] = [Binary::Multiply, Binary::Divide, Binary::Add].map(Op::Binary);
        let unary = |unary: Unary| Op::Unary(unary);
        let sees =
            |maker: &Self, values: &[ValueId]| -> Vec<ValueId> { values.iter().map(|id| maker.behind(*id)).collect() };
        match (&op, &parts[..]) {
            (Op::Binary(Binary::Divide), [(over, a), (under, b)]) => {
                let (x, y) = (operands[0], operands[1]);
                match (over, under) {
                    (_, Op::Binary(Binary::Divide)) => {
                        let product = self.of(id, &multiply, &[x, b[1]]);
                        let divisor = self.operand(b[0]);
                        Some(self.operation(id, divide, vec![product, divisor]))
                    }
                    (_, Op::Unary(Unary::Sqrt | Unary::Rsqrt)) => {
                        let is_root = *under == unary(Unary::Sqrt);
                        let root = self.of(id, &unary(if is_root { Unary::Rsqrt } else { Unary::Sqrt }), &[b[0]]);
                        let factor = self.operand(x);
                        Some(self.operation(id, multiply, vec![factor, root]))
                    }
                    (Op::Unary(Unary::Exponential), Op::Unary(Unary::Exponential)) => {
                        let exponent = self.of(id, &Op::Binary(Binary::Subtract), &[a[0], b[0]]);
                        Some(self.operation(id, unary(Unary::Exponential), vec![exponent]))
                    }
                    (_, Op::Unary(Unary::Exponential)) => {
                        let exponent = self.of(id, &unary(Unary::Negate), &[b[0]]);
                        let exponential = self.operation(id, unary(Unary::Exponential), vec![exponent]);
                        let factor = self.operand(x);
                        Some(self.operation(id, multiply, vec![factor, exponential]))
                    }
                    (Op::Binary(Binary::Divide), _) => {
                        let divisor = self.of(id, &multiply, &[a[1], y]);
                        let dividend = self.operand(a[0]);
                        Some(self.operation(id, divide, vec![dividend, divisor]))
                    }
                    _ => None,
                }
            }
            (
                Op::Binary(Binary::Multiply),
                [(Op::Unary(Unary::Exponential), a), (Op::Unary(Unary::Exponential), b)],
            ) => {
                let exponent = self.of(id, &add, &[a[0], b[0]]);
                Some(self.operation(id, unary(Unary::Exponential), vec![exponent]))
            }
            (Op::Binary(Binary::Add), [(Op::Binary(Binary::Multiply), a), (Op::Binary(Binary::Multiply), b)]) => {
                // x z + y z is (x + y) z, with constants known by their values.
                let (left, right) = (sees(self, a), sees(self, b));
                let is_one = |x: ValueId, y: ValueId| {
                    let constants = self.scalar(x).zip(self.scalar(y));
                    x == y || constants.is_some_and(|(x, y)| x.value == y.value)
                };
                let common = [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().find(|(i, j)| is_one(left[*i], right[*j]))?;
                let sum = self.of(id, &add, &[a[1 - common.0], b[1 - common.1]]);
                let factor = self.operand(a[common.0]);
                Some(self.operation(id, multiply, vec![sum, factor]))
            }
            (Op::Unary(Unary::Sqrt), [(Op::Binary(Binary::Multiply), a)]) if self.behind(a[0]) == self.behind(a[1]) => {
                Some(self.of(id, &unary(Unary::Abs), &[a[0]]))
            }
            (Op::Unary(Unary::Log), [(Op::Unary(Unary::Exponential), a)]) => Some(self.of(id, &Op::Copy, &[a[0]])),
            (Op::Unary(Unary::Log), [(Op::Unary(root @ (Unary::Sqrt | Unary::Rsqrt)), a)]) => {
                let logarithm = self.of(id, &op, &[a[0]]);
                let half = self.constant(id, if *root == Unary::Sqrt { 0.5 } else { -0.5 });
                Some(self.operation(id, multiply, vec![logarithm, half]))
            }
            (Op::Binary(Binary::Power), [_, _]) => {
                let (x, exponent) = (operands[0], self.scalar(operands[1])?.value);
                let square = |maker: &mut Self| maker.of(id, &multiply, &[x, x]);
                match exponent {
                    2.0 => Some(square(self)),
                    3.0 => {
                        let (square, x) = (square(self), self.operand(x));
                        Some(self.operation(id, multiply, vec![x, square]))
                    }
                    -1.0 => {
                        let (one, x) = (self.constant(id, 1.0), self.operand(x));
                        Some(self.operation(id, divide, vec![one, x]))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The operand of an operation that uses a declared value, in f32.
    fn operand(&mut self, id: ValueId) -> ValueId {
        self.converted(self.seen[id], DType::F32)
    }

    /// An operation of the shape of a declared value, on the values that users of declared values see.
    fn of(&mut self, id: ValueId, op: &Op, operands: &[ValueId]) -> ValueId {
        let operands = operands.iter().map(|operand| self.operand(*operand)).collect();
        self.operation(id, op.clone(), operands)
    }

    fn operation(&mut self, id: ValueId, op: Op, operands: Vec<ValueId>) -> ValueId {
        let instruction = &self.program.entry().instructions[id];
        let name = format!("{}.form.{}", instruction.name, self.made.len());
        self.push(Instruction::new(name, op, operands, instruction.shape.clone()))
    }

    fn constant(&mut self, id: ValueId, value: f32) -> ValueId {
        let instruction = &self.program.entry().instructions[id];
        let (name, shape) = (format!("{}.constant.{}", instruction.name, self.made.len()), instruction.shape.clone());
        let scalar = Op::Constant(Tensor::new(&[], Data::F32(vec![value])));
        let scalar = self.push(Instruction::new(name.clone(), scalar, vec![], Shape::array(DType::F32, &[])));
        if shape.dims().is_empty() {
            return scalar;
        }
        self.push(Instruction::new(format!("{name}.all"), Op::Broadcast { dims: vec![] }, vec![scalar], shape))
    }
}
