//! Whether a file says that it was compiled without excess precision.

use std::collections::HashMap;

use crate::tensor::DType;

use crate::ast::{Computation, Element, Instruction, Module, Operands, Shape};
use crate::opcode::{Elementwise, Opcode};
use crate::view::Attributes;

/// Whether float normalization narrowed a result for a conversion of the program itself: with excess precision that reads the result
/// as it is (FACTS 1.3, rule B). What normalization adds has no `op_name`, and JAX calls its own conversions `convert_element_type`.
pub fn rounds_everywhere(module: &Module) -> bool {
    module.computations.iter().any(rounds)
}

fn rounds(computation: &Computation) -> bool {
    let by_name: HashMap<&str, &Instruction> =
        computation.instructions.iter().map(|instruction| (instruction.name.as_str(), instruction)).collect();
    let source = |instruction: &Instruction| match &instruction.operands {
        Operands::Values(values) => values.first().and_then(|value| by_name.get(value.name.as_str()).copied()),
        _ => None,
    };
    computation.instructions.iter().filter(|wide| is_conversion(wide, DType::F32)).any(|wide| {
        let narrow = source(wide).filter(|narrow| is_conversion(narrow, DType::BF16));
        // A conversion without a source name was added by the compiler: it wrote the rounding that excess precision
        // leaves out.
        let is_added = |narrow: &&Instruction| Attributes::of(narrow).op_name().is_none();
        let name = Attributes::of(wide).op_name().unwrap_or_default();
        name.ends_with("/convert_element_type")
            && narrow.filter(is_added).and_then(source).is_some_and(|result| is_of(result, DType::F32))
    })
}

fn is_conversion(instruction: &Instruction, to: DType) -> bool {
    instruction.opcode == Opcode::Elementwise(Elementwise::Convert) && is_of(instruction, to)
}

fn is_of(instruction: &Instruction, dtype: DType) -> bool {
    matches!(&instruction.shape, Shape::Array { element: Element::Known(known), .. } if *known == dtype)
}
