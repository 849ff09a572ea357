//! Sums over devices: in any order, each step rounded to the type that is sent from one to the next.

use crate::ir::{Binary, Instruction, Mark, Op, Shape, ValueId};
use crate::tensor::DType;

use super::{Freedom, ProgramChoicesBuilder};

impl ProgramChoicesBuilder<'_> {
    /// The value that users of the last addition of a sum over three devices or more see. It is that addition, or the
    /// same terms added from the last to the first, in a ring that begins halfway, or in pairs. Its enclosure covers
    /// any order.
    pub(super) fn exchange(&mut self, id: ValueId) -> ValueId {
        let own = self.own[id];
        let Some((exchange, carries, terms)) = self.terms(id).filter(|(.., terms)| terms.len() > 2) else { return own };
        let dtype = self.made[own].shape.element_type();
        let terms: Vec<ValueId> = terms.into_iter().map(|term| self.converted(self.seen[term], dtype)).collect();
        let Some(in_any_order) = self.in_any_order(own, &terms, exchange) else { return own };
        let backwards = terms.iter().rev().copied().collect();
        let mut halfway = terms.clone();
        halfway.rotate_left(terms.len() / 2);
        let mut options = vec![own];
        for order in [backwards, halfway] {
            options.push(self.in_turn(own, order, carries));
        }
        options.push(self.in_pairs(own, terms, carries));
        let point = self.point((id, id), options, None, Freedom::Mesh, None);
        if let Some(made) = self.choices.last_mut() {
            made.place.in_any_order = Some(in_any_order);
        }
        point
    }

    /// The exchange that a value is the last addition of, the type that it carries, and the terms of the sum, in order.
    fn terms(&self, id: ValueId) -> Option<(Mark, DType, Vec<ValueId>)> {
        let entry = self.program.entry();
        let exchange = entry.instructions[id].mark.clone()?;
        let Mark::Exchange { carries, is_planned: false, .. } = exchange else { return None };
        let is_step = |id: ValueId| {
            let Instruction { op, mark, .. } = &entry.instructions[id];
            *op == Op::Binary(Binary::Add) && mark.as_ref() == Some(&exchange)
        };
        let mut readers = self.analysis.users()[id].clone();
        while let Some(reader) = readers.pop() {
            if is_step(reader) {
                return None;
            }
            if entry.instructions[reader].op == Op::Convert {
                readers.extend(&self.analysis.users()[reader]);
            }
        }
        let (mut terms, mut waiting) = (Vec::new(), vec![id]);
        while let Some(next) = waiting.pop() {
            let mut step = next;
            while entry.instructions[step].op == Op::Convert {
                step = entry.instructions[step].operands[0];
            }
            match is_step(step) {
                true => waiting.extend(entry.instructions[step].operands.iter().rev()),
                false => terms.push(next),
            }
        }
        Some((exchange, carries, terms))
    }

    /// Two terms or more, one after the other.
    fn in_turn(&mut self, like: ValueId, terms: Vec<ValueId>, carries: DType) -> ValueId {
        let mut sum = self.added(like, terms[0], terms[1]);
        for term in &terms[2..] {
            let arrived = self.carried(sum, carries);
            sum = self.added(like, arrived, *term);
        }
        sum
    }

    /// Two terms or more, halved until two are left.
    fn in_pairs(&mut self, like: ValueId, terms: Vec<ValueId>, carries: DType) -> ValueId {
        let halves = terms.split_at(terms.len() / 2);
        let [left, right] = [halves.0, halves.1].map(|half| match half {
            [term] => *term,
            _ => {
                let sum = self.in_pairs(like, half.to_vec(), carries);
                self.carried(sum, carries)
            }
        });
        self.added(like, left, right)
    }

    /// A step of a sum, like its last one.
    fn added(&mut self, like: ValueId, left: ValueId, right: ValueId) -> ValueId {
        let name = format!("{}.order.{}", self.made[like].name, self.made.len());
        let step = Instruction { name, operands: vec![left, right], ..self.made[like].clone() };
        self.push(step)
    }

    /// A partial sum as it arrives at the next device.
    fn carried(&mut self, sum: ValueId, carries: DType) -> ValueId {
        let dtype = self.made[sum].shape.element_type();
        let sent = self.converted(sum, carries);
        self.converted(sent, dtype)
    }

    /// The sum of terms that stand beside each other.
    fn in_any_order(&mut self, like: ValueId, terms: &[ValueId], exchange: Mark) -> Option<ValueId> {
        let Instruction { name, shape, .. } = self.made[like].clone();
        let dtype = shape.element_type();
        let dims = |count: usize| [&[count], shape.dims()].concat();
        let mut rows = Vec::with_capacity(terms.len());
        for term in terms {
            let shape = Shape::array(dtype, &dims(1));
            let name = format!("{name}.term.{}", self.made.len());
            rows.push(self.push(Instruction::new(name, Op::Reshape, vec![*term], shape)));
        }
        let beside = Shape::array(dtype, &dims(terms.len()));
        let beside = Instruction::new(format!("{name}.terms"), Op::Concatenate { dim: 0 }, rows, beside);
        let beside = self.push(beside);
        let zero = self.zero(format!("{name}.zero"), dtype)?;
        let op = Op::Reduce { dims: vec![0], to_apply: self.add_in(dtype) };
        let sum = Instruction::new(format!("{name}.any"), op, vec![beside, zero], shape);
        Some(self.push(Instruction { mark: Some(exchange), ..sum }))
    }
}
