//! Products of matrices whose entries are known up to a radius, by matrix multiplications.
//!
//! An entry is `hi + lo`, off by at most `error`. Each vector is split into `depth` parts on grids of falling weight
//! and a rest, `x = x0 + x1 + ... + rest`, and
//!
//! ```text
//! x y = sum of all xp yq with p + q < depth            each exact: all products lie on one grid, below 2^53 units
//!     + sum of xp (y - y0 - ... - y(depth-1-p))         small, rounded: bounded by gamma_n
//!     + (x - x0 - ... - x(depth-1)) y
//! ```
//!
//! (Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59, 2012.) The exact products are added by `two_sum`, whose errors are
//! kept. The radius of a result is `|error| (|y| + error') + (|x| + error) |error'|`, multiplied as matrices as well
//! (midpoint-radius arithmetic; Rump, BIT 39(3), 1999).

use std::ops::Range;

use super::facts::norm_bound;
use super::panel::transpose;
use super::simd::{Kernel, Vectors, dgemm, dispatch};
use super::{even_parts, two_sum};
use crate::deadline;
use crate::num::{exp2i, floor_log2};
use crate::pair::{IRREGULAR, Pair};

/// The number of parts that operands are split into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Products within about 2^-66 of the vectors' norms.
    One = 1,
    /// Within about 2^-104.
    Three = 3,
}

/// A row-major matrix, part by part.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    hi: Vec<f64>,
    lo: Vec<f64>,
    error: Vec<f64>,
}

impl FromIterator<Pair> for Entries {
    fn from_iter<I: IntoIterator<Item = Pair>>(pairs: I) -> Entries {
        let pairs = pairs.into_iter();
        let [mut hi, mut lo, mut error] = [0; 3].map(|_| Vec::with_capacity(pairs.size_hint().0));
        for pair in pairs {
            hi.push(pair.hi);
            lo.push(pair.lo);
            error.push(pair.error);
        }
        Entries { hi, lo, error }
    }
}

/// So many entries of a vector are taken apart together: shorter blocks have more bits a part, longer ones fewer passes.
const BLOCK: usize = 512;

/// The longest side of a tile.
const SIDE: usize = 256;

/// The unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// The largest entry of a vector lies between these, so that no part of it or of a product vanishes or overflows.
const SMALLEST: f64 = f64::from_bits((1023 - 300) << 52);
const LARGEST: f64 = f64::from_bits((1023 + 400) << 52);

/// `lhs` `[m,k]` times `rhs` `[k,n]`: an enclosure of each result, [`IRREGULAR`] where this cannot say. That is where an
/// entry of its vectors is infinite, NaN or unknown, where the vectors' entries are beyond 2^400 or all below 2^-300, and
/// where the result is an exact zero, whose sign takes a closer look.
///
/// # Panics
/// If an operand does not have the length its shape says.
pub fn enclosed_products(lhs: &Entries, rhs: &Entries, [m, k, n]: [usize; 3], depth: Depth) -> Vec<Pair> {
    assert_eq!((lhs.hi.len(), rhs.hi.len()), (m * k, k * n), "operands must be [m,k] and [k,n]");
    let depth = depth as usize;
    let mut out = vec![IRREGULAR; m * n];
    let (mut left, mut right) = (Side::new(depth), Side::new(depth));
    let mut tile = ResultTile::default();
    for columns in even_parts(n, SIDE) {
        for rows in even_parts(m, SIDE) {
            left.start(rows.len());
            right.start(columns.len());
            tile.start(rows.len() * columns.len());
            for block in even_parts(k, BLOCK) {
                deadline::check();
                left.fill_rows(lhs, k, rows.clone(), block.clone());
                right.fill_columns(rhs, n, columns.clone(), block.clone());
                tile.add(&left, &right, k);
            }
            for (i, row) in rows.clone().enumerate() {
                for j in 0..columns.len() {
                    // Vectors that are not answered were zeroed before the products: their results mean nothing.
                    let known = left.is_regular(i) && right.is_regular(j);
                    if known {
                        out[row * n + columns.start + j] = tile.result(i * columns.len() + j, k);
                    }
                }
            }
        }
    }
    out
}

/// Properties of one vector over all its blocks so far.
#[derive(Clone, Copy, Debug)]
struct VectorFacts {
    /// All entries are finite and the largest is within the limits.
    is_moderate: bool,
    /// Whether all entries are exactly zero.
    is_zero: bool,
    /// Whether all entries are exactly known.
    is_exact: bool,
}

/// Vectors of one operand: one block of them, taken apart.
struct Side {
    depth: usize,
    length: usize,
    vectors: Vec<VectorFacts>,
    hi: Vec<f64>,
    lo: Vec<f64>,
    error: Vec<f64>,
    /// At least the magnitude of each entry, its error included.
    outer: Vec<f64>,
    /// `depth` parts, vector after vector.
    parts: Vec<Vec<f64>>,
    /// The remainders after the first 0, 1, ... `depth` parts, rounded to one f64.
    rests: Vec<Vec<f64>>,
    /// At least the norm of each vector's parts and rests, one list a part.
    part_norms: Vec<Vec<f64>>,
    rest_norms: Vec<Vec<f64>>,
}

impl Side {
    fn new(depth: usize) -> Side {
        Side {
            depth,
            length: 0,
            vectors: Vec::new(),
            hi: Vec::new(),
            lo: Vec::new(),
            error: Vec::new(),
            outer: Vec::new(),
            parts: vec![Vec::new(); depth],
            rests: vec![Vec::new(); depth + 1],
            part_norms: vec![Vec::new(); depth],
            rest_norms: vec![Vec::new(); depth + 1],
        }
    }

    fn start(&mut self, count: usize) {
        self.vectors.clear();
        self.vectors.resize(count, VectorFacts { is_moderate: true, is_zero: true, is_exact: true });
    }

    fn count(&self) -> usize {
        self.vectors.len()
    }

    /// Whether products with this vector are answered.
    fn is_regular(&self, vector: usize) -> bool {
        self.vectors[vector].is_moderate && !self.vectors[vector].is_zero
    }

    /// Takes in a block of rows of a `[_,k]`.
    fn fill_rows(&mut self, from: &Entries, k: usize, rows: Range<usize>, block: Range<usize>) {
        let fill = |to: &mut Vec<f64>, from: &[f64]| {
            to.clear();
            rows.clone().for_each(|row| to.extend_from_slice(&from[row * k..][block.clone()]));
        };
        fill(&mut self.hi, &from.hi);
        fill(&mut self.lo, &from.lo);
        fill(&mut self.error, &from.error);
        self.take_apart(block.len());
    }

    /// Takes in a block of columns of a `[_,n]`.
    fn fill_columns(&mut self, from: &Entries, n: usize, columns: Range<usize>, block: Range<usize>) {
        let fill = |to: &mut Vec<f64>, from: &[f64]| {
            to.resize(block.len() * columns.len(), 0.0);
            transpose(from, n, block.clone(), columns.clone(), to);
        };
        fill(&mut self.hi, &from.hi);
        fill(&mut self.lo, &from.lo);
        fill(&mut self.error, &from.error);
        self.take_apart(block.len());
    }

    fn take_apart(&mut self, length: usize) {
        self.length = length;
        let Side { depth, hi, lo, error, outer, parts, rests, part_norms, rest_norms, .. } = self;
        let entries = hi.len();
        parts.iter_mut().chain(rests.iter_mut()).chain([&mut *outer]).for_each(|list| list.resize(entries, 0.0));
        // A product of two parts is at most 2^(2 bits) units, and a block's sum of them 2^53.
        let bits = (53 - length.next_power_of_two().trailing_zeros() as i32) / 2;
        for (at, vector) in self.vectors.iter_mut().enumerate() {
            let range = at * length..(at + 1) * length;
            let look = dispatch(ErrorLook { hi: &hi[range.clone()], error: &error[range.clone()] });
            vector.is_moderate &= look.largest == 0.0 || (look.largest > SMALLEST && look.largest < LARGEST);
            vector.is_moderate &= look.error < f64::INFINITY;
            vector.is_zero &= look.largest == 0.0 && look.error == 0.0;
            vector.is_exact &= look.error == 0.0;
            if !vector.is_moderate {
                // Nothing of it may reach what other vectors are multiplied with.
                [&mut *hi, lo, error].into_iter().for_each(|list| list[range.clone()].fill(0.0));
            }
            let top = if look.largest == 0.0 || !vector.is_moderate { 0 } else { floor_log2(look.largest) + 1 };
            dispatch(OuterProducts {
                parts: [&hi[range.clone()], &lo[range.clone()], &error[range.clone()]],
                out: &mut outer[range.clone()],
            });
            rests[0][range.clone()].copy_from_slice(&hi[range.clone()]);
            for level in 0..*depth {
                dispatch(Extract {
                    unit: exp2i(top - bits * (level as i32 + 1)),
                    hi: &mut hi[range.clone()],
                    lo: &mut lo[range.clone()],
                    part: &mut parts[level][range.clone()],
                });
                rests[level + 1][range.clone()].copy_from_slice(&hi[range.clone()]);
            }
        }
        let norms = |list: &Vec<f64>, norms: &mut Vec<f64>| {
            norms.clear();
            norms.extend(list.chunks_exact(length.max(1)).map(norm));
        };
        parts.iter().zip(part_norms).for_each(|(part, out)| norms(part, out));
        rests.iter().zip(rest_norms).for_each(|(rest, out)| norms(rest, out));
    }

    fn vectors<'a>(&self, entries: &'a [f64]) -> Vectors<'a> {
        Vectors { entries, count: self.count(), length: self.length }
    }

    fn is_exact(&self) -> bool {
        self.vectors.iter().all(|vector| vector.is_exact)
    }
}

/// At least the Euclidean norm of finite entries.
fn norm(entries: &[f64]) -> f64 {
    let Squares { sum, largest } = dispatch(Measure(entries));
    if largest == 0.0 { 0.0 } else { norm_bound(sum, entries.len(), largest) }
}

/// The largest magnitude and error of a vector's entries; NaN or infinite where one is.
struct ErrorLook<'a> {
    hi: &'a [f64],
    error: &'a [f64],
}

struct Looked {
    largest: f64,
    error: f64,
}

impl Kernel for ErrorLook<'_> {
    type Output = Looked;

    #[inline(always)]
    fn run(self) -> Looked {
        // NaN is kept: it is not below what was found.
        let larger = |a: f64, b: f64| if b <= a { a } else { b };
        let largest = self.hi.iter().fold(0.0, |largest, hi| larger(largest, hi.abs()));
        let error = self.error.iter().fold(0.0, |largest, error| larger(largest, *error));
        let has_nan = self.hi.iter().zip(self.error).fold(false, |any, (hi, error)| any | hi.is_nan() | error.is_nan());
        if has_nan { Looked { largest: f64::NAN, error: f64::NAN } } else { Looked { largest, error } }
    }
}

/// At least the magnitudes that entries may have.
struct OuterProducts<'a> {
    parts: [&'a [f64]; 3],
    out: &'a mut [f64],
}

impl Kernel for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [hi, lo, error] = self.parts;
        for (((out, hi), lo), error) in self.out.iter_mut().zip(hi).zip(lo).zip(error) {
            *out = (hi.abs() + lo.abs() + error) * (1.0 + 4.0 * f64::EPSILON);
        }
    }
}

/// Takes the multiples of `unit` nearest to `hi + lo` out of it, exactly.
///
/// Proof. `hi` is below 2^51 units, so that adding 1.5 2^52 units rounds it to a multiple, and taking them away again is
/// exact (Rump, Ogita and Oishi, SIAM J. Sci. Comput. 31(1), 2008, section 3). The remainder is at most half a unit and
/// a multiple of `hi`'s lowest bit: an f64. `two_sum` makes a pair of that and `lo`, exactly.
struct Extract<'a> {
    unit: f64,
    hi: &'a mut [f64],
    lo: &'a mut [f64],
    part: &'a mut [f64],
}

impl Kernel for Extract<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let shift = self.unit * (1.5 * (1u64 << 52) as f64);
        for ((hi, lo), part) in self.hi.iter_mut().zip(self.lo).zip(self.part) {
            *part = (*hi + shift) - shift;
            (*hi, *lo) = two_sum(*hi - *part, *lo);
        }
    }
}

struct Squares {
    sum: f64,
    largest: f64,
}

struct Measure<'a>(&'a [f64]);

impl Kernel for Measure<'_> {
    type Output = Squares;

    #[inline(always)]
    fn run(self) -> Squares {
        const LANES: usize = 8;
        let (mut sums, mut tops) = ([0.0; LANES], [0.0f64; LANES]);
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                sums[lane] += chunk[lane] * chunk[lane];
                tops[lane] = tops[lane].max(chunk[lane].abs());
            }
        }
        let sum = rest.iter().fold(sums.iter().sum(), |sum: f64, v| sum + v * v);
        let largest = rest.iter().fold(tops.iter().fold(0.0, |a: f64, b| a.max(*b)), |a: f64, b| a.max(b.abs()));
        Squares { sum, largest }
    }
}

/// The results of some rows with some columns, row-major.
#[derive(Default)]
struct ResultTile {
    /// The sum of the exact products, its rounding errors, and their magnitudes.
    totals: Vec<f64>,
    rests: Vec<f64>,
    magnitudes: Vec<f64>,
    /// The small products.
    smalls: Vec<f64>,
    /// At least what the errors of the operands and the roundings of `smalls` amount to, but for rounding itself.
    bounds: Vec<f64>,
    products: Vec<f64>,
    /// The number of products added to `totals`.
    additions: usize,
}

impl ResultTile {
    fn start(&mut self, outputs: usize) {
        let ResultTile { totals, rests, magnitudes, smalls, bounds, products, additions } = self;
        for list in [totals, rests, magnitudes, smalls, bounds, products] {
            list.clear();
            list.resize(outputs, 0.0);
        }
        *additions = 0;
    }

    /// Adds a block of vectors of `k` entries.
    fn add(&mut self, left: &Side, right: &Side, k: usize) {
        let depth = left.depth;
        let any = |norms: &[f64]| norms.iter().any(|norm| *norm > 0.0);
        let [left_parts, right_parts] =
            [left, right].map(|side| side.part_norms.iter().map(|n| any(n)).collect::<Vec<_>>());
        let [left_rests, right_rests] =
            [left, right].map(|side| side.rest_norms.iter().map(|n| any(n)).collect::<Vec<_>>());
        for level in 0..depth {
            for p in (0..=level).filter(|p| left_parts[*p] && right_parts[level - p]) {
                let (a, b) = (left.vectors(&left.parts[p]), right.vectors(&right.parts[level - p]));
                dgemm(a, b, &mut self.products, false);
                let ResultTile { totals, rests, magnitudes, products, .. } = self;
                dispatch(AddExactProducts { totals, rests, magnitudes, products });
                self.additions += 1;
            }
        }
        for p in (0..depth).filter(|p| left_parts[*p] && right_rests[depth - p]) {
            let (a, b) = (left.vectors(&left.parts[p]), right.vectors(&right.rests[depth - p]));
            dgemm(a, b, &mut self.smalls, true);
        }
        // The rest of the left side meets all of the right one: together with the parts above each product is taken once.
        if left_rests[depth] && right_rests[0] {
            dgemm(left.vectors(&left.rests[depth]), right.vectors(&right.rests[0]), &mut self.smalls, true);
        }
        let is_rounded = left_rests[depth] || right_rests[1..].iter().any(|any| *any);
        let (left_exact, right_exact) = (left.is_exact(), right.is_exact());
        if !left_exact {
            dgemm(left.vectors(&left.error), right.vectors(&right.outer), &mut self.bounds, true);
        }
        if !right_exact {
            dgemm(left.vectors(&left.outer), right.vectors(&right.error), &mut self.bounds, true);
        }
        // Parts alone multiply and add exactly: only what was rounded needs a bound.
        if is_rounded || !left_exact || !right_exact {
            for (i, bounds) in self.bounds.chunks_exact_mut(right.count().max(1)).enumerate() {
                dispatch(Roundings { left, right, row: i, weight: roundings(depth, k), bounds });
            }
        }
    }

    /// The enclosure of one result.
    ///
    /// Proof. `rests` lost at most `additions` roundings of at most `magnitudes`. Adding up the parts loses one
    /// rounding of the smaller part. `bounds` is a sum of at most 2 k + 8 blocks (k + ...) terms that are not negative,
    /// so that its own roundings take less than (4 k + 1000) u of it.
    fn result(&self, at: usize, k: usize) -> Pair {
        let rest = self.rests[at] + self.smalls[at];
        let (hi, lo) = two_sum(self.totals[at], rest);
        let lost = 1.01 * U * (self.additions as f64 * self.magnitudes[at] + rest.abs());
        // Bounds that overflow may be NaN: then nothing is exact.
        let is_exact = self.bounds[at] == 0.0 && self.magnitudes[at] == 0.0;
        if is_exact {
            // The exact sum; of a zero the sign is not known here.
            return if hi == 0.0 { IRREGULAR } else { Pair { hi, lo, error: 0.0 } };
        }
        let error = (self.bounds[at] + lost) * (1.0 + (4.0 * k as f64 + 1000.0) * U) + f64::MIN_POSITIVE;
        if error < f64::MAX && hi.is_finite() { Pair { hi, lo, error } } else { Pair::UNKNOWN }
    }
}

/// At least gamma_n and what rounding the rests to one f64 takes, n the roundings of a term on its way through `smalls`:
/// one a product and one an addition, of which there are at most `depth + 1` times `k` (Higham, Accuracy and Stability of
/// Numerical Algorithms, 3.1).
fn roundings(depth: usize, k: usize) -> f64 {
    1.01 * U * ((depth + 1) * k + 8) as f64
}

/// Adds products that are exact.
struct AddExactProducts<'a> {
    totals: &'a mut [f64],
    rests: &'a mut [f64],
    magnitudes: &'a mut [f64],
    products: &'a [f64],
}

impl Kernel for AddExactProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let sums = self.totals.iter_mut().zip(self.rests).zip(self.magnitudes);
        for (((total, rest), magnitude), product) in sums.zip(self.products) {
            let (sum, error) = two_sum(*total, *product);
            *total = sum;
            *rest += error;
            *magnitude += error.abs();
        }
    }
}

/// Adds a bound on the rounding errors of the small products of one row, by Cauchy-Schwarz.
struct Roundings<'a> {
    left: &'a Side,
    right: &'a Side,
    row: usize,
    weight: f64,
    bounds: &'a mut [f64],
}

impl Kernel for Roundings<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Roundings { left, right, row, weight, bounds } = self;
        let depth = left.depth;
        let is_exact = left.vectors[row].is_exact;
        // Products that vanish lose less than this, all together.
        let vanished = left.length as f64 * (depth + 3) as f64 * f64::MIN_POSITIVE;
        for (bound, other) in bounds.iter_mut().zip(&right.vectors) {
            *bound += if is_exact && other.is_exact { 0.0 } else { vanished };
        }
        let mut add = |norm: f64, others: &[f64]| {
            if norm > 0.0 {
                for (bound, other) in bounds.iter_mut().zip(others) {
                    *bound += if *other > 0.0 { weight * (norm * other) + vanished } else { 0.0 };
                }
            }
        };
        for p in 0..depth {
            add(left.part_norms[p][row], &right.rest_norms[depth - p]);
        }
        add(left.rest_norms[depth][row], &right.rest_norms[0]);
    }
}

#[cfg(test)]
mod tests;
