//! Rule B: float normalization with excess precision allowed (FACTS 1.3, `ChangeOutputTypeThenInsertConvertBack`).

use crate::ir::{Computation, ComputationId, Instruction, Op, Program, Shape};
use crate::tensor::DType;

use super::Editor;

/// Retypes each bf16 operation that is not `kept` to f32, converts its result back, and lets every user that is itself
/// a conversion to f32 see the f32 value instead.
///
/// With `store_results`, the result of a reduction is stored before anything reads it: nobody sees it wide, and a
/// reduction of a program result reads the stored copy.
pub(super) fn float_normalization(program: &Program, kept: &dyn Fn(&Op) -> bool, store_results: bool) -> Program {
    let mut computations = program.computations.clone();
    let entry = program.entry();
    let outputs = program.outputs();
    let editor = Editor { instructions: Vec::new() };
    let mut pass = Pass { editor, values: Vec::new(), wide: Vec::new(), store_results };
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let stored = |operand: usize| store_results && outputs.contains(&operand);
        pass.rewrite(id, instruction, &mut computations, kept, &stored);
    }
    let root = pass.values[entry.root];
    let name = entry.name.clone();
    // Regions cloned on the way lie after the old entry; the new entry goes last.
    computations.push(Computation { name, instructions: pass.editor.instructions, root });
    computations.remove(program.entry);
    reindex(&mut computations, program.entry);
    let entry = computations.len() - 1;
    Program { computations, entry, ..program.clone() }
}

struct Pass {
    editor: Editor,
    /// For each old value, the new one of the same type.
    values: Vec<usize>,
    /// For each old bf16 value that is computed in f32, its f32 form.
    wide: Vec<Option<usize>>,
    store_results: bool,
}

impl Pass {
    fn rewrite(
        &mut self,
        id: usize,
        old: &Instruction,
        computations: &mut Vec<Computation>,
        kept: &dyn Fn(&Op) -> bool,
        stored: &dyn Fn(usize) -> bool,
    ) {
        debug_assert_eq!(id, self.values.len());
        let (value, wide) = self.rewritten(old, computations, kept, stored);
        self.values.push(value);
        self.wide.push(wide);
    }

    fn rewritten(
        &mut self,
        old: &Instruction,
        computations: &mut Vec<Computation>,
        kept: &dyn Fn(&Op) -> bool,
        stored: &dyn Fn(usize) -> bool,
    ) -> (usize, Option<usize>) {
        if old.op == Op::Convert
            && old.shape.dtype() == Some(DType::F32)
            && let Some(wide) = self.wide[old.operands[0]]
        {
            return (wide, None);
        }
        // An element of a retyped tuple: the f32 element and its rounding.
        if let Op::GetTupleElement(index) = old.op {
            let tuple = self.values[old.operands[0]];
            let Shape::Tuple(parts) = &self.editor.instructions[tuple].shape else {
                return (self.copy(old), None);
            };
            if parts[index] == old.shape {
                return (self.copy(old), None);
            }
            let shape = parts[index].clone();
            return self.with_rounding(old, Instruction { operands: vec![tuple], shape, ..old.clone() });
        }
        let touches_bf16 = old.operands.iter().any(|o| self.is_bf16(*o)) || old.shape.dtype() == Some(DType::BF16);
        if !touches_bf16 || !normalizes(&old.op) || kept(&old.op) {
            return (self.copy(old), None);
        }
        let reads_stored = matches!(old.op, Op::Reduce { .. });
        let mut operands = Vec::new();
        for operand in &old.operands {
            let new = self.values[*operand];
            operands.push(if !self.is_bf16(*operand) {
                new
            } else if reads_stored && stored(*operand) {
                // A barrier keeps rule A from looking behind the stored copy of a program result.
                let name = format!("{}.stored.{}", self.editor.instructions[new].name, self.editor.instructions.len());
                let shape = self.editor.instructions[new].shape.clone();
                let read = self.editor.push(Instruction { name, op: Op::Copy, operands: vec![new], shape });
                self.widened(read)
            } else {
                self.widened(new)
            });
        }
        let mut op = old.op.clone();
        for region in op.callees_mut() {
            *region = widen_region(computations, *region);
        }
        let shape = old.shape.widened();
        let instruction = Instruction { name: old.name.clone(), op, operands, shape };
        if old.shape.dtype() == Some(DType::BF16) {
            self.with_rounding(old, instruction)
        } else {
            (self.editor.push(instruction), None)
        }
    }

    /// Adds `wide` under a name of its own, and its conversion to the old type under the old name.
    fn with_rounding(&mut self, old: &Instruction, wide: Instruction) -> (usize, Option<usize>) {
        let wide = self.editor.push(Instruction { name: super::wide_name(&old.name), ..wide });
        let rounded = self.editor.convert(wide, DType::BF16, old.name.clone());
        let stored = self.store_results && matches!(old.op, Op::Reduce { .. } | Op::GetTupleElement(_));
        (rounded, (!stored).then_some(wide))
    }

    fn widened(&mut self, new: usize) -> usize {
        let name = format!("{}.as_f32.{}", self.editor.instructions[new].name, self.editor.instructions.len());
        self.editor.convert(new, DType::F32, name)
    }

    fn copy(&mut self, old: &Instruction) -> usize {
        let operands = old.operands.iter().map(|o| self.values[*o]).collect();
        self.editor.push(Instruction { operands, ..old.clone() })
    }

    fn is_bf16(&self, old: usize) -> bool {
        self.editor.instructions[self.values[old]].shape.dtype() == Some(DType::BF16)
    }
}

/// Operations whose bf16 form can be retyped: those that compute.
fn normalizes(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_) | Op::Binary(_) | Op::Clamp | Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot { .. }
    )
}

/// A copy of a region with f32 in the place of bf16; an equal one that exists already is used again.
fn widen_region(computations: &mut Vec<Computation>, region: ComputationId) -> ComputationId {
    let wide = computations[region].widened();
    computations.iter().position(|c| *c == wide).unwrap_or_else(|| {
        computations.push(wide);
        computations.len() - 1
    })
}

/// Moves calls past the entry that was taken out of place `removed`.
fn reindex(computations: &mut [Computation], removed: ComputationId) {
    let instructions = computations.iter_mut().flat_map(|c| &mut c.instructions);
    for callee in instructions.flat_map(|i| i.op.callees_mut()) {
        if *callee > removed {
            *callee -= 1;
        }
    }
}
