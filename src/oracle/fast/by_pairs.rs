//! Functions that have no kernel of f64 intervals: by that of pairs, where the interval is narrow, else by MPFR.

use crate::ir::Unary;

use super::super::arithmetic::Bivariate;
use super::super::interval::regular::IRREGULAR;
use super::super::interval::{Interval, two_sum};
use super::super::isa::{Loop, widest};
use super::super::mpfr::functions;
use super::super::pair::{Pair, Tables, kernels};
use super::{Intervals, Kernel, apply};

/// A pair around an interval, whose middle it holds, as an f64 may not.
///
/// Proof. The width is rounded once: half of it is off by 2^-53 of itself, or by half the smallest subnormal. The middle is the
/// exact sum of it and the lower end.
#[inline(always)]
fn around(x: Interval) -> Pair {
    let half = 0.5 * (x.hi - x.lo);
    let (hi, lo) = two_sum(x.lo, half);
    let error = (half * (1.0 + 4.0 * f64::EPSILON)).next_up();
    if x.lo == x.hi || x.lo.is_nan() { Pair::exact(x.lo) } else { Pair { hi, lo, error } }
}

/// A kernel of pairs, for functions of all numbers: it leaves wide intervals out, and NaN.
struct ByPairs<K> {
    kernel: K,
    tables: Tables,
    /// Range of the function over all arguments.
    range: Interval,
}

impl<K: kernels::Kernel> Kernel for ByPairs<K> {
    #[inline(always)]
    fn apply(&self, x: Interval, y: Interval) -> Interval {
        let value = self.kernel.apply(around(x), around(y), &self.tables);
        if value.is_irregular() {
            return IRREGULAR;
        }
        let Interval { lo, hi } = value.interval();
        Interval { lo: lo.max(self.range.lo), hi: hi.min(self.range.hi) }
    }
}

/// The kernel of one element.
struct ElementKernel<K> {
    kernel: K,
    x: Interval,
    y: Interval,
}

impl<K: Kernel> Loop for ElementKernel<K> {
    type Output = Interval;

    #[inline(always)]
    fn run(self) -> Interval {
        self.kernel.apply(self.x, self.y)
    }
}

const WITHIN_ONE: Interval = Interval { lo: -1.0, hi: 1.0 };

fn by_pairs<K>(kernel: K, range: Interval) -> ByPairs<K> {
    ByPairs { kernel, tables: Tables::ready(), range }
}

/// A function of one interval; cbrt is MPFR's alone.
pub fn of(unary: Unary, x: Interval) -> Interval {
    let regular = match unary {
        Unary::Cosine => widest(ElementKernel { kernel: by_pairs(kernels::Cosine, WITHIN_ONE), x, y: x }),
        Unary::Erf => widest(ElementKernel { kernel: by_pairs(kernels::Erf, WITHIN_ONE), x, y: x }),
        Unary::Sine => widest(ElementKernel { kernel: by_pairs(kernels::Sine, WITHIN_ONE), x, y: x }),
        Unary::Tan => widest(ElementKernel { kernel: by_pairs(kernels::Tan, Interval::UNKNOWN), x, y: x }),
        _ => IRREGULAR,
    };
    if regular.lo > regular.hi { functions::of_interval(unary, x) } else { regular }
}

/// A function of two intervals.
pub fn of_two(function: Bivariate, x: Interval, y: Interval) -> Interval {
    let regular = match function {
        Bivariate::Power => widest(ElementKernel { kernel: by_pairs(kernels::Power, Interval::UNKNOWN), x, y }),
        Bivariate::Atan2 => IRREGULAR,
    };
    if regular.lo > regular.hi { functions::of_intervals(function, x, y) } else { regular }
}

/// A function of many intervals, where it has a loop.
pub fn of_all(unary: Unary, x: &Intervals) -> Option<Intervals> {
    let whole = |x, _| functions::of_interval(unary, x);
    Some(match unary {
        Unary::Cosine => apply(by_pairs(kernels::Cosine, WITHIN_ONE), whole, [x, x]),
        Unary::Erf => apply(by_pairs(kernels::Erf, WITHIN_ONE), whole, [x, x]),
        Unary::Sine => apply(by_pairs(kernels::Sine, WITHIN_ONE), whole, [x, x]),
        Unary::Tan => apply(by_pairs(kernels::Tan, Interval::UNKNOWN), whole, [x, x]),
        _ => return None,
    })
}
