//! Rule B: float normalization with excess precision allowed (FACTS 1.3, `ChangeOutputTypeThenInsertConvertBack`).

use std::collections::BTreeSet;

use crate::ir::{Computation, ComputationId, Instruction, Op, Program, Shape, ValueId};
use crate::tensor::DType;

use super::{Editor, Rewritten, Site};

/// Each operation that touches bf16 can be retyped to f32. Each conversion to f32 of a bf16 value that such an operation
/// gives may see it before rounding, and each bf16 operand that is a result of the program may be read from where it is
/// stored.
pub(super) fn sites(program: &Program) -> BTreeSet<Site> {
    let (entry, outputs) = (program.entry(), program.outputs());
    let dtype = |id: ValueId| entry.instructions[id].shape.dtype();
    let is_bf16 = |id: ValueId| dtype(id) == Some(DType::BF16);
    let mut sites = BTreeSet::new();
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let operands = &instruction.operands;
        if normalizes(&instruction.op) && (is_bf16(id) || operands.iter().any(|operand| is_bf16(*operand))) {
            // Each is a site of its own: which of them a compiler takes is a choice, and `explore` takes any part.
            sites.insert(Site::Retype(id));
            let stored = operands.iter().enumerate().filter(|(_, id)| is_bf16(**id) && outputs.contains(id));
            sites.extend(stored.map(|(operand, _)| Site::ReadStored { reader: id, operand }));
        }
        if instruction.op == Op::Convert
            && dtype(id) == Some(DType::F32)
            && is_bf16(operands[0])
            // Only what was retyped has an f32 form behind its rounding.
            && sites.contains(&Site::Retype(definition(entry, operands[0])))
        {
            sites.insert(Site::Expose { conversion: id });
        }
    }
    sites
}

/// The operation that a value is retyped with: of an element of a tuple, the one that gives the tuple.
pub(super) fn definition(entry: &Computation, id: ValueId) -> ValueId {
    let instruction = &entry.instructions[id];
    if matches!(instruction.op, Op::GetTupleElement(_)) { instruction.operands[0] } else { id }
}

/// Retypes the operations of these sites to f32 and converts their bf16 results back; lets conversions to f32 see the f32
/// values instead, and operations read stored copies, as the sites say.
pub(super) fn apply(program: &Program, sites: &BTreeSet<Site>) -> Rewritten {
    let entry = program.entry();
    let mut pass = Pass {
        sites,
        computations: program.computations.clone(),
        editor: Editor::default(),
        values: Vec::new(),
        wide: Vec::new(),
    };
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let (value, wide) = pass.rewritten(id, instruction);
        pass.values.push(value);
        pass.wide.push(wide);
    }
    let root = pass.values[entry.root];
    let Pass { mut computations, editor, .. } = pass;
    // Regions cloned on the way lie after the old entry; the new entry goes last.
    computations.push(Computation { name: entry.name.clone(), instructions: editor.instructions, root });
    computations.remove(program.entry);
    reindex(&mut computations, program.entry);
    let entry = computations.len() - 1;
    Rewritten { program: Program { computations, entry, ..program.clone() }, origins: editor.origins }
}

struct Pass<'s> {
    sites: &'s BTreeSet<Site>,
    computations: Vec<Computation>,
    editor: Editor,
    /// For each old value, the new one of the same type.
    values: Vec<ValueId>,
    /// For each old bf16 value that is computed in f32, its f32 form.
    wide: Vec<Option<ValueId>>,
}

impl Pass<'_> {
    /// The new value, and its f32 form if it is the rounding of one.
    fn rewritten(&mut self, id: ValueId, old: &Instruction) -> (ValueId, Option<ValueId>) {
        if self.sites.contains(&Site::Expose { conversion: id })
            && let Some(wide) = self.wide[old.operands[0]]
        {
            return (wide, None);
        }
        // An element of a retyped tuple: the f32 element and its rounding.
        if let Op::GetTupleElement(index) = old.op {
            let tuple = self.values[old.operands[0]];
            let Shape::Tuple(parts) = &self.editor.instructions[tuple].shape else {
                return (self.copy(id, old), None);
            };
            // Nothing of this part was bf16.
            if parts[index] == old.shape {
                return (self.copy(id, old), None);
            }
            let shape = parts[index].clone();
            return self.with_rounding(id, old, Instruction { operands: vec![tuple], shape, ..old.clone() });
        }
        if !self.sites.contains(&Site::Retype(id)) {
            return (self.copy(id, old), None);
        }
        let mut operands = Vec::new();
        for (operand, value) in old.operands.iter().enumerate() {
            let mut new = self.values[*value];
            if self.sites.contains(&Site::ReadStored { reader: id, operand }) {
                // A barrier keeps rule A from looking behind the stored copy of a program result.
                let name = format!("{}.stored.{}", self.editor.instructions[new].name, self.editor.instructions.len());
                let shape = self.editor.instructions[new].shape.clone();
                new = self.editor.push(Instruction::new(name, Op::Copy, vec![new], shape), None);
            }
            operands.push(if self.editor.instructions[new].shape.dtype() == Some(DType::BF16) {
                let name = format!("{}.as_f32.{}", self.editor.instructions[new].name, self.editor.instructions.len());
                self.editor.convert(new, DType::F32, name, None)
            } else {
                new
            });
        }
        let mut op = old.op.clone();
        for region in op.callees_mut() {
            // A reducer takes and gives the type of its reduction.
            *region = widen_region(&mut self.computations, *region);
        }
        let shape = old.shape.widen();
        let instruction = Instruction { op, operands, shape, ..old.clone() };
        if old.shape.dtype() == Some(DType::BF16) {
            self.with_rounding(id, old, instruction)
        } else {
            (self.editor.push(instruction, Some(id)), None)
        }
    }

    /// Adds `wide` under a name of its own, `div.7.f32`, and its conversion to the old type under the old name.
    fn with_rounding(&mut self, id: ValueId, old: &Instruction, wide: Instruction) -> (ValueId, Option<ValueId>) {
        let wide = self.editor.push(Instruction { name: format!("{}.f32", old.name), ..wide }, Some(id));
        (self.editor.convert(wide, DType::BF16, old.name.clone(), Some(id)), Some(wide))
    }

    fn copy(&mut self, id: ValueId, old: &Instruction) -> ValueId {
        let operands = old.operands.iter().map(|o| self.values[*o]).collect();
        self.editor.push(Instruction { operands, ..old.clone() }, Some(id))
    }
}

/// Operations whose bf16 form can be retyped: those that compute.
pub(super) fn normalizes(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_) | Op::Binary(_) | Op::Clamp | Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot { .. }
    )
}

/// A copy of a region with f32 in the place of bf16; an equal one that exists already is used again.
fn widen_region(computations: &mut Vec<Computation>, region: ComputationId) -> ComputationId {
    let wide = computations[region].widen();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder};

    /// A conversion to f32 sees a value before its rounding where its own site is taken, and there alone.
    #[test]
    fn conversions_see_what_is_not_rounded_where_their_site_is_taken() {
        let mut b = Builder::new("exposed");
        let x = b.parameter("x", DType::BF16, &[4]).unwrap();
        let square = b.binary(Binary::Multiply, x, x).unwrap();
        let results = [0, 1].map(|_| b.convert(square, DType::F32).unwrap());
        let program = b.finish(&[("one", results[0]), ("other", results[1])]).unwrap();
        let all = sites(&program);
        assert!(results.iter().all(|id| all.contains(&Site::Expose { conversion: *id })));
        for taken in [[false, false], [true, false], [false, true], [true, true]] {
            let is_taken = |site: &Site| match site {
                Site::Expose { conversion } => results.iter().zip(taken).any(|(id, taken)| id == conversion && taken),
                _ => true,
            };
            let rewritten = apply(&program, &all.iter().copied().filter(is_taken).collect()).program;
            let sees = |id: &ValueId| rewritten.entry().instructions[*id].op != Op::Convert;
            assert_eq!(rewritten.outputs().iter().map(sees).collect::<Vec<bool>>(), taken);
        }
    }
}
