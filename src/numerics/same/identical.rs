//! Two programs that are one, up to the names of their values: nothing of them need be followed element by element.

use std::collections::BTreeSet;

use crate::ir::{Computation, Instruction, Op, Program};

/// Whether both have the same operations on the same values, computation by computation, in the same order.
pub fn are_identical(one: &Program, other: &Program) -> bool {
    let alike = |(a, b): (&Computation, &Computation)| {
        a.root == b.root
            && a.instructions.len() == b.instructions.len()
            && a.instructions.iter().zip(&b.instructions).all(|(a, b)| is_same_operation(a, b))
    };
    one.entry == other.entry
        && one.settings == other.settings
        && one.computations.len() == other.computations.len()
        && one.computations.iter().zip(&other.computations).all(alike)
}

/// Whether two instructions differ in their names alone. Another field of an instruction must be compared here: then this does
/// not compile.
fn is_same_operation(a: &Instruction, b: &Instruction) -> bool {
    let Instruction { name: _, op, operands, shape, mark, compiled, settings } = a;
    *op == b.op
        && *operands == b.operands
        && *shape == b.shape
        && *mark == b.mark
        && *compiled == b.compiled
        && *settings == b.settings
}

/// Operations of a program that have no meaning here: functions of their operands, as far as a proof may know.
pub fn opaque(program: &Program) -> BTreeSet<String> {
    let name = |instruction: &Instruction| match &instruction.op {
        Op::Opaque(opaque) => Some(opaque.name.clone()),
        _ => None,
    };
    program.instructions().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::ir::{Binary, Builder, LibraryFunction, ResultAccuracy, Setting, Tiling, ValueId};
    use crate::tensor::DType;

    fn program(binary: Binary, swapped: bool, rows: usize, name: &str) -> Program {
        let mut builder = Builder::new("p");
        let x = builder.parameter("x", DType::F32, &[rows]).unwrap();
        let y = builder.parameter("y", DType::F32, &[rows]).unwrap();
        let operands: [ValueId; 2] = if swapped { [y, x] } else { [x, y] };
        let z = builder.binary(binary, operands[0], operands[1]).unwrap();
        let mut program = builder.finish(&[("z", z)]).unwrap();
        let entry = program.entry;
        program.computations[entry].instructions[z].name = name.to_string();
        program
    }

    #[test]
    fn one_program_has_other_names_and_nothing_else() {
        let one = program(Binary::Subtract, false, 2, "z");
        assert!(are_identical(&one, &program(Binary::Subtract, false, 2, "other")));
        assert!(!are_identical(&one, &program(Binary::Add, false, 2, "z")));
        assert!(!are_identical(&one, &program(Binary::Subtract, true, 2, "z")));
        assert!(!are_identical(&one, &program(Binary::Subtract, false, 3, "z")));
        let mut fused = one.clone();
        let entry = fused.entry;
        fused.computations[entry].instructions[2].mark = Some(crate::ir::Mark::Joined);
        assert!(!are_identical(&one, &fused));
        fused.computations[entry].instructions[2].mark = None;
        fused.computations[entry].instructions[2].record(|compiled| compiled.minor = Some(0));
        assert!(!are_identical(&one, &fused));
        fused.computations[entry].instructions[2].record(|compiled| compiled.minor = None);
        assert!(are_identical(&one, &fused));
        fused.computations[entry].instructions[2].record(|compiled| compiled.on_matrix_unit = true);
        assert!(!are_identical(&one, &fused));
    }

    /// Another entry, another root and further instructions make another program, whichever of the two has them.
    #[test]
    fn one_program_has_the_same_entry_root_and_instructions() {
        let one = program(Binary::Add, false, 2, "z");
        type Change = fn(&mut Program);
        let changes: [(&str, Change); 3] = [
            ("entry", |p| p.entry += 1),
            ("root", |p| p.computations[p.entry].root += 1),
            ("instructions", |p| {
                let again = p.computations[p.entry].instructions[0].clone();
                p.computations[p.entry].instructions.push(again);
            }),
        ];
        for (what, change) in changes {
            let mut other = one.clone();
            change(&mut other);
            assert!(!are_identical(&one, &other) && !are_identical(&other, &one), "{what}");
        }
    }

    /// Plans, library functions and settings say how a value is computed, whatever the operation is.
    #[test]
    fn one_program_has_the_same_plans_and_settings() {
        let one = program(Binary::Add, false, 2, "z");
        let entry = one.entry;
        type Change = fn(&mut Instruction);
        let changes: [(&str, Change); 5] = [
            ("tiling", |z| z.record(|compiled| compiled.tiling = Some(Arc::new(Tiling::of_k_block(64))))),
            ("library", |z| z.record(|compiled| compiled.library = Some(Arc::new(LibraryFunction::Cholesky)))),
            ("of_complex_function", |z| z.record(|compiled| compiled.of_complex_function = true)),
            ("packed", |z| z.record(|compiled| compiled.packed = true)),
            ("settings", |z| z.settings = Some(Arc::new([Setting::Accuracy(ResultAccuracy::Highest)]))),
        ];
        for (field, change) in changes {
            let mut other = one.clone();
            change(&mut other.computations[entry].instructions[2]);
            assert!(!are_identical(&one, &other) && !are_identical(&other, &one), "{field}");
            assert!(are_identical(&other, &other.clone()), "{field}");
        }
        let mut asked = one.clone();
        asked.settings.push(Setting::Accuracy(ResultAccuracy::Highest));
        assert!(!are_identical(&one, &asked), "the module's settings");
    }
}
