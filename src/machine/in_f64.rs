//! A program with f64 in the place of every float type, instruction for instruction.

use crate::ir::{Computation, ComputationId, Instruction, Op, Program, Shape};
use crate::tensor::{DType, Data, Tensor};

/// `program` without roundings to anything narrower than f64, and by how many places its computations have moved: each
/// has the same instructions at the same positions. An instruction that computes is that operation in f64, conversions between floats and
/// `reduce-precision` are identities, and bits are those of the number rounded to its declared type.
pub(super) fn in_f64(program: &Program) -> (Program, ComputationId) {
    let mut bits: Vec<Computation> = Vec::new();
    let shift =
        program.computations.iter().map(|c| (0..c.instructions.len()).filter(|id| reads_bits(c, *id)).count()).sum();
    let mut computations: Vec<Computation> = Vec::new();
    for computation in &program.computations {
        let mut wide = computation.clone();
        for (id, instruction) in wide.instructions.iter_mut().enumerate() {
            let declared = &computation.instructions[id];
            instruction.shape = shape_in_f64(&declared.shape);
            instruction.mark = None;
            instruction.record(|compiled| (compiled.fusion, compiled.tiling, compiled.library) = (None, None, None));
            for callee in instruction.op.callees_mut() {
                *callee += shift;
            }
            match &declared.op {
                Op::Constant(value) if value.dtype().is_float() => {
                    instruction.op = Op::Constant(Tensor::new(value.dims(), Data::F64(value.data().to_f64s())));
                }
                Op::ReducePrecision { .. } => instruction.op = Op::Copy,
                Op::BitcastConvert if reads_bits(computation, id) => {
                    let operand = &computation.instructions[declared.operands[0]].shape;
                    instruction.op = Op::Call { to_apply: bits.len() };
                    bits.push(bits_of(operand, &declared.shape));
                }
                _ => {}
            }
        }
        computations.push(wide);
    }
    bits.append(&mut computations);
    (Program { computations: bits, entry: program.entry + shift, ..program.clone() }, shift)
}

/// The shape with f64 in the place of floats, in tuples as well.
fn shape_in_f64(shape: &Shape) -> Shape {
    match shape {
        Shape::Array { dtype, dims } if dtype.is_float() => Shape::array(DType::F64, dims),
        Shape::Array { .. } => shape.clone(),
        Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(shape_in_f64).collect()),
    }
}

/// Whether an instruction reads a float's bits, or takes bits for a float.
fn reads_bits(computation: &Computation, id: usize) -> bool {
    let instruction = &computation.instructions[id];
    let is_float = |shape: &Shape| shape.dtype().is_some_and(DType::is_float);
    instruction.op == Op::BitcastConvert
        && (is_float(&instruction.shape) || is_float(&computation.instructions[instruction.operands[0]].shape))
}

/// A `bitcast-convert` between declared types, of f64 in the place of floats.
fn bits_of(operand: &Shape, result: &Shape) -> Computation {
    let mut instructions = vec![Instruction::new("given", Op::Parameter(0), vec![], shape_in_f64(operand))];
    instructions.push(Instruction::new("declared", Op::Convert, vec![0], operand.clone()));
    instructions.push(Instruction::new("bits", Op::BitcastConvert, vec![1], result.clone()));
    instructions.push(Instruction::new("wide", Op::Convert, vec![2], shape_in_f64(result)));
    Computation { name: "bits".to_string(), instructions, root: 3 }
}
