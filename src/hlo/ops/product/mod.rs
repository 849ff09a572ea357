//! Products of arrays: dots, ragged dots, scaled dots and convolutions, all of which become dots.

mod convolution;
pub mod scaled;
pub mod sparse;

use std::sync::Arc;

use crate::ir::{Binary, Compare, CompareOrder, Convolution, DotDims, LibraryFunction, Op, Precision, Shape, ValueId};
use crate::tensor::{DType, Data, Tensor};

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::opcode::Product;
use crate::view::WindowSpec;

type Result<T> = std::result::Result<T, LowerError>;

/// The two operands of an operation that has two.
fn pair(e: &Emitter, operands: &[ValueId]) -> Result<[ValueId; 2]> {
    operands.try_into().map_err(|_| e.fail(format!("two operands are needed, {} are given", operands.len())))
}

/// Operand precision of a product: the one asked for each operand, and whether both are rounded to bf16 first.
type OperandPrecision = ([Precision; 2], bool);

/// Operand precision that the operation's attributes ask for. A compiled file without plans for a matrix unit
/// is a CPU's: f32 operands are taken as they are, whatever algorithm was asked for.
fn passes(e: &Emitter) -> Result<OperandPrecision> {
    let attributes = e.attributes();
    let known = [Precision::Default, Precision::High, Precision::Highest];
    let mut precision = [Precision::Default; 2];
    for (slot, word) in precision.iter_mut().zip(attributes.words("operand_precision")?.unwrap_or_default()) {
        let found = known.into_iter().find(|p| p.name().eq_ignore_ascii_case(word));
        *slot = found.ok_or_else(|| e.refuse("operand_precision", format!("unknown operand_precision `{word}`")))?;
    }
    match attributes.word("algorithm") {
        None | Some("dot_unset" | "unset") => Ok((precision, false)),
        Some("dot_bf16_bf16_f32") => Ok(([Precision::Default; 2], !e.lowering.is_code)),
        Some("dot_bf16_bf16_f32_x3") => Ok(([Precision::High; 2], false)),
        Some("dot_bf16_bf16_f32_x6") => Ok(([Precision::Highest; 2], false)),
        Some(other) => {
            let known = "dot_bf16_bf16_f32, dot_bf16_bf16_f32_x3 and dot_bf16_bf16_f32_x6";
            Err(e.unknown_at("algorithm", format!("algorithm `{other}` is not supported; a TPU has {known}")))
        }
    }
}

/// Lowers a sum of products.
pub fn lower(e: &mut Emitter, product: Product, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    match product {
        Product::Convolution => convolution(e, operands, claimed),
        Product::Dot => dot(e, operands, claimed),
        Product::RaggedDot => ragged_dot(e, operands, claimed),
        Product::ScaledDot => scaled::scaled_dot(e, operands, claimed),
    }
}

/// The dims of a dot, by its attributes.
fn dot_dims(e: &Emitter) -> Result<DotDims> {
    let attributes = e.attributes();
    Ok(DotDims {
        lhs_contracting: attributes.numbers("lhs_contracting_dims")?,
        rhs_contracting: attributes.numbers("rhs_contracting_dims")?,
        lhs_batch: attributes.numbers("lhs_batch_dims")?,
        rhs_batch: attributes.numbers("rhs_batch_dims")?,
    })
}

fn dot(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let dims = dot_dims(e)?;
    let [lhs, rhs] = pair(e, &operands)?;
    let passes = passes(e)?;
    product(e, dims, [lhs, rhs], passes, Some(claimed))
}

/// A dot of two operands, rounded to bf16 first where the algorithm says so. Compiled programs mix float types, mask with
/// predicates and multiply by quantised integers: the operands are widened to one float type, exactly. Those of a dot of
/// integers, and the predicates that mask them, are widened to the result's type, which it accumulates in; if that is a float,
/// integers of 8 bits and fewer accumulate in s32, as a matrix unit does, and the sum is rounded. A dot that gives predicates says
/// whether any two of them meet: their number in s32 is not 0 (FACTS 7.6).
fn product(
    e: &mut Emitter,
    dims: DotDims,
    mut operands: [ValueId; 2],
    (mut precision, rounds): OperandPrecision,
    shape: Option<Shape>,
) -> Result<ValueId> {
    let dtype_of = |e: &Emitter, id: ValueId| e.shape(id).dtype();
    if rounds {
        for operand in &mut operands {
            *operand = e.convert(*operand, DType::BF16)?;
        }
    }
    let given = shape.as_ref().and_then(Shape::dtype);
    let dtypes = operands.map(|operand| dtype_of(e, operand));
    let is_whole = |dtype: Option<DType>| dtype.is_some_and(|dtype| dtype.is_integer() || dtype == DType::Pred);
    let is_short = |dtype: Option<DType>| dtype.is_some_and(|dtype| dtype == DType::Pred || dtype.bits() <= 8);
    let gives_float = given.is_some_and(DType::is_float);
    if dtypes.into_iter().all(is_whole) && (!gives_float || dtypes.into_iter().all(is_short)) {
        let sum = given.filter(|dtype| dtype.is_integer()).unwrap_or(DType::S32);
        for operand in &mut operands {
            *operand = e.convert(*operand, sum)?;
        }
        let summed = shape.as_ref().map(|shape| shape.with_dtype(sum));
        let result = e.emit(Op::Dot { dims, precision }, operands.to_vec(), summed)?;
        return given.map_or(Ok(result), |given| e.convert(result, given));
    }
    let float = dtypes.into_iter().flatten().find(|dtype| dtype.is_float()).or(given);
    for (operand, precision) in operands.iter_mut().zip(&mut precision) {
        let (Some(float), dtype) = (float, dtype_of(e, *operand)) else { continue };
        // An integer of 8 bits is a number of any format with as many, sign included; a wider one is one of f32, or of the
        // result's type if that is wider, and taken whole (FACTS 9).
        let holds = float.format().is_some_and(|format| format.fraction_bits >= 7);
        if is_whole(dtype) && is_short(dtype) && holds || dtype == Some(DType::Pred) {
            *operand = e.convert(*operand, float)?;
        } else if is_whole(dtype) {
            let wide = given.filter(|given| given.is_float() && given.bits() >= 32).unwrap_or(DType::F32);
            *operand = e.convert(*operand, wide)?;
            *precision = Precision::Highest;
        }
    }
    e.widest(&mut operands)?;
    e.emit(Op::Dot { dims, precision }, operands.to_vec(), shape)
}

fn convolution(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let groups = |name: &str| if attributes.find(name).is_some() { attributes.number(name) } else { Ok(1) };
    let groups = [groups("feature_group_count")?, groups("batch_group_count")?];
    let [mut lhs, mut rhs] = pair(e, &operands)?;
    let labels = attributes.word("dim_labels").ok_or_else(|| e.fail("the attribute dim_labels is missing"))?;
    let window = attributes.window("window")?;
    let as_dot = convolution::as_dot(labels, &window, groups, e.shape(lhs).dims(), e.shape(rhs).dims());
    let as_dot = as_dot.map_err(|why| e.refuse(why.attribute(), why))?;
    let described = describe(e.shape(lhs).dims(), &as_dot, labels, &window, groups);
    for (dim, window) in &as_dot.windows {
        lhs = lay_out(e, lhs, *dim, window)?;
    }
    if !as_dot.reversed.is_empty() {
        rhs = e.emit(Op::Reverse { dims: as_dot.reversed }, vec![rhs], None)?;
    }
    let mut sides = [lhs, rhs];
    for (side, dims) in sides.iter_mut().zip(&as_dot.reshaped) {
        *side = e.reshape(*side, dims)?;
    }
    // A result may be wider than its operands.
    let result = claimed.dtype().map(|dtype| Shape::array(dtype, &as_dot.given));
    let passes = passes(e)?;
    let mut result = product(e, as_dot.dims, sides, passes, result)?;
    if e.lowering.libraries {
        e.body.instructions[result]
            .record(|compiled| compiled.library = Some(Arc::new(LibraryFunction::Convolution(described))));
    }
    if !as_dot.permutation.is_sorted() {
        result = e.emit(Op::Transpose { permutation: as_dot.permutation }, vec![result], None)?;
    }
    e.reshape(result, &as_dot.output)
}

/// Properties of a convolution that its dot does not show.
fn describe(
    dims: &[usize],
    as_dot: &convolution::AsDot,
    labels: &str,
    window: &[WindowSpec],
    [features, batches]: [usize; 2],
) -> Convolution {
    let (input, output) = labels.split_once("->").unwrap_or_default();
    let size = |label: char| input.chars().position(|c| c == label).and_then(|at| dims.get(at)).copied().unwrap_or(1);
    let last = char::from_digit(window.len().saturating_sub(1) as u32, 10);
    let row = output.chars().position(|c| Some(c) == last).and_then(|at| as_dot.output.get(at)).copied();
    let dilated = window.iter().any(|w| w.lhs_dilate > 1);
    let plain = window.iter().all(|w| w.stride == 1 && w.rhs_dilate == 1);
    Convolution {
        taps: window.iter().map(|w| w.size).product(),
        row: row.unwrap_or(1),
        canonical: (1..=2).contains(&window.len()) && batches == 1 && window.iter().all(|w| !w.reversed),
        transposed: dilated && plain && features == 1,
        inputs: size('b')
            * (0..window.len()).filter_map(|d| char::from_digit(d as u32, 10)).map(size).product::<usize>(),
    }
}

/// Elements that a window shows along a dim at most: each of them is an array of its own.
const SHOWN: usize = 4096;

/// The elements under a window that moves along `dim`: the dim has the window's positions then, and a new last one the
/// elements under it.
fn lay_out(e: &mut Emitter, value: ValueId, dim: usize, window: &WindowSpec) -> Result<ValueId> {
    let rank = e.shape(value).dims().len();
    let at_dim = |given: i64| (0..rank).map(|d| if d == dim { given } else { 0 }).collect::<Vec<_>>();
    let dtype = e.shape(value).element_type();
    let zero = e.zero(dtype)?;
    let interior = at_dim(window.lhs_dilate as i64 - 1).into_iter().map(|n| n.max(0) as usize).collect();
    let pad = Op::Pad { low: at_dim(window.pad.0), high: at_dim(window.pad.1), interior };
    let padded = e.emit(pad, vec![value, zero], None)?;
    let dims = e.shape(padded).dims().to_vec();
    if window.size > SHOWN {
        return Err(
            e.unknown_at("window", format!("a window of {SHOWN} elements along a dim at most is supported here"))
        );
    }
    let reach = window.size.saturating_sub(1).saturating_mul(window.rhs_dilate);
    if reach >= dims[dim] || window.rhs_dilate == 0 || window.stride == 0 {
        return Err(e.refuse("window", format!("the window has no place in {}", e.shape(padded))));
    }
    let mut columns = Vec::with_capacity(window.size);
    for offset in (0..=reach).step_by(window.rhs_dilate) {
        let (mut start, mut limit, mut stride) = (vec![0; rank], dims.clone(), vec![1; rank]);
        (start[dim], limit[dim], stride[dim]) = (offset, dims[dim] - reach + offset, window.stride);
        let column = e.emit(Op::Slice { start, limit, stride }, vec![padded], None)?;
        let positions = e.shape(column).dims().to_vec();
        columns.push(e.reshape(column, &[positions, vec![1]].concat())?);
    }
    if columns.len() == 1 { Ok(columns[0]) } else { e.emit(Op::Concatenate { dim: rank }, columns, None) }
}

/// Rows in groups, each of which meets a matrix of its own (`ragged-dot`): [m,k] x [g,k,n], or with the ragged dim
/// contracted [m,k] x [k,n], a product for each group. As XLA expands it: the left operand once for each group, with zeros
/// outside of the group. Rows beyond all groups give zeros.
fn ragged_dot(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let [lhs, rhs, sizes]: [ValueId; 3] =
        operands.try_into().map_err(|_| e.fail("three operands are needed: two arrays and the groups' sizes"))?;
    let numbers = |name: &str| attributes.numbers(name);
    let (ragged, groups_dim) = (numbers("lhs_ragged_dims")?, numbers("rhs_group_dims")?);
    let (contracting, others) = (numbers("lhs_contracting_dims")?, numbers("rhs_contracting_dims")?);
    let ranks = [lhs, rhs, sizes].map(|id| e.shape(id).dims().len());
    let dims = match (&ragged[..], &groups_dim[..], &contracting[..], &others[..], ranks) {
        // The masked operand is [g,m,k].
        ([0], [group], [1], [k], [2, 3, 1]) => {
            DotDims { lhs_contracting: vec![0, 2], rhs_contracting: vec![*group, *k], ..DotDims::default() }
        }
        ([ragged], [], [same], [k], [2, 2, 1]) if ragged == same => {
            DotDims { lhs_contracting: vec![*ragged + 1], rhs_contracting: vec![*k], ..DotDims::default() }
        }
        _ => {
            let why =
                "only [m,k] x [g,k,n] with ragged rows and [m,k] x [k,n] with a ragged contracted dim are supported";
            return Err(e.unknown_at("lhs_ragged_dims", why));
        }
    };
    let passes = passes(e)?;
    over_groups(e, [lhs, rhs, sizes], ragged[0], dims, passes, claimed)
}

/// The sums of all integers of a vector up to each.
pub fn running_sums(e: &mut Emitter, vector: ValueId) -> Result<ValueId> {
    let (count, index) = (e.shape(vector).elements(), e.shape(vector).element_type());
    let until: Vec<i64> = (0..count * count).map(|at| i64::from(at / count <= at % count)).collect();
    let until = Data::from_i64s(index, &until).ok_or_else(|| e.fail("the groups' sizes are no integers"))?;
    let until = e.emit(Op::Constant(Tensor::new(&[count, count], until)), vec![], None)?;
    let sum = DotDims { lhs_contracting: vec![0], rhs_contracting: vec![0], ..DotDims::default() };
    let sum = Op::Dot { dims: sum, precision: [Precision::Default; 2] };
    e.emit(sum, vec![vector, until], Some(Shape::array(index, &[count])))
}

/// The product of a matrix whose dim `ragged` is in groups of these sizes; `dims` are those of the left operand with a first dim
/// for the groups.
pub fn over_groups(
    e: &mut Emitter,
    [lhs, rhs, sizes]: [ValueId; 3],
    ragged: usize,
    dims: DotDims,
    passes: OperandPrecision,
    claimed: Shape,
) -> Result<ValueId> {
    let (groups, index) = (e.shape(sizes).elements(), e.shape(sizes).element_type());
    let masked = [vec![groups], e.shape(lhs).dims().to_vec()].concat();
    let ends = running_sums(e, sizes)?;
    let starts = e.emit(Op::Binary(Binary::Subtract), vec![ends, sizes], None)?;
    let over = |dtype: DType| Some(Shape::array(dtype, &masked));
    let place = e.emit(Op::Iota { dim: ragged + 1 }, vec![], over(index))?;
    let mut inside = |edge: ValueId, direction: Compare| {
        let edge = e.emit(Op::Broadcast { dims: vec![0] }, vec![edge], over(index))?;
        e.emit(Op::Compare { direction, order: CompareOrder::Partial }, vec![place, edge], None)
    };
    let both = vec![inside(starts, Compare::Ge)?, inside(ends, Compare::Lt)?];
    let inside = e.emit(Op::Binary(Binary::And), both, None)?;
    let dtype = e.shape(lhs).element_type();
    let rows = e.emit(Op::Broadcast { dims: vec![1, 2] }, vec![lhs], over(dtype))?;
    let zeros = e.zeros(dtype, &masked)?;
    let lhs = e.emit(Op::Select, vec![inside, rows, zeros], None)?;
    product(e, dims, [lhs, rhs], passes, Some(claimed))
}
