//! Matrix products in which every output cancels.

use std::f64::consts::FRAC_2_PI;

use crate::num::{Direction, round_f64};

use super::{Argument, Input, InputSpec, ParameterDoc, Row, Sampler, Unfit, normal};

pub(super) struct IllConditioned;

const COND: ParameterDoc = ParameterDoc::real("cond", 1e8, (4.0, 1e300), "condition number of each dot product");
static PARAMETERS: &[ParameterDoc] = &[COND];

impl Input for IllConditioned {
    fn name(&self) -> &'static str {
        "ill-conditioned"
    }

    fn doc(&self) -> &'static str {
        "Operands lhs [.., k] and rhs [k, n] of a matrix product (the first two arguments, k at least 3) whose dot \
         products have condition number 2 sum |a| |b| / |sum a b| of about cond, with relative standard deviation \
         1.34 / sqrt(k). k is split into pairs in which rhs repeats a row of normals and lhs has z and -z (for even k \
         one triple, with 2z, -z, -z), which cancel exactly in every output, and one remaining index where rhs is \
         +-2^-q and lhs what makes the condition number; q = floor(log2(cond) / 2) shares the small size between both, \
         as the exponents of GenDot do (Ogita, Rump and Oishi, Accurate Sum and Dot Product, SIAM J. Sci. Comput. 26 \
         (2005), algorithm 6.1). The pairs lie at indices l and l + step mod k, step and start random and step coprime \
         to k. Further arguments are standard normals."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn check(&self, spec: &InputSpec, arguments: &[Argument]) -> Result<(), Unfit> {
        let [lhs, rhs, ..] = arguments else {
            return Err(Unfit::new("it needs the two operands of a matrix product"));
        };
        let k = lhs.width();
        if lhs.dims.is_empty() || rhs.dims.len() != 2 || rhs.dims[0] != k {
            return Err(Unfit::new(format!(
                "`{}` {:?} and `{}` {:?} are no [.., k] and [k, n]",
                lhs.name, lhs.dims, rhs.name, rhs.dims
            )));
        }
        // One pair that cancels and one number that is left: two products have nothing else to be ill-conditioned by.
        if k < 3 {
            return Err(Unfit::new(format!("k = {k} products cannot cancel, 3 can")).argument(0));
        }
        let cond = spec.get(&COND);
        let (halvings, lhs_size) = (halvings(cond), remainder(k as f64, cond));
        let smallest = [lhs_size, core_math::exp2(-f64::from(halvings))];
        for (at, (operand, smallest)) in [lhs, rhs].into_iter().zip(smallest).enumerate() {
            // Rounded to a subnormal the small part would be another number, and the condition another one.
            if let Some(format) = spec.grid(operand.dtype).filter(|format| smallest < format.min_normal()) {
                let name = &operand.name;
                let format = format.name;
                let why =
                    format!("cond = {cond:e} needs {smallest:e}, below the normal numbers of `{name}` ({format})");
                return Err(Unfit::new(why).argument(at).parameter(&COND));
            }
        }
        Ok(())
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        match row.argument {
            0 => fill_lhs(row, sampler, out),
            1 => fill_rhs(row, out),
            _ => normal::fill(1.0, sampler, out),
        }
    }
}

/// q of the doc.
fn halvings(cond: f64) -> u32 {
    (core_math::log2(cond) / 2.0) as u32
}

/// The element of lhs that remains, for `sum |a| = total` over the others: cond = 2 (A + r) / r with r the remaining
/// product's size and A the sum of the others', on average `total` times the mean sqrt(2 / pi) of |b|. The k / 2 pairs
/// spread A by sqrt((pi / 2 - 1) (pi / 2) / (k / 2)) = 1.34 / sqrt(k) of itself.
fn remainder(total: f64, cond: f64) -> f64 {
    let others = total * FRAC_2_PI.sqrt();
    2.0 * others / (cond - 2.0) * core_math::exp2(f64::from(halvings(cond)))
}

fn fill_lhs(row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
    let places = Places::new(row, out.len());
    let mut total = 0.0;
    let mut slot = 1;
    while slot < out.len() {
        let size = places.group_size(slot);
        // Rounded here, so that doubling and negating stay exact.
        let z = round_f64(row.format, sampler.normal(), Direction::NearestEven);
        // For even k three products cancel, so that one index is left over for the small one.
        let first = if size == 2 { z } else { 2.0 * z };
        out[places.index(slot)] = first;
        for other in slot + 1..slot + size {
            out[places.index(other)] = -z;
        }
        total += 2.0 * first.abs();
        slot += size;
    }
    out[places.index(0)] = remainder(total, row.get(&COND));
}

fn fill_rhs(row: &Row, out: &mut [f64]) {
    let places = Places::new(row, row.arguments[1].dims[0]);
    let group = places.group(places.slot(row.index as usize));
    // One stream a group: the rows of a group are the same.
    let mut sampler = row.streams.sampler(1, group as u64);
    if group > 0 {
        return normal::fill(1.0, &mut sampler, out);
    }
    let size = core_math::exp2(-f64::from(halvings(row.get(&COND))));
    out.iter_mut().for_each(|x| *x = if sampler.bits() & 1 == 0 { size } else { -size });
}

/// The grouping of the k indices. Slot 0 remains; the other slots follow as groups of two, the first one of three if k
/// is even; slot s lies at index (start + step * s) mod k.
struct Places {
    k: usize,
    start: usize,
    step: usize,
    inverse: usize,
}

impl Places {
    fn new(row: &Row, k: usize) -> Places {
        // A stream that no row has, shared by all.
        let mut sampler = row.streams.sampler(u64::MAX, 0);
        let start = sampler.below(k as u64) as usize;
        loop {
            let step = 1 + sampler.below(k as u64 - 1) as usize;
            // Neighbours would cancel at once; below 7 there may be no other step.
            let apart = k < 7 || step > 1 && step < k - 1;
            if let Some(inverse) = inverse(step, k).filter(|_| apart) {
                return Places { k, start, step, inverse };
            }
        }
    }

    fn index(&self, slot: usize) -> usize {
        product(self.step, slot, self.k).wrapping_add(self.start) % self.k
    }

    fn slot(&self, index: usize) -> usize {
        product(index + self.k - self.start, self.inverse, self.k)
    }

    /// Slots in the group that begins with `slot`.
    fn group_size(&self, slot: usize) -> usize {
        if slot == 1 && self.k.is_multiple_of(2) { 3 } else { 2 }
    }

    /// The first slot of the group that `slot` is in.
    fn group(&self, slot: usize) -> usize {
        match (slot, self.k % 2) {
            (0, _) => 0,
            (1..=3, 0) => 1,
            // Pairs begin at odd slots for odd k, at even ones from 4 on for even k.
            (_, parity) => slot - (slot + parity) % 2,
        }
    }
}

fn product(a: usize, b: usize, modulus: usize) -> usize {
    (a as u128 * b as u128 % modulus as u128) as usize
}

/// The number with `step * inverse = 1 mod k`, if there is one: the extended Euclidean algorithm.
fn inverse(step: usize, k: usize) -> Option<usize> {
    let (mut remainders, mut factors) = ((k as i128, step as i128), (0i128, 1i128));
    while remainders.1 != 0 {
        let quotient = remainders.0 / remainders.1;
        remainders = (remainders.1, remainders.0 - quotient * remainders.1);
        factors = (factors.1, factors.0 - quotient * factors.1);
    }
    (remainders.0 == 1).then(|| factors.0.rem_euclid(k as i128) as usize)
}
