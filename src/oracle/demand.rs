//! Demands on the oracle, and its answers.

use crate::tensor::DType;

use super::dot::Counts;

/// The demand on one result of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Nothing: the result is not evaluated.
    None,
    /// Every float correctly rounded to f64; integers and predicates decided.
    Rounded,
    /// Every float correctly rounded to the result's own type, as a program would store it: of networks that is known
    /// where f64 is not. Integers and predicates decided.
    Stored,
    /// Every float to 2^-10 of an ulp of the result's own type: enough to tell by how many ulps another result is off, and
    /// known long before it can be rounded. Integers and predicates decided.
    Near,
    /// Every float correctly rounded to this type, a float type; integers and predicates decided. Of deep networks f32 is
    /// known where f64 is not.
    RoundedTo(DType),
    /// For floats, the top of every row (along the last dim); integers and predicates decided.
    Order,
}

/// The truth of a program's results.
#[derive(Clone, Debug)]
pub struct Truth {
    /// One a result, in the order of the program's outputs.
    pub outputs: Vec<TruthTensor>,
    /// The effort that it took.
    pub stats: Stats,
}

/// The truth of one result. `None` among its elements stands for what stayed open at the highest precision.
#[derive(Clone, Debug, PartialEq)]
pub enum TruthTensor {
    /// Of a result with [`Demand::None`].
    Skipped,
    /// Of a result of floats.
    Float(FloatTruth),
    /// Of a result of integers.
    Integer {
        /// The result's dims.
        dims: Vec<usize>,
        /// Its elements, row-major; a u64 above the largest i64 as the i64 of the same bits.
        values: Vec<Option<i64>>,
    },
    /// Of a result of predicates.
    Predicate {
        /// The result's dims.
        dims: Vec<usize>,
        /// Its elements, row-major.
        values: Vec<Option<bool>>,
    },
}

/// The truth of one float result.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatTruth {
    /// The result's dims.
    pub dims: Vec<usize>,
    /// With [`Demand::Rounded`], [`Demand::Stored`] or [`Demand::RoundedTo`]: the exact values rounded to nearest even, in
    /// f64, in the result's own type or in the one asked for; with [`Demand::Near`], numbers so near to them. An element that
    /// stayed open is NaN and listed in `open`.
    pub rounded: Vec<f64>,
    /// Flat positions of elements that could not be rounded, ascending.
    pub open: Vec<usize>,
    /// With [`Demand::Order`]: one a row (along the last dim), in order.
    pub tops: Vec<Top>,
}

/// The best element of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// Positions in the row that share the largest exact value, ascending. Where there are NaNs, theirs instead: NaN
    /// stands before all numbers.
    pub best: Vec<usize>,
    /// The position in the row of the largest value below it; the lowest one among equals. `None` where all are equal, or
    /// where the best is NaN.
    pub runner_up: Option<usize>,
    /// The gap between the two in ulps of the result's type at the best value, rounded to eight bits. `None` without a
    /// runner-up, and where either is infinite or the best is beyond all f64.
    pub margin_ulp: Option<f64>,
    /// Whether all of this is proven.
    pub decided: bool,
    /// Positions that nothing told from the largest value, ascending: equal in a way that no proof finds, or nearer to it than
    /// the highest precision shows; or unknown themselves. None of them need be there where a gap alone is open.
    pub rivals: Vec<usize>,
}

/// Effort that the answers took: passes, precision, and elements by rung.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Passes after the first, each in a rung or a precision that proves more.
    pub escalations: u64,
    /// The highest MPFR precision used, in bits; 0 where intervals and pairs of f64 sufficed.
    pub highest_bits: u32,
    /// Elements of results answered by f64 intervals; where tops are asked for, all those of a row with its top.
    pub fast: u64,
    /// Elements answered by pairs of f64.
    pub pairs: u64,
    /// Elements answered by MPFR.
    pub mpfr: u64,
    /// Dot products certified by the rung `grid` of [`super::dot`]; the four below count those of its other rungs.
    pub dots_grid: u64,
    /// By the rung `sliced`.
    pub dots_sliced: u64,
    /// By the rung `dot2`.
    pub dots_dot2: u64,
    /// By the rung `superaccumulator`.
    pub dots_superaccumulator: u64,
    /// By the rung `mpfr`.
    pub dots_mpfr: u64,
    /// Elements, and rows whose top was asked for, that stayed open.
    pub undecided: u64,
}

impl Stats {
    /// Adds the numbers of dots that each rung certified.
    pub(super) fn count_dots(&mut self, counts: &Counts) {
        self.dots_grid += counts.grid;
        self.dots_sliced += counts.sliced;
        self.dots_dot2 += counts.dot2;
        self.dots_superaccumulator += counts.superaccumulator;
        self.dots_mpfr += counts.mpfr;
    }

    /// Adds those of another evaluation; of the precisions, the higher one stays.
    pub fn merge(&mut self, other: &Stats) {
        self.escalations += other.escalations;
        self.highest_bits = self.highest_bits.max(other.highest_bits);
        self.fast += other.fast;
        self.pairs += other.pairs;
        self.mpfr += other.mpfr;
        self.dots_grid += other.dots_grid;
        self.dots_sliced += other.dots_sliced;
        self.dots_dot2 += other.dots_dot2;
        self.dots_superaccumulator += other.dots_superaccumulator;
        self.dots_mpfr += other.dots_mpfr;
        self.undecided += other.undecided;
    }
}

impl TruthTensor {
    /// Elements and rows that are open.
    pub(super) fn open(&self) -> u64 {
        let count = match self {
            TruthTensor::Skipped => 0,
            TruthTensor::Float(float) => float.open.len() + float.tops.iter().filter(|t| !t.decided).count(),
            TruthTensor::Integer { values, .. } => values.iter().filter(|v| v.is_none()).count(),
            TruthTensor::Predicate { values, .. } => values.iter().filter(|v| v.is_none()).count(),
        };
        count as u64
    }

    /// Fills in the open elements from a later answer to the same demand.
    pub(super) fn fill(&mut self, later: TruthTensor) {
        match (self, later) {
            (TruthTensor::Float(float), TruthTensor::Float(later)) => {
                let still_open = |at: &usize| later.open.binary_search(at).is_ok();
                for at in float.open.iter().filter(|at| !still_open(at)) {
                    float.rounded[*at] = later.rounded[*at];
                }
                float.open.retain(still_open);
                for (top, later) in float.tops.iter_mut().zip(later.tops).filter(|(top, _)| !top.decided) {
                    *top = later;
                }
            }
            (TruthTensor::Integer { values, .. }, TruthTensor::Integer { values: later, .. }) => {
                values.iter_mut().zip(later).for_each(|(value, later)| *value = value.or(later));
            }
            (TruthTensor::Predicate { values, .. }, TruthTensor::Predicate { values: later, .. }) => {
                values.iter_mut().zip(later).for_each(|(value, later)| *value = value.or(later));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every figure by itself: all are different.
    #[test]
    fn figures_add_up() {
        let counts = Counts { grid: 1, sliced: 2, dot2: 3, superaccumulator: 4, mpfr: 5, non_finite: 6 };
        let mut stats = Stats { highest_bits: 100, fast: 10, pairs: 20, mpfr: 30, ..Stats::default() };
        stats.count_dots(&counts);
        stats.count_dots(&counts);
        let other = Stats { escalations: 7, highest_bits: 53, fast: 1, pairs: 2, mpfr: 3, undecided: 9, ..stats };
        stats.merge(&other);
        let sums = Stats {
            escalations: 7,
            highest_bits: 100,
            fast: 11,
            pairs: 22,
            mpfr: 33,
            dots_grid: 4,
            dots_sliced: 8,
            dots_dot2: 12,
            dots_superaccumulator: 16,
            dots_mpfr: 20,
            undecided: 9,
        };
        assert_eq!(stats, sums);
        stats.merge(&Stats { highest_bits: 200, ..Stats::default() });
        assert_eq!(stats, Stats { highest_bits: 200, ..sums });
    }

    /// A later answer takes the place of what was open, and of nothing else.
    #[test]
    fn later_answers_fill_what_was_open() {
        let top = |best: usize, decided: bool| Top {
            best: vec![best],
            runner_up: None,
            margin_ulp: None,
            decided,
            rivals: Vec::new(),
        };
        let float = |rounded: [f64; 3], open: &[usize], tops: [Top; 2]| {
            let (rounded, open, tops) = (rounded.to_vec(), open.to_vec(), tops.to_vec());
            TruthTensor::Float(FloatTruth { dims: vec![3], rounded, open, tops })
        };
        let integer = |values: [Option<i64>; 3]| TruthTensor::Integer { dims: vec![3], values: values.to_vec() };
        let predicate = |values: [Option<bool>; 3]| TruthTensor::Predicate { dims: vec![3], values: values.to_vec() };
        let each = [
            [
                float([1.0, 2.0, 3.0], &[1, 2], [top(0, true), top(1, false)]),
                float([9.0, 5.0, 9.0], &[2], [top(7, true), top(2, true)]),
                float([1.0, 5.0, 3.0], &[2], [top(0, true), top(2, true)]),
            ],
            [integer([Some(1), None, None]), integer([Some(9), Some(2), None]), integer([Some(1), Some(2), None])],
            [
                predicate([Some(true), None, None]),
                predicate([Some(false), Some(false), None]),
                predicate([Some(true), Some(false), None]),
            ],
        ];
        for [mut known, later, expected] in each {
            known.fill(later);
            assert_eq!(known, expected);
        }
    }
}
