//! Rows of integers in each of which a float and its place are packed: their order is that of the floats, ties in the order of
//! places.

use crate::tensor::DType;

use super::super::ranked::by_bits;
use super::super::run::Tracer;
use super::super::symbol::{Mixer, Symbol};
use super::{Part, Source, Word, all_bits};

/// The bits of a key, but for the number of its place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// The type whose bits the float is given by.
    float: DType,
    /// Places that the float's bits are moved up.
    moved: i32,
    /// The places of the float, and those at which its sign inverts it.
    own: u64,
    inverted: u64,
    /// The constant at the places of the float.
    constant: u64,
}

/// A row of keys, ranked.
pub struct RankedKeys {
    layout: Layout,
    /// The constant below the float, which the number of the place inverts.
    low: u64,
    /// The number of keys.
    length: usize,
    /// The row and its order; the values and places of winners follow from it as those of any top-k.
    row: Mixer,
    is_bf16: bool,
    dtype: DType,
}

impl Tracer<'_> {
    /// A row of integers as packed floats with their places, which an order of the integers ranks; `None` where they are none, or
    /// where equal floats would come in another order than that of their places.
    pub fn ranked_keys(&self, row: &[Symbol], dtype: DType, descending: bool) -> Option<RankedKeys> {
        let mut floats = Vec::with_capacity(row.len());
        let mut first: Option<(Layout, u64)> = None;
        for (place, symbol) in row.iter().enumerate() {
            let word = self.unpack(*symbol, dtype)?;
            let (layout, float) = self.layout(&word, dtype)?;
            let low = word.constant & !layout.own;
            let (of_all, low_of_first) = *first.get_or_insert((layout, low));
            if layout != of_all || layout.own & 1 == 0 && low != low_of_first ^ place as u64 {
                return None;
            }
            floats.push(float);
        }
        let (layout, low) = first?;
        let places = (row.len() as u64).checked_next_power_of_two()? - 1;
        let has_places = layout.own & 1 == 0;
        // The larger key of two equal floats is that of the place that comes first.
        let in_order = low & places == if descending { places } else { 0 };
        if has_places && (places & layout.own != 0 || !in_order) {
            return None;
        }
        // The key of a float grows with it, or falls.
        let top = 1u64 << (dtype.bits() - 1);
        let growing = if dtype.is_signed() { 0 } else { top };
        let falls = match layout.constant {
            constant if constant == growing => false,
            constant if constant == growing ^ layout.own => true,
            _ => return None,
        };
        let is_bf16 = floats.iter().all(|float| float.is_bf16());
        let row = by_bits(descending != falls).and_all(floats.iter().copied());
        Some(RankedKeys { layout, low, length: floats.len(), row, is_bf16, dtype })
    }

    /// The layout of a key, and the float in it: all bits of a float, inverted where it is negative, but for the sign.
    fn layout(&self, word: &Word, dtype: DType) -> Option<(Layout, Symbol)> {
        let [moved, spread] = word.parts[..] else { return None };
        let (Source::Moved(by), Source::Spread(bit)) = (moved.source, spread.source) else { return None };
        let (float, held) = self.float_with_bits(moved.symbol)?;
        let (top, bits) = (1u64 << (dtype.bits() - 1), u64::MAX >> (64 - held.bits()));
        let own = if by >= 0 { bits << by } else { return None };
        let is_key = moved.symbol == spread.symbol
            && by + held.bits() as i32 == dtype.bits() as i32
            && bit == held.bits() - 1
            && moved.mask == own
            && spread.mask == own & !top;
        let layout = Layout { float: held, moved: by, own, inverted: spread.mask, constant: word.constant & own };
        is_key.then_some((layout, float))
    }

    /// The key at a place of the ranked row.
    pub fn ranked_key(&self, keys: &RankedKeys, at: usize) -> Option<Symbol> {
        let RankedKeys { layout, low, .. } = keys;
        let value = keys.row.and_count(0).and_count(at).symbol();
        let value = if keys.is_bf16 { value.in_type(DType::BF16) } else { value };
        let bits = self.float_bits(value, layout.float)?;
        let [Part { symbol, .. }] = bits.parts[..] else { return None };
        let part = |source, mask| Part { symbol, source, mask };
        let float = Word {
            constant: layout.constant ^ low,
            parts: vec![
                part(Source::Moved(layout.moved), layout.own),
                part(Source::Spread(layout.float.bits() - 1), layout.inverted),
            ],
        };
        let word = match layout.own & 1 {
            1 => float,
            _ => float.xor(&self.unpack(self.ranked_place(keys, at), keys.dtype)?),
        };
        Some(self.pack(word.and(all_bits(keys.dtype)), keys.dtype))
    }

    /// The place in the row that the winner of this rank has.
    pub fn ranked_place(&self, keys: &RankedKeys, at: usize) -> Symbol {
        let place = keys.row.and_count(1).and_count(at).symbol();
        self.place_of_row(place, keys.length);
        place
    }

    /// Notes that an integer is a place in a row.
    pub fn place_of_row(&self, place: Symbol, length: usize) {
        self.ranges.borrow_mut().insert(place, 0..=length.saturating_sub(1) as i64);
    }
}
