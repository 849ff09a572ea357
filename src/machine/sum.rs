//! Sums of floats over reduced dims: what they compute, and what they promise.

use std::ops::{Deref, Range};

use crate::ir::Binary;
use crate::num::{F64, Format};
use crate::tensor::DType;

use super::blocks::TreeReduction;
use super::vector::{self, StepRounding, SumOrder, VectorUnit, Weighted};

/// Sum of the elements of reduced dims in one type, from one init, as a mode computes it.
pub struct RowSum {
    order: SumOrder,
    step: StepRounding,
    dtype: DType,
    /// Elements of a row.
    width: usize,
    from_zero: bool,
    /// The windows of [`SumOrder::Tree32`], each begun with the init, where they are not what the vector unit's own sum knows:
    /// windows of one dim, each from zero.
    windows: Option<TreeReduction>,
    unit: VectorUnit,
}

/// All that decides in which order and with which roundings a row is summed: but for its terms, its init, flushing, and the last
/// rounding to its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowPlan {
    order: SumOrder,
    step: StepRounding,
    /// The extents of the reduced dims, where a row is taken in windows.
    windows: Option<Vec<usize>>,
}

/// The unit that sums numbers of one type, as a mode has it.
#[derive(Clone, Copy)]
pub struct SumUnit {
    order: SumOrder,
    step: StepRounding,
    unit: VectorUnit,
}

impl SumUnit {
    /// A unit with a mode's order of sums and the rounding of each step.
    pub fn new(order: SumOrder, step: StepRounding, unit: VectorUnit) -> SumUnit {
        SumUnit { order, step, unit }
    }

    /// Whether it flushes subnormals.
    pub fn flushes(&self) -> bool {
        self.unit.flush
    }

    /// The magnitude below which it flushes numbers of this type.
    pub fn floor(&self, dtype: DType) -> f64 {
        self.unit.floor(dtype)
    }
}

/// The array that is summed, as far as it decides how, beside the mode. [`super::summation`] alone makes one.
#[derive(Clone)]
pub struct SumSite {
    /// The elements' type.
    dtype: DType,
    /// The reduced dims' extents, as they lie in memory.
    extents: Vec<usize>,
    /// Whether the init is a zero.
    from_zero: bool,
}

impl SumSite {
    /// A sum over the dims `reduced` of an array of these dims, from an init that is a zero or not.
    pub fn over(dims: &[usize], reduced: &[usize], dtype: DType, from_zero: bool) -> SumSite {
        let extents = memory_order(dims, reduced).into_iter().map(|d| dims[d]).collect();
        SumSite { dtype, extents, from_zero }
    }

    /// Terms of one sum.
    pub fn width(&self) -> usize {
        self.extents.iter().product()
    }

    /// The extents of the reduced dims, as they lie in memory.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Whether the init is a zero.
    pub fn begins_at_zero(&self) -> bool {
        self.from_zero
    }
}

/// Reduced dims as they lie in memory: whatever order they are listed in, XLA's loops run over them so.
pub(super) fn memory_order(dims: &[usize], reduced: &[usize]) -> Vec<usize> {
    (0..dims.len()).filter(|d| reduced.contains(d)).collect()
}

/// Proven error bound of a sum.
pub struct SumPromise {
    /// Format to which every addition is rounded.
    pub format: &'static Format,
    /// Number of terms, but for inits.
    pub terms: usize,
    /// The most additions that round which one term meets.
    pub chain: u64,
    /// Number of times that the init is among the terms: HLO leaves it open.
    pub inits: usize,
    /// Whether the sum is rounded to its type at the end.
    pub rounded_last: bool,
    /// The most that flushing takes of the sum for each term that is not zero.
    pub lost: f64,
}

impl RowSum {
    /// The sum at `site` on a unit.
    pub fn new(unit: &SumUnit, site: &SumSite) -> RowSum {
        let SumUnit { order, step, unit } = *unit;
        let SumSite { dtype, ref extents, from_zero } = *site;
        // Tree32 pads a row at both ends, and of several dims each is cut into windows of its own (FACTS 3.11).
        let one_dim = extents.iter().filter(|extent| **extent > 1).count() < 2;
        let own = dtype != DType::F64 && one_dim && from_zero;
        RowSum {
            order,
            step,
            dtype,
            width: extents.iter().product(),
            from_zero,
            windows: (order == SumOrder::Tree32 && !own).then(|| TreeReduction::new(extents)),
            unit,
        }
    }

    /// The sums of `count` rows that lie one after the other, rounded to the type.
    pub fn of_rows(&self, values: &[f32], count: usize, init: f32) -> Vec<f32> {
        let sums = match &self.windows {
            Some(tree) => {
                let window = |window: &[f32]| vector::sum(window, SumOrder::Chain, self.step, &self.unit);
                let row = |row: usize| &values[row * self.width..(row + 1) * self.width];
                vector::over_rows(count, self.width, |at| tree.reduce(row(at), init, window))
            }
            None => vector::sums(values, count, self.width, self.order, self.step, &self.unit),
        };
        self.finish(sums, init)
    }

    /// The sums of that many columns, rounded to the type, of rows that `rows` gives as they lie in memory, `at_once` at most.
    /// `None` where they are known along rows only.
    ///
    /// # Errors
    /// Those of `rows`.
    pub fn of_columns<V: Deref<Target = [f32]>, E: Send>(
        &self,
        columns: usize,
        at_once: usize,
        init: f32,
        rows: impl Fn(Range<usize>) -> Result<V, E> + Sync,
    ) -> Result<Option<Vec<f32>>, E> {
        if self.windows.is_some() {
            return Ok(None);
        }
        let sums = vector::column_sums([self.width, columns], at_once, (self.order, self.step), &self.unit, rows)?;
        Ok(Some(self.finish(sums, init)))
    }

    /// The sums of products that are made on the way, rounded to the type: of rows where `columns` is 1, else of that many columns.
    /// `None` where products have to stand in memory first.
    pub fn of_weighted(&self, weighted: Weighted, columns: usize, init: f32) -> Option<Vec<f32>> {
        if !self.takes(weighted) {
            return None;
        }
        let sums = match columns {
            1 => weighted.row_sums(self.step, &self.unit),
            columns => weighted.column_sums(columns, self.step, &self.unit),
        };
        Some(self.finish(sums, init))
    }

    /// [`RowSum::of_weighted`], only where no product is NaN and nothing is flushed on the way.
    pub fn of_unflushed(&self, weighted: Weighted, columns: usize, init: f32) -> Option<Vec<f32>> {
        let sums = self.takes(weighted).then(|| weighted.unflushed_sums(columns, self.step, &self.unit))?;
        sums.map(|sums| self.finish(sums, init))
    }

    /// Whether products that are made on the way have the sums of this order.
    fn takes(&self, weighted: Weighted) -> bool {
        // The kernels that multiply on the way have the lanes' order alone.
        self.windows.is_none() && self.order == SumOrder::Lanes && weighted.factors.len() == self.width
    }

    fn finish(&self, mut sums: Vec<f32>, init: f32) -> Vec<f32> {
        // The init is added once, at the end: HLO leaves open how often it joins (FACTS 3.2). Windows have taken it in already.
        if !self.from_zero && self.windows.is_none() {
            let add = |sum: f32| vector::binary_scalar(Binary::Add, init, sum, &self.unit);
            sums.iter_mut().for_each(|sum| *sum = add(*sum));
        }
        vector::round_to(self.dtype, &mut sums);
        sums
    }

    /// The plan of a row of these extents.
    pub fn plan(&self, extents: &[usize]) -> RowPlan {
        // Extents of 1 make no window of their own: plans that differ in them alone sum alike.
        let windows = || extents.iter().copied().filter(|extent| *extent != 1).collect();
        RowPlan { order: self.order, step: self.step, windows: (self.order == SumOrder::Tree32).then(windows) }
    }

    /// Whether it is windows that are summed, or one chain where there is one window.
    pub fn in_windows(&self) -> bool {
        self.order == SumOrder::Tree32
    }

    /// Proven error bound of each sum.
    ///
    /// An addition loses to flushing what is below the floor of one operand, or of its result where both operands are
    /// not: so of all additions together no more lose anything than there are terms other than zero.
    pub fn promise(&self) -> SumPromise {
        let (chain, inits) = match (&self.windows, self.dtype) {
            (Some(tree), _) => (tree.longest_chain(), tree.windows()),
            // A region takes the elements one by one, from the init.
            (None, DType::F64) => (self.width as u64, 1),
            (None, _) if self.from_zero => (self.order.longest_chain(self.width), 0),
            (None, _) => (self.order.longest_chain(self.width) + 1, 1),
        };
        // f64 is summed as it is: no mode narrows it.
        let format = if self.dtype == DType::F64 { &F64 } else { self.step.format() };
        SumPromise {
            format,
            terms: self.width,
            chain,
            inits,
            // An init is added in f32, to sums that were rounded at every step.
            rounded_last: self.dtype.format().is_some_and(|own| own != format)
                || (self.windows.is_none() && inits > 0 && self.step != StepRounding::F32),
            lost: self.unit.floor(self.dtype),
        }
    }
}
