//! Elements combined by a region: reductions of whole dims and of windows.

mod windows;

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{Op, Shape, ValueId};
use crate::opcode::Reduction;
use crate::ops::mixed_types::over_region;

type Result<T> = std::result::Result<T, LowerError>;

/// Elements combined by a region.
pub fn lower(e: &mut Emitter, reduction: Reduction, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    match reduction {
        Reduction::Reduce => {
            let dims = e.attributes().numbers("dimensions")?;
            over_region(e, operands, "to_apply", Some, |to_apply| Op::Reduce { dims, to_apply })
        }
        Reduction::ReduceWindow => windows::reduce(e, operands, claimed),
        Reduction::SelectAndScatter => windows::select_and_scatter(e, &operands),
    }
}
