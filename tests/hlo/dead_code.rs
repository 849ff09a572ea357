//! Dead code changes no bit: compilers drop it before they plan code (HloDCE), and so does the machine.

use std::path::Path;

use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Binary, Builder, Instruction, Mark, Op, Program, Unary};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

/// The program with a negation of each float of each computation, which nothing uses, in the fusion of what it negates.
fn with_dead_users(program: &Program) -> Program {
    let mut program = program.clone();
    for computation in &mut program.computations {
        for id in 0..computation.instructions.len() {
            let value = &computation.instructions[id];
            if value.shape.dtype().is_some_and(DType::is_float) {
                let (name, op) = (format!("{}.unused", value.name), Op::Unary(Unary::Negate));
                let unused = Instruction { name, op, operands: vec![id], mark: None, ..value.clone() };
                computation.instructions.push(unused);
            }
        }
    }
    program
}

fn bits(program: &Program, mode: &Mode, arguments: &[Tensor]) -> Vec<Vec<u64>> {
    let results = subject::evaluate(program, mode, arguments).unwrap();
    results.iter().map(|tensor| (0..tensor.len()).map(|at| tensor.data().bits(at)).collect()).collect()
}

/// Files whose products are contracted where they have no other user.
#[test]
fn dead_users_keep_no_product_from_its_sum_on_the_cpu() {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    for file in ["hlo/cpu/layer_norm", "hlo/cpu/rms_norm", "hlo_more/cpu/read_twice", "hlo_more/cpu/read_apart"] {
        let path = |end: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{file}.{end}"));
        let program = lower(&parse(&std::fs::read_to_string(path("excess_on.hlo")).unwrap()).unwrap()).unwrap().program;
        let all = safetensors::read(&path("inputs.safetensors")).unwrap();
        let argument = |number: usize| all.iter().find(|(name, _)| *name == format!("arg{number}")).unwrap().1.clone();
        let arguments: Vec<Tensor> = (0..all.len()).map(argument).collect();
        let (own, with_dead) = (bits(&program, &mode, &arguments), with_dead_users(&program));
        assert!(with_dead.entry().instructions.len() > program.entry().instructions.len(), "{file}");
        assert_eq!(bits(&with_dead, &mode, &arguments), own, "{file}");
    }
}

/// `x * x - 1` at 1 + 2^-12: the square has a bit at 2^-24 that f32 does not hold beside 1.
#[test]
fn dead_users_keep_a_joined_product_in_flight_on_every_chip() {
    let mut builder = Builder::new("joined");
    let x = builder.parameter("x", DType::F32, &[1]).unwrap();
    let one = builder.parameter("one", DType::F32, &[1]).unwrap();
    let square = builder.binary(Binary::Multiply, x, x).unwrap();
    let difference = builder.binary(Binary::Subtract, square, one).unwrap();
    let mut program = builder.finish(&[("difference", difference)]).unwrap();
    let entry = program.entry;
    program.computations[entry].instructions[square].mark = Some(Mark::Joined);
    let arguments = [1.0 + 2f32.powi(-12), 1.0].map(|value| Tensor::new(&[1], Data::F32(vec![value])));
    let fused = u64::from((2f32.powi(-11) + 2f32.powi(-24)).to_bits());
    for mode in ["v5e/highest/as-compiled", "tpu7x/highest/as-compiled", "xla-cpu/default/as-compiled"] {
        let mode: Mode = mode.parse().unwrap();
        assert_eq!(bits(&program, &mode, &arguments), [[fused]], "{mode}");
        assert_eq!(bits(&with_dead_users(&program), &mode, &arguments), [[fused]], "{mode}");
    }
}
