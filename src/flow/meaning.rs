//! Which values mean the same: the same operations of the same values, up to conversions between float types.
//!
//! A compiler computes a value again in each fusion that needs it, and rounds some of the copies: the copies share a
//! meaning.

use std::collections::HashMap;

use crate::ir::{Op, Program, ValueId, reducer_but_for_rounding};

use super::precision::Held;

/// For each value of the entry, the first value that means the same.
pub fn meanings(program: &Program, held: &[Held]) -> Vec<ValueId> {
    let mut first: HashMap<(String, Vec<ValueId>), ValueId> = HashMap::new();
    let mut meanings: Vec<ValueId> = Vec::new();
    for (id, instruction) in program.entry().instructions.iter().enumerate() {
        let operands: Vec<ValueId> = instruction.operands.iter().map(|o| meanings[*o]).collect();
        let float = held[id].first().is_some();
        let same = match instruction.op {
            Op::Convert if float => instruction.operands.first().is_some_and(|o| held[*o].first().is_some()),
            Op::ReducePrecision { .. } | Op::Copy | Op::OptimizationBarrier => true,
            _ => false,
        };
        let meaning = match operands.first() {
            Some(operand) if same => *operand,
            _ => *first.entry((written(program, id), operands)).or_insert(id),
        };
        meanings.push(meaning);
    }
    meanings
}

/// An operation without its operands and without its float type.
fn written(program: &Program, id: ValueId) -> String {
    let instruction = &program.entry().instructions[id];
    let dims = instruction.shape.dims();
    match &instruction.op {
        // The same number in two float types means the same.
        Op::Constant(value) if value.dtype().is_float() => {
            let bits: Vec<u64> = (0..value.len()).map(|i| value.data().get_f64(i).to_bits()).collect();
            format!("constant {bits:?} {dims:?}")
        }
        Op::Reduce { dims: along, to_apply } => match reducer_but_for_rounding(&program.computations[*to_apply]) {
            Some(known) => format!("reduce {known:?} {along:?} {dims:?}"),
            None => format!("{:?} {dims:?}", instruction.op),
        },
        Op::ReduceWindow { window, to_apply } => match reducer_but_for_rounding(&program.computations[*to_apply]) {
            Some(known) => format!("reduce-window {known:?} {window:?} {dims:?}"),
            None => format!("{:?} {dims:?}", instruction.op),
        },
        op => format!("{op:?} {dims:?}"),
    }
}
