//! Functions of elements.

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, CompareOrder, Op, Shape, ValueId};
use crate::opcode::Elementwise;
use crate::tensor::DType;

use super::random::stochastic_convert;

type Result<T> = std::result::Result<T, LowerError>;

/// A function of two operands, in the widest of their float types.
pub fn of_two(e: &mut Emitter, binary: Binary, mut operands: Vec<ValueId>) -> Result<ValueId> {
    e.widest(&mut operands)?;
    let of_predicates = operands.iter().all(|o| e.shape(*o).dtype() == Some(DType::Pred));
    // Sums and products of predicates, as the TPU compiler puts padded parts together (XLA's evaluator).
    let binary = match binary {
        Binary::Add if of_predicates => Binary::Or,
        Binary::Multiply if of_predicates => Binary::And,
        _ => binary,
    };
    e.emit(Op::Binary(binary), operands, None)
}

/// The order that a comparison is in: `order=TOTAL`, as jax 0.12 writes it, or `type=TOTALORDER`, as releases before it do.
fn compare_order(e: &Emitter) -> Result<CompareOrder> {
    let attributes = e.attributes();
    match (attributes.word("order"), attributes.word("type")) {
        (Some("TOTAL"), _) | (None, Some("TOTALORDER")) => Ok(CompareOrder::Total),
        (Some("PARTIAL") | None, _) => Ok(CompareOrder::Partial),
        (Some(order), _) => Err(e.refuse("order", format!("unknown order `{order}`; known are PARTIAL and TOTAL"))),
    }
}

/// Another function of elements.
pub fn lower(e: &mut Emitter, function: Elementwise, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    match function {
        Elementwise::Clamp => {
            e.widest(&mut operands)?;
            e.emit(Op::Clamp, operands, None)
        }
        Elementwise::Compare => {
            let direction = attributes.word("direction").unwrap_or_default();
            let direction = Compare::from_name(direction)
                .ok_or_else(|| e.refuse("direction", format!("unknown direction `{direction}`")))?;
            let order = compare_order(e)?;
            e.emit(Op::Compare { direction, order }, operands, Some(claimed))
        }
        Elementwise::Convert => e.emit(Op::Convert, operands, Some(claimed)),
        Elementwise::ReducePrecision => {
            let bits = |name| attributes.number(name).map(|n| n as u32);
            let op =
                Op::ReducePrecision { exponent_bits: bits("exponent_bits")?, mantissa_bits: bits("mantissa_bits")? };
            e.emit(op, operands, Some(claimed))
        }
        Elementwise::StochasticConvert => stochastic_convert::lower(e, &operands, &claimed),
        Elementwise::Select if operands.len() == 3 => {
            e.widest(&mut operands[1..])?;
            e.emit(Op::Select, operands, None)
        }
        Elementwise::Select => e.emit(Op::Select, operands, Some(claimed)),
    }
}
