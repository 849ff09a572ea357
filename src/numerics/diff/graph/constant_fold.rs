//! Values that constants alone make, as compilers fold them.

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, Class, Computation, Instruction, Op, Program, Shape, ValueId};
use crate::machine::{self, Mode};
use crate::tensor::{DType, Tensor};

/// For each value the number that all its elements are, where no parameter has part in it. Operations on elements are
/// computed once, on scalars.
pub fn constants(computation: &Computation, regions: &Regions) -> Vec<Option<f64>> {
    let mut places: Vec<Option<ValueId>> = Vec::with_capacity(computation.instructions.len());
    let mut instructions: Vec<Instruction> = Vec::new();
    for instruction in &computation.instructions {
        let operands: Option<Vec<ValueId>> = scalar_operands(instruction).iter().map(|id| places[*id]).collect();
        let step = operands.and_then(|operands| Some((scalar_op(instruction, computation, regions)?, operands)));
        // One element of a table is a number as well, whatever the others are.
        let step = step.or_else(|| Some((Op::Constant(one_of(instruction, computation)?), Vec::new())));
        places.push(step.map(|(op, operands)| {
            let shape = Shape::array(instruction.shape.element_type(), &[]);
            instructions.push(Instruction::new(instruction.name.clone(), op, operands, shape));
            instructions.len() - 1
        }));
    }
    let values = evaluate(instructions);
    places.into_iter().map(|place| values.get(place?).map(|tensor| tensor.data().get_f64(0))).collect()
}

/// The operands whose numbers an operation takes: what is moved, where it is moved.
fn scalar_operands(instruction: &Instruction) -> &[ValueId] {
    match instruction.op.class() {
        Class::Moves => &instruction.operands[..1],
        _ => &instruction.operands,
    }
}

/// The one element that is cut out of an array of constants.
fn one_of(instruction: &Instruction, computation: &Computation) -> Option<Tensor> {
    let Op::Slice { start, .. } = &instruction.op else { return None };
    let Op::Constant(whole) = &computation.instructions[instruction.operands[0]].op else { return None };
    let at = start.iter().zip(whole.dims()).fold(0, |at, (start, dim)| at * dim + start);
    let element = || whole.clone().reshape(&[whole.len()]).rows(at..at + 1).reshape(&[]);
    (instruction.shape.elements() == 1).then(element)
}

/// The scalar operation that stands for one on arrays, each with all its elements equal.
fn scalar_op(instruction: &Instruction, computation: &Computation, regions: &Regions) -> Option<Op> {
    let of = |slot: usize| computation.instructions[instruction.operands[slot]].shape.dtype();
    match &instruction.op {
        Op::Constant(tensor) => {
            let first = || tensor.clone().reshape(&[tensor.len()]).rows(0..1).reshape(&[]);
            splat(tensor).map(|_| Op::Constant(first()))
        }
        Op::Reshape
        | Op::Copy
        | Op::OptimizationBarrier
        | Op::Broadcast { .. }
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Reverse { .. }
        | Op::DynamicSlice { .. }
            if instruction.shape.dtype().is_some() =>
        {
            Some(Op::Copy)
        }
        Op::BitcastConvert => {
            let bits = |dtype: Option<DType>| dtype.map(DType::bits);
            (bits(of(0)) == bits(instruction.shape.dtype())).then_some(Op::BitcastConvert)
        }
        // However many there are, all of them are what one is.
        Op::Reduce { to_apply, .. } if instruction.operands.len() == 2 => match regions.reducer(*to_apply) {
            Some(Reducer::Binary(by @ (Binary::And | Binary::Or | Binary::Maximum | Binary::Minimum))) => {
                Some(Op::Binary(by))
            }
            _ => None,
        },
        op if matches!(op.class(), Class::Converts | Class::Elementwise) => Some(op.clone()),
        _ => None,
    }
}

/// The results of a list of operations on scalars; none where one of them cannot be computed.
fn evaluate(mut instructions: Vec<Instruction>) -> Vec<Tensor> {
    let count = instructions.len();
    let shapes = instructions.iter().map(|instruction| instruction.shape.clone()).collect();
    instructions.push(Instruction::new("constants", Op::Tuple, (0..count).collect(), Shape::Tuple(shapes)));
    let output_names = (0..count).map(|output| format!("out{output}")).collect();
    let entry = Computation { name: "constants".to_string(), instructions, root: count };
    let program = Program {
        name: "constants".to_string(),
        computations: vec![entry],
        entry: 0,
        output_names,
        settings: Vec::new(),
        double: None,
    };
    // On the chip without habits: constants are what the text says, and no compiler's.
    let done = Mode::new("cpu", "highest", "off", "").ok().map(|mode| machine::evaluate(&program, &mode, &[]));
    done.and_then(Result::ok).unwrap_or_default()
}

/// Result of an elementwise operation on these numbers.
pub fn number(op: &Op, numbers: &[f64], from: DType, to: DType) -> Option<f64> {
    let constant = |number: &f64| {
        let tensor = Tensor::scalar(from, *number)?;
        Some(Instruction::new("number", Op::Constant(tensor), Vec::new(), Shape::array(from, &[])))
    };
    let mut instructions: Vec<Instruction> = numbers.iter().map(constant).collect::<Option<_>>()?;
    instructions.push(Instruction::new("made", op.clone(), (0..numbers.len()).collect(), Shape::array(to, &[])));
    evaluate(instructions).last().map(|tensor| tensor.data().get_f64(0))
}

/// The one value of an array of constants.
pub fn splat(tensor: &Tensor) -> Option<f64> {
    let bits = |i: usize| tensor.data().bits(i);
    (!tensor.is_empty() && (1..tensor.len()).all(|i| bits(i) == bits(0))).then(|| tensor.data().get_f64(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Program};
    use crate::tensor::Data;

    /// The numbers that a program's values are.
    fn folded(program: &Program, ids: &[ValueId]) -> Vec<Option<f64>> {
        let all = constants(program.entry(), &Regions::new(program));
        ids.iter().map(|id| all[*id]).collect()
    }

    /// An array is one number only if all its elements are that number, with its sign.
    #[test]
    fn arrays_of_one_number_are_that_number() {
        let of = |values: &[f64]| splat(&Tensor::new(&[values.len()], Data::from_f64s(DType::F32, values).unwrap()));
        assert_eq!([of(&[2.5]), of(&[2.5, 2.5]), of(&[2.5; 3])], [Some(2.5); 3]);
        assert_eq!([of(&[]), of(&[2.5, 1.0]), of(&[2.5, 2.5, 1.0]), of(&[0.0, 0.0, -0.0])], [None; 4]);
        for dtype in [DType::S8, DType::S32, DType::S64, DType::U32, DType::Pred] {
            let of = |values: &[i64]| splat(&Tensor::new(&[values.len()], Data::from_i64s(dtype, values).unwrap()));
            assert_eq!([of(&[1, 1, 1]), of(&[1, 1, 0])], [Some(1.0), None], "{dtype}");
        }
        let largest = Tensor::new(&[2], Data::U64(vec![u64::MAX; 2]));
        assert_eq!(splat(&largest), Some(2f64.powi(64)));
    }

    /// Reductions that give what each element is are folded; how often a sum adds it, or a product takes it, is not asked.
    #[test]
    fn sums_of_one_number_are_not_that_number() {
        let all = [
            (Binary::Maximum, f64::NEG_INFINITY, Some(3.0)),
            (Binary::Minimum, f64::INFINITY, Some(3.0)),
            (Binary::Add, 0.0, None),
            (Binary::Multiply, 1.0, None),
        ];
        for (binary, init, expected) in all {
            let mut b = Builder::new("reduced");
            let three = b.constant(DType::F32, 3.0).unwrap();
            let array = b.splat(three, &[4]).unwrap();
            let reduced = b.reduce(binary, array, init, &[0]).unwrap();
            let program = b.finish(&[("reduced", reduced)]).unwrap();
            assert_eq!(folded(&program, &[array, reduced]), [Some(3.0), expected], "{}", binary.name());
        }
    }

    /// One element that is cut out of a table is a number, wherever it stands; several are not.
    #[test]
    fn elements_of_tables_are_numbers_one_by_one() {
        let mut b = Builder::new("table");
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let table = Tensor::new(&[3, 4], Data::from_f64s(DType::F32, &values).unwrap());
        let table = b.op(Op::Constant(table), &[]).unwrap();
        let cut = |b: &mut Builder, [row, column]: [usize; 2], [height, width]: [usize; 2]| {
            let (start, limit) = (vec![row, column], vec![row + height, column + width]);
            b.op(Op::Slice { start, limit, stride: vec![1, 1] }, &[table]).unwrap()
        };
        let mut ids = Vec::new();
        for (place, extents) in
            [([0, 0], [1, 1]), ([1, 2], [1, 1]), ([2, 3], [1, 1]), ([1, 2], [1, 2]), ([0, 1], [2, 1])]
        {
            ids.push(cut(&mut b, place, extents));
        }
        let program = b.finish(&[("last", ids[4])]).unwrap();
        assert_eq!(folded(&program, &ids), [Some(0.0), Some(6.0), Some(11.0), None, None]);
        assert_eq!(folded(&program, &[table]), [None]);
    }
}
