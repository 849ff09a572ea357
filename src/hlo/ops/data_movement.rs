//! Elements at other places, by what the text says: broadcasts, slices, pads, transposes and their like.

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{Op, Shape, ValueId};
use crate::opcode::Movement;
use crate::tensor::{DType, Data, Tensor};

use super::mixed_types::in_type_of;

type Result<T> = std::result::Result<T, LowerError>;

/// Elements moved to places that the text says.
pub fn lower(e: &mut Emitter, movement: Movement, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let op = match movement {
        Movement::Broadcast => return broadcast(e, operands, claimed),
        Movement::GetDimensionSize => return own_size(e, &operands, claimed),
        Movement::SetDimensionSize => return given_size(e, &operands),
        Movement::Iota => {
            let op = Op::Iota { dim: attributes.number("iota_dimension")? };
            return e.emit(op, operands, Some(claimed));
        }
        Movement::Concatenate => Op::Concatenate { dim: e.attributes().one_number("dimensions")? },
        Movement::Pad => {
            let padding = attributes.padding("padding")?;
            Op::Pad {
                low: padding.iter().map(|p| p.0).collect(),
                high: padding.iter().map(|p| p.1).collect(),
                interior: padding.iter().map(|p| p.2).collect(),
            }
        }
        Movement::Reshape => Op::Reshape,
        Movement::Reverse => Op::Reverse { dims: attributes.numbers("dimensions")? },
        Movement::Slice => {
            let ranges = attributes.ranges("slice")?;
            let part = |i: usize| ranges.iter().map(|r| r[i]).collect();
            Op::Slice { start: part(0), limit: part(1), stride: part(2) }
        }
        Movement::Transpose => Op::Transpose { permutation: attributes.numbers("dimensions")? },
    };
    // XLA lets operands be of several float types, and takes the widest.
    if matches!(movement, Movement::Concatenate | Movement::Pad) {
        e.widest(&mut operands)?;
    }
    let claimed = in_type_of(e, &operands, claimed);
    e.emit(op, operands, Some(claimed))
}

/// The size of a dim, which is the one in its shape: none changes while a program runs.
fn size(e: &Emitter, operands: &[ValueId]) -> Result<(ValueId, usize)> {
    let (dim, array) = (
        e.attributes().one_number("dimensions")?,
        operands.first().copied().ok_or_else(|| e.fail("an array is needed"))?,
    );
    let size = e.shape(array).dims().get(dim).copied();
    let size = size.ok_or_else(|| e.refuse("dimensions", format!("{} has no dim {dim}", e.shape(array))))?;
    Ok((array, size))
}

/// `get-dimension-size`.
fn own_size(e: &mut Emitter, operands: &[ValueId], claimed: Shape) -> Result<ValueId> {
    let (_, size) = size(e, operands)?;
    let size = Data::from_i64s(DType::S32, &[size as i64]).ok_or_else(|| e.fail("a size beyond s32"))?;
    e.emit(Op::Constant(Tensor::new(&[], size)), vec![], Some(claimed))
}

/// `set-dimension-size`, of the size that the dim has.
fn given_size(e: &mut Emitter, operands: &[ValueId]) -> Result<ValueId> {
    let (array, size) = size(e, operands)?;
    let given = operands.get(1).map(|given| &e.body.instructions[*given].op);
    match given {
        Some(Op::Constant(given)) if given.data().to_i64s().first() == Some(&(size as i64)) => {
            e.emit(Op::Copy, vec![array], None)
        }
        _ => Err(e.unknown(format!("a size other than the shape's {size} is not supported"))),
    }
}

/// A broadcast whose dims are not ascending transposes as well.
fn broadcast(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let dims = e.attributes().numbers("dimensions")?;
    let mut operand = e.single(&operands)?;
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|i| dims[*i]);
    if !order.is_sorted() && order.len() == e.shape(operand).dims().len() {
        operand = e.emit(Op::Transpose { permutation: order.clone() }, vec![operand], None)?;
    }
    let dims = order.iter().map(|i| dims[*i]).collect();
    let claimed = in_type_of(e, &[operand], claimed);
    e.emit(Op::Broadcast { dims }, vec![operand], Some(claimed))
}
