//! Fused multiply-add: products that are added before they are rounded ([`super::backend::Code::Product`]).
//!
//! Between the multiplication and the addition a product is held in f64, where that of two f32 is exact.

use crate::ir::Binary;
use crate::num::flush_f32;
use crate::tensor::DType;

use super::backend::Kernel;
use super::function_code::FoldedColumns;
use super::mxu::sum_to_f32;
use super::operand::Operand;
use super::products::Products;
use super::value::Value;

/// The exact products of two arrays of f32, rounded in the columns that are folded; one of them may hold such products
/// already, if the other is nothing but -1.
pub fn product(left: &Value, right: &Value, folded: Option<FoldedColumns>, flush: bool) -> Value {
    let (left, right) = (given(left, flush), given(right, flush));
    let exact = left.iter().zip(&right).map(|(left, right)| left * right);
    let Some(folded) = folded else { return Value::Products(Products::new(exact.collect())) };
    let rounded = |(i, product): (usize, f64)| {
        if folded.hold(i) { f64::from(round_one(product, flush)) } else { product }
    };
    Value::Products(Products::new(exact.enumerate().map(rounded).collect()))
}

/// An operand's elements, as arithmetic takes them: the sum of several products is rounded before.
fn given(operand: &Value, flush: bool) -> Vec<f64> {
    let rounded;
    let numbers = match operand {
        Value::Products(products) => match products.single() {
            // Still exact: the addition to come is the only rounding.
            Some(products) => return products.to_vec(),
            None => {
                rounded = products.to_f32(flush);
                &rounded[..]
            }
        },
        numbers => numbers.f32s(),
    };
    numbers.iter().map(|v| f64::from(if flush { flush_f32(*v) } else { *v })).collect()
}

/// Whether an operand of f32 arithmetic is a product in flight.
pub fn is_product(operand: &Value) -> bool {
    matches!(operand, Value::Products(_))
}

/// The f32 sums or differences of products and numbers, each rounded once; of two products of which `left_first` says for each
/// element which one is taken as it is, the other one is rounded before.
pub fn sum(binary: Binary, [left, right]: [&Value; 2], left_first: Option<&[bool]>, flush: bool) -> Value {
    let sign = if binary == Binary::Subtract { -1.0 } else { 1.0 };
    let rounded = |product: f64| f64::from(round_one(product, flush));
    let (left, right) = (given(left, flush), given(right, flush));
    let pairs =
        left.into_iter().zip(right).enumerate().map(|(i, (left, right))| match left_first.map(|first| first[i]) {
            Some(true) => (left, rounded(right)),
            Some(false) => (rounded(left), right),
            None => (left, right),
        });
    // An f64 addition would round once and the conversion to f32 again; this rounds once.
    let sums = pairs.map(|(left, right)| sum_to_f32(left, sign * right));
    Value::float(DType::F32, sums.map(|sum| if flush { flush_f32(sum) } else { sum }).collect())
}

/// Rounds the products in flight among the operands that a kernel rounds on the way in.
pub fn round_operands(operands: &mut [Operand], kernel: &Kernel, flush: bool) {
    for (position, operand) in operands.iter_mut().enumerate().filter(|_| kernel.rounded_operands != 0) {
        if kernel.rounds(position) {
            round_operand(operand, flush);
        }
    }
}

/// Rounds an operand, if it holds products in flight.
pub fn round_operand(operand: &mut Operand, flush: bool) {
    if let Value::Products(products) = operand.elements() {
        let rounded = Value::float(DType::F32, products.to_f32(flush));
        *operand = operand.clone().map(|_| rounded);
    }
}

/// Products in flight of several operands as those of a larger sum, those of the operand `first` before the others. A mode
/// with sums of its own, in which nothing `joins`, rounds a `first` that is one product, and adds it at once.
pub fn terms(operands: Vec<Value>, first: usize, (joins, flush): (bool, bool)) -> Value {
    let of_value = |value: Value| match value {
        Value::Products(products) => products,
        other => unreachable!("products in flight are asked for before {other:?} is taken"),
    };
    let mut all: Vec<Products> = operands.into_iter().map(of_value).collect();
    let leading = all.remove(first);
    // Only a code's own order takes several products one after the other. An order that the mode names adds numbers.
    if let (Some(_), false, [other]) = (leading.single(), joins, &all[..]) {
        return sum(
            Binary::Add,
            [&Value::Products(other.clone()), &Value::float(DType::F32, leading.to_f32(flush))],
            None,
            flush,
        );
    }
    Value::Products(all.into_iter().fold(leading, Products::then))
}

fn round_one(product: f64, flush: bool) -> f32 {
    if flush { flush_f32(product as f32) } else { product as f32 }
}
