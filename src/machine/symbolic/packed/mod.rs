//! Integers whose bits are bits of other numbers, moved: TPUs pack the indices of a gather so and take them out again, and compilers
//! pack a float and its place in a row into one key.

mod ranked_keys;

use std::cell::RefCell;
use std::collections::HashMap;

use crate::ir::Binary;
use crate::tensor::DType;

use super::run::Tracer;
use super::symbol::{Number, Symbol};
use super::symbol_key::Key;

/// The exclusive or of a constant and of bits of other numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub constant: u64,
    pub parts: Vec<Part>,
}

/// Bits of a number, at the places of the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub symbol: Symbol,
    pub source: Source,
    pub mask: u64,
}

/// The bit of the number that a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The bit so many places below; above, where it is negative.
    Moved(i32),
    /// One bit, at every place: an arithmetic shift spreads the sign so.
    Spread(u32),
}

/// A word with the type that it was made in.
struct PackedSymbols {
    word: Word,
    dtype: DType,
}

/// Integers whose words are known, and floats by the symbols of their bits.
#[derive(Default)]
pub struct PackedIntegers {
    words: RefCell<HashMap<Symbol, PackedSymbols>>,
    /// The float, and the type that it has as many bits of.
    floats: RefCell<HashMap<Symbol, (Symbol, DType)>>,
}

/// All bits of an integer type.
pub fn all_bits(dtype: DType) -> u64 {
    u64::MAX >> (64 - dtype.bits())
}

/// The sign of a signed integer type.
fn sign(dtype: DType) -> u64 {
    if dtype.is_signed() { 1 << (dtype.bits() - 1) } else { 0 }
}

impl Word {
    fn of_constant(constant: u64) -> Word {
        Word { constant, parts: Vec::new() }
    }

    /// Bits of one number.
    pub fn of_part(symbol: Symbol, source: Source, mask: u64) -> Word {
        Word { constant: 0, parts: vec![Part { symbol, source, mask }] }
    }

    /// The bits that may be set.
    fn mask(&self) -> u64 {
        self.parts.iter().fold(self.constant, |mask, part| mask | part.mask)
    }

    /// Bits moved up; those above `all` are lost.
    fn shift_left(&self, by: u32, all: u64) -> Word {
        let part = |p: &Part| Part { source: p.source.moved(by as i32), mask: p.mask << by & all, ..*p };
        Word::normal(self.constant << by & all, self.parts.iter().map(part).collect())
    }

    /// Bits moved down.
    fn shift_right(&self, by: u32) -> Word {
        let part = |p: &Part| Part { source: p.source.moved(-(by as i32)), mask: p.mask >> by, ..*p };
        Word::normal(self.constant >> by, self.parts.iter().map(part).collect())
    }

    /// The highest bit at each of the places that a shift to the right leaves free.
    fn spread_top(&self, by: u32, all: u64) -> Word {
        let (top, free) = (all.ilog2(), all & !(all >> by));
        let part = |p: &Part| {
            let bit = match p.source {
                Source::Moved(by) => u32::try_from(top as i32 - by).ok()?,
                Source::Spread(bit) => bit,
            };
            (p.mask >> top & 1 == 1).then_some(Part { source: Source::Spread(bit), mask: free, ..*p })
        };
        let constant = if self.constant >> top & 1 == 1 { free } else { 0 };
        Word::normal(constant, self.parts.iter().filter_map(part).collect())
    }

    /// The bits of a mask.
    pub fn and(&self, mask: u64) -> Word {
        let part = |p: &Part| Part { mask: p.mask & mask, ..*p };
        Word::normal(self.constant & mask, self.parts.iter().map(part).collect())
    }

    /// The exclusive or of two words.
    pub fn xor(&self, other: &Word) -> Word {
        Word::normal(self.constant ^ other.constant, [&self.parts[..], &other.parts].concat())
    }

    /// The word in the form that equal words have: each bit of a number stands once at a place.
    fn normal(constant: u64, mut parts: Vec<Part>) -> Word {
        // A bit that is spread over one place is moved there.
        for part in &mut parts {
            if let (Source::Spread(bit), 1) = (part.source, part.mask.count_ones()) {
                part.source = Source::Moved(part.mask.trailing_zeros() as i32 - bit as i32);
            }
        }
        parts.sort_unstable_by_key(|part| (part.symbol, part.source));
        let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
        for part in parts {
            match merged.last_mut() {
                Some(last) if (last.symbol, last.source) == (part.symbol, part.source) => last.mask ^= part.mask,
                _ => merged.push(part),
            }
        }
        // A spread bit at the place to which the number's own bits are moved is one of them.
        for spread in 0..merged.len() {
            let Source::Spread(bit) = merged[spread].source else { continue };
            for moved in 0..merged.len() {
                let Source::Moved(by) = merged[moved].source else { continue };
                let place = bit as i32 + by;
                if merged[moved].symbol == merged[spread].symbol && (0..64).contains(&place) {
                    let bit = merged[spread].mask & 1 << place;
                    merged[spread].mask ^= bit;
                    merged[moved].mask ^= bit;
                }
            }
        }
        let is_again = |part: &Part| matches!(part.source, Source::Spread(_)) && part.mask.count_ones() == 1;
        merged.retain(|part| part.mask != 0);
        if merged.iter().any(is_again) { Word::normal(constant, merged) } else { Word { constant, parts: merged } }
    }
}

impl Source {
    fn moved(self, up: i32) -> Source {
        match self {
            Source::Moved(by) => Source::Moved(by + up),
            Source::Spread(bit) => Source::Spread(bit),
        }
    }
}

impl Tracer<'_> {
    /// Result of an operation on the bits of integers that only moves or inverts bits; `None` if that is not known.
    pub fn join_bits(&self, binary: Binary, dtype: DType, a: Symbol, b: Symbol) -> Option<Symbol> {
        if !dtype.is_integer() || a.is_known() && b.is_known() {
            return None;
        }
        let all = all_bits(dtype);
        let by = || b.integer().filter(|by| (0..i64::from(dtype.bits())).contains(by)).map(|by| by as u32);
        // Bits of words that no place has in common.
        let apart = |a: &Word, b: &Word| a.mask() & b.mask() == 0;
        let word = match binary {
            Binary::ShiftLeft => self.unpack(a, dtype)?.shift_left(by()?, all),
            Binary::ShiftRightLogical => self.unpack(a, dtype)?.shift_right(by()?),
            Binary::ShiftRightArithmetic => {
                let (word, by) = (self.unpack(a, dtype)?, by()?);
                word.shift_right(by).xor(&word.spread_top(by, all))
            }
            Binary::And | Binary::Or => {
                let (a, b) = (self.unpack(a, dtype)?, self.unpack(b, dtype)?);
                let (constant, word) = if a.parts.is_empty() { (&a, &b) } else { (&b, &a) };
                match (binary, constant.parts.is_empty()) {
                    (Binary::And, true) => word.and(constant.constant),
                    (Binary::Or, true) => word.and(!constant.constant).xor(constant),
                    (Binary::Or, false) if apart(&a, &b) => a.xor(&b),
                    (_, false) if a == b => a,
                    _ => return None,
                }
            }
            Binary::Xor => self.unpack(a, dtype)?.xor(&self.unpack(b, dtype)?),
            Binary::Add => {
                let (a, b) = (self.unpack(a, dtype)?, self.unpack(b, dtype)?);
                // No carry: each place has one bit at most.
                if !apart(&a, &b) {
                    return None;
                }
                a.xor(&b)
            }
            _ => return None,
        };
        Some(self.pack(word, dtype))
    }

    /// All bits of an integer inverted, where its word is known.
    pub fn invert_bits(&self, symbol: Symbol, dtype: DType) -> Option<Symbol> {
        if !dtype.is_integer() || symbol.is_known() {
            return None;
        }
        let word = self.unpack(symbol, dtype)?;
        Some(self.pack(word.xor(&Word::of_constant(all_bits(dtype))), dtype))
    }

    /// The bits of a float as an integer of another type of as many bits, and the reverse; `None` if nothing is known of them.
    pub fn reinterpret(&self, symbol: Symbol, from: DType, to: DType) -> Option<Symbol> {
        if symbol.is_known() || from.bits() != to.bits() {
            return None;
        }
        match (from.is_float(), to.is_float()) {
            (true, false) if to.is_integer() => Some(self.pack(self.float_bits(symbol, from)?, to)),
            (false, true) if from.is_integer() => self.float_of(&self.unpack(symbol, from)?, to),
            (false, false) if from.is_integer() && to.is_integer() => {
                let word = self.unpack(symbol, from)?;
                Some(self.pack(word, to))
            }
            _ => None,
        }
    }

    /// The bits of a float of a type. Of what bf16 holds the lower half of an f32 is zero.
    pub fn float_bits(&self, float: Symbol, dtype: DType) -> Option<Word> {
        let held = if dtype == DType::F32 && float.is_bf16() { DType::BF16 } else { dtype };
        let (integer, moved) = match held.bits() {
            8 => (DType::U8, 0),
            16 => (DType::U16, dtype.bits() - 16),
            32 => (DType::U32, 0),
            64 => (DType::U64, 0),
            _ => return None,
        };
        let bits = Key::Bits { from: held, to: integer }.mixer().and(float).symbol();
        self.packed.floats.borrow_mut().insert(bits, (float, held));
        let own = Word::of_part(bits, Source::Moved(0), all_bits(integer));
        let word = own.shift_left(moved, u64::MAX);
        self.packed.words.borrow_mut().entry(bits).or_insert(PackedSymbols { word: own, dtype: integer });
        Some(word)
    }

    /// The float whose bits a word is.
    fn float_of(&self, word: &Word, dtype: DType) -> Option<Symbol> {
        let Word { constant: 0, parts } = word else { return None };
        let [Part { symbol, source: Source::Moved(moved), mask }] = parts[..] else { return None };
        let (float, held) = self.float_with_bits(symbol)?;
        let is_whole = held == dtype && moved == 0 || (held, dtype, moved) == (DType::BF16, DType::F32, 16);
        let bits = u64::MAX >> (64 - held.bits()) << moved.max(0);
        (is_whole && mask == bits).then_some(float)
    }

    /// The float that a symbol is the bits of, and the type whose bits they are.
    pub fn float_with_bits(&self, bits: Symbol) -> Option<(Symbol, DType)> {
        self.packed.floats.borrow().get(&bits).copied()
    }

    /// The word of an integer of a type; `None` where it is not known.
    pub fn unpack(&self, symbol: Symbol, dtype: DType) -> Option<Word> {
        let (all, sign) = (all_bits(dtype), sign(dtype));
        if let Some(constant) = symbol.integer() {
            return Some(Word::of_constant(constant as u64 & all));
        }
        if let Some(PackedSymbols { word, dtype: made }) = self.packed.words.borrow().get(&symbol) {
            // A conversion to another integer type keeps the symbol: of numbers that both types hold, the bits as well.
            let is_held = word.mask() & self::sign(*made) == 0 && word.mask() & (!all | sign) == 0;
            let is_alike = (made.bits(), made.is_signed()) == (dtype.bits(), dtype.is_signed());
            return (is_alike || is_held).then(|| word.clone());
        }
        let mask = self.bits_of_range(symbol)?;
        (mask & (!all | sign) == 0).then(|| Word::of_part(symbol, Source::Moved(0), mask).and(all))
    }

    /// The bits that an integer may have set of which a range is known.
    fn bits_of_range(&self, symbol: Symbol) -> Option<u64> {
        let ranges = self.ranges.borrow();
        let range = ranges.get(&symbol).filter(|range| *range.start() >= 0)?;
        // No bit of zero is set.
        Some(u64::MAX.checked_shr((*range.end() as u64).leading_zeros()).unwrap_or(0))
    }

    /// The symbol of a word in a type: that of the number itself, where the word is its bits.
    pub fn pack(&self, word: Word, dtype: DType) -> Symbol {
        let (all, sign) = (all_bits(dtype), sign(dtype));
        if word.parts.is_empty() {
            let is_negative = word.constant & sign != 0;
            return Symbol::of(Number::Integer(
                (if is_negative { word.constant | !all } else { word.constant }) as i64,
            ));
        }
        let is_signed = word.mask() & sign != 0;
        if let (0, [Part { symbol, source: Source::Moved(0), mask }], false) =
            (word.constant, &word.parts[..], is_signed)
        {
            let known = self.packed.words.borrow().get(symbol).map(|packed| packed.word.mask());
            if known.or_else(|| self.bits_of_range(*symbol)) == Some(*mask) {
                return *symbol;
            }
        }
        let mixer = Key::Packed { signed_bits: if is_signed { dtype.bits() } else { 0 } }.mixer();
        let mixer = mixer.and_count(word.constant as usize).and_count(word.parts.len());
        let symbol = word.parts.iter().fold(mixer, |mixer, part| {
            let (kind, number) = match part.source {
                Source::Moved(by) => (0, by as usize),
                Source::Spread(bit) => (1, bit as usize),
            };
            mixer.and(part.symbol).and_count(kind).and_count(number).and_count(part.mask as usize)
        });
        let symbol = symbol.symbol();
        self.packed.words.borrow_mut().insert(symbol, PackedSymbols { word, dtype });
        symbol
    }
}
