//! Roundings that a library leaves out.

use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, ValueId};
use crate::tensor::DType;

/// For each value of a computation, whether a library keeps it in f32 although the program rounds it to bf16 (FACTS
/// 10.3). The only user of such a value is a conversion back to f32 in the same custom fusion, and XLA:CPU leaves such
/// fusions to the library. `uses` counts the reads of each value, and one more for the root; `sums` says whether a
/// region adds.
pub fn find_kept_wide(computation: &Computation, uses: &[usize], sums: impl Fn(ComputationId) -> bool) -> Vec<bool> {
    let instructions = &computation.instructions;
    let users = computation.users();
    let mut kept = vec![false; instructions.len()];
    for (id, wide) in instructions.iter().enumerate() {
        let (Op::Convert, Some(DType::F32), Some(Fusion::Custom { rounds, .. })) =
            (&wide.op, wide.shape.dtype(), wide.fusion())
        else {
            continue;
        };
        let narrow = wide.operands[0];
        let Instruction { op, operands, shape, .. } = &instructions[narrow];
        let fusion = instructions[narrow].fusion();
        let leaves_out = || !rounds || uses[id] == users[id].len() && joins_readers(computation, &users, id, &sums);
        if *op == Op::Convert
            && fusion == wide.fusion()
            && shape.dtype() == Some(DType::BF16)
            && instructions[operands[0]].shape.dtype() == Some(DType::F32)
            && uses[narrow] == 1
            && leaves_out()
        {
            kept[narrow] = true;
        }
    }
    kept
}

/// Whether YNNPACK has a converting kernel for each user of a conversion from bf16. It passes the kernel the
/// conversion's operand, and then the operand of that one in turn (`rewrite_reduce_convert`, `rewrite_binary_convert`),
/// whatever the rounding between the two loses.
fn joins_readers(
    computation: &Computation,
    users: &[Vec<ValueId>],
    id: ValueId,
    sums: &dyn Fn(ComputationId) -> bool,
) -> bool {
    let fusion = computation.instructions[id].fusion();
    let adds = |reader: ValueId, term: ValueId| {
        let Instruction { op, operands, .. } = &computation.instructions[reader];
        let its = computation.instructions[reader].fusion();
        matches!(op, Op::Reduce { to_apply, .. } if sums(*to_apply)) && operands[0] == term && its == fusion
    };
    let joins = |reader: ValueId| {
        let Instruction { op, operands, .. } = &computation.instructions[reader];
        match (op, &operands[..]) {
            // A sum of squares is one operation.
            (Op::Binary(Binary::Multiply), [a, b]) if a == b => users[reader].iter().all(|sum| adds(*sum, reader)),
            (Op::Binary(Binary::Multiply | Binary::Divide | Binary::Subtract), [left, _]) => *left == id,
            _ => adds(reader, id),
        }
    };
    users[id].iter().all(|reader| computation.instructions[*reader].fusion() == fusion && joins(*reader))
}
