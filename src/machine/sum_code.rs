//! Orders of additions that a backend's code has in the place of the unit's.

use std::fmt;

use crate::num::F32;
use crate::tensor::DType;

use super::coded::{CodeKey, Coded};
use super::sum::{RowSum, SumPromise, SumSite, SumUnit};

/// The terms of a sum of floats up to f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Terms {
    /// Numbers of the sum's own type.
    Numbers,
    /// f32 products that are not rounded yet.
    Products,
    /// Several such products each, which join the sum one after the other.
    Several,
}

/// The rows of a sum, as far as they decide how they are summed, beside the code.
pub struct SummedRows {
    /// The array.
    pub(super) site: SumSite,
    /// The mode's unit.
    pub(super) unit: SumUnit,
    /// The kind of the terms of which a sum is promised.
    pub(super) terms: Terms,
}

impl SummedRows {
    /// Terms of one sum.
    pub fn width(&self) -> usize {
        self.site.width()
    }

    /// Whether the init is a zero.
    pub fn begins_at_zero(&self) -> bool {
        self.site.begins_at_zero()
    }

    /// The kind of the terms.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// Whether the unit flushes subnormals.
    pub fn flushes(&self) -> bool {
        self.unit.flushes()
    }

    /// The unit's own sum of numbers in the place of these terms.
    pub fn of_unit(&self) -> RowSum {
        RowSum::new(&self.unit, &self.site)
    }

    /// The promise of f32 sums whose terms meet so many additions at most.
    ///
    /// An f32 product that is added before it is rounded needs no rounding of its own. What flushing takes is as in
    /// [`RowSum::promise`]: partial sums that join are no more than terms that are not zero, less one.
    pub fn promise_chain(&self, chain: u64) -> SumPromise {
        let inits = usize::from(!self.begins_at_zero());
        let (terms, lost) = (self.width(), self.unit.floor(DType::F32));
        SumPromise { format: &F32, terms, chain, inits, rounded_last: false, lost }
    }
}

/// The terms of f32 sums, row after row.
#[derive(Clone, Copy)]
pub enum SumTerms<'a> {
    /// Numbers.
    Numbers(&'a [f32]),
    /// Products that are not rounded yet, exact in f64.
    Products(&'a [f64]),
    /// Several such products each, which join the sum one after the other.
    Several(&'a [&'a [f64]]),
}

/// An order of the additions of f32 sums.
pub trait SumCode: CodeKey + fmt::Debug {
    /// The sums of rows of terms, none of them empty.
    fn sums(&self, terms: SumTerms, init: f32, rows: &SummedRows) -> Vec<f32>;

    /// Whether it rounds products and adds some of them as the unit adds numbers ([`SummedRows::of_unit`]).
    fn adds_as_unit(&self) -> bool;

    /// The proven error bound of each of these sums.
    fn promise(&self, rows: &SummedRows) -> SumPromise;
}

/// The orders of one sum that a backend's code has: of f32 numbers, and of products that are not rounded yet. Without one the
/// mode's unit adds numbers in its own order, and products join the init one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SumCodes {
    /// The order of numbers.
    pub numbers: Option<Coded<dyn SumCode>>,
    /// The order of products.
    pub products: Option<Coded<dyn SumCode>>,
}

impl SumCodes {
    /// The order of such terms.
    pub fn of(&self, terms: Terms) -> Option<&Coded<dyn SumCode>> {
        match terms {
            Terms::Numbers => self.numbers.as_ref(),
            Terms::Products | Terms::Several => self.products.as_ref(),
        }
    }
}
