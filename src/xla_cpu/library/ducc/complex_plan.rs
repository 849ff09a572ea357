//! Complex transforms: a pass for each factor of the length (ducc0/fft/fft1d_impl.h, `cfftp*`).

use super::bluestein::Bluestein;
use super::flushed::{Complex, FlushedF32};
use super::roots::Roots;

/// From this length on, a prime factor is transformed as a convolution.
const BLUESTEIN: usize = 110;
/// From this length on, a transform that runs alone is cut in four that run side by side.
const ALONE: usize = 300;

/// The passes of a complex transform of one length.
pub struct ComplexPlan {
    /// Whether four transforms of a quarter's length follow the first pass.
    in_quarters: bool,
    passes: Vec<Pass>,
}

/// One factor: `before` (the product of the factors that are done) times `after` (of those to come) transforms of it.
struct Pass {
    before: usize,
    after: usize,
    factor: usize,
    /// For the positions behind the first of `after`, a root for each element behind the first of a transform.
    roots: Vec<Complex>,
    kind: Kind,
}

enum Kind {
    Two,
    Four,
    Eight,
    /// 3, 5, 7 and 11, with cosines and sines.
    Odd(Vec<[FlushedF32; 2]>),
    /// Other primes, with their roots of unity.
    Prime(Vec<Complex>),
    Bluestein(Box<Bluestein>),
}

/// The factors of a length in the order of their passes: `large` ones while they divide it, a two in front, odd primes.
pub fn factors(mut length: usize, large: &[usize]) -> Vec<usize> {
    let mut factors = Vec::new();
    for &factor in large {
        while length.is_multiple_of(factor) {
            factors.push(factor);
            length /= factor;
        }
    }
    if length.is_multiple_of(2) {
        length /= 2;
        factors.push(2);
        let last = factors.len() - 1;
        factors.swap(0, last);
    }
    let mut divisor = 3;
    while divisor * divisor <= length {
        while length.is_multiple_of(divisor) {
            factors.push(divisor);
            length /= divisor;
        }
        divisor += 2;
    }
    if length > 1 {
        factors.push(length);
    }
    factors
}

/// Roots for the positions behind the first of `after`, one for each element behind the first of a transform of `factor`.
pub fn twiddles(roots: &Roots, [before, after, factor]: [usize; 3], positions: usize) -> Vec<Complex> {
    let step = roots.order() / (before * after * factor) * before;
    (1..=positions).flat_map(|i| (1..factor).map(move |j| roots.at(step * j * i))).collect()
}

impl ComplexPlan {
    /// The plan for a length, with roots of an order that it divides. `alone` says that a transform does not run beside
    /// seven others.
    pub fn new(length: usize, roots: &Roots, alone: bool) -> ComplexPlan {
        if alone && length > ALONE && length.is_multiple_of(4) {
            let rest = ComplexPlan::new(length / 4, roots, false);
            let first = Pass::new([1, length / 4, 4], roots);
            return ComplexPlan { in_quarters: true, passes: [first].into_iter().chain(rest.passes).collect() };
        }
        let mut before = 1;
        let pass = |factor| {
            let pass = Pass::new([before, length / (before * factor), factor], roots);
            before *= factor;
            pass
        };
        ComplexPlan { in_quarters: false, passes: factors(length, &[8, 4]).into_iter().map(pass).collect() }
    }

    /// Complex numbers that the library holds besides a transform's operand.
    pub fn scratch(&self, length: usize) -> usize {
        let convolved = self.passes.iter().map(|pass| match &pass.kind {
            Kind::Bluestein(plan) => 2 * plan.work_length(),
            _ => 0,
        });
        // A copy, and some room between the two where they would lie alike in the cache.
        length + if length.is_multiple_of(1024) { 32 } else { 0 } + convolved.max().unwrap_or(0)
    }

    /// The transform, times no factor.
    pub fn transform(&self, data: Vec<Complex>, forward: bool) -> Vec<Complex> {
        let all =
            |passes: &[Pass], data| passes.iter().fold(data, |data: Vec<Complex>, pass| pass.apply(&data, forward));
        if !self.in_quarters {
            return all(&self.passes, data);
        }
        let (first, rest) = self.passes.split_at(1);
        let length = data.len() / 4;
        let quarters: Vec<_> = all(first, data).chunks(length).map(|quarter| all(rest, quarter.to_vec())).collect();
        (0..4 * length).map(|at| quarters[at % 4][at / 4]).collect()
    }
}

impl Pass {
    fn new(sizes: [usize; 3], roots: &Roots) -> Pass {
        let [before, after, factor] = sizes;
        let odd = |j: usize| {
            let turns = 2.0 * j as f64 / factor as f64;
            [core_math::cospi(turns), core_math::sinpi(turns)].map(|x| FlushedF32::new(x as f32))
        };
        let kind = match factor {
            2 => Kind::Two,
            4 => Kind::Four,
            8 => Kind::Eight,
            3 | 5 | 7 | 11 => Kind::Odd((0..=factor / 2).map(odd).collect()),
            BLUESTEIN.. => Kind::Bluestein(Box::new(Bluestein::new(factor, roots))),
            _ => Kind::Prime((0..factor).map(|i| roots.at(roots.order() / factor * i)).collect()),
        };
        Pass { before, after, factor, roots: twiddles(roots, sizes, after - 1), kind }
    }

    fn apply(&self, data: &[Complex], forward: bool) -> Vec<Complex> {
        let Pass { before, after, factor, .. } = *self;
        let mut out = vec![Complex::default(); data.len()];
        let (mut x, mut y) = (vec![Complex::default(); factor], vec![Complex::default(); factor]);
        for k in 0..before {
            for i in 0..after {
                x.iter_mut().enumerate().for_each(|(m, x)| *x = data[i + after * (m + factor * k)]);
                let roots = i.checked_sub(1).map(|i| &self.roots[i * (factor - 1)..(i + 1) * (factor - 1)]);
                self.kind.transform(&mut x, &mut y, roots, forward);
                y.iter().enumerate().for_each(|(m, y)| out[i + after * (k + before * m)] = *y);
            }
        }
        out
    }
}

impl Kind {
    /// The transform of `x`, elements behind the first turned by `roots`.
    fn transform(&self, x: &mut [Complex], y: &mut [Complex], roots: Option<&[Complex]>, forward: bool) {
        match self {
            Kind::Two => [y[0], y[1]] = [x[0] + x[1], x[0] - x[1]],
            Kind::Four => {
                let [t2, t1] = [x[0] + x[2], x[0] - x[2]];
                let [t3, t4] = [x[1] + x[3], (x[1] - x[3]).quarter(forward)];
                [y[0], y[1], y[2], y[3]] = [t2 + t3, t1 + t4, t2 - t3, t1 - t4];
            }
            Kind::Eight => eight(x, y, forward),
            Kind::Odd(turns) => odd(turns, x, y, forward),
            Kind::Prime(unity) => prime(unity, x, y, forward),
            Kind::Bluestein(plan) => return plan.transform(x, y, roots, forward),
        }
        for (y, root) in y[1..].iter_mut().zip(roots.into_iter().flatten()) {
            *y = y.turn(*root, forward);
        }
    }
}

fn eight(x: &[Complex], y: &mut [Complex], forward: bool) {
    let half = FlushedF32::new(std::f32::consts::FRAC_1_SQRT_2);
    let [a1, a5] = [x[1] + x[5], x[1] - x[5]];
    let [a3, a7] = [x[3] + x[7], (x[3] - x[7]).quarter(forward)];
    let [a1, a3] = [a1 + a3, (a1 - a3).quarter(forward)];
    let [a5, a7] = [a5 + a7, a5 - a7];
    // An eighth of a turn, and three of them.
    let [a5, a7] = match forward {
        true => [
            Complex::new(half * (a5.re + a5.im), half * (a5.im - a5.re)),
            Complex::new(half * (a7.im - a7.re), half * (-a7.re - a7.im)),
        ],
        false => [
            Complex::new(half * (a5.re - a5.im), half * (a5.im + a5.re)),
            Complex::new(half * (-a7.re - a7.im), half * (a7.re - a7.im)),
        ],
    };
    let [a0, a4] = [x[0] + x[4], x[0] - x[4]];
    let [a2, a6] = [x[2] + x[6], (x[2] - x[6]).quarter(forward)];
    let [even, odd] = [[a0 + a2, a4 + a6, a0 - a2, a4 - a6], [a1, a5, a3, a7]];
    for at in 0..4 {
        [y[at], y[at + 4]] = [even[at] + odd[at], even[at] - odd[at]];
    }
}

fn odd(turns: &[[FlushedF32; 2]], x: &[Complex], y: &mut [Complex], forward: bool) {
    let (factor, half) = (x.len(), x.len() / 2);
    y[0] = (1..=half).fold(x[0], |sum, j| sum + (x[j] + x[factor - j]));
    for l in 1..=half {
        let (mut a, mut b) = (x[0], None);
        for j in 1..=half {
            let at = l * j % factor;
            let (at, mirrored) = if at > half { (factor - at, true) } else { (at, false) };
            let [cosine, sine] = turns[at];
            let sine = if mirrored == forward { sine } else { -sine };
            let (sum, difference) = (x[j] + x[factor - j], x[j] - x[factor - j]);
            a = a + sum.scale(cosine);
            // Forward, sines are negative.
            let term = difference.scale(sine);
            b = Some(b.map_or(term, |b: Complex| b + term));
        }
        let b = b.unwrap_or_default();
        let b = Complex::new(-b.im, b.re);
        [y[l], y[factor - l]] = [a + b, a - b];
    }
}

fn prime(unity: &[Complex], x: &mut [Complex], y: &mut [Complex], forward: bool) {
    let (factor, half) = (x.len(), x.len() / 2);
    for j in 1..=half {
        [x[j], x[factor - j]] = [x[j] + x[factor - j], x[j] - x[factor - j]];
    }
    y[0] = x[1..=half].iter().fold(x[0], |sum, x| sum + *x);
    for l in 1..=half {
        let root = |j: usize| if forward { unity[l * j % factor].conj() } else { unity[l * j % factor] };
        let [first, second] = [root(1), root(2)];
        let mut a = x[0] + x[1].scale(first.re) + x[2].scale(second.re);
        let [one, two] = [x[factor - 1], x[factor - 2]];
        let mut b = Complex::new(-first.im * one.im - second.im * two.im, first.im * one.re + second.im * two.re);
        let mut j = 3;
        while j <= half {
            // Two at a time, and the last alone.
            let end = if j < half { j + 1 } else { j };
            let terms = (j..=end).map(|j| (x[j].scale(root(j).re), x[factor - j].scale(root(j).im)));
            if let Some((of_a, of_b)) = terms.reduce(|(a, b), (more_a, more_b)| (a + more_a, b + more_b)) {
                (a, b) = (a + of_a, Complex::new(b.re - of_b.im, b.im + of_b.re));
            }
            j = end + 1;
        }
        [y[l], y[factor - l]] = [a + b, a - b];
    }
}
