//! Points at which a value is computed in another way: a sum's steps, a product that is added, a quotient, blocks of K.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::{Analysis, Precision, Reducer, is_spread};
use crate::ir::{Binary, DotPlan, Instruction, Mark, Op, Program, Shape, Tiling, ValueId};
use crate::num::BF16;
use crate::tensor::{DType, Data, Tensor};

use super::super::{Site, narrow};
use super::{Freedom, ProgramChoicesBuilder};

/// Blocks that K is cut into (FACTS 10.1 has 1 to 28 of them).
const CUTS: [usize; 3] = [2, 4, 8];

/// Sums in bf16 from zero, as operations to be retyped.
pub(super) fn bf16_sums(program: &Program) -> BTreeSet<Site> {
    let (analysis, entry) = (Analysis::new(program), program.entry());
    let is_sum = |id: &ValueId| {
        let Instruction { op, operands, shape, .. } = &entry.instructions[*id];
        let Op::Reduce { to_apply, .. } = op else { return false };
        let adds = analysis.regions.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add));
        adds && shape.dtype() == Some(DType::BF16) && narrow::is_zero(entry, operands[1])
    };
    (0..entry.instructions.len()).filter(is_sum).map(Site::Retype).collect()
}

impl ProgramChoicesBuilder<'_> {
    /// The value that users of a computed value see: the value itself, or a choice.
    pub(super) fn choose(&mut self, id: ValueId) -> ValueId {
        let Instruction { op, shape, .. } = &self.program.entry().instructions[id];
        let is_f32 = shape.dtype() == Some(DType::F32);
        let seen = match op {
            Op::Binary(Binary::Add) if self.permits(Freedom::Mesh) && shape.dtype().is_some_and(DType::is_float) => {
                self.exchange(id)
            }
            Op::Binary(Binary::Multiply) if is_f32 && self.permits(Freedom::Contraction) => self.joined(id),
            Op::Binary(Binary::Divide) if is_f32 && self.permits(Freedom::Reciprocal) => self.by_reciprocal(id),
            Op::Dot { .. } if self.permits(Freedom::Order) => self.cut(id),
            _ => self.own[id],
        };
        if is_f32 && self.permits(Freedom::Algebra) { self.in_another_form(id, seen) } else { seen }
    }

    /// A sum in bf16 of the terms of this f32 sum, from zero, that rounds every addition; its result as f32.
    fn in_steps(&mut self, sum: ValueId) -> Option<ValueId> {
        let Instruction { op: Op::Reduce { dims, .. }, operands, shape, name, .. } = self.made[sum].clone() else {
            return None;
        };
        let operand = self.converted(operands[0], DType::BF16);
        let zero = self.zero(format!("{name}.init"), DType::BF16)?;
        let op = Op::Reduce { dims, to_apply: self.add_in(DType::BF16) };
        let sum = Instruction::new(format!("{name}.narrow"), op, vec![operand, zero], shape.with_dtype(DType::BF16));
        let sum = self.push(sum);
        Some(self.converted(sum, DType::F32))
    }

    /// The zero that a sum in this float type begins from.
    pub(super) fn zero(&mut self, name: String, dtype: DType) -> Option<ValueId> {
        let zero = Op::Constant(Tensor::new(&[], Data::from_f64s(dtype, &[0.0])?));
        Some(self.push(Instruction::new(name, zero, vec![], Shape::array(dtype, &[]))))
    }

    /// A sum in f32 or, as narrowing has it, in bf16: as the mode rounds such a sum, or both rounded once and at every addition.
    pub(super) fn narrow(&mut self, id: ValueId) -> ValueId {
        let own = self.own[id];
        let mut options = vec![own];
        if self.permits(Freedom::Accumulation) {
            let sum = self.made[own].clone();
            let operand = self.converted(sum.operands[0], DType::BF16);
            let operand = self.converted(operand, DType::F32);
            let operands = [&[operand], &sum.operands[1..]].concat();
            let wide = self.push(Instruction { name: format!("{}.once", sum.name), operands, ..sum });
            let narrow = self.converted(wide, DType::BF16);
            options.push(self.converted(narrow, DType::F32));
        }
        options.extend(self.in_steps(own));
        self.point((id, id), options, None, Freedom::Narrowing, self.origins[id])
    }

    /// A bf16 sum, made in f32: rounded once it is read as bf16, or at every addition.
    pub(super) fn accumulate(&mut self, id: ValueId, rounds_steps: bool) -> ValueId {
        let own = self.own[id];
        let mut options = vec![own];
        options.extend(self.in_steps(own));
        if rounds_steps {
            options.reverse();
        }
        self.point((id, id), options, None, Freedom::Accumulation, None)
    }

    /// A product that may be added before it is rounded. Of two products of one sum one may: fused multiply-add takes one.
    fn joined(&mut self, id: ValueId) -> ValueId {
        let own = self.own[id];
        let Some(sum) = self.analysis.sum_of(id) else { return own };
        // The products of a reduction are added one after the other.
        let is_reduction = matches!(self.program.entry().instructions[sum].op, Op::Reduce { .. });
        if is_reduction && !self.permits(Freedom::Order) || !self.joined.insert(sum) {
            return own;
        }
        let product = self.made[own].clone();
        let name = format!("{}.joined", product.name);
        let joined = self.push(Instruction { name, mark: Some(Mark::Joined), ..product });
        self.point((id, id), vec![own, joined], None, Freedom::Contraction, None)
    }

    /// A quotient whose divisor is one value for many elements, or a product with the reciprocal. The reciprocal is in
    /// f32, or rounded to bf16 if the divisor is declared so.
    fn by_reciprocal(&mut self, id: ValueId) -> ValueId {
        let (own, entry) = (self.own[id], self.program.entry());
        let divisor = entry.instructions[id].operands[1];
        if !is_spread(entry, divisor) {
            return own;
        }
        let quotient = self.made[own].clone();
        let [dividend, by] = quotient.operands[..] else { return own };
        let shape = self.made[by].shape.clone();
        let name = |part: &str| format!("{}.{part}", quotient.name);
        let one = Op::Constant(Tensor::new(&[], Data::F32(vec![1.0])));
        let one = self.push(Instruction::new(name("one"), one, vec![], Shape::array(DType::F32, &[])));
        let ones = self.push(Instruction::new(name("ones"), Op::Broadcast { dims: vec![] }, vec![one], shape.clone()));
        let divide = Op::Binary(Binary::Divide);
        let mut reciprocals = vec![self.push(Instruction::new(name("reciprocal"), divide, vec![ones, by], shape))];
        if self.widest[divisor].is_some_and(|held| held.within(Precision::of(&BF16))) {
            let narrow = self.converted(reciprocals[0], DType::BF16);
            reciprocals.push(self.converted(narrow, DType::F32));
        }
        let mut options = vec![own];
        for reciprocal in reciprocals {
            let (op, operands) = (Op::Binary(Binary::Multiply), vec![dividend, reciprocal]);
            let name = format!("{}.by.{}", quotient.name, options.len());
            options.push(self.push(Instruction { name, op, operands, ..quotient.clone() }));
        }
        self.point((id, id), options, None, Freedom::Reciprocal, None)
    }

    /// A dot whose products are summed in blocks of K, and the blocks' sums in order.
    fn cut(&mut self, id: ValueId) -> ValueId {
        let own = self.own[id];
        let dot = self.made[own].clone();
        let Op::Dot { dims, .. } = &dot.op else { return own };
        let sides = [0, 1].map(|side| self.made[dot.operands[side]].shape.clone());
        if !dot.shape.dtype().is_some_and(DType::is_float) {
            return own;
        }
        let k = DotPlan::new(dims, sides[0].dims(), sides[1].dims()).k;
        let mut options = vec![own];
        for cuts in CUTS.into_iter().filter(|cuts| k >= 2 * cuts) {
            let tiling = Some(Arc::new(Tiling::of_k_block(k.div_ceil(cuts))));
            let name = format!("{}.blocks{cuts}", dot.name);
            let cut = Instruction { name, ..dot.clone() };
            options.push(self.push(cut.with_record(|compiled| (compiled.tiling, compiled.library) = (tiling, None))));
        }
        self.point((id, id), options, None, Freedom::Order, None)
    }
}
