//! f32 on a processor that flushes subnormals, and complex numbers of it, multiplied as DUCC writes it.

use std::ops::{Add, Mul, Neg, Sub};

use crate::num::flush_f32;

/// An f32 that is no subnormal; what is computed from two is rounded, then flushed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlushedF32(f32);

impl FlushedF32 {
    pub const ZERO: FlushedF32 = FlushedF32(0.0);
    pub const TWO: FlushedF32 = FlushedF32(2.0);
    pub const HALF: FlushedF32 = FlushedF32(0.5);

    /// A number that is no subnormal.
    pub const fn constant(x: f32) -> FlushedF32 {
        FlushedF32(x)
    }

    /// A number as arithmetic reads it.
    pub fn new(x: f32) -> FlushedF32 {
        FlushedF32(flush_f32(x))
    }

    pub fn get(self) -> f32 {
        if self.0.is_nan() { f32::NAN } else { self.0 }
    }
}

impl Add for FlushedF32 {
    type Output = FlushedF32;

    #[inline(always)]
    fn add(self, other: FlushedF32) -> FlushedF32 {
        FlushedF32::new(self.0 + other.0)
    }
}

impl Sub for FlushedF32 {
    type Output = FlushedF32;

    #[inline(always)]
    fn sub(self, other: FlushedF32) -> FlushedF32 {
        FlushedF32::new(self.0 - other.0)
    }
}

impl Mul for FlushedF32 {
    type Output = FlushedF32;

    #[inline(always)]
    fn mul(self, other: FlushedF32) -> FlushedF32 {
        FlushedF32::new(self.0 * other.0)
    }
}

impl Neg for FlushedF32 {
    type Output = FlushedF32;

    #[inline(always)]
    fn neg(self) -> FlushedF32 {
        FlushedF32(-self.0)
    }
}

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    pub re: FlushedF32,
    pub im: FlushedF32,
}

impl Complex {
    pub fn new(re: FlushedF32, im: FlushedF32) -> Complex {
        Complex { re, im }
    }

    pub fn conj(self) -> Complex {
        Complex::new(self.re, -self.im)
    }

    /// The number a quarter of a turn on: backward for a forward transform.
    #[inline(always)]
    pub fn quarter(self, forward: bool) -> Complex {
        if forward { Complex::new(self.im, -self.re) } else { Complex::new(-self.im, self.re) }
    }

    /// The number times a root of unity, of which a forward transform takes the conjugate.
    #[inline(always)]
    pub fn turn(self, root: Complex, forward: bool) -> Complex {
        let Complex { re, im } = root;
        match forward {
            true => Complex::new(self.re * re + self.im * im, self.im * re - self.re * im),
            false => Complex::new(self.re * re - self.im * im, self.re * im + self.im * re),
        }
    }

    pub fn scale(self, by: FlushedF32) -> Complex {
        Complex::new(self.re * by, self.im * by)
    }
}

impl Add for Complex {
    type Output = Complex;

    #[inline(always)]
    fn add(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Complex;

    #[inline(always)]
    fn sub(self, other: Complex) -> Complex {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Complex;

    fn mul(self, other: Complex) -> Complex {
        self.turn(other, false)
    }
}
