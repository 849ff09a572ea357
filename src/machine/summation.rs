//! The way of one instruction's sum, decided here alone: the machine runs it, `same` names it, and bounds and enclosures ask for
//! its promise, so that none of them can think of another one.

use std::ops::Range;

use crate::analysis::{Cumulative, cumulative};
use crate::ir::{Instruction, Mark, Op, Shape, Window};
use crate::num::flush_f32;
use crate::tensor::DType;

use super::addend::{self, Addend};
use super::coded::Coded;
use super::mode::Arithmetic;
use super::products::Products;
use super::sum::{RowPlan, RowSum, SumPromise, SumSite, SumUnit};
use super::sum_code::{SumCode, SumCodes, SumTerms, SummedRows, Terms};

/// The way of a sum: its order, and where products are rounded.
pub struct Summation {
    way: Way,
    rows: SummedRows,
}

/// An order of additions.
pub enum Way {
    /// That of the mode's unit, for numbers.
    Unit(RowSum),
    /// Products one after the other from the init, each added before it is rounded.
    Chain,
    /// That of the backend's code.
    Coded(Coded<dyn SumCode>),
}

/// All that decides in which order and with which roundings a sum is taken, but for its terms, its init and flushing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SumPlan {
    /// In the vector unit's order.
    Row(RowPlan),
    /// Products that are not rounded before, in order.
    Products,
    /// In the order of a code.
    Coded {
        /// The code.
        code: Coded<dyn SumCode>,
        /// Whether it adds products that are not rounded before.
        of_products: bool,
        /// The plan of the unit, where the code adds some of the terms as the unit adds numbers.
        as_unit: Option<RowPlan>,
    },
}

impl Summation {
    /// The sums over the dims `reduced` of an array of `dims`, of terms of this type and kind, in `mode`, from an init that is a
    /// zero or not. `codes` are the orders that the backend's code has.
    pub fn over(
        mode: &Arithmetic,
        codes: &SumCodes,
        (dims, reduced): (&[usize], &[usize]),
        (dtype, terms): (DType, Terms),
        from_zero: bool,
    ) -> Summation {
        let site = SumSite::over(dims, reduced, dtype, from_zero);
        let rows = SummedRows { site, unit: unit_of(mode, dtype), terms };
        // Codes add up f32, and not nothing.
        let code = codes.of(terms).filter(|_| dtype == DType::F32 && rows.width() > 0);
        let way = match (code, terms) {
            (Some(code), _) => Way::Coded(code.clone()),
            (None, Terms::Numbers) => Way::Unit(rows.of_unit()),
            // The unit's orders are of rounded numbers; a product in flight joins a running sum by a fused
            // multiply-add.
            (None, Terms::Products | Terms::Several) => Way::Chain,
        };
        Summation { way, rows }
    }

    /// The f32 sums of windows that do not run along a dim. `None` where a region takes a window's elements one by one.
    pub fn of_windows(
        mode: &Arithmetic,
        codes: &SumCodes,
        (instruction, window): (&Instruction, &Window),
        from_zero: bool,
    ) -> Option<Summation> {
        // Without a code a window is summed by its region, which rounds as the region says.
        codes.numbers.as_ref()?;
        let (dims, reduced) = window.dims_by_window(instruction.shape.dims());
        Some(Summation::over(mode, codes, (&dims, &reduced), (DType::F32, Terms::Numbers), from_zero))
    }

    /// The sums of the `k` rounded f32 products of each result of a dot that the vector unit takes.
    pub fn of_dot(mode: &Arithmetic, k: usize) -> Summation {
        Summation::over(mode, &SumCodes::default(), (&[k], &[0]), (DType::F32, Terms::Numbers), true)
    }

    /// The sums of a `reduce` or `reduce-window` of an operand of this shape, as its text says.
    pub fn of_instruction(
        mode: &Arithmetic,
        codes: &SumCodes,
        (instruction, operand): (&Instruction, &Shape),
        terms: Terms,
        from_zero: bool,
    ) -> Option<Summation> {
        // Devices round partial sums to the type in which they exchange them, at any step but the last.
        let dtype = match &instruction.mark {
            Some(Mark::Exchange { carries, .. }) => *carries,
            _ => operand.element_type(),
        };
        let dims = operand.dims();
        let over = |dims: &[usize], reduced: &[usize]| {
            // Only products of f32 are kept unrounded: an f64 holds them exactly.
            let terms = if dtype == DType::F32 { terms } else { Terms::Numbers };
            Some(Summation::over(mode, codes, (dims, reduced), (dtype, terms), from_zero))
        };
        match &instruction.op {
            Op::Reduce { dims: reduced, .. } => over(dims, reduced),
            Op::ReduceWindow { window, .. } => match cumulative(window, dims) {
                Some(Cumulative { dim, .. }) => over(&[dims[dim]], &[0]),
                None => {
                    let extents: Vec<usize> = window.0.iter().map(|dim| dim.size).collect();
                    over(&extents, &(0..extents.len()).collect::<Vec<_>>())
                }
            },
            _ => None,
        }
    }

    /// The order.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The rows that are summed.
    pub fn rows(&self) -> &SummedRows {
        &self.rows
    }

    /// The sums of so many rows of numbers, rounded to the sum's type.
    pub fn of_numbers(&self, values: &[f32], results: usize, init: f32) -> Vec<f32> {
        let sums = match &self.way {
            Way::Coded(code) => code.sums(SumTerms::Numbers(values), init, &self.rows),
            Way::Unit(sum) => sum.of_rows(values, results, init),
            Way::Chain => unreachable!("numbers are no products"),
        };
        self.begun_with(init, sums, |span| values[span].iter().all(|term| self.is_minus_zero(*term)))
    }

    /// The f32 sums of rows of products in flight, none of them empty.
    pub fn of_flight(&self, products: &Products, init: f32) -> Vec<f32> {
        match products.single() {
            Some(products) => self.of_products(SumTerms::Products(products), init),
            None => {
                let (all, count) = products.by_element();
                let terms: Vec<&[f64]> = all.chunks(count.max(1)).collect();
                self.of_products(SumTerms::Several(&terms), init)
            }
        }
    }

    /// The f32 sums of rows of products, none of them empty.
    pub fn of_products(&self, terms: SumTerms, init: f32) -> Vec<f32> {
        let (width, flush) = (self.rows.width(), self.rows.flushes());
        let sums = match (&self.way, terms) {
            (Way::Coded(code), _) => code.sums(terms, init, &self.rows),
            (Way::Chain, SumTerms::Products(terms)) => addend::row_sums(terms, width, init, flush),
            (Way::Chain, SumTerms::Several(terms)) => addend::row_sums(terms, width, init, flush),
            (Way::Unit(_), _) | (_, SumTerms::Numbers(_)) => unreachable!("products are no numbers"),
        };
        self.begun_with(init, sums, |span| match terms {
            SumTerms::Numbers(terms) => terms[span].iter().all(|term| self.is_minus_zero(*term)),
            SumTerms::Products(terms) => terms[span].iter().all(|term| self.is_minus_zero(term.rounded(flush))),
            SumTerms::Several(terms) => terms[span].iter().all(|term| self.is_minus_zero(term.rounded(flush))),
        })
    }

    /// The sums with the sign of an init that is -0, where all terms of a row are -0: other rows do not show it, and orders of
    /// additions begin with +0.
    fn begun_with(&self, init: f32, mut sums: Vec<f32>, is_minus_zeros: impl Fn(Range<usize>) -> bool) -> Vec<f32> {
        if self.is_minus_zero(init) {
            let width = self.rows.width();
            let rows = sums.iter_mut().enumerate().filter(|(row, _)| is_minus_zeros(row * width..(row + 1) * width));
            rows.for_each(|(_, sum)| *sum = -0.0);
        }
        sums
    }

    /// Whether the unit takes a number for -0.
    pub fn is_minus_zero(&self, number: f32) -> bool {
        let taken = if self.rows.flushes() { flush_f32(number) } else { number };
        taken == 0.0 && taken.is_sign_negative()
    }

    /// The promise of each of those sums. `None` for terms of several products: these meet the sum apart, and what they come to
    /// says nothing of how large they are.
    pub fn promise(&self) -> Option<SumPromise> {
        match &self.way {
            // The parts of one term may cancel, so that its magnitude says nothing of theirs.
            _ if self.rows.terms() == Terms::Several => None,
            Way::Unit(sum) => Some(sum.promise()),
            Way::Coded(code) => Some(code.promise(&self.rows)),
            Way::Chain => Some(self.rows.promise_chain(self.rows.width() as u64)),
        }
    }

    /// All that decides the order.
    pub fn plan(&self) -> SumPlan {
        match &self.way {
            Way::Unit(sum) => SumPlan::Row(sum.plan(self.rows.site.extents())),
            Way::Chain => SumPlan::Products,
            Way::Coded(code) => {
                let of_unit = || self.rows.of_unit().plan(self.rows.site.extents());
                let of_products = self.rows.terms() != Terms::Numbers;
                SumPlan::Coded { code: code.clone(), of_products, as_unit: code.adds_as_unit().then(of_unit) }
            }
        }
    }
}

/// The unit that sums numbers of this type in a mode.
fn unit_of(mode: &Arithmetic, dtype: DType) -> SumUnit {
    SumUnit::new(mode.choices.reduce, mode.step_of(dtype), mode.vector_unit())
}

#[cfg(test)]
mod tests {
    use super::Summation;
    use crate::tensor::DType;
    use crate::{SumCodes, SumTerms, Terms};

    const F32_NUMBERS: (DType, Terms) = (DType::F32, Terms::Numbers);

    /// Counted by hand: the most additions that a term meets, and the inits.
    #[test]
    fn promises_are_those_of_the_way_that_is_taken() {
        let promise = |mode: &str, width: usize, from_zero: bool, terms: Terms| {
            let (mode, codes) = (mode.parse().unwrap(), SumCodes::default());
            let sum = Summation::over(&mode, &codes, (&[4, width], &[1]), (DType::F32, terms), from_zero);
            let promise = sum.promise();
            promise.map(|promise| (promise.terms, promise.chain, promise.inits, promise.lost))
        };
        let (cpu, windows, v5e) = ("cpu/f32/off", "v5e/default/off+reduce=tree32", "v5e/default/off");
        let normal = 2f64.powi(-126);
        let numbers = |mode, width, from_zero| promise(mode, width, from_zero, Terms::Numbers);
        assert_eq!(numbers(cpu, 7, true), Some((7, 6, 0, 0.0)));
        assert_eq!(numbers(cpu, 7, false), Some((7, 7, 1, 0.0)));
        // One register of 8 x 128: sublanes, then halving.
        assert_eq!(numbers(v5e, 1024, true), Some((1024, 7 + 7, 0, normal)));
        assert_eq!(numbers(windows, 33, true), Some((33, 31 + 1, 0, normal)));
        // The rounding of a product itself is one.
        assert_eq!(promise(v5e, 7, true, Terms::Products), Some((7, 7, 0, normal)));
        assert_eq!(promise(v5e, 7, false, Terms::Products), Some((7, 7, 1, normal)));
        // Terms of several products may cancel.
        assert_eq!(promise(v5e, 7, true, Terms::Several), None);
    }

    /// -0 + -0 is -0 in any order, and a unit that flushes takes a negative subnormal for -0.
    #[test]
    fn sums_from_minus_zero_of_minus_zeros_are_minus_zero() {
        for mode in ["cpu/f32/off", "v5e/default/off", "v5e/default/off+reduce=tree32"] {
            let (parsed, codes) = (mode.parse().unwrap(), SumCodes::default());
            let flushes = mode.starts_with("v5e");
            let sums = |rows: &[f32], width: usize, init: f32| {
                let sum =
                    Summation::over(&parsed, &codes, (&[rows.len() / width, width], &[1]), F32_NUMBERS, init == 0.0);
                let sums = sum.of_numbers(rows, rows.len() / width, init);
                sums.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(sums(&[-0.0, -0.0, -0.0, 0.0, 1.0, -1.0], 2, -0.0), bits(&[-0.0, 0.0, 0.0]), "{mode}");
            assert_eq!(sums(&[-0.0; 80], 40, -0.0), bits(&[-0.0, -0.0]), "{mode}");
            assert_eq!(sums(&[-0.0; 80], 40, 0.0), bits(&[0.0, 0.0]), "{mode}");
            let subnormal = if flushes { -0.0 } else { -2e-39 };
            assert_eq!(sums(&[-0.0, -1e-39], 2, -1e-39), bits(&[subnormal]), "{mode}");
            let none = Summation::over(&parsed, &codes, (&[2, 0], &[1]), F32_NUMBERS, true);
            assert_eq!(bits(&none.of_numbers(&[], 2, -0.0)), bits(&[-0.0, -0.0]), "{mode}");
        }
        let (cpu, codes) = ("cpu/f32/off".parse().unwrap(), SumCodes::default());
        let products = Summation::over(&cpu, &codes, (&[2, 2], &[1]), (DType::F32, Terms::Products), true);
        let sums = products.of_products(SumTerms::Products(&[-0.0, -0.0, -0.0, 0.0]), -0.0);
        assert_eq!(sums.into_iter().map(f32::to_bits).collect::<Vec<_>>(), [(-0.0f32).to_bits(), 0]);
    }
}
