//! Operations of two elements in the same place, and the identities among them that keep all bits.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::ir::Binary;
use crate::tensor::DType;

use super::super::backend::Code;
use super::super::integer;
use super::super::vector::{self, Divide, VectorUnit, ZeroTie};
use super::pointwise::round;
use super::run::{Site, Tracer};
use super::symbol::{Facts, Mixer, Number, Symbol};
use super::symbol_key::{BinaryChoice, Key};
use super::symbols::{Array, Symbols};

fn round_product(round: &Mixer, symbol: Symbol) -> Symbol {
    let (symbol, is_opposite) = symbol.split_sign();
    round.and(symbol).symbol().with_sign(is_opposite)
}

/// A sum of products in flight, as a term of a sum that adds them one after the other. A machine that adds no such products rounds
/// the first one, and `fused` adds the other.
fn terms([first, second]: [&Array; 2], joins: bool, fused: impl Fn(Symbol, Symbol) -> Symbol) -> Symbols {
    let pairs = first.elements.iter().zip(second.elements.iter());
    if !first.several && !joins {
        let round = Key::RoundedProduct.mixer();
        return Symbols::array(pairs.map(|(a, b)| fused(*b, round_product(&round, *a))).collect());
    }
    // Only here is this key made, and a pair in the other order is the same name for all: which order is written changes no equality.
    let terms = Key::ProductTerms.mixer();
    let elements = pairs.map(|(a, b)| terms.and(*a).and(*b).symbol()).collect();
    Symbols::Array(Array { exact: true, several: true, ..Array::new(elements) })
}

/// An operation of two operands.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of code")]
pub fn join(tracer: &Tracer, site: &Site, binary: Binary, exact: bool) -> Symbols {
    let unit = &tracer.machine.unit;
    let kernel = site.kernel;
    let dtype = site.instruction.shape.element_type();
    let (left, right) = (site.of(0), site.of(1));
    let pairs = || left.iter().copied().zip(right.iter().copied());
    let arrays = [0, 1].map(|at| site.operands[at].as_array());
    let fused = |subtracts: bool| {
        let sum = Key::FusedSum { flush: unit.flush }.mixer();
        move |a: Symbol, b: Symbol| {
            let b = b.with_sign(subtracts);
            let (a, b) = if unit.flush { (a.unflush(), b.unflush()) } else { (a, b) };
            // An addition commutes, bit for bit: the operands are sorted, so that both orders have one key.
            sum.and(a.min(b)).and(a.max(b)).symbol().with(Facts { normal: unit.flush, ..Facts::default() })
        }
    };
    if let Code::Terms { first, joins } = kernel.code
        && arrays.iter().all(|array| array.exact)
    {
        return terms([arrays[first], arrays[1 - first]], joins, fused(false));
    }
    if let Code::Product { rounded: folded } = kernel.code {
        let product = Key::Product { flush: unit.flush }.mixer();
        let round = Key::RoundedProduct.mixer();
        let plain = PairwiseOperation::new(Binary::Multiply, dtype, unit, tracer);
        let of = |a: Symbol, b: Symbol| {
            // A product with -1 rounds nothing: it is the other factor with the other sign.
            if exact && (a.float() == Some(-1.0) || b.float() == Some(-1.0)) {
                return if a.float() == Some(-1.0) { b.opposite() } else { a.opposite() };
            }
            // Rounding to nearest is symmetric: the sign of a product is kept apart, so that (-a) b and a (-b) have
            // one key.
            let ((a, one), (b, other)) = (a.split_sign(), b.split_sign());
            product.and(a.min(b)).and(a.max(b)).symbol().with_sign(one != other)
        };
        let element = |(at, (a, b)): (usize, (Symbol, Symbol))| match folded {
            Some(folded) if folded.hold(at) && exact => round.and(of(a, b)).symbol(),
            Some(folded) if folded.hold(at) => plain.of(a, b),
            _ => of(a, b),
        };
        let elements: Vec<Symbol> = pairs().enumerate().map(element).collect();
        if dtype == DType::F32 {
            pairs().zip(&elements).for_each(|((a, b), product)| tracer.note_scaled(*product, [a, b], &plain));
        }
        return Symbols::Array(Array { exact: true, ..Array::new(elements) });
    }
    if exact && matches!(binary, Binary::Add | Binary::Subtract) {
        let (fused, round) = (fused(binary == Binary::Subtract), Key::RoundedProduct.mixer());
        let left_first = match &kernel.code {
            Code::SumOfTwo { left_first } => Some(left_first),
            _ => None,
        };
        // The machine rounds what is a sum of several products before.
        let single = |at: usize, symbol: Symbol| {
            if arrays[at].several { round_product(&round, symbol) } else { symbol }
        };
        let sum = PairwiseOperation::new(binary, dtype, unit, tracer);
        let element = |(at, (a, b)): (usize, (Symbol, Symbol))| {
            if let Some([a, b]) = tracer.terms_apart([a, b], arrays) {
                return sum.of(a, b);
            }
            let (a, b) = (single(0, a), single(1, b));
            match left_first.map(|first| first[at]) {
                Some(true) => fused(a, round_product(&round, b)),
                Some(false) => fused(round_product(&round, a), b),
                None => fused(a, b),
            }
        };
        return Symbols::array(pairs().enumerate().map(element).collect());
    }
    // Compilers divide by one number as a product with its reciprocal: the symbol is that of the two steps.
    let own = kernel.unit(unit);
    let of_reciprocals = own.type_of_reciprocals(dtype, kernel.by_one_number);
    if let Some(narrow) = of_reciprocals.filter(|_| dtype.is_float() && dtype != DType::F64) {
        let reciprocal = PairwiseOperation::new(Binary::Divide, DType::F32, &own, tracer);
        let multiply = PairwiseOperation::new(Binary::Multiply, dtype, unit, tracer);
        let one = Symbol::of(Number::Float(1.0));
        let reciprocal = |b: Symbol| match narrow {
            DType::F32 => reciprocal.of(one, b),
            narrow => round(reciprocal.of(one, b), narrow),
        };
        return Symbols::array(pairs().map(|(a, b)| multiply.of(a, reciprocal(b))).collect());
    }
    let operation = PairwiseOperation::new(binary, dtype, unit, tracer);
    let of = |(a, b): (Symbol, Symbol)| {
        let known = tracer.join_bits(binary, dtype, a, b);
        let known = known.or_else(|| tracer.join_fraction(&operation, binary, dtype, a, b));
        let is_product = binary == Binary::Multiply && dtype.is_integer();
        let known = known.or_else(|| is_product.then(|| tracer.multiply_masked(&operation, [a, b])).flatten());
        let joined = known.unwrap_or_else(|| operation.of(a, b));
        tracer.note_extreme(binary, dtype, [a, b], joined);
        joined
    };
    Symbols::array(pairs().map(of).collect())
}

/// Whether the order of a maximum's operands shows: zeros of both signs tie, and the unit does not go by their sign.
pub fn is_ordered(unit: &VectorUnit, one_zero: bool, operands: impl IntoIterator<Item = Symbol>) -> bool {
    let (mut zeros, mut negative) = (0, false);
    for operand in operands.into_iter().filter(|operand| !operand.is_no_zero()) {
        zeros += 1;
        negative |= !operand.is_not_negative();
    }
    // Where the second operand wins a tie of zeros (FACTS 3.3), only zeros of both signs can tell an order.
    unit.zero_tie == ZeroTie::Second && !one_zero && negative && zeros > 1
}

/// An operation that joins two elements.
pub struct PairwiseOperation<'u> {
    binary: Binary,
    dtype: DType,
    mixer: Mixer,
    unit: &'u VectorUnit,
    one_zero: bool,
    /// Whether a quotient of opposite operands is the opposite.
    odd_quotients: bool,
    /// The product that a quotient may be, and the sum that a difference of integers may be.
    other: Option<Box<PairwiseOperation<'u>>>,
}

impl<'u> PairwiseOperation<'u> {
    pub fn new(binary: Binary, dtype: DType, unit: &'u VectorUnit, tracer: &Tracer) -> PairwiseOperation<'u> {
        let perturbs = unit.error.perturbs();
        // What is subtracted is added with the other sign.
        let name = match (binary, dtype) {
            (Binary::Subtract, dtype) if dtype.is_float() => Binary::Add,
            (Binary::Maximum, DType::Pred) => Binary::Or,
            (Binary::Minimum | Binary::Multiply, DType::Pred) => Binary::And,
            _ => binary,
        };
        let computed_in = match (dtype, binary) {
            // Perturbed quotients are not rounded alike in all types.
            (_, Binary::Divide) if perturbs => dtype,
            _ if dtype.is_float() && dtype != DType::F64 => DType::F32,
            _ => dtype,
        };
        let choice = match binary {
            // Which divisors are multiplied with is seen by now.
            Binary::Divide => BinaryChoice::Quotient {
                by_reciprocal: unit.divide == Divide::ByReciprocal,
                perturbed: perturbs.then_some((unit.error, unit.eup)),
            },
            Binary::Maximum | Binary::Minimum => BinaryChoice::Extreme(unit.zero_tie),
            Binary::Atan2 | Binary::Power => BinaryChoice::Function(unit.error, perturbs.then_some(unit.eup)),
            _ => BinaryChoice::Plain,
        };
        let mixer = Key::Binary { binary: name, dtype: computed_in, flush: unit.flush, choice }.mixer();
        let one_zero = tracer.permits.one_zero;
        let boxed = |binary| Some(Box::new(PairwiseOperation::new(binary, dtype, unit, tracer)));
        let other = match binary {
            Binary::Divide if dtype.is_float() => boxed(Binary::Multiply),
            Binary::Subtract if dtype.is_integer() => boxed(Binary::Add),
            _ => None,
        };
        PairwiseOperation { binary, dtype, mixer, unit, one_zero, odd_quotients: !perturbs, other }
    }

    pub fn of(&self, a: Symbol, b: Symbol) -> Symbol {
        if !self.dtype.is_float() {
            return self.integers(a, b);
        }
        if self.dtype == DType::F64 {
            return self.floats(a, b);
        }
        if let (Some(a), Some(b)) = (a.float(), b.float())
            && !self.unit.error.perturbs()
        {
            let mut value = [vector::binary_scalar(self.binary, a, b, self.unit)];
            vector::round_to(self.dtype, &mut value);
            return Symbol::of(Number::Float(value[0]));
        }
        round(self.floats(a, b), self.dtype)
    }

    /// The result of a float operation that is exact, so that no rounding stands in its symbol.
    pub fn exact(&self, a: Symbol, b: Symbol) -> Symbol {
        self.floats(a, b)
    }

    /// A float operation before its result is rounded to its type.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn floats(&self, a: Symbol, b: Symbol) -> Symbol {
        let double = self.dtype == DType::F64;
        let flushes = self.unit.flush && !double;
        // What is left of an operand where the other changes nothing.
        let kept = |symbol: Symbol| match (self.unit.flush, double) {
            (false, _) => Some(symbol),
            (true, false) => Some(symbol.flush()),
            (true, true) => None,
        };
        let taken = |symbol: Symbol| if flushes { symbol.unflush() } else { symbol };
        let is =
            |symbol: Symbol, number: f32| !double && symbol.float().is_some_and(|v| v.to_bits() == number.to_bits());
        let facts = |not_negative: bool| Facts { normal: flushes, not_negative, ..Facts::default() };
        match self.binary {
            Binary::Add | Binary::Subtract => {
                let b = b.with_sign(self.binary == Binary::Subtract);
                // Rounded to nearest, only -0 and -0 add up to -0.
                let no_minus_zero = |symbol: Symbol| !self.unit.flush && symbol.is_not_minus_zero();
                for (zero, other) in [(a, b), (b, a)] {
                    let unsigned = other.is_not_negative() || no_minus_zero(other) || self.one_zero;
                    if let (true, Some(other)) = (is(zero, -0.0) || is(zero, 0.0) && unsigned, kept(other)) {
                        return other;
                    }
                }
                let facts = Facts { not_minus_zero: no_minus_zero(a) || no_minus_zero(b), ..facts(false) };
                let (a, b) = (taken(a), taken(b));
                self.mixer.and(a.min(b)).and(a.max(b)).symbol().with(facts)
            }
            Binary::Multiply => {
                for (one, other) in [(a, b), (b, a)] {
                    if let (Some(other), true) = (kept(other), is(one, 1.0) || is(one, -1.0)) {
                        return other.with_sign(is(one, -1.0));
                    }
                }
                let ((a, one), (b, other)) = (taken(a).split_sign(), taken(b).split_sign());
                let product = self.mixer.and(a.min(b)).and(a.max(b)).symbol();
                let product = product.with(facts(a == b && one == other)).with_sign(one != other);
                // A power of two moves the exponent alone, where nothing lies below the least normal number.
                let moves = |power: Symbol| {
                    let power = power.float().filter(|v| !double && v.is_normal() && v.to_bits() << 9 == 0);
                    power.is_some_and(|power| power.abs() >= 1.0 || self.unit.flush)
                };
                let narrow = moves(a) && b.is_bf16() || moves(b) && a.is_bf16();
                if narrow { product.in_type(DType::BF16) } else { product }
            }
            Binary::Divide if self.odd_quotients => {
                if let Some(reciprocal) = self.reciprocal(b).filter(|_| !double) {
                    return self.other.as_ref().map_or(a, |product| product.floats(a, reciprocal));
                }
                let ((a, one), (b, other)) = (taken(a).split_sign(), taken(b).split_sign());
                self.mixer.and(a).and(b).symbol().with(facts(false)).with_sign(one != other)
            }
            Binary::Maximum | Binary::Minimum => {
                let neutral = if self.binary == Binary::Maximum { f32::NEG_INFINITY } else { f32::INFINITY };
                for (one, other) in [(a, b), (b, a)] {
                    if let (Some(other), true) = (kept(other), is(one, neutral) || one == other) {
                        return other;
                    }
                }
                let (a, b) = (taken(a), taken(b));
                let (a, b) = if is_ordered(self.unit, self.one_zero, [a, b]) { (a, b) } else { (a.min(b), a.max(b)) };
                self.mixer.and(a).and(b).symbol().one_of(a, b).with(facts(false))
            }
            _ => self.mixer.and(a).and(b).symbol(),
        }
    }

    /// The factor by which a division by `b` multiplies, if it does so for each dividend. A unit that divides by
    /// reciprocals always does; on other units `b` is a power of two with an exact reciprocal.
    fn reciprocal(&self, b: Symbol) -> Option<Symbol> {
        if self.unit.divide == Divide::ByReciprocal {
            let one = Symbol::of(Number::Float(1.0));
            return Some(match b.float() {
                Some(b) => Symbol::of(Number::Float(vector::binary_scalar(Binary::Divide, 1.0, b, self.unit))),
                None => {
                    let (b, opposite) = b.unflush().split_sign();
                    let facts = Facts { normal: self.unit.flush, ..Facts::default() };
                    self.mixer.and(one).and(b).symbol().with(facts).with_sign(opposite)
                }
            });
        }
        let b = b.float().filter(|b| b.is_normal() && b.to_bits() << 9 == 0)?;
        let reciprocal = 1.0 / b;
        reciprocal.is_normal().then_some(Symbol::of(Number::Float(reciprocal)))
    }

    fn integers(&self, a: Symbol, b: Symbol) -> Symbol {
        let pred = self.dtype == DType::Pred;
        if let (Some(a), Some(b)) = (a.integer(), b.integer()) {
            return Symbol::of(Number::Integer(match pred {
                true => i64::from(integer::apply_pred(self.binary, a != 0, b != 0)),
                false => integer::apply(self.binary, self.dtype, a, b),
            }));
        }
        // A number that is taken away is added with the other sign.
        if let (Binary::Subtract, Some(known), Some(sum)) = (self.binary, b.integer(), &self.other) {
            let opposite = integer::apply(Binary::Subtract, self.dtype, 0, known);
            return sum.integers(a, Symbol::of(Number::Integer(opposite)));
        }
        for (known, other, right) in [(a, b, false), (b, a, true)] {
            let neutral = match (self.binary, known.integer()) {
                (Binary::Add | Binary::Or | Binary::Xor, Some(0)) => true,
                (Binary::Subtract, Some(0)) => right,
                (Binary::Multiply, Some(1)) => true,
                (Binary::Divide, Some(1)) => right,
                (Binary::ShiftLeft | Binary::ShiftRightArithmetic | Binary::ShiftRightLogical, Some(0)) => right,
                (Binary::And, Some(1)) => pred,
                (Binary::And, Some(-1)) => !pred,
                (Binary::Maximum | Binary::Minimum | Binary::And | Binary::Or, None) => known == other,
                _ => false,
            };
            if neutral {
                return other;
            }
            match (self.binary, known.integer()) {
                (Binary::Multiply | Binary::And, Some(0)) => return known,
                (Binary::Or, Some(1)) if pred => return known,
                (Binary::Xor, Some(1)) if pred => return other.opposite(),
                _ => {}
            }
        }
        let (a, b) = if self.binary.commutes() { (a.min(b), a.max(b)) } else { (a, b) };
        self.mixer.and(a).and(b).symbol()
    }
}

/// The least constant whose sum with any subnormal number is the constant itself.
const LARGE: f32 = 1.0 / (1u64 << 60) as f32;

/// The rounded product, by the product in flight, of factors of which one is a power of two. Rounding leaves such a product as it is:
/// a mean that meets its epsilon, as in norms, is the same whether a compiler fuses both or not.
pub type ScaledProducts = RefCell<HashMap<Symbol, Symbol>>;

impl Tracer<'_> {
    /// Rounds an operand whose elements are products in flight. No other operation gives the same symbols, but for values that
    /// are known one by one.
    pub fn round_products(&self, operand: &mut Symbols) {
        if let Symbols::Array(array) = operand
            && array.exact
        {
            let round = Key::RoundedProduct.mixer();
            let rounded = |symbol: &Symbol| {
                let known = if array.several { None } else { self.round_by_values(*symbol) };
                known.unwrap_or_else(|| round_product(&round, *symbol))
            };
            *operand = Symbols::array(array.elements.iter().map(rounded).collect());
        }
    }

    /// Records the rounded product of a product in flight that rounding changes only below the least normal number: one factor is
    /// a power of two of at most 1. A larger one may take the product beyond the largest number.
    pub fn note_scaled(&self, product: Symbol, factors: [Symbol; 2], rounded: &PairwiseOperation) {
        let is_scale = |factor: Symbol| {
            let power = factor.float().filter(|v| v.is_normal() && v.to_bits() << 9 == 0);
            power.is_some_and(|power| power.abs() <= 1.0)
        };
        if product.is_known() || !factors.into_iter().any(is_scale) {
            return;
        }
        let (bare, opposite) = product.split_sign();
        let rounded = rounded.of(factors[0], factors[1]).with_sign(opposite);
        self.scaled.borrow_mut().insert(bare, rounded);
    }

    /// The terms of a sum of such a product and a constant, the product rounded. Where the product lies below the least normal
    /// number, the sum is the constant either way. `None` for any other terms.
    pub fn terms_apart(&self, terms: [Symbol; 2], arrays: [&Array; 2]) -> Option<[Symbol; 2]> {
        let [one, other] = arrays.map(|array| array.exact);
        let at = usize::from(other);
        let constant = terms[1 - at].float().filter(|constant| constant.is_finite() && constant.abs() >= LARGE);
        if one == other || constant.is_none() {
            return None;
        }
        let (bare, opposite) = terms[at].split_sign();
        let rounded = self.scaled.borrow().get(&bare)?.with_sign(opposite);
        let mut unfused = terms;
        unfused[at] = rounded;
        Some(unfused)
    }
}
