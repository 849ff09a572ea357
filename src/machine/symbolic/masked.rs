//! Integers that a predicate keeps or makes zero: compilers write the product with a converted predicate as a choice. Of floats both
//! differ: a product with zero has a sign, and of infinities and NaN it is no zero.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::ir::Binary;
use crate::tensor::DType;

use super::pairwise::PairwiseOperation;
use super::pointwise::choose;
use super::run::Tracer;
use super::symbol::{Number, Symbol};
use super::symbol_key::Key;

/// Predicates and the integers that they keep, by what stands for both.
pub type MaskedIntegers = RefCell<HashMap<Symbol, (Symbol, Symbol)>>;

/// Masked integers of which this is known, at most.
const KEPT: usize = 1 << 22;

impl Tracer<'_> {
    /// The integer where the predicate holds, else zero. Of a masked integer one predicate is left: both of them hold, or it is zero.
    pub fn mask(&self, flag: Symbol, integer: Symbol) -> Symbol {
        let zero = Symbol::of(Number::Integer(0));
        let inner = self.masked.borrow().get(&integer).copied();
        let (flag, integer) = match inner {
            Some((second, integer)) => (self.both(flag, second), integer),
            None => (flag, integer),
        };
        let masked = choose(&Key::Select.mixer(), flag, integer, zero);
        let mut known = self.masked.borrow_mut();
        if !flag.is_known() && !masked.is_known() && known.len() < KEPT {
            known.insert(masked, (flag, integer));
        }
        masked
    }

    /// The product of integers of which one is masked: the product of both, masked. `None` where none is.
    pub fn multiply_masked(&self, product: &PairwiseOperation, [a, b]: [Symbol; 2]) -> Option<Symbol> {
        let of = |symbol: Symbol| self.masked.borrow().get(&symbol).copied();
        let ((flag, integer), other) = of(a).map(|masked| (masked, b)).or_else(|| of(b).map(|masked| (masked, a)))?;
        let factors = [integer, other];
        let kept = self.multiply_masked(product, factors).unwrap_or_else(|| product.of(integer, other));
        Some(self.mask(flag, kept))
    }

    /// A choice of integers of which one is zero; `None` for any other choice.
    pub fn choose_or_zero(&self, flag: Symbol, [on_true, on_false]: [Symbol; 2]) -> Option<Symbol> {
        match (on_true.integer(), on_false.integer()) {
            _ if flag.is_known() => None,
            (_, Some(0)) => Some(self.mask(flag, on_true)),
            (Some(0), _) => Some(self.mask(flag.opposite(), on_false)),
            _ => None,
        }
    }

    /// Whether two predicates hold.
    fn both(&self, one: Symbol, other: Symbol) -> Symbol {
        PairwiseOperation::new(Binary::And, DType::Pred, &self.machine.unit, self).of(one, other)
    }
}
