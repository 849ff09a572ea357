//! The way of one instruction's sum, decided here alone: the machine runs it, `same` names it, and bounds and enclosures ask for
//! its promise, so that none of them can think of another one.

use crate::ir::{Fusion, Instruction, Window, WindowDim};
use crate::num::F32;
use crate::tensor::DType;

use super::addend::{self, Addend};
use super::loop_sum_order::{Beside, SumLoop};
use super::mode::Mode;
use super::products::Products;
use super::side_by_side::SideBySide;
use super::sum::{RowSum, SumPromise, SumSite};

/// The terms of a sum of floats up to f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// Numbers of the sum's own type.
    Numbers,
    /// f32 products that are not rounded yet.
    Products,
    /// Several such products each, which join the sum one after the other.
    Several,
}

/// The way of a sum: its order, and where products are rounded.
pub struct Summation {
    way: Way,
    width: usize,
    flush: bool,
    /// The most that flushing takes of one term.
    floor: f64,
    /// The kind of the terms of which it promises a sum.
    terms: Terms,
    from_zero: bool,
}

/// An order of additions.
pub enum Way {
    /// That of the mode's unit: its own, XLA:CPU's windows, or a library's.
    Unit(RowSum),
    /// Several elements side by side, in a loop that LLVM has vectorized or in a library's dot.
    SideBySide(SideBySide),
    /// Products one after the other from the init, each added before it is rounded.
    Chain,
    /// The same from a zero that is left out: the first product joins the second.
    ChainOfTwo,
    /// Products one after the other. Sums that are taken beside others round them first, as the unit adds numbers.
    ChainOfRounded(Beside, RowSum),
}

/// Whether the mode leaves sums as XLA:CPU compiles them.
pub fn sums_as_compiled(mode: &Mode) -> bool {
    mode.chip.plans_code() && mode.choices.reduce == mode.chip.sum
}

/// The order of a sum in a loop that LLVM has vectorized; `None` for any other sum.
pub fn side_by_side(mode: &Mode, sum_loop: SumLoop) -> Option<SideBySide> {
    SideBySide::new(sum_loop, mode.chip.flush).filter(|_| sums_as_compiled(mode))
}

impl Summation {
    /// The way in which `mode` sums such terms there; `sum_loop` is the loop that the compiler makes of the sum.
    pub fn new(mode: &Mode, sum_loop: SumLoop, site: &SumSite, terms: Terms) -> Summation {
        let unit = || RowSum::new(mode, site);
        let vectorized = side_by_side(mode, sum_loop).filter(|_| site.dtype() == DType::F32 && site.width() > 0);
        let way = match (vectorized, terms) {
            (Some(sum), _) => Way::SideBySide(sum),
            (None, Terms::Numbers) => Way::Unit(unit()),
            (None, Terms::Products | Terms::Several) => match sum_loop {
                SumLoop::ChainOfTwo => Way::ChainOfTwo,
                SumLoop::ChainOfRounded(beside) if sums_as_compiled(mode) => Way::ChainOfRounded(beside, unit()),
                _ => Way::Chain,
            },
        };
        let floor = mode.vector_unit().floor(DType::F32);
        Summation { way, width: site.width(), flush: mode.chip.flush, floor, terms, from_zero: site.begins_at_zero() }
    }

    /// The way of f32 sums of windows that do not run along a dim. `None` where a region takes a window's elements one by one.
    pub fn of_windows(
        mode: &Mode,
        sum_loop: SumLoop,
        (instruction, window): (&Instruction, &Window),
        from_zero: bool,
    ) -> Option<Summation> {
        // A window's elements that lie side by side are one run.
        let parts = instruction.shape.dims().iter().zip(&window.0);
        let dims: Vec<usize> = parts.flat_map(|(count, dim)| [*count, dim.size]).collect();
        let reduced: Vec<usize> = (0..dims.len()).filter(|d| d % 2 == 1).collect();
        let is_apart = |dim: &WindowDim| *dim == WindowDim { stride: dim.size, ..WindowDim::of_size(dim.size) };
        let in_library = instruction.fusion.is_some_and(Fusion::is_library) && window.0.iter().all(is_apart);
        if !sums_as_compiled(mode) || !in_library && side_by_side(mode, sum_loop).is_none() {
            return None;
        }
        let site = SumSite::over(&dims, &reduced, DType::F32, from_zero, instruction.fusion);
        Some(Summation::new(mode, sum_loop, &site, Terms::Numbers))
    }

    /// The order.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The order, taken out.
    pub fn into_way(self) -> Way {
        self.way
    }

    /// The sums of so many rows of numbers, rounded to the sum's type.
    pub fn of_numbers(&self, values: &[f32], results: usize, init: f32) -> Vec<f32> {
        match &self.way {
            Way::SideBySide(sum) => {
                let terms: Vec<f64> = values.iter().copied().map(f64::from).collect();
                sum.sums(&terms, self.width, init, false)
            }
            Way::Unit(sum) => sum.of_rows(values, results, init),
            Way::Chain | Way::ChainOfTwo | Way::ChainOfRounded(..) => unreachable!("numbers are no products"),
        }
    }

    /// The f32 sums of rows of products in flight, none of them empty.
    pub fn of_flight(&self, products: &Products, init: f32) -> Vec<f32> {
        match products.single() {
            Some(products) => self.of_products(products, init),
            None => {
                let (all, count) = products.by_element();
                let terms: Vec<&[f64]> = all.chunks(count.max(1)).collect();
                self.of_products(&terms, init)
            }
        }
    }

    /// The f32 sums of rows of products, none of them empty.
    pub fn of_products<T: Addend>(&self, products: &[T], init: f32) -> Vec<f32> {
        let chain = || addend::row_sums(products, self.width, init, self.flush);
        match &self.way {
            Way::SideBySide(sum) => sum.sums(products, self.width, init, true),
            Way::ChainOfTwo => addend::row_sums_of_two(products, self.width, self.flush),
            Way::ChainOfRounded(beside, sum) => {
                let rounded: Vec<f32> = products.iter().map(|term| term.rounded(self.flush)).collect();
                beside.choose(sum.of_rows(&rounded, rounded.len() / self.width, init), chain())
            }
            Way::Chain => chain(),
            Way::Unit(_) => unreachable!("products are no numbers"),
        }
    }

    /// The promise of each of those sums. `None` for terms of several products: these meet the sum apart, and what they come to
    /// says nothing of how large they are.
    ///
    /// An f32 product that is added before it is rounded needs no rounding of its own. What flushing takes is as in
    /// [`RowSum::promise`]: partial sums that join are no more than terms that are not zero, less one.
    pub fn promise(&self) -> Option<SumPromise> {
        let init = usize::from(!self.from_zero);
        let chain = |chain: u64| SumPromise { format: &F32, chain, inits: init, rounded_last: false, lost: self.floor };
        match &self.way {
            _ if self.terms == Terms::Several => None,
            Way::Unit(sum) => Some(sum.promise()),
            Way::SideBySide(sum) => Some(chain(sum.longest_chain(self.width, self.terms == Terms::Products))),
            Way::Chain | Way::ChainOfTwo => Some(chain(self.width as u64)),
            Way::ChainOfRounded(_, sum) => {
                let beside = sum.promise();
                Some(SumPromise { inits: beside.inits.max(init), ..chain(beside.chain.max(self.width as u64)) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Summation, Terms};
    use crate::machine::SumSite;
    use crate::machine::{Beside, SumLoop};
    use crate::tensor::DType;

    /// Counted by hand: the most additions that a term meets, and the inits.
    #[test]
    fn promises_are_those_of_the_way_that_is_taken() {
        let promise = |mode: &str, sum_loop: SumLoop, width: usize, from_zero: bool, terms: Terms| {
            let site = SumSite::over(&[4, width], &[1], DType::F32, from_zero, None);
            let promise = Summation::new(&mode.parse().unwrap(), sum_loop, &site, terms).promise();
            promise.map(|promise| (promise.chain, promise.inits, promise.lost))
        };
        let (cpu, xla, v5e) = ("cpu/f32/off", "xla-cpu/default/as-compiled", "v5e/default/off");
        let normal = 2f64.powi(-126);
        let numbers = |mode, width, from_zero| promise(mode, SumLoop::Chain, width, from_zero, Terms::Numbers);
        assert_eq!(numbers(cpu, 7, true), Some((6, 0, 0.0)));
        assert_eq!(numbers(cpu, 7, false), Some((7, 1, 0.0)));
        // One register of 8 x 128: sublanes, then halving.
        assert_eq!(numbers(v5e, 1024, true), Some((7 + 7, 0, normal)));
        // Windows of 32.
        assert_eq!(numbers(xla, 33, true), Some((31 + 1, 0, normal)));
        let products = |sum_loop, from_zero| promise(xla, sum_loop, 7, from_zero, Terms::Products);
        // The rounding of the product itself is one.
        assert_eq!(products(SumLoop::Chain, true), Some((7, 0, normal)));
        assert_eq!(products(SumLoop::Chain, false), Some((7, 1, normal)));
        assert_eq!(products(SumLoop::ChainOfTwo, true), Some((7, 0, normal)));
        let rounded = SumLoop::ChainOfRounded(Beside { count: 2, extent: 3 });
        assert_eq!(products(rounded, true), Some((7, 0, normal)));
        // Terms of several products may cancel.
        assert_eq!(promise(xla, SumLoop::Chain, 7, true, Terms::Several), None);
    }

    /// Two of three sums are taken side by side, of products that are rounded; the third adds them as they are.
    #[test]
    fn sums_beside_others_round_their_products() {
        let half = 2f64.powi(-24);
        let rows = [1.0, half + half * half, 0.0].repeat(3);
        let site = SumSite::over(&[3, 3], &[1], DType::F32, true, None);
        let beside = SumLoop::ChainOfRounded(Beside { count: 2, extent: 3 });
        let sums =
            |mode: &str| Summation::new(&mode.parse().unwrap(), beside, &site, Terms::Products).of_products(&rows, 0.0);
        let above = 1.0 + f32::EPSILON;
        assert_eq!(sums("xla-cpu/default/as-compiled"), [1.0, 1.0, above]);
        // A mode with an order of its own leaves products as they are, one after the other.
        assert_eq!(sums("xla-cpu/default/as-compiled+reduce=chain"), [above; 3]);
    }
}
