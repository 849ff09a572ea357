//! Numbers from 0 to 1 that are made of random bits, and a small number beside them: `jax.random.uniform` (`_uniform` in
//! jax/_src/random.py) fills the mantissa of a number from 1 to 2, takes 1 away, adds the least number that is wanted, and takes the
//! larger one of the sum and that least number. Compilers drop the addition.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::ir::Binary;
use crate::tensor::DType;

use super::pairwise::PairwiseOperation;
use super::run::Tracer;
use super::symbol::{Facts, Symbol};

/// The bits of a type's mantissa, and those of 1.0; of the types in which a draw is computed without loss.
fn mantissa_and_one(dtype: DType) -> Option<[u64; 2]> {
    match dtype {
        DType::F32 => Some([0x7f_ffff, 0x3f80_0000]),
        DType::BF16 => Some([0x7f, 0x3f80]),
        _ => None,
    }
}

/// The end of numbers far below half the last bit of 2^-23: their sum with a larger fraction is that fraction.
const SMALL: f32 = 1.0 / (1u64 << 60) as f32;

/// The numbers of which this is known, by their symbols.
#[derive(Default)]
pub struct Fractions {
    /// Of at least 1, below 2.
    from_one: RefCell<HashSet<Symbol>>,
    /// One of those less 1: zero, or at least the mantissa's last bit (2^-23, of bf16 2^-7) and below 1.
    below_one: RefCell<HashSet<Symbol>>,
    /// Sums of such a fraction and of a small positive number.
    raised: RefCell<HashMap<Symbol, (Symbol, f32)>>,
}

impl Tracer<'_> {
    /// Records what a float of these bits is.
    pub fn note_mantissa(&self, bits: Symbol, from: DType, float: Symbol, to: DType) {
        let Some([mantissa, one]) = mantissa_and_one(to) else { return };
        if !from.is_integer() || bits.is_known() {
            return;
        }
        let word = self.unpack(bits, from);
        if word.is_some_and(|word| {
            word.constant & !mantissa == one && word.parts.iter().all(|part| part.mask & !mantissa == 0)
        }) {
            self.fractions.from_one.borrow_mut().insert(float);
        }
    }

    /// An operation of two operands, where it makes such a number or takes one; `None` where it is any other.
    pub fn join_fraction(
        &self,
        operation: &PairwiseOperation,
        binary: Binary,
        dtype: DType,
        a: Symbol,
        b: Symbol,
    ) -> Option<Symbol> {
        match (binary, dtype) {
            // As many bits as a mantissa has: 9 of 32 are shifted out, or 1 of the 8 that stand in a u16.
            (Binary::ShiftRightLogical, DType::U16 | DType::U32) if !a.is_known() => {
                let places = b.integer().filter(|places| *places == if dtype == DType::U16 { 1 } else { 9 })?;
                let most = *self.range(a, dtype)?.end() >> places;
                let shifted = operation.of(a, b);
                self.note_range(shifted, 0..=most);
                Some(shifted)
            }
            (Binary::Add | Binary::Subtract, DType::F32 | DType::BF16) => {
                let second = b.with_sign(binary == Binary::Subtract);
                let pair = [(a, second), (second, a)].into_iter().find(|(_, known)| known.float().is_some());
                let (number, known) = pair.and_then(|(number, known)| Some((number, known.float()?)))?;
                self.sum(operation, [a, b], number, known)
            }
            (Binary::Maximum, DType::F32 | DType::BF16) => {
                // Of 0 it is the small number either way, and any other fraction is larger, and the sum itself.
                let bare = |least: Symbol, sum: Symbol| {
                    let (fraction, small) = *self.fractions.raised.borrow().get(&sum)?;
                    (least.float() == Some(small)).then_some(fraction)
                };
                let fraction = bare(a, b).map(|fraction| [a, fraction]);
                let [a, b] = fraction.or_else(|| bare(b, a).map(|fraction| [fraction, b]))?;
                Some(operation.of(a, b))
            }
            _ => None,
        }
    }

    fn sum(&self, operation: &PairwiseOperation, [a, b]: [Symbol; 2], number: Symbol, known: f32) -> Option<Symbol> {
        if known == -1.0 && self.fractions.from_one.borrow().contains(&number) {
            // Exact: 1 of 1 is +0, and what is left of any other has its last bit where the mantissa has it.
            let facts = Facts { normal: true, not_negative: true, ..Facts::default() };
            let exact = operation.exact(a, b).with(facts);
            let fraction = if number.is_bf16() { exact.in_type(DType::BF16) } else { exact };
            self.fractions.below_one.borrow_mut().insert(fraction);
            return Some(fraction);
        }
        if (f32::MIN_POSITIVE..SMALL).contains(&known) && self.fractions.below_one.borrow().contains(&number) {
            let sum = operation.of(a, b);
            self.fractions.raised.borrow_mut().insert(sum, (number, known));
            return Some(sum);
        }
        None
    }
}
