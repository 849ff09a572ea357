//! Terms of f32 sums: numbers, products in flight, or several of them, each rounded when it has been added.

use crate::num::flush_f32;

use super::mxu::sum_to_f32;

/// Term of a sum: a number or a product, or several of them that are added one after the other.
pub trait Addend: Copy {
    /// The same rounded before it is added.
    type Rounded: Addend;

    /// Whether the first term of a register joins the second where both join others; two products each do not.
    fn joins_second(self) -> bool;

    /// The sum with it, rounded once for each product.
    fn add_to(self, sum: f32, flush: bool) -> f32;

    /// The term rounded, to be added later.
    fn alone(self, flush: bool) -> Self::Rounded;

    /// The sum of two partial sums of such terms.
    fn join(left: f32, right: f32, flush: bool) -> f32 {
        f64::from(right).add_to(left, flush)
    }

    /// The term rounded to f32.
    fn rounded(self, flush: bool) -> f32 {
        self.add_to(NOTHING, flush)
    }
}

/// Initial value of the lanes' accumulators: adding it changes nothing.
pub const NOTHING: f32 = -0.0;

impl Addend for f64 {
    type Rounded = f64;

    fn joins_second(self) -> bool {
        true
    }

    fn add_to(self, sum: f32, flush: bool) -> f32 {
        let sum = sum_to_f32(f64::from(sum), self);
        if flush { flush_f32(sum) } else { sum }
    }

    fn alone(self, flush: bool) -> f64 {
        f64::from(self.rounded(flush))
    }
}

impl Addend for &[f64] {
    type Rounded = f64;

    fn joins_second(self) -> bool {
        self.len() != 2
    }

    fn add_to(self, sum: f32, flush: bool) -> f32 {
        self.iter().fold(sum, |sum, product| product.add_to(sum, flush))
    }

    fn alone(self, flush: bool) -> f64 {
        f64::from(self.rounded(flush))
    }
}

/// A term that counts additions: a sum of these is the largest number of additions on the way of one of them.
#[derive(Clone, Copy)]
pub struct Counted;

impl Addend for Counted {
    type Rounded = Counted;

    fn joins_second(self) -> bool {
        true
    }

    fn add_to(self, sum: f32, _: bool) -> f32 {
        sum.max(0.0) + 1.0
    }

    fn alone(self, _: bool) -> Counted {
        Counted
    }

    fn join(left: f32, right: f32, _: bool) -> f32 {
        left.max(right) + 1.0
    }
}

/// The f32 sums of rows of `width` products, each added to the sum so far before it is rounded.
pub fn row_sums<T: Addend>(products: &[T], width: usize, init: f32, flush: bool) -> Vec<f32> {
    let init = if flush { flush_f32(init) } else { init };
    let chain = |row: &[T]| row.iter().fold(init, |sum, p| p.add_to(sum, flush));
    products.chunks(width.max(1)).map(chain).collect()
}

/// The f32 sums of rows of `width` products that begin with the first two, of which the second is rounded.
pub fn row_sums_of_two<T: Addend>(products: &[T], width: usize, flush: bool) -> Vec<f32> {
    let starts = |row: &[T]| match *row {
        [first, second, ..] => [second, first].into_iter().chain(row[2..].iter().copied()).collect(),
        _ => row.to_vec(),
    };
    let swapped: Vec<T> = products.chunks(width.max(1)).flat_map(starts).collect();
    row_sums(&swapped, width, 0.0, flush)
}

#[cfg(test)]
mod tests {
    use super::{row_sums, row_sums_of_two};

    #[test]
    fn products_are_added_before_they_are_rounded() {
        // Rounded to f32 first it would be 2^-24, half an ulp of 1, which to even is nothing.
        let product = 2f64.powi(-24) + 2f64.powi(-48);
        assert_eq!(
            row_sums(&[product, 0.0, product, product], 2, 1.0, false),
            [1.0 + f32::EPSILON, 1.0 + 2.0 * f32::EPSILON]
        );
    }

    /// The bits that jaxlib 0.10.2 computed for the sum of three squares in a fusion; one chain has another last bit.
    #[test]
    fn a_sum_without_a_zero_begins_with_two_products() {
        let numbers = [0x3f8c_f62b, 0x3ead_46dd, 0xbf0a_3b93].map(f32::from_bits);
        let squares = numbers.map(|v| f64::from(v) * f64::from(v));
        assert_eq!(row_sums_of_two(&squares, 3, true)[0].to_bits(), 0x3fcf_3797);
        assert_eq!(row_sums(&squares, 3, 0.0, true)[0].to_bits(), 0x3fcf_3796);
    }
}
