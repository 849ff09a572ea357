//! Products of matrices of any precision, by matrix multiplications of f64.
//!
//! With the digits of a row x and a column y (`digits`), `x y` is the sum of `2^(e + f - (p + q + 2) B) d[p] d'[q]` over all
//! digits p and q and all entries. For each p and q the products of digits are integers whose sum over a block f64 holds: one
//! dgemm, exact in any order. Sums of one level `p + q` are added as integers of 64 bits, levels as integers of any length.
//! Levels from S on, S the number of digits, are left out: of each entry they are at most
//!
//! ```text
//! 2^(e + f) sum over t >= S of (2 S - 1 - t) 2^(2 B - 2) 2^(-(t + 2) B)  <=  2^(e + f - S B - 1) S
//! ```
//!
//! The radius of a dot is `sum radius (|y| + radius') + (|x| + radius) radius'` beside that, two dgemms of numbers that are not
//! negative, which lose no more than `k + 2` roundings of themselves (Higham, Accuracy and Stability of Numerical Algorithms,
//! 3.1) and `k` of the smallest numbers.

use std::borrow::Cow;
use std::rc::Rc;

use rayon::prelude::*;
use rug::float::Round;
use rug::{Float, Integer};

use super::digits::{DIGIT, Digits, Kind, Layout, VectorScale};
use super::middle::SHORT;
use super::reals::Reals;
use crate::between::Between;
use crate::deadline;
use crate::dot::{Vectors, dgemm};

/// Columns that are multiplied at a time.
const COLUMNS: usize = 128;
/// Rows times digits that are multiplied at a time.
const ROWS: usize = 2048;
/// So many sums of a block's products are at most 2^62 together.
const ADDITIONS: usize = 1 << 9;
/// Levels that are joined before they go into a long integer: 62 bits and two more digits fit into 128.
const JOINED: usize = 3;

/// The enclosure of one dot.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// It lies between these.
    Between(Float, Float),
    /// It is a number.
    Number,
    /// Nothing is known of it.
    Unknown,
    /// This method does not decide it.
    Open,
}

/// One operand.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub reals: &'a Reals,
    pub layout: Layout,
}

impl Operand<'_> {
    /// The enclosure of an entry.
    pub fn entry(self, vector: usize, entry: usize) -> Rc<Between> {
        self.reals.at(self.layout.place(vector, entry))
    }
}

/// Dots of these rows of the left operand with these columns of the right one, row by row, with as many bits as are asked
/// for below the largest products; `None` where operands are too long for that.
pub(super) fn matrix_product(
    [left, right]: [Operand; 2],
    rows: &[usize],
    columns: &[usize],
    bits: u32,
) -> Option<Vec<Found>> {
    let length = left.layout.length;
    // Bits below the dot's for the sum over the entries.
    let digits = (bits + length.max(1).ilog2() + 8).div_ceil(DIGIT) as usize + 1;
    // Sums of digit products are added up as i64: more of them could overflow.
    if digits * length.div_ceil(super::digits::TERMS) > ADDITIONS {
        return None;
    }
    let mut found = vec![Found::Open; rows.len() * columns.len()];
    let tiles: Vec<&[usize]> = columns.chunks(COLUMNS).collect();
    let plain = match right.reals {
        Reals::Plain(values) if values.run() == 1 => Some(Cow::Borrowed(values.values())),
        Reals::Plain(values) => Some(Cow::Owned(values.to_vec())),
        Reals::Enclosed(_) => None,
    };
    let deadline = deadline::current();
    let height = (ROWS / digits).clamp(8, 256);
    for (band, rows) in rows.chunks(height).enumerate() {
        let left = Digits::of_reals(left.reals, left.layout, rows, digits, bits);
        // Enclosures are counted references, which stay in this thread.
        for (group, tiles) in tiles.chunks(rayon::current_num_threads().max(1)).enumerate() {
            deadline::check();
            let known: Vec<Vec<Found>> = match &plain {
                Some(values) => {
                    let tile = |tile: &&[usize]| {
                        let right = Digits::of_plain(values, right.layout, tile, digits);
                        multiply(&left, &right, digits, bits)
                    };
                    tiles.par_iter().map(|part| deadline.within(|| tile(part))).collect()
                }
                None => {
                    let digits_of = |tile: &&[usize]| Digits::of_reals(right.reals, right.layout, tile, digits, bits);
                    let made: Vec<Digits> = tiles.iter().map(digits_of).collect();
                    let product = |right: &Digits| deadline.within(|| multiply(&left, right, digits, bits));
                    made.par_iter().map(product).collect()
                }
            };
            let first = group * rayon::current_num_threads().max(1) * COLUMNS;
            for (tile, known) in known.into_iter().enumerate() {
                let width = (columns.len() - first - tile * COLUMNS).min(COLUMNS);
                for (at, dot) in known.into_iter().enumerate() {
                    let row = band * height + at / width;
                    found[row * columns.len() + first + tile * COLUMNS + at % width] = dot;
                }
            }
        }
    }
    Some(found)
}

/// All dots of some rows with some columns.
fn multiply(left: &Digits, right: &Digits, digits: usize, bits: u32) -> Vec<Found> {
    let (m, n) = (left.count(), right.count());
    // Digits whose places add up beyond this are below the precision, and are bounded instead of multiplied.
    let levels = (left.used + right.used).saturating_sub(1).min(digits);
    let drops_levels = left.used + right.used > digits + 1;
    let mut sums = vec![0i64; levels * m * n];
    let mut products = Vec::new();
    for q in 0..right.used {
        let count = left.used.min(digits - q);
        products.resize(count * m * n, 0.0);
        for (block, (ours, theirs)) in left.blocks.iter().zip(&right.blocks).enumerate() {
            let width = left.width(block);
            let rows = Vectors { entries: &ours[..count * m * width], count: count * m, length: width };
            let columns = Vectors { entries: &theirs[q * n * width..(q + 1) * n * width], count: n, length: width };
            dgemm(rows, columns, &mut products, false);
            for (sum, product) in sums[q * m * n..].iter_mut().zip(&products) {
                *sum += *product as i64;
            }
        }
    }
    let bounds = [(&left.radii, &left.reaches, true), (&right.radii, &right.reaches, false)];
    let [beside_left, beside_right] = bounds.map(|(radii, _, is_left)| {
        let radii = radii.as_ref()?;
        let vectors = |entries, count| Vectors { entries, count, length: left.length };
        let mut out = vec![0.0; m * n];
        match is_left {
            true => dgemm(vectors(radii, m), vectors(&right.reaches, n), &mut out, false),
            false => dgemm(vectors(&left.reaches, m), vectors(radii, n), &mut out, false),
        }
        Some(out)
    });
    let mut found = Vec::with_capacity(m * n);
    for at in 0..m * n {
        let (row, column) = (left.scales[at / n], right.scales[at % n]);
        found.push(match row.kind.max(column.kind) {
            Kind::Unbounded => Found::Number,
            Kind::Unknown => Found::Unknown,
            Kind::Irregular => Found::Open,
            Kind::Regular => {
                let mut bound = Bound { length: left.length, radius: Float::new(SHORT) };
                if let Some(beside) = &beside_left {
                    bound.add(beside[at], row.radii + column.reaches);
                }
                if let Some(beside) = &beside_right {
                    bound.add(beside[at], row.reaches + column.radii);
                }
                if drops_levels {
                    bound.drop_levels(digits, row, column);
                }
                let unit = row.digits + column.digits - (levels as i32 + 1) * DIGIT as i32;
                let middle = joined((0..levels).map(|level| sums[level * m * n + at]));
                around(middle, unit, &bound.radius, bits)
            }
        });
    }
    found
}

/// A radius as it grows.
struct Bound {
    length: usize,
    radius: Float,
}

impl Bound {
    fn plus(&mut self, more: &Float) {
        self.radius = Float::with_val_round(SHORT, &self.radius + more, Round::Up).0;
    }

    /// Adds a sum of products that f64 has computed, times a power of two.
    fn add(&mut self, sum: f64, exponent: i32) {
        if sum == 0.0 && self.length == 0 {
            return;
        }
        let length = self.length as f64;
        // f64 rounded the sum to nearest: it is raised by what its additions can lose, and by products that vanished.
        let grown = (sum + length * f64::MIN_POSITIVE) * (1.0 + (length + 8.0) * f64::EPSILON);
        self.plus(&(Float::with_val(SHORT, grown) << exponent));
    }

    /// Adds a bound on the levels that are left out.
    fn drop_levels(&mut self, digits: usize, row: VectorScale, column: VectorScale) {
        let exponent = row.digits + column.digits - (digits as u32 * DIGIT) as i32 - 1;
        self.plus(&(Float::with_val(SHORT, digits * self.length) << exponent));
    }
}

/// The number whose digits are these sums, the highest one first.
fn joined(sums: impl ExactSizeIterator<Item = i64>) -> Integer {
    let mut whole = Integer::new();
    let (mut part, mut count) = (0i128, 0);
    for sum in sums {
        part = (part << DIGIT) + i128::from(sum);
        count += 1;
        if count == JOINED {
            whole <<= JOINED as u32 * DIGIT;
            whole += part;
            (part, count) = (0, 0);
        }
    }
    whole <<= count as u32 * DIGIT;
    whole + part
}

/// The numbers within a radius of an integer times a power of two.
fn around(middle: Integer, unit: i32, radius: &Float, bits: u32) -> Found {
    let middle = Float::with_val(middle.significant_bits().max(2), middle) << unit;
    let lo = Float::with_val_round(bits, &middle - radius, Round::Down).0;
    let hi = Float::with_val_round(bits, &middle + radius, Round::Up).0;
    // Of what is known exactly, and of a zero that is an end, the sign takes a closer look.
    if lo.is_zero() || hi.is_zero() || radius.is_zero() {
        return Found::Open;
    }
    Found::Between(lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::mpfr::digits::TERMS;

    /// A number between -1 and 1 after another.
    fn draw(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A number of about `bits` bits.
    fn long(state: &mut u64, bits: u32) -> Float {
        let mut value = Float::with_val(bits, draw(state));
        for step in 1..bits.div_ceil(50) {
            value += Float::with_val(bits, draw(state)) >> (50 * step);
        }
        value
    }

    /// Entries of enclosures or plain values, and a number that each may be.
    fn entries(state: &mut u64, count: usize, bits: u32, is_plain: bool) -> (Reals, Vec<Float>) {
        if is_plain {
            let of = |state: &mut u64| draw(state) * 2f64.powi((draw(state) * 20.0) as i32);
            let values: Vec<f64> = (0..count).map(|_| of(state)).collect();
            let numbers = values.iter().map(|value| Float::with_val(53, *value)).collect();
            return (Reals::Plain(Column::new(values)), numbers);
        }
        let (mut reals, mut numbers) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            let value = long(state, bits) << (draw(state) * 9.0) as i32;
            let radius = Float::with_val(64, draw(state).abs()) >> (bits as i32 / 2 + (draw(state) * 9.0) as i32);
            // Now inside, now at an end.
            let inside = (draw(state) * 2.0).clamp(-1.0, 1.0);
            numbers.push(Float::with_val(2000, &value + Float::with_val(2000, &radius * inside)));
            let lo = Float::with_val_round(bits, &value - &radius, Round::Down).0;
            reals.push(Rc::new(Between::real(lo, Float::with_val_round(bits, value + radius, Round::Up).0)));
        }
        (Reals::Enclosed(Column::new(reals)), numbers)
    }

    /// Every dot of numbers that the operands may be lies in its enclosure, which is not much wider than it must be: for
    /// long vectors and short ones, plain values on either side, chosen rows and columns, few bits and many.
    #[test]
    fn products_hold_those_of_all_numbers() {
        let mut state = 5;
        let shapes = [[3, 1, 4], [9, 40, 130], [2, TERMS + 3, 3], [17, 64, 5]];
        for (round, [m, k, n]) in (0..32).map(|round| (round, shapes[round % 4])) {
            let bits = [30, 53, 128, 700][round / 4 % 4];
            let plain = [round % 3 == 1, round % 3 == 2];
            let (lhs, left) = entries(&mut state, m * k, bits, plain[0]);
            let (rhs, right) = entries(&mut state, k * n, bits, plain[1]);
            let rows: Vec<usize> = (0..m).filter(|i| round < 16 || i % 2 == 0).collect();
            let columns: Vec<usize> = (0..n).filter(|j| round < 16 || j % 3 != 1).collect();
            let operands = [
                Operand { reals: &lhs, layout: Layout { start: 0, vector: k, entry: 1, length: k } },
                Operand { reals: &rhs, layout: Layout { start: 0, vector: 1, entry: n, length: k } },
            ];
            let found = matrix_product(operands, &rows, &columns, bits).unwrap();
            for (at, found) in found.iter().enumerate().step_by(1 + m * n / 60) {
                let [i, j] = [rows[at / columns.len()], columns[at % columns.len()]];
                let pairs = || (0..k).map(|l| (&left[i * k + l], &right[l * n + j]));
                let dot = Float::with_val(5000, Float::dot(pairs()));
                let Found::Between(lo, hi) = found else { panic!("{found:?}") };
                assert!(*lo <= dot && dot <= *hi, "{lo} to {hi} without {dot} at {bits} bits");
                let size = |value: &Float| value.to_f64().abs() + 2f64.powi(-30);
                let radius = |at: usize, reals: &Reals| {
                    let value = reals.at(at);
                    value.ends().map_or(0.0, |(lo, hi)| Float::with_val(64, hi - lo).to_f64())
                };
                let largest = |of: &dyn Fn(usize) -> f64| (0..k).map(of).fold(0.0, f64::max);
                let (x, y) = (largest(&|l| size(&left[i * k + l])), largest(&|l| size(&right[l * n + j])));
                let (e, f) = (largest(&|l| radius(i * k + l, &lhs)), largest(&|l| radius(l * n + j, &rhs)));
                // Entries reach a width beyond the numbers that were drawn of them. Rounding a middle adds half a step to
                // its radius, and each end of the dot is rounded outwards: 8 times 2^-bits of the products.
                let (x, y) = (x + e, y + f);
                let room = k as f64 * (x * f + e * y + x * y * 2f64.powi(3 - bits as i32));
                assert!(Float::with_val(64, hi - lo) <= room, "{lo} to {hi} is wider than {room}");
            }
        }
    }

    /// Numbers that their digits hold: only levels that are left out keep the dot from being exact.
    #[test]
    fn levels_that_are_left_out_count() {
        let mut state = 9;
        let values: Vec<Float> = (0..60).map(|_| long(&mut state, 100)).collect();
        let reals = Reals::Enclosed(Column::new(values.iter().map(|v| Rc::new(Between::Exact(v.clone()))).collect()));
        let layout = Layout { start: 0, vector: 30, entry: 1, length: 30 };
        let operand = Operand { reals: &reals, layout };
        let found = matrix_product([operand, operand], &[0], &[1], 60).unwrap();
        let [Found::Between(lo, hi)] = &found[..] else { panic!("{found:?}") };
        let dot = Float::with_val(500, Float::dot(values[..30].iter().zip(&values[30..])));
        assert!(*lo < dot && dot < *hi && Float::with_val(60, hi - lo) < 1e-15, "{lo} to {hi} around {dot}");
    }

    /// Products of numbers that their digits hold and that cancel but for a part far below the levels that are left out.
    #[test]
    fn levels_that_are_left_out_count_where_others_cancel() {
        let mut state = 11;
        for _ in 0..20 {
            // Entries of 60 bits each, the small one with its digits below those of the large one.
            let x = Float::with_val(60, 0.5 + long(&mut state, 60).abs() / 2u32);
            let y: Float = long(&mut state, 60) >> 40u32;
            let near = -Float::with_val(62, &x + Float::with_val(60, 2f64.powi(-58)));
            let values = [x, y.clone(), y, near];
            let reals =
                Reals::Enclosed(Column::new(values.iter().map(|v| Rc::new(Between::Exact(v.clone()))).collect()));
            let operand = Operand { reals: &reals, layout: Layout { start: 0, vector: 2, entry: 1, length: 2 } };
            let found = matrix_product([operand, operand], &[0], &[1], 60).unwrap();
            let [Found::Between(lo, hi)] = &found[..] else { panic!("{found:?}") };
            let dot = Float::with_val(900, Float::dot(values[..2].iter().zip(&values[2..])));
            assert!(*lo <= dot && dot <= *hi, "{lo} to {hi} without {dot}");
        }
    }

    /// A vector without digits leaves only its own dots open.
    #[test]
    fn vectors_without_digits_keep_to_themselves() {
        let exact = |value| Rc::new(Between::exact(value));
        let real = |lo: f64, hi: f64| Rc::new(Between::real(Float::with_val(53, lo), Float::with_val(53, hi)));
        let some = real(1.0, 1.5);
        let rows = [real(0.0, f64::INFINITY), Rc::new(Between::Unknown), exact(f64::NAN), real(2.0, 2.5)];
        let lhs = Reals::Enclosed(Column::new(rows.into_iter().flat_map(|row| [row, Rc::clone(&some)]).collect()));
        let rhs = Reals::Plain(Column::new(vec![1.0, f64::INFINITY, 0.5, 3.0]));
        let operands = [
            Operand { reals: &lhs, layout: Layout { start: 0, vector: 2, entry: 1, length: 2 } },
            Operand { reals: &rhs, layout: Layout { start: 0, vector: 1, entry: 2, length: 2 } },
        ];
        let found = matrix_product(operands, &[0, 1, 2, 3], &[0, 1], 60).unwrap();
        assert!(matches!(found[..4], [Found::Number, Found::Open, Found::Unknown, Found::Open]), "{found:?}");
        assert!(matches!(found[4..], [Found::Open, Found::Open, Found::Between(..), Found::Open]), "{found:?}");
        let Found::Between(lo, hi) = &found[6] else { panic!("a dot") };
        assert!(*lo <= 2.5 && *hi >= 3.25 && *lo > 2.499 && *hi < 3.251);
    }

    #[test]
    fn sums_of_levels_are_one_number() {
        for count in 0..9 {
            let sums: Vec<i64> =
                (0..count).map(|at| (1 << 62) - 7 * at).map(|sum| if sum % 2 == 0 { -sum } else { sum }).collect();
            let expected = sums.iter().fold(Integer::new(), |whole, sum| (whole << DIGIT) + sum);
            assert_eq!(joined(sums.into_iter()), expected);
        }
    }
}
