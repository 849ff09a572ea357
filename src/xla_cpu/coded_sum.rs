//! The orders of sums that XLA:CPU's code and its libraries have, as the machine runs them.

use std::sync::Arc;

use crate::machine::{Addend, Coded, SumCode, SumPromise, SumTerms, SummedRows, Terms, row_sums};

use super::library::LibrarySum;
use super::side_by_side::SideBySide;
use super::sum_loop_order::SumLoop;

/// The order of a sum in compiled code, other than the unit's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodedSum {
    /// A loop that LLVM has vectorized or unrolled, or a library's dot in its place.
    Loop(SumLoop),
    /// Numbers that YNNPACK adds up.
    Library(LibrarySum),
}

impl CodedSum {
    /// The order of numbers in a loop; `None` where they are added as the unit adds them.
    pub fn of_numbers(sum_loop: SumLoop) -> Option<CodedSum> {
        sum_loop.is_side_by_side().then_some(CodedSum::Loop(sum_loop))
    }

    /// The order of products in a loop; `None` where they are added one after the other. A mode with an order of its own for
    /// sums has no loop: of all orders only that of the first two products stays.
    pub fn of_products(sum_loop: SumLoop, keeps_orders: bool) -> Option<CodedSum> {
        let is_coded = match sum_loop {
            SumLoop::Chain => false,
            SumLoop::ChainOfTwo => true,
            SumLoop::ChainOfRounded(_) => keeps_orders,
            SumLoop::Rows(_) | SumLoop::Columns(_) | SumLoop::Dot(_) => keeps_orders && sum_loop.is_side_by_side(),
        };
        is_coded.then_some(CodedSum::Loop(sum_loop))
    }

    /// The order as the machine runs it.
    pub fn into_code(self) -> Coded<dyn SumCode> {
        Coded::new(Arc::new(self))
    }

    fn of_terms<T: Addend>(self, terms: &[T], init: f32, rows: &SummedRows) -> Vec<f32> {
        let (width, flush) = (rows.width(), rows.flushes());
        match self {
            CodedSum::Loop(SumLoop::ChainOfTwo) => row_sums_of_two(terms, width, flush),
            CodedSum::Loop(SumLoop::ChainOfRounded(beside)) => {
                let rounded: Vec<f32> = terms.iter().map(|term| term.rounded(flush)).collect();
                let of_unit = rows.of_unit().of_rows(&rounded, rounded.len() / width, init);
                beside.choose(of_unit, row_sums(terms, width, init, flush))
            }
            CodedSum::Loop(sum_loop) => SideBySide { sum_loop, flush }.sums(terms, width, init, true),
            CodedSum::Library(_) => unreachable!("the library's sums are of numbers"),
        }
    }
}

impl SumCode for CodedSum {
    fn sums(&self, terms: SumTerms, init: f32, rows: &SummedRows) -> Vec<f32> {
        match (terms, *self) {
            (SumTerms::Numbers(values), CodedSum::Library(library)) => {
                library.sums(values, [rows.width(), values.len() / rows.width()], init, rows)
            }
            (SumTerms::Numbers(values), CodedSum::Loop(sum_loop)) => {
                let terms: Vec<f64> = values.iter().copied().map(f64::from).collect();
                SideBySide { sum_loop, flush: rows.flushes() }.sums(&terms, rows.width(), init, false)
            }
            (SumTerms::Products(terms), _) => self.of_terms(terms, init, rows),
            (SumTerms::Several(terms), _) => self.of_terms(terms, init, rows),
        }
    }

    fn adds_as_unit(&self) -> bool {
        matches!(self, CodedSum::Loop(SumLoop::ChainOfRounded(_)))
    }

    fn promise(&self, rows: &SummedRows) -> SumPromise {
        let width = rows.width();
        match *self {
            CodedSum::Loop(SumLoop::Chain | SumLoop::ChainOfTwo) => rows.promise_chain(width as u64),
            CodedSum::Loop(SumLoop::ChainOfRounded(_)) => {
                let beside = rows.of_unit().promise();
                let alone = rows.promise_chain(beside.chain.max(width as u64));
                SumPromise { inits: beside.inits.max(alone.inits), ..alone }
            }
            CodedSum::Loop(sum_loop) => {
                let order = SideBySide { sum_loop, flush: rows.flushes() };
                rows.promise_chain(order.longest_chain(width, rows.terms() == Terms::Products))
            }
            CodedSum::Library(library) => rows.promise_chain(library.longest_chain(width, rows.begins_at_zero())),
        }
    }
}

/// The f32 sums of rows of `width` products that begin with the first two, of which the second is rounded.
fn row_sums_of_two<T: Addend>(products: &[T], width: usize, flush: bool) -> Vec<f32> {
    let starts = |row: &[T]| match *row {
        [first, second, ..] => [second, first].into_iter().chain(row[2..].iter().copied()).collect(),
        _ => row.to_vec(),
    };
    let swapped: Vec<T> = products.chunks(width.max(1)).flat_map(starts).collect();
    row_sums(&swapped, width, 0.0, flush)
}

#[cfg(test)]
mod tests {
    use super::{CodedSum, row_sums_of_two};
    use crate::library::LibrarySum;
    use crate::machine::probe::{hash, numbers};
    use crate::machine::{SumCodes, SumTerms, Summation, Terms, row_sums};
    use crate::sum_loop_order::{Beside, SumLoop};
    use crate::tensor::DType;

    /// The bits that jaxlib 0.10.2 computed for the sum of three squares in a fusion; one chain has another last bit.
    #[test]
    fn a_sum_without_a_zero_begins_with_two_products() {
        let numbers = [0x3f8c_f62b, 0x3ead_46dd, 0xbf0a_3b93].map(f32::from_bits);
        let squares = numbers.map(|v| f64::from(v) * f64::from(v));
        assert_eq!(row_sums_of_two(&squares, 3, true)[0].to_bits(), 0x3fcf_3797);
        assert_eq!(row_sums(&squares, 3, 0.0, true)[0].to_bits(), 0x3fcf_3796);
    }

    fn summation(codes: &SumCodes, dims: [&[usize]; 2], terms: Terms, from_zero: bool) -> Summation {
        let mode = crate::cpu_row::arithmetic("xla-cpu/default/as-compiled");
        Summation::over(&mode, codes, (dims[0], dims[1]), (DType::F32, terms), from_zero)
    }

    /// Products in such a loop.
    fn of_products(sum_loop: SumLoop, keeps_orders: bool) -> SumCodes {
        let products = CodedSum::of_products(sum_loop, keeps_orders).map(CodedSum::into_code);
        SumCodes { numbers: None, products }
    }

    /// Counted by hand: the most additions that a term meets, the rounding of the product itself among them.
    #[test]
    fn promises_are_those_of_the_loop_that_is_taken() {
        let promise = |sum_loop: SumLoop, from_zero: bool, terms: Terms| {
            let promise = summation(&of_products(sum_loop, true), [&[4, 7], &[1]], terms, from_zero).promise();
            promise.map(|promise| (promise.terms, promise.chain, promise.inits, promise.lost))
        };
        let normal = 2f64.powi(-126);
        assert_eq!(promise(SumLoop::Chain, true, Terms::Products), Some((7, 7, 0, normal)));
        assert_eq!(promise(SumLoop::Chain, false, Terms::Products), Some((7, 7, 1, normal)));
        assert_eq!(promise(SumLoop::ChainOfTwo, true, Terms::Products), Some((7, 7, 0, normal)));
        let rounded = SumLoop::ChainOfRounded(Beside { count: 2, extent: 3 });
        assert_eq!(promise(rounded, true, Terms::Products), Some((7, 7, 0, normal)));
        // Terms of several products may cancel.
        assert_eq!(promise(SumLoop::Chain, true, Terms::Several), None);
    }

    /// Two of three sums are taken side by side, of products that are rounded; the third adds them as they are.
    #[test]
    fn sums_beside_others_round_their_products() {
        let half = 2f64.powi(-24);
        let rows = [1.0, half + half * half, 0.0].repeat(3);
        let beside = SumLoop::ChainOfRounded(Beside { count: 2, extent: 3 });
        let sums = |keeps_orders: bool| {
            let sum = summation(&of_products(beside, keeps_orders), [&[3, 3], &[1]], Terms::Products, true);
            sum.of_products(SumTerms::Products(&rows), 0.0)
        };
        let above = 1.0 + f32::EPSILON;
        assert_eq!(sums(true), [1.0, 1.0, above]);
        // A mode with an order of its own leaves products as they are, one after the other.
        assert_eq!(sums(false), [above; 3]);
    }

    /// Products that are rounded are added as the unit adds numbers, whose windows depend on the reduced dims.
    #[test]
    fn the_plan_of_rounded_products_holds_that_of_the_unit() {
        let codes = of_products(SumLoop::ChainOfRounded(Beside { count: 2, extent: 4 }), true);
        let plan = |dims: [&[usize]; 2]| summation(&codes, dims, Terms::Products, true).plan();
        assert_eq!(plan([&[4, 3, 40], &[1, 2]]), plan([&[4, 3, 40], &[2, 1]]));
        assert_ne!(plan([&[4, 3, 40], &[1, 2]]), plan([&[4, 120], &[1]]));
        // A loop adds all of them.
        let codes = of_products(SumLoop::ChainOfTwo, true);
        let plan = |dims: [&[usize]; 2]| summation(&codes, dims, Terms::Products, true).plan();
        assert_eq!(plan([&[4, 3, 40], &[1, 2]]), plan([&[4, 120], &[1]]));
    }

    /// The bits that jaxlib 0.10.2 computed: f32[2,16,8,20] over dims 1 and 3 in a fusion that is left to its library.
    #[test]
    fn the_library_sums_runs_and_adds_them_in_order() {
        let values = numbers(&mut 1, 2 * 16 * 8 * 20);
        // Reduced dims last.
        let at = |row: usize, i: usize| ((row / 8 * 16 + i / 20) * 8 + row % 8) * 20 + i % 20;
        let rows: Vec<f32> = (0..16 * 320).map(|n| values[at(n / 320, n % 320)]).collect();
        let (dims, reduced) = ([2, 16, 8, 20], [1, 3]);
        let library = CodedSum::Library(LibrarySum::over(&dims, &reduced)).into_code();
        let codes = SumCodes { numbers: Some(library), products: None };
        let sum = summation(&codes, [&dims, &reduced], Terms::Numbers, true);
        assert_eq!(hash(sum.of_numbers(&rows, 16, 0.0)), 0x3b3c_cfee_b665_20d9);
        assert!(sum.promise().unwrap().chain >= 16);
    }
}
