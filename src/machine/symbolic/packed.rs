//! Integers that lie side by side in the bits of one: TPUs pack the indices of a gather so, and take them out again.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::ir::Binary;
use crate::tensor::DType;

use super::run::Tracer;
use super::symbol::{Number, Symbol};
use super::symbol_key::Key;

/// An integer that no argument decides, and others that are shifted: a bit is set that is set in any of them.
#[derive(Clone, Default, PartialEq, Eq)]
struct Packed {
    constant: u64,
    fields: Vec<Field>,
}

/// An integer, not below 0, shifted to the left.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Field {
    shift: u32,
    symbol: Symbol,
    /// The bits that it may have set, where it lies.
    mask: u64,
}

/// Parts of packed integers.
#[derive(Default)]
pub struct PackedIntegers(RefCell<HashMap<Symbol, Packed>>);

impl Packed {
    /// The bits that may be set.
    fn mask(&self) -> u64 {
        self.fields.iter().fold(self.constant, |mask, field| mask | field.mask)
    }

    /// Bits moved to the left, if all of them stay below `limit`.
    fn shift_left(&self, by: u32, limit: u64) -> Option<Packed> {
        if self.mask() >= limit >> by {
            return None;
        }
        let field = |f: &Field| Field { shift: f.shift + by, mask: f.mask << by, ..*f };
        Some(Packed { constant: self.constant << by, fields: self.fields.iter().map(field).collect() })
    }

    /// Bits moved to the right; no integer may be cut.
    fn shift_right(&self, by: u32) -> Option<Packed> {
        let kept = self.and(!0 << by)?;
        let field = |f: &Field| Some(Field { shift: f.shift.checked_sub(by)?, mask: f.mask >> by, ..*f });
        Some(Packed { constant: kept.constant >> by, fields: kept.fields.iter().map(field).collect::<Option<_>>()? })
    }

    /// The bits of `mask`; each integer must lie inside or outside of it.
    fn and(&self, mask: u64) -> Option<Packed> {
        let cut = |f: &&Field| f.mask & mask != 0 && f.mask & !mask != 0;
        if self.fields.iter().any(|f| cut(&f)) {
            return None;
        }
        let fields = self.fields.iter().copied().filter(|f| f.mask & mask != 0).collect();
        Some(Packed { constant: self.constant & mask, fields })
    }

    /// The bits of both.
    fn or(&self, other: &Packed) -> Packed {
        let mut fields = [&self.fields[..], &other.fields].concat();
        fields.sort_unstable_by_key(|field| (field.shift, field.symbol));
        fields.dedup();
        Packed { constant: self.constant | other.constant, fields }
    }
}

impl Tracer<'_> {
    /// Result of an operation on the bits of integers that only moves whole integers; `None` if that is not known.
    pub fn join_bits(&self, binary: Binary, dtype: DType, a: Symbol, b: Symbol) -> Option<Symbol> {
        let bits = matches!(
            binary,
            Binary::ShiftLeft | Binary::ShiftRightLogical | Binary::ShiftRightArithmetic | Binary::And | Binary::Or
        );
        if !bits || !dtype.is_integer() || a.is_known() && b.is_known() {
            return None;
        }
        // No bit may reach the sign, of unsigned integers neither.
        let limit = 1u64 << (dtype.bits() - 1);
        let by = b.integer().filter(|by| (0..i64::from(dtype.bits())).contains(by)).map(|by| by as u32);
        let [left, right] = [a, b].map(|symbol| self.unpack(symbol, limit));
        let packed = match (binary, left, right) {
            (Binary::ShiftLeft, Some(packed), _) => packed.shift_left(by?, limit),
            (Binary::ShiftRightLogical | Binary::ShiftRightArithmetic, Some(packed), _) => packed.shift_right(by?),
            (Binary::Or, Some(a), Some(b)) => Some(a.or(&b)),
            (Binary::And, Some(packed), _) if b.is_known() => packed.and(b.integer()? as u64),
            (Binary::And, _, Some(packed)) if a.is_known() => packed.and(a.integer()? as u64),
            _ => None,
        };
        packed.map(|packed| self.pack(packed))
    }

    /// Parts of an integer that is known to be at least 0 and below `limit`; `None` for any other.
    fn unpack(&self, symbol: Symbol, limit: u64) -> Option<Packed> {
        let below = |packed: &Packed| packed.mask() < limit;
        if let Some(constant) = symbol.integer() {
            return Some(Packed { constant: u64::try_from(constant).ok()?, ..Packed::default() }).filter(below);
        }
        if let Some(packed) = self.packed.0.borrow().get(&symbol) {
            return Some(packed.clone()).filter(below);
        }
        let ranges = self.ranges.borrow();
        let range = ranges.get(&symbol).filter(|range| *range.start() >= 0)?;
        let mask = u64::MAX.checked_shr((*range.end() as u64).leading_zeros()).unwrap_or(0);
        Some(Packed { constant: 0, fields: vec![Field { shift: 0, symbol, mask }] }).filter(below)
    }

    /// The symbol of a packed integer: that of the only integer in it, where it is that.
    fn pack(&self, packed: Packed) -> Symbol {
        match &packed.fields[..] {
            [] => return Symbol::of(Number::Integer(packed.constant as i64)),
            [Field { shift: 0, symbol, .. }] if packed.constant == 0 => return *symbol,
            _ => {}
        }
        let mixer = Key::Packed.mixer().and_count(packed.constant as usize).and_count(packed.fields.len());
        let fields = packed.fields.iter();
        let symbol = fields.fold(mixer, |mixer, f| mixer.and(f.symbol).and_count(f.shift as usize)).symbol();
        self.packed.0.borrow_mut().insert(symbol, packed);
        symbol
    }
}
