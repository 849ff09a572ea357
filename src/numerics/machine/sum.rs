//! Sums of floats over reduced dims: what they compute, and what they promise.

use crate::ir::{Binary, Fusion};
use crate::num::{F64, Format};
use crate::tensor::DType;

use super::blocks::Tree;
use super::chip::Library;
use super::mode::Mode;
use super::vector::{self, StepRounding, SumOrder, VectorUnit};

/// How a mode sums the elements of reduced dims in one type, from one init.
pub struct RowSum {
    order: SumOrder,
    step: StepRounding,
    dtype: DType,
    /// Elements of a row.
    width: usize,
    from_zero: bool,
    /// The windows of XLA:CPU, each begun with the init, where they are not what the vector unit's own sum knows:
    /// windows of one dim, each from zero.
    windows: Option<Tree>,
    unit: VectorUnit,
}

/// What decides how a sum is computed, beside the mode.
#[derive(Clone, Copy)]
pub struct SumSite<'a> {
    /// The elements' type.
    pub dtype: DType,
    /// The reduced dims' extents.
    pub extents: &'a [usize],
    /// Whether the init is a zero.
    pub from_zero: bool,
    /// Whether the reduced dims are the last ones, so that a row's elements lie together.
    pub last: bool,
    /// The fusion that it stands in.
    pub fusion: Option<Fusion>,
}

/// What a sum promises.
pub struct SumPromise {
    /// What every addition is rounded to.
    pub format: &'static Format,
    /// The most additions that round which one term meets.
    pub chain: u64,
    /// How often the init is among the terms: HLO leaves it open.
    pub inits: usize,
    /// Whether the sum is rounded to its type at the end.
    pub rounded_last: bool,
    /// The most that flushing takes of the sum for each term that is not zero.
    pub lost: f64,
}

impl RowSum {
    /// How `mode` sums there.
    pub fn new(mode: &Mode, site: &SumSite) -> RowSum {
        let SumSite { dtype, extents, from_zero, .. } = *site;
        let library = mode.chip.library.filter(|_| matches!(site.fusion, Some(Fusion::Custom(_))));
        let order = match library {
            // Of other types and of several dims nothing is known: they are summed as elsewhere.
            Some(Library::Ynnpack)
                if dtype == DType::F32 && extents.len() == 1 && mode.choices.reduce == mode.chip.sum =>
            {
                SumOrder::Ynn { lanes: if site.last { 16 } else { 1 } }
            }
            _ => mode.choices.reduce,
        };
        let one_dim = extents.iter().filter(|extent| **extent > 1).count() < 2;
        let own = dtype != DType::F64 && one_dim && from_zero;
        RowSum {
            order,
            step: mode.step_of(dtype),
            dtype,
            width: extents.iter().product(),
            from_zero,
            windows: (order == SumOrder::Tree32 && !own).then(|| Tree::new(extents)),
            unit: mode.vector_unit(),
        }
    }

    /// The sums of `count` rows that lie one after the other, rounded to the type.
    pub fn of_rows(&self, values: &[f32], count: usize, init: f32) -> Vec<f32> {
        let mut sums = match &self.windows {
            Some(tree) => {
                let window = |window: &[f32]| vector::sum(window, SumOrder::Chain, self.step, &self.unit);
                let row = |row: usize| &values[row * self.width..(row + 1) * self.width];
                vector::over_rows(count, self.width, |at| tree.reduce(row(at), init, window))
            }
            None => vector::sums(values, count, self.width, self.order, self.step, &self.unit),
        };
        if !self.from_zero && self.windows.is_none() {
            let add = |sum: f32| vector::binary_scalar(Binary::Add, init, sum, &self.unit);
            sums.iter_mut().for_each(|sum| *sum = add(*sum));
        }
        vector::round_to(self.dtype, &mut sums);
        sums
    }

    /// What each of those sums promises.
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
