//! Values of a fusion that are the parts of one complex number. Programs hold complex numbers as arrays of real ones.

use std::collections::HashMap;

use crate::ir::{Binary, Class, Computation, Fusion, Instruction, LibraryFunction, Op, ValueId};

/// Complex numbers among the values of a fusion.
pub struct ComplexParts {
    /// The factors a + bi and c + di of each product, by the values that are its parts.
    products: HashMap<ValueId, [[ValueId; 2]; 2]>,
    /// The real part of the number of each imaginary part.
    reals: HashMap<ValueId, ValueId>,
    /// The imaginary part of the number of each real part, if both are read from outside.
    read: HashMap<ValueId, ValueId>,
}

impl ComplexParts {
    /// The complex numbers that a product reveals: (ac - bd) + (bc + ad) i of (a + bi) (c + di). Its factors and its
    /// result are complex. So are the values from which these are moved or added, and the values that one operation
    /// computes alike from both parts.
    pub fn of(computation: &Computation, fusion: Option<Fusion>) -> ComplexParts {
        let instructions = &computation.instructions;
        let inside = || instructions.iter().enumerate().filter(|(_, instruction)| instruction.fusion() == fusion);
        let product = |id: ValueId| match instructions[id].op {
            Op::Binary(Binary::Multiply) => Some([instructions[id].operands[0], instructions[id].operands[1]]),
            _ => None,
        };
        let parts_of = |instruction: &Instruction, binary: Binary| {
            let is_part = instruction.library() == Some(&LibraryFunction::ComplexProduct);
            let [left, right] = instruction.operands[..] else { return None };
            Some([product(left)?, product(right)?]).filter(|_| is_part && instruction.op == Op::Binary(binary))
        };
        let mut parts = ComplexParts { products: HashMap::new(), reals: HashMap::new(), read: HashMap::new() };
        let mut real: HashMap<[[ValueId; 2]; 2], ValueId> = HashMap::new();
        let mut waiting: Vec<[ValueId; 2]> = Vec::new();
        for (id, instruction) in inside() {
            if let Some([[a, c], [b, d]]) = parts_of(instruction, Binary::Subtract) {
                parts.products.insert(id, [[a, b], [c, d]]);
                waiting.extend([[a, b], [c, d]]);
                real.insert([[a, b], [c, d]], id);
            }
        }
        for (id, instruction) in inside() {
            if let Some([[b, c], [a, d]]) = parts_of(instruction, Binary::Add) {
                parts.products.insert(id, [[a, b], [c, d]]);
                waiting.extend([[a, b], [c, d]]);
                waiting.extend(real.get(&[[a, b], [c, d]]).map(|real| [*real, id]));
            }
        }
        if waiting.is_empty() {
            return parts;
        }
        let users = computation.users();
        while let Some([re, im]) = waiting.pop() {
            if re == im || parts.reals.insert(im, re).is_some() {
                continue;
            }
            if [re, im].iter().all(|part| instructions[*part].fusion() != fusion) {
                parts.read.entry(re).or_insert(im);
            }
            let is_product = parts.products.contains_key(&im);
            let [from, to] = [re, im].map(|part| &instructions[part]);
            if !is_product && from.op == to.op && passes(&from.op) && from.fusion() == fusion && to.fusion() == fusion {
                waiting.extend(from.operands.iter().zip(&to.operands).map(|(re, im)| [*re, *im]));
            }
            let made = |id: ValueId| users[id].iter().copied().filter(|user| instructions[*user].fusion() == fusion);
            for of_im in made(im).filter(|user| passes(&instructions[*user].op)) {
                let place = instructions[of_im].operands.iter().position(|operand| *operand == im);
                let is_alike = |user: &ValueId| {
                    let [own, other] = [*user, of_im].map(|id| &instructions[id]);
                    own.op == other.op
                        && own.shape == other.shape
                        && own.operands.iter().position(|o| *o == re) == place
                };
                if let Some(of_re) = made(re).find(is_alike) {
                    waiting.push([of_re, of_im]);
                }
            }
        }
        parts
    }

    /// The factors of the product of which a value is a part.
    pub fn factors(&self, id: ValueId) -> Option<[[ValueId; 2]; 2]> {
        self.products.get(&id).copied()
    }

    /// Both parts of the number of a value that is read from outside: they are read at once.
    pub fn read_at_once(&self, id: ValueId) -> [ValueId; 2] {
        let re = self.number(id);
        [re, self.read.get(&re).copied().unwrap_or(id)]
    }

    /// The real part of the number whose imaginary part is this value; for every other value, the value itself.
    pub fn number(&self, id: ValueId) -> ValueId {
        self.reals.get(&id).copied().unwrap_or(id)
    }
}

/// Whether an operation does the same to both parts of a number.
fn passes(op: &Op) -> bool {
    op.class() == Class::Moves || matches!(op, Op::Binary(Binary::Add | Binary::Subtract) | Op::Select)
}
