//! Operations whose terms may be taken in any order and in parts: largest and smallest numbers, and those of integers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::ir::Binary;
use crate::tensor::DType;

use super::pairwise::{PairwiseOperation, is_ordered};
use super::pointwise::round;
use super::run::Tracer;
use super::symbol::{Facts, Mixer, Number, Symbol};
use super::symbol_key::Key;

/// Terms of gathered results: a result that is gathered again stands for its terms.
#[derive(Default)]
pub struct GatheredTerms {
    of: RefCell<HashMap<Symbol, Gathered>>,
    kept: Cell<usize>,
}

#[derive(Clone)]
struct Gathered {
    binary: Binary,
    dtype: DType,
    terms: Rc<[Symbol]>,
}

/// Terms that all results together may keep, and one may have where parts are put together.
const KEPT: usize = 1 << 22;
const TERMS: usize = 1 << 14;

/// An operation that gathers terms.
pub struct Gathering<'t> {
    tracer: &'t Tracer<'t>,
    binary: Binary,
    /// The type of integers; f32 stands for all floats that it holds.
    dtype: DType,
    operation: PairwiseOperation<'t>,
    mixer: Mixer,
}

impl<'t> Gathering<'t> {
    /// `None` where the order or the grouping of terms shows.
    pub fn new(tracer: &'t Tracer<'t>, binary: Binary, dtype: DType) -> Option<Gathering<'t>> {
        let unit = &tracer.machine.unit;
        let (dtype, float) = match binary {
            Binary::Maximum | Binary::Minimum if dtype.is_float() && dtype != DType::F64 => {
                (DType::F32, Some((unit.flush, unit.zero_tie)))
            }
            _ if !dtype.is_float() && binary.commutes() => (dtype, None),
            _ => return None,
        };
        let operation = PairwiseOperation::new(binary, dtype, unit, tracer);
        let mixer = Key::Gathered { binary, dtype, float }.mixer();
        Some(Gathering { tracer, binary, dtype, operation, mixer })
    }

    /// The result for these terms and the init, which may be none's business: what every term beats, or changes nothing.
    pub fn of(&self, init: Symbol, row: &[Symbol]) -> Symbol {
        if self.dtype.is_float() { self.extreme(init, row) } else { self.integers(init, row) }
    }

    /// Symbol of the number that every float beats.
    fn worst(&self) -> Symbol {
        Symbol::of(Number::Float(if self.binary == Binary::Maximum { f32::NEG_INFINITY } else { f32::INFINITY }))
    }

    /// The terms of what was gathered by the same operation in their place.
    fn terms(&self, row: &[Symbol]) -> Vec<Symbol> {
        let gathered = self.tracer.gathered.of.borrow();
        let parts = |symbol: &Symbol| {
            gathered.get(symbol).filter(|parts| parts.binary == self.binary && parts.dtype == self.dtype)
        };
        let count: usize = row.iter().map(|symbol| parts(symbol).map_or(1, |parts| parts.terms.len())).sum();
        if count == row.len() || count > TERMS {
            return row.to_vec();
        }
        let terms = |symbol: &Symbol| parts(symbol).map_or(vec![*symbol], |parts| parts.terms.to_vec());
        row.iter().flat_map(terms).collect()
    }

    /// Notes what a result stands for.
    fn keep(&self, result: Symbol, terms: Vec<Symbol>) {
        let GatheredTerms { of, kept } = &self.tracer.gathered;
        if kept.get() + terms.len() <= KEPT {
            kept.set(kept.get() + terms.len());
            of.borrow_mut().insert(result, Gathered { binary: self.binary, dtype: self.dtype, terms: terms.into() });
        }
    }

    /// The largest or smallest of floats.
    fn extreme(&self, init: Symbol, row: &[Symbol]) -> Symbol {
        let unit = &self.tracer.machine.unit;
        if row.is_empty() {
            return init;
        }
        let init = Some(init).filter(|init| *init != self.worst());
        let taken: Vec<Symbol> = row.iter().map(|s| if unit.flush { s.unflush() } else { *s }).collect();
        let terms = self.terms(&taken);
        if let ([one], None) = (&terms[..], init) {
            return if unit.flush { one.flush() } else { *one };
        }
        let all = || terms.iter().copied().chain(init);
        let not_negative = all().all(Symbol::is_not_negative);
        let narrow = all().all(Symbol::is_bf16);
        let mut listed = terms.clone();
        if !is_ordered(unit, self.tracer.permits.one_zero, all()) {
            listed.sort_unstable();
            listed.dedup();
        }
        let result = self.mixer.and_all(init).and_all(listed).symbol();
        let result = result.with(Facts { normal: unit.flush, not_negative, ..Facts::default() });
        let result = if narrow { result.in_type(DType::BF16) } else { result };
        if init.is_none() {
            self.keep(result, terms);
        }
        result
    }

    fn integers(&self, init: Symbol, row: &[Symbol]) -> Symbol {
        let all: Vec<Symbol> = self.terms(row).into_iter().chain([init]).collect();
        let (known, mut open): (Vec<Symbol>, Vec<Symbol>) = all.into_iter().partition(|symbol| symbol.is_known());
        open.sort_unstable();
        if matches!(self.binary, Binary::And | Binary::Or | Binary::Maximum | Binary::Minimum) {
            open.dedup();
        }
        // Nothing is joined with what changes nothing.
        let changes = |known: &Symbol| open.is_empty() || self.operation.of(*known, open[0]) != open[0];
        let known = known.into_iter().reduce(|a, b| self.operation.of(a, b)).filter(changes);
        match (known, &open[..]) {
            (Some(known), []) => known,
            (None, [one]) => *one,
            (None, [one, other]) => self.operation.of(*one, *other),
            (Some(known), [one]) => self.operation.of(known, *one),
            _ => {
                let result = self.mixer.and_all(known).and_all(open.iter().copied()).symbol();
                self.keep(result, open.into_iter().chain(known).collect());
                result
            }
        }
    }
}

impl Tracer<'_> {
    /// A number rounded to a float type: the largest of rounded numbers is the largest number rounded, and the smallest as well.
    pub fn round(&self, symbol: Symbol, dtype: DType) -> Symbol {
        let found = self.gathered.of.borrow().get(&symbol).filter(|parts| parts.dtype == DType::F32).cloned();
        let Some(parts) = found.filter(|_| dtype == DType::BF16 && !symbol.is_bf16()) else {
            return round(symbol, dtype);
        };
        let terms: Vec<Symbol> = parts.terms.iter().map(|term| round(*term, dtype)).collect();
        let unit = &self.machine.unit;
        match Gathering::new(self, parts.binary, DType::F32) {
            // Rounding makes zeros, and then their order may show.
            Some(gathering) if !unit.flush && !is_ordered(unit, self.permits.one_zero, terms.iter().copied()) => {
                gathering.of(gathering.worst(), &terms)
            }
            _ => round(symbol, dtype),
        }
    }
}
