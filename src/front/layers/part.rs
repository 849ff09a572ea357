//! The part of a program that makes one value from recorded ones.

use std::collections::BTreeMap;

use crate::analysis::live;
use crate::ir::{Computation, Double, Instruction, Op, Program, Shape, ValueId};
use crate::rewrite::drop_unused_computations;
use crate::tensor::DType;

/// The origin of an argument of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartArgument {
    /// The program's argument of this number.
    Argument(usize),
    /// The recorded value of the program's entry.
    Recorded(ValueId),
}

/// A program that computes one value of another program's entry.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// It has one result.
    pub program: Program,
    /// Its arguments, in order.
    pub arguments: Vec<PartArgument>,
    /// The operations that it computes, values of the other program, in order; constants and counters are not among them.
    pub operations: Vec<ValueId>,
}

impl Part {
    /// The part of `program` that makes `target`. Values in `recorded` are arguments of the part, in the shape that is given for
    /// them: one of another type than the program's is converted first. So are arguments of the program that the part uses.
    pub fn new(program: &Program, target: ValueId, recorded: &BTreeMap<ValueId, Shape>) -> Part {
        let entry = program.entry();
        let cut = cut_at(entry, target, recorded);
        let needed = live(&cut, [target]);
        let mut moved = vec![0; entry.instructions.len()];
        let mut instructions: Vec<Instruction> = Vec::new();
        let (mut arguments, mut operations) = (Vec::new(), Vec::new());
        for (id, instruction) in cut.instructions.iter().enumerate().filter(|(id, _)| needed[*id]) {
            let mut own = instruction.clone();
            own.operands = instruction.operands.iter().map(|operand| moved[*operand]).collect();
            match (&instruction.op, recorded.get(&id).filter(|_| id != target)) {
                (Op::Parameter(_), Some(shape)) => {
                    own.op = Op::Parameter(arguments.len());
                    arguments.push(PartArgument::Recorded(id));
                    if *shape != own.shape {
                        let wide = Instruction::new(
                            format!("{}.recorded", own.name),
                            own.op.clone(),
                            Vec::new(),
                            shape.clone(),
                        );
                        instructions.push(wide);
                        let operands = vec![instructions.len() - 1];
                        own = Instruction::new(own.name, Op::Convert, operands, own.shape);
                    }
                }
                (Op::Parameter(number), None) => {
                    own.op = Op::Parameter(arguments.len());
                    arguments.push(PartArgument::Argument(*number));
                }
                (Op::Constant(_) | Op::Iota { .. }, _) => {}
                _ => operations.push(id),
            }
            moved[id] = instructions.len();
            instructions.push(own);
        }
        let is_double = |i: &&Instruction| i.shape.dtype() == Some(DType::F64) && !matches!(i.op, Op::Parameter(_));
        let double = program.double.as_ref().and_then(|_| instructions.iter().find(is_double));
        let double = double.map(|i| Double { name: i.name.clone(), opcode: i.op.opcode().to_string() });
        let name = entry.instructions[target].name.clone();
        let mut part = Program { output_names: vec![name], double, ..program.clone() };
        part.computations[program.entry] = Computation { name: entry.name.clone(), instructions, root: moved[target] };
        Part { program: drop_unused_computations(part), arguments, operations }
    }
}

/// The computation with a parameter in the place of each recorded value but the target.
fn cut_at(entry: &Computation, target: ValueId, recorded: &BTreeMap<ValueId, Shape>) -> Computation {
    let mut cut = entry.clone();
    for id in recorded.keys().filter(|id| **id != target) {
        let old = &entry.instructions[*id];
        cut.instructions[*id] = Instruction::new(old.name.clone(), Op::Parameter(0), Vec::new(), old.shape.clone());
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{lower, parse};

    fn program() -> Program {
        let text = "HloModule two\nENTRY main { x = bf16[2] parameter(0) w = bf16[2] parameter(1) \
            h = bf16[2] multiply(x, w) r = bf16[2] tanh(h) s = bf16[2] add(r, w) ROOT y = bf16[2] add(s, h) }";
        lower(&parse(text).unwrap()).unwrap().program
    }

    fn value(program: &Program, name: &str) -> ValueId {
        program.entry().instructions.iter().position(|i| i.name == name).unwrap()
    }

    fn names(part: &Part) -> Vec<&str> {
        part.program.entry().instructions.iter().map(|i| i.name.as_str()).collect()
    }

    #[test]
    fn a_part_begins_at_recorded_values_and_at_arguments() {
        let program = program();
        let [h, s, y] = ["h", "s", "y"].map(|name| value(&program, name));
        let shape = Shape::array(DType::BF16, &[2]);
        let whole = Part::new(&program, y, &BTreeMap::new());
        assert_eq!(names(&whole), ["x", "w", "h", "r", "s", "y"]);
        assert_eq!(whole.arguments, [PartArgument::Argument(0), PartArgument::Argument(1)]);
        let recorded: BTreeMap<ValueId, Shape> = [h, s, y].map(|id| (id, shape.clone())).into();
        let last = Part::new(&program, y, &recorded);
        assert_eq!((names(&last), &last.operations), (vec!["h", "s", "y"], &vec![y]));
        assert_eq!(last.arguments, [PartArgument::Recorded(h), PartArgument::Recorded(s)]);
        let middle = Part::new(&program, s, &recorded);
        assert_eq!(middle.arguments, [PartArgument::Argument(1), PartArgument::Recorded(h)]);
        assert_eq!(middle.program.output_names, ["s"]);
    }

    /// A recording of a wider type than the program's is rounded by the part: that rounding is one of the program's.
    #[test]
    fn a_wider_recorded_value_is_converted() {
        let program = program();
        let [h, s] = ["h", "s"].map(|name| value(&program, name));
        let part = Part::new(&program, s, &[(h, Shape::array(DType::F32, &[2]))].into());
        assert_eq!(names(&part), ["w", "h.recorded", "h", "r", "s"]);
        assert_eq!(part.program.entry().parameter_shapes()[1].dtype(), Some(DType::F32));
    }
}
