//! Bounds on one element, and the effects of roundings and flushing on them.

use crate::num::{F64, Format};

/// Twice the unit roundoff of the pass's own arithmetic: room for a function that is not correctly rounded, and for the
/// rounding to stand on either side, the machine's and the truth's.
pub const OWN: f64 = f64::EPSILON;

/// One bound that always holds, with gamma_n in it, and one with the probabilistic gamma.
pub type Both = [f64; 2];

/// The value v of one element with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// The value that the pass itself computed, in f64.
    pub v: f64,
    /// Bounds on |computed - v|; NaN if nothing is known.
    pub machine: Both,
    /// Bound on |exact - v|.
    pub own: f64,
}

impl Element {
    /// A value that machine and truth both have, infinities and NaNs included.
    pub fn exact(v: f64) -> Element {
        Element { v, machine: [0.0; 2], own: 0.0 }
    }

    /// A value on which there is no bound.
    pub fn unknown(v: f64) -> Element {
        Element { v, machine: [f64::NAN; 2], own: 0.0 }
    }

    /// Whether machine and truth are both v.
    pub fn is_exact(&self) -> bool {
        self.machine == [0.0; 2] && self.own == 0.0
    }

    /// Whether neither machine nor truth can be zero, nor of the other sign, unless both are zero.
    pub fn keeps_its_sign(&self) -> bool {
        self.is_exact() || self.machine.iter().all(|m| m + self.own < self.v.abs())
    }

    /// Rounded once to `format`; unknown where that has no zero, around which its numbers do not get closer.
    pub fn round(mut self, format: &Format) -> Element {
        // Half of the numbers would become NaN there: nothing is bounded.
        if !format.has_negative_numbers() {
            return Element::unknown(self.v);
        }
        // What is exact and belongs to the format already is not changed.
        if self.v.is_finite() && !(self.is_exact() && format.contains(self.v)) {
            let (v, least) = (self.v.abs(), format.min_subnormal() / 2.0);
            // Below the normal numbers a rounding is off by half the smallest subnormal, however small the number is.
            self.machine = self.machine.map(|m| m + (format.unit_roundoff() * (v + m)).max(least));
        }
        self
    }

    /// Zero where the machine's value is below `floor`: then all of it is lost, and no more.
    pub fn flush(mut self, floor: f64) -> Element {
        if self.v.is_finite() {
            let v = self.v.abs();
            // What the machine holds may lie below the floor, even if the truth does not: then all of it may be lost.
            self.machine = self.machine.map(|m| if v - m >= floor { m } else { wider(m, v) });
        }
        self
    }

    /// Unknown where the machine's value may leave the range of `format`.
    pub fn within(mut self, format: &Format) -> Element {
        // An overflow errs by more than any number.
        self.machine = self.machine.map(|m| if self.v.abs() + m <= format.max_finite() { m } else { f64::NAN });
        self
    }

    /// The larger of two, or the smaller, where a NaN prevails.
    pub fn extreme(self, other: Element, largest: bool) -> Element {
        if self.v.is_nan() || other.v.is_nan() {
            let surely = |e: Element| e.v.is_nan() && e.is_exact();
            return if surely(self) || surely(other) { Element::exact(f64::NAN) } else { Element::unknown(f64::NAN) };
        }
        Element {
            v: if largest { self.v.max(other.v) } else { self.v.min(other.v) },
            machine: [0, 1].map(|kind| wider(self.machine[kind], other.machine[kind])),
            own: wider(self.own, other.own),
        }
    }

    /// The bounds on |computed - exact|.
    pub fn bounds(&self) -> Both {
        self.machine.map(|m| total(m, self.own))
    }
}

/// The two errors together. One part in 2^40 covers the roundings of the bound's own arithmetic.
pub fn total(machine: f64, own: f64) -> f64 {
    // The sum of both is rounded as well, and so were the bounds on the way.
    (machine + own) * (1.0 + 2f64.powi(-40))
}

/// The larger of two bounds; NaN if one is.
pub fn wider(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// A bound on the error of rounding a value of the pass itself to f64, on either side.
pub fn own_rounding(v: f64) -> f64 {
    (v.abs() * OWN).max(F64.min_subnormal())
}
