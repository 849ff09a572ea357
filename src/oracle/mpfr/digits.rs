//! Vectors of numbers of any precision as digits that f64 multiplies and adds up exactly.
//!
//! Of a vector with all `|x| <= 2^(e - 1)` an entry is
//!
//! ```text
//! x = 2^e (d[0] 2^-B + d[1] 2^-2B + ... + d[S-1] 2^-SB) + rest        B = DIGIT, |d| <= 2^(B - 1), |rest| <= 2^(e - SB - 1)
//! ```
//!
//! with integers d: the nearest integer to `2^(SB - e) x`, at most 2^(SB - 1), in balanced digits. These split off from the
//! lowest one on: what is left is an integer of at most half of 2^(S B - B) again, so that the first digit has no more than
//! the others (Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59, 2012). The rest is part of the entry's radius.

use std::rc::Rc;

use rug::Float;
use rug::float::Round;
use rug::integer::Order;

use super::middle::{Entry, REACH};
use super::reals::Reals;
use crate::between::Between;
use crate::dot::transpose;
use crate::num::{exp2i, floor_log2};

/// Bits of a digit.
pub(super) const DIGIT: u32 = 22;
/// So many products of two digits f64 adds up exactly: each is at most 2^(2 DIGIT - 2), all of them 2^53.
pub(super) const TERMS: usize = 1 << (53 - (2 * DIGIT - 2));

/// Plain values have exponents within this, so that their digits come from f64 arithmetic without a rounding.
const MODERATE: i32 = 400;

/// The kind of a vector, by its effect on its dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It has digits.
    Regular,
    /// All entries are numbers, but of one no bound is known that says anything: the dot is a number.
    Unbounded,
    /// Nothing is known of an entry, and all others are numbers: nothing is known of the dot.
    Unknown,
    /// An entry is infinite or NaN, or is beyond the exponents that this can handle.
    Irregular,
}

/// One vector's scales, each a power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorScale {
    pub kind: Kind,
    /// That of the digits: `e` above.
    pub digits: i32,
    /// Those of `reaches` and `radii`.
    pub reaches: i32,
    pub radii: i32,
}

/// Memory layout of the vectors of one operand.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// The first entry of the first vector.
    pub start: usize,
    /// From one vector to the next.
    pub vector: usize,
    /// From one entry to the next.
    pub entry: usize,
    /// Entries of a vector.
    pub length: usize,
}

impl Layout {
    /// The index of an entry of a vector.
    pub fn place(self, vector: usize, entry: usize) -> usize {
        self.start + vector * self.vector + entry * self.entry
    }
}

/// Some vectors of one operand.
pub(super) struct Digits {
    pub scales: Vec<VectorScale>,
    pub length: usize,
    /// The number of digits that are kept; those behind them are zero.
    pub used: usize,
    /// For each block of `TERMS` entries the first digits of all vectors, one vector after another, then the second ones, ...
    pub blocks: Vec<Vec<f64>>,
    /// At least `(|x| + radius) 2^-scale.reaches`, vector after vector.
    pub reaches: Vec<f64>,
    /// At least `radius 2^-scale.radii`, the rest above included; `None` where all are zero.
    pub radii: Option<Vec<f64>>,
}

impl Digits {
    /// At most `digits` digits of the vectors with these numbers, with as many `bits` as the arithmetic has.
    pub fn of_reals(reals: &Reals, layout: Layout, vectors: &[usize], digits: usize, bits: u32) -> Digits {
        let values: Vec<Rc<Between>> = match reals {
            Reals::Plain(values) => return Digits::of_plain(&values.to_vec(), layout, vectors, digits),
            Reals::Enclosed(values) => vectors
                .iter()
                .flat_map(|v| (0..layout.length).map(move |l| layout.place(*v, l)))
                .map(|at| Rc::clone(values.at(at)))
                .collect(),
        };
        let mut made = Digits::zeros(vectors.len(), layout.length, digits);
        let mut radii = vec![0.0; values.len()];
        for (v, values) in values.chunks_exact(layout.length.max(1)).enumerate() {
            made.fill(v, values, bits, &mut radii[v * layout.length..]);
        }
        made.finish(radii)
    }

    /// [`Digits::of_reals`] of exactly known values.
    pub fn of_plain(values: &[f64], layout: Layout, vectors: &[usize], digits: usize) -> Digits {
        let Layout { start, vector, entry, length } = layout;
        let mut made = Digits::zeros(vectors.len(), length, digits);
        let are_neighbours = vectors.windows(2).all(|pair| pair[1] == pair[0] + 1);
        match vectors.first() {
            // Columns that lie side by side are a transpose, which reads whole lines of memory.
            Some(first) if vector == 1 && entry > 0 && are_neighbours && start % entry == 0 => {
                let row = start / entry;
                transpose(values, entry, row..row + length, *first..first + vectors.len(), &mut made.reaches);
            }
            _ => {
                for (v, number) in vectors.iter().enumerate() {
                    for l in 0..length {
                        made.reaches[v * length + l] = values[layout.place(*number, l)];
                    }
                }
            }
        }
        let mut radii = vec![0.0; vectors.len() * length];
        for v in 0..vectors.len() {
            made.fill_plain(v, &mut radii[v * length..(v + 1) * length]);
        }
        made.finish(radii)
    }

    fn zeros(count: usize, length: usize, digits: usize) -> Digits {
        let zero = VectorScale { kind: Kind::Regular, digits: 0, reaches: 0, radii: 0 };
        let block = |start: usize| vec![0.0; digits * count * (length - start).min(TERMS)];
        Digits {
            scales: vec![zero; count],
            length,
            used: digits,
            blocks: (0..length).step_by(TERMS).map(block).collect(),
            reaches: vec![0.0; count * length],
            radii: None,
        }
    }

    pub fn count(&self) -> usize {
        self.scales.len()
    }

    /// Entries in a block.
    pub fn width(&self, block: usize) -> usize {
        (self.length - block * TERMS).min(TERMS)
    }

    /// The block of an entry, and the index of one of its digits in that block.
    fn place(&self, digit: usize, vector: usize, entry: usize) -> (usize, usize) {
        let block = entry / TERMS;
        (block, (digit * self.count() + vector) * self.width(block) + entry % TERMS)
    }

    /// Takes in a vector of enclosures.
    fn fill(&mut self, vector: usize, values: &[Rc<Between>], bits: u32, radii: &mut [f64]) {
        let kind = values.iter().map(|value| kind(value)).max().unwrap_or(Kind::Regular);
        self.scales[vector].kind = kind;
        if kind != Kind::Regular {
            return;
        }
        // One entry beyond the exponents makes all digits of its vector too coarse: single products decide there.
        let Some(entries) = values.iter().map(|value| Entry::new(value, bits)).collect::<Option<Vec<Entry>>>() else {
            self.scales[vector].kind = Kind::Irregular;
            return;
        };
        let largest = |of: fn(&Entry) -> &Float| entries.iter().filter_map(|entry| of(entry).get_exp()).max();
        // MPFR's significands lie below one.
        let scale = largest(|entry| &entry.middle).map_or(0, |exponent| exponent + 1);
        let whole = self.used as i32 * DIGIT as i32;
        let rest = Float::with_val(2, Float::i_exp(1, scale - whole - 1));
        let mut sizes: Vec<(Float, Float)> = Vec::with_capacity(entries.len());
        for (l, entry) in entries.into_iter().enumerate() {
            let Entry { mut middle, mut radius, mut reach, .. } = entry;
            middle <<= whole - scale;
            // Rounding to an integer takes half of one at most.
            if !middle.is_integer() {
                radius = Float::with_val_round(radius.prec(), &radius + &rest, Round::Up).0;
                reach = Float::with_val_round(reach.prec(), &reach + &rest, Round::Up).0;
            }
            let Some((integer, _)) = middle.to_integer_round(Round::Nearest) else {
                self.scales[vector].kind = Kind::Irregular;
                return;
            };
            let (limbs, sign) = (integer.to_digits::<u64>(Order::Lsf), if integer < 0 { -1.0 } else { 1.0 });
            self.split(vector, l, &limbs, sign);
            sizes.push((reach, radius));
        }
        // Where all are zero, no power of two is taken out.
        let exponent = |of: fn(&(Float, Float)) -> &Float| sizes.iter().filter_map(|size| of(size).get_exp()).max();
        let (reaches, errors) = (exponent(|size| &size.0).unwrap_or(0), exponent(|size| &size.1).unwrap_or(0));
        self.scales[vector] = VectorScale { kind, digits: scale, reaches, radii: errors };
        for (l, (reach, radius)) in sizes.into_iter().enumerate() {
            self.reaches[vector * self.length + l] = (reach >> reaches).to_f64_round(Round::Up);
            radii[l] = (radius >> errors).to_f64_round(Round::Up);
        }
    }

    /// The balanced digits of an integer, from the lowest one on.
    fn split(&mut self, vector: usize, entry: usize, limbs: &[u64], sign: f64) {
        let mut carry = 0;
        for (low, digit) in (0..self.used).rev().enumerate() {
            let (word, shift) = (low as u32 * DIGIT / 64, low as u32 * DIGIT % 64);
            // Limbs above those that the integer has are zero.
            let limb = |at: u32| limbs.get(at as usize).copied().unwrap_or(0);
            let bits = if shift == 0 { limb(word) } else { limb(word) >> shift | limb(word + 1) << (64 - shift) };
            let mut value = (bits & ((1 << DIGIT) - 1)) as i64 + carry;
            // Balanced digits are half as large, so that f64 adds up four times as many of their products.
            carry = i64::from(value > 1 << (DIGIT - 1));
            value -= carry << DIGIT;
            let (block, at) = self.place(digit, vector, entry);
            self.blocks[block][at] = sign * value as f64;
        }
    }

    /// Takes in a vector of plain values, which stand in `reaches`.
    fn fill_plain(&mut self, vector: usize, radii: &mut [f64]) {
        let range = vector * self.length..(vector + 1) * self.length;
        let values = &mut self.reaches[range];
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let limit = exp2i(MODERATE);
        let is_moderate = |value: &f64| value.abs() < limit && (*value == 0.0 || value.abs() > 1.0 / limit);
        if !values.iter().all(is_moderate) {
            self.scales[vector].kind = Kind::Irregular;
            values.fill(0.0);
            return;
        }
        if largest == 0.0 {
            return;
        }
        // So the first digit lies within half of its range, as balanced ones do.
        let scale = floor_log2(largest) + 2;
        let (digits, whole) = (self.used, self.used as i32 * DIGIT as i32);
        self.scales[vector] = VectorScale { kind: Kind::Regular, digits: scale, reaches: scale, radii: scale - whole };
        // Each step is exact: a value within 2^(DIGIT - 1), less the integer next to it, times a power of two.
        let mut rests: Vec<f64> = values.iter().map(|value| value * exp2i(DIGIT as i32 - scale)).collect();
        values.iter_mut().for_each(|value| *value = value.abs() * exp2i(-scale));
        for digit in 0..digits {
            let mut is_last = true;
            for (block, rests) in rests.chunks_mut(TERMS).enumerate() {
                let (_, at) = self.place(digit, vector, block * TERMS);
                for (place, rest) in self.blocks[block][at..].iter_mut().zip(rests) {
                    let nearest = round(*rest);
                    *place = nearest;
                    *rest = (*rest - nearest) * (1u32 << DIGIT) as f64;
                    is_last &= *rest == 0.0;
                }
            }
            if is_last {
                return;
            }
        }
        // What is left is half a unit of the last digit at most.
        radii.iter_mut().zip(&rests).for_each(|(radius, rest)| *radius = if *rest == 0.0 { 0.0 } else { 0.5 });
    }

    /// Leaves out digits that no vector has.
    fn finish(mut self, radii: Vec<f64>) -> Digits {
        let count = self.count();
        let has = |digit: usize| {
            self.blocks.iter().enumerate().any(|(block, digits)| {
                let size = count * self.width(block);
                digits[digit * size..(digit + 1) * size].iter().any(|digit| *digit != 0.0)
            })
        };
        // Each digit costs a matrix product with each of the other side: numbers of f32 need one or two of them.
        self.used = (0..self.used).rev().find(|digit| has(*digit)).map_or(0, |digit| digit + 1);
        self.radii = radii.iter().any(|radius| *radius > 0.0).then_some(radii);
        self
    }
}

/// To the nearest integer, of values far below 2^51.
#[inline(always)]
fn round(value: f64) -> f64 {
    const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
    (value + SHIFT) - SHIFT
}

fn kind(value: &Between) -> Kind {
    match value {
        Between::Unknown => Kind::Unknown,
        Between::Exact(value) if !value.is_finite() => Kind::Irregular,
        Between::Exact(_) => Kind::Regular,
        Between::Real { lo, hi, .. } if !lo.is_finite() || !hi.is_finite() => Kind::Unbounded,
        // An end that is beyond reach, and the other one far from it.
        Between::Real { lo, hi, .. } => {
            let [low, high] = [lo, hi].map(|end| end.get_exp().unwrap_or(i32::MIN));
            let is_wide = low.abs_diff(high) > 1 || lo.is_sign_negative() != hi.is_sign_negative();
            if low.max(high) > REACH && is_wide { Kind::Unbounded } else { Kind::Regular }
        }
    }
}

#[cfg(test)]
mod tests {
    use rug::Integer;

    use super::*;
    use crate::column::Column;

    /// A number of 64 bits after another (splitmix64).
    fn draw(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// The number that digits stand for, times `2^(used DIGIT - scale)`.
    fn integer(digits: &Digits, vector: usize, entry: usize) -> Integer {
        (0..digits.used).fold(Integer::new(), |sum, digit| {
            let (block, at) = digits.place(digit, vector, entry);
            let value = digits.blocks[block][at];
            assert!(value.fract() == 0.0 && value.abs() <= f64::from(1 << (DIGIT - 1)), "{value}");
            (sum << DIGIT) + value as i64
        })
    }

    /// The remainder of a number after its digits is within its radius, for numbers of any precision and for plain
    /// ones.
    #[test]
    fn digits_and_radii_hold_the_numbers() {
        let mut state = 11;
        for round in 0..200 {
            let (bits, count) = (20 + 13 * (round % 17), 1 + (round % 9) as usize);
            let (length, layout) = (5, Layout { start: 2, vector: 1, entry: 4, length: 5 });
            let mut number = |at: usize| {
                let mut word = || Integer::from(draw(&mut state));
                let words = (word() << 128) + (word() << 64) + word();
                let value: Float = Float::with_val(bits, words) >> 192;
                (if at.is_multiple_of(3) { -value } else { value }) << (at as i32 % 7 * (round as i32 % 40) - 60)
            };
            let wide: Vec<Float> = (0..24).map(&mut number).collect();
            let plain: Vec<f64> = wide.iter().map(Float::to_f64).collect();
            let radius = |at: usize| Float::with_val(64, Float::i_exp(at as i32 % 3, -50));
            let around = |(at, value): (usize, &Float)| {
                let (lo, hi) = (value.clone() - radius(at), value.clone() + radius(at));
                Rc::new(Between::real(lo, hi))
            };
            let enclosed = Reals::Enclosed(Column::new(wide.iter().enumerate().map(around).collect()));
            for reals in [enclosed, Reals::Plain(Column::new(plain))] {
                let vectors = if round % 2 == 0 { vec![0, 1, 2] } else { vec![2, 0] };
                let made = Digits::of_reals(&reals, layout, &vectors, count, bits);
                for (v, number) in vectors.iter().enumerate() {
                    for l in 0..length {
                        let value = reals.at(2 + number + 4 * l);
                        let scale = made.scales[v];
                        let unit = scale.digits - made.used as i32 * DIGIT as i32;
                        let middle = Float::with_val(1000, integer(&made, v, l)) << unit;
                        let radius = made.radii.as_ref().map_or(0.0, |radii| radii[v * length + l]);
                        let radius = Float::with_val(1000, radius) << scale.radii;
                        let reach = Float::with_val(1000, made.reaches[v * length + l]) << scale.reaches;
                        let (lo, hi) = value.ends().unwrap();
                        for end in [lo, hi] {
                            assert!(
                                Float::with_val(1000, end - &middle).abs() <= radius,
                                "{end} by {middle} +- {radius}"
                            );
                            assert!(end.clone().abs() <= reach);
                        }
                    }
                }
            }
        }
    }

    /// Only digits that are zero are left out of plain values; bf16 weights of like magnitude have two digits at most.
    #[test]
    fn digits_that_are_zero_are_left_out() {
        let layout = Layout { start: 0, vector: 3, entry: 1, length: 3 };
        let of = |values: &[f64]| Digits::of_plain(values, layout, &[0], 9);
        assert_eq!((of(&[1.0, -0.5, 0.75]).used, of(&[0.0; 3]).used), (1, 0));
        let narrow = of(&[1.0, 2f64.powi(-30), 0.0]);
        assert!(narrow.used == 2 && narrow.radii.is_none());
        let wide = of(&[1.0, 2f64.powi(-300), 0.0]);
        assert!(wide.used == 1 && wide.radii.unwrap() == [0.0, 0.5, 0.0]);
        let beyond = of(&[1.0, 2f64.powi(-401), 0.0]);
        assert_eq!(beyond.scales[0].kind, Kind::Irregular);
    }

    #[test]
    fn the_least_of_all_entries_decides() {
        let real = |lo: f64, hi: f64| Rc::new(Between::real(Float::with_val(53, lo), Float::with_val(53, hi)));
        let of = |value: Rc<Between>| {
            let reals = Reals::Enclosed(Column::new(vec![real(1.0, 2.0), value]));
            Digits::of_reals(&reals, Layout { start: 0, vector: 2, entry: 1, length: 2 }, &[0], 4, 60).scales[0].kind
        };
        assert_eq!(of(real(-1.0, 1.0)), Kind::Regular);
        assert_eq!(of(real(0.0, f64::INFINITY)), Kind::Unbounded);
        assert_eq!(of(Rc::new(Between::Unknown)), Kind::Unknown);
        assert_eq!(of(Rc::new(Between::nan())), Kind::Irregular);
        assert_eq!(of(Rc::new(Between::exact(f64::INFINITY))), Kind::Irregular);
        let huge = |exponent: i32| Float::with_val(53, Float::i_exp(1, exponent));
        assert_eq!(of(Rc::new(Between::real(huge(0), huge(1 << 28)))), Kind::Unbounded);
        assert_eq!(of(Rc::new(Between::Exact(huge(1 << 28)))), Kind::Irregular);
    }
}
