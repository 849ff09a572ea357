//! Inlining of the entry's calls. Needs are then known element by element beyond a call, and equal expressions in two
//! calls are found.

use crate::ir::{Computation, Instruction, Op, Program, Shape, ValueId};

/// The longest entry that is written out; calls of calls could grow without end.
const LONGEST: usize = 1 << 16;

/// `program` with the calls of its entry written out, those inside of them too, and tuples taken apart where they are
/// made. A program that this would make too long stays as it is.
pub(super) fn inline_calls(program: &Program) -> Program {
    let mut lengths: Vec<usize> = Vec::with_capacity(program.computations.len());
    for computation in &program.computations {
        let length = |instruction: &Instruction| match instruction.op {
            Op::Call { to_apply } => lengths[to_apply],
            _ => 1,
        };
        lengths.push(computation.instructions.iter().map(length).fold(0, usize::saturating_add));
    }
    let entry = program.entry();
    let calls = entry.instructions.iter().any(|instruction| matches!(instruction.op, Op::Call { .. }));
    // A root that calls for a tuple is one result, while a tuple lists several.
    let root = &entry.instructions[entry.root];
    let is_one = matches!((&root.op, &root.shape), (Op::Call { .. }, Shape::Tuple(_)));
    if !calls || is_one || lengths[program.entry] > LONGEST {
        return program.clone();
    }
    let mut written = Vec::with_capacity(lengths[program.entry]);
    let root = write(program, entry, None, &mut written);
    let mut inlined = program.clone();
    inlined.computations[program.entry] = Computation { name: entry.name.clone(), instructions: written, root };
    inlined
}

/// Appends a computation of these arguments (the entry's are parameters), and returns where its root stands.
fn write(
    program: &Program,
    computation: &Computation,
    arguments: Option<&[ValueId]>,
    written: &mut Vec<Instruction>,
) -> ValueId {
    let mut stands: Vec<ValueId> = Vec::with_capacity(computation.instructions.len());
    for instruction in &computation.instructions {
        let operands: Vec<ValueId> = instruction.operands.iter().map(|operand| stands[*operand]).collect();
        let place = match (&instruction.op, arguments) {
            (Op::Parameter(number), Some(arguments)) => arguments[*number],
            (Op::Call { to_apply }, _) => write(program, &program.computations[*to_apply], Some(&operands), written),
            (Op::GetTupleElement(index), _) if written[operands[0]].op == Op::Tuple => {
                written[operands[0]].operands[*index]
            }
            _ => {
                written.push(Instruction { operands, ..instruction.clone() });
                written.len() - 1
            }
        };
        stands.push(place);
    }
    stands[computation.root]
}

#[cfg(test)]
mod tests {
    use super::inline_calls;
    use crate::ir::{Binary, Computation, Instruction, Op, Program, Shape, Unary};
    use crate::tensor::DType;

    fn scalar() -> Shape {
        Shape::array(DType::F32, &[])
    }

    fn instruction(op: Op, operands: &[usize]) -> Instruction {
        Instruction::new("v", op, operands.to_vec(), scalar())
    }

    fn computation(instructions: Vec<Instruction>) -> Computation {
        let root = instructions.len() - 1;
        Computation { name: "c".to_string(), instructions, root }
    }

    /// (y, -x) of (x, y).
    fn swap() -> Computation {
        let parts = Shape::Tuple(vec![scalar(), scalar()]);
        computation(vec![
            instruction(Op::Parameter(0), &[]),
            instruction(Op::Parameter(1), &[]),
            instruction(Op::Unary(Unary::Negate), &[0]),
            Instruction::new("t", Op::Tuple, vec![1, 2], parts),
        ])
    }

    fn program(computations: Vec<Computation>) -> Program {
        let entry = computations.len() - 1;
        Program {
            name: "p".to_string(),
            computations,
            entry,
            output_names: vec!["out".to_string()],
            settings: Vec::new(),
            double: None,
        }
    }

    /// Each operand goes to the callee's parameter, and each part of the tuple to its users.
    #[test]
    fn calls_are_what_they_call() {
        let parts = Shape::Tuple(vec![scalar(), scalar()]);
        let main = computation(vec![
            instruction(Op::Parameter(1), &[]),
            instruction(Op::Parameter(0), &[]),
            Instruction::new("s", Op::Call { to_apply: 0 }, vec![1, 0], parts),
            instruction(Op::GetTupleElement(1), &[2]),
            instruction(Op::GetTupleElement(0), &[2]),
            instruction(Op::Binary(Binary::Subtract), &[3, 4]),
        ]);
        let inlined = inline_calls(&program(vec![swap(), main]));
        let entry = inlined.entry();
        let root = &entry.instructions[entry.root];
        assert_eq!(root.op, Op::Binary(Binary::Subtract));
        let [negated, other] = [0, 1].map(|side| &entry.instructions[root.operands[side]]);
        assert_eq!((&negated.op, &other.op), (&Op::Unary(Unary::Negate), &Op::Parameter(1)));
        assert_eq!(entry.instructions[negated.operands[0]].op, Op::Parameter(0));
        assert!(entry.instructions.iter().all(|i| !matches!(i.op, Op::Call { .. } | Op::GetTupleElement(_))));
    }

    /// Sixty calls of two calls each: 2^60 additions are not written out.
    #[test]
    fn what_grows_without_end_stays() {
        let mut computations =
            vec![computation(vec![instruction(Op::Parameter(0), &[]), instruction(Op::Binary(Binary::Add), &[0, 0])])];
        for to_apply in 0..60 {
            computations.push(computation(vec![
                instruction(Op::Parameter(0), &[]),
                instruction(Op::Call { to_apply }, &[0]),
                instruction(Op::Call { to_apply }, &[1]),
            ]));
        }
        let program = program(computations);
        assert_eq!(inline_calls(&program), program);
    }

    /// A program has as many results before as after.
    #[test]
    fn a_root_that_calls_for_a_tuple_stays_one_result() {
        let parts = Shape::Tuple(vec![scalar(), scalar()]);
        let main = computation(vec![
            instruction(Op::Parameter(0), &[]),
            instruction(Op::Parameter(1), &[]),
            Instruction::new("s", Op::Call { to_apply: 0 }, vec![0, 1], parts),
        ]);
        let program = program(vec![swap(), main]);
        assert_eq!(inline_calls(&program), program);
    }
}
