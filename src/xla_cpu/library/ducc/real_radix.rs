//! One pass of a real transform on the elements of one transform.
//!
//! At the first position all elements are real (`axis`), at the last of an even number of positions they lie half a step
//! further (`middle`), and in between they are pairs of positions, complex numbers (`pair`). Of a half spectrum, element
//! `2 j` and `2 j - 1` are number `j` and its mirror image, at an axis its imaginary and its real part.

use super::bluestein::Bluestein;
use super::flushed::{Complex, FlushedF32};
use super::roots::Roots;

/// From this length on, a prime factor is transformed as a convolution.
const BLUESTEIN: usize = 135;

pub enum RealRadix {
    Two,
    Three,
    Four,
    Five,
    /// Other primes, with their roots of unity.
    Prime(Vec<Complex>),
    Bluestein(Bluestein, usize),
}

/// sin(2 pi / 3), and of fifths of a turn cosine and sine of one and of two.
const SINE3: FlushedF32 = FlushedF32::constant(0.866_025_4);
const C1: FlushedF32 = FlushedF32::constant(0.309_017);
const S1: FlushedF32 = FlushedF32::constant(0.951_056_54);
const C2: FlushedF32 = FlushedF32::constant(-0.809_017);
const S2: FlushedF32 = FlushedF32::constant(0.587_785_24);

impl RealRadix {
    pub fn new(factor: usize, roots: &Roots) -> RealRadix {
        match factor {
            2 => RealRadix::Two,
            3 => RealRadix::Three,
            4 => RealRadix::Four,
            5 => RealRadix::Five,
            BLUESTEIN.. => RealRadix::Bluestein(Bluestein::new(factor, roots), factor),
            _ => RealRadix::Prime((0..factor).map(|i| roots.at(roots.order() / factor * i)).collect()),
        }
    }

    pub fn factor(&self) -> usize {
        match self {
            RealRadix::Two => 2,
            RealRadix::Three => 3,
            RealRadix::Four => 4,
            RealRadix::Five => 5,
            RealRadix::Prime(unity) => unity.len(),
            RealRadix::Bluestein(_, factor) => *factor,
        }
    }

    pub fn axis_forward(&self, x: &[FlushedF32]) -> Vec<FlushedF32> {
        match self {
            RealRadix::Two => vec![x[0] + x[1], x[0] - x[1]],
            RealRadix::Three => {
                let sum = x[1] + x[2];
                vec![x[0] + sum, x[0] - FlushedF32::HALF * sum, SINE3 * (x[2] - x[1])]
            }
            RealRadix::Four => {
                let [odd, even] = [x[3] + x[1], x[0] + x[2]];
                vec![even + odd, x[0] - x[2], x[3] - x[1], even - odd]
            }
            RealRadix::Five => {
                let [r2, i5, r3, i4] = [x[4] + x[1], x[4] - x[1], x[3] + x[2], x[3] - x[2]];
                vec![
                    x[0] + r2 + r3,
                    x[0] + C1 * r2 + C2 * r3,
                    S1 * i5 + S2 * i4,
                    x[0] + C2 * r2 + C1 * r3,
                    S2 * i5 - S1 * i4,
                ]
            }
            RealRadix::Prime(unity) => {
                let n = x.len();
                let mut c = x.to_vec();
                for j in 1..=n / 2 {
                    [c[n - j], c[j]] = [x[n - j] - x[j], x[n - j] + x[j]];
                }
                interleaved(&sums(unity, &c))
            }
            RealRadix::Bluestein(plan, factor) => {
                let x: Vec<Complex> = x.iter().map(|x| Complex::new(*x, FlushedF32::ZERO)).collect();
                let mut y = vec![Complex::default(); *factor];
                plan.transform(&x, &mut y, None, true);
                let others = y[1..=factor / 2].iter().flat_map(|y| [y.re, y.im]);
                [y[0].re].into_iter().chain(others).collect()
            }
        }
    }

    pub fn axis_backward(&self, c: &[FlushedF32]) -> Vec<FlushedF32> {
        match self {
            RealRadix::Two => vec![c[0] + c[1], c[0] - c[1]],
            RealRadix::Three => {
                let twice = FlushedF32::TWO * c[1];
                let (re, im) = (c[0] - FlushedF32::HALF * twice, FlushedF32::TWO * SINE3 * c[2]);
                vec![c[0] + twice, re - im, re + im]
            }
            RealRadix::Four => {
                let [even, odd] = [c[0] + c[3], c[0] - c[3]];
                let [one, two] = [FlushedF32::TWO * c[1], FlushedF32::TWO * c[2]];
                vec![even + one, odd - two, even - one, odd + two]
            }
            RealRadix::Five => {
                let [i5, i4, r2, r3] = [c[2], c[4], c[1], c[3]].map(|c| c + c);
                let (re2, re3) = (c[0] + C1 * r2 + C2 * r3, c[0] + C2 * r2 + C1 * r3);
                let (im5, im4) = (i5 * S1 + i4 * S2, i5 * S2 - i4 * S1);
                vec![c[0] + r2 + r3, re2 - im5, re3 - im4, re3 + im4, re2 + im5]
            }
            RealRadix::Prime(unity) => {
                let n = c.len();
                let mut h = vec![c[0]; n];
                for j in 1..=n / 2 {
                    [h[j], h[n - j]] = [FlushedF32::TWO * c[2 * j - 1], FlushedF32::TWO * c[2 * j]];
                }
                let s = sums(unity, &h);
                let mut x = s.clone();
                for j in 1..=n / 2 {
                    [x[n - j], x[j]] = [s[j] + s[n - j], s[j] - s[n - j]];
                }
                x
            }
            RealRadix::Bluestein(plan, factor) => {
                let mut x = vec![Complex::new(c[0], FlushedF32::ZERO); *factor];
                for j in 1..=factor / 2 {
                    x[j] = Complex::new(c[2 * j - 1], c[2 * j]);
                    x[factor - j] = x[j].conj();
                }
                let mut y = vec![Complex::default(); *factor];
                plan.transform(&x, &mut y, None, false);
                y.into_iter().map(|y| y.re).collect()
            }
        }
    }

    /// Two and four alone leave an even number of positions.
    pub fn middle_forward(&self, x: &[FlushedF32]) -> Vec<FlushedF32> {
        let half = FlushedF32::constant(std::f32::consts::FRAC_1_SQRT_2);
        match x {
            [a, b] => vec![*a, -*b],
            [a, b, c, d] => {
                let (im, re) = (-half * (*b + *d), half * (*b - *d));
                vec![*a + re, im - *c, *a - re, im + *c]
            }
            _ => Vec::new(),
        }
    }

    pub fn middle_backward(&self, c: &[FlushedF32]) -> Vec<FlushedF32> {
        let root = FlushedF32::constant(std::f32::consts::SQRT_2);
        match c {
            [a, b] => vec![FlushedF32::TWO * *a, -FlushedF32::TWO * *b],
            [a, b, c, d] => {
                let [i1, i2, r2, r1] = [*d + *b, *d - *b, *a + *c, *a - *c];
                vec![r2 + r2, root * (r1 - i1), i2 + i2, -root * (r1 + i1)]
            }
            _ => Vec::new(),
        }
    }

    /// Of elements that are turned already.
    pub fn pair_forward(&self, x: Vec<Complex>) -> Vec<Complex> {
        let y = |re, im| Complex::new(re, im);
        match self {
            RealRadix::Two => {
                let [a, b] = [x[0], x[1]];
                vec![y(a.re + b.re, b.im + a.im), y(a.re - b.re, b.im - a.im)]
            }
            RealRadix::Three => {
                let (d2, d3) = rearranged(x[1], x[2]);
                let (t2, t3) = (x[0] - d2.scale(FlushedF32::HALF), d3.scale(SINE3));
                vec![x[0] + d2, y(t2.re - t3.re, t3.im - t2.im), y(t2.re + t3.re, t3.im + t2.im)]
            }
            RealRadix::Four => {
                let (r1, r4) = (x[3].re + x[1].re, x[3].re - x[1].re);
                let (i1, i4) = (x[1].im + x[3].im, x[1].im - x[3].im);
                let (t2, t3) = (x[0] + x[2], x[0] - x[2]);
                vec![
                    y(t2.re + r1, i1 + t2.im),
                    y(t3.re - i4, r4 - t3.im),
                    y(t3.re + i4, r4 + t3.im),
                    y(t2.re - r1, i1 - t2.im),
                ]
            }
            RealRadix::Five => {
                let ((d2, d5), (d3, d4)) = (rearranged(x[1], x[4]), rearranged(x[2], x[3]));
                let t2 = x[0] + d2.scale(C1) + d3.scale(C2);
                let t3 = x[0] + d2.scale(C2) + d3.scale(C1);
                let (t5, t4) = (d5.scale(S1) + d4.scale(S2), d5.scale(S2) - d4.scale(S1));
                vec![
                    x[0] + d2 + d3,
                    y(t2.re - t5.re, t5.im - t2.im),
                    y(t2.re + t5.re, t5.im + t2.im),
                    y(t3.re - t4.re, t4.im - t3.im),
                    y(t3.re + t4.re, t4.im + t3.im),
                ]
            }
            RealRadix::Prime(unity) => {
                let n = x.len();
                let mut c = x.clone();
                for j in 1..=n / 2 {
                    let (a, b) = (x[j], x[n - j]);
                    [c[j], c[n - j]] = [y(b.re + a.re, a.im + b.im), y(a.im - b.im, b.re - a.re)];
                }
                let h = complex_sums(unity, &c);
                let mut out = vec![h[0]];
                for j in 1..=n / 2 {
                    let (a, b) = (h[j], h[n - j]);
                    out.extend([y(a.re - b.re, b.im - a.im), a + b]);
                }
                out
            }
            RealRadix::Bluestein(plan, factor) => {
                let mut out = vec![Complex::default(); *factor];
                plan.transform(&x, &mut out, None, true);
                let others = (1..=factor / 2).flat_map(|j| [out[factor - j].conj(), out[j]]);
                [out[0]].into_iter().chain(others).collect()
            }
        }
    }

    /// Before elements are turned.
    pub fn pair_backward(&self, c: Vec<Complex>) -> Vec<Complex> {
        let x = |re, im| Complex::new(re, im);
        // A number plus the conjugate of its mirror image, and minus it.
        let both = |j: usize| (c[2 * j] + c[2 * j - 1].conj(), c[2 * j] - c[2 * j - 1].conj());
        match self {
            RealRadix::Two => {
                let [a, b] = [c[0], c[1]];
                vec![x(a.re + b.re, a.im - b.im), x(a.re - b.re, a.im + b.im)]
            }
            RealRadix::Three => {
                let (sum, difference) = both(1);
                let (a, b) = (c[0] - sum.scale(FlushedF32::HALF), difference.scale(SINE3));
                vec![c[0] + sum, x(a.re - b.im, a.im + b.re), x(a.re + b.im, a.im - b.re)]
            }
            RealRadix::Four => {
                let (t2, t1) = (c[0] + c[3].conj(), c[0] - c[3].conj());
                let (sum, difference) = both(1);
                vec![
                    t2 + sum,
                    x(t1.re - difference.im, t1.im + difference.re),
                    t2 - sum,
                    x(t1.re + difference.im, t1.im - difference.re),
                ]
            }
            RealRadix::Five => {
                let ((t2, t5), (t3, t4)) = (both(1), both(2));
                let (a2, a3) = (c[0] + t2.scale(C1) + t3.scale(C2), c[0] + t2.scale(C2) + t3.scale(C1));
                let (b5, b4) = (t5.scale(S1) + t4.scale(S2), t5.scale(S2) - t4.scale(S1));
                vec![
                    c[0] + t2 + t3,
                    x(a2.re - b5.im, a2.im + b5.re),
                    x(a3.re - b4.im, a3.im + b4.re),
                    x(a3.re + b4.im, a3.im - b4.re),
                    x(a2.re + b5.im, a2.im - b5.re),
                ]
            }
            RealRadix::Prime(unity) => {
                let n = c.len();
                let mut h = vec![c[0]; n];
                for j in 1..=n / 2 {
                    (h[j], h[n - j]) = both(j);
                }
                let s = complex_sums(unity, &h);
                let mut out = s.clone();
                for j in 1..=n / 2 {
                    let (a, b) = (s[j], s[n - j]);
                    [out[j], out[n - j]] = [x(a.re - b.im, a.im + b.re), x(a.re + b.im, a.im - b.re)];
                }
                out
            }
            RealRadix::Bluestein(plan, factor) => {
                let mut sequence = vec![c[0]; *factor];
                for j in 1..=factor / 2 {
                    [sequence[j], sequence[factor - j]] = [c[2 * j], c[2 * j - 1].conj()];
                }
                let mut out = vec![Complex::default(); *factor];
                plan.transform(&sequence, &mut out, None, false);
                out
            }
        }
    }
}

/// a + b and i (b - a).
fn rearranged(a: Complex, b: Complex) -> (Complex, Complex) {
    (a + b, Complex::new(a.im - b.im, b.re - a.re))
}

/// The first, then of each pair the one and the other.
fn interleaved(x: &[FlushedF32]) -> Vec<FlushedF32> {
    let pairs = (1..=x.len() / 2).flat_map(|j| [x[j], x[x.len() - j]]);
    [x[0]].into_iter().chain(pairs).collect()
}

/// [`sums`] of real and imaginary parts.
fn complex_sums(unity: &[Complex], x: &[Complex]) -> Vec<Complex> {
    let parts =
        [|x: &Complex| x.re, |x: &Complex| x.im].map(|part| sums(unity, &x.iter().map(part).collect::<Vec<_>>()));
    parts[0].iter().zip(&parts[1]).map(|(re, im)| Complex::new(*re, *im)).collect()
}

/// The sum of the first half; sums of it times cosines, and of the second half, backward, times sines: four products at a
/// time, then two, then one.
fn sums(unity: &[Complex], x: &[FlushedF32]) -> Vec<FlushedF32> {
    let (n, half) = (x.len(), x.len() / 2);
    let mut out = vec![x[1..=half].iter().fold(x[0], |sum, x| sum + *x); n];
    for l in 1..=half {
        let terms = |j: usize| {
            let root = unity[l * j % n];
            (root.re * x[j], root.im * x[n - j])
        };
        let block = |range: std::ops::RangeInclusive<usize>| {
            range.map(terms).reduce(|(a, b), (c, d)| (a + c, b + d)).unwrap_or_default()
        };
        let (first, second) = (terms(1), terms(2));
        let (mut a, mut b) = (x[0] + first.0 + second.0, first.1 + second.1);
        let mut j = 3;
        while j <= half {
            let width = if j + 2 < half {
                4
            } else if j < half {
                2
            } else {
                1
            };
            let (of_a, of_b) = block(j..=j + width - 1);
            (a, b) = (a + of_a, b + of_b);
            j += width;
        }
        (out[l], out[n - l]) = (a, b);
    }
    out
}
