//! Sums of floats over reduced dims: what they compute, and what they promise.

use std::ops::{Deref, Range};

use crate::ir::{Binary, Fusion};
use crate::num::{F64, Format};
use crate::tensor::DType;

use super::blocks::Tree;
use super::mode::Mode;
use super::vector::{self, StepRounding, SumOrder, VectorUnit, Weighted};

/// Sum of the elements of reduced dims in one type, from one init, as a mode computes it.
pub struct RowSum {
    order: SumOrder,
    step: StepRounding,
    dtype: DType,
    /// Elements of a row.
    width: usize,
    /// Elements that the library sums at a time; the sums are added one after the other.
    run: usize,
    from_zero: bool,
    /// The windows of XLA:CPU, each begun with the init, where they are not what the vector unit's own sum knows:
    /// windows of one dim, each from zero.
    windows: Option<Tree>,
    unit: VectorUnit,
}

/// All that decides in which order and with which roundings a row is summed: but for its terms, its init, flushing, and the last
/// rounding to its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowPlan {
    order: SumOrder,
    step: StepRounding,
    /// Elements that a library sums at a time, where it takes a row in several runs.
    run: Option<usize>,
    /// The extents of XLA:CPU's windows, where it takes a row in windows.
    windows: Option<Vec<usize>>,
}

/// Properties of a sum that decide how it is computed, beside the mode.
#[derive(Clone)]
pub struct SumSite {
    /// The elements' type.
    dtype: DType,
    /// The reduced dims' extents, as they lie in memory.
    extents: Vec<usize>,
    /// Whether the init is a zero.
    from_zero: bool,
    /// Whether the last dim is a reduced one.
    last: bool,
    /// Elements of the innermost reduced dims that lie side by side.
    run: usize,
    /// The fusion around the sum.
    fusion: Option<Fusion>,
}

impl SumSite {
    /// A sum over the dims `reduced` of an array of these dims, from an init that is a zero or not.
    pub fn over(dims: &[usize], reduced: &[usize], dtype: DType, from_zero: bool, fusion: Option<Fusion>) -> SumSite {
        SumSite {
            dtype,
            extents: memory_order(dims, reduced).into_iter().map(|d| dims[d]).collect(),
            from_zero,
            last: (0..dims.len()).rfind(|d| dims[*d] > 1).is_some_and(|d| reduced.contains(&d)),
            run: innermost_run(dims, reduced),
            fusion,
        }
    }

    /// Terms of one sum.
    pub fn width(&self) -> usize {
        self.extents.iter().product()
    }

    /// The elements' type.
    pub fn dtype(&self) -> DType {
        self.dtype
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

/// Elements of the innermost reduced dims that lie side by side; dims of one element part none.
fn innermost_run(dims: &[usize], reduced: &[usize]) -> usize {
    let long = (0..dims.len()).rev().filter(|d| dims[*d] != 1);
    let inside = long.skip_while(|d| !reduced.contains(d)).take_while(|d| reduced.contains(d));
    inside.map(|d| dims[d]).product()
}

/// Proven error bound of a sum.
pub struct SumPromise {
    /// Format to which every addition is rounded.
    pub format: &'static Format,
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
    /// The sum at `site` in `mode`.
    pub fn new(mode: &Mode, site: &SumSite) -> RowSum {
        let SumSite { dtype, ref extents, from_zero, .. } = *site;
        let backend = mode.chip.backend.filter(|_| mode.choices.reduce == mode.chip.sum);
        let order = backend.and_then(|backend| backend.sum_order(site.fusion, dtype, site.last));
        let order = order.unwrap_or(mode.choices.reduce);
        let one_dim = extents.iter().filter(|extent| **extent > 1).count() < 2;
        let own = dtype != DType::F64 && one_dim && from_zero;
        RowSum {
            order,
            step: mode.step_of(dtype),
            dtype,
            width: extents.iter().product(),
            run: site.run,
            from_zero,
            windows: (order == SumOrder::Tree32 && !own).then(|| Tree::new(extents)),
            unit: mode.vector_unit(),
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
            None if self.in_runs() => {
                let runs = vector::sums(values, values.len() / self.run, self.run, self.order, self.step, &self.unit);
                vector::sums(&runs, count, self.width / self.run, SumOrder::Chain, self.step, &self.unit)
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
        Ok(sums.map(|sums| self.finish(sums, init)))
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
        self.windows.is_none() && self.order == SumOrder::Lanes && weighted.factors.len() == self.width
    }

    fn finish(&self, mut sums: Vec<f32>, init: f32) -> Vec<f32> {
        if !self.from_zero && self.windows.is_none() {
            let add = |sum: f32| vector::binary_scalar(Binary::Add, init, sum, &self.unit);
            sums.iter_mut().for_each(|sum| *sum = add(*sum));
        }
        vector::round_to(self.dtype, &mut sums);
        sums
    }

    /// The plan of a row of these extents.
    pub fn plan(&self, extents: &[usize]) -> RowPlan {
        let windows = || extents.iter().copied().filter(|extent| *extent != 1).collect();
        RowPlan {
            order: self.order,
            step: self.step,
            run: self.in_runs().then_some(self.run),
            windows: (self.order == SumOrder::Tree32).then(windows),
        }
    }

    /// Whether it is XLA:CPU's windows that are summed, or one chain where there is one window.
    pub fn in_windows(&self) -> bool {
        self.order == SumOrder::Tree32
    }

    /// Whether the library sums a row in several runs.
    fn in_runs(&self) -> bool {
        matches!(self.order, SumOrder::Ynn { .. }) && (1..self.width).contains(&self.run)
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
            (None, _) if self.in_runs() => {
                (self.order.longest_chain(self.run) + (self.width / self.run) as u64, usize::from(!self.from_zero))
            }
            (None, _) if self.from_zero => (self.order.longest_chain(self.width), 0),
            (None, _) => (self.order.longest_chain(self.width) + 1, 1),
        };
        let format = if self.dtype == DType::F64 { &F64 } else { self.step.format() };
        SumPromise {
            format,
            chain,
            inits,
            // An init is added in f32, to sums that were rounded at every step.
            rounded_last: self.dtype.format().is_some_and(|own| own != format)
                || (self.windows.is_none() && inits > 0 && self.step != StepRounding::F32),
            lost: self.unit.floor(self.dtype),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RowSum, SumSite};
    use crate::ir::Fusion;
    use crate::machine::Mode;
    use crate::machine::probe::{hash, numbers};
    use crate::tensor::DType;

    fn mode() -> Mode {
        "xla-cpu/default/as-compiled".parse().unwrap()
    }

    /// The bits that jaxlib 0.10.2 computed: f32[2,16,8,20] over dims 1 and 3 in a fusion that is left to its library.
    #[test]
    fn the_library_sums_runs_and_adds_them_in_order() {
        let values = numbers(&mut 1, 2 * 16 * 8 * 20);
        // Reduced dims last.
        let at = |row: usize, i: usize| ((row / 8 * 16 + i / 20) * 8 + row % 8) * 20 + i % 20;
        let rows: Vec<f32> = (0..16 * 320).map(|n| values[at(n / 320, n % 320)]).collect();
        let fusion = Fusion::Custom { number: 0, rounds: false };
        let sum = RowSum::new(&mode(), &SumSite::over(&[2, 16, 8, 20], &[1, 3], DType::F32, true, Some(fusion)));
        assert_eq!(hash(sum.of_rows(&rows, 16, 0.0)), 0x3b3c_cfee_b665_20d9);
        assert!(sum.promise().chain >= 16);
    }
}
