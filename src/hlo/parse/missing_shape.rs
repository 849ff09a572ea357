//! Shapes that a text leaves out, as XLA's parser infers them from operands, attributes and computations.
//!
//! Source: openxla/xla `hlo_parser.cc` (`CanInferShape`) and `shape_inference.cc`; FACTS 7.2. Layouts are left out as well.

use crate::ast::{Element, Instruction, Shape};
use crate::ir::Unary;
use crate::opcode::{
    Asynchronous, Collective, CollectiveDone, ComplexPart, Control, Decomposition, DeviceNumber, Elementwise, Identity,
    Indexed, Movement, Opcode, Product, Ranking, Reduction, Single, Token, Tuples,
};
use crate::tensor::DType;
use crate::view::{Attributes, WindowSpec};

/// The shape of an instruction of these operands; `root_of` gives the shape of a computation's result. `None` where operands and
/// attributes do not decide it, or contradict each other.
#[expect(clippy::too_many_lines, reason = "one arm for each opcode")]
pub(super) fn missing_shape(
    instruction: &Instruction,
    operands: &[&Shape],
    root_of: &dyn Fn(&str) -> Option<Shape>,
) -> Option<Shape> {
    let attributes = Attributes::of(instruction);
    let first = || operands.first().map(|shape| without_layout(shape));
    match &instruction.opcode {
        Opcode::Unary(Unary::Abs) | Opcode::ComplexPart(ComplexPart::Imag | ComplexPart::Real) => real(&first()?),
        Opcode::Unary(Unary::IsFinite) => of_element(&first()?, Element::Known(DType::Pred)),
        Opcode::Unary(_) | Opcode::Elementary(_) => first(),
        Opcode::Binary(_) => of_two(operands),
        Opcode::ComplexPart(ComplexPart::Complex) => complex(&first()?),
        Opcode::Elementwise(function) => match function {
            Elementwise::Compare => of_element(&first()?, Element::Known(DType::Pred)),
            Elementwise::Clamp | Elementwise::Select => operands.get(1).map(|shape| without_layout(shape)),
            Elementwise::ReducePrecision => first(),
            Elementwise::Convert | Elementwise::StochasticConvert => None,
        },
        Opcode::Identity(Identity::AddDependency | Identity::Copy | Identity::Domain | Identity::OptBarrier)
        | Opcode::Movement(Movement::Reverse | Movement::SetDimensionSize)
        | Opcode::Indexed(Indexed::DynamicUpdateSlice)
        | Opcode::Decomposition(Decomposition::Cholesky)
        | Opcode::Control(Control::While) => first(),
        Opcode::Decomposition(Decomposition::TriangularSolve) => operands.get(1).map(|shape| without_layout(shape)),
        Opcode::Collective(Collective::AllReduce | Collective::AllReduceStart | Collective::CollectivePermute)
        | Opcode::Ranking(Ranking::Sort) => one_or_tuple(operands.iter().map(|shape| without_layout(shape)).collect()),
        Opcode::Collective(Collective::CollectiveBroadcast) => {
            // The ranks of the roots are not sent.
            let sent = operands.len().checked_sub(usize::from(attributes.flag("has_dynamic_root").ok()?))?;
            one_or_tuple(operands[..sent].iter().map(|shape| without_layout(shape)).collect())
        }
        Opcode::Collective(Collective::AllToAll) if attributes.find("dimensions").is_some() => first(),
        Opcode::Collective(Collective::AllToAll) => Some(tuple(operands)),
        Opcode::CollectiveDone(CollectiveDone::AllGatherDone | CollectiveDone::CollectivePermuteDone) => {
            element(operands.first()?, 1)
        }
        Opcode::CollectiveDone(CollectiveDone::AllReduceDone) => first(),
        Opcode::Asynchronous(Asynchronous::AsyncUpdate) => first(),
        Opcode::Asynchronous(Asynchronous::AsyncDone | Asynchronous::CallDone) => element(operands.first()?, 1),
        Opcode::Asynchronous(Asynchronous::CopyDone) => element(operands.first()?, 0),
        Opcode::DeviceNumber(DeviceNumber::PartitionId | DeviceNumber::ReplicaId) => {
            Some(array(Element::Known(DType::U32), Vec::new()))
        }
        Opcode::Movement(Movement::GetDimensionSize) => Some(array(Element::Known(DType::S32), Vec::new())),
        Opcode::Token(Token::AfterAll | Token::CreateToken) => {
            Some(array(Element::Other("token".to_string()), Vec::new()))
        }
        Opcode::Tuples(Tuples::Tuple) => Some(tuple(operands)),
        Opcode::Tuples(Tuples::GetTupleElement) => element(operands.first()?, attributes.number("index").ok()?),
        Opcode::Control(control) => of_call(*control, &attributes, operands, root_of),
        Opcode::Movement(movement) => moved(*movement, &attributes, operands),
        Opcode::Indexed(Indexed::DynamicSlice) => {
            let (kind, _) = parts(operands.first()?)?;
            Some(array(kind, extents(attributes.numbers("dynamic_slice_sizes").ok()?)))
        }
        Opcode::Indexed(Indexed::Gather) => gathered(&attributes, operands),
        Opcode::Indexed(Indexed::Scatter) => {
            let count = operands.len().checked_sub(1)? / 2;
            one_or_tuple(operands[..count].iter().map(|shape| without_layout(shape)).collect())
        }
        Opcode::Product(Product::Dot) => product(&attributes, operands),
        Opcode::Product(Product::Convolution) => convolved(&attributes, operands),
        Opcode::Ranking(Ranking::TopK) => {
            let (kind, mut dims) = parts(operands.first()?)?;
            *dims.last_mut()? = attributes.number("k").ok()? as u64;
            Some(Shape::Tuple(vec![array(kind, dims.clone()), array(Element::Known(DType::S32), dims)]))
        }
        Opcode::Reduction(reduction) => reduced(*reduction, &attributes, operands, root_of),
        Opcode::Single(Single::Fft) => transformed(&attributes, operands),
        Opcode::Single(Single::Scan) => scanned(&attributes, operands, root_of),
        _ => None,
    }
}

fn array(element: Element, dims: Vec<u64>) -> Shape {
    Shape::Array { element, dims, layout: None }
}

fn tuple(operands: &[&Shape]) -> Shape {
    Shape::Tuple(operands.iter().map(|shape| without_layout(shape)).collect())
}

fn one_or_tuple(mut shapes: Vec<Shape>) -> Option<Shape> {
    match shapes.len() {
        0 => None,
        1 => shapes.pop(),
        _ => Some(Shape::Tuple(shapes)),
    }
}

fn without_layout(shape: &Shape) -> Shape {
    match shape {
        Shape::Array { element, dims, .. } => array(element.clone(), dims.clone()),
        Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(without_layout).collect()),
    }
}

/// Element type and extents of an array.
fn parts(shape: &Shape) -> Option<(Element, Vec<u64>)> {
    match shape {
        Shape::Array { element, dims, .. } => Some((element.clone(), dims.clone())),
        Shape::Tuple(_) => None,
    }
}

fn of_element(shape: &Shape, element: Element) -> Option<Shape> {
    parts(shape).map(|(_, dims)| array(element, dims))
}

fn extents(numbers: Vec<usize>) -> Vec<u64> {
    numbers.into_iter().map(|number| number as u64).collect()
}

fn element(shape: &Shape, index: usize) -> Option<Shape> {
    match shape {
        Shape::Tuple(parts) => parts.get(index).map(without_layout),
        Shape::Array { .. } => None,
    }
}

/// The type of a part of complex numbers; any other type as it is.
fn real(shape: &Shape) -> Option<Shape> {
    let (kind, dims) = parts(shape)?;
    let kind = match kind {
        Element::Other(name) if name == "c64" => Element::Known(DType::F32),
        Element::Other(name) if name == "c128" => Element::Known(DType::F64),
        other => other,
    };
    Some(array(kind, dims))
}

fn complex(part: &Shape) -> Option<Shape> {
    let (kind, dims) = parts(part)?;
    let name = match kind {
        Element::Known(DType::F32) => "c64",
        Element::Known(DType::F64) => "c128",
        _ => return None,
    };
    Some(array(Element::Other(name.to_string()), dims))
}

/// The dims of two operands are equal, or one of them is a scalar.
fn of_two(operands: &[&Shape]) -> Option<Shape> {
    let [left, right] = operands else { return None };
    let ((kind, left), (_, right)) = (parts(left)?, parts(right)?);
    match (left.is_empty(), left == right) {
        (_, true) => Some(array(kind, left)),
        (true, _) => Some(array(kind, right)),
        _ if right.is_empty() => Some(array(kind, left)),
        _ => None,
    }
}

fn of_call(
    control: Control,
    attributes: &Attributes,
    operands: &[&Shape],
    root_of: &dyn Fn(&str) -> Option<Shape>,
) -> Option<Shape> {
    let callee = |name: &str| root_of(attributes.callee(name).ok()?).map(|shape| without_layout(&shape));
    match control {
        Control::Call => callee("to_apply"),
        Control::Fusion => callee("calls"),
        Control::Conditional => callee("branch_computations").or_else(|| callee("true_computation")),
        Control::Map => {
            let (kind, _) = parts(&callee("to_apply")?)?;
            of_element(operands.first()?, kind)
        }
        Control::While => operands.first().map(|shape| without_layout(shape)),
    }
}

fn moved(movement: Movement, attributes: &Attributes, operands: &[&Shape]) -> Option<Shape> {
    let (kind, mut dims) = parts(operands.first()?)?;
    match movement {
        Movement::Concatenate => {
            let dim = attributes.one_number("dimensions").ok()?;
            let mut lengths = operands.iter().map(|shape| parts(shape)?.1.get(dim).copied());
            *dims.get_mut(dim)? = lengths.try_fold(0u64, |sum, length| sum.checked_add(length?))?;
        }
        Movement::Transpose => {
            let order = attributes.numbers("dimensions").ok()?;
            dims = order.iter().map(|dim| dims.get(*dim).copied()).collect::<Option<_>>()?;
        }
        Movement::Slice => {
            let ranges = attributes.ranges("slice").ok()?;
            let length =
                |[start, limit, stride]: [usize; 3]| Some(limit.checked_sub(start)?.div_ceil(stride.max(1)) as u64);
            dims = ranges.into_iter().map(length).collect::<Option<_>>()?;
        }
        Movement::Pad => {
            let padding = attributes.padding("padding").ok()?;
            if padding.len() != dims.len() {
                return None;
            }
            for (dim, (low, high, interior)) in dims.iter_mut().zip(padding) {
                let inside = i128::from(*dim) + i128::from(dim.saturating_sub(1)) * interior as i128;
                *dim = u64::try_from(inside + i128::from(low) + i128::from(high)).ok()?;
            }
        }
        // A scalar that is spread over no dims.
        Movement::Broadcast if dims.is_empty() && attributes.numbers("dimensions").ok()?.is_empty() => {}
        Movement::Broadcast
        | Movement::GetDimensionSize
        | Movement::Iota
        | Movement::Reshape
        | Movement::Reverse
        | Movement::SetDimensionSize => return None,
    }
    Some(array(kind, dims))
}

fn gathered(attributes: &Attributes, operands: &[&Shape]) -> Option<Shape> {
    let [operand, indices] = operands else { return None };
    let ((kind, _), (_, indices)) = (parts(operand)?, parts(indices)?);
    let [offsets, sizes, collapsed, batching] =
        ["offset_dims", "slice_sizes", "collapsed_slice_dims", "operand_batching_dims"]
            .map(|name| attributes.numbers(name).ok());
    let (offsets, collapsed, batching) = (offsets?, collapsed?, batching?);
    let vector = attributes.number("index_vector_dim").unwrap_or(indices.len());
    let kept = |dim: &usize| !collapsed.contains(dim) && !batching.contains(dim);
    let mut window = sizes?.into_iter().enumerate().filter(|(dim, _)| kept(dim)).map(|(_, size)| size as u64);
    let mut places = indices.iter().enumerate().filter(|(dim, _)| *dim != vector).map(|(_, size)| *size);
    let rank = offsets.len() + indices.len() - usize::from(vector < indices.len());
    let dims = (0..rank).map(|dim| if offsets.contains(&dim) { window.next() } else { places.next() });
    Some(array(kind, dims.collect::<Option<_>>()?))
}

fn product(attributes: &Attributes, operands: &[&Shape]) -> Option<Shape> {
    let [left, right] = operands else { return None };
    let ((kind, left), (other, right)) = (parts(left)?, parts(right)?);
    let list = |name: &str| attributes.numbers(name).ok();
    let (batch, others) = (list("lhs_batch_dims")?, list("rhs_batch_dims")?);
    let (summed, also) = (list("lhs_contracting_dims")?, list("rhs_contracting_dims")?);
    let free = |dims: &[u64], batch: &[usize], summed: &[usize]| {
        let is_free = |dim: &usize| !batch.contains(dim) && !summed.contains(dim);
        (0..dims.len()).filter(is_free).map(|dim| dims[dim]).collect::<Vec<u64>>()
    };
    let shared = batch.iter().map(|dim| left.get(*dim).copied()).collect::<Option<Vec<u64>>>()?;
    let dims = [shared, free(&left, &batch, &summed), free(&right, &others, &also)].concat();
    Some(array(wider(kind, other), dims))
}

/// The type with more bits, the first of two alike: XLA's `HigherPrecisionElementType`.
fn wider(one: Element, other: Element) -> Element {
    match (&one, &other) {
        (Element::Known(a), Element::Known(b)) if b.is_float() && a.is_float() && b.bits() > a.bits() => other,
        _ => one,
    }
}

/// Number of places of a window over an extent.
fn places(extent: u64, window: &WindowSpec) -> Option<u64> {
    let dilated = |size: u64, by: usize| {
        if size == 0 { Some(0) } else { i128::from(size - 1).checked_mul(by as i128)?.checked_add(1) }
    };
    let base = dilated(extent, window.lhs_dilate)? + i128::from(window.pad.0) + i128::from(window.pad.1);
    let size = dilated(window.size as u64, window.rhs_dilate)?;
    if window.stride == 0 {
        return None;
    }
    if base < size || size == 0 { Some(0) } else { u64::try_from((base - size) / window.stride as i128 + 1).ok() }
}

fn convolved(attributes: &Attributes, operands: &[&Shape]) -> Option<Shape> {
    let [left, right] = operands else { return None };
    let ((kind, left), (_, right)) = (parts(left)?, parts(right)?);
    let labels = attributes.word("dim_labels")?;
    let (inputs, result) = labels.split_once("->")?;
    let (lhs, rhs) = inputs.split_once('_')?;
    let of = |labels: &str, dims: &[u64], label: char| dims.get(labels.chars().position(|c| c == label)?).copied();
    let windows = attributes.window("window").ok()?;
    let groups =
        attributes.find("batch_group_count").map_or(Some(1), |_| attributes.number("batch_group_count").ok())?;
    let dims = result.chars().map(|label| match label {
        'b' => of(lhs, &left, 'b')?.checked_div(groups as u64),
        'f' => of(rhs, &right, 'o'),
        digit => places(of(lhs, &left, digit)?, windows.get(digit.to_digit(10)? as usize)?),
    });
    Some(array(kind, dims.collect::<Option<_>>()?))
}

fn reduced(
    reduction: Reduction,
    attributes: &Attributes,
    operands: &[&Shape],
    root_of: &dyn Fn(&str) -> Option<Shape>,
) -> Option<Shape> {
    let (_, dims) = parts(operands.first()?)?;
    let dims: Vec<u64> = match reduction {
        Reduction::SelectAndScatter => return operands.first().map(|shape| without_layout(shape)),
        Reduction::Reduce => {
            let gone = attributes.numbers("dimensions").ok()?;
            (0..dims.len()).filter(|dim| !gone.contains(dim)).map(|dim| dims[dim]).collect()
        }
        Reduction::ReduceWindow => {
            let windows = attributes.window("window").ok()?;
            if windows.len() != dims.len() {
                return None;
            }
            dims.iter().zip(&windows).map(|(extent, window)| places(*extent, window)).collect::<Option<_>>()?
        }
    };
    let root = root_of(attributes.callee("to_apply").ok()?)?;
    let of_part = |shape: &Shape| Some(array(parts(shape)?.0, dims.clone()));
    match &root {
        Shape::Tuple(roots) => Some(Shape::Tuple(roots.iter().map(of_part).collect::<Option<_>>()?)),
        root => of_part(root),
    }
}

fn transformed(attributes: &Attributes, operands: &[&Shape]) -> Option<Shape> {
    let shape = without_layout(operands.first()?);
    let (_, mut dims) = parts(&shape)?;
    let last = *attributes.numbers("fft_length").ok()?.last()? as u64;
    match attributes.word("fft_type")? {
        "RFFT" => {
            *dims.last_mut()? = last / 2 + 1;
            complex(&shape).and_then(|whole| Some(array(parts(&whole)?.0, dims)))
        }
        "IRFFT" => {
            *dims.last_mut()? = last;
            real(&shape).and_then(|part| Some(array(parts(&part)?.0, dims)))
        }
        _ => Some(shape),
    }
}

/// Outputs of each step side by side, then what is carried out of the last.
fn scanned(attributes: &Attributes, operands: &[&Shape], root_of: &dyn Fn(&str) -> Option<Shape>) -> Option<Shape> {
    let (carries, dim) = (attributes.number("num_carries").ok()?, attributes.one_number("dimensions").ok()?);
    let steps = *parts(operands.first()?)?.1.get(dim)?;
    let beside = |shape: &Shape| {
        let (kind, mut dims) = parts(shape)?;
        if dim > dims.len() {
            return None;
        }
        dims.insert(dim, steps);
        Some(array(kind, dims))
    };
    match root_of(attributes.callee("to_apply").ok()?)? {
        Shape::Tuple(roots) => {
            let outputs = roots.len().checked_sub(carries)?;
            let stacked = roots[..outputs].iter().map(beside);
            let carried = roots[outputs..].iter().map(|shape| Some(without_layout(shape)));
            Some(Shape::Tuple(stacked.chain(carried).collect::<Option<_>>()?))
        }
        root if carries == 0 => beside(&root),
        root => Some(without_layout(&root)),
    }
}
