//! The TPU compiler's narrowing of sums, read off its output (FACTS 9).

use std::collections::BTreeSet;

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, Computation, Instruction, Op, Program, ValueId};
use crate::tensor::{DType, Data, Tensor};

use super::{Editor, Rewritten, Site};

/// Each f32 add-reduction from zero whose every use is a conversion to bf16; reshapes between are looked through.
pub(super) fn sites(program: &Program) -> BTreeSet<Site> {
    let entry = program.entry();
    let (users, regions) = (entry.users(), Regions::new(program));
    let narrows = |id: &ValueId| {
        let instruction = &entry.instructions[*id];
        is_f32_sum(&regions, instruction)
            // Another init would be rounded to bf16 before the sum.
            && is_zero(entry, instruction.operands[1])
            && used_as_bf16_only(entry, &users, *id)
    };
    (0..entry.instructions.len()).filter(narrows).map(Site::Narrow).collect()
}

/// Turns these sums into bf16 reductions of operands rounded to bf16.
pub(super) fn apply(program: &Program, sites: &BTreeSet<Site>) -> Rewritten {
    let mut rewritten = program.clone();
    let entry = program.entry();
    if sites.is_empty() {
        return Rewritten::unchanged(rewritten);
    }
    let region = add_in(DType::BF16);
    // Regions lie before the entry: the new one takes the entry's place and the entry moves up.
    rewritten.computations.insert(program.entry, region);
    rewritten.entry += 1;
    let mut editor = Editor::default();
    let mut values: Vec<usize> = Vec::new();
    for (id, old) in entry.instructions.iter().enumerate() {
        let operands: Vec<usize> = old.operands.iter().map(|o| values[*o]).collect();
        let new = if let Op::Reduce { dims, .. } = &old.op
            && sites.contains(&Site::Narrow(id))
        {
            let rounded = editor.convert(operands[0], DType::BF16, format!("{}.operand", old.name), None);
            let zero = Op::Constant(Tensor::new(&[], Data::BF16(vec![half::bf16::ZERO])));
            let init = crate::ir::Shape::array(DType::BF16, &[]);
            let zero = Instruction::new(format!("{}.init", old.name), zero, vec![], init);
            let zero = editor.push(zero, None);
            let op = Op::Reduce { dims: dims.clone(), to_apply: program.entry };
            let shape = old.shape.with_dtype(DType::BF16);
            editor.push(Instruction { op, operands: vec![rounded, zero], shape, ..old.clone() }, Some(id))
        } else {
            let already_bf16 = |o: usize| editor.instructions[o].shape.dtype() == Some(DType::BF16);
            match old.op {
                // The conversion that made the sum bf16 has nothing left to do.
                Op::Convert if old.shape.dtype() == Some(DType::BF16) && already_bf16(operands[0]) => operands[0],
                Op::Reshape if already_bf16(operands[0]) => {
                    let shape = old.shape.with_dtype(DType::BF16);
                    editor.push(Instruction { operands, shape, ..old.clone() }, Some(id))
                }
                _ => editor.push(Instruction { operands, ..old.clone() }, Some(id)),
            }
        };
        values.push(new);
    }
    let root = values[entry.root];
    rewritten.computations[program.entry + 1] =
        Computation { name: entry.name.clone(), instructions: editor.instructions, root };
    Rewritten { program: rewritten, origins: editor.origins }
}

fn is_f32_sum(regions: &Regions, instruction: &Instruction) -> bool {
    let Op::Reduce { to_apply, .. } = instruction.op else { return false };
    instruction.shape.dtype() == Some(DType::F32) && regions.reducer(to_apply) == Some(Reducer::Binary(Binary::Add))
}

/// Whether a value is +0, which a sum begins from that is made anew in another type.
pub(super) fn is_zero(entry: &Computation, id: ValueId) -> bool {
    let instruction = &entry.instructions[id];
    match &instruction.op {
        Op::Constant(value) => (0..value.len()).all(|at| value.data().bits(at) == 0),
        Op::Convert | Op::Reshape | Op::Broadcast { .. } => is_zero(entry, instruction.operands[0]),
        _ => false,
    }
}

fn used_as_bf16_only(entry: &Computation, users: &[Vec<usize>], id: usize) -> bool {
    // A sum that is a result of the program is stored in its own type.
    !users[id].is_empty()
        && id != entry.root
        && users[id].iter().all(|user| match entry.instructions[*user].op {
            Op::Convert => entry.instructions[*user].shape.dtype() == Some(DType::BF16),
            Op::Reshape => used_as_bf16_only(entry, users, *user),
            _ => false,
        })
}

/// The region of a sum in a type.
pub(super) fn add_in(dtype: DType) -> Computation {
    let scalar = crate::ir::Shape::array(dtype, &[]);
    let instruction = |name: &str, op, operands| Instruction::new(name, op, operands, scalar.clone());
    Computation {
        name: format!("add_{dtype}.narrowed"),
        instructions: vec![
            instruction("lhs", Op::Parameter(0), vec![]),
            instruction("rhs", Op::Parameter(1), vec![]),
            instruction("sum", Op::Binary(Binary::Add), vec![0, 1]),
        ],
        root: 2,
    }
}
