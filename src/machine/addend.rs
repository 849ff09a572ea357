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

/// The f32 sums of rows of `width` products, each added to the sum so far before it is rounded.
pub fn row_sums<T: Addend>(products: &[T], width: usize, init: f32, flush: bool) -> Vec<f32> {
    let init = if flush { flush_f32(init) } else { init };
    let chain = |row: &[T]| row.iter().fold(init, |sum, p| p.add_to(sum, flush));
    products.chunks(width.max(1)).map(chain).collect()
}

#[cfg(test)]
mod tests {
    use super::row_sums;

    #[test]
    fn products_are_added_before_they_are_rounded() {
        // Rounded to f32 first it would be 2^-24, half an ulp of 1, which to even is nothing.
        let product = 2f64.powi(-24) + 2f64.powi(-48);
        assert_eq!(
            row_sums(&[product, 0.0, product, product], 2, 1.0, false),
            [1.0 + f32::EPSILON, 1.0 + 2.0 * f32::EPSILON]
        );
    }
}
