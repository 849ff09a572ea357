//! Roots of unity: products of two from tables in f64, rounded to f32 (ducc0/math/unity_roots.h).

use std::f64::consts::FRAC_PI_4;

use super::flushed::{Complex, FlushedF32};

/// The roots of 1 of one order.
pub struct Roots {
    order: usize,
    /// Bits of an index that `low` takes; the others are for `high`.
    shift: u32,
    low: Vec<[f64; 2]>,
    high: Vec<[f64; 2]>,
}

impl Roots {
    pub fn new(order: usize) -> Roots {
        let count = (order + 2) / 2;
        let mut shift = 1;
        while 1usize << (2 * shift) < count {
            shift += 1;
        }
        let size = 1usize << shift;
        let table = |length: usize, step: usize| (0..length).map(|i| turn(i * step, order)).collect();
        Roots { order, shift, low: table(size, 1), high: table(count.div_ceil(size), size) }
    }

    pub fn order(&self) -> usize {
        self.order
    }

    /// e^(2 pi i `index` / order), for indices up to the order.
    pub fn at(&self, index: usize) -> Complex {
        let upper = 2 * index > self.order;
        let index = if upper { self.order - index } else { index };
        let ([a, b], [c, d]) = (self.low[index & (self.low.len() - 1)], self.high[index >> self.shift]);
        let im = (a * d + b * c) as f32;
        Complex::new(FlushedF32::new((a * c - b * d) as f32), FlushedF32::new(if upper { -im } else { im }))
    }
}

/// Cosine and sine of `index / order` of a turn, from angles up to an eighth of one. The library's cosine and sine are those
/// of a C library, these are correctly rounded: after the rounding to f32 they agree.
fn turn(index: usize, order: usize) -> [f64; 2] {
    let angle = FRAC_PI_4 / order as f64;
    let of = |eighths: usize| {
        let angle = eighths as f64 * angle;
        [core_math::cos(angle), core_math::sin(angle)]
    };
    let eighths = 8 * index;
    // The upper half mirrors the lower one.
    let (sign, eighths) = if eighths < 4 * order { (1.0, eighths) } else { (-1.0, 8 * order - eighths) };
    let [cosine, sine] = match eighths / order {
        0 => of(eighths),
        1 => {
            let [c, s] = of(2 * order - eighths);
            [s, c]
        }
        2 => {
            let [c, s] = of(eighths - 2 * order);
            [-s, c]
        }
        _ => {
            let [c, s] = of(4 * order - eighths);
            [-c, s]
        }
    };
    [cosine, sign * sine]
}
