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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate;
    use crate::ir::{Binary, Builder, Mark};

    /// Nothing is rounded but what bits are read of, each operation is the one that it was, and regions are found where they
    /// have moved.
    #[test]
    fn only_bits_are_those_of_declared_types() {
        let mut b = Builder::new("wide");
        let x = b.parameter("x", DType::F32, &[2]).unwrap();
        let short = b.op(Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 }, &[x]).unwrap();
        let bf16 = b.convert(x, DType::BF16).unwrap();
        let third = b.constant(DType::F64, 1.0 / 3.0).unwrap();
        let product = b.binary(Binary::Multiply, x, x).unwrap();
        let sum = b.reduce(Binary::Add, product, 0.0, &[0]).unwrap();
        let most = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[0]).unwrap();
        let bits = b.op_of_shape(Op::BitcastConvert, &[x], Shape::array(DType::S32, &[2])).unwrap();
        let back = b.op_of_shape(Op::BitcastConvert, &[bits], Shape::array(DType::F32, &[2])).unwrap();
        let outputs = [
            ("short", short),
            ("bf16", bf16),
            ("third", third),
            ("sum", sum),
            ("most", most),
            ("bits", bits),
            ("back", back),
        ];
        let mut program = b.finish(&outputs).unwrap();
        let entry = program.entry;
        program.computations[entry].instructions[product].mark = Some(Mark::Joined);
        let (wide, shift) = in_f64(&program);
        assert_eq!((shift, wide.entry, wide.computations.len()), (2, entry + 2, program.computations.len() + 2));
        assert!(wide.instructions().all(|instruction| instruction.mark.is_none()));
        // Numbers that f32 does not hold.
        let numbers = [0.1, 0.7];
        let arguments = [Tensor::new(&[2], Data::F64(numbers.to_vec()))];
        let results = evaluate(&wide, &"cpu/f32/off".parse().unwrap(), &arguments).unwrap();
        let of = |at: usize| results[at].data().to_f64s();
        assert_eq!([of(0), of(1)], [numbers.to_vec(), numbers.to_vec()]);
        assert_eq!([of(2), of(3), of(4)], [vec![1.0 / 3.0], vec![0.1 * 0.1 + 0.7 * 0.7], vec![0.7]]);
        let narrow = numbers.map(|x| x as f32);
        assert_eq!(results[5].data().to_i64s(), narrow.map(|x| i64::from(x.to_bits())));
        assert_eq!(of(6), narrow.map(f64::from));
    }
}
