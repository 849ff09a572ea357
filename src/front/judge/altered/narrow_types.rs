//! A program all of whose wide floats are kept in a narrow type.

use crate::ir::{Instruction, Op, Program, Shape};
use crate::num::{BF16, F16, Format};
use crate::subject::evaluate;
use crate::tensor::{DType, Data, Tensor};

use super::super::evidence::{Pattern, Runner};

/// Instructions of a program that is rewritten.
const MOST_INSTRUCTIONS: usize = 4096;

/// The program in bf16 in the place of f32: every operation rounds to it, and the results are given as the declared type.
pub(super) fn bf16_types(runner: &mut Runner) -> Option<Pattern> {
    in_narrow(runner, DType::BF16, &BF16)
}

/// The same in f16, which no chip computes in: compilers may leave f32 for bf16 here and there.
pub(super) fn f16_types(runner: &mut Runner) -> Option<Pattern> {
    in_narrow(runner, DType::F16, &F16)
}

fn in_narrow(runner: &mut Runner, dtype: DType, format: &Format) -> Option<Pattern> {
    let evidence = runner.evidence;
    let program = evidence.ground.program;
    let count: usize = program.computations.iter().map(|computation| computation.instructions.len()).sum();
    let has_f32 = |instruction: &Instruction| instruction.shape.dtype() == Some(DType::F32);
    if count > MOST_INSTRUCTIONS || !program.entry().instructions.iter().any(has_f32) {
        return None;
    }
    let narrow = in_type(program, dtype)?;
    let to = |argument: &Tensor| match argument.dtype() {
        DType::F32 => Data::from_f64s(dtype, &argument.data().to_f64s()).map(|data| Tensor::new(argument.dims(), data)),
        _ => Some(argument.clone()),
    };
    let arguments: Vec<Tensor> = evidence.ground.arguments.iter().map(to).collect::<Option<_>>()?;
    // Operands of one pass would be rounded to bf16 once more.
    let members = evidence.ground.members.each.iter();
    let mode = &members.max_by_key(|member| member.precisions[evidence.output])?.mode;
    runner.left = runner.left.checked_sub(1)?;
    let values = evaluate(&narrow, mode, &arguments).ok()?.get(evidence.output)?.data().to_f64s();
    let says = format!("the program is computed in {} in the place of f32", format.name);
    let explained = evidence.least_share(&values);
    Some(Pattern::new("narrow-type", says, explained))
}

/// The program with this type in the place of f32; none where bits are read, or an operation says its own type.
fn in_type(program: &Program, dtype: DType) -> Option<Program> {
    let mut narrow = program.clone();
    for instruction in narrow.computations.iter_mut().flat_map(|computation| &mut computation.instructions) {
        if matches!(instruction.op, Op::BitcastConvert) {
            return None;
        }
        if let Op::Constant(value) = &instruction.op
            && value.dtype() == DType::F32
        {
            let data = Data::from_f64s(dtype, &value.data().to_f64s())?;
            instruction.op = Op::Constant(Tensor::new(value.dims(), data));
        }
        instruction.shape = shape_in(&instruction.shape, dtype);
    }
    Some(narrow)
}

/// The shape with this type in the place of f32, in tuples as well.
fn shape_in(shape: &Shape, narrow: DType) -> Shape {
    match shape {
        Shape::Array { dtype: DType::F32, dims } => Shape::array(narrow, dims),
        Shape::Array { .. } => shape.clone(),
        Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| shape_in(part, narrow)).collect()),
    }
}
