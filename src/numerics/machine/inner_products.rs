//! Terms of several products that join a sum one after the other ([`crate::xla_cpu::find_inner_products`]): the products, that
//! which joins first in front.

use crate::ir::{Binary, Op, Unary};
use crate::tensor::DType;
use crate::xla_cpu::Inner;

use super::contract;
use super::evaluate::Machine;
use super::summation::{Summation, sums_as_compiled};
use super::value::{Operand, Value};

/// The value of an operation within such a term; `None`, and the operands as they were, if it is none.
pub fn value(
    machine: &Machine,
    (inner, op): (Option<Inner>, &Op),
    operands: &mut Vec<Operand>,
    count: usize,
) -> Option<Value> {
    let products = |operand: &Operand| matches!(operand.elements(), Value::Double(_) | Value::Tuple(_));
    let negates = *op == Op::Unary(Unary::Negate) && matches!(operands[0].elements(), Value::Tuple(_));
    let is_own = match inner? {
        Inner::Sum(_) => operands.iter().all(products),
        Inner::Moved => negates,
        Inner::Product => false,
    };
    if !is_own {
        return None;
    }
    let mut operands: Vec<Value> = operands.drain(..).map(|operand| operand.into_whole(count)).collect();
    let Some(Inner::Sum(first)) = inner else {
        let parts = operands.into_iter().flat_map(Value::into_parts);
        return Some(Value::Tuple(parts.map(|products| machine.unary(Unary::Negate, None, products)).collect()));
    };
    let first = operands.swap_remove(first).into_parts();
    if let ([product], false) = (&first[..], sums_as_compiled(machine.mode)) {
        let flush = machine.unit.flush;
        let rounded = Value::float(DType::F32, contract::round(product.f64s(), flush));
        return Some(contract::sum(Binary::Add, [&operands[0], &rounded], None, flush));
    }
    Some(Value::Tuple(first.into_iter().chain(operands).collect()))
}

/// The f32 sums of such terms.
pub fn sums(products: &[Value], summation: &Summation, init: f32) -> Vec<f32> {
    let count = products.first().map_or(0, Value::len);
    let joined: Vec<f64> = (0..count).flat_map(|at| products.iter().map(move |products| products.f64s()[at])).collect();
    let terms: Vec<&[f64]> = joined.chunks(products.len().max(1)).collect();
    summation.of_products(&terms, init)
}
