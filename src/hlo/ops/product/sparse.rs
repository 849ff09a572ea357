//! Operands of a convolution that have one element of each block of a dim, and its place in the block (FACTS 7.6).

use crate::builder::array_operation::{compare, select};
use crate::builder::fill::integer;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::fields::fields;
use crate::ir::{Compare, Op, ValueId};

type Result<T> = std::result::Result<T, LowerError>;

/// The attribute that describes sparse operands.
const CONFIG: &str = "sparsity_config";

/// Elements of a block at most: each of them is an array of its own.
const BLOCK: usize = 4096;

/// The operands with all elements of each block, zeros between those that are given. A place outside of its block gives zeros
/// (modelling choice: XLA refuses it when it runs).
pub fn with_all_elements(e: &mut Emitter, operands: Vec<Value>) -> Result<Vec<Value>> {
    let Some(text) = e.attributes().inside_braces(CONFIG)? else { return Ok(operands) };
    let sides: Vec<(String, String)> = fields(&text, ' ').map(|(side, config)| (side.into(), config.into())).collect();
    let mut all = operands;
    for (side, config) in sides {
        let place = ["lhs", "rhs"].iter().position(|name| *name == side);
        let operand = place.and_then(|place| all.get_mut(place));
        match operand {
            Some(operand) => {
                if let Value::Tuple(parts) = operand {
                    let [Value::Array(values), Value::Array(places)] = parts[..] else {
                        return Err(e.refuse(CONFIG, "a sparse operand is a tuple of its elements and their places"));
                    };
                    *operand = Value::Array(spread(e, values, places, &config)?);
                }
            }
            None => return Err(e.refuse(CONFIG, format!("`{side}` is neither lhs nor rhs"))),
        }
    }
    Ok(all)
}

/// One operand: `{sparsity=1x4 dimension=0 stride=1}` has one element of each four along dim 0, which lie side by side.
fn spread(e: &mut Emitter, values: ValueId, places: ValueId, config: &str) -> Result<ValueId> {
    let inside = config.trim_start_matches('{').trim_end_matches('}');
    let field = |name: &str| fields(inside, ' ').find(|(key, _)| *key == name).map(|(_, value)| value);
    let block = field("sparsity").and_then(|blocks| blocks.split_once('x')).filter(|(given, _)| *given == "1");
    let block: Option<usize> = block.and_then(|(_, block)| block.parse().ok()).filter(|n| (1..=BLOCK).contains(n));
    let (Some(block), Some("1")) = (block, field("stride")) else {
        let why = format!("{config}: one element of each block of {BLOCK} at most, side by side, is supported");
        return Err(e.unknown_at(CONFIG, why));
    };
    let (shape, index) = (e.shape(values).clone(), e.shape(places).clone());
    let dim: Option<usize> =
        field("dimension").and_then(|dim| dim.parse().ok()).filter(|dim| *dim < shape.dims().len());
    let (Some(dim), true, Some(dtype)) = (dim, index.dims() == shape.dims(), index.dtype().filter(|d| d.is_integer()))
    else {
        return Err(e.refuse(CONFIG, format!("{config}: {shape} with places {index} has no such blocks")));
    };
    let zeros = e.zeros(shape.element_type(), shape.dims())?;
    let beside = [&shape.dims()[..=dim], &[1], &shape.dims()[dim + 1..]].concat();
    let mut elements = Vec::with_capacity(block);
    for place in 0..block {
        let own = integer(e, dtype, place as i64, shape.dims())?;
        let is_here = compare(e, Compare::Eq, places, own)?;
        let element = select(e, is_here, values, zeros)?;
        elements.push(e.reshape(element, &beside)?);
    }
    let whole = if block == 1 { elements[0] } else { e.emit(Op::Concatenate { dim: dim + 1 }, elements, None)? };
    let mut dims = shape.dims().to_vec();
    dims[dim] *= block;
    e.reshape(whole, &dims)
}
