//! Real transforms: passes over spectra of which half is kept (ducc0/fft/fft1d_impl.h, `rfftp*`).
//!
//! A transform's results are kept as the real part of the first, then real and imaginary part of each that follows, the
//! imaginary part of a last one in the middle left out.

use super::complex_plan::{ComplexPlan, factors, twiddles};
use super::flushed::{Complex, FlushedF32};
use super::real_radix::RealRadix;
use super::roots::Roots;

/// From this length on, an even length with a factor above five is transformed as half as many complex numbers.
const COMPLEX: usize = 1000;

pub enum RealPlan {
    Passes(Vec<Pass>),
    /// Even and odd elements as real and imaginary parts.
    Halved(ComplexPlan, Roots),
}

/// One factor, with the lengths before and after it as in a complex pass.
pub struct Pass {
    before: usize,
    after: usize,
    radix: RealRadix,
    roots: Vec<Complex>,
}

impl RealPlan {
    pub fn new(length: usize) -> RealPlan {
        let roots = Roots::new(length);
        let factors = factors(length, &[4]);
        if length > COMPLEX && length.is_multiple_of(2) && factors.iter().any(|factor| *factor > 5) {
            let half = ComplexPlan::new(length / 2, &Roots::new(length / 2), false);
            return RealPlan::Halved(half, roots);
        }
        let mut before = 1;
        let pass = |factor| {
            let after = length / (before * factor);
            let twiddles = twiddles(&roots, [before, after, factor], (after - 1) / 2);
            let pass = Pass { before, after, radix: RealRadix::new(factor, &roots), roots: twiddles };
            before *= factor;
            pass
        };
        RealPlan::Passes(factors.into_iter().map(pass).collect())
    }

    /// The half spectrum of real numbers.
    pub fn forward(&self, data: Vec<FlushedF32>) -> Vec<FlushedF32> {
        match self {
            RealPlan::Passes(passes) => passes.iter().rev().fold(data, |data, pass| pass.forward(&data)),
            RealPlan::Halved(half, roots) => halved_forward(half, roots, &data),
        }
    }

    /// The real numbers of a half spectrum, times the length.
    pub fn backward(&self, data: Vec<FlushedF32>) -> Vec<FlushedF32> {
        match self {
            RealPlan::Passes(passes) => passes.iter().fold(data, |data, pass| pass.backward(&data)),
            RealPlan::Halved(half, roots) => halved_backward(half, roots, &data),
        }
    }
}

fn halved_forward(half: &ComplexPlan, roots: &Roots, data: &[FlushedF32]) -> Vec<FlushedF32> {
    let pairs = data.chunks(2).map(|pair| Complex::new(pair[0], pair[1])).collect();
    let pairs = half.transform(pairs, true);
    let mut out = vec![FlushedF32::ZERO; data.len()];
    out[0] = pairs[0].re + pairs[0].im;
    let (mut low, mut high) = (1, data.len() / 2 - 1);
    while low <= high {
        let (a, b) = (pairs[low], pairs[high]);
        let even = a + b.conj();
        let odd = Complex::new(a.im + b.im, b.re - a.re) * roots.at(low).conj();
        out[2 * low - 1] = FlushedF32::HALF * (even.re + odd.re);
        out[2 * low] = FlushedF32::HALF * (even.im + odd.im);
        out[2 * high - 1] = FlushedF32::HALF * (even.re - odd.re);
        out[2 * high] = FlushedF32::HALF * (odd.im - even.im);
        (low, high) = (low + 1, high - 1);
    }
    out[data.len() - 1] = pairs[0].re - pairs[0].im;
    out
}

fn halved_backward(half: &ComplexPlan, roots: &Roots, data: &[FlushedF32]) -> Vec<FlushedF32> {
    let mut pairs = vec![Complex::default(); data.len() / 2];
    let last = data[data.len() - 1];
    pairs[0] = Complex::new(data[0] + last, data[0] - last);
    let (mut low, mut high) = (1, data.len() / 2 - 1);
    while low <= high {
        let a = Complex::new(data[2 * low - 1], data[2 * low]);
        let b = Complex::new(data[2 * high - 1], -data[2 * high]);
        let (even, odd) = (a + b, (a - b) * roots.at(low));
        pairs[low] = even + Complex::new(-odd.im, odd.re);
        pairs[high] = even.conj() + Complex::new(odd.im, odd.re);
        (low, high) = (low + 1, high - 1);
    }
    half.transform(pairs, false).into_iter().flat_map(|pair| [pair.re, pair.im]).collect()
}

impl Pass {
    /// Positions of the elements of one transform: here on the side of the real numbers, in `half` on that of the half
    /// spectrum. The half spectrum has element `m` backward from the end if `m` is odd.
    fn real(&self, i: usize, m: usize, k: usize) -> usize {
        i + self.after * (k + self.before * m)
    }

    fn half(&self, i: usize, m: usize, k: usize) -> usize {
        i + self.after * (m + self.radix.factor() * k)
    }

    fn roots(&self, pair: usize) -> &[Complex] {
        let each = self.radix.factor() - 1;
        &self.roots[(pair - 1) * each..pair * each]
    }

    fn forward(&self, data: &[FlushedF32]) -> Vec<FlushedF32> {
        let (after, factor) = (self.after, self.radix.factor());
        let mut out = vec![FlushedF32::ZERO; data.len()];
        for k in 0..self.before {
            let at = |i: usize| (0..factor).map(move |m| data[self.real(i, m, k)]);
            let ends = |m: usize| if m % 2 == 1 { after - 1 } else { 0 };
            for (m, y) in self.radix.axis_forward(&at(0).collect::<Vec<_>>()).into_iter().enumerate() {
                out[self.half(ends(m), m, k)] = y;
            }
            if after.is_multiple_of(2) {
                for (m, y) in self.radix.middle_forward(&at(after - 1).collect::<Vec<_>>()).into_iter().enumerate() {
                    out[self.half(after - 1 - ends(m), m, k)] = y;
                }
            }
            for pair in 1..=(after - 1) / 2 {
                let (i, mirror) = (2 * pair, after - 2 * pair);
                let mut x: Vec<Complex> = at(i - 1).zip(at(i)).map(|(re, im)| Complex::new(re, im)).collect();
                x[1..].iter_mut().zip(self.roots(pair)).for_each(|(x, root)| *x = x.turn(*root, true));
                for (m, y) in self.radix.pair_forward(x).into_iter().enumerate() {
                    let i = if m % 2 == 1 { mirror } else { i };
                    out[self.half(i - 1, m, k)] = y.re;
                    out[self.half(i, m, k)] = y.im;
                }
            }
        }
        out
    }

    fn backward(&self, data: &[FlushedF32]) -> Vec<FlushedF32> {
        let (after, factor) = (self.after, self.radix.factor());
        let mut out = vec![FlushedF32::ZERO; data.len()];
        for k in 0..self.before {
            let ends = |m: usize| if m % 2 == 1 { after - 1 } else { 0 };
            let c: Vec<FlushedF32> = (0..factor).map(|m| data[self.half(ends(m), m, k)]).collect();
            for (m, x) in self.radix.axis_backward(&c).into_iter().enumerate() {
                out[self.real(0, m, k)] = x;
            }
            if after.is_multiple_of(2) {
                let c: Vec<FlushedF32> = (0..factor).map(|m| data[self.half(after - 1 - ends(m), m, k)]).collect();
                for (m, x) in self.radix.middle_backward(&c).into_iter().enumerate() {
                    out[self.real(after - 1, m, k)] = x;
                }
            }
            for pair in 1..=(after - 1) / 2 {
                let (i, mirror) = (2 * pair, after - 2 * pair);
                let of = |m: usize| {
                    let i = if m % 2 == 1 { mirror } else { i };
                    Complex::new(data[self.half(i - 1, m, k)], data[self.half(i, m, k)])
                };
                let mut x = self.radix.pair_backward((0..factor).map(of).collect());
                x[1..].iter_mut().zip(self.roots(pair)).for_each(|(x, root)| *x = x.turn(*root, false));
                for (m, x) in x.into_iter().enumerate() {
                    out[self.real(i - 1, m, k)] = x.re;
                    out[self.real(i, m, k)] = x.im;
                }
            }
        }
        out
    }
}
