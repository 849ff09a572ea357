//! What a program computes, apart from its names.

use super::op::Op;
use super::program::{Computation, Program};

/// A text that two programs share exactly if they reach their results by the same operations in the same order: without
/// names, and without what no result depends on. Constants count by their bits.
pub fn outline(program: &Program) -> String {
    let mut text = String::new();
    let roots = program.outputs();
    describe(program, program.entry(), &roots, &mut text);
    text
}

fn describe(program: &Program, computation: &Computation, roots: &[usize], text: &mut String) {
    let instructions = &computation.instructions;
    let mut live = vec![false; instructions.len()];
    roots.iter().for_each(|root| live[*root] = true);
    for (id, instruction) in instructions.iter().enumerate().rev() {
        if live[id] {
            instruction.operands.iter().for_each(|operand| live[*operand] = true);
        }
        // Whatever the results need, a program takes all its arguments.
        live[id] |= matches!(instruction.op, Op::Parameter(_));
    }
    // Parameters stand in front: where a file lists them says nothing.
    let mut order: Vec<usize> = (0..instructions.len()).filter(|id| live[*id]).collect();
    order.sort_by_key(|id| match instructions[*id].op {
        Op::Parameter(number) => number,
        _ => usize::MAX,
    });
    let mut places = vec![0; instructions.len()];
    order.iter().enumerate().for_each(|(place, id)| places[*id] = place);
    for id in order {
        let instruction = &instructions[id];
        let operands: Vec<usize> = instruction.operands.iter().map(|operand| places[*operand]).collect();
        match &instruction.op {
            Op::Constant(value) => {
                let bits: Vec<u64> = (0..value.len()).map(|at| value.data().bits(at)).collect();
                text.push_str(&format!("constant {bits:x?}"));
            }
            op => {
                let mut anonymous = op.clone();
                anonymous.callees_mut().for_each(|callee| *callee = 0);
                text.push_str(&format!("{anonymous:?}"));
                for callee in op.callees() {
                    let region = &program.computations[callee];
                    text.push_str(" {");
                    describe(program, region, &[region.root], text);
                    text.push('}');
                }
            }
        }
        text.push_str(&format!(" {operands:?} {};", instruction.shape));
    }
    let results: Vec<usize> = roots.iter().map(|root| places[*root]).collect();
    text.push_str(&format!("-> {results:?}"));
}

#[cfg(test)]
mod tests {
    use super::outline;
    use crate::ir::{Binary, Builder, Program};
    use crate::tensor::DType;

    fn scaled(name: &str, factor: f64, with_dead: bool) -> Program {
        let mut b = Builder::new(name);
        let x = b.parameter(name, DType::F32, &[4]).unwrap();
        if with_dead {
            b.binary(Binary::Add, x, x).unwrap();
        }
        let factor = b.constant(DType::F32, factor).unwrap();
        let factor = b.splat(factor, &[4]).unwrap();
        let y = b.binary(Binary::Multiply, x, factor).unwrap();
        b.finish(&[(name, y)]).unwrap()
    }

    #[test]
    fn names_and_dead_operations_do_not_count_but_constants_do() {
        let plain = outline(&scaled("x", 2.0, false));
        assert_eq!(outline(&scaled("y", 2.0, true)), plain);
        assert_ne!(outline(&scaled("x", 3.0, false)), plain);
        assert_ne!(outline(&scaled("x", -0.0, false)), outline(&scaled("x", 0.0, false)));
        assert_eq!(outline(&scaled("x", f64::NAN, false)), outline(&scaled("y", f64::NAN, false)));
    }

    #[test]
    fn regions_count() {
        let reduced = |binary| {
            let mut b = Builder::new("reduced");
            let x = b.parameter("x", DType::F32, &[4]).unwrap();
            let y = b.reduce(binary, x, 0.0, &[0]).unwrap();
            outline(&b.finish(&[("y", y)]).unwrap())
        };
        assert_eq!(reduced(Binary::Add), reduced(Binary::Add));
        assert_ne!(reduced(Binary::Add), reduced(Binary::Maximum));
    }
}
