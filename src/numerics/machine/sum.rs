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
    /// Elements that the library sums at a time; the sums are added one after the other.
    run: usize,
    from_zero: bool,
    /// Rows of two reduced dims that are summed side by side.
    side_by_side: SideBySide,
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
    /// Whether the last dim is a reduced one.
    pub last: bool,
    /// Elements of the innermost reduced dims that lie side by side.
    pub run: usize,
    /// The fusion that it stands in.
    pub fusion: Option<Fusion>,
}

/// Rows of at most eight elements that XLA:CPU's compiler (LLVM's loop vectorizer) sums side by side, where a compiled fusion
/// sums over the rows as well. Of twelve rows it sums each after the other.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide {
    /// How many rows; 1 where all elements are one chain.
    pub lanes: usize,
    rows: usize,
    columns: usize,
    /// Whether products join their lane before they are rounded, however many columns there are.
    exact: bool,
}

impl SideBySide {
    /// What `mode` does there.
    pub fn new(mode: &Mode, site: &SumSite) -> SideBySide {
        let compiled = matches!(site.fusion, Some(Fusion::Compiled(_))) && mode.chip.library.is_some();
        let own = compiled && site.dtype == DType::F32 && mode.choices.reduce == mode.chip.sum;
        let (lanes, rows, columns) = match *site.extents {
            [rows, columns] if own && site.last && (2..=8).contains(&columns) && site.run == rows * columns => {
                let lanes = match rows {
                    12 => 1,
                    2 => 2,
                    _ if rows.is_multiple_of(8) && columns <= 6 => 8,
                    _ if rows.is_multiple_of(4) => 4,
                    _ => 1,
                };
                (lanes, rows, columns)
            }
            _ => (1, 1, site.extents.iter().product()),
        };
        SideBySide { lanes, rows, columns, exact: false }
    }

    /// Those lanes, if there are several, of rows of exact products.
    pub fn or_lanes(self, lanes: usize, extents: &[usize]) -> SideBySide {
        match *extents {
            [rows, columns] if lanes > 1 => SideBySide { lanes, rows, columns, exact: true },
            _ => self,
        }
    }

    /// Whether products of such rows are rounded before they are added, which of longer rows none are.
    pub fn rounds_products(&self) -> bool {
        self.lanes > 1 && self.columns >= 6 && !self.exact
    }

    /// Positions of so many elements, so that each lane's lie together.
    pub fn in_lanes(self, elements: usize) -> impl Iterator<Item = usize> {
        let SideBySide { lanes, rows, columns, .. } = self;
        let sums = elements / (rows * columns).max(1);
        let of_lane = move |lane: usize| (lane..rows).step_by(lanes).flat_map(move |r| r * columns..(r + 1) * columns);
        (0..sums).flat_map(move |sum| (0..lanes).flat_map(of_lane).map(move |at| sum * rows * columns + at))
    }

    /// The lanes' sums, joined by halving.
    pub fn join_lanes(self, sums: Vec<f32>, unit: &VectorUnit) -> Vec<f32> {
        let join = |lanes: &[f32]| {
            let mut lanes = lanes.to_vec();
            while lanes.len() > 1 {
                let upper = lanes.split_off(lanes.len() / 2);
                lanes.iter_mut().zip(upper).for_each(|(a, b)| *a = vector::binary_scalar(Binary::Add, *a, b, unit));
            }
            lanes[0]
        };
        sums.chunks(self.lanes).map(join).collect()
    }
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
            // Of other types nothing is known: they are summed as elsewhere.
            Some(Library::Ynnpack) if dtype == DType::F32 && mode.choices.reduce == mode.chip.sum => {
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
            run: site.run,
            from_zero,
            side_by_side: SideBySide::new(mode, site),
            windows: (order == SumOrder::Tree32 && !own).then(|| Tree::new(extents)),
            unit: mode.vector_unit(),
        }
    }

    /// The sums of `count` rows that lie one after the other, rounded to the type.
    pub fn of_rows(&self, values: &[f32], count: usize, init: f32) -> Vec<f32> {
        if self.side_by_side.lanes > 1 && self.from_zero {
            let lanes = self.side_by_side.in_lanes(values.len()).map(|at| values[at]).collect::<Vec<f32>>();
            let count = count * self.side_by_side.lanes;
            let sums = vector::sums(&lanes, count, values.len() / count, SumOrder::Chain, self.step, &self.unit);
            return self.side_by_side.join_lanes(sums, &self.unit);
        }
        let mut sums = match &self.windows {
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
        if !self.from_zero && self.windows.is_none() {
            let add = |sum: f32| vector::binary_scalar(Binary::Add, init, sum, &self.unit);
            sums.iter_mut().for_each(|sum| *sum = add(*sum));
        }
        vector::round_to(self.dtype, &mut sums);
        sums
    }

    /// Whether the library sums a row in several runs.
    fn in_runs(&self) -> bool {
        matches!(self.order, SumOrder::Ynn { .. }) && (1..self.width).contains(&self.run)
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
    use super::{RowSum, SideBySide, SumSite};
    use crate::ir::Fusion;
    use crate::machine::probe::{hash, numbers};
    use crate::machine::{Mode, contract};
    use crate::tensor::DType;

    fn mode() -> Mode {
        "xla-cpu/default/as-compiled".parse().unwrap()
    }

    fn site(extents: &[usize], run: usize, fusion: Fusion) -> SumSite<'_> {
        SumSite { dtype: DType::F32, extents, from_zero: true, last: true, run, fusion: Some(fusion) }
    }

    /// The bits that jaxlib 0.10.2 computed: f32[2,16,8,20] over dims 1 and 3 in a fusion that is left to its library.
    #[test]
    fn the_library_sums_runs_and_adds_them_in_order() {
        let values = numbers(&mut 1, 2 * 16 * 8 * 20);
        // Reduced dims last.
        let at = |row: usize, i: usize| ((row / 8 * 16 + i / 20) * 8 + row % 8) * 20 + i % 20;
        let rows: Vec<f32> = (0..16 * 320).map(|n| values[at(n / 320, n % 320)]).collect();
        let sum = RowSum::new(&mode(), &site(&[16, 20], 20, Fusion::Custom(0)));
        assert_eq!(hash(sum.of_rows(&rows, 16, 0.0)), 0x3b3c_cfee_b665_20d9);
        assert!(sum.promise().chain >= 16);
    }

    /// The bits that jaxlib 0.10.2 computed for sums over both dims, or the last two of three.
    #[test]
    fn short_rows_are_summed_side_by_side() {
        let expected = [
            ([1, 32, 4], 8, 0x3416_64cf_a97d_4b57),
            ([1, 20, 8], 4, 0x06f3_77d1_0fca_f2a0),
            ([1, 2, 5], 2, 0x18b8_34cd_c7fc_3fc7),
            ([1, 12, 4], 1, 0xaedd_24a9_fa1d_01e4),
            ([3, 24, 6], 8, 0xe4c3_50da_9fde_9d7b),
        ];
        for ([count, rows, columns], lanes, bits) in expected {
            let extents = [rows, columns];
            let site = site(&extents, rows * columns, Fusion::Compiled(0));
            assert_eq!(SideBySide::new(&mode(), &site).lanes, lanes, "{extents:?}");
            let sums = RowSum::new(&mode(), &site).of_rows(&numbers(&mut 1, count * rows * columns), count, 0.0);
            assert_eq!(hash(sums), bits, "{extents:?}");
        }
    }

    /// The bits that jaxlib 0.10.2 computed for sums of products: one chain of fused multiply-adds, and eight side by side.
    #[test]
    fn products_are_added_before_they_are_rounded() {
        for (extents, bits) in [([12, 20], 0x169f_ded1_2a6c_e5a5u64), ([32, 4], 0xcbed_e3d0_ab80_7824)] {
            let width = extents[0] * extents[1];
            let mut state = 1;
            let (a, b) = (numbers(&mut state, width), numbers(&mut state, width));
            let products: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).collect();
            let rows = SideBySide::new(&mode(), &site(&extents, width, Fusion::Compiled(0)));
            let lanes: Vec<f64> = rows.in_lanes(width).map(|at| products[at]).collect();
            let sums = contract::row_sums(&lanes, width / rows.lanes, 0.0, true);
            assert_eq!(hash(rows.join_lanes(sums, &mode().vector_unit())), bits, "{extents:?}");
        }
    }
}
