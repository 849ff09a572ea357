//! Transforms of long primes as a convolution with a chirp (ducc0/fft/fft1d_impl.h, `cfftpblue`).

use super::complex_plan::ComplexPlan;
use super::flushed::{Complex, FlushedF32};
use super::roots::Roots;

pub struct Bluestein {
    /// e^(pi i m^2 / length).
    chirp: Vec<Complex>,
    /// The first half of the transform of what the padded sequence is convolved with.
    transformed: Vec<Complex>,
    padded: usize,
    plan: ComplexPlan,
}

/// The smallest product of 2, 3, 5, 7 and 11 that is not below `least`.
fn good_size(least: usize) -> usize {
    let smooth = |mut n: usize| {
        for factor in [2, 3, 5, 7, 11] {
            while n.is_multiple_of(factor) {
                n /= factor;
            }
        }
        n == 1
    };
    (least..).find(|n| smooth(*n)).unwrap_or(least)
}

impl Bluestein {
    pub fn new(length: usize, roots: &Roots) -> Bluestein {
        let padded = good_size(2 * length - 1);
        let plan = ComplexPlan::new(padded, &Roots::new(padded), false);
        let own = (!roots.order().is_multiple_of(2 * length)).then(|| Roots::new(2 * length));
        let roots = own.as_ref().unwrap_or(roots);
        let step = roots.order() / (2 * length);
        let chirp: Vec<Complex> = (0..length).map(|m| roots.at(m * m % (2 * length) * step)).collect();
        let scale = FlushedF32::new(1.0 / padded as f32);
        let mut sequence = vec![Complex::default(); padded];
        for (m, value) in chirp.iter().enumerate() {
            sequence[m] = value.scale(scale);
            sequence[(padded - m) % padded] = sequence[m];
        }
        let mut transformed = plan.transform(sequence, true);
        transformed.truncate(padded / 2 + 1);
        Bluestein { chirp, transformed, padded, plan }
    }

    /// The length that sequences are padded to.
    pub fn work_length(&self) -> usize {
        self.padded
    }

    /// The transform of `x`, elements behind the first turned by `roots`.
    pub fn transform(&self, x: &[Complex], y: &mut [Complex], roots: Option<&[Complex]>, forward: bool) {
        let mut sequence: Vec<Complex> = x.iter().zip(&self.chirp).map(|(x, root)| x.turn(*root, forward)).collect();
        let zero = sequence[0].scale(FlushedF32::ZERO);
        sequence.resize(self.padded, zero);
        let mut product = self.plan.transform(sequence, true);
        for (m, value) in product.iter_mut().enumerate() {
            *value = value.turn(self.transformed[m.min(self.padded - m)], !forward);
        }
        let product = self.plan.transform(product, false);
        for (m, y) in y.iter_mut().enumerate() {
            let chirp = self.chirp[m];
            let root = m.checked_sub(1).and_then(|m| roots.map(|roots| roots[m]));
            *y = product[m].turn(root.map_or(chirp, |root| chirp * root), forward);
        }
    }
}
