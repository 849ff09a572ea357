//! A matrix product whose elements share scales by blocks of the sum.

use crate::ir::{Binary, Builder, DotDims, Op, Precision, Program, Shape, ShapeError, ValueId};
use crate::tensor::DType;

use super::piece::{cast, fill};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct ScaledDot;

impl BuiltIn for ScaledDot {
    fn name(&self) -> &'static str {
        "scaled_dot"
    }

    fn doc(&self) -> &'static str {
        "out = sum over blocks of scale_a scale_b (a . b), f32: a [rows, n] and b [n, columns] in blocks of n, scale_a [rows, blocks], \
         scale_b [blocks, columns]. order=tiles is that of TorchTPU 0.2.0 (blockwise_scaled_mm_kernel.py): in each tile of n a sum takes \
         ((dot * scale_a) * scale_b) block after block from 0, then the tiles' sums are added; order=flat has one tile; \
         order=dequantized multiplies elements by scales in f32 and is one dot at the mode's precision, as XLA expands \
         __op$block_scaled_dot with an f32 result; order=in_unit has the scales within the matrix unit, a modelling choice: elements times \
         scales are bf16, which holds them, a tile of these is one dot of the mode, and the tiles' sums are added as in order=tiles. A block's own dot is the mode's. The last block may be ragged. Rows are evaluated together."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            ParameterDoc {
                name: "elements",
                default: "f8e4m3fn",
                choices: &["f8e4m3fn", "f8e5m2", "f4e2m1fn", "s8"],
                doc: "type of a and b",
            },
            ParameterDoc {
                name: "scales",
                default: "f8e8m0fnu",
                choices: &["f8e8m0fnu", "f8e4m3fn", "bf16", "f32"],
                doc: "type of the scales",
            },
            ParameterDoc { name: "block", default: "32", choices: &[], doc: "elements of n that share a scale" },
            ParameterDoc {
                name: "tile",
                default: "512",
                choices: &[],
                doc: "elements of n that one sum takes, whole blocks; TorchTPU has 512 or 256",
            },
            ParameterDoc {
                name: "order",
                default: "tiles",
                choices: &["tiles", "flat", "dequantized", "in_unit"],
                doc: "the order of additions: by tiles, one sum of all blocks, one dot of dequantised numbers, or tiles with the scales within the unit",
            },
            ParameterDoc { name: "columns", default: "16", choices: &[], doc: "columns of b" },
            ParameterDoc {
                name: "out",
                default: "f32",
                choices: &["f32", "bf16"],
                doc: "type of the result, to which the last sum is rounded",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let (block, tile, columns) = (parameters.size("block")?, parameters.size("tile")?, parameters.size("columns")?);
        sized(&[("n", n), ("rows", rows), ("block", block), ("tile", tile), ("columns", columns)])?;
        let type_of = |key: &str| DType::from_name(parameters.text(key)).unwrap_or(DType::F32);
        let (elements, scales) = (type_of("elements"), type_of("scales"));
        let blocks = n.div_ceil(block);
        let mut b = Builder::new(self.name());
        let lhs = b.parameter("a", elements, &[rows, n])?;
        let rhs = b.parameter("b", elements, &[n, columns])?;
        let scale_a = b.parameter("scale_a", scales, &[rows, blocks])?;
        let scale_b = b.parameter("scale_b", scales, &[blocks, columns])?;
        let order = parameters.text("order");
        // A bf16 holds the product of an element and a scale of few bits.
        let wide = if order == "in_unit" { DType::BF16 } else { DType::F32 };
        let is_held = scales == DType::F8E8M0FNU || scales == DType::F8E4M3FN && elements != DType::S8;
        if order == "in_unit" && !is_held {
            return Err(BuildError::ScalesInUnit { elements, scales });
        }
        let scale_a = cast(&mut b, scale_a, wide)?;
        let scale_b = cast(&mut b, scale_b, wide)?;
        let out = match order {
            "dequantized" | "in_unit" => {
                let lhs = dequantized(&mut b, lhs, scale_a, 1, block)?;
                let rhs = dequantized(&mut b, rhs, scale_b, 0, block)?;
                let tile = (tile / block).clamp(1, blocks) * block;
                if order == "in_unit" {
                    in_unit(&mut b, lhs, rhs, tile)?
                } else {
                    b.matmul(lhs, rhs, Precision::Default, DType::F32)?
                }
            }
            _ => {
                let per_tile = if order == "flat" { blocks } else { (tile / block).clamp(1, blocks) };
                let tiles = blocks.div_ceil(per_tile);
                let terms = scaled_terms(&mut b, [lhs, rhs, scale_a, scale_b], block, tiles * per_tile)?;
                added_by_tiles(&mut b, terms, tiles, per_tile)?
            }
        };
        let out = cast(&mut b, out, type_of("out"))?;
        let out = b.rename(out, "out");
        Ok(b.finish(&[("out", out)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// `x` [p, q] in the type of the scales, each element times the scale of its block of `block` elements along `dim`.
fn dequantized(b: &mut Builder, x: ValueId, scale: ValueId, dim: usize, block: usize) -> Result<ValueId, ShapeError> {
    let dims = b.shape(x).dims().to_vec();
    let mut spread = b.shape(scale).dims().to_vec();
    let blocks = spread[dim];
    spread.insert(dim + 1, block);
    let along = if dim == 0 { [0, 2] } else { [0, 1] };
    let wide = b.broadcast(scale, &spread, &along)?;
    let mut flat = dims.clone();
    flat[dim] = blocks * block;
    let wide = b.reshape(wide, &flat)?;
    let slice = Op::Slice { start: vec![0, 0], limit: dims, stride: vec![1, 1] };
    let wide = b.op(slice, &[wide])?;
    let x = cast(b, x, b.shape(wide).element_type())?;
    b.binary(Binary::Multiply, x, wide)
}

/// `x` [p, q] with zeros behind it, `extent` elements along `dim`.
fn padded(b: &mut Builder, x: ValueId, dim: usize, extent: usize) -> Result<ValueId, ShapeError> {
    let missing = extent - b.shape(x).dims()[dim];
    if missing == 0 {
        return Ok(x);
    }
    let zero = b.constant(b.shape(x).element_type(), 0.0)?;
    let mut high = vec![0, 0];
    high[dim] = missing as i64;
    b.op(Op::Pad { low: vec![0, 0], high, interior: vec![0, 0] }, &[x, zero])
}

/// The dots of tiles of `tile` scaled numbers along K, each the unit's own, added in order from 0.
fn in_unit(b: &mut Builder, lhs: ValueId, rhs: ValueId, tile: usize) -> Result<ValueId, ShapeError> {
    let (rows, columns) = (b.shape(lhs).dims()[0], b.shape(rhs).dims()[1]);
    let tiles = b.shape(lhs).dims()[1].div_ceil(tile);
    let lhs = padded(b, lhs, 1, tiles * tile)?;
    let rhs = padded(b, rhs, 0, tiles * tile)?;
    let lhs = b.reshape(lhs, &[rows, tiles, tile])?;
    let rhs = b.reshape(rhs, &[tiles, tile, columns])?;
    let dims = DotDims { lhs_contracting: vec![2], rhs_contracting: vec![1], lhs_batch: vec![1], rhs_batch: vec![0] };
    let dot = Op::Dot { dims, precision: [Precision::Default; 2] };
    let sums = b.op_of_shape(dot, &[lhs, rhs], Shape::array(DType::F32, &[tiles, rows, columns]))?;
    added_by_tiles(b, sums, tiles, 1)
}

/// `(dot * scale_a) * scale_b` of each block, f32[blocks, rows, columns]; blocks that the operands lack are zeros.
fn scaled_terms(
    b: &mut Builder,
    [lhs, rhs, scale_a, scale_b]: [ValueId; 4],
    block: usize,
    blocks: usize,
) -> Result<ValueId, ShapeError> {
    let (rows, columns) = (b.shape(lhs).dims()[0], b.shape(rhs).dims()[1]);
    // Integers are added as wider integers.
    let is_integer = b.shape(lhs).dtype() == Some(DType::S8);
    let sums = if is_integer { DType::S32 } else { DType::F32 };
    let (lhs, rhs) = if is_integer { (cast(b, lhs, sums)?, cast(b, rhs, sums)?) } else { (lhs, rhs) };
    let lhs = padded(b, lhs, 1, blocks * block)?;
    let rhs = padded(b, rhs, 0, blocks * block)?;
    let (scale_a, scale_b) = (padded(b, scale_a, 1, blocks)?, padded(b, scale_b, 0, blocks)?);
    let lhs = b.reshape(lhs, &[rows, blocks, block])?;
    let rhs = b.reshape(rhs, &[blocks, block, columns])?;
    let dims = DotDims { lhs_contracting: vec![2], rhs_contracting: vec![1], lhs_batch: vec![1], rhs_batch: vec![0] };
    let whole = [blocks, rows, columns];
    let dot = Op::Dot { dims, precision: [Precision::Default; 2] };
    let dots = b.op_of_shape(dot, &[lhs, rhs], Shape::array(sums, &whole))?;
    let dots = cast(b, dots, DType::F32)?;
    let by_block = b.op(Op::Transpose { permutation: vec![1, 0] }, &[scale_a])?;
    let scale_a = b.broadcast(by_block, &whole, &[0, 1])?;
    let scale_b = b.broadcast(scale_b, &whole, &[0, 2])?;
    let product = b.binary(Binary::Multiply, dots, scale_a)?;
    b.binary(Binary::Multiply, product, scale_b)
}

/// Terms [tiles * per_tile, rows, columns] added in order from 0 within each tile, then the tiles' sums in order from 0.
fn added_by_tiles(b: &mut Builder, terms: ValueId, tiles: usize, per_tile: usize) -> Result<ValueId, ShapeError> {
    let [_, rows, columns] = b.shape(terms).dims()[..] else { return Ok(terms) };
    let terms = b.reshape(terms, &[tiles, per_tile, rows, columns])?;
    let mut sums = fill(b, DType::F32, 0.0, &[tiles, rows, columns])?;
    for at in 0..per_tile {
        let slice =
            Op::Slice { start: vec![0, at, 0, 0], limit: vec![tiles, at + 1, rows, columns], stride: vec![1, 1, 1, 1] };
        let term = b.op(slice, &[terms])?;
        let term = b.reshape(term, &[tiles, rows, columns])?;
        sums = b.binary(Binary::Add, sums, term)?;
    }
    let mut total = fill(b, DType::F32, 0.0, &[rows, columns])?;
    for at in 0..tiles {
        let slice = Op::Slice { start: vec![at, 0, 0], limit: vec![at + 1, rows, columns], stride: vec![1, 1, 1] };
        let sum = b.op(slice, &[sums])?;
        let sum = b.reshape(sum, &[rows, columns])?;
        total = b.binary(Binary::Add, total, sum)?;
    }
    Ok(total)
}
