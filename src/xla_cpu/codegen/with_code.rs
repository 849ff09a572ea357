//! Fusions for which a compiler generates code.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::budget;
use crate::ir::{Computation, Fusion, Shape};

/// The computation without the fusions that have an array without elements. Compilers remove such arrays before they
/// generate code, so no order of code is known. Fusions with an array beyond the memory budget go too: nothing is ever
/// computed from these.
pub fn with_code(computation: &Computation) -> Cow<'_, Computation> {
    let has_no_code = |shape: &Shape| match shape {
        Shape::Array { dims, .. } => {
            let elements = budget::bytes_of(dims.iter().copied(), 1);
            elements == 0 || budget::reserve(elements, String::new).is_err()
        }
        Shape::Tuple(_) => false,
    };
    let shapes = |id: usize| {
        let instruction = &computation.instructions[id];
        let operands = instruction.operands.iter().map(|operand| &computation.instructions[*operand].shape);
        operands.chain([&instruction.shape])
    };
    let instructions = computation.instructions.iter().enumerate();
    let coded = instructions.filter_map(|(id, instruction)| Some((id, instruction.fusion()?)));
    let without: HashSet<Fusion> =
        coded.filter(|(id, _)| shapes(*id).any(has_no_code)).map(|(_, fusion)| fusion).collect();
    if without.is_empty() {
        return Cow::Borrowed(computation);
    }
    let mut rest = computation.clone();
    for instruction in &mut rest.instructions {
        instruction.record(|compiled| compiled.fusion = compiled.fusion.filter(|fusion| !without.contains(fusion)));
    }
    Cow::Owned(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Unary};
    use crate::tensor::DType;

    #[test]
    fn fusions_with_arrays_without_elements_have_no_code() {
        let fusions = |rows: usize| {
            let mut builder = Builder::new("fused");
            let x = builder.parameter("x", DType::F32, &[3, rows]).unwrap();
            let y = builder.unary(Unary::Negate, x).unwrap();
            let mut program = builder.finish(&[("y", y)]).unwrap();
            let entry = program.entry;
            program.computations[entry].instructions[y].record(|compiled| compiled.fusion = Some(Fusion::Compiled(0)));
            with_code(program.entry()).instructions[y].fusion()
        };
        assert_eq!([0, 1, 2].map(fusions), [None, Some(Fusion::Compiled(0)), Some(Fusion::Compiled(0))]);
    }
}
