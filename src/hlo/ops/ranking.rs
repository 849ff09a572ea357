//! Elements in order: `sort` and `topk`.

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{Op, Shape, ValueId};
use crate::opcode::Ranking;

use super::mixed_types::over_region;

type Result<T> = std::result::Result<T, LowerError>;

/// Elements in order.
pub fn lower(e: &mut Emitter, ranking: Ranking, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    match ranking {
        Ranking::Sort => {
            let (dim, stable) = (e.attributes().one_number("dimensions")?, attributes.flag("is_stable")?);
            // Two parameters for each operand: the elements compared.
            let parameter = |operand| Some(2 * operand);
            over_region(e, operands, "to_apply", parameter, |to_apply| Op::Sort { dim, stable, to_apply })
        }
        Ranking::TopK => {
            let op = Op::TopK { k: attributes.number("k")?, largest: attributes.flag("largest")? };
            e.emit(op, operands, Some(claimed))
        }
    }
}
