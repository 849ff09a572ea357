//! Shape checking: the result's shape of an operation on operands of given shapes, or the reason why it has none.

use crate::num::Format;
use crate::tensor::DType;

use super::approx::{self, BinsError};
use super::dot_dims::DotDims;
use super::op::Op;
use super::program::{Computation, Shape};
use super::scalar_op::Unary;

/// Why an operation does not fit its operands. Completes "failed to build NAME: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(pub String);

impl From<BinsError> for ShapeError {
    fn from(error: BinsError) -> ShapeError {
        ShapeError(error.to_string())
    }
}

type Result<T> = std::result::Result<T, ShapeError>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition { return Err(ShapeError(format!($($message)*))); }
    };
}

mod combine;
mod index;

/// The result shape of `op`. `given` is needed where operands do not determine it (parameter, convert, broadcast,
/// reshape, iota, bitcast-convert, partial-reduce); elsewhere it must agree if present.
/// `computations` are those that the operation may call.
pub fn infer(op: &Op, operands: &[&Shape], computations: &[Computation], given: Option<&Shape>) -> Result<Shape> {
    let shape = infer_free(op, operands, computations, given)?;
    if let Some(given) = given {
        ensure!(*given == shape, "the shape is {shape} by its operands, but {given} is claimed");
    }
    Ok(shape)
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
fn infer_free(op: &Op, operands: &[&Shape], computations: &[Computation], given: Option<&Shape>) -> Result<Shape> {
    let need = |count: usize| -> Result<()> {
        ensure!(operands.len() == count, "{count} operands are needed, {} are given", operands.len());
        Ok(())
    };
    let claimed = || given.cloned().ok_or_else(|| ShapeError("a result shape must be given".into()));
    let called = |id: usize| {
        computations.get(id).ok_or_else(|| ShapeError(format!("computation {id} does not lie before its caller")))
    };
    match op {
        Op::Parameter(_) => {
            need(0)?;
            claimed()
        }
        Op::Opaque(_) => claimed(),
        Op::Constant(tensor) => {
            need(0)?;
            Ok(Shape::array(tensor.dtype(), tensor.dims()))
        }
        Op::Iota { dim } => {
            need(0)?;
            let shape = claimed()?;
            ensure!(*dim < shape.dims().len(), "iota_dimension {dim} of a shape {shape}");
            Ok(shape)
        }
        Op::Convert | Op::ReducePrecision { .. } | Op::OptimizationBarrier | Op::Copy | Op::Unary(_) => {
            need(1)?;
            elementwise(op, operands[0], given)
        }
        Op::BitcastConvert => {
            need(1)?;
            let (from, to) = (array(operands[0])?, claimed()?);
            let to_dtype = to.dtype().ok_or_else(|| ShapeError("bitcast-convert gives no tuple".into()))?;
            ensure!(
                from.0.bits() == to_dtype.bits() && from.1 == to.dims(),
                "bitcast-convert from {} to {to} changes the width",
                operands[0]
            );
            Ok(to)
        }
        Op::Reshape => {
            need(1)?;
            let (from, to) = (array(operands[0])?, claimed()?);
            ensure!(
                Some(from.0) == to.dtype() && operands[0].elements() == to.elements(),
                "reshape from {} to {to} changes the elements",
                operands[0]
            );
            Ok(to)
        }
        Op::Broadcast { dims } => {
            need(1)?;
            let (from, to) = (array(operands[0])?, claimed()?);
            let fits = Some(from.0) == to.dtype()
                && dims.len() == from.1.len()
                && dims.is_sorted_by(|a, b| a < b)
                && dims.iter().zip(from.1).all(|(d, n)| to.dims().get(*d) == Some(n));
            ensure!(fits, "broadcast of {} along {dims:?} does not give {to}", operands[0]);
            Ok(to)
        }
        Op::Transpose { permutation } => {
            need(1)?;
            let (dtype, dims) = array(operands[0])?;
            let mut sorted = permutation.clone();
            sorted.sort_unstable();
            ensure!(sorted.into_iter().eq(0..dims.len()), "{permutation:?} is no permutation of {} dims", dims.len());
            Ok(Shape::Array { dtype, dims: permutation.iter().map(|d| dims[*d]).collect() })
        }
        Op::Slice { start, limit, stride } => {
            need(1)?;
            let (dtype, dims) = array(operands[0])?;
            let ranks = [start.len(), limit.len(), stride.len()];
            ensure!(ranks == [dims.len(); 3], "slice of {} needs one range a dim", operands[0]);
            let mut out = Vec::new();
            for d in 0..dims.len() {
                let (s, l, step) = (start[d], limit[d], stride[d]);
                ensure!(
                    s <= l && l <= dims[d] && (1..=Shape::MOST_ELEMENTS).contains(&step),
                    "slice [{s}:{l}:{step}] of a dim of {}",
                    dims[d]
                );
                out.push((l - s).div_ceil(step));
            }
            Ok(Shape::Array { dtype, dims: out })
        }
        Op::Concatenate { dim } => {
            ensure!(!operands.is_empty(), "concatenate needs an operand");
            let (dtype, first) = array(operands[0])?;
            ensure!(*dim < first.len(), "concatenate along dim {dim} of {}", operands[0]);
            let mut out = first.to_vec();
            for other in &operands[1..] {
                let (other_dtype, dims) = array(other)?;
                let fits = other_dtype == dtype
                    && dims.len() == first.len()
                    && (0..dims.len()).all(|d| d == *dim || dims[d] == first[d]);
                ensure!(fits, "concatenate of {} with {other} along dim {dim}", operands[0]);
                out[*dim] = out[*dim].saturating_add(dims[*dim]);
            }
            Ok(Shape::Array { dtype, dims: out })
        }
        Op::Pad { low, high, interior } => {
            need(2)?;
            let (dtype, dims) = array(operands[0])?;
            scalar_of(operands[1], dtype)?;
            let ranks = [low.len(), high.len(), interior.len()];
            ensure!(ranks == [dims.len(); 3], "pad of {} needs one entry a dim", operands[0]);
            let mut out = Vec::new();
            for (d, n) in dims.iter().enumerate() {
                let between = n.saturating_sub(1).checked_mul(interior[d]).and_then(|between| n.checked_add(between));
                let edges = [low[d].unsigned_abs(), high[d].unsigned_abs(), interior[d] as u64];
                let between = between.filter(|_| edges.iter().all(|edge| *edge <= Shape::MOST_ELEMENTS as u64));
                let inner = between.and_then(|inner| i64::try_from(inner).ok());
                let padded = inner.and_then(|inner| inner.checked_add(low[d])?.checked_add(high[d]));
                let Some(padded) = padded else {
                    let edges = format!("{}_{}_{}", low[d], high[d], interior[d]);
                    return Err(ShapeError(format!("pad {edges} makes dim {d} of {} too large", operands[0])));
                };
                ensure!(padded >= 0, "pad {}_{} leaves dim {d} of {} negative", low[d], high[d], operands[0]);
                out.push(padded as usize);
            }
            Ok(Shape::Array { dtype, dims: out })
        }
        Op::Reverse { dims } => {
            need(1)?;
            let (_, shape) = array(operands[0])?;
            ensure!(
                are_distinct(dims, shape.len()),
                "reverse of {} along {dims:?}, which are not dims of it, once each",
                operands[0]
            );
            Ok(operands[0].clone())
        }
        Op::DynamicSlice { sizes } => {
            ensure!(!operands.is_empty(), "dynamic-slice needs an operand");
            let (dtype, dims) = array(operands[0])?;
            need(1 + dims.len())?;
            let fits = sizes.len() == dims.len() && sizes.iter().zip(dims).all(|(s, d)| s <= d);
            ensure!(fits, "dynamic-slice of {} in sizes {sizes:?}", operands[0]);
            Ok(Shape::Array { dtype, dims: sizes.clone() })
        }
        Op::DynamicUpdateSlice => {
            ensure!(operands.len() > 1, "dynamic-update-slice needs an array and an update");
            let ((dtype, dims), (update_dtype, update_dims)) = (array(operands[0])?, array(operands[1])?);
            need(2 + dims.len())?;
            let fits = update_dims.len() == dims.len() && update_dims.iter().zip(dims).all(|(s, d)| s <= d);
            ensure!(fits && dtype == update_dtype, "dynamic-update-slice of {} with {}", operands[0], operands[1]);
            Ok(operands[0].clone())
        }
        Op::Gather(dims) => {
            need(2)?;
            index::gather(dims, operands[0], operands[1])
        }
        Op::Binary(binary) => {
            need(2)?;
            same(operands[0], operands[1])?;
            let (dtype, _) = array(operands[0])?;
            ensure!(binary.takes(dtype), "{} has no meaning for {dtype}", binary.name());
            Ok(operands[0].clone())
        }
        Op::Compare { .. } => {
            need(2)?;
            same(operands[0], operands[1])?;
            array(operands[0])?;
            Ok(operands[0].with_dtype(DType::Pred))
        }
        Op::Select => {
            need(3)?;
            same(operands[1], operands[2])?;
            array(operands[1])?;
            let (dtype, dims) = array(operands[0])?;
            let fits = dtype == DType::Pred && (dims.is_empty() || dims == operands[1].dims());
            ensure!(fits, "select by {} between {}", operands[0], operands[1]);
            Ok(operands[1].clone())
        }
        Op::Clamp => {
            need(3)?;
            let (dtype, dims) = array(operands[1])?;
            for edge in [operands[0], operands[2]] {
                let (edge_dtype, edge_dims) = array(edge)?;
                let fits = edge_dtype == dtype && (edge_dims.is_empty() || edge_dims == dims);
                ensure!(fits, "clamp of {} by {edge}", operands[1]);
            }
            Ok(operands[1].clone())
        }
        Op::Reduce { dims, to_apply } => combine::reduce(dims, called(*to_apply)?, operands),
        Op::ReduceWindow { window, to_apply } => {
            need(2)?;
            let (dtype, dims) = array(operands[0])?;
            scalar_of(operands[1], dtype)?;
            region(called(*to_apply)?, &[dtype, dtype], &[dtype])?;
            Ok(Shape::Array { dtype, dims: combine::window_dims(window, dims)? })
        }
        Op::Scatter { dims, to_apply } => index::scatter(dims, called(*to_apply)?, operands),
        Op::Sort { dim, to_apply, .. } => {
            ensure!(!operands.is_empty(), "sort needs an operand");
            let (_, dims) = array(operands[0])?;
            ensure!(*dim < dims.len(), "sort along dim {dim} of {}", operands[0]);
            let mut parameters = Vec::new();
            for operand in operands {
                let (dtype, other) = array(operand)?;
                ensure!(other == dims, "sort of {} together with {operand}", operands[0]);
                parameters.extend([dtype, dtype]);
            }
            region(called(*to_apply)?, &parameters, &[DType::Pred])?;
            Ok(tuple_unless_one(operands.iter().map(|s| (*s).clone()).collect()))
        }
        Op::TopK { k, .. } => {
            need(1)?;
            let (dtype, dims) = array(operands[0])?;
            let Some((last, batch)) = dims.split_last() else {
                return Err(ShapeError("topk of a scalar".into()));
            };
            ensure!(k <= last, "topk takes k = {k} of only {last} values");
            Ok(values_and_indices(dtype, &[batch, &[*k]].concat()))
        }
        Op::ApproxTopK(attributes) => {
            need(4)?;
            let (dtype, dims) = array(operands[0])?;
            ensure!(attributes.reduction_dim + 1 == dims.len(), "ApproxTopK reduces the last dim only");
            let size = if attributes.aggregate_to_topk {
                attributes.k
            } else {
                let (n, whole) = (dims[attributes.reduction_dim], attributes.reduction_input_size_override);
                approx::output_size(n, dims.len(), attributes.k, attributes.recall_target, whole)?.0
            };
            Ok(values_and_indices(dtype, &[&dims[..dims.len() - 1], &[size]].concat()))
        }
        Op::PartialReduce(attributes) => {
            need(4)?;
            let (_, dims) = array(operands[0])?;
            ensure!(attributes.reduction_dim + 1 == dims.len(), "PartialReduce reduces the last dim only");
            Ok(approx::with_enough_bins(dims, attributes.log2_reduction, claimed()?)?)
        }
        Op::Dot { dims, .. } => {
            need(2)?;
            combine::dot(dims, operands[0], operands[1], given)
        }
        Op::Tuple => Ok(Shape::Tuple(operands.iter().map(|s| (*s).clone()).collect())),
        Op::GetTupleElement(index) => {
            need(1)?;
            match operands[0] {
                Shape::Tuple(parts) if *index < parts.len() => Ok(parts[*index].clone()),
                other => Err(ShapeError(format!("get-tuple-element {index} of {other}"))),
            }
        }
        Op::Call { to_apply } => {
            let callee = called(*to_apply)?;
            let parameters = callee.parameter_shapes();
            ensure!(parameters == operands, "call of {} with other operands than its parameters", callee.name);
            Ok(callee.instructions[callee.root].shape.clone())
        }
        Op::While { condition, body } => {
            let (condition, body) = (called(*condition)?, called(*body)?);
            let state = Shape::Tuple(operands.iter().map(|s| (*s).clone()).collect());
            let takes = |c: &Computation| c.parameter_shapes() == operands;
            let gives = |c: &Computation| c.instructions[c.root].shape.clone();
            let fits = takes(condition) && takes(body) && gives(condition) == Shape::array(DType::Pred, &[]);
            ensure!(fits && gives(body) == state, "while of {} does not keep its state {state}", body.name);
            Ok(state)
        }
    }
}

fn elementwise(op: &Op, operand: &Shape, given: Option<&Shape>) -> Result<Shape> {
    if matches!(op, Op::OptimizationBarrier | Op::Copy) {
        return Ok(operand.clone());
    }
    let (dtype, _) = array(operand)?;
    let fits = match op {
        // Of formats with other infinities and NaNs than IEEE 754 it says nothing.
        Op::ReducePrecision { .. } => dtype.format().is_some_and(Format::has_infinities),
        Op::Unary(unary) => unary.takes(dtype),
        _ => true,
    };
    ensure!(fits, "the operation has no meaning for {dtype}");
    ensure!(!matches!(op, Op::ReducePrecision { exponent_bits: 0, .. }), "reduce-precision without exponent bits");
    match op {
        Op::Convert => {
            let to = given.and_then(Shape::dtype);
            Ok(operand.with_dtype(to.ok_or_else(|| ShapeError("convert needs a result type".into()))?))
        }
        Op::Unary(Unary::IsFinite) => Ok(operand.with_dtype(DType::Pred)),
        _ => Ok(operand.clone()),
    }
}

/// Checks that a region takes and gives scalars of these types.
fn region(callee: &Computation, parameters: &[DType], results: &[DType]) -> Result<()> {
    let scalars = |dtypes: &[DType]| dtypes.iter().map(|d| Shape::array(*d, &[])).collect::<Vec<_>>();
    let expected = scalars(parameters);
    let takes = callee.parameter_shapes().into_iter().eq(expected.iter());
    let gives = callee.instructions[callee.root].shape == tuple_unless_one(scalars(results));
    ensure!(takes && gives, "region {} does not fit the operands", callee.name);
    Ok(())
}

fn values_and_indices(dtype: DType, dims: &[usize]) -> Shape {
    Shape::Tuple(vec![Shape::array(dtype, dims), Shape::array(DType::S32, dims)])
}

fn tuple_unless_one(mut shapes: Vec<Shape>) -> Shape {
    if shapes.len() == 1 { shapes.remove(0) } else { Shape::Tuple(shapes) }
}

fn array(shape: &Shape) -> Result<(DType, &[usize])> {
    match shape {
        Shape::Array { dtype, dims } => Ok((*dtype, dims)),
        tuple => Err(ShapeError(format!("an array is needed, not {tuple}"))),
    }
}

fn scalar_of(shape: &Shape, dtype: DType) -> Result<()> {
    ensure!(*shape == Shape::array(dtype, &[]), "a scalar {dtype} is needed, not {shape}");
    Ok(())
}

fn same(a: &Shape, b: &Shape) -> Result<()> {
    ensure!(a == b, "operands of one shape are needed, not {a} and {b}");
    Ok(())
}

/// Whether each is a dim of an array of this rank, and none stands twice.
fn are_distinct(dims: &[usize], rank: usize) -> bool {
    dims.iter().enumerate().all(|(at, dim)| *dim < rank && !dims[..at].contains(dim))
}

#[cfg(test)]
mod tests {
    use super::super::index_dims::GatherDims;
    use super::super::program::Instruction;
    use super::super::scalar_op::Precision;
    use super::super::window::{Window, WindowDim};
    use super::*;
    use crate::tensor::DTYPES;

    /// Each dim of an operand goes along one of its own, in their order: whatever else is said is refused.
    #[test]
    fn a_broadcast_takes_each_dim_once_and_in_order() {
        let [from, to] = [Shape::array(DType::F32, &[2, 2]), Shape::array(DType::F32, &[2, 2, 2])];
        for first in 0..4 {
            for second in 0..4 {
                let op = Op::Broadcast { dims: vec![first, second] };
                let is_taken = infer(&op, &[&from], &[], Some(&to)).is_ok();
                assert_eq!(is_taken, first < second && second < 3, "{first} {second}");
            }
        }
    }

    /// A list of dims has each of them once: whatever else it says is refused, as XLA's verifier does.
    #[test]
    fn a_dim_stands_once_in_a_list() {
        let (of, index) = (Shape::array(DType::F32, &[2, 2]), Shape::array(DType::S32, &[2]));
        let dot = |dims: DotDims| infer(&Op::Dot { dims, precision: [Precision::Default; 2] }, &[&of, &of], &[], None);
        for first in 0..4 {
            for second in 0..4 {
                let (dims, fits) = (vec![first, second], first != second && first.max(second) < 2);
                let reverse = infer(&Op::Reverse { dims: dims.clone() }, &[&of], &[], None);
                assert_eq!(reverse.is_ok(), fits, "reverse {dims:?}");
                let [one, other] = [vec![first], vec![second]];
                let both =
                    DotDims { lhs_contracting: dims.clone(), rhs_contracting: dims.clone(), ..DotDims::default() };
                let batch = DotDims {
                    lhs_contracting: one.clone(),
                    rhs_contracting: one,
                    lhs_batch: other.clone(),
                    rhs_batch: other,
                };
                assert_eq!([dot(both).is_ok(), dot(batch).is_ok()], [fits; 2], "dot {dims:?}");
                // By a vector of two numbers, or of the one that a scalar is.
                let gather = |map: Vec<usize>, indices: &[usize]| {
                    let dims = GatherDims {
                        collapsed_slice_dims: map.clone(),
                        start_index_map: map,
                        index_vector_dim: 0,
                        slice_sizes: vec![1, 1],
                        ..GatherDims::default()
                    };
                    infer(&Op::Gather(dims), &[&of, &Shape::array(DType::S32, indices)], &[], None)
                };
                assert_eq!(gather(dims.clone(), index.dims()).is_ok(), fits, "gather {dims:?}");
                assert!(gather(dims, &[]).is_err());
            }
        }
    }

    /// The dims of windows stand in a result in the operand's order: exchanged, extents of their own would change places.
    #[test]
    fn dims_of_windows_stand_in_order() {
        let [of, index] = [Shape::array(DType::F32, &[7, 2, 3]), Shape::array(DType::S32, &[5, 1])];
        for first in 0..4 {
            for second in 0..4 {
                let offset_dims = vec![first, second];
                let dims = GatherDims {
                    offset_dims: offset_dims.clone(),
                    collapsed_slice_dims: vec![0],
                    start_index_map: vec![0],
                    index_vector_dim: 1,
                    slice_sizes: vec![1, 2, 3],
                    ..GatherDims::default()
                };
                let gathered = infer(&Op::Gather(dims), &[&of, &index], &[], None);
                assert_eq!(gathered.is_ok(), first < second && second < 3, "{offset_dims:?}");
                let Ok(gathered) = gathered else { continue };
                assert_eq!([gathered.dims()[first], gathered.dims()[second]], [2, 3], "{offset_dims:?}");
            }
        }
    }

    /// Places are counted one by one: a window has one wherever all of it lies inside the array with its padding.
    #[test]
    fn windows_have_the_places_in_which_they_fit() {
        let pads = [-2, -1, 0, 1, 2];
        for (n, size, stride) in (0..5).flat_map(|n| (1..4).flat_map(move |s| (1..4).map(move |by| (n, s, by)))) {
            for (base_dilation, window_dilation) in [(1, 1), (2, 1), (3, 1), (1, 2), (1, 3), (2, 3)] {
                let extent = (0..n as i64).map(|at| at * base_dilation as i64 + 1).next_back().unwrap_or(0);
                for (pad_low, pad_high) in pads.iter().flat_map(|low| pads.map(|high| (*low, high))) {
                    let w = WindowDim { size, stride, pad_low, pad_high, base_dilation, window_dilation };
                    let last = |place: i64| place * stride as i64 + ((size - 1) * window_dilation) as i64;
                    let places = (0..).take_while(|place| last(*place) < extent + pad_low + pad_high).count();
                    assert_eq!(combine::window_dims(&Window(vec![w]), &[n]), Ok(vec![places]), "{w:?} over {n}");
                }
            }
        }
        let whole = WindowDim::of_size(1);
        for nothing in [
            WindowDim { size: 0, ..whole },
            WindowDim { stride: 0, ..whole },
            WindowDim { base_dilation: 0, ..whole },
            WindowDim { window_dilation: 0, ..whole },
        ] {
            assert!(combine::window_dims(&Window(vec![nothing]), &[3]).is_err(), "{nothing:?}");
        }
    }

    /// Operands have one type; floats give any float that is asked for, integers their own type.
    #[test]
    fn dots_take_one_type_and_pairs_of_dims() {
        let dot = |dims: DotDims, operands: [&Shape; 2], given: Option<DType>| {
            let given = given.map(|dtype| Shape::array(dtype, &[2, 2]));
            infer(&Op::Dot { dims, precision: [Precision::Default; 2] }, &operands, &[], given.as_ref())
        };
        let square = |dtype| Shape::array(dtype, &[2, 2]);
        for (lhs, rhs) in DTYPES.iter().flat_map(|lhs| DTYPES.map(|rhs| (*lhs, rhs))) {
            let operands = [&square(lhs), &square(rhs)];
            let fits = lhs == rhs && lhs != DType::Pred;
            assert_eq!(dot(DotDims::matmul(), operands, None).is_ok(), fits, "{lhs} and {rhs}");
            for given in DTYPES.into_iter().filter(|_| lhs == rhs) {
                let fits = fits && (given == lhs || lhs.is_float() && given.is_float());
                assert_eq!(dot(DotDims::matmul(), operands, Some(given)).is_ok(), fits, "{lhs} to {given}");
            }
        }
        let operands = [&Shape::array(DType::F32, &[2, 3]), &Shape::array(DType::F32, &[3, 2])];
        for (lhs, rhs, fits) in [
            (vec![1], vec![0], true),
            (vec![0, 1], vec![1, 0], true),
            (vec![0], vec![0], false),
            (vec![1], vec![0, 1], false),
            (vec![0, 1], vec![1], false),
        ] {
            let contracting =
                DotDims { lhs_contracting: lhs.clone(), rhs_contracting: rhs.clone(), ..DotDims::default() };
            assert_eq!(dot(contracting, operands, None).is_ok(), fits, "contracting {lhs:?} and {rhs:?}");
            let batch = DotDims { lhs_batch: lhs.clone(), rhs_batch: rhs.clone(), ..DotDims::default() };
            assert_eq!(dot(batch, operands, None).is_ok(), fits, "batch {lhs:?} and {rhs:?}");
        }
    }

    /// Arrays that are reduced together have one shape, and each has an init of its own.
    #[test]
    fn reductions_take_arrays_of_one_shape_and_their_inits() {
        let scalar = Shape::array(DType::F32, &[]);
        let region = |count: usize| {
            let parameter = |at: usize| Instruction::new("p", Op::Parameter(at), vec![], scalar.clone());
            let mut instructions: Vec<Instruction> = (0..2 * count).map(parameter).collect();
            if count > 1 {
                let shape = Shape::Tuple(vec![scalar.clone(); count]);
                instructions.push(Instruction::new("t", Op::Tuple, (0..count).collect(), shape));
            }
            Computation { name: "region".to_string(), root: if count > 1 { 2 * count } else { 0 }, instructions }
        };
        let (x, y) = (Shape::array(DType::F32, &[2, 3]), Shape::array(DType::F32, &[3, 2]));
        for (count, operands, fits) in [
            (1, vec![&x, &scalar], true),
            (2, vec![&x, &x, &scalar, &scalar], true),
            (2, vec![&x, &y, &scalar, &scalar], false),
            (2, vec![&x, &x, &scalar, &x], false),
            (1, vec![&x, &scalar, &scalar], false),
            (1, vec![&x], false),
        ] {
            let op = Op::Reduce { dims: vec![0], to_apply: 0 };
            assert_eq!(infer(&op, &operands, &[region(count)], None).is_ok(), fits, "{operands:?}");
        }
    }
}
