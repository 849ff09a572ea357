//! Products of arrays in blocks that share scales: `scaled-dot`, and the custom calls of JAX and of XLA's GPU backend for it.
//!
//! XLA expands all of them alike where no library has them: elements and scales are converted to one type and multiplied, and a dot
//! of these follows. Sources: openxla/xla `service/gpu/transforms/block_scaling_rewriter.cc`, jax `_src/lax/scaled_dot.py` (FACTS 11.5).

use crate::ir::{Binary, DotDims, Op, Shape, ValueId};
use crate::tensor::DType;

use crate::builder::Emitter;
use crate::error::LowerError;

use super::{dot_dims, passes, product};

type Result<T> = std::result::Result<T, LowerError>;

/// Custom calls of dots in blocks, with what is known of their operands.
pub const TARGETS: &[&str] = &["ScaledMatmul", "__cudnn$blockScaledDot", "__op$block_scaled_dot"];

/// Rows and columns of the tiles that cuDNN has scales in.
const TILE: [usize; 2] = [128, 4];

/// `scaled-dot`: elements and scales are multiplied in bf16, as JAX's composite `xla.scaled_dot` has it.
pub(super) fn scaled_dot(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let dims = dot_dims(e)?;
    let [lhs, rhs, lhs_scale, rhs_scale] = four(e, operands)?;
    let lhs = dequantized(e, lhs, lhs_scale, DType::BF16)?;
    let rhs = dequantized(e, rhs, rhs_scale, DType::BF16)?;
    let passes = passes(e)?;
    product(e, dims, [lhs, rhs], passes, Some(claimed))
}

/// A custom call of [`TARGETS`]: [m,k] x [n,k], or a batch of them, with a scale for each block of k of each row. Elements and scales are
/// multiplied in the type of the result.
pub fn custom_call(e: &mut Emitter, target: &str, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let [lhs, rhs, mut lhs_scale, mut rhs_scale] = four(e, operands)?;
    let result = match &claimed {
        Shape::Tuple(parts) => parts.first().cloned().unwrap_or_else(|| claimed.clone()),
        array => array.clone(),
    };
    let wide = result.dtype().filter(|dtype| dtype.is_float());
    let wide = wide.ok_or_else(|| e.fail(format!("{target} gives an array of floats, not {result}")))?;
    if target == "__cudnn$blockScaledDot" {
        lhs_scale = in_rows(e, lhs_scale, lhs)?;
        rhs_scale = in_rows(e, rhs_scale, rhs)?;
    }
    let rank = e.shape(lhs).dims().len();
    if !(rank == 2 || rank == 3) || e.shape(rhs).dims().len() != rank {
        let (lhs, rhs) = (e.shape(lhs), e.shape(rhs));
        return Err(e.fail(format!("{target} takes [m,k] and [n,k], or a batch of both, not {lhs} and {rhs}")));
    }
    let lhs = dequantized(e, lhs, lhs_scale, wide)?;
    let rhs = dequantized(e, rhs, rhs_scale, wide)?;
    let batch: Vec<usize> = (0..rank - 2).collect();
    let dims = DotDims {
        lhs_contracting: vec![rank - 1],
        rhs_contracting: vec![rank - 1],
        lhs_batch: batch.clone(),
        rhs_batch: batch,
    };
    let passes = passes(e)?;
    let dot = product(e, dims, [lhs, rhs], passes, Some(result))?;
    let Shape::Tuple(parts) = &claimed else { return Ok(dot) };
    let mut values = vec![dot];
    for memory in &parts[1..] {
        // Memory that the library works in.
        let dtype = memory.dtype().ok_or_else(|| e.fail(format!("{target} works in arrays, not in {memory}")))?;
        values.push(e.zeros(dtype, memory.dims())?);
    }
    e.emit(Op::Tuple, values, Some(claimed.clone()))
}

/// Two arrays and their scales.
fn four(e: &Emitter, operands: Vec<ValueId>) -> Result<[ValueId; 4]> {
    let given = operands.len();
    operands.try_into().map_err(|_| {
        e.fail(format!("four operands are needed, {given} are given: two arrays, then the scales of each"))
    })
}

/// Elements times their scales, both converted to `wide`: along each dim the scales are as many as the elements, or divide them. XLA's
/// verifier wants the same of `scaled-dot` (jaxlib 0.10.2: "should be a multiple of dimension %d of scale operand"; FACTS 11.5).
fn dequantized(e: &mut Emitter, elements: ValueId, scale: ValueId, wide: DType) -> Result<ValueId> {
    let dims = e.shape(elements).dims().to_vec();
    let counts = e.shape(scale).dims().to_vec();
    let fits = |(extent, count): (&usize, &usize)| *count > 0 && extent % count == 0;
    let is_scalar = counts.is_empty();
    if !is_scalar && (counts.len() != dims.len() || !dims.iter().zip(&counts).all(fits)) {
        let (elements, scale) = (e.shape(elements), e.shape(scale));
        return Err(e.fail(format!(
            "scales {scale} are not one for each block of {elements}: XLA takes elements whose extents are multiples of the \
             scales' and refuses others. A ragged last block needs zeros behind it"
        )));
    }
    let elements = e.convert(elements, wide)?;
    let mut scale = e.convert(scale, wide)?;
    if is_scalar {
        scale = e.emit(Op::Broadcast { dims: vec![] }, vec![scale], Some(Shape::array(wide, &dims)))?;
    } else {
        for dim in 0..dims.len() {
            let mut spread = e.shape(scale).dims().to_vec();
            let block = dims[dim] / counts[dim];
            if block == 1 {
                continue;
            }
            let along = (0..=dim).chain(dim + 2..=dims.len()).collect();
            spread.insert(dim + 1, block);
            scale = e.emit(Op::Broadcast { dims: along }, vec![scale], Some(Shape::array(wide, &spread)))?;
            spread.remove(dim + 1);
            spread[dim] = dims[dim];
            scale = e.reshape(scale, &spread)?;
        }
    }
    e.emit(Op::Binary(Binary::Multiply), vec![elements, scale], None)
}

/// Scales row by row from cuDNN's tiles of 128 x 4, in which XLA lays them out and pads them: [N*128, C*4] stands for
/// [N, 4, 32, C, 4] in the order [N, C, 32, 4, 4].
fn in_rows(e: &mut Emitter, scale: ValueId, elements: ValueId) -> Result<ValueId> {
    let (dims, of_elements) = (e.shape(scale).dims().to_vec(), e.shape(elements).dims().to_vec());
    // The formats that cuDNN has: a scale of e8m0 for 32 elements (MX), of e4m3 for 16 (NVFP4).
    let block = if e.shape(scale).dtype() == Some(DType::F8E8M0FNU) { 32 } else { 16 };
    let rank = dims.len();
    let is_tiled = rank >= 2
        && rank == of_elements.len()
        && dims[rank - 2].is_multiple_of(TILE[0])
        && dims[rank - 1].is_multiple_of(TILE[1]);
    let blocks = of_elements.last().map_or(0, |k| k.div_ceil(block));
    if !is_tiled || dims[rank - 2] < of_elements[rank - 2] || dims[rank - 1] < blocks {
        let (scale, elements) = (e.shape(scale), e.shape(elements));
        return Err(e.fail(format!("scales {scale} of {elements} are not in tiles of 128 x 4, as cuDNN takes them")));
    }
    let batch: usize = dims[..rank - 2].iter().product();
    let (n, c) = (dims[rank - 2] / TILE[0], dims[rank - 1] / TILE[1]);
    let tiles = e.reshape(scale, &[batch, n, c, 32, 4, 4])?;
    let rows = e.emit(Op::Transpose { permutation: vec![0, 1, 4, 3, 2, 5] }, vec![tiles], None)?;
    let rows = e.reshape(rows, &dims)?;
    let mut limit = of_elements;
    limit[rank - 1] = blocks;
    e.emit(Op::Slice { start: vec![0; rank], limit, stride: vec![1; rank] }, vec![rows], None)
}
